// test_counts.c - what is counted while a program runs is what its text says, where the text
// decides everything: on random programs, on random control flow, and on each operation.
#include "formats/common/formats.h"
#include "hlo/ir/hlo.h"
#include "hlo_snippets.h"
#include "random_module.h"
#include "unit.h"

#include <string.h>

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

// What was counted by count_both is the same, operation by operation.
static void assert_counted_alike(const hsc_work *work, const hsc_count *count, const char *of) {
  const hsc_cost *ran = &work->cost;
  const hsc_cost *text = &count->cost;
  if (memcmp(ran, text, sizeof *ran) != 0)
    fail_msg("%s: %g flops, %g transcendentals, %g + %g bytes ran; %g, %g, %g + %g are in the text",
             of, ran->flops, ran->transcendentals, ran->bytes_read, ran->bytes_written, text->flops,
             text->transcendentals, text->bytes_read, text->bytes_written);
  for (int op = 0; op < HSC_OP_COUNT; op++) {
    const struct hsc_op_cost *a = &ran_by_op.of[op];
    const struct hsc_op_cost *b = &text_by_op.of[op];
    // what runs other computations is counted by what those do
    if (memcmp(&a->cost, &b->cost, sizeof a->cost) != 0 || b->guessed)
      fail_msg("%s: %s", of, hsc_op_text((hsc_op)op));
  }
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
      char name[32];
      snprintf(name, sizeof name, "seed %llu", (unsigned long long)seed);
      assert_counted_alike(&work, &count, name);
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
  assert_true(compared > PROGRAMS * 9 / 10);
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
    "ENTRY e {\n  p = f32[100] parameter(0)\n  q = s32[] parameter(1)\n"
    "  three = s32[] constant(3)\n  b = s32[] and(q, three)\n"
    "  four = s32[] constant(4)\n  n = s32[] add(b, four)\n  zero = s32[] constant(0)\n"
    "  s = (s32[], s32[], f32[100]) tuple(zero, n, p)\n"
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
  assert_in_range(work.trips, 4, 7);
  assert_true(work.cost.transcendentals == 100.0 * (double)work.trips);
  // by operation the same, and the guess is named where it is
  assert_true(text_by_op.of[HSC_OP_EXP].cost.transcendentals == 100);
  assert_true(text_by_op.of[HSC_OP_EXP].guessed);
  assert_true(ran_by_op.of[HSC_OP_EXP].cost.transcendentals == 100.0 * (double)work.trips);
  assert_true(ran_by_op.of[HSC_OP_EXP].runs == (double)work.trips);
  assert_false(text_by_op.of[HSC_OP_TUPLE].guessed && text_by_op.of[HSC_OP_TUPLE].runs == 0);
  hsc_module_destroy(module);
}

// ---- control flow that constants decide ---------------------------------------------------------

// Writes loops whose state is (counter, bound, numbers, the counter around it): counters that go
// up, down and by doubling; bounds that are constants, sums, results of calls, what stands around
// the loop; bodies with a branch by the counter, or a loop of their own.
typedef struct flow {
  uint64_t random;
  int made;        // loops and branches, for names
  hsc_bytes text;  // computations that are ready
} flow;

#define FLOW_STATE "(s32[], s32[], f32[8], s32[])"

static int below(flow *f, int count) {
  f->random = f->random * 6364136223846793005u + 1442695040888963407u;
  return (int)((f->random >> 33) % (uint64_t)count);
}

static const struct {
  const char *direction, *next;
  int start[2];  // and how much more at most
  int bound[2];
} counters[] = {
    {"LT", "add(i, one)", {0, 3}, {3, 5}},      {"LE", "add(i, two)", {1, 2}, {4, 5}},
    {"GT", "subtract(i, one)", {6, 3}, {1, 4}}, {"GE", "subtract(i, two)", {7, 2}, {-1, 3}},
    {"NE", "add(i, one)", {0, 1}, {2, 4}},      {"LT", "multiply(i, two)", {1, 2}, {5, 60}},
};

// What the body does with its numbers `x`: instructions that end in `y`.
static void write_work(flow *f, int depth, hsc_bytes *out);

// Instructions that run a loop over `x`, named by `id`, and end in `y`; `i`: the counter outside.
static void write_loop(flow *f, int depth, hsc_bytes *out) {
  int id = f->made++;
  int kind = below(f, (int)HSC_COUNT_OF(counters));
  int start = counters[kind].start[0] + below(f, counters[kind].start[1]);
  int bound = counters[kind].bound[0] + below(f, counters[kind].bound[1]);
  hsc_bytes work = {0};
  write_work(f, depth - 1, &work);
  hsc_bytes_printf(&f->text,
                   "cond%d { c = " FLOW_STATE
                   " parameter(0)\n"
                   "  i = s32[] get-tuple-element(c), index=0\n"
                   "  n = s32[] get-tuple-element(c), index=1\n"
                   "  ROOT l = pred[] compare(i, n), direction=%s }\n\n"
                   "body%d { c = " FLOW_STATE
                   " parameter(0)\n"
                   "  i = s32[] get-tuple-element(c), index=0\n"
                   "  n = s32[] get-tuple-element(c), index=1\n"
                   "  x = f32[8] get-tuple-element(c), index=2\n"
                   "  o = s32[] get-tuple-element(c), index=3\n"
                   "  one = s32[] constant(1)\n  two = s32[] constant(2)\n"
                   "  j = s32[] %s\n%s"
                   "  ROOT t = " FLOW_STATE " tuple(j, n, y, o) }\n\n",
                   id, counters[kind].direction, id, counters[kind].next, hsc_bytes_text(&work));
  hsc_bytes_deinit(&work);
  hsc_bytes_printf(out, "  a%d = s32[] constant(%d)\n", id, start);
  int of_bound = below(f, 4);
  if (of_bound == 1)
    hsc_bytes_printf(out,
                     "  p%d = s32[] constant(%d)\n  q%d = s32[] constant(3)\n"
                     "  b%d = s32[] add(p%d, q%d)\n",
                     id, bound - 3, id, id, id, id);
  else if (of_bound == 2)
    hsc_bytes_printf(out, "  p%d = s32[] constant(%d)\n  b%d = s32[] call(p%d), to_apply=same\n",
                     id, bound, id, id);
  else if (of_bound == 3 && kind == 0)  // a triangle: as far as the counter around it
    hsc_bytes_printf(out, "  b%d = s32[] copy(i)\n", id);
  else
    hsc_bytes_printf(out, "  b%d = s32[] constant(%d)\n", id, bound);
  hsc_bytes_printf(out,
                   "  s%d = " FLOW_STATE
                   " tuple(a%d, b%d, x, i)\n"
                   "  w%d = " FLOW_STATE
                   " while(s%d), condition=cond%d, body=body%d\n"
                   "  e%d = s32[] get-tuple-element(w%d), index=0\n"
                   "  y = f32[8] get-tuple-element(w%d), index=2\n",
                   id, id, id, id, id, id, id, id, id, id);
}

static void write_branch(flow *f, int depth, hsc_bytes *out) {
  int id = f->made++;
  hsc_bytes work = {0};
  write_work(f, depth - 1, &work);
  hsc_bytes_printf(&f->text,
                   "some%d { t = (s32[], f32[8]) parameter(0)\n"
                   "  i = s32[] get-tuple-element(t), index=0\n"
                   "  x = f32[8] get-tuple-element(t), index=1\n%s"
                   "  ROOT r = f32[8] negate(y) }\n\n"
                   "none%d { ROOT x = f32[8] parameter(0) }\n\n",
                   id, hsc_bytes_text(&work), id);
  hsc_bytes_deinit(&work);
  hsc_bytes_printf(out,
                   "  m%d = s32[] constant(%d)\n  z%d = s32[] constant(0)\n"
                   "  r%d = s32[] remainder(i, m%d)\n"
                   "  c%d = pred[] compare(r%d, z%d), direction=EQ\n"
                   "  t%d = (s32[], f32[8]) tuple(i, x)\n"
                   "  y = f32[8] conditional(c%d, t%d, x), true_computation=some%d, "
                   "false_computation=none%d\n",
                   id, 2 + below(f, 3), id, id, id, id, id, id, id, id, id, id, id);
}

static void write_work(flow *f, int depth, hsc_bytes *out) {
  int what = depth > 0 ? below(f, 3) : 0;
  if (what == 0)
    hsc_bytes_printf(out, "  y = f32[8] %s(x)\n", below(f, 2) ? "tanh" : "negate");
  else if (what == 1)
    write_loop(f, depth, out);
  else
    write_branch(f, depth, out);
}

static void write_flow(uint64_t seed, hsc_bytes *out) {
  flow f = {.random = seed * 77777};
  hsc_bytes entry = {0};
  hsc_bytes_printf(&f.text, "HloModule m\n\nsame { ROOT v = s32[] parameter(0) }\n\n");
  write_loop(&f, 4, &entry);
  hsc_bytes_printf(out,
                   "%sENTRY main { x = f32[8] parameter(0)\n  i = s32[] constant(2)\n%s"
                   "  ROOT r = f32[8] add(y, x) }\n",
                   hsc_bytes_text(&f.text), hsc_bytes_text(&entry));
  hsc_bytes_deinit(&f.text);
  hsc_bytes_deinit(&entry);
}

static void control_flow_of_constants_is_counted_exactly(void **state) {
  (void)state;
  for (uint64_t seed = 1; seed <= PROGRAMS; seed++) {
    hsc_module *module = NULL;
    hsc_work work;
    hsc_count count;
    hsc_bytes text = {0};
    write_flow(seed, &text);
    EXPECT_OK(hsc_program_read(hsc_bytes_view(&text), NULL, &module));
    EXPECT_OK(hsc_module_verify(module));
    EXPECT_OK(count_both(module, seed, &work, &count));
    if (count.guessed_loops + count.guessed_branches)
      fail_msg("seed %llu: %s is guessed\n%s", (unsigned long long)seed, count.first_guess->name,
               hsc_bytes_text(&text));
    assert_counted_alike(&work, &count, hsc_bytes_text(&text));
    hsc_bytes_deinit(&text);
    hsc_module_destroy(module);
  }
}

// ---- each operation -----------------------------------------------------------------------------

static char *source_dir;

// One instruction over the values of the prelude, where it can be run.
static void count_row(const char *prelude, const char *instruction, bool *io_compared) {
  hsc_module *module = NULL;
  hsc_work work;
  hsc_count count;
  hsc_status *status = parse_snippet(prelude, instruction, &module);
  if (!status)
    status = hsc_module_verify(module);
  if (!status)
    status = count_both(module, 1, &work, &count);
  if (!status && count.guessed_loops + count.guessed_branches == 0) {
    assert_counted_alike(&work, &count, instruction);
    io_compared[module->entry->root->op] = true;
  }
  hsc_status_free(status);
  hsc_module_destroy(module);
}

static void count_rows(const char *prelude, const char *file, bool *io_compared) {
  char *rows = read_conformance(source_dir, file);
  char *at = rows;
  char *question;
  char *answer;
  while (next_row(&at, &question, &answer))
    count_row(prelude, question, io_compared);
  hsc_free(rows);
}

// Each elementwise operation, over the first operands that it takes.
static void count_elementwise(const char *prelude, bool *io_compared) {
  static const char *const operands[] = {"f32[4,8] %s(%%a)", "f32[4,8] %s(%%a, %%a)",
                                         "u32[4,8] %s(%%u, %%u)"};
  for (int op = 0; op < HSC_OP_COUNT; op++)
    for (size_t i = 0; i < HSC_COUNT_OF(operands) && !io_compared[op]; i++) {
      hsc_bytes row = {0};
      if (!(hsc_op_traits((hsc_op)op) & HSC_TRAIT_ELEMENTWISE))
        break;
      hsc_bytes_printf(&row, operands[i], hsc_op_text((hsc_op)op));
      count_row(prelude, hsc_bytes_text(&row), io_compared);
      hsc_bytes_deinit(&row);
    }
}

static const char *const other_programs[] = {
    // pairs of asynchronous operations; a loop inside of one
    "more { c = (s32[], f32[2]) parameter(0)\n  i = s32[] get-tuple-element(c), index=0\n"
    "  n = s32[] constant(3)\n  ROOT l = pred[] compare(i, n), direction=LT }\n\n"
    "once { c = (s32[], f32[2]) parameter(0)\n  i = s32[] get-tuple-element(c), index=0\n"
    "  x = f32[2] get-tuple-element(c), index=1\n  one = s32[] constant(1)\n"
    "  j = s32[] add(i, one)\n  y = f32[2] sine(x)\n  ROOT t = (s32[], f32[2]) tuple(j, y) }\n\n"
    "wrapped { p = f32[2] parameter(0)\n  z = s32[] constant(0)\n"
    "  s = (s32[], f32[2]) tuple(z, p)\n"
    "  w = (s32[], f32[2]) while(s), condition=more, body=once\n"
    "  ROOT r = f32[2] get-tuple-element(w), index=1 }\n\n"
    "sum { a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT c = f32[] add(a, b) }\n\n"
    "ENTRY e { x = f32[2] parameter(0)\n"
    "  s = ((f32[2]), f32[2], s32[]) async-start(x), calls=wrapped\n"
    "  u = ((f32[2]), f32[2], s32[]) async-update(s)\n  a = f32[2] async-done(u)\n"
    "  cs = (f32[2], f32[2], u32[]) copy-start(x)\n  c = f32[2] copy-done(cs)\n"
    "  rs = f32[2] all-reduce-start(x), replica_groups={{0}}, to_apply=sum\n"
    "  r = f32[2] all-reduce-done(rs)\n"
    "  gs = (f32[2], f32[2]) all-gather-start(x), replica_groups={{0}}, dimensions={0}\n"
    "  g = f32[2] all-gather-done(gs)\n"
    "  ps = (f32[2], f32[2], u32[], u32[]) collective-permute-start(x), "
    "source_target_pairs={{0,0}}\n  p = f32[2] collective-permute-done(ps)\n"
    "  ag = f32[2] all-gather(x), replica_groups={{0}}, dimensions={0}\n"
    "  sc = f32[2] reduce-scatter(x), replica_groups={{0}}, dimensions={0}, to_apply=sum\n"
    "  aa = f32[2] all-to-all(x), replica_groups={{0}}, dimensions={0}\n"
    "  ROOT t = (f32[2], f32[2], f32[2], f32[2], f32[2], f32[2], f32[2], f32[2]) "
    "tuple(a, c, r, g, p, ag, sc, aa) }\n",
    // a scan of one dimension, and products with groups and scales
    "sc { y = f32[] parameter(0)\n  c = f32[] parameter(1)\n  n = f32[] multiply(c, y)\n"
    "  ROOT t = (f32[], f32[]) tuple(n, n) }\n\n"
    "ENTRY e { a = f32[4] parameter(0)\n  i = f32[] parameter(1)\n"
    "  ROOT s = (f32[4], f32[]) scan(a, i), dimensions={0}, num_carries=1, to_apply=sc }\n",
    "ENTRY e { a = f8e4m3fn[1,4] parameter(0)\n  b = f8e4m3fn[4,1] parameter(1)\n"
    "  s = f8e8m0fnu[1,2] parameter(2)\n  t = f8e8m0fnu[1,1] parameter(3)\n"
    "  ROOT r = f32[1,1] scaled-dot(a, b, s, t), lhs_contracting_dims={1}, "
    "rhs_contracting_dims={0} }\n",
    "ENTRY e { a = f32[8,4] parameter(0)\n  b = f32[2,4,3] parameter(1)\n"
    "  g = s32[2] constant({3, 5})\n"
    "  ROOT r = f32[8,3] ragged-dot(a, b, g), lhs_contracting_dims={1}, "
    "rhs_contracting_dims={1}, lhs_ragged_dims={0}, rhs_group_dims={0} }\n",
    "ENTRY e { b = f32[4] parameter(0)\n  i = s32[] constant(3)\n"
    "  s = f32[<=4] set-dimension-size(b, i), dimensions={0}\n  n = f32[<=4] negate(s)\n"
    "  z = s32[] get-dimension-size(n), dimensions={0}\n  ROOT r = (s32[], s32[]) tuple(z, i) }\n",
};

static void count_other_programs(bool *io_compared) {
  for (size_t i = 0; i < HSC_COUNT_OF(other_programs); i++) {
    hsc_module *module = NULL;
    hsc_work work;
    hsc_count count;
    hsc_bytes text = {0};
    hsc_bytes_printf(&text, "HloModule m\n\n%s", other_programs[i]);
    EXPECT_OK(hsc_program_read(hsc_bytes_view(&text), NULL, &module));
    EXPECT_OK(hsc_module_verify(module));
    EXPECT_OK(count_both(module, 1, &work, &count));
    assert_counted_alike(&work, &count, other_programs[i]);
    HSC_FOR_EACH_COMPUTATION (module, computation)
      HSC_FOR_EACH_INSTR_IN (computation, instr)
        io_compared[instr->op] = true;
    hsc_bytes_deinit(&text);
    hsc_module_destroy(module);
  }
}

// What needs a partner or a host; conditionals are above.
static const char not_run_alone[] =
    " infeed outfeed send send-done recv recv-done ragged-all-to-all collective-broadcast "
    "custom-call dynamic-reshape conditional ";

static void each_operation_counts_alike(void **state) {
  (void)state;
  static bool compared[HSC_OP_COUNT];
  char *prelude = read_conformance(source_dir, "prelude.hlo");
  count_rows(prelude, "costs.txt", compared);
  count_rows(prelude, "shapes.txt", compared);
  count_elementwise(prelude, compared);
  count_other_programs(compared);
  for (int op = 0; op < HSC_OP_COUNT; op++) {
    char name[64];
    snprintf(name, sizeof name, " %s ", hsc_op_text((hsc_op)op));
    if (!compared[op] && !strstr(not_run_alone, name))
      fail_msg("%s was not compared", hsc_op_text((hsc_op)op));
  }
  hsc_free(prelude);
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

int main(int argc, char **argv) {
  if (argc < 2)
    return 2;
  source_dir = argv[1];
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(exact_is_static_without_control_flow),
      cmocka_unit_test(exact_is_static_with_loops_that_the_text_decides),
      cmocka_unit_test(control_flow_of_constants_is_counted_exactly),
      cmocka_unit_test(each_operation_counts_alike),
      cmocka_unit_test(what_the_text_does_not_decide_is_named_and_counted),
      cmocka_unit_test(sums_over_operations_are_the_whole),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
