// As jax.export writes a function of x: f32[b, t] with b >= 1 and y: f32[2*t].
module @jit_f {
  func.func public @main(%x: tensor<?x?xf32>, %y: tensor<?xf32>) -> tensor<?x?xf32> {
    %one = stablehlo.constant dense<1> : tensor<i32>
    %b = stablehlo.get_dimension_size %x, dim = 0 : (tensor<?x?xf32>) -> tensor<i32>
    %t = stablehlo.get_dimension_size %x, dim = 1 : (tensor<?x?xf32>) -> tensor<i32>
    %ok = stablehlo.compare GE, %b, %one, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.custom_call @shape_assertion(%ok, %b) {api_version = 2 : i32, error_message = "Input shapes do not match the polymorphic shapes specification. Expected value >= 1 for dimension variable 'b', got {0}. Using the following polymorphic shapes specifications: args[0].shape = (b, t),args[1].shape = (2*t,). Obtained dimension variables: 'b' = {0}", has_side_effect = true} : (tensor<i1>, tensor<i32>) -> ()
    %r = call @wrapped(%b, %t, %x, %y) : (tensor<i32>, tensor<i32>, tensor<?x?xf32>, tensor<?xf32>) -> tensor<?x?xf32>
    return %r : tensor<?x?xf32>
  }
  func.func private @wrapped(%b: tensor<i32>, %t: tensor<i32>, %x: tensor<?x?xf32>, %y: tensor<?xf32>) -> tensor<?x?xf32> {
    %two = stablehlo.constant dense<2> : tensor<1xi32>
    %b1 = stablehlo.reshape %b : (tensor<i32>) -> tensor<1xi32>
    %t1 = stablehlo.reshape %t : (tensor<i32>) -> tensor<1xi32>
    %s = stablehlo.concatenate %two, %t1, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
    %pairs = stablehlo.dynamic_reshape %y, %s : (tensor<?xf32>, tensor<2xi32>) -> tensor<2x?xf32>
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %sum = stablehlo.reduce(%pairs init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<2x?xf32>, tensor<f32>) -> tensor<?xf32>
    %bt = stablehlo.concatenate %b1, %t1, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
    %rows = stablehlo.dynamic_broadcast_in_dim %sum, %bt, dims = [1] : (tensor<?xf32>, tensor<2xi32>) -> tensor<?x?xf32>
    %r = stablehlo.add %x, %rows : tensor<?x?xf32>
    return %r : tensor<?x?xf32>
  }
}
