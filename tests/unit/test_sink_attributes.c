// Attributes of every type, at the begin and the end of spans, as each sink writes them: whole
// objects, with values that only fit their type, against what the formats' documents say.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <jansson.h>
#include <stdlib.h>
#include <zlib.h>

#include "base/core/memory.h"
#include "base/wire/wire.h"
#include "trace/sink.h"

static char directory[64];
static hsc_capture *capture;

static void check(hsc_status *status) {
  if (status)
    fail_msg("%s", hsc_status_message(status));
}

// Two spans, one in the other, each with attributes at both ends; an instant with one.
static int record(void **state) {
  snprintf(directory, sizeof directory, "/tmp/hsc-attrs-XXXXXX");
  if (!mkdtemp(directory))
    return -1;
  hsc_recorder *r = NULL;
  check(hsc_recorder_open(&(hsc_recorder_options){.path = directory, .label = "test"}, &r));
  uint32_t text = hsc_recorder_intern(r, "a \"text\"");
  hsc_trace_attr begin[] = {
      {.key = hsc_recorder_intern(r, "int"), .type = HSC_ATTR_INT, .value.i = -3},
      {.key = hsc_recorder_intern(r, "uint"), .type = HSC_ATTR_UINT, .value.u = UINT64_MAX - 4},
      {.key = hsc_recorder_intern(r, "double"), .type = HSC_ATTR_DOUBLE, .value.d = -0.25},
      {.key = hsc_recorder_intern(r, "text"), .type = HSC_ATTR_STRING, .value.string = text}};
  hsc_trace_attr end[] = {
      {.key = hsc_recorder_intern(r, "end_uint"), .type = HSC_ATTR_UINT, .value.u = 1ull << 63},
      {.key = hsc_recorder_intern(r, "end_int"), .type = HSC_ATTR_INT, .value.i = INT64_MIN}};
  hsc_trace_attr only = {
      .key = hsc_recorder_intern(r, "only_at_end"), .type = HSC_ATTR_DOUBLE, .value.d = 1.5};
  uint64_t outer =
      hsc_span_begin(r, HSC_CATEGORY_EXECUTE, hsc_recorder_intern(r, "outer"), begin, 4);
  uint64_t inner =
      hsc_span_begin(r, HSC_CATEGORY_OPERATOR, hsc_recorder_intern(r, "inner"), NULL, 0);
  hsc_span_end(r, inner, &only, 1);
  hsc_span_end(r, outer, end, 2);
  hsc_trace_instant(r, HSC_CATEGORY_USER, hsc_recorder_intern(r, "now"), begin + 1, 1);
  hsc_recorder_close(r);
  check(hsc_capture_open(directory, &capture));
  return hsc_capture_event_count(capture) == 3 ? 0 : -1;
}

static int clean_up(void **state) {
  hsc_capture_close(capture);
  char command[128];
  snprintf(command, sizeof command, "rm -rf '%s'", directory);
  return system(command);
}

static hsc_status *collect(void *user, hsc_view bytes) {
  hsc_bytes_append(user, bytes.data, bytes.size);
  return NULL;
}

static hsc_bytes export_to(hsc_sink_id sink) {
  hsc_bytes out = {0};
  check(hsc_capture_export(capture, sink, collect, &out));
  return out;
}

// The part of a text that begins with `key`, up to where its bracket ends.
static void expect_object(const char *text, const char *after, const char *key, const char *want) {
  const char *at = strstr(text, after);
  if (at)
    at = strstr(at, key);
  if (!at)
    fail_msg("no %s after %s in %s", key, after, text);
  at += strlen(key);
  if (strncmp(at, want, strlen(want)) != 0)
    fail_msg("%s%.*s, expected %s", key, (int)strlen(want) + 20, at, want);
}

static const char outer_json[] =
    "{\"int\":-3,\"uint\":18446744073709551611,\"double\":-0.25,\"text\":\"a \\\"text\\\"\","
    "\"end_uint\":9223372036854775808,\"end_int\":-9223372036854775808}";

static void test_chrome(void **state) {
  hsc_bytes out = export_to(HSC_SINK_chrome);
  hsc_bytes_append_char(&out, '\0');
  expect_object(out.data, "\"name\":\"outer\"", "\"args\":", outer_json);
  expect_object(out.data, "\"name\":\"inner\"", "\"args\":", "{\"only_at_end\":1.5}");
  expect_object(out.data, "\"name\":\"now\"", "\"args\":", "{\"uint\":18446744073709551611}");
  hsc_bytes_deinit(&out);
}

// Lines for people and spreadsheets: KEY=VALUE, quotes doubled in CSV.
static void test_csv(void **state) {
  hsc_bytes out = export_to(HSC_SINK_csv);
  hsc_bytes_append_char(&out, '\0');
  expect_object(out.data, ",outer,", ",0,0,",
                "\"int=-3 uint=18446744073709551611 double=-0.25 text=a \"\"text\"\" "
                "end_uint=9223372036854775808 end_int=-9223372036854775808\"\r\n");
  expect_object(out.data, ",inner,", ",1,1,", "only_at_end=1.5\r\n");
  expect_object(out.data, ",now,", ",0,0,0,", "uint=18446744073709551611\r\n");
  hsc_bytes_deinit(&out);
}

// OTLP: 64-bit integers are texts; what an int64 does not hold is a text (OTLP has no
// unsigned value).
static void test_otlp(void **state) {
  hsc_bytes out = export_to(HSC_SINK_otlp);
  hsc_bytes_append_char(&out, '\0');
  expect_object(out.data, "\"name\":\"outer\"",
                "{\"key\":\"int\",\"value\":", "{\"intValue\":\"-3\"}}");
  expect_object(out.data, "\"name\":\"outer\"",
                "{\"key\":\"uint\",\"value\":", "{\"stringValue\":\"18446744073709551611\"}}");
  expect_object(out.data, "\"name\":\"outer\"",
                "{\"key\":\"double\",\"value\":", "{\"doubleValue\":-0.25}}");
  expect_object(out.data, "\"name\":\"outer\"",
                "{\"key\":\"text\",\"value\":", "{\"stringValue\":\"a \\\"text\\\"\"}}");
  expect_object(out.data, "\"name\":\"outer\"",
                "{\"key\":\"end_int\",\"value\":", "{\"intValue\":\"-9223372036854775808\"}}");
  expect_object(out.data, "\"name\":\"inner\"",
                "{\"key\":\"only_at_end\",\"value\":", "{\"doubleValue\":1.5}}");
  hsc_bytes_deinit(&out);
}

// ---- Perfetto, read by its own rules ------------------------------------------------------------

enum { NAMES = 64 };

typedef struct names {
  char text[2][NAMES][64];  // names of events, keys of attributes; by iid
} names;

static void take_names(names *n, hsc_wire interned) {
  hsc_wire_field f, g;
  while (hsc_wire_next(&interned, &f)) {
    if (f.number != 2 && f.number != 3)
      continue;
    uint64_t iid = 0;
    hsc_view text = {0};
    for (hsc_wire entry = hsc_wire_of(f.bytes); hsc_wire_next(&entry, &g);)
      if (g.number == 1)
        iid = g.value;
      else
        text = g.bytes;
    assert_true(iid < NAMES);
    snprintf(n->text[f.number - 2][iid], 64, "%.*s", (int)text.size, text.data);
  }
}

static void put_event(const names *n, hsc_wire event, hsc_bytes *out) {
  hsc_wire_field f, g;
  hsc_bytes attributes = {0};
  int type = 0;
  const char *name = "";
  while (hsc_wire_next(&event, &f)) {
    if (f.number == 9)
      type = (int)f.value;
    if (f.number == 10)
      name = n->text[0][f.value % NAMES];
    if (f.number != 4)
      continue;
    for (hsc_wire entry = hsc_wire_of(f.bytes); hsc_wire_next(&entry, &g);) {
      double d;
      memcpy(&d, &g.value, sizeof d);
      if (g.number == 1)
        hsc_bytes_printf(&attributes, " %s=", n->text[1][g.value % NAMES]);
      else if (g.number == 3)
        hsc_bytes_printf(&attributes, "%lluu", (unsigned long long)g.value);
      else if (g.number == 4)
        hsc_bytes_printf(&attributes, "%lldi", (long long)g.value);
      else if (g.number == 5)
        hsc_bytes_printf(&attributes, "%gd", d);
      else
        hsc_bytes_printf(&attributes, "'%.*s'", (int)g.bytes.size, g.bytes.data);
    }
  }
  hsc_bytes_printf(out, "%s%s%.*s\n",
                   type == 1   ? "begin "
                   : type == 2 ? "end"
                               : "instant ",
                   name, (int)attributes.size, attributes.size ? attributes.data : "");
  hsc_bytes_deinit(&attributes);
}

static void test_perfetto(void **state) {
  hsc_bytes out = export_to(HSC_SINK_perfetto);
  hsc_bytes told = {0};
  char *raw = hsc_alloc(1 << 20);
  names *n = hsc_alloc(sizeof *n);
  memset(n, 0, sizeof *n);
  hsc_wire_field f, g;
  for (hsc_wire in = hsc_wire_of(hsc_bytes_view(&out)); hsc_wire_next(&in, &f);) {
    hsc_wire packet = hsc_wire_of(f.bytes);
    assert_true(hsc_wire_next(&packet, &g) && g.number == 50);
    uLongf size = 1 << 20;
    assert_int_equal(uncompress((Bytef *)raw, &size, (const Bytef *)g.bytes.data, g.bytes.size),
                     Z_OK);
    for (hsc_wire batch = hsc_wire_of((hsc_view){raw, size}); hsc_wire_next(&batch, &f);) {
      for (hsc_wire fields = hsc_wire_of(f.bytes); hsc_wire_next(&fields, &g);)
        if (g.number == 12)
          take_names(n, hsc_wire_of(g.bytes));
      for (hsc_wire fields = hsc_wire_of(f.bytes); hsc_wire_next(&fields, &g);)
        if (g.number == 11)
          put_event(n, hsc_wire_of(g.bytes), &told);
    }
  }
  hsc_bytes_append_char(&told, '\0');
  assert_string_equal(told.data,
                      "begin outer int=-3i uint=18446744073709551611u double=-0.25d "
                      "text='a \"text\"' end_uint=9223372036854775808u "
                      "end_int=-9223372036854775808i\n"
                      "begin inner only_at_end=1.5d\n"
                      "end\n"
                      "end\n"
                      "instant now uint=18446744073709551611u\n");
  hsc_free(n);
  hsc_free(raw);
  hsc_bytes_deinit(&told);
  hsc_bytes_deinit(&out);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_chrome), cmocka_unit_test(test_csv),
                                     cmocka_unit_test(test_otlp), cmocka_unit_test(test_perfetto)};
  return cmocka_run_group_tests(tests, record, clean_up);
}
