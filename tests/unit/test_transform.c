// Transforms against what they stand for: repeat and scan are f applied over and over, vmap is f on
// each example. The evaluator judges; the programs that JAX exported for the same patterns are a
// second witness.
#include "base/core/random.h"
#include "unit.h"

#include <stdlib.h>

#include "formats/common/formats.h"
#include "random_module.h"
#include "transform/transform.h"
#include "transform/transform_internal.h"

static const char *source_root;

enum { MAX_ARGUMENTS = 64 };

static hsc_module *parse(const char *text) {
  hsc_module *module = NULL;
  EXPECT_OK(hsc_program_read_as(HSC_FORMAT_HLO_TEXT, hsc_view_of(text), NULL, &module));
  return module;
}

static hsc_arena *new_arena(void) {
  hsc_arena *arena = NULL;
  EXPECT_OK(hsc_arena_create(&arena));
  return arena;
}

static hsc_literal *evaluate(const hsc_module *module,
                             hsc_literal *const *arguments,
                             hsc_arena *arena) {
  hsc_literal *result = NULL;
  EXPECT_OK(hsc_evaluate(module, module->entry->parameter_count, arguments, arena, &result));
  return result;
}

// Deterministic arguments; example `e` of them has its own numbers.
static void fill(const hsc_module *module,
                 uint64_t seed,
                 hsc_arena *arena,
                 hsc_literal **arguments) {
  assert_true(module->entry->parameter_count <= MAX_ARGUMENTS);
  for (int i = 0; i < module->entry->parameter_count; i++) {
    EXPECT_OK(hsc_literal_create(arena, &module->entry->parameters[i]->shape, &arguments[i]));
    hsc_literal_fill(arguments[i], seed, (uint32_t)i);
  }
}

static const hsc_literal *leaf(const hsc_literal *literal, int number) {
  while (hsc_shape_is_tuple(&literal->shape)) {
    int e = 0;
    while (number >= hsc_shape_leaf_count(&literal->elements[e].shape))
      number -= hsc_shape_leaf_count(&literal->elements[e++].shape);
    literal = &literal->elements[e];
  }
  return literal;
}

static bool close(const hsc_literal *a, const hsc_literal *b, hsc_bytes *why) {
  hsc_difference d;
  hsc_status *status = hsc_literal_compare(a, b, &d);
  if (status) {
    hsc_bytes_append_text(why, hsc_status_message(status));
    hsc_status_free(status);
    return false;
  }
  if (d.nan_mismatches == 0 && (d.max_ulp <= 64 || d.max_abs <= 1e-4 || d.max_rel <= 1e-2))
    return true;
  hsc_bytes_printf(why, "output %d, element %lld: %g, expected %g", d.leaf, (long long)d.index,
                   d.left, d.right);
  return false;
}

static void expect_close(const hsc_literal *a, const hsc_literal *b, const char *what) {
  hsc_bytes why = {0};
  if (!close(a, b, &why))
    fail_msg("%s: %s", what, hsc_bytes_text(&why));
  hsc_bytes_deinit(&why);
}

// Row `row` of an array with a leading dimension, as an array without it.
static hsc_literal row_of(const hsc_literal *stack, int64_t row, hsc_arena *arena) {
  hsc_literal one = *stack;
  one.shape =
      hsc_shape_array(arena, stack->shape.type, stack->shape.rank - 1, stack->shape.dims + 1);
  size_t bytes = (size_t)hsc_shape_bytes(&one.shape);
  one.data = bytes ? (char *)stack->data + (size_t)row * bytes : NULL;
  return one;
}

static hsc_literal *stack(hsc_literal *const *examples, int count, hsc_arena *arena) {
  int64_t dims[HSC_MAX_RANK + 1] = {count};
  const hsc_shape *one = &examples[0]->shape;
  hsc_literal *result = NULL;
  for (int i = 0; i < one->rank; i++)
    dims[i + 1] = one->dims[i];
  hsc_shape shape = hsc_shape_array(arena, one->type, one->rank + 1, dims);
  EXPECT_OK(hsc_literal_create(arena, &shape, &result));
  size_t bytes = (size_t)hsc_shape_bytes(one);
  for (int e = 0; e < count && bytes; e++)
    memcpy((char *)result->data + (size_t)e * bytes, examples[e]->data, bytes);
  return result;
}

// ---- against JAX --------------------------------------------------------------------------------

static hsc_module *pattern(const char *graph, const char *name) {
  char path[1024];
  hsc_module *module = NULL;
  snprintf(path, sizeof path, "%s/models/patterns/%s_%s.hlo", source_root, graph, name);
  EXPECT_OK(hsc_program_read_file(path, &module));
  return module;
}

static void patterns_agree_with_jax(void **state) {
  static const char *const graphs[] = {"tiny", "small", "medium", "large",
                                       "wide", "deep",  "mlp",    "multihead"};
  static const char *const names[] = {"natural", "vmap", "scan"};
  for (size_t g = 0; g < HSC_COUNT_OF(graphs); g++) {
    hsc_module *one = pattern(graphs[g], "dependent");
    for (int p = 0; p < 3; p++) {
      hsc_module *theirs = pattern(graphs[g], names[p]);
      hsc_module *ours = NULL;
      if (p == 0)
        EXPECT_OK(hsc_transform_repeat(one, 3, NULL, &ours));
      if (p == 1)
        EXPECT_OK(hsc_transform_vmap(one, 3, NULL, &ours));
      if (p == 2)
        EXPECT_OK(hsc_transform_scan(one, 3, NULL, &ours));
      hsc_arena *arena = new_arena();
      hsc_literal *arguments[MAX_ARGUMENTS];
      // theirs has one more in scan: the inputs that its body does not read
      fill(theirs, 5, arena, arguments);
      assert_true(ours->entry->parameter_count == theirs->entry->parameter_count - (p == 2));
      expect_close(evaluate(ours, arguments, arena), evaluate(theirs, arguments, arena),
                   ours->name);
      hsc_arena_destroy(arena);
      hsc_module_destroy(ours);
      hsc_module_destroy(theirs);
    }
    hsc_module_destroy(one);
  }
}

static int count_ops(const hsc_module *module, hsc_op op) {
  int count = 0;
  for (int i = 0; i < module->computation_count; i++)
    for (const hsc_instr *instr = module->computations[i]->first; instr; instr = instr->next)
      count += instr->op == op;
  return count;
}

// As good as JAX's: one dot for each layer, no transposes, no more instructions.
static void vmap_folds_examples_into_dots(void **state) {
  hsc_module *one = pattern("mlp", "dependent");
  hsc_module *theirs = pattern("mlp", "vmap");
  hsc_module *ours = NULL;
  EXPECT_OK(hsc_transform_vmap(one, 3, NULL, &ours));
  assert_int_equal(count_ops(ours, HSC_OP_DOT), 2);
  assert_int_equal(count_ops(ours, HSC_OP_TRANSPOSE), 0);
  assert_int_equal(count_ops(ours, HSC_OP_WHILE), 0);
  assert_true(hsc_module_instr_count(ours) <= hsc_module_instr_count(theirs));
  hsc_module_destroy(ours);
  hsc_module_destroy(theirs);
  hsc_module_destroy(one);
}

// The program's text comes back as the same program.
static void transformed_programs_print_and_parse(void **state) {
  hsc_module *one = pattern("multihead", "scan");
  hsc_module *batched = NULL;
  hsc_module *again = NULL;
  EXPECT_OK(hsc_transform_vmap(one, 2, NULL, &batched));
  hsc_bytes text = {0};
  hsc_module_print(batched, NULL, &text);
  EXPECT_OK(hsc_program_read_as(HSC_FORMAT_HLO_TEXT, hsc_bytes_view(&text), NULL, &again));
  hsc_hash128 a = hsc_module_fingerprint(batched);
  hsc_hash128 b = hsc_module_fingerprint(again);
  assert_true(a.low == b.low && a.high == b.high);
  hsc_bytes_deinit(&text);
  hsc_module_destroy(again);
  hsc_module_destroy(batched);
  hsc_module_destroy(one);
}

// ---- random programs ----------------------------------------------------------------------------

static uint64_t property_count(uint64_t count) {
  const char *wanted = getenv("HSC_PROPERTY_COUNT");
  return wanted ? strtoull(wanted, NULL, 10) : count;
}

static hsc_module *random_program(uint64_t seed) {
  random_module_options options = random_module_options_default();
  options.smooth = true;
  hsc_module *module = NULL;
  EXPECT_OK(random_module_create(seed, &options, &module));
  return module;
}

static void vmap_is_every_example_alone(void **state) {
  enum { EXAMPLES = 3 };
  uint64_t count = property_count(400);
  for (uint64_t seed = 1; seed <= count; seed++) {
    hsc_module *one = random_program(seed);
    hsc_module *batched = NULL;
    hsc_arena *arena = new_arena();
    hsc_random random;
    hsc_random_init(&random, seed);
    int parameters = one->entry->parameter_count;
    hsc_literal *arguments[EXAMPLES][MAX_ARGUMENTS], *together[MAX_ARGUMENTS];
    int64_t chosen[MAX_ARGUMENTS];
    hsc_transform_options options = hsc_transform_options_default();
    options.arguments = chosen;
    for (int e = 0; e < EXAMPLES; e++)
      fill(one, seed * 10 + (uint64_t)e, arena, arguments[e]);
    for (int i = 0; i < parameters; i++) {
      together[i] = arguments[0][i];
      bool own =
          hsc_random_below(&random, 2) || (i == parameters - 1 && options.argument_count == 0);
      if (own) {
        hsc_literal *examples[EXAMPLES] = {arguments[0][i], arguments[1][i], arguments[2][i]};
        together[i] = stack(examples, EXAMPLES, arena);
        chosen[options.argument_count++] = i;
      } else {
        for (int e = 1; e < EXAMPLES; e++)
          arguments[e][i] = arguments[0][i];
      }
    }
    if (options.argument_count > 0) {
      hsc_status *status = hsc_transform_vmap(one, EXAMPLES, &options, &batched);
      if (status)
        fail_msg("seed %llu: %s %s", (unsigned long long)seed, hsc_status_message(status),
                 hsc_status_notes(status));
      hsc_literal *result = evaluate(batched, together, arena);
      for (int e = 0; e < EXAMPLES; e++) {
        hsc_literal *alone = evaluate(one, arguments[e], arena);
        for (int k = 0; k < hsc_shape_leaf_count(&alone->shape); k++) {
          hsc_bytes why = {0};
          hsc_literal mine = row_of(leaf(result, k), e, arena);
          if (!close(&mine, leaf(alone, k), &why))
            fail_msg("seed %llu, example %d, result %d: %s", (unsigned long long)seed, e, k,
                     hsc_bytes_text(&why));
          hsc_bytes_deinit(&why);
        }
      }
    }
    hsc_module_destroy(batched);
    hsc_arena_destroy(arena);
    hsc_module_destroy(one);
  }
}

// Applies the program `count` times, feeding results as the transforms say. history[step * results
// + k] gets result k of each step.
static void apply(const hsc_module *one,
                  int count,
                  const int32_t *feeds,
                  int results,
                  hsc_literal **arguments,
                  hsc_literal **history,
                  hsc_arena *arena) {
  for (int step = 0; step < count; step++) {
    hsc_literal *result = evaluate(one, arguments, arena);
    for (int k = 0; k < results; k++) {
      history[step * results + k] = (hsc_literal *)(uintptr_t)leaf(result, k);
      if (feeds[k] >= 0)
        arguments[feeds[k]] = history[step * results + k];
    }
  }
}

static void repeat_and_scan_apply_over_and_over(void **state) {
  enum { STEPS = 3 };
  uint64_t count = property_count(400);
  uint64_t tried = 0;
  for (uint64_t seed = 1; seed <= count; seed++) {
    hsc_module *one = random_program(seed);
    hsc_module *repeated = NULL;
    hsc_module *looped = NULL;
    hsc_arena *arena = new_arena();
    int32_t *feeds = NULL;
    int32_t results = 0;
    int32_t data = -1;
    hsc_status *status = hsc_transform_feedback(one, NULL, arena, &feeds, &results, &data);
    hsc_status_free(status);
    if (!status && data < 0) {
      tried++;
      hsc_literal *arguments[MAX_ARGUMENTS];
      hsc_literal *first[MAX_ARGUMENTS];
      hsc_literal **history = HSC_NEW_ARRAY(arena, hsc_literal *, STEPS * results);
      fill(one, seed, arena, arguments);
      memcpy(first, arguments, sizeof first);
      apply(one, STEPS, feeds, results, arguments, history, arena);
      EXPECT_OK(hsc_transform_repeat(one, STEPS, NULL, &repeated));
      EXPECT_OK(hsc_transform_scan(one, STEPS, NULL, &looped));
      hsc_literal *end = evaluate(repeated, first, arena);
      hsc_literal *all = evaluate(looped, first, arena);
      int states = 0;
      int at = 0;
      for (int k = 0; k < results; k++) {
        expect_close(leaf(end, k), history[(STEPS - 1) * results + k], "repeat");
        states += feeds[k] >= 0;
      }
      for (int k = 0; k < results; k++) {
        if (feeds[k] < 0)
          continue;
        expect_close(&all->elements[at], history[(STEPS - 1) * results + k], "scan: last state");
        for (int step = 0; step < STEPS; step++) {
          hsc_literal row = row_of(&all->elements[states + at], step, arena);
          expect_close(&row, step ? history[(step - 1) * results + k] : first[feeds[k]],
                       "scan: history");
        }
        at++;
      }
      for (int k = 0, stacked = 2 * states; k < results; k++) {
        if (feeds[k] >= 0)
          continue;
        for (int step = 0; step < STEPS; step++) {
          hsc_literal row = row_of(&all->elements[stacked], step, arena);
          expect_close(&row, history[step * results + k], "scan: stacked result");
        }
        stacked++;
      }
    }
    hsc_module_destroy(repeated);
    hsc_module_destroy(looped);
    hsc_arena_destroy(arena);
    hsc_module_destroy(one);
  }
  assert_true(tried * 20 >= count);  // the random programs do have states
}

// A stack has its rows' dimensions after the count, and what of them is dynamic stays so; the count
// is not.
static void stacks_keep_dynamic_dimensions(void **state) {
  hsc_arena *arena = new_arena();
  hsc_shape row = hsc_shape_array(arena, HSC_TYPE_F32, 3, (int64_t[]){5, 7, 2});
  row.dynamic = (bool[]){true, false, true};
  hsc_shape fixed = hsc_shape_array(arena, HSC_TYPE_S8, 0, NULL);
  hsc_shape both = hsc_shape_tuple(arena, 2, (hsc_shape[]){row, fixed});
  hsc_shape stack = hsc__stacked_shape(arena, &both, 4);
  hsc_bytes text = {0};
  hsc_shape_print(&stack, false, &text);
  hsc_bytes_append_char(&text, '\0');
  assert_string_equal(text.data, "(f32[4,<=5,7,<=2], s8[4])");
  hsc_bytes_deinit(&text);
  hsc_arena_destroy(arena);
}

// ---- single rules -------------------------------------------------------------------------------

static void expect_values(const hsc_literal *literal,
                          int count,
                          const double *values,
                          const char *what) {
  assert_int_equal(hsc_shape_elements(&literal->shape), count);
  for (int i = 0; i < count; i++)
    if (hsc_literal_get_double(literal, i) != values[i])
      fail_msg("%s: element %d is %g, expected %g", what, i, hsc_literal_get_double(literal, i),
               values[i]);
}

static hsc_literal *numbers(
    hsc_arena *arena, hsc_type type, int rank, const int64_t *dims, const double *values) {
  hsc_literal *literal = NULL;
  hsc_shape shape = hsc_shape_array(arena, type, rank, dims);
  EXPECT_OK(hsc_literal_create(arena, &shape, &literal));
  for (int64_t i = 0; i < hsc_shape_elements(&shape); i++)
    hsc_literal_set_double(literal, i, values[i]);
  return literal;
}

// Examples leave the loop at different times and keep what they had.
static void loop_ends_for_each_example_by_itself(void **state) {
  hsc_module *one = parse(
      "HloModule collatz\n"
      "goes_on {\n  s = (s32[], s32[]) parameter(0)\n  n = s32[] get-tuple-element(s), index=0\n  "
      "one = s32[] constant(1)\n  ROOT r = pred[] compare(n, one), direction=GT\n}\n"
      "step {\n  s = (s32[], s32[]) parameter(0)\n  n = s32[] get-tuple-element(s), index=0\n  c = "
      "s32[] get-tuple-element(s), index=1\n  one = s32[] constant(1)\n"
      "  two = s32[] constant(2)\n  three = s32[] constant(3)\n  rest = s32[] remainder(n, two)\n  "
      "odd = pred[] compare(rest, one), direction=EQ\n  half = s32[] divide(n, two)\n"
      "  tripled = s32[] multiply(n, three)\n  up = s32[] add(tripled, one)\n  next = s32[] "
      "select(odd, up, half)\n  count = s32[] add(c, one)\n"
      "  ROOT t = (s32[], s32[]) tuple(next, count)\n}\n"
      "ENTRY main {\n  n = s32[] parameter(0)\n  zero = s32[] constant(0)\n  s = (s32[], s32[]) "
      "tuple(n, zero)\n  w = (s32[], s32[]) while(s), condition=goes_on, body=step\n"
      "  ROOT c = s32[] get-tuple-element(w), index=1\n}\n");
  hsc_module *batched = NULL;
  hsc_arena *arena = new_arena();
  EXPECT_OK(hsc_transform_vmap(one, 5, NULL, &batched));
  assert_int_equal(count_ops(batched, HSC_OP_WHILE), 1);
  hsc_literal *argument =
      numbers(arena, HSC_TYPE_S32, 1, (int64_t[]){5}, (double[]){1, 2, 6, 7, 27});
  expect_values(evaluate(batched, &argument, arena), 5, (double[]){0, 1, 8, 16, 111}, "steps to 1");
  hsc_arena_destroy(arena);
  hsc_module_destroy(batched);
  hsc_module_destroy(one);
}

static void branch_of_each_example(void **state) {
  hsc_module *one = parse(
      "HloModule pick\n"
      "a {\n  x = f32[] parameter(0)\n  ROOT r = f32[] negate(x)\n}\nb {\n  x = f32[] "
      "parameter(0)\n  ROOT r = f32[] constant(7)\n}\nc {\n  x = f32[] parameter(0)\n"
      "  ROOT r = f32[] multiply(x, x)\n}\n"
      "ENTRY main {\n  i = s32[] parameter(0)\n  x = f32[] parameter(1)\n  ROOT r = f32[] "
      "conditional(i, x, x, x), branch_computations={a, b, c}\n}\n");
  hsc_module *batched = NULL;
  hsc_arena *arena = new_arena();
  hsc_transform_options options = hsc_transform_options_default();
  options.arguments = (int64_t[]){0};
  options.argument_count = 1;
  EXPECT_OK(hsc_transform_vmap(one, 5, &options, &batched));
  hsc_literal *arguments[2] = {
      numbers(arena, HSC_TYPE_S32, 1, (int64_t[]){5}, (double[]){0, 1, 2, 9, -1}),
      numbers(arena, HSC_TYPE_F32, 0, NULL, (double[]){3})};
  // out of range is the last
  expect_values(evaluate(batched, arguments, arena), 5, (double[]){-3, 7, 9, 9, 9}, "branches");
  hsc_arena_destroy(arena);
  hsc_module_destroy(batched);
  hsc_module_destroy(one);
}

static const char *const rng_program =
    "HloModule noise\nENTRY main {\n  x = f32[4] parameter(0)\n  a = f32[] constant(0)\n  b = "
    "f32[] constant(1)\n  r = f32[4] rng(a, b), distribution=rng_uniform\n"
    "  ROOT s = f32[4] add(x, r)\n}\n";

static void random_operations_are_refused_or_chosen(void **state) {
  hsc_module *one = parse(rng_program);
  hsc_module *batched = NULL;
  hsc_arena *arena = new_arena();
  hsc_transform_options options = hsc_transform_options_default();
  hsc_status *status = hsc_transform_vmap(one, 3, &options, &batched);
  assert_int_equal(hsc_status_code(status), HSC_FAILED_PRECONDITION);
  assert_non_null(strstr(hsc_status_message(status),
                         "vmap: called random operation rng while in randomness error mode"));
  hsc_status_free(status);
  hsc_literal *zeros = numbers(arena, HSC_TYPE_F32, 2, (int64_t[]){3, 4}, (double[12]){0});
  for (int different = 0; different < 2; different++) {
    options.randomness = different ? HSC_RANDOMNESS_DIFFERENT : HSC_RANDOMNESS_SAME;
    EXPECT_OK(hsc_transform_vmap(one, 3, &options, &batched));
    const float *drawn = evaluate(batched, &zeros, arena)->data;
    assert_int_equal(memcmp(drawn, drawn + 4, 16) != 0, different);
    assert_int_equal(memcmp(drawn, drawn + 8, 16) != 0, different);
    hsc_module_destroy(batched);
  }
  hsc_arena_destroy(arena);
  hsc_module_destroy(one);
}

static void exchange_with_the_host_is_refused(void **state) {
  hsc_module *one = parse(
      "HloModule out\nENTRY main {\n  x = f32[4] parameter(0)\n  t = token[] after-all()\n"
      "  o = token[] outfeed(x, t), outfeed_shape=f32[4]\n  ROOT r = f32[4] negate(x)\n}\n");
  hsc_module *batched = NULL;
  hsc_status *status = hsc_transform_vmap(one, 2, NULL, &batched);
  assert_int_equal(hsc_status_code(status), HSC_FAILED_PRECONDITION);
  assert_non_null(strstr(hsc_status_message(status), "outfeed"));
  assert_null(batched);
  hsc_status_free(status);
  hsc_module_destroy(one);
}

static const char *const step_program =
    "HloModule step\nENTRY main {\n  w = f32[2] parameter(0)\n  m = f32[2] parameter(1)\n  rate = "
    "f32[] parameter(2)\n  r = f32[2] broadcast(rate), dimensions={}\n  d = f32[2] multiply(w, r)\n"
    "  m2 = f32[2] add(m, d)\n  w2 = f32[2] subtract(w, m2)\n  p = f32[2] multiply(w, w)\n  l = "
    "f32[1] slice(p), slice={[0:1]}\n"
    "  ROOT t = (f32[2], f32[2], f32[1]) tuple(w2, m2, l)\n}\n";

// A training step: weights and momenta feed themselves in order, the loss feeds nothing; a rate for
// every step.
static void training_step_feeds_state_in_order(void **state) {
  hsc_module *one = parse(step_program);
  hsc_module *looped = NULL;
  hsc_arena *arena = new_arena();
  hsc_bytes text = {0};
  EXPECT_OK(hsc_transform_describe(one, NULL, &text));
  assert_string_equal(hsc_bytes_text(&text),
                      "result 0 f32[2] feeds parameter 0 %w\nresult 1 f32[2] feeds parameter 1 "
                      "%m\nresult 2 f32[1] feeds nothing\n");
  hsc_transform_options options = hsc_transform_options_default();
  options.per_step = (int64_t[]){2};
  options.per_step_count = 1;
  options.no_history = true;
  EXPECT_OK(hsc_transform_scan(one, 2, &options, &looped));
  hsc_literal *arguments[3] = {
      numbers(arena, HSC_TYPE_F32, 1, (int64_t[]){2}, (double[]){8, 4}),
      numbers(arena, HSC_TYPE_F32, 1, (int64_t[]){2}, (double[]){0, 0}),
      numbers(arena, HSC_TYPE_F32, 1, (int64_t[]){2}, (double[]){0.5, 0.25})};
  // step 1: m = 4 2, w = 4 2; step 2: m = 5 2.5, w = -1 -0.5
  hsc_literal *result = evaluate(looped, arguments, arena);
  assert_int_equal(result->shape.element_count, 3);
  expect_values(&result->elements[0], 2, (double[]){-1, -0.5}, "weights");
  expect_values(&result->elements[1], 2, (double[]){5, 2.5}, "momenta");
  expect_values(&result->elements[2], 2, (double[]){64, 16}, "losses");
  hsc_bytes_deinit(&text);
  hsc_arena_destroy(arena);
  hsc_module_destroy(looped);
  hsc_module_destroy(one);
}

// What the program says itself counts more than shapes.
static void aliases_decide_what_feeds_what(void **state) {
  hsc_module *one = parse(
      "HloModule swap, input_output_alias={ {0}: (1, {}, may-alias), {1}: (0, {}, may-alias) "
      "}\nENTRY main {\n  a = f32[2] parameter(0)\n  b = f32[2] parameter(1)\n"
      "  c = f32[2] add(a, b)\n  ROOT t = (f32[2], f32[2]) tuple(c, a)\n}\n");
  hsc_arena *arena = new_arena();
  int32_t *feeds = NULL;
  int32_t count = 0;
  int32_t data = 0;
  EXPECT_OK(hsc_transform_feedback(one, NULL, arena, &feeds, &count, &data));
  assert_int_equal(count, 2);
  assert_int_equal(data, -1);
  assert_int_equal(feeds[0], 1);
  assert_int_equal(feeds[1], 0);
  hsc_arena_destroy(arena);
  hsc_module_destroy(one);
}

// Parameters and results that are tuples count leaf by leaf.
static void tuples_feed_leaf_by_leaf(void **state) {
  hsc_module *one = parse(
      "HloModule pair\nENTRY main {\n  p = (f32[2], (s32[], f32[3])) parameter(0)\n  x = f32[2] "
      "get-tuple-element(p), index=0\n"
      "  q = (s32[], f32[3]) get-tuple-element(p), index=1\n"
      "  n = s32[] get-tuple-element(q), index=0\n  y = f32[3] get-tuple-element(q), index=1\n  "
      "one = s32[] constant(1)\n  n2 = s32[] add(n, one)\n  x2 = f32[2] add(x, x)\n"
      "  inner = (s32[], f32[3]) tuple(n2, y)\n  ROOT t = (f32[2], (s32[], f32[3])) tuple(x2, "
      "inner)\n}\n");
  hsc_module *changed[3] = {NULL};
  hsc_arena *arena = new_arena();
  hsc_literal *argument = NULL;
  EXPECT_OK(hsc_literal_create(arena, &one->entry->parameters[0]->shape, &argument));
  hsc_literal_set_double(&argument->elements[0], 0, 1.5);
  EXPECT_OK(hsc_transform_repeat(one, 3, NULL, &changed[0]));
  hsc_literal *result = evaluate(changed[0], &argument, arena);
  expect_values(leaf(result, 0), 2, (double[]){12, 0}, "doubled three times");
  expect_values(leaf(result, 1), 1, (double[]){3}, "counted");
  EXPECT_OK(hsc_transform_scan(one, 3, NULL, &changed[1]));
  result = evaluate(changed[1], &argument, arena);
  expect_values(&result->elements[0], 2, (double[]){12, 0}, "scan");
  expect_values(&result->elements[4], 3, (double[]){0, 1, 2}, "history of the count");
  hsc_transform_options options = hsc_transform_options_default();
  options.arguments = (int64_t[]){1};
  options.argument_count = 1;
  EXPECT_OK(hsc_transform_vmap(one, 2, &options, &changed[2]));
  const hsc_shape *root = &changed[2]->entry->root->shape;
  // results are repeated even when they do not depend on the batched argument
  assert_int_equal(hsc_shape_leaf(root, 0)->rank, 2);
  assert_int_equal(hsc_shape_leaf(root, 1)->rank, 1);
  for (int i = 0; i < 3; i++)
    hsc_module_destroy(changed[i]);
  hsc_arena_destroy(arena);
  hsc_module_destroy(one);
}

// An inference: its result is no argument, so the three patterns apply it to three inputs, and
// agree.
static void an_inference_gets_data_of_its_own(void **state) {
  hsc_module *one = parse(
      "HloModule infer\nENTRY main {\n  w = f32[2,3] parameter(0)\n  x = f32[2] parameter(1)\n  y "
      "= f32[3] dot(x, w), lhs_contracting_dims={0}, rhs_contracting_dims={0}\n"
      "  n = f32[] constant(2)\n  ROOT t = (f32[3], f32[]) tuple(y, n)\n}\n");
  hsc_module *made[3];
  hsc_arena *arena = new_arena();
  hsc_literal *arguments[MAX_ARGUMENTS], *results[3];
  EXPECT_OK(hsc_transform_repeat(one, 4, NULL, &made[0]));
  EXPECT_OK(hsc_transform_scan(one, 4, NULL, &made[1]));
  EXPECT_OK(hsc_transform_vmap(one, 4, NULL, &made[2]));
  for (int i = 0; i < 3; i++) {
    const hsc_instr *x = made[i]->entry->parameters[1];
    assert_int_equal(made[i]->entry->parameters[0]->shape.rank, 2);
    assert_true(x->shape.rank == 2 && x->shape.dims[0] == 4 && x->shape.dims[1] == 2);
    fill(made[i], 5, arena, arguments);
    results[i] = evaluate(made[i], arguments, arena);
  }
  const float *stacked = leaf(results[1], 0)->data;
  const float *batched = leaf(results[2], 0)->data;
  assert_int_equal(results[0]->shape.element_count, 8);  // two results of each copy
  for (int copy = 0; copy < 4; copy++) {
    const float *own = leaf(results[0], 2 * copy)->data;
    assert_memory_equal(own, stacked + 3 * copy, 12);
    assert_memory_equal(own, batched + 3 * copy, 12);
    assert_true(copy == 0 || memcmp(own, stacked, 12) != 0);
  }
  hsc_bytes text = {0};
  EXPECT_OK(hsc_transform_describe(one, NULL, &text));
  assert_string_equal(
      hsc_bytes_text(&text),
      "no result feeds a parameter: each application gets a parameter 1 %x of its own\n");
  hsc_bytes_deinit(&text);
  for (int i = 0; i < 3; i++)
    hsc_module_destroy(made[i]);
  hsc_arena_destroy(arena);
  hsc_module_destroy(one);
}

static void what_cannot_be_fed_is_told(void **state) {
  hsc_module *one = parse(
      "HloModule sum\nENTRY main {\n  x = f32[4] parameter(0)\n  ROOT y = f32[2] slice(x), "
      "slice={[0:2]}\n}\n");
  hsc_module *made = NULL;
  hsc_module *none = parse("HloModule none\nENTRY main {\n  ROOT y = f32[2] constant({1, 2})\n}\n");
  hsc_status *status = hsc_transform_repeat(none, 3, NULL, &made);
  assert_int_equal(hsc_status_code(status), HSC_INVALID_ARGUMENT);
  assert_non_null(strstr(hsc_status_message(status), "f32[2]"));
  hsc_status_free(status);
  hsc_module_destroy(none);
  hsc_transform_options options = hsc_transform_options_default();
  options.arguments = (int64_t[]){0};
  options.argument_count = 1;
  EXPECT_CODE(INVALID_ARGUMENT, hsc_transform_scan(one, 3, &options, &made));  // shapes differ
  options.arguments = (int64_t[]){7};
  EXPECT_CODE(INVALID_ARGUMENT, hsc_transform_scan(one, 3, &options, &made));
  EXPECT_CODE(INVALID_ARGUMENT, hsc_transform_vmap(one, 3, &options, &made));
  EXPECT_CODE(INVALID_ARGUMENT, hsc_transform_repeat(one, 0, NULL, &made));
  EXPECT_CODE(INVALID_ARGUMENT, hsc_transform_vmap(one, -1, NULL, &made));
  assert_null(made);
  hsc_module_destroy(one);
}

// Every allocation may fail; nothing leaks or crashes (the sanitizer builds see to that), and the
// status says so.
static void running_out_of_memory_is_reported(void **state) {
  hsc_module *one = parse(step_program);
  for (int kind = 0; kind < 3; kind++) {
    bool done = false;
    for (uint64_t n = 1; !done; n++) {
      hsc_module *made = NULL;
      hsc_alloc_fail_after(n);
      hsc_status *status;
      if (kind == 0)
        status = hsc_transform_repeat(one, 2, NULL, &made);
      else if (kind == 1)
        status = hsc_transform_scan(one, 2, NULL, &made);
      else
        status = hsc_transform_vmap(one, 2, NULL, &made);
      hsc_alloc_fail_after(0);
      done = !status;
      if (status)
        assert_int_equal(hsc_status_code(status), HSC_RESOURCE_EXHAUSTED);
      hsc_status_free(status);
      hsc_module_destroy(made);
    }
  }
  hsc_module_destroy(one);
}

// 40 functions, each of which calls the next one twice: walked along its calls, 2^40 steps.
static void what_many_call_is_looked_at_once(void **state) {
  hsc_bytes text = {0};
  hsc_module *made = NULL;
  hsc_bytes_append_text(
      &text, "HloModule m\nf0 {\n  p = f32[4] parameter(0)\n  ROOT r = f32[4] sine(p)\n}\n");
  for (int i = 0; i < 40; i++)
    hsc_bytes_printf(&text,
                     "f%d {\n  p = f32[4] parameter(0)\n  c = f32[4] call(p), to_apply=f%d\n"
                     "  ROOT r = f32[4] call(c), to_apply=f%d\n}\n",
                     i + 1, i, i);
  hsc_bytes_append_text(&text,
                        "ENTRY e {\n  p = f32[4] parameter(0)\n"
                        "  ROOT r = f32[4] call(p), to_apply=f40\n}\n");
  hsc_module *module = parse(hsc_bytes_text(&text));
  EXPECT_OK(hsc_transform_vmap(module, 3, NULL, &made));
  assert_int_equal(made->entry->root->shape.dims[0], 3);
  hsc_module_destroy(made);
  hsc_module_destroy(module);
  hsc_bytes_deinit(&text);
}

int main(int argc, char **argv) {
  source_root = argc > 1 ? argv[1] : ".";
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(patterns_agree_with_jax),
      cmocka_unit_test(vmap_folds_examples_into_dots),
      cmocka_unit_test(transformed_programs_print_and_parse),
      cmocka_unit_test(vmap_is_every_example_alone),
      cmocka_unit_test(repeat_and_scan_apply_over_and_over),
      cmocka_unit_test(loop_ends_for_each_example_by_itself),
      cmocka_unit_test(branch_of_each_example),
      cmocka_unit_test(random_operations_are_refused_or_chosen),
      cmocka_unit_test(exchange_with_the_host_is_refused),
      cmocka_unit_test(training_step_feeds_state_in_order),
      cmocka_unit_test(aliases_decide_what_feeds_what),
      cmocka_unit_test(tuples_feed_leaf_by_leaf),
      cmocka_unit_test(an_inference_gets_data_of_its_own),
      cmocka_unit_test(stacks_keep_dynamic_dimensions),
      cmocka_unit_test(what_cannot_be_fed_is_told),
      cmocka_unit_test(running_out_of_memory_is_reported),
      cmocka_unit_test(what_many_call_is_looked_at_once),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
