// worker_spread.c - programs for several devices: whether the device has enough of them, what the
// compiler is told, and how their arrays are read.
#include <stdlib.h>

#include "base/text/text.h"
#include "worker/worker_internal.h"

// How many devices a compiled program can be for.
static hsc_status *count_devices(hsc_worker *worker, int64_t *out_count) {
  const hsc_device_info *devices = NULL;
  size_t count = 0;
  *out_count = 1;
  if (worker->client)
    *out_count = hsc_client_device_count(worker->client);
  if (!worker->topology)
    return NULL;
  HSC_TRY(hsc_topology_devices(worker->topology, &devices, &count));
  *out_count = (int64_t)count;
  return NULL;
}

// ---- what would be enough -----------------------------------------------------------------------

// The shape of so many chips, as near to a square as powers of two come, small dimensions first.
static void append_shape(hsc_bytes *out, int rank, int64_t chips) {
  int64_t dims[8] = {1, 1, 1, 1, 1, 1, 1, 1};
  int plane = rank > 2 ? 3 : rank;
  int at = 0;
  for (int64_t left = 1; left < chips; left *= 2)
    dims[plane - 1 - at++ % plane] *= 2;
  // 4 chips of three dimensions are a plane
  if (plane == 3 && chips == 4) {
    dims[0] = dims[1] = 2;
    dims[2] = 1;
  }
  for (int i = 0; i < rank; i++)
    hsc_bytes_printf(out, "%s%lld", i ? "x" : "", (long long)dims[i]);
}

// "tpu:v5e:2x2" for a device as the user wrote it; nothing where devices cannot be had by a name.
static void append_enough(const hsc_worker *worker, int64_t have, int64_t wanted, hsc_bytes *out) {
  const char *text = worker->device_text ? worker->device_text : "";
  size_t name = strcspn(text, ":@");
  if (!strncmp(text, "tpu:", 4) && worker->topology_name) {
    const char *shape = strchr(worker->topology_name, ':');
    int64_t chips = 1;
    int rank = 1;
    for (const char *at = shape ? shape + 1 : "1"; *at; at += *at == 'x') {
      char *end;
      long long dim = strtoll(at, &end, 10);
      if (end == at || dim < 1)
        break;
      chips *= dim;
      rank += *end == 'x';
      at = end;
    }
    int64_t each = have > chips ? have / chips : 1;
    size_t generation = 4 + strcspn(text + 4, ":@");
    hsc_bytes_printf(out, "%.*s:", (int)generation, text);
    append_shape(out, rank, (wanted + each - 1) / each);
    return;
  }
  size_t target = name;
  if (text[name] == ':' && !strncmp(text, "cuda:", 5))
    target = 5 + strcspn(text + 5, ":@");
  if (name && !strchr(text, '/') && !hsc_ends_with(text, ".so"))
    hsc_bytes_printf(out, "%.*s:%lld", (int)target, text, (long long)wanted);
}

static void append_counts(const hsc_program_spread *s, hsc_bytes *out) {
  if (s->replica_count > 1)
    hsc_bytes_printf(out, "%lld replicas%s", (long long)s->replica_count,
                     s->partition_count > 1 ? " of " : "");
  if (s->partition_count > 1 || s->replica_count == 1)
    hsc_bytes_printf(out, "%lld partitions", (long long)s->partition_count);
}

hsc_status *hsc__worker_check_spread(hsc_worker *worker, const worker_program *program) {
  const hsc_program_spread *s = &program->spread;
  int64_t have = 1;
  int64_t wanted = s->partition_count * s->replica_count;
  if (wanted <= 1)
    return NULL;
  HSC_TRY(count_devices(worker, &have));
  if (have == wanted || (have > wanted && worker->client))
    return NULL;
  hsc_bytes counts = {0};
  hsc_bytes enough = {0};
  append_counts(s, &counts);
  append_enough(worker, have, wanted, &enough);
  const char *device = worker->device_text ? worker->device_text : "the device";
  const char *from = s->partitions_from ? s->partitions_from : "the program";
  hsc_status *status =
      HSC_ERR(FAILED_PRECONDITION, "%s (%s); %s has %lld device%s%s%s", hsc_bytes_text(&counts),
              from, device, (long long)have, hsc_plural((double)have, "", "s"),
              enough.size ? "; give " : "", enough.size ? hsc_bytes_text(&enough) : "");
  if (enough.size)
    status = hsc_status_hint(status, "-d %s", hsc_bytes_text(&enough));
  hsc_bytes_deinit(&counts);
  hsc_bytes_deinit(&enough);
  return status;
}

void hsc__worker_spread_options(const worker_program *program, hsc_compile_options *options) {
  const hsc_program_spread *s = &program->spread;
  if (s->partition_count * s->replica_count <= 1)
    return;
  options->partition_count = (int)s->partition_count;
  options->replica_count = (int)s->replica_count;
  options->device_assignment = true;
  options->use_spmd_partitioning = s->partition_count > 1;
  options->use_shardy_partitioner = s->partition_count > 1 && s->is_shardy;
  options->free_parameters = s->free_parameters;
  options->free_parameter_count = (size_t)s->free_parameter_count;
  options->free_results = s->free_results;
  options->free_result_count = (size_t)s->free_result_count;
}

static const int64_t *copied(hsc_arena *arena, const int64_t *list, int *in_out_count) {
  const int64_t *copy =
      *in_out_count ? hsc_arena_copy(arena, list, sizeof *list * (size_t)*in_out_count) : NULL;
  if (!copy)
    *in_out_count = 0;
  return copy;
}

// A program that is to run whole on one device is one device's from here on.
static hsc_status *make_whole(const char *path, worker_program *program) {
  hsc_program_spread *spread = &program->spread;
  bool is_one = spread->partition_count * spread->replica_count <= 1;
  if (is_one || !program->is_whole) {
    program->is_whole = false;
    return NULL;
  }
  if (program->in_parts)
    return HSC_ERR(FAILED_PRECONDITION,
                   "%s is for %lld partitions and only makes sense in parts: it names its pieces "
                   "itself (shard_map), so no single device can run it whole",
                   path, (long long)spread->partition_count);
  program->module->num_partitions = program->module->replica_count = 1;
  spread->partition_count = spread->replica_count = 1;
  hsc_bytes_reset(&program->code);  // it says how many partitions; the module does not
  return NULL;
}

hsc_status *hsc__worker_read_spread(hsc_view code, const char *path, worker_program *program) {
  hsc_arena *arena = NULL;
  hsc_program_spread spread = {0};
  hsc_status *status = NULL;
  HSC_TRY(hsc_arena_create(&arena));
  HSC_GOTO(hsc_program_spread_read(code, path, arena, &spread));
  // Whole arrays, as the program is written; what only makes sense in parts is read in parts.
  if (spread.partition_count > 1) {
    status = hsc_program_read_for(code, path, 1, &program->module);
    if (!status) {
      program->module->num_partitions = (int32_t)spread.partition_count;
      program->module->replica_count = (int32_t)spread.replica_count;
    }
    program->in_parts = status != NULL;
    hsc_status_free(status);
    status = NULL;
  }
  if (!program->module)
    HSC_GOTO(hsc_program_read_for(code, path, program->in_parts ? (int)spread.partition_count : 0,
                                  &program->module));
  program->spread = spread;
  program->spread.partitions_from =
      spread.partitions_from ? hsc_arena_strdup(program->module->arena, spread.partitions_from)
                             : NULL;
  // the mesh is read again where it is shown
  program->spread.axis_count = 0;
  program->spread.mesh_devices = NULL;
  program->spread.free_parameters =
      copied(program->module->arena, spread.free_parameters, &program->spread.free_parameter_count);
  program->spread.free_results =
      copied(program->module->arena, spread.free_results, &program->spread.free_result_count);
  status = hsc_arena_status(program->module->arena);
  if (!status)
    status = make_whole(path, program);
done:
  hsc_arena_destroy(arena);
  return status;
}

void hsc__write_spread(const hsc_program_spread *spread, hsc_json *answer) {
  hsc_json_kv_int(answer, "partitions", spread->partition_count);
  hsc_json_kv_int(answer, "replicas", spread->replica_count);
}
