// cmd_export.c - hloscope export: a capture in the form of other tools.
#include <errno.h>
#include <inttypes.h>
#include <time.h>

#include "base/core/spill.h"
#include "base/files/file_io.h"
#include "base/text/text.h"
#include "cli/command.h"
#include "cli/profile_peaks.h"
#include "trace/sink.h"
#include "views/profile_chrome.h"
#include "views/profile_tensorboard.h"

typedef struct export_args {
  const char *capture, *output, *clocks;
  hsc_list to;
} export_args;

static const hsc_option options[] = {
    HSC_POSITIONAL(export_args,
                   capture,
                   "CAPTURE",
                   HSC_REQUIRED,
                   "a directory or ring file that was recorded, or a profile (HOST.xplane.pb, or a "
                   "directory that holds one)"),
    HSC_OPTION_LIST(export_args,
                    to,
                    "to",
                    "FORMS",
                    "chrome",
                    "chrome, perfetto, speedscope, csv, parquet, otlp, raw; of a profile also "
                    "tensorboard; several separated by commas"),
    HSC_OPTION_STRING(export_args,
                      output,
                      "output|o",
                      "FILE",
                      NULL,
                      "output file; - is standard output; DIR/ is partitioned by run, host, date; "
                      "default: CAPTURE's name with the format's extension"),
    HSC_OPTION_STRING(export_args,
                      clocks,
                      "clocks",
                      "FILE",
                      NULL,
                      "clocks of the hosts, as `hloscope sweep clocks` measures them; default: "
                      "clocks.tsv in CAPTURE"),
    HSC_OPTION_END,
};

static hsc_status *write_stdout(void *user, hsc_view bytes) {
  hsc_cli_write(user, bytes);
  return NULL;
}

static hsc_status *write_file(void *user, hsc_view bytes) {
  FILE *file = user;
  return fwrite(bytes.data, 1, bytes.size, file) == bytes.size
             ? NULL
             : HSC_ERR(RESOURCE_EXHAUSTED, "cannot write: %s", strerror(errno));
}

static hsc_status *unknown_form(hsc_cli *cli, const char *name) {
  const char *names[HSC_SINK_COUNT];
  for (int i = 0; i < HSC_SINK_COUNT; i++)
    names[i] = hsc_sink_name((hsc_sink_id)i);
  const char *near = hsc_did_you_mean(name, names, HSC_SINK_COUNT);
  return hsc_cli_usage(cli,
                       near ? "there is no form '%s'; did you mean '%s'?" : "there is no form '%s'",
                       name, near);
}

// CAPTURE without a trailing slash and without .hsc, then the form's extension.
static const char *default_path(hsc_cli *cli, const char *capture, hsc_sink_id sink) {
  size_t length = strlen(capture);
  while (length > 1 && capture[length - 1] == '/')
    length--;
  if (length > 4 && !memcmp(capture + length - 4, ".hsc", 4))
    length -= 4;
  const char *name = hsc_sink_name(sink);
  const char *extension = hsc_sink_extension(sink);
  if (!strcmp(name, extension + 1))
    return hsc_arena_printf(cli->arena, "%.*s%s", (int)length, capture, extension);
  return hsc_arena_printf(cli->arena, "%.*s.%s%s", (int)length, capture, name, extension);
}

// DIR/run=ID/host=NAME/date=DAY/events.EXTENSION, as DuckDB, Spark and Athena find partitions; the
// folders are made. The day is the one on which the capture began, UTC.
static hsc_status *partition_path(hsc_cli *cli,
                                  const hsc_capture *capture,
                                  int host_number,
                                  const char *directory,
                                  hsc_sink_id sink,
                                  const char **out_path) {
  const hsc_capture_process *first = hsc_capture_process_at(capture, 0);
  const char *host = first->host;
  for (int i = 0; i < hsc_capture_process_count(capture); i++)
    if (hsc_capture_process_at(capture, i)->host_number == host_number)
      host = hsc_capture_process_at(capture, i)->host;
  if (!*host)
    host = "unknown";
  char date[32];
  struct tm day;
  time_t seconds = (time_t)(hsc_capture_start_wall_ns(capture) / 1000000000);
  if (!gmtime_r(&seconds, &day) || !strftime(date, sizeof date, "%Y-%m-%d", &day))
    snprintf(date, sizeof date, "unknown");
  const char *folder =
      hsc_arena_printf(cli->arena, "%srun=%016" PRIx64 "%016" PRIx64 "/host=%s/date=%s", directory,
                       first->trace_id_high, first->trace_id_low, host, date);
  *out_path = default_path(cli, hsc_arena_printf(cli->arena, "%s/events", folder), sink);
  return hsc_dir_make(folder);
}

// A part for each host; of forms that are no tables one, with all of them, under the first's name.
static hsc_status *export_parts(const hsc_capture *capture,
                                hsc_sink_id sink,
                                const char *directory,
                                hsc_cli *cli) {
  int hosts = sink == HSC_SINK_parquet ? hsc_capture_host_count(capture) : 1;
  for (int host = 0; host < hosts; host++) {
    const char *path = NULL;
    HSC_TRY(partition_path(cli, capture, host, directory, sink, &path));
    HSC_TRY(hsc_capture_export_part_to(capture, sink, host, path));
    hsc_cli_say(cli, "%s", path);
  }
  return NULL;
}

static hsc_status *export_file(const hsc_capture *capture,
                               hsc_sink_id sink,
                               const char *path,
                               hsc_cli *cli) {
  HSC_TRY(hsc_capture_export_file_to(capture, sink, path));
  hsc_cli_say(cli, "%s", path);
  return NULL;
}

typedef enum profile_form {
#define PROFILE_FORM(id, text, doc) FORM_##id,
#include "views/profile_forms.def"
#undef PROFILE_FORM
  FORM_COUNT
} profile_form;
static const char *const form_names[] = {
#define PROFILE_FORM(id, text, doc) text,
#include "views/profile_forms.def"
#undef PROFILE_FORM
};

// A form of profiles alone, or a sink's, which takes the profile as a capture: FORM_COUNT + its
// number.
static hsc_status *profile_form_of(hsc_cli *cli, const char *name, int *out_form) {
  for (int i = 0; i < FORM_COUNT; i++)
    if (!strcmp(name, form_names[i])) {
      *out_form = i;
      return NULL;
    }
  hsc_sink_id sink;
  if (hsc_sink_of_name(name, &sink)) {
    *out_form = FORM_COUNT + (int)sink;
    return NULL;
  }
  const char *names[FORM_COUNT + HSC_SINK_COUNT];
  for (int i = 0; i < FORM_COUNT; i++)
    names[i] = form_names[i];
  for (int i = 0; i < HSC_SINK_COUNT; i++)
    names[FORM_COUNT + i] = hsc_sink_name((hsc_sink_id)i);
  const char *near = hsc_did_you_mean(name, names, FORM_COUNT + HSC_SINK_COUNT);
  return near ? hsc_cli_usage(cli, "there is no form '%s'; did you mean '%s'?", name, near)
              : hsc_cli_usage(cli, "there is no form '%s'", name);
}

static hsc_status *export_chrome(hsc_profile *profile, const char *path, hsc_cli *cli) {
  if (!strcmp(path, "-"))
    return hsc_profile_write_chrome(profile, write_stdout, cli);
  const char *part = hsc_arena_printf(cli->arena, "%s.part", path);
  FILE *file = fopen(part, "wb");
  if (!file)
    return HSC_ERR(PERMISSION_DENIED, "cannot create %s: %s", part, strerror(errno));
  hsc_status *status = hsc_profile_write_chrome(profile, write_file, file);
  if (fclose(file) && !status)
    status = HSC_ERR(RESOURCE_EXHAUSTED, "cannot write %s: %s", part, strerror(errno));
  if (!status && rename(part, path))
    status = HSC_ERR(PERMISSION_DENIED, "cannot put %s in place: %s", path, strerror(errno));
  if (status)
    remove(part);
  else
    hsc_cli_say(cli, "%s", path);
  return status;
}

// The name without the extensions of profiles, or the directory's.
static const char *profile_stem(hsc_cli *cli, const char *path) {
  size_t length = strlen(path);
  while (length > 1 && path[length - 1] == '/')
    length--;
  static const char *const extensions[] = {".gz", ".zst", ".pb", ".xplane"};
  for (size_t i = 0; i < HSC_COUNT_OF(extensions); i++) {
    size_t size = strlen(extensions[i]);
    if (length > size && !memcmp(path + length - size, extensions[i], size))
      length -= size;
  }
  return hsc_arena_strndup(cli->arena, path, length);
}

static hsc_status *export_by_sink(const export_args *args,
                                  hsc_sink_id sink,
                                  const char *stem,
                                  hsc_cli *cli) {
  hsc_capture *capture = NULL;
  HSC_TRY(hsc_capture_of_profile(args->capture, &capture));
  const char *path = args->output ? args->output
                                  : hsc_arena_printf(cli->arena, "%s.%s%s", stem,
                                                     hsc_sink_name(sink), hsc_sink_extension(sink));
  hsc_status *status = !strcmp(path, "-") ? hsc_capture_export(capture, sink, write_stdout, cli)
                                          : export_file(capture, sink, path, cli);
  hsc_capture_close(capture);
  return status;
}

static hsc_status *export_profile(const export_args *args, hsc_cli *cli) {
  int forms[16];
  if (args->to.count > HSC_COUNT_OF(forms))
    return hsc_cli_usage(cli, "--to: %zu forms are too many", args->to.count);
  for (size_t i = 0; i < args->to.count; i++)
    HSC_TRY(profile_form_of(cli, args->to.items[i], &forms[i]));
  if (args->output && args->to.count > 1)
    return hsc_cli_usage(cli, "--output names one place, but --to asks for %zu forms",
                         args->to.count);
  hsc_profile *profile = NULL;
  HSC_TRY(hsc_profile_open(args->capture, &profile));
  hsc_cli_profile_peaks(profile);
  hsc_status *status = NULL;
  for (size_t i = 0; i < args->to.count && !status; i++) {
    const char *stem = profile_stem(cli, args->capture);
    if (forms[i] >= FORM_COUNT) {
      status = export_by_sink(args, (hsc_sink_id)(forms[i] - FORM_COUNT), stem, cli);
      continue;
    }
    if (forms[i] == FORM_chrome) {
      status = export_chrome(
          profile,
          args->output ? args->output : hsc_arena_printf(cli->arena, "%s.chrome.json", stem), cli);
      continue;
    }
    const char *logdir =
        args->output ? args->output : hsc_arena_printf(cli->arena, "%s.tensorboard", stem);
    if (!strcmp(logdir, "-"))
      status = hsc_cli_usage(cli, "--to=tensorboard makes a log directory; name one with --output");
    char *run = NULL;
    if (!status)
      status = hsc_profile_write_logdir(profile, logdir, NULL, false, &run);
    if (!status)
      hsc_cli_say(cli, "%s;  tensorboard --logdir %s", run, logdir);
    hsc_free(run);
  }
  if (!status && *hsc_profile_notes(profile))
    hsc_cli_say(cli, "%s", hsc_profile_notes(profile));
  hsc_profile_close(profile);
  return status;
}

static hsc_status *run(const void *args_of_command, hsc_cli *cli) {
  const export_args *args = args_of_command;
  hsc_spill_begin();
  if (hsc_xspace_is_at(args->capture))
    return export_profile(args, cli);
  for (size_t i = 0; i < args->to.count; i++)
    if (!strcmp(args->to.items[i], "tensorboard"))
      return hsc_status_hint(
          HSC_ERR(UNIMPLEMENTED,
                  "tensorboard: not supported for a trace: TensorBoard reads profiles"),
          "hloscope profile records operators and writes a log directory");
  hsc_sink_id sinks[HSC_SINK_COUNT * 2];
  if (args->to.count > HSC_COUNT_OF(sinks))
    return hsc_cli_usage(cli, "--to: %zu forms are too many", args->to.count);
  for (size_t i = 0; i < args->to.count; i++)
    if (!hsc_sink_of_name(args->to.items[i], &sinks[i]))
      return unknown_form(cli, args->to.items[i]);
  bool partitioned = args->output && hsc_ends_with(args->output, "/");
  if (args->output && !partitioned && args->to.count > 1)
    return hsc_cli_usage(cli,
                         "--output names one file, but --to asks for %zu forms; DIR/ takes several",
                         args->to.count);
  hsc_capture *capture = NULL;
  HSC_TRY(hsc_capture_open_with_clocks(args->capture, args->clocks, &capture));
  hsc_status *status = NULL;
  for (size_t i = 0; i < args->to.count && !status; i++) {
    bool to_stdout = args->output && !strcmp(args->output, "-");
    const char *path = args->output ? args->output : default_path(cli, args->capture, sinks[i]);
    if (partitioned)
      status = export_parts(capture, sinks[i], args->output, cli);
    else if (to_stdout)
      status = hsc_capture_export(capture, sinks[i], write_stdout, cli);
    else
      status = export_file(capture, sinks[i], path, cli);
  }
  if (!status && *hsc_capture_notes(capture))
    hsc_cli_say(cli, "%.*s", (int)strcspn(hsc_capture_notes(capture), "\n"),
                hsc_capture_notes(capture));
  hsc_capture_close(capture);
  return status;
}

const hsc_command_body hsc_command_export = {
    .options = options,
    .args_bytes = sizeof(export_args),
    .run = run,
    .description =
        "Chrome traces open in chrome://tracing, ui.perfetto.dev and speedscope. The same capture "
        "always gives the same bytes.\n"
        "A profile goes to TensorBoard as a log directory in which every page has rows, also for "
        "XLA:CPU.\n"
        "Many captures become one data set: export each to the same DIR/, partitioned as "
        "DIR/run=ID/host=NAME/date=DAY/, and read DIR/**/*.parquet.",
    .examples =
        "hloscope export run.hsc\nhloscope export run.hsc --to=chrome,csv\nhloscope export run.hsc "
        "--to=raw -o - | less\nhloscope export run.hsc --to=parquet -o captures/\n"
        "hloscope export host.xplane.pb --to=tensorboard -o logs\nhloscope export host.xplane.pb "
        "--to=perfetto,parquet\nhloscope export logs --to=chrome -o trace.json",
};
