!t = tensor<4x8xf32>
sdy.mesh @mesh = <["x"=2]>
func.func @main(%a: tensor<4x8xf32> {jax.buffer_donor = true}, %i: tensor<i32>, %p: tensor<4x8xi1>, %c: tensor<4xcomplex<f32>>, %tok: !stablehlo.token, %img: tensor<1x8x8x2xf32>, %k: tensor<3x3x2x4xf32>, %key: tensor<2xui64>) -> (tensor<4x8xf32>, tensor<8x4xf32>) attributes {sdy.x = "y"} {
  %0 = stablehlo.iota dim = 0 : tensor<4x8xi32>
  %1 = stablehlo.convert %0 : (tensor<4x8xi32>) -> tensor<4x8xf32>
  %2 = stablehlo.compare GE, %a, %1, FLOAT : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xi1>
  %3 = stablehlo.select %2, %a, %1 : tensor<4x8xi1>, tensor<4x8xf32>
  %4 = stablehlo.slice %a [0:4, 1:8:2] : (tensor<4x8xf32>) -> tensor<4x4xf32>
  %5 = stablehlo.dynamic_slice %a, %i, %i, sizes = [2, 8] : (tensor<4x8xf32>, tensor<i32>, tensor<i32>) -> tensor<2x8xf32>
  %6 = stablehlo.dynamic_update_slice %a, %5, %i, %i : (tensor<4x8xf32>, tensor<2x8xf32>, tensor<i32>, tensor<i32>) -> tensor<4x8xf32>
  %7 = stablehlo.transpose %6, dims = [1, 0] : (tensor<4x8xf32>) -> tensor<8x4xf32>
  %8 = stablehlo.concatenate %a, %6, dim = 1 : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x16xf32>
  %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
  %9 = stablehlo.pad %8, %cst, low = [0, -1], high = [1, 0], interior = [0, 0] : (tensor<4x16xf32>, tensor<f32>) -> tensor<5x15xf32>
  %10 = stablehlo.reverse %a, dims = [0, 1] : tensor<4x8xf32>
  %11 = stablehlo.reduce(%a init: %cst) applies stablehlo.maximum across dimensions = [0] : (tensor<4x8xf32>, tensor<f32>) -> tensor<8xf32>
  %12:2 = stablehlo.reduce(%a init: %cst), (%1 init: %cst) across dimensions = [1] : (tensor<4x8xf32>, tensor<4x8xf32>, tensor<f32>, tensor<f32>) -> (tensor<4xf32>, tensor<4xf32>)
   reducer(%x: tensor<f32>, %y: tensor<f32>) (%z: tensor<f32>, %w: tensor<f32>) {
    %20 = stablehlo.add %x, %y : tensor<f32>
    %21 = stablehlo.minimum %z, %w : tensor<f32>
    stablehlo.return %20, %21 : tensor<f32>, tensor<f32>
  }
  %13:2 = stablehlo.while(%s = %i, %v = %a) : tensor<i32>, tensor<4x8xf32> attributes {mhlo.frontend_attributes = {}}
   cond {
    %20 = stablehlo.constant dense<3> : tensor<i32>
    %21 = stablehlo.compare LT, %s, %20, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %21 : tensor<i1>
  } do {
    %20 = stablehlo.constant dense<1> : tensor<i32>
    %21 = stablehlo.add %s, %20 : tensor<i32>
    %22 = stablehlo.tanh %v : tensor<4x8xf32>
    stablehlo.return %21, %22 : tensor<i32>, tensor<4x8xf32>
  }
  %14 = stablehlo.convolution(%img, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [2, 2], pad = [[1, 1], [0, 1]], lhs_dilate = [1, 1], rhs_dilate = [1, 1], reverse = [false, true]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, precision_config = [#stablehlo<precision HIGH>, #stablehlo<precision DEFAULT>]} : (tensor<1x8x8x2xf32>, tensor<3x3x2x4xf32>) -> tensor<1x4x4x4xf32>
  %15 = stablehlo.dot_general %a, %7, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT], algorithm = <lhs_precision_type = f32, rhs_precision_type = f32, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 1, allow_imprecise_accumulation = false> : (tensor<4x8xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
  %16 = stablehlo.complex %11, %11 : tensor<8xcomplex<f32>>
  %17 = stablehlo.fft %c, type = FFT, length = [4] : (tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>>
  %18 = stablehlo.reduce_precision %a, format = e5m10 : tensor<4x8xf32>
  %19, %20 = stablehlo.rng_bit_generator %key, algorithm = THREE_FRY : (tensor<2xui64>) -> (tensor<2xui64>, tensor<4xui32>)
  %21 = stablehlo.custom_call @foo(%a) {backend_config = "", api_version = 2 : i32, output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 0, operand_tuple_indices = []>]} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %22 = "stablehlo.all_reduce"(%a) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0]]> : tensor<1x1xi64>, use_global_device_ids}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %40 = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %40 : tensor<f32>
  }) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %23 = chlo.square %a : tensor<4x8xf32> -> tensor<4x8xf32>
  %24:2 = chlo.top_k(%a, k = 3) : tensor<4x8xf32> -> (tensor<4x3xf32>, tensor<4x3xi32>)
  %25 = sdy.sharding_constraint %a <@mesh, [{"x"}, {}]> : tensor<4x8xf32>
  %26 = stablehlo.tuple %a, %i : tuple<tensor<4x8xf32>, tensor<i32>>
  %27 = stablehlo.get_tuple_element %26[0] : (tuple<tensor<4x8xf32>, tensor<i32>>) -> tensor<4x8xf32>
  %28:2 = stablehlo.optimization_barrier %a, %7 : tensor<4x8xf32>, tensor<8x4xf32>
  %29 = stablehlo.after_all %tok, %tok : !stablehlo.token
  %30 = stablehlo.cholesky %15, lower = true : tensor<4x4xf32>
  %31 = stablehlo.constant dense_resource<r> : tensor<2xf32>
  return %28#0, %28#1 : tensor<4x8xf32>, tensor<8x4xf32> loc(#l)
}
#l = loc(callsite("f"("x.py":1:2 to :3) at fused<"m">[unknown, "y.py":3:4]))
{-#
  dialect_resources: { builtin: { r: "0x040000000000803F00000040" } }
#-}
