// random_grower.h - what the steps of random_module.c and random_forms.c share: a computation that
// grows, and the values that later steps may use.
#pragma once

#include "base/core/random.h"
#include "random_module.h"

enum { MAX_POOL = 512, MAX_DEPTH = 3, MAX_ELEMENTS = 1 << 16 };

typedef struct grower {
  hsc_random *random;
  const random_module_options *options;
  hsc_module *module;
  hsc_arena *arena;
  hsc_builder b;
  hsc_instr *pool[MAX_POOL];  // arrays that later steps may use
  int pool_count;
  int depth;  // of called computations
} grower;

enum {
  PREDS = 1 << HSC_CLASS_PRED,
  INTEGERS = 1 << HSC_CLASS_SIGNED | 1 << HSC_CLASS_UNSIGNED,
  FLOATS = 1 << HSC_CLASS_FLOAT,
  COMPLEX = 1 << HSC_CLASS_COMPLEX,
  ANY = PREDS | INTEGERS | FLOATS | COMPLEX,
};

int grow_below(grower *g, int bound);  // uniform in [0, bound)
bool grow_chance(grower *g, int percent);
bool grow_has(const grower *g, random_feature feature);
// puts an array into the pool; gives it back
hsc_instr *grow_keep(grower *g, hsc_instr *value);
void grow_shuffled(grower *g, int count, int64_t *out);  // a permutation of 0 to count - 1

hsc_type grow_type(grower *g);
int64_t grow_dim(grower *g);
// rank sizes, of MAX_ELEMENTS elements at most
void grow_dims(grower *g, int rank, int64_t *out);
hsc_shape grow_shape(grower *g, hsc_type type, int min_rank);
hsc_shape grow_shape_of(grower *g, hsc_type type, int rank, const int64_t *dims);

hsc_instr *grow_scalar(grower *g, hsc_type type, double value);
hsc_instr *grow_splat(grower *g, hsc_shape shape, double value);
hsc_instr *grow_constant(grower *g, hsc_shape shape);
hsc_instr *grow_reshaped(grower *g, hsc_instr *x, hsc_shape shape);
// Another type by convert, through a compare to pred and through the real part where a complex
// number is in the way.
hsc_instr *grow_converted(grower *g, hsc_instr *x, hsc_type type);
// `x` bent to a shape: flattened, cut or padded, folded.
hsc_instr *grow_coerced(grower *g, hsc_instr *x, hsc_shape shape);
// A value of the pool, of one of the classes, of at least this rank; made when there is none. Young
// values come more often.
hsc_instr *grow_pick(grower *g, unsigned classes, int min_rank);
hsc_instr *grow_pick_like(grower *g, hsc_shape shape);
// Keep floats small where the options want it: x * factor, x between low and high.
hsc_instr *grow_scaled(grower *g, hsc_instr *x, double factor);
hsc_instr *grow_clamped(grower *g, hsc_instr *x, double low, double high);

// Less or greater by the first of `count` pairs of scalars.
hsc_computation *grow_comparator(grower *g, int count, const hsc_type *types);
// (value, index) pairs, the larger value winning and the smaller index among equals: what argmax is
// made of.
hsc_computation *grow_argmax_reducer(grower *g);
// A computation from parameters of the given shapes to `result`, grown like the entry.
hsc_computation *grow_computation(grower *g,
                                  const char *name,
                                  int parameter_count,
                                  const hsc_shape *parameters,
                                  hsc_shape result,
                                  int steps);

// One of the forms of random_forms.c.
void grow_form(grower *g);
