"""Ops that move data, or make it from nothing: broadcast, reshape, transpose, slice, pad,
concatenate, reverse, iota, copy, tuples."""

from case import (
    ALL_TYPES,
    COMPLEX,
    FLOATS,
    INTEGERS,
    SAME_BITS,
    SIZES,
    Case,
    braces,
    counting,
    one_op,
    program,
    shape_text,
)


def moved(op, result, argument, suffix, attributes="", **more):
    return one_op(op, result, [argument], suffix, attributes, agree=SAME_BITS, **more)


def broadcasts():
    for type_name in ALL_TYPES:
        yield moved(
            "broadcast",
            shape_text(type_name, (3, 4)),
            counting(type_name, (4,)),
            f"{type_name}_row",
            "dimensions={1}",
        )
    cases = [
        ((), (5,), ()),
        ((), (2, 0, 3), ()),
        ((4,), (4, 3), (0,)),
        ((2, 3), (2, 5, 3), (0, 2)),
        ((2, 3), (3, 2), (1, 0)),
        ((1,), (1, 6), (0,)),
        ((0,), (0, 4), (0,)),
        ((2, 3, 2), (2, 3, 2), (0, 1, 2)),
        ((3,), (2, 3, 2, 2), (1,)),
    ]
    for type_name in ("f32", "s8"):
        for index, (dims, result, map_to) in enumerate(cases):
            yield moved(
                "broadcast",
                shape_text(type_name, result),
                counting(type_name, dims),
                f"{type_name}_case{index}",
                f"dimensions={braces(map_to)}",
            )


def reshapes():
    for type_name in ALL_TYPES:
        yield moved(
            "reshape", shape_text(type_name, (3, 4)), counting(type_name, (2, 6)), type_name
        )
        yield moved("copy", shape_text(type_name, (2, 3)), counting(type_name, (2, 3)), type_name)
        yield moved(
            "reverse",
            shape_text(type_name, (3, 4)),
            counting(type_name, (3, 4)),
            type_name,
            "dimensions={0,1}",
        )
        yield moved(
            "transpose",
            shape_text(type_name, (4, 3)),
            counting(type_name, (3, 4)),
            type_name,
            "dimensions={1,0}",
        )
    for index, (dims, result) in enumerate(
        [
            ((), (1, 1)),
            ((1,), ()),
            ((0, 3), (3, 0, 2)),
            ((24,), (2, 3, 4)),
            ((2, 3, 4), (4, 6)),
            ((2, 1, 3), (6,)),
        ]
    ):
        yield moved("reshape", shape_text("f32", result), counting("f32", dims), f"f32_case{index}")
    for index, (dims, order) in enumerate(
        [
            ((2, 3, 4), (2, 0, 1)),
            ((2, 3, 4), (0, 2, 1)),
            ((2, 3, 4, 5), (3, 1, 0, 2)),
            ((5,), (0,)),
            ((), ()),
            ((0, 3), (1, 0)),
            ((33, 65), (1, 0)),
            ((3, 17, 9), (1, 2, 0)),
            ((1, 7, 1), (2, 0, 1)),
            ((64, 64), (1, 0)),
        ]
    ):
        for type_name in ("f32", "u8", "f64", "bf16"):
            yield moved(
                "transpose",
                shape_text(type_name, [dims[axis] for axis in order]),
                counting(type_name, dims),
                f"{type_name}_case{index}",
                f"dimensions={braces(order)}",
            )
    for index, (dims, axes) in enumerate(
        [
            ((5,), (0,)),
            ((2, 3, 4), (1,)),
            ((2, 3, 4), (0, 2)),
            ((2, 3), ()),
            ((0, 2), (0,)),
            ((1, 7), (0, 1)),
        ]
    ):
        yield moved(
            "reverse",
            shape_text("f32", dims),
            counting("f32", dims),
            f"f32_case{index}",
            f"dimensions={braces(axes)}",
        )


def slices():
    cases = [
        ((10,), [(2, 7, 1)]),
        ((10,), [(1, 10, 3)]),
        ((10,), [(4, 4, 1)]),
        ((6, 5), [(1, 5, 2), (0, 5, 4)]),
        ((2, 3, 4), [(0, 2, 1), (2, 3, 1), (1, 4, 2)]),
        ((0, 3), [(0, 0, 1), (1, 2, 1)]),
        ((7, 9), [(6, 7, 1), (8, 9, 1)]),
        ((), []),
    ]
    for index, (dims, bounds) in enumerate(cases):
        result = [max(0, -(-(limit - start) // stride)) for start, limit, stride in bounds]
        text = (
            "{"
            + ", ".join(
                f"[{start}:{limit}:{stride}]" if stride != 1 else f"[{start}:{limit}]"
                for start, limit, stride in bounds
            )
            + "}"
        )
        for type_name in SIZES:
            yield moved(
                "slice",
                shape_text(type_name, result),
                counting(type_name, dims),
                f"{type_name}_case{index}",
                f"slice={text}",
            )


def pads():
    cases = [
        ((4,), [(1, 2, 0)]),
        ((4,), [(0, 0, 2)]),
        ((4,), [(-1, -1, 0)]),
        ((5,), [(-2, 3, 1)]),
        ((2, 3), [(1, 0, 0), (0, 1, 1)]),
        ((2, 3), [(0, 0, 0), (2, -1, 2)]),
        ((0,), [(2, 1, 0)]),
        ((1,), [(0, 0, 5)]),
        ((4,), [(-3, -1, 0)]),
        ((3, 4), [(-1, -1, 0), (1, 1, 1)]),
        ((6,), [(-4, 0, 2)]),
        ((0, 2), [(1, 1, 3), (0, 0, 0)]),
    ]
    for index, (dims, edges) in enumerate(cases):
        result = [
            low + high + size + max(size - 1, 0) * interior
            for size, (low, high, interior) in zip(dims, edges)
        ]
        text = "x".join(
            f"{low}_{high}" + (f"_{interior}" if interior else "") for low, high, interior in edges
        )
        for type_name in SIZES:
            operand, filler = counting(type_name, dims), counting(type_name, (), 5)
            yield one_op(
                "pad",
                shape_text(type_name, result),
                [operand, filler],
                f"{type_name}_case{index}",
                f"padding={text}",
                agree=SAME_BITS,
            )


def concatenations():
    cases = [
        (0, [(2,), (3,)]),
        (0, [(2, 3), (1, 3), (4, 3)]),
        (1, [(2, 3), (2, 0), (2, 1)]),
        (2, [(2, 2, 1), (2, 2, 3)]),
        (0, [(3,)]),
        (0, [(0,), (0,)]),
        (1, [(3, 2)] * 5),
    ]
    for index, (axis, parts) in enumerate(cases):
        result = list(parts[0])
        result[axis] = sum(part[axis] for part in parts)
        for type_name in SIZES:
            arguments = [
                counting(type_name, part, 10 * number) for number, part in enumerate(parts)
            ]
            yield one_op(
                "concatenate",
                shape_text(type_name, result),
                arguments,
                f"{type_name}_case{index}",
                f"dimensions={{{axis}}}",
                agree=SAME_BITS,
            )


def iotas():
    for type_name in INTEGERS + FLOATS + COMPLEX:
        yield one_op(
            "iota", shape_text(type_name, (7,)), [], type_name, "iota_dimension=0", agree={"ulp": 0}
        )
    for index, (dims, axis) in enumerate(
        [((2, 3), 0), ((2, 3), 1), ((2, 3, 4), 1), ((0,), 0), ((1,), 0), ((300,), 0)]
    ):
        for type_name in ("s32", "f32", "u8", "bf16"):
            yield one_op(
                "iota",
                shape_text(type_name, dims),
                [],
                f"{type_name}_case{index}",
                f"iota_dimension={axis}",
                agree={"ulp": 0},
            )


def constants():
    texts = {
        "f32_special": (
            "f32[8]",
            "{0, -0.0, inf, -inf, 1e-3, 3.4028235e+38, 1.17549435e-38, -7.25}",
        ),
        "f64_digits": ("f64[3]", "{0.1, 3.141592653589793, -1e300}"),
        "pred": ("pred[3]", "{true, false, 1}"),
        "s64_ends": ("s64[3]", "{9223372036854775807, -9223372036854775808, -1}"),
        "u64_end": ("u64[]", "18446744073709551615"),
        "c64": ("c64[2]", "{(1, -2), (0.5, inf)}"),
        "rank3": ("s32[2,1,3]", "{ { { 1, 2, 3 } }, { { 4, 5, 6 } } }"),
        "empty": ("f32[0]", "{}"),
        "bf16": ("bf16[3]", "{1, 0.1, -2}"),
        "f8e4m3fn": ("f8e4m3fn[3]", "{1, 448, -0.0625}"),
        "s4": ("s4[3]", "{7, -8, 1}"),
        "f16": ("f16[2]", "{65504, 0.1}"),
    }
    for suffix, (shape, value) in texts.items():
        name = f"constant_{suffix}"
        yield Case(
            name, "constant", program(name, f"{shape} constant({value})", []), [], dict(SAME_BITS)
        )


def tuples():
    x, n = counting("f32", (2, 3)), counting("s32", ())
    yield Case(
        "tuple_flat",
        "tuple",
        program("tuple_flat", "(f32[2,3], s32[]) tuple(p0, p1)", [x, n]),
        [x, n],
        dict(SAME_BITS),
    )
    yield Case(
        "tuple_same_twice",
        "tuple",
        program("tuple_same_twice", "(f32[2,3], f32[2,3]) tuple(p0, p0)", [x]),
        [x],
        dict(SAME_BITS),
    )
    yield Case(
        "tuple_one",
        "tuple",
        program("tuple_one", "(f32[2,3]) tuple(p0)", [x]),
        [x],
        dict(SAME_BITS),
    )
    lines = [
        "inner = (f32[2,3], s32[]) tuple(p0, p1)",
        "outer = ((f32[2,3], s32[]), f32[2,3]) tuple(inner, p0)",
        "back = (f32[2,3], s32[]) get-tuple-element(outer), index=0",
        "number = s32[] get-tuple-element(back), index=1",
    ]
    yield Case(
        "get_tuple_element_nested",
        "get-tuple-element",
        program("get_tuple_element_nested", "s32[] add(number, number)", [x, n], lines),
        [x, n],
        dict(SAME_BITS),
    )


FAMILIES = {
    "broadcast": broadcasts,
    "reshape": reshapes,
    "slice": slices,
    "pad": pads,
    "concatenate": concatenations,
    "iota": iotas,
    "constant": constants,
    "tuple": tuples,
}
