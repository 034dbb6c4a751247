// plugin_memory.c - memories: one a device, of kind "device". Hosts may attach data of their own to
// one.
#include "plugin/plugin_internal.h"

static void *get_user_data(PJRT_Memory *base, const void *key) {
  hsc__memory *memory = (hsc__memory *)base;
  void *data = NULL;
  pthread_mutex_lock(&memory->client->lock);
  for (hsc__user_data *u = memory->user_data; u; u = u->next)
    if (u->key == key)
      data = u->data;
  pthread_mutex_unlock(&memory->client->lock);
  return data;
}

static void set_user_data(PJRT_Memory *base, const void *key, void *data, void (*destroy)(void *)) {
  hsc__memory *memory = (hsc__memory *)base;
  hsc__user_data *entry = hsc_alloc(sizeof *entry);
  hsc__user_data *old = NULL;
  if (!entry)
    return;  // the interface has no way to say so; the host finds nothing under the key
  *entry = (hsc__user_data){.key = key, .data = data, .destroy = destroy};
  pthread_mutex_lock(&memory->client->lock);
  for (hsc__user_data **p = &memory->user_data; *p; p = &(*p)->next) {
    if ((*p)->key != key)
      continue;
    old = *p;
    *p = old->next;
    break;
  }
  entry->next = memory->user_data;
  memory->user_data = entry;
  pthread_mutex_unlock(&memory->client->lock);
  if (old && old->destroy)
    old->destroy(old->data);
  hsc_free(old);
}

const PJRT_Memory_FunctionTable hsc__memory_vtable = {
    .struct_size = PJRT_Memory_FunctionTable_STRUCT_SIZE,
    .instance_struct_size = sizeof(PJRT_Memory),
    .get_user_data = get_user_data,
    .set_user_data = set_user_data,
};

void hsc__memory_deinit(hsc__memory *memory) {
  for (hsc__user_data *u = memory->user_data, *next; u; u = next) {
    next = u->next;
    if (u->destroy)
      u->destroy(u->data);
    hsc_free(u);
  }
}

HSC_ENTRY(PJRT_Memory_Id) {
  HSC_CHECK_ARGS(PJRT_Memory_Id, id);
  args->id = ((hsc__memory *)args->memory)->id;
  return NULL;
}

HSC_ENTRY(PJRT_Memory_Kind) {
  HSC_CHECK_ARGS(PJRT_Memory_Kind, kind_size);
  args->kind = "device";
  args->kind_size = 6;
  return NULL;
}

HSC_ENTRY(PJRT_Memory_Kind_Id) {
  HSC_CHECK_ARGS(PJRT_Memory_Kind_Id, kind_id);
  args->kind_id = 0;
  return NULL;
}

HSC_ENTRY(PJRT_Memory_DebugString) {
  HSC_CHECK_ARGS(PJRT_Memory_DebugString, debug_string_size);
  args->debug_string = ((hsc__memory *)args->memory)->text;
  args->debug_string_size = strlen(args->debug_string);
  return NULL;
}

HSC_ENTRY(PJRT_Memory_ToString) {
  HSC_CHECK_ARGS(PJRT_Memory_ToString, to_string_size);
  args->to_string = ((hsc__memory *)args->memory)->text;
  args->to_string_size = strlen(args->to_string);
  return NULL;
}

HSC_ENTRY(PJRT_Memory_AddressableByDevices) {
  HSC_CHECK_ARGS(PJRT_Memory_AddressableByDevices, num_devices);
  hsc__memory *memory = (hsc__memory *)args->memory;
  args->devices = &memory->client->device_list[memory->device->index];
  args->num_devices = 1;
  return NULL;
}
