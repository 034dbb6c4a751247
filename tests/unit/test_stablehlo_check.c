// What StableHLO's verifier refuses is refused with the reason and the place, and what is like it
// but good is taken.
#include "unit.h"

#include "formats/common/formats.h"

#define ADD(type) \
  "({^bb0(%a: tensor<" type ">, %b: tensor<" type ">): %s = stablehlo.add %a, %b : tensor<" type \
  "> \n stablehlo.return %s : tensor<" type ">})"
#define GROUPS(groups, type) "{replica_groups = dense<" groups "> : tensor<" type ">}"

// lhs [2,6,3] has batch 0 and contracting 2, rhs [2,4,3,5] has batch 0 and contracting 2.
#define RAGGED(ragged, group, rhs, sizes) \
  "%0 = \"stablehlo.ragged_dot\"(%l, %r, %s) {ragged_dot_dimension_numbers = " \
  "#stablehlo.ragged_dot<" \
  "lhs_batching_dimensions = [0], rhs_batching_dimensions = [0], lhs_contracting_dimensions = " \
  "[2], " \
  "rhs_contracting_dimensions = [2], lhs_ragged_dimensions = [" ragged \
  "], rhs_group_dimensions = " \
  "[" group "]>} : (tensor<2x6x3xf32>, tensor<" rhs "xf32>, tensor<" sizes \
  "xi64>) -> tensor<2x6x5xf32>"
#define RAGGED_ARGUMENTS(rhs, sizes) \
  "%l: tensor<2x6x3xf32>, %r: tensor<" rhs "xf32>, %s: tensor<" sizes "xi64>"
#define RAGGED_CASE(ragged, group, rhs, sizes, message) \
  {RAGGED_ARGUMENTS(rhs, sizes), RAGGED(ragged, group, rhs, sizes), message}

// An all_gather whose groups are axes of a mesh.
#define AXES_CASE(mesh, axes, message) \
  {"%x: tensor<16x8xf32>", \
   "%0 = \"stablehlo.all_gather\"(%x) {all_gather_dim = 1 : i64, replica_groups = " \
   "#stablehlo.replica_group_mesh_axes<mesh = " mesh ", axes = [" axes \
   "]>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 0>} : (tensor<16x8xf32>) " \
   "-> " \
   "tensor<16x16xf32>", \
   message}
#define AXIS(name) "#stablehlo.axis_ref<name = \"" name "\">"
#define PART(name, before, size) \
  "#stablehlo.axis_ref<name = \"" name "\", sub_axis_info = (" before ")" size ">"
#define MESH(size) "#stablehlo.mesh<axes=[<name = \"x\", size = " size ">]>"
#define DEVICES(ids) \
  "#stablehlo.mesh<axes=[<name = \"x\", size = 2>], device_ids=dense<[" ids "]> : tensor<2xi64>>"

static const struct {
  const char *arguments, *text, *message;  // message NULL = good
} cases[] = {
    {"%x: tensor<10xf32>",
     "%0 = \"stablehlo.all_reduce\"(%x) " ADD("f32") " " GROUPS(
         "[[0, 1], [2, 3]]", "2x2xi64") " : (tensor<10xf32>) -> tensor<10xf32>",
     NULL},
    {"%x: tensor<10xf32>",
     "%0 = \"stablehlo.all_reduce\"(%x) " ADD("f32") " " GROUPS(
         "[[0, 1], [2, -1]]", "2x2xi64") " : (tensor<10xf32>) -> tensor<10xf32>",
     NULL},
    {"%x: tensor<10xf32>",
     "%0 = \"stablehlo.all_reduce\"(%x) " ADD("f32") " " GROUPS(
         "[[0, 1], [1, 3]]", "2x2xi64") " : (tensor<10xf32>) -> tensor<10xf32>",
     "replica 1 twice"},
    {"%x: tensor<10xf32>",
     "%0 = \"stablehlo.all_reduce\"(%x) " ADD("f32") " " GROUPS(
         "[[0, 1, 3]]", "1x3xi64") " : (tensor<10xf32>) -> tensor<10xf32>",
     "leave out replica 2"},
    {"%x: tensor<10xf32>",
     "%0 = \"stablehlo.all_reduce\"(%x) " ADD("i32") " " GROUPS(
         "[[0]]", "1x1xi64") " : (tensor<10xf32>) -> tensor<10xf32>",
     "does not widen"},
    {"%x: tensor<8xf32>",
     "%0 = \"stablehlo.collective_permute\"(%x) {source_target_pairs = dense<[[0, 1], [1, 0]]> : "
     "tensor<2x2xi64>} : (tensor<8xf32>) -> tensor<8xf32>",
     NULL},
    {"%x: tensor<8xf32>",
     "%0 = \"stablehlo.collective_permute\"(%x) {source_target_pairs = dense<[[0, 1], [0, 2]]> : "
     "tensor<2x2xi64>} : (tensor<8xf32>) -> tensor<8xf32>",
     "replica 0 is a source twice"},
    {"%x: tensor<8xi8>, %i: tensor<i32>",
     "%0 = \"stablehlo.reduce\"(%x, %i) " ADD(
         "i32") " {dimensions = array<i64: 0>} : (tensor<8xi8>, tensor<i32>) -> tensor<i32>",
     NULL},
    {"%x: tensor<8xi32>, %i: tensor<i32>",
     "%0 = \"stablehlo.reduce\"(%x, %i) " ADD(
         "i8") " {dimensions = array<i64: 0>} : (tensor<8xi32>, tensor<i32>) -> tensor<i8>",
     "does not widen"},
    {"%p: tensor<i1>, %x: tensor<f32>",
     "%0 = \"stablehlo.if\"(%p) ({stablehlo.return %x : tensor<f32>}, {stablehlo.return %x : "
     "tensor<f32>}) : (tensor<i1>) -> tensor<f32>",
     NULL},
    {"%p: tensor<i1>, %x: tensor<f32>",
     "%0 = \"stablehlo.if\"(%p) ({^bb0(%y: tensor<f32>): stablehlo.return %x : tensor<f32>}, "
     "{stablehlo.return %x : tensor<f32>}) : (tensor<i1>) -> tensor<f32>",
     "branch 0 has 1 arguments"},
    {"%x: tensor<3xi32>",
     "%0 = \"stablehlo.broadcast\"(%x) {broadcast_sizes = array<i64: 2>} : (tensor<3xi32>) -> "
     "tensor<2x3xi32>",
     NULL},
    {"%x: tensor<3xi32>",
     "%0 = \"stablehlo.broadcast\"(%x) {broadcast_sizes = array<i64: 2>} : (tensor<3xi32>) -> "
     "tensor<1x2x3xi32>",
     "broadcast_sizes"},
    {"%x: tensor<2x3xf32>",
     "%0 = stablehlo.custom_call @foo(%x) {operand_layouts = [dense<[1, 0]> : tensor<2xindex>], "
     "result_layouts = [dense<[1, 0]> : tensor<2xindex>]} : (tensor<2x3xf32>) -> tensor<2x3xf32>",
     NULL},
    {"%x: tensor<2x3xf32>",
     "%0 = stablehlo.custom_call @foo(%x) {operand_layouts = [dense<[1, 0]> : tensor<2xindex>]} : "
     "(tensor<2x3xf32>) -> tensor<2x3xf32>",
     "layouts for its operands alone"},
    {"%x: tensor<2x3xf32>",
     "%0 = \"stablehlo.custom_call\"(%x) {call_target_name = \"foo\", output_operand_aliases = "
     "[#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 1, "
     "operand_tuple_indices = []>]} : (tensor<2x3xf32>) -> tensor<2x3xf32>",
     "names operand 1"},
    {"%x: tensor<4xf32>",
     "%c = stablehlo.constant dense<[2, 2]> : tensor<2xi64>\n %0 = stablehlo.dynamic_reshape %x, "
     "%c : (tensor<4xf32>, tensor<2xi64>) -> tensor<2x2xf32>",
     NULL},
    {"%x: tensor<4xf32>",
     "%c = stablehlo.constant dense<[2, 2]> : tensor<2xi64>\n %0 = stablehlo.dynamic_reshape %x, "
     "%c : (tensor<4xf32>, tensor<2xi64>) -> tensor<1x4xf32>",
     "its shape says 2 for dimension 0"},
    {"%x: tensor<1x1x4xi64>, %k: tensor<1x1x2xi64>",
     "%0 = stablehlo.convolution(%x, %k) dim_numbers = [b, f, 0]x[o, i, 0]->[b, f, 0], window = "
     "{stride = [1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : "
     "(tensor<1x1x4xi64>, tensor<1x1x2xi64>) -> tensor<1x1x3xi64>",
     NULL},
    {"%x: tensor<1x1x4xi64>, %k: tensor<1x1x2xi32>",
     "%0 = stablehlo.convolution(%x, %k) dim_numbers = [b, f, 0]x[o, i, 0]->[b, f, 0], window = "
     "{stride = [1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : "
     "(tensor<1x1x4xi64>, tensor<1x1x2xi32>) -> tensor<1x1x3xi64>",
     "both must be of one"},
    {"%x: tensor<2xf32>", "%0 = stablehlo.custom_call @Pin(%x) : (tensor<2xf32>) -> tensor<2xf32>",
     "gives a buffer"},
    AXES_CASE("@mesh", AXIS("x"), "there is no mesh 'mesh'"),
    AXES_CASE(MESH("2"), AXIS("x"), NULL),
    AXES_CASE(MESH("2"), AXIS("y"), "along axis 'y', which the mesh does not have"),
    AXES_CASE(MESH("2"), AXIS("x") ", " AXIS("x"), "name an axis twice"),
    AXES_CASE(MESH("8"), PART("x", "2", "2"), NULL),
    AXES_CASE(MESH("8"), PART("x", "3", "2"), "a part that an axis does not have"),
    AXES_CASE(MESH("0"), AXIS("x"), "an axis of a mesh of size 0"),
    AXES_CASE(MESH("131072"), AXIS("x"), "more than 65536 devices"),
    AXES_CASE(DEVICES("1, 0"), AXIS("x"), NULL),
    AXES_CASE(DEVICES("1, 1"), AXIS("x"), "names device 1 twice"),
    AXES_CASE(DEVICES("2, 0"), AXIS("x"), "has no device 2"),
    RAGGED_CASE("1", "1", "2x4x3x5", "4", NULL),
    RAGGED_CASE("1", "1", "2x4x3x5", "2x4", NULL),
    RAGGED_CASE("1, 0", "1", "2x4x3x5", "4", "2 ragged dimensions"),
    RAGGED_CASE("3", "1", "2x4x3x5", "4", "ragged dimension 3 is none of lhs"),
    RAGGED_CASE("1", "", "2x3x3x5", "4", "0 group dimensions; one of rhs is needed"),
    RAGGED_CASE("2", "1", "2x4x3x5", "4", "rhs has none when a batch or contracting"),
    RAGGED_CASE("0", "1", "2x4x3x5", "4", "rhs has none when a batch or contracting"),
    RAGGED_CASE("1", "4", "2x4x3x5", "4", "group dimension 4 is none of rhs"),
    RAGGED_CASE("1", "0", "2x4x3x5", "2", "a group and a batch dimension"),
    RAGGED_CASE("1", "2", "2x4x3x5", "3", "a group and a contracting dimension"),
    RAGGED_CASE("1", "1", "2x4x7x5", "4", "lhs[2]=3, rhs[2]=7"),
    RAGGED_CASE("1", "1", "2x4x3x5", "5", "rhs has 4 groups, the group sizes 5"),
    RAGGED_CASE("1", "1", "2x4x3x5", "2x2x4", "group sizes are of rank 3; 1 or 2"),
    RAGGED_CASE("1", "1", "2x4x3x5", "3x4", "dimension 0 of its group sizes is not that of lhs[0]"),
};

static void what_stablehlo_refuses_is_refused_by_reason(void **state) {
  for (size_t i = 0; i < HSC_COUNT_OF(cases); i++) {
    char text[2048];
    snprintf(text, sizeof text, "func.func @main(%s) {\n %s\n return\n}\n", cases[i].arguments,
             cases[i].text);
    hsc_module *module = NULL;
    hsc_status *status = hsc_program_read(hsc_view_of(text), "case.mlir", &module);
    const char *message = status ? hsc_status_message(status) : "";
    if (!cases[i].message != !status || (status && !strstr(message, cases[i].message)))
      fail_msg("case %zu: %s", i, status ? message : "it is taken");
    hsc_status_free(status);
    hsc_module_destroy(module);
  }
}

static const struct {
  const char *text, *message;
} texts[] = {
    {"x = f32[10,10]{1,0:D(X,C)} parameter(0)", "'X' is no way to store"},
    {"x = f32[10,10]{1,0:D(C)} parameter(0)", "1 dimensions"},
    {"x = f32[10,10]{1,0:D(D,C)T(128,8)} parameter(0)", "no tiles"},
    {"x = f32[10,10]{1,0:T(128,8)P(f32[10,10])} parameter(0)", "physical shape"},
    {"x = f32[10,10]{1,0:T(8,128)} parameter(0)", NULL},
    {"p = f32[] parameter(0)\n ROOT x = f32[] exponential(p), result_accuracy={mode=high}",
     "an accuracy is"},
    {"p = f32[] parameter(0)\n ROOT x = f32[] exponential(p), result_accuracy={tolerance={foo=1}}",
     "an accuracy is"},
    {"p = f32[] parameter(0)\n ROOT x = f32[] exponential(p), "
     "result_accuracy={tolerance={atol=0.5, rtol=0, ulps=2}}",
     NULL},
    {"p = f32[] parameter(0)\n ROOT x = f32[] add(p, p), to_apply=main", "no attribute 'to_apply'"},
    {"p = f32[10] parameter(0)\n s = ((f32[10]), f32[20], s32[]) custom-call-start(p), "
     "custom_call_target=\"foo\"\n ROOT d = f32[20] add-done(s)",
     "started 'custom-call'"},
    {"p = f32[10] parameter(0)\n s = ((f32[10]), f32[20], s32[]) custom-call-start(p), "
     "custom_call_target=\"foo\"\n ROOT d = f32[20] custom-call-done(s), "
     "async_execution_thread=\"x\"",
     "another thread than 'main'"},
    {"p = f32[10] parameter(0)\n s = ((f32[10]), f32[20], s32[]) custom-call-start(p), "
     "custom_call_target=\"foo\"\n ROOT d = f32[20] custom-call-done(s)",
     NULL},
    {"p = f32[2] parameter(0)\n ROOT x = negate(p), origin={{\"x\"}}", "the shape must be given"},
    {"p = f32[2] parameter(0)\n ROOT x = f32[2] negate(p), origin={{\"x\"}}", NULL},
    {"p = f32[2] parameter(0)\n b = pred[] parameter(1)\n ROOT x = f32[2] conditional(b, p, p), "
     "branch_computations={{\n ROOT q = f32[2] parameter(0)\n}, {\n ROOT r = f32[2] "
     "parameter(0)\n}}",
     "goes with an index"},
    {"p = f32[1] parameter(0)\n ROOT x = f32[1] custom-call(p), custom_call_target=\"foo\", "
     "api_version=API_VERSION_UNSPECIFIED",
     "says nothing"},
};

static void what_hlo_text_refuses_is_refused_by_reason(void **state) {
  for (size_t i = 0; i < HSC_COUNT_OF(texts); i++) {
    char text[1024];
    snprintf(text, sizeof text, "HloModule m\nENTRY main {\n %s\n}\n", texts[i].text);
    hsc_module *module = NULL;
    hsc_status *status = hsc_program_read(hsc_view_of(text), "case.hlo", &module);
    const char *message = status ? hsc_status_message(status) : "";
    if (!texts[i].message != !status || (status && !strstr(message, texts[i].message)))
      fail_msg("case %zu: %s", i, status ? message : "it is taken");
    hsc_status_free(status);
    hsc_module_destroy(module);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(what_stablehlo_refuses_is_refused_by_reason),
      cmocka_unit_test(what_hlo_text_refuses_is_refused_by_reason),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
