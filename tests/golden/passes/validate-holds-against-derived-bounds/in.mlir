module @jit__lambda attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<100xf32>) -> (tensor<100xf32> {jax.result_info = "result"}) {
    %cst = stablehlo.constant dense<1.000000e+07> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<100xf32>
    %1 = stablehlo.add %arg0, %0 : tensor<100xf32>
    %cst_0 = stablehlo.constant dense<1.000000e+07> : tensor<f32>
    %2 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<100xf32>
    %3 = stablehlo.subtract %1, %2 : tensor<100xf32>
    %4 = stablehlo.multiply %arg0, %arg0 : tensor<100xf32>
    %cst_1 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %5 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<100xf32>
    %6 = stablehlo.add %4, %5 : tensor<100xf32>
    %7 = stablehlo.sqrt %6 : tensor<100xf32>
    %8 = stablehlo.abs %arg0 : tensor<100xf32>
    %9 = stablehlo.subtract %7, %8 : tensor<100xf32>
    %10 = stablehlo.multiply %3, %9 : tensor<100xf32>
    return %10 : tensor<100xf32>
  }
}
