#!/usr/bin/env python3
"""What `make install` puts somewhere works there: moved to another place, as another user, without
HOME, without the build.

    test_install.py BUILD

TAP; each case runs the installed program in an environment that holds nothing but PATH.
"""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
MODEL = "models/patterns/small_natural.hlo"
NOBODY = 65534
failed = 0
number = 0


def report(good, name, text=""):
    global failed, number
    number += 1
    failed += not good
    print(f"{'ok' if good else 'not ok'} {number} - {name}")
    if not good:
        print("\n".join(f"# {line}" for line in text.splitlines()[-20:]))


def find(tree, name):
    found = [path for path in tree.rglob(name) if path.is_file()]
    return found[0] if found else tree / name


def in_python(program, scratch):
    """A wheel puts the tree among a Python's packages: started by its path it uses that Python."""
    version = f"python3.{sys.version_info.minor}"
    packages = scratch / "an environment" / "lib" / version / "site-packages"
    packages.mkdir(parents=True)
    program.parents[1].rename(packages / "hloscope")
    (scratch / "an environment" / "bin").mkdir()
    (scratch / "an environment" / "bin" / version).symlink_to(sys.executable)
    (scratch / "an environment" / "pyvenv.cfg").write_text("home = /usr/bin\n")

    def reason():
        done = subprocess.run(
            [str(packages / "hloscope/bin/hloscope"), "devices", "--format=json"],
            cwd="/",
            env={"PATH": "/nowhere", "HLOSCOPE_CACHE_DIR": str(scratch / "work" / "cache")},
            text=True,
            capture_output=True,
            check=False,
        )
        found = [d for d in json.loads(done.stdout)["devices"] if d["device"] == "xla-cpu"]
        return found[0]["reason"] or ""

    before = reason()
    for name in ("jaxlib", "numpy"):
        (packages / name).mkdir()
        (packages / name / "__init__.py").write_text("")
    after = reason()
    report(
        "no Python with jaxlib" in before and "no Python with jaxlib" not in after,
        "the Python that a wheel was installed into is asked for jaxlib, active or not",
        f"{before}\n{after}",
    )


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    scratch = pathlib.Path(tempfile.mkdtemp(prefix="hloscope-install-"))
    scratch.chmod(0o755)
    subprocess.run(
        [
            "meson",
            "install",
            "-C",
            build,
            "--no-rebuild",
            "--quiet",
            "--destdir",
            scratch / "first",
        ],
        check=True,
        stdout=subprocess.DEVNULL,
    )
    moved = scratch / "somewhere else" / "moved"
    moved.parent.mkdir()
    (scratch / "first").rename(moved)
    program = find(moved, "bin/hloscope")
    for path in moved.rglob(
        "*"
    ):  # files are for everybody, whatever the umask of the one who installed
        path.chmod(0o755 if path.is_dir() or os.access(path, os.X_OK) else 0o644)
    work = scratch / "work"
    work.mkdir()
    shutil.copy(ROOT / MODEL, work / "model.hlo")
    work.chmod(0o777)
    as_other = {"user": NOBODY, "group": NOBODY, "extra_groups": []} if os.getuid() == 0 else {}

    def hloscope(*arguments, environment=None):
        return subprocess.run(
            [str(program), *arguments],
            cwd=work,
            env={"PATH": "/usr/bin:/bin", **(environment or {})},
            text=True,
            capture_output=True,
            check=False,
            **as_other,
        )

    def works(name, *arguments, within=""):
        done = hloscope(*arguments)
        report(
            done.returncode == 0 and within in done.stdout + done.stderr,
            name,
            done.stdout + done.stderr,
        )
        return done

    works("the program starts", "version", within=(ROOT / "VERSION").read_text().strip())
    works("a program runs on the built-in device", "run", "model.hlo")
    works(
        "the built-in graphs are found",
        "patterns",
        "--graphs",
        "small",
        "--trials",
        "3",
        "--warmup",
        "1",
        "-o",
        "patterns.json",
    )
    works("passes run", "passes", "list", "model.hlo")
    works("the knowledge base is found", "knowledge", "list")
    unknown = hloscope("passes", "list", "model.hlo", "--device=cuda:nowhere")
    report("h100" in unknown.stderr, "targets are found", unknown.stdout + unknown.stderr)
    traced = works(
        "a command is traced", "trace", "-o", "capture.hsc", "--", str(program), "run", "model.hlo"
    )
    report(
        "libhloscope_pjrt_tracer.so cannot be preloaded" not in traced.stderr,
        "the tracer is preloaded",
        traced.stderr,
    )
    cold = hloscope(
        "run", "model.hlo", "--format=json", environment={"HLOSCOPE_CACHE_DIR": str(work / "cache")}
    )
    report(
        cold.returncode == 0 and json.loads(cold.stdout)["devices"][0]["status"] == "ok",
        "results are kept in a folder that can be written",
        cold.stdout + cold.stderr,
    )
    config = next(iter(moved.rglob("hloscope.pc")), None)
    report(
        config is not None and "-lhloscope" in config.read_text(),
        "C programs find the library by pkg-config",
    )
    package = next(
        (path.parents[2] for path in moved.rglob("jax_plugins/hloscope/__init__.py")), moved
    )
    code = (
        "import hloscope, os; assert os.path.exists(hloscope.library_path()); from hloscope import"
        " tracing; tracing._library(); hloscope.__version__; print(hloscope.__version__)"
    )
    python = subprocess.run(
        [sys.executable, "-c", code],
        env={"PYTHONPATH": str(package), "PATH": os.environ["PATH"]},
        cwd="/",
        text=True,
        capture_output=True,
        check=False,
    )
    report(
        python.returncode == 0 and python.stdout.strip() == (ROOT / "VERSION").read_text().strip(),
        "the installed Python package finds the libraries",
        python.stderr,
    )
    in_python(program, scratch)
    print(f"1..{number}")
    shutil.rmtree(scratch)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
