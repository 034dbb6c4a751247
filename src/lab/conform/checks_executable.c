// checks_executable.c - compiling, what an executable says of itself, its bytes, topologies.
#include <stdlib.h>

#include "lab/conform/conform_internal.h"

static const char squares[] =
    "module @m { func.func public @main(%a: tensor<4xf32>) -> tensor<4xf32> {\n"
    "  %0 = stablehlo.multiply %a, %a : tensor<4xf32>\n  return %0 : tensor<4xf32>\n} }\n";

static void expect_doubles(hsc_conform *c, PJRT_LoadedExecutable *loaded) {
  hsc__conform_expect_times(
      c, hsc__conform_run_one(c, loaded, loaded ? hsc__conform_some_floats(c) : NULL), 2);
}

// Other checks take UNIMPLEMENTED for "not offered"; a plugin that compiles must compile something.
void hsc__conform_compile_formats(hsc_conform *c, int number) {
  expect_doubles(c, hsc__conform_compile(c, hsc__conform_doubles));
  if (c->client && c->outcome == HSC_CONFORM_NOT_OFFERED)
    c->outcome = HSC_CONFORM_FAIL;
}

// ---- what is refused ----------------------------------------------------------------------------

typedef struct bad_program {
  const char *name, *code, *format, *options;
} bad_program;
static const bad_program bad_programs[] = {
    {"empty", "", "mlir", NULL},
    {"garbage", "what is this", "mlir", NULL},
    {"no-entry", "module @m { }", "mlir", NULL},
    {"types-differ",
     "module @m { func.func public @main(%a: tensor<4xf32>, %b: tensor<3xf32>) -> tensor<4xf32> {\n"
     "  %0 = stablehlo.add %a, %b : tensor<4xf32>\n  return %0 : tensor<4xf32>\n} }\n",
     "mlir", NULL},
    {"unknown-op",
     "module @m { func.func public @main(%a: tensor<4xf32>) -> tensor<4xf32> {\n"
     "  %0 = stablehlo.no_such_operation %a : tensor<4xf32>\n  return %0 : tensor<4xf32>\n} }\n",
     "mlir", NULL},
    {"undefined-value",
     "module @m { func.func public @main() -> tensor<4xf32> {\n  return %nobody : tensor<4xf32>\n} "
     "}\n",
     "mlir", NULL},
    {"cut-bytecode", "ML\xefR\x0d", "mlir", NULL},
    {"unknown-format", hsc__conform_doubles, "no such format", NULL},
    {"garbage-hlo", "\xff\xff\xff\xff", "hlo", NULL},
    {"garbage-options", hsc__conform_doubles, "mlir", "\xff\xff\xff\xff\xff"},
};

int hsc__conform_compile_refuses_count(void) {
  return (int)HSC_COUNT_OF(bad_programs);
}

void hsc__conform_compile_refuses_name(int number, char out_text[64]) {
  snprintf(out_text, 64, "%s", bad_programs[number].name);
}

static PJRT_Program program_of(const char *code, const char *format) {
  return (PJRT_Program){.struct_size = PJRT_Program_STRUCT_SIZE,
                        .code = (char *)code,
                        .code_size = strlen(code),
                        .format = format,
                        .format_size = strlen(format)};
}

static hsc_view options_of(hsc_conform *c, const bad_program *bad) {
  return bad->options ? hsc_view_of(bad->options) : hsc__conform_options_proto(c);
}

void hsc__conform_compile_refuses(hsc_conform *c, int number) {
  const bad_program *bad = &bad_programs[number];
  if (!hsc__conform_client(c))
    return;
  PJRT_Program program = program_of(bad->code, bad->format);
  hsc_view options = options_of(c, bad);
  PJRT_Client_Compile_Args args =
      ARGS_OF(PJRT_Client_Compile, .client = c->client, .program = &program,
              .compile_options = options.data, .compile_options_size = options.size);
  if (REFUSED(c, PJRT_Client_Compile, &args, bad->name))
    expect_doubles(c, hsc__conform_compile(c, hsc__conform_doubles));
}

// ---- facts --------------------------------------------------------------------------------------

int hsc__conform_executable_facts_count(void) {
  return hsc__conform_type_count;
}

void hsc__conform_executable_facts_name(int number, char out_text[64]) {
  snprintf(out_text, 64, "%s", hsc__conform_types[number].text);
}

// A program that gives back its argument of each type, and one f32.
void hsc__conform_executable_facts(hsc_conform *c, int number) {
  const conform_type *type = &hsc__conform_types[number];
  char text[512];
  snprintf(
      text, sizeof text,
      "module @m { func.func public @main(%%a: tensor<2x3x%s>, %%b: tensor<f32>) -> "
      "(tensor<2x3x%s>, tensor<f32>) {\n  return %%a, %%b : tensor<2x3x%s>, tensor<f32>\n} }\n",
      type->mlir, type->mlir, type->mlir);
  PJRT_Executable *executable = hsc__conform_executable_of(c, text);
  if (!executable && c->outcome == HSC_CONFORM_FAIL && type->kind != 'p' && type->bytes != 4)
    c->outcome = HSC_CONFORM_NOT_OFFERED;  // a type that this device does not have
  PJRT_Executable_NumOutputs_Args outputs =
      ARGS_OF(PJRT_Executable_NumOutputs, .executable = executable);
  PJRT_Executable_OutputElementTypes_Args types =
      ARGS_OF(PJRT_Executable_OutputElementTypes, .executable = executable);
  PJRT_Executable_OutputDimensions_Args dims =
      ARGS_OF(PJRT_Executable_OutputDimensions, .executable = executable);
  if (!executable || !OK(c, PJRT_Executable_NumOutputs, &outputs))
    return;
  EXPECT(c, outputs.num_outputs == 2, "it says %zu outputs, there are 2", outputs.num_outputs);
  if (!OK(c, PJRT_Executable_OutputElementTypes, &types) ||
      !OK(c, PJRT_Executable_OutputDimensions, &dims))
    return;
  EXPECT(c,
         types.num_output_types == 2 && types.output_types[0] == type->type &&
             types.output_types[1] == PJRT_Buffer_Type_F32,
         "the types of its outputs are %d and %d",
         types.num_output_types ? (int)types.output_types[0] : -1,
         types.num_output_types > 1 ? (int)types.output_types[1] : -1);
  EXPECT(c,
         dims.num_outputs == 2 && dims.dim_sizes[0] == 2 && dims.dim_sizes[1] == 0 &&
             dims.dims[0] == 2 && dims.dims[1] == 3,
         "the extents of its outputs are not 2, 3 and none");
}

void hsc__conform_executable_cost(hsc_conform *c, int number) {
  PJRT_Executable_GetCostAnalysis_Args args =
      ARGS_OF(PJRT_Executable_GetCostAnalysis,
              .executable = hsc__conform_executable_of(c, hsc__conform_doubles));
  if (!args.executable || !OK(c, PJRT_Executable_GetCostAnalysis, &args))
    return;
  for (size_t i = 0; i < args.num_properties; i++) {
    const PJRT_NamedValue *v = &args.properties[i];
    EXPECT(c, v->name && v->name_size > 0, "property %zu has no name", i);
    EXPECT(c, (unsigned)v->type <= PJRT_NamedValue_kBool, "%.*s has type %d", (int)v->name_size,
           v->name, (int)v->type);
    if (v->name_size == 5 && !memcmp(v->name, "flops", 5) && v->type == PJRT_NamedValue_kFloat)
      EXPECT(c, v->float_value >= 0 && v->float_value < 1e6F,
             "hsc__conform_four additions are %g flops", v->float_value);
  }
}

void hsc__conform_executable_memory(hsc_conform *c, int number) {
  PJRT_Executable_GetCompiledMemoryStats_Args args =
      ARGS_OF(PJRT_Executable_GetCompiledMemoryStats,
              .executable = hsc__conform_executable_of(c, hsc__conform_doubles));
  if (!args.executable || !OK(c, PJRT_Executable_GetCompiledMemoryStats, &args))
    return;
  EXPECT(c, args.argument_size_in_bytes >= 16, "an argument of 16 bytes counts as %lld",
         (long long)args.argument_size_in_bytes);
  EXPECT(c, args.output_size_in_bytes >= 16, "an output of 16 bytes counts as %lld",
         (long long)args.output_size_in_bytes);
  EXPECT(c, args.temp_size_in_bytes >= 0 && args.alias_size_in_bytes >= 0,
         "%lld bytes of temporaries, %lld of aliases", (long long)args.temp_size_in_bytes,
         (long long)args.alias_size_in_bytes);
}

static bool fingerprint(hsc_conform *c, const char *program, char out_text[256]) {
  PJRT_Executable_Fingerprint_Args args =
      ARGS_OF(PJRT_Executable_Fingerprint, .executable = hsc__conform_executable_of(c, program));
  if (!args.executable || !OK(c, PJRT_Executable_Fingerprint, &args))
    return false;
  snprintf(out_text, 256, "%.*s", (int)args.executable_fingerprint_size,
           args.executable_fingerprint);
  return true;
}

void hsc__conform_executable_fingerprint(hsc_conform *c, int number) {
  char first[256];
  char again[256];
  char other[256];
  if (!fingerprint(c, hsc__conform_doubles, first) ||
      !fingerprint(c, hsc__conform_doubles, again) || !fingerprint(c, squares, other))
    return;
  EXPECT(c, *first, "the fingerprint is empty");
  EXPECT(c, !strcmp(first, again), "the same program has fingerprints %.20s and %.20s", first,
         again);
  EXPECT(c, strcmp(first, other) != 0, "two programs have the fingerprint %.20s", first);
}

// The bytes of a program; they live until the process ends. Empty ends the check.
static hsc_view serialized_of(hsc_conform *c, const char *mlir) {
  PJRT_Executable_Serialize_Args args =
      ARGS_OF(PJRT_Executable_Serialize,
              .executable = hsc__conform_executable(c, hsc__conform_compile(c, mlir)));
  if (!args.executable || !OK(c, PJRT_Executable_Serialize, &args))
    return (hsc_view){0};
  if (!args.serialized_bytes || !args.serialized_bytes_size || !args.serialized_executable_deleter)
    hsc__conform_fail(c, "Serialize succeeded and gave %zu bytes%s", args.serialized_bytes_size,
                      args.serialized_executable_deleter ? "" : " without a deleter");
  return (hsc_view){args.serialized_bytes, args.serialized_bytes_size};
}

static hsc_view serialized(hsc_conform *c) {
  return serialized_of(c, hsc__conform_doubles);
}

static PJRT_Executable_DeserializeAndLoad_Args load_of(hsc_conform *c, hsc_view bytes) {
  hsc__conform_name(c, bytes.data, "NULL /* the bytes */");
  return ARGS_OF(PJRT_Executable_DeserializeAndLoad, .client = c->client,
                 .serialized_executable = bytes.data, .serialized_executable_size = bytes.size);
}

void hsc__conform_executable_serialize(hsc_conform *c, int number) {
  hsc_view bytes = serialized(c);
  if (c->outcome != HSC_CONFORM_PASS || !bytes.size)
    return;
  PJRT_Executable_DeserializeAndLoad_Args args = load_of(c, bytes);
  if (OK(c, PJRT_Executable_DeserializeAndLoad, &args))
    expect_doubles(c, args.loaded_executable);
}

// Both are serialized before either is loaded.
void hsc__conform_executable_serialize_two(hsc_conform *c, int number) {
  static const char fourfold[] =
      "module @n { func.func public @main(%a: tensor<4xf32>) -> tensor<4xf32> {\n"
      "  %0 = stablehlo.add %a, %a : tensor<4xf32>\n"
      "  %1 = stablehlo.add %0, %0 : tensor<4xf32>\n  return %1 : tensor<4xf32>\n} }\n";
  hsc_view first = serialized(c);
  hsc_view second = first.size ? serialized_of(c, fourfold) : (hsc_view){0};
  if (c->outcome != HSC_CONFORM_PASS || !second.size)
    return;
  PJRT_Executable_DeserializeAndLoad_Args loaded = load_of(c, second);
  PJRT_Executable_DeserializeAndLoad_Args earlier = load_of(c, first);
  if (!OK(c, PJRT_Executable_DeserializeAndLoad, &loaded) ||
      !OK(c, PJRT_Executable_DeserializeAndLoad, &earlier))
    return;
  PJRT_Buffer *floats = hsc__conform_some_floats(c);
  hsc__conform_expect_times(c, hsc__conform_run_one(c, loaded.loaded_executable, floats), 4);
  if (c->outcome == HSC_CONFORM_PASS)
    hsc__conform_expect_times(c, hsc__conform_run_one(c, earlier.loaded_executable, floats), 2);
}

static const char *const damages[] = {"empty",      "garbage",     "cut-in-half", "cut-by-one",
                                      "first-byte", "middle-byte", "last-byte",   "zeroed"};

int hsc__conform_executable_damaged_count(void) {
  return (int)HSC_COUNT_OF(damages);
}

void hsc__conform_executable_damaged_name(int number, char out_text[64]) {
  snprintf(out_text, 64, "%s", damages[number]);
}

// What a plugin still takes must compute what it did: one byte may be without a meaning.
void hsc__conform_executable_damaged(hsc_conform *c, int number) {
  hsc_view whole = serialized(c);
  if (c->outcome != HSC_CONFORM_PASS || !whole.size)
    return;
  char *copy = hsc_arena_copy(c->arena, whole.data, whole.size);
  hsc_view bytes = {copy, whole.size};
  EXPECT(c, copy, "no memory");
  switch (number) {
    case 0:
      bytes.size = 0;
      break;
    case 1:
      bytes = HSC_VIEW("what is this");
      break;
    case 2:
      bytes.size /= 2;
      break;
    case 3:
      bytes.size--;
      break;
    case 4:
      copy[0] ^= 0x5a;
      break;
    case 5:
      copy[whole.size / 2] ^= 0x5a;
      break;
    case 6:
      copy[whole.size - 1] ^= 0x5a;
      break;
    default:
      memset(copy, 0, whole.size);
  }
  PJRT_Executable_DeserializeAndLoad_Args args = load_of(c, bytes);
  bool called;
  PJRT_Error *error =
      hsc__conform_call(c, HSC_FN_PJRT_Executable_DeserializeAndLoad, &args, &called);
  if (error)
    hsc__conform_error_free(c, error);
  else if (number <= 3 || number == 7)
    hsc__conform_fail(c, "%s bytes were loaded", damages[number]);
  else if (called)
    expect_doubles(c, args.loaded_executable);
}

void hsc__conform_executable_optimized(hsc_conform *c, int number) {
  PJRT_Program program = {.struct_size = PJRT_Program_STRUCT_SIZE};
  hsc__conform_step(c, "PJRT_Program optimized = {.struct_size = sizeof optimized};");
  hsc__conform_name(c, &program, "&optimized");
  PJRT_Executable_OptimizedProgram_Args args = ARGS_OF(
      PJRT_Executable_OptimizedProgram,
      .executable = hsc__conform_executable_of(c, hsc__conform_doubles), .program = &program);
  if (!args.executable || !OK(c, PJRT_Executable_OptimizedProgram, &args))
    return;
  EXPECT(c, program.code_size > 0, "its size is 0");
  EXPECT(c, program.format_size > 0, "its format has no name");
  size_t size = program.code_size;
  program.code = hsc_arena_alloc(c->arena, size + 16);
  EXPECT(c, program.code, "no memory");
  memset(program.code + size, 0x5a, 16);
  if (!OK(c, PJRT_Executable_OptimizedProgram, &args))
    return;
  for (int i = 0; i < 16; i++)
    EXPECT(c, program.code[size + (size_t)i] == 0x5a,
           "it wrote past the %zu bytes that it asked for", size);
}

void hsc__conform_executable_options(hsc_conform *c, int number) {
  PJRT_Executable_GetCompileOptions_Args args =
      ARGS_OF(PJRT_Executable_GetCompileOptions,
              .executable = hsc__conform_executable_of(c, hsc__conform_doubles));
  if (!args.executable || !OK(c, PJRT_Executable_GetCompileOptions, &args))
    return;
  EXPECT(c, args.serialized_bytes && args.serialized_bytes_size > 0, "there are no bytes");
  EXPECT(c, args.serialized_compile_options_deleter, "there is no deleter");
  args.serialized_compile_options_deleter(args.serialized_compile_options);
}

void hsc__conform_executable_assignment(hsc_conform *c, int number) {
  PJRT_LoadedExecutable *loaded = hsc__conform_compile(c, hsc__conform_doubles);
  PJRT_LoadedExecutable_AddressableDevices_Args devices =
      ARGS_OF(PJRT_LoadedExecutable_AddressableDevices, .executable = loaded);
  PJRT_LoadedExecutable_GetDeviceAssignment_Args args =
      ARGS_OF(PJRT_LoadedExecutable_GetDeviceAssignment, .executable = loaded);
  if (!loaded || !OK(c, PJRT_LoadedExecutable_AddressableDevices, &devices))
    return;
  EXPECT(c, devices.num_addressable_devices == 1, "a program for one device runs on %zu",
         devices.num_addressable_devices);
  if (!OK(c, PJRT_LoadedExecutable_GetDeviceAssignment, &args))
    return;
  EXPECT(c, args.serialized_bytes && args.serialized_device_assignment_deleter,
         "there are no bytes, or no deleter");
  args.serialized_device_assignment_deleter(args.serialized_device_assignment);
}

void hsc__conform_executable_outlived(hsc_conform *c, int number) {
  PJRT_LoadedExecutable *loaded = hsc__conform_compile(c, hsc__conform_doubles);
  PJRT_Buffer *in =
      loaded ? hsc__conform_upload(c, PJRT_Buffer_Type_F32, hsc__conform_four, 1,
                                   hsc__conform_one_to_four, sizeof hsc__conform_one_to_four)
             : NULL;
  PJRT_Buffer *output = NULL;
  PJRT_LoadedExecutable_Destroy_Args destroy =
      ARGS_OF(PJRT_LoadedExecutable_Destroy, .executable = loaded);
  if (!in || !hsc__conform_execute(c, loaded, &in, 1, &output, 1) ||
      !OK(c, PJRT_LoadedExecutable_Destroy, &destroy))
    return;
  hsc__conform_buffer_free(c, in);
  float out[4] = {0};
  if (hsc__conform_download(c, output, 1, out, sizeof out))
    EXPECT(c, out[0] == 2 && out[3] == 8, "the output became %g .. %g", out[0], out[3]);
}

void hsc__conform_executable_delete(hsc_conform *c, int number) {
  PJRT_LoadedExecutable *loaded = hsc__conform_compile(c, hsc__conform_doubles);
  PJRT_LoadedExecutable_Delete_Args args =
      ARGS_OF(PJRT_LoadedExecutable_Delete, .executable = loaded);
  PJRT_LoadedExecutable_IsDeleted_Args is =
      ARGS_OF(PJRT_LoadedExecutable_IsDeleted, .executable = loaded);
  if (!loaded || !OK(c, PJRT_LoadedExecutable_Delete, &args) ||
      !OK(c, PJRT_LoadedExecutable_IsDeleted, &is))
    return;
  EXPECT(c, is.is_deleted, "IsDeleted says no after Delete");
  PJRT_Buffer *in = hsc__conform_upload(c, PJRT_Buffer_Type_F32, hsc__conform_four, 1,
                                        hsc__conform_one_to_four, sizeof hsc__conform_one_to_four);
  if (!in)
    return;
  PJRT_ExecuteOptions options = {.struct_size = PJRT_ExecuteOptions_STRUCT_SIZE};
  PJRT_Buffer *const *lists[1] = {&in};
  PJRT_Buffer *outputs[1] = {NULL};
  PJRT_Buffer **const output_lists[1] = {outputs};
  PJRT_LoadedExecutable_Execute_Args run = ARGS_OF(
      PJRT_LoadedExecutable_Execute, .executable = loaded, .options = &options,
      .argument_lists = lists, .num_devices = 1, .num_args = 1, .output_lists = output_lists);
  REFUSED(c, PJRT_LoadedExecutable_Execute, &run, "a deleted executable");
}

// ---- topologies ---------------------------------------------------------------------------------

void hsc__conform_topology_client(hsc_conform *c, int number) {
  size_t count = hsc__conform_device_count(c);
  PJRT_TopologyDescription *of = c->outcome == HSC_CONFORM_PASS ? hsc__conform_topology(c) : NULL;
  PJRT_TopologyDescription_GetDeviceDescriptions_Args args =
      ARGS_OF(PJRT_TopologyDescription_GetDeviceDescriptions, .topology = of);
  if (of && OK(c, PJRT_TopologyDescription_GetDeviceDescriptions, &args))
    EXPECT(c, args.num_descriptions >= count, "the topology has %zu devices, the client %zu",
           args.num_descriptions, count);
}

void hsc__conform_topology_facts(hsc_conform *c, int number) {
  PJRT_TopologyDescription *of = hsc__conform_topology(c);
  PJRT_TopologyDescription_PlatformName_Args name =
      ARGS_OF(PJRT_TopologyDescription_PlatformName, .topology = of);
  PJRT_TopologyDescription_PlatformVersion_Args version =
      ARGS_OF(PJRT_TopologyDescription_PlatformVersion, .topology = of);
  PJRT_TopologyDescription_GetDeviceDescriptions_Args devices =
      ARGS_OF(PJRT_TopologyDescription_GetDeviceDescriptions, .topology = of);
  if (!of || !OK(c, PJRT_TopologyDescription_PlatformName, &name) ||
      !OK(c, PJRT_TopologyDescription_PlatformVersion, &version) ||
      !OK(c, PJRT_TopologyDescription_GetDeviceDescriptions, &devices))
    return;
  EXPECT(c, name.platform_name_size > 0, "its platform has no name");
  EXPECT(c, devices.num_descriptions > 0, "it has no devices");
  for (size_t i = 0; i < devices.num_descriptions; i++) {
    PJRT_DeviceDescription_Kind_Args kind =
        ARGS_OF(PJRT_DeviceDescription_Kind, .device_description = devices.descriptions[i]);
    if (!OK(c, PJRT_DeviceDescription_Kind, &kind))
      return;
    EXPECT(c, kind.device_kind_size > 0, "device %zu has no kind", i);
  }
}

void hsc__conform_topology_serialize(hsc_conform *c, int number) {
  PJRT_TopologyDescription_Serialize_Args args =
      ARGS_OF(PJRT_TopologyDescription_Serialize, .topology = hsc__conform_topology(c));
  if (!args.topology || !OK(c, PJRT_TopologyDescription_Serialize, &args))
    return;
  EXPECT(c, args.serialized_bytes && args.serialized_bytes_size > 0, "there are no bytes");
  EXPECT(c, args.serialized_topology_deleter, "there is no deleter");
  args.serialized_topology_deleter(args.serialized_topology);
}

void hsc__conform_topology_compile(hsc_conform *c, int number) {
  PJRT_Program program = program_of(hsc__conform_doubles, "mlir");
  hsc_view options = hsc__conform_options_proto(c);
  PJRT_Compile_Args args = ARGS_OF(PJRT_Compile, .topology = hsc__conform_topology(c),
                                   .program = &program, .compile_options = options.data,
                                   .compile_options_size = options.size, .client = c->client);
  if (!args.topology || !OK(c, PJRT_Compile, &args))
    return;
  PJRT_Executable_NumOutputs_Args outputs =
      ARGS_OF(PJRT_Executable_NumOutputs, .executable = args.executable);
  if (OK(c, PJRT_Executable_NumOutputs, &outputs))
    EXPECT(c, outputs.num_outputs == 1, "it says %zu outputs, there is 1", outputs.num_outputs);
}

int hsc__conform_topology_refuses_count(void) {
  return (int)HSC_COUNT_OF(bad_programs);
}

void hsc__conform_topology_refuses_name(int number, char out_text[64]) {
  hsc__conform_compile_refuses_name(number, out_text);
}

void hsc__conform_topology_refuses(hsc_conform *c, int number) {
  const bad_program *bad = &bad_programs[number];
  PJRT_Program program = program_of(bad->code, bad->format);
  hsc_view options = options_of(c, bad);
  PJRT_Compile_Args args = ARGS_OF(PJRT_Compile, .topology = hsc__conform_topology(c),
                                   .program = &program, .compile_options = options.data,
                                   .compile_options_size = options.size, .client = c->client);
  if (args.topology)
    REFUSED(c, PJRT_Compile, &args, bad->name);
}
