// test_attr.c - every field of attrs.def: a copy is equal and owns what it points to, another value
// is not equal and hashes differently, and operations without the field are not asked for it.
#include "hlo/ir/hlo_internal.h"
#include "unit.h"

static hsc_arena *arena;

static int set_up(void **state) {
  return hsc_arena_create(&arena) ? -1 : 0;
}

static int tear_down(void **state) {
  hsc_arena_destroy(arena);
  return 0;
}

static const int64_t three[] = {4, 5, 6};
static const int64_t other_three[] = {4, 7, 6};
static const hsc_window_dim window_dim = {2, 1, 0, 0, 1, 1, false};
static const hsc_window_dim reversed_dim = {2, 1, 0, 0, 1, 1, true};
static const hsc_pad_dim pad_dim = {1, 2, 3};
static const hsc_pad_dim other_pad_dim = {1, 2, 4};
static hsc_shape layout = {.type = HSC_TYPE_F32};
static hsc_shape other_layout = {.type = HSC_TYPE_S32};

static hsc_literal *scalar(int32_t value) {
  hsc_shape shape = {.type = HSC_TYPE_S32};
  hsc_literal *literal = NULL;
  EXPECT_OK(hsc_literal_create(arena, &shape, &literal));
  memcpy(literal->data, &value, sizeof value);
  return literal;
}

// Sets a field of the kind, to one value or to another.
static void set_BOOL(void *place, bool other) {
  *(bool *)place = other;
}
static void set_ENUM(void *place, bool other) {
  memcpy(place, &(int32_t){other ? 2 : 1}, sizeof(int32_t));
}
static void set_INT32(void *place, bool other) {
  *(int32_t *)place = other ? 23 : 22;
}
static void set_INT64(void *place, bool other) {
  *(int64_t *)place = other ? INT64_C(1) << 40 : 1;
}
static void set_FLOAT(void *place, bool other) {
  *(float *)place = other ? 1e-5f : 1e-6f;
}
static void set_DIMS(void *place, bool other) {
  *(hsc_dims *)place = (hsc_dims){3, other ? other_three : three};
}
static void set_TEXT(void *place, bool other) {
  *(const char **)place = other ? "b" : "a";
}
static void set_LITERAL(void *place, bool other) {
  *(hsc_literal **)place = scalar(other ? 8 : 7);
}
static void set_WINDOW(void *place, bool other) {
  *(hsc_window *)place = (hsc_window){1, other ? &reversed_dim : &window_dim};
}
static void set_PADDING(void *place, bool other) {
  ((hsc_attr *)place)->pad.rank = 1;
  ((hsc_attr *)place)->pad.dims = other ? &other_pad_dim : &pad_dim;
}
static void set_CONV_DIMS(void *place, bool other) {
  *(hsc_conv_dims *)place = (hsc_conv_dims){.spatial_rank = 3,
                                            .input_spatial = three,
                                            .kernel_spatial = three,
                                            .output_spatial = other ? other_three : three};
}
static void set_LAYOUTS(void *place, bool other) {
  ((hsc_attr *)place)->custom.operand_layout_count = 1;
  ((hsc_attr *)place)->custom.operand_layouts = other ? &other_layout : &layout;
}

typedef struct row {
  const char *name;
  hsc__attr_kind member;
  size_t place;
  void (*set)(void *place, bool other);
} row;
static const row rows[] = {
#define MEMBER(name)
#define FIELD(kind, place) {#place, 0, offsetof(hsc_attr, place), set_##kind},
#define END(name) {NULL, HSC__ATTR_##name, 0, NULL},
#include "hlo/ir/attrs.def"
#undef MEMBER
#undef FIELD
#undef END
};

static hsc_op op_with(hsc__attr_kind member) {
  for (int op = 0; op < HSC_OP_COUNT; op++)
    if (hsc__op_attr_kind((hsc_op)op) == member)
      return (hsc_op)op;
  fail_msg("no operation has member %d", (int)member);
  return HSC_OP_ABS;
}

static hsc_hash128 hash_of(const hsc_instr *instr) {
  hsc__hasher h = {{1, 2}};
  hsc__hash_attr(&h, instr->op, &instr->attr);
  return h.state;
}

static bool same_hash(const hsc_instr *a, const hsc_instr *b) {
  hsc_hash128 x = hash_of(a);
  hsc_hash128 y = hash_of(b);
  return x.low == y.low && x.high == y.high;
}

static void check(const row *it, hsc_op op) {
  hsc_instr one = {.op = op};
  hsc_instr copy = {.op = op};
  hsc_instr other = {.op = op};
  it->set((char *)&one.attr + it->place, false);
  it->set((char *)&other.attr + it->place, true);
  hsc__attr_copy(arena, op, &one.attr, &copy.attr);
  if (!hsc_attr_equal(&one, &copy) || !same_hash(&one, &copy))
    fail_msg("%s: a copy differs", it->name);
  if (hsc_attr_equal(&one, &other) || hsc_attr_equal(&other, &one))
    fail_msg("%s: another value is equal", it->name);
  if (same_hash(&one, &other))
    fail_msg("%s: another value hashes the same", it->name);
}

static void every_field_counts(void **state) {
  int checked = 0;
  for (size_t i = 0; i < HSC_COUNT_OF(rows); i++) {
    size_t end = i;
    while (rows[end].name)
      end++;
    for (; i < end; i++, checked++)
      check(&rows[i], op_with(rows[end].member));
  }
  assert_int_equal(checked, HSC_COUNT_OF(rows) - (HSC__ATTR_collective + 1));
}

// A change of what was copied from is not seen in the copy.
static void a_copy_owns_what_it_points_to(void **state) {
  int64_t numbers[] = {1, 2, 3};
  char target[] = "target";
  hsc_window_dim dim = window_dim;
  hsc_attr from = {0};
  hsc_attr to;
  from.dot.lhs_batch = (hsc_dims){3, numbers};
  hsc__attr_copy(arena, HSC_OP_DOT, &from, &to);
  numbers[1] = 9;
  assert_int_equal(to.dot.lhs_batch.v[1], 2);
  from = (hsc_attr){.custom = {.target = target}};
  hsc__attr_copy(arena, HSC_OP_CUSTOM_CALL, &from, &to);
  target[0] = 'T';
  assert_string_equal(to.custom.target, "target");
  from = (hsc_attr){.conv = {.window = {1, &dim}}};
  hsc__attr_copy(arena, HSC_OP_CONVOLUTION, &from, &to);
  dim.size = 9;
  assert_int_equal(to.conv.window.dims[0].size, 2);
}

// A custom call whose layouts are constrained and that has no operands stays one.
static void layouts_for_no_operands_are_kept(void **state) {
  hsc_instr one = {.op = HSC_OP_CUSTOM_CALL};
  hsc_instr copy = {.op = HSC_OP_CUSTOM_CALL};
  one.attr.custom.operand_layouts = &layout;
  hsc__attr_copy(arena, HSC_OP_CUSTOM_CALL, &one.attr, &copy.attr);
  assert_non_null(copy.attr.custom.operand_layouts);
  assert_ptr_not_equal(copy.attr.custom.operand_layouts, one.attr.custom.operand_layouts);
  assert_true(hsc_attr_equal(&one, &copy));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_field_counts),
      cmocka_unit_test(a_copy_owns_what_it_points_to),
      cmocka_unit_test(layouts_for_no_operands_are_kept),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
