"""The command `hloscope` of the wheel: becomes the program that came with this package."""

import os
import pathlib
import shutil
import sys


def path():
    """The program hloscope: HLOSCOPE_PROGRAM, in this package, in the build or the installation
    that this package lies in, on PATH."""
    here = pathlib.Path(__file__).resolve().parent
    candidates = [
        os.environ.get("HLOSCOPE_PROGRAM"),
        here / "bin" / "hloscope",
        here / "lib" / "hloscope",
        here.parents[1] / "build" / "hloscope",
        here.parents[3] / "bin" / "hloscope",
    ]
    for candidate in candidates:
        if candidate and os.access(candidate, os.X_OK) and os.path.isfile(candidate):
            return str(candidate)
    found = shutil.which("hloscope")
    if found:
        return found
    raise FileNotFoundError(
        "the program hloscope is not in this package and not on PATH; HLOSCOPE_PROGRAM names it"
    )


def main():
    program = path()
    try:
        os.execv(program, ["hloscope", *sys.argv[1:]])
    except OSError as error:
        sys.exit(f"hloscope: {program}: {error.strerror}")
