// program_spread.c - for how many devices a program is, and how they form a mesh: from the module's
// attributes, from Shardy's meshes, from shardings in XLA's own form.
//
// A program that names partitions has that many; one that only has meshes or shardings has as many
// as its largest one has devices, as JAX would have counted.
#include "formats/common/formats.h"
#include "formats/hlo_proto/hlo_proto_internal.h"
#include "formats/mlir/mlir_ir.h"

enum { MOST_AXES = 16 };

typedef struct spread_reader {
  hsc_arena *arena;
  hsc_program_spread *out;
  int64_t mesh_devices;      // of the mesh that was taken
  int64_t sharding_devices;  // of the largest shardings
  int64_t below[MOST_AXES];  // of them: how many devices are below an axis, the slowest axis first
  int below_count;
  const int64_t *listed;  // [sharding_devices] their order; NULL = 0, 1, ...
} spread_reader;

static int64_t product(const int64_t *values, int count) {
  int64_t all = 1;
  for (int i = 0; i < count; i++)
    if (values[i] < 1 || all > INT32_MAX / values[i])
      return 0;
    else
      all *= values[i];
  return all;
}

// ---- shardings in XLA's text --------------------------------------------------------------------
//
// Devices are numbers, and dimensions that go together number by number: a mesh of axes is a chain
// of sizes that divide each other, the devices below each axis. "{devices=[2,1,2]<=[4]
// last_tile_dim_replicate}" tells of its tiles, "{devices=[4,2]<=[2,4]T(1,0)}" of the mesh 2 x 4
// that it takes in another order, "{devices=[2,2]0,2,1,3}" of tiles of devices in an order of its
// own. Each sharding makes the chain finer.

static void forget_shardings(spread_reader *r, int64_t devices) {
  r->sharding_devices = devices;
  r->below_count = 0;
  r->listed = NULL;
}

// `below` devices are below an axis, where that goes with the others.
static void add_axis_end(spread_reader *r, int64_t below) {
  int at = 0;
  for (int i = 0; i < r->below_count; i++) {
    if (r->below[i] == below || (r->below[i] % below && below % r->below[i]))
      return;
    at += r->below[i] > below;
  }
  if (below <= 1 || below >= r->sharding_devices || r->below_count + 1 == MOST_AXES)
    return;
  memmove(r->below + at + 1, r->below + at, sizeof *r->below * (size_t)(r->below_count - at));
  r->below[at] = below;
  r->below_count++;
}

static void add_axes(spread_reader *r, const int64_t *sizes, int count) {
  for (int64_t below = 1; count-- > 0;)
    add_axis_end(r, below *= sizes[count]);
}

// "[2,1,4]", to MOST_AXES numbers; false where there is no such list.
static bool read_sizes(hsc__scan *scan, int64_t *out, int *out_count) {
  return hsc__scan_ints(scan, '[', ']', out, MOST_AXES, out_count) && *out_count > 0;
}

// The first list of devices is the mesh's order; tiles of another order say nothing of it.
static bool is_in_order(spread_reader *r, hsc__scan *scan, int64_t count) {
  int64_t *list = HSC_NEW_ARRAY(r->arena, int64_t, count);
  for (int64_t i = 0; list && i < count; i++) {
    if (!hsc__scan_int(scan, &list[i]) || list[i] < 0 || list[i] >= count)
      return false;
    hsc__scan_char(scan, ',');
  }
  if (list && !r->listed && !r->below_count)
    r->listed = list;
  return list && r->listed && !memcmp(list, r->listed, sizeof *list * (size_t)count);
}

static void take_tiles(spread_reader *r, hsc_view text) {
  hsc__scan scan = hsc__scan_of(text);
  int64_t tiles[MOST_AXES];
  int64_t sizes[MOST_AXES];
  int tile_count = 0;
  int size_count = 0;
  if (!read_sizes(&scan, tiles, &tile_count))
    return;
  int64_t all = product(tiles, tile_count);
  if (all < 2 || all < r->sharding_devices)
    return;
  if (all > r->sharding_devices)
    forget_shardings(r, all);
  if (!hsc__scan_word(&scan, "<=")) {
    if (is_in_order(r, &scan, all))
      add_axes(r, tiles, tile_count);
    return;
  }
  if (!read_sizes(&scan, sizes, &size_count) || product(sizes, size_count) != all || r->listed)
    return;
  add_axes(r, sizes, size_count);
  if (!hsc__scan_char(&scan, 'T'))
    add_axes(r, tiles, tile_count);
}

static void take_sharding(spread_reader *r, hsc_view text) {
  static const char key[] = "devices=";
  for (size_t i = 0; i + sizeof key <= text.size; i++)
    if (!memcmp(text.data + i, key, sizeof key - 1))
      take_tiles(r, (hsc_view){text.data + i + sizeof key - 1, text.size - i - sizeof key + 1});
}

// ---- MLIR ---------------------------------------------------------------------------------------

static hsc_status *take_mesh(spread_reader *r, const hsc__mlir_op *op) {
  for (int i = 0; i < op->attr_count; i++) {
    const hsc__mlir_attr *attr = op->attrs[i].value;
    int64_t sizes[MOST_AXES];
    if (attr->kind != HSC_MLIR_ARRAY || attr->count > MOST_AXES)
      continue;
    for (int a = 0; a < attr->count; a++)
      sizes[a] = attr->elements[a]->integer;
    int64_t devices = product(sizes, attr->count);
    if (devices <= r->mesh_devices)
      continue;
    r->mesh_devices = devices;
    r->out->axis_count = attr->count;
    r->out->axis_names = HSC_NEW_ARRAY(r->arena, const char *, attr->count + 1);
    r->out->axis_sizes = HSC_NEW_ARRAY(r->arena, int64_t, attr->count + 1);
    HSC_TRY(hsc_arena_status(r->arena));
    for (int a = 0; a < attr->count; a++) {
      hsc_view name = attr->elements[a]->text;
      r->out->axis_names[a] = hsc_arena_strndup(r->arena, name.data, name.size);
      r->out->axis_sizes[a] = sizes[a];
    }
    r->out->mesh_devices = NULL;
    if (attr->data.size != sizeof(int64_t) * (size_t)devices)
      continue;
    int64_t *ids = HSC_NEW_ARRAY(r->arena, int64_t, devices);
    HSC_TRY(hsc_arena_status(r->arena));
    memcpy(ids, attr->data.data, attr->data.size);
    for (int64_t d = 0; d < devices; d++)
      if (ids[d] < 0 || ids[d] >= devices)
        return HSC_ERR(INVALID_ARGUMENT, "sdy.mesh: there is no device %lld in a mesh of %lld",
                       (long long)ids[d], (long long)devices);
    r->out->mesh_devices = ids;
  }
  return hsc_arena_status(r->arena);
}

static void walk_attr(spread_reader *r, hsc_view name, const hsc__mlir_attr *attr, int depth) {
  if (!attr || depth > 4)
    return;
  if (attr->kind == HSC_MLIR_STRING && hsc_view_equals_text(name, "mhlo.sharding"))
    take_sharding(r, attr->text);
  if (attr->kind == HSC_MLIR_DICT)
    for (int i = 0; i < attr->count; i++)
      walk_attr(r, attr->entries[i].name, attr->entries[i].value, depth + 1);
  if (attr->kind == HSC_MLIR_ARRAY)
    for (int i = 0; i < attr->count; i++)
      walk_attr(r, name, attr->elements[i], depth + 1);
}

// Whether a sharding, in whichever form, leaves the cut to the compiler: there is none, or it is
// open in a dimension that it does not cut.
static bool is_free(const hsc__mlir_attr *dict) {
  const hsc__mlir_attr *sdy = hsc__mlir_dict_get(dict, "sdy.sharding");
  if (!sdy)
    return !hsc__mlir_dict_get(dict, "mhlo.sharding");
  for (int i = 0; sdy->kind == HSC_MLIR_ARRAY && i < sdy->count; i++) {
    const hsc__mlir_attr *dim = sdy->elements[i];
    if (dim->kind == HSC_MLIR_ARRAY && dim->count == 0 && dim->integer == 0)
      return true;
  }
  return false;
}

// One of each argument or result of the entry; none where the compiler chooses none.
static hsc_status *take_free(hsc_arena *arena,
                             const hsc__mlir_attr *dicts,
                             int count,
                             const int64_t **out_free,
                             int *out_count) {
  int64_t *list = HSC_NEW_ARRAY(arena, int64_t, count + 1);
  bool any = false;
  HSC_TRY(hsc_arena_status(arena));
  bool is_listed = dicts && dicts->kind == HSC_MLIR_ARRAY && dicts->count == count;
  for (int i = 0; i < count; i++) {
    list[i] = is_listed ? is_free(dicts->elements[i]) : 1;
    any |= list[i] != 0;
  }
  *out_free = any ? list : NULL;
  *out_count = any ? count : 0;
  return NULL;
}

static hsc_status *take_entry(spread_reader *r, const hsc__mlir_op *op) {
  const hsc__mlir_attr *name = hsc__mlir_attr_get(op, "sym_name");
  const hsc__mlir_block *block = op->region_count ? op->regions[0] : NULL;
  if (!name || !hsc_view_equals_text(name->text, "main") || !block || block->op_count < 1)
    return NULL;
  const hsc__mlir_op *end = block->ops[block->op_count - 1];
  HSC_TRY(take_free(r->arena, hsc__mlir_attr_get(op, "arg_attrs"), block->argument_count,
                    &r->out->free_parameters, &r->out->free_parameter_count));
  return take_free(r->arena, hsc__mlir_attr_get(op, "res_attrs"), end->operand_count,
                   &r->out->free_results, &r->out->free_result_count);
}

static hsc_status *walk_block(spread_reader *r, const hsc__mlir_block *block, int depth) {
  for (int i = 0; block && i < block->op_count && depth < 8; i++) {
    const hsc__mlir_op *op = block->ops[i];
    if (!strcmp(op->name, "mesh")) {
      HSC_TRY(take_mesh(r, op));
      continue;
    }
    if (depth == 0 && !strcmp(op->name, "func"))
      HSC_TRY(take_entry(r, op));
    if (depth == 0 || op->has_foreign)
      for (int a = 0; a < op->attr_count; a++)
        walk_attr(r, op->attrs[a].name, op->attrs[a].value, 0);
    for (int k = 0; depth == 0 && k < op->region_count; k++)
      HSC_TRY(walk_block(r, op->regions[k], depth + 1));
  }
  return NULL;
}

static hsc_status *read_tree(spread_reader *r, const hsc__mlir_op *top) {
  const hsc__mlir_attr *partitions = hsc__mlir_attr_get(top, "mhlo.num_partitions");
  const hsc__mlir_attr *replicas = hsc__mlir_attr_get(top, "mhlo.num_replicas");
  if (top->region_count == 1)
    HSC_TRY(walk_block(r, top->regions[0], 0));
  if (partitions && partitions->kind == HSC_MLIR_INT && partitions->integer > 0) {
    r->out->partition_count = partitions->integer;
    r->out->partitions_from = "mhlo.num_partitions";
  } else if (r->mesh_devices > 1) {
    r->out->partition_count = r->mesh_devices;
    r->out->partitions_from = "sdy.mesh";
  }
  if (replicas && replicas->kind == HSC_MLIR_INT && replicas->integer > 0)
    r->out->replica_count = replicas->integer;
  r->out->is_shardy = r->mesh_devices > 0;
  r->out->is_to_be_partitioned = true;
  return NULL;
}

// ---- HLO ----------------------------------------------------------------------------------------

static void read_module(spread_reader *r, const hsc_module *module) {
  if (module->num_partitions > 1) {
    r->out->partition_count = module->num_partitions;
    r->out->partitions_from = "num_partitions";
  }
  if (module->replica_count > 1)
    r->out->replica_count = module->replica_count;
  HSC_FOR_EACH_COMPUTATION (module, computation)
    HSC_FOR_EACH_INSTR_IN (computation, instr) {
      if (!instr->sharding)
        continue;
      r->out->is_to_be_partitioned = true;
      take_sharding(r, hsc_view_of(instr->sharding));
    }
}

// A sharding's devices are the program's where nothing else is said, and its tiles their mesh.
static hsc_status *settle(spread_reader *r) {
  hsc_program_spread *out = r->out;
  if (out->partition_count == 1 && !out->partitions_from && r->sharding_devices > 1) {
    out->partition_count = r->sharding_devices;
    out->partitions_from = "a sharding";
  }
  if (r->mesh_devices == out->partition_count && r->mesh_devices > 1)
    return NULL;
  out->axis_count = 0;
  out->mesh_devices = NULL;
  if (r->sharding_devices != out->partition_count || out->partition_count < 2)
    return NULL;
  int count = r->below_count + 1;
  out->axis_names = HSC_NEW_ARRAY(r->arena, const char *, count);
  out->axis_sizes = HSC_NEW_ARRAY(r->arena, int64_t, count);
  HSC_TRY(hsc_arena_status(r->arena));
  out->axis_count = count;
  out->mesh_devices = r->listed;
  int64_t above = out->partition_count;
  for (int i = 0; i < count; i++) {
    int64_t below = i < r->below_count ? r->below[i] : 1;
    out->axis_sizes[i] = above / below;
    above = below;
  }
  return NULL;
}

hsc_status *hsc_program_spread_read(hsc_view bytes,
                                    const char *path,
                                    hsc_arena *arena,
                                    hsc_program_spread *out_spread) {
  hsc_format format = HSC_FORMAT_HLO_TEXT;
  hsc_arena *tree = NULL;
  hsc_module *module = NULL;
  hsc__mlir_op *top = NULL;
  hsc_status *status = NULL;
  spread_reader r = {.arena = arena, .out = out_spread, .sharding_devices = 1};
  *out_spread = (hsc_program_spread){.partition_count = 1, .replica_count = 1};
  bool is_known = hsc_format_detect(bytes, path, &format);
  HSC_TRY(hsc_arena_create(&tree));
  if (is_known && format == HSC_FORMAT_MLIR_TEXT)
    HSC_GOTO(hsc__mlir_text_read(bytes, path, tree, &top));
  else if (is_known && format == HSC_FORMAT_MLIR_BYTECODE)
    HSC_GOTO(hsc__mlir_bytecode_read(bytes, path, tree, &top));
  if (top) {
    HSC_GOTO(read_tree(&r, top));
  } else {
    HSC_GOTO(hsc_program_read(bytes, path, &module));
    read_module(&r, module);
  }
  status = settle(&r);
done:
  hsc_module_destroy(module);
  hsc_arena_destroy(tree);
  return status;
}
