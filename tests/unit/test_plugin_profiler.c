// test_plugin_profiler.c - the profiler extension of our device: every run and every thunk, as
// often and as nested as they ran, with cost and HLO.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <cmocka.h>

#include "pjrt/client.h"
#include "plugin/plugin_internal.h"
#include "unit.h"
#include "views/profile.h"

static hsc_plugin *plugin;
static hsc_client *client;

// A loop of 7 trips around a product, then a reduction.
static const char looped[] =
    "HloModule looped\n"
    "FileNames\n1 \"other.py\"\n2 \"lib.py\"\n\nFunctionNames\n1 \"f\"\n\n"
    "FileLocations\n1 {file_name_id=1 function_name_id=1 line=3 end_line=3 column=1 end_column=2}\n"
    "2 {file_name_id=2 function_name_id=1 line=99 end_line=99 column=1 end_column=2}\n\n"
    "StackFrames\n1 {file_location_id=1 parent_frame_id=1}\n"
    "2 {file_location_id=2 parent_frame_id=1}\n\n"
    "add { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT s = f32[] add(a, b) }\n"
    "body { t = (s32[], f32[64,64]) parameter(0)\n"
    "  i = s32[] get-tuple-element(t), index=0\n x = f32[64,64] get-tuple-element(t), index=1\n"
    "  one = s32[] constant(1)\n j = s32[] add(i, one)\n"
    "  d = f32[64,64] dot(x, x), lhs_contracting_dims={1}, rhs_contracting_dims={0}, "
    "metadata={op_name=\"jit(f)/while/body/dot_general\" source_file=\"train.py\" "
    "source_line=17}\n"
    "  y = f32[64,64] tanh(d), metadata={op_name=\"jit(f)/while/body/tanh\" "
    "source_file=\"train.py\" source_line=17}\n"
    "  ROOT r = (s32[], f32[64,64]) tuple(j, y) }\n"
    "condition { t = (s32[], f32[64,64]) parameter(0)\n i = s32[] get-tuple-element(t), index=0\n "
    "n = s32[] constant(7)\n ROOT c = pred[] compare(i, n), direction=LT }\n"
    "ENTRY main { p = f32[64,64] parameter(0)\n zero = s32[] constant(0)\n z = f32[] constant(0)\n"
    "  t = (s32[], f32[64,64]) tuple(zero, p)\n w = (s32[], f32[64,64]) while(t), "
    "condition=condition, body=body\n"
    "  y = f32[64,64] get-tuple-element(w), index=1\n ROOT s = f32[64] reduce(y, z), "
    "dimensions={1}, to_apply=add, metadata={op_name=\"jit(f)/sum\" stack_frame_id=2} }\n";

static int open_device(void **state) {
  EXPECT_OK(hsc_plugin_open_table(hsc__plugin_table(), "built-in", &plugin));
  EXPECT_OK(hsc_plugin_initialize(plugin));
  EXPECT_OK(hsc_client_create(plugin, NULL, 0, &client));
  return 0;
}

static int close_device(void **state) {
  hsc_client_destroy(client);
  hsc_plugin_close(plugin);
  return 0;
}

static hsc_profiler *start(void) {
  hsc_profiler *profiler = NULL;
  EXPECT_OK(hsc_profiler_create(plugin, (hsc_view){0}, &profiler));
  EXPECT_OK(hsc_profiler_start(profiler));
  return profiler;
}

static hsc_profile *finish(hsc_profiler *profiler, hsc_bytes *bytes) {
  hsc_xspace *space = NULL;
  hsc_profile *profile = NULL;
  EXPECT_OK(hsc_profiler_stop(profiler));
  EXPECT_OK(hsc_profiler_collect(profiler, bytes));
  hsc_profiler_destroy(profiler);
  EXPECT_OK(hsc_xspace_of(hsc_bytes_view(bytes), "test", &space));
  assert_null(space->damage);
  EXPECT_OK(hsc_profile_of(space, &profile));
  return profile;
}

static void run(int times) {
  hsc_executable *executable = NULL;
  hsc_execution *execution = NULL;
  hsc_buffer *input = NULL;
  static float data[64 * 64];
  hsc_host_array array = {PJRT_Buffer_Type_F32, 2, (int64_t[]){64, 64}, data};
  EXPECT_OK(
      hsc_client_compile(client, hsc_view_of(looped), "hlo_text", (hsc_view){0}, &executable));
  EXPECT_OK(hsc_buffer_from_host(client, 0, &array, HSC_HOST_COPY, NULL, &input));
  EXPECT_OK(hsc_execution_create(executable, 1, &execution));
  hsc_execution_set_argument(execution, 0, input);
  for (int i = 0; i < times; i++) {
    EXPECT_OK(hsc_execution_run(execution));
    EXPECT_OK(hsc_execution_await(execution));
  }
  hsc_execution_destroy(execution);
  hsc_buffer_destroy(input);
  hsc_executable_destroy(executable);
}

static void every_thunk_is_recorded_with_its_cost(void **state) {
  hsc_bytes bytes = {0};
  hsc_profiler *profiler = start();
  run(3);
  hsc_profile *profile = finish(profiler, &bytes);
  assert_int_equal(hsc_profile_device_count(profile), 1);
  assert_int_equal(hsc_profile_step_count(profile), 3);
  hsc_table *table = NULL;
  EXPECT_OK(hsc_profile_table(profile, HSC_PROFILE_VIEW_hlo_operators, NULL, &table));
  hsc_table_destroy(table);
  int64_t products = 0;
  int64_t loops = 0;
  int64_t sums = 0;
  int64_t inside = 0;
  int64_t loop_total = 0;
  int64_t loop_self = 0;
  for (int i = 0; i < hsc_profile_op_count(profile); i++) {
    const hsc_profile_op *op = &hsc_profile_ops(profile)[i];
    assert_true(op->total_ps >= op->self_ps && op->self_ps >= 0);
    if (hsc_view_equals_text(op->op_name, "jit(f)/sum")) {
      sums += op->count;
      assert_true(hsc_view_equals_text(op->source, "lib.py:99"));
    } else if (hsc_view_equals_text(op->category, "while")) {
      loops += op->count;
      loop_total += op->total_ps;
      loop_self += op->self_ps;
    } else if (op->op_name.size && memmem(op->op_name.data, op->op_name.size, "while/body", 10)) {
      inside += op->total_ps;
      // the product, whatever was fused to it
      if (op->flops >= 2.0 * 64 * 64 * 64) {
        products += op->count;
        assert_true(hsc_view_equals_text(op->source, "train.py:17"));
      }
    }
  }
  assert_int_equal(loops, 3);
  assert_int_equal(sums, 3);
  assert_int_equal(products, 3 * 7);
  assert_true(loop_total - loop_self >= inside && inside > 0);
  const hsc_profile_module *module = hsc_profile_modules(profile);
  assert_int_equal(hsc_profile_module_count(profile), 1);
  assert_true(hsc_view_equals_text(module->name, "looped"));
  assert_int_equal(module->run_count, 3);
  assert_true(module->hlo.size > 0);
  EXPECT_OK(hsc_profile_table(profile, HSC_PROFILE_VIEW_timeline, NULL, &table));
  hsc_bytes text = {0};
  EXPECT_OK(hsc_table_print(table, HSC_FORMAT_CSV, NULL, &text));
  assert_non_null(strstr(hsc_bytes_text(&text), "data transfer"));
  assert_non_null(strstr(hsc_bytes_text(&text), "16384"));  // bytes of the one argument
  hsc_bytes_deinit(&text);
  hsc_table_destroy(table);
  hsc_profile_close(profile);
  hsc_bytes_deinit(&bytes);
}

static const hsc_cell *cell(const hsc_table *table, size_t row, const char *column) {
  for (size_t i = 0; i < hsc_table_column_count(table); i++)
    if (!strcmp(hsc_table_column_name(table, i), column))
      return hsc_table_cell(table, row, i);
  fail_msg("no column %s", column);
  return NULL;
}

// Every array and every block of temporaries is there, and what is in use is what the device itself
// counts.
static void memory_is_recorded_as_the_device_counts_it(void **state) {
  static float data[64 * 64];
  hsc_host_array array = {PJRT_Buffer_Type_F32, 2, (int64_t[]){64, 64}, data};
  hsc_memory_stats before, with;
  hsc_bytes bytes = {0};
  hsc_buffer *kept = NULL;
  hsc_buffer *input = NULL;
  EXPECT_OK(hsc_buffer_from_host(client, 0, &array, HSC_HOST_COPY, NULL, &kept));
  EXPECT_OK(hsc_client_memory_stats(client, 0, &before));
  hsc_profiler *profiler = start();
  EXPECT_OK(hsc_buffer_from_host(client, 0, &array, HSC_HOST_COPY, NULL, &input));
  EXPECT_OK(hsc_client_memory_stats(client, 0, &with));
  hsc_buffer_destroy(input);
  run(2);
  hsc_profile *profile = finish(profiler, &bytes);
  hsc_table *table = NULL;
  EXPECT_OK(hsc_profile_table(profile, HSC_PROFILE_VIEW_allocations, NULL, &table));
  size_t rows = hsc_table_row_count(table);
  size_t temporaries = 0;
  int64_t sum = before.bytes_in_use;
  int64_t most = 0;
  assert_true(rows >= 8);
  assert_int_equal(with.bytes_in_use - before.bytes_in_use, 64 * 64 * 4);
  assert_int_equal(cell(table, 0, "in_use")->integer, with.bytes_in_use);
  for (size_t i = 0; i < rows; i++) {
    int64_t size = cell(table, i, "size")->integer;
    sum += strcmp(cell(table, i, "does")->text, "takes") ? -size : size;
    assert_int_equal(cell(table, i, "in_use")->integer, sum);
    temporaries += !strcmp(cell(table, i, "region")->text, "temporaries") &&
                   !strncmp(cell(table, i, "op_name")->text, "looped(", 7);
    if (sum > most)
      most = sum;
  }
  assert_int_equal(sum, before.bytes_in_use);  // all was given back
  assert_int_equal(temporaries, 4);            // taken and given back in each run
  hsc_table_destroy(table);
  EXPECT_OK(hsc_profile_table(profile, HSC_PROFILE_VIEW_memory, NULL, &table));
  bool found = false;
  for (size_t i = 0; i < hsc_table_row_count(table); i++)
    if (!strcmp(cell(table, i, "what")->text, "peak in use") &&
        !strcmp(cell(table, i, "program")->text, "hloscope cpu")) {
      assert_int_equal(cell(table, i, "size")->integer, most);
      found = true;
    }
  assert_true(found);
  hsc_table_destroy(table);
  hsc_profile_close(profile);
  hsc_buffer_destroy(kept);
  hsc_bytes_deinit(&bytes);
}

static void one_session_records_at_a_time(void **state) {
  hsc_bytes bytes = {0};
  hsc_profiler *first = start();
  hsc_profiler *second = NULL;
  EXPECT_OK(hsc_profiler_create(plugin, (hsc_view){0}, &second));
  EXPECT_CODE(FAILED_PRECONDITION, hsc_profiler_start(second));
  hsc_profiler_destroy(second);
  run(1);
  hsc_profile *profile = finish(first, &bytes);
  assert_int_equal(hsc_profile_modules(profile)[0].run_count, 1);
  hsc_profile_close(profile);
  hsc_bytes_reset(&bytes);
  first = start();  // and the next one starts from nothing
  run(2);
  profile = finish(first, &bytes);
  assert_int_equal(hsc_profile_modules(profile)[0].run_count, 2);
  hsc_profile_close(profile);
  hsc_bytes_deinit(&bytes);
}

static void without_device_level_nothing_is_recorded(void **state) {
  static const char options[] = {0x28, 1, 0x10, 2, 0x18, 0};
  hsc_profiler *profiler = NULL;
  hsc_bytes bytes = {0};
  EXPECT_OK(hsc_profiler_create(plugin, (hsc_view){options, sizeof options}, &profiler));
  EXPECT_OK(hsc_profiler_start(profiler));
  run(1);
  EXPECT_OK(hsc_profiler_stop(profiler));
  EXPECT_OK(hsc_profiler_collect(profiler, &bytes));
  assert_int_equal(bytes.size, 0);
  hsc_profiler_destroy(profiler);
  hsc_bytes_deinit(&bytes);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_thunk_is_recorded_with_its_cost),
      cmocka_unit_test(memory_is_recorded_as_the_device_counts_it),
      cmocka_unit_test(one_session_records_at_a_time),
      cmocka_unit_test(without_device_level_nothing_is_recorded),
  };
  return cmocka_run_group_tests(tests, open_device, close_device);
}
