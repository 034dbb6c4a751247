// odd_plugin.c - our plugin, behaving as told in a way that is legal and seldom seen, or wrong in a
// way that no mutant of a single function is. What `hloscope conform` says of each is in
// tests/conform/test_odd_plugins.py.
//
//   HLOSCOPE_ODD_OF=build/libhloscope_cpu_pjrt.so HLOSCOPE_ODD=MODE
//
// legal: newer        a longer table, a later version, extensions that nobody knows
//        slow         what compiles, runs or makes an array or a client takes 0.2 s
//        noisy        every call prints a page to the standard streams
//        wordy        an error's message is a megabyte and no text
//        callbacks    call back from another thread, a while later
// wrong: hang-destroy, hang-events   what destroys, or waits for an event, never comes back
//        codes        errors have codes that do not exist
//        exit         compiling ends the process
//        hang-exit, crash-exit       so does the end of the process
//        hang-load, crash-load       GetPjrtApi
//        lock         running crashes, and the plugin cannot be loaded again (HLOSCOPE_ODD_LOCK: a
//                     file)
//        major        version 1.0
// odd_rules.c has more, by what it changes:
// legal: late         events take a while to be ready         older-N   version 0.N
//        bare         no extension                           sleeps    tasks of known length
//        fills        keeps memory for some hundred runs, then no more
// wrong: donated-stays, done-never, layout-reversed, copies-nowhere, one-kind, offset-lost,
//        last-lost, fingerprint-new, first-bytes, devices-swapped, leak, shared-extents,
//        shared-text, locked, twice, early, unimplemented, runs-nothing, short-table, no-on-ready,
//        no-execute, extension-empty, extension-small, extension-loop
// odd_faults.c has more that are wrong: faults that the right data, size or order of calls shows.
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "pjrt/abi.h"
#include "pjrt/client.h"

#include "odd_rules.h"

enum { MORE_SLOTS = 40, LATER_MINOR = 300, MEGABYTE = 1 << 20, PAGE = 4096 };

static const PJRT_Api *real;
static struct {
  PJRT_Api api;
  void *more[MORE_SLOTS];
} table;
static const char *mode = "";

static bool is_mode(const char *name) {
  return !strcmp(mode, name);
}

static PJRT_Error *call_real(hsc_pjrt_function function, void *args) {
  PJRT_Error *(*call)(void *);
  memcpy(&call, (const char *)real + hsc_pjrt_function_get(function)->offset, sizeof call);
  return call(args);
}

static void hang(void) {
  for (;;)
    pause();
}

typedef struct later {
  PJRT_Event_OnReadyCallback call;
  void *user;
  PJRT_Error *error;
} later;

static void *call_back(void *argument) {
  later *l = argument;
  usleep(30000);
  l->call(l->error, l->user);
  free(l);
  return NULL;
}

static void is_ready(PJRT_Error *error, void *user) {
  later *l = user;
  pthread_t thread;
  l->error = error;
  if (pthread_create(&thread, NULL, call_back, l) == 0)
    pthread_detach(thread);
}

static PJRT_Error *on_ready_later(PJRT_Event_OnReady_Args *args) {
  later *l = calloc(1, sizeof *l);
  PJRT_Event_OnReady_Args own = *args;
  l->call = args->callback;
  l->user = args->user_arg;
  own.callback = is_ready;
  own.user_arg = l;
  return call_real(HSC_FN_PJRT_Event_OnReady, &own);
}

static void be_wordy(PJRT_Error_Message_Args *args) {
  static char words[MEGABYTE];
  for (int i = 0; i < MEGABYTE; i++)
    words[i] = (char)(i * 37);
  words[0] = '\xff';
  args->message = words;
  args->message_size = sizeof words;
}

static void be_noisy(void) {
  static char page[PAGE];
  memset(page, 'x', sizeof page);
  for (int fd = 1; fd <= 2; fd++)
    if (write(fd, page, sizeof page) < 0)
      return;
}

static bool is_slow(hsc_pjrt_function function) {
  return function == HSC_FN_PJRT_Client_Compile || function == HSC_FN_PJRT_Client_Create ||
         function == HSC_FN_PJRT_LoadedExecutable_Execute ||
         function == HSC_FN_PJRT_Client_BufferFromHostBuffer;
}

// Before the real function; the process may not come back.
static void misbehave(hsc_pjrt_function function) {
  const char *name = hsc_pjrt_function_get(function)->name;
  const char *lock = getenv("HLOSCOPE_ODD_LOCK");
  if (is_mode("noisy"))
    be_noisy();
  if (is_mode("slow") && is_slow(function))
    usleep(200000);
  if (is_mode("hang-destroy") && strstr(name, "_Destroy"))
    hang();
  if (is_mode("hang-events") && function == HSC_FN_PJRT_Event_Await)
    hang();
  if (is_mode("exit") && function == HSC_FN_PJRT_Client_Compile)
    exit(0);
  if (is_mode("lock") && lock && function == HSC_FN_PJRT_LoadedExecutable_Execute) {
    close(open(lock, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
    raise(SIGSEGV);
  }
}

static PJRT_Error *odd(hsc_pjrt_function function, void *args) {
  size_t struct_size;
  memcpy(&struct_size, args, sizeof struct_size);
  bool is_whole = struct_size > sizeof(size_t);
  misbehave(function);
  if (is_mode("callbacks") && is_whole && function == HSC_FN_PJRT_Event_OnReady)
    return on_ready_later(args);
  PJRT_Error *error =
      is_whole ? odd_rule_call(mode, function, args, call_real) : call_real(function, args);
  if (is_mode("wordy") && is_whole && function == HSC_FN_PJRT_Error_Message)
    be_wordy(args);
  if (is_mode("codes") && is_whole && function == HSC_FN_PJRT_Error_GetCode)
    ((PJRT_Error_GetCode_Args *)args)->code = (PJRT_Error_Code)4711;
  return error;
}

#define FN(function, need, minor, doc) \
  static PJRT_Error *wrap_##function(void *args) { \
    return odd(HSC_FN_##function, args); \
  }
#include "pjrt/functions.def"
#undef FN

static PJRT_Error *(*const wrappers[])(void *) = {
#define FN(function, need, minor, doc) wrap_##function,
#include "pjrt/functions.def"
#undef FN
};

static PJRT_Error *unknown(void *args) {
  abort();  // nobody knows what it does
}

static void be_newer(void) {
  static PJRT_Extension_Base extensions[] = {
      {.struct_size = PJRT_Extension_Base_STRUCT_SIZE, .type = (PJRT_Extension_Type)99},
      {.struct_size = PAGE, .type = (PJRT_Extension_Type)4000}};
  extensions[0].next = &extensions[1];
  extensions[1].next = table.api.extension_start;
  table.api.extension_start = &extensions[0];
  table.api.struct_size = sizeof table;
  table.api.pjrt_api_version.minor_version = LATER_MINOR;
  for (int i = 0; i < MORE_SLOTS; i++) {
    PJRT_Error *(*slot)(void *) = unknown;
    memcpy(&table.more[i], &slot, sizeof slot);
  }
}

__attribute__((destructor)) static void at_the_end(void) {
  if (is_mode("hang-exit"))
    hang();
  if (is_mode("crash-exit"))
    raise(SIGSEGV);
}

HSC_EXPORT const PJRT_Api *GetPjrtApi(void);
const PJRT_Api *GetPjrtApi(void) {
  const char *path = getenv("HLOSCOPE_ODD_OF");
  const char *lock = getenv("HLOSCOPE_ODD_LOCK");
  if (real)
    return &table.api;
  mode = getenv("HLOSCOPE_ODD") ? getenv("HLOSCOPE_ODD") : "";
  if (is_mode("hang-load"))
    hang();
  if (is_mode("crash-load"))
    raise(SIGSEGV);
  if (is_mode("lock") && lock && access(lock, F_OK) == 0)
    return NULL;
  void *library = path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
  void *symbol = library ? dlsym(library, "GetPjrtApi") : NULL;
  if (!symbol)
    return NULL;
  GetPjrtApi_Fn *get;
  memcpy(&get, &symbol, sizeof get);
  real = get();
  memcpy(&table.api, real,
         real->struct_size < sizeof table.api ? real->struct_size : sizeof table.api);
  for (int f = 0; f < HSC_PJRT_FUNCTION_COUNT; f++)
    memcpy((char *)&table.api + hsc_pjrt_function_get((hsc_pjrt_function)f)->offset, &wrappers[f],
           sizeof wrappers[f]);
  if (is_mode("newer"))
    be_newer();
  static PJRT_Extension_Base room[4];
  odd_rule_table(mode, &table.api, room);
  if (is_mode("major"))
    table.api.pjrt_api_version.major_version = 1;
  return &table.api;
}
