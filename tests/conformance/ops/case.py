"""One small program with its inputs and how near a result has to come, and the values that such
programs are tried on."""

import dataclasses

import ml_dtypes
import numpy as np

import inputs

PRED = ("pred",)
SIGNED = ("s2", "s4", "s8", "s16", "s32", "s64")
UNSIGNED = ("u2", "u4", "u8", "u16", "u32", "u64")
INTEGERS = SIGNED + UNSIGNED
SMALL_FLOATS = (
    "f4e2m1fn",
    "f8e3m4",
    "f8e4m3",
    "f8e4m3b11fnuz",
    "f8e4m3fn",
    "f8e4m3fnuz",
    "f8e5m2",
    "f8e5m2fnuz",
    "f8e8m0fnu",
)
FLOATS = ("f32", "f64", "f16", "bf16") + SMALL_FLOATS
COMPLEX = ("c64", "c128")
ALL_TYPES = PRED + INTEGERS + FLOATS + COMPLEX

# XLA:CPU computes with subnormal numbers flushed to zero, in f32, f64 and what it computes in them.
# What lies below these differs by rights.
SMALLEST_NORMAL = {
    "f32": 2.0**-126,
    "bf16": 2.0**-126,
    "c64": 2.0**-126,
    "f64": 2.0**-1022,
    "c128": 2.0**-1022,
}

EXACT = {"ulp": 0}
SAME_BITS = {"bits": True}


@dataclasses.dataclass
class Case:
    name: str
    op: str
    hlo: str
    arguments: list[np.ndarray]
    agree: dict = dataclasses.field(
        default_factory=lambda: dict(EXACT)
    )  # README.md: when a result agrees
    # gives exact results from the arguments, in a wider type: the measure for XLA:CPU's own error
    truth: object = None
    results: object = None  # what the definition says, for programs that XLA:CPU cannot be given
    widen: bool = False  # the same measure by running the same program in f64, for ops that sum


def dims_text(dims):
    return "[" + ",".join(str(dim) for dim in dims) + "]"


def shape_text(type_name, dims):
    return type_name + dims_text(dims)


def shape_of(array):
    return shape_text(inputs.HLO_NAMES[array.dtype], array.shape)


def program(name, root, arguments, lines=(), computations=""):
    """HLO text. `root` is "shape op(...)"; parameters are called p0, p1, ...; `lines` come between
    them."""
    body = [
        f"  p{index} = {shape_of(argument)} parameter({index})"
        for index, argument in enumerate(arguments)
    ]
    body += ["  " + line for line in lines]
    body.append("  ROOT result = " + root)
    return f"HloModule {name}\n\n{computations}ENTRY main {{\n" + "\n".join(body) + "\n}\n"


def one_op(
    op,
    result,
    arguments,
    suffix="",
    attributes="",
    agree=None,
    truth=None,
    widen=False,
    lines=(),
    computations="",
    operands=None,
):
    """The usual case: the parameters, one op, nothing else. `result` is the shape of the result as
    text."""
    name = op.replace("-", "_") + "_" + suffix if suffix else op.replace("-", "_")
    operands = operands or ", ".join(f"p{index}" for index in range(len(arguments)))
    root = f"{result} {op}({operands})" + (f", {attributes}" if attributes else "")
    return Case(
        name,
        op,
        program(name, root, arguments, lines, computations),
        list(arguments),
        dict(agree or EXACT),
        truth,
        widen=widen,
    )


def np_type(type_name):
    return np.dtype(inputs.TYPES[type_name])


def bits_of(type_name):
    return inputs.BITS.get(type_name, np_type(type_name).itemsize * 8)


def counting(type_name, dims, start=0):
    """Distinct numbers as far as the type has them: for ops that only move data."""
    count = int(np.prod(dims))
    raw = np.arange(start, start + count)
    if type_name in PRED:
        return (raw * 7 % 3 == 0).reshape(dims)
    if type_name in COMPLEX:
        return (raw + 1j * (raw + 0.5)).astype(np_type(type_name)).reshape(dims)
    if type_name in INTEGERS:
        bits = bits_of(type_name)
        low = -(1 << (bits - 1)) if type_name in SIGNED else 0
        return (
            (raw % (1 << min(bits, 62)) + (low if bits < 16 else 0))
            .astype(np.int64)
            .astype(np_type(type_name))
            .reshape(dims)
        )
    if np_type(type_name).itemsize == 1:
        codes = 16 if type_name == "f4e2m1fn" else 256
        return (raw % codes).astype(np.uint8).view(np_type(type_name)).reshape(dims)
    return (raw * 0.5 - 3).astype(np_type(type_name)).reshape(dims)


def random(type_name, dims, seed, low=-1.0, high=1.0):
    """Uniform numbers; integers in [low, high]."""
    generator = np.random.default_rng(seed)
    if type_name in PRED:
        return generator.integers(0, 2, dims).astype(np.bool_)
    if type_name in INTEGERS:
        return generator.integers(int(low), int(high) + 1, dims).astype(np_type(type_name))
    values = generator.uniform(low, high, dims)
    if type_name in COMPLEX:
        values = values + 1j * generator.uniform(low, high, dims)
    return np.asarray(values).astype(np_type(type_name))


def is_subnormal(values, type_name):
    if type_name not in SMALLEST_NORMAL or type_name in COMPLEX:
        return np.zeros(values.shape, bool)
    wide = np.abs(values.astype(np.float64))
    return (wide > 0) & (wide < SMALLEST_NORMAL[type_name])


def special_integers(type_name):
    bits = bits_of(type_name)
    if bits <= 8:
        low = -(1 << (bits - 1)) if type_name in SIGNED else 0
        return np.arange(low, low + (1 << bits)).astype(np_type(type_name))
    low, high = (
        (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if type_name in SIGNED else (0, (1 << bits) - 1)
    )
    values = [
        0,
        1,
        2,
        3,
        5,
        7,
        8,
        10,
        31,
        32,
        33,
        63,
        64,
        100,
        127,
        128,
        255,
        256,
        high,
        high - 1,
        low,
        low + 1,
        high // 2,
        high // 3,
    ]
    if type_name in SIGNED:
        values += [-1, -2, -3, -7, -10, -32, -128, -255, low // 2, low // 3]
    generator = np.random.default_rng(bits)
    values += [
        int(low + (int(generator.integers(0, 1 << 62)) % (high - low + 1))) for _ in range(20)
    ]
    wanted = [value for value in values if low <= value <= high]
    return np.array(wanted, dtype=np.uint64 if type_name == "u64" else np.int64).astype(
        np_type(type_name)
    )


def special_floats(type_name):
    """Zeros, infinities, NaN, the ends of the range, halves, neighbours of powers of two, and
    numbers of all sizes. No subnormals that XLA:CPU would flush."""
    dtype = np_type(type_name)
    if dtype.itemsize == 1:
        codes = np.arange(16 if type_name == "f4e2m1fn" else 256, dtype=np.uint8)
        return (codes[1:] if type_name == "f8e8m0fnu" else codes).view(
            dtype
        )  # its code 0 is 2^-127, subnormal in f32
    info = ml_dtypes.finfo(dtype)
    largest, smallest, epsilon = float(info.max), float(info.smallest_normal), float(info.eps)
    values = [
        0.0,
        1.0,
        0.5,
        2.0,
        3.0,
        1.5,
        2.5,
        3.5,
        0.1,
        0.25,
        0.75,
        np.pi,
        np.e,
        np.log(2),
        np.pi / 2,
        np.pi / 4,
        1e-3,
        1e3,
        7.25,
        10.0,
        20.0,
        42.5,
        88.0,
        100.5,
        709.0,
        1 + epsilon,
        1 - epsilon / 2,
        1 / epsilon,
        1 / epsilon + 1,
        0.5 / epsilon - 0.5,
        epsilon,
        largest,
        largest / 2,
        smallest,
        smallest * 2,
        np.inf,
        2.0**31,
        2.0**15,
        65504.0,
        0.49999997,
        1e-5,
        1e5,
    ]
    generator = np.random.default_rng(int(info.bits))
    values += list(np.exp2(generator.uniform(-14, 15, 40)))
    signed = np.array(
        [sign * value for value in values for sign in (1.0, -1.0)] + [np.nan], dtype=np.float64
    )
    with np.errstate(over="ignore"):
        converted = signed.astype(dtype)
    _, first = np.unique(converted.view(f"u{dtype.itemsize}"), return_index=True)
    kept = converted[np.sort(first)]
    return kept[~is_subnormal(kept, type_name)]


def special_complex(type_name):
    parts = np.array([0.0, -0.0, 1.0, -1.0, 0.5, -2.0, 3.25, np.pi, 1e-3, 30.0], dtype=np.float64)
    real, imaginary = np.meshgrid(parts, parts)
    generator = np.random.default_rng(3)
    random_ones = generator.normal(size=24) * 4 + 1j * generator.normal(size=24) * 4
    return np.concatenate([(real + 1j * imaginary).ravel(), random_ones]).astype(np_type(type_name))


def specials(type_name):
    if type_name in PRED:
        return np.array([False, True])
    if type_name in INTEGERS:
        return special_integers(type_name)
    if type_name in COMPLEX:
        return special_complex(type_name)
    return special_floats(type_name)


def pairs(type_name, limit=24):
    """Two arrays: every pair of some of the special values, the most special first."""
    values = specials(type_name)
    if len(values) > limit:
        if np_type(type_name).itemsize == 1:
            step = max(1, len(values) // limit)
            values = values[::step]
        else:
            tail = values[-1:] if type_name in FLOATS else values[:0]  # NaN comes last
            ends = values[
                np.isin(
                    np.arange(len(values)),
                    np.linspace(0, len(values) - 2, limit - len(tail)).astype(int),
                )
            ]
            values = np.concatenate([ends, tail])
    left, right = np.meshgrid(np.arange(len(values)), np.arange(len(values)), indexing="ij")
    return values[left.ravel()], values[right.ravel()]


def flush_tolerance(type_name):
    return {"abs": SMALLEST_NORMAL[type_name]} if type_name in SMALLEST_NORMAL else {}


def combiner(op, type_name, name=None):
    """A computation of two scalars that reduces, scatters and sorts call; and its name."""
    name = name or f"{op}_{type_name}".replace("-", "_")
    return (
        name,
        (
            f"{name} {{\n  a = {type_name}[] parameter(0)\n  b = {type_name}[] parameter(1)\n  ROOT"
            f" c = {type_name}[] {op}(a, b)\n}}\n\n"
        ),
    )


def braces(values):
    return "{" + ",".join(str(value) for value in values) + "}"


FLOATING = ("f32", "f64", "f16", "bf16")
SIZES = ("pred", "s4", "u8", "bf16", "f32", "f64", "c128")  # one type of each width
