// test_recompile_options.c - compile options are compared by what they mean, not by their bytes.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/wire/wire.h"
#include "views/recompile_options.h"

typedef struct settings {
  const char *overrides[3][2];  // names and texts, in the order of writing
  int64_t device;
  const char *flags[2];  // of DebugOptions' own map
  int64_t level;         // some field of DebugOptions
} settings;

static hsc_view write(const settings *s, hsc_bytes *out) {
  size_t build = hsc_wire_begin(out, 3);
  size_t debug = hsc_wire_begin(out, 3);
  for (int i = 0; i < 2 && s->flags[i]; i++) {
    size_t entry = hsc_wire_begin(out, 500);
    hsc_wire_put_text(out, 1, s->flags[i]);
    hsc_wire_put_text(out, 2, "on");
    hsc_wire_end(out, entry);
  }
  hsc_wire_put_int(out, 31, s->level);
  hsc_wire_end(out, debug);
  hsc_wire_put_int(out, 4, 1);
  size_t assignment = hsc_wire_begin(out, 9);
  size_t devices = hsc_wire_begin(out, 3);
  hsc_wire_put_varint(out, 1, (uint64_t)s->device);
  hsc_wire_end(out, devices);
  hsc_wire_end(out, assignment);
  hsc_wire_end(out, build);
  for (int i = 0; i < 3 && s->overrides[i][0]; i++) {
    size_t entry = hsc_wire_begin(out, 7);
    hsc_wire_put_text(out, 1, s->overrides[i][0]);
    size_t value = hsc_wire_begin(out, 2);
    hsc_wire_put_text(out, 1, s->overrides[i][1]);
    hsc_wire_end(out, value);
    hsc_wire_end(out, entry);
  }
  return hsc_bytes_view(out);
}

static void says(const settings *before, const settings *now, const char *wanted) {
  hsc_bytes a = {0};
  hsc_bytes b = {0};
  hsc_bytes out = {0};
  bool differs = hsc__recompile_options(write(before, &a), write(now, &b), &out);
  assert_string_equal(hsc_bytes_text(&out), wanted);
  assert_int_equal(differs, *wanted != 0);
  hsc_bytes_deinit(&a);
  hsc_bytes_deinit(&b);
  hsc_bytes_deinit(&out);
}

static void options_by_name_are_read_back(void **state) {
  const settings two = {{{"xla_a", "1"}, {"xla_b", "x,y"}}, 1, {"f", "g"}, 3};
  hsc_bytes bytes = {0};
  hsc_bytes out = {0};
  hsc_view options = write(&two, &bytes);
  assert_true(hsc_compile_option(options, 0, &out));
  assert_true(hsc_compile_option(options, 1, &out));
  assert_false(hsc_compile_option(options, 2, &out));
  assert_string_equal(hsc_bytes_text(&out), "xla_a=1xla_b=x,y");
  for (size_t size = 0; size < options.size; size++)  // cut anywhere
    (void)hsc_compile_option((hsc_view){options.data, size}, 1, &out);
  hsc_bytes_deinit(&bytes);
  hsc_bytes_deinit(&out);
}

static void test_options(void **state) {
  const settings plain = {{{"p", "1"}, {"q", "2"}}, 0, {"f", "g"}, 3};
  const settings other_order = {{{"q", "2"}, {"p", "1"}}, 0, {"g", "f"}, 3};
  const settings value = {{{"q", "2"}, {"p", "5"}}, 0, {"g", "f"}, 3};
  const settings less = {{{"p", "1"}}, 0, {"f", "g"}, 3};
  const settings device = {{{"p", "1"}, {"q", "2"}}, 1, {"f", "g"}, 3};
  const settings flag = {{{"p", "1"}, {"q", "2"}}, 0, {"f"}, 3};
  const settings level = {{{"p", "1"}, {"q", "2"}}, 0, {"f", "g"}, 0};
  says(&plain, &plain, "");
  says(&plain, &other_order, "");
  says(&plain, &value, "option p was 1, now 5");
  says(&plain, &less, "option q was 2, now not set");
  says(&less, &plain, "option q was not set, now 2");
  says(&plain, &device, "it was for device 0, now for device 1");
  says(&plain, &flag, "option g was on, now not set");
  says(&plain, &level, "an XLA flag differs");
}

static void test_damaged_bytes(void **state) {
  hsc_bytes out = {0};
  assert_true(hsc__recompile_options((hsc_view){"\x1a\x7f\xff", 3}, (hsc_view){"\x08", 1}, &out) ||
              !out.size);
  hsc_bytes_deinit(&out);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(options_by_name_are_read_back),
                                     cmocka_unit_test(test_options),
                                     cmocka_unit_test(test_damaged_bytes)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
