// blame_cost.c - a program that costs too much (slow, compile, memory): which pass makes it so.
//
// Each pass that changed the program is switched off in turn, and the device is measured alone. The
// guilty one has the largest effect: the cost without it is the least, whether or not that repairs
// all of it. Those with an effect are measured against each other and against the whole compiler,
// in turns and each time in a new process, until an interval decides or the rounds are over; those
// that the rounds cannot tell from the best are named beside it.
#include <math.h>
#include <stdlib.h>

#include "lab/blame/blame_internal.h"
#include "lab/run/json_tree.h"
#include "stats/stats.h"

enum {
  LEAST_ROUNDS = HSC_LEAST_FOR_INTERVAL,
  MOST_ROUNDS = 24,
  MOST_SUSPECTS = 6,  // that are measured more than once
};
static const double MARGIN = 0.02;    // that one may cost more than another and still be the same
static const double NOTICED = 0.02;   // of the compile: a pass that takes less explains nothing
static const double SCREENED = 0.95;  // of the whole cost: above it one look is enough
// The least share of what is too much that a pass's absence must repair to be named for it.
static const double LEAST_SHARE = 0.25;

// The compile without one pass; without any for the first, `pass` NULL.
typedef struct suspect {
  const char *pass;
  double samples[MOST_ROUNDS];  // what it costs: seconds or bytes
  int count;
  bool out;  // surely not the best, or it cannot be measured
} suspect;

typedef struct ranking {
  suspect *suspects;
  size_t count;
  double expected;  // the cost on the other device
} ranking;

static double median_of(const suspect *s) {
  return hsc_stats_median(s->samples, (size_t)s->count);
}

static hsc_status *measure(hsc__blame *b, suspect *s) {
  json_t *overrides = b->options->overrides;
  double cost = NAN;
  if (!s->pass)
    json_incref(overrides);
  else
    HSC_TRY(hsc__blame_overrides_with(b, "xla_disable_hlo_passes", s->pass, true, &overrides));
  hsc_status *status = hsc__blame_measure(b, overrides, false, &cost);
  if (!status && isnan(cost))
    s->out = true;
  else if (!status)
    s->samples[s->count++] = cost;
  json_decref(overrides);
  return status;
}

static int by_cost(const void *left, const void *right) {
  double x = ((const suspect *)left)->samples[0];
  double y = ((const suspect *)right)->samples[0];
  return (x > y) - (x < y);
}

// A pass that changes nothing costs no run and no memory, but it may take most of the compile.
// Where the compiler does not tell how long, it is asked.
static bool may_cost(const hsc__blame *b, const char *name) {
  int64_t took_ns = 0;
  if (hsc__blame_may_matter(b, name))
    return true;
  if (b->symptom.kind != HSC_SYMPTOM_COMPILE)
    return false;
  for (size_t i = 0; i < b->list.row_count; i++) {
    const hsc_pass_row *row = &b->list.rows[i];
    if (row->counts || strcmp(row->pass, name) != 0)
      continue;
    if (row->duration_ns < 0)
      return true;
    took_ns += row->duration_ns;
  }
  return (double)took_ns > NOTICED * (double)b->list.compile_ns;
}

// One look at the compile without each pass: who is worth more looks, the least first.
static hsc_status *screen(hsc__blame *b, ranking *r) {
  const char **names = NULL;
  size_t count = 0;
  size_t asked = 0;
  HSC_TRY(hsc_pass_list_names(&b->list, false, &names, &count));
  r->suspects = HSC_NEW_ARRAY(b->arena, suspect, count + 1);
  HSC_TRY(hsc_arena_status(b->arena));
  HSC_TRY(measure(b, &r->suspects[0]));
  if (!r->suspects[0].count)
    return NULL;
  double limit = SCREENED * r->suspects[0].samples[0];
  r->count = 1;
  for (size_t i = 0; i < count; i++) {
    suspect *s = &r->suspects[r->count];
    const char *check = hsc_arena_printf(b->arena, "without %s", names[i]);
    if (!may_cost(b, names[i]))
      continue;
    HSC_TRY(hsc_arena_status(b->arena));
    if (hsc__blame_is_late(b)) {
      hsc__blame_gap(b, check, "the time budget was over");
      continue;
    }
    if (b->options->progress)
      b->options->progress(b->options->user, (int64_t)i, (int64_t)count, check);
    *s = (suspect){.pass = names[i]};
    HSC_TRY(measure(b, s));
    asked++;
    bool effect = s->count && s->samples[0] < limit;
    if (s->count)
      hsc_agreement_compared(b->agreement, check,
                             effect ? HSC_FINDING_DIFFERENT : HSC_FINDING_EQUAL);
    else
      hsc__blame_gap(b, check, "the device cannot do the program without it");
    r->count += effect;
  }
  qsort(r->suspects + 1, r->count - 1, sizeof *r->suspects, by_cost);
  hsc__blame_tell(b, "without which pass does it cost less?", "%zu of %zu that were switched off",
                  r->count - 1, asked);
  if (r->count > 1 + MOST_SUSPECTS)
    r->count = 1 + MOST_SUSPECTS;
  return NULL;
}

static suspect *best_of(const ranking *r) {
  suspect *best = NULL;
  for (size_t i = 0; i < r->count; i++) {
    suspect *s = &r->suspects[i];
    if (!s->out && s->count && (!best || median_of(s) < median_of(best)))
      best = s;
  }
  return best;
}

// Leaves in those that cannot be told from the best; *out_left is how many they are.
static hsc_status *leave_out_the_worse(const hsc__blame *b, ranking *r, size_t *out_left) {
  suspect *best = best_of(r);
  *out_left = 0;
  for (size_t i = 0; i < r->count; i++) {
    suspect *s = &r->suspects[i];
    hsc_comparison c = {0};
    if (!s->out && s != best && b->symptom.kind == HSC_SYMPTOM_MEMORY) {
      s->out = median_of(s) > median_of(best);
    } else if (!s->out && s != best) {
      HSC_TRY(hsc_stats_compare(s->samples, (size_t)s->count, best->samples, (size_t)best->count,
                                MARGIN, NULL, &c));
      s->out = c.verdict == HSC_VERDICT_SLOWER;
    }
    *out_left += !s->out;
  }
  return NULL;
}

static hsc_status *measure_in_turns(hsc__blame *b, ranking *r) {
  // bytes are the same in every compile, and were seen
  bool once = b->symptom.kind == HSC_SYMPTOM_MEMORY;
  size_t left = r->count;
  if (once)
    return leave_out_the_worse(b, r, &left);
  // one look chose them, and what was chosen for being small is smaller than it is
  for (size_t i = 0; i < r->count; i++)
    r->suspects[i].count = 0;
  for (int round = 0; round < MOST_ROUNDS && left > 1; round++) {
    if (hsc__blame_is_late(b)) {
      hsc__blame_gap(b, "whose absence repairs most", "the time budget was over");
      break;
    }
    if (b->options->progress)
      b->options->progress(b->options->user, round, MOST_ROUNDS, "whose absence repairs most");
    // another one begins each round, so that none always follows the same
    for (size_t k = 0; k < r->count; k++) {
      suspect *s = &r->suspects[((size_t)round + k) % r->count];
      if (!s->out)
        HSC_TRY(measure(b, s));
    }
    if (round + 1 >= LEAST_ROUNDS)
      HSC_TRY(leave_out_the_worse(b, r, &left));
  }
  return NULL;
}

static const char *cost_text(hsc__blame *b, double cost) {
  bool bytes = b->symptom.kind == HSC_SYMPTOM_MEMORY;
  const char *text =
      hsc_arena_printf(b->arena, bytes ? "%.0f %s" : "%.3g %s", cost, bytes ? "bytes" : "s");
  return text ? text : "?";
}

// The evidence: what each suspect's absence leaves of the cost. Fills repaired_by and tied.
static void tell_ranking(hsc__blame *b, const ranking *r, const suspect *best) {
  hsc_bytes text = {0};
  for (size_t i = 0; i < r->count; i++) {
    const suspect *s = &r->suspects[i];
    const char *word = s->out ? "" : ", not to be told from it";
    if (!s->count)
      continue;
    hsc_bytes_printf(&text, "%s%s%s %s (measured %d times%s)", text.size ? "; " : "",
                     s->pass ? "without " : "with all passes", s->pass ? s->pass : "",
                     cost_text(b, median_of(s)), s->count, s == best ? ", the least" : word);
    if (!s->out && s != best && s->pass)
      json_array_append_new(b->tied, json_string(s->pass));
    if (s->pass && median_of(s) < b->symptom.factor * r->expected)
      json_array_append_new(b->repaired_by, json_string(s->pass));
  }
  hsc__blame_tell(b, "whose absence repairs most?", "%s; on %s %s", hsc_bytes_text(&text),
                  b->options->against->text, cost_text(b, r->expected));
  hsc_bytes_deinit(&text);
}

// The last run of a pass that changed the program.
static const hsc_pass_row *row_of(const hsc__blame *b, const char *pass) {
  const hsc_pass_row *found = NULL;
  for (size_t i = 0; i < b->list.row_count; i++)
    if (!strcmp(b->list.rows[i].pass, pass) && (!found || b->list.rows[i].changed == 1))
      found = &b->list.rows[i];
  return found;
}

static const char *tied_text(hsc__blame *b) {
  hsc_bytes names = {0};
  json_t *name;
  size_t i;
  json_array_foreach (b->tied, i, name)
    hsc_bytes_printf(&names, "%s%s", i ? ", " : "", json_string_value(name));
  const char *text = "";
  if (names.size)
    text =
        hsc_arena_printf(b->arena, "; the absence of %s repairs as much: they cannot be told apart",
                         hsc_bytes_text(&names));
  hsc_bytes_deinit(&names);
  return text ? text : "";
}

// Takes the pass whose absence repairs most; *out_what is what it costs with it and without.
static hsc_status *find_guilty(hsc__blame *b, const char **out_what) {
  ranking r = {0};
  *out_what = "";
  HSC_TRY(hsc__blame_measure(b, NULL, true, &r.expected));
  HSC_TRY(screen(b, &r));
  if (r.count < 2)
    return NULL;
  HSC_TRY(measure_in_turns(b, &r));
  const suspect *best = best_of(&r);
  double whole = median_of(&r.suspects[0]);
  tell_ranking(b, &r, best);
  // the whole compiler that cannot be told from it is no effect
  if (!best->pass || !r.suspects[0].out)
    return NULL;
  if (whole - median_of(best) < LEAST_SHARE * (whole - r.expected))
    return NULL;
  const hsc_pass_row *row = row_of(b, best->pass);
  hsc__blame_take_pass(b, best->pass, row ? row->pipeline : NULL, -1);
  *out_what = hsc_arena_printf(b->arena, ": without it %s in place of %s%s",
                               cost_text(b, median_of(best)), cost_text(b, whole), tied_text(b));
  return hsc_arena_status(b->arena);
}

hsc_status *hsc__blame_cost(hsc__blame *b) {
  bool shows = false;
  bool known = false;
  const char *numbers = "";
  const char *name = hsc_symptom_name(b->symptom.kind);
  HSC_TRY(hsc__blame_shows(b, b->options->overrides, &shows, &known));
  b->runs = 1;
  if (!known) {
    hsc__blame_gap(b, "what it costs", "it cannot be measured on both devices");
    hsc_bytes_printf(&b->headline, "cannot be determined: %s cannot be measured on both devices",
                     name);
    return hsc_bytes_status(&b->headline);
  }
  b->shows = shows;
  hsc_agreement_compared(b->agreement, "what it costs",
                         shows ? HSC_FINDING_DIFFERENT : HSC_FINDING_EQUAL);
  if (!shows) {
    b->verdict = HSC__BLAME_NOTHING;
    hsc_bytes_printf(&b->headline, "nothing to blame: '%s' does not show against %s",
                     b->symptom.text, b->options->against->text);
    return hsc_bytes_status(&b->headline);
  }
  HSC_TRY(hsc__blame_list_passes(b));
  HSC_TRY(find_guilty(b, &numbers));
  if (b->verdict == HSC__BLAME_PASS)
    HSC_TRY(hsc__blame_find_rewrite(b));
  else if (b->list.row_count)
    b->verdict = HSC__BLAME_BELOW_HLO;
  const char *what = hsc_arena_printf(b->arena, "'%s' against %s%s", b->symptom.text,
                                      b->options->against->text, numbers);
  HSC_TRY(hsc_arena_status(b->arena));
  return hsc__blame_say(b, what);
}
