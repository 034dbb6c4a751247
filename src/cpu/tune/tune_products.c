// tune_products.c - dots and convolutions as problems for the autotuner: each row of the
// candidates' tables, planned for the product and run as the thunk would run it, outside of any
// program.
#include <stdlib.h>

#include "cpu/kernels/gemm/contraction.h"
#include "cpu/kernels/conv/convolution.h"
#include "cpu/thunks/thunk_kinds.h"
#include "cpu/tune/tuner.h"

// Below so many multiply-adds a choice is not worth its measurement.
static const double LEAST_MULTIPLY_ADDS = 32768;

// The least of an executable that one thunk needs: inputs 0 and 1, the output, scratch.
typedef struct solo {
  hsc_cpu_device *device;
  hsc_tune_products *products;
  hsc_cpu_executable executable;
  hsc_cpu_thunk thunk;
  hsc_cpu_slice slices[4];
  union {
    hsc_contraction contraction;
    hsc_convolution convolution;
  };
} solo;

struct hsc_tune_products {
  uint8_t *worker_scratch;  // [threads][the largest of the candidates]
  int64_t worker_bytes;
};

bool hsc__tune_wants(const hsc_instr *instr) {
  if (instr->op != HSC_OP_DOT && instr->op != HSC_OP_CONVOLUTION)
    return false;
  if (instr->operand_count != 2 || !hsc_type_is_float(instr->shape.type) ||
      hsc_shape_elements(&instr->shape) == 0)
    return false;
  for (int i = 0; i < 2; i++)
    if (!hsc_type_is_float(instr->operands[i]->shape.type) ||
        hsc_shape_elements(&instr->operands[i]->shape) == 0)
      return false;
  hsc_cost cost;
  hsc_instr_cost(instr, &cost);
  return cost.flops / 2 >= LEAST_MULTIPLY_ADDS;
}

const char *hsc_tune_algorithm_name(bool is_conv, int64_t algorithm) {
  if (algorithm < 0 ||
      algorithm >= (is_conv ? (int64_t)HSC_CONV_COUNT : (int64_t)HSC_CONTRACTION_COUNT))
    return "?";
  return is_conv ? hsc_conv_candidate_text((hsc_conv_candidate)algorithm)
                 : hsc_contraction_candidate_text((hsc_contraction_candidate)algorithm);
}

static hsc_status *run_solo(void *context, void *const *inputs, void *output, void *scratch) {
  solo *l = context;
  l->executable.worker_scratch_bytes = l->products->worker_bytes;
  uint8_t *bases[] = {scratch, NULL, inputs[0], inputs[1], output};
  hsc_cpu_frame frame = {.executable = &l->executable,
                         .pool = l->device->pool,
                         .bases = bases,
                         .worker_scratch = l->products->worker_scratch};
  return l->thunk.kind == HSC_CPU_THUNK_CONTRACTION ? hsc__cpu_run_contraction(&frame, &l->thunk)
                                                    : hsc__cpu_run_convolution(&frame, &l->thunk);
}

static void set_up(solo *l, hsc_cpu_device *device, hsc_tune_products *products, bool is_conv) {
  l->device = device;
  l->products = products;
  l->executable.device = device;
  l->executable.slices = l->slices;
  l->executable.data = (uint8_t *)(is_conv ? (void *)&l->convolution : (void *)&l->contraction);
  l->thunk =
      (hsc_cpu_thunk){.kind = is_conv ? HSC_CPU_THUNK_CONVOLUTION : HSC_CPU_THUNK_CONTRACTION,
                      .input_count = 2,
                      .output_count = 1,
                      .has_scratch = 1,
                      .instr = -1,
                      .kernel = -1};
  static const int32_t bases[] = {HSC_CPU_BASE_FIRST_INPUT, HSC_CPU_BASE_FIRST_INPUT + 1,
                                  HSC_CPU_BASE_FIRST_INPUT + 2, HSC_CPU_BASE_TEMP};
  for (int i = 0; i < 4; i++)
    l->slices[i] = (hsc_cpu_slice){.base = bases[i]};
}

// An earlier candidate that plans the very same.
static const char *same_as(const solo *const *made, int count, const solo *l, bool is_conv) {
  for (int i = 0; i < count; i++) {
    if (!made[i])
      continue;
    solo other = *made[i];
    if (is_conv)
      other.convolution.algorithm = l->convolution.algorithm;
    else
      other.contraction.candidate = l->contraction.candidate;
    bool equal = is_conv ? !memcmp(&other.convolution, &l->convolution, sizeof l->convolution)
                         : l->contraction.candidate != HSC_CONTRACTION_OPENBLAS &&
                               made[i]->contraction.candidate != HSC_CONTRACTION_OPENBLAS &&
                               !memcmp(&other.contraction, &l->contraction, sizeof l->contraction);
    if (equal)
      return hsc_tune_algorithm_name(
          is_conv, is_conv ? made[i]->convolution.algorithm : made[i]->contraction.candidate);
  }
  return NULL;
}

hsc_status *hsc__tune_products_make(hsc_cpu_device *device,
                                    const hsc_instr *instr,
                                    bool direct_only,
                                    hsc_arena *arena,
                                    hsc_tune_candidate *out_candidates,
                                    int *out_count,
                                    hsc_tune_products **out_products) {
  bool is_conv = instr->op == HSC_OP_CONVOLUTION;
  int count = is_conv ? HSC_CONV_COUNT : HSC_CONTRACTION_COUNT;
  int threads = hsc_cpu_pool_thread_count(device->pool);
  int first = 0;
  hsc_tune_products *products = *out_products = HSC_NEW(arena, hsc_tune_products);
  HSC_TRY(hsc_arena_status(arena));
  if (is_conv) {
    // What the rule takes goes first: it is what stays when nothing is better, and what others are
    // compared with.
    hsc_convolution by_rule;
    HSC_TRY(hsc_convolution_plan(instr, &device->isa, threads, direct_only, &by_rule));
    first = by_rule.algorithm;
  }
  const solo *made[HSC_TUNE_MAX_CANDIDATES] = {NULL};
  int made_count = 0;
  *out_count = 0;
  for (int i = 0; i < count; i++) {
    int algorithm;
    if (i == 0)
      algorithm = first;
    else if (i <= first)
      algorithm = i - 1;
    else
      algorithm = i;
    hsc_tune_candidate *c = &out_candidates[(*out_count)++];
    *c = (hsc_tune_candidate){.algorithm = algorithm,
                              .name = hsc_tune_algorithm_name(is_conv, algorithm),
                              .run = run_solo};
    solo *l = HSC_NEW(arena, solo);
    HSC_TRY(hsc_arena_status(arena));
    c->context = l;
    set_up(l, device, products, is_conv);
    hsc_status *refused =
        is_conv ? hsc_convolution_plan_as(instr, &device->isa, threads, direct_only,
                                          (hsc_conv_candidate)algorithm, &l->convolution)
                : hsc_contraction_plan_as(instr, &device->isa, threads,
                                          (hsc_contraction_candidate)algorithm, &l->contraction);
    if (refused) {
      c->refused = hsc_arena_strdup(arena, hsc_status_message(refused));
      hsc_status_free(refused);
      continue;
    }
    const char *twin = same_as(made, made_count, l, is_conv);
    if (twin) {
      c->refused = hsc_arena_printf(arena, "%s: the same as %s for these shapes", c->name, twin);
      continue;
    }
    made[made_count++] = l;
    c->scratch_bytes = is_conv ? l->convolution.scratch_bytes : l->contraction.scratch_bytes;
    int64_t worker =
        is_conv ? l->convolution.worker_scratch_bytes : l->contraction.worker_scratch_bytes;
    worker = (worker + HSC_CPU_ALIGNMENT - 1) / HSC_CPU_ALIGNMENT * HSC_CPU_ALIGNMENT;
    if (worker > products->worker_bytes)
      products->worker_bytes = worker;
  }
  HSC_TRY(hsc_arena_status(arena));
  if (posix_memalign((void **)&products->worker_scratch, HSC_CPU_ALIGNMENT,
                     (size_t)products->worker_bytes * (size_t)threads + 64))
    return hsc_status_out_of_memory();
  return NULL;
}

void hsc__tune_products_deinit(hsc_tune_products *products) {
  if (products)
    free(products->worker_scratch);
}
