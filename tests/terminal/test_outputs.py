#!/usr/bin/env python3
"""What commands leave behind: nothing in the current folder but what they say, by one scheme of
names.

    test_outputs.py HLOSCOPE ROOT

TAP, a case a command line, each in an empty folder. A command that writes without --output calls it
hloscope-COMMAND-TIME and says so on stderr; all others leave the folder empty. With --output
nothing else is written.
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile

MODEL = "models/patterns/tiny_natural.hlo"
TRACED = ["--", "sh", "-c", "{hloscope} run {model} --no-store --quiet --time-budget 0.05"]
# name, words, what the file is called behind the time
WRITES = [
    ("patterns", ["patterns", "{model}", "--trials", "2", "--warmup", "1"], ".json"),
    ("profile", ["profile", "{model}", "--time-budget", "0.05"], ""),
    ("profile of a command", ["profile", *TRACED], ""),
    ("trace", ["trace", *TRACED], ".hsc"),
    ("report", ["report", "{kept}/run.json"], ".html"),
    ("passes show", ["passes", "show", "{model}"], ".html"),
]
SILENT = [
    ["sweep", "run", "{kept}/plan"],
    ["run", "{model}", "--time-budget", "0.05"],
    ["run", "{model}", "--compare", "reference", "--time-budget", "0.05"],
    ["passes", "list", "{model}"],
    ["passes", "time", "{model}", "--time-budget", "0.5"],
    ["passes", "diff", "{model}"],
    ["passes", "validate", "{model}"],
    ["passes", "explain", "algsimp"],
    ["convert", "{model}", "--to", "mlir"],
    ["blame", "{model}"],
    ["devices"],
    ["doctor", "--quick"],
    ["explain", "{kept}/log"],
    ["stats", "{kept}/run.json"],
    ["results", "list"],
    ["cache", "list"],
    ["knowledge", "list"],
    ["version"],
]
number = failed = 0


def report(good, name, text=""):
    global number, failed
    number += 1
    failed += not good
    print(f"{'ok' if good else 'not ok'} {number} - {name}")
    if not good:
        print("\n".join(f"# {line}" for line in str(text).splitlines()[-12:]))


def main():
    hloscope, root = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
    with tempfile.TemporaryDirectory(prefix="hloscope-outputs-") as scratch:
        kept = pathlib.Path(scratch) / "kept"
        kept.mkdir()
        (kept / "log").write_text("RESOURCE_EXHAUSTED: Out of memory allocating 16 bytes.\n")
        environment = {**os.environ, "HLOSCOPE_CACHE_DIR": scratch + "/cache"}
        os.mkdir(scratch + "/cache", 0o700)

        def run(words, folder):
            words = [w.format(hloscope=hloscope, model=root / MODEL, kept=kept) for w in words]
            os.makedirs(folder)
            done = subprocess.run(
                [str(hloscope), *words], cwd=folder, env=environment, capture_output=True, text=True
            )
            return done, sorted(os.listdir(folder))

        made, _ = run(
            ["run", "{model}", "--format=json", "--time-budget", "0.05"], f"{scratch}/document"
        )
        (kept / "run.json").write_text(made.stdout)
        plan = ["sweep", "plan", "patterns", "{model}", "-o", "{kept}/plan"]
        run([*plan, "--", "--trials", "1", "--warmup", "1"], f"{scratch}/plan")
        for i, (name, words, extension) in enumerate(WRITES):
            done, left = run(words, f"{scratch}/writes{i}")
            verb = words[0]
            scheme = rf"hloscope-{verb}-\d{{8}}-\d{{6}}{re.escape(extension)}"
            report(
                done.returncode == 0 and len(left) == 1 and re.fullmatch(scheme, left[0]),
                f"{name}: the name says the command and the time",
                f"{left}\n{done.stderr}",
            )
            report(bool(left) and left[0] in done.stderr, f"{name}: it is said", done.stderr)
            at = words.index("--") if "--" in words else len(words)
            chosen = [*words[:at], "-o", "mine", *words[at:]]
            done, left = run(chosen, f"{scratch}/chosen{i}")
            report(left == ["mine"], f"{name}: --output alone is written", f"{left} {done.stderr}")
        for i, words in enumerate(SILENT):
            done, left = run(words, f"{scratch}/silent{i}")
            report(
                done.returncode in (0, 1, 3) and not left,
                f"{' '.join(words[:2]).replace('{model}', 'PROGRAM')}: nothing is left behind",
                f"{done.returncode} {left}\n{done.stderr}",
            )
    print(f"1..{number}")
    return failed


if __name__ == "__main__":
    sys.exit(main() > 0)
