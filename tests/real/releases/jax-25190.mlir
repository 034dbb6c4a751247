module @jit_gather_loop attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<16384xf32>) -> (tensor<i32> {jax.result_info = "result"}) {
    %cst = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %0 = stablehlo.reduce(%arg0 init: %cst) applies stablehlo.maximum across dimensions = [0] : (tensor<16384xf32>, tensor<f32>) -> tensor<f32>
    %cst_0 = stablehlo.constant dense<-3.000000e+38> : tensor<f32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %1:4 = stablehlo.while(%iterArg = %0, %iterArg_1 = %arg0, %iterArg_2 = %cst_0, %iterArg_3 = %c) : tensor<f32>, tensor<16384xf32>, tensor<f32>, tensor<i32>
    cond {
      %2 = stablehlo.compare LT, %iterArg_2, %iterArg, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %2 : tensor<i1>
    } do {
      %c_4 = stablehlo.constant dense<0> : tensor<i32>
      %2 = stablehlo.compare LT, %iterArg_3, %c_4, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      %c_5 = stablehlo.constant dense<16384> : tensor<i32>
      %3 = stablehlo.add %iterArg_3, %c_5 : tensor<i32>
      %4 = stablehlo.select %2, %3, %iterArg_3 : tensor<i1>, tensor<i32>
      %5 = stablehlo.dynamic_slice %iterArg_1, %4, sizes = [1] : (tensor<16384xf32>, tensor<i32>) -> tensor<1xf32>
      %6 = stablehlo.reshape %5 : (tensor<1xf32>) -> tensor<f32>
      %7 = stablehlo.maximum %iterArg_2, %6 : tensor<f32>
      %c_6 = stablehlo.constant dense<1> : tensor<i32>
      %8 = stablehlo.add %iterArg_3, %c_6 : tensor<i32>
      stablehlo.return %iterArg, %iterArg_1, %7, %8 : tensor<f32>, tensor<16384xf32>, tensor<f32>, tensor<i32>
    }
    return %1#3 : tensor<i32>
  }
}
