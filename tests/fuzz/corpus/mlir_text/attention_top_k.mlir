// Attention over the eight keys of each query that fit best. The compilers of cuda and tpu make custom calls of top-k, one after the other.
module @jit_f attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<16x32xf32>, %arg1: tensor<4096x32xf32>, %arg2: tensor<4096x32xf32>) -> (tensor<16x32xf32>) {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %cst_0 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %cst_1 = stablehlo.constant dense<-1.000000e+09> : tensor<f32>
    %0 = stablehlo.transpose %arg1, dims = [1, 0] : (tensor<4096x32xf32>) -> tensor<32x4096xf32>
    %1 = stablehlo.dot_general %arg0, %0, contracting_dims = [1] x [0] : (tensor<16x32xf32>, tensor<32x4096xf32>) -> tensor<16x4096xf32>
    %2:2 = stablehlo.composite "chlo.top_k" %1 {composite_attributes = {k = 8 : i64}, decomposition = @chlo.top_k.impl, version = 1 : i32} : (tensor<16x4096xf32>) -> (tensor<16x8xf32>, tensor<16x8xi32>)
    %3 = stablehlo.slice %2#0 [0:16, 7:8] : (tensor<16x8xf32>) -> tensor<16x1xf32>
    %4 = stablehlo.broadcast_in_dim %3, dims = [0, 1] : (tensor<16x1xf32>) -> tensor<16x4096xf32>
    %5 = stablehlo.compare GE, %1, %4, FLOAT : (tensor<16x4096xf32>, tensor<16x4096xf32>) -> tensor<16x4096xi1>
    %6 = call @_where(%5, %1, %cst_1) : (tensor<16x4096xi1>, tensor<16x4096xf32>, tensor<f32>) -> tensor<16x4096xf32>
    %7 = stablehlo.reduce(%6 init: %cst_0) applies stablehlo.maximum across dimensions = [1] : (tensor<16x4096xf32>, tensor<f32>) -> tensor<16xf32>
    %8 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<16xf32>
    %9 = stablehlo.maximum %8, %7 : tensor<16xf32>
    %10 = stablehlo.broadcast_in_dim %9, dims = [0] : (tensor<16xf32>) -> tensor<16x1xf32>
    %11 = stablehlo.broadcast_in_dim %10, dims = [0, 1] : (tensor<16x1xf32>) -> tensor<16x4096xf32>
    %12 = stablehlo.subtract %6, %11 : tensor<16x4096xf32>
    %13 = stablehlo.exponential %12 : tensor<16x4096xf32>
    %14 = stablehlo.reduce(%13 init: %cst) applies stablehlo.add across dimensions = [1] : (tensor<16x4096xf32>, tensor<f32>) -> tensor<16xf32>
    %15 = stablehlo.broadcast_in_dim %14, dims = [0] : (tensor<16xf32>) -> tensor<16x1xf32>
    %16 = stablehlo.broadcast_in_dim %15, dims = [0, 1] : (tensor<16x1xf32>) -> tensor<16x4096xf32>
    %17 = stablehlo.divide %13, %16 : tensor<16x4096xf32>
    %18 = stablehlo.dot_general %17, %arg2, contracting_dims = [1] x [0] : (tensor<16x4096xf32>, tensor<4096x32xf32>) -> tensor<16x32xf32>
    return %18 : tensor<16x32xf32>
  }
  func.func private @chlo.top_k.impl(%arg0: tensor<16x4096xf32>) -> (tensor<16x8xf32>, tensor<16x8xi32>) {
    %0 = stablehlo.iota dim = 1 : tensor<16x4096xi32>
    %1:2 = "stablehlo.sort"(%arg0, %0) <{dimension = 1 : i64, is_stable = true}> ({
    ^bb0(%arg1: tensor<f32>, %arg2: tensor<f32>, %arg3: tensor<i32>, %arg4: tensor<i32>):
      %4 = stablehlo.compare GT, %arg1, %arg2, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %4 : tensor<i1>
    }) : (tensor<16x4096xf32>, tensor<16x4096xi32>) -> (tensor<16x4096xf32>, tensor<16x4096xi32>)
    %2 = stablehlo.slice %1#0 [0:16, 0:8] : (tensor<16x4096xf32>) -> tensor<16x8xf32>
    %3 = stablehlo.slice %1#1 [0:16, 0:8] : (tensor<16x4096xi32>) -> tensor<16x8xi32>
    return %2, %3 : tensor<16x8xf32>, tensor<16x8xi32>
  }
  func.func private @_where(%arg0: tensor<16x4096xi1>, %arg1: tensor<16x4096xf32>, %arg2: tensor<f32>) -> tensor<16x4096xf32> {
    %0 = stablehlo.convert %arg2 : tensor<f32>
    %1 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<f32>) -> tensor<16x4096xf32>
    %2 = stablehlo.select %arg0, %arg1, %1 : tensor<16x4096xi1>, tensor<16x4096xf32>
    return %2 : tensor<16x4096xf32>
  }
}
