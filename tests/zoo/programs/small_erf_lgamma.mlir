module @jit__lambda attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<512xf32>) -> (tensor<512xf32> {jax.result_info = "result"}) {
    %0 = chlo.erf %arg0 : tensor<512xf32> -> tensor<512xf32>
    %cst = stablehlo.constant dense<2.000000e+00> : tensor<f32>
    %1 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<512xf32>
    %2 = stablehlo.add %arg0, %1 : tensor<512xf32>
    %3 = chlo.lgamma %2 : tensor<512xf32> -> tensor<512xf32>
    %4 = stablehlo.add %0, %3 : tensor<512xf32>
    return %4 : tensor<512xf32>
  }
}
