#!/usr/bin/env python3
"""Random programs through other compilers, each blamed: `make hunt TIME=600`.

    tools/hunt.py --build build [--time S] [--seed N] [--device xla-cpu]... [--output DIR]

Programs come from the generator of the property tests (tests/unit/random_module.h), from --seed
upwards, until --time seconds are over. Each is blamed on each device with one run; what somebody is
accused of is grouped by cause (device, verdict, symptom, pass, message), and the first program of a
group is blamed once more, reduced and reported below DIR. A group counts as found only when its
reduced program shows it in plain JAX; everything else is listed as not reproduced. The last line
counts; exit code 1: something was found.
"""

import argparse
import json
import pathlib
import re
import subprocess
import sys
import time

BATCH = 10


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default="build")
    parser.add_argument("--time", type=float, default=600, help="seconds")
    parser.add_argument("--seed", type=int, default=1, help="of the first program")
    parser.add_argument("--device", action="append", help="default: xla-cpu")
    parser.add_argument("--output", default="hunt", help="folder of programs and reports")
    return parser.parse_args()


def blame(hloscope, program, device, *more):
    """(exit code, document); the document is None where hloscope itself failed."""
    command = [hloscope, "blame", program, "-d", device, "--runs", "1", "--limit", "20"]
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


def main():
    options = arguments()
    devices = options.device or ["xla-cpu"]
    build = pathlib.Path(options.build)
    hloscope = str(build / "hloscope")
    writer = [str(build / "tests/conformance/conformance"), "write_random_programs"]
    output = pathlib.Path(options.output)
    (output / "programs").mkdir(parents=True, exist_ok=True)
    end = time.monotonic() + options.time
    seed, programs, unknown, groups = options.seed, 0, 0, {}
    while time.monotonic() < end:
        subprocess.run([*writer, str(BATCH), str(seed), str(output / "programs")], check=True)
        for number in range(seed, seed + BATCH):
            if time.monotonic() > end:
                break
            path = output / "programs" / f"{number}.hlo"
            accused = False
            for device in devices:
                code, document = blame(hloscope, path, device)
                unknown += code not in (0, 1)
                if code == 1 and document and document["verdict"] != "program":
                    groups.setdefault(cause_of(device, document), []).append(path)
                    accused = True
            programs += 1
            if not accused:
                path.unlink()
        seed += BATCH
    found = 0
    rows = []
    for index, (cause, paths) in enumerate(sorted(groups.items(), key=str)):
        shows, document = report(hloscope, paths[0], cause[0], output / f"cause_{index}")
        found += shows is True
        rows.append({"cause": cause, "programs": [str(p) for p in paths], "shows_in_jax": shows})
        said = {True: "shows in plain JAX", False: "does not show in plain JAX"}.get(
            shows, "could not be run in plain JAX"
        )
        print(f"cause_{index}: {len(paths)} programs, {said}: {(document or {}).get('headline')}")
    (output / "hunt.json").write_text(json.dumps({"programs": programs, "causes": rows}, indent=1))
    print(
        f"{programs} programs from seed {options.seed}, {unknown} could not be judged, "
        f"{len(groups)} causes, {found} of them show in plain JAX"
    )
    return found > 0


if __name__ == "__main__":
    sys.exit(main())
