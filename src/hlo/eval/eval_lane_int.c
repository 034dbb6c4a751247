// eval_lane_int.c - integer and pred lanes: XLA's integer arithmetic. Results are wrapped to the
// element type by hsc__step_run.
#include "hlo/eval/eval_internal.h"

// x / 0 is -1 (all ones); the smallest by -1 wraps to itself.
static int64_t divide_signed(int64_t a, int64_t b) {
  if (b == 0)
    return -1;
  if (b == -1)
    return (int64_t)(0 - (uint64_t)a);
  return a / b;
}
static uint64_t divide_unsigned(uint64_t a, uint64_t b) {
  return b == 0 ? ~0ull : a / b;
}
static int64_t remainder_signed(int64_t a, int64_t b) {
  if (b == 0)
    return a;
  if (b == -1)
    return 0;
  return a % b;
}
static uint64_t remainder_unsigned(uint64_t a, uint64_t b) {
  return b == 0 ? a : a % b;
}

// XLA looks at the lowest six bits of an exponent; more would overflow for most bases.
static uint64_t power(uint64_t base, uint64_t exponent) {
  uint64_t result = 1;
  for (exponent &= 63; exponent; exponent >>= 1, base *= base)
    if (exponent & 1)
      result *= base;
  return result;
}
// A negative exponent gives 1 / base truncated: 1 or -1 for a base of 1 or -1, else 0 (for 0 too).
// XLA:CPU reads the exponent as a signed number for unsigned types too (in a byte at least).
static int64_t power_signed(int64_t base, int64_t exponent) {
  if (exponent >= 0)
    return (int64_t)power((uint64_t)base, (uint64_t)exponent);
  if (base == 1)
    return 1;
  if (base == -1) {
    if (exponent & 1)
      return -1;
    return 1;
  }
  return 0;
}
static uint64_t power_unsigned(uint64_t base, uint64_t exponent, int bits) {
  if (bits < 8)
    bits = 8;
  return (uint64_t)power_signed((int64_t)(base << (64 - bits)) >> (64 - bits),
                                (int64_t)(exponent << (64 - bits)) >> (64 - bits));
}

// Shifts look at the amount as an unsigned number of the type's width; the width or more shifts
// everything out.
static uint64_t shift_left(uint64_t a, uint64_t amount, int bits) {
  return amount >= (uint64_t)bits ? 0 : a << amount;
}
static uint64_t shift_right(uint64_t a, uint64_t amount, int bits) {
  return amount >= (uint64_t)bits ? 0 : a >> amount;
}
static int64_t shift_right_sign(int64_t a, uint64_t amount, int bits) {
  return a >> (amount >= (uint64_t)bits ? bits - 1 : (int)amount);
}

#define UNARY(T, expr) \
  do { \
    const T *x = a; \
    T *d = out; \
    for (int64_t i = 0; i < count; i++) { \
      T v = x[i]; \
      d[i] = (T)(expr); \
    } \
    return; \
  } while (0)
#define BINARY(T, D, expr) \
  do { \
    const T *x = a, *y = b; \
    D *d = out; \
    for (int64_t i = 0; i < count; i++) { \
      T v = x[i], w = y[i]; \
      d[i] = (D)(expr); \
    } \
    return; \
  } while (0)

static void compare_signed(
    hsc_direction direction, int64_t count, void *out, const void *a, const void *b) {
  switch (direction) {
    case HSC_EQ:
      BINARY(int64_t, uint64_t, v == w);
    case HSC_NE:
      BINARY(int64_t, uint64_t, v != w);
    case HSC_LT:
      BINARY(int64_t, uint64_t, v < w);
    case HSC_LE:
      BINARY(int64_t, uint64_t, v <= w);
    case HSC_GT:
      BINARY(int64_t, uint64_t, v > w);
    case HSC_GE:
      BINARY(int64_t, uint64_t, v >= w);
  }
}
static void compare_unsigned(
    hsc_direction direction, int64_t count, void *out, const void *a, const void *b) {
  switch (direction) {
    case HSC_EQ:
      BINARY(uint64_t, uint64_t, v == w);
    case HSC_NE:
      BINARY(uint64_t, uint64_t, v != w);
    case HSC_LT:
      BINARY(uint64_t, uint64_t, v < w);
    case HSC_LE:
      BINARY(uint64_t, uint64_t, v <= w);
    case HSC_GT:
      BINARY(uint64_t, uint64_t, v > w);
    case HSC_GE:
      BINARY(uint64_t, uint64_t, v >= w);
  }
}

// Shifts and counts, which depend on the width of the type.
static void bits_signed(
    const hsc__step *step, int64_t count, void *out, const void *a, const void *b) {
  int bits = hsc_type_bits(step->type);
  uint64_t mask = ~0ull >> (64 - bits);
  switch (step->op) {
    case HSC_OP_SHIFT_LEFT:
      BINARY(uint64_t, uint64_t, shift_left(v, w & mask, bits));
    case HSC_OP_SHIFT_RIGHT_LOGICAL:
      BINARY(uint64_t, uint64_t, shift_right(v & mask, w & mask, bits));
    case HSC_OP_SHIFT_RIGHT_ARITH:
      BINARY(int64_t, int64_t, shift_right_sign(v, (uint64_t)w & mask, bits));
    case HSC_OP_POPCNT:
      UNARY(uint64_t, __builtin_popcountll(v & mask));
    case HSC_OP_CLZ:
      UNARY(uint64_t, (v & mask) == 0 ? bits : __builtin_clzll(v & mask) - (64 - bits));
    default:
      return;
  }
}

static void lane_signed(
    const hsc__step *step, int64_t count, void *out, const void *a, const void *b) {
  switch (step->op) {
    case HSC_OP_ADD:
      BINARY(uint64_t, uint64_t, v + w);
    case HSC_OP_SUBTRACT:
      BINARY(uint64_t, uint64_t, v - w);
    case HSC_OP_MULTIPLY:
      BINARY(uint64_t, uint64_t, v *w);
    case HSC_OP_AND:
      BINARY(uint64_t, uint64_t, v &w);
    case HSC_OP_OR:
      BINARY(uint64_t, uint64_t, v | w);
    case HSC_OP_XOR:
      BINARY(uint64_t, uint64_t, v ^ w);
    case HSC_OP_NOT:
      UNARY(uint64_t, ~v);
    case HSC_OP_NEGATE:
      UNARY(uint64_t, 0 - v);
    case HSC_OP_ABS:
      UNARY(int64_t, v < 0 ? 0 - (uint64_t)v : (uint64_t)v);
    case HSC_OP_SIGN:
      UNARY(int64_t, (v > 0) - (v < 0));
    case HSC_OP_DIVIDE:
      BINARY(int64_t, int64_t, divide_signed(v, w));
    case HSC_OP_REMAINDER:
      BINARY(int64_t, int64_t, remainder_signed(v, w));
    case HSC_OP_POWER:
      BINARY(int64_t, int64_t, power_signed(v, w));
    case HSC_OP_MAXIMUM:
      BINARY(int64_t, int64_t, v > w ? v : w);
    case HSC_OP_MINIMUM:
      BINARY(int64_t, int64_t, v < w ? v : w);
    case HSC_OP_COMPARE:
      compare_signed(step->instr->attr.compare.direction, count, out, a, b);
      return;
    default:
      bits_signed(step, count, out, a, b);
      return;
  }
}

static void bits_unsigned(
    const hsc__step *step, int64_t count, void *out, const void *a, const void *b) {
  int bits = hsc_type_bits(step->type);
  switch (step->op) {
    case HSC_OP_SHIFT_LEFT:
      BINARY(uint64_t, uint64_t, shift_left(v, w, bits));
    case HSC_OP_SHIFT_RIGHT_LOGICAL:
      BINARY(uint64_t, uint64_t, shift_right(v, w, bits));
    case HSC_OP_SHIFT_RIGHT_ARITH:
      BINARY(uint64_t, uint64_t,
             shift_right_sign((int64_t)(v << (64 - bits)) >> (64 - bits), w, bits));
    case HSC_OP_POPCNT:
      UNARY(uint64_t, __builtin_popcountll(v));
    case HSC_OP_CLZ:
      UNARY(uint64_t, v == 0 ? bits : __builtin_clzll(v) - (64 - bits));
    default:
      return;
  }
}

static void lane_unsigned(
    const hsc__step *step, int64_t count, void *out, const void *a, const void *b) {
  int bits = hsc_type_bits(step->type);
  bool is_pred = step->type == HSC_TYPE_PRED;
  switch (step->op) {
    case HSC_OP_ADD:
      BINARY(uint64_t, uint64_t, v + w);
    case HSC_OP_SUBTRACT:
      BINARY(uint64_t, uint64_t, v - w);
    case HSC_OP_MULTIPLY:
      BINARY(uint64_t, uint64_t, v *w);
    case HSC_OP_AND:
      BINARY(uint64_t, uint64_t, v &w);
    case HSC_OP_OR:
      BINARY(uint64_t, uint64_t, v | w);
    case HSC_OP_XOR:
      BINARY(uint64_t, uint64_t, v ^ w);
    case HSC_OP_NOT:
      if (is_pred)
        UNARY(uint64_t, !v);
      UNARY(uint64_t, ~v);
    case HSC_OP_NEGATE:
      UNARY(uint64_t, 0 - v);
    case HSC_OP_ABS:
      UNARY(uint64_t, v);
    case HSC_OP_SIGN:
      UNARY(uint64_t, v != 0);
    case HSC_OP_DIVIDE:
      BINARY(uint64_t, uint64_t, divide_unsigned(v, w));
    case HSC_OP_REMAINDER:
      BINARY(uint64_t, uint64_t, remainder_unsigned(v, w));
    case HSC_OP_POWER:
      BINARY(uint64_t, uint64_t, power_unsigned(v, w, bits));
    case HSC_OP_MAXIMUM:
      BINARY(uint64_t, uint64_t, v > w ? v : w);
    case HSC_OP_MINIMUM:
      BINARY(uint64_t, uint64_t, v < w ? v : w);
    case HSC_OP_COMPARE:
      compare_unsigned(step->instr->attr.compare.direction, count, out, a, b);
      return;
    default:
      bits_unsigned(step, count, out, a, b);
      return;
  }
}

void hsc__lane_int(const hsc__step *step, int64_t count, void *out, const void *a, const void *b) {
  if (hsc__kind_of(step->type) == HSC__I64)
    lane_signed(step, count, out, a, b);
  else
    lane_unsigned(step, count, out, a, b);
}
