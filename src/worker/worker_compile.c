// worker_compile.c - compiled programs of a worker: looked up in memory, then on disk, then
// compiled.
#include <stdlib.h>

#include "base/core/log.h"
#include "worker/compile_cache.h"
#include "worker/worker_internal.h"

// Dumps are wanted for themselves, and what files say about algorithms is in no key.
static bool cacheable(const hsc_worker *worker, json_t *request) {
  json_t *const lists[] = {worker->overrides, json_object_get(request, "overrides")};
  const char *name;
  const char *flags = getenv("XLA_FLAGS");
  json_t *value;
  for (size_t i = 0; i < HSC_COUNT_OF(lists); i++)
    json_object_foreach (lists[i], name, value)
      if (!hsc_compile_option_cacheable(name))
        return false;
  return !flags || hsc_compile_option_cacheable(flags);
}

hsc_status *hsc__request_cache(const hsc_worker *worker, json_t *request, int *out_cache) {
  json_t *list = json_object_get(request, "cache");
  json_t *item;
  int cache = list ? 0 : CACHE_MEMORY | CACHE_DISK;
  if (list && !json_is_array(list))
    return HSC_ERR(INVALID_ARGUMENT, "\"cache\" is not an array");
  size_t i;
  json_array_foreach (list, i, item) {
    const char *text = json_is_string(item) ? json_string_value(item) : "";
    if (!strcmp(text, "memory"))
      cache |= CACHE_MEMORY;
    else if (!strcmp(text, "disk"))
      cache |= CACHE_DISK;
    else
      return HSC_ERR(INVALID_ARGUMENT,
                     "\"cache\" holds something that is neither \"memory\" nor \"disk\"");
  }
  // loading needs a client
  if (!worker->cache_dir || worker->topology || !cacheable(worker, request))
    cache &= ~CACHE_DISK;
  *out_cache = cache;
  return NULL;
}

// {"xla_disable_hlo_passes": "a,b", "xla_flag": true, ...}
static hsc_status *read_overrides(json_t *overrides, hsc_override *list, size_t *count) {
  const char *name;
  json_t *value;
  if (overrides && !json_is_object(overrides))
    return HSC_ERR(INVALID_ARGUMENT, "\"overrides\" is not an object");
  json_object_foreach (overrides, name, value) {
    hsc_override *o = &list[(*count)++];
    o->name = name;
    if (json_is_string(value)) {
      o->type = HSC_OVERRIDE_TEXT;
      o->text = json_string_value(value);
    } else if (json_is_boolean(value)) {
      o->type = HSC_OVERRIDE_BOOL;
      o->boolean = json_boolean_value(value);
    } else if (json_is_integer(value)) {
      o->type = HSC_OVERRIDE_INT;
      o->integer = json_integer_value(value);
    } else if (json_is_real(value)) {
      o->type = HSC_OVERRIDE_DOUBLE;
      o->real = json_real_value(value);
    } else
      return HSC_ERR(INVALID_ARGUMENT, "override \"%s\" is neither text, number, true nor false",
                     name);
  }
  return NULL;
}

hsc_status *hsc__request_options(const hsc_worker *worker,
                                 const worker_program *program,
                                 json_t *request,
                                 hsc_bytes *out_options) {
  json_t *overrides = json_object_get(request, "overrides");
  size_t count = json_object_size(worker->overrides) + json_object_size(overrides);
  hsc_override *list = hsc_alloc((count + 1) * sizeof(*list));
  if (!list)
    return hsc_status_out_of_memory();
  hsc_compile_options options = hsc_compile_options_default();
  hsc_status *status = NULL;
  options.overrides = list;
  hsc__worker_spread_options(program, &options);
  HSC_GOTO(read_overrides(worker->overrides, list, &options.override_count));
  HSC_GOTO(read_overrides(overrides, list, &options.override_count));
  HSC_GOTO(hsc_compile_options_write(&options, out_options));
done:
  hsc_free(list);
  return status;
}

static hsc_status *from_disk(hsc_worker *worker,
                             hsc_view key_text,
                             hsc_view options,
                             worker_compile *how,
                             hsc_executable **out) {
  hsc_bytes payload = {0};
  bool found = false;
  hsc__worker_at(worker, "loading from the compile cache");
  int64_t start = hsc_now_ns();
  hsc_status *status = hsc_disk_cache_get(worker->cache_dir, key_text, &payload, &found);
  int64_t read = hsc_now_ns();
  how->disk_ns = read - start;
  if (!status && found) {
    hsc_view program;
    status = hsc_disk_cache_unbind(key_text, hsc_bytes_view(&payload), &program);
    if (!status)
      status = hsc_client_load(worker->client, program, options, out);
    how->load_ns = hsc_now_ns() - read;
    if (status) {  // made by something that this plugin does not take any more: compile again
      hsc_log("worker", 1, "an entry of the compile cache was refused: %s",
              hsc_status_message(status));
      hsc_status_free(status);
      status = NULL;
    }
  }
  hsc_bytes_deinit(&payload);
  return status;
}

static void keep_on_disk(hsc_worker *worker,
                         hsc_view key_text,
                         const char *program_name,
                         int64_t compile_ns,
                         hsc_executable *executable) {
  hsc_bytes payload = {0};
  hsc_bytes information = {0};
  hsc_status *status = hsc_compile_information(program_name, compile_ns, &information);
  hsc_disk_cache_bind(key_text, &payload);
  if (!status)
    status = hsc_executable_serialize(executable, &payload);
  if (!status)
    status = hsc_disk_cache_put(worker->cache_dir, key_text, hsc_bytes_view(&information),
                                hsc_bytes_view(&payload));
  if (status)
    hsc_log("worker", 1, "not kept in the compile cache: %s",
            hsc_status_message(status));  // a cache that cannot be written costs time, not results
  hsc_status_free(status);
  hsc_bytes_deinit(&payload);
  hsc_bytes_deinit(&information);
}

hsc_status *hsc__worker_compile(hsc_worker *worker,
                                worker_program *program,
                                json_t *request,
                                int cache,
                                worker_executable **out_executable,
                                worker_compile *out_how) {
  worker_compile how = {.outcome = OUTCOME_MISS};
  hsc_bytes options = {0};
  hsc_bytes key_text = {0};
  char name[33];
  worker_executable *made = NULL;
  hsc_usage before;
  hsc_usage_get(&before);
  hsc_status *status = NULL;
  hsc__worker_at(worker, "compiling");

  int64_t start = hsc_now_ns();
  HSC_GOTO(hsc__worker_check_spread(worker, program));
  HSC_GOTO(hsc__request_options(worker, program, request, &options));
  hsc_compile_key key = {program->fingerprint, hsc_bytes_view(&options), worker->plugin_path,
                         hsc__worker_platform_version(worker), hsc_plugin_minor(worker->plugin)};
  hsc_bytes memory_key = {0};
  hsc_bytes_append_text(&memory_key, program->fingerprint);
  hsc_bytes_append(&memory_key, options.data, options.size);
  hsc_hash128_hex(hsc_hash128_of(memory_key.data, memory_key.size, 0), name);
  hsc_bytes_deinit(&memory_key);
  worker_executable *found = NULL;
  for (worker_executable *e = worker->executables; e && (cache & CACHE_MEMORY) && !found;
       e = e->next)
    if (!strcmp(e->key, name))
      found = e;
  how.lookup_ns = hsc_now_ns() - start;
  if (found) {
    how.outcome = OUTCOME_MEMORY;
    *out_executable = found;
    goto done;
  }

  made = hsc_alloc(sizeof(*made));
  if (!made || !(made->key = hsc_strdup(name)))
    HSC_GOTO(hsc_status_out_of_memory());
  if (cache & CACHE_DISK) {
    HSC_GOTO(hsc_compile_key_text(&key, &key_text));
    HSC_GOTO(from_disk(worker, hsc_bytes_view(&key_text), hsc_bytes_view(&options), &how,
                       &made->executable));
    if (made->executable)
      how.outcome = OUTCOME_DISK;
  }
  if (!made->executable) {
    hsc__worker_at(worker, "writing the program for the device");
    HSC_GOTO(hsc__worker_code(worker, program));
    hsc__worker_at(worker, "compiling");
    start = hsc_now_ns();
    hsc_view code = hsc_bytes_view(&program->code);
    hsc_view compile_options = hsc_bytes_view(&options);
    if (worker->topology)
      HSC_GOTO(hsc_topology_compile(worker->topology, code, program->code_format, compile_options,
                                    &made->executable));
    else
      HSC_GOTO(hsc_client_compile(worker->client, code, program->code_format, compile_options,
                                  &made->executable));
    how.compile_ns = hsc_now_ns() - start;
    if (cache & CACHE_DISK)
      keep_on_disk(worker, hsc_bytes_view(&key_text), program->module->name, how.compile_ns,
                   made->executable);
  }
  made->next = worker->executables;
  worker->executables = *out_executable = made;
  made = NULL;
done:
  if (!status) {
    how.usage = hsc__usage_since(&before);
    *out_how = how;
    hsc__worker_at(worker, NULL);
  }
  hsc__worker_executable_destroy(made);
  hsc_bytes_deinit(&options);
  hsc_bytes_deinit(&key_text);
  return status;
}
