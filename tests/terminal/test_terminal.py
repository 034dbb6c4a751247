"""How every command looks: aligned, within the terminal, ASCII where there is no Unicode, without
colour in pipes and with NO_COLOR; JSON as its schema says.

    test_terminal.py HLOSCOPE SOURCE_ROOT

The matrix is made from src/cli/commands.def: a command without a row below fails the test. Each row
runs in a pipe (UTF-8 and LC_ALL=C), on terminals of 60 and 200 columns (UTF-8 with colour,
NO_COLOR, LC_ALL=C, TERM=dumb), and as JSON where the command has it.
"""

import fcntl
import json
import os
import pty
import re
import select
import shutil
import struct
import subprocess
import sys
import tempfile
import termios
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../tools"))
import check_schema

number = failed = 0
PROGRAM = """HloModule two

ENTRY main {
  x = f32[16,16] parameter(0)
  y = f32[16,16] parameter(1)
  d = f32[16,16] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  t = f32[16,16] tanh(d)
  ROOT r = f32[16,16] add(t, y)
}
"""

# command: (arguments, schema of its JSON or None) of each way in which it prints; or the reason why
# nothing of it is a table.
PROFILE = "$ROOT/tests/conformance/profiles/xla_cpu_mlp.xplane.pb.gz"
CASES = {
    "passes": [
        ("list in.hlo", "passes_list"),
        ("time in.hlo --repeats 3", "passes_time"),
        ("diff in.hlo", "passes_diff"),
        ("ablate in.hlo --only fusion --processes 2 --blocks 2 --placebos 1", "passes_ablate"),
        ("validate in.hlo", "passes_validate"),
        ("explain fusion", "passes_explain"),
        ("autotune in.hlo --level 1 --fresh --export logs.textproto", "passes_autotune"),
    ],
    "trace": "prints what the program prints",
    "profile": [("in.hlo --steps 5 -o logs", "table")],
    "tables": [
        (PROFILE + " hlo-operators --limit 5", "table"),
        (PROFILE + " steps --limit 3", "table"),
        (PROFILE + " framework-operators --limit 4", "table"),
        ("run.hsc summary", "table"),
    ],
    "top": "a screen that draws itself again; its table is that of tables",
    "export": "writes files",
    "report": "writes a page",
    "serve": "a server",
    "run": [("in.hlo --runs 5", "run"), ("in.hlo --runs 5 --compare reference", "run")],
    "patterns": [("in.hlo --trials 2 --warmup 1 --patterns natural,vmap -o p.json", "patterns")],
    "stats": [("in.csv --column time_us --by variant --baseline a", "stats")],
    "devices": [("", "devices")],
    "convert": "prints programs",
    "doctor": [("--quick", "doctor")],
    "explain": [("in.log", "explain")],
    "probe": [
        ("in.hlo", "probe"),
        ("--exponent in.hlo --sizes 16=16,32,64 --rounds 3", "probe_exponent"),
    ],
    "watch": [("--log in.log --once --rule compile-failed", "watch")],
    "knowledge": [("list", "table"), ("search memory", "table")],
    "tune": [("in.hlo --only optimization_level --time-budget 30", "tune")],
    "sweep": [
        ("plan compile in.hlo --off dce -o plan -q", "sweep"),
        ("run plan -q", "sweep"),
        ("merge plan", "table"),
        ("merge plan --times", "table"),
    ],
    "gate": [("in.hlo --baseline g.json --update --turns 6", "gate")],
    "blame": [("in.hlo --runs 2", "blame")],
    "reduce": "needs a program that fails: tests/unit/test_reduction.c",
    "versions": "needs releases: tests/real/versions.py",
    "conform": [("cpu --only events", "conform")],
    "results": [("list", "table"), ("show 1", "results"), ("compare 1 2", "table")],
    "cache": [("stats", "table"), ("list", "table")],
    "help": [("", None), ("run", None)],
    "completion": "prints scripts for shells",
    "version": [("", "version")],
    "worker": "speaks JSON with its parent",
}
# Lines that may be longer than the terminal: what is there to be copied, or comes from elsewhere as
# it is.
LONG = re.compile(
    r"^\s*[~>+-] .* = |^    .*was: |^\s+line \d+ |^  hloscope |^ {4,}.*[={]|^"
    r" {30,}\S+$|https?://|/[\w.-]+/[\w./-]+|^\s*(hint|while|error)|^\s*[\w.-]+ ="
    r" |fingerprint|[0-9a-f]{32}|\S{40}"
)


def report(name, holds, more=""):
    global number, failed
    number += 1
    failed += not holds
    print(("ok" if holds else "not ok"), number, "-", name)
    if not holds:
        print(
            "#",
            "".join(
                c if c.isprintable() or c == "\n" else repr(c)[1:-1] for c in str(more)[:2500]
            ).replace("\n", "\n# "),
        )


def environment(home, **settings):
    keep = {
        k: v
        for k, v in os.environ.items()
        if k not in ("LC_ALL", "LC_CTYPE", "LANG", "COLUMNS", "NO_COLOR", "TERM")
        and not k.startswith("HLOSCOPE_")
        or k == "HLOSCOPE_LIBRARY_DIR"
    }
    return dict(keep, HLOSCOPE_CACHE_DIR=home + "/cache", HOME=home, **settings)


def piped(command, home, **settings):
    done = subprocess.run(
        command,
        capture_output=True,
        cwd=home,
        env=environment(home, **settings),
        stdin=subprocess.DEVNULL,
        timeout=120,
    )
    return (
        done.returncode,
        done.stdout.decode("utf-8", "replace"),
        done.stderr.decode("utf-8", "replace"),
    )


def on_terminal(command, home, columns, **settings):
    """stdout and stderr on terminals of their own."""
    texts, ends, theirs = [b"", b""], [], []
    for _ in range(2):
        ours, its = pty.openpty()
        fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
        ends.append(ours)
        theirs.append(its)
    process = subprocess.Popen(
        command,
        stdout=theirs[0],
        stderr=theirs[1],
        stdin=subprocess.DEVNULL,
        cwd=home,
        env=environment(home, **dict({"TERM": "xterm-256color"}, **settings)),
    )
    for its in theirs:
        os.close(its)
    waiting, limit = set(ends), time.monotonic() + 120
    while waiting and time.monotonic() < limit:
        for fd in select.select(list(waiting), [], [], 1)[0]:
            try:
                more = os.read(fd, 65536)
            except OSError:
                more = b""
            if not more:
                waiting.discard(fd)
            texts[ends.index(fd)] += more
    process.wait(10)
    for fd in ends:
        os.close(fd)
    return process.returncode, *[t.decode("utf-8", "replace").replace("\r\n", "\n") for t in texts]


def plain(text):
    return re.sub(r"\x1b\[[0-9;]*[A-Za-z]", "", text)


def misaligned(text):
    """Rows of tables that have something in the gap between two columns, or end a number elsewhere
    than its column does."""
    wrong, lines = [], text.split("\n")
    for i, line in enumerate(lines):
        if (
            not re.fullmatch(r"[─-]+(  [─-]+)*", line)
            or i == 0
            or not line.strip()
            or len(line) < 6
        ):
            continue
        spans = [m.span() for m in re.finditer(r"[─-]+", line)]
        gaps = [k for (_, a), (b, _) in zip(spans, spans[1:]) for k in range(a, b)]
        for row in [lines[i - 1]] + lines[i + 1 :]:
            if not row.strip():
                break
            if any(k < len(row) and row[k] != " " for k in gaps):
                wrong.append(row)
    return wrong


def too_wide(text, columns):
    return [
        line
        for line in plain(text).split("\n")
        if len(line.split("\r")[-1]) > columns and not LONG.search(line)
    ]


def looks(hloscope, name, arguments, schema, home, root):
    words = [w.replace("$ROOT", root) for w in arguments.split()]
    command, title = [hloscope, name, *words], f"{name} {arguments}".strip()
    problems = []
    code, out, _ = piped(command, home, LC_ALL="C.UTF-8")
    if code not in (0, 1):
        problems.append(f"exit code {code}: {_}")
    if "\x1b" in out:
        problems.append("escapes in a pipe")
    problems += ["not aligned: " + r for r in misaligned(out)[:3]]
    _, out, _ = piped(command, home, LC_ALL="C")
    beyond = sorted({c for c in out if ord(c) > 126})
    if beyond:
        problems.append(
            f"LC_ALL=C prints {beyond[:8]}: "
            + next(line for line in out.split("\n") if any(ord(c) > 126 for c in line))[:200]
        )
    problems += ["not aligned in ASCII: " + r for r in misaligned(out)[:3]]
    tables = bool(re.search(r"(?m)^-{3,}(  -{3,})*$", out))
    for columns, settings in (
        (60, {"LC_ALL": "C.UTF-8"}),
        (200, {"LC_ALL": "C.UTF-8", "NO_COLOR": "1"}),
        (60, {"LC_ALL": "C", "TERM": "dumb"}),
    ):
        _, out, talk = on_terminal(command, home, columns, **settings)
        where = f"on {columns} columns with {settings}"
        problems += [
            f"wider than the terminal {where}: {line}" for line in too_wide(out, columns)[:3]
        ]
        progress = re.findall(
            r"\x1b\[K([^\r\n\x1b]*)\r", talk
        )  # what is replaced stays on one line
        problems += [
            f"progress wider than the terminal {where}: {line}"
            for line in progress
            if len(line) >= columns
        ]
        coloured = "\x1b[" in out
        if (
            coloured != (tables and "NO_COLOR" not in settings and "TERM" not in settings)
            and (tables or coloured)
            and not (coloured and "NO_COLOR" not in settings and "TERM" not in settings)
        ):
            problems.append(f"{'colour' if coloured else 'no colour'} {where}")
        problems += [f"not aligned {where}: " + r for r in misaligned(plain(out))[:3]]
    report(
        f"{title}: aligned, within the terminal, plain where it should be",
        not problems,
        "\n".join(problems),
    )
    if not schema:
        return
    code, out, _ = piped([*command, "--format=json", "--quiet"], home, LC_ALL="C.UTF-8")
    folder = os.path.join(root, "docs/schemas")
    try:
        from pathlib import Path

        found = check_schema.violations(
            json.loads(out), check_schema.load(Path(folder) / f"{schema}.json"), Path(folder)
        )
    except (ValueError, OSError) as error:
        found = [repr(error), out[:500]]
    report(
        f"{title} --format=json: as {schema}.json says", not found, "\n".join(map(str, found[:5]))
    )


def main():
    hloscope, root = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
    home = tempfile.mkdtemp(prefix="hsc-terminal-")
    with open(f"{home}/in.hlo", "w") as f:
        f.write(PROGRAM)
    with open(f"{home}/in.csv", "w") as f:
        f.write(
            "variant,time_us\n"
            + "".join(
                f"{v},{base + (i * 37 % 11) / 10}\n"
                for i in range(40)
                for v, base in (("a", 100), ("b", 104))
            )
        )
    with open(f"{home}/in.log", "w") as f:
        f.write(
            "starting\nE0000 RESOURCE_EXHAUSTED: Out of memory allocating 1073741824 bytes.\nvmap:"
            " called random operation while in randomness error mode\n" + "x" * 300 + "\n"
        )
    for _ in range(2):
        piped([hloscope, "run", "in.hlo", "--runs", "5"], home)
    piped(
        [hloscope, "trace", "-o", "run.hsc", "--", hloscope, "run", "in.hlo", "--runs", "5"], home
    )
    with open(os.path.join(root, "src/cli/commands.def")) as f:
        commands = dict(re.findall(r"(?m)^COMMAND\((\w+),\s*\w+,\s*([^,]+),", f.read()))
    missing = [name for name in commands if name not in CASES]
    report(
        "every command of commands.def has its rows here",
        not missing and set(CASES) == set(commands),
        (missing, set(CASES) - set(commands)),
    )
    without = [
        name
        for name, cases in CASES.items()
        if not isinstance(cases, str)
        and "JSON" in re.findall(r"\w+", commands.get(name, ""))
        and not any(schema for _, schema in cases)
    ]
    report("every command that has JSON has a schema", not without, without)
    for name, cases in CASES.items():
        for arguments, schema in [] if isinstance(cases, str) else cases:
            looks(hloscope, name, arguments, schema, home, root)
    for trials in (60, 240, 960):  # a rate is only told after a second: as long as that takes
        _, _, talk = on_terminal(
            [hloscope, "patterns", "in.hlo", f"--trials={trials}", "--enable-reinit"]
            + ["-o", "q.json"],
            home,
            100,
            LC_ALL="C.UTF-8",
        )
        steps = re.findall(r"(\d+) of (\d+)", talk)
        rate = re.search(r"/s, about [0-9.]+ ?\w+ left", talk)
        if rate:
            break
    report(
        "progress counts on one line, with rate and time left",
        len(steps) > 5 and "\x1b[K" in talk and rate is not None,
        talk[-500:],
    )
    _, _, quiet = on_terminal(
        [hloscope, "patterns", "in.hlo", "--trials", "1", "--quiet", "-o", "q.json"],
        home,
        100,
        LC_ALL="C.UTF-8",
    )
    report("--quiet has no progress", " of " not in quiet.split("result:")[0], quiet[:300])
    _, wide, _ = on_terminal(
        [hloscope, "patterns", "in.hlo", "--trials", "3", "--quiet", "--all", "-o", "q.json"],
        home,
        200,
        LC_ALL="C.UTF-8",
    )
    report(
        "patterns has a sparkline of each series",
        len(re.findall("[▁-█]{2,}", wide)) >= 4,
        wide[:1500],
    )
    _, plain_lines, _ = on_terminal(
        [hloscope, "run", "in.hlo", "--runs", "30"], home, 200, LC_ALL="C"
    )
    report(
        "sparklines have an ASCII form",
        re.search(r"runs, in order +[.:=#-]{5,}", plain_lines) is not None,
        plain_lines[:1500],
    )
    print(f"1..{number}")
    shutil.rmtree(home, ignore_errors=True)
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
