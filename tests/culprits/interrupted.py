#!/usr/bin/env python3
"""blame and reduce that are killed, interrupted or out of disk: nothing that was found is lost.

    tests/culprits/interrupted.py build/hloscope build/tests/culprits/libhloscope_culprit_pjrt.so
        build/tests/faults/fail_nth.so [--all]

The same command goes on from the store: it says what a blame without a break says, and asks only
what was not asked. A disk that is full from the n-th write on is told as that, never as a fault of
the device; what was answered before is there for the next command. Speaks TAP.
"""

import json
import os
import pathlib
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time

hloscope, culprit, full_disk = (str(pathlib.Path(path).resolve()) for path in sys.argv[1:4])
scratch = pathlib.Path(tempfile.mkdtemp(prefix="hloscope-interrupted-"))
LIMIT_S = 300
# every read of a program takes half a second: time to be killed in
WRONG, SLOWLY = "algsimp:numbers", "algsimp:numbers;read:slow"
PROGRAM = """HloModule small
ENTRY main {
  x = f32[16,8] parameter(0)
  zero = f32[] constant(0)
  zeros = f32[16,8] broadcast(zero), dimensions={}
  x0 = f32[16,8] add(x, zeros)
  n = f32[16,8] negate(x0)
  ROOT r = f32[16,8] multiply(n, x)
}
"""
program = scratch / "small.hlo"
done = 0


def check(name, good, why=""):
    global done
    done += 1
    lines = "".join(f"\n# {line}" for line in str(why).splitlines()[:30])
    print(f"{'ok' if good else 'not ok'} {done} - {name}{'' if good else lines}", flush=True)


def cache_of(name):
    path = scratch / f"cache-{name}"
    path.mkdir(mode=0o700, exist_ok=True)
    return path


def start(words, cache, what=WRONG, **more):
    environment = dict(os.environ, HLOSCOPE_CACHE_DIR=str(cache), HLOSCOPE_CULPRIT=what, **more)
    return subprocess.Popen(
        [hloscope, *map(str, words), "--quiet", "--format=json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
    )


def run(words, cache, what=WRONG, **more):
    process = start(words, cache, what, **more)
    out, err = process.communicate(timeout=LIMIT_S)
    try:
        return process.returncode, json.loads(out), err
    except ValueError:
        return process.returncode, {"broken": out}, err


def answers(cache):
    """How many answers the store holds, and the state of each experiment."""
    try:
        store = sqlite3.connect(f"file:{cache}/results.sqlite?mode=ro", uri=True)
        count = store.execute("SELECT count(*) FROM task").fetchone()[0]
        states = [row[0] for row in store.execute("SELECT status FROM experiment ORDER BY id")]
        store.close()
    except sqlite3.Error:
        return 0, []
    return count, states


def break_off(words, cache, after, number, what):
    """The command, ended by a signal when so many answers are in the store."""
    process = start(words, cache, what)
    begun = time.monotonic()
    while process.poll() is None and answers(cache)[0] < after:
        if time.monotonic() - begun > LIMIT_S:
            break
        time.sleep(0.02)
    process.send_signal(number)
    out, err = process.communicate(timeout=LIMIT_S)
    return process.returncode, out + err


def same(a, b):
    """What a blame says, without how it came to it."""
    keys = ("verdict", "pass", "run", "rewrite", "rule", "headline", "evidence", "coverage")
    return all(a.get(key) == b.get(key) for key in keys)


program.write_text(PROGRAM)
BLAME = ["blame", program, "-d", culprit, "--runs", "3"]

# ---- broken off ----
code, whole, err = run(BLAME, cache_of("whole"))
asked = answers(cache_of("whole"))[0]
check(
    "blame finds the pass",
    (code, whole.get("pass")) == (1, "algsimp"),
    f"{code} {whole} {err}",
)
cache = cache_of("broken")
code, said = break_off(BLAME, cache, 4, signal.SIGKILL, SLOWLY)
check("blame is killed", code == -signal.SIGKILL, said)
code, said = break_off(BLAME, cache, 9, signal.SIGINT, SLOWLY)
check(
    "interrupted, it says that the same command goes on",
    code == 128 + signal.SIGINT and "goes on from here" in said,
    f"{code} {said}",
)
check("the store says interrupted", answers(cache)[1] == ["interrupted"], answers(cache))
before = answers(cache)[0]
code, document, err = run(BLAME, cache, SLOWLY)
check("it goes on to the same verdict, by the same evidence", same(document, whole), document)
# the first task is the device, what was going on is asked again
check(
    f"what was asked is not asked again: {document.get('remembered')} of {before} answers",
    before - 2 <= document.get("remembered", 0) < asked and answers(cache) == (asked, ["done"]),
    f"{answers(cache)} of {asked}",
)
check("nothing is left behind", not list((cache / "blame").glob("*")))
code, document, err = run(BLAME, cache)
check("a blame that was done begins anew", document.get("remembered") == 0, document)

# ---- another question under the same name ----
cache = cache_of("changed")
break_off(BLAME, cache, 5, signal.SIGKILL, SLOWLY)
program.write_text(PROGRAM.replace("negate", "abs"))
code, document, err = run(BLAME, cache)
check("a program that was changed meanwhile is asked anew", document.get("remembered") == 0, err)
program.write_text(PROGRAM)
code, document, err = run([*BLAME, "--fresh"], cache)
check("--fresh begins anew", document.get("remembered") == 0, err)

# ---- a full disk ----
# With a plus all from the n-th on fail. Without it now one and then one, in pipes too: a process
# that is lost over it has said nothing of the program.
REDUCE = ["reduce", program, "-d", culprit, "-o", scratch / "r"]
FAULTS = (
    (BLAME, "pwrite", "3+"),
    (REDUCE, "pwrite", "40+"),
    (BLAME, "write", "4+"),
    (REDUCE, "write", "4+"),
    (REDUCE, "write", "12"),
    (BLAME, "pwrite", "40+"),
    (REDUCE, "pwrite", "3+"),
    (BLAME, "write", "1+"),
    (REDUCE, "write", "1+"),
    (BLAME, "write", "8+"),
)
for words, function, number in FAULTS if "--all" in sys.argv else FAULTS[:5]:
    name = f"{words[0]}, {function} {number}"
    cache = cache_of(f"{words[0]}-{function}-{number}")
    marks = scratch / f"marks-{words[0]}-{function}-{number}"
    fault = {"LD_PRELOAD": full_disk, "HLOSCOPE_TEST_FAIL": f"{function}:{number}:{marks}"}
    code, document, err = run(words, cache, **fault)
    text = json.dumps(document) + err
    check(f"{name}: something failed", marks.exists(), text)
    if number.endswith("+"):
        # a verdict, where it came to one, is the right one
        good = code in (0, 1, 3) and document.get("verdict", "pass") == "pass"
        told = "No space left" in text or "no room" in text
        check(f"{name}: a full disk is told as one", good and told, f"{code} {text}")
    code, document, err = run(words, cache)
    good = code == 0 if words is REDUCE else same(document, whole)
    check(f"{name}: with room again it goes on", good, f"{document} {err}")

print(f"1..{done}")
