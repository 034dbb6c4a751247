#!/usr/bin/env python3
"""Writes, or with --check compares, docs/reference/*.md from the .def tables.

    tools/reference_pages.py [--check]

A page has the rows of one table; what is not in a row cannot be on its page.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGES = ROOT / "docs" / "reference"

# page: (table, macro, title, introduction, heading, indices of the columns that are shown)
TABLES = {
    "ops.md": (
        "src/hlo/ir/ops.def",
        "OP",
        "Operations",
        "Every HLO operation and what it does.",
        ["operation", "operands", "traits", "does"],
        [1, 2, 3, 6],
    ),
    "types.md": (
        "src/hlo/ir/types.def",
        "TYPE",
        "Element types",
        "Every element type of XLA; one element takes N bytes in memory.",
        ["type", "number in xla_data.proto", "bytes", "class", "value bits"],
        [1, 2, 3, 4, 5],
    ),
    "formats.md": (
        "src/formats/common/formats.def",
        "FORMAT",
        "Program formats",
        "Formats that programs are read from and written to.",
        ["format", "file names", "is"],
        [1, 2, 3],
    ),
    "passes.md": (
        "src/passes/manager/passes.def",
        "PASS",
        "Passes",
        (
            "Passes of the built-in device; the names are XLA's where XLA has the pass. `on"
            " request`: the device's own kernel is faster than what the pass makes, so it runs only"
            " when `xla_enable_hlo_passes_only` or `hloscope_enable_hlo_passes` names it."
        ),
        ["pass", "room", "runs in", "does"],
        [1, 2, 0, 3],
    ),
    "pass_gaps.md": (
        "src/passes/manager/pass_gaps.def",
        "GAP",
        "What XLA's passes do and hloscope's do not",
        (
            "Found by going through XLA's own tests of each pass. A pass that is not here does what"
            " XLA's tests show, as far as they are about a CPU; the single rules of the algebraic"
            " simplifier are listed, tried on an example each, by `hloscope passes explain"
            " algsimp`."
        ),
        ["pass", "XLA's", "why not"],
        [0, 1, 2],
    ),
    "algsimp_rules.md": (
        "src/passes/algsimp/rules.def",
        "RULE",
        "Rules of the algebraic simplifier",
        (
            "What `algsimp` rewrites, in the order in which the rules of an operation are tried. A"
            " rule is named `algsimp/RULE` where passes are named: `--disable`, `--pass-fuel`,"
            " `passes ablate --only`. `hloscope passes explain algsimp/RULE` shows one with its"
            " example before and after; `passes explain algsimp` says which options are on."
        ),
        ["rule", "operations", "needs option", "what becomes what"],
        [0, 1, 2, 3],
    ),
    "views.md": (
        "src/views/views.def",
        "VIEW",
        "Views",
        "What `hloscope tables CAPTURE VIEW` shows.",
        ["view", "shows"],
        [1, 2],
    ),
    "profile_views.md": (
        "src/views/profile_views.def",
        "PROFILE_VIEW",
        "Views of profiles",
        "What `hloscope tables PROFILE VIEW` shows of an XSpace.",
        ["view", "shows"],
        [1, 2],
    ),
    "sinks.md": (
        "src/trace/sinks.def",
        "SINK",
        "Export forms",
        "What `hloscope export CAPTURE --to=FORM` writes.",
        ["form", "file names", "for"],
        [1, 2, 3],
    ),
    "pjrt.md": (
        "src/pjrt/functions.def",
        "FN",
        "Functions of the PJRT C API",
        (
            "What the interface has, in the order of its table; `REQUIRED` is what JAX or"
            " PyTorch/XLA stop without. The minor version is the first one with the function; 29"
            " stands for 0.29 or before."
        ),
        ["function", "need", "minor version", "does"],
        [0, 1, 2, 3],
    ),
    "environment.md": (
        "src/base/core/variables.def",
        "VARIABLE",
        "Environment variables",
        "Every environment variable that hloscope reads.",
        ["variable", "value", "does"],
        [0, 1, 2],
    ),
    "answers.md": (
        "src/worker/answers.def",
        "MEMBER",
        "Answers of workers",
        (
            "The records in what a [worker](../formats/worker.md) answers, member by member."
            " `record` is an element of `records` of `run`, `output` one of its `outputs`"
            " (`assembly`: what it has besides on several devices), `bounded` one of `bounds`;"
            " `origin` is `nan`, `infinity` and `lost_digits` of `bounds`; `code` is among what"
            " `describe` and `compile` answer, `memory` their member; `reading` is `program` of the"
            " first answer about one; `work` is what `work` answers. COUNT, a whole number, and"
            " REAL are null where they are not known; IF_TEXT is missing where there is none."
        ),
        ["record", "kind", "member", "is"],
        [0, 1, 2, 3],
    ),
    "codes.md": (
        "src/base/core/codes.def",
        "CODE",
        "Status codes",
        "What an error's `code` says; the numbers are those of PJRT.",
        ["code", "number", "meaning", "advice"],
        [0, 1, 2, 3],
    ),
}
CODE_COLUMNS = {
    "member",
    "function",
    "operation",
    "type",
    "format",
    "pass",
    "code",
    "file names",
    "variable",
    "value",
    "view",
    "form",
    "rule",
}


def fields(row: str) -> list[str]:
    """Splits the arguments of a macro call; strings are taken out of their quotes."""
    parts, at, depth = [""], 0, 0
    while at < len(row):
        char = row[at]
        if char == '"':
            end = at + 1
            while row[end] != '"':
                end += 2 if row[end] == "\\" else 1
            parts[-1] += row[at + 1 : end].replace('\\"', '"')
            at = end
        elif char == "," and depth == 0:
            parts.append("")
        else:
            depth += {"(": 1, ")": -1}.get(char, 0)
            parts[-1] += char
        at += 1
    return [part.strip() for part in parts]


def pipelines_of_passes() -> dict[str, str]:
    """By a pass's id: the pipelines that run it, and whether only on request."""
    runs: dict[str, list[str]] = {}
    name = ""
    for kind, row in re.findall(
        r"^\s*(PIPELINE|RUN|ON_REQUEST)\((.*)\)\s*$",
        (ROOT / "src/passes/manager/pipelines.def").read_text(encoding="utf-8"),
        re.MULTILINE,
    ):
        parts = fields(row)
        if kind == "PIPELINE":
            name = parts[1]
            continue
        note = f"{name}, on request" if kind == "ON_REQUEST" else name
        if note not in runs.setdefault(parts[0], []):
            runs[parts[0]].append(note)
    return {key: "; ".join(notes) for key, notes in runs.items()}


def operations_of(cell: str) -> str:
    """OPS(HSC_OP_MAXIMUM, HSC_OP_MINIMUM) by the names that HLO has for them."""
    if cell == "ANY_OP":
        return "any"
    text = (ROOT / "src/hlo/ir/ops.def").read_text(encoding="utf-8")
    names = dict(re.findall(r'^OP\((\w+), *"([^"]+)"', text, re.MULTILINE))
    return ", ".join(names[op] for op in re.findall(r"HSC_OP_(\w+)", cell))


def page(
    table: str, macro: str, title: str, introduction: str, heading: list[str], columns: list[int]
) -> str:
    text = (ROOT / table).read_text(encoding="utf-8")
    # only a rule's row goes over several lines
    over_lines = re.DOTALL if macro == "RULE" else 0
    pattern = re.compile(rf"^{macro}\((.*?)\)\s*$", re.MULTILINE | over_lines)
    rows = [fields(match) for match in pattern.findall(text)]
    if not rows:
        raise SystemExit(f"{table}: no row {macro}(...)")
    lines = [
        f"# {title}",
        "",
        f"{introduction} Made by `make docs` from `{table}`, {len(rows)} rows.",
        "",
        "| " + " | ".join(heading) + " |",
        "|" + "---|" * len(heading),
    ]
    for row in rows:
        cells = []
        for name, column in zip(heading, columns):
            cell = row[column].replace("|", "\\|")
            if name == "traits":
                cell = (
                    ""
                    if cell == "0"
                    else ", ".join(trait.strip().lower() for trait in row[column].split("|"))
                )
            elif name in ("operands", "needs", "class"):
                cell = {"VARIADIC": "any", "NONE": ""}.get(cell, cell.lower())
            elif name == "needs option":
                option = re.match(r"WITH\((\w+)", cell)
                cell = f"`{option[1]}`" if option else ""
            elif name == "operations":
                cell = operations_of(cell)
            elif name == "runs in":
                cell = pipelines_of_passes().get(cell, "by its name only")
            elif name in CODE_COLUMNS and cell:
                cell = f"`{cell}`"
            cells.append(cell)
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def main() -> int:
    check = "--check" in sys.argv[1:]
    bad = 0
    for name, table in TABLES.items():
        path = PAGES / name
        new = page(*table)
        if path.exists() and path.read_text(encoding="utf-8") == new:
            continue
        if check:
            print(f"docs/reference/{name}: differs from {table[0]}; `make docs` rewrites it")
            bad += 1
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(new, encoding="utf-8")
            print(f"docs/reference/{name}: rewritten")
    if not bad:
        print(f"{len(TABLES)} pages agree with their tables")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
