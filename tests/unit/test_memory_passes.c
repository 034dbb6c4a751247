// test_memory_passes.c - the scheduler lowers, and rematerialization keeps a limit of, the bytes alive at once; the device needs less for it.
#include "cpu/cpu.h"
#include "formats/formats.h"
#include "passes/memory_order.h"
#include "passes/passes.h"
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
  for (int32_t i = 0; i < m.count; i++) order[i] = i;
  int64_t peak = hsc__memory_order_peak(&m, order, arena, NULL);
  hsc_arena_destroy(arena);
  return peak;
}

// Products of 1 MB each, of matrices of their own: all made first, all folded afterwards.
static hsc_module *wide_program(int values) {
  hsc_bytes text = {0};
  hsc_bytes_printf(&text, "HloModule wide\nsum { p = f32[] parameter(0)\n q = f32[] parameter(1)\n ROOT s = f32[] add(p, q) }\nENTRY e {\n zero = f32[] constant(0)\n");
  for (int i = 0; i < values; i++)
    hsc_bytes_printf(&text, " x%d = f32[512,512] parameter(%d)\n d%d = f32[512,512] dot(x%d, x%d), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n", i, i, i, i, i);
  for (int i = 0; i < values; i++) hsc_bytes_printf(&text, " r%d = f32[512] reduce(d%d, zero), dimensions={0}, to_apply=sum\n", i, i);
  hsc_bytes_printf(&text, " ROOT t = (");
  for (int i = 0; i < values; i++) hsc_bytes_printf(&text, "%sf32[512]", i ? ", " : "");
  hsc_bytes_printf(&text, ") tuple(");
  for (int i = 0; i < values; i++) hsc_bytes_printf(&text, "%sr%d", i ? ", " : "", i);
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
  EXPECT_OK(hsc_passes_run(module, "hlo-memory-scheduler", &(hsc_pass_options){.fuel = -1, .verify = true}, NULL));
  int64_t after = peak_of(module);
  assert_true(before > (int64_t)6 << 20);
  assert_true(after < (int64_t)4 << 20);
  // A second run finds nothing better.
  hsc_pass_log log = {0};
  EXPECT_OK(hsc_passes_run(module, "hlo-memory-scheduler", &(hsc_pass_options){.fuel = -1, .verify = true}, &log));
  assert_false(log.runs[0].changed);
  hsc_pass_log_deinit(&log);
  hsc_module_destroy(module);
  module = wide_program(6);
  int64_t with = temp_bytes(module, NULL, 0), without = temp_bytes(module, "hlo-memory-scheduler", 0);
  if (with >= without / 2) fail_msg("temporaries: %lld bytes with the scheduler, %lld without", (long long)with, (long long)without);
  hsc_module_destroy(module);
}

// A value that is wanted early and late: below the limit it is made again, and as seldom as that takes.
static void a_limit_is_kept(void **state) {
  const char *text =
      "HloModule late\nsum { p = f32[] parameter(0)\n q = f32[] parameter(1)\n ROOT s = f32[] add(p, q) }\n"
      "ENTRY e {\n v = f32[512] parameter(0)\n x = f32[512,512] parameter(1)\n y = f32[512,2048] parameter(2)\n zero = f32[] constant(0)\n"
      " b = f32[512,512] broadcast(v), dimensions={1}\n c = f32[512,512] exponential(b)\n early = f32[512] reduce(c, zero), dimensions={0}, to_apply=sum\n"
      " large = f32[512,2048] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n middle = f32[512] reduce(large, zero), dimensions={1}, to_apply=sum\n"
      " late = f32[512,512] dot(c, x), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n last = f32[512] reduce(late, zero), dimensions={0}, to_apply=sum\n"
      " a = f32[512] add(early, middle)\n ROOT r = f32[512] add(a, last)\n}";
  hsc_module *module = parse(text);
  EXPECT_OK(hsc_passes_run(module, "optimization", NULL, NULL));
  EXPECT_OK(hsc_passes_run(module, "fusion", NULL, NULL));
  int64_t before = peak_of(module), limit = before - ((int64_t)1 << 20);
  hsc_pass_log log = {0};
  EXPECT_OK(hsc_passes_run(module, "rematerialization", &(hsc_pass_options){.fuel = -1, .verify = true, .memory_limit_bytes = limit}, &log));
  assert_true(log.runs[0].rewrites >= 1);
  if (peak_of(module) > limit) fail_msg("%lld bytes at once, limit %lld, before %lld", (long long)peak_of(module), (long long)limit, (long long)before);
  hsc_pass_log_deinit(&log);
  // Nothing to do: no limit, or one that holds already.
  hsc_module *again = parse(text);
  log = (hsc_pass_log){0};
  EXPECT_OK(hsc_passes_run(again, "rematerialization", &(hsc_pass_options){.fuel = -1}, &log));
  EXPECT_OK(hsc_passes_run(again, "rematerialization", &(hsc_pass_options){.fuel = -1, .memory_limit_bytes = (int64_t)1 << 40}, &log));
  assert_false(log.runs[0].changed || log.runs[1].changed);
  hsc_pass_log_deinit(&log);
  // The scheduler would move the value behind the large one by itself.
  int64_t with = temp_bytes(again, "hlo-memory-scheduler", limit), without = temp_bytes(again, "hlo-memory-scheduler", 0);
  if (with >= without) fail_msg("temporaries: %lld bytes with the limit, %lld without", (long long)with, (long long)without);
  hsc_module_destroy(again);
  hsc_module_destroy(module);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(the_scheduler_lowers_the_peak), cmocka_unit_test(a_limit_is_kept)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
