// checks_repeat.c - what is made and destroyed a thousand times leaves no memory behind.
//
// Memory is the process's resident set, read after each round; a quarter of the rounds comes first,
// so that caches are filled. A plugin that is slow does fewer: a check is over in a few seconds. A
// leak grows on to the end, where a cache, or the heap of one more thread on a busy machine, has
// filled: what counts is left over all rounds and over the later half of them.
#include <stdio.h>
#include <unistd.h>

#include "base/core/clock.h"
#include "lab/conform/conform_internal.h"

enum { TIMES = 1000, ROOM = 1 << 16, LEAST = 50 };
// What one of them may leave behind: arrays have 64 KiB, so a leak is far above, noise far below.
enum { LEFT_EACH_BYTES = 8 << 10, LEFT_BYTES = 4 << 20 };
static const int64_t time_ns = 3000000000;
static const int64_t most_ns = 10000000000;

static int64_t resident_bytes(void) {
  long long pages = 0;
  FILE *file = fopen("/proc/self/statm", "r");
  if (file && fscanf(file, "%*s %lld", &pages) != 1)
    pages = 0;
  if (file)
    fclose(file);
  return pages * sysconf(_SC_PAGESIZE);
}

static bool make_array(hsc_conform *c, PJRT_LoadedExecutable *loaded) {
  static float values[ROOM / sizeof(float)];
  static const int64_t dims[1] = {ROOM / sizeof(float)};
  PJRT_Buffer *buffer =
      hsc__conform_upload(c, PJRT_Buffer_Type_F32, dims, 1, values, sizeof values);
  hsc__conform_buffer_free(c, buffer);
  return buffer != NULL;
}

static bool make_event(hsc_conform *c, PJRT_LoadedExecutable *loaded) {
  PJRT_Buffer *buffer = hsc__conform_some_floats(c);
  PJRT_Buffer_ReadyEvent_Args args = ARGS_OF(PJRT_Buffer_ReadyEvent, .buffer = buffer);
  bool is_fine = buffer && OK(c, PJRT_Buffer_ReadyEvent, &args) &&
                 hsc__conform_await(c, args.event, "the ready event");
  hsc__conform_buffer_free(c, buffer);
  return is_fine;
}

static bool make_run(hsc_conform *c, PJRT_LoadedExecutable *loaded) {
  PJRT_Buffer *argument = hsc__conform_some_floats(c);
  PJRT_Buffer *output = hsc__conform_run_one(c, loaded, argument);
  hsc__conform_buffer_free(c, argument);
  hsc__conform_buffer_free(c, output);
  return output != NULL;
}

static bool make_executable(hsc_conform *c, PJRT_LoadedExecutable *loaded) {
  PJRT_Executable_Destroy_Args args =
      ARGS_OF(PJRT_Executable_Destroy, .executable = hsc__conform_executable(c, loaded));
  return args.executable && OK(c, PJRT_Executable_Destroy, &args);
}

static bool make_error(hsc_conform *c, PJRT_LoadedExecutable *loaded) {
  PJRT_Client_LookupDevice_Args none =
      ARGS_OF(PJRT_Client_LookupDevice, .client = c->client, .id = 123456789);
  return REFUSED(c, PJRT_Client_LookupDevice, &none, "an id that no device has");
}

static bool make_client(hsc_conform *c, PJRT_LoadedExecutable *loaded) {
  PJRT_Client_Create_Args args =
      ARGS_OF(PJRT_Client_Create, .create_options = c->options, .num_options = c->option_count);
  bool called;
  PJRT_Error *error = hsc__conform_call(c, HSC_FN_PJRT_Client_Create, &args, &called);
  if (error) {  // one client a process is a limit that a plugin may have
    hsc__conform_error_free(c, error);
    hsc__conform_absent(c, "there is no second client beside the first");
    return false;
  }
  PJRT_Client_Destroy_Args destroy = ARGS_OF(PJRT_Client_Destroy, .client = args.client);
  return called && OK(c, PJRT_Client_Destroy, &destroy);
}

typedef bool make(hsc_conform *c, PJRT_LoadedExecutable *loaded);
static const struct {
  const char *name;
  make *make;
} repeats[] = {{"arrays", make_array},           {"events", make_event}, {"runs", make_run},
               {"executables", make_executable}, {"errors", make_error}, {"clients", make_client}};

int hsc__conform_repeat_count(void) {
  return (int)HSC_COUNT_OF(repeats);
}

void hsc__conform_repeat_name(int number, char out_text[64]) {
  snprintf(out_text, 64, "%s", repeats[number].name);
}

void hsc__conform_repeat(hsc_conform *c, int number) {
  PJRT_LoadedExecutable *loaded = hsc__conform_compile(c, hsc__conform_doubles);
  if (!loaded)
    return;
  int64_t begin = hsc_now_ns();
  int64_t resident[TIMES + 1] = {0};
  int rounds = 0;
  int warm = 0;
  for (; rounds < TIMES; rounds++) {
    int64_t spent = hsc_now_ns() - begin;
    bool is_late = spent > time_ns;
    if (is_late && (rounds - warm > LEAST || spent > most_ns))
      break;
    resident[rounds] = resident_bytes();
    if (!warm && (rounds == TIMES / 4 || is_late))
      warm = rounds;
    // the calls of one round are enough of a reproducer
    size_t steps = c->steps.size;
    int calls = c->call_count;
    int known = c->known_count;
    if (!repeats[number].make(c, loaded))
      return;
    c->steps.size = steps;
    c->call_count = calls;
    c->known_count = known;
  }
  resident[rounds] = resident_bytes();
  int middle = warm + (rounds - warm) / 2;
  int64_t left = resident[rounds] - resident[warm];
  int64_t later = resident[rounds] - resident[middle];
  bool grows = left >= LEFT_BYTES && left >= (int64_t)(rounds - warm) * LEFT_EACH_BYTES &&
               later >= (int64_t)(rounds - middle) * LEFT_EACH_BYTES;
  EXPECT(c, !grows, "%d of them left %.1f MiB behind, the later half %.1f MiB", rounds - warm,
         (double)left / (1 << 20), (double)later / (1 << 20));
}
