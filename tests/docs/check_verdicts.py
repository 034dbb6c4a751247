#!/usr/bin/env python3
"""Each test that docs/verdicts.md names is there.

usage: check_verdicts.py SOURCE      prints TAP
"""

import os
import re
import sys

root = sys.argv[1]
with open(os.path.join(root, "docs/verdicts.md"), encoding="utf-8") as page:
    named = re.findall(r"^\| (.+) \| `(tests/[^`]+)`: `([^`]+)` \|$", page.read(), re.M)
failed = 0
for number, (sentence, path, name) in enumerate(named, 1):
    place = os.path.join(root, path)
    held = False
    if os.path.exists(place):
        with open(place, encoding="utf-8") as file:
            held = name in file.read()
    failed += not held
    print(f"{'ok' if held else 'not ok'} {number} - {sentence}")
    if not held:
        print(f"# {path} has no {name}")
few = len(named) < 30  # the table has another form
print(f"{'not ok' if few else 'ok'} {len(named) + 1} - the table is read")
print(f"1..{len(named) + 1}")
sys.exit(1 if failed or few else 0)
