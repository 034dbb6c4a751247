#!/usr/bin/env python3
"""`hloscope trace -- python x.py` for JAX on XLA:CPU, which is no plugin: calls, compilations and
operators of unmodified programs, however they end.

trace_xla_cpu.py HLOSCOPE        speaks TAP; run it with a Python that has JAX
"""

import importlib.metadata
import importlib.util
import json
import os
import re
import subprocess
import sys
import tempfile
import zlib

hloscope = os.path.abspath(sys.argv[1])
if importlib.util.find_spec("jax") is None:
    print("1..0 # SKIP jax is not installed for this Python")
    sys.exit(0)
results = []
# jaxlib before 0.5 numbers no runs in its profiles, nor does it name their device
JAXLIB = tuple(int(part) for part in importlib.metadata.version("jaxlib").split(".")[:2])
NUMBERED = JAXLIB >= (0, 5)
PATH = re.compile(  # of the callback in CUSTOM; JAX before 0.5 has one step more
    r"jit\(step\)/(jit\(main\)/)?layer/pure_callback"
)

PROGRAM = """
import jax, jax.numpy as jnp, sys, os
@jax.jit
def f(x, w):
    return jnp.tanh(x @ w).sum()
x = jnp.ones((64, 64)); w = jnp.ones((64, 64))
for i in range({calls}):
    y = f(x, w).block_until_ready()
f(jnp.ones((32, 64)), w).block_until_ready()
print("done", float(y))
"""


CUSTOM = """
import numpy as np
@jax.jit
def step(x):
    with jax.named_scope("layer"):
        y = jax.pure_callback(lambda v: np.asarray(v) * 2, jax.ShapeDtypeStruct(x.shape, x.dtype), x)
    q, r = jnp.linalg.qr(y)
    return q @ r
for i in range(3): step(jnp.eye(16)).block_until_ready()
"""


def check(name, condition, detail=""):
    results.append(bool(condition))
    print(f"{'ok' if condition else 'not ok'} {len(results)} - {name}", flush=True)
    if not condition:
        print("\n".join("# " + line for line in str(detail).splitlines()[:20]))


def trace(scratch, name, program, *options, calls=20):
    capture = os.path.join(scratch, name + ".hsc")
    environment = dict(os.environ, JAX_PLATFORMS="cpu")
    made = subprocess.run(
        [
            hloscope,
            "trace",
            "-o",
            capture,
            "--no-summary",
            *options,
            "--",
            sys.executable,
            "-c",
            PROGRAM.replace("{calls}", str(calls)) + program,
        ],
        capture_output=True,
        text=True,
        env=environment,
        timeout=240,
        cwd=scratch,
    )
    return capture, made


def table(capture, view, *options):
    done = subprocess.run(
        [hloscope, "tables", capture, view, "--format=json", *options],
        capture_output=True,
        text=True,
        timeout=100,
    )
    return json.loads(done.stdout) if done.returncode == 0 else {"rows": [], "notes": [done.stderr]}


def perfetto_text(data):
    """The packets of a Perfetto trace, as far as they are compressed: field 1 of the trace, in it
    field 50, zlib."""
    text, at = [], 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(data):
        assert varint() == 1 << 3 | 2
        end = varint() + at
        if varint() == 50 << 3 | 2:
            size = varint()
            text.append(zlib.decompress(data[at : at + size]))
        else:
            text.append(data[at:end])
        at = end
    return b"".join(text).decode(errors="replace")


def exported(capture, form, out):
    """What a form of a capture says, as text; "" where nothing was made."""
    verb = ["report", capture, "-o", out] if form == "report" else ["export", capture, "--to", form]
    verb += [] if form == "report" else ["-o", out]
    subprocess.run([hloscope, *verb], capture_output=True, timeout=100)
    if not os.path.isfile(out):
        return ""
    with open(out, "rb") as file:
        data = file.read()
    if form == "perfetto":
        return perfetto_text(data)
    if form == "parquet":
        import pyarrow.parquet

        return str(pyarrow.parquet.read_table(out).column("attributes").to_pylist())
    return data.decode(errors="replace")


with tempfile.TemporaryDirectory(prefix="hloscope-xla-cpu-") as scratch:
    # The last result is awaited: a run that is under way when the program ends is in no profile.
    capture, made = trace(
        scratch,
        "all",
        "\ng = jax.jit(lambda v: v * 2)\ndef h_(v): return v + 1\nh = jax.jit(h_)\nfor i in"
        " range(4): y = g(h(x))\ny.block_until_ready()\ny = 0\n",
    )
    check("the program runs as ever", made.returncode == 0 and "done" in made.stdout, made.stderr)
    runs = [r for r in table(capture, "executions")["rows"] if r["executable"] == "jit_f"]
    check(
        "every call is there, joined with its run on the device",
        len(runs) == 21
        and all(r["measured"] == "device" and 0 < r["run"] < r["total"] for r in runs),
        runs,
    )
    odd = [
        r
        for r in table(capture, "executions")["rows"]
        if r["executable"] in ("jit__lambda", "jit_h")
    ]
    check(
        "also those of functions whose names JAX changes",
        len(odd) == 8 and all(r["measured"] == "device" for r in odd),
        odd,
    )
    check(
        "calls and runs are in the same order",
        all(a["start"] < b["start"] for a, b in zip(runs, runs[1:])),
        runs,
    )
    capture_of_calls, made = trace(scratch, "custom", CUSTOM)
    called = table(capture_of_calls, "operators")["rows"]
    check(
        "custom calls name what they call, callbacks their path in the program",
        any(r.get("category") == "custom-call lapack_sgeqrf_ffi" for r in called)
        and any(
            "callback" in (r.get("category") or "") and PATH.fullmatch(r.get("op_name") or "")
            for r in called
        ),
        str(called) + made.stderr,
    )
    forms = ["chrome", "csv", "perfetto", "report"]
    if importlib.util.find_spec("pyarrow"):
        forms.append("parquet")
    for form in forms:
        text = exported(capture_of_calls, form, os.path.join(scratch, "custom." + form))
        check(
            f"so does the export to {form}",
            "lapack_sgeqrf_ffi" in text and PATH.search(text),
            text[:2000],
        )
    operators = {r["name"]: r for r in table(capture, "operators")["rows"]}
    check("operators", sum(r["count"] for r in operators.values()) >= 21, operators)
    ledger = table(capture, "recompiles")["rows"]
    again = [r for r in ledger if r["executable"] == "jit_f"]
    check(
        "the second compilation names the shape",
        len(again) == 2 and "was f32[64,64], now f32[32,64]" in again[1]["why"],
        ledger,
    )
    passes = table(capture, "passes")["rows"]
    check(
        "passes of the compiler were recorded",
        len(passes) > 20 and any(r["name"] == "layout-assignment" for r in passes),
        passes[:3],
    )
    chrome = subprocess.run(
        [hloscope, "export", capture, "--to=chrome", "-o", "-"], capture_output=True, text=True
    )
    slices = [e for e in json.loads(chrome.stdout)["traceEvents"] if e["ph"] == "X"]
    inside = [e for e in slices if e["name"] == "PjitFunction(f)"]
    near = min((abs(e["ts"] - runs[5]["start"] / 1000) for e in inside), default=1e9)
    check("the profile's clock and the tracer's agree within 200 us", near < 200, near)

    capture, made = trace(scratch, "many", "", "--xla-cpu-calls=50", calls=400)
    table_ = table(capture, "executions")
    of_f = [r for r in table_["rows"] if r["executable"] == "jit_f"]
    inside = [r for r in of_f if r["measured"] == "device"]
    check(
        "after the limit calls are timed from outside",
        len(of_f) == 401
        and 30 <= len(inside) <= 51
        and any("from outside" in n for n in table_["notes"]),
        (len(of_f), len(inside), table_["notes"]),
    )
    # Parts end after 4, 8, 16, 32 and 50 calls, and perhaps one for each of the first seconds; then
    # the second shape of f and one more program are compiled, each in a session of its own.
    parts = os.listdir(os.path.join(capture, "profiles"))
    check("compilations after the limit are profiled as well", 7 <= len(parts) <= 10, parts)

    for name, ending, code in [
        ("exit", "sys.exit(3)", 3),
        ("os._exit", "os._exit(4)", 4),
        ("an exception", "1/0", 1),
        ("SIGTERM", "os.kill(os.getpid(), 15); import time; time.sleep(5)", 143),
        ("abort", "os.abort()", 134),
        ("a bad pointer", "import ctypes; ctypes.string_at(0)", 139),
        (
            "abort on a thread",
            (
                "import threading, ctypes, time;"
                " threading.Thread(target=ctypes.CDLL(None).abort).start(); time.sleep(5)"
            ),
            134,
        ),
    ]:
        capture, made = trace(scratch, "end-" + name.replace(" ", ""), ending)
        runs = [r for r in table(capture, "executions")["rows"] if r["executable"] == "jit_f"]
        check(
            f"{name}: the exit code stays, operators are there",
            made.returncode == code
            and len(runs) == 21
            and all(r["measured"] == "device" for r in runs),
            (made.returncode, made.stderr[-300:], len(runs)),
        )
    capture, made = trace(scratch, "killed", "os.kill(os.getpid(), 9)")
    rows = [r for r in table(capture, "executions")["rows"] if r["executable"] == "jit_f"]
    # What was recorded is written in parts, the last one after the 16th call.
    check(
        "kill -9: calls and compilations are there, and the operators of more than half of them",
        made.returncode == 137
        and len(rows) == 21
        and len(table(capture, "recompiles")["rows"]) >= 4
        and all(r["measured"] == "device" for r in rows[:11])
        and sum(r["count"] for r in table(capture, "operators")["rows"]) >= 11,
        (made.stderr, [r["measured"] for r in rows]),
    )

    own = os.path.join(scratch, "own")
    capture, made = trace(
        scratch,
        "own-profile",
        f"""
with jax.profiler.trace({own!r}):
    for i in range(5): f(x, w).block_until_ready()
for i in range(5): f(x, w).block_until_ready()
""",
    )
    rows = [r for r in table(capture, "executions")["rows"] if r["executable"] == "jit_f"]
    check(
        "the program's own profile has the right of way",
        made.returncode == 0
        and [r["measured"] for r in rows] == ["device"] * 21 + ["call"] * 5 + ["device"] * 5
        and any(f.endswith(".xplane.pb") for _, _, files in os.walk(own) for f in files),
        (made.stderr[-300:], [r["measured"] for r in rows]),
    )
    capture, made = trace(
        scratch,
        "transformed",
        """
for i in range(3): jax.grad(f)(x, w)
jax.make_jaxpr(f)(x, w); f.lower(x, w).compile()(x, w); f.eval_shape(x, w)
import pickle, copy, inspect
assert inspect.signature(f) and type(f) is type(jax.jit(lambda: 0)) and hash(f) and copy.copy
class C:
    @jax.jit
    def method(self): return jnp.float32(1)
    @classmethod
    def __init_subclass__(cls): pass
try: f(object(), w)
except TypeError: print("refused")
""",
    )
    check(
        "jitted functions stay what they are",
        made.returncode == 0 and "refused" in made.stdout,
        made.stderr[-600:],
    )

    # Four devices: what runs on one is that one's, and a call over all of them has all their runs.
    program = os.path.join(scratch, "devices.py")
    with open(program, "w", encoding="utf-8") as file:
        file.write("""
import os, signal, sys
os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=4"
import jax, jax.numpy as jnp
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P
mesh = Mesh(jax.devices(), "x")
x = jax.device_put(jnp.ones((256, 256)), NamedSharding(mesh, P("x")))
step = jax.jit(lambda x: jnp.tanh(x @ x).sum())
for i in range(10): step(x).block_until_ready()
only = jax.device_put(jnp.ones((64, 64)), jax.devices()[2])
@jax.jit
def alone(v): return v @ v
for i in range(5): alone(only).block_until_ready()
if len(sys.argv) > 1: os.kill(os.getpid(), signal.SIGKILL)
""")
    environment = dict(os.environ, JAX_PLATFORMS="cpu")
    capture = os.path.join(scratch, "devices.hsc")
    subprocess.run(
        [hloscope, "trace", "-o", capture, "--no-summary", "--", sys.executable, program],
        capture_output=True,
        env=environment,
        timeout=240,
        check=True,
    )
    runs = table(capture, "executions")["rows"]
    of_all = [r["device"] for r in runs if r["executable"] == "jit__lambda"]
    if NUMBERED:
        check(
            "a call over four devices has the runs of all",
            [(device or "").split(":")[-1][1:] for device in of_all] == [" and 3 more"] * 10,
            runs,
        )
    else:
        check("a call over four devices of unnumbered runs has none", of_all == [None] * 10, runs)
    check(
        "a call on one device has that one",
        [r["device"] for r in runs if r["executable"] == "jit_alone"]
        == ["cpu:2" if NUMBERED else "cpu"] * 5,
        runs,
    )
    logs = os.path.join(scratch, "logs")
    subprocess.run(
        [hloscope, "profile", "-o", logs, "--", sys.executable, program],
        capture_output=True,
        env=environment,
        timeout=240,
        check=True,
    )
    rows = table(logs, "steps")["rows"]
    devices = {f"CPU:{i}" for i in range(4)} if NUMBERED else set()
    check("steps are by device", {r["device"] for r in rows} == devices, rows)
    rows = table(logs, "hlo-operators", "--limit=0")["rows"]
    check(
        "operators know their device",
        {r["device"] for r in rows if "jit_alone" in r["program"]}
        == {"CPU:2" if NUMBERED else "CPU"},
        rows,
    )

    # SIGKILL: nothing can be written then; the parts that were written and mapped files are there.
    killed = os.path.join(scratch, "killed")
    made = subprocess.run(
        [hloscope, "profile", "-o", killed, "--", sys.executable, program, "kill"],
        capture_output=True,
        text=True,
        env=environment,
        timeout=240,
    )
    check(
        "a killed program has its signal's exit code, its operators, and is told what is missing",
        made.returncode == 137
        and "not whole: SIGKILL ended the program" in made.stdout.replace("\n", " "),
        made.stdout[:400] + made.stderr[-800:],
    )
    rows = table(killed, "hlo-operators", "--limit=0")["rows"]
    most = max((r["occurrences"] for r in rows if "lambda" in r["program"]), default=0)
    check("the operators of half of its runs and more are there", most >= 5, rows)
    rows = table(os.path.join(killed, "calls.hsc"), "executions")["rows"]
    check("its calls are there", sum(r["executable"] == "jit_alone" for r in rows) == 5, rows)

print(f"1..{len(results)}")
sys.exit(0 if all(results) else 1)
