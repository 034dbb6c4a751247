#!/usr/bin/env python3
"""hloscope.profile() in a program whose JAX has begun (every notebook), a second and a third
profile; and HLOSCOPE_OUTPUT_PATH by itself, with the package installed.

jax_profiles.py HLOSCOPE        speaks TAP; run it with a Python that has JAX
"""

import importlib.util
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
hloscope = str(pathlib.Path(sys.argv[1]).resolve())
if importlib.util.find_spec("jax") is None:
    print("1..0 # SKIP jax is not installed for this Python")
    sys.exit(0)

NOTEBOOK = """
import json, sys, jax, jax.numpy as jnp
f = jax.jit(lambda x: jnp.tanh(x @ x).sum())
x = jnp.ones((128, 128))
if sys.argv[1] == "late": f(x).block_until_ready()
import hloscope
def facts(path):
    c = hloscope.open_capture(path)
    runs = [r for r in c.table("executions").rows if "lambda" in r["executable"]]
    return {"runs": len(runs), "operators": sum(r["count"] for r in c.table("operators").rows), "labels": [r["name"] for r in c.table("inferences").rows]}
with hloscope.profile("one.hsc"):
    for _ in range(7): f(x).block_until_ready()
f(x).block_until_ready()
with hloscope.profile("two.hsc") as p:
    with p.record("second"):
        for _ in range(3): f(x).block_until_ready()
with hloscope.profile("one.hsc"):
    for _ in range(2): f(x).block_until_ready()
print(json.dumps([facts("one.1.hsc"), facts("two.hsc"), facts("one.hsc")]))
"""
ALONE = """
import os, site, sys
site.addsitedir(os.environ["PTH"])   # what an installed package does at Python's start
import jax, jax.numpy as jnp
f = jax.jit(lambda x: jnp.sin(x).sum())
for _ in range(5): f(jnp.ones(8)).block_until_ready()
sys.exit(6)
"""
results = []


def check(name, condition, detail):
    results.append(bool(condition))
    print(f"{'ok' if condition else 'not ok'} {len(results)} - {name}", flush=True)
    if not condition:
        print("\n".join("# " + line for line in str(detail).splitlines()[:20]))


for platform in ("cpu", "hloscope"):
    environment = dict(
        os.environ,
        JAX_PLATFORMS=platform,
        PYTHONPATH=os.pathsep.join([str(ROOT / "python"), os.environ.get("PYTHONPATH", "")]),
        HLOSCOPE_LIBRARY_DIR=os.path.dirname(hloscope),
    )
    for begun in ("late", "early"):
        with tempfile.TemporaryDirectory(prefix="hloscope-profiles-") as scratch:
            made = subprocess.run(
                [sys.executable, "-c", NOTEBOOK, begun],
                capture_output=True,
                text=True,
                env=environment,
                cwd=scratch,
                timeout=200,
            )
            facts = json.loads(made.stdout) if made.returncode == 0 else []
            check(
                f"{platform}, {begun}: each profile has its own calls, all of them",
                [f["runs"] for f in facts] == [7, 3, 2],
                (facts, made.stderr[-600:]),
            )
            check(
                f"{platform}, {begun}: and operators",
                facts and all(f["operators"] >= 2 for f in facts),
                facts,
            )
            check(
                f"{platform}, {begun}: calls are inside of the label around them",
                facts and facts[1]["labels"] == ["second"],
                facts,
            )
    with tempfile.TemporaryDirectory(prefix="hloscope-alone-") as scratch:
        shutil.copy(ROOT / "python" / "hloscope-record.pth", scratch)
        program = os.path.join(scratch, "alone.py")
        pathlib.Path(program).write_text(ALONE)
        made = subprocess.run(
            [sys.executable, program],
            capture_output=True,
            text=True,
            env=dict(environment, HLOSCOPE_OUTPUT_PATH="alone.hsc", PTH=scratch),
            cwd=scratch,
            timeout=200,
        )
        done = subprocess.run(
            [hloscope, "tables", os.path.join(scratch, "alone.hsc"), "executions", "--format=json"],
            capture_output=True,
            text=True,
        )
        runs = (
            [r for r in json.loads(done.stdout)["rows"] if "lambda" in r["executable"]]
            if done.returncode == 0
            else []
        )
        check(
            f"{platform}: HLOSCOPE_OUTPUT_PATH by itself records, and the exit code is the"
            " program's",
            made.returncode == 6 and len(runs) == 5,
            (made.returncode, len(runs), made.stderr[-500:]),
        )
        made = subprocess.run(
            [sys.executable, "-c", "import jax; jax.numpy.ones(3)"],
            capture_output=True,
            text=True,
            env=dict(environment, HLOSCOPE_OUTPUT_PATH="none.hsc"),
            cwd=scratch,
            timeout=200,
        )
        check(
            f"{platform}: where the package is not installed, that is said",
            "nothing is recorded" in made.stderr,
            made.stderr[-500:],
        )
print(f"1..{len(results)}")
sys.exit(0 if all(results) else 1)
