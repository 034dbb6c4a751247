// sweep_effects.c - timed passes of a sweep over hosts: effects, with hosts as a random effect.
//
// A ratio is taken inside one block of one process of one host (the job "interleave"), so speeds of
// hosts never enter it. A process gives one number for each pass, the mean over its blocks of the
// logarithm of without / with. Hosts may differ in the effect itself (caches, clocks, neighbours):
// what a claim is about is the mean over hosts, and its interval holds the variance between them.
//   y(host, process) = effect + host + process;   weights 1 / (within / n + between),
//   between by DerSimonian and Laird (Controlled Clinical Trials 7, 1986), the interval by Hartung
//   and Knapp (Statistics in Medicine 20, 2001), never narrower than with known variances.
#include <math.h>

#include "lab/run/json_tree.h"
#include "lab/sweep/sweep_internal.h"
#include "stats/stats.h"

enum { LEAST_PROCESSES = 6 };

// ---- the model ----------------------------------------------------------------------------------

typedef struct host_mean {
  double mean, squares;  // squares: of deviations from it
  int64_t count;
} host_mean;

// Means by host into `hosts` [host_count]; the pooled variance within hosts, NaN = not known.
static double within_hosts(
    const double *y, const int *host, size_t n, host_mean *hosts, int host_count) {
  double squares = 0;
  int64_t degrees = 0;
  for (size_t i = 0; i < n; i++) {
    hosts[host[i]].mean += y[i];
    hosts[host[i]].count++;
  }
  for (int h = 0; h < host_count; h++)
    if (hosts[h].count)
      hosts[h].mean /= (double)hosts[h].count;
  for (size_t i = 0; i < n; i++)
    hosts[host[i]].squares += (y[i] - hosts[host[i]].mean) * (y[i] - hosts[host[i]].mean);
  for (int h = 0; h < host_count; h++) {
    squares += hosts[h].squares;
    degrees += hosts[h].count ? hosts[h].count - 1 : 0;
  }
  return degrees ? squares / (double)degrees : NAN;
}

// DerSimonian and Laird.
static double between_hosts(const host_mean *hosts, int host_count, double within) {
  double sum = 0;
  double sum_squares = 0;
  double weighted = 0;
  double q = 0;
  int used = 0;
  for (int h = 0; h < host_count; h++) {
    double weight = hosts[h].count ? (double)hosts[h].count / within : 0;
    sum += weight;
    sum_squares += weight * weight;
    weighted += weight * hosts[h].mean;
    used += hosts[h].count > 0;
  }
  for (int h = 0; h < host_count; h++) {
    double off = hosts[h].mean - weighted / sum;
    q += hosts[h].count ? (double)hosts[h].count / within * off * off : 0;
  }
  double room = sum - sum_squares / sum;
  return used > 1 && room > 0 ? fmax(0, (q - (used - 1)) / room) : 0;
}

hsc_status *hsc_sweep_host_effect(
    const double *y, const int *host, size_t n, int host_count, hsc_sweep_effect *out) {
  host_mean *hosts = hsc_alloc(((size_t)host_count + 1) * sizeof *hosts);
  *out = (hsc_sweep_effect){.processes = (int64_t)n, .low = NAN, .high = NAN, .between_sd = NAN};
  if (!hosts)
    return hsc_status_out_of_memory();
  double within = within_hosts(y, host, n, hosts, host_count);
  bool known = isfinite(within) && within > 0;
  double between = known ? between_hosts(hosts, host_count, within) : 0;
  double sum = 0;
  double weighted = 0;
  double spread = 0;
  for (int h = 0; h < host_count; h++) {
    if (!hosts[h].count)
      continue;
    double weight =
        known ? 1 / (within / (double)hosts[h].count + between) : (double)hosts[h].count;
    sum += weight;
    weighted += weight * hosts[h].mean;
    out->hosts++;
  }
  double mean = sum > 0 ? weighted / sum : NAN;
  for (int h = 0; h < host_count && known; h++) {
    double weight = hosts[h].count ? 1 / (within / (double)hosts[h].count + between) : 0;
    spread += weight * (hosts[h].mean - mean) * (hosts[h].mean - mean);
  }
  out->ratio = exp(mean);
  if (known && out->hosts > 1)
    out->between_sd = sqrt(between);
  if (known && (int64_t)n >= LEAST_PROCESSES) {
    int64_t degrees = out->hosts > 1 ? out->hosts - 1 : (int64_t)n - 1;
    double variance = 1 / sum;
    if (out->hosts > 1)
      variance = fmax(variance, spread / (double)(out->hosts - 1) / sum);
    double half = hsc_stats_t_quantile(0.975, (double)degrees) * sqrt(variance);
    out->low = exp(mean - half);
    out->high = exp(mean + half);
  }
  hsc_free(hosts);
  return NULL;
}

// ---- from results -------------------------------------------------------------------------------

typedef struct effects {
  const hsc_sweep *sweep;
  const hsc_sweep_results *results;
  hsc_map *hosts;  // name -> number + 1
  hsc_arena *arena;
} effects;

static int host_number(effects *e, const char *name) {
  uintptr_t number = (uintptr_t)hsc_map_get(e->hosts, hsc_view_of(name));
  if (number)
    return (int)number - 1;
  number = hsc_map_count(e->hosts) + 1;
  hsc_status_free(hsc_map_put(e->hosts, hsc_view_of(name), (void *)number));
  return (int)number - 1;
}

// Mean over the blocks of a process of log(variant / baseline in the same block); NaN = none.
static double process_effect(const json_t *row, int variant) {
  enum { MOST_BLOCKS = 256, MOST_RUNS = 64 };
  json_t *runs = hsc_json_path(row, "series", "run_ns", NULL);
  json_t *variants = hsc_json_path(row, "series", "variant_count", NULL);
  json_t *blocks = hsc_json_path(row, "series", "block_count", NULL);
  double sum = 0;
  int count = 0;
  for (int block = 0; block < MOST_BLOCKS; block++) {
    double own[MOST_RUNS];
    double base[MOST_RUNS];
    size_t own_count = 0;
    size_t base_count = 0;
    for (size_t i = 0; i < json_array_size(runs); i++) {
      int64_t which = json_integer_value(json_array_get(variants, i));
      if (json_integer_value(json_array_get(blocks, i)) != block)
        continue;
      double ns = json_number_value(json_array_get(runs, i));
      if (which == variant && own_count < MOST_RUNS)
        own[own_count++] = ns;
      if (which == 0 && base_count < MOST_RUNS)
        base[base_count++] = ns;
    }
    if (!own_count && !base_count)
      break;
    if (!own_count || !base_count)
      continue;
    sum += log(hsc_stats_median(own, own_count) / hsc_stats_median(base, base_count));
    count++;
  }
  return count ? sum / count : NAN;
}

static bool is_placebo(const char *name) {
  return !strncmp(name, "hloscope-placebo-", 17);
}

// A host whose own placebo is not 1, by more than 1 % and half as much again as its 95 % interval
// is wide: of many hosts, some would be off by chance.
static hsc_status *note_placebos(effects *e,
                                 const hsc_sweep_task *first,
                                 const double *y,
                                 const int *host,
                                 size_t n,
                                 hsc_table *table) {
  static const double LEAST_OFF = 0.01;
  static const double WIDER = 1.5;
  double *own = HSC_NEW_ARRAY(e->arena, double, n + 1);
  int *alone = HSC_NEW_ARRAY(e->arena, int, n + 1);  // all 0: one host
  hsc_sweep_effect effect;
  HSC_TRY(hsc_arena_status(e->arena));
  for (size_t h = 0; h < hsc_map_count(e->hosts); h++) {
    hsc_view name;
    size_t count = 0;
    for (size_t i = 0; i < n; i++)
      if (host[i] == (int)h)
        own[count++] = y[i];
    HSC_TRY(hsc_sweep_host_effect(own, alone, count, 1, &effect));
    double off = fabs(log(effect.ratio));
    double half_width = (log(effect.high) - log(effect.low)) / 2;
    if (!(off > LEAST_OFF && off > WIDER * half_width))  // NaN: too few processes
      continue;
    hsc_map_at(e->hosts, h, &name);
    hsc_table_note(
        table,
        "%s on %s: the placebo of host %s is %.2f (%.2f to %.2f): what else was measured "
        "there says nothing",
        first->program, first->device, name.data, effect.ratio, effect.low, effect.high);
  }
  return NULL;
}

static hsc_status *add_effect(
    effects *e, const hsc_sweep_task *first, int variant, const char *name, hsc_table *table) {
  double *y = HSC_NEW_ARRAY(e->arena, double, e->sweep->count + 1);
  int *host = HSC_NEW_ARRAY(e->arena, int, e->sweep->count + 1);
  size_t n = 0;
  hsc_sweep_effect effect;
  HSC_TRY(hsc_arena_status(e->arena));
  for (int64_t i = 0; i < e->sweep->count; i++) {
    const hsc_sweep_task *task = &e->sweep->tasks[i];
    const json_t *row = e->results->rows[i];
    if (task->group != first->group || strcmp(task->off, first->off) != 0 || !row)
      continue;
    double value = process_effect(row, variant);
    if (!isfinite(value))
      continue;
    y[n] = value;
    host[n++] = host_number(e, hsc__sweep_text(row, "host"));
  }
  HSC_TRY(hsc_sweep_host_effect(y, host, n, (int)hsc_map_count(e->hosts), &effect));
  hsc_table_row(table);
  hsc_table_text(table, first->program);
  hsc_table_text(table, first->device);
  hsc_table_text(table, name);
  hsc_table_int(table, effect.processes);
  hsc_table_int(table, effect.hosts);
  hsc_table_double(table, n ? effect.ratio : NAN);
  hsc_table_double(table, effect.low);
  hsc_table_double(table, effect.high);
  hsc_table_double(table, effect.between_sd);
  bool off_one = effect.low > 1 || effect.high < 1;
  if (is_placebo(name) && off_one)
    hsc_table_note(table, "%s on %s: the placebo is not 1: what it is beside says nothing",
                   first->program, first->device);
  if (is_placebo(name) && effect.hosts > 1)
    return note_placebos(e, first, y, host, n, table);
  return NULL;
}

// The same set of passes on the same program: repeats are processes of one experiment.
static bool is_first(const hsc_sweep *sweep, int64_t number) {
  for (int64_t i = 0; i < number; i++)
    if (sweep->tasks[i].group == sweep->tasks[number].group &&
        !strcmp(sweep->tasks[i].off, sweep->tasks[number].off))
      return false;
  return true;
}

// ---- hosts --------------------------------------------------------------------------------------

// A host whose baselines became slower or faster over the sweep, against its own earlier half, by
// more than 10 %.
static void note_drift(effects *e, const char *name, hsc_table *table) {
  double *early = HSC_NEW_ARRAY(e->arena, double, 2 * e->sweep->count + 2);
  double *late = early + e->sweep->count + 1;
  size_t counts[2] = {0, 0};
  int64_t from = INT64_MAX;
  int64_t to = 0;
  if (hsc_arena_status(e->arena))
    return;
  for (int pass = 0; pass < 2; pass++)
    for (int64_t i = 0; i < e->sweep->count; i++) {
      const json_t *row = e->results->rows[i];
      int64_t at = json_integer_value(json_object_get(row, "started_ns"));
      double took_s = json_number_value(json_object_get(row, "took_s"));
      if (!row || strcmp(hsc__sweep_text(row, "host"), name) != 0 || !(took_s > 0))
        continue;
      if (pass == 0) {
        from = at < from ? at : from;
        to = at > to ? at : to;
        continue;
      }
      // against what is expected of it: programs differ
      double relative = log(took_s / e->sweep->tasks[i].cost_s);
      bool is_late = at > from + (to - from) / 2;
      (is_late ? late : early)[counts[is_late]++] = relative;
    }
  if (counts[0] < LEAST_PROCESSES || counts[1] < LEAST_PROCESSES)
    return;
  double change = exp(hsc_stats_median(late, counts[1]) - hsc_stats_median(early, counts[0]));
  double p = hsc_stats_mann_whitney(early, counts[0], late, counts[1], NULL);
  if (p < 0.001 && (change > 1.1 || change < 1 / 1.1))
    hsc_table_note(table, "host %s drifts: its later half took %.2f times as long as its earlier",
                   name, change);
}

static void note_hosts(effects *e, hsc_table *table) {
  json_t *process;
  size_t i;
  for (size_t h = 0; h < hsc_map_count(e->hosts); h++) {
    hsc_view name;
    char worst = 0;
    hsc_map_at(e->hosts, h, &name);
    json_array_foreach (e->results->processes, i, process) {
      const char *grade = json_string_value(hsc_json_path(process, "environment", "grade", NULL));
      if (grade && !strcmp(hsc__sweep_text(process, "host"), name.data) && *grade > worst)
        worst = *grade;
    }
    if (worst > 'A')
      hsc_table_note(table, "host %s had grade %c", name.data, worst);
    note_drift(e, name.data, table);
  }
}

hsc_status *hsc_sweep_effects(const hsc_sweep *sweep,
                              const hsc_sweep_results *results,
                              hsc_table **out_table) {
  static const char *const columns[][2] = {
      {"program", ""},   {"device", ""},    {"off", ""},
      {"processes", ""}, {"hosts", ""},     {"ratio", "ratio"},
      {"low", "ratio"},  {"high", "ratio"}, {"between hosts", "fraction"}};
  effects e = {.sweep = sweep, .results = results};
  hsc_table *table = NULL;
  hsc_status *status = NULL;
  HSC_GOTO(hsc_arena_create(&e.arena));
  HSC_GOTO(hsc_map_create(&e.hosts));
  HSC_GOTO(hsc_table_create("effects", &table));
  for (size_t c = 0; c < HSC_COUNT_OF(columns); c++)
    hsc_table_column(table, columns[c][0], columns[c][1]);
  for (int64_t i = 0; i < sweep->count && !status; i++) {
    const json_t *names = hsc_json_path(sweep->tasks[i].line, "do", "names", NULL);
    if (!names || !is_first(sweep, i))
      continue;
    for (size_t v = 1; v < json_array_size(names) && !status; v++)
      status = add_effect(&e, &sweep->tasks[i], (int)v, json_string_value(json_array_get(names, v)),
                          table);
  }
  if (!status && !hsc_table_row_count(table))
    status = HSC_ERR(INVALID_ARGUMENT, "%s holds no timed tasks: sweep plan time makes them",
                     sweep->folder);
  if (!status) {
    note_hosts(&e, table);
    hsc_table_note(table,
                   "time without the pass over time with it, in one block of one process of one "
                   "host; 95 %% interval of the mean over hosts, from %d processes on",
                   LEAST_PROCESSES);
  }
done:
  if (status)
    hsc_table_destroy(table);
  else
    *out_table = table;
  hsc_map_destroy(e.hosts);
  hsc_arena_destroy(e.arena);
  return status;
}
