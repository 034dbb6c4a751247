"""Writes the numbered .sql files of this folder as one C array: embed.py OUTPUT FILE.sql..."""

import os
import sys

with open(sys.argv[1], "w", encoding="utf-8") as out:
    for path in sorted(sys.argv[2:]):
        number = int(os.path.basename(path)[:3])
        out.write(f'{{{number}, "{os.path.basename(path)}",\n')
        with open(path, encoding="utf-8") as sql:
            for line in sql:
                text = line.rstrip("\n").replace("\\", "\\\\").replace('"', '\\"')
                out.write(f'    "{text}\\n"\n')
        out.write("},\n")
