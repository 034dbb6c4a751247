// test_reduction.c - reductions as a whole: the same result whatever the number of jobs, going on
// after an interruption, budgets, symptoms that are not there, deaths that are the same.
#include "lab_case.h"

#include "lab/reduce/reduction.h"

static const char text[] =
    "HloModule m\n"
    "ENTRY main { w = f32[16,16] parameter(0)\n x = f32[8,16] parameter(1)\n"
    " d = f32[8,16] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
    " t = f32[8,16] tanh(d)\n n = f32[8,16] negate(t)\n a = f32[8,16] add(n, t)\n"
    " e = f32[8,16] exponential(a)\n s = f32[8,16] subtract(e, n)\n"
    " ROOT r = (f32[8,16], f32[8,16]) tuple(s, a)\n}\n";

// The built-in device with a fault in its compiler.
static char faulty[4200];
static volatile int stopped;
static int stop_after;

static void count_steps(void *user, int64_t steps, int64_t instructions, const char *rule) {
  (void)user;
  (void)instructions;
  (void)rule;
  stopped = stop_after > 0 && steps >= stop_after;
}

static hsc_reduction_options options_of(const char *command, int jobs) {
  return (hsc_reduction_options){
      .program = program,
      .symptom = {.kind = HSC_SYMPTOM_COMMAND, .text = "command", .command = command},
      .observer = {.executable = hloscope, .stop = &stopped},
      .jobs = jobs,
      .candidate_format = HSC_FORMAT_HLO_TEXT,
      .progress = count_steps};
}

static hsc_hash128 fingerprint(const hsc_reduction *reduction) {
  return hsc_module_fingerprint(reduction->module);
}

static void jobs_do_not_change_the_result(void **state) {
  hsc_reduction one;
  hsc_reduction three;
  hsc_reduction_options alone = options_of("grep -q tanh {} && grep -q negate {}", 1);
  hsc_reduction_options shared = options_of("grep -q tanh {} && grep -q negate {}", 3);
  EXPECT_OK(hsc_reduce_program(&alone, &one));
  EXPECT_OK(hsc_reduce_program(&shared, &three));
  hsc_hash128 a = fingerprint(&one);
  hsc_hash128 b = fingerprint(&three);
  assert_true(a.low == b.low && a.high == b.high);
  assert_int_equal(one.instructions_after, 3);  // a parameter and the two
  assert_true(one.complete);
  hsc_reduction_deinit(&one);
  hsc_reduction_deinit(&three);
}

static void it_goes_on_after_an_interruption(void **state) {
  hsc_store *store = NULL;
  hsc_reduction whole;
  hsc_reduction rest;
  hsc_reduction cut;
  hsc_reduction_options o = options_of("grep -q exponential {}", 1);
  EXPECT_OK(hsc_reduce_program(&o, &whole));
  EXPECT_OK(hsc_store_open(NULL, &store));
  o.store = store;
  stop_after = 2;
  hsc_status *status = hsc_reduce_program(&o, &cut);
  assert_non_null(status);
  assert_int_equal(hsc_status_code(status), HSC_CANCELLED);
  hsc_status_free(status);
  stop_after = 0;
  stopped = 0;
  EXPECT_OK(hsc_reduce_program(&o, &rest));
  assert_true(rest.remembered > 0);
  assert_true(rest.looks < whole.looks);
  hsc_hash128 a = fingerprint(&whole);
  hsc_hash128 b = fingerprint(&rest);
  assert_true(a.low == b.low && a.high == b.high);
  hsc_reduction_deinit(&whole);
  hsc_reduction_deinit(&rest);
  hsc_store_close(store);
}

// The compilers fall over instructions that nothing uses as well; every step sweeps those away.
static void a_symptom_of_what_is_unused_is_reduced(void **state) {
  static const char unused[] =
      "HloModule m\nENTRY main { x = f32[8] parameter(0)\n a = f32[8] tanh(x)\n"
      " c = f32[8] cosine(a)\n e = f32[8] exponential(c)\n ROOT r = f32[8] negate(x)\n}\n";
  hsc_reduction reduction;
  hsc_module *module = NULL;
  hsc_reduction_options o = options_of("grep -q exponential {} && grep -q cosine {}", 1);
  EXPECT_OK(hsc_hlo_text_parse(hsc_view_of(unused), "unused.hlo", &module));
  o.module = module;
  EXPECT_OK(hsc_reduce_program(&o, &reduction));
  assert_int_equal(reduction.instructions_after, 3);
  hsc_reduction_deinit(&reduction);
  hsc_module_destroy(module);
}

static void a_symptom_that_is_not_there_is_an_error(void **state) {
  hsc_reduction reduction;
  hsc_reduction_options o = options_of("grep -q convolution {}", 1);
  hsc_status *status = hsc_reduce_program(&o, &reduction);
  assert_non_null(status);
  assert_int_equal(hsc_status_code(status), HSC_FAILED_PRECONDITION);
  hsc_status_free(status);
}

// The fake plugin dies while it compiles: every candidate dies, so one instruction is left.
static void a_crash_is_reduced(void **state) {
  hsc_device_spec spec;
  hsc_reduction reduction;
  hsc_reduction_options o = options_of(NULL, 2);
  setenv("HLOSCOPE_FAKE", "abort=Client_Compile", 1);
  EXPECT_OK(hsc_device_spec_parse(fake, arena, &spec));
  EXPECT_OK(hsc_symptom_parse("crash", arena, &o.symptom));
  o.observer.device = &spec;
  EXPECT_OK(hsc_reduce_program(&o, &reduction));
  unsetenv("HLOSCOPE_FAKE");
  assert_int_equal(reduction.instructions_after, 1);
  assert_non_null(reduction.symptom.signature);
  assert_non_null(strstr(reduction.symptom.signature, "check fake_plugin.c:1"));
  hsc_reduction_deinit(&reduction);
}

static void a_hang_is_reduced(void **state) {
  hsc_device_spec spec;
  hsc_reduction reduction;
  hsc_reduction_options o = options_of(NULL, 2);
  setenv("HLOSCOPE_FAKE", "hang=Client_Compile", 1);
  EXPECT_OK(hsc_device_spec_parse(fake, arena, &spec));
  EXPECT_OK(hsc_symptom_parse("hang", arena, &o.symptom));
  o.observer.device = &spec;
  o.observer.limit_ns = 200000000;
  EXPECT_OK(hsc_reduce_program(&o, &reduction));
  unsetenv("HLOSCOPE_FAKE");
  assert_int_equal(reduction.instructions_after, 1);
  hsc_reduction_deinit(&reduction);
}

static hsc_status *reduce_wrong(const char *device,
                                const char *fault,
                                const char *program_text,
                                hsc_reduction *out_reduction) {
  hsc_device_spec spec;
  hsc_module *module = NULL;
  hsc_reduction_options o = options_of(NULL, 1);
  EXPECT_OK(hsc_hlo_text_parse(hsc_view_of(program_text), "wrong.hlo", &module));
  EXPECT_OK(hsc_device_spec_parse(device, arena, &spec));
  EXPECT_OK(hsc_symptom_parse("wrong", arena, &o.symptom));
  o.module = module;
  o.observer.device = &spec;
  setenv("HLOSCOPE_FAULT", fault, 1);
  hsc_status *status = hsc_reduce_program(&o, out_reduction);
  unsetenv("HLOSCOPE_FAULT");
  hsc_module_destroy(module);
  return status;
}

// 2^-18 of a value is less than its type's tolerance, and 60 times what exp may be off.
static void a_fault_below_the_tolerance_is_kept(void **state) {
  hsc_reduction reduction;
  EXPECT_OK(reduce_wrong(faulty, "exp-last-places", text, &reduction));
  assert_int_equal(reduction.instructions_after, 2);
  assert_non_null(strstr(reduction.after.text, "is what rounding may make of it"));
  hsc_reduction_deinit(&reduction);
}

// The sum in another order, minus itself: all of the difference is rounding, and far beyond the
// tolerance of what is left.
static void legal_rounding_is_not_kept(void **state) {
  static const char sums[] =
      "HloModule m\nadd { a = f32[] parameter(0)\n b = f32[] parameter(1)\n"
      " ROOT c = f32[] add(a, b)\n}\n"
      "ENTRY main { x = f32[4096] parameter(0)\n k = f32[] constant(1000)\n"
      " kb = f32[4096] broadcast(k), dimensions={}\n y = f32[4096] add(x, kb)\n"
      " z = f32[] constant(0)\n s = f32[] reduce(y, z), dimensions={0}, to_apply=add\n"
      " g = f32[64,64] reshape(y)\n"
      " h = f32[64] reduce(g, z), dimensions={0}, to_apply=add\n"
      " t = f32[] reduce(h, z), dimensions={0}, to_apply=add\n"
      " ROOT r = f32[] subtract(s, t)\n}\n";
  hsc_reduction reduction;
  hsc_status *status = reduce_wrong(faulty, "none", sums, &reduction);
  EXPECT_CODE(FAILED_PRECONDITION, status);
}

static void symptoms_are_read(void **state) {
  hsc_symptom symptom;
  static const char *const wrong[] = {
      "wrogn", "slow:1", "slow:x", "wrong:2", "fires:", "fires", "", "slow:nan", "unfused:dto"};
  EXPECT_OK(hsc_symptom_parse("slow:3", arena, &symptom));
  assert_true(symptom.kind == HSC_SYMPTOM_SLOW && symptom.factor == 3);
  EXPECT_OK(hsc_symptom_parse("fires:algsimp", arena, &symptom));
  assert_string_equal(symptom.pass, "algsimp");
  EXPECT_OK(hsc_symptom_parse("unfused:dot", arena, &symptom));
  assert_string_equal(symptom.op, "dot");
  for (size_t i = 0; i < HSC_COUNT_OF(wrong); i++) {
    hsc_status *status = hsc_symptom_parse(wrong[i], arena, &symptom);
    assert_non_null(status);
    assert_int_equal(hsc_status_code(status), HSC_INVALID_ARGUMENT);
    hsc_status_free(status);
  }
}

static int set_up(void **state) {
  int failed = lab_case_set_up("reduction", text);
  snprintf(faulty, sizeof faulty, "%.*s/tests/faults/libhloscope_faulty_pjrt.so",
           (int)(strlen(hloscope) - strlen("/hloscope")), hloscope);
  return failed;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(jobs_do_not_change_the_result),
      cmocka_unit_test(it_goes_on_after_an_interruption),
      cmocka_unit_test(a_symptom_of_what_is_unused_is_reduced),
      cmocka_unit_test(a_symptom_that_is_not_there_is_an_error),
      cmocka_unit_test(a_crash_is_reduced),
      cmocka_unit_test(a_hang_is_reduced),
      cmocka_unit_test(a_fault_below_the_tolerance_is_kept),
      cmocka_unit_test(legal_rounding_is_not_kept),
      cmocka_unit_test(symptoms_are_read),
  };
  return cmocka_run_group_tests(tests, set_up, lab_case_tear_down);
}
