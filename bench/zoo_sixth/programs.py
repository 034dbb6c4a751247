"""Twelve programs of families that the other sets have little of: graph networks on segments,
square root filters, dynamic programmes, ragged batches by masks, compressed sparse rows, quantised
layers, celestial mechanics in f64, image augmentation, attention in windows, kernels of processes,
tokenisers on integers. Six, `sixth`, were measured while slow mechanisms were repaired; six,
`spared`, were written at the same time, not looked at, and measured once at the end.

`bench_zoo.py sixth_ --programs bench/zoo_sixth/programs.py --marks sixth --page docs/ZOO.md`
`bench_zoo.py spared_ --programs bench/zoo_sixth/programs.py --marks spared --page docs/ZOO.md`
"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "zoo"))

import jax
import jax.numpy as jnp
import jax.scipy.linalg
from jax import lax, random

import zoo
from zoo import array, f64, gradient, indices, ints, s8

zoo.PROGRAMS.clear()
sixth = zoo.family("sixth")
spared = zoo.family("spared")


def edge_network(nodes, edges, tails, heads, w_edge, w_node):
    """A step of a graph network: messages on edges, their mean and greatest by node."""
    tails, heads = indices(tails, 2000), indices(heads + 3, 2000)
    sent = jnp.concatenate([nodes[tails], nodes[heads], edges], -1)
    message = jax.nn.silu(sent @ w_edge)
    total = jax.ops.segment_sum(message, heads, 2000)
    count = jax.ops.segment_sum(jnp.ones(heads.shape), heads, 2000)
    most = jax.ops.segment_max(message, heads, 2000)
    mean = total / jnp.maximum(count, 1)[:, None]
    return jax.nn.silu(jnp.concatenate([nodes, mean, jnp.maximum(most, 0)], -1) @ w_node)


def planets(q, v):
    """Velocity Verlet for nine bodies in f64."""
    mass = 1.0 / (1 + jnp.arange(9.0))

    def pull(q):
        d = q[None] - q[:, None]
        r2 = jnp.sum(d * d, -1) + 0.01
        return jnp.sum(mass[None, :, None] * d / (r2 * jnp.sqrt(r2))[..., None], 1)

    def step(state, _):
        q, v, a = state
        q = q + 0.001 * v + 0.5e-6 * a
        b = pull(q)
        return (q, v + 0.0005 * (a + b), b), None

    return lax.scan(step, (q, v, pull(q)), None, length=300)[0][0]


def compressed_rows(values, columns, starts, x):
    """A sparse matrix in compressed rows times a vector, as jax.experimental.sparse does it."""
    columns = indices(columns, 5000)
    starts = jnp.sort(indices(starts, 50_000))
    rows = jnp.cumsum(jnp.zeros(50_000, jnp.int32).at[starts].add(1))
    return jnp.zeros(5001).at[rows].add(values * x[columns])


def augmented(images, shift):
    """Flips, shifts by gathers, brightness and contrast, each image its own."""
    n, h, w, _ = images.shape
    key = random.split(random.PRNGKey(0), n) + shift.astype(jnp.uint32)

    def one(image, key):
        a, b, c, d = random.split(key, 4)
        image = jnp.where(random.bernoulli(a), image[:, ::-1], image)
        dy, dx = random.randint(b, (2,), -4, 5)
        padded = jnp.pad(image, ((4, 4), (4, 4), (0, 0)), mode="edge")
        image = lax.dynamic_slice(padded, (4 + dy, 4 + dx, 0), (h, w, 3))
        mean = image.mean((0, 1), keepdims=True)
        image = (image - mean) * random.uniform(c, minval=0.8, maxval=1.2) + mean
        return jnp.clip(image + random.uniform(d, minval=-0.1, maxval=0.1), 0, 1)

    return jax.vmap(one)(images, key)


def pairs_merged(tokens):
    """Forty rounds of byte pair merging on a fixed pair table, by masks."""
    tokens = indices(tokens, 30)

    def merge(state, pair):
        tokens, keep = state
        here = (tokens == pair[0]) & (jnp.roll(tokens, -1) == pair[1]) & keep
        here = here & ~jnp.roll(here, 1)
        tokens = jnp.where(here, pair[2], tokens)
        order = jnp.argsort(~(keep & ~jnp.roll(here, 1)), stable=True)
        return (tokens[order], (keep & ~jnp.roll(here, 1))[order]), here.sum()

    pairs = jnp.stack([jnp.arange(40) % 30, (jnp.arange(40) * 7) % 30, 30 + jnp.arange(40)], -1)
    (tokens, keep), merged = lax.scan(merge, (tokens, jnp.ones(tokens.shape, bool)), pairs)
    return jnp.where(keep, tokens, -1), merged


def square_root_filter(z, a, c):
    """Potter's square root filter: eight states, one measurement at a time."""

    def step(state, z):
        x, s = state
        x, s = a @ x + x, s + 0.01 * jnp.tanh(a @ s)
        f = s.T @ c
        alpha = 1 / (f @ f + 0.1)
        gain = alpha * (s @ f)
        x = x + gain * (z - c @ x)
        s = s - jnp.outer(gain, f) / (1 + jnp.sqrt(0.1 * alpha))
        return (x, s), x[0]

    return lax.scan(step, (jnp.zeros(8), jnp.eye(8)), z)[1]


sixth(
    "edge_network",
    edge_network,
    array(2000, 32),
    array(12_000, 8),
    ints(12_000),
    ints(12_000),
    array(72, 48),
    array(128, 32),
)
sixth("planets_f64", planets, f64(9, 3), f64(9, 3))
sixth("compressed_rows", compressed_rows, array(50_000), ints(50_000), ints(5000), array(5000))
sixth("augmented_images", augmented, array(64, 32, 32, 3), ints(1))
sixth("pairs_merged", pairs_merged, ints(4000))
sixth("square_root_filter", square_root_filter, array(400), array(8, 8), array(8))


# ---- not looked at before the end


def knapsack(weights, values):
    """The best value for each room up to 1,000, one thing after the other."""
    weights = 1 + indices(weights, 60)
    room = jnp.arange(1001)

    def take(best, thing):
        w, v = thing
        other = jnp.where(room >= w, best[jnp.maximum(room - w, 0)] + v, -jnp.inf)
        return jnp.maximum(best, other), best.argmax()

    return lax.scan(take, jnp.zeros(1001), (weights, jnp.abs(values)))[0]


def ragged_pooling(x, lengths, w):
    """Sequences of lengths of their own: masked mean, greatest and last, and their gradient."""
    lengths = 1 + indices(lengths, x.shape[1])
    keep = jnp.arange(x.shape[1])[None] < lengths[:, None]
    h = jnp.tanh(x @ w)
    mean = jnp.where(keep[..., None], h, 0).sum(1) / lengths[:, None]
    most = jnp.where(keep[..., None], h, -jnp.inf).max(1)
    last = jnp.take_along_axis(h, (lengths - 1)[:, None, None], 1)[:, 0]
    return jnp.concatenate([mean, most, last], -1)


def quantised_convolution(x, w, scale):
    made = lax.conv_general_dilated(
        x,
        w,
        (1, 1),
        "SAME",
        dimension_numbers=("NHWC", "HWIO", "NHWC"),
        preferred_element_type=jnp.int32,
    )
    real = made.astype(jnp.float32) * (jnp.abs(scale) + 0.001)
    return jnp.clip(jnp.round(jax.nn.relu(real)), -128, 127).astype(jnp.int8)


def windowed_attention(q, k, v):
    """Blocks of 64 look at their own block and the one before."""
    heads, length, width = q.shape
    blocks = lambda x: x.reshape(heads, length // 64, 64, width)
    before = lambda x: jnp.concatenate([jnp.zeros_like(x[:, :1]), x[:, :-1]], 1)
    keys = jnp.concatenate([before(blocks(k)), blocks(k)], 2)
    seen = jnp.concatenate([before(blocks(v)), blocks(v)], 2)
    scores = jnp.einsum("hbqd,hbkd->hbqk", blocks(q), keys) / width**0.5
    at = jnp.arange(128)[None] - jnp.arange(64)[:, None]
    scores = jnp.where((at > 0) & (at <= 64), scores, -1e9)
    return jnp.einsum("hbqk,hbkd->hbqd", jax.nn.softmax(scores), seen).reshape(q.shape)


def matern_prediction(x, y, at):
    """Prediction and variance of a process with a Matern 5/2 kernel, in f64."""

    def kernel(a, b):
        far = jnp.sqrt(jnp.sum((a[:, None] - b[None]) ** 2, -1) + 1e-12) * 20
        return (1 + far + far * far / 3) * jnp.exp(-far)

    factor = jnp.linalg.cholesky(kernel(x, x) + 0.01 * jnp.eye(x.shape[0]))
    cross = kernel(x, at)
    half = jax.scipy.linalg.solve_triangular(factor, cross, lower=True)
    made = half.T @ jax.scipy.linalg.solve_triangular(factor, y, lower=True)
    return made, 1 - jnp.sum(half * half, 0)


def henon_heiles(s):
    """Runge and Kutta's fourth order for 200 starts of a Hénon-Heiles system."""

    def slope(s):
        x, y, p, q = s
        return jnp.stack([p, q, -x - 2 * x * y, -y - x * x + y * y])

    def step(s, _):
        a = slope(s)
        b = slope(s + 0.01 * a)
        c = slope(s + 0.01 * b)
        d = slope(s + 0.02 * c)
        return s + 0.02 / 6 * (a + 2 * b + 2 * c + d), None

    return lax.scan(step, s, None, length=400)[0]


spared("knapsack", knapsack, ints(80), array(80))
spared(
    "ragged_pooling_gradient",
    gradient(lambda x, w, n: ragged_pooling(x, n, w), 0, 1),
    array(32, 100, 48),
    array(48, 48),
    ints(32),
)
spared(
    "quantised_convolution", quantised_convolution, s8(4, 28, 28, 32), s8(3, 3, 32, 64), array(64)
)
spared("windowed_attention", windowed_attention, *[array(4, 1024, 32)] * 3)
spared("matern_prediction_f64", matern_prediction, f64(200, 3), f64(200), f64(400, 3))
spared("henon_ensemble", henon_heiles, array(4, 200))
