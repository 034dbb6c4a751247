"builtin.module"() <{sym_name = "jit_random"}> ({
  "func.func"() <{arg_attrs = [{}, {}], function_type = (tensor<2xui32>, tensor<8xf32>) -> (tensor<4x4xf32>, tensor<8xf32>, tensor<8xi1>), res_attrs = [{jax.result_info = "result[0]"}, {jax.result_info = "result[1]"}, {jax.result_info = "result[2]"}], sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg107: tensor<2xui32>, %arg108: tensor<8xf32>):
    %341 = "func.call"(%arg107) <{callee = @_normal}> : (tensor<2xui32>) -> tensor<4x4xf32>
    %342 = "func.call"(%arg107, %arg108) <{callee = @_shuffle}> : (tensor<2xui32>, tensor<8xf32>) -> tensor<8xf32>
    %343 = "stablehlo.constant"() <{value = dense<3.000000e-01> : tensor<f32>}> : () -> tensor<f32>
    %344 = "func.call"(%arg107, %343) <{callee = @_bernoulli}> : (tensor<2xui32>, tensor<f32>) -> tensor<8xi1>
    "func.return"(%341, %342, %344) : (tensor<4x4xf32>, tensor<8xf32>, tensor<8xi1>) -> ()
  }) : () -> ()
  "func.func"() <{arg_attrs = [{}], function_type = (tensor<2xui32>) -> tensor<4x4xf32>, res_attrs = [{}], sym_name = "_normal", sym_visibility = "private"}> ({
  ^bb0(%arg106: tensor<2xui32>):
    %340 = "func.call"(%arg106) <{callee = @_normal_real}> : (tensor<2xui32>) -> tensor<4x4xf32>
    "func.return"(%340) : (tensor<4x4xf32>) -> ()
  }) : () -> ()
  "func.func"() <{arg_attrs = [{}], function_type = (tensor<2xui32>) -> tensor<4x4xf32>, res_attrs = [{}], sym_name = "_normal_real", sym_visibility = "private"}> ({
  ^bb0(%arg105: tensor<2xui32>):
    %333 = "stablehlo.constant"() <{value = dense<-0.99999994> : tensor<f32>}> : () -> tensor<f32>
    %334 = "stablehlo.constant"() <{value = dense<1.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %335 = "func.call"(%arg105, %333, %334) <{callee = @_uniform}> : (tensor<2xui32>, tensor<f32>, tensor<f32>) -> tensor<4x4xf32>
    %336 = "chlo.erf_inv"(%335) : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %337 = "stablehlo.constant"() <{value = dense<1.41421354> : tensor<f32>}> : () -> tensor<f32>
    %338 = "stablehlo.broadcast_in_dim"(%337) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<4x4xf32>
    %339 = "stablehlo.multiply"(%338, %336) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    "func.return"(%339) : (tensor<4x4xf32>) -> ()
  }) : () -> ()
  "func.func"() <{arg_attrs = [{}, {}, {}], function_type = (tensor<2xui32>, tensor<f32>, tensor<f32>) -> tensor<4x4xf32>, res_attrs = [{}], sym_name = "_uniform", sym_visibility = "private"}> ({
  ^bb0(%arg102: tensor<2xui32>, %arg103: tensor<f32>, %arg104: tensor<f32>):
    %294 = "stablehlo.broadcast_in_dim"(%arg103) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<1x1xf32>
    %295 = "stablehlo.broadcast_in_dim"(%arg104) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<1x1xf32>
    %296 = "stablehlo.slice"(%arg102) <{limit_indices = array<i64: 1>, start_indices = array<i64: 0>, strides = array<i64: 1>}> : (tensor<2xui32>) -> tensor<1xui32>
    %297 = "stablehlo.reshape"(%296) : (tensor<1xui32>) -> tensor<ui32>
    %298 = "stablehlo.slice"(%arg102) <{limit_indices = array<i64: 2>, start_indices = array<i64: 1>, strides = array<i64: 1>}> : (tensor<2xui32>) -> tensor<1xui32>
    %299 = "stablehlo.reshape"(%298) : (tensor<1xui32>) -> tensor<ui32>
    %300 = "stablehlo.iota"() <{iota_dimension = 0 : i64}> : () -> tensor<4x4xui64>
    %301 = "stablehlo.iota"() <{iota_dimension = 1 : i64}> : () -> tensor<4x4xui64>
    %302 = "stablehlo.constant"() <{value = dense<4> : tensor<ui64>}> : () -> tensor<ui64>
    %303 = "stablehlo.broadcast_in_dim"(%302) <{broadcast_dimensions = array<i64>}> : (tensor<ui64>) -> tensor<4x4xui64>
    %304 = "stablehlo.multiply"(%303, %300) : (tensor<4x4xui64>, tensor<4x4xui64>) -> tensor<4x4xui64>
    %305 = "stablehlo.constant"() <{value = dense<1> : tensor<ui64>}> : () -> tensor<ui64>
    %306 = "stablehlo.broadcast_in_dim"(%305) <{broadcast_dimensions = array<i64>}> : (tensor<ui64>) -> tensor<4x4xui64>
    %307 = "stablehlo.multiply"(%306, %301) : (tensor<4x4xui64>, tensor<4x4xui64>) -> tensor<4x4xui64>
    %308 = "stablehlo.add"(%304, %307) : (tensor<4x4xui64>, tensor<4x4xui64>) -> tensor<4x4xui64>
    %309 = "stablehlo.constant"() <{value = dense<32> : tensor<ui64>}> : () -> tensor<ui64>
    %310 = "stablehlo.broadcast_in_dim"(%309) <{broadcast_dimensions = array<i64>}> : (tensor<ui64>) -> tensor<4x4xui64>
    %311 = "stablehlo.shift_right_logical"(%308, %310) : (tensor<4x4xui64>, tensor<4x4xui64>) -> tensor<4x4xui64>
    %312 = "stablehlo.convert"(%308) : (tensor<4x4xui64>) -> tensor<4x4xui32>
    %313 = "stablehlo.convert"(%311) : (tensor<4x4xui64>) -> tensor<4x4xui32>
    %314:2 = "func.call"(%297, %299, %313, %312) <{callee = @threefry2x32}> : (tensor<ui32>, tensor<ui32>, tensor<4x4xui32>, tensor<4x4xui32>) -> (tensor<4x4xui32>, tensor<4x4xui32>)
    %315 = "stablehlo.xor"(%314#0, %314#1) : (tensor<4x4xui32>, tensor<4x4xui32>) -> tensor<4x4xui32>
    %316 = "stablehlo.constant"() <{value = dense<9> : tensor<ui32>}> : () -> tensor<ui32>
    %317 = "stablehlo.broadcast_in_dim"(%316) <{broadcast_dimensions = array<i64>}> : (tensor<ui32>) -> tensor<4x4xui32>
    %318 = "stablehlo.shift_right_logical"(%315, %317) : (tensor<4x4xui32>, tensor<4x4xui32>) -> tensor<4x4xui32>
    %319 = "stablehlo.constant"() <{value = dense<1065353216> : tensor<ui32>}> : () -> tensor<ui32>
    %320 = "stablehlo.broadcast_in_dim"(%319) <{broadcast_dimensions = array<i64>}> : (tensor<ui32>) -> tensor<4x4xui32>
    %321 = "stablehlo.or"(%318, %320) : (tensor<4x4xui32>, tensor<4x4xui32>) -> tensor<4x4xui32>
    %322 = "stablehlo.bitcast_convert"(%321) : (tensor<4x4xui32>) -> tensor<4x4xf32>
    %323 = "stablehlo.constant"() <{value = dense<1.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %324 = "stablehlo.broadcast_in_dim"(%323) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<4x4xf32>
    %325 = "stablehlo.subtract"(%322, %324) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %326 = "stablehlo.subtract"(%295, %294) : (tensor<1x1xf32>, tensor<1x1xf32>) -> tensor<1x1xf32>
    %327 = "stablehlo.broadcast_in_dim"(%326) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<1x1xf32>) -> tensor<4x4xf32>
    %328 = "stablehlo.multiply"(%325, %327) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %329 = "stablehlo.broadcast_in_dim"(%294) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<1x1xf32>) -> tensor<4x4xf32>
    %330 = "stablehlo.add"(%328, %329) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %331 = "stablehlo.broadcast_in_dim"(%294) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<1x1xf32>) -> tensor<4x4xf32>
    %332 = "stablehlo.maximum"(%331, %330) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    "func.return"(%332) : (tensor<4x4xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<ui32>, tensor<ui32>, tensor<4x4xui32>, tensor<4x4xui32>) -> (tensor<4x4xui32>, tensor<4x4xui32>), sym_name = "threefry2x32", sym_visibility = "private"}> ({
  ^bb0(%arg80: tensor<ui32>, %arg81: tensor<ui32>, %arg82: tensor<4x4xui32>, %arg83: tensor<4x4xui32>):
    %277 = "stablehlo.constant"() <{value = dense<[13, 15, 26, 6]> : tensor<4xui32>}> : () -> tensor<4xui32>
    %278 = "stablehlo.constant"() <{value = dense<[17, 29, 16, 24]> : tensor<4xui32>}> : () -> tensor<4xui32>
    %279 = "stablehlo.xor"(%arg80, %arg81) : (tensor<ui32>, tensor<ui32>) -> tensor<ui32>
    %280 = "stablehlo.constant"() <{value = dense<466688986> : tensor<ui32>}> : () -> tensor<ui32>
    %281 = "stablehlo.xor"(%279, %280) : (tensor<ui32>, tensor<ui32>) -> tensor<ui32>
    %282 = "stablehlo.broadcast_in_dim"(%arg80) <{broadcast_dimensions = array<i64>}> : (tensor<ui32>) -> tensor<4x4xui32>
    %283 = "stablehlo.add"(%arg82, %282) : (tensor<4x4xui32>, tensor<4x4xui32>) -> tensor<4x4xui32>
    %284 = "stablehlo.broadcast_in_dim"(%arg81) <{broadcast_dimensions = array<i64>}> : (tensor<ui32>) -> tensor<4x4xui32>
    %285 = "stablehlo.add"(%arg83, %284) : (tensor<4x4xui32>, tensor<4x4xui32>) -> tensor<4x4xui32>
    %286 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %287 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %288:9 = "stablehlo.while"(%287, %286, %283, %285, %arg81, %281, %arg80, %277, %278) ({
    ^bb0(%arg93: tensor<i32>, %arg94: tensor<i32>, %arg95: tensor<4x4xui32>, %arg96: tensor<4x4xui32>, %arg97: tensor<ui32>, %arg98: tensor<ui32>, %arg99: tensor<ui32>, %arg100: tensor<4xui32>, %arg101: tensor<4xui32>):
      %292 = "stablehlo.constant"() <{value = dense<5> : tensor<i32>}> : () -> tensor<i32>
      %293 = "stablehlo.compare"(%arg93, %292) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<i32>, tensor<i32>) -> tensor<i1>
      "stablehlo.return"(%293) : (tensor<i1>) -> ()
    }, {
    ^bb0(%arg84: tensor<i32>, %arg85: tensor<i32>, %arg86: tensor<4x4xui32>, %arg87: tensor<4x4xui32>, %arg88: tensor<ui32>, %arg89: tensor<ui32>, %arg90: tensor<ui32>, %arg91: tensor<4xui32>, %arg92: tensor<4xui32>):
      %289:8 = "func.call"(%arg85, %arg86, %arg87, %arg88, %arg89, %arg90, %arg91, %arg92) <{callee = @closed_call}> : (tensor<i32>, tensor<4x4xui32>, tensor<4x4xui32>, tensor<ui32>, tensor<ui32>, tensor<ui32>, tensor<4xui32>, tensor<4xui32>) -> (tensor<i32>, tensor<4x4xui32>, tensor<4x4xui32>, tensor<ui32>, tensor<ui32>, tensor<ui32>, tensor<4xui32>, tensor<4xui32>)
      %290 = "stablehlo.constant"() <{value = dense<1> : tensor<i32>}> : () -> tensor<i32>
      %291 = "stablehlo.add"(%arg84, %290) : (tensor<i32>, tensor<i32>) -> tensor<i32>
      "stablehlo.return"(%291, %289#0, %289#1, %289#2, %289#3, %289#4, %289#5, %289#6, %289#7) : (tensor<i32>, tensor<i32>, tensor<4x4xui32>, tensor<4x4xui32>, tensor<ui32>, tensor<ui32>, tensor<ui32>, tensor<4xui32>, tensor<4xui32>) -> ()
    }) : (tensor<i32>, tensor<i32>, tensor<4x4xui32>, tensor<4x4xui32>, tensor<ui32>, tensor<ui32>, tensor<ui32>, tensor<4xui32>, tensor<4xui32>) -> (tensor<i32>, tensor<i32>, tensor<4x4xui32>, tensor<4x4xui32>, tensor<ui32>, tensor<ui32>, tensor<ui32>, tensor<4xui32>, tensor<4xui32>)
    "func.return"(%288#2, %288#3) : (tensor<4x4xui32>, tensor<4x4xui32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<i32>, tensor<4x4xui32>, tensor<4x4xui32>, tensor<ui32>, tensor<ui32>, tensor<ui32>, tensor<4xui32>, tensor<4xui32>) -> (tensor<i32>, tensor<4x4xui32>, tensor<4x4xui32>, tensor<ui32>, tensor<ui32>, tensor<ui32>, tensor<4xui32>, tensor<4xui32>), res_attrs = [{}, {}, {}, {}, {}, {}, {}, {}], sym_name = "closed_call", sym_visibility = "private"}> ({
  ^bb0(%arg72: tensor<i32>, %arg73: tensor<4x4xui32>, %arg74: tensor<4x4xui32>, %arg75: tensor<ui32>, %arg76: tensor<ui32>, %arg77: tensor<ui32>, %arg78: tensor<4xui32>, %arg79: tensor<4xui32>):
    %222 = "stablehlo.constant"() <{value = dense<1> : tensor<i32>}> : () -> tensor<i32>
    %223 = "stablehlo.add"(%arg72, %222) : (tensor<i32>, tensor<i32>) -> tensor<i32>
    %224 = "stablehlo.slice"(%arg78) <{limit_indices = array<i64: 1>, start_indices = array<i64: 0>, strides = array<i64: 1>}> : (tensor<4xui32>) -> tensor<1xui32>
    %225 = "stablehlo.reshape"(%224) : (tensor<1xui32>) -> tensor<ui32>
    %226 = "stablehlo.add"(%arg73, %arg74) : (tensor<4x4xui32>, tensor<4x4xui32>) -> tensor<4x4xui32>
    %227 = "stablehlo.broadcast_in_dim"(%225) <{broadcast_dimensions = array<i64>}> : (tensor<ui32>) -> tensor<4x4xui32>
    %228 = "stablehlo.shift_left"(%arg74, %227) : (tensor<4x4xui32>, tensor<4x4xui32>) -> tensor<4x4xui32>
    %229 = "stablehlo.constant"() <{value = dense<32> : tensor<ui32>}> : () -> tensor<ui32>
    %230 = "stablehlo.subtract"(%229, %225) : (tensor<ui32>, tensor<ui32>) -> tensor<ui32>
    %231 = "stablehlo.broadcast_in_dim"(%230) <{broadcast_dimensions = array<i64>}> : (tensor<ui32>) -> tensor<4x4xui32>
    %232 = "stablehlo.shift_right_logical"(%arg74, %231) : (tensor<4x4xui32>, tensor<4x4xui32>) -> tensor<4x4xui32>
    %233 = "stablehlo.or"(%228, %232) : (tensor<4x4xui32>, tensor<4x4xui32>) -> tensor<4x4xui32>
    %234 = "stablehlo.xor"(%226, %233) : (tensor<4x4xui32>, tensor<4x4xui32>) -> tensor<4x4xui32>
    %235 = "stablehlo.slice"(%arg78) <{limit_indices = array<i64: 2>, start_indices = array<i64: 1>, strides = array<i64: 1>}> : (tensor<4xui32>) -> tensor<1xui32>
    %236 = "stablehlo.reshape"(%235) : (tensor<1xui32>) -> tensor<ui32>
    %237 = "stablehlo.add"(%226, %234) : (tensor<4x4xui32>, tensor<4x4xui32>) -> tensor<4x4xui32>
    %238 = "stablehlo.broadcast_in_dim"(%236) <{broadcast_dimensions = array<i64>}> : (tensor<ui32>) -> tensor<4x4xui32>
    %239 = "stablehlo.shift_left"(%234, %238) : (tensor<4x4xui32>, tensor<4x4xui32>) -> tensor<4x4xui32>
    %240 = "stablehlo.constant"() <{value = dense<32> : tensor<ui32>}> : () -> tensor<ui32>
    %241 = "stablehlo.subtract"(%240, %236) : (tensor<ui32>, tensor<ui32>) -> tensor<ui32>
    %242 = "stablehlo.broadcast_in_dim"(%241) <{broadcast_dimensions = array<i64>}> : (tensor<ui32>) -> tensor<4x4xui32>
    %243 = "stablehlo.shift_right_logical"(%234, %242) : (tensor<4x4xui32>, tensor<4x4xui32>) -> tensor<4x4xui32>
    %244 = "stablehlo.or"(%239, %243) : (tensor<4x4xui32>, tensor<4x4xui32>) -> tensor<4x4xui32>
    %245 = "stablehlo.xor"(%237, %244) : (tensor<4x4xui32>, tensor<4x4xui32>) -> tensor<4x4xui32>
    %246 = "stablehlo.slice"(%arg78) <{limit_indices = array<i64: 3>, start_indices = array<i64: 2>, strides = array<i64: 1>}> : (tensor<4xui32>) -> tensor<1xui32>
    %247 = "stablehlo.reshape"(%246) : (tensor<1xui32>) -> tensor<ui32>
    %248 = "stablehlo.add"(%237, %245) : (tensor<4x4xui32>, tensor<4x4xui32>) -> tensor<4x4xui32>
    %249 = "stablehlo.broadcast_in_dim"(%247) <{broadcast_dimensions = array<i64>}> : (tensor<ui32>) -> tensor<4x4xui32>
    %250 = "stablehlo.shift_left"(%245, %249) : (tensor<4x4xui32>, tensor<4x4xui32>) -> tensor<4x4xui32>
    %251 = "stablehlo.constant"() <{value = dense<32> : tensor<ui32>}> : () -> tensor<ui32>
    %252 = "stablehlo.subtract"(%251, %247) : (tensor<ui32>, tensor<ui32>) -> tensor<ui32>
    %253 = "stablehlo.broadcast_in_dim"(%252) <{broadcast_dimensions = array<i64>}> : (tensor<ui32>) -> tensor<4x4xui32>
    %254 = "stablehlo.shift_right_logical"(%245, %253) : (tensor<4x4xui32>, tensor<4x4xui32>) -> tensor<4x4xui32>
    %255 = "stablehlo.or"(%250, %254) : (tensor<4x4xui32>, tensor<4x4xui32>) -> tensor<4x4xui32>
    %256 = "stablehlo.xor"(%248, %255) : (tensor<4x4xui32>, tensor<4x4xui32>) -> tensor<4x4xui32>
    %257 = "stablehlo.slice"(%arg78) <{limit_indices = array<i64: 4>, start_indices = array<i64: 3>, strides = array<i64: 1>}> : (tensor<4xui32>) -> tensor<1xui32>
    %258 = "stablehlo.reshape"(%257) : (tensor<1xui32>) -> tensor<ui32>
    %259 = "stablehlo.add"(%248, %256) : (tensor<4x4xui32>, tensor<4x4xui32>) -> tensor<4x4xui32>
    %260 = "stablehlo.broadcast_in_dim"(%258) <{broadcast_dimensions = array<i64>}> : (tensor<ui32>) -> tensor<4x4xui32>
    %261 = "stablehlo.shift_left"(%256, %260) : (tensor<4x4xui32>, tensor<4x4xui32>) -> tensor<4x4xui32>
    %262 = "stablehlo.constant"() <{value = dense<32> : tensor<ui32>}> : () -> tensor<ui32>
    %263 = "stablehlo.subtract"(%262, %258) : (tensor<ui32>, tensor<ui32>) -> tensor<ui32>
    %264 = "stablehlo.broadcast_in_dim"(%263) <{broadcast_dimensions = array<i64>}> : (tensor<ui32>) -> tensor<4x4xui32>
    %265 = "stablehlo.shift_right_logical"(%256, %264) : (tensor<4x4xui32>, tensor<4x4xui32>) -> tensor<4x4xui32>
    %266 = "stablehlo.or"(%261, %265) : (tensor<4x4xui32>, tensor<4x4xui32>) -> tensor<4x4xui32>
    %267 = "stablehlo.xor"(%259, %266) : (tensor<4x4xui32>, tensor<4x4xui32>) -> tensor<4x4xui32>
    %268 = "stablehlo.broadcast_in_dim"(%arg75) <{broadcast_dimensions = array<i64>}> : (tensor<ui32>) -> tensor<4x4xui32>
    %269 = "stablehlo.add"(%259, %268) : (tensor<4x4xui32>, tensor<4x4xui32>) -> tensor<4x4xui32>
    %270 = "stablehlo.broadcast_in_dim"(%arg76) <{broadcast_dimensions = array<i64>}> : (tensor<ui32>) -> tensor<4x4xui32>
    %271 = "stablehlo.add"(%267, %270) : (tensor<4x4xui32>, tensor<4x4xui32>) -> tensor<4x4xui32>
    %272 = "stablehlo.constant"() <{value = dense<1> : tensor<i32>}> : () -> tensor<i32>
    %273 = "stablehlo.add"(%arg72, %272) : (tensor<i32>, tensor<i32>) -> tensor<i32>
    %274 = "stablehlo.convert"(%273) : (tensor<i32>) -> tensor<ui32>
    %275 = "stablehlo.broadcast_in_dim"(%274) <{broadcast_dimensions = array<i64>}> : (tensor<ui32>) -> tensor<4x4xui32>
    %276 = "stablehlo.add"(%271, %275) : (tensor<4x4xui32>, tensor<4x4xui32>) -> tensor<4x4xui32>
    "func.return"(%223, %269, %276, %arg76, %arg77, %arg75, %arg79, %arg78) : (tensor<i32>, tensor<4x4xui32>, tensor<4x4xui32>, tensor<ui32>, tensor<ui32>, tensor<ui32>, tensor<4xui32>, tensor<4xui32>) -> ()
  }) : () -> ()
  "func.func"() <{arg_attrs = [{}, {}], function_type = (tensor<2xui32>, tensor<8xf32>) -> tensor<8xf32>, res_attrs = [{}], sym_name = "_shuffle", sym_visibility = "private"}> ({
  ^bb0(%arg66: tensor<2xui32>, %arg67: tensor<8xf32>):
    %202 = "func.call"(%arg66) <{callee = @_threefry_split}> : (tensor<2xui32>) -> tensor<2x2xui32>
    %203 = "stablehlo.slice"(%202) <{limit_indices = array<i64: 2, 2>, start_indices = array<i64: 1, 0>, strides = array<i64: 1, 1>}> : (tensor<2x2xui32>) -> tensor<1x2xui32>
    %204 = "stablehlo.reshape"(%203) : (tensor<1x2xui32>) -> tensor<2xui32>
    %205 = "stablehlo.slice"(%204) <{limit_indices = array<i64: 1>, start_indices = array<i64: 0>, strides = array<i64: 1>}> : (tensor<2xui32>) -> tensor<1xui32>
    %206 = "stablehlo.reshape"(%205) : (tensor<1xui32>) -> tensor<ui32>
    %207 = "stablehlo.slice"(%204) <{limit_indices = array<i64: 2>, start_indices = array<i64: 1>, strides = array<i64: 1>}> : (tensor<2xui32>) -> tensor<1xui32>
    %208 = "stablehlo.reshape"(%207) : (tensor<1xui32>) -> tensor<ui32>
    %209 = "stablehlo.iota"() <{iota_dimension = 0 : i64}> : () -> tensor<8xui64>
    %210 = "stablehlo.constant"() <{value = dense<1> : tensor<ui64>}> : () -> tensor<ui64>
    %211 = "stablehlo.broadcast_in_dim"(%210) <{broadcast_dimensions = array<i64>}> : (tensor<ui64>) -> tensor<8xui64>
    %212 = "stablehlo.multiply"(%211, %209) : (tensor<8xui64>, tensor<8xui64>) -> tensor<8xui64>
    %213 = "stablehlo.constant"() <{value = dense<32> : tensor<ui64>}> : () -> tensor<ui64>
    %214 = "stablehlo.broadcast_in_dim"(%213) <{broadcast_dimensions = array<i64>}> : (tensor<ui64>) -> tensor<8xui64>
    %215 = "stablehlo.shift_right_logical"(%212, %214) : (tensor<8xui64>, tensor<8xui64>) -> tensor<8xui64>
    %216 = "stablehlo.convert"(%212) : (tensor<8xui64>) -> tensor<8xui32>
    %217 = "stablehlo.convert"(%215) : (tensor<8xui64>) -> tensor<8xui32>
    %218:2 = "func.call"(%206, %208, %217, %216) <{callee = @threefry2x32_2}> : (tensor<ui32>, tensor<ui32>, tensor<8xui32>, tensor<8xui32>) -> (tensor<8xui32>, tensor<8xui32>)
    %219 = "stablehlo.xor"(%218#0, %218#1) : (tensor<8xui32>, tensor<8xui32>) -> tensor<8xui32>
    %220:2 = "stablehlo.sort"(%219, %arg67) <{dimension = 0 : i64, is_stable = true}> ({
    ^bb0(%arg68: tensor<ui32>, %arg69: tensor<ui32>, %arg70: tensor<f32>, %arg71: tensor<f32>):
      %221 = "stablehlo.compare"(%arg68, %arg69) <{compare_type = #stablehlo<comparison_type UNSIGNED>, comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<ui32>, tensor<ui32>) -> tensor<i1>
      "stablehlo.return"(%221) : (tensor<i1>) -> ()
    }) : (tensor<8xui32>, tensor<8xf32>) -> (tensor<8xui32>, tensor<8xf32>)
    "func.return"(%220#1) : (tensor<8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{arg_attrs = [{}], function_type = (tensor<2xui32>) -> tensor<2x2xui32>, res_attrs = [{}], sym_name = "_threefry_split", sym_visibility = "private"}> ({
  ^bb0(%arg65: tensor<2xui32>):
    %185 = "stablehlo.slice"(%arg65) <{limit_indices = array<i64: 1>, start_indices = array<i64: 0>, strides = array<i64: 1>}> : (tensor<2xui32>) -> tensor<1xui32>
    %186 = "stablehlo.reshape"(%185) : (tensor<1xui32>) -> tensor<ui32>
    %187 = "stablehlo.slice"(%arg65) <{limit_indices = array<i64: 2>, start_indices = array<i64: 1>, strides = array<i64: 1>}> : (tensor<2xui32>) -> tensor<1xui32>
    %188 = "stablehlo.reshape"(%187) : (tensor<1xui32>) -> tensor<ui32>
    %189 = "stablehlo.iota"() <{iota_dimension = 0 : i64}> : () -> tensor<2xui64>
    %190 = "stablehlo.constant"() <{value = dense<1> : tensor<ui64>}> : () -> tensor<ui64>
    %191 = "stablehlo.broadcast_in_dim"(%190) <{broadcast_dimensions = array<i64>}> : (tensor<ui64>) -> tensor<2xui64>
    %192 = "stablehlo.multiply"(%191, %189) : (tensor<2xui64>, tensor<2xui64>) -> tensor<2xui64>
    %193 = "stablehlo.constant"() <{value = dense<32> : tensor<ui64>}> : () -> tensor<ui64>
    %194 = "stablehlo.broadcast_in_dim"(%193) <{broadcast_dimensions = array<i64>}> : (tensor<ui64>) -> tensor<2xui64>
    %195 = "stablehlo.shift_right_logical"(%192, %194) : (tensor<2xui64>, tensor<2xui64>) -> tensor<2xui64>
    %196 = "stablehlo.convert"(%192) : (tensor<2xui64>) -> tensor<2xui32>
    %197 = "stablehlo.convert"(%195) : (tensor<2xui64>) -> tensor<2xui32>
    %198:2 = "func.call"(%186, %188, %197, %196) <{callee = @threefry2x32_0}> : (tensor<ui32>, tensor<ui32>, tensor<2xui32>, tensor<2xui32>) -> (tensor<2xui32>, tensor<2xui32>)
    %199 = "stablehlo.broadcast_in_dim"(%198#0) <{broadcast_dimensions = array<i64: 0>}> : (tensor<2xui32>) -> tensor<2x1xui32>
    %200 = "stablehlo.broadcast_in_dim"(%198#1) <{broadcast_dimensions = array<i64: 0>}> : (tensor<2xui32>) -> tensor<2x1xui32>
    %201 = "stablehlo.concatenate"(%199, %200) <{dimension = 1 : i64}> : (tensor<2x1xui32>, tensor<2x1xui32>) -> tensor<2x2xui32>
    "func.return"(%201) : (tensor<2x2xui32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<ui32>, tensor<ui32>, tensor<2xui32>, tensor<2xui32>) -> (tensor<2xui32>, tensor<2xui32>), sym_name = "threefry2x32_0", sym_visibility = "private"}> ({
  ^bb0(%arg43: tensor<ui32>, %arg44: tensor<ui32>, %arg45: tensor<2xui32>, %arg46: tensor<2xui32>):
    %168 = "stablehlo.constant"() <{value = dense<[13, 15, 26, 6]> : tensor<4xui32>}> : () -> tensor<4xui32>
    %169 = "stablehlo.constant"() <{value = dense<[17, 29, 16, 24]> : tensor<4xui32>}> : () -> tensor<4xui32>
    %170 = "stablehlo.xor"(%arg43, %arg44) : (tensor<ui32>, tensor<ui32>) -> tensor<ui32>
    %171 = "stablehlo.constant"() <{value = dense<466688986> : tensor<ui32>}> : () -> tensor<ui32>
    %172 = "stablehlo.xor"(%170, %171) : (tensor<ui32>, tensor<ui32>) -> tensor<ui32>
    %173 = "stablehlo.broadcast_in_dim"(%arg43) <{broadcast_dimensions = array<i64>}> : (tensor<ui32>) -> tensor<2xui32>
    %174 = "stablehlo.add"(%arg45, %173) : (tensor<2xui32>, tensor<2xui32>) -> tensor<2xui32>
    %175 = "stablehlo.broadcast_in_dim"(%arg44) <{broadcast_dimensions = array<i64>}> : (tensor<ui32>) -> tensor<2xui32>
    %176 = "stablehlo.add"(%arg46, %175) : (tensor<2xui32>, tensor<2xui32>) -> tensor<2xui32>
    %177 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %178 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %179:9 = "stablehlo.while"(%178, %177, %174, %176, %arg44, %172, %arg43, %168, %169) ({
    ^bb0(%arg56: tensor<i32>, %arg57: tensor<i32>, %arg58: tensor<2xui32>, %arg59: tensor<2xui32>, %arg60: tensor<ui32>, %arg61: tensor<ui32>, %arg62: tensor<ui32>, %arg63: tensor<4xui32>, %arg64: tensor<4xui32>):
      %183 = "stablehlo.constant"() <{value = dense<5> : tensor<i32>}> : () -> tensor<i32>
      %184 = "stablehlo.compare"(%arg56, %183) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<i32>, tensor<i32>) -> tensor<i1>
      "stablehlo.return"(%184) : (tensor<i1>) -> ()
    }, {
    ^bb0(%arg47: tensor<i32>, %arg48: tensor<i32>, %arg49: tensor<2xui32>, %arg50: tensor<2xui32>, %arg51: tensor<ui32>, %arg52: tensor<ui32>, %arg53: tensor<ui32>, %arg54: tensor<4xui32>, %arg55: tensor<4xui32>):
      %180:8 = "func.call"(%arg48, %arg49, %arg50, %arg51, %arg52, %arg53, %arg54, %arg55) <{callee = @closed_call_1}> : (tensor<i32>, tensor<2xui32>, tensor<2xui32>, tensor<ui32>, tensor<ui32>, tensor<ui32>, tensor<4xui32>, tensor<4xui32>) -> (tensor<i32>, tensor<2xui32>, tensor<2xui32>, tensor<ui32>, tensor<ui32>, tensor<ui32>, tensor<4xui32>, tensor<4xui32>)
      %181 = "stablehlo.constant"() <{value = dense<1> : tensor<i32>}> : () -> tensor<i32>
      %182 = "stablehlo.add"(%arg47, %181) : (tensor<i32>, tensor<i32>) -> tensor<i32>
      "stablehlo.return"(%182, %180#0, %180#1, %180#2, %180#3, %180#4, %180#5, %180#6, %180#7) : (tensor<i32>, tensor<i32>, tensor<2xui32>, tensor<2xui32>, tensor<ui32>, tensor<ui32>, tensor<ui32>, tensor<4xui32>, tensor<4xui32>) -> ()
    }) : (tensor<i32>, tensor<i32>, tensor<2xui32>, tensor<2xui32>, tensor<ui32>, tensor<ui32>, tensor<ui32>, tensor<4xui32>, tensor<4xui32>) -> (tensor<i32>, tensor<i32>, tensor<2xui32>, tensor<2xui32>, tensor<ui32>, tensor<ui32>, tensor<ui32>, tensor<4xui32>, tensor<4xui32>)
    "func.return"(%179#2, %179#3) : (tensor<2xui32>, tensor<2xui32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<i32>, tensor<2xui32>, tensor<2xui32>, tensor<ui32>, tensor<ui32>, tensor<ui32>, tensor<4xui32>, tensor<4xui32>) -> (tensor<i32>, tensor<2xui32>, tensor<2xui32>, tensor<ui32>, tensor<ui32>, tensor<ui32>, tensor<4xui32>, tensor<4xui32>), res_attrs = [{}, {}, {}, {}, {}, {}, {}, {}], sym_name = "closed_call_1", sym_visibility = "private"}> ({
  ^bb0(%arg35: tensor<i32>, %arg36: tensor<2xui32>, %arg37: tensor<2xui32>, %arg38: tensor<ui32>, %arg39: tensor<ui32>, %arg40: tensor<ui32>, %arg41: tensor<4xui32>, %arg42: tensor<4xui32>):
    %113 = "stablehlo.constant"() <{value = dense<1> : tensor<i32>}> : () -> tensor<i32>
    %114 = "stablehlo.add"(%arg35, %113) : (tensor<i32>, tensor<i32>) -> tensor<i32>
    %115 = "stablehlo.slice"(%arg41) <{limit_indices = array<i64: 1>, start_indices = array<i64: 0>, strides = array<i64: 1>}> : (tensor<4xui32>) -> tensor<1xui32>
    %116 = "stablehlo.reshape"(%115) : (tensor<1xui32>) -> tensor<ui32>
    %117 = "stablehlo.add"(%arg36, %arg37) : (tensor<2xui32>, tensor<2xui32>) -> tensor<2xui32>
    %118 = "stablehlo.broadcast_in_dim"(%116) <{broadcast_dimensions = array<i64>}> : (tensor<ui32>) -> tensor<2xui32>
    %119 = "stablehlo.shift_left"(%arg37, %118) : (tensor<2xui32>, tensor<2xui32>) -> tensor<2xui32>
    %120 = "stablehlo.constant"() <{value = dense<32> : tensor<ui32>}> : () -> tensor<ui32>
    %121 = "stablehlo.subtract"(%120, %116) : (tensor<ui32>, tensor<ui32>) -> tensor<ui32>
    %122 = "stablehlo.broadcast_in_dim"(%121) <{broadcast_dimensions = array<i64>}> : (tensor<ui32>) -> tensor<2xui32>
    %123 = "stablehlo.shift_right_logical"(%arg37, %122) : (tensor<2xui32>, tensor<2xui32>) -> tensor<2xui32>
    %124 = "stablehlo.or"(%119, %123) : (tensor<2xui32>, tensor<2xui32>) -> tensor<2xui32>
    %125 = "stablehlo.xor"(%117, %124) : (tensor<2xui32>, tensor<2xui32>) -> tensor<2xui32>
    %126 = "stablehlo.slice"(%arg41) <{limit_indices = array<i64: 2>, start_indices = array<i64: 1>, strides = array<i64: 1>}> : (tensor<4xui32>) -> tensor<1xui32>
    %127 = "stablehlo.reshape"(%126) : (tensor<1xui32>) -> tensor<ui32>
    %128 = "stablehlo.add"(%117, %125) : (tensor<2xui32>, tensor<2xui32>) -> tensor<2xui32>
    %129 = "stablehlo.broadcast_in_dim"(%127) <{broadcast_dimensions = array<i64>}> : (tensor<ui32>) -> tensor<2xui32>
    %130 = "stablehlo.shift_left"(%125, %129) : (tensor<2xui32>, tensor<2xui32>) -> tensor<2xui32>
    %131 = "stablehlo.constant"() <{value = dense<32> : tensor<ui32>}> : () -> tensor<ui32>
    %132 = "stablehlo.subtract"(%131, %127) : (tensor<ui32>, tensor<ui32>) -> tensor<ui32>
    %133 = "stablehlo.broadcast_in_dim"(%132) <{broadcast_dimensions = array<i64>}> : (tensor<ui32>) -> tensor<2xui32>
    %134 = "stablehlo.shift_right_logical"(%125, %133) : (tensor<2xui32>, tensor<2xui32>) -> tensor<2xui32>
    %135 = "stablehlo.or"(%130, %134) : (tensor<2xui32>, tensor<2xui32>) -> tensor<2xui32>
    %136 = "stablehlo.xor"(%128, %135) : (tensor<2xui32>, tensor<2xui32>) -> tensor<2xui32>
    %137 = "stablehlo.slice"(%arg41) <{limit_indices = array<i64: 3>, start_indices = array<i64: 2>, strides = array<i64: 1>}> : (tensor<4xui32>) -> tensor<1xui32>
    %138 = "stablehlo.reshape"(%137) : (tensor<1xui32>) -> tensor<ui32>
    %139 = "stablehlo.add"(%128, %136) : (tensor<2xui32>, tensor<2xui32>) -> tensor<2xui32>
    %140 = "stablehlo.broadcast_in_dim"(%138) <{broadcast_dimensions = array<i64>}> : (tensor<ui32>) -> tensor<2xui32>
    %141 = "stablehlo.shift_left"(%136, %140) : (tensor<2xui32>, tensor<2xui32>) -> tensor<2xui32>
    %142 = "stablehlo.constant"() <{value = dense<32> : tensor<ui32>}> : () -> tensor<ui32>
    %143 = "stablehlo.subtract"(%142, %138) : (tensor<ui32>, tensor<ui32>) -> tensor<ui32>
    %144 = "stablehlo.broadcast_in_dim"(%143) <{broadcast_dimensions = array<i64>}> : (tensor<ui32>) -> tensor<2xui32>
    %145 = "stablehlo.shift_right_logical"(%136, %144) : (tensor<2xui32>, tensor<2xui32>) -> tensor<2xui32>
    %146 = "stablehlo.or"(%141, %145) : (tensor<2xui32>, tensor<2xui32>) -> tensor<2xui32>
    %147 = "stablehlo.xor"(%139, %146) : (tensor<2xui32>, tensor<2xui32>) -> tensor<2xui32>
    %148 = "stablehlo.slice"(%arg41) <{limit_indices = array<i64: 4>, start_indices = array<i64: 3>, strides = array<i64: 1>}> : (tensor<4xui32>) -> tensor<1xui32>
    %149 = "stablehlo.reshape"(%148) : (tensor<1xui32>) -> tensor<ui32>
    %150 = "stablehlo.add"(%139, %147) : (tensor<2xui32>, tensor<2xui32>) -> tensor<2xui32>
    %151 = "stablehlo.broadcast_in_dim"(%149) <{broadcast_dimensions = array<i64>}> : (tensor<ui32>) -> tensor<2xui32>
    %152 = "stablehlo.shift_left"(%147, %151) : (tensor<2xui32>, tensor<2xui32>) -> tensor<2xui32>
    %153 = "stablehlo.constant"() <{value = dense<32> : tensor<ui32>}> : () -> tensor<ui32>
    %154 = "stablehlo.subtract"(%153, %149) : (tensor<ui32>, tensor<ui32>) -> tensor<ui32>
    %155 = "stablehlo.broadcast_in_dim"(%154) <{broadcast_dimensions = array<i64>}> : (tensor<ui32>) -> tensor<2xui32>
    %156 = "stablehlo.shift_right_logical"(%147, %155) : (tensor<2xui32>, tensor<2xui32>) -> tensor<2xui32>
    %157 = "stablehlo.or"(%152, %156) : (tensor<2xui32>, tensor<2xui32>) -> tensor<2xui32>
    %158 = "stablehlo.xor"(%150, %157) : (tensor<2xui32>, tensor<2xui32>) -> tensor<2xui32>
    %159 = "stablehlo.broadcast_in_dim"(%arg38) <{broadcast_dimensions = array<i64>}> : (tensor<ui32>) -> tensor<2xui32>
    %160 = "stablehlo.add"(%150, %159) : (tensor<2xui32>, tensor<2xui32>) -> tensor<2xui32>
    %161 = "stablehlo.broadcast_in_dim"(%arg39) <{broadcast_dimensions = array<i64>}> : (tensor<ui32>) -> tensor<2xui32>
    %162 = "stablehlo.add"(%158, %161) : (tensor<2xui32>, tensor<2xui32>) -> tensor<2xui32>
    %163 = "stablehlo.constant"() <{value = dense<1> : tensor<i32>}> : () -> tensor<i32>
    %164 = "stablehlo.add"(%arg35, %163) : (tensor<i32>, tensor<i32>) -> tensor<i32>
    %165 = "stablehlo.convert"(%164) : (tensor<i32>) -> tensor<ui32>
    %166 = "stablehlo.broadcast_in_dim"(%165) <{broadcast_dimensions = array<i64>}> : (tensor<ui32>) -> tensor<2xui32>
    %167 = "stablehlo.add"(%162, %166) : (tensor<2xui32>, tensor<2xui32>) -> tensor<2xui32>
    "func.return"(%114, %160, %167, %arg39, %arg40, %arg38, %arg42, %arg41) : (tensor<i32>, tensor<2xui32>, tensor<2xui32>, tensor<ui32>, tensor<ui32>, tensor<ui32>, tensor<4xui32>, tensor<4xui32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<ui32>, tensor<ui32>, tensor<8xui32>, tensor<8xui32>) -> (tensor<8xui32>, tensor<8xui32>), sym_name = "threefry2x32_2", sym_visibility = "private"}> ({
  ^bb0(%arg13: tensor<ui32>, %arg14: tensor<ui32>, %arg15: tensor<8xui32>, %arg16: tensor<8xui32>):
    %96 = "stablehlo.constant"() <{value = dense<[13, 15, 26, 6]> : tensor<4xui32>}> : () -> tensor<4xui32>
    %97 = "stablehlo.constant"() <{value = dense<[17, 29, 16, 24]> : tensor<4xui32>}> : () -> tensor<4xui32>
    %98 = "stablehlo.xor"(%arg13, %arg14) : (tensor<ui32>, tensor<ui32>) -> tensor<ui32>
    %99 = "stablehlo.constant"() <{value = dense<466688986> : tensor<ui32>}> : () -> tensor<ui32>
    %100 = "stablehlo.xor"(%98, %99) : (tensor<ui32>, tensor<ui32>) -> tensor<ui32>
    %101 = "stablehlo.broadcast_in_dim"(%arg13) <{broadcast_dimensions = array<i64>}> : (tensor<ui32>) -> tensor<8xui32>
    %102 = "stablehlo.add"(%arg15, %101) : (tensor<8xui32>, tensor<8xui32>) -> tensor<8xui32>
    %103 = "stablehlo.broadcast_in_dim"(%arg14) <{broadcast_dimensions = array<i64>}> : (tensor<ui32>) -> tensor<8xui32>
    %104 = "stablehlo.add"(%arg16, %103) : (tensor<8xui32>, tensor<8xui32>) -> tensor<8xui32>
    %105 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %106 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %107:9 = "stablehlo.while"(%106, %105, %102, %104, %arg14, %100, %arg13, %96, %97) ({
    ^bb0(%arg26: tensor<i32>, %arg27: tensor<i32>, %arg28: tensor<8xui32>, %arg29: tensor<8xui32>, %arg30: tensor<ui32>, %arg31: tensor<ui32>, %arg32: tensor<ui32>, %arg33: tensor<4xui32>, %arg34: tensor<4xui32>):
      %111 = "stablehlo.constant"() <{value = dense<5> : tensor<i32>}> : () -> tensor<i32>
      %112 = "stablehlo.compare"(%arg26, %111) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<i32>, tensor<i32>) -> tensor<i1>
      "stablehlo.return"(%112) : (tensor<i1>) -> ()
    }, {
    ^bb0(%arg17: tensor<i32>, %arg18: tensor<i32>, %arg19: tensor<8xui32>, %arg20: tensor<8xui32>, %arg21: tensor<ui32>, %arg22: tensor<ui32>, %arg23: tensor<ui32>, %arg24: tensor<4xui32>, %arg25: tensor<4xui32>):
      %108:8 = "func.call"(%arg18, %arg19, %arg20, %arg21, %arg22, %arg23, %arg24, %arg25) <{callee = @closed_call_3}> : (tensor<i32>, tensor<8xui32>, tensor<8xui32>, tensor<ui32>, tensor<ui32>, tensor<ui32>, tensor<4xui32>, tensor<4xui32>) -> (tensor<i32>, tensor<8xui32>, tensor<8xui32>, tensor<ui32>, tensor<ui32>, tensor<ui32>, tensor<4xui32>, tensor<4xui32>)
      %109 = "stablehlo.constant"() <{value = dense<1> : tensor<i32>}> : () -> tensor<i32>
      %110 = "stablehlo.add"(%arg17, %109) : (tensor<i32>, tensor<i32>) -> tensor<i32>
      "stablehlo.return"(%110, %108#0, %108#1, %108#2, %108#3, %108#4, %108#5, %108#6, %108#7) : (tensor<i32>, tensor<i32>, tensor<8xui32>, tensor<8xui32>, tensor<ui32>, tensor<ui32>, tensor<ui32>, tensor<4xui32>, tensor<4xui32>) -> ()
    }) : (tensor<i32>, tensor<i32>, tensor<8xui32>, tensor<8xui32>, tensor<ui32>, tensor<ui32>, tensor<ui32>, tensor<4xui32>, tensor<4xui32>) -> (tensor<i32>, tensor<i32>, tensor<8xui32>, tensor<8xui32>, tensor<ui32>, tensor<ui32>, tensor<ui32>, tensor<4xui32>, tensor<4xui32>)
    "func.return"(%107#2, %107#3) : (tensor<8xui32>, tensor<8xui32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<i32>, tensor<8xui32>, tensor<8xui32>, tensor<ui32>, tensor<ui32>, tensor<ui32>, tensor<4xui32>, tensor<4xui32>) -> (tensor<i32>, tensor<8xui32>, tensor<8xui32>, tensor<ui32>, tensor<ui32>, tensor<ui32>, tensor<4xui32>, tensor<4xui32>), res_attrs = [{}, {}, {}, {}, {}, {}, {}, {}], sym_name = "closed_call_3", sym_visibility = "private"}> ({
  ^bb0(%arg5: tensor<i32>, %arg6: tensor<8xui32>, %arg7: tensor<8xui32>, %arg8: tensor<ui32>, %arg9: tensor<ui32>, %arg10: tensor<ui32>, %arg11: tensor<4xui32>, %arg12: tensor<4xui32>):
    %41 = "stablehlo.constant"() <{value = dense<1> : tensor<i32>}> : () -> tensor<i32>
    %42 = "stablehlo.add"(%arg5, %41) : (tensor<i32>, tensor<i32>) -> tensor<i32>
    %43 = "stablehlo.slice"(%arg11) <{limit_indices = array<i64: 1>, start_indices = array<i64: 0>, strides = array<i64: 1>}> : (tensor<4xui32>) -> tensor<1xui32>
    %44 = "stablehlo.reshape"(%43) : (tensor<1xui32>) -> tensor<ui32>
    %45 = "stablehlo.add"(%arg6, %arg7) : (tensor<8xui32>, tensor<8xui32>) -> tensor<8xui32>
    %46 = "stablehlo.broadcast_in_dim"(%44) <{broadcast_dimensions = array<i64>}> : (tensor<ui32>) -> tensor<8xui32>
    %47 = "stablehlo.shift_left"(%arg7, %46) : (tensor<8xui32>, tensor<8xui32>) -> tensor<8xui32>
    %48 = "stablehlo.constant"() <{value = dense<32> : tensor<ui32>}> : () -> tensor<ui32>
    %49 = "stablehlo.subtract"(%48, %44) : (tensor<ui32>, tensor<ui32>) -> tensor<ui32>
    %50 = "stablehlo.broadcast_in_dim"(%49) <{broadcast_dimensions = array<i64>}> : (tensor<ui32>) -> tensor<8xui32>
    %51 = "stablehlo.shift_right_logical"(%arg7, %50) : (tensor<8xui32>, tensor<8xui32>) -> tensor<8xui32>
    %52 = "stablehlo.or"(%47, %51) : (tensor<8xui32>, tensor<8xui32>) -> tensor<8xui32>
    %53 = "stablehlo.xor"(%45, %52) : (tensor<8xui32>, tensor<8xui32>) -> tensor<8xui32>
    %54 = "stablehlo.slice"(%arg11) <{limit_indices = array<i64: 2>, start_indices = array<i64: 1>, strides = array<i64: 1>}> : (tensor<4xui32>) -> tensor<1xui32>
    %55 = "stablehlo.reshape"(%54) : (tensor<1xui32>) -> tensor<ui32>
    %56 = "stablehlo.add"(%45, %53) : (tensor<8xui32>, tensor<8xui32>) -> tensor<8xui32>
    %57 = "stablehlo.broadcast_in_dim"(%55) <{broadcast_dimensions = array<i64>}> : (tensor<ui32>) -> tensor<8xui32>
    %58 = "stablehlo.shift_left"(%53, %57) : (tensor<8xui32>, tensor<8xui32>) -> tensor<8xui32>
    %59 = "stablehlo.constant"() <{value = dense<32> : tensor<ui32>}> : () -> tensor<ui32>
    %60 = "stablehlo.subtract"(%59, %55) : (tensor<ui32>, tensor<ui32>) -> tensor<ui32>
    %61 = "stablehlo.broadcast_in_dim"(%60) <{broadcast_dimensions = array<i64>}> : (tensor<ui32>) -> tensor<8xui32>
    %62 = "stablehlo.shift_right_logical"(%53, %61) : (tensor<8xui32>, tensor<8xui32>) -> tensor<8xui32>
    %63 = "stablehlo.or"(%58, %62) : (tensor<8xui32>, tensor<8xui32>) -> tensor<8xui32>
    %64 = "stablehlo.xor"(%56, %63) : (tensor<8xui32>, tensor<8xui32>) -> tensor<8xui32>
    %65 = "stablehlo.slice"(%arg11) <{limit_indices = array<i64: 3>, start_indices = array<i64: 2>, strides = array<i64: 1>}> : (tensor<4xui32>) -> tensor<1xui32>
    %66 = "stablehlo.reshape"(%65) : (tensor<1xui32>) -> tensor<ui32>
    %67 = "stablehlo.add"(%56, %64) : (tensor<8xui32>, tensor<8xui32>) -> tensor<8xui32>
    %68 = "stablehlo.broadcast_in_dim"(%66) <{broadcast_dimensions = array<i64>}> : (tensor<ui32>) -> tensor<8xui32>
    %69 = "stablehlo.shift_left"(%64, %68) : (tensor<8xui32>, tensor<8xui32>) -> tensor<8xui32>
    %70 = "stablehlo.constant"() <{value = dense<32> : tensor<ui32>}> : () -> tensor<ui32>
    %71 = "stablehlo.subtract"(%70, %66) : (tensor<ui32>, tensor<ui32>) -> tensor<ui32>
    %72 = "stablehlo.broadcast_in_dim"(%71) <{broadcast_dimensions = array<i64>}> : (tensor<ui32>) -> tensor<8xui32>
    %73 = "stablehlo.shift_right_logical"(%64, %72) : (tensor<8xui32>, tensor<8xui32>) -> tensor<8xui32>
    %74 = "stablehlo.or"(%69, %73) : (tensor<8xui32>, tensor<8xui32>) -> tensor<8xui32>
    %75 = "stablehlo.xor"(%67, %74) : (tensor<8xui32>, tensor<8xui32>) -> tensor<8xui32>
    %76 = "stablehlo.slice"(%arg11) <{limit_indices = array<i64: 4>, start_indices = array<i64: 3>, strides = array<i64: 1>}> : (tensor<4xui32>) -> tensor<1xui32>
    %77 = "stablehlo.reshape"(%76) : (tensor<1xui32>) -> tensor<ui32>
    %78 = "stablehlo.add"(%67, %75) : (tensor<8xui32>, tensor<8xui32>) -> tensor<8xui32>
    %79 = "stablehlo.broadcast_in_dim"(%77) <{broadcast_dimensions = array<i64>}> : (tensor<ui32>) -> tensor<8xui32>
    %80 = "stablehlo.shift_left"(%75, %79) : (tensor<8xui32>, tensor<8xui32>) -> tensor<8xui32>
    %81 = "stablehlo.constant"() <{value = dense<32> : tensor<ui32>}> : () -> tensor<ui32>
    %82 = "stablehlo.subtract"(%81, %77) : (tensor<ui32>, tensor<ui32>) -> tensor<ui32>
    %83 = "stablehlo.broadcast_in_dim"(%82) <{broadcast_dimensions = array<i64>}> : (tensor<ui32>) -> tensor<8xui32>
    %84 = "stablehlo.shift_right_logical"(%75, %83) : (tensor<8xui32>, tensor<8xui32>) -> tensor<8xui32>
    %85 = "stablehlo.or"(%80, %84) : (tensor<8xui32>, tensor<8xui32>) -> tensor<8xui32>
    %86 = "stablehlo.xor"(%78, %85) : (tensor<8xui32>, tensor<8xui32>) -> tensor<8xui32>
    %87 = "stablehlo.broadcast_in_dim"(%arg8) <{broadcast_dimensions = array<i64>}> : (tensor<ui32>) -> tensor<8xui32>
    %88 = "stablehlo.add"(%78, %87) : (tensor<8xui32>, tensor<8xui32>) -> tensor<8xui32>
    %89 = "stablehlo.broadcast_in_dim"(%arg9) <{broadcast_dimensions = array<i64>}> : (tensor<ui32>) -> tensor<8xui32>
    %90 = "stablehlo.add"(%86, %89) : (tensor<8xui32>, tensor<8xui32>) -> tensor<8xui32>
    %91 = "stablehlo.constant"() <{value = dense<1> : tensor<i32>}> : () -> tensor<i32>
    %92 = "stablehlo.add"(%arg5, %91) : (tensor<i32>, tensor<i32>) -> tensor<i32>
    %93 = "stablehlo.convert"(%92) : (tensor<i32>) -> tensor<ui32>
    %94 = "stablehlo.broadcast_in_dim"(%93) <{broadcast_dimensions = array<i64>}> : (tensor<ui32>) -> tensor<8xui32>
    %95 = "stablehlo.add"(%90, %94) : (tensor<8xui32>, tensor<8xui32>) -> tensor<8xui32>
    "func.return"(%42, %88, %95, %arg9, %arg10, %arg8, %arg12, %arg11) : (tensor<i32>, tensor<8xui32>, tensor<8xui32>, tensor<ui32>, tensor<ui32>, tensor<ui32>, tensor<4xui32>, tensor<4xui32>) -> ()
  }) : () -> ()
  "func.func"() <{arg_attrs = [{}, {}], function_type = (tensor<2xui32>, tensor<f32>) -> tensor<8xi1>, res_attrs = [{}], sym_name = "_bernoulli", sym_visibility = "private"}> ({
  ^bb0(%arg3: tensor<2xui32>, %arg4: tensor<f32>):
    %36 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %37 = "stablehlo.constant"() <{value = dense<1.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %38 = "func.call"(%arg3, %36, %37) <{callee = @_uniform_4}> : (tensor<2xui32>, tensor<f32>, tensor<f32>) -> tensor<8xf32>
    %39 = "stablehlo.broadcast_in_dim"(%arg4) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<8xf32>
    %40 = "stablehlo.compare"(%38, %39) <{compare_type = #stablehlo<comparison_type FLOAT>, comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xi1>
    "func.return"(%40) : (tensor<8xi1>) -> ()
  }) : () -> ()
  "func.func"() <{arg_attrs = [{}, {}, {}], function_type = (tensor<2xui32>, tensor<f32>, tensor<f32>) -> tensor<8xf32>, res_attrs = [{}], sym_name = "_uniform_4", sym_visibility = "private"}> ({
  ^bb0(%arg0: tensor<2xui32>, %arg1: tensor<f32>, %arg2: tensor<f32>):
    %0 = "stablehlo.convert"(%arg1) : (tensor<f32>) -> tensor<f32>
    %1 = "stablehlo.convert"(%arg2) : (tensor<f32>) -> tensor<f32>
    %2 = "stablehlo.broadcast_in_dim"(%0) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<1xf32>
    %3 = "stablehlo.broadcast_in_dim"(%1) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<1xf32>
    %4 = "stablehlo.slice"(%arg0) <{limit_indices = array<i64: 1>, start_indices = array<i64: 0>, strides = array<i64: 1>}> : (tensor<2xui32>) -> tensor<1xui32>
    %5 = "stablehlo.reshape"(%4) : (tensor<1xui32>) -> tensor<ui32>
    %6 = "stablehlo.slice"(%arg0) <{limit_indices = array<i64: 2>, start_indices = array<i64: 1>, strides = array<i64: 1>}> : (tensor<2xui32>) -> tensor<1xui32>
    %7 = "stablehlo.reshape"(%6) : (tensor<1xui32>) -> tensor<ui32>
    %8 = "stablehlo.iota"() <{iota_dimension = 0 : i64}> : () -> tensor<8xui64>
    %9 = "stablehlo.constant"() <{value = dense<1> : tensor<ui64>}> : () -> tensor<ui64>
    %10 = "stablehlo.broadcast_in_dim"(%9) <{broadcast_dimensions = array<i64>}> : (tensor<ui64>) -> tensor<8xui64>
    %11 = "stablehlo.multiply"(%10, %8) : (tensor<8xui64>, tensor<8xui64>) -> tensor<8xui64>
    %12 = "stablehlo.constant"() <{value = dense<32> : tensor<ui64>}> : () -> tensor<ui64>
    %13 = "stablehlo.broadcast_in_dim"(%12) <{broadcast_dimensions = array<i64>}> : (tensor<ui64>) -> tensor<8xui64>
    %14 = "stablehlo.shift_right_logical"(%11, %13) : (tensor<8xui64>, tensor<8xui64>) -> tensor<8xui64>
    %15 = "stablehlo.convert"(%11) : (tensor<8xui64>) -> tensor<8xui32>
    %16 = "stablehlo.convert"(%14) : (tensor<8xui64>) -> tensor<8xui32>
    %17:2 = "func.call"(%5, %7, %16, %15) <{callee = @threefry2x32_2}> : (tensor<ui32>, tensor<ui32>, tensor<8xui32>, tensor<8xui32>) -> (tensor<8xui32>, tensor<8xui32>)
    %18 = "stablehlo.xor"(%17#0, %17#1) : (tensor<8xui32>, tensor<8xui32>) -> tensor<8xui32>
    %19 = "stablehlo.constant"() <{value = dense<9> : tensor<ui32>}> : () -> tensor<ui32>
    %20 = "stablehlo.broadcast_in_dim"(%19) <{broadcast_dimensions = array<i64>}> : (tensor<ui32>) -> tensor<8xui32>
    %21 = "stablehlo.shift_right_logical"(%18, %20) : (tensor<8xui32>, tensor<8xui32>) -> tensor<8xui32>
    %22 = "stablehlo.constant"() <{value = dense<1065353216> : tensor<ui32>}> : () -> tensor<ui32>
    %23 = "stablehlo.broadcast_in_dim"(%22) <{broadcast_dimensions = array<i64>}> : (tensor<ui32>) -> tensor<8xui32>
    %24 = "stablehlo.or"(%21, %23) : (tensor<8xui32>, tensor<8xui32>) -> tensor<8xui32>
    %25 = "stablehlo.bitcast_convert"(%24) : (tensor<8xui32>) -> tensor<8xf32>
    %26 = "stablehlo.constant"() <{value = dense<1.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %27 = "stablehlo.broadcast_in_dim"(%26) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<8xf32>
    %28 = "stablehlo.subtract"(%25, %27) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    %29 = "stablehlo.subtract"(%3, %2) : (tensor<1xf32>, tensor<1xf32>) -> tensor<1xf32>
    %30 = "stablehlo.broadcast_in_dim"(%29) <{broadcast_dimensions = array<i64: 0>}> : (tensor<1xf32>) -> tensor<8xf32>
    %31 = "stablehlo.multiply"(%28, %30) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    %32 = "stablehlo.broadcast_in_dim"(%2) <{broadcast_dimensions = array<i64: 0>}> : (tensor<1xf32>) -> tensor<8xf32>
    %33 = "stablehlo.add"(%31, %32) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    %34 = "stablehlo.broadcast_in_dim"(%2) <{broadcast_dimensions = array<i64: 0>}> : (tensor<1xf32>) -> tensor<8xf32>
    %35 = "stablehlo.maximum"(%34, %33) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    "func.return"(%35) : (tensor<8xf32>) -> ()
  }) : () -> ()
}) {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} : () -> ()
