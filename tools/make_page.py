#!/usr/bin/env python3
"""Puts the report page together: make_page.py SOURCE_DIR OUTPUT.c

page.html with its style and its own scripts inside becomes two C strings, the charts library a
third; page.c writes the data between the first two, and the charts only where a part draws some.
"""

import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
SCRIPTS = [
    "core.js",
    "tables.js",
    "patterns.js",
    "passes.js",
    "hlo.js",
    "follow.js",
    "difference.js",
    "timeline.js",
    "profile.js",
    "compare.js",
    "results.js",
    "main.js",
]


def script(text):
    """Text that is safe inside a script element: nothing in it ends the element."""
    for bad in ("</script", "<!--"):
        if bad in text.lower():
            text = text.replace("</script", "<\\/script").replace("<!--", "<\\!--")
    return text


def c_string(name, text):
    lines = [f"const char {name}[] ="]
    data = text.encode()
    for at in range(0, len(data), 4000):
        piece = "".join(
            (
                chr(b)
                if 32 <= b < 127 and b not in (34, 92, 63)
                else "\\n"
                if b == 10
                else f"\\{b:03o}"
            )
            for b in data[at : at + 4000]
        )
        lines.append(f'    "{piece}"')
    return "\n".join(lines) + f";\nconst size_t {name}_size = sizeof {name} - 1;\n"


def main():
    folder, output = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    page = (folder / "page.html").read_text()
    page = page.replace("/*CSS*/", (folder / "page.css").read_text())
    charts = script((ROOT / "third_party/echarts/echarts.min.js").read_text())
    own = "\n".join(
        line
        for name in SCRIPTS
        for line in (folder / name).read_text().split("\n")
        if not line.lstrip().startswith("//")
    )
    page = page.replace("/*JS*/", script('"use strict";\n(() => {\n' + own + "\n})();"))
    before, rest = page.split("/*DATA*/")
    # what ends the data's element and begins that of the charts is written by page.c
    after = rest.split("/*ECHARTS*/")[1]
    pieces = {"before": before, "charts": charts, "after": after}
    declared = ", ".join(f"hsc__page_{name}[]" for name in pieces)
    sizes = ", ".join(f"hsc__page_{name}_size" for name in pieces)
    output.write_text(
        "// Made by tools/make_page.py.\n#include <stddef.h>\n\n"
        f"extern const char {declared};\nextern const size_t {sizes};\n\n"
        + "\n".join(c_string(f"hsc__page_{name}", text) for name, text in pieces.items())
    )


if __name__ == "__main__":
    main()
