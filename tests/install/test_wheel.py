#!/usr/bin/env python3
"""A wheel as a stranger meets it: installed by pip into an environment whose path has blanks, used
without HOME and with one that cannot be written, one version after the other, and taken away again.

    test_wheel.py BUILD

TAP. The wheel is packed by tools/wheel.py from what this build installs, so it is for this machine
only; nothing is fetched. What `make wheel` makes is looked at by that target itself.
"""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import venv

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
MODEL = ROOT / "models/patterns/tiny_natural.hlo"
NOBODY = 65534
failed = number = 0


def report(good, name, text=""):
    global failed, number
    number += 1
    failed += not good
    print(f"{'ok' if good else 'not ok'} {number} - {name}", flush=True)
    if not good:
        print("\n".join(f"# {line}" for line in text.splitlines()[-20:]))


def pack(build: pathlib.Path, scratch: pathlib.Path, version: str) -> pathlib.Path:
    import wheel

    wheel.version = lambda: version
    wheel.INSIDE = []  # licences of what only the portable build has inside
    tree = scratch / f"tree-{version}"
    command = ["meson", "install", "-C", build, "--no-rebuild", "--quiet", "--destdir", tree]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    prefix = next(tree.rglob("bin/hloscope")).parents[1]
    files, info = wheel.collect(prefix)
    if version.endswith("dev0"):  # what the next version does not have any more
        files.append(("hloscope/gone.py", b"", False))
    return wheel.write(files, info, scratch / "dist", level=1)


def check_build_ids(build: pathlib.Path):
    """Two builds in two folders differ by the debug information and so by the linker's build id;
    what is packed of them is the same."""
    import wheel

    here = (build / "libhloscope_pjrt_tracer.so").read_bytes()
    at = here.index(b"GNU\0", here.index(bytes([20, 0, 0, 0, 3, 0, 0, 0]))) + 4
    elsewhere = here[:at] + bytes(byte ^ 0x5A for byte in here[at : at + 20]) + here[at + 20 :]
    changed = here[:-1] + bytes([here[-1] ^ 1])
    packed = [wheel.with_own_build_id(data) for data in (here, elsewhere, changed)]
    report(
        packed[0] == packed[1] != here and packed[0][at : at + 20] != packed[2][at : at + 20],
        "a packed file's build id is of what is in it, wherever it was built",
    )


class Environment:
    """A virtual environment, and commands in it without anything of this one's."""

    def __init__(self, folder: pathlib.Path):
        self.folder = folder
        venv.create(folder, with_pip=True)
        self.packages = next(folder.glob("lib/python3*/site-packages"))
        self.first = self.found()

    def found(self) -> set[str]:
        """Every file of the packages and every command, without what Python compiles by itself."""
        places = [self.packages, self.folder / "bin"]
        return {
            str(path.relative_to(self.folder))
            for place in places
            for path in place.rglob("*")
            if "pip" not in path.relative_to(place).parts[0] and "__pycache__" not in path.parts
        }

    def run(self, *command, user=None, **variables):
        as_other = {"user": user, "group": user, "extra_groups": []} if user else {}
        program = self.folder / "bin" / command[0]
        return subprocess.run(
            [str(program), *map(str, command[1:])],
            cwd="/",
            env={"PATH": "/usr/bin:/bin", **variables},
            capture_output=True,
            text=True,
            check=False,
            **as_other,
        )

    def pip(self, *arguments):
        # pip's cache and settings are not what is looked at
        return self.run("python", "-m", "pip", "-q", "--isolated", "--no-cache-dir", *arguments)


def use(there: Environment, scratch: pathlib.Path, version: str):
    said = there.run("hloscope", "version")
    report(version in said.stdout + said.stderr, "the command is on PATH", said.stderr)
    said = there.run("python", "-m", "hloscope", "version")
    report(said.returncode == 0, "python -m hloscope is the command", said.stderr)
    said = there.run("python", "-c", "import hloscope; print(hloscope.__version__)")
    report(said.stdout.strip() == version, "the package has the wheel's version", said.stdout)
    closed = scratch / "read only home"
    closed.mkdir()
    closed.chmod(0o555)
    other = NOBODY if os.getuid() == 0 else None
    homes = {"without HOME": {}, "with a HOME that cannot be written": {"HOME": str(closed)}}
    for name, variables in homes.items():
        said = there.run("hloscope", "run", MODEL, "--format=json", user=other, **variables)
        good = said.returncode == 0 and json.loads(said.stdout)["devices"][0]["status"] == "ok"
        report(good, f"a program runs for another user {name}", said.stdout + said.stderr)
    folder = scratch / "of the user"
    folder.mkdir()
    folder.chmod(0o777)
    words = ["--graphs", "tiny", "--trials", "3", "--warmup", "1", "-o", folder / "patterns.json"]
    said = there.run("hloscope", "patterns", *words, user=other)
    report(said.returncode == 0, "the built-in graphs are found", said.stdout + said.stderr)
    # the line of hloscope-record.pth: Python itself starts the recording
    code = "import os; print(os.environ.get('HLOSCOPE_RECORDS', '') == str(os.getpid()))"
    said = there.run("python", "-c", code, HLOSCOPE_OUTPUT_PATH=str(folder / "run.hsc"))
    report(
        said.stdout.strip() == "True",
        "HLOSCOPE_OUTPUT_PATH by itself records",
        said.stdout + said.stderr,
    )
    code = (
        "import importlib.metadata as m; d = m.distribution('hloscope');"
        " [e.load() for e in d.entry_points if e.group == 'console_scripts'];"
        " print(sorted(e.group for e in d.entry_points))"
    )
    said = there.run("python", "-c", code)
    groups = "['console_scripts', 'jax_plugins', 'pytest11', 'torch_xla.plugins']"
    report(said.stdout.strip() == groups, "JAX, PyTorch/XLA and pytest find it", said.stdout)


def main() -> int:
    build = pathlib.Path(sys.argv[1]).resolve()
    version = (ROOT / "VERSION").read_text().strip()
    scratch = pathlib.Path(tempfile.mkdtemp(prefix="hloscope-wheel-"))
    scratch.chmod(0o755)
    there = Environment(scratch / "an environment, with blanks")
    before = pack(build, scratch, f"{version}.dev0")
    now = pack(build, scratch, version)
    check_build_ids(build)
    done = there.pip("install", before)
    report(done.returncode == 0, "an older version is installed", done.stderr)
    done = there.pip("install", now)
    left = [name for name in there.found() if name.endswith("gone.py") or "dev0" in name]
    report(not done.returncode and not left, "a newer one replaces it", done.stderr + str(left))
    use(there, scratch, version)
    done = there.pip("uninstall", "--yes", "hloscope")
    left = sorted(there.found() - there.first)
    left += [path.name for path in there.packages.glob("*hloscope*")]
    left += [path.name for path in there.packages.glob("jax_plugins")]
    report(not done.returncode and not left, "uninstalled, nothing is left", "\n".join(left))
    print(f"1..{number}")
    shutil.rmtree(scratch)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
