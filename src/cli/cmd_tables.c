// cmd_tables.c - hloscope tables: what a capture says, as tables.
#include "cli/command.h"
#include "views/sql.h"

typedef struct tables_args {
  const char *capture, *view, *name, *where, *sort, *sql;
  int64_t limit;
} tables_args;

static const hsc_option options[] = {
    HSC_POSITIONAL(tables_args, capture, "CAPTURE", HSC_REQUIRED, "a directory or ring file that was recorded"),
    HSC_POSITIONAL(tables_args, view, "VIEW", HSC_OPTIONAL, "summary, inferences, executions, executables, operators, host-operators, recompiles, memory, threads, events"),
    HSC_OPTION_STRING(tables_args, name, "name", "TEXT", NULL, "only events whose name contains this"),
    HSC_OPTION_STRING(tables_args, where, "where", "CONDITION", NULL, "only rows for which this SQL condition over the columns holds"),
    HSC_OPTION_STRING(tables_args, sort, "sort", "COLUMNS", NULL, "in the order of these columns: \"total desc, name\""),
    HSC_OPTION_STRING(tables_args, sql, "sql", "QUERY", NULL, "any SELECT over the views as tables, instead of VIEW"),
    HSC_OPTION_INT(tables_args, limit, "limit", "N", 0, "rows at most; 0 is all"),
    HSC_OPTION_END,
};

static hsc_status *run(const void *args_of_command, hsc_cli *cli) {
  const tables_args *args = args_of_command;
  hsc_view_id view = HSC_VIEW_summary;
  if (args->view && !hsc_view_of_name(args->view, &view)) {
    const char *names[HSC_VIEW_COUNT];
    for (int i = 0; i < HSC_VIEW_COUNT; i++) names[i] = hsc_view_name((hsc_view_id)i);
    const char *near = hsc_did_you_mean(args->view, names, HSC_VIEW_COUNT);
    return hsc_cli_usage(cli, near ? "there is no view '%s'; did you mean '%s'?" : "there is no view '%s'", args->view, near);
  }
  if (args->sql && (args->view || args->where || args->sort || args->limit)) return hsc_cli_usage(cli, "--sql says it all: no VIEW, --where, --sort or --limit beside it");
  hsc_capture *capture = NULL;
  HSC_TRY(hsc_capture_open(args->capture, &capture));
  hsc_table *table = NULL;
  hsc_view_options view_options = {.where = args->name};
  hsc_status *status;
  if (args->sql) {
    status = hsc_view_sql(capture, args->sql, &view_options, &table);
  } else if (args->where || args->sort) {
    status = hsc_view_select(capture, view, args->where, args->sort, args->limit, &view_options, &table);
  } else {
    view_options.limit = args->limit;
    status = hsc_view_table(capture, view, &view_options, &table);
  }
  if (!status) status = hsc_cli_table(cli, table);
  hsc_capture_close(capture);
  return status;
}

const hsc_command_body hsc_command_tables = {
    .options = options,
    .args_bytes = sizeof(tables_args),
    .run = run,
    .description = "Reads a capture that `hloscope trace` or a program with HLOSCOPE_OUTPUT_PATH made, also one whose program runs still or was killed.\n"
                   "Without VIEW it prints the summary. A percentile is printed only where the samples allow it.\n"
                   "In SQL the views are tables (host_operators for host-operators); a column whose name has a space or a dot stands in double quotes. Durations are nanoseconds.",
    .examples = "hloscope tables run.hsc\nhloscope tables run.hsc executions --limit=20\nhloscope tables run.hsc recompiles --format=json\n"
                "hloscope tables run.hsc executions --where=\"total > 1000000\" --sort=\"total desc\"\n"
                "hloscope tables run.hsc --sql=\"select executable, count(*), max(total) as slowest_ns from executions group by 1\"\n"
                "hloscope tables run.hsc operators --format=parquet > operators.parquet",
};
