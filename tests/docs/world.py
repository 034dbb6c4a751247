"""world.py - the files that the pages talk of, made when a command names them, in a folder of a
page's own.

A page's commands run one after the other in the same folder with a home, cache and results of its
own; `hloscope` is on the PATH, and
`python` runs train.py, a program that loads the built-in device as a user's program would.
"""

import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile

TWO = """HloModule two
ENTRY main {
  x = f32[8,8] parameter(0)
  y = f32[8,8] tanh(x)
  d = f32[8,8] dot(y, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  z = f32[8,8] custom-call(d), custom_call_target="vendor_only_kernel"
  ROOT t = (f32[8,8], f32[8,8]) tuple(y, z)
}
"""
TAN = """HloModule tan
ENTRY main {
  x = f32[4] parameter(0)
  ROOT y = f32[4] tan(x)
}
"""
MODEL = """HloModule small_program
ENTRY main {
  w = f32[4,4] parameter(0)
  x = f32[2,4] parameter(1)
  dot = f32[2,4] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  ROOT tanh = f32[2,4] tanh(dot)
}
"""
GROWING = """HloModule growing
ENTRY main {
  x = f32[SIZE,16] parameter(0)
  y = f32[SIZE,16] tanh(x)
  ROOT z = f32[SIZE,16] add(y, x)
}
"""
TRAIN_PY = """import subprocess, sys
sys.exit(subprocess.run(["hloscope", "run", "model.hlo", "--quiet"], stdout=subprocess.DEVNULL).returncode)
"""
TIMES = "time_us,variant\n" + "".join(
    f"{100 + i % 7 + (20 if v == 'new' else 0)},{v}\n" for v in ("main", "new") for i in range(30)
)

# name in a command: the file's text, or the command that makes it
FILES = {
    "model.hlo": MODEL,
    "two.hlo": TWO,
    "tan.hlo": TAN,
    "growing.hlo": GROWING.replace("SIZE", "1000"),
    "train.py": TRAIN_PY,
    "compile.py": TRAIN_PY,
    "times.csv": TIMES,
    "small_program.hlo": MODEL,
    "before.hlo": MODEL,
    "after.hlo": MODEL,
}
MAKE = {
    "softmax.hlo": "cp tests/golden/passes/why-names-causes-and-confirms-them/in.hlo softmax.hlo",
    "symbolic.mlir": "cp tests/golden/convert/symbolic-dimensions-get-sizes/in.mlir symbolic.mlir",
    "train.log": "cp tests/golden/explain/worst-first/app.log train.log",
    "n1000.mlir": "hloscope convert growing.hlo -o n1000.mlir",
    "n2000.mlir": (
        "sed s/1000/2000/ growing.hlo > n2000.hlo; hloscope convert n2000.hlo -o n2000.mlir"
    ),
    "n4000.mlir": (
        "sed s/1000/4000/ growing.hlo > n4000.hlo; hloscope convert n4000.hlo -o n4000.mlir"
    ),
    "model.mlir": "hloscope convert model.hlo -o model.mlir",
    "model.hlo.gz": "gzip -k model.hlo",
    "run.hsc": "hloscope trace -o run.hsc -- python train.py",
    "trace.hsc": "hloscope trace -o trace.hsc -- python train.py",
    "step.hsc": "hloscope trace -o step.hsc -- python train.py",
    "run.json": "hloscope run model.hlo --format=json > run.json",
    "before.json": "hloscope run model.hlo --format=json > before.json",
    "after.json": "hloscope run model.hlo --format=json > after.json",
    "p.json": "hloscope patterns --graphs tiny --trials 2 --output p.json",
    "ablation.json": "hloscope passes ablate model.hlo --only fusion,cse -o ablation.json",
    "gate.json": "hloscope gate --baseline gate.json --update model.hlo",
    "logdir": "hloscope profile model.hlo --output logdir",
    "logs": "hloscope profile model.hlo --output logs",
    "profile": "hloscope profile model.hlo --output profile",
    "before": "hloscope profile model.hlo --output before",
    "after": "hloscope profile model.hlo --output after",
    "host.xplane.pb": (
        "hloscope profile model.hlo --output hosted && cp $(find hosted -name '*.xplane.pb')"
        " host.xplane.pb"
    ),
    "somebody-elses.xplane.pb": (
        "hloscope profile model.hlo --output elses && cp $(find elses -name '*.xplane.pb')"
        " somebody-elses.xplane.pb"
    ),
    "results": "mkdir results",
}
PLUGINS = ("libvendor_pjrt.so", "my_plugin.so", "libneuronpjrt.so", "libhloscope_cpu_pjrt.so")
BASE = ("model.hlo", "growing.hlo", "train.py", "model.mlir")


class World:
    def __init__(self, root: pathlib.Path, hloscope: pathlib.Path):
        self.root = root
        self.hloscope = hloscope
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="hloscope-docs-"))
        self.work = self.folder / "work"
        for name in ("work", "home", "bin", "cache"):
            (self.folder / name).mkdir()
        (self.folder / "bin" / "hloscope").symlink_to(hloscope)
        (self.folder / "bin" / "python").symlink_to(sys.executable)
        for name in ("examples", "models", "src", "tests", "python", "docs"):
            (self.work / name).symlink_to(root / name)
        (self.work / "build").symlink_to(hloscope.parent)
        self.environment = dict(
            os.environ,
            HOME=str(self.folder / "home"),
            HLOSCOPE_CACHE_DIR=os.environ.get("HLOSCOPE_VERSIONS_TEST_DIR")
            or str(self.folder / "cache"),
            PATH=f"{self.folder / 'bin'}:{os.environ['PATH']}",
            NO_COLOR="1",
            COLUMNS="200",
            PAGER="cat",
        )
        for name in ("XDG_CACHE_HOME", "XDG_DATA_HOME", "HLOSCOPE_DEVICE", "HLOSCOPE_OUTPUT_PATH"):
            self.environment.pop(name, None)
        self.have = {}
        for name in BASE:
            self.make(name)

    def close(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)

    def shell(self, command: str, limit: float) -> subprocess.CompletedProcess:
        """The command's exit code and what it printed; all of its processes end with it."""
        child = subprocess.Popen(
            ["bash", "-c", command],
            cwd=self.work,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            encoding="utf-8",
            errors="replace",
        )
        try:
            printed = child.communicate(timeout=limit)[0]
            return subprocess.CompletedProcess(command, child.returncode, printed)
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
            return subprocess.CompletedProcess(command, 124, child.communicate()[0])

    def make(self, name: str) -> None:
        if (self.work / name).exists():
            return
        if name in FILES:
            (self.work / name).write_text(FILES[name], encoding="utf-8")
        elif name in PLUGINS:
            (self.work / name).symlink_to(self.hloscope.parent / "libhloscope_cpu_pjrt.so")
        elif name in MAKE:
            done = self.shell(MAKE[name], 120)
            if not (self.work / name).exists():
                raise RuntimeError(f"{MAKE[name]}: {done.stdout}")

    def provide(self, command: str) -> None:
        """What the command reads; what it writes by itself (-o, --output, >) is not made for it."""
        written = set(
            re.findall(r"(?:-o|--output|>|--update --baseline|--junit)[ =]?([\w./-]+)", command)
        )
        for name in [*FILES, *PLUGINS, *MAKE]:
            if name not in written and re.search(
                rf"(?<![\w.-])(?:\./)?{re.escape(name)}(?![\w.-])", command
            ):
                self.make(name)

    def lacks(self, command: str) -> str | None:
        """Which device of the command is not on this machine."""
        for device in ("xla-cpu", "cuda", "tpu"):
            if (
                re.search(rf"(?<![\w-]){device}(?=[:,\s]|$)", command)
                and "--install" not in command
            ):
                if device not in self.have:
                    listed = self.shell(f"hloscope devices {device} --format=json 2>/dev/null", 60)
                    self.have[device] = bool(re.search(r'"found": ?true', listed.stdout))
                if not self.have[device]:
                    return f"no {device} on this machine"
        return None
