// conform_serve.c - the child: loads the plugin and does the checks, telling each result before it
// begins the next.
#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/json/json_write.h"
#include "lab/conform/conform_internal.h"
#include "lab/devices/devices.h"

static hsc_status *send_line(int fd, hsc_bytes *line) {
  hsc_bytes_append_char(line, '\n');
  HSC_TRY(hsc_bytes_status(line));
  for (size_t at = 0; at < line->size;) {
    ssize_t written = write(fd, line->data + at, line->size - at);
    if (written <= 0)
      return HSC_ERR(UNAVAILABLE, "nobody reads the results");
    at += (size_t)written;
  }
  hsc_bytes_reset(line);
  return NULL;
}

static hsc_status *load(const hsc_device_spec *spec, const PJRT_Api **out_api) {
  void *library = dlopen(spec->plugin_path, RTLD_NOW | RTLD_LOCAL);
  if (!library)
    return HSC_ERR(FAILED_PRECONDITION, "%s", dlerror());
  void *symbol = dlsym(library, "GetPjrtApi");
  if (!symbol)
    return HSC_ERR(FAILED_PRECONDITION, "%s has no GetPjrtApi: it is no PJRT plugin",
                   spec->plugin_path);
  GetPjrtApi_Fn *get;
  memcpy(&get, &symbol, sizeof get);
  *out_api = get();
  return *out_api ? NULL
                  : HSC_ERR(FAILED_PRECONDITION, "GetPjrtApi of %s gives NULL", spec->plugin_path);
}

static const PJRT_NamedValue *values_of(const hsc_device_spec *spec, hsc_arena *arena) {
  PJRT_NamedValue *values = HSC_NEW_ARRAY(arena, PJRT_NamedValue, spec->option_count + 1);
  for (size_t i = 0; values && i < spec->option_count; i++) {
    const hsc_device_option *o = &spec->options[i];
    PJRT_NamedValue *v = &values[i];
    *v = (PJRT_NamedValue){.struct_size = PJRT_NamedValue_STRUCT_SIZE,
                           .name = o->name,
                           .name_size = strlen(o->name),
                           .value_size = 1};
    switch (o->type) {
      case HSC_DEVICE_OPTION_TEXT:
        v->type = PJRT_NamedValue_kString;
        v->string_value = o->text;
        v->value_size = strlen(o->text);
        break;
      case HSC_DEVICE_OPTION_INT:
        v->type = PJRT_NamedValue_kInt64;
        v->int64_value = o->integer;
        break;
      case HSC_DEVICE_OPTION_FLOAT:
        v->type = PJRT_NamedValue_kFloat;
        v->float_value = (float)o->real;
        break;
      case HSC_DEVICE_OPTION_BOOL:
        v->type = PJRT_NamedValue_kBool;
        v->bool_value = o->boolean;
        break;
    }
  }
  return values;
}

static hsc_status *greet(hsc_conform *c, int fd) {
  hsc_bytes line = {0};
  hsc_json json;
  hsc_json_init(&json, &line, 0);
  hsc_json_begin_object(&json);
  char version[32];
  snprintf(version, sizeof version, "%d.%d", c->api->pjrt_api_version.major_version,
           c->api->pjrt_api_version.minor_version);
  hsc_json_kv_string(&json, "version", version);
  hsc_json_end_object(&json);
  hsc_status *status = send_line(fd, &line);
  hsc_bytes_deinit(&line);
  return status;
}

void hsc__conform_tell(hsc_conform *c) {
  hsc_bytes line = {0};
  hsc_json json;
  if (c->steps_fd < 0 || c->steps.size <= c->told)
    return;
  hsc_json_init(&json, &line, 0);
  hsc_json_begin_object(&json);
  hsc_json_key(&json, "steps");
  hsc_json_string_n(&json, c->steps.data + c->told, c->steps.size - c->told);
  hsc_json_end_object(&json);
  // where nobody reads, the check's own answer ends the process
  hsc_status_free(send_line(c->steps_fd, &line));
  c->told = c->steps.size;
  hsc_bytes_deinit(&line);
}

static void begin(hsc_conform *c) {
  c->outcome = HSC_CONFORM_PASS;
  hsc_bytes_reset(&c->seen);
  hsc_bytes_reset(&c->steps);
  c->call_count = c->data_count = c->known_count = 0;
  c->told = 0;
}

// The platform's name, asked once, within the check that made the first client: what the call does
// to the process is that check's.
static void learn_platform(hsc_conform *c) {
  bool is_wanted = !c->platform && c->client && c->outcome == HSC_CONFORM_PASS;
  PJRT_Client_PlatformName_Args name = ARGS_OF(PJRT_Client_PlatformName, .client = c->client);
  if (is_wanted && OK(c, PJRT_Client_PlatformName, &name) && name.platform_name)
    c->platform = hsc_arena_strndup(c->arena, name.platform_name, name.platform_name_size);
}

static hsc_status *do_check(
    hsc_conform *c, const conform_check *check, int member, const char *id, size_t at, int fd) {
  hsc_bytes line = {0};
  hsc_bytes repro = {0};
  hsc_json json;
  begin(c);
  check->run(c, member);
  learn_platform(c);
  if (c->outcome == HSC_CONFORM_FAIL)
    hsc__conform_repro(c, id, check->rule, &repro);
  hsc_json_init(&json, &line, 0);
  hsc_json_begin_object(&json);
  hsc_json_kv_int(&json, "check", (int64_t)at);
  hsc_json_kv_string(&json, "outcome", hsc_conform_outcome_text(c->outcome));
  hsc_json_kv_string(&json, "seen", hsc_bytes_text(&c->seen));
  hsc_json_kv_string(&json, "repro", hsc_bytes_text(&repro));
  if (c->platform)
    hsc_json_kv_string(&json, "platform", c->platform);
  hsc_json_end_object(&json);
  hsc_status *status = send_line(fd, &line);
  hsc_bytes_deinit(&line);
  hsc_bytes_deinit(&repro);
  return status;
}

hsc_status *hsc_conform_serve(const char *device, const char *only, size_t first, int fd) {
  hsc_arena *arena = NULL;
  HSC_TRY(hsc_arena_create(&arena));
  hsc_device_spec spec;
  hsc_conform *c = HSC_NEW(arena, hsc_conform);
  hsc_status *status = hsc_arena_status(arena);
  if (!status)
    status = hsc_device_spec_parse(device, arena, &spec);
  if (status)
    goto done;
  c->arena = arena;
  c->steps_fd = -1;
  for (size_t i = 0; spec.environment && spec.environment[i]; i++)
    putenv(hsc_arena_strdup(arena, spec.environment[i]));
  c->device = device;
  c->topology_name = spec.topology;
  c->options = values_of(&spec, arena);
  c->option_count = spec.option_count;
  HSC_GOTO(load(&spec, &c->api));
  PJRT_Plugin_Initialize_Args initialize = ARGS_OF(PJRT_Plugin_Initialize, .extension_start = NULL);
  if (!OK(c, PJRT_Plugin_Initialize, &initialize)) {
    status = HSC_ERR(FAILED_PRECONDITION, "%s", hsc_bytes_text(&c->seen));
    goto done;
  }
  HSC_GOTO(greet(c, fd));
  c->steps_fd = fd;
  size_t at = 0;
  for (size_t i = 0; i < hsc__conform_check_count; i++) {
    const conform_check *check = &hsc__conform_checks[i];
    int count = check->count ? check->count() : 1;
    for (int m = 0; m < count; m++) {
      char name[64] = "";
      char id[160];
      if (check->name)
        check->name(m, name);
      snprintf(id, sizeof id, "%s%s%s", check->id, *name ? "/" : "", name);
      if (only && strcmp(only, check->area) && strncmp(id, only, strlen(only)))
        continue;
      if (at++ >= first)
        HSC_GOTO(do_check(c, check, m, id, at - 1, fd));
    }
  }
done:
  hsc_arena_destroy(arena);
  return status;
}
