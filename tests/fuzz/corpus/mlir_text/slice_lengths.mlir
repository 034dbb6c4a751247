func.func @main(%a: tensor<4x8xf32>) -> tensor<2x8xf32> {
  %0 = "stablehlo.slice"(%a) <{start_indices = array<i64: 0, 0>, limit_indices = array<i64: 2>, strides = array<i64>}> : (tensor<4x8xf32>) -> tensor<2x8xf32>
  return %0 : tensor<2x8xf32>
}
