#!/usr/bin/env python3
"""How small failures get: seeded faults of every symptom on programs of 50 to 3,000 instructions.

    python3 tests/faults/measure.py build [--cases 200] [--symptoms wrong ...] [--out FILE.json]
    python3 tests/faults/measure.py build --sample

Programs: the four models, the patterns that are large enough, random programs. Symptoms: each kind
of fault in faults.def on the faulty plugin; on the built-in device a pass that changes the program
(fires), an operation that stays outside of fusions (unfused); a shell command that looks for the
check's name (command). A fault that does not show in a program (its pattern is not there, or
rounding hides it) is no case. Symptoms take turns, the order within one is by hash, so a run of
fewer cases is a prefix of one of more. Prints a line a case and the figures at the end: seconds of
wall and of all its processes. --sample: eight small cases for the gate, exit code 1 where one stays
above eight instructions or is not verified.
"""

import argparse
import hashlib
import json
import os
import pathlib
import re
import shlex
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
ROW = re.compile(r'FAULT\(\w+,\s*"([^"]+)",\s*(\w+)')
SYMPTOMS = ["wrong", "crash", "hang", "slow", "compile", "memory", "fires", "unfused", "command"]
COSTS = {"slow", "compile", "memory"}  # compared with the built-in device without a fault
UNFUSED_OPS = ["dot", "reduce", "transpose", "add", "broadcast", "concatenate", "convert"]
# (instructions of the entry, programs): calls and loops come on top
RANDOM_SIZES = [(60, 8), (120, 8), (300, 8), (800, 8)]
HANG_LIMIT_S = 5
SMALL_ENOUGH = 8
BUDGET_S = 60


def rank(*words) -> bytes:
    return hashlib.sha256("/".join(map(str, words)).encode()).digest()


def faults() -> list[tuple[str, str]]:
    """(name, symptom) of each row of faults.def."""
    rows = ROW.findall((ROOT / "tests/faults/faults.def").read_text())
    return [(name, kind.lower()) for name, kind in rows]


def programs(build: pathlib.Path, folder: pathlib.Path) -> list[pathlib.Path]:
    """Paths of all programs; random ones are written into the folder."""
    writer = build / "tests/conformance/conformance"
    found = [p for p in (ROOT / "models").glob("*.hlo.gz")]
    found += [p for p in (ROOT / "models/patterns").glob("*.hlo") if is_large(p)]
    first = 1
    for size, count in RANDOM_SIZES:
        command = [writer, "write_random_programs", count, first, folder, size]
        subprocess.run([str(word) for word in command], check=True)
        found += [folder / f"{seed}.hlo" for seed in range(first, first + count)]
        first += count
    return sorted(found)


def is_large(path: pathlib.Path) -> bool:
    return path.read_text().count(" = ") >= 50


def changed_passes(build: pathlib.Path, program: pathlib.Path) -> list[str]:
    command = [build / "hloscope", "passes", "list", program, "-d", "cpu", "--format=json", "-q"]
    done = subprocess.run(command, capture_output=True, text=True)
    try:
        pipelines = json.loads(done.stdout).get("pipelines", [])
    except ValueError:
        return []
    return sorted({p["name"] for line in pipelines for p in line["passes"] if p["changed"]})


def variants(build: pathlib.Path, symptom: str, program: pathlib.Path) -> list[str]:
    """What the symptom may be of in this program: a fault, a pass or an operation."""
    if symptom == "fires":
        return changed_passes(build, program)
    if symptom == "unfused":
        return UNFUSED_OPS
    kind = "crash" if symptom == "command" else symptom
    return [name for name, of in faults() if of == kind]


def arguments_of(build: pathlib.Path, symptom: str, variant: str) -> list[str]:
    plugin = str(build / "tests/faults/libhloscope_faulty_pjrt.so")
    if symptom in ("fires", "unfused"):
        return ["-d", "cpu", "--symptom", f"{symptom}:{variant}"]
    if symptom == "command":
        words = [shlex.quote(str(build / "hloscope")), "run {} -q -d", shlex.quote(plugin)]
        return ["--while", " ".join(words) + " 2>&1 | grep -q faulty_rule.cc"]
    more = ["--against", "cpu"] if symptom in COSTS else []
    more += ["--limit", str(HANG_LIMIT_S)] if symptom == "hang" else []
    return ["-d", plugin, "--symptom", symptom, *more]


def reduce(
    build: pathlib.Path, program: pathlib.Path, symptom: str, variant: str, budget: float
) -> dict | None:
    """The document of `hloscope reduce` with "processor_seconds"; None: it does not show."""
    with tempfile.TemporaryDirectory(prefix="hloscope-faults-") as scratch:
        environment = {**os.environ, "HLOSCOPE_FAULT": variant, "HLOSCOPE_CACHE_DIR": scratch}
        command = [build / "hloscope", "reduce", program, *arguments_of(build, symptom, variant)]
        command += ["-o", f"{scratch}/small", "--format=json", "-q", "--time-budget", str(budget)]
        answer, log = pathlib.Path(scratch, "answer"), pathlib.Path(scratch, "log")
        with answer.open("wb") as out, log.open("wb") as err:
            child = subprocess.Popen(
                [str(word) for word in command], env=environment, stdout=out, stderr=err
            )
            _, _, usage = os.wait4(child.pid, 0)
        child.returncode = 0  # it is waited for
        try:
            document = json.loads(answer.read_text())
        except ValueError:
            return {"error": {"message": log.read_text().strip()[-300:]}}
    if document.get("error", {}).get("code") == "FAILED_PRECONDITION":
        return None
    return {**document, "processor_seconds": usage.ru_utime + usage.ru_stime}


def candidates(build: pathlib.Path, symptom: str, paths: list[pathlib.Path]):
    """(symptom, program, variant): one variant of each program, then another of each."""
    names = {}
    for turn in range(len(faults())):
        for program in sorted(paths, key=lambda p: rank(symptom, p.name)):
            if program not in names:
                found = variants(build, symptom, program)
                names[program] = sorted(found, key=lambda v: rank(program.name, v))
            if turn < len(names[program]):
                yield symptom, program, names[program][turn]


def cases_in_turns(build: pathlib.Path, symptoms: list[str], paths, budget: float):
    """Measured cases, one of each symptom in turn; what does not show is passed over."""
    waiting = [candidates(build, symptom, paths) for symptom in symptoms]
    while waiting:
        for one in list(waiting):
            case = None
            while not case:
                what = next(one, None)
                if not what:
                    waiting.remove(one)
                    break
                case = measure(build, *what, budget)
            if case:
                yield case


def line_of(case: dict) -> str:
    if "error" in case:
        return f"{case['case']}: {case['error']}"
    verified = "" if case["verified"] else ", NOT VERIFIED"
    return (
        f"{case['case']}: {case['before']} -> {case['after']}, {case['looks']} looks,"
        f" {case['seconds']:.1f} s ({case['processor_seconds']:.1f} s of processors){verified}"
    )


def figures(cases: list[dict]) -> str:
    after = [case["after"] for case in cases]
    processor = [case["processor_seconds"] for case in cases]
    small = sum(n <= SMALL_ENOUGH for n in after)
    wall = [case["seconds"] for case in cases]
    return (
        f"{len(cases)} cases: median {statistics.median(after):g} instructions, worst {max(after)},"
        f" at most {SMALL_ENOUGH} in {small}; median {statistics.median(wall):.1f} s of wall,"
        f" {statistics.median(processor):.1f} s of processors, worst {max(processor):.0f} s;"
        f" verified {sum(case['verified'] for case in cases)}"
    )


def measure(build, symptom, program, variant, budget) -> dict | None:
    document = reduce(build, program, symptom, variant, budget)
    if document is None:
        return None
    case = {"case": f"{symptom} {program.name} {variant}", "symptom": symptom}
    if "error" in document:
        return {**case, "error": document["error"]["message"]}
    names = ["seconds", "looks", "verified", "processor_seconds"]
    case |= {name: document[name] for name in names}
    return {
        **case,
        "before": document["instructions_before"],
        "after": document["instructions_after"],
    }


def run_sample(build: pathlib.Path) -> int:
    patterns = ROOT / "models/patterns"
    sample = [
        ("wrong", "mlp_scan", "update-slice"),
        ("wrong", "wide_scan", "update-slice"),
        ("crash", "multihead_natural", "add-of-dot"),
        ("hang", "large_natural", "add-of-broadcast"),
        ("slow", "wide_scan", "exp-of-anything"),
        ("memory", "mlp_scan", "slice-of-any"),
        ("fires", "mlp_natural", "fusion"),
        ("command", "deep_scan", "add-of-dot"),
    ]
    failed = 0
    print(f"1..{len(sample)}")
    for number, (symptom, name, variant) in enumerate(sample, 1):
        case = measure(build, symptom, patterns / f"{name}.hlo", variant, BUDGET_S)
        good = case and case.get("verified") and case["after"] <= SMALL_ENOUGH
        failed += not good
        said = line_of(case) if case else f"{symptom} {name} {variant}: does not show"
        print(f"{'ok' if good else 'not ok'} {number} - {said}", flush=True)
    return 1 if failed else 0


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--cases", type=int, default=200)
    parser.add_argument("--symptoms", nargs="*", default=SYMPTOMS)
    parser.add_argument("--budget", type=float, default=BUDGET_S, help="seconds of a case")
    parser.add_argument("--limit", type=float, default=0, help="seconds for all cases; 0: no limit")
    parser.add_argument("--out", type=pathlib.Path)
    parser.add_argument("--sample", action="store_true")
    options = parser.parse_args()
    build = options.build.resolve()
    if options.sample:
        return run_sample(build)
    cases, start = [], time.monotonic()
    with tempfile.TemporaryDirectory(prefix="hloscope-faults-") as folder:
        paths = programs(build, pathlib.Path(folder))
        for case in cases_in_turns(build, options.symptoms, paths, options.budget):
            print(line_of(case), flush=True)
            cases.append(case)
            if options.out:
                options.out.write_text(json.dumps(cases, indent=1) + "\n")
            late = options.limit and time.monotonic() - start > options.limit
            if late or len(cases) >= options.cases:
                break
    done = [case for case in cases if "after" in case]
    for symptom in options.symptoms:
        of_it = [case for case in done if case["symptom"] == symptom]
        if of_it:
            print(f"{symptom}: {figures(of_it)}")
    if done:
        print(f"all: {figures(done)}; could not be reduced: {len(cases) - len(done)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
