// test_autotune.c - the autotuner: levels, candidates with faults, deny list, results as text, and
// what a compilation makes of all that.
#include "base/files/file_io.h"
#include "cpu/tune/autotune.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <unistd.h>

#include "cpu/core/cpu_internal.h"
#include "cpu/tune/tuner.h"
#include "base/core/log.h"
#include "base/files/disk_cache.h"
#include "formats/common/formats.h"

static char directory[] = "/tmp/hloscope-test-autotune-XXXXXX";
static const char *in_directory(const char *name) {
  static char path[4][256];
  static int turn;
  turn = (turn + 1) % 4;
  snprintf(path[turn], sizeof path[turn], "%s/%s", directory, name);
  return path[turn];
}

static void must(hsc_status *status) {
  if (status)
    fail_msg("%s", hsc_status_message(status));
}

// ---- candidates: out[i] = in0[i] * in1[i], by ways that are right, slow, wrong, or reach too far

enum { COUNT = 1000 };
typedef struct way {
  int runs;
  double first_output;  // what lay in the output when it was called
} way;

static void product(void *const *inputs, float *output) {
  const float *a = inputs[0];
  const float *b = inputs[1];
  for (int i = 0; i < COUNT; i++)
    output[i] = a[i] * b[i];
}

static hsc_status *right(void *context, void *const *inputs, void *output, void *scratch) {
  way *w = context;
  w->runs++;
  w->first_output = ((float *)output)[0];
  product(inputs, output);
  return NULL;
}

static hsc_status *slow(void *context, void *const *inputs, void *output, void *scratch) {
  for (int i = 0; i < 300; i++)
    must(right(context, inputs, output, scratch));
  return NULL;
}

static hsc_status *wrong(void *context, void *const *inputs, void *output, void *scratch) {
  must(right(context, inputs, output, scratch));
  ((float *)output)[COUNT - 1] += 0.5f;
  return NULL;
}

static hsc_status *too_far(void *context, void *const *inputs, void *output, void *scratch) {
  must(right(context, inputs, output, scratch));
  ((float *)output)[COUNT + 40] = 1;  // after the end, rounded up to a cache line
  return NULL;
}

static hsc_status *before_scratch(void *context, void *const *inputs, void *output, void *scratch) {
  must(right(context, inputs, output, scratch));
  ((char *)scratch)[-1] = 0;
  return NULL;
}

static hsc_status *spoils_its_input(void *context,
                                    void *const *inputs,
                                    void *output,
                                    void *scratch) {
  must(right(context, inputs, output, scratch));
  ((float *)inputs[0])[7] = 1000;
  return NULL;
}

static hsc_status *refuses(void *context, void *const *inputs, void *output, void *scratch) {
  return HSC_ERR(UNIMPLEMENTED, "not for these shapes");
}

static void tune(int level,
                 const hsc_tune_candidate *candidates,
                 int count,
                 hsc_arena *arena,
                 hsc_autotune_result **out_results,
                 int32_t *out_best) {
  static const int64_t dims[1] = {COUNT};
  hsc_shape shape = hsc_shape_array(arena, HSC_TYPE_F32, 1, dims);
  hsc_tune_problem problem = {.inputs = {&shape, &shape},
                              .output = &shape,
                              .candidates = candidates,
                              .candidate_count = count};
  must(hsc_autotune_run(&problem, level, arena, out_results, out_best));
}

// From level 3 on inputs are filled again before each candidate: what one does to them is not laid
// on another.
static void test_inputs_are_reset(void **state) {
  for (int level = 2; level <= 4; level++) {
    hsc_arena *arena = NULL;
    must(hsc_arena_create(&arena));
    way ways[3] = {{0}};
    hsc_tune_candidate candidates[] = {
        {.algorithm = 0, .name = "right", .run = right, .context = &ways[0]},
        {.algorithm = 1, .name = "spoils", .run = spoils_its_input, .context = &ways[1]},
        {.algorithm = 2, .name = "also right", .run = right, .context = &ways[2]}};
    hsc_autotune_result *results = NULL;
    int32_t best = -1;
    tune(level, candidates, 3, arena, &results, &best);
    assert_int_equal(results[2].failure, HSC_AUTOTUNE_OK);
    assert_true(best >= 0);
    hsc_arena_destroy(arena);
  }
}

static void test_faults_are_found(void **state) {
  hsc_arena *arena = NULL;
  must(hsc_arena_create(&arena));
  way ways[6] = {{0}};
  hsc_tune_candidate candidates[] = {
      {.algorithm = 0, .name = "slow", .run = slow, .context = &ways[0]},
      {.algorithm = 1, .name = "too-far", .run = too_far, .context = &ways[1]},
      {.algorithm = 2, .name = "wrong", .run = wrong, .context = &ways[2]},
      {.algorithm = 3, .name = "refuses", .run = refuses, .context = &ways[3]},
      {.algorithm = 4,
       .name = "denied",
       .run = right,
       .context = &ways[4],
       .refused = "on the list"},
      {.algorithm = 5, .name = "right", .run = right, .context = &ways[5]}};
  hsc_autotune_result *results = NULL;
  int32_t best = -1;
  tune(4, candidates, 6, arena, &results, &best);
  assert_int_equal(best, 5);
  assert_int_equal(results[0].failure, HSC_AUTOTUNE_OK);
  assert_true(results[0].run_time_ns > results[5].run_time_ns);
  assert_int_equal(results[1].failure, HSC_AUTOTUNE_REDZONE_MODIFIED);
  assert_non_null(strstr(results[1].message, "too-far wrote after the output"));
  assert_true(results[1].buffer_address > 0);
  assert_int_equal(results[2].failure, HSC_AUTOTUNE_WRONG_RESULT);
  assert_int_equal(results[2].reference, 0);
  assert_non_null(strstr(results[2].message, "element 999"));
  assert_int_equal(results[3].failure, HSC_AUTOTUNE_DISQUALIFIED);
  assert_non_null(strstr(results[3].message, "not for these shapes"));
  assert_int_equal(results[4].failure, HSC_AUTOTUNE_DISQUALIFIED);
  assert_string_equal(results[4].message, "on the list");
  assert_int_equal(ways[4].runs, 0);
  // What failed is not run again.
  assert_int_equal(ways[1].runs, 1);
  assert_int_equal(ways[2].runs, 1);
  hsc_arena_destroy(arena);
}

static void test_levels(void **state) {
  hsc_arena *arena = NULL;
  hsc_autotune_result *results = NULL;
  int32_t best = -1;
  must(hsc_arena_create(&arena));
  for (int level = 1; level <= 4; level++) {
    way ways[3] = {{0}};
    hsc_tune_candidate candidates[] = {
        {.algorithm = 0, .name = "right", .run = right, .context = &ways[0]},
        {.algorithm = 1, .name = "wrong", .run = wrong, .context = &ways[1]},
        {.algorithm = 2, .name = "before-scratch", .run = before_scratch, .context = &ways[2]}};
    candidates[1].run = wrong;
    tune(level, candidates, 2, arena, &results, &best);
    // Checks belong to level 4; below it nobody finds what is wrong.
    assert_int_equal(results[1].failure, level == 4 ? HSC_AUTOTUNE_WRONG_RESULT : HSC_AUTOTUNE_OK);
    tune(level, candidates + 2, 1, arena, &results, &best);
    assert_int_equal(results[0].failure,
                     level == 4 ? HSC_AUTOTUNE_REDZONE_MODIFIED : HSC_AUTOTUNE_OK);
    assert_int_equal(best, level == 4 ? -1 : 0);
  }
  // Level 3 gives every candidate an output with other numbers in it than the product that the one
  // before left.
  way ways[2] = {{0}};
  hsc_tune_candidate pair[] = {
      {.algorithm = 0, .name = "right", .run = right, .context = &ways[0]},
      {.algorithm = 1, .name = "refuses", .run = refuses, .context = &ways[1]}};
  tune(1, pair, 2, arena, &results, &best);
  assert_true(ways[0].first_output == 0);  // zeros times zeros
  tune(2, pair, 1, arena, &results, &best);
  assert_true(ways[0].first_output != 0);
  hsc_arena_destroy(arena);
}

// ---- results as text ----------------------------------------------------------------------------

static void test_text_is_read_again(void **state) {
  hsc_arena *arena = NULL;
  must(hsc_arena_create(&arena));
  hsc_autotune_result results[] = {
      {.algorithm = 0, .run_time_ns = 1500, .failure = HSC_AUTOTUNE_OK},
      {.algorithm = 2, .run_time_ns = 2000000001, .scratch_bytes = 64, .failure = HSC_AUTOTUNE_OK},
      {.algorithm = 3,
       .failure = HSC_AUTOTUNE_WRONG_RESULT,
       .message = "a \"quoted\" line\n",
       .reference = 2},
      {.algorithm = 4,
       .failure = HSC_AUTOTUNE_REDZONE_MODIFIED,
       .message = "x",
       .buffer_address = 4096}};
  hsc_autotune_entry entries[] = {
      {.device = "d", .hlo = "f32[2] dot(...)", .best = 0, .result_count = 4, .results = results},
      {.device = "d",
       .hlo = "conv \\ {x=1}",
       .is_conv = true,
       .best = 1,
       .result_count = 4,
       .results = results},
      {.device = "d", .hlo = "none works", .best = -1, .result_count = 0, .results = results}};
  for (int logs = 0; logs < 2; logs++) {
    hsc_bytes text = {0};
    if (logs)
      hsc_autotune_logs_write(entries, 3, &text);
    else
      hsc_autotune_results_write(entries, 3, &text);
    hsc_autotune_entry *read = NULL;
    int count = 0;
    must(hsc_autotune_read(hsc_bytes_view(&text), "t", arena, &read, &count));
    assert_int_equal(count, logs ? 3 : 2);
    assert_string_equal(read[1].hlo, entries[1].hlo);
    assert_true(read[1].is_conv && !read[0].is_conv);
    const hsc_autotune_result *best = &read[1].results[read[1].best];
    assert_int_equal(best->algorithm, 2);
    assert_int_equal(best->run_time_ns, 2000000001);
    assert_int_equal(best->scratch_bytes, 64);
    if (logs) {
      assert_int_equal(read[0].result_count, 4);
      assert_int_equal(read[0].results[2].failure, HSC_AUTOTUNE_WRONG_RESULT);
      assert_string_equal(read[0].results[2].message, "a \"quoted\" line\n");
      assert_int_equal(read[0].results[2].reference, 2);
      assert_int_equal(read[0].results[3].buffer_address, 4096);
      assert_int_equal(read[2].best, -1);
    }
    hsc_bytes_deinit(&text);
  }
  static const struct {
    const char *text, *message;
  } wrong_texts[] = {
      {"version: 2", "version 2"},
      {"version: 3 results { device: \"d\" hlo: \"x\" result { triton { block_m: 1 } } }",
       "triton"},
      {"version: 3 results { device: \"d\" result { gemm { algorithm: 1 } } }", "without hlo"},
      {"version: 3 results { hlo: \"x\" result { run_time { nanos: 1 } } }", "without gemm"},
      {"version: 3 results { hlo: \"x }", "closing"},
      {"version: 3 results { hlo: \"x\"", "expected }"},
      {"version 3", "expected :"}};
  for (size_t i = 0; i < HSC_COUNT_OF(wrong_texts); i++) {
    hsc_autotune_entry *read = NULL;
    int count = 0;
    hsc_status *status =
        hsc_autotune_read(hsc_view_of(wrong_texts[i].text), "t", arena, &read, &count);
    if (!status || !strstr(hsc_status_message(status), wrong_texts[i].message))
      fail_msg("%s: %s", wrong_texts[i].text, status ? hsc_status_message(status) : "no error");
    hsc_status_free(status);
  }
  // The form of the list that XLA builds in: other devices' entries are passed over; lists in
  // brackets; ours count.
  hsc_autotune_denied *denied = NULL;
  int count = 0;
  must(hsc_autotune_denylist_read(
      HSC_VIEW(
          "entries { hlo: \"a\" cc { major: 7 } algos { id: 7 tensor_ops: true } }\n"
          "entries { hlo: \"b\" algos [ { id: 0 tensor_ops: true }, { id: 4 } ] } # comment\n"),
      "t", arena, &denied, &count));
  assert_int_equal(count, 2);
  assert_string_equal(denied[1].hlo, "b");
  assert_int_equal(denied[1].algorithm, 4);
  hsc_arena_destroy(arena);
}

// ---- compilations -------------------------------------------------------------------------------

static hsc_cpu_device *device;
static const char *const dot_program =
    "HloModule m\nENTRY e { x = f32[64,96] parameter(0)\n w = f32[96,80] parameter(1)\n"
    " ROOT d = f32[64,80] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0} }";
static const char *const dot_hlo =
    "f32[64,80] dot(f32[64,96], f32[96,80]), lhs_contracting_dims={1}, rhs_contracting_dims={0}";
static const char *const conv_program =
    "HloModule m\nENTRY e { x = f32[2,12,12,16] parameter(0)\n k = f32[3,3,16,24] parameter(1)\n"
    " ROOT c = f32[2,12,12,24] convolution(x, k), window={size=3x3 pad=1_1x1_1}, "
    "dim_labels=b01f_01io->b01f }";

static hsc_status *compile(const char *program,
                           const hsc_cpu_compile_options *options,
                           hsc_cpu_executable **out_executable) {
  hsc_module *module = NULL;
  must(hsc_hlo_text_parse(hsc_view_of(program), "test.hlo", &module));
  hsc_status *status = hsc_cpu_compile(device, module, options, out_executable);
  hsc_module_destroy(module);
  return status;
}

// The backend config of the first dot or convolution; NULL = none.
static const char *written(hsc_cpu_executable *executable) {
  HSC_FOR_EACH_COMPUTATION (hsc_cpu_executable_module(executable), computation)
    HSC_FOR_EACH_INSTR_IN (computation, instr)
      if (instr->op == HSC_OP_DOT || instr->op == HSC_OP_CONVOLUTION)
        return instr->backend_config;
  return NULL;
}

static hsc_cpu_compile_options with_level(int level) {
  hsc_cpu_compile_options options = hsc_cpu_compile_options_default();
  options.autotune_level = level;
  options.autotune_cache_dir = in_directory("cache");
  return options;
}

static void put_file(const char *name, const char *text) {
  must(hsc_file_write_atomic(in_directory(name), text, strlen(text)));
}

static void expect_error(const char *program,
                         const hsc_cpu_compile_options *options,
                         const char *message) {
  hsc_cpu_executable *executable = NULL;
  hsc_status *status = compile(program, options, &executable);
  if (!status)
    fail_msg("no error; expected: %s", message);
  if (!strstr(hsc_status_message(status), message))
    fail_msg("expected '%s': %s", message, hsc_status_message(status));
  hsc_status_free(status);
  assert_null(executable);
}

static void test_compile_levels(void **state) {
  hsc_cpu_executable *executable = NULL;
  hsc_cpu_compile_options options = with_level(0);
  must(compile(dot_program, &options, &executable));
  assert_null(written(executable));  // nothing is measured, nothing written
  hsc_cpu_executable_release(executable);
  for (int level = 1; level <= 4; level += 3) {
    options = with_level(level);
    must(compile(dot_program, &options, &executable));
    assert_non_null(strstr(written(executable), "\"algo_id\""));
    hsc_cpu_executable_release(executable);
    must(compile(conv_program, &options, &executable));
    assert_non_null(strstr(written(executable), "\"algo_id\""));
    hsc_cpu_executable_release(executable);
  }
}

// Every algorithm of the tables, brought in from a file, computes what the default computes.
static void test_each_algorithm_computes_the_same(void **state) {
  hsc_cpu_compile_options plain = hsc_cpu_compile_options_default();
  for (int conv = 0; conv < 2; conv++) {
    const char *program = conv ? conv_program : dot_program;
    hsc_cpu_executable *executable = NULL;
    must(compile(program, &plain, &executable));
    size_t sizes[2];
    size_t out_bytes = (size_t)hsc_shape_bytes(hsc_cpu_executable_output_shape(executable, 0));
    float *inputs[2];
    float *wanted = aligned_alloc(64, out_bytes);
    float *found = aligned_alloc(64, out_bytes);
    for (int i = 0; i < 2; i++) {
      sizes[i] = (size_t)hsc_shape_bytes(hsc_cpu_executable_input_shape(executable, i));
      inputs[i] = aligned_alloc(64, sizes[i]);
      // whole numbers: sums are exact
      for (size_t j = 0; j < sizes[i] / 4; j++)
        inputs[i][j] = (float)((int)(j * 7 + (size_t)i) % 5 - 2);
    }
    must(hsc_cpu_execute(executable, (const void *const *)inputs, (void *const *)&wanted));
    hsc_cpu_executable_release(executable);
    hsc_cpu_compile_options log = with_level(4);
    log.dump_autotune_results_to = in_directory("best");
    must(compile(program, &log, &executable));
    hsc_cpu_executable_release(executable);
    hsc_bytes text = {0};
    must(hsc_file_read(in_directory("best"), &text));
    hsc_arena *arena = NULL;
    must(hsc_arena_create(&arena));
    hsc_autotune_entry *entries = NULL;
    int count = 0;
    must(hsc_autotune_read(hsc_bytes_view(&text), "best", arena, &entries, &count));
    assert_int_equal(count, 1);
    if (!conv)
      assert_string_equal(entries[0].hlo, dot_hlo);
    int used = 0;
    for (int64_t algorithm = 0; algorithm < 12; algorithm++) {
      hsc_bytes one = {0};
      hsc_autotune_result result = entries[0].results[0];
      result.algorithm = algorithm;
      entries[0].results = &result;
      entries[0].best = 0;
      hsc_autotune_results_write(entries, 1, &one);
      must(hsc_file_write_atomic(in_directory("one"), one.data, one.size));
      hsc_bytes_deinit(&one);
      // level 0: what is loaded counts all the same
      hsc_cpu_compile_options load = hsc_cpu_compile_options_default();
      load.load_autotune_results_from = in_directory("one");
      must(compile(program, &load, &executable));
      char expected[64];
      snprintf(expected, sizeof expected, "\"algo_id\":\"%lld\"", (long long)algorithm);
      assert_non_null(strstr(written(executable), expected));
      memset(found, 0xff, out_bytes);
      must(hsc_cpu_execute(executable, (const void *const *)inputs, (void *const *)&found));
      // its transforms divide by 3 and more
      if (conv && !strcmp(hsc_tune_algorithm_name(conv, algorithm), "winograd-4x4")) {
        for (size_t j = 0; j < out_bytes / 4; j++)
          assert_float_equal(found[j], wanted[j], 1e-3);
      } else {
        assert_memory_equal(found, wanted, out_bytes);
      }
      used += strcmp(hsc_tune_algorithm_name(conv, algorithm), "?") != 0;
      hsc_cpu_executable_release(executable);
    }
    assert_true(used >= 8);
    hsc_bytes_deinit(&text);
    hsc_arena_destroy(arena);
    for (int i = 0; i < 2; i++)
      free(inputs[i]);
    free(wanted);
    free(found);
  }
}

static hsc_status *adds_one(void *context, void *const *inputs, void *output, void *scratch) {
  ((float *)output)[0] += 1e3f;
  return NULL;
}

static hsc_status *writes_behind(void *context, void *const *inputs, void *output, void *scratch) {
  ((char *)output)[*(size_t *)context] = 1;
  return NULL;
}

static void test_strict_and_crash(void **state) {
  hsc_cpu_executable *executable = NULL;
  size_t behind = 64 * 80 * 4;
  hsc_tune_candidate faults[] = {
      {.algorithm = 100, .name = "test-wrong", .run = adds_one},
      {.algorithm = 101, .name = "test-behind", .run = writes_behind, .context = &behind}};
  hsc_cpu_compile_options options = with_level(4);
  device->extra_candidates = faults;
  device->extra_candidate_count = 2;
  options.dump_autotune_logs_to = in_directory("logs");
  must(compile(dot_program, &options, &executable));  // found, told, and passed over
  hsc_cpu_executable_release(executable);
  hsc_bytes text = {0};
  must(hsc_file_read(in_directory("logs"), &text));
  assert_non_null(strstr(text.data, "kind: WRONG_RESULT"));
  assert_non_null(strstr(text.data, "kind: REDZONE_MODIFIED"));
  hsc_bytes_deinit(&text);
  options.crash_on_verification_failures = true;
  expect_error(dot_program, &options, "WRONG_RESULT");
  options.autotune_level = 3;  // no checks, no failures
  must(compile(dot_program, &options, &executable));
  hsc_cpu_executable_release(executable);
  device->extra_candidate_count = 0;

  // Everything denied: a convolution's strict picker ends the compilation; without strictness, and
  // for dots, the default is taken.
  hsc_bytes list = {0};
  const char *conv_hlo =
      "f32[2,12,12,24] convolution(f32[2,12,12,16], f32[3,3,16,24]), window={size=3x3 "
      "pad=1_1x1_1}, dim_labels=b01f_01io->b01f";
  hsc_bytes_printf(&list, "entries { hlo: \"%s\" algos [", conv_hlo);
  for (int i = 0; i < 16; i++)
    hsc_bytes_printf(&list, "%s{ id: %d }", i ? ", " : "", i);
  hsc_bytes_printf(&list,
                   "] } entries { hlo: \"%s\" algos [{ id: 0 }, { id: 2 }, { id: 3 }, { id: 4 }, { "
                   "id: 5 }, { id: 6 }, { id: 7 }] }",
                   dot_hlo);
  put_file("deny", hsc_bytes_text(&list));
  hsc_bytes_deinit(&list);
  options = with_level(4);
  options.algorithm_denylist_path = in_directory("deny");
  expect_error(conv_program, &options, "no algorithm works");
  must(compile(dot_program, &options, &executable));
  assert_null(written(executable));
  hsc_cpu_executable_release(executable);
  options.strict_conv_algorithm_picker = false;
  must(compile(conv_program, &options, &executable));
  assert_null(written(executable));
  hsc_cpu_executable_release(executable);

  options = with_level(4);
  options.algorithm_denylist_path = in_directory("not-there");
  expect_error(dot_program, &options, "not-there");
  put_file("broken", "results { ");
  options = with_level(0);
  options.load_autotune_results_from = in_directory("broken");
  expect_error(dot_program, &options, "expected }");
}

// The product's result in a file, of this device or another, with its algorithm.
static void put_result(hsc_bytes *out, const char *text_of_best, bool is_here, int64_t algorithm) {
  hsc_arena *arena = NULL;
  hsc_autotune_entry *entries = NULL;
  int count = 0;
  must(hsc_arena_create(&arena));
  must(hsc_autotune_read(hsc_view_of(text_of_best), "best", arena, &entries, &count));
  assert_int_equal(count, 1);
  hsc_autotune_result result = entries[0].results[0];
  result.algorithm = algorithm;
  entries[0].results = &result;
  entries[0].best = 0;
  if (!is_here)  // the same processor with one feature less
    entries[0].device =
        hsc_arena_printf(arena, "%.*sx", (int)strlen(entries[0].device) - 1, entries[0].device);
  hsc_autotune_results_write(entries, 1, out);
  hsc_arena_destroy(arena);
}

static int log_lines;

static void count_log(void *user, const char *domain, int level, const char *text) {
  log_lines += strstr(text, user) != NULL;
}

// What another machine found is no result here: the product stays as the rules have it, and a note
// says why; of a file of both, this machine's counts wherever it stands.
static void test_results_of_another_machine_do_not_count(void **state) {
  static const struct {
    int first, second;  // 1 = this machine's, with algorithm 2; 0 = another's, with 3; -1 = none
    const char *written, *note;
  } cases[] = {{0, -1, NULL, "1 of 1 results are of another device"},
               {0, 1, "\"algo_id\":\"2\"", "1 of 2 results are of another device"},
               {1, 0, "\"algo_id\":\"2\"", "1 of 2 results are of another device"}};
  hsc_cpu_executable *executable = NULL;
  hsc_cpu_compile_options find = with_level(1);
  hsc_bytes best = {0};
  find.dump_autotune_results_to = in_directory("found");
  must(compile(dot_program, &find, &executable));
  hsc_cpu_executable_release(executable);
  must(hsc_file_read(in_directory("found"), &best));
  setenv("HLOSCOPE_LOG", "autotune=1", 1);
  for (size_t i = 0; i < HSC_COUNT_OF(cases); i++) {
    hsc_bytes file = {0};
    put_result(&file, hsc_bytes_text(&best), cases[i].first == 1, cases[i].first ? 2 : 3);
    if (cases[i].second >= 0) {
      hsc_bytes more = {0};
      put_result(&more, hsc_bytes_text(&best), cases[i].second == 1, cases[i].second ? 2 : 3);
      const char *results = strstr(hsc_bytes_text(&more), "results");
      assert_non_null(results);
      hsc_bytes_append_text(&file, results);
      hsc_bytes_deinit(&more);
    }
    put_file("from elsewhere", hsc_bytes_text(&file));
    hsc_cpu_compile_options load = hsc_cpu_compile_options_default();
    load.load_autotune_results_from = in_directory("from elsewhere");
    log_lines = 0;
    hsc_log_set_sink(count_log, (void *)(uintptr_t)cases[i].note);
    must(compile(dot_program, &load, &executable));
    hsc_log_set_sink(NULL, NULL);
    assert_int_equal(log_lines, 1);
    if (cases[i].written)
      assert_non_null(strstr(written(executable), cases[i].written));
    else
      assert_null(written(executable));
    hsc_cpu_executable_release(executable);
    hsc_bytes_deinit(&file);
  }
  hsc_bytes_deinit(&best);
}

static hsc_status *counts(void *context, void *const *inputs, void *output, void *scratch) {
  return HSC_ERR(UNIMPLEMENTED, "%d", ++*(int *)context);
}

// Once a machine: the disk answers a second device; the device itself answers a second compilation.
static void test_results_are_kept(void **state) {
  hsc_cpu_executable *executable = NULL;
  hsc_cpu_compile_options options = with_level(4);
  // A device that remembers nothing of the tests before.
  hsc_cpu_device *keep = device;
  hsc_cpu_device *own = NULL;
  must(hsc_cpu_device_create(NULL, &own));
  device = own;
  options.autotune_cache_dir = in_directory("kept");
  must(compile(dot_program, &options, &executable));
  char *first = strdup(written(executable));
  hsc_cpu_executable_release(executable);
  int entries = 0;
  hsc_disk_entry *listed = NULL;
  hsc_arena *arena = NULL;
  must(hsc_arena_create(&arena));
  must(hsc_disk_cache_list(in_directory("kept"), arena, &listed, &entries));
  assert_int_equal(entries, 1);
  hsc_cpu_device *other = NULL;
  must(hsc_cpu_device_create(NULL, &other));
  device = other;
  int measured = 0;
  hsc_tune_candidate counter = {
      .algorithm = 100, .name = "counter", .run = counts, .context = &measured};
  options.dump_autotune_logs_to = in_directory("logs");
  must(compile(dot_program, &options, &executable));
  assert_string_equal(written(executable), first);
  hsc_cpu_executable_release(executable);
  // A candidate of a test makes a result that is not shared: now it is measured.
  device->extra_candidates = &counter;
  device->extra_candidate_count = 1;
  must(compile(dot_program, &options, &executable));
  assert_int_equal(measured, 1);
  hsc_cpu_executable_release(executable);
  device->extra_candidate_count = 0;
  device = keep;
  hsc_cpu_device_destroy(other);
  hsc_cpu_device_destroy(own);
  hsc_arena_destroy(arena);
  free(first);
}

static int set_up(void **state) {
  if (!mkdtemp(directory))
    return -1;
  must(hsc_cpu_device_create(NULL, &device));
  return 0;
}

static int tear_down(void **state) {
  char command[300];
  hsc_cpu_device_destroy(device);
  snprintf(command, sizeof command, "rm -rf '%s'", directory);
  return system(command);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_faults_are_found),
      cmocka_unit_test(test_inputs_are_reset),
      cmocka_unit_test(test_levels),
      cmocka_unit_test(test_text_is_read_again),
      cmocka_unit_test(test_compile_levels),
      cmocka_unit_test(test_each_algorithm_computes_the_same),
      cmocka_unit_test(test_strict_and_crash),
      cmocka_unit_test(test_results_of_another_machine_do_not_count),
      cmocka_unit_test(test_results_are_kept),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
