// cost.c - flops, transcendentals and bytes as XLA's HloCostAnalysis counts them
// (xla/service/hlo_cost_analysis.cc; the numbers of jaxlib 0.10 for every op are in
// tests/unit/test_cost.c).
//
// By default an instruction reads its operands and writes its result; it computes nothing. A tuple
// operand counts as its table of pointers, a tuple result as its leaves. Calls count as what they
// call; so do fusions, except that only what crosses their border is read and written. A loop
// counts as one trip. Custom calls count by library_calls.def; of one without a row XLA counts -1
// of everything, here it is one of hsc_cost.uncounted.
#include <math.h>

#include "hlo/cost/cost_internal.h"

enum { MAX_DEPTH = 2048 };

typedef struct coster {
  hsc__ptr_map computations;  // computation -> hsc_cost *
  hsc_arena *arena;
} coster;

static void computation_cost(coster *c,
                             const hsc_computation *computation,
                             int depth,
                             hsc_cost *out_cost);

// ---- sizes --------------------------------------------------------------------------------------

static double leaves_elements_of(const hsc_shape *shape) {
  if (shape->type != HSC_TYPE_TUPLE)
    return hsc__cost_elements(shape);
  double count = 0;
  for (int i = 0; i < shape->element_count; i++)
    count += leaves_elements_of(&shape->elements[i]);
  return count;
}

static const hsc_shape *first_array(const hsc_shape *shape) {
  return shape->type == HSC_TYPE_TUPLE && shape->element_count > 0 ? &shape->elements[0] : shape;
}
static const hsc_shape *operand_shape(const hsc_instr *instr, int operand) {
  return &instr->operands[operand]->shape;
}

void hsc_cost_add(hsc_cost *sum, const hsc_cost *part, double times) {
  sum->flops += times * part->flops;
  sum->transcendentals += times * part->transcendentals;
  sum->bytes_read += times * part->bytes_read;
  sum->bytes_written += times * part->bytes_written;
  sum->uncounted += times * part->uncounted;
}

// ---- computing ----------------------------------------------------------------------------------

// flops and transcendentals of `count` runs of a called computation; its memory traffic stays in
// registers.
static void add_runs(
    coster *c, const hsc_instr *instr, int called, double count, int depth, hsc_cost *cost) {
  hsc_cost once = {0};
  computation_cost(c, instr->called[called], depth + 1, &once);
  cost->flops += once.flops * count;
  cost->transcendentals += once.transcendentals * count;
  cost->uncounted += once.uncounted * count;
}

static double window_elements(hsc_window window) {
  double count = 1;
  for (int i = 0; i < window.rank; i++)
    count *= (double)window.dims[i].size;
  return count;
}

// A window as wide as twice the dimension less one, padded by the dimension less one on both sides,
// is a reduce whose result is broadcast.
static bool is_reduce_and_broadcast(const hsc_instr *instr, int *out_dim) {
  hsc_window window = instr->attr.window.window;
  int wide = 0;
  int padded = 0;
  for (int i = 0; i < window.rank; i++) {
    wide += window.dims[i].size != 1;
    padded += window.dims[i].pad_low != 0 || window.dims[i].pad_high != 0;
  }
  if (wide != 1 || padded != 1 || !hsc_shape_is_array(&instr->shape))
    return false;
  for (int i = 0; i < window.rank; i++) {
    const hsc_window_dim *d = &window.dims[i];
    if (d->size != 1 && d->pad_low != 0 && d->pad_low == d->pad_high &&
        d->size == 2 * d->pad_low + 1) {
      *out_dim = i;
      return d->pad_low == instr->shape.dims[i] - 1;
    }
  }
  return false;
}

static double reduce_window_runs(const hsc_instr *instr) {
  double outputs = hsc__cost_elements(first_array(&instr->shape));
  int dim;
  if (!is_reduce_and_broadcast(instr, &dim))
    return fmax(0, window_elements(instr->attr.window.window) - 1) * outputs;
  double span = (double)instr->shape.dims[dim];
  return outputs / span + (span - 1);
}

static double dot_flops(const hsc_instr *instr) {
  double width = 1;
  const hsc_shape *lhs = operand_shape(instr, 0);
  for (int i = 0; i < instr->attr.dot.lhs_contracting.count; i++)
    width *= (double)lhs->dims[instr->attr.dot.lhs_contracting.v[i]];
  return HSC__FMA_FLOPS * hsc__cost_elements(&instr->shape) * width;
}

static double convolution_flops(const hsc_instr *instr) {
  return hsc__cost_conv_flops(&(hsc__conv_shapes){.input = operand_shape(instr, 0),
                                                  .kernel = operand_shape(instr, 1),
                                                  .output = &instr->shape,
                                                  .dims = &instr->attr.conv.dims,
                                                  .windows = instr->attr.conv.window.dims,
                                                  .feature_groups = instr->attr.conv.feature_groups,
                                                  .batch_groups = instr->attr.conv.batch_groups});
}

static double fft_flops(const hsc_instr *instr) {
  double logs = 1;
  for (int i = 0; i < instr->attr.fft.length.count; i++)
    logs *= hsc__floor_log2((uint64_t)instr->attr.fft.length.v[i]);
  return HSC__FMA_FLOPS * 4 * logs * hsc__cost_elements(operand_shape(instr, 0));
}

// The last axis of the operand that the transpose leaves in the same place in memory, for all axes:
// then nothing moves.
static bool transpose_is_bitcast(const hsc_instr *instr) {
  const hsc_shape *from = operand_shape(instr, 0);
  const hsc_shape *to = &instr->shape;
  hsc_dims permutation = instr->attr.dims.dims;
  for (int i = 0; i < to->rank; i++) {
    int64_t to_dim = to->layout ? to->layout->minor_to_major[i] : to->rank - 1 - i;
    int64_t from_dim = from->layout ? from->layout->minor_to_major[i] : from->rank - 1 - i;
    if (permutation.v[to_dim] != from_dim)
      return false;
  }
  return true;
}

// ---- fusions ------------------------------------------------------------------------------------

static int uses_as(const hsc_instr *user, const hsc_instr *value, int operand) {
  return operand < user->operand_count && user->operands[operand] == value;
}

// What a fusion reads of one of its parameters: slices as much as they take, other users the whole,
// together once.
static double parameter_read_bytes(const hsc_instr *value, int depth) {
  double size = 0;
  double whole = hsc__cost_bytes(&value->shape);
  bool read_whole = false;
  for (int i = 0; i < value->user_count && depth < MAX_DEPTH; i++) {
    const hsc_instr *user = value->users[i];
    bool again = false;  // a user that names the value twice is in the list twice
    for (int j = 0; j < i && !again; j++)
      again = value->users[j] == user;
    if (again)
      continue;
    switch (user->op) {
      case HSC_OP_FUSION:
        for (int o = 0; o < user->operand_count; o++)
          if (user->operands[o] == value && user->called_count == 1 &&
              o < user->called[0]->parameter_count)
            size += parameter_read_bytes(user->called[0]->parameters[o], depth + 1);
        break;
      case HSC_OP_SLICE:
        size += hsc__cost_bytes(&user->shape);
        break;
      case HSC_OP_BROADCAST:
      case HSC_OP_RESHAPE:
        size += whole;
        break;
      case HSC_OP_DYNAMIC_SLICE:
        if (uses_as(user, value, 0))
          size += hsc__cost_bytes(&user->shape);
        else if (!read_whole) {
          read_whole = true;
          size += whole;
        }
        break;
      case HSC_OP_DYNAMIC_UPDATE_SLICE:  // operand 0 is updated in place
        if (!uses_as(user, value, 0) && !read_whole) {
          read_whole = true;
          size += whole;
        }
        break;
      default:
        if (!read_whole) {
          read_whole = true;
          size += whole;
        }
        break;
    }
  }
  return size;
}

static const hsc_instr *element_of(const hsc_instr *tuple, int64_t index) {
  for (int i = 0; i < tuple->user_count; i++)
    if (tuple->users[i]->op == HSC_OP_GET_TUPLE_ELEMENT &&
        tuple->users[i]->attr.index.value == index)
      return tuple->users[i];
  return tuple;
}

static double fused_parameter_bytes(const hsc_instr *value, const hsc_shape *shape) {
  if (shape->type != HSC_TYPE_TUPLE)
    return parameter_read_bytes(value, 0);
  double size = 0;
  for (int i = 0; i < shape->element_count; i++)
    size += fused_parameter_bytes(element_of(value, i), &shape->elements[i]);
  return size;
}

// An update in place writes the update only.
static double written_by(const hsc_instr *root, const hsc_shape *shape) {
  return root && root->op == HSC_OP_DYNAMIC_UPDATE_SLICE
             ? hsc__cost_bytes(&root->operands[1]->shape)
             : hsc__cost_leaves_bytes(shape);
}

static void instr_cost(coster *c, const hsc_instr *instr, int depth, hsc_cost *out_cost);

static void fusion_cost(coster *c, const hsc_instr *instr, int depth, hsc_cost *cost) {
  const hsc_computation *fused = instr->called[0];
  const hsc_instr *root = fused->root;
  if (instr->attr.fusion.kind == HSC_FUSION_CUSTOM)
    for (const hsc_instr *inner = fused->first; inner; inner = inner->next)
      if (inner->op == HSC_OP_GATHER || inner->op == HSC_OP_SCATTER) {
        instr_cost(c, inner, depth + 1, cost);
        return;
      }
  computation_cost(c, fused, depth + 1, cost);
  cost->bytes_read = cost->bytes_written = 0;
  if (instr->shape.type == HSC_TYPE_TUPLE)
    for (int i = 0; i < instr->shape.element_count; i++)
      cost->bytes_written += written_by(root->op == HSC_OP_TUPLE ? root->operands[i] : NULL,
                                        &instr->shape.elements[i]);
  else
    cost->bytes_written = written_by(root, &instr->shape);
  for (const hsc_instr *inner = fused->first; inner; inner = inner->next)
    if (inner->op == HSC_OP_CONSTANT && hsc_shape_elements(&inner->shape) > 1)
      cost->bytes_read += hsc__cost_bytes(&inner->shape);
  for (int i = 0; i < fused->parameter_count; i++)
    cost->bytes_read += fused_parameter_bytes(fused->parameters[i], &fused->parameters[i]->shape);
}

// ---- instructions -------------------------------------------------------------------------------

// Bytes of ops that do not read all of their operands and write all of their result.
static void set_bytes(const hsc_instr *instr, hsc_cost *cost) {
  double result = hsc__cost_leaves_bytes(&instr->shape);
  double read = 0;
  for (int i = 0; i < instr->operand_count; i++)
    read += hsc__cost_bytes(operand_shape(instr, i));
  switch (instr->op) {
    case HSC_OP_PARAMETER:
    case HSC_OP_CONSTANT:
    case HSC_OP_GET_TUPLE_ELEMENT:
    case HSC_OP_BITCAST:
    case HSC_OP_DOMAIN:
    case HSC_OP_AFTER_ALL:
    case HSC_OP_ADD_DEPENDENCY:
      read = result = 0;
      break;
    case HSC_OP_TRANSPOSE:
      if (transpose_is_bitcast(instr))
        read = result = 0;
      break;
    case HSC_OP_TUPLE:
      read = 0;
      result = hsc__cost_bytes(&instr->shape);
      break;
    case HSC_OP_SLICE:
      read = result;
      break;
    case HSC_OP_DYNAMIC_SLICE:
      read = result + (instr->operand_count > 1 ? hsc__cost_bytes(operand_shape(instr, 1)) : 0);
      break;
    case HSC_OP_DYNAMIC_UPDATE_SLICE:
      result = hsc__cost_bytes(operand_shape(instr, 1));
      read = result + (instr->operand_count > 2 ? hsc__cost_bytes(operand_shape(instr, 2)) : 0);
      break;
    case HSC_OP_GATHER:
      read = result + hsc__cost_bytes(operand_shape(instr, 1));
      break;
    case HSC_OP_SCATTER: {
      int count = (instr->operand_count - 1) / 2;
      result = 0;
      for (int i = 0; i < count; i++)
        result += hsc__cost_bytes(operand_shape(instr, count + 1 + i));
      read = 2 * result + hsc__cost_bytes(operand_shape(instr, count));
      break;
    }
    case HSC_OP_INFEED:
      read = 0;
      break;
    case HSC_OP_OUTFEED:
      read = 0;
      for (int i = 0; i < instr->operand_count; i++)
        read += hsc__cost_leaves_bytes(operand_shape(instr, i));
      result = 0;
      break;
    case HSC_OP_CHOLESKY:
      read = result = result / 2;
      break;
    case HSC_OP_TRIANGULAR_SOLVE:
      read =
          hsc__cost_bytes(operand_shape(instr, 0)) / 2 + hsc__cost_bytes(operand_shape(instr, 1));
      break;
    default:
      break;
  }
  cost->bytes_read = read;
  cost->bytes_written = result;
}

static void conditional_cost(coster *c, const hsc_instr *instr, int depth, hsc_cost *cost) {
  for (int i = 0; i < instr->called_count; i++) {
    hsc_cost branch = {0};
    computation_cost(c, instr->called[i], depth + 1, &branch);
    if (branch.flops > cost->flops)
      cost->flops = branch.flops;
    if (branch.transcendentals > cost->transcendentals)
      cost->transcendentals = branch.transcendentals;
    if (branch.bytes_read > cost->bytes_read)
      cost->bytes_read = branch.bytes_read;
    if (branch.bytes_written > cost->bytes_written)
      cost->bytes_written = branch.bytes_written;
    if (branch.uncounted > cost->uncounted)
      cost->uncounted = branch.uncounted;
  }
}

// What an instruction costs that is what it calls; false when it is another one.
static bool calling_cost(coster *c, const hsc_instr *instr, int depth, hsc_cost *cost) {
  switch (instr->op) {
    case HSC_OP_CALL:
    case HSC_OP_ASYNC_START:
      if (instr->called_count > 0)
        computation_cost(c, instr->called[0], depth + 1, cost);
      return true;
    case HSC_OP_WHILE:
      for (int i = 0; i < instr->called_count; i++) {
        hsc_cost part = {0};
        computation_cost(c, instr->called[i], depth + 1, &part);
        hsc_cost_add(cost, &part, 1);
      }
      return true;
    case HSC_OP_CONDITIONAL:
      conditional_cost(c, instr, depth, cost);
      return true;
    case HSC_OP_FUSION:
      fusion_cost(c, instr, depth, cost);
      return true;
    case HSC_OP_CUSTOM_CALL:
      hsc__cost_library_call(instr, cost);
      return true;
    default:
      return false;
  }
}

static void instr_cost(coster *c, const hsc_instr *instr, int depth, hsc_cost *cost) {
  *cost = (hsc_cost){0};
  if (calling_cost(c, instr, depth, cost))
    return;
  set_bytes(instr, cost);
  uint32_t traits = hsc_op_traits(instr->op);
  switch (instr->op) {
    case HSC_OP_CLAMP:
    case HSC_OP_BITCAST_CONVERT:
      cost->flops = hsc__cost_elements(&instr->shape);
      break;
    case HSC_OP_DOT:
    case HSC_OP_RAGGED_DOT:
    case HSC_OP_SCALED_DOT:
      cost->flops = dot_flops(instr);
      break;
    case HSC_OP_CONVOLUTION:
      cost->flops = convolution_flops(instr);
      break;
    case HSC_OP_FFT:
      cost->flops = fft_flops(instr);
      break;
    case HSC_OP_CHOLESKY:
      cost->flops = hsc__cost_cholesky_flops(operand_shape(instr, 0));
      break;
    case HSC_OP_TRIANGULAR_SOLVE:
      cost->flops = hsc__cost_triangular_flops(operand_shape(instr, 0), operand_shape(instr, 1));
      break;
    case HSC_OP_SORT:
      cost->flops = hsc__cost_sort_flops(operand_shape(instr, 0));
      break;
    case HSC_OP_MAP:
      add_runs(c, instr, 0, hsc__cost_elements(&instr->shape), depth, cost);
      break;
    case HSC_OP_REDUCE:
      // of nothing the results are the start values
      add_runs(c, instr, 0,
               fmax(0, hsc__cost_elements(operand_shape(instr, 0)) -
                           hsc__cost_elements(first_array(&instr->shape))),
               depth, cost);
      break;
    case HSC_OP_REDUCE_WINDOW:
      add_runs(c, instr, 0, reduce_window_runs(instr), depth, cost);
      break;
    case HSC_OP_SELECT_AND_SCATTER: {
      double sources = hsc__cost_elements(operand_shape(instr, 1));
      add_runs(c, instr, 0, sources * (window_elements(instr->attr.window.window) - 1), depth,
               cost);
      add_runs(c, instr, 1, sources, depth, cost);
      break;
    }
    case HSC_OP_SCATTER:
      add_runs(c, instr, 0,
               hsc__cost_elements(
                   operand_shape(instr, instr->operand_count - (instr->operand_count - 1) / 2)),
               depth, cost);
      break;
    case HSC_OP_ALL_REDUCE:
    case HSC_OP_ALL_REDUCE_START:
      cost->flops = leaves_elements_of(&instr->shape);
      break;  // as if of two participants
    case HSC_OP_RNG:
    case HSC_OP_RNG_BIT_GENERATOR:
      cost->transcendentals = leaves_elements_of(&instr->shape);
      break;
    default:
      if (!(traits & HSC_TRAIT_ELEMENTWISE))
        break;
      *(traits & HSC_TRAIT_TRANSCENDENTAL ? &cost->transcendentals : &cost->flops) =
          hsc__cost_elements(&instr->shape);
      break;
  }
}

static void computation_cost(coster *c,
                             const hsc_computation *computation,
                             int depth,
                             hsc_cost *out_cost) {
  const hsc_cost *known = hsc__ptr_map_get(&c->computations, computation);
  *out_cost = known ? *known : (hsc_cost){0};
  if (known || depth > MAX_DEPTH)
    return;
  for (const hsc_instr *instr = computation->first; instr; instr = instr->next) {
    hsc_cost cost;
    instr_cost(c, instr, depth, &cost);
    hsc_cost_add(out_cost, &cost, 1);
  }
  hsc__ptr_map_put(&c->computations, computation,
                   hsc_arena_copy(c->arena, out_cost, sizeof *out_cost));
}

// Out of memory leaves zeros: the cost of nothing.
static void with_coster(const hsc_instr *instr,
                        const hsc_computation *computation,
                        hsc_cost *out_cost) {
  coster c = {0};
  *out_cost = (hsc_cost){0};
  hsc_status *status = hsc_arena_create(&c.arena);
  if (!status) {
    if (instr)
      instr_cost(&c, instr, 0, out_cost);
    else
      computation_cost(&c, computation, 0, out_cost);
    status = hsc_arena_status(c.arena);
    if (status || c.computations.failed)
      *out_cost = (hsc_cost){0};
  }
  hsc_status_free(status);
  hsc__ptr_map_deinit(&c.computations);
  hsc_arena_destroy(c.arena);
}

void hsc_instr_cost(const hsc_instr *instr, hsc_cost *out_cost) {
  with_coster(instr, NULL, out_cost);
}

void hsc_module_cost(const hsc_module *module, hsc_cost *out_cost) {
  *out_cost = (hsc_cost){0};
  if (module->entry)
    with_coster(NULL, module->entry, out_cost);
}
