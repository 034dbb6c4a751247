// plugin_internal.h - the built-in device as PJRT objects: what the files of src/plugin share.
//
// One file per object; plugin_table.c binds their entry functions into the table that GetPjrtApi
// gives. An entry function checks struct_size, converts, does one thing, converts back. Errors are
// hsc_status inside and PJRT_Error at the edge (plugin_error.c). Nothing here may end the host's
// process.
//
// Who holds whom: a buffer and an executable hold their client, a buffer holds its block of memory,
// a loaded executable and each of its descriptions hold one program. A host may destroy them in any
// order; the client's own memory goes with the last of them.
// Threads: every entry may be called from any thread. The client's lock guards its free lists, and
// all reference counts and block pointers of its buffers; it is held for nanoseconds and never
// while a program runs, memory is copied or a callback is called.
#pragma once

#include <pthread.h>
#include <stdatomic.h>

#include "cpu/core/cpu.h"
#include "cpu/core/isa.h"
#include "pjrt/abi.h"

// ---- errors (plugin_error.c) --------------------------------------------------------------------

// takes the status; NULL stays NULL
PJRT_Error *hsc__error_of(hsc_status *status);
// copies the text; code 0 gives NULL
PJRT_Error *hsc__error_of_code(int code, const char *text, size_t size);
PJRT_Error *hsc__error_struct_size(const char *function, size_t given, size_t needed);
#define HSC_ENTRY(function) PJRT_Error *hsc__##function(function##_Args *args)
// First line of an entry: the caller's struct must reach as far as `last`, the last field that is
// read or written unconditionally.
#define HSC_CHECK_ARGS(function, last) \
  do { \
    if (__builtin_expect(args->struct_size < HSC_PJRT_SIZE_TO(function##_Args, last), 0)) \
      return hsc__error_struct_size(#function, args->struct_size, \
                                    HSC_PJRT_SIZE_TO(function##_Args, last)); \
  } while (0)
// Whether the caller knows a field that came with a later version.
#define HSC_ARGS_HAVE(function, field) \
  (args->struct_size >= HSC_PJRT_SIZE_TO(function##_Args, field))
#define HSC_PJRT_TRY(expr) \
  do { \
    hsc_status *hsc_try_status = (expr); \
    if (hsc_try_status) \
      return hsc__error_of(hsc_try_status); \
  } while (0)

// ---- events (plugin_event.c) --------------------------------------------------------------------

// Counted; what is handed out is one reference. hsc__event_ready() is one immortal object, so that
// synchronous work costs no allocation.
PJRT_Event *hsc__event_ready(void);
// pending; NULL when out of memory
PJRT_Event *hsc__event_create(void);
PJRT_Event *hsc__event_retain(PJRT_Event *event);
void hsc__event_release(PJRT_Event *event);
// code 0 = fine; the first one counts; calls the callbacks
void hsc__event_set(PJRT_Event *event, int code, const char *text, size_t size);
// blocks; the event's error, a new object
PJRT_Error *hsc__event_wait(PJRT_Event *event);

// ---- client, devices, memories ------------------------------------------------------------------

enum { HSC_PLUGIN_MAX_DEVICES = 64, HSC_PLUGIN_TEXT = 96 };

typedef struct hsc__user_data {  // what hosts attach to a memory
  const void *key;
  void *data;
  void (*destroy)(void *);
  struct hsc__user_data *next;
} hsc__user_data;

struct PJRT_DeviceDescription {
  int id, process;
  char debug_text[HSC_PLUGIN_TEXT], text[HSC_PLUGIN_TEXT];
};

struct PJRT_TopologyDescription {
  int device_count;
  struct PJRT_DeviceDescription descriptions[HSC_PLUGIN_MAX_DEVICES];
  PJRT_DeviceDescription *list[HSC_PLUGIN_MAX_DEVICES];
  PJRT_NamedValue attributes[1];
  pthread_mutex_t lock;
  hsc_cpu_device *compiler;  // made by the first compile without a client
  _Atomic int references;    // executables compiled for it hold it
  bool of_client;            // part of a client: nobody destroys it alone
};

struct PJRT_Device {
  PJRT_Client *client;
  PJRT_DeviceDescription *description;
  PJRT_Memory *memory;
  int index;
};

typedef struct hsc__memory {
  PJRT_Memory base;  // vtable first, as hosts of new versions expect
  PJRT_Client *client;
  PJRT_Device *device;
  int id;
  char text[HSC_PLUGIN_TEXT];
  hsc__user_data *user_data;  // under the client's lock
} hsc__memory;
extern const PJRT_Memory_FunctionTable hsc__memory_vtable;
void hsc__memory_deinit(hsc__memory *memory);

// ---- blocks of device memory (plugin_block.c): under the client's lock unless said otherwise ----

typedef struct hsc__block {
  int references;
  unsigned char *data;
  size_t capacity_bytes;
  // of the free lists; -1 = goes back to the system or to its owner
  int size_class;
  // the host may read it at the same time: never reuse for an output
  bool read_only;
  // set when the last reference goes (the host's memory is free again); NULL = nobody waits
  PJRT_Event *released;
  void (*on_release)(void *data, void *user);  // called then, without the lock; NULL = none
  void *user;
  struct hsc__block *next;
} hsc__block;

enum { HSC_BLOCK_CLASSES = 192 };
typedef struct hsc__block_pool {
  hsc__block *free[HSC_BLOCK_CLASSES];
  hsc__block *headers;  // free block headers
  size_t cached_bytes, cache_limit_bytes;
  int64_t in_use_bytes, peak_bytes, allocation_count, largest_bytes;
} hsc__block_pool;

typedef struct hsc__free_blocks {  // blocks whose last reference went; finish them without the lock
  hsc__block *first;
} hsc__free_blocks;

// size 0 gives a block of one line, so that every array has an address. NULL when there is no
// memory. locks by itself
hsc__block *hsc__block_take(PJRT_Client *client, size_t size_bytes);
// from the free lists only; NULL = take it without the lock
hsc__block *hsc__block_pop_locked(PJRT_Client *client, size_t size_bytes);
// foreign memory; locks by itself
hsc__block *hsc__block_borrow(PJRT_Client *client, void *data, size_t size_bytes);
void hsc__block_release_locked(PJRT_Client *client, hsc__block *block, hsc__free_blocks *out_free);
// calls owners, frees; without the lock
void hsc__blocks_finish(PJRT_Client *client, hsc__free_blocks *free);
// all of that
void hsc__block_release(PJRT_Client *client, hsc__block *block);
void hsc__block_pool_deinit(hsc__block_pool *pool);

struct PJRT_Client {
  _Atomic int references;  // the host's, and one per buffer and loaded executable
  hsc_cpu_device *device;  // compiles and runs
  int device_count;        // of all processes of the job
  // those of this process: [first_device, first_device + own_count)
  int first_device, own_count;
  int process, process_count;  // this one, of so many
  struct hsc__peers *peers;    // the other processes; a mailbox of this one
  struct PJRT_Device devices[HSC_PLUGIN_MAX_DEVICES];
  PJRT_Device *device_list[HSC_PLUGIN_MAX_DEVICES];
  hsc__memory memories[HSC_PLUGIN_MAX_DEVICES];
  PJRT_Memory *memory_list[HSC_PLUGIN_MAX_DEVICES];
  struct PJRT_TopologyDescription topology;
  int64_t memory_limit_bytes;
  char *cache_dir;  // of compiled programs, heap; NULL = none
  pthread_mutex_t lock;
  hsc__block_pool pool;
  PJRT_Buffer *free_buffers;  // recycled objects
};
static inline bool hsc__device_is_own(const PJRT_Device *device) {
  const PJRT_Client *client = device->client;
  return device->index >= client->first_device &&
         device->index < client->first_device + client->own_count;
}
void hsc__client_retain(PJRT_Client *client);
void hsc__client_release(PJRT_Client *client);
// process_of [device_count]: whose the devices are; NULL = one process.
hsc_status *hsc__topology_init(PJRT_TopologyDescription *topology,
                               int device_count,
                               const int *process_of);
void hsc__topology_release(PJRT_TopologyDescription *topology);
const char *hsc__platform_version(void);
const char *hsc__platform_name(void);  // HLOSCOPE_PLATFORM_NAME, else HSC_PLATFORM_NAME
#define HSC_PLATFORM_NAME "hloscope"
#define HSC_DEVICE_KIND "cpu"

// ---- buffers (plugin_buffer.c, plugin_transfer.c, plugin_pending.c) -----------------------------

enum { HSC_BUFFER_INLINE_RANK = 8 };

// An order of dimensions in memory; there is one object for each, and none for row-major (NULL).
// Text as XLA prints layouts: "{0,1}".
struct PJRT_Layouts_MemoryLayout {
  int rank;
  int64_t minor_to_major[HSC_MAX_RANK];
  size_t size;  // of the text
  char text[4 * HSC_MAX_RANK + 8];
  struct PJRT_Layouts_MemoryLayout *next;
};
// INVALID_ARGUMENT when it is no permutation. It lives for ever.
hsc_status *hsc__layout_get(const int64_t *minor_to_major,
                            int rank,
                            const PJRT_Layouts_MemoryLayout **out_layout);
bool hsc__layout_same_memory(const PJRT_Layouts_MemoryLayout *a,
                             const PJRT_Layouts_MemoryLayout *b,
                             const int64_t *dims,
                             int rank);
void hsc__layout_strides(const PJRT_Layouts_MemoryLayout *layout,
                         const int64_t *dims,
                         int rank,
                         size_t element_bytes,
                         int64_t *out_strides);

// Dense, in the order of its layout. Recycled through client->free_buffers.
struct PJRT_Buffer {
  PJRT_Client *client;
  PJRT_Device *device;
  hsc__block *block;  // NULL = deleted or donated
  size_t size_bytes;
  hsc_type type;
  int rank;
  const int64_t *dims;                      // inline_dims, or heap for larger ranks
  const PJRT_Layouts_MemoryLayout *layout;  // NULL = row-major
  PJRT_Event *ready;                        // NULL = contents are there
  hsc__block *external_block;               // held for the host while external_count > 0
  int external_count;
  // during one execution, under the lock: an argument that is being donated
  bool donated_now;
  PJRT_Buffer *next;
  int64_t inline_dims[HSC_BUFFER_INLINE_RANK];
};

PJRT_Buffer_Type hsc__type_to_pjrt(hsc_type type);
// HSC_TYPE_INVALID when unknown
hsc_type hsc__type_of_pjrt(PJRT_Buffer_Type type);
// minor_to_major {rank-1, ..., 0}; static
const int64_t *hsc__row_major(int rank);
// Bytes of an array; INVALID_ARGUMENT for bad types, negative extents, overflow, rank over
// HSC_MAX_RANK. values of a few bits, one in a byte: fills its other bits as the type says
void hsc__extend_narrow(hsc_type type, unsigned char *data, size_t count);
hsc_status *hsc__array_bytes(PJRT_Buffer_Type type,
                             const int64_t *dims,
                             size_t rank,
                             size_t *out_bytes);
// a recycled object or NULL
PJRT_Buffer *hsc__buffer_pop_locked(PJRT_Client *client);
// recycled or new, locks by itself; NULL = no memory. Holds the client.
PJRT_Buffer *hsc__buffer_new(PJRT_Client *client);
// row-major
bool hsc__buffer_set_shape(
    PJRT_Buffer *buffer, hsc_type type, int rank, const int64_t *dims, size_t size_bytes);
void hsc__buffer_free(PJRT_Buffer *buffer);  // drops what it holds
// Buffer with memory of its own.
hsc_status *hsc__buffer_create(PJRT_Client *client,
                               PJRT_Device *device,
                               PJRT_Buffer_Type type,
                               const int64_t *dims,
                               size_t rank,
                               PJRT_Buffer **out_buffer);
// The same with contents that come later: buffer->ready is there and not set.
hsc_status *hsc__buffer_create_pending(PJRT_Client *client,
                                       PJRT_Device *device,
                                       PJRT_Buffer_Type type,
                                       const int64_t *dims,
                                       size_t rank,
                                       PJRT_Buffer **out_buffer);
// The block, referenced for the caller, after waiting for the contents; FAILED_PRECONDITION when
// deleted, or the buffer's own error.
PJRT_Error *hsc__buffer_pin(PJRT_Buffer *buffer, hsc__block **out_block);
void hsc__buffer_delete(PJRT_Buffer *buffer);
// Device and memory arguments of the interface: memory wins; both NULL = the first device.
// INVALID_ARGUMENT for foreign ones.
hsc_status *hsc__place(PJRT_Client *client,
                       PJRT_Device *device,
                       PJRT_Memory *memory,
                       PJRT_Device **out_device);
// Layout arguments: NULL, an order of dimensions, or the strides of one. UNIMPLEMENTED by name for
// tiles and for strides with gaps.
hsc_status *hsc__device_layout(const PJRT_Buffer_MemoryLayout *layout,
                               const int64_t *dims,
                               size_t rank,
                               size_t element_bytes,
                               const PJRT_Layouts_MemoryLayout **out_layout);
// Byte strides of a host array for a layout argument (NULL = row-major). INVALID_ARGUMENT /
// UNIMPLEMENTED for tiles.
hsc_status *hsc__host_strides(const PJRT_Buffer_MemoryLayout *layout,
                              const int64_t *dims,
                              int rank,
                              size_t element_bytes,
                              int64_t *out_strides);
// Of arrays of the same dimensions: the same bytes at the same places.
bool hsc__strides_alike(const int64_t *a, const int64_t *b, const int64_t *dims, int rank);
// Copies an array between two strided arrangements; element_bytes 1, 2, 4, 8 or 16. Strides may be
// negative.
void hsc__host_copy_strided(void *to,
                            const int64_t *to_strides,
                            const void *from,
                            const int64_t *from_strides,
                            const int64_t *dims,
                            int rank,
                            size_t element_bytes);

// Runs a job on a thread with a deep stack and waits for it (plugin_stack.c).
void hsc__on_deep_stack(void (*job)(void *), void *argument);

// ---- programs (plugin_program.c, plugin_options.c) ----------------------------------------------

typedef struct hsc__compile_settings {
  hsc_arena *arena;
  hsc_cpu_compile_options cpu;  // texts live in the arena
  int replica_count, partition_count;
  int device;   // id of the first of the device assignment, -1 = not given
  int ordinal;  // device_ordinal of the build options, -1 = not given
  // [listed_count] ids in the order of partitions, or of replicas
  int devices[HSC_PLUGIN_MAX_DEVICES];
  int listed_count;
} hsc__compile_settings;
// Reads CompileOptionsProto bytes on top of XLA_FLAGS. INVALID_ARGUMENT for malformed bytes and
// unknown overrides, by name.
hsc_status *hsc__compile_settings_read(hsc_view bytes, hsc__compile_settings *out_settings);
void hsc__compile_settings_deinit(hsc__compile_settings *settings);

// What a compiled program is, counted, immutable.
typedef struct hsc__program {
  _Atomic int references;
  hsc_cpu_executable *executable;
  hsc_arena *arena;
  char *options;  // CompileOptionsProto as given
  size_t options_size;
  int replica_count, partition_count;
  int device_count;  // of the two the one that is not 1
  // [device_count] ids of the devices that the options name; not placed: any will do
  int devices[HSC_PLUGIN_MAX_DEVICES];
  bool is_placed;
  // of several partitions: a line for each parameter, then one for the result, in XLA's text; "" =
  // none
  const char *shardings;
  int input_count, output_count;
  const hsc_shape *inputs;   // [input_count], leaves
  const hsc_shape *outputs;  // [output_count]
  const size_t *input_bytes, *output_bytes;
  // [output_count] input whose memory the output may take, -1 = none
  const int *alias;
  // [input_count] the program takes the buffer unless the host forbids it
  const bool *donated;
  bool donates;  // any of them
  char fingerprint[33];
  const PJRT_Buffer_Type *output_types;
  const int64_t *output_dims;  // of all outputs, one after the other
  const size_t *output_ranks;
  const char **kinds;  // "device" x max(inputs, outputs)
  const size_t *kind_sizes;
  const PJRT_NamedValue *costs;
  size_t cost_count;
  // [in_layout_count], [out_layout_count], leaves; NULL = all row-major
  const PJRT_Layouts_MemoryLayout **in_layouts, **out_layouts;
  int in_layout_count, out_layout_count;
  // heap; NULL until a host asks (plugin_layouts.c)
  PJRT_Layouts_MemoryLayout **input_layouts, **output_layouts;
  PJRT_TopologyDescription *topology;  // held when compiled without a client
  // of custom calls' instances, which live as long (plugin_ffi.c)
  struct hsc__ffi_state *ffi_states;
} hsc__program;
// plugin_program_layouts.c: takes the layouts out of module->layout_text and puts transposes at the
// entry's edge; bytes of a serialized program.
hsc_status *hsc__program_set_layouts(hsc__program *p, hsc_module *module);
void hsc__program_save_layouts(const hsc__program *p, hsc_bytes *out);
// once p->executable is there
hsc_status *hsc__program_load_layouts(hsc__program *p, hsc_view text);
hsc_shape hsc__shape_from_memory(hsc_arena *arena,
                                 const hsc_shape *memory,
                                 const PJRT_Layouts_MemoryLayout *layout);
void hsc__ffi_states_free(struct hsc__ffi_state *states);
hsc_status *hsc__program_compile(hsc_cpu_device *device,
                                 const PJRT_Program *program,
                                 hsc_view options,
                                 int device_count,
                                 hsc__program **out_program);
hsc_status *hsc__program_load(hsc_cpu_device *device,
                              hsc_view serialized,
                              hsc_view options,
                              int device_count,
                              hsc__program **out_program);
// From the client's cache on disk, else compiled and kept there.
hsc_status *hsc__program_get(PJRT_Client *client,
                             const PJRT_Program *program,
                             hsc_view options,
                             hsc__program **out_program);
hsc_status *hsc__program_serialize(const hsc__program *program, hsc_bytes *out_bytes);
void hsc__program_retain(hsc__program *program);
void hsc__program_release(hsc__program *program);

struct PJRT_Executable {
  hsc__program *program;
};

struct PJRT_LoadedExecutable {
  hsc__program *program;
  PJRT_Client *client;  // held
  _Atomic bool deleted;
  // [own_count] the devices of this process that it runs on, with their places among all
  int own_count;
  int ranks[HSC_PLUGIN_MAX_DEVICES];
  int32_t process_of[HSC_PLUGIN_MAX_DEVICES];  // [program->device_count]
  int devices[HSC_PLUGIN_MAX_DEVICES];         // [program->device_count] ids
  PJRT_Device *device_list[HSC_PLUGIN_MAX_DEVICES];
  PJRT_LogicalDeviceIds logical_ids[HSC_PLUGIN_MAX_DEVICES];
};

// What hosts give to custom calls with an execution, by the number of its type.
struct PJRT_ExecuteContext {
  int count, capacity;
  struct hsc__user_value {
    int64_t type;
    void *data;
  } *values;
};

// The execution that this thread is in, for custom calls; .program NULL outside.
typedef struct hsc__execution {
  hsc__program *program;
  const PJRT_ExecuteContext *context;  // NULL = none
  int64_t run_id;
  int rank;    // among the program's devices
  int device;  // its number
} hsc__execution;
extern _Thread_local hsc__execution hsc__current;
// takes the program
hsc_status *hsc__loaded_create(PJRT_Client *client,
                               hsc__program *program,
                               PJRT_LoadedExecutable **out_loaded);

// ---- the table ----------------------------------------------------------------------------------

// Entry functions, one declaration per row of functions.def; those that are not implemented are
// never defined nor bound.
#define FN(function, need, minor, doc) function##_Fn hsc__##function;
#include "pjrt/functions.def"
#undef FN
const PJRT_Api *hsc__plugin_table(void);
// every slot answers UNIMPLEMENTED with its name
void hsc__stubs_fill(PJRT_Api *table);
bool hsc__is_stub(const void *slot);
extern PJRT_Layouts_Extension hsc__layouts_extension;
extern PJRT_FFI_Extension hsc__ffi_extension;
extern PJRT_Profiler_Extension hsc__profiler_extension;
extern struct PJRT_CrossHostTransfers_Extension hsc__cross_host_extension;
// A host's program before it is looked at: there, as long as this version, its texts there too.
HSC_MUST_USE hsc_status *hsc__check_program(const PJRT_Program *program);
