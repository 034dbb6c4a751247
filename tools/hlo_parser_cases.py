#!/usr/bin/env python3
"""hlo_parser_cases.py - what becomes of the modules in XLA's own parser tests.

    tools/hlo_parser_cases.py build/hloscope xla/hlo/parser/hlo_parser_test.cc [--show]

Takes the path of the test file in a checkout of XLA (nothing of it is kept here), reads every raw
string that holds an HLO module or a single instruction, and gives it to `hloscope convert`: HLO
text out, read again, and written again. A case is
  same       read, and what was written reads to the same text
  refused    UNIMPLEMENTED, or an error that names what is wrong: of use only where XLA refuses it
             as well
  differs    the second text is another one
Whether XLA itself takes a case is told by what the test does with it: cases whose test function
expects an error are `bad`.
--show prints each case that was not taken, with the reason. Exit code 1 when a text that XLA takes
is refused with anything but UNIMPLEMENTED.
"""

import argparse
import collections
import re
import subprocess
import sys
import tempfile
from pathlib import Path

RAW = re.compile(r'R"([A-Za-z_0-9]*)\((.*?)\)\1"', re.S)
JOIN = re.compile(r'\)"\s*R"\(')  # pieces that the compiler puts together
TEST = re.compile(r"^TEST_?[FP]?\((\w+),\s*(\w+)\)", re.M)


def cases(source):
    """(name, text, expected to fail) of every module in the file."""
    marks = [(m.start(), f"{m.group(1)}.{m.group(2)}") for m in TEST.finditer(source)] or [
        (0, "file")
    ]
    for m in RAW.finditer(source):
        text = m.group(2)
        if not ("HloModule" in text or re.search(r"\w\(.*\)", text)) or text.lstrip().startswith(
            "{"
        ):
            continue  # an attribute by itself
        owners = [i for i, (at, _) in enumerate(marks) if at <= m.start()]
        if owners:
            begin, name = marks[owners[-1]]
            end = marks[owners[-1] + 1][0] if owners[-1] + 1 < len(marks) else len(source)
            body = source[begin:end]
            # A test that only looks at a status that is not OK.
            bad = bool(
                re.search(
                    r"EXPECT_FALSE\(\w+\.ok|(ASSERT|EXPECT)_NE\([^;]*(OkStatus|\.status)|StatusIs|ExpectHasSubstr\((?!module)|status\(\)[^;]*HasSubstr\(",
                    body,
                )
            )
        else:
            before = source[: m.start()]
            names = re.findall(r'^\{?\s*"(\w+)",\s*$', before[-400:], re.M)
            name, bad = (names[-1] if names else f"line {before.count(chr(10)) + 1}"), False
        yield name, text, bad


def convert(hloscope, path, out):
    return subprocess.run(
        [hloscope, "convert", str(path), "-o", str(out), "--to", "hlo"],
        capture_output=True,
        text=True,
        errors="replace",
    )


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("hloscope")
    arguments.add_argument("test_file")
    arguments.add_argument("--show", action="store_true")
    options = arguments.parse_args()
    source = JOIN.sub("", Path(options.test_file).read_text(errors="replace"))
    counts, wrong = collections.Counter(), []
    with tempfile.TemporaryDirectory() as folder:
        first, second, third = (Path(folder) / n for n in ("a.hlo", "b.hlo", "c.hlo"))
        for name, text, bad in cases(source):
            first.write_text(text)
            result = convert(options.hloscope, first, second)
            if result.returncode < 0:
                verdict, reason = "crash", str(result.returncode)
            elif result.returncode:
                reason = " ".join(result.stderr.split())
                verdict = (
                    "bad, refused"
                    if bad
                    else "unsupported"
                    if result.returncode == 3
                    else "REFUSED"
                )
            else:
                again = convert(options.hloscope, second, third)
                reason = " ".join(again.stderr.split())
                same = again.returncode == 0 and second.read_text() == third.read_text()
                verdict = ("bad, taken" if bad else "same") if same else "DIFFERS"
            counts[verdict] += 1
            if verdict in ("REFUSED", "DIFFERS", "crash"):
                wrong.append(name)
            if options.show and verdict not in ("same", "bad, refused"):
                print(f"{verdict:12} {name}: {reason[:300]}")
    print(", ".join(f"{count} {verdict}" for verdict, count in sorted(counts.items())))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
