module @jit__lambda attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<4096x1000xf32>, %arg1: tensor<4096x1xi32>) -> (tensor<4096x1xf32> {jax.result_info = "result"}) {
    %0 = stablehlo.convert %arg1 : (tensor<4096x1xi32>) -> tensor<4096x1xui32>
    %1 = stablehlo.iota dim = 0 : tensor<4096xui32>
    %2 = stablehlo.reshape %1 : (tensor<4096xui32>) -> tensor<4096x1xui32>
    %c = stablehlo.constant dense<2654435761> : tensor<ui32>
    %3 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<ui32>) -> tensor<4096x1xui32>
    %4 = stablehlo.multiply %2, %3 : tensor<4096x1xui32>
    %5 = stablehlo.add %0, %4 : tensor<4096x1xui32>
    %c_0 = stablehlo.constant dense<15> : tensor<ui32>
    %6 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<ui32>) -> tensor<4096x1xui32>
    %7 = stablehlo.shift_right_logical %5, %6 : tensor<4096x1xui32>
    %8 = stablehlo.xor %5, %7 : tensor<4096x1xui32>
    %c_1 = stablehlo.constant dense<2246822519> : tensor<ui32>
    %9 = stablehlo.broadcast_in_dim %c_1, dims = [] : (tensor<ui32>) -> tensor<4096x1xui32>
    %10 = stablehlo.multiply %8, %9 : tensor<4096x1xui32>
    %c_2 = stablehlo.constant dense<13> : tensor<ui32>
    %11 = stablehlo.broadcast_in_dim %c_2, dims = [] : (tensor<ui32>) -> tensor<4096x1xui32>
    %12 = stablehlo.shift_right_logical %10, %11 : tensor<4096x1xui32>
    %13 = stablehlo.xor %10, %12 : tensor<4096x1xui32>
    %c_3 = stablehlo.constant dense<1000> : tensor<ui32>
    %14 = call @remainder(%13, %c_3) : (tensor<4096x1xui32>, tensor<ui32>) -> tensor<4096x1xui32>
    %15 = stablehlo.convert %14 : (tensor<4096x1xui32>) -> tensor<4096x1xi32>
    %16 = call @take_along_axis(%arg0, %15) : (tensor<4096x1000xf32>, tensor<4096x1xi32>) -> tensor<4096x1xf32>
    return %16 : tensor<4096x1xf32>
  }
  func.func private @remainder(%arg0: tensor<4096x1xui32>, %arg1: tensor<ui32>) -> tensor<4096x1xui32> {
    %c = stablehlo.constant dense<0> : tensor<ui32>
    %0 = stablehlo.compare EQ, %arg1, %c, UNSIGNED : (tensor<ui32>, tensor<ui32>) -> tensor<i1>
    %c_0 = stablehlo.constant dense<1> : tensor<ui32>
    %1 = call @_where(%0, %c_0, %arg1) : (tensor<i1>, tensor<ui32>, tensor<ui32>) -> tensor<ui32>
    %2 = stablehlo.broadcast_in_dim %1, dims = [] : (tensor<ui32>) -> tensor<4096x1xui32>
    %3 = stablehlo.remainder %arg0, %2 : tensor<4096x1xui32>
    %c_1 = stablehlo.constant dense<0> : tensor<ui32>
    %4 = stablehlo.broadcast_in_dim %c_1, dims = [] : (tensor<ui32>) -> tensor<4096x1xui32>
    %5 = stablehlo.compare NE, %3, %4, UNSIGNED : (tensor<4096x1xui32>, tensor<4096x1xui32>) -> tensor<4096x1xi1>
    %c_2 = stablehlo.constant dense<0> : tensor<ui32>
    %6 = stablehlo.broadcast_in_dim %c_2, dims = [] : (tensor<ui32>) -> tensor<4096x1xui32>
    %7 = stablehlo.compare LT, %3, %6, UNSIGNED : (tensor<4096x1xui32>, tensor<4096x1xui32>) -> tensor<4096x1xi1>
    %c_3 = stablehlo.constant dense<0> : tensor<ui32>
    %8 = stablehlo.compare LT, %1, %c_3, UNSIGNED : (tensor<ui32>, tensor<ui32>) -> tensor<i1>
    %9 = stablehlo.broadcast_in_dim %8, dims = [] : (tensor<i1>) -> tensor<4096x1xi1>
    %10 = stablehlo.compare NE, %7, %9, UNSIGNED : (tensor<4096x1xi1>, tensor<4096x1xi1>) -> tensor<4096x1xi1>
    %11 = stablehlo.and %10, %5 : tensor<4096x1xi1>
    %12 = stablehlo.broadcast_in_dim %1, dims = [] : (tensor<ui32>) -> tensor<4096x1xui32>
    %13 = stablehlo.add %3, %12 : tensor<4096x1xui32>
    %14 = stablehlo.select %11, %13, %3 : tensor<4096x1xi1>, tensor<4096x1xui32>
    return %14 : tensor<4096x1xui32>
  }
  func.func private @_where(%arg0: tensor<i1>, %arg1: tensor<ui32>, %arg2: tensor<ui32>) -> tensor<ui32> {
    %0 = stablehlo.select %arg0, %arg1, %arg2 : tensor<i1>, tensor<ui32>
    return %0 : tensor<ui32>
  }
  func.func private @take_along_axis(%arg0: tensor<4096x1000xf32>, %arg1: tensor<4096x1xi32>) -> tensor<4096x1xf32> {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<4096x1xi32>
    %1 = stablehlo.compare LT, %arg1, %0, SIGNED : (tensor<4096x1xi32>, tensor<4096x1xi32>) -> tensor<4096x1xi1>
    %c_0 = stablehlo.constant dense<1000> : tensor<i32>
    %2 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<i32>) -> tensor<4096x1xi32>
    %3 = stablehlo.add %arg1, %2 : tensor<4096x1xi32>
    %4 = stablehlo.select %1, %3, %arg1 : tensor<4096x1xi1>, tensor<4096x1xi32>
    %5 = stablehlo.reshape %4 : (tensor<4096x1xi32>) -> tensor<4096x1x1xi32>
    %c_1 = stablehlo.constant dense<999> : tensor<1xi32>
    %c_2 = stablehlo.constant dense<0> : tensor<i32>
    %6 = stablehlo.broadcast_in_dim %c_2, dims = [] : (tensor<i32>) -> tensor<4096x1x1xi32>
    %7 = stablehlo.compare GE, %5, %6, SIGNED : (tensor<4096x1x1xi32>, tensor<4096x1x1xi32>) -> tensor<4096x1x1xi1>
    %8 = stablehlo.broadcast_in_dim %c_1, dims = [2] : (tensor<1xi32>) -> tensor<1x1x1xi32>
    %9 = stablehlo.broadcast_in_dim %8, dims = [0, 1, 2] : (tensor<1x1x1xi32>) -> tensor<4096x1x1xi32>
    %10 = stablehlo.compare LE, %5, %9, SIGNED : (tensor<4096x1x1xi32>, tensor<4096x1x1xi32>) -> tensor<4096x1x1xi1>
    %11 = stablehlo.and %7, %10 : tensor<4096x1x1xi1>
    %c_3 = stablehlo.constant dense<true> : tensor<i1>
    %12 = stablehlo.reduce(%11 init: %c_3) applies stablehlo.and across dimensions = [2] : (tensor<4096x1x1xi1>, tensor<i1>) -> tensor<4096x1xi1>
    %13 = "stablehlo.gather"(%arg0, %5) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 2>, indices_are_sorted = false, slice_sizes = array<i64: 1, 1>}> : (tensor<4096x1000xf32>, tensor<4096x1x1xi32>) -> tensor<4096x1xf32>
    %cst = stablehlo.constant dense<0x7FC00000> : tensor<f32>
    %14 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<4096x1xf32>
    %15 = stablehlo.select %12, %13, %14 : tensor<4096x1xi1>, tensor<4096x1xf32>
    return %15 : tensor<4096x1xf32>
  }
}
