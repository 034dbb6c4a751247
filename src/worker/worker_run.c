// worker_run.c - timed runs: every phase of a few, the whole of many, and times of k executions
// with s synchronisations.
//
// How to read: hsc__job_run is the job "run": it reads the request, feeds the inputs, runs once
// with every phase timed (record_run) or many times as a series (measure_series), and writes the
// outputs. hsc__job_model is the job "model".
#include "base/core/random.h"
#include "base/files/file_io.h"
#include "worker/pressure.h"
#include "stats/stats_design.h"
#include "worker/worker_internal.h"

hsc_status *hsc__request_feed(json_t *request,
                              const worker_program *program,
                              worker_feed *out_feed) {
  json_t *list = json_object_get(request, "feed");
  json_t *pair;
  size_t i;
  out_feed->count = 0;
  if (!list || json_is_null(list))
    return NULL;
  if (!json_is_array(list) || json_array_size(list) > HSC_WORKER_MOST_FEEDS)
    return HSC_ERR(INVALID_ARGUMENT, "\"feed\" is not a list of at most %d pairs [output, input]",
                   HSC_WORKER_MOST_FEEDS);
  json_array_foreach (list, i, pair) {
    json_t *output = json_array_get(pair, 0);
    json_t *input = json_array_get(pair, 1);
    if (!json_is_integer(output) || !json_is_integer(input))
      return HSC_ERR(INVALID_ARGUMENT, "feed %zu is not a pair [output, input]", i);
    json_int_t o = json_integer_value(output);
    json_int_t n = json_integer_value(input);
    if (o < 0 || o >= program->output_count || n < 0 || n >= program->input_count)
      return HSC_ERR(INVALID_ARGUMENT,
                     "feed %zu is [%lld, %lld]; the program has %d outputs and %d inputs", i,
                     (long long)o, (long long)n, program->output_count, program->input_count);
    out_feed->outputs[i] = (int)o;
    out_feed->inputs[i] = (int)n;
  }
  out_feed->count = (int)json_array_size(list);
  return NULL;
}

hsc_status *hsc__worker_execute(worker_executable *executable,
                                int64_t executions,
                                int64_t syncs,
                                const worker_feed *feed,
                                int64_t *out_enqueue_ns,
                                int64_t *out_wait_ns) {
  hsc_execution *execution = executable->execution;
  int64_t enqueue_ns = 0;
  int64_t wait_ns = 0;
  int64_t done = 0;
  for (int f = 0; f < feed->count; f++)
    for (int d = 0; d < executable->device_count; d++)
      hsc_execution_set_argument_on(
          execution, (size_t)d, (size_t)feed->inputs[f],
          executable->inputs[d * executable->input_count + feed->inputs[f]]);
  int64_t last = hsc_now_ns();
  for (int64_t i = 0; i < executions; i++) {
    for (int f = 0; f < feed->count && i > 0; f++)
      HSC_TRY(hsc_execution_feed(execution, (size_t)feed->outputs[f], (size_t)feed->inputs[f]));
    HSC_TRY(hsc_execution_run(execution));
    int64_t enqueued = hsc_now_ns();
    enqueue_ns += enqueued - last;
    last = enqueued;
    // The s synchronisations lie evenly among the k executions, one always after the last.
    int64_t due = (i + 1) * syncs / executions;
    if (due == done)
      continue;
    done = due;
    HSC_TRY(hsc_execution_await(execution));
    int64_t waited = hsc_now_ns();
    wait_ns += waited - last;
    last = waited;
  }
  *out_enqueue_ns = enqueue_ns;
  *out_wait_ns = wait_ns;
  return NULL;
}

// ---- run ----------------------------------------------------------------------------------------

typedef struct run_request {
  int64_t executions, syncs;
  worker_feed feed;
  int64_t records, series, warmups;  // warmups: runs before the series that are not in it
  hsc_stopping stopping;             // what ends the series before it is full
  bool inputs_each;                  // transfer before every record, else before the first
  bool inputs_keep;                  // transfer only when there are none
  int64_t seed;
  // share by which the floats among the inputs are moved; 0 = as the seed says
  double perturbation;
  json_t *data;  // what the inputs are in place of the seed's; NULL = nothing. Borrowed
  int cache;
  bool fetch;             // copy the outputs back, give digests
  const char *save_to;    // also write them as files there
  const char *xspace_to;  // profile the series into this file
} run_request;

static hsc_status *read_run_request(const hsc_worker *worker, json_t *request, run_request *out) {
  run_request r = {.executions = 1, .records = 1, .fetch = true};
  const char *inputs = "first";
  HSC_TRY(hsc__request_int(request, "executions", 1, 1000000, &r.executions));
  r.syncs = 1;
  HSC_TRY(hsc__request_int(request, "syncs", 1, r.executions, &r.syncs));
  HSC_TRY(hsc__request_int(request, "records", 0, 100000, &r.records));
  HSC_TRY(hsc__request_int(request, "series", 0, 10000000, &r.series));
  HSC_TRY(hsc__request_int(request, "warmups", 0, 1000000, &r.warmups));
  r.stopping =
      (hsc_stopping){.half_width = json_number_value(json_object_get(request, "half_width")),
                     .budget_seconds = json_number_value(json_object_get(request, "budget_s"))};
  if (!(r.stopping.half_width >= 0) || !(r.stopping.budget_seconds >= 0))
    return HSC_ERR(INVALID_ARGUMENT, "\"half_width\" and \"budget_s\" must not be negative");
  HSC_TRY(hsc__request_int(request, "seed", 0, INT64_MAX, &r.seed));
  HSC_TRY(hsc__request_text(request, "inputs", false, &inputs));
  HSC_TRY(hsc__request_bool(request, "fetch", &r.fetch));
  HSC_TRY(hsc__request_text(request, "save_to", false, &r.save_to));
  HSC_TRY(hsc__request_text(request, "xspace_to", false, &r.xspace_to));
  HSC_TRY(hsc__request_cache(worker, request, &r.cache));
  json_t *perturbation = json_object_get(request, "perturb");
  if (perturbation && (!json_is_number(perturbation) || !(json_number_value(perturbation) >= 0) ||
                       json_number_value(perturbation) > 1))
    return HSC_ERR(INVALID_ARGUMENT, "\"perturb\" is not a number from 0 to 1");
  r.perturbation = json_number_value(perturbation);
  r.data = json_object_get(request, "data");
  r.inputs_each = !strcmp(inputs, "each");
  r.inputs_keep = !strcmp(inputs, "keep");
  if (!r.inputs_each && !r.inputs_keep && strcmp(inputs, "first") != 0)
    return HSC_ERR(INVALID_ARGUMENT, "\"inputs\" is neither \"first\", \"each\" nor \"keep\"");
  *out = r;
  return NULL;
}

// One run with every phase timed; reading the usage counters lies between the phases, outside of
// all of them.
static hsc_status *record_run(hsc_worker *worker,
                              json_t *request,
                              const run_request *r,
                              bool transfer,
                              worker_program *program,
                              worker_executable **out_executable,
                              hsc_json *answer) {
  worker_compile how;
  hsc_pressure before;
  hsc_pressure_get(&before);
  HSC_TRY(hsc__worker_compile(worker, program, request, r->cache, out_executable, &how));
  worker_executable *executable = *out_executable;
  int64_t setup_start = hsc_now_ns();
  HSC_TRY(hsc__worker_prepare(program, executable));
  int64_t setup_ns = hsc_now_ns() - setup_start;
  int64_t transfer_ns = 0;
  int64_t enqueue_ns = 0;
  int64_t wait_ns = 0;
  hsc_usage before_transfer;
  hsc_usage before_run;
  hsc_usage transfer_usage = {0};
  hsc_usage run_usage;
  hsc_usage_get(&before_transfer);
  bool moved = transfer || (program->input_count > 0 && !executable->inputs[0]);
  if (moved) {
    hsc__worker_at(worker, "transferring the inputs");
    int64_t start = hsc_now_ns();
    HSC_TRY(hsc__worker_transfer_in(worker->client, program, executable));
    transfer_ns = hsc_now_ns() - start;
    transfer_usage = hsc__usage_since(&before_transfer);
  }
  hsc__worker_at(worker, "running");
  hsc_usage_get(&before_run);
  HSC_TRY(
      hsc__worker_execute(executable, r->executions, r->syncs, &r->feed, &enqueue_ns, &wait_ns));
  run_usage = hsc__usage_since(&before_run);
  hsc_pressure pressure = hsc_pressure_since(&before);

  const hsc_answer_record record = {
      .total_ns = how.lookup_ns + how.disk_ns + how.load_ns + how.compile_ns + setup_ns +
                  transfer_ns + enqueue_ns + wait_ns,
      .compile = hsc__outcome_text(how.outcome),
      .fingerprint = program->fingerprint,
      .lookup_ns = how.lookup_ns,
      .disk_ns = how.disk_ns,
      .load_ns = how.load_ns,
      .compile_ns = how.compile_ns,
      .setup_ns = setup_ns,
      .transfer_in_ns = transfer_ns,
      .transfer_in_bytes = moved ? program->input_bytes : 0,
      .enqueue_ns = enqueue_ns,
      .wait_ns = wait_ns,
      .page_faults = run_usage.minor_faults + run_usage.major_faults,
      .major_faults = run_usage.major_faults,
      .voluntary_switches = run_usage.voluntary_switches,
      .involuntary_switches = run_usage.involuntary_switches,
      .compile_page_faults = how.usage.minor_faults + how.usage.major_faults,
      .compile_major_faults = how.usage.major_faults,
      .compile_voluntary_switches = how.usage.voluntary_switches,
      .compile_involuntary_switches = how.usage.involuntary_switches,
      .transfer_page_faults = transfer_usage.minor_faults + transfer_usage.major_faults,
      .transfer_major_faults = transfer_usage.major_faults,
      .transfer_voluntary_switches = transfer_usage.voluntary_switches,
      .transfer_involuntary_switches = transfer_usage.involuntary_switches,
      .throttled_ns = pressure.throttled_ns,
      .runqueue_ns = pressure.runqueue_ns,
      .pressure_ns = pressure.waited_ns,
      .memory_pressure_ns = pressure.memory_ns,
      .stops = pressure.stop_count,
  };
  hsc_answer_write(answer, &hsc_answer_record_layout, &record);
  return NULL;
}

typedef struct run_series {
  int64_t *total_ns, *enqueue_ns, *wait_ns, *faults, *switches, *processor_ns;
  int64_t count;
} run_series;

static void write_ints(hsc_json *answer, const char *key, const int64_t *values, int64_t count) {
  hsc_json_key(answer, key);
  hsc_json_begin_array(answer);
  for (int64_t i = 0; i < count; i++)
    hsc_json_int(answer, values[i]);
  hsc_json_end_array(answer);
}

enum { SERIES_LEAST = 3 };  // runs that are made whatever the time budget says

static hsc_status *measure_series(const run_request *r,
                                  worker_executable *executable,
                                  hsc_json *answer) {
  int64_t n = r->series;
  int64_t *block = hsc_alloc((size_t)(6 * n) * sizeof(int64_t));
  double *seconds = hsc_alloc((size_t)(n + 1) * sizeof(double));
  run_series s = {block, block + n, block + 2 * n, block + 3 * n, block + 4 * n, block + 5 * n, n};
  hsc_status *status = block && seconds ? NULL : hsc_status_out_of_memory();
  hsc_stop stop = HSC_STOP_MOST;
  hsc_usage last;
  hsc_pressure before;
  int64_t enqueue_ns;
  int64_t wait_ns;
  int64_t i = 0;
  for (int64_t k = 0; k < r->warmups && !status; k++)
    status =
        hsc__worker_execute(executable, r->executions, r->syncs, &r->feed, &enqueue_ns, &wait_ns);
  hsc_pressure_get(&before);
  hsc_usage_get(&last);
  int64_t start_ns = hsc_now_ns();
  while (i < n && !status) {
    status = hsc__worker_execute(executable, r->executions, r->syncs, &r->feed, &s.enqueue_ns[i],
                                 &s.wait_ns[i]);
    s.total_ns[i] = s.enqueue_ns[i] + s.wait_ns[i];
    seconds[i] = (double)s.total_ns[i] / 1e9;
    hsc_usage now;
    hsc_usage_get(&now);
    s.faults[i] = now.minor_faults + now.major_faults - last.minor_faults - last.major_faults;
    s.switches[i] = now.involuntary_switches - last.involuntary_switches;
    s.processor_ns[i] = now.user_ns + now.system_ns - last.user_ns - last.system_ns;
    last = now;
    stop =
        hsc_stats_stop(&r->stopping, seconds, (size_t)++i, (double)(hsc_now_ns() - start_ns) / 1e9);
    if (stop == HSC_STOP_WIDTH || (stop == HSC_STOP_BUDGET && i >= SERIES_LEAST))
      break;
  }
  hsc_pressure lost = hsc_pressure_since(&before);
  if (!status) {
    if (i == n)
      stop = HSC_STOP_MOST;
    hsc_json_kv_string(answer, "series_ended_by", hsc_stop_text(stop));
    hsc_json_kv_int(answer, "throttled_ns", lost.throttled_ns);
    hsc_json_kv_int(answer, "waited_ns", lost.waited_ns);
    hsc_json_kv_int(answer, "memory_waited_ns", lost.memory_ns);
    hsc_json_kv_int(answer, "runqueue_ns", lost.runqueue_ns);
    hsc_json_kv_int(answer, "stops", lost.stop_count);
    hsc_json_key(answer, "series");
    hsc_json_begin_object(answer);
    write_ints(answer, "run_ns", s.total_ns, i);
    write_ints(answer, "enqueue_ns", s.enqueue_ns, i);
    write_ints(answer, "wait_ns", s.wait_ns, i);
    write_ints(answer, "page_faults_count", s.faults, i);
    write_ints(answer, "involuntary_switches_count", s.switches, i);
    write_ints(answer, "processor_ns", s.processor_ns, i);
    hsc_json_end_object(answer);
  }
  hsc_free(block);
  hsc_free(seconds);
  return status;
}

// The same under the plugin's profiler; what it recorded goes into a file as it is.
static hsc_status *profile_series(hsc_worker *worker,
                                  const run_request *r,
                                  worker_executable *executable,
                                  hsc_json *answer) {
  hsc_profiler *profiler = NULL;
  hsc_bytes xspace = {0};
  hsc_status *status = NULL;
  hsc__worker_at(worker, "starting the plugin's profiler");
  HSC_GOTO(hsc_profiler_create(worker->plugin, (hsc_view){0}, &profiler));
  HSC_GOTO(hsc_profiler_start(profiler));
  hsc__worker_at(worker, "running");
  HSC_GOTO(measure_series(r, executable, answer));
  hsc__worker_at(worker, "collecting the profile");
  HSC_GOTO(hsc_profiler_stop(profiler));
  HSC_GOTO(hsc_profiler_collect(profiler, &xspace));
  HSC_GOTO(hsc_file_write_atomic(r->xspace_to, xspace.data ? xspace.data : "", xspace.size));
  hsc_json_kv_string(answer, "xspace", r->xspace_to);
  hsc_json_kv_int(answer, "xspace_bytes", (int64_t)xspace.size);
done:
  hsc_profiler_destroy(profiler);
  hsc_bytes_deinit(&xspace);
  return status;
}

void hsc__write_output(hsc_json *answer,
                       const char *shape,
                       hsc_view data,
                       const char *file,
                       const worker_output *how) {
  char digest[33];
  hsc_hash128_hex(hsc_hash128_of(data.data ? data.data : "", data.size, 0), digest);
  const hsc_answer_output output = {
      .shape = shape, .digest = digest, .bytes = (int64_t)data.size, .file = file};
  hsc_json_begin_object(answer);
  hsc_answer_write_members(answer, &hsc_answer_output_layout, &output);
  if (how) {
    const hsc_answer_assembly assembly = {
        .pieces = how->pieces, .copies = how->copies, .copies_differ = how->copies_differ};
    hsc_answer_write_members(answer, &hsc_answer_assembly_layout, &assembly);
  }
  hsc_json_end_object(answer);
}

hsc_status *hsc__save_output(
    const char *dir, size_t index, const void *data, size_t size, hsc_bytes *out_path) {
  hsc_bytes_reset(out_path);
  hsc_bytes_printf(out_path, "%s/output_%zu.bin", dir, index);
  HSC_TRY(hsc_bytes_status(out_path));
  return hsc_file_write_atomic(hsc_bytes_text(out_path), data ? data : "", size);
}

static void spec_text(const hsc_array_spec *spec, hsc_bytes *out) {
  hsc_bytes_printf(out, "%s[", hsc_pjrt_type_text(spec->type));
  for (int d = 0; d < spec->rank; d++)
    hsc_bytes_printf(out, "%s%lld", d ? "," : "", (long long)spec->dims[d]);
  hsc_bytes_append_char(out, ']');
}

// Copies the outputs of the last run back: the time of all copies, and a digest of each.
static hsc_status *fetch_outputs(hsc_worker *worker,
                                 const run_request *r,
                                 const worker_program *program,
                                 worker_executable *executable,
                                 hsc_json *answer) {
  const hsc_array_spec *specs = NULL;
  int count = (int)hsc_executable_output_count(executable->executable);
  bool in_pieces = executable->output_pieces != NULL;
  HSC_TRY(hsc_executable_outputs(executable->executable, &specs));
  hsc__worker_at(worker, "transferring the outputs");
  hsc_bytes data = {0};
  hsc_bytes path = {0};
  hsc_bytes shape = {0};
  int64_t transfer_ns = 0;
  int64_t all_bytes = 0;
  hsc_status *status = NULL;
  if (r->save_to)
    HSC_GOTO(hsc_dir_make(r->save_to));
  hsc_json_key(answer, "outputs");
  hsc_json_begin_array(answer);
  for (int i = 0; i < count; i++) {
    worker_output how = {0};
    HSC_GOTO(hsc__worker_fetch(program, executable, i, &data, &how));
    transfer_ns += how.transfer_ns;
    all_bytes += (int64_t)data.size;
    if (r->save_to)
      HSC_GOTO(hsc__save_output(r->save_to, (size_t)i, data.data, data.size, &path));
    hsc_bytes_reset(&shape);
    if (in_pieces)
      hsc_shape_print(program->output_shapes[i], false, &shape);
    else
      spec_text(&specs[i], &shape);
    hsc__write_output(answer, hsc_bytes_text(&shape), hsc_bytes_view(&data),
                      r->save_to ? hsc_bytes_text(&path) : NULL, in_pieces ? &how : NULL);
  }
  hsc_json_end_array(answer);
  hsc_json_kv_int(answer, "transfer_out_ns", transfer_ns);
  hsc_json_kv_int(answer, "transfer_out_bytes", all_bytes);
  hsc__worker_at(worker, NULL);
done:
  hsc_bytes_deinit(&data);
  hsc_bytes_deinit(&path);
  hsc_bytes_deinit(&shape);
  return status;
}

hsc_status *hsc__job_run(hsc_worker *worker, json_t *request, hsc_json *answer) {
  worker_program *program = NULL;
  worker_executable *executable = NULL;
  run_request r = {0};
  HSC_TRY(hsc__worker_need_client(worker));
  HSC_TRY(read_run_request(worker, request, &r));
  HSC_TRY(hsc__worker_program(worker, request, &program));
  HSC_TRY(hsc__request_feed(request, program, &r.feed));
  HSC_TRY(hsc__worker_fill_inputs(program, (uint64_t)r.seed, r.perturbation, r.data));
  hsc__write_program_times(program, answer);
  hsc_json_key(answer, "records");
  hsc_json_begin_array(answer);
  for (int64_t i = 0; i < r.records; i++)
    HSC_TRY(record_run(worker, request, &r, r.inputs_each || (i == 0 && !r.inputs_keep), program,
                       &executable, answer));
  hsc_json_end_array(answer);
  if (!executable) {  // no record: the series alone, on what is there
    worker_compile how;
    HSC_TRY(hsc__worker_compile(worker, program, request, r.cache, &executable, &how));
    HSC_TRY(hsc__worker_prepare(program, executable));
    if (program->input_count > 0 && (!executable->inputs[0] || !r.inputs_keep))
      HSC_TRY(hsc__worker_transfer_in(worker->client, program, executable));
  }
  hsc__worker_at(worker, "running");
  if (r.series > 0)
    HSC_TRY(r.xspace_to ? profile_series(worker, &r, executable, answer)
                        : measure_series(&r, executable, answer));
  if (r.fetch && r.records + r.series > 0)
    HSC_TRY(fetch_outputs(worker, &r, program, executable, answer));
  hsc__worker_at(worker, NULL);
  return NULL;
}

// ---- model --------------------------------------------------------------------------------------

hsc_status *hsc__job_model(hsc_worker *worker, json_t *request, hsc_json *answer) {
  worker_program *program = NULL;
  worker_executable *executable = NULL;
  worker_compile how;
  int64_t repeats = 5;
  int64_t seed = 0;
  int64_t shuffle_seed = 1;
  worker_feed feed;
  int cache = 0;
  HSC_TRY(hsc__worker_need_client(worker));
  HSC_TRY(hsc__request_int(request, "repeats", 1, 100000, &repeats));
  HSC_TRY(hsc__request_int(request, "seed", 0, INT64_MAX, &seed));
  HSC_TRY(hsc__request_int(request, "shuffle_seed", 0, INT64_MAX, &shuffle_seed));
  HSC_TRY(hsc__request_cache(worker, request, &cache));
  json_t *points = json_object_get(request, "points");
  size_t point_count = json_array_size(points);
  size_t n;
  if (point_count == 0 || !hsc_mul_size(point_count, (size_t)repeats, &n) || n > 1000000)
    return HSC_ERR(
        INVALID_ARGUMENT,
        "\"points\" must be a list of [executions, syncs], at most 1000000 measurements in all");
  for (size_t i = 0; i < point_count; i++) {
    json_int_t k = json_integer_value(json_array_get(json_array_get(points, i), 0));
    json_int_t s = json_integer_value(json_array_get(json_array_get(points, i), 1));
    if (k < 1 || k > 1000000 || s < 1 || s > k)
      return HSC_ERR(INVALID_ARGUMENT,
                     "point %zu is not [executions, syncs] with 1 <= syncs <= executions", i);
  }
  HSC_TRY(hsc__worker_program(worker, request, &program));
  HSC_TRY(hsc__request_feed(request, program, &feed));
  HSC_TRY(hsc__worker_fill_inputs(program, (uint64_t)seed, 0, json_object_get(request, "data")));
  HSC_TRY(hsc__worker_compile(worker, program, request, cache, &executable, &how));
  HSC_TRY(hsc__worker_prepare(program, executable));
  if (program->input_count > 0 && !executable->inputs[0])
    HSC_TRY(hsc__worker_transfer_in(worker->client, program, executable));

  int64_t *block = hsc_alloc(4 * n * sizeof(int64_t));
  int64_t *order = block;
  int64_t *time_ns = block + n;
  int64_t *k = block + 2 * n;
  int64_t *s = block + 3 * n;
  if (!block)
    return hsc_status_out_of_memory();
  hsc_status *status = NULL;
  hsc_random random;
  hsc_random_init(&random, (uint64_t)shuffle_seed);
  for (size_t i = 0; i < n; i++)
    order[i] = (int64_t)(i % point_count);
  for (size_t i = n; i-- > 1;) {
    size_t j = hsc_random_below(&random, i + 1);
    int64_t swap = order[i];
    order[i] = order[j];
    order[j] = swap;
  }
  hsc__worker_at(worker, "running");
  for (size_t i = 0; i < n && !status; i++) {
    json_t *point = json_array_get(points, (size_t)order[i]);
    int64_t enqueue_ns = 0;
    int64_t wait_ns = 0;
    k[i] = json_integer_value(json_array_get(point, 0));
    s[i] = json_integer_value(json_array_get(point, 1));
    status = hsc__worker_execute(executable, k[i], s[i], &feed, &enqueue_ns, &wait_ns);
    time_ns[i] = enqueue_ns + wait_ns;
  }
  if (!status) {
    hsc_json_key(answer, "series");
    hsc_json_begin_object(answer);
    write_ints(answer, "time_ns", time_ns, (int64_t)n);
    write_ints(answer, "executions_count", k, (int64_t)n);
    write_ints(answer, "syncs_count", s, (int64_t)n);
    hsc_json_end_object(answer);
    hsc__worker_at(worker, NULL);
  }
  hsc_free(block);
  return status;
}
