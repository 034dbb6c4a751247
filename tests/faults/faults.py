#!/usr/bin/env python3
"""The main commands, and a host of the plugin, while the n-th write, fsync, rename, mkdir, mmap,
pipe, thread, process or block of memory fails or the time of day jumps; with no descriptors, little
memory, a read-only home, no home, another user, no /proc, no file system that can be written: no
crash, no hang, a message, exit code 1 (or the work is done without).

usage: faults.py HLOSCOPE FAIL_NTH.so PROGRAM.hlo HOST PLUGIN.so FAULTY.so      prints TAP
"""

import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile

hloscope, library, program, host, plugin, faulty = (os.path.abspath(p) for p in sys.argv[1:7])
FUNCTIONS = [
    "write",
    "pwrite",
    "ftruncate",
    "fsync",
    "rename",
    "mkdir",
    "mmap",
    "pipe2",
    "pthread_create",
    "posix_spawnp",
    "posix_memalign",
    "clock",
]
NOBODY = 65534
# wrong on the faulty plugin with this fault
FAULT = "tanh-of-add"
WRONG = """HloModule wrong
ENTRY e { x = f32[8] parameter(0) y = f32[8] parameter(1)
  s = f32[8] add(x, y) t = f32[8] tanh(s) ROOT r = f32[8] multiply(t, y) }
"""
NUMBERS = [1, 2, 3, 5, 8, 13, 30]
LIMIT_S = 120
results = []


def check(name, condition, detail=""):
    results.append(bool(condition))
    print(f"{'ok' if condition else 'not ok'} {len(results)} - {name}", flush=True)
    if not condition:
        print("\n".join("# " + line for line in str(detail).splitlines()[:25]), flush=True)


def in_namespace(script):
    """The words that run a command with mounts of its own, changed by the script; None where that
    is not allowed."""
    words = [
        "unshare",
        "-m" if os.geteuid() == 0 else "-rm",
        "sh",
        "-c",
        f'{script}\nexec "$@"',
        "sh",
    ]
    try:
        done = subprocess.run([*words, "true"], capture_output=True, text=True, timeout=60)
    except OSError:
        return None
    return words if done.returncode == 0 else None


def run(arguments, home, limits=(), before=(), user=None, **variables):
    def set_limits():
        if user is not None:
            os.setgroups([])
            os.setgid(user)
            os.setuid(user)
        for what, value in limits:
            resource.setrlimit(what, (value, value))

    environment = {
        k: v
        for k, v in os.environ.items()
        if not k.startswith("HLOSCOPE_") and k not in ("HOME", "XDG_CACHE_HOME")
    }
    if home:
        environment["HOME"] = home
    environment.update(variables)
    try:
        return subprocess.run(
            [*before, *(arguments if arguments[0] == host else [hloscope, *arguments])],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=LIMIT_S,
            env=environment,
            preexec_fn=set_limits,
        )
    except subprocess.TimeoutExpired:
        return None


def problem(done, is_write=False):
    """What is wrong about the end of a command; "" when nothing is."""
    if done is None:
        return f"it did not end within {LIMIT_S} s"
    if done.returncode < 0:
        return f"signal {-done.returncode}: {done.stderr[-400:]}"
    if "wrong numbers" in done.stderr or done.returncode not in (0, 1, 3):
        return f"exit code {done.returncode}: {done.stderr[-400:]}"
    if done.returncode and not is_write and not (done.stderr + done.stdout).strip():
        return f"exit code {done.returncode} without a word"
    if "Sanitizer" in done.stderr:
        return done.stderr[-2000:]
    return ""


def failing_blocks(name, arguments, home, scratch, exact):
    """The command while one after the other of the blocks that the program asks for is refused,
    further and further apart, until it asks for no more. `exact`: what it prints depends on its
    input alone, so a success prints what it prints with all memory."""
    words = arguments if callable(arguments) else lambda: arguments
    whole = run(words(), home(), HLOSCOPE_FAULT=FAULT)
    found, n, tries = [], 1, 0
    while True:
        marks = os.path.join(scratch, f"blocks-{name}-{n}")
        done = run(
            words(),
            home(),
            LD_PRELOAD=library,
            HLOSCOPE_FAULT=FAULT,
            HLOSCOPE_TEST_FAIL=f"malloc:{n}:{marks}",
        )
        if not os.path.exists(marks):
            break
        tries += 1
        wrong = problem(done)
        if not wrong and done.returncode == 0 and exact and done.stdout != whole.stdout:
            wrong = f"success with another output:\n{done.stdout[:300]}\n{done.stderr[:300]}"
        if not wrong and done.returncode and "--json" in words() and not is_json(done.stdout):
            wrong = f"an error that is no JSON: {done.stdout[:300]}"
        if wrong:
            found.append(f"block {n}: {wrong}")
        n += 1 + n // (10 if exact else 2)
    check(f"{name}: {tries} blocks refused", tries > 5 and not found, "\n".join(found))


def jumping_clock(scratch):
    """Waits with a limit, of processes that compute together, while the time of day jumps by ten
    years back and forth: none ends early, none hangs."""
    job = os.path.join(os.path.dirname(hloscope), "tests", "unit", "test_plugin_peers")
    source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
    for n in (1, 2):
        marks = os.path.join(scratch, f"jumps-{n}")
        environment = dict(os.environ, LD_PRELOAD=library, HLOSCOPE_TEST_FAIL=f"clock:{n}:{marks}")
        try:
            done = subprocess.run(
                [job, source], capture_output=True, text=True, timeout=LIMIT_S, env=environment
            )
            said = done.stdout + done.stderr
        except subprocess.TimeoutExpired:
            done, said = None, "it hangs"
        check(
            f"a job of processes does not notice that the time of day jumps ({n})",
            done and done.returncode == 0 and "FAILED" not in said,
            said[-2000:],
        )


def is_json(text):
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


def laboratory(samples, scratch, home):
    """(name, arguments, whether the output depends on the input alone) of what experiments use."""
    results_file = os.path.join(scratch, "results.json")
    done = run(["run", program, "--runs", "2", "--json"], home())
    with open(results_file, "w") as f:
        f.write(done.stdout if done else "")
    wrong_program = os.path.join(scratch, "wrong.hlo")
    with open(wrong_program, "w") as f:
        f.write(WRONG)
    plan = os.path.join(scratch, "plan")
    run(["sweep", "plan", "compile", program, "-q", "-o", plan], home())

    def fresh():
        return os.path.join(tempfile.mkdtemp(dir=scratch), "plan")

    return [
        ("stats of two files", ["stats", "--json", samples, samples], True),
        ("report", ["report", results_file, "--output", "-"], False),
        ("convert", ["convert", program, "--to", "mlir"], True),
        ("passes list", ["passes", "list", program, "--json"], False),
        ("passes diff", ["passes", "diff", program], False),
        ("knowledge", ["knowledge", "list"], True),
        ("results", ["results", "list", "--json"], False),
        ("tune", ["tune", program, "--time-budget", "1"], False),
        ("probe", ["probe", program], False),
        ("sweep plan", lambda: ["sweep", "plan", "compile", program, "-q", "-o", fresh()], False),
        ("sweep run", lambda: ["sweep", "run", shutil.copytree(plan, fresh()), "-q"], False),
        ("blame", ["blame", wrong_program, "-d", faulty, "--time-budget", "4"], False),
        (
            "reduce",
            ["reduce", wrong_program, "-d", faulty, "--output", f"{scratch}/small.hlo"],
            False,
        ),
    ]


def main():
    with tempfile.TemporaryDirectory() as scratch:
        samples = os.path.join(scratch, "samples.csv")
        with open(samples, "w") as f:
            f.write("1\n2\n3\n2\n")
        commands = {
            "run": ["run", program, "--runs", "2"],
            "convert": ["convert", program, "-o", os.path.join(scratch, "out.mlir")],
            "passes": ["passes", "list", program],
            "stats": ["stats", samples],
            "results": ["results", "list"],
            "host": [host, plugin],
        }
        homes = 0

        def home():
            nonlocal homes
            homes += 1
            path = os.path.join(scratch, f"home{homes}")
            os.makedirs(path)
            return path

        for name, arguments in commands.items():
            done = run(arguments, home())
            check(
                f"{name}: works when nothing fails",
                done is not None and done.returncode == 0,
                done and done.stderr[-500:],
            )
        for function in FUNCTIONS:
            all_hits = 0
            for name, arguments in commands.items():
                found, hits = [], 0
                for n in NUMBERS:
                    marks = os.path.join(scratch, f"marks-{function}-{name}-{n}")
                    done = run(
                        arguments,
                        home(),
                        LD_PRELOAD=library,
                        HLOSCOPE_TEST_FAIL=f"{function}:{n}:{marks}",
                    )
                    if not os.path.exists(marks):
                        break
                    hits += 1
                    wrong = problem(done, function == "write")
                    if wrong:
                        found.append(f"{function} {n}: {wrong}")
                check(f"{name}: {function} fails {hits} ways", not found, "\n".join(found))
                all_hits += hits
            check(
                f"{function} was called and failed",
                all_hits,
                "the library was not loaded, or has no such function to see",
            )
        jumping_clock(scratch)
        for name, arguments, exact in laboratory(samples, scratch, home):
            failing_blocks(name, arguments, home, scratch, exact)
        for name, arguments in commands.items():
            wrong = [
                problem(run(arguments, home(), [(resource.RLIMIT_NOFILE, count)]))
                for count in (4, 5, 8, 12, 20)
            ]
            check(f"{name}: few descriptors", not any(wrong), wrong)
            wrong = [
                problem(run(arguments, home(), [(resource.RLIMIT_AS, mib << 20)]))
                for mib in (64, 128, 256)
            ]
            check(f"{name}: little memory", not any(wrong), wrong)
        for name in ("run", "stats", "passes"):
            with open("/dev/full", "w") as full:
                done = subprocess.run(
                    [hloscope, *commands[name]],
                    stdout=full,
                    stderr=subprocess.PIPE,
                    text=True,
                    timeout=LIMIT_S,
                    env=dict(os.environ, HOME=home()),
                )
            check(
                f"{name}: a full disk after standard output is an error",
                done.returncode == 1 and done.stderr.strip(),
                (done.returncode, done.stderr),
            )
        os.chmod(scratch, 0o755)
        for name, arguments in commands.items():
            if os.geteuid() != 0:
                print("# not root: nobody else to be")
                break
            done = run(arguments, None, user=NOBODY, TMPDIR="/tmp")
            wrong = problem(done)
            may_fail = name == "convert"  # writes beside the other's files
            check(
                f"{name}: as nobody without a home",
                not wrong and (may_fail or done.returncode == 0),
                wrong or done.stderr,
            )
        places = {
            "no /proc": "mount -t tmpfs none /proc || exit 9",
            "nothing can be written": (
                'while read _ at _ how _; do case $how in rw*) mount -o remount,bind,ro "$at"'
                " 2>/dev/null;; esac; done </proc/mounts"
            ),
        }
        for what, script in places.items():
            words = in_namespace(script)
            if not words:
                print(f"# mounts of one's own are not allowed here: not tried with {what}")
                continue
            for name, arguments in commands.items():
                done = run(arguments, home(), before=words)
                check(f"{name}: {what}", not problem(done), problem(done))
        done = run(commands["run"], None)
        check(
            "run goes on without a home",
            done and done.returncode == 0 and done.stdout,
            done and done.stderr,
        )
        done = run(commands["run"], "/proc/1")
        check(
            "run goes on with a home that cannot be written",
            done and done.returncode == 0 and done.stdout,
            done and done.stderr,
        )
    print(f"1..{len(results)}")
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
