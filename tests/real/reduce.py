#!/usr/bin/env python3
"""`hloscope reduce` on a real jaxlib: the case of openxla/xla#49176 gets small, in all its forms.
Skipped where no jaxlib is found.

tests/real/reduce.py build/hloscope        speaks TAP
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

hloscope = str(pathlib.Path(sys.argv[1]).resolve())
scratch = tempfile.TemporaryDirectory(prefix="hloscope-reduce-")
environment = dict(os.environ, HLOSCOPE_CACHE_DIR=scratch.name)
if not environment.get("HLOSCOPE_PYTHON"):
    cache = os.environ.get("HLOSCOPE_CACHE_DIR") or os.path.join(
        os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "hloscope"
    )
    if os.path.exists(os.path.join(cache, "venv", "bin", "python")):
        os.symlink(os.path.join(cache, "venv"), os.path.join(scratch.name, "venv"))
# An in-place update that reads what it has written: wrong from jaxlib 0.7.0 on.
SHIFT = """HloModule shift
ENTRY main {
  x = s32[4,1,1] parameter(0)
  one = s32[] constant(1)
  ones = s32[4,1,1] broadcast(one), dimensions={}
  y = s32[4,1,1] add(x, ones)
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
        timeout=600,
        cwd=scratch.name,
    )


def main():
    devices = json.loads(call("devices", "xla-cpu", "--format=json").stdout)
    if not devices["devices"][0]["found"]:
        print(f"1..0 # SKIP no xla-cpu: {devices['devices'][0]['reason']}")
        return
    program = pathlib.Path(scratch.name, "shift.hlo")
    program.write_text(SHIFT)
    done = call("reduce", program, "-d", "xla-cpu", "-o", "small", "--format=json", "--quiet")
    document = json.loads(done.stdout)
    checks = [
        (
            "it shows and gets small",
            "error" not in document and document["instructions_after"] <= 5,
            done.stdout + done.stderr,
        )
    ]
    if "error" not in document:
        runs = document["runs"]
        checks += [
            (
                "HLO and StableHLO show it afresh",
                runs["hlo"]["shows"] is True and runs["stablehlo"]["shows"] is True,
                runs,
            ),
            (
                "the script shows it, or says why it was not run",
                runs["jax"]["shows"] is True or "no jax" in runs["jax"]["seen"],
                runs["jax"],
            ),
            (
                "all files are there",
                all(
                    pathlib.Path(scratch.name, document["files"][form]).exists()
                    for form in ("hlo", "stablehlo", "jax")
                ),
                document["files"],
            ),
        ]
    for number, (name, good, why) in enumerate(checks, 1):
        print(
            f"{'ok' if good else 'not ok'} {number} - {name}"
            + ("" if good else f"\n# {str(why)[:2000]}")
        )
    print(f"1..{len(checks)}")


main()
