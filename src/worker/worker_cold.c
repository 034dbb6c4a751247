// worker_cold.c - the whole way from nothing to a result, as often as asked, in clients of its own.
//
// A compile can be timed only once per client without meeting what the compile before left behind
// (a compiler's caches of kernels, warm pages), so each round makes a client, compiles, transfers,
// executes, and takes everything down again. The worker's own client stays as it is. For plugins
// that allow one client at a time, "fresh_client": false measures in the worker's client: compiles
// after the first may then find traces.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "worker/compile_cache.h"
#include "worker/worker_internal.h"

typedef struct cold_times {
  int64_t client_create_ns, compile_ns, setup_ns, transfer_in_ns, first_execution_ns, rest_ns,
      transfer_out_ns, serialize_ns, disk_read_ns, disk_load_ns, memory_hit_ns, client_destroy_ns,
      total_ns, compile_faults, first_faults, from_disk;
} cold_times;
enum { COLD_FIELDS = sizeof(cold_times) / sizeof(int64_t) };
static const char *const COLD_NAMES[COLD_FIELDS] = {"client_create_ns",
                                                    "compile_ns",
                                                    "setup_ns",
                                                    "transfer_in_ns",
                                                    "first_execution_ns",
                                                    "rest_ns",
                                                    "transfer_out_ns",
                                                    "serialize_ns",
                                                    "disk_read_ns",
                                                    "disk_load_ns",
                                                    "memory_hit_ns",
                                                    "client_destroy_ns",
                                                    "total_ns",
                                                    "compile_page_faults_count",
                                                    "first_page_faults_count",
                                                    "read_from_disk_count"};

static hsc_status *transfer_out(worker_executable *e, int64_t *out_ns) {
  hsc_bytes data = {0};
  hsc_status *status = NULL;
  for (size_t i = 0; i < hsc_executable_output_count(e->executable) && !status; i++) {
    hsc_buffer *buffer = hsc_execution_output(e->execution, i);
    size_t size = 0;
    hsc_bytes_reset(&data);
    status = hsc_buffer_host_bytes(buffer, &size);
    if (status || size == 0)
      continue;
    void *room = hsc_bytes_extend(&data, size);
    status = hsc_bytes_status(&data);
    int64_t start = hsc_now_ns();
    if (!status)
      status = hsc_buffer_to_host(buffer, room, size);
    *out_ns += hsc_now_ns() - start;
  }
  hsc_bytes_deinit(&data);
  return status;
}

// Takes what was just written out of the kernel's memory, so that reading it again is reading from
// the disk. False: it is still there (tmpfs, no right to, shared with somebody).
static bool drop_from_memory(const char *path) {
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  struct stat info;
  if (fd < 0)
    return false;
  bool dropped = fdatasync(fd) == 0 && posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED) == 0 &&
                 fstat(fd, &info) == 0 && info.st_size > 0;
  void *data =
      dropped ? mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_SHARED, fd, 0) : MAP_FAILED;
  close(fd);
  if (data == MAP_FAILED)
    return false;
  size_t page = (size_t)sysconf(_SC_PAGESIZE);
  size_t pages = ((size_t)info.st_size + page - 1) / page;
  unsigned char *resident = hsc_alloc(pages);
  dropped = resident && mincore(data, (size_t)info.st_size, resident) == 0;
  for (size_t i = 0; dropped && i < pages; i++)
    dropped = !(resident[i] & 1);
  hsc_free(resident);
  munmap(data, (size_t)info.st_size);
  return dropped;
}

// Serialises, writes to the cache, drops it from memory, reads and loads again: what a hit on disk
// costs. -1 where the plugin cannot. The compiled program is destroyed in between: a device that
// shares code between programs must not find it there.
static hsc_status *time_disk(hsc_worker *worker,
                             hsc_client *client,
                             worker_program *program,
                             hsc_view options,
                             worker_executable *e,
                             cold_times *t) {
  t->serialize_ns = t->disk_read_ns = t->disk_load_ns = -1;
  if (!worker->cache_dir)
    return NULL;
  hsc_bytes payload = {0};
  hsc_bytes key_text = {0};
  hsc_bytes information = {0};
  hsc_bytes path = {0};
  hsc_executable *loaded = NULL;
  bool found = false;
  int64_t start = hsc_now_ns();
  hsc_status *status = hsc_executable_serialize(e->executable, &payload);
  t->serialize_ns = hsc_now_ns() - start;
  if (hsc_status_code(status) == HSC_UNIMPLEMENTED) {
    hsc_status_free(status);
    status = NULL;
    t->serialize_ns = -1;
    goto done;
  }
  if (status)
    goto done;
  hsc_compile_key key = {program->fingerprint, options, worker->plugin_path,
                         hsc_client_platform_version(client), hsc_plugin_minor(worker->plugin)};
  HSC_GOTO(hsc_compile_key_text(&key, &key_text));
  HSC_GOTO(hsc_compile_information(program->module->name, t->compile_ns, &information));
  HSC_GOTO(hsc_disk_cache_put(worker->cache_dir, hsc_bytes_view(&key_text),
                              hsc_bytes_view(&information), hsc_bytes_view(&payload)));
  char name[33];
  hsc_disk_cache_name(hsc_bytes_view(&key_text), name);
  hsc_bytes_printf(&path, "%s/%s.hsx", worker->cache_dir, name);
  HSC_GOTO(hsc_bytes_status(&path));
  t->from_disk = drop_from_memory(hsc_bytes_text(&path));
  hsc_bytes_reset(&payload);
  hsc_execution_destroy(e->execution);
  hsc_executable_destroy(e->executable);
  e->execution = NULL;
  e->executable = NULL;
  start = hsc_now_ns();
  HSC_GOTO(hsc_disk_cache_get(worker->cache_dir, hsc_bytes_view(&key_text), &payload, &found));
  int64_t read = hsc_now_ns();
  if (!found)
    goto done;  // another process removed it
  HSC_GOTO(hsc_client_load(client, hsc_bytes_view(&payload), options, &loaded));
  t->disk_load_ns = hsc_now_ns() - read;
  t->disk_read_ns = read - start;
done:
  hsc_executable_destroy(loaded);
  hsc_bytes_deinit(&payload);
  hsc_bytes_deinit(&key_text);
  hsc_bytes_deinit(&information);
  hsc_bytes_deinit(&path);
  return status;
}

static hsc_status *one_round(hsc_worker *worker,
                             json_t *request,
                             worker_program *program,
                             hsc_view options,
                             bool fresh,
                             int64_t executions,
                             int64_t syncs,
                             const worker_feed *feed,
                             cold_times *t) {
  hsc_client *client = worker->client;
  worker_executable *e = hsc_alloc(sizeof(*e));
  if (!e)
    return hsc_status_out_of_memory();
  hsc_status *status = NULL;
  hsc_usage before;
  int64_t enqueue_ns = 0;
  int64_t wait_ns = 0;

  hsc__worker_at(worker, "creating the client");
  int64_t start = hsc_now_ns();
  if (fresh)
    HSC_GOTO(hsc_client_create(worker->plugin, worker->client_options, worker->client_option_count,
                               &client));
  t->client_create_ns = hsc_now_ns() - start;
  hsc__worker_at(worker, "compiling");
  hsc_usage_get(&before);
  start = hsc_now_ns();
  HSC_GOTO(hsc_client_compile(client, hsc_bytes_view(&program->code), program->code_format, options,
                              &e->executable));
  t->compile_ns = hsc_now_ns() - start;
  t->compile_faults = hsc__usage_since(&before).minor_faults;
  hsc__worker_at(worker, "transferring the inputs");
  start = hsc_now_ns();
  HSC_GOTO(hsc__worker_prepare(program, e));
  int64_t prepared = hsc_now_ns();
  HSC_GOTO(hsc__worker_transfer_in(client, program, e));
  t->setup_ns = prepared - start;
  t->transfer_in_ns = hsc_now_ns() - prepared;
  hsc__worker_at(worker, "running");
  hsc_usage_get(&before);
  // The first execution apart from the rest, so that both can be seen; together they are k
  // executions with s waits when s = k or s = 1.
  HSC_GOTO(hsc__worker_execute(e, 1, 1, feed, &enqueue_ns, &wait_ns));
  t->first_execution_ns = enqueue_ns + wait_ns;
  t->first_faults = hsc__usage_since(&before).minor_faults;
  if (executions > 1) {
    int64_t rest_syncs = syncs > 1 ? syncs - 1 : 1;
    HSC_GOTO(hsc__worker_execute(e, executions - 1, rest_syncs, feed, &enqueue_ns, &wait_ns));
    t->rest_ns = enqueue_ns + wait_ns;
  }
  t->total_ns = t->client_create_ns + t->compile_ns + t->setup_ns + t->transfer_in_ns +
                t->first_execution_ns + t->rest_ns;
  HSC_GOTO(transfer_out(e, &t->transfer_out_ns));
  hsc__worker_at(worker, "timing the compile cache");
  HSC_GOTO(time_disk(worker, client, program, options, e, t));
  worker_executable *kept = NULL;
  worker_compile how;
  HSC_GOTO(hsc__worker_compile(worker, program, request, CACHE_MEMORY, &kept,
                               &how));  // a miss the first time: only hits count
  if (how.outcome != OUTCOME_MEMORY)
    HSC_GOTO(hsc__worker_compile(worker, program, request, CACHE_MEMORY, &kept, &how));
  t->memory_hit_ns = how.lookup_ns;
done:
  hsc__worker_executable_destroy(e);
  start = hsc_now_ns();
  if (fresh && client != worker->client)
    hsc_client_destroy(client);
  t->client_destroy_ns = hsc_now_ns() - start;
  return status;
}

hsc_status *hsc__job_cold(hsc_worker *worker, json_t *request, hsc_json *answer) {
  worker_program *program = NULL;
  hsc_bytes options = {0};
  int64_t count = 1;
  int64_t executions = 1;
  int64_t syncs = 1;
  int64_t seed = 0;
  worker_feed feed;
  bool fresh = true;
  HSC_TRY(hsc__worker_need_client(worker));
  HSC_TRY(hsc__request_int(request, "count", 1, 100000, &count));
  HSC_TRY(hsc__request_int(request, "executions", 1, 1000000, &executions));
  HSC_TRY(hsc__request_int(request, "syncs", 1, executions, &syncs));
  HSC_TRY(hsc__request_int(request, "seed", 0, INT64_MAX, &seed));
  HSC_TRY(hsc__request_bool(request, "fresh_client", &fresh));
  HSC_TRY(hsc__worker_program(worker, request, &program));
  HSC_TRY(hsc__request_feed(request, program, &feed));
  HSC_TRY(hsc__worker_fill_inputs(program, (uint64_t)seed, 0, json_object_get(request, "data")));
  cold_times *rounds = hsc_alloc((size_t)count * sizeof(*rounds));
  if (!rounds)
    return hsc_status_out_of_memory();
  hsc_status *status = NULL;
  HSC_GOTO(hsc__request_options(worker, program, request, &options));
  HSC_GOTO(hsc__worker_code(worker, program));
  for (int64_t i = 0; i < count; i++)
    HSC_GOTO(one_round(worker, request, program, hsc_bytes_view(&options), fresh, executions, syncs,
                       &feed, &rounds[i]));
  hsc__worker_at(worker, NULL);
  hsc_json_kv_bool(answer, "fresh_client", fresh);
  hsc_json_kv_int(answer, "executions", executions);
  hsc_json_kv_int(answer, "syncs", syncs > 1 || executions == 1 ? syncs : 2);
  hsc_json_key(answer, "series");
  hsc_json_begin_object(answer);
  for (int f = 0; f < COLD_FIELDS; f++) {
    hsc_json_key(answer, COLD_NAMES[f]);
    hsc_json_begin_array(answer);
    for (int64_t i = 0; i < count; i++) {
      int64_t value = ((const int64_t *)&rounds[i])[f];
      if (value >= 0)
        hsc_json_int(answer, value);  // -1: this plugin cannot
    }
    hsc_json_end_array(answer);
  }
  hsc_json_end_object(answer);
done:
  hsc_bytes_deinit(&options);
  hsc_free(rounds);
  return status;
}
