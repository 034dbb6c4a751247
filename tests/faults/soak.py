#!/usr/bin/env python3
"""Patterns, ablation, traces, runs and serve in a loop, killed at random: memory, descriptors,
threads and temporary files stay flat, the store stays whole, and what is resumed ends with the same
set of results.

usage: soak.py BUILD HOURS [KILLS]      prints one line a round, at the end what was found; exit
                                        code 1 when something was
"""

import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
import urllib.request

build, hours = os.path.abspath(sys.argv[1]), float(sys.argv[2])
kills_wanted = int(sys.argv[3]) if len(sys.argv) > 3 else max(3, min(200, int(hours * 100)))
hloscope = os.path.join(build, "hloscope")
source = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
program = os.path.join(source, "tests", "faults", "in.hlo")
wrong = []


def fail(what):
    wrong.append(what)
    print("wrong:", what, flush=True)


def children(pid):
    try:
        with open(f"/proc/{pid}/task/{pid}/children") as f:
            return [int(word) for word in f.read().split()]
    except OSError:
        return []


def figures(pid):
    """Memory (KiB), descriptors, threads of a process that lives."""
    with open(f"/proc/{pid}/status") as f:
        fields = dict(line.split(":", 1) for line in f if ":" in line)
    return (
        int(fields["VmRSS"].split()[0]),
        len(os.listdir(f"/proc/{pid}/fd")),
        int(fields["Threads"]),
    )


def tasks_of(store):
    """What a store holds of finished work: kind, device, task keys."""
    with sqlite3.connect(f"file:{store}?mode=ro", uri=True) as db:
        if db.execute("PRAGMA integrity_check").fetchone()[0] != "ok":
            fail(f"{store}: integrity_check")
        return {row[0] for row in db.execute("SELECT key FROM task")}


def main():
    random.seed(1)
    scratch = tempfile.mkdtemp(prefix="hloscope-soak-")
    environment = dict(
        os.environ,
        HLOSCOPE_CACHE_DIR=os.path.join(scratch, "cache"),
        TMPDIR=os.path.join(scratch, "tmp"),
    )
    os.makedirs(environment["TMPDIR"])
    served = os.path.join(scratch, "served")
    os.makedirs(served)
    shutil.copy(program, served)
    store = os.path.join(scratch, "store.sqlite")
    commands = {
        "run": ["run", program, "--store", store],
        "passes": ["passes", "list", program],
        "ablate": ["passes", "ablate", program, "--store", store],
        "trace": [
            "trace",
            "-o",
            os.path.join(scratch, "c.hsc"),
            "--",
            hloscope,
            "run",
            program,
            "--no-store",
        ],
    }
    server = subprocess.Popen(
        [hloscope, "serve", served],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=environment,
    )
    url = server.stdout.readline().strip()
    first = None
    reference = None
    start = time.monotonic()
    kills = rounds = 0
    while time.monotonic() - start < hours * 3600 or kills < kills_wanted:
        rounds += 1
        for name, command in commands.items():
            shutil.rmtree(os.path.join(scratch, "c.hsc"), ignore_errors=True)
            child = subprocess.Popen(
                [hloscope, *command],
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                text=True,
                env=environment,
            )
            victim = None
            if kills < kills_wanted and random.random() < 0.7:
                time.sleep(random.uniform(0, 0.4))
                victim = random.choice([child.pid, *children(child.pid)])
                try:
                    os.kill(victim, signal.SIGKILL)
                    kills += 1
                except ProcessLookupError:
                    victim = None
            try:
                errors = child.communicate(timeout=600)[1]
            except subprocess.TimeoutExpired:
                child.kill()
                fail(f"{name} did not end")
                continue
            if victim is None and child.returncode != 0:
                fail(f"{name}: exit code {child.returncode}: {errors[-300:]}")
            if child.returncode < 0 and victim != child.pid:
                fail(f"{name}: signal {-child.returncode}")
        # After the kills: the same command, undisturbed, ends with the same tasks.
        done = subprocess.run(
            [hloscope, *commands["ablate"]],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            env=environment,
        )
        tasks = tasks_of(store)
        if done.returncode != 0:
            fail(f"resumed ablation: exit code {done.returncode}: {done.stderr[-300:]}")
        elif reference is None:
            reference = tasks
        elif not reference <= tasks:
            fail(f"tasks are missing: {sorted(reference - tasks)[:5]}")
        for _ in range(20):
            urllib.request.urlopen(url, timeout=60).read()
        memory, descriptors, threads = figures(server.pid)
        left = [name for name in os.listdir(environment["TMPDIR"])]
        if rounds == 3:
            first = memory, descriptors, threads
        if first and (
            memory > first[0] * 1.2 + 4096 or descriptors > first[1] + 2 or threads > first[2]
        ):
            fail(f"serve grows: {first} -> {(memory, descriptors, threads)}")
        print(
            f"round {rounds}: {kills} kills, serve {memory} KiB, {descriptors} descriptors,"
            f" {threads} threads, {len(left)} temporary files",
            flush=True,
        )
        if len(left) > 8:
            fail(f"temporary files stay: {left[:8]}")
            break
    server.send_signal(signal.SIGTERM)
    if server.wait(20) != 0:
        fail("serve did not end well")
    seconds = 600 if hours >= 1 else 30
    threads = subprocess.run(
        [os.path.join(build, "tests/unit/test_plugin_threads"), "."],
        env=dict(environment, HLOSCOPE_SOAK_SECONDS=str(seconds)),
        capture_output=True,
        text=True,
    )
    clients = subprocess.run(
        [os.path.join(build, "tests/unit/test_host_safety"), "."],
        env=dict(environment, HLOSCOPE_SOAK_CLIENTS="10000" if hours >= 1 else "200"),
        capture_output=True,
        text=True,
    )
    for line in (threads.stdout + threads.stderr).splitlines():
        if "programs, three runs" in line:
            print(f"16 threads, {seconds} s: {line.lstrip('# ')}")
    if threads.returncode != 0:
        fail(f"16 threads: {(threads.stdout + threads.stderr)[-500:]}")
    if clients.returncode != 0:
        fail(f"client cycles: {(clients.stdout + clients.stderr)[-500:]}")
    shutil.rmtree(scratch, ignore_errors=True)
    print(f"{rounds} rounds, {kills} kills in {time.monotonic() - start:.0f} s: {len(wrong)} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
