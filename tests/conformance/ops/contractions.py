"""Ops that multiply and sum: dot and convolution."""

import numpy as np

from case import COMPLEX, FLOATING, INTEGERS, braces, np_type, one_op, random, shape_of, shape_text
from reductions import window_text


def dot_attributes(contract, batch=()):
    text = (
        f"lhs_contracting_dims={braces(axis for axis, _ in contract)},"
        f" rhs_contracting_dims={braces(axis for _, axis in contract)}"
    )
    if batch:
        text = (
            f"lhs_batch_dims={braces(axis for axis, _ in batch)}, {text.split(', rhs')[0]},"
            f" rhs_batch_dims={braces(axis for _, axis in batch)}, rhs{text.split(', rhs')[1]}"
        )
    return text


def dot_result(left, right, contract, batch=()):
    gone_left = [axis for axis, _ in contract] + [axis for axis, _ in batch]
    gone_right = [axis for _, axis in contract] + [axis for _, axis in batch]
    return (
        [left[axis] for axis, _ in batch]
        + [size for axis, size in enumerate(left) if axis not in gone_left]
        + [size for axis, size in enumerate(right) if axis not in gone_right]
    )


# left, right, contracting pairs, batch pairs
DOTS = {
    "1x1x1": ((1, 1), (1, 1), [(1, 0)], []),
    "3x5x7": ((3, 5), (5, 7), [(1, 0)], []),
    "32x64x64": ((32, 64), (64, 64), [(1, 0)], []),
    "17x33x9": ((17, 33), (33, 9), [(1, 0)], []),
    "1x64x17": ((1, 64), (64, 17), [(1, 0)], []),
    "left_transposed": ((5, 3), (5, 7), [(0, 0)], []),
    "right_transposed": ((3, 5), (7, 5), [(1, 1)], []),
    "both_transposed": ((5, 3), (7, 5), [(0, 1)], []),
    "vector_vector": ((9,), (9,), [(0, 0)], []),
    "matrix_vector": ((4, 9), (9,), [(1, 0)], []),
    "vector_matrix": ((9,), (9, 4), [(0, 0)], []),
    "outer": ((3,), (4,), [], []),
    "no_rows": ((0, 5), (5, 3), [(1, 0)], []),
    "nothing_to_sum": ((2, 0), (0, 3), [(1, 0)], []),
    "batch": ((2, 3, 4), (2, 4, 5), [(2, 1)], [(0, 0)]),
    "batch_in_the_middle": ((3, 2, 4), (4, 5, 2), [(2, 0)], [(1, 2)]),
    "two_batches": ((2, 3, 4, 5), (2, 3, 5, 6), [(3, 2)], [(0, 0), (1, 1)]),
    "two_sums": ((3, 4, 5), (4, 5, 6), [(1, 0), (2, 1)], []),
    "two_sums_crossed": ((3, 4, 5), (5, 4, 6), [(1, 1), (2, 0)], []),
    "sums_all": ((3, 4), (3, 4), [(0, 0), (1, 1)], []),
    "batch_only": ((5, 3), (5, 3), [], [(0, 0), (1, 1)]),
    "rank3_left": ((2, 3, 4), (4, 5), [(2, 0)], []),
    "attention": ((2, 4, 8, 6), (2, 4, 8, 6), [(3, 3)], [(0, 0), (1, 1)]),
    "scalars": ((), (), [], []),
    "70x300x50": ((70, 300), (300, 50), [(1, 0)], []),
    "batch_vectors": ((4, 6), (4, 6), [(1, 1)], [(0, 0)]),
}
WIDENING = [
    ("bf16", "bf16", "f32"),
    ("f16", "f16", "f32"),
    ("s8", "s8", "s32"),
    ("u8", "u8", "u32"),
    ("s4", "s4", "s32"),
    ("f32", "f32", "f64"),
    ("f8e4m3fn", "f8e4m3fn", "f32"),
    ("f8e5m2", "f8e5m2", "f32"),
    ("f8e4m3fn", "f8e5m2", "bf16"),
    ("s16", "s16", "s32"),
    ("u8", "s8", "s32"),
    ("bf16", "f32", "f32"),
]


def numbers(type_name, dims, seed):
    if type_name in INTEGERS:
        return random(type_name, dims, seed, 0 if type_name[0] == "u" else -8, 7)
    values = random(type_name, dims, seed, -2, 2)
    # Large arrays of few different values, so that they compress.
    return (
        (np.round(values.astype(np.complex128) * 4) / 4).astype(values.dtype)
        if np.prod(dims) > 200
        else values
    )


def dots():
    for name, (left, right, contract, batch) in DOTS.items():
        every = (
            ("f32", "f64", "bf16", "f16", "s32", "c64", "s8", "u32", "s64", "c128", "pred")
            if name in ("3x5x7", "batch")
            else ("f32", "f64")
            if left and left[0] > 16
            else ("f32", "f64", "bf16", "s32")
        )
        for type_name in every:
            arguments = [numbers(type_name, left, 1), numbers(type_name, right, 2)]
            yield one_op(
                "dot",
                shape_text(type_name, dot_result(left, right, contract, batch)),
                arguments,
                f"{name}_{type_name}",
                dot_attributes(contract, batch),
                widen=type_name in FLOATING + COMPLEX,
            )
    for left_type, right_type, result_type in WIDENING:
        for name in ("3x5x7", "17x33x9", "batch"):
            left, right, contract, batch = DOTS[name]
            arguments = [numbers(left_type, left, 1), numbers(right_type, right, 2)]
            made = one_op(
                "dot",
                shape_text(result_type, dot_result(left, right, contract, batch)),
                arguments,
                f"{name}_{left_type}_{right_type}_to_{result_type}",
                dot_attributes(contract, batch),
                widen=result_type in FLOATING,
            )
            if left_type == "s4":  # XLA:CPU's verifier refuses what its own passes make of it
                made.results = [np.matmul(*(argument.astype(np.int32) for argument in arguments))]
            yield made
    left, right, contract, batch = DOTS["3x5x7"]
    nan = numbers("f32", left, 1)
    nan[0, 0], nan[1, 1], nan[2, 2] = np.nan, np.inf, -np.inf
    yield one_op(
        "dot",
        "f32[3,7]",
        [nan, numbers("f32", right, 2)],
        "nan_and_infinity",
        dot_attributes(contract),
        widen=True,
    )
    for precision in ("high", "highest"):
        yield one_op(
            "dot",
            "f32[3,7]",
            [numbers("f32", left, 1), numbers("f32", right, 2)],
            f"precision_{precision}",
            dot_attributes(contract) + f", operand_precision={{{precision},{precision}}}",
            widen=True,
        )
    # Rows of the left side are multiplied by the matrix of the group that they belong to.
    rows, groups, sizes = (
        numbers("f32", (6, 4), 1),
        numbers("f32", (2, 4, 3), 2),
        np.array([2, 4], np.int32),
    )
    ragged = one_op(
        "ragged-dot",
        "f32[6,3]",
        [rows, groups, sizes],
        "rows",
        "lhs_contracting_dims={1}, rhs_contracting_dims={1}, lhs_ragged_dims={0},"
        " rhs_group_dims={0}",
        agree={"abs": 1e-5},
    )
    ragged.results = [np.concatenate([rows[:2] @ groups[0], rows[2:] @ groups[1]])]
    yield ragged


# left, right, labels, window, feature groups, batch groups
CONVOLUTIONS = {
    "1d": ((2, 9, 3), (4, 3, 5), "b0f_0io->b0f", dict(sizes=(4,))),
    "1d_same_stride": (
        (2, 9, 3),
        (4, 3, 5),
        "b0f_0io->b0f",
        dict(sizes=(4,), strides=(2,), pads=[(1, 2)]),
    ),
    "2d_nhwc": ((2, 8, 7, 3), (3, 3, 3, 4), "b01f_01io->b01f", dict(sizes=(3, 3))),
    "2d_nchw": ((2, 3, 8, 7), (4, 3, 3, 3), "bf01_oi01->bf01", dict(sizes=(3, 3))),
    "2d_same": (
        (1, 6, 6, 2),
        (3, 3, 2, 3),
        "b01f_01io->b01f",
        dict(sizes=(3, 3), pads=[(1, 1), (1, 1)]),
    ),
    "2d_stride": (
        (1, 9, 9, 2),
        (3, 3, 2, 3),
        "b01f_01io->b01f",
        dict(sizes=(3, 3), strides=(2, 2), pads=[(0, 1), (0, 1)]),
    ),
    "2d_uneven": (
        (1, 7, 10, 2),
        (2, 5, 2, 3),
        "b01f_01io->b01f",
        dict(sizes=(2, 5), strides=(3, 1), pads=[(2, 0), (1, 4)]),
    ),
    "2d_dilated_window": (
        (1, 9, 9, 2),
        (3, 3, 2, 3),
        "b01f_01io->b01f",
        dict(sizes=(3, 3), dilate=(2, 3)),
    ),
    "2d_dilated_input": (
        (1, 4, 5, 2),
        (3, 3, 2, 3),
        "b01f_01io->b01f",
        dict(sizes=(3, 3), pads=[(2, 2), (1, 1)], base=(2, 2)),
    ),
    "2d_both_dilated": (
        (1, 5, 5, 2),
        (2, 2, 2, 3),
        "b01f_01io->b01f",
        dict(sizes=(2, 2), pads=[(1, 0), (0, 1)], base=(2, 1), dilate=(1, 2), strides=(2, 1)),
    ),
    "2d_cropped": (
        (1, 8, 8, 2),
        (3, 3, 2, 3),
        "b01f_01io->b01f",
        dict(sizes=(3, 3), pads=[(-1, -1), (-2, 0)]),
    ),
    "2d_reversed": (
        (1, 6, 6, 2),
        (3, 2, 2, 3),
        "b01f_01io->b01f",
        dict(sizes=(3, 2), reverse=(1, 0)),
    ),
    "1x1": ((2, 5, 5, 8), (1, 1, 8, 6), "b01f_01io->b01f", dict(sizes=(1, 1))),
    "1x1_stride": (
        (2, 6, 6, 4),
        (1, 1, 4, 5),
        "b01f_01io->b01f",
        dict(sizes=(1, 1), strides=(2, 2)),
    ),
    "7x7_stem": (
        (1, 20, 20, 3),
        (7, 7, 3, 8),
        "b01f_01io->b01f",
        dict(sizes=(7, 7), strides=(2, 2), pads=[(2, 3), (2, 3)]),
    ),
    "grouped": ((1, 6, 6, 4), (3, 3, 2, 6), "b01f_01io->b01f", dict(sizes=(3, 3)), 2),
    "depthwise": (
        (1, 6, 6, 4),
        (3, 3, 1, 4),
        "b01f_01io->b01f",
        dict(sizes=(3, 3), pads=[(1, 1), (1, 1)]),
        4,
    ),
    "depthwise_twice": ((1, 6, 6, 3), (3, 3, 1, 6), "b01f_01io->b01f", dict(sizes=(3, 3)), 3),
    "batch_grouped": ((4, 6, 6, 2), (3, 3, 2, 4), "b01f_01io->b01f", dict(sizes=(3, 3)), 1, 2),
    "3d": (
        (1, 4, 5, 6, 2),
        (2, 3, 2, 2, 3),
        "b012f_012io->b012f",
        dict(sizes=(2, 3, 2), strides=(1, 2, 1), pads=[(1, 0), (1, 1), (0, 0)]),
    ),
    "weight_gradient": ((3, 8, 8, 2), (3, 6, 6, 4), "f01b_i01o->01bf", dict(sizes=(6, 6))),
    "odd_labels": ((7, 2, 3, 8), (3, 4, 3, 2), "0bf1_0oi1->1f0b", dict(sizes=(3, 2))),
    "no_space": ((3, 4), (4, 5), "bf_io->bf", dict(sizes=())),
    "empty_batch": ((0, 6, 6, 2), (3, 3, 2, 3), "b01f_01io->b01f", dict(sizes=(3, 3))),
    "no_features": ((1, 4, 4, 0), (2, 2, 0, 3), "b01f_01io->b01f", dict(sizes=(2, 2))),
    "window_too_large": ((1, 2, 2, 1), (3, 3, 1, 1), "b01f_01io->b01f", dict(sizes=(3, 3))),
    "larger": (
        (4, 14, 14, 16),
        (3, 3, 16, 24),
        "b01f_01io->b01f",
        dict(sizes=(3, 3), pads=[(1, 1), (1, 1)]),
    ),
}


def convolution_result(left, right, labels, window, batch_groups):
    left_labels, rest = labels.split("_")
    right_labels, result_labels = rest.split("->")
    sizes = {"b": left[left_labels.index("b")] // batch_groups, "f": right[right_labels.index("o")]}
    for axis, size in enumerate(window["sizes"]):
        given = left[left_labels.index(str(axis))]
        low, high = window["pads"][axis] if "pads" in window else (0, 0)
        spread = (
            ((given - 1) * (window["base"][axis] if "base" in window else 1) + 1 if given else 0)
            + low
            + high
        )
        reach = (size - 1) * (window["dilate"][axis] if "dilate" in window else 1) + 1
        sizes[str(axis)] = (
            (spread - reach) // (window["strides"][axis] if "strides" in window else 1) + 1
            if spread >= reach
            else 0
        )
    return [sizes[label] for label in result_labels]


def convolutions():
    for name, (left, right, labels, window, *groups) in CONVOLUTIONS.items():
        feature_groups, batch_groups = (groups + [1, 1])[:2] if groups else (1, 1)
        attributes = (
            window_text(**window) + ", " if window["sizes"] else ""
        ) + f"dim_labels={labels}"
        attributes += f", feature_group_count={feature_groups}" if feature_groups > 1 else ""
        attributes += f", batch_group_count={batch_groups}" if batch_groups > 1 else ""
        for type_name in (
            ("f32", "f64", "bf16", "f16", "s32", "s8", "c64")
            if name == "2d_nhwc"
            else ("f32", "s32")
            if name != "larger"
            else ("f32",)
        ):
            arguments = [numbers(type_name, left, 3), numbers(type_name, right, 4)]
            yield one_op(
                "convolution",
                shape_text(
                    type_name, convolution_result(left, right, labels, window, batch_groups)
                ),
                arguments,
                f"{name}_{type_name}",
                attributes,
                widen=type_name in FLOATING + COMPLEX,
            )
    left, right, labels, window = CONVOLUTIONS["2d_nhwc"]
    for given, result_type in (("bf16", "f32"), ("s8", "s32"), ("u8", "u32")):
        arguments = [numbers(given, left, 3), numbers(given, right, 4)]
        yield one_op(
            "convolution",
            shape_text(result_type, convolution_result(left, right, labels, window, 1)),
            arguments,
            f"2d_{given}_to_{result_type}",
            f"{window_text(**window)}, dim_labels={labels}",
            widen=result_type == "f32",
        )


FAMILIES = {"dot": dots, "convolution": convolutions}
