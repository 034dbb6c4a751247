#!/usr/bin/env python3
"""Mutation testing: puts small faults into the source and says which of them no test notices.

    tools/mutants.py [--folder NAME]... [--files FILE,...] [--changed] [--count N] [--seed N]
    [--jobs N] [--numbers N,...] [--json FILE] [--at-least PERCENT]

One build (clang, LLVM 19) holds all faults, each behind a switch that the environment variable
HSC_MUTANT turns on (mutants/mutate.c); a first run of the tests notes which faults each test
reaches, so that a fault is tried only on the tests that reach it, the most particular and quickest
first. A fault counts as noticed when a test fails, crashes or takes longer than its limit. What no
test notices is listed with file, line and what changed; faults that change nothing that anybody
could see are listed with the reason in mutants/equivalent.tsv and left out of the score.

With --changed there are faults only in the files that differ from the main branch (on it: from the
commit before), so that little is compiled with them; the copy is another one.

Everything happens in a copy of the tree (--work, by default in the temporary folder), and the tests
run as nobody when root calls: a fault may delete what it can reach.
"""

import argparse
import concurrent.futures
import dataclasses
import hashlib
import json
import mmap
import os
import pathlib
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
HERE = ROOT / "tools" / "mutants"
MAP_BYTES = 8 << 20  # as in runtime.c
SUITES = ("quick", "long", "golden", "fuzz", "conformance", "terminal", "lab")
TAKES_MINUTES = ("blame",)
LONGEST_S = 60  # a test that takes longer than this with all faults off is left out
NOBODY = 65534
PYTHON = "/usr/bin/python3"  # nobody may run it; the caller's own may lie in a home


@dataclasses.dataclass
class Fault:
    number: int
    kind: str
    file: str
    line: int
    column: int
    change: str
    function: str

    @property
    def folder(self) -> str:
        return self.file.split("/")[1]


@dataclasses.dataclass
class Test:
    name: str
    command: list[str]
    folder: str
    environment: dict[str, str]
    seconds: float = 0
    reached: frozenset[int] = frozenset()
    # Cases that fail here without a fault (nobody may do less than a user): they notice nothing.
    lame: frozenset[str] = frozenset()
    cases: int = 0  # how many say how they went, where some are lame


def run(command: list[str], **keywords) -> None:
    done = subprocess.run(
        command,
        check=False,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        **keywords,
    )
    if done.returncode:
        sys.exit(
            f"mutants: {' '.join(map(str, command[:6]))} ended with {done.returncode}\n"
            + "\n".join(done.stdout.splitlines()[-30:])
        )


def git(*arguments: str) -> str:
    """What git says; "" where it says no."""
    done = subprocess.run(
        ["git", *arguments], cwd=ROOT, check=False, capture_output=True, text=True
    )
    return done.stdout.strip() if done.returncode == 0 else ""


def changed_files() -> list[str]:
    """Sources that differ from the main branch; on it, from the commit before."""
    base = git("merge-base", "HEAD", "main") or git("merge-base", "HEAD", "origin/main")
    if base == git("rev-parse", "HEAD"):
        base = git("rev-parse", "--verify", "-q", "HEAD~1")
    names = git("diff", "--name-only", "--diff-filter=d", base, "--", "src/*.c") if base else ""
    return names.splitlines()


class Workplace:
    """A copy of the tree, with a build that holds all faults, or those of some files."""

    def __init__(self, work: pathlib.Path, jobs: int, only: list[str] | None = None):
        self.only = only
        self.work = work
        self.tree = work / "tree"
        self.build = self.tree / "build"
        self.jobs = jobs
        self.lists = work / "lists"
        self.lists.mkdir(parents=True, exist_ok=True)
        work.chmod(0o755)

    def copy_sources(self) -> None:
        names = subprocess.run(
            ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
            cwd=ROOT,
            check=True,
            capture_output=True,
            text=True,
        ).stdout.split("\0")
        wanted = set()
        for name in filter(None, names):
            source = ROOT / name
            target = self.tree / name
            if not source.is_file():
                continue
            wanted.add(target)
            if target.exists() and target.read_bytes() == source.read_bytes():
                continue
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, target)
        for path in list(self.tree.rglob("*")):
            if (
                path.is_file()
                and path not in wanted
                and self.build not in path.parents
                and not path.is_symlink()
            ):
                path.unlink()

    def make(self) -> None:
        flags = subprocess.run(
            ["llvm-config-19", "--cflags", "--ldflags"], check=True, capture_output=True, text=True
        ).stdout.split()
        run(
            [
                "cc",
                "-O1",
                str(HERE / "mutate.c"),
                "-o",
                str(self.work / "mutate"),
                *flags,
                "-lLLVM-19",
            ]
        )
        run(
            [
                "clang-19",
                "-O1",
                "-fPIC",
                "-c",
                str(HERE / "runtime.c"),
                "-o",
                str(self.work / "runtime.o"),
            ]
        )
        stamp = hashlib.sha256(
            (HERE / "mutate.c").read_bytes()
            + (HERE / "cc").read_bytes()
            + (HERE / "runtime.c").read_bytes()
        ).hexdigest()
        known = self.work / "files"
        old = known.read_text().splitlines() if known.exists() else []
        files = sorted(
            str(path.relative_to(self.tree)) for path in (self.tree / "src").rglob("*.c")
        )
        # A number, once given, stays: objects hold it.
        new = [name for name in files if name not in old and (not self.only or name in self.only)]
        for name in new:
            (self.tree / name).touch()  # compiled without faults until now
        old += new
        known.write_text("\n".join(old) + "\n")
        if (
            not (self.work / "stamp").exists() or (self.work / "stamp").read_text() != stamp
        ):  # other faults
            shutil.rmtree(self.build, ignore_errors=True)
            shutil.rmtree(self.lists)
            self.lists.mkdir()
        (self.work / "stamp").write_text(stamp)
        environment = os.environ | {"CC": str(HERE / "cc"), "HSC_MUTANTS": str(self.work)}
        if not (self.build / "build.ninja").exists():
            run(
                [
                    "meson",
                    "setup",
                    str(self.build),
                    str(self.tree),
                    "-Dwerror=false",
                    "-Dserve=auto",
                ],
                env=environment,
            )
        run(
            [
                "nice",
                "-n",
                "4",
                "ninja",
                f"-j{self.jobs}",
                "-C",
                str(self.build),
                "product",
                "meson-test-prereq",
                "test_programs",
            ],
            env=environment,
        )

    def write_expectations(self) -> None:
        """The order in which clang evaluates arguments is not gcc's, and the order of instructions
        in these texts follows it."""
        for test in ("algsimp_rules", "pass_examples", "pass_cases", "near_misses"):
            run([str(self.build / "tests/unit" / f"test_{test}"), str(self.tree), "--update"])
        for outcomes in (self.tree / "tests/fuzz/outcomes").glob("*.tsv"):
            corpus = self.tree / "tests/fuzz/corpus" / outcomes.stem
            replay = self.build / "tests/fuzz" / f"fuzz_replay_{outcomes.stem}"
            run([str(replay), str(corpus), "--update"])

    def faults(self) -> list[Fault]:
        rows = []
        seen = set()
        for path in self.lists.iterdir():
            for line in path.read_text().splitlines():
                number, kind, file, row, column, change, function = line.split("\t")
                file = "src/" + file.split("src/", 1)[1]
                key = (kind, file, row, column, change)
                if kind == "number" and key in seen:  # once for each use of a macro
                    continue
                seen.add(key)
                rows.append(Fault(int(number), kind, file, int(row), int(column), change, function))
        return sorted(rows, key=lambda fault: fault.number)

    def tests(self) -> list[Test]:
        rows = []
        listed = json.loads(
            subprocess.run(
                ["meson", "introspect", str(self.build), "--tests"],
                check=True,
                capture_output=True,
                text=True,
            ).stdout
        )
        for test in listed:
            suites = {suite.split(":")[-1] for suite in test["suite"]}
            if (
                test["name"] in TAKES_MINUTES
                or not suites & set(SUITES)
                or any(
                    part.endswith(
                        (
                            "check_deps.py",
                            "check_house.py",
                            "check_knowledge.py",
                            "reference_pages.py",
                        )
                    )
                    for part in test["cmd"]
                )
            ):
                continue
            folder = test["workdir"] or str(self.build)
            if os.getuid() == 0:
                test["cmd"] = [
                    PYTHON
                    if re.fullmatch(r".*/python3?(\.\d+)?", part) and os.path.isfile(part)
                    else part
                    for part in test["cmd"]
                ]
            if test["name"] == "golden":
                areas = sorted(
                    path.name
                    for path in (self.tree / "tests" / "golden").iterdir()
                    if path.is_dir()
                )
                rows += [
                    Test(f"golden/{area}", test["cmd"] + [area], folder, test["env"])
                    for area in areas
                ]
            else:
                rows.append(Test(test["name"], test["cmd"], folder, test["env"]))
        return rows


def limits() -> None:
    os.setsid()
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 30, 1 << 30))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_AS, (16 << 30, 16 << 30))


def end_session(leader: int) -> None:
    """Ends what the test started and left behind: everything of its session."""
    for path in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rsplit(")", 1)[1].split()
            if int(fields[3]) == leader:
                os.kill(int(path.parent.name), signal.SIGKILL)
        except (OSError, IndexError, ValueError):
            pass


NOT_OK = re.compile(r"^not ok \d+ - (?!.*# (?:SKIP|TODO))(.*)$", re.MULTILINE)


def failed_cases(text: str) -> frozenset[str]:
    return frozenset(name.strip() for name in NOT_OK.findall(text))


def count_cases(text: str) -> int:
    return len(re.findall(r"^(?:not )?ok \d+", text, re.MULTILINE))


def only_lame(test: Test, text: str) -> bool:
    failed = failed_cases(text)
    return bool(failed) and failed <= test.lame and count_cases(text) >= test.cases


def try_test(
    test: Test, fault: int, limit_s: float, reached: pathlib.Path | None
) -> tuple[bool, float, str]:
    """Runs a test with a fault on (0: none). Gives whether it passed (but for cases that fail
    without one), how long it took, and the end of what it printed."""
    with tempfile.TemporaryDirectory(prefix="hsc-mutant-", ignore_cleanup_errors=True) as scratch:
        command = ["nice", "-n", "4", *test.command]
        if os.getuid() == 0:
            os.chown(scratch, NOBODY, NOBODY)
            command = [
                "setpriv",
                f"--reuid={NOBODY}",
                f"--regid={NOBODY}",
                "--clear-groups",
                *command,
            ]
        environment = (
            os.environ
            | test.environment
            | {
                "HSC_MUTANT": str(fault),
                "TMPDIR": scratch,
                "HOME": scratch,
                "XDG_CACHE_HOME": f"{scratch}/cache",
                "PYTHONDONTWRITEBYTECODE": "1",
            }
        )
        environment["PATH"] = "/usr/bin:/bin:" + os.environ.get("PATH", "")
        if reached:
            environment["HSC_MUTANT_REACHED"] = str(reached)
        begin = time.monotonic()
        output = pathlib.Path(scratch) / "output"
        with (
            output.open("wb") as out,
            subprocess.Popen(
                command,
                cwd=test.folder,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                preexec_fn=limits,
            ) as process,
        ):
            try:
                code = process.wait(timeout=limit_s)
            except subprocess.TimeoutExpired:
                code = -1
            end_session(process.pid)
            process.wait()
        text = output.read_text(errors="replace")[-200000:]
        failed = failed_cases(text)
        passed = not failed if code == 0 else code > 0 and only_lame(test, text)
        return passed, time.monotonic() - begin, text


def cover(place: Workplace, tests: list[Test]) -> list[Test]:
    """Runs every test once without a fault, and notes what it reaches. Those that fail are named
    and left out."""

    def one(test: Test) -> Test | None:
        with tempfile.NamedTemporaryFile(prefix="hsc-reached-") as file:
            file.truncate(MAP_BYTES)
            os.chmod(file.name, 0o666)
            passed, test.seconds, text = try_test(test, 0, LONGEST_S, pathlib.Path(file.name))
            with mmap.mmap(file.fileno(), MAP_BYTES, prot=mmap.PROT_READ) as view:
                data = view[:]
        numbers = []
        at = data.find(1)
        while at >= 0:
            numbers.append(at)
            at = data.find(1, at + 1)
        test.reached = frozenset(numbers)
        if passed:
            return test
        # Twice, so that what fails now and then is not taken for what fails always.
        failed = failed_cases(text) & failed_cases(try_test(test, 0, LONGEST_S, None)[2])
        test.lame = failed
        test.cases = count_cases(text)
        if try_test(test, 0, LONGEST_S, None)[0] and failed:
            print(f"# not counted of {test.name}: {', '.join(sorted(failed))}", flush=True)
        else:
            print(f"# left out: {test.name} does not pass here without a fault", flush=True)
            (place.work / f"left-out-{test.name.replace('/', '-')}.txt").write_text(text)
            return None
        return test

    with concurrent.futures.ThreadPoolExecutor(place.jobs) as pool:
        return [test for test in pool.map(one, tests) if test]


def keep_coverage(place: Workplace, tests: list[Test]) -> None:
    """What a later call with --as-is needs not find out again."""
    rows = {
        test.name: {
            "seconds": test.seconds,
            "reached": sorted(test.reached),
            "lame": sorted(test.lame),
            "cases": test.cases,
        }
        for test in tests
    }
    (place.work / "coverage.json").write_text(json.dumps(rows))


def kept_coverage(place: Workplace, tests: list[Test]) -> list[Test]:
    """The tests with what the last call noted of them; those it left out are not among them."""
    rows = json.loads((place.work / "coverage.json").read_text())
    for test in tests:
        if row := rows.get(test.name):
            test.seconds = row["seconds"]
            test.reached = frozenset(row["reached"])
            test.lame = frozenset(row["lame"])
            test.cases = row["cases"]
    return [test for test in tests if test.name in rows]


def judge(fault: Fault, tests: list[Test]) -> tuple[str, int]:
    """The test that notices the fault, or "", and how many reach it."""
    reaching = [test for test in tests if fault.number in test.reached]
    reaching.sort(key=lambda test: (test.seconds > 2, len(test.reached) * (1 + test.seconds)))
    for test in reaching:
        passed, _, _ = try_test(test, fault.number, 5 + 6 * test.seconds, None)
        if not passed:
            return test.name, len(reaching)
    return "", len(reaching)


def source_line(fault: Fault) -> str:
    lines = (ROOT / fault.file).read_text(errors="replace").splitlines()
    return lines[fault.line - 1].strip() if fault.line <= len(lines) else ""


def equivalents() -> set[tuple[str, str, str, str]]:
    """The reviewed list: file, kind, change, text of the line, reason, with tabs between."""
    path = HERE / "equivalent.tsv"
    rows = (
        [
            line.split("\t")
            for line in path.read_text().splitlines()
            if line and not line.startswith("#")
        ]
        if path.exists()
        else []
    )
    return {tuple(row[:4]) for row in rows}


def report(results: list[tuple[Fault, str, int]], seconds: float) -> float:
    folders = sorted({fault.folder for fault, _, _ in results})
    print("\n| folder | faults | noticed | % |\n|---|---|---|---|")
    for folder in [*folders, "all"]:
        rows = [row for row in results if folder in ("all", row[0].folder)]
        noticed = sum(bool(test) for _, test, _ in rows)
        print(f"| {folder} | {len(rows)} | {noticed} | {100 * noticed / len(rows):.0f} |")
    print("\nNot noticed:")
    for fault, test, reaching in results:
        if not test:
            print(
                f"  {fault.file}:{fault.line}:{fault.column} [{fault.number} {fault.kind}]"
                f" {fault.change}; {reaching} test{'s reach' if reaching != 1 else ' reaches'} it\n"
                f"      {source_line(fault)}"
            )
    score = 100 * sum(bool(test) for _, test, _ in results) / max(1, len(results))
    print(f"\n{score:.0f} % of {len(results)} faults noticed, in {seconds:.0f} s")
    return score


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--folder",
        action="append",
        default=[],
        help="a folder of src/, or the start of a path in it",
    )
    parser.add_argument("--files", default="", help="these files only, with commas")
    parser.add_argument(
        "--changed", action="store_true", help="only the files that differ from the main branch"
    )
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=max(1, (os.cpu_count() or 2) // 2))
    parser.add_argument(
        "--kinds",
        default="",
        help=(
            "these kinds only, with commas: bound, condition, guard, arithmetic, number, arguments,"
            " call, case, release"
        ),
    )
    parser.add_argument(
        "--numbers", default="", help="these faults only, by their numbers in the list"
    )
    parser.add_argument(
        "--work",
        type=pathlib.Path,
        help="default: hloscope-mutants-UID in the temporary folder",
    )
    parser.add_argument("--json", type=pathlib.Path, help="writes every fault and what noticed it")
    parser.add_argument(
        "--as-is", action="store_true", help="uses what the last call built and covered"
    )
    parser.add_argument(
        "--at-least", type=float, default=0, help="exit code 1 when fewer per cent are noticed"
    )
    options = parser.parse_args()
    begin = time.monotonic()
    changed = changed_files() if options.changed else []
    if options.changed and not changed:
        print("no source file differs: no fault to try")
        return 0
    work = options.work or pathlib.Path(tempfile.gettempdir()) / (
        f"hloscope-mutants-{os.getuid()}" + ("-changed" if changed else "")
    )
    place = Workplace(work, options.jobs, changed)
    if not options.as_is:
        place.copy_sources()
        place.make()
        place.write_expectations()
    print(f"# built after {time.monotonic() - begin:.0f} s", flush=True)
    if options.as_is and (place.work / "coverage.json").exists():
        tests = kept_coverage(place, place.tests())
    else:
        tests = cover(place, place.tests())
        keep_coverage(place, tests)
    print(f"# {len(tests)} tests, covered after {time.monotonic() - begin:.0f} s", flush=True)
    faults = place.faults()
    kinds = options.kinds.split(",") if options.kinds else []
    files = options.files.split(",") if options.files else changed
    same = equivalents()
    pool = [
        fault
        for fault in faults
        if (
            not options.folder
            or any(fault.file.startswith(f"src/{folder}") for folder in options.folder)
        )
        and (not files or fault.file in files)
        and (fault.kind in kinds if kinds else fault.kind != "release")
        and (fault.file, fault.kind, fault.change, source_line(fault)) not in same
    ]
    reached = set().union(*(test.reached for test in tests))
    print(
        f"# {len(faults)} faults, {sum(fault.number in reached for fault in faults)} reached;"
        f" {len(pool)} to choose from",
        flush=True,
    )
    if options.numbers:
        wanted = set(map(int, options.numbers.split(",")))
        chosen = [fault for fault in faults if fault.number in wanted]
    else:
        chosen = random.Random(options.seed).sample(pool, min(options.count, len(pool)))
    results = []
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as threads:
        for fault, (test, reaching) in zip(
            chosen, threads.map(lambda fault: judge(fault, tests), chosen)
        ):
            results.append((fault, test, reaching))
            print(
                f"# {'noticed by ' + test if test else 'NOT NOTICED'}: {fault.file}:{fault.line}"
                f" {fault.change}",
                flush=True,
            )
    score = report(results, time.monotonic() - begin)
    if options.json:
        options.json.write_text(
            json.dumps(
                [
                    dataclasses.asdict(fault)
                    | {
                        "noticed_by": test,
                        "reaching": reaching,
                        "text": source_line(fault),
                    }
                    for fault, test, reaching in results
                ],
                indent=1,
            )
            + "\n"
        )
    return 1 if score < options.at_least else 0


if __name__ == "__main__":
    sys.exit(main())
