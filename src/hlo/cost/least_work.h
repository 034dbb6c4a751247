// least_work.h - the arithmetic that a program cannot do without, for limits that a measured time
// is held against.
//
// hsc_instr_cost counts as XLA does: a cumulative sum as one sum for each window, a Fourier
// transform of several dimensions by the product of their logarithms. Those are costs of one way to
// do it; here each operation counts as its best known algorithm.
#pragma once

#include "hlo/ir/hlo.h"

// Flops of one run of the entry computation: loops by their trips where the text decides them, else
// one; conditionals by the branch that does least.
HSC_MUST_USE hsc_status *hsc_module_least_flops(const hsc_module *module, double *out_flops);
