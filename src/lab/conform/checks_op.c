// checks_op.c - operations, one program each, against the reference evaluator.
//
// Three families in one list: elementwise operations by element type, conversions between types,
// and programs of one structural operation each. Results of movement and whole numbers must be the
// same bits; elementwise floats may differ by the row's ULPs.
#include <math.h>
#include <stdlib.h>

#include "formats/common/formats.h"
#include "hlo/ir/hlo.h"
#include "lab/conform/conform_internal.h"

enum { ELEMENTS = 24 };  // of an elementwise program: tensor<4x6xT>

typedef struct elementwise {
  const char *name;
  int arity;
  const char *kinds;  // of conform_type that it takes
  double ulps;        // how far a float may be off
  bool is_compared;   // gives booleans
} elementwise;
static const elementwise elementwises[] = {
    {"add", 2, "fiu", 0, false},
    {"subtract", 2, "fiu", 0, false},
    {"multiply", 2, "fiu", 0, false},
    {"divide", 2, "fiu", 2, false},
    {"maximum", 2, "fiup", 0, false},
    {"minimum", 2, "fiup", 0, false},
    {"remainder", 2, "fiu", 2, false},
    {"power", 2, "fiu", 32, false},
    {"atan2", 2, "f", 16, false},
    {"and", 2, "iup", 0, false},
    {"or", 2, "iup", 0, false},
    {"xor", 2, "iup", 0, false},
    {"shift_left", 2, "iu", 0, false},
    {"shift_right_arithmetic", 2, "iu", 0, false},
    {"shift_right_logical", 2, "iu", 0, false},
    {"abs", 1, "fi", 0, false},
    {"negate", 1, "fi", 0, false},
    {"sign", 1, "fi", 0, false},
    {"not", 1, "iup", 0, false},
    {"popcnt", 1, "iu", 0, false},
    {"count_leading_zeros", 1, "iu", 0, false},
    {"ceil", 1, "f", 0, false},
    {"floor", 1, "f", 0, false},
    {"round_nearest_afz", 1, "f", 0, false},
    {"round_nearest_even", 1, "f", 0, false},
    {"sqrt", 1, "f", 2, false},
    {"rsqrt", 1, "f", 4, false},
    {"cbrt", 1, "f", 16, false},
    {"exponential", 1, "f", 16, false},
    {"exponential_minus_one", 1, "f", 32, false},
    {"log", 1, "f", 16, false},
    {"log_plus_one", 1, "f", 16, false},
    {"logistic", 1, "f", 32, false},
    {"cosine", 1, "f", 16, false},
    {"sine", 1, "f", 16, false},
    {"tan", 1, "f", 32, false},
    {"tanh", 1, "f", 32, false},
};
static const PJRT_Buffer_Type op_types[] = {
    PJRT_Buffer_Type_F32, PJRT_Buffer_Type_BF16, PJRT_Buffer_Type_F16, PJRT_Buffer_Type_F64,
    PJRT_Buffer_Type_S8,  PJRT_Buffer_Type_S32,  PJRT_Buffer_Type_S64, PJRT_Buffer_Type_U8,
    PJRT_Buffer_Type_U32, PJRT_Buffer_Type_PRED,
};
static const char *const directions[] = {"EQ", "NE", "LT", "LE", "GT", "GE"};

typedef struct structural {
  const char *name, *text;
  double ulps;
} structural;
#define UNARY(name, in, out, op) \
  {name, \
   "module @m { func.func public @main(%a: tensor<" in ">) -> tensor<" out "> {\n  " op \
   "\n  return %0 : tensor<" out ">\n} }\n", \
   0}
#define SUMS(name, in, out, op) \
  {name, \
   "module @m { func.func public @main(%a: tensor<" in ">) -> tensor<" out "> {\n  " op \
   "\n  return %0 : tensor<" out ">\n} }\n", \
   64}
#define BINARY(name, left, right, out, op) \
  {name, \
   "module @m { func.func public @main(%a: tensor<" left ">, %b: tensor<" right \
   ">) -> tensor<" out "> {\n  " op "\n  return %0 : tensor<" out ">\n} }\n", \
   4096}
static const structural structurals[] = {
    UNARY("reshape",
          "4x6xf32",
          "3x8xf32",
          "%0 = stablehlo.reshape %a : (tensor<4x6xf32>) -> tensor<3x8xf32>"),
    UNARY("transpose",
          "4x6xf32",
          "6x4xf32",
          "%0 = stablehlo.transpose %a, dims = [1, 0] : (tensor<4x6xf32>) -> tensor<6x4xf32>"),
    UNARY(
        "transpose-rank3",
        "2x3x4xs32",
        "4x2x3xs32",
        "%0 = stablehlo.transpose %a, dims = [2, 0, 1] : (tensor<2x3x4xi32>) -> tensor<4x2x3xi32>"),
    UNARY("broadcast_in_dim",
          "6xf32",
          "4x6xf32",
          "%0 = stablehlo.broadcast_in_dim %a, dims = [1] : (tensor<6xf32>) -> tensor<4x6xf32>"),
    UNARY("broadcast-scalar",
          "f32",
          "4x6xf32",
          "%0 = stablehlo.broadcast_in_dim %a, dims = [] : (tensor<f32>) -> tensor<4x6xf32>"),
    UNARY("slice",
          "4x6xf32",
          "2x2xf32",
          "%0 = stablehlo.slice %a [1:3, 0:6:3] : (tensor<4x6xf32>) -> tensor<2x2xf32>"),
    UNARY("reverse",
          "4x6xf32",
          "4x6xf32",
          "%0 = stablehlo.reverse %a, dims = [0, 1] : tensor<4x6xf32>"),
    UNARY(
        "pad",
        "4x6xf32",
        "7x7xf32",
        "%z = stablehlo.constant dense<9.0> : tensor<f32>\n  %0 = stablehlo.pad %a, %z, low = [1, "
        "0], high = [2, 1], interior = [0, 0] : (tensor<4x6xf32>, tensor<f32>) -> tensor<7x7xf32>"),
    UNARY("pad-interior",
          "4xf32",
          "10xf32",
          "%z = stablehlo.constant dense<9.0> : tensor<f32>\n  %0 = stablehlo.pad %a, %z, low = "
          "[0], high = [0], interior = [2] : (tensor<4xf32>, tensor<f32>) -> tensor<10xf32>"),
    UNARY("pad-negative",
          "4x6xf32",
          "4x3xf32",
          "%z = stablehlo.constant dense<9.0> : tensor<f32>\n  %0 = stablehlo.pad %a, %z, low = "
          "[0, -1], high = [0, -2], interior = [0, 0] : (tensor<4x6xf32>, tensor<f32>) -> "
          "tensor<4x3xf32>"),
    UNARY("concatenate",
          "4x6xf32",
          "8x6xf32",
          "%0 = stablehlo.concatenate %a, %a, dim = 0 : (tensor<4x6xf32>, tensor<4x6xf32>) -> "
          "tensor<8x6xf32>"),
    UNARY("iota", "f32", "4x6xf32", "%0 = stablehlo.iota dim = 1 : tensor<4x6xf32>"),
    UNARY("bitcast_convert",
          "4x6xf32",
          "4x6xi32",
          "%0 = stablehlo.bitcast_convert %a : (tensor<4x6xf32>) -> tensor<4x6xi32>"),
    UNARY("select",
          "4x6xf32",
          "4x6xf32",
          "%z = stablehlo.constant dense<1.0> : tensor<4x6xf32>\n  %p = stablehlo.compare GT, %a, "
          "%z : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xi1>\n  %0 = stablehlo.select %p, "
          "%a, %z : tensor<4x6xi1>, tensor<4x6xf32>"),
    UNARY("clamp",
          "4x6xf32",
          "4x6xf32",
          "%l = stablehlo.constant dense<0.5> : tensor<f32>\n  %h = stablehlo.constant dense<1.5> "
          ": tensor<f32>\n  %0 = stablehlo.clamp %l, %a, %h : (tensor<f32>, tensor<4x6xf32>, "
          "tensor<f32>) -> tensor<4x6xf32>"),
    UNARY("is_finite",
          "4x6xf32",
          "4x6xi1",
          "%0 = stablehlo.is_finite %a : (tensor<4x6xf32>) -> tensor<4x6xi1>"),
    UNARY("reduce-max",
          "4x6xf32",
          "4xf32",
          "%z = stablehlo.constant dense<0xFF800000> : tensor<f32>\n  %0 = stablehlo.reduce(%a "
          "init: %z) applies stablehlo.maximum across dimensions = [1] : (tensor<4x6xf32>, "
          "tensor<f32>) -> tensor<4xf32>"),
    UNARY("reduce-min-columns",
          "4x6xf32",
          "6xf32",
          "%z = stablehlo.constant dense<0x7F800000> : tensor<f32>\n  %0 = stablehlo.reduce(%a "
          "init: %z) applies stablehlo.minimum across dimensions = [0] : (tensor<4x6xf32>, "
          "tensor<f32>) -> tensor<6xf32>"),
    UNARY("reduce-add-integers",
          "4x6xi32",
          "i32",
          "%z = stablehlo.constant dense<0> : tensor<i32>\n  %0 = stablehlo.reduce(%a init: %z) "
          "applies stablehlo.add across dimensions = [0, 1] : (tensor<4x6xi32>, tensor<i32>) -> "
          "tensor<i32>"),
    UNARY("reduce-and",
          "4x6xi1",
          "4xi1",
          "%z = stablehlo.constant dense<true> : tensor<i1>\n  %0 = stablehlo.reduce(%a init: %z) "
          "applies stablehlo.and across dimensions = [1] : (tensor<4x6xi1>, tensor<i1>) -> "
          "tensor<4xi1>"),
    SUMS("reduce-add",
         "4x6xf32",
         "4xf32",
         "%z = stablehlo.constant dense<0.0> : tensor<f32>\n  %0 = stablehlo.reduce(%a init: %z) "
         "applies stablehlo.add across dimensions = [1] : (tensor<4x6xf32>, tensor<f32>) -> "
         "tensor<4xf32>"),
    SUMS("reduce-multiply",
         "4x6xf32",
         "6xf32",
         "%z = stablehlo.constant dense<1.0> : tensor<f32>\n  %0 = stablehlo.reduce(%a init: %z) "
         "applies stablehlo.multiply across dimensions = [0] : (tensor<4x6xf32>, tensor<f32>) -> "
         "tensor<6xf32>"),
    UNARY("sort",
          "4x6xf32",
          "4x6xf32",
          "%0 = \"stablehlo.sort\"(%a) ({\n  ^bb0(%x: tensor<f32>, %y: tensor<f32>):\n    %p = "
          "stablehlo.compare LT, %x, %y : (tensor<f32>, tensor<f32>) -> tensor<i1>\n    "
          "stablehlo.return %p : tensor<i1>\n  }) {dimension = 1 : i64, is_stable = true} : "
          "(tensor<4x6xf32>) -> tensor<4x6xf32>"),
    UNARY("dynamic_slice",
          "4x6xf32",
          "2x3xf32",
          "%i = stablehlo.constant dense<1> : tensor<i32>\n  %j = stablehlo.constant dense<5> : "
          "tensor<i32>\n  %0 = stablehlo.dynamic_slice %a, %i, %j, sizes = [2, 3] : "
          "(tensor<4x6xf32>, tensor<i32>, tensor<i32>) -> tensor<2x3xf32>"),
    UNARY("dynamic_update_slice",
          "4x6xf32",
          "4x6xf32",
          "%u = stablehlo.constant dense<7.0> : tensor<2x2xf32>\n  %i = stablehlo.constant "
          "dense<3> : tensor<i32>\n  %j = stablehlo.constant dense<-1> : tensor<i32>\n  %0 = "
          "stablehlo.dynamic_update_slice %a, %u, %i, %j : (tensor<4x6xf32>, tensor<2x2xf32>, "
          "tensor<i32>, tensor<i32>) -> tensor<4x6xf32>"),
    UNARY("gather",
          "4x6xf32",
          "3x6xf32",
          "%i = stablehlo.constant dense<[[3], [0], [2]]> : tensor<3x1xi32>\n  %0 = "
          "\"stablehlo.gather\"(%a, %i) {dimension_numbers = #stablehlo.gather<offset_dims = [1], "
          "collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = "
          "array<i64: 1, 6>} : (tensor<4x6xf32>, tensor<3x1xi32>) -> tensor<3x6xf32>"),
    UNARY("scatter",
          "4x6xf32",
          "4x6xf32",
          "%i = stablehlo.constant dense<[[3], [1]]> : tensor<2x1xi32>\n  %u = stablehlo.constant "
          "dense<5.0> : tensor<2x6xf32>\n  %0 = \"stablehlo.scatter\"(%a, %i, %u) ({\n  ^bb0(%x: "
          "tensor<f32>, %y: tensor<f32>):\n    %s = stablehlo.add %x, %y : tensor<f32>\n    "
          "stablehlo.return %s : tensor<f32>\n  }) {scatter_dimension_numbers = "
          "#stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], "
          "scatter_dims_to_operand_dims = [0], index_vector_dim = 1>} : (tensor<4x6xf32>, "
          "tensor<2x1xi32>, tensor<2x6xf32>) -> tensor<4x6xf32>"),
    UNARY("while",
          "i32",
          "i32",
          "%0 = stablehlo.while(%x = %a) : tensor<i32> cond {\n    %n = stablehlo.constant "
          "dense<100> : tensor<i32>\n    %p = stablehlo.compare LT, %x, %n : (tensor<i32>, "
          "tensor<i32>) -> tensor<i1>\n    stablehlo.return %p : tensor<i1>\n  } do {\n    %k = "
          "stablehlo.constant dense<7> : tensor<i32>\n    %y = stablehlo.add %x, %k : "
          "tensor<i32>\n    stablehlo.return %y : tensor<i32>\n  }"),
    UNARY("if",
          "4x6xf32",
          "4x6xf32",
          "%p = stablehlo.constant dense<false> : tensor<i1>\n  %0 = \"stablehlo.if\"(%p) ({\n    "
          "stablehlo.return %a : tensor<4x6xf32>\n  }, {\n    %n = stablehlo.negate %a : "
          "tensor<4x6xf32>\n    stablehlo.return %n : tensor<4x6xf32>\n  }) : (tensor<i1>) -> "
          "tensor<4x6xf32>"),
    UNARY("case",
          "4x6xf32",
          "4x6xf32",
          "%p = stablehlo.constant dense<9> : tensor<i32>\n  %0 = \"stablehlo.case\"(%p) ({\n    "
          "stablehlo.return %a : tensor<4x6xf32>\n  }, {\n    %n = stablehlo.negate %a : "
          "tensor<4x6xf32>\n    stablehlo.return %n : tensor<4x6xf32>\n  }) : (tensor<i32>) -> "
          "tensor<4x6xf32>"),
    UNARY("reduce_window-max",
          "8xf32",
          "4xf32",
          "%z = stablehlo.constant dense<0xFF800000> : tensor<f32>\n  %0 = "
          "\"stablehlo.reduce_window\"(%a, %z) ({\n  ^bb0(%x: tensor<f32>, %y: tensor<f32>):\n    "
          "%m = stablehlo.maximum %x, %y : tensor<f32>\n    stablehlo.return %m : tensor<f32>\n  "
          "}) {window_dimensions = array<i64: 2>, window_strides = array<i64: 2>} : "
          "(tensor<8xf32>, tensor<f32>) -> tensor<4xf32>"),
    UNARY("optimization_barrier",
          "4x6xf32",
          "4x6xf32",
          "%0 = stablehlo.optimization_barrier %a : tensor<4x6xf32>"),
    UNARY("complex-parts",
          "4x6xf32",
          "4x6xf32",
          "%c = stablehlo.complex %a, %a : tensor<4x6xcomplex<f32>>\n  %0 = stablehlo.imag %c : "
          "(tensor<4x6xcomplex<f32>>) -> tensor<4x6xf32>"),
    BINARY("dot_general",
           "4x6xf32",
           "6x5xf32",
           "4x5xf32",
           "%0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0], precision = [HIGHEST, "
           "HIGHEST] : (tensor<4x6xf32>, tensor<6x5xf32>) -> tensor<4x5xf32>"),
    BINARY("dot_general-batch",
           "2x4x6xf32",
           "2x6x5xf32",
           "2x4x5xf32",
           "%0 = stablehlo.dot_general %a, %b, batching_dims = [0] x [0], contracting_dims = [2] x "
           "[1], precision = [HIGHEST, HIGHEST] : (tensor<2x4x6xf32>, tensor<2x6x5xf32>) -> "
           "tensor<2x4x5xf32>"),
    BINARY("dot_general-vector",
           "6xf32",
           "6xf32",
           "f32",
           "%0 = stablehlo.dot_general %a, %b, contracting_dims = [0] x [0], precision = [HIGHEST, "
           "HIGHEST] : (tensor<6xf32>, tensor<6xf32>) -> tensor<f32>"),
    BINARY(
        "convolution",
        "1x6x6x2xf32",
        "3x3x2x4xf32",
        "1x6x6x4xf32",
        "%0 = stablehlo.convolution(%a, %b) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], "
        "window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : "
        "i64, precision_config = [#stablehlo<precision HIGHEST>, #stablehlo<precision HIGHEST>]} : "
        "(tensor<1x6x6x2xf32>, tensor<3x3x2x4xf32>) -> tensor<1x6x6x4xf32>"),
};

// ---- which program a number is ------------------------------------------------------------------

static const conform_type *type_of(PJRT_Buffer_Type type) {
  for (int i = 0; i < hsc__conform_type_count; i++)
    if (hsc__conform_types[i].type == type)
      return &hsc__conform_types[i];
  return NULL;
}

enum {
  OP_TYPES = HSC_COUNT_OF(op_types),
  CONVERSIONS = OP_TYPES * OP_TYPES,
  COMPARISONS = 6 * OP_TYPES
};

static int elementwise_count(void) {
  int n = 0;
  for (size_t i = 0; i < HSC_COUNT_OF(elementwises); i++)
    for (int t = 0; t < OP_TYPES; t++)
      n += strchr(elementwises[i].kinds, type_of(op_types[t])->kind) != NULL;
  return n;
}

typedef struct op_program {
  char name[64];
  hsc_bytes text;
  double ulps;
} op_program;

static void write_elementwise(const elementwise *e, const conform_type *type, op_program *out) {
  snprintf(out->name, sizeof out->name, "%s-%s", e->name, type->text);
  out->ulps = e->ulps;
  const char *m = type->mlir;
  hsc_bytes_printf(
      &out->text,
      "module @m { func.func public @main(%%a: tensor<4x6x%s>%s%s%s) -> tensor<4x6x%s> {\n", m,
      e->arity == 2 ? ", %b: tensor<4x6x" : "", e->arity == 2 ? m : "", e->arity == 2 ? ">" : "",
      m);
  hsc_bytes_printf(&out->text,
                   "  %%0 = \"stablehlo.%s\"(%%a%s) : (tensor<4x6x%s>%s%s%s) -> tensor<4x6x%s>\n",
                   e->name, e->arity == 2 ? ", %b" : "", m, e->arity == 2 ? ", tensor<4x6x" : "",
                   e->arity == 2 ? m : "", e->arity == 2 ? ">" : "", m);
  hsc_bytes_printf(&out->text, "  return %%0 : tensor<4x6x%s>\n} }\n", m);
}

static void write_comparison(const char *direction, const conform_type *type, op_program *out) {
  snprintf(out->name, sizeof out->name, "compare-%s-%s", direction, type->text);
  hsc_bytes_printf(&out->text,
                   "module @m { func.func public @main(%%a: tensor<4x6x%s>, %%b: tensor<4x6x%s>) "
                   "-> tensor<4x6xi1> {\n"
                   "  %%0 = stablehlo.compare %s, %%a, %%b : (tensor<4x6x%s>, tensor<4x6x%s>) -> "
                   "tensor<4x6xi1>\n"
                   "  return %%0 : tensor<4x6xi1>\n} }\n",
                   type->mlir, type->mlir, direction, type->mlir, type->mlir);
}

static void write_conversion(const conform_type *from, const conform_type *to, op_program *out) {
  snprintf(out->name, sizeof out->name, "convert-%s-%s", from->text, to->text);
  hsc_bytes_printf(&out->text,
                   "module @m { func.func public @main(%%a: tensor<4x6x%s>) -> tensor<4x6x%s> {\n"
                   "  %%0 = stablehlo.convert %%a : (tensor<4x6x%s>) -> tensor<4x6x%s>\n"
                   "  return %%0 : tensor<4x6x%s>\n} }\n",
                   from->mlir, to->mlir, from->mlir, to->mlir, to->mlir);
}

static void program_of(int number, op_program *out) {
  *out = (op_program){.ulps = 0};
  for (size_t i = 0; i < HSC_COUNT_OF(elementwises); i++)
    for (int t = 0; t < OP_TYPES; t++) {
      const conform_type *type = type_of(op_types[t]);
      if (strchr(elementwises[i].kinds, type->kind) && number-- == 0) {
        write_elementwise(&elementwises[i], type, out);
        return;
      }
    }
  if (number < COMPARISONS) {
    write_comparison(directions[number / OP_TYPES], type_of(op_types[number % OP_TYPES]), out);
    return;
  }
  number -= COMPARISONS;
  if (number < CONVERSIONS) {
    write_conversion(type_of(op_types[number / OP_TYPES]), type_of(op_types[number % OP_TYPES]),
                     out);
    return;
  }
  const structural *s = &structurals[number - CONVERSIONS];
  snprintf(out->name, sizeof out->name, "%s", s->name);
  // HLO's name of the type in a row is MLIR's here
  for (const char *at = s->text; *at; at++) {
    if (!strncmp(at, "xs32", 4)) {
      hsc_bytes_append_text(&out->text, "xi32");
      at += 3;
    } else {
      hsc_bytes_append_char(&out->text, *at);
    }
  }
  out->ulps = s->ulps;
}

int hsc__conform_op_count(void) {
  return elementwise_count() + COMPARISONS + CONVERSIONS + (int)HSC_COUNT_OF(structurals);
}

void hsc__conform_op_name(int number, char out_text[64]) {
  op_program program;
  program_of(number, &program);
  snprintf(out_text, 64, "%s", program.name);
  hsc_bytes_deinit(&program.text);
}

// ---- running it ---------------------------------------------------------------------------------

static PJRT_Buffer_Type buffer_type_of(hsc_type type) {
  for (int i = 0; i < hsc__conform_type_count; i++)
    if (!strcmp(hsc__conform_types[i].text, hsc_type_text(type)))
      return hsc__conform_types[i].type;
  return PJRT_Buffer_Type_INVALID;
}

// Values that every operation of the list is defined for: floats from 0.25 to 3, whole numbers from
// 1 to 5.
static void fill(hsc_literal *literal, int argument) {
  hsc_type type = literal->shape.type;
  int64_t count = hsc_shape_elements(&literal->shape);
  for (int64_t i = 0; i < count; i++) {
    int64_t k = (i * 7 + argument * 5) % 12;
    if (hsc_type_is_float(type))
      hsc_literal_set_double(literal, i, 0.25 * (double)(k + 1));
    else if (type == HSC_TYPE_PRED)
      hsc_literal_set_int(literal, i, k % 2);
    else
      hsc_literal_set_int(literal, i, k % 5 + 1);
  }
}

static void compare(hsc_conform *c,
                    const hsc_literal *expected,
                    const hsc_literal *got,
                    double ulps) {
  hsc_difference difference = {0};
  hsc_status *status = hsc_literal_compare(expected, got, &difference);
  if (status) {
    hsc__conform_fail(c, "its result: %s", hsc_status_message(status));
    hsc_status_free(status);
    return;
  }
  if ((double)difference.max_ulp <= ulps && difference.nan_mismatches == 0)
    return;
  hsc__conform_fail(
      c, "element %lld is %.9g, the specification gives %.9g (%g ULP apart, %g allowed)",
      (long long)difference.index, hsc_literal_get_double(got, difference.index),
      hsc_literal_get_double(expected, difference.index), (double)difference.max_ulp, ulps);
}

// Where there is no device: the program compiles, and its result has the type that it should.
static hsc_status *compile_program(hsc_conform *c, const op_program *program) {
  hsc_module *module = NULL;
  HSC_TRY(hsc_program_read(hsc_bytes_view(&program->text), program->name, &module));
  PJRT_Executable *executable = hsc__conform_executable_of(c, hsc_bytes_text(&program->text));
  const hsc_shape *shape = &module->entry->root->shape;
  PJRT_Executable_OutputElementTypes_Args types =
      ARGS_OF(PJRT_Executable_OutputElementTypes, .executable = executable);
  PJRT_Executable_OutputDimensions_Args dims =
      ARGS_OF(PJRT_Executable_OutputDimensions, .executable = executable);
  if (executable && OK(c, PJRT_Executable_OutputElementTypes, &types) &&
      OK(c, PJRT_Executable_OutputDimensions, &dims)) {
    if (types.num_output_types != 1 || types.output_types[0] != buffer_type_of(shape->type))
      hsc__conform_fail(c, "its result has another type than %s", hsc_type_text(shape->type));
    else if (dims.num_outputs != 1 || dims.dim_sizes[0] != (size_t)shape->rank ||
             memcmp(dims.dims, shape->dims, (size_t)shape->rank * sizeof shape->dims[0]) != 0)
      hsc__conform_fail(c, "its result has other extents than the program says");
  }
  hsc_module_destroy(module);
  return NULL;
}

static hsc_status *run_program(hsc_conform *c, const op_program *program, hsc_arena *arena) {
  enum { ARGUMENTS = 4 };
  hsc_module *module = NULL;
  HSC_TRY(hsc_program_read(hsc_bytes_view(&program->text), program->name, &module));
  hsc_status *status = NULL;
  hsc_literal *literals[ARGUMENTS] = {NULL};
  PJRT_Buffer *buffers[ARGUMENTS] = {NULL};
  hsc_literal *expected = NULL;
  hsc_literal *got = NULL;
  int count = module->entry->parameter_count;
  for (int p = 0; p < count && p < ARGUMENTS; p++) {
    HSC_GOTO(hsc_literal_create(arena, &module->entry->parameters[p]->shape, &literals[p]));
    fill(literals[p], p);
  }
  HSC_GOTO(hsc_evaluate(module, count, literals, arena, &expected));
  HSC_GOTO(hsc_literal_create(arena, &expected->shape, &got));
  PJRT_LoadedExecutable *loaded = hsc__conform_compile(c, hsc_bytes_text(&program->text));
  for (int p = 0; loaded && p < count; p++) {
    const hsc_shape *shape = &literals[p]->shape;
    buffers[p] =
        hsc__conform_upload(c, buffer_type_of(shape->type), shape->dims, (size_t)shape->rank,
                            literals[p]->data, (size_t)hsc_shape_bytes(shape));
    if (!buffers[p])
      goto done;
  }
  PJRT_Buffer *output = NULL;
  if (loaded && hsc__conform_execute(c, loaded, buffers, (size_t)count, &output, 1) &&
      hsc__conform_download(c, output, (size_t)expected->shape.rank, got->data,
                            (size_t)hsc_shape_bytes(&expected->shape)))
    compare(c, expected, got, program->ulps);
done:
  hsc_module_destroy(module);
  return status;
}

void hsc__conform_op(hsc_conform *c, int number) {
  op_program program;
  hsc_arena *arena = NULL;
  program_of(number, &program);
  hsc_status *status = hsc_arena_create(&arena);
  if (!status)
    status = c->topology_name ? compile_program(c, &program) : run_program(c, &program, arena);
  if (status)
    hsc__conform_fail(c, "the check itself failed: %s", hsc_status_message(status));
  hsc_status_free(status);
  // f64, 64-bit and narrow types are not everywhere
  bool is_rare =
      strstr(program.name, "64") || strstr(program.name, "f16") || strstr(program.name, "8");
  if (is_rare && c->outcome == HSC_CONFORM_FAIL && strstr(hsc_bytes_text(&c->seen), " failed: "))
    c->outcome = HSC_CONFORM_NOT_OFFERED;
  hsc_arena_destroy(arena);
  hsc_bytes_deinit(&program.text);
}
