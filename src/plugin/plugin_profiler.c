// plugin_profiler.c - the profiler extension: jax.profiler.trace and torch_xla's profiler get every
// operator of this device.
//
// Source: xla/backends/profiler/plugin/profiler_c_api.h. A profiler is created with options (of
// which only the device level counts: 0 records nothing), started, stopped, and asked for its data,
// which it keeps until it is destroyed.
#include <dlfcn.h>
#include <stdatomic.h>

#include "base/files/file_io.h"
#include "plugin/plugin_internal.h"
#include "plugin/profile_space.h"

#include "base/wire/wire.h"

struct PLUGIN_Profiler {
  hsc_cpu_session *session;
  hsc_bytes data;
  bool wanted, collected;
};

struct PLUGIN_Profiler_Error {
  hsc_status *status;  // NULL = out of memory
};

static PLUGIN_Profiler_Error out_of_memory;

static PLUGIN_Profiler_Error *error_of(hsc_status *status) {
  if (!status)
    return NULL;
  PLUGIN_Profiler_Error *error = hsc_alloc(sizeof *error);
  if (!error) {
    hsc_status_free(status);
    return &out_of_memory;
  }
  error->status = status;
  return error;
}

static void error_destroy(PLUGIN_Profiler_Error_Destroy_Args *args) {
  if (!args->error || args->error == &out_of_memory)
    return;
  hsc_status_free(args->error->status);
  hsc_free(args->error);
}

static void error_message(PLUGIN_Profiler_Error_Message_Args *args) {
  args->message = args->error->status ? hsc_status_message(args->error->status) : "out of memory";
  args->message_size = strlen(args->message);
}

static PLUGIN_Profiler_Error *error_code(PLUGIN_Profiler_Error_GetCode_Args *args) {
  args->code =
      args->error->status ? (int)hsc_status_code(args->error->status) : (int)HSC_RESOURCE_EXHAUSTED;
  return NULL;
}

// ProfileOptions.device_tracer_level (3), 1 when it is not said; version (5) is there in every
// message that means to say something.
static PLUGIN_Profiler_Error *create(PLUGIN_Profiler_Create_Args *args) {
  PLUGIN_Profiler *profiler = hsc_alloc(sizeof *profiler);
  if (!profiler)
    return &out_of_memory;
  profiler->wanted = true;
  hsc_wire in = hsc_wire_of((hsc_view){args->options, args->options_size});
  bool has_version = false;
  bool has_level = false;
  uint64_t level = 1;
  for (hsc_wire_field f; hsc_wire_next(&in, &f);) {
    if (f.number == 3 && f.type == HSC_WIRE_VARINT) {
      level = f.value;
      has_level = true;
    }
    if (f.number == 5 && f.type == HSC_WIRE_VARINT)
      has_version = true;
  }
  (void)has_version;
  if (has_level && level == 0)
    profiler->wanted = false;
  args->profiler = profiler;
  return NULL;
}

static PLUGIN_Profiler_Error *destroy(PLUGIN_Profiler_Args *args) {
  if (!args->profiler)
    return NULL;
  hsc_cpu_session_destroy(args->profiler->session);
  hsc_bytes_deinit(&args->profiler->data);
  hsc_free(args->profiler);
  return NULL;
}

static PLUGIN_Profiler_Error *start(PLUGIN_Profiler_Args *args) {
  if (!args->profiler->wanted || args->profiler->session)
    return NULL;
  return error_of(hsc_cpu_session_start(0, &args->profiler->session));
}

// True where the tracer is in this process (src/pjrt/tracer_death.h) and writes the profile of a
// process that crashed: a run that is under way will not end.
static bool process_dies(void) {
  const void *flag = dlsym(RTLD_DEFAULT, "hsc_tracer_dying");
  return flag && atomic_load((const _Atomic int *)flag);
}

static PLUGIN_Profiler_Error *stop(PLUGIN_Profiler_Args *args) {
  if (args->profiler->session && process_dies())
    hsc_cpu_session_stop_dying(args->profiler->session);
  else if (args->profiler->session)
    hsc_cpu_session_stop(args->profiler->session);
  return NULL;
}

// The peaks that `hloscope devices --calibrate` measured on this machine, from its file in the
// cache: {"flops": F, "bytes": B}.
static hsc__profile_peaks read_peaks(void) {
  hsc__profile_peaks peaks = {0};
  char *cache = NULL;
  hsc_bytes path = {0};
  hsc_bytes text = {0};
  hsc_status *status = hsc_cache_dir(&cache);
  if (!status) {
    hsc_bytes_printf(&path, "%s/peaks.json", cache);
    if (hsc_file_exists(hsc_bytes_text(&path)))
      status = hsc_file_read(hsc_bytes_text(&path), &text);
  }
  const char *flops = strstr(hsc_bytes_text(&text), "\"flops\"");
  const char *bytes = strstr(hsc_bytes_text(&text), "\"bytes\"");
  if (flops && bytes &&
      (sscanf(flops, "\"flops\" : %lf", &peaks.flops) != 1 ||
       sscanf(bytes, "\"bytes\" : %lf", &peaks.bytes) != 1))
    peaks = (hsc__profile_peaks){0};
  hsc_status_free(status);
  hsc_bytes_deinit(&path);
  hsc_bytes_deinit(&text);
  hsc_free(cache);
  return peaks;
}

// With memory of ours at once. A trailing NUL is counted, as XLA's plugins do and hosts expect.
static PLUGIN_Profiler_Error *collect(PLUGIN_Profiler_CollectData_Args *args) {
  PLUGIN_Profiler *profiler = args->profiler;
  if (profiler->session && !profiler->collected) {
    hsc_cpu_session_stop(profiler->session);
    hsc__profile_peaks peaks = read_peaks();
    char type[160];
    snprintf(type, sizeof type, "hloscope cpu");
    hsc_status *status = hsc__profile_space_write(profiler->session, &peaks, type, &profiler->data);
    if (status)
      return error_of(status);
    profiler->collected = true;
    hsc_cpu_session_destroy(profiler->session);
    profiler->session = NULL;
    hsc_bytes_append_char(&profiler->data, '\0');
    status = hsc_bytes_status(&profiler->data);
    if (status)
      return error_of(status);
  }
  if (args->buffer && args->buffer != (uint8_t *)profiler->data.data &&
      profiler->data.size <= args->buffer_size_in_bytes) {
    memcpy(args->buffer, profiler->data.data, profiler->data.size);
  } else {
    args->buffer = (uint8_t *)profiler->data.data;
  }
  args->buffer_size_in_bytes = profiler->data.size;
  return NULL;
}

static PLUGIN_Profiler_Api api = {
    .struct_size = PLUGIN_Profiler_Api_STRUCT_SIZE,
    .error_destroy = error_destroy,
    .error_message = error_message,
    .error_get_code = error_code,
    .create = create,
    .destroy = destroy,
    .start = start,
    .stop = stop,
    .collect_data = collect,
};

PJRT_Profiler_Extension hsc__profiler_extension = {
    .base = {.struct_size = PJRT_Profiler_Extension_STRUCT_SIZE,
             .type = PJRT_Extension_Type_Profiler},
    .profiler_api = &api,
    .traceme_context_id = 0,
};
