#!/usr/bin/env python3
"""Programs of several partitions on real compilers: what a chip holds, held against JAX's own
memory_analysis; and the numbers of eight devices, held against one and against XLA:CPU's eight.

tests/real/shards.py build/hloscope [--all]      speaks TAP; skipped, by name, where JAX or a
compiler is not installed. --all: the memory of a training step too, and on a second slice, whose
compiles take a minute

$HLOSCOPE_JAX_PYTHON has JAX, $HLOSCOPE_PYTHON the compilers; they may be one.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

EXPORT = r"""
import os, sys
os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=8"
import jax, jax.numpy as jnp, numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P

to = sys.argv[1]
devices = np.array(jax.devices())
mesh = Mesh(devices.reshape(2, 4), ("d", "m"))
ring = Mesh(devices, ("d",))
f32 = jnp.float32


def export(name, function, shapes, cuts, mesh=mesh, results=None):
    shardings = dict(in_shardings=[NamedSharding(mesh, cut) for cut in cuts])
    if results:
        shardings["out_shardings"] = tuple(NamedSharding(mesh, cut) for cut in results)
    arrays = [jax.ShapeDtypeStruct(shape, kind) for shape, kind in shapes]
    text = jax.jit(function, **shardings).lower(*arrays).as_text(debug_info=True)
    with open(f"{to}/{name}.mlir", "w") as file:
        file.write(text)


def mlp(x, a, b):
    h = jax.nn.relu(x @ a) @ b
    return h, jnp.mean(h**2)


def grad(a, b, x):
    return jax.grad(lambda a, b: mlp(x, a, b)[1], argnums=(0, 1))(a, b)


layers = [((64, 128), f32), ((128, 256), f32), ((256, 128), f32)]
export("mlp", mlp, layers, [P("d", None), P(None, "m"), P("m", None)])
export("reversed", mlp, layers, [P("d", None), P(None, "m"), P("m", None)],
       Mesh(devices[::-1].reshape(2, 4), ("d", "m")))
export("grad", grad, layers[1:] + layers[:1], [P(None, "m"), P("m", None), P("d", None)],
       results=[P(None, "m"), P("m", None)])
export("scan", lambda x, w: jax.lax.scan(lambda c, w: (jnp.tanh(c @ w), jnp.sum(c)), x, w),
       [((32, 64), f32), ((6, 64, 64), f32)], [P("d", "m"), P(None, "m", None)])
export("rolled", lambda x: jnp.roll(x, 3, 1) + jnp.flip(x, 1), [((8, 64), f32)], [P("d", "m")])
export("sorted", lambda x: jnp.sort(x, axis=-1), [((8, 64), f32)], [P("d", "m")])
export("lookup", lambda e, i: e[i], [((64, 16), f32), ((8,), jnp.int32)], [P("m", None), P("d")])
export("around", jax.shard_map(
    lambda x: jax.lax.ppermute(x, "d", [(i, (i + 1) % 8) for i in range(8)]),
    mesh=ring, in_specs=P("d"), out_specs=P("d")), [((64, 8), f32)], [P("d")], ring)


def differ(x):
    x = jax.lax.with_sharding_constraint(jnp.sin(x), NamedSharding(mesh, P("d", "m")))
    return jax.shard_map(
        lambda x: jax.lax.psum(jnp.sum(x * (1.0 + jax.lax.axis_index("d")), axis=0), "d"),
        mesh=mesh, in_specs=P(), out_specs=P())(x)


export("differ", differ, [((8, 16), f32)], [P("d")])
jax.config.update("jax_use_shardy_partitioner", False)
export("xla_mlp", mlp, layers, [P("d", None), P(None, "m"), P("m", None)],
       Mesh(devices[::-1].reshape(2, 4), ("d", "m")))
export("xla_differ", differ, [((8, 16), f32)], [P("d")])
"""

# What names its pieces itself has no whole that one device could compute.
IN_PARTS = ("around", "differ", "xla_differ")

# What jax itself says of the same program ahead of time for a slice of a TPU.
ANALYSE = r"""
import json, sys
import jax, numpy as np, jax.numpy as jnp
from jax.experimental import topologies
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P

to, shape, names = sys.argv[1:]
topology = topologies.get_topology_desc(platform="tpu", topology_name=f"v5e:{shape}")
count = len(topology.devices)
mesh = Mesh(np.array(topology.devices).reshape(2, count // 2), ("d", "m"))
said = {}


def layer(x, a, b):
    return jnp.tanh(x @ a) @ b


def step(a, b, x):
    return jax.grad(lambda a, b: jnp.mean(layer(x, a, b) ** 2), argnums=(0, 1))(a, b)


def halo(x, a, b):
    dims = ("NHWC", "HWIO", "NHWC")
    h = jax.lax.conv_general_dilated(x, a, (1, 1), "SAME", dimension_numbers=dims)
    return jax.lax.conv_general_dilated(h, b, (1, 1), "SAME", dimension_numbers=dims)


for name, function, sizes, cuts in (
    ("layer", layer, [(2048, 1024), (1024, 4096), (4096, 1024)],
     [P("d", None), P(None, "m"), P("m", None)]),
    ("step", step, [(1024, 4096), (4096, 1024), (2048, 1024)],
     [P(None, "m"), P("m", None), P("d", None)]),
    ("halo", halo, [(4, 128, 64, 64), (3, 3, 64, 128), (3, 3, 128, 64)],
     [P(None, ("d", "m")), P(), P()]),
):
    if name not in names.split(","):
        continue
    arrays = [jax.ShapeDtypeStruct(size, jnp.float32, sharding=NamedSharding(mesh, cut))
              for size, cut in zip(sizes, cuts)]
    lowered = jax.jit(function).lower(*arrays)
    with open(f"{to}/{name}.mlir", "w") as file:
        file.write(lowered.as_text())
    memory = lowered.compile().memory_analysis()
    said[name] = {key: getattr(memory, key + "_size_in_bytes", None)
                  for key in ("argument", "output", "temp")}
    said[name]["peak"] = getattr(memory, "peak_memory_in_bytes", None)
print(json.dumps(said))
"""

hloscope = str(pathlib.Path(sys.argv[1]).resolve())
scratch = pathlib.Path(tempfile.mkdtemp(prefix="hloscope-shards-"))
environment = dict(
    os.environ,
    HLOSCOPE_CACHE_DIR=str(scratch / "cache"),
    TPU_SKIP_MDS_QUERY="1",
    TPU_LOG_DIR="disabled",
    TPU_WORKER_HOSTNAMES="localhost",
    TF_CPP_MIN_LOG_LEVEL="2",
)
compilers = os.environ.get("HLOSCOPE_PYTHON", sys.executable)
python = os.environ.get("HLOSCOPE_JAX_PYTHON") or compilers
done = 0


def check(name, good, why=""):
    global done
    done += 1
    lines = "".join("\n# " + line for line in str(why).splitlines()[:20]) if not good else ""
    print(f"{'ok' if good else 'not ok'} {done} - {name}{lines}", flush=True)
    return good


def skip(name, why):
    global done
    done += 1
    print(f"ok {done} - {name} # SKIP {why}", flush=True)


def script(text, *arguments, **variables):
    return subprocess.run(
        [python, "-c", text, *map(str, arguments)],
        capture_output=True,
        text=True,
        env={
            **environment,
            "JAX_PLATFORMS": "cpu",
            "ALLOW_MULTIPLE_LIBTPU_LOAD": "1",
            **variables,
        },
        timeout=600,
    )


def file_of(interpreter, package, name):
    """A file of a package that a Python has; None where it has not."""
    find = (
        "import importlib.util as u, sys; s = u.find_spec(sys.argv[1]);"
        " print(s.submodule_search_locations[0] if s else '')"
    )
    told = subprocess.run([interpreter, "-c", find, package], capture_output=True, text=True)
    return pathlib.Path(told.stdout.strip()) / name if told.stdout.strip() else None


def run(program, *arguments):
    result = subprocess.run(
        [hloscope, "run", str(program), "--no-store", "-q", "--format=json", *arguments],
        capture_output=True,
        text=True,
        env=environment,
        timeout=600,
    )
    try:
        return json.loads(result.stdout)
    except ValueError:
        return {"error": result.stderr}


def numbers():
    exported = script(EXPORT, scratch)
    if not check("the programs are exported", exported.returncode == 0, exported.stderr):
        return
    for program in sorted(scratch.glob("*.mlir")):
        name = program.stem
        others = "xla-cpu:8" if name in IN_PARTS else "cpu,reference,xla-cpu:8"
        document = run(program, "-d", "cpu:8", "-c", others, "--runs", "2", "--processes", "1")
        coverage = document.get("coverage", {})
        check(
            f"{name}: eight of our devices compute what {others} compute",
            document.get("verdict") in ("equal", "close") and coverage.get("not_compared") == [],
            document.get("headline") or document,
        )
        outputs = [o for d in document.get("devices", []) for o in d["outputs"]]
        check(
            f"{name}: copies on several devices are the same",
            outputs and not any(o.get("copies_differ") for o in outputs),
            outputs,
        )
        program.unlink()


def memory(shape):
    library = file_of(compilers, "libtpu", "libtpu.so")
    if library is None:
        return skip(f"memory on v5e:{shape}", f"{compilers} has no libtpu")
    names = "layer,step,halo" if "--all" in sys.argv else "layer"
    said = script(ANALYSE, scratch, shape, names, TPU_LIBRARY_PATH=str(library))
    if not check(f"JAX analyses for v5e:{shape}", said.returncode == 0, said.stderr[-3000:]):
        return
    for name, theirs in json.loads(said.stdout.strip().splitlines()[-1]).items():
        document = run(scratch / f"{name}.mlir", "-d", f"tpu:v5e:{shape}")
        ours = (document.get("devices") or [{}])[0].get("per_partition", {})
        for key, value in theirs.items():
            if value is None:
                continue
            mine = ours.get(f"{key}_bytes")
            check(
                f"v5e:{shape} {name}: {key} is JAX's own within 2 %",
                mine is not None and abs(mine - value) <= 0.02 * value,
                f"{mine}, JAX says {value}; {document.get('error', '')}",
            )


if file_of(python, "jax", "") is None:
    print("1..0 # SKIP jax is not installed for this Python")
    sys.exit(0)
numbers()
memory("2x4")
if "--all" in sys.argv:
    memory("2x2")
print(f"1..{done}")
