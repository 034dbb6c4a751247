#!/usr/bin/env python3
"""hloscope conform on plugins that are legal in odd ways, which it must say nothing of, and on wrong
ones that crash, hang or end where they like: each verdict is about the right check, and no plugin
keeps it for long.

test_odd_plugins.py BUILD          tests/fake_plugin/odd_plugin.c has what the modes do
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

build = pathlib.Path(sys.argv[1]).resolve()
odd = build / "tests/fake_plugin/libhloscope_odd_pjrt.so"
number = failed = 0


def report(name: str, holds: bool, more: object = "") -> None:
    global number, failed
    number += 1
    failed += not holds
    print(("ok" if holds else "not ok"), number, "-", name, flush=True)
    if not holds:
        print("# " + str(more)[:2000].replace("\n", "\n# "))


def conform(mode: str, *arguments: str, **environment: str) -> tuple[int, dict | str, float]:
    """The exit code, the document (or what was said instead of one), and the seconds it took."""
    begin = time.monotonic()
    done = subprocess.run(
        [str(build / "hloscope"), "conform", str(odd), *arguments, "--format=json", "-q"],
        env={
            **os.environ,
            "HLOSCOPE_ODD_OF": str(build / "libhloscope_cpu_pjrt.so"),
            "HLOSCOPE_ODD": mode,
            **environment,
        },
        capture_output=True,
        text=True,
        check=False,
        timeout=170,
    )
    seconds = time.monotonic() - begin
    try:
        return done.returncode, json.loads(done.stdout), seconds
    except ValueError:
        return done.returncode, done.stderr + done.stdout, seconds


def wrong(answer: dict) -> dict[str, str]:
    return {
        check["id"]: f"{check['outcome']}: {check['seen']}"
        for check in answer.get("checks", [])
        if check["outcome"] not in ("pass", "not_offered")
    }


def message(answer: dict | str) -> str:
    """Of a run that gave no results."""
    return answer["error"]["message"] if isinstance(answer, dict) and "error" in answer else ""


def legal(mode: str, why: str, *areas: str) -> None:
    for area in areas:
        code, answer, _ = conform(mode, "--only", area)
        report(
            f"{why}: nothing is wrong with {area}",
            code == 0 and answer["totals"]["pass"] > 0,
            wrong(answer) or answer,
        )


legal("newer", "a later version", "table", "getters", "execute", "extension/layouts")
legal("slow", "a slow plugin", "repeat/runs", "client/exit")
legal("noisy", "a plugin that prints a page at each call", "buffer/facts", "events")
legal("callbacks", "callbacks from another thread, later", "events")
legal("late", "events that take a while", "events", "transfers")
legal("fills", "a cache that fills", "repeat/runs")
legal("bare", "no extension", "table", "buffer/facts")
for minor in (54, 67, 90):
    legal(f"older-{minor}", f"version 0.{minor}", "table", "execute", "agree")

# What is wrong with a plugin as a whole: where it is looked for, and the checks that must name it.
TOLD = [
    ("donated-stays", "execute/donation", {"execute/donation"}, "still there"),
    ("layout-reversed", "buffer/layout", {"buffer/layout"}, "at byte 8, where 3 lies and not 2"),
    ("offset-lost", "transfers", {"manager/order"}, "element 1 is "),
    ("offset-lost", "buffer/transfer-manager", {"buffer/transfer-manager"}, "element 0 is 3"),
    ("fingerprint-new", "executable/fingerprint", {"executable/fingerprint"}, "the same program"),
    ("first-bytes", "executable/serialize", {"executable/serialize-two"}, "element 0 is 2, not 4"),
    ("devices-swapped", "devices/each", {"devices/each"}, "on another device"),
    ("leak", "repeat/runs", {"repeat/runs"}, "left"),
    ("shared-extents", "getters", {"getter/lasts/PJRT_Buffer_Dimensions"}, "the same pointer"),
    ("shared-text", "getters", {"getter/lasts/PJRT_Executable_Name"}, "the same pointer"),
    ("early", "event/callback-calls", {"event/callback-calls"}, "IsReady says no"),
    ("extension-empty", "table", {"table/extensions"}, "struct_size of 0"),
    ("extension-small", "table", {"table/extensions"}, "is of type 4"),
    ("extension-loop", "table", {"table/extensions"}, "in a circle after extension 2"),
    ("extension-loop", "profiler", set(), ""),
    ("no-on-ready", "table", {"table/slot/PJRT_Event_OnReady"}, "NULL"),
    ("no-execute", "table", {"table/slot/PJRT_LoadedExecutable_Execute"}, "NULL"),
    ("locked", "event/callback-calls", {"event/callback-calls"}, "no answer of PJRT_Event_OnReady"),
    ("last-lost", "buffer/transfer-manager", {"buffer/transfer-manager"}, "no answer of"),
    ("done-never", "buffer/large", {"buffer/large"}, "for the event done_with_host_buffer"),
]
# Faults that need the right data, size or order of calls (odd_faults.c): the check that sees them.
TOLD += [
    (mode, check, {check}, words)
    for mode, check, words in (
        ("argument-returned", "execute/identity", "element 0 is -1, not 1"),
        ("callback-fine", "event/callback-error", "got no error"),
        ("compiled-once", "compile/again", "failed"),
        ("copy-shared", "buffer/copy-stays", "element 0 is -1, not 1"),
        ("denormals-lost", "buffer/bits/f32", "0x1 came back as 0x0"),
        ("error-argument", "execute/failed-argument", "it ran"),
        ("error-once", "event/error-again", "when it is asked again"),
        ("keeps-first-only", "execute/non-donatable-two", "argument 0 may not be donated"),
        ("large-aliased", "buffer/semantics/only-during-call-large", "read too late"),
        ("loaded-late", "executable/borrowed", "failed"),
        ("nans-quieted", "buffer/bits/f32", "0x7f800001 came back as 0x7fc00000"),
        ("one-cost", "getter/lasts/PJRT_Executable_GetCostAnalysis", "the same pointer"),
        ("one-executable", "executable/twice", "failed"),
        ("one-message", "table/messages", "once another error is asked"),
        ("one-of-two", "execute/same-twice", "two results are one buffer"),
        ("pieces-in-order", "manager/order", "element 0 is 4, not 1"),
        ("read-lazily", "buffer/read-destroyed", "before the buffer was destroyed"),
        ("reads-past", "buffer/ends/33-bytes", "signal 11"),
        ("stale-result", "execute/fresh", "element 0 is 2, not 4"),
        ("stats-still", "client/in-use", "4096 with it"),
        ("strides-of-two", "buffer/strides/f32-rank3", "not the one that the strides name"),
        ("tail-lost", "execute/size/1001", "element 1000 of 1001 is 0"),
        ("text-to-nul", "compile/ends", "signal 11"),
        ("zeros-unsigned", "buffer/bits/f32", "0x80000000 came back as 0x0"),
    )
]
for mode, only, wanted, words in TOLD:
    # a short limit only where something hangs: a busy machine makes others late
    limit = ["--timeout", "5"] if "no answer of" in words or mode == "done-never" else []
    code, answer, _ = conform(mode, "--only", only, *limit, HLOSCOPE_DEVICE_COUNT="2")
    seen = wrong(answer) if isinstance(answer, dict) else {}
    report(
        f"{mode}: {', '.join(sorted(wanted)) or f'nothing of {only}'}",
        set(seen) == wanted and code == bool(wanted) and all(words in t for t in seen.values()),
        seen or answer,
    )

code, answer, _ = conform("wordy", "--only", "buffer/raw-range")
report("an error whose message is no text is an error", code == 0, answer)
code, answer, _ = conform("wordy", "--only", "executable/damaged")
report("and what such a plugin fails with has its check", code in (0, 1), answer)
report(
    "no check of it is without an answer",
    isinstance(answer, dict) and not any("damaged" in t for t in wrong(answer).values()),
    answer,
)

code, answer, _ = conform("codes", "--only", "buffer/raw-range")
report(
    "a code that does not exist is a failure, and says which",
    list(wrong(answer)) == ["buffer/raw-range"] and "4711" in wrong(answer)["buffer/raw-range"],
    answer,
)
code, answer, _ = conform("exit", "--only", "execute")
report(
    "a plugin that ends the process while it compiles crashes each check that compiles",
    code == 1
    and answer["totals"]["pass"] == 0
    and set(wrong(answer).values()) == {"crash: the process ended by itself"},
    answer,
)
for mode in ("hang-destroy", "hang-events"):
    code, answer, seconds = conform(mode, "--only", "buffer", "--timeout", "0.5")
    report(
        f"{mode}: the run ends after 25 hangs, and says what it left out",
        code == 1 and answer["totals"]["hang"] == 25 and answer["totals"]["not_done"] > 0,
        (seconds, answer["totals"]),
    )
for mode, word in (("hang-exit", "does not end"), ("crash-exit", "signal 11")):
    code, answer, _ = conform(mode, "--only", "client/exit")
    report(
        f"{mode}: the end of the process is seen",
        word in wrong(answer).get("client/exit", ""),
        answer,
    )
    code, answer, _ = conform(mode, "--only", "client/devices")
    report(f"{mode}: and no other check is blamed for it", code == 0, answer)
code, answer, _ = conform("hang-load", "--timeout", "2")
report(
    "a plugin that hangs while it is loaded is told by that",
    code != 0 and "cannot be loaded: no answer within the time limit" in message(answer),
    answer,
)
code, answer, _ = conform("crash-load")
report(
    "and so is one that crashes",
    code != 0 and "cannot be loaded: signal 11" in message(answer),
    answer,
)
with tempfile.TemporaryDirectory(prefix="hsc-odd-") as folder:
    code, answer, _ = conform("lock", "--only", "execute", HLOSCOPE_ODD_LOCK=f"{folder}/lock")
    first, *rest = wrong(answer).values() if isinstance(answer, dict) else [""]
    report(
        "results before a crash that keeps the plugin from being loaded again are kept",
        code == 1 and "signal 11" in first and rest and all("loaded again" in t for t in rest),
        answer,
    )
code, answer, _ = conform("major", "--only", "table")
report(
    "another major version is a failure of the table's version and of nothing else",
    list(wrong(answer)) == ["table/version"],
    answer,
)
print(f"1..{number}")
sys.exit(failed > 0)
