// cmd_conform.c - hloscope conform: does a PJRT plugin keep the rules of the C API?
#include <unistd.h>

#include "base/files/file_io.h"
#include "base/json/json_write.h"
#include "cli/command.h"
#include "lab/conform/conform.h"

typedef struct conform_args {
  const char *plugin, *only, *badge, *repro;
  int64_t serve, stop_after;
  double timeout_s;
  bool all;
} conform_args;

static const hsc_option options[] = {
    HSC_POSITIONAL(
        conform_args,
        plugin,
        "PLUGIN",
        HSC_OPTIONAL,
        "path of a plugin, with options for its client as for --device; or a device name"),
    HSC_OPTION_STRING(conform_args,
                      only,
                      "only",
                      "AREA",
                      NULL,
                      "only one area, or checks whose id begins with AREA"),
    HSC_OPTION_FLAG(conform_args, all, "all", "list every check, not only failures"),
    HSC_OPTION_STRING(conform_args,
                      badge,
                      "badge",
                      "FILE",
                      NULL,
                      "write a badge (SVG) with the number of checks that pass"),
    HSC_OPTION_STRING(
        conform_args, repro, "repro", "DIR", NULL, "write a C program for each failure to DIR"),
    HSC_OPTION_DOUBLE(conform_args,
                      timeout_s,
                      "timeout",
                      "SECONDS",
                      20,
                      "time limit of a check; longer is a hang"),
    HSC_OPTION_INT(conform_args,
                   stop_after,
                   "stop-after",
                   "N",
                   0,
                   "stop at the Nth failure, crash or hang; 0: run all"),
    HSC_OPTION_INT_FROM(
        conform_args,
        serve,
        "serve",
        "FIRST",
        -1,
        -1,
        "be the process that does the checks from the FIRST on; conform starts it by itself"),
    HSC_OPTION_END};

static void show_progress(void *user, size_t done, size_t total, const hsc_conform_result *result) {
  hsc_cli *cli = user;
  bool is_wrong = result->outcome != HSC_CONFORM_PASS && result->outcome != HSC_CONFORM_NOT_OFFERED;
  if (cli->talk_is_terminal)
    hsc_cli_progress_of(cli, (int64_t)done, (int64_t)total, result->area);
  else if (is_wrong)
    hsc_cli_progress(cli, "%s %s", hsc_conform_outcome_text(result->outcome), result->id);
}

static hsc_status *write_badge(hsc_cli *cli, const char *path, const hsc_conform_report *report) {
  size_t offered = report->count - report->totals[HSC_CONFORM_NOT_OFFERED];
  size_t passed = report->totals[HSC_CONFORM_PASS];
  hsc_bytes svg = {0};
  hsc_bytes_printf(&svg,
                   "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"190\" height=\"20\" "
                   "role=\"img\" aria-label=\"PJRT: %zu of %zu\">"
                   "<rect width=\"90\" height=\"20\" fill=\"#555\"/><rect x=\"90\" width=\"100\" "
                   "height=\"20\" fill=\"%s\"/>"
                   "<g fill=\"#fff\" font-family=\"Verdana,sans-serif\" font-size=\"11\">"
                   "<text x=\"6\" y=\"14\">PJRT rules</text><text x=\"96\" y=\"14\">%zu of "
                   "%zu</text></g></svg>\n",
                   passed, offered, passed == offered ? "#3a7" : "#c43", passed, offered);
  hsc_status *status = hsc_bytes_status(&svg);
  if (!status)
    status = hsc_cli_write_to(cli, path, &svg);
  hsc_bytes_deinit(&svg);
  return status;
}

static hsc_status *write_repros(const char *directory,
                                const hsc_conform_report *report,
                                hsc_arena *arena) {
  HSC_TRY(hsc_dir_make(directory));
  for (size_t i = 0; i < report->count; i++) {
    const hsc_conform_result *r = &report->results[i];
    if (!*r->repro)
      continue;
    char *name = hsc_arena_strdup(arena, r->id);
    for (char *at = name; at && *at; at++)
      if (*at == '/')
        *at = '-';
    HSC_TRY(hsc_file_write_atomic(hsc_arena_printf(arena, "%s/%s.c", directory, name), r->repro,
                                  strlen(r->repro)));
  }
  return NULL;
}

static hsc_status *print_json(hsc_cli *cli, const hsc_conform_report *report) {
  hsc_bytes out = {0};
  hsc_json json;
  hsc_json_init(&json, &out, 2);
  hsc_json_begin_object(&json);
  hsc_json_kv_string(&json, "plugin", report->plugin);
  hsc_json_kv_string(&json, "platform", report->platform);
  hsc_json_kv_string(&json, "pjrt_version", report->api_version);
  hsc_json_key(&json, "totals");
  hsc_json_begin_object(&json);
  hsc_json_kv_int(&json, "checks", (int64_t)report->count);
  hsc_json_kv_int(&json, "not_done", (int64_t)report->not_done);
  for (int o = 0; o < HSC_CONFORM_OUTCOME_COUNT; o++)
    hsc_json_kv_int(&json, hsc_conform_outcome_text((hsc_conform_outcome)o),
                    (int64_t)report->totals[o]);
  hsc_json_end_object(&json);
  hsc_json_key(&json, "checks");
  hsc_json_begin_array(&json);
  for (size_t i = 0; i < report->count; i++) {
    const hsc_conform_result *r = &report->results[i];
    hsc_json_begin_object(&json);
    hsc_json_kv_string(&json, "id", r->id);
    hsc_json_kv_string(&json, "area", r->area);
    hsc_json_kv_string(&json, "outcome", hsc_conform_outcome_text(r->outcome));
    hsc_json_kv_string(&json, "rule", r->rule);
    hsc_json_kv_string(&json, "source", r->source);
    hsc_json_kv_string(&json, "seen", r->seen);
    if (*r->repro)
      hsc_json_kv_string(&json, "repro", r->repro);
    hsc_json_end_object(&json);
  }
  hsc_json_end_array(&json);
  hsc_json_end_object(&json);
  hsc_bytes_append_char(&out, '\n');
  hsc_status *status = hsc_bytes_status(&out);
  if (!status)
    hsc_cli_put(cli, &out);
  hsc_bytes_deinit(&out);
  return status;
}

// A row an area: how many pass, fail, crash, hang, are not offered.
static hsc_status *print_areas(hsc_cli *cli, const hsc_conform_report *report) {
  hsc_table *table = NULL;
  HSC_TRY(hsc_table_create("conform", &table));
  hsc_table_column(table, "area", "");
  for (int o = 0; o < HSC_CONFORM_OUTCOME_COUNT; o++)
    hsc_table_column(table,
                     o == HSC_CONFORM_NOT_OFFERED
                         ? "not offered"
                         : hsc_conform_outcome_text((hsc_conform_outcome)o),
                     "count");
  for (size_t i = 0; i < report->count;) {
    size_t totals[HSC_CONFORM_OUTCOME_COUNT] = {0};
    const char *area = report->results[i].area;
    for (; i < report->count && report->results[i].area == area; i++)
      totals[report->results[i].outcome]++;
    hsc_table_row(table);
    hsc_table_text(table, area);
    for (int o = 0; o < HSC_CONFORM_OUTCOME_COUNT; o++)
      hsc_table_int(table, (int64_t)totals[o]);
  }
  return hsc_cli_table(cli, table);
}

static void print_findings(hsc_cli *cli, const hsc_conform_report *report, bool all) {
  enum { SHOWN = 20 };
  size_t shown = 0;
  size_t wrong = 0;
  for (size_t i = 0; i < report->count; i++) {
    const hsc_conform_result *r = &report->results[i];
    bool is_wrong = r->outcome != HSC_CONFORM_PASS && r->outcome != HSC_CONFORM_NOT_OFFERED;
    wrong += is_wrong;
    if (!all && (!is_wrong || shown == SHOWN))
      continue;
    shown += is_wrong;
    hsc_cli_print(cli, "%s %s%s%s\n", hsc_conform_outcome_text(r->outcome), r->id,
                  *r->seen ? ": " : "", r->seen);
    if (is_wrong)
      hsc_cli_print(cli, "     rule: %s (%s)\n", r->rule, r->source);
  }
  if (wrong > shown)
    hsc_cli_print(cli, "and %zu more; --all lists them\n", wrong - shown);
}

static hsc_status *run(const void *args_of_command, hsc_cli *cli) {
  const conform_args *args = args_of_command;
  if (!args->plugin)
    return hsc_cli_usage(cli,
                         "which plugin? give the path of its .so, or a name that --device takes");
  if (args->serve >= 0)
    return hsc_conform_serve(args->plugin, args->only, (size_t)args->serve, 3);
  hsc_conform_report report;
  HSC_TRY(hsc_conform_run(&(hsc_conform_options){.device = args->plugin,
                                                 .only = args->only,
                                                 .timeout_ns = (int64_t)(args->timeout_s * 1e9),
                                                 .stop_after = (size_t)args->stop_after,
                                                 .progress = show_progress,
                                                 .user = cli},
                          cli->arena, &report));
  if (args->badge)
    HSC_TRY(write_badge(cli, args->badge, &report));
  if (args->repro)
    HSC_TRY(write_repros(args->repro, &report, cli->arena));
  size_t wrong = report.totals[HSC_CONFORM_FAIL] + report.totals[HSC_CONFORM_CRASH] +
                 report.totals[HSC_CONFORM_HANG];
  cli->exit_code = wrong ? 1 : 0;
  if (cli->format == HSC_FORMAT_JSON)
    return print_json(cli, &report);
  hsc_cli_paragraph(cli,
                    "%s: %zu of %zu checks pass, %zu fail, %zu crash, %zu hang. %zu more are about "
                    "what the plugin does not offer.",
                    *report.platform ? report.platform : report.plugin,
                    report.totals[HSC_CONFORM_PASS],
                    report.count - report.totals[HSC_CONFORM_NOT_OFFERED],
                    report.totals[HSC_CONFORM_FAIL], report.totals[HSC_CONFORM_CRASH],
                    report.totals[HSC_CONFORM_HANG], report.totals[HSC_CONFORM_NOT_OFFERED]);
  if (report.not_done)
    hsc_cli_print(cli, "\nThe run was stopped: %zu checks were not done.", report.not_done);
  hsc_cli_print(cli, "\n\n");
  HSC_TRY(print_areas(cli, &report));
  print_findings(cli, &report, args->all);
  return NULL;
}

const hsc_command_body hsc_command_conform = {
    .options = options,
    .args_bytes = sizeof(conform_args),
    .run = run,
    .description =
        "Checks a PJRT plugin against the rules of the C API, without Python: the table, struct "
        "sizes of older and newer hosts, errors, lifetimes, events, layouts, element types, "
        "compiling, running, threads, topologies, and operations against the reference evaluator. "
        "Each check runs in its own process; a crash or a hang is a result. What a plugin does not "
        "support is not a failure. Exit code 0 if nothing fails, else 1.",
    .examples =
        "hloscope conform build/libhloscope_cpu_pjrt.so\n"
        "hloscope conform ./my_plugin.so --only buffer --repro failures/\n"
        "hloscope conform tpu:v5e --format=json",
};
