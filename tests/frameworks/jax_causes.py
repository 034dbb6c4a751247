#!/usr/bin/env python3
"""Why JAX compiled again: each cause is named in the ledger as JAX names it, or, where JAX traced
nothing anew, by what differs between the programs and options.

jax_causes.py HLOSCOPE        speaks TAP; run it with a Python that has JAX
"""

import importlib.util
import json
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
hloscope = str(pathlib.Path(sys.argv[1]).resolve())
if importlib.util.find_spec("jax") is None:
    print("1..0 # SKIP jax is not installed for this Python")
    sys.exit(0)

PROGRAM = """
import functools, jax, jax.numpy as jnp, numpy as np
from jax.sharding import Mesh, PartitionSpec as P, NamedSharding
x = jnp.ones((4, 4))

@jax.jit
def weak(v, s): return v * s + 1
weak(jnp.ones(4), jnp.float32(2)); weak(jnp.ones(4), 2.0)

mesh = Mesh(np.array(jax.devices()[:2]), ("x",))
@jax.jit
def shard(v): return jnp.sin(v) * 2
shard(jax.device_put(jnp.ones(4), NamedSharding(mesh, P()))); shard(jax.device_put(jnp.ones(4), NamedSharding(mesh, P("x"))))

@jax.jit
def place(v): return jnp.cos(v) + 1
place(jax.device_put(jnp.ones(4), jax.devices()[0])); place(jax.device_put(jnp.ones(4), jax.devices()[1]))

@jax.jit
def more(*a): return sum(a) + 1
more(jnp.ones(4)); more(jnp.ones(4), jnp.ones(4))

for k in (2.0, 3.0, 4.0):
    def const(v): return v * 7 - k
    jax.jit(const)(x)

def option(v): return jnp.tanh(v) @ v
f = jax.jit(option); f(x)
OPTION

@jax.jit
def prec(v): return v @ v + 1
prec(x)
with jax.default_matmul_precision("highest"): prec(x)

@functools.partial(jax.jit, static_argnames="mode")
def static(v, mode): return v + 1 if mode == "a" else v - 1
for m in "ab": static(v=x, mode=m)

def same(v): return jnp.exp(v) * 9
g = jax.jit(same)
for i in range(4):
    g.clear_cache(); jax.clear_caches(); g(x)

@jax.jit
def shape(v): return v.sum() * 3
shape(jnp.ones(3)); shape(jnp.ones(4))
"""
OPTION = {
    "cpu": "f.lower(x).compile(compiler_options={'xla_cpu_enable_fast_math': True})",
    "hloscope": "f.lower(x).compile(compiler_options={'xla_gpu_autotune_level': 0})",
}
WANTED = [
    ("jit_weak", 2, "weak_type"),
    ("jit_shard", 2, "sharding"),
    ("jit_place", 2, "device 0, now for device 1"),
    ("jit_more", 2, "length 2 and before tuple of length 1"),
    ("jit_const", 3, "was 3, now 4"),
    ("jit_prec", 2, "jax_default_matmul_precision differs: now highest"),
    ("jit_static", 2, "'mode'"),
    ("jit_same", 4, "the same options"),
    ("jit_shape", 2, "was f32[3], now f32[4]"),
    ("jit_option", 2, "option xla_"),
]
results = []


def check(name, condition, detail):
    results.append(bool(condition))
    print(f"{'ok' if condition else 'not ok'} {len(results)} - {name}", flush=True)
    if not condition:
        print("\n".join("# " + line for line in str(detail).splitlines()[:20]))


for platform in ("cpu", "hloscope"):
    with tempfile.TemporaryDirectory(prefix="hloscope-causes-") as scratch:
        environment = dict(
            os.environ,
            JAX_PLATFORMS=platform,
            XLA_FLAGS="--xla_force_host_platform_device_count=2",
            HLOSCOPE_DEVICE_COUNT="2",
            PYTHONPATH=os.pathsep.join([str(ROOT / "python"), os.environ.get("PYTHONPATH", "")]),
            HLOSCOPE_LIBRARY_DIR=os.path.dirname(hloscope),
        )
        program = os.path.join(scratch, "program.py")
        with open(program, "w") as file:
            file.write(PROGRAM.replace("OPTION", OPTION[platform]))
        made = subprocess.run(
            [
                hloscope,
                "trace",
                "-o",
                os.path.join(scratch, "c.hsc"),
                "--no-summary",
                "--",
                sys.executable,
                program,
            ],
            capture_output=True,
            text=True,
            env=environment,
        )
        done = subprocess.run(
            [hloscope, "tables", os.path.join(scratch, "c.hsc"), "recompiles", "--format=json"],
            capture_output=True,
            text=True,
        )
        ledger = (
            {
                (row["executable"], row["times"]): row["why"]
                for row in json.loads(done.stdout)["rows"]
            }
            if done.returncode == 0
            else {}
        )
        check(
            f"{platform}: the program runs, and says nothing that it did not say before",
            made.returncode == 0 and "CACHE MISS" not in made.stderr,
            made.stderr[-600:],
        )
        for name, times, words in WANTED:
            why = ledger.get((name, times), "not there")
            check(f"{platform}: {name}: {words}", words in why, why)
print(f"1..{len(results)}")
sys.exit(0 if all(results) else 1)
