// cmd_passes_common.c - what the verbs of `passes` share: the device, compile options, JSON.
#include <stdlib.h>

#include "base/text/text.h"
#include "cli/cmd_passes.h"
#include "cli/interrupt.h"
#include "worker/lab_compile.h"
#include "worker/scratch.h"
#include "lab/devices/devices.h"
#include "passes/manager/passes.h"

hsc_status *hsc__passes_device(const passes_args *args, hsc_cli *cli, hsc_device_spec *out_device) {
  HSC_TRY(hsc_device_spec_parse(args->device ? args->device : hsc_default_device(), cli->arena,
                                out_device));
  if (out_device->source == HSC_DEVICE_EVALUATOR)
    return HSC_ERR(UNIMPLEMENTED,
                   "passes: the reference evaluator does not compile, so it has no passes");
  return NULL;
}

hsc_status *hsc__passes_overrides(const passes_args *args,
                                  hsc_cli *cli,
                                  bool with_disable,
                                  json_t **out_overrides) {
  json_t *overrides = NULL;
  HSC_TRY(hsc_overrides_parse(args->settings.items, args->settings.count, &overrides));
  if (!overrides)
    overrides = json_object();
  if (with_disable && args->disable && *args->disable)
    json_object_set_new(overrides, "xla_disable_hlo_passes", json_string(args->disable));
  *out_overrides = overrides;
  return NULL;
}

// A switched-off pass that does not exist would be accepted in silence, and nothing would be off.
hsc_status *hsc__passes_check_own(const char *list, hsc_cli *cli) {
  while (list && *list) {
    const char *end = strchrnul(list, ',');
    const char *name = hsc_arena_strndup(cli->arena, list, strcspn(list, "=,"));
    hsc_pass_id pass;
    HSC_TRY(hsc_pass_refusal(name));
    if (!hsc_pass_parse(hsc_view_of(name), &pass) && !hsc_pipeline_exists(name) &&
        hsc_rule_find(hsc_view_of(name)) < 0) {
      const char *near = hsc_pass_name_near(name);
      return hsc_cli_usage(
          cli,
          near ? "unknown pass '%s' on cpu; did you mean '%s'?"
               : "unknown pass '%s' on cpu; hloscope passes list PROGRAM shows them",
          name, near);
    }
    list = *end ? end + 1 : end;
  }
  return NULL;
}

static hsc_status *check_names_of(const char *names,
                                  const hsc_device_spec *device,
                                  const char *const *known,
                                  size_t known_count,
                                  hsc_arena *arena) {
  for (const char *at = names; *at;) {
    size_t size = strcspn(at, ",");
    const char *name = hsc_arena_strndup(arena, at, size);
    HSC_TRY(hsc_arena_status(arena));
    bool found = size == 0;
    for (size_t i = 0; i < known_count && !found; i++)
      found = !strcmp(known[i], name);
    if (!found) {
      const char *near = hsc_did_you_mean(name, known, known_count);
      hsc_status *status = HSC_ERR(INVALID_ARGUMENT, "%s has no pass '%s' that ran on this program",
                                   device->text, name);
      return near
                 ? hsc_status_hint(status, "did you mean '%s'?", near)
                 : hsc_status_hint(status, "hloscope passes list PROGRAM --device %s shows all %zu",
                                   device->text, known_count);
    }
    at += size + (at[size] != 0);
  }
  return NULL;
}

hsc_status *hsc__passes_check_disabled(const passes_args *args,
                                       hsc_cli *cli,
                                       const hsc_device_spec *device) {
  hsc_pass_list list = {0};
  hsc_lab_worker *worker = NULL;
  json_t *overrides = NULL;
  char *scratch = NULL;
  const char **known = NULL;
  size_t known_count = 0;
  hsc_status *status = NULL;
  if (!args->disable || !*args->disable)
    return NULL;
  if (device->source == HSC_DEVICE_BUILT_IN)
    return hsc__passes_check_own(args->disable, cli);
  hsc_cli_progress(cli, "checking the names of --disable on %s", device->text);
  HSC_GOTO(hsc_pass_list_init(&list));
  HSC_GOTO(hsc_scratch_create(&scratch));
  HSC_GOTO(hsc__passes_overrides(args, cli, false, &overrides));
  HSC_GOTO(hsc_lab_worker_create(
      &(hsc_lab_worker_options){.device = device, .no_disk_cache = true, .stop = &hsc_cli_stop},
      &worker));
  hsc_passes_collect_options o = {.program = args->program,
                                  .transforms = args->transforms.items,
                                  .transform_count = args->transforms.count,
                                  .overrides = overrides,
                                  .scratch = scratch,
                                  .limit_ns = (int64_t)(args->limit_s * 1e9)};
  HSC_GOTO(hsc_passes_collect(worker, &o, &list));
  HSC_GOTO(hsc_pass_list_names(&list, true, &known, &known_count));
  status = check_names_of(args->disable, device, known, known_count, cli->arena);
done:
  hsc_lab_worker_destroy(worker);
  json_decref(overrides);
  hsc_scratch_destroy(scratch);
  hsc_pass_list_deinit(&list);
  return status;
}
