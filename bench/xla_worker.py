"""XLA:CPU through JAX, in a process of its own: one JSON job per line on standard input, one JSON
answer per line on standard output.

  {"do": "hello"}                                        -> versions and threads
  {"do": "compile", "program": "tiny_scan"}              -> {"seconds": one compilation, nothing
                                                         cached}
  {"do": "run", "program": "tiny_scan", "count": n}      -> {"seconds": [n samples], "through":
                                                         how}; "direct": true leaves JAX's own
                                                         dispatch out
  {"do": "forget", "program": "tiny_scan"}               -> frees what the program holds

A sample is one execution of the program's pattern with a sync at its end (after each of the three
for `dependent`, which feeds each run with the last one's result). The timed loops are here, not in
the process that asks.
"""

import pathlib
import sys
import time

import jax
import jaxlib
import numpy as np

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "models"))

import export
import inputs
import worker_loop

SEED = 0


class Held:
    """A program with its arguments on the device and, once it was compiled, its executable."""

    def __init__(self, program):
        self.program = program
        leaves = [
            jax.device_put(inputs.fill(leaf.shape, np.dtype(leaf.dtype), index, SEED))
            for index, (_, _, leaf) in enumerate(program.leaves())
        ]
        self.arguments = jax.tree.unflatten(
            jax.tree.structure(tuple(argument.tree for argument in program.arguments)), leaves
        )
        self.leaves = leaves
        self.compiled = None

    def compile(self):
        jax.clear_caches()
        lowered = self.program.lower()
        start = time.perf_counter()
        self.compiled = lowered.compile()
        return time.perf_counter() - start

    def run(self, count):
        compiled, arguments, runs = self.compiled, self.arguments, self.program.runs
        samples = []
        for _ in range(count):
            given = arguments
            start = time.perf_counter()
            for _ in range(runs):
                result = compiled(*given)
                jax.block_until_ready(result)
                given = (*arguments[:-1], result) if runs > 1 else given
            samples.append(time.perf_counter() - start)
        return samples

    def run_direct(self, count):
        """The same through jaxlib's executable: what JAX's dispatch in Python costs is left out."""
        execute, leaves, runs = (
            self.compiled.runtime_executable().execute_sharded,
            self.leaves,
            self.program.runs,
        )
        samples = []
        for _ in range(count):
            given = leaves
            start = time.perf_counter()
            for _ in range(runs):
                outputs = execute(given).disassemble_into_single_device_arrays()
                for output in outputs:
                    output[0].block_until_ready()
                given = [*leaves[:-1], outputs[0][0]] if runs > 1 else given
            samples.append(time.perf_counter() - start)
        return samples


def main():
    programs = {program.name: program for program in export.programs()}
    held = {}

    def answer(job):
        if job["do"] == "hello":
            return {
                "name": "XLA:CPU",
                "jax": jax.__version__,
                "jaxlib": jaxlib.__version__,
                "numpy": np.__version__,
            }
        name = job["program"]
        if job["do"] == "forget":
            held.pop(name, None)
            return {}
        if name not in held:
            held[name] = Held(programs[name])
        if job["do"] == "compile":
            return {"seconds": held[name].compile()}
        if held[name].compiled is None:
            held[name].compile()
        if job["do"] == "run":
            direct = job.get("direct", False)
            return {
                "seconds": (
                    held[name].run_direct(job["count"]) if direct else held[name].run(job["count"])
                ),
                "through": "jaxlib" if direct else "jax",
            }
        raise ValueError(f"unknown job {job['do']}")

    worker_loop.serve(answer)


if __name__ == "__main__":
    main()
