#!/usr/bin/env python3
"""Compiled programs between processes: JAX's persistent cache on the built-in device, and the
device's own. TAP.

    jax_cache.py PLUGIN.so

Skipped where jax is not installed.
"""

import importlib.util
import json
import os
import pathlib
import subprocess
import sys
import tempfile

if importlib.util.find_spec("jax") is None:
    print("1..0 # SKIP jax is not installed for this Python")
    sys.exit(0)

CHILD = """
import json, os
import jax, numpy
events = []
jax.monitoring.register_event_listener(lambda name, **_: events.append(name))
if os.environ.get("CACHE_OF_JAX"):
    jax.config.update("jax_compilation_cache_dir", os.environ["CACHE_OF_JAX"])
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
    jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
x = numpy.arange(12, dtype="f4").reshape(3, 4)
step = jax.jit(lambda x, w: w - jax.nn.softmax(jax.numpy.tanh(x.T @ (x @ w))), donate_argnums=1)
w = jax.device_put(numpy.eye(4, dtype="f4"))
compiled = step.lower(x, w).compile()
out = compiled(x, w)
print(json.dumps({"platform": jax.devices()[0].platform, "sum": float(numpy.asarray(out).sum()), "donated": w.is_deleted(),
                  "hits": events.count("/jax/compilation_cache/cache_hits"), "misses": events.count("/jax/compilation_cache/cache_misses"),
                  "from cache": compiled.cost_analysis()["hloscope from cache"]}))
"""
number = failures = 0


def report(good: bool, name: str) -> None:
    global number, failures
    number += 1
    failures += not good
    print(f"{'ok' if good else 'not ok'} {number} - {name}", flush=True)


def run(**variables: str) -> dict:
    python = pathlib.Path(__file__).resolve().parents[2] / "python"
    environment = dict(
        os.environ,
        JAX_PLATFORMS="hloscope",
        HLOSCOPE_CPU_PLUGIN=sys.argv[1],
        PYTHONPATH=str(python),
        **variables,
    )
    environment.pop("PJRT_NAMES_AND_LIBRARY_PATHS", None)
    result = subprocess.run(
        [sys.executable, "-c", CHILD],
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
        timeout=300,
        check=True,
    )
    return json.loads(result.stdout.splitlines()[-1])


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        first, second = run(CACHE_OF_JAX=folder), run(CACHE_OF_JAX=folder)
        report(
            first["platform"] == "hloscope" and abs(first["sum"]) < 1e-5,
            "the program gives its numbers",
        )
        report(
            first["hits"] == 0
            and first["misses"] == 1
            and len(list(pathlib.Path(folder).glob("jit*-cache"))) == 1,
            "JAX writes what was compiled",
        )
        report(
            second["hits"] == 1 and second["misses"] == 0 and second["from cache"] == 1,
            "a second process loads it",
        )
        report(
            second["sum"] == first["sum"] and first["donated"] and second["donated"],
            "and it gives the same bits, and takes what is donated",
        )
        for entry in pathlib.Path(folder).glob("jit*-cache"):
            data = entry.read_bytes()
            entry.write_bytes(data[: len(data) // 2])
        torn = run(CACHE_OF_JAX=folder)
        report(
            torn["from cache"] == 0 and torn["sum"] == first["sum"],
            "a torn entry is compiled again",
        )
    with tempfile.TemporaryDirectory() as folder:
        first, second = run(HLOSCOPE_CACHE_DIR=folder), run(HLOSCOPE_CACHE_DIR=folder)
        report(
            first["from cache"] == 0 and second["from cache"] == 1,
            "HLOSCOPE_CACHE_DIR: the device itself finds it on disk",
        )
        report(first["sum"] == second["sum"], "and it gives the same bits")
    print(f"1..{number}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
