"""Twelve programs more that nothing was tuned to, beside bench/zoo_holdout: written before the work
that they were to judge, measured once at its end.

`bench_zoo.py --programs bench/zoo_second/programs.py --marks second --page docs/ZOO.md`
"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "zoo"))

import jax
import jax.numpy as jnp
from jax import lax

import zoo
from zoo import array, f64, gradient, indices, ints

zoo.PROGRAMS.clear()
add = zoo.family("second")


def double_pendulum(s):
    def slope(s):
        a, b, p, q = s[0], s[1], s[2], s[3]
        d = a - b
        m = 2 - jnp.cos(d) ** 2
        u = (-jnp.sin(d) * (q * q + p * p * jnp.cos(d)) - 2 * jnp.sin(a) + jnp.sin(b)) / m
        v = (jnp.sin(d) * (2 * p * p + q * q * jnp.cos(d)) + 2 * jnp.cos(d) * jnp.sin(a)) / m
        return jnp.stack([p, q, u, v])

    def step(s, _):
        k = slope(s)
        s = s + 0.001 * slope(s + 0.0005 * k)
        return s, s[1]

    return lax.scan(step, s, None, length=1500)[1]


def low_pass(x):
    f = jnp.fft.rfft(x, axis=-1)
    keep = lax.iota(jnp.float32, f.shape[-1]) < 100
    return jnp.fft.irfft(jnp.where(keep, f, 0), x.shape[-1], axis=-1)


def mesh_normals(points, faces):
    i = indices(faces, points.shape[0]).reshape(-1, 3)
    a, b, c = points[i[:, 0]], points[i[:, 1]], points[i[:, 2]]
    n = jnp.cross(b - a, c - a)
    total = jnp.zeros_like(points).at[i.reshape(-1)].add(jnp.repeat(n, 3, axis=0))
    return total * lax.rsqrt(jnp.sum(total * total, -1, keepdims=True) + 1e-12)


def batch_norm_gradient(x, g, b):
    mean = x.mean((0, 1, 2))
    var = x.var((0, 1, 2))
    return jax.nn.relu((x - mean) * lax.rsqrt(var + 1e-5) * g + b)


def trilinear(grid, at):
    p = jnp.abs(at) * 100
    lo = jnp.floor(p).astype(jnp.int32) % 31
    f = p - jnp.floor(p)
    out = 0
    for k in range(8):
        bits = jnp.array([k & 1, k >> 1 & 1, k >> 2 & 1])
        w = jnp.prod(jnp.where(bits == 1, f, 1 - f), -1)
        q = lo + bits
        out = out + w * grid[q[:, 0], q[:, 1], q[:, 2]]
    return out


add("double_pendulum", double_pendulum, array(4))
add("low_pass_rows", low_pass, array(200, 2048))
add("mesh_normals", mesh_normals, array(5000, 3), ints(30_000))
add(
    "batch_norm_gradient",
    gradient(batch_norm_gradient, 0, 1, 2),
    array(16, 32, 32, 64),
    array(64),
    array(64),
)
add("trilinear_gather", trilinear, array(32, 32, 32), array(60_000, 3))
add(
    "token_table_gradient",
    gradient(lambda t, i: jnp.tanh(t[indices(i, 8000)]), 0),
    array(8000, 64),
    ints(3000),
)
add("covariances_300x12", lambda a: jnp.linalg.inv(zoo.spd(a)), array(300, 12, 12))
add(
    "rigid_transforms",
    lambda r, x: jnp.einsum("nij,nkj->nki", r, x),
    array(3000, 3, 3),
    array(3000, 20, 3),
)
add("cumulative_product_f64", lambda x: jnp.cumprod(1 + x, axis=0), f64(100, 4000))
add(
    "swish_dropout_large",
    lambda x: jnp.where(jnp.abs(x) > 0.01, x * jax.nn.sigmoid(x), 0),
    array(3_000_000),
)
add(
    "smallest_in_segments",
    lambda x, i: jax.ops.segment_min(x, indices(i, 700), 700),
    array(200_000),
    ints(200_000),
)
add(
    "average_pool_3x3",
    lambda x: lax.reduce_window(x, 0.0, lax.add, (1, 3, 3, 1), (1, 2, 2, 1), "VALID") / 9,
    array(8, 65, 65, 32),
)
