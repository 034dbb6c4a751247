#!/usr/bin/env python3
"""The example plugin: builds as its page says, keeps the rules of what it has, and each of a dozen
faults put into a copy of it is noticed. The GitHub Action checks it as a user's workflow would.

test_example_plugin.py BUILD SOURCE_ROOT
"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

build, root = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
hloscope = build / "hloscope"
example = root / "examples/pjrt_plugin"
LINES_MAX = 600
number = failed = 0

# A text of the example, what takes its place, and the check that must see it.
FAULTS = [
    ("stride *= shape->dims[d];", "stride += shape->dims[d];", "buffer/round-trip/f32-rank3"),
    ("args->dst_size < shape->bytes", "args->dst_size + 8 < shape->bytes", "buffer/small-dst"),
    ("if (!args->src->data)", "if (0)", "buffer/deleted-read"),
    ("args->buffer->data = NULL;", "", "buffer/delete"),
    ("args->num_byte_strides ?", "0 ?", "buffer/strides/f32-transposed"),
    ("layout ? layout->tiled.minor_to_major : NULL", "NULL", "buffer/host-layout/012"),
    ("!toy_shape_equal(&argument->shape, &p->values[i].shape)", "0", "execute/wrong-shape"),
    ("args->num_args != (size_t)p->input_count", "0", "execute/too-few"),
    ("args->id == 0 ?", "1 ?", "client/lookup"),
    ("args->callback(NULL, args->user_arg)", "(void)args", "event/callback"),
    ("OP(subtract,    2, x - y)", "OP(subtract,    2, y - x)", "op/subtract-f32"),
    ("  if (args->buffer)\n    free(args->buffer->data);", "", "repeat/arrays"),
    ("args->type = args->buffer->shape.type", "args->type = 11", "buffer/facts/u8"),
]


def report(name: str, holds: bool, more: object = "") -> None:
    global number, failed
    number += 1
    failed += not holds
    print(("ok" if holds else "not ok"), number, "-", name, flush=True)
    if not holds:
        print("# " + str(more)[:2000].replace("\n", "\n# "))


def compiled(folder: pathlib.Path, *flags: str) -> tuple[pathlib.Path, str]:
    """Builds a copy of the example with one command, as the page has it; what the compiler said."""
    library = folder / "toy_pjrt.so"
    done = subprocess.run(
        [
            *os.environ.get("CC", "cc").split(),
            *"-std=c17 -shared -fPIC -Wall -Wextra -Werror".split(),
            *flags,
            *sorted(str(p) for p in folder.glob("*.c")),
            "-lm",
            "-o",
            str(library),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    return library, done.stderr


def conform(plugin: pathlib.Path, *more: str) -> tuple[int, dict]:
    done = subprocess.run(
        [str(hloscope), "conform", str(plugin), "--format=json", "-q", *more],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    return done.returncode, json.loads(done.stdout)


def code_lines() -> int:
    count = 0
    for path in example.iterdir():
        for line in path.read_text(encoding="utf-8").splitlines():
            count += bool(line.strip()) and not line.strip().startswith("//")
    return count


def the_example(where: pathlib.Path) -> None:
    copy = where / "plain"
    shutil.copytree(example, copy)
    library, said = compiled(copy, "-I", str(root / "src"))
    report("it builds with one command and no warning", library.exists() and not said, said)
    code, answer = conform(library)
    bad = [c for c in answer["checks"] if c["outcome"] not in ("pass", "not_offered")]
    report(
        "it keeps every rule of what it has",
        code == 0 and not bad and answer["totals"]["pass"] >= 400,
        bad or answer["totals"],
    )
    outcomes = {c["id"]: c["outcome"] for c in answer["checks"]}
    rows = re.findall(r"^OP\((\w+),", (example / "toy_ops.def").read_text(encoding="utf-8"), re.M)
    computed = sorted(i for i, o in outcomes.items() if i.startswith("op/") and o == "pass")
    report(
        "its operations are those that it announces, and the others are not offered",
        computed == sorted(f"op/{name}-f32" for name in rows),
        computed,
    )
    report(f"it has at most {LINES_MAX} lines of code", code_lines() <= LINES_MAX, code_lines())
    installed = where / "headers/xla/pjrt/c"
    installed.mkdir(parents=True)
    (installed / "pjrt_c_api.h").write_text('#include "pjrt/abi.h"\n', encoding="utf-8")
    library.unlink()
    library, said = compiled(copy, "-I", str(installed.parents[2]), "-I", str(root / "src"))
    report("XLA's header is taken where it is to be had", library.exists(), said)


def the_faults(where: pathlib.Path) -> None:
    for index, (text, other, check) in enumerate(FAULTS):
        copy = where / f"fault{index}"
        shutil.copytree(example, copy)
        holders = [p for p in copy.iterdir() if text in p.read_text(encoding="utf-8")]
        for path in holders:
            path.write_text(path.read_text(encoding="utf-8").replace(text, other), encoding="utf-8")
        library, said = compiled(copy, "-Wno-error", "-w", "-I", str(root / "src"))
        code, answer = conform(library, "--only", check) if library.exists() else (0, {})
        report(
            f"{check} sees a fault: {text.strip().splitlines()[-1]}",
            len(holders) == 1 and code == 1,
            said or answer,
        )


def the_refusals(where: pathlib.Path) -> None:
    """What a plugin may lack and what it may not."""
    copy = where / "nothing"
    shutil.copytree(example, copy)
    ops = copy / "toy_ops.def"
    ops.write_text(
        ops.read_text(encoding="utf-8").replace("OP(add, ", "OP(plus,"), encoding="utf-8"
    )
    library, _ = compiled(copy, "-I", str(root / "src"))
    code, answer = conform(library, "--only", "compile/formats")
    report(
        "a plugin that compiles nothing fails, however it says so",
        code == 1 and answer["totals"]["fail"] == 1,
        answer,
    )


def the_action(where: pathlib.Path) -> None:
    """The steps of action.yml with a stand-in for the runner; `pip install` is done already."""
    action = (root / "action.yml").read_text(encoding="utf-8")
    scripts = re.findall(r"^      run: \|\n((?:        .*\n|\n)+)", action, re.M)
    binaries = where / "runner/hloscope/bin"
    binaries.mkdir(parents=True)
    (binaries / "hloscope").symlink_to(hloscope)
    badge, output = where / "badge.svg", where / "output"

    def run(**inputs: str) -> subprocess.CompletedProcess:
        output.write_text("", encoding="utf-8")
        environment = {
            **os.environ,
            **dict.fromkeys(("ARGUMENTS", "PLUGIN", "ONLY", "BADGE", "REPRODUCERS"), ""),
            "RUNNER_TEMP": str(where / "runner"),
            "GITHUB_OUTPUT": str(output),
            "GITHUB_STEP_SUMMARY": str(where / "summary"),
            "SUMMARY": "true",
            **inputs,
        }
        script = "\n".join(line[8:] for line in scripts[1].splitlines())
        return subprocess.run(
            ["bash", "-e", "-o", "pipefail", "-c", script],
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )

    library = build / "examples/toy_pjrt.so"
    done = run(PLUGIN=str(library), BADGE=str(badge))
    shown = re.search(r"(\d+) of (\d+)</text>", badge.read_text(encoding="utf-8"))
    report(
        "the action checks a plugin and writes its badge",
        done.returncode == 0
        and shown is not None
        and shown[1] == shown[2]
        and "checks pass" in (where / "summary").read_text(encoding="utf-8")
        and "exit-code=0" in output.read_text(encoding="utf-8"),
        done.stdout + done.stderr,
    )
    broken = where / "fault0/toy_pjrt.so"
    done = run(PLUGIN=str(broken), BADGE=str(badge), REPRODUCERS=str(where / "repro"))
    shown = re.search(r"(\d+) of (\d+)</text>", badge.read_text(encoding="utf-8"))
    report(
        "it fails for a plugin that breaks a rule, and leaves the reproducers",
        done.returncode == 1
        and shown is not None
        and int(shown[1]) < int(shown[2])
        and any((where / "repro").glob("*.c")),
        done.stdout + done.stderr,
    )
    done = run()
    report("without a plugin or arguments it says so", done.returncode == 2, done.stdout)


with tempfile.TemporaryDirectory(prefix="hsc-example-") as folder:
    the_example(pathlib.Path(folder))
    the_faults(pathlib.Path(folder))
    the_refusals(pathlib.Path(folder))
    the_action(pathlib.Path(folder))
print(f"1..{number}")
sys.exit(failed > 0)
