#!/usr/bin/env python3
"""make test-full: every test, and those of JAX, PyTorch/XLA, xprof and the real compilers with the
packages that they need.

    tools/test_full.py BUILD [--clients-only] [--jax CHECKOUT]

First what needs nothing, as `make test` does. Then tools/environments.py brings the packages (from
the cache, or from the index, once for each lock file), and the suites of real clients run with
them; those of JAX a second time with the newer JAX, where a Python for it is. Last a sample of
JAX's own tests (tools/jax_ids.py), where a checkout of JAX is or can be had. What cannot be had is
said at the end, in capitals. Ends with one line, `N passed, N failed`, and 1 when a test failed;
packages that cannot be had are no failure.
"""

import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
CLIENTS, COMPILERS, OLDER = "3.11", "3.11-compilers", "3.11-older"
CLIENT_SUITES = ("frameworks", "real", "browser", "lab")
# Of the other suites, what does more with packages, a browser or a checker of types.
MORE = ("python_compare", "python_api", "page_types", "sweep_queries", "sweep_backends")
SWEEP = "3.11-sweep"
OLDER_TESTS = ("trace_xla_cpu",)  # what is recorded of JAX depends on its release
JAX_TESTS = ("jax_transfers", "jax_cache", "jax_rules", "jax_devices", "plain_jax")
START = time.monotonic()


class Total:
    def __init__(self):
        self.passed = self.failed = 0
        self.missing = []

    def run(self, what, command, environment=None):
        """Runs a command that ends with `N passed, N failed`, and adds that."""
        print(f"== {what} ({time.monotonic() - START:.0f} s)", flush=True)
        process = subprocess.Popen(
            command,
            env={**os.environ, **(environment or {})},
            stdout=subprocess.PIPE,
            text=True,
            errors="replace",
        )
        last = ""
        for line in process.stdout:
            print(line, end="", flush=True)
            if line.startswith("NOT TESTED: "):  # said again at the end
                self.missing.append(line[len("NOT TESTED: ") :].strip())
            last = line if line.strip() else last
        code = process.wait()
        match = re.match(r"(\d+) passed, (\d+) failed", last)
        self.passed += int(match[1]) if match else 0
        all_skipped = match and match[0] == "0 passed, 0 failed"
        self.failed += max(int(match[2]) if match else 0, 1 if code and not all_skipped else 0)


def environments():
    """{label: {"python": path or None, "reason": text}}"""
    made = subprocess.run(
        [sys.executable, str(ROOT / "tools" / "environments.py")],
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    return json.loads(made.stdout)


def client_variables(python, compilers):
    variables = {
        f"HLOSCOPE_{kind}": python
        for kind in ("JAX_PYTHON", "TORCH_PYTHON", "XPROF_PYTHON", "TEST_PYTHON")
        if python
    }
    if compilers:
        variables["HLOSCOPE_PYTHON"] = compilers
    return variables


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("build")
    parser.add_argument(
        "--clients-only", action="store_true", help="leave out what needs no packages"
    )
    parser.add_argument(
        "--jax",
        help=(
            "a checkout of JAX, whose tests are sampled (default: $HLOSCOPE_JAX_CHECKOUT, else it"
            " is fetched)"
        ),
    )
    options = parser.parse_args()
    total = Total()
    tests = [sys.executable, str(ROOT / "tools" / "run_tests.py"), options.build]
    if not options.clients_only:
        total.run(
            "what needs no packages",
            [*tests, *(f"--no-suite={suite}" for suite in (*CLIENT_SUITES, "gpu"))],
        )
    print(f"== packages ({time.monotonic() - START:.0f} s)", flush=True)
    found = environments()
    for label, entry in found.items():
        print(f"{label}: {entry['python'] or entry['reason']}", flush=True)
        if not entry["python"] and not entry["reason"].startswith("no Python"):
            total.missing.append(f"the packages of python{label}.lock: {entry['reason']}")
    python, compilers = found[CLIENTS]["python"], found[COMPILERS]["python"]
    if python is None or compilers is None:
        total.missing.append(
            "JAX, PyTorch, xprof and the real compilers but for what is installed:"
            f" {found[CLIENTS]['reason'] or found[COMPILERS]['reason']}"
        )
    newer = [label for label in found if label not in (CLIENTS, COMPILERS, OLDER, SWEEP)]
    variables = client_variables(python, compilers)
    total.run("real clients", [*tests, *(f"--suite={suite}" for suite in CLIENT_SUITES)], variables)
    if python:
        with_sweep = {
            **variables,
            "HLOSCOPE_SWEEP_PYTHON": found[SWEEP]["python"] or python,
            "HLOSCOPE_SWEEP_PART": "python",  # the others were run before
        }
        total.run("other tests that use packages", [*tests, *MORE], with_sweep)
        jax = options.jax or os.environ.get("HLOSCOPE_JAX_CHECKOUT") or ""
        sample = [
            sys.executable,
            str(ROOT / "tools" / "jax_ids.py"),
            "--python",
            python,
            "--build",
            options.build,
            "--sample",
            "--seconds",
            "240",
        ]
        total.run("JAX's own tests, a sample", [*sample, *(["--checkout", jax] if jax else [])])
    else:
        total.missing.append("JAX's own tests: there is no JAX to run them")
    older = found[OLDER]["python"]
    if older:
        total.run(
            "recordings of the oldest JAX", [*tests, *OLDER_TESTS], {"HLOSCOPE_JAX_PYTHON": older}
        )
    with_newer = next(
        (found[label]["python"] for label in reversed(newer) if found[label]["python"]), None
    )
    if with_newer:
        total.run(
            "the tests of JAX, with the newer one",
            [*tests, *JAX_TESTS],
            {"HLOSCOPE_JAX_PYTHON": with_newer},
        )
        newer_sample = [sys.executable, str(ROOT / "tools" / "jax_ids.py"), "--jax", "0.12"]
        total.run(
            "JAX's own tests, a sample with the newer one",
            [*newer_sample, "--build", options.build, "--sample", "--seconds", "15"],
        )
    elif newer:
        total.missing.append("a newer JAX: " + "; ".join(found[label]["reason"] for label in newer))
    for text in total.missing:
        print(f"NOT TESTED: {text}")
    print(f"everything took {time.monotonic() - START:.0f} s")
    print(f"{total.passed} passed, {total.failed} failed", flush=True)
    return 1 if total.failed or not total.passed else 0


if __name__ == "__main__":
    sys.exit(main())
