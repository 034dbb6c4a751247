// reduction_rate.c - symptoms that come and go: how often the program shows it, and from that how
// many looks at a candidate say that it does not.
//
// A candidate is dropped when it showed nothing in so many looks that a program with the rate of
// the whole would have shown it in nineteen of twenty cases; one look that shows it is enough to
// take it, for what is wrong once is wrong.
#include <math.h>

#include "base/core/clock.h"
#include "lab/reduce/reduction_internal.h"
#include "stats/stats.h"

enum {
  MOST_FIRST_LOOKS = 15,  // until the whole shows it: one of five is seen with 96 %
  LEAST_LOOKS = 4,        // that must all show it before it is taken for one that always does
  LOOKS_FOR_RATE = 20,
  MOST_REPEATS = 30,
};
static const double MISSED = 0.05;           // share of candidates that may be dropped wrongly
static const double MOST_FIRST_S = 20;       // of looks at a whole that does not show it
static const double SHARE_OF_BUDGET = 0.05;  // for looks at one that may always show it
static const char RATE_KEY[] = "rate";

// Costs have statistics of their own; a hang costs its limit each time, and what a compiler makes
// of a program it makes each time.
static bool can_come_and_go(const hsc__reducer *r) {
  switch (r->result->symptom.kind) {
    case HSC_SYMPTOM_WRONG:
    case HSC_SYMPTOM_CRASH:
    case HSC_SYMPTOM_ERROR:
    case HSC_SYMPTOM_COMMAND:
      return true;
    default:
      return false;
  }
}

int hsc__first_looks(const hsc__reducer *r) {
  return can_come_and_go(r) ? MOST_FIRST_LOOKS : 1;
}

bool hsc__repeat_is_over(int repeats, int looks, int64_t start_ns) {
  double seconds = (double)(hsc_now_ns() - start_ns) * 1e-9;
  return looks >= repeats || (repeats == MOST_FIRST_LOOKS && seconds > MOST_FIRST_S);
}

static int repeats_for(int shows, int looks) {
  if (shows == looks)
    return 1;
  double rate = ((double)shows + 0.5) / (looks + 1);
  double repeats = ceil(log(MISSED) / log(1 - rate));
  return repeats < MOST_REPEATS ? (int)repeats : MOST_REPEATS;
}

// What an interrupted reduction counted; *out_known false: nothing.
static hsc_status *recall_rate(hsc__reducer *r, bool *out_known) {
  hsc_reduction *result = r->result;
  hsc_task_row row = {0};
  HSC_TRY(hsc_task_table_find(&result->tasks, RATE_KEY, &row));
  *out_known = row.state != NULL;
  result->rate_shows = (int)json_integer_value(json_object_get(row.answer, "shows"));
  result->rate_looks = (int)json_integer_value(json_object_get(row.answer, "looks"));
  result->remembered += result->rate_looks;
  hsc_task_row_deinit(&row);
  return NULL;
}

static hsc_status *remember_rate(hsc__reducer *r) {
  json_t *answer =
      json_pack("{s:i, s:i}", "shows", r->result->rate_shows, "looks", r->result->rate_looks);
  if (!answer)
    return hsc_status_out_of_memory();
  hsc_status *status = hsc_task_table_keep(&r->result->tasks, RATE_KEY, "ok", NULL, answer);
  json_decref(answer);
  return status;
}

static hsc_status *count_shows(hsc__reducer *r, bool misses) {
  hsc_reduction *result = r->result;
  int64_t start_ns = hsc_now_ns();
  double budget_s = r->options->budget_s > 0 ? SHARE_OF_BUDGET * r->options->budget_s : INFINITY;
  int wanted = misses ? LOOKS_FOR_RATE : LEAST_LOOKS;
  while (result->rate_looks < wanted && !hsc__reducer_is_late(r)) {
    bool shows = false;
    HSC_TRY(hsc__look_at_smallest(r, &shows));
    result->rate_shows += shows;
    result->rate_looks++;
    if (!shows)
      wanted = LOOKS_FOR_RATE;
    if (wanted == LEAST_LOOKS && (double)(hsc_now_ns() - start_ns) * 1e-9 > budget_s)
      break;
  }
  return NULL;
}

hsc_status *hsc__reduce_rate(hsc__reducer *r, bool misses) {
  hsc_reduction *result = r->result;
  bool known = false;
  r->repeats = 1;
  if (!can_come_and_go(r))
    return NULL;
  HSC_TRY(recall_rate(r, &known));
  if (!known) {
    HSC_TRY(count_shows(r, misses));
    HSC_TRY(remember_rate(r));
  }
  r->repeats = repeats_for(result->rate_shows, result->rate_looks);
  result->repeats = r->repeats;
  return NULL;
}
