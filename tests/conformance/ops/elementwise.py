"""Ops that treat every element by itself: one operand, two operands, three operands,
comparisons."""

import numpy as np
import scipy.special

from case import (
    ALL_TYPES,
    COMPLEX,
    EXACT,
    FLOATS,
    INTEGERS,
    PRED,
    SAME_BITS,
    SIGNED,
    SMALL_FLOATS,
    UNSIGNED,
    Case,
    counting,
    dims_text,
    flush_tolerance,
    np_type,
    one_op,
    pairs,
    random,
    shape_of,
    shape_text,
    special_floats,
    specials,
)

LOGIC = ("not",)
ANY_NUMBER = ("negate", "sign", "abs")
ROUNDING = ("ceil", "floor", "round-nearest-afz", "round-nearest-even")
COUNTING = ("popcnt", "count-leading-zeros")
# What the function really is, for measuring; longdouble where numpy has it.
FUNCTIONS = {
    "sqrt": np.sqrt,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "cbrt": np.cbrt,
    "exponential": np.exp,
    "exponential-minus-one": np.expm1,
    "log": np.log,
    "log-plus-one": np.log1p,
    "logistic": lambda x: 1 / (1 + np.exp(-x)),
    "tanh": np.tanh,
    "tan": np.tan,
    "sine": np.sin,
    "cosine": np.cos,
    "erf": scipy.special.erf,
    "acos": np.arccos,
    "asin": np.arcsin,
    "acosh": np.arccosh,
    "asinh": np.arcsinh,
    "atanh": np.arctanh,
    "sinh": np.sinh,
    "cosh": np.cosh,
}
COMPLEX_FUNCTIONS = (
    "sqrt",
    "rsqrt",
    "exponential",
    "exponential-minus-one",
    "log",
    "log-plus-one",
    "logistic",
    "tanh",
    "tan",
    "sine",
    "cosine",
    "acos",
    "asin",
    "acosh",
    "asinh",
    "atanh",
    "sinh",
    "cosh",
)
ARITHMETIC = ("add", "subtract", "multiply", "divide", "remainder", "maximum", "minimum")
BITWISE = ("and", "or", "xor")
SHIFTS = ("shift-left", "shift-right-arithmetic", "shift-right-logical")
PYTHON_OPERATORS = {
    "add": np.add,
    "subtract": np.subtract,
    "multiply": np.multiply,
    "divide": np.divide,
    "remainder": np.fmod,
    "maximum": np.maximum,
    "minimum": np.minimum,
}
DIRECTIONS = ("EQ", "NE", "LT", "LE", "GT", "GE")
ODD_SHAPES = ((), (0,), (3, 0, 2), (1,), (7, 5, 3))


def shape_suffix(dims):
    return "scalar" if not dims else "x".join(str(dim) for dim in dims)


def exactly(type_name):
    """What IEEE-754 rounds once. In the types of the processor the sign of a zero counts too."""
    signed_zero = {"signed_zero": True} if type_name in ("f32", "f64", "f16", "bf16") else {}
    return {**EXACT, **flush_tolerance(type_name), **signed_zero}


def unary():
    table = [(op, FLOATS + SIGNED + UNSIGNED + COMPLEX) for op in ("negate", "sign")] + [
        ("abs", FLOATS + SIGNED)
    ]
    table += (
        [(op, FLOATS) for op in ROUNDING]
        + [(op, INTEGERS) for op in COUNTING]
        + [("not", PRED + INTEGERS)]
    )
    for op, types in table:
        for type_name in types:
            values = specials(type_name)
            agree = (
                {"rel": 1e-6 if type_name == "c64" else 1e-15}
                if op == "sign" and type_name in COMPLEX
                else exactly(type_name)
            )
            made = one_op(op, shape_of(values), [values], type_name, agree=agree)
            if (
                op == "popcnt" and type_name == "s4"
            ):  # XLA:CPU counts the bits of the byte, which the sign was extended to
                made.results = [
                    np.array([(int(value) & 15).bit_count() for value in values]).astype(
                        np_type("s4")
                    )
                ]
            yield made
    for type_name in FLOATS:
        values = specials(type_name)
        yield one_op("is-finite", f"pred[{len(values)}]", [values], type_name)
    for type_name, part in (("c64", "f32"), ("c128", "f64")):
        values = specials(type_name)
        for op in ("real", "imag", "abs"):
            agree = {"ulp": 4} if op == "abs" else EXACT
            yield one_op(op, shape_text(part, values.shape), [values], type_name, agree=agree)
    for type_name in FLOATS + SIGNED:
        for op in ("real",) if type_name in ("f32", "f64", "f16", "bf16") else ():
            values = specials(type_name)
            yield one_op(op, shape_of(values), [values], type_name)


def wide(function):
    """The function on the same numbers in a wider type."""

    def truth(arguments):
        kind = (
            np.clongdouble
            if any(np.iscomplexobj(argument) for argument in arguments)
            else np.longdouble
        )
        if function is scipy.special.erf:
            kind = np.float64
        with np.errstate(all="ignore"):
            return [
                np.asarray(
                    function(
                        *(
                            (
                                argument.astype(np.float64).astype(kind)
                                if not np.iscomplexobj(argument)
                                else argument.astype(kind)
                            )
                            for argument in arguments
                        )
                    )
                )
            ]

    return truth


def within(type_name, truth, *arguments):
    """For the two types that have no NaN, no infinity or no zero: only the arguments whose result
    they can hold."""
    limits = {"f4e2m1fn": (-7, 7, 0), "f8e8m0fnu": (2.0**-126, 2.0**127, 2.0**-126)}
    if type_name not in limits:
        return arguments
    low, high, least = limits[type_name]
    exact = truth(arguments)[0].astype(np.float64)
    keep = np.isfinite(exact) & (exact >= low) & (exact <= high) & (np.abs(exact) >= least)
    return tuple(argument[keep] for argument in arguments)


def functions():
    for op, function in FUNCTIONS.items():
        for type_name in FLOATS:
            values = specials(type_name)
            if type_name in ("f32", "f64", "bf16", "f16") and op in ("sine", "cosine", "tan"):
                values = values[
                    ~(np.abs(values.astype(np.float64)) > 1e5)
                    | ~np.isfinite(values.astype(np.float64))
                ]
            (values,) = within(type_name, wide(function), values)
            yield one_op(
                op,
                shape_of(values),
                [values],
                type_name,
                agree=flush_tolerance(type_name),
                truth=wide(function),
            )
        for type_name in COMPLEX if op in COMPLEX_FUNCTIONS else ():
            values = specials(type_name)
            values = values[np.abs(values) < 25]
            yield one_op(
                op,
                shape_of(values),
                [values],
                type_name,
                agree=flush_tolerance(type_name),
                truth=wide(function),
            )


def binary():
    for op in ARITHMETIC:
        for type_name in (
            INTEGERS + FLOATS + (COMPLEX if op in ("add", "subtract", "multiply", "divide") else ())
        ):
            left, right = pairs(type_name)
            if type_name in COMPLEX:
                agree = {"rel": 4e-6 if type_name == "c64" else 1e-14, "abs": 1e-30}
                left, right = pairs(type_name, 40)
                keep = (right != 0) if op == "divide" else np.ones(len(right), bool)
                left, right = left[keep], right[keep]
            else:
                agree = (
                    exactly(type_name)
                    if op not in ("maximum", "minimum")
                    else {**EXACT, **flush_tolerance(type_name)}
                )
                left, right = (
                    within(type_name, wide(PYTHON_OPERATORS[op]), left, right)
                    if type_name in FLOATS
                    else (left, right)
                )
            yield one_op(op, shape_of(left), [left, right], type_name, agree=agree)
    for op in BITWISE:
        for type_name in PRED + INTEGERS:
            left, right = pairs(type_name)
            yield one_op(op, shape_of(left), [left, right], type_name)
    for op in ("add", "multiply", "maximum", "minimum"):
        left, right = pairs("pred")
        yield one_op(op, shape_of(left), [left, right], "pred")
    for op in SHIFTS:
        for type_name in INTEGERS:
            left, right = pairs(type_name)
            yield one_op(op, shape_of(left), [left, right], type_name)
    for type_name in FLOATS:
        for op, function in (("atan2", np.arctan2), ("power", np.power)):
            left, right = within(type_name, wide(function), *pairs(type_name))
            yield one_op(
                op,
                shape_of(left),
                [left, right],
                type_name,
                agree=flush_tolerance(type_name),
                truth=wide(function),
            )
    for type_name in INTEGERS:
        left, right = pairs(type_name, 40)
        # XLA:CPU looks at six bits of the exponent only, and 0 to a negative power is nowhere
        # defined.
        keep = (
            (right.astype(np.float64) < 64)
            & (right.astype(np.float64) > -64)
            & ((right.astype(np.float64) >= 0) | (left.astype(np.float64) != 0))
        )
        yield one_op(
            "power", shape_text(type_name, (int(keep.sum()),)), [left[keep], right[keep]], type_name
        )
    for part, type_name in (("f32", "c64"), ("f64", "c128")):
        left, right = pairs(part)
        yield one_op(
            "complex", shape_text(type_name, left.shape), [left, right], part, agree={"ulp": 0}
        )
    for type_name in ("c64", "c128"):
        left, right = random(type_name, (40,), 1, -2, 2), random(type_name, (40,), 2, -2, 2)
        yield one_op(
            "power",
            shape_of(left),
            [left, right],
            type_name,
            agree={"rel": 2e-5 if type_name == "c64" else 1e-12},
        )
        yield one_op(
            "atan2",
            shape_of(left),
            [left, right],
            type_name,
            agree={"rel": 2e-5 if type_name == "c64" else 1e-12},
        )


def comparisons():
    for type_name in ALL_TYPES:
        for direction in DIRECTIONS if type_name not in COMPLEX else ("EQ", "NE"):
            left, right = pairs(type_name, 20)
            yield one_op(
                "compare",
                f"pred[{len(left)}]",
                [left, right],
                f"{type_name}_{direction}",
                f"direction={direction}",
            )
    for type_name in ("f32", "f64", "f16", "bf16"):
        for direction in DIRECTIONS:
            left, right = pairs(type_name, 20)
            yield one_op(
                "compare",
                f"pred[{len(left)}]",
                [left, right],
                f"{type_name}_{direction}_total",
                f"direction={direction}, type=TOTALORDER",
            )


def ternary():
    for type_name in ALL_TYPES:
        values = specials(type_name)
        other = values[::-1].copy()
        choice = np.arange(len(values)) % 3 == 0
        agree = (
            EXACT if type_name in SMALL_FLOATS else SAME_BITS
        )  # XLA:CPU takes those through a wider type, which changes what kind of NaN it is
        yield one_op("select", shape_of(values), [choice, values, other], type_name, agree=agree)
        yield one_op(
            "select",
            shape_of(values),
            [np.array(True), values, other],
            f"{type_name}_scalar_choice",
            agree=agree,
            operands="choice, p1, p2",
            lines=[f"choice = pred[{len(values)}] broadcast(p0), dimensions={{}}"],
        )
    for type_name in INTEGERS + FLOATS:
        values = specials(type_name)
        ordered = np.sort(values[np.isfinite(values.astype(np.float64))].astype(np.float64)).astype(
            values.dtype
        )
        low, high = ordered[len(ordered) // 4], ordered[3 * len(ordered) // 4]
        yield one_op(
            "clamp",
            shape_of(values),
            [np.asarray(low), values, np.asarray(high)],
            f"{type_name}_scalars",
            agree={**EXACT, **flush_tolerance(type_name)},
        )
        yield one_op(
            "clamp",
            shape_of(values),
            [np.full(values.shape, low), values, np.full(values.shape, high)],
            f"{type_name}_arrays",
            agree={**EXACT, **flush_tolerance(type_name)},
        )


def shapes():
    """Scalars, nothing at all, one element, and odd sizes, for every op with one and two
    operands."""
    for dims in ODD_SHAPES:
        suffix = shape_suffix(dims)
        positive = random("f32", dims, 5, 0.1, 0.9)
        for op in list(FUNCTIONS) + ["negate", "sign", "abs", *ROUNDING]:
            values = positive + np.float32(1) if op == "acosh" else positive
            yield one_op(
                op,
                shape_of(values),
                [np.asarray(values)],
                f"f32_{suffix}",
                truth=wide(FUNCTIONS[op]) if op in FUNCTIONS else None,
            )
        for op in ARITHMETIC + ("atan2", "power"):
            other = random("f32", dims, 6, 0.1, 0.9)
            yield one_op(
                op, shape_of(positive), [positive, other], f"f32_{suffix}", agree={"rel": 1e-5}
            )
        for op in ARITHMETIC + BITWISE + SHIFTS:
            left, right = random("s32", dims, 7, -50, 50), random("s32", dims, 8, 1, 9)
            yield one_op(op, shape_of(left), [left, right], f"s32_{suffix}")
        yield one_op(
            "compare",
            shape_text("pred", dims),
            [positive, random("f32", dims, 9, 0.1, 0.9)],
            f"f32_{suffix}",
            "direction=LT",
        )


def subnormals():
    """What XLA:CPU does with numbers below the smallest normal one: it takes them for zero, and
    gives zero for them. Whoever computes as IEEE-754 says differs here and is not wrong; whoever
    wants to be XLA:CPU's equal is."""
    for type_name, smallest in (("f32", 2.0**-126), ("f64", 2.0**-1022)):
        values = np.array(
            [smallest * factor for factor in (0.5, -0.5, 0.999, 1, -1, 2.0**-10, 1.5)],
            np_type(type_name),
        )
        for op in (
            "negate",
            "abs",
            "sign",
            "sqrt",
            "exponential",
            "log-plus-one",
            "tanh",
            "floor",
            "ceil",
        ):
            yield one_op(op, shape_of(values), [values], type_name, agree=EXACT)
        for op, other in (
            ("add", 0.0),
            ("multiply", 1.0),
            ("multiply", 0.5),
            ("divide", 2.0),
            ("maximum", 0.0),
            ("power", 1.0),
        ):
            yield one_op(
                op,
                shape_of(values),
                [values, np.full(values.shape, other, values.dtype)],
                f"{type_name}_{str(other).replace('.', '_')}",
                agree=EXACT,
            )
        yield one_op(
            "compare",
            f"pred[{len(values)}]",
            [values, np.zeros_like(values)],
            f"{type_name}_equals_zero",
            "direction=EQ",
        )


FAMILIES = {
    "unary": unary,
    "functions": functions,
    "binary": binary,
    "compare": comparisons,
    "ternary": ternary,
    "elementwise_shapes": shapes,
    "subnormals": subnormals,
}
