func.func @main(%a: tensor<4x8xf32>, %z: tensor<f32>) -> (tensor<4xf64>, tensor<4x8xf32>) {
  %0 = "stablehlo.reduce"(%a, %z) <{dimensions = array<i64: 1>}> ({
  ^bb0(%x: tensor<f64>, %y: tensor<f64>):
    %2 = stablehlo.add %x, %y : tensor<f64>
    stablehlo.return %2 : tensor<f64>
  }) : (tensor<4x8xf32>, tensor<f32>) -> tensor<4xf64>
  %1 = "stablehlo.all_to_all"(%a) <{split_dimension = 1 : i64, concat_dimension = 0 : i64, split_count = 1 : i64, replica_groups = dense<[[0]]> : tensor<1x1xi64>}> : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return %0, %1 : tensor<4xf64>, tensor<4x8xf32>
}
