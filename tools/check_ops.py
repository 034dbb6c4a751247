#!/usr/bin/env python3
"""Every operation of src/hlo/ir/ops.def has its place wherever operations have one, or a row in
tests/op_coverage.txt that says why not; no row is left over.

    tools/check_ops.py            exit code 1 and a line for each problem
    tools/check_ops.py --list     what is missing where, as rows of that file

Places: `evaluator` src/hlo/eval; `device` an emitter, a thunk or a pass of the built-in device;
`stablehlo` stablehlo_ops.def and src/formats/stablehlo; `cost` what XLA counts for it
(tests/conformance/hlo/costs.txt; elementwise ones have the default rule); `values` a case of
tests/conformance/ops or a unit test.
"""

import gzip
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
EXCEPTIONS = ROOT / "tests" / "op_coverage.txt"
PLACES = {
    "evaluator": ("src/hlo/eval/*.c", "src/hlo/eval/*.inc"),
    "device": ("src/cpu/**/*.c", "src/cpu/**/*.def", "src/cpu/**/*.h", "src/passes/**/*.c"),
    "stablehlo": ("src/formats/stablehlo/*", "src/formats/mlir/stablehlo_ops.def"),
    "cost": ("tests/conformance/hlo/costs.txt",),
    "values": (
        "tests/conformance/ops/*.gz",
        "tests/unit/*.c",
        "tests/unit/*.h",
        "tests/unit/*.def",
    ),
}


def read(path: pathlib.Path) -> str:
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rt", encoding="utf-8", errors="replace") as file:
        return file.read()


def missing() -> list[tuple[str, str]]:
    rows = re.findall(
        r'^OP\((\w+),\s*"([^"]+)",\s*\w+,\s*([\w|]+)',
        read(ROOT / "src/hlo/ir/ops.def"),
        re.MULTILINE,
    )
    found = []
    for place, patterns in PLACES.items():
        text = "\n".join(
            read(path)
            for pattern in patterns
            for path in sorted(ROOT.glob(pattern))
            if path.is_file()
        )
        names = set(re.findall(r"\b[A-Z][A-Z0-9_]+\b", text.replace("HSC_OP_", " ")))
        called = set(re.findall(r"([a-z][a-z0-9-]*)\(", text))
        for name, op, traits in rows:
            has_default = (
                place == "cost"
                and "ELEMENTWISE" in traits
                or place == "device"
                and "ALIAS" in traits
            )
            if not has_default and name not in names and op not in called and f'"{op}"' not in text:
                found.append((op, place))
    return found


def main() -> int:
    gaps = missing()
    if "--list" in sys.argv:
        for op, place in gaps:
            print(f"{op:<28} {place:<10}")
        return 0
    problems = []
    excused = {}
    for number, line in enumerate(read(EXCEPTIONS).splitlines(), 1):
        if not line or line.startswith("#"):
            continue
        parts = line.split(None, 2)
        if len(parts) < 3 or parts[1] not in PLACES:
            problems.append(
                f"tests/op_coverage.txt:{number}: a row is an operation, one of"
                f" {', '.join(PLACES)}, and the reason"
            )
            continue
        excused[(parts[0], parts[1])] = number
    problems += [
        f"{op}: nothing for it in {place} ({', '.join(PLACES[place])}); build it, or say in"
        " tests/op_coverage.txt why not"
        for op, place in gaps
        if (op, place) not in excused
    ]
    problems += [
        f"tests/op_coverage.txt:{number}: {op} has its place in {place} now"
        for (op, place), number in excused.items()
        if (op, place) not in gaps
    ]
    for problem in problems:
        print(problem, file=sys.stderr)
    if not problems:
        print(f"every operation has its place or a reason ({len(excused)} reasons)")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
