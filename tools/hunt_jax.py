#!/usr/bin/env python3
"""make hunt-jax: random programs of JAX on the built-in device, beside XLA:CPU.

    tools/hunt_jax.py --count 200 --seed 1          seeds 1 to 200; ends with 1 when one crashes,
                                                    hangs, is refused here alone, or differs
    tools/hunt_jax.py --seed 17 --count 1 --show    prints its jaxpr and both results
    tools/hunt_jax.py --functions                   lists what programs are made of

A seed makes a program of three to eight steps over arrays of all types, whose dimensions are 0, 1
and small numbers, in nested loops, branches, vmap and gradients. It is traced once and run on both,
in one process of its own for a block of seeds: a process that dies or hangs costs the seed that it
was at. A result differs when it is farther apart than its type allows, and than XLA:CPU is from
itself when its inputs change by an ulp: that is counted as unstable, not as different. What both
refuse is no program. Last line: `N passed, N failed`.
"""

import argparse
import collections
import json
import math
import os
import pathlib
import random
import subprocess
import sys
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
HANG_S = 120
BLOCK = 25


# ---- what programs are made of; only in workers, where JAX is ----------------------------------


def functions():
    """{name: function(draw, values) -> value}; a function that cannot take what it drew raises."""
    import jax
    import jax.numpy as jnp
    from jax import lax

    table = {}
    unary = (
        "abs negative sign floor ceil rint square sqrt cbrt exp exp2 expm1 log log1p log2 sin cos"
        " tan sinh cosh tanh arcsin arccos arctan arcsinh arccosh arctanh reciprocal isfinite isnan"
        " isinf real imag conj angle sinc deg2rad logical_not invert nan_to_num trunc signbit i0"
        " spacing"
    ).split()
    binary = (
        "add subtract multiply divide power maximum minimum remainder fmod floor_divide arctan2"
        " hypot logaddexp copysign equal not_equal less less_equal greater greater_equal"
        " logical_and logical_or bitwise_and bitwise_or bitwise_xor left_shift right_shift fmax"
        " heaviside float_power nextafter"
    ).split()
    reductions = "sum prod max min mean var std any all argmax argmin ptp nanmax nansum count_nonzero".split()
    scans = "cumsum cumprod".split()
    lax_scans = "cummax cummin cumlogsumexp cumsum".split()
    special = (
        "logistic erf erfc lgamma digamma rsqrt population_count clz is_finite bessel_i1e".split()
    )
    activations = "relu gelu silu softplus elu leaky_relu soft_sign".split()

    def one(name):
        def add(function):
            table[name] = function
            return function

        return add

    def axis_of(draw, x):
        if not x.ndim:
            raise ValueError
        return draw.randrange(x.ndim)

    def nonempty(x):
        if x.size == 0:
            raise ValueError
        return x

    def inexact(x):
        return x if jnp.issubdtype(x.dtype, jnp.inexact) else x.astype(jnp.float32)

    def floating(x):
        return x if jnp.issubdtype(x.dtype, jnp.floating) else jnp.real(x).astype(jnp.float32)

    for name in unary:
        table["jnp." + name] = lambda draw, vs, f=getattr(jnp, name): f(draw.choice(vs))
    for name in binary:

        def two(draw, vs, f=getattr(jnp, name)):
            return f(draw.choice(vs), draw.choice(vs))

        table["jnp." + name] = two
    for name in reductions:

        def reduce(draw, vs, f=getattr(jnp, name)):
            x = draw.choice(vs)
            return f(x, axis=draw.choice([None, axis_of(draw, x)]) if x.ndim else None)

        table["jnp." + name] = reduce
    for name in scans:

        def along(draw, vs, f=getattr(jnp, name)):
            x = draw.choice(vs)
            return f(x, axis=axis_of(draw, x))

        table["jnp." + name] = along
    for name in lax_scans:

        def scan_along(draw, vs, f=getattr(lax, name)):
            x = draw.choice(vs)
            return f(x, axis=axis_of(draw, x), reverse=draw.random() < 0.5)

        table["lax." + name] = scan_along
    for name in special:
        table["lax." + name] = lambda draw, vs, f=getattr(lax, name): f(draw.choice(vs))
    for name in activations:
        table["nn." + name] = lambda draw, vs, f=getattr(jax.nn, name): f(draw.choice(vs))

    @one("softmax")
    def _(draw, vs):
        x = floating(draw.choice(vs))
        return jax.nn.softmax(x, axis=axis_of(draw, x))

    @one("logsumexp")
    def _(draw, vs):
        x = floating(draw.choice(vs))
        return jax.nn.logsumexp(x, axis=axis_of(draw, x))

    @one("transpose")
    def _(draw, vs):
        x = draw.choice(vs)
        return jnp.transpose(x, draw.sample(range(x.ndim), x.ndim))

    @one("reshape")
    def _(draw, vs):
        x = draw.choice(vs)
        return x.reshape(draw.choice([(-1,), (1, x.size), (x.size, 1), x.shape[::-1]]))

    @one("broadcast")
    def _(draw, vs):
        x = draw.choice(vs)
        return jnp.broadcast_to(x, (draw.choice([0, 1, 2]), *x.shape))

    @one("squeeze")
    def _(draw, vs):
        return jnp.squeeze(draw.choice(vs))

    @one("flip")
    def _(draw, vs):
        x = draw.choice(vs)
        return jnp.flip(x, axis_of(draw, x))

    @one("roll")
    def _(draw, vs):
        x = draw.choice(vs)
        return jnp.roll(x, draw.randrange(-2, 3), axis_of(draw, x))

    @one("tile")
    def _(draw, vs):
        x = draw.choice(vs)
        return jnp.tile(x, [draw.choice([0, 1, 2]) for _ in range(x.ndim)])

    @one("repeat")
    def _(draw, vs):
        x = draw.choice(vs)
        return jnp.repeat(x, draw.choice([0, 1, 2]), axis=axis_of(draw, x))

    @one("concatenate")
    def _(draw, vs):
        x = draw.choice(vs)
        same = [v for v in vs if v.shape == x.shape]
        return jnp.concatenate([x, draw.choice(same)], axis_of(draw, x))

    @one("stack")
    def _(draw, vs):
        x = draw.choice(vs)
        return jnp.stack([x, x + x], axis=draw.randrange(x.ndim + 1))

    @one("pad")
    def _(draw, vs):
        x = draw.choice(vs)
        return lax.pad(
            x,
            jnp.zeros((), x.dtype),
            [
                (draw.randrange(-1, 3), draw.randrange(-1, 3), draw.randrange(3))
                for _ in range(x.ndim)
            ],
        )

    @one("slice")
    def _(draw, vs):
        x = draw.choice(vs)
        return x[tuple(slice(draw.randrange(n + 1), None, draw.randrange(1, 3)) for n in x.shape)]

    @one("dynamic_slice")
    def _(draw, vs):
        x, i = draw.choice(vs), draw.choice(vs)
        start = jnp.sum(i.astype(jnp.int32)) % 7 - 2
        return lax.dynamic_slice(x, [start] * x.ndim, [draw.randrange(n + 1) for n in x.shape])

    @one("dynamic_update_slice")
    def _(draw, vs):
        x, i = draw.choice(vs), draw.choice(vs)
        start = jnp.sum(i.astype(jnp.int32)) % 7 - 2
        part = x[tuple(slice(draw.randrange(n + 1), None) for n in x.shape)]
        return lax.dynamic_update_slice(x, part + part, [start] * x.ndim)

    @one("take")
    def _(draw, vs):
        x, i = nonempty(draw.choice(vs)), draw.choice(vs)
        return jnp.take(
            x,
            i.astype(jnp.int32).reshape(-1),
            axis=axis_of(draw, x),
            mode=draw.choice(["clip", "wrap", "fill"]),
        )

    @one("take_along_axis")
    def _(draw, vs):
        x = nonempty(draw.choice(vs))
        a = axis_of(draw, x)
        return jnp.take_along_axis(x, jnp.argsort(floating(x), axis=a), a)

    def scatter(method):
        def run(draw, vs):
            x, i = nonempty(draw.choice(vs)), draw.choice(vs)
            index = i.astype(jnp.int32).reshape(-1) % (x.shape[0] if x.ndim else 1)
            if not x.ndim:
                raise ValueError
            if method == "set":  # which of several wins is not said
                index = index[:1]
            return getattr(x.at[index], method)(jnp.ones((), x.dtype))

        return run

    for method in ("set", "add", "multiply", "max", "min"):
        table["scatter_" + method] = scatter(method)

    @one("where")
    def _(draw, vs):
        x = draw.choice(vs)
        return jnp.where(x != 0, draw.choice(vs), x)

    @one("clip")
    def _(draw, vs):
        return jnp.clip(draw.choice(vs), -1, 2)

    @one("sort")
    def _(draw, vs):
        x = draw.choice(vs)
        return jnp.sort(x, axis=axis_of(draw, x), descending=draw.random() < 0.5)

    @one("argsort")
    def _(draw, vs):
        x = draw.choice(vs)
        return jnp.argsort(x, axis=axis_of(draw, x), stable=True)

    @one("top_k")
    def _(draw, vs):
        x = floating(draw.choice(vs))
        return lax.top_k(x, draw.randrange(x.shape[-1] + 1))[0]

    @one("searchsorted")
    def _(draw, vs):
        x = floating(draw.choice(vs)).reshape(-1)
        return jnp.searchsorted(jnp.sort(x), x)

    @one("diag")
    def _(draw, vs):
        x = draw.choice([v for v in vs if v.ndim in (1, 2)])
        return jnp.diag(x, draw.randrange(-1, 2))

    for name in ("tril", "triu"):
        table[name] = lambda draw, vs, f=getattr(jnp, name): f(
            draw.choice([v for v in vs if v.ndim >= 2]), draw.randrange(-1, 2)
        )

    @one("one_hot")
    def _(draw, vs):
        return jax.nn.one_hot(draw.choice(vs).astype(jnp.int32), draw.choice([0, 1, 3]))

    @one("iota")
    def _(draw, vs):
        x = draw.choice(vs)
        return x + lax.broadcasted_iota(jnp.int8, x.shape, axis_of(draw, x)).astype(x.dtype)

    @one("dot")
    def _(draw, vs):
        x = draw.choice([v for v in vs if v.ndim >= 1])
        return jnp.tensordot(
            x, draw.choice([v for v in vs if v.ndim and v.shape[-1] == x.shape[-1]]), ([-1], [-1])
        )

    @one("matmul")
    def _(draw, vs):
        x = draw.choice([v for v in vs if v.ndim >= 2])
        return x @ jnp.swapaxes(x, -1, -2)

    @one("outer")
    def _(draw, vs):
        return jnp.outer(draw.choice(vs), draw.choice(vs))

    @one("einsum")
    def _(draw, vs):
        x = draw.choice([v for v in vs if v.ndim == 2])
        return jnp.einsum(draw.choice(["ij,ij->i", "ij,kj->ik", "ij,ij->", "ij,ik->jk"]), x, x)

    @one("conv")
    def _(draw, vs):
        x = nonempty(floating(draw.choice(vs))).reshape(1, 1, -1)
        k = nonempty(floating(draw.choice(vs))).reshape(1, 1, -1)[..., :3].astype(x.dtype)
        return lax.conv_general_dilated(
            x,
            k,
            (draw.randrange(1, 3),),
            [(draw.randrange(3), draw.randrange(3))],
            lhs_dilation=(draw.randrange(1, 3),),
            rhs_dilation=(draw.randrange(1, 3),),
        )

    @one("reduce_window")
    def _(draw, vs):
        x = floating(draw.choice(vs))
        sizes = [min(2, max(1, n)) for n in x.shape]
        what, start = draw.choice([(lax.add, 0.0), (lax.max, -jnp.inf), (lax.min, jnp.inf)])
        return lax.reduce_window(
            x, jnp.array(start, x.dtype), what, sizes, [1] * x.ndim, draw.choice(["VALID", "SAME"])
        )

    for name in ("fft", "ifft", "rfft"):

        def fourier(draw, vs, f=getattr(jnp.fft, name)):
            x = nonempty(draw.choice(vs))
            if x.dtype in (jnp.float16, jnp.bfloat16):
                x = x.astype(jnp.float32)
            return f(jnp.real(x) if f is jnp.fft.rfft else x)

        table["fft." + name] = fourier

    def square(draw, vs):
        x = draw.choice([v for v in vs if v.ndim == 2])
        x = inexact(x)
        x = x.astype(jnp.float32) if x.dtype in (jnp.float16, jnp.bfloat16) else x
        return x @ jnp.conj(x.T) + 3 * jnp.eye(x.shape[0], dtype=x.dtype)

    table["cholesky"] = lambda draw, vs: jnp.linalg.cholesky(square(draw, vs))
    table["eigvalsh"] = lambda draw, vs: jnp.linalg.eigvalsh(square(draw, vs))
    table["svdvals"] = lambda draw, vs: jnp.linalg.svd(square(draw, vs), compute_uv=False)
    table["det"] = lambda draw, vs: jnp.linalg.det(square(draw, vs))
    table["inv"] = lambda draw, vs: jnp.linalg.inv(square(draw, vs))

    @one("solve")
    def _(draw, vs):
        a = square(draw, vs)
        return jnp.linalg.solve(a, jnp.ones(a.shape[:1], a.dtype))

    table["qr"] = lambda draw, vs: jnp.abs(jnp.linalg.qr(square(draw, vs))[1])

    @one("random")
    def _(draw, vs):
        x = draw.choice(vs)
        key = jax.random.fold_in(
            jax.random.key(draw.randrange(99)), jnp.sum(x.astype(jnp.int32)) % 5
        )
        return draw.choice([jax.random.normal, jax.random.uniform, jax.random.bits])(key, x.shape)

    @one("convert")
    def _(draw, vs):
        x = draw.choice(vs)
        to = draw.choice(TYPES)
        if jnp.issubdtype(x.dtype, jnp.inexact) and not jnp.issubdtype(to, jnp.inexact):
            x = jnp.nan_to_num(x, nan=0, posinf=1, neginf=0).real.clip(0, 100)
        return (
            jnp.real(x)
            if jnp.issubdtype(x.dtype, jnp.complexfloating)
            and not jnp.issubdtype(to, jnp.complexfloating)
            else x
        ).astype(to)

    @one("bitcast")
    def _(draw, vs):
        x = draw.choice(
            [
                v
                for v in vs
                if v.dtype.itemsize in (1, 2, 4)
                and v.dtype != jnp.bool_
                and jnp.issubdtype(v.dtype, jnp.integer)
            ]
        )
        return lax.bitcast_convert_type(
            x, {1: jnp.uint8, 2: jnp.int16, 4: jnp.uint32}[x.dtype.itemsize]
        )

    @one("reduce_precision")
    def _(draw, vs):
        return lax.reduce_precision(floating(draw.choice(vs)), 8, draw.choice([3, 7, 10]))

    @one("polyval")
    def _(draw, vs):
        return jnp.polyval(jnp.arange(3.0), floating(draw.choice(vs)))

    @one("associative_scan")
    def _(draw, vs):
        x = nonempty(draw.choice(vs))
        return lax.associative_scan(jnp.maximum, jnp.real(x), axis=axis_of(draw, x))

    return table


def forms():
    """What holds other steps: {name: function(draw, values, body)}; body(draw, values) -> value."""
    import jax
    import jax.numpy as jnp
    from jax import lax

    def like(x, y):
        """y in the type and shape of x."""
        y = (
            jnp.real(y)
            if not jnp.issubdtype(x.dtype, jnp.complexfloating)
            and jnp.issubdtype(y.dtype, jnp.complexfloating)
            else y
        )
        y = (
            jnp.nan_to_num(y, nan=1, posinf=2, neginf=-2)
            if jnp.issubdtype(y.dtype, jnp.inexact)
            else y
        )
        y = (
            jnp.clip(y.real, 0, 3)
            if jnp.issubdtype(y.dtype, jnp.inexact) and not jnp.issubdtype(x.dtype, jnp.inexact)
            else y
        )
        return jnp.broadcast_to(
            jnp.ravel(y)[:1].reshape(()) if y.size else jnp.zeros((), y.dtype), x.shape
        ).astype(x.dtype)

    def fixed(draw, body):
        """The body with choices of its own, the same at every trace."""
        seed = draw.random()
        return lambda vs: body(random.Random(seed), vs)

    def small(x):
        return jnp.sum(jnp.abs(jnp.real(x)).astype(jnp.int32) % 5) % 4 if x.size else jnp.int32(1)

    def cond(draw, vs, body):
        x, yes, no = draw.choice(vs), fixed(draw, body), fixed(draw, body)
        return lax.cond(
            small(draw.choice(vs)) > 1, lambda: like(x, yes(vs)), lambda: like(x, no(vs))
        )

    def switch(draw, vs, body):
        x = draw.choice(vs)
        branches = [fixed(draw, body) for _ in range(3)]
        return lax.switch(small(draw.choice(vs)), [lambda b=b: like(x, b(vs)) for b in branches])

    def while_loop(draw, vs, body):
        x, inner, limit = draw.choice(vs), fixed(draw, body), small(draw.choice(vs))
        return lax.while_loop(
            lambda c: c[0] < limit,
            lambda c: (c[0] + 1, like(x, inner([c[1], *vs]))),
            (jnp.int32(0), x),
        )[1]

    def fori(draw, vs, body):
        x, inner = draw.choice(vs), fixed(draw, body)
        return lax.fori_loop(0, draw.randrange(4), lambda i, c: like(x, inner([c, *vs])), x)

    def scan(draw, vs, body):
        x, inner = draw.choice([v for v in vs if v.ndim]), fixed(draw, body)
        carry, ys = lax.scan(
            lambda c, row: (like(c, inner([c, row])), inner([row])),
            jnp.zeros((2,), x.dtype),
            x,
            reverse=draw.random() < 0.5,
        )
        return draw.choice([carry, ys])

    def vmap(draw, vs, body):
        x, inner = draw.choice([v for v in vs if v.ndim]), fixed(draw, body)
        return jax.vmap(lambda row: inner([row]), in_axes=draw.randrange(x.ndim))(x)

    def grad(draw, vs, body):
        x = draw.choice([v for v in vs if jnp.issubdtype(v.dtype, jnp.floating)])
        inner = fixed(draw, body)
        return jax.grad(lambda v: jnp.sum(jnp.real(inner([v]))).astype(jnp.float32))(x)

    def jvp(draw, vs, body):
        x = draw.choice([v for v in vs if jnp.issubdtype(v.dtype, jnp.floating)])
        inner = fixed(draw, body)
        tangent = jax.jvp(lambda v: inner([v]), (x,), (jnp.ones_like(x),))[1]
        if tangent.dtype == jax.dtypes.float0:  # of whole numbers: no array
            raise ValueError
        return tangent

    def checkpoint(draw, vs, body):
        inner = fixed(draw, body)
        return jax.checkpoint(lambda v: inner([v]))(draw.choice(vs))

    def call(draw, vs, body):
        inner = fixed(draw, body)
        return jax.jit(lambda v: inner([v]))(draw.choice(vs))

    def mapped(draw, vs, body):
        inner = fixed(draw, body)
        return lax.map(lambda row: inner([row]), draw.choice([v for v in vs if v.ndim]))

    return {
        f.__name__: f
        for f in (cond, switch, while_loop, fori, scan, vmap, grad, jvp, checkpoint, call, mapped)
    }


TYPES = (
    "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 bfloat16 float32 float64"
    " complex64 complex128".split()
)
SIZES = (0, 1, 1, 2, 3, 5)
MOST_ELEMENTS = 4096


def make_inputs(draw):
    import ml_dtypes
    import numpy as np

    rng = np.random.default_rng(draw.randrange(1 << 30))
    inputs = []
    shape = tuple(draw.choice(SIZES) for _ in range(draw.randrange(4)))
    for _ in range(draw.randrange(2, 4)):
        if draw.random() < 0.5:
            shape = tuple(draw.choice(SIZES) for _ in range(draw.randrange(4)))
        name = draw.choice(TYPES + ["float32"] * 4)
        values = rng.integers(-8, 9, shape) / 4
        if name.startswith("complex"):
            values = values + 1j * rng.integers(-8, 9, shape) / 4
        elif "int" in name or name == "bool":
            values = rng.integers(0 if name[0] in "ub" else -5, 2 if name == "bool" else 6, shape)
        inputs.append(np.asarray(values).astype(ml_dtypes.bfloat16 if name == "bfloat16" else name))
    return inputs


def make_program(seed, used):
    """function(*inputs) -> values of all steps. `used` counts what was traced."""
    table, holders = functions(), forms()
    names, holder_names = sorted(table), sorted(holders)

    def step(draw, vs, depth):
        for _ in range(30):
            name = (
                draw.choice(holder_names)
                if depth < 3 and draw.random() < 0.3
                else draw.choice(names)
            )
            inner = random.Random(draw.random())
            try:
                if name in holders:
                    value = holders[name](inner, vs, lambda d, values: step(d, values, depth + 1))
                else:
                    value = table[name](inner, vs)
            except (
                TypeError,
                ValueError,
                IndexError,
                NotImplementedError,
                ZeroDivisionError,
                OverflowError,
            ):
                continue
            if value.size <= MOST_ELEMENTS:
                used[name] += 1
                return value
        return vs[0]

    def program(*inputs):
        import jax.numpy as jnp

        draw = random.Random(f"program {seed}")
        values = [jnp.asarray(x) for x in inputs]
        first = len(values)
        for _ in range(draw.randrange(3, 9)):
            values.append(step(draw, values, 0))
        return values[first:]

    return program


# ---- running and comparing -----------------------------------------------------------------------


def distance(a, b):
    """How far apart two results are, of the largest value of b; None when their infinities or NaNs
    are not at the same places."""
    import numpy as np

    if a.shape != b.shape or a.dtype != b.dtype:
        return None
    if a.dtype == bool or np.issubdtype(a.dtype, np.integer):
        return float(np.mean(a != b)) if a.size else 0.0
    least = (
        1e-6 if a.dtype.itemsize >= 8 and a.dtype != np.complex64 else 1e-2
    )  # of numbers near 1: below it is what cancellation leaves
    if np.issubdtype(a.dtype, np.complexfloating):
        # Which part of a product with infinity is NaN is not said: one part is as good as both.
        a, b = (np.where(np.isfinite(x.real) & np.isfinite(x.imag), x, np.nan) for x in (a, b))
        a, b = (np.stack([x.real, x.imag]) for x in (a, b))
    a, b = a.astype(np.float64), b.astype(np.float64)
    odd = ~np.isfinite(b)
    if not np.array_equal(np.where(odd, b, 0), np.where(np.isfinite(a), 0, a), equal_nan=True):
        return None
    scale = max(float(np.max(np.abs(b[~odd]), initial=0)), least)
    return float(np.max(np.abs(a[~odd] - b[~odd]), initial=0)) / scale


def tolerance(dtype):
    return {
        "float16": 1e-2,
        "bfloat16": 8e-2,
        "float64": 1e-6,
        "complex128": 1e-6,
        "bool": 0,
        "float32": 2e-4,
        "complex64": 2e-4,
    }.get(str(dtype), 0)


def nudged(inputs):
    """The inputs an ulp of f32 away, as rounding would leave them."""
    import numpy as np

    return [
        (
            x
            if x.dtype == bool or np.issubdtype(x.dtype, np.integer)
            else (x * (1 + 4e-7 if x.dtype.itemsize >= 4 else 1 + 1e-2)).astype(x.dtype)
        )
        for x in inputs
    ]


def run_seed(seed, used, show):
    """(verdict, text)"""
    import jax
    import numpy as np

    inputs = make_inputs(random.Random(f"inputs {seed}"))
    program = make_program(seed, used)
    traced = jax.make_jaxpr(program)(*inputs)
    if show:
        print(traced)
    function = jax.jit(jax.extend.core.jaxpr_as_fun(traced))

    def on(platform, values):
        device = jax.devices(platform)[0]
        with jax.default_device(device):
            return [np.asarray(x) for x in function(*(jax.device_put(v, device) for v in values))]

    try:
        there = on("cpu", inputs)
    except Exception as error:
        return "refused by both" if _refuses(on, inputs) else "refused there", str(error)[:200]
    try:
        here = on("hloscope", inputs)
    except Exception as error:
        return "refused", f"{type(error).__name__}: {error}"[:400]
    other = None
    for i, (a, b) in enumerate(zip(here, there)):
        apart = distance(a, b)
        if apart is not None and apart <= tolerance(b.dtype):
            continue
        other = other or [on("cpu", nudged(inputs)), on("hloscope", nudged(inputs))]
        own = [distance(x[i], y) for x, y in zip(other, (b, a))]
        if any(o is None or (apart is not None and o * 8 >= apart) for o in own):
            return "unstable", ""
        equation = str(traced.jaxpr.outvars[i])
        if show:
            print("here", a, "there", b, sep="\n")
        return (
            "differs",
            (
                f"result {i} ({equation}, {b.dtype}{list(b.shape)}): {apart} apart; here"
                f" {a.reshape(-1)[:4]}, XLA:CPU {b.reshape(-1)[:4]}"
            ),
        )
    return "same", ""


def _refuses(on, inputs):
    try:
        on("hloscope", inputs)
        return False
    except Exception:
        return True


def worker(first, last, show):
    import jax
    import jax.extend  # noqa: F401

    jax.config.update("jax_enable_x64", True)
    import numpy as np

    np.seterr(all="ignore")
    for seed in range(first, last):
        used = collections.Counter()
        print(json.dumps({"begin": seed}), flush=True)
        try:
            verdict, text = run_seed(seed, used, show)
        except Exception as error:
            verdict, text = "not traced", f"{type(error).__name__}: {error}"[:300]
        print(
            json.dumps({"seed": seed, "verdict": verdict, "text": text, "used": used}), flush=True
        )


def run_block(options, first, last, tell):
    """Runs seeds [first, last) in one process; returns the next seed."""
    environment = dict(
        os.environ,
        JAX_PLATFORMS="hloscope,cpu",
        PJRT_NAMES_AND_LIBRARY_PATHS=f"hloscope:{options.library}",
        PYTHONPATH=str(ROOT / "python"),
        TF_CPP_MIN_LOG_LEVEL="3",
    )
    command = [
        options.python,
        __file__,
        "--worker",
        str(first),
        str(last),
        *(["--show"] if options.show else []),
    ]
    process = subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    # `at`: the program that runs, or that comes next; a process that imports has none yet
    at, runs, hung = first, False, []

    def stop():
        hung.append(True)
        process.kill()

    def wait(seconds=HANG_S):
        timer = threading.Timer(seconds, stop)
        timer.start()
        return timer

    timer = wait(5 * HANG_S)  # it imports JAX first
    for line in process.stdout:
        try:
            row = json.loads(line)
        except ValueError:
            print(line, end="")
            continue
        timer.cancel()
        timer = wait()
        runs = "begin" in row
        at = row["begin"] if runs else row["seed"] + 1
        if not runs:
            tell(row)
    code = process.wait()
    timer.cancel()
    if at >= last:
        return last
    text = f"no answer in {HANG_S} s" if hung else f"exit code {code}"
    where = "" if runs else " before it began"
    verdict = "hung" if hung else "died"
    tell({"seed": at, "verdict": verdict, "text": text + where, "used": {}})
    return at + 1


BAD = ("differs", "refused", "died", "hung")


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--time", type=float, default=math.inf, help="seconds, then no more begin")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--python", help="a Python with JAX (default: tools/environments.py)")
    parser.add_argument("--show", action="store_true")
    parser.add_argument("--functions", action="store_true")
    parser.add_argument("--worker", nargs=2, type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        worker(*options.worker, options.show)
        return 0
    if not options.python:
        sys.path.insert(0, str(ROOT / "tools"))
        import environments

        options.python, why = environments.environment("3.11")
        if why:
            print(f"NOT TESTED: {why}\n0 passed, 0 failed")
            return 0
    if options.functions:
        ask = "import hunt_jax as h; print(*sorted(h.functions()), *sorted(h.forms()), sep='\\n')"
        return subprocess.run(
            [options.python, "-c", ask],
            env=dict(os.environ, JAX_PLATFORMS="cpu", PYTHONPATH=str(ROOT / "tools")),
            check=False,
        ).returncode
    options.library = (options.build / "libhloscope_cpu_pjrt.so").resolve()
    verdicts, used = collections.Counter(), collections.Counter()

    def tell(row):
        verdicts[row["verdict"]] += 1
        used.update(row["used"])
        if row["verdict"] in BAD or row["verdict"] == "not traced":
            print(f"seed {row['seed']}: {row['verdict']}: {row['text']}", flush=True)

    at, end = options.seed, options.seed + options.count
    latest = time.monotonic() + options.time
    while at < end and time.monotonic() < latest:
        at = run_block(options, at, min(at + BLOCK, end), tell)
    print(", ".join(f"{count} {verdict}" for verdict, count in verdicts.most_common()))
    print(f"{len(used)} functions and forms in {sum(used.values())} steps")
    failed = sum(verdicts[v] for v in BAD)
    print(f"{verdicts['same'] + verdicts['unstable']} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
