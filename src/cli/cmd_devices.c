// cmd_devices.c - hloscope devices: what can be used here, and why not if not.
#include "cli/command.h"

#include "lab/json_tree.h"
#include "lab/worker_client.h"

typedef struct devices_args {
  hsc_list specs;
} devices_args;

static const hsc_option options[] = {
    HSC_POSITIONAL_REST(devices_args, specs, "DEVICE", HSC_OPTIONAL,
                        "only these: names or plugins by their path; without, all known ones"),
    HSC_OPTION_END,
};

typedef struct device_state {
  const char *name, *about, *install;
  char *reason;        // NULL = found
  const char *plugin;  // NULL = none
  json_t *facts;       // load answer; NULL = not loaded
  bool found, can_compile, can_run;
} device_state;

// [1, 17, 0] -> "1.17.0"; NULL when the plugin does not say.
static const char *stablehlo_version(const device_state *device, hsc_arena *arena) {
  json_t *list = hsc_json_path(device->facts, "attributes", "stablehlo_current_version", NULL), *part;
  if (json_is_string(list)) return json_string_value(list);
  const char *text = NULL;
  size_t i;
  json_array_foreach (list, i, part)
    text = hsc_arena_printf(arena, "%s%s%lld", text ? text : "", text ? "." : "", (long long)json_integer_value(part));
  return text;
}

// Loads the plugin in a worker; when its client cannot be made, once more without, to say at least what it is.
static hsc_status *look_at(const hsc_device_spec *spec, device_state *device, hsc_arena *arena) {
  for (int without_client = 0; without_client < 2 && !device->facts; without_client++) {
    hsc_lab_worker *worker = NULL;
    hsc_answer answer;
    HSC_TRY(hsc_lab_worker_create(
        &(hsc_lab_worker_options){.device = spec, .no_disk_cache = true, .without_client = without_client}, &worker));
    hsc_status *status = hsc_lab_worker_start(worker, &answer);
    if (!status && answer.outcome == HSC_OUTCOME_OK)
      device->facts = json_incref(answer.body);
    else if (!status && !device->reason)
      device->reason = hsc_arena_strdup(arena, hsc_status_message(answer.status));
    if (!status) hsc_answer_deinit(&answer);
    hsc_lab_worker_destroy(worker);
    HSC_TRY(status);
    if (device->facts) device->can_run = device->can_compile = !without_client;
  }
  device->found = device->facts != NULL;
  return NULL;
}

static hsc_status *find_out(const char *text, device_state *device, hsc_arena *arena, bool asked_for) {
  hsc_device_spec spec;
  device->name = hsc_arena_strdup(arena, text);
  for (size_t i = 0; i < hsc_device_row_count(); i++) {
    const hsc_device_row *row = hsc_device_row_at(i);
    size_t length = strlen(row->name);
    if (!strncmp(text, row->name, length) && (!text[length] || text[length] == ':'))
      device->about = row->about;
  }
  hsc_status *status = hsc_device_spec_parse(text, arena, &spec);
  if (status) {
    bool unknown = hsc_status_code(status) == HSC_INVALID_ARGUMENT && asked_for;
    if (unknown) return status;  // a name that nobody knows is the user's mistake, not a device that is missing
    device->reason = hsc_arena_strdup(arena, hsc_status_message(status));
    if (hsc_status_hint_text(status)) device->install = hsc_arena_strdup(arena, hsc_status_hint_text(status));
    hsc_status_free(status);
    return NULL;
  }
  device->plugin = spec.plugin_path;
  if (spec.source == HSC_DEVICE_EVALUATOR) {
    device->found = device->can_run = true;
    return NULL;
  }
  return look_at(&spec, device, arena);
}

static void print_json(hsc_cli *cli, const device_state *devices, size_t count) {
  hsc_bytes text = {0};
  hsc_json json;
  hsc_json_init(&json, &text, 2);
  hsc_json_begin_object(&json);
  hsc_json_key(&json, "devices");
  hsc_json_begin_array(&json);
  for (size_t i = 0; i < count; i++) {
    const device_state *d = &devices[i];
    hsc_json_begin_object(&json);
    hsc_json_kv_string(&json, "device", d->name);
    hsc_json_kv_string(&json, "about", d->about);
    hsc_json_kv_bool(&json, "found", d->found);
    hsc_json_kv_string(&json, "reason", d->reason);
    hsc_json_kv_string(&json, "install", d->install && *d->install ? d->install : NULL);
    hsc_json_kv_string(&json, "plugin", d->plugin);
    hsc_json_kv_string(&json, "pjrt_version", json_string_value(json_object_get(d->facts, "pjrt_version")));
    hsc_json_kv_string(&json, "platform", json_string_value(json_object_get(d->facts, "platform")));
    hsc_json_kv_string(&json, "platform_version", json_string_value(json_object_get(d->facts, "platform_version")));
    hsc_json_kv_string(&json, "stablehlo_version", stablehlo_version(d, cli->arena));
    hsc_json_key(&json, "extensions");
    hsc_json_tree(&json, json_object_get(d->facts, "extensions"));
    hsc_json_kv_bool(&json, "can_compile", d->can_compile);
    hsc_json_kv_bool(&json, "can_run", d->can_run);
    hsc_json_end_object(&json);
  }
  hsc_json_end_array(&json);
  hsc_json_end_object(&json);
  hsc_cli_print(cli, "%s\n", hsc_bytes_text(&text));
  hsc_bytes_deinit(&text);
}

static hsc_status *print_table(hsc_cli *cli, const device_state *devices, size_t count) {
  hsc_table *table = NULL;
  HSC_TRY(hsc_table_create("devices", &table));
  static const char *const columns[] = {"device", "found", "compile", "run", "PJRT", "StableHLO", "what"};
  for (size_t i = 0; i < HSC_COUNT_OF(columns); i++) hsc_table_column(table, columns[i], "");
  for (size_t i = 0; i < count; i++) {
    const device_state *d = &devices[i];
    const char *platform_version = json_string_value(json_object_get(d->facts, "platform_version"));
    hsc_table_row(table);
    hsc_table_text(table, d->name);
    hsc_table_bool(table, d->found);
    hsc_table_bool(table, d->can_compile);
    hsc_table_bool(table, d->can_run);
    hsc_table_text(table, json_string_value(json_object_get(d->facts, "pjrt_version")));
    hsc_table_text(table, stablehlo_version(d, cli->arena));
    if (!d->found)
      hsc_table_printf(table, "%s", d->reason ? d->reason : "");
    else if (d->reason)
      hsc_table_printf(table, "no client: %s", d->reason);
    else
      hsc_table_text(table, d->about ? d->about : platform_version);
  }
  for (size_t i = 0; i < count; i++)
    if (!devices[i].found && devices[i].install && *devices[i].install)
      hsc_table_note(table, "%s: %s", devices[i].name, devices[i].install);
  return hsc_cli_table(cli, table);
}

static hsc_status *run(const void *args_of_command, hsc_cli *cli) {
  const devices_args *args = args_of_command;
  size_t count = args->specs.count ? args->specs.count : hsc_device_row_count();
  device_state *devices = HSC_NEW_ARRAY(cli->arena, device_state, count);
  HSC_TRY(hsc_arena_status(cli->arena));
  hsc_status *status = NULL;
  for (size_t i = 0; i < count && !status; i++)
    status = find_out(args->specs.count ? args->specs.items[i] : hsc_device_row_at(i)->name, &devices[i], cli->arena,
                      args->specs.count > 0);
  if (!status && cli->format == HSC_FORMAT_JSON)
    print_json(cli, devices, count);
  else if (!status)
    status = print_table(cli, devices, count);
  for (size_t i = 0; i < count; i++) json_decref(devices[i].facts);
  return status;
}

const hsc_command_body hsc_command_devices = {
    .options = options,
    .args_bytes = sizeof(devices_args),
    .run = run,
    .description =
        "Each device is loaded in a worker process of its own and asked what it is. A device is a name, or any "
        "vendor's PJRT plugin by its path, with "
        "options for its client behind a question mark.",
    .examples = "hloscope devices\nhloscope devices cpu --format=json\nhloscope devices ./libvendor_pjrt.so?threads=2",
};
