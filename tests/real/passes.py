#!/usr/bin/env python3
"""Every verb of `passes` on every real compiler that is installed, on a small program; names of
passes that end the process are reported with file and line.

tests/real/passes.py build/hloscope        speaks TAP; compilers that are not installed are skipped
                                           by name
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PROGRAM = ROOT / "models" / "patterns" / "tiny_natural.hlo"
DEVICES = ("xla-cpu", "cuda:h100", "tpu:v5e")
CLASSES = (
    "GpuTreeReductionRewriter",
    "HloCSE",
    "HloDCE",
    "AlgebraicSimplifier",
    "GpuInstructionFusion",
    "WhileLoopSimplifier",
    "ReshapeMover",
    "RngBitGeneratorExpander",
)
# Passes whose absence the compiler does not survive, or refuses, on any program with a dot.
KNOWN = {
    "cuda:h100": {"autotuner": "error", "convert_triton_gemm_config": "error"},
    "tpu:v5e": {"dot_canonicalizer": "abort", "hlo-memory-scheduler-with-brkga-fallback": "abort"},
    "xla-cpu": {},
}
hloscope = str(pathlib.Path(sys.argv[1]).resolve())
scratch = tempfile.mkdtemp(prefix="hloscope-passes-")
done = 0


def check(name, good, why=""):
    global done
    done += 1
    print(
        f"{'ok' if good else 'not ok'} {done} - {name}"
        + ("" if good else "\n" + "\n".join("# " + line for line in str(why).splitlines()[:40])),
        flush=True,
    )


def call(*arguments):
    result = subprocess.run(
        [hloscope, *map(str, arguments), "--format=json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        timeout=600,
    )
    try:
        return json.loads(result.stdout), result.stderr
    except ValueError:
        return {}, result.stderr


def verbs(device):
    listed, said = call("passes", "list", PROGRAM, "-d", device)
    totals = listed.get("totals", {})
    check(
        f"{device}: list ({totals.get('pipelines')} pipelines, {totals.get('passes')} passes,"
        f" {totals.get('runs')} runs, {totals.get('changed')} changed something)",
        totals.get("pipelines", 0) > 5
        and totals.get("passes", 0) > 50
        and 0 < totals.get("changed", 0) < totals["runs"],
        said + str(listed)[:500],
    )
    names = {
        name
        for pipeline in listed.get("pipelines", [])
        for name in (pipeline["name"], *(row["name"] for row in pipeline["passes"]))
    }
    unknown = [name for name in sorted(names) if "what" not in call("passes", "explain", name)[0]]
    check(
        f"{device}: every pass and pipeline is explained ({len(names)} names)",
        len(names) > 60 and not unknown,
        unknown,
    )
    if device.startswith(
        "cuda"
    ):  # its module metadata ends before scheduling; the rest is in a profile
        ran = {
            row["name"] for pipeline in listed.get("pipelines", []) for row in pipeline["passes"]
        }
        check(
            f"{device}: the passes after scheduling are listed",
            {"rematerialization", "gpu-convert-async-collectives-to-sync"} <= ran,
            sorted(ran),
        )
    dumped, said = call(
        "passes",
        "dump",
        PROGRAM,
        "-d",
        device,
        "-o",
        os.path.join(scratch, device.replace(":", "-")),
    )
    files = list(pathlib.Path(scratch, device.replace(":", "-")).rglob("*"))
    check(f"{device}: dump ({len(files)} files)", len(files) > 3, said + str(dumped)[:300])
    diff, said = call("passes", "diff", PROGRAM, "-d", device)
    check(
        f"{device}: diff from the input to the output",
        bool(diff) and "error" not in diff,
        said + str(diff)[:300],
    )
    timed, said = call("passes", "time", PROGRAM, "-d", device, "--repeats", 2)
    check(f"{device}: time", bool(timed) and "error" not in timed, said + str(timed)[:300])
    phases = {row["name"]: row["share"] for row in timed.get("phases", [])}
    check(
        f"{device}: the phases of a compile are the whole of it",
        {"HLO passes", "code generation"} <= set(phases) and abs(sum(phases.values()) - 1) < 0.25,
        phases,
    )
    known = KNOWN[device]
    ablated, said = call(
        "passes",
        "ablate",
        PROGRAM,
        "-d",
        device,
        "--only",
        ",".join(["algsimp", *known]),
        "--no-timing",
        "--placebos",
        1,
        "--store",
        os.path.join(scratch, "store.sqlite"),
        "-q",
    )
    outcomes = {row["pass"]: row for row in ablated.get("variants", [])}
    check(
        f"{device}: ablate, a placebo is the same program",
        [row["outcome"] for row in ablated.get("placebos", [])] == ["same"]
        and "algsimp" in outcomes,
        said + str(ablated)[:500],
    )
    for name, outcome in known.items():
        row = outcomes.get(name, {})
        check(
            f"{device}: without {name}: {outcome}",
            row.get("outcome") == outcome and row.get("message"),
            row,
        )
    wrong, said = call(
        "passes",
        "ablate",
        PROGRAM,
        "-d",
        device,
        "--only",
        "algsimpp",
        "--no-timing",
        "--store",
        os.path.join(scratch, "store.sqlite"),
    )
    check(
        f"{device}: a pass that does not exist is an error with the nearest name",
        "algsimp" in str(wrong.get("error", {})),
        str(wrong)[:300],
    )
    wrong, said = call("passes", "list", PROGRAM, "-d", device, "--disable", "dce,algsimpp")
    check(
        f"{device}: the compiler takes any name in silence; --disable does not",
        "algsimp" in str(wrong.get("error", {})),
        str(wrong)[:300],
    )
    valid, said = call("passes", "validate", PROGRAM, "-d", device)
    # Where a device only compiles, every stage is compared and what its code computes is the one
    # gap. The TPU's compiler rounds the operands of products to bf16 from bfloat16-propagation on,
    # as it may: that is where the numbers move.
    gaps = [gap["pass"] for gap in (valid.get("coverage") or {}).get("not_compared", [])]
    only_compiles = device.startswith(("cuda", "tpu"))
    agrees = valid.get("verdict") == "partly" and gaps == ["code generation"]
    if not only_compiles:
        agrees = valid.get("verdict") in ("equal", "close")
    moved = ([jump["pass"] for jump in valid.get("jumps", [])] + [""])[0]
    check(
        f"{device}: validate ({valid.get('verdict')}{', moves after ' + moved if moved else ''})",
        agrees and (moved == "bfloat16-propagation") == device.startswith("tpu"),
        said + str(valid)[:800],
    )


def main():
    global done
    unknown = [name for name in CLASSES if "what" not in call("passes", "explain", name)[0]]
    check("passes are known by the names of their classes", not unknown, unknown)
    found, _ = call("devices", "xla-cpu", "cuda", "tpu")
    rows = {row["device"]: row for row in found.get("devices", [])}
    for device in DEVICES:
        row = rows.get(device.split(":")[0], {})
        if row.get("can_compile"):
            verbs(device)
        else:
            done += 1
            print(
                f"ok {done} - {device} # SKIP {row.get('reason')}; {row.get('install')}", flush=True
            )
    print(f"1..{done}")


main()
