#!/usr/bin/env python3
"""make wheel: one file for every Python 3.9 and later on every Linux (x86-64) with glibc 2.28 or
later.

    tools/wheel.py [--build build-wheel] [--out dist] [--jobs N]

Builds what is installed with tools/portable/cc (gcc compiles, Zig links against glibc 2.28), LLVM
and OpenBLAS beside the plugin and every other library inside, installs it into a folder, and packs
that folder with the Python package:

    hloscope/*.py                        the package; hloscope/_program.py is the command `hloscope`
    hloscope/bin, lib, share             the tree of `make install`, found from where the program
                                         lies
    jax_plugins/hloscope/*.py            JAX's entry point

and then looks at what it packed: which libraries and which versions of glibc's symbols each file
asks for, the size, and whether the device uses this processor's instructions. The same sources give the same
bytes, wherever they lie.
"""

import argparse
import base64
import hashlib
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import tomllib
import venv
import zipfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
TOOLS = ROOT / "build-tools"
ZIG = "ziglang==0.17.1"
GLIBC = (2, 28)
# manylinux's list: what a machine with glibc has
ALLOWED = {
    "libc.so.6",
    "libm.so.6",
    "libdl.so.2",
    "libpthread.so.0",
    "librt.so.1",
    "ld-linux-x86-64.so.2",
}
MOST_BYTES = 40_000_000
TAG = "py3-none-manylinux_{}_{}_x86_64".format(*GLIBC)
# Debian packages whose parts are inside: their licences travel with them
INSIDE = [
    "libllvm19",
    "libopenblas-dev",
    "libsqlite3-dev",
    "libjansson-dev",
    "libpcre2-dev",
    "libzstd-dev",
    "zlib1g-dev",
    "libmicrohttpd-dev",
    "gcc-12-base",
]
TARGETS = [
    "product",
    "tools/portable/libhloscope_llvm.so",
    "tools/portable/libhloscope_openblas.so",
]


def run(command, **more):
    subprocess.run([str(part) for part in command], check=True, **more)


def get_zig():
    if not list(TOOLS.glob("lib/python3*/site-packages/ziglang/zig")):
        venv.create(TOOLS, with_pip=True)
        run([TOOLS / "bin" / "python", "-m", "pip", "install", "--quiet", ZIG])


def build(folder: pathlib.Path, jobs: str):
    if not (folder / "build.ninja").exists():
        run(
            [
                "meson",
                "setup",
                folder,
                "-Dportable=true",
                "-Dprefer_static=true",
                "--prefix=/",
                "--libdir=lib",
            ],
            # meson takes CC for words of a shell: a clone may lie in a folder with blanks
            env={**os.environ, "CC": shlex.quote(str(ROOT / "tools/portable/cc"))},
        )
    run(["ninja", "-C", folder, *(["-j", jobs] if jobs else []), *TARGETS])
    tree = folder / "tree"
    shutil.rmtree(tree, ignore_errors=True)
    run(["meson", "install", "-C", folder, "--no-rebuild", "--quiet", "--destdir", tree.resolve()])
    return tree


def version():
    return (ROOT / "VERSION").read_text(encoding="utf-8").strip()


def project():
    """What python/pyproject.toml says of the package, for `pip install ./python` and for here."""
    text = (ROOT / "python" / "pyproject.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)["project"]


def metadata():
    head = [
        "Metadata-Version: 2.1",
        "Name: hloscope",
        f"Version: {version()}",
        f"Summary: {project()['description']}",
        f"License: {project()['license']['text']}",
        f"Requires-Python: {project()['requires-python']}",
        "Classifier: Operating System :: POSIX :: Linux",
        "Classifier: Programming Language :: Python :: 3",
        "Description-Content-Type: text/markdown",
    ]
    return "\n".join(head) + "\n\n" + (ROOT / "python" / "README.md").read_text(encoding="utf-8")


def entry_points():
    groups = {"console_scripts": project()["scripts"], **project()["entry-points"]}
    return "\n".join(
        f"[{group}]\n" + "".join(f"{name} = {what}\n" for name, what in rows.items())
        for group, rows in groups.items()
    )


def python_files(package: pathlib.Path):
    return sorted(
        path
        for path in package.rglob("*")
        if path.suffix in (".py", ".pyi", ".typed") or path.name == "py.typed"
    )


def is_elf(path: pathlib.Path):
    with open(path, "rb") as file:
        return file.read(4) == b"\x7fELF"


def with_own_build_id(data: bytes) -> bytes:
    """An ELF file whose build id is a hash of what is in it. The linker's was taken before the
    debug information was stripped, and that names the folder that it was built in."""
    head = bytes([4, 0, 0, 0, 20, 0, 0, 0, 3, 0, 0, 0]) + b"GNU\0"  # NT_GNU_BUILD_ID, 20 bytes
    at = data.find(head)
    if at < 0 or data.find(head, at + 1) >= 0:
        raise ValueError("not one build id")
    before, after = data[: at + len(head)], data[at + len(head) + 20 :]
    return before + hashlib.sha1(before + bytes(20) + after).digest() + after


def collect(tree: pathlib.Path):
    """(name in the wheel, bytes, executable) of every file."""
    files = []
    for package in ("hloscope", "jax_plugins"):
        for path in python_files(ROOT / "python" / package):
            files.append((str(path.relative_to(ROOT / "python")), path.read_bytes(), False))
    # pip takes an empty folder away only where a file of ours lay in it; others' plugins stay
    note = b"The folder hloscope beside this file belongs to the package hloscope.\n"
    files.append(("jax_plugins/hloscope.txt", note, False))
    # Python runs its line when it starts: HLOSCOPE_OUTPUT_PATH by itself records
    record = ROOT / "python" / "hloscope-record.pth"
    files.append((record.name, record.read_bytes(), False))
    files.append(("hloscope/_version.py", f'version = "{version()}"\n'.encode(), False))
    for path in sorted(tree.rglob("*")):
        name = str(path.relative_to(tree))
        if not path.is_file() or name.startswith(
            ("include/", "lib/pkgconfig/", "share/man/")
        ):  # for C programs and for manuals
            continue
        if not is_elf(path):
            files.append((f"hloscope/{name}", path.read_bytes(), False))
            continue
        run(["strip", "--strip-unneeded", path.resolve()])
        files.append((f"hloscope/{name}", with_own_build_id(path.read_bytes()), True))
    info = f"hloscope-{version()}.dist-info"
    wheel = (
        "Wheel-Version: 1.0\nGenerator: hloscope tools/wheel.py\nRoot-Is-Purelib: false\nTag:"
        f" {TAG}\n"
    )
    files.append((f"{info}/METADATA", metadata().encode(), False))
    files.append((f"{info}/WHEEL", wheel.encode(), False))
    files.append((f"{info}/entry_points.txt", entry_points().encode(), False))
    files.append((f"{info}/licenses/LICENSE", (ROOT / "LICENSE").read_bytes(), False))
    for package in INSIDE:
        path = pathlib.Path("/usr/share/doc") / package / "copyright"
        files.append((f"{info}/licenses/{package}.txt", path.read_bytes(), False))
    return files, info


def write(files, info, out: pathlib.Path, level: int = 9):
    record = []
    for name, data, _ in files:
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        record.append(f"{name},sha256={digest},{len(data)}")
    record.append(f"{info}/RECORD,,")
    out.mkdir(exist_ok=True)
    path = out / f"hloscope-{version()}-{TAG}.whl"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=level) as archive:
        for name, data, executable in [
            *files,
            (f"{info}/RECORD", ("\n".join(record) + "\n").encode(), False),
        ]:
            entry = zipfile.ZipInfo(name, (2020, 1, 1, 0, 0, 0))
            entry.external_attr = (0o100755 if executable else 0o100644) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, data)
    return path


def problems(path: pathlib.Path, scratch: pathlib.Path):
    """What the wheel asks of a machine beyond its tag, one sentence each."""
    found = []
    if path.stat().st_size > MOST_BYTES:
        found.append(
            f"{path.name} has {path.stat().st_size / 1e6:.1f} MB, more than {MOST_BYTES / 1e6:.0f}"
        )
    shutil.rmtree(scratch, ignore_errors=True)
    with zipfile.ZipFile(path) as archive:
        archive.extractall(scratch)
    for file in sorted(scratch.rglob("*")):
        if not file.is_file() or not is_elf(file):
            continue
        name = file.relative_to(scratch)
        dynamic = subprocess.run(
            ["readelf", "-dVW", str(file)], check=True, capture_output=True, text=True
        ).stdout
        for library in re.findall(r"\(NEEDED\)\s+Shared library: \[(.*?)\]", dynamic):
            if library not in ALLOWED:
                found.append(f"{name} needs {library}")
        for version_text in sorted(set(re.findall(r"Name: GLIBC_([0-9.]+)", dynamic))):
            if tuple(map(int, version_text.split(".")))[:2] > GLIBC:
                found.append(f"{name} needs GLIBC_{version_text}")
        undefined = subprocess.run(
            ["nm", "-D", "--undefined-only", str(file)], check=True, capture_output=True, text=True
        ).stdout
        for line in undefined.splitlines():
            if line.split()[0] == "U" and "@" not in line:
                found.append(f"{name} needs {line.split()[1]}, which no library that it names has")
    return found


def outputs(program: pathlib.Path, instructions: str):
    """Digests of what a program with products computes with at most these instructions."""
    with tempfile.TemporaryDirectory() as cache:
        done = subprocess.run(
            [program, "run", "models/patterns/small_natural.hlo", "--format=json"],
            cwd=ROOT,
            env={
                "PATH": "/usr/bin:/bin",
                "HLOSCOPE_CACHE_DIR": cache,
                "HLOSCOPE_CPU_ISA": instructions,
            },
            capture_output=True,
            text=True,
        )
    if done.returncode:
        raise RuntimeError(f"the packed program fails: {done.stderr[-500:]}")
    return [output["digest"] for output in json.loads(done.stdout)["devices"][0]["outputs"]]


def slowness(folder: pathlib.Path):
    """The packed device runs, and with all instructions of this processor: fused multiply-add
    rounds once, so that its digits are others than those of the first x86-64."""
    program = folder / "hloscope" / "bin" / "hloscope"
    program.chmod(0o755)
    try:
        few, all_of_them = outputs(program, "baseline"), outputs(program, "avx512")
    except (RuntimeError, KeyError, ValueError, OSError) as error:
        return [str(error)]
    if " avx2 " in pathlib.Path("/proc/cpuinfo").read_text() and few == all_of_them:
        return ["the device does not use AVX2 on a processor that has it"]
    return []


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build-wheel")
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "dist")
    parser.add_argument("--jobs", default="")
    parser.add_argument("--check", type=pathlib.Path, help="look at this wheel only")
    options = parser.parse_args()
    path = options.check
    if not path:
        get_zig()
        files, info = collect(build(options.build, options.jobs))
        path = write(files, info, options.out)
    found = problems(path, options.build / "unpacked")
    found += slowness(options.build / "unpacked")
    for sentence in found:
        print(f"wheel: {sentence}", file=sys.stderr)
    print(f"{path} ({path.stat().st_size / 1e6:.1f} MB)")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
