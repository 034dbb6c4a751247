// cmd_gate.c - hloscope gate: programs against a baseline, for continuous integration.
#include <sys/stat.h>

#include "base/text/text.h"
#include "cli/command.h"
#include "cli/document.h"
#include "lab/devices/devices.h"
#include "lab/gate/gate.h"
#include "lab/run/json_tree.h"

typedef struct gate_args {
  const char *baseline, *device, *against, *junit, *markdown;
  hsc_list programs;
  double margin, limit_s;
  int64_t turns;
  bool update, annotations;
} gate_args;

static const hsc_option options[] = {
    HSC_POSITIONAL_REST(
        gate_args,
        programs,
        "PROGRAM",
        HSC_REQUIRED,
        "HLO, StableHLO, gzipped too; the baseline knows it by this path; or, after "
        "--, a command with its arguments"),
    HSC_OPTION_STRING(gate_args,
                      baseline,
                      "baseline|b",
                      "FILE",
                      NULL,
                      "baseline file to compare with; --update writes it; or a git revision (main, "
                      "HEAD~1): what was there takes turns with what is here"),
    HSC_OPTION_FLAG(gate_args, update, "update", "write the baseline instead of comparing"),
    HSC_OPTION_STRING(gate_args,
                      device,
                      "device|d",
                      "DEVICE",
                      NULL,
                      "device to run on; default: $HLOSCOPE_DEVICE, else cpu"),
    HSC_OPTION_STRING(gate_args,
                      against,
                      "against",
                      "DEVICE",
                      NULL,
                      "the baseline's build (a plugin's path or another device), measured in turns "
                      "with the device instead of using the file's times"),
    HSC_OPTION_DOUBLE(gate_args,
                      margin,
                      "margin",
                      "PERCENT",
                      5,
                      "tolerated change of run time or memory; twice that for compile times"),
    HSC_OPTION_INT_FROM(gate_args,
                        turns,
                        "turns",
                        "N",
                        6,
                        12,
                        "processes to measure each program in; up to three times as many for an "
                        "undecided verdict, twice as many for a baseline"),
    HSC_OPTION_DOUBLE(gate_args, limit_s, "limit", "S", 120, "time limit of each job, in seconds"),
    HSC_OPTION_STRING(gate_args, junit, "junit", "FILE", NULL, "also write verdicts as JUnit XML"),
    HSC_OPTION_STRING(gate_args,
                      markdown,
                      "markdown",
                      "FILE",
                      NULL,
                      "also write verdicts as a comment in Markdown"),
    HSC_OPTION_FLAG(gate_args, annotations, "annotations", "also print GitHub annotations"),
    HSC_OPTION_END,
};

static void show_progress(void *user, int64_t done, int64_t total, const char *program) {
  hsc_cli_progress_of(user, done, total, program);
}

static bool is_bad(json_t *row) {
  return !strcmp(hsc_json_text_or_empty(row, "verdict"), "slower") ||
         !strcmp(hsc_json_text_or_empty(row, "verdict"), "wrong");
}

static bool is_unknown(json_t *row) {
  return !strcmp(hsc_json_text_or_empty(row, "verdict"), "unknown");
}

typedef struct counts {
  size_t programs, bad, unknown;
} counts;

static counts count_verdicts(json_t *document) {
  json_t *rows = json_object_get(document, "programs");
  counts found = {.programs = json_array_size(rows)};
  json_t *row;
  size_t i;
  json_array_foreach (rows, i, row) {
    found.bad += is_bad(row);
    found.unknown += is_unknown(row);
  }
  return found;
}

// ---- forms for others ---------------------------------------------------------------------------

static void put_xml(const char *text, hsc_bytes *out) {
  for (; *text; text++) {
    if (*text == '&')
      hsc_bytes_append_text(out, "&amp;");
    else if (*text == '<')
      hsc_bytes_append_text(out, "&lt;");
    else if (*text == '>')
      hsc_bytes_append_text(out, "&gt;");
    else if (*text == '"')
      hsc_bytes_append_text(out, "&quot;");
    else if ((unsigned char)*text >= ' ')
      hsc_bytes_append_char(out, *text);
    else
      hsc_bytes_append_char(out, ' ');  // XML 1.0 has no other control characters
  }
}

// slower and wrong are failures, unknown is skipped.
static hsc_status *write_junit(json_t *document, const char *path, hsc_cli *cli) {
  hsc_bytes out = {0};
  counts found = count_verdicts(document);
  json_t *row;
  size_t i;
  hsc_bytes_printf(&out,
                   "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"hloscope gate\" "
                   "tests=\"%zu\" failures=\"%zu\" skipped=\"%zu\">\n",
                   found.programs, found.bad, found.unknown);
  json_array_foreach (json_object_get(document, "programs"), i, row) {
    bool unknown = is_unknown(row);
    hsc_bytes_append_text(&out, "  <testcase classname=\"");
    put_xml(hsc_json_text_or_empty(document, "device"), &out);
    hsc_bytes_append_text(&out, "\" name=\"");
    put_xml(hsc_json_text_or_empty(row, "program"), &out);
    if (!is_bad(row) && !unknown) {
      hsc_bytes_append_text(&out, "\"/>\n");
      continue;
    }
    hsc_bytes_printf(&out, "\">\n    <%s message=\"%s: ", unknown ? "skipped" : "failure",
                     hsc_json_text_or_empty(row, "verdict"));
    put_xml(hsc_json_text_or_empty(row, "because"), &out);
    hsc_bytes_append_text(&out, "\"/>\n  </testcase>\n");
  }
  hsc_bytes_append_text(&out, "</testsuite>\n");
  hsc_status *status = hsc_bytes_status(&out);
  if (!status)
    status = hsc_cli_write_to(cli, path, &out);
  hsc_bytes_deinit(&out);
  return status;
}

// GitHub's workflow commands: percent and line ends are written as %25, %0A, %0D.
static void put_annotation(const char *text, bool property, hsc_bytes *out) {
  for (; *text; text++) {
    bool coded = *text == '%' || *text == '\n' || *text == '\r' ||
                 (property && (*text == ':' || *text == ','));
    if (coded)
      hsc_bytes_printf(out, "%%%02X", (unsigned)(unsigned char)*text);
    else
      hsc_bytes_append_char(out, *text);
  }
}

static hsc_status *print_annotations(json_t *document, hsc_cli *cli) {
  hsc_bytes out = {0};
  json_t *row;
  size_t i;
  json_array_foreach (json_object_get(document, "programs"), i, row) {
    bool unknown = is_unknown(row);
    if (!is_bad(row) && !unknown)
      continue;
    hsc_bytes_printf(&out, "::%s file=", unknown ? "warning" : "error");
    put_annotation(hsc_json_text_or_empty(row, "program"), true, &out);
    hsc_bytes_printf(&out, ",title=hloscope gate%%3A %s::", hsc_json_text_or_empty(row, "verdict"));
    put_annotation(hsc_json_text_or_empty(row, "because"), false, &out);
    hsc_bytes_append_char(&out, '\n');
  }
  hsc_status *status = hsc_bytes_status(&out);
  if (!status)
    hsc_cli_say(cli, "%s", hsc_bytes_text(&out));
  hsc_bytes_deinit(&out);
  return status;
}

static void put_cell(const char *text, hsc_bytes *out) {
  for (; *text; text++) {
    if (*text == '|' || *text == '\\' || *text == '`' || *text == '<')
      hsc_bytes_append_char(out, '\\');
    hsc_bytes_append_char(out, (unsigned char)*text < ' ' ? ' ' : *text);
  }
}

static void put_change(json_t *row, const char *key, hsc_bytes *out) {
  double ratio = hsc_json_number(hsc_json_path(row, key, "ratio", NULL));
  if (ratio > 0)
    hsc_bytes_printf(out, " %+.1f %% |", 100 * (ratio - 1));
  else
    hsc_bytes_append_text(out, " - |");
}

// The verdict in a line, then a row a program: for a pull request.
static hsc_status *write_markdown(json_t *document, const char *path, hsc_cli *cli) {
  hsc_bytes out = {0};
  counts found = count_verdicts(document);
  json_t *row;
  size_t i;
  hsc_bytes_printf(
      &out,
      "### hloscope gate: %zu of %zu slower or wrong, %zu unknown\n\n| program | verdict "
      "| run | compile | because |\n|---|---|---|---|---|\n",
      found.bad, found.programs, found.unknown);
  json_array_foreach (json_object_get(document, "programs"), i, row) {
    hsc_bytes_append_text(&out, "| ");
    put_cell(hsc_json_text_or_empty(row, "program"), &out);
    hsc_bytes_printf(&out, " | %s%s%s |", is_bad(row) ? "**" : "",
                     hsc_json_text_or_empty(row, "verdict"), is_bad(row) ? "**" : "");
    put_change(row, "run", &out);
    put_change(row, "compile", &out);
    hsc_bytes_append_char(&out, ' ');
    put_cell(hsc_json_text_or_empty(row, "because"), &out);
    hsc_bytes_append_text(&out, " |\n");
  }
  hsc_bytes_append_text(&out, "\nBaseline `");
  put_cell(hsc_json_text_or_empty(document, "baseline"), &out);
  hsc_bytes_append_text(&out, "`, device `");
  put_cell(hsc_json_text_or_empty(document, "device"), &out);
  hsc_bytes_append_text(&out, "`\n");
  hsc_status *status = hsc_bytes_status(&out);
  if (!status)
    status = hsc_cli_write_to(cli, path, &out);
  hsc_bytes_deinit(&out);
  return status;
}

// ---- for people ---------------------------------------------------------------------------------

// The verdict in a sentence, the figures, then the reason of each that is not the same.
static hsc_status *print_text(json_t *document, hsc_cli *cli) {
  static const char *const columns[][2] = {
      {"program", ""}, {"verdict", ""}, {"run", "x"}, {"compile", "x"}};
  hsc_table *table = NULL;
  json_t *row;
  size_t i;
  counts found = count_verdicts(document);
  json_t *rows = json_object_get(document, "programs");
  if (json_is_true(json_object_get(document, "updated"))) {
    hsc_cli_print(cli, "%s holds %zu program%s of %s\n",
                  hsc_json_text_or_empty(document, "baseline"), found.programs,
                  hsc_plural((double)found.programs, "", "s"),
                  hsc_json_text_or_empty(document, "device"));
    return NULL;
  }
  hsc_cli_print(cli, "%zu of %zu slower or wrong, %zu unknown\n\n", found.bad, found.programs,
                found.unknown);
  HSC_TRY(hsc_table_create("gate", &table));
  for (size_t c = 0; c < HSC_COUNT_OF(columns); c++)
    hsc_table_column(table, columns[c][0], columns[c][1]);
  json_array_foreach (rows, i, row) {
    hsc_table_row(table);
    hsc_table_text(table, hsc_json_text_or_empty(row, "program"));
    hsc_table_text(table, hsc_json_text_or_empty(row, "verdict"));
    hsc_table_double(table, hsc_json_number(hsc_json_path(row, "run", "ratio", NULL)));
    hsc_table_double(table, hsc_json_number(hsc_json_path(row, "compile", "ratio", NULL)));
  }
  HSC_TRY(hsc_cli_table(cli, table));
  json_array_foreach (rows, i, row) {
    if (strcmp(hsc_json_text_or_empty(row, "verdict"), "same") != 0)
      hsc_cli_paragraph(cli, "\n%s: %s\n", hsc_json_text_or_empty(row, "program"),
                        hsc_json_text_or_empty(row, "because"));
  }
  return NULL;
}

// A file that cannot be opened is a mistyped command, not a program that went wrong.
static hsc_status *check_program(hsc_cli *cli, const char *const *path) {
  return hsc_status_usage(hsc_cli_program_file(cli, path));
}

static hsc_status *run(const void *args_of_command, hsc_cli *cli) {
  const gate_args *args = args_of_command;
  json_t *document = NULL;
  if (!args->baseline)
    return hsc_cli_usage(cli,
                         "--baseline FILE says what to compare with; hloscope gate --baseline "
                         "FILE --update PROGRAM... writes one");
  if (!(args->margin > 0) || !(args->limit_s > 0) || args->turns > 64)
    return hsc_cli_usage(cli, "--margin and --limit must be above 0, --turns at most 64");
  bool is_command = strstr(cli->command_line, " -- ") != NULL;
  if (is_command && (args->device || args->against))
    return hsc_cli_usage(
        cli, "--device and --against are for PROGRAM; a command chooses its own devices");
  for (size_t i = 0; i < args->programs.count && !is_command; i++)
    HSC_TRY(check_program(cli, &args->programs.items[i]));
  hsc_gate_options gate = {.baseline = args->baseline,
                           .update = args->update,
                           .programs = args->programs.items,
                           .program_count = is_command ? 0 : args->programs.count,
                           .command = is_command ? args->programs.items : NULL,
                           .command_count = is_command ? args->programs.count : 0,
                           .device = args->device ? args->device : hsc_default_device(),
                           .against = args->against,
                           .margin = args->margin / 100,
                           .turns = (int)args->turns,
                           .limit_s = args->limit_s,
                           .progress = show_progress,
                           .user = cli};
  hsc_status *status = NULL;
  HSC_GOTO(hsc_gate_run(&gate, &document));
  if (args->junit)
    HSC_GOTO(write_junit(document, args->junit, cli));
  if (args->markdown)
    HSC_GOTO(write_markdown(document, args->markdown, cli));
  if (args->annotations)
    HSC_GOTO(print_annotations(document, cli));
  HSC_GOTO(cli->format == HSC_FORMAT_JSON ? hsc_cli_document_of_command(cli, document)
                                          : print_text(document, cli));
  cli->exit_code = hsc_gate_exit_code(document);
done:
  json_decref(document);
  return status;
}

const hsc_command_body hsc_command_gate = {
    .options = options,
    .args_bytes = sizeof(gate_args),
    .run = run,
    .description =
        "Checks that each program behaves as it did when the baseline was written: its numbers, "
        "run time, compile time and memory. Each program gets a verdict (same, faster, slower, "
        "wrong or unknown) and the measurement that decided it. Times are processor times of "
        "several processes, compared with intervals that raise a false alarm in under 1 of 1000 "
        "unchanged\nprograms. Exit code 0: nothing slower or wrong; 1: something is; 3: something "
        "cannot be determined.",
    .examples =
        "hloscope gate --baseline gate.json --update model.hlo\nhloscope gate --baseline "
        "gate.json model.hlo --junit gate.xml --annotations\nhloscope gate --baseline "
        "gate.json model.hlo --against ./old/libhloscope_cpu_pjrt.so\nhloscope gate --baseline "
        "main model.mlir "
        "--markdown comment.md\nhloscope gate --baseline main -- python bench.py",
};
