// worker_internal.h - what the jobs of a worker share.
#pragma once

#include <jansson.h>

#include "base/core/clock.h"
#include "base/json/json_write.h"
#include "formats/common/formats.h"
#include "hlo/ir/hlo.h"
#include "worker/worker.h"
#include "pjrt/client.h"
#include "worker/answers.h"

enum { HSC_WORKER_MOST_FEEDS = 2048 };

// A program as jobs name it (path and transforms), read once a process.
typedef struct worker_program {
  struct worker_program *next;
  char *key;  // path and transforms
  hsc_module *module;
  char fingerprint[33];
  hsc_bytes code;                 // the file's text; after hsc__worker_code what the plugin gets
  const char *code_format;        // "hlo" or "mlir"; NULL before hsc__worker_code
  int input_count, output_count;  // leaves of the parameters and of the result
  // of whole arrays, in the module's arena: [input_count], [output_count]
  const hsc_shape **input_shapes, **output_shapes;
  hsc_literal **inputs;  // [input_count], filled with `seed` when asked for; NULL before
  uint64_t seed;
  double perturbation;  // by which share its floats were moved
  bool given;           // by a job's "data", at least in part
  int64_t input_bytes;
  hsc_program_spread spread;  // in the module's arena
  bool in_parts;              // the module is one partition's: whole, it makes no sense
  bool is_whole;              // run on one device, though it is for several
  int64_t read_ns, parse_ns, transform_ns, write_ns;
  bool reported;  // its times went into an answer
} worker_program;

// A compiled program and what is needed to run it.
typedef struct worker_executable {
  struct worker_executable *next;
  char *key;  // fingerprint, options
  hsc_executable *executable;
  hsc_execution *execution;
  hsc_buffer **inputs;  // [device_count * input_count]; NULL before the first transfer
  int input_count;      // of one device
  int device_count;     // that it is for; 0 before hsc__worker_prepare
  // how whole arrays lie on the devices, in parts_arena; NULL with one device
  hsc_pieces *input_pieces, *output_pieces;
  hsc_arena *parts_arena;
} worker_executable;

typedef enum worker_outcome { OUTCOME_MISS, OUTCOME_MEMORY, OUTCOME_DISK } worker_outcome;

typedef struct hsc_worker {
  hsc_plugin *plugin;
  hsc_client *client;
  hsc_topology *topology;  // ahead of time, in place of a client
  char *plugin_path;
  const char *device_text;    // as the user wrote the device; NULL = not said
  const char *topology_name;  // "v5e:2x2"; NULL = on hardware
  json_t *overrides;          // of every compile, before those of a job; NULL = none
  bool own_device;            // takes HLO text
  hsc_named_value *client_options;
  size_t client_option_count;
  hsc_arena *load_arena;  // of client_options
  char *cache_dir;        // of compiled programs; NULL = no cache on disk
  worker_program *programs;
  worker_executable *executables;
  hsc_buffer *sync_buffer;  // a scalar to synchronise on
  const char *step;         // what the running job is at, for errors
  bool quit;
} hsc_worker;

// Says what the running job is at (a literal; NULL = between steps): for errors, and on the child's
// note for who finds it dead.
void hsc__worker_at(hsc_worker *worker, const char *step);

typedef hsc_status *(*worker_job)(hsc_worker *worker, json_t *request, hsc_json *answer);
#define JOB(name, function, doc) \
  hsc_status *hsc__job_##function(hsc_worker *worker, json_t *request, hsc_json *answer);
#include "worker/worker_jobs.def"
#undef JOB

// ---- request members ----------------------------------------------------------------------------

// The error names the member. Missing optional members leave *out as it is.
HSC_MUST_USE hsc_status *hsc__request_text(json_t *request,
                                           const char *name,
                                           bool required,
                                           const char **out);
HSC_MUST_USE hsc_status *hsc__request_int(
    json_t *request, const char *name, int64_t least, int64_t most, int64_t *out);
HSC_MUST_USE hsc_status *hsc__request_bool(json_t *request, const char *name, bool *out);

// ---- device (worker_device.c) -------------------------------------------------------------------

HSC_MUST_USE hsc_status *hsc__worker_need_client(const hsc_worker *worker);
// a client or a topology
HSC_MUST_USE hsc_status *hsc__worker_need_compiler(const hsc_worker *worker);
const char *hsc__worker_platform_version(const hsc_worker *worker);
void hsc__worker_drop_executables(hsc_worker *worker);
void hsc__worker_close(hsc_worker *worker);

// ---- programs (worker_program.c) ----------------------------------------------------------------

// The program of a job's "program" and "transforms".
HSC_MUST_USE hsc_status *hsc__worker_program(hsc_worker *worker,
                                             json_t *request,
                                             worker_program **out_program);
// Makes program->code what the device of this worker takes.
HSC_MUST_USE hsc_status *hsc__worker_code(const hsc_worker *worker, worker_program *program);
// Host values of all inputs, from the job's "seed" (0). perturbation > 0: floats are moved by that
// share of themselves, at least by their type's precision. data (NULL = none): the job's "data", an
// entry an input: a file's path, the number of the argument that the seed is to make, or null.
HSC_MUST_USE hsc_status *hsc__worker_fill_inputs(worker_program *program,
                                                 uint64_t seed,
                                                 double perturbation,
                                                 json_t *data);
void hsc__worker_programs_destroy(hsc_worker *worker);
// Writes "program": {...} with the times of reading, once per program.
void hsc__write_program_times(worker_program *program, hsc_json *answer);

// ---- compile (worker_compile.c) -----------------------------------------------------------------

typedef struct worker_compile {  // how a compiled program was come by
  worker_outcome outcome;
  int64_t lookup_ns;   // hash, look into memory
  int64_t disk_ns;     // look on disk and read
  int64_t load_ns;     // deserialise and load
  int64_t compile_ns;  // the plugin's compile
  hsc_usage usage;     // over all of it: differences
} worker_compile;
enum { CACHE_MEMORY = 1, CACHE_DISK = 2 };
// cache: where to look and where to keep. Errors are the plugin's, with the step in worker->step.
HSC_MUST_USE hsc_status *hsc__worker_compile(hsc_worker *worker,
                                             worker_program *program,
                                             json_t *request,
                                             int cache,
                                             worker_executable **out_executable,
                                             worker_compile *out_how);
// The job's "cache": ["memory", "disk"]; default both.
HSC_MUST_USE hsc_status *hsc__request_cache(const hsc_worker *worker,
                                            json_t *request,
                                            int *out_cache);
// CompileOptionsProto: the worker's overrides, then the job's.
HSC_MUST_USE hsc_status *hsc__request_options(const hsc_worker *worker,
                                              const worker_program *program,
                                              json_t *request,
                                              hsc_bytes *out_options);
void hsc__worker_executable_destroy(worker_executable *executable);
const char *hsc__outcome_text(worker_outcome outcome);

// ---- several devices (worker_spread.c) ----------------------------------------------------------

// Whether the devices are enough for the program's partitions and replicas; else
// FAILED_PRECONDITION with what would be.
HSC_MUST_USE hsc_status *hsc__worker_check_spread(hsc_worker *worker,
                                                  const worker_program *program);
// Replicas, partitions, their devices and who partitions, into the options of a compile.
void hsc__worker_spread_options(const worker_program *program, hsc_compile_options *options);
// "partitions" and "replicas".
void hsc__write_spread(const hsc_program_spread *spread, hsc_json *answer);
// Reads a program: whole arrays, as it is written; in parts what only makes sense so.
HSC_MUST_USE hsc_status *hsc__worker_read_spread(hsc_view code,
                                                 const char *path,
                                                 worker_program *program);

// ---- inputs and outputs on one device and on several (worker_parts.c) ---------------------------

// The shapes of whole inputs and outputs, from the module. Errors: UNIMPLEMENTED for what the
// worker cannot make.
HSC_MUST_USE hsc_status *hsc__worker_shapes(worker_program *program);
// Arrays for runs, and how the inputs and outputs are cut. Done once an executable.
HSC_MUST_USE hsc_status *hsc__worker_prepare(const worker_program *program,
                                             worker_executable *executable);
// Every device gets its piece of every input.
HSC_MUST_USE hsc_status *hsc__worker_transfer_in(hsc_client *client,
                                                 worker_program *program,
                                                 worker_executable *executable);
// A whole output of the last run, put together from the devices' pieces.
typedef struct worker_output {
  int pieces;  // that it was put together from
  int copies;  // of each piece
  bool copies_differ;
  int64_t transfer_ns;
} worker_output;
HSC_MUST_USE hsc_status *hsc__worker_fetch(const worker_program *program,
                                           worker_executable *executable,
                                           int output,
                                           hsc_bytes *out_data,
                                           worker_output *out_how);

// ---- running (worker_run.c) ---------------------------------------------------------------------

// The job's "feed": list of [output, input]: which outputs become inputs of the next execution.
// Checked against the program.
typedef struct worker_feed {
  int count;
  int outputs[HSC_WORKER_MOST_FEEDS], inputs[HSC_WORKER_MOST_FEEDS];
} worker_feed;
HSC_MUST_USE hsc_status *hsc__request_feed(json_t *request,
                                           const worker_program *program,
                                           worker_feed *out_feed);
// k executions with s of them followed by a wait, the last one always. Each run starts from the
// transferred inputs.
HSC_MUST_USE hsc_status *hsc__worker_execute(worker_executable *executable,
                                             int64_t executions,
                                             int64_t syncs,
                                             const worker_feed *feed,
                                             int64_t *out_enqueue_ns,
                                             int64_t *out_wait_ns);
hsc_usage hsc__usage_since(const hsc_usage *before);
// The program's inputs as arguments of `entry`, whose parameters have the same leaves; in `arena`,
// the data is the program's. hsc__worker_fill_inputs comes first.
HSC_MUST_USE hsc_status *hsc__worker_arguments(worker_program *program,
                                               const hsc_computation *entry,
                                               hsc_arena *arena,
                                               hsc_literal ***out_arguments);
// Leaf number *io_left of a literal, counted depth first; NULL = there are fewer.
const hsc_literal *hsc__worker_leaf(const hsc_literal *literal, int *io_left);
// One element of "outputs": {shape, digest, bytes, file}, with {pieces, copies, copies_differ}
// where it was put together from several devices (how: NULL = it was not).
void hsc__write_output(
    hsc_json *answer, const char *shape, hsc_view data, const char *file, const worker_output *how);
// Writes <dir>/output_<index>.bin; its path comes out.
HSC_MUST_USE hsc_status *hsc__save_output(
    const char *dir, size_t index, const void *data, size_t size, hsc_bytes *out_path);
