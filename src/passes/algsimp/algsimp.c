// algsimp.c - the algebraic simplifier: tries the rules of rules.def, in their order, on every
// instruction until one gives a replacement.
//
// One walk in program order; a replacement is looked at again in the next round of the
// simplification pipeline. A rule keeps shape and type and the value up to what its comment says.
//
//   before   z = f32[4] broadcast(zero);  ROOT a = f32[4] add(x, z)
//   after    ROOT is x
//
// XLA: xla/hlo/transforms/simplifiers/algebraic_simplifier.h
#include "passes/algsimp/algsimp.h"

enum { MOST_RUNS = 50 };  // as in XLA

enum { ALWAYS_ON = -1 };
typedef struct rule_row {
  const hsc_op *ops;  // [op_count]; HSC_OP_COUNT = any
  size_t op_count;
  ptrdiff_t option;  // the offset of the option that must not be 0; ALWAYS_ON
  hsc__rule apply;
} rule_row;

#define OPS(...) (const hsc_op[]){__VA_ARGS__}, HSC_COUNT_OF(((const hsc_op[]){__VA_ARGS__}))
#define ANY_OP OPS(HSC_OP_COUNT)
#define ALWAYS ALWAYS_ON
#define WITH(option, value) offsetof(hsc_algsimp_options, option)
static const rule_row rules[] = {
#define RULE(id, ops, option, text, example, function) {ops, option, hsc__algsimp_##function},
#define ALSO(text, example)
#define ABSENT(ops, text, example)
#include "passes/algsimp/rules.def"
#undef RULE
#undef ALSO
#undef ABSENT
};

// The rules that the options allow, by operation: those of `op` are rules[first[op]] up to
// rules[first[op + 1]], in the order of the table.
typedef struct rule_index {
  int32_t first[HSC_OP_COUNT + 1];
  uint16_t *rules;
} rule_index;

static bool is_on(const rule_row *row, const hsc_algsimp_options *options) {
  if (row->option == ALWAYS_ON)
    return true;
  return *(const int32_t *)((const char *)options + row->option) != 0;
}

// The range of operations that the row's i-th stands for.
static void ops_of(const rule_row *row, size_t i, int *out_first, int *out_end) {
  bool any = row->ops[i] == HSC_OP_COUNT;
  *out_first = any ? 0 : (int)row->ops[i];
  *out_end = any ? (int)HSC_OP_COUNT : (int)row->ops[i] + 1;
}

static bool works(const hsc_pass_context *cx, size_t rule) {
  return is_on(&rules[rule], &cx->algsimp) && cx->rule_fuel[rule] != 0;
}

static hsc_status *index_rules(const hsc_pass_context *cx, rule_index *out_index) {
  int32_t filled[HSC_OP_COUNT] = {0};
  int first, end;
  memset(out_index->first, 0, sizeof out_index->first);
  for (size_t rule = 0; rule < HSC_COUNT_OF(rules); rule++)
    for (size_t i = 0; works(cx, rule) && i < rules[rule].op_count; i++) {
      ops_of(&rules[rule], i, &first, &end);
      for (int op = first; op < end; op++)
        out_index->first[op + 1]++;
    }
  for (int op = 0; op < HSC_OP_COUNT; op++)
    out_index->first[op + 1] += out_index->first[op];
  out_index->rules =
      HSC_NEW_ARRAY(cx->scratch, uint16_t, (size_t)out_index->first[HSC_OP_COUNT] + 1);
  if (!out_index->rules)
    return hsc_arena_status(cx->scratch);
  for (size_t rule = 0; rule < HSC_COUNT_OF(rules); rule++)
    for (size_t i = 0; works(cx, rule) && i < rules[rule].op_count; i++) {
      ops_of(&rules[rule], i, &first, &end);
      for (int op = first; op < end; op++)
        out_index->rules[out_index->first[op] + filled[op]++] = (uint16_t)rule;
    }
  return NULL;
}

// What the first rule that applies makes of the instruction; NULL when none does.
static hsc_instr *rewrite(const hsc_pass_context *cx,
                          const rule_index *index,
                          hsc_builder *b,
                          hsc_instr *instr,
                          int32_t *out_rule) {
  const hsc_algsimp_options *options = &cx->algsimp;
  int32_t at = index->first[instr->op];
  int32_t end = index->first[instr->op + 1];
  if (at == end)
    return NULL;
  bool allowed = hsc__algsimp_allowed(options, instr);
  for (; at < end; at++) {
    const rule_row *row = &rules[index->rules[at]];
    if (cx->rule_fuel[index->rules[at]] == 0 || (row->option == ALWAYS_ON && !allowed))
      continue;
    hsc_instr *replacement = row->apply(options, b, instr);
    *out_rule = index->rules[at];
    if (replacement)
      return replacement;
  }
  return NULL;
}

static hsc_status *walk(hsc_module *module, hsc_pass_context *cx, const rule_index *index) {
  HSC_FOR_EACH_COMPUTATION (module, computation) {
    HSC_FOR_EACH_INSTR_IN (computation, instr) {
      if (instr->user_count == 0 && computation->root != instr)
        continue;  // dce's
      if (instr->control_count)
        continue;
      if (cx->fuel == 0 || cx->pass_fuel == 0)
        continue;
      int32_t rule = 0;
      hsc_builder b;
      hsc_builder_at(&b, computation, instr);
      b.metadata = instr->metadata;
      hsc_instr *replacement = rewrite(cx, index, &b, instr, &rule);
      HSC_TRY(hsc_builder_finish(&b, NULL, NULL));
      if (!replacement || replacement == instr ||
          !hsc_shape_equal(&replacement->shape, &instr->shape))
        continue;
      if (!hsc__rule_spend(cx, rule, instr))
        return NULL;
      HSC_TRY(hsc__replace(instr, replacement));
    }
  }
  return NULL;
}

hsc_status *hsc__pass_algsimp(hsc_module *module, hsc_pass_context *cx) {
  rule_index index;
  HSC_TRY(index_rules(cx, &index));
  for (int run = 0; run < (cx->algsimp.run_to_fixed_point ? MOST_RUNS : 1); run++) {
    int64_t before = cx->rewrites;
    HSC_TRY(walk(module, cx, &index));
    if (cx->rewrites == before)
      break;
  }
  return NULL;
}
