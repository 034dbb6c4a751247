"""Twenty programs of families that the zoo and its three sets aside lack. Fifteen, `fourth`, were
measured and what made them slow was repaired; five, `aside`, were written at the same time, not looked
at, and measured once at the end.

`bench_zoo.py fourth_ --programs bench/zoo_fourth/programs.py --marks fourth --page docs/ZOO.md`
`bench_zoo.py aside_ --programs bench/zoo_fourth/programs.py --marks aside --page docs/ZOO.md`
"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "zoo"))

import jax
import jax.numpy as jnp
import jax.scipy.linalg
import jax.scipy.ndimage
import jax.scipy.signal
from jax import lax

import zoo
from zoo import array, gradient, indices, ints, s8

zoo.PROGRAMS.clear()
fourth = zoo.family("fourth")
aside = zoo.family("aside")


def adaptive_step(y):
    """Bogacki and Shampine's pair with a step that follows the error, to the end of the time."""
    slope = lambda y: jnp.stack([y[1], jnp.sin(y[2]) - y[0], -0.3 * y[2] + jnp.cos(y[0])])

    def step(state):
        t, h, y, n = state
        k1 = slope(y)
        k2 = slope(y + h / 2 * k1)
        k3 = slope(y + 3 * h / 4 * k2)
        high = y + h * (2 / 9 * k1 + 1 / 3 * k2 + 4 / 9 * k3)
        low = y + h * (7 / 24 * k1 + 1 / 4 * k2 + 1 / 3 * k3 + 1 / 8 * slope(high))
        error = jnp.max(jnp.abs(high - low)) + 1e-9
        good = error < 1e-5
        wider = h * jnp.clip(0.9 * (1e-5 / error) ** (1 / 3), 0.2, 2.0)
        return t + jnp.where(good, h, 0), wider, jnp.where(good, high, y), n + 1

    start = (jnp.float32(0), jnp.float32(0.01), y, 0)
    return lax.while_loop(lambda s: (s[0] < 20) & (s[3] < 4000), step, start)[2]


def lstm_16(x, w, u):
    def step(state, x):
        h, c = state
        i, f, o, g = jnp.split(x @ w + h @ u, 4)
        c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
        h = jax.nn.sigmoid(o) * jnp.tanh(c)
        return (h, c), h

    return lax.scan(step, (jnp.zeros(16), jnp.zeros(16)), x)[1]


def segment_mean(x, ids):
    ids = jnp.sort(indices(ids, 3000))
    add = lambda v: jax.ops.segment_sum(v, ids, 3000, indices_are_sorted=True)
    return add(x) / jnp.maximum(add(jnp.ones(x.shape[0])), 1)[:, None]


def attention_of_lengths(q, k, v, lengths):
    lengths = 32 + indices(lengths, 160)
    scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) / 32**0.5
    keep = jnp.arange(k.shape[1])[None] < lengths[:, None]
    weights = jax.nn.softmax(jnp.where(keep[:, None, None], scores, -jnp.inf), axis=-1)
    return jnp.einsum("bhqk,bkhd->bqhd", weights, v)


def rotated(image, angle):
    a = 0.3 + angle[0]
    y, x = jnp.meshgrid(jnp.arange(256.0) - 128, jnp.arange(256.0) - 128, indexing="ij")
    at = [y * jnp.cos(a) - x * jnp.sin(a) + 128, y * jnp.sin(a) + x * jnp.cos(a) + 128]
    return jax.scipy.ndimage.map_coordinates(image, at, order=1, mode="nearest")


def k_means(x):
    def step(centers, _):
        far = jnp.sum((x[:, None] - centers[None]) ** 2, -1)
        label = jnp.argmin(far, -1)
        total = jax.ops.segment_sum(x, label, 16)
        count = jax.ops.segment_sum(jnp.ones(x.shape[0]), label, 16)
        return total / jnp.maximum(count, 1)[:, None], far.min(-1).sum()

    return lax.scan(step, x[:16], None, length=8)


def coordinates_matmul(values, rows, columns, x):
    rows, columns = indices(rows, 4000), indices(columns, 4000)
    return jnp.zeros((4000, x.shape[1])).at[rows].add(values[:, None] * x[columns])


def int8_layers(x, a, b, scale_a, scale_b):
    def layer(x, w, scale):
        made = lax.dot_general(x, w, (((1,), (0,)), ((), ())), preferred_element_type=jnp.int32)
        return made.astype(jnp.float32) * (jnp.abs(scale) + 0.01)

    hidden = jax.nn.relu(layer(x, a, scale_a))
    hidden = jnp.clip(jnp.round(hidden), -127, 127).astype(jnp.int8)
    return layer(hidden, b, scale_b)


def unique_and_places(x, y):
    known = jnp.unique(indices(x, 5000), size=5000, fill_value=5000)
    return known, jnp.searchsorted(known, indices(y, 5000))


def small_products(x, ws):
    return jax.vmap(lambda m, w: jnp.tanh(w @ jnp.tanh(w.T @ m)))(x, ws)


def process_gradient(x, y, scale):
    def likelihood(scale):
        far = jnp.sum((x[:, None] - x[None]) ** 2, -1)
        k = jnp.exp(-far * jnp.exp(scale[0])) * jnp.exp(scale[1]) + 0.1 * jnp.eye(x.shape[0])
        l = jnp.linalg.cholesky(k)
        a = jax.scipy.linalg.cho_solve((l, True), y)
        return 0.5 * y @ a + jnp.sum(jnp.log(jnp.diagonal(l)))

    return jax.value_and_grad(likelihood)(scale)


fourth("adaptive_step", adaptive_step, array(3))
fourth("lstm_16", lstm_16, array(300, 16), array(16, 64), array(16, 64))
fourth("segment_mean_sorted", segment_mean, array(60_000, 8), ints(60_000))
fourth(
    "attention_of_lengths",
    attention_of_lengths,
    array(8, 192, 4, 32),
    array(8, 192, 4, 32),
    array(8, 192, 4, 32),
    ints(8),
)
fourth(
    "interpolation",
    lambda at, table: jnp.interp(at, jnp.linspace(-0.1, 0.1, 1000), table),
    array(100_000),
    array(1000),
)
fourth("rotated_image", rotated, array(256, 256), array(1))
fourth("k_means", k_means, array(5000, 8))
fourth(
    "coordinates_matmul",
    coordinates_matmul,
    array(40_000),
    ints(40_000),
    ints(40_000),
    array(4000, 32),
)
fourth(
    "int8_layers",
    int8_layers,
    s8(128, 256),
    s8(256, 512),
    s8(512, 256),
    array(512),
    array(256),
)
fourth(
    "fft_convolve",
    lambda x, k: jax.vmap(lambda r: jax.scipy.signal.fftconvolve(r, k, mode="same"))(x),
    array(32, 4000),
    array(255),
)
fourth(
    "polynomial_12",
    lambda x: jnp.polyval(jnp.arange(1.0, 14.0), x),
    array(500_000),
)
fourth(
    "triangular_batch",
    lambda a, b: jax.scipy.linalg.solve_triangular(a + jnp.eye(24), b, lower=True),
    array(300, 24, 24),
    array(300, 24, 3),
)
fourth("unique_and_places", unique_and_places, ints(20_000), ints(20_000))
fourth("small_products", small_products, array(600, 12, 5), array(600, 12, 7))
fourth("process_gradient", process_gradient, array(60, 2), array(60), array(2))


# ---- not looked at before the end


def odd_einsum(a, b, c):
    return jnp.einsum("abc,cdb,de->ea", a, b, c)


def causal_convolutions(x, ws):
    for i, w in enumerate(jnp.split(ws, 4)):
        d = 2**i
        y = lax.conv_general_dilated(
            x,
            w[0],
            (1,),
            [(2 * d, 0)],
            rhs_dilation=(d,),
            dimension_numbers=("NWC", "WIO", "NWC"),
        )
        gate, value = jnp.split(y, 2, -1)
        x = x + jax.nn.sigmoid(gate) * jnp.tanh(value)
    return x


def interleaved_bits(x, y):
    def spread(v):
        v = v.astype(jnp.uint32) & 0xFFFF
        for shift, mask in ((8, 0x00FF00FF), (4, 0x0F0F0F0F), (2, 0x33333333), (1, 0x55555555)):
            v = (v | (v << shift)) & jnp.uint32(mask)
        return v

    code = spread(x) | (spread(y) << 1)
    return code, lax.population_count(code ^ (code >> 1)), lax.clz(code)


def ring_buffer(x):
    def step(state, x):
        buffer, n = state
        buffer = lax.dynamic_update_slice(buffer, x[None], (n % 32,))
        return (buffer, n + 1), jnp.max(buffer) - jnp.mean(buffer)

    return lax.scan(step, (jnp.zeros(32), 0), x)[1]


aside("odd_einsum", odd_einsum, array(40, 24, 36), array(36, 50, 24), array(50, 30))
aside("causal_convolutions", causal_convolutions, array(4, 1000, 32), array(4, 3, 32, 64))
aside("log_cumulative_sum_exp", lambda x: lax.cumlogsumexp(x, axis=1), array(200, 1000))
aside("interleaved_bits", interleaved_bits, ints(300_000), ints(300_000))
aside("ring_buffer", ring_buffer, array(2000))
