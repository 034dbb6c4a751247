// rules.c - the rows of rules.def: the rules by name, and their examples.
#include "passes/algsimp/rules.h"

#define ALWAYS NULL
#define WITH(option, value) #option

static const hsc_rule rules[] = {
#define RULE(id, ops, option, text, example, function) {"algsimp/" id, option, text},
#define ALSO(text, example)
#define ABSENT(ops, text, example)
#include "passes/algsimp/rules.def"
#undef RULE
#undef ALSO
#undef ABSENT
};

int32_t hsc_rule_count(void) {
  return (int32_t)HSC_COUNT_OF(rules);
}
const hsc_rule *hsc_rule_get(int32_t rule) {
  return &rules[rule];
}

int32_t hsc_rule_find(hsc_view name) {
  for (size_t i = 0; i < HSC_COUNT_OF(rules); i++)
    if (hsc_view_equals_text(name, rules[i].name))
      return (int32_t)i;
  return -1;
}

bool hsc_rule_is_default(const hsc_rule *rule) {
  const hsc_algsimp_options defaults = hsc_algsimp_options_default();
#define OPTION(name, value, doc) \
  if (rule->option && !strcmp(rule->option, #name)) \
    return defaults.name != 0;
#include "passes/manager/algsimp_options.def"
#undef OPTION
  return true;
}

// ---- examples -----------------------------------------------------------------------------------

// A row of rules.def by its kind; `rule` is the number of RULE rows up to it, less one.
typedef enum row_kind { ROW_RULE, ROW_ALSO, ROW_ABSENT } row_kind;

#define OPS(...) \
  (const hsc_op[]) { \
    __VA_ARGS__ \
  }
#define ANY_OP \
  (const hsc_op[]) { \
    HSC_OP_BROADCAST \
  }
#undef ALWAYS
#undef WITH
#define ALWAYS NULL
#define WITH(option, value) #option "=" #value
static const struct {
  row_kind kind;
  const hsc_op *ops;
  const char *options, *text, *body;
} rows[] = {
#define RULE(id, ops, option, text, example, function) {ROW_RULE, ops, option, text, example},
#define ALSO(text, example) {ROW_ALSO, NULL, NULL, text, example},
#define ABSENT(ops, text, example) {ROW_ABSENT, ops, NULL, text, example},
#include "passes/algsimp/rules.def"
#undef RULE
#undef ALSO
#undef ABSENT
};

size_t hsc_rule_example_count(void) {
  return HSC_COUNT_OF(rows);
}

hsc_rule_example hsc_rule_example_get(size_t index) {
  int32_t rule = -1;
  size_t row = 0;
  for (size_t i = 0; i <= index; i++) {
    if (rows[i].kind != ROW_RULE)
      continue;
    rule++;
    row = i;
  }
  bool absent = rows[index].kind == ROW_ABSENT;
  if (absent)
    row = index;
  return (hsc_rule_example){
      .rule = absent ? -1 : rule,
      .op = rows[row].ops[0],
      .options = rows[row].options,
      .text = rows[index].text,
      .body = rows[index].body,
  };
}

void hsc_rule_example_print(const hsc_rule_example *example, hsc_bytes *out) {
  hsc_bytes_printf(out,
                   "HloModule example\n"
                   "plus {\n p = f32[] parameter(0)\n q = f32[] parameter(1)\n"
                   " ROOT s = f32[] add(p, q)\n}\n"
                   "less {\n lp = f32[] parameter(0)\n lq = f32[] parameter(1)\n"
                   " ROOT lr = pred[] compare(lp, lq), direction=LT\n}\n");
  // Most examples call none of the others: a module has those that its text names.
  static const struct {
    const char *name, *text;
  } others[] = {
      {"plus_integers",
       " p = s32[] parameter(0)\n q = s32[] parameter(1)\n ROOT s = s32[] add(p, q)\n"},
      {"larger",
       " p = f32[] parameter(0)\n q = f32[] parameter(1)\n ROOT s = f32[] maximum(p, q)\n"},
      {"twice", " p = f32[4] parameter(0)\n ROOT s = f32[4] add(p, p)\n"},
      {"opposite", " p = f32[4] parameter(0)\n ROOT s = f32[4] negate(p)\n"},
      {"best",
       " p = f32[] parameter(0)\n i = s32[] parameter(1)\n q = f32[] parameter(2)\n"
       " j = s32[] parameter(3)\n g = pred[] compare(p, q), direction=GT\n"
       " n = pred[] compare(p, p), direction=NE\n o = pred[] or(g, n)\n"
       " v = f32[] select(o, p, q)\n w = s32[] select(o, i, j)\n"
       " ROOT t = (f32[], s32[]) tuple(v, w)\n"},
  };
  for (size_t i = 0; i < HSC_COUNT_OF(others); i++)
    if (strstr(example->body, others[i].name))
      hsc_bytes_printf(out, "%s {\n%s}\n", others[i].name, others[i].text);
  hsc_bytes_printf(out, "ENTRY example {\n %s\n}\n", example->body);
}
