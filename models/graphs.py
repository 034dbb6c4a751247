"""The eight graphs of the pattern analysis, and the four patterns under which each is run.

  natural     three applications in one program, one sync at the end
  dependent   one application; the lab runs it three times with a sync after each
  vmap        three inputs batched into one application
  scan        a loop of three that carries the state and stacks what it carried
"""
from typing import NamedTuple

import jax
import jax.numpy as jnp

from program import Argument, Leaf, Program

BATCH = 32
STEPS = 3


class Dense(NamedTuple):
    weight: Leaf
    bias: Leaf


def dense(fan_in, fan_out):
    return Dense(Leaf((fan_in, fan_out), scale=fan_in ** -0.5), Leaf((fan_out,), init="zeros"))


def apply_dense(layer, x):
    return x @ layer.weight + layer.bias


def chain(activation=None):
    """Dense layers one after the other, with the activation between them (not after the last)."""

    def model(layers, x):
        for layer in layers[:-1]:
            x = apply_dense(layer, x)
            if activation:
                x = activation(x)
        return apply_dense(layers[-1], x)

    return model


def multihead(layers, x):
    """Four narrow paths side by side, joined and mixed by the last layer."""
    *heads, mix = layers
    return apply_dense(mix, jnp.concatenate([apply_dense(head, x) for head in heads], axis=-1))


class Graph(NamedTuple):
    width: int
    layers: list
    model: object
    about: str


GRAPHS = {
    "tiny": Graph(64, [dense(64, 64)], chain(), "one layer of 64: the least there is to compile"),
    "small": Graph(128, [dense(128, 128)], chain(), "one layer of 128: more parameters, same structure"),
    "medium": Graph(256, [dense(256, 256)] * 2, chain(jax.nn.relu), "two layers of 256 with ReLU: width and depth"),
    "large": Graph(128, [dense(128, 128)] * 3, chain(jax.nn.relu), "three layers of 128 with ReLU: depth at constant width"),
    "wide": Graph(128, [dense(128, 512), dense(512, 128)], chain(jax.nn.silu), "128 to 512 to 128 with SiLU: width first"),
    "deep": Graph(128, [dense(128, 128)] * 5, chain(jax.nn.relu), "five layers of 128 with ReLU: depth first"),
    "mlp": Graph(256, [dense(256, 1024), dense(1024, 256)], chain(jax.nn.gelu), "256 to 1024 to 256 with GELU: a transformer's feed-forward block"),
    "multihead": Graph(128, [dense(128, 32)] * 4 + [dense(128, 128)], multihead, "four paths of 32, concatenated, and a mixing layer"),
}

PATTERNS = ("natural", "dependent", "vmap", "scan")


def natural(model):
    def program(layers, x):
        for _ in range(STEPS):
            x = model(layers, x)
        return x

    return program


def dependent(model):
    return model


def vmap(model):
    return jax.vmap(model, in_axes=(None, 0))


def scan(model):
    def program(layers, x, xs):
        return jax.lax.scan(lambda carry, _: (model(layers, carry), carry), x, xs)

    return program


def pattern_program(graph_name, pattern):
    graph = GRAPHS[graph_name]
    one = Leaf((BATCH, graph.width))
    stacked = Leaf((STEPS, BATCH, graph.width))
    inputs = {"natural": [("x", one)], "dependent": [("x", one)], "vmap": [("xs", stacked)], "scan": [("x", one), ("xs", stacked)]}[pattern]
    arguments = [Argument("layers", "parameter", graph.layers)] + [Argument(name, "input", leaf) for name, leaf in inputs]
    function = {"natural": natural, "dependent": dependent, "vmap": vmap, "scan": scan}[pattern](graph.model)
    return Program(f"{graph_name}_{pattern}", graph_name, pattern, graph.about, function, tuple(arguments), len(graph.layers),
                   runs=STEPS if pattern == "dependent" else 1)


def programs():
    return [pattern_program(graph, pattern) for graph in GRAPHS for pattern in PATTERNS]
