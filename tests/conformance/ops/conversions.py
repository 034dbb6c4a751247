"""Ops that change the type or the bits: convert, bitcast-convert, reduce-precision,
stochastic-convert."""

import numpy as np

from case import (
    ALL_TYPES,
    COMPLEX,
    FLOATS,
    INTEGERS,
    PRED,
    SAME_BITS,
    SMALLEST_NORMAL,
    bits_of,
    counting,
    flush_tolerance,
    np_type,
    one_op,
    shape_text,
    special_floats,
    specials,
)


def finite_only(values, to):
    """Infinity and NaN have no place in some types; what becomes of them there is not ours to
    test."""
    if to not in ("f4e2m1fn", "f8e8m0fnu") or values.dtype.kind in "biu":
        return values
    wide = values.astype(np.complex128).real
    keep = np.isfinite(wide) & (np.abs(wide) <= (6 if to == "f4e2m1fn" else 2.0**126))
    if to == "f8e8m0fnu":
        keep &= wide >= 2.0**-126
    return values[keep]


def conversions():
    for source in ALL_TYPES:
        for to in ALL_TYPES:
            if source in COMPLEX and to not in COMPLEX:
                continue
            values = specials(source)[:64] if source in COMPLEX else specials(source)
            values = finite_only(values, to)
            if source == "f4e2m1fn" and to in INTEGERS:
                values = values[
                    np.abs(values.astype(np.float64)) < 6
                ]  # XLA:CPU takes the largest for infinity
            if to == "f8e8m0fnu":
                values = (
                    values[values.astype(np.float64) >= 1] if source in INTEGERS + PRED else values
                )
            yield one_op(
                "convert",
                shape_text(to, values.shape),
                [values],
                f"{source}_to_{to}",
                agree={"ulp": 0, **flush_tolerance(to)},
            )


def bitcasts():
    names = [name for name in ALL_TYPES if name not in PRED + ("c64", "c128")]
    for source in names:
        for to in names:
            from_bits, to_bits = bits_of(source), bits_of(to)
            if from_bits == to_bits:
                values = counting(source, (24,)) if from_bits <= 8 else specials(source)
                yield one_op(
                    "bitcast-convert",
                    shape_text(to, values.shape),
                    [values],
                    f"{source}_to_{to}",
                    agree=SAME_BITS,
                )
            elif from_bits > to_bits:
                values = specials(source)[:24]
                yield one_op(
                    "bitcast-convert",
                    shape_text(to, (*values.shape, from_bits // to_bits)),
                    [values],
                    f"{source}_to_{to}",
                    agree=SAME_BITS,
                )
            elif from_bits >= 8 or to_bits == 8:
                values = counting(source, (6, to_bits // from_bits))
                yield one_op(
                    "bitcast-convert",
                    shape_text(to, (6,)),
                    [values],
                    f"{source}_to_{to}",
                    agree=SAME_BITS,
                )


def precision():
    for type_name in ("f32", "f64", "f16", "bf16"):
        for exponent, mantissa in (
            (8, 7),
            (5, 10),
            (5, 2),
            (4, 3),
            (8, 23),
            (11, 52),
            (3, 1),
            (2, 0),
        ):
            values = special_floats(type_name)
            yield one_op(
                "reduce-precision",
                shape_text(type_name, values.shape),
                [values],
                f"{type_name}_e{exponent}m{mantissa}",
                f"exponent_bits={exponent}, mantissa_bits={mantissa}",
                agree={"ulp": 0, "signed_zero": True, **flush_tolerance(type_name)},
            )
    for source, random_type, to in (
        ("f32", "u32", "bf16"),
        ("f32", "u32", "f16"),
        ("f32", "u32", "s8"),
        ("f64", "u64", "f32"),
    ):
        values = special_floats(source)
        noise = (
            np.random.default_rng(11)
            .integers(0, 1 << 32, values.shape)
            .astype(np_type(random_type))
        )
        yield one_op(
            "stochastic-convert",
            shape_text(to, values.shape),
            [values, noise],
            f"{source}_to_{to}",
            agree={"ulp": 0, **flush_tolerance(to)},
        )


FAMILIES = {"convert": conversions, "bitcast_convert": bitcasts, "precision": precision}
