// tracer_objects.c - what the tracer knows about the plugin's objects: names and results of
// executables, bytes of live buffers.
//
// Open addressing by the object's address, no lock. A slot is claimed by its value (0 -> BUSY),
// then gets its key, then the value that is meant; keys stay when values go, so a search ends at a
// slot that never had one. Neighbours in memory are neighbours in the table: few pages are touched.
#include "pjrt/tracer_internal.h"

#include <stdlib.h>

enum {
  BUFFER_SLOTS = 1 << 18,
  EXECUTABLE_SLOTS = 1 << 14,
  MOST_PROBES = 64,
  FREE = 0,
  BUSY = 1,
  FIRST_VALUE = 2,
  MOST_OUTPUTS = 1 << 16
};

typedef struct slot {
  _Atomic(uintptr_t) key;
  _Atomic uint64_t value;  // FREE, BUSY, or what is meant plus FIRST_VALUE
} slot;

static slot buffers[BUFFER_SLOTS], executables[EXECUTABLE_SLOTS];
static _Atomic int64_t device_bytes;

static inline size_t place_of(const void *pointer, size_t slots) {
  return ((uintptr_t)pointer >> 5 ^ (uintptr_t)pointer >> 22) & (slots - 1);
}

// False when the places that are looked at are all taken.
static bool put(slot *table, size_t slots, const void *pointer, uint64_t value) {
  size_t at = place_of(pointer, slots);
  for (int probe = 0; probe < MOST_PROBES; probe++, at = (at + 1) & (slots - 1)) {
    slot *s = &table[at];
    uint64_t held = FREE;
    if (!atomic_compare_exchange_strong_explicit(&s->value, &held, BUSY, memory_order_acquire,
                                                 memory_order_relaxed))
      continue;
    atomic_store_explicit(&s->key, (uintptr_t)pointer, memory_order_release);
    atomic_store_explicit(&s->value, value + FIRST_VALUE, memory_order_release);
    return true;
  }
  return false;
}

static bool get(slot *table, size_t slots, const void *pointer, bool remove, uint64_t *out_value) {
  size_t at = place_of(pointer, slots);
  for (int probe = 0; probe < MOST_PROBES; probe++, at = (at + 1) & (slots - 1)) {
    slot *s = &table[at];
    uintptr_t key = atomic_load_explicit(&s->key, memory_order_acquire);
    if (!key)
      return false;
    if (key != (uintptr_t)pointer)
      continue;
    uint64_t value = atomic_load_explicit(&s->value, memory_order_acquire);
    // an earlier object of this address, or one that is being put here
    if (value < FIRST_VALUE)
      continue;
    if (remove)
      atomic_store_explicit(&s->value, FREE, memory_order_release);
    *out_value = value - FIRST_VALUE;
    return true;
  }
  return false;
}

// ---- executables --------------------------------------------------------------------------------

PJRT_Executable *hsc__tracer_plain(const hsc__tracer *t, PJRT_LoadedExecutable *loaded) {
  PJRT_LoadedExecutable_GetExecutable_Args args = {
      .struct_size = PJRT_LoadedExecutable_GetExecutable_Args_STRUCT_SIZE,
      .loaded_executable = loaded};
  PJRT_Error *error = t->real->PJRT_LoadedExecutable_GetExecutable(&args);
  hsc__tracer_drop(t, error);
  return error ? NULL : args.executable;
}

uint32_t hsc__tracer_executable_name(const hsc__tracer *t, PJRT_Executable *executable) {
  PJRT_Executable_Name_Args args = {.struct_size = PJRT_Executable_Name_Args_STRUCT_SIZE,
                                    .executable = executable};
  PJRT_Error *error = t->real->PJRT_Executable_Name(&args);
  hsc__tracer_drop(t, error);
  return error ? 0 : hsc__tracer_intern(args.executable_name, args.executable_name_size);
}

uint32_t hsc__tracer_track(const hsc__tracer *t, PJRT_Device *device) {
  char text[96];
  long long number = 0;
  bool told = device && HSC__TRACED_HAS(t, PJRT_Device_GetDescription) &&
              HSC__TRACED_HAS(t, PJRT_DeviceDescription_Id);
  PJRT_Device_GetDescription_Args get = {.struct_size = PJRT_Device_GetDescription_Args_STRUCT_SIZE,
                                         .device = device};
  PJRT_Error *error = told ? t->real->PJRT_Device_GetDescription(&get) : NULL;
  hsc__tracer_drop(t, error);
  if (told && !error) {
    PJRT_DeviceDescription_Id_Args id = {.struct_size = PJRT_DeviceDescription_Id_Args_STRUCT_SIZE,
                                         .device_description = get.device_description};
    error = t->real->PJRT_DeviceDescription_Id(&id);
    hsc__tracer_drop(t, error);
    number = error ? 0 : id.id;
  }
  snprintf(text, sizeof text, "%s:%lld", *t->platform ? t->platform : "device", number);
  return hsc_recorder_intern(hsc__tracing.recorder, text);
}

// Where the executable runs when its caller does not say.
static void name_devices(const hsc__tracer *t,
                         PJRT_LoadedExecutable *loaded,
                         hsc__traced_executable *x) {
  PJRT_LoadedExecutable_AddressableDevices_Args args = {
      .struct_size = PJRT_LoadedExecutable_AddressableDevices_Args_STRUCT_SIZE,
      .executable = loaded};
  PJRT_Error *error = HSC__TRACED_HAS(t, PJRT_LoadedExecutable_AddressableDevices)
                          ? t->real->PJRT_LoadedExecutable_AddressableDevices(&args)
                          : NULL;
  size_t count = error ? 0 : args.num_addressable_devices;
  hsc__tracer_drop(t, error);
  uint32_t unknown = count ? 0 : hsc__tracer_track(t, NULL);
  for (size_t d = 0; d < HSC__MOST_DEVICES; d++) {
    if (d < count)
      x->tracks[d] = hsc__tracer_track(t, args.addressable_devices[d]);
    else
      x->tracks[d] = d ? x->tracks[0] : unknown;
  }
}

hsc__traced_executable *hsc__tracer_executable(const hsc__tracer *t,
                                               PJRT_LoadedExecutable *loaded) {
  uint64_t known;
  if (get(executables, EXECUTABLE_SLOTS, loaded, false, &known))
    return (hsc__traced_executable *)(uintptr_t)known;
  PJRT_Executable *plain = hsc__tracer_plain(t, loaded);
  if (!plain)
    return NULL;
  PJRT_Executable_NumOutputs_Args outputs = {
      .struct_size = PJRT_Executable_NumOutputs_Args_STRUCT_SIZE, .executable = plain};
  PJRT_Error *error = t->real->PJRT_Executable_NumOutputs(&outputs);
  size_t count = error || outputs.num_outputs > MOST_OUTPUTS ? 0 : outputs.num_outputs;
  hsc__tracer_drop(t, error);
  hsc__traced_executable *x = calloc(1, sizeof *x + count * sizeof *x->output_bytes);
  if (x) {
    x->name = hsc__tracer_executable_name(t, plain);
    x->output_count = (uint32_t)count;
    name_devices(t, loaded, x);
  }
  PJRT_Executable_Destroy_Args destroy = {.struct_size = PJRT_Executable_Destroy_Args_STRUCT_SIZE,
                                          .executable = plain};
  hsc__tracer_drop(t, t->real->PJRT_Executable_Destroy(&destroy));
  if (x && put(executables, EXECUTABLE_SLOTS, loaded, (uintptr_t)x))
    return x;
  free(x);
  return NULL;
}

void hsc__tracer_forget_executable(PJRT_LoadedExecutable *loaded) {
  uint64_t known;
  // threads that met it first at once may have put it twice
  while (get(executables, EXECUTABLE_SLOTS, loaded, true, &known))
    free((void *)(uintptr_t)known);
}

// ---- buffers ------------------------------------------------------------------------------------

bool hsc__tracer_buffer_lives(const void *buffer, int64_t bytes) {
  if (!put(buffers, BUFFER_SLOTS, buffer, (uint64_t)bytes))
    return false;
  atomic_fetch_add_explicit(&device_bytes, bytes, memory_order_relaxed);
  return true;
}

int64_t hsc__tracer_buffer_dies(const void *buffer) {
  uint64_t bytes;
  if (!buffer || !get(buffers, BUFFER_SLOTS, buffer, true, &bytes))
    return -1;
  atomic_fetch_sub_explicit(&device_bytes, (int64_t)bytes, memory_order_relaxed);
  return (int64_t)bytes;
}

int64_t hsc__tracer_device_bytes(void) {
  return atomic_load_explicit(&device_bytes, memory_order_relaxed);
}
