"""Writes the zoo's programs as StableHLO text, without large constants, and programs.json.

python bench/zoo/export.py FOLDER [NAME...]      FOLDER/NAME.mlir; needs JAX
                                                 (models/requirements.txt)
"""

import json
import os
import pathlib
import runpy
import sys

import zoo

if os.environ.get("HLOSCOPE_ZOO"):  # other programs in place of the zoo's
    runpy.run_path(os.environ["HLOSCOPE_ZOO"])

MOST_BYTES = 200_000


def main():
    folder, names = pathlib.Path(sys.argv[1]), sys.argv[2:]
    folder.mkdir(parents=True, exist_ok=True)
    rows = []
    for program in zoo.PROGRAMS.values():
        if names and program.name not in names:
            continue
        text = program.lower().as_text()
        if len(text) > MOST_BYTES:
            sys.exit(f"{program.name}: {len(text)} bytes: write its constants as computations")
        (folder / f"{program.name}.mlir").write_text(text)
        rows.append(
            {"name": program.name, "family": program.family, "file": f"{program.name}.mlir"}
        )
        print(f"{program.name} {len(text)}")
    (folder / "programs.json").write_text(json.dumps({"programs": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
