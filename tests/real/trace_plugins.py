#!/usr/bin/env python3
"""`hloscope trace` in front of vendors' plugins and frameworks: JAX compiling ahead of time on the
CUDA and TPU plugins, PyTorch/XLA on the built-in device.

    trace_plugins.py HLOSCOPE [JAX_PYTHON] [TORCH_PYTHON]        speaks TAP; what is not installed
                                                                 is skipped by name

The plugins come from `hloscope devices --install cuda,tpu`; JAX is that of JAX_PYTHON (or
$HLOSCOPE_PYTHON).
"""

import glob
import json
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tests" / "frameworks"))
from installed import installed_in  # noqa: E402

hloscope = str(pathlib.Path(sys.argv[1]).resolve())
jax_python = os.environ.get("HLOSCOPE_JAX_PYTHON") or (
    sys.argv[2]
    if len(sys.argv) > 2 and sys.argv[2]
    else os.environ.get("HLOSCOPE_PYTHON", sys.executable)
)
torch_python = os.environ.get("HLOSCOPE_TORCH_PYTHON") or (
    sys.argv[3] if len(sys.argv) > 3 and sys.argv[3] else sys.executable
)
cache = os.environ.get("HLOSCOPE_CACHE_DIR") or os.path.join(
    os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "hloscope"
)
roots = [
    os.path.join(os.path.dirname(os.environ.get("HLOSCOPE_PYTHON", "")), ".."),
    os.path.join(cache, "venv"),
]
packages = next(
    (
        found
        for root in roots
        for found in glob.glob(os.path.join(root, "lib", "python3*", "site-packages"))
    ),
    "",
)
done, failed = 0, 0

AHEAD_OF_TIME = """
import sys, jax, jax.numpy as jnp
from jax.experimental import topologies
from jax.sharding import SingleDeviceSharding
if sys.argv[1] == "tpu":
    topology = topologies.get_topology_desc(platform="tpu", topology_name="v5e:2x2x1")
else:
    topology = topologies.get_topology_desc(platform="cuda", topology_name="", target_config=open(sys.argv[2]).read(), topology="1x1x1")
s = SingleDeviceSharding(topology.devices[0])
def f(x, w): return jnp.tanh(x @ w).sum()
for n in (64, 128):
    a = jax.ShapeDtypeStruct((n, n), jnp.float32, sharding=s)
    print("compiled", len(jax.jit(f).lower(a, a).compile().as_text()) > 0)
"""

# Its first graph has the tensor as a constant, the others as an argument.
CONSTANT_FIRST = """
import torch, torch_xla
device = torch_xla.device()
w, x = torch.ones(32, 128, device=device), torch.rand(32, 128).to(device)
for i in range(3):
    w = w * 0.5 + x
    torch_xla.sync()
print(float(w.sum().cpu()))
"""


def report(name, good, why=""):
    global done, failed
    done += 1
    failed += not good
    print(
        f"{'ok' if good else 'not ok'} {done} - {name}"
        + ("" if good else "\n" + "\n".join("# " + line for line in str(why).splitlines()[-15:])),
        flush=True,
    )


def skip(name, why):
    global done
    done += 1
    print(f"ok {done} - {name} # SKIP {why}", flush=True)


def has(python, module, path=""):
    found = subprocess.run(
        [
            python,
            "-c",
            f"import importlib.util as u, sys; sys.exit(u.find_spec({module!r}) is None)",
        ],
        capture_output=True,
        env=dict(os.environ, PYTHONPATH=path),
    )
    return found.returncode == 0


def trace(scratch, name, command, **variables):
    capture = os.path.join(scratch, name + ".hsc")
    made = subprocess.run(
        [hloscope, "trace", "-o", capture, "--no-summary", "--", *command],
        capture_output=True,
        text=True,
        env=dict(os.environ, **variables),
        timeout=500,
    )
    tables = {}
    for view in ("recompiles", "executions", "operators", "executables"):
        read = subprocess.run(
            [hloscope, "tables", capture, view, "--format=json"], capture_output=True, text=True
        )
        tables[view] = json.loads(read.stdout)["rows"] if read.returncode == 0 else []
    return made, tables


with tempfile.TemporaryDirectory(prefix="hloscope-trace-") as scratch:
    for kind, module in (("cuda", "jax_plugins.xla_cuda12"), ("tpu", "libtpu")):
        name = f"JAX compiling ahead of time on the {kind} plugin"
        if not has(jax_python, "jax"):
            skip(name, "jax is not installed for this Python")
            continue
        path = "" if has(jax_python, module) else packages
        if not has(jax_python, module, path):
            skip(name, f"hloscope devices --install {kind} brings the plugin")
            continue
        made, tables = trace(
            scratch,
            kind,
            [jax_python, "-c", AHEAD_OF_TIME, kind, str(ROOT / "targets" / "gpu" / "h100.pbtxt")],
            PYTHONPATH=path,
            JAX_PLATFORMS="cpu",
            ALLOW_MULTIPLE_LIBTPU_LOAD="1",
        )
        ledger = [r for r in tables["recompiles"] if r["executable"] == "jit_f"]
        report(
            name,
            made.returncode == 0
            and made.stdout.count("compiled True") == 2
            and [r["kind"] for r in ledger] == ["first", "changed"]
            and "was f32[64,64], now f32[128,128]" in ledger[1]["why"],
            (made.returncode, made.stdout[-200:], made.stderr[-800:], ledger),
        )
        made = [r for r in tables["executables"] if r["executable"] == "jit_f"]
        kept = made and os.path.exists(
            os.path.join(scratch, kind + ".hsc", "programs", made[0]["optimized"] or "-")
        )
        report(
            f"{kind}: fingerprint, memory and the optimized program are kept",
            kept and made[0]["fingerprint"] and made[0]["peak memory"],
            tables["executables"],
        )
    name = "PyTorch/XLA on the built-in device"
    if not has(torch_python, "torch_xla"):
        skip(name, "torch_xla is not installed for this Python")
    else:
        os.mkdir(os.path.join(scratch, "package"))
        package = str(installed_in(os.path.join(scratch, "package")))
        made, tables = trace(
            scratch,
            "torch",
            [torch_python, str(ROOT / "python" / "examples" / "torch_mlp.py")],
            PJRT_DEVICE="HLOSCOPE",
            PYTHONPATH=os.pathsep.join([package, os.environ.get("PYTHONPATH", "")]),
            HLOSCOPE_LIBRARY_DIR=os.path.dirname(hloscope),
        )
        report(
            name,
            made.returncode == 0
            and tables["recompiles"]
            and tables["executions"]
            and tables["operators"],
            made.stderr[-800:],
        )
        report(
            "every execution of it has its run on the device",
            tables["executions"]
            and all(r["measured"] == "device" and r["run"] > 0 for r in tables["executions"]),
            tables["executions"][:3],
        )
        made, tables = trace(
            scratch,
            "constant",
            [torch_python, "-c", CONSTANT_FIRST],
            PJRT_DEVICE="HLOSCOPE",
            PYTHONPATH=os.pathsep.join([package, os.environ.get("PYTHONPATH", "")]),
            HLOSCOPE_LIBRARY_DIR=os.path.dirname(hloscope),
        )
        again = [r["why"] for r in tables["recompiles"] if r["kind"] == "changed"]
        report(
            "the ledger finds the constant that became an argument",
            any("was a constant" in why and "now a parameter" in why for why in again),
            (made.stderr[-500:], tables["recompiles"]),
        )
    print(f"1..{done}")
    sys.exit(1 if failed else 0)
