// tune_search.c - successive halving over candidates, and the proof of what is left.
#include "lab/tune/tune_search.h"

#include <math.h>

#include "base/core/memory.h"

enum { SECOND_ROUND = 12, SECOND_PROCESSES = 2, SECOND_BLOCKS = 3 };

// Mean log ratio of a member's cells; NaN = nothing was measured.
static double score_of(const double *times, const double *baseline, size_t cells) {
  double sum = 0;
  size_t count = 0;
  for (size_t i = 0; i < cells; i++) {
    double ratio = log(times[i] / baseline[i]);
    if (!isfinite(ratio))
      continue;
    sum += ratio;
    count++;
  }
  return count ? sum / (double)count : NAN;
}

typedef struct cells {
  double *times, *baseline;
  size_t each;  // cells of a member
} cells;

static hsc_status *make_cells(const hsc_tune_round *round, cells *out) {
  out->each = (size_t)round->processes * (size_t)round->blocks;
  size_t total = round->count * out->each;
  out->times = hsc_alloc((2 * total + 1) * sizeof(double));
  if (!out->times)
    return hsc_status_out_of_memory();
  out->baseline = out->times + total;
  for (size_t i = 0; i < 2 * total; i++)
    out->times[i] = NAN;
  return NULL;
}

// One round; scores: [round->count] mean log ratios.
static hsc_status *look(const hsc_tune_round *round,
                        hsc_tune_measure measure,
                        void *user,
                        hsc_tune_found *found,
                        double *scores,
                        bool *out_end) {
  cells c = {0};
  HSC_TRY(make_cells(round, &c));
  hsc_status *status = measure(user, round, c.times, c.baseline, out_end);
  for (size_t i = 0; i < round->count && !status; i++) {
    scores[i] = score_of(c.times + i * c.each, c.baseline + i * c.each, c.each);
    hsc_tune_found *f = &found[round->members[i]];
    if (isnan(scores[i]))
      continue;
    f->rounds = round->number + 1;
    if (round->number == 0)
      f->screen = exp(scores[i]);
  }
  hsc_free(c.times);
  return status;
}

// The `most` members with the least scores, in front; how many there are. What is slower than the
// baseline by more than a tenth does not go on.
static size_t keep_best(int *members, double *scores, size_t count, size_t most) {
  size_t kept = 0;
  while (kept < most) {
    size_t best = kept;
    for (size_t i = kept; i < count; i++)
      if (!isnan(scores[i]) && (isnan(scores[best]) || scores[i] < scores[best]))
        best = i;
    if (best >= count || isnan(scores[best]) || scores[best] > 0.1)
      break;
    int member = members[best];
    double score = scores[best];
    members[best] = members[kept];
    scores[best] = scores[kept];
    members[kept] = member;
    scores[kept++] = score;
  }
  return kept;
}

static hsc_status *effect_of(const hsc_tune_plan *plan,
                             const hsc_tune_round *round,
                             const double *times,
                             const double *baseline,
                             int member,
                             hsc_effect *out,
                             bool *out_there) {
  size_t sizes[64];
  size_t processes = round->processes < 64 ? (size_t)round->processes : 64;
  size_t n = processes * (size_t)round->blocks;
  *out_there = false;
  for (size_t p = 0; p < processes; p++)
    sizes[p] = (size_t)round->blocks;
  for (size_t i = 0; i < n; i++)
    *out_there |= isfinite(times[i]) && isfinite(baseline[i]);
  if (!*out_there)
    return NULL;
  hsc_paired paired = {times, baseline, sizes, processes};
  return hsc_stats_paired_effect(
      &paired, &(hsc_interval_options){.seed = plan->seed + (uint64_t)member}, out);
}

hsc_status *hsc_tune_prove(const hsc_tune_plan *plan,
                           int number,
                           const int *members,
                           size_t count,
                           hsc_tune_measure measure,
                           void *user,
                           hsc_tune_found *found,
                           bool *out_ended) {
  hsc_tune_round round = {number, members, count, plan->last_processes, plan->last_blocks};
  bool end = false;
  cells c = {0};
  *out_ended = false;
  HSC_TRY(make_cells(&round, &c));
  hsc_effect *effects = hsc_alloc((2 * count + 2) * sizeof *effects);
  int *owners = hsc_alloc((2 * count + 2) * sizeof *owners);
  hsc_effect *placebos = effects + count + 1;
  int *placebo_owners = owners + count + 1;
  size_t n = 0;
  size_t m = 0;
  hsc_status *status = effects && owners ? NULL : hsc_status_out_of_memory();
  if (!status)
    status = measure(user, &round, c.times, c.baseline, &end);
  for (size_t i = 0; i < count && !status; i++) {
    bool there = false;
    bool placebo = members[i] >= plan->candidate_count;
    hsc_effect *slot = placebo ? &placebos[m] : &effects[n];
    status = effect_of(plan, &round, c.times + i * c.each, c.baseline + i * c.each, members[i],
                       slot, &there);
    if (!there || status)
      continue;
    if (placebo)
      placebo_owners[m++] = members[i];
    else
      owners[n++] = members[i];
  }
  if (!status) {
    hsc_judge_options judge = {.margin = plan->margin};
    hsc_stats_judge(effects, n, placebos, m, &judge);
    for (size_t i = 0; i < n + m; i++) {
      bool placebo = i >= n;
      hsc_tune_found *f = &found[placebo ? placebo_owners[i - n] : owners[i]];
      f->effect = placebo ? placebos[i - n] : effects[i];
      f->judged = isfinite(f->effect.ratio.low);
      f->rounds = HSC_TUNE_ROUNDS;
    }
    *out_ended = !end;
  }
  hsc_free(owners);
  hsc_free(effects);
  hsc_free(c.times);
  return status;
}

hsc_status *hsc_tune_search(const hsc_tune_plan *plan,
                            hsc_tune_measure measure,
                            void *user,
                            hsc_tune_found *found,
                            bool *out_ended) {
  size_t all = (size_t)(plan->candidate_count + plan->placebo_count);
  int *members = hsc_alloc((all + 1) * sizeof *members);
  double *scores = hsc_alloc((all + 1) * sizeof *scores);
  hsc_status *status = members && scores ? NULL : hsc_status_out_of_memory();
  bool end = false;
  *out_ended = false;
  for (size_t i = 0; i < all; i++)
    found[i] = (hsc_tune_found){.screen = NAN};
  for (size_t i = 0; i < all && !status; i++)
    members[i] = (int)i;
  if (!status) {
    hsc_tune_round first = {0, members, all, 1, 1};
    status = look(&first, measure, user, found, scores, &end);
  }
  size_t left = 0;
  if (!status) {  // placebos go into every round by themselves
    size_t third = ((size_t)plan->candidate_count + 2) / 3;
    size_t most = third < SECOND_ROUND ? third : SECOND_ROUND;
    if (most < HSC_TUNE_LAST)
      most = HSC_TUNE_LAST;
    left = keep_best(members, scores, (size_t)plan->candidate_count, most);
  }
  if (!status && !end && left > HSC_TUNE_LAST) {
    hsc_tune_round second = {1, members, left, SECOND_PROCESSES, SECOND_BLOCKS};
    status = look(&second, measure, user, found, scores, &end);
    left = status ? 0 : keep_best(members, scores, left, HSC_TUNE_LAST);
  }
  if (!status && !end && left) {
    for (int p = 0; p < plan->placebo_count; p++)
      members[left++] = plan->candidate_count + p;
    status = hsc_tune_prove(plan, 2, members, left, measure, user, found, out_ended);
  } else if (!status && !end) {
    *out_ended = true;  // nothing was left to prove
  }
  hsc_free(scores);
  hsc_free(members);
  return status;
}

int hsc_tune_look_runs(double first_s, double turn_s, int least, int wanted) {
  double fit = turn_s / fmax(first_s, 1e-7);
  return fit < 1 ? 1 : (int)fmax(least, fmin(wanted, fit));
}
