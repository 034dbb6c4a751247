// pjrt_internal.h - what the files of src/pjrt share: the objects behind client.h, and the one way
// in which a plugin is called.
#pragma once

#include "base/core/memory.h"
#include "pjrt/client.h"

enum { HSC_PJRT_EXTENSION_LIMIT = 64 };

struct hsc_plugin {
  // copy of what the plugin really has; slots that it lacks are NULL
  PJRT_Api table;
  const PJRT_Api *api;  // the plugin's own
  char *path, *name;
  int minor;
  hsc_arena *arena;  // attributes
  const hsc_named_value *attributes;
  size_t attribute_count;
  bool attributes_read;
  size_t extension_count;
  const PJRT_Extension_Base *extensions[HSC_PJRT_EXTENSION_LIMIT];
};

struct hsc_client {
  hsc_plugin *plugin;
  PJRT_Client *client;
  hsc_arena *arena;  // texts and device descriptions
  const char *platform_name, *platform_version;
  PJRT_Device *const *devices;    // the plugin's array of addressable devices
  hsc_device_info *device_infos;  // [device_count]
  int device_count;
};

struct hsc_topology {
  hsc_plugin *plugin;
  PJRT_TopologyDescription *topology;
  bool owned;
  hsc_arena *arena;
  const char *platform_name, *platform_version;
  const hsc_named_value *attributes;
  size_t attribute_count;
  bool attributes_read;
  hsc_device_info *devices;
  size_t device_count;
  bool devices_read;
};

struct hsc_executable {
  hsc_plugin *plugin;
  hsc_client *client;             // NULL when compiled ahead of time
  PJRT_LoadedExecutable *loaded;  // NULL when compiled ahead of time
  PJRT_Executable *executable;
  hsc_arena *arena;
  const char *name;
  size_t output_count, replica_count, partition_count;
  const hsc_array_spec *outputs;  // NULL until asked
  const hsc_named_value *costs;
  size_t cost_count;
  bool costs_read;
};

struct hsc_pjrt_event {
  hsc_plugin *plugin;
  PJRT_Event *event;
};

struct hsc_buffer {
  hsc_client *client;
  PJRT_Buffer *buffer;
};

// Calls a function of the plugin: NULL, or a status with the plugin's code, text and name. `args`
// is a pointer to the argument struct.
#define HSC_PJRT_CALL(plugin, function, args) \
  (__builtin_expect((plugin)->table.function != NULL, 1) \
       ? hsc__pjrt_check((plugin), HSC_FN_##function, (plugin)->table.function(args)) \
       : hsc__plugin_lacks((plugin), HSC_FN_##function))
// An argument struct with its size set: HSC_PJRT_ARGS(PJRT_Buffer_Device, .buffer = b)
#define HSC_PJRT_ARGS(function, ...) {.struct_size = function##_Args_STRUCT_SIZE, __VA_ARGS__}

// takes the error
hsc_status *hsc__pjrt_error(hsc_plugin *plugin, hsc_pjrt_function function, PJRT_Error *error);
hsc_status *hsc__plugin_lacks(hsc_plugin *plugin, hsc_pjrt_function function);
static inline hsc_status *hsc__pjrt_check(hsc_plugin *plugin,
                                          hsc_pjrt_function function,
                                          PJRT_Error *error) {
  return __builtin_expect(error == NULL, 1) ? NULL : hsc__pjrt_error(plugin, function, error);
}

// Frees what a plugin handed out where nobody is left to hear of an error.
void hsc__pjrt_ignore(hsc_status *status);
void hsc__event_drop(hsc_plugin *plugin, PJRT_Event *event);
void hsc__buffer_drop(hsc_plugin *plugin, PJRT_Buffer *buffer);
// Waits and destroys the event; NULL is ready.
hsc_status *hsc__event_finish(hsc_plugin *plugin, PJRT_Event *event);

// Copies of the plugin's values in an arena, and the other way round (for create options; texts are
// borrowed, the array is the arena's).
hsc_status *hsc__values_copy(hsc_arena *arena,
                             const PJRT_NamedValue *values,
                             size_t count,
                             const hsc_named_value **out_values);
hsc_status *hsc__values_to_plugin(hsc_arena *arena,
                                  const hsc_named_value *values,
                                  size_t count,
                                  PJRT_NamedValue **out_values);
// Fills one device's facts from its description.
hsc_status *hsc__device_info_read(hsc_plugin *plugin,
                                  hsc_arena *arena,
                                  PJRT_DeviceDescription *description,
                                  hsc_device_info *info);
// Wraps what compile, load and PJRT_Compile gave; takes both handles, also on failure.
hsc_status *hsc__executable_wrap(hsc_plugin *plugin,
                                 hsc_client *client,
                                 PJRT_LoadedExecutable *loaded,
                                 PJRT_Executable *executable,
                                 hsc_executable **out_executable);
