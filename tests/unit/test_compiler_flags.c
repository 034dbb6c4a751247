// Options of a compiler out of the bytes of its library.
#include "base/core/random.h"
#include "base/wire/wire.h"
#include "lab/devices/compiler_flags.h"
#include "lab/tune/tune_internal.h"
#include "unit.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

enum { DOUBLE = 1, INT32 = 5, BOOL = 8, TEXT = 9, MESSAGE = 11, ENUM = 14 };

static void put_field(hsc_bytes *out,
                      const char *name,
                      int number,
                      int type,
                      bool repeated,
                      const char *type_name,
                      bool deprecated) {
  size_t field = hsc_wire_begin(out, 2);
  hsc_wire_put_text(out, 1, name);
  hsc_wire_put_int(out, 3, number);
  hsc_wire_put_int(out, 4, repeated ? 3 : 1);
  hsc_wire_put_int(out, 5, type);
  if (type_name)
    hsc_wire_put_text(out, 6, type_name);
  if (deprecated) {
    size_t options = hsc_wire_begin(out, 8);
    hsc_wire_put_int(out, 3, 1);
    hsc_wire_end(out, options);
  }
  hsc_wire_end(out, field);
}

static void put_enum(
    hsc_bytes *out, uint32_t field, const char *name, const char *const *values, int count) {
  size_t mark = hsc_wire_begin(out, field);
  hsc_wire_put_text(out, 1, name);
  for (int i = 0; i < count; i++) {
    size_t value = hsc_wire_begin(out, 2);
    hsc_wire_put_text(out, 1, values[i]);
    hsc_wire_put_int(out, 2, i);
    hsc_wire_end(out, value);
  }
  hsc_wire_end(out, mark);
}

// A library: other bytes, files that mention the description, the description, other bytes.
static void make_library(hsc_bytes *out, const char *file) {
  static const char *const kinds[] = {"KIND_INVALID", "KIND_A", "KIND_B"};
  static const char *const modes[] = {"MODE_ZERO", "MODE_ONE"};
  hsc_bytes importer = {0};
  hsc_bytes_append_text(out, "\177ELF and code");
  hsc_wire_put_text(&importer, 1, "other.proto");
  hsc_wire_put_text(&importer, 3, file);  // an import
  hsc_bytes_append(out, importer.data, importer.size);
  hsc_bytes_deinit(&importer);
  hsc_wire_put_text(out, 1, file);
  hsc_wire_put_text(out, 2, "xla");
  size_t before = hsc_wire_begin(out, 4);
  hsc_wire_put_text(out, 1, "OtherMessage");
  hsc_wire_end(out, before);
  size_t message = hsc_wire_begin(out, 4);
  hsc_wire_put_text(out, 1, "DebugOptions");
  put_field(out, "xla_cpu_flag", 1, BOOL, false, NULL, false);
  put_field(out, "xla_gpu_level", 2, INT32, false, NULL, false);
  put_field(out, "xla_cpu_kinds", 3, ENUM, true, ".xla.DebugOptions.Kind", false);
  put_field(out, "xla_mode", 4, ENUM, false, ".xla.Mode", false);
  put_field(out, "xla_dump_to", 5, TEXT, false, NULL, false);
  put_field(out, "xla_old", 6, BOOL, false, NULL, true);
  put_field(out, "xla_more", 7, MESSAGE, false, ".xla.More", false);
  put_field(out, "xla_cpu_width", 8, INT32, false, NULL, false);
  put_enum(out, 4, "Kind", kinds, 3);
  hsc_wire_end(out, message);
  put_enum(out, 5, "Mode", modes, 2);
  hsc_bytes_append_text(out, "\xff\xff\xff and more code");
}

static const hsc_flag *flag_of(const hsc_flags *flags, const char *name) {
  const hsc_flag *flag = hsc_flags_find(flags, name);
  if (!flag)
    fail_msg("no option %s", name);
  return flag;
}

static void options_are_found_in_a_library(void **state) {
  hsc_arena *arena = NULL;
  hsc_bytes library = {0};
  hsc_flags flags = {0};
  int found = 0;
  EXPECT_OK(hsc_arena_create(&arena));
  make_library(&library, "xla/xla.proto");
  EXPECT_OK(hsc_flags_scan(hsc_bytes_view(&library), arena, &flags, &found));
  assert_int_equal(found, 1);
  assert_int_equal(flags.count, 8);
  assert_int_equal(flag_of(&flags, "xla_cpu_flag")->type, HSC_FLAG_BOOL);
  assert_true(flag_of(&flags, "xla_old")->deprecated);
  const hsc_flag *kinds = flag_of(&flags, "xla_cpu_kinds");
  assert_true(kinds->repeated);
  assert_int_equal(kinds->value_count, 3);
  assert_string_equal(kinds->names[2], "KIND_B");
  assert_string_equal(flag_of(&flags, "xla_mode")->names[1], "MODE_ONE");
  hsc_bytes_deinit(&library);
  hsc_arena_destroy(arena);
}

// Another vendor's tree has the file under another path.
static void the_path_of_the_file_may_be_longer(void **state) {
  hsc_arena *arena = NULL;
  hsc_bytes library = {0};
  hsc_flags flags = {0};
  int found = 0;
  EXPECT_OK(hsc_arena_create(&arena));
  make_library(&library, "third_party/compiler/xla/xla.proto");
  EXPECT_OK(hsc_flags_scan(hsc_bytes_view(&library), arena, &flags, &found));
  assert_int_equal(found, 1);
  assert_int_equal(flags.count, 8);
  hsc_bytes_deinit(&library);
  hsc_arena_destroy(arena);
}

static void damaged_libraries_are_survived(void **state) {
  hsc_bytes library = {0};
  hsc_random random;
  hsc_random_init(&random, 1);
  make_library(&library, "xla/xla.proto");
  for (int round = 0; round < 2000; round++) {
    hsc_arena *arena = NULL;
    hsc_flags flags = {0};
    int found = 0;
    EXPECT_OK(hsc_arena_create(&arena));
    size_t size = (size_t)hsc_random_below(&random, library.size + 1);
    char *copy = hsc_arena_copy(arena, library.data, library.size);
    for (int i = 0; i < 4; i++)
      copy[hsc_random_below(&random, library.size)] = (char)hsc_random_u64(&random);
    EXPECT_OK(hsc_flags_scan((hsc_view){copy, size}, arena, &flags, &found));
    hsc_arena_destroy(arena);
  }
  hsc_bytes_deinit(&library);
}

// A file with holes: the library at `at`, `size` bytes in all. The caller removes it.
static int put_library(char *path, off_t at, off_t size) {
  hsc_bytes library = {0};
  make_library(&library, "xla/xla.proto");
  int fd = mkstemp(path);
  assert_true(fd >= 0);
  assert_int_equal(pwrite(fd, library.data, library.size, at), library.size);
  assert_int_equal(ftruncate(fd, size), 0);
  hsc_bytes_deinit(&library);
  return fd;
}

// Libraries are read in pieces of 16 MiB, of which 4 MiB are read twice.
static void options_are_found_wherever_they_lie(void **state) {
  static const off_t places[] = {0, (12 << 20) - 40, 12 << 20, (16 << 20) - 40, (40 << 20) - 4000};
  for (size_t i = 0; i < HSC_COUNT_OF(places); i++) {
    char path[] = "/tmp/test-flags-XXXXXX";
    hsc_arena *arena = NULL;
    hsc_flags flags = {0};
    close(put_library(path, places[i], 40 << 20));
    EXPECT_OK(hsc_arena_create(&arena));
    EXPECT_OK(hsc_flags_read(path, arena, &flags));
    assert_int_equal(flags.count, 8);
    assert_int_equal(flag_of(&flags, "xla_mode")->value_count, 2);
    hsc_arena_destroy(arena);
    unlink(path);
  }
}

static _Atomic bool is_over;

static void *cut_and_grow(void *user) {
  int fd = *(const int *)user;
  while (!is_over)
    if (ftruncate(fd, 4096) || ftruncate(fd, 64 << 20))
      abort();
  return NULL;
}

static void a_library_that_is_cut_short_meanwhile_has_no_options(void **state) {
  char path[] = "/tmp/test-flags-XXXXXX";
  pthread_t installer;
  int fd = put_library(path, 60 << 20, 64 << 20);
  is_over = false;
  assert_int_equal(pthread_create(&installer, NULL, cut_and_grow, &fd), 0);
  for (int round = 0; round < 20; round++) {
    hsc_arena *arena = NULL;
    hsc_flags flags = {0};
    EXPECT_OK(hsc_arena_create(&arena));
    EXPECT_OK(hsc_flags_read(path, arena, &flags));
    hsc_arena_destroy(arena);
  }
  is_over = true;
  assert_int_equal(pthread_join(installer, NULL), 0);
  close(fd);
  unlink(path);
}

static void settings_come_from_both_forms(void **state) {
  hsc_arena *arena = NULL;
  hsc_bytes library = {0};
  hsc_bytes wire = {0};
  hsc_flags flags = {0};
  int found = 0;
  EXPECT_OK(hsc_arena_create(&arena));
  make_library(&library, "xla/xla.proto");
  EXPECT_OK(hsc_flags_scan(hsc_bytes_view(&library), arena, &flags, &found));
  hsc_wire_put_int(&wire, 2, 4);
  size_t packed = hsc_wire_begin(&wire, 3);
  hsc_bytes_append(&wire, "\001\002", 2);
  hsc_wire_end(&wire, packed);
  EXPECT_OK(hsc_flags_take_wire(&flags, hsc_bytes_view(&wire), arena));
  assert_string_equal(flag_of(&flags, "xla_gpu_level")->preset, "4");
  assert_string_equal(flag_of(&flags, "xla_cpu_kinds")->preset, "KIND_A,KIND_B");
  assert_string_equal(flag_of(&flags, "xla_cpu_flag")->preset, "false");
  assert_string_equal(flag_of(&flags, "xla_mode")->preset, "MODE_ZERO");
  assert_null(flag_of(&flags, "xla_more")->preset);

  hsc_flags again = {0};
  static const char text[] =
      "debug_options {\n  xla_cpu_flag: true\n  xla_dump_to: \"/x\"\n  xla_cpu_kinds: KIND_A\n"
      "  unknown: 1\n}\n";
  EXPECT_OK(hsc_flags_scan(hsc_bytes_view(&library), arena, &again, &found));
  EXPECT_OK(hsc_flags_take_text(&again, (hsc_view){text, sizeof text - 1}, arena));
  assert_string_equal(flag_of(&again, "xla_cpu_flag")->preset, "true");
  assert_string_equal(flag_of(&again, "xla_dump_to")->preset, "/x");
  assert_string_equal(flag_of(&again, "xla_cpu_kinds")->preset, "KIND_A");
  assert_null(flag_of(&again, "xla_gpu_level")->preset);
  hsc_bytes_deinit(&wire);
  hsc_bytes_deinit(&library);
  hsc_arena_destroy(arena);
}

static void values_that_choose_something_else_are_tried(void **state) {
  static const char *const names[] = {"KIND_INVALID", "KIND_A", "KIND_AB"};
  hsc_arena *arena = NULL;
  const char **values = NULL;
  size_t count = 0;
  EXPECT_OK(hsc_arena_create(&arena));
  hsc_flag on = {.name = "xla_on", .type = HSC_FLAG_BOOL, .preset = "true"};
  EXPECT_OK(hsc__tune_values(&on, arena, &values, &count));
  assert_int_equal(count, 1);
  assert_string_equal(values[0], "false");
  hsc_flag list = {.name = "xla_kinds",
                   .type = HSC_FLAG_ENUM,
                   .repeated = true,
                   .names = (const char **)(uintptr_t)names,
                   .value_count = 3,
                   .preset = "KIND_A,KIND_AB"};
  EXPECT_OK(hsc__tune_values(&list, arena, &values, &count));
  assert_int_equal(count, 3);  // none at all, and each alone, also what is in the list
  assert_string_equal(values[0], "");
  assert_string_equal(values[1], "KIND_A");
  assert_string_equal(values[2], "KIND_AB");
  hsc_flag level = {.name = "xla_level", .type = HSC_FLAG_INT, .preset = "0"};
  EXPECT_OK(hsc__tune_values(&level, arena, &values, &count));
  assert_int_equal(count, 1);
  hsc_flag untold = {.name = "xla_untold", .type = HSC_FLAG_BOOL};
  EXPECT_OK(hsc__tune_values(&untold, arena, &values, &count));
  assert_int_equal(count, 0);
  hsc_arena_destroy(arena);
}

static void options_that_cannot_help_are_left(void **state) {
  hsc_flag flag = {.name = "xla_dump_to"};
  assert_string_equal(hsc__tune_leave("xla-cpu", &flag), "writes files");
  flag.name = "xla_gpu_autotune_level";
  assert_string_equal(hsc__tune_leave("xla-cpu", &flag), "of another compiler");
  assert_null(hsc__tune_leave("cuda:h100", &flag));
  flag.name = "xla_cpu_use_fusion_emitters";
  assert_null(hsc__tune_leave("xla-cpu@0.7.1", &flag));
  flag.deprecated = true;
  assert_string_equal(hsc__tune_leave("xla-cpu", &flag), "deprecated");
  assert_non_null(hsc__tune_risk("xla_cpu_enable_fast_math"));
  assert_null(hsc__tune_risk("xla_cpu_prefer_vector_width"));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(options_are_found_in_a_library),
      cmocka_unit_test(the_path_of_the_file_may_be_longer),
      cmocka_unit_test(damaged_libraries_are_survived),
      cmocka_unit_test(options_are_found_wherever_they_lie),
      cmocka_unit_test(a_library_that_is_cut_short_meanwhile_has_no_options),
      cmocka_unit_test(settings_come_from_both_forms),
      cmocka_unit_test(values_that_choose_something_else_are_tried),
      cmocka_unit_test(options_that_cannot_help_are_left),
  };
  return cmocka_run_group_tests(tests, 0, 0);
}
