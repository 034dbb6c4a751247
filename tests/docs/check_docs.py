#!/usr/bin/env python3
"""Runs the code blocks of every page, as a reader would: each line in a folder that holds what the
pages talk of (TAP on stdout).

    tests/docs/check_docs.py build/hloscope ROOT [--network] [PAGE...]

A line without `$` must end with exit code 0. Where a block shows `$ command` and what it prints,
every line shown must be found in the output, in that order, numbers and paddings aside: columns,
words and names that have changed make the test fail. Python and C blocks must compile. lines.tsv
beside this file says which lines need something (a network, a GPU, a vendor's compiler, a server
that is ended by hand), which end with another code, and which are run with smaller sizes; each row
must still match a line, or the test fails. world.py makes the files that the pages name.

--network runs the lines of kind `network` too, which bring releases from the package index, into
$HLOSCOPE_VERSIONS_TEST_DIR where that is set. Where no index can be reached they are named and not
run.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import world

HERE = pathlib.Path(__file__).resolve().parent
LIMIT = 180
NETWORK_LIMIT = 1200  # a release is installed and tried in less than a minute
NO_INDEX = "no package index can be reached"


def read_rules() -> list[dict]:
    """Rows of lines.tsv: page (a suffix), start of the line, what applies, the reason or
    replacement."""
    rules = []
    for number, row in enumerate((HERE / "lines.tsv").read_text(encoding="utf-8").splitlines(), 1):
        if not row or row.startswith("#"):
            continue
        page, start, kind, value = row.split("\t")
        rules.append(
            {
                "page": page,
                "start": start,
                "kind": kind,
                "value": value,
                "number": number,
                "used": False,
            }
        )
    return rules


def pages(root: pathlib.Path) -> list[pathlib.Path]:
    found = [*root.glob("*.md"), *(root / "docs").rglob("*.md"), root / "python" / "README.md"]
    return sorted(p for p in found if p.name != "CHANGELOG.md")


def blocks(text: str) -> list[tuple[int, str, str]]:
    """Line number, language and body of each fenced block; not the synopsis that `make docs`
    writes."""
    found = []
    for match in re.finditer(r"^```([^\n]*)\n(.*?)^```[ ]*$", text, re.S | re.M):
        if re.match(r"hloscope[^\n]*\[OPTIONS\]", match[2]) or re.match(
            r"hloscope passes [A-Z|]+", match[2]
        ):
            continue
        language = match[1].split()[0] if match[1].strip() else ""
        if match[2].strip():
            found.append((text.count("\n", 0, match.start()) + 2, language, match[2]))
    return found


def shape(line: str) -> str:
    """A line without what differs from run to run: numbers, units that follow their size, hashes,
    paths, paddings, rules of tables."""
    line = re.sub(r"[─-]{2,}", "", line)
    line = re.sub(r"\b(?=[0-9a-f]*\d)[0-9a-f]{6,}\b", "@", line)
    line = re.sub(r"/[\w./-]+/", "/", line)
    line = re.sub(
        r"[-+]?\d[\d,.:_]*(e[-+]?\d+)?( ?(ns|µs|us|ms|s|B|KiB|MiB|GiB|k|M|G|%)\b|%)?", "#", line
    )
    line = re.sub(r"[–-](?=\s|$)", "#", line)
    return " ".join(line.split())


def missing(shown: list[str], printed: str) -> str | None:
    """The first shown line that the output does not have after those before it; `...` stands for
    any text."""
    have = [shape(line) for line in printed.splitlines()]
    at = 0
    for line in shown:
        want = shape(line)
        if not want or set(want) <= set("#@. "):
            continue
        pattern = re.compile(
            re.escape(want).replace(re.escape("..."), ".*") + ("" if "..." in want else "$")
        )
        while at < len(have) and not pattern.match(have[at]):
            at += 1
        if at == len(have):
            return line
        at += 1
    return None


class Page:
    def __init__(
        self,
        path: pathlib.Path,
        root: pathlib.Path,
        hloscope: pathlib.Path,
        rules: list[dict],
        network: bool,
    ):
        self.network = network
        self.name = str(path.relative_to(root))
        self.rules = [rule for rule in rules if self.name.endswith(rule["page"])]
        self.text = path.read_text(encoding="utf-8")
        self.world = world.World(root, hloscope)
        self.failures = []
        self.skips = []
        self.ran = 0

    def rule(self, command: str) -> dict | None:
        for rule in self.rules:
            if command.startswith(rule["start"]):
                rule["used"] = True
                return rule
        return None

    def run(self, line: int, command: str, shown: list[str]) -> None:
        code = 0
        rule = self.rule(command)
        if rule and rule["kind"] == "needs":
            self.skips.append(f"{rule['value']}: {command}")
            return
        if rule and rule["kind"] == "network" and not self.network:
            self.skips.append(f"a network: {command}")
            return
        limit = LIMIT
        if rule and rule["kind"] == "network":
            limit = NETWORK_LIMIT
        if rule and rule["kind"] in ("exit", "network"):
            code = int(rule["value"])
        if rule and rule["kind"] == "as":
            command = rule["value"]
        lacks = self.world.lacks(command)
        if lacks:
            self.skips.append(f"{lacks}: {command}")
            return
        self.world.provide(command)
        done = self.world.shell(command, limit)
        if limit == NETWORK_LIMIT and NO_INDEX in done.stdout:
            self.skips.append(f"{NO_INDEX}: {command}")
            return
        self.ran += 1
        if done.returncode != code:
            self.failures.append(
                f"{self.name}:{line}: `{command}` ended with {done.returncode}, not"
                f" {code}:\n{done.stdout[-1500:]}"
            )
            return
        lost = missing(shown, done.stdout)
        if lost is not None:
            self.failures.append(
                f"{self.name}:{line}: `{command}` does not print:"
                f" {lost.strip()}\n{done.stdout[:2500]}"
            )

    def block(self, line: int, language: str, body: str) -> None:
        lines = body.splitlines()
        if language == "python":
            try:
                compile(body, f"{self.name}:{line}", "exec")
                self.ran += 1
            except SyntaxError as error:
                self.failures.append(f"{self.name}:{line}: {error}")
            return
        if language not in ("", "sh", "bash", "console"):
            return
        if self.rule(lines[0]) and self.rule(lines[0])["kind"] == "text":
            return
        if lines[0].startswith("$ "):
            starts = [i for i, text in enumerate(lines) if text.startswith("$ ")] + [len(lines)]
            for first, after in zip(starts, starts[1:]):
                self.run(line + first, lines[first][2:], lines[first + 1 : after])
            return
        joined = re.sub(r"\\\n\s*", "", body)
        if re.match(r"(for|if|while) ", joined) or "<<" in joined:
            self.run(line, joined.rstrip("\n"), [])
            return
        # A quote that is open at the end of a line goes on in the next one.
        while True:
            lines_open = re.sub(
                r'^((?:[^"\n]|"[^"\n]*")*"[^"\n]*)\n\s*', r"\1 ", joined, flags=re.M
            )
            if lines_open == joined:
                break
            joined = lines_open
        for offset, text in enumerate(joined.splitlines()):
            command = re.sub(r"\s{2,}#.*", "", text).strip()
            if command and not command.startswith("#"):
                self.run(line + offset, command, [])

    def check(self) -> None:
        for line, language, body in blocks(self.text):
            self.block(line, language, body)
        self.world.close()


def main() -> int:
    hloscope = pathlib.Path(sys.argv[1]).resolve()
    root = pathlib.Path(sys.argv[2]).resolve()
    network = "--network" in sys.argv[3:]
    chosen = [argument for argument in sys.argv[3:] if argument != "--network"]
    rules = read_rules()
    todo = [p for p in pages(root) if not chosen or any(str(p).endswith(c) for c in chosen)]
    todo = [p for p in todo if blocks(p.read_text(encoding="utf-8"))]
    failed = 0
    print(f"1..{len(todo) + (0 if chosen else 1)}")
    for number, path in enumerate(todo, 1):
        page = Page(path, root, hloscope, rules, network)
        page.check()
        failed += bool(page.failures)
        print(
            f"{'not ok' if page.failures else 'ok'} {number} - {page.name}: {page.ran} run,"
            f" {len(page.skips)} not",
            flush=True,
        )
        for text in page.failures + [f"not run: {skip}" for skip in page.skips]:
            print("\n".join("# " + line for line in text.splitlines()))
    if not chosen:
        stale = [rule for rule in rules if not rule["used"]]
        failed += bool(stale)
        print(
            f"{'not ok' if stale else 'ok'} {len(todo) + 1} - every row of lines.tsv matches a line"
        )
        for rule in stale:
            print(
                f"# lines.tsv:{rule['number']}: nothing starts with `{rule['start']}` in"
                f" {rule['page']}"
            )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
