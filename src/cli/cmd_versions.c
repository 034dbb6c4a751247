// cmd_versions.c - hloscope versions: which release changed what a program does.
#include <math.h>
#include <stdlib.h>

#include "base/text/text.h"
#include "cli/document.h"
#include "cli/command.h"
#include "cli/interrupt.h"
#include "lab/run/given_inputs.h"
#include "lab/run/json_tree.h"
#include "lab/versions/release_search.h"
#include "worker/lab_compile.h"

typedef struct versions_args {
  const char *device, *of, *from, *to, *symptom, *sizes, *inputs;
  hsc_list programs, overrides;
  int64_t seed, most;
  double limit_s;
  bool all;
} versions_args;

static const hsc_option options[] = {
    HSC_POSITIONAL_REST(versions_args,
                        programs,
                        "PROGRAM",
                        HSC_REQUIRED,
                        "HLO, StableHLO, gzipped too; or one program in several sizes"),
    HSC_OPTION_STRING(
        versions_args,
        of,
        "of",
        "PACKAGE",
        NULL,
        "package whose releases are tried: jaxlib, jax-cuda12-pjrt, libtpu; default: the device's"),
    HSC_OPTION_STRING(
        versions_args,
        device,
        "device|d",
        "DEVICE",
        NULL,
        "device, without a release: xla-cpu, cuda:h100, tpu:v5e; default: the package's"),
    HSC_OPTION_STRING(versions_args,
                      from,
                      "from",
                      "VERSION",
                      NULL,
                      "first release of the range; default: the oldest available"),
    HSC_OPTION_STRING(versions_args,
                      to,
                      "to",
                      "VERSION",
                      NULL,
                      "last release of the range; default: the newest available"),
    HSC_OPTION_STRING(versions_args,
                      symptom,
                      "symptom|s",
                      "SYMPTOM",
                      "slow:1.5",
                      "what changed: slow[:FACTOR], compile[:FACTOR], memory[:FACTOR], wrong, "
                      "crash, error, hang, fires:PASS, unfused[:OP]"),
    HSC_OPTION_STRING(
        versions_args,
        sizes,
        "sizes",
        "[N=]A,B,C",
        NULL,
        "judge time by its exponent too: the size of each file, or with N= one file, in which the "
        "number N (or the dimension, as x.0) is replaced by each"),
    HSC_OPTION_LIST(versions_args,
                    overrides,
                    "option",
                    "NAME=VALUE",
                    NULL,
                    "an XLA compile option; may be repeated"),
    HSC_OPTION_FLAG(
        versions_args, all, "all|a", "try every release, not only those needed to find the change"),
    HSC_OPTION_INT(versions_args, most, "most", "N", 0, "try at most N releases; 0: no limit"),
    HSC_OPTION_INPUTS(versions_args, inputs),
    HSC_OPTION_INT(versions_args, seed, "seed", "N", 0, "seed for the generated inputs"),
    HSC_OPTION_DOUBLE(
        versions_args, limit_s, "limit", "S", 60, "time limit of each job, in seconds"),
    HSC_OPTION_END,
};

static void show_progress(void *user, const char *version, const char *text) {
  hsc_cli_progress(user, "%s: %s", version, text);
}

static const char *text_at(const json_t *object, const char *key) {
  return json_string_value(json_object_get(object, key));
}

// ": time 5.4 times, its exponent 0.94, then 1.91": what of the change can be said in numbers.
static void print_numbers(hsc_cli *cli, const json_t *change) {
  double factor = hsc_json_number(json_object_get(change, "factor"));
  json_t *exponents = json_object_get(change, "exponents");
  if (!isnan(factor))
    hsc_cli_print(cli, ": %.3g times", factor);
  if (exponents)
    hsc_cli_print(cli, ", exponent %.2f, then %.2f", hsc_json_number(json_array_get(exponents, 0)),
                  hsc_json_number(json_array_get(exponents, 1)));
  hsc_cli_print(cli, "\n");
}

// Releases that gave an answer, good or bad.
static size_t told(const json_t *document) {
  size_t count = 0;
  json_t *row;
  size_t i;
  json_array_foreach (json_object_get(document, "tried"), i, row)
    count += strcmp(text_at(row, "verdict"), "unknown") != 0;
  return count;
}

// That nothing changed takes two releases that gave an answer, and none that was tried in vain.
static bool can_tell(const json_t *document) {
  return told(document) > 1 &&
         told(document) == json_array_size(json_object_get(document, "tried"));
}

// The answer in one line a change, by the words beside it.
static void print_answer(hsc_cli *cli, const json_t *document) {
  json_t *change;
  size_t i;
  json_t *changes = json_object_get(document, "changes");
  json_array_foreach (changes, i, change) {
    bool worse = text_at(change, "first_bad");
    if (json_is_true(json_object_get(change, "step")))  // both are good, or both bad
      hsc_cli_print(cli, "%s %s is %s than %s", text_at(document, "of"),
                    text_at(change, worse ? "first_bad" : "mended_in"), worse ? "worse" : "better",
                    text_at(change, worse ? "last_good" : "last_bad"));
    else if (worse)
      hsc_cli_print(cli, "%s %s is good, %s is the first bad one", text_at(document, "of"),
                    text_at(change, "last_good"), text_at(change, "first_bad"));
    else
      hsc_cli_print(cli, "%s %s is bad, %s is mended", text_at(document, "of"),
                    text_at(change, "last_bad"), text_at(change, "mended_in"));
    print_numbers(cli, change);
  }
  size_t skipped = json_array_size(json_object_get(document, "skipped"));
  if (json_array_size(changes) == 0 && !can_tell(document)) {
    hsc_cli_print(cli, "cannot tell: %zu of the %zu releases that were tried have a verdict\n",
                  told(document), json_array_size(json_object_get(document, "tried")));
  } else if (json_array_size(changes) == 0) {
    hsc_cli_print(
        cli, "no change: all %zu releases that were tried are alike%s\n", told(document),
        json_array_size(json_object_get(document, "untried")) ? "; --all tries the rest" : "");
  }
  if (json_array_size(changes) == 0 && skipped) {
    hsc_cli_print(cli, "%zu %s skipped: nothing is known of %s\n", skipped,
                  hsc_plural((double)skipped, "was", "were"),
                  hsc_plural((double)skipped, "it", "them"));
  }
  json_array_foreach (json_object_get(document, "restored_by"), i, change)
    hsc_cli_print(cli, "with --option %s the bad release is good\n", json_string_value(change));
  hsc_cli_print(cli, "\n");
}

// What a reader of one screen gets; --format=json has all of it.
enum { MOST_ROWS = 12, MOST_SKIPPED = 3, MOST_DIFFERENCES = 6, MOST_BYTES = 30 };

static bool same_verdict(const json_t *tried, size_t i, size_t k) {
  return !strcmp(text_at(json_array_get(tried, i), "verdict"),
                 text_at(json_array_get(tried, k), "verdict"));
}

// Of many releases the ends, and those beside a change.
static bool is_shown(const json_t *tried, size_t i) {
  size_t count = json_array_size(tried);
  return count <= MOST_ROWS || i == 0 || i + 1 == count || !same_verdict(tried, i, i - 1) ||
         !same_verdict(tried, i, i + 1);
}

static void note_skipped(hsc_table *table, const json_t *skipped) {
  json_t *row;
  size_t i;
  json_array_foreach (skipped, i, row) {
    if (i == MOST_SKIPPED) {
      hsc_table_note(table, "and %zu more were skipped (--format=json)",
                     json_array_size(skipped) - MOST_SKIPPED);
      return;
    }
    hsc_table_note(table, "%s was skipped: %.140s", text_at(row, "version"),
                   text_at(row, "reason"));
  }
}

static void note_differences(hsc_table *table, const json_t *differences) {
  json_t *row;
  size_t i;
  json_array_foreach (differences, i, row) {
    if (i == MOST_DIFFERENCES) {
      hsc_table_note(table, "differs: and %zu more (--format=json)",
                     json_array_size(differences) - MOST_DIFFERENCES);
      return;
    }
    char *before =
        json_dumps(json_object_get(row, "before"), JSON_ENCODE_ANY | JSON_REAL_PRECISION(6));
    char *after =
        json_dumps(json_object_get(row, "after"), JSON_ENCODE_ANY | JSON_REAL_PRECISION(6));
    hsc_table_note(table, "differs: %s: %.*s, then %.*s", text_at(row, "what"), MOST_BYTES,
                   before ? before : "", MOST_BYTES, after ? after : "");
    free(before);
    free(after);
  }
}

// A cost is held against the last release that was good, other symptoms against the reference.
static void note_next(hsc_table *table, const json_t *document) {
  const char *good = text_at(document, "last_good");
  const char *bad = text_at(document, "first_bad");
  const char *device = text_at(document, "device");
  bool is_cost = json_is_number(json_object_get(document, "limit"));
  bool has_fault = !hsc_starts_with(text_at(document, "symptom"), "fires") &&
                   !hsc_starts_with(text_at(document, "symptom"), "unfused");
  if (!bad || !good || !has_fault)
    return;
  hsc_table_note(table, "next: hloscope blame %s -d %s@%s --symptom %s%s%s%s%s",
                 text_at(document, "program"), device, bad, text_at(document, "symptom"),
                 is_cost ? " --against " : "", is_cost ? device : "", is_cost ? "@" : "",
                 is_cost ? good : "");
}

static hsc_status *print_result(hsc_cli *cli, const json_t *document) {
  hsc_table *table = NULL;
  json_t *row;
  size_t i;
  HSC_TRY(hsc_table_create("versions", &table));
  hsc_table_column(table, "version", "");
  hsc_table_column(table, "verdict", "");
  hsc_table_column(table, "seen", "");
  const json_t *tried = json_object_get(document, "tried");
  json_array_foreach (tried, i, row) {
    if (!is_shown(tried, i))
      continue;
    hsc_table_row(table);
    hsc_table_text(table, text_at(row, "version"));
    hsc_table_text(table, text_at(row, "verdict"));
    hsc_table_text(table, text_at(row, "seen"));
  }
  if (hsc_table_row_count(table) < json_array_size(tried))
    hsc_table_note(table, "%zu more are as those around them (--format=json)",
                   json_array_size(tried) - hsc_table_row_count(table));
  note_skipped(table, json_object_get(document, "skipped"));
  note_differences(table, json_object_get(document, "differences"));
  json_array_foreach (json_object_get(document, "not_compared"), i, row)
    hsc_table_note(table, "not compared: %.200s", json_string_value(row));
  note_next(table, document);
  print_answer(cli, document);
  return hsc_cli_table(cli, table);
}

static hsc_status *run(const void *args_of_command, hsc_cli *cli) {
  const versions_args *args = args_of_command;
  hsc_versions_options o = {.programs = args->programs.items,
                            .program_count = args->programs.count,
                            .sizes = args->sizes,
                            .of = args->of,
                            .device = args->device,
                            .from = args->from,
                            .to = args->to,
                            .all = args->all,
                            .most = args->most,
                            .seed = (uint64_t)args->seed,
                            .inputs_file = args->inputs,
                            .limit_ns = (int64_t)(args->limit_s * 1e9),
                            .command = cli->command_line,
                            .progress = show_progress,
                            .user = cli,
                            .stop = &hsc_cli_stop};
  json_t *overrides = NULL;
  json_t *document = NULL;
  hsc_given_inputs inputs = {0};
  hsc_status *status = NULL;
  for (size_t i = 0; i < args->programs.count; i++)
    HSC_TRY(hsc_cli_program_file(cli, &args->programs.items[i]));
  if (!(args->limit_s > 0) || args->most < 0)
    return hsc_cli_usage(cli, "--limit must be above 0, --most not below");
  HSC_TRY(hsc_symptom_parse(args->symptom, cli->arena, &o.symptom));
  if (args->inputs && (args->programs.count > 1 || args->sizes))
    return hsc_cli_usage(cli, "--inputs is for one program in one size");
  HSC_TRY(hsc_overrides_parse(args->overrides.items, args->overrides.count, &overrides));
  o.overrides = overrides;
  HSC_GOTO(hsc_given_inputs_read(
      &(hsc_given_inputs_options){.file = args->inputs, .program = args->programs.items[0]},
      &inputs));
  o.data = inputs.data;
  HSC_GOTO(hsc_cli_store_open(cli, NULL, &o.store));
  hsc_cli_catch_interrupt();
  HSC_GOTO(hsc_versions(&o, &document));
  if (cli->format == HSC_FORMAT_JSON) {
    HSC_GOTO(hsc_cli_document(cli, document));
  } else {
    HSC_GOTO(print_result(cli, document));
  }
  enum { CHANGED = 1, UNTOLD = 3 };
  if (json_array_size(json_object_get(document, "changes")))
    cli->exit_code = CHANGED;
  else if (!can_tell(document))
    cli->exit_code = UNTOLD;
done:
  json_decref(overrides);
  json_decref(document);
  hsc_given_inputs_deinit(&inputs);
  hsc_store_close(o.store);
  return status;
}

const hsc_command_body hsc_command_versions = {
    .options = options,
    .args_bytes = sizeof(versions_args),
    .run = run,
    .description =
        "Tries releases of a compiler on a program, each in its own Python environment, which is "
        "made from wheels and kept: first the two ends of the range, then a bisection down to two "
        "neighbours that differ; then shows what each makes of the program, and which options "
        "restore the old behaviour.\nExit code 1: there is a change.",
    .examples =
        "hloscope versions model.mlir --of jaxlib --from 0.7.0 --to 0.10.2\n"
        "hloscope versions model.mlir --of jaxlib --symptom wrong\n"
        "hloscope versions n1000.mlir n2000.mlir n4000.mlir --from 0.7.0 --to 0.7.2\n"
        "hloscope versions growing.hlo --sizes 1000=1000,2000,4000 --from 0.7.0\n"
        "hloscope run model.mlir -d xla-cpu@0.7.0,xla-cpu@0.7.1",
};
