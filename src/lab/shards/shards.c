// shards.c - the document of a program of several partitions, from the compiler's own optimised
// program, its memory analysis, and the program as it was written.
#include <math.h>
#include <stdlib.h>

#include "base/files/file_io.h"
#include "lab/shards/collectives.h"
#include "lab/shards/shards.h"

enum { TOP_BUFFERS = 10 };

static double number_of(json_t *value) {
  return json_is_number(value) ? json_number_value(value) : NAN;
}

static json_t *text_or_null(const char *text) {
  return text ? json_string(text) : json_null();
}

static json_t *member(json_t *from, const char *outer, const char *name) {
  json_t *value = json_object_get(json_object_get(from, outer), name);
  return value ? json_incref(value) : json_null();
}

// ---- memory -------------------------------------------------------------------------------------

// "Used 17.30G of 15.75G hbm. Exceeded hbm capacity by 1.55G.": what a compiler says that refuses a
// program for its memory. NaN when it says nothing of the kind.
static double said_to_lack(const char *message) {
  static const char *const marks[] = {"Exceeded hbm capacity by ", "exceeded hbm capacity by "};
  for (size_t i = 0; message && i < HSC_COUNT_OF(marks); i++) {
    const char *at = strstr(message, marks[i]);
    char *end;
    if (!at)
      continue;
    double value = strtod(at + strlen(marks[i]), &end);
    const char *units = "KMGT";
    const char *unit = *end ? strchr(units, *end) : NULL;
    return unit ? ldexp(value, 10 * (int)(unit - units + 1)) : value;
  }
  return NAN;
}

static void add_fit(const hsc_shards_input *in, json_t *out) {
  int64_t capacity = in->device ? in->device->memory_bytes : 0;
  json_t *peak = json_object_get(json_object_get(in->describe, "memory"), "peak_bytes");
  json_t *code = json_object_get(in->describe, "code_bytes");
  double lacks = said_to_lack(in->message);
  double needs = number_of(peak);
  if (isfinite(needs) && json_is_number(code))
    needs += json_number_value(code);
  if (isfinite(needs) && capacity > 0)
    lacks = needs - (double)capacity;
  json_object_set_new(out, "capacity_bytes", capacity > 0 ? json_integer(capacity) : json_null());
  json_object_set_new(out, "fits", isfinite(lacks) ? json_boolean(lacks <= 0) : json_null());
  json_int_t lacks_bytes = lacks > 0 ? (json_int_t)ceil(lacks) : 0;
  json_object_set_new(out, "lacks_bytes",
                      isfinite(lacks) ? json_integer(lacks_bytes) : json_null());
}

static hsc_status *add_buffers(const hsc_module *module, hsc_arena *arena, json_t *out) {
  hsc_chip_buffer *list = NULL;
  size_t count = 0;
  int64_t peak = 0;
  HSC_TRY(hsc_chip_buffers_at_peak(module, arena, &list, &count, &peak));
  json_t *buffers = json_array();
  for (size_t i = 0; i < count && i < TOP_BUFFERS; i++) {
    hsc_bytes shape = {0};
    hsc_shape_print(&list[i].instr->shape, false, &shape);
    const hsc_metadata *metadata = list[i].instr->metadata;
    json_array_append_new(
        buffers, json_pack("{s:s, s:s, s:s, s:I, s:b, s:o, s:o}", "name", list[i].instr->name, "op",
                           hsc_op_text(list[i].instr->op), "shape", hsc_bytes_text(&shape), "bytes",
                           (json_int_t)list[i].bytes, "argument", list[i].is_argument, "op_name",
                           text_or_null(metadata ? metadata->op_name : NULL), "source",
                           text_or_null(hsc_instr_source(list[i].instr, arena))));
    hsc_bytes_deinit(&shape);
  }
  json_object_set_new(out, "top_buffers", buffers);
  json_object_set_new(out, "top_buffers_peak_bytes", json_integer(peak));
  return hsc_arena_status(arena);
}

// ---- collectives --------------------------------------------------------------------------------

static json_t *collective_json(const hsc_collective *c) {
  json_t *out = json_pack("{s:s, s:s, s:I, s:I, s:I, s:f, s:I, s:I, s:b}", "kind", c->kind, "name",
                          c->instr->name, "bytes", (json_int_t)c->bytes, "operand_bytes",
                          (json_int_t)c->operand_bytes, "result_bytes", (json_int_t)c->result_bytes,
                          "wire_bytes", c->wire_bytes, "group_size", (json_int_t)c->group_size,
                          "times", (json_int_t)c->times, "times_known", c->times_known);
  json_object_set_new(out, "axes", text_or_null(c->axes));
  json_object_set_new(out, "loop", text_or_null(c->loop));
  json_object_set_new(out, "source", text_or_null(c->source));
  json_object_set_new(out, "op_name", text_or_null(c->op_name));
  json_object_set_new(out, "brought_by", text_or_null(c->brought_by));
  json_object_set_new(out, "async", json_boolean(c->is_async));
  if (c->is_async) {
    json_t *between = json_pack("{s:I, s:f}", "instructions", (json_int_t)c->between_count, "flops",
                                c->between_flops);
    json_object_set_new(between, "most", text_or_null(c->between));
    json_object_set_new(out, "between", between);
  }
  return out;
}

// What each axis, or set of axes, of the mesh costs in a run.
static void add_to_axis(json_t *axes, const hsc_collective *c) {
  const char *name = c->axes ? c->axes : "no axis of the mesh";
  json_t *row = json_object_get(axes, name);
  if (!row) {
    row = json_pack("{s:i, s:f, s:f}", "collectives", 0, "bytes", 0.0, "wire_bytes", 0.0);
    json_object_set_new(axes, name, row);
  }
  double times = (double)c->times;
  double bytes = number_of(json_object_get(row, "bytes")) + times * (double)c->bytes;
  double wire = number_of(json_object_get(row, "wire_bytes")) + times * c->wire_bytes;
  json_int_t count = json_integer_value(json_object_get(row, "collectives"));
  json_object_set_new(row, "collectives", json_integer(count + 1));
  json_object_set_new(row, "bytes", json_real(bytes));
  json_object_set_new(row, "wire_bytes", json_real(wire));
}

static hsc_status *add_collectives(const hsc_module *module,
                                   const hsc_program_spread *spread,
                                   hsc_arena *arena,
                                   json_t *out) {
  hsc_collective *list = NULL;
  size_t count = 0;
  HSC_TRY(hsc_collectives_find(module, spread, arena, &list, &count));
  json_t *all = json_array();
  json_t *axes = json_object();
  for (size_t i = 0; i < count; i++) {
    json_array_append_new(all, collective_json(&list[i]));
    add_to_axis(axes, &list[i]);
  }
  json_object_set_new(out, "collectives", all);
  json_object_set_new(out, "axes", axes);
  return hsc_arena_status(arena);
}

// ---- what is computed ---------------------------------------------------------------------------

static void put_count(json_t *out,
                      const hsc_count *count,
                      const hsc_module *module,
                      hsc_arena *arena) {
  const char *uncounted = hsc_uncounted_targets(module, arena);
  if (count->cost.uncounted > 0)
    json_object_set_new(out, "uncounted_calls", json_real(count->cost.uncounted));
  if (count->cost.uncounted > 0 && uncounted)
    json_object_set_new(out, "uncounted", json_string(uncounted));
  json_object_set_new(out, "flops", json_real(count->cost.flops));
  json_object_set_new(out, "bytes", json_real(count->cost.bytes_read + count->cost.bytes_written));
  json_object_set_new(out, "transcendentals", json_real(count->cost.transcendentals));
  json_object_set_new(out, "guessed_loops", json_integer(count->guessed_loops));
  json_object_set_new(out, "guessed_branches", json_integer(count->guessed_branches));
}

static json_t *mesh_json(const hsc_program_spread *spread) {
  json_t *axes = json_array();
  for (int i = 0; i < spread->axis_count; i++)
    json_array_append_new(
        axes, json_pack("{s:o, s:I}", "name",
                        text_or_null(spread->axis_names ? spread->axis_names[i] : NULL), "size",
                        (json_int_t)spread->axis_sizes[i]));
  json_t *mesh = json_pack("{s:o}", "axes", axes);
  if (spread->mesh_devices) {
    json_t *devices = json_array();
    for (int64_t i = 0; i < spread->partition_count; i++)
      json_array_append_new(devices, json_integer(spread->mesh_devices[i]));
    json_object_set_new(mesh, "devices", devices);
  }
  return mesh;
}

// module: the chip's compiled program; NULL = the compiler's own numbers are all there is.
static void add_per_partition(const hsc_shards_input *in,
                              const hsc_count *count,
                              const hsc_module *module,
                              hsc_arena *arena,
                              json_t *out) {
  static const char *const memory[] = {"argument_bytes", "output_bytes", "alias_bytes",
                                       "temp_bytes", "peak_bytes"};
  json_t *per = json_object();
  if (module) {
    put_count(per, count, module, arena);
  } else {
    json_object_set_new(per, "flops", json_incref(json_object_get(in->describe, "flops")));
    json_object_set_new(per, "bytes", json_incref(json_object_get(in->describe, "bytes")));
  }
  for (size_t i = 0; i < HSC_COUNT_OF(memory); i++)
    json_object_set_new(per, memory[i], member(in->describe, "memory", memory[i]));
  json_object_set_new(out, "per_partition", per);
}

// The program as it is written, whole: what all chips together were to do.
static hsc_status *add_whole(hsc_view code, const char *path, hsc_arena *arena, json_t *out) {
  hsc_module *module = NULL;
  hsc_count count;
  hsc_status *status = hsc_program_read_for(code, path, 1, &module);
  if (!status)
    status = hsc_module_count(module, &count);
  if (!status) {
    json_t *whole = json_object();
    put_count(whole, &count, module, arena);
    json_object_set_new(out, "whole", whole);
  }
  hsc_module_destroy(module);
  return status;
}

// Compilers break rules of HLO for themselves: what they leave is read without the verifier.
static hsc_status *read_optimized(const char *path, hsc_module **out_module) {
  hsc_bytes code = {0};
  hsc_status *status = hsc_file_read(path, &code);
  if (!status)
    status = hsc_hlo_proto_read(hsc_bytes_view(&code), path, out_module);
  if (status && code.size) {
    hsc_status_free(status);
    status = hsc_program_read(hsc_bytes_view(&code), path, out_module);
  }
  hsc_bytes_deinit(&code);
  return status;
}

static hsc_status *describe(const hsc_shards_input *in,
                            const hsc_program_spread *spread,
                            hsc_view code,
                            hsc_arena *arena,
                            json_t *out) {
  hsc_module *module = NULL;
  hsc_count count;
  hsc_status *status = NULL;
  json_object_set_new(out, "partitions", json_integer(spread->partition_count));
  json_object_set_new(out, "replicas", json_integer(spread->replica_count));
  json_object_set_new(out, "mesh", mesh_json(spread));
  add_fit(in, out);
  if (!in->describe)
    return NULL;
  if (in->optimized)
    status = read_optimized(in->optimized, &module);
  if (!status && module)
    status = hsc_module_count(module, &count);
  if (status) {
    json_object_set_new(out, "shards_note", json_string(hsc_status_message(status)));
    hsc_status_free(status);
    status = NULL;
    hsc_module_destroy(module);
    module = NULL;
  }
  add_per_partition(in, &count, module, arena, out);
  if (module) {
    HSC_GOTO(add_collectives(module, spread, arena, out));
    HSC_GOTO(add_buffers(module, arena, out));
  } else {
    json_object_set_new(out, "collectives", json_array());
  }
  hsc_status *whole = add_whole(code, in->program, arena, out);
  if (whole)
    json_object_set_new(out, "whole_note", json_string(hsc_status_message(whole)));
  hsc_status_free(whole);
done:
  hsc_module_destroy(module);
  return status;
}

int64_t hsc_shards_device_count(const char *program) {
  hsc_arena *arena = NULL;
  hsc_bytes code = {0};
  hsc_program_spread spread = {.partition_count = 1, .replica_count = 1};
  hsc_status *status = hsc_arena_create(&arena);
  if (!status)
    status = hsc_file_read_unpacked(program, (size_t)1 << 32, &code);
  if (!status)
    status = hsc_program_spread_read(hsc_bytes_view(&code), program, arena, &spread);
  int64_t count = status ? 1 : spread.partition_count * spread.replica_count;
  hsc_status_free(status);
  hsc_bytes_deinit(&code);
  hsc_arena_destroy(arena);
  return count;
}

hsc_status *hsc_shards_error(hsc_status *status, const char *program) {
  bool refused = status && hsc_status_code(status) == HSC_FAILED_PRECONDITION;
  return refused && hsc_shards_device_count(program) > 1 ? hsc_status_usage(status) : status;
}

// Whether the device compiled for several, or refused it for its memory. One that takes a program
// whole (the evaluator, jaxlib's worker) has no chips to tell of.
static bool was_spread(const hsc_shards_input *in) {
  json_t *partitions = json_object_get(in->describe, "partitions");
  json_t *replicas = json_object_get(in->describe, "replicas");
  if (!in->describe)
    return isfinite(said_to_lack(in->message));
  return json_integer_value(partitions) * json_integer_value(replicas) > 1;
}

hsc_status *hsc_shards_describe(const hsc_shards_input *input, json_t *out_device) {
  hsc_arena *arena = NULL;
  hsc_bytes code = {0};
  hsc_program_spread spread;
  HSC_TRY(hsc_arena_create(&arena));
  hsc_status *status = hsc_file_read_unpacked(input->program, (size_t)1 << 32, &code);
  if (!status)
    status = hsc_program_spread_read(hsc_bytes_view(&code), input->program, arena, &spread);
  if (status) {  // the device's own run has said it
    hsc_status_free(status);
    status = NULL;
  } else if (spread.partition_count * spread.replica_count > 1 && was_spread(input)) {
    status = describe(input, &spread, hsc_bytes_view(&code), arena, out_device);
  }
  hsc_bytes_deinit(&code);
  hsc_arena_destroy(arena);
  return status;
}
