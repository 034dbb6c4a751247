// near_miss.c - see near_miss.h. The text is cut into tokens; each kind of change (change_*) makes
// its near misses from them.
#include "near_miss.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/bytes.h"
#include "formats/common/formats.h"

enum { MAX_TOKENS = 4000, MAX_CHANGE = 120 };

typedef struct {
  size_t at, length;
  bool is_number;
  int line;
} token;

typedef struct {
  const char *text;
  token tokens[MAX_TOKENS];
  int count;
  near_miss_visit visit;
  void *context;
} near_miss_text;

static bool is_name_char(char c) {
  return isalnum((unsigned char)c) || c == '_' || c == '.' || c == '-';
}

// Numbers as in "0_1x2_0" and "[0:4]" are tokens of their own, those in names and types are not.
static size_t number_length(const char *text, size_t at) {
  size_t length = 0;
  if (!isdigit((unsigned char)text[at]))
    return 0;
  while (isdigit((unsigned char)text[at + length]) ||
         (text[at + length] == '.' && isdigit((unsigned char)text[at + length + 1])))
    length++;
  return length;
}

static void cut(near_miss_text *t, size_t from) {
  int line = 0;
  for (size_t at = from; t->text[at] && t->count < MAX_TOKENS;) {
    size_t length = number_length(t->text, at);
    bool is_number = length > 0;
    bool is_name = !is_number && (isalpha((unsigned char)t->text[at]) || t->text[at] == '%');
    bool after_number = at > from && isdigit((unsigned char)t->text[at - 1]);
    bool is_separator = t->text[at] == 'x' || t->text[at] == '_';
    if (is_name && is_separator && after_number && isdigit((unsigned char)t->text[at + 1]))
      is_name = false;  // the x of 3x3
    while (is_name && (length == 0 || is_name_char(t->text[at + length])))
      length++;
    if (is_number || is_name)
      t->tokens[t->count++] = (token){at, length, is_number, line};
    line += t->text[at] == '\n';
    at += length ? length : 1;
  }
}

static bool is_token(const near_miss_text *t, int i, const char *word) {
  return t->tokens[i].length == strlen(word) &&
         strncmp(t->text + t->tokens[i].at, word, t->tokens[i].length) == 0;
}

static bool same_token(const near_miss_text *t, int i, int j) {
  return t->tokens[i].length == t->tokens[j].length &&
         strncmp(t->text + t->tokens[i].at, t->text + t->tokens[j].at, t->tokens[i].length) == 0;
}

static char char_before(const near_miss_text *t, int i) {
  return t->tokens[i].at ? t->text[t->tokens[i].at - 1] : ' ';
}

static char char_after(const near_miss_text *t, int i) {
  return t->text[t->tokens[i].at + t->tokens[i].length];
}

// The text with tokens i and j (j < 0: only i) written otherwise.
static void emit(
    near_miss_text *t, int i, const char *by, int j, const char *other, const char *kind) {
  hsc_bytes out = {0};
  char change[MAX_CHANGE];
  size_t at = 0;
  for (int k = 0; k < 2; k++) {
    int which = k ? j : i;
    if (which < 0)
      continue;
    hsc_bytes_append(&out, t->text + at, t->tokens[which].at - at);
    hsc_bytes_append_text(&out, k ? other : by);
    at = t->tokens[which].at + t->tokens[which].length;
  }
  hsc_bytes_append_text(&out, t->text + at);
  snprintf(change, sizeof change, "line %d, %s: %.*s becomes %s", t->tokens[i].line, kind,
           (int)t->tokens[i].length, t->text + t->tokens[i].at, by);
  t->visit(t->context, hsc_bytes_text(&out), change);
  hsc_bytes_deinit(&out);
}

// The number beside it; the last one's is itself.
static long long stepped(long long value, int step) {
  long long next;
  return __builtin_add_overflow(value, step, &next) ? value : next;
}

static void change_numbers(near_miss_text *t) {
  for (int i = 0; i < t->count; i++) {
    if (!t->tokens[i].is_number)
      continue;
    long long value = strtoll(t->text + t->tokens[i].at, NULL, 10);
    for (int step = -1; step <= 1; step += 2) {
      char by[32];
      snprintf(by, sizeof by, "%lld", stepped(value, step));
      emit(t, i, by, -1, NULL, "number");
    }
    if (i + 1 == t->count || !t->tokens[i + 1].is_number ||
        t->tokens[i + 1].at > t->tokens[i].at + t->tokens[i].length + 2)
      continue;
    long long next = strtoll(t->text + t->tokens[i + 1].at, NULL, 10);
    char first[32], second[32];
    if (next != value) {
      snprintf(first, sizeof first, "%lld", next);
      snprintf(second, sizeof second, "%lld", value);
      emit(t, i, first, i + 1, second, "swapped with the next");
    }
    for (int step = -1; step <= 1; step += 2) {
      snprintf(first, sizeof first, "%lld", stepped(value, step));
      snprintf(second, sizeof second, "%lld", stepped(next, step));
      emit(t, i, first, i + 1, second, "together with the next");
    }
  }
}

static void change_constants(near_miss_text *t) {
  static const char *const values[] = {"0", "-0", "1", "-1", "2", "nan", "inf", "-inf"};
  for (int i = 0; i + 1 < t->count; i++) {
    if (!is_token(t, i, "constant") || !t->tokens[i + 1].is_number ||
        t->tokens[i + 1].line != t->tokens[i].line || char_before(t, i + 1) == '-')
      continue;
    for (size_t v = 0; v < HSC_COUNT_OF(values); v++)
      emit(t, i + 1, values[v], -1, NULL, "constant");
  }
}

// Every token that is one of the group becomes each other one.
static void change_within(
    near_miss_text *t, const char *const *group, size_t count, const char *kind, char after) {
  for (int i = 0; i < t->count; i++) {
    for (size_t g = 0; g < count; g++) {
      if (!is_token(t, i, group[g]) || (after && char_after(t, i) != after))
        continue;
      for (size_t other = 0; other < count; other++)
        if (other != g)
          emit(t, i, group[other], -1, NULL, kind);
    }
  }
}

static void change_operations(near_miss_text *t) {
  static const char *const binary[] = {"add",     "subtract", "multiply", "divide",
                                       "maximum", "minimum",  "power",    "remainder",
                                       "and",     "or",       "xor",      "atan2"};
  static const char *const unary[] = {"negate", "abs", "exponential", "log",  "sqrt", "rsqrt",
                                      "sign",   "not", "logistic",    "real", "imag"};
  static const char *const shifts[] = {"shift-left", "shift-right-logical",
                                       "shift-right-arithmetic"};
  static const char *const directions[] = {"EQ", "NE", "LT", "LE", "GT", "GE"};
  static const char *const truths[] = {"true", "false"};
  change_within(t, binary, HSC_COUNT_OF(binary), "operation", '(');
  change_within(t, unary, HSC_COUNT_OF(unary), "operation", '(');
  change_within(t, shifts, HSC_COUNT_OF(shifts), "operation", '(');
  change_within(t, directions, HSC_COUNT_OF(directions), "direction", 0);
  change_within(t, truths, HSC_COUNT_OF(truths), "truth", 0);
}

// A name that is defined on an earlier line of the same computation.
static bool is_defined_at(const near_miss_text *t, int i) {
  const char *rest = t->text + t->tokens[i].at + t->tokens[i].length;
  return strncmp(rest, " = ", 3) == 0;
}

static void change_operands(near_miss_text *t) {
  for (int i = 0; i < t->count; i++) {
    char before = char_before(t, i);
    if (t->tokens[i].is_number || is_defined_at(t, i) || (before != '(' && before != ' '))
      continue;
    int definition = -1;
    for (int j = 0; j < i; j++)
      if (is_defined_at(t, j) && same_token(t, i, j))
        definition = j;
    if (definition < 0)
      continue;
    for (int j = 0; j < i; j++) {
      if (!is_defined_at(t, j) || same_token(t, i, j) || t->tokens[j].line == t->tokens[i].line)
        continue;
      char name[64];
      snprintf(name, sizeof name, "%.*s", (int)t->tokens[j].length, t->text + t->tokens[j].at);
      emit(t, i, name, -1, NULL, "operand");
    }
  }
}

// Every token like token i becomes `by`.
static void emit_all(near_miss_text *t, int i, const char *by, const char *kind) {
  hsc_bytes out = {0};
  char change[MAX_CHANGE];
  size_t at = 0;
  for (int j = 0; j < t->count; j++) {
    if (!same_token(t, i, j))
      continue;
    hsc_bytes_append(&out, t->text + at, t->tokens[j].at - at);
    hsc_bytes_append_text(&out, by);
    at = t->tokens[j].at + t->tokens[j].length;
  }
  hsc_bytes_append_text(&out, t->text + at);
  snprintf(change, sizeof change, "%s: %.*s becomes %s", kind, (int)t->tokens[i].length,
           t->text + t->tokens[i].at, by);
  t->visit(t->context, hsc_bytes_text(&out), change);
  hsc_bytes_deinit(&out);
}

static bool is_first(const near_miss_text *t, int i) {
  for (int j = 0; j < i; j++)
    if (same_token(t, i, j))
      return false;
  return true;
}

static void change_everywhere(near_miss_text *t) {
  static const char *const types[] = {"f32", "s32", "u32", "f16", "s8", "pred", "c64", "bf16"};
  for (int i = 0; i < t->count; i++) {
    if (!is_first(t, i))
      continue;
    if (t->tokens[i].is_number) {
      char by[32];
      long long value = strtoll(t->text + t->tokens[i].at, NULL, 10);
      snprintf(by, sizeof by, "%lld", stepped(value, 1));
      emit_all(t, i, by, "everywhere");
      snprintf(by, sizeof by, "%lld", stepped(value, -1));
      emit_all(t, i, by, "everywhere");
    }
    for (size_t k = 0; k < HSC_COUNT_OF(types); k++) {
      if (!is_token(t, i, types[k]) || char_after(t, i) != '[')
        continue;
      for (size_t other = 0; other < HSC_COUNT_OF(types); other++)
        if (other != k)
          emit_all(t, i, types[other], "type");
    }
  }
}

void near_misses(const char *text, size_t from, near_miss_visit visit, void *context) {
  near_miss_text *t = calloc(1, sizeof *t);
  t->text = text;
  t->visit = visit;
  t->context = context;
  cut(t, from);
  change_numbers(t);
  change_constants(t);
  change_operations(t);
  change_operands(t);
  change_everywhere(t);
  free(t);
}

// What inference gives wins over what the text says, but for rows whose shape the text must say:
// those keep their dimensions where they have to.
static bool infer_again(hsc_module *module) {
  HSC_FOR_EACH_COMPUTATION (module, computation) {
    HSC_FOR_EACH_INSTR_IN (computation, instr) {
      hsc_shape shape;
      if (instr->op == HSC_OP_PARAMETER)
        continue;
      hsc_status *status = hsc_infer_shape(module->arena, instr, &shape);
      if (status) {
        hsc_status_free(status);
        return false;
      }
      if (!hsc_shape_equal(&shape, &instr->shape))
        instr->shape = shape;
    }
  }
  return true;
}

void near_miss_parse(const char *text, hsc_module **out_module) {
  *out_module = NULL;
  hsc_module *module = NULL;
  hsc_status *status = hsc_hlo_text_parse(hsc_view_of(text), "near miss", &module);
  if (!status && !infer_again(module)) {
    hsc_module_destroy(module);
    return;
  }
  if (!status)
    status = hsc_module_verify(module);
  if (status) {
    hsc_status_free(status);
    if (module)
      hsc_module_destroy(module);
    return;
  }
  *out_module = module;
}

bool near_miss_add_user(hsc_module *module, int which, const char **out_name) {
  hsc_instr *root = module->entry->root;
  HSC_FOR_EACH_INSTR_IN (module->entry, instr) {
    if (which-- > 0)
      continue;
    hsc_builder b;
    hsc_builder_at(&b, module->entry, NULL);
    *out_name = instr->name;
    hsc_instr *tuple = hsc_build_tuple(&b, 2, (hsc_instr *[]){root, instr});
    hsc_status *status = hsc_builder_finish(&b, tuple, NULL);
    hsc_status_free(status);
    return !status;
  }
  return false;
}
