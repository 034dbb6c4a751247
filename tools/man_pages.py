#!/usr/bin/env python3
"""Manual pages from the pages of the commands: man_pages.py OUTPUT-DIR PAGE.md...

docs/commands/run.md becomes hloscope-run.1 and docs/commands/README.md hloscope.1. Of Markdown it
knows what those pages use: headings, paragraphs, lists, tables, code.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent


def escape(text: str) -> str:
    return text.replace("\\", "\\e").replace("-", "\\-")


def inline(text: str) -> str:
    """One line of a paragraph: code bold, links as their text."""
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text).replace("\\|", "|")
    parts = re.split(r"`([^`]*)`|\*\*([^*]*)\*\*", text)
    out = ""
    for at in range(0, len(parts), 3):
        out += escape(parts[at] or "")
        strong = "".join(part or "" for part in parts[at + 1 : at + 3])
        out += f"\\fB{escape(strong)}\\fR" if strong else ""
    return ("\\&" if out.startswith((".", "'")) else "") + out


def body(lines: list[str]) -> list[str]:
    out = []
    in_code = False
    for line, below in zip(lines, [*lines[1:], ""]):
        if line.startswith("```"):
            out.append(".EE" if in_code else ".PP\n.EX")
            in_code = not in_code
        elif in_code:
            out.append(("\\&" if line.startswith((".", "'")) else "") + escape(line))
        elif line.startswith("<!--") or any(
            re.fullmatch(r"\|[-| :]+\|", text) for text in (line, below)
        ):
            continue  # of a table its rows
        elif line.startswith("#"):
            out.append(f".SH {inline(line.lstrip('# ')).upper()}")
        elif line.startswith("|"):
            cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip().strip("|"))]
            rest = " ".join(inline(cell) for cell in cells[1:] if cell)
            out.append(f".TP\n{inline(cells[0]) or 'x'}\n{rest or '.br'}")
        elif re.match(r"[-*] ", line):
            out.append(f".IP \\(bu 2\n{inline(line[2:])}")
        elif not line.strip():
            out.append(".PP")
        else:
            out.append(inline(line.strip()))
    while out and out[-1] == ".PP":
        out.pop()
    return out


def page(path: pathlib.Path, version: str) -> tuple[str, str]:
    lines = path.read_text(encoding="utf-8").splitlines()
    name = "hloscope" if path.stem == "README" else f"hloscope-{path.stem}"
    says = [line for line in lines[1:] if line and not line.startswith(("<", "#", "|", "`", "-"))]
    what = re.sub(
        r"\.$",
        "",
        re.sub(
            r"[`*]|\[([^\]]*)\]\([^)]*\)",
            r"\1",
            says[0] if says else "a performance laboratory for XLA programs",
        ),
    )
    title = f'.TH {name.upper()} 1 "" "hloscope {version}" "User Commands"'
    rest = body(lines[1:])
    return (
        f"{name}.1",
        "\n".join(
            [title, ".SH NAME", f"{escape(name)} \\- {escape(what)}", ".SH DESCRIPTION", *rest]
        )
        + "\n",
    )


def main() -> int:
    target = pathlib.Path(sys.argv[1])
    version = (ROOT / "VERSION").read_text(encoding="utf-8").strip()
    target.mkdir(parents=True, exist_ok=True)
    for path in sys.argv[2:]:
        name, text = page(pathlib.Path(path), version)
        (target / name).write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
