"""Runs small programs, one op each, on XLA:CPU and writes programs, inputs and results to
<family>.json.gz.

  python tests/conformance/ops/make_ops.py           all families
  python tests/conformance/ops/make_ops.py binary    these only

README.md has the format. What XLA:CPU refuses is left out and listed in the file with its words.
"""

import argparse
import base64
import gzip
import json
import pathlib
import sys
import warnings

import numpy as np

FOLDER = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(FOLDER), str(FOLDER.parent), str(FOLDER.parent.parent.parent / "models")]

import inputs
import xla_cpu
from accuracy import measured, measured_by_widening, rounded_truth
from case import shape_of

import contractions
import control
import conversions
import elementwise
import indexing
import linear_algebra
import reductions
import shapes

FAMILIES = {
    **elementwise.FAMILIES,
    **conversions.FAMILIES,
    **shapes.FAMILIES,
    **indexing.FAMILIES,
    **reductions.FAMILIES,
    **contractions.FAMILIES,
    **linear_algebra.FAMILIES,
    **control.FAMILIES,
}


class Data:
    """Arrays as base64 of their little-endian bytes, each different one once."""

    def __init__(self):
        self.index = {}

    def add(self, array):
        text = base64.b64encode(np.ascontiguousarray(array).tobytes()).decode()
        return {"shape": shape_of(array), "data": self.index.setdefault(text, len(self.index))}


def run_case(case):
    """(results, None) or (None, why XLA:CPU refuses)"""
    try:
        return xla_cpu.run(xla_cpu.compile_hlo(case.hlo), case.arguments), None
    except Exception as error:  # XLA's errors are of several Python types
        return None, " ".join(str(error).split())[:300]


def make(family, cases):
    data, rows, left_out, names = Data(), [], [], set()
    for case in cases:
        if case.name in names:
            raise ValueError(f"{family}: two cases are called {case.name}")
        names.add(case.name)
        results, reason = (case.results, None) if case.results else run_case(case)
        made_by = {"made_by": "definition"} if case.results else {}
        if results is None and case.truth and "UNIMPLEMENTED" in reason:
            results, made_by = rounded_truth(case), {"made_by": "numpy"}
        if results is None:
            left_out.append({"name": case.name, "op": case.op, "reason": reason})
            continue
        agree = dict(case.agree)
        if case.truth:
            agree.update(measured(case, results))
        stored = [data.add(result) for result in results]
        if case.widen:
            for row, own in zip(stored, measured_by_widening(case, results), strict=True):
                row.update({"agree": own} if own else {})
        rows.append(
            {
                "name": case.name,
                "op": case.op,
                **made_by,
                "hlo": case.hlo,
                "agree": agree,
                "arguments": [data.add(argument) for argument in case.arguments],
                "results": stored,
            }
        )
    return {
        "family": family,
        "made_by": xla_cpu.version(),
        "cases": rows,
        "left_out": left_out,
        "data": list(data.index),
    }


def main():
    parser = argparse.ArgumentParser(description="Make the corpus of single ops.")
    parser.add_argument("families", nargs="*", help="families; none means all")
    options = parser.parse_args()
    unknown = set(options.families) - set(FAMILIES)
    if unknown:
        parser.error(
            "no such family: " + ", ".join(sorted(unknown)) + "; there are " + ", ".join(FAMILIES)
        )
    warnings.simplefilter("ignore", RuntimeWarning)  # overflow and NaN are the point
    for family in options.families or FAMILIES:
        made = make(family, FAMILIES[family]())
        packed = gzip.compress((json.dumps(made, indent=0) + "\n").encode(), 9, mtime=0)
        (FOLDER / f"{family}.json.gz").write_bytes(packed)
        print(
            f"{family}: {len(made['cases'])} cases, {len(made['left_out'])} left out, {len(packed)}"
            " bytes",
            flush=True,
        )


if __name__ == "__main__":
    main()
