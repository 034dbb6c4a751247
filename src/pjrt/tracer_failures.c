// tracer_failures.c - --keep-failures: the inputs of calls that fail, in the capture's folder
// failures/PID_RUN/, one file an input, row-major.
//
// A call may fail by killing the process, and it may have been given its inputs to write over, so
// they are copied before the first call of each executable, and go when that call is done. Later
// calls cost nothing; the inputs of one that the plugin refuses are copied then.
#include "base/files/file_io.h"
#include "pjrt/tracer_internal.h"

#include <dirent.h>
#include <stdlib.h>
#include <unistd.h>

enum {
  MOST_RANK = 64,
  MOST_BYTES = 1 << 30,  // of one input
};

bool hsc__tracer_keeps_failures(void) {
  static _Atomic int asked;  // 0 = not yet, 1 = no, 2 = yes
  int known = atomic_load_explicit(&asked, memory_order_relaxed);
  if (!known) {
    const char *text = getenv("HLOSCOPE_TRACE_KEEP_FAILURES");
    known = text && *text && strcmp(text, "0") != 0 ? 2 : 1;
    atomic_store_explicit(&asked, known, memory_order_relaxed);
  }
  return known == 2;
}

static void folder_of(int64_t run_id, char out_path[1024]) {
  snprintf(out_path, 1024, "%s/failures/%d_%lld", hsc__tracing.output, (int)getpid(),
           (long long)run_id);
}

static bool await(const hsc__tracer *t, PJRT_Event *event) {
  if (!event)
    return false;
  PJRT_Event_Await_Args args = {.struct_size = PJRT_Event_Await_Args_STRUCT_SIZE, .event = event};
  PJRT_Error *error = t->real->PJRT_Event_Await(&args);
  PJRT_Event_Destroy_Args destroy = {.struct_size = PJRT_Event_Destroy_Args_STRUCT_SIZE,
                                     .event = event};
  bool good = !error;
  hsc__tracer_drop(t, error);
  hsc__tracer_drop(t, t->real->PJRT_Event_Destroy(&destroy));
  return good;
}

// Row-major, whatever the device's own order is.
static bool copy_to_host(const hsc__tracer *t, PJRT_Buffer *buffer, void **out_data, size_t *size) {
  int64_t minor_to_major[MOST_RANK];
  PJRT_Buffer_Dimensions_Args dims = {.struct_size = PJRT_Buffer_Dimensions_Args_STRUCT_SIZE,
                                      .buffer = buffer};
  PJRT_Error *error = t->real->PJRT_Buffer_Dimensions(&dims);
  bool known = !error && dims.num_dims <= MOST_RANK;
  hsc__tracer_drop(t, error);
  *out_data = NULL;
  if (!known)
    return false;
  for (size_t i = 0; i < dims.num_dims; i++)
    minor_to_major[i] = (int64_t)(dims.num_dims - 1 - i);
  PJRT_Buffer_MemoryLayout layout = {
      .struct_size = PJRT_Buffer_MemoryLayout_STRUCT_SIZE,
      .type = PJRT_Buffer_MemoryLayout_Type_Tiled,
      .tiled = {.struct_size = PJRT_Buffer_MemoryLayout_Tiled_STRUCT_SIZE,
                .minor_to_major = minor_to_major,
                .minor_to_major_size = dims.num_dims}};
  PJRT_Buffer_ToHostBuffer_Args args = {.struct_size = PJRT_Buffer_ToHostBuffer_Args_STRUCT_SIZE,
                                        .src = buffer,
                                        .host_layout = &layout};
  error = t->real->PJRT_Buffer_ToHostBuffer(&args);
  bool sized = !error && args.dst_size <= MOST_BYTES;
  hsc__tracer_drop(t, error);
  if (!sized || !(*out_data = malloc(args.dst_size + 1)))
    return false;
  *size = args.dst_size;
  args.dst = *out_data;
  error = t->real->PJRT_Buffer_ToHostBuffer(&args);
  bool there = !error && await(t, args.event);
  hsc__tracer_drop(t, error);
  return there;
}

void hsc__tracer_keep_inputs(const hsc__tracer *t,
                             const PJRT_LoadedExecutable_Execute_Args *args,
                             int64_t run_id) {
  char folder[1024];
  char path[1100];
  if (args->num_devices != 1 || !args->argument_lists)
    return;  // each device has its own; a program of several is no case for one
  folder_of(run_id, folder);
  snprintf(path, sizeof path, "%s/failures", hsc__tracing.output);
  hsc_status *status = hsc_dir_make(path);
  if (!status)
    status = hsc_dir_make(folder);
  for (size_t i = 0; i < args->num_args && !status; i++) {
    void *data = NULL;
    size_t size = 0;
    snprintf(path, sizeof path, "%s/input_%zu.bin", folder, i);
    // one that cannot be read, or was given away, is left out: the seed's is in its place
    if (copy_to_host(t, args->argument_lists[0][i], &data, &size))
      status = hsc_file_write_atomic(path, data, size);
    free(data);
  }
  hsc_status_free(status);  // a full disk must not stop the traced program
}

void hsc__tracer_drop_inputs(int64_t run_id) {
  char folder[1024];
  char path[1400];
  folder_of(run_id, folder);
  DIR *directory = opendir(folder);
  if (!directory)
    return;
  for (struct dirent *entry; (entry = readdir(directory));) {
    snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
    if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
      (void)unlink(path);
  }
  closedir(directory);
  (void)rmdir(folder);
}
