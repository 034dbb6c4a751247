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
    "reduce": ["reduce", MODEL, "--while", "grep -q dot {{}}", "-o", "{out}/small"],
    "gate": ["gate", MODEL, "--baseline", "{out}/gate.json", "--update", "--turns", "6"],
    "gate, again": ["gate", MODEL, "--baseline", "{out}/gate.json", "--turns", "6"],
    "probe": ["probe", "models/patterns/tiny_natural.hlo", "--limit", "2"],
    "passes validate": ["passes", "validate", MODEL],
    "passes diff": ["passes", "diff", MODEL],
    "passes diff, larger": ["passes", "diff", "models/resnet50_train.hlo.gz"],
    "passes why": ["passes", "why", MODEL],
    "passes autotune": ["passes", "autotune", MODEL, "--level", "1", "--fresh"],
    "sweep plan": ["sweep", "plan", "compile", MODEL, "--off", "dce", "-o", "{out}/plan"],
    "sweep run": ["sweep", "run", "{out}/plan"],
    "sweep merge": ["sweep", "merge", "{out}/plan"],
    "watch": ["watch", "--log", "{out}/log", "--once", "--rule", "compile-failed"],
    "conform": ["conform", "cpu", "--only", "events"],
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


# Commands and verbs without a case above, and why.
WITHOUT = {
    "completion": "a script for a shell",
    "convert": "a program",
    "export": "files",
    "report": "a page",
    "serve": "a server",
    "top": "a screen of its own",
    "versions": "needs releases: tests/real/versions.py",
    "worker": "speaks JSON with its parent",
    "tables": "the rows that were asked for",
    "passes dump": "files",
    "passes explain": "a page of a pass, to read",
    "passes report": "a page",
    "passes show": "a page",
}
# In a pipe no more than a screen either: what `make demo` is read in.
PIPED = ("patterns",)
INSTRUCTION = re.compile(r"\s*([~>+-] |ROOT |HloModule |operands; was: )?%?[\w.-]+ = |HloModule ")


def without_case(pages):
    """Commands, and verbs of passes, that no case runs and no reason excuses."""
    names = {words[0] for words in pages}
    names |= {" ".join(words[:2]) for words in pages if words[0] == "passes" and len(words) > 2}
    run = {" ".join(words[:n]) for words in CASES.values() for n in (1, 2)}
    return sorted(names - run - set(WITHOUT))


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
    pages = list(help_pages(hloscope))
    cases = CASES | {" ".join(words): words for words in pages}
    print(f"1..{len(cases) + 1}")
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
            if name in PIPED:
                piped = [str(hloscope), *(word.format(out=out) for word in arguments)]
                more = subprocess.run(piped, cwd=root, env=environment, capture_output=True)
                lines += [x for x in more.stdout.decode().split("\n") if len(x) > COLUMNS]
            # instructions are there to be copied
            wide = [x for x in lines if len(x) > COLUMNS and not INSTRUCTION.match(x)]
            problems = []
            if code not in (0, 1, 3) or not lines[0].strip():
                problems.append(f"exit code {code}, first line {lines[0]!r}")
            if len(lines) > LINES:
                problems.append(f"{len(lines)} lines, at most {LINES}")
            if wide:
                problems.append(f"{len(wide)} lines of more than {COLUMNS} columns: {wide[0]}")
            failed += bool(problems)
            print(f"{'not ok' if problems else 'ok'} {number} - {name}: {len(lines)} lines")
            for problem in problems:
                print(f"# {problem}")
    missing = without_case(pages)
    failed += bool(missing)
    print(f"{'not ok' if missing else 'ok'} {len(cases) + 1} - every verb has a case or a reason")
    print("".join(f"# {name}\n" for name in missing), end="")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
