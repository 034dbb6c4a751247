// patterns_findings.c - patterns against each other, and answers in words to what the analysis was
// made to find out. Every sentence is made from numbers of this very run; a question whose data are
// missing is not answered.
#include <math.h>

#include "base/text/text.h"
#include "lab/patterns/patterns_internal.h"
#include "stats/stats_design.h"
#include "stats/stats_interleaved.h"

// Patterns are said to do different work when their operations differ by more.
static const double WORK_MARGIN = 0.05;

static double at(json_t *tree, const char *a, const char *b, const char *c) {
  return hsc_json_number(hsc_json_path(tree, a, b, c, NULL));
}

static void put(hsc_bytes *text, const char *format, ...) HSC_PRINTF(2, 3);
static void put(hsc_bytes *text, const char *format, ...) {
  va_list args;
  va_start(args, format);
  hsc_bytes_printf_v(text, format, args);
  va_end(args);
}

static const char *time_text(double seconds, char out[32]) {
  hsc_format_quantity(seconds, "s", false, out);
  return out;
}

// "1 configuration", "8 configurations".
static const char *configurations(size_t n, char out[48]) {
  snprintf(out, 48, "%zu configuration%s", n, hsc_plural((double)n, "", "s"));
  return out;
}

static void add_question(
    json_t *questions, const char *id, const char *question, hsc_bytes *answer, json_t *evidence) {
  if (answer->size)
    json_array_append_new(
        questions, json_pack("{s:s, s:s, s:s, s:o}", "id", id, "question", question, "answer",
                             hsc_bytes_text(answer), "evidence", evidence));
  else
    json_decref(evidence);
  hsc_bytes_deinit(answer);
}

// ---- comparisons --------------------------------------------------------------------------------

static const pattern_config *find(const patterns_run *run, const char *graph, const char *pattern) {
  for (size_t i = 0; i < run->config_count; i++)
    if (!strcmp(run->configs[i].graph, graph) && !strcmp(run->configs[i].pattern->name, pattern))
      return &run->configs[i];
  return NULL;
}

// Many comparisons are many chances to be wrong: a claim must hold among all of them (Benjamini &
// Hochberg, 5 %).
static void discover(json_t *rows, const double *p, double *q) {
  json_t *row;
  size_t i;
  hsc_stats_benjamini_hochberg(p, json_array_size(rows), q);
  json_array_foreach (rows, i, row) {
    const char *verdict = json_string_value(json_object_get(row, "verdict"));
    bool claims = !strcmp(verdict, "faster") || !strcmp(verdict, "slower");
    json_object_set_new(row, "q_value", hsc_json_real(q[i]));
    if (claims && json_array_size(rows) > 1 && !(q[i] <= 0.05))
      json_object_set_new(row, "verdict", json_string("cannot tell"));
  }
}

// Times of programs that do different work are no comparison of patterns: how much more or less the
// pattern does than the loop, and whether that is known.
static void put_work(const pattern_config *config, const pattern_config *natural, json_t *row) {
  double own = at(config->work, "operations", NULL, NULL);
  double other = at(natural->work, "operations", NULL, NULL);
  double own_trips = at(config->work, "loop_trips", NULL, NULL);
  double other_trips = at(natural->work, "loop_trips", NULL, NULL);
  bool alike = config->work && natural->work &&
               json_equal(json_object_get(config->work, "counted_on"),
                          json_object_get(natural->work, "counted_on"));
  double ratio = alike && other > 0 ? own / other : NAN;
  bool differs = fabs(ratio - 1) > WORK_MARGIN;
  json_object_set_new(row, "work_ratio", hsc_json_real(ratio));
  json_object_set_new(row, "same_work", isnan(ratio) ? json_null() : json_boolean(!differs));
  if (isnan(ratio)) {
    json_object_set_new(row, "work_note",
                        json_string("not known whether both do the same work: it was not counted"));
  } else if (differs) {
    char trips[64] = "";
    if (own_trips > 0 || other_trips > 0)
      snprintf(trips, sizeof trips, "; loops run %.0f times against %.0f", own_trips, other_trips);
    json_object_set_new(
        row, "work_note",
        json_sprintf("does %.3gx the operations (%.3g against %.3g%s)", ratio, own, other, trips));
  }
}

// What a pattern took in each worker process of the model's, ns, where both were measured in it.
static size_t take_processes(const pattern_config *config,
                             const pattern_config *natural,
                             double x[HSC__MODEL_PROCESSES],
                             double y[HSC__MODEL_PROCESSES]) {
  size_t n = 0;
  for (size_t p = 0; p < HSC__MODEL_PROCESSES; p++) {
    double own = hsc__patterns_process_ns(config, p);
    double other = hsc__patterns_process_ns(natural, p);
    if (!(own > 0) || !(other > 0))
      continue;
    x[n] = own;
    y[n++] = other;
  }
  return n;
}

// Trials share one process, so they cannot tell a pattern from where its process came to lie: the
// ratio and its interval are those of the worker processes, in which both ran one after the other.
static hsc_status *compare_patterns(const patterns_run *run, json_t *out) {
  double *p = HSC_NEW_ARRAY(run->arena, double, 2 * run->config_count + 2);
  double *q = p + run->config_count + 1;
  HSC_TRY(hsc_arena_status(run->arena));
  double margin =
      hsc_stats_grade_margin(json_string_value(json_object_get(run->environment, "grade")), 0.05);
  for (size_t i = 0; i < run->config_count; i++) {
    const pattern_config *config = &run->configs[i];
    const pattern_config *natural = find(run, config->graph, "natural");
    double x[HSC__MODEL_PROCESSES];
    double y[HSC__MODEL_PROCESSES];
    if (!natural || natural == config)
      continue;
    size_t n = take_processes(config, natural, x, y);
    if (!n)
      continue;
    hsc_comparison c;
    char why[160];
    HSC_TRY(hsc_stats_compare_processes(x, n, y, n, true, margin, &c));
    const char *few = hsc_stats_too_few_processes(&c, n, n, why);
    p[json_array_size(out)] = c.p_value;
    json_t *row = json_pack(
        "{s:s, s:s, s:s, s:{s:o, s:o, s:o}, s:I, s:o, s:s, s:o, s:o, s:s?}", "graph", config->graph,
        "pattern", config->pattern->key, "against", natural->pattern->key, "ratio", "estimate",
        hsc_json_real(c.ratio.estimate), "low", hsc_json_real(c.ratio.low), "high",
        hsc_json_real(c.ratio.high), "processes", (json_int_t)n, "p_value",
        hsc_json_real(c.p_value), "verdict", hsc_verdict_text(c.verdict), "shift",
        hsc_json_real(hsc__seconds(c.shift)), "more_processes",
        c.verdict == HSC_VERDICT_CANNOT_TELL ? hsc_json_real(c.more_runs) : json_null(), "why",
        few);
    put_work(config, natural, row);
    json_array_append_new(out, row);
  }
  discover(out, p, q);
  return NULL;
}

// ---- questions ----------------------------------------------------------------------------------

// A median and the configurations that it is of.
typedef struct first_trials {
  double *compile, *transfer, *rest, *more;
  size_t count, looked_at;
} first_trials;

// What the first run of trial 1 takes more than the usual cached run, in parts that add up: the
// compile, the transfer, and what is left. The cached run is the median over the trials: one alone
// may be slow for reasons of its own. A first run that is faster elsewhere than the cached one has
// no such rest.
static void take_first_trials(const patterns_run *run, first_trials *out) {
  for (size_t i = 0; i < run->config_count; i++) {
    const pattern_config *config = &run->configs[i];
    json_t *first = json_array_get(json_object_get(config->trials[0], "records"), 0);
    const char *outcome = json_string_value(json_object_get(first, "compile"));
    double usual_ns = 1e9 * at(config->result, "cached_run", "median", NULL);
    if (!first || !outcome || strcmp(outcome, "miss") != 0 || !(usual_ns > 0))
      continue;
    out->looked_at++;
    double more = at(first, "total_ns", NULL, NULL) - usual_ns;
    double compile = at(first, "compile_ns", NULL, NULL);
    double transfer = at(first, "transfer_in_ns", NULL, NULL);
    double rest = fmax(0, more - compile - transfer);
    double parts = compile + transfer + rest;
    if (!(more > 0) || !(parts > 0))
      continue;
    out->more[out->count] = hsc__seconds(more);
    out->compile[out->count] = compile / parts;
    out->transfer[out->count] = transfer / parts;
    out->rest[out->count++] = rest / parts;
  }
}

static const char *why_lead(double compile, double transfer, double rest) {
  if (compile >= 0.5)
    return "Because it compiles.";
  if (transfer > compile && transfer > rest)
    return "Because it transfers its inputs.";
  if (rest > compile)
    return "Because its code and memory are cold.";
  return "Mostly because it compiles.";
}

static void why_first_is_slow(const patterns_run *run, json_t *result, json_t *questions) {
  size_t room = run->config_count + 1;
  double *all = HSC_NEW_ARRAY(run->arena, double, 4 * room);
  if (!all)
    return;
  first_trials s = {all, all + room, all + 2 * room, all + 3 * room, 0, 0};
  take_first_trials(run, &s);
  if (s.count == 0)
    return;
  char more[32], client[32], load[32], many[48];
  json_t *starts = hsc_json_path(result, "device", "phases", NULL);
  double compile_share = hsc_stats_median(s.compile, s.count);
  double transfer_share = hsc_stats_median(s.transfer, s.count);
  double rest_share = hsc_stats_median(s.rest, s.count);
  double more_s = hsc_stats_median(s.more, s.count);
  double client_s = at(starts, "client_create", "median", NULL);
  double load_s =
      at(starts, "plugin_load", "median", NULL) + at(starts, "plugin_initialize", "median", NULL);
  hsc_bytes text = {0};
  put(&text,
      "%s Over %s the first run of trial 1 takes %s more than a cached one (median); its compile "
      "is %.0f %% of that, the transfer of the inputs %.0f %%, cold code and first touch of memory "
      "%.0f %%. ",
      why_lead(compile_share, transfer_share, rest_share), configurations(s.count, many),
      time_text(more_s, more), 100 * compile_share, 100 * transfer_share, 100 * rest_share);
  if (s.looked_at > s.count)
    put(&text, "In %zu more it was not slower. ", s.looked_at - s.count);
  put(&text,
      "It is not the initialisation of the device: loading the plugin (%s) and creating the client "
      "(%s) were over before, and are phases of their own.",
      time_text(load_s, load), time_text(client_s, client));
  add_question(questions, "first_trial", "Why is the first trial slow?", &text,
               json_pack("{s:I, s:f, s:f, s:f, s:f, s:f}", "configurations", (json_int_t)s.count,
                         "median_excess", more_s, "compile_share", compile_share, "transfer_share",
                         transfer_share, "plugin_load", load_s, "client_create", client_s));
}

// Median over the repeats of one run's member.
static double puzzle_median(json_t *repeats, size_t run_index, const char *member) {
  double values[16];
  size_t n = json_array_size(repeats) < 16 ? json_array_size(repeats) : 16;
  for (size_t i = 0; i < n; i++)
    values[i] = hsc_json_number(
        json_object_get(json_array_get(json_array_get(repeats, i), run_index), member));
  return hsc_stats_median(values, n);
}

static const char *puzzle_text(json_t *repeats, size_t run_index, const char *member) {
  const char *text = json_string_value(
      json_object_get(json_array_get(json_array_get(repeats, 0), run_index), member));
  return text ? text : "";
}

static void cases_json(json_t *repeats, json_t *out) {
  for (size_t r = 0; r < 4; r++) {
    size_t compiles = 0;
    for (size_t i = 0; i < json_array_size(repeats); i++)
      compiles += !strcmp(json_string_value(json_object_get(
                              json_array_get(json_array_get(repeats, i), r), "compile")),
                          "miss");
    json_array_append_new(
        out, json_pack("{s:I, s:f, s:f, s:I, s:I, s:s}", "run", (json_int_t)r, "seconds",
                       hsc__seconds(puzzle_median(repeats, r, "total_ns")), "compile",
                       hsc__seconds(puzzle_median(repeats, r, "compile_ns")), "compiles",
                       (json_int_t)compiles, "repeats", (json_int_t)json_array_size(repeats),
                       "fingerprint", puzzle_text(repeats, r, "fingerprint")));
  }
}

// The experiment of patterns_puzzle.c: the "cached" run that compiles.
static void why_cached_is_slow(const patterns_run *run, json_t *result, json_t *questions) {
  json_t *experiments = json_array();
  json_t *entry;
  json_object_set_new(result, "second_compile", experiments);
  size_t i;
  hsc_bytes text = {0};
  json_array_foreach (run->puzzle, i, entry) {
    json_t *constant = json_object_get(entry, "constant");
    json_t *control = json_object_get(entry, "control");
    json_t *input = json_object_get(entry, "input");
    json_t *with = json_array();
    json_t *without = json_array();
    cases_json(constant, with);
    cases_json(control, without);
    const char *name = json_string_value(json_object_get(input, "name"));
    const char *shape = json_string_value(json_object_get(input, "shape"));
    long long argument = json_integer_value(json_object_get(entry, "argument"));
    char cause[512];
    bool again = strcmp(puzzle_text(constant, 0, "fingerprint"),
                        puzzle_text(constant, 1, "fingerprint")) != 0 &&
                 !strcmp(puzzle_text(constant, 1, "compile"), "miss");
    snprintf(cause, sizeof cause,
             "%s: argument %lld (%s) was a constant (%s broadcast of 1), now a parameter",
             again ? "compiled again" : "not compiled again", argument, name ? name : "?",
             shape ? shape : "?");
    double cached[3];
    for (size_t r = 0; r < 3; r++)
      cached[r] = hsc__seconds(puzzle_median(constant, r + 1, "total_ns"));
    json_array_append_new(
        experiments,
        json_pack("{s:O, s:O, s:O, s:s, s:o, s:o, s:{s:f, s:f, s:f}}", "configuration",
                  json_object_get(entry, "key"), "argument", json_object_get(entry, "argument"),
                  "input", input, "cause", cause, "input_made_on_the_device", with,
                  "input_transferred_before", without, "cached_runs_read_three_ways", "mean",
                  hsc_stats_mean(cached, 3), "median", hsc_stats_median(cached, 3), "largest",
                  hsc_stats_max(cached, 3)));
    if (!again)
      continue;
    char t[6][32];
    double compile = hsc__seconds(puzzle_median(constant, 1, "compile_ns"));
    double more = cached[0] - cached[1];
    put(&text,
        "%s%sIn %s run 1, which was to be cached, takes %s and run 2 %s; %s of it is a compile. ",
        text.size ? "\n" : "", more > 0 && compile >= more / 2 ? "Because it compiles again. " : "",
        json_string_value(json_object_get(entry, "key")), time_text(cached[0], t[0]),
        time_text(cached[1], t[1]), time_text(compile, t[2]));
    put(&text, "Run 1 is another program than run 0, which took %s (%.8s... after %.8s...): %s. ",
        time_text(hsc__seconds(puzzle_median(constant, 0, "total_ns")), t[3]),
        puzzle_text(constant, 1, "fingerprint"), puzzle_text(constant, 0, "fingerprint"), cause);
    put(&text,
        "With the input transferred before, run 1 takes %s. The mean of the cached runs would say "
        "%s, their median says %s.",
        time_text(hsc__seconds(puzzle_median(control, 1, "total_ns")), t[3]),
        time_text(hsc_stats_mean(cached, 3), t[4]), time_text(hsc_stats_median(cached, 3), t[5]));
  }
  add_question(questions, "second_compile", "Why can a run be slow although it was \"cached\"?",
               &text, json_object());
}

// The theory of the seed: a vectorised application costs what one application costs, so vmap should
// be as many times as fast as the loop has applications. Beside it what was measured: warm, and
// with the compile, for the first run.
static void vmap_speedup(const patterns_run *run, json_t *result) {
  json_t *rows = json_array();
  json_object_set_new(result, "vmap_speedup", rows);
  for (size_t i = 0; i < run->config_count; i++) {
    const pattern_config *vmap = &run->configs[i];
    if (strcmp(vmap->pattern->name, "vmap") != 0)
      continue;
    const pattern_config *loop = find(run, vmap->graph, "natural");
    const pattern_config *one = find(run, vmap->graph, "dependent");
    double loop_s = loop ? at(loop->result, "run", "median", NULL) : NAN;
    double vmap_s = at(vmap->result, "run", "median", NULL);
    double one_s = one ? at(one->result, "run", "median", NULL) / one->pattern->executions : NAN;
    double loop_compile = loop ? at(loop->result, "phases", "compile_miss", "median") : NAN;
    double vmap_compile = at(vmap->result, "phases", "compile_miss", "median");
    if (!(loop_s > 0) || !(vmap_s > 0))
      continue;
    json_array_append_new(
        rows, json_pack("{s:s, s:o, s:f, s:o, s:o, s:f, s:o}", "graph", vmap->graph, "predicted",
                        one_s > 0 ? json_real(loop_s / one_s) : json_null(), "measured",
                        loop_s / vmap_s, "predicted_with_compile",
                        hsc_json_real((loop_compile + loop_s) / (vmap_compile + one_s)),
                        "measured_with_compile",
                        hsc_json_real((loop_compile + loop_s) / (vmap_compile + vmap_s)), "loop",
                        loop_s, "one_application", hsc_json_real(one_s)));
  }
}

// Whether a pattern is the heaviest of its graph: slower than the loop by its verdict, and by more
// than each other pattern whatever their intervals leave open.
static bool is_heaviest(json_t *comparisons, json_t *row) {
  json_t *other;
  size_t i;
  if (strcmp(json_string_value(json_object_get(row, "verdict")), "slower") != 0)
    return false;
  json_array_foreach (comparisons, i, other)
    if (other != row &&
        json_equal(json_object_get(other, "graph"), json_object_get(row, "graph")) &&
        !(at(row, "ratio", "low", NULL) > at(other, "ratio", "high", NULL)))
      return false;
  return true;
}

static void what_vmap_costs(const patterns_run *run,
                            json_t *result,
                            json_t *comparisons,
                            json_t *questions) {
  size_t i;
  size_t n = 0;
  size_t verdicts[4] = {0};
  size_t heaviest = 0;
  size_t other_work = 0;
  double log_sum = 0;
  double least = INFINITY;
  double most = 0;
  json_t *row;
  json_array_foreach (comparisons, i, row) {
    if (strcmp(json_string_value(json_object_get(row, "pattern")), "vmap") != 0)
      continue;
    double ratio = at(row, "ratio", "estimate", NULL);
    if (!(ratio > 0))
      continue;
    if (json_is_false(json_object_get(row, "same_work"))) {
      other_work++;
      continue;
    }
    n++;
    log_sum += log(ratio);
    least = fmin(least, ratio);
    most = fmax(most, ratio);
    heaviest += is_heaviest(comparisons, row);
    for (int v = 0; v < 4; v++)
      verdicts[v] += !strcmp(json_string_value(json_object_get(row, "verdict")),
                             hsc_verdict_text((hsc_verdict)v));
  }
  hsc_bytes text = {0};
  if (n == 0 && other_work > 0) {
    put(&text,
        "It cannot be said: on %s vmap does other work than the loop, and its time compares "
        "nothing there.",
        other_work == 1 ? "the only graph" : "all graphs");
    add_question(questions, "vmap", "What does vmap really cost?", &text,
                 json_pack("{s:I}", "other_work", (json_int_t)other_work));
  }
  if (n == 0)
    return;
  char work[100] = "";
  if (other_work)
    snprintf(work, sizeof work, "; on %zu more it does other work, and its time compares nothing",
             other_work);
  put(&text,
      "Three inputs under vmap take %.2fx of what three applications in a natural loop take "
      "(geometric mean over %zu "
      "graph%s; least %.2fx, most %.2fx%s): faster on %zu, "
      "slower on %zu, the same on %zu, cannot tell on %zu. ",
      exp(log_sum / (double)n), n, hsc_plural((double)n, "", "s"), least, most, work,
      verdicts[HSC_VERDICT_FASTER], verdicts[HSC_VERDICT_SLOWER], verdicts[HSC_VERDICT_SAME],
      verdicts[HSC_VERDICT_CANNOT_TELL]);
  if (heaviest > 0)
    put(&text, "It is the heaviest pattern on %zu of %zu.", heaviest, n);
  json_t *speedups = json_object_get(result, "vmap_speedup");
  double *predicted = HSC_NEW_ARRAY(run->arena, double, json_array_size(speedups) + 1);
  double *measured = HSC_NEW_ARRAY(run->arena, double, json_array_size(speedups) + 1);
  size_t both = 0;
  json_array_foreach (speedups, i, row) {
    if (!predicted || !measured || !json_is_real(json_object_get(row, "predicted")))
      continue;
    predicted[both] = at(row, "predicted", NULL, NULL);
    measured[both++] = at(row, "measured", NULL, NULL);
  }
  if (both)
    put(&text,
        " If a vectorised application cost what one application costs, vmap would be %.2fx as fast "
        "as the loop; measured is %.2fx (medians over %zu).",
        hsc_stats_median(predicted, both), hsc_stats_median(measured, both), both);
  add_question(questions, "vmap", "What does vmap really cost?", &text,
               json_pack("{s:f, s:f, s:f, s:I, s:I, s:I, s:I, s:I}", "geometric_mean_ratio",
                         exp(log_sum / (double)n), "least", least, "most", most, "faster",
                         (json_int_t)verdicts[0], "slower", (json_int_t)verdicts[1], "same",
                         (json_int_t)verdicts[2], "cannot_tell", (json_int_t)verdicts[3],
                         "heaviest_on", (json_int_t)heaviest));
}

// What waiting for execution and what the call itself takes, on the dependent loops; the model is
// asked only where it was not refused.
static void what_syncs_cost(const patterns_run *run, json_t *result, json_t *questions) {
  double *shares = HSC_NEW_ARRAY(run->arena, double, run->config_count + 1);
  double *totals = HSC_NEW_ARRAY(run->arena, double, run->config_count + 1);
  double *waits = HSC_NEW_ARRAY(run->arena, double, run->config_count + 1);
  double *a = HSC_NEW_ARRAY(run->arena, double, run->config_count + 1);
  size_t n = 0;
  size_t fits = 0;
  size_t told_apart = 0;
  size_t refused = 0;
  for (size_t i = 0; shares && totals && waits && a && i < run->config_count; i++) {
    json_t *model =
        hsc_json_path(result, "theoretical_analysis", run->configs[i].key, "model", NULL);
    json_t *split = json_object_get(model, "sync_split");
    double share = at(split, "overhead_share_of_run", NULL, NULL);
    if (strcmp(run->configs[i].pattern->name, "dependent") != 0 || isnan(share))
      continue;
    shares[n] = share;
    totals[n] = at(split, "total", NULL, NULL);
    waits[n++] = at(split, "waiting_for_execution", NULL, NULL);
    refused += json_is_string(json_object_get(model, "refused"));
    double sync = at(model, "a_sync", "estimate", NULL);
    if (isnan(sync))
      continue;
    a[fits++] = sync;
    told_apart += json_is_true(json_object_get(model, "sync_is_told_apart"));
  }
  if (n == 0)
    return;
  char idle[32], fitted[32], total[32], wait[32];
  double share = hsc_stats_median(shares, n);
  double idle_s = at(result, "sync_baseline", "median", NULL);
  hsc_bytes text = {0};
  put(&text, share > 0.5 ? "Yes. " : "No. ");
  put(&text,
      "A synchronisation with nothing to wait for costs %s. A dependent loop spends %s in its "
      "synchronisations (median over %zu), of which %s is waiting for the execution; the calls "
      "themselves are %.1f %% of the run.",
      time_text(idle_s, idle), time_text(hsc_stats_median(totals, n), total), n,
      time_text(hsc_stats_median(waits, n), wait), 100 * share);
  if (told_apart)
    put(&text,
        " In the fit over k executions and s synchronisations one more costs %s (median over %zu "
        "loops); its interval excludes zero on %zu of them.",
        time_text(hsc_stats_median(a, fits), fitted), fits, told_apart);
  else if (fits)
    put(&text,
        " In the fit over k executions and s synchronisations their cost cannot be distinguished "
        "from zero "
        "on any of %zu loops.",
        fits);
  if (refused)
    put(&text, " On %zu of %zu the fit misses the measured run and is not used.", refused, n);
  add_question(questions, "sync", "Does synchronisation dominate the dependent loop?", &text,
               json_pack("{s:f, s:f, s:f, s:f, s:o, s:I, s:I, s:I}", "idle_sync", idle_s, "total",
                         hsc_stats_median(totals, n), "waiting_for_execution",
                         hsc_stats_median(waits, n), "overhead_share_of_run", share, "fitted_sync",
                         fits ? hsc_json_real(hsc_stats_median(a, fits)) : json_null(),
                         "configurations", (json_int_t)n, "told_apart", (json_int_t)told_apart,
                         "refused", (json_int_t)refused));
}

static void when_compiling_pays(const patterns_run *run, json_t *result, json_t *questions) {
  double *half = HSC_NEW_ARRAY(run->arena, double, run->config_count + 1);
  double *errors = HSC_NEW_ARRAY(run->arena, double, run->config_count + 1);
  size_t n = 0;
  size_t m = 0;
  size_t inside = 0;
  size_t refused = 0;
  for (size_t i = 0; half && errors && i < run->config_count; i++) {
    json_t *model =
        hsc_json_path(result, "theoretical_analysis", run->configs[i].key, "model", NULL);
    double runs = at(model, "runs_until_compile_under_half", "estimate", NULL);
    double error = at(model, "held_out_worst_relative_error", NULL, NULL);
    bool is_refused = json_is_string(json_object_get(model, "refused"));
    if (runs > 0)
      half[n++] = runs;
    refused += is_refused;
    if (isnan(error) || is_refused)
      continue;
    errors[m++] = error;
    inside += json_is_true(json_object_get(model, "held_out_all_inside"));
  }
  if (n == 0)
    return;
  hsc_bytes text = {0};
  char many[48], checked[48];
  put(&text,
      "After %.0f runs (median over %s; from %.0f to %.0f) the compile is under half of the time "
      "spent compiling and running: measured compile over measured run.",
      hsc_stats_median(half, n), configurations(n, many), hsc_stats_min(half, n),
      hsc_stats_max(half, n));
  if (m)
    put(&text,
        " The model of time is off by %.1f %% (median) on its worst held-out measurement; on %zu "
        "of %s all held-out points lie inside its prediction intervals.",
        100 * hsc_stats_median(errors, m), inside, configurations(m, checked));
  if (refused)
    put(&text, " It is refused for %s, where it misses the measured run by more than 10 %%.",
        configurations(refused, checked));
  add_question(
      questions, "break_even", "After how many runs is compilation no longer what dominates?",
      &text,
      json_pack("{s:f, s:f, s:f, s:I, s:I, s:o}", "median_runs", hsc_stats_median(half, n), "least",
                hsc_stats_min(half, n), "most", hsc_stats_max(half, n), "configurations",
                (json_int_t)n, "refused", (json_int_t)refused, "median_worst_held_out_error",
                m ? hsc_json_real(hsc_stats_median(errors, m)) : json_null()));
}

hsc_status *hsc__patterns_findings(patterns_run *run, json_t *result) {
  json_t *comparisons = json_array();
  json_t *questions = json_array();
  json_object_set_new(result, "comparisons", comparisons);
  json_object_set_new(result, "questions", questions);
  HSC_TRY(compare_patterns(run, comparisons));
  why_first_is_slow(run, result, questions);
  why_cached_is_slow(run, result, questions);
  vmap_speedup(run, result);
  what_vmap_costs(run, result, comparisons, questions);
  what_syncs_cost(run, result, questions);
  when_compiling_pays(run, result, questions);
  return hsc_arena_status(run->arena);
}
