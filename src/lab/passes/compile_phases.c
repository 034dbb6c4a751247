// compile_phases.c - the phases of a compile, from the events of its profile: every moment between
// the first and the last event of the thread that compiles belongs to one phase.
//
// An event's own time (without the events in it) belongs to the phase of its name
// (compile_phases.def), else to that of the event around it. Where the compiling thread only waits,
// or is in an event that nobody knows, the moment belongs to the phase that another thread is in:
// the TPU's compiler generates code on fibers. What is left is "all else".
#include <stdlib.h>

#include "lab/passes/passes_list_internal.h"

static const struct {
  const char *beginning, *phase;
} phases[] = {
#define PHASE(beginning_, phase_) {beginning_, phase_},
#include "lab/passes/compile_phases.def"
#undef PHASE
};
static const char *const HLO_PASSES = "HLO passes";
static const char *const ALL_ELSE = "all else";

// A stretch of one thread's time. phase: NULL = nobody knows.
typedef struct stretch {
  int64_t start_ps, end_ps;
  const char *phase;
  int line;
} stretch;
struct hsc_phase_stretches {
  stretch *items;  // [count]; those of a line in order of their starts
  size_t count, capacity;
  // main: the line with the longest event that is of a phase, or holds one that is
  int line_count, main_line;
  // first: the origin of the first line, from which all times are reported
  int64_t longest_ps, first_ns;
};

hsc_status *hsc__phase_stretches_create(hsc_phase_stretches **out) {
  *out = hsc_alloc(sizeof **out);
  if (!*out)
    return hsc_status_out_of_memory();
  **out = (hsc_phase_stretches){0};
  return NULL;
}

void hsc__phase_stretches_destroy(hsc_phase_stretches *s) {
  if (s)
    hsc_free(s->items);
  hsc_free(s);
}

static const char *phase_of(const compile_event *e) {
  if (e->pipeline)
    return HLO_PASSES;
  for (size_t i = 0; i < HSC_COUNT_OF(phases); i++)
    if (e->name.size >= strlen(phases[i].beginning) &&
        !memcmp(e->name.data, phases[i].beginning, strlen(phases[i].beginning)))
      return phases[i].phase;
  return NULL;
}

static hsc_status *add(hsc_phase_stretches *s,
                       int64_t start_ps,
                       int64_t end_ps,
                       const char *phase) {
  if (end_ps <= start_ps)
    return NULL;
  stretch *last = s->count ? &s->items[s->count - 1] : NULL;
  if (last && last->line == s->line_count && last->end_ps == start_ps && last->phase == phase) {
    last->end_ps = end_ps;
    return NULL;
  }
  if (!HSC_GROW(s->items, s->count, s->capacity))
    return hsc_status_out_of_memory();
  s->items[s->count++] = (stretch){start_ps, end_ps, phase, s->line_count};
  return NULL;
}

hsc_status *hsc__phase_stretches_add_line(hsc_phase_stretches *s,
                                          const compile_event *events,
                                          size_t count,
                                          int64_t origin_ns) {
  enum { DEEPEST = 64 };
  struct {
    int64_t start_ps, end_ps;
    const char *phase;
  } open[DEEPEST];
  int depth = 0;
  bool known = false;  // an event of a phase is in the outermost one that is open
  int64_t at = 0;
  int64_t origin_ps = 0;
  if (s->line_count == 0)
    s->first_ns = origin_ns;
  if (!__builtin_sub_overflow(origin_ns, s->first_ns, &origin_ps) && llabs(origin_ps) < INT64_C(1)
                                                                                            << 50)
    origin_ps *= 1000;
  else
    origin_ps = 0;  // a clock that cannot be
  for (size_t i = 0; i <= count; i++) {
    const compile_event *e = i < count ? &events[i] : NULL;
    for (; depth > 0 && (!e || e->start_ps >= open[depth - 1].end_ps); depth--) {
      HSC_TRY(add(s, origin_ps + at, origin_ps + open[depth - 1].end_ps, open[depth - 1].phase));
      if (open[depth - 1].end_ps > at)
        at = open[depth - 1].end_ps;
      int64_t length_ps = open[depth - 1].end_ps - open[depth - 1].start_ps;
      if (depth == 1 && known && length_ps > s->longest_ps) {
        s->longest_ps = length_ps;
        s->main_line = s->line_count;
      }
    }
    if (!e || depth == DEEPEST)
      continue;
    const char *phase = phase_of(e);
    if (depth > 0)
      HSC_TRY(add(s, origin_ps + at, origin_ps + e->start_ps, open[depth - 1].phase));
    known = (depth > 0 && known) || phase;
    if (!phase && depth > 0)
      phase = open[depth - 1].phase;
    open[depth].start_ps = e->start_ps;
    open[depth].end_ps = e->start_ps + e->duration_ps;
    open[depth++].phase = phase;
    at = e->start_ps;
  }
  s->line_count++;
  return NULL;
}

static int by_start(const void *a, const void *b) {
  const stretch *x = a;
  const stretch *y = b;
  return (x->start_ps > y->start_ps) - (x->start_ps < y->start_ps);
}

// What [from, to) of the compiling thread is spent on, by what other threads do; others [count] are
// known stretches in order of their starts.
static hsc_status *add_waiting(
    hsc_map *map, const stretch *others, size_t count, int64_t from, int64_t to, hsc_arena *arena) {
  size_t low = 0;
  size_t high = count;
  while (low < high) {  // the first that starts at or after `to`
    size_t middle = (low + high) / 2;
    if (others[middle].start_ps < to)
      low = middle + 1;
    else
      high = middle;
  }
  int64_t covered = 0;
  int64_t at = from;
  for (size_t i = 0; i < low; i++) {
    if (others[i].end_ps <= at)
      continue;
    int64_t begin = others[i].start_ps > at ? others[i].start_ps : at;
    int64_t end = others[i].end_ps < to ? others[i].end_ps : to;
    if (end <= begin)
      continue;
    HSC_TRY(hsc__add_time(map, others[i].phase, (end - begin) / 1000, arena));
    covered += end - begin;
    at = end;
  }
  return to - from - covered >= 1000
             ? hsc__add_time(map, ALL_ELSE, (to - from - covered) / 1000, arena)
             : NULL;
}

hsc_status *hsc__phase_stretches_sum(const hsc_phase_stretches *s, hsc_map *map, hsc_arena *arena) {
  stretch *others = hsc_alloc((s->count + 1) * sizeof *others);
  size_t count = 0;
  int64_t at = -1;
  hsc_status *status = others ? NULL : hsc_status_out_of_memory();
  for (size_t i = 0; !status && i < s->count; i++)
    if (s->items[i].line != s->main_line && s->items[i].phase)
      others[count++] = s->items[i];
  if (count)
    qsort(others, count, sizeof *others, by_start);
  for (size_t i = 0; !status && i < s->count; i++) {
    const stretch *one = &s->items[i];
    if (one->line != s->main_line)
      continue;
    if (at >= 0 && one->start_ps > at)
      status = add_waiting(map, others, count, at, one->start_ps, arena);
    if (!status && one->phase)
      status = hsc__add_time(map, one->phase, (one->end_ps - one->start_ps) / 1000, arena);
    else if (!status)
      status = add_waiting(map, others, count, one->start_ps, one->end_ps, arena);
    at = one->end_ps;
  }
  hsc_free(others);
  return status;
}

hsc_status *hsc__add_time(hsc_map *map, const char *key, int64_t ns, hsc_arena *arena) {
  int64_t *sum = hsc_map_get(map, hsc_view_of(key));
  if (!sum) {
    sum = HSC_NEW(arena, int64_t);
    const char *kept = hsc_arena_strdup(arena, key);
    HSC_TRY(hsc_arena_status(arena));
    HSC_TRY(hsc_map_put(map, hsc_view_of(kept), sum));
  }
  *sum += ns;
  return NULL;
}
