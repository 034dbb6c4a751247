#!/usr/bin/env python3
"""hloscope conform: our device keeps the rules, faults are noticed, and what it writes down
compiles.

test_conform.py BUILD SOURCE_ROOT
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

build, root = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
hloscope = build / "hloscope"
plugin = build / "libhloscope_cpu_pjrt.so"
mutant = build / "tests/fake_plugin/libhloscope_mutant_pjrt.so"
receiving = build / "tests/fake_plugin/libhloscope_receiving_pjrt.so"
fake = build / "tests/fake_plugin/libhloscope_fake_pjrt.so"
number = failed = 0


def report(name: str, holds: bool, more: object = "") -> None:
    global number, failed
    number += 1
    failed += not holds
    print(("ok" if holds else "not ok"), number, "-", name, flush=True)
    if not holds:
        print("# " + str(more)[:2000].replace("\n", "\n# "))


def conform(*arguments: str, fault: str = "", devices: int = 1) -> tuple[int, dict]:
    environment = {
        **os.environ,
        "HLOSCOPE_MUTANT_OF": str(plugin),
        "HLOSCOPE_MUTANT": fault,
        "HLOSCOPE_DEVICE_COUNT": str(devices),
    }
    done = subprocess.run(
        [str(hloscope), "conform", *arguments, "--format=json", "-q"],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    return done.returncode, json.loads(done.stdout)


def outcomes(answer: dict) -> dict[str, str]:
    return {check["id"]: check["outcome"] for check in answer["checks"]}


code, answer = conform("cpu")
totals = answer["totals"]
report(
    "our device keeps every rule that it offers something for",
    code == 0 and totals["pass"] + totals["not_offered"] == totals["checks"],
    [c for c in answer["checks"] if c["outcome"] not in ("pass", "not_offered")],
)
report(
    "there are more than 500 checks, each with a rule and its source",
    totals["checks"] > 500 and all(c["rule"] and c["source"] for c in answer["checks"]),
    totals,
)
report("an id stands for one check", len(outcomes(answer)) == totals["checks"])

code, answer = conform("cpu", "--only", "devices", devices=2)
report(
    "two of our devices keep the rules of several; what the host sends and receives they do not have",
    code == 0
    and [i for i, o in outcomes(answer).items() if o != "pass"]
    == ["devices/send", "devices/receive"],
    answer["totals"],
)
code, answer = conform("cpu", "--only", "devices")
report(
    "one device offers none of them",
    code == 0 and answer["totals"]["not_offered"] == answer["totals"]["checks"],
    answer["totals"],
)
code, answer = conform(
    str(mutant), "--only", "devices", fault="PJRT_Buffer_CopyToDevice:null:dst_buffer", devices=2
)
report("a copy that gives nothing is noticed", outcomes(answer)["devices/copy"] != "pass", answer)

RECEIVING_FAULTS = {
    "": "pass",
    "size": "fail",
    "granule": "fail",
    "count": "fail",
    "greedy": "fail",
    "keep": "fail",
    "swap": "fail",
    "silent": "fail",
}
seen = {}
for fault in RECEIVING_FAULTS:
    os.environ.update(HLOSCOPE_RECEIVING_OF=str(plugin), HLOSCOPE_RECEIVING_FAULT=fault)
    seen[fault] = outcomes(conform(str(receiving), "--only", "devices/receive")[1])[
        "devices/receive"
    ]
report("a plugin that receives from the host, and its faults", seen == RECEIVING_FAULTS, seen)

FAULTS = [
    ("PJRT_Buffer_Dimensions:field:num_dims", "buffer/facts/f32", "fail"),
    ("PJRT_Buffer_ElementType:field:type", "buffer/facts/f32", "fail"),
    ("PJRT_Event_OnReady:nothing", "event/callback", "fail"),
    ("PJRT_LoadedExecutable_Execute:crash", "execute/add", "crash"),
    ("PJRT_Client_LookupDevice:error", "client/lookup", "fail"),
    ("PJRT_Executable_NumOutputs:field:num_outputs", "executable/facts/f32", "fail"),
    ("PJRT_Client_PlatformName:after", "struct-size/newer/PJRT_Client_PlatformName", "pass"),
    ("PJRT_Buffer_Delete:nothing", "buffer/delete", "fail"),
    ("PJRT_Buffer_ReadyEvent:deaf", "struct-size/short/PJRT_Buffer_ReadyEvent", "fail"),
    ("PJRT_Buffer_Destroy:nothing", "repeat/arrays", "fail"),
]
for fault, check, wanted in FAULTS:
    code, answer = conform(str(mutant), "--only", check, fault=fault)
    seen = outcomes(answer).get(check)
    report(f"{fault}: {wanted}", seen == wanted and code == (0 if wanted == "pass" else 1), answer)

code, answer = conform(
    str(mutant), "--only", "execute", fault="PJRT_LoadedExecutable_Execute:crash"
)
report(
    "checks after a crash are done all the same",
    len(answer["checks"]) > 10 and answer["totals"]["crash"] > 1,
    answer["totals"],
)
# what is written of a check ends at 16 KB
crashed = [
    c for c in answer["checks"] if c["outcome"] == "crash" and c["id"] != "execute/many-arguments"
]
report(
    "a crash comes with the calls up to the one that crashed",
    all("CALL(" in c["repro"].strip().splitlines()[-4] for c in crashed)
    and all("PJRT_LoadedExecutable_Execute, " in c["repro"] for c in crashed),
    crashed[:1],
)
code, answer = conform(
    str(mutant), "--only", "buffer/ready", "--timeout", "5", fault="PJRT_Buffer_ReadyEvent:late"
)
report(
    "a check that does not come back hangs, and its calls are told",
    outcomes(answer) == {"buffer/ready": "hang"}
    and "PJRT_Buffer_ReadyEvent, " in answer["checks"][0]["repro"],
    answer,
)
code, answer = conform(
    str(mutant), "--stop-after", "2", fault="PJRT_Client_BufferFromHostBuffer:error"
)
report("--stop-after ends the run", answer["totals"]["fail"] == 2, answer["totals"])

with tempfile.TemporaryDirectory(prefix="hsc-conform-") as folder:
    where = pathlib.Path(folder)
    header = where / "xla/pjrt/c/pjrt_c_api.h"
    header.parent.mkdir(parents=True)
    header.write_text('#include "pjrt/abi.h"\n', encoding="utf-8")
    conform(str(fake), "--only", "buffer", "--repro", str(where / "repro"))
    conform(str(fake), "--only", "execut", "--repro", str(where / "repro"))
    programs = sorted((where / "repro").glob("*.c"))
    compiler = os.environ.get("CC", "cc").split()
    bad, long = [], []
    for program in programs[:: max(1, len(programs) // 12)]:
        done = subprocess.run(
            [
                *compiler,
                "-fsyntax-only",
                "-std=gnu17",
                "-I",
                str(where),
                "-I",
                str(root / "src"),
                str(program),
            ],
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            bad.append(program.name + ": " + done.stderr[:600])
    # a check of many arrays has a line and more for each
    for program in programs:
        lines = program.read_text(encoding="utf-8").count("\n")
        if lines > 60 and not program.name.startswith("execute-"):
            long.append(program.name)
    report(
        "failures come with C programs that compile",
        len(programs) > 10 and not bad,
        bad or len(programs),
    )
    report("none of them is long", not long, long)
print(f"1..{number}")
sys.exit(failed > 0)
