// checks_table.c - the table, its extensions, struct sizes of all functions, and every function
// that only answers.
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lab/conform/conform_internal.h"

// ---- slots --------------------------------------------------------------------------------------

int hsc__conform_table_slot_count(void) {
  return HSC_PJRT_FUNCTION_COUNT;
}

void hsc__conform_table_slot_name(int number, char out_text[64]) {
  snprintf(out_text, 64, "%s", hsc_pjrt_function_get((hsc_pjrt_function)number)->name);
}

void hsc__conform_table_slot(hsc_conform *c, int number) {
  const hsc_pjrt_function_info *info = hsc_pjrt_function_get((hsc_pjrt_function)number);
  int minor = c->api->pjrt_api_version.minor_version;
  if (minor < info->minor) {
    hsc__conform_absent(c, "came with version 0.%d, the plugin is 0.%d", info->minor, minor);
    return;
  }
  EXPECT(c, c->api->struct_size >= info->offset + sizeof(void *),
         "version 0.%d has %s, and the table of %zu bytes ends before it", minor, info->name,
         c->api->struct_size);
  if (!hsc__conform_has(c, (hsc_pjrt_function)number)) {
    if (info->required)
      FAIL(c, "the slot of %s is NULL: hosts call it without a look", info->name);
    hsc__conform_absent(c, "the slot of %s is NULL", info->name);
  }
}

void hsc__conform_table_same(hsc_conform *c, int number) {
  Dl_info info;
  void *slot;
  memcpy(&slot, (const char *)c->api + hsc_pjrt_function_get(HSC_FN_PJRT_Error_Destroy)->offset,
         sizeof slot);
  EXPECT(c, dladdr(slot, &info) && info.dli_fname, "PJRT_Error_Destroy lies in no library");
  void *library = dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD);
  void *symbol = library ? dlsym(library, "GetPjrtApi") : NULL;
  if (!symbol) {
    hsc__conform_absent(c, "GetPjrtApi is in another library than the functions");
    return;
  }
  GetPjrtApi_Fn *get;
  memcpy(&get, &symbol, sizeof get);
  EXPECT(c, get() == c->api && get() == c->api, "a second call gives another table");
}

void hsc__conform_table_version(hsc_conform *c, int number) {
  const PJRT_Api_Version *version = &c->api->pjrt_api_version;
  EXPECT(c, version->major_version == 0, "the major version is %d", version->major_version);
  EXPECT(c, version->minor_version > 0, "the minor version is %d", version->minor_version);
  EXPECT(c, version->struct_size >= PJRT_Api_Version_STRUCT_SIZE,
         "the version's struct_size is %zu", version->struct_size);
}

// Types that the header names, all of which have a function or a pointer behind the common part.
static bool is_known_extension(PJRT_Extension_Type type) {
  return (unsigned)type <= PJRT_Extension_Type_XlaTransform &&
         type != PJRT_Extension_Type_Example && type != PJRT_Extension_Type_Unknown;
}

void hsc__conform_table_extensions(hsc_conform *c, int number) {
  enum { MOST = CONFORM_EXTENSIONS_MAX };
  bool seen[MOST] = {false};
  int count = 0;
  for (const PJRT_Extension_Base *at = c->api->extension_start; at; at = at->next) {
    EXPECT(c, ++count <= MOST, "the list does not end within %d extensions", MOST);
    EXPECT(c, count == 1 || at != c->api->extension_start,
           "the list goes in a circle after extension %d", count - 1);
    EXPECT(c, at->struct_size >= sizeof(size_t) + sizeof(int),
           "extension %d has a struct_size of %zu", count, at->struct_size);
    EXPECT(c, at->struct_size > PJRT_Extension_Base_STRUCT_SIZE || !is_known_extension(at->type),
           "extension %d is of type %d, and its struct_size of %zu ends before what that type has",
           count, (int)at->type, at->struct_size);
    if ((unsigned)at->type >= MOST || at->type == PJRT_Extension_Type_Unknown)
      continue;
    EXPECT(c, !seen[at->type], "type %d is there twice", (int)at->type);
    seen[at->type] = true;
  }
}

static void look_at_values(hsc_conform *c, const PJRT_NamedValue *values, size_t count) {
  for (size_t i = 0; i < count; i++) {
    const PJRT_NamedValue *v = &values[i];
    EXPECT(c, v->name && v->name_size > 0, "value %zu has no name", i);
    EXPECT(c, (unsigned)v->type <= PJRT_NamedValue_kBool, "%.*s has type %d", (int)v->name_size,
           v->name, (int)v->type);
    if (v->type == PJRT_NamedValue_kString || v->type == PJRT_NamedValue_kInt64List)
      EXPECT(c, v->value_size == 0 || v->string_value, "%.*s has a size and no value",
             (int)v->name_size, v->name);
  }
}

void hsc__conform_table_attributes(hsc_conform *c, int number) {
  PJRT_Plugin_Attributes_Args first = ARGS_OF(PJRT_Plugin_Attributes, .num_attributes = 0);
  PJRT_Plugin_Attributes_Args second = first;
  if (!OK(c, PJRT_Plugin_Attributes, &first) || !OK(c, PJRT_Plugin_Attributes, &second))
    return;
  EXPECT(c, first.num_attributes == second.num_attributes,
         "the first call gives %zu attributes, the second %zu", first.num_attributes,
         second.num_attributes);
  EXPECT(c, first.num_attributes == 0 || first.attributes, "%zu attributes at NULL",
         first.num_attributes);
  look_at_values(c, first.attributes, first.num_attributes);
}

// ---- struct sizes of all functions --------------------------------------------------------------

typedef struct sized {
  hsc_pjrt_function function;
  size_t bytes;
} sized;
// Every function that returns an error.
static const sized sizes[] = {
#define ARGS(function, last, ...) {HSC_FN_##function, function##_Args_STRUCT_SIZE},
#define VOID_ARGS(function, last, ...)
#include "pjrt/abi_args.def"
#undef ARGS
#undef VOID_ARGS
};

int hsc__conform_short_struct_count(void) {
  return (int)HSC_COUNT_OF(sizes);
}

void hsc__conform_short_struct_name(int number, char out_text[64]) {
  snprintf(out_text, 64, "%s", hsc_pjrt_function_get(sizes[number].function)->name);
}

// The struct lies at the end of a page that nothing follows, so that whoever reads past
// struct_size meets the check's end.
void hsc__conform_short_struct(hsc_conform *c, int number) {
  size_t page = (size_t)sysconf(_SC_PAGESIZE);
  char *pages = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  EXPECT(c, pages != MAP_FAILED && !mprotect(pages + page, page, PROT_NONE), "no memory");
  size_t struct_size = sizeof struct_size;
  void *args = pages + page - sizeof struct_size;
  memcpy(args, &struct_size, sizeof struct_size);
  hsc__conform_refused(c, sizes[number].function, args, "a struct_size of 8");
  munmap(pages, 2 * page);
}

// ---- functions that only answer -----------------------------------------------------------------

typedef enum object {
  ON_CLIENT,
  ON_DEVICE,
  ON_DESCRIPTION,
  ON_MEMORY,
  ON_EXECUTABLE,
  ON_LOADED,
  ON_BUFFER
} object;
typedef struct getter {
  hsc_pjrt_function function;
  object object;
  size_t bytes;
} getter;
#define GETTER(function, object) {HSC_FN_##function, object, function##_Args_STRUCT_SIZE}
static const getter getters[] = {
    GETTER(PJRT_Client_PlatformName, ON_CLIENT),
    GETTER(PJRT_Client_PlatformVersion, ON_CLIENT),
    GETTER(PJRT_Client_ProcessIndex, ON_CLIENT),
    GETTER(PJRT_Client_Devices, ON_CLIENT),
    GETTER(PJRT_Client_AddressableDevices, ON_CLIENT),
    GETTER(PJRT_Client_AddressableMemories, ON_CLIENT),
    GETTER(PJRT_Client_TopologyDescription, ON_CLIENT),
    GETTER(PJRT_Device_GetDescription, ON_DEVICE),
    GETTER(PJRT_Device_IsAddressable, ON_DEVICE),
    GETTER(PJRT_Device_LocalHardwareId, ON_DEVICE),
    GETTER(PJRT_Device_AddressableMemories, ON_DEVICE),
    GETTER(PJRT_Device_DefaultMemory, ON_DEVICE),
    GETTER(PJRT_DeviceDescription_Id, ON_DESCRIPTION),
    GETTER(PJRT_DeviceDescription_ProcessIndex, ON_DESCRIPTION),
    GETTER(PJRT_DeviceDescription_Attributes, ON_DESCRIPTION),
    GETTER(PJRT_DeviceDescription_Kind, ON_DESCRIPTION),
    GETTER(PJRT_DeviceDescription_DebugString, ON_DESCRIPTION),
    GETTER(PJRT_DeviceDescription_ToString, ON_DESCRIPTION),
    GETTER(PJRT_Memory_Id, ON_MEMORY),
    GETTER(PJRT_Memory_Kind, ON_MEMORY),
    GETTER(PJRT_Memory_Kind_Id, ON_MEMORY),
    GETTER(PJRT_Memory_DebugString, ON_MEMORY),
    GETTER(PJRT_Memory_ToString, ON_MEMORY),
    GETTER(PJRT_Memory_AddressableByDevices, ON_MEMORY),
    GETTER(PJRT_Executable_Name, ON_EXECUTABLE),
    GETTER(PJRT_Executable_NumReplicas, ON_EXECUTABLE),
    GETTER(PJRT_Executable_NumPartitions, ON_EXECUTABLE),
    GETTER(PJRT_Executable_NumOutputs, ON_EXECUTABLE),
    GETTER(PJRT_Executable_SizeOfGeneratedCodeInBytes, ON_EXECUTABLE),
    GETTER(PJRT_Executable_Fingerprint, ON_EXECUTABLE),
    GETTER(PJRT_Executable_OutputElementTypes, ON_EXECUTABLE),
    GETTER(PJRT_Executable_OutputDimensions, ON_EXECUTABLE),
    GETTER(PJRT_Executable_OutputMemoryKinds, ON_EXECUTABLE),
    GETTER(PJRT_Executable_ParameterMemoryKinds, ON_EXECUTABLE),
    GETTER(PJRT_Executable_GetCostAnalysis, ON_EXECUTABLE),
    GETTER(PJRT_LoadedExecutable_AddressableDevices, ON_LOADED),
    GETTER(PJRT_LoadedExecutable_IsDeleted, ON_LOADED),
    GETTER(PJRT_LoadedExecutable_Fingerprint, ON_LOADED),
    GETTER(PJRT_Buffer_ElementType, ON_BUFFER),
    GETTER(PJRT_Buffer_Dimensions, ON_BUFFER),
    GETTER(PJRT_Buffer_UnpaddedDimensions, ON_BUFFER),
    GETTER(PJRT_Buffer_DynamicDimensionIndices, ON_BUFFER),
    GETTER(PJRT_Buffer_GetMemoryLayout, ON_BUFFER),
    GETTER(PJRT_Buffer_OnDeviceSizeInBytes, ON_BUFFER),
    GETTER(PJRT_Buffer_Device, ON_BUFFER),
    GETTER(PJRT_Buffer_Memory, ON_BUFFER),
    GETTER(PJRT_Buffer_IsDeleted, ON_BUFFER),
    GETTER(PJRT_Buffer_IsOnCpu, ON_BUFFER),
};

// Something to ask: an object of that kind; NULL ends the check.
static void *object_of(hsc_conform *c, object kind) {
  static const char program[] =
      "module @m { func.func public @main(%a: tensor<2x3xf32>) -> tensor<2x3xf32> {\n"
      "  %0 = stablehlo.add %a, %a : tensor<2x3xf32>\n  return %0 : tensor<2x3xf32>\n} }\n";
  static const float values[6] = {1, 2, 3, 4, 5, 6};
  static const int64_t dims[2] = {2, 3};
  if (kind == ON_EXECUTABLE)  // is to be had without a device
    return hsc__conform_executable_of(c, program);
  PJRT_Device *device = hsc__conform_device(c, 0);
  if (!device)
    return NULL;
  PJRT_Device_GetDescription_Args description =
      ARGS_OF(PJRT_Device_GetDescription, .device = device);
  PJRT_Device_DefaultMemory_Args memory = ARGS_OF(PJRT_Device_DefaultMemory, .device = device);
  switch (kind) {
    case ON_CLIENT:
      return c->client;
    case ON_DEVICE:
      return device;
    case ON_DESCRIPTION:
      return OK(c, PJRT_Device_GetDescription, &description) ? description.device_description
                                                             : NULL;
    case ON_MEMORY:
      return OK(c, PJRT_Device_DefaultMemory, &memory) ? memory.memory : NULL;
    case ON_LOADED:
      return hsc__conform_compile(c, program);
    case ON_EXECUTABLE:
      break;
    case ON_BUFFER:
      return hsc__conform_upload(c, PJRT_Buffer_Type_F32, dims, 2, values, sizeof values);
  }
  return NULL;
}

enum {
  GETTER_BYTES = 512,
  HEADER_BYTES = 3 * sizeof(void *)
};  // the object follows the two common fields

typedef union getter_args {
  struct {
    size_t struct_size;
    void *extension_start;
    void *object;
  };
  unsigned char bytes[GETTER_BYTES];
} getter_args;

int hsc__conform_newer_struct_count(void) {
  return (int)HSC_COUNT_OF(getters);
}

void hsc__conform_newer_struct_name(int number, char out_text[64]) {
  snprintf(out_text, 64, "%s", hsc_pjrt_function_get(getters[number].function)->name);
}

void hsc__conform_newer_struct(hsc_conform *c, int number) {
  const getter *g = &getters[number];
  void *asked = object_of(c, g->object);
  if (!asked)
    return;
  enum { MORE = 64, MARK = 0xa5 };
  getter_args args = {.struct_size = g->bytes + MORE, .object = asked};
  memset(args.bytes + g->bytes, MARK, MORE);
  if (!hsc__conform_ok(c, g->function, &args))
    return;
  // What the plugin does not know it must not write, but a newer plugin may know it.
  if (c->api->pjrt_api_version.minor_version > PJRT_API_MINOR)
    return;
  for (int i = 0; i < MORE; i++)
    EXPECT(c, args.bytes[g->bytes + (size_t)i] == MARK, "it wrote %d bytes past its struct", i + 1);
}

int hsc__conform_steady_getter_count(void) {
  return (int)HSC_COUNT_OF(getters);
}

void hsc__conform_steady_getter_name(int number, char out_text[64]) {
  hsc__conform_newer_struct_name(number, out_text);
}

void hsc__conform_steady_getter(hsc_conform *c, int number) {
  const getter *g = &getters[number];
  void *asked = object_of(c, g->object);
  if (!asked)
    return;
  getter_args first = {.struct_size = g->bytes, .object = asked};
  getter_args second = first;
  if (!hsc__conform_ok(c, g->function, &first) || !hsc__conform_ok(c, g->function, &second))
    return;
  bool is_new_each_time = g->function == HSC_FN_PJRT_Executable_GetCostAnalysis ||
                          g->function == HSC_FN_PJRT_Buffer_GetMemoryLayout;
  if (!is_new_each_time)
    EXPECT(
        c,
        !memcmp(first.bytes + HEADER_BYTES, second.bytes + HEADER_BYTES, g->bytes - HEADER_BYTES),
        "two calls give different answers");
  // texts, as the rows of abi_args.def have them: pointer, then size
  if (g->function == HSC_FN_PJRT_Client_PlatformName ||
      g->function == HSC_FN_PJRT_Client_PlatformVersion ||
      g->function == HSC_FN_PJRT_DeviceDescription_Kind ||
      g->function == HSC_FN_PJRT_DeviceDescription_DebugString ||
      g->function == HSC_FN_PJRT_DeviceDescription_ToString ||
      g->function == HSC_FN_PJRT_Memory_Kind || g->function == HSC_FN_PJRT_Memory_DebugString ||
      g->function == HSC_FN_PJRT_Memory_ToString || g->function == HSC_FN_PJRT_Executable_Name) {
    const char *text;
    size_t size;
    memcpy(&text, first.bytes + HEADER_BYTES, sizeof text);
    memcpy(&size, first.bytes + HEADER_BYTES + sizeof text, sizeof size);
    EXPECT(c, text && size > 0 && size < 1 << 16, "the text has %zu bytes at %p", size,
           (const void *)text);
    EXPECT(c, !memchr(text, 0, size), "the text of %zu bytes has a NUL within", size);
  }
}
