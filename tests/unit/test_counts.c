// test_counts.c - what is counted while a program runs is what its text says, where the text
// decides everything.
#include "formats/common/formats.h"
#include "hlo/ir/hlo.h"
#include "random_module.h"
#include "unit.h"

enum { PROGRAMS = 150 };

// By operation: what ran, and what the text says.
static hsc_op_costs ran_by_op, text_by_op;

static hsc_status *count_both(const hsc_module *module,
                              uint64_t seed,
                              hsc_work *work,
                              hsc_count *count) {
  hsc_arena *arena = NULL;
  hsc_literal *arguments[64];
  hsc_literal *result = NULL;
  const hsc_computation *entry = module->entry;
  hsc_status *status = NULL;
  ran_by_op = (hsc_op_costs){0};
  *work = (hsc_work){.by_op = &ran_by_op};
  HSC_TRY(hsc_module_count_by_op(module, false, count, &text_by_op));
  HSC_TRY(hsc_arena_create(&arena));
  for (int p = 0; p < entry->parameter_count && p < 64; p++) {
    HSC_GOTO(hsc_literal_create(arena, &entry->parameters[p]->shape, &arguments[p]));
    hsc_literal_fill(arguments[p], seed, (uint32_t)p);
  }
  HSC_GOTO(hsc_evaluate_counted(module, entry->parameter_count, arguments, arena, work, &result));
done:
  hsc_arena_destroy(arena);
  return status;
}

static void random_programs_count_alike(uint32_t left_out, int *out_compared) {
  *out_compared = 0;
  for (uint64_t seed = 1; seed <= PROGRAMS; seed++) {
    random_module_options options = random_module_options_default();
    hsc_module *module = NULL;
    hsc_work work;
    hsc_count count;
    options.features = RANDOM_ALL & ~(uint32_t)(RANDOM_EMPTY | left_out);
    EXPECT_OK(random_module_create(seed, &options, &module));
    hsc_status *status = count_both(module, seed, &work, &count);
    bool decided = !status && count.guessed_loops + count.guessed_branches == 0;
    hsc_status_free(status);
    if (decided) {
      ++*out_compared;
      if (work.cost.flops != count.cost.flops || work.cost.bytes_read != count.cost.bytes_read ||
          work.cost.bytes_written != count.cost.bytes_written)
        print_message("seed %llu: %g flops, %g + %g bytes ran, %g, %g + %g are in the text\n",
                      (unsigned long long)seed, work.cost.flops, work.cost.bytes_read,
                      work.cost.bytes_written, count.cost.flops, count.cost.bytes_read,
                      count.cost.bytes_written);
      assert_true(work.cost.flops == count.cost.flops);
      assert_true(work.cost.transcendentals == count.cost.transcendentals);
      assert_true(work.cost.bytes_read == count.cost.bytes_read);
      assert_true(work.cost.bytes_written == count.cost.bytes_written);
      for (int op = 0; op < HSC_OP_COUNT; op++) {
        const struct hsc_op_cost *a = &ran_by_op.of[op];
        const struct hsc_op_cost *b = &text_by_op.of[op];
        // what runs other computations is counted by what those do
        bool alike = !memcmp(&a->cost, &b->cost, sizeof a->cost) && !b->guessed;
        if (!alike)
          fail_msg("seed %llu: %s", (unsigned long long)seed, hsc_op_text((hsc_op)op));
      }
    }
    hsc_module_destroy(module);
  }
}

static void exact_is_static_without_control_flow(void **state) {
  (void)state;
  int compared = 0;
  random_programs_count_alike(RANDOM_LOOPS | RANDOM_BRANCHES, &compared);
  assert_true(compared > PROGRAMS * 9 / 10);
}

static void exact_is_static_with_loops_that_the_text_decides(void **state) {
  (void)state;
  int compared = 0;
  random_programs_count_alike(RANDOM_BRANCHES, &compared);
  assert_true(compared > PROGRAMS / 10);
}

static const char UNKNOWN[] =
    "HloModule m\n\n"
    "cond { c = (s32[], s32[], f32[100]) parameter(0)\n"
    "  i = s32[] get-tuple-element(c), index=0\n  n = s32[] get-tuple-element(c), index=1\n"
    "  ROOT l = pred[] compare(i, n), direction=LT }\n\n"
    "body { c = (s32[], s32[], f32[100]) parameter(0)\n"
    "  i = s32[] get-tuple-element(c), index=0\n  n = s32[] get-tuple-element(c), index=1\n"
    "  x = f32[100] get-tuple-element(c), index=2\n  one = s32[] constant(1)\n"
    "  j = s32[] add(i, one)\n  e = f32[100] exponential(x)\n"
    "  ROOT t = (s32[], s32[], f32[100]) tuple(j, n, e) }\n\n"
    "ENTRY e {\n  p = f32[100] parameter(0)\n  three = s32[] constant(3)\n"
    "  four = s32[] constant(4)\n  seven = s32[] add(three, four)\n  zero = s32[] constant(0)\n"
    "  s = (s32[], s32[], f32[100]) tuple(zero, seven, p)\n"
    "  w = (s32[], s32[], f32[100]) while(s), condition=cond, body=body\n"
    "  ROOT x = f32[100] get-tuple-element(w), index=2\n}\n";

static void what_the_text_does_not_decide_is_named_and_counted(void **state) {
  (void)state;
  hsc_module *module = NULL;
  hsc_work work;
  hsc_count count;
  EXPECT_OK(hsc_program_read(hsc_view_of(UNKNOWN), NULL, &module));
  EXPECT_OK(count_both(module, 1, &work, &count));
  assert_int_equal(count.guessed_loops, 1);
  assert_string_equal(count.first_guess->name, "w");
  assert_true(count.cost.transcendentals == 100);
  assert_int_equal(work.trips, 7);
  assert_true(work.cost.transcendentals == 700);
  // by operation the same, and the guess is named where it is
  assert_true(text_by_op.of[HSC_OP_EXP].cost.transcendentals == 100);
  assert_true(text_by_op.of[HSC_OP_EXP].guessed);
  assert_true(ran_by_op.of[HSC_OP_EXP].cost.transcendentals == 700);
  assert_true(ran_by_op.of[HSC_OP_EXP].runs == 7);
  assert_false(text_by_op.of[HSC_OP_TUPLE].guessed && text_by_op.of[HSC_OP_TUPLE].runs == 0);
  hsc_module_destroy(module);
}

// Opened, a fusion's arithmetic stands under its operations, and all sums stay what they are.
static void sums_over_operations_are_the_whole(void **state) {
  (void)state;
  static const char FUSED[] =
      "HloModule m\n\nbody { p = f32[64] parameter(0)\n  e = f32[64] exponential(p)\n"
      "  ROOT a = f32[64] add(e, p) }\n\nENTRY e { x = f32[64] parameter(0)\n"
      "  ROOT f = f32[64] fusion(x), kind=kLoop, calls=body }\n";
  hsc_module *module = NULL;
  hsc_count count;
  EXPECT_OK(hsc_program_read(hsc_view_of(FUSED), NULL, &module));
  for (int open = 0; open < 2; open++) {
    hsc_cost sum = {0};
    EXPECT_OK(hsc_module_count_by_op(module, open, &count, &text_by_op));
    for (int op = 0; op < HSC_OP_COUNT; op++) {
      sum.flops += text_by_op.of[op].cost.flops;
      sum.transcendentals += text_by_op.of[op].cost.transcendentals;
      sum.bytes_read += text_by_op.of[op].cost.bytes_read;
      sum.bytes_written += text_by_op.of[op].cost.bytes_written;
    }
    assert_memory_equal(&sum, &count.cost, sizeof sum);
    assert_true(text_by_op.of[HSC_OP_ADD].cost.flops == (open ? 64 : 0));
    assert_true(text_by_op.of[HSC_OP_FUSION].cost.flops == (open ? 0 : 64));
  }
  hsc_module_destroy(module);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(exact_is_static_without_control_flow),
      cmocka_unit_test(exact_is_static_with_loops_that_the_text_decides),
      cmocka_unit_test(what_the_text_does_not_decide_is_named_and_counted),
      cmocka_unit_test(sums_over_operations_are_the_whole),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
