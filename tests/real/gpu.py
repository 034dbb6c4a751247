#!/usr/bin/env python3
"""The 32 programs and the four models on a GPU, against the built-in device. Skipped, with the
reason, where there is no GPU or no compiler for it.

tests/real/gpu.py build/hloscope        speaks TAP;  hloscope devices --install cuda  brings the
compiler, and on a machine with a GPU its libraries
"""

import json
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
MODELS = ("laplace_train", "transformer_train", "resnet50_forward", "resnet50_train")
# Dots of f32 in full precision, where the library decides; what is left is another order of
# summation, over many layers and gradients.
ENVIRONMENT = dict(os.environ, NVIDIA_TF32_OVERRIDE="0")
TOLERANCE = {"f32": 2e-3, "bf16": 5e-2, "f16": 2e-2}
# Programs in which rounding decides (the side of a ReLU, the maximum of a pool): a last place of
# the inputs alone moves their outputs by up to so much of their size on any compiler;
# docs/studies/README.md shows it for this one. More than that is a fault.
DECIDED_BY_ROUNDING = {"resnet50_train": 0.1}
hloscope = str(pathlib.Path(sys.argv[1]).resolve())


def call(*arguments):
    """What it said on stderr, and its document; a command that does not end is a failure of its
    program, not of the others."""
    try:
        result = subprocess.run(
            [hloscope, *map(str, arguments)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=ENVIRONMENT,
            text=True,
            timeout=900,
        )
        return result.stderr, json.loads(result.stdout)
    except subprocess.TimeoutExpired:
        return "no answer within 900 s", {}
    except ValueError:
        return result.stderr, {}


def far(row, program):
    """Why this output counts as different, else None: NaN in one of the two, or off by more than
    the type's share of the largest value."""
    share = max(TOLERANCE.get(row["shape"].split("[")[0], 0), DECIDED_BY_ROUNDING.get(program, 0))
    if row["nan_mismatches"] or (row["max_abs"] or 0) > share * max(row["largest_value"], 1e-30):
        return (
            f"output {row['output']} {row['shape']}: max abs {row['max_abs']} of"
            f" {row['largest_value']}, NaN in one: {row['nan_mismatches']}"
        )
    return None


def main():
    _, found = call("devices", "cuda", "--format=json")
    row = next(iter(found.get("devices", [])), {})
    if not row.get("can_run"):
        print(
            f"1..0 # SKIP no GPU for cuda: {row.get('reason')}"
            + (f"; {row['install']}" if row.get("install") else "")
        )
        return
    programs = sorted((ROOT / "models" / "patterns").glob("*.hlo")) + [
        ROOT / "models" / f"{name}.hlo.gz" for name in MODELS
    ]
    for number, program in enumerate(programs, 1):
        name = program.name.split(".")[0]
        said, run = call(
            "run", program, "--device", "cpu", "--compare", "cuda", "--no-store", "--format=json"
        )
        rows = {row["device"]: row for row in run.get("devices", [])}
        trouble = (
            [
                f"{device}: {row['status']}: {row['message']}"
                for device, row in rows.items()
                if row["status"] != "ok"
            ]
            if rows
            else [said]
        )
        trouble += [why for why in (far(row, name) for row in run.get("compare", [])) if why]
        if not trouble and not run.get("compare"):
            trouble = ["nothing was compared"]
        times = ", ".join(
            f"{device} {1e6 * row['run']['median']:.1f} us"
            for device, row in rows.items()
            if row["run"]["median"]
        )
        print(
            f"{'not ok' if trouble else 'ok'} {number} - {name} ({times})"
            + "".join(f"\n# {line}" for problem in trouble[:20] for line in problem.splitlines()),
            flush=True,
        )
    print(f"1..{len(programs)}")


main()
