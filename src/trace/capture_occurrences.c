// capture_occurrences.c - the runs of a program, from operators that do not say which run they are
// of.
//
// jaxlib before 0.5 numbers no runs in its profiles. In a run each operator outside of loops occurs
// once, those inside more often, and none more seldom. So the operators of a program that occur
// least often tell how many runs there were, and the k-th occurrence of each is of the k-th run.
// Where the runs that this gives lie over each other (several devices, a run that the session's
// begin cut in two) nothing is numbered.
#include <stdlib.h>

#include "trace/capture_internal.h"

static int by_operator(const void *a, const void *b) {
  const hsc__occurrence *x = a;
  const hsc__occurrence *y = b;
  if (x->program_id != y->program_id)
    return x->program_id < y->program_id ? -1 : 1;
  int names = strcmp(x->name, y->name);
  if (names)
    return names;
  return x->start_ns < y->start_ns ? -1 : x->start_ns > y->start_ns;
}

// The end of the group that starts at `from`: one program, or one operator of it.
static size_t end_of_group(const hsc__occurrence *list, size_t from, size_t to, bool operators) {
  size_t at = from;
  while (at < to && list[at].program_id == list[from].program_id &&
         (!operators || !strcmp(list[at].name, list[from].name)))
    at++;
  return at;
}

// Whether each run ends before the next one begins. starts, ends: [count], filled here.
static bool apart(const hsc__occurrence *list,
                  size_t from,
                  size_t to,
                  int64_t *starts,
                  int64_t *ends,
                  size_t count) {
  for (size_t k = 0; k < count; k++) {
    starts[k] = INT64_MAX;
    ends[k] = INT64_MIN;
  }
  for (size_t i = from; i < to; i++) {
    int64_t k = list[i].run;
    if (k < 0)
      continue;
    if (list[i].start_ns < starts[k])
      starts[k] = list[i].start_ns;
    if (list[i].end_ns > ends[k])
      ends[k] = list[i].end_ns;
  }
  for (size_t k = 1; k < count; k++)
    if (starts[k] < ends[k - 1])
      return false;
  return true;
}

static hsc_status *number_program(hsc__occurrence *list, size_t from, size_t to) {
  size_t fewest = to - from;
  for (size_t at = from; at < to;) {
    size_t end = end_of_group(list, at, to, true);
    fewest = end - at < fewest ? end - at : fewest;
    at = end;
  }
  for (size_t at = from; at < to;) {
    size_t end = end_of_group(list, at, to, true);
    for (size_t i = at; i < end; i++)
      list[i].run = end - at == fewest ? (int64_t)(i - at) : -1;
    at = end;
  }
  int64_t *times = hsc_alloc(2 * fewest * sizeof *times);
  if (!times)
    return hsc_status_out_of_memory();
  if (!apart(list, from, to, times, times + fewest, fewest))
    for (size_t i = from; i < to; i++)
      list[i].run = -1;
  hsc_free(times);
  return NULL;
}

hsc_status *hsc__number_occurrences(hsc__occurrence *list, size_t count) {
  if (count)
    qsort(list, count, sizeof *list, by_operator);
  for (size_t at = 0; at < count;) {
    size_t end = end_of_group(list, at, count, false);
    HSC_TRY(number_program(list, at, end));
    at = end;
  }
  return NULL;
}
