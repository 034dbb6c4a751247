#!/usr/bin/env python3
"""Twelve programs that compile slowly, after public threads, and what `passes time --remedy` makes
of each: what is slow, and how many times faster its best remedy is.

bench/slow_compiles.py build/hloscope [DEVICE]      HLOSCOPE_PYTHON names the Python that has JAX
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

EXPORT = r"""
import sys
import jax, jax.numpy as jnp, numpy as np
from jax import lax

jax.config.update("jax_platforms", "cpu")
to, f32, S = sys.argv[1], jnp.float32, jax.ShapeDtypeStruct
number, vector = S((), f32), S((64,), f32)


def case(name, function, *arguments):
    with open(f"{to}/{name}.mlir", "w") as file:
        file.write(jax.jit(function).lower(*arguments).as_text(debug_info=True))


def diagonal(x, n=1000000):
    at = jnp.stack([jnp.arange(n), jnp.arange(n)], axis=1)
    values = jnp.ones(n, f32) / x
    return jnp.zeros(n, f32).at[at[:, 0]].add(values[at[:, 1]]).sum()


def pool(x):
    sums = lambda a: lax.reduce_window(a, np.float32(0), lax.add, (1, 5, 5, 1), (1, 1, 1, 1), "SAME")
    return sums(x) / sums(jnp.ones((4, 128, 128, 8), f32))


def unrolled(x, w, times):
    for _ in range(times):
        x = jnp.sin(x * w) + jnp.cos(x + w) * jnp.tanh(x)
    return x


def pieces(x):
    parts = []
    for i in range(40):
        parts.append(jnp.sum(x * i) + jnp.exp(x[i % 64]) * x[:3])
        x = x + jnp.sin(parts[-1][0])
    return jnp.concatenate(parts)


def network(x, w, u):
    h = jnp.zeros((8, 64), f32)
    for t in range(40):
        h = jnp.tanh(h @ w + x[t] @ u)
    return h


def kernel_matrix(x):
    grid = jnp.linspace(0, 1, 3000, dtype=f32)
    return jnp.exp(-jnp.abs(grid[:, None] - grid[None, :]) / 0.1) @ x


case("jax-21300-sum-of-a-constant",
     lambda x: jax.vmap(jax.vmap(jnp.sum))(jnp.zeros((200000, 10, 10))) + x, number)
case("jax-12789-element-of-ones",
     lambda x: jnp.ones((300, 300, 300), f32).at[(100, 100, 100)].set(2) + x, number)
case("xla-1652-sparse-diagonal", diagonal, number)  # jax-14655 too
case("haiku-539-average-pool", pool, S((4, 128, 128, 8), f32))
case("jax-10596-transform-of-a-constant",
     lambda x: jnp.fft.fft(jnp.sin(jnp.arange(2000000, dtype=f32))).real + x, number)
case("jax-2777-unrolled-loop", lambda x, w: unrolled(x, w, 40), vector, vector)
case("jax-927-concatenated-pieces", pieces, vector)
case("constant-table", lambda x: jnp.cumsum(jnp.arange(4000000, dtype=f32))[::1000] + x, number)
case("unrolled-network", network, S((40, 8, 32), f32), S((64, 64), f32), S((32, 64), f32))
case("constant-kernel-matrix", kernel_matrix, S((3000,), f32))
case("sorted-constant", lambda x: jnp.sort(jnp.sin(jnp.arange(1000000, dtype=f32)))[:10] + x,
     number)
case("unrolled-gradient", jax.grad(lambda x, w: unrolled(x, w, 20).sum()), vector, vector)
"""


def main():
    hloscope = str(pathlib.Path(sys.argv[1]).resolve())
    device = sys.argv[2] if len(sys.argv) > 2 else "xla-cpu"
    python = os.environ.get("HLOSCOPE_PYTHON", sys.executable)
    quick = 0
    print("| program | compile | most of it in | best remedy | times faster | numbers |")
    print("|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory(prefix="hloscope-slow-") as scratch:
        subprocess.run([python, "-c", EXPORT, scratch], check=True, stderr=subprocess.DEVNULL)
        programs = sorted(pathlib.Path(scratch).glob("*.mlir"))
        for program in programs:
            result = subprocess.run(
                [hloscope, "passes", "time", str(program), "-d", device, "--repeats", "1"]
                + ["--remedy", "-q", "--limit", "120", "--format=json"],
                capture_output=True,
                text=True,
            )
            document = json.loads(result.stdout)
            if "error" in document:
                print(f"| {program.stem} | {document['error']['message'][:60]} | | | | |")
                continue
            slow = document["slow"]
            best = next((t for t in slow["tried"] if t["remedy"] == slow["best"]), None)
            where = f"{slow['phase']}, {slow['pass']}" if slow["pass"] else slow["phase"]
            quick += bool(best) and best["times_faster"] >= 2
            print(
                f"| {program.stem} | {slow['seconds']:.2f} s | {where} |"
                + (
                    f" {best['remedy']} | {best['times_faster']:.1f} | {best['numbers']} |"
                    if best
                    else " none | | |"
                ),
                flush=True,
            )
    print(f"\n{quick} of {len(programs)} compile twice as fast or faster")


main()
