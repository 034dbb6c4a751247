// Profiles as XLA writes them: what is written is read, what is cut gives what is left, sums are
// those that protobuf's own reader gives.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <unistd.h>
#include <zlib.h>

#include "base/files/file_io.h"
#include "base/wire/wire.h"
#include "formats/common/formats.h"
#include "trace/capture.h"
#include "trace/xspace.h"
#include "unit.h"
#include "views/profile.h"
#include "views/profile_tensorboard.h"

static const char *source_root = ".";

static hsc_xspace *space_of(const hsc_bytes *bytes) {
  hsc_xspace *space = NULL;
  EXPECT_OK(hsc_xspace_of(hsc_bytes_view(bytes), "test", &space));
  return space;
}

// Two steps on one device: a loop of 60 us that holds two operators, and a collective after it.
static void write_device(hsc_bytes *out) {
  hsc_xwriter w;
  EXPECT_OK(hsc_xwriter_init(&w, out));
  hsc_xwriter_begin_plane(&w, 3, "/device:TPU:0");
  hsc_xwriter_stat_double(&w, "peak_teraflops_per_second", 2);
  hsc_xwriter_stat_double(&w, "peak_hbm_bw_gigabytes_per_second", 100);
  static const struct {
    const char *text, *name, *category, *framework;
    uint64_t flops, bytes;
  } ops[] = {
      {"%while.1 = s32[] while(%x)", "while.1", "while", "jit(f)/while:", 0, 0},
      {"%dot.1 = f32[4]{0} dot(%x)", "dot.1", "dot", "jit(f)/layer/dot_general:", 10000000, 1000},
      {"%add.1 = f32[4]{0} add(%x)", "add.1", "loop fusion", "jit(f)/layer/add:", 10, 1000000},
      {"%all-reduce.1 = f32[4]{0} all-reduce(%x)", "all-reduce.1", "all-reduce", "", 0, 4}};
  int64_t ids[4];
  for (int i = 0; i < 4; i++) {
    ids[i] = hsc_xwriter_begin_event_meta(&w, i == 3 ? -77 : 0, ops[i].text, ops[i].name);
    hsc_xwriter_stat_uint(&w, "program_id", 9);
    hsc_xwriter_stat_ref(&w, "hlo_category", hsc_view_of(ops[i].category));
    hsc_xwriter_stat_uint(&w, "flops", ops[i].flops);
    hsc_xwriter_stat_uint(&w, "bytes_accessed", ops[i].bytes);
    if (*ops[i].framework)
      hsc_xwriter_stat_text(&w, "tf_op", hsc_view_of(ops[i].framework));
    hsc_xwriter_end_event_meta(&w);
  }
  int64_t steps[2];
  for (int s = 0; s < 2; s++) {
    steps[s] = hsc_xwriter_begin_event_meta(&w, 0, s ? "41" : "40", NULL);
    hsc_xwriter_end_event_meta(&w);
  }
  hsc_xwriter_begin_line(&w, -5, "XLA Ops", 1000);
  for (int s = 0; s < 2; s++) {
    int64_t at = 100000000 * (int64_t)s;
    hsc_xwriter_begin_event(&w, ids[0], at, 60000000);
    hsc_xwriter_end_event(&w);
    hsc_xwriter_begin_event(&w, ids[1], at + 10000000, 20000000);
    hsc_xwriter_end_event(&w);
    hsc_xwriter_begin_event(&w, ids[2], at + 30000000, 25000000);
    hsc_xwriter_end_event(&w);
    hsc_xwriter_begin_event(&w, ids[3], at + 70000000, 10000000);
    hsc_xwriter_end_event(&w);
  }
  hsc_xwriter_end_line(&w);
  hsc_xwriter_begin_line(&w, 1, "Steps", 1000);
  for (int s = 0; s < 2; s++) {
    hsc_xwriter_begin_event(&w, steps[s], 100000000 * (int64_t)s, 90000000);
    hsc_xwriter_stat_int(&w, "group_id", s);
    hsc_xwriter_stat_int(&w, "group_id", 99);  // twice, as real files have it
    hsc_xwriter_end_event(&w);
  }
  hsc_xwriter_end_line(&w);
  hsc_xwriter_end_plane(&w);
  hsc_xwriter_hostname(&w, "here");
  EXPECT_OK(hsc_bytes_status(out));
  hsc_xwriter_deinit(&w);
}

// Part `k` of a profile: numbers of stats and events are in another order in each, times count from
// the part's begin.
static hsc_xspace_part part_of(int k, hsc_bytes *bytes) {
  static const char *const names[2][2] = {{"add.1", "dot.1"}, {"dot.1", "add.1"}};
  hsc_xwriter w;
  EXPECT_OK(hsc_xwriter_init(&w, bytes));
  hsc_xwriter_begin_plane(&w, 1, "/host:metadata");
  hsc_xwriter_begin_event_meta(&w, 9, "jit_f(9)", NULL);
  hsc_xwriter_end_event_meta(&w);
  if (k) {
    hsc_xwriter_begin_event_meta(&w, 10, "jit_g(10)", NULL);
    hsc_xwriter_end_event_meta(&w);
  }
  hsc_xwriter_end_plane(&w);
  hsc_xwriter_begin_plane(&w, 2, "/host:CPU");
  if (k)
    hsc_xwriter_stat_int(&w, "only in the second", 1);
  int64_t ids[2];
  for (int i = 0; i < 2; i++) {
    ids[i] = hsc_xwriter_begin_event_meta(&w, 0, names[k][i], NULL);
    hsc_xwriter_end_event_meta(&w);
  }
  hsc_xwriter_begin_line(&w, 7, "worker", 100);
  for (int i = 0; i < 2; i++) {
    hsc_xwriter_begin_event(&w, ids[i], 1000 * i, 500);
    hsc_xwriter_stat_ref(&w, "hlo_op", hsc_view_of(names[k][i]));
    hsc_xwriter_end_event(&w);
  }
  hsc_xwriter_end_line(&w);
  hsc_xwriter_end_plane(&w);
  hsc_xwriter_hostname(&w, "here");
  EXPECT_OK(hsc_bytes_status(bytes));
  hsc_xwriter_deinit(&w);
  // the second begins 3 us later
  return (hsc_xspace_part){.space = space_of(bytes), .begin_ns = 5000 + 3000 * (int64_t)k};
}

static void test_parts_are_one_profile(void **state) {
  static const char *const names[] = {"add.1", "dot.1", "dot.1", "add.1"};
  static const int64_t offsets_ps[] = {0, 1000, 3000000, 3001000};
  hsc_bytes bytes[2] = {{0}, {0}};
  hsc_bytes merged = {0};
  const hsc_xspace_part parts[2] = {part_of(0, &bytes[0]), part_of(1, &bytes[1])};
  EXPECT_OK(hsc_xspace_merge(parts, 2, &merged));
  hsc_xspace *space = space_of(&merged);
  assert_null(space->damage);
  assert_int_equal(space->hostname_count, 1);
  assert_int_equal(space->plane_count, 2);
  const hsc_xplane *programs = hsc_xspace_plane(space, "/host:metadata");
  assert_int_equal(programs->event_meta_count, 2);
  assert_non_null(hsc_xplane_event_meta(programs, 9));
  assert_non_null(hsc_xplane_event_meta(programs, 10));
  const hsc_xplane *host = hsc_xspace_plane(space, "/host:CPU");
  assert_int_equal(host->line_count, 1);
  assert_int_equal(host->event_meta_count, 2);
  assert_int_equal(host->lines[0].timestamp_ns, 100);
  hsc_xstat stat;
  assert_true(hsc_xstat_find(host->message, HSC_XPLANE_STATS,
                             hsc_xplane_stat_id(host, "only in the second"), &stat));
  hsc_xevent_cursor at = hsc_xline_events(&host->lines[0]);
  for (size_t i = 0; i < HSC_COUNT_OF(names); i++) {
    hsc_xevent e;
    assert_true(hsc_xevent_next(&at, &e));
    assert_true(e.offset_ps == offsets_ps[i] && e.duration_ps == 500);
    assert_true(hsc_view_equals_text(hsc_xplane_event_meta(host, e.metadata_id)->name, names[i]));
    assert_true(
        hsc_xstat_find(e.message, HSC_XEVENT_STATS, hsc_xplane_stat_id(host, "hlo_op"), &stat));
    assert_true(hsc_view_equals_text(hsc_xstat_text(host, &stat), names[i]));
  }
  hsc_xspace_close(space);
  for (int k = 0; k < 2; k++) {
    hsc_xspace_close((hsc_xspace *)(uintptr_t)parts[k].space);
    hsc_bytes_deinit(&bytes[k]);
  }
  hsc_bytes_deinit(&merged);
}

static void write_in(const char *folder, const char *name, const hsc_bytes *bytes, size_t size) {
  char path[512];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  EXPECT_OK(hsc_file_write_atomic(path, bytes->data, size));
}

static bool is_there(const char *folder, const char *name) {
  char path[512];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  return access(path, F_OK) == 0;
}

static int32_t event_count(const hsc_xspace *space) {
  int32_t count = 0;
  hsc_xevent_cursor at = hsc_xline_events(&hsc_xspace_plane(space, "/host:CPU")->lines[0]);
  for (hsc_xevent e; hsc_xevent_next(&at, &e);)
    count++;
  return count;
}

static void test_a_damaged_part_is_counted_and_stays(void **state) {
  char folder[] = "/tmp/hloscope-parts-XXXXXX";
  char command[64];
  hsc_bytes bytes[2] = {{0}, {0}};
  hsc_xspace_joined joined;
  hsc_xspace *space = NULL;
  assert_non_null(mkdtemp(folder));
  for (int k = 0; k < 2; k++)
    hsc_xspace_close((hsc_xspace *)(uintptr_t)part_of(k, &bytes[k]).space);
  // of process 8 one part is whole and one ends early; of 9 there is none that can be read
  write_in(folder, "8.part0000.5000.xplane.pb", &bytes[0], bytes[0].size);
  write_in(folder, "8.part0001.8000.xplane.pb", &bytes[1], bytes[1].size - 5);
  write_in(folder, "9.part0000.5000.xplane.pb", &bytes[0], 1);
  EXPECT_OK(hsc_xspace_join_parts(folder, &joined));
  assert_int_equal(joined.parts, 3);
  assert_int_equal(joined.damaged, 2);
  assert_false(is_there(folder, "8.part0000.5000.xplane.pb"));
  assert_true(is_there(folder, "8.part0001.8000.xplane.pb.damaged"));
  assert_true(is_there(folder, "9.part0000.5000.xplane.pb.damaged"));
  snprintf(command, sizeof command, "%s/8.xplane.pb", folder);
  EXPECT_OK(hsc_xspace_open(command, &space));
  assert_in_range(event_count(space), 2, 4);
  hsc_xspace_close(space);
  for (int k = 0; k < 2; k++)
    hsc_bytes_deinit(&bytes[k]);
  snprintf(command, sizeof command, "rm -r %s", folder);
  assert_int_equal(system(command), 0);
}

static void test_what_is_written_is_read(void **state) {
  hsc_bytes bytes = {0};
  write_device(&bytes);
  hsc_xspace *space = space_of(&bytes);
  assert_null(space->damage);
  assert_int_equal(space->plane_count, 1);
  assert_int_equal(space->hostname_count, 1);
  const hsc_xplane *plane = hsc_xspace_plane(space, "/device:TPU:0");
  assert_non_null(plane);
  assert_int_equal(plane->id, 3);
  assert_int_equal(plane->line_count, 2);
  assert_int_equal(plane->lines[0].id, -5);
  assert_int_equal(plane->lines[0].timestamp_ns, 1000);
  const hsc_xevent_meta *negative = hsc_xplane_event_meta(plane, -77);
  assert_non_null(negative);
  assert_true(hsc_view_equals_text(negative->display_name, "all-reduce.1"));
  assert_null(hsc_xplane_event_meta(plane, 12345));
  hsc_xstat stat;
  assert_true(hsc_xstat_find(negative->message, HSC_XEVENT_META_STATS,
                             hsc_xplane_stat_id(plane, "hlo_category"), &stat));
  assert_int_equal(stat.kind, HSC_XSTAT_REF);
  assert_true(hsc_view_equals_text(hsc_xstat_text(plane, &stat), "all-reduce"));
  hsc_xevent_cursor at = hsc_xline_events(&plane->lines[1]);
  hsc_xevent event;
  assert_true(hsc_xevent_next(&at, &event));
  assert_true(hsc_xevent_next(&at, &event));
  assert_int_equal(event.offset_ps, 100000000);
  assert_true(hsc_xstat_find(event.message, HSC_XEVENT_STATS, hsc_xplane_stat_id(plane, "group_id"),
                             &stat));
  assert_int_equal(stat.i, 1);  // the first of the two
  assert_false(hsc_xevent_next(&at, &event));
  hsc_xspace_close(space);
  hsc_bytes_deinit(&bytes);
}

static void test_numbers_of_any_length_are_decoded(void **state) {
  static const int64_t values[] = {0,
                                   1,
                                   127,
                                   128,
                                   16383,
                                   16384,
                                   1 << 21,
                                   (1 << 28) - 1,
                                   (int64_t)1 << 35,
                                   ((int64_t)1 << 56) - 1,
                                   (int64_t)1 << 56,
                                   INT64_MAX,
                                   -1,
                                   INT64_MIN};
  for (size_t i = 0; i < HSC_COUNT_OF(values); i++) {
    hsc_bytes bytes = {0};
    hsc_xwriter w;
    EXPECT_OK(hsc_xwriter_init(&w, &bytes));
    hsc_xwriter_begin_plane(&w, 0, "p");
    hsc_xwriter_begin_line(&w, 0, "l", 0);
    hsc_xwriter_begin_event(&w, values[i], values[i], values[HSC_COUNT_OF(values) - 1 - i]);
    hsc_xwriter_end_event(&w);
    for (int k = 0; k < 4; k++) {
      // room for the fast way
      hsc_xwriter_begin_event(&w, k, k, k);
      hsc_xwriter_end_event(&w);
    }
    hsc_xwriter_end_line(&w);
    hsc_xwriter_stat_text(
        &w, "padding",
        HSC_VIEW("0123456789012345678901234567890123456789012345678901234567890123"));
    hsc_xwriter_end_plane(&w);
    hsc_xwriter_deinit(&w);
    hsc_xspace *space = space_of(&bytes);
    hsc_xevent_cursor at = hsc_xline_events(&space->planes[0].lines[0]);
    hsc_xevent e;
    assert_true(hsc_xevent_next(&at, &e));
    assert_true(e.metadata_id == values[i] && e.offset_ps == values[i] &&
                e.duration_ps == values[HSC_COUNT_OF(values) - 1 - i]);
    hsc_xspace_close(space);
    hsc_bytes_deinit(&bytes);
  }
}

static void test_unknown_fields_survive_a_rewrite(void **state) {
  hsc_bytes bytes = {0};
  hsc_bytes copy = {0};
  write_device(&bytes);
  hsc_wire_put_text(&bytes, 33, "a field of a later version");
  size_t plane = hsc_wire_begin(&bytes, 1);
  hsc_wire_put_text(&bytes, 2, "odd");
  hsc_wire_put_varint(&bytes, 44, 7);
  hsc_wire_end(&bytes, plane);
  hsc_xspace *space = space_of(&bytes);
  hsc_xwriter w;
  EXPECT_OK(hsc_xwriter_init(&w, &copy));
  for (int32_t i = 0; i < space->plane_count; i++)
    hsc_xwriter_copy_plane(&w, &space->planes[i], NULL, NULL);
  hsc_xwriter_copy_rest(&w, space);
  hsc_xwriter_deinit(&w);
  assert_int_equal(copy.size, bytes.size);
  hsc_xspace *again = space_of(&copy);
  assert_int_equal(again->plane_count, 2);
  assert_true(hsc_view_equals(again->planes[0].message, space->planes[0].message));
  assert_true(hsc_view_equals(again->planes[1].message, space->planes[1].message));
  assert_non_null(memmem(copy.data, copy.size, "a field of a later version", 26));
  hsc_xspace_close(again);
  hsc_xspace_close(space);
  hsc_bytes_deinit(&copy);
  hsc_bytes_deinit(&bytes);
}

static void test_what_is_cut_gives_what_is_left_and_says_so(void **state) {
  hsc_bytes bytes = {0};
  write_device(&bytes);
  size_t whole = bytes.size;
  size_t last_events = 0;
  // the last field is the host's name: cutting before it leaves a whole file
  for (size_t size = 20; size < whole - 6; size++) {
    hsc_xspace *space = NULL;
    char *copy = malloc(size);
    memcpy(copy, bytes.data, size);
    EXPECT_OK(hsc_xspace_of((hsc_view){copy, size}, "cut", &space));
    assert_non_null(space->damage);
    size_t events = 0;
    for (int32_t l = 0; l < space->planes[0].line_count; l++) {
      hsc_xevent_cursor at = hsc_xline_events(&space->planes[0].lines[l]);
      for (hsc_xevent e; hsc_xevent_next(&at, &e);)
        events++;
    }
    assert_true(events >= last_events);
    last_events = events;
    hsc_profile *profile = NULL;
    EXPECT_OK(hsc_profile_of(space, &profile));
    assert_non_null(strstr(hsc_profile_notes(profile), "was read"));
    hsc_profile_close(profile);
    free(copy);
  }
  assert_int_equal(last_events, 10);
  hsc_bytes_deinit(&bytes);
}

static void test_nested_operators_have_self_time_and_steps_add_up(void **state) {
  hsc_bytes bytes = {0};
  write_device(&bytes);
  hsc_profile *profile = NULL;
  EXPECT_OK(hsc_profile_of(space_of(&bytes), &profile));
  assert_int_equal(hsc_profile_op_count(profile), 4);
  const hsc_profile_op *ops = hsc_profile_ops(profile);
  assert_true(hsc_view_equals_text(ops[0].name, "while.1"));
  assert_int_equal(ops[0].total_ps, 120000000);
  assert_int_equal(ops[0].self_ps, 30000000);
  assert_int_equal(ops[1].self_ps, 40000000);
  assert_int_equal(ops[2].self_ps, 50000000);
  assert_int_equal(ops[3].activity, HSC_ACTIVITY_COLLECTIVE);
  assert_int_equal(hsc_profile_step_count(profile), 2);
  const hsc_profile_step *step = &hsc_profile_steps(profile)[1];
  assert_int_equal(step->number, 41);
  assert_int_equal(step->activity_ps[HSC_ACTIVITY_COMPUTE], 60000000);
  assert_int_equal(step->activity_ps[HSC_ACTIVITY_COLLECTIVE], 10000000);
  assert_int_equal(step->activity_ps[HSC_ACTIVITY_IDLE], 20000000);
  // The roofline: dot.1 takes 20 us and could do its flops in 5 us; add.1 takes 25 us and could
  // move its bytes in 10 us.
  hsc_table *table = NULL;
  hsc_bytes csv = {0};
  EXPECT_OK(hsc_profile_table(profile, HSC_PROFILE_VIEW_hlo_operators, NULL, &table));
  EXPECT_OK(hsc_table_print(table, HSC_FORMAT_CSV, NULL, &csv));
  assert_non_null(strstr(hsc_bytes_text(&csv), "compute,0.25"));
  assert_non_null(strstr(hsc_bytes_text(&csv), "memory,0.4"));
  hsc_table_destroy(table);
  hsc_bytes_deinit(&csv);
  hsc_profile_close(profile);
  hsc_bytes_deinit(&bytes);
}

// The sums that Google's protobuf reader gives for the same file (XLA:CPU, five steps of a small
// network).
static void test_a_profile_of_xla_cpu_sums_up_as_protobuf_reads_it(void **state) {
  static const struct {
    const char *name;
    int64_t program, count, total_ps, max_ps;
  } expected[] = {{"dot.1", 38, 5, 2940820000, 958518000},
                  {"ynn_fusion.4", 38, 5, 2106606000, 832992000},
                  {"ynn_fusion.8", 38, 5, 1767803000, 574019000}};
  char path[512];
  snprintf(path, sizeof path, "%s/tests/conformance/profiles/xla_cpu_mlp.xplane.pb.gz",
           source_root);
  hsc_profile *profile = NULL;
  EXPECT_OK(hsc_profile_open(path, &profile));
  assert_int_equal(hsc_profile_op_count(profile), 36);
  int64_t events = 0;
  int64_t total = 0;
  int64_t found = 0;
  for (int i = 0; i < hsc_profile_op_count(profile); i++) {
    const hsc_profile_op *op = &hsc_profile_ops(profile)[i];
    events += op->count;
    total += op->total_ps;
    for (size_t k = 0; k < HSC_COUNT_OF(expected); k++) {
      if (!hsc_view_equals_text(op->name, expected[k].name) ||
          hsc_profile_modules(profile)[op->module].program_id != expected[k].program)
        continue;
      assert_int_equal(op->count, expected[k].count);
      assert_int_equal(op->total_ps, expected[k].total_ps);
      assert_int_equal(op->max_ps, expected[k].max_ps);
      found++;
    }
  }
  assert_int_equal(found, 3);
  assert_int_equal(events, 630);
  assert_int_equal(total, 12917874000);
  assert_int_equal(hsc_profile_step_count(profile), 5);
  hsc_table *table = NULL;
  EXPECT_OK(hsc_profile_table(profile, HSC_PROFILE_VIEW_hlo_operators, NULL, &table));
  hsc_table_destroy(table);
  // every operator was found in the program's HLO
  for (int i = 0; i < hsc_profile_op_count(profile); i++) {
    assert_non_null(hsc_profile_ops(profile)[i].instr);
    assert_true(hsc_profile_ops(profile)[i].category.size > 0);
  }
  hsc_profile_close(profile);
}

// XLA:CPU's operators without the program's HLO: their times are there, their costs are not known
// and are not invented.
static void test_operators_without_hlo_have_times_and_no_costs(void **state) {
  hsc_bytes bytes = {0};
  hsc_xwriter w;
  EXPECT_OK(hsc_xwriter_init(&w, &bytes));
  hsc_xwriter_begin_plane(&w, 1, "/host:CPU");
  int64_t op = hsc_xwriter_begin_event_meta(&w, 0, "fusion.9", NULL);
  hsc_xwriter_end_event_meta(&w);
  // since the epoch, as some writers have it
  hsc_xwriter_begin_line(&w, -4055143547809863458, "tf_XLAEigen/-4055143547809863458",
                         1795271510387343420);
  for (int i = 0; i < 3; i++) {
    hsc_xwriter_begin_event(&w, op, 10000000 * i, 2000000);
    hsc_xwriter_stat_ref(&w, "hlo_op", HSC_VIEW("fusion.9"));
    hsc_xwriter_stat_ref(&w, "hlo_module", HSC_VIEW("jit_lost"));
    hsc_xwriter_stat_int(&w, "program_id", 4711);
    // a stat that is twice: the first counts
    hsc_xwriter_stat_ref(&w, "hlo_op", HSC_VIEW("again"));
    hsc_xwriter_end_event(&w);
  }
  hsc_xwriter_end_line(&w);
  hsc_xwriter_end_plane(&w);
  hsc_xwriter_deinit(&w);
  hsc_profile *profile = NULL;
  EXPECT_OK(hsc_profile_of(space_of(&bytes), &profile));
  assert_int_equal(hsc_profile_op_count(profile), 1);
  hsc_table *table = NULL;
  EXPECT_OK(hsc_profile_table(profile, HSC_PROFILE_VIEW_hlo_operators, NULL, &table));
  const hsc_profile_op *o = &hsc_profile_ops(profile)[0];
  assert_true(hsc_view_equals_text(o->name, "fusion.9"));
  assert_int_equal(o->count, 3);
  assert_int_equal(o->self_ps, 6000000);
  assert_true(isnan(o->flops) && isnan(o->bytes) && !o->instr);
  hsc_table_destroy(table);
  EXPECT_OK(hsc_profile_table(profile, HSC_PROFILE_VIEW_programs, NULL, &table));
  hsc_bytes csv = {0};
  EXPECT_OK(hsc_table_print(table, HSC_FORMAT_CSV, NULL, &csv));
  assert_non_null(strstr(hsc_bytes_text(&csv), "jit_lost,4711"));
  hsc_bytes_deinit(&csv);
  hsc_table_destroy(table);
  hsc_profile_close(profile);
  hsc_bytes_deinit(&bytes);
}

// As a capture, for the sinks: every event, its metadata's stats and its own, nesting and times
// kept.
static void put_program(hsc_xwriter *w, int64_t id, const char *title, const char *text) {
  hsc_module *module = NULL;
  hsc_bytes proto = {0};
  EXPECT_OK(hsc_program_read_as(HSC_FORMAT_HLO_TEXT, hsc_view_of(text), title, &module));
  size_t mark = hsc_wire_begin(&proto, 1);
  EXPECT_OK(hsc_hlo_proto_write(module, &proto));
  hsc_wire_end(&proto, mark);
  hsc_xwriter_begin_event_meta(w, id, title, NULL);
  hsc_xwriter_stat_bytes(w, "Hlo Proto", hsc_bytes_view(&proto));
  hsc_xwriter_end_event_meta(w);
  hsc_bytes_deinit(&proto);
  hsc_module_destroy(module);
}

// XLA:CPU's first program has the number 0, and programs share names: each operator gets the cost
// of its own, here and in what is written for TensorBoard.
static void test_number_zero_is_a_program_as_any_other(void **state) {
  hsc_bytes bytes = {0};
  hsc_bytes out = {0};
  hsc_xwriter w;
  EXPECT_OK(hsc_xwriter_init(&w, &bytes));
  hsc_xwriter_begin_plane(&w, 1, "/host:metadata");
  put_program(
      &w, 22, "jit_f(22)",
      "HloModule f\nENTRY e { x = f32[1000] parameter(0)\n ROOT copy = f32[1000] copy(x) }");
  // the number in the name counts
  put_program(&w, 100, "jit_f(0)",
              "HloModule f\nENTRY e { x = f32[10] parameter(0)\n ROOT copy = f32[10] copy(x) }");
  hsc_xwriter_end_plane(&w);
  hsc_xwriter_begin_plane(&w, 2, "/host:CPU");
  int64_t meta = hsc_xwriter_begin_event_meta(&w, 0, "copy", NULL);
  hsc_xwriter_end_event_meta(&w);
  hsc_xwriter_begin_line(&w, 1, "thread", 0);
  for (int i = 0; i < 3; i++) {
    hsc_xwriter_begin_event(&w, meta, 1000000 * i, 500000);
    hsc_xwriter_stat_ref(&w, "hlo_op", HSC_VIEW("copy"));
    hsc_xwriter_stat_ref(&w, "hlo_module", HSC_VIEW("jit_f"));
    hsc_xwriter_stat_int(&w, "program_id", i == 0 ? 22 : 0);
    hsc_xwriter_stat_int(&w, "run_id", i);
    hsc_xwriter_end_event(&w);
  }
  hsc_xwriter_end_line(&w);
  hsc_xwriter_end_plane(&w);
  hsc_xwriter_deinit(&w);
  hsc_profile *profile = NULL;
  EXPECT_OK(hsc_profile_of(space_of(&bytes), &profile));
  EXPECT_OK(hsc_profile_write_tensorboard(profile, 0, false, &out));
  assert_int_equal(hsc_profile_op_count(profile), 2);
  for (int i = 0; i < 2; i++) {
    const hsc_profile_op *op = &hsc_profile_ops(profile)[i];
    bool zero = hsc_profile_modules(profile)[op->module].program_id == 0;
    assert_true(hsc_profile_modules(profile)[op->module].has_id);
    assert_int_equal(op->count, zero ? 2 : 1);
    assert_true(op->bytes == (zero ? 80 : 8000));
  }
  hsc_profile_close(profile);
  hsc_xspace *written = space_of(&out);
  const hsc_xplane *plane = hsc_xspace_plane(written, "/device:TPU:0");
  assert_non_null(plane);
  int events = 0;
  for (int32_t l = 0; l < plane->line_count; l++) {
    hsc_xevent_cursor at = hsc_xline_events(&plane->lines[l]);
    if (hsc_view_equals_text(plane->lines[l].name, "XLA Ops"))
      for (hsc_xevent e; hsc_xevent_next(&at, &e);)
        events++;
  }
  assert_int_equal(events, 3);  // none is lost
  hsc_xspace_close(written);
  hsc_bytes_deinit(&bytes);
  hsc_bytes_deinit(&out);
}

// A device of hloscope that took runs for steps, under a program that marked its own: the marks
// count, here and for TensorBoard. Work before the first mark and after the last is no step's.
static void test_marked_steps_stand_before_guessed_ones(void **state) {
  for (int foreign = 0; foreign < 2; foreign++) {
    hsc_bytes bytes = {0};
    hsc_bytes out = {0};
    hsc_xwriter w;
    EXPECT_OK(hsc_xwriter_init(&w, &bytes));
    hsc_xwriter_begin_plane(&w, 1, "/host:CPU");
    int64_t mark = hsc_xwriter_begin_event_meta(&w, 0, "train", NULL);
    hsc_xwriter_end_event_meta(&w);
    hsc_xwriter_begin_line(&w, 1, "python", 0);
    for (int i = 0; i < 3; i++) {
      hsc_xwriter_begin_event(&w, mark, 50000000 + 10000000 * i, 9000000);
      hsc_xwriter_stat_int(&w, "step_num", 7 + i);
      hsc_xwriter_end_event(&w);
    }
    hsc_xwriter_end_line(&w);
    hsc_xwriter_end_plane(&w);
    hsc_xwriter_begin_plane(&w, 2, "/device:TPU:0");
    hsc_xwriter_stat_text(&w, "device_type_string",
                          foreign ? HSC_VIEW("TPU v9") : HSC_VIEW("hloscope cpu"));
    int64_t op = hsc_xwriter_begin_event_meta(&w, 0, "%dot.1 = f32[4]{0} dot(%x)", "dot.1");
    hsc_xwriter_stat_uint(&w, "program_id", 9);
    hsc_xwriter_stat_uint(&w, "symbol_id", 1);
    hsc_xwriter_end_event_meta(&w);
    int64_t guess = hsc_xwriter_begin_event_meta(&w, 0, "0", NULL);
    hsc_xwriter_end_event_meta(&w);
    hsc_xwriter_begin_line(&w, 1, "Steps", 0);
    hsc_xwriter_begin_event(&w, guess, 0, 40000000);
    hsc_xwriter_end_event(&w);
    hsc_xwriter_end_line(&w);
    hsc_xwriter_begin_line(&w, 3, "XLA Ops", 0);
    // to begin with, four times as long as all steps
    hsc_xwriter_begin_event(&w, op, 0, 40000000);
    hsc_xwriter_end_event(&w);
    for (int i = 0; i < 3; i++) {
      hsc_xwriter_begin_event(&w, op, 52000000 + 10000000 * i, 5000000);
      hsc_xwriter_end_event(&w);
    }
    hsc_xwriter_begin_event(&w, op, 90000000, 30000000);
    hsc_xwriter_end_event(&w);
    hsc_xwriter_end_line(&w);
    hsc_xwriter_end_plane(&w);
    hsc_xwriter_deinit(&w);
    hsc_profile *profile = NULL;
    EXPECT_OK(hsc_profile_of(space_of(&bytes), &profile));
    for (int again = 0; again < 2; again++) {
      assert_int_equal(hsc_profile_step_count(profile), foreign ? 1 : 3);
      for (int i = 0; i < hsc_profile_step_count(profile); i++) {
        const hsc_profile_step *s = &hsc_profile_steps(profile)[i];
        assert_int_equal(s->number, foreign ? 0 : 7 + i);
        assert_int_equal(s->end_ps - s->start_ps, foreign ? 40000000 : 9000000);
        assert_int_equal(s->activity_ps[HSC_ACTIVITY_COMPUTE], foreign ? 40000000 : 5000000);
      }
      if (again)
        break;
      EXPECT_OK(hsc_profile_write_tensorboard(profile, 0, false, &out));
      hsc_profile_close(profile);
      EXPECT_OK(hsc_profile_of(space_of(&out), &profile));
    }
    const hsc_xplane *plane = hsc_xspace_plane(hsc_profile_space(profile, 0), "/device:TPU:0");
    int events = 0;
    for (int32_t l = 0; l < plane->line_count; l++) {
      hsc_xevent_cursor at = hsc_xline_events(&plane->lines[l]);
      if (hsc_view_equals_text(plane->lines[l].name, "Steps"))
        for (hsc_xevent e; hsc_xevent_next(&at, &e);)
          events++;
    }
    assert_int_equal(events, foreign ? 1 : 3);
    hsc_profile_close(profile);
    hsc_bytes_deinit(&bytes);
    hsc_bytes_deinit(&out);
  }
}

static void test_a_profile_as_a_capture_has_every_event(void **state) {
  char path[] = "/tmp/hsc-xspace-XXXXXX.xplane.pb";
  int file = mkstemps(path, 10);
  assert_true(file >= 0);
  close(file);
  hsc_bytes bytes = {0};
  write_device(&bytes);
  EXPECT_OK(hsc_file_write_atomic(path, bytes.data, bytes.size));
  hsc_capture *c = NULL;
  EXPECT_OK(hsc_capture_of_profile(path, &c));
  assert_int_equal(hsc_capture_event_count(c), 10);
  assert_int_equal(hsc_capture_process_count(c), 1);
  assert_string_equal(hsc_capture_process_at(c, 0)->label, "/device:TPU:0");
  assert_string_equal(hsc_capture_process_at(c, 0)->host, "here");
  assert_int_equal(hsc_capture_thread_count(c), 2);
  int64_t operators_ns = 0;
  for (size_t i = 0; i < 10; i++) {
    const hsc_event *e = &hsc_capture_events(c)[i];
    if (e->category != HSC_CATEGORY_OPERATOR)
      continue;
    operators_ns += e->duration_ns;
    if (strcmp(e->name, "dot.1"))
      continue;
    assert_int_equal(e->depth, 1);
    assert_int_equal(hsc_event_attr(c, e, "flops")->value.u, 10000000);
    assert_string_equal(
        hsc_capture_string(c, e->process, hsc_event_attr(c, e, "hlo_category")->value.string),
        "dot");
    assert_string_equal(
        hsc_capture_string(c, e->process, hsc_event_attr(c, e, "tf_op")->value.string),
        "jit(f)/layer/dot_general:");
  }
  assert_int_equal(operators_ns, 2 * (60000 + 20000 + 25000 + 10000));
  hsc_capture_close(c);
  unlink(path);
  hsc_bytes_deinit(&bytes);
}

static void test_what_is_no_profile_says_what_it_is(void **state) {
  static const char *const texts[] = {"", "{\"traceEvents\": []}", "HloModule m\n",
                                      "\xff\xff\xff\xff"};
  for (size_t i = 0; i < HSC_COUNT_OF(texts); i++) {
    hsc_xspace *space = NULL;
    EXPECT_CODE(DATA_LOSS, hsc_xspace_of(hsc_view_of(texts[i]), "x", &space));
    assert_null(space);
  }
}

int main(int argc, char **argv) {
  if (argc > 1)
    source_root = argv[1];
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_what_is_written_is_read),
      cmocka_unit_test(test_parts_are_one_profile),
      cmocka_unit_test(test_a_damaged_part_is_counted_and_stays),
      cmocka_unit_test(test_numbers_of_any_length_are_decoded),
      cmocka_unit_test(test_unknown_fields_survive_a_rewrite),
      cmocka_unit_test(test_what_is_cut_gives_what_is_left_and_says_so),
      cmocka_unit_test(test_nested_operators_have_self_time_and_steps_add_up),
      cmocka_unit_test(test_a_profile_of_xla_cpu_sums_up_as_protobuf_reads_it),
      cmocka_unit_test(test_operators_without_hlo_have_times_and_no_costs),
      cmocka_unit_test(test_number_zero_is_a_program_as_any_other),
      cmocka_unit_test(test_marked_steps_stand_before_guessed_ones),
      cmocka_unit_test(test_a_profile_as_a_capture_has_every_event),
      cmocka_unit_test(test_what_is_no_profile_says_what_it_is),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
