module @jit_f attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<4x8xf32>, %arg1: tensor<8x16xf32>, %arg2: tensor<i32>) -> (tensor<1x4x2x2xf32> {jax.result_info = "result[0]"}, tensor<4x16xf32> {jax.result_info = "result[1]"}, tensor<16xf32> {jax.result_info = "result[2]"}, tensor<4x16xf32> {jax.result_info = "result[3]"}, tensor<4x16xf32> {jax.result_info = "result[4]"}, tensor<2x8xf32> {jax.result_info = "result[5]"}, tensor<7x17xf32> {jax.result_info = "result[6]"}, tensor<2x3xf32> {jax.result_info = "result[7]"}, tensor<4x16xf32> {jax.result_info = "result[8]"}, tensor<2x16xf32> {jax.result_info = "result[9]"}, tensor<2x8xf32> {jax.result_info = "result[10]"}, tensor<4x16xi32> {jax.result_info = "result[11]"}, tensor<4x16xf32> {jax.result_info = "result[12]"}, tensor<4x16xf32> {jax.result_info = "result[13]"}, tensor<4x32xf32> {jax.result_info = "result[14]"}, tensor<16x4xf32> {jax.result_info = "result[15]"}, tensor<4x16xf32> {jax.result_info = "result[16]"}, tensor<4x16xf32> {jax.result_info = "result[17]"}, tensor<4x9xf32> {jax.result_info = "result[18]"}, tensor<5xi32> {jax.result_info = "result[19]"}) {
    %c = stablehlo.constant dense<[0, 2]> : tensor<2xi32>
    %c_0 = stablehlo.constant dense<[1, 3]> : tensor<2xi32>
    %0 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
    %1 = stablehlo.tanh %0 : tensor<4x16xf32>
    %2 = stablehlo.reshape %1 : (tensor<4x16xf32>) -> tensor<1x4x4x4xf32>
    %cst = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %3 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<3x3x4x2xf32>
    %4 = stablehlo.slice %arg0 [0:1, 0:1] : (tensor<4x8xf32>) -> tensor<1x1xf32>
    %5 = stablehlo.reshape %4 : (tensor<1x1xf32>) -> tensor<f32>
    %6 = stablehlo.broadcast_in_dim %5, dims = [] : (tensor<f32>) -> tensor<3x3x4x2xf32>
    %7 = stablehlo.multiply %3, %6 : tensor<3x3x4x2xf32>
    %8 = stablehlo.convolution(%2, %7) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [1, 2], pad = [[1, 1], [0, 1]], lhs_dilate = [1, 1], rhs_dilate = [1, 1], reverse = [false, false]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]} : (tensor<1x4x4x4xf32>, tensor<3x3x4x2xf32>) -> tensor<1x4x2x2xf32>
    %9 = stablehlo.convert %arg2 : tensor<i32>
    %c_1 = stablehlo.constant dense<0> : tensor<i32>
    %c_2 = stablehlo.constant dense<1> : tensor<i32>
    %10 = stablehlo.clamp %c_1, %9, %c_2 : tensor<i32>
    %11 = "stablehlo.case"(%10) ({
      stablehlo.return %1 : tensor<4x16xf32>
    }, {
      %cst_17 = stablehlo.constant dense<2.000000e+00> : tensor<f32>
      %53 = stablehlo.broadcast_in_dim %cst_17, dims = [] : (tensor<f32>) -> tensor<4x16xf32>
      %54 = stablehlo.multiply %1, %53 : tensor<4x16xf32>
      stablehlo.return %54 : tensor<4x16xf32>
    }) : (tensor<i32>) -> tensor<4x16xf32>
    %12 = stablehlo.slice %1 [0:1, 0:16] : (tensor<4x16xf32>) -> tensor<1x16xf32>
    %13 = stablehlo.reshape %12 : (tensor<1x16xf32>) -> tensor<16xf32>
    %cst_3 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %14 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<f32>) -> tensor<4x16xf32>
    %c_4 = stablehlo.constant dense<0> : tensor<i32>
    %15:4 = stablehlo.while(%iterArg = %1, %iterArg_17 = %c_4, %iterArg_18 = %13, %iterArg_19 = %14) : tensor<4x16xf32>, tensor<i32>, tensor<16xf32>, tensor<4x16xf32>
    cond {
      %c_20 = stablehlo.constant dense<4> : tensor<i32>
      %53 = stablehlo.compare LT, %iterArg_17, %c_20, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %53 : tensor<i1>
    } do {
      %53 = func.call @dynamic_index_in_dim(%iterArg, %iterArg_17) : (tensor<4x16xf32>, tensor<i32>) -> tensor<16xf32>
      %54:2 = func.call @closed_call(%iterArg_18, %53) : (tensor<16xf32>, tensor<16xf32>) -> (tensor<16xf32>, tensor<16xf32>)
      %55 = func.call @dynamic_update_index_in_dim(%iterArg_19, %54#1, %iterArg_17) : (tensor<4x16xf32>, tensor<16xf32>, tensor<i32>) -> tensor<4x16xf32>
      %c_20 = stablehlo.constant dense<1> : tensor<i32>
      %56 = stablehlo.add %iterArg_17, %c_20 : tensor<i32>
      stablehlo.return %iterArg, %56, %54#0, %55 : tensor<4x16xf32>, tensor<i32>, tensor<16xf32>, tensor<4x16xf32>
    }
    %16 = call @sort(%1) : (tensor<4x16xf32>) -> tensor<4x16xf32>
    %17 = stablehlo.slice %1 [1:3, 0:16:2] : (tensor<4x16xf32>) -> tensor<2x8xf32>
    %c_5 = stablehlo.constant dense<0> : tensor<i32>
    %18 = call @_pad(%1, %c_5) : (tensor<4x16xf32>, tensor<i32>) -> tensor<7x17xf32>
    %c_6 = stablehlo.constant dense<0> : tensor<i32>
    %19 = stablehlo.compare LT, %arg2, %c_6, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %20 = stablehlo.convert %arg2 : tensor<i32>
    %c_7 = stablehlo.constant dense<4> : tensor<i32>
    %21 = stablehlo.add %20, %c_7 : tensor<i32>
    %22 = stablehlo.select %19, %21, %arg2 : tensor<i1>, tensor<i32>
    %c_8 = stablehlo.constant dense<2> : tensor<i32>
    %23 = stablehlo.dynamic_slice %1, %22, %c_8, sizes = [2, 3] : (tensor<4x16xf32>, tensor<i32>, tensor<i32>) -> tensor<2x3xf32>
    %c_9 = stablehlo.constant dense<0> : tensor<i32>
    %24 = stablehlo.broadcast_in_dim %c_9, dims = [] : (tensor<i32>) -> tensor<2xi32>
    %25 = stablehlo.compare LT, %c, %24, SIGNED : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi1>
    %c_10 = stablehlo.constant dense<4> : tensor<i32>
    %26 = stablehlo.broadcast_in_dim %c_10, dims = [] : (tensor<i32>) -> tensor<2xi32>
    %27 = stablehlo.add %c, %26 : tensor<2xi32>
    %28 = stablehlo.select %25, %27, %c : tensor<2xi1>, tensor<2xi32>
    %29 = stablehlo.broadcast_in_dim %28, dims = [0] : (tensor<2xi32>) -> tensor<2x1xi32>
    %cst_11 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %30 = stablehlo.broadcast_in_dim %cst_11, dims = [] : (tensor<f32>) -> tensor<2x16xf32>
    %31 = "stablehlo.scatter"(%1, %29, %30) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = false}> ({
    ^bb0(%arg3: tensor<f32>, %arg4: tensor<f32>):
      %53 = stablehlo.add %arg3, %arg4 : tensor<f32>
      stablehlo.return %53 : tensor<f32>
    }) : (tensor<4x16xf32>, tensor<2x1xi32>, tensor<2x16xf32>) -> tensor<4x16xf32>
    %c_12 = stablehlo.constant dense<0> : tensor<i32>
    %32 = stablehlo.broadcast_in_dim %c_12, dims = [] : (tensor<i32>) -> tensor<2xi32>
    %33 = stablehlo.compare LT, %c_0, %32, SIGNED : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi1>
    %c_13 = stablehlo.constant dense<4> : tensor<i32>
    %34 = stablehlo.broadcast_in_dim %c_13, dims = [] : (tensor<i32>) -> tensor<2xi32>
    %35 = stablehlo.add %c_0, %34 : tensor<2xi32>
    %36 = stablehlo.select %33, %35, %c_0 : tensor<2xi1>, tensor<2xi32>
    %37 = stablehlo.broadcast_in_dim %36, dims = [0] : (tensor<2xi32>) -> tensor<2x1xi32>
    %38 = "stablehlo.gather"(%1, %37) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 1, 16>}> : (tensor<4x16xf32>, tensor<2x1xi32>) -> tensor<2x16xf32>
    %cst_14 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %39 = stablehlo.broadcast_in_dim %cst_14, dims = [] : (tensor<f32>) -> tensor<f32>
    %40 = "stablehlo.reduce_window"(%1, %39) <{base_dilations = array<i64: 1, 1>, padding = dense<0> : tensor<2x2xi64>, window_dilations = array<i64: 1, 1>, window_dimensions = array<i64: 2, 2>, window_strides = array<i64: 2, 2>}> ({
    ^bb0(%arg3: tensor<f32>, %arg4: tensor<f32>):
      %53 = stablehlo.maximum %arg3, %arg4 : tensor<f32>
      stablehlo.return %53 : tensor<f32>
    }) : (tensor<4x16xf32>, tensor<f32>) -> tensor<2x8xf32>
    %41 = stablehlo.bitcast_convert %1 : (tensor<4x16xf32>) -> tensor<4x16xi32>
    %42 = stablehlo.reduce_precision %1, format = e5m10 : tensor<4x16xf32>
    %43 = stablehlo.reverse %1, dims = [0] : tensor<4x16xf32>
    %44 = stablehlo.concatenate %1, %1, dim = 1 : (tensor<4x16xf32>, tensor<4x16xf32>) -> tensor<4x32xf32>
    %45 = stablehlo.transpose %1, dims = [1, 0] : (tensor<4x16xf32>) -> tensor<16x4xf32>
    %46 = stablehlo.while(%iterArg = %1) : tensor<4x16xf32>
    cond {
      %cst_17 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
      %53 = stablehlo.reduce(%iterArg init: %cst_17) applies stablehlo.add across dimensions = [0, 1] : (tensor<4x16xf32>, tensor<f32>) -> tensor<f32>
      %cst_18 = stablehlo.constant dense<5.000000e+00> : tensor<f32>
      %54 = stablehlo.compare LT, %53, %cst_18, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %54 : tensor<i1>
    } do {
      %cst_17 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
      %53 = stablehlo.broadcast_in_dim %cst_17, dims = [] : (tensor<f32>) -> tensor<4x16xf32>
      %54 = stablehlo.add %iterArg, %53 : tensor<4x16xf32>
      stablehlo.return %54 : tensor<4x16xf32>
    }
    %cst_15 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %cst_16 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %47 = stablehlo.broadcast_in_dim %cst_15, dims = [] : (tensor<f32>) -> tensor<4x16xf32>
    %48 = stablehlo.broadcast_in_dim %cst_16, dims = [] : (tensor<f32>) -> tensor<4x16xf32>
    %49 = stablehlo.clamp %47, %1, %48 : tensor<4x16xf32>
    %50 = call @fft(%1) : (tensor<4x16xf32>) -> tensor<4x9xcomplex<f32>>
    %51 = stablehlo.real %50 : (tensor<4x9xcomplex<f32>>) -> tensor<4x9xf32>
    %52 = stablehlo.iota dim = 0 : tensor<5xi32>
    return %8, %11, %15#2, %15#3, %16, %17, %18, %23, %31, %38, %40, %41, %42, %43, %44, %45, %46, %49, %51, %52 : tensor<1x4x2x2xf32>, tensor<4x16xf32>, tensor<16xf32>, tensor<4x16xf32>, tensor<4x16xf32>, tensor<2x8xf32>, tensor<7x17xf32>, tensor<2x3xf32>, tensor<4x16xf32>, tensor<2x16xf32>, tensor<2x8xf32>, tensor<4x16xi32>, tensor<4x16xf32>, tensor<4x16xf32>, tensor<4x32xf32>, tensor<16x4xf32>, tensor<4x16xf32>, tensor<4x16xf32>, tensor<4x9xf32>, tensor<5xi32>
  }
  func.func private @dynamic_index_in_dim(%arg0: tensor<4x16xf32>, %arg1: tensor<i32>) -> tensor<16xf32> {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.dynamic_slice %arg0, %arg1, %c, sizes = [1, 16] : (tensor<4x16xf32>, tensor<i32>, tensor<i32>) -> tensor<1x16xf32>
    %1 = stablehlo.reshape %0 : (tensor<1x16xf32>) -> tensor<16xf32>
    return %1 : tensor<16xf32>
  }
  func.func private @closed_call(%arg0: tensor<16xf32>, %arg1: tensor<16xf32>) -> (tensor<16xf32>, tensor<16xf32>) {
    %0 = stablehlo.add %arg0, %arg1 : tensor<16xf32>
    %1 = stablehlo.multiply %arg0, %arg1 : tensor<16xf32>
    return %0, %1 : tensor<16xf32>, tensor<16xf32>
  }
  func.func private @dynamic_update_index_in_dim(%arg0: tensor<4x16xf32>, %arg1: tensor<16xf32>, %arg2: tensor<i32>) -> tensor<4x16xf32> {
    %0 = stablehlo.broadcast_in_dim %arg1, dims = [1] : (tensor<16xf32>) -> tensor<1x16xf32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %1 = stablehlo.dynamic_update_slice %arg0, %0, %arg2, %c : (tensor<4x16xf32>, tensor<1x16xf32>, tensor<i32>, tensor<i32>) -> tensor<4x16xf32>
    return %1 : tensor<4x16xf32>
  }
  func.func private @sort(%arg0: tensor<4x16xf32>) -> tensor<4x16xf32> {
    %0 = "stablehlo.sort"(%arg0) <{dimension = 1 : i64, is_stable = true}> ({
    ^bb0(%arg1: tensor<f32>, %arg2: tensor<f32>):
      %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
      %1 = stablehlo.compare EQ, %arg1, %cst, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %cst_0 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
      %2 = stablehlo.select %1, %cst_0, %arg1 : tensor<i1>, tensor<f32>
      %3 = stablehlo.compare NE, %arg1, %arg1, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %cst_1 = stablehlo.constant dense<0x7FC00000> : tensor<f32>
      %4 = stablehlo.select %3, %cst_1, %2 : tensor<i1>, tensor<f32>
      %cst_2 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
      %5 = stablehlo.compare EQ, %arg2, %cst_2, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %cst_3 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
      %6 = stablehlo.select %5, %cst_3, %arg2 : tensor<i1>, tensor<f32>
      %7 = stablehlo.compare NE, %arg2, %arg2, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %cst_4 = stablehlo.constant dense<0x7FC00000> : tensor<f32>
      %8 = stablehlo.select %7, %cst_4, %6 : tensor<i1>, tensor<f32>
      %9 = stablehlo.compare LT, %4, %8, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %9 : tensor<i1>
    }) : (tensor<4x16xf32>) -> tensor<4x16xf32>
    return %0 : tensor<4x16xf32>
  }
  func.func private @_pad(%arg0: tensor<4x16xf32>, %arg1: tensor<i32>) -> tensor<7x17xf32> {
    %0 = stablehlo.convert %arg1 : (tensor<i32>) -> tensor<f32>
    %1 = stablehlo.pad %arg0, %0, low = [1, 0], high = [2, 1], interior = [0, 0] : (tensor<4x16xf32>, tensor<f32>) -> tensor<7x17xf32>
    return %1 : tensor<7x17xf32>
  }
  func.func private @fft(%arg0: tensor<4x16xf32>) -> tensor<4x9xcomplex<f32>> {
    %0 = stablehlo.fft %arg0, type = RFFT, length = [16] : (tensor<4x16xf32>) -> tensor<4x9xcomplex<f32>>
    return %0 : tensor<4x9xcomplex<f32>>
  }
}
