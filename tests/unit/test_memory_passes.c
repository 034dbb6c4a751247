// test_memory_passes.c - the scheduler lowers, and rematerialization keeps a limit of, the bytes
// alive at once; the device needs less for it. Copies are written where they are needed, and cost
// nothing.
#include "cpu/core/cpu.h"
#include "formats/common/formats.h"
#include "passes/schedule/memory_order.h"
#include "passes/manager/passes.h"
#include "random_module.h"
#include "unit.h"

static hsc_module *parse(const char *text) {
  hsc_module *module = NULL;
  EXPECT_OK(hsc_hlo_text_parse(hsc_view_of(text), "test.hlo", &module));
  EXPECT_OK(hsc_module_verify(module));
  return module;
}

static int64_t peak_of(hsc_module *module) {
  hsc_arena *arena = NULL;
  hsc_memory_order m;
  EXPECT_OK(hsc_arena_create(&arena));
  EXPECT_OK(hsc__memory_order_make(module->entry, arena, &m));
  int32_t *order = HSC_NEW_ARRAY(arena, int32_t, m.count + 1);
  for (int32_t i = 0; i < m.count; i++)
    order[i] = i;
  int64_t peak = hsc__memory_order_peak(&m, order, arena, NULL);
  hsc_arena_destroy(arena);
  return peak;
}

// Products of 1 MB each, of matrices of their own: all made first, all folded afterwards.
static hsc_module *wide_program(int values) {
  hsc_bytes text = {0};
  hsc_bytes_printf(&text,
                   "HloModule wide\nsum { p = f32[] parameter(0)\n q = f32[] parameter(1)\n ROOT s "
                   "= f32[] add(p, q) }\nENTRY e {\n zero = f32[] constant(0)\n");
  for (int i = 0; i < values; i++)
    hsc_bytes_printf(&text,
                     " x%d = f32[512,512] parameter(%d)\n d%d = f32[512,512] dot(x%d, x%d), "
                     "lhs_contracting_dims={1}, rhs_contracting_dims={0}\n",
                     i, i, i, i, i);
  for (int i = 0; i < values; i++)
    hsc_bytes_printf(&text, " r%d = f32[512] reduce(d%d, zero), dimensions={0}, to_apply=sum\n", i,
                     i);
  hsc_bytes_printf(&text, " ROOT t = (");
  for (int i = 0; i < values; i++)
    hsc_bytes_printf(&text, "%sf32[512]", i ? ", " : "");
  hsc_bytes_printf(&text, ") tuple(");
  for (int i = 0; i < values; i++)
    hsc_bytes_printf(&text, "%sr%d", i ? ", " : "", i);
  hsc_bytes_printf(&text, ")\n}\n");
  hsc_module *module = parse(text.data);
  hsc_bytes_deinit(&text);
  return module;
}

static int64_t temp_bytes(const hsc_module *module, const char *disable, int64_t limit) {
  hsc_cpu_device *device = NULL;
  hsc_cpu_executable *executable = NULL;
  hsc_cpu_compile_options options = hsc_cpu_compile_options_default();
  options.disable_hlo_passes = disable;
  options.memory_limit_bytes = limit;
  EXPECT_OK(hsc_cpu_device_create(NULL, &device));
  EXPECT_OK(hsc_cpu_compile(device, module, &options, &executable));
  int64_t bytes = hsc_cpu_executable_stats(executable)->temp_bytes;
  hsc_cpu_executable_release(executable);
  hsc_cpu_device_destroy(device);
  return bytes;
}

static void the_scheduler_lowers_the_peak(void **state) {
  hsc_module *module = wide_program(6);
  int64_t before = peak_of(module);
  EXPECT_OK(hsc_passes_run(module, "hlo-memory-scheduler",
                           &(hsc_pass_options){.fuel = -1, .verify = true}, NULL));
  int64_t after = peak_of(module);
  assert_true(before > (int64_t)6 << 20);
  assert_true(after < (int64_t)4 << 20);
  // A second run finds nothing better.
  hsc_pass_log log = {0};
  EXPECT_OK(hsc_passes_run(module, "hlo-memory-scheduler",
                           &(hsc_pass_options){.fuel = -1, .verify = true}, &log));
  assert_false(log.runs[0].changed);
  hsc_pass_log_deinit(&log);
  hsc_module_destroy(module);
  module = wide_program(6);
  int64_t with = temp_bytes(module, NULL, 0);
  int64_t without = temp_bytes(module, "hlo-memory-scheduler", 0);
  if (with >= without / 2)
    fail_msg("temporaries: %lld bytes with the scheduler, %lld without", (long long)with,
             (long long)without);
  hsc_module_destroy(module);
}

// A value that is wanted early and late: below the limit it is made again, and as seldom as that
// takes.
static void a_limit_is_kept(void **state) {
  const char *text =
      "HloModule late\nsum { p = f32[] parameter(0)\n q = f32[] parameter(1)\n ROOT s = f32[] "
      "add(p, q) }\n"
      "ENTRY e {\n v = f32[512] parameter(0)\n x = f32[512,512] parameter(1)\n y = f32[512,2048] "
      "parameter(2)\n zero = f32[] constant(0)\n"
      " b = f32[512,512] broadcast(v), dimensions={1}\n bx = f32[512,512] add(b, x)\n c = "
      "f32[512,512] exponential(bx)\n early = f32[512] reduce(c, zero), dimensions={0}, "
      "to_apply=sum\n"
      " large = f32[512,2048] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n "
      "middle = f32[512] reduce(large, zero), dimensions={1}, to_apply=sum\n"
      " late = f32[512,512] dot(c, x), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n last = "
      "f32[512] reduce(late, zero), dimensions={0}, to_apply=sum\n"
      " a = f32[512] add(early, middle)\n ROOT r = f32[512] add(a, last)\n}";
  hsc_module *module = parse(text);
  EXPECT_OK(hsc_passes_run(module, "optimization", NULL, NULL));
  EXPECT_OK(hsc_passes_run(module, "fusion", NULL, NULL));
  int64_t before = peak_of(module);
  int64_t limit = before - ((int64_t)1 << 20);
  hsc_pass_log log = {0};
  EXPECT_OK(hsc_passes_run(
      module, "rematerialization",
      &(hsc_pass_options){.fuel = -1, .verify = true, .memory_limit_bytes = limit}, &log));
  assert_true(log.runs[0].rewrites >= 1);
  if (peak_of(module) > limit)
    fail_msg("%lld bytes at once, limit %lld, before %lld", (long long)peak_of(module),
             (long long)limit, (long long)before);
  hsc_pass_log_deinit(&log);
  // Nothing to do: no limit, or one that holds already.
  hsc_module *again = parse(text);
  log = (hsc_pass_log){0};
  EXPECT_OK(hsc_passes_run(again, "rematerialization", &(hsc_pass_options){.fuel = -1}, &log));
  EXPECT_OK(hsc_passes_run(again, "rematerialization",
                           &(hsc_pass_options){.fuel = -1, .memory_limit_bytes = (int64_t)1 << 40},
                           &log));
  assert_false(log.runs[0].changed || log.runs[1].changed);
  hsc_pass_log_deinit(&log);
  // The scheduler would move the value after the large one by itself.
  int64_t with = temp_bytes(again, "hlo-memory-scheduler", limit);
  int64_t without = temp_bytes(again, "hlo-memory-scheduler", 0);
  if (with >= without)
    fail_msg("temporaries: %lld bytes with the limit, %lld without", (long long)with,
             (long long)without);
  hsc_module_destroy(again);
  hsc_module_destroy(module);
}

static hsc_cpu_stats stats_of(const hsc_module *module, const char *disable) {
  hsc_cpu_device *device = NULL;
  hsc_cpu_executable *executable = NULL;
  hsc_cpu_compile_options options = hsc_cpu_compile_options_default();
  options.disable_hlo_passes = disable;
  EXPECT_OK(hsc_cpu_device_create(NULL, &device));
  EXPECT_OK(hsc_cpu_compile(device, module, &options, &executable));
  hsc_cpu_stats stats = *hsc_cpu_executable_stats(executable);
  hsc_cpu_executable_release(executable);
  hsc_cpu_device_destroy(device);
  return stats;
}

static int copies_in(hsc_module *module) {
  int copies = 0;
  EXPECT_OK(hsc_passes_run(module, "copy-insertion",
                           &(hsc_pass_options){.fuel = -1, .verify = true}, NULL));
  HSC_FOR_EACH_COMPUTATION (module, computation) {
    for (const hsc_instr *instr = computation->first; instr; instr = instr->next)
      copies += instr->op == HSC_OP_COPY;
  }
  return copies;
}

#define LOOP(STATE, TRIPS) \
  "c { s = " STATE \
  " parameter(0)\n i = s32[] get-tuple-element(s), index=0\n n = s32[] constant(" TRIPS \
  ")\n ROOT m = pred[] compare(i, n), direction=LT }\n"

// What must be copied is, and nothing else: by hand.
static void copies_are_where_they_are_needed(void **state) {
  static const struct {
    const char *what, *text;
    int copies;
  } cases[] = {
      {"an update in place of a value that is computed",
       "HloModule t\n" LOOP(
           "(s32[], f32[64,8])",
           "64") "b { s = (s32[], f32[64,8]) parameter(0)\n i = s32[] get-tuple-element(s), "
                 "index=0\n x = f32[64,8] get-tuple-element(s), index=1\n one = s32[] constant(1)\n"
                 " z = s32[] constant(0)\n f = f32[] constant(2)\n u = f32[1,8] broadcast(f), "
                 "dimensions={}\n y = f32[64,8] dynamic-update-slice(x, u, i, z)\n j = s32[] "
                 "add(i, one)\n"
                 " ROOT r = (s32[], f32[64,8]) tuple(j, y) }\n"
                 "ENTRY e { p = f32[64,8] parameter(0)\n q = f32[64,8] negate(p)\n i = s32[] "
                 "parameter(1)\n j = s32[] negate(i)\n t = (s32[], f32[64,8]) tuple(j, q)\n"
                 " ROOT w = (s32[], f32[64,8]) while(t), condition=c, body=b }",
       0},
      {"an argument as the state that a loop changes",
       "HloModule t\n" LOOP(
           "(s32[], f32[8])",
           "9") "b { s = (s32[], f32[8]) parameter(0)\n i = s32[] get-tuple-element(s), index=0\n "
                "x = f32[8] get-tuple-element(s), index=1\n one = s32[] constant(1)\n"
                " y = f32[8] add(x, x)\n j = s32[] add(i, one)\n ROOT r = (s32[], f32[8]) tuple(j, "
                "y) }\n"
                "ENTRY e { p = f32[8] parameter(0)\n i = s32[] constant(0)\n t = (s32[], f32[8]) "
                "tuple(i, p)\n w = (s32[], f32[8]) while(t), condition=c, body=b\n"
                " ROOT o = f32[8] get-tuple-element(w), index=1 }",
       2},
      {"the same argument, given away",
       "HloModule t, input_output_alias={ {}: (0, {}, may-alias) }\n" LOOP(
           "(s32[], f32[8])",
           "9") "b { s = (s32[], f32[8]) parameter(0)\n i = s32[] get-tuple-element(s), index=0\n "
                "x = f32[8] get-tuple-element(s), index=1\n one = s32[] constant(1)\n"
                " y = f32[8] add(x, x)\n j = s32[] add(i, one)\n ROOT r = (s32[], f32[8]) tuple(j, "
                "y) }\n"
                "ENTRY e { p = f32[8] parameter(0)\n i = s32[] constant(0)\n t = (s32[], f32[8]) "
                "tuple(i, p)\n w = (s32[], f32[8]) while(t), condition=c, body=b\n"
                " ROOT o = f32[8] get-tuple-element(w), index=1 }",
       1},
      {"the old state is read past the new one",
       "HloModule t\n" LOOP(
           "(s32[], f32[8], f32[8])",
           "9") "b { s = (s32[], f32[8], f32[8]) parameter(0)\n i = s32[] get-tuple-element(s), "
                "index=0\n x = f32[8] get-tuple-element(s), index=1\n v = f32[8] "
                "get-tuple-element(s), index=2\n"
                " one = s32[] constant(1)\n y = f32[8] sine(x)\n u = f32[8] subtract(y, x)\n w = "
                "f32[8] add(v, u)\n j = s32[] add(i, one)\n ROOT r = (s32[], f32[8], f32[8]) "
                "tuple(j, y, w) }\n"
                "ENTRY e { p = f32[8] parameter(0)\n q = f32[8] negate(p)\n a = f32[8] negate(q)\n "
                "i = s32[] parameter(1)\n k = s32[] negate(i)\n t = (s32[], f32[8], f32[8]) "
                "tuple(k, q, a)\n"
                " ROOT l = (s32[], f32[8], f32[8]) while(t), condition=c, body=b }",
       1},
      {"branches",
       "HloModule t\nyes { x = f32[8] parameter(0)\n y = f32[8] reshape(x)\n ROOT r = f32[8] "
       "bitcast(y) }\nno { x = f32[8] parameter(0)\n ROOT r = f32[8] negate(x) }\n"
       "ENTRY e { p = pred[] parameter(0)\n x = f32[8] parameter(1)\n v = f32[8] sine(x)\n c = "
       "f32[8] conditional(p, v, v), true_computation=yes, false_computation=no\n"
       " ROOT r = f32[8] add(c, v) }",
       1},
      {"results: an argument, a constant, one value twice",
       "HloModule t\nENTRY e { x = f32[8] parameter(0)\n k = f32[] constant(2)\n v = f32[8] "
       "sine(x)\n ROOT r = (f32[8], f32[], f32[8], f32[8]) tuple(x, k, v, v) }",
       3},
      {"results: arguments in each other's memory",
       "HloModule t, input_output_alias={ {0}: (1, {}, may-alias), {1}: (0, {}, may-alias) }\n"
       "ENTRY e { x = f32[8] parameter(0)\n y = f32[8] parameter(1)\n ROOT r = (f32[8], f32[8]) "
       "tuple(x, y) }",
       2},
      {"results: arguments in their own memory",
       "HloModule t, input_output_alias={ {0}: (0, {}, may-alias), {1}: (1, {}, may-alias) }\n"
       "ENTRY e { x = f32[8] parameter(0)\n y = f32[8] parameter(1)\n ROOT r = (f32[8], f32[8]) "
       "tuple(x, y) }",
       0},
  };
  for (size_t i = 0; i < HSC_COUNT_OF(cases); i++) {
    hsc_module *module = parse(cases[i].text);
    hsc_cpu_stats with = stats_of(module, NULL);
    hsc_cpu_stats without = stats_of(module, "copy-insertion");
    if (with.thunk_count > without.thunk_count || with.temp_bytes > without.temp_bytes)
      fail_msg("%s: %d steps and %d temporary bytes with the pass, %d and %d without",
               cases[i].what, (int)with.thunk_count, (int)with.temp_bytes, (int)without.thunk_count,
               (int)without.temp_bytes);
    int copies = copies_in(module);
    if (copies != cases[i].copies)
      fail_msg("%s: %d copies", cases[i].what, copies);
    hsc_module_destroy(module);
  }
}

// Written or not, a program makes as many copies: what the pass writes is what placement would have
// done.
static void copies_cost_nothing(void **state) {
  int more = 0;
  int programs = 0;
  for (uint64_t seed = 5000; seed < 5120; seed++) {
    random_module_options options = random_module_options_default();
    hsc_module *module = NULL;
    EXPECT_OK(random_module_create(seed, &options, &module));
    hsc_cpu_stats with = stats_of(module, NULL);
    hsc_cpu_stats without = stats_of(module, "copy-insertion");
    if (with.thunk_count > without.thunk_count)
      fail_msg("seed %d: %d steps with the pass, %d without", (int)seed, (int)with.thunk_count,
               (int)without.thunk_count);
    if (with.temp_bytes > without.temp_bytes)
      more++;
    programs++;
    hsc_module_destroy(module);
  }
  if (more * 20 > programs)
    fail_msg("%d of %d programs need more memory", more, programs);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_scheduler_lowers_the_peak), cmocka_unit_test(a_limit_is_kept),
      cmocka_unit_test(copies_are_where_they_are_needed), cmocka_unit_test(copies_cost_nothing)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
