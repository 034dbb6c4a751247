// cmd_tables.c - hloscope tables: what a capture or a profile says, as tables.
#include "base/core/spill.h"
#include "base/files/file_io.h"
#include "base/text/text.h"
#include "cli/command.h"
#include "cli/profile_peaks.h"
#include "views/dataset.h"
#include "views/profile.h"
#include "views/sql.h"

typedef struct tables_args {
  const char *capture, *name, *where, *sort, *sql, *program;
  hsc_list views;
  int64_t limit;
  bool by_device, open_fusions, traced_only;
} tables_args;

static const hsc_option options[] = {
    HSC_POSITIONAL(tables_args,
                   capture,
                   "CAPTURE",
                   HSC_REQUIRED,
                   "what was recorded: a directory or ring file of hloscope, or a profile "
                   "(HOST.xplane.pb, or a directory that holds one)"),
    HSC_POSITIONAL_REST(
        tables_args,
        views,
        "VIEW",
        HSC_OPTIONAL,
        "captures: summary, inferences, executions, executables, operators, "
        "host-operators, passes, framework, recompiles, memory, "
        "threads, events; "
        "profiles: hlo-operators, framework-operators, steps, timeline, gaps, "
        "memory, memory-timeline, programs, planes; folders of exported captures: summary, hosts, "
        "runs, stragglers"),
    HSC_OPTION_STRING(
        tables_args, name, "name", "TEXT", NULL, "only events whose name contains this"),
    HSC_OPTION_STRING(tables_args,
                      where,
                      "where",
                      "CONDITION",
                      NULL,
                      "only rows for which this SQL condition over the columns holds"),
    HSC_OPTION_STRING(
        tables_args, sort, "sort", "COLUMNS", NULL, "sort by these columns: \"total desc, name\""),
    HSC_OPTION_STRING(tables_args,
                      sql,
                      "sql",
                      "QUERY",
                      NULL,
                      "any SELECT over the views as tables, instead of VIEW"),
    HSC_OPTION_INT(tables_args, limit, "limit", "N", 0, "at most N rows; 0: all"),
    HSC_OPTION_STRING(tables_args,
                      program,
                      "program",
                      "NAME",
                      NULL,
                      "profiles: only operators of this program, by name or number"),
    HSC_OPTION_FLAG(tables_args, by_device, "by-device", "profiles: one row per device"),
    HSC_OPTION_FLAG(
        tables_args,
        open_fusions,
        "open-fusions",
        "hlo-operators, framework-operators: also what fusions are made of, with estimated shares"),
    HSC_OPTION_FLAG(
        tables_args, traced_only, "traced-only", "timeline: without transfers of inputs"),
    HSC_OPTION_END,
};

static const char *profile_view_name(int i) {
  return hsc_profile_view_name((hsc_profile_view_id)i);
}
static const char *capture_view_name(int i) {
  return hsc_view_name((hsc_view_id)i);
}

// A view that this kind of recording does not have: a typing error, or a view of the other kind.
static hsc_status *unknown_view(hsc_cli *cli, const char *view, bool is_profile) {
  const char *names[HSC_VIEW_COUNT + HSC_PROFILE_VIEW_COUNT];
  int count = is_profile ? HSC_PROFILE_VIEW_COUNT : HSC_VIEW_COUNT;
  int others = is_profile ? HSC_VIEW_COUNT : HSC_PROFILE_VIEW_COUNT;
  hsc_bytes list = {0};
  for (int i = 0; i < count; i++) {
    names[i] = is_profile ? profile_view_name(i) : capture_view_name(i);
    hsc_bytes_printf(&list, "%s%s", i ? ", " : "", names[i]);
  }
  const char *all = hsc_arena_strdup(cli->arena, hsc_bytes_text(&list));
  hsc_bytes_deinit(&list);
  for (int i = 0; i < others; i++)
    if (!strcmp(view, is_profile ? capture_view_name(i) : profile_view_name(i)))
      return hsc_cli_usage(
          cli,
          is_profile ? "'%s' is a view of captures, and this is a profile; its views are %s"
                     : "'%s' is a view of profiles, and this is a capture; its views are %s",
          view, all);
  const char *near = hsc_did_you_mean(view, names, (size_t)count);
  return near ? hsc_cli_usage(cli, "there is no view '%s'; did you mean '%s'?", view, near)
              : hsc_cli_usage(cli, "there is no view '%s'; there are %s", view, all);
}

static hsc_status *profile_tables(const tables_args *args, hsc_cli *cli) {
  hsc_profile_view_id view = HSC_PROFILE_VIEW_hlo_operators;
  hsc_status *status = NULL;
  hsc_profile *profile = NULL;
  HSC_TRY(hsc_profile_open(args->capture, &profile));
  // what the file is comes first: a view of the other kind is no news of a file that is neither
  for (size_t i = 0; !status && i < args->views.count; i++)
    if (!hsc_profile_view_of_name(args->views.items[i], &view))
      status = unknown_view(cli, args->views.items[i], true);
  hsc_cli_profile_peaks(profile);
  // these have no place for notes
  if (cli->format == HSC_FORMAT_CSV || cli->format == HSC_FORMAT_JSONL)
    for (int i = 0; i < hsc_profile_space_count(profile); i++)
      if (hsc_profile_space(profile, i)->damage)
        hsc_cli_say(cli, "warning: %s: %s", hsc_profile_space(profile, i)->path,
                    hsc_profile_space(profile, i)->damage);
  hsc_profile_options view_options = {.where = args->name,
                                      .program = args->program,
                                      .limit = args->limit,
                                      .by_device = args->by_device,
                                      .open_fusions = args->open_fusions,
                                      .traced_only = args->traced_only};
  for (size_t i = 0; !status && (i == 0 || i < args->views.count); i++) {
    hsc_table *table = NULL;
    if (args->views.count)
      (void)hsc_profile_view_of_name(args->views.items[i], &view);
    if (args->sql)
      status = hsc_profile_sql(profile, args->sql, &view_options, &table);
    else if (args->where || args->sort)
      status = hsc_profile_select(profile, view, args->where, args->sort, args->limit,
                                  &view_options, &table);
    else
      status = hsc_profile_table(profile, view, &view_options, &table);
    if (!status && i)
      hsc_cli_print(cli, "\n");
    if (!status)
      status = hsc_cli_table(cli, table);
  }
  hsc_profile_close(profile);
  return status;
}

static hsc_status *capture_tables(const tables_args *args, hsc_cli *cli) {
  hsc_view_id view = HSC_VIEW_summary;
  hsc_status *status = NULL;
  hsc_capture *capture = NULL;
  HSC_TRY(hsc_capture_open(args->capture, &capture));
  // what the file is comes first: a view of the other kind is no news of a file that is neither
  for (size_t i = 0; !status && i < args->views.count; i++)
    if (!hsc_view_of_name(args->views.items[i], &view))
      status = unknown_view(cli, args->views.items[i], false);
  for (size_t i = 0; !status && (i == 0 || i < args->views.count); i++) {
    hsc_table *table = NULL;
    if (args->views.count)
      (void)hsc_view_of_name(args->views.items[i], &view);
    hsc_view_options view_options = {.where = args->name};
    if (args->sql) {
      status = hsc_view_sql(capture, args->sql, &view_options, &table);
    } else if (args->where || args->sort) {
      status = hsc_view_select(capture, view, args->where, args->sort, args->limit, &view_options,
                               &table);
    } else {
      view_options.limit = args->limit;
      view_options.on_demand = true;  // the table is printed before the capture is closed
      status = hsc_view_table(capture, view, &view_options, &table);
    }
    if (!status && i)
      hsc_cli_print(cli, "\n");
    if (!status)
      status = hsc_cli_table(cli, table);
  }
  hsc_capture_close(capture);
  return status;
}

// Many captures: sums by name, host or run; what else there is to ask, docs/queries.md says.
static hsc_status *dataset_tables(const tables_args *args, hsc_cli *cli) {
  if (args->sql || args->where || args->sort || args->name)
    return hsc_status_hint(
        HSC_ERR(UNIMPLEMENTED, "%s is a data set of captures: its tables are as a whole",
                args->capture),
        "DuckDB, Polars and Spark read it: docs/queries.md has twenty questions");
  for (size_t i = 0; i == 0 || i < args->views.count; i++) {
    const char *wanted = args->views.count ? args->views.items[i] : "summary";
    hsc_dataset_view view = HSC_DATASET_SUMMARY;
    hsc_table *table = NULL;
    while (view < HSC_DATASET_VIEWS && strcmp(wanted, hsc_dataset_view_name(view)))
      view++;
    if (view == HSC_DATASET_VIEWS)
      return hsc_status_hint(
          HSC_ERR(UNIMPLEMENTED,
                  "%s is a data set of captures: its views are summary, "
                  "hosts, runs, stragglers",
                  args->capture),
          "DuckDB, Polars and Spark read it: docs/queries.md has twenty questions");
    if (i)
      hsc_cli_print(cli, "\n");
    HSC_TRY(hsc_dataset_table(args->capture, view, (size_t)args->limit, &table));
    HSC_TRY(hsc_cli_table(cli, table));
  }
  return NULL;
}

static hsc_status *run(const void *args_of_command, hsc_cli *cli) {
  const tables_args *args = args_of_command;
  hsc_spill_begin();
  if (args->sql && (args->views.count || args->where || args->sort || args->limit))
    return hsc_cli_usage(cli, "--sql says it all: no VIEW, --where, --sort or --limit beside it");
  if (!hsc_file_exists(args->capture))
    return hsc_status_hint(HSC_ERR(NOT_FOUND, "%s: no such file or directory", args->capture),
                           "hloscope trace makes captures, hloscope profile makes profiles");
  if (hsc_dataset_is_at(args->capture))
    return dataset_tables(args, cli);
  return hsc_xspace_is_at(args->capture) ? profile_tables(args, cli) : capture_tables(args, cli);
}

const hsc_command_body hsc_command_tables = {
    .options = options,
    .args_bytes = sizeof(tables_args),
    .run = run,
    .description =
        "Reads a capture that `hloscope trace` or a program with HLOSCOPE_OUTPUT_PATH made, even "
        "if the program is still running or was killed; or a profile of\n"
        "JAX, PyTorch/XLA or any other writer of XSpace. Without VIEW it prints the summary of a "
        "capture, the HLO operators of a profile. A percentile is\n"
        "printed only where the samples allow it. Several views are printed one after the other; "
        "with --format=json each is a separate document.\n"
        "A folder that many captures were exported to (run=ID/host=NAME/...) is read as one, a few "
        "rows at a time: summary, hosts (the same by host), runs, "
        "stragglers (which host the others wait for in which collective, and why).\n"
        "In SQL the views are tables (host_operators for host-operators); a column whose name has "
        "a space or a dot is in double quotes. Durations are nanoseconds.",
    .examples =
        "hloscope tables run.hsc\nhloscope tables run.hsc executions --limit=20\nhloscope tables "
        "run.hsc recompiles --format=json\n"
        "hloscope tables run.hsc executions --where=\"total > 1000000\" --sort=\"total desc\"\n"
        "hloscope tables run.hsc --sql=\"select executable, count(*), max(total) as slowest_ns "
        "from executions group by 1\"\n"
        "hloscope tables run.hsc operators --format=parquet > operators.parquet\n"
        "hloscope tables logdir hlo-operators --limit=10\n"
        "hloscope tables logdir --sql=\"select category, sum(self_time) as self_ns from "
        "hlo_operators group by 1 order by 2 desc\"\nhloscope tables host.xplane.pb "
        "framework-operators steps",
};
