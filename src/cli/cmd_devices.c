// cmd_devices.c - hloscope devices: what can be used here, why not if not, and how to get it.
#include "cli/command.h"
#include "cli/interrupt.h"

#include <pthread.h>

#include "lab/run/calibrate.h"
#include "lab/devices/device_install.h"
#include "lab/run/json_tree.h"
#include "lab/devices/devices.h"
#include "worker/worker_client.h"

typedef struct devices_args {
  hsc_list specs, install;
  bool calibrate;
} devices_args;

static const hsc_option options[] = {
    HSC_POSITIONAL_REST(
        devices_args,
        specs,
        "DEVICE",
        HSC_OPTIONAL,
        "only these devices: names or paths of plugins; default: all known and detected ones"),
    HSC_OPTION_LIST(
        devices_args,
        install,
        "install",
        "NAMES",
        NULL,
        "first install these compilers into venv in the cache directory: xla-cpu, cuda, tpu"),
    HSC_OPTION_FLAG(devices_args,
                    calibrate,
                    "calibrate",
                    "measure this machine's peak performance, for rooflines; takes seconds, kept "
                    "in the cache directory"),
    HSC_OPTION_END,
};

typedef struct device_state {
  hsc_arena *arena;  // of what follows; devices are looked at side by side
  const char *name;  // what --device takes
  const char *about, *where, *install;
  const char *reason;          // why it is not there, or has no client; NULL = neither
  const char *plugin;          // NULL = none
  json_t *facts;               // load answer; NULL = not loaded
  const char *const *targets;  // ahead of time; NULL = none are known
  bool found, can_compile, can_run;
  bool asked_for;      // by name: a name that nobody knows is then the user's mistake
  hsc_status *status;  // of looking at it
} device_state;

// [1, 17, 0] -> "1.17.0"; NULL when the plugin does not say.
static const char *stablehlo_version(const device_state *device, const char *attribute) {
  json_t *list = hsc_json_path(device->facts, "attributes", attribute, NULL);
  json_t *part;
  if (json_is_string(list))
    return json_string_value(list);
  const char *text = NULL;
  size_t i;
  json_array_foreach (list, i, part)
    text = hsc_arena_printf(device->arena, "%s%s%lld", text ? text : "", text ? "." : "",
                            (long long)json_integer_value(part));
  return text;
}

// Loads the plugin in a worker; when its client cannot be made, once more without, to say at least
// what it is.
static hsc_status *look_at(const hsc_device_spec *spec, device_state *device) {
  for (int without_client = 0; without_client < 2 && !device->facts; without_client++) {
    hsc_lab_worker *worker = NULL;
    hsc_answer answer;
    HSC_TRY(hsc_lab_worker_create(
        &(hsc_lab_worker_options){
            .device = spec, .no_disk_cache = true, .without_client = without_client},
        &worker));
    hsc_status *status = hsc_lab_worker_start(worker, &answer);
    if (!status && answer.outcome == HSC_OUTCOME_OK)
      device->facts = json_incref(answer.body);
    else if (!status && !device->reason)
      device->reason = hsc_arena_strdup(device->arena, hsc_status_message(answer.status));
    if (!status)
      hsc_answer_deinit(&answer);
    hsc_lab_worker_destroy(worker);
    HSC_TRY(status);
    if (!device->facts)
      continue;
    device->can_run = !without_client && !spec->topology;
    bool ahead = json_is_true(json_object_get(device->facts, "ahead_of_time"));
    device->can_compile = !without_client || (ahead && !spec->topology);
  }
  device->found = device->facts != NULL;
  return NULL;
}

static const hsc_device_row *row_of(const char *text) {
  for (size_t i = 0; i < hsc_device_row_count(); i++) {
    const hsc_device_row *row = hsc_device_row_at(i);
    size_t length = strlen(row->name);
    if (!strncmp(text, row->name, length) && (!text[length] || text[length] == ':'))
      return row;
  }
  return NULL;
}

static hsc_status *find_out(device_state *device) {
  hsc_device_spec spec;
  const hsc_device_row *row = row_of(device->name);
  if (row)
    device->about = row->about;
  hsc_status *status = hsc_device_spec_parse(device->name, device->arena, &spec);
  if (status) {
    if (hsc_status_code(status) == HSC_INVALID_ARGUMENT && device->asked_for)
      return status;
    device->reason = hsc_arena_strdup(device->arena, hsc_status_message(status));
    if (hsc_status_hint_text(status))
      device->install = hsc_arena_strdup(device->arena, hsc_status_hint_text(status));
    hsc_status_free(status);
    return NULL;
  }
  device->plugin = spec.plugin_path;
  if (spec.source == HSC_DEVICE_EVALUATOR) {
    device->found = device->can_run = true;
    return NULL;
  }
  HSC_TRY(look_at(&spec, device));
  const char *kind;
  if (!strcmp(device->name, "cuda"))
    kind = "gpu";
  else if (!strcmp(device->name, "tpu"))
    kind = "tpu";
  else
    kind = NULL;
  if (kind && device->can_compile)
    return hsc_target_names(kind, device->arena, &device->targets);
  return NULL;
}

static void *find_out_thread(void *user) {
  device_state *device = user;
  device->status = find_out(device);
  return NULL;
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
    hsc_json_kv_string(&json, "pjrt_version",
                       json_string_value(json_object_get(d->facts, "pjrt_version")));
    hsc_json_kv_string(&json, "platform", json_string_value(json_object_get(d->facts, "platform")));
    hsc_json_kv_string(&json, "platform_version",
                       json_string_value(json_object_get(d->facts, "platform_version")));
    hsc_json_kv_string(&json, "stablehlo_version",
                       stablehlo_version(d, "stablehlo_current_version"));
    hsc_json_kv_string(&json, "stablehlo_minimum_version",
                       stablehlo_version(d, "stablehlo_minimum_version"));
    hsc_json_key(&json, "extensions");
    hsc_json_tree(&json, json_object_get(d->facts, "extensions"));
    hsc_json_kv_bool(&json, "can_compile", d->can_compile);
    hsc_json_kv_bool(&json, "can_run", d->can_run);
    hsc_json_key(&json, "targets");
    hsc_json_begin_array(&json);
    for (size_t k = 0; d->targets && d->targets[k]; k++) {
      hsc_bytes target = {0};
      hsc_bytes_printf(&target, "%s:%s", d->name, d->targets[k]);
      hsc_json_string(&json, hsc_bytes_text(&target));
      hsc_bytes_deinit(&target);
    }
    hsc_json_end_array(&json);
    hsc_json_end_object(&json);
  }
  hsc_json_end_array(&json);
  hsc_json_end_object(&json);
  hsc_cli_print(cli, "%s\n", hsc_bytes_text(&text));
  hsc_bytes_deinit(&text);
}

static void add_stablehlo(hsc_table *table, const device_state *d) {
  const char *newest = stablehlo_version(d, "stablehlo_current_version");
  const char *oldest = stablehlo_version(d, "stablehlo_minimum_version");
  if (newest && oldest)
    hsc_table_printf(table, "%s to %s", oldest, newest);
  else
    hsc_table_text(table, newest);
}

// What would bring it; what it compiles for; and, of a device that was asked for, its extensions.
static void add_notes(hsc_table *table, const device_state *d) {
  if (!d->found && d->install && *d->install)
    hsc_table_note(table, "%s: %s", d->name, d->install);
  if (d->where)
    hsc_table_note(table, "%s: from %s", d->name, d->where);
  if (d->targets && d->targets[0]) {
    hsc_bytes list = {0};
    for (size_t k = 0; d->targets[k]; k++)
      hsc_bytes_printf(&list, "%s%s", k ? ", " : "", d->targets[k]);
    hsc_table_note(table, "%s:TARGET compiles ahead of time for: %s", d->name,
                   hsc_bytes_text(&list));
    hsc_bytes_deinit(&list);
  }
  json_t *names = json_object_get(d->facts, "extensions");
  json_t *name;
  if (!d->asked_for || json_array_size(names) == 0)
    return;
  hsc_bytes list = {0};
  size_t k;
  json_array_foreach (names, k, name)
    hsc_bytes_printf(&list, "%s%s", k ? ", " : "", json_string_value(name));
  hsc_table_note(table, "%s: extensions: %s", d->name, hsc_bytes_text(&list));
  hsc_bytes_deinit(&list);
}

static hsc_status *print_table(hsc_cli *cli, const device_state *devices, size_t count) {
  hsc_table *table = NULL;
  HSC_TRY(hsc_table_create("devices", &table));
  static const char *const columns[] = {"device", "found",     "compile",    "run",
                                        "PJRT",   "StableHLO", "extensions", "what"};
  for (size_t i = 0; i < HSC_COUNT_OF(columns); i++)
    hsc_table_column(table, columns[i], "");
  for (size_t i = 0; i < count; i++) {
    const device_state *d = &devices[i];
    const char *platform_version = json_string_value(json_object_get(d->facts, "platform_version"));
    json_t *extensions = json_object_get(d->facts, "extensions");
    hsc_table_row(table);
    hsc_table_text(table, d->name);
    hsc_table_bool(table, d->found);
    hsc_table_bool(table, d->can_compile);
    hsc_table_bool(table, d->can_run);
    hsc_table_text(table, json_string_value(json_object_get(d->facts, "pjrt_version")));
    add_stablehlo(table, d);
    if (json_array_size(extensions))
      hsc_table_int(table, (int64_t)json_array_size(extensions));
    else
      hsc_table_missing(table);
    if (!d->found)
      hsc_table_printf(table, "%s", d->reason ? d->reason : "");
    else if (d->reason)
      hsc_table_printf(table, d->can_compile ? "cannot run here: %s" : "cannot compile: %s",
                       d->reason);
    else if (d->about)
      hsc_table_text(table, d->about);
    else
      hsc_table_printf(table, "%.*s", (int)strcspn(platform_version ? platform_version : "", "\n"),
                       platform_version ? platform_version : "");
  }
  for (size_t i = 0; i < count; i++)
    add_notes(table, &devices[i]);
  return hsc_cli_table(cli, table);
}

// ---- installing ---------------------------------------------------------------------------------

static void show_progress(void *user,
                          const char *device,
                          const char *text,
                          int64_t downloaded_bytes,
                          int64_t total_bytes) {
  hsc_cli *cli = user;
  static char before[512];
  char line[512];
  if (total_bytes > 0 && cli->talk_is_terminal)
    snprintf(line, sizeof line, "%s: %s %3.0f %%", device, text,
             100.0 * (double)downloaded_bytes / (double)total_bytes);
  else
    snprintf(line, sizeof line, "%s%s%s", device, *device ? ": " : "", text);
  if (!strcmp(line, before))
    return;  // on a terminal it is there; elsewhere once is enough
  snprintf(before, sizeof before, "%s", line);
  hsc_cli_progress(cli, "%s", line);
}

static hsc_status *install(const devices_args *args, hsc_cli *cli) {
  hsc_cli_catch_interrupt();
  return hsc_devices_install(&(hsc_install_options){.devices = args->install.items,
                                                    .device_count = args->install.count,
                                                    .progress = show_progress,
                                                    .user = cli,
                                                    .stop = &hsc_cli_stop});
}

// ---- the whole ----------------------------------------------------------------------------------

// The devices to look at: those that were named or just installed; else all known ones and what
// else is on this machine.
static hsc_status *choose(const devices_args *args,
                          hsc_cli *cli,
                          device_state **out_devices,
                          size_t *out_count) {
  const hsc_list *named;
  if (args->specs.count)
    named = &args->specs;
  else if (args->install.count)
    named = &args->install;
  else
    named = NULL;
  hsc_found_plugin *plugins = NULL;
  size_t plugin_count = 0;
  size_t rows = hsc_device_row_count();
  if (!named)
    HSC_TRY(hsc_plugins_find(cli->arena, &plugins, &plugin_count));
  size_t count = named ? named->count : rows + plugin_count;
  device_state *devices = HSC_NEW_ARRAY(cli->arena, device_state, count + 1);
  HSC_TRY(hsc_arena_status(cli->arena));
  for (size_t i = 0; i < count; i++) {
    devices[i].asked_for = named != NULL;
    if (named)
      devices[i].name = named->items[i];
    else if (i < rows)
      devices[i].name = hsc_device_row_at(i)->name;
    else
      devices[i].name = plugins[i - rows].path;
    if (!named && i >= rows)
      devices[i].where =
          hsc_arena_printf(cli->arena, "%s, %s", plugins[i - rows].where, plugins[i - rows].name);
  }
  *out_devices = devices;
  *out_count = count;
  return hsc_arena_status(cli->arena);
}

// The peaks of the device that is named, else of the built-in one, as a table.
static hsc_status *calibrate(const devices_args *args, hsc_cli *cli) {
  if (args->specs.count > 1)
    return hsc_cli_usage(cli, "--calibrate measures one device at a time");
  hsc_peaks peaks;
  hsc_table *table = NULL;
  hsc_cli_progress(cli, "measuring products and streams");
  HSC_TRY(
      hsc_calibrate(args->specs.count ? args->specs.items[0] : NULL, HSC_CALIBRATE_STEADY, &peaks));
  HSC_TRY(hsc_table_create("peaks", &table));
  hsc_table_column(table, "device", "");
  hsc_table_column(table, "flop_rate", "flop/s");
  hsc_table_column(table, "byte_rate", "bytes/s");
  hsc_table_row(table);
  hsc_table_text(table, peaks.device);
  hsc_table_double(table, peaks.flops);
  hsc_table_double(table, peaks.bytes);
  hsc_table_note(table,
                 "the best of all runs: f32 products of 512, 1024 and 1536 squared, and a sum of "
                 "arrays larger than the caches");
  if (peaks.lost > HSC_PEAKS_MOST_LOST)
    hsc_table_note(table,
                   "%.0f %% of the machine's time went to others meanwhile: it can do more; a "
                   "calibration on a quieter machine keeps what is higher",
                   100 * peaks.lost);
  return hsc_cli_table(cli, table);
}

static hsc_status *run(const void *args_of_command, hsc_cli *cli) {
  const devices_args *args = args_of_command;
  device_state *devices = NULL;
  size_t count = 0;
  size_t started = 0;
  if (args->install.count)
    HSC_TRY(install(args, cli));
  if (args->calibrate)
    return calibrate(args, cli);
  HSC_TRY(choose(args, cli, &devices, &count));
  pthread_t *threads = HSC_NEW_ARRAY(cli->arena, pthread_t, count + 1);
  hsc_status *status = hsc_arena_status(cli->arena);
  for (size_t i = 0; i < count && !status; i++)
    status = hsc_arena_create(&devices[i].arena);
  // A device that takes long to start, or hangs, does not keep the others waiting.
  while (!status && started < count &&
         pthread_create(&threads[started], NULL, find_out_thread, &devices[started]) == 0)
    started++;
  for (size_t i = started; !status && i < count; i++)
    find_out_thread(&devices[i]);
  for (size_t i = 0; i < started; i++)
    pthread_join(threads[i], NULL);
  for (size_t i = 0; i < count; i++) {
    if (!status)
      status = devices[i].status;
    else
      hsc_status_free(devices[i].status);
  }
  if (!status && cli->format == HSC_FORMAT_JSON)
    print_json(cli, devices, count);
  else if (!status)
    status = print_table(cli, devices, count);
  for (size_t i = 0; i < count; i++) {
    json_decref(devices[i].facts);
    hsc_arena_destroy(devices[i].arena);
  }
  return status;
}

const hsc_command_body hsc_command_devices = {
    .options = options,
    .args_bytes = sizeof(devices_args),
    .run = run,
    .description =
        "Loads each device in its own worker process and asks it to describe itself. A device is a "
        "name, or the path of any vendor's PJRT plugin, with options for its client after a "
        "question mark. --install installs real compilers that need no hardware, in the versions "
        "that hloscope is tested with.",
    .examples =
        "hloscope devices\nhloscope devices --install xla-cpu,cuda,tpu\nhloscope devices cpu "
        "--format=json\n"
        "hloscope devices ./libvendor_pjrt.so?threads=2",
};
