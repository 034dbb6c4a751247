#!/usr/bin/env python3
"""Gives one executable several names: tools/link_programs.py EXECUTABLE LINK...

Each LINK becomes a symbolic link to EXECUTABLE, relative, so that the build folder can be moved.
"""

import os
import pathlib
import sys


def main() -> None:
    executable = pathlib.Path(sys.argv[1])
    for link in map(pathlib.Path, sys.argv[2:]):
        link.unlink(missing_ok=True)
        link.symlink_to(os.path.relpath(executable, link.parent))


if __name__ == "__main__":
    main()
