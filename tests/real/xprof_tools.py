#!/usr/bin/env python3
"""TensorBoard's profile plugin (xprof) on the log directories that hloscope writes: every tool has
rows, and the rows are ours. Skipped where it is not installed.

tests/real/xprof_tools.py build/hloscope [PYTHON]        speaks TAP; PYTHON (or
                                                         $HLOSCOPE_XPROF_PYTHON) is one with xprof
                                                         2.24
"""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
hloscope = str(pathlib.Path(sys.argv[1]).resolve())
python = (
    sys.argv[2] if len(sys.argv) > 2 else os.environ.get("HLOSCOPE_XPROF_PYTHON", sys.executable)
)
MODEL = ROOT / "models" / "patterns" / "deep_natural.hlo"
XLA_CPU = ROOT / "tests" / "conformance" / "profiles" / "xla_cpu_mlp.xplane.pb.gz"

# What runs beside xprof: one JSON object {tool: what it gave}.
ASK = r"""
import glob, json, sys
from xprof.convert import raw_to_tool_data as convert
files = glob.glob(sys.argv[1] + "/plugins/profile/*/*.xplane.pb")
out = {"tools": convert.xspace_to_tool_names(files)}
def ask(tool, **options):
    data, _ = convert.xspace_to_tool_data(files, tool, {"use_saved_result": False, **options})
    return data.decode("utf-8", "replace") if isinstance(data, bytes) else data
def rows(table):
    names = [c["id"] for c in table["cols"]]
    return [dict(zip(names, [cell.get("v") for cell in row["c"]])) for row in table["rows"]]
out["hlo_stats"] = rows(json.loads(ask("hlo_stats")))
out["framework"] = rows(json.loads(ask("framework_op_stats"))[0])
overview = json.loads(ask("overview_page"))
out["steps"] = rows(overview[1])
out["device_type"] = overview[2]["p"]["device_type"]
out["allocators"] = {name: int(a["profileSummary"]["peakStats"]["peakBytesInUse"])
                     for name, a in json.loads(ask("memory_profile")).get("memoryProfilePerAllocator", {}).items()}
out["roofline"] = len(json.loads(ask("roofline_model"))[0]["rows"])
def depth(node): return 1 + max([depth(child) for child in node.get("children", [])] or [0])
out["op_profile_depth"] = depth(json.loads(ask("op_profile"))["byProgram"])
out["memory"] = len(json.loads(ask("memory_viewer", module_name=sys.argv[2], memory_space="0")).get("heapSizes", []))
out["graph"] = ask("graph_viewer", graph_viewer_options={"module_name": sys.argv[2], "node_name": "", "type": "short_txt"})[:200]
trace = json.loads(ask("trace_viewer"))["traceEvents"]
out["trace_lines"] = sorted({e["args"]["name"] for e in trace if e.get("name") == "thread_name"})
out["trace_events"] = sum(e.get("ph") == "X" for e in trace)
print(json.dumps(out))
"""


def ours(path, view):
    result = subprocess.run(
        [hloscope, "tables", path, view, "--format=json"],
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(result.stdout)["rows"]


def close(a, b, part=1e-3, least=1e-3):
    return abs(a - b) <= max(part * max(abs(a), abs(b)), least)


def check(number, name, logdir, environment):
    """Problems of one log directory."""
    table = ours(logdir, "hlo-operators")
    busiest = max(ours(logdir, "programs"), key=lambda p: p["self_time"])
    module = f"{busiest['program']}({busiest['id']})"
    asked = subprocess.run(
        [python, "-c", ASK, logdir, module], capture_output=True, text=True, env=environment
    )
    if asked.returncode:
        return ["xprof failed: " + asked.stderr[-400:].replace("\n", " | ")]
    got, bad = json.loads(asked.stdout), []
    theirs = {(str(r["program_id"]), r["hlo_op_name"]): r for r in got["hlo_stats"]}
    if len(theirs) != len(table):
        bad.append(f"hlo_stats has {len(theirs)} operators, we {len(table)}")
    for row in table:
        program = row["program"].rsplit("(", 1)[1].rstrip(")")
        other = theirs.get((program, row["name"]))
        if other is None:
            bad.append(f"{row['name']} is not in hlo_stats")
            continue
        for key, value, their in (
            ("occurrences", row["occurrences"], other["occurrences"]),
            ("time", row["time"] / 1000, other["total_time"]),
            ("self time", row["self_time"] / 1000, other["total_self_time"]),
        ):
            if not close(value, their):
                bad.append(f"{row['name']}: {key} {value}, xprof says {their}")
        if row["category"] != other["category"]:
            bad.append(f"{row['name']}: category {row['category']}, xprof says {other['category']}")
        if row["flops"] and not close(row["flop_rate"] / 1e9, other["model_flop_rate"], 0.01):
            bad.append(
                f"{row['name']}: {row['flop_rate'] / 1e9} GFLOP/s, xprof says"
                f" {other['model_flop_rate']}"
            )
    operators = [
        r
        for r in ours(logdir, "framework-operators")
        if r["level"] != "component" and r["level"] != "model" and not r["path"].startswith("(no")
    ]
    names = {r["operation"]: r for r in got["framework"]}
    for row in operators:
        other = names.get(row["path"])
        if other is None:
            bad.append(f"{row['path']} is not in framework_op_stats")
        elif row["level"] == "operator" and not close(row["time"] / 1000, other["total_self_time"]):
            bad.append(
                f"{row['path']}: {row['time'] / 1000} us, xprof says {other['total_self_time']}"
            )
    steps = ours(logdir, "steps")
    if len(got["steps"]) != len(steps):
        bad.append(f"{len(got['steps'])} steps, we {len(steps)}")
    times = [
        float(re.search(r"Step time = ([0-9.]+) ms", row["tooltip"])[1]) for row in got["steps"]
    ]
    if any(abs(theirs - row["time"] / 1e6) > 0.002 for theirs, row in zip(times, steps)):
        bad.append(f"steps take {times} ms, we say {[row['time'] / 1e6 for row in steps]}")
    peaks = {
        r["program"]: r["size"]
        for r in ours(logdir, "memory")
        if r["what"] == "peak in use" and r["at"] is not None
    }
    if peaks != {name: peak for name, peak in got["allocators"].items() if name}:
        bad.append(f"memory profile: peaks {got['allocators']}, ours are {peaks}")
    if name.endswith("built-in device") and not peaks:
        bad.append("memory profile: no allocations of the built-in device")
    for what, enough in (
        ("roofline", got["roofline"] > 0),
        ("op_profile", got["op_profile_depth"] >= 4),
        ("memory viewer", got["memory"] > 0),
        ("graph viewer", "HloModule" in got["graph"]),
        ("trace viewer", got["trace_events"] > 10),
        ("trace viewer's lines", {"XLA Ops", "XLA Modules", "Steps"} <= set(got["trace_lines"])),
    ):
        if not enough:
            bad.append(f"{what}: empty")
    return bad


def main():
    if subprocess.run([python, "-c", "import xprof"], capture_output=True).returncode:
        print(
            "1..0 # SKIP xprof is not installed for this Python (pip install xprof;"
            " HLOSCOPE_XPROF_PYTHON names it)"
        )
        return 0
    scratch = tempfile.TemporaryDirectory(prefix="hloscope-xprof-")
    environment = dict(os.environ, TF_CPP_MIN_LOG_LEVEL="3")
    cases = [
        (
            "a profile of the built-in device",
            ["profile", str(MODEL), "--device=cpu", "--steps=5", "--output"],
        ),
        ("a profile of XLA:CPU", ["export", str(XLA_CPU), "--to=tensorboard", "--output"]),
    ]
    print(f"1..{len(cases)}")
    failed = 0
    for number, (name, command) in enumerate(cases, 1):
        logdir = os.path.join(scratch.name, str(number))
        made = subprocess.run(
            [hloscope, *command, logdir], capture_output=True, text=True, env=environment
        )
        bad = [made.stderr] if made.returncode else check(number, name, logdir, environment)
        print(f"{'not ok' if bad else 'ok'} {number} - xprof shows {name} as we do")
        for problem in bad[:20]:
            print("# " + problem)
        failed += bool(bad)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
