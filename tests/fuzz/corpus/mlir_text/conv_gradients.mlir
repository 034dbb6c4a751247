module @jit_f attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<4x32x32x16xf32>, %arg1: tensor<3x3x16x32xf32>) -> (tensor<4x32x32x16xf32> {jax.result_info = "result[0]"}, tensor<3x3x16x32xf32> {jax.result_info = "result[1]"}) {
    %cst = stablehlo.constant dense<0.00999999977> : tensor<3x3x32x32xf32>
    %0 = stablehlo.convolution(%arg0, %arg1) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [2, 2], pad = [[0, 1], [0, 1]], lhs_dilate = [1, 1], rhs_dilate = [1, 1], reverse = [false, false]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]} : (tensor<4x32x32x16xf32>, tensor<3x3x16x32xf32>) -> tensor<4x16x16x32xf32>
    %1 = call @relu(%0) : (tensor<4x16x16x32xf32>) -> tensor<4x16x16x32xf32>
    %cst_0 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %2 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<4x16x16x32xf32>
    %3 = stablehlo.compare GT, %0, %2, FLOAT : (tensor<4x16x16x32xf32>, tensor<4x16x16x32xf32>) -> tensor<4x16x16x32xi1>
    %4 = stablehlo.convolution(%1, %cst) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [1, 1], pad = [[1, 1], [1, 1]], lhs_dilate = [1, 1], rhs_dilate = [1, 1], reverse = [false, false]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]} : (tensor<4x16x16x32xf32>, tensor<3x3x32x32xf32>) -> tensor<4x16x16x32xf32>
    %cst_1 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %5 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<4x16x16x32xf32>
    %6 = stablehlo.multiply %4, %5 : tensor<4x16x16x32xf32>
    %7 = stablehlo.multiply %5, %4 : tensor<4x16x16x32xf32>
    %8 = stablehlo.add %6, %7 : tensor<4x16x16x32xf32>
    %9 = stablehlo.reverse %cst, dims = [0, 1] : tensor<3x3x32x32xf32>
    %10 = stablehlo.convolution(%8, %9) dim_numbers = [b, 0, 1, f]x[0, 1, o, i]->[b, 0, 1, f], window = {stride = [1, 1], pad = [[1, 1], [1, 1]], lhs_dilate = [1, 1], rhs_dilate = [1, 1], reverse = [false, false]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]} : (tensor<4x16x16x32xf32>, tensor<3x3x32x32xf32>) -> tensor<4x16x16x32xf32>
    %cst_2 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %11 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<4x16x16x32xf32>
    %12 = stablehlo.select %3, %10, %11 : tensor<4x16x16x32xi1>, tensor<4x16x16x32xf32>
    %13 = stablehlo.convolution(%arg0, %12) dim_numbers = [f, 0, 1, b]x[i, 0, 1, o]->[0, 1, b, f], window = {stride = [1, 1], pad = [[0, 1], [0, 1]], lhs_dilate = [1, 1], rhs_dilate = [2, 2], reverse = [false, false]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]} : (tensor<4x32x32x16xf32>, tensor<4x16x16x32xf32>) -> tensor<3x3x16x32xf32>
    %14 = stablehlo.reverse %arg1, dims = [0, 1] : tensor<3x3x16x32xf32>
    %15 = stablehlo.convolution(%12, %14) dim_numbers = [b, 0, 1, f]x[0, 1, o, i]->[b, 0, 1, f], window = {stride = [1, 1], pad = [[2, 1], [2, 1]], lhs_dilate = [2, 2], rhs_dilate = [1, 1], reverse = [false, false]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]} : (tensor<4x16x16x32xf32>, tensor<3x3x16x32xf32>) -> tensor<4x32x32x16xf32>
    return %15, %13 : tensor<4x32x32x16xf32>, tensor<3x3x16x32xf32>
  }
  func.func private @relu(%arg0: tensor<4x16x16x32xf32>) -> tensor<4x16x16x32xf32> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<4x16x16x32xf32>
    %1 = stablehlo.maximum %arg0, %0 : tensor<4x16x16x32xf32>
    return %1 : tensor<4x16x16x32xf32>
  }
}
