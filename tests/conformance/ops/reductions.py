"""Ops that fold: reduce, reduce-window, select-and-scatter, map, sort, topk."""

import numpy as np

from case import (
    FLOATING,
    INTEGERS,
    SAME_BITS,
    braces,
    combiner,
    counting,
    np_type,
    one_op,
    random,
    shape_of,
    shape_text,
    specials,
)

NEUTRAL = {
    "add": "0",
    "multiply": "1",
    "maximum": {
        "f": "-inf",
        "b": "-inf",
        "s32": "-2147483648",
        "s8": "-128",
        "u8": "0",
        "u32": "0",
        "s64": "-9223372036854775808",
    },
    "minimum": {
        "f": "inf",
        "b": "inf",
        "s32": "2147483647",
        "s8": "127",
        "u8": "255",
        "u32": "4294967295",
        "s64": "9223372036854775807",
    },
}


def neutral(op, type_name):
    value = NEUTRAL[op]
    return (
        value
        if isinstance(value, str)
        else value.get(type_name, value[type_name[0]] if type_name[0] in "fb" else None)
    )


def initial(op, type_name, name="init"):
    return f"{name} = {type_name}[] constant({neutral(op, type_name)})"


def left_over(dims, axes):
    return [size for axis, size in enumerate(dims) if axis not in axes]


def reduces():
    cases = [
        ((7,), (0,)),
        ((3, 5), (0,)),
        ((3, 5), (1,)),
        ((3, 5), (0, 1)),
        ((2, 3, 4), (1,)),
        ((2, 3, 4), (0, 2)),
        ((0,), (0,)),
        ((3, 0), (1,)),
        ((0, 3), (1,)),
        ((), ()),
        ((4, 5), ()),
        ((1, 6, 1), (0, 2)),
        ((17, 33), (1,)),
        ((33, 17), (0,)),
        ((4, 9, 16), (2,)),
        ((5, 129), (1,)),
        ((1000,), (0,)),
    ]
    for index, (dims, axes) in enumerate(cases):
        for op in ("add", "maximum", "multiply", "minimum") if index < 6 else ("add", "maximum"):
            for type_name in (
                ("f32", "s32") if index > 3 else ("f32", "s32", "bf16", "f64", "u8", "f16", "s64")
            ):
                low = 0 if type_name[0] == "u" else -3
                values = (
                    random(type_name, dims, index, low, 3)
                    if op != "multiply"
                    else random(type_name, dims, index, 1 if type_name in INTEGERS else 0.5, 2)
                )
                computation, text = combiner(op, type_name)
                yield one_op(
                    "reduce",
                    shape_text(type_name, left_over(dims, axes)),
                    [values],
                    f"{op}_{type_name}_case{index}",
                    f"dimensions={braces(axes)}, to_apply={computation}",
                    lines=[initial(op, type_name)],
                    operands="p0, init",
                    computations=text,
                    widen=type_name[0] in "fb" and op in ("add", "multiply"),
                )
    for op, start in (("and", "true"), ("or", "false"), ("xor", "false")):
        computation, text = combiner(op, "pred")
        for index, (dims, axes) in enumerate(cases[:8]):
            yield one_op(
                "reduce",
                shape_text("pred", left_over(dims, axes)),
                [counting("pred", dims)],
                f"{op}_pred_case{index}",
                f"dimensions={braces(axes)}, to_apply={computation}",
                lines=[f"init = pred[] constant({start})"],
                operands="p0, init",
                computations=text,
            )
    for op in ("and", "or", "xor"):
        computation, text = combiner(op, "s32")
        yield one_op(
            "reduce",
            "s32[3]",
            [random("s32", (3, 6), 3, -1000, 1000), np.array(-1 if op == "and" else 0, np.int32)],
            f"{op}_s32",
            f"dimensions={{1}}, to_apply={computation}",
            computations=text,
        )
    computation, text = combiner("add", "c64")
    yield one_op(
        "reduce",
        "c64[3]",
        [random("c64", (3, 6), 4), np.array(1 + 2j, np.complex64)],
        "add_c64",
        f"dimensions={{1}}, to_apply={computation}",
        computations=text,
        widen=True,
    )
    computation, text = combiner("add", "f32")
    yield one_op(
        "reduce",
        "f32[3]",
        [random("f32", (3, 6), 5), np.array(2.5, np.float32)],
        "init_is_a_parameter",
        f"dimensions={{1}}, to_apply={computation}",
        computations=text,
        widen=True,
    )
    for op in ("maximum", "minimum"):
        computation, text = combiner(op, "f32")
        values = random("f32", (4, 5), 6)
        values[1, 2], values[2, 0], values[3, 4] = np.nan, np.inf, -np.inf
        yield one_op(
            "reduce",
            "f32[4]",
            [values],
            f"{op}_nan",
            f"dimensions={{1}}, to_apply={computation}",
            lines=[initial(op, "f32")],
            operands="p0, init",
            computations=text,
        )
    text = (
        "argmax {\n  a = f32[] parameter(0)\n  i = s32[] parameter(1)\n  b = f32[] parameter(2)\n "
        " j = s32[] parameter(3)\n  gt = pred[] compare(a, b), direction=GT\n  eq = pred[]"
        " compare(a, b), direction=EQ\n  lt = pred[] compare(i, j), direction=LT\n  first = pred[]"
        " and(eq, lt)\n  keep = pred[] or(gt, first)\n  v = f32[] select(keep, a, b)\n  k = s32[]"
        " select(keep, i, j)\n  ROOT t = (f32[], s32[]) tuple(v, k)\n}\n\n"
    )
    for index, (dims, axes) in enumerate(
        [((7,), (0,)), ((4, 6), (1,)), ((4, 6), (0,)), ((2, 3, 4), (0, 2)), ((0, 3), (0,))]
    ):
        rest = left_over(dims, axes)
        positions = np.arange(int(np.prod(dims)), dtype=np.int32).reshape(dims)
        values = np.round(random("f32", dims, 9) * 3).astype(np.float32)
        yield one_op(
            "reduce",
            f"({shape_text('f32', rest)}, {shape_text('s32', rest)})",
            [values, positions],
            f"two_results_case{index}",
            f"dimensions={braces(axes)}, to_apply=argmax",
            lines=["low = f32[] constant(-inf)", "none = s32[] constant(2147483647)"],
            operands="p0, p1, low, none",
            computations=text,
        )


def window_text(sizes, strides=None, pads=None, base=None, dilate=None, reverse=None):
    parts = ["size=" + "x".join(map(str, sizes))]
    parts += ["stride=" + "x".join(map(str, strides))] if strides else []
    parts += ["pad=" + "x".join(f"{low}_{high}" for low, high in pads)] if pads else []
    parts += ["lhs_dilate=" + "x".join(map(str, base))] if base else []
    parts += ["rhs_dilate=" + "x".join(map(str, dilate))] if dilate else []
    parts += ["rhs_reversal=" + "x".join(map(str, reverse))] if reverse else []
    return "window={" + " ".join(parts) + "}"


def window_result(dims, sizes, strides=None, pads=None, base=None, dilate=None):
    result = []
    for axis, size in enumerate(dims):
        low, high = pads[axis] if pads else (0, 0)
        spread = (size - 1) * (base[axis] if base else 1) + 1 if size else 0
        reach = (sizes[axis] - 1) * (dilate[axis] if dilate else 1) + 1 if sizes[axis] else 0
        total = spread + low + high
        result.append(
            (total - reach) // (strides[axis] if strides else 1) + 1 if total >= reach else 0
        )
    return result


WINDOWS = [
    ((9,), dict(sizes=(3,))),
    ((9,), dict(sizes=(3,), strides=(2,))),
    ((9,), dict(sizes=(4,), strides=(3,), pads=[(2, 1)])),
    ((8,), dict(sizes=(3,), dilate=(2,))),
    ((5,), dict(sizes=(3,), base=(2,), pads=[(1, 1)])),
    ((4, 6), dict(sizes=(2, 3), strides=(2, 3))),
    ((5, 7), dict(sizes=(3, 3), pads=[(1, 1), (1, 1)])),
    (
        (2, 8, 8, 3),
        dict(sizes=(1, 3, 3, 1), strides=(1, 2, 2, 1), pads=[(0, 0), (0, 1), (0, 1), (0, 0)]),
    ),
    ((2, 3, 7, 7), dict(sizes=(1, 1, 2, 2), strides=(1, 1, 2, 2))),
    ((3,), dict(sizes=(5,))),
    ((0, 3), dict(sizes=(1, 2))),
    ((6,), dict(sizes=(6,), pads=[(5, 0)])),
    ((6, 2), dict(sizes=(1, 1))),
    ((5, 5), dict(sizes=(2, 2), pads=[(-1, 0), (0, -1)])),
    ((6, 5), dict(sizes=(2, 3), strides=(1, 2), pads=[(3, 2), (1, 4)], base=(2, 1), dilate=(3, 2))),
]


def reduce_windows():
    for index, (dims, window) in enumerate(WINDOWS):
        result = window_result(dims, **window)
        for op in ("add", "maximum", "minimum"):
            for type_name in (
                ("f32", "s32")
                if index not in (1, 7)
                else ("f32", "s32", "bf16", "f64", "s8", "f16")
            ):
                computation, text = combiner(op, type_name)
                yield one_op(
                    "reduce-window",
                    shape_text(type_name, result),
                    [random(type_name, dims, index, -4, 4)],
                    f"{op}_{type_name}_case{index}",
                    f"{window_text(**window)}, to_apply={computation}",
                    lines=[initial(op, type_name)],
                    operands="p0, init",
                    computations=text,
                    widen=type_name[0] in "fb" and op in ("add", "multiply"),
                )
    text = (
        "both {\n  a = f32[] parameter(0)\n  b = s32[] parameter(1)\n  c = f32[] parameter(2)\n  d"
        " = s32[] parameter(3)\n  e = f32[] maximum(a, c)\n  f = s32[] add(b, d)\n  ROOT t ="
        " (f32[], s32[]) tuple(e, f)\n}\n\n"
    )
    yield one_op(
        "reduce-window",
        "(f32[4], s32[4])",
        [random("f32", (9,), 1), random("s32", (9,), 2, 0, 9)],
        "two_operands",
        "window={size=3 stride=2}, to_apply=both",
        lines=["low = f32[] constant(-inf)", "zero = s32[] constant(0)"],
        operands="p0, p1, low, zero",
        computations=text,
    )


def all_different(type_name, dims, seed):
    order = np.random.default_rng(seed).permutation(int(np.prod(dims))).reshape(dims)
    if type_name == "bf16":  # neighbours from 1 up
        return (order + 0x3F80).astype(np.uint16).view(np_type("bf16"))
    return (order * 3 - 100).astype(np_type(type_name))


def select_and_scatters():
    for index in (0, 1, 2, 5, 6, 7, 8, 10):
        dims, window = WINDOWS[index]
        result = window_result(dims, **window)
        for direction in ("GE", "LE"):
            for type_name in ("f32", "s32", "bf16", "f64"):
                choose = (
                    f"choose {{\n  a = {type_name}[] parameter(0)\n  b = {type_name}[]"
                    f" parameter(1)\n  ROOT c = pred[] compare(a, b), direction={direction}\n}}\n\n"
                )
                computation, text = combiner("add", type_name)
                operand = all_different(
                    type_name, dims, index
                )  # which of two equal ones is chosen depends on the backend
                source = random(type_name, result, 3, -4, 4)
                yield one_op(
                    "select-and-scatter",
                    shape_of(operand),
                    [operand, source],
                    f"{direction}_{type_name}_case{index}",
                    f"{window_text(**window)}, select=choose, scatter={computation}",
                    lines=[f"zero = {type_name}[] constant(0)"],
                    operands="p0, p1, zero",
                    computations=choose + text,
                    widen=type_name[0] in "fb",
                )


def maps():
    for type_name in ("f32", "s32", "f64"):
        text = (
            f"body {{\n  a = {type_name}[] parameter(0)\n  b = {type_name}[] parameter(1)\n  c ="
            f" {type_name}[] multiply(a, a)\n  ROOT d = {type_name}[] subtract(c, b)\n}}\n\n"
        )
        for dims in ((5,), (2, 3), (), (0,)):
            axes = braces(range(len(dims)))
            yield one_op(
                "map",
                shape_text(type_name, dims),
                [random(type_name, dims, 1, -9, 9), random(type_name, dims, 2, -9, 9)],
                f"{type_name}_{'x'.join(map(str, dims)) or 'scalar'}",
                f"dimensions={axes}, to_apply=body",
                computations=text,
                widen=type_name[0] == "f",
            )


def order(type_name, direction, total=False, arity=1):
    lines = [f"  a = {type_name}[] parameter(0)", f"  b = {type_name}[] parameter(1)"]
    lines += [
        f"  x{index} = {'f32' if index % 2 else 's32'}[] parameter({index})"
        for index in range(2, 2 * arity)
    ]
    kind = ", type=TOTALORDER" if total else ""
    return (
        "before {\n"
        + "\n".join(lines)
        + f"\n  ROOT lt = pred[] compare(a, b), direction={direction}{kind}\n}}\n\n"
    )


def sorts():
    for type_name in ("f32", "f64", "s32", "u8", "s64", "bf16", "f16", "s8", "u32", "pred"):
        values = (
            np.random.default_rng(5).permutation(specials(type_name))
            if type_name not in FLOATING
            else np.random.default_rng(5).permutation(
                np.array([v for v in specials(type_name) if v == v])
            )
        )
        for direction in ("LT", "GT"):
            yield one_op(
                "sort",
                shape_of(values),
                [values],
                f"{type_name}_{direction}",
                "dimensions={0}, is_stable=true, to_apply=before",
                computations=order(type_name, direction),
            )
    for type_name in FLOATING:
        values = np.random.default_rng(6).permutation(specials(type_name))
        yield one_op(
            "sort",
            shape_of(values),
            [values],
            f"{type_name}_total",
            "dimensions={0}, is_stable=true, to_apply=before",
            computations=order(type_name, "LT", total=True),
        )
    for index, (dims, axis) in enumerate(
        [
            ((4, 7), 0),
            ((4, 7), 1),
            ((2, 3, 5), 1),
            ((0,), 0),
            ((1,), 0),
            ((3, 0), 0),
            ((1000,), 0),
            ((17,), 0),
        ]
    ):
        yield one_op(
            "sort",
            shape_text("f32", dims),
            [random("f32", dims, index)],
            f"f32_case{index}",
            f"dimensions={{{axis}}}, is_stable=true, to_apply=before",
            computations=order("f32", "LT"),
        )
    for index, (dims, axis) in enumerate([((12,), 0), ((4, 6), 1), ((5, 3), 0), ((100,), 0)]):
        keys = random("s32", dims, 3, 0, 3)  # many equal keys: a stable sort keeps their order
        payload = np.arange(int(np.prod(dims)), dtype=np.int32).reshape(dims)
        text = (
            "before {\n  a = s32[] parameter(0)\n  b = s32[] parameter(1)\n  c = s32[]"
            " parameter(2)\n  d = s32[] parameter(3)\n  ROOT lt = pred[] compare(a, b),"
            " direction=LT\n}\n\n"
        )
        yield one_op(
            "sort",
            f"({shape_of(keys)}, {shape_of(payload)})",
            [keys, payload],
            f"two_operands_stable_case{index}",
            f"dimensions={{{axis}}}, is_stable=true, to_apply=before",
            computations=text,
        )
    keys, floats, bytes_ = (
        random("s32", (30,), 8, 0, 5),
        random("f32", (30,), 9),
        random("u8", (30,), 10, 0, 255),
    )
    text = (
        "before {\n  a = s32[] parameter(0)\n  b = s32[] parameter(1)\n  c = f32[] parameter(2)\n "
        " d = f32[] parameter(3)\n  e = u8[] parameter(4)\n  f = u8[] parameter(5)\n  lt = pred[]"
        " compare(a, b), direction=LT\n  eq = pred[] compare(a, b), direction=EQ\n  gt = pred[]"
        " compare(c, d), direction=GT\n  tie = pred[] and(eq, gt)\n  ROOT r = pred[] or(lt,"
        " tie)\n}\n\n"
    )
    yield one_op(
        "sort",
        "(s32[30], f32[30], u8[30])",
        [keys, floats, bytes_],
        "two_keys_three_operands",
        "dimensions={0}, is_stable=true, to_apply=before",
        computations=text,
    )


def topks():
    for type_name in ("f32", "bf16", "s32", "f64", "u8"):
        for index, (dims, k) in enumerate([((10,), 3), ((4, 9), 2), ((2, 3, 6), 6), ((5,), 1)]):
            values = (
                np.random.default_rng(index)
                .permutation(int(np.prod(dims)))
                .reshape(dims)
                .astype(random(type_name, (1,), 0, 0, 1).dtype)
            )
            result = (*dims[:-1], k)
            for largest in ("true", "false"):
                yield one_op(
                    "topk",
                    f"({shape_text(type_name, result)}, {shape_text('s32', result)})",
                    [values],
                    f"{type_name}_{'largest' if largest == 'true' else 'smallest'}_case{index}",
                    f"k={k}, largest={largest}",
                    agree=SAME_BITS,
                )


FAMILIES = {
    "reduce": reduces,
    "reduce_window": reduce_windows,
    "select_and_scatter": select_and_scatters,
    "map": maps,
    "sort": sorts,
    "topk": topks,
}
