#!/usr/bin/env python3
"""Writes a C file with an array of texts, one for each file, in the order given.

tools/embed_texts.py HEADER NAME OUTPUT FILE...
"""

import json
import pathlib
import sys


def main() -> int:
    header, name, output, *paths = sys.argv[1:]
    lines = [
        "// made by tools/embed_texts.py",
        f'#include "{header}"',
        "",
        f"const char *const {name}[] = {{",
    ]
    for path in paths:
        text = pathlib.Path(path).read_text(encoding="ascii")
        lines += [
            "    "
            + "\n    ".join(json.dumps(line) for line in text.splitlines(keepends=True))
            + ","
        ]
    pathlib.Path(output).write_text("\n".join(lines + ["};", ""]), encoding="ascii")
    return 0


if __name__ == "__main__":
    sys.exit(main())
