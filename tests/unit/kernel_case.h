// kernel_case.h - one operation on the built-in device against the reference evaluator, for tests
// of kernels over random shapes.
//
//   kernel_case c; kernel_case_begin(&c, seed);
//   hsc_instr *x = kernel_case_input(&c, HSC_TYPE_F32, 2, dims), ...
//   kernel_case_check(&c, root, "what", tolerance)      compiles, runs, compares, frees
//
// Inputs are small whole numbers, so that sums and products come out the same in every order;
// tolerance 0 means bit for bit (NaN equals NaN).
#pragma once

#include "base/core/random.h"
#include "cpu/core/cpu_internal.h"
#include "unit.h"

enum { KERNEL_CASE_INPUTS = 8 };
typedef struct kernel_case {
  hsc_random random;
  uint64_t seed;
  hsc_module *module;
  hsc_builder b;
  int input_count;
  hsc_literal *inputs[KERNEL_CASE_INPUTS];
  bool may_use_evaluator;  // else a thunk of that kind fails the test
  double max_abs;          // a difference of at most this is none, whatever its ULP
} kernel_case;

void kernel_case_begin(kernel_case *c, uint64_t seed);
// A parameter; its values lie in [-range, range], whole numbers (unsigned: [0, range]).
hsc_instr *kernel_case_input(
    kernel_case *c, hsc_type type, int rank, const int64_t *dims, int range);
int64_t kernel_case_below(kernel_case *c, int64_t bound);
// max_ulp: allowed distance of floats.
void kernel_case_check(kernel_case *c, hsc_instr *root, uint64_t max_ulp);
// A program in HLO text, instead of kernel_case_begin and _input: parameters get numbers as
// kernel_case_input gives them, which the caller may overwrite. Ends with kernel_case_check_module.
void kernel_case_begin_text(kernel_case *c, uint64_t seed, const char *text, int range);
void kernel_case_check_module(kernel_case *c, uint64_t max_ulp);
hsc_cpu_device *kernel_case_device(void);
void kernel_case_end_all(void);
