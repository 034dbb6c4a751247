// profile_steps.c - where the time of each step went.
//
// Operators and host work are intervals in order of their start, many at once on many threads. One
// sweep gives every moment to one activity: the first of activities.def that is going on. Per
// activity the sweep keeps only the latest end, so it is linear in the number of intervals.
#include <stdlib.h>

#include "views/profile_internal.h"

// ---- order --------------------------------------------------------------------------------------

// Lines are sorted each by itself: the array is a sequence of sorted runs, which are merged
// pairwise.
static bool sort_runs(hsc__interval *items, size_t count) {
  size_t run_count = 0;
  for (size_t i = 1; i < count; i++)
    run_count += items[i].start < items[i - 1].start;
  if (!run_count)
    return true;
  hsc__interval *spare = hsc_alloc(count * sizeof *spare);
  hsc__interval *from = items;
  hsc__interval *to = spare;
  if (!spare)
    return false;
  for (bool merged = true; merged;) {
    merged = false;
    for (size_t at = 0; at < count;) {
      size_t middle = at + 1;
      size_t end;
      while (middle < count && from[middle].start >= from[middle - 1].start)
        middle++;
      end = middle;
      if (end < count)
        end++;
      while (end < count && end > middle && from[end].start >= from[end - 1].start)
        end++;
      size_t a = at;
      size_t b = middle;
      size_t out = at;
      while (a < middle && b < end)
        to[out++] = from[b].start < from[a].start ? from[b++] : from[a++];
      while (a < middle)
        to[out++] = from[a++];
      while (b < end)
        to[out++] = from[b++];
      merged |= at > 0 || end < count;
      at = end;
    }
    hsc__interval *swap = from;
    from = to;
    to = swap;
  }
  if (from != items)
    memcpy(items, from, count * sizeof *items);
  hsc_free(spare);
  return true;
}

static int compare_steps(const void *a, const void *b) {
  const hsc_profile_step *x = a;
  const hsc_profile_step *y = b;
  if (x->start_ps != y->start_ps)
    return x->start_ps < y->start_ps ? -1 : 1;
  return x->end_ps > y->end_ps ? -1 : x->end_ps < y->end_ps;
}

// ---- the sweep ----------------------------------------------------------------------------------

typedef struct sweep {
  hsc_profile_step *steps;
  size_t step_count, step;  // the first one that has not ended yet
  int64_t now, ends[HSC_ACTIVITY_COUNT];
  int64_t totals[HSC_ACTIVITY_COUNT];
} sweep;

static void give(sweep *s, int activity, int64_t begin, int64_t end) {
  s->totals[activity] = hsc__sat_add(s->totals[activity], end - begin);
  while (s->step < s->step_count && s->steps[s->step].end_ps <= begin)
    s->step++;
  for (size_t i = s->step; i < s->step_count && s->steps[i].start_ps < end; i++) {
    int64_t from = begin > s->steps[i].start_ps ? begin : s->steps[i].start_ps;
    int64_t to = end < s->steps[i].end_ps ? end : s->steps[i].end_ps;
    if (to > from)
      s->steps[i].activity_ps[activity] += to - from;
  }
}

static void advance(sweep *s, int64_t to) {
  while (s->now < to) {
    int activity = 0;
    while (activity < HSC_ACTIVITY_IDLE && s->ends[activity] <= s->now)
      activity++;
    if (activity == HSC_ACTIVITY_IDLE) {
      s->now = to;
      return;
    }
    int64_t end = s->ends[activity] < to ? s->ends[activity] : to;
    give(s, activity, s->now, end);
    s->now = end;
  }
}

static bool is_simple(const hsc__interval *a, size_t count) {
  for (size_t i = 1; i < count; i++)
    if (a[i].start < a[i - 1].end)
      return false;
  return true;
}

static void run_sweep(
    sweep *s, const hsc__interval *a, size_t a_count, const hsc__interval *b, size_t b_count) {
  size_t i = 0;
  size_t k = 0;
  // one line of operators and nothing else: each interval by itself
  if (!b_count && is_simple(a, a_count)) {
    for (; i < a_count; i++)
      give(s, a[i].activity, a[i].start, a[i].end);
  }
  s->now = INT64_MIN;
  for (int c = 0; c < HSC_ACTIVITY_COUNT; c++)
    s->ends[c] = INT64_MIN;
  while (i < a_count || k < b_count) {
    const hsc__interval *next =
        k == b_count || (i < a_count && a[i].start <= b[k].start) ? &a[i++] : &b[k++];
    advance(s, next->start);
    if (next->end > s->ends[next->activity])
      s->ends[next->activity] = next->end;
  }
  advance(s, INT64_MAX);
  for (size_t n = 0; n < s->step_count; n++) {
    int64_t known = 0;
    for (int c = 0; c < HSC_ACTIVITY_IDLE; c++)
      known += s->steps[n].activity_ps[c];
    s->steps[n].activity_ps[HSC_ACTIVITY_IDLE] = s->steps[n].end_ps - s->steps[n].start_ps - known;
  }
}

// ---- steps of a device --------------------------------------------------------------------------

static void clear(hsc_profile_step *steps, size_t count) {
  for (size_t i = 0; i < count; i++)
    memset(steps[i].activity_ps, 0, sizeof steps[i].activity_ps);
}

// In order, none reaching into the next.
static void straighten(hsc_profile_step *steps, size_t count) {
  if (count)
    qsort(steps, count, sizeof *steps, compare_steps);
  for (size_t i = 0; i + 1 < count; i++)
    if (steps[i].end_ps > steps[i + 1].start_ps)
      steps[i].end_ps = steps[i + 1].start_ps;
}

static bool copy_host_steps(hsc_profile *profile, int32_t device) {
  for (size_t i = 0; i < profile->host_steps.count; i++) {
    hsc_profile_step step = profile->host_steps.items[i];
    step.device = device;
    if (!HSC__ADD(&profile->steps, step))
      return false;
  }
  return true;
}

// Without marks of steps: the runs of the program that ran longest, of those that ran more than
// once if there are such.
static bool copy_runs(hsc_profile *profile, int32_t device) {
  int32_t best = -1;
  double best_ps = -1;
  bool best_again = false;
  for (size_t m = 0; m < profile->modules.count; m++) {
    double total = 0;
    size_t count = 0;
    for (size_t i = 0; i < profile->runs.count; i++)
      if (profile->runs.items[i].device == device && profile->runs.items[i].module == (int32_t)m) {
        total += (double)(profile->runs.items[i].end_ps - profile->runs.items[i].start_ps);
        count++;
      }
    bool again = count > 1;
    if (count && (again != best_again ? again : total > best_ps)) {
      best_ps = total;
      best = (int32_t)m;
      best_again = again;
    }
  }
  if (best < 0)
    return true;
  int64_t number = 0;
  for (size_t i = 0; i < profile->runs.count; i++) {
    const hsc__run *run = &profile->runs.items[i];
    if (run->device != device || run->module != best)
      continue;
    if (!HSC__ADD(&profile->steps, (hsc_profile_step){.device = device,
                                                      .number = number++,
                                                      .start_ps = run->start_ps,
                                                      .end_ps = run->end_ps}))
      return false;
  }
  hsc_view of = profile->modules.items[best].name;
  hsc__profile_note(profile, "%s: no steps are marked; the %lld runs of %.*s stand for them",
                    profile->devices.items[device].name, (long long)number, (int)of.size, of.data);
  const char *name = hsc_arena_strndup(profile->arena, of.data, of.size);
  bool first = !profile->steps_of;
  profile->steps_of = name && (first || !strcmp(profile->steps_of, name)) ? name : "";
  return true;
}

// Operators between two moments, overlaps counted once. The intervals are in order of their begin.
static int64_t busy_between(const hsc__interval *intervals,
                            size_t count,
                            int64_t from,
                            int64_t until) {
  int64_t sum = 0;
  for (size_t i = 0; i < count && intervals[i].start < until; i++) {
    if (intervals[i].activity != HSC_ACTIVITY_COMPUTE &&
        intervals[i].activity != HSC_ACTIVITY_COLLECTIVE)
      continue;
    int64_t end = intervals[i].end < until ? intervals[i].end : until;
    int64_t start = intervals[i].start > from ? intervals[i].start : from;
    if (end > start) {
      sum += end - start;
      from = end;
    }
  }
  return sum;
}

// True when the operators of the steps ran within the marks. What ran before the first one is no
// step's, and of what ran after the last one begins nobody knows whose it is, unless there is only
// that one.
static bool marks_hold(const hsc_profile_step *steps,
                       size_t count,
                       const hsc__interval *intervals,
                       size_t interval_count) {
  int64_t inside = 0;
  for (size_t i = 0; i + 1 < count || (i < 1 && count == 1); i++)
    inside = hsc__sat_add(inside, steps[i].activity_ps[HSC_ACTIVITY_COMPUTE] +
                                      steps[i].activity_ps[HSC_ACTIVITY_COLLECTIVE]);
  return inside >= busy_between(intervals, interval_count, steps[0].start_ps,
                                count > 1 ? steps[count - 1].start_ps : INT64_MAX) /
                       10 * 9;
}

const char *hsc_profile_steps_of(const hsc_profile *profile) {
  return profile->steps_of;
}

bool hsc__profile_steps_are_guessed(const hsc_profile *profile, int32_t device) {
  return !strncmp(profile->devices.items[device].type, "hloscope", 8);
}

hsc_status *hsc__profile_account(hsc_profile *profile,
                                 int32_t device,
                                 hsc__interval *intervals,
                                 size_t count,
                                 size_t first_step) {
  if (!sort_runs(intervals, count) || !sort_runs(profile->host.items, profile->host.count))
    return hsc_status_out_of_memory();
  bool own_steps = profile->steps.count > first_step;
  // hloscope's device takes runs of a program for steps; where the host's program marked its steps,
  // those count.
  if (own_steps && profile->host_steps.count && hsc__profile_steps_are_guessed(profile, device)) {
    profile->steps.count = first_step;
    own_steps = false;
  }
  bool from_host = !own_steps && profile->host_steps.count > 0;
  if (from_host && !copy_host_steps(profile, device))
    return hsc_status_out_of_memory();
  if (!own_steps && !from_host && !copy_runs(profile, device))
    return hsc_status_out_of_memory();
  hsc_profile_step *steps = profile->steps.items + first_step;
  size_t step_count = profile->steps.count - first_step;
  straighten(steps, step_count);
  for (int attempt = 0;; attempt++) {
    sweep s = {.steps = steps, .step_count = step_count};
    clear(steps, step_count);
    run_sweep(&s, intervals, count, profile->host.items, profile->host.count);
    int64_t busy = s.totals[HSC_ACTIVITY_COMPUTE] + s.totals[HSC_ACTIVITY_COLLECTIVE];
    hsc_profile_device *d = &profile->devices.items[device];
    d->busy_ps = busy;
    if (count) {
      d->first_ps = intervals[0].start;
      for (size_t i = 0; i < count; i++)
        if (intervals[i].end > d->last_ps)
          d->last_ps = intervals[i].end;
    }
    if (!from_host || attempt || !step_count || marks_hold(steps, step_count, intervals, count))
      return NULL;
    // The host marked its steps and went ahead of the device: a step lasts until the next one
    // begins, the last one until the device is done.
    for (size_t i = 0; i < step_count; i++) {
      int64_t until = i + 1 < step_count ? steps[i + 1].start_ps : d->last_ps;
      if (until > steps[i].end_ps)
        steps[i].end_ps = until;
    }
    hsc__profile_note(profile,
                      "%s: the host's marks of steps end before the operators do; a step lasts "
                      "until the next one begins",
                      d->name);
  }
}
