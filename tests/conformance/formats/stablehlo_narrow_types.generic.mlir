"builtin.module"() <{sym_name = "jit_narrow_types"}> ({
  "func.func"() <{arg_attrs = [{}, {}, {}], function_type = (tensor<4x4xf32>, tensor<6xi32>, tensor<6xi32>) -> (tensor<4x4xf16>, tensor<6xi8>, tensor<4x4xcomplex<f32>>, tensor<6xi4>, tensor<4x4x4xui8>), res_attrs = [{jax.result_info = "result[0]"}, {jax.result_info = "result[1]"}, {jax.result_info = "result[2]"}, {jax.result_info = "result[3]"}, {jax.result_info = "result[4]"}], sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg0: tensor<4x4xf32>, %arg1: tensor<6xi32>, %arg2: tensor<6xi32>):
    %0 = "stablehlo.convert"(%arg0) : (tensor<4x4xf32>) -> tensor<4x4xbf16>
    %1 = "stablehlo.convert"(%arg0) : (tensor<4x4xf32>) -> tensor<4x4xbf16>
    %2 = "stablehlo.dot_general"(%0, %1) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<4x4xbf16>, tensor<4x4xbf16>) -> tensor<4x4xbf16>
    %3 = "stablehlo.convert"(%2) : (tensor<4x4xbf16>) -> tensor<4x4xf16>
    %4 = "stablehlo.convert"(%arg1) : (tensor<6xi32>) -> tensor<6xi8>
    %5 = "stablehlo.constant"() <{value = dense<3> : tensor<i8>}> : () -> tensor<i8>
    %6 = "stablehlo.broadcast_in_dim"(%5) <{broadcast_dimensions = array<i64>}> : (tensor<i8>) -> tensor<6xi8>
    %7 = "stablehlo.multiply"(%4, %6) : (tensor<6xi8>, tensor<6xi8>) -> tensor<6xi8>
    %8 = "stablehlo.complex"(%arg0, %arg0) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xcomplex<f32>>
    %9 = "stablehlo.constant"() <{value = dense<(0.000000e+00,2.000000e+00)> : tensor<complex<f32>>}> : () -> tensor<complex<f32>>
    %10 = "stablehlo.broadcast_in_dim"(%9) <{broadcast_dimensions = array<i64>}> : (tensor<complex<f32>>) -> tensor<4x4xcomplex<f32>>
    %11 = "stablehlo.multiply"(%8, %10) : (tensor<4x4xcomplex<f32>>, tensor<4x4xcomplex<f32>>) -> tensor<4x4xcomplex<f32>>
    %12 = "stablehlo.convert"(%arg2) : (tensor<6xi32>) -> tensor<6xi4>
    %13 = "stablehlo.bitcast_convert"(%arg0) : (tensor<4x4xf32>) -> tensor<4x4x4xui8>
    "func.return"(%3, %7, %11, %12, %13) : (tensor<4x4xf16>, tensor<6xi8>, tensor<4x4xcomplex<f32>>, tensor<6xi4>, tensor<4x4x4xui8>) -> ()
  }) : () -> ()
}) {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} : () -> ()
