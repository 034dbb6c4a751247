// test_lab_compile.c - compiles with options of their own, in workers that die as reported; many
// over several workers.
#include "worker/lab_compile.h"

#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include "lab/devices/devices.h"
#include "lab_case.h"

static int set_up(void **state) {
  if (lab_case_set_up("compile-test",
                      "HloModule p\nENTRY main {\n  x = f32[4,4] parameter(0)\n  ROOT r = f32[4,4] "
                      "add(x, x)\n}\n"))
    return -1;
  char *here = NULL;
  char own[4096];
  if (hsc_self_dir((const void *)(uintptr_t)&set_up, &here))
    return -1;
  snprintf(own, sizeof own, "%s/../../libhloscope_cpu_pjrt.so", here);
  hsc_free(here);
  return setenv("HLOSCOPE_CPU_PLUGIN", own, 1) || setenv("TMPDIR", dir, 1);
}

static hsc_device_spec spec_of(const char *text) {
  hsc_device_spec spec;
  EXPECT_OK(hsc_device_spec_parse(text, arena, &spec));
  return spec;
}

static const char *fake_device(const char *settings) {
  return hsc_arena_printf(arena, "%s?ahead-of-time=fake:1x1&fake=s:%s", fake, settings);
}

static hsc_compiled compile_on(const char *device, const hsc_compile_request *request) {
  hsc_device_spec spec = spec_of(device);
  hsc_lab_worker *worker = NULL;
  hsc_compiled compiled;
  EXPECT_OK(hsc_lab_worker_create(
      &(hsc_lab_worker_options){.device = &spec, .executable = hloscope, .no_disk_cache = true},
      &worker));
  EXPECT_OK(hsc_lab_compile(worker, request, &compiled));
  hsc_lab_worker_destroy(worker);
  return compiled;
}

static void the_built_in_device_gives_all(void **state) {
  hsc_override off = {
      .name = "xla_disable_hlo_passes", .type = HSC_OVERRIDE_TEXT, .text = "algsimp"};
  hsc_compiled c = compile_on(
      "cpu",
      &(hsc_compile_request){
          .program = program, .want_optimized = true, .overrides = &off, .override_count = 1});
  if (c.status)
    fail_msg("%s", hsc_status_message(c.status));
  assert_int_equal(c.outcome, HSC_OUTCOME_OK);
  assert_true(c.started && c.start && c.compile_ns > 0 && c.call_ns > c.compile_ns);
  assert_true(c.optimized.size > 0 && c.instructions > 0 && c.fusions >= 0);
  assert_true(c.flops == 16);
  assert_non_null(c.fingerprint);
  assert_non_null(json_object_get(c.body, "memory"));
  hsc_compiled_deinit(&c);
  hsc_override unknown = {.name = "xla_no_such_option", .type = HSC_OVERRIDE_BOOL, .boolean = true};
  c = compile_on("cpu", &(hsc_compile_request){
                            .program = program, .overrides = &unknown, .override_count = 1});
  assert_int_equal(c.outcome, HSC_OUTCOME_ERROR);
  assert_non_null(strstr(hsc_status_message(c.status), "xla_no_such_option"));
  assert_true(c.compile_ns == -1 && isnan(c.flops));
  hsc_compiled_deinit(&c);
}

static void ahead_of_time_needs_no_client(void **state) {
  hsc_compiled c = compile_on(fake_device("fail=Client_Create:13:there is no card"),
                              &(hsc_compile_request){.program = program});
  if (c.status)
    fail_msg("%s", hsc_status_message(c.status));
  assert_int_equal(c.outcome, HSC_OUTCOME_OK);
  hsc_compiled_deinit(&c);
  c = compile_on(hsc_arena_printf(arena, "%s?ahead-of-time=fake:9x9", fake),
                 &(hsc_compile_request){.program = program});
  assert_int_equal(c.outcome, HSC_OUTCOME_ERROR);
  assert_non_null(strstr(hsc_status_message(c.status), "no such topology"));
  assert_non_null(strstr(hsc_status_notes(c.status), "creating the topology"));
  hsc_compiled_deinit(&c);
}

static void a_dying_compiler_is_a_result(void **state) {
  hsc_compiled c = compile_on(fake_device("abort=Compile"),
                              &(hsc_compile_request){.program = program, .want_optimized = true});
  assert_int_equal(c.outcome, HSC_OUTCOME_ABORT);
  assert_int_equal(c.exit.signal, 6);
  assert_non_null(strstr(c.last_words, "Check failed: told to abort in Compile (fake_plugin.c:1)"));
  hsc_compiled_deinit(&c);
  // A handler of signals says that it dies, in whatever words, and never why.
  c = compile_on(fake_device("handler=Compile"), &(hsc_compile_request){.program = program});
  assert_int_equal(c.exit.signal, 6);
  assert_string_equal(c.last_words, "");
  assert_null(strstr(hsc_status_message(c.status), ".cc:"));
  hsc_compiled_deinit(&c);
  c = compile_on(fake_device("hang=Compile"),
                 &(hsc_compile_request){.program = program, .limit_ns = 500000000});
  assert_int_equal(c.outcome, HSC_OUTCOME_TIMEOUT);
  hsc_compiled_deinit(&c);
}

static void memory_has_a_limit(void **state) {
  hsc_device_spec spec = spec_of(fake_device("eat=1"));
  hsc_lab_worker *worker = NULL;
  hsc_compiled c;
  EXPECT_OK(
      hsc_lab_worker_create(&(hsc_lab_worker_options){.device = &spec,
                                                      .executable = hloscope,
                                                      .no_disk_cache = true,
                                                      .memory_limit_bytes = (size_t)200 << 20},
                            &worker));
  for (int i = 0; i < 2; i++) {  // and again, in a new process
    EXPECT_OK(hsc_lab_compile(
        worker, &(hsc_compile_request){.program = program, .limit_ns = 60 * HSC_SECOND_NS}, &c));
    assert_int_equal(c.outcome, HSC_OUTCOME_OUT_OF_MEMORY);
    assert_int_equal(c.exit.signal, 9);
    assert_false(c.exit.timed_out);
    assert_non_null(strstr(hsc_status_message(c.status), "over its limit of 200 MiB"));
    hsc_compiled_deinit(&c);
  }
  hsc_lab_worker_destroy(worker);
}

// As libneuronpjrt.so does without the vendor's runtime.
static void a_library_that_the_loader_lacks_is_named(void **state) {
  char from[4096], to[128];
  hsc_bytes bytes = {0};
  snprintf(from, sizeof from, "%.*s/libhloscope_needy_pjrt.so", (int)(strrchr(fake, '/') - fake),
           fake);
  snprintf(to, sizeof to, "%s/libvendor_pjrt.so", dir);
  EXPECT_OK(hsc_file_read(from, &bytes));
  EXPECT_OK(hsc_file_write_atomic(to, bytes.data, bytes.size));  // away from what it needs
  hsc_bytes_deinit(&bytes);
  hsc_compiled c = compile_on(to, &(hsc_compile_request){.program = program});
  assert_int_equal(c.outcome, HSC_OUTCOME_ERROR);
  assert_non_null(
      strstr(hsc_status_message(c.status),
             "libvendor_pjrt.so: the library does not load: it needs libhloscope_fake_needed.so"));
  hsc_compiled_deinit(&c);
}

static void options_are_read_as_people_write_them(void **state) {
  static const char *const items[] = {"xla_disable_hlo_passes=algsimp",
                                      "fusion",
                                      "xla_a=true",
                                      "xla_b=4",
                                      "xla_c=0.5",
                                      "xla_d=4x",
                                      "xla_e="};
  json_t *overrides = NULL;
  EXPECT_OK(hsc_overrides_parse(items, HSC_COUNT_OF(items), &overrides));
  json_t *wanted =
      json_pack("{s:s, s:b, s:i, s:f, s:s, s:s}", "xla_disable_hlo_passes", "algsimp,fusion",
                "xla_a", 1, "xla_b", 4, "xla_c", 0.5, "xla_d", "4x", "xla_e", "");
  assert_true(json_equal(overrides, wanted));
  json_decref(wanted);
  json_decref(overrides);
  static const char *const bad[] = {"fusion"};
  hsc_status *status = hsc_overrides_parse(bad, 1, &overrides);
  assert_int_equal(hsc_status_code(status), HSC_INVALID_ARGUMENT);
  hsc_status_free(status);
}

typedef struct tally {
  int outcomes[8], calls;
  bool seen[32];
  int fail_at;
} tally;

static hsc_status *count_one(void *user, size_t index, hsc_compiled *compiled) {
  tally *t = user;
  assert_false(t->seen[index]);
  t->seen[index] = true;
  t->outcomes[compiled->outcome]++;
  return ++t->calls == t->fail_at ? HSC_ERR(CANCELLED, "enough") : NULL;
}

static void many_are_shared_out(void **state) {
  hsc_device_spec spec = spec_of(fake_device("slow=Compile:5"));
  hsc_lab_worker_options options = {.device = &spec, .executable = hloscope, .no_disk_cache = true};
  hsc_compile_request requests[20];
  for (size_t i = 0; i < HSC_COUNT_OF(requests); i++)
    requests[i] = (hsc_compile_request){.program = i % 5 == 4 ? "/nowhere/p.hlo" : program};
  tally all = {0};
  EXPECT_OK(hsc_compile_many(&options, 3, requests, HSC_COUNT_OF(requests), NULL, count_one, &all));
  assert_int_equal(all.calls, 20);
  assert_int_equal(all.outcomes[HSC_OUTCOME_OK], 16);
  assert_int_equal(all.outcomes[HSC_OUTCOME_ERROR], 4);
  tally some = {.fail_at = 3};
  hsc_status *status =
      hsc_compile_many(&options, 1, requests, HSC_COUNT_OF(requests), NULL, count_one, &some);
  assert_int_equal(hsc_status_code(status), HSC_CANCELLED);
  hsc_status_free(status);
  assert_int_equal(some.calls, 3);
  static const volatile int stop = 1;
  tally none = {0};
  EXPECT_OK(
      hsc_compile_many(&options, 2, requests, HSC_COUNT_OF(requests), &stop, count_one, &none));
  assert_int_equal(none.calls, 0);
}

static void every_abort_costs_one_worker(void **state) {
  hsc_device_spec spec = spec_of(fake_device("abort=Compile"));
  hsc_lab_worker_options options = {.device = &spec, .executable = hloscope, .no_disk_cache = true};
  hsc_compile_request requests[4];
  for (size_t i = 0; i < HSC_COUNT_OF(requests); i++)
    requests[i] = (hsc_compile_request){.program = program};
  tally all = {0};
  EXPECT_OK(hsc_compile_many(&options, 2, requests, HSC_COUNT_OF(requests), NULL, count_one, &all));
  assert_int_equal(all.outcomes[HSC_OUTCOME_ABORT], 4);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_built_in_device_gives_all),
      cmocka_unit_test(ahead_of_time_needs_no_client),
      cmocka_unit_test(a_dying_compiler_is_a_result),
      cmocka_unit_test(many_are_shared_out),
      cmocka_unit_test(every_abort_costs_one_worker),
      cmocka_unit_test(memory_has_a_limit),
      cmocka_unit_test(a_library_that_the_loader_lacks_is_named),
      cmocka_unit_test(options_are_read_as_people_write_them),
  };
  return cmocka_run_group_tests(tests, set_up, lab_case_tear_down);
}
