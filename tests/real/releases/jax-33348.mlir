module @jit_test attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main() -> (tensor<2xi32> {jax.result_info = "result"}) {
    %c = stablehlo.constant dense<0> : tensor<2xi32>
    %0:2 = stablehlo.while(%iterArg = %c, %iterArg_0 = %c) : tensor<2xi32>, tensor<2xi32>
    cond {
      %1 = stablehlo.compare NE, %iterArg_0, %iterArg, SIGNED : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi1>
      %c_1 = stablehlo.constant dense<false> : tensor<i1>
      %2 = stablehlo.reduce(%1 init: %c_1) applies stablehlo.or across dimensions = [0] : (tensor<2xi1>, tensor<i1>) -> tensor<i1>
      stablehlo.return %2 : tensor<i1>
    } do {
      %c_1 = stablehlo.constant dense<0> : tensor<i64>
      %c_2 = stablehlo.constant dense<0> : tensor<i64>
      %c_3 = stablehlo.constant dense<0> : tensor<i64>
      %1:3 = stablehlo.while(%iterArg_5 = %c_1, %iterArg_6 = %c_3, %iterArg_7 = %c_2) : tensor<i64>, tensor<i64>, tensor<i64>
      cond {
        %c_8 = stablehlo.constant dense<3> : tensor<i64>
        %3 = stablehlo.compare LT, %iterArg_6, %c_8, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
        stablehlo.return %3 : tensor<i1>
      } do {
        %3 = func.call @closed_call(%iterArg_5, %iterArg_7) : (tensor<i64>, tensor<i64>) -> tensor<i64>
        %c_8 = stablehlo.constant dense<1> : tensor<i64>
        %4 = stablehlo.add %iterArg_6, %c_8 : tensor<i64>
        stablehlo.return %iterArg_5, %4, %3 : tensor<i64>, tensor<i64>, tensor<i64>
      }
      %c_4 = stablehlo.constant dense<0> : tensor<i32>
      %2 = stablehlo.broadcast_in_dim %c_4, dims = [] : (tensor<i32>) -> tensor<2xi32>
      stablehlo.return %iterArg, %2 : tensor<2xi32>, tensor<2xi32>
    }
    return %0#1 : tensor<2xi32>
  }
  func.func private @closed_call(%arg0: tensor<i64>, %arg1: tensor<i64>) -> tensor<i64> {
    %c = stablehlo.constant dense<1> : tensor<i64>
    %0 = stablehlo.add %arg1, %c : tensor<i64>
    return %0 : tensor<i64>
  }
}
