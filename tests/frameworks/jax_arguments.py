#!/usr/bin/env python3
"""hloscope.run, same_numbers, blame of functions of JAX: on the numbers of their arguments.

jax_arguments.py HLOSCOPE        speaks TAP; run it with a Python that has JAX
"""

import functools
import importlib.util
import os
import pathlib
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
if importlib.util.find_spec("jax") is None:
    print("1..0 # SKIP jax is not installed for this Python")
    sys.exit(0)
os.environ["HLOSCOPE_PROGRAM"] = str(pathlib.Path(sys.argv[1]).resolve())
os.environ.setdefault("JAX_PLATFORMS", "cpu")
sys.path[:0] = [str(ROOT / "python"), str(ROOT / "tests" / "frameworks")]
import hloscope  # noqa: E402
import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
from tap import main, test  # noqa: E402

x = np.arange(12, dtype=np.float32).reshape(3, 4)
y = np.float32(2)


def result(function, *arguments):
    """The first output of hloscope's run."""
    with tempfile.TemporaryDirectory() as folder:
        run = hloscope.run(function, *arguments, runs=1, save_outputs=folder)
        return np.fromfile(run.outputs[0]["file"], dtype=np.float32)


def expect(function, *arguments):
    wanted = np.asarray(function(*arguments), dtype=np.float32).ravel()
    found = result(function, *arguments)
    assert np.allclose(found, wanted), (found, wanted)


@test
def a_function_runs_on_its_arguments():
    expect(lambda a, b: a * b + 1, x, y)


@test
def jitted_with_an_argument_that_is_not_used():
    expect(jax.jit(lambda a, unused, b: a - b), x, jnp.ones(5), y)


@test
def trees_scalars_and_narrow_types():
    def f(tree, factor):
        return (tree["w"].astype(jnp.float32) + tree["b"][0]) * factor

    tree = {"w": jnp.asarray(x, jnp.bfloat16), "b": [jnp.float32(3), jnp.arange(3)]}
    expect(f, tree, 2.5)
    expect(jax.jit(f), tree, 7)


@test
def columns_first():
    expect(lambda a: a + 1, np.asfortranarray(x))


@test
def what_has_no_numbers_gets_the_seeds():
    shape = jax.ShapeDtypeStruct((3, 4), jnp.float32)
    assert np.any(result(lambda a: a, shape))
    assert result(lambda a: jax.random.uniform(a, (4,)), jax.random.key(0)).shape == (4,)


@test
def static_arguments():
    @functools.partial(jax.jit, static_argnums=1)
    def power(a, n):
        return a**n

    assert result(power, x, 2).shape == (12,)


@test
def numbers_differ_where_the_arguments_make_them_differ():
    def clipped(a):
        return jnp.minimum(a, 5)

    assert hloscope.same_numbers(lambda a: a, clipped, np.full(4, 3, np.float32))
    assert not hloscope.same_numbers(lambda a: a, clipped, np.full(4, 9, np.float32))


@test
def time_is_that_of_the_arguments():
    def turns(n):
        return jax.lax.fori_loop(0, n, lambda i, v: jnp.sin(v), jnp.ones(64))

    few = hloscope.run(turns, np.int32(1)).seconds
    many = hloscope.run(turns, np.int32(20000)).seconds
    assert many > 50 * few, (few, many)


@test
def blame_takes_them():
    assert hloscope.blame(lambda a: a / a.sum(), x).verdict == "nothing"


sys.exit(main())
