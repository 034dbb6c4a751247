// program_spread.c - for how many devices a program is, and how they form a mesh: from the module's
// attributes, from Shardy's meshes, from shardings in XLA's own form.
//
// A program that names partitions has that many; one that only has meshes or shardings has as many
// as its largest one has devices, as JAX would have counted.
#include <ctype.h>
#include <stdlib.h>

#include "formats/common/formats.h"
#include "formats/mlir/mlir_ir.h"

enum { MOST_AXES = 16 };

typedef struct spread_reader {
  hsc_arena *arena;
  hsc_program_spread *out;
  int64_t mesh_devices;      // of the mesh that was taken
  int64_t sharding_devices;  // of the largest sharding
  int64_t tiles[MOST_AXES];  // of it
  int tile_count;
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

// "{devices=[2,1,2]<=[4] last_tile_dim_replicate}", "{devices=[2,2]0,1,2,3}": the tiles. Tiles of
// one piece tell nothing of a mesh.
static void take_sharding(spread_reader *r, hsc_view text) {
  static const char key[] = "devices=[";
  for (size_t i = 0; i + sizeof key <= text.size; i++) {
    int64_t tiles[MOST_AXES];
    int count = 0;
    int64_t all = 1;
    if (memcmp(text.data + i, key, sizeof key - 1) != 0)
      continue;
    for (i += sizeof key - 1; i < text.size && text.data[i] != ']'; i++) {
      int64_t value = 0;
      for (; i < text.size && isdigit((unsigned char)text.data[i]) && value < INT32_MAX; i++)
        value = 10 * value + (text.data[i] - '0');
      if (value > 1 && count < MOST_AXES)
        tiles[count++] = value;
      if (i >= text.size || text.data[i] == ']')
        break;
    }
    all = product(tiles, count);
    bool finer = all == r->sharding_devices && count > r->tile_count;
    if (all <= r->sharding_devices && !finer)
      continue;
    r->sharding_devices = all;
    r->tile_count = count;
    memcpy(r->tiles, tiles, sizeof tiles);
  }
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

static hsc_status *walk_block(spread_reader *r, const hsc__mlir_block *block, int depth) {
  for (int i = 0; block && i < block->op_count && depth < 8; i++) {
    const hsc__mlir_op *op = block->ops[i];
    if (!strcmp(op->name, "mesh")) {
      HSC_TRY(take_mesh(r, op));
      continue;
    }
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
  out->axis_names = HSC_NEW_ARRAY(r->arena, const char *, r->tile_count + 1);
  out->axis_sizes = HSC_NEW_ARRAY(r->arena, int64_t, r->tile_count + 1);
  HSC_TRY(hsc_arena_status(r->arena));
  out->axis_count = r->tile_count;
  memcpy(out->axis_sizes, r->tiles, (size_t)r->tile_count * sizeof *r->tiles);
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
