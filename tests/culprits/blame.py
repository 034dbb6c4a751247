#!/usr/bin/env python3
"""Who is at fault: faults in one place of the built-in device (culprit_plugin.c), and equal
programs that nobody may be accused of.

    tests/culprits/blame.py build/hloscope build/tests/culprits/libhloscope_culprit_pjrt.so
    [--all] [--placebos N] [--seed S]

Speaks TAP. A culprit is right when the verdict names its layer and, for a pass, the pass and the
rewrite. Every fourth culprit is tried, with --all each of them. --placebos blames the passes'
examples too, N in all, on compilers that differ from the built-in one by a legal choice. What needs XLA:CPU is skipped by name where it is not
installed (hloscope devices --install xla-cpu).
"""

import itertools
import json
import os
import pathlib
import shutil
import struct
import subprocess
import sys
import tempfile
import zipfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
hloscope, culprit = (str(pathlib.Path(path).resolve()) for path in sys.argv[1:3])
everything = "--all" in sys.argv
number_after = lambda name, default: (
    int(sys.argv[sys.argv.index(name) + 1]) if name in sys.argv else default
)
placebo_count, first_seed = number_after("--placebos", 0), number_after("--seed", 1)
SAMPLE = 4  # without --all: one of so many
scratch = pathlib.Path(tempfile.mkdtemp(prefix="hloscope-blame-"))
cache = os.environ.get("HLOSCOPE_CACHE_DIR") or os.path.join(
    os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "hloscope"
)
(scratch / "cache").mkdir()
if os.path.isdir(
    os.path.join(cache, "venv")
):  # the private environment of the user's cache directory counts as well
    os.symlink(os.path.join(cache, "venv"), scratch / "cache" / "venv")
done = 0

PROGRAMS = {
    "mlp": (
        """HloModule mlp
ENTRY main {
  x = f32[8,16] parameter(0)
  w = f32[16,16] parameter(1)
  zero = f32[] constant(0)
  zeros = f32[8,16] broadcast(zero), dimensions={}
  x0 = f32[8,16] add(x, zeros)
  d = f32[8,16] dot(x0, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  e = f32[8,16] exponential(d)
  t = f32[8,16] tanh(e)
  one = f32[] constant(1)
  ones = f32[8,16] broadcast(one), dimensions={}
  m = f32[8,16] multiply(t, ones)
  ROOT r = f32[8,16] add(m, x)
}
"""
    ),
    "softmax": (
        """HloModule softmax
max { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT m = f32[] maximum(a, b) }
sum { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT s = f32[] add(a, b) }
ENTRY main {
  x = f32[16,32] parameter(0)
  low = f32[] constant(-inf)
  zero = f32[] constant(0)
  top = f32[16] reduce(x, low), dimensions={1}, to_apply=max
  tops = f32[16,32] broadcast(top), dimensions={0}
  shifted = f32[16,32] subtract(x, tops)
  e = f32[16,32] exponential(shifted)
  total = f32[16] reduce(e, zero), dimensions={1}, to_apply=sum
  totals = f32[16,32] broadcast(total), dimensions={0}
  back = f32[16,32] transpose(e), dimensions={0,1}
  ROOT r = f32[16,32] divide(back, totals)
}
"""
    ),
    "mixed": (
        """HloModule mixed
sum { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT s = f32[] add(a, b) }
ENTRY main {
  x = f32[4,8] parameter(0)
  y = f32[8,4] parameter(1)
  z = f32[4,8] parameter(2)
  t = f32[4,8] transpose(y), dimensions={1,0}
  a = f32[4,8] multiply(x, t)
  b = f32[4,8] multiply(x, t)
  c = f32[4,8] add(a, b)
  l = f32[4,8] logistic(c)
  s = f32[4,4] slice(l), slice={[0:4], [2:6]}
  zero = f32[] constant(0)
  p = f32[4,8] pad(s, zero), padding=0_0x2_2
  q = f32[4,8] subtract(p, z)
  n = f32[4,8] negate(q)
  m = f32[4,8] negate(n)
  total = f32[4] reduce(m, zero), dimensions={1}, to_apply=sum
  totals = f32[4,8] broadcast(total), dimensions={0}
  ROOT r = f32[4,8] add(totals, c)
}
"""
    ),
}
# Kinds of thunks (src/cpu/core/thunks.def), and a program that has each.
KERNELS = {
    "contraction": """HloModule contraction
ENTRY main {
  x = f32[96,300] parameter(0)
  w = f32[300,200] parameter(1)
  ROOT d = f32[96,200] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
}
""",
    "convolution": """HloModule convolution
ENTRY main {
  x = f32[2,12,12,16] parameter(0)
  w = f32[3,3,16,32] parameter(1)
  ROOT c = f32[2,12,12,32] convolution(x, w), window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f
}
""",
    "kernel": """HloModule kernel
ENTRY main {
  x = f32[40,50] parameter(0)
  y = f32[40,50] parameter(1)
  s = f32[40,50] add(x, y)
  e = f32[40,50] exponential(s)
  ROOT r = f32[40,50] multiply(e, y)
}
""",
    "sort": """HloModule sort
less { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT l = pred[] compare(a, b), direction=LT }
ENTRY main {
  x = f32[8,100] parameter(0)
  ROOT s = f32[8,100] sort(x), dimensions={1}, to_apply=less
}
""",
    "fft": """HloModule fft
ENTRY main {
  x = c64[4,48] parameter(0)
  ROOT f = c64[4,48] fft(x), fft_type=FFT, fft_length={48}
}
""",
    "scatter": """HloModule scatter
sum { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT s = f32[] add(a, b) }
ENTRY main {
  x = f32[64,8] parameter(0)
  at = s32[20,1] parameter(1)
  u = f32[20,8] parameter(2)
  ROOT s = f32[64,8] scatter(x, at, u), update_window_dims={1}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=sum
}
""",
    "windows": """HloModule windows
ge { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT m = pred[] compare(a, b), direction=GE }
sum { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT s = f32[] add(a, b) }
ENTRY main {
  x = f32[2,16,16,4] parameter(0)
  d = f32[2,8,8,4] parameter(1)
  zero = f32[] constant(0)
  ROOT w = f32[2,16,16,4] select-and-scatter(x, d, zero), window={size=1x2x2x1 stride=1x2x2x1}, select=ge, scatter=sum
}
""",
    "moves": """HloModule moves
ENTRY main {
  x = f32[30,40] parameter(0)
  ROOT t = f32[40,30] transpose(x), dimensions={1,0}
}
""",
    "conditional": """HloModule conditional
up { x = f32[32] parameter(0)  ROOT e = f32[32] exponential(x) }
down { x = f32[32] parameter(0)  ROOT e = f32[32] tanh(x) }
ENTRY main {
  which = s32[] parameter(0)
  x = f32[32] parameter(1)
  ROOT c = f32[32] conditional(which, x, x), branch_computations={up, down}
}
""",
    "small_linalg": """HloModule small_linalg
ENTRY main {
  x = f32[6,12,12] parameter(0)
  d = f32[6,12,12] dot(x, x), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={2}
  one = f32[] constant(20)
  i = s32[12,12] iota(), iota_dimension=0
  j = s32[12,12] iota(), iota_dimension=1
  eq = pred[12,12] compare(i, j), direction=EQ
  ones = f32[12,12] broadcast(one), dimensions={}
  zero = f32[] constant(0)
  zeros = f32[12,12] broadcast(zero), dimensions={}
  eye = f32[12,12] select(eq, ones, zeros)
  eyes = f32[6,12,12] broadcast(eye), dimensions={1,2}
  a = f32[6,12,12] add(d, eyes)
  ROOT c = f32[6,12,12] cholesky(a), lower=true
}
""",
}
for name, text in [*PROGRAMS.items(), *KERNELS.items()]:
    (scratch / f"{name}.hlo").write_text(text)


def check(name, good, why=""):
    global done
    done += 1
    print(
        f"{'ok' if good else 'not ok'} {done} - {name}"
        + ("" if good else "\n" + "\n".join("# " + line for line in str(why).splitlines()[:40])),
        flush=True,
    )
    return good


def skip(name, why):
    global done
    done += 1
    print(f"ok {done} - {name} # SKIP {why}", flush=True)


def call(*arguments, what=None):
    environment = dict(os.environ, HLOSCOPE_CACHE_DIR=str(scratch / "cache"))
    environment.pop("HLOSCOPE_CULPRIT", None)
    environment.pop("HLOSCOPE_CPU_ISA", None)
    if what and what.startswith("isa:"):
        environment["HLOSCOPE_CPU_ISA"] = what.removeprefix("isa:")
    elif what:
        environment["HLOSCOPE_CULPRIT"] = what
        # faults that come and go come at the same places of every call
        draws = scratch / "draws"
        draws.unlink(missing_ok=True)
        environment["HLOSCOPE_CULPRIT_DRAWS"] = str(draws)
    result = subprocess.run(
        [hloscope, *map(str, arguments), "--format=json", "--quiet"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment,
        text=True,
        timeout=900,
    )
    try:
        return result.returncode, json.loads(result.stdout)
    except ValueError:
        return result.returncode, {"verdict": None, "headline": result.stdout + result.stderr}


def blame(program, device, *more, what=None):
    return call(
        "blame",
        scratch / f"{program}.hlo" if program in PROGRAMS or program in KERNELS else program,
        "-d",
        device,
        *more,
        what=what,
    )


def rewrites_of(program):
    """Pass -> rewrites that it does to the program, of passes that change it."""
    _, document = call("passes", "list", scratch / f"{program}.hlo", "-d", "cpu")
    counts = {}
    for pipeline in document["pipelines"]:
        for row in pipeline["passes"]:
            if row.get("rewrites"):
                counts[row["name"]] = counts.get(row["name"], 0) + row["rewrites"]
    return counts


def fired_rules(program, fuel):
    """How often each rule of algsimp fires with so many rewrites."""
    counts = {}
    _, document = call(
        "passes", "list", scratch / f"{program}.hlo", "-d", "cpu", f"--pass-fuel=algsimp={fuel}"
    )
    for pipeline in document["pipelines"]:
        for row in pipeline["passes"]:
            for rule, count in row.get("rules", {}).items():
                counts[rule] = counts.get(rule, 0) + count
    return counts


def names_the_rule(program, document):
    """The rule that fires once more with this rewrite than without it."""
    most = fired_rules(program, document["rewrite"])
    fewer = fired_rules(program, document["rewrite"] - 1)
    rules = [rule for rule, count in most.items() if count > fewer.get(rule, 0)]
    return rules == [document.get("rule")]


# ---- culprits ----
seeded = right = offered = 0


def is_sampled():
    """Whether the next culprit is among those that are tried."""
    global offered
    offered += 1
    return everything or offered % SAMPLE == 1


def shows(program, what):
    """A fault that later passes undo, or that nothing reads, is none."""
    path = scratch / f"{program}.hlo"
    # an executable in the cache may have another fault
    _, seen = call("run", path, "-d", culprit, "--compare", "reference", "--no-cache", what=what)
    return any(row["verdict"] == "different" for row in seen.get("compare", []))


def culprit_case(program, what, verdict, symptom, *more, named=None, rewrite=None):
    global seeded, right
    if not is_sampled():
        return
    runs = () if "--runs" in more else ("--runs", "3")
    # A hang is what takes longer than the limit, and a busy machine takes seconds for what is no
    # hang: then once more with a longer one. Of what is slow a busy machine may blame another part:
    # once more, too.
    for limit in ("3", "20"):
        code, document = blame(program, culprit, *runs, "--limit", limit, *more, what=what)
        good = document["verdict"] == verdict and document.get("symptom") == symptom and code == 1
        good = (
            good
            and (named is None or document["pass"] == named)
            and (rewrite is None or document["rewrite"] == rewrite)
            and (rewrite is None or named != "algsimp" or names_the_rule(program, document))
        )
        if good or ("hang" not in (symptom, document.get("symptom")) and ":slow" not in what):
            break
    seeded += 1
    right += good
    check(f"{program}, {what}: {verdict}", good, f"rc {code}: {document['headline']}")


for program in PROGRAMS:
    for place, count in rewrites_of(program).items():
        for number in sorted({1, count}):
            if shows(program, f"{place}:numbers:{number}"):
                culprit_case(
                    program,
                    f"{place}:numbers:{number}",
                    "pass",
                    "wrong",
                    named=place,
                    rewrite=number,
                )
        culprit_case(program, f"{place}:crash", "pass", "crash", named=place)
        culprit_case(program, f"{place}:error", "pass", "error", named=place)
    culprit_case(program, "run:numbers", "below_hlo", "wrong")
    # less than the type's tolerance, more than the program's own bound
    culprit_case(program, "run:slight", "below_hlo", "wrong")
    culprit_case(program, "run:crash", "below_hlo", "crash")
    culprit_case(program, "run:error", "below_hlo", "error")
    culprit_case(program, "run:flaky", "nondeterministic", "wrong")
    culprit_case(program, "read:numbers", "front_end", "wrong")
    culprit_case(program, "read:crash", "front_end", "crash")
culprit_case("mlp", "algsimp:hang", "pass", "hang", named="algsimp")
culprit_case("mlp", "run:hang", "below_hlo", "hang")
culprit_case(
    "mlp",
    "algsimp:slower",
    "pass",
    "compile",
    "--symptom",
    "compile:2",
    "--against",
    "cpu",
    named="algsimp",
)
for first, second, named in (
    ("algsimp:slow", "fusion:slower", "fusion"),
    ("algsimp:slower", "fusion:slow", "algsimp"),
):  # both cost too much, and no single absence repairs it: the larger effect is named
    culprit_case(
        "mlp",
        f"{first};{second}",
        "pass",
        "compile",
        "--symptom",
        "compile:2",  # a loaded machine takes as long for what is not slow
        "--against",
        "cpu",
        named=named,
    )
for program in PROGRAMS:
    culprit_case(
        program,
        "algsimp:memory",
        "pass",
        "memory",
        "--symptom",
        "memory:3",
        "--against",
        "cpu",
        named="algsimp",
        rewrite=1,
    )
culprit_case("mlp", "run:slow", "below_hlo", "slow", "--symptom", "slow:3", "--against", "cpu")
for kind in KERNELS:
    if call("run", scratch / f"{kind}.hlo", "-d", culprit, what=f"{kind}:error")[0] == 0:
        check(f"{kind}.hlo has a step of that kind", False, "the compiler does it otherwise")
        continue
    if shows(kind, f"{kind}:numbers"):
        culprit_case(kind, f"{kind}:numbers", "below_hlo", "wrong")
    culprit_case(kind, f"{kind}:crash", "below_hlo", "crash")
    culprit_case(kind, f"{kind}:error", "below_hlo", "error")
for program in ("kernel", "softmax"):
    culprit_case(program, "link:crash", "below_hlo", "crash")
    culprit_case(program, "link:error", "below_hlo", "error")
if shows("contraction", "pool:numbers"):  # several processors
    culprit_case("contraction", "pool:numbers", "below_hlo", "wrong")
if everything:  # by chance the seed's runs are all right
    culprit_case("contraction", "pool:flaky", "nondeterministic", "wrong", "--runs", "16")
culprit_case("contraction", "pool:crash", "below_hlo", "crash")
culprit_case("sort", "sort:hang", "below_hlo", "hang")
check(
    f"at least 95 of 100 culprits are found where they are: {right} of {seeded}",
    right >= 0.95 * seeded,
)

# ---- nobody ----
accused = equal = 0
# The built-in compiler, and others that differ from it by what a compiler may choose: multiply-adds
# and wider vectors or none, other orders of sums, convolutions by other algorithms.
PLACEBOS = (None, "isa:baseline", "isa:avx2", "sums:short", "winograd:never", "winograd:always")


def placebo_case(program, seed, what):
    global accused, equal
    code, document = blame(program, culprit, "--runs", "2", "--seed", seed, what=what)
    # 3: nobody is accused, though what some odd input gives has no bound to be held against
    good = code in (0, 3) and document["verdict"] in ("nothing", "rounding")
    equal += 1
    accused += code == 1
    if code == 1:
        print(f"# accused: {program}, seed {seed}, {what}: {document['headline']}", flush=True)
    return good, document


for program in PROGRAMS:  # their last bits are rounding; of what moves or sorts they would be wrong
    good, document = placebo_case(program, 0, "run:last")
    check(f"{program}, another last bit: nobody", good, document["headline"])
for program in [*PROGRAMS, *KERNELS]:
    wrong = []
    for what in PLACEBOS if everything else PLACEBOS[1:3]:
        good, document = placebo_case(program, 0, what)
        if not good:
            wrong.append(f"{what}: {document['headline']}")
    check(f"{program}, other legal choices: nobody", not wrong, "\n".join(wrong))
# The passes' examples, which have every operation that a pass looks for: each before and after it.
examples = sorted((ROOT / "src" / "passes").glob("*/*.hlo"))
turns = ((path, what) for path in examples for what in PLACEBOS)
for number, (path, what) in zip(range(placebo_count), itertools.cycle(turns)):
    placebo_case(path, first_seed + number // (len(examples) * len(PLACEBOS)), what)
check(
    f"fewer than 1 of 100 equal programs are accused: {accused} of {equal}", accused < 0.01 * equal
)
print(f"# culprits found {right} of {seeded}; accusations {accused} of {equal} equal programs")

# ---- the report ----
folder = scratch / "report"
wrong = "algsimp:numbers" if "algsimp" in rewrites_of("softmax") else "fusion:numbers"
code, document = blame("softmax", culprit, "--runs", "2", "-o", folder, what=wrong)
issue = (folder / "ISSUE.md").read_text() if (folder / "ISSUE.md").exists() else ""
headings = ("### Description", "### Steps to reproduce", "### Evidence", "### System info")
check(
    "a report has the issue's headings, the headline and a command",
    all(h in issue for h in headings)
    and document["headline"] in issue
    and "hloscope blame " in issue,
    issue,
)
xla = (folder / "ISSUE-xla.md").read_text() if (folder / "ISSUE-xla.md").exists() else ""
xla_headings = ("### Description", "### HLO", "### Command", "### Evidence", "### Environment")
check(
    "another is for openxla/xla: HLO, its own tool's command, the same evidence",
    [line for line in xla.splitlines() if line.startswith("### ")] == list(xla_headings)
    and "run_hlo_module --platform=CPU --reference_platform=Interpreter reduced.hlo" in xla
    and document["headline"] in xla
    and issue.split("### Evidence")[1].split("###")[0] in xla,
    xla,
)
names = (
    sorted(zipfile.ZipFile(folder / "report.zip").namelist())
    if (folder / "report.zip").exists()
    else []
)
check(
    "its archive holds every file of the folder, is sound and under 5 MB",
    names == sorted(p.name for p in folder.iterdir() if p.name != "report.zip")
    and zipfile.ZipFile(folder / "report.zip").testzip() is None
    and (folder / "report.zip").stat().st_size < 5_000_000,
    names,
)
reduced = document.get("reduced") or {}
check(
    "its program is smaller, shows it run afresh, and has the same culprit",
    reduced.get("instructions_after", 99) < reduced.get("instructions_before", 0)
    and reduced.get("runs", {}).get("hlo", {}).get("shows") is True
    and all(reduced.get("blame", {}).get(k) == document[k] for k in ("verdict", "pass")),
    reduced,
)
code, repeated = call("blame", folder, "--runs", "2", what=wrong)
check(
    "the folder is what blame goes on from",
    (code, repeated["verdict"], repeated.get("pass")) == (1, document["verdict"], document["pass"]),
    repeated,
)
again = json.loads((folder / "blame.json").read_text())
check(
    "blame.json is the document that was printed",
    {k: v for k, v in again.items() if k != "command"}
    == {k: v for k, v in document.items() if k != "command"},
    again,
)

# ---- redacted ----
secret = """HloModule jit_secret_model
ENTRY secret_main {
  secret_x = f32[4] parameter(0)
  secret_weights = f32[4] constant({0.125, 0.25, 77.75, 4}), metadata={op_name="secret/layer" source_file="/home/secret/model.py" source_line=7}
  secret_product = f32[4] multiply(secret_x, secret_weights)
  ROOT secret_sum = f32[4] add(secret_product, secret_x)
}
"""
(scratch / "secret.hlo").write_text(secret)
folder = scratch / "redacted"
code, document = blame(
    scratch / "secret.hlo", culprit, "--runs", "2", "--redact", "-o", folder, what="run:numbers"
)
told = [
    p.name for p in folder.iterdir() if b"secret" in p.read_bytes() or b"77.75" in p.read_bytes()
]
check(
    "a redacted report says neither names nor places nor constants, and has the culprit",
    code == 1
    and document["verdict"] == "below_hlo"
    and not told
    and (folder / "ISSUE.md").exists(),
    (told, document),
)

# ---- from a trace ----
for what, verdict, symptom, kept in (
    ("fusion:crash", "pass", "crash", False),
    ("run:error", "below_hlo", "error", True),
    ("run:crash", "below_hlo", "crash", True),
):
    capture = scratch / f"{what.replace(':', '_')}.hsc"
    # an empty cache: what is loaded from one is not compiled, and its program not recorded
    environment = dict(
        os.environ, HLOSCOPE_CACHE_DIR=str(capture) + ".cache", HLOSCOPE_CULPRIT=what
    )
    command = [hloscope, "trace", "--keep-failures", "--no-summary", "-o", capture, "--"]
    command += [hloscope, "run", scratch / "mlp.hlo", "-d", culprit, "--quiet"]
    subprocess.run(command, capture_output=True, env=environment, timeout=300)
    inputs = list(capture.glob("failures/*/input_*.bin"))
    code, document = blame(capture, culprit, "--runs", "2", what=what)
    check(
        f"the failed call of a trace, {what}: {verdict}"
        + (", with the inputs that were kept" if kept else ""),
        code == 1
        and document["verdict"] == verdict
        and document["symptom"] == symptom
        and bool(inputs) == kept
        and all(p.stat().st_size > 0 for p in inputs),
        (inputs, document.get("headline")),
    )
capture = scratch / "well.hsc"
command = [hloscope, "trace", "--keep-failures", "--no-summary", "-o", capture, "--"]
command += [hloscope, "run", scratch / "mlp.hlo", "-d", culprit, "--quiet"]
environment = dict(os.environ, HLOSCOPE_CACHE_DIR=str(scratch / "cache"))
subprocess.run(command, capture_output=True, env=environment, timeout=300)
code, document = blame(capture, culprit)
check(
    "a trace in which every call came back well has nothing to blame, and keeps no inputs",
    code != 0 and "came back well" in str(document) and not list(capture.glob("failures/*/*")),
    (code, document),
)

# ---- from a run, and options ----
ones = b"".join(struct.pack("<f", 0.5 + i % 7) for i in range(128))
shape = "{'descr': '<f4', 'fortran_order': False, 'shape': (8, 16), }".encode()
header = shape + b" " * (63 - (10 + len(shape)) % 64) + b"\n"
with zipfile.ZipFile(scratch / "given.npz", "w") as archive:
    archive.writestr("x.npy", b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + ones)
kept = scratch / "kept"
run = ("run", scratch / "mlp.hlo", "-d", culprit, "--inputs", scratch / "given.npz", "--seed", "5")
run += ("--option", "xla_disable_hlo_passes=cse", "--keep-failures", kept)
call(*run, "--compare", "reference")
check("a run that went well keeps nothing", not kept.exists())
for what, symptom, more in (
    ("run:numbers", "wrong", ("--compare", "reference")),
    ("run:error", "error", ()),
    ("run:crash", "crash", ()),
):
    shutil.rmtree(kept, ignore_errors=True)
    call(*run, *more, what=what)
    there = sorted(p.name for p in kept.iterdir()) if kept.exists() else []
    # no device is named: it is the one that failed
    code, document = call(
        "blame", kept, "--runs", "2", "-o", scratch / "kept_report", "--reduce-budget=0", what=what
    )
    issue = scratch / "kept_report" / "ISSUE.md"
    check(
        f"a run that went wrong is blamed from what it kept, {what}",
        there == ["failure.json", "input_0.bin", "program-mlp.hlo"]
        and (kept / "input_0.bin").read_bytes() == ones
        and document.get("symptom") == symptom
        and document["verdict"] == "below_hlo"
        and "option: xla_disable_hlo_passes=cse" in issue.read_text(),
        (there, document),
    )
capture = scratch / "options.hsc"
environment = dict(
    os.environ, HLOSCOPE_CACHE_DIR=str(capture) + ".cache", HLOSCOPE_CULPRIT="run:error"
)
command = [hloscope, "trace", "--keep-failures", "--no-summary", "-o", capture, "--"]
command += [hloscope, "run", scratch / "mlp.hlo", "-d", culprit, "--quiet"]
command += ["--option", "xla_disable_hlo_passes=cse,fusion"]
subprocess.run(command, capture_output=True, env=environment, timeout=300)
more = ("--runs", "2", "-o", scratch / "kept_report", "--reduce-budget=0")
code, document = blame(capture, culprit, *more, what="run:error")
check(
    "the options of a traced call are those of its blame",
    code == 1 and "option: xla_disable_hlo_passes=cse,fusion" in issue.read_text(),
    document,
)

# ---- XLA:CPU ----
case = """HloModule m
ENTRY main {
  p = s32[3,1,1] parameter(0)
  s = s32[2,1,1] slice(p), slice={[0:2], [0:1], [0:1]}
  one = s32[] constant(1)
  d = s32[3,1,1] dynamic-update-slice(p, s, one, one, one)
  ROOT r = s32[1,3,1] reshape(d)
}
"""
(scratch / "in_place.hlo").write_text(case)
code, found = call("devices")
xla = next((row for row in found.get("devices", []) if row["device"] == "xla-cpu"), {})
name = "an update in place of XLA:CPU that reads what it wrote is below HLO (openxla/xla#49176)"
if not xla.get("found"):
    skip(name, "xla-cpu is not installed")
elif (
    call("run", scratch / "in_place.hlo", "-d", "xla-cpu", "--compare", "reference")[1]
    .get("compare", [{}])[0]
    .get("verdict")
    != "different"
):
    skip(name, "this jaxlib computes it right")
else:
    code, document = blame(scratch / "in_place.hlo", "xla-cpu", "--runs", "2")
    check(name, code == 1 and document["verdict"] == "below_hlo", document["headline"])
name = "the state of random numbers that a device keeps from run to run is nobody's fault"
if not xla.get("found"):
    skip(name, "xla-cpu is not installed")
else:
    code, document = blame(
        ROOT / "src" / "passes" / "expanders" / "rng_expander.after.hlo", "xla-cpu", "--runs", "2"
    )
    check(
        name, code in (0, 3) and document["verdict"] in ("nothing", "unknown"), document["headline"]
    )
print(f"1..{done}")
