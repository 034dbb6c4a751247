// batchnorm_expander.c - batch-norm-training, -inference and -grad as the arithmetic that they
// stand for.
//
// Always legal; the result fuses with its neighbours, which the single ops cannot. Statistics are
// taken in f32 at least, over all dimensions but the feature's. Cost: about 15 instructions for
// each.
//
//   before   (y, mean, var) = batch-norm-training(x, scale, offset), epsilon=0.001, feature_index=3
//   after    mean = reduce(x) / n;  var = reduce(x*x) / n - mean*mean;  y = (x - mean) * rsqrt(var
//            + epsilon) * scale + offset
//
// XLA: xla/service/batchnorm_expander.h
#include "passes/manager/passes_internal.h"

typedef struct frame {
  hsc_builder *b;
  hsc_arena *arena;
  hsc_instr *like;  // the operand: its dimensions are the activations'
  int64_t feature;
  hsc_dims reduced;  // all dimensions but the feature's
  double count;      // elements per feature
} frame;

static void frame_init(frame *f, hsc_builder *b, hsc_instr *instr) {
  *f = (frame){.b = b,
               .arena = b->module->arena,
               .like = instr->operands[0],
               .feature = instr->attr.batch_norm.feature_index};
  int64_t dims[HSC_MAX_RANK];
  int count = 0;
  f->count = 1;
  for (int i = 0; i < f->like->shape.rank; i++) {
    if (i == f->feature)
      continue;
    dims[count++] = i;
    f->count *= (double)f->like->shape.dims[i];
  }
  f->reduced = hsc_dims_copy(f->arena, count, dims);
}

static hsc_instr *add(frame *f, hsc_instr *x, hsc_instr *y) {
  return hsc_build_binary(f->b, HSC_OP_ADD, x, y);
}
static hsc_instr *sub(frame *f, hsc_instr *x, hsc_instr *y) {
  return hsc_build_binary(f->b, HSC_OP_SUBTRACT, x, y);
}
static hsc_instr *mul(frame *f, hsc_instr *x, hsc_instr *y) {
  return hsc_build_binary(f->b, HSC_OP_MULTIPLY, x, y);
}

// A feature vector on the dimensions of the activations.
static hsc_instr *spread(frame *f, hsc_instr *vector) {
  return hsc_build_broadcast(f->b, vector, hsc_shape_with_type(f->like->shape, vector->shape.type),
                             HSC_DIMS(f->arena, f->feature));
}

static hsc_instr *scalar_like(frame *f, hsc_instr *like, double value) {
  hsc_instr *scalar = hsc_build_scalar(f->b, like->shape.type, value);
  return like->shape.rank ? hsc_build_broadcast(f->b, scalar, like->shape, (hsc_dims){0}) : scalar;
}

static hsc_instr *sum(frame *f, hsc_instr *x) {
  hsc_instr *zero = hsc_build_scalar(f->b, x->shape.type, 0);
  return hsc_build_reduce(f->b, x, zero, f->reduced,
                          hsc_module_scalar_reducer(f->b->module, HSC_OP_ADD, x->shape.type));
}

static hsc_instr *mean(frame *f, hsc_instr *x) {
  hsc_instr *total = sum(f, x);
  return hsc_build_binary(f->b, HSC_OP_DIVIDE, total, scalar_like(f, total, f->count));
}

static hsc_instr *inverse_deviation(frame *f, hsc_instr *variance, float epsilon) {
  return hsc_build_unary(f->b, HSC_OP_RSQRT,
                         add(f, variance, scalar_like(f, variance, (double)epsilon)));
}

static hsc_instr *widened(frame *f, hsc_instr *x, hsc_type type) {
  return x->shape.type == type ? x : hsc_build_convert(f->b, type, x);
}

// (x - center) * factor + offset, the last three by feature. In one order of instructions, whatever
// the compiler's order of arguments is.
static hsc_instr *scaled(
    frame *f, hsc_instr *x, hsc_instr *center, hsc_instr *factor, hsc_instr *offset) {
  hsc_instr *added = offset ? spread(f, offset) : NULL;
  hsc_instr *wide = spread(f, factor);
  hsc_instr *product = mul(f, sub(f, x, spread(f, center)), wide);
  return added ? add(f, product, added) : product;
}

static hsc_instr *expand_training(hsc_builder *b, hsc_instr *instr) {
  frame f;
  frame_init(&f, b, instr);
  hsc_type type = instr->operands[0]->shape.type;
  hsc_type wide = hsc_type_bits(type) < 32 ? HSC_TYPE_F32 : type;
  hsc_type stat = instr->operands[1]->shape.type;
  hsc_instr *x = widened(&f, instr->operands[0], wide);
  hsc_instr *scale = widened(&f, instr->operands[1], wide);
  hsc_instr *offset = widened(&f, instr->operands[2], wide);
  hsc_instr *mu = mean(&f, x);
  hsc_instr *square = mul(&f, mu, mu);
  hsc_instr *variance = sub(&f, mean(&f, mul(&f, x, x)), square);
  hsc_instr *factor =
      mul(&f, inverse_deviation(&f, variance, instr->attr.batch_norm.epsilon), scale);
  hsc_instr *y = scaled(&f, x, mu, factor, offset);
  return hsc_build_tuple(
      b, 3,
      (hsc_instr *[]){widened(&f, y, type), widened(&f, mu, stat), widened(&f, variance, stat)});
}

static hsc_instr *expand_inference(hsc_builder *b, hsc_instr *instr) {
  frame f;
  frame_init(&f, b, instr);
  hsc_type type = instr->operands[0]->shape.type;
  hsc_type wide = hsc_type_bits(type) < 32 ? HSC_TYPE_F32 : type;
  hsc_instr *in[5];
  for (int i = 0; i < 5; i++)
    in[i] = widened(&f, instr->operands[i], wide);
  hsc_instr *factor = mul(&f, inverse_deviation(&f, in[4], instr->attr.batch_norm.epsilon), in[1]);
  hsc_instr *y = scaled(&f, in[0], in[3], factor, in[2]);
  return widened(&f, y, type);
}

// With xhat = (x - mean) * r, r = rsqrt(var + epsilon):
//   grad_offset = sum(dy), grad_scale = sum(dy * xhat), grad_x = scale * r * (dy - grad_offset / n
//   - xhat * grad_scale / n)
static hsc_instr *expand_grad(hsc_builder *b, hsc_instr *instr) {
  frame f;
  frame_init(&f, b, instr);
  hsc_type type = instr->operands[0]->shape.type;
  hsc_type wide = hsc_type_bits(type) < 32 ? HSC_TYPE_F32 : type;
  hsc_type stat = instr->operands[1]->shape.type;
  hsc_instr *in[5];  // x, scale, mean, variance, dy
  for (int i = 0; i < 5; i++)
    in[i] = widened(&f, instr->operands[i], wide);
  hsc_instr *r = inverse_deviation(&f, in[3], instr->attr.batch_norm.epsilon);
  hsc_instr *xhat = scaled(&f, in[0], in[2], r, NULL);
  hsc_instr *grad_offset = sum(&f, in[4]);
  hsc_instr *grad_scale = sum(&f, mul(&f, in[4], xhat));
  hsc_instr *share = scalar_like(&f, grad_offset, 1.0 / f.count);
  hsc_instr *along = mul(&f, xhat, spread(&f, mul(&f, grad_scale, share)));
  hsc_instr *centred = sub(&f, in[4], spread(&f, mul(&f, grad_offset, share)));
  centred = sub(&f, centred, along);
  hsc_instr *grad_x = mul(&f, centred, spread(&f, mul(&f, in[1], r)));
  return hsc_build_tuple(b, 3,
                         (hsc_instr *[]){widened(&f, grad_x, type), widened(&f, grad_scale, stat),
                                         widened(&f, grad_offset, stat)});
}

hsc_status *hsc__pass_batchnorm_expander(hsc_module *module, hsc_pass_context *cx) {
  HSC_FOR_EACH_COMPUTATION (module, computation) {
    HSC_FOR_EACH_INSTR_IN (computation, instr) {
      bool is_norm = instr->op == HSC_OP_BATCH_NORM_TRAINING ||
                     instr->op == HSC_OP_BATCH_NORM_INFERENCE ||
                     instr->op == HSC_OP_BATCH_NORM_GRAD;
      if (!is_norm)
        continue;
      if (!hsc__pass_spend(cx))
        return NULL;
      hsc_builder b;
      hsc_builder_at(&b, computation, instr);
      b.metadata = instr->metadata;
      hsc_instr *replacement;
      if (instr->op == HSC_OP_BATCH_NORM_TRAINING)
        replacement = expand_training(&b, instr);
      else if (instr->op == HSC_OP_BATCH_NORM_INFERENCE)
        replacement = expand_inference(&b, instr);
      else
        replacement = expand_grad(&b, instr);
      HSC_TRY(hsc_builder_finish(&b, NULL, NULL));
      HSC_TRY(hsc__replace(instr, replacement));
    }
  }
  return NULL;
}
