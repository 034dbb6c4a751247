"""Runs the programs of models/ on XLA:CPU with generated inputs and writes what came out, in short,
to reference/<name>.json.

  python tests/conformance/reference.py             all programs
  python tests/conformance/reference.py tiny_scan   these only

The files let the conformance test compare with the real XLA:CPU without Python. README.md says what
they hold.
"""

import argparse
import dataclasses
import gzip
import json
import pathlib
import sys

import jax
import numpy as np

import xla_cpu

FOLDER = pathlib.Path(__file__).resolve().parent
MODELS = FOLDER.parent.parent / "models"
sys.path.insert(0, str(MODELS))

import export
import inputs

SEED = 0
FEW_OUTPUTS = 16  # a program with more gets fewer samples of each
TOLERANCE_FLOOR = 1e-5  # relative to the largest magnitude of the output
TOLERANCE_FACTOR = 8  # times what rounding in f32 does to the output
COMPRESS_OVER_BYTES = 50_000


def sample_indices(count, few):
    """The first, the last, and some at equal distance between them."""
    ends, between = (8, 16) if few else (2, 4)
    picked = (
        list(range(min(ends, count)))
        + [count * step // between for step in range(between)]
        + list(range(max(0, count - ends), count))
    )
    return sorted({index for index in picked if index < count})


def digits(value):
    return float(f"{value:.9g}")


def summary(array, few):
    flat = np.asarray(array, dtype=np.float64).ravel()
    return {
        "mean": digits(flat.mean()),
        "norm": digits(np.sqrt(np.sum(flat * flat))),
        "min": digits(flat.min()),
        "max": digits(flat.max()),
        "samples": [[index, digits(flat[index])] for index in sample_indices(flat.size, few)],
    }


def tolerance(single, double):
    """How far a correct program may be off, relative to the largest magnitude: several times what
    XLA:CPU itself is off in f32."""
    largest = np.max(np.abs(double))
    if largest == 0:
        return TOLERANCE_FLOOR
    return digits(
        max(TOLERANCE_FLOOR, TOLERANCE_FACTOR * np.max(np.abs(single - double)) / largest)
    )


def in_double(program, arguments):
    """The results of the JAX function with everything f32 widened to f64."""
    structure = jax.tree.structure(tuple(argument.tree for argument in program.arguments))
    widened = [
        argument.astype(np.float64) if argument.dtype == np.float32 else argument
        for argument in arguments
    ]
    return [
        np.asarray(leaf, dtype=np.float64)
        for leaf in jax.tree.leaves(
            jax.jit(program.function)(*jax.tree.unflatten(structure, widened))
        )
    ]


def reference(program, row):
    path = MODELS / row["hlo"]
    text = (
        gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    ).decode()
    arguments = [
        inputs.fill(argument["shape"], np.dtype(argument["dtype"]), index, SEED)
        for index, argument in enumerate(row["arguments"])
    ]
    results = xla_cpu.run(xla_cpu.compile_hlo(text), arguments)
    doubles = in_double(program, arguments)
    few = len(results) <= FEW_OUTPUTS
    outputs = []
    for index, (result, double) in enumerate(zip(results, doubles, strict=True)):
        if not np.all(np.isfinite(result)):
            raise ValueError(f"{program.name}: output {index} is not finite")
        output = {
            "shape": inputs.HLO_NAMES[result.dtype] + str(list(result.shape)).replace(" ", ""),
            "tolerance": tolerance(result, double),
            **summary(result, few),
        }
        # A training step returns new values of its first arguments, in their order, and then the
        # loss.
        if program.pattern == "train" and index < len(results) - 1 and result.dtype == np.float32:
            before = arguments[index].astype(np.float64)
            output["replaces"] = index
            output["change"] = {
                "tolerance": tolerance(result - before, double - before),
                **summary(result - before, few),
            }
        outputs.append(output)
    return {
        "program": program.name,
        "hlo": "models/" + row["hlo"],
        "seed": SEED,
        "made_by": xla_cpu.version(),
        "outputs": outputs,
    }


def print_reference(data):
    """JSON with one line for each output."""
    lines = ",\n  ".join(json.dumps(output) for output in data["outputs"])
    return (
        json.dumps({**data, "outputs": "OUTPUTS"}, indent=1).replace(
            '"OUTPUTS"', f"[\n  {lines}\n ]"
        )
        + "\n"
    )


def main():
    parser = argparse.ArgumentParser(description="Write the conformance references.")
    parser.add_argument("names", nargs="*", help="programs; none means all")
    options = parser.parse_args()
    rows = {
        row["name"]: row for row in json.loads((MODELS / "manifest.json").read_text())["programs"]
    }
    for program in export.programs():
        if options.names and program.name not in options.names:
            continue
        data = print_reference(reference(program, rows[program.name])).encode()
        plain, packed = (
            FOLDER / "reference" / f"{program.name}.json{suffix}" for suffix in ("", ".gz")
        )
        target, stale = (packed, plain) if len(data) > COMPRESS_OVER_BYTES else (plain, packed)
        stale.unlink(missing_ok=True)
        target.parent.mkdir(exist_ok=True)
        target.write_bytes(gzip.compress(data, 9, mtime=0) if target is packed else data)
        print(program.name, flush=True)


if __name__ == "__main__":
    main()
