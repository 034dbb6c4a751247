// sdy_xla.c - shardings in XLA's own form ("{devices=[2,1,4]<=[8] last_tile_dim_replicate}"), as
// JAX writes them without Shardy and other front ends always: read as axes of a mesh.
//
// Such a sharding gives each device its piece and names no axes. Devices are counted in a mixed
// radix, the prime factors of their number, one axis a factor: where each dimension's piece is a
// number in some of these digits, they are the axes that cut it. Factors that differ (2 x 3 or
// 3 x 2) and devices in an order of their own are tried until all shardings of the program are
// such. Marks in the program (custom calls of Sharding, SPMDFullToShardShape and
// SPMDShardToFullShape) are what Shardy's constraints and manual computations are.
// Source: xla/hlo/ir/hlo_sharding.h.
#include "base/text/view_find.h"
#include "formats/common/formats.h"
#include "formats/shardy/sdy_internal.h"
#include "formats/shardy/sdy_layout.h"

enum { MOST_TEXTS = 4096, DEEPEST_BLOCK = 16 };

typedef struct said {
  hsc_view text;
  int rank;  // of its array
} said;

typedef struct xla_reader {
  hsc__importer *im;
  said *list;
  int count, capacity;
} xla_reader;

// ---- what the program says ----------------------------------------------------------------------

static bool cuts(hsc_view text) {
  return hsc_view_find(text, "devices=[");
}

static hsc_status *add_text(xla_reader *r,
                            const hsc__mlir_attr *sharding,
                            const hsc__mlir_type *type) {
  if (!sharding || sharding->kind != HSC_MLIR_STRING || !cuts(sharding->text) || !type)
    return NULL;
  said one = {sharding->text, type->shape.rank};
  for (int i = 0; i < r->count; i++)
    if (r->list[i].rank == one.rank && hsc_view_equals(r->list[i].text, one.text))
      return NULL;
  if (r->count == MOST_TEXTS || !HSC_GROW_IN(r->im->arena, r->list, r->count, r->capacity))
    return hsc_arena_status(r->im->arena);
  r->list[r->count++] = one;
  return NULL;
}

static hsc_status *add_block(xla_reader *r, const hsc__mlir_block *block, int depth) {
  for (int i = 0; block && i < block->op_count && depth < DEEPEST_BLOCK; i++) {
    const hsc__mlir_op *op = block->ops[i];
    if (op->has_foreign && op->result_count == 1)
      HSC_TRY(add_text(r, hsc__mlir_attr_get(op, "mhlo.sharding"), op->results[0].type));
    for (int k = 0; k < op->region_count; k++)
      HSC_TRY(add_block(r, op->regions[k], depth + 1));
  }
  return NULL;
}

static hsc_status *add_entry(xla_reader *r, const hsc__mlir_op *main_op) {
  const hsc__mlir_attr *arguments = hsc__mlir_attr_get(main_op, "arg_attrs");
  const hsc__mlir_attr *results = hsc__mlir_attr_get(main_op, "res_attrs");
  const hsc__mlir_block *block = main_op->region_count ? main_op->regions[0] : NULL;
  const hsc__mlir_op *end = block && block->op_count ? block->ops[block->op_count - 1] : NULL;
  for (int i = 0; block && arguments && i < arguments->count && i < block->argument_count; i++)
    HSC_TRY(add_text(r, hsc__mlir_dict_get(arguments->elements[i], "mhlo.sharding"),
                     block->arguments[i].type));
  for (int i = 0; end && results && i < results->count && i < end->operand_count; i++)
    HSC_TRY(add_text(r, hsc__mlir_dict_get(results->elements[i], "mhlo.sharding"),
                     end->operands[i]->type));
  return NULL;
}

// ---- pieces as axes -----------------------------------------------------------------------------

static void piece_at(const hsc_pieces *p, int64_t device, int64_t out[HSC_MAX_RANK]) {
  int64_t number = p->piece_of[device];
  for (int d = p->rank; d-- > 0; number /= p->counts[d])
    out[d] = number % p->counts[d];
}

static bool agrees(const hsc__layout *l, const hsc_pieces *p) {
  int64_t at[HSC__MOST_AXES];
  int64_t piece[HSC_MAX_RANK];
  for (int64_t place = 0; place < l->mesh->device_count; place++) {
    hsc__mesh_coordinates(l->mesh, place, at);
    piece_at(p, hsc__mesh_partition(l->mesh, place), piece);
    for (int d = 0; d < p->rank; d++)
      if (hsc__layout_piece_of(l, d, at) != piece[d])
        return false;
  }
  return true;
}

// A device that differs from the first in one digit says which dimension that axis cuts, and by how
// many pieces a step along it moves: the axes of a dimension go by these, the largest first.
static bool layout_of_pieces(const hsc__mesh *mesh, const hsc_pieces *p, hsc__layout *out) {
  int64_t step[HSC_MAX_RANK][HSC__MOST_AXES] = {{0}};
  int64_t piece[HSC_MAX_RANK];
  *out = (hsc__layout){.mesh = mesh, .rank = p->rank};
  int64_t stride = mesh->device_count;
  for (int a = 0; a < mesh->axis_count; a++) {
    stride /= mesh->axis_sizes[a];
    piece_at(p, hsc__mesh_partition(mesh, stride), piece);
    for (int d = 0; d < p->rank; d++) {
      if (!piece[d])
        continue;
      int k = out->counts[d]++;
      for (; k > 0 && step[d][k - 1] < piece[d]; k--) {
        step[d][k] = step[d][k - 1];
        out->axes[d][k] = out->axes[d][k - 1];
      }
      step[d][k] = piece[d];
      out->axes[d][k] = (int8_t)a;
      out->is_cut = true;
    }
  }
  return agrees(out, p);
}

static hsc_status *read_pieces(hsc__importer *im, const said *s, hsc_pieces *out) {
  return hsc_pieces_read(s->text, s->rank, im->partition_count, im->arena, out);
}

// ---- the mesh -----------------------------------------------------------------------------------

static bool expresses(const hsc__mesh *mesh, const hsc_pieces *all, int count) {
  hsc__layout l;
  for (int i = 0; i < count; i++)
    if (!layout_of_pieces(mesh, &all[i], &l))
      return false;
  return true;
}

static void swap(int64_t *a, int64_t *b) {
  int64_t kept = *a;
  *a = *b;
  *b = kept;
}

// The next order of numbers, of which some may be equal, that begin in ascending order.
static bool next_order(int64_t *values, int count) {
  int i = count - 2;
  while (i >= 0 && values[i] >= values[i + 1])
    i--;
  if (i < 0)
    return false;
  int k = count - 1;
  while (values[k] <= values[i])
    k--;
  swap(&values[i], &values[k]);
  for (int low = i + 1, high = count - 1; low < high; low++, high--)
    swap(&values[low], &values[high]);
  return true;
}

// All orders of the factors; mesh->device_ids as it is.
static bool order_factors(hsc__mesh *mesh, const hsc_pieces *all, int count) {
  int64_t left = mesh->device_count;
  mesh->axis_count = 0;
  for (int64_t factor = 2; left > 1; factor++)
    for (; left % factor == 0; left /= factor) {
      if (mesh->axis_count == HSC__MOST_AXES)
        return false;
      mesh->axis_sizes[mesh->axis_count++] = factor;
    }
  do {
    if (expresses(mesh, all, count))
      return true;
  } while (next_order(mesh->axis_sizes, mesh->axis_count));
  return false;
}

// Factors that all shardings have together are one axis: results are never cut by less than the
// program's own mesh can have had.
static void join_axes(hsc__mesh *mesh, const hsc_pieces *all, int count) {
  for (int a = 0; a + 1 < mesh->axis_count;) {
    hsc__mesh joined = *mesh;
    joined.axis_sizes[a] *= joined.axis_sizes[a + 1];
    joined.axis_count--;
    for (int k = a + 1; k < joined.axis_count; k++)
      joined.axis_sizes[k] = mesh->axis_sizes[k + 1];
    if (expresses(&joined, all, count))
      *mesh = joined;
    else
      a++;
  }
}

// The devices in the order in which a sharding lists them, where it gives each one a piece or a
// copy of its own.
static hsc_status *listed_order(hsc__importer *im, const said *s, const int64_t **out_order) {
  hsc_pieces p;
  *out_order = NULL;
  for (int rank = s->rank; rank <= s->rank + 2 && rank <= HSC_MAX_RANK; rank++) {
    int64_t pieces = 1;
    said with_copies = {s->text, rank};
    hsc_status *status = read_pieces(im, &with_copies, &p);
    if (status) {
      hsc_status_free(status);
      return NULL;
    }
    for (int d = 0; d < rank; d++)
      pieces *= p.counts[d];
    if (pieces != im->partition_count)
      continue;
    int64_t *order = HSC_NEW_ARRAY(im->arena, int64_t, pieces);
    HSC_TRY(hsc_arena_status(im->arena));
    for (int64_t device = 0; device < pieces; device++)
      order[p.piece_of[device]] = device;
    *out_order = order;
    return NULL;
  }
  return NULL;
}

static hsc_status *find_mesh(xla_reader *r, hsc__mesh *mesh, bool *out_found) {
  hsc__importer *im = r->im;
  hsc_pieces *all = HSC_NEW_ARRAY(im->arena, hsc_pieces, r->count + 1);
  HSC_TRY(hsc_arena_status(im->arena));
  for (int i = 0; i < r->count; i++)
    HSC_TRY(read_pieces(im, &r->list[i], &all[i]));
  *mesh = (hsc__mesh){.device_count = im->partition_count};
  *out_found = order_factors(mesh, all, r->count);
  for (int i = 0; i < r->count && i < 8 && !*out_found; i++) {
    HSC_TRY(listed_order(im, &r->list[i], &mesh->device_ids));
    if (mesh->device_ids)
      *out_found = order_factors(mesh, all, r->count);
  }
  if (*out_found)
    join_axes(mesh, all, r->count);
  return NULL;
}

hsc_status *hsc__sdy_from_xla(hsc__importer *im, const hsc__mlir_op *main_op) {
  static const char *const names[HSC__MOST_AXES] = {"0", "1", "2", "3", "4", "5", "6", "7"};
  xla_reader r = {.im = im};
  hsc__mesh mesh;
  bool found;
  HSC_TRY(add_entry(&r, main_op));
  HSC_TRY(add_block(&r, im->top->regions[0], 0));
  if (!r.count)
    return NULL;
  HSC_TRY(find_mesh(&r, &mesh, &found));
  if (!found)
    return HSC_OP_ERR(UNIMPLEMENTED, im, main_op,
                      "automatic partitioning: not built yet: the sharding %.*s and others of the "
                      "program, whose pieces are no axes of one mesh of at most %d factors",
                      (int)r.list[0].text.size, r.list[0].text.data, HSC__MOST_AXES);
  im->sdy = HSC_NEW(im->arena, struct hsc__sdy);
  HSC_TRY(hsc_arena_status(im->arena));
  mesh.name = hsc_view_of("");
  for (int a = 0; a < mesh.axis_count; a++)
    mesh.axis_names[a] = hsc_view_of(names[a]);
  im->sdy->meshes[0] = mesh;
  im->sdy->mesh_count = 1;
  im->sdy->is_xla = true;
  return NULL;
}

hsc_status *hsc__sdy_xla_layout(
    hsc__importer *im, const hsc__mlir_op *op, hsc_view text, int rank, hsc__layout *out) {
  hsc_pieces p;
  *out = (hsc__layout){.rank = rank};
  if (!cuts(text))
    return NULL;
  hsc_status *status = read_pieces(im, &(said){text, rank}, &p);
  if (status)
    return hsc__import_error(status, im, op);
  if (!layout_of_pieces(&im->sdy->meshes[0], &p, out))
    return HSC_OP_ERR(UNIMPLEMENTED, im, op,
                      "%s: not built yet: the sharding %.*s, whose pieces are no axes of one mesh",
                      op->written_name, (int)text.size, text.data);
  return NULL;
}

// ---- marks --------------------------------------------------------------------------------------

static hsc_view sharding_of(const hsc__mlir_op *op) {
  const hsc__mlir_attr *sharding = op ? hsc__mlir_attr_get(op, "mhlo.sharding") : NULL;
  return sharding && sharding->kind == HSC_MLIR_STRING ? sharding->text : (hsc_view){0};
}

static hsc_status *enter(hsc__importer *im,
                         hsc_builder *b,
                         const hsc__mlir_op *op,
                         const hsc_shape *part,
                         hsc_instr **in_out_value) {
  hsc__layout l;
  HSC_TRY(hsc__sdy_xla_layout(im, op, sharding_of(op->operands[0]->owner),
                              (*in_out_value)->shape.rank, &l));
  HSC_TRY(hsc__sdy_local(im, b, op, &l, *in_out_value, in_out_value));
  if (!hsc_shape_same_dims(part, &(*in_out_value)->shape))
    return HSC_OP_ERR(INVALID_ARGUMENT, im, op,
                      "%s: its result is no part of its operand, as that is cut", op->written_name);
  return hsc__sdy_enter_manual(im, b, NULL, ~0u, in_out_value);
}

static hsc_status *leave(hsc__importer *im,
                         hsc_builder *b,
                         const hsc__mlir_op *op,
                         const hsc_shape *whole,
                         hsc_instr **in_out_value) {
  hsc__layout l;
  hsc_shape part;
  *in_out_value = hsc__sdy_behind_copies(*in_out_value);
  HSC_TRY(hsc__sdy_xla_layout(im, op, sharding_of(op), whole->rank, &l));
  if (!l.is_cut)
    return NULL;
  HSC_TRY(hsc__sdy_local_shape(im, op, &l, whole, &part));
  if (!hsc_shape_same_dims(&part, &(*in_out_value)->shape))
    return HSC_OP_ERR(INVALID_ARGUMENT, im, op, "%s: its operand is no part of its result",
                      op->written_name);
  return hsc__sdy_gather(im, b, &l, *in_out_value, in_out_value);
}

bool hsc__sdy_is_xla(const hsc__importer *im) {
  return im->sdy && im->sdy->is_xla;
}

hsc_status *hsc__sdy_xla_mark(hsc__importer *im,
                              hsc_builder *b,
                              hsc__mlir_op *op,
                              hsc_view target,
                              const hsc_shape *result,
                              hsc_instr **in_out_value) {
  if (hsc_view_find(sharding_of(op), "last_tile_dims={"))
    return HSC_OP_ERR(UNIMPLEMENTED, im, op,
                      "%s: not built yet: the sharding %.*s, of which only a part is manual",
                      op->written_name, (int)sharding_of(op).size, sharding_of(op).data);
  if (hsc_view_equals_text(target, "SPMDFullToShardShape"))
    return enter(im, b, op, result, in_out_value);
  if (hsc_view_equals_text(target, "SPMDShardToFullShape"))
    return leave(im, b, op, result, in_out_value);
  if (hsc_view_equals_text(sharding_of(op), "{manual}"))
    return NULL;
  return hsc__sdy_constrain(im, b, op, in_out_value);
}
