"""A function of JAX with its arguments, as hloscope takes it: a program in a file, and the numbers
of the arguments in another."""

import os
import re


def lowered(program, arguments):
    """What hloscope reads (text, bytes or a path), and the jax.stages.Lowered that it is from, or
    None for a program that was there already."""
    if callable(program) and not hasattr(program, "as_text"):
        if not hasattr(program, "lower"):
            import jax

            # what is not used stays a parameter, so that programs have the same ones
            program = jax.jit(program, keep_unused=True)
        program = program.lower(*arguments)
        return program.as_text(), program
    if arguments:
        raise TypeError("arguments are for functions; a program that is there already has its own")
    return (program.as_text() if hasattr(program, "as_text") else program), None


def _parameters(text):
    """How many parameters the main function of a StableHLO text has; None where it shows none."""
    main = re.search(r"func\.func public @main\((.*?)\) -> ", text, re.S)
    return len(re.findall(r"%arg\d+: ", main.group(1))) if main else None


def values(lower, text, arguments):
    """The arguments as arrays of NumPy, one for each parameter of the program, in their order; None
    where an argument has no numbers (a jax.ShapeDtypeStruct), they are not numbers that NumPy keeps
    (keys of jax.random), or it is not known which parameter each belongs to."""
    import jax
    import numpy as np

    leaves = jax.tree_util.tree_leaves(arguments)
    infos = jax.tree_util.tree_leaves(lower.args_info)
    if len(leaves) != len(infos):  # static arguments among them
        return None
    try:
        arrays = [np.asarray(x).astype(i.dtype) for x, i in zip(leaves, infos)]
    except (TypeError, ValueError):
        return None
    if any(array.dtype.hasobject or array.shape != i.shape for array, i in zip(arrays, infos)):
        return None
    count = _parameters(text)
    if count != len(arrays):  # jit leaves out what is not used
        inner = getattr(lower, "_lowering", None)
        kept = (getattr(inner, "compile_args", None) or {}).get("kept_var_idx")
        arrays = [arrays[i] for i in sorted(kept)] if kept is not None else []
    return arrays if len(arrays) == count else None


def _name(text):
    """What the program calls itself: answers and pages name the file."""
    found = re.match(rb"(?:\s*//.*\n|\s)*(?:module @|HloModule )(\w[\w.-]{0,79})", text[:4096])
    return found.group(1).decode() if found else "program"


def write(program, arguments, directory):
    """The path of the program and that of its inputs; the latter is None where hloscope is to make
    them. What is no file yet is written into `directory`."""
    text, lower = lowered(program, arguments)
    inputs = None
    if isinstance(text, str) and "\n" in text:
        text = text.encode()
    if not isinstance(text, (bytes, bytearray)):
        return os.fspath(text), None
    path = os.path.join(directory, _name(text))
    with open(path, "wb") as file:
        file.write(text)
    arrays = values(lower, text.decode(), arguments) if lower is not None and arguments else None
    if arrays:
        import numpy as np

        inputs = os.path.join(directory, "inputs.npz")
        np.savez(inputs, *arrays)
    return path, inputs
