// blame_again.c - the same question twice: what answers now so, now so is not deterministic, and
// no pass is blamed for what chance did.
//
// A fault that shows in nine of ten runs shows in all of five more often than not, and is then
// missing, by chance, without some pass. So what a verdict rests on is asked again in turns: the
// device as it is, and without each pass whose absence repaired it.
#include <math.h>

#include "base/core/clock.h"
#include "lab/blame/blame_internal.h"
#include "lab/run/json_tree.h"
#include "stats/stats.h"

enum {
  TURNS = 3,
  TURNS_OF_HANGS = 1,  // each costs the limit
  MOST_PASSES = 6,     // that are asked for in each turn
  RUNS_FOR_RATE = 20,
};
static const double SECONDS_FOR_RATE = 30;

// Once more, as it is (`without` NULL) or without a pass.
static hsc_status *ask(hsc__blame *b, const char *without, bool *out_shows, bool *out_known) {
  json_t *overrides = NULL;
  if (!without)
    overrides = json_incref(b->options->overrides);
  else
    HSC_TRY(hsc__blame_overrides_with(b, "xla_disable_hlo_passes", without, true, &overrides));
  hsc_status *status = hsc__blame_shows(b, overrides, out_shows, out_known);
  json_decref(overrides);
  return status;
}

// ---- how often ----------------------------------------------------------------------------------

// More runs of the device as it is, until there are enough for an interval that says something.
static hsc_status *run_for_rate(hsc__blame *b) {
  int64_t start_ns = hsc_now_ns();
  while (b->runs < RUNS_FOR_RATE && !hsc__blame_is_late(b)) {
    bool shows = false;
    bool known = false;
    if ((double)(hsc_now_ns() - start_ns) * 1e-9 > SECONDS_FOR_RATE)
      break;
    if (b->options->progress)
      b->options->progress(b->options->user, b->runs, RUNS_FOR_RATE, "how often it shows");
    HSC_TRY(ask(b, NULL, &shows, &known));
    if (!known)
      break;
    b->runs++;
    b->shows += shows;
  }
  return NULL;
}

// What was found before this was known was found by chance.
static void forget_accused(hsc__blame *b) {
  b->pass = b->pipeline = b->rule = b->source = NULL;
  b->run = b->rewrite = -1;
  json_decref(b->instruction);
  b->instruction = NULL;
  json_array_clear(b->repaired_by);
  hsc_bytes_reset(&b->headline);
}

hsc_status *hsc__blame_flaky(hsc__blame *b, const char *what) {
  forget_accused(b);
  b->verdict = HSC__BLAME_NONDETERMINISTIC;
  hsc_agreement_compared(b->agreement, "the runs among themselves", HSC_FINDING_DIFFERENT);
  HSC_TRY(run_for_rate(b));
  b->has_rate = true;
  hsc_interval rate = hsc_stats_share_interval(b->shows, b->runs, 0);
  hsc_bytes_printf(&b->headline,
                   "%s is not the same from run to run: %s in %d of %d equal runs (%.0f %%, 95 %% "
                   "interval %.0f to %.0f %%)",
                   b->options->device->text, what, b->shows, b->runs, 100 * rate.estimate,
                   100 * rate.low, 100 * rate.high);
  return hsc_bytes_status(&b->headline);
}

void hsc__blame_tell_rare(hsc__blame *b) {
  double rarest = 1 - pow(0.05, 1.0 / b->runs);
  hsc__blame_tell(b, "and a fault that comes and goes?",
                  "one that shows in fewer than %.0f %% of the runs may have been missed (95 %%); "
                  "more --runs find rarer ones",
                  100 * rarest);
}

// ---- in turns -----------------------------------------------------------------------------------

typedef struct answers {
  int asked, other;   // how often another answer than the first came
  int runs, shows;    // of those as it is
  const char *first;  // the pass without which it came; "" = as it is, NULL = none did
} answers;

static hsc_status *ask_turn(hsc__blame *b, answers *a) {
  size_t count = json_array_size(b->repaired_by);
  for (size_t i = 0; i <= count && i <= MOST_PASSES && !hsc__blame_is_late(b); i++) {
    const char *pass = i ? json_string_value(json_array_get(b->repaired_by, i - 1)) : NULL;
    bool shows = false;
    bool known = false;
    HSC_TRY(ask(b, pass, &shows, &known));
    if (!known)
      continue;
    a->asked++;
    a->runs += !pass;
    a->shows += !pass && shows;
    if (shows == !pass)
      continue;
    a->other++;
    if (!a->first)
      a->first = pass ? pass : "";
  }
  return NULL;
}

static bool can_be_asked(const hsc__blame *b) {
  if (b->symptom.kind == HSC_SYMPTOM_WRONG)
    return b->right.outputs && !b->options->device->topology;
  return b->symptom.kind == HSC_SYMPTOM_CRASH || b->symptom.kind == HSC_SYMPTOM_ERROR ||
         b->symptom.kind == HSC_SYMPTOM_HANG;
}

hsc_status *hsc__blame_ask_again(hsc__blame *b) {
  int turns = b->symptom.kind == HSC_SYMPTOM_HANG ? TURNS_OF_HANGS : TURNS;
  answers a = {0};
  bool somebody = b->verdict == HSC__BLAME_PASS || b->verdict == HSC__BLAME_BELOW_HLO ||
                  b->verdict == HSC__BLAME_FRONT_END || b->verdict == HSC__BLAME_UNKNOWN;
  if (!b->has_symptom || !somebody || !can_be_asked(b))
    return NULL;
  for (int turn = 0; turn < turns && !a.other; turn++) {
    if (hsc__blame_is_late(b)) {
      hsc__blame_gap(b, "the same questions again", "the time budget was over");
      break;
    }
    if (b->options->progress)
      b->options->progress(b->options->user, turn, turns, "the same questions again");
    HSC_TRY(ask_turn(b, &a));
  }
  if (!a.asked)
    return NULL;
  const char *where =
      a.first && *a.first ? hsc_arena_printf(b->arena, " (without %s)", a.first) : "";
  HSC_TRY(hsc_arena_status(b->arena));
  hsc__blame_tell(b, "the same answers when asked again?", "%d of %d are the same%s",
                  a.asked - a.other, a.asked, where);
  const char *what = hsc_arena_printf(
      b->arena, "%s%s", hsc_symptom_name(b->symptom.kind),
      *where ? hsc_arena_printf(b->arena, " (and%s now so, now so)", where + 2) : "");
  HSC_TRY(hsc_arena_status(b->arena));
  if (a.other) {
    b->runs += a.runs;
    b->shows += a.shows;
    return hsc__blame_flaky(b, what);
  }
  hsc_agreement_compared(b->agreement, "the same questions again", HSC_FINDING_EQUAL);
  return NULL;
}
