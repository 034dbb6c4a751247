// toy_program.h - the compiler of the example plugin: StableHLO text in, values out.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// XLA's own header where it is to be had, else hloscope's table of the same facts.
#if __has_include("xla/pjrt/c/pjrt_c_api.h")
#include "xla/pjrt/c/pjrt_c_api.h"
#else
#include "pjrt/abi.h"
#endif

enum { RANK_MAX = 8, VALUES_MAX = 256, NAME_BYTES = 64 };

typedef struct toy_shape {
  PJRT_Buffer_Type type;
  size_t rank;
  int64_t dims[RANK_MAX];
  size_t bytes;  // of the whole array; toy_shape_measure fills it
} toy_shape;

typedef void toy_run(size_t count, const float *x, const float *y, float *out);
typedef struct toy_value {
  char name[NAME_BYTES];  // "%0"
  toy_shape shape;
  toy_run *run;  // NULL: a parameter
  int x, y;      // the operands' places in `values`
} toy_value;

typedef struct toy_program {
  toy_value values[VALUES_MAX];  // the parameters first
  int value_count, input_count, output_count;
  int outputs[VALUES_MAX];  // places in `values`
} toy_program;

size_t toy_type_bytes(PJRT_Buffer_Type type);  // of an element; 0: not a type of this plugin
// False where no memory could hold the array, or the type is not known.
bool toy_shape_measure(toy_shape *shape);
bool toy_shape_equal(const toy_shape *a, const toy_shape *b);
// OK, or a code and what is wrong: UNIMPLEMENTED for StableHLO that this plugin does not take,
// INVALID_ARGUMENT for what is no StableHLO.
PJRT_Error_Code toy_program_read(const char *text, toy_program *out, const char **out_wrong);
// Dense arrays in, dense arrays out; false: no memory.
bool toy_program_run(const toy_program *p, const void *const *inputs, void *const *outputs);
