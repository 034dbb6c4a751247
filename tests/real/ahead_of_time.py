#!/usr/bin/env python3
"""XLA:GPU and the TPU compiler without their hardware: every target, options, dumps, formats,
deaths. Skipped, by name, where a compiler is not installed.

tests/real/ahead_of_time.py build/hloscope        speaks TAP;  hloscope devices --install cuda,tpu
brings them
"""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PATTERNS = ROOT / "models" / "patterns"
TINY = PATTERNS / "tiny_natural.hlo"
hloscope = str(pathlib.Path(sys.argv[1]).resolve())
scratch = pathlib.Path(tempfile.mkdtemp(prefix="hloscope-real-"))
environment = dict(os.environ, HLOSCOPE_CACHE_DIR=str(scratch))
cache = os.environ.get("HLOSCOPE_CACHE_DIR") or os.path.join(
    os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "hloscope"
)
if os.path.isdir(
    os.path.join(cache, "venv")
):  # the private environment of the user's cache directory counts as well
    os.symlink(os.path.join(cache, "venv"), scratch / "venv")
done = 0


def check(name, good, why=""):
    global done
    done += 1
    print(
        f"{'ok' if good else 'not ok'} {done} - {name}"
        + ("" if good else "\n" + "\n".join("# " + line for line in str(why).splitlines()[:40])),
        flush=True,
    )


def skip(name, why):
    global done
    done += 1
    print(f"ok {done} - {name} # SKIP {why}", flush=True)


def call(*arguments):
    result = subprocess.run(
        [hloscope, *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment,
        text=True,
        timeout=900,
    )
    try:
        return result, json.loads(result.stdout)
    except ValueError:
        return result, {}


def run(devices, *more, program=TINY):
    """{device: its row} of `hloscope run`."""
    result, document = call(
        "run", program, "--no-store", "--format=json", "--device", ",".join(devices), *more
    )
    return {row["device"]: row for row in document.get("devices", [])}, result.stderr


class Worker:
    """A worker spoken to by hand: many compiles in one process."""

    def __init__(self, plugin, **load):
        extra = {
            "TPU_SKIP_MDS_QUERY": "1",
            "ALLOW_MULTIPLE_LIBTPU_LOAD": "1",
            "TPU_LOG_DIR": "disabled",
        }
        self.process = subprocess.Popen(
            [hloscope, "worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env={**environment, **extra},
        )
        self.load = self.call(job="load", plugin=plugin, **load)

    def call(self, **request):
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def compile(self, program=TINY, **more):
        return self.call(job="compile", program=str(program), **more)

    def end(self):
        self.process.stdin.close()
        self.process.wait(60)


def targets_are_accepted(kind, targets):
    rows, said = run(targets, "--jobs", "2")
    bad = {name: row["message"] for name, row in rows.items() if row["status"] != "ok"}
    check(
        f"{kind}: the compiler takes each of {len(targets)} targets",
        len(rows) == len(targets) and not bad,
        bad or said,
    )
    good = [row for row in rows.values() if row["status"] == "ok"]
    check(
        f"{kind}: every one tells time, instructions and memory, and that it cannot run here",
        all(
            row["phases"]["compile"] > 0
            and row["instructions"] > 0
            and row["temp_bytes"] is not None
            and row["run"]["median"] is None
            and "no device" in row["cannot_run"]
            for row in good
        ),
        good[:1],
    )
    return rows


def compiles_are_their_own(kind, device, plugin, load):
    """Options hold for one compile; formats are one program; what is asked for is there."""
    worker = Worker(plugin, **load)
    check(
        f"{kind}: the topology has devices",
        worker.load["ok"] and len(worker.load["devices"]) >= 1,
        worker.load,
    )
    first = worker.compile(
        optimized_to=str(scratch / "optimized"),
        xspace_to=str(scratch / "xspace"),
        serialized_to=str(scratch / "serialized"),
    )
    whole = worker.compile(PATTERNS / "mlp_scan.hlo")
    without = worker.compile(
        PATTERNS / "mlp_scan.hlo",
        overrides={
            "xla_disable_hlo_passes": "fusion,priority-fusion,tpu_fusion,multi-output-fusion"
        },
    )
    again = worker.compile()
    check(
        f"{kind}: a pass that is off changes this compile",
        without.get("fusions") != whole["fusions"],
        without,
    )
    check(
        f"{kind}: and not the next",
        again.get("executable_fingerprint") == first["executable_fingerprint"]
        and again["instructions"] == first["instructions"],
        again,
    )
    refused = worker.compile(overrides={"xla_no_such_option": True})
    check(
        f"{kind}: an unknown option is refused by name, and the worker lives",
        not refused["ok"]
        and "xla_no_such_option" in refused["error"]["message"]
        and worker.compile()["ok"],
        refused,
    )
    check(
        f"{kind}: serialised, {first['serialized_bytes']} bytes",
        (scratch / "serialized").stat().st_size == first["serialized_bytes"] > 1000,
        first,
    )
    xspace = (scratch / "xspace").read_bytes()
    check(
        f"{kind}: the profile of a compile names its passes",
        b"algsimp" in xspace or b"simplification" in xspace,
        len(xspace),
    )
    result, _ = call(
        "convert", scratch / "optimized", "--to", "hlo", "-o", scratch / "optimized.hlo"
    )
    text = (scratch / "optimized.hlo").read_text() if result.returncode == 0 else ""
    check(
        f"{kind}: the optimised program is read ({first['fusions']} fusions)",
        text.count(" fusion(") == first["fusions"],
        result.stderr,
    )
    dumps = scratch / f"dumps-{kind}"
    worker.compile(overrides={"xla_dump_to": str(dumps), "xla_dump_module_metadata": True})
    metadata = "".join(path.read_text() for path in dumps.glob("module_*.metadata.textproto"))
    check(
        f"{kind}: the dump tells every pass with its times",
        metadata.count("pass_name:") > 100 and "start_timestamp_usec" in metadata,
        len(metadata),
    )
    prints = {}
    for name in (
        "stablehlo_network.mlir",
        "stablehlo_network.generic.mlir",
        "stablehlo_network.mlirbc",
    ):
        answer = worker.compile(ROOT / "tests" / "conformance" / "formats" / name)
        prints[name] = (
            answer["ok"],
            answer.get("instructions"),
            answer.get("fusions"),
            answer.get("code_bytes"),
            answer.get("temp_bytes"),
            str(answer.get("error")),
        )
    check(
        f"{kind}: MLIR text, pretty and generic, and bytecode give one program",
        len(set(prints.values())) == 1 and prints["stablehlo_network.mlir"][0],
        prints,
    )
    call("convert", TINY, "--to", "hlo-proto", "-o", scratch / "tiny.pb")
    proto = worker.compile(scratch / "tiny.pb")
    check(
        f"{kind}: HLO text and HLO proto give one program",
        proto.get("executable_fingerprint") == first["executable_fingerprint"],
        proto,
    )
    refused = worker.call(job="run", program=str(TINY))
    check(
        f"{kind}: running is refused in words",
        not refused["ok"] and "no device" in refused["error"]["message"],
        refused,
    )
    worker.end()


def cuda(plugin, targets):
    rows = targets_are_accepted("cuda", targets)
    compiles_are_their_own(
        "cuda",
        "cuda:h100",
        plugin,
        {
            "topology": "",
            "options": {
                "target_config": (ROOT / "targets/gpu/h100.pbtxt").read_text(),
                "topology": "1x1x1",
            },
        },
    )
    # No cubin is found in the executables for the two oldest GPUs, and then no size is claimed.
    sizes = {target: row["code_bytes"] for target, row in rows.items() if row["status"] == "ok"}
    check(
        "cuda: the size of its code is counted",
        all(
            size is None if target.endswith((":t4", ":v100")) else (size or 0) > 500
            for target, size in sizes.items()
        ),
        sizes,
    )
    check(
        "cuda: an old GPU gets other code than a new one",
        rows["cuda:v100"]["fusions"] != rows["cuda:h100"]["fusions"],
        rows["cuda:v100"],
    )
    bad = scratch / "bad.pbtxt"
    bad.write_text("gpu_device_info { core_count: many }")
    got, _ = run([f"cuda:{bad}", "cuda:l4"])
    check(
        "cuda: a malformed target is an error of that device alone",
        got[f"cuda:{bad}"]["status"] == "error" and got["cuda:l4"]["status"] == "ok",
        got,
    )
    got, said = run(["cuda:h100"], program=ROOT / "models" / "laplace_train.hlo.gz")
    check(
        "cuda: a training step with second derivatives compiles",
        got.get("cuda:h100", {}).get("status") == "ok",
        said,
    )
    # Forward and backward convolutions are calls of cuDNN from conv-rewriter on; each stage is run
    # by the built-in device all the same.
    result, validated = call(
        "passes",
        "validate",
        ROOT / "tests" / "real" / "conv_gradients.mlir",
        "--device",
        "cuda:h100",
        "--format=json",
    )
    stages = validated.get("stages", [])
    check(
        "cuda: every stage of a network's gradients has the numbers of the first, cuDNN's"
        " convolutions lowered",
        max((s["lowered"] for s in stages), default=0) >= 4
        and stages[:-1]
        and not [s for s in stages[:-1] if s["skipped"]],
        str(validated)[:3000] + result.stderr,
    )
    the_executable_is_a_gap("cuda:h100", result, validated)
    compared_in_part("cuda:h100", "attention_top_k.mlir")


def the_executable_is_a_gap(device, result, validated):
    """Every stage of HLO agrees; what the device makes of the last one nobody ran."""
    coverage = validated.get("coverage", {})
    stages = coverage.get("stages", 0)
    check(
        f"{device}: an executable that was not run is part of no full verdict",
        result.returncode == 3
        and validated.get("verdict") == "partly"
        and coverage.get("final_executable") == "not_run"
        and coverage.get("compared") == stages - 1
        and [row["pass"] for row in coverage["not_compared"]] == ["code generation"]
        and f" as far as compared: {stages - 1} of {stages} stages; not compared: code generation: the executable was not run"
        in validated.get("headline", ""),
        str(validated.get("headline")) + result.stderr,
    )


def compared_in_part(device, program):
    """A stage behind a call that has no known meaning is not compared, and nothing is said about
    it."""
    result, validated = call(
        "passes",
        "validate",
        ROOT / "tests" / "real" / program,
        "--device",
        device,
        "--format=json",
    )
    coverage = validated.get("coverage", {})
    said = (
        f"equal as far as compared: {coverage.get('compared')} of {coverage.get('stages')} stages;"
        " not compared: none from"
    )
    check(
        f"{device}: stages behind a custom call are not compared, and the verdict says so",
        result.returncode == 3
        and validated.get("verdict") == "partly"
        and 0 < coverage.get("compared", 0) < coverage.get("stages", 0)
        and validated["headline"].startswith(said)
        and "no known meaning: " in validated["headline"],
        str(validated.get("headline")) + result.stderr,
    )


def patterns_without_a_device(device):
    """The phases that need none: starts, compiles, what they give."""
    result, _ = call(
        "patterns",
        "--device",
        device,
        "--graphs",
        "tiny",
        "--patterns",
        "natural,vmap",
        "--store",
        scratch / "patterns.sqlite",
        "-o",
        scratch / "patterns.json",
    )
    made = (
        json.loads((scratch / "patterns.json").read_text())
        if (scratch / "patterns.json").exists()
        else {}
    )
    rows = made.get("patterns", {}).values()
    check(
        f"{device}: patterns measures the compiles and says that nothing was run",
        result.returncode == 0
        and len(rows) == 2
        and all(
            row["phases"]["compile_miss"]["n"] == 6
            and row["instructions"]
            and row["status"] == "not_measured"
            for row in rows
        )
        and not made["failures"]
        and not made["comparisons"]
        and "nothing was run" in result.stdout,
        result.stdout + result.stderr,
    )


def tpu(plugin, targets):
    rows = targets_are_accepted("tpu", targets)
    compiles_are_their_own("tpu", "tpu:v5e", plugin, {"topology": "v5e:1x1"})
    compared_in_part("tpu:v5e", "gather_in_bounds.mlir")
    patterns_without_a_device("tpu:v5e")
    own, _ = run(["cpu"])
    ratio = rows["tpu:v5e"]["flops"] / own["cpu"]["flops"]
    check(
        f"tpu: flops of its cost analysis are ours ({ratio:.3f})",
        0.95 < ratio < 1.05 and rows["tpu:v5e"]["cost_from"] == "device",
        rows["tpu:v5e"],
    )
    got, said = run(
        ["tpu:v5e:2x2", "tpu:v4:2x2x1", "tpu:v5e:3x3", "tpu:v5e", "cpu"],
        "--option",
        "xla_disable_hlo_passes=",
    )
    status = {name: row["status"] for name, row in got.items()}
    check(
        "tpu: shapes that are and are not",
        status
        == {
            "tpu:v5e:2x2": "ok",
            "tpu:v4:2x2x1": "ok",
            "tpu:v5e:3x3": "error",
            "tpu:v5e": "ok",
            "cpu": "ok",
        },
        str(status) + said,
    )
    check(
        "tpu: a wrong shape names the step",
        "creating the topology" in got["tpu:v5e:3x3"].get("notes", ""),
        got["tpu:v5e:3x3"],
    )
    got, said = run(["tpu:v5e", "cpu"], "--option", "xla_disable_hlo_passes=dot_canonicalizer")
    check(
        "tpu: a compiler that aborts leaves its last words with file and line, and the other device"
        " its numbers",
        got["tpu:v5e"]["status"] == "abort"
        and "tpu_instruction_fusion.cc:" in got["tpu:v5e"]["message"]
        and got["cpu"]["status"] == "ok",
        got["tpu:v5e"],
    )
    got, _ = run(["tpu:v5e"])
    check("tpu: and the next command its compiler", got["tpu:v5e"]["status"] == "ok", got)


def memory_runs_out(devices):
    """A compiler that takes more than its worker may have is killed; who, at which step and with
    how much is reported, and the others report."""
    got, _ = run([*devices, "cpu"], "--memory-limit", "90")
    for device in devices:
        row = got[device]
        check(
            f"{device}: 90 MiB are too little, and the answer says so",
            row["status"] == "out_of_memory"
            and "over its limit of 90 MiB, and was killed" in row["message"]
            and re.search(r"while: .*\bjob \w+", row["message"] + row.get("notes", ""))
            is not None,
            row,
        )
    check(
        "and the device that needs less has its numbers",
        got["cpu"]["status"] == "ok" and got["cpu"]["run"]["median"] > 0,
        got["cpu"],
    )


def main():
    available = []
    _, found = call("devices", "cuda", "tpu", "--format=json")
    for name, tests in ("cuda", cuda), ("tpu", tpu):
        row = next((row for row in found.get("devices", []) if row["device"] == name), {})
        if not row.get("can_compile"):
            skip(f"{name}: the real compiler", f"{row.get('reason')}; {row.get('install')}")
            continue
        check(
            f"{name}: API {row['pjrt_version']}, {len(row['extensions'])} extensions, StableHLO"
            f" {row['stablehlo_minimum_version']} to {row['stablehlo_version']}",
            row["found"] and row["extensions"] and row["stablehlo_version"] and row["targets"],
            row,
        )
        tests(row["plugin"], row["targets"])
        available.append(row["targets"][0])
    if available:
        memory_runs_out(available)
    print(f"1..{done}")


main()
