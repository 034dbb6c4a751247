#!/usr/bin/env python3
"""How many faults of a plugin `hloscope conform` notices.

    tools/conform_mutants.py BUILD [--count 200] [--seed 1] [--only TEXT] [--jobs 1]

Each mutant is our plugin with one fault (tests/fake_plugin/mutant_plugin.c), on a function that our
plugin has. It is noticed when conform ends with another code than 0, or tells of fewer checks that
pass. Mutants that cannot be told from the plugin stand in EQUIVALENT with the reason; survivors are
listed. Ends with 1 when fewer than 95 % are noticed.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile

# mutants that no host can tell from the plugin: a pattern, and why
EQUIVALENT = [
    (
        r"^PJRT_Device_MemoryStats:(field|null):(?!bytes_in_use$)",
        "what a plugin's allocator counts, only it knows",
    ),
    (
        r"^PJRT_Executable_GetCompiledMemoryStats:(field|null):(?!argument|output)",
        "sizes that only the compiler knows",
    ),
    (r"^PJRT_Executable_GetCompiledMemoryStats:field:", "one byte more may be padding"),
    (
        r"^PJRT_Executable_SizeOfGeneratedCodeInBytes:(field|null)",
        "a size that only the compiler knows",
    ),
    (r"^PJRT_Buffer_IsOnCpu:(field|null)", "whether the host can read it is the plugin's word"),
    (r"^PJRT_Buffer_DynamicDimensionIndices:field:dynamic_dim_indices", "NULL is right for none"),
    (r"^PJRT_\w*Attributes:null:num_attributes", "a plugin may have no attributes"),
    (
        r"^PJRT_(Memory_Id|Memory_Kind_Id|Device_LocalHardwareId|DeviceDescription_Id|TopologyDescription_Fingerprint):field",
        "any number is as good",
    ),
    (r"^PJRT_Buffer_CopyRawToHostFuture:field:callback_data", "the plugin's own"),
    (r"^PJRT_TopologyDescription_Create:", "needs a compiler for named topologies"),
    (
        r"^PJRT_\w+:field:(on_)?device_size_in_bytes|:field:bytes_in_use|:field:dst_size|:field:buffer_size",
        "one byte more may be padding",
    ),
    (r"^PJRT_(Error|Event)_Destroy:nothing$", "a leak, which is the host's to bear"),
    (r"^PJRT_\w+_Destroy:nothing$", "a leak"),
    (
        r"^PJRT_\w+:after$",
        (
            "only where the host's struct is longer; the family struct-size/newer covers functions"
            " that only answer"
        ),
    ),
    (r"^PJRT_Error_(Destroy|Message):(error|deaf|once)$", "they return nothing"),
]


def names(library: pathlib.Path) -> list[str]:
    code = f"import ctypes; ctypes.CDLL({str(library)!r}).mutant_list()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.split()


def run(hloscope: pathlib.Path, library: pathlib.Path, plugin: pathlib.Path, mutant: str) -> dict:
    with tempfile.NamedTemporaryFile(prefix="hloscope-mutant-") as mark:
        return run_marked(hloscope, library, plugin, mutant, mark.name)


def run_marked(
    hloscope: pathlib.Path, library: pathlib.Path, plugin: pathlib.Path, mutant: str, mark: str
) -> dict:
    environment = {
        **os.environ,
        "HLOSCOPE_MUTANT_OF": str(plugin),
        "HLOSCOPE_MUTANT": mutant,
        "HLOSCOPE_MUTANT_MARK": mark,
    }
    command = [str(hloscope), "conform", str(library), "--format=json", "--quiet"]
    if mutant.endswith(":late"):
        command += ["--timeout", "1", "--stop-after", "1"]
    else:
        command += ["--stop-after", "1"]
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, check=False, timeout=300
    )
    try:
        answer = json.loads(done.stdout)
    except json.JSONDecodeError:
        answer = {"error": done.stderr}
    marks = set(pathlib.Path(mark).read_text(encoding="utf-8").split())
    has_no_effect = (
        mutant.split(":")[1:2] in (["field"], ["null"])
        and "called" in marks
        and "changed" not in marks
    )
    return {
        "mutant": mutant,
        "code": done.returncode,
        "answer": answer,
        "has_no_effect": has_no_effect,
        "called": "called" in marks,
    }


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="")
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    build = options.build.resolve()
    hloscope, plugin = build / "hloscope", build / "libhloscope_cpu_pjrt.so"
    library = build / "tests/fake_plugin/libhloscope_mutant_pjrt.so"
    whole = run(hloscope, library, plugin, "")
    if whole["code"] != 0:
        print(f"without a fault conform ends with {whole['code']}: {str(whole['answer'])[:500]}")
        return 1
    offered = whole["answer"]["totals"]["pass"]
    stubs = {
        c["id"].rsplit("/", 1)[1]
        for c in whole["answer"]["checks"]
        if c["id"].startswith("struct-size/short/") and c["outcome"] == "not_offered"
    }
    every = [m for m in names(library) if m.split(":")[0] not in stubs and options.only in m]
    equivalent = [m for m in every if any(re.search(pattern, m) for pattern, _ in EQUIVALENT)]
    every = [m for m in every if m not in set(equivalent)]
    random.Random(options.seed).shuffle(every)
    chosen = every[: options.count]
    survivors = []
    without_effect = 0
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for result in pool.map(lambda m: run(hloscope, library, plugin, m), chosen):
            totals = result["answer"].get("totals", {})
            noticed = result["code"] != 0 or totals.get("pass", 0) < offered
            if result["has_no_effect"]:  # the field was 0 already
                without_effect += 1
                continue
            if not noticed:
                survivors.append(result["mutant"])
                print(
                    "not noticed:"
                    f" {result['mutant']}{'' if result['called'] else ' (never called)'}",
                    flush=True,
                )
    counted = len(chosen) - without_effect
    share = 1 - len(survivors) / max(1, counted)
    print(
        f"{counted - len(survivors)} of {counted} mutants are noticed ({100 * share:.1f} %), of"
        f" {len(every)} there are; {len(equivalent)} more cannot be distinguished from the plugin"
    )
    return 0 if share >= 0.95 else 1


if __name__ == "__main__":
    sys.exit(main())
