// cmd_tune.c - hloscope tune: what to change so that a program runs faster.
#include <math.h>

#include "base/text/text.h"
#include "cli/document.h"
#include "cli/cli_main.h"
#include "cli/command.h"
#include "cli/interrupt.h"
#include "doctor/knowledge.h"
#include "lab/devices/devices.h"
#include "lab/run/given_inputs.h"
#include "lab/run/json_tree.h"
#include "lab/tune/tune.h"
#include "worker/lab_compile.h"

typedef struct tune_args {
  const char *program, *device, *store, *pattern, *inputs;
  hsc_list transforms, settings;
  double budget_s, margin_percent, limit_s;
  int64_t placebos, seed, most;
  int goal;
  bool resume, no_changes, all;
} tune_args;

static const char *const goals[] = {"run", "compile", NULL};

static const hsc_option options[] = {
    HSC_POSITIONAL(tune_args, program, "PROGRAM", HSC_REQUIRED, "HLO or StableHLO, gzipped too"),
    HSC_OPTION_STRING(tune_args,
                      device,
                      "device|d",
                      "DEVICE",
                      NULL,
                      "for which device; default: $HLOSCOPE_DEVICE, else cpu"),
    HSC_OPTION_CHOICE(tune_args,
                      goal,
                      "for",
                      goals,
                      0,
                      "what is to be less: run time (memory and kernels where the device only "
                      "compiles), or compile time"),
    HSC_OPTION_DOUBLE(tune_args,
                      budget_s,
                      "time-budget",
                      "S",
                      600,
                      "seconds that all of it may take; 0: no limit"),
    HSC_OPTION_STRING(tune_args,
                      pattern,
                      "only",
                      "PATTERN",
                      NULL,
                      "only candidates whose name matches (POSIX extended)"),
    HSC_OPTION_INT_FROM(tune_args,
                        most,
                        "most",
                        "N",
                        0,
                        0,
                        "at most N candidates, the likeliest; 0: as many as the time allows"),
    HSC_OPTION_DOUBLE(
        tune_args, margin_percent, "margin", "PERCENT", 2, "a gain that is not worth a line"),
    HSC_OPTION_INT_FROM(tune_args,
                        placebos,
                        "placebos",
                        "N",
                        1,
                        2,
                        "candidates that change nothing: what they gain is chance"),
    HSC_OPTION_FLAG(
        tune_args, no_changes, "no-changes", "options and passes only, no changes of the program"),
    HSC_OPTION_FLAG(tune_args, all, "all", "list every candidate, not only what mattered"),
    HSC_OPTION_FLAG(
        tune_args, resume, "resume", "go on with the last one like this that was not finished"),
    HSC_OPTION_LIST(tune_args,
                    transforms,
                    "transform",
                    "T",
                    NULL,
                    "repeat:N, vmap:N, scan:N or constant:I=V before compiling; may be repeated"),
    HSC_OPTION_LIST(tune_args,
                    settings,
                    "option",
                    "NAME=VALUE",
                    NULL,
                    "a compile option of every compile; may be repeated"),
    HSC_OPTION_INPUTS(tune_args, inputs),
    HSC_OPTION_INT(tune_args, seed, "seed", "N", 0, "of the inputs and of the order"),
    HSC_OPTION_DOUBLE(tune_args, limit_s, "limit", "S", 300, "time limit of each job, in seconds"),
    HSC_OPTION_STRING(tune_args,
                      store,
                      "store",
                      "FILE",
                      NULL,
                      "the result store; default: results.sqlite in the cache directory"),
    HSC_OPTION_END,
};

static void show_progress(void *user, int64_t done, int64_t total, const char *text) {
  const hsc_cli *cli = user;
  enum { EVERY = 20 };  // lines where there is no terminal
  if (cli->talk_is_terminal || done % EVERY == 0)
    hsc_cli_progress_of(user, done, total, text);
}

// ---- what is known ------------------------------------------------------------------------------

typedef struct extras {
  hsc_tune_extra *items;
  size_t count;
} extras;

static void add_extra(
    extras *e, hsc_arena *arena, const hsc_entry *entry, const char *name, const char *value) {
  enum { MOST = 256 };
  if (!e->items)
    e->items = HSC_NEW_ARRAY(arena, hsc_tune_extra, MOST);
  // "N" stands for any number, "env.X" for a variable: neither is an option to try
  bool is_value = value[0] && !(value[0] >= 'A' && value[0] <= 'Z' && !value[1]);
  if (!e->items || e->count == MOST || !is_value || hsc_starts_with(name, "env."))
    return;
  e->items[e->count++] =
      (hsc_tune_extra){name, value, hsc_arena_printf(arena, "knowledge: %s", entry->id)};
}

// xla_name=value in an advice.
static void add_mentioned(extras *e, hsc_arena *arena, const hsc_entry *entry, const char *text) {
  static const char *const name_bytes = "abcdefghijklmnopqrstuvwxyz0123456789_";
  for (const char *at = text; (at = strstr(at, "xla_"));) {
    size_t size = strspn(at, name_bytes);
    if (at[size] == '=') {
      size_t length = strcspn(at + size + 1, " \t\n\"'`),;");
      while (length && strchr(".:", at[size + length]))
        length--;
      if (length)
        add_extra(e, arena, entry, hsc_arena_strndup(arena, at, size),
                  hsc_arena_strndup(arena, at + size + 1, length));
    }
    at += size;
  }
}

static hsc_status *find_extras(hsc_cli *cli, hsc_knowledge **out_base, extras *out) {
  HSC_TRY(hsc_knowledge_load(NULL, out_base));
  size_t count = hsc_knowledge_count(*out_base);
  for (size_t i = 0; i < count; i++) {
    const hsc_entry *entry = hsc_knowledge_at(*out_base, i);
    for (size_t k = 0; k < entry->remedy_count; k++)
      add_extra(out, cli->arena, entry, entry->remedies[k].name, entry->remedies[k].value);
    add_mentioned(out, cli->arena, entry, entry->workaround);
    add_mentioned(out, cli->arena, entry, entry->next);
  }
  return hsc_arena_status(cli->arena);
}

// ---- for people ---------------------------------------------------------------------------------

static const char *text_at(const json_t *row, const char *key) {
  return json_string_value(json_object_get(row, key));
}

static void print_cost(
    hsc_cli *cli, const json_t *answer, const char *key, const char *unit, const char *name) {
  char from[32];
  char to[32];
  double before = hsc_json_number(hsc_json_path(answer, key, "from", NULL));
  double after = hsc_json_number(hsc_json_path(answer, key, "to", NULL));
  if (isnan(before) || isnan(after))
    return;
  hsc_format_quantity(before, unit, false, from);
  hsc_format_quantity(after, unit, false, to);
  hsc_cli_print(cli, "  %-12s %s, was %s\n", name, to, from);
}

static void print_answer(hsc_cli *cli, const json_t *answer, const char *what) {
  const char *lines[] = {text_at(answer, "change"), text_at(answer, "flags"),
                         text_at(answer, "python")};
  if (!json_is_object(answer))
    return;
  hsc_cli_print(cli, "\n%s:\n", what);
  for (size_t i = 0; i < HSC_COUNT_OF(lines); i++)
    if (lines[i])
      hsc_cli_print(cli, "  %s\n", lines[i]);
  if (text_at(answer, "flags_refused"))
    hsc_cli_print(cli, "  not as a variable of the environment, which ends the process: %s\n",
                  text_at(answer, "flags_refused"));
  else if (text_at(answer, "flags") && !json_is_true(json_object_get(answer, "flags_tried")))
    hsc_cli_print(cli, "  the variable was not tried: no compile with it within the time\n");
  print_cost(cli, answer, "run_seconds", "s", "run");
  print_cost(cli, answer, "kernels", "count", "kernels");
  print_cost(cli, answer, "peak_bytes", "bytes", "peak memory");
  print_cost(cli, answer, "temp_bytes", "bytes", "temporaries");
  print_cost(cli, answer, "compile_seconds", "s", "compile");
  const json_t *numbers = json_object_get(answer, "numbers");
  if (json_is_object(numbers))
    hsc_cli_print(cli, "  %-12s %s (largest difference %.3g)\n", "numbers",
                  text_at(numbers, "verdict"),
                  hsc_json_number(json_object_get(numbers, "max_abs")));
  const char *risk = text_at(answer, "risk");
  if (risk)
    hsc_cli_print(cli, "  %-12s %s\n", "risk", risk);
}

static bool matters(const json_t *row) {
  static const char *const quiet[] = {"not tried", "not among the best", "ok"};
  for (size_t i = 0; i < HSC_COUNT_OF(quiet); i++)
    if (!strcmp(text_at(row, "outcome"), quiet[i]))
      return false;
  return true;
}

static void add_row(hsc_table *table, const json_t *row, bool structure) {
  const json_t *time = json_object_get(row, "time");
  const char *value = text_at(row, "value");
  double ratio = hsc_json_number(json_object_get(time, "ratio"));
  hsc_table_row(table);
  if (value && !strcmp(text_at(row, "kind"), "option"))
    hsc_table_printf(table, "%s=%s", text_at(row, "name"), value);
  else
    hsc_table_text(table, text_at(row, "name"));
  hsc_table_text(table, text_at(row, "kind"));
  hsc_table_text(table, text_at(row, "outcome"));
  if (structure) {
    hsc_table_double(table, hsc_json_number(json_object_get(row, "peak_bytes")));
    hsc_table_double(table, hsc_json_number(json_object_get(row, "kernels")));
    return;
  }
  hsc_table_double(table, hsc_json_number(json_object_get(row, "look")));
  if (isnan(ratio))
    hsc_table_missing(table);
  else
    hsc_table_printf(table, "%.3f [%.3f, %.3f]", ratio,
                     hsc_json_number(json_object_get(time, "low")),
                     hsc_json_number(json_object_get(time, "high")));
  hsc_table_double(table, hsc_json_number(json_object_get(time, "q_value")));
  hsc_table_text(table, json_string_value(hsc_json_path(row, "numbers", "verdict", NULL)));
}

static hsc_status *print_rows(const tune_args *args, hsc_cli *cli, const json_t *result) {
  static const char *const lists[] = {"rows", "pairs", "placebos"};
  bool structure = !strcmp(text_at(result, "tuned_for"), "memory and kernels");
  hsc_table *table = NULL;
  json_t *row;
  size_t i;
  HSC_TRY(hsc_table_create("tune", &table));
  hsc_table_column(table, "candidate", "");
  hsc_table_column(table, "kind", "");
  hsc_table_column(table, "outcome", "");
  if (structure) {
    hsc_table_column(table, "peak memory", "bytes");
    hsc_table_column(table, "kernels", "count");
  } else {
    hsc_table_column(table, "first look", "x");
    hsc_table_column(table, "time, proved", "");
    hsc_table_column(table, "q", "");
    hsc_table_column(table, "numbers", "");
  }
  for (size_t k = 0; k < HSC_COUNT_OF(lists); k++)
    json_array_foreach (json_object_get(result, lists[k]), i, row)
      if (args->all || (matters(row) && (!structure || k == 1)))
        add_row(table, row, structure);
  hsc_table_note(table, "%lld of %lld candidates tried",
                 (long long)json_integer_value(json_object_get(result, "tried")),
                 (long long)json_integer_value(json_object_get(result, "candidates")));
  long long known = json_integer_value(json_object_get(result, "options_known"));
  if (known)
    hsc_table_note(table, "the compiler has %lld options, %lld of them cannot help", known,
                   (long long)json_integer_value(json_object_get(result, "never_tried")));
  if (!structure)
    hsc_table_note(table,
                   "time against the program as it is, [95 %% interval], from processes that "
                   "had no part in the choice; q: false discoveries");
  const char *against = json_string_value(hsc_json_path(result, "numbers", "against", NULL));
  const char *file = json_string_value(hsc_json_path(result, "inputs", "file", NULL));
  if (against && !structure)
    hsc_table_note(table, "numbers are held against %s, on the inputs of %s", against,
                   file ? file : "the seed");
  return hsc_cli_table(cli, table);
}

static hsc_status *print_text(const tune_args *args, hsc_cli *cli, const json_t *result) {
  bool structure = !strcmp(text_at(result, "tuned_for"), "memory and kernels");
  hsc_cli_paragraph(cli, "%s on %s: %s\n", args->program, text_at(result, "device"),
                    text_at(result, "headline"));
  if (structure)
    hsc_cli_print(cli,
                  "This device only compiles here: tuned for memory and kernels; what it takes "
                  "in time is not known.\n");
  print_answer(cli, json_object_get(result, "answer"), "paste");
  print_answer(cli, json_object_get(result, "least_memory"), "least memory");
  print_answer(cli, json_object_get(result, "fewest_kernels"), "fewest kernels");
  hsc_cli_print(cli, "\n");
  return print_rows(args, cli, result);
}

// ---- the command --------------------------------------------------------------------------------

static hsc_status *check(const tune_args *args, hsc_cli *cli, const hsc_device_spec *device) {
  if (!(args->budget_s >= 0) || !(args->limit_s > 0) || !(args->margin_percent > 0))
    return hsc_cli_usage(cli,
                         "--time-budget must not be negative, --limit and --margin are above 0");
  if (args->placebos > 16)
    return hsc_cli_usage(cli, "--placebos takes 1 to 16");
  if (device->source == HSC_DEVICE_EVALUATOR)
    return hsc_cli_usage(cli, "the reference evaluator has nothing to tune");
  return NULL;
}

static hsc_status *run(const void *args_of_command, hsc_cli *cli) {
  const tune_args *args = args_of_command;
  const char *device_text = args->device ? args->device : hsc_default_device();
  hsc_device_spec device;
  hsc_knowledge *base = NULL;
  hsc_store *store = NULL;
  json_t *result = NULL;
  json_t *overrides = NULL;
  hsc_given_inputs inputs = {0};
  extras known = {0};
  hsc_status *status = NULL;
  HSC_TRY(hsc_cli_program_file(cli, &args->program));
  HSC_TRY(hsc_device_spec_parse(device_text, cli->arena, &device));
  HSC_TRY(check(args, cli, &device));
  hsc_cli_catch_interrupt();  // what is measured stays
  HSC_GOTO(hsc_overrides_parse(args->settings.items, args->settings.count, &overrides));
  HSC_GOTO(
      hsc_given_inputs_read(&(hsc_given_inputs_options){.file = args->inputs,
                                                        .program = args->program,
                                                        .transforms = args->transforms.items,
                                                        .transform_count = args->transforms.count},
                            &inputs));
  HSC_GOTO(find_extras(cli, &base, &known));
  HSC_GOTO(hsc_cli_store_open(cli, args->store, &store));
  hsc_tune_options o = {.program = args->program,
                        .transforms = args->transforms.items,
                        .transform_count = args->transforms.count,
                        .device = &device,
                        .overrides = overrides,
                        .extras = known.items,
                        .extra_count = known.count,
                        .pattern = args->pattern,
                        .most = (int)args->most,
                        .placebos = (int)args->placebos,
                        .for_compile = args->goal == 1,
                        .no_changes = args->no_changes,
                        .budget_s = args->budget_s,
                        .margin = args->margin_percent / 100,
                        .seed = (uint64_t)args->seed,
                        .data = inputs.data,
                        .inputs_file = args->inputs,
                        .limit_ns = (int64_t)(args->limit_s * 1e9),
                        .command = cli->command_line,
                        .store = store,
                        .resume = args->resume,
                        .progress = show_progress,
                        .user = cli,
                        .stop = &hsc_cli_stop};
  HSC_GOTO(hsc_tune(&o, &result));
  HSC_GOTO(cli->format == HSC_FORMAT_JSON ? hsc_cli_document_of_command(cli, result)
                                          : print_text(args, cli, result));
  if (!strcmp(text_at(result, "status"), "interrupted"))
    hsc_cli_say(cli, "ended by %s; the same command with --resume goes on with it",
                text_at(result, "ended_by"));
  cli->exit_code = hsc_tune_exit_code(result);
done:
  json_decref(result);
  json_decref(overrides);
  hsc_given_inputs_deinit(&inputs);
  hsc_knowledge_destroy(base);
  hsc_store_close(store);
  return status;
}

const hsc_command_body hsc_command_tune = {
    .options = options,
    .args_bytes = sizeof(tune_args),
    .run = run,
    .description =
        "What should be changed so that the program runs faster on the device? Tries what can "
        "matter: the options of the device's own compiler, passes that changed the program, what "
        "the knowledge base has, changes of the program itself, and pairs of what helped.\n"
        "The answer is a line to paste with its gain and what it costs, or that nothing was found. "
        "Numbers are checked; what helped is measured again in fresh processes, beside placebos, "
        "so that under 5 % of answers are chance. Where a device only compiles, memory and kernels "
        "are tuned, and the answer says so. Ctrl-C keeps what was measured: --resume goes on. Exit "
        "code 3: it ended too early to tell.",
    .examples =
        "hloscope tune model.hlo -d xla-cpu\nhloscope tune model.hlo -d cuda:h100 "
        "--time-budget 300 --only fusion",
};
