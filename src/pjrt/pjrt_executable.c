// pjrt_executable.c - compiling, loading, and all that a plugin tells about a compiled program.
//
// PJRT knows two objects: a PJRT_LoadedExecutable can run, a PJRT_Executable describes a program.
// Of a program that was compiled for a device that is not here there is only the second; of a
// loaded one the second is asked for, and is an object of its own that must be destroyed too. What
// a plugin tells is its claim: counts are compared with each other before memory is read by them.
#include "pjrt/pjrt_internal.h"

static void drop_loaded(hsc_plugin *plugin, PJRT_LoadedExecutable *loaded) {
  if (!loaded)
    return;
  PJRT_LoadedExecutable_Destroy_Args args =
      HSC_PJRT_ARGS(PJRT_LoadedExecutable_Destroy, .executable = loaded);
  hsc__pjrt_ignore(HSC_PJRT_CALL(plugin, PJRT_LoadedExecutable_Destroy, &args));
}

static void drop_executable(hsc_plugin *plugin, PJRT_Executable *executable) {
  if (!executable)
    return;
  PJRT_Executable_Destroy_Args args =
      HSC_PJRT_ARGS(PJRT_Executable_Destroy, .executable = executable);
  hsc__pjrt_ignore(HSC_PJRT_CALL(plugin, PJRT_Executable_Destroy, &args));
}

void hsc_executable_destroy(hsc_executable *executable) {
  if (!executable)
    return;
  drop_executable(executable->plugin, executable->executable);
  drop_loaded(executable->plugin, executable->loaded);
  hsc_arena_destroy(executable->arena);
  hsc_free(executable);
}

// What every plugin must know of a program. The name is copied: it lives as long as the plugin's
// object only.
static hsc_status *read_basics(hsc_executable *executable) {
  hsc_plugin *plugin = executable->plugin;
  PJRT_Executable_Name_Args name =
      HSC_PJRT_ARGS(PJRT_Executable_Name, .executable = executable->executable);
  HSC_TRY(HSC_PJRT_CALL(plugin, PJRT_Executable_Name, &name));
  executable->name =
      hsc_arena_strndup(executable->arena, name.executable_name ? name.executable_name : "",
                        name.executable_name_size);
  PJRT_Executable_NumOutputs_Args outputs =
      HSC_PJRT_ARGS(PJRT_Executable_NumOutputs, .executable = executable->executable);
  HSC_TRY(HSC_PJRT_CALL(plugin, PJRT_Executable_NumOutputs, &outputs));
  executable->output_count = outputs.num_outputs;
  PJRT_Executable_NumReplicas_Args replicas =
      HSC_PJRT_ARGS(PJRT_Executable_NumReplicas, .executable = executable->executable);
  HSC_TRY(HSC_PJRT_CALL(plugin, PJRT_Executable_NumReplicas, &replicas));
  executable->replica_count = replicas.num_replicas;
  PJRT_Executable_NumPartitions_Args partitions =
      HSC_PJRT_ARGS(PJRT_Executable_NumPartitions, .executable = executable->executable);
  HSC_TRY(HSC_PJRT_CALL(plugin, PJRT_Executable_NumPartitions, &partitions));
  executable->partition_count = partitions.num_partitions;
  return hsc_arena_status(executable->arena);
}

hsc_status *hsc__executable_wrap(hsc_plugin *plugin,
                                 hsc_client *client,
                                 PJRT_LoadedExecutable *loaded,
                                 PJRT_Executable *executable,
                                 hsc_executable **out_executable) {
  hsc_status *status = NULL;
  hsc_executable *wrapped = hsc_alloc(sizeof *wrapped);
  if (!wrapped) {
    drop_executable(plugin, executable);
    drop_loaded(plugin, loaded);
    return hsc_status_out_of_memory();
  }
  *wrapped = (hsc_executable){
      .plugin = plugin, .client = client, .loaded = loaded, .executable = executable};
  HSC_GOTO(hsc_arena_create(&wrapped->arena));
  if (loaded) {
    PJRT_LoadedExecutable_GetExecutable_Args args =
        HSC_PJRT_ARGS(PJRT_LoadedExecutable_GetExecutable, .loaded_executable = loaded);
    HSC_GOTO(HSC_PJRT_CALL(plugin, PJRT_LoadedExecutable_GetExecutable, &args));
    wrapped->executable = args.executable;
  }
  HSC_GOTO(read_basics(wrapped));
  *out_executable = wrapped;
  return NULL;
done:
  hsc_executable_destroy(wrapped);
  return status;
}

hsc_status *hsc_client_compile(hsc_client *client,
                               hsc_view code,
                               const char *format,
                               hsc_view compile_options,
                               hsc_executable **out_executable) {
  *out_executable = NULL;
  PJRT_Program program = {.struct_size = PJRT_Program_STRUCT_SIZE,
                          .code = (char *)code.data,
                          .code_size = code.size,
                          .format = format,
                          .format_size = strlen(format)};
  PJRT_Client_Compile_Args args = HSC_PJRT_ARGS(
      PJRT_Client_Compile, .client = client->client, .program = &program,
      .compile_options = compile_options.data, .compile_options_size = compile_options.size);
  HSC_TRY(HSC_PJRT_CALL(client->plugin, PJRT_Client_Compile, &args));
  return hsc__executable_wrap(client->plugin, client, args.executable, NULL, out_executable);
}

hsc_status *hsc_client_load(hsc_client *client,
                            hsc_view serialized,
                            hsc_view compile_options,
                            hsc_executable **out_executable) {
  *out_executable = NULL;
  PJRT_Executable_DeserializeAndLoad_Args args = HSC_PJRT_ARGS(
      PJRT_Executable_DeserializeAndLoad, .client = client->client,
      .serialized_executable = serialized.data, .serialized_executable_size = serialized.size,
      .overridden_serialized_compile_options = compile_options.size ? compile_options.data : NULL,
      .overridden_serialized_compile_options_size = compile_options.size);
  HSC_TRY(HSC_PJRT_CALL(client->plugin, PJRT_Executable_DeserializeAndLoad, &args));
  return hsc__executable_wrap(client->plugin, client, args.loaded_executable, NULL, out_executable);
}

// ---- facts --------------------------------------------------------------------------------------

bool hsc_executable_is_loaded(const hsc_executable *executable) {
  return executable->loaded != NULL;
}
const char *hsc_executable_name(const hsc_executable *executable) {
  return executable->name;
}
size_t hsc_executable_output_count(const hsc_executable *executable) {
  return executable->output_count;
}

hsc_status *hsc_executable_outputs(hsc_executable *executable, const hsc_array_spec **out_specs) {
  *out_specs = executable->outputs;
  if (executable->outputs)
    return NULL;
  PJRT_Executable_OutputElementTypes_Args types =
      HSC_PJRT_ARGS(PJRT_Executable_OutputElementTypes, .executable = executable->executable);
  HSC_TRY(HSC_PJRT_CALL(executable->plugin, PJRT_Executable_OutputElementTypes, &types));
  PJRT_Executable_OutputDimensions_Args dims =
      HSC_PJRT_ARGS(PJRT_Executable_OutputDimensions, .executable = executable->executable);
  HSC_TRY(HSC_PJRT_CALL(executable->plugin, PJRT_Executable_OutputDimensions, &dims));
  if (types.num_output_types != executable->output_count ||
      dims.num_outputs != executable->output_count)
    return HSC_ERR(INTERNAL, "%s: %s has %zu outputs, but types for %zu and dimensions for %zu",
                   executable->plugin->name, executable->name, executable->output_count,
                   types.num_output_types, dims.num_outputs);
  hsc_array_spec *specs = HSC_NEW_ARRAY(executable->arena, hsc_array_spec,
                                        executable->output_count ? executable->output_count : 1);
  if (!specs)
    return hsc_status_out_of_memory();
  const int64_t *next = dims.dims;
  for (size_t i = 0; i < executable->output_count; i++) {
    size_t rank = dims.dim_sizes[i];
    if (rank > 1 << 16)
      return HSC_ERR(INTERNAL, "%s: output %zu of %s claims rank %zu", executable->plugin->name, i,
                     executable->name, rank);
    specs[i] = (hsc_array_spec){
        types.output_types[i], (int)rank,
        rank ? hsc_arena_copy(executable->arena, next, rank * sizeof *next) : NULL};
    next += rank;
  }
  HSC_TRY(hsc_arena_status(executable->arena));
  *out_specs = executable->outputs = specs;
  return NULL;
}

hsc_status *hsc_executable_fingerprint(hsc_executable *executable, hsc_view *out_fingerprint) {
  *out_fingerprint = (hsc_view){0};
  if (hsc_plugin_has(executable->plugin, HSC_FN_PJRT_Executable_Fingerprint) ||
      !executable->loaded) {
    PJRT_Executable_Fingerprint_Args args =
        HSC_PJRT_ARGS(PJRT_Executable_Fingerprint, .executable = executable->executable);
    HSC_TRY(HSC_PJRT_CALL(executable->plugin, PJRT_Executable_Fingerprint, &args));
    *out_fingerprint = (hsc_view){args.executable_fingerprint, args.executable_fingerprint_size};
  } else {
    PJRT_LoadedExecutable_Fingerprint_Args args =
        HSC_PJRT_ARGS(PJRT_LoadedExecutable_Fingerprint, .executable = executable->loaded);
    HSC_TRY(HSC_PJRT_CALL(executable->plugin, PJRT_LoadedExecutable_Fingerprint, &args));
    *out_fingerprint = (hsc_view){args.executable_fingerprint, args.executable_fingerprint_size};
  }
  return NULL;
}

// PJRT's way with buffers of unknown size: the first call, without a buffer, tells the size, the
// second one fills it.
hsc_status *hsc_executable_optimized_program(hsc_executable *executable,
                                             hsc_bytes *out_code,
                                             const char **out_format) {
  PJRT_Program program = {.struct_size = PJRT_Program_STRUCT_SIZE};
  PJRT_Executable_OptimizedProgram_Args args = HSC_PJRT_ARGS(
      PJRT_Executable_OptimizedProgram, .executable = executable->executable, .program = &program);
  HSC_TRY(HSC_PJRT_CALL(executable->plugin, PJRT_Executable_OptimizedProgram, &args));
  size_t before = out_code->size;
  program.code = hsc_bytes_extend(out_code, program.code_size);
  if (!program.code)
    return hsc_status_out_of_memory();
  hsc_status *status = HSC_PJRT_CALL(executable->plugin, PJRT_Executable_OptimizedProgram, &args);
  if (status) {
    out_code->size = before;
    return status;
  }
  *out_format = hsc_arena_strndup(executable->arena, program.format ? program.format : "",
                                  program.format_size);
  return hsc_arena_status(executable->arena);
}

hsc_status *hsc_executable_cost_analysis(hsc_executable *executable,
                                         const hsc_named_value **out_values,
                                         size_t *out_count) {
  if (!executable->costs_read) {
    PJRT_Executable_GetCostAnalysis_Args args =
        HSC_PJRT_ARGS(PJRT_Executable_GetCostAnalysis, .executable = executable->executable);
    HSC_TRY(HSC_PJRT_CALL(executable->plugin, PJRT_Executable_GetCostAnalysis, &args));
    HSC_TRY(hsc__values_copy(executable->arena, args.properties, args.num_properties,
                             &executable->costs));
    executable->cost_count = executable->costs ? args.num_properties : 0;
    executable->costs_read = true;
  }
  *out_values = executable->costs;
  *out_count = executable->cost_count;
  return NULL;
}

hsc_status *hsc_executable_memory(hsc_executable *executable, hsc_compiled_memory *out_memory) {
  // Preset: a plugin of an older version leaves the later fields alone.
  PJRT_Executable_GetCompiledMemoryStats_Args args = HSC_PJRT_ARGS(
      PJRT_Executable_GetCompiledMemoryStats, .executable = executable->executable,
      .generated_code_size_in_bytes = -1, .argument_size_in_bytes = -1, .output_size_in_bytes = -1,
      .alias_size_in_bytes = -1, .temp_size_in_bytes = -1, .host_generated_code_size_in_bytes = -1,
      .host_argument_size_in_bytes = -1, .host_output_size_in_bytes = -1,
      .host_alias_size_in_bytes = -1, .host_temp_size_in_bytes = -1, .peak_memory_in_bytes = -1,
      .total_size_in_bytes = -1);
  HSC_TRY(HSC_PJRT_CALL(executable->plugin, PJRT_Executable_GetCompiledMemoryStats, &args));
  *out_memory = (hsc_compiled_memory){
      args.generated_code_size_in_bytes, args.argument_size_in_bytes,
      args.output_size_in_bytes,         args.alias_size_in_bytes,
      args.temp_size_in_bytes,           args.host_generated_code_size_in_bytes,
      args.host_argument_size_in_bytes,  args.host_output_size_in_bytes,
      args.host_alias_size_in_bytes,     args.host_temp_size_in_bytes,
      args.peak_memory_in_bytes,         args.total_size_in_bytes,
  };
  return NULL;
}

hsc_status *hsc_executable_code_bytes(hsc_executable *executable, int64_t *out_bytes) {
  PJRT_Executable_SizeOfGeneratedCodeInBytes_Args args = HSC_PJRT_ARGS(
      PJRT_Executable_SizeOfGeneratedCodeInBytes, .executable = executable->executable);
  HSC_TRY(HSC_PJRT_CALL(executable->plugin, PJRT_Executable_SizeOfGeneratedCodeInBytes, &args));
  *out_bytes = args.size_in_bytes;
  return NULL;
}

hsc_status *hsc_executable_serialize(hsc_executable *executable, hsc_bytes *out_bytes) {
  PJRT_Executable_Serialize_Args args =
      HSC_PJRT_ARGS(PJRT_Executable_Serialize, .executable = executable->executable);
  HSC_TRY(HSC_PJRT_CALL(executable->plugin, PJRT_Executable_Serialize, &args));
  hsc_bytes_append(out_bytes, args.serialized_bytes, args.serialized_bytes_size);
  if (args.serialized_executable_deleter)
    args.serialized_executable_deleter(args.serialized_executable);
  return hsc_bytes_status(out_bytes);
}
