"""XLA:CPU for the zoo, in a process of its own: the jobs of bench/xla_worker.py, for the programs
of zoo.py, through jaxlib's executable."""

import os
import pathlib
import runpy
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent.parent / "models"))

import jax
import jaxlib
import numpy as np

import inputs
import worker_loop
import zoo

if os.environ.get("HLOSCOPE_ZOO"):  # other programs in place of the zoo's
    runpy.run_path(os.environ["HLOSCOPE_ZOO"])


class Held:
    def __init__(self, program):
        self.program = program
        jax.config.update("jax_enable_x64", True)  # arguments keep their types
        self.leaves = [
            jax.device_put(inputs.fill(a.shape, np.dtype(a.dtype), index, 0))
            for index, a in enumerate(program.arguments)
        ]
        self.compiled = None

    def compile(self):
        jax.clear_caches()
        lowered = self.program.lower()
        start = time.perf_counter()
        self.compiled = lowered.compile()
        seconds = time.perf_counter() - start
        kept = getattr(self.compiled._executable, "_kept_var_idx", None)
        self.given = (
            self.leaves
            if kept is None
            else [leaf for i, leaf in enumerate(self.leaves) if i in kept]
        )
        return seconds

    def run(self, count):
        """`count` runs, each awaited: seconds of the clock, and of the processor for all of
        them."""
        execute, samples = self.compiled.runtime_executable().execute_sharded, []
        processor = time.process_time()
        for _ in range(count):
            start = time.perf_counter()
            outputs = execute(self.given).disassemble_into_single_device_arrays()
            for output in outputs:
                output[0].block_until_ready()
            samples.append(time.perf_counter() - start)
        return samples, time.process_time() - processor


def main():
    held = {}

    def answer(job):
        if job["do"] == "hello":
            return {
                "name": "XLA:CPU",
                "jax": jax.__version__,
                "jaxlib": jaxlib.__version__,
                "programs": list(zoo.PROGRAMS),
            }
        name = job["program"]
        if job["do"] == "forget":
            held.pop(name, None)
            return {}
        if name not in held:
            held[name] = Held(zoo.PROGRAMS[name])
        if job["do"] == "compile":
            return {"seconds": held[name].compile()}
        if held[name].compiled is None:
            held[name].compile()
        seconds, processor = held[name].run(job["count"])
        return {"seconds": seconds, "processor": processor}

    worker_loop.serve(answer)


if __name__ == "__main__":
    main()
