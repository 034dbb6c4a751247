"""Exports a transformer's training step for a mesh of devices, without having them.

  python models/sharded_transformer.py 1b-256 -o step.mlir      1.1 billion parameters on 16 x 16 chips
  python models/sharded_transformer.py small-8 -o small.mlir    a small one on 2 x 4, which the repository holds
  python models/sharded_transformer.py small-1 -o small1.mlir   the same for one device, to compare numbers with

The mesh has the axes data and model: the batch is cut along data, matrices along model. Layers are one scan, so the text is as long for
one layer as for sixteen. Needs the versions of requirements.txt; no accelerator, no weights.
"""
import argparse
import dataclasses
import math
import os
import pathlib


@dataclasses.dataclass(frozen=True)
class Size:
    layers: int
    width: int
    hidden: int
    heads: int
    vocabulary: int
    batch: int
    length: int
    mesh: tuple[int, int]
    dtype: str


SIZES = {
    "1b-256": Size(16, 2048, 8192, 16, 32768, 256, 2048, (16, 16), "bfloat16"),
    "small-8": Size(2, 64, 256, 4, 128, 8, 16, (2, 4), "float32"),
    "small-1": Size(2, 64, 256, 4, 128, 8, 16, (1, 1), "float32"),
}


def parameters(size):
    """Shapes of the parameters, the leading dimension the layer's, and how each is cut: None = whole."""
    layers, width, hidden, vocabulary = size.layers, size.width, size.hidden, size.vocabulary
    return {
        "embed": ((vocabulary, width), ("model", None)),
        "qkv": ((layers, width, 3 * width), (None, None, "model")),
        "out": ((layers, width, width), (None, "model", None)),
        "gate": ((layers, width, hidden), (None, None, "model")),
        "up": ((layers, width, hidden), (None, None, "model")),
        "down": ((layers, hidden, width), (None, "model", None)),
    }


def step_of(size):
    import jax
    import jax.numpy as jnp

    def normal(x):
        return x * jax.lax.rsqrt(jnp.mean(jnp.square(x.astype(jnp.float32)), -1, keepdims=True) + 1e-6).astype(x.dtype)

    def attention(x, qkv, out):
        batch, length, width = x.shape
        q, k, v = jnp.split((x @ qkv).reshape(batch, length, size.heads, -1), 3, axis=-1)
        scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) / jnp.sqrt(q.shape[-1]).astype(x.dtype)
        mask = jnp.tril(jnp.ones((length, length), bool))
        scores = jnp.where(mask, scores, jnp.asarray(-1e9, scores.dtype))
        mixed = jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(scores, axis=-1), v)
        return mixed.reshape(batch, length, width) @ out

    def layer(x, w):
        x = x + attention(normal(x), w["qkv"], w["out"])
        h = normal(x)
        return x + (jax.nn.silu(h @ w["gate"]) * (h @ w["up"])) @ w["down"], None

    def loss(w, tokens):
        x = w["embed"][tokens[:, :-1]]
        layers = {k: v for k, v in w.items() if k != "embed"}
        x, _ = jax.lax.scan(jax.checkpoint(layer), x, layers)
        logits = (normal(x) @ w["embed"].T).astype(jnp.float32)
        chosen = jnp.take_along_axis(logits, tokens[:, 1:, None], -1)[..., 0]
        return jnp.mean(jax.nn.logsumexp(logits, -1) - chosen)

    def step(w, tokens):
        value, gradient = jax.value_and_grad(loss)(w, tokens)
        return value, jax.tree.map(lambda p, g: p - jnp.asarray(1e-3, p.dtype) * g, w, gradient)

    return step


def lowered(size):
    import jax
    import jax.numpy as jnp
    from jax.sharding import NamedSharding, PartitionSpec

    mesh = jax.make_mesh(size.mesh, ("data", "model"), axis_types=(jax.sharding.AxisType.Auto,) * 2)
    dtype = jnp.dtype(size.dtype)
    shapes = {k: jax.ShapeDtypeStruct(s, dtype) for k, (s, _) in parameters(size).items()}
    cuts = {k: NamedSharding(mesh, PartitionSpec(*cut)) for k, (_, cut) in parameters(size).items()}
    tokens = jax.ShapeDtypeStruct((size.batch, size.length + 1), jnp.int32)
    rows = NamedSharding(mesh, PartitionSpec("data", None))
    whole = NamedSharding(mesh, PartitionSpec())
    f = jax.jit(step_of(size), in_shardings=(cuts, rows), out_shardings=(whole, cuts))
    return f.trace(shapes, tokens).lower()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("size", choices=SIZES)
    parser.add_argument("-o", "--output", type=pathlib.Path, required=True)
    args = parser.parse_args()
    size = SIZES[args.size]
    devices = size.mesh[0] * size.mesh[1]
    os.environ["XLA_FLAGS"] = f"--xla_force_host_platform_device_count={devices}"
    os.environ["JAX_PLATFORMS"] = "cpu"
    text = lowered(size).as_text(debug_info=True)
    # the same text on any machine
    for folder in (pathlib.Path(__file__).resolve().parent, pathlib.Path(__import__("jax").__file__).parents[1]):
        text = text.replace(f'"{folder}/', '"')
    args.output.write_text(text)
    total = sum(math.prod(shape) for shape, _ in parameters(size).values())
    print(f"{args.output}: {total / 1e9:.3g} billion parameters, {devices} partitions, {len(text) / 1e6:.2f} MB")


if __name__ == "__main__":
    main()
