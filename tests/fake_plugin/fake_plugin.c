// fake_plugin.c - a PJRT plugin that behaves as badly as it is told to: for tests of the client and
// of the workers.
//
// It is given by HLOSCOPE_FAKE, and by the option "fake" (text) for its client or topology, both
// comma lists of key=value:
//   major=N minor=N table_bytes=N     what the table claims
//   null=F                            slot F is NULL
//   fail=F:CODE[:TEXT]                F answers an error
//   abort=F  segv=F  exit=F:CODE      F ends the process
//   handler=F                         F aborts without a word; a handler of signals speaks, as
//                                     libtpu's does
//   hang=F  slow=F:MS                 F never returns, or late
//   stopped=F:PATH                    F, when there is a file PATH, removes it and is stopped for
//                                     150 ms (SIGSTOP)
//   stdout=F  stderr=F                F prints a line there
//   strict=N                          refuses every struct_size but its own, as some vendors do; N
//   = 2: its own have one more member
//   old_memory=1                      GetCompiledMemoryStats knows no field after host_temp
//   peak=BYTES                        peak memory of a program, 6 otherwise
//   loop=1  extensions=N              the chain of extensions loops; has N elements
//   leak=BYTES  eat=1                 each compile leaks that much; takes memory until it is killed
//   run_event=CODE                    those of executions fail
//   event=CODE  async=MS              completion events fail; become ready that much later on
//               another thread
//   mute=1                            errors have no text
//   platform=NAME                     what the client says it is; "fake" without
//   passes=1                          a compiler with passes, named by what comes of it when
//   xla_disable_hlo_passes has them: same-pass,
//                                     twin-pass-a and -b (equal programs), slow-pass (6 ms
//                                     for 2), fast-pass (0.5 ms), numbers-pass, last-bit-pass,
//                                     error-pass, abort-pass, hang-pass, run-abort-pass; writes the
//                                     module metadata where xla_dump_to says
// F is a function name without PJRT_. A key may be given several times.
//
// Programs: any bytes. "outputs=N" in them sets the number of outputs (1 without). Output i is f32
// and a copy of argument i modulo the arguments, plus one in each element; without arguments it is
// f32[4] of ones.
#include "base/core/clock.h"
#include "pjrt/client.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

struct fake_error {
  PJRT_Error base;
  PJRT_Error_Code code;
  char text[256];
};
struct PJRT_Event {
  pthread_mutex_t lock;
  pthread_cond_t changed;
  bool ready;
  bool told;  // ready, and the callback has been called
  int code, references;
  PJRT_Event_OnReadyCallback callback;
  void *user;
};
struct PJRT_Buffer {
  PJRT_Buffer_Type type;
  int64_t dims[8];
  size_t rank, bytes;
  char *data;
};
struct PJRT_Executable {
  size_t outputs;
  PJRT_Buffer_Type types[16];
  size_t ranks[16];
  int64_t dims[16];
  unsigned off;  // with passes=1: bit i = the pass fake_passes[i] is off
};
struct PJRT_LoadedExecutable {
  struct PJRT_Executable executable;
};
struct PJRT_Client {
  int unused;
};
struct PJRT_Device {
  int unused;
};
struct PJRT_DeviceDescription {
  int unused;
};
struct PJRT_TopologyDescription {
  int unused;
};

static char settings[4096];
static PJRT_Api table;
static PJRT_Extension_Base chain[8];
static struct PJRT_Client the_client;
static struct PJRT_Device the_device;
static struct PJRT_DeviceDescription the_description;
static struct PJRT_TopologyDescription the_topology;
static struct PJRT_Memory the_memory;
static PJRT_Device *const devices[1] = {&the_device};
static PJRT_Memory *const memories[1] = {&the_memory};
static PJRT_DeviceDescription *const descriptions[1] = {&the_description};

// Objects that were handed out and not given back, by kind; a test reads them through dlsym.
HSC_EXPORT int64_t hsc_fake_live_events, hsc_fake_live_buffers, hsc_fake_live_executables,
    hsc_fake_live_loaded, hsc_fake_live_errors;
// Settings can be changed at any time.
HSC_EXPORT void hsc_fake_set(const char *text);

// ---- settings -----------------------------------------------------------------------------------

// The next value of `key` after `from` (NULL = the first); out_value is NUL-terminated, cut at 200.
static const char *find_setting(const char *from, const char *key, char *out_value) {
  size_t key_size = strlen(key);
  for (const char *p = from ? from : settings; p && *p; p = strchr(p, ','), p = p ? p + 1 : NULL) {
    if (strncmp(p, key, key_size) != 0 || p[key_size] != '=')
      continue;
    const char *value = p + key_size + 1;
    size_t size = strcspn(value, ",");
    if (size > 200)
      size = 200;
    memcpy(out_value, value, size);
    out_value[size] = '\0';
    return value + size;
  }
  return NULL;
}

static bool setting_number(const char *key, int64_t *out_number) {
  char value[201];
  if (!find_setting(NULL, key, value))
    return false;
  *out_number = strtoll(value, NULL, 0);
  return true;
}

// Whether key=F[:rest] is set for the function; rest may be NULL.
static bool setting_for(const char *key, const char *function, char *out_rest) {
  char value[201];
  for (const char *p = find_setting(NULL, key, value); p; p = find_setting(p, key, value)) {
    size_t size = strcspn(value, ":");
    if (strlen(function) != size || strncmp(value, function, size) != 0)
      continue;
    if (out_rest)
      memcpy(out_rest, value[size] ? value + size + 1 : value + size,
             strlen(value[size] ? value + size + 1 : value + size) + 1);
    return true;
  }
  return false;
}

void hsc_fake_set(const char *text) {
  snprintf(settings, sizeof settings, "%s", text);
}

// ---- errors -------------------------------------------------------------------------------------

static PJRT_Error *make_error(int code, const char *text) {
  struct fake_error *error = calloc(1, sizeof *error);
  error->code = (PJRT_Error_Code)code;
  snprintf(error->text, sizeof error->text, "%s", text);
  __atomic_add_fetch(&hsc_fake_live_errors, 1, __ATOMIC_RELAXED);
  return &error->base;
}

// The process is stopped and goes on: when this returns, it has been.
static void be_stopped(void) {
  pid_t self = getpid();
  pid_t child = fork();
  if (child == 0) {
    kill(self, SIGSTOP);
    usleep(150000);
    kill(self, SIGCONT);
    _exit(0);
  }
  waitpid(child, NULL, 0);
}

// What the settings want of this call before it does its work.
static PJRT_Error *before(hsc_pjrt_function function, size_t struct_size, size_t expected) {
  const char *name = hsc_pjrt_function_get(function)->name + 5;
  char rest[201];
  int64_t number;
  if (setting_for("stdout", name, NULL)) {
    printf("fake plugin: %s was called\n", name);
    fflush(stdout);
  }
  if (setting_for("stderr", name, NULL))
    fprintf(stderr, "fake plugin: %s was called\n", name);
  if (setting_for("slow", name, rest))
    usleep((unsigned)(atoi(rest) * 1000));
  if (setting_for("stopped", name, rest) && unlink(rest) == 0)
    be_stopped();
  if (setting_for("handler", name, NULL)) {
    fputs(
        "E1123 01:37:28.749549 1 setup.cc:860] INVALID_ARGUMENT: no such host\n"
        "*** SIGABRT received by PID 1 (TID 1) on cpu 1, si_code=-6; stack trace: ***\n"
        "PC: @     0x7f15ec82eeec  (unknown)  (unknown)\n"
        "    @     0x7f15ea477677       1888  FailureSignalHandler()\n"
        "E1123 01:37:29.268496 1 crash_client.cc:261] RAW: will retry for up to 30 sec.\n"
        "E1123 01:37:29.269237 1 coredump_hook.cc:466] RAW: Dumping core locally.\n"
        "E1123 01:37:30.174942 1 process_state.cc:796] RAW: Raising signal 6\n",
        stderr);
    abort();
  }
  if (setting_for("abort", name, NULL)) {
    fprintf(stderr, "F0000 00:00:00.000000 1 fake_plugin.c:1] Check failed: told to abort in %s\n",
            name);
    abort();
  }
  if (setting_for("segv", name, NULL)) {
    signal(SIGSEGV, SIG_DFL);  // whatever a sanitizer makes of it
    raise(SIGSEGV);
  }
  if (setting_for("exit", name, rest))
    _exit(atoi(rest));
  while (setting_for("hang", name, NULL))
    usleep(100000);
  if (setting_for("fail", name, rest)) {
    const char *text = strchr(rest, ':');
    return make_error(atoi(rest), text ? text + 1 : "told to fail");
  }
  if (setting_number("strict", &number) &&
      struct_size != expected + (size_t)(number - 1) * sizeof(void *)) {
    expected += (size_t)(number - 1) * sizeof(void *);
    char text[200];
    snprintf(text, sizeof text, "Unexpected PJRT_%s_Args size: expected %zu, got %zu", name,
             expected, struct_size);
    return make_error(PJRT_Error_Code_INVALID_ARGUMENT, text);
  }
  return NULL;
}

#define IMPL(function) static PJRT_Error *impl_##function(function##_Args *args)

static void impl_PJRT_Error_Destroy(PJRT_Error_Destroy_Args *args) {
  if (args->error)
    __atomic_sub_fetch(&hsc_fake_live_errors, 1, __ATOMIC_RELAXED);
  free(args->error);
}
static void impl_PJRT_Error_Message(PJRT_Error_Message_Args *args) {
  int64_t mute;
  args->message =
      setting_number("mute", &mute) ? NULL : ((const struct fake_error *)args->error)->text;
  args->message_size = args->message ? strlen(args->message) : 0;
}
IMPL(PJRT_Error_GetCode) {
  args->code = ((const struct fake_error *)args->error)->code;
  return NULL;
}

// ---- plugin, events -----------------------------------------------------------------------------

IMPL(PJRT_Plugin_Initialize) {
  return args ? NULL : NULL;
}
IMPL(PJRT_Plugin_Attributes) {
  static const int64_t version[3] = {1, 9, 0};
  static const PJRT_NamedValue values[] = {
      {.struct_size = PJRT_NamedValue_STRUCT_SIZE,
       .name = "xla_version",
       .name_size = 11,
       .type = PJRT_NamedValue_kInt64,
       .int64_value = 2,
       .value_size = 1},
      {.struct_size = PJRT_NamedValue_STRUCT_SIZE,
       .name = "stablehlo_current_version",
       .name_size = 25,
       .type = PJRT_NamedValue_kInt64List,
       .int64_array_value = version,
       .value_size = 3},
      {.struct_size = PJRT_NamedValue_STRUCT_SIZE,
       .name = "kind!!",
       .name_size = 4,
       .type = PJRT_NamedValue_kString,
       .string_value = "fake??",
       .value_size = 4},
      {.struct_size = PJRT_NamedValue_STRUCT_SIZE,
       .name = "half",
       .name_size = 4,
       .type = PJRT_NamedValue_kFloat,
       .float_value = 0.5f,
       .value_size = 1},
      {.struct_size = PJRT_NamedValue_STRUCT_SIZE,
       .name = "yes",
       .name_size = 3,
       .type = PJRT_NamedValue_kBool,
       .bool_value = true,
       .value_size = 1},
  };
  args->attributes = values;
  args->num_attributes = HSC_COUNT_OF(values);
  return NULL;
}

static void event_release(PJRT_Event *event) {
  if (__atomic_sub_fetch(&event->references, 1, __ATOMIC_ACQ_REL) > 0)
    return;
  free(event);
  __atomic_sub_fetch(&hsc_fake_live_events, 1, __ATOMIC_RELAXED);
}
static PJRT_Error *event_result(const PJRT_Event *event) {
  return event->code ? make_error(event->code, "the work failed") : NULL;
}

static void *ring_later(void *argument) {
  PJRT_Event *event = argument;
  int64_t ms = 0;
  setting_number("async", &ms);
  usleep((unsigned)ms * 1000);
  pthread_mutex_lock(&event->lock);
  event->ready = true;
  PJRT_Event_OnReadyCallback callback = event->callback;
  pthread_mutex_unlock(&event->lock);
  // who was there first hears of it first, as in XLA
  if (callback)
    callback(event_result(event), event->user);
  pthread_mutex_lock(&event->lock);
  event->told = true;
  pthread_cond_broadcast(&event->changed);
  pthread_mutex_unlock(&event->lock);
  event_release(event);
  return NULL;
}

static PJRT_Event *make_event(bool of_work) {
  PJRT_Event *event = calloc(1, sizeof *event);
  int64_t number;
  pthread_mutex_init(&event->lock, NULL);
  pthread_cond_init(&event->changed, NULL);
  event->ready = true;
  event->told = true;
  event->references = 1;
  if (of_work && setting_number("event", &number))
    event->code = (int)number;
  __atomic_add_fetch(&hsc_fake_live_events, 1, __ATOMIC_RELAXED);
  if (of_work && setting_number("async", &number)) {
    pthread_t thread;
    event->ready = false;
    event->told = false;
    event->references = 2;
    pthread_create(&thread, NULL, ring_later, event);
    pthread_detach(thread);
  }
  return event;
}

IMPL(PJRT_Event_Destroy) {
  if (args->event)
    event_release(args->event);
  return NULL;
}
IMPL(PJRT_Event_IsReady) {
  pthread_mutex_lock(&args->event->lock);
  args->is_ready = args->event->ready;
  pthread_mutex_unlock(&args->event->lock);
  return NULL;
}
IMPL(PJRT_Event_Error) {
  return event_result(args->event);
}
IMPL(PJRT_Event_Await) {
  pthread_mutex_lock(&args->event->lock);
  while (!args->event->told)
    pthread_cond_wait(&args->event->changed, &args->event->lock);
  pthread_mutex_unlock(&args->event->lock);
  return event_result(args->event);
}
IMPL(PJRT_Event_OnReady) {
  pthread_mutex_lock(&args->event->lock);
  bool ready = args->event->ready;
  if (!ready) {
    args->event->callback = args->callback;
    args->event->user = args->user_arg;
  }
  pthread_mutex_unlock(&args->event->lock);
  if (ready)
    args->callback(event_result(args->event), args->user_arg);
  return NULL;
}

// ---- client, device, memory, topology -----------------------------------------------------------

static void add_settings(const PJRT_NamedValue *options, size_t count) {
  for (size_t i = 0; i < count; i++) {
    const PJRT_NamedValue *option = &options[i];
    if (option->name_size != 4 || memcmp(option->name, "fake", 4) != 0 ||
        option->type != PJRT_NamedValue_kString)
      continue;
    size_t used = strlen(settings);
    snprintf(settings + used, sizeof settings - used, "%s%.*s", used ? "," : "",
             (int)option->value_size, option->string_value);
  }
}

IMPL(PJRT_Client_Create) {
  add_settings(args->create_options, args->num_options);
  // again, with the new settings
  PJRT_Error *error =
      before(HSC_FN_PJRT_Client_Create, args->struct_size, PJRT_Client_Create_Args_STRUCT_SIZE);
  args->client = &the_client;
  return error;
}
IMPL(PJRT_Client_Destroy) {
  return args ? NULL : NULL;
}
#define TEXT(function, field, text) \
  IMPL(function) { \
    args->field = text; \
    args->field##_size = strlen(text); \
    return NULL; \
  }
#define VALUE(function, field, value) \
  IMPL(function) { \
    args->field = value; \
    return NULL; \
  }
#define LIST(function, field, count, list) \
  IMPL(function) { \
    args->field = list; \
    args->count = HSC_COUNT_OF(list); \
    return NULL; \
  }
IMPL(PJRT_Client_PlatformName) {
  static char name[201];
  if (!find_setting(NULL, "platform", name))
    strcpy(name, "fake");
  args->platform_name = name;
  args->platform_name_size = strlen(name);
  return NULL;
}
TEXT(PJRT_Client_PlatformVersion, platform_version, "fake 1.0")
LIST(PJRT_Client_Devices, devices, num_devices, devices)
LIST(PJRT_Client_AddressableDevices, addressable_devices, num_addressable_devices, devices)
LIST(PJRT_Client_AddressableMemories, addressable_memories, num_addressable_memories, memories)
VALUE(PJRT_Client_TopologyDescription, topology, &the_topology)
VALUE(PJRT_DeviceDescription_Id, id, 0)
VALUE(PJRT_DeviceDescription_ProcessIndex, process_index, 0)
TEXT(PJRT_DeviceDescription_Kind, device_kind, "FakeChip")
TEXT(PJRT_DeviceDescription_DebugString, debug_string, "fake device 0 of 1")
TEXT(PJRT_DeviceDescription_ToString, to_string, "FakeChip(0)")
VALUE(PJRT_DeviceDescription_Attributes, num_attributes, 0)
VALUE(PJRT_Device_GetDescription, device_description, &the_description)
VALUE(PJRT_Device_LocalHardwareId, local_hardware_id, 0)
IMPL(PJRT_Device_MemoryStats) {
  args->bytes_in_use = 100;
  args->peak_bytes_in_use = 200;
  args->peak_bytes_in_use_is_set = true;
  args->num_allocs = 77;
  return NULL;
}
TEXT(PJRT_Memory_Kind, kind, "device")
IMPL(PJRT_TopologyDescription_Create) {
  add_settings(args->create_options, args->num_options);
  if (args->topology_name_size != 8 || memcmp(args->topology_name, "fake:1x1", 8) != 0)
    return make_error(PJRT_Error_Code_INVALID_ARGUMENT, "no such topology");
  args->topology = &the_topology;
  return NULL;
}
IMPL(PJRT_TopologyDescription_Destroy) {
  return args ? NULL : NULL;
}
TEXT(PJRT_TopologyDescription_PlatformName, platform_name, "fake")
TEXT(PJRT_TopologyDescription_PlatformVersion, platform_version, "fake 1.0")
LIST(PJRT_TopologyDescription_GetDeviceDescriptions, descriptions, num_descriptions, descriptions)
VALUE(PJRT_TopologyDescription_Attributes, num_attributes, 0)

// ---- executables --------------------------------------------------------------------------------

static void describe(const char *code, size_t size, struct PJRT_Executable *out) {
  const char *found = memmem(code, size, "outputs=", 8);
  out->outputs = found && found + 8 < code + size ? (size_t)(found[8] - '0') : 1;
  if (out->outputs > 9)
    out->outputs = 1;
  for (size_t i = 0; i < out->outputs; i++) {
    out->types[i] = PJRT_Buffer_Type_F32;
    out->ranks[i] = 1;
    out->dims[i] = 4;
  }
}

static void misuse_memory(void) {
  int64_t number;
  if (setting_number("leak", &number)) {
    char *lost = malloc((size_t)number);
    if (lost)
      memset(lost, 1, (size_t)number);
  }
  while (setting_number("eat", &number)) {
    char *block = malloc(1 << 24);
    if (!block)
      abort();
    memset(block, 1, 1 << 24);
  }
}

// ---- passes=1 ----

enum {
  SAME,
  TWIN_A,
  TWIN_B,
  SLOW,
  FAST,
  NUMBERS,
  LAST_BIT,
  REFUSE,
  ABORT,
  HANG,
  RUN_ABORT,
  FAKE_PASSES
};
static const char *const fake_passes[FAKE_PASSES] = {
    "same-pass",     "twin-pass-a", "twin-pass-b", "slow-pass", "fast-pass",     "numbers-pass",
    "last-bit-pass", "error-pass",  "abort-pass",  "hang-pass", "run-abort-pass"};

// The text of an env_option_overrides entry: name, 12 LEN, 0a LEN, text (facts of
// CompileOptionsProto).
static size_t option_text(const char *options, size_t size, const char *name, char out[4096]) {
  const char *found = size ? memmem(options, size, name, strlen(name)) : NULL;
  out[0] = 0;
  if (!found)
    return 0;
  const char *end = options + size;
  const char *p = found + strlen(name);
  for (int level = 0; level < 2; level++) {
    size_t length = 0;
    if (p >= end || (*p != 0x12 && *p != 0x0a))
      return 0;
    p++;
    for (int shift = 0; p < end; shift += 7) {
      length |= (size_t)(*p & 127) << shift;
      if (!(*p++ & 128))
        break;
    }
    if (length > (size_t)(end - p))
      return 0;
    end = p + length;
  }
  size_t length = (size_t)(end - p) < 4095 ? (size_t)(end - p) : 4095;
  memcpy(out, p, length);
  out[length] = 0;
  return length;
}

static void write_fake_metadata(const char *directory) {
  char path[4200];
  snprintf(path, sizeof path, "%s/module_0000.metadata.textproto", directory);
  FILE *file = fopen(path, "w");
  if (!file)
    return;
  fprintf(file,
          "canonical_module_id: 0\npass_metadata { pass_id: 1 pass_name: \"pipeline-start\" "
          "pipeline_name: \"fake-pipeline\" }\n");
  for (int i = 0; i < FAKE_PASSES; i++)
    fprintf(file,
            "pass_metadata {\n  pass_id: %d\n  pass_name: \"%s\"\n  pipeline_name: "
            "\"fake-pipeline\"\n%s  start_timestamp_usec: %d\n  end_timestamp_usec: %d\n}\n",
            i + 2, fake_passes[i], i == SAME ? "" : "  module_changed: true\n", 1000 + 10 * i,
            1010 + 10 * i);
  fclose(file);
}

// Three stages: slow-pass keeps the numbers (a bridged gemm), numbers-pass doubles by 2.5,
// last-bit-pass has a custom call that nobody knows.
static void write_fake_stages(const char *directory) {
  static const char *const after[] = {"pipeline-start", "slow-pass", "numbers-pass",
                                      "last-bit-pass"};
  static const char *const body[] = {
      "  d = f32[4] multiply(x, x)\n  two = f32[] constant(2)\n  twos = f32[4] broadcast(two), "
      "dimensions={}\n  e = f32[4] multiply(d, twos)\n  ROOT r = f32[4] negate(e)\n",
      "  d = f32[4] multiply(x, x)\n  two = f32[] constant(2)\n  twos = f32[4,1] broadcast(two), "
      "dimensions={}\n  row = f32[4,1] reshape(d)\n  one = f32[1,1] constant({{2}})\n"
      "  g = (f32[4,1], s8[8]) custom-call(row, one), custom_call_target=\"__cublas$gemm\", "
      "backend_config={\"gemm_backend_config\":{\"alpha_real\":1,\"alpha_imag\":0,\"beta\":0,"
      "\"dot_dimension_numbers\":{\"lhs_contracting_dimensions\":[\"1\"],\"rhs_contracting_"
      "dimensions\":[\"0\"],\"lhs_batch_dimensions\":[],\"rhs_batch_dimensions\":[]},"
      "\"epilogue\":\"DEFAULT\"}}\n  h = f32[4,1] get-tuple-element(g), index=0\n  e = f32[4] "
      "reshape(h)\n  ROOT r = f32[4] negate(e)\n",
      "  d = f32[4] multiply(x, x)\n  two = f32[] constant(2.5)\n  twos = f32[4] broadcast(two), "
      "dimensions={}\n  e = f32[4] multiply(d, twos)\n  ROOT r = f32[4] negate(e)\n",
      "  ROOT r = f32[4] custom-call(x), custom_call_target=\"__vendor$secret\"\n"};
  for (size_t i = 0; i < sizeof after / sizeof after[0]; i++) {
    char path[4300];
    snprintf(path, sizeof path, "%s/module_0000.fake.%04zu.fake-pipeline.after_%s.txt", directory,
             i, after[i]);
    FILE *file = fopen(path, "w");
    if (!file)
      return;
    fprintf(file, "HloModule fake\nENTRY main {\n  x = f32[4] parameter(0)\n%s}\n", body[i]);
    fclose(file);
  }
}

static PJRT_Error *run_fake_passes(const char *options,
                                   size_t size,
                                   struct PJRT_Executable *executable) {
  char text[4096];
  int64_t on;
  if (!setting_number("passes", &on))
    return NULL;
  if (option_text(options, size, "xla_dump_to", text)) {
    write_fake_metadata(text);
    if (size && memmem(options, size, "xla_dump_hlo_pass_re", 20))
      write_fake_stages(text);
  }
  option_text(options, size, "xla_disable_hlo_passes", text);
  char *rest = NULL;
  for (char *name = strtok_r(text, ",", &rest); name; name = strtok_r(NULL, ",", &rest))
    for (int i = 0; i < FAKE_PASSES; i++)
      if (!strcmp(fake_passes[i], name))
        executable->off |= 1u << i;
  if (executable->off & 1u << REFUSE)
    return make_error(PJRT_Error_Code_INTERNAL,
                      "RET_CHECK failure (xla/fake/emitter.cc:1571) operand != nullptr");
  if (executable->off & 1u << ABORT) {
    fprintf(stderr,
            "F0000 00:00:00.000000 1 fake_rewriter.cc:94] Check failed: rank == 2 (3 vs. 2)\n");
    abort();
  }
  if (executable->off & 1u << HANG) {  // says as XLA does what it is at
    fputs("I1122 00:00:00.000000    7 hlo_pass_pipeline.cc:181]   HLO pass hang-pass\n", stderr);
    pause();
  }
  return NULL;
}

static void spin_ms(double duration_ms) {
  int64_t end = hsc_now_ns() + (int64_t)(duration_ms * 1e6);
  while (hsc_now_ns() < end)
    continue;
}

IMPL(PJRT_Client_Compile) {
  misuse_memory();
  PJRT_LoadedExecutable *loaded = calloc(1, sizeof *loaded);
  describe(args->program->code, args->program->code_size, &loaded->executable);
  PJRT_Error *error =
      run_fake_passes(args->compile_options, args->compile_options_size, &loaded->executable);
  if (error) {
    free(loaded);
    return error;
  }
  hsc_fake_live_loaded++;
  args->executable = loaded;
  return NULL;
}
IMPL(PJRT_Compile) {
  misuse_memory();
  PJRT_Executable *executable = calloc(1, sizeof *executable);
  describe(args->program->code, args->program->code_size, executable);
  hsc_fake_live_executables++;
  args->executable = executable;
  return NULL;
}
IMPL(PJRT_Executable_DeserializeAndLoad) {
  PJRT_LoadedExecutable *loaded = calloc(1, sizeof *loaded);
  describe(args->serialized_executable, args->serialized_executable_size, &loaded->executable);
  hsc_fake_live_loaded++;
  args->loaded_executable = loaded;
  return NULL;
}
IMPL(PJRT_LoadedExecutable_GetExecutable) {
  PJRT_Executable *executable = malloc(sizeof *executable);
  *executable = args->loaded_executable->executable;
  hsc_fake_live_executables++;
  args->executable = executable;
  return NULL;
}
IMPL(PJRT_Executable_Destroy) {
  hsc_fake_live_executables -= args->executable != NULL;
  free(args->executable);
  return NULL;
}
IMPL(PJRT_LoadedExecutable_Destroy) {
  hsc_fake_live_loaded -= args->executable != NULL;
  free(args->executable);
  return NULL;
}
TEXT(PJRT_Executable_Name, executable_name, "fake_program")
VALUE(PJRT_Executable_NumReplicas, num_replicas, 1)
VALUE(PJRT_Executable_NumPartitions, num_partitions, 1)
VALUE(PJRT_Executable_NumOutputs, num_outputs, args->executable->outputs)
VALUE(PJRT_Executable_SizeOfGeneratedCodeInBytes, size_in_bytes, 4242)
TEXT(PJRT_Executable_Fingerprint, executable_fingerprint, "fake-fingerprint")
IMPL(PJRT_Executable_OutputElementTypes) {
  args->output_types = args->executable->types;
  args->num_output_types = args->executable->outputs;
  return NULL;
}
IMPL(PJRT_Executable_OutputDimensions) {
  args->num_outputs = args->executable->outputs;
  args->dims = args->executable->dims;
  args->dim_sizes = args->executable->ranks;
  return NULL;
}
IMPL(PJRT_Executable_OptimizedProgram) {
  char text[512] = "optimized!";
  int64_t passes;
  unsigned off = args->executable->off & ~(1u << SAME);
  if (off & 1u << TWIN_B)
    off = (off & ~(1u << TWIN_B)) | 1u << TWIN_A;  // makes the same program
  if (setting_number("passes", &passes))
    snprintf(text, sizeof text,
             "HloModule fake\nENTRY main {\n  p = f32[4] parameter(0)\n  c = f32[4] constant({1, "
             "2, 3, %u})\n  ROOT r = f32[4] add(p, c)\n}\n",
             off);
  args->program->format = "hlo";
  args->program->format_size = 3;
  if (args->program->code)
    memcpy(args->program->code, text, strlen(text));
  args->program->code_size = strlen(text);
  return NULL;
}
IMPL(PJRT_Executable_GetCostAnalysis) {
  static const PJRT_NamedValue values[] = {{.struct_size = PJRT_NamedValue_STRUCT_SIZE,
                                            .name = "flops",
                                            .name_size = 5,
                                            .type = PJRT_NamedValue_kFloat,
                                            .float_value = 8.0f,
                                            .value_size = 1}};
  args->properties = values;
  args->num_properties = HSC_COUNT_OF(values);
  return NULL;
}
IMPL(PJRT_Executable_GetCompiledMemoryStats) {
  int64_t old;
  args->generated_code_size_in_bytes = 1;
  args->argument_size_in_bytes = 2;
  args->output_size_in_bytes = 3;
  args->alias_size_in_bytes = 4;
  args->temp_size_in_bytes = 5;
  args->host_generated_code_size_in_bytes = args->host_argument_size_in_bytes =
      args->host_output_size_in_bytes = 0;
  args->host_alias_size_in_bytes = args->host_temp_size_in_bytes = 0;
  if (setting_number("old_memory", &old))
    return NULL;
  int64_t peak = 6;
  setting_number("peak", &peak);
  args->peak_memory_in_bytes = peak;
  args->total_size_in_bytes = 7;
  return NULL;
}
static int64_t live_serialized;
static void serialized_deleter(PJRT_SerializedExecutable *serialized) {
  free(serialized);
  live_serialized--;
}
IMPL(PJRT_Executable_Serialize) {
  char *text = malloc(32);
  args->serialized_bytes_size =
      (size_t)snprintf(text, 32, "outputs=%zu", args->executable->outputs);
  args->serialized_bytes = text;
  args->serialized_executable = (PJRT_SerializedExecutable *)text;
  args->serialized_executable_deleter = serialized_deleter;
  live_serialized++;
  return NULL;
}

// ---- buffers, execution -------------------------------------------------------------------------

static PJRT_Buffer *make_buffer(PJRT_Buffer_Type type, size_t rank, const int64_t *dims) {
  PJRT_Buffer *buffer = calloc(1, sizeof *buffer);
  buffer->type = type;
  buffer->rank = rank;
  buffer->bytes = hsc_pjrt_type_bytes(type);
  for (size_t i = 0; i < rank && i < 8; i++)
    buffer->bytes *= (size_t)(buffer->dims[i] = dims[i]);
  buffer->data = malloc(buffer->bytes + 1);
  __atomic_add_fetch(&hsc_fake_live_buffers, 1, __ATOMIC_RELAXED);
  return buffer;
}
IMPL(PJRT_Client_BufferFromHostBuffer) {
  args->buffer = make_buffer(args->type, args->num_dims, args->dims);
  memcpy(args->buffer->data, args->data, args->buffer->bytes);
  args->done_with_host_buffer = make_event(true);
  return NULL;
}
IMPL(PJRT_Buffer_Destroy) {
  if (!args->buffer)
    return NULL;
  free(args->buffer->data);
  free(args->buffer);
  __atomic_sub_fetch(&hsc_fake_live_buffers, 1, __ATOMIC_RELAXED);
  return NULL;
}
VALUE(PJRT_Buffer_ElementType, type, args->buffer->type)
IMPL(PJRT_Buffer_Dimensions) {
  args->dims = args->buffer->dims;
  args->num_dims = args->buffer->rank;
  return NULL;
}
VALUE(PJRT_Buffer_OnDeviceSizeInBytes, on_device_size_in_bytes, args->buffer->bytes)
VALUE(PJRT_Buffer_ReadyEvent, event, make_event(true))
IMPL(PJRT_Buffer_ToHostBuffer) {
  if (!args->dst) {
    args->dst_size = args->src->bytes;
    return NULL;
  }
  if (args->dst_size < args->src->bytes)
    return make_error(PJRT_Error_Code_INVALID_ARGUMENT, "destination is too small");
  memcpy(args->dst, args->src->data, args->src->bytes);
  args->event = make_event(true);
  return NULL;
}
IMPL(PJRT_LoadedExecutable_Execute) {
  static const int64_t four[1] = {4};
  int64_t passes;
  float add = 1.0f;
  unsigned off = args->executable->executable.off;
  if (setting_number("passes", &passes)) {
    if (off & 1u << RUN_ABORT) {
      fprintf(stderr, "F0000 00:00:00.000000 1 fake_thunk.cc:7] Check failed: buffer\n");
      abort();
    }
    spin_ms(off & 1u << SLOW ? 6 : off & 1u << FAST ? 0.5 : 2);
    if (off & 1u << NUMBERS)
      add = 1.5f;
    if (off & 1u << LAST_BIT)
      add = 1.0f + 0x1p-22f;
  }
  for (size_t i = 0; i < args->executable->executable.outputs; i++) {
    PJRT_Buffer *from = args->num_args ? args->argument_lists[0][i % args->num_args] : NULL;
    PJRT_Buffer *to = from ? make_buffer(from->type, from->rank, from->dims)
                           : make_buffer(PJRT_Buffer_Type_F32, 1, four);
    for (size_t k = 0; k < to->bytes / sizeof(float); k++)
      ((float *)to->data)[k] = (from ? ((float *)from->data)[k] : 0.0f) + add;
    args->output_lists[0][i] = to;
  }
  int64_t code;
  if (args->device_complete_events) {
    args->device_complete_events[0] = make_event(true);
    if (setting_number("run_event", &code))
      args->device_complete_events[0]->code = (int)code;
  }
  return NULL;
}

// ---- the table ----------------------------------------------------------------------------------

typedef PJRT_Error *any_function(void *args);

#define IMPLEMENTED(X) \
  X(PJRT_Error_Destroy) \
  X(PJRT_Error_Message) \
  X(PJRT_Error_GetCode) \
  X(PJRT_Plugin_Initialize) \
  X(PJRT_Plugin_Attributes) \
  X(PJRT_Event_Destroy) \
  X(PJRT_Event_IsReady) \
  X(PJRT_Event_Error) \
  X(PJRT_Event_Await) \
  X(PJRT_Event_OnReady) \
  X(PJRT_Client_Create) \
  X(PJRT_Client_Destroy) \
  X(PJRT_Client_PlatformName) \
  X(PJRT_Client_PlatformVersion) \
  X(PJRT_Client_Devices) \
  X(PJRT_Client_AddressableDevices) \
  X(PJRT_Client_AddressableMemories) \
  X(PJRT_Client_TopologyDescription) \
  X(PJRT_DeviceDescription_Id) \
  X(PJRT_DeviceDescription_ProcessIndex) \
  X(PJRT_DeviceDescription_Kind) \
  X(PJRT_DeviceDescription_DebugString) \
  X(PJRT_DeviceDescription_ToString) \
  X(PJRT_DeviceDescription_Attributes) \
  X(PJRT_Device_GetDescription) \
  X(PJRT_Device_LocalHardwareId) \
  X(PJRT_Device_MemoryStats) \
  X(PJRT_Memory_Kind) \
  X(PJRT_TopologyDescription_Create) \
  X(PJRT_TopologyDescription_Destroy) \
  X(PJRT_TopologyDescription_PlatformName) \
  X(PJRT_TopologyDescription_PlatformVersion) \
  X(PJRT_TopologyDescription_GetDeviceDescriptions) \
  X(PJRT_TopologyDescription_Attributes) \
  X(PJRT_Client_Compile) \
  X(PJRT_Compile) \
  X(PJRT_Executable_DeserializeAndLoad) \
  X(PJRT_LoadedExecutable_GetExecutable) \
  X(PJRT_Executable_Destroy) \
  X(PJRT_LoadedExecutable_Destroy) \
  X(PJRT_Executable_Name) \
  X(PJRT_Executable_NumReplicas) \
  X(PJRT_Executable_NumPartitions) \
  X(PJRT_Executable_NumOutputs) \
  X(PJRT_Executable_SizeOfGeneratedCodeInBytes) \
  X(PJRT_Executable_Fingerprint) \
  X(PJRT_Executable_OutputElementTypes) \
  X(PJRT_Executable_OutputDimensions) \
  X(PJRT_Executable_OptimizedProgram) \
  X(PJRT_Executable_GetCostAnalysis) \
  X(PJRT_Executable_GetCompiledMemoryStats) \
  X(PJRT_Executable_Serialize) \
  X(PJRT_Client_BufferFromHostBuffer) \
  X(PJRT_Buffer_Destroy) \
  X(PJRT_Buffer_ElementType) \
  X(PJRT_Buffer_Dimensions) \
  X(PJRT_Buffer_OnDeviceSizeInBytes) \
  X(PJRT_Buffer_ReadyEvent) \
  X(PJRT_Buffer_ToHostBuffer) \
  X(PJRT_LoadedExecutable_Execute)

static any_function *implementations[HSC_PJRT_FUNCTION_COUNT];

// One thunk a function: the settings first, then the work, or UNIMPLEMENTED. The error functions
// are left alone.
#define FN(function, need, minor, doc) \
  static PJRT_Error *thunk_##function(void *args) { \
    if (HSC_FN_##function > HSC_FN_PJRT_Error_GetCode && \
        HSC_FN_##function != HSC_FN_PJRT_Client_Create) { \
      PJRT_Error *error = before(HSC_FN_##function, *(size_t *)args, function##_Args_STRUCT_SIZE); \
      if (error) \
        return error; \
    } \
    if (!implementations[HSC_FN_##function]) \
      return make_error(PJRT_Error_Code_UNIMPLEMENTED, \
                        #function " is not implemented by the fake plugin"); \
    return implementations[HSC_FN_##function](args); \
  }
#include "pjrt/functions.def"
#undef FN

static void fill_slots(void) {
  char value[201];
#define X(function) implementations[HSC_FN_##function] = (any_function *)(void *)impl_##function;
  IMPLEMENTED(X)
#undef X
#define FN(function, need, minor, doc) *(void **)&table.function = (void *)thunk_##function;
#include "pjrt/functions.def"
#undef FN
  for (int f = 0; f < HSC_PJRT_FUNCTION_COUNT; f++)
    if (setting_for("null", hsc_pjrt_function_get((hsc_pjrt_function)f)->name + 5, value))
      memset((char *)&table + hsc_pjrt_function_get((hsc_pjrt_function)f)->offset, 0,
             sizeof(void *));
}

HSC_EXPORT const PJRT_Api *GetPjrtApi(void);
const PJRT_Api *GetPjrtApi(void) {
  int64_t number;
  const char *environment = getenv("HLOSCOPE_FAKE");
  if (environment && !settings[0])
    hsc_fake_set(environment);
  memset(&table, 0, sizeof table);
  table.struct_size =
      setting_number("table_bytes", &number) ? (size_t)number : (size_t)PJRT_Api_STRUCT_SIZE;
  table.pjrt_api_version = (PJRT_Api_Version){.struct_size = PJRT_Api_Version_STRUCT_SIZE,
                                              .minor_version = PJRT_API_MINOR};
  if (setting_number("major", &number))
    table.pjrt_api_version.major_version = (int)number;
  if (setting_number("minor", &number))
    table.pjrt_api_version.minor_version = (int)number;
  fill_slots();
  int64_t count = 0;
  setting_number("extensions", &count);
  if (setting_number("loop", &number))
    count = 4;
  if (count > (int64_t)HSC_COUNT_OF(chain))
    count = HSC_COUNT_OF(chain);
  for (int64_t i = 0; i < count; i++)
    chain[i] = (PJRT_Extension_Base){PJRT_Extension_Base_STRUCT_SIZE, PJRT_Extension_Type_Example,
                                     i + 1 < count ? &chain[i + 1] : NULL};
  if (count && setting_number("loop", &number))
    chain[count - 1].next = &chain[1];
  table.extension_start = count ? &chain[0] : NULL;
  return &table;
}
