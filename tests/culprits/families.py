#!/usr/bin/env python3
"""Who is at fault, for kinds of faults that blame.py has none of.

    tests/culprits/families.py build/hloscope build/tests/culprits/libhloscope_culprit_pjrt.so
    [--all] [--only WORD]

Faults that come and go, that show on some values only, at the end of a result, in the second
execution, in the plan of memory, of two passes together; faults of precision; programs that a pass
makes slow to run. All on cpu, whose passes can be made wrong one by one. Speaks TAP; every fourth
case is tried, with --all each.
A case whose fault nothing shows is none, and is left out.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

hloscope, culprit = (str(pathlib.Path(path).resolve()) for path in sys.argv[1:3])
everything = "--all" in sys.argv
only = sys.argv[sys.argv.index("--only") + 1] if "--only" in sys.argv else ""
SAMPLE = 4
scratch = pathlib.Path(tempfile.mkdtemp(prefix="hloscope-families-"))
done = found = tried = offered = 0

PROGRAMS = {
    "layer": """HloModule layer
sum { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT s = f32[] add(a, b) }
ENTRY main {
  x = f32[64,96] parameter(0)
  w = f32[96,96] parameter(1)
  zero = f32[] constant(0)
  zeros = f32[64,96] broadcast(zero), dimensions={}
  x0 = f32[64,96] add(x, zeros)
  d = f32[64,96] dot(x0, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  t = f32[64,96] tanh(d)
  total = f32[64] reduce(t, zero), dimensions={1}, to_apply=sum
  totals = f32[64,96] broadcast(total), dimensions={0}
  e = f32[64,96] dot(t, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  m = f32[64,96] multiply(e, totals)
  ROOT r = f32[64,96] subtract(m, x)
}
""",
    "two": """HloModule two
ENTRY main {
  x = f32[20,30] parameter(0)
  y = f32[20,30] parameter(1)
  one = f32[] constant(1)
  ones = f32[20,30] broadcast(one), dimensions={}
  xs = f32[20,30] multiply(x, ones)
  s = f32[20,30] add(xs, y)
  n = f32[20,30] negate(s)
  g = f32[20,30] sine(n)
  t = f32[30,20] transpose(g), dimensions={1,0}
  ROOT r = (f32[20,30], f32[30,20]) tuple(s, t)
}
""",
    "wide": """HloModule wide
ENTRY main {
  x = f32[512,512] parameter(0)
  one = f32[] constant(1)
  ones = f32[512,512] broadcast(one), dimensions={}
  m = f32[512,512] multiply(x, ones)
  e = f32[512,512] exponential(m)
  ROOT r = f32[512,512] add(e, x)
}
""",
}
# (program, what is wrong, verdict, symptom, pass, more options). A symptom None: whichever shows.
CASES = [
    ("layer", "run:rare:4", "nondeterministic", "wrong", None),
    ("two", "run:rare:3", "nondeterministic", "wrong", None),
    ("layer", "run:dies:3", "nondeterministic", "crash", None),
    ("two", "run:dies:2", "nondeterministic", "crash", None),
    ("layer", "pool:flaky", "nondeterministic", None, None),
    ("layer", "algsimp:flaky:2", "nondeterministic", "wrong", None),
    ("two", "fusion:flaky:2", "nondeterministic", "wrong", None),
    ("layer", "run:nth", "nondeterministic", "wrong", None),
    ("two", "run:nth", "nondeterministic", "wrong", None),
    ("layer", "run:last_element", "below_hlo", "wrong", None),
    ("two", "run:last_element", "below_hlo", "wrong", None),
    ("layer", "contraction:last_element", "below_hlo", "wrong", None),
    ("layer", "contraction:negative", "below_hlo", "wrong", None),
    ("layer", "kernel:negative", "below_hlo", "wrong", None),
    ("two", "kernel:negative", "below_hlo", "wrong", None),
    ("layer", "plan:numbers", "below_hlo", "wrong", None),
    ("layer", "plan:crash", "below_hlo", "crash", None),
    ("two", "plan:error", "below_hlo", "error", None),
    ("layer", "algsimp:precision", "pass", "wrong", "algsimp"),
    ("wide", "algsimp:precision", "pass", "wrong", "algsimp"),
    ("layer", "algsimp:invalid", "pass", None, "algsimp"),
    ("wide", "dce:retype", "pass", "wrong", "dce"),
    ("layer", "dce:retype", "pass", "wrong", "dce"),
    ("layer", "fusion:pair", "pass", "wrong", "fusion"),
    ("wide", "fusion:pair", "pass", "wrong", "fusion"),
    ("two", "fusion:pair", "pass", "wrong", "fusion"),
    ("wide", "algsimp:memory", "pass", "slow", "algsimp", "--symptom=slow:3", "--against=cpu"),
    ("layer", "contraction:slow", "below_hlo", "slow", None, "--symptom=slow:3", "--against=cpu"),
    ("two", "kernel:slow", "below_hlo", "slow", None, "--symptom=slow:3", "--against=cpu"),
    ("layer", "plan:slow", "below_hlo", "compile", None, "--symptom=compile:2", "--against=cpu"),
]


def check(name, good, why=""):
    global done
    done += 1
    lines = "".join(f"\n# {line}" for line in str(why).splitlines()[:30])
    print(f"{'ok' if good else 'not ok'} {done} - {name}{'' if good else lines}", flush=True)


def call(*arguments, what=None):
    environment = {k: v for k, v in os.environ.items() if k != "HLOSCOPE_CULPRIT"}
    if what:
        environment["HLOSCOPE_CULPRIT"] = what
        # faults that come and go come at the same places of every call
        draws = scratch / "draws"
        draws.unlink(missing_ok=True)
        environment["HLOSCOPE_CULPRIT_DRAWS"] = str(draws)
    command = [hloscope, *map(str, arguments), "--format=json", "--quiet"]
    result = subprocess.run(command, capture_output=True, env=environment, text=True, timeout=900)
    try:
        return result.returncode, json.loads(result.stdout)
    except ValueError:
        return result.returncode, {"verdict": None, "headline": result.stdout + result.stderr}


def shows(path, what):
    """Whether one of a few runs is wrong: a fault that nothing reads is none."""
    document = call(  # an executable in the cache may have another fault
        "run", path, "-d", culprit, "--compare", "reference", "--no-cache", what=what
    )[1]
    return any(row["verdict"] == "different" for row in document.get("compare", []))


def is_sampled(name):
    global offered
    offered += 1
    return only in name and (everything or bool(only) or offered % SAMPLE == 1)


def try_case(program, what, verdict, symptom, named, *more):
    global found, tried
    name = f"{program}, {what}: {verdict}"
    path = scratch / f"{program}.hlo"
    if not is_sampled(name):
        return
    if verdict in ("below_hlo", "pass") and symptom == "wrong" and not shows(path, what):
        print(f"# {name}: nothing shows it", flush=True)
        return
    code, document = call("blame", path, "-d", culprit, "--limit", "20", *more, what=what)
    good = (code, document["verdict"], document.get("pass")) == (1, verdict, named)
    good = good and symptom in (None, document["symptom"])
    rate = document.get("rate")
    if verdict == "nondeterministic" and good:
        good = "not the same from run to run" in document["headline"]
        good = good and 0 <= rate["low"] <= rate["estimate"] <= rate["high"] <= 1
    tried += 1
    found += good
    check(name, good, f"rc {code}: {document['headline']}\n{json.dumps(document.get('evidence'))}")


for name, text in PROGRAMS.items():
    (scratch / f"{name}.hlo").write_text(text)
for case in CASES:
    try_case(*case)
check(f"nine of ten are found where they are: {found} of {tried}", found >= 0.9 * tried)
print(f"1..{done}")
