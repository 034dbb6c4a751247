#!/usr/bin/env python3
"""The Python environments that the tests of real clients run in: one for each lock file in
tests/environments, kept under the user's cache.

    tools/environments.py                    makes those that are missing; prints {"3.11": python or
                                             null, ...} with the reason for each that is not there
    tools/environments.py --lock 3.11        writes tests/environments/python3.11.lock anew from
                                             python3.11.in (needs that Python and the index)

An environment lies in <cache>/environments/python3.11-<hash of the lock file>, so that a second run
finds it and a changed lock file makes a new one; what nobody asked for in two weeks is removed.
Each wheel is named with its version and its hash, and nothing else is installed. A lock file is for
Linux on x86-64.
"""

import argparse
import fcntl
import glob
import hashlib
import json
import os
import pathlib
import platform
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
LOCKS = ROOT / "tests" / "environments"
# Wheels that declare requirements which no test needs: their own are left out of the resolution.
ALONE = {
    "3.11": [
        "torch==2.9.0",
        "torch_xla==2.9.0",
        "nvidia-cuda-runtime-cu12==12.8.90",
        "nvidia-cuda-cupti-cu12==12.8.90",
    ],
    "3.11-compilers": ["nvidia-cuda-nvcc-cu12==12.9.86"],
}
LIMIT_S = 1200
UNREACHABLE = "the package index cannot be reached"
NO_NETWORK = (
    "Failed to establish a new connection",
    "NewConnectionError",
    "NameResolutionError",
    "ConnectTimeoutError",
    "ProxyError",
    "Network is unreachable",
)
KEPT_S = 14 * 24 * 3600


def cache_folder():
    own = os.environ.get("HLOSCOPE_TEST_ENVIRONMENTS")
    if own:
        return pathlib.Path(own)
    return (
        pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache")
        / "hloscope"
        / "environments"
    )


def find_python(version):
    """A Python of that version; None where there is none."""
    candidates = [
        shutil.which(f"python{version}"),
        *sorted(glob.glob(os.path.expanduser(f"~/.pyenv/versions/{version}.*/bin/python"))),
        shutil.which("python3"),
    ]
    for candidate in candidates:
        if candidate is None:
            continue
        tell = subprocess.run(
            [candidate, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"],
            capture_output=True,
            text=True,
            check=False,
        )
        if tell.stdout.strip() == version:
            return candidate
    return None


def last_line(text):
    lines = [line for line in text.strip().splitlines() if line.strip()]
    return lines[-1] if lines else "no message"


def pip_says(text):
    """What pip's messages come to: without a network its last one is that no release fits."""
    return UNREACHABLE if any(sign in text for sign in NO_NETWORK) else last_line(text)


def build(python, lock, folder):
    """Fills `folder`; returns what went wrong, or None. The folder's name appears only when all is
    in it."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    scratch = pathlib.Path(tempfile.mkdtemp(prefix=folder.name + ".", dir=folder.parent))
    try:
        made = subprocess.run(
            [python, "-m", "venv", str(scratch)], capture_output=True, text=True, check=False
        )
        if made.returncode:
            return (
                f"{python} makes no virtual environment ({last_line(made.stdout + made.stderr)});"
                " on Debian: apt-get install python3-venv"
            )
        own = str(scratch / "bin" / "python")
        install = [
            own,
            "-m",
            "pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
            "--no-deps",
            "--no-compile",
            "--no-cache-dir",
            "--retries",
            "2",
            "--only-binary",
            ":all:",
            "--require-hashes",
            "-r",
            str(lock),
        ]
        try:
            installed = subprocess.run(
                install, capture_output=True, text=True, check=False, timeout=LIMIT_S
            )
        except subprocess.TimeoutExpired:
            return f"pip took more than {LIMIT_S} s"
        if installed.returncode:
            return f"pip cannot install {lock.name}: {pip_says(installed.stderr)}"
        stand_ins = subprocess.run(
            [sys.executable, str(ROOT / "tools" / "torch_stand_ins.py"), str(scratch)],
            capture_output=True,
            text=True,
            check=False,
        )
        if stand_ins.returncode:
            return f"tools/torch_stand_ins.py: {last_line(stand_ins.stderr)}"
        # The interpreter finds its environment by where it lies; scripts that pip wrote name the
        # old place and are not used.
        scratch.rename(folder)
        return None
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def environment(label, reachable=True):
    """(python or None, why not); label: the Python's version, with a name behind a hyphen where
    there are several lock files for it.

    Where the index is known to be out of reach, only what is there already is found."""
    version = label.split("-")[0]
    lock = LOCKS / f"python{label}.lock"
    if platform.machine() != "x86_64" or platform.system() != "Linux":
        return None, f"{lock.name} is for Linux on x86-64"
    python = find_python(version)
    if python is None:
        return None, f"no Python {version} here"
    name = f"python{label}-{hashlib.sha256(lock.read_bytes()).hexdigest()[:12]}"
    folder = cache_folder() / name
    folder.parent.mkdir(parents=True, exist_ok=True)
    with open(folder.parent / f"python{label}.lock", "w") as guard:
        fcntl.flock(guard, fcntl.LOCK_EX)
        if not (folder / "bin" / "python").exists():
            why = build(python, lock, folder) if reachable else UNREACHABLE
            if why:
                return None, why
        os.utime(folder)
        for old in folder.parent.glob(f"python{label}-????????????"):
            if (
                old != folder
                and not old.is_symlink()
                and time.time() - old.stat().st_mtime > KEPT_S
            ):
                shutil.rmtree(old, ignore_errors=True)
    return str(folder / "bin" / "python"), None


def labels():
    return sorted(path.name[len("python") : -len(".lock")] for path in LOCKS.glob("python*.lock"))


def resolve(python, arguments):
    """[(name, version, sha256)] of what pip would install."""
    with tempfile.NamedTemporaryFile(suffix=".json") as report:
        command = [
            python,
            "-m",
            "pip",
            "install",
            "--quiet",
            "--dry-run",
            "--ignore-installed",
            "--only-binary",
            ":all:",
            "--report",
            report.name,
            *arguments,
        ]
        subprocess.run(command, check=True)
        items = json.loads(pathlib.Path(report.name).read_text())["install"]
    return [
        (
            i["metadata"]["name"],
            i["metadata"]["version"],
            i["download_info"]["archive_info"]["hashes"]["sha256"],
        )
        for i in items
    ]


def lock(label):
    python = find_python(label.split("-")[0])
    if python is None:
        sys.exit(f"no Python {label} here")
    wanted = LOCKS / f"python{label}.in"
    packages = {
        name: (release, digest) for name, release, digest in resolve(python, ["-r", str(wanted)])
    }
    for requirement in ALONE.get(label, []):
        packages.update(
            {
                name: (release, digest)
                for name, release, digest in resolve(python, ["--no-deps", requirement])
            }
        )
    lines = [f"# Made by tools/environments.py --lock {label} from {wanted.name}; Linux, x86-64."]
    lines += [
        f"{name}=={release} --hash=sha256:{digest}"
        for name, (release, digest) in sorted(packages.items(), key=lambda p: p[0].lower())
    ]
    (LOCKS / f"python{label}.lock").write_text("\n".join(lines) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--lock", metavar="LABEL", help="write that lock file anew")
    options = parser.parse_args()
    if options.lock:
        lock(options.lock)
        return 0
    found, reachable = {}, True
    for label in labels():
        found[label] = environment(label, reachable)
        reachable = reachable and not (found[label][1] or "").endswith(UNREACHABLE)
    print(
        json.dumps(
            {label: {"python": python, "reason": why} for label, (python, why) in found.items()},
            indent=1,
        )
    )
    return 0 if any(python for python, _ in found.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
