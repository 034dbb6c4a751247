"""The numbers that every program is fed with when nobody gives it data. models/README.md has the
recipe; hsc_literal_fill is the same in C.

Only the shape, the type, the index of the argument and a seed decide, so any program can be fed.
"""

import math

import ml_dtypes
import numpy as np

GOLDEN = np.uint64(0x9E3779B97F4A7C15)

# HLO type -> numpy type, one byte for each element of the types that are narrower.
TYPES = {
    "pred": np.bool_,
    "s8": np.int8,
    "s16": np.int16,
    "s32": np.int32,
    "s64": np.int64,
    "u8": np.uint8,
    "u16": np.uint16,
    "u32": np.uint32,
    "u64": np.uint64,
    "f16": np.float16,
    "f32": np.float32,
    "f64": np.float64,
    "c64": np.complex64,
    "c128": np.complex128,
}
# the same of ml_dtypes, whose older releases have fewer
NARROW = {
    "bf16": "bfloat16",
    "s1": "int1",
    "s2": "int2",
    "s4": "int4",
    "u1": "uint1",
    "u2": "uint2",
    "u4": "uint4",
    "f4e2m1fn": "float4_e2m1fn",
    "f8e3m4": "float8_e3m4",
    "f8e4m3": "float8_e4m3",
    "f8e4m3b11fnuz": "float8_e4m3b11fnuz",
    "f8e4m3fn": "float8_e4m3fn",
    "f8e4m3fnuz": "float8_e4m3fnuz",
    "f8e5m2": "float8_e5m2",
    "f8e5m2fnuz": "float8_e5m2fnuz",
    "f8e8m0fnu": "float8_e8m0fnu",
}
TYPES |= {
    name: getattr(ml_dtypes, dtype) for name, dtype in NARROW.items() if hasattr(ml_dtypes, dtype)
}
HLO_NAMES = {np.dtype(dtype): name for name, dtype in TYPES.items()}
BITS = {"s1": 1, "s2": 2, "s4": 4, "u1": 1, "u2": 2, "u4": 4, "f4e2m1fn": 4}


def hash_bits(count, seed, argument_index):
    """`count` 64-bit numbers: splitmix64's output function over a counter."""
    with np.errstate(over="ignore"):
        z = np.arange(count, dtype=np.uint64) + (
            np.uint64(seed % 2**64) * GOLDEN + (np.uint64(argument_index) << np.uint64(32)) + GOLDEN
        )
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return z ^ (z >> np.uint64(31))


def fill(shape, dtype, argument_index, seed=0):
    """An array of the given shape and type (a numpy type or the HLO name of one)."""
    dtype = np.dtype(TYPES[dtype] if isinstance(dtype, str) and dtype in TYPES else dtype)
    name, count = HLO_NAMES[dtype], math.prod(shape)
    if name == "pred":
        return (
            (hash_bits(count, seed, argument_index) >> np.uint64(63))
            .astype(np.bool_)
            .reshape(shape)
        )
    if name[0] in "su":
        bits = BITS.get(name, dtype.itemsize * 8)
        bound = 1 << min(bits - (name[0] == "s"), 6)
        return (
            (hash_bits(count, seed, argument_index) >> np.uint64(40) & np.uint64(bound - 1))
            .astype(np.int64)
            .astype(dtype)
            .reshape(shape)
        )
    parts = 2 if name[0] == "c" else 1
    fraction = (hash_bits(parts * count, seed, argument_index) >> np.uint64(40)).astype(
        np.float64
    ) * 2.0**-24
    value = (fraction - 0.5) * (8.0 if name == "f4e2m1fn" else 0.25)
    if parts == 2:
        value = value[0::2] + 1j * value[1::2]
    if name == "f8e8m0fnu":
        value = np.abs(value)
    return value.astype(dtype).reshape(shape)


PRECISION = {"f64": 2.0**-52, "f32": 2.0**-23, "f16": 2.0**-10, "bf16": 2.0**-7}


def perturb(array, share, argument_index):
    """Every float moved by `share` of itself, at least by its type's precision, up or down as a
    hash of its place says; the worker in C does the same."""
    name = HLO_NAMES.get(array.dtype)
    if name not in PRECISION or not share:
        return array
    with np.errstate(over="ignore"):
        h = (
            np.arange(1, array.size + 1, dtype=np.uint64)
            + (np.uint64(argument_index) << np.uint64(32))
        ) * GOLDEN
        h = (h ^ (h >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    share = max(share, PRECISION[name])
    factors = np.where(h >> np.uint64(63), 1 + share, 1 - share).reshape(array.shape)
    return (array.astype(np.float64) * factors).astype(array.dtype)
