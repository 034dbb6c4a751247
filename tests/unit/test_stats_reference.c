// test_stats_reference.c - src/stats against SciPy, NumPy and exact sums: every row of
// tests/statistics/reference.txt, which reference.py there writes and whose form it explains.
//
// Each row is asked again while one block of memory after the other is refused: what comes then is
// NaN, an error, or what came before, never another number.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "unit.h"
#include "base/core/bytes.h"
#include "base/core/memory.h"
#include "base/files/file_io.h"
#include "stats/stats_design.h"
#include "stats/stats_interleaved.h"

enum {
  MOST_SAMPLES = 128,
  MOST_VALUES = 64,
  RESAMPLES = 5000,   // as in reference.py
  LEAST_ROWS = 2000,  // a table that lost its rows tests nothing
  MOST_REFUSALS = 40,
};

typedef struct row {
  const char *name;
  double arguments[MOST_VALUES];
  double values[MOST_VALUES];
  size_t value_count;
} row;

static double series_of[3][MOST_SAMPLES];
static size_t sizes_of[3];
static const char *root = ".";
#define X series_of[0], sizes_of[0]
#define Y series_of[1], sizes_of[1]

static void give(row *r, double value) {
  assert_true(r->value_count < MOST_VALUES);
  r->values[r->value_count++] = value;
}

static void give_ends(row *r, hsc_interval interval) {
  give(r, interval.low);
  give(r, interval.high);
}

static void give_interval(row *r, hsc_interval interval) {
  give(r, interval.estimate);
  give_ends(r, interval);
}

static hsc_interval interval_at(const double *from) {
  return (hsc_interval){from[0], from[1], from[2]};
}

// ---- one series ---------------------------------------------------------------------------------

static hsc_status *mean(row *r) {
  give(r, hsc_stats_mean(X));
  return NULL;
}

static hsc_status *sd(row *r) {
  give(r, hsc_stats_sd(X));
  return NULL;
}

static hsc_status *median(row *r) {
  give(r, hsc_stats_median(X));
  return NULL;
}

static hsc_status *extremes(row *r) {
  give(r, hsc_stats_min(X));
  give(r, hsc_stats_max(X));
  return NULL;
}

static hsc_status *mad(row *r) {
  give(r, hsc_stats_mad(X));
  return NULL;
}

static hsc_status *quantile(row *r) {
  give(r, hsc_stats_quantile(X, r->arguments[0]));
  return NULL;
}

static hsc_status *quantile_hd(row *r) {
  give(r, hsc_stats_quantile_hd(X, r->arguments[0]));
  return NULL;
}

static hsc_status *quantile_interval(row *r) {
  double sorted[MOST_SAMPLES];
  memcpy(sorted, series_of[0], sizeof sorted);
  hsc_sort_doubles(sorted, sizes_of[0]);
  give_ends(r, hsc_stats_quantile_interval(sorted, sizes_of[0], r->arguments[0], r->arguments[1]));
  return NULL;
}

static hsc_status *quantile_needs(row *r) {
  give(r, (double)hsc_stats_quantile_needs(r->arguments[0], r->arguments[1]));
  return NULL;
}

static hsc_status *effective_count(row *r) {
  give(r, hsc_stats_effective_count(X));
  return NULL;
}

static hsc_status *outliers(row *r) {
  size_t found[MOST_SAMPLES];
  size_t count = hsc_stats_outliers(X, found);
  for (size_t i = 0; i < count; i++)
    give(r, (double)found[i]);
  return NULL;
}

static hsc_status *change_points(row *r) {
  size_t starts[MOST_SAMPLES];
  size_t count;
  hsc_change_options options = {.min_segment = (size_t)r->arguments[0], .penalty = r->arguments[1]};
  HSC_TRY(hsc_stats_change_points(X, &options, starts, &count));
  for (size_t i = 0; i < count; i++)
    give(r, (double)starts[i]);
  return NULL;
}

static hsc_status *summary(row *r) {
  hsc_interval_options options = {
      .confidence = r->arguments[0], .resample_count = RESAMPLES, .seed = 5};
  hsc_summary s;
  HSC_TRY(hsc_stats_summarize(X, &options, &s));
  const double all[] = {(double)s.count,
                        (double)s.nonfinite_count,
                        s.mean,
                        s.median,
                        s.min,
                        s.max,
                        s.sd,
                        s.mad,
                        s.q1,
                        s.q3,
                        s.median_low,
                        s.median_high,
                        s.confidence};
  for (size_t i = 0; i < HSC_COUNT_OF(all); i++)
    give(r, all[i]);
  return NULL;
}

static hsc_status *median_interval(row *r) {
  hsc_interval_options options = {.confidence = r->arguments[0],
                                  .resample_count = RESAMPLES,
                                  .seed = 3,
                                  .widen_small = r->arguments[1] != 0};
  hsc_interval interval;
  HSC_TRY(hsc_stats_bootstrap(hsc_stats_median, X, &options, &interval));
  give_interval(r, interval);
  return NULL;
}

static hsc_status *mean_interval(row *r) {
  hsc_interval_options options = {
      .confidence = r->arguments[0], .resample_count = RESAMPLES, .seed = 4};
  hsc_interval interval;
  HSC_TRY(hsc_stats_bootstrap(hsc_stats_mean, X, &options, &interval));
  give_ends(r, interval);
  return NULL;
}

static hsc_status *blocks_interval(row *r) {
  size_t sizes[MOST_SAMPLES];
  for (size_t i = 0; i < sizes_of[2]; i++)
    sizes[i] = (size_t)series_of[2][i];
  hsc_interval_options options = {
      .confidence = r->arguments[0], .resample_count = RESAMPLES, .seed = 2};
  hsc_interval interval;
  HSC_TRY(hsc_stats_bootstrap_blocks(hsc_stats_median, series_of[0], sizes, sizes_of[2], &options,
                                     &interval));
  give_interval(r, interval);
  return NULL;
}

static hsc_status *classify(row *r) {
  hsc_series s;
  HSC_TRY(hsc_stats_classify(X, &s));
  give(r, s.series_class);
  give(r, (double)s.steady_start);
  give(r, s.steady_median);
  return NULL;
}

static hsc_status *modes(row *r) {
  hsc_mode found[8];
  size_t count;
  HSC_TRY(hsc_stats_modes(X, found, HSC_COUNT_OF(found), &count));
  for (size_t i = 0; i < count; i++) {
    give(r, found[i].median);
    give(r, found[i].low);
    give(r, found[i].high);
    give(r, (double)found[i].count);
    give(r, found[i].share);
  }
  return NULL;
}

// ---- two series ---------------------------------------------------------------------------------

static hsc_status *mann_whitney(row *r) {
  double u;
  give(r, hsc_stats_mann_whitney(X, Y, &u));
  give(r, u);
  return NULL;
}

static hsc_status *brunner_munzel(row *r) {
  double greater;
  give(r, hsc_stats_brunner_munzel(X, Y, &greater));
  give(r, greater);
  return NULL;
}

static hsc_status *cliffs_delta(row *r) {
  give(r, hsc_stats_cliffs_delta(X, Y));
  return NULL;
}

static hsc_status *hodges_lehmann(row *r) {
  give(r, hsc_stats_hodges_lehmann(X, Y));
  return NULL;
}

static hsc_status *ratio_of_medians(row *r) {
  hsc_interval_options options = {
      .confidence = r->arguments[0], .resample_count = RESAMPLES, .seed = 9};
  hsc_interval ratio;
  HSC_TRY(hsc_stats_ratio_of_medians(X, Y, &options, &ratio));
  give_interval(r, ratio);
  return NULL;
}

static hsc_status *compare(row *r) {
  hsc_interval_options options = {.resample_count = RESAMPLES, .seed = 9};
  hsc_comparison c;
  HSC_TRY(hsc_stats_compare(X, Y, 0, &options, &c));
  give(r, c.equivalence);
  give(r, c.p_value);
  give(r, c.u);
  give(r, c.brunner_munzel);
  give(r, c.delta);
  give(r, c.shift);
  return NULL;
}

static hsc_status *decide(row *r) {
  hsc_comparison c = {.ratio = interval_at(r->arguments)};
  hsc_stats_decide(&c, r->arguments[3], (size_t)r->arguments[4]);
  give(r, c.verdict);
  give(r, c.more_runs);
  return NULL;
}

static hsc_status *compare_processes(row *r) {
  hsc_comparison c;
  HSC_TRY(hsc_stats_compare_processes(X, Y, r->arguments[0] != 0, 0, &c));
  give_interval(r, c.ratio);
  give(r, c.p_value);
  give(r, c.delta);
  give(r, c.shift);
  give(r, c.verdict);
  give(r, c.more_runs);
  return NULL;
}

static hsc_status *paired_effect(row *r) {
  size_t blocks[MOST_SAMPLES];
  for (size_t i = 0; i < sizes_of[2]; i++)
    blocks[i] = (size_t)series_of[2][i];
  hsc_paired paired = {series_of[0], series_of[1], blocks, sizes_of[2]};
  hsc_effect e;
  HSC_TRY(hsc_stats_paired_effect(
      &paired, &(hsc_interval_options){.resample_count = RESAMPLES, .seed = 6}, &e));
  give_interval(r, e.ratio);
  give(r, e.standard_error);
  give(r, e.log_effect);
  give(r, e.process_square_sum);
  return NULL;
}

static hsc_status *judge(row *r) {
  hsc_effect effects[MOST_SAMPLES / 6];
  hsc_effect placebos[MOST_SAMPLES / 3] = {0};
  size_t count = sizes_of[0] / 6;
  for (size_t i = 0; i < count; i++) {
    const double *at = series_of[0] + 6 * i;
    effects[i] = (hsc_effect){.log_effect = at[0],
                              .ratio = interval_at(at + 1),
                              .standard_error = at[4],
                              .process_count = (size_t)at[5]};
  }
  for (size_t i = 0; i < sizes_of[1] / 3; i++) {
    const double *at = series_of[1] + 3 * i;
    placebos[i] = (hsc_effect){
        .log_effect = at[0], .process_square_sum = at[1], .process_count = (size_t)at[2]};
  }
  hsc_stats_judge(effects, count, placebos, sizes_of[1] / 3, NULL);
  for (size_t i = 0; i < count; i++) {
    give(r, effects[i].p_value);
    give(r, effects[i].q_value);
    give(r, effects[i].placebos_beaten);
    give(r, effects[i].verdict);
    give(r, effects[i].highlight);
    give(r, effects[i].blocks_needed);
  }
  return NULL;
}

// ---- fits ---------------------------------------------------------------------------------------

static hsc_status *fit(row *r) {
  size_t terms = (size_t)r->arguments[0];
  size_t n = sizes_of[1];
  hsc_fit f;
  HSC_TRY(hsc_stats_fit(series_of[0], series_of[1], sizes_of[2] ? series_of[2] : NULL, n, terms,
                        r->arguments[1], &f));
  const double *const parts[] = {f.coefficient, f.standard_error, f.low, f.high};
  for (size_t part = 0; part < HSC_COUNT_OF(parts); part++)
    for (size_t j = 0; j < terms; j++)
      give(r, parts[part][j]);
  give(r, f.residual_sd);
  give(r, f.r_squared);
  double at[HSC_FIT_MAX_TERMS] = {0};
  for (size_t i = 0; i < n; i++)
    for (size_t j = 0; j < terms; j++)
      at[j] += series_of[0][i * terms + j] / (double)n;
  give_interval(r, hsc_fit_predict(&f, at, 2));
  return NULL;
}

static hsc_status *fit_nonnegative(row *r) {
  size_t terms = (size_t)r->arguments[0];
  double found[HSC_FIT_MAX_TERMS];
  HSC_TRY(hsc_stats_fit_nonnegative(series_of[0], series_of[1], sizes_of[2] ? series_of[2] : NULL,
                                    sizes_of[1], terms, found));
  for (size_t j = 0; j < terms; j++)
    give(r, found[j]);
  return NULL;
}

static hsc_status *theil_sen(row *r) {
  hsc_interval slope;
  double intercept;
  HSC_TRY(hsc_stats_theil_sen(series_of[0], Y, r->arguments[0], &slope, &intercept));
  give_interval(r, slope);
  give(r, intercept);
  return NULL;
}

// ---- distributions ------------------------------------------------------------------------------

static hsc_status *normal_cdf(row *r) {
  give(r, hsc_stats_normal_cdf(r->arguments[0]));
  return NULL;
}

static hsc_status *normal_quantile(row *r) {
  give(r, hsc_stats_normal_quantile(r->arguments[0]));
  return NULL;
}

static hsc_status *t_cdf(row *r) {
  give(r, hsc_stats_t_cdf(r->arguments[0], r->arguments[1]));
  return NULL;
}

static hsc_status *t_quantile(row *r) {
  give(r, hsc_stats_t_quantile(r->arguments[0], r->arguments[1]));
  return NULL;
}

static hsc_status *beta_cdf(row *r) {
  give(r, hsc_stats_beta_cdf(r->arguments[0], r->arguments[1], r->arguments[2]));
  return NULL;
}

static hsc_status *share_interval(row *r) {
  give_interval(r, hsc_stats_share_interval((int64_t)r->arguments[0], (int64_t)r->arguments[1],
                                            r->arguments[2]));
  return NULL;
}

static hsc_status *benjamini_hochberg(row *r) {
  double q[MOST_SAMPLES];
  hsc_stats_benjamini_hochberg(X, q);
  for (size_t i = 0; i < sizes_of[0]; i++)
    give(r, q[i]);
  return NULL;
}

// ---- design -------------------------------------------------------------------------------------

static hsc_status *pilot(row *r) {
  hsc_pilot p = {.level_count = sizes_of[2], .samples = series_of[0]};
  for (size_t i = 0; i < p.level_count; i++) {
    p.counts[i] = (size_t)series_of[2][i];
    p.cost[i] = series_of[1][i];
  }
  hsc_design d;
  HSC_TRY(hsc_stats_pilot(&p, r->arguments[0], r->arguments[1], &d));
  give(r, d.mean);
  for (size_t i = 0; i < p.level_count; i++)
    give(r, d.variance[i]);
  for (size_t i = 0; i < p.level_count; i++)
    give(r, (double)d.counts[i]);
  give(r, d.half_width);
  give(r, d.seconds);
  return NULL;
}

static hsc_status *dominance(row *r) {
  give(r, hsc_stats_dominance(r->arguments[0], r->arguments[1], r->arguments[2]));
  return NULL;
}

static hsc_status *break_even(row *r) {
  give_interval(r, hsc_stats_break_even(interval_at(r->arguments), interval_at(r->arguments + 3),
                                        r->arguments[6]));
  return NULL;
}

static hsc_status *crossing(row *r) {
  const double *a = r->arguments;
  give_interval(r, hsc_stats_crossing(interval_at(a), interval_at(a + 3), interval_at(a + 6),
                                      interval_at(a + 9), 7));
  return NULL;
}

// The grade stands behind the name, with a colon.
static hsc_status *grade_margin(row *r) {
  give(r, hsc_stats_grade_margin(strchr(r->name, ':') + 1, r->arguments[0]));
  return NULL;
}

static hsc_status *stop(row *r) {
  hsc_stopping rule = {.half_width = r->arguments[0],
                       .budget_seconds = r->arguments[1],
                       .least = (size_t)r->arguments[2],
                       .most = (size_t)r->arguments[3]};
  give(r, hsc_stats_stop(&rule, series_of[0], (size_t)r->arguments[5], r->arguments[4]));
  return NULL;
}

// ---- the table ----------------------------------------------------------------------------------

typedef struct question {
  const char *name;
  hsc_status *(*ask)(row *);
  // A count or a choice, which no NaN can stand for: not asked without memory.
  bool is_count;
} question;

#define QUESTION(name) {#name, name, false}
static const question questions[] = {
    QUESTION(mean),
    QUESTION(sd),
    QUESTION(median),
    QUESTION(extremes),
    QUESTION(mad),
    QUESTION(quantile),
    QUESTION(quantile_hd),
    QUESTION(quantile_interval),
    QUESTION(quantile_needs),
    QUESTION(effective_count),
    {"outliers", outliers, true},
    QUESTION(change_points),
    QUESTION(summary),
    QUESTION(median_interval),
    QUESTION(mean_interval),
    QUESTION(blocks_interval),
    QUESTION(classify),
    QUESTION(modes),
    QUESTION(mann_whitney),
    QUESTION(brunner_munzel),
    QUESTION(cliffs_delta),
    QUESTION(hodges_lehmann),
    QUESTION(ratio_of_medians),
    QUESTION(compare),
    QUESTION(decide),
    QUESTION(compare_processes),
    QUESTION(paired_effect),
    {"judge", judge, true},
    QUESTION(fit),
    QUESTION(fit_nonnegative),
    QUESTION(theil_sen),
    QUESTION(normal_cdf),
    QUESTION(normal_quantile),
    QUESTION(t_cdf),
    QUESTION(t_quantile),
    QUESTION(beta_cdf),
    QUESTION(share_interval),
    QUESTION(benjamini_hochberg),
    QUESTION(pilot),
    QUESTION(dominance),
    QUESTION(break_even),
    QUESTION(crossing),
    QUESTION(grade_margin),
    {"stop", stop, true},
};

static size_t asked[HSC_COUNT_OF(questions)];
static int wrong_count;

#define WRONG(...) \
  do { \
    wrong_count++; \
    print_error(__VA_ARGS__); \
  } while (0)

static const question *question_of(const char *name) {
  size_t length = strcspn(name, ":");
  for (size_t i = 0; i < HSC_COUNT_OF(questions); i++)
    if (strlen(questions[i].name) == length && !memcmp(questions[i].name, name, length))
      return &questions[i];
  return NULL;
}

// A wanted word: a number, to 1e-9 of itself and `absolute`; or LOW..HIGH.
static bool agrees(const char *word, double value, double absolute) {
  char *end;
  double low = strtod(word, &end);
  const char *dots = strstr(word, "..");
  if (dots) {
    double high = strtod(dots + 2, NULL);
    double hair = 1e-12 * fmax(fabs(low), fabs(high));
    return value >= low - hair && value <= high + hair;
  }
  if (isnan(low) || isinf(low))
    return isnan(low) ? isnan(value) : value == low;
  double tolerance = 1e-9 * fabs(low) + absolute;
  return fabs(value - low) <= tolerance;
}

typedef enum likeness { SAME, SOME_UNKNOWN, ANOTHER } likeness;

// What came without one block of memory, beside what came with all of them.
static likeness likeness_of(const row *with, const row *without) {
  bool unknown = false;
  for (size_t i = 0; i < without->value_count; i++) {
    bool was_nan = i < with->value_count && isnan(with->values[i]);
    bool same = i < with->value_count && without->values[i] == with->values[i];
    if (!same && !isnan(without->values[i]))
      return ANOTHER;
    unknown |= !same && !was_nan;
  }
  return unknown ? SOME_UNKNOWN : SAME;
}

// Until a block is refused that nobody asks for.
static void ask_without_memory(const question *q, const row *with, int line) {
  likeness like = SOME_UNKNOWN;
  for (uint64_t n = 1; n <= MOST_REFUSALS && like != SAME; n++) {
    row without = *with;
    without.value_count = 0;
    hsc_alloc_fail_after(n);
    hsc_status *status = q->ask(&without);
    hsc_alloc_fail_after(0);
    like = status ? SOME_UNKNOWN : likeness_of(with, &without);
    if (like == ANOTHER)
      WRONG("reference.txt:%d: %s: another number where block %d is refused\n", line, q->name,
            (int)n);
    if (status && hsc_status_code(status) != HSC_RESOURCE_EXHAUSTED)
      WRONG("reference.txt:%d: %s: %s\n", line, q->name, hsc_status_message(status));
    hsc_status_free(status);
  }
}

static void check_words(const question *q, const row *r, char *words, int line) {
  double absolute = 0;
  char *tolerance = strchr(words, '~');
  if (tolerance) {
    absolute = strtod(tolerance + 1, NULL);
    *tolerance = 0;
  }
  size_t at = 0;
  char *rest = NULL;
  for (char *word = strtok_r(words, " ", &rest); word; word = strtok_r(NULL, " ", &rest), at++) {
    if (at < r->value_count && !agrees(word, r->values[at], absolute))
      WRONG("reference.txt:%d: %s: value %d is %.17g, not %s\n", line, q->name, (int)at + 1,
            r->values[at], word);
  }
  if (at != r->value_count)
    WRONG("reference.txt:%d: %s gives %d values, not %d\n", line, q->name, (int)r->value_count,
          (int)at);
}

static void check_row(char *text, int line) {
  char *wanted = strstr(text, " =");
  assert_non_null(wanted);
  *wanted = 0;
  char *rest = NULL;
  row r = {.name = strtok_r(text, " ", &rest)};
  const question *q = question_of(r.name);
  if (!q)
    fail_msg("reference.txt:%d: nobody knows '%s'", line, r.name);
  size_t count = 0;
  for (char *word; (word = strtok_r(NULL, " ", &rest));)
    r.arguments[count++] = strtod(word, NULL);
  asked[q - questions]++;
  hsc_status *status = q->ask(&r);
  if (strstr(wanted + 2, "refused")) {
    if (hsc_status_code(status) != HSC_INVALID_ARGUMENT)
      WRONG("reference.txt:%d: %s is not refused\n", line, r.name);
    hsc_status_free(status);
    return;
  }
  if (status)
    WRONG("reference.txt:%d: %s: %s\n", line, r.name, hsc_status_message(status));
  hsc_status_free(status);
  if (!status)
    check_words(q, &r, wanted + 2, line);
  if (!status && !q->is_count)
    ask_without_memory(q, &r, line);
}

static void take_series(int which, const char *text) {
  char *end;
  sizes_of[which] = 0;
  for (double value = strtod(text, &end); end != text; text = end, value = strtod(text, &end)) {
    assert_true(sizes_of[which] < MOST_SAMPLES);
    series_of[which][sizes_of[which]++] = value;
  }
}

static void every_row_agrees(void **state) {
  (void)state;
  char path[4096];
  snprintf(path, sizeof path, "%s/tests/statistics/reference.txt", root);
  hsc_bytes table = {0};
  EXPECT_OK(hsc_file_read(path, &table));
  int line = 0;
  size_t rows = 0;
  char *text = strndup((const char *)table.data, table.size);
  assert_non_null(text);
  char *next = text;
  for (char *one; (one = strsep(&next, "\n"));) {
    line++;
    if (one[0] == '#' || !one[0])
      continue;
    if (strchr("xyw", one[0]) && (one[1] == ' ' || !one[1])) {
      take_series(one[0] == 'w' ? 2 : one[0] - 'x', one + 1);
      continue;
    }
    check_row(one, line);
    rows++;
  }
  free(text);
  hsc_bytes_deinit(&table);
  assert_true(rows > LEAST_ROWS);
  assert_int_equal(wrong_count, 0);
  for (size_t i = 0; i < HSC_COUNT_OF(questions); i++)
    if (!asked[i])
      fail_msg("no row asks for %s", questions[i].name);
}

int main(int argc, char **argv) {
  if (argc > 1)
    root = argv[1];
  const struct CMUnitTest tests[] = {cmocka_unit_test(every_row_agrees)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
