"""A physics-informed network for Laplace's equation u_xx + u_yy = 0 on the unit square, sampled on a 101x101 grid.

Four hidden layers of 50 units with tanh. The loss is the mean square of the Laplacian, from the network's full Hessian at every grid
point, plus the mean square error on the boundary. One step of Adam (Kingma and Ba 2014).
"""
from typing import NamedTuple

import jax
import jax.numpy as jnp

from program import Argument, Leaf, Program, like

GRID, HIDDEN_UNITS, HIDDEN_LAYERS = 101, 50, 4
LEARNING_RATE, DECAY_1, DECAY_2, EPSILON = 1e-3, 0.9, 0.999, 1e-8


class Dense(NamedTuple):
    weight: Leaf
    bias: Leaf


def parameters():
    sizes = [2] + [HIDDEN_UNITS] * HIDDEN_LAYERS + [1]
    return [Dense(Leaf((fan_in, fan_out), scale=fan_in ** -0.5), Leaf((fan_out,), init="zeros")) for fan_in, fan_out in zip(sizes, sizes[1:])]


def network(layers, point):
    """u at one point [2]; a scalar."""
    x = point
    for layer in layers[:-1]:
        x = jnp.tanh(x @ layer.weight + layer.bias)
    return (x @ layers[-1].weight + layers[-1].bias)[0]


def laplacian(layers, point):
    return jnp.trace(jax.hessian(network, argnums=1)(layers, point))


def loss(layers, points, boundary, boundary_values):
    residuals = jax.vmap(laplacian, (None, 0))(layers, points)
    errors = jax.vmap(network, (None, 0))(layers, boundary) - boundary_values
    return jnp.mean(residuals ** 2) + jnp.mean(errors ** 2)


def train(layers, first_moments, second_moments, step, points, boundary, boundary_values):
    value, gradients = jax.value_and_grad(loss)(layers, points, boundary, boundary_values)
    step = step + 1
    time = step.astype(value.dtype)
    first_moments = jax.tree.map(lambda m, g: DECAY_1 * m + (1 - DECAY_1) * g, first_moments, gradients)
    second_moments = jax.tree.map(lambda v, g: DECAY_2 * v + (1 - DECAY_2) * g * g, second_moments, gradients)

    # A second moment is never negative when Adam made it. The magnitude keeps the step finite for a moment that came from elsewhere,
    # as it does when the program is fed with generated numbers.
    def update(param, m, v):
        return param - LEARNING_RATE * (m / (1 - DECAY_1 ** time)) / (jnp.sqrt(jnp.abs(v) / (1 - DECAY_2 ** time)) + EPSILON)

    layers = jax.tree.map(update, layers, first_moments, second_moments)
    return layers, first_moments, second_moments, step, value


def programs():
    layers = parameters()
    boundary_count = 4 * (GRID - 1)
    return [Program("laplace_train", "laplace", "train", "Laplace's equation by a network of 4x50 tanh units on a 101x101 grid, Hessian, Adam", train, (
        Argument("layers", "parameter", layers),
        Argument("first_moments", "state", like(layers)),
        Argument("second_moments", "state", like(layers)),
        Argument("step", "state", Leaf((), "int32", "zeros")),
        Argument("points", "input", Leaf((GRID * GRID, 2), init="uniform")),
        Argument("boundary", "input", Leaf((boundary_count, 2), init="uniform")),
        Argument("boundary_values", "input", Leaf((boundary_count,))),
    ), HIDDEN_LAYERS + 1)]
