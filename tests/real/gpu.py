#!/usr/bin/env python3
"""The 32 programs and the four models on a GPU, against the built-in device. Skipped, with the reason, where there is no GPU or no compiler for it.

    tests/real/gpu.py build/hloscope        speaks TAP;  hloscope devices --install cuda  brings the compiler, and on a machine with a GPU its libraries
"""
import json
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
MODELS = ("laplace_train", "transformer_train", "resnet50_forward", "resnet50_train")
# Dots of f32 in full precision, where the library decides; what is left is another order of summation, over many layers and gradients.
ENVIRONMENT = dict(os.environ, NVIDIA_TF32_OVERRIDE="0")
TOLERANCE = {"f32": 2e-3, "bf16": 5e-2, "f16": 2e-2}
hloscope = str(pathlib.Path(sys.argv[1]).resolve())


def call(*arguments):
    result = subprocess.run([hloscope, *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=ENVIRONMENT, text=True, timeout=900)
    try:
        return result, json.loads(result.stdout)
    except ValueError:
        return result, {}


def far(row):
    """Why this output counts as different, else None: NaN in one of the two, or off by more than the type's share of the largest value."""
    share = TOLERANCE.get(row["shape"].split("[")[0], 0)
    if row["nan_mismatches"] or (row["max_abs"] or 0) > share * max(row["largest_value"], 1e-30):
        return f"output {row['output']} {row['shape']}: max abs {row['max_abs']} of {row['largest_value']}, NaN in one: {row['nan_mismatches']}"
    return None


def main():
    _, found = call("devices", "cuda", "--format=json")
    row = next(iter(found.get("devices", [])), {})
    if not row.get("can_run"):
        print(f"1..0 # SKIP no GPU for cuda: {row.get('reason')}" + (f"; {row['install']}" if row.get("install") else ""))
        return
    programs = sorted((ROOT / "models" / "patterns").glob("*.hlo")) + [ROOT / "models" / f"{name}.hlo.gz" for name in MODELS]
    for number, program in enumerate(programs, 1):
        result, run = call("run", program, "--device", "cpu", "--compare", "cuda", "--no-store", "--format=json")
        rows = {row["device"]: row for row in run.get("devices", [])}
        trouble = [f"{name}: {row['status']}: {row['message']}" for name, row in rows.items() if row["status"] != "ok"] if rows else [result.stderr]
        trouble += [why for why in map(far, run.get("compare", [])) if why]
        if not trouble and not run["compare"]:
            trouble = ["nothing was compared"]
        times = ", ".join(f"{name} {1e6 * row['run']['median']:.1f} us" for name, row in rows.items() if row["run"]["median"])
        print(f"{'not ok' if trouble else 'ok'} {number} - {program.name.split('.')[0]} ({times})" + "".join(f"\n# {line}" for line in trouble[:20]), flush=True)
    print(f"1..{len(programs)}")


main()
