// test_not_fused.c - what the passes that fuse record about the kernels that they leave apart: the
// reason of each row of not_fused.def, for a program that shows it; nothing left without a reason;
// and no program that comes out otherwise because it is recorded.
#include "formats/common/formats.h"
#include "hlo/ir/not_fused.h"
#include "passes/manager/passes.h"
#include "unit.h"

// Computations that the cases call, before their entry.
static const char *const HEAD =
    "HloModule m\n"
    "sum { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT c = f32[] add(a, b) }\n"
    "top { a = f32[] parameter(0)\n i = s32[] parameter(1)\n b = f32[] parameter(2)\n"
    " j = s32[] parameter(3)\n g = pred[] compare(a, b), direction=GE\n"
    " x = f32[] select(g, a, b)\n y = s32[] select(g, i, j)\n"
    " ROOT t = (f32[], s32[]) tuple(x, y) }\n"
    "odd { a = f32[] parameter(0)\n b = f32[] parameter(1)\n c = f32[] multiply(a, a)\n"
    " ROOT d = f32[] add(c, b) }\n"
    "less { a = f32[] parameter(0)\n b = f32[] parameter(1)\n"
    " ROOT c = pred[] compare(a, b), direction=LT }\n"
    "ENTRY e {\n x = f32[128,128] parameter(0)\n y = f32[128,128] parameter(1)\n"
    " v = f32[128] parameter(2)\n n = f32[64,128] parameter(3)\n zero = f32[] constant(0)\n";

// The reason, passes on request that the case needs, the entry's instructions.
static const struct {
  hsc_not_fused reason;
  const char *enable, *body;
} cases[] = {
    {HSC_NOT_FUSED_READER_OP, NULL,
     "a = f32[128,128] exponential(x)\n ROOT d = f32[128,128] dot(a, y), "
     "lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"},
    {HSC_NOT_FUSED_INITIAL_VALUE, NULL,
     "s = f32[] reduce(v, zero), dimensions={0}, to_apply=sum\n q = f32[] sqrt(s)\n"
     "ROOT r = f32[128] reduce(x, q), dimensions={0}, to_apply=sum\n"},
    {HSC_NOT_FUSED_NO_ARRAY, NULL,
     "i = s32[128,128] iota(), iota_dimension=1\n first = s32[] constant(0)\n"
     "r = (f32[128], s32[128]) reduce(x, i, zero, first), dimensions={1}, to_apply=top\n"
     "g = f32[128] get-tuple-element(r), index=0\n ROOT a = f32[128] exponential(g)\n"},
    {HSC_NOT_FUSED_OWN_KERNEL, NULL,
     "s = f32[128,128] sort(x), dimensions={0}, to_apply=less\n"
     "ROOT a = f32[128,128] exponential(s)\n"},
    {HSC_NOT_FUSED_MOVES_MINOR, NULL,
     "a = f32[128,128] exponential(x)\n t = f32[128,128] transpose(a), dimensions={1,0}\n"
     "ROOT b = f32[128,128] add(t, y)\n"},
    {HSC_NOT_FUSED_STRIDES, NULL,
     "s = f32[128,64] slice(x), slice={[0:128], [0:128:2]}\n ROOT a = f32[128,64] "
     "exponential(s)\n"},
    {HSC_NOT_FUSED_WIDE_WINDOW, NULL,
     "w = f32[128,128] reduce-window(x, zero), window={size=40x40 pad=20_19x20_19}, "
     "to_apply=odd\n ROOT a = f32[128,128] exponential(w)\n"},
    {HSC_NOT_FUSED_GATHERS_SLICES, NULL,
     "i = s32[64,1] parameter(4)\n g = f32[64,128] gather(x, i), offset_dims={1}, "
     "collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, slice_sizes={1,128}\n"
     "ROOT a = f32[64,128] add(g, n)\n"},
    {HSC_NOT_FUSED_ONE_BY_ONE, NULL,
     "a = f32[128,128] tanh(x)\n i = s32[128,128] iota(), iota_dimension=1\n"
     "first = s32[] constant(0)\n ROOT r = (f32[128], s32[128]) reduce(a, i, zero, first), "
     "dimensions={1}, to_apply=top\n"},
    {HSC_NOT_FUSED_OTHER_READERS, NULL,
     "a = f32[128,128] tanh(x)\n b = f32[128,128] add(a, y)\n"
     "r = f32[128] reduce(a, zero), dimensions={0}, to_apply=sum\n"
     "ROOT t = (f32[128,128], f32[128]) tuple(b, r)\n"},
    {HSC_NOT_FUSED_FREE_RESHAPE, NULL,
     "d = f32[128,128] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
     "s = f32[64,256] reshape(d)\n m = f32[64,256] parameter(4)\n"
     "ROOT a = f32[64,256] add(s, m)\n"},
    {HSC_NOT_FUSED_READ_REPEATEDLY, NULL,
     "a = f32[128] tanh(v)\n w = f32[128,128] broadcast(a), dimensions={1}\n"
     "ROOT b = f32[128,128] multiply(w, x)\n"},
    {HSC_NOT_FUSED_MERGE_READER_KIND, "fusion_merger",
     "a = f32[128,128] tanh(x)\n s = f32[128,128] add(a, y)\n b = f32[128,128] negate(s)\n"
     "q = f32[128] reduce(b, zero), dimensions={0}, to_apply=sum\n"
     "ROOT t = (f32[128,128], f32[128,128], f32[128]) tuple(s, b, q)\n"},
    {HSC_NOT_FUSED_PRODUCT_READERS, NULL,
     "d = f32[128,128] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
     "a = f32[128,128] exponential(d)\n ROOT t = (f32[128,128], f32[128,128]) tuple(a, d)\n"},
    {HSC_NOT_FUSED_NO_EPILOGUE, NULL,
     "d = f32[128,128] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
     "a = f32[128,128] exponential(d)\n s = f32[64,128] slice(a), slice={[0:64], [0:128]}\n"
     "ROOT b = f32[64,128] add(s, n)\n"},
    {HSC_NOT_FUSED_OTHER_PRODUCT, NULL,
     "d = f32[128,128] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
     "f = f32[128,128] dot(y, x), lhs_contracting_dims={0}, rhs_contracting_dims={0}\n"
     "ROOT a = f32[128,128] add(d, f)\n"},
    {HSC_NOT_FUSED_PRODUCT_TYPE, NULL,
     "i = s32[128,128] parameter(4)\n k = s32[128,128] parameter(5)\n"
     "d = s32[128,128] dot(i, k), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
     "j = s32[128,128] add(d, k)\n ROOT a = s32[128,128] multiply(j, i)\n"},
    {HSC_NOT_FUSED_ONE_READER, NULL,
     "a = f32[128,128] tanh(x)\n b = f32[128,128] add(a, y)\n w = f32[128,128] reduce-window(b, "
     "zero), window={size=3x3 pad=1_1x1_1}, to_apply=sum\n c = f32[128,128] multiply(w, y)\n"
     "ROOT d = f32[128,128] negate(c)\n"},
    {HSC_NOT_FUSED_SMALL, NULL,
     "u = f32[128] parameter(4)\n a = f32[128] tanh(v)\n b = f32[128] add(a, u)\n"
     "c = f32[128] tanh(b)\n d = f32[128] multiply(c, u)\n"
     "ROOT t = (f32[128], f32[128]) tuple(b, d)\n"},
    {HSC_NOT_FUSED_OTHER_LOOP, NULL,
     "a = f32[128,128] tanh(x)\n b = f32[128,128] add(a, y)\n"
     "s = f32[64,128] slice(b), slice={[0:64], [0:128]}\n c = f32[64,128] multiply(s, n)\n"
     "ROOT t = (f32[128,128], f32[64,128]) tuple(b, c)\n"},
    {HSC_NOT_FUSED_OTHER_INDEX, NULL,
     "a = f32[128,128] tanh(x)\n b = f32[128,128] add(a, y)\n w = f32[128,128] reduce-window(b, "
     "zero), window={size=3x3 pad=1_1x1_1}, to_apply=sum\n c = f32[128,128] multiply(w, y)\n"
     "ROOT t = (f32[128,128], f32[128,128]) tuple(b, c)\n"},
};

static hsc_module *parse(const char *body) {
  hsc_module *module = NULL;
  hsc_bytes text = {0};
  hsc_bytes_printf(&text, "%s%s}\n", HEAD, body);
  hsc_status *status = hsc_hlo_text_parse(hsc_bytes_view(&text), "case", &module);
  if (status)
    fail_msg("%s: %s\n%s", hsc_status_message(status), body, hsc_bytes_text(&text));
  hsc_bytes_deinit(&text);
  return module;
}

static void run(hsc_module *module, const char *enable, bool record) {
  EXPECT_OK(hsc_passes_run(
      module, NULL,
      &(hsc_pass_options){.enable = enable, .record_fusion = record, .fuel = -1, .verify = true},
      NULL));
}

static void each_reason_has_a_program_that_shows_it(void **state) {
  (void)state;
  int missing = 0;
  for (size_t i = 0; i < HSC_COUNT_OF(cases); i++) {
    hsc_module *module = parse(cases[i].body);
    bool seen = false;
    run(module, cases[i].enable, true);
    HSC_FOR_EACH_COMPUTATION (module, computation)
      HSC_FOR_EACH_INSTR_IN (computation, instr)
        for (int o = 0; o < instr->operand_count; o++) {
          hsc_not_fused reasons[HSC_NOT_FUSED_COUNT];
          int count = hsc_not_fused_read(instr, o, reasons, HSC_NOT_FUSED_COUNT);
          for (int r = 0; r < count; r++)
            seen |= reasons[r] == cases[i].reason;
        }
    if (!seen) {
      hsc_bytes text = {0};
      hsc_module_print(module, NULL, &text);
      print_error("%s is not said of\n%s\n%s", hsc_not_fused_text(cases[i].reason), cases[i].body,
                  strstr(hsc_bytes_text(&text), "ENTRY"));
      hsc_bytes_deinit(&text);
      missing++;
    }
    hsc_module_destroy(module);
  }
  assert_int_equal(missing, 0);
}

// Of every kernel that reads what another kernel computes, and of no other operand.
static void no_pair_of_kernels_is_left_without_a_reason(void **state) {
  (void)state;
  for (int p = 0; p < HSC_PASS_COUNT; p++) {
    hsc_module *module = NULL;
    hsc_module *plain = NULL;
    EXPECT_OK(
        hsc_hlo_text_parse(hsc_view_of(hsc_pass_example((hsc_pass_id)p)), "example", &module));
    EXPECT_OK(hsc_module_clone(module, &plain));
    run(module, NULL, true);
    run(plain, NULL, false);
    HSC_FOR_EACH_INSTR_IN (module->entry, instr) {
      for (int o = 0; o < instr->operand_count; o++) {
        hsc_not_fused reason;
        bool pair = hsc_op_is_kernel(instr->op) &&
                    hsc_op_is_kernel(hsc_instr_computed(instr->operands[o])->op);
        if (pair != (hsc_not_fused_read(instr, o, &reason, 1) == 1))
          fail_msg("%s: operand %d of %s", hsc_pass_text((hsc_pass_id)p), o, instr->name);
      }
    }
    // recording changes nothing else
    HSC_FOR_EACH_COMPUTATION (module, computation)
      HSC_FOR_EACH_INSTR_IN (computation, instr)
        if (instr->frontend_attributes && strstr(instr->frontend_attributes, "{not_fused_"))
          instr->frontend_attributes = NULL;
    hsc_hash128 with = hsc_module_fingerprint(module);
    hsc_hash128 without = hsc_module_fingerprint(plain);
    if (memcmp(&with, &without, sizeof with) != 0)
      fail_msg("%s: the example comes out otherwise when decisions are recorded",
               hsc_pass_text((hsc_pass_id)p));
    hsc_module_destroy(module);
    hsc_module_destroy(plain);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(each_reason_has_a_program_that_shows_it),
      cmocka_unit_test(no_pair_of_kernels_is_left_without_a_reason),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
