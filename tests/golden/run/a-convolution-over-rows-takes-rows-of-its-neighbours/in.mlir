module @halos attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["x"=4]>
  func.func public @main(%x: tensor<2x16x6x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}, {}, {}]>}, %k: tensor<3x3x8x8xf32>, %s: tensor<3x3x8x4xf32>, %d: tensor<5x3x1x8xf32>) -> (tensor<2x16x6x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}, {}, {}]>}, tensor<2x8x3x4xf32>, tensor<2x16x6x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}, {}, {"x"}]>}) {
    %0 = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [1, 1], pad = [[2, 2], [1, 1]], rhs_dilate = [2, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x16x6x8xf32>, tensor<3x3x8x8xf32>) -> tensor<2x16x6x8xf32>
    %1 = stablehlo.convolution(%x, %s) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [2, 2], pad = [[0, 1], [0, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x16x6x8xf32>, tensor<3x3x8x4xf32>) -> tensor<2x8x3x4xf32>
    %2 = stablehlo.convolution(%x, %d) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [1, 1], pad = [[2, 2], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 8 : i64} : (tensor<2x16x6x8xf32>, tensor<5x3x1x8xf32>) -> tensor<2x16x6x8xf32>
    return %0, %1, %2 : tensor<2x16x6x8xf32>, tensor<2x8x3x4xf32>, tensor<2x16x6x8xf32>
  }
}
