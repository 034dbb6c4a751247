// worker_describe.c - what is known about a compiled program, and what one compile with its own
// options leaves behind.
#include "base/files/file_io.h"
#include "hlo/cost/least_work.h"
#include "worker/worker_counts.h"
#include "worker/worker_internal.h"

#include "worker/device_code.h"

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
  for (int i = 0; i < program->output_count; i++)
    write_shape(answer, hsc_shape_leaf(&entry->root->shape, i));
  hsc_json_end_array(answer);
}

// Instructions and fusions after the compiler's passes; null when the plugin does not give its
// program in a form that we read. With `to`, the program goes there as the plugin gave it.
static hsc_status *count_optimized(hsc_executable *executable,
                                   const char *to,
                                   hsc_json *answer,
                                   hsc_answer_code *out_code) {
  hsc_bytes code = {0};
  const char *format = NULL;
  hsc_module *module = NULL;
  out_code->instructions = -1;
  out_code->fusions = -1;
  hsc_status *status = hsc_executable_optimized_program(executable, &code, &format);
  hsc_status *kept = NULL;
  if (!status && to) {
    kept = hsc_file_write_atomic(to, code.data, code.size);
    hsc_json_kv_string(answer, "optimized", to);
    hsc_json_kv_string(answer, "optimized_format", format);
  }
  if (!status)
    status = hsc_program_read(hsc_bytes_view(&code), NULL, &module);
  // compilers break rules of HLO for themselves (a pad of bf16 with f32 on TPU): counting needs no
  // verifier
  if (status && code.size) {
    hsc_status_free(status);
    status = hsc_hlo_proto_read(hsc_bytes_view(&code), NULL, &module);
  }
  if (!status) {
    out_code->instructions = hsc_module_instr_count(module);
    out_code->fusions = 0;
    HSC_FOR_EACH_COMPUTATION (module, computation)
      HSC_FOR_EACH_INSTR_IN (computation, instr)
        out_code->fusions += instr->op == HSC_OP_FUSION;
    if (!kept)
      kept = hsc_write_module_count(answer, "compiled", module, true);
    hsc_module_destroy(module);
  }
  hsc_status_free(status);
  hsc_bytes_deinit(&code);
  return kept;
}

// What the device says; where it says nothing (many plugins leave cost analysis out), what our cost
// model counts before optimisation.
static void count_cost(worker_program *program,
                       hsc_executable *executable,
                       hsc_json *answer,
                       hsc_answer_code *out_code) {
  const hsc_named_value *values = NULL;
  size_t count = 0;
  hsc_status *status = hsc_executable_cost_analysis(executable, &values, &count);
  const hsc_named_value *flops = status ? NULL : hsc_named_value_find(values, count, "flops");
  const hsc_named_value *bytes =
      status ? NULL : hsc_named_value_find(values, count, "bytes accessed");
  // XLA counts fewer than no operations for a reduction of nothing: that is no count
  bool from_device = flops && bytes && flops->type == PJRT_NamedValue_kFloat &&
                     bytes->type == PJRT_NamedValue_kFloat && flops->real >= 0;
  hsc_cost cost = {0};
  if (!from_device)
    hsc_module_cost(program->module, &cost);
  out_code->flops = from_device ? flops->real : cost.flops;
  out_code->bytes = from_device ? bytes->real : cost.bytes_read + cost.bytes_written;
  out_code->cost_from = from_device ? "device" : "cost model, before optimisation";
  const hsc_named_value *functions =
      status ? NULL : hsc_named_value_find(values, count, "transcendentals");
  if (from_device) {
    hsc_json_key(answer, "own");
    hsc_json_begin_object(answer);
    hsc_json_kv_double(answer, "flops", flops->real);
    hsc_json_kv_double(answer, "bytes", bytes->real);
    if (functions && functions->type == PJRT_NamedValue_kFloat)
      hsc_json_kv_double(answer, "transcendentals", functions->real);
    hsc_json_end_object(answer);
  }
  hsc_status_free(status);
}

// Machine code in the serialised executable; -1 = none that is known.
static int64_t counted_code(hsc_executable *executable) {
  hsc_bytes bytes = {0};
  int64_t code_bytes = -1;
  hsc_status *status = hsc_executable_serialize(executable, &bytes);
  if (status || !hsc_device_code_bytes(hsc_bytes_view(&bytes), &code_bytes))
    code_bytes = -1;
  hsc_status_free(status);
  hsc_bytes_deinit(&bytes);
  return code_bytes;
}

// The code's size, temporaries and peak into `code`; all that the plugin says as "memory".
static void write_memory(hsc_executable *executable, hsc_json *answer, hsc_answer_code *code) {
  hsc_compiled_memory m = {-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1};
  hsc_status *status = hsc_executable_memory(executable, &m);
  hsc_status_free(status);
  const hsc_answer_memory memory = {.code_bytes = m.code,
                                    .argument_bytes = m.arguments,
                                    .output_bytes = m.outputs,
                                    .alias_bytes = m.aliases,
                                    .temp_bytes = m.temporaries,
                                    .peak_bytes = m.peak,
                                    .total_bytes = m.total};
  hsc_json_key(answer, "memory");
  hsc_answer_write(answer, &hsc_answer_memory_layout, &memory);
  code->temp_bytes = m.temporaries;
  code->peak_bytes = m.peak;
  code->code_bytes = -1;
  status = hsc_executable_code_bytes(executable, &code->code_bytes);
  if (status)
    code->code_bytes = m.code;
  hsc_status_free(status);
  // no program has none: the plugin does not count it
  if (code->code_bytes == 0)
    code->code_bytes = counted_code(executable);
}

// Size and cost of what was compiled. With `optimized_to`, the program goes there as the plugin
// gave it.
static hsc_status *write_code(worker_program *program,
                              hsc_executable *executable,
                              const char *optimized_to,
                              hsc_json *answer) {
  hsc_answer_code code = {0};
  HSC_TRY(count_optimized(executable, optimized_to, answer, &code));
  count_cost(program, executable, answer, &code);
  write_memory(executable, answer, &code);
  hsc_answer_write_members(answer, &hsc_answer_code_layout, &code);
  return NULL;
}

hsc_status *hsc__job_describe(hsc_worker *worker, json_t *request, hsc_json *answer) {
  worker_program *program = NULL;
  worker_executable *executable = NULL;
  worker_compile how;
  int cache = 0;
  HSC_TRY(hsc__worker_need_compiler(worker));
  const char *optimized_to = NULL;
  HSC_TRY(hsc__request_cache(worker, request, &cache));
  HSC_TRY(hsc__request_text(request, "optimized_to", false, &optimized_to));
  HSC_TRY(hsc__worker_program(worker, request, &program));
  hsc__write_spread(&program->spread, answer);
  HSC_TRY(hsc__worker_compile(worker, program, request, cache, &executable, &how));
  hsc_json_kv_string(answer, "name", program->module->name);
  hsc_json_kv_string(answer, "fingerprint", program->fingerprint);
  hsc_json_kv_int(answer, "program_instructions", hsc_module_instr_count(program->module));
  write_parameters(program, answer);
  // the program of several partitions is looked into; others are only counted
  if (program->spread.partition_count * program->spread.replica_count < 2)
    optimized_to = NULL;
  HSC_TRY(write_code(program, executable->executable, optimized_to, answer));
  HSC_TRY(hsc_write_module_count(answer, "text", program->module, false));
  double least = 0;
  HSC_TRY(hsc_module_least_flops(program->module, &least));
  hsc_json_kv_double(answer, "least_flops", least);
  hsc_json_kv_string(answer, "compile", hsc__outcome_text(how.outcome));
  hsc_json_kv_int(answer, "lookup_ns", how.lookup_ns);
  hsc_json_kv_int(answer, "compile_ns", how.compile_ns);
  hsc__write_program_times(program, answer);
  return NULL;
}

// ---- compile: one compile with its own options, and all that it left behind ---------------------

// Text where the plugin gives text, else hexadecimal digits.
static void write_fingerprint(hsc_executable *executable, hsc_json *answer) {
  hsc_view fingerprint = {0};
  hsc_status *status = hsc_executable_fingerprint(executable, &fingerprint);
  hsc_bytes text = {0};
  bool printable = true;
  for (size_t i = 0; i < fingerprint.size; i++)
    printable &=
        (unsigned char)fingerprint.data[i] > ' ' && (unsigned char)fingerprint.data[i] < 127;
  for (size_t i = 0; i < fingerprint.size; i++)
    hsc_bytes_printf(&text, printable ? "%c" : "%02x", (unsigned char)fingerprint.data[i]);
  hsc_json_kv_string(answer, "executable_fingerprint",
                     !status && fingerprint.size ? hsc_bytes_text(&text) : NULL);
  hsc_status_free(status);
  hsc_bytes_deinit(&text);
}

// Every property of the cost analysis that is a number; empty where the plugin has none.
static void write_cost_properties(hsc_executable *executable, hsc_json *answer) {
  const hsc_named_value *values = NULL;
  size_t count = 0;
  hsc_status *status = hsc_executable_cost_analysis(executable, &values, &count);
  hsc_json_key(answer, "cost");
  hsc_json_begin_object(answer);
  for (size_t i = 0; !status && i < count; i++) {
    if (values[i].type == PJRT_NamedValue_kFloat)
      hsc_json_kv_double(answer, values[i].name, values[i].real);
    if (values[i].type == PJRT_NamedValue_kInt64)
      hsc_json_kv_int(answer, values[i].name, values[i].integer);
  }
  hsc_json_end_object(answer);
  hsc_status_free(status);
}

static hsc_status *stop_profile(hsc_profiler *profiler, const char *to, hsc_json *answer) {
  hsc_bytes xspace = {0};
  hsc_status *status = hsc_profiler_stop(profiler);
  if (!status)
    status = hsc_profiler_collect(profiler, &xspace);
  if (!status)
    status = hsc_file_write_atomic(to, xspace.data, xspace.size);
  if (!status)
    hsc_json_kv_string(answer, "xspace", to);
  hsc_bytes_deinit(&xspace);
  return status;
}

hsc_status *hsc__job_compile(hsc_worker *worker, json_t *request, hsc_json *answer) {
  // tensorflow.ProfileOptions: version 5 = 1, host_tracer_level 2 = 3, device_tracer_level 4 = 1
  static const char profile_options[] = {0x28, 1, 0x10, 3, 0x20, 1};
  worker_program *program = NULL;
  worker_executable *executable = NULL;
  worker_compile how;
  hsc_usage before;
  hsc_usage used;
  hsc_profiler *profiler = NULL;
  const char *optimized_to = NULL;
  const char *xspace_to = NULL;
  const char *serialized_to = NULL;
  HSC_TRY(hsc__worker_need_compiler(worker));
  HSC_TRY(hsc__request_text(request, "optimized_to", false, &optimized_to));
  HSC_TRY(hsc__request_text(request, "xspace_to", false, &xspace_to));
  HSC_TRY(hsc__request_text(request, "serialized_to", false, &serialized_to));
  HSC_TRY(hsc__worker_program(worker, request, &program));
  hsc_status *status = NULL;
  if (xspace_to) {
    hsc__worker_at(worker, "starting the profiler");
    HSC_TRY(hsc_profiler_create(worker->plugin, (hsc_view){profile_options, sizeof profile_options},
                                &profiler));
    HSC_GOTO(hsc_profiler_start(profiler));
  }
  hsc_usage_get(&before);
  HSC_GOTO(hsc__worker_compile(worker, program, request, 0, &executable, &how));
  used = hsc__usage_since(&before);
  worker->executables = executable->next;  // nobody asks for it again: it ends with this job
  hsc__worker_at(worker, "reading what the compiler made");
  if (profiler)
    HSC_GOTO(stop_profile(profiler, xspace_to, answer));
  hsc_json_kv_string(answer, "name", program->module->name);
  hsc_json_kv_string(answer, "fingerprint", program->fingerprint);
  hsc_json_kv_int(answer, "program_instructions", hsc_module_instr_count(program->module));
  hsc_json_kv_int(answer, "compile_ns", how.compile_ns);
  hsc_json_kv_int(answer, "compile_processor_ns", used.user_ns + used.system_ns);
  hsc__write_program_times(program, answer);
  write_fingerprint(executable->executable, answer);
  HSC_GOTO(write_code(program, executable->executable, optimized_to, answer));
  write_cost_properties(executable->executable, answer);
  if (serialized_to) {
    hsc_bytes bytes = {0};
    status = hsc_executable_serialize(executable->executable, &bytes);
    if (!status)
      status = hsc_file_write_atomic(serialized_to, bytes.data, bytes.size);
    if (!status)
      hsc_json_kv_int(answer, "serialized_bytes", (int64_t)bytes.size);
    hsc_bytes_deinit(&bytes);
    HSC_GOTO(status);
  }
  hsc__worker_at(worker, NULL);
done:
  hsc_profiler_destroy(profiler);
  if (executable)
    hsc__worker_executable_destroy(executable);
  return status;
}

// ---- write --------------------------------------------------------------------------------------

static void write_free(hsc_json *answer, const char *key, const int64_t *list, int count) {
  hsc_json_key(answer, key);
  hsc_json_begin_array(answer);
  for (int i = 0; i < count; i++)
    hsc_json_bool(answer, list[i] != 0);
  hsc_json_end_array(answer);
}

// Workers in other languages get their programs here, so that every device runs the same one.
hsc_status *hsc__job_write(hsc_worker *worker, json_t *request, hsc_json *answer) {
  worker_program *program = NULL;
  const char *to = NULL;
  hsc_bytes text = {0};
  HSC_TRY(hsc__request_text(request, "to", true, &to));
  HSC_TRY(hsc__worker_program(worker, request, &program));
  hsc__worker_at(worker, "writing the program");
  int64_t start = hsc_now_ns();
  bool is_spread = program->spread.partition_count * program->spread.replica_count > 1;
  hsc_format format = HSC_FORMAT_COUNT;
  bool is_mlir = program->code.size > 0 &&
                 hsc_format_detect(hsc_bytes_view(&program->code), program->key, &format) &&
                 (format == HSC_FORMAT_MLIR_TEXT || format == HSC_FORMAT_MLIR_BYTECODE);
  // HLO has no place for Shardy's meshes: what a compiler is to partition goes out as it is
  hsc_status *status = NULL;
  if (is_spread && is_mlir)
    hsc_bytes_append(&text, program->code.data, program->code.size);
  else
    status = hsc_program_write(program->module, HSC_FORMAT_HLO_TEXT, &text);
  if (!status)
    status = hsc_bytes_status(&text);
  if (!status)
    status = hsc_file_write_atomic(to, text.data, text.size);
  hsc_bytes_deinit(&text);
  HSC_TRY(status);
  hsc__worker_at(worker, NULL);
  const hsc_answer_reading times = {.read_ns = program->read_ns,
                                    .parse_ns = program->parse_ns,
                                    .transform_ns = program->transform_ns,
                                    .write_ns = hsc_now_ns() - start};
  hsc_answer_write_members(answer, &hsc_answer_reading_layout, &times);
  hsc_json_kv_string(answer, "name", program->module->name);
  hsc_json_kv_string(answer, "fingerprint", program->fingerprint);
  hsc_json_kv_int(answer, "program_instructions", hsc_module_instr_count(program->module));
  hsc__write_spread(&program->spread, answer);
  hsc_json_kv_bool(answer, "shardy", program->spread.is_shardy);
  write_free(answer, "free_parameters", program->spread.free_parameters,
             program->spread.free_parameter_count);
  write_free(answer, "free_results", program->spread.free_results,
             program->spread.free_result_count);
  write_parameters(program, answer);
  return hsc_write_module_count(answer, "text", program->module, false);
}
