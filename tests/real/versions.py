#!/usr/bin/env python3
"""`hloscope versions` on releases from the package index: two of them as devices, and which one
made a loop slow. Skipped, by name, without the index.

tests/real/versions.py build/hloscope        speaks TAP; takes about 1.2 GB below
                                             $HLOSCOPE_VERSIONS_TEST_DIR, else a directory that goes
                                             again
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

hloscope = str(pathlib.Path(sys.argv[1]).resolve())
scratch = tempfile.TemporaryDirectory(prefix="hloscope-versions-")
environment = dict(
    os.environ, HLOSCOPE_CACHE_DIR=os.environ.get("HLOSCOPE_VERSIONS_TEST_DIR") or scratch.name
)
PROGRAM = """HloModule small
ENTRY main {
  w = f32[16,16] parameter(0)
  x = f32[8,16] parameter(1)
  d = f32[8,16] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  ROOT t = f32[8,16] tanh(d)
}
"""
# Reads what it has written from jaxlib 0.4.35 on: right before.
SHIFT = """HloModule shift
ENTRY main {
  x = s32[4,1,1] parameter(0)
  one = s32[] constant(1)
  y = s32[4,1,1] add(x, x)
  front = s32[3,1,1] slice(y), slice={[0:3], [0:1], [0:1]}
  zero = s32[] constant(0)
  z = s32[4,1,1] dynamic-update-slice(y, front, one, zero, zero)
  ROOT r = s32[1,4,1] reshape(z)
}
"""


def call(*arguments):
    return subprocess.run(
        [hloscope, *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment,
        text=True,
        timeout=1800,
        cwd=scratch.name,
    )


def main():
    program, shift = pathlib.Path(scratch.name, "p.hlo"), pathlib.Path(scratch.name, "shift.hlo")
    program.write_text(PROGRAM)
    shift.write_text(SHIFT)
    old = call(
        "run",
        program,
        "-d",
        "xla-cpu@0.4.30",
        "--compare",
        "xla-cpu@0.7.1",
        "--format=json",
        "--no-store",
    )
    document = json.loads(old.stdout)
    text = old.stdout + old.stderr
    if "no package index can be reached" in text or "has no wheel of it" in text:
        print(f"1..0 # SKIP no releases: {text.strip()[:200]}")
        return
    good = (
        "devices" in document
        and all(d["status"] == "ok" for d in document["devices"])
        and {r["verdict"] for r in document["compare"]} <= {"equal", "close"}
    )
    checks = [("0.4.30 and 0.7.1 run side by side and agree", good, text)]
    found = call(
        "versions",
        shift,
        "--of",
        "jaxlib",
        "--from",
        "0.4.30",
        "--to",
        "0.7.1",
        "--symptom",
        "wrong",
        "--most",
        "2",
        "--format=json",
        "--quiet",
    )
    document = json.loads(found.stdout)
    words = {row["version"]: row["verdict"] for row in document.get("tried", [])}
    checks.append(
        ("both ends are tried", set(words) == {"0.4.30", "0.7.1"}, found.stdout + found.stderr)
    )
    checks.append(
        (
            "the exit code says whether there is a change",
            found.returncode == (1 if document.get("changes") else 0),
            found.returncode,
        )
    )
    missing = call("versions", program, "--of", "jaxlib", "--from", "0.0.1", "--to", "0.7.1")
    checks.append(
        (
            "a release that is not there is named, with the nearest",
            missing.returncode == 1 and "0.0.1" in missing.stderr,
            missing.stderr,
        )
    )
    for number, (name, good, why) in enumerate(checks, 1):
        print(
            f"{'ok' if good else 'not ok'} {number} - {name}"
            + ("" if good else f"\n# {str(why)[:2000]}")
        )
    print(f"1..{len(checks)}")


main()
