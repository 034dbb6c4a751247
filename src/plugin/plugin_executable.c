// plugin_executable.c - descriptions of compiled programs, and compiling ahead of time.
#include "base/wire/wire.h"
#include "plugin/plugin_internal.h"

#include "formats/common/formats.h"

// Bytes that a host holds until it calls the deleter.
typedef struct held_bytes {
  hsc_bytes bytes;
} held_bytes;

static void delete_held(held_bytes *held) {
  hsc_bytes_deinit(&held->bytes);
  hsc_free(held);
}

HSC_ENTRY(PJRT_Executable_Destroy) {
  HSC_CHECK_ARGS(PJRT_Executable_Destroy, executable);
  if (!args->executable)
    return NULL;
  hsc__program_release(args->executable->program);
  hsc_free(args->executable);
  return NULL;
}

HSC_ENTRY(PJRT_Executable_Name) {
  HSC_CHECK_ARGS(PJRT_Executable_Name, executable_name_size);
  args->executable_name = hsc_cpu_executable_name(args->executable->program->executable);
  args->executable_name_size = strlen(args->executable_name);
  return NULL;
}

HSC_ENTRY(PJRT_Executable_NumReplicas) {
  HSC_CHECK_ARGS(PJRT_Executable_NumReplicas, num_replicas);
  args->num_replicas = (size_t)args->executable->program->replica_count;
  return NULL;
}

HSC_ENTRY(PJRT_Executable_NumPartitions) {
  HSC_CHECK_ARGS(PJRT_Executable_NumPartitions, num_partitions);
  args->num_partitions = (size_t)args->executable->program->partition_count;
  return NULL;
}

HSC_ENTRY(PJRT_Executable_NumOutputs) {
  HSC_CHECK_ARGS(PJRT_Executable_NumOutputs, num_outputs);
  args->num_outputs = (size_t)args->executable->program->output_count;
  return NULL;
}

HSC_ENTRY(PJRT_Executable_SizeOfGeneratedCodeInBytes) {
  HSC_CHECK_ARGS(PJRT_Executable_SizeOfGeneratedCodeInBytes, size_in_bytes);
  args->size_in_bytes = hsc_cpu_executable_stats(args->executable->program->executable)->code_bytes;
  return NULL;
}

HSC_ENTRY(PJRT_Executable_Fingerprint) {
  HSC_CHECK_ARGS(PJRT_Executable_Fingerprint, executable_fingerprint_size);
  args->executable_fingerprint = args->executable->program->fingerprint;
  args->executable_fingerprint_size = 32;
  return NULL;
}

HSC_ENTRY(PJRT_Executable_GetCostAnalysis) {
  HSC_CHECK_ARGS(PJRT_Executable_GetCostAnalysis, properties);
  args->num_properties = args->executable->program->cost_count;
  args->properties = args->executable->program->costs;
  return NULL;
}

// Old hosts give a shorter struct: no byte after it is written.
HSC_ENTRY(PJRT_Executable_GetCompiledMemoryStats) {
  HSC_CHECK_ARGS(PJRT_Executable_GetCompiledMemoryStats, temp_size_in_bytes);
  const hsc_cpu_stats *stats = hsc_cpu_executable_stats(args->executable->program->executable);
  args->generated_code_size_in_bytes = stats->code_bytes;
  args->argument_size_in_bytes = stats->argument_bytes;
  args->output_size_in_bytes = stats->output_bytes;
  args->alias_size_in_bytes = stats->alias_bytes;
  args->temp_size_in_bytes = stats->temp_bytes;
  if (HSC_ARGS_HAVE(PJRT_Executable_GetCompiledMemoryStats, host_temp_size_in_bytes)) {
    args->host_generated_code_size_in_bytes = args->host_argument_size_in_bytes =
        args->host_output_size_in_bytes = 0;
    args->host_alias_size_in_bytes = args->host_temp_size_in_bytes = 0;
  }
  int64_t total =
      stats->argument_bytes + stats->output_bytes + stats->temp_bytes - stats->alias_bytes;
  if (HSC_ARGS_HAVE(PJRT_Executable_GetCompiledMemoryStats, peak_memory_in_bytes))
    args->peak_memory_in_bytes = stats->peak_bytes;
  if (HSC_ARGS_HAVE(PJRT_Executable_GetCompiledMemoryStats, total_size_in_bytes))
    args->total_size_in_bytes = total;
  if (HSC_ARGS_HAVE(PJRT_Executable_GetCompiledMemoryStats, peak_unpadded_heap_bytes)) {
    args->total_allocation_bytes = total + stats->constant_bytes;
    args->indefinite_allocations = 0;
    args->peak_unpadded_heap_bytes = stats->temp_bytes;
  }
  return NULL;
}

HSC_ENTRY(PJRT_Executable_OutputElementTypes) {
  HSC_CHECK_ARGS(PJRT_Executable_OutputElementTypes, num_output_types);
  args->output_types = (PJRT_Buffer_Type *)args->executable->program->output_types;
  args->num_output_types = (size_t)args->executable->program->output_count;
  return NULL;
}

HSC_ENTRY(PJRT_Executable_OutputDimensions) {
  HSC_CHECK_ARGS(PJRT_Executable_OutputDimensions, dim_sizes);
  args->num_outputs = (size_t)args->executable->program->output_count;
  args->dims = args->executable->program->output_dims;
  args->dim_sizes = args->executable->program->output_ranks;
  return NULL;
}

HSC_ENTRY(PJRT_Executable_OutputMemoryKinds) {
  HSC_CHECK_ARGS(PJRT_Executable_OutputMemoryKinds, memory_kind_sizes);
  args->num_outputs = (size_t)args->executable->program->output_count;
  args->memory_kinds = args->executable->program->kinds;
  args->memory_kind_sizes = args->executable->program->kind_sizes;
  return NULL;
}

HSC_ENTRY(PJRT_Executable_ParameterMemoryKinds) {
  HSC_CHECK_ARGS(PJRT_Executable_ParameterMemoryKinds, memory_kind_sizes);
  args->num_parameters = (size_t)args->executable->program->input_count;
  args->memory_kinds = args->executable->program->kinds;
  args->memory_kind_sizes = args->executable->program->kind_sizes;
  return NULL;
}

static void delete_options(PJRT_SerializedCompileOptions *options) {}  // they are the program's

HSC_ENTRY(PJRT_Executable_GetCompileOptions) {
  HSC_CHECK_ARGS(PJRT_Executable_GetCompileOptions, serialized_compile_options_deleter);
  args->serialized_bytes = args->executable->program->options;
  args->serialized_bytes_size = args->executable->program->options_size;
  args->serialized_compile_options = (PJRT_SerializedCompileOptions *)args->executable->program;
  args->serialized_compile_options_deleter = delete_options;
  return NULL;
}

static void delete_executable_bytes(PJRT_SerializedExecutable *serialized) {
  delete_held((held_bytes *)serialized);
}

HSC_ENTRY(PJRT_Executable_Serialize) {
  HSC_CHECK_ARGS(PJRT_Executable_Serialize, serialized_executable_deleter);
  held_bytes *held = hsc_alloc(sizeof *held);
  if (!held)
    return hsc__error_of(hsc_status_out_of_memory());
  hsc_status *status = hsc__program_serialize(args->executable->program, &held->bytes);
  if (status) {
    delete_held(held);
    return hsc__error_of(status);
  }
  args->serialized_bytes = held->bytes.data;
  args->serialized_bytes_size = held->bytes.size;
  args->serialized_executable = (PJRT_SerializedExecutable *)held;
  args->serialized_executable_deleter = delete_executable_bytes;
  return NULL;
}

// ---- the optimized program ----------------------------------------------------------------------
// Hosts want HloModuleProtoWithConfig { hlo_module 1, config 2 { entry_computation_layout 1,
// replica_count 4, num_partitions 5 } }, where the layout is the ProgramShapeProto that the module
// proto has as host_program_shape (field 4); without it PyTorch/XLA ends the process.

// The bytes of a length-delimited field of our own proto; empty when it is not there.
static hsc_view find_field(hsc_view message, unsigned number) {
  hsc_wire in = hsc_wire_of(message);
  for (hsc_wire_field f; hsc_wire_next(&in, &f);)
    if (f.number == number && f.type == HSC_WIRE_BYTES)
      return f.bytes;
  return (hsc_view){0};
}

// HloModuleProto.spmd_parameters_shardings (14) and spmd_output_sharding (12): hosts read from them
// how the whole arrays are cut.
static void put_shardings(const hsc__program *program, hsc_bytes *module) {
  for (const char *line = program->shardings, *end; *line; line = end + 1) {
    end = line + strcspn(line, "\n");
    if (!*end)
      return;
    hsc_hlo_sharding_write((hsc_view){line, (size_t)(end - line)}, module, end[1] ? 14 : 12);
  }
}

static hsc_status *write_optimized(const hsc__program *program, hsc_bytes *out_bytes) {
  hsc_bytes module = {0};
  hsc_bytes config = {0};
  hsc_status *status = hsc_program_write(hsc_cpu_executable_module(program->executable),
                                         HSC_FORMAT_HLO_PROTO, &module);
  if (!status) {
    hsc_view shape = find_field(hsc_bytes_view(&module), 4);
    hsc_wire_put_bytes(&config, 1, shape.data, shape.size);
    hsc_wire_put_varint(&config, 4, (uint64_t)program->replica_count);
    hsc_wire_put_varint(&config, 5, (uint64_t)program->partition_count);
    put_shardings(program, &module);
    hsc_wire_put_bytes(out_bytes, 1, module.data, module.size);
    hsc_wire_put_bytes(out_bytes, 2, config.data, config.size);
    if (module.failed || config.failed)
      out_bytes->failed = true;
    status = hsc_bytes_status(out_bytes);
  }
  hsc_bytes_deinit(&module);
  hsc_bytes_deinit(&config);
  return status;
}

HSC_ENTRY(PJRT_Executable_OptimizedProgram) {
  HSC_CHECK_ARGS(PJRT_Executable_OptimizedProgram, program);
  PJRT_Program *out = args->program;
  hsc_bytes bytes = {0};
  static const char format[] = "hlo_with_config";
  if (!out)
    return hsc__error_of(
        HSC_ERR(INVALID_ARGUMENT, "PJRT_Executable_OptimizedProgram: args->program is NULL"));
  if (out->struct_size < HSC_PJRT_SIZE_TO(PJRT_Program, format_size))
    return hsc__error_struct_size("PJRT_Program", out->struct_size,
                                  HSC_PJRT_SIZE_TO(PJRT_Program, format_size));
  hsc_status *status = write_optimized(args->executable->program, &bytes);
  if (!status && out->code && out->code_size < bytes.size)
    status = HSC_ERR(INVALID_ARGUMENT,
                     "PJRT_Executable_OptimizedProgram: room for %zu bytes, %zu are needed",
                     out->code_size, bytes.size);
  if (!status) {
    if (out->code && bytes.size)
      memcpy(out->code, bytes.data, bytes.size);
    out->code_size = bytes.size;
    out->format = format;
    out->format_size = sizeof format - 1;
  }
  hsc_bytes_deinit(&bytes);
  return hsc__error_of(status);
}

// ---- ahead of time ------------------------------------------------------------------------------

// The device that compiles for a topology: the client's when there is one, else one of its own,
// made at the first compile.
static hsc_status *compiler_of(PJRT_TopologyDescription *topology,
                               PJRT_Client *client,
                               hsc_cpu_device **out_device) {
  hsc_status *status = NULL;
  if (client) {
    *out_device = client->device;
    return NULL;
  }
  pthread_mutex_lock(&topology->lock);
  if (!topology->compiler) {
    hsc_cpu_device_options options = {.thread_count = 1};
    status = hsc_cpu_device_create(&options, &topology->compiler);
  }
  *out_device = topology->compiler;
  pthread_mutex_unlock(&topology->lock);
  return status;
}

HSC_ENTRY(PJRT_Compile) {
  HSC_CHECK_ARGS(PJRT_Compile, executable);
  HSC_PJRT_TRY(hsc__check_program(args->program));
  PJRT_TopologyDescription *topology = (PJRT_TopologyDescription *)args->topology;
  hsc_cpu_device *device = NULL;
  HSC_PJRT_TRY(compiler_of(topology, args->client, &device));
  PJRT_Executable *executable = hsc_alloc(sizeof *executable);
  if (!executable)
    return hsc__error_of(hsc_status_out_of_memory());
  hsc_status *status = hsc__program_compile(
      device, args->program, (hsc_view){args->compile_options, args->compile_options_size},
      topology->device_count, &executable->program);
  if (status) {
    hsc_free(executable);
    return hsc__error_of(status);
  }
  if (!args->client && !topology->of_client) {
    atomic_fetch_add(&topology->references, 1);  // its compiler must live as long as the executable
    executable->program->topology = topology;
  }
  args->executable = executable;
  return NULL;
}

// Through the serialized form: the executable was made by another device.
static hsc_status *load(PJRT_Client *client,
                        const hsc__program *program,
                        hsc_view options,
                        PJRT_LoadedExecutable **out_loaded) {
  hsc_bytes bytes = {0};
  hsc__program *loaded = NULL;
  hsc_status *status = hsc__program_serialize(program, &bytes);
  if (!status)
    status = hsc__program_load(client->device, hsc_bytes_view(&bytes), options,
                               client->device_count, &loaded);
  if (!status)
    status = hsc__loaded_create(client, loaded, out_loaded);
  hsc_bytes_deinit(&bytes);
  return status;
}

HSC_ENTRY(PJRT_Client_Load) {
  HSC_CHECK_ARGS(PJRT_Client_Load, loaded_executable);
  hsc_view options = {args->compile_options,
                      args->compile_options ? args->compile_options_size : 0};
  return hsc__error_of(
      load(args->client, args->executable->program, options, &args->loaded_executable));
}
