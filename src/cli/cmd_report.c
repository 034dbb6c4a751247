// cmd_report.c - hloscope report: results, captures and profiles as one HTML page.
#include "base/core/spill.h"
#include "cli/report_files.h"

typedef struct report_args {
  hsc_list files;
  const char *output, *title;
  int64_t limit;
  bool all;
} report_args;

static const hsc_option options[] = {
    HSC_POSITIONAL_REST(
        report_args,
        files,
        "FILE",
        HSC_REQUIRED,
        "results: JSON of patterns, passes, run, stats, doctor, explain, any table; captures; "
        "profiles (*.xplane.pb or a directory); directories of dumps of a compile"),
    HSC_OPTION_STRING(report_args,
                      output,
                      "output|o",
                      "FILE",
                      NULL,
                      "output file; - is standard output; default: hloscope-report-TIME.html"),
    HSC_OPTION_STRING(report_args,
                      title,
                      "title",
                      "TEXT",
                      NULL,
                      "the page's title; default: what the files are about"),
    HSC_OPTION_INT(report_args,
                   limit,
                   "limit",
                   "N",
                   2000,
                   "at most N rows of each table of a capture or profile; 0: all"),
    HSC_OPTION_FLAG(report_args,
                    all,
                    "all|a",
                    "timelines with the calls of Python outside of the steps: imports, setting up"),
    HSC_OPTION_END,
};

static hsc_status *run(const void *args_of_command, hsc_cli *cli) {
  const report_args *args = args_of_command;
  hsc_spill_begin();
  if (!args->files.count)
    return hsc_cli_usage(cli, "FILE is missing: what shall the report be of?");
  const char *title = args->title;
  if (!title)
    title = args->files.count == 1 ? hsc_arena_printf(cli->arena, "hloscope: %s",
                                                      hsc_report_base_name(args->files.items[0]))
                                   : hsc_arena_printf(cli->arena, "hloscope: %s and %zu more",
                                                      hsc_report_base_name(args->files.items[0]),
                                                      args->files.count - 1);
  const char *output = args->output ? args->output : hsc_cli_new_name(cli, ".html");
  HSC_TRY(hsc_arena_status(cli->arena));
  hsc_bytes out = {0};
  hsc_page page;
  hsc_page_begin(&page, title, &out);
  hsc_status *status = hsc_report_add_files(
      &page, &args->files, &(hsc_report_options){.limit = args->limit, .all = args->all}, cli);
  hsc_page_end(&page);
  if (!status)
    status = hsc_bytes_status(&out);
  if (!status)
    status = hsc_cli_write_to(cli, output, &out);
  if (!status && strcmp(output, "-") != 0)
    hsc_cli_say(cli, "%s", output);
  hsc_bytes_deinit(&out);
  return status;
}

const hsc_command_body hsc_command_report = {
    .options = options,
    .args_bytes = sizeof(report_args),
    .run = run,
    .description =
        "The page is one file and needs no server. Its first screen gives the answer; below it are "
        "charts with their data as CSV, tables that can be sorted and filtered, and a timeline. "
        "Several files are parts of one page, in the order given; runs in several files are "
        "compared first. Dumps of a\ncompile (hloscope passes dump, or XLA's own) are shown as the "
        "program before and after each pass, side by side. Nothing in the data is ever interpreted "
        "as markup.",
    .examples =
        "hloscope patterns --output p.json && hloscope report p.json\nhloscope report trace.hsc -o "
        "trace.html\n"
        "hloscope passes dump model.hlo -o dumps && hloscope report dumps -o passes.html\nhloscope "
        "report logdir ablation.json -o both.html --title=\"laplace on cpu\"",
};
