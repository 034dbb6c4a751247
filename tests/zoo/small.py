"""Small programs of the zoo's families, a few thousand to a hundred thousand instructions a run:
what count.c counts. One mechanism each; `make zoo-programs` writes them to programs/ as StableHLO
text (needs a Python with JAX).

python tests/zoo/small.py FOLDER
"""

import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "bench" / "zoo"))

import jax
import jax.numpy as jnp
import jax.scipy.linalg
from jax import lax, random

import zoo
from zoo import array, bf16, f64, gradient, half, ints, s8

# Of the zoo as they are: each runs for a few microseconds.
TAKEN = (
    "dense_tiny_8",
    "elementwise_tiny_scalar",
    "probability_hamiltonian",
    "scatter_take_along_axis",
    "small_loop_adam_scalar",
    "small_loop_newton",
    "small_loop_power_iteration",
)


def attention(q, k, v):
    return jax.nn.softmax(q @ k.T / 4.0) @ v


def solve_loop(a, b):
    a = a @ a.T + 2 * jnp.eye(a.shape[0])
    return lax.scan(lambda x, _: (jnp.linalg.solve(a, b + x), x.sum()), b, None, length=3)[1]


def pendulum(state):
    def step(s, _):
        return s + 0.01 * jnp.stack([s[1], -jnp.sin(s[0])]), s[0]

    return lax.scan(step, state, None, length=100)[1]


def programs():
    one = zoo.family("small")
    one("attention", attention, array(16, 16), array(16, 16), array(16, 16))
    one("batched_lu", lambda a: jnp.linalg.det(a), array(32, 4, 4))
    one("bf16_product", lambda a, b: a @ b, bf16(16, 32), bf16(32, 32))
    one("cholesky", lambda a: jnp.linalg.cholesky(a @ a.T + 2 * jnp.eye(8)), array(8, 8))
    convolution = lambda x, k: lax.conv_general_dilated(
        x, k, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
    )
    one("convolution", convolution, array(1, 8, 8, 8), array(3, 3, 8, 8))
    one("cumsum", lambda x: jnp.cumsum(x, 1), array(8, 128))
    one("embedding_gradient", gradient(lambda t, i: t[i % 32], 0), array(32, 16), ints(64))
    one("erf_lgamma", lambda x: lax.erf(x) + lax.lgamma(x + 2), array(512))
    one("exp_log_tanh", lambda x: jnp.tanh(jnp.log1p(jnp.exp(x))), array(1024))
    one("f16_product", lambda a, b: a @ b, half(16, 32), half(32, 32))
    one("f64_product", lambda a, b: a @ b, f64(24, 24), f64(24, 24))
    one("fourier_rows", lambda x: jnp.abs(jnp.fft.fft(x)), array(16, 64))
    one("gather_rows", lambda x, i: x[i % 64], array(64, 32), ints(64))
    one("gelu_gradient", gradient(jax.nn.gelu, 0), array(1024))
    one("histogram", lambda i: jnp.zeros(16, jnp.int32).at[i % 16].add(1), ints(512))
    norm = lambda x: (x - x.mean(1, keepdims=True)) * lax.rsqrt(x.var(1, keepdims=True) + 1e-5)
    one("layer_norm", norm, array(32, 64))
    one(
        "max_pool",
        lambda x: lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID"),
        array(1, 16, 16, 8),
    )
    one("normal", lambda x: random.normal(random.PRNGKey(0), (512,)) + x, array(512))
    one("pendulum", pendulum, array(2))
    one("product", lambda a, b: a @ b, array(48, 48), array(48, 48))
    one("qr", lambda a: jnp.linalg.qr(a)[1], array(16, 6, 4))
    one(
        "s8_product",
        lambda a, b: lax.dot(a, b, preferred_element_type=jnp.int32),
        s8(32, 64),
        s8(64, 32),
    )
    one("scatter_max", lambda x, i: jnp.zeros(64).at[i % 64].max(x), array(512), ints(512))
    one("softmax_columns", lambda x: jax.nn.softmax(x, 0), array(64, 32))
    one("solve_loop", solve_loop, array(5, 5), array(5))
    one("sort", jnp.sort, array(256))
    one("sum_middle", lambda x: x.sum(1), array(16, 16, 16))
    one("top_k", lambda x: lax.top_k(x, 8), array(256))
    one("transpose", lambda x: x.transpose(2, 0, 1) + 1, array(16, 16, 16))
    one("vector_product", lambda a, x: a @ x, array(128, 128), array(128))


def main():
    folder = pathlib.Path(sys.argv[1])
    programs()
    for program in zoo.PROGRAMS.values():
        if program.family == "small" or program.name in TAKEN:
            (folder / f"{program.name}.mlir").write_text(program.lower().as_text())


if __name__ == "__main__":
    main()
