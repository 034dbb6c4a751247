#!/usr/bin/env python3
"""The summary of tools/run_tests.py: what is skipped is listed by its reason, and what gives none, or
the tail of a traceback, counts as failed. TAP.

test_reasons.py SOURCE_ROOT
"""

import json
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(sys.argv[1]) / "tools"))
import run_tests  # noqa: E402

TRACEBACK = "Traceback (most recent call last):"
LOG = [
    {"name": "whole", "result": "SKIP", "stdout": "1..0 # SKIP jax is not installed here\n"},
    {
        "name": "part",
        "result": "OK",
        "stdout": "ok 1 - a # SKIP jax is not installed here\nok 2 - b\n",
    },
    {"name": "tail", "result": "OK", "stdout": f"ok 1 - a # SKIP {TRACEBACK}\n"},
    {"name": "mute", "result": "SKIP", "stdout": ""},
    {"name": "bare", "result": "OK", "stdout": "ok 1 - c # SKIP\n"},
    {"name": "page", "result": "OK", "stdout": f"ok 1 - d # SKIP {'x ' * 200}\n"},
]

with tempfile.TemporaryDirectory() as folder:
    log = pathlib.Path(folder) / "log.json"
    log.write_text("".join(json.dumps(line) + "\n" for line in LOG), encoding="utf-8")
    reasons = run_tests.skips_by_reason(log)
checks = {
    "one reason, all that was skipped for it": reasons["jax is not installed here"]
    == ["whole", "part: a"],
    "what has no plain sentence is a failure": sorted(
        text.split(":")[0] for text in run_tests.unreasoned(reasons)
    )
    == ["bare", "mute", "page", "tail"],
}
print(f"1..{len(checks)}")
for number, (name, holds) in enumerate(checks.items(), 1):
    print(f"{'ok' if holds else 'not ok'} {number} - {name}")
    if not holds:
        print(f"# {reasons} {run_tests.unreasoned(reasons)}")
sys.exit(not all(checks.values()))
