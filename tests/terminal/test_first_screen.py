#!/usr/bin/env python3
"""The answer first: what a command says by default fits one screen of 40 lines and 100 columns.

    test_first_screen.py HLOSCOPE ROOT

TAP, a case a command line, on a terminal of that size. LONGER names those that do not keep to it
yet, each with the lines that it may have at most; one that has come to fit must leave the list.
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
}
# command line: lines that it may have at most
LONGER = {
    "run, two devices": 48,
    "passes time": 60,
    "help": 60,
    "help environment": 110,
    "knowledge list": 260,
}


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
    print(f"1..{len(CASES)}")
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
        for number, (name, arguments) in enumerate(CASES.items(), 1):
            code, text = on_terminal(
                [str(hloscope), *(word.format(out=out, hloscope=hloscope) for word in arguments)],
                root,
                environment,
            )
            lines = text.rstrip("\n").split("\n")
            wide = [line for line in lines if len(line) > COLUMNS]
            most = LONGER.get(name, LINES)
            problems = []
            if code not in (0, 1) or not lines[0].strip():
                problems.append(f"exit code {code}, first line {lines[0]!r}")
            if len(lines) > most:
                problems.append(f"{len(lines)} lines, at most {most}")
            if name in LONGER and len(lines) <= LINES:
                problems.append(f"fits in {len(lines)} lines now: take it out of LONGER")
            if wide:
                problems.append(f"{len(wide)} lines of more than {COLUMNS} columns: {wide[0]}")
            failed += bool(problems)
            print(f"{'not ok' if problems else 'ok'} {number} - {name}: {len(lines)} lines")
            for problem in problems:
                print(f"# {problem}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
