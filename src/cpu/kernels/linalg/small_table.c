// small_table.c - which instructions are linear algebra on small matrices, and what they look like
// to the kernels (see small_linalg.h).
#include "cpu/kernels/linalg/small_linalg.h"

#include <string.h>

#include "hlo/ir/custom.h"

extern const hsc_small_linalg_kernels hsc_small_linalg_kernels_baseline;
#if defined(__x86_64__)
extern const hsc_small_linalg_kernels hsc_small_linalg_kernels_avx2,
    hsc_small_linalg_kernels_avx512;
#endif

const hsc_small_linalg_kernels *hsc_small_linalg_kernels_for(hsc_cpu_isa_level level) {
#if defined(__x86_64__)
  if (level == HSC_CPU_ISA_AVX512)
    return &hsc_small_linalg_kernels_avx512;
  if (level == HSC_CPU_ISA_AVX2)
    return &hsc_small_linalg_kernels_avx2;
#endif
  return level == HSC_CPU_ISA_BASELINE ? &hsc_small_linalg_kernels_baseline : NULL;
}

int hsc_small_linalg_lanes(const hsc_small_linalg *what, const hsc_cpu_isa *isa) {
  static const int bytes[] = {
      [HSC_CPU_ISA_BASELINE] = 16, [HSC_CPU_ISA_AVX2] = 32, [HSC_CPU_ISA_AVX512] = 64};
  return bytes[isa->level] / (what->is_f64 ? 8 : 4);
}

int64_t hsc_small_linalg_room(const hsc_small_linalg *what, const hsc_cpu_isa *isa) {
  hsc_small_sizes sizes = hsc_small_linalg_sizes(what);
  int64_t other = 0;
  if (sizes.in_count == 2)
    other = what->routine == HSC_SMALL_TRSM ? sizes.in[0] : sizes.in[1];
  return (sizes.out[0] + other) * hsc_small_linalg_lanes(what, isa) * (what->is_f64 ? 8 : 4);
}

hsc_small_sizes hsc_small_linalg_sizes(const hsc_small_linalg *w) {
  int32_t whole = w->m * w->n;
  int32_t least = w->m < w->n ? w->m : w->n;
  switch ((hsc_small_routine)w->routine) {
    case HSC_SMALL_GETRF:
      return (hsc_small_sizes){{whole}, {whole, least, 1}, 1, 3};
    case HSC_SMALL_POTRF:
      return (hsc_small_sizes){{whole}, {whole, 1}, 1, 2};
    case HSC_SMALL_TRSM:
      return (hsc_small_sizes){{w->k * w->k, whole}, {whole}, 2, 1};
    case HSC_SMALL_GEQRF:
      return (hsc_small_sizes){{whole}, {whole, least}, 1, 2};
    case HSC_SMALL_ORGQR:
      return (hsc_small_sizes){{whole, w->k}, {whole}, 2, 1};
    default:
      return (hsc_small_sizes){{whole}, {whole}, 1, 1};
  }
}

int64_t hsc_small_linalg_bytes(const hsc_small_linalg *what, int o) {
  bool whole_number = (what->routine == HSC_SMALL_GETRF || what->routine == HSC_SMALL_POTRF) && o;
  return what->is_f64 && !whole_number ? 8 : 4;
}

bool hsc_small_linalg_is_sound(const hsc_small_linalg *w) {
  if (w->routine >= HSC_SMALL_ROUTINES || w->is_f64 > 1 || w->m < 1 || w->n < 1 ||
      w->m > HSC_SMALL_MATRIX || w->n > HSC_SMALL_MATRIX)
    return false;
  switch ((hsc_small_routine)w->routine) {
    case HSC_SMALL_POTRF:
    case HSC_SMALL_CHOLESKY:
      return w->m == w->n;
    case HSC_SMALL_TRSM:
      return w->k == (w->right_unit & 1 ? w->n : w->m);
    case HSC_SMALL_ORGQR:
      return w->n <= w->m && w->k <= w->n;
    default:
      return true;
  }
}

// ---- from instructions --------------------------------------------------------------------------

static const struct {
  const char *name;
  hsc_small_routine routine;
} names[] = {
    {"getrf", HSC_SMALL_GETRF}, {"potrf", HSC_SMALL_POTRF}, {"trsm", HSC_SMALL_TRSM},
    {"geqrf", HSC_SMALL_GEQRF}, {"orgqr", HSC_SMALL_ORGQR},
};

// lapack_<letter><name>_ffi, of real numbers.
static bool name_of(const char *target, hsc_small_linalg *w) {
  if (!target || strncmp(target, "lapack_", 7) != 0 || (target[7] != 's' && target[7] != 'd'))
    return false;
  w->is_f64 = target[7] == 'd';
  for (size_t i = 0; i < HSC_COUNT_OF(names); i++) {
    size_t size = strlen(names[i].name);
    if (strncmp(target + 8, names[i].name, size) != 0 || strcmp(target + 8 + size, "_ffi") != 0)
      continue;
    w->routine = (uint8_t)names[i].routine;
    return true;
  }
  return false;
}

static char letter(const hsc_config *config, const char *name, char otherwise) {
  return (char)hsc_config_int(config, name, otherwise);
}

// What a call's attributes say; LAPACK knows two letters each.
static bool attributes_of(const hsc_instr *instr, hsc_small_linalg *w) {
  hsc_arena *arena = NULL;
  const hsc_config *config = NULL;
  const char *text = instr->attr.custom.opaque ? instr->attr.custom.opaque : instr->backend_config;
  hsc_status *status = hsc_arena_create(&arena);
  if (!status)
    status = hsc_config_parse(text, arena, &config);
  bool good = !status;
  hsc_status_free(status);
  if (good) {
    char triangle = letter(config, "uplo", 'L');
    char side = letter(config, "side", 'L');
    char turn = letter(config, "trans_x", 'N');
    char diagonal = letter(config, "diag", 'N');
    good = (triangle == 'L' || triangle == 'U') && (side == 'L' || side == 'R') &&
           (turn == 'N' || turn == 'T' || turn == 'C') && (diagonal == 'N' || diagonal == 'U');
    w->upper = triangle == 'U';
    w->transposed = turn != 'N';
    w->right_unit = (uint8_t)((side == 'R' ? 1 : 0) | (diagonal == 'U' ? 2 : 0));
  }
  hsc_arena_destroy(arena);
  return good;
}

static bool routine_of(const hsc_instr *instr, hsc_small_linalg *w) {
  hsc_type type = instr->operand_count ? instr->operands[0]->shape.type : HSC_TYPE_INVALID;
  *w = (hsc_small_linalg){.is_f64 = type == HSC_TYPE_F64};
  if (type != HSC_TYPE_F32 && type != HSC_TYPE_F64)
    return false;
  switch (instr->op) {
    case HSC_OP_CHOLESKY:
      w->routine = HSC_SMALL_CHOLESKY;
      w->upper = !instr->attr.cholesky.lower;
      return true;
    case HSC_OP_TRIANGULAR_SOLVE:
      w->routine = HSC_SMALL_TRSM;
      w->upper = !instr->attr.triangular.lower;
      w->transposed = instr->attr.triangular.transpose_a != HSC_NO_TRANSPOSE;
      w->right_unit = (uint8_t)((instr->attr.triangular.left_side ? 0 : 1) |
                                (instr->attr.triangular.unit_diagonal ? 2 : 0));
      return true;
    case HSC_OP_CUSTOM_CALL:
      return name_of(instr->attr.custom.target, w) && w->is_f64 == (type == HSC_TYPE_F64) &&
             !hsc_custom_is_registered(instr->attr.custom.target) && attributes_of(instr, w);
    default:
      return false;
  }
}

// A leaf of `batches` times so many elements of that type.
static bool leaf_is(const hsc_shape *shape, hsc_type type, int64_t batches, int64_t elements) {
  return hsc_shape_is_array(shape) && shape->type == type && !shape->dynamic &&
         hsc_shape_elements(shape) == batches * elements;
}

// The sizes m, n, k of one matrix from the shapes of the operands, and how many matrices there are;
// false: they are no matrices, or too large. `changed` is the operand that the routine overwrites.
static bool sizes_of(const hsc_instr *instr, hsc_small_linalg *w, int64_t *out_batches) {
  bool solves = w->routine == HSC_SMALL_TRSM;
  bool has_k = solves || w->routine == HSC_SMALL_ORGQR;
  if (instr->operand_count != (has_k ? 2 : 1))
    return false;
  const hsc_shape *first = &instr->operands[0]->shape;
  const hsc_shape *other = &instr->operands[instr->operand_count - 1]->shape;
  const hsc_shape *changed = solves ? other : first;
  if (!hsc_shape_is_array(changed) || changed->rank < 2 || other->rank < 1 || first->rank < 2)
    return false;
  int64_t m = changed->dims[changed->rank - 2];
  int64_t n = changed->dims[changed->rank - 1];
  int64_t k = solves ? first->dims[first->rank - 1] : other->dims[other->rank - 1];
  if (m > HSC_SMALL_MATRIX || n > HSC_SMALL_MATRIX || k > HSC_SMALL_MATRIX || m < 1 || n < 1)
    return false;
  w->m = (uint8_t)m;
  w->n = (uint8_t)n;
  w->k = has_k ? (uint8_t)k : 0;
  *out_batches = 1;
  for (int d = 0; d < changed->rank - 2; d++)
    *out_batches *= changed->dims[d];
  return true;
}

// What getrf and potrf give after the matrix are whole numbers: pivots, and info.
static hsc_type type_of_output(const hsc_small_linalg *w, int output) {
  if (output > 0 && hsc_small_linalg_bytes(w, output) == 4 && w->routine <= HSC_SMALL_POTRF)
    return HSC_TYPE_S32;
  return w->is_f64 ? HSC_TYPE_F64 : HSC_TYPE_F32;
}

bool hsc_small_linalg_of(const hsc_instr *instr, hsc_small_linalg *out, int64_t *out_batches) {
  hsc_small_linalg w;
  int64_t batches;
  if (!routine_of(instr, &w) || !sizes_of(instr, &w, &batches) || !hsc_small_linalg_is_sound(&w))
    return false;
  hsc_small_sizes sizes = hsc_small_linalg_sizes(&w);
  hsc_type type = w.is_f64 ? HSC_TYPE_F64 : HSC_TYPE_F32;
  for (int i = 0; i < sizes.in_count; i++)
    if (!leaf_is(&instr->operands[i]->shape, type, batches, sizes.in[i]))
      return false;
  if (hsc_shape_leaf_count(&instr->shape) != sizes.out_count)
    return false;
  for (int o = 0; o < sizes.out_count; o++)
    if (!leaf_is(hsc_shape_leaf(&instr->shape, o), type_of_output(&w, o), batches, sizes.out[o]))
      return false;
  *out = w;
  *out_batches = batches;
  return true;
}
