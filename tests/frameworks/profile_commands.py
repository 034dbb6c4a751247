#!/usr/bin/env python3
"""`hloscope profile -- COMMAND` on unmodified programs: operators, steps, transfers and HLO are
there, for JAX on the built-in device and on XLA:CPU, and for PyTorch/XLA.

profile_commands.py HLOSCOPE jax|torch        speaks TAP; run it with a Python that has the
                                              framework
"""

import importlib.util
import json
import os
import pathlib
import subprocess
import sys
import tempfile

from installed import installed_in

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
hloscope, framework = str(pathlib.Path(sys.argv[1]).resolve()), sys.argv[2]
if importlib.util.find_spec({"jax": "jax", "torch": "torch_xla"}[framework]) is None:
    print(f"1..0 # SKIP {framework} is not installed for this Python")
    sys.exit(0)

CASES = {
    "jax": [
        ("JAX on the built-in device", {"JAX_PLATFORMS": "hloscope"}, 5),
        ("JAX on XLA:CPU", {"JAX_PLATFORMS": "cpu"}, 5),
    ],
    "torch": [("PyTorch/XLA on the built-in device", {"PJRT_DEVICE": "HLOSCOPE"}, 5)],
}[framework]
PACKAGE = tempfile.TemporaryDirectory(prefix="hloscope-package-")
installed_in(PACKAGE.name)
PROGRAM = ROOT / "python" / "examples" / f"operator_profile_{framework}.py"


def rows(logdir, view):
    done = subprocess.run(
        [hloscope, "tables", logdir, view, "--format=json"],
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stdout)["rows"]


def check(variables, steps, logdir):
    paths = [PACKAGE.name, os.environ.get("PYTHONPATH", "")]
    environment = dict(
        os.environ,
        PYTHONPATH=os.pathsep.join(p for p in paths if p),
        HLOSCOPE_LIBRARY_DIR=os.path.dirname(hloscope),
        **variables,
    )
    made = subprocess.run(
        [hloscope, "profile", "--output", logdir, "--", sys.executable, str(PROGRAM)],
        capture_output=True,
        text=True,
        env=environment,
    )
    if made.returncode:
        return [made.stderr[-600:]]
    bad, operators = [], rows(logdir, "hlo-operators")
    if "largest difference" not in made.stdout:
        bad.append("the program's own output is gone")
    busiest = max(rows(logdir, "programs"), key=lambda p: p["occurrences"])
    if not busiest["hlo"] or busiest["runs"] != steps:
        bad.append(f"the program ran {steps} times and has HLO; the profile says {busiest}")
    of_it = [
        o for o in operators if o["program"] and o["program"].split("(")[0] == busiest["program"]
    ]
    if (
        not of_it
        or any(o["occurrences"] % steps for o in of_it)
        or not any(o["flops"] for o in of_it)
    ):
        bad.append(f"operators without cost or not once a step: {of_it}")
    if len(rows(logdir, "steps")) != steps:
        bad.append(f"{len(rows(logdir, 'steps'))} steps, {steps} were run")
    if not any("tanh" in (r["path"] or "") for r in rows(logdir, "framework-operators")):
        bad.append("the framework's tanh is in no name")
    if not {r["section"] for r in rows(logdir, "timeline")} >= {
        "process overview",
        "execution",
        "control",
    }:
        bad.append("the timeline lacks a section")
    return bad


DIES = """
import os, time, jax, jax.numpy as jnp
f = jax.jit(lambda x: jnp.tanh(x @ x).sum())
x = jnp.ones((64, 64))
for _ in range(5): f(x).block_until_ready()
"""
ENDS = [
    ("os._exit", "os._exit(4)", 4),
    ("abort", "os.abort()", 134),
    ("SIGTERM", "os.kill(os.getpid(), 15); time.sleep(20)", 143),
    ("a bad pointer", "import ctypes; ctypes.string_at(0)", 139),
]


def check_death(variables, logdir):
    """A program that dies leaves its profile, and dies as it would have."""
    environment = dict(
        os.environ,
        PYTHONPATH=os.pathsep.join([PACKAGE.name, os.environ.get("PYTHONPATH", "")]),
        HLOSCOPE_LIBRARY_DIR=os.path.dirname(hloscope),
        **variables,
    )
    bad = []
    for number, (name, ending, code) in enumerate(ENDS):
        made = subprocess.run(
            [
                hloscope,
                "profile",
                "--output",
                f"{logdir}-{number}",
                "--",
                sys.executable,
                "-c",
                DIES + ending,
            ],
            capture_output=True,
            text=True,
            env=environment,
        )
        operators = rows(f"{logdir}-{number}", "hlo-operators") if made.returncode == code else []
        if not any(o["occurrences"] >= 5 for o in operators):
            bad.append(
                f"{name}: exit code {made.returncode} for {code}, {len(operators)} operators:"
                f" {made.stderr[-300:]}"
            )
        if "exit code" not in made.stderr and "ended by signal" not in made.stderr:
            bad.append(f"{name}: how it ended is not said: {made.stderr[-300:]}")
    return bad


DEVICES = """
import threading, jax, jax.numpy as jnp
f = jax.jit(lambda x: jnp.sin(x @ x).sum())
def go(x):
    for _ in range(10): f(x).block_until_ready()
threads = [threading.Thread(target=go, args=(jax.device_put(jnp.ones((200, 200)), d),)) for d in jax.devices() * 2]
for t in threads: t.start()
for t in threads: t.join()
"""


def check_devices(variables, logdir):
    """Two devices, four threads: names and ordinals are the devices' own, however runs overlap."""
    environment = dict(
        os.environ,
        PYTHONPATH=os.pathsep.join([PACKAGE.name, os.environ.get("PYTHONPATH", "")]),
        HLOSCOPE_LIBRARY_DIR=os.path.dirname(hloscope),
        HLOSCOPE_DEVICE_COUNT="2",
        **variables,
    )
    bad = []
    for verb, view in [("profile", "hlo-operators"), ("trace", "executions")]:
        subprocess.run(
            [hloscope, verb, "-o", f"{logdir}.{verb}", "--", sys.executable, "-c", DEVICES],
            capture_output=True,
            text=True,
            env=environment,
        )
        devices = {}
        for row in rows(f"{logdir}.{verb}", view):
            devices[row["device"]] = devices.get(row["device"], 0) + (
                row["occurrences"]
                if verb == "profile" and "dot" in row["name"]
                else verb == "trace" and "lambda" in row["executable"]
            )
        if devices != {"hloscope:0": 20, "hloscope:1": 20}:
            bad.append(f"{verb}: runs by device are {devices}")
    return bad


MODULES = """
import torch, torch_xla
class NN(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer1, self.nl1 = torch.nn.Linear(4, 4), torch.nn.ReLU()
    def forward(self, x): return self.nl1(self.layer1(x))
with torch.no_grad():
    model, x = NN().to(torch_xla.device()), torch.rand(4, 4).to(torch_xla.device())
    for _ in range(5):
        y = model(x); torch_xla.sync()
print(y.cpu().sum())
"""


def check_modules(variables, logdir):
    """A program that says nothing of names has its modules' in the profile."""
    environment = dict(
        os.environ,
        PYTHONPATH=os.pathsep.join([PACKAGE.name, os.environ.get("PYTHONPATH", "")]),
        HLOSCOPE_LIBRARY_DIR=os.path.dirname(hloscope),
        **variables,
    )
    with open(logdir + ".py", "w") as file:
        file.write(MODULES)
    made = subprocess.run(
        [hloscope, "profile", "--output", logdir, "--", sys.executable, logdir + ".py"],
        capture_output=True,
        text=True,
        env=environment,
    )
    paths = (
        [row["path"] for row in rows(logdir, "framework-operators")] if made.returncode == 0 else []
    )
    return [] if "NN[model]/ReLU[nl1]/aten__relu" in paths else [f"{paths}: {made.stderr[-400:]}"]


if framework == "torch":
    CASES.append(
        (
            "names of PyTorch's modules come by themselves",
            {"PJRT_DEVICE": "HLOSCOPE"},
            check_modules,
        )
    )
if framework == "jax":
    CASES.append(
        ("the devices' own names and ordinals", {"JAX_PLATFORMS": "hloscope"}, check_devices)
    )
    CASES += [(name + ", dying", variables, check_death) for name, variables, _ in CASES[:2]]
print(f"1..{len(CASES)}")
failed = 0
with tempfile.TemporaryDirectory(prefix="hloscope-profile-") as scratch:
    for number, (name, variables, steps) in enumerate(CASES, 1):
        logdir = os.path.join(scratch, str(number))
        problems = steps(variables, logdir) if callable(steps) else check(variables, steps, logdir)
        print(f"{'not ok' if problems else 'ok'} {number} - {name}")
        for problem in problems:
            print("# " + problem.replace("\n", "\n# "))
        failed += bool(problems)
sys.exit(1 if failed else 0)
