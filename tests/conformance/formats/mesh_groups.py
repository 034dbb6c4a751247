#!/usr/bin/env python3
"""Makes mesh_groups.*: collectives whose groups are axes of a mesh, which JAX writes since 0.12.

  PYTHON-WITH-JAX-0.12 tests/conformance/formats/mesh_groups.py

mesh_groups.mlir, .mlirbc (VHLO), .native.mlirbc (StableHLO's own encoding): a named axis, two axes,
parts of an axis, a mesh with device ids. mesh_groups.hlo and .pb: the same groups, as XLA prints and
serialises them.
"""

import io
import pathlib

from jax._src.interpreters import mlir
from jaxlib import _hlo as hlo
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo

HERE = pathlib.Path(__file__).resolve().parent
AXES = '<name = "x", size = 2>, <name = "y", size = 4>'
IDS = "device_ids=dense<[7, 6, 5, 4, 3, 2, 1, 0]> : tensor<8xi64>"
GROUPS = [
    (f"axes=[{AXES}]", '#stablehlo.axis_ref<name = "y">'),
    (f"axes=[{AXES}]", '#stablehlo.axis_ref<name = "y">, #stablehlo.axis_ref<name = "x">'),
    (
        'axes=[<name = "x", size = 8>]',
        '#stablehlo.axis_ref<name = "x", sub_axis_info = (4)2>,'
        ' #stablehlo.axis_ref<name = "x", sub_axis_info = (1)2>',
    ),
    (f"axes=[{AXES}], {IDS}", '#stablehlo.axis_ref<name = "x">'),
]
TEXTS = [
    "mesh['x'=2,'y'=4] {'y'}",
    "mesh['x'=2,'y'=4] {'y','x'}",
    "mesh['x'=8] {'x':(4)2,'x':(1)2}",
    "mesh['x'=2,'y'=4], device_ids=(7,6,5,4,3,2,1,0) {'x'}",
    "mesh['x'=2,'y'=4], device_ids=([4,2]T(1,0)) {'x'}",
]


def stablehlo_text() -> str:
    lines = [
        "module @mesh_groups attributes {mhlo.num_partitions = 8 : i32, mhlo.num_replicas = 1 : i32}"
        " {",
        "func.func public @main(%0: tensor<4xf32>) -> tensor<4xf32> {",
    ]
    for i, (mesh, axes) in enumerate(GROUPS):
        lines.append(
            f'%{i + 1} = "stablehlo.all_reduce"(%{i}) ({{ ^bb0(%x: tensor<f32>, %y: tensor<f32>):'
            " %s = stablehlo.add %x, %y : tensor<f32> stablehlo.return %s : tensor<f32> }) "
            f"{{replica_groups = #stablehlo.replica_group_mesh_axes<mesh = #stablehlo.mesh<{mesh}>,"
            f" axes = [{axes}]>, channel_handle = #stablehlo.channel_handle<handle = {i + 1}, type ="
            " 1>, use_global_device_ids} : (tensor<4xf32>) -> tensor<4xf32>"
        )
    return "\n".join([*lines, f"return %{len(GROUPS)} : tensor<4xf32>", "} }"])


def hlo_text() -> str:
    lines = [
        "HloModule mesh_groups",
        "add {",
        "x = f32[] parameter(0)",
        "y = f32[] parameter(1)",
        "ROOT s = f32[] add(x, y)",
        "}",
        "ENTRY main {",
        "v0 = f32[4] parameter(0)",
    ]
    for i, groups in enumerate(TEXTS):
        root = "ROOT " if i + 1 == len(TEXTS) else ""
        lines.append(
            f"{root}v{i + 1} = f32[4] all-reduce(v{i}), channel_id={i + 1}, replica_groups={groups},"
            " use_global_device_ids=true, to_apply=add"
        )
    return "\n".join([*lines, "}"])


def main() -> None:
    context = mlir.make_ir_context()
    with context, ir.Location.unknown():
        module = ir.Module.parse(stablehlo_text())
        (HERE / "mesh_groups.mlir").write_text(str(module), encoding="utf-8")
        native = io.BytesIO()
        module.operation.write_bytecode(native)
        (HERE / "mesh_groups.native.mlirbc").write_bytes(native.getvalue())
        portable = stablehlo.serialize_portable_artifact(module, stablehlo.get_current_version())
        (HERE / "mesh_groups.mlirbc").write_bytes(portable)
    options = hlo.HloPrintOptions()
    options.print_large_constants = True
    module = hlo.hlo_module_from_text(hlo_text())
    (HERE / "mesh_groups.hlo").write_text(module.to_string(options), encoding="utf-8")
    (HERE / "mesh_groups.pb").write_bytes(module.as_serialized_hlo_module_proto())


if __name__ == "__main__":
    main()
