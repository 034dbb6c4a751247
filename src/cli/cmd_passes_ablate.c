// cmd_passes_ablate.c - hloscope passes ablate: the sweep, its progress, its table.
#include <math.h>
#include <stdlib.h>

#include "base/core/clock.h"
#include "cli/document.h"
#include "cli/ablate_short.h"
#include "cli/cmd_passes.h"
#include "cli/interrupt.h"
#include "lab/ablate/ablate.h"
#include "lab/run/json_tree.h"
#include "lab/verdict/agreement.h"

static void show_progress(
    void *user, int64_t done, int64_t total, double seconds_left, const char *text) {
  hsc_cli *cli = user;
  if (!cli->talk_is_terminal && done % 25 != 0)
    return;
  if (seconds_left >= 0)
    hsc_cli_progress(cli, "%s: %lld of %lld, about %.0f s left", text, (long long)done,
                     (long long)total, seconds_left);
  else
    hsc_cli_progress(cli, "%s: %lld of %lld", text, (long long)done, (long long)total);
}

// Once a minute where there is no terminal.
static void show_waiting(void *user, const char *phase, const char *variant, double seconds) {
  hsc_cli *cli = user;
  if (cli->talk_is_terminal || (int64_t)seconds % 60 == 0)
    hsc_cli_progress(cli, "%s: without %s, for %.0f s now", phase, variant, seconds);
}

static void add_delta(hsc_table *table, json_t *row, const char *key) {
  json_t *value = hsc_json_path(row, "delta", key, NULL);
  if (!json_is_number(value))
    hsc_table_missing(table);
  else if (json_number_value(value) == 0)
    hsc_table_text(table, "0");
  else
    hsc_table_printf(table, "%+.6g", json_number_value(value));
}

static void add_time(hsc_table *table, json_t *time) {
  double ratio = hsc_json_number(json_object_get(time, "ratio"));
  if (isnan(ratio))
    hsc_table_missing(table);
  else if (isnan(hsc_json_number(json_object_get(time, "low"))))
    hsc_table_printf(table, "%.3f (too few processes)", ratio);
  else
    hsc_table_printf(table, "%.3f [%.3f, %.3f]", ratio,
                     hsc_json_number(json_object_get(time, "low")),
                     hsc_json_number(json_object_get(time, "high")));
}

static void add_verdict(hsc_table *table, json_t *row) {
  double more = hsc_json_number(hsc_json_path(row, "total_time", "more_runs", NULL));
  const char *verdict = hsc_json_text(row, "verdict");
  char text[32];
  if (!verdict || !(more > 0) || strcmp(verdict, "cannot tell")) {
    hsc_table_text(table, verdict);
    return;
  }
  double unit = more >= 100 ? pow(10, floor(log10(more)) - 1) : 1;
  hsc_format_quantity(round(more / unit) * unit, "count", false, text);
  hsc_table_printf(table, "cannot tell (about %s more runs needed)", text);
}

static void add_row(hsc_table *table, json_t *row, bool judged, bool timed, bool kernels) {
  const char *why = hsc_json_text(row, "where");
  const char *same_as = hsc_json_text(row, "same_as");
  const char *numbers = json_string_value(hsc_json_path(row, "numbers", "verdict", NULL));
  json_t *highlight = json_object_get(row, "highlight");
  hsc_table_row(table);
  hsc_table_text(table, hsc_json_text(row, "pass"));
  hsc_table_text(table, hsc_json_text(row, "outcome"));
  add_delta(table, row, "instructions");
  add_delta(table, row, "fusions");
  add_delta(table, row, "kernels");
  add_delta(table, row, "temp_bytes");
  hsc_table_text(table, numbers);
  if (judged)
    hsc_table_text(table, hsc_json_text(row, "right"));
  if (timed) {
    add_time(table, json_object_get(row, "total_time"));
    if (kernels)
      add_time(table, json_object_get(row, "kernel_time"));
    add_verdict(table, row);
    if (json_is_number(highlight))
      hsc_table_printf(table, "%g %%", json_number_value(highlight));
    else
      hsc_table_missing(table);
  }
  const char *message = hsc_json_text(row, "message");
  const char *code = hsc_json_text(row, "code");
  if (why)
    hsc_table_text(table, why);
  else if (message && !json_is_object(json_object_get(row, "delta")))
    hsc_table_printf(table, "%s%s%.*s", code ? code : "", code ? ": " : "",
                     (int)(strcspn(message, "\n") < 100 ? strcspn(message, "\n") : 100), message);
  else if (same_as && strcmp(same_as, "baseline") != 0)
    hsc_table_printf(table, "as without %s", same_as);
  else
    hsc_table_missing(table);
}

// How it was timed, and what the placebos, which are the same program, showed.
static void note_timing(hsc_table *table, json_t *result) {
  json_t *timing = json_object_get(result, "timing");
  json_t *placebo;
  double low = INFINITY;
  double high = -INFINITY;
  size_t i;
  json_array_foreach (json_object_get(result, "placebos"), i, placebo) {
    double ratio = hsc_json_number(hsc_json_path(placebo, "total_time", "ratio", NULL));
    low = fmin(low, ratio);
    high = fmax(high, ratio);
  }
  hsc_table_note(table,
                 "time without the pass over time with it, [95 %% interval], interleaved: %s",
                 json_string_value(hsc_json_path(timing, "sampling", "text", NULL)));
  const char *class_text = hsc_json_text(timing, "baseline_class");
  if (class_text && strcmp(class_text, "flat") && strcmp(class_text, "too short"))
    hsc_table_note(table,
                   "the baseline over its blocks (rounds of one turn each), process by process: %s",
                   class_text);
  if (isfinite(low))
    hsc_table_note(table, "placebos, which are the same program: %.3f to %.3f", low, high);
  const char *grade = json_string_value(hsc_json_path(result, "environment", "grade", NULL));
  if (grade && *grade != 'A')
    hsc_table_note(table,
                   "no effect below %.3g %% is claimed: the machine is not quiet (grade %s; A is "
                   "quiet, D is busy)",
                   100 * hsc_json_number(json_object_get(timing, "margin")), grade);
}

// Whose numbers are right, and how far that is known.
static void note_numbers(hsc_table *table, json_t *result) {
  json_t *numbers = json_object_get(result, "numbers");
  json_t *reference = hsc_json_path(result, "baseline", "reference", NULL);
  const char *verdict = hsc_json_text(reference, "verdict");
  const char *against = hsc_json_text(numbers, "against");
  json_t *row;
  size_t i;
  if (!json_is_object(numbers))
    return;
  hsc_table_note(table, "numbers against %s: %s", against ? against : "what is right",
                 hsc_json_text(numbers, "headline"));
  if (!verdict || strcmp(verdict, "different") != 0)
    return;
  hsc_bytes repaired = {0};
  json_array_foreach (json_object_get(result, "variants"), i, row) {
    const char *right = hsc_json_text(row, "right");
    if (right && !strcmp(right, "variant"))
      hsc_bytes_printf(&repaired, "%s%s", repaired.size ? ", " : "", hsc_json_text(row, "pass"));
  }
  hsc_table_note(table, "with every pass on the numbers are wrong, by up to %.3g%s%s",
                 hsc_json_number(json_object_get(reference, "max_abs")),
                 repaired.size ? "; they are right without " : "; no pass that is off repairs them",
                 hsc_bytes_text(&repaired));
  hsc_bytes_deinit(&repaired);
}

static hsc_status *print_pairs(hsc_cli *cli, json_t *pairs, bool timed) {
  static const char *const counts[] = {"instructions", "fusions", "kernels"};
  hsc_table *table = NULL;
  json_t *row;
  size_t i;
  if (json_array_size(pairs) == 0)
    return NULL;
  hsc_cli_print(cli, "\n");
  HSC_TRY(hsc_table_create("pairs", &table));
  hsc_table_column(table, "off together", "");
  hsc_table_column(table, "outcome", "");
  for (size_t k = 0; k < HSC_COUNT_OF(counts); k++)
    hsc_table_column(table, counts[k], "");
  if (timed) {
    hsc_table_column(table, "total time", "");
    hsc_table_column(table, "beyond both", "");
  }
  json_array_foreach (pairs, i, row) {
    hsc_table_row(table);
    hsc_table_text(table, hsc_json_text(row, "pass"));
    hsc_table_text(table, hsc_json_text(row, "outcome"));
    for (size_t k = 0; k < HSC_COUNT_OF(counts); k++) {
      double beyond = hsc_json_number(hsc_json_path(row, "interaction", counts[k], NULL));
      if (isnan(beyond))
        hsc_table_missing(table);
      else
        hsc_table_printf(table, "%+.0f", beyond);
    }
    if (!timed)
      continue;
    add_time(table, json_object_get(row, "total_time"));
    double beyond = hsc_json_number(hsc_json_path(row, "interaction", "total_time_ratio", NULL));
    if (isnan(beyond))
      hsc_table_missing(table);
    else
      hsc_table_printf(table, "%.3f", beyond);
  }
  hsc_table_note(table,
                 "counts: beyond the sum of what each does alone; beyond both: total time over the "
                 "product of both alone");
  return hsc_cli_table(cli, table);
}

static hsc_status *print_result(hsc_cli *cli, json_t *result, bool changed_only) {
  hsc_table *table = NULL;
  json_t *row;
  size_t i;
  bool timed = json_is_object(json_object_get(result, "timing"));
  bool kernels = json_is_object(hsc_json_path(result, "baseline", "kernel_time", NULL));
  bool judged = json_is_object(hsc_json_path(result, "baseline", "reference", NULL));
  HSC_TRY(hsc_table_create("ablation", &table));
  static const char *const columns[] = {"off",     "outcome",    "instructions", "fusions",
                                        "kernels", "temp bytes", "numbers"};
  for (size_t c = 0; c < HSC_COUNT_OF(columns); c++)
    hsc_table_column(table, columns[c], "");
  if (judged)
    hsc_table_column(table, "right", "");
  if (timed) {
    hsc_table_column(table, "total time", "");
    if (kernels)
      hsc_table_column(table, "kernel time", "");
    hsc_table_column(table, "verdict", "");
    hsc_table_column(table, "highlight", "");
  }
  hsc_table_column(table, "where", "");
  json_array_foreach (json_object_get(result, "placebos"), i, row)
    if (!changed_only || timed)
      add_row(table, row, judged, timed, kernels);
  json_array_foreach (json_object_get(result, "variants"), i, row)
    if (!changed_only || strcmp(hsc_json_text(row, "outcome"), "same") != 0)
      add_row(table, row, judged, timed, kernels);
  json_t *outcomes = hsc_json_path(result, "totals", "outcomes", NULL);
  json_t *count;
  const char *name;
  hsc_bytes counts = {0};
  json_object_foreach (outcomes, name, count)
    hsc_bytes_printf(&counts, "%s%lld %s", counts.size ? ", " : "",
                     (long long)json_integer_value(count), name);
  int64_t made = json_integer_value(hsc_json_path(result, "totals", "variants", NULL));
  int64_t planned = json_integer_value(hsc_json_path(result, "totals", "planned", NULL));
  hsc_bytes of = {0};
  if (planned > made)
    hsc_bytes_printf(&of, " of %lld", (long long)planned);
  hsc_table_note(table, "%lld%s switched off%s%s", (long long)made,
                 of.size ? hsc_bytes_text(&of) : "", counts.size ? ": " : "",
                 counts.size ? hsc_bytes_text(&counts) : "");
  hsc_bytes_deinit(&of);
  hsc_bytes_deinit(&counts);
  note_numbers(table, result);
  if (timed)
    note_timing(table, result);
  json_t *baseline = json_object_get(result, "baseline");
  hsc_table_note(
      table,
      "with every pass on: %.0f instructions, %.0f fusions, %.0f kernels, compiled in %.3f s",
      hsc_json_number(json_object_get(baseline, "instructions")),
      hsc_json_number(json_object_get(baseline, "fusions")),
      hsc_json_number(json_object_get(baseline, "kernels")),
      hsc_json_number(json_object_get(baseline, "compile_seconds")));
  json_t *rounding = json_object_get(result, "rounding");
  if (json_integer_value(json_object_get(rounding, "outputs_beyond_tolerance")) > 0)
    hsc_table_note(
        table,
        "a last place of the inputs moves the outputs by up to %.2g, %lld of %lld beyond what "
        "their types allow: such differences are rounding and say nothing of a pass",
        hsc_json_number(json_object_get(rounding, "max_abs")),
        (long long)json_integer_value(json_object_get(rounding, "outputs_beyond_tolerance")),
        (long long)json_integer_value(json_object_get(rounding, "outputs")));
  HSC_TRY(hsc_cli_table(cli, table));
  return print_pairs(cli, json_object_get(result, "pairs"), timed);
}

// "1,5": two percentages, the smaller first.
static hsc_status *parse_highlight(hsc_cli *cli, const char *text, double out[2]) {
  char *end = NULL;
  double low = strtod(text, &end);
  double high = *end == ',' ? strtod(end + 1, &end) : NAN;
  if (*end || !(low > 0) || !(high > low) || !isfinite(high))
    return hsc_cli_usage(
        cli, "--highlight takes two percentages above 0, the smaller first, like 1,5; not '%s'",
        text);
  out[0] = low / 100;
  out[1] = high / 100;
  return NULL;
}

hsc_status *hsc__passes_ablate(const passes_args *args, hsc_cli *cli) {
  hsc_device_spec device;
  hsc_store *store = NULL;
  json_t *result = NULL;
  json_t *overrides = NULL;
  hsc_status *status = NULL;
  double highlight[2] = {0, 0};
  int64_t start_ns = hsc_now_ns();
  HSC_TRY(parse_highlight(cli, args->highlight, highlight));
  if (args->precision != -1 && !(args->precision >= 0))
    return hsc_cli_usage(cli, "--precision must not be negative");
  if (args->budget_s != -1 && !(args->budget_s >= 0))
    return hsc_cli_usage(cli, "--time-budget must not be negative");
  HSC_TRY(hsc__passes_device(args, cli, &device));
  HSC_TRY(hsc__passes_check_disabled(args, cli, &device));
  HSC_GOTO(hsc__passes_overrides(args, cli, true, &overrides));
  HSC_GOTO(hsc_cli_store_open(cli, args->store, &store));
  hsc_ablate_options o = {
      .program = args->program,
      .transforms = args->transforms.items,
      .transform_count = args->transforms.count,
      .device = &device,
      .names = args->only.items,
      .name_count = args->only.count,
      .pattern = args->pattern,
      .pipeline = args->pipeline,
      .that_changed = args->that_changed,
      .with_pipelines = args->with_pipelines,
      .with_rules = args->with_rules,
      .overrides = overrides,
      .placebo_count = (int)args->placebos,
      .jobs = (int)args->jobs,
      .timing = !args->no_timing,
      .process_count = (int)args->processes,
      .block_count = (int)args->blocks,
      .half_width = (args->precision == -1 ? args->margin_percent : args->precision) / 100,
      .budget_s = args->budget_s == -1 ? 300 : args->budget_s,
      .deadline_ns = args->budget_s > 0 ? start_ns + (int64_t)(args->budget_s * 1e9) : 0,
      .pairs = args->pairs,
      .pair_most = (int)args->pair_most,
      .highlight = {highlight[0], highlight[1]},
      .margin = args->margin_percent / 100,
      .seed = (uint64_t)args->seed,
      .limit_ns = (int64_t)(args->limit_s * 1e9),
      .command = cli->command_line,
      .store = store,
      .resume = args->resume,
      .progress = show_progress,
      .waiting = show_waiting,
      .user = cli,
      .stop = &hsc_cli_stop};
  HSC_GOTO(hsc_ablate(&o, &result));
  // for reports: how to make it again
  json_object_set_new(result, "command", json_string(cli->command_line));
  if (args->output)
    HSC_GOTO(hsc_json_tree_save(args->output, result));
  if (cli->format == HSC_FORMAT_JSON)
    status = hsc_cli_document(cli, result);
  else if (cli->format == HSC_FORMAT_TEXT && !args->all &&
           !json_is_array(json_object_get(result, "pairs")))
    status = hsc_cli_ablate_short(result, cli);
  else
    status = print_result(cli, result, args->changed_only);
  HSC_GOTO(status);
  // numbers were asked for: those that nobody compared are no success (--no-timing asks for none)
  const char *numbers = json_string_value(hsc_json_path(result, "numbers", "verdict", NULL));
  enum { UNTOLD = 3 };
  if (numbers && hsc_agreement_exit_code_of(numbers) == UNTOLD)
    cli->exit_code = UNTOLD;
  if (!strcmp(hsc_json_text(result, "status"), "interrupted")) {
    const char *ended_by = hsc_json_text(result, "ended_by");
    hsc_cli_say(cli, "ended by %s; the same command with --resume goes on with it",
                ended_by ? ended_by : "an interrupt");
    cli->exit_code = 1;
  }
done:
  json_decref(result);
  json_decref(overrides);
  hsc_store_close(store);
  return status;
}
