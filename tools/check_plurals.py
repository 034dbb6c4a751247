#!/usr/bin/env python3
"""No text that hloscope prints says "1 collectives": every golden output and every page of the
documents is looked through for a 1 that is joined with a plural. src/base/text/text.h has
hsc_plural, which chooses the word."""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
# a 1 by itself, not the end of a number, a name or a range ("1 of 1 checks" is English), then a
# word that ends like a plural
JOINED = re.compile(r"(?<![\w.,:/=+*%()\[\]{}#-])(?<!\d )(?<!\d of )1 ([a-z]+s)\b")
# verbs, units, and singular words that end in s
NOT_PLURALS = {
    "is",
    "was",
    "has",
    "does",
    "this",
    "as",
    "its",
    "less",
    "means",
    "says",
    "gives",
    "makes",
    "takes",
    "needs",
    "ms",
    "ns",
    "us",
    "s",
    "class",
    "process",
    "pass",
    "miss",
    "address",
    "bus",
    "series",
    "always",
    "unless",
    "across",
    "ours",
    "his",
    "access",
    "bias",
    "progress",
}


def findings(path):
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        for match in JOINED.finditer(line):
            if match.group(1) not in NOT_PLURALS:
                yield f"{path.relative_to(ROOT)}:{number}: '{match.group(0)}'"


def main():
    files = [
        *(path for path in ROOT.glob("tests/golden/*/*/std*") if path.is_file()),
        *ROOT.glob("docs/**/*.md"),
        ROOT / "README.md",
    ]
    found = [line for path in sorted(files) for line in findings(path)]
    for line in found:
        print(f"{line}: hsc_plural(count, one, many) chooses the word")
    print(f"{len(files)} files, {len(found)} a 1 with a plural")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
