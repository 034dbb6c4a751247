module @jit_loop attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<f64>) -> (tensor<1000xf64> {jax.result_info = "result"}) {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f64>) -> tensor<1000xf64>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %1 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<1xi32>
    %2 = "stablehlo.scatter"(%0, %1, %arg0) <{indices_are_sorted = true, scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0]>, unique_indices = true}> ({
    ^bb0(%arg1: tensor<f64>, %arg2: tensor<f64>):
      stablehlo.return %arg2 : tensor<f64>
    }) : (tensor<1000xf64>, tensor<1xi32>, tensor<f64>) -> tensor<1000xf64>
    %c_0 = stablehlo.constant dense<0> : tensor<i64>
    %c_1 = stablehlo.constant dense<0> : tensor<i64>
    %3:3 = stablehlo.while(%iterArg = %c_1, %iterArg_2 = %c_0, %iterArg_3 = %2) : tensor<i64>, tensor<i64>, tensor<1000xf64>
    cond {
      %c_4 = stablehlo.constant dense<999> : tensor<i64>
      %4 = stablehlo.compare LT, %iterArg, %c_4, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
      stablehlo.return %4 : tensor<i1>
    } do {
      %4:2 = func.call @closed_call(%iterArg_2, %iterArg_3) : (tensor<i64>, tensor<1000xf64>) -> (tensor<i64>, tensor<1000xf64>)
      %c_4 = stablehlo.constant dense<1> : tensor<i64>
      %5 = stablehlo.add %iterArg, %c_4 : tensor<i64>
      stablehlo.return %5, %4#0, %4#1 : tensor<i64>, tensor<i64>, tensor<1000xf64>
    }
    return %3#2 : tensor<1000xf64>
  }
  func.func private @closed_call(%arg0: tensor<i64>, %arg1: tensor<1000xf64>) -> (tensor<i64>, tensor<1000xf64>) {
    %c = stablehlo.constant dense<1> : tensor<i64>
    %0 = stablehlo.add %arg0, %c : tensor<i64>
    %c_0 = stablehlo.constant dense<1> : tensor<i64>
    %1 = stablehlo.add %arg0, %c_0 : tensor<i64>
    %c_1 = stablehlo.constant dense<0> : tensor<i64>
    %2 = stablehlo.compare LT, %arg0, %c_1, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
    %3 = stablehlo.convert %arg0 : tensor<i64>
    %c_2 = stablehlo.constant dense<1000> : tensor<i64>
    %4 = stablehlo.add %3, %c_2 : tensor<i64>
    %5 = stablehlo.select %2, %4, %arg0 : tensor<i1>, tensor<i64>
    %6 = stablehlo.dynamic_slice %arg1, %5, sizes = [1] : (tensor<1000xf64>, tensor<i64>) -> tensor<1xf64>
    %7 = stablehlo.reshape %6 : (tensor<1xf64>) -> tensor<f64>
    %cst = stablehlo.constant dense<4.000000e+00> : tensor<f64>
    %8 = stablehlo.multiply %cst, %7 : tensor<f64>
    %c_3 = stablehlo.constant dense<0> : tensor<i64>
    %9 = stablehlo.compare LT, %arg0, %c_3, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
    %10 = stablehlo.convert %arg0 : tensor<i64>
    %c_4 = stablehlo.constant dense<1000> : tensor<i64>
    %11 = stablehlo.add %10, %c_4 : tensor<i64>
    %12 = stablehlo.select %9, %11, %arg0 : tensor<i1>, tensor<i64>
    %13 = stablehlo.dynamic_slice %arg1, %12, sizes = [1] : (tensor<1000xf64>, tensor<i64>) -> tensor<1xf64>
    %14 = stablehlo.reshape %13 : (tensor<1xf64>) -> tensor<f64>
    %cst_5 = stablehlo.constant dense<1.000000e+00> : tensor<f64>
    %15 = stablehlo.subtract %cst_5, %14 : tensor<f64>
    %16 = stablehlo.multiply %8, %15 : tensor<f64>
    %c_6 = stablehlo.constant dense<0> : tensor<i64>
    %17 = stablehlo.compare LT, %1, %c_6, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
    %c_7 = stablehlo.constant dense<1000> : tensor<i64>
    %18 = stablehlo.add %1, %c_7 : tensor<i64>
    %19 = stablehlo.select %17, %18, %1 : tensor<i1>, tensor<i64>
    %20 = stablehlo.convert %19 : (tensor<i64>) -> tensor<i32>
    %21 = stablehlo.broadcast_in_dim %20, dims = [] : (tensor<i32>) -> tensor<1xi32>
    %22 = "stablehlo.scatter"(%arg1, %21, %16) <{indices_are_sorted = true, scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0]>, unique_indices = true}> ({
    ^bb0(%arg2: tensor<f64>, %arg3: tensor<f64>):
      stablehlo.return %arg3 : tensor<f64>
    }) : (tensor<1000xf64>, tensor<1xi32>, tensor<f64>) -> tensor<1000xf64>
    return %0, %22 : tensor<i64>, tensor<1000xf64>
  }
}
