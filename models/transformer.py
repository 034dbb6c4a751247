"""A decoder-only transformer with causal attention: 4 layers, width 256, 8 heads, 4 sequences of 128 tokens, vocabulary 1000.

Layer norm before each block and before the output layer; the training step is plain SGD on the mean next-token cross-entropy.
"""
import jax
import jax.numpy as jnp
from jax import lax

from program import Argument, Leaf, Program

BATCH, LENGTH, WIDTH, HEADS, LAYERS, VOCABULARY = 4, 128, 256, 8, 4, 1000
EPSILON, LEARNING_RATE, MASKED = 1e-5, 1e-2, -1e9


def parameters():
    def matrix(fan_in, fan_out):
        return Leaf((fan_in, fan_out), scale=0.02)

    def norm():
        return {"scale": Leaf((WIDTH,), init="ones"), "offset": Leaf((WIDTH,), init="zeros")}

    def block():
        return {"attention_norm": norm(), "query_key_value": matrix(WIDTH, 3 * WIDTH), "project": matrix(WIDTH, WIDTH),
                "mlp_norm": norm(), "expand": matrix(WIDTH, 4 * WIDTH), "contract": matrix(4 * WIDTH, WIDTH)}

    return {"tokens": matrix(VOCABULARY, WIDTH), "positions": matrix(LENGTH, WIDTH), "blocks": [block() for _ in range(LAYERS)],
            "output_norm": norm(), "output": matrix(WIDTH, VOCABULARY)}


def layer_norm(norm, x):
    mean = x.mean(-1, keepdims=True)
    variance = x.var(-1, keepdims=True)
    return (x - mean) * lax.rsqrt(variance + EPSILON) * norm["scale"] + norm["offset"]


def attention(block, x):
    batch, length, width = x.shape

    def heads(part):
        return part.reshape(batch, length, HEADS, width // HEADS).transpose(0, 2, 1, 3)

    query, key, value = (heads(part) for part in jnp.split(x @ block["query_key_value"], 3, axis=-1))
    scores = query @ key.transpose(0, 1, 3, 2) * (width // HEADS) ** -0.5
    causal = jnp.tril(jnp.ones((length, length), bool))
    weights = jax.nn.softmax(jnp.where(causal, scores, MASKED), axis=-1)
    return (weights @ value).transpose(0, 2, 1, 3).reshape(batch, length, width) @ block["project"]


def apply(params, tokens):
    x = params["tokens"][tokens] + params["positions"][: tokens.shape[1]]
    for block in params["blocks"]:
        x = x + attention(block, layer_norm(block["attention_norm"], x))
        x = x + jax.nn.gelu(layer_norm(block["mlp_norm"], x) @ block["expand"]) @ block["contract"]
    return layer_norm(params["output_norm"], x) @ params["output"]


def loss(params, tokens):
    log_likelihood = jax.nn.log_softmax(apply(params, tokens[:, :-1]))
    return -jnp.mean(jnp.take_along_axis(log_likelihood, tokens[:, 1:, None], axis=-1))


def train(params, tokens):
    value, gradients = jax.value_and_grad(loss)(params, tokens)
    return jax.tree.map(lambda param, gradient: param - LEARNING_RATE * gradient, params, gradients), value


def programs():
    return [Program("transformer_train", "transformer", "train", "Causal transformer training step: 4 layers, width 256, 8 heads, 4x128 tokens", train, (
        Argument("params", "parameter", parameters()),
        Argument("tokens", "input", Leaf((BATCH, LENGTH + 1), "int32", "integers", VOCABULARY)),
    ), LAYERS)]
