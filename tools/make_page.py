#!/usr/bin/env python3
"""Puts the report page together: make_page.py SOURCE_DIR OUTPUT.c

page.html with its style, the charts library and its own scripts inside becomes a C string in two
halves; the data go between them.
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
    page = page.replace(
        "/*ECHARTS*/", script((ROOT / "third_party/echarts/echarts.min.js").read_text())
    )
    own = "\n".join(
        line
        for name in SCRIPTS
        for line in (folder / name).read_text().split("\n")
        if not line.lstrip().startswith("//")
    )
    page = page.replace("/*JS*/", script('"use strict";\n(() => {\n' + own + "\n})();"))
    before, after = page.split("/*DATA*/")
    output.write_text(
        "// Made by tools/make_page.py.\n#include <stddef.h>\n\n"
        + "extern const char hsc__page_before[], hsc__page_after[];\nextern const size_t"
        " hsc__page_before_size, hsc__page_after_size;\n\n"
        + c_string("hsc__page_before", before)
        + "\n"
        + c_string("hsc__page_after", after)
    )


if __name__ == "__main__":
    main()
