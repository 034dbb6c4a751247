#!/usr/bin/env python3
"""Runs the golden cases: tests/golden/AREA/CASE/{cmd,in.*,stdout,stderr,exit}.

    tools/golden.py build/hloscope [AREA[/CASE]]...            runs and compares; speaks TAP
    tools/golden.py build/hloscope --update AREA[/CASE]...     rewrites stdout, stderr and exit, and
                                                               prints the difference

cmd      one line of arguments each, run as `hloscope LINE` by sh, so pipes and redirections work;
         lines that begin with # are comments.
         The working directory is a fresh copy of the case, with an empty cache.
stdout   what must come out, exactly. In stdout.glob instead, `*` stands for anything in a line and
         a line `...` for any lines.
stderr   the same for stderr; when the file is missing, stderr must be empty.
exit     the exit code of the last line; when the file is missing, 0. Earlier lines must exit with
         0.

What looks like a JSON document on stdout must fit its schema in docs/schemas: error.json,
table.json or that of the command.

One normaliser replaces what differs between machines and runs: durations (`12.3 ms` becomes
`<time>`), the directory of the case (`<case>`), of the build (`<build>`) and of the sources
(`<root>`).
"""

import argparse
import concurrent.futures
import difflib
import fnmatch
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import check_schema

ROOT = pathlib.Path(__file__).resolve().parent.parent
GOLDEN = ROOT / "tests" / "golden"
SCHEMAS = ROOT / "docs" / "schemas"
TIMEOUT_S = 120
OUTPUTS = ("stdout", "stderr", "exit", "stdout.glob", "stderr.glob")
DURATION = re.compile(r"(?<![\w.])\d+(?:\.\d+)?(?:e[+-]\d+)? (?:ns|us|\u00b5s|ms|s)\b")


def normalise(text: str, places: dict[str, str]) -> str:
    for place, name in sorted(places.items(), key=lambda item: -len(item[0])):
        text = text.replace(place, name)
    return DURATION.sub("<time>", text)


def matches_glob(text: str, pattern: str) -> bool:
    lines, patterns = text.splitlines(), pattern.splitlines()

    def match(at: int, row: int) -> bool:
        while row < len(patterns):
            if patterns[row] == "...":
                return any(match(skip, row + 1) for skip in range(at, len(lines) + 1))
            if at >= len(lines) or not fnmatch.fnmatchcase(
                lines[at], patterns[row].replace("[", "[[]")
            ):
                return False
            at, row = at + 1, row + 1
        return at == len(lines)

    return match(0, 0)


def run(case: pathlib.Path, binary: pathlib.Path) -> dict[str, str]:
    """What the case gives now: stdout, stderr, exit."""
    with tempfile.TemporaryDirectory(prefix="hloscope-golden-") as scratch:
        work = pathlib.Path(scratch) / "case"
        shutil.copytree(case, work, ignore=shutil.ignore_patterns(*OUTPUTS))
        environment = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("HLOSCOPE_", "XLA_"))
        }
        environment |= {
            "LC_ALL": "C",
            "TERM": "dumb",
            "HOME": scratch,
            "HLOSCOPE_CACHE_DIR": f"{scratch}/cache",
            "HLOSCOPE": str(binary),
            "ROOT": str(ROOT),
        }
        environment.pop("COLUMNS", None)
        out = {"stdout": "", "stderr": "", "exit": "0"}
        lines = [
            line
            for line in (case / "cmd").read_text(encoding="utf-8").splitlines()
            if line.strip() and not line.startswith("#")
        ]
        for number, line in enumerate(lines):
            try:
                done = subprocess.run(
                    ["sh", "-c", f'"$HLOSCOPE" {line}'],
                    cwd=work,
                    env=environment,
                    capture_output=True,
                    timeout=TIMEOUT_S,
                    stdin=subprocess.DEVNULL,
                    check=False,
                )
            except subprocess.TimeoutExpired:
                out["exit"] = f"no end after {TIMEOUT_S} s: {line}"
                break
            out["stdout"] += done.stdout.decode("utf-8", "backslashreplace")
            out["stderr"] += done.stderr.decode("utf-8", "backslashreplace")
            code = done.returncode
            out["exit"] = (
                str(code) if number + 1 == len(lines) or code == 0 else f"{code} from: {line}"
            )
            if code != 0:
                break
        places = {
            str(work): "<case>",
            scratch: "<scratch>",
            str(binary.parent): "<build>",
            str(ROOT): "<root>",
        }
        for name in ("stdout", "stderr"):
            out[name] = normalise(out[name], places)
        return out


def schema_trouble(case: pathlib.Path, stdout: str) -> list[str]:
    """A single JSON document on stdout is checked against the schema of what it is."""
    lines = [
        line
        for line in (case / "cmd").read_text(encoding="utf-8").splitlines()
        if line.strip() and not line.startswith("#")
    ]
    if len(lines) != 1 or not stdout.startswith("{"):
        return []
    try:
        document = json.loads(stdout)
    except json.JSONDecodeError as error:
        return (
            []
            if "jsonl" in lines[0] or "|" in lines[0]
            else [f"stdout begins like JSON but is not: {error}"]
        )
    name = (
        "error"
        if set(document) == {"error"}
        else "table"
        if {"view", "columns", "rows"} <= set(document)
        else lines[0].split()[0]
    )
    path = SCHEMAS / f"{name}.json"
    if not path.exists():
        return [f"stdout is a JSON document, but there is no docs/schemas/{name}.json"]
    return check_schema.violations(document, check_schema.load(path), SCHEMAS)


def compare(case: pathlib.Path, got: dict[str, str]) -> list[str]:
    trouble = schema_trouble(case, got["stdout"])
    for name, default in (("exit", "0"), ("stdout", ""), ("stderr", "")):
        glob = case / f"{name}.glob"
        if glob.exists():
            wanted = glob.read_text(encoding="utf-8")
            if not matches_glob(got[name], wanted):
                trouble += [f"{name} does not match {name}.glob; it is:"] + got[name].splitlines()
            continue
        path = case / name
        wanted = path.read_text(encoding="utf-8") if path.exists() else default
        if name == "exit":
            wanted = wanted.strip()
        if got[name] != wanted:
            difference = difflib.unified_diff(
                wanted.splitlines(),
                got[name].splitlines(),
                f"{name} wanted",
                f"{name} got",
                lineterm="",
            )
            trouble += list(difference) or [f"{name}: the last line break differs"]
    return trouble


def update(case: pathlib.Path, got: dict[str, str]) -> None:
    label = case.relative_to(GOLDEN)
    for name, default in (("stdout", ""), ("stderr", ""), ("exit", "0")):
        if (case / f"{name}.glob").exists():
            if not matches_glob(got[name], (case / f"{name}.glob").read_text(encoding="utf-8")):
                print(
                    f"{label}/{name}.glob does not match any more; it is written by hand. The"
                    f" output is:\n{got[name]}"
                )
            continue
        path = case / name
        new = got[name] + ("\n" if name == "exit" else "")
        old = path.read_text(encoding="utf-8") if path.exists() else ""
        empty = got[name] == default and name != "stdout"
        if new == old or (empty and not path.exists()):
            continue
        sys.stdout.writelines(
            difflib.unified_diff(
                old.splitlines(True),
                [] if empty else new.splitlines(True),
                f"{label}/{name} before",
                f"{label}/{name} now",
            )
        )
        if empty:
            path.unlink()
        else:
            path.write_text(new, encoding="utf-8")


def chosen_cases(names: list[str]) -> list[pathlib.Path]:
    cases = sorted(path.parent for path in GOLDEN.rglob("cmd"))
    if not names:
        return cases
    chosen = [
        case
        for case in cases
        if any(f"{case.relative_to(GOLDEN)}/".startswith(name.rstrip("/") + "/") for name in names)
    ]
    if not chosen:
        raise SystemExit(f"no golden case in {', '.join(names)}")
    return chosen


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("binary", type=pathlib.Path)
    parser.add_argument("cases", nargs="*")
    parser.add_argument("--update", action="store_true")
    options = parser.parse_intermixed_args()
    binary = options.binary.resolve()
    cases = chosen_cases(options.cases)
    failed = 0
    if not options.update:
        print(f"1..{len(cases)}", flush=True)
    with concurrent.futures.ThreadPoolExecutor(max_workers=min(4, os.cpu_count() or 1)) as pool:
        for number, (case, got) in enumerate(
            zip(cases, pool.map(lambda case: run(case, binary), cases)), 1
        ):
            if options.update:
                update(case, got)
                continue
            trouble = compare(case, got)
            failed += bool(trouble)
            print(
                f"{'not ok' if trouble else 'ok'} {number} - {case.relative_to(GOLDEN)}", flush=True
            )
            for line in trouble:
                print(f"# {line}", flush=True)
    return 0 if not failed else 1


if __name__ == "__main__":
    sys.exit(main())
