// least_work.c - see least_work.h.
#include "hlo/cost/least_work.h"

#include <math.h>

#include "hlo/cost/cost_internal.h"

enum { MAX_DEPTH = 2048 };

// Of the fewest operations known for a complex transform of n points, beside n log2 n: the split
// radix of Johnson and Frigo, 34/9.
static const double fft_factor = 34.0 / 9;

typedef struct walk {
  hsc__ptr_map computations;  // computation -> double *
  hsc_arena *arena;
} walk;

static double computation_flops(walk *w, const hsc_computation *computation, int depth);

static const hsc_shape *first_leaf(const hsc_shape *shape) {
  return hsc_shape_leaf_count(shape) > 0 ? hsc_shape_leaf(shape, 0) : shape;
}

// Real data on either side is half of the work.
static double fft_flops(const hsc_instr *instr) {
  const hsc_shape *in = &instr->operands[0]->shape;
  const hsc_shape *out = &instr->shape;
  bool real_in = !hsc_type_is_complex(in->type);
  bool real_out = !hsc_type_is_complex(out->type);
  double elements = hsc__cost_elements(real_in ? in : out);
  double logs = 0;
  for (int i = 0; i < instr->attr.fft.length.count; i++)
    logs += log2(fmax(1, (double)instr->attr.fft.length.v[i]));
  return fft_factor * elements * logs * (real_in || real_out ? 0.5 : 1);
}

// Windows that overlap share what they fold: one step of the reducer for each result at least.
static double window_flops(walk *w, const hsc_instr *instr, int depth) {
  double once = computation_flops(w, instr->called[0], depth + 1);
  hsc_cost counted;
  hsc_instr_cost(instr, &counted);
  return fmin(counted.flops, once * hsc__cost_elements(first_leaf(&instr->shape)));
}

static double least_branch(walk *w, const hsc_instr *instr, int depth) {
  double least = INFINITY;
  for (int i = 0; i < instr->called_count; i++)
    least = fmin(least, computation_flops(w, instr->called[i], depth + 1));
  return isfinite(least) ? least : 0;
}

static double loop_flops(walk *w, const hsc_instr *instr, int depth) {
  int64_t trips = hsc_loop_trip_count(instr);
  double once = 0;
  for (int i = 0; i < instr->called_count; i++)
    once += computation_flops(w, instr->called[i], depth + 1);
  return once * (trips < 0 ? 1 : (double)trips);
}

static double instr_flops(walk *w, const hsc_instr *instr, int depth) {
  hsc_cost counted;
  double called = 0;
  switch (instr->op) {
    case HSC_OP_CALL:
    case HSC_OP_FUSION:
    case HSC_OP_ASYNC_START:
      for (int i = 0; i < instr->called_count; i++)
        called += computation_flops(w, instr->called[i], depth + 1);
      return called;
    case HSC_OP_WHILE:
      return loop_flops(w, instr, depth);
    case HSC_OP_CONDITIONAL:
      return least_branch(w, instr, depth);
    case HSC_OP_FFT:
      return fft_flops(instr);
    case HSC_OP_REDUCE_WINDOW:
      return window_flops(w, instr, depth);
    case HSC_OP_SORT:  // by digits: each element is looked at
      return hsc__cost_elements(&instr->operands[0]->shape);
    case HSC_OP_TRIANGULAR_SOLVE:  // half of the matrix is zero
      hsc_instr_cost(instr, &counted);
      return counted.flops / 2;
    default:
      hsc_instr_cost(instr, &counted);
      return counted.flops;
  }
}

static double computation_flops(walk *w, const hsc_computation *computation, int depth) {
  const double *known = hsc__ptr_map_get(&w->computations, computation);
  if (known || depth > MAX_DEPTH)
    return known ? *known : 0;
  double sum = 0;
  for (const hsc_instr *instr = computation->first; instr; instr = instr->next)
    sum += instr_flops(w, instr, depth);
  hsc__ptr_map_put(&w->computations, computation, hsc_arena_copy(w->arena, &sum, sizeof sum));
  return sum;
}

hsc_status *hsc_module_least_flops(const hsc_module *module, double *out_flops) {
  walk w = {0};
  *out_flops = 0;
  HSC_TRY(hsc_arena_create(&w.arena));
  if (module->entry)
    *out_flops = computation_flops(&w, module->entry, 0);
  hsc_status *status = hsc_arena_status(w.arena);
  if (!status && w.computations.failed)
    status = hsc_status_out_of_memory();
  hsc__ptr_map_deinit(&w.computations);
  hsc_arena_destroy(w.arena);
  return status;
}
