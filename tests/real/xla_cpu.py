#!/usr/bin/env python3
"""XLA:CPU of a real jaxlib after `hloscope run`: what the worker answers, and that its numbers are
those of the other devices. Skipped where no jaxlib is found.

tests/real/xla_cpu.py build/hloscope        speaks TAP
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PATTERNS = ROOT / "models" / "patterns"
hloscope = str(pathlib.Path(sys.argv[1]).resolve())
scratch = tempfile.TemporaryDirectory(prefix="hloscope-real-")
environment = dict(os.environ, HLOSCOPE_CACHE_DIR=scratch.name)
# The private environment of the user's cache directory counts as well.
if not environment.get("HLOSCOPE_PYTHON"):
    cache = os.environ.get("HLOSCOPE_CACHE_DIR") or os.path.join(
        os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "hloscope"
    )
    if os.path.exists(os.path.join(cache, "venv", "bin", "python")):
        os.symlink(os.path.join(cache, "venv"), os.path.join(scratch.name, "venv"))
TYPES = (
    "pred",
    "s8",
    "s32",
    "s64",
    "u8",
    "u32",
    "u64",
    "f16",
    "bf16",
    "f32",
    "f64",
    "c64",
    "f8e4m3fn",
    "f8e5m2",
    "s4",
)
IDENTITY = """HloModule identity
ENTRY main {
%s
  ROOT r = (%s) tuple(%s)
}
""" % (
    "\n".join(
        f"  p{i} = {t}[5,3] parameter({i})\n  c{i} = {t}[5,3] copy(p{i})"
        for i, t in enumerate(TYPES)
    ),
    ", ".join(f"{t}[5,3]" for t in TYPES),
    ", ".join(f"c{i}" for i in range(len(TYPES))),
)
done = 0


def call(*arguments, env=environment):
    result = subprocess.run(
        [hloscope, *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=env,
        text=True,
        timeout=300,
    )
    try:
        return result, json.loads(result.stdout)
    except ValueError:
        return result, {}


def check(name, good, why=""):
    global done
    done += 1
    print(
        f"{'ok' if good else 'not ok'} {done} - {name}"
        + ("" if good else "\n" + "\n".join("# " + line for line in str(why).splitlines())),
        flush=True,
    )


def test_a_python_that_is_not_there_is_named():
    _, found = call(
        "devices",
        "xla-cpu",
        "--format=json",
        env=dict(environment, HLOSCOPE_PYTHON="/nowhere/python"),
    )
    row = found["devices"][0]
    check(
        "a Python that is not there is named, with what to do",
        not row["found"]
        and "/nowhere/python" in row["reason"]
        and "pip install jaxlib" in row["install"],
        row,
    )


def test_numbers_agree():
    for program, outputs in ("tiny_natural", 1), ("mlp_scan", 2), ("multihead_vmap", 1):
        result, run = call(
            "run",
            PATTERNS / f"{program}.hlo",
            "--device",
            "cpu",
            "--compare",
            "xla-cpu",
            "--no-store",
            "--format=json",
        )
        verdicts = [row["verdict"] for row in run.get("compare", [])]
        check(
            f"{program}: the numbers of cpu and xla-cpu agree",
            len(verdicts) == outputs and set(verdicts) <= {"equal", "close"},
            result.stderr + str(verdicts),
        )
    row = run["devices"][1]
    check(
        "counts, cost, memory and the cost of a call are there",
        row["instructions"] > 1
        and row["fusions"] >= 1
        and row["flops"] > 1e4
        and row["bytes"] > 1e4
        and row["temp_bytes"] > 0
        and 1e-7 < row["call_overhead"] < 0.1,
        row,
    )
    check(
        "both devices name the program alike",
        run["devices"][0]["fingerprint"] == row["fingerprint"],
        run["devices"][0]["fingerprint"],
    )


def test_inputs_and_digests_are_the_same_bytes():
    path = pathlib.Path(scratch.name) / "identity.hlo"
    path.write_text(IDENTITY)
    result, run = call(
        "run", path, "--device", "reference,xla-cpu", "--seed", 7, "--no-store", "--format=json"
    )
    digests = [{o["shape"]: o["digest"] for o in d["outputs"]} for d in run.get("devices", [])]
    differ = (
        [s for s in digests[0] if digests[0][s] != digests[1].get(s)]
        if len(digests) == 2
        else "no answer"
    )
    large = (
        pathlib.Path(scratch.name) / "large.hlo"
    )  # digests of large outputs are made in C, those of small ones in Python
    large.write_text(
        "HloModule large\nENTRY main {\n  x = f32[40001] parameter(0)\n  ROOT y = f32[40001]"
        " negate(x)\n}\n"
    )
    _, wide = call("run", large, "--device", "cpu,xla-cpu", "--no-store", "--format=json")
    check(
        "and so are those of a large output",
        len({d["outputs"][0]["digest"] for d in wide.get("devices", [])}) == 1
        and len(wide["devices"]) == 2,
        str(wide)[:500],
    )
    check(
        f"inputs of {len(TYPES)} types and digests are the same bytes",
        len(digests) == 2 and len(digests[0]) == len(TYPES) and not differ,
        result.stderr + str(differ) + str(run)[:500],
    )


def test_perturbed_inputs_are_the_same_bytes(python):
    path = pathlib.Path(scratch.name) / "identity.hlo"
    path.write_text(IDENTITY)
    plugin = str(pathlib.Path(hloscope).parent / "libhloscope_cpu_pjrt.so")
    jobs = [
        {"id": 1, "job": "load", "plugin": plugin},
        {"id": 2, "job": "run", "program": str(path), "perturb": 1e-30},
        {"id": 3, "job": "run", "program": str(path), "perturb": 0.001},
        {"id": 4, "job": "quit"},
    ]
    text = "\n".join(map(json.dumps, jobs)) + "\n"
    # Answers of the worker in C come on descriptor 3.
    commands = [
        [python, "-m", "hloscope.worker"],
        ["bash", "-c", 'exec "$0" worker 3>&1 1>&2', hloscope],
    ]
    answers = [
        [
            json.loads(line)
            for line in subprocess.run(
                command,
                input=text,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env=dict(environment, PYTHONPATH=str(ROOT / "python")),
                text=True,
                timeout=300,
            ).stdout.splitlines()
        ]
        for command in commands
    ]
    digests = [
        [{o["shape"]: o["digest"] for o in a.get("outputs", [])} for a in row[1:3]]
        for row in answers
    ]
    check(
        "moved inputs are the same bytes in both workers",
        digests[0] == digests[1] and all(digests[0]) and digests[0][0] != digests[0][1],
        str(answers)[:1500],
    )


def test_formats_and_transforms():
    result, run = call(
        "run",
        PATTERNS / "tiny_natural.hlo",
        "--device",
        "xla-cpu",
        "--compare",
        "cpu",
        "--transform",
        "vmap:3",
        "--no-store",
        "--format=json",
    )
    rows = run.get("compare", [])
    check(
        "transformed programs",
        len(rows) == 1
        and rows[0]["shape"].startswith("f32[3,")
        and rows[0]["verdict"] in ("equal", "close"),
        result.stderr + str(rows),
    )
    digests = []
    for kind in "hlo", "mlir":
        result, run = call(
            "run",
            PATTERNS / f"tiny_natural.{kind}",
            "--device",
            "xla-cpu",
            "--no-store",
            "--format=json",
        )
        digests.append([o["digest"] for d in run.get("devices", []) for o in d["outputs"]])
    check(
        "StableHLO gives what HLO gives",
        len(digests[0]) == 1 and digests[0] == digests[1],
        result.stderr + str(digests),
    )


DONATED = """module @step {
  func.func public @main(%a: tensor<4xf32> {tf.aliasing_output = 0 : i32},
                         %b: tensor<2xf32> {jax.buffer_donor = true},
                         %c: tensor<4xf32>) -> (tensor<4xf32>, tensor<2xf32>) {
    %0 = stablehlo.add %a, %c : tensor<4xf32>
    %1 = stablehlo.negate %b : tensor<2xf32>
    return %0, %1 : tensor<4xf32>, tensor<2xf32>
  }
}
"""


def test_donated_arguments():
    """A donated input would be gone after the first of the runs that are timed."""
    folder = pathlib.Path(scratch.name)
    text = folder / "donated.mlir"
    text.write_text(DONATED)
    for name in "donated.mlir", "donated.mlirbc", "donated.hlo", "donated.pb":
        path = folder / name
        if path != text:
            call("convert", text, "--output", path)
        result, run = call(
            "run", path, "--device", "xla-cpu", "--compare", "cpu", "--no-store", "--format=json"
        )
        rows = run.get("compare", [])
        check(
            f"a donated program runs many times: {name}",
            len(rows) == 2 and all(row["verdict"] == "equal" for row in rows),
            result.stderr + str(rows),
        )


def test_linear_algebra_of_jax():
    result, run = call(
        "run",
        ROOT / "tests" / "conformance" / "formats" / "stablehlo_linear_algebra.mlir",
        "--device",
        "xla-cpu",
        "--no-store",
        "--format=json",
    )
    rows = run.get("devices", [])
    check(
        "LAPACK, which JAX's programs call by name, is there",
        len(rows) == 1 and rows[0]["status"] == "ok" and rows[0]["outputs"],
        result.stderr,
    )


def test_mistakes_are_answers():
    path = pathlib.Path(scratch.name) / "bad.hlo"
    path.write_text("HloModule bad\nENTRY main {\n  ROOT p = f32[2] parameter(0\n}\n")
    result, error = call("run", path, "--device", "xla-cpu", "--no-store", "--format=json")
    check(
        "a malformed program is refused, the worker goes on",
        result.returncode == 1 and "bad.hlo" in json.dumps(error),
        result.stdout + result.stderr,
    )


def test_protocol(python):
    jobs = [
        {"id": 1, "job": "hello"},
        {"id": 2, "job": "sync"},
        {"id": 3, "job": "load"},
        {
            "id": 4,
            "job": "run",
            "program": str(PATTERNS / "tiny_natural.hlo"),
            "overrides": {"xla_no_such": "1"},
        },
        {"id": 5, "job": "describe", "program": str(PATTERNS / "tiny_natural.hlo")},
        {
            "id": 6,
            "job": "describe",
            "program": str(PATTERNS / "tiny_natural.hlo"),
            "overrides": {"xla_disable_hlo_passes": "fusion"},
        },
        {"id": 7, "job": "sing"},
        {
            "id": 8,
            "job": "run",
            "program": str(PATTERNS / "tiny_natural.hlo"),
            "records": 0,
            "series": 10000000,
            "budget_s": 0.02,
            "fetch": False,
        },
        {"id": 9, "job": "quit"},
    ]
    text = "\n".join(map(json.dumps, jobs)) + "\nnot reached\n"
    out = subprocess.run(
        [python, "-m", "hloscope.worker"],
        input=text,
        stdout=subprocess.PIPE,
        env=dict(environment, PYTHONPATH=str(ROOT / "python")),
        text=True,
        timeout=300,
    ).stdout
    a = [json.loads(line) for line in out.splitlines()]
    check(
        "every job is answered in order, until quit",
        [x.get("id") for x in a] == list(range(1, 10)) and a[0]["protocol"] == 1,
        out,
    )
    check("a job without a device says so", a[1]["error"]["code"] == "FAILED_PRECONDITION", a[1])
    check(
        "an unknown compile option is the compiler's error",
        a[3]["error"]["code"] == "INVALID_ARGUMENT" and "xla_no_such" in a[3]["error"]["message"],
        a[3],
    )
    check(
        "compile options reach the compiler",
        a[5]["fusions"] != a[4]["fusions"],
        (a[4]["fusions"], a[5]["fusions"]),
    )
    check("an unknown job is named", "sing" in a[6]["error"]["message"], a[6])
    check(
        "a series ends with its time budget",
        3 <= len(a[7]["series"]["run_ns"]) < 10000000
        and a[7]["series_ended_by"] == "the time budget is spent",
        str(a[7])[-300:],
    )


def main():
    _, found = call("devices", "xla-cpu", "--format=json")
    row = found["devices"][0]
    if not row["found"]:
        print(f"1..0 # SKIP {row['reason']}")
        return
    test_a_python_that_is_not_there_is_named()
    test_numbers_agree()
    test_inputs_and_digests_are_the_same_bytes()
    test_formats_and_transforms()
    test_donated_arguments()
    test_linear_algebra_of_jax()
    test_mistakes_are_answers()
    test_protocol(row["plugin"])
    test_perturbed_inputs_are_the_same_bytes(row["plugin"])
    print(f"1..{done}")


main()
