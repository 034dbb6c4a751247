// worker_interleave.c - several compiles of one program timed against each other, in blocks of
// random order.
//
// What drifts (clocks, other processes, memory) hits all variants of a block alike, so the ratio
// within a block is what is left of the compilers' difference. Each turn of a variant runs
// `warmups` times before it is timed: the variant before it left its own data in the caches.
#include <stdlib.h>

#include "base/core/random.h"
#include "worker/worker_internal.h"
#include "trace/xspace.h"

enum { MOST_VARIANTS = 4096 };

typedef struct interleave {
  worker_executable **executables;  // [variant_count]
  int64_t *compile_ns;              // [variant_count]
  size_t *order;                    // [variant_count]
  size_t variant_count;
  int64_t blocks, iterations, warmups;
  bool kernels;
} interleave;

// ---- kernels ------------------------------------------------------------------------------------

typedef struct kernel_span {
  int64_t start_ps, duration_ps;
} kernel_span;

static int by_start(const void *a, const void *b) {
  const kernel_span *x = a;
  const kernel_span *y = b;
  if (x->start_ps != y->start_ps)
    return x->start_ps < y->start_ps ? -1 : 1;
  return (x->duration_ps < y->duration_ps) - (x->duration_ps > y->duration_ps);
}

// Events of a line that belong to an operator (or all of it, where the line is one of operators);
// one inside another one (a loop's body) is counted with it.
static hsc_status *add_line(const hsc_xplane *plane,
                            const hsc_xline *line,
                            bool all,
                            int64_t *io_ps) {
  int64_t hlo_op = hsc_xplane_stat_id(plane, "hlo_op");
  int64_t end = 0;
  size_t count = 0;
  size_t capacity = 0;
  kernel_span *spans = NULL;
  hsc_xevent_cursor at = hsc_xline_events(line);
  for (hsc_xevent e; (all || hlo_op >= 0) && hsc_xevent_next(&at, &e);) {
    hsc_xstat stat;
    if (e.duration_ps <= 0 ||
        (!all && (!e.has_stats || !hsc_xstat_find(e.message, HSC_XEVENT_STATS, hlo_op, &stat))))
      continue;
    if (!HSC_GROW(spans, count, capacity)) {
      hsc_free(spans);
      return hsc_status_out_of_memory();
    }
    spans[count++] = (kernel_span){e.offset_ps, e.duration_ps};
  }
  if (count)
    qsort(spans, count, sizeof(*spans), by_start);
  for (size_t i = 0; i < count; i++) {
    if (spans[i].start_ps < end)
      continue;
    *io_ps += spans[i].duration_ps;
    end = spans[i].start_ps + spans[i].duration_ps;
  }
  hsc_free(spans);
  return NULL;
}

// One run inside a profile: what the device's own events took. A device's plane has a line "XLA
// Ops" (TPU, ours) or lines of streams (GPU); its other lines tell the same again. Host threads are
// looked at where they execute operators themselves (XLA:CPU).
static hsc_status *kernel_time(hsc_worker *worker, worker_executable *e, int64_t *out_ns) {
  // tensorflow.ProfileOptions: version 5, host_tracer_level 2, device_tracer_level 4
  static const char options[] = {0x28, 1, 0x10, 2, 0x20, 1};
  hsc_profiler *profiler = NULL;
  hsc_bytes bytes = {0};
  hsc_xspace *space = NULL;
  int64_t enqueue_ns;
  int64_t wait_ns;
  int64_t ps = 0;
  HSC_TRY(hsc_profiler_create(worker->plugin, (hsc_view){options, sizeof options}, &profiler));
  hsc_status *status = NULL;
  HSC_GOTO(hsc_profiler_start(profiler));
  HSC_GOTO(hsc__worker_execute(e, 1, 1, &(worker_feed){0}, &enqueue_ns, &wait_ns));
  HSC_GOTO(hsc_profiler_stop(profiler));
  HSC_GOTO(hsc_profiler_collect(profiler, &bytes));
  HSC_GOTO(hsc_xspace_of(hsc_bytes_view(&bytes), NULL, &space));
  for (int i = 0; i < space->plane_count; i++) {
    const hsc_xplane *plane = &space->planes[i];
    bool device = plane->name.size > 8 && !memcmp(plane->name.data, "/device:", 8);
    for (int k = 0; k < plane->line_count; k++) {
      hsc_view name = plane->lines[k].name;
      bool ops = device && hsc_view_equals_text(name, "XLA Ops");
      if (device && !ops && (name.size < 6 || memcmp(name.data, "Stream", 6) != 0))
        continue;
      HSC_GOTO(add_line(plane, &plane->lines[k], ops, &ps));
    }
  }
  *out_ns = ps / 1000;
done:
  hsc_xspace_close(space);
  hsc_bytes_deinit(&bytes);
  hsc_profiler_destroy(profiler);
  return status;
}

// ---- blocks -------------------------------------------------------------------------------------

static hsc_status *read_interleave(json_t *request,
                                   interleave *out,
                                   int64_t *out_seed,
                                   int64_t *out_shuffle_seed) {
  json_t *variants = json_object_get(request, "variants");
  *out = (interleave){
      .variant_count = json_array_size(variants), .blocks = 8, .iterations = 1, .warmups = 1};
  if (out->variant_count < 1 || out->variant_count > MOST_VARIANTS)
    return HSC_ERR(INVALID_ARGUMENT,
                   "\"variants\" is not a list of 1 to %d objects of compile options",
                   MOST_VARIANTS);
  *out_seed = 0;
  *out_shuffle_seed = 1;
  HSC_TRY(hsc__request_int(request, "blocks", 1, 1000000, &out->blocks));
  HSC_TRY(hsc__request_int(request, "iterations", 1, 1000000, &out->iterations));
  HSC_TRY(hsc__request_int(request, "warmups", 0, 1000000, &out->warmups));
  HSC_TRY(hsc__request_bool(request, "kernels", &out->kernels));
  HSC_TRY(hsc__request_int(request, "seed", 0, INT64_MAX, out_seed));
  HSC_TRY(hsc__request_int(request, "shuffle_seed", 0, INT64_MAX, out_shuffle_seed));
  if ((double)out->variant_count * (double)out->blocks * (double)out->iterations > 1e7)
    return HSC_ERR(INVALID_ARGUMENT, "more than 10000000 measurements in one job");
  return NULL;
}

static void shuffle(interleave *in, hsc_random *random) {  // Fisher and Yates
  for (size_t i = in->variant_count; i > 1; i--) {
    size_t k = (size_t)hsc_random_below(random, i);
    size_t t = in->order[i - 1];
    in->order[i - 1] = in->order[k];
    in->order[k] = t;
  }
}

// All of them, and once through each: the first run of an executable pays for what is done once.
// The inputs are transferred once for all. What is compiled first gets the freshest memory, next to
// the inputs, for the life of the process: were it always the same variant (the baseline), that
// would count as an effect of the others. So each process compiles in an order of its own.
static hsc_status *compile_variants(hsc_worker *worker,
                                    json_t *request,
                                    worker_program *program,
                                    interleave *in) {
  const worker_executable *first = NULL;
  for (size_t n = 0; n < in->variant_count; n++) {
    size_t i = in->order[n];
    json_t *overrides = json_array_get(json_object_get(request, "variants"), i);
    json_t *one = json_pack("{s:O}", "overrides", overrides);
    worker_compile how;
    if (!one)
      return HSC_ERR(INVALID_ARGUMENT, "variant %zu is not an object of compile options", i);
    hsc_status *status =
        hsc__worker_compile(worker, program, one, CACHE_MEMORY, &in->executables[i], &how);
    json_decref(one);
    if (status)
      return hsc_status_note(status, "while: compiling variant %zu", i);
    in->compile_ns[i] = how.compile_ns;
    worker_executable *e = in->executables[i];
    HSC_TRY(hsc__worker_prepare(program, e));
    hsc__worker_at(worker, "transferring the inputs");
    // one device's inputs serve all variants; those of several may be cut otherwise
    bool shared = first && e->device_count == 1;
    if (!shared)
      HSC_TRY(hsc__worker_transfer_in(worker->client, program, e));
    for (int k = 0; k < program->input_count && shared; k++)
      hsc_execution_set_argument(e->execution, (size_t)k, first->inputs[k]);
    first = first ? first : e;
    hsc__worker_at(worker, "running");
    int64_t enqueue_ns, wait_ns;
    HSC_TRY(hsc__worker_execute(e, 1, 1, &(worker_feed){0}, &enqueue_ns, &wait_ns));
  }
  return NULL;
}

static void write_series(hsc_json *answer, const char *key, const int64_t *values, int64_t count) {
  hsc_json_key(answer, key);
  hsc_json_begin_array(answer);
  for (int64_t i = 0; i < count; i++)
    hsc_json_int(answer, values[i]);
  hsc_json_end_array(answer);
}

static hsc_status *measure_blocks(hsc_worker *worker,
                                  interleave *in,
                                  hsc_random *random,
                                  hsc_json *answer) {
  static const worker_feed no_feed = {0};
  int64_t total = in->blocks * in->iterations * (int64_t)in->variant_count;
  int64_t at = 0;
  int64_t kernel_at = 0;
  int64_t most = in->kernels ? in->blocks * (int64_t)in->variant_count : 0;
  int64_t *rows = hsc_alloc((size_t)(3 * (total + most) + 1) * sizeof(*rows));
  int64_t *kernels = rows + 3 * total;
  if (!rows)
    return hsc_status_out_of_memory();
  hsc_status *status = NULL;
  for (int64_t block = 0; block < in->blocks; block++) {
    shuffle(in, random);
    for (size_t i = 0; i < in->variant_count; i++) {
      worker_executable *e = in->executables[in->order[i]];
      for (int64_t k = -in->warmups; k < in->iterations; k++) {
        int64_t enqueue_ns = 0;
        int64_t wait_ns = 0;
        HSC_GOTO(hsc__worker_execute(e, 1, 1, &no_feed, &enqueue_ns, &wait_ns));
        if (k < 0)
          continue;
        rows[at] = enqueue_ns + wait_ns;
        rows[total + at] = (int64_t)in->order[i];
        rows[2 * total + at++] = block;
      }
    }
    // apart from the timed turns: a profiler costs time
    for (size_t i = 0; in->kernels && i < in->variant_count; i++) {
      HSC_GOTO(kernel_time(worker, in->executables[in->order[i]], &kernels[kernel_at]));
      kernels[most + kernel_at] = (int64_t)in->order[i];
      kernels[2 * most + kernel_at++] = block;
    }
  }
  hsc_json_key(answer, "series");
  hsc_json_begin_object(answer);
  write_series(answer, "run_ns", rows, total);
  write_series(answer, "variant_count", rows + total, total);
  write_series(answer, "block_count", rows + 2 * total, total);
  write_series(answer, "compile_ns", in->compile_ns, (int64_t)in->variant_count);
  if (kernel_at) {
    write_series(answer, "kernel_ns", kernels, kernel_at);
    write_series(answer, "kernel_variant_count", kernels + most, kernel_at);
    write_series(answer, "kernel_block_count", kernels + 2 * most, kernel_at);
  }
  hsc_json_end_object(answer);
done:
  hsc_free(rows);
  return status;
}

hsc_status *hsc__job_interleave(hsc_worker *worker, json_t *request, hsc_json *answer) {
  worker_program *program = NULL;
  interleave in;
  int64_t seed, shuffle_seed;
  hsc_random random;
  HSC_TRY(hsc__worker_need_client(worker));
  HSC_TRY(read_interleave(request, &in, &seed, &shuffle_seed));
  HSC_TRY(hsc__worker_program(worker, request, &program));
  HSC_TRY(hsc__worker_fill_inputs(program, (uint64_t)seed, 0, json_object_get(request, "data")));
  in.executables = hsc_alloc(in.variant_count * sizeof(*in.executables));
  in.compile_ns = hsc_alloc(in.variant_count * sizeof(*in.compile_ns));
  in.order = hsc_alloc(in.variant_count * sizeof(*in.order));
  hsc_status *status =
      in.executables && in.compile_ns && in.order ? NULL : hsc_status_out_of_memory();
  hsc_random_init(&random, (uint64_t)shuffle_seed);
  for (size_t i = 0; i < in.variant_count && !status; i++)
    in.order[i] = i;
  if (!status) {
    shuffle(&in, &random);
    status = compile_variants(worker, request, program, &in);
  }
  if (!status && in.kernels && !hsc_plugin_extension(worker->plugin, PJRT_Extension_Type_Profiler))
    in.kernels = false;
  if (!status)
    status = measure_blocks(worker, &in, &random, answer);
  if (!status)
    hsc__worker_at(worker, NULL);
  // Their arguments are the buffers of the first one compiled: none is of use alone.
  hsc__worker_drop_executables(worker);
  hsc_free(in.executables);
  hsc_free(in.compile_ns);
  hsc_free(in.order);
  return status;
}
