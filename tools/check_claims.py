#!/usr/bin/env python3
"""Measures the figures of README and docs/claims.md again and says which no longer hold.

    tools/check_claims.py                 every claim of docs/claims.tsv whose needs are met here
    tools/check_claims.py --only ID,...   these
    tools/check_claims.py --cheap         those that need nothing and take seconds: part of `make
                                          test` (TAP)
    tools/check_claims.py --page          writes docs/claims.md from the table
    ... | tools/check_claims.py --ratio run|compile      the mean ratio that a benchmark printed,
                                                         for the table's commands

A claim holds while its figure keeps the limit; a figure that has become better is printed beside
the old one. The exit code is 1 when one does not hold. What a claim needs: jax and xla-cpu
(HLOSCOPE_PYTHON), minutes, quiet (a machine that does nothing else: only with --quiet).
"""

import argparse
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
TABLE = ROOT / "docs" / "claims.tsv"
PAGE = ROOT / "docs" / "claims.md"
FIELDS = ("id", "text", "limit", "figure", "unit", "how", "needs", "command")


def claims():
    for number, row in enumerate(TABLE.read_text(encoding="utf-8").splitlines(), 1):
        if row and not row.startswith("#"):
            cells = row.split("\t")
            if len(cells) != len(FIELDS):
                raise SystemExit(f"{TABLE}:{number}: {len(cells)} cells, not {len(FIELDS)}")
            yield dict(zip(FIELDS, cells))


def sentence(claim) -> str:
    return claim["text"].replace("{}", f"**{claim['figure']}**")


def page() -> str:
    out = [
        "# Claims",
        "",
        (
            "What hloscope says of itself, and the command that shows it. `make check-claims`"
            " measures each figure again and names those that no"
        ),
        (
            "longer hold; the details are in [BENCHMARKS.md](BENCHMARKS.md), [ZOO.md](ZOO.md),"
            " [conform.md](conform.md) and [blame.md](blame.md)."
        ),
        "",
        "<!-- written by tools/check_claims.py --page from claims.tsv -->",
        "",
        "| claim | measured | holds while | command |",
        "|---|---|---|---|",
    ]
    for claim in claims():
        command = claim["command"].split(" | python3 ")[0].split(" 2>&1")[0].replace("|", "\\|")
        out.append(
            f"| {sentence(claim)} | {claim['how'] or 'counted'} |"
            f" {claim['limit'].replace('<=', '≤ ').replace('>=', '≥ ')} | `{command}` |"
        )
    return "\n".join(out) + "\n"


def holds(limit: str, value: float) -> bool:
    bound = float(limit[2:])
    return value <= bound if limit.startswith("<=") else value >= bound


def lacking(needs: str, options) -> str | None:
    for need in needs.split():
        if need in ("jax", "xla-cpu"):
            python = os.environ.get("HLOSCOPE_PYTHON", "")
            if (
                not python
                or subprocess.run(
                    [python, "-c", "import jax"], stderr=subprocess.DEVNULL, check=False
                ).returncode
            ):
                return "HLOSCOPE_PYTHON names no Python with JAX"
        if need == "minutes" and options.cheap:
            return "takes minutes"
        if need == "quiet" and not options.quiet:
            return "wants a quiet machine (--quiet)"
    return None


def mean_ratio(which: str) -> int:
    """From a table of bench/: the row of the geometric mean; compile ratio, then run ratio."""
    for line in sys.stdin:
        if "geometric mean" in line:
            found = re.findall(r"\*\*([0-9.]+) \(", line)
            print(found[0] if which == "compile" else found[-2] if len(found) > 2 else found[-1])
            return 0
    print("no row of a geometric mean", file=sys.stderr)
    return 1


def check(claim, options) -> tuple[str, str]:
    lacks = lacking(claim["needs"], options)
    if lacks:
        return "skip", lacks
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", claim["command"]],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    numbers = re.findall(r"-?[0-9]+(?:[.][0-9]+)?", done.stdout)
    if not numbers:
        return "no", f"the command printed no number: {(done.stderr or done.stdout).strip()[-200:]}"
    value = float(numbers[-1])
    return (
        "yes" if holds(claim["limit"], value) else "no"
    ), f"{numbers[-1]} {claim['unit']} (was {claim['figure']}, limit {claim['limit']})"


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", default="")
    parser.add_argument("--cheap", action="store_true")
    parser.add_argument("--quiet", action="store_true", help="the machine does nothing else")
    parser.add_argument("--page", action="store_true")
    parser.add_argument("--ratio", choices=["run", "compile"])
    options = parser.parse_args()
    if options.ratio:
        return mean_ratio(options.ratio)
    if options.page:
        PAGE.write_text(page(), encoding="utf-8")
        return 0
    chosen = [c for c in claims() if not options.only or c["id"] in options.only.split(",")]
    failed = 0
    print(f"1..{len(chosen) + 1}")
    for number, claim in enumerate(chosen, 1):
        state, text = check(claim, options)
        failed += state == "no"
        words = {
            "yes": f"ok {number} - {claim['id']}: {text}",
            "no": f"not ok {number} - {claim['id']}: {sentence(claim)}: no longer: {text}",
            "skip": f"ok {number} - {claim['id']} # SKIP {text}",
        }
        print(words[state], flush=True)
    current = PAGE.exists() and PAGE.read_text(encoding="utf-8") == page()
    failed += not current
    print(
        f"{'ok' if current else 'not ok'} {len(chosen) + 1} - docs/claims.md is written from the"
        " table (tools/check_claims.py --page)"
    )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
