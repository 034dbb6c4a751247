"""How far XLA:CPU itself is from the exact result, and from that how far another implementation may
be from XLA:CPU."""

import re

import ml_dtypes
import numpy as np

import inputs
import xla_cpu

EXTRA_ULP = 2  # what a good implementation is off by itself
LARGEST_ULP = 64  # beyond that the measure is relative
RELATIVE_FACTOR = 4
# sums in another order are this much farther from XLA:CPU's than XLA:CPU's from the exact one,
SUM_FACTOR = 8
SUM_FLOOR = 16  # and at least this many epsilons of the largest element
NARROW_SUM_FACTOR = 4  # f16 and narrower: one rounding of a wide sum is most of the error
NARROW_SUM_FLOOR = 2


def ordered(array):
    """Integers in the order of the floats, neighbours one apart; both zeros are 0."""
    size, name = array.dtype.itemsize, inputs.HLO_NAMES[array.dtype]
    raw = array.view(f"u{size}").astype(np.uint64)
    if name == "f8e8m0fnu":  # has no sign
        return raw.astype(np.int64)
    sign = np.uint64(1 << (3 if name == "f4e2m1fn" else 8 * size - 1))
    magnitude = (raw & (sign - np.uint64(1))).astype(np.int64)
    return np.where(raw & sign, -magnitude, magnitude)


def ulp_distance(left, right):
    """Per element; 0 where both are NaN, a huge number where one is."""
    left_nan, right_nan = np.isnan(left.astype(np.float64)), np.isnan(right.astype(np.float64))
    distance = np.abs(
        ordered(left).astype(np.longdouble) - ordered(right).astype(np.longdouble)
    )  # 64 bits of mantissa: exact
    distance[left_nan & right_nan] = 0
    distance[left_nan ^ right_nan] = 2.0**62
    return distance


def rounded_truth(case):
    """The exact result in the type of the argument: for the ops that XLA:CPU has no code for, all
    of which keep the type."""
    dtype = case.arguments[0].dtype
    return [
        exact.astype(dtype if np.iscomplexobj(exact) else np.float64).astype(dtype)
        for exact in case.truth(case.arguments)
    ]


def measured(case, results):
    """Rows for "agree": the ulps (or the relative error, for complex numbers and where ulps are
    many) that XLA:CPU was seen to need."""
    result, exact = results[0].ravel(), case.truth(case.arguments)[0].ravel()
    floor = case.agree.get("abs", 0.0)
    if np.iscomplexobj(result):
        good = np.isfinite(exact) & np.isfinite(result)
        error = np.abs(result[good] - exact[good]) / np.maximum(np.abs(exact[good]), 1e-30)
        epsilon = np.finfo(result.dtype).eps
        return {
            "rel": float(f"{RELATIVE_FACTOR * max(float(error.max(initial=0)), 4 * epsilon):.3g}")
        }
    rounded = exact.astype(np.float64).astype(result.dtype)
    off = np.abs(result.astype(np.float64) - exact.astype(np.float64))
    distance = np.where(off <= floor, 0, ulp_distance(result, rounded))
    worst = float(distance.max(initial=0))
    if worst > LARGEST_ULP:
        print(
            f"  {case.name}: {worst:.3g} ulp at {case.arguments[0].ravel()[int(distance.argmax())]}"
            f" {case.arguments[-1].ravel()[int(distance.argmax())]}:"
            f" {result[int(distance.argmax())]}, exact {exact[int(distance.argmax())]};"
            f" {int((distance > LARGEST_ULP).sum())} such"
        )
    return {"ulp": int(worst) + EXTRA_ULP}


def widened(case):
    """The results of the same program in f64 (and c128)."""
    text = re.sub(r"\bc64\b", "c128", re.sub(r"\b(f32|f16|bf16|f8\w+)\b", "f64", case.hlo))

    def widen(argument):
        if argument.dtype == np.complex64:
            return argument.astype(np.complex128)
        return (
            argument
            if argument.dtype.kind in "biu" or argument.dtype.name.startswith(("int", "uint"))
            else argument.astype(np.float64)
        )

    arguments = [
        (
            argument
            if np.iscomplexobj(argument) and argument.dtype == np.complex128
            else widen(argument)
        )
        for argument in case.arguments
    ]
    return xla_cpu.run(xla_cpu.compile_hlo(text), arguments)


def epsilon(dtype):
    wide = {np.dtype(np.complex64): np.float32, np.dtype(np.complex128): np.float64}
    return float(ml_dtypes.finfo(wide.get(dtype, dtype)).eps)


def measured_by_widening(case, results):
    """One row for "agree" of each result."""
    rows = []
    for result, exact in zip(results, widened(case), strict=True):
        if result.dtype.kind in "biu":
            rows.append(None)
            continue
        kind = np.complex128 if np.iscomplexobj(result) else np.float64
        result, exact = result.astype(kind), exact.astype(kind)
        good = np.isfinite(result) & np.isfinite(exact)
        largest = float(np.abs(exact[good]).max(initial=0))
        error = float(np.abs(result[good] - exact[good]).max(initial=0))
        dtype = results[len(rows)].dtype
        factor, floor = (
            (NARROW_SUM_FACTOR, NARROW_SUM_FLOOR) if dtype.itemsize < 4 else (SUM_FACTOR, SUM_FLOOR)
        )
        rows.append({"abs": float(f"{max(factor * error, floor * epsilon(dtype) * largest):.3g}")})
    return rows
