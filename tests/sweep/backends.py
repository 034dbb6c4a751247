#!/usr/bin/env python3
"""The other backends of a sweep, with the real thing: Slurm, Ray, Dask; Kubernetes by its manifest.

    backends.py HLOSCOPE        TAP

What is missing is skipped by name. Ray and Dask: HLOSCOPE_SWEEP_PYTHON names a Python that has them
(make test-sweep-backends makes one; make test-full has one). HLOSCOPE_SWEEP_PART=python: only what
needs it. Slurm: slurmctld, slurmd and munged of Debian's slurm-wlm are
started here, as one node, where root calls; elsewhere the array script is run as Slurm would run
it.
"""

import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from tap import check, end

HLOSCOPE = pathlib.Path(sys.argv[1]).resolve()
MODELS = pathlib.Path(__file__).resolve().parents[2] / "models" / "patterns"
PYTHON = os.environ.get("HLOSCOPE_SWEEP_PYTHON", sys.executable)


def skip(name: str, why: str) -> None:
    check(True, f"{name} # SKIP {why}")


def hloscope(*words: object, **environment: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        [str(HLOSCOPE), *map(str, words)],
        capture_output=True,
        text=True,
        timeout=300,
        env=dict(os.environ, **environment),
    )


def plan(folder: pathlib.Path) -> pathlib.Path:
    done = hloscope(
        "sweep",
        "plan",
        "compile",
        *sorted(MODELS.glob("tiny*.hlo")),
        "--off",
        "dce,cse",
        "-q",
        "-o",
        folder,
    )
    assert done.returncode == 0, done.stderr
    return folder


def table(folder: pathlib.Path) -> str:
    return hloscope("sweep", "merge", folder, "--format", "csv").stdout


def has(module: str) -> bool:
    return subprocess.run([PYTHON, "-c", f"import {module}"], capture_output=True).returncode == 0


def check_python(here: pathlib.Path, right: str, name: str, module: str) -> None:
    if not has(module):
        skip(f"{name} gives the table of a local run", f"{module} is not installed for this Python")
        return
    at = plan(here / name)
    hloscope("sweep", "run", at, "-q", "--share", "0/3")  # and goes on with what is there
    done = hloscope("sweep", "run", at, "-q", "--backend", name, HLOSCOPE_PYTHON=PYTHON)
    check(
        done.returncode == 0 and table(at) == right,
        f"{name} gives the table of a local run",
        done.stdout + done.stderr,
    )


# ---- Slurm ---------------------------------------------------------------------------------------

CONF = """ClusterName=test
SlurmctldHost={host}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={dir}/munge.socket
CryptoType=crypto/munge
SlurmctldPort={port}
SlurmdPort={port1}
StateSaveLocation={dir}/state
SlurmdSpoolDir={dir}/spool
SlurmctldPidFile={dir}/slurmctld.pid
SlurmdPidFile={dir}/slurmd.pid
SlurmctldLogFile={dir}/slurmctld.log
SlurmdLogFile={dir}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
ReturnToService=2
MailProg=/bin/true
NodeName={host} CPUs={cpus} State=UNKNOWN
PartitionName=all Nodes={host} Default=YES MaxTime=INFINITE State=UP
"""


class Slurm:
    """One node of Debian's slurm-wlm, in a folder of its own."""

    def __init__(self, folder: pathlib.Path):
        self.folder, self.started = folder, []
        for part in ("state", "spool"):
            (folder / part).mkdir(parents=True)
        port = 20000 + os.getpid() % 20000
        host = os.uname().nodename.split(".")[0]
        (folder / "slurm.conf").write_text(
            CONF.format(dir=folder, host=host, port=port, port1=port + 1, cpus=os.cpu_count())
        )
        (folder / "munge.key").write_bytes(os.urandom(128))
        (folder / "munge.key").chmod(0o400)
        self.environment = dict(SLURM_CONF=str(folder / "slurm.conf"))
        self.start(
            "munged",
            "-F",
            "-f",
            f"--key-file={folder}/munge.key",
            f"--socket={folder}/munge.socket",
            f"--pid-file={folder}/munge.pid",
            f"--log-file={folder}/munge.log",
            f"--seed-file={folder}/munge.seed",
        )
        self.start("slurmctld", "-D")
        self.start("slurmd", "-D")

    def start(self, *command: str) -> None:
        log = open(self.folder / f"{command[0]}.out", "wb")
        self.started.append(
            subprocess.Popen(
                command, stdout=log, stderr=log, env=dict(os.environ, **self.environment)
            )
        )
        time.sleep(1)

    def ready(self) -> bool:
        for _ in range(60):
            done = subprocess.run(
                ["sinfo", "-h", "-o", "%T"],
                capture_output=True,
                text=True,
                env=dict(os.environ, **self.environment),
            )
            if "idle" in done.stdout or "mixed" in done.stdout:
                return True
            time.sleep(0.5)
        return False

    def end(self) -> str:
        for process in reversed(self.started):
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
        return "\n".join(
            path.read_text(errors="replace")[-800:] for path in sorted(self.folder.glob("*.log"))
        )


def check_slurm(here: pathlib.Path, right: str) -> None:
    name = "Slurm gives the table of a local run"
    tools = [tool for tool in ("sbatch", "slurmctld", "slurmd", "munged") if not shutil.which(tool)]
    if tools or os.geteuid() != 0:
        skip(name, f"no {tools[0]} (Debian: slurm-wlm)" if tools else "needs root, to start a node")
        return
    slurm = Slurm(here / "slurm")
    try:
        if not slurm.ready():
            check(False, "a node of Slurm starts", slurm.end())
            return
        at = plan(here / "by-slurm")
        done = hloscope(
            "sweep", "run", at, "-q", "--backend", "slurm", "--shares", "3", **slurm.environment
        )
        check(done.returncode == 0 and table(at) == right, name, done.stdout + done.stderr)
    finally:
        slurm.end()


def check_script(here: pathlib.Path, right: str) -> None:
    at = plan(here / "by-script")
    script = here / "array.sh"
    done = hloscope("sweep", "script", at, "--backend", "slurm", "--shares", "3", "-o", script)
    assert done.returncode == 0, done.stderr
    for index in (2, 0, 1, 1):  # in any order, and one requeued
        done = subprocess.run(
            ["sh", str(script)],
            capture_output=True,
            text=True,
            env=dict(os.environ, SLURM_ARRAY_TASK_ID=str(index)),
        )
        assert done.returncode == 0, done.stderr
    check(table(at) == right, "the shares of the array script, in any order, give it too")


# ---- Kubernetes ----------------------------------------------------------------------------------

# Of batch/v1 Job, what an Indexed Job must and may have here (kubernetes.io: API reference, Job
# v1).
JOB = {
    "apiVersion": "batch/v1",
    "kind": "Job",
    "metadata": {"name": re.compile(r"^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$")},
    "spec": {
        "completionMode": "Indexed",
        "completions": int,
        "parallelism": int,
        "backoffLimit": int,
        "template": {
            "spec": {
                "restartPolicy": "OnFailure",
                "containers": [
                    {
                        "name": str,
                        "image": str,
                        "command": [str],
                        "resources": {"requests": {"cpu": str}},
                        "volumeMounts": [{"name": "plan", "mountPath": re.compile("^/")}],
                    }
                ],
                "volumes": [{"name": "plan", "persistentVolumeClaim": {"claimName": str}}],
            }
        },
    },
}


def misfit(value: object, wanted: object, where: str = "") -> str:
    if isinstance(wanted, dict):
        if not isinstance(value, dict) or set(value) != set(wanted):
            return f"{where}: {value}"
        return next(
            (
                found
                for key in wanted
                if (found := misfit(value[key], wanted[key], f"{where}.{key}"))
            ),
            "",
        )
    if isinstance(wanted, list):
        if not isinstance(value, list) or not value:
            return f"{where}: {value}"
        return next(
            (found for item in value if (found := misfit(item, wanted[0], where + "[]"))), ""
        )
    if isinstance(wanted, re.Pattern):
        return "" if isinstance(value, str) and wanted.search(value) else f"{where}: {value}"
    if isinstance(wanted, type):
        return (
            "" if isinstance(value, wanted) and not isinstance(value, bool) else f"{where}: {value}"
        )
    return "" if value == wanted else f"{where}: {value}, not {wanted}"


def check_kubernetes(here: pathlib.Path, right: str) -> None:
    at = plan(here / 'by kubernetes\' "pods"')
    text = hloscope("sweep", "script", at, "--backend", "kubernetes", "--shares", "3").stdout
    probe = "import sys, json, yaml; print(json.dumps(yaml.safe_load(sys.stdin)))"
    done = subprocess.run([PYTHON, "-c", probe], input=text, capture_output=True, text=True)
    if done.returncode != 0:
        skip("the manifest is an Indexed Job", "yaml is not installed for this Python")
        return
    import json

    job = json.loads(done.stdout)
    check(not misfit(job, JOB), "the manifest is an Indexed Job", misfit(job, JOB))
    container = job["spec"]["template"]["spec"]["containers"][0]
    for index in range(job["spec"]["completions"]):
        subprocess.run(
            container["command"],
            env=dict(os.environ, JOB_COMPLETION_INDEX=str(index)),
            capture_output=True,
            check=True,
        )
    check(table(at) == right, "its command, for each index, gives the table of a local run")


def main() -> int:
    with tempfile.TemporaryDirectory(prefix="hloscope-sweep-") as name:
        here = pathlib.Path(name)
        local = plan(here / "local")
        hloscope("sweep", "run", local, "-q")
        right = table(local)
        assert right.count("\n") == 13, right
        check_python(here, right, "ray", "ray")
        check_python(here, right, "dask", "distributed")
        check_kubernetes(here, right)
        if os.environ.get("HLOSCOPE_SWEEP_PART") != "python":
            check_slurm(here, right)
            check_script(here, right)
    return end()


if __name__ == "__main__":
    sys.exit(main())
