"""The zoo: programs as JAX users write them, in families. export.py writes them down; bench_zoo.py
runs them beside XLA:CPU.

A row of a family is  add(name, function, argument, ...):  an argument is a shape with a type, f32
                                                           unless said. The numbers that programs
are fed with are those of hloscope.inputs: floats within an eighth of zero, integers below 64. What
wants other numbers makes them itself with `indices`, a few operations on integers. Nobody tunes a
kernel to a row: what is slow here stands for a mechanism that is slow.
"""

import jax
import jax.numpy as jnp
import jax.scipy.linalg
from jax import lax, random

PROGRAMS = {}


class Program:
    def __init__(self, name, family, function, arguments):
        self.name, self.family, self.function, self.arguments = name, family, function, arguments

    def lower(self):
        jax.config.update(
            "jax_enable_x64",
            any(a.dtype.itemsize == 8 and a.dtype.kind in "fiu" for a in self.arguments),
        )
        try:
            return jax.jit(self.function).lower(*self.arguments)
        finally:
            jax.config.update("jax_enable_x64", False)


def array(*shape, dtype=jnp.float32):
    return jax.ShapeDtypeStruct(shape, dtype)


def ints(*shape):
    return array(*shape, dtype=jnp.int32)


def f64(*shape):
    return array(*shape, dtype=jnp.float64)


def bf16(*shape):
    return array(*shape, dtype=jnp.bfloat16)


def half(*shape):
    return array(*shape, dtype=jnp.float16)


def s8(*shape):
    return array(*shape, dtype=jnp.int8)


def family(name):
    def adder(program, function, *arguments):
        full = f"{name}_{program}"
        assert full not in PROGRAMS, full
        PROGRAMS[full] = Program(full, name, function, arguments)

    return adder


def indices(seeds, limit):
    """Integers in [0, limit) without an order, from small ones: as many as `seeds` has."""
    mixed = seeds.astype(jnp.uint32) + lax.iota(jnp.uint32, seeds.size).reshape(
        seeds.shape
    ) * jnp.uint32(2654435761)
    mixed = (mixed ^ (mixed >> 15)) * jnp.uint32(2246822519)
    return ((mixed ^ (mixed >> 13)) % jnp.uint32(limit)).astype(jnp.int32)


def gradient(function, *which):
    """The gradient of the sum of squares of what the function gives."""

    def loss(*arguments):
        return sum(
            jnp.sum(jnp.square(leaf.astype(jnp.float32)))
            for leaf in jax.tree.leaves(function(*arguments))
        )

    return jax.grad(loss, which or (0,))


def spd(a):
    """A positive definite matrix."""
    n = a.shape[-1]
    return jnp.einsum("...ik,...jk->...ij", a, a) + n * jnp.eye(n, dtype=a.dtype) * 0.02


# ---- dense linear algebra
def dense():
    add = family("dense")
    mm = lambda a, b: a @ b
    add("square_1024", mm, array(1024, 1024), array(1024, 1024))
    add("odd_1000x777x1333", mm, array(1000, 777), array(777, 1333))
    add("tiny_8", mm, array(8, 8), array(8, 8))
    add("skinny_4096x4096x4", mm, array(4096, 4096), array(4096, 4))
    add("matrix_vector_4096", mm, array(4096, 4096), array(4096))
    add("vector_matrix_4096", mm, array(4096), array(4096, 4096))
    add(
        "rank_16_update",
        lambda a, b, c: c + a @ b.T,
        array(2048, 16),
        array(2048, 16),
        array(2048, 2048),
    )
    add("batched_small_4096x8", mm, array(4096, 8, 8), array(4096, 8, 8))
    add("chain_of_five", lambda a, b, c, d, e: a @ b @ c @ d @ e, *[array(384, 384)] * 5)
    add("transposed_1024", lambda a, b: a.T @ b.T, array(768, 1024), array(1280, 768))
    add("outer_reduced", lambda a, b: (a[:, None] * b[None, :]) @ b, array(3000), array(3000))


# ---- factorisations and solves
def factor():
    add = family("factor")
    add("cholesky_512", lambda a: jnp.linalg.cholesky(spd(a)), array(512, 512))
    add(
        "cholesky_solve_400",
        lambda a, b: jax.scipy.linalg.cho_solve(jax.scipy.linalg.cho_factor(spd(a)), b),
        array(400, 400),
        array(400, 8),
    )
    add(
        "triangular_600",
        lambda a, b: jax.scipy.linalg.solve_triangular(jnp.tril(a) + jnp.eye(600), b, lower=True),
        array(600, 600),
        array(600, 600),
    )
    add("batched_cholesky_256x16", lambda a: jnp.linalg.cholesky(spd(a)), array(256, 16, 16))
    add(
        "lu_solve_300",
        lambda a, b: jnp.linalg.solve(a + jnp.eye(300), b),
        array(300, 300),
        array(300),
    )
    add(
        "lu_solve_f64_200",
        lambda a, b: jnp.linalg.solve(a + jnp.eye(200), b),
        f64(200, 200),
        f64(200),
    )
    add("qr_256x128", lambda a: jnp.linalg.qr(a), array(256, 128))
    add("eigh_128", lambda a: jnp.linalg.eigh(a + a.T), array(128, 128))
    add("svd_128x64", lambda a: jnp.linalg.svd(a, full_matrices=False), array(128, 64))
    add(
        "batched_solve_512x6",
        lambda a, b: jnp.linalg.solve(a + jnp.eye(6), b),
        array(512, 6, 6),
        array(512, 6, 1),
    )
    add("cholesky_gradient_128", gradient(lambda a: jnp.linalg.cholesky(spd(a))), array(128, 128))


# ---- products of other types
def types():
    add = family("types")
    wide = lambda a, b: lax.dot(a, b, preferred_element_type=jnp.int32)
    add("s8_256x1024x1024", wide, s8(256, 1024), s8(1024, 1024))
    add(
        "s8_vector_4096",
        lambda a, b: lax.dot(a, b, preferred_element_type=jnp.int32),
        s8(1, 4096),
        s8(4096, 4096),
    )
    add("s32_256", wide, ints(256, 256), ints(256, 256))
    add(
        "quantised_mlp",
        lambda x, a, b: (
            wide(jnp.clip(wide(x, a) >> 10, -128, 127).astype(jnp.int8), b).astype(jnp.float32)
            * 1e-4
        ),
        s8(64, 512),
        s8(512, 2048),
        s8(2048, 512),
    )
    add("bf16_1024", lambda a, b: a @ b, bf16(1024, 1024), bf16(1024, 1024))
    add(
        "bf16_mlp",
        lambda x, a, b: jax.nn.gelu(x @ a) @ b,
        bf16(128, 512),
        bf16(512, 2048),
        bf16(2048, 512),
    )
    add(
        "bf16_mlp_gradient",
        gradient(lambda a, b, x: jax.nn.relu(x @ a) @ b, 0, 1),
        bf16(512, 1024),
        bf16(1024, 512),
        bf16(128, 512),
    )
    add("bf16_vector_4096", lambda a, b: a @ b, bf16(4096, 4096), bf16(4096))
    add("f16_512", lambda a, b: a @ b, half(512, 512), half(512, 512))
    add(
        "f8_512",
        lambda a, b: lax.dot(a, b, preferred_element_type=jnp.float32),
        array(512, 512, dtype=jnp.float8_e4m3fn),
        array(512, 512, dtype=jnp.float8_e4m3fn),
    )
    add("f64_512", lambda a, b: a @ b, f64(512, 512), f64(512, 512))
    add(
        "c64_256",
        lambda a, b: a @ b,
        array(256, 256, dtype=jnp.complex64),
        array(256, 256, dtype=jnp.complex64),
    )


# ---- attention, decoding, mixtures
def attend(q, k, v, mask=None):
    scores = jnp.einsum("bhqd,bhkd->bhqk", q, k) / q.shape[-1] ** 0.5
    if mask is not None:
        scores = jnp.where(mask, scores, -1e9)
    return jnp.einsum("bhqk,bhkd->bhqd", jax.nn.softmax(scores, axis=-1), v)


def causal(q, k, v):
    n = q.shape[2]
    return attend(q, k, v, jnp.tril(jnp.ones((n, n), bool)))


def grouped(q, k, v):
    repeat = q.shape[1] // k.shape[1]
    return attend(q, jnp.repeat(k, repeat, 1), jnp.repeat(v, repeat, 1))


def decode(cache_k, cache_v, x, wq, wk, wv, wo):
    heads, length, d = cache_k.shape

    def step(state, t):
        k, v, h = state
        q = (h @ wq).reshape(heads, d)
        k = lax.dynamic_update_slice(k, (h @ wk).reshape(heads, 1, d), (0, t, 0))
        v = lax.dynamic_update_slice(v, (h @ wv).reshape(heads, 1, d), (0, t, 0))
        scores = jnp.where(jnp.arange(length) <= t, jnp.einsum("hd,hld->hl", q, k), -1e9)
        h = jnp.tanh(jnp.einsum("hl,hld->hd", jax.nn.softmax(scores), v).reshape(-1) @ wo + h)
        return (k, v, h), h

    return lax.scan(step, (cache_k, cache_v, x), jnp.arange(32))[1]


def experts(x, gate, up, down):
    weight, chosen = lax.top_k(jax.nn.softmax(x @ gate), 2)
    mix = jnp.sum(jax.nn.one_hot(chosen, gate.shape[1]) * weight[..., None], axis=1)
    hidden = jax.nn.silu(jnp.einsum("td,edh->teh", x, up))
    return jnp.einsum("teh,ehd,te->td", hidden, down, mix)


def rotary(q):
    half_ = q.shape[-1] // 2
    angle = jnp.arange(q.shape[2])[:, None] / 10000 ** (jnp.arange(half_) / half_)
    a, b = q[..., :half_], q[..., half_:]
    return jnp.concatenate(
        [a * jnp.cos(angle) - b * jnp.sin(angle), a * jnp.sin(angle) + b * jnp.cos(angle)], -1
    )


def attention():
    add = family("attention")
    qkv = [array(2, 8, 256, 64)] * 3
    add("plain", attend, *qkv)
    add("causal_gradient", gradient(causal, 0, 1, 2), *qkv)
    add(
        "grouped_queries", grouped, array(2, 8, 256, 64), array(2, 2, 256, 64), array(2, 2, 256, 64)
    )
    add("long_one_head", causal, *[array(1, 1, 2048, 64)] * 3)
    add("bf16", causal, *[bf16(2, 8, 256, 64)] * 3)
    add(
        "decode_32_tokens",
        decode,
        array(8, 128, 32),
        array(8, 128, 32),
        array(256),
        *[array(256, 256)] * 4,
    )
    add("experts", experts, array(256, 128), array(128, 8), array(8, 128, 256), array(8, 256, 128))
    add("rotary", rotary, array(2, 8, 1024, 64))
    add(
        "linear",
        lambda q, k, v: jnp.einsum(
            "bhqd,bhde->bhqe",
            jax.nn.elu(q) + 1,
            jnp.einsum("bhkd,bhke->bhde", jax.nn.elu(k) + 1, v),
        ),
        *qkv,
    )


# ---- convolutions
def conv(x, w, **options):
    spatial = {
        3: ("NWC", "WIO", "NWC"),
        4: ("NHWC", "HWIO", "NHWC"),
        5: ("NDHWC", "DHWIO", "NDHWC"),
    }[x.ndim]
    options = {
        "window_strides": (1,) * (x.ndim - 2),
        "padding": "SAME",
        "dimension_numbers": spatial,
        **options,
    }
    return lax.conv_general_dilated(x, w, **options)


def convolution():
    add = family("convolution")
    add("3x3_nhwc", conv, array(4, 56, 56, 64), array(3, 3, 64, 64))
    add(
        "3x3_nchw",
        lambda x, w: lax.conv(x, w, (1, 1), "SAME"),
        array(4, 64, 56, 56),
        array(64, 64, 3, 3),
    )
    add(
        "depthwise",
        lambda x, w: conv(x, w, feature_group_count=96),
        array(4, 56, 56, 96),
        array(3, 3, 1, 96),
    )
    add(
        "dilated",
        lambda x, w: conv(x, w, rhs_dilation=(2, 2)),
        array(2, 64, 64, 32),
        array(3, 3, 32, 32),
    )
    add(
        "transposed",
        lambda x, w: lax.conv_transpose(x, w, (2, 2), "SAME"),
        array(2, 32, 32, 64),
        array(4, 4, 64, 32),
    )
    add(
        "1d_causal", lambda x, w: conv(x, w, padding=[(6, 0)]), array(8, 1024, 64), array(7, 64, 64)
    )
    add("3d", conv, array(1, 24, 24, 24, 16), array(3, 3, 3, 16, 16))
    add(
        "strided_7x7",
        lambda x, w: conv(x, w, window_strides=(2, 2)),
        array(4, 224, 224, 3),
        array(7, 7, 3, 64),
    )
    add("1x1", conv, array(8, 28, 28, 256), array(1, 1, 256, 128))
    add("gradient", gradient(conv, 0, 1), array(4, 28, 28, 64), array(3, 3, 64, 64))


# ---- recurrent nets and loops over small states
def lstm(x, w, u, h, c):
    def step(state, v):
        h, c = state
        i, f, g, o = jnp.split(v @ w + h @ u, 4, axis=-1)
        c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
        return (jax.nn.sigmoid(o) * jnp.tanh(c), c), None

    return lax.scan(step, (h, c), x)[0]


def gru(x, w, u, h):
    def step(h, v):
        a, b = jnp.split(v @ w, 3, -1), jnp.split(h @ u, 3, -1)
        r, z = jax.nn.sigmoid(a[0] + b[0]), jax.nn.sigmoid(a[1] + b[1])
        return (1 - z) * jnp.tanh(a[2] + r * b[2]) + z * h, h

    return lax.scan(step, h, x)[1]


def recurrent():
    add = family("recurrent")
    add(
        "lstm_64",
        lstm,
        array(64, 16, 64),
        array(64, 256),
        array(64, 256),
        array(16, 64),
        array(16, 64),
    )
    add("gru_128", gru, array(64, 8, 128), array(128, 384), array(128, 384), array(8, 128))
    add(
        "rnn_one_sequence",
        lambda x, w, h: lax.scan(lambda h, v: (jnp.tanh(h @ w + v), None), h, x)[0],
        array(200, 32),
        array(32, 32),
        array(32),
    )
    add(
        "lstm_gradient",
        gradient(lambda w, u, x, h, c: lstm(x, w, u, h, c), 0, 1),
        array(32, 128),
        array(32, 128),
        array(32, 8, 32),
        array(8, 32),
        array(8, 32),
    )
    add(
        "state_space",
        lambda a, b, x: lax.associative_scan(
            lambda p, q: (p[0] * q[0], q[0] * p[1] + q[1]),
            (jnp.exp(-jnp.abs(a)) * jnp.ones_like(x), b * x),
        ),
        array(64),
        array(64),
        array(1024, 64),
    )


def runge_kutta(y):
    def field(s):
        x, v, z = s[0], s[1], s[2]
        return jnp.stack([10 * (v - x), x * (28 - z) - v, x * v - 8 / 3 * z])

    def step(_, s):
        k1 = field(s)
        k2 = field(s + 0.005 * k1)
        k3 = field(s + 0.005 * k2)
        k4 = field(s + 0.01 * k3)
        return s + 0.01 / 6 * (k1 + 2 * k2 + 2 * k3 + k4)

    return lax.fori_loop(0, 2000, step, y)


def metropolis(x):
    def step(state, key):
        x, energy = state
        a, b = random.split(key)
        proposal = x + 0.5 * random.normal(a, x.shape)
        new = jnp.sum(proposal**2) / 2
        accept = jnp.log(random.uniform(b)) < energy - new
        return (jnp.where(accept, proposal, x), jnp.where(accept, new, energy)), x

    return lax.scan(step, (x, jnp.sum(x**2) / 2), random.split(random.key(0), 500))[1]


def newton(x):
    return lax.while_loop(
        lambda s: (jnp.abs(s[1]) > 1e-6) & (s[2] < 1000),
        lambda s: (s[0] - 0.05 * (s[0] ** 3 - 2), s[0] ** 3 - 2, s[2] + 1),
        (x[0] + 2, 1.0 + x[1], 0),
    )[0]


def kalman(f, h, q, z):
    n = f.shape[0]
    f, q = jnp.eye(n) + 0.1 * f, q @ q.T + 0.1 * jnp.eye(n)

    def step(state, z):
        x, p = state
        x, p = f @ x, f @ p @ f.T + q
        s = h @ p @ h.T + 0.5 * jnp.eye(2)
        det = s[0, 0] * s[1, 1] - s[0, 1] * s[1, 0]
        inverse = jnp.array([[s[1, 1], -s[0, 1]], [-s[1, 0], s[0, 0]]]) / det
        gain = p @ h.T @ inverse
        return (x + gain @ (z - h @ x), p - gain @ h @ p), x

    return lax.scan(step, (jnp.zeros(n), jnp.eye(n)), z)[1]


def small_loops():
    add = family("small_loop")
    add("lorenz", runge_kutta, array(3))
    add("lorenz_64", jax.vmap(runge_kutta, 1, 1), array(3, 64))
    add("metropolis", metropolis, array(4))
    add("newton", newton, array(2))
    add("kalman", kalman, array(4, 4), array(2, 4), array(4, 4), array(300, 2))
    add(
        "collatz",
        lambda x: lax.while_loop(
            lambda s: s[0] != 1,
            lambda s: (jnp.where(s[0] % 2 == 0, s[0] // 2, 3 * s[0] + 1), s[1] + 1),
            (x[0] + 837799, 0),
        )[1],
        ints(1),
    )
    add(
        "logistic_map",
        lambda x: lax.scan(lambda s, _: (3.7 * s * (1 - s), s), x[0] + 0.5, None, length=5000)[1],
        array(1),
    )
    add(
        "adam_scalar",
        lambda w: lax.fori_loop(
            0,
            1000,
            lambda i, s: (lambda g, m, v: (s[0] - 0.01 * m / (jnp.sqrt(v) + 1e-8), m, v))(
                2 * s[0], 0.9 * s[1] + 0.1 * 2 * s[0], 0.99 * s[2] + 0.01 * 4 * s[0] ** 2
            ),
            (w, jnp.zeros(8), jnp.zeros(8)),
        )[0],
        array(8),
    )
    add(
        "power_iteration",
        lambda a, x: lax.fori_loop(
            0, 200, lambda i, x: (lambda y: y / jnp.linalg.norm(y))(a @ x), x
        ),
        array(16, 16),
        array(16),
    )
    add(
        "heat_1d",
        lambda u: lax.fori_loop(
            0, 500, lambda i, u: u.at[1:-1].add(0.1 * (u[2:] - 2 * u[1:-1] + u[:-2])), u
        ),
        array(64),
    )


# ---- scatter, gather, segments
def scatter():
    add = family("scatter")
    add("histogram_64", lambda x: jnp.zeros(64, jnp.int32).at[x].add(1), ints(1_000_000))
    add(
        "histogram_float_256",
        lambda x, w: jnp.zeros(256).at[indices(x, 256)].add(w),
        ints(500_000),
        array(500_000),
    )
    add(
        "segment_sum",
        lambda x, i: jax.ops.segment_sum(x, indices(i, 1000), 1000),
        array(20_000, 32),
        ints(20_000),
    )
    add(
        "segment_sum_sorted",
        lambda x: jax.ops.segment_sum(x, jnp.arange(20_000) // 20, 1000, indices_are_sorted=True),
        array(20_000, 32),
    )
    add("embedding", lambda t, i: t[indices(i, 30_000)], array(30_000, 128), ints(4096))
    add(
        "embedding_gradient",
        lambda i, g: jnp.zeros((30_000, 128)).at[indices(i, 30_000)].add(g),
        ints(4096),
        array(4096, 128),
    )
    add("gather_points", lambda x, i: x[indices(i, 1_000_000)], array(1_000_000), ints(1_000_000))
    add(
        "scatter_max",
        lambda x, i: jnp.full(5000, -1.0).at[indices(i, 5000)].max(x),
        array(200_000),
        ints(200_000),
    )
    add(
        "scatter_permutation",
        lambda x, i: jnp.zeros((4096, 64)).at[jnp.argsort(indices(i, 1 << 30))].set(x),
        array(4096, 64),
        ints(4096),
    )
    add(
        "bilinear_gather",
        lambda x, i, j: (
            x[indices(i, 511), indices(j, 511)] * 0.5
            + x[indices(i, 511) + 1, indices(j, 511)] * 0.5
        ),
        array(512, 512),
        ints(262_144),
        ints(262_144),
    )
    add(
        "take_along_axis",
        lambda x, i: jnp.take_along_axis(x, indices(i, 1000), 1),
        array(4096, 1000),
        ints(4096, 1),
    )


# ---- sorting and selection
def order():
    add = family("order")
    add("sort_million", jnp.sort, array(1_000_000))
    add("argsort_rows", lambda x: jnp.argsort(x, -1), array(256, 1024))
    add("top_k_32000", lambda x: lax.top_k(x, 50), array(16, 32_000))
    add("top_1_vocabulary", lambda x: lax.top_k(x, 1), array(64, 32_000))
    add("argmax_vocabulary", lambda x: jnp.argmax(x, -1), array(64, 32_000))
    add("median", lambda x: jnp.median(x, axis=0), array(501, 256))
    add("unique", lambda x: jnp.unique(x, size=64), ints(100_000))
    add(
        "searchsorted", lambda a, v: jnp.searchsorted(jnp.sort(a), v), array(10_000), array(100_000)
    )
    add("sort_pairs", lambda k, v: lax.sort((k, v), num_keys=1), ints(200_000), array(200_000))
    add("permutation", lambda x: random.permutation(random.key(1), x), array(100_000))


# ---- Fourier
def fourier():
    add = family("fourier")
    add("1d_million", lambda x: jnp.abs(jnp.fft.fft(x)), array(1 << 20))
    add("rows_512x1024", lambda x: jnp.fft.rfft(x), array(512, 1024))
    add("2d_256", lambda x: jnp.fft.fft2(x), array(256, 256, dtype=jnp.complex64))
    add("2d_real_batch", lambda x: jnp.fft.irfft2(jnp.fft.rfft2(x) * 0.5), array(16, 128, 128))
    add("3d_64", lambda x: jnp.fft.fftn(x), array(64, 64, 64, dtype=jnp.complex64))
    add("odd_length", lambda x: jnp.fft.fft(x), array(64, 1009, dtype=jnp.complex64))
    add(
        "convolution",
        lambda x, y: jnp.fft.irfft(jnp.fft.rfft(x, 16_384) * jnp.fft.rfft(y, 16_384)),
        array(8, 10_000),
        array(4000),
    )
    add("spectral_gradient", gradient(lambda x: jnp.abs(jnp.fft.rfft(x))), array(64, 600))


# ---- scans and cumulative sums
def scans():
    add = family("scan")
    add("cumsum_million", jnp.cumsum, array(1_000_000))
    add("cumsum_rows", lambda x: jnp.cumsum(x, -1), array(512, 1024))
    add("cumsum_columns", lambda x: jnp.cumsum(x, 0), array(1024, 512))
    add("cumprod_small", lambda x: jnp.cumprod(1 + x, -1), array(4096, 16))
    add("cumulative_max", lambda x: lax.cummax(x, 1), array(512, 1024))
    add("logcumsumexp", lambda x: lax.cumlogsumexp(x, 1), array(256, 512))
    add(
        "discounted_return",
        lambda r: lax.scan(
            lambda c, v: (v + 0.99 * c, v + 0.99 * c), jnp.zeros(64), r, reverse=True
        )[1],
        array(1000, 64),
    )


# ---- random numbers
def randomness():
    add = family("random")
    key = lambda x: random.key(x[0].astype(jnp.uint32))
    add("uniform_million", lambda x: random.uniform(key(x), (1_000_000,)), ints(1))
    add("normal_million", lambda x: random.normal(key(x), (1_000_000,)), ints(1))
    add(
        "bernoulli_mask",
        lambda x, s: jnp.where(random.bernoulli(key(s), 0.9, x.shape), x / 0.9, 0),
        array(512, 2048),
        ints(1),
    )
    add("categorical", lambda x, s: random.categorical(key(s), x), array(256, 1000), ints(1))
    add("gamma", lambda s: random.gamma(key(s), 2.0, (10_000,)), ints(1))
    add("split_many", lambda s: random.key_data(random.split(key(s), 10_000)), ints(1))
    add("integers", lambda s: random.randint(key(s), (500_000,), 0, 1000), ints(1))


# ---- element by element
def elementwise():
    add = family("elementwise")
    add("exp_4m", jnp.exp, array(4_000_000))
    add("tanh_4m", jnp.tanh, array(4_000_000))
    add("add_25m", lambda a, b: a + b, array(8_000_000), array(8_000_000))
    add("gelu", jax.nn.gelu, array(2048, 2048))
    add(
        "gelu_exact_gradient",
        gradient(lambda x: jax.nn.gelu(x, approximate=False)),
        array(1024, 1024),
    )
    add("erf_lgamma", lambda x: lax.erf(x) + lax.lgamma(jnp.abs(x) + 1), array(300_000))
    add("sin_cos", lambda x: jnp.sin(x * 100) + jnp.cos(x * 100), array(2_000_000))
    add(
        "pow_log",
        lambda x: jnp.power(jnp.abs(x) + 0.1, 1.7) * jnp.log1p(jnp.abs(x)),
        array(1_000_000),
    )
    add(
        "adam_update",
        lambda w, g, m, v: (
            w - 1e-3 * (0.9 * m + 0.1 * g) / (jnp.sqrt(0.999 * v * v + 0.001 * g * g) + 1e-8),
            0.9 * m + 0.1 * g,
            0.999 * v + 0.001 * g * g,
        ),
        *[array(2_000_000)] * 4,
    )
    add("convert_bf16", lambda x: (x * 2).astype(jnp.bfloat16), array(4_000_000))
    add("f64_exp", jnp.exp, f64(1_000_000))
    add("tiny_scalar", lambda x: jnp.tanh(x) * 2 + 1, array())
    add("integer_hash", lambda x: indices(x, 1 << 20), ints(2_000_000))
    add(
        "complex", lambda x: x * jnp.conj(x) / (1 + jnp.abs(x)), array(500_000, dtype=jnp.complex64)
    )


# ---- reductions
def reductions():
    add = family("reduction")
    for name, axes in (
        ("all", None),
        ("rows", 2),
        ("middle", 1),
        ("first", 0),
        ("outer_inner", (0, 2)),
    ):
        add(f"sum_{name}", lambda x, axes=axes: jnp.sum(x, axes), array(64, 256, 256))
    add("softmax_rows", lambda x: jax.nn.softmax(x), array(2048, 1024))
    add("softmax_columns", lambda x: jax.nn.softmax(x, axis=0), array(1024, 1024))
    add("logsumexp", lambda x: jax.nn.logsumexp(x, -1), array(1024, 4096))
    add("variance", lambda x: jnp.var(x, axis=(0, 1)), array(32, 1024, 64))
    add(
        "layer_norm_gradient",
        gradient(
            lambda x, g: (
                (x - x.mean(-1, keepdims=True)) * lax.rsqrt(x.var(-1, keepdims=True) + 1e-5) * g
            ),
            0,
            1,
        ),
        array(1024, 768),
        array(768),
    )
    add(
        "cross_entropy_gradient",
        jax.grad(lambda x, y: -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(x), y[:, None], 1))),
        array(256, 10_000),
        ints(256),
    )
    add("any_nan", lambda x: jnp.isnan(x).any(), array(4_000_000))
    add(
        "max_pool",
        lambda x: lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID"),
        array(8, 64, 64, 64),
    )
    add("norm_f64", lambda x: jnp.sqrt(jnp.sum(x * x, -1)), f64(4096, 256))


# ---- graphs
def graphs():
    add = family("graph")

    def message(x, w, src, dst):
        n = x.shape[0]
        return jax.nn.relu(jax.ops.segment_sum((x @ w)[indices(src, n)], indices(dst, n), n))

    add("message_passing", message, array(2000, 64), array(64, 64), ints(20_000), ints(20_000))
    add(
        "message_gradient",
        gradient(message, 0, 1),
        array(2000, 64),
        array(64, 64),
        ints(20_000),
        ints(20_000),
    )

    def page_rank(src, dst, p):
        n = p.shape[0]
        s, d = indices(src, n), indices(dst, n)
        out = jnp.maximum(jnp.zeros(n).at[s].add(1.0), 1)
        return lax.fori_loop(
            0, 20, lambda i, p: 0.15 / n + 0.85 * jnp.zeros(n).at[d].add((p / out)[s]), p
        )

    add("page_rank", page_rank, ints(20_000), ints(20_000), array(2000))
    add(
        "graph_attention",
        lambda x, e: jnp.einsum("ij,jd->id", jax.nn.softmax(jnp.where(e > 32, x @ x.T, -1e9)), x),
        array(512, 64),
        ints(512, 512),
    )
    add("distances", lambda x: jnp.sqrt(jnp.sum((x[:, None] - x[None]) ** 2, -1)), array(600, 3))
    add(
        "floyd_warshall",
        lambda d: lax.fori_loop(
            0, 64, lambda k, d: jnp.minimum(d, d[:, k][:, None] + d[k][None]), jnp.abs(d)
        ),
        array(64, 64),
    )


# ---- images and signals
def images():
    add = family("image")
    add(
        "resize", lambda x: jax.image.resize(x, (4, 128, 128, 3), "bilinear"), array(4, 224, 224, 3)
    )
    add(
        "sobel",
        lambda x: jnp.sqrt(
            sum(jnp.square(jnp.roll(x, -1, a) - jnp.roll(x, 1, a)) for a in (1, 2)) + 1e-6
        ),
        array(4, 256, 256),
    )
    add(
        "gaussian_blur",
        lambda x: sum(
            w * jnp.roll(x, s, 2)
            for s, w in zip(range(-3, 4), (0.03, 0.1, 0.22, 0.3, 0.22, 0.1, 0.03))
        ),
        array(4, 256, 256),
    )
    add(
        "to_grey_and_flip",
        lambda x: (x @ jnp.array([0.3, 0.6, 0.1]))[:, :, ::-1],
        array(8, 256, 256, 3),
    )
    add("fir_filter", lambda x, w: jnp.convolve(x, w, mode="same"), array(100_000), array(64))
    add(
        "patches",
        lambda x: x.reshape(8, 14, 16, 14, 16, 3).transpose(0, 1, 3, 2, 4, 5).reshape(8, 196, 768),
        array(8, 224, 224, 3),
    )
    add(
        "group_norm",
        lambda x: (
            lambda y: (
                (y - y.mean((1, 2, 4), keepdims=True))
                * lax.rsqrt(y.var((1, 2, 4), keepdims=True) + 1e-5)
            ).reshape(x.shape)
        )(x.reshape(4, 32, 32, 8, 16)),
        array(4, 32, 32, 128),
    )
    add(
        "game_of_life",
        lambda b: lax.fori_loop(
            0,
            20,
            lambda i, b: (lambda n: ((n == 3) | ((b == 1) & (n == 2))).astype(jnp.int32))(
                sum(jnp.roll(b, (i, j), (0, 1)) for i in (-1, 0, 1) for j in (-1, 0, 1) if i or j)
            ),
            b % 2,
        ),
        ints(256, 256),
    )


# ---- probability
def probability():
    add = family("probability")

    def mixture(x, means, scales):
        z = (x[:, None] - means) / (jnp.abs(scales) + 0.1)
        return jnp.sum(jax.nn.logsumexp(-0.5 * jnp.sum(z * z, -1), axis=1))

    add("mixture_gradient", jax.grad(mixture, (1, 2)), array(5000, 8), array(16, 8), array(16, 8))

    def gaussian_process(x, y):
        k = jnp.exp(-50 * jnp.sum((x[:, None] - x[None]) ** 2, -1)) + 0.1 * jnp.eye(x.shape[0])
        c = jnp.linalg.cholesky(k)
        a = jax.scipy.linalg.solve_triangular(c, y, lower=True)
        return 0.5 * a @ a + jnp.sum(jnp.log(jnp.diag(c)))

    add("gaussian_process", gaussian_process, array(200, 2), array(200))
    add("gaussian_process_gradient", jax.grad(gaussian_process), array(200, 2), array(200))

    def leapfrog(q, p):
        force = jax.grad(lambda q: jnp.sum(q**4 / 4 - q**2 / 2))

        def step(_, s):
            q, p = s
            p = p - 0.01 * force(q)
            q = q + 0.02 * p
            return q, p - 0.01 * force(q)

        return lax.fori_loop(0, 1000, step, (q, p))

    add("hamiltonian", leapfrog, array(16), array(16))

    def forward_algorithm(t, e, o):
        t, e = jax.nn.log_softmax(t), jax.nn.log_softmax(e)
        return jax.nn.logsumexp(
            lax.scan(
                lambda a, o: (jax.nn.logsumexp(a[:, None] + t, axis=0) + e[:, o], None),
                jnp.zeros(8),
                o % 16,
            )[0]
        )

    add("hidden_markov", forward_algorithm, array(8, 8), array(8, 16), ints(256))
    add(
        "monte_carlo",
        lambda s: jnp.mean(
            jnp.maximum(
                100
                * jnp.exp(
                    0.2 * random.normal(random.key(s[0].astype(jnp.uint32)), (500_000,)) - 0.02
                )
                - 100,
                0,
            )
        ),
        ints(1),
    )
    add(
        "particles",
        lambda s, y: lax.scan(
            lambda x, v: (
                (
                    lambda z: z[
                        random.categorical(
                            random.fold_in(random.key(0), v[1].astype(int)),
                            -0.5 * (z - v[0]) ** 2,
                            shape=(256,),
                        )
                    ]
                )(x * 0.9 + 0.1),
                x.mean(),
            ),
            s,
            jnp.stack([y, jnp.arange(50.0)], 1),
        )[1],
        array(256),
        array(50),
    )


for _family in (
    dense,
    factor,
    types,
    attention,
    convolution,
    recurrent,
    small_loops,
    scatter,
    order,
    fourier,
    scans,
    randomness,
    elementwise,
    reductions,
    graphs,
    images,
    probability,
):
    _family()
