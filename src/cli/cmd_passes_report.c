// cmd_passes_report.c - hloscope passes report: pictures and a page from results of list and
// ablate.
#include "base/files/file_io.h"
#include "cli/cmd_passes.h"
#include "lab/passes/passes_report.h"
#include "lab/devices/devices.h"
#include "worker/scratch.h"

static hsc_status *load_document(const char *path, json_t **out) {
  hsc_bytes text = {0};
  json_error_t error;
  hsc_status *status = hsc_file_read(path, &text);
  if (!status) {
    *out = json_loadb(text.data ? text.data : "", text.size, 0, &error);
    if (!*out)
      status = hsc_status_at(HSC_ERR(INVALID_ARGUMENT, "not JSON: %s", error.text), path,
                             error.line, error.column, NULL);
  }
  hsc_bytes_deinit(&text);
  return status;
}

// The list of a device, made now.
static hsc_status *list_on(const passes_args *args,
                           hsc_cli *cli,
                           const char *device_name,
                           json_t **out) {
  hsc_device_spec device;
  hsc_lab_worker *worker = NULL;
  hsc_pass_list list = {0};
  json_t *overrides = NULL;
  char *scratch = NULL;
  hsc_status *status = NULL;
  HSC_TRY(hsc_device_spec_parse(device_name, cli->arena, &device));
  HSC_TRY(hsc__passes_check_disabled(args, cli, &device));
  HSC_GOTO(hsc__passes_overrides(args, cli, true, &overrides));
  HSC_GOTO(hsc_scratch_create_for_dumps(&scratch));
  HSC_GOTO(hsc_pass_list_init(&list));
  HSC_GOTO(hsc_lab_worker_create(
      &(hsc_lab_worker_options){
          .device = &device, .no_disk_cache = true, .stop = &hsc__passes_stop},
      &worker));
  hsc_passes_collect_options o = {.program = args->program,
                                  .transforms = args->transforms.items,
                                  .transform_count = args->transforms.count,
                                  .overrides = overrides,
                                  .scratch = scratch,
                                  .dumps = true,
                                  .bare = true,
                                  .limit_ns = (int64_t)(args->limit_s * 1e9)};
  hsc_cli_progress(cli, "compiling on %s", device.text);
  HSC_GOTO(hsc_passes_collect(worker, &o, &list));
  HSC_GOTO(hsc_pass_list_json(&list, args->program, device.text, out));
done:
  hsc_lab_worker_destroy(worker);
  json_decref(overrides);
  hsc_scratch_destroy(scratch);
  hsc_pass_list_deinit(&list);
  return status;
}

hsc_status *hsc__passes_report(const passes_args *args, hsc_cli *cli) {
  enum { MOST = 32 };
  json_t *documents[MOST] = {0};
  size_t count = 0;
  hsc_status *status = NULL;
  const char *directory = args->output ? args->output : hsc_cli_new_name(cli, "");
  const char *devices = args->device;
  HSC_TRY(hsc_arena_status(cli->arena));
  // results are reported as they are; the passes of a device are listed now
  if (!devices && args->results.count == 0)
    devices = hsc_default_device();
  for (size_t i = 0; i < args->results.count; i++) {
    if (count == MOST)
      HSC_GOTO(hsc_cli_usage(cli, "more than %d results", MOST));
    HSC_GOTO(load_document(args->results.items[i], &documents[count]));
    count++;
  }
  for (const char *at = devices; at && *at && count < MOST;) {
    size_t size = strcspn(at, ",");
    HSC_GOTO(list_on(args, cli, hsc_arena_strndup(cli->arena, at, size), &documents[count]));
    count++;
    at += size;
    if (*at)
      at++;
  }
  HSC_GOTO(hsc_passes_report(documents, count, directory));
  hsc_cli_say(cli, "%s/report.html, report.md and their pictures", directory);
done:
  for (size_t i = 0; i < count; i++)
    json_decref(documents[i]);
  return status;
}
