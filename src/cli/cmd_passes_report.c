// cmd_passes_report.c - hloscope passes report: pictures and a page from results of list and
// ablate.
#include <stdlib.h>

#include "base/files/file_io.h"
#include "cli/cmd_passes.h"
#include "cli/interrupt.h"
#include "cli/report_files.h"
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
      &(hsc_lab_worker_options){.device = &device, .no_disk_cache = true, .stop = &hsc_cli_stop},
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

// ---- the page -----------------------------------------------------------------------------------

static hsc_status *add_document(hsc_page *page, const json_t *document, hsc_cli *cli) {
  const char *device = json_string_value(json_object_get(document, "device"));
  bool is_ablation = json_object_get(document, "variants") != NULL;
  char *text = json_dumps(document, JSON_COMPACT);
  if (!text)
    return hsc_status_out_of_memory();
  hsc_report_add_document(
      page,
      hsc_arena_printf(cli->arena, "%s: %s", is_ablation ? "Without each pass" : "Passes that ran",
                       device ? device : "?"),
      document, hsc_view_of(text), cli);
  free(text);
  return NULL;
}

static hsc_status *add_comparison(hsc_page *page,
                                  json_t *const *documents,
                                  size_t count,
                                  bool programs) {
  hsc_table *table = NULL;
  hsc_bytes text = {0};
  hsc_json json;
  HSC_TRY(hsc_passes_compared(documents, count, programs, &table));
  hsc_json_init(&json, &text, 0);
  hsc_table_json(table, &json);
  if (hsc_table_row_count(table))
    hsc_page_part(page, "table",
                  programs ? "Compilers side by side: programs" : "Compilers side by side: passes",
                  "", NULL, hsc_bytes_view(&text));
  hsc_status *status = hsc_bytes_status(&text);
  hsc_bytes_deinit(&text);
  hsc_table_destroy(table);
  return status;
}

static hsc_status *write_page(json_t *const *documents,
                              size_t count,
                              const char *directory,
                              hsc_cli *cli) {
  hsc_bytes out = {0};
  hsc_page page;
  hsc_status *status = NULL;
  const char *program = count ? json_string_value(json_object_get(documents[0], "program")) : NULL;
  hsc_page_begin(&page,
                 hsc_arena_printf(cli->arena, "hloscope: passes of %s",
                                  hsc_report_base_name(program ? program : "a program")),
                 &out);
  for (size_t i = 0; i < count; i++)
    HSC_GOTO(add_document(&page, documents[i], cli));
  for (int programs = 0; programs < 2 && count > 1; programs++)
    HSC_GOTO(add_comparison(&page, documents, count, programs));
  hsc_page_end(&page);
  HSC_GOTO(hsc_bytes_status(&out));
  const char *path = hsc_arena_printf(cli->arena, "%s/report.html", directory);
  HSC_GOTO(hsc_arena_status(cli->arena));
  HSC_GOTO(hsc_file_write_atomic(path, out.data, out.size));
done:
  hsc_bytes_deinit(&out);
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
  HSC_GOTO(write_page(documents, count, directory, cli));
  hsc_cli_say(cli, "%s/report.html, report.md and their pictures", directory);
done:
  for (size_t i = 0; i < count; i++)
    json_decref(documents[i]);
  return status;
}
