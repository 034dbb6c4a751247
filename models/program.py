"""What a program for hloscope is: a JAX function, its arguments by name, and what each argument is for.

An argument is a tree whose leaves are `Leaf`s. A leaf says shape, type and how somebody who trains the model would initialise it; the
measurements do not use that hint, they feed every program with the numbers of inputs.py.
"""
import dataclasses
import inspect
import math
from typing import Any, Callable

import jax
import numpy as np


@dataclasses.dataclass(frozen=True)
class Leaf:
    shape: tuple[int, ...]
    dtype: str = "float32"
    init: str = "normal"    # normal (of `scale`), zeros, ones, uniform (in [0, scale)), integers (in [0, scale))
    scale: float = 1.0

    @property
    def count(self):
        return math.prod(self.shape)


@dataclasses.dataclass(frozen=True)
class Argument:
    name: str
    role: str    # parameter: what training changes; state: what an optimiser or a batch norm keeps; input: the data of this run
    tree: Any


@dataclasses.dataclass(frozen=True)
class Program:
    name: str
    graph: str
    pattern: str
    about: str
    function: Callable
    arguments: tuple[Argument, ...]
    layer_count: int
    runs: int = 1    # how often the pattern executes the program, with a sync after each

    def lower(self):
        """The program as JAX lowers it. Unused arguments stay, so that the manifest and the program agree."""
        structs = [jax.tree.map(lambda leaf: jax.ShapeDtypeStruct(leaf.shape, np.dtype(leaf.dtype)), argument.tree) for argument in self.arguments]
        function = self.function

        def entry(*arguments):
            return function(*arguments)

        # The module and its parameters are called as the program and its arguments are.
        entry.__name__ = entry.__qualname__ = self.name
        entry.__signature__ = inspect.Signature([inspect.Parameter(argument.name, inspect.Parameter.POSITIONAL_OR_KEYWORD) for argument in self.arguments])
        return jax.jit(entry, keep_unused=True).lower(*structs)

    def leaves(self):
        """(name, role, leaf) of every parameter of the HLO entry computation, in its order."""
        found = []
        for argument in self.arguments:
            for path, leaf in jax.tree_util.tree_flatten_with_path(argument.tree)[0]:
                found.append((argument.name + jax.tree_util.keystr(path), argument.role, leaf))
        return found

    def parameter_count(self):
        return sum(leaf.count for _, role, leaf in self.leaves() if role == "parameter")


def like(tree, init="zeros"):
    """The same shapes with another initial value: the momenta that belong to parameters."""
    return jax.tree.map(lambda leaf: Leaf(leaf.shape, leaf.dtype, init), tree)
