"""How far XLA:CPU itself is from the exact result, and from that how far another implementation may be from XLA:CPU."""
import numpy as np

import inputs

EXTRA_ULP = 2               # what a good implementation is off by itself
LARGEST_ULP = 64            # beyond that the measure is relative
RELATIVE_FACTOR = 4


def ordered(array):
    """Integers in the order of the floats, neighbours one apart; both zeros are 0."""
    size = array.dtype.itemsize
    raw = array.view(f"u{size}").astype(np.uint64)
    sign = np.uint64(1 << (8 * size - 1))
    magnitude = (raw & (sign - np.uint64(1))).astype(np.int64)
    return np.where(raw & sign, -magnitude, magnitude)


def ulp_distance(left, right):
    """Per element; 0 where both are NaN, a huge number where one is."""
    left_nan, right_nan = np.isnan(left.astype(np.float64)), np.isnan(right.astype(np.float64))
    distance = np.abs(ordered(left).astype(np.float64) - ordered(right).astype(np.float64))
    distance[left_nan & right_nan] = 0
    distance[left_nan ^ right_nan] = 2.0**62
    return distance


def rounded_truth(case):
    """The exact result in the type of the argument: for the ops that XLA:CPU has no code for, all of which keep the type."""
    dtype = case.arguments[0].dtype
    return [exact.astype(dtype if np.iscomplexobj(exact) else np.float64).astype(dtype) for exact in case.truth(case.arguments)]


def measured(case, results):
    """Rows for "agree": the ulps (or the relative error, for complex numbers and where ulps are many) that XLA:CPU was seen to need."""
    result, exact = results[0], case.truth(case.arguments)[0]
    floor = case.agree.get("abs", 0.0)
    if np.iscomplexobj(result):
        good = np.isfinite(exact) & np.isfinite(result)
        error = np.abs(result[good] - exact[good]) / np.maximum(np.abs(exact[good]), 1e-30)
        epsilon = np.finfo(result.dtype).eps
        return {"rel": float(f"{RELATIVE_FACTOR * max(float(error.max(initial=0)), 4 * epsilon):.3g}")}
    rounded = exact.astype(np.float64).astype(result.dtype)
    off = np.abs(result.astype(np.float64) - exact.astype(np.float64))
    distance = np.where(off <= floor, 0, ulp_distance(result, rounded))
    worst = float(distance.max(initial=0))
    if worst > LARGEST_ULP:
        print(f"  {case.name}: {worst:.3g} ulp at {case.arguments[0].ravel()[int(distance.argmax())]} "
              f"{case.arguments[-1].ravel()[int(distance.argmax())]}: {result[int(distance.argmax())]}, exact {exact[int(distance.argmax())]}; {int((distance > LARGEST_ULP).sum())} such")
    return {"ulp": int(worst) + EXTRA_ULP}
