#!/usr/bin/env python3
"""Every page that an entry of knowledge/ refers to has a row in knowledge/references.txt that says
when and how it was looked at, and no row is left over.

tools/check_knowledge.py            exit code 1 and a line for each problem
"""

import datetime
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent / "knowledge"
HOW = ("opened", "there", "derived", "list", "not-opened")


def references():
    """URL -> the first entry that has it."""
    found = {}
    for path in sorted(ROOT.glob("*/*.entry")):
        section = re.search(
            r"^== references\n(.*?)(?=^== |\Z)",
            path.read_text(encoding="utf-8"),
            re.MULTILINE | re.DOTALL,
        )
        for line in section.group(1).splitlines() if section else []:
            if line.startswith("http"):
                found.setdefault(line.split()[0], path.relative_to(ROOT.parent))
    return found


def problems():
    wanted, rows = references(), {}
    for number, line in enumerate(
        (ROOT / "references.txt").read_text(encoding="utf-8").splitlines(), 1
    ):
        if not line or line.startswith("#"):
            continue
        parts = line.split(None, 3)
        place = f"knowledge/references.txt:{number}"
        if len(parts) < 4 or parts[1] not in HOW:
            yield f"{place}: not DATE, one of {', '.join(HOW)}, URL, what was seen"
            continue
        try:
            datetime.date.fromisoformat(parts[0])
        except ValueError:
            yield f"{place}: {parts[0]} is no date"
        if parts[2] in rows:
            yield f"{place}: {parts[2]} has a row already"
        rows[parts[2]] = number
        if parts[2] not in wanted:
            yield f"{place}: no entry refers to {parts[2]}"
    if list(rows) != sorted(rows):
        yield "knowledge/references.txt: rows are not sorted by URL"
    for url, path in wanted.items():
        if url not in rows:
            yield (
                f"{path}: {url} has no row in knowledge/references.txt: open it, and say when and"
                " what was seen"
            )


def main():
    found = list(problems())
    print("\n".join(found) if found else f"{len(references())} references, each looked at")
    return 1 if found else 0


sys.exit(main())
