#!/usr/bin/env python3
"""Runs JAX's own test files on the built-in device and says which of the cases that pass on XLA:CPU
pass here.

    tools/jax_tests.py CHECKOUT                       the files below, all of them (about half an
                                                      hour)
    tools/jax_tests.py CHECKOUT lax_test fft_test     these
    tools/jax_tests.py CHECKOUT lax_test -k cumsum    cases whose name contains that

CHECKOUT is a directory with JAX's tests/ and conftest.py, of the version that the Python given by
--python has installed (docs/conformance.md names both). JAX's tests stay where they are: nothing of
them is in this repository. What does not pass here is run on XLA:CPU as well: a case that fails
there too is no case. With --whole the ids that pass on XLA:CPU are taken from
BASELINE/<file>.passed.txt; where that is missing, the whole file is run there first and the list is
written. Files whose tests ask for several CPU devices get as many of ours, as any program does.

Ends with 1 when a file passes less than --least percent of the cases that pass on XLA:CPU.
"""

import argparse
import os
import pathlib
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
FILES = (
    "lax_test lax_numpy_test lax_autodiff_test lax_vmap_test lax_control_flow_test random_lax_test"
    " nn_test fft_test linalg_test lax_scipy_test image_test lax_numpy_indexing_test"
    " lax_numpy_operators_test lax_numpy_reducers_test dtypes_test api_test pmap_test"
    " shard_map_test"
).split()

# A pytest plugin: one line for each finished case, written at once, so that a run that is cut off
# keeps what it has.
RECORDER = """
import os
import sys


def _line(*columns):
    with open(os.environ["JAX_TESTS_RECORD"], "a") as out:
        out.write("\\t".join(str(c).replace("\\t", " ").replace("\\n", " ") for c in columns) + "\\n")


def pytest_runtest_logreport(report):
    if os.environ.get("PYTEST_XDIST_WORKER"):
        return
    if report.when == "call":
        outcome = report.outcome
    elif report.failed:
        outcome = "error"
    elif report.when == "setup" and report.skipped:
        outcome = "skipped"
    else:
        return
    text = "" if outcome in ("passed", "skipped") else str(report.longrepr).strip().splitlines()
    errors = [t for t in text if t.startswith("E  ")] or text[-1:]
    _line(outcome, "%.3f" % report.duration, report.nodeid, " ".join(e.lstrip("E ") for e in errors)[:300])


def pytest_configure(config):
    # The same skips and tolerances as on CPUs.
    import jax
    from jax._src import test_util

    jax.config.update("jax_test_dut", "cpu")
    # They capture what sys.stdout was when they were imported, which is not pytest's yet.
    for name in ("stdout", "stderr"):
        setattr(test_util, "capture_" + name, lambda name=name: test_util._capture_output(getattr(sys, name)))
"""


def read_record(path):
    """{id: (outcome, seconds, message)}"""
    cases = {}
    if path.exists():
        for line in path.read_text(errors="replace").splitlines():
            columns = line.split("\t")
            if len(columns) == 4:
                cases[columns[2]] = (columns[0], float(columns[1]), columns[3])
    return cases


def run_file(options, name, on_device, folder, only=()):
    """Runs one file, or the cases `only` of it; a process that dies loses one case and goes on with
    the others (pytest-xdist starts another worker)."""
    folder.mkdir(parents=True, exist_ok=True)
    record = folder / f"{name}.tsv"
    record.unlink(missing_ok=True)
    (folder / "jax_tests_recorder.py").write_text(RECORDER)
    environment = dict(
        os.environ,
        JAX_NUM_GENERATED_CASES=str(options.cases),
        JAX_TESTS_RECORD=str(record),
        PYTHONDONTWRITEBYTECODE="1",
        TF_CPP_MIN_LOG_LEVEL="2",
    )
    paths = [str(folder)]
    if on_device:
        paths.append(str(ROOT / "python"))
        environment.update(
            JAX_PLATFORMS="hloscope,cpu", PJRT_NAMES_AND_LIBRARY_PATHS=f"hloscope:{options.library}"
        )
    else:
        environment["JAX_PLATFORMS"] = "cpu"
    environment["PYTHONPATH"] = os.pathsep.join(
        paths + [p for p in [os.environ.get("PYTHONPATH")] if p]
    )
    command = [
        options.python,
        "-m",
        "pytest",
        "-q",
        "-p",
        "jax_tests_recorder",
        "-p",
        "no:cacheprovider",
        "-n",
        str(options.jobs),
        "--tb=short",
        *(only or [f"tests/{name}.py"]),
    ]
    if options.k:
        command += ["-k", options.k]
    start = time.monotonic()
    with open(folder / f"{name}.log", "w") as log:
        process = subprocess.Popen(
            command,
            cwd=options.checkout,
            env=environment,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            process.wait(options.limit)
        except subprocess.TimeoutExpired:
            print(f"{name}: stopped after {options.limit} s", file=sys.stderr)
            os.killpg(process.pid, 9)
            process.wait()
    return read_record(record), time.monotonic() - start


def passing_on_xla(options, name, cases):
    """Those of the cases of a file that pass on XLA:CPU, as far as that matters: what passes here
    is taken to pass there."""
    if options.whole:
        expected = baseline_of(options, name)
        return expected & set(cases) if options.k else expected
    good = {case for case, (outcome, _, _) in cases.items() if outcome == "passed"}
    rest = sorted(
        case for case, (outcome, _, _) in cases.items() if outcome not in ("passed", "skipped")
    )
    if rest:
        there, _ = run_file(options, name, False, options.output / "xla-cpu", rest)
        good |= {case for case, (outcome, _, _) in there.items() if outcome == "passed"}
    return good


def baseline_of(options, name):
    path = options.baseline / f"{name}.passed.txt"
    if path.exists():
        return set(path.read_text().split("\n")) - {""}
    cases, _ = run_file(options, name, False, options.output / "xla-cpu")
    passed = {case for case, (outcome, _, _) in cases.items() if outcome == "passed"}
    if passed and not options.k:
        options.baseline.mkdir(parents=True, exist_ok=True)
        path.write_text("\n".join(sorted(passed)) + "\n")
    return passed


def parse(arguments):
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument(
        "checkout", type=pathlib.Path, help="a directory with JAX's tests/ and conftest.py"
    )
    parser.add_argument(
        "files",
        nargs="*",
        metavar="FILE",
        help="names of test files without .py; default: all that docs/conformance.md lists",
    )
    parser.add_argument(
        "--python",
        default=sys.executable,
        help="a Python with jax, pytest, pytest-xdist and what JAX's tests want",
    )
    parser.add_argument(
        "--library",
        type=pathlib.Path,
        default=ROOT / "build" / "libhloscope_cpu_pjrt.so",
        help="the plugin",
    )
    parser.add_argument(
        "--baseline",
        type=pathlib.Path,
        default=ROOT / "build" / "jax_tests" / "baseline",
        help="where the ids that pass on XLA:CPU are",
    )
    parser.add_argument(
        "--output", type=pathlib.Path, default=ROOT / "build" / "jax_tests", help="records and logs"
    )
    parser.add_argument("--jobs", type=int, default=1, help="processes (default: %(default)s)")
    parser.add_argument(
        "--limit", type=float, default=1800, help="seconds for a file (default: %(default)s)"
    )
    parser.add_argument(
        "--cases", type=int, default=1, help="JAX_NUM_GENERATED_CASES (default: %(default)s)"
    )
    parser.add_argument(
        "--least",
        type=float,
        default=99,
        help="percent of the baseline that must pass (default: %(default)s)",
    )
    parser.add_argument(
        "--whole",
        action="store_true",
        help="compare with the list of the whole file on XLA:CPU, not with that of what fails here",
    )
    parser.add_argument("-k", help="only cases that pytest's -k selects")
    options = parser.parse_intermixed_args(arguments)
    options.output, options.baseline, options.library = (
        options.output.resolve(),
        options.baseline.resolve(),
        options.library.resolve(),
    )
    if not (options.checkout / "tests").is_dir():
        parser.error(f"{options.checkout} has no tests/: a checkout of JAX is wanted")
    if not options.library.exists():
        parser.error(f"{options.library} is missing: run make")
    for name in options.files:
        if not (options.checkout / "tests" / f"{name}.py").exists():
            parser.error(f"{options.checkout}/tests/{name}.py is missing")
    return options


def main(arguments):
    options = parse(arguments)
    rest, totals, bad = [], [0, 0], False
    print(f"{'file':28} {'XLA:CPU':>8} {'here':>8} {'percent':>8} {'seconds':>8}")
    for name in options.files or [
        f for f in FILES if (options.checkout / "tests" / f"{f}.py").exists()
    ]:
        cases, seconds = run_file(options, name, True, options.output / "hloscope")
        expected = passing_on_xla(options, name, cases)
        passed = {case for case in expected if cases.get(case, ("",))[0] == "passed"}
        percent = 100 * len(passed) / len(expected) if expected else 0
        bad = bad or percent < options.least
        totals[0] += len(expected)
        totals[1] += len(passed)
        print(
            f"{name:28} {len(expected):8} {len(passed):8} {percent:8.2f} {seconds:8.0f}", flush=True
        )
        rest += [(case, *cases.get(case, ("not run", 0, ""))) for case in sorted(expected - passed)]
    print(f"{'total':28} {totals[0]:8} {totals[1]:8} {100 * totals[1] / max(totals[0], 1):8.2f}")
    for case, outcome, _, message in rest:
        print(f"{outcome}: {case}: {message}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
