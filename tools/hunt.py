#!/usr/bin/env python3
"""Random programs and equal mutants through other compilers, each blamed: `make hunt TIME=600`.

    tools/hunt.py --build build [--time S] [--seed N] [--device xla-cpu]... [--output DIR]

Programs, in turn: random ones (the generator of the property tests, tests/unit/random_module.h), and
mutants of the models and of --programs that compute the same (src/transform/mutate/mutations.def: rewrites and
other legal orders of sums), from --seed upwards, until --time seconds are over. Each goes through
each device once, in workers that stay: against the reference evaluator and the bound of any legal
computation, on a device that only compiles for crashes. What differs or ends there is blamed; what
somebody is accused of is grouped by cause (device, verdict, symptom, pass, message), and the first
program of a group is blamed once more, reduced and reported below DIR. A group counts as found only
when its reduced program shows it in plain JAX; everything else is listed as not reproduced. The last
line counts; exit code 1: something was found. All programs are StableHLO: what that cannot say no
framework can hand to a compiler, and counts as not judged.
"""

import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
BATCH = 10
LIMIT_S = 30
# the evaluator would need hours for ResNet-50: its mutants are for devices that only compile
LARGE = {"resnet50_train.hlo.gz", "resnet50_forward.hlo.gz"}


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default="build")
    parser.add_argument("--time", type=float, default=600, help="seconds")
    parser.add_argument("--seed", type=int, default=1, help="of the first program")
    parser.add_argument("--device", action="append", help="default: xla-cpu")
    parser.add_argument("--programs", nargs="*", default=[], help="mutated beside the models")
    parser.add_argument("--output", default="hunt", help="folder of programs and reports")
    return parser.parse_args()


class Looker:
    """A device that looks at programs by workers that stay (tests/hunt/look.c)."""

    def __init__(self, build, device):
        self.device = device
        self.command = [build / "tests/hunt/hunt_look", build / "hloscope", device, str(LIMIT_S)]
        self.child = None

    def look(self, program):
        """(word, what was seen); a looker that ends itself is started anew."""
        if not self.child:
            self.child = subprocess.Popen(
                self.command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                env={**os.environ, "HLOSCOPE_TARGETS": str(ROOT / "targets")},
            )
        try:
            self.child.stdin.write(f"{program}\n")
            self.child.stdin.flush()
            line = self.child.stdout.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            self.close()
            return "unknown", "the looker ended"
        word, _, seen = line.rstrip("\n").partition("\t")
        return word, seen

    def close(self):
        if self.child:
            try:
                self.child.communicate()
            except BrokenPipeError:
                self.child.wait()
        self.child = None


def sources(given):
    """(for devices that run, for those that only compile): what mutants are made of."""
    models = sorted((ROOT / "models").glob("*.hlo.gz"))
    small = sorted((ROOT / "models/patterns").glob("*.hlo")) + [pathlib.Path(p) for p in given]
    return small + [m for m in models if m.name not in LARGE], small + models


def write_programs(build, kind, seed, folder, mutated):
    """BATCH programs from this seed on; their paths."""
    if kind == "random":
        writer = [build / "tests/conformance/conformance", "write_random_programs"]
        more = []
    else:
        writer, more = [build / "tests/hunt/write_mutants"], mutated
    command = [*writer, str(BATCH), str(seed), folder, *more]
    subprocess.run([str(word) for word in command], check=True)
    return [folder / f"{number}.hlo" for number in range(seed, seed + BATCH)]


def blame(hloscope, program, device, *more):
    """(exit code, document); the document is None where hloscope itself failed."""
    command = [hloscope, "blame", program, "-d", device, "--runs", "2", "--limit", str(LIMIT_S)]
    command += ["--time-budget", "60", "--format=json", "--quiet", *more]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    except subprocess.TimeoutExpired:
        return 3, None
    try:
        return done.returncode, json.loads(done.stdout)
    except ValueError:
        return done.returncode, None


def cause_of(device, document):
    """What makes two accusations the same: numbers and names in the message do not."""
    words = [row["answer"] for row in document["evidence"] if row["question"].startswith("does it")]
    message = re.sub(r"[%'\"][^ ]+|[0-9.]+", "", words[0])[:120] if words else ""
    return (device, document["verdict"], document["symptom"], document["pass"], message)


def report(hloscope, program, device, folder):
    """Reduced and run afresh: whether it shows in plain JAX (None: could not be run there)."""
    _, document = blame(hloscope, program, device, "-o", folder, "--reduce-budget", "60")
    runs = ((document or {}).get("reduced") or {}).get("runs") or {}
    return (runs.get("jax") or {}).get("shows"), document


class Hunt:
    def __init__(self, options):
        self.options = options
        self.build = pathlib.Path(options.build).resolve()
        self.hloscope = str(self.build / "hloscope")
        self.lookers = [Looker(self.build, d) for d in options.device or ["xla-cpu"]]
        self.kept = pathlib.Path(options.output, "programs")
        self.kept.mkdir(parents=True, exist_ok=True)
        self.counts = {"random": 0, "mutants": 0}
        self.unknown = {}
        self.groups = {}
        self.not_accused = []

    def look_at(self, kind, path):
        name = f"{kind}_{path.name}"
        self.counts[kind] += 1
        for looker in self.lookers:
            word, seen = looker.look(path)
            if word == "unknown":
                reason = re.sub(r"[%'\"][^ ]+|[0-9.]+", "", seen)[:80]
                self.unknown[reason] = self.unknown.get(reason, 0) + 1
            if word not in ("differs", "ends"):
                continue
            kept = (self.kept / name).with_suffix(".mlir")
            kept.write_bytes(path.with_suffix(".mlir").read_bytes())
            code, document = blame(self.hloscope, kept, looker.device)
            verdict = (document or {}).get("verdict")
            accused = code == 1 and verdict not in (None, "program")
            if accused:
                self.groups.setdefault(cause_of(looker.device, document), []).append(kept)
            else:
                self.not_accused.append(f"{name} on {looker.device}: {word}, {seen}: {verdict}")

    def run(self):
        running, compiling = sources(self.options.programs)
        only_compile = all(":" in looker.device for looker in self.lookers)
        mutated = compiling if only_compile else running
        end = time.monotonic() + self.options.time
        seed = self.options.seed
        with tempfile.TemporaryDirectory(prefix="hloscope-hunt-") as folder:
            while time.monotonic() < end:
                for kind in self.counts:
                    for path in write_programs(
                        self.build, kind, seed, pathlib.Path(folder), mutated
                    ):
                        if time.monotonic() < end:
                            self.look_at(kind, path)
                seed += BATCH
        for looker in self.lookers:
            looker.close()

    def tell(self):
        """Every cause reduced and reported; how many show in plain JAX."""
        found, rows = 0, []
        for index, (cause, paths) in enumerate(sorted(self.groups.items(), key=str)):
            folder = pathlib.Path(self.options.output, f"cause_{index}")
            shows, document = report(self.hloscope, paths[0], cause[0], folder)
            found += shows is True
            programs = [str(p) for p in paths]
            rows.append({"cause": cause, "programs": programs, "shows_in_jax": shows})
            said = {True: "shows in plain JAX", False: "does not show in plain JAX"}.get(
                shows, "could not be run in plain JAX"
            )
            headline = (document or {}).get("headline")
            print(f"cause_{index}: {len(paths)} programs, {said}: {headline}")
        for line in self.not_accused:
            print(f"nobody accused: {line}")
        for reason, count in sorted(self.unknown.items(), key=lambda item: -item[1]):
            print(f"not judged: {count} times: {reason}")
        document = {"programs": self.counts, "unknown": self.unknown, "causes": rows}
        pathlib.Path(self.options.output, "hunt.json").write_text(json.dumps(document, indent=1))
        print(
            f"{self.counts['random']} random programs and {self.counts['mutants']} mutants from"
            f" seed {self.options.seed}, {sum(self.unknown.values())} could not be judged,"
            f" {len(self.groups)} causes, {found} of them show in plain JAX"
        )
        return found


def main():
    hunt = Hunt(arguments())
    hunt.run()
    return hunt.tell() > 0


if __name__ == "__main__":
    sys.exit(main())
