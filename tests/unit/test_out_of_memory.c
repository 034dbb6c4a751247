// test_out_of_memory.c - memory that runs out at one allocation after the other, in what works on
// whole programs: each pass on its example, the pipeline on random programs, compiling, running,
// writing and loading executables. Every failure is a status, and what succeeds all the same (a
// table that only saves time may be lost) gives what it gives with all memory; the sanitizer builds
// see that nothing leaks.
#include "base/core/memory.h"
#include "cpu/core/cpu.h"
#include "formats/common/formats.h"
#include "passes/manager/passes.h"
#include "random_module.h"
#include "unit.h"

enum { PROGRAMS = 4, LARGE_PROGRAM = 300 };

typedef struct attempt {
  const char *name;
  const hsc_module *module;
  const char *pipeline;  // or pass
  hsc_cpu_device *device;
  hsc_view bytes;
} attempt;

typedef hsc_status *(*work)(const attempt *what);
static hsc_module *made;     // by the work, where it makes one
static int32_t made_counts;  // of the log

// What the work made, as text; frees it.
static void say(hsc_bytes *out) {
  hsc_bytes_reset(out);
  hsc_bytes_printf(out, "%d\n", made_counts);
  if (made)
    hsc_module_print(made, NULL, out);
  hsc_module_destroy(made);
  made = NULL;
}

// Does the work with the n-th allocation failing, and all after it, for n from 1 on, further and
// further apart, until all are granted.
static void fail_each(work body, const attempt *what) {
  bool failed = true;
  hsc_bytes wanted = {0};
  hsc_bytes found = {0};
  EXPECT_OK(body(what));
  say(&wanted);
  for (uint64_t n = 1; failed; n += 1 + n / (uint64_t)cases_of(6, 40)) {
    hsc_alloc_fail_after(n);
    hsc_status *status = body(what);
    void *probe = hsc_alloc(1);
    failed = probe == NULL;
    hsc_alloc_fail_after(0);
    hsc_free(probe);
    hsc_code code = hsc_status_code(status);
    if (!failed && status)
      fail_msg("%s, with all memory: %s", what->name, hsc_status_message(status));
    if (!status)
      say(&found);
    if (!status && strcmp(hsc_bytes_text(&wanted), hsc_bytes_text(&found)) != 0)
      fail_msg("%s, allocation %llu: succeeds with another result\n%s\ninstead of\n%s", what->name,
               (unsigned long long)n, hsc_bytes_text(&found), hsc_bytes_text(&wanted));
    if (status && code != HSC_RESOURCE_EXHAUSTED)
      fail_msg("%s, allocation %llu: %s %s", what->name, (unsigned long long)n, hsc_code_name(code),
               status ? hsc_status_message(status) : "");
    hsc_status_free(status);
  }
  hsc_bytes_deinit(&wanted);
  hsc_bytes_deinit(&found);
}

static hsc_status *run_passes(const attempt *what) {
  hsc_pass_options options = {.verify = true,
                              .fuel = -1,
                              .enable = what->pipeline,
                              .record_counts = true,
                              .record_rewrites = true,
                              .target = &hsc_pass_example_target};
  hsc_pass_log log = {0};
  hsc_module *copy = NULL;
  HSC_TRY(hsc_module_clone(what->module, &copy));
  hsc_status *status = hsc_passes_run(copy, what->pipeline, &options, &log);
  made_counts = log.run_count + log.rewrite_count;
  hsc_pass_log_deinit(&log);
  if (status)
    hsc_module_destroy(copy);
  else
    made = copy;
  return status;
}

static void every_pass_says_so(void **state) {
  for (int pass = 0; pass < HSC_PASS_COUNT; pass++) {
    const char *text = hsc_pass_example((hsc_pass_id)pass);
    hsc_module *module = NULL;
    if (!text)
      continue;
    EXPECT_OK(hsc_program_read(hsc_view_of(text), "example", &module));
    fail_each(run_passes, &(attempt){.name = hsc_pass_text((hsc_pass_id)pass),
                                     .module = module,
                                     .pipeline = hsc_pass_text((hsc_pass_id)pass)});
    hsc_module_destroy(module);
  }
}

// Of a size at which the arrays that passes make are no longer small.
static hsc_module *large_program(uint64_t seed) {
  random_module_options options = random_module_options_varied(seed);
  hsc_module *module = NULL;
  options.instruction_count = LARGE_PROGRAM;
  EXPECT_OK(random_module_create(seed, &options, &module));
  return module;
}

static void the_pipeline_says_so(void **state) {
  for (uint64_t seed = 1; seed <= (uint64_t)cases_of(1, PROGRAMS); seed++) {
    hsc_module *module = large_program(seed);
    for (int pass = -1; pass < HSC_PASS_COUNT; pass++) {
      const char *name = pass < 0 ? NULL : hsc_pass_text((hsc_pass_id)pass);
      fail_each(run_passes,
                &(attempt){.name = name ? name : "all passes", .module = module, .pipeline = name});
    }
    hsc_module_destroy(module);
  }
}

static hsc_status *compile(const attempt *what) {
  hsc_cpu_executable *executable = NULL;
  HSC_TRY(hsc_cpu_compile(what->device, what->module, NULL, &executable));
  hsc_cpu_executable_release(executable);
  return NULL;
}

static hsc_status *load(const attempt *what) {
  hsc_cpu_executable *executable = NULL;
  HSC_TRY(hsc_cpu_executable_deserialize(what->device, what->bytes, &executable));
  hsc_cpu_executable_release(executable);
  return NULL;
}

static void compiling_and_loading_say_so(void **state) {
  hsc_cpu_device *device = NULL;
  hsc_cpu_device_options options = {.thread_count = 1};
  EXPECT_OK(hsc_cpu_device_create(&options, &device));
  for (uint64_t seed = 1; seed <= (uint64_t)cases_of(2, PROGRAMS); seed++) {
    random_module_options small = random_module_options_varied(seed);
    hsc_module *module = NULL;
    hsc_cpu_executable *executable = NULL;
    hsc_bytes bytes = {0};
    EXPECT_OK(random_module_create(seed, &small, &module));
    EXPECT_OK(hsc_cpu_compile(device, module, NULL, &executable));
    EXPECT_OK(hsc_cpu_executable_serialize(executable, &bytes));
    attempt what = {
        .name = "compile", .module = module, .device = device, .bytes = hsc_bytes_view(&bytes)};
    fail_each(compile, &what);
    what.name = "load";
    fail_each(load, &what);
    hsc_bytes_deinit(&bytes);
    hsc_cpu_executable_release(executable);
    hsc_module_destroy(module);
  }
  hsc_cpu_device_destroy(device);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_pass_says_so),
      cmocka_unit_test(the_pipeline_says_so),
      cmocka_unit_test(compiling_and_loading_say_so),
  };
  return cmocka_run_group_tests(tests, 0, 0);
}
