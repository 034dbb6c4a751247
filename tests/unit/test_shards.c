// test_shards.c - programs for several partitions: how many, which mesh, which collectives.
#include "formats/common/formats.h"
#include "lab/shards/collectives.h"
#include "unit.h"

static hsc_program_spread spread_of(hsc_arena *arena, const char *text) {
  hsc_program_spread spread;
  EXPECT_OK(hsc_program_spread_read(hsc_view_of(text), NULL, arena, &spread));
  return spread;
}

static void partitions_come_from_attributes_meshes_and_shardings(void **state) {
  (void)state;
  hsc_arena *arena = NULL;
  EXPECT_OK(hsc_arena_create(&arena));
  hsc_program_spread s = spread_of(
      arena,
      "module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {\n"
      "  sdy.mesh @mesh = <[\"x\"=2, \"y\"=2]>\n"
      "  func.func public @main(%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{\"x\"}]>})"
      " -> tensor<8xf32> { return %a : tensor<8xf32> }\n}\n");
  assert_int_equal(s.partition_count, 4);
  assert_int_equal(s.axis_count, 2);
  assert_string_equal(s.axis_names[1], "y");
  assert_true(s.is_shardy);
  s = spread_of(arena,
                "module {\n  sdy.mesh @mesh = <[\"x\"=3]>\n"
                "  func.func public @main(%a: tensor<9xf32>) -> tensor<9xf32> {"
                " return %a : tensor<9xf32> }\n}\n");
  assert_int_equal(s.partition_count, 3);
  assert_string_equal(s.partitions_from, "sdy.mesh");
  s = spread_of(arena,
                "module {\n  func.func public @main(%a: tensor<8x8xf32> "
                "{mhlo.sharding = \"{devices=[2,4]<=[8]}\"}) -> tensor<8x8xf32> {"
                " return %a : tensor<8x8xf32> }\n}\n");
  assert_int_equal(s.partition_count, 8);
  assert_int_equal(s.axis_count, 2);
  assert_int_equal(s.axis_sizes[1], 4);
  assert_null(s.axis_names[0]);
  assert_false(s.is_shardy);
  // 4 tiles of 2 rows each in another order than the devices: the mesh is 2 x 4
  s = spread_of(arena,
                "module {\n  func.func public @main(%a: tensor<8x8xf32> "
                "{mhlo.sharding = \"{devices=[4,2]<=[2,4]T(1,0)}\"}) -> tensor<8x8xf32> {"
                " return %a : tensor<8x8xf32> }\n}\n");
  assert_int_equal(s.axis_count, 2);
  assert_int_equal(s.axis_sizes[0], 2);
  assert_int_equal(s.axis_sizes[1], 4);
  assert_null(s.mesh_devices);
  // two shardings of 4 x 2 and 2 x 4 are of 2 x 2 x 2; devices in an order of their own keep it
  s = spread_of(arena,
                "module {\n  func.func public @main(%a: tensor<8x8xf32> "
                "{mhlo.sharding = \"{devices=[4,2]<=[8]}\"}, %b: tensor<8x8xf32> "
                "{mhlo.sharding = \"{devices=[2,4]<=[8]}\"}) -> tensor<8x8xf32> {"
                " return %a : tensor<8x8xf32> }\n}\n");
  assert_int_equal(s.axis_count, 3);
  assert_int_equal(s.axis_sizes[2], 2);
  s = spread_of(arena,
                "module {\n  func.func public @main(%a: tensor<8x8xf32> "
                "{mhlo.sharding = \"{devices=[2,2]3,2,1,0}\"}) -> tensor<8x8xf32> {"
                " return %a : tensor<8x8xf32> }\n}\n");
  assert_int_equal(s.axis_count, 2);
  assert_int_equal(s.mesh_devices[0], 3);
  s = spread_of(
      arena, "HloModule m, num_partitions=2\n\nENTRY e {\n  ROOT p = f32[4]{0} parameter(0)\n}\n");
  assert_int_equal(s.partition_count, 2);
  assert_int_equal(s.axis_count, 0);
  s = spread_of(arena, "HloModule m\n\nENTRY e {\n  ROOT p = f32[4]{0} parameter(0)\n}\n");
  assert_int_equal(s.partition_count * s.replica_count, 1);
  hsc_arena_destroy(arena);
}

// As JAX has it: what is said of nothing, or leaves a dimension open, is cut as the compiler likes.
static void what_nothing_is_said_of_is_free(void **state) {
  (void)state;
  hsc_arena *arena = NULL;
  EXPECT_OK(hsc_arena_create(&arena));
  hsc_program_spread s = spread_of(
      arena,
      "module attributes {mhlo.num_partitions = 2 : i32} {\n  sdy.mesh @mesh = <[\"x\"=2]>\n"
      "  func.func public @main(%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{\"x\"}]>},"
      " %b: tensor<8xf32>) -> (tensor<8xf32> {jax.result_info = \"r\"}, tensor<8xf32> "
      "{sdy.sharding = #sdy.sharding<@mesh, [{}]>}, tensor<8xf32> {sdy.sharding = "
      "#sdy.sharding<@mesh, [{?}]>}) { return %a, %b, %b : tensor<8xf32>, tensor<8xf32>, "
      "tensor<8xf32> }\n}\n");
  const int64_t parameters[] = {0, 1};
  const int64_t results[] = {1, 0, 1};
  assert_int_equal(s.free_parameter_count, 2);
  assert_memory_equal(s.free_parameters, parameters, sizeof parameters);
  assert_int_equal(s.free_result_count, 3);
  assert_memory_equal(s.free_results, results, sizeof results);
  s = spread_of(arena,
                "module {\n  func.func public @main(%a: tensor<8xf32> {mhlo.sharding = "
                "\"{devices=[2]<=[2]}\"}) -> tensor<8xf32> { return %a : tensor<8xf32> }\n}\n");
  assert_int_equal(s.free_parameter_count, 0);
  assert_int_equal(s.free_result_count, 1);
  hsc_arena_destroy(arena);
}

// ---- manual computations, shardings in XLA's form -----------------------------------------------

static int count_of(const hsc_module *module, hsc_op op) {
  int count = 0;
  HSC_FOR_EACH_COMPUTATION (module, computation)
    HSC_FOR_EACH_INSTR_IN (computation, instr)
      count += instr->op == op;
  return count;
}

// An argument cut along "d" goes whole into a manual computation, is another value on each device
// there, and is summed: that sum is each device's own. Its arguments have locations, as JAX prints
// them.
static const char MANUAL[] =
    "module attributes {mhlo.num_partitions = 4 : i32} {\n"
    "  sdy.mesh @mesh = <[\"d\"=2, \"m\"=2]>\n"
    "  func.func public @main(%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{\"d\"}]>})"
    " -> tensor<2xf32> {\n"
    "    %r = sdy.manual_computation(%a) in_shardings=[<@mesh, [{}]>]"
    " out_shardings=[<@mesh, [{\"d\"}]>] manual_axes={\"d\", \"m\"} (%x: tensor<8xf32>"
    " loc(\"x.py\":1:2)) {\n"
    "      %p = stablehlo.partition_id : tensor<ui32>\n"
    "      %f = stablehlo.convert %p : (tensor<ui32>) -> tensor<f32>\n"
    "      %b = stablehlo.broadcast_in_dim %f, dims = [] : (tensor<f32>) -> tensor<8xf32>\n"
    "      %y = stablehlo.multiply %x, %b : tensor<8xf32>\n"
    "      %z = stablehlo.constant dense<0.0> : tensor<f32>\n"
    "      %s = stablehlo.reduce(%y init: %z) applies stablehlo.add across dimensions = [0]"
    " : (tensor<8xf32>, tensor<f32>) -> tensor<f32>\n"
    "      %t = stablehlo.reshape %s : (tensor<f32>) -> tensor<1xf32>\n"
    "      sdy.return %t : tensor<1xf32>\n"
    "    } : (tensor<8xf32>) -> tensor<2xf32>\n"
    "    return %r : tensor<2xf32>\n  }\n}\n";

static void values_of_manual_computations_are_each_devices_own(void **state) {
  (void)state;
  hsc_module *module = NULL;
  EXPECT_OK(hsc_program_read(hsc_view_of(MANUAL), NULL, &module));
  assert_int_equal(count_of(module, HSC_OP_ALL_REDUCE), 0);
  assert_int_equal(count_of(module, HSC_OP_ALL_GATHER), 1);
  assert_int_equal(count_of(module, HSC_OP_COPY), 0);
  hsc_module_destroy(module);
  hsc_status *status = hsc_program_read_for(hsc_view_of(MANUAL), NULL, 1, &module);
  assert_int_equal(hsc_status_code(status), HSC_FAILED_PRECONDITION);
  assert_non_null(strstr(hsc_status_message(status), "names its pieces itself"));
  hsc_status_free(status);
}

// A part along "d" that comes back as the part along "m": an argument with the result's sharding.
static void an_argument_of_a_manual_computation_comes_back(void **state) {
  (void)state;
  hsc_module *module = NULL;
  EXPECT_OK(hsc_program_read(
      hsc_view_of(
          "module attributes {mhlo.num_partitions = 4 : i32} {\n"
          "  sdy.mesh @mesh = <[\"d\"=2, \"m\"=2]>\n"
          "  func.func public @main(%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, "
          "[{\"d\"}]>}) -> (tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{\"m\"}]>}) {\n"
          "    %r = sdy.manual_computation(%a) in_shardings=[<@mesh, [{\"d\"}]>]"
          " out_shardings=[<@mesh, [{\"m\"}]>] manual_axes={\"d\", \"m\"} (%x: tensor<4xf32>) {\n"
          "      sdy.return %x : tensor<4xf32>\n    } : (tensor<8xf32>) -> tensor<8xf32>\n"
          "    return %r : tensor<8xf32>\n  }\n}\n"),
      NULL, &module));
  assert_int_equal(module->entry->root->op, HSC_OP_COPY);
  assert_string_equal(module->entry->root->sharding,
                      "{devices=[2,2]0,2,1,3 last_tile_dim_replicate}");
  hsc_module_destroy(module);
}

#define XLA_PROGRAM(in, between, out) \
  "module attributes {mhlo.num_partitions = 6 : i32} {\n  func.func public @main(%a: " \
  "tensor<6x12xf32> {mhlo.sharding = \"" in "\"}) -> (tensor<6x12xf32> {mhlo.sharding = \"" out \
  "\"}) {\n    %e = stablehlo.exponential %a : tensor<6x12xf32>\n" \
  "    %s = stablehlo.custom_call @Sharding(%e) {backend_config = \"\", mhlo.sharding = " \
  "\"" between \
  "\"} : (tensor<6x12xf32>) -> tensor<6x12xf32>\n    return %s : tensor<6x12xf32>\n  }\n}\n"

// For six devices 2 x 3 and 3 x 2 are different meshes, and only one has both shardings as axes.
static void shardings_in_xlas_form_are_axes_of_a_mesh(void **state) {
  (void)state;
  static const struct {
    const char *text;
    int64_t rows, columns;
    int gathers;
  } cases[] = {
      {XLA_PROGRAM("{devices=[2,3]<=[6]}", "{devices=[2,3]<=[6]}", "{devices=[2,3]<=[6]}"), 3, 4,
       0},
      {XLA_PROGRAM("{devices=[3,2]<=[6]}", "{devices=[3,1,2]<=[6] last_tile_dim_replicate}",
                   "{devices=[3,2]<=[6]}"),
       2, 6, 0},
      {XLA_PROGRAM("{devices=[3,2]<=[2,3]T(1,0)}", "{devices=[3,2]<=[2,3]T(1,0)}",
                   "{devices=[2,3]<=[6]}"),
       2, 6, 2},
      {XLA_PROGRAM("{devices=[6,1]5,4,3,2,1,0}", "{replicated}", "{devices=[6,1]5,4,3,2,1,0}"), 1,
       12, 0},
  };
  for (size_t i = 0; i < HSC_COUNT_OF(cases); i++) {
    hsc_module *module = NULL;
    EXPECT_OK(hsc_program_read_for(hsc_view_of(cases[i].text), NULL, 6, &module));
    const hsc_shape *shape = &module->entry->parameters[0]->shape;
    assert_int_equal(shape->dims[0], cases[i].rows);
    assert_int_equal(shape->dims[1], cases[i].columns);
    assert_int_equal(count_of(module, HSC_OP_ALL_GATHER), cases[i].gathers);
    hsc_module_destroy(module);
  }
  hsc_module *module = NULL;
  hsc_status *status = hsc_program_read_for(
      hsc_view_of(XLA_PROGRAM("{devices=[6,1]5,4,3,2,1,0}", "{devices=[6,1]0,2,4,1,3,5}",
                              "{devices=[6,1]<=[6]}")),
      NULL, 6, &module);
  assert_int_equal(hsc_status_code(status), HSC_UNIMPLEMENTED);
  assert_non_null(strstr(hsc_status_message(status), "5,4,3,2,1,0"));
  hsc_status_free(status);
}

// A dimension of two is not cut by half of an axis of four, which no mesh of the program has.
static void axes_are_as_coarse_as_the_shardings_allow(void **state) {
  (void)state;
  hsc_module *module = NULL;
  EXPECT_OK(hsc_program_read_for(
      hsc_view_of("module attributes {mhlo.num_partitions = 8 : i32} {\n  func.func public "
                  "@main(%a: tensor<8x4xf32> {mhlo.sharding = \"{devices=[4,2]<=[8]}\"}) -> "
                  "tensor<2x4x4xf32> {\n    %r = stablehlo.reshape %a : (tensor<8x4xf32>) -> "
                  "tensor<2x4x4xf32>\n    return %r : tensor<2x4x4xf32>\n  }\n}\n"),
      NULL, 8, &module));
  assert_int_equal(module->entry->parameters[0]->shape.dims[0], 2);
  assert_int_equal(module->entry->root->shape.dims[0], 2);
  assert_int_equal(module->entry->root->shape.dims[2], 2);
  hsc_module_destroy(module);
}

static const char LOOP[] =
    "HloModule m, num_partitions=8\n\n"
    "add { a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT s = f32[] add(a, b) }\n\n"
    "cond { c = (s32[], f32[64]) parameter(0)\n  i = s32[] get-tuple-element(c), index=0\n"
    "  n = s32[] constant(5)\n  ROOT l = pred[] compare(i, n), direction=LT }\n\n"
    "body { c = (s32[], f32[64]) parameter(0)\n  i = s32[] get-tuple-element(c), index=0\n"
    "  x = f32[64] get-tuple-element(c), index=1\n  one = s32[] constant(1)\n"
    "  j = s32[] add(i, one)\n  e = f32[64] exponential(x)\n"
    "  r = f32[64] all-reduce(e), replica_groups=[4,2]<=[2,4]T(1,0), channel_id=1, to_apply=add,"
    " metadata={op_name=\"sum\" source_file=\"model.py\" source_line=12}\n"
    "  ROOT t = (s32[], f32[64]) tuple(j, r) }\n\n"
    "ENTRY e {\n  p = f32[64] parameter(0)\n  zero = s32[] constant(0)\n"
    "  s = (s32[], f32[64]) tuple(zero, p)\n"
    "  w = (s32[], f32[64]) while(s), condition=cond, body=body\n"
    "  x = f32[64] get-tuple-element(w), index=1\n"
    "  gs = (f32[64], f32[256]) all-gather-start(x), replica_groups={{0,1,2,3},{4,5,6,7}},"
    " dimensions={0}, channel_id=2, use_global_device_ids=true\n"
    "  sq = f32[64] multiply(x, x)\n"
    "  gd = f32[256] all-gather-done(gs)\n"
    "  ROOT t = (f32[64], f32[256]) tuple(sq, gd)\n}\n";

static void collectives_have_times_axes_and_what_lies_between(void **state) {
  (void)state;
  hsc_arena *arena = NULL;
  hsc_module *module = NULL;
  hsc_collective *list = NULL;
  size_t count = 0;
  const char *names[] = {"x", "y"};
  int64_t sizes[] = {2, 4};
  hsc_program_spread spread = {.partition_count = 8,
                               .replica_count = 1,
                               .axis_count = 2,
                               .axis_names = names,
                               .axis_sizes = sizes};
  EXPECT_OK(hsc_arena_create(&arena));
  EXPECT_OK(hsc_program_read(hsc_view_of(LOOP), NULL, &module));
  EXPECT_OK(hsc_collectives_find(module, &spread, arena, &list, &count));
  assert_int_equal(count, 2);
  assert_string_equal(list[0].kind, "all-reduce");
  assert_int_equal(list[0].times, 5);
  assert_true(list[0].times_known);
  assert_string_equal(list[0].loop, "w");
  assert_int_equal(list[0].group_size, 2);
  assert_string_equal(list[0].axes, "x");
  assert_int_equal(list[0].bytes, 256);
  assert_string_equal(list[0].source, "model.py:12");
  assert_string_equal(list[0].brought_by, "sum");
  assert_false(list[0].is_async);
  assert_string_equal(list[1].kind, "all-gather");
  assert_string_equal(list[1].axes, "y");
  assert_int_equal(list[1].bytes, 1024);
  assert_int_equal(list[1].group_size, 4);
  assert_true(list[1].is_async);
  assert_int_equal(list[1].between_count, 1);
  assert_true(list[1].between_flops == 64);
  hsc_module_destroy(module);
  hsc_arena_destroy(arena);
}

static void a_loop_counts_as_often_as_its_trips_say(void **state) {
  (void)state;
  hsc_module *module = NULL;
  hsc_count count;
  EXPECT_OK(hsc_program_read(hsc_view_of(LOOP), NULL, &module));
  EXPECT_OK(hsc_module_count(module, &count));
  assert_int_equal(count.guessed_loops, 0);
  assert_true(count.cost.transcendentals == 5 * 64);
  hsc_module_destroy(module);
}

static void what_is_alive_at_the_peak_is_named(void **state) {
  (void)state;
  hsc_arena *arena = NULL;
  hsc_module *module = NULL;
  hsc_chip_buffer *list = NULL;
  size_t count = 0;
  int64_t peak = 0;
  EXPECT_OK(hsc_arena_create(&arena));
  EXPECT_OK(hsc_program_read(hsc_view_of(LOOP), NULL, &module));
  EXPECT_OK(hsc_chip_buffers_at_peak(module, arena, &list, &count, &peak));
  assert_true(count >= 3);
  assert_string_equal(list[0].instr->name, "gs");
  assert_int_equal(list[0].bytes, 1024);
  // p, gathered, sq
  assert_true(peak >= 256 + 1024 + 256);
  hsc_module_destroy(module);
  hsc_arena_destroy(arena);
}

// ---- pieces -------------------------------------------------------------------------------------

static hsc_pieces pieces_of(hsc_arena *arena, const char *text, int rank, int64_t devices) {
  hsc_pieces pieces = {0};
  EXPECT_OK(hsc_pieces_read(hsc_view_of(text), rank, devices, arena, &pieces));
  return pieces;
}

static void a_sharding_says_which_device_has_which_piece(void **state) {
  (void)state;
  hsc_arena *arena = NULL;
  EXPECT_OK(hsc_arena_create(&arena));
  hsc_pieces p = pieces_of(arena, "{devices=[2,1,2]<=[2,2]T(1,0) last_tile_dim_replicate}", 2, 4);
  const int64_t transposed[] = {0, 1, 0, 1};
  assert_memory_equal(p.piece_of, transposed, sizeof transposed);
  assert_int_equal(p.counts[0], 2);
  assert_int_equal(p.counts[1], 1);
  p = pieces_of(arena, "{devices=[2,2]3,1,2,0}", 2, 4);
  const int64_t listed[] = {3, 1, 2, 0};
  assert_memory_equal(p.piece_of, listed, sizeof listed);
  p = pieces_of(arena, "{devices=[1,4,2]<=[2,2,2]T(2,0,1) last_tile_dim_replicate}", 2, 8);
  for (int d = 0; d < 8; d++) {
    // tile i of the transposed iota: d = 4 * a + 2 * b + c lies at (c, a, b)
    int a = d >> 2;
    int b = d >> 1 & 1;
    int c = d & 1;
    assert_int_equal(p.piece_of[d], (c * 4 + a * 2 + b) / 2);
  }
  p = pieces_of(arena, "{replicated}", 1, 3);
  assert_int_equal(p.piece_of[2], 0);
  p = pieces_of(arena, "{maximal device=1}", 1, 3);
  assert_int_equal(p.piece_of[0], -1);
  assert_int_equal(p.piece_of[1], 0);
  hsc_arena_destroy(arena);
}

static void what_is_no_sharding_of_the_array_is_refused(void **state) {
  (void)state;
  static const char *const texts[] = {
      "{devices=[2,2]<=[4]}",  // four of two devices
      "{devices=[3]<=[3]}",    // three of two devices
      "{devices=[2]0,5}",      // a device that is not there
      "{devices=[2]<=[2]T(1)}",
      "{devices=[0]<=[2]}",
      "{devices=[9223372036854775807,2]<=[2]}",
      "{maximal device=2}",
      "{manual}",
      "replicated",
      "",
  };
  hsc_arena *arena = NULL;
  EXPECT_OK(hsc_arena_create(&arena));
  for (size_t i = 0; i < HSC_COUNT_OF(texts); i++) {
    hsc_pieces pieces;
    hsc_status *status = hsc_pieces_read(hsc_view_of(texts[i]), 1, 2, arena, &pieces);
    if (!status)
      fail_msg("%s was taken", texts[i]);
    hsc_status_free(status);
  }
  hsc_arena_destroy(arena);
}

// Cut in pieces and put together, an array is what it was, whatever its sizes.
static void pieces_put_together_are_the_whole(void **state) {
  (void)state;
  hsc_arena *arena = NULL;
  EXPECT_OK(hsc_arena_create(&arena));
  for (uint32_t seed = 0; seed < 400; seed++) {
    uint32_t bits = (seed + 1) * 2654435761u;
    hsc_pieces p = {.rank = (int)(bits % 4)};
    int64_t dims[4];
    size_t elements = 1;
    int64_t count = 1;
    for (int d = 0; d < p.rank; d++) {
      p.counts[d] = 1 + (bits >> (3 * d) & 3);
      dims[d] = 1 + (bits >> (4 * d + 8) & 7);
      elements *= (size_t)dims[d];
      count *= p.counts[d];
    }
    size_t bytes = 1u << (bits >> 28 & 3);
    char whole[8 * 8 * 8 * 8];
    char again[8 * 8 * 8 * 8];
    char piece[8 * 8 * 8 * 8];
    for (size_t i = 0; i < elements * bytes; i++)
      whole[i] = (char)(i * 31 + seed);
    memset(again, 0x55, sizeof again);
    for (int64_t n = 0; n < count; n++) {
      hsc_piece_copy copy = {&p, dims, bytes, n, true};
      memset(piece, 0x77, sizeof piece);
      hsc_piece_move(&copy, whole, piece);
      copy.to_piece = false;
      hsc_piece_move(&copy, again, piece);
    }
    assert_memory_equal(again, whole, elements * bytes);
  }
  hsc_arena_destroy(arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(partitions_come_from_attributes_meshes_and_shardings),
      cmocka_unit_test(what_nothing_is_said_of_is_free),
      cmocka_unit_test(values_of_manual_computations_are_each_devices_own),
      cmocka_unit_test(an_argument_of_a_manual_computation_comes_back),
      cmocka_unit_test(shardings_in_xlas_form_are_axes_of_a_mesh),
      cmocka_unit_test(axes_are_as_coarse_as_the_shardings_allow),
      cmocka_unit_test(collectives_have_times_axes_and_what_lies_between),
      cmocka_unit_test(a_loop_counts_as_often_as_its_trips_say),
      cmocka_unit_test(what_is_alive_at_the_peak_is_named),
      cmocka_unit_test(a_sharding_says_which_device_has_which_piece),
      cmocka_unit_test(what_is_no_sharding_of_the_array_is_refused),
      cmocka_unit_test(pieces_put_together_are_the_whole),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
