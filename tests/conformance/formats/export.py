#!/usr/bin/env python3
"""Makes the files of this folder with jaxlib: what XLA prints and serialises, for the readers and
writers of formats.

  pip install -r models/requirements.txt;  python tests/conformance/formats/export.py

xla_cpu_*.hlo       modules after XLA:CPU's optimisation, as its printer gives them (layouts,
                    fusions, schedules, backend configurations)
attributes.hlo      one instruction for each attribute that the HLO parser knows, as XLA prints it
                    after reading it
*.pb                the same modules as HloModuleProto (hlo.proto), serialised by XLA
stablehlo_*         the programs before compilation: .mlir (pretty, with locations), .generic.mlir,
                    .mlirbc (VHLO, where it can say the program), .hlo
                    (what XLA makes of it)
models are taken from models/: resnet50_train after optimisation is the large one.
"""

import gzip
import pathlib
import re
import sys

import jax
import jax.numpy as jnp
from jax import lax
from jaxlib import xla_client

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent.parent
hlo = xla_client.hlo
OPTIONS = hlo.HloPrintOptions()
OPTIONS.print_large_constants = True


def control_flow(x, y):
    def body(carry, i):
        return jnp.sin(carry) @ y + i, carry.sum()

    carry, sums = lax.scan(body, x, jnp.arange(3, dtype=jnp.float32))
    picked = lax.switch(jnp.int32(sums[0]) % 3, [jnp.tanh, jnp.exp, lambda v: v * 2], carry)
    return jnp.where(picked > 0, picked, jnp.nan), lax.while_loop(
        lambda v: (v < 100).any(), lambda v: v * 2, jnp.abs(sums) + 1
    )


def linear_algebra(x):
    spd = x @ x.T + jnp.eye(8)
    return (
        jnp.linalg.cholesky(spd),
        jnp.linalg.eigh(spd),
        jax.scipy.linalg.solve_triangular(x, x),
        jnp.fft.rfft(x),
    )


def indexing(x, i):
    return (
        x[i],
        x.at[i].add(1.0, mode="drop"),
        lax.top_k(x, 3),
        jnp.sort(x, axis=0),
        jnp.argsort(x),
        jnp.cumsum(x, 0),
        x[1:6:2, ::-1],
    )


def random(key, x):
    return (
        jax.random.normal(key, (4, 4)),
        jax.random.permutation(key, x),
        jax.random.bernoulli(key, 0.3, (8,)),
    )


def network(params, image):
    w1, w2, w3 = params

    def loss(p):
        h = lax.conv_general_dilated(
            image, p[0], (2, 2), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
        )
        h = lax.reduce_window(
            jax.nn.relu(h), -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID"
        )
        h = lax.conv_general_dilated(
            h,
            p[1],
            (1, 1),
            ((1, 1), (1, 1)),
            dimension_numbers=("NHWC", "HWIO", "NHWC"),
            feature_group_count=2,
        )
        return jax.nn.log_softmax(h.reshape(h.shape[0], -1) @ p[2]).mean()

    return jax.grad(loss)((w1, w2, w3))


def narrow_types(a, b, c):
    return (
        (a.astype(jnp.bfloat16) @ a.astype(jnp.bfloat16)).astype(jnp.float16),
        b.astype(jnp.int8) * 3,
        lax.complex(a, a) * 2j,
        c.astype(jnp.int4),
        lax.bitcast_convert_type(a, jnp.uint8),
    )


def f32(*shape):
    return jax.ShapeDtypeStruct(shape, jnp.float32)


def i32(*shape):
    return jax.ShapeDtypeStruct(shape, jnp.int32)


PROGRAMS = {
    "control_flow": (control_flow, (f32(8, 8), f32(8, 8))),
    "linear_algebra": (linear_algebra, (f32(8, 8),)),
    "indexing": (indexing, (f32(8, 8), i32(4))),
    "random": (random, (jax.ShapeDtypeStruct((2,), jnp.uint32), f32(8))),
    "network": (network, ((f32(3, 3, 3, 4), f32(3, 3, 2, 8), f32(128, 10)), f32(2, 16, 16, 3))),
    "narrow_types": (narrow_types, (f32(4, 4), i32(6), i32(6))),
}

ATTRIBUTES = """
HloModule attributes, input_output_alias={ {0}: (0, {}, must-alias), {1}: (3, {1}, may-alias) }, buffer_donor={ (1, {}), (3, {0}) }, frontend_attributes={a="1",b={"k":[1,2]}}
add { a = f32[] parameter(0)
 b = f32[] parameter(1)
 ROOT c = f32[] add(a, b) }
less { a = f32[] parameter(0)
 b = f32[] parameter(1)
 ROOT c = pred[] compare(a, b), direction=LT }
first { a = f32[] parameter(0)
 ROOT n = f32[] negate(a) }
second { ROOT a = f32[] parameter(0) }
wrapped { p = f32[8] parameter(0)
 ROOT n = f32[8] negate(p) }
ENTRY e {
  x = f32[8] parameter(0), sharding={maximal device=1}, parameter_replication={true}
  y = f32[8] parameter(1), sharding={devices=[2,2]0,1,2,3 last_tile_dim_replicate}
  z = f32[8] parameter(2), sharding={devices=[2,2]<=[2,2]T(1,0) last_tile_dims={manual}}, origin={{"z" {1}}}
  tup1 = (f32[8], f32[8]) parameter(3), sharding={{replicated}, {manual}}, origin={({"a"}, {"b" {0,1}})}
  m1 = f32[8,8]{0,1} parameter(4), frontend_attributes={quoted="a \\"b\\" \\\\ c",json={"a":{"b":"}"}}}
  m2 = f32[8,8]{1,0:T(8,128)(2,1)S(1)} parameter(5)
  q = f32[] constant(3)
  k1 = pred[] constant(true)
  s4c = s4[3] constant({-8, 7, 0})
  u2c = u2[5] constant({3, 2, 1, 0, 3})
  bf = bf16[2] constant({1, -2.5})
  f8 = f8e4m3fn[2] constant({1, 448})
  c64c = c64[2] constant({(1, -2), (nan, inf)})
  trans = f32[2,3]{0,1} constant({{1, 2, 3}, {4, 5, 6}})
  s64c = s64[] constant(-5)
  u64c = u64[2] constant({18446744073709551615, 0})
  nans = f32[3] constant({nan, -nan, nan(0x1)})
  empty = f32[0,3] constant({})
  ar = f32[8] all-reduce(x), replica_groups={{0,1},{2,3}}, channel_id=3, use_global_device_ids=true, to_apply=add
  ar2 = f32[8] all-reduce(x), replica_groups=[2,2]<=[2,2]T(1,0), to_apply=add
  ar3 = f32[8] all-reduce(x), to_apply=add, constrain_layout=true
  ars = f32[8] all-reduce-start(x), to_apply=add
  ard = f32[8] all-reduce-done(ars)
  rsc = f32[4] reduce-scatter(x), replica_groups={{0,1},{2,3}}, dimensions={0}, to_apply=add
  cp = f32[8] collective-permute(x), source_target_pairs={{0,1},{1,0}}, channel_id=1
  cb = f32[8] collective-broadcast(x), replica_groups={{0,1}}
  ag = f32[16] all-gather(x), dimensions={0}, replica_groups={{0,1},{2,3}}
  aa = f32[8] all-to-all(x), dimensions={0}, replica_groups={{0,1},{2,3}}
  aat = (f32[8], f32[8]) all-to-all(x, y), replica_groups={{0,1},{2,3}}
  ags = (f32[8], f32[16]) all-gather-start(x), dimensions={0}, replica_groups={{0,1},{2,3}}
  agd = f32[16] all-gather-done(ags)
  s = ((f32[8]), f32[8], u32[]) async-start(x), calls=wrapped, async_execution_thread="other"
  su = ((f32[8]), f32[8], u32[]) async-update(s)
  sd = f32[8] async-done(su)
  tok = token[] after-all()
  infd = (f32[3], token[]) infeed(tok), infeed_config="abc"
  outf = token[] outfeed(x, tok), outfeed_shape=f32[8]{0}, outfeed_config="d"
  snd = (f32[8], u32[], token[]) send(x, tok), channel_id=5, is_host_transfer=true
  sdd = token[] send-done(snd), channel_id=5, is_host_transfer=true
  rcv = (f32[8], u32[], token[]) recv(tok), channel_id=6
  rcd = (f32[8], token[]) recv-done(rcv), channel_id=6
  cs = (f32[8], f32[8], u32[]) copy-start(x), cross_program_prefetch_index=0
  cdn = f32[8] copy-done(cs)
  cal = f32[] call(q, q), to_apply=add, is_composite=true, frontend_attributes={composite.name="foo"}
  pad = f32[25] pad(x, q), padding=1_2_2
  d = f32[8,8] dot(m1, m1), lhs_contracting_dims={1}, rhs_contracting_dims={0}, operand_precision={highest,default}, algorithm=dot_bf16_bf16_f32
  b3d = f32[2,4,8] parameter(6)
  db = f32[2,4,4] dot(b3d, b3d), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={2}
  gs = s32[8] iota(), iota_dimension=0
  gds = s32[] get-dimension-size(x), dimensions={0}
  cmp = pred[8] compare(x, y), direction=GE, type=TOTALORDER
  cmp2 = pred[8] compare(gs, gs), direction=NE
  cond = f32[] conditional(k1, q, q), true_computation=first, false_computation=second
  si = s32[] constant(1)
  cond3 = f32[] conditional(si, q, q, q), branch_computations={first, second, first}
  rs = f32[2,4] reshape(x), inferred_dimension=0
  tri = f32[8,8] triangular-solve(m1, m1), left_side=true, unit_diagonal=true, transpose_a=ADJOINT
  ch = f32[8,8] cholesky(m1), lower=true
  rng = f32[8] rng(q, q), distribution=rng_normal
  key = u64[2] constant({1, 2})
  rbg = (u64[2], u32[8]) rng-bit-generator(key), algorithm=rng_philox
  rgs = u64[2] rng-get-and-update-state(), delta=4096
  srt = (f32[8], s32[8]) sort(x, gs), dimensions={0}, is_stable=true, to_apply={ a = f32[] parameter(0)
   b = f32[] parameter(1)
   p = s32[] parameter(2)
   r = s32[] parameter(3)
   ROOT c = pred[] compare(a, b), direction=LT }
  topk = (f32[2], s32[2]) topk(x), k=2, largest=false
  topl = (f32[2], s32[2]) topk(x), k=2, largest=true
  rp = f32[8] reduce-precision(x), exponent_bits=5, mantissa_bits=10
  sl = f32[3] slice(x), slice={[1:7:2]}
  ds = f32[2,8] dynamic-slice(m1, si, si), dynamic_slice_sizes={2,8}
  dus = f32[8,8] dynamic-update-slice(m1, ds, si, si)
  img = f32[1,8,8,2] parameter(7)
  ker = f32[3,3,1,4] parameter(8)
  cv = f32[1,4,4,4] convolution(img, ker), window={size=3x3 stride=2x2 pad=1_0x0_1 rhs_dilate=1x1 rhs_reversal=1x0}, dim_labels=b01f_01io->b01f, feature_group_count=2, operand_precision={high,high}
  rw = f32[1,4,4,2] reduce-window(img, q), window={size=1x2x2x1 stride=1x2x2x1}, to_apply=add
  sas = f32[1,8,8,2] select-and-scatter(img, rw, q), window={size=1x2x2x1 stride=1x2x2x1}, select=less, scatter=add
  bnt = (f32[1,8,8,2], f32[2], f32[2]) batch-norm-training(img, st2, st2), epsilon=0.001, feature_index=3
  st2 = f32[2] parameter(9)
  idx = s32[3,1] constant({{0},{2},{1}})
  gat = f32[3,8] gather(m1, idx), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, slice_sizes={1,8}, indices_are_sorted=true
  sca = f32[8,8] scatter(m1, idx, gat), update_window_dims={1}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1, unique_indices=true, to_apply=add
  fft = c64[5] fft(x), fft_type=RFFT, fft_length={8}
  cc = f32[2,3] custom-call(x), custom_call_target="foo", backend_config="a\\"b\\001", api_version=API_VERSION_STATUS_RETURNING
  cd = f32[8] custom-call(x), custom_call_target="foo", operand_layout_constraints={f32[8]{0}}, output_to_operand_aliasing={{}: (0, {})}, schedule=SCHEDULE_LATEST, custom_call_has_side_effect=true, backend_config={a = 1 : i64}, api_version=API_VERSION_TYPED_FFI
  ce = f32[8] custom-call(x, y), custom_call_target="bar", called_computations={add, less}, window={size=3 pad=1_1}, dim_labels=b0f_0io->b0f, feature_group_count=2, padding_type=PADDING_SAME, literal=s32[2]{0} {4, 5}
  ex = f32[8] exponential(x), result_accuracy={tolerance={atol=1,rtol=2.5,ulps=3}}
  st = f32[8] exponential(x), statistics={visualizing_index=0,a=1.5}
  ey = f32[8] exponential(x), result_accuracy={mode=highest}
  md = f32[8] negate(x), metadata={op_type="t" op_name="n \\"q\\"" source_file="f" source_line=3 source_end_line=4 source_column=5 source_end_column=6 profile_type={1} deduplicated_name="dd" scheduling_name="zz"}
  jc = f32[8] negate(x), backend_config={"known_trip_count":{"n":"3"},"s":"}"}
  dyn = f32[<=8] set-dimension-size(x, si), dimensions={0}
  rev = f32[8] reverse(x), dimensions={0}
  cat = f32[16] concatenate(x, y), dimensions={0}
  tr = f32[8,8] transpose(m1), dimensions={1,0}
  bc = f32[8,8] broadcast(x), dimensions={1}
  red = (f32[8], f32[8]) reduce(m1, m1, q, q), dimensions={1}, to_apply={ a = f32[] parameter(0)
   b = f32[] parameter(1)
   c = f32[] parameter(2)
   d = f32[] parameter(3)
   s = f32[] add(a, c)
   m = f32[] maximum(b, d)
   ROOT t = (f32[], f32[]) tuple(s, m) }
  map = f32[8] map(x, y), dimensions={0}, to_apply=add
  fus = f32[8] fusion(x), kind=kLoop, calls={ p = f32[8] parameter(0)
   ROOT n = f32[8] abs(p) }, output_to_operand_aliasing={{}: (0, {})}
  cla = f32[8] clamp(q, x, q)
  whl = (s32[], f32[8]) while(wi), condition={ p = (s32[], f32[8]) parameter(0)
   i = s32[] get-tuple-element(p), index=0
   n = s32[] constant(3)
   ROOT l = pred[] compare(i, n), direction=LT }, body={ ROOT p = (s32[], f32[8]) parameter(0) }
  wi = (s32[], f32[8]) tuple(si, x)
  bcv = u32[8] bitcast-convert(x)
  bit = f32[2,4] bitcast(x)
  dep = f32[8] add-dependency(x, tok)
  barrier = (f32[8]) opt-barrier(bt)
  bt = (f32[8]) tuple(x)
  rid = u32[] replica-id()
  pid = u32[] partition-id()
  ROOT r = (f32[8], f32[8]) tuple(x, y), control-predecessors={ar, md}
}
"""


def definitions_first(text):
    """XLA's own parser wants operands before their users."""
    lines = text.split("\n")
    for name, before in (("st2", "bnt"), ("wi", "whl"), ("bt", "barrier")):
        line = next(l for l in lines if l.strip().startswith(name + " = "))
        lines.remove(line)
        lines.insert(
            next(i for i, l in enumerate(lines) if l.strip().startswith(before + " = ")), line
        )
    return "\n".join(lines)


def write(name, text, packed=False):
    text = re.sub(
        r", allow_spmd_sharding_propagation_to_\w+=\{[^}]*\}", "", text
    )  # of the configuration, which HloModuleProto has not
    module = hlo.hlo_module_from_text(text)
    for _ in range(3):  # the stack tables come to rest
        module = hlo.hlo_module_from_text(module.to_string(OPTIONS))
    text = module.to_string(OPTIONS)
    if packed:
        with gzip.GzipFile(HERE / f"{name}.hlo.gz", "wb", mtime=0) as f:
            f.write(text.encode())
        with gzip.GzipFile(HERE / f"{name}.pb.gz", "wb", mtime=0) as f:
            f.write(module.as_serialized_hlo_module_proto())
    else:
        (HERE / f"{name}.hlo").write_text(text)
        (HERE / f"{name}.pb").write_bytes(module.as_serialized_hlo_module_proto())
    print(name, len(text))


def write_stablehlo(name, function, arguments):
    from jaxlib.mlir.dialects import stablehlo

    lowered = jax.jit(function).lower(*arguments)
    module = lowered.compiler_ir("stablehlo")
    pretty = module.operation.get_asm(enable_debug_info=True)
    (HERE / f"stablehlo_{name}.mlir").write_text(
        re.sub(r'"[^"\n]*/([^"/\n]*\.py)"', r'"\1"', pretty)
    )
    (HERE / f"stablehlo_{name}.generic.mlir").write_text(
        module.operation.get_asm(print_generic_op_form=True)
    )
    (HERE / f"stablehlo_{name}.hlo").write_text(
        re.sub(r'^(\d+) "[^"]*/([^"/]*)"$', r'\1 "\2"', lowered.as_text("hlo"), flags=re.M)
    )
    try:  # it changes the module, so this one is not used again
        bytecode = stablehlo.serialize_portable_artifact(module, stablehlo.get_current_version())
        (HERE / f"stablehlo_{name}.mlirbc").write_bytes(bytecode)
    except ValueError:  # CHLO and discardable attributes have no portable form
        pass


def main():
    jax.config.update("jax_include_full_tracebacks_in_locations", False)
    write("attributes", definitions_first(ATTRIBUTES))
    for name, (function, arguments) in PROGRAMS.items():
        write_stablehlo(name, function, arguments)
        jax.clear_caches()
        text = re.sub(
            r'^(\d+) "[^"]*/([^"/]*)"$',
            r'\1 "\2"',
            jax.jit(function)
            .lower(*arguments)
            .compile()
            .runtime_executable()
            .hlo_modules()[0]
            .to_string(OPTIONS),
            flags=re.M,
        )
        write("xla_cpu_" + name, text)
    client = xla_client.make_cpu_client()
    devices = xla_client._xla.DeviceList(tuple(client.devices()[:1]))
    with gzip.open(ROOT / "models" / "resnet50_train.mlir.gz") as f:
        executable = client.compile_and_load(f.read(), devices, xla_client.CompileOptions())
    write("xla_cpu_resnet50_train", executable.hlo_modules()[0].to_string(OPTIONS), packed=True)


if __name__ == "__main__":
    sys.exit(main())
