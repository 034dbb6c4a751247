// stablehlo_check_ragged.c - what StableHLO asks of ragged_dot: which dimension is cut into groups,
// and what sizes the groups may have.
//
// It groups in one of three ways: along a dimension of lhs alone (rhs then has a dimension of
// groups), along a contracting one, or along one of the batch.
#include "formats/stablehlo/stablehlo_internal.h"

#define BAD(...) return HSC_OP_ERR(INVALID_ARGUMENT, r->im, r->op, __VA_ARGS__)

typedef struct ragged {
  const hsc__importer *im;
  const hsc__mlir_op *op;
  const hsc_shape *lhs, *rhs, *sizes;
  hsc_dims lhs_batch, rhs_batch, lhs_contracting, rhs_contracting, ragged, group;
  bool in_batch, contracting;  // where the ragged dimension is; else lhs alone has it
} ragged;

static hsc_status *read_dims(ragged *r) {
  const struct {
    const char *name;
    hsc_dims *to;
  } lists[] = {{"lhs_batching_dimensions", &r->lhs_batch},
               {"rhs_batching_dimensions", &r->rhs_batch},
               {"lhs_contracting_dimensions", &r->lhs_contracting},
               {"rhs_contracting_dimensions", &r->rhs_contracting},
               {"lhs_ragged_dimensions", &r->ragged},
               {"rhs_group_dimensions", &r->group}};
  for (size_t i = 0; i < HSC_COUNT_OF(lists); i++)
    HSC_TRY(hsc__import_dims(r->im, r->op, lists[i].name, lists[i].to));
  return NULL;
}

static hsc_status *check_ragged_dimension(ragged *r) {
  if (r->ragged.count != 1)
    BAD("it has %d ragged dimensions; one is needed", r->ragged.count);
  int64_t dimension = r->ragged.v[0];
  if (dimension < 0 || dimension >= r->lhs->rank)
    BAD("its ragged dimension %lld is none of lhs", (long long)dimension);
  r->in_batch = hsc_dims_contain(r->lhs_batch, dimension);
  r->contracting = hsc_dims_contain(r->lhs_contracting, dimension);
  return NULL;
}

static hsc_status *check_group_dimension(const ragged *r) {
  bool none = r->in_batch || r->contracting;
  if (r->group.count != (none ? 0 : 1))
    BAD("it has %d group dimensions; %s", r->group.count,
        none ? "rhs has none when a batch or contracting dimension is ragged"
             : "one of rhs is needed");
  if (none)
    return NULL;
  int64_t dimension = r->group.v[0];
  if (dimension < 0 || dimension >= r->rhs->rank)
    BAD("its group dimension %lld is none of rhs", (long long)dimension);
  if (hsc_dims_contain(r->rhs_batch, dimension))
    BAD("dimension %lld of rhs is a group and a batch dimension", (long long)dimension);
  if (hsc_dims_contain(r->rhs_contracting, dimension))
    BAD("dimension %lld of rhs is a group and a contracting dimension", (long long)dimension);
  return NULL;
}

static hsc_status *check_contracting(const ragged *r) {
  const hsc_shape *lhs = r->lhs;
  const hsc_shape *rhs = r->rhs;
  for (int i = 0; i < r->lhs_contracting.count && i < r->rhs_contracting.count; i++) {
    int64_t a = r->lhs_contracting.v[i];
    int64_t b = r->rhs_contracting.v[i];
    bool both = a >= 0 && a < lhs->rank && b >= 0 && b < rhs->rank;
    if (both && lhs->dims[a] != rhs->dims[b])
      BAD("its contracting dimensions differ: lhs[%lld]=%lld, rhs[%lld]=%lld", (long long)a,
          (long long)lhs->dims[a], (long long)b, (long long)rhs->dims[b]);
  }
  return NULL;
}

// The dimensions of lhs for which there may be sizes each: those of the batch, then those of the
// ragged one's kind that come before it.
static int leading_dimensions(const ragged *r, int64_t lead[HSC_MAX_RANK]) {
  int64_t dimension = r->ragged.v[0];
  int count = 0;
  for (int i = 0; !r->in_batch && i < r->lhs_batch.count && count < HSC_MAX_RANK; i++)
    lead[count++] = r->lhs_batch.v[i];
  if (!r->in_batch && !r->contracting) {
    for (int d = 0; d < dimension && count < HSC_MAX_RANK; d++)
      if (!hsc_dims_contain(r->lhs_batch, d) && !hsc_dims_contain(r->lhs_contracting, d))
        lead[count++] = d;
    return count;
  }
  hsc_dims kind = r->in_batch ? r->lhs_batch : r->lhs_contracting;
  for (int i = 0; i < kind.count && kind.v[i] != dimension && count < HSC_MAX_RANK; i++)
    lead[count++] = kind.v[i];
  return count;
}

// For all together, or for each place along the leading dimensions.
static hsc_status *check_sizes(const ragged *r) {
  const hsc_shape *sizes = r->sizes;
  if (sizes->rank < 1)
    BAD("its group sizes are a scalar");
  if (r->group.count && r->rhs->dims[r->group.v[0]] != sizes->dims[sizes->rank - 1])
    BAD("rhs has %lld groups, the group sizes %lld", (long long)r->rhs->dims[r->group.v[0]],
        (long long)sizes->dims[sizes->rank - 1]);
  if (sizes->rank == 1)
    return NULL;
  int64_t lead[HSC_MAX_RANK];
  int count = leading_dimensions(r, lead);
  if (sizes->rank != count + 1)
    BAD("its group sizes are of rank %d; 1 or %d is needed", sizes->rank, count + 1);
  for (int i = 0; i < count; i++)
    if (lead[i] < 0 || lead[i] >= r->lhs->rank || sizes->dims[i] != r->lhs->dims[lead[i]])
      BAD("dimension %d of its group sizes is not that of lhs[%lld]", i, (long long)lead[i]);
  return NULL;
}

hsc_status *hsc__import_check_ragged_dot(const hsc__importer *im, const hsc__mlir_op *op) {
  ragged r = {.im = im, .op = op};
  HSC_TRY(read_dims(&r));
  if (op->operand_count != 3)
    return NULL;
  for (int i = 0; i < 3; i++)
    if (op->operands[i]->type->kind != HSC_MLIR_TENSOR || op->operands[i]->type->shape.dynamic)
      return NULL;
  r.lhs = &op->operands[0]->type->shape;
  r.rhs = &op->operands[1]->type->shape;
  r.sizes = &op->operands[2]->type->shape;
  HSC_TRY(check_ragged_dimension(&r));
  HSC_TRY(check_group_dimension(&r));
  HSC_TRY(check_contracting(&r));
  return check_sizes(&r);
}
