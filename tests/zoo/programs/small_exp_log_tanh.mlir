module @jit__lambda attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<1024xf32>) -> (tensor<1024xf32> {jax.result_info = "result"}) {
    %0 = stablehlo.exponential %arg0 : tensor<1024xf32>
    %1 = stablehlo.log_plus_one %0 : tensor<1024xf32>
    %2 = stablehlo.tanh %1 : tensor<1024xf32>
    return %2 : tensor<1024xf32>
  }
}
