#!/usr/bin/env python3
"""jax.distributed on the built-in device: several processes, one program. What they compute has the
bits of one process with as many devices. TAP.

    jax_distributed.py PLUGIN.so          hloscope is beside it

Skipped where jax is not installed.
"""

import importlib.util
import json
import os
import pathlib
import socket
import subprocess
import sys
import tempfile

if importlib.util.find_spec("jax") is None:
    print("1..0 # SKIP jax is not installed for this Python")
    sys.exit(0)

PYTHON = str(pathlib.Path(__file__).resolve().parents[2] / "python")
PLUGIN = str(pathlib.Path(sys.argv[1]).resolve())
LIMIT_S = 400

# Prints one line of JSON: what this process sees, and the bits of what it computed.
WORKER = """
import json, os, sys
import numpy as np
import jax, jax.numpy as jnp
from jax.experimental import multihost_utils
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P

address, count, number, mode = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
if count > 1:
    jax.distributed.initialize(address, count, number)
n = jax.device_count()
mesh = Mesh(np.array(jax.devices()), ("a",))
whole = np.random.default_rng(0).standard_normal((n * n, 6)).astype(np.float32) * 1e3
sharded = jax.make_array_from_callback(
    whole.shape, NamedSharding(mesh, P("a")), lambda index: whole[index]
)
ring = [(i, (i + 1) % n) for i in range(n)]
programs = {
    "psum": (lambda v: jax.lax.psum(v, "a"), P()),
    "pmax": (lambda v: jax.lax.pmax(v, "a"), P()),
    "all_gather": (lambda v: jax.lax.all_gather(v, "a", tiled=True), P("a")),
    "psum_scatter": (lambda v: jax.lax.psum_scatter(v, "a", tiled=True), P("a")),
    "all_to_all": (lambda v: jax.lax.all_to_all(v, "a", 0, 0, tiled=True), P("a")),
    "ppermute": (lambda v: jax.lax.ppermute(v, "a", ring), P("a")),
    "axis_index": (lambda v: v + jax.lax.axis_index("a"), P("a")),
    "scan": (
        lambda v: jax.lax.scan(lambda c, _: (jax.lax.psum(c, "a") / n, None), v, None, length=5)[0],
        P(),
    ),
}
said = {"process": jax.process_index(), "count": jax.process_count(), "devices": n,
        "own": [d.id for d in jax.local_devices()], "bits": {}}


def note(name, array):
    for shard in array.addressable_shards:
        said["bits"][f"{name}/{shard.device.id}"] = np.asarray(shard.data).tobytes().hex()


if mode == "leave" and number == 1:
    os._exit(7)
try:
    for name, (f, out) in programs.items():
        f = jax.shard_map(f, mesh=mesh, in_specs=P("a"), out_specs=out, check_vma=False)
        note(name, jax.jit(f)(sharded))
    # partitioned by Shardy, nothing said by hand
    note("matmul", jax.jit(lambda v: v @ v.T, out_shardings=NamedSharding(mesh, P(None, "a")))(sharded))
    note("grad", jax.jit(jax.grad(lambda v: jnp.tanh(v).sum() ** 2))(sharded))
    if mode == "compute" and count > 1:
        got = multihost_utils.broadcast_one_to_all(np.arange(5.0, dtype=np.float32) + 7 * number)
        said["broadcast"] = np.asarray(got).tolist()
        got = multihost_utils.process_allgather(np.array([number * 2.0], dtype=np.float32))
        said["allgather"] = np.asarray(got).ravel().tolist()
        last = jax.sharding.SingleDeviceSharding(jax.local_devices(process_index=count - 1)[0])
        moved = jax.jit(lambda v: v + 1)(jax.device_put(np.arange(3.0, dtype=np.float32), last))
        said["elsewhere"] = [np.asarray(s.data).tolist() for s in moved.addressable_shards]
        # two arrays from the devices of the first process to those of the last, and one back
        ends = [jax.local_devices(process_index=p) for p in (0, count - 1)]
        first, last = (NamedSharding(Mesh(np.array(end), ("a",)), P("a")) for end in ends)
        there = [
            jax.make_array_from_callback(whole.shape, first, lambda i: k * whole[i], dtype=np.float32)
            for k in (1, 2)
        ]
        one, two = jax.device_put(there, last)
        back = jax.device_put(two, first)
        said["moved"] = [
            bool((np.asarray(s.data) == k * whole[s.index]).all())
            for array, k in ((one, 1), (two, 2), (back, 2))
            for s in array.addressable_shards
        ]
        multihost_utils.sync_global_devices("end")
except Exception as error:
    said["error"] = str(error)
print("SAID " + json.dumps(said), flush=True)
if mode == "leave":
    os._exit(0)
"""


def run_job(devices, mode="compute"):
    """What each process said; `devices` has how many devices each has."""
    with socket.socket() as probe:
        probe.bind(("localhost", 0))
        address = f"localhost:{probe.getsockname()[1]}"
    with tempfile.TemporaryDirectory(prefix="hsc-jax-") as folder:
        script = pathlib.Path(folder) / "worker.py"
        script.write_text(WORKER)
        children = []
        for number, own in enumerate(devices):
            environment = dict(
                os.environ,
                JAX_PLATFORMS="hloscope,cpu",
                PJRT_NAMES_AND_LIBRARY_PATHS=f"hloscope:{PLUGIN}",
                HLOSCOPE_DEVICE_COUNT=str(own),
                HLOSCOPE_COLLECTIVE_TIMEOUT="120",
                PYTHONPATH=PYTHON,
                TF_CPP_MIN_LOG_LEVEL="3",
            )
            children.append(
                subprocess.Popen(
                    [sys.executable, str(script), address, str(len(devices)), str(number), mode],
                    env=environment,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT,
                    text=True,
                )
            )
        said = []
        for child in children:
            try:
                text = child.communicate(timeout=LIMIT_S)[0]
            except subprocess.TimeoutExpired:
                child.kill()
                text = child.communicate()[0]
            lines = [line[5:] for line in text.splitlines() if line.startswith("SAID ")]
            said.append(json.loads(lines[0]) if lines else {"error": text[-1500:]})
        return said


if sys.argv[2:] == ["--job"]:  # what is traced below
    print(json.dumps([s.get("error", "") for s in run_job([2, 2])]))
    sys.exit(0)
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from tap import main, test  # noqa: E402

ALONE = run_job([4])[0]


def check(devices):
    # JAX's own multihost_utils want as many devices in each process
    mode = "compute" if len(set(devices)) == 1 else "uneven"
    said = run_job(devices, mode)
    assert not [s for s in said if "error" in s], [s.get("error") for s in said]
    first = 0
    bits = {}
    for number, (own, s) in enumerate(zip(devices, said)):
        assert (s["process"], s["count"], s["devices"]) == (number, len(devices), sum(devices)), s
        assert s["own"] == list(range(first, first + own)), s["own"]
        if mode == "compute":
            assert s["broadcast"] == [0, 1, 2, 3, 4], s["broadcast"]
            # a program on one device of the last process: the others take no part
            here = number == len(devices) - 1
            assert s["elsewhere"] == ([[1, 2, 3]] if here else []), s["elsewhere"]
            wanted = own * {0: 1, len(devices) - 1: 2}.get(number, 0)
            assert s["moved"] == [True] * wanted, s["moved"]
            assert s["allgather"] == [2.0 * i for i in range(len(devices))], s["allgather"]
        first += own
        bits.update(s["bits"])
    assert bits.keys() == ALONE["bits"].keys(), bits.keys() ^ ALONE["bits"].keys()
    different = sorted(k for k in bits if bits[k] != ALONE["bits"][k])
    assert not different, different


@test
def two_processes_of_two_devices():
    assert "error" not in ALONE, ALONE
    check([2, 2])


@test
def four_processes_of_one_device():
    check([1, 1, 1, 1])


@test
def processes_with_different_numbers_of_devices():
    check([3, 1])


@test
def a_process_that_goes_is_an_error_that_names_it():
    said = run_job([2, 2], "leave")
    assert "process 1 of this job is gone" in said[0].get("error", ""), said[0]


@test
def a_trace_has_all_processes_on_one_timeline():
    hloscope = pathlib.Path(PLUGIN).parent / "hloscope"
    with tempfile.TemporaryDirectory(prefix="hsc-jax-") as folder:
        capture, exported = f"{folder}/job.hsc", f"{folder}/job.json"
        job = [sys.executable, __file__, PLUGIN, "--job"]
        trace = [str(hloscope), "trace", "-o", capture, "--", *job]
        done = subprocess.run(trace, capture_output=True, text=True, check=False)
        assert json.loads(done.stdout.splitlines()[0]) == ["", ""], done.stdout + done.stderr
        export = [str(hloscope), "export", capture, "--to=chrome", "-o", exported]
        subprocess.run(export, check=True, capture_output=True)
        events = json.loads(pathlib.Path(exported).read_text())["traceEvents"]
    named = {}
    runs = {}
    for event in events:
        if event["name"] == "process_name":
            named[event["pid"]] = event["args"]["name"]
        if event["name"] == "all-to-all" and event["ph"] == "X":
            runs.setdefault(event["pid"], []).append((event["ts"], event["ts"] + event["dur"]))
    numbers = sorted(name.split()[1] for name in named.values() if name.startswith("process "))
    assert numbers == ["0/2", "1/2"], named
    # nobody leaves an exchange before all have come to it: the latest begin is before the first end
    times = [span for spans in runs.values() for span in spans]
    assert len(runs) == 2 and len(times) == 4, runs
    assert max(begin for begin, _ in times) <= min(end for _, end in times), runs


sys.exit(main())
