#!/usr/bin/env python3
"""Commands that pages name within a sentence or a table: the verb, its options, the target of make
and the name in the Python package must be there (TAP on stdout). Blocks are run by check_docs.py.

    tests/docs/check_inline.py build/hloscope ROOT
"""

import ast
import functools
import pathlib
import re
import subprocess
import sys

HLOSCOPE = sys.argv[1]
ROOT = pathlib.Path(sys.argv[2]).resolve()
# Written for others: a page of what was, of the past, of a package that is not ours
NOT_OURS = ("CHANGELOG.md", "docs/hunt.md")
NAMES = ("hloscope cpu", "hloscope memory")  # planes of a profile
EVERYWHERE = ("-h", "--help", "-q", "--quiet", "--format", "--color")


@functools.cache
def help_of(*words: str) -> str:
    """The help of a command or of one of its verbs; empty where there is none."""
    done = subprocess.run([HLOSCOPE, *words, "--help"], capture_output=True, text=True)
    return done.stdout if done.returncode == 0 else ""


@functools.cache
def targets() -> set[str]:
    return set(
        re.findall(r"^([a-z][\w-]*)(?= *:(?!=)|.*: ## )", (ROOT / "Makefile").read_text(), re.M)
    )


@functools.cache
def python_names() -> set[str]:
    stub = ast.parse((ROOT / "python/hloscope/__init__.pyi").read_text())
    names = {node.name for node in stub.body if hasattr(node, "name")}
    names |= {
        a.asname or a.name for n in stub.body if isinstance(n, ast.ImportFrom) for a in n.names
    }
    return names


def verbs_of(command: str) -> set[str]:
    part = re.search(r"^Verbs\n((?:  .*\n)+)", help_of(command), re.M)
    return set(re.findall(r"^  (\S+)", part[1], re.M)) if part else set()


def faults_of_command(words: list[str]) -> list[str]:
    """What `hloscope WORDS` names that is not there."""
    if not words or not re.fullmatch(r"[a-z]+", words[0]):
        return []  # hloscope COMMAND --help
    command = words[0]
    if not help_of(command):
        return [f"no command {command}"]
    verbs = verbs_of(command)
    asked = [word for word in words[1:] if word in verbs][:1]
    text = help_of(command, *asked)
    faults = []
    for word in words[1:]:
        if word == "--":  # what follows is another program
            break
        option = re.match(r"(--[a-z][\w-]*|-[a-zA-Z])(?=$|=)", word)
        if not option or option[1] in EVERYWHERE:
            continue
        if not re.search(rf"(^|[\s,]){option[1]}(?![\w-])", text, re.M):
            faults.append(f"{' '.join([command, *asked])} has no {option[1]}")
    return faults


def faults_of_span(span: str) -> list[str]:
    if span in NAMES:
        return []
    faults = []
    for part in re.split(r"&&|;|(?<!\\)\| ", span.replace("\\|", "|")):
        words = part.split()
        if words and words[0].rsplit("/", 1)[-1] == "hloscope":
            faults += faults_of_command([word.strip("[]'\"") for word in words[1:]])
        elif len(words) > 1 and words[0] == "make" and re.fullmatch(r"[a-z-]+", words[1]):
            faults += [] if words[1] in targets() else [f"make has no {words[1]}"]
    for name in re.findall(r"\bhloscope\.([a-z]\w*)\(", span):
        faults += [] if name in python_names() else [f"the Python package has no {name}"]
    return faults


def main() -> int:
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), ROOT / "python/README.md"]
    pages = sorted(p for p in pages if str(p.relative_to(ROOT)) not in NOT_OURS)
    failed = spans = 0
    print(f"1..{len(pages) + 1}")
    for number, page in enumerate(pages, 1):
        text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.S | re.M)
        found = re.findall(r"(?<!`)`([^`\n]+)`(?!`)", text)
        spans += sum("hloscope " in span for span in found)
        faults = [f"`{span}`: {fault}" for span in found for fault in faults_of_span(span)]
        failed += bool(faults)
        print(f"{'not ok' if faults else 'ok'} {number} - {page.relative_to(ROOT)}")
        for fault in faults:
            print(f"# {fault}")
    enough = spans > 100
    failed += not enough
    print(f"{'ok' if enough else 'not ok'} {len(pages) + 1} - {spans} commands were found")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
