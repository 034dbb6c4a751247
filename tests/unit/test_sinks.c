// Every sink tells the same events: counts, nesting and times are read back from the bytes, with
// the format's own rules.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include "base/core/memory.h"
#include "base/parquet/parquet.h"
#include "base/parquet/parquet_read.h"
#include "base/wire/wire.h"
#include "trace/sink.h"

static char directory[64];
static hsc_capture *capture;

enum { SPANS = 300, OVERLAPS = 5 };

static void check(hsc_status *status) {
  if (status)
    fail_msg("%s", hsc_status_message(status));
}

// Spans with attributes, a thread of its own for spans that overlap, counters, instants, flows,
// markup in names, and one span that never ends.
static int record(void **state) {
  snprintf(directory, sizeof directory, "/tmp/hsc-sinks-XXXXXX");
  if (!mkdtemp(directory))
    return -1;
  hsc_recorder *r = NULL;
  check(hsc_recorder_open(&(hsc_recorder_options){.path = directory, .label = "test"}, &r));
  uint32_t op = hsc_recorder_intern(r, "a \"quoted\" <op>, with comma");
  uint32_t inner = hsc_recorder_intern(r, "inner");
  uint32_t key = hsc_recorder_intern(r, "bytes");
  uint32_t bad = hsc_recorder_intern(r, "bad");
  uint32_t track = hsc_recorder_intern(r, "queue");
  uint32_t flow = hsc_recorder_intern(r, "flow");
  uint32_t executable = hsc_recorder_intern(r, "executable");
  for (int i = 0; i < SPANS; i++) {
    uint64_t a =
        hsc_span_begin(r, HSC_CATEGORY_EXECUTE, op,
                       &(hsc_trace_attr){.key = key, .type = HSC_ATTR_INT, .value.i = i - 100}, 1);
    hsc_span_end(r, hsc_span_begin(r, HSC_CATEGORY_OPERATOR, inner, NULL, 0), NULL, 0);
    hsc_span_end(
        r, a,
        i % 2 ? &(hsc_trace_attr){.key = executable, .type = HSC_ATTR_STRING, .value.string = inner}
              : NULL,
        i % 2);
  }
  uint64_t now = hsc_trace_ticks();
  for (uint64_t i = 0; i < OVERLAPS; i++)
    hsc_span_complete(r, HSC_CATEGORY_OPERATOR, inner, track, now - 1000000 + i * 1000,
                      now - 900000 + i * 1000, NULL, 0);
  hsc_trace_counter(r, HSC_CATEGORY_MEMORY, key, 1.5);
  hsc_trace_instant(r, HSC_CATEGORY_USER, inner,
                    &(hsc_trace_attr){.key = bad, .type = HSC_ATTR_DOUBLE, .value.d = NAN}, 1);
  hsc_trace_flow_begin(r, flow, 7);
  hsc_trace_flow_end(r, flow, 7);
  hsc_span_begin(r, HSC_CATEGORY_USER, op, NULL, 0);
  hsc_recorder_close(r);
  check(hsc_capture_open(directory, &capture));
  return hsc_capture_event_count(capture) == 2 * SPANS + OVERLAPS + 5 ? 0 : -1;
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
  hsc_bytes first = {0};
  hsc_bytes second = {0};
  check(hsc_capture_export(capture, sink, collect, &first));
  check(hsc_capture_export(capture, sink, collect, &second));
  assert_int_equal(first.size, second.size);
  assert_memory_equal(first.data, second.data, first.size);
  hsc_bytes_deinit(&second);
  return first;
}

static json_t *parse(hsc_view text) {
  json_error_t error;
  json_t *root = json_loadb(text.data, text.size, 0, &error);
  if (!root)
    fail_msg("line %d: %s", error.line, error.text);
  return root;
}

static void test_chrome(void **state) {
  hsc_bytes out = export_to(HSC_SINK_chrome);
  json_t *root = parse(hsc_bytes_view(&out));
  json_t *event;
  size_t i;
  size_t spans = 0;
  size_t counters = 0;
  size_t flows = 0;
  size_t lanes = 0;
  json_array_foreach (json_object_get(root, "traceEvents"), i, event) {
    const char *phase = json_string_value(json_object_get(event, "ph"));
    spans += *phase == 'X';
    counters += *phase == 'C';
    flows += *phase == 's' || *phase == 'f';
    if (*phase == 'M')
      lanes +=
          !strncmp(json_string_value(json_object_get(json_object_get(event, "args"), "name")) ?: "",
                   "queue", 5);
  }
  assert_int_equal(spans, 2 * SPANS + OVERLAPS + 1);
  assert_int_equal(counters, 1);
  assert_int_equal(flows, 2);
  assert_int_equal(lanes, OVERLAPS);  // what overlaps is beside each other
  json_decref(root);
  hsc_bytes_deinit(&out);
}

static void test_speedscope_nests_in_order_of_time(void **state) {
  hsc_bytes out = export_to(HSC_SINK_speedscope);
  json_t *root = parse(hsc_bytes_view(&out));
  json_t *profile;
  json_t *event;
  size_t p;
  size_t i;
  size_t opened = 0;
  size_t frames = json_array_size(json_object_get(json_object_get(root, "shared"), "frames"));
  json_array_foreach (json_object_get(root, "profiles"), p, profile) {
    int stack[512];
    int depth = 0;
    json_int_t last = -1;
    json_array_foreach (json_object_get(profile, "events"), i, event) {
      json_int_t at = json_integer_value(json_object_get(event, "at"));
      int frame = (int)json_integer_value(json_object_get(event, "frame"));
      if (at < last || (size_t)frame >= frames)
        fail_msg("at %lld after %lld, frame %d of %zu", (long long)at, (long long)last, frame,
                 frames);
      last = at;
      if (*json_string_value(json_object_get(event, "type")) == 'O') {
        stack[depth++] = frame;
        opened++;
      } else
        assert_true(depth > 0 && stack[--depth] == frame);
    }
    assert_int_equal(depth, 0);
  }
  assert_int_equal(opened, 2 * SPANS + OVERLAPS + 1);
  json_decref(root);
  hsc_bytes_deinit(&out);
}

static void test_otlp_lines(void **state) {
  hsc_bytes out = export_to(HSC_SINK_otlp);
  size_t spans = 0;
  size_t points = 0;
  size_t children = 0;
  size_t failed = 0;
  for (char *line = strtok(out.data, "\n"); line; line = strtok(NULL, "\n")) {
    json_t *root = parse(hsc_view_of(line));
    json_t *span;
    json_t *resource = json_array_get(json_object_get(root, "resourceSpans"), 0);
    json_t *metrics = json_array_get(json_object_get(root, "resourceMetrics"), 0);
    if (metrics) {
      json_t *metric = json_array_get(
          json_object_get(json_array_get(json_object_get(metrics, "scopeMetrics"), 0), "metrics"),
          0);
      json_t *point =
          json_array_get(json_object_get(json_object_get(metric, "gauge"), "dataPoints"), 0);
      assert_true(json_number_value(json_object_get(point, "asDouble")) == 1.5);
      points++;
    }
    size_t i;
    json_array_foreach (
        json_object_get(json_array_get(json_object_get(resource, "scopeSpans"), 0), "spans"), i,
        span) {
      assert_int_equal(strlen(json_string_value(json_object_get(span, "traceId"))), 32);
      assert_int_equal(strlen(json_string_value(json_object_get(span, "spanId"))), 16);
      long long start = atoll(json_string_value(json_object_get(span, "startTimeUnixNano")));
      long long end = atoll(json_string_value(json_object_get(span, "endTimeUnixNano")));
      assert_true(start > 1000000000000000000ll && end >= start);
      children += json_object_get(span, "parentSpanId") != NULL;
      failed += json_object_get(span, "status") != NULL;
      spans++;
    }
    json_decref(root);
  }
  assert_int_equal(spans, 2 * SPANS + OVERLAPS + 2);  // the instant is a span without length
  assert_int_equal(children, SPANS);
  assert_int_equal(failed, 1);  // the one that never ended
  assert_int_equal(points, 1);
  hsc_bytes_deinit(&out);
}

// Inflates every batch and counts begins and ends.
static void test_perfetto_packets(void **state) {
  hsc_bytes out = export_to(HSC_SINK_perfetto);
  hsc_bytes raw = {0};
  hsc_wire_field f, g, h;
  for (hsc_wire in = hsc_wire_of(hsc_bytes_view(&out)); hsc_wire_next(&in, &f);) {
    hsc_wire packet = hsc_wire_of(f.bytes);
    assert_true(f.number == 1 && hsc_wire_next(&packet, &g) && g.number == 50);
    uLongf size = 1 << 22;
    char *room = hsc_bytes_extend(&raw, size);
    assert_int_equal(uncompress((Bytef *)room, &size, (const Bytef *)g.bytes.data, g.bytes.size),
                     Z_OK);
    raw.size = (size_t)(room - raw.data) + size;
  }
  int begins = 0;
  int ends = 0;
  int instants = 0;
  int counters = 0;
  int tracks = 0;
  int cleared = 0;
  uint64_t last = 0;
  for (hsc_wire in = hsc_wire_of(hsc_bytes_view(&raw)); hsc_wire_next(&in, &f);)
    for (hsc_wire packet = hsc_wire_of(f.bytes); hsc_wire_next(&packet, &g);) {
      if (g.number == 8) {
        // in order of time
        assert_true(g.value >= last);
        last = g.value;
      }
      if (g.number == 13 && g.value == 1)
        cleared++;
      if (g.number == 60)
        tracks++;
      if (g.number != 11)
        continue;
      for (hsc_wire event = hsc_wire_of(g.bytes); hsc_wire_next(&event, &h);)
        if (h.number == 9) {
          begins += h.value == 1;
          ends += h.value == 2;
          instants += h.value == 3;
          counters += h.value == 4;
        }
    }
  assert_int_equal(begins, 2 * SPANS + OVERLAPS + 1);
  assert_int_equal(ends, begins);
  assert_int_equal(instants, 3);
  assert_int_equal(counters, 1);
  assert_int_equal(cleared, 1);
  assert_int_equal(tracks, 1 + 1 + OVERLAPS + 1);  // process, thread, lanes of the queue, counter
  hsc_bytes_deinit(&raw);
  hsc_bytes_deinit(&out);
}

// ---- Parquet: the footer is read by a Thrift reader of the test's own ---------------------------

typedef struct thrift {
  const uint8_t *p, *end;
} thrift;

static uint64_t varint(thrift *t) {
  uint64_t value = 0;
  for (int shift = 0; t->p < t->end; shift += 7) {
    value |= (uint64_t)(*t->p & 0x7f) << shift;
    if (!(*t->p++ & 0x80))
      return value;
  }
  fail_msg("a number is cut off");
  return 0;
}
static int64_t zigzag(thrift *t) {
  uint64_t v = varint(t);
  return (int64_t)(v >> 1) ^ -(int64_t)(v & 1);
}

// Visits a struct; numbers found at the path of field numbers "a.b.c" (list elements do not count)
// are appended to `found`.
static void walk(thrift *t, const char *path, const char *wanted, int64_t *found, int *count);
static void value(
    thrift *t, int type, const char *path, const char *wanted, int64_t *found, int *count) {
  if (type == 5 || type == 6) {
    int64_t number = zigzag(t);
    if (!strcmp(path, wanted))
      found[(*count)++] = number;
  } else if (type == 8) {
    uint64_t size = varint(t);
    t->p += size;
  } else if (type == 9) {
    uint8_t head = *t->p++;
    uint64_t elements = head >> 4 == 15 ? varint(t) : head >> 4;
    for (uint64_t i = 0; i < elements; i++)
      value(t, head & 15, path, wanted, found, count);
  } else if (type == 12) {
    walk(t, path, wanted, found, count);
  } else if (type != 1 && type != 2) {
    fail_msg("type %d of Thrift", type);
  }
}
static void walk(thrift *t, const char *path, const char *wanted, int64_t *found, int *count) {
  int field = 0;
  while (*t->p) {
    int type = *t->p & 15;
    field += *t->p++ >> 4;
    char inner[64];
    snprintf(inner, sizeof inner, "%s%s%d", path, *path ? "." : "", field);
    value(t, type, inner, wanted, found, count);
  }
  t->p++;
}

static int find(const hsc_bytes *file, const char *wanted, int64_t *found) {
  uint32_t size;
  memcpy(&size, file->data + file->size - 8, 4);
  thrift t = {(const uint8_t *)file->data + file->size - 8 - size,
              (const uint8_t *)file->data + file->size - 8};
  int count = 0;
  walk(&t, "", wanted, found, &count);
  assert_ptr_equal(t.p, t.end);
  return count;
}

// The raw bytes of the page at `offset`.
static size_t read_page(const hsc_bytes *file, int64_t offset, char *out, size_t room) {
  thrift t = {(const uint8_t *)file->data + offset, (const uint8_t *)file->data + file->size};
  int64_t sizes[4];
  int count = 0;
  walk(&t, "", "2", sizes, &count);
  t.p = (const uint8_t *)file->data + offset;
  walk(&t, "", "3", sizes, &count);
  size_t size = ZSTD_decompress(out, room, t.p, (size_t)sizes[1]);
  assert_int_equal(size, sizes[0]);
  return size;
}

static void test_parquet_of_a_capture(void **state) {
  hsc_bytes out = export_to(HSC_SINK_parquet);
  assert_memory_equal(out.data, "PAR1", 4);
  assert_memory_equal(out.data + out.size - 4, "PAR1", 4);
  int64_t found[64];
  assert_int_equal(find(&out, "3", found), 1);
  assert_int_equal(found[0], 2 * SPANS + OVERLAPS + 5);
  hsc_bytes_deinit(&out);
}

// A column of numbers of the capture's Parquet file; the caller frees it.
static double *numbers_of(hsc_parquet_file *file, const char *name) {
  double *values = hsc_alloc(hsc_parquet_row_count(file) * sizeof *values);
  for (size_t c = 0; c < hsc_parquet_column_count(file); c++)
    if (!strcmp(hsc_parquet_column_name(file, c), name)) {
      check(hsc_parquet_read_doubles(file, c, values));
      return values;
    }
  fail_msg("no column %s", name);
  return values;
}

static hsc_view *texts_of(hsc_parquet_file *file, const char *name) {
  hsc_view *values = hsc_alloc(hsc_parquet_row_count(file) * sizeof *values);
  for (size_t c = 0; c < hsc_parquet_column_count(file); c++)
    if (!strcmp(hsc_parquet_column_name(file, c), name)) {
      check(hsc_parquet_read_texts(file, c, values));
      return values;
    }
  fail_msg("no column %s", name);
  return values;
}

// The number of an attribute of an event, from either end of its span; NaN = it has none.
static double number_at(const hsc_event *e, const char *key) {
  const hsc_trace_attr *a = hsc_event_attr(capture, e, key);
  return a && a->type == HSC_ATTR_INT ? (double)a->value.i : NAN;
}

static void expect_number(double found, double wanted, const char *what, size_t row) {
  if (found != wanted && !(isnan(found) && isnan(wanted)))
    fail_msg("%s of row %zu is %g, expected %g", what, row, found, wanted);
}

// Every cell of the file is what the event says.
static void test_parquet_cells(void **state) {
  hsc_bytes out = export_to(HSC_SINK_parquet);
  hsc_parquet_file *file = NULL;
  check(hsc_parquet_open(hsc_bytes_view(&out), &file));
  static const char *const number_names[] = {"time",   "start_ns", "duration_ns", "pid",
                                             "tid",    "span_id",  "parent_id",   "depth",
                                             "device", "bytes",    "value"};
  static const char *const text_names[] = {"thread", "kind", "category", "name", "executable"};
  double *numbers[HSC_COUNT_OF(number_names)];
  hsc_view *texts[HSC_COUNT_OF(text_names)];
  for (size_t c = 0; c < HSC_COUNT_OF(number_names); c++)
    numbers[c] = numbers_of(file, number_names[c]);
  for (size_t c = 0; c < HSC_COUNT_OF(text_names); c++)
    texts[c] = texts_of(file, text_names[c]);
  const hsc_event *events = hsc_capture_events(capture);
  assert_int_equal(hsc_parquet_row_count(file), hsc_capture_event_count(capture));
  int with_executable = 0;
  for (size_t i = 0; i < hsc_capture_event_count(capture); i++) {
    const hsc_event *e = &events[i];
    bool span = hsc_event_is_span(e);
    double counter = NAN;
    if (e->kind == HSC_RECORD_COUNTER)
      memcpy(&counter, &e->value, sizeof counter);
    const double wanted[] = {(double)((hsc_capture_start_wall_ns(capture) + e->start_ns) / 1000),
                             (double)e->start_ns,
                             span ? (double)e->duration_ns : NAN,
                             (double)hsc_capture_process_at(capture, e->process)->pid,
                             (double)hsc_capture_thread_at(capture, e->thread)->tid,
                             (double)e->span,
                             (double)e->parent,
                             (double)e->depth,
                             NAN,
                             number_at(e, "bytes"),
                             counter};
    for (size_t c = 0; c < HSC_COUNT_OF(wanted); c++)
      expect_number(numbers[c][i], wanted[c], number_names[c], i);
    assert_true(hsc_view_equals_text(texts[0][i], hsc_capture_thread_at(capture, e->thread)->name));
    if (span)
      assert_true(hsc_view_equals_text(texts[1][i], e->open ? "open" : "span"));
    assert_true(hsc_view_equals_text(texts[2][i], hsc_capture_category_text(capture, e->category)));
    assert_true(hsc_view_equals_text(texts[3][i], e->name));
    bool has_executable = hsc_event_attr(capture, e, "executable") != NULL;
    with_executable += has_executable;
    assert_int_equal(texts[4][i].data != NULL, has_executable);
    if (has_executable)
      assert_true(hsc_view_equals_text(texts[4][i], "inner"));
  }
  assert_int_equal(with_executable, SPANS / 2);
  for (size_t c = 0; c < HSC_COUNT_OF(number_names); c++)
    hsc_free(numbers[c]);
  for (size_t c = 0; c < HSC_COUNT_OF(text_names); c++)
    hsc_free(texts[c]);
  hsc_parquet_close(file);
  hsc_bytes_deinit(&out);
}

// Nulls, several row groups, dictionaries that grow too large: what is written is in the pages.
static void test_parquet_pages(void **state) {
  enum { ROWS = 200000, GROUP = 128 << 10 };
  hsc_bytes out = {0};
  hsc_parquet *file = NULL;
  hsc_parquet_column columns[] = {{"n", HSC_PARQUET_INT64},
                                  {"few", HSC_PARQUET_TEXT},
                                  {"many", HSC_PARQUET_TEXT},
                                  {"flag", HSC_PARQUET_BOOL}};
  check(hsc_parquet_create(columns, 4, collect, &out, &file));
  for (int i = 0; i < ROWS; i++) {
    char text[16];
    hsc_parquet_int(file, i - 7);
    if (i % 3)
      hsc_parquet_text(file, hsc_view_of(i % 2 ? "odd" : "even"));
    else
      hsc_parquet_null(file);
    hsc_parquet_text(file, (hsc_view){text, (size_t)snprintf(text, sizeof text, "%d", i)});
    hsc_parquet_bool(file, i % 5 == 0);
  }
  check(hsc_parquet_finish(file));
  int64_t found[64];
  assert_int_equal(find(&out, "3", found), 1);
  assert_int_equal(found[0], ROWS);
  assert_int_equal(find(&out, "4.3", found), 2);
  assert_true(found[0] == GROUP && found[1] == ROWS - GROUP);
  char *page = hsc_alloc(4 << 20);
  assert_int_equal(find(&out, "4.1.3.9", found), 8);
  int64_t nulls[8];
  assert_int_equal(find(&out, "4.1.3.12.3", nulls), 8);
  assert_int_equal(nulls[1] + nulls[5], (ROWS + 2) / 3);
  // one run of levels: length, varint of 3 bytes, the 1
  assert_int_equal(read_page(&out, found[0], page, 4 << 20), 4 + 4 + GROUP * 8);
  int64_t last;
  memcpy(&last, page + 8 + (GROUP - 1) * 8, 8);
  assert_int_equal(last, GROUP - 1 - 7);
  // plain text: length and characters
  read_page(&out, found[6], page, 4 << 20);
  assert_memory_equal(page + 8, "\6\0\0\000131072", 10);
  hsc_free(page);
  hsc_bytes_deinit(&out);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_chrome),
      cmocka_unit_test(test_speedscope_nests_in_order_of_time),
      cmocka_unit_test(test_otlp_lines),
      cmocka_unit_test(test_perfetto_packets),
      cmocka_unit_test(test_parquet_of_a_capture),
      cmocka_unit_test(test_parquet_cells),
      cmocka_unit_test(test_parquet_pages),
  };
  return cmocka_run_group_tests(tests, record, clean_up);
}
