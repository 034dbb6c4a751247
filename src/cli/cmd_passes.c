// cmd_passes.c - hloscope passes list / dump / explain: what each pass of a compiler did to a program.
#include "cli/command.h"
#include "formats/formats.h"
#include "passes/passes.h"

enum { LIST, DUMP, EXPLAIN };
static const char *const verbs[] = {"list", "dump", "explain", NULL};

typedef struct passes_args {
  int verb;
  const char *program, *device, *disable, *output, *pattern;
  int64_t fuel;
  bool changed_only;
} passes_args;

static const hsc_option options[] = {
    HSC_POSITIONAL_CHOICE(passes_args, verb, "VERB", verbs, HSC_REQUIRED, 0, "list, dump or explain"),
    HSC_POSITIONAL(passes_args, program, "PROGRAM", HSC_OPTIONAL, "an HLO file, - for standard input; for explain: the pass"),
    HSC_OPTION_STRING(passes_args, device, "device", "DEVICE", "cpu", "whose compiler; so far the built-in one"),
    HSC_OPTION_STRING(passes_args, disable, "disable", "NAMES", NULL, "passes and pipelines to leave out, separated by commas"),
    HSC_OPTION_STRING(passes_args, output, "output|o", "DIR", NULL, "dump: where the HLO after each pass goes"),
    HSC_OPTION_STRING(passes_args, pattern, "passes", "REGEX", ".*", "dump: only after passes whose name matches"),
    HSC_OPTION_INT_FROM(passes_args, fuel, "fuel", "N", -1, -1, "stop after N rewrites; -1 is no limit. Halving N finds the rewrite that matters"),
    HSC_OPTION_FLAG(passes_args, changed_only, "changed", "list: only runs that changed the program"),
    HSC_OPTION_END,
};

// A switched-off pass that does not exist would be accepted in silence, and nothing would be off.
static hsc_status *check_names(const char *list, hsc_cli *cli) {
  while (list && *list) {
    const char *end = strchrnul(list, ',');
    const char *name = hsc_arena_strndup(cli->arena, list, (size_t)(end - list));
    hsc_pass_id pass;
    if (!hsc_pass_parse(hsc_view_of(name), &pass) && !hsc_pipeline_exists(name)) {
      const char *names[HSC_PASS_COUNT];
      for (int i = 0; i < HSC_PASS_COUNT; i++) names[i] = hsc_pass_text((hsc_pass_id)i);
      const char *near = hsc_did_you_mean(name, names, HSC_PASS_COUNT);
      return hsc_cli_usage(cli, near ? "unknown pass '%s' on cpu; did you mean '%s'?" : "unknown pass '%s' on cpu; hloscope passes list PROGRAM shows them", name, near);
    }
    list = *end ? end + 1 : end;
  }
  return NULL;
}

typedef struct totals {
  int pipelines, passes, runs, changed;
} totals;

static totals count_totals(const hsc_pass_log *log) {
  totals t = {.runs = log->run_count};
  for (int i = 0; i < log->run_count; i++) {
    bool new_pass = true, new_pipeline = true;
    for (int k = 0; k < i; k++) {
      new_pass &= strcmp(log->runs[k].pass, log->runs[i].pass) != 0;
      new_pipeline &= strcmp(log->runs[k].pipeline, log->runs[i].pipeline) != 0;
    }
    t.passes += new_pass;
    t.pipelines += new_pipeline;
    t.changed += log->runs[i].changed;
  }
  return t;
}

static void print_json(const hsc_pass_log *log, const char *program, const char *device, hsc_bytes *out) {
  hsc_json json;
  hsc_json_init(&json, out, 2);
  totals t = count_totals(log);
  hsc_json_begin_object(&json);
  hsc_json_kv_string(&json, "program", program);
  hsc_json_kv_string(&json, "device", device);
  hsc_json_key(&json, "pipelines");
  hsc_json_begin_array(&json);
  for (int i = 0; i < log->run_count;) {
    const char *pipeline = log->runs[i].pipeline;
    hsc_json_begin_object(&json);
    hsc_json_kv_string(&json, "name", pipeline);
    hsc_json_key(&json, "passes");
    hsc_json_begin_array(&json);
    for (; i < log->run_count && !strcmp(log->runs[i].pipeline, pipeline); i++) {
      const hsc_pass_run *r = &log->runs[i];
      hsc_json_begin_object(&json);
      hsc_json_kv_string(&json, "name", r->pass);
      hsc_json_kv_int(&json, "run", i);
      hsc_json_kv_bool(&json, "changed", r->changed);
      hsc_json_kv_double(&json, "seconds", (double)r->duration_ns * 1e-9);
      hsc_json_kv_int(&json, "rewrites", r->rewrites);
      hsc_json_kv_int(&json, "instructions_before", r->instructions_before);
      hsc_json_kv_int(&json, "instructions_after", r->instructions_after);
      hsc_json_kv_int(&json, "fusions_before", r->fusions_before);
      hsc_json_kv_int(&json, "fusions_after", r->fusions_after);
      hsc_json_end_object(&json);
    }
    hsc_json_end_array(&json);
    hsc_json_end_object(&json);
  }
  hsc_json_end_array(&json);
  hsc_json_key(&json, "totals");
  hsc_json_begin_object(&json);
  hsc_json_kv_int(&json, "pipelines", t.pipelines);
  hsc_json_kv_int(&json, "passes", t.passes);
  hsc_json_kv_int(&json, "runs", t.runs);
  hsc_json_kv_int(&json, "changed", t.changed);
  hsc_json_end_object(&json);
  hsc_json_end_object(&json);
  hsc_bytes_append_char(out, '\n');
}

static hsc_status *print_table(const hsc_pass_log *log, bool changed_only, hsc_cli *cli) {
  hsc_table *table = NULL;
  HSC_TRY(hsc_table_create("passes", &table));
  static const char *const columns[][2] = {{"run", "count"}, {"pipeline", ""}, {"pass", ""}, {"changed", ""}, {"time", "s"}, {"rewrites", "count"},
                                           {"instructions", "count"}, {"after", "count"}, {"fusions", "count"}, {"fusions after", "count"}};
  for (size_t i = 0; i < HSC_COUNT_OF(columns); i++) hsc_table_column(table, columns[i][0], columns[i][1]);
  int64_t total_ns = 0;
  for (int i = 0; i < log->run_count; i++) {
    const hsc_pass_run *r = &log->runs[i];
    total_ns += r->duration_ns;
    if (changed_only && !r->changed) continue;
    hsc_table_row(table);
    hsc_table_int(table, i);
    hsc_table_printf(table, "%*s%s", 2 * r->depth, "", r->pipeline);
    hsc_table_text(table, r->pass);
    hsc_table_bool(table, r->changed);
    hsc_table_double(table, (double)r->duration_ns * 1e-9);
    hsc_table_int(table, r->rewrites);
    hsc_table_int(table, r->instructions_before);
    hsc_table_int(table, r->instructions_after);
    hsc_table_int(table, r->fusions_before);
    hsc_table_int(table, r->fusions_after);
  }
  totals t = count_totals(log);
  hsc_table_note(table, "%d pipelines, %d distinct passes, %d runs, %d changed something; %.3f ms in passes", t.pipelines, t.passes, t.runs, t.changed, (double)total_ns * 1e-6);
  return hsc_cli_table(cli, table);
}

static hsc_status *explain(const char *name, hsc_cli *cli) {
  hsc_pass_id pass;
  if (!name) return hsc_cli_usage(cli, "passes explain: which pass?");
  if (!hsc_pass_parse(hsc_view_of(name), &pass)) return check_names(name, cli);
  hsc_cli_print(cli, "%s (cpu)\n\n%s\n", hsc_pass_text(pass), hsc_pass_doc(pass));
  return NULL;
}

static hsc_status *run(const void *args_of_command, hsc_cli *cli) {
  const passes_args *args = args_of_command;
  if (args->verb == EXPLAIN) return explain(args->program, cli);
  if (!args->program) return hsc_cli_usage(cli, "passes %s: which program?", verbs[args->verb]);
  if (args->verb == DUMP && !args->output) return hsc_cli_usage(cli, "passes dump: where to? --output DIR");
  if (strcmp(args->device, "cpu")) return HSC_ERR(UNIMPLEMENTED, "passes: %s: only the built-in device's passes can be shown so far", args->device);
  HSC_TRY(check_names(args->disable, cli));
  hsc_module *module = NULL;
  HSC_TRY(hsc_program_read_file(args->program, &module));
  hsc_pass_options pass_options = {.disable = args->disable, .fuel = args->fuel, .record_counts = true};
  if (args->verb == DUMP) pass_options.dump_to = args->output, pass_options.dump_pass_re = args->pattern;
  hsc_pass_log log = {0};
  hsc_status *status = hsc_passes_run(module, NULL, &pass_options, &log);
  if (!status && cli->format == HSC_FORMAT_JSON) {
    hsc_bytes out = {0};
    print_json(&log, args->program, args->device, &out);
    hsc_cli_write(cli, hsc_bytes_view(&out));
    status = hsc_bytes_status(&out);
    hsc_bytes_deinit(&out);
  } else if (!status) {
    status = print_table(&log, args->changed_only, cli);
  }
  hsc_pass_log_deinit(&log);
  hsc_module_destroy(module);
  return status;
}

const hsc_command_body hsc_command_passes = {
    .options = options,
    .args_bytes = sizeof(passes_args),
    .run = run,
    .description = "list: every run of every pass in call order, with what it changed and what it cost.\n"
                   "dump: the program's HLO at each pipeline's start and after each pass that changed it, named as XLA names dumps.\n"
                   "explain: what a pass does.",
    .examples = "hloscope passes list models/patterns/mlp_scan.hlo --changed\nhloscope passes list model.hlo --disable=fusion,cse --format=json\n"
                "hloscope passes dump model.hlo -o dumps\nhloscope passes explain algsimp",
};
