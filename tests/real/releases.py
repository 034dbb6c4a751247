#!/usr/bin/env python3
"""`hloscope versions` on programs of public reports (releases/cases.tsv): which release of jaxlib
changed each. Skipped, by name, without the package index or a Python for those releases.

tests/real/releases.py build/hloscope [THREAD...]     speaks TAP; releases are kept below
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
chosen = sys.argv[2:]
CASES = pathlib.Path(__file__).resolve().parent / "releases"
LIMIT = 3600
MISSING = ("no package index can be reached", "there is no wheel of this release")
scratch = tempfile.TemporaryDirectory(prefix="hloscope-releases-")
environment = dict(
    os.environ, HLOSCOPE_CACHE_DIR=os.environ.get("HLOSCOPE_VERSIONS_TEST_DIR") or scratch.name
)


def changes_of(document: dict) -> list[str]:
    """ "0.7.0>0.7.1" got worse, "0.7.1<0.7.2" was mended."""
    return [
        f"{c['last_good']}>{c['first_bad']}"
        if "first_bad" in c
        else f"{c['last_bad']}<{c['mended_in']}"
        for c in document.get("changes", [])
    ]


def main() -> None:
    rows = [row.split("\t") for row in (CASES / "cases.tsv").read_text().splitlines()]
    rows = [row for row in rows if not row[0].startswith("#")]
    rows = [row for row in rows if not chosen or any(name in row[0] for name in chosen)]
    print(f"1..{len(rows)}")
    for number, (thread, first, last, arguments, wanted) in enumerate(rows, 1):
        command = [hloscope, "versions", *arguments.split(), "--of", "jaxlib"]
        command += ["--from", first, "--to", last, "--format=json", "--quiet"]
        done = subprocess.run(
            command,
            cwd=CASES,
            env=environment,
            capture_output=True,
            check=False,
            text=True,
            timeout=LIMIT,
        )
        said = done.stdout + done.stderr
        why = next((sign for sign in MISSING if sign in said), None)
        if why:
            print(f"ok {number} - {thread} # SKIP {why}", flush=True)
            continue
        document = json.loads(done.stdout)
        found = changes_of(document)
        good = all(change in found for change in wanted.split())
        print(f"{'ok' if good else 'not ok'} {number} - {thread}: {wanted}", flush=True)
        for row in document.get("tried", []):
            print(f"# {row['version']} {row['verdict']} {row['seen']}")
        if not good:
            print(f"# found {found}")


main()
