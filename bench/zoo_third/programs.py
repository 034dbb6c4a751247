"""Twelve programs of families that the zoo and its two sets aside lack, measured once at the end of
the work on small linear algebra and the growth of compiling.

`bench_zoo.py --programs bench/zoo_third/programs.py --marks third --page docs/ZOO.md`
"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "zoo"))

import jax
import jax.numpy as jnp
from jax import lax, random

import zoo
from zoo import array, f64, gradient, indices, ints

zoo.PROGRAMS.clear()
add = zoo.family("third")


def extended_kalman(x, z):
    """Range and bearing of a moving point, linearised by jacfwd, solved at each step."""
    move = jnp.eye(4) + 0.1 * jnp.eye(4, k=2)
    see = lambda s: jnp.stack([jnp.sqrt(s[0] ** 2 + s[1] ** 2 + 1), jnp.arctan2(s[1], s[0] + 2)])

    def step(state, z):
        x, p = state
        x, p = move @ x, move @ p @ move.T + 0.01 * jnp.eye(4)
        h = jax.jacfwd(see)(x)
        s = h @ p @ h.T + 0.1 * jnp.eye(2)
        k = jnp.linalg.solve(s, h @ p).T
        return (x + k @ (z - see(x)), p - k @ h @ p), x

    return lax.scan(step, (x, jnp.eye(4)), z)[1]


def gauss_newton(a, b):
    residual = lambda x: jnp.exp(a @ x) - b - 1

    def step(x, _):
        j = jax.jacfwd(residual)(x)
        n = j.T @ j + 0.1 * jnp.eye(6)
        return x - jax.scipy.linalg.cho_solve(
            (jnp.linalg.cholesky(n), True), j.T @ residual(x)
        ), None

    return lax.scan(step, jnp.zeros(6), None, length=30)[0]


def gram_schmidt(a):
    return jax.vmap(lambda m: jnp.linalg.qr(m)[0])(a)


def mahalanobis(x, c):
    c = c @ jnp.swapaxes(c, -1, -2) + jnp.eye(5)
    solved = jax.vmap(lambda l, v: jax.scipy.linalg.solve_triangular(l, v, lower=True))(
        jnp.linalg.cholesky(c), x
    )
    return jnp.sum(solved**2, -1)


def conv_lstm(x, w, u):
    convolve = lambda a, k: lax.conv_general_dilated(
        a, k, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
    )

    def step(state, x):
        h, c = state
        i, f, o, g = jnp.split(convolve(x, w) + convolve(h, u), 4, -1)
        c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
        return (jax.nn.sigmoid(o) * jnp.tanh(c), c), None

    start = jnp.zeros(x.shape[1:4] + (16,))
    return lax.scan(step, (start, start), x)[0][0]


def sliding_attention(q, k, v):
    band = jnp.abs(jnp.arange(512)[:, None] - jnp.arange(512)[None]) < 32
    s = jnp.einsum("hqd,hkd->hqk", q, k) / 8
    return jnp.einsum("hqk,hkd->hqd", jax.nn.softmax(jnp.where(band, s, -1e9)), v)


def ctc_forward(logits, labels):
    log_p = jax.nn.log_softmax(logits)[:, indices(labels, 40)]

    def step(a, p):
        shifted = jnp.concatenate([jnp.full(1, -1e9), a[:-1]])
        a = jnp.logaddexp(a, shifted) + p
        return a, a[-1]

    start = jnp.where(jnp.arange(labels.size) == 0, 0.0, -1e9)
    return lax.scan(step, start, log_p)[1]


def rigid_bodies(x, v):
    """Springs between all pairs of 24 points."""

    def step(state, _):
        x, v = state
        d = x[:, None] - x[None]
        r = jnp.sqrt(jnp.sum(d * d, -1, keepdims=True) + 1e-3)
        v = v - 0.01 * jnp.sum(d * (1 - 0.5 / r), 1)
        return (x + 0.01 * v, v), None

    return lax.scan(step, (x, v), None, length=100)[0][0]


def bootstrap_means(x, key):
    draws = random.randint(random.PRNGKey(0), (200, x.shape[0]), 0, x.shape[0])
    return jnp.percentile(x[draws].mean(1) + key[0], jnp.array([2.5, 97.5]))


def spherical_harmonics(points):
    x, y, z = points[:, 0], points[:, 1], points[:, 2]
    r = lax.rsqrt(x * x + y * y + z * z + 1e-6)
    x, y, z = x * r, y * r, z * r
    return jnp.stack([x, y, z, x * y, y * z, 3 * z * z - 1, x * z, x * x - y * y], -1)


def label_propagation(values, rows, columns):
    rows, columns = indices(rows, 2000), indices(columns, 2000)

    def step(f, _):
        summed = jnp.zeros_like(f).at[rows].add(f[columns])
        return 0.9 * summed / (1e-6 + jnp.abs(summed).max()) + 0.1 * values, None

    return lax.scan(step, values, None, length=10)[0]


add("extended_kalman", extended_kalman, array(4), array(200, 2))
add("gauss_newton", gauss_newton, array(40, 6), array(40))
add("gram_schmidt_800x6x3", gram_schmidt, array(800, 6, 3))
add("mahalanobis_3000x5", mahalanobis, array(3000, 5), array(3000, 5, 5))
add("conv_lstm", conv_lstm, array(6, 1, 16, 16, 8), array(3, 3, 8, 64), array(3, 3, 16, 64))
add("sliding_attention", sliding_attention, array(4, 512, 64), array(4, 512, 64), array(4, 512, 64))
add("ctc_forward", ctc_forward, array(200, 40), ints(64))
add("springs_24", rigid_bodies, array(24, 3), array(24, 3))
add("bootstrap_means", bootstrap_means, array(1000), array(1))
add("spherical_harmonics", gradient(spherical_harmonics, 0), array(50_000, 3))
add("label_propagation", label_propagation, array(2000, 8), ints(20_000), ints(20_000))
add("slogdet_f64_400x9", lambda a: jnp.linalg.slogdet(a + 2 * jnp.eye(9))[1], f64(400, 9, 9))
