"""ResNet-50 (He et al. 2015, with the stride on the 3x3 convolution), images NHWC 224x224, batch 8, filters HWIO.

Batch norm is in training mode: it normalises by the statistics of the batch. The training step is SGD with momentum on the mean
cross-entropy; it also moves the running statistics that inference would use.
"""
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from program import Argument, Leaf, Program, like

BATCH, SIZE, CLASSES = 8, 224, 1000
STAGES = ((3, 64), (4, 128), (6, 256), (3, 512))    # blocks, width of the bottleneck; a block gives four times its width
EPSILON, LEARNING_RATE, MOMENTUM, RUNNING_RATE = 1e-5, 0.1, 0.9, 0.1


class ConvNorm(NamedTuple):
    filter: Leaf
    scale: Leaf
    offset: Leaf


class Running(NamedTuple):
    mean: Leaf
    variance: Leaf


def conv_norm(size, fan_in, fan_out):
    return ConvNorm(Leaf((size, size, fan_in, fan_out), scale=(2 / (size * size * fan_in)) ** 0.5),
                    Leaf((fan_out,), init="ones"), Leaf((fan_out,), init="zeros"))


def parameters():
    stages, width_in = [], 64
    for block_count, width in STAGES:
        stage = []
        for index in range(block_count):
            block = {"reduce": conv_norm(1, width_in, width), "spatial": conv_norm(3, width, width), "expand": conv_norm(1, width, 4 * width)}
            if index == 0:
                block["project"] = conv_norm(1, width_in, 4 * width)
            stage.append(block)
            width_in = 4 * width
        stages.append(stage)
    head = {"weight": Leaf((width_in, CLASSES), scale=0.01), "bias": Leaf((CLASSES,), init="zeros")}
    return {"stem": conv_norm(7, 3, 64), "stages": stages, "head": head}


def is_conv_norm(node):
    return isinstance(node, ConvNorm)


def running_statistics(params):
    backbone = {"stem": params["stem"], "stages": params["stages"]}
    return jax.tree.map(lambda layer: Running(Leaf(layer.scale.shape, init="zeros"), Leaf(layer.scale.shape, init="ones")),
                        backbone, is_leaf=is_conv_norm)


def apply_conv_norm(layer, x, stride=1):
    """(normalised output, batch statistics)"""
    y = lax.conv_general_dilated(x, layer.filter, (stride, stride), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
    mean = y.mean((0, 1, 2))
    variance = y.var((0, 1, 2))
    return (y - mean) * lax.rsqrt(variance + EPSILON) * layer.scale + layer.offset, Running(mean, variance)


def apply_block(block, x, stride):
    stats = {}
    y, stats["reduce"] = apply_conv_norm(block["reduce"], x)
    y, stats["spatial"] = apply_conv_norm(block["spatial"], jax.nn.relu(y), stride)
    y, stats["expand"] = apply_conv_norm(block["expand"], jax.nn.relu(y))
    if "project" in block:
        x, stats["project"] = apply_conv_norm(block["project"], x, stride)
    return jax.nn.relu(x + y), stats


def apply(params, images):
    """(logits, batch statistics)"""
    x, stem_stats = apply_conv_norm(params["stem"], images, 2)
    x = lax.reduce_window(jax.nn.relu(x), -jnp.inf, lax.max, (1, 3, 3, 1), (1, 2, 2, 1), "SAME")
    stage_stats = []
    for stage_index, stage in enumerate(params["stages"]):
        stats = []
        for block_index, block in enumerate(stage):
            x, block_stats = apply_block(block, x, 2 if block_index == 0 and stage_index > 0 else 1)
            stats.append(block_stats)
        stage_stats.append(stats)
    logits = x.mean((1, 2)) @ params["head"]["weight"] + params["head"]["bias"]
    return logits, {"stem": stem_stats, "stages": stage_stats}


def forward(params, images):
    return apply(params, images)[0]


def loss(params, images, labels):
    logits, stats = apply(params, images)
    log_likelihood = jnp.sum(jax.nn.log_softmax(logits) * jax.nn.one_hot(labels, CLASSES), axis=-1)
    return -jnp.mean(log_likelihood), stats


def train(params, momenta, running, images, labels):
    (value, stats), gradients = jax.value_and_grad(loss, has_aux=True)(params, images, labels)
    momenta = jax.tree.map(lambda momentum, gradient: MOMENTUM * momentum + gradient, momenta, gradients)
    params = jax.tree.map(lambda param, momentum: param - LEARNING_RATE * momentum, params, momenta)
    running = jax.tree.map(lambda old, new: (1 - RUNNING_RATE) * old + RUNNING_RATE * new, running, stats)
    return params, momenta, running, value


def programs():
    params = parameters()
    images = Argument("images", "input", Leaf((BATCH, SIZE, SIZE, 3)))
    labels = Argument("labels", "input", Leaf((BATCH,), "int32", "integers", CLASSES))
    weights = Argument("params", "parameter", params)
    return [
        Program("resnet50_forward", "resnet50", "forward", "ResNet-50 forward, batch 8, NHWC 224x224", forward, (weights, images), 50),
        Program("resnet50_train", "resnet50", "train", "ResNet-50 training step, SGD with momentum, batch 8, NHWC 224x224", train,
                (weights, Argument("momenta", "state", like(params)), Argument("running", "state", running_statistics(params)), images, labels), 50),
    ]
