#!/usr/bin/env python3
"""Measures the figures of README and docs/claims.md again and says which no longer hold.

    tools/check_claims.py                 every claim of docs/claims.tsv whose needs are met here
    tools/check_claims.py --only ID,...   these
    tools/check_claims.py --cheap         those that need nothing and take seconds: part of `make
                                          test` (TAP)
    tools/check_claims.py --page          writes docs/claims.md from the table
    ... | tools/check_claims.py --ratio run|compile      the mean ratio that a benchmark printed,
                                                         for the table's commands

A claim has one figure or more, each with a limit: `>=`, `<=`, or `==` for what is counted; the
command's last numbers are the new figures. It holds while each keeps its limit; figures that have
become better are printed beside the old ones. The exit code is 1 when one does not hold. What a
claim needs: jax and xla-cpu (HLOSCOPE_PYTHON), compilers (installed by `hloscope devices
--install`), minutes, quiet (a machine that does nothing else: only with --quiet).

No number of README or of a claim is outside of this table: every one, in digits or as a word, is
found in the column `readme`, or among the figures of the claim that has it in its text. Names with
digits (a file, an option, h100, a report's number) are not figures; neither is what stands in code
before a comment, nor a heading.
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
README = ROOT / "README.md"
FIELDS = ("id", "text", "readme", "limits", "figures", "how", "needs", "command")
WORDS = "zero one two three four five six seven eight nine ten eleven twelve".split()


def claims():
    for number, row in enumerate(TABLE.read_text(encoding="utf-8").splitlines(), 1):
        if row and not row.startswith("#"):
            cells = row.split("\t")
            if len(cells) != len(FIELDS):
                raise SystemExit(f"{TABLE}:{number}: {len(cells)} cells, not {len(FIELDS)}")
            yield dict(zip(FIELDS, cells))


def filled(text: str, figures: list[str]) -> str:
    """The text with a figure in the place of each {}."""
    for figure in figures:
        text = text.replace("{}", figure, 1)
    return text


def sentence(claim) -> str:
    return filled(claim["text"], [f"**{figure}**" for figure in claim["figures"].split()])


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
            f" {shown_limits(claim['limits'])} | `{command}` |"
        )
    return "\n".join(out) + "\n"


def shown_limits(limits: str) -> str:
    for sign, shown in (("<=", "≤ "), (">=", "≥ "), ("==", "= ")):
        limits = limits.replace(sign, shown)
    return re.sub(r"(?<=\d) ", ", ", limits)


def holds(limit: str, value: str) -> bool:
    """Equality is of texts: 3.10 is a version and no 3.1."""
    if limit.startswith("=="):
        return value == limit[2:]
    bound = float(limit[2:])
    return float(value) <= bound if limit.startswith("<=") else float(value) >= bound


# ---- numbers outside of the table ---------------------------------------------------------------


def prose(markdown: str) -> str:
    """What is said: without headings, links' targets, names in code, lines of code but for their
    comments."""
    lines, in_code = [], False
    for line in markdown.splitlines():
        if line.startswith("```"):
            in_code = not in_code
        elif in_code:
            lines.append(line.partition("#")[2])
        elif not line.startswith("#"):
            lines.append(re.sub(r"`[^`]*`", "`", line))
    text = re.sub(r"\]\([^)]*\)", "]", "\n".join(lines))
    return re.sub(r"!\[[^]]*\]|\S+#\d+|https?://\S+", "", text)


def numbers(text: str) -> list[str]:
    """Numbers in digits and in words, but not within names: h100, Apache-2.0."""
    words = "|".join(WORDS[3:])  # "one" and "two" are mostly no numbers
    return re.findall(rf"(?<![\w.-])(?:\d[\d.,]*\d|\d)(?![\w-])|\b(?:{words})\b", text, re.I)


def said_in(text: str, phrase: str, figures: list[str]) -> str | None:
    """The phrase as the text has it, with its figures in digits or in words."""
    for names in (figures, [in_words(figure) for figure in figures]):
        pattern = r"\s+".join(re.escape(word) for word in filled(phrase, names).split())
        found = re.search(pattern, text)
        if found:
            return found[0]
    return None


def in_words(figure: str) -> str:
    return WORDS[int(figure)] if figure.isdigit() and int(figure) < len(WORDS) else figure


def untold() -> list[str]:
    """Numbers that no command measures, and phrases of the table that README does not have."""
    found = []
    text = prose(README.read_text(encoding="utf-8"))
    for claim in claims():
        figures = claim["figures"].split()
        if not len(figures) == len(claim["limits"].split()) == claim["text"].count("{}"):
            found.append(f"{claim['id']}: as many figures and limits as places in its text")
        found += [
            f"{claim['id']}: {number} stands in its text, not among its figures"
            for number in numbers(prose(claim["text"]))
        ]
        for phrase in filter(None, claim["readme"].split(" / ")):
            count = phrase.count("{}")
            said = said_in(text, phrase, figures[:count] if count else figures)
            if said:
                text = text.replace(said, "")
            else:
                found.append(f"{claim['id']}: README does not say: {filled(phrase, figures)}")
    found += [f"README: {number} is in no claim's figures" for number in numbers(text)]
    return found


# ---- measuring ----------------------------------------------------------------------------------


def lacking(needs: str, options) -> str | None:
    wanted = needs.split()
    # first what no package brings
    if "minutes" in wanted and options.cheap:
        return "takes minutes"
    if "quiet" in wanted and not options.quiet:
        return "wants a quiet machine (--quiet)"
    for need, module in (("jax", "jax"), ("xla-cpu", "jaxlib")):
        python = os.environ.get("HLOSCOPE_PYTHON", "")
        look = [python, "-c", f"import {module}"]
        if need in wanted and (
            not python or subprocess.run(look, stderr=subprocess.DEVNULL, check=False).returncode
        ):
            return f"HLOSCOPE_PYTHON names no Python with {module}"
    if "compilers" in wanted and not all_compilers():
        return "not all compilers of `hloscope devices --install xla-cpu,cuda,tpu` are installed"
    return None


def all_compilers() -> bool:
    """Whether the environment that `hloscope devices --install` makes has all three."""
    cache = os.environ.get("HLOSCOPE_CACHE_DIR") or os.path.expanduser("~/.cache/hloscope")
    found = [path.name for path in pathlib.Path(cache).glob("venv/lib/python*/site-packages/*")]
    return all(any(part in name for name in found) for part in ("jaxlib", "cuda", "libtpu"))


def mean_ratio(which: str) -> int:
    """From a table of bench/: how many programs, how many families they are of, and the geometric
    mean of the ratio that is asked for; how many are above 1."""
    families = set()
    for line in sys.stdin:
        name = re.match(r"\| ([a-z0-9]+)_", line)
        families |= {name[1]} if name else set()
        if "geometric mean" in line:
            count = re.search(r"mean of (\d+)", line)[1]
            found = re.findall(r"\*\*([0-9.]+) \(", line)
            above = re.search(r"above 1: (\d+)", line)
            if which == "zoo":
                print(count, len(families), found[1], above[1])
            else:
                print(count, found[0 if which == "compile" else -2])
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
    limits = claim["limits"].split()
    values = re.findall(r"-?[0-9]+(?:[.][0-9]+)?", done.stdout)[-len(limits) :]
    if len(values) < len(limits):
        said = (done.stderr or done.stdout).strip()[-200:]
        return "no", f"the command printed {len(values)} of {len(limits)} numbers: {said}"
    good = all(holds(limit, value) for limit, value in zip(limits, values))
    return (
        "yes" if good else "no"
    ), f"{' '.join(values)} (was {claim['figures']}, limits {claim['limits']})"


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", default="")
    parser.add_argument("--cheap", action="store_true")
    parser.add_argument("--quiet", action="store_true", help="the machine does nothing else")
    parser.add_argument("--page", action="store_true")
    parser.add_argument("--ratio", choices=["run", "compile", "zoo"])
    options = parser.parse_args()
    if options.ratio:
        return mean_ratio(options.ratio)
    if options.page:
        PAGE.write_text(page(), encoding="utf-8")
        return 0
    chosen = [c for c in claims() if not options.only or c["id"] in options.only.split(",")]
    failed = 0
    print(f"1..{len(chosen) + 2}")
    for number, claim in enumerate(chosen, 1):
        state, text = check(claim, options)
        failed += state == "no"
        words = {
            "yes": f"ok {number} - {claim['id']}: {text}",
            "no": f"not ok {number} - {claim['id']}: {sentence(claim)}: no longer: {text}",
            "skip": f"ok {number} - {claim['id']} # SKIP {text}",
        }
        print(words[state], flush=True)
    outside = untold()
    failed += bool(outside)
    print(
        f"{'not ok' if outside else 'ok'} {len(chosen) + 1} - every number of README and of the"
        " claims is measured by a command of the table"
    )
    print("".join(f"# {line}\n" for line in outside), end="")
    current = PAGE.exists() and PAGE.read_text(encoding="utf-8") == page()
    failed += not current
    print(
        f"{'ok' if current else 'not ok'} {len(chosen) + 2} - docs/claims.md is written from the"
        " table (tools/check_claims.py --page)"
    )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
