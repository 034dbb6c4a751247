// cmd_passes.c - hloscope passes: what each pass of a compiler did to a program, and what it is
// worth. One file a verb.
#include "base/text/text.h"
#include "cli/cmd_passes.h"
#include "cli/interrupt.h"

#include <stdlib.h>

#include "worker/lab_compile.h"
#include "worker/scratch.h"
#include "lab/devices/devices.h"
#include "passes/manager/passes.h"

static const char *const verbs[] = {
#define VERB(text, body, argument, examples, what) text,
#include "cli/passes_verbs.def"
#undef VERB
    NULL};

static const hsc_option options[] = {
    HSC_POSITIONAL_CHOICE(passes_args, verb, "VERB", verbs, HSC_REQUIRED, 0, "what to do"),
    HSC_POSITIONAL(
        passes_args, program, "PROGRAM", HSC_OPTIONAL, "a program file; for explain: the pass"),
    HSC_OPTION_STRING(passes_args,
                      device,
                      "device|d",
                      "DEVICE",
                      NULL,
                      "whose compiler: a name, or the path of a plugin; diff: two, report: "
                      "several, separated by commas; default: $HLOSCOPE_DEVICE, else cpu"),
    HSC_OPTION_STRING(
        passes_args,
        disable,
        "disable",
        "NAMES",
        NULL,
        "passes and pipelines to leave out, on cpu also rules (algsimp/NAME), separated by "
        "commas"),
    HSC_OPTION_STRING(
        passes_args,
        enable,
        "enable",
        "NAMES",
        NULL,
        "on cpu, also run these passes, which run on request only; separated by commas",
        .verbs = "list,dump"),
    HSC_OPTION_LIST(passes_args,
                    transforms,
                    "transform",
                    "T",
                    NULL,
                    "repeat:N, vmap:N, scan:N or constant:I=V before compiling"),
    HSC_OPTION_LIST(passes_args,
                    settings,
                    "option",
                    "NAME=VALUE",
                    NULL,
                    "a compile option of the device; may be repeated"),
    HSC_OPTION_STRING(
        passes_args,
        output,
        "output|o",
        "DIR",
        NULL,
        "where the result goes: a directory (dump, report), JSON (ablate), a page (diff, "
        "show), stacks for a flame graph (time)",
        .verbs = "dump,diff,time,ablate,report,show"),
    HSC_OPTION_LIST(passes_args,
                    results,
                    "results",
                    "FILES",
                    NULL,
                    "documents of list and ablate, as JSON",
                    .verbs = "report"),
    HSC_OPTION_STRING(passes_args,
                      pass,
                      "pass",
                      "NAME",
                      NULL,
                      "before and after this pass, the first time it changed something",
                      .verbs = "diff"),
    HSC_OPTION_STRING(passes_args,
                      from,
                      "from",
                      "STAGE",
                      NULL,
                      "after a pass or a run's number, input or output; default: input",
                      .verbs = "diff"),
    HSC_OPTION_STRING(
        passes_args, to, "to", "STAGE", NULL, "likewise; default: output", .verbs = "diff"),
    HSC_OPTION_STRING(passes_args,
                      against,
                      "against",
                      "FILE",
                      NULL,
                      "PROGRAM and this file as they are; nothing is compiled",
                      .verbs = "diff"),
    HSC_OPTION_STRING(passes_args,
                      pattern,
                      "passes",
                      "REGEX",
                      NULL,
                      "only passes whose name matches",
                      .verbs = "dump,ablate"),
    HSC_OPTION_LIST(passes_args,
                    only,
                    "only",
                    "NAMES",
                    NULL,
                    "only these passes or pipelines, by their exact names",
                    .verbs = "ablate"),
    HSC_OPTION_STRING(passes_args,
                      pipeline,
                      "pipeline",
                      "NAME",
                      NULL,
                      "only passes that ran in this pipeline",
                      .verbs = "ablate"),
    HSC_OPTION_FLAG(passes_args,
                    that_changed,
                    "that-changed",
                    "only passes that changed the program when they ran; the others cannot matter",
                    .verbs = "ablate"),
    HSC_OPTION_FLAG(passes_args,
                    with_pipelines,
                    "pipelines",
                    "also switch off whole pipelines",
                    .verbs = "ablate"),
    HSC_OPTION_FLAG(passes_args,
                    with_rules,
                    "rules",
                    "on cpu, also switch off each rule of algsimp that fired",
                    .verbs = "ablate"),
    HSC_OPTION_INT_FROM(
        passes_args,
        fuel,
        "fuel",
        "N",
        -1,
        -1,
        "on cpu, stop after N rewrites; -1 is no limit. Halving N finds the rewrite that matters",
        .verbs = "list,dump"),
    HSC_OPTION_STRING(
        passes_args,
        pass_fuel,
        "pass-fuel",
        "NAME=N",
        NULL,
        "on cpu, the pass or rule stops after N rewrites; several are separated by commas",
        .verbs = "list,dump"),
    HSC_OPTION_FLAG(
        passes_args,
        changed_only,
        "changed",
        "only what made a difference: runs that changed the program (list), passes whose absence "
        "did (ablate)",
        .verbs = "list,ablate"),
    HSC_OPTION_FLAG(passes_args,
                    all,
                    "all|a",
                    "every row, not the first screen",
                    .verbs = "list,time,ablate,diff,why"),
    HSC_OPTION_INT(passes_args,
                   placebos,
                   "placebos",
                   "N",
                   5,
                   "names that do not exist, switched off to see what chance does",
                   .verbs = "ablate"),
    HSC_OPTION_INT_FROM(passes_args,
                        jobs,
                        "jobs|j",
                        "N",
                        1,
                        1,
                        "compiles at the same time, each in a worker of its own",
                        .verbs = "ablate"),
    HSC_OPTION_FLAG(
        passes_args, no_timing, "no-timing", "structure only; nothing is run", .verbs = "ablate"),
    HSC_OPTION_INT_FROM(passes_args,
                        processes,
                        "processes",
                        "N",
                        0,
                        0,
                        "fresh processes to time in; 0: chosen after a few trial runs, 3 or more",
                        .verbs = "ablate"),
    HSC_OPTION_INT_FROM(
        passes_args,
        blocks,
        "blocks",
        "N",
        0,
        0,
        "rounds in each of them (blocks); in a block every variant has one turn, in random "
        "order; 0: chosen after a few trial runs",
        .verbs = "ablate"),
    HSC_OPTION_DOUBLE(
        passes_args,
        precision,
        "precision",
        "PERCENT",
        -1,
        "half the width of the interval that is wanted; 0: none; -1: time 2, ablate the margin",
        .verbs = "time,ablate"),
    HSC_OPTION_DOUBLE(
        passes_args,
        budget_s,
        "time-budget",
        "S",
        -1,
        "seconds that the whole command may take; 0: no limit; -1: time 10, ablate 300 for "
        "timing alone, why none",
        .verbs = "time,ablate,why"),
    HSC_OPTION_DOUBLE(passes_args,
                      margin_percent,
                      "margin",
                      "PERCENT",
                      1,
                      "effects that are certainly smaller count as none",
                      .verbs = "ablate"),
    HSC_OPTION_STRING(passes_args,
                      highlight,
                      "highlight",
                      "LOW,HIGH",
                      "1,5",
                      "mark slowdowns of at least LOW and HIGH percent that exceed every placebo",
                      .verbs = "ablate"),
    HSC_OPTION_FLAG(passes_args,
                    pairs,
                    "pairs",
                    "also switch off pairs of the passes that mattered",
                    .verbs = "ablate"),
    HSC_OPTION_INT_FROM(passes_args,
                        pair_most,
                        "pairs-of",
                        "N",
                        2,
                        8,
                        "pairs among the N passes with the largest effects",
                        .verbs = "ablate"),
    HSC_OPTION_INT_FROM(passes_args,
                        repeats,
                        "repeats",
                        "N",
                        0,
                        0,
                        "compiles that count, after a first one; 0: how many, and in how many "
                        "processes, is chosen after a few trial compiles",
                        .verbs = "time"),
    HSC_OPTION_STRING(passes_args,
                      runner,
                      "runner",
                      "DEVICE",
                      NULL,
                      "device that runs the stages; default: cpu, and for the built-in compiler "
                      "reference, which is slow and right by definition",
                      .verbs = "validate"),
    HSC_OPTION_DOUBLE(passes_args,
                      tolerance,
                      "tolerance",
                      "X",
                      1,
                      "multiple of the tolerance of the output's type",
                      .verbs = "validate"),
    HSC_OPTION_STRING(
        passes_args, inputs, "inputs", "FILE", NULL, HSC_INPUTS_TEXT, .verbs = "validate"),
    HSC_OPTION_INT(passes_args,
                   seed,
                   "seed",
                   "N",
                   0,
                   "seed for the generated inputs; ablate: also for the order and the intervals",
                   .verbs = "time,ablate,validate"),
    HSC_OPTION_INT(passes_args,
                   level,
                   "level",
                   "N",
                   4,
                   "0 only what is imported, 1 also timing, 2 on random inputs, 3 fresh outputs, 4 "
                   "checks red zones and results",
                   .verbs = "autotune"),
    HSC_OPTION_STRING(passes_args,
                      export_to,
                      "export",
                      "FILE",
                      NULL,
                      "the chosen algorithms, as XLA's AutotuneResults in text",
                      .verbs = "autotune"),
    HSC_OPTION_STRING(passes_args,
                      import_from,
                      "import",
                      "FILE",
                      NULL,
                      "read such a file; what it contains is not measured",
                      .verbs = "autotune"),
    HSC_OPTION_STRING(passes_args,
                      denylist,
                      "denylist",
                      "FILE",
                      NULL,
                      "XLA's AlgorithmDenylist in text: algorithms that must not be used",
                      .verbs = "autotune"),
    HSC_OPTION_FLAG(
        passes_args,
        remedy,
        "remedy",
        "name the instruction and the line, and try at most three remedies: one compile "
        "each, numbers compared",
        .verbs = "time"),
    HSC_OPTION_STRING(passes_args,
                      not_fused,
                      "not-fused",
                      "A,B",
                      NULL,
                      "an operation and one that reads it, by their names in the program, or two "
                      "kernels of the compiled one; default: the pairs that cost most",
                      .verbs = "why"),
    HSC_OPTION_INT_FROM(passes_args,
                        top,
                        "top",
                        "N",
                        1,
                        5,
                        "pairs that are looked into, the dearest first",
                        .verbs = "why"),
    HSC_OPTION_FLAG(passes_args,
                    fresh,
                    "fresh",
                    "measure again what the cache directory holds",
                    .verbs = "autotune"),
    HSC_OPTION_DOUBLE(
        passes_args, limit_s, "limit", "S", 600, "time limit of one job of a worker, in seconds"),
    HSC_OPTION_FLAG(passes_args,
                    resume,
                    "resume",
                    "continue the last unfinished sweep with the same options",
                    .verbs = "ablate"),
    HSC_OPTION_STRING(passes_args,
                      store,
                      "store",
                      "FILE",
                      NULL,
                      "the result store; default: results.sqlite in the cache directory",
                      .verbs = "ablate"),
    HSC_OPTION_END,
};

// ---- what the verbs share -----------------------------------------------------------------------

static hsc_status *run(const void *args_of_command, hsc_cli *cli) {
  static const struct {
    hsc_status *(*body)(const passes_args *args, hsc_cli *cli);
    const char *argument;
  } rows[] = {
#define VERB(text, body, argument, examples, what) {hsc__passes_##body, argument},
#include "cli/passes_verbs.def"
#undef VERB
  };
  const passes_args *args = args_of_command;
  // what was found before is reported without its program
  bool is_report_of_results = rows[args->verb].body == hsc__passes_report && args->results.count;
  if (!args->program && (!is_report_of_results || args->device))
    return hsc_cli_usage(cli, "passes %s: which %s?", verbs[args->verb], rows[args->verb].argument);
  if (!(args->limit_s > 0))
    return hsc_cli_usage(cli, "--limit must be above 0 s");
  if (!strcmp(rows[args->verb].argument, "program"))
    HSC_TRY(hsc_cli_program_file(cli, &args->program));
  hsc_cli_catch_interrupt();
  return rows[args->verb].body(args, cli);
}

// A line for each verb; the line's end that stands before the first is left out.
static const char description[] =
#define VERB(text, body, argument, examples, what) "\n" text ": " what
#include "cli/passes_verbs.def"
#undef VERB
    ;
static const char examples[] =
#define VERB(text, body, argument, examples, what) "\n" examples
#include "cli/passes_verbs.def"
#undef VERB
    ;

const hsc_command_body hsc_command_passes = {
    .options = options,
    .args_bytes = sizeof(passes_args),
    .run = run,
    .description = description + 1,
    .examples = examples + 1,
};
