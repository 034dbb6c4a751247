#!/usr/bin/env python3
"""make aarch64: builds hloscope for AArch64 and runs its unit programs under qemu-user.

    tools/aarch64/aarch64.py [--build build-aarch64] [--jobs N] [--only NAME,...] [--no-build]

The libraries of the other architecture (LLVM 19 too, so that the device's code generator runs) are
Debian's packages, brought by apt with a state of its own and unpacked into BUILD/root: nothing of
this machine changes. Programs that emulated programs start are emulated as well (exec_emulated.c).
What does not pass is compared with failing.tsv: a program that is not in it fails the run, and so
does one of it that passes, unless its reason begins with "slow". The last line counts.
"""

import argparse
import concurrent.futures
import os
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
HERE = pathlib.Path(__file__).resolve().parent
TRIPLE = "aarch64-linux-gnu"
LIMIT_S = 900  # of a program
# random programs: an emulated processor is about twenty times slower
FEWER = {"test_convert_property": "20"}
# what is linked and opened, beside the C library
PACKAGES = [
    "libc6-dev",
    "libgcc-s1",
    "libcmocka-dev",
    "libcurl4-openssl-dev",
    "libjansson-dev",
    "libllvm19",
    "libmicrohttpd-dev",
    "libopenblas-dev",
    "libpcre2-dev",
    "libsqlite3-dev",
    "libzstd-dev",
    "zlib1g-dev",
]


def run(command, **more):
    return subprocess.run([str(part) for part in command], check=True, **more)


def apt(state: pathlib.Path):
    """apt-get's options for another architecture, with lists and packages below `state`."""
    sources = pathlib.Path("/etc/apt/sources.list.d/debian.sources")
    options = {
        "APT::Architecture": "arm64",
        "APT::Architectures": "arm64",
        "APT::Install-Recommends": "false",
        "Dir::State": state / "state",
        "Dir::State::status": state / "status",
        "Dir::Cache": state / "cache",
        "Dir::Etc::sourcelist": sources if sources.exists() else "/etc/apt/sources.list",
        "Dir::Etc::sourceparts": "-",
        "Debug::NoLocking": "true",
        "APT::Sandbox::User": "",
    }
    return ["apt-get", "-q", *(f"-o{name}={value}" for name, value in options.items())]


def make_root(build: pathlib.Path) -> pathlib.Path:
    root, state = build / "root", build / "apt"
    if (root / "complete").exists():
        return root
    shutil.rmtree(root, ignore_errors=True)
    for folder in ("state/lists/partial", "cache/archives/partial"):
        (state / folder).mkdir(parents=True, exist_ok=True)
    (state / "status").touch()
    run([*apt(state), "update"], stdout=subprocess.DEVNULL)
    run([*apt(state), "--yes", "--download-only", "install", *PACKAGES], stdout=subprocess.DEVNULL)
    root.mkdir(parents=True)
    for package in sorted((state / "cache" / "archives").glob("*.deb")):
        run(["dpkg-deb", "-x", package, root])
    # the alternative that a package's scripts would have chosen
    for name in ("libblas.so.3", "liblapack.so.3", "libopenblas.so.0", "libopenblas.so"):
        found = next(iter(sorted(root.glob(f"usr/lib/{TRIPLE}/*/{name}"))), None)
        place = root / "usr/lib" / TRIPLE / name
        if found and not place.exists():
            place.symlink_to(found.relative_to(place.parent))
    # links to absolute places would lead out of the root
    for path in root.rglob("*"):
        if path.is_symlink() and os.readlink(path).startswith("/"):
            target = root / os.readlink(path).lstrip("/")
            path.unlink()
            path.symlink_to(os.path.relpath(target, path.parent))
    (root / "complete").touch()
    return root


def emulator() -> str:
    found = shutil.which("qemu-aarch64") or shutil.which("qemu-aarch64-static")
    if not found:
        sys.exit("aarch64: no qemu-aarch64 (scripts/bootstrap --aarch64)")
    return found


def compile_hook(root: pathlib.Path):
    run(
        [
            f"{TRIPLE}-gcc",
            f"--sysroot={root}",
            "-shared",
            "-fPIC",
            "-O1",
            "-D_GNU_SOURCE",
            "-Wl,-soname,libexec_emulated.so",
            f'-DEMULATOR="{emulator()}"',
            f'-DEMULATED_ROOT="{root}"',
            HERE / "exec_emulated.c",
            "-o",
            root / "usr/lib" / TRIPLE / "libexec_emulated.so",
        ]
    )


def configure(build: pathlib.Path, root: pathlib.Path):
    if (build / "build.ninja").exists():
        return
    cross, ccache = build / "cross.txt", shutil.which("ccache")
    cross.write_text(f"""[binaries]
c = {[*([ccache] if ccache else []), f"{TRIPLE}-gcc"]}
ar = '{TRIPLE}-ar'
strip = '{TRIPLE}-strip'
pkg-config = 'pkg-config'
pkgconfig = 'pkg-config'
exe_wrapper = ['{emulator()}', '-L', '{root}']

[built-in options]
c_args = ['--sysroot={root}']
c_link_args = ['--sysroot={root}', '-Wl,--no-as-needed', '-lexec_emulated', '-Wl,--as-needed']

[properties]
sys_root = '{root}'
pkg_config_libdir = '{root}/usr/lib/{TRIPLE}/pkgconfig:{root}/usr/share/pkgconfig'

[host_machine]
system = 'linux'
cpu_family = 'aarch64'
cpu = 'aarch64'
endian = 'little'
""")
    run(["meson", "setup", build, "--cross-file", cross, "-Dmpi=disabled"], cwd=ROOT)


def known_failures() -> dict[str, str]:
    rows = (HERE / "failing.tsv").read_text(encoding="utf-8").splitlines()
    return dict(row.split("\t") for row in rows if row and not row.startswith("#"))


def why(output: str) -> str:
    """The first failed case, or how the program ended."""
    found = re.search(r"^not ok \d+ - (.*)$", output, re.M)
    return found[1] if found else (output.strip().splitlines() or ["nothing printed"])[-1][:100]


def run_program(root: pathlib.Path, program: pathlib.Path) -> tuple[str, str, int, int]:
    """(name, "" or why it failed, cases that passed, cases)"""
    try:
        done = subprocess.run(
            [emulator(), "-L", root, program, ROOT, *filter(None, [FEWER.get(program.name)])],
            cwd=ROOT,
            env={**os.environ, "CMOCKA_MESSAGE_OUTPUT": "TAP"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            timeout=LIMIT_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return program.name, f"no end after {LIMIT_S} s", 0, 0
    output = done.stdout.decode(errors="replace")
    (program.parent / f"{program.name}.log").write_text(output, encoding="utf-8")
    passed = len(re.findall(r"^ok ", output, re.M))
    failed = len(re.findall(r"^not ok ", output, re.M))
    bad = done.returncode or failed
    text = f"{why(output)} (exit code {done.returncode})" if bad else ""
    return program.name, text, passed, passed + failed


def run_programs(build: pathlib.Path, root: pathlib.Path, only: list[str], jobs: int) -> int:
    known = known_failures()
    programs = [
        path
        for path in sorted((build / "tests/unit").glob("test_*"))
        if "." not in path.name
        and (not only or path.name.removeprefix("test_") in only)
        and os.access(path, os.X_OK)
        and not path.is_dir()
    ]
    wrong = passing = cases = cases_passed = 0
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for name, text, passed, of in pool.map(lambda p: run_program(root, p), programs):
            passing += not text
            cases, cases_passed = cases + of, cases_passed + passed
            if not text and known.get(name, "").startswith("slow"):
                continue
            if bool(text) != (name in known):
                wrong += 1
                print(f"aarch64: {name} {text or 'passes, and failing.tsv says it does not'}")
            elif text:
                print(f"{name}: {text}; {known[name]}")
    print(f"{passing} of {len(programs)} unit programs pass, {cases_passed} of {cases} cases")
    return 1 if wrong else 0


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build-aarch64")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--only", default="", help="unit programs, without test_")
    parser.add_argument("--no-build", action="store_true", help="run what is built")
    options = parser.parse_args()
    build = options.build.resolve()
    build.mkdir(exist_ok=True)
    root = make_root(build)
    if not options.no_build:
        compile_hook(root)
        configure(build, root)
        faulty = (
            "tests/faults/libhloscope_faulty_pjrt.so"  # which some of the tests find by its path
        )
        targets = ["product", "tests/unit/test_status", faulty]
        run(["ninja", "-C", build, "--quiet", f"-j{options.jobs}", *targets])
    return run_programs(build, root, [n for n in options.only.split(",") if n], options.jobs)


if __name__ == "__main__":
    sys.exit(main())
