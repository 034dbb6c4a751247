// conform_internal.h - what checks are written with.
//
// A check is a function of (context, number within its family). It calls the plugin through OK and
// CALL, which also write the call down as C for the reproducer, and says what is wrong with FAIL;
// falling off the end is a pass. It may leak: its process is cheap.
#pragma once

#include "base/core/bytes.h"
#include "base/core/memory.h"
#include "lab/conform/conform.h"
#include "pjrt/abi.h"
#include "pjrt/client.h"

enum { CONFORM_EXTENSIONS_MAX = 100, CONFORM_KNOWN_MAX = 512, CONFORM_STEPS_BYTES = 1 << 14 };

typedef struct conform_known {
  const void *pointer;
  char text[64];  // the C expression that gives it
} conform_known;

typedef struct hsc_conform {
  const PJRT_Api *api;
  PJRT_Client *client;  // shared by checks that leave it whole; made by the first that needs it
  PJRT_TopologyDescription *topology;
  const PJRT_NamedValue *options;  // of the client or the topology, from the device's text
  size_t option_count;
  const char *topology_name;  // NULL: on hardware
  const char *device;         // the plugin, as the command line has it
  const char *platform;       // of the first client; NULL = not known
  hsc_arena *arena;           // of the process
  hsc_bytes compile_options;  // of the last call that compiled
  // of the check that runs
  hsc_conform_outcome outcome;
  hsc_bytes seen;
  hsc_bytes steps;  // the calls so far, as C
  int call_count;
  int data_count;
  conform_known known[CONFORM_KNOWN_MAX];
  int known_count;
  // where the steps are told before each call (-1 = nowhere), and how much of them was told: a call
  // that ends the process leaves nothing else behind
  int steps_fd;
  size_t told;
} hsc_conform;

// ---- saying what is wrong ----

void hsc__conform_fail(hsc_conform *c, const char *format, ...) HSC_PRINTF(2, 3);
void hsc__conform_absent(hsc_conform *c, const char *format, ...) HSC_PRINTF(2, 3);
#define FAIL(c, ...) \
  do { \
    hsc__conform_fail((c), __VA_ARGS__); \
    return; \
  } while (0)
#define EXPECT(c, condition, ...) \
  do { \
    if (!(condition)) \
      FAIL((c), __VA_ARGS__); \
  } while (0)

// ---- calling ----

// The arguments of a function, struct_size filled in.
#define ARGS_OF(function, ...) \
  (function##_Args) { \
    .struct_size = function##_Args_STRUCT_SIZE, __VA_ARGS__ \
  }
bool hsc__conform_has(const hsc_conform *c, hsc_pjrt_function function);
// The error that the function returned, the caller's; a function that is not there ends the check
// as not offered (*out_called false).
PJRT_Error *hsc__conform_call(hsc_conform *c,
                              hsc_pjrt_function function,
                              void *args,
                              bool *out_called);
// True when it succeeded. An error is the check's failure, UNIMPLEMENTED of an optional function
// "not offered".
bool hsc__conform_ok(hsc_conform *c, hsc_pjrt_function function, void *args);
// As hsc__conform_ok of a function that every plugin has, for what its arguments ask: UNIMPLEMENTED
// says that the plugin has the function and not this program, type or layout.
bool hsc__conform_offered(hsc_conform *c, hsc_pjrt_function function, void *args);
#define OK(c, function, args) hsc__conform_ok((c), HSC_FN_##function, (args))
// It must return an error with a code other than OK and a message; false when it did not (the check
// has failed then, or is over).
bool hsc__conform_refused(hsc_conform *c, hsc_pjrt_function function, void *args, const char *what);
#define REFUSED(c, function, args, what) \
  hsc__conform_refused((c), HSC_FN_##function, (args), (what))
PJRT_Error_Code hsc__conform_code(const hsc_conform *c, const PJRT_Error *error);
void hsc__conform_message(const hsc_conform *c, const PJRT_Error *error, hsc_bytes *out);
void hsc__conform_error_free(const hsc_conform *c, PJRT_Error *error);

// Gives memory of the check a name in the reproducer.
void hsc__conform_name(hsc_conform *c, const void *pointer, const char *format, ...)
    HSC_PRINTF(3, 4);
void hsc__conform_data(hsc_conform *c, const void *data, size_t bytes);
void hsc__conform_step(hsc_conform *c, const char *format, ...) HSC_PRINTF(2, 3);
const char *hsc__conform_known(const hsc_conform *c, const void *pointer);  // its name, or NULL
// Of a hundred rounds that are alike the first is enough of a reproducer: what follows is written
// down for nobody, until hsc__conform_resume takes it back.
typedef struct conform_place {
  size_t steps;
  int calls, known, fd;
} conform_place;
conform_place hsc__conform_silence(hsc_conform *c);
void hsc__conform_resume(hsc_conform *c, conform_place place);
// Tells what was added to the steps since it was told last (conform_serve.c).
void hsc__conform_tell(hsc_conform *c);
// The whole reproducer, appended.
void hsc__conform_repro(const hsc_conform *c, const char *id, const char *rule, hsc_bytes *out);

// ---- what most checks need ----

// False ends the check: no client can be made here (not offered), or a call failed.
bool hsc__conform_client(hsc_conform *c);
PJRT_Device *hsc__conform_device(hsc_conform *c, size_t index);  // NULL ends the check
size_t hsc__conform_device_count(hsc_conform *c);
// Before a wait, in the steps: what a hang is told by.
#define HSC_CONFORM_AWAITS "// awaits "
// Waits for the event, destroys it, and tells whether it was fine. NULL is not.
bool hsc__conform_await(hsc_conform *c, PJRT_Event *event, const char *what);
// A dense array on device 0. NULL ends the check.
PJRT_Buffer *hsc__conform_upload(hsc_conform *c,
                                 PJRT_Buffer_Type type,
                                 const int64_t *dims,
                                 size_t rank,
                                 const void *data,
                                 size_t bytes);
// The same on a device of one's choice.
PJRT_Buffer *hsc__conform_upload_to(hsc_conform *c,
                                    PJRT_Device *device,
                                    PJRT_Buffer_Type type,
                                    const int64_t *dims,
                                    size_t rank,
                                    const void *data,
                                    size_t bytes);
// A tiled layout without tiles into the reproducer, under a name that the next call then has.
void hsc__conform_layout_step(hsc_conform *c, const PJRT_Buffer_MemoryLayout *layout);
// A program, whose code ends with a zero, into the reproducer, under a name that the next call then
// has.
void hsc__conform_program_step(hsc_conform *c, const PJRT_Program *program);
// Reads a buffer, dense row-major; `bytes` must be its size on the host.
bool hsc__conform_download(
    hsc_conform *c, PJRT_Buffer *buffer, size_t rank, void *out, size_t bytes);
// Compiles StableHLO text for one device. NULL ends the check: as not offered where the plugin says
// UNIMPLEMENTED of the program.
PJRT_LoadedExecutable *hsc__conform_compile(hsc_conform *c, const char *mlir);
// For so many replicas or partitions.
PJRT_LoadedExecutable *hsc__conform_compile_for(hsc_conform *c,
                                                const char *mlir,
                                                int replicas,
                                                int partitions);
// What was compiled, for a device or, where there is none, ahead of time. NULL ends the check.
PJRT_Executable *hsc__conform_executable_of(hsc_conform *c, const char *mlir);
// The client's topology, or the one that is compiled for. NULL ends the check.
PJRT_TopologyDescription *hsc__conform_topology(hsc_conform *c);
PJRT_Executable *hsc__conform_executable(hsc_conform *c, PJRT_LoadedExecutable *loaded);
// Runs it on device 0; outputs [output_count] are the caller's.
bool hsc__conform_execute(hsc_conform *c,
                          PJRT_LoadedExecutable *loaded,
                          PJRT_Buffer *const *arguments,
                          size_t argument_count,
                          PJRT_Buffer **outputs,
                          size_t output_count);
// The same with one argument and one result on each of `device_count` (at most 8) devices.
bool hsc__conform_execute_each(hsc_conform *c,
                               PJRT_LoadedExecutable *loaded,
                               size_t device_count,
                               PJRT_Buffer *const *arguments,
                               PJRT_Buffer **outputs);
void hsc__conform_buffer_free(hsc_conform *c, PJRT_Buffer *buffer);
// The extension of that type, of at least so many bytes. NULL ends the check as not offered.
const void *hsc__conform_extension(hsc_conform *c,
                                   PJRT_Extension_Type type,
                                   size_t least_bytes,
                                   const char *name);
// What a function of an extension returned, freed: as hsc__conform_ok and hsc__conform_refused.
bool hsc__conform_went_well(hsc_conform *c, const char *function, PJRT_Error *error);
bool hsc__conform_was_refused(hsc_conform *c,
                              const char *function,
                              PJRT_Error *error,
                              const char *what);

// The program and the array that most checks need: f32[4] of 1, 2, 3, 4, and twice that.
extern const int64_t hsc__conform_four[1];
extern const float hsc__conform_one_to_four[4];
extern const char hsc__conform_doubles[];
PJRT_Buffer *hsc__conform_some_floats(hsc_conform *c);  // on device 0; NULL ends the check
// As many floats whose event has failed with DATA_LOSS and that message. NULL ends the check.
PJRT_Buffer *hsc__conform_failed_floats(hsc_conform *c, const char *message);
// The four floats are `factor` times 1, 2, 3, 4. A NULL buffer is left to who made it NULL.
void hsc__conform_expect_times(hsc_conform *c, PJRT_Buffer *buffer, float factor);
// Runs a program of one argument and one result; NULL where either is missing or the run failed.
PJRT_Buffer *hsc__conform_run_one(hsc_conform *c,
                                  PJRT_LoadedExecutable *loaded,
                                  PJRT_Buffer *argument);

// "f32" of the element types that one byte or more holds; NULL for others.
typedef struct conform_type {
  PJRT_Buffer_Type type;
  const char *text;  // as conform.def's ids have it
  const char *mlir;  // as StableHLO has it
  size_t bytes;
  char kind;  // 'f' float, 'i' signed, 'u' unsigned, 'p' pred, 'c' complex, 'n' narrow float
} conform_type;
extern const conform_type hsc__conform_types[];
extern const int hsc__conform_type_count;

// A compile-options proto for one replica and one partition.
hsc_view hsc__conform_options_proto(hsc_conform *c);

// ---- the table ----

typedef struct conform_check {
  const char *id, *area, *rule, *source;
  void (*run)(hsc_conform *c, int number);
  int (*count)(void);                           // NULL = one
  void (*name)(int number, char out_text[64]);  // of a family's members
} conform_check;
extern const conform_check hsc__conform_checks[];
extern const size_t hsc__conform_check_count;

#define CHECK(id, area, rule, source, function) \
  void hsc__conform_##function(hsc_conform *c, int number);
#define FAMILY(id, area, rule, source, function) \
  void hsc__conform_##function(hsc_conform *c, int number); \
  int hsc__conform_##function##_count(void); \
  void hsc__conform_##function##_name(int number, char out_text[64]);
#include "lab/conform/conform.def"
#undef CHECK
#undef FAMILY
