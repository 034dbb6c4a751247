#!/usr/bin/env python3
"""The answer first: what a command says by default fits one screen of 40 lines and 100 columns.

    test_first_screen.py HLOSCOPE ROOT

TAP, a case a command line, on a terminal of that size; the help pages of all commands are among
them.
"""

import fcntl
import os
import pathlib
import pty
import re
import struct
import subprocess
import sys
import tempfile
import termios

LINES, COLUMNS = 40, 100
MODEL = "models/patterns/mlp_scan.hlo"
CASES = {
    "run": ["run", MODEL, "--time-budget", "0.2"],
    "run, two devices": [
        "run",
        "models/patterns/tiny_natural.hlo",
        "--compare",
        "reference",
        "--time-budget",
        "0.2",
    ],
    "patterns": [
        "patterns",
        "--graphs",
        "tiny,small,mlp",
        "--trials",
        "3",
        "--warmup",
        "1",
        "-o",
        "{out}/patterns.json",
    ],
    "passes list": ["passes", "list", MODEL],
    "passes ablate": ["passes", "ablate", MODEL, "--time-budget", "2"],
    "passes time": ["passes", "time", MODEL, "--time-budget", "1"],
    "profile": ["profile", MODEL, "--time-budget", "0.2", "-o", "{out}/profile"],
    "profile, larger": [
        "profile",
        "models/transformer_train.hlo.gz",
        "--time-budget",
        "0.2",
        "-o",
        "{out}/profile-larger",
    ],
    "passes list, larger": ["passes", "list", "models/resnet50_train.hlo.gz"],
    "trace": [
        "trace",
        "-o",
        "{out}/trace.hsc",
        "--",
        "sh",
        "-c",
        "{hloscope} run models/patterns/tiny_natural.hlo --quiet --time-budget 0.1 >/dev/null",
    ],
    "devices": ["devices"],
    "doctor": ["doctor", "--quick"],
    "explain": ["explain", "{out}/log"],
    "stats": ["stats", "{out}/samples.csv"],
    "version": ["version"],
    "results list": ["results", "list"],
    "cache stats": ["cache", "stats"],
    "help": ["help"],
    "help environment": ["help", "environment"],
    "knowledge list": ["knowledge", "list"],
    "run, two programs": [
        "run",
        "models/patterns/tiny_natural.hlo",
        "models/patterns/tiny_scan.hlo",
        "--time-budget",
        "0.2",
    ],
    "tune": ["tune", MODEL, "--only", "opt_level|batch", "--time-budget", "3"],
    "blame": ["blame", "models/patterns/tiny_natural.hlo", "--runs", "2"],
    "reduce": ["reduce", MODEL, "--while", "grep -q dot {}", "-o", "{out}/small"],
    "gate": ["gate", MODEL, "--baseline", "{out}/gate.json", "--update", "--turns", "6"],
    "gate, again": ["gate", MODEL, "--baseline", "{out}/gate.json", "--turns", "6"],
    "probe": ["probe", "models/patterns/tiny_natural.hlo", "--limit", "2"],
    "probe --exponent": [
        "probe",
        "--exponent",
        "models/patterns/tiny_natural.hlo",
        "--sizes",
        "128=128,256,512",
        "--rounds",
        "3",
    ],
    "passes validate": ["passes", "validate", MODEL],
    "passes diff": ["passes", "diff", MODEL],
    "passes diff, larger": ["passes", "diff", "models/resnet50_train.hlo.gz"],
    "passes why": ["passes", "why", MODEL],
    "passes explain": ["passes", "explain", "fusion"],
    "passes autotune": ["passes", "autotune", MODEL, "--level", "1", "--fresh"],
    "passes show": ["passes", "show", MODEL, "-o", "{out}/show.html"],
    "passes report": ["passes", "report", MODEL, "-o", "{out}/passes"],
    "tables": ["tables", "{out}/profile"],
    "tables hlo-operators": ["tables", "{out}/profile", "hlo-operators"],
    "sweep plan": ["sweep", "plan", "compile", MODEL, "--off", "dce", "-o", "{out}/plan"],
    "sweep run": ["sweep", "run", "{out}/plan"],
    "sweep merge": ["sweep", "merge", "{out}/plan"],
    "watch": ["watch", "--log", "{out}/log", "--once", "--rule", "compile-failed"],
    "conform": ["conform", "cpu", "--only", "events"],
    "convert": ["convert", "models/patterns/tiny_natural.hlo", "-o", "{out}/tiny.mlir"],
    "report": ["report", "{out}/profile", "-o", "{out}/report.html"],
    "export": ["export", "{out}/trace.hsc", "--to", "chrome", "-o", "{out}/chrome"],
    "cache list": ["cache", "list"],
    "knowledge search": ["knowledge", "search", "memory"],
    "knowledge show": ["knowledge", "show", "xla-slow-compile"],
    "results show": ["results", "show", "1"],
    "run, many outputs": [
        "run",
        "models/transformer_train.hlo.gz",
        "--compare",
        "cpu",
        "--time-budget",
        "0.2",
    ],
}


def help_pages(hloscope):
    """`--help` of every command, and of every verb that a description explains."""
    overview = subprocess.run(
        [hloscope, "help", "--format=markdown"], capture_output=True, text=True, check=True
    ).stdout
    for name in re.findall(r"^\| \[`(.*?)`\]", overview, re.M):
        yield [name, "--help"]
        page = subprocess.run([hloscope, name, "--help"], capture_output=True, text=True).stdout
        verbs = re.search(r"^Verbs\n((?:  .*\n)+)", page, re.M)
        for verb in re.findall(r"^  (\S+)", verbs[1], re.M) if verbs else []:
            yield [name, verb, "--help"]


def on_terminal(command, root, environment):
    """What the command writes to its terminal, without colours and progress."""
    leader, follower = pty.openpty()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", LINES, COLUMNS, 0, 0))
    child = subprocess.Popen(
        command,
        cwd=root,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=follower,
        stderr=subprocess.DEVNULL,
    )
    os.close(follower)
    text = b""
    while True:
        try:
            piece = os.read(leader, 65536)
        except OSError:  # the other end is closed
            break
        if not piece:
            break
        text += piece
    os.close(leader)
    return child.wait(), re.sub(
        r"\x1b\[[0-9;?]*[A-Za-z]", "", text.decode("utf-8", "replace")
    ).replace("\r", "")


def main():
    hloscope, root = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2])
    failed = 0
    cases = CASES | {" ".join(words): words for words in help_pages(hloscope)}
    print(f"1..{len(cases)}")
    with tempfile.TemporaryDirectory() as out:
        (pathlib.Path(out) / "log").write_text(
            "E0000 nothing that is known\nRESOURCE_EXHAUSTED: Out of memory allocating 16106127360"
            " bytes.\n"
        )
        (pathlib.Path(out) / "samples.csv").write_text(
            "time\n" + "\n".join(f"{1 + (i % 7) / 100}" for i in range(60)) + "\n"
        )
        environment = {
            **os.environ,
            "HLOSCOPE_CACHE_DIR": out,
            "LC_ALL": "C.UTF-8",
            "TERM": "xterm",
            "COLUMNS": "",
        }
        for number, (name, arguments) in enumerate(cases.items(), 1):
            code, text = on_terminal(
                [str(hloscope), *(word.format(out=out, hloscope=hloscope) for word in arguments)],
                root,
                environment,
            )
            lines = text.rstrip("\n").split("\n")
            wide = [line for line in lines if len(line) > COLUMNS]
            problems = []
            if code not in (0, 1) or not lines[0].strip():
                problems.append(f"exit code {code}, first line {lines[0]!r}")
            if len(lines) > LINES:
                problems.append(f"{len(lines)} lines, at most {LINES}")
            if wide:
                problems.append(f"{len(wide)} lines of more than {COLUMNS} columns: {wide[0]}")
            failed += bool(problems)
            print(f"{'not ok' if problems else 'ok'} {number} - {name}: {len(lines)} lines")
            for problem in problems:
                print(f"# {problem}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
