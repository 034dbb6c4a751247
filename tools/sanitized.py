#!/usr/bin/env python3
"""The tests of a build with sanitizers, one process each. A finding ends its program; all of them
are shown, and the last line counts.

usage: sanitized.py BUILD KIND[:NAME,NAME...]...     KIND: unit (the quick suite's programs) or fuzz
                                                     (the corpora and mutations of them)
"""

import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

root = pathlib.Path(__file__).resolve().parent.parent
ROUNDS = os.environ.get("ROUNDS", "40")  # mutations of each file of a corpus
LIMIT_S = int(os.environ.get("LIMIT", "600"))
FINDING = re.compile(r"Sanitizer|runtime error:")
# The leak checker itself fell over: it reads stacks and heaps of threads that may unmap them
# meanwhile. It found nothing then, and looks again.
CHECKER_DIED = "LeakSanitizer has encountered a fatal error"
TRIES = 3
LEFT_OUT = {"ablate": "waits for a time limit"}


def tests_of(build: pathlib.Path, what: str) -> list[tuple[str, list[str]]]:
    kind, _, wanted = what.partition(":")
    prefix = {"unit": "test_", "fuzz": "fuzz_replay_"}[kind]
    found = []
    for path in sorted((build / "tests" / kind).glob(prefix + "*")):
        name = path.name[len(prefix) :]
        if "." in name or name in LEFT_OUT or (wanted and name not in wanted.split(",")):
            continue
        arguments = (
            [str(root)]
            if kind == "unit"
            else [str(root / "tests" / "fuzz" / "corpus" / name), ROUNDS]
        )
        found.append((f"{kind}/{name}", [str(path), *arguments]))
    missing = (
        set(wanted.split(",")) - {name.split("/")[1] for name, _ in found} if wanted else set()
    )
    if missing or not found:
        sys.exit(f"{build}: no such tests: {', '.join(sorted(missing)) or what}")
    return found


def run(command: list[str], environment: dict[str, str]) -> tuple[int, str, float]:
    """Exit code (-1: cut off), what was printed, seconds."""
    for _ in range(TRIES):
        code, text, seconds = run_once(command, environment)
        if CHECKER_DIED not in text or "ERROR: " in text.replace(f"ERROR: {CHECKER_DIED}", ""):
            break
    return code, text, seconds


def run_once(command: list[str], environment: dict[str, str]) -> tuple[int, str, float]:
    begin = time.monotonic()
    with tempfile.TemporaryFile() as log:
        try:
            code = subprocess.run(
                command,
                cwd=root,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                timeout=LIMIT_S,
                check=False,
            ).returncode
        except subprocess.TimeoutExpired:
            code = -1
        log.seek(0)
        return code, log.read().decode(errors="replace"), time.monotonic() - begin


def show(name: str, code: int, text: str) -> None:
    lines = text.splitlines()
    first = next((i for i, line in enumerate(lines) if FINDING.search(line)), None)
    ending = "was cut off" if code == -1 else f"ended with {code}"
    print(f"--- {name}: {'a finding' if first is not None else ending}")
    print(
        "\n".join(lines[max(0, first - 2) : first + 45] if first is not None else lines[-30:]),
        flush=True,
    )


def main() -> int:
    build = pathlib.Path(sys.argv[1]).resolve()
    tests = [test for what in sys.argv[2:] for test in tests_of(build, what)]
    environment = dict(
        os.environ,
        ASAN_OPTIONS="detect_leaks=1:exitcode=99:allocator_may_return_null=1",
        LSAN_OPTIONS=f"suppressions={root}/tools/leaks.supp:print_suppressions=0",
        UBSAN_OPTIONS="print_stacktrace=1:halt_on_error=1",
        TSAN_OPTIONS=f"halt_on_error=1:exitcode=99:die_after_fork=0:ignore_noninstrumented_modules=1:suppressions={root}/tools/races.supp",
    )
    begin = time.monotonic()
    failed = 0
    slowest = []
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 2) as pool:
        running = {pool.submit(run, command, environment): name for name, command in tests}
        for done in concurrent.futures.as_completed(running):
            code, text, seconds = done.result()
            slowest.append((seconds, running[done]))
            # A child of a test may have had the finding, and the test not have looked at its end.
            if code != 0 or re.search(
                r"ERROR: \w+Sanitizer|WARNING: ThreadSanitizer|runtime error:", text
            ):
                failed += 1
                show(running[done], code, text)
    slowest.sort(reverse=True)
    print(
        f"{build.name}: {len(tests)} programs in {time.monotonic() - begin:.0f} s; the slowest: "
        + ", ".join(f"{name} {seconds:.0f} s" for seconds, name in slowest[:5])
    )
    print(f"{len(tests) - failed} passed, {failed} failed", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
