#!/usr/bin/env python3
"""Lets PyTorch's wheel for CUDA be imported without NVIDIA's libraries, for tests on the processor.

    tools/torch_stand_ins.py ENVIRONMENT         a virtual environment with torch,
                                                 nvidia-cuda-runtime-cu12 and nvidia-cuda-cupti-cu12

The index holds torch 2.9 for Linux in one form, which is linked to three gigabytes of NVIDIA's
libraries and calls none of them without a GPU. For each that is missing a library of the same name
is put beside torch's own: it defines what torch's libraries want of it, with the version they name,
and each function returns 1, which is an error in all of these interfaces. Nothing is done where all
are there.
"""

import pathlib
import re
import subprocess
import sys
import tempfile


def output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def wanted_libraries(library):
    """Names of the libraries that one asks for."""
    return set(
        re.findall(r"\(NEEDED\).*\[(.+)\]", output("readelf", "--dynamic", "--wide", str(library)))
    )


def wanted_symbols(library):
    """{(name, version or None)} that it wants from others."""
    symbols = set()
    for line in output("nm", "--dynamic", "--undefined-only", str(library)).splitlines():
        kind, _, symbol = line.strip().partition(" ")
        if kind in "Uw" and symbol:
            name, _, version = symbol.partition("@")
            symbols.add((name, version.lstrip("@") or None))
    return symbols


def version_files(library):
    """{version: the library it is wanted of}"""
    owners, owner = {}, None
    for line in output("readelf", "--version-info", "--wide", str(library)).splitlines():
        if match := re.search(r"File: (\S+)", line):
            owner = match.group(1)
        elif owner and (match := re.search(r"Name: (\S+)", line)):
            owners[match.group(1)] = owner
    return owners


def write_stand_in(path, symbols, scratch):
    """A library whose functions return 1; symbols: {(name, version or None)}."""
    source = [".text", "hsc_stand_in:", "  mov $1, %eax", "  ret"]
    versions = {}
    for name, version in sorted(symbols, key=str):
        source += [f".globl {name}", f".type {name}, @function", f".set {name}, hsc_stand_in"]
        versions.setdefault(version, []).append(name)
    source.append('.section .note.GNU-stack,"",@progbits')
    (scratch / "stand_in.s").write_text("\n".join(source) + "\n")
    script = [
        f"{version} {{ global: {'; '.join(names)}; }};"
        for version, names in versions.items()
        if version
    ]
    (scratch / "stand_in.map").write_text("\n".join(script) + "\n")
    command = [
        "cc",
        "-shared",
        "-nostdlib",
        f"-Wl,-soname,{path.name}",
        "-o",
        str(path),
        str(scratch / "stand_in.s"),
    ]
    if script:
        command.append(f"-Wl,--version-script={scratch / 'stand_in.map'}")
    subprocess.run(command, check=True)


def main(environment):
    folders = list(environment.glob("lib/python3*/site-packages"))
    site = folders[0] if folders else None
    if not site or not (site / "torch" / "lib" / "libtorch_cuda.so").exists():
        print("no torch for CUDA here: nothing to stand in for")
        return 0
    own = site / "torch" / "lib"
    present = {path.name for path in own.iterdir()} | {
        path.name for path in site.glob("nvidia/*/lib/*")
    }
    libraries = sorted(
        path for path in own.glob("*.so") if path.name.startswith(("libtorch", "libc10"))
    )
    missing = set()
    for library in libraries:
        missing |= {
            name
            for name in wanted_libraries(library) - present
            if name.startswith(("libcu", "libnv", "libnccl"))
        }
    missing.discard(
        "libcuda.so.1"
    )  # the driver's: only libcaffe2_nvrtc.so, which is loaded on a GPU
    symbols = {name: set() for name in missing}
    for library in libraries:
        owners = version_files(library)
        for name, version in wanted_symbols(library):
            owner = owners.get(version)
            if owner is None and (match := re.match(r"(nccl|cufile|cuFile|cusparseLt)", name)):
                stem = match.group(1)
                owner = next(
                    (m for m in missing if m.lower().startswith(f"lib{stem.lower()}.")), None
                )
            if owner in symbols:
                symbols[owner].add((name, version))
    with tempfile.TemporaryDirectory() as scratch:
        for name in sorted(missing):
            write_stand_in(own / name, symbols[name], pathlib.Path(scratch))
    print(
        f"are-ins for {len(missing)} of NVIDIA's libraries, {sum(map(len, symbols.values()))}"
        " functions"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1])))
