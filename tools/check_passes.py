#!/usr/bin/env python3
"""Runs the models on the built-in device, with references of XLA:CPU, once for every pass: without it, or with it when it runs on request.

    tools/check_passes.py BUILD [PREFIX...]     PREFIX: of the names of models, as tests/conformance takes them; none: all 36

Prints a line for every pass; exits with 1 when a result was out of tolerance or a program could not be compiled.
"""
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent


def main() -> int:
    build, *prefixes = sys.argv[1:]
    rows = re.findall(r'^PASS\((\w+),\s*"([^"]+)"', (ROOT / "src/passes/passes.def").read_text(encoding="utf-8"), re.MULTILINE)
    steps = (ROOT / "src/passes/pipelines.def").read_text(encoding="utf-8")
    bad = 0
    for id_, name in rows:
        always = re.search(rf"^\s*RUN\({id_}\)", steps, re.MULTILINE)
        flag = "xla_disable_hlo_passes" if always else "hloscope_enable_hlo_passes"
        done = subprocess.run([f"{build}/tests/conformance/test_programs", "cpu", str(ROOT), *prefixes], env={**os.environ, "XLA_FLAGS": f"--{flag}={name}"}, capture_output=True,
                              text=True)
        failed = re.findall(r"^not ok .*", done.stdout, re.MULTILINE)
        passed = len(re.findall(r"^ok ", done.stdout, re.MULTILINE))
        bad += done.returncode != 0 or bool(failed) or passed == 0
        print(f"{'not ok' if failed or done.returncode else 'ok'} {'without' if always else 'with'} {name}: {passed} models agree", *failed, sep="\n  ", flush=True)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
