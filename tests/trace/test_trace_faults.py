#!/usr/bin/env python3
"""The tracer in front of plugins that misbehave, and where nothing can be written: the traced
program ends as it does untraced.

usage: test_trace_faults.py HLOSCOPE FAKE_PLUGIN PROGRAM.hlo      prints TAP
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile

hloscope, plugin, program = (os.path.abspath(path) for path in sys.argv[1:4])
results = []


def check(name, condition, detail=""):
    results.append(bool(condition))
    print(f"{'ok' if condition else 'not ok'} {len(results)} - {name}")
    if not condition:
        print("\n".join("# " + line for line in str(detail).splitlines()[:20]))


def run(*args, **variables):
    return subprocess.run(
        [hloscope, *args],
        capture_output=True,
        text=True,
        timeout=100,
        env=dict(os.environ, **variables),
    )


def events(capture):
    return json.loads(run("tables", capture, "events", "--format=json").stdout)


with tempfile.TemporaryDirectory() as scratch:
    ran = ["--", hloscope, "run", program, "--device", plugin, "--format=json"]

    def traced(name, fake):
        capture = os.path.join(scratch, name + ".hsc")
        return capture, run(
            "trace",
            "-o",
            capture,
            "--no-summary",
            *ran,
            HLOSCOPE_FAKE=fake,
            HLOSCOPE_CACHE_DIR=os.path.join(scratch, name + ".cache"),
        )

    capture, done = traced("newer", "minor=200,table_bytes=3000")
    names = {e["name"] for e in events(capture)["rows"]}
    check(
        "a plugin newer than the tracer works, and is traced",
        done.returncode == 0
        and json.loads(done.stdout)["devices"][0]["status"] == "ok"
        and {"compile", "execute"} <= names,
        (done.stdout[-300:], done.stderr[-300:], names),
    )
    capture, done = traced("abort", "abort=LoadedExecutable_Execute")
    table = events(capture)
    opened = [e["name"] for e in table["rows"] if e["kind"] == "open span"]
    check(
        "a plugin that aborts: what it did is there, what it was doing is open",
        done.returncode == 1
        and "signal 6" in done.stdout + done.stderr
        and opened == ["execute"]
        and any(e["name"] == "compile" for e in table["rows"])
        and any("did not end" in note for note in table["notes"]),
        (done.stdout[-300:], opened),
    )
    capture, done = traced("fails", "fail=Client_Compile:3:not today")
    failed = [e for e in events(capture)["rows"] if e["name"] == "compile"]
    check(
        "an error is the caller's, and recorded",
        done.returncode != 0 and failed and "not today" in failed[0]["attributes"],
        (done.stdout[-300:], failed),
    )
    for name, fake in (("at once", "run_event=13"), ("later", "run_event=13,async=5")):
        capture, done = traced(name, fake)
        rows = json.loads(run("tables", capture, "executables", "--format=json").stdout)["rows"]
        check(
            f"a run whose error comes {name}, by the event of its end, is a failure and no run",
            done.returncode == 1 and rows and rows[0]["runs"] == 0 and rows[0]["failed"] >= 1,
            (done.stdout[-300:], rows),
        )
    capture, done = traced("old", "minor=40,table_bytes=700")
    check(
        "a plugin with a short table is forwarded",
        done.returncode in (0, 1, 3) and "Segmentation" not in done.stderr,
        done.stderr[-300:],
    )
    capture, done = traced("null", "null=Event_OnReady")
    check(
        "a plugin without what the tracer needs runs untraced, and that is reported",
        "untraced" in done.stderr or done.returncode == 0,
        done.stderr[-300:],
    )
    environment = {
        "LD_PRELOAD": os.path.join(os.path.dirname(hloscope), "libhloscope_pjrt_tracer.so"),
        "HLOSCOPE_OUTPUT_PATH": "/proc/no/such/place.hsc",
    }
    done = run("run", program, "--device", plugin, "--format=json", **environment)
    check(
        "where nothing can be written the program runs untraced",
        done.returncode == 0 and json.loads(done.stdout)["devices"][0]["status"] == "ok",
        (done.stdout[-200:], done.stderr[-300:]),
    )

with tempfile.TemporaryDirectory() as scratch:
    # LD_PRELOAD is taken apart at spaces and colons.
    build, place = os.path.dirname(hloscope), os.path.join(scratch, "a place: with spaces")
    os.makedirs(place)
    for name in ("hloscope", "libhloscope_pjrt_tracer.so"):
        shutil.copy(os.path.join(build, name), place)
    capture = os.path.join(scratch, "space.hsc")
    before = set(os.listdir("/tmp"))
    done = subprocess.run(
        [
            os.path.join(place, "hloscope"),
            "trace",
            "-o",
            capture,
            "--no-summary",
            "--",
            hloscope,
            "run",
            program,
            "--device",
            plugin,
            "--format=json",
        ],
        capture_output=True,
        text=True,
        timeout=100,
        env=dict(os.environ, HLOSCOPE_CACHE_DIR=os.path.join(scratch, "cache")),
    )
    names = {e["name"] for e in events(capture)["rows"]}
    check(
        "a library in a place with a space is preloaded",
        done.returncode == 0 and {"compile", "execute"} <= names,
        (done.stdout[-200:], done.stderr[-300:], names),
    )
    left = [
        name for name in set(os.listdir("/tmp")) - before if name.startswith("hloscope-preload")
    ]
    check("the link that it took is gone", not left, left)

# What a signal that a healthy Python program gets does: the writer runs, and nothing after it.
SIGNALLED = """
import ctypes, os, signal, sys
signal.signal(int(sys.argv[1]), signal.SIG_DFL)  # what started this may ignore it
lib = ctypes.CDLL(None)
write = ctypes.CFUNCTYPE(None)(lambda: os.write(1, b"written "))
lib.hsc_tracer_at_death(write)
os.kill(os.getpid(), int(sys.argv[1]))
for _ in range(int(sys.argv[2])):
    pass
os.write(1, b"went on")
"""
with tempfile.TemporaryDirectory() as scratch:
    environment = {
        "LD_PRELOAD": os.path.join(os.path.dirname(hloscope), "libhloscope_pjrt_tracer.so"),
        "HLOSCOPE_OUTPUT_PATH": os.path.join(scratch, "capture.hsc"),
    }
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGSEGV):
        for loops in ("0", "3000000"):
            done = subprocess.run(
                [sys.executable, "-S", "-c", SIGNALLED, str(int(number)), loops],
                capture_output=True,
                text=True,
                timeout=100,
                env=dict(os.environ, **environment),
            )
            check(
                f"{signal.Signals(number).name} ends a Python program where it is sent,"
                f" {loops} loops before its end",
                done.returncode == -number and done.stdout == "written ",
                (done.returncode, done.stdout, done.stderr[-300:]),
            )

print(f"1..{len(results)}")
sys.exit(0 if all(results) else 1)
