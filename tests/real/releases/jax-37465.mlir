module @jit__lambda attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<128x128x128xf32>) -> (tensor<128x128x128xf32> {jax.result_info = "result"}) {
    %0 = call @diff(%arg0) : (tensor<128x128x128xf32>) -> tensor<127x128x128xf32>
    %cst = stablehlo.constant dense<2.000000e+00> : tensor<f32>
    %1 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<127x128x128xf32>
    %2 = stablehlo.multiply %1, %0 : tensor<127x128x128xf32>
    %3 = call @diff_0(%arg0) : (tensor<128x128x128xf32>) -> tensor<128x127x128xf32>
    %cst_0 = stablehlo.constant dense<2.000000e+00> : tensor<f32>
    %4 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<128x127x128xf32>
    %5 = stablehlo.multiply %4, %3 : tensor<128x127x128xf32>
    %6 = call @diff_1(%arg0) : (tensor<128x128x128xf32>) -> tensor<128x128x127xf32>
    %cst_1 = stablehlo.constant dense<2.000000e+00> : tensor<f32>
    %7 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<128x128x127xf32>
    %8 = stablehlo.multiply %7, %6 : tensor<128x128x127xf32>
    %cst_2 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %9 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<128x128x127xf32>
    %10 = stablehlo.multiply %9, %8 : tensor<128x128x127xf32>
    %11 = call @diff_2(%10) : (tensor<128x128x127xf32>) -> tensor<128x128x128xf32>
    %cst_3 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %12 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<f32>) -> tensor<128x127x128xf32>
    %13 = stablehlo.multiply %12, %5 : tensor<128x127x128xf32>
    %14 = call @diff_3(%13) : (tensor<128x127x128xf32>) -> tensor<128x128x128xf32>
    %15 = stablehlo.add %11, %14 : tensor<128x128x128xf32>
    %cst_4 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %16 = stablehlo.broadcast_in_dim %cst_4, dims = [] : (tensor<f32>) -> tensor<127x128x128xf32>
    %17 = stablehlo.multiply %16, %2 : tensor<127x128x128xf32>
    %18 = call @diff_4(%17) : (tensor<127x128x128xf32>) -> tensor<128x128x128xf32>
    %19 = stablehlo.add %15, %18 : tensor<128x128x128xf32>
    return %19 : tensor<128x128x128xf32>
  }
  func.func private @diff(%arg0: tensor<128x128x128xf32>) -> tensor<127x128x128xf32> {
    %0 = stablehlo.slice %arg0 [1:128, 0:128, 0:128] : (tensor<128x128x128xf32>) -> tensor<127x128x128xf32>
    %1 = stablehlo.slice %arg0 [0:127, 0:128, 0:128] : (tensor<128x128x128xf32>) -> tensor<127x128x128xf32>
    %2 = stablehlo.subtract %0, %1 : tensor<127x128x128xf32>
    return %2 : tensor<127x128x128xf32>
  }
  func.func private @diff_0(%arg0: tensor<128x128x128xf32>) -> tensor<128x127x128xf32> {
    %0 = stablehlo.slice %arg0 [0:128, 1:128, 0:128] : (tensor<128x128x128xf32>) -> tensor<128x127x128xf32>
    %1 = stablehlo.slice %arg0 [0:128, 0:127, 0:128] : (tensor<128x128x128xf32>) -> tensor<128x127x128xf32>
    %2 = stablehlo.subtract %0, %1 : tensor<128x127x128xf32>
    return %2 : tensor<128x127x128xf32>
  }
  func.func private @diff_1(%arg0: tensor<128x128x128xf32>) -> tensor<128x128x127xf32> {
    %0 = stablehlo.slice %arg0 [0:128, 0:128, 1:128] : (tensor<128x128x128xf32>) -> tensor<128x128x127xf32>
    %1 = stablehlo.slice %arg0 [0:128, 0:128, 0:127] : (tensor<128x128x128xf32>) -> tensor<128x128x127xf32>
    %2 = stablehlo.subtract %0, %1 : tensor<128x128x127xf32>
    return %2 : tensor<128x128x127xf32>
  }
  func.func private @diff_2(%arg0: tensor<128x128x127xf32>) -> tensor<128x128x128xf32> {
    %0 = stablehlo.negate %arg0 : tensor<128x128x127xf32>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %1 = stablehlo.pad %0, %cst, low = [0, 0, 0], high = [0, 0, 1], interior = [0, 0, 0] : (tensor<128x128x127xf32>, tensor<f32>) -> tensor<128x128x128xf32>
    %cst_0 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %2 = stablehlo.pad %arg0, %cst_0, low = [0, 0, 1], high = [0, 0, 0], interior = [0, 0, 0] : (tensor<128x128x127xf32>, tensor<f32>) -> tensor<128x128x128xf32>
    %3 = stablehlo.add %1, %2 : tensor<128x128x128xf32>
    return %3 : tensor<128x128x128xf32>
  }
  func.func private @diff_3(%arg0: tensor<128x127x128xf32>) -> tensor<128x128x128xf32> {
    %0 = stablehlo.negate %arg0 : tensor<128x127x128xf32>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %1 = stablehlo.pad %0, %cst, low = [0, 0, 0], high = [0, 1, 0], interior = [0, 0, 0] : (tensor<128x127x128xf32>, tensor<f32>) -> tensor<128x128x128xf32>
    %cst_0 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %2 = stablehlo.pad %arg0, %cst_0, low = [0, 1, 0], high = [0, 0, 0], interior = [0, 0, 0] : (tensor<128x127x128xf32>, tensor<f32>) -> tensor<128x128x128xf32>
    %3 = stablehlo.add %1, %2 : tensor<128x128x128xf32>
    return %3 : tensor<128x128x128xf32>
  }
  func.func private @diff_4(%arg0: tensor<127x128x128xf32>) -> tensor<128x128x128xf32> {
    %0 = stablehlo.negate %arg0 : tensor<127x128x128xf32>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %1 = stablehlo.pad %0, %cst, low = [0, 0, 0], high = [1, 0, 0], interior = [0, 0, 0] : (tensor<127x128x128xf32>, tensor<f32>) -> tensor<128x128x128xf32>
    %cst_0 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %2 = stablehlo.pad %arg0, %cst_0, low = [1, 0, 0], high = [0, 0, 0], interior = [0, 0, 0] : (tensor<127x128x128xf32>, tensor<f32>) -> tensor<128x128x128xf32>
    %3 = stablehlo.add %1, %2 : tensor<128x128x128xf32>
    return %3 : tensor<128x128x128xf32>
  }
}
