// vmath.h - functions of whole vectors for generated code: exp, tanh, erf ... for f32 and f64, and
// between f32 and the 8- and 4-bit floats.
//
// Their operands are vectors of the machine's width in registers, so they are not called from C;
// generated code finds them by name through the table here. They are compiled once per instruction
// set (vmath.c).
// Accuracy in f32, against the exact value: exp, expm1, log, log1p, sin, cos stay within 2 ULP,
// tanh and logistic within 2.5, erf within 3, tan within 4; the rest by way of f64, within 1. In
// f64 they are the C library's. tests/unit/test_vmath.c measures all of it on every level that the
// machine has.
#pragma once

#include "cpu/core/code.h"
#include "cpu/core/isa.h"

// [*out_count] names and addresses for a level; static.
const hsc_cpu_symbol *hsc_vmath_symbols(hsc_cpu_isa_level level, size_t *out_count);
