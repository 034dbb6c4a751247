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
    "tanhs { p = f32[128,128] parameter(0)\n ROOT q = f32[128,128] tanh(p) }\n"
    "put { p = f32[128,128] parameter(0)\n q = f32[64,128] parameter(1)\n z = s32[] constant(0)\n"
    " ROOT u = f32[128,128] dynamic-update-slice(p, q, z, z) }\n"
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
    {HSC_NOT_FUSED_NOT_ASKED, NULL,
     "a = f32[128,128] tanh(x)\n b = f32[128,128] add(a, y)\n"
     "ROOT t = (f32[128,128], f32[128,128]) tuple(b, b)\n"},
    {HSC_NOT_FUSED_EFFECT, NULL,
     "a = f32[128,128] tanh(x)\n c = f32[128,128] tanh(y), control-predecessors={a}\n"
     "b = f32[128,128] add(c, x)\n ROOT t = (f32[128,128], f32[128,128]) tuple(a, b)\n"},
    {HSC_NOT_FUSED_FUSION_ALREADY, NULL,
     "a = f32[128,128] fusion(x), kind=kLoop, calls=tanhs\n ROOT b = f32[128,128] add(a, y)\n"},
    {HSC_NOT_FUSED_MERGE_MANY, "fusion_merger",
     "a = f32[128,128] tanh(x)\n s = f32[128,128] add(a, y)\n b = f32[128,128] exponential(s)\n"
     "c = f32[128,128] negate(s)\n d = f32[128,128] abs(s)\n f = f32[128,128] sine(s)\n"
     "g = f32[128,128] cosine(s)\n h = f32[128,128] floor(s)\n k = f32[128,128] ceil(s)\n"
     "ROOT t = (f32[128,128], f32[128,128], f32[128,128], f32[128,128], f32[128,128], "
     "f32[128,128], f32[128,128]) tuple(b, c, d, f, g, h, k)\n"},
    {HSC_NOT_FUSED_MERGE_REREADS, "fusion_merger",
     "u = f32[128] parameter(4)\n a = f32[128] tanh(v)\n s = f32[128] add(a, u)\n"
     "d = f32[128] exponential(s)\n w = f32[128,128] broadcast(s), dimensions={1}\n"
     "m = f32[128,128] multiply(w, x)\n ROOT t = (f32[128], f32[128,128]) tuple(d, m)\n"},
    {HSC_NOT_FUSED_MERGE_IN_PLACE, "fusion_merger",
     "s = f32[128,128] fusion(x, n), kind=kLoop, calls=put\n a = f32[128,128] tanh(s)\n"
     "b = f32[128,128] add(s, y)\n ROOT t = (f32[128,128], f32[128,128]) tuple(a, b)\n"},
    {HSC_NOT_FUSED_MERGE_COSTS, "fusion_merger",
     "a = f32[128,128] sine(x)\n o = f32[128,128] exponential(a)\n s = f32[128,128] tanh(o)\n"
     "b = f32[128,128] add(s, y)\n c = f32[128,128] multiply(s, y)\n"
     "d = f32[128] reduce(s, zero), dimensions={0}, to_apply=sum\n"
     "ROOT t = (f32[128,128], f32[128,128], f32[128]) tuple(b, c, d)\n"},
    {HSC_NOT_FUSED_PRODUCT_WIDENED, NULL,
     "d = f32[128] dot(x, v), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
     "w = f32[128,128] broadcast(d), dimensions={0}\n ROOT b = f32[128,128] multiply(w, y)\n"},
    {HSC_NOT_FUSED_ORDER, NULL,
     "a = f32[128,128] tanh(x)\n s = f32[128,128] add(a, y)\n q = f32[128,128] sort(s), "
     "dimensions={0}, to_apply=less\n c = f32[128,128] tanh(q)\n ROOT r = f32[128,128] "
     "multiply(c, s)\n"},
};

// Programs that are large by repetition: sums of tanhs of so many parameters from 4 on, each sum of
// its own; `rounds` of neighbours that are added up before it.
static const struct {
  hsc_not_fused reason;
  const char *enable;
  int terms, sums, rounds;
} repeated[] = {
    {HSC_NOT_FUSED_READER_FULL, NULL, 60, 1, 0},
    {HSC_NOT_FUSED_CODE_GROWS, NULL, 1, 1, 14},
    {HSC_NOT_FUSED_MERGE_CODE, "fusion_merger", 20, 2, 0},
    {HSC_NOT_FUSED_TOGETHER_TOO_LARGE, NULL, 20, 2, 0},
};

// Each sum begins with the one before, which has another reader too.
static char *repeated_body(int terms, int sums, int rounds) {
  hsc_bytes text = {0};
  const char *last = "x";
  char name[2][32] = {"x", "x"};
  int parameter = 4;
  int number = 0;
  for (int s = 0; s < sums; s++) {
    for (int k = 0; k < terms; k++, parameter++) {
      hsc_bytes_printf(&text, "p%d = f32[128,128] parameter(%d)\n", parameter, parameter);
      hsc_bytes_printf(&text, "e%d = f32[128,128] tanh(p%d)\n", parameter, parameter);
      hsc_bytes_printf(&text, "s%d = f32[128,128] add(%s, e%d)\n", ++number, last, parameter);
      snprintf(name[s % 2], sizeof name[0], "s%d", number);
      last = name[s % 2];
    }
  }
  // rows next to each other, one row fewer each time
  for (int k = 0; k < rounds; k++) {
    int rows = 128 - k;
    hsc_bytes_printf(&text, "a%d = f32[%d,128] slice(%s), slice={[0:%d], [0:128]}\n", k, rows - 1,
                     last, rows - 1);
    hsc_bytes_printf(&text, "b%d = f32[%d,128] slice(%s), slice={[1:%d], [0:128]}\n", k, rows - 1,
                     last, rows);
    hsc_bytes_printf(&text, "s%d = f32[%d,128] add(a%d, b%d)\n", ++number, rows - 1, k, k);
    snprintf(name[k % 2], sizeof name[0], "s%d", number);
    last = name[k % 2];
  }
  if (sums > 1)
    hsc_bytes_printf(&text,
                     "o = f32[128,128] exponential(s%d)\n"
                     "ROOT t = (f32[128,128], f32[128,128]) tuple(o, s%d)\n",
                     terms, number);
  else
    hsc_bytes_printf(&text, "ROOT r = f32[%d,128] negate(%s)\n", 128 - rounds, last);
  return hsc_bytes_take(&text);
}

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

// Whether a program's passes say this of a pair; what they made of it is shown where not.
static bool says(const char *body, const char *enable, hsc_not_fused reason) {
  hsc_module *module = parse(body);
  bool seen = false;
  run(module, enable, true);
  HSC_FOR_EACH_COMPUTATION (module, computation)
    HSC_FOR_EACH_INSTR_IN (computation, instr)
      for (int o = 0; o < instr->operand_count; o++) {
        hsc_not_fused reasons[HSC_NOT_FUSED_COUNT];
        int count = hsc_not_fused_read(instr, o, reasons, HSC_NOT_FUSED_COUNT);
        for (int r = 0; r < count; r++)
          seen |= reasons[r] == reason;
      }
  if (!seen) {
    hsc_bytes text = {0};
    hsc_module_print(module, NULL, &text);
    print_error("%s is not said of\n%.2000s\n%.4000s", hsc_not_fused_text(reason), body,
                strstr(hsc_bytes_text(&text), "ENTRY"));
    hsc_bytes_deinit(&text);
  }
  hsc_module_destroy(module);
  return seen;
}

// Every row of not_fused.def: a reason that no program shows is none.
static void each_reason_has_a_program_that_shows_it(void **state) {
  bool shown[HSC_NOT_FUSED_COUNT] = {false};
  int missing = 0;
  for (size_t i = 0; i < HSC_COUNT_OF(cases); i++)
    shown[cases[i].reason] |= says(cases[i].body, cases[i].enable, cases[i].reason);
  for (size_t i = 0; i < HSC_COUNT_OF(repeated); i++) {
    char *body = repeated_body(repeated[i].terms, repeated[i].sums, repeated[i].rounds);
    shown[repeated[i].reason] |= says(body, repeated[i].enable, repeated[i].reason);
    hsc_free(body);
  }
  for (int r = 0; r < HSC_NOT_FUSED_COUNT; r++) {
    if (!shown[r])
      print_error("no program shows %s\n", hsc_not_fused_text((hsc_not_fused)r));
    missing += !shown[r];
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
