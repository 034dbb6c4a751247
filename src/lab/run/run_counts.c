// run_counts.c - see run_counts.h.
//
// Two counts of one operation are held against each other, and a row of count_causes.def says why
// they differ. A reason is what the counts themselves show: so many of them, inside of fusions, in
// a loop that the text does not decide. What nothing explains is called a fault.
#include "lab/run/run_counts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/memory.h"
#include "base/text/text.h"
#include "lab/run/json_tree.h"

enum {
#define CAUSE(id, text) COUNT_##id,
#include "lab/run/count_causes.def"
#undef CAUSE
};
static const char *const CAUSES[] = {
#define CAUSE(id, text) text,
#include "lab/run/count_causes.def"
#undef CAUSE
};
static const char *const AMOUNTS[] = {"flops", "bytes", "transcendentals"};
static const char *const UNCOUNTED[] = {"uncounted_calls", "uncounted"};

// What sums of the same numbers in another order may differ by.
static const double ROUNDING = 1e-9;

static double amount(json_t *count, const char *key) {
  double value = hsc_json_number(json_object_get(count, key));
  return isnan(value) ? 0 : value;
}

static bool near(double a, double b, double share) {
  return fabs(a - b) <= share * fmax(fabs(a), fabs(b));
}

static bool all_near(json_t *a, json_t *b) {
  for (size_t i = 0; i < HSC_COUNT_OF(AMOUNTS); i++)
    if (!near(amount(a, AMOUNTS[i]), amount(b, AMOUNTS[i]), ROUNDING))
      return false;
  return true;
}

static bool arithmetic_near(json_t *a, json_t *b, double share) {
  return near(amount(a, "flops"), amount(b, "flops"), share) &&
         near(amount(a, "transcendentals"), amount(b, "transcendentals"), share);
}

// ---- by operation -------------------------------------------------------------------------------

static int why_ran(json_t *text, json_t *exact) {
  if (amount(text, "uncounted_calls") + amount(exact, "uncounted_calls") > 0)
    return COUNT_UNCOUNTED;
  if (all_near(text, exact))
    return COUNT_SAME;
  bool guessed = json_is_true(json_object_get(text, "guessed"));
  return guessed ? COUNT_GUESSED : COUNT_NO_REASON;
}

static int why_compiled(json_t *text, json_t *compiled) {
  double before = amount(text, "runs");
  double after = amount(compiled, "runs");
  if (amount(text, "uncounted_calls") + amount(compiled, "uncounted_calls") > 0)
    return COUNT_UNCOUNTED;
  if (all_near(text, compiled))
    return COUNT_SAME;
  if (!(after > 0))
    return COUNT_GONE;
  if (!(before > 0))
    return COUNT_MADE;
  if (arithmetic_near(text, compiled, ROUNDING) &&
      amount(compiled, "bytes") < amount(text, "bytes"))
    return COUNT_REGISTERS;
  if (near(before, after, ROUNDING))
    return COUNT_OTHER_SHAPES;
  return after < before ? COUNT_FEWER : COUNT_MORE;
}

// How far apart the two are, as a sort key: arithmetic weighs as bytes do.
static double distance(json_t *row, const char *other) {
  json_t *text = json_object_get(row, "static");
  json_t *second = json_object_get(row, other);
  double sum = 0;
  for (size_t i = 0; i < HSC_COUNT_OF(AMOUNTS); i++)
    sum += fabs(amount(text, AMOUNTS[i]) - amount(second, AMOUNTS[i]));
  return sum;
}

typedef struct sortable {
  json_t *row;
  double distance;
} sortable;

static int farthest_first(const void *a, const void *b) {
  double x = ((const sortable *)a)->distance;
  double y = ((const sortable *)b)->distance;
  if (x != y)
    return x < y ? 1 : -1;
  return strcmp(json_string_value(json_object_get(((const sortable *)a)->row, "op")),
                json_string_value(json_object_get(((const sortable *)b)->row, "op")));
}

static json_t *sorted(json_t *rows, const char *other) {
  size_t count = json_array_size(rows);
  sortable *list = hsc_alloc((count + 1) * sizeof *list);
  json_t *out = json_array();
  for (size_t i = 0; i < count && list; i++)
    list[i] = (sortable){json_array_get(rows, i), distance(json_array_get(rows, i), other)};
  if (list)
    qsort(list, count, sizeof *list, farthest_first);
  for (size_t i = 0; i < count && list; i++)
    json_array_append(out, list[i].row);
  hsc_free(list);
  json_decref(rows);
  return out;
}

static json_t *one_row(const char *op, json_t *text, json_t *other, const char *key) {
  static const char *const kept[] = {"runs", "flops", "bytes", "transcendentals"};
  json_t *row = json_pack("{s:s}", "op", op);
  json_t *const sides[] = {text, other};
  const char *const keys[] = {"static", key};
  for (int s = 0; s < 2; s++) {
    json_t *side = json_object();
    for (size_t i = 0; i < HSC_COUNT_OF(kept); i++)
      json_object_set_new(side, kept[i], json_real(amount(sides[s], kept[i])));
    json_object_set_new(row, keys[s], side);
  }
  return row;
}

// The rows of both, and how many of them differ.
static json_t *by_op(json_t *text, json_t *other, const char *key, const char *guess, int *io) {
  json_t *rows = json_array();
  json_t *names = json_object();
  const char *op;
  json_t *ignored;
  bool ran = !strcmp(key, "exact");
  json_object_update(names, text);
  json_object_update(names, other);
  json_object_foreach (names, op, ignored) {
    json_t *a = json_object_get(text, op);
    json_t *b = json_object_get(other, op);
    json_t *row = one_row(op, a, b, key);
    int why = ran ? why_ran(a, b) : why_compiled(a, b);
    json_t *said;
    if (why == COUNT_GUESSED)
      said = json_sprintf(CAUSES[why], guess ? guess : "?");
    else
      said = json_string(CAUSES[why]);
    *io += why != COUNT_SAME;
    json_object_set_new(row, "why", why == COUNT_SAME ? json_null() : json_incref(said));
    json_decref(said);
    json_array_append_new(rows, row);
  }
  json_decref(names);
  return sorted(rows, key);
}

// ---- the compiler's own count -------------------------------------------------------------------

static json_t *why_own(json_t *own, json_t *compiled) {
  json_t *once = json_object_get(compiled, "loops_once");
  const double share = 1e-6;  // plugins give their numbers as f32
  bool bytes = near(amount(own, "bytes"), amount(compiled, "bytes"), share);
  if (!compiled)
    return json_null();
  if (arithmetic_near(own, compiled, share))
    return json_string(CAUSES[bytes ? COUNT_OWN_SAME : COUNT_OWN_FUSIONS]);
  bool has_loops = !near(amount(compiled, "flops"), amount(once, "flops"), share);
  if (has_loops && near(amount(own, "flops"), amount(once, "flops"), share))
    return json_string(CAUSES[COUNT_OWN_ONCE]);
  if (bytes && near(amount(own, "flops"), amount(compiled, "flops"), share))
    return json_string(CAUSES[COUNT_OWN_CALLS]);
  double flops = 100 * (amount(own, "flops") / amount(compiled, "flops") - 1);
  double moved = 100 * (amount(own, "bytes") / amount(compiled, "bytes") - 1);
  return json_sprintf(CAUSES[COUNT_OWN_OTHER], flops, moved);
}

// ---- all of it ----------------------------------------------------------------------------------

bool hsc_say_uncounted(json_t *count, hsc_bytes *out) {
  double calls = amount(count, "uncounted_calls");
  const char *targets = json_string_value(json_object_get(count, "uncounted"));
  if (!(calls > 0))
    return false;
  hsc_bytes_printf(out, "%.0f %s%s%s %s not counted", calls,
                   hsc_plural(calls, "custom call", "custom calls"), targets ? " of " : "",
                   targets ? targets : "", hsc_plural(calls, "is", "are"));
  return true;
}

// What is missing in the numbers that stand for the device.
static void keep_uncounted(json_t *out, json_t *ran, json_t *compiled) {
  json_t *calls = json_object_get(ran ? json_object_get(ran, "exact") : compiled, UNCOUNTED[0]);
  json_t *targets = json_object_get(ran ? ran : compiled, UNCOUNTED[1]);
  if (calls)
    json_object_set(out, UNCOUNTED[0], calls);
  if (calls && targets)
    json_object_set(out, UNCOUNTED[1], targets);
}

static void keep(json_t *out, const char *name, json_t *from) {
  json_t *kept = json_object();
  for (size_t i = 0; i < HSC_COUNT_OF(AMOUNTS); i++)
    if (json_object_get(from, AMOUNTS[i]))
      json_object_set(kept, AMOUNTS[i], json_object_get(from, AMOUNTS[i]));
  if (json_object_get(from, UNCOUNTED[0]))
    json_object_set(kept, UNCOUNTED[0], json_object_get(from, UNCOUNTED[0]));
  json_object_set_new(out, name, kept);
}

json_t *hsc_run_counts(json_t *ran, json_t *described) {
  static const char *const guesses[] = {"guessed_loops", "guessed_branches", "first_guess"};
  json_t *from = json_object_get(ran, "exact") ? ran : described;
  json_t *text = json_object_get(from, "text");
  json_t *compiled = json_object_get(from, "compiled");
  json_t *own = json_object_get(from, "own");
  bool exact = from == ran && ran;
  int differences = 0;
  if (!text || (!exact && !compiled))
    return NULL;
  json_t *out = json_object();
  if (exact) {
    json_object_set(out, "exact", json_object_get(ran, "exact"));
    json_object_set(out, "loop_trips", json_object_get(ran, "loop_trips"));
  }
  keep(out, "static", text);
  keep_uncounted(out, exact ? ran : NULL, compiled);
  if (!exact)
    keep(out, "compiled", compiled);
  for (size_t i = 0; i < HSC_COUNT_OF(guesses); i++)
    json_object_set(out, guesses[i], json_object_get(exact ? text : compiled, guesses[i]));
  if (own) {
    keep(out, "own", own);
    json_object_set_new(out, "own_why", why_own(own, compiled));
  }
  const char *guess = json_string_value(json_object_get(text, "first_guess"));
  json_t *other = exact ? json_object_get(ran, "exact_by_op") : json_object_get(compiled, "by_op");
  json_t *rows = by_op(json_object_get(text, "by_op"), other, exact ? "exact" : "compiled", guess,
                       &differences);
  json_object_set_new(out, "by_op", rows);
  json_object_set_new(out, "differences", json_integer(differences));
  return out;
}
