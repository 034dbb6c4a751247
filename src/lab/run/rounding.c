// rounding.c - differences that rounding alone can make.
#include "lab/run/rounding.h"

#include <math.h>

#include "formats/common/formats.h"
#include "lab/run/json_tree.h"

// Times what a last place of the inputs does to an output, up to which a difference of it may be
// rounding alone.
enum { ROUNDING_FACTOR = 4 };

static bool beyond_tolerance(json_t *row) {
  return !strcmp(json_string_value(json_object_get(row, "verdict")), "different");
}

// The largest share of an output's size that a last place of the inputs moved it by. Where rounding
// decides (a maximum, the side of a ReLU), it is chance which outputs it hits, so a share that one
// of them moved by is nothing to wonder at in another.
static double worst_share(const json_t *moved) {
  double worst = 0;
  json_t *row;
  size_t i;
  json_array_foreach (moved, i, row) {
    double size = hsc_json_number(json_object_get(row, "largest_value"));
    if (size > 0 && beyond_tolerance(row))
      worst = fmax(worst, hsc_json_number(json_object_get(row, "max_abs")) / size);
  }
  return fmin(worst, 1);
}

bool hsc_is_rounding(const json_t *moved, json_t *row, size_t output) {
  json_t *own = json_array_get(moved, output);
  if (!own || json_integer_value(json_object_get(row, "nan_mismatches")) > 0)
    return false;
  double limit = fmax(ROUNDING_FACTOR * hsc_json_number(json_object_get(own, "max_abs")),
                      worst_share(moved) * hsc_json_number(json_object_get(row, "largest_value")));
  return hsc_json_number(json_object_get(row, "max_abs")) <= limit;
}

hsc_bound_says hsc_bound_says_of(json_t *row) {
  json_t *share = json_object_get(row, "share");
  if (!share)
    return HSC_BOUND_UNKNOWN;
  if (!json_is_number(share) || json_number_value(share) > 1)
    return HSC_BOUND_BEYOND;
  bool all = json_integer_value(json_object_get(row, "unjudged")) == 0;
  return all ? HSC_BOUND_WITHIN : HSC_BOUND_UNKNOWN;
}

double hsc_factor_unit(const char *platform) {
  if (platform && !strcmp(platform, "tpu"))
    return 0x1p-8;
  bool gpu = platform && (!strcmp(platform, "cuda") || !strcmp(platform, "rocm"));
  return gpu ? 0x1p-11 : 0;  // TF32
}

json_t *hsc_rounding_json(const json_t *moved) {
  double most = 0;
  int beyond = 0;
  json_t *row;
  size_t i;
  if (!moved)
    return json_null();
  json_array_foreach (moved, i, row) {
    most = fmax(most, hsc_json_number(json_object_get(row, "max_abs")));
    beyond += beyond_tolerance(row);
  }
  return json_pack("{s:o, s:i, s:i}", "max_abs", hsc_json_real(most), "outputs",
                   (int)json_array_size(moved), "outputs_beyond_tolerance", beyond);
}

// rng and the global state go on from run to run and from device to device in their own way; so
// does a generator whose algorithm is left to the device.
static bool draws(const hsc_instr *instr) {
  return instr->op == HSC_OP_RNG || instr->op == HSC_OP_RNG_GET_AND_UPDATE_STATE ||
         (instr->op == HSC_OP_RNG_BIT_GENERATOR && instr->attr.rng.algorithm == HSC_RNG_DEFAULT);
}

hsc_status *hsc_program_perturbation(const char *path, double *out_share) {
  hsc_module *module = NULL;
  bool single = false;
  bool twice = false;
  *out_share = 1e-30;
  HSC_TRY(hsc_program_read_file(path, &module));
  HSC_FOR_EACH_COMPUTATION (module, computation)
    HSC_FOR_EACH_INSTR_IN (computation, instr) {
      if (instr->shape.type == HSC_TYPE_BF16)
        *out_share = fmax(*out_share, 0x1p-8);
      if (instr->shape.type == HSC_TYPE_F16)
        *out_share = fmax(*out_share, 0x1p-11);
      single |= instr->shape.type == HSC_TYPE_F32;
      twice |= hsc_type_real_part(instr->shape.type) == HSC_TYPE_F64;
    }
  // values of 64 bits that were computed with 32 have the digits of 32
  if (single && twice)
    *out_share = fmax(*out_share, 0x1p-23);
  hsc_module_destroy(module);
  return NULL;
}

hsc_status *hsc_program_draws(const char *path, bool *out_draws) {
  hsc_module *module = NULL;
  *out_draws = false;
  HSC_TRY(hsc_program_read_file(path, &module));
  HSC_FOR_EACH_COMPUTATION (module, computation)
    HSC_FOR_EACH_INSTR_IN (computation, instr)
      *out_draws |= draws(instr);
  hsc_module_destroy(module);
  return NULL;
}
