// worker_compile.c - compiled programs of a worker: looked up in memory, then on disk, then compiled; and what is known
// about one.
#include <stdlib.h>

#include "lab/compile_cache.h"
#include "lab/worker_internal.h"

const char *hsc__outcome_text(worker_outcome outcome) {
  static const char *const text[] = {"miss", "memory", "disk"};
  return text[outcome];
}

hsc_status *hsc__request_cache(const hsc_worker *worker, json_t *request, int *out_cache) {
  json_t *list = json_object_get(request, "cache"), *item;
  int cache = list ? 0 : CACHE_MEMORY | CACHE_DISK;
  if (list && !json_is_array(list)) return HSC_ERR(INVALID_ARGUMENT, "\"cache\" is not an array");
  size_t i;
  json_array_foreach (list, i, item) {
    const char *text = json_is_string(item) ? json_string_value(item) : "";
    if (!strcmp(text, "memory"))
      cache |= CACHE_MEMORY;
    else if (!strcmp(text, "disk"))
      cache |= CACHE_DISK;
    else
      return HSC_ERR(INVALID_ARGUMENT, "\"cache\" holds something that is neither \"memory\" nor \"disk\"");
  }
  if (!worker->cache_dir) cache &= ~CACHE_DISK;
  *out_cache = cache;
  return NULL;
}

// "overrides": {"xla_disable_hlo_passes": "a,b", "xla_flag": true, ...}
hsc_status *hsc__request_options(json_t *request, hsc_bytes *out_options) {
  json_t *overrides = json_object_get(request, "overrides"), *value;
  if (overrides && !json_is_object(overrides)) return HSC_ERR(INVALID_ARGUMENT, "\"overrides\" is not an object");
  size_t count = json_object_size(overrides), i = 0;
  hsc_override *list = hsc_alloc((count + 1) * sizeof(*list));
  if (!list) return hsc_status_out_of_memory();
  hsc_status *status = NULL;
  const char *name;
  json_object_foreach (overrides, name, value) {
    hsc_override *o = &list[i++];
    o->name = name;
    if (json_is_string(value))
      o->type = HSC_OVERRIDE_TEXT, o->text = json_string_value(value);
    else if (json_is_boolean(value))
      o->type = HSC_OVERRIDE_BOOL, o->boolean = json_boolean_value(value);
    else if (json_is_integer(value))
      o->type = HSC_OVERRIDE_INT, o->integer = json_integer_value(value);
    else if (json_is_real(value))
      o->type = HSC_OVERRIDE_DOUBLE, o->real = json_real_value(value);
    else
      HSC_GOTO(HSC_ERR(INVALID_ARGUMENT, "override \"%s\" is neither text, number, true nor false", name));
  }
  hsc_compile_options options = hsc_compile_options_default();
  options.overrides = list;
  options.override_count = count;
  HSC_GOTO(hsc_compile_options_write(&options, out_options));
done:
  hsc_free(list);
  return status;
}

void hsc__worker_executable_destroy(worker_executable *executable) {
  if (!executable) return;
  hsc_execution_destroy(executable->execution);
  for (int i = 0; executable->inputs && i < executable->input_count; i++) hsc_buffer_destroy(executable->inputs[i]);
  hsc_free(executable->inputs);
  hsc_executable_destroy(executable->executable);
  hsc_free(executable->key);
  hsc_free(executable);
}

static hsc_status *from_disk(hsc_worker *worker, const char *name, hsc_view key_text, hsc_view options,
                             worker_compile *how, hsc_executable **out) {
  hsc_bytes payload = {0};
  bool found = false;
  worker->step = "loading from the compile cache";
  int64_t start = hsc_now_ns();
  hsc_status *status = hsc_compile_cache_get(worker->cache_dir, name, key_text, &payload, &found);
  int64_t read = hsc_now_ns();
  how->disk_ns = read - start;
  if (!status && found) {
    status = hsc_client_load(worker->client, hsc_bytes_view(&payload), options, out);
    how->load_ns = hsc_now_ns() - read;
    if (status) {  // made by something that this plugin does not take any more: compile again
      hsc_log("worker", 1, "cache entry %s was refused: %s", name, hsc_status_message(status));
      hsc_status_free(status);
      status = NULL;
    }
  }
  hsc_bytes_deinit(&payload);
  return status;
}

static void keep_on_disk(hsc_worker *worker, const char *name, hsc_view key_text, hsc_executable *executable) {
  hsc_bytes payload = {0};
  hsc_status *status = hsc_executable_serialize(executable, &payload);
  if (!status) status = hsc_compile_cache_put(worker->cache_dir, name, key_text, hsc_bytes_view(&payload));
  if (status)
    hsc_log("worker", 1, "not kept in the compile cache: %s",
            hsc_status_message(status));  // a cache that cannot be written costs time, not results
  hsc_status_free(status);
  hsc_bytes_deinit(&payload);
}

hsc_status *hsc__worker_compile(hsc_worker *worker, worker_program *program, json_t *request, int cache,
                                worker_executable **out_executable, worker_compile *out_how) {
  worker_compile how = {.outcome = OUTCOME_MISS};
  hsc_bytes options = {0}, key_text = {0};
  char name[33];
  worker_executable *made = NULL;
  hsc_usage before;
  hsc_usage_get(&before);
  hsc_status *status = NULL;
  worker->step = "compiling";

  int64_t start = hsc_now_ns();
  HSC_GOTO(hsc__request_options(request, &options));
  hsc_compile_key key = {program->fingerprint, hsc_bytes_view(&options), worker->plugin_path,
                         hsc_client_platform_version(worker->client), hsc_plugin_minor(worker->plugin)};
  hsc_bytes memory_key = {0};
  hsc_bytes_append_text(&memory_key, program->fingerprint);
  hsc_bytes_append(&memory_key, options.data, options.size);
  hsc_hash128_hex(hsc_hash128_of(memory_key.data, memory_key.size, 0), name);
  hsc_bytes_deinit(&memory_key);
  worker_executable *found = NULL;
  for (worker_executable *e = worker->executables; e && (cache & CACHE_MEMORY) && !found; e = e->next)
    if (!strcmp(e->key, name)) found = e;
  how.lookup_ns = hsc_now_ns() - start;
  if (found) {
    how.outcome = OUTCOME_MEMORY;
    *out_executable = found;
    goto done;
  }

  made = hsc_alloc(sizeof(*made));
  if (!made || !(made->key = hsc_strdup(name))) HSC_GOTO(hsc_status_out_of_memory());
  if (cache & CACHE_DISK) {
    HSC_GOTO(hsc_compile_key_text(&key, &key_text, name));
    HSC_GOTO(from_disk(worker, name, hsc_bytes_view(&key_text), hsc_bytes_view(&options), &how, &made->executable));
    if (made->executable) how.outcome = OUTCOME_DISK;
  }
  if (!made->executable) {
    worker->step = "writing the program for the device";
    HSC_GOTO(hsc__worker_code(worker, program));
    worker->step = "compiling";
    start = hsc_now_ns();
    HSC_GOTO(hsc_client_compile(worker->client, hsc_bytes_view(&program->code), program->code_format,
                                hsc_bytes_view(&options), &made->executable));
    how.compile_ns = hsc_now_ns() - start;
    if (cache & CACHE_DISK) keep_on_disk(worker, name, hsc_bytes_view(&key_text), made->executable);
  }
  made->next = worker->executables;
  worker->executables = *out_executable = made;
  made = NULL;
done:
  if (!status) {
    how.usage = hsc__usage_since(&before);
    *out_how = how;
    worker->step = NULL;
  }
  hsc__worker_executable_destroy(made);
  hsc_bytes_deinit(&options);
  hsc_bytes_deinit(&key_text);
  return status;
}

// ---- describe -------------------------------------------------------------------------------------------------------

static void write_shape(hsc_json *answer, const hsc_shape *shape) {
  hsc_bytes text = {0};
  hsc_shape_print(shape, false, &text);
  hsc_json_string(answer, hsc_bytes_text(&text));
  hsc_bytes_deinit(&text);
}

static void write_parameters(worker_program *program, hsc_json *answer) {
  hsc_computation *entry = program->module->entry;
  hsc_json_key(answer, "inputs");
  hsc_json_begin_array(answer);
  for (int p = 0; p < entry->parameter_count; p++) {
    hsc_json_begin_object(answer);
    hsc_json_kv_string(answer, "name", entry->parameters[p]->name);
    hsc_json_key(answer, "shape");
    write_shape(answer, &entry->parameters[p]->shape);
    hsc_json_kv_int(answer, "bytes", hsc_shape_bytes(&entry->parameters[p]->shape));
    hsc_json_end_object(answer);
  }
  hsc_json_end_array(answer);
  hsc_json_key(answer, "outputs");
  hsc_json_begin_array(answer);
  for (int i = 0; i < program->output_count; i++) write_shape(answer, hsc_shape_leaf(&entry->root->shape, i));
  hsc_json_end_array(answer);
}

static void write_count_or_null(hsc_json *answer, const char *key, int64_t value) {
  hsc_json_key(answer, key);
  if (value < 0)
    hsc_json_null(answer);
  else
    hsc_json_int(answer, value);
}

// Instructions and fusions after the compiler's passes; null when the plugin does not give its program in a form that
// we read.
static void write_optimized(hsc_executable *executable, hsc_json *answer) {
  hsc_bytes code = {0};
  const char *format = NULL;
  hsc_module *module = NULL;
  int64_t instructions = -1, fusions = -1;
  hsc_status *status = hsc_executable_optimized_program(executable, &code, &format);
  if (!status) status = hsc_program_read(hsc_bytes_view(&code), NULL, &module);
  if (!status) {
    instructions = hsc_module_instr_count(module);
    fusions = 0;
    HSC_FOR_EACH_COMPUTATION (module, computation)
      HSC_FOR_EACH_INSTR_IN (computation, instr) fusions += instr->op == HSC_OP_FUSION;
    hsc_module_destroy(module);
  }
  hsc_status_free(status);
  hsc_bytes_deinit(&code);
  write_count_or_null(answer, "instructions", instructions);
  write_count_or_null(answer, "fusions", fusions);
}

// What the device says; where it says nothing (many plugins leave cost analysis out), what our cost model counts before
// optimisation.
static void write_cost(worker_program *program, hsc_executable *executable, hsc_json *answer) {
  const hsc_named_value *values = NULL;
  size_t count = 0;
  hsc_status *status = hsc_executable_cost_analysis(executable, &values, &count);
  const hsc_named_value *flops = status ? NULL : hsc_named_value_find(values, count, "flops");
  const hsc_named_value *bytes = status ? NULL : hsc_named_value_find(values, count, "bytes accessed");
  bool from_device = flops && bytes && flops->type == PJRT_NamedValue_kFloat && bytes->type == PJRT_NamedValue_kFloat;
  hsc_cost cost = {0};
  if (!from_device) hsc_module_cost(program->module, &cost);
  hsc_json_kv_double(answer, "flops", from_device ? flops->real : cost.flops);
  hsc_json_kv_double(answer, "bytes", from_device ? bytes->real : cost.bytes_read + cost.bytes_written);
  hsc_json_kv_string(answer, "cost_from", from_device ? "device" : "cost model, before optimisation");
  hsc_status_free(status);
}

static void write_memory(hsc_executable *executable, hsc_json *answer) {
  hsc_compiled_memory memory = {.code = -1, .temporaries = -1, .peak = -1};
  hsc_status *status = hsc_executable_memory(executable, &memory);
  hsc_status_free(status);
  int64_t code_bytes = -1;
  status = hsc_executable_code_bytes(executable, &code_bytes);
  if (status) code_bytes = memory.code;
  hsc_status_free(status);
  write_count_or_null(answer, "code_bytes", code_bytes);
  write_count_or_null(answer, "temp_bytes", memory.temporaries);
  write_count_or_null(answer, "peak_bytes", memory.peak);
}

hsc_status *hsc__job_describe(hsc_worker *worker, json_t *request, hsc_json *answer) {
  worker_program *program = NULL;
  worker_executable *executable = NULL;
  worker_compile how;
  int cache = 0;
  HSC_TRY(hsc__worker_need_client(worker));
  HSC_TRY(hsc__request_cache(worker, request, &cache));
  HSC_TRY(hsc__worker_program(worker, request, &program));
  HSC_TRY(hsc__worker_compile(worker, program, request, cache, &executable, &how));
  hsc_json_kv_string(answer, "name", program->module->name);
  hsc_json_kv_string(answer, "fingerprint", program->fingerprint);
  hsc_json_kv_int(answer, "program_instructions", hsc_module_instr_count(program->module));
  write_parameters(program, answer);
  write_optimized(executable->executable, answer);
  write_cost(program, executable->executable, answer);
  write_memory(executable->executable, answer);
  return NULL;
}

// Workers in other languages get their programs here, so that every device runs the same one.
hsc_status *hsc__job_write(hsc_worker *worker, json_t *request, hsc_json *answer) {
  worker_program *program = NULL;
  const char *to = NULL;
  hsc_bytes text = {0};
  HSC_TRY(hsc__request_text(request, "to", true, &to));
  HSC_TRY(hsc__worker_program(worker, request, &program));
  worker->step = "writing the program";
  int64_t start = hsc_now_ns();
  hsc_status *status = hsc_program_write(program->module, HSC_FORMAT_HLO_TEXT, &text);
  if (!status) status = hsc_file_write_atomic(to, text.data, text.size);
  hsc_bytes_deinit(&text);
  HSC_TRY(status);
  worker->step = NULL;
  hsc_json_kv_int(answer, "read_ns", program->read_ns);
  hsc_json_kv_int(answer, "parse_ns", program->parse_ns);
  hsc_json_kv_int(answer, "transform_ns", program->transform_ns);
  hsc_json_kv_int(answer, "write_ns", hsc_now_ns() - start);
  hsc_json_kv_string(answer, "name", program->module->name);
  hsc_json_kv_string(answer, "fingerprint", program->fingerprint);
  hsc_json_kv_int(answer, "program_instructions", hsc_module_instr_count(program->module));
  write_parameters(program, answer);
  return NULL;
}
