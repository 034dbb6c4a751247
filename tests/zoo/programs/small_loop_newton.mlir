module @jit_newton attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<2xf32>) -> (tensor<f32> {jax.result_info = "result"}) {
    %0 = stablehlo.slice %arg0 [0:1] : (tensor<2xf32>) -> tensor<1xf32>
    %1 = stablehlo.reshape %0 : (tensor<1xf32>) -> tensor<f32>
    %cst = stablehlo.constant dense<2.000000e+00> : tensor<f32>
    %2 = stablehlo.add %1, %cst : tensor<f32>
    %3 = stablehlo.slice %arg0 [1:2] : (tensor<2xf32>) -> tensor<1xf32>
    %4 = stablehlo.reshape %3 : (tensor<1xf32>) -> tensor<f32>
    %cst_0 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %5 = stablehlo.add %cst_0, %4 : tensor<f32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %6:3 = stablehlo.while(%iterArg = %2, %iterArg_1 = %5, %iterArg_2 = %c) : tensor<f32>, tensor<f32>, tensor<i32>
    cond {
      %7 = stablehlo.abs %iterArg_1 : tensor<f32>
      %cst_3 = stablehlo.constant dense<9.99999997E-7> : tensor<f32>
      %8 = stablehlo.compare GT, %7, %cst_3, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %c_4 = stablehlo.constant dense<1000> : tensor<i32>
      %9 = stablehlo.compare LT, %iterArg_2, %c_4, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      %c_5 = stablehlo.constant dense<false> : tensor<i1>
      %10 = stablehlo.broadcast_in_dim %c_5, dims = [] : (tensor<i1>) -> tensor<i1>
      %11 = stablehlo.compare NE, %9, %10, UNSIGNED : (tensor<i1>, tensor<i1>) -> tensor<i1>
      %12 = stablehlo.convert %11 : tensor<i1>
      %13 = stablehlo.and %8, %12 : tensor<i1>
      stablehlo.return %13 : tensor<i1>
    } do {
      %7 = stablehlo.multiply %iterArg, %iterArg : tensor<f32>
      %8 = stablehlo.multiply %7, %iterArg : tensor<f32>
      %cst_3 = stablehlo.constant dense<2.000000e+00> : tensor<f32>
      %9 = stablehlo.subtract %8, %cst_3 : tensor<f32>
      %cst_4 = stablehlo.constant dense<5.000000e-02> : tensor<f32>
      %10 = stablehlo.multiply %cst_4, %9 : tensor<f32>
      %11 = stablehlo.subtract %iterArg, %10 : tensor<f32>
      %12 = stablehlo.multiply %iterArg, %iterArg : tensor<f32>
      %13 = stablehlo.multiply %12, %iterArg : tensor<f32>
      %cst_5 = stablehlo.constant dense<2.000000e+00> : tensor<f32>
      %14 = stablehlo.subtract %13, %cst_5 : tensor<f32>
      %c_6 = stablehlo.constant dense<1> : tensor<i32>
      %15 = stablehlo.add %iterArg_2, %c_6 : tensor<i32>
      stablehlo.return %11, %14, %15 : tensor<f32>, tensor<f32>, tensor<i32>
    }
    return %6#0 : tensor<f32>
  }
}
