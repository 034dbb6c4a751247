// A program with symbolic dimensions, given sizes, is the static program of those sizes; sizes that
// are missing, that nobody asks for, or that the program's own checks refuse are said by name.
#include "unit.h"

#include "formats/common/formats.h"

#define SPECS(specs) \
  "Expected value >= 1 for dimension variable 'b'. Using the following polymorphic shapes " \
  "specifications: " specs ". Obtained dimension variables: 'b' = {0}"
#define ASSERT_POSITIVE(size, specs) \
  "%one = stablehlo.constant dense<1> : tensor<i32>\n" \
  "%ok = stablehlo.compare GE, " size \
  ", %one, SIGNED : (tensor<i32>, tensor<i32>) -> " \
  "tensor<i1>\n" \
  "stablehlo.custom_call @shape_assertion(%ok, " size \
  ") {api_version = 2 : i32, error_message = " \
  "\"" SPECS(specs) "\", has_side_effect = true} : (tensor<i1>, tensor<i32>) -> ()\n"
#define SIZE_OF(array, dim, type) \
  "stablehlo.get_dimension_size " array ", dim = " dim " : (tensor<" type ">) -> tensor<i32>\n"

typedef struct refine_case {
  const char *sizes;   // "b=2,t=3"
  const char *expect;  // the entry's shapes, or a part of the message
  const char *text;
} refine_case;

// NAME=N,NAME=N into `list`; gives how many.
static int parse_sizes(const char *text, char *words, size_t room, hsc_dim_size *list) {
  int count = 0;
  snprintf(words, room, "%s", text);
  for (char *at = words; *at;) {
    char *equals = strchr(at, '=');
    char *end = strchr(equals, ',');
    *equals = 0;
    list[count++] = (hsc_dim_size){at, atoll(equals + 1)};
    at = end ? end + 1 : equals + 1 + strlen(equals + 1);
  }
  return count;
}

static hsc_status *read_case(const refine_case *row, hsc_module **out_module) {
  char words[128];
  hsc_dim_size sizes[8];
  int count = parse_sizes(row->sizes, words, sizeof words, sizes);
  return hsc_program_read_sized(hsc_view_of(row->text), NULL, sizes, count, out_module);
}

// "(f32[2,3])->f32[6]" of the entry.
static void entry_text(const hsc_module *module, hsc_bytes *out) {
  hsc_bytes_append_char(out, '(');
  for (int i = 0; i < module->entry->parameter_count; i++) {
    hsc_bytes_append_text(out, i ? "," : "");
    hsc_shape_print(&module->entry->parameters[i]->shape, false, out);
  }
  hsc_bytes_append_text(out, ")->");
  hsc_shape_print(&module->entry->root->shape, false, out);
}

// Dimensions by their names, by expressions of names, by their places.
static const refine_case good[] = {
    {"b=3", "(f32[3,4])->f32[3,4]",
     "func.func @main(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {\n"
     "%b = " SIZE_OF("%x", "0", "?x4xf32") ASSERT_POSITIVE(
         "%b", "args[0].shape = (b, 4)") "%y = stablehlo.tanh %x : tensor<?x4xf32>\nreturn %y : "
                                         "tensor<?x4xf32> }"},
    {"0.0=3", "(f32[3,4])->f32[3,4]",
     "func.func @main(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {\n"
     "%b = " SIZE_OF("%x", "0", "?x4xf32") ASSERT_POSITIVE(
         "%b", "args[0].shape = (b, 4)") "%y = stablehlo.tanh %x : tensor<?x4xf32>\nreturn %y : "
                                         "tensor<?x4xf32> }"},
    {"0.0=3,1.1=5", "(f32[3],f32[2,5])->(f32[3], f32[2,5])",
     "func.func @main(%x: tensor<?xf32>, %y: tensor<2x?xf32>) -> (tensor<?xf32>, tensor<2x?xf32>) "
     "{ return %x, %y : tensor<?xf32>, tensor<2x?xf32> }"},
    // an argument that the program dropped keeps its specification in the message
    {"a=6,b=2", "(f32[2,13],f32[5,3])->(f32[2,13], f32[5,3])",
     "func.func @main(%x: tensor<?x?xf32>, %y: tensor<?x3xf32>) -> (tensor<?x?xf32>, "
     "tensor<?x3xf32>) {\n%b = " SIZE_OF("%x", "0", "?x?xf32") ASSERT_POSITIVE(
         "%b",
         "args[0].shape = (a,),args[1].shape = (floordiv(a, 3), 2*a + 1),"
         "args[2]['w'].shape = (max(a - 1, b^2), 3)") "return %x, %y : tensor<?x?xf32>, "
                                                      "tensor<?x3xf32> }"},
    // shapes from sizes: broadcast, iota, reshape, pad, slice, and what follows from operands
    {"b=3", "(f32[3])->f32[3,5]",
     "func.func @main(%x: tensor<?xf32>) -> tensor<?x?xf32> {\n"
     "%b = " SIZE_OF("%x", "0", "?xf32") ASSERT_POSITIVE(
         "%b",
         "args[0].shape = (b,)") "%two = stablehlo.constant dense<2> : tensor<i32>\n"
                                 "%c = stablehlo.add %b, %two : tensor<i32>\n"
                                 "%b1 = stablehlo.reshape %b : (tensor<i32>) -> tensor<1xi32>\n"
                                 "%c1 = stablehlo.reshape %c : (tensor<i32>) -> tensor<1xi32>\n"
                                 "%s = stablehlo.concatenate %b1, %c1, dim = 0 : (tensor<1xi32>, "
                                 "tensor<1xi32>) -> "
                                 "tensor<2xi32>\n"
                                 "%y = stablehlo.dynamic_broadcast_in_dim %x, %s, dims = [0] : "
                                 "(tensor<?xf32>, tensor<2xi32>) "
                                 "-> tensor<?x?xf32>\n"
                                 "%i = stablehlo.dynamic_iota %s, dim = 1 : (tensor<2xi32>) -> "
                                 "tensor<?x?xf32>\n"
                                 "%z = stablehlo.add %y, %i : tensor<?x?xf32>\nreturn %z : "
                                 "tensor<?x?xf32> }"},
    {"b=3", "(f32[3,4])->f32[12]",
     "func.func @main(%x: tensor<?x4xf32>) -> tensor<?xf32> {\n"
     "%b = " SIZE_OF("%x", "0", "?x4xf32") ASSERT_POSITIVE(
         "%b",
         "args[0].shape = (b, 4)") "%four = stablehlo.constant dense<4> : tensor<i32>\n"
                                   "%n = stablehlo.multiply %b, %four : tensor<i32>\n"
                                   "%s = stablehlo.reshape %n : (tensor<i32>) -> tensor<1xi32>\n"
                                   "%y = stablehlo.dynamic_reshape %x, %s : (tensor<?x4xf32>, "
                                   "tensor<1xi32>) -> tensor<?xf32>\n"
                                   "return %y : tensor<?xf32> }"},
    {"b=5", "(f32[5],s32[])->f32[3]",
     "func.func @main(%x: tensor<?xf32>, %i: tensor<i32>) -> tensor<?xf32> {\n"
     "%b = " SIZE_OF("%x", "0", "?xf32") ASSERT_POSITIVE(
         "%b",
         "args[0].shape = (b,)") "%two = stablehlo.constant dense<2> : tensor<i32>\n"
                                 "%n = stablehlo.subtract %b, %two : tensor<i32>\n"
                                 "%n1 = stablehlo.reshape %n : (tensor<i32>) -> tensor<1xi32>\n"
                                 "%i1 = stablehlo.reshape %i : (tensor<i32>) -> tensor<1xi32>\n"
                                 "%e = stablehlo.add %i1, %n1 : tensor<1xi32>\n"
                                 "%ones = stablehlo.constant dense<1> : tensor<1xi32>\n"
                                 "%y = stablehlo.real_dynamic_slice %x, %i1, %e, %ones : "
                                 "(tensor<?xf32>, tensor<1xi32>, "
                                 "tensor<1xi32>, tensor<1xi32>) -> tensor<?xf32>\nreturn %y : "
                                 "tensor<?xf32> }"},
    // a function that is called with two sizes
    {"b=2,t=7", "(f32[2],f32[7])->(f32[2], f32[7])",
     "module { func.func @main(%x: tensor<?xf32>, %y: tensor<?xf32>) -> (tensor<?xf32>, "
     "tensor<?xf32>) {\n%b = " SIZE_OF("%x", "0", "?xf32") "%t = " SIZE_OF("%y", "0", "?xf32")
         ASSERT_POSITIVE(
             "%b",
             "args[0].shape = (b,),args[1].shape = (t,)") "%u = call @f(%b, %x) : (tensor<i32>, "
                                                          "tensor<?xf32>) -> tensor<?xf32>\n"
                                                          "%v = call @f(%t, %y) : (tensor<i32>, "
                                                          "tensor<?xf32>) -> tensor<?xf32>\n"
                                                          "return %u, %v : tensor<?xf32>, "
                                                          "tensor<?xf32> }\n"
                                                          "func.func private @f(%n: tensor<i32>, "
                                                          "%x: tensor<?xf32>) -> tensor<?xf32> {\n"
                                                          "%c = stablehlo.constant dense<2.0> : "
                                                          "tensor<f32>\n"
                                                          "%s = stablehlo.reshape %n : "
                                                          "(tensor<i32>) -> tensor<1xi32>\n"
                                                          "%d = stablehlo.dynamic_broadcast_in_dim "
                                                          "%c, %s, dims = [] : (tensor<f32>, "
                                                          "tensor<1xi32>) -> "
                                                          "tensor<?xf32>\n%y = stablehlo.multiply "
                                                          "%x, %d : tensor<?xf32>\nreturn %y : "
                                                          "tensor<?xf32> } }"},
    // a loop whose bound and whose shapes are a size from outside of it
    {"b=4", "(f32[4])->f32[4]",
     "func.func @main(%x: tensor<?xf32>) -> tensor<?xf32> {\n"
     "%b = " SIZE_OF("%x", "0", "?xf32") ASSERT_POSITIVE(
         "%b",
         "args[0].shape = (b,)") "%zero = stablehlo.constant dense<0> : tensor<i32>\n"
                                 "%r:2 = stablehlo.while(%i = %zero, %a = %x) : tensor<i32>, "
                                 "tensor<?xf32>\ncond {\n"
                                 "%more = stablehlo.compare LT, %i, %b, SIGNED : (tensor<i32>, "
                                 "tensor<i32>) -> tensor<i1>\n"
                                 "stablehlo.return %more : tensor<i1>\n} do {\n"
                                 "%s = stablehlo.reshape %b : (tensor<i32>) -> tensor<1xi32>\n"
                                 "%k = stablehlo.dynamic_iota %s, dim = 0 : (tensor<1xi32>) -> "
                                 "tensor<?xf32>\n"
                                 "%a2 = stablehlo.add %a, %k : tensor<?xf32>\n"
                                 "%i2 = stablehlo.add %i, %one : tensor<i32>\n"
                                 "stablehlo.return %i2, %a2 : tensor<i32>, tensor<?xf32>\n}\n"
                                 "return %r#1 : tensor<?xf32> }"},
    // StableHLO's custom calls for operations whose attributes are operands
    {"b=5", "(f32[2,5])->(f32[2,4], s32[2,4])",
     "func.func @main(%x: tensor<2x?xf32>) -> (tensor<2x?xf32>, tensor<2x?xi32>) {\n"
     "%b = " SIZE_OF("%x", "1", "2x?xf32") ASSERT_POSITIVE(
         "%b",
         "args[0].shape = (2, b)") "%k = stablehlo.subtract %b, %one : tensor<i32>\n"
                                   "%y:2 = stablehlo.custom_call @stablehlo.dynamic_top_k(%x, %k) "
                                   "{api_version = 2 : i32} : "
                                   "(tensor<2x?xf32>, tensor<i32>) -> (tensor<2x?xf32>, "
                                   "tensor<2x?xi32>)\n"
                                   "return %y#0, %y#1 : tensor<2x?xf32>, tensor<2x?xi32> }"},
    {"b=5", "(f32[5],u64[2])->u32[5]",
     "func.func @main(%x: tensor<?xf32>, %key: tensor<2xui64>) -> tensor<?xui32> {\n"
     "%b = " SIZE_OF("%x", "0", "?xf32") ASSERT_POSITIVE(
         "%b",
         "args[0].shape = (b,)") "%s = stablehlo.reshape %b : (tensor<i32>) -> tensor<1xi32>\n"
                                 "%y:2 = stablehlo.custom_call "
                                 "@stablehlo.dynamic_rng_bit_generator(%key, %s) {api_version = 2 "
                                 ": i32, rng_algorithm = #stablehlo<rng_algorithm THREE_FRY>} : "
                                 "(tensor<2xui64>, "
                                 "tensor<1xi32>) -> (tensor<2xui64>, tensor<?xui32>)\nreturn %y#1 "
                                 ": tensor<?xui32> }"},
    {"b=5", "(f32[5])->f32[5]",
     "module { func.func @main(%x: tensor<?xf32>) -> tensor<?xf32> {\n"
     "%b = " SIZE_OF("%x", "0", "?xf32") ASSERT_POSITIVE(
         "%b",
         "args[0].shape = (b,)") "%zero = stablehlo.constant dense<0.0> : tensor<f32>\n"
                                 "%w = stablehlo.reshape %b : (tensor<i32>) -> tensor<1xi32>\n"
                                 "%ones = stablehlo.constant dense<1> : tensor<1xi32>\n"
                                 "%l = stablehlo.subtract %w, %ones : tensor<1xi32>\n"
                                 "%n = stablehlo.constant dense<0> : tensor<1xi32>\n"
                                 "%p = stablehlo.concatenate %l, %n, dim = 0 : (tensor<1xi32>, "
                                 "tensor<1xi32>) -> tensor<2xi32>\n"
                                 "%q = stablehlo.reshape %p : (tensor<2xi32>) -> tensor<1x2xi32>\n"
                                 "%y = stablehlo.custom_call @stablehlo.dynamic_reduce_window(%x, "
                                 "%zero, %w, %ones, %ones, "
                                 "%ones, %q) {api_version = 2 : i32, called_computations = [@add]} "
                                 ": (tensor<?xf32>, "
                                 "tensor<f32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>, "
                                 "tensor<1xi32>, tensor<1x2xi32>) -> "
                                 "tensor<?xf32>\nreturn %y : tensor<?xf32> }\n"
                                 "func.func private @add(%a: tensor<f32>, %b: tensor<f32>) -> "
                                 "tensor<f32> {\n"
                                 "%c = stablehlo.add %a, %b : tensor<f32>\nreturn %c : tensor<f32> "
                                 "} }"},
    // a call of a library: layouts of operands that only say sizes go with them
    {"b=3", "(f32[3,3])->f32[3,3]",
     "func.func @main(%x: tensor<?x?xf32>) -> tensor<?x?xf32> {\n"
     "%b = " SIZE_OF("%x", "0", "?x?xf32") ASSERT_POSITIVE(
         "%b",
         "args[0].shape = (b, b)") "%w = stablehlo.reshape %b : (tensor<i32>) -> tensor<1xi32>\n"
                                   "%s = stablehlo.concatenate %w, %w, dim = 0 : (tensor<1xi32>, "
                                   "tensor<1xi32>) -> tensor<2xi32>\n"
                                   "%y = stablehlo.custom_call @lapack_spotrf_ffi(%x, %s) "
                                   "{api_version = 4 : i32, "
                                   "indices_of_shape_operands = dense<1> : tensor<1xi64>, "
                                   "operand_layouts = [dense<[0, 1]> : tensor<2xindex>, "
                                   "dense<0> : tensor<1xindex>], "
                                   "result_layouts = [dense<[0, 1]> : tensor<2xindex>]} : "
                                   "(tensor<?x?xf32>, tensor<2xi32>) -> tensor<?x?xf32>\n"
                                   "return %y : tensor<?x?xf32> }"},
    // all arguments known: sizes inside follow without being given
    {"", "(f32[3])->f32[3]",
     "func.func @main(%x: tensor<3xf32>) -> tensor<?xf32> {\n%b = " SIZE_OF(
         "%x",
         "0",
         "3xf32") "%s = stablehlo.reshape %b : (tensor<i32>) -> tensor<1xi32>\n"
                  "%y = stablehlo.dynamic_iota %s, dim = 0 : (tensor<1xi32>) -> tensor<?xf32>\n"
                  "return %y : tensor<?xf32> }"},
};

static void sizes_make_the_static_program(void **state) {
  for (size_t i = 0; i < HSC_COUNT_OF(good); i++) {
    hsc_module *module = NULL;
    hsc_bytes text = {0};
    EXPECT_OK(read_case(&good[i], &module));
    entry_text(module, &text);
    assert_string_equal(hsc_bytes_text(&text), good[i].expect);
    hsc_bytes_deinit(&text);
    hsc_module_destroy(module);
  }
}

#define ONE_DIM "func.func @main(%x: tensor<?xf32>) -> tensor<?xf32> {\n"
static const refine_case bad[] = {
    {"", "dimensions without a size: b, t",
     "func.func @main(%x: tensor<?x?xf32>) -> tensor<?x?xf32> {\n"
     "%b = " SIZE_OF("%x", "0", "?x?xf32")
         ASSERT_POSITIVE("%b", "args[0].shape = (b, t)") "return %x : tensor<?x?xf32> }"},
    {"b=1", "dimension without a size: t",
     "func.func @main(%x: tensor<?x?xf32>) -> tensor<?x?xf32> {\n"
     "%b = " SIZE_OF("%x", "0", "?x?xf32")
         ASSERT_POSITIVE("%b", "args[0].shape = (b, t + b)") "return %x : tensor<?x?xf32> }"},
    {"", "dimension without a size: 0.0", ONE_DIM "return %x : tensor<?xf32> }"},
    {"0.0=2,c=3", "there is no symbolic dimension c; argument.dimension: 0.0",
     ONE_DIM "return %x : tensor<?xf32> }"},
    {"b=3", "all dimensions have sizes already: there is no symbolic dimension b",
     "func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> { return %x : tensor<2xf32> }"},
    {"b=0", "Expected value >= 1 for dimension variable 'b'",
     ONE_DIM "%b = " SIZE_OF("%x", "0", "?xf32")
         ASSERT_POSITIVE("%b", "args[0].shape = (b,)") "return %x : tensor<?xf32> }"},
    {"b=2", "is b - 3, which is -1 with these sizes",
     ONE_DIM "%b = " SIZE_OF("%x", "0", "?xf32")
         ASSERT_POSITIVE("%b", "args[0].shape = (b - 3,)") "return %x : tensor<?xf32> }"},
    {"b=2", "is sin(b), which is not understood here: give its size by its place, 0.0=N",
     ONE_DIM "%b = " SIZE_OF("%x", "0", "?xf32")
         ASSERT_POSITIVE("%b", "args[0].shape = (sin(b),)") "return %x : tensor<?xf32> }"},
    {"b=9223372036854775807", "larger than 2^63 bytes",
     ONE_DIM "%b = " SIZE_OF("%x", "0", "?xf32")
         ASSERT_POSITIVE("%b", "args[0].shape = (b,)") "return %x : tensor<?xf32> }"},
    // a size that is computed from data
    {"b=3", "a size that depends on what is computed",
     "func.func @main(%x: tensor<?xf32>, %n: tensor<1xi32>) -> tensor<?xf32> {\n"
     "%b = " SIZE_OF("%x", "0", "?xf32")
         ASSERT_POSITIVE("%b", "args[0].shape = (b,)") "%y = stablehlo.dynamic_iota %n, dim = 0 : "
                                                       "(tensor<1xi32>) -> tensor<?xf32>\n"
                                                       "return %y : tensor<?xf32> }"},
    // arguments that say one size and have two
    {"0.0=2,1.0=3", "operands differ",
     "func.func @main(%x: tensor<?xf32>, %y: tensor<?xf32>) -> tensor<?xf32> {\n"
     "%z = stablehlo.add %x, %y : tensor<?xf32>\nreturn %z : tensor<?xf32> }"},
};

static void what_is_wrong_with_sizes_is_said(void **state) {
  for (size_t i = 0; i < HSC_COUNT_OF(bad); i++) {
    hsc_module *module = NULL;
    hsc_status *status = read_case(&bad[i], &module);
    assert_non_null(status);
    assert_null(module);
    if (!strstr(hsc_status_message(status), bad[i].expect))
      fail_msg("case %zu: %s", i, hsc_status_message(status));
    hsc_status_free(status);
  }
}

static void a_size_that_is_missing_has_a_hint_to_paste(void **state) {
  hsc_module *module = NULL;
  hsc_status *status = read_case(&bad[0], &module);
  assert_int_equal(hsc_status_code(status), HSC_FAILED_PRECONDITION);
  assert_non_null(strstr(hsc_status_hint_text(status), "--dim b=8,t=8"));
  hsc_status_free(status);
}

// Each allocation fails once: an error, no leak, no crash.
static void memory_that_runs_out_is_an_error(void **state) {
  for (int64_t n = 0; n < 4000; n += 7) {
    hsc_module *module = NULL;
    hsc_alloc_fail_after(n);
    hsc_status *status = read_case(&good[4], &module);
    hsc_alloc_fail_after(0);
    bool done = !status;
    hsc_status_free(status);
    hsc_module_destroy(module);
    if (done)
      return;
  }
  fail_msg("it never has enough memory");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(sizes_make_the_static_program),
      cmocka_unit_test(what_is_wrong_with_sizes_is_said),
      cmocka_unit_test(a_size_that_is_missing_has_a_hint_to_paste),
      cmocka_unit_test(memory_that_runs_out_is_an_error),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
