#!/usr/bin/env python3
"""The proofs of the knowledge base that are programs: each compiler that is installed says what the
entry says. Skipped where none is.

tests/real/knowledge.py build/hloscope        speaks TAP
"""

import re
import subprocess
import sys

checked = subprocess.run(
    [sys.argv[1], "knowledge", "check", "--programs"], capture_output=True, text=True
)
note = re.search(r"(\d+) of (\d+) programs run: (\d+) problem", checked.stdout)
print("1..1")
if not note or checked.returncode or note.group(3) != "0" or int(note.group(1)) < 1:
    print(
        "not ok 1 - programs show their entries",
        *checked.stdout.splitlines(),
        *checked.stderr.splitlines(),
        sep="\n# ",
    )
    sys.exit(1)
print(f"ok 1 - programs show their entries ({note.group(1)} of {note.group(2)} run)")
