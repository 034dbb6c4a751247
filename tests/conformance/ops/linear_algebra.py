"""Whole algorithms as one op: batch norm, FFT, Cholesky, triangular solve, random bits."""

import numpy as np

from case import SAME_BITS, Case, one_op, program, random, shape_of, shape_text


def batch_norms():
    for dims, axis in (
        ((4, 5, 3), 2),
        ((4, 3, 5), 1),
        ((2, 6, 6, 4), 3),
        ((8, 2), 1),
        ((3, 2), 0),
        ((1, 3), 1),
    ):
        features = dims[axis]
        suffix = "x".join(map(str, dims)) + f"_f{axis}"
        for type_name in ("f32", "f64", "bf16"):
            x, scale, offset = (
                random(type_name, dims, 1, -2, 3),
                random(type_name, (features,), 2, 0.5, 2),
                random(type_name, (features,), 3),
            )
            mean, variance, gradient = (
                random(type_name, (features,), 4),
                random(type_name, (features,), 5, 0.5, 2),
                random(type_name, dims, 6),
            )
            attributes = f"epsilon=0.001, feature_index={axis}"
            vector = shape_of(scale)
            yield one_op(
                "batch-norm-training",
                f"({shape_of(x)}, {vector}, {vector})",
                [x, scale, offset],
                f"{type_name}_{suffix}",
                attributes,
                widen=True,
            )
            yield one_op(
                "batch-norm-inference",
                shape_of(x),
                [x, scale, offset, mean, variance],
                f"{type_name}_{suffix}",
                attributes,
                widen=True,
            )
            yield one_op(
                "batch-norm-grad",
                f"({shape_of(x)}, {vector}, {vector})",
                [x, scale, mean, variance, gradient],
                f"{type_name}_{suffix}",
                attributes,
                widen=True,
            )


def ffts():
    for dims, length in (
        ((8,), (8,)),
        ((7,), (7,)),
        ((3, 16), (16,)),
        ((4, 6), (4, 6)),
        ((2, 3, 4, 5), (3, 4, 5)),
        ((1,), (1,)),
        ((12,), (12,)),
        ((30,), (30,)),
        ((3, 13), (13,)),
        ((2, 64), (64,)),
    ):
        half = (*dims[:-1], dims[-1] // 2 + 1)
        text = "{" + ",".join(map(str, length)) + "}"
        suffix = "x".join(map(str, dims)) + f"_rank{len(length)}"
        for part, whole in (("f32", "c64"), ("f64", "c128")):
            for kind, argument, result in (
                ("FFT", random(whole, dims, 1), shape_text(whole, dims)),
                ("IFFT", random(whole, dims, 2), shape_text(whole, dims)),
                ("RFFT", random(part, dims, 3), shape_text(whole, half)),
                ("IRFFT", spectrum(whole, dims, length), shape_text(part, dims)),
            ):
                yield one_op(
                    "fft",
                    result,
                    [argument],
                    f"{kind}_{whole}_{suffix}",
                    f"fft_type={kind}, fft_length={text}",
                    widen=True,
                )


def spectrum(type_name, dims, length):
    """What some real array transforms to: IRFFT is defined for that alone."""
    real = random("f64", dims, 4)
    return np.fft.rfftn(real, axes=range(len(dims) - len(length), len(dims))).astype(
        {"c64": np.complex64, "c128": np.complex128}[type_name]
    )


def positive_definite(type_name, dims):
    matrix = random("c128" if type_name[0] == "c" else "f64", dims, 7)
    product = matrix @ np.conj(np.swapaxes(matrix, -1, -2)) + dims[-1] * np.eye(dims[-1])
    return product.astype(
        {"f32": np.float32, "f64": np.float64, "c64": np.complex64, "c128": np.complex128}[
            type_name
        ]
    )


def choleskys():
    for dims in ((1, 1), (4, 4), (3, 5, 5), (2, 2, 3, 3), (0, 0), (17, 17), (40, 40)):
        for type_name in ("f32", "f64", "c64", "c128") if dims[-1] < 10 else ("f32",):
            for lower in (True, False):
                matrix = positive_definite(type_name, dims)
                half = np.tril(np.ones(dims, bool)) if lower else np.triu(np.ones(dims, bool))
                # What the op leaves in the other half is not defined: it is set to zero.
                lines = [
                    f"half = {shape_of(matrix)} cholesky(p0), lower={'true' if lower else 'false'}",
                    f"zero = {type_name}[] constant({'(0, 0)' if type_name[0] == 'c' else '0'})",
                    f"zeros = {shape_of(matrix)} broadcast(zero), dimensions={{}}",
                ]
                name = f"cholesky_{type_name}_{'x'.join(map(str, dims))}_{'lower' if lower else 'upper'}"
                yield Case(
                    name,
                    "cholesky",
                    program(
                        name, f"{shape_of(matrix)} select(p1, half, zeros)", [matrix, half], lines
                    ),
                    [matrix, half],
                    widen=True,
                )


def triangular_solves():
    for type_name in ("f32", "f64", "c64", "c128"):
        for left_side in (True, False):
            for lower in (True, False):
                for unit in (False, True):
                    for transpose in ("NO_TRANSPOSE", "TRANSPOSE", "ADJOINT"):
                        for batch, rows, columns in (
                            (((), 4, 3), ((2,), 3, 5))
                            if type_name in ("f32", "c64")
                            else (((), 4, 3),)
                        ):
                            size = rows if left_side else columns
                            a = random(type_name, (*batch, size, size), 8) + size * np.eye(
                                size, dtype=np.float32
                            )
                            a = a.astype(random(type_name, (1,), 0).dtype)
                            b = random(type_name, (*batch, rows, columns), 9)
                            flags = (
                                f"left_side={str(left_side).lower()}, lower={str(lower).lower()},"
                                f" unit_diagonal={str(unit).lower()}, transpose_a={transpose}"
                            )
                            suffix = "_".join(
                                [
                                    type_name,
                                    "left" if left_side else "right",
                                    "lower" if lower else "upper",
                                    "unit" if unit else "full",
                                    transpose.lower(),
                                    f"{len(batch)}batch",
                                ]
                            )
                            yield one_op(
                                "triangular-solve", shape_of(b), [a, b], suffix, flags, widen=True
                            )
    for size in (1, 33, 70):
        a, b = (
            (random("f32", (size, size), 10) + size * np.eye(size)).astype(np.float32),
            random("f32", (size, 2), 11),
        )
        yield one_op(
            "triangular-solve",
            shape_of(b),
            [a, b],
            f"f32_size{size}",
            "left_side=true, lower=true, unit_diagonal=false, transpose_a=NO_TRANSPOSE",
            widen=True,
        )


def random_bits():
    for algorithm, words in (
        ("rng_default", 2),
        ("rng_three_fry", 2),
        ("rng_philox", 2),
        ("rng_philox", 3),
        ("rng_default", 3),
    ):
        state = np.array([0x0123456789ABCDEF, 42, 7][:words], np.uint64)
        for type_name in ("u32", "u64", "u8", "u16"):
            for dims in ((5,), (2, 3), (), (0,), (17,)) if type_name in ("u32", "u64") else ((5,),):
                yield one_op(
                    "rng-bit-generator",
                    f"(u64[{words}], {shape_text(type_name, dims)})",
                    [state],
                    f"{algorithm}_{words}_{type_name}_{'x'.join(map(str, dims)) or 'scalar'}",
                    f"algorithm={algorithm}",
                    agree=SAME_BITS,
                )
    for state in ([0, 0], [2**64 - 1, 2**64 - 1], [1, 2**64 - 2]):
        for algorithm in ("rng_three_fry", "rng_philox"):
            yield one_op(
                "rng-bit-generator",
                "(u64[2], u32[9])",
                [np.array(state, np.uint64)],
                f"{algorithm}_state_{state[0] & 15}_{state[1] & 15}",
                f"algorithm={algorithm}",
                agree=SAME_BITS,
            )


FAMILIES = {
    "batch_norm": batch_norms,
    "fft": ffts,
    "cholesky": choleskys,
    "triangular_solve": triangular_solves,
    "rng_bit_generator": random_bits,
}
