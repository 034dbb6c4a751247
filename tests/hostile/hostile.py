#!/usr/bin/env python3
"""Commands on input and in surroundings that somebody made to do harm: pipes and devices in place
of files, files that unpack without end, nesting without end, names that talk to the terminal, names
that lead out of a folder. Each ends in time, by no signal, in bounded memory, with a message, and
nothing that it prints changes a terminal.

usage: hostile.py HLOSCOPE      prints TAP
"""

import contextlib
import gzip
import io
import json
import os
import pathlib
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
import zipfile

hloscope = os.path.abspath(sys.argv[1])
LIMIT_S = 120  # nothing takes a second; a machine may have much else to do
MOST_MIB = 900
NESTED = 100000
ESCAPES = "\x1b]0;owned\x07\x1b[31m\x9b5m\u202e"
CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
PROGRAM = "HloModule m\nENTRY e {\n  p = f32[4] parameter(0)\n  ROOT r = f32[4] add(p, p)\n}\n"
results = []


def check(name, problem):
    results.append(not problem)
    print(f"{'ok' if not problem else 'not ok'} {len(results)} - {name!a}", flush=True)
    if problem:
        print("\n".join("# " + ascii(line) for line in str(problem).splitlines()[:20]), flush=True)


def problem_of(arguments, folder, codes):
    """What is wrong about how a command ends and what it prints; "" where nothing is."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("HLOSCOPE_")}
    environment |= {"HOME": f"{folder}/home", "XDG_CACHE_HOME": f"{folder}/home/cache"}
    with (
        open(f"{folder}/stdout", "w+b") as out,
        open(f"{folder}/stderr", "w+b") as err,
        subprocess.Popen(
            [hloscope, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
            cwd=folder,
            env=environment,
            start_new_session=True,
        ) as process,
    ):
        begin = time.monotonic()
        ended, status, usage = os.wait4(process.pid, os.WNOHANG)
        while not ended and time.monotonic() - begin < LIMIT_S:
            time.sleep(0.01)
            ended, status, usage = os.wait4(process.pid, os.WNOHANG)
        if not ended:
            os.killpg(process.pid, signal.SIGKILL)
            _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        err.seek(0)
        text = (out.read() + err.read()).decode(errors="replace")
    control = CONTROL.search(text)
    if not ended:
        return f"not at its end after {LIMIT_S} s\n{text[-500:]}"
    if process.returncode not in codes:
        return f"exit code {process.returncode}, not {codes}\n{text[-500:]}"
    if usage.ru_maxrss > MOST_MIB << 10:
        return f"{usage.ru_maxrss >> 10} MiB of memory"
    if control:
        return f"it prints {control.group()!a}: {text[max(0, control.start() - 200) :][:400]}"
    return "" if not process.returncode or text.strip() else "no message"


def put(folder, name, data):
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return name


def no_files(folder):
    """Nobody writes to the pipes, which lie in folders, and the devices have no end. A pipe that the
    command line names is waited for: `hloscope tables <(zcat x.xplane.pb.gz)` is one."""
    for name in ("run.hsc/1.ring", "profile/plugins/profile/x/h.xplane.pb", "base/y.entry"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        os.mkfifo(folder / name)
    for command in (["tables"], ["export", "-o", "x.json"], ["report", "-o", "x.html"], ["top"]):
        yield [command[0], "run.hsc", *command[1:]], (1,)
    yield ["tables", "profile"], (1,)
    yield ["report", "profile", "-o", "x.html"], (1,)
    yield ["knowledge", "list", "--knowledge", "base"], (0,)
    yield ["trace", "-o", "run.hsc", "--", "true"], (0, 1)
    for device in ("/dev/zero", "/dev/urandom"):
        for command in ("tables", "convert", "stats"):
            yield [command, device], (1,)
        yield ["report", device, "-o", "x.html"], (1,)


def bombs(folder):
    packed = gzip.compress(bytes(100 << 20))
    for name, command in (
        ("b.xplane.pb.gz", ["tables"]),
        ("b.json.gz", ["stats"]),
        ("b.json.gz", ["report", "-o", "x.html"]),
        ("b.hlo.gz", ["convert"]),
    ):
        yield [command[0], put(folder, name, packed), *command[1:]], (1,)
    array = b"\x93NUMPY\x01\x00v\x00"
    array += b"{'descr': '<f4', 'fortran_order': False, 'shape': (4,), }".ljust(117) + b"\n"
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("p.npy", array + bytes(100 << 20))
    put(folder, "b.npz", archive.getvalue())
    yield ["run", put(folder, "ok.hlo", PROGRAM), "--inputs", "b.npz"], (0, 1)


def nesting(folder):
    def nested(begin, end, middle=""):
        return begin * NESTED + middle + end * NESTED

    hlo = "HloModule m\nENTRY e {\n  p = f32[] parameter(0)\n  ROOT r = %s\n}\n"
    for name, text in (
        ("shape.hlo", hlo % (nested("(", ")", "f32[]") + " negate(p)")),
        ("sharding.hlo", hlo % ("f32[] negate(p), sharding=" + nested("{", "}"))),
        ("literal.hlo", hlo % ("f32[1] constant(" + nested("{", "}", "1") + ")")),
        ("regions.mlir", nested("module {", "}")),
        ("types.mlir", "func.func @f(%a: " + nested("tuple<", ">", "f32") + ") { return }"),
        ("attributes.mlir", "module attributes {a = " + nested("[", "]") + "} { }"),
        ("groups.pb", b"\x0b" * NESTED),
    ):
        yield ["convert", put(folder, name, text), "--to", "hlo"], (1,)
    yield ["stats", put(folder, "deep.json", nested("[", "]"))], (1,)
    yield ["gate", put(folder, "ok.hlo", PROGRAM), "--baseline", "deep.json"], (2,)


def escapes(folder):
    name = f"odd{ESCAPES}"
    program = PROGRAM.replace("add(p, p)", f'add(p, p), metadata={{op_name="{ESCAPES}"}}')
    called = PROGRAM.replace("add(p, p)", f'custom-call(p), custom_call_target="{ESCAPES}"')
    put(folder, f"{name}/a.hlo", program)
    put(folder, "call.hlo", called)
    put(folder, "unit.json", json.dumps({"unit": ESCAPES, ESCAPES: [1, 2, 3], "samples": [1, 2]}))
    put(folder, "rows.csv", f"{ESCAPES},b\n1,2\n2,3\n3,4\n")
    put(folder, "log.txt", f"E0000 jax: RESOURCE_EXHAUSTED: Out of memory {ESCAPES}\n{ESCAPES}\n")
    yield from (
        (["run", f"{name}/a.hlo", "--runs", "2"], (0,)),
        (["run", "call.hlo"], (1, 3)),
        (["probe", "call.hlo"], (1, 3)),
        (["blame", "call.hlo", "--time-budget", "2"], (1, 3)),
        (["passes", "list", f"{name}/a.hlo"], (0,)),
        (["cache", "list", "--dir", name], (0, 1)),
        (["tables", name], (1,)),
        (["stats", "unit.json"], (0, 1)),
        (["stats", "rows.csv", "--unit", ESCAPES], (0, 1)),
        (["stats", "rows.csv", "--column", ESCAPES], (0, 1)),
        (["explain", "log.txt"], (0,)),
        (["watch", "--log", "log.txt", "--once"], (0, 1)),
        (["run", "call.hlo", "-d", ESCAPES], (2, 1, 3)),
        ([ESCAPES], (2,)),
        (["help", ESCAPES], (2,)),
        (["knowledge", "show", ESCAPES], (1, 2)),
    )


# What a store from elsewhere may hold: code that its database would run.
NO_END = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c)"
STORES = {
    "view": [
        "ALTER TABLE experiment RENAME TO old",
        f"CREATE VIEW experiment AS {NO_END} SELECT old.* FROM old, c",
    ],
    "generated": [
        "DROP TABLE sample",
        "CREATE TABLE sample (task, metric, unit, position,"
        " value AS (length(zeroblob(1000000000))))",
    ],
    "trigger": [
        "CREATE TRIGGER t BEFORE INSERT ON experiment BEGIN"
        f" SELECT count(*) FROM ({NO_END} SELECT x FROM c); END"
    ],
    "taken-away": ["CREATE TRIGGER t AFTER INSERT ON task BEGIN DELETE FROM experiment; END"],
    "version": ["PRAGMA user_version = -5"],
    "blobs": [f"UPDATE experiment SET {c} = zeroblob(9)" for c in ("kind", "result", "command")],
    "numbers": ["UPDATE experiment SET started_ns = 9e999, finished_ns = -9e999, seed = 'x'"],
    "json": ["UPDATE experiment SET result = '[1e999]', configuration = '{', environment = '[]'"],
    "names": [f"UPDATE experiment SET {c} = '{ESCAPES}'" for c in ("kind", "device", "subject")],
}


def stores(folder):
    """Result stores that somebody else made, and what was put beside one."""
    put(folder, "in.hlo", PROGRAM)
    yield ["run", "in.hlo", "--runs", "2", "--store", "good.sqlite"], (0,)
    good = (folder / "good.sqlite").read_bytes()
    log = (folder / "good.sqlite-wal").read_bytes()
    for name, statements in STORES.items():
        put(folder, f"{name}.sqlite", good)
        put(folder, f"{name}.sqlite-wal", log)
        with contextlib.closing(sqlite3.connect(folder / f"{name}.sqlite")) as database:
            for statement in statements:
                database.execute(statement)
            database.commit()
        for command in (["results", "list"], ["results", "show", "1"]):
            yield [*command, "--store", f"{name}.sqlite"], (0, 1)
        codes = (0,) if name in ("trigger", "taken-away") else (0, 1)
        yield ["run", "in.hlo", "--runs", "2", "--store", f"{name}.sqlite"], codes
    with contextlib.closing(sqlite3.connect(folder / "foreign.sqlite")) as database:
        database.execute("CREATE TABLE experiment (of_somebody_else)")
        database.commit()
    foreign = (folder / "foreign.sqlite").read_bytes()
    yield ["run", "in.hlo", "--store", "foreign.sqlite"], (1,)
    check("a database of somebody else stays as it was", is_kept(folder, "foreign", foreign))
    for end in ("wal", "shm", "journal"):
        put(folder, f"victim-{end}", b"precious")
        (folder / f"{end}.sqlite-{end}").symlink_to(folder / f"victim-{end}")
        yield ["run", "in.hlo", "--store", f"{end}.sqlite"], (1,)
        os.mkfifo(folder / f"pipe-{end}.sqlite-{end}")
        yield ["run", "in.hlo", "--store", f"pipe-{end}.sqlite"], (1,)
    left = {(folder / f"victim-{end}").read_bytes() for end in ("wal", "shm", "journal")}
    check("what links beside a store lead to stays as it was", left != {b"precious"} and left)


def is_kept(folder, name, bytes_before):
    """ "" when the database has the bytes that it had."""
    return "" if (folder / f"{name}.sqlite").read_bytes() == bytes_before else "it was changed"


def plans(folder):
    """Folders of sweeps with pipes, devices and nonsense in them."""
    put(folder, "in.hlo", PROGRAM)
    yield ["sweep", "plan", "compile", "in.hlo", "-q", "-o", "plan"], (0,)
    yield ["sweep", "run", "plan", "-q"], (0,)
    (shard,) = (folder / "plan/results").glob("*.jsonl")
    (kept,) = (folder / "plan/inputs").iterdir()
    for name in ("plan.json", "tasks.jsonl", f"inputs/{kept.name}", f"results/{shard.name}"):
        for kind in ("pipe", "device", "nested", "zeros"):
            copy = folder / f"{kind}-{name.replace('/', '-')}"
            shutil.copytree(folder / "plan", copy)
            if name.startswith("inputs"):
                shutil.rmtree(copy / "results")
            (copy / name).unlink()
            if kind == "pipe":
                os.mkfifo(copy / name)
            elif kind == "device":
                (copy / name).symlink_to("/dev/zero")
            else:
                put(copy, name, b"[" * NESTED if kind == "nested" else bytes(1 << 20))
            codes = (0, 1)
            for command in (["show"], ["merge"], ["run", "-q"]):
                yield ["sweep", command[0], copy.name, *command[1:]], codes


def main():
    for family in (no_files, bombs, nesting, escapes, stores, plans):
        with tempfile.TemporaryDirectory(prefix="hloscope-hostile-") as scratch:
            for arguments, codes in family(pathlib.Path(scratch)):
                words = f"{family.__name__}: {' '.join(arguments)}"
                check(words, problem_of(arguments, scratch, codes))
    print(f"1..{len(results)}")
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
