#!/usr/bin/env python3
"""Checks that folders of src/ include only what they may, and that file names are unique.

A folder may use itself, what its row below names, and what those may use. Inside a folder with
rooms (subfolders) the same holds of the rooms: ROOMS says which rooms of the same folder a room may
include. From another folder only public headers may be included: not *_internal.h. Names of source
files are unique in the tree, so that a name in a log or a stack trace needs no path.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent

# folder: the folders that it may use. docs/ARCHITECTURE.md says why.
MAY_USE = {
    "base": [],
    "report": ["base"],
    "hlo": ["base"],
    "formats": ["hlo"],
    "transform": ["hlo"],
    "passes": ["hlo"],
    "trace": ["base"],
    "cpu": ["formats", "passes", "trace"],
    "pjrt": ["base", "trace"],
    "plugin": ["cpu", "formats", "trace"],  # and the facts of pjrt, see ONLY
    "views": ["trace", "hlo", "formats", "report"],
    "api": ["views", "trace", "report"],
    "stats": ["base"],
    "worker": ["pjrt", "formats", "transform", "stats"],
    "lab": ["worker", "stats", "pjrt", "views", "formats", "transform", "report"],
    "doctor": ["base", "pjrt", "report"],
    "cli": [
        "lab",
        "doctor",
        "report",
        "passes",
        "cpu",
        "plugin",
        "views",
        "pjrt",
        "transform",
        "formats",
    ],
}
# folder: room: the other rooms of that folder that it may include; "." is the folder itself
ROOMS = {
    "base": {
        "core": [],
        "text": ["core"],
        "json": ["core", "text"],
        "wire": ["core"],
        "files": ["core"],
        "parquet": ["core", "files"],
        "process": ["core"],
    },
    "hlo": {
        "ir": [],
        "infer": ["ir"],
        "eval": ["ir"],
        "error": ["ir"],
        "print": ["ir"],
        "cost": ["ir"],
    },
    "formats": {
        ".": ["common", "hlo_proto", "mlir"],
        "common": [],
        "numpy": [],
        "hlo_text": ["common"],
        "hlo_proto": ["common", "hlo_text"],
        "mlir": ["common", "shardy"],
        "stablehlo": ["common", "hlo_proto", "mlir", "shardy"],
        "shardy": ["common", "stablehlo"],  # the import shards while it imports: one circle, known
    },
    "passes": {
        "manager": [],
        "algsimp": ["manager"],
        "data_movement": ["manager"],
        "expanders": ["manager"],
        "fusion": ["manager"],
        "layout": ["manager"],
        "loops": ["manager"],
        "schedule": ["manager"],
    },
    "cpu": {
        "core": [],
        "kernels": [],
        "kernels/move": ["core", "kernels"],
        "kernels/gemm": ["core", "kernels", "kernels/move"],
        "kernels/conv": ["core", "kernels", "kernels/gemm", "kernels/move"],
        "kernels/vmath": ["core"],
        "kernels/fft": ["core", "kernels"],
        "kernels/linalg": ["core", "kernels"],
        "plan": ["core"],
        "emit": ["core", "kernels/linalg", "kernels/vmath"],
        "jit": ["core", "emit", "kernels/linalg", "kernels/vmath"],
        "thunks": [
            "core",
            "emit",
            "jit",
            "kernels/conv",
            "kernels/fft",
            "kernels/gemm",
            "kernels/linalg",
            "kernels/move",
        ],
        "tune": ["core", "kernels/conv", "kernels/gemm", "kernels/move", "thunks"],
        "compile": ["core", "jit", "plan", "thunks", "tune"],
        "serial": ["core", "jit", "thunks"],
        "runtime": ["core", "jit", "thunks", "tune"],
    },
    "lab": {
        "devices": [],
        "store": [],
        "cache_why": [],
        "verdict": [],
        "shards": ["devices"],
        "run": ["devices", "shards", "store", "verdict"],
        "passes": ["devices", "run", "verdict"],
        "dispatch": ["store"],
        "sweep": ["dispatch", "devices", "passes", "run", "store"],
        "ablate": ["dispatch", "devices", "passes", "run", "store", "verdict"],
        "patterns": ["devices", "dispatch", "run", "store"],
        "probe": ["devices", "passes", "run"],
        "reduce": ["devices", "dispatch", "passes", "run", "store"],
        "conform": ["devices"],
        "gate": ["devices", "run", "store", "verdict"],
        "tune": ["devices", "dispatch", "passes", "run", "store", "verdict"],
        "versions": ["devices", "dispatch", "passes", "probe", "reduce", "run", "store"],
        "blame": ["devices", "dispatch", "passes", "reduce", "run", "store", "verdict"],
    },
}
# (folder, used folder): the only headers of it that may be included
ONLY = {
    ("plugin", "pjrt"): {
        "pjrt/abi.h",
        "pjrt/abi_transfers.h",
        "pjrt/debug_options.def",
        "pjrt/functions.def",
    }
}

INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)


def closure(folder: str) -> set[str]:
    seen, todo = set(), [folder]
    while todo:
        at = todo.pop()
        if at not in seen:
            seen.add(at)
            todo += MAY_USE[at]
    return seen


def room_of(path: pathlib.PurePath) -> str:
    """The room of a file named relative to src/: "kernels/gemm", or "." in the folder itself."""
    return "/".join(path.parts[1:-1]) or "."


def room_problem(folder: str, source: pathlib.PurePath, target: str) -> str:
    """Why a file may not include another of its own folder; "" when it may."""
    if folder not in ROOMS:
        return ""
    room, used = room_of(source), room_of(pathlib.PurePath(target))
    if room not in ROOMS[folder]:
        return f"room {folder}/{room} has no row in ROOMS of tools/check_deps.py"
    if used == room or used in ROOMS[folder][room]:
        return ""
    return (
        f"room {folder}/{room} may include"
        f" {', '.join(ROOMS[folder][room]) or 'nothing of the other rooms'}, not {target}"
    )


def problems() -> list[str]:
    found = []
    names: dict[str, pathlib.Path] = {}
    for path in sorted((ROOT / "src").rglob("*")):
        if path.suffix not in (".c", ".h", ".def"):
            continue
        relative = path.relative_to(ROOT)
        folder = relative.parts[1]
        if folder not in MAY_USE:
            found.append(f"{relative}: folder {folder} has no row in tools/check_deps.py")
            continue
        if path.name in names:
            found.append(f"{relative}: the name is taken by {names[path.name]}")
        names[path.name] = relative
        text = path.read_text(encoding="utf-8")
        for match in INCLUDE.finditer(text):
            target = match.group(1)
            line = text.count("\n", 0, match.start()) + 1
            used = target.split("/")[0]
            if "/" not in target and not (path.parent / target).exists():
                continue  # a generated file
            if "/" not in target:
                continue
            if used == folder:
                why = room_problem(folder, relative.relative_to("src"), target)
                if why:
                    found.append(f"{relative}:{line}: {why}")
                continue
            where = f"{relative}:{line}: {folder} may not include {target}"
            if used in ("hloscope",):
                continue
            if used not in MAY_USE:
                found.append(f"{where}: no such folder in src/")
            elif (folder, used) in ONLY:
                if target not in ONLY[folder, used]:
                    found.append(
                        f"{where}: of {used}/ only {', '.join(sorted(ONLY[folder, used]))}"
                    )
            elif used not in closure(folder):
                found.append(f"{where}: it may use {', '.join(sorted(closure(folder) - {folder}))}")
            elif target.endswith("_internal.h"):
                found.append(f"{where}: it is the inside of {used}/")
    return found


def main() -> int:
    found = problems()
    for problem in found:
        print(problem)
    if not found:
        print("includes between folders are as the table says")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
