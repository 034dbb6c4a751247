#!/usr/bin/env python3
"""What `tune` says to paste, pasted: the variable of the environment before a new process, the
options into jax.jit. Both must be taken, and give the gain.

tests/real/tune_paste.py build/hloscope      speaks TAP; skipped, by name, where JAX is not installed

$HLOSCOPE_PYTHON has JAX; further ones, whose releases differ, in $HLOSCOPE_MORE_PYTHONS (PATH's
form). The gain is processor time of a compile, which holds on a busy machine.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

# Prints the processor seconds of a compile, the least of three; `f` is what the answer names.
MEASURE = r"""
import sys, time
import jax, jax.numpy as jnp

def program(x):
    for i in range(8):
        x = jnp.tanh(x @ x) + jnp.sort(x, axis=i % 2) * jnp.float32(1.0 + i)
    return x

if sys.argv[1] == "export":
    print(jax.jit(program).lower(jax.ShapeDtypeStruct((32, 32), jnp.float32)).as_text())
    sys.exit()
least = None
for i in range(3):
    f = lambda x, i=i: program(x) + i
    jitted = eval(sys.argv[2]) if sys.argv[1] == "options" else jax.jit(f)
    lowered = jitted.lower(jnp.ones((32, 32)))
    start = time.process_time()
    lowered.compile()
    spent = time.process_time() - start
    least = spent if least is None else min(least, spent)
print(jax.__version__, least)
"""

hloscope = str(pathlib.Path(sys.argv[1]).resolve())
scratch = pathlib.Path(tempfile.mkdtemp(prefix="hloscope-paste-"))
environment = dict(os.environ, HLOSCOPE_CACHE_DIR=str(scratch / "cache"), JAX_PLATFORMS="cpu")
environment.pop("XLA_FLAGS", None)
python = os.environ.get("HLOSCOPE_PYTHON", sys.executable)
pythons = [python, *filter(None, os.environ.get("HLOSCOPE_MORE_PYTHONS", "").split(":"))]
done = 0


def check(name, good, why=""):
    global done
    done += 1
    lines = "".join("\n# " + line for line in str(why).splitlines()[-20:]) if not good else ""
    print(f"{'ok' if good else 'not ok'} {done} - {name}{lines}", flush=True)
    return good


def measure(interpreter, *arguments, before=""):
    """A line of a shell, as a user types it; the release and the processor seconds."""
    (scratch / "measure.py").write_text(MEASURE)
    result = subprocess.run(
        [
            "sh",
            "-c",
            f'{before} exec "$0" "$@"',
            interpreter,
            str(scratch / "measure.py"),
            *arguments,
        ],
        capture_output=True,
        text=True,
        env=environment,
        timeout=600,
    )
    words = result.stdout.split()
    return (words[0], float(words[1])) if result.returncode == 0 else (result.stderr[-800:], None)


def tune(*arguments, **variables):
    result = subprocess.run(
        [hloscope, "tune", str(scratch / "program.mlir"), "-d", "xla-cpu", "--placebos", "2", "-q"]
        + ["--format=json", "--store", str(scratch / "results.sqlite"), *arguments],
        capture_output=True,
        text=True,
        env={**environment, **variables},
        timeout=900,
    )
    try:
        return json.loads(result.stdout)
    except ValueError:
        return {"headline": result.stderr}


def has_jax(interpreter):
    find = [interpreter, "-c", "import jax"]
    try:
        return subprocess.run(find, capture_output=True, env=environment).returncode == 0
    except OSError:
        return False


def lines_give_the_gain():
    document = tune(
        "--for", "compile", "--only", "^xla_backend_optimization_level$", "--no-changes"
    )
    answer = document.get("answer")
    if not check("an option that makes compiles faster is found", answer, document):
        return
    check("its variable was tried", answer["flags_tried"] and not answer["flags_refused"], answer)
    for interpreter in filter(has_jax, pythons):
        release, plain = measure(interpreter, "plain")
        if not check("the program compiles as it is", plain, release):
            continue
        _, by_variable = measure(interpreter, "plain", before=answer["flags"])
        why, by_options = measure(interpreter, "options", answer["python"])
        for what, spent in ((answer["flags"], by_variable), (answer["python"], by_options)):
            check(
                f"jax {release}: {what} compiles in less than 0.9 of the processor time",
                spent and spent < 0.9 * plain,
                f"{spent} s, {plain} s as it is; {why}",
            )


# Options that XLA takes for one compile and aborts over as a flag.
def a_variable_that_the_compiler_refuses_is_no_answer():
    document = tune(
        *("--for", "compile", "--no-changes", "--only", "^xla_backend_optimization_level$"),
        *("--option", "xla_allow_scalar_index_dynamic_ops=true"),
    )
    answer = document.get("answer") or {}
    check("flags that abort the process are not offered", answer.get("flags") is None, document)
    said = answer.get("flags_refused") or ""
    check("and the compiler's reason is said", "xla_allow_scalar" in said, answer)
    check(
        "the options of the command line are in the line",
        "xla_allow_scalar" in str(answer.get("python")),
        answer,
    )


if not has_jax(python):
    print("1..0 # SKIP jax is not installed for this Python")
    sys.exit(0)
exported = subprocess.run(
    [python, "-c", MEASURE, "export"], capture_output=True, text=True, env=environment
)
(scratch / "program.mlir").write_text(exported.stdout)
if check("the program is exported", exported.returncode == 0, exported.stderr):
    lines_give_the_gain()
    a_variable_that_the_compiler_refuses_is_no_answer()
print(f"1..{done}")
sys.exit(0)
