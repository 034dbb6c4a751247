// culprit_kinds.c - what a compiler may do wrong, one small function a kind.
//
// A kind changes the first place of the program that it finds from its end on (what is nearer to
// the result is seen sooner) and leaves a valid program of the same shapes. Where it finds none it
// does nothing, and the test that named it finds no fault.
//
// The rows of culprit_kinds.def are the kinds of PASS:KIND[:N]; besides these
//   PASS:silent:N     "swapped", in the pass's N-th run, where that claims to have changed nothing
//   PASS:always_crash, always_hang, always_error  before the pass does anything
//   PASS:quadratic    takes time with the square of the number of instructions
//   run:KIND          see hsc_culprit_outputs
//   when:compile:N    from the N-th compile of a process on: a condition of all faults
//   when:elements:N   in programs that have a value of N elements
#include "culprit_kinds.h"

#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/core/clock.h"

typedef bool (*hsc_test)(const hsc_instr *instr);

// The last instruction that passes, of the computations from the last one on; NULL = none.
static hsc_instr *last_that(hsc_module *module, hsc_test test) {
  for (int c = module->computation_count - 1; c >= 0; c--) {
    hsc_instr *last = NULL;
    HSC_FOR_EACH_INSTR_IN (module->computations[c], instr)
      if (test(instr))
        last = instr;
    if (last)
      return last;
  }
  return NULL;
}

static bool is_floats(const hsc_instr *instr) {
  return hsc_shape_is_array(&instr->shape) && hsc_type_is_float(instr->shape.type);
}

static bool is_integers(const hsc_instr *instr) {
  return hsc_shape_is_array(&instr->shape) && hsc_type_is_integral(instr->shape.type);
}

static bool is_square(const hsc_instr *instr) {
  const hsc_shape *s = &instr->shape;
  return hsc_shape_is_array(s) && s->rank == 2 && s->dims[0] == s->dims[1] && s->dims[0] > 1;
}

// Everything that read `instr` reads `now`, but `now` itself and what it was made of (`made` of
// them).
static void put_in_place(hsc_instr *instr, hsc_instr *now, int made, hsc_instr *const *of) {
  for (hsc_instr *user = instr->parent->first; user; user = user->next) {
    bool own = user == now;
    for (int i = 0; i < made; i++)
      own |= user == of[i];
    for (int o = 0; o < user->operand_count && !own; o++)
      if (user->operands[o] == instr)
        hsc_instr_set_operand(user, o, now);
  }
  if (instr->parent->root == instr)
    instr->parent->root = now;
}

// A builder behind the instruction.
static void build_behind(hsc_builder *b, hsc_instr *instr) {
  hsc_builder_at(b, instr->parent, instr->next);
}

static hsc_status *finish(hsc_builder *b, hsc_module *module) {
  HSC_TRY(hsc_builder_finish(b, NULL, NULL));
  return hsc_module_sort(module);
}

static void exchange(hsc_instr *instr, int first, int second) {
  hsc_instr *kept = instr->operands[first];
  hsc_instr_set_operand(instr, first, instr->operands[second]);
  hsc_instr_set_operand(instr, second, kept);
}

static hsc_op other_op(hsc_op op) {
  switch (op) {
    case HSC_OP_ADD:
    case HSC_OP_MULTIPLY:
      return HSC_OP_SUBTRACT;
    case HSC_OP_SUBTRACT:
    case HSC_OP_DIVIDE:
      return HSC_OP_ADD;
    case HSC_OP_MAXIMUM:
      return HSC_OP_MINIMUM;
    case HSC_OP_MINIMUM:
      return HSC_OP_MAXIMUM;
    case HSC_OP_EXP:
    case HSC_OP_TANH:
    case HSC_OP_SINE:
      return HSC_OP_NEGATE;
    default:
      return op;
  }
}

static bool has_other(const hsc_instr *instr) {
  return is_floats(instr) && other_op(instr->op) != instr->op;
}

// ---- operands -----------------------------------------------------------------------------------

static bool is_one_sided(const hsc_instr *instr) {
  bool op = instr->op == HSC_OP_SUBTRACT || instr->op == HSC_OP_DIVIDE ||
            (instr->op == HSC_OP_COMPARE && instr->attr.compare.direction > HSC_NE);
  return op && instr->operands[0] != instr->operands[1];
}

static hsc_status *do_swapped(hsc_module *module) {
  hsc_instr *instr = last_that(module, is_one_sided);
  if (instr)
    exchange(instr, 0, 1);
  return NULL;
}

static bool is_select(const hsc_instr *instr) {
  return instr->op == HSC_OP_SELECT && instr->operands[1] != instr->operands[2];
}

static hsc_status *do_select_swapped(hsc_module *module) {
  hsc_instr *instr = last_that(module, is_select);
  if (instr)
    exchange(instr, 1, 2);
  return NULL;
}

static bool joins_equal_shapes(const hsc_instr *instr) {
  return instr->op == HSC_OP_CONCATENATE && instr->operand_count > 1 &&
         hsc_shape_equal(&instr->operands[0]->shape, &instr->operands[1]->shape);
}

static hsc_status *do_pieces_swapped(hsc_module *module) {
  hsc_instr *instr = last_that(module, joins_equal_shapes);
  if (instr)
    exchange(instr, 0, 1);
  return NULL;
}

static hsc_status *do_outputs_swapped(hsc_module *module) {
  hsc_instr *root = module->entry->root;
  for (int i = 1; root->op == HSC_OP_TUPLE && i < root->operand_count; i++)
    if (hsc_shape_equal(&root->operands[i]->shape, &root->operands[0]->shape)) {
      exchange(root, 0, i);
      return NULL;
    }
  return NULL;
}

static bool has_square_operand(const hsc_instr *instr) {
  return (hsc_op_traits(instr->op) & HSC_TRAIT_ELEMENTWISE) && instr->operand_count == 2 &&
         is_floats(instr) && is_square(instr->operands[0]) &&
         instr->operands[0] != instr->operands[1];
}

static hsc_status *do_transposed(hsc_module *module) {
  hsc_instr *instr = last_that(module, has_square_operand);
  hsc_builder b;
  if (!instr)
    return NULL;
  hsc_builder_at(&b, instr->parent, instr);
  hsc_instr_set_operand(instr, 0,
                        hsc_build_transpose(&b, instr->operands[0], HSC_DIMS(module->arena, 1, 0)));
  return finish(&b, module);
}

static bool is_zero_padded(const hsc_instr *instr) {
  return instr->op == HSC_OP_PAD && is_floats(instr);
}

static bool is_float_reduce(const hsc_instr *instr) {
  return instr->op == HSC_OP_REDUCE && is_floats(instr);
}

// One more than the scalar that is operand 1.
static hsc_status *one_more(hsc_module *module, hsc_instr *instr) {
  hsc_builder b;
  if (!instr)
    return NULL;
  hsc_builder_at(&b, instr->parent, instr);
  hsc_instr *one = hsc_build_scalar(&b, instr->operands[1]->shape.type, 1);
  hsc_instr_set_operand(instr, 1, hsc_build_binary(&b, HSC_OP_ADD, instr->operands[1], one));
  return finish(&b, module);
}

static hsc_status *do_pad_value(hsc_module *module) {
  return one_more(module, last_that(module, is_zero_padded));
}

static hsc_status *do_first_value(hsc_module *module) {
  return one_more(module, last_that(module, is_float_reduce));
}

static bool has_index(const hsc_instr *instr) {
  return instr->op == HSC_OP_DYNAMIC_SLICE || instr->op == HSC_OP_DYNAMIC_UPDATE_SLICE;
}

static hsc_status *do_index_off(hsc_module *module) {
  hsc_instr *instr = last_that(module, has_index);
  hsc_builder b;
  if (!instr)
    return NULL;
  int at = instr->op == HSC_OP_DYNAMIC_SLICE ? 1 : 2;
  hsc_builder_at(&b, instr->parent, instr);
  hsc_instr *one = hsc_build_scalar(&b, instr->operands[at]->shape.type, 1);
  hsc_instr_set_operand(instr, at, hsc_build_binary(&b, HSC_OP_ADD, instr->operands[at], one));
  return finish(&b, module);
}

// ---- attributes ---------------------------------------------------------------------------------

static bool is_late_slice(const hsc_instr *instr) {
  if (instr->op != HSC_OP_SLICE)
    return false;
  for (int i = 0; i < instr->attr.slice.start.count; i++)
    if (instr->attr.slice.start.v[i] > 0)
      return true;
  return false;
}

static hsc_status *do_slice_off(hsc_module *module) {
  hsc_instr *instr = last_that(module, is_late_slice);
  if (!instr)
    return NULL;
  int64_t start[HSC_MAX_RANK];
  int64_t limit[HSC_MAX_RANK];
  int count = instr->attr.slice.start.count;
  bool moved = false;
  for (int i = 0; i < count; i++) {
    int by = !moved && instr->attr.slice.start.v[i] > 0;
    moved |= by;
    start[i] = instr->attr.slice.start.v[i] - by;
    limit[i] = instr->attr.slice.limit.v[i] - by;
  }
  instr->attr.slice.start = hsc_dims_copy(module->arena, count, start);
  instr->attr.slice.limit = hsc_dims_copy(module->arena, count, limit);
  return NULL;
}

static bool is_float_constant(const hsc_instr *instr) {
  return instr->op == HSC_OP_CONSTANT && is_floats(instr) && instr->user_count > 0 &&
         hsc_shape_elements(&instr->shape) > 1;
}

static hsc_status *do_constant(hsc_module *module) {
  hsc_instr *instr = last_that(module, is_float_constant);
  hsc_literal *other = NULL;
  if (!instr)
    return NULL;
  HSC_TRY(hsc_literal_copy(module->arena, instr->attr.literal.value, &other));
  int64_t last = hsc_shape_elements(&instr->shape) - 1;
  hsc_literal_set_double(other, last, hsc_literal_get_double(other, last) + 0.5);
  instr->attr.literal.value = other;
  return NULL;
}

static bool is_compare(const hsc_instr *instr) {
  return instr->op == HSC_OP_COMPARE && instr->attr.compare.direction > HSC_NE;
}

static hsc_direction with_equal(hsc_direction direction) {
  static const hsc_direction other[] = {HSC_NE, HSC_EQ, HSC_LE, HSC_LT, HSC_GE, HSC_GT};
  return other[direction];
}

static hsc_status *do_or_equal(hsc_module *module) {
  hsc_instr *instr = last_that(module, is_compare);
  if (instr)
    instr->attr.compare.direction = with_equal(instr->attr.compare.direction);
  return NULL;
}

static bool compares_integers(const hsc_instr *instr) {
  return is_compare(instr) && hsc_type_is_integral(instr->operands[0]->shape.type) &&
         instr->shape.rank > 0;
}

static hsc_status *do_unsigned_compare(hsc_module *module) {
  hsc_instr *instr = last_that(module, compares_integers);
  hsc_builder b;
  if (!instr)
    return NULL;
  hsc_builder_at(&b, instr->parent, instr);
  for (int i = 0; i < 2; i++) {
    hsc_instr *from = instr->operands[i];
    hsc_instr *bits = hsc_build(&b, HSC_OP_BITCAST_CONVERT,
                                hsc_shape_with_type(from->shape, HSC_TYPE_U32), 1, &from);
    hsc_instr_set_operand(instr, i, bits);
  }
  instr->attr.compare.type = HSC_COMPARE_DEFAULT;
  return finish(&b, module);
}

static bool is_sort(const hsc_instr *instr) {
  return instr->op == HSC_OP_SORT;
}

static hsc_status *do_sort_other_way(hsc_module *module) {
  hsc_instr *instr = last_that(module, is_sort);
  if (instr && is_one_sided(instr->called[0]->root))
    exchange(instr->called[0]->root, 0, 1);
  return NULL;
}

static bool is_iota(const hsc_instr *instr) {
  return instr->op == HSC_OP_IOTA && instr->shape.rank == 2;
}

static hsc_status *do_iota_other(hsc_module *module) {
  hsc_instr *instr = last_that(module, is_iota);
  if (instr)
    instr->attr.dims.dims = HSC_DIMS(module->arena, 1 - instr->attr.dims.dims.v[0]);
  return NULL;
}

static bool is_square_dot(const hsc_instr *instr) {
  return instr->op == HSC_OP_DOT && is_square(instr->operands[1]) &&
         instr->attr.dot.rhs_contracting.count == 1;
}

static hsc_status *do_wrong_dims(hsc_module *module) {
  hsc_instr *instr = last_that(module, is_square_dot);
  if (instr)
    instr->attr.dot.rhs_contracting =
        HSC_DIMS(module->arena, 1 - instr->attr.dot.rhs_contracting.v[0]);
  return NULL;
}

static bool is_square_broadcast(const hsc_instr *instr) {
  return instr->op == HSC_OP_BROADCAST && is_square(instr) && instr->operands[0]->shape.rank == 1;
}

static hsc_status *do_broadcast_other(hsc_module *module) {
  hsc_instr *instr = last_that(module, is_square_broadcast);
  if (instr)
    instr->attr.dims.dims = HSC_DIMS(module->arena, 1 - instr->attr.dims.dims.v[0]);
  return NULL;
}

static bool is_padded_convolution(const hsc_instr *instr) {
  return instr->op == HSC_OP_CONVOLUTION && instr->attr.conv.window.rank > 0 &&
         instr->attr.conv.window.dims[0].pad_low > 0;
}

static hsc_status *do_lost_padding(hsc_module *module) {
  hsc_instr *instr = last_that(module, is_padded_convolution);
  if (!instr)
    return NULL;
  int rank = instr->attr.conv.window.rank;
  hsc_window_dim *dims = HSC_NEW_ARRAY(module->arena, hsc_window_dim, (size_t)rank);
  HSC_TRY(hsc_arena_status(module->arena));
  memcpy(dims, instr->attr.conv.window.dims, (size_t)rank * sizeof *dims);
  dims[0].pad_low--;
  dims[0].pad_high++;
  instr->attr.conv.window.dims = dims;
  return NULL;
}

// ---- what is left out ---------------------------------------------------------------------------

static hsc_status *leave_out(hsc_module *module, hsc_instr *instr, int operand) {
  if (instr)
    put_in_place(instr, instr->operands[operand], 0, NULL);
  return instr ? hsc_module_sort(module) : NULL;
}

#define IS_OP(name, OP) \
  static bool name(const hsc_instr *instr) { \
    return instr->op == HSC_OP_##OP; \
  }
IS_OP(is_abs, ABS)
IS_OP(is_clamp, CLAMP)
IS_OP(is_reverse, REVERSE)
IS_OP(is_update, DYNAMIC_UPDATE_SLICE)
IS_OP(is_floor, FLOOR)
IS_OP(is_round, ROUND_EVEN)
IS_OP(is_arithmetic_shift, SHIFT_RIGHT_ARITH)
IS_OP(is_multiply, MULTIPLY)
IS_OP(is_exp, EXP)
IS_OP(is_conditional, CONDITIONAL)
IS_OP(is_while, WHILE)
IS_OP(is_dot, DOT)

static hsc_status *do_no_abs(hsc_module *module) {
  return leave_out(module, last_that(module, is_abs), 0);
}

static hsc_status *do_no_clamp(hsc_module *module) {
  return leave_out(module, last_that(module, is_clamp), 1);
}

static hsc_status *do_no_reverse(hsc_module *module) {
  return leave_out(module, last_that(module, is_reverse), 0);
}

static hsc_status *do_no_update(hsc_module *module) {
  return leave_out(module, last_that(module, is_update), 0);
}

// ---- other operations ---------------------------------------------------------------------------

static hsc_status *do_to_zero(hsc_module *module) {
  hsc_instr *instr = last_that(module, is_floor);
  hsc_builder b;
  if (!instr)
    return NULL;
  build_behind(&b, instr);
  hsc_instr *x = instr->operands[0];
  hsc_instr *size = hsc_build_unary(&b, HSC_OP_ABS, x);
  hsc_instr *floor = hsc_build_unary(&b, HSC_OP_FLOOR, size);
  hsc_instr *sign = hsc_build_unary(&b, HSC_OP_SIGN, x);
  put_in_place(instr, hsc_build_binary(&b, HSC_OP_MULTIPLY, sign, floor), 0, NULL);
  return finish(&b, module);
}

static hsc_status *do_ties_away(hsc_module *module) {
  hsc_instr *instr = last_that(module, is_round);
  if (instr)
    instr->op = HSC_OP_ROUND_AFZ;
  return NULL;
}

static hsc_status *do_logical_shift(hsc_module *module) {
  hsc_instr *instr = last_that(module, is_arithmetic_shift);
  if (instr)
    instr->op = HSC_OP_SHIFT_RIGHT_LOGICAL;
  return NULL;
}

static bool is_integer_sum(const hsc_instr *instr) {
  return instr->op == HSC_OP_ADD && is_integers(instr) && instr->shape.rank > 0;
}

static hsc_status *do_integer_only(hsc_module *module) {
  hsc_instr *instr = last_that(module, is_integer_sum);
  if (instr)
    instr->op = HSC_OP_SUBTRACT;
  return NULL;
}

static hsc_status *do_through_float(hsc_module *module) {
  hsc_instr *instr = last_that(module, is_integer_sum);
  hsc_builder b;
  if (!instr)
    return NULL;
  build_behind(&b, instr);
  hsc_instr *wide = hsc_build_convert(&b, HSC_TYPE_F32, instr);
  put_in_place(instr, hsc_build_convert(&b, instr->shape.type, wide), 1, &wide);
  return finish(&b, module);
}

static hsc_status *do_reducer(hsc_module *module) {
  hsc_instr *instr = last_that(module, is_float_reduce);
  if (instr && instr->called[0]->root->op == HSC_OP_ADD)
    instr->called[0]->root->op = HSC_OP_MAXIMUM;
  return NULL;
}

static bool is_large(const hsc_instr *instr) {
  return has_other(instr) && hsc_shape_elements(&instr->shape) >= 4096;
}

static hsc_status *do_large_only(hsc_module *module) {
  hsc_instr *instr = last_that(module, is_large);
  if (instr)
    instr->op = other_op(instr->op);
  return NULL;
}

static hsc_status *other_in(hsc_computation *computation) {
  hsc_instr *last = NULL;
  HSC_FOR_EACH_INSTR_IN (computation, instr)
    if (has_other(instr))
      last = instr;
  if (last)
    last->op = other_op(last->op);
  return NULL;
}

static hsc_status *do_in_loop(hsc_module *module) {
  hsc_instr *loop = last_that(module, is_while);
  return loop ? other_in(loop->called[1]) : NULL;
}

static bool is_fusion_with_other(const hsc_instr *instr) {
  if (instr->op != HSC_OP_FUSION)
    return false;
  HSC_FOR_EACH_INSTR_IN (instr->called[0], inner)
    if (has_other(inner))
      return true;
  return false;
}

static hsc_status *do_in_fusion(hsc_module *module) {
  hsc_instr *fusion = last_that(module, is_fusion_with_other);
  return fusion ? other_in(fusion->called[0]) : NULL;
}

static bool calls(const hsc_instr *instr) {
  return instr->op == HSC_OP_CALL || instr->op == HSC_OP_CONDITIONAL || instr->op == HSC_OP_MAP;
}

static hsc_status *do_in_callee(hsc_module *module) {
  hsc_instr *caller = last_that(module, calls);
  return caller ? other_in(caller->called[caller->called_count - 1]) : NULL;
}

static hsc_status *do_branches_swapped(hsc_module *module) {
  hsc_instr *instr = last_that(module, is_conditional);
  if (!instr || instr->called_count != 2 || instr->operands[1] != instr->operands[2])
    return NULL;
  hsc_computation *other[] = {instr->called[1], instr->called[0]};
  hsc_instr_set_called(instr, 2, other);
  return hsc_module_sort(module);
}

static hsc_status *do_once_more(hsc_module *module) {
  hsc_instr *loop = last_that(module, is_while);
  if (!loop || !is_compare(loop->called[0]->root))
    return NULL;
  hsc_instr *test = loop->called[0]->root;
  test->attr.compare.direction = with_equal(test->attr.compare.direction);
  loop->backend_config = NULL;  // the number of trips
  return NULL;
}

// ---- what stands behind an instruction ----------------------------------------------------------

// The value through bf16.
static hsc_status *round_behind(hsc_module *module, hsc_instr *instr) {
  hsc_builder b;
  if (!instr || instr->shape.type != HSC_TYPE_F32)
    return NULL;
  build_behind(&b, instr);
  hsc_instr *rounded = hsc_build_op(
      &b, HSC_OP_REDUCE_PRECISION, instr->shape,
      &(hsc_attr){.precision = {.exponent_bits = 8, .mantissa_bits = 7}}, 1, &instr, 0, NULL);
  put_in_place(instr, rounded, 0, NULL);
  return finish(&b, module);
}

static bool is_between(const hsc_instr *instr) {
  return is_floats(instr) && instr->user_count > 0 && instr->shape.rank > 0 &&
         instr->parent == instr->parent->module->entry && has_other(instr);
}

static hsc_status *do_rounded_between(hsc_module *module) {
  return round_behind(module, last_that(module, is_between));
}

static hsc_status *do_wide_product(hsc_module *module) {
  return round_behind(module, last_that(module, is_dot));
}

static hsc_status *do_second_output(hsc_module *module) {
  hsc_instr *root = module->entry->root;
  hsc_builder b;
  if (root->op != HSC_OP_TUPLE || root->operand_count < 2 || !is_floats(root->operands[1]))
    return NULL;
  hsc_builder_at(&b, module->entry, root);
  hsc_instr_set_operand(root, 1, hsc_build_unary(&b, HSC_OP_NEGATE, root->operands[1]));
  return finish(&b, module);
}

// What `instr` is where `where` is false, and `then` where it is true.
static hsc_status *replace_where(
    hsc_builder *b, hsc_instr *instr, hsc_instr *where, hsc_instr *then, hsc_instr *other) {
  hsc_instr *now = hsc_build_select(b, where, then, instr);
  hsc_instr *made[] = {where, then, other};
  put_in_place(instr, now, 3, made);
  return finish(b, instr->parent->module);
}

static hsc_status *do_nan_is_zero(hsc_module *module) {
  hsc_instr *instr = last_that(module, is_multiply);
  hsc_builder b;
  if (!instr || !is_floats(instr))
    return NULL;
  build_behind(&b, instr);
  hsc_instr *zero = hsc__uniform_constant(&b, 0, instr);
  hsc_instr *where = hsc_build_compare(&b, HSC_EQ, instr->operands[0], zero);
  return replace_where(&b, instr, where, zero, zero);
}

static bool is_float_maximum(const hsc_instr *instr) {
  return instr->op == HSC_OP_MAXIMUM && is_floats(instr) && instr->shape.rank > 0;
}

static hsc_status *do_max_of_nan(hsc_module *module) {
  hsc_instr *instr = last_that(module, is_float_maximum);
  hsc_builder b;
  if (!instr)
    return NULL;
  build_behind(&b, instr);
  hsc_instr *x = instr->operands[0];
  hsc_instr *where = hsc_build_compare(&b, HSC_NE, x, x);
  return replace_where(&b, instr, where, instr->operands[1], NULL);
}

static hsc_status *do_both_positive(hsc_module *module) {
  hsc_instr *instr = last_that(module, has_square_operand);
  hsc_builder b;
  if (!instr)
    instr = last_that(module, is_multiply);
  if (!instr || !is_floats(instr))
    return NULL;
  build_behind(&b, instr);
  hsc_instr *zero = hsc__uniform_constant(&b, 0, instr);
  hsc_instr *x = hsc_build_compare(&b, HSC_GT, instr->operands[0], zero);
  hsc_instr *y = hsc_build_compare(&b, HSC_GT, instr->operands[1], zero);
  hsc_instr *little = hsc__uniform_constant(&b, 0x1p-8, instr);
  hsc_instr *more = hsc_build_binary(&b, HSC_OP_ADD, instr, little);
  return replace_where(&b, instr, hsc_build_binary(&b, HSC_OP_AND, x, y), more, NULL);
}

static hsc_status *do_large_exp(hsc_module *module) {
  hsc_instr *instr = last_that(module, is_exp);
  hsc_builder b;
  if (!instr)
    return NULL;
  build_behind(&b, instr);
  hsc_instr *most = hsc__uniform_constant(&b, 0x1p60, instr);
  hsc_instr *where = hsc_build_compare(&b, HSC_GT, instr, most);
  return replace_where(&b, instr, where, most, NULL);
}

static hsc_status *do_small_is_zero(hsc_module *module) {
  hsc_instr *instr = last_that(module, is_multiply);
  hsc_builder b;
  if (!instr || !is_floats(instr))
    return NULL;
  build_behind(&b, instr);
  hsc_instr *size = hsc_build_unary(&b, HSC_OP_ABS, instr);
  hsc_instr *least = hsc__uniform_constant(&b, 0x1p-60, instr);
  hsc_instr *where = hsc_build_compare(&b, HSC_LT, size, least);
  return replace_where(&b, instr, where, hsc__uniform_constant(&b, 0, instr), size);
}

static hsc_status *do_zero_result(hsc_module *module) {
  hsc_instr *instr = last_that(module, is_between);
  hsc_builder b;
  if (!instr)
    return NULL;
  build_behind(&b, instr);
  put_in_place(instr, hsc__uniform_constant(&b, 0, instr), 0, NULL);
  return finish(&b, module);
}

static hsc_status *do_merged(hsc_module *module) {
  HSC_FOR_EACH_INSTR_IN (module->entry, later)
    for (hsc_instr *sooner = module->entry->first; sooner != later; sooner = sooner->next) {
      bool alike = sooner->op == later->op && is_floats(later) && later->operand_count > 0 &&
                   hsc_shape_equal(&sooner->shape, &later->shape) &&
                   (hsc_op_traits(later->op) & HSC_TRAIT_ELEMENTWISE);
      if (!alike)
        continue;
      put_in_place(later, sooner, 0, NULL);
      return hsc_module_sort(module);
    }
  return NULL;
}

static hsc_status *do_unfused(hsc_module *module) {
  hsc_builder b;
  HSC_FOR_EACH_INSTR_IN (module->entry, instr) {
    if (!is_floats(instr) || instr->op == HSC_OP_PARAMETER || instr == module->entry->root ||
        instr->op == HSC_OP_CONSTANT || instr->op == HSC_OP_OPT_BARRIER)
      continue;
    build_behind(&b, instr);
    put_in_place(instr, hsc_build(&b, HSC_OP_OPT_BARRIER, instr->shape, 1, &instr), 0, NULL);
    HSC_TRY(hsc_builder_finish(&b, NULL, NULL));
  }
  return hsc_module_sort(module);
}

// ---- which of them ------------------------------------------------------------------------------

static const struct {
  const char *name;
  hsc_status *(*apply)(hsc_module *module);
} KINDS[] = {
#define KIND(name, doc) {#name, do_##name},
#include "culprit_kinds.def"
#undef KIND
};

hsc_status *hsc_culprit_rewrite(
    hsc_module *module, const char *pass, int64_t run, int64_t had, int64_t have) {
  int64_t number = 0;
  for (size_t k = 0; k < HSC_COUNT_OF(KINDS); k++)
    if (hsc_culprit_wants(pass, KINDS[k].name, &number) && had < number && have >= number)
      HSC_TRY(KINDS[k].apply(module));
  if (hsc_culprit_wants(pass, "silent", &number) && run == number && had == have)
    HSC_TRY(do_swapped(module));
  return NULL;
}

hsc_status *hsc_culprit_enter(const hsc_module *module, const char *pass) {
  int64_t number = 0;
  double instructions = (double)hsc_module_instr_count(module);
  if (hsc_culprit_wants(pass, "always_crash", &number))
    abort();
  while (hsc_culprit_wants(pass, "always_hang", &number))
    usleep(100000);
  if (hsc_culprit_wants(pass, "quadratic", &number))
    usleep((useconds_t)(instructions * instructions * 1500));
  if (hsc_culprit_wants(pass, "always_error", &number))
    return HSC_ERR(INTERNAL, "told to fail in %s", pass);
  return NULL;
}

// ---- executions ---------------------------------------------------------------------------------

static float *floats_of(const hsc_cpu_executable *executable, void *const *outputs, int output) {
  if (output >= hsc_cpu_executable_output_count(executable))
    return NULL;
  const hsc_shape *shape = hsc_cpu_executable_output_shape(executable, output);
  bool floats = shape->type == HSC_TYPE_F32 && hsc_shape_elements(shape) > 0;
  return floats ? outputs[output] : NULL;
}

void hsc_culprit_outputs(const hsc_cpu_executable *executable,
                         const void *const *inputs,
                         void *const *outputs) {
  static int executions;
  int64_t number = 0;
  float *first = floats_of(executable, outputs, 0);
  float *second = floats_of(executable, outputs, 1);
  int64_t count = first ? hsc_shape_elements(hsc_cpu_executable_output_shape(executable, 0)) : 0;
  executions++;
  if (second && hsc_culprit_wants("run", "second_output", &number))
    second[0] = second[0] * 2 + 1;
  if (!first)
    return;
  if (hsc_culprit_wants("run", "tail", &number))
    memset(first + count - count / 8, 0, (size_t)(count / 8) * sizeof *first);
  if (hsc_culprit_wants("run", "nan", &number))
    first[count / 2] = NAN;
  if (hsc_culprit_wants("run", "shifted", &number))
    memmove(first + 1, first, (size_t)(count - 1) * sizeof *first);
  if (hsc_culprit_wants("run", "third", &number) && executions % 3 == 0)
    first[0] += 1;
  if (hsc_culprit_wants("run", "no_nan", &number) && inputs)
    for (int64_t i = 0; i < count; i++)
      first[i] = isnan(first[i]) ? 0 : first[i];
  if (hsc_culprit_wants("run", "writes_input", &number) && inputs && inputs[0])
    *(float *)(uintptr_t)inputs[0] += 1;
  if (hsc_culprit_wants("run", "signs", &number))
    for (int64_t i = 0; i < count; i++)
      first[i] = fabsf(first[i]);
  if (hsc_culprit_wants("run", "large", &number) && count >= 4096)
    first[4095] += 1;
  if (hsc_culprit_wants("run", "half_precision", &number))
    for (int64_t i = 0; i < count; i++) {
      uint32_t bits;
      memcpy(&bits, &first[i], sizeof bits);
      bits &= 0xffff0000u;
      memcpy(&first[i], &bits, sizeof bits);
    }
}
