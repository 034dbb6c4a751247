// release_changes.c - good or bad, where a change is, and which release to try next: pure, of what
// was measured.
//
// A value has levels. The limit between good and bad comes from the two ends; but a program may get
// slower twice, and then both ends of the second step are bad: a step from one level to another is
// a change too, whatever side of the limit it is on.
#include <math.h>

#include "lab/run/json_tree.h"
#include "lab/versions/release_search_internal.h"

// Exponents that differ by less are one: log factors and caches bend a line by about that much.
static const double EXPONENT_STEP = 0.3;

hsc__try hsc__try_of(const char *version) {
  return (hsc__try){.version = version,
                    .value = NAN,
                    .low = NAN,
                    .high = NAN,
                    .exponent = {.estimate = NAN, .low = NAN, .high = NAN}};
}

bool hsc__is_measured(const hsc__versions *v) {
  hsc_symptom_kind kind = v->options->symptom.kind;
  return kind == HSC_SYMPTOM_SLOW || kind == HSC_SYMPTOM_COMPILE || kind == HSC_SYMPTOM_MEMORY;
}

// ---- good or bad --------------------------------------------------------------------------------

void hsc__set_limits(hsc__versions *v, const hsc__try *a, const hsc__try *b) {
  double better = fmin(a->value, b->value);
  double worse = fmax(a->value, b->value);
  double factor = v->options->symptom.factor;
  v->limit = worse >= factor * better ? sqrt(better * worse) : factor * better;
  double flat = fmin(a->exponent.estimate, b->exponent.estimate);
  double steep = fmax(a->exponent.estimate, b->exponent.estimate);
  v->exponent_limit = steep - flat >= EXPONENT_STEP ? (flat + steep) / 2 : flat + EXPONENT_STEP;
}

// Below the limit it is good, above bad. Unknown while its interval spans it.
static hsc__word side_of(double estimate, double low, double high, double limit, bool whatever) {
  if (isnan(limit) || isnan(estimate))
    return HSC__UNKNOWN;
  if (whatever)
    return estimate > limit ? HSC__BAD : HSC__GOOD;
  if (high < limit)
    return HSC__GOOD;
  return low > limit ? HSC__BAD : HSC__UNKNOWN;
}

hsc__word hsc__word_of(const hsc__versions *v, const hsc__try *t, bool whatever) {
  const hsc_interval *e = &t->exponent;
  hsc__word value = side_of(t->value, t->low, t->high, v->limit, whatever);
  if (isnan(v->exponent_limit))
    return value;
  hsc__word growth = side_of(e->estimate, e->low, e->high, v->exponent_limit, whatever);
  if (value == HSC__BAD || growth == HSC__BAD)
    return HSC__BAD;
  return value == HSC__GOOD && growth == HSC__GOOD ? HSC__GOOD : HSC__UNKNOWN;
}

// ---- changes ------------------------------------------------------------------------------------

static bool apart(double low_a, double high_a, double low_b, double high_b) {
  return high_a < low_b || high_b < low_a;
}

// The value changed by the factor, and both intervals say so.
static bool value_steps(const hsc__versions *v, const hsc__try *a, const hsc__try *b) {
  double ratio = fmax(a->value, b->value) / fmin(a->value, b->value);
  return ratio >= v->options->symptom.factor && apart(a->low, a->high, b->low, b->high);
}

static bool exponent_steps(const hsc__try *a, const hsc__try *b) {
  return fabs(a->exponent.estimate - b->exponent.estimate) >= EXPONENT_STEP &&
         apart(a->exponent.low, a->exponent.high, b->exponent.low, b->exponent.high);
}

// Good and bad, and what says so is surely not the same: two sides of a limit that both intervals
// span are none.
static bool verdicts_differ(const hsc__versions *v, const hsc__try *a, const hsc__try *b) {
  if (a->word == b->word)
    return false;
  if (!hsc__is_measured(v))
    return true;
  return a->word != HSC__UNKNOWN && b->word != HSC__UNKNOWN &&
         (apart(a->low, a->high, b->low, b->high) ||
          apart(a->exponent.low, a->exponent.high, b->exponent.low, b->exponent.high));
}

// Whether there is a change from `a` to `b`: good and bad, or both are of one kind and their values
// surely lie a factor (exponents a step) apart. `out_by` says in which: "verdict", "time",
// "exponent", "time and exponent"; may be NULL.
static bool differ(const hsc__versions *v,
                   const hsc__try *a,
                   const hsc__try *b,
                   const char **out_by) {
  const char *by = verdicts_differ(v, a, b) ? "verdict" : NULL;
  if (hsc__is_measured(v)) {
    bool value = value_steps(v, a, b);
    bool growth = exponent_steps(a, b);
    const char *name = v->options->symptom.kind == HSC_SYMPTOM_MEMORY ? "memory" : "time";
    if (value && growth)
      by = v->options->symptom.kind == HSC_SYMPTOM_MEMORY ? "memory and exponent"
                                                          : "time and exponent";
    else if (value || growth)
      by = value ? name : "exponent";
  }
  if (out_by)
    *out_by = by;
  return by != NULL;
}

static bool can_be_compared(const hsc__try *t) {
  return t->tried && !t->reason;
}

static bool has_change(const hsc__versions *v) {
  const hsc__try *last = NULL;
  for (size_t i = 0; i < v->count; i++) {
    if (!can_be_compared(&v->tries[i]))
      continue;
    if (last && differ(v, last, &v->tries[i], NULL))
      return true;
    last = &v->tries[i];
  }
  return false;
}

static size_t untried_between(const hsc__versions *v, size_t left, size_t right) {
  size_t count = 0;
  for (size_t k = left + 1; k < right; k++)
    count += !v->tries[k].tried;
  return count;
}

// The middle one of those after `left` that are not tried.
static size_t middle_after(const hsc__versions *v, size_t left, size_t untried) {
  size_t skip = (untried - 1) / 2;
  size_t i = left + 1;
  for (; v->tries[i].tried || skip > 0; i++)
    skip -= !v->tries[i].tried;
  return i;
}

size_t hsc__next_release(const hsc__versions *v) {
  bool every = v->options->all || !has_change(v);
  size_t best = v->count;
  size_t best_gap = 0;
  bool best_differs = false;
  size_t left = v->count;
  for (size_t i = 0; i < v->count; i++) {
    if (!can_be_compared(&v->tries[i]))
      continue;
    size_t untried = left < v->count ? untried_between(v, left, i) : 0;
    if (untried) {
      bool differs = differ(v, &v->tries[left], &v->tries[i], NULL);
      bool better = (differs && !best_differs) || (differs == best_differs && untried > best_gap);
      if (better && (differs || every || untried >= HSC__MOST_GAP)) {
        best_gap = untried;
        best_differs = differs;
        best = middle_after(v, left, untried);
      }
    }
    left = i;
  }
  return best;
}

// Whether `b` is the worse of the two: by its verdict, else by its value, else by its exponent.
static bool is_worse(const hsc__versions *v, const hsc__try *a, const hsc__try *b) {
  if (a->word != b->word)
    return b->word == HSC__BAD;
  return value_steps(v, a, b) ? b->value > a->value : b->exponent.estimate > a->exponent.estimate;
}

static json_t *change_between(
    const hsc__versions *v, const hsc__try *a, const hsc__try *b, const char *by, bool worse) {
  json_t *change = json_pack("{s:s, s:s, s:s}", worse ? "last_good" : "last_bad", a->version,
                             worse ? "first_bad" : "mended_in", b->version, "by", by);
  if (!change || !hsc__is_measured(v))
    return change;
  json_object_set_new(change, "step", json_boolean(a->word == b->word));
  json_object_set_new(change, "factor", hsc_json_real(b->value / a->value));
  if (v->size_count)
    json_object_set_new(change, "exponents",
                        json_pack("[o, o]", hsc_json_real(a->exponent.estimate),
                                  hsc_json_real(b->exponent.estimate)));
  return change;
}

json_t *hsc__changes_of(const hsc__versions *v,
                        const hsc__try **out_good,
                        const hsc__try **out_bad) {
  json_t *changes = json_array();
  const hsc__try *last = NULL;
  *out_good = *out_bad = NULL;
  for (size_t i = 0; i < v->count; i++) {
    const hsc__try *t = &v->tries[i];
    const char *by = NULL;
    if (!can_be_compared(t))
      continue;
    if (last && differ(v, last, t, &by)) {
      bool worse = is_worse(v, last, t);
      json_array_append_new(changes, change_between(v, last, t, by, worse));
      if (!*out_bad) {
        *out_good = worse ? last : t;
        *out_bad = worse ? t : last;
      }
    }
    last = t;
  }
  return changes;
}

bool hsc__unconfirmed(const hsc__versions *v, size_t *out_left, size_t *out_right) {
  size_t last = v->count;
  for (size_t i = 0; i < v->count && hsc__is_measured(v); i++) {
    if (!can_be_compared(&v->tries[i]))
      continue;
    bool changed = last < v->count && differ(v, &v->tries[last], &v->tries[i], NULL);
    if (changed && (!v->tries[last].confirmed || !v->tries[i].confirmed)) {
      *out_left = last;
      *out_right = i;
      return true;
    }
    last = i;
  }
  return false;
}
