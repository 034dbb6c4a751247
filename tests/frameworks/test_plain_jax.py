#!/usr/bin/env python3
"""An installed hloscope changes nothing for JAX programs that do not name it.

    test_plain_jax.py PYTHON

TAP. A program is run by PYTHON without the package and with it (on PYTHONPATH, where JAX finds the
namespace package jax_plugins, and as an installed distribution with an entry point): it must print
the same, on both streams. Named in JAX_PLATFORMS or by jax.config the device is there.
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile

from installed import installed_in

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = """
import tempfile
import jax, jax.numpy as jnp
from jax._src import compilation_cache, xla_bridge
print(jax.default_backend(), [d.platform for d in jax.devices()])
print(sorted(xla_bridge._backend_factories))
print(compilation_cache.is_cache_used.__module__)
print(jax.jit(lambda x: (x @ x).sum())(jnp.ones((8, 8))))
with jax.profiler.trace(tempfile.mkdtemp()):
    jnp.ones(3).block_until_ready()
"""
NAMED = "import jax; print([d.platform for d in jax.devices()], jax.numpy.arange(4).sum())"
BY_CONFIG = (
    'import jax; jax.config.update("jax_platforms", "hloscope,cpu"); print([d.platform for d in'
    ' jax.devices()], jax.devices("cpu")[0].platform)'
)


def python(interpreter, code, path=None, **environment):
    clean = {
        name: value
        for name, value in os.environ.items()
        if name not in ("JAX_PLATFORMS", "PYTHONPATH", "PJRT_NAMES_AND_LIBRARY_PATHS")
    }
    if path:
        clean["PYTHONPATH"] = str(path)
    return subprocess.run(
        [interpreter, "-c", code],
        env={**clean, **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=200,
    )


def words(text):
    """Messages without their times."""
    return re.sub(r"^[\d: .-]+", "", text, flags=re.M)


def main():
    interpreter = os.environ.get("HLOSCOPE_JAX_PYTHON") or sys.argv[1]
    if python(interpreter, "import jax, jaxlib").returncode:
        print("1..0 # SKIP jax is not installed for this Python")
        return 0
    results = []
    plain = python(interpreter, PROGRAM)
    with tempfile.TemporaryDirectory() as scratch:
        for name, path in (
            ("on PYTHONPATH", ROOT / "python"),
            ("with an entry point", installed_in(pathlib.Path(scratch))),
        ):
            with_it = python(interpreter, PROGRAM, path)
            same = (plain.returncode, plain.stdout, words(plain.stderr)) == (
                with_it.returncode,
                with_it.stdout,
                words(with_it.stderr),
            )
            results.append(
                (
                    same and not plain.returncode,
                    f"a program that does not name it sees nothing of it, {name}",
                    plain.stdout + plain.stderr + "---\n" + with_it.stdout + with_it.stderr,
                )
            )
            named = python(interpreter, NAMED, path, JAX_PLATFORMS="hloscope")
            results.append(
                (
                    named.stdout == "['hloscope'] 6\n",
                    f"JAX_PLATFORMS=hloscope, {name}",
                    named.stdout + named.stderr,
                )
            )
            config = python(interpreter, BY_CONFIG, path)
            results.append(
                (
                    config.stdout == "['hloscope'] cpu\n",
                    f"jax.config, {name}",
                    config.stdout + config.stderr,
                )
            )
    print(f"1..{len(results)}")
    for number, (good, name, text) in enumerate(results, 1):
        print(f"{'ok' if good else 'not ok'} {number} - {name}")
        if not good:
            print("\n".join(f"# {line}" for line in text.splitlines()[-30:]))
    return 0 if all(good for good, _, _ in results) else 1


if __name__ == "__main__":
    sys.exit(main())
