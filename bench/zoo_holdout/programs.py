"""Programs that nothing was tuned to, in the form of bench/zoo/zoo.py: `bench_zoo.py --programs
bench/zoo_holdout/programs.py` runs them in place of the zoo. What is slow here is to be repaired as
a mechanism, and the program then replaced by another.
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
add = zoo.family("holdout")


def van_der_pol(y):
    def step(s, _):
        x, v = s[0], s[1]
        s = s + 0.002 * jnp.stack([v, 1.5 * (1 - x * x) * v - x])
        return s, s[0]

    return lax.scan(step, y, None, length=3000)[1]


def conjugate_gradient(a, b):
    m = a @ a.T + 2 * jnp.eye(a.shape[0])

    def step(_, s):
        x, r, p = s
        q = m @ p
        alpha = (r @ r) / (p @ q + 1e-9)
        new = r - alpha * q
        return x + alpha * p, new, new + (new @ new) / (r @ r + 1e-9) * p

    return lax.fori_loop(0, 40, step, (jnp.zeros_like(b), b, b))[0]


def gibbs(x):
    def sweep(state, key):
        noise = random.uniform(key, state.shape)
        near = sum(jnp.roll(state, s, a) for s in (-1, 1) for a in (0, 1))
        state = jnp.where(noise < jax.nn.sigmoid(0.8 * near), 1.0, -1.0)
        return state, state.mean()

    return lax.scan(sweep, jnp.sign(x + 0.01), random.split(random.key(3), 50))[1]


def beam(logits):
    def step(scores, row):
        all_ = (scores[:, None] + jax.nn.log_softmax(row)).reshape(-1)
        best, at = lax.top_k(all_, 8)
        return best, at % row.shape[-1]

    return lax.scan(step, jnp.zeros(8), logits)[1]


def viterbi(trans, emit):
    def step(s, e):
        all_ = s[:, None] + trans
        return jnp.max(all_, 0) + e, jnp.argmax(all_, 0)

    return lax.scan(step, emit[0], emit[1:])[1]


def levenshtein(a, b):
    def row(previous, ch):
        costs = jnp.where(b == ch, 0, 1)

        def cell(left, t):
            value = jnp.minimum(jnp.minimum(left + 1, t[1] + 1), t[0] + t[2])
            return value, value

        last, cells = lax.scan(cell, previous[0] + 1, (previous[:-1], previous[1:], costs))
        return jnp.concatenate([previous[:1] + 1, cells]), last

    return lax.scan(row, jnp.arange(b.shape[0] + 1), a)[1]


def mandelbrot(c):
    def step(_, s):
        z, n = s
        z = jnp.where(jnp.abs(z) < 4, z * z + 8 * c, z)
        return z, n + (jnp.abs(z) < 4)

    return lax.fori_loop(0, 30, step, (jnp.zeros_like(c), jnp.zeros(c.shape, jnp.int32)))[1]


def black_scholes(s, k, t):
    s, k, t = jnp.exp(s) * 100, jnp.exp(k) * 100, jnp.abs(t) + 0.1
    d = (jnp.log(s / k) + 0.06 * t) / (0.2 * jnp.sqrt(t))
    n = lambda x: 0.5 * (1 + lax.erf(x * 0.70710678))
    return s * n(d) - k * jnp.exp(-0.05 * t) * n(d - 0.2 * jnp.sqrt(t))


add("van_der_pol", van_der_pol, array(2))
add("conjugate_gradient_48", conjugate_gradient, array(48, 48), array(48))
add("ising_gibbs_64", gibbs, array(64, 64))
add("beam_search", beam, array(40, 8, 500))
add("viterbi", viterbi, array(12, 12), array(400, 12))
add("levenshtein_40", levenshtein, ints(40), ints(40))
add("mandelbrot_complex", mandelbrot, array(256, 256, dtype=jnp.complex64))
add(
    "black_scholes_gradient",
    jax.grad(lambda s, k, t: black_scholes(s, k, t).sum(), (0, 1, 2)),
    array(300_000),
    array(300_000),
    array(300_000),
)
add(
    "dropout_mlp",
    lambda x, a, b, s: (
        jnp.where(
            random.bernoulli(random.key(s[0].astype(jnp.uint32)), 0.8, (256, 1024)),
            jax.nn.relu(x @ a) / 0.8,
            0,
        )
        @ b
    ),
    array(256, 512),
    array(512, 1024),
    array(1024, 256),
    ints(1),
)
add(
    "spectrogram",
    lambda x: jnp.abs(jnp.fft.rfft(x.reshape(-1, 500) * jnp.hanning(500), axis=-1)) ** 2,
    array(250_000),
)
add(
    "segment_softmax",
    lambda x, i: (lambda e, j: e / jax.ops.segment_sum(e, j, 500)[j])(jnp.exp(x), indices(i, 500)),
    array(50_000),
    ints(50_000),
)
add(
    "polynomial_f64",
    lambda x: jnp.polyval(jnp.arange(1.0, 12.0, dtype=jnp.float64), x),
    f64(800_000),
)
add(
    "pairwise_cosine",
    lambda a, b: (
        (a / jnp.linalg.norm(a, axis=1, keepdims=True))
        @ (b / jnp.linalg.norm(b, axis=1, keepdims=True)).T
    ),
    array(700, 96),
    array(900, 96),
)
add(
    "gru_cell_gradient",
    gradient(
        lambda w, x, h: lax.scan(
            lambda h, v: (
                (1 - jax.nn.sigmoid(v @ w[0])) * h
                + jax.nn.sigmoid(v @ w[0]) * jnp.tanh(v @ w[1] + h @ w[2]),
                None,
            ),
            h,
            x,
        )[0],
        0,
    ),
    array(3, 24, 24),
    array(60, 4, 24),
    array(4, 24),
)
add(
    "rolling_standardise",
    lambda x: (lambda s, q: (x[63:] - s / 64) * lax.rsqrt(jnp.abs(q / 64 - (s / 64) ** 2) + 1e-3))(
        lax.reduce_window(x, 0.0, lax.add, (64,), (1,), "VALID"),
        lax.reduce_window(x * x, 0.0, lax.add, (64,), (1,), "VALID"),
    ),
    array(200_000),
)
