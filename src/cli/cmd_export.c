// cmd_export.c - hloscope export: a capture in the form of other tools.
#include <errno.h>
#include <inttypes.h>

#include "cli/command.h"
#include "trace/sink.h"

typedef struct export_args {
  const char *capture, *output;
  hsc_list to;
} export_args;

static const hsc_option options[] = {
    HSC_POSITIONAL(export_args, capture, "CAPTURE", HSC_REQUIRED, "a directory or ring file that was recorded"),
    HSC_OPTION_LIST(export_args, to, "to", "FORMS", "chrome", "chrome, perfetto, speedscope, csv, parquet, otlp, raw; several separated by commas"),
    HSC_OPTION_STRING(export_args, output, "output|o", "FILE", NULL, "where to; - is standard output; DIR/ is partitioned by run and host; default CAPTURE's name with the form's extension"),
    HSC_OPTION_END,
};

static hsc_status *write_stdout(void *user, hsc_view bytes) {
  hsc_cli_write(user, bytes);
  return NULL;
}

static hsc_status *write_file(void *user, hsc_view bytes) {
  FILE *file = user;
  return fwrite(bytes.data, 1, bytes.size, file) == bytes.size ? NULL : HSC_ERR(RESOURCE_EXHAUSTED, "cannot write: %s", strerror(errno));
}

static hsc_status *unknown_form(hsc_cli *cli, const char *name) {
  const char *names[HSC_SINK_COUNT];
  for (int i = 0; i < HSC_SINK_COUNT; i++) names[i] = hsc_sink_name((hsc_sink_id)i);
  const char *near = hsc_did_you_mean(name, names, HSC_SINK_COUNT);
  return hsc_cli_usage(cli, near ? "there is no form '%s'; did you mean '%s'?" : "there is no form '%s'", name, near);
}

// CAPTURE without a trailing slash and without .hsc, then the form's extension.
static const char *default_path(hsc_cli *cli, const char *capture, hsc_sink_id sink) {
  size_t length = strlen(capture);
  while (length > 1 && capture[length - 1] == '/') length--;
  if (length > 4 && !memcmp(capture + length - 4, ".hsc", 4)) length -= 4;
  const char *name = hsc_sink_name(sink), *extension = hsc_sink_extension(sink);
  if (!strcmp(name, extension + 1)) return hsc_arena_printf(cli->arena, "%.*s%s", (int)length, capture, extension);
  return hsc_arena_printf(cli->arena, "%.*s.%s%s", (int)length, capture, name, extension);
}

// DIR/run=ID/host=NAME/events.EXTENSION, as DuckDB, Spark and Athena find partitions; the folders are made.
static hsc_status *partition_path(hsc_cli *cli, const hsc_capture *capture, const char *directory, hsc_sink_id sink, const char **out_path) {
  const hsc_capture_process *first = hsc_capture_process_at(capture, 0);
  const char *host = *first->host ? first->host : "unknown";
  const char *folder = hsc_arena_printf(cli->arena, "%srun=%016" PRIx64 "%016" PRIx64 "/host=%s", directory, first->trace_id_high, first->trace_id_low, host);
  *out_path = hsc_arena_printf(cli->arena, "%s/events%s", folder, hsc_sink_extension(sink));
  return hsc_dir_make(folder);
}

static hsc_status *export_file(const hsc_capture *capture, hsc_sink_id sink, const char *path, hsc_cli *cli) {
  const char *part = hsc_arena_printf(cli->arena, "%s.part", path);
  FILE *file = fopen(part, "wb");
  if (!file) return HSC_ERR(PERMISSION_DENIED, "cannot create %s: %s", part, strerror(errno));
  hsc_status *status = hsc_capture_export(capture, sink, write_file, file);
  if (fclose(file) && !status) status = HSC_ERR(RESOURCE_EXHAUSTED, "cannot write %s: %s", part, strerror(errno));
  if (!status && rename(part, path)) status = HSC_ERR(PERMISSION_DENIED, "cannot put %s in place: %s", path, strerror(errno));
  if (status) remove(part);
  else hsc_cli_say(cli, "%s", path);
  return status;
}

static hsc_status *run(const void *args_of_command, hsc_cli *cli) {
  const export_args *args = args_of_command;
  hsc_sink_id sinks[HSC_SINK_COUNT * 2];
  if (args->to.count > HSC_COUNT_OF(sinks)) return hsc_cli_usage(cli, "--to: %zu forms are too many", args->to.count);
  for (size_t i = 0; i < args->to.count; i++)
    if (!hsc_sink_of_name(args->to.items[i], &sinks[i])) return unknown_form(cli, args->to.items[i]);
  bool partitioned = args->output && hsc_ends_with(args->output, "/");
  if (args->output && !partitioned && args->to.count > 1) return hsc_cli_usage(cli, "--output names one file, but --to asks for %zu forms; DIR/ takes several", args->to.count);
  hsc_capture *capture = NULL;
  HSC_TRY(hsc_capture_open(args->capture, &capture));
  hsc_status *status = NULL;
  for (size_t i = 0; i < args->to.count && !status; i++) {
    bool to_stdout = args->output && !strcmp(args->output, "-");
    const char *path = args->output ? args->output : default_path(cli, args->capture, sinks[i]);
    if (partitioned) status = partition_path(cli, capture, args->output, sinks[i], &path);
    if (!status) status = to_stdout ? hsc_capture_export(capture, sinks[i], write_stdout, cli) : export_file(capture, sinks[i], path, cli);
  }
  if (!status && *hsc_capture_notes(capture)) hsc_cli_say(cli, "%.*s", (int)strcspn(hsc_capture_notes(capture), "\n"), hsc_capture_notes(capture));
  hsc_capture_close(capture);
  return status;
}

const hsc_command_body hsc_command_export = {
    .options = options,
    .args_bytes = sizeof(export_args),
    .run = run,
    .description = "Chrome traces open in chrome://tracing, ui.perfetto.dev and speedscope. The same capture always gives the same bytes.\n"
                   "Many captures become one data set: export each to the same DIR/, partitioned as DIR/run=ID/host=NAME/, and read DIR/*/*/*.parquet.",
    .examples = "hloscope export run.hsc\nhloscope export run.hsc --to=chrome,csv\nhloscope export run.hsc --to=raw -o - | less\nhloscope export run.hsc --to=parquet -o captures/",
};
