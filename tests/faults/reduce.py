#!/usr/bin/env python3
"""Reductions that are interrupted, late, out of disk space, or whose written forms do not show it.

usage: reduce.py HLOSCOPE      prints TAP
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

hloscope = os.path.abspath(sys.argv[1])
PROGRAM = """HloModule m
ENTRY main {
  w = f32[16,16] parameter(0)
  x = f32[8,16] parameter(1)
  d = f32[8,16] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  t = f32[8,16] tanh(d)
  n = f32[8,16] negate(t)
  a = f32[8,16] add(n, t)
  e = f32[8,16] exponential(a)
  s = f32[8,16] subtract(e, n)
  ROOT r = (f32[8,16], f32[8,16]) tuple(s, a)
}
"""
SHOWS = "grep -q exponential {}"
results = []


def check(name, condition, detail=""):
    results.append(bool(condition))
    print(f"{'ok' if condition else 'not ok'} {len(results)} - {name}", flush=True)
    if not condition:
        print("\n".join("# " + line for line in str(detail).splitlines()[:25]), flush=True)


class Place:
    """A folder with the program, a cache and a scratch folder of its own."""

    def __init__(self, folder, name):
        self.path = pathlib.Path(folder, name)
        self.path.mkdir()
        self.program = self.path / "p.hlo"
        self.program.write_text(PROGRAM)
        self.small = self.path / "small"

    def command(self, predicate, *more):
        command = [hloscope, "reduce", self.program, "--while", predicate, "-o", self.small]
        return [str(word) for word in [*command, "-j", "1", "--format=json", "-q", *more]]

    def environment(self, folder=None):
        folder = str(folder or self.path)
        return {**os.environ, "HLOSCOPE_CACHE_DIR": folder, "TMPDIR": folder}

    def reduce(self, predicate, *more):
        """(exit code, document)"""
        done = subprocess.run(
            self.command(predicate, *more),
            env=self.environment(),
            capture_output=True,
            text=True,
            timeout=120,
        )
        return done.returncode, json.loads(done.stdout)

    def text(self):
        return self.small.with_suffix(".hlo").read_text()


def is_deterministic(folder):
    first, second = Place(folder, "first"), Place(folder, "second")
    _, one = first.reduce(SHOWS)
    _, two = second.reduce(SHOWS, "-j", "3")
    check("the same reduction twice gives the same program", first.text() == second.text(), one)
    check(
        "the jobs do not change the steps",
        [step["rule"] for step in one["trail"]] == [step["rule"] for step in two["trail"]],
        two,
    )
    return first.text()


def goes_on_after_a_kill(folder, whole):
    place = Place(folder, "killed")
    looks = place.path / "looks"
    predicate = f"echo >> {looks}; {SHOWS}"
    child = subprocess.Popen(
        place.command(predicate),
        env=place.environment(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    end = time.monotonic() + 60
    while time.monotonic() < end and (not looks.exists() or looks.stat().st_size < 8):
        time.sleep(0.01)
    child.kill()
    child.wait()
    seen = looks.stat().st_size
    code, document = place.reduce(predicate)
    check("after kill -9 the same command goes on", code == 0, document)
    remembered = document.get("remembered", 0)
    # what was being looked at when it was killed is looked at once more
    check("what was seen before is not looked at again", 0 < seen - 1 <= remembered, document)
    check("and ends with the same program", place.text() == whole, place.text())


def keeps_to_its_budget(folder):
    place = Place(folder, "late")
    start = time.monotonic()
    code, document = place.reduce(f"sleep 0.2; {SHOWS}", "--time-budget", "0.5")
    took = time.monotonic() - start
    check("a budget ends it: not complete, what is found is written", code == 0, document)
    check("it says that it is not complete", document.get("complete") is False, document)
    check("what is written shows it", "exponential" in place.text(), place.text())
    check("it does not go on for long", took < 30, took)


def forms_that_do_not_show(folder):
    place = Place(folder, "forms")
    code, document = place.reduce("grep -q HloModule {} && grep -q exponential {}")
    runs = document["runs"]
    check(
        "of two forms one shows it", runs["hlo"]["shows"] and not runs["stablehlo"]["shows"], runs
    )
    check("then it is not called reduced", code == 1 and document["verified"] is False, document)
    place = Place(folder, "flaky")
    once = place.path / "searched"
    # shows while it is being searched, and not when what is written is run afresh
    predicate = f"case {{}} in */small.*) exit 1;; esac; touch {once}; {SHOWS}"
    code, document = place.reduce(predicate)
    check("a search that showed it was made", once.exists() and document["steps"] > 0, document)
    check("what does not show it afresh is not called reduced", code == 1, document)
    check("and the document says so", document["verified"] is False, document)


def earlier_step_that_shows(folder):
    """What is written shows it only beside a tanh, which candidates do not need."""
    place = Place(folder, "back")
    tanh = "case {} in */small.*) grep -q tanh {} || exit 1;; esac"
    code, document = place.reduce(f"{tanh}; {SHOWS}")
    back = document.get("fell_back", {})
    check("a smallest that hides it afresh is not what is written", code == 0, document)
    check("what is written shows it afresh", document["verified"] and "tanh" in place.text())
    check(
        "the document says from where it went back",
        back.get("found")
        and back["steps"] > 0
        and back["instructions"] < document["instructions_after"]
        and "hlo" in back["forms"],
        document,
    )
    smaller = [
        step for step in document["trail"] if step["instructions"] < document["instructions_after"]
    ]
    check("no more than it must", smaller and len(smaller) <= back.get("steps", 0), document)


def comes_and_goes(folder):
    """Every third look shows it: by one look each, nearly all candidates would hide it."""
    place = Place(folder, "third")
    looks = place.path / "looks"
    third = f"echo >> {looks}; [ $(( $(wc -l < {looks}) % 3 )) -eq 0 ]"
    code, document = place.reduce(f"{SHOWS} && {third}")
    rate = document.get("rate", {})
    check("a symptom of every third look is reduced", code == 0, document)
    check(
        "its rate is told",
        0.2 < rate.get("shows", 0) / max(1, rate.get("looks", 0)) < 0.5,
        document,
    )
    check("to what a lasting one is reduced to", document.get("instructions_after", 99) <= 3)
    place = Place(folder, "always")
    code, document = place.reduce(SHOWS)
    check("one that lasts has no rate", "rate" not in document, document)


def slow_by_chance(folder):
    """Every candidate is slow the first time it is looked at, only the exponential always."""
    place = Place(folder, "chance")
    seen = place.path / "seen"
    seen.mkdir()
    plugin = pathlib.Path(hloscope).parent / "tests/faults/libhloscope_faulty_pjrt.so"
    environment = {**place.environment(), "HLOSCOPE_FAULT": "exp-of-anything"}
    words = ["-d", plugin, "--symptom", "slow", "--against", "cpu", "--format=json", "-q"]
    command = [hloscope, "reduce", place.program, "-o", place.small, "-j", "1", *words]
    done = subprocess.run(
        [str(word) for word in command],
        env={**environment, "HLOSCOPE_FAULT_CHANCE": str(seen)},
        capture_output=True,
        text=True,
        timeout=120,
    )
    document = json.loads(done.stdout)
    check(
        "what was slow once by chance is not what is left", "exponential" in place.text(), document
    )
    check("as many candidates were slow once", len(list(seen.iterdir())) > 5, document)


def full_disk(folder, whole):
    place = Place(folder, "full")
    disk, looks = place.path / "disk", place.path / "looks"
    disk.mkdir()
    words = ["unshare", "-m" if os.geteuid() == 0 else "-rm", "sh", "-c"]
    mount = f"mount -t tmpfs -o size=4m,mode=700 none {disk}"
    try:
        allowed = subprocess.run([*words, mount], capture_output=True, timeout=60).returncode == 0
    except OSError:
        allowed = False
    if not allowed:
        print("# mounts of one's own are not allowed here: no full disk was tried")
        return
    fill = f"[ $(wc -c < {looks}) -lt 8 ] || dd if=/dev/zero of={disk}/fill bs=4k 2>/dev/null"
    predicate = f"echo >> {looks}; [ -e {disk}/again ] || {{ {fill}; }}; {SHOWS}"
    script = f'{mount} || exit 9\n"$@" > {place.path}/1; echo $? > {place.path}/code\n'
    script += f"rm -f {disk}/fill; touch {disk}/again\n"
    script += f'{hloscope} results list > {place.path}/list\nexec "$@"\n'
    done = subprocess.run(
        [*words, script, "sh", *place.command(predicate)],
        env=place.environment(disk),
        capture_output=True,
        text=True,
        timeout=120,
    )
    first = (place.path / "1").read_text()
    check("a full disk is an error", (place.path / "code").read_text().strip() == "1", first)
    check("that says what is full", "pace" in first or "full" in first, first)
    check("the store can be read then", "reduce" in (place.path / "list").read_text(), done.stderr)
    document = json.loads(done.stdout or "{}")
    check("with space again the same command goes on", done.returncode == 0, done.stdout)
    check("from what was found", document.get("remembered", 0) > 0, document)
    check("to the same program", place.text() == whole, document)


def main():
    with tempfile.TemporaryDirectory(prefix="hloscope-reduce-") as folder:
        whole = is_deterministic(folder)
        goes_on_after_a_kill(folder, whole)
        keeps_to_its_budget(folder)
        forms_that_do_not_show(folder)
        earlier_step_that_shows(folder)
        comes_and_goes(folder)
        slow_by_chance(folder)
        full_disk(folder, whole)
    print(f"1..{len(results)}")
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
