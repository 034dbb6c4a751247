// dataset_stragglers.c - which host the others wait for in which collective, and why.
//
// A collective ends everywhere at about the same time, so who came last is who was in it for the
// shortest time: no clock of one host is held against another's. What a host did before a
// collective, since the end of its last one, is split into compiles, transfers, operators and the
// rest, which is its own code; the part by which the last one exceeds the others says why.
//
// Read from the bottom: hsc__dataset_stragglers gathers the collectives of every file
// (`gather_part`), brings captures that overlap in time together, numbers the occurrences, compares
// those of one number, and fills the table.
#include <math.h>
#include <stdlib.h>

#include "base/core/map.h"
#include "base/core/memory.h"
#include "base/text/text.h"
#include "views/dataset_internal.h"
#include "views/profile_internal.h"

typedef enum part { COMPILES, TRANSFERS, OPERATORS, HOST_CODE, PARTS } part;
static const char *const part_texts[PARTS] = {"compiles", "transfers", "operators", "host code"};
static const char *const part_categories[HOST_CODE] = {"compile", "transfer", "operator"};

// A process of a capture: how long it has been in each part so far.
typedef struct process {
  double busy_ns[HOST_CODE], until_ns[HOST_CODE];
} process;

// A device, or another track of a process that is in collectives.
typedef struct member {
  const char *host, *track;
  process *of;
  double begin_us, end_us;  // of its collectives, wall clock
  double last_ns;           // the end of the last one; NaN = none
  double busy_ns[HOST_CODE];
  int job;
} member;

typedef struct occurrence {
  int member, collective;
  int64_t number;  // in its member; until they are numbered, its place
  double ns;
  float before_ns[PARTS];  // NaN = nothing is known of it
} occurrence;

// A collective and a host that was the last in it.
typedef struct lateness {
  int64_t times;
  double waited_ns, behind_ns, more_ns[PARTS];
  int64_t explained;  // times of which it is known what came before
} lateness;

typedef struct collective {
  const char *executable, *name;
  int64_t times;  // compared
  int most;       // members
  double waited_ns;
  lateness *late;    // [hosts]
  double *expected;  // [hosts] times that each would be last by chance
} collective;

typedef struct stragglers {
  hsc_arena *arena;
  hsc_map *processes, *members, *collectives, *hosts;
  member **all;  // [member_count]
  int member_count, member_room;
  collective **each;  // [collective_count]
  int collective_count, collective_room;
  const char **host_names;
  int host_count, host_room;
  occurrence *occurrences;
  int64_t count, room, left_out, alone;
  int64_t files;
  int jobs;
  // of a group of rows
  size_t rows;
  hsc_view *texts[4];
  double *numbers[4];
} stragglers;

// Of one table: 64 bytes each.
static const int64_t MOST_OCCURRENCES = 8000000;
// Last more often than chance lets one of so many collectives be.
static const double CHANCE = 0.001;

// ---- what there is ------------------------------------------------------------------------------

// The number of a text, from 1; *out_fresh: it is a new one.
static hsc_status *number_of(
    stragglers *s, hsc_map *map, const char *key, size_t count, size_t *out, bool *out_fresh) {
  *out = (size_t)(uintptr_t)hsc_map_get(map, hsc_view_of(key));
  *out_fresh = *out == 0;
  if (*out)
    return NULL;
  *out = count + 1;
  const char *copy = hsc_arena_strdup(s->arena, key);
  HSC_TRY(hsc_arena_status(s->arena));
  return hsc_map_put(map, hsc_view_of(copy), (void *)(uintptr_t)*out);
}

static hsc_status *find_process(stragglers *s,
                                const hsc_dataset_part *p,
                                double pid,
                                process **out) {
  char key[64];
  snprintf(key, sizeof key, "%lld %.0f", (long long)p->number, pid);
  *out = hsc_map_get(s->processes, hsc_view_of(key));
  if (*out)
    return NULL;
  *out = HSC_NEW(s->arena, process);
  const char *copy = hsc_arena_strdup(s->arena, key);
  HSC_TRY(hsc_arena_status(s->arena));
  return hsc_map_put(s->processes, hsc_view_of(copy), *out);
}

static hsc_status *find_member(
    stragglers *s, const hsc_dataset_part *p, process *of, double pid, hsc_view track, int *out) {
  const char *key = hsc_arena_printf(s->arena, "%lld %.0f %.*s", (long long)p->number, pid,
                                     (int)track.size, track.data ? track.data : "");
  size_t number;
  bool fresh;
  HSC_TRY(hsc_arena_status(s->arena));
  HSC_TRY(number_of(s, s->members, key, (size_t)s->member_count, &number, &fresh));
  *out = (int)number - 1;
  if (!fresh)
    return NULL;
  if (!HSC_GROW(s->all, s->member_count, s->member_room))
    return hsc_status_out_of_memory();
  member *m = HSC_NEW(s->arena, member);
  HSC_TRY(hsc_arena_status(s->arena));
  *m = (member){.host = hsc_arena_strdup(s->arena, p->host),
                .track = hsc_arena_strndup(s->arena, track.data, track.size),
                .of = of,
                .begin_us = INFINITY,
                .end_us = -INFINITY,
                .last_ns = NAN};
  s->all[s->member_count++] = m;
  return hsc_arena_status(s->arena);
}

static hsc_status *find_collective(stragglers *s, hsc_view executable, hsc_view name, int *out) {
  const char *key =
      hsc_arena_printf(s->arena, "%.*s%c%.*s", (int)executable.size,
                       executable.data ? executable.data : "", 1, (int)name.size, name.data);
  size_t number;
  bool fresh;
  HSC_TRY(hsc_arena_status(s->arena));
  HSC_TRY(number_of(s, s->collectives, key, (size_t)s->collective_count, &number, &fresh));
  *out = (int)number - 1;
  if (!fresh)
    return NULL;
  if (!HSC_GROW(s->each, s->collective_count, s->collective_room))
    return hsc_status_out_of_memory();
  collective *c = HSC_NEW(s->arena, collective);
  HSC_TRY(hsc_arena_status(s->arena));
  *c = (collective){.executable = hsc_arena_strndup(s->arena, executable.data, executable.size),
                    .name = hsc_arena_strndup(s->arena, name.data, name.size)};
  s->each[s->collective_count++] = c;
  return hsc_arena_status(s->arena);
}

static hsc_status *find_host(stragglers *s, const char *name, size_t *out) {
  bool fresh;
  HSC_TRY(number_of(s, s->hosts, name, (size_t)s->host_count, out, &fresh));
  --*out;
  if (!fresh)
    return NULL;
  if (!HSC_GROW(s->host_names, s->host_count, s->host_room))
    return hsc_status_out_of_memory();
  s->host_names[s->host_count++] = name;
  return NULL;
}

// ---- a group of rows ----------------------------------------------------------------------------

static bool is_collective(hsc_view category, hsc_view name) {
  return hsc_view_equals_text(category, "collective") ||
         (hsc_view_equals_text(category, "operator") &&
          hsc__activity_of_category(name) == HSC_ACTIVITY_COLLECTIVE);
}

// Spans of a part lie in each other: what is counted is how long there was any.
static void count_busy(process *p, hsc_view category, double start_ns, double end_ns) {
  for (int i = 0; i < HOST_CODE; i++) {
    if (!hsc_view_equals_text(category, part_categories[i]))
      continue;
    double from = fmax(start_ns, p->until_ns[i]);
    if (end_ns > from)
      p->busy_ns[i] += end_ns - from;
    p->until_ns[i] = fmax(p->until_ns[i], end_ns);
  }
}

static hsc_status *add_occurrence(
    stragglers *s, int of, int collective_number, double start_ns, double ns) {
  member *m = s->all[of];
  if (s->count == MOST_OCCURRENCES) {
    s->left_out++;
    return NULL;
  }
  if (!HSC_GROW(s->occurrences, s->count, s->room))
    return hsc_status_out_of_memory();
  occurrence *o = &s->occurrences[s->count];
  *o = (occurrence){.member = of, .collective = collective_number, .number = s->count, .ns = ns};
  s->count++;
  double rest_ns = start_ns - m->last_ns;
  for (int i = 0; i < HOST_CODE; i++) {
    double in_part = m->of->busy_ns[i] - m->busy_ns[i];
    o->before_ns[i] = isnan(m->last_ns) ? NAN : (float)in_part;
    rest_ns -= in_part;
    m->busy_ns[i] = m->of->busy_ns[i];
  }
  o->before_ns[HOST_CODE] = isnan(m->last_ns) ? NAN : (float)fmax(rest_ns, 0);
  m->last_ns = start_ns + ns;
  return NULL;
}

enum { CATEGORY, NAME, TRACK, EXECUTABLE };
enum { START, DURATION, PID, TIME };

static hsc_status *read_columns(stragglers *s, const hsc_dataset_part *p) {
  static const char *const texts[] = {"category", "name", "thread", "executable"};
  static const char *const numbers[] = {"start_ns", "duration_ns", "pid", "time"};
  for (size_t i = 0; i < HSC_COUNT_OF(texts); i++) {
    size_t at;
    if (p->rows > s->rows) {
      hsc_free(s->texts[i]);
      hsc_free(s->numbers[i]);
      s->texts[i] = hsc_alloc(p->rows * sizeof *s->texts[i]);
      s->numbers[i] = hsc_alloc(p->rows * sizeof *s->numbers[i]);
    }
    if (!s->texts[i] || !s->numbers[i])
      return hsc_status_out_of_memory();
    HSC_TRY(hsc_dataset_column(p->file, texts[i], &at));
    HSC_TRY(hsc_parquet_group_texts(p->file, p->group, at, s->texts[i]));
    HSC_TRY(hsc_dataset_column(p->file, numbers[i], &at));
    HSC_TRY(hsc_parquet_group_doubles(p->file, p->group, at, s->numbers[i]));
  }
  if (p->rows > s->rows)
    s->rows = p->rows;
  return NULL;
}

// Rows are in the order of their starts.
static hsc_status *gather_part(void *user, const hsc_dataset_part *p) {
  stragglers *s = user;
  process *of = NULL;
  double pid = NAN;
  HSC_TRY(read_columns(s, p));
  s->files = p->number;
  for (size_t i = 0; i < p->rows; i++) {
    double start_ns = s->numbers[START][i];
    double ns = s->numbers[DURATION][i];
    hsc_view category = s->texts[CATEGORY][i];
    int at;
    int collective_number;
    if (isnan(ns) || !category.size)
      continue;
    if (!of || s->numbers[PID][i] != pid) {
      pid = s->numbers[PID][i];
      HSC_TRY(find_process(s, p, pid, &of));
    }
    if (!is_collective(category, s->texts[NAME][i])) {
      count_busy(of, category, start_ns, start_ns + ns);
      continue;
    }
    HSC_TRY(find_member(s, p, of, pid, s->texts[TRACK][i], &at));
    HSC_TRY(find_collective(s, s->texts[EXECUTABLE][i], s->texts[NAME][i], &collective_number));
    HSC_TRY(add_occurrence(s, at, collective_number, start_ns, ns));
    member *m = s->all[at];
    m->begin_us = fmin(m->begin_us, s->numbers[TIME][i]);
    m->end_us = fmax(m->end_us, s->numbers[TIME][i] + ns / 1000);
  }
  return NULL;
}

// ---- jobs and numbers ---------------------------------------------------------------------------

static int by_begin(const void *a, const void *b) {
  const member *x = *(member *const *)a;
  const member *y = *(member *const *)b;
  return x->begin_us < y->begin_us ? -1 : x->begin_us > y->begin_us;
}

// Members whose collectives overlap in time are of one job.
static hsc_status *find_jobs(stragglers *s) {
  member **sorted = HSC_NEW_ARRAY(s->arena, member *, s->member_count + 1);
  double end_us = -INFINITY;
  HSC_TRY(hsc_arena_status(s->arena));
  for (int i = 0; i < s->member_count; i++)
    sorted[i] = s->all[i];
  qsort(sorted, (size_t)s->member_count, sizeof *sorted, by_begin);
  for (int i = 0; i < s->member_count; i++) {
    s->jobs += sorted[i]->begin_us > end_us;
    sorted[i]->job = s->jobs;
    end_us = fmax(end_us, sorted[i]->end_us);
  }
  return NULL;
}

static int compare(int64_t a, int64_t b) {
  return a < b ? -1 : a > b;
}

static int by_member(const void *a, const void *b) {
  const occurrence *x = a;
  const occurrence *y = b;
  if (x->member != y->member)
    return compare(x->member, y->member);
  if (x->collective != y->collective)
    return compare(x->collective, y->collective);
  return compare(x->number, y->number);
}

// members: by number.
static int by_number(const void *a, const void *b, void *members) {
  member *const *all = members;
  const occurrence *x = a;
  const occurrence *y = b;
  int jobs = compare(all[x->member]->job, all[y->member]->job);
  if (jobs)
    return jobs;
  if (x->collective != y->collective)
    return compare(x->collective, y->collective);
  if (x->number != y->number)
    return compare(x->number, y->number);
  return compare(x->member, y->member);
}

// The k-th of a collective on one device belongs to the k-th on another.
static void number_all(stragglers *s) {
  int64_t number = 0;
  if (!s->count)
    return;
  qsort(s->occurrences, (size_t)s->count, sizeof *s->occurrences, by_member);
  for (int64_t i = 0; i < s->count; i++) {
    const occurrence *before = &s->occurrences[i ? i - 1 : 0];
    bool goes_on = i && before->member == s->occurrences[i].member &&
                   before->collective == s->occurrences[i].collective;
    number = goes_on ? number + 1 : 0;
    s->occurrences[i].number = number;
  }
  qsort_r(s->occurrences, (size_t)s->count, sizeof *s->occurrences, by_number, s->all);
}

// ---- who is late --------------------------------------------------------------------------------

// By how much the last one's time before exceeds the mean of the others', part by part.
static void explain(const occurrence *o, size_t n, size_t last, lateness *late) {
  for (size_t i = 0; i < n; i++)
    if (isnan(o[i].before_ns[HOST_CODE]))
      return;
  late->explained++;
  for (int p = 0; p < PARTS; p++) {
    double others = 0;
    for (size_t i = 0; i < n; i++)
      others += i == last ? 0 : (double)o[i].before_ns[p];
    late->more_ns[p] += (double)o[last].before_ns[p] - others / (double)(n - 1);
  }
}

// One time that a collective was run, by [n] members.
static hsc_status *judge(stragglers *s, const occurrence *o, size_t n) {
  collective *c = s->each[o->collective];
  double waited_ns = 0;
  size_t last = 0;
  size_t host;
  if (n < 2) {
    s->alone++;
    return NULL;
  }
  for (size_t i = 1; i < n; i++)
    if (o[i].ns < o[last].ns)
      last = i;
  if (!c->late) {
    c->late = HSC_NEW_ARRAY(s->arena, lateness, s->host_count + 1);
    c->expected = HSC_NEW_ARRAY(s->arena, double, s->host_count + 1);
    HSC_TRY(hsc_arena_status(s->arena));
  }
  for (size_t i = 0; i < n; i++) {
    HSC_TRY(find_host(s, s->all[o[i].member]->host, &host));
    c->expected[host] += 1.0 / (double)n;
    waited_ns += o[i].ns - o[last].ns;
  }
  HSC_TRY(find_host(s, s->all[o[last].member]->host, &host));
  lateness *late = &c->late[host];
  late->times++;
  late->waited_ns += waited_ns;
  late->behind_ns += waited_ns / (double)(n - 1);
  explain(o, n, last, late);
  c->times++;
  c->waited_ns += waited_ns;
  if ((int)n > c->most)
    c->most = (int)n;
  return NULL;
}

static hsc_status *judge_all(stragglers *s) {
  size_t host;
  for (int i = 0; i < s->member_count; i++)
    HSC_TRY(find_host(s, s->all[i]->host, &host));
  for (int64_t i = 0; i < s->count;) {
    const occurrence *o = &s->occurrences[i];
    size_t n = 1;
    while (i + (int64_t)n < s->count && o[n].collective == o->collective &&
           o[n].number == o->number && s->all[o[n].member]->job == s->all[o->member]->job)
      n++;
    HSC_TRY(judge(s, o, n));
    i += (int64_t)n;
  }
  return NULL;
}

// The probability that chance alone makes it the last one `times` times or more of `n`, when it
// does so with `share` each time.
static double tail(int64_t times, int64_t n, double share) {
  double sum = 0;
  if (times <= 0 || share >= 1)
    return 1;
  for (int64_t k = times; k <= n; k++) {
    double term = exp(lgamma((double)n + 1) - lgamma((double)k + 1) - lgamma((double)(n - k) + 1) +
                      (double)k * log(share) + (double)(n - k) * log1p(-share));
    sum += term;
    if (term < sum * 1e-12)
      break;
  }
  return fmin(sum, 1);
}

// ---- the table ----------------------------------------------------------------------------------

static int by_waiting(const void *a, const void *b) {
  const collective *x = *(collective *const *)a;
  const collective *y = *(collective *const *)b;
  if (x->waited_ns != y->waited_ns)
    return x->waited_ns < y->waited_ns ? 1 : -1;
  return strcmp(x->name, y->name);
}

// The part that explains half of what it is behind, at least.
static const char *why(const lateness *late, double *out_more_ns) {
  int most = 0;
  *out_more_ns = NAN;
  if (!late->explained)
    return "not seen: nothing came before";
  for (int p = 1; p < PARTS; p++)
    if (late->more_ns[p] > late->more_ns[most])
      most = p;
  double more_ns = late->more_ns[most] / (double)late->explained;
  if (more_ns < late->behind_ns / (double)late->times / 2)
    return "not seen: it took no longer before";
  *out_more_ns = more_ns;
  return part_texts[most];
}

// Whom most of the waiting in a collective is for, and whether that is more than chance.
typedef struct blame {
  int host;
  double p;
  bool blamed;
} blame;

static blame blame_of(const stragglers *s, const collective *c) {
  blame found = {0};
  for (int h = 1; h < s->host_count; h++)
    if (c->late[h].waited_ns > c->late[found.host].waited_ns)
      found.host = h;
  const lateness *late = &c->late[found.host];
  found.p = tail(late->times, c->times, c->expected[found.host] / (double)c->times);
  found.blamed = found.p < CHANCE && late->waited_ns > 0;
  return found;
}

static void put_row(const stragglers *s, const collective *c, hsc_table *table) {
  blame found = blame_of(s, c);
  const lateness *late = &c->late[found.host];
  double more_ns = NAN;
  const char *reason = found.blamed ? why(late, &more_ns) : "no host more often than chance";
  hsc_table_row(table);
  hsc_table_text(table, c->name);
  hsc_table_text(table, *c->executable ? c->executable : NULL);
  hsc_table_int(table, c->times);
  hsc_table_int(table, c->most);
  hsc_table_double(table, c->waited_ns);
  hsc_table_text(table, found.blamed ? s->host_names[found.host] : NULL);
  hsc_table_double(table, found.blamed ? (double)late->times / (double)c->times : NAN);
  hsc_table_double(table, found.blamed ? late->waited_ns / c->waited_ns : NAN);
  hsc_table_double(table, found.blamed ? late->behind_ns / (double)late->times : NAN);
  hsc_table_text(table, reason);
  hsc_table_double(table, more_ns);
  hsc_table_double(table, found.p);
}

// The answer: for whom the others wait most, over all collectives. They are in order of the
// waiting, so the first of a host says why.
static hsc_status *put_answer(stragglers *s, hsc_table *table) {
  double *waited_ns = HSC_NEW_ARRAY(s->arena, double, s->host_count + 1);
  const char **reasons = HSC_NEW_ARRAY(s->arena, const char *, s->host_count + 1);
  double all_ns = 0;
  int worst = 0;
  HSC_TRY(hsc_arena_status(s->arena));
  for (int i = 0; i < s->collective_count; i++) {
    const collective *c = s->each[i];
    if (!c->times)
      continue;
    blame found = blame_of(s, c);
    double ignored;
    all_ns += c->waited_ns;
    if (!found.blamed)
      continue;
    waited_ns[found.host] += c->late[found.host].waited_ns;
    if (!reasons[found.host])
      reasons[found.host] = why(&c->late[found.host], &ignored);
    if (waited_ns[found.host] > waited_ns[worst])
      worst = found.host;
  }
  if (all_ns > 0 && waited_ns[worst] > 0)
    hsc_table_note(table, "%.0f %% of the waiting in collectives is for %s: %s",
                   100 * waited_ns[worst] / all_ns, s->host_names[worst], reasons[worst]);
  else
    hsc_table_note(table, "no host is waited for more often than chance lets it be");
  return NULL;
}

static hsc_status *fill_table(stragglers *s, size_t limit, hsc_table *table) {
  static const char *const columns[][2] = {{"collective", ""},         {"executable", ""},
                                           {"times", "count"},         {"devices", "count"},
                                           {"waited", "ns"},           {"late host", ""},
                                           {"last in", "fraction"},    {"of waiting", "fraction"},
                                           {"behind", "ns"},           {"why", ""},
                                           {"more than others", "ns"}, {"p", ""}};
  int64_t times = 0;
  size_t rows = 0;
  for (size_t i = 0; i < HSC_COUNT_OF(columns); i++)
    hsc_table_column(table, columns[i][0], columns[i][1]);
  if (s->collective_count)
    qsort(s->each, (size_t)s->collective_count, sizeof *s->each, by_waiting);
  for (int i = 0; i < s->collective_count; i++) {
    times += s->each[i]->times;
    if (s->each[i]->times && (!limit || rows++ < limit))
      put_row(s, s->each[i], table);
  }
  if (!times) {
    hsc_table_note(table,
                   "no collective was seen on two devices at once: %lld %s, %lld %s on one each",
                   (long long)s->files, hsc_plural((double)s->files, "capture", "captures"),
                   (long long)s->count, hsc_plural((double)s->count, "collective", "collectives"));
    return NULL;
  }
  HSC_TRY(put_answer(s, table));
  hsc_table_note(table,
                 "%lld captures of %d %s (those that overlap in time are of one), %d %s; the k-th "
                 "time of a collective on one device is compared with the k-th on the others, and "
                 "who was in it for the shortest time came last",
                 (long long)s->files, s->jobs, hsc_plural(s->jobs, "job", "jobs"), s->host_count,
                 hsc_plural(s->host_count, "host", "hosts"));
  if (s->alone)
    hsc_table_note(table, "%lld times had no counterpart on another device and are not compared",
                   (long long)s->alone);
  if (s->left_out)
    hsc_table_note(table, "%lld of %lld collectives are left out: more than there is room for",
                   (long long)s->left_out, (long long)(s->left_out + s->count));
  return NULL;
}

hsc_status *hsc__dataset_stragglers(const char *path, size_t limit, hsc_table *table) {
  stragglers s = {0};
  hsc_status *status = NULL;
  HSC_GOTO(hsc_arena_create(&s.arena));
  HSC_GOTO(hsc_map_create(&s.processes));
  HSC_GOTO(hsc_map_create(&s.members));
  HSC_GOTO(hsc_map_create(&s.collectives));
  HSC_GOTO(hsc_map_create(&s.hosts));
  HSC_GOTO(hsc_dataset_each(path, gather_part, &s));
  HSC_GOTO(find_jobs(&s));
  number_all(&s);
  HSC_GOTO(judge_all(&s));
  status = fill_table(&s, limit, table);
done:
  hsc_map_destroy(s.processes);
  hsc_map_destroy(s.members);
  hsc_map_destroy(s.collectives);
  hsc_map_destroy(s.hosts);
  for (size_t i = 0; i < HSC_COUNT_OF(s.texts); i++) {
    hsc_free(s.texts[i]);
    hsc_free(s.numbers[i]);
  }
  hsc_free(s.all);
  hsc_free(s.each);
  hsc_free((void *)(uintptr_t)s.host_names);
  hsc_free(s.occurrences);
  hsc_arena_destroy(s.arena);
  return status;
}
