#!/usr/bin/env python3
"""Who is at fault, for faults that blame's rules were not made with.

    tests/culprits/unseen.py build/hloscope build/tests/culprits/libhloscope_culprit_pjrt.so
    [--all] [--half seen|aside] [--only WORD] [--random N] [--seed S]

What compilers get wrong of a program (culprit_kinds.def), each by a pass that rewrites the program
that has it, in loops, fusions, branches, integers, on some values only; passes that cost time or
end without changing anything; executions that spoil a second output, an end, a sign. The cases are
in two halves: blame's rules may be changed with the first ("seen") in sight, and the second
("aside") measures them. Speaks TAP; every eighth case is tried, with --all or --half each.

--random tries N more: the passes' examples, each with a kind and a pass that rewrites it, drawn by
the seed.

A case says how its fault shows: "now" on the seed's inputs, "other" on generated ones, which blame
has to find by itself; one of which nothing shows is none, and is left out.
"""

import json
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile

hloscope, culprit = (str(pathlib.Path(path).resolve()) for path in sys.argv[1:3])
after = lambda name: sys.argv[sys.argv.index(name) + 1] if name in sys.argv else ""
half, only = after("--half"), after("--only")
random_count, seed = int(after("--random") or 0), int(after("--seed") or 1)
ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
everything = "--all" in sys.argv or bool(half) or bool(only)
SAMPLE = 8
scratch = pathlib.Path(tempfile.mkdtemp(prefix="hloscope-unseen-"))
done = found = tried = 0

PROGRAMS = {
    # algsimp rewrites x + 0, cse the equal tanh, fusion the rest
    "square": """HloModule square
sum { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT s = f32[] add(a, b) }
ENTRY main {
  x = f32[24,24] parameter(0)
  y = f32[24,24] parameter(1)
  zero = f32[] constant(0)
  zeros = f32[24,24] broadcast(zero), dimensions={}
  x0 = f32[24,24] add(x, zeros)
  d = f32[24,24] dot(x0, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  t = f32[24,24] tanh(d)
  u = f32[24,24] tanh(d)
  p = f32[24,24] multiply(t, u)
  total = f32[24] reduce(p, zero), dimensions={1}, to_apply=sum
  totals = f32[24,24] broadcast(total), dimensions={0}
  table = f32[4] constant({1, 2.5, -3, 0.75})
  some = f32[4] slice(total), slice={[3:7]}
  few = f32[4] multiply(some, table)
  back = f32[24] pad(few, zero), padding=10_10
  backs = f32[24,24] broadcast(back), dimensions={1}
  m = f32[24,24] add(totals, backs)
  ROOT r = f32[24,24] subtract(m, y)
}
""",
    "loop": """HloModule loop
cond { s = (s32[], f32[12,12], f32[12,12]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(5)
  ROOT l = pred[] compare(i, n), direction=LT }
body { s = (s32[], f32[12,12], f32[12,12]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  x = f32[12,12] get-tuple-element(s), index=1
  w = f32[12,12] get-tuple-element(s), index=2
  one = s32[] constant(1)
  zero = s32[] constant(0)
  next = s32[] add(i, one)
  k = f32[] constant(0.3)
  ks = f32[12,12] broadcast(k), dimensions={}
  kw = f32[12,12] multiply(w, ks)
  d = f32[12,12] dot(x, kw), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  t = f32[12,12] tanh(d)
  row = f32[1,12] dynamic-slice(t, i, zero), dynamic_slice_sizes={1,12}
  e = f32[1,12] exponential(row)
  u = f32[12,12] dynamic-update-slice(t, e, i, zero)
  ROOT o = (s32[], f32[12,12], f32[12,12]) tuple(next, u, w) }
ENTRY main {
  x = f32[12,12] parameter(0)
  w = f32[12,12] parameter(1)
  zero = s32[] constant(0)
  fz = f32[] constant(0)
  zeros = f32[12,12] broadcast(fz), dimensions={}
  x0 = f32[12,12] add(x, zeros)
  s = (s32[], f32[12,12], f32[12,12]) tuple(zero, x0, w)
  l = (s32[], f32[12,12], f32[12,12]) while(s), condition=cond, body=body
  ROOT r = f32[12,12] get-tuple-element(l), index=1
}
""",
    "calls": """HloModule calls
inner { a = f32[6,10] parameter(0)  e = f32[6,10] exponential(a)  ROOT m = f32[6,10] multiply(e, a) }
up { x = f32[6,10] parameter(0)  ROOT e = f32[6,10] tanh(x) }
down { x = f32[6,10] parameter(0)  c = f32[6,10] cosine(x)  ROOT e = f32[6,10] subtract(c, x) }
ENTRY main {
  which = pred[] parameter(0)
  x = f32[6,10] parameter(1)
  zero = f32[] constant(0)
  zeros = f32[6,10] broadcast(zero), dimensions={}
  x0 = f32[6,10] add(x, zeros)
  c = f32[6,10] call(x0), to_apply=inner
  b = f32[6,10] conditional(which, c, c), true_computation=up, false_computation=down
  n = f32[6,10] negate(c)
  ROOT r = (f32[6,10], f32[6,10], f32[6,10]) tuple(b, n, c)
}
""",
    "whole": """HloModule whole
ENTRY main {
  x = s32[40] parameter(0)
  y = s32[40] parameter(1)
  zero = s32[] constant(0)
  zeros = s32[40] broadcast(zero), dimensions={}
  x0 = s32[40] add(x, zeros)
  s = s32[40] add(x0, y)
  two = s32[] constant(2)
  twos = s32[40] broadcast(two), dimensions={}
  h = s32[40] shift-right-arithmetic(s, twos)
  l = pred[40] compare(h, y), direction=LT
  c = s32[40] select(l, h, y)
  q = s32[40] maximum(c, x)
  ROOT r = s32[40] subtract(q, h)
}
""",
    "values": """HloModule values
ENTRY main {
  x = f32[32,8] parameter(0)
  y = f32[32,8] parameter(1)
  zero = f32[] constant(0)
  zeros = f32[32,8] broadcast(zero), dimensions={}
  x0 = f32[32,8] add(x, zeros)
  f = f32[32,8] floor(x0)
  n = f32[32,8] round-nearest-even(y)
  a = f32[32,8] abs(x0)
  p = f32[32,8] multiply(f, y)
  e = f32[32,8] exponential(y)
  m = f32[32,8] maximum(x0, y)
  low = f32[] constant(-0.5)
  high = f32[] constant(2)
  k = f32[32,8] clamp(low, m, high)
  g = pred[32,8] compare(x0, y), direction=GT
  w = f32[32,8] select(g, x0, k)
  ROOT r = (f32[32,8], f32[32,8], f32[32,8], f32[32,8], f32[32,8], f32[32,8]) tuple(w, p, a, n, e, m)
}
""",
    "moved": """HloModule moved
less { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT l = pred[] compare(a, b), direction=LT }
ENTRY main {
  x = f32[6,16] parameter(0)
  y = f32[6,16] parameter(1)
  at = s32[] parameter(2)
  u = f32[1,4] parameter(3)
  one = f32[] constant(1)
  ones = f32[6,16] broadcast(one), dimensions={}
  x1 = f32[6,16] multiply(x, ones)
  j = f32[12,16] concatenate(x1, y), dimensions={0}
  v = f32[12,16] reverse(j), dimensions={1}
  zero = s32[] constant(0)
  w = f32[12,16] dynamic-update-slice(v, u, at, zero)
  i = f32[12,16] iota(), iota_dimension=1
  k = f32[12,16] multiply(w, i)
  ROOT s = f32[12,16] sort(k), dimensions={1}, to_apply=less
}
""",
    "picture": """HloModule picture
ENTRY main {
  x = f32[2,10,10,8] parameter(0)
  w = f32[3,3,8,16] parameter(1)
  bias = f32[16] parameter(2)
  one = f32[] constant(1)
  ones = f32[2,10,10,8] broadcast(one), dimensions={}
  x1 = f32[2,10,10,8] multiply(x, ones)
  c = f32[2,10,10,16] convolution(x1, w), window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f
  b = f32[2,10,10,16] broadcast(bias), dimensions={3}
  s = f32[2,10,10,16] add(c, b)
  zero = f32[] constant(0)
  zeros = f32[2,10,10,16] broadcast(zero), dimensions={}
  m = f32[2,10,10,16] maximum(s, zeros)
  t = f32[2,16,10,10] transpose(m), dimensions={0,3,1,2}
  k = f32[2,16,10,10] tanh(t)
  ROOT r = (f32[2,16,10,10], f32[2,10,10,16]) tuple(k, m)
}
""",
    "clamped": """HloModule clamped
ENTRY main {
  x = f32[50,20] parameter(0)
  y = f32[50,20] parameter(1)
  one = f32[] constant(1)
  ones = f32[50,20] broadcast(one), dimensions={}
  x1 = f32[50,20] multiply(x, ones)
  e = f32[50,20] exponential(x1)
  d = f32[50,20] divide(e, y)
  low = f32[] constant(-1)
  high = f32[] constant(1)
  ROOT k = f32[50,20] clamp(low, d, high)
}
""",
    "half": """HloModule half
sum { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT s = f32[] add(a, b) }
ENTRY main {
  x = bf16[16,32] parameter(0)
  w = bf16[32,32] parameter(1)
  d = bf16[16,32] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  f = f32[16,32] convert(d)
  one = f32[] constant(1)
  ones = f32[16,32] broadcast(one), dimensions={}
  m = f32[16,32] multiply(f, ones)
  t = f32[16,32] tanh(m)
  zero = f32[] constant(0)
  total = f32[16] reduce(t, zero), dimensions={1}, to_apply=sum
  totals = f32[16,32] broadcast(total), dimensions={0}
  ROOT r = f32[16,32] subtract(t, totals)
}
""",
    "big": """HloModule big
ENTRY main {
  x = f32[128,64] parameter(0)
  y = f32[128,64] parameter(1)
  one = f32[] constant(1)
  ones = f32[128,64] broadcast(one), dimensions={}
  x1 = f32[128,64] multiply(x, ones)
  a = f32[128,64] add(x1, y)
  e = f32[128,64] tanh(a)
  small = f32[16,64] slice(e), slice={[5:21], [0:64]}
  n = f32[16,64] negate(small)
  ROOT r = (f32[128,64], f32[16,64]) tuple(e, n)
}
""",
}
B, P, N = "below_hlo", "pass", "nondeterministic"
SLOW, COMPILE = ("--symptom=slow:3", "--against=cpu"), ("--symptom=compile:2", "--against=cpu")
MEMORY = ("--symptom=memory:3", "--against=cpu")
# (program, what is wrong, how it shows, verdict, symptom, pass, more options)
CASES = [
    ("square", "algsimp:swapped", "now", P, "wrong", "algsimp"),
    ("square", "cse:swapped", "now", P, "wrong", "cse"),
    ("square", "algsimp:constant", "now", P, "wrong", "algsimp"),
    ("square", "fusion:constant", "now", P, "wrong", "fusion"),
    ("square", "cse:slice_off", "now", P, "wrong", "cse"),
    ("square", "algsimp:slice_off", "now", P, "wrong", "algsimp"),
    ("square", "algsimp:transposed", "now", P, "wrong", "algsimp"),
    ("square", "cse:transposed", "now", P, "wrong", "cse"),
    ("square", "cse:first_value", "now", P, "wrong", "cse"),
    ("square", "algsimp:first_value", "now", P, "wrong", "algsimp"),
    ("square", "algsimp:reducer", "now", P, "wrong", "algsimp"),
    ("half", "fusion:reducer", "now", P, "wrong", "fusion"),
    ("square", "algsimp:pad_value", "now", P, "wrong", "algsimp"),
    ("square", "cse:pad_value", "now", P, "wrong", "cse"),
    ("square", "algsimp:wrong_dims", "now", P, "wrong", "algsimp"),
    ("square", "cse:broadcast_other", "now", P, "wrong", "cse"),
    ("values", "dce:merged", "now", P, "wrong", "dce"),
    ("values", "algsimp:merged", "now", P, "wrong", "algsimp"),
    ("square", "fusion:in_fusion", "now", P, "wrong", "fusion"),
    ("clamped", "fusion:in_fusion", "now", P, "wrong", "fusion"),
    ("square", "algsimp:rounded_between", "now", P, "wrong", "algsimp"),
    ("picture", "algsimp:rounded_between", "now", P, "wrong", "algsimp"),
    ("square", "algsimp:wide_product", "now", P, "wrong", "algsimp"),
    ("loop", "algsimp:wide_product", "now", P, "wrong", "algsimp"),
    ("square", "algsimp:zero_result", "now", P, "wrong", "algsimp"),
    ("clamped", "algsimp:zero_result", "now", P, "wrong", "algsimp"),
    ("square", "algsimp:both_positive", "now", P, "wrong", "algsimp"),
    ("clamped", "algsimp:both_positive", "now", P, "wrong", "algsimp"),
    ("loop", "algsimp:in_loop", "now", P, "wrong", "algsimp"),
    (
        "loop",
        "while-loop-invariant-code-motion:in_loop",
        "now",
        P,
        "wrong",
        "while-loop-invariant-code-motion",
    ),
    ("loop", "algsimp:once_more", "now", P, "wrong", "algsimp"),
    ("loop", "fusion:in_loop", "now", P, "wrong", "fusion"),
    ("loop", "algsimp:index_off", "now", P, "wrong", "algsimp"),
    ("loop", "copy-insertion:index_off", "now", P, "wrong", "copy-insertion"),
    ("loop", "algsimp:no_update", "now", P, "wrong", "algsimp"),
    ("moved", "algsimp:no_update", "now", P, "wrong", "algsimp"),
    ("calls", "call-inliner:in_callee", "now", P, "wrong", "call-inliner"),
    ("calls", "algsimp:in_callee", "now", P, "wrong", "algsimp"),
    ("calls", "algsimp:branches_swapped", "now", P, "wrong", "algsimp"),
    ("calls", "call-inliner:branches_swapped", "now", P, "wrong", "call-inliner"),
    ("calls", "call-inliner:outputs_swapped", "now", P, "wrong", "call-inliner"),
    ("values", "algsimp:outputs_swapped", "now", P, "wrong", "algsimp"),
    ("calls", "algsimp:second_output", "now", P, "wrong", "algsimp"),
    ("big", "fusion:second_output", "now", P, "wrong", "fusion"),
    ("whole", "algsimp:integer_only", "now", P, "wrong", "algsimp"),
    ("whole", "fusion:integer_only", "now", P, "wrong", "fusion"),
    ("whole", "algsimp:logical_shift", "other", P, "wrong", "algsimp"),
    ("whole", "algsimp:unsigned_compare", "now", P, "wrong", "algsimp"),
    ("whole", "algsimp:through_float", "other", P, "wrong", "algsimp"),
    ("whole", "algsimp:or_equal", "none", None, None, None),
    ("whole", "dce:swapped", "now", P, "wrong", "dce"),
    ("values", "algsimp:select_swapped", "now", P, "wrong", "algsimp"),
    ("values", "algsimp:no_abs", "now", P, "wrong", "algsimp"),
    ("values", "algsimp:to_zero", "now", P, "wrong", "algsimp"),
    ("values", "algsimp:ties_away", "other", P, "wrong", "algsimp"),
    ("values", "algsimp:nan_is_zero", "other", P, "wrong", "algsimp"),
    ("values", "algsimp:max_of_nan", "other", P, "wrong", "algsimp"),
    ("picture", "algsimp:max_of_nan", "other", P, "wrong", "algsimp"),
    ("values", "algsimp:large_exp", "other", P, "wrong", "algsimp"),
    ("values", "algsimp:small_is_zero", "other", P, "wrong", "algsimp"),
    ("values", "algsimp:no_clamp", "other", P, "wrong", "algsimp"),
    ("clamped", "algsimp:no_clamp", "now", P, "wrong", "algsimp"),
    ("clamped", "algsimp:swapped", "now", P, "wrong", "algsimp"),
    ("moved", "algsimp:pieces_swapped", "now", P, "wrong", "algsimp"),
    ("moved", "algsimp:no_reverse", "now", P, "wrong", "algsimp"),
    ("moved", "fusion:iota_other", "now", P, "wrong", "fusion"),
    ("moved", "algsimp:sort_other_way", "now", P, "wrong", "algsimp"),
    ("moved", "algsimp:index_off", "now", P, "wrong", "algsimp"),
    ("moved", "algsimp:iota_other", "now", P, "wrong", "algsimp"),
    ("picture", "algsimp:lost_padding", "now", P, "wrong", "algsimp"),
    ("picture", "layout-assignment:lost_padding", "now", P, "wrong", "layout-assignment"),
    ("big", "algsimp:large_only", "now", P, "wrong", "algsimp"),
    ("square", "algsimp:swapped;when:elements:500", "now", P, "wrong", "algsimp"),
    ("big", "fusion:in_fusion;when:elements:4096", "now", P, "wrong", "fusion"),
    ("square", "algsimp:swapped;when:compile:2", "now", N, "wrong", None),
    ("big", "run:tail;when:compile:2", "now", N, "wrong", None),
    ("square", "tuple-simplifier:silent", "now", P, "wrong", "tuple-simplifier"),
    ("square", "while-loop-simplifier:silent", "now", P, "wrong", "while-loop-simplifier"),
    ("clamped", "transpose-folding:silent", "now", P, "wrong", "transpose-folding"),
    (
        "square",
        "zero_sized_hlo_elimination:always_crash",
        "now",
        P,
        "crash",
        "zero_sized_hlo_elimination",
    ),
    ("loop", "simplify-sorts:always_crash", "now", P, "crash", "simplify-sorts"),
    ("calls", "tuple-simplifier:always_error", "now", P, "error", "tuple-simplifier"),
    ("square", "constant_folding:always_error", "now", P, "error", "constant_folding"),
    (
        "clamped",
        "transpose-folding:always_hang",
        "now",
        P,
        "hang",
        "transpose-folding",
        "--limit=3",
    ),
    ("half", "map-inline:always_hang", "now", P, "hang", "map-inline", "--limit=3"),
    ("square", "tuple-simplifier:quadratic", "now", P, "compile", "tuple-simplifier", *COMPILE),
    ("loop", "transpose-folding:quadratic", "now", P, "compile", "transpose-folding", *COMPILE),
    ("picture", "algsimp:quadratic", "now", P, "compile", "algsimp", *COMPILE),
    ("square", "run:tail", "now", B, "wrong", None),
    ("loop", "run:nan", "now", B, "wrong", None),
    ("values", "run:second_output", "now", B, "wrong", None),
    ("picture", "run:second_output", "now", B, "wrong", None),
    ("moved", "run:shifted", "now", B, "wrong", None),
    ("square", "run:shifted", "now", B, "wrong", None),
    ("square", "run:third", "now", N, "wrong", None),
    ("values", "run:third", "now", N, "wrong", None),
    ("values", "run:no_nan", "other", B, "wrong", None),
    ("clamped", "run:no_nan", "other", B, "wrong", None),
    ("square", "run:writes_input", "now", N, "wrong", None),
    ("clamped", "run:writes_input", "now", N, "wrong", None),
    ("clamped", "run:signs", "now", B, "wrong", None),
    ("square", "run:signs", "now", B, "wrong", None),
    ("big", "run:large", "now", B, "wrong", None),
    ("half", "run:half_precision", "now", B, "wrong", None),
    ("square", "run:half_precision", "now", B, "wrong", None),
    ("big", "algsimp:unfused", "now", P, "slow", "algsimp", "--symptom=slow:1.5", "--against=cpu"),
    ("square", "algsimp:memory", "now", P, "memory", "algsimp", *MEMORY),
    ("half", "algsimp:memory", "now", P, "memory", "algsimp", *MEMORY),
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
    command = [hloscope, *map(str, arguments), "--format=json", "--quiet"]
    result = subprocess.run(command, capture_output=True, env=environment, text=True, timeout=900)
    try:
        return result.returncode, json.loads(result.stdout)
    except ValueError:
        return result.returncode, {"verdict": None, "headline": result.stdout + result.stderr}


def shows(path, what):
    """Whether a run is wrong: a fault that nothing reads is none. An executable in the cache may have
    another fault."""
    document = call("run", path, "-d", culprit, "--compare", "reference", "--no-cache", what=what)[
        1
    ]
    return any(row["verdict"] == "different" for row in document.get("compare", []))


def try_case(program, what, how, verdict, symptom, named, *more):
    global found, tried
    path = scratch / f"{program}.hlo"
    name = f"{program}, {what}: {verdict}"
    if verdict in (B, P) and symptom == "wrong" and how == "now" and not shows(path, what):
        print(f"# {name}: nothing shows it", flush=True)
        return
    limit = () if any("--limit" in word for word in more) else ("--limit", "20")
    code, document = call("blame", path, "-d", culprit, *limit, *more, what=what)
    good = (code, document["verdict"], document.get("pass")) == (1, verdict, named)
    good = good and document["symptom"] == symptom
    tried += 1
    found += good
    check(name, good, f"rc {code}: {document['headline']}\n{json.dumps(document.get('evidence'))}")


def rewriting_passes(path):
    """Passes that rewrite the program, with how often."""
    counts = {}
    for pipeline in call("passes", "list", path, "-d", "cpu")[1].get("pipelines", []):
        for row in pipeline["passes"]:
            if row.get("rewrites"):
                counts[row["name"]] = counts.get(row["name"], 0) + row["rewrites"]
    return sorted(counts.items())


def try_random(draw):
    """Faults that nobody chose. The rewrite of the verdict counts, too: the first with which it
    shows is not after the one that has the fault."""
    table = (ROOT / "tests" / "culprits" / "culprit_kinds.def").read_text()
    kinds = [kind for kind in re.findall(r"^KIND\((\w+),", table, re.M) if kind != "unfused"]
    examples = sorted((ROOT / "src" / "passes").glob("*/*.hlo"))
    passes = {}
    while tried < random_count:
        path = draw.choice(examples)
        if path not in passes:
            passes[path] = rewriting_passes(path)
        if not passes[path] or "rng" in path.stem:  # of random numbers each device draws its own
            continue
        named, most = draw.choice(passes[path])
        what = f"{named}:{draw.choice(kinds)}:{draw.randint(1, most)}"
        (scratch / f"{path.stem}.hlo").write_text(path.read_text())
        if shows(path, what) and not shows(path, None):
            try_case(path.stem, what, "now", P, "wrong", named)


for name, text in PROGRAMS.items():
    (scratch / f"{name}.hlo").write_text(text)
for number, case in enumerate(CASES if not random_count else ()):
    part = "aside" if number % 2 else "seen"
    sampled = everything or number % SAMPLE == 0
    if case[2] != "none" and sampled and part in (half or part) and only in " ".join(case[:2]):
        try_case(*case)
if random_count:
    try_random(random.Random(seed))
check(f"19 of 20 are found where they are: {found} of {tried}", found >= 0.95 * tried)
print(f"1..{done}")
