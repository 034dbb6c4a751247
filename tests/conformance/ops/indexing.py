"""Ops that compute where to read and write: dynamic-slice, dynamic-update-slice, gather,
scatter."""

import numpy as np

from case import (
    SAME_BITS,
    SIZES,
    braces,
    combiner,
    counting,
    np_type,
    one_op,
    random,
    shape_of,
    shape_text,
)


def dynamic_slices():
    cases = [
        ((10,), (4,), (3,)),
        ((10,), (4,), (9,)),
        ((10,), (4,), (-5,)),
        ((5, 6), (2, 3), (1, 2)),
        ((5, 6), (2, 3), (4, -1)),
        ((5, 6), (5, 6), (1, 1)),
        ((3, 4), (0, 2), (1, 1)),
        ((2, 3, 4), (1, 1, 1), (1, 2, 3)),
        ((), (), ()),
        ((7,), (1,), (2**31 - 1,)),
        ((7,), (1,), (-(2**31),)),
    ]
    for index, (dims, sizes, starts) in enumerate(cases):
        for type_name in SIZES if index < 4 else ("f32",):
            arguments = [counting(type_name, dims)] + [
                np.array(start, np.int32) for start in starts
            ]
            yield one_op(
                "dynamic-slice",
                shape_text(type_name, sizes),
                arguments,
                f"{type_name}_case{index}",
                f"dynamic_slice_sizes={braces(sizes)}",
                agree=SAME_BITS,
            )
            update = counting(type_name, sizes, 100)
            yield one_op(
                "dynamic-update-slice",
                shape_text(type_name, dims),
                [arguments[0], update] + arguments[1:],
                f"{type_name}_case{index}",
                agree=SAME_BITS,
            )
    for index_type in ("s8", "u8", "s64", "u64", "u32"):
        start = np.array(200 if index_type[0] == "u" else -3).astype(np_type(index_type))
        arguments = [counting("f32", (12,)), start]
        yield one_op(
            "dynamic-slice",
            "f32[5]",
            arguments,
            f"index_{index_type}",
            "dynamic_slice_sizes={5}",
            agree=SAME_BITS,
        )
        yield one_op(
            "dynamic-update-slice",
            "f32[12]",
            [arguments[0], counting("f32", (5,), 50), start],
            f"index_{index_type}",
            agree=SAME_BITS,
        )


def gather_attributes(
    offset, collapsed, start_map, vector_dim, sizes, operand_batch=(), index_batch=()
):
    batching = (
        f"operand_batching_dims={braces(operand_batch)},"
        f" start_indices_batching_dims={braces(index_batch)}, "
        if operand_batch
        else ""
    )
    return (
        f"offset_dims={braces(offset)}, collapsed_slice_dims={braces(collapsed)},"
        f" start_index_map={braces(start_map)}, {batching}index_vector_dim={vector_dim},"
        f" slice_sizes={braces(sizes)}"
    )


# name: operand, indices (an array), result, attributes
GATHERS = {
    "rows": (
        (6, 4),
        np.array([[0], [5], [2]]),
        (3, 4),
        gather_attributes((1,), (0,), (0,), 1, (1, 4)),
    ),
    "rows_index_vector_is_scalar": (
        (6, 4),
        np.array([3, 3, 0]),
        (3, 4),
        gather_attributes((1,), (0,), (0,), 1, (1, 4)),
    ),
    "rows_out_of_bounds": (
        (6, 4),
        np.array([[-3], [6], [100], [-100]]),
        (4, 4),
        gather_attributes((1,), (0,), (0,), 1, (1, 4)),
    ),
    "columns": (
        (4, 6),
        np.array([[1], [4]]),
        (4, 2),
        gather_attributes((0,), (1,), (1,), 1, (4, 1)),
    ),
    "elements": (
        (5, 6),
        np.array([[0, 0], [4, 5], [2, 3]]),
        (3,),
        gather_attributes((), (0, 1), (0, 1), 1, (1, 1)),
    ),
    "elements_map_reversed": (
        (5, 6),
        np.array([[0, 1], [5, 4], [3, 2]]),
        (3,),
        gather_attributes((), (0, 1), (1, 0), 1, (1, 1)),
    ),
    "elements_vector_first": (
        (5, 6),
        np.array([[0, 4, 2], [0, 5, 3]]),
        (3,),
        gather_attributes((), (0, 1), (0, 1), 0, (1, 1)),
    ),
    "windows": (
        (7, 8),
        np.array([[1, 2], [5, 6], [-1, 0]]),
        (3, 2, 3),
        gather_attributes((1, 2), (), (0, 1), 1, (2, 3)),
    ),
    "windows_offset_first": (
        (7, 8),
        np.array([[1, 2], [4, 5]]),
        (2, 3, 2),
        gather_attributes((0, 1), (), (0, 1), 1, (2, 3)),
    ),
    "embedding_rank2": (
        (10, 3),
        np.array([[1, 2, 3], [9, 0, 7]]),
        (2, 3, 3),
        gather_attributes((2,), (0,), (0,), 2, (1, 3)),
    ),
    "three_dims": (
        (3, 4, 5),
        np.array([[0, 1], [2, 3]]),
        (2, 4),
        gather_attributes((1,), (0, 2), (0, 2), 1, (1, 4, 1)),
    ),
    "batching": (
        (3, 5, 2),
        np.array([[[1], [4]], [[0], [2]], [[3], [9]]]),
        (3, 2, 2),
        gather_attributes((2,), (1,), (1,), 2, (1, 1, 2), (0,), (0,)),
    ),
    "no_indices": (
        (4, 3),
        np.zeros((0, 1)),
        (0, 3),
        gather_attributes((1,), (0,), (0,), 1, (1, 3)),
    ),
    "empty_slice": (
        (4, 3),
        np.array([[1]]),
        (1, 0),
        gather_attributes((1,), (0,), (0,), 1, (1, 0)),
    ),
    "scalar": ((6,), np.array([4]), (), gather_attributes((), (0,), (0,), 0, (1,))),
}


def gathers():
    for name, (dims, indices, result, attributes) in GATHERS.items():
        for type_name in SIZES if name in ("rows", "windows") else ("f32", "s64"):
            arguments = [counting(type_name, dims), indices.astype(np.int32)]
            yield one_op(
                "gather",
                shape_text(type_name, result),
                arguments,
                f"{name}_{type_name}",
                attributes,
                agree=SAME_BITS,
            )
    for index_type in ("u8", "s8", "s64", "u32", "s16"):
        dims, indices, result, attributes = GATHERS[
            "rows_out_of_bounds" if index_type[0] == "s" else "rows"
        ]
        yield one_op(
            "gather",
            shape_text("f32", result),
            [counting("f32", dims), indices.astype(np_type(index_type))],
            f"index_{index_type}",
            attributes,
            agree=SAME_BITS,
        )


def scatter_attributes(
    window,
    inserted,
    to_operand,
    vector_dim,
    computation,
    operand_batch=(),
    index_batch=(),
    unique=False,
    ordered=False,
):
    batching = (
        f"input_batching_dims={braces(operand_batch)},"
        f" scatter_indices_batching_dims={braces(index_batch)}, "
        if operand_batch
        else ""
    )
    flags = (", indices_are_sorted=true" if ordered else "") + (
        ", unique_indices=true" if unique else ""
    )
    return (
        f"update_window_dims={braces(window)}, inserted_window_dims={braces(inserted)},"
        f" scatter_dims_to_operand_dims={braces(to_operand)},"
        f" {batching}index_vector_dim={vector_dim}{flags}, to_apply={computation}"
    )


# name: operand, indices, updates, (window, inserted, to operand, vector dim, more)
SCATTERS = {
    "rows": ((6, 4), np.array([[0], [5], [2]]), (3, 4), ((1,), (0,), (0,), 1)),
    "rows_twice": ((6, 4), np.array([[2], [2], [2], [0]]), (4, 4), ((1,), (0,), (0,), 1)),
    "rows_out_of_bounds": ((6, 4), np.array([[-1], [6], [3]]), (3, 4), ((1,), (0,), (0,), 1)),
    "rows_index_vector_is_scalar": ((6, 4), np.array([4, 1]), (2, 4), ((1,), (0,), (0,), 1)),
    "elements": ((5, 6), np.array([[0, 0], [4, 5], [2, 3], [2, 3]]), (4,), ((), (0, 1), (0, 1), 1)),
    "elements_map_reversed": ((5, 6), np.array([[0, 1], [5, 4]]), (2,), ((), (0, 1), (1, 0), 1)),
    "windows": ((7, 8), np.array([[1, 2], [4, 5], [6, 7]]), (3, 2, 3), ((1, 2), (), (0, 1), 1)),
    "window_first": ((7, 8), np.array([[1, 2], [4, 5]]), (2, 3, 2), ((0, 1), (), (0, 1), 1)),
    "whole_update": ((4, 3), np.array([1, 0]), (2, 3), ((0, 1), (), (0, 1), 0)),
    "batching": (
        (3, 5, 2),
        np.array([[[1], [4]], [[0], [2]], [[3], [3]]]),
        (3, 2, 2),
        ((2,), (1,), (1,), 2, (0,), (0,)),
    ),
    "no_updates": ((4, 3), np.zeros((0, 1)), (0, 3), ((1,), (0,), (0,), 1)),
    "scalar": ((6,), np.array([4]), (), ((), (0,), (0,), 0)),
}


def scatters():
    for name, (
        dims,
        indices,
        updates,
        (window, inserted, to_operand, vector_dim, *batch),
    ) in SCATTERS.items():
        for op in ("add", "multiply", "minimum", "maximum"):
            for type_name in (
                ("f32", "s32", "bf16", "f64", "u8") if name == "elements" else ("f32", "s32")
            ):
                computation, text = combiner(op, type_name)
                arguments = [
                    random(type_name, dims, 1, -4 if type_name[0] != "u" else 0, 4),
                    indices.astype(np.int32),
                    random(type_name, updates, 2, -4 if type_name[0] != "u" else 0, 4),
                ]
                attributes = scatter_attributes(
                    window, inserted, to_operand, vector_dim, computation, *batch
                )
                yield one_op(
                    "scatter",
                    shape_of(arguments[0]),
                    arguments,
                    f"{name}_{op}_{type_name}",
                    attributes,
                    computations=text,
                    widen=type_name[0] in "fb" and op in ("add", "multiply"),
                )
        if name != "rows_twice":
            # The last argument wins: which update that is, is only known where no place is written
            # twice.
            for type_name in ("f32", "s8"):
                if name in ("elements", "batching"):
                    continue
                text = (
                    f"second {{\n  a = {type_name}[] parameter(0)\n  ROOT b = {type_name}[]"
                    " parameter(1)\n}\n\n"
                )
                arguments = [
                    counting(type_name, dims),
                    indices.astype(np.int32),
                    counting(type_name, updates, 40),
                ]
                attributes = scatter_attributes(
                    window, inserted, to_operand, vector_dim, "second", *batch, unique=True
                )
                yield one_op(
                    "scatter",
                    shape_of(arguments[0]),
                    arguments,
                    f"{name}_replace_{type_name}",
                    attributes,
                    computations=text,
                    agree=SAME_BITS,
                )
    text = (
        "both {\n  a = f32[] parameter(0)\n  b = s32[] parameter(1)\n  c = f32[] parameter(2)\n  d"
        " = s32[] parameter(3)\n  e = f32[] add(a, c)\n  f = s32[] maximum(b, d)\n  ROOT t ="
        " (f32[], s32[]) tuple(e, f)\n}\n\n"
    )
    indices = np.array([[0], [3], [3]], np.int32)
    arguments = [
        random("f32", (5, 2), 1),
        random("s32", (5, 2), 2, -9, 9),
        indices,
        random("f32", (3, 2), 3),
        random("s32", (3, 2), 4, -9, 9),
    ]
    yield one_op(
        "scatter",
        "(f32[5,2], s32[5,2])",
        arguments,
        "two_operands",
        scatter_attributes((1,), (0,), (0,), 1, "both"),
        computations=text,
        widen=True,
    )


FAMILIES = {"dynamic_slice": dynamic_slices, "gather": gathers, "scatter": scatters}
