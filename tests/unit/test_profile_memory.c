// What a runtime recorded of its memory, and kernels that no HLO stands behind, in profiles as
// TensorFlow writes them on GPUs.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>

#include "trace/xspace.h"
#include "unit.h"
#include "views/profile.h"
#include "views/profile_tensorboard.h"

static const hsc_cell *cell(const hsc_table *table, size_t row, const char *column) {
  for (size_t c = 0; c < hsc_table_column_count(table); c++)
    if (!strcmp(hsc_table_column_name(table, c), column))
      return hsc_table_cell(table, row, c);
  fail_msg("no column %s", column);
  return NULL;
}

typedef struct call {
  bool gives_back;
  const char *allocator, *op;
  int64_t at_us, bytes, in_use, address;
} call;

// As they stand in the file: by thread, not by time.
static const call first_thread[] = {{false, "gpu", "a", 10, 100, 1100, 1},
                                    {false, "gpu", "b", 30, 400, 1500, 2},
                                    {true, "gpu", "", 60, 400, 1350, 2},
                                    {false, "host", "h", 20, 7, 7, 1}};
static const call second_thread[] = {{true, "gpu", "", 40, 100, 1400, 1},
                                     {false, "gpu", "c", 50, 350, 1750, 1},
                                     {true, "host", "", 70, 7, 0, 1}};

static void write_calls(
    hsc_xwriter *w, const int64_t metas[2], const call *calls, size_t count, const char *line) {
  hsc_xwriter_begin_line(w, count == 4 ? 1 : 2, line, 0);
  for (size_t i = 0; i < count; i++) {
    hsc_xwriter_begin_event(w, metas[calls[i].gives_back], calls[i].at_us * 1000000, 0);
    hsc_xwriter_stat_ref(w, "allocator_name", hsc_view_of(calls[i].allocator));
    hsc_xwriter_stat_int(w, "bytes_allocated", calls[i].in_use);
    hsc_xwriter_stat_int(w, "bytes_reserved", 0);
    hsc_xwriter_stat_int(w, "bytes_available", 5000);
    hsc_xwriter_stat_int(w, "allocation_bytes", calls[i].bytes);
    hsc_xwriter_stat_uint(w, "addr", (uint64_t)calls[i].address);
    hsc_xwriter_stat_double(w, "fragmentation", 0.25);
    if (*calls[i].op)
      hsc_xwriter_stat_text(w, "tf_op", hsc_view_of(calls[i].op));
    hsc_xwriter_end_event(w);
  }
  hsc_xwriter_end_line(w);
}

static void write_memory(hsc_xwriter *w, const char *plane) {
  int64_t metas[2];
  hsc_xwriter_begin_plane(w, 4, plane);
  for (int i = 0; i < 2; i++) {
    metas[i] =
        hsc_xwriter_begin_event_meta(w, 0, i ? "MemoryDeallocation" : "MemoryAllocation", NULL);
    hsc_xwriter_end_event_meta(w);
  }
  write_calls(w, metas, first_thread, HSC_COUNT_OF(first_thread), "one");
  write_calls(w, metas, second_thread, HSC_COUNT_OF(second_thread), "two");
  hsc_xwriter_end_plane(w);
}

static hsc_profile *profile_of(const hsc_bytes *bytes) {
  hsc_xspace *space = NULL;
  hsc_profile *profile = NULL;
  EXPECT_OK(hsc_bytes_status(bytes));
  EXPECT_OK(hsc_xspace_of(hsc_bytes_view(bytes), "test", &space));
  assert_null(space->damage);
  EXPECT_OK(hsc_profile_of(space, &profile));
  return profile;
}

static hsc_table *table_of(hsc_profile *profile, hsc_profile_view_id view) {
  hsc_table *table = NULL;
  EXPECT_OK(hsc_profile_table(profile, view, NULL, &table));
  return table;
}

static void expect_rows(hsc_profile *profile) {
  static const struct {
    const char *allocator, *what, *instruction;
    int64_t size, at_us;
  } rows[] = {{"gpu", "in use at the start", NULL, 1000, 10},
              {"gpu", "peak in use", "c", 1750, 50},
              {"gpu", "in use at the end", NULL, 1350, 60},
              {"gpu", "buffer at the peak", "b", 400, 30},
              {"gpu", "buffer at the peak", "c", 350, 50},
              {"gpu", "taken before the profile", NULL, 1000, 10},
              {"host", "in use at the start", NULL, 0, 20},
              {"host", "peak in use", "h", 7, 20},
              {"host", "in use at the end", NULL, 0, 70},
              {"host", "buffer at the peak", "h", 7, 20}};
  hsc_table *table = table_of(profile, HSC_PROFILE_VIEW_memory);
  assert_int_equal(hsc_table_row_count(table), HSC_COUNT_OF(rows));
  for (size_t i = 0; i < HSC_COUNT_OF(rows); i++) {
    assert_string_equal(cell(table, i, "program")->text, rows[i].allocator);
    assert_string_equal(cell(table, i, "what")->text, rows[i].what);
    if (rows[i].instruction)
      assert_string_equal(cell(table, i, "instruction")->text, rows[i].instruction);
    assert_int_equal(cell(table, i, "size")->integer, rows[i].size);
    assert_true(cell(table, i, "at")->number == (double)rows[i].at_us * 1000);
  }
  hsc_table_destroy(table);
}

static void test_memory_is_in_the_order_of_time_for_each_allocator(void **state) {
  hsc_bytes bytes = {0};
  hsc_xwriter w;
  EXPECT_OK(hsc_xwriter_init(&w, &bytes));
  write_memory(&w, "/host:CPU");
  hsc_xwriter_deinit(&w);
  hsc_profile *profile = profile_of(&bytes);
  expect_rows(profile);
  hsc_table *table = table_of(profile, HSC_PROFILE_VIEW_allocations);
  static const int64_t in_use[] = {1100, 1500, 1400, 1750, 1350, 7, 0};
  assert_int_equal(hsc_table_row_count(table), 7);
  for (size_t i = 0; i < 7; i++)
    assert_int_equal(cell(table, i, "in_use")->integer, in_use[i]);
  assert_string_equal(cell(table, 2, "does")->text, "gives back");
  hsc_table_destroy(table);
  hsc_profile_close(profile);
  hsc_bytes_deinit(&bytes);
}

static int lines_called(const hsc_xplane *plane, const char *name) {
  int count = 0;
  for (int32_t i = 0; i < plane->line_count; i++)
    count += hsc_view_equals_text(plane->lines[i].name, name);
  return count;
}

// TensorBoard reads memory from the first plane called /host:CPU: one that is there keeps what it
// has, and what is exported reads the same again.
static void test_memory_of_any_plane_is_shown_by_tensorboard(void **state) {
  for (int has_host = 0; has_host < 2; has_host++) {
    hsc_bytes bytes = {0};
    hsc_bytes out = {0};
    hsc_bytes again = {0};
    hsc_xwriter w;
    EXPECT_OK(hsc_xwriter_init(&w, &bytes));
    if (has_host) {
      hsc_xwriter_begin_plane(&w, 8, "/host:CPU");
      int64_t meta = hsc_xwriter_begin_event_meta(&w, 41, "main()", NULL);
      hsc_xwriter_stat_text(&w, "addr", HSC_VIEW("a name that is used already"));
      hsc_xwriter_end_event_meta(&w);
      hsc_xwriter_begin_line(&w, 3, "python", 0);
      hsc_xwriter_begin_event(&w, meta, 0, 80000000);
      hsc_xwriter_end_event(&w);
      hsc_xwriter_end_line(&w);
      hsc_xwriter_end_plane(&w);
    }
    write_memory(&w, "/device:CUSTOM:runtime");
    hsc_xwriter_deinit(&w);
    hsc_profile *profile = profile_of(&bytes);
    EXPECT_OK(hsc_profile_write_tensorboard(profile, 0, false, &out));
    hsc_profile_close(profile);
    profile = profile_of(&out);
    const hsc_xplane *host = hsc_xspace_plane(hsc_profile_space(profile, 0), "/host:CPU");
    assert_non_null(host);
    assert_int_equal(host->id, has_host ? 8 : 999);
    assert_int_equal(lines_called(host, "python"), has_host);
    assert_int_equal(lines_called(host, "memory, shown by hloscope"), 1);
    const hsc_xline *line = &host->lines[host->line_count - 1];
    hsc_xevent_cursor at = hsc_xline_events(line);
    int events = 0;
    for (hsc_xevent e; hsc_xevent_next(&at, &e); events++) {
      hsc_xstat stat;
      const hsc_xevent_meta *meta = hsc_xplane_event_meta(host, e.metadata_id);
      assert_true(meta && (hsc_view_equals_text(meta->name, "MemoryAllocation") ||
                           hsc_view_equals_text(meta->name, "MemoryDeallocation")));
      assert_true(hsc_xstat_find(e.message, HSC_XEVENT_STATS,
                                 hsc_xplane_stat_id(host, "fragmentation"), &stat));
      assert_true(hsc_xstat_number(&stat) == 0.25);
      assert_true(hsc_xstat_find(e.message, HSC_XEVENT_STATS,
                                 hsc_xplane_stat_id(host, "allocator_name"), &stat));
      assert_true(hsc_xstat_text(host, &stat).size >= 3);
    }
    assert_int_equal(events, 7);
    expect_rows(profile);  // each call once, though two planes have it
    EXPECT_OK(hsc_profile_write_tensorboard(profile, 0, false, &again));
    assert_int_equal(again.size, out.size);
    hsc_profile_close(profile);
    hsc_bytes_deinit(&bytes);
    hsc_bytes_deinit(&out);
    hsc_bytes_deinit(&again);
  }
}

// What the host did to move arrays is left out, of planes that are copied and of one that memory is
// added to; all else stays, also fields nobody knows.
static void test_traced_only_leaves_transfers_out(void **state) {
  for (int with_memory = 0; with_memory < 2; with_memory++) {
    hsc_bytes bytes = {0};
    hsc_bytes out = {0};
    hsc_xwriter w;
    EXPECT_OK(hsc_xwriter_init(&w, &bytes));
    hsc_xwriter_begin_plane(&w, 8, "/host:CPU");
    static const char *const names[] = {"BufferFromHostBuffer", "fusion.1", "step 3",
                                        "TransferLiteralFromDevice"};
    int64_t metas[4];
    for (int i = 0; i < 4; i++) {
      metas[i] = hsc_xwriter_begin_event_meta(&w, 0, names[i], NULL);
      hsc_xwriter_end_event_meta(&w);
    }
    hsc_xwriter_begin_line(&w, 3, "thread", 0);
    for (int i = 0; i < 40; i++) {
      hsc_xwriter_begin_event(&w, metas[i % 4], 1000000 * i, 500000);
      if (i % 4 == 1) {
        hsc_xwriter_stat_ref(&w, "hlo_op", HSC_VIEW("fusion.1"));
        hsc_xwriter_stat_ref(&w, "hlo_module", HSC_VIEW("jit_f"));
      }
      hsc_xwriter_end_event(&w);
    }
    hsc_xwriter_end_line(&w);
    hsc_xwriter_end_plane(&w);
    if (with_memory)
      write_memory(&w, "/device:CUSTOM:runtime");
    hsc_xwriter_deinit(&w);
    hsc_profile *profile = profile_of(&bytes);
    EXPECT_OK(hsc_profile_write_tensorboard(profile, 0, true, &out));
    hsc_profile_close(profile);
    profile = profile_of(&out);
    const hsc_xplane *host = hsc_xspace_plane(hsc_profile_space(profile, 0), "/host:CPU");
    assert_non_null(host);
    hsc_xevent_cursor at = hsc_xline_events(&host->lines[0]);
    int count[4] = {0};
    for (hsc_xevent e; hsc_xevent_next(&at, &e);)
      for (int i = 0; i < 4; i++)
        count[i] += e.metadata_id == metas[i];
    assert_int_equal(count[0], 0);
    assert_int_equal(count[1], 10);
    assert_int_equal(count[2], 10);
    assert_int_equal(count[3], 0);
    assert_int_equal(hsc_profile_op_count(profile), 1);
    assert_int_equal(hsc_profile_ops(profile)[0].count, 10);
    hsc_profile_close(profile);
    hsc_bytes_deinit(&bytes);
    hsc_bytes_deinit(&out);
  }
}

// Two kernels for two operators of the framework, a copy beside them.
static void test_kernels_without_hlo_are_operators(void **state) {
  hsc_bytes bytes = {0};
  hsc_xwriter w;
  EXPECT_OK(hsc_xwriter_init(&w, &bytes));
  hsc_xwriter_begin_plane(&w, 1, "/device:GPU:3");
  int64_t kernel = hsc_xwriter_begin_event_meta(&w, 0, "void kernel<float>(float*)", NULL);
  hsc_xwriter_end_event_meta(&w);
  int64_t copy = hsc_xwriter_begin_event_meta(&w, 0, "MemcpyH2D", NULL);
  hsc_xwriter_end_event_meta(&w);
  int64_t step = hsc_xwriter_begin_event_meta(&w, 0, "5", NULL);
  hsc_xwriter_end_event_meta(&w);
  hsc_xwriter_begin_line(&w, 7, "Stream #7(Compute)", 0);
  for (int i = 0; i < 3; i++) {
    hsc_xwriter_begin_event(&w, kernel, 10000000 * i, 4000000);
    hsc_xwriter_stat_text(&w, "level 0", i == 1 ? HSC_VIEW("model/b:") : HSC_VIEW("model/a:"));
    hsc_xwriter_stat_text(&w, "kernel_details", HSC_VIEW("regs:38"));
    hsc_xwriter_end_event(&w);
  }
  hsc_xwriter_end_line(&w);
  hsc_xwriter_begin_line(&w, 8, "Stream #8(MemcpyH2D)", 0);
  hsc_xwriter_begin_event(&w, copy, 30000000, 6000000);
  hsc_xwriter_stat_text(&w, "memcpy_details",
                        HSC_VIEW("kind_src:pageable size:4096 dest:0 async:1"));
  hsc_xwriter_end_event(&w);
  hsc_xwriter_end_line(&w);
  hsc_xwriter_begin_line(&w, 9, "Steps", 0);
  hsc_xwriter_begin_event(&w, step, 0, 40000000);
  hsc_xwriter_end_event(&w);
  hsc_xwriter_end_line(&w);
  hsc_xwriter_end_plane(&w);
  hsc_xwriter_deinit(&w);
  hsc_profile *profile = profile_of(&bytes);
  hsc_table *table = table_of(profile, HSC_PROFILE_VIEW_hlo_operators);
  assert_int_equal(hsc_table_row_count(table), 2);
  assert_string_equal(cell(table, 0, "op_name")->text, "model/a");
  assert_int_equal(cell(table, 0, "occurrences")->integer, 2);
  assert_true(cell(table, 0, "self_time")->number == 8000);
  assert_string_equal(cell(table, 1, "op_name")->text, "model/b");
  hsc_table_destroy(table);
  assert_int_equal(hsc_profile_step_count(profile), 1);
  const hsc_profile_step *s = hsc_profile_steps(profile);
  assert_int_equal(s->number, 5);
  assert_int_equal(s->activity_ps[HSC_ACTIVITY_COMPUTE], 12000000);
  assert_int_equal(s->activity_ps[HSC_ACTIVITY_TRANSFER], 6000000);
  assert_int_equal(s->activity_ps[HSC_ACTIVITY_IDLE], 22000000);
  table = table_of(profile, HSC_PROFILE_VIEW_timeline);
  bool found = false;
  for (size_t i = 0; i < hsc_table_row_count(table); i++)
    if (!strcmp(cell(table, i, "section")->text, "data transfer")) {
      assert_int_equal(cell(table, i, "bytes")->integer, 4096);
      found = true;
    }
  assert_true(found);
  hsc_table_destroy(table);
  hsc_profile_close(profile);
  hsc_bytes_deinit(&bytes);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_memory_is_in_the_order_of_time_for_each_allocator),
      cmocka_unit_test(test_memory_of_any_plane_is_shown_by_tensorboard),
      cmocka_unit_test(test_traced_only_leaves_transfers_out),
      cmocka_unit_test(test_kernels_without_hlo_are_operators),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
