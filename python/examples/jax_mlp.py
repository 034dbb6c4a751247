"""The network of the pattern analysis' MLP, trained for a few steps: JAX_PLATFORMS=hloscope python
jax_mlp.py"""

import jax
import jax.numpy as jnp


def init(key, sizes=(64, 128, 64)):
    keys = jax.random.split(key, len(sizes) - 1)
    return [
        (jax.random.normal(k, (a, b)) * a**-0.5, jnp.zeros(b))
        for k, a, b in zip(keys, sizes, sizes[1:])
    ]


def model(params, x):
    for w, b in params[:-1]:
        x = jax.nn.relu(x @ w + b)
    w, b = params[-1]
    return jnp.tanh(x @ w + b)


@jax.jit
def step(params, x, y):
    loss, grads = jax.value_and_grad(lambda p: jnp.mean((model(p, x) - y) ** 2))(params)
    return [(w - 0.1 * dw, b - 0.1 * db) for (w, b), (dw, db) in zip(params, grads)], loss


if __name__ == "__main__":
    params = init(jax.random.key(0))
    x = jax.random.normal(jax.random.key(1), (32, 64))
    y = jnp.sin(x)
    first = None
    for i in range(200):
        params, loss = step(params, x, y)
        first = float(loss) if first is None else first
    print(f"{jax.devices()[0]}: loss {first:.4f} -> {float(loss):.4f}")
    assert float(loss) < 0.5 * first
