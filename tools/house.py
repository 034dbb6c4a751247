#!/usr/bin/env python3
"""Prints the measures of the house: how dense the pages are, how large the functions, which files
need each other in a circle, which functions nobody calls.

    tools/house.py [BUILD]        BUILD (default: build) holds the compiled objects, for circles and
                                  unused functions
    tools/house.py --check        exit 1 where a measure is worse than its limit

The measures and their limits are the rows of LIMITS. Code lines are neither blank nor comments;
tokens are what a C lexer counts.
"""

import collections
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent

# measure: (what it says, the limit that --check holds, whether larger is better)
LIMITS = {
    "tokens a line": ("tokens a code line", 9.0, False),
    "over 100 columns": ("lines of .c and .h over 100 columns", 0, False),
    "comment share": ("comment lines, of all lines that are not blank (%)", 9.0, True),
    "functions over 25": ("functions with a cyclomatic complexity over 25", 0, False),
    "worst function": ("the largest cyclomatic complexity", 25, False),
    "function length": ("lines of the longest function", 999, False),
    "no purpose": ("files over 200 lines that do not open with what they are for", 0, False),
    "circles": ("pairs of files of one folder that need each other", 999, False),
    "circles to end": ("of these without a reason in CIRCLES (tools/house.py)", 12, False),
    "unused": ("functions that no other object and no test calls", 999, False),
    "could be static": ("functions that only their own file calls", 999, False),
}

# Files that need each other and are to stay so, with the reason; a circle that is not among them is
# one that a small file of what both need would end. Names as `make house` prints them, without
# folders.
CIRCLES = {
    "a message is text in hsc_bytes, and hsc_bytes fails with a status": ["bytes status"],
    "an expression is emitted by emitting its operands, each kind in a file of its own": [
        "emit_complex emit_ops",
        "emit_dot emit_walk",
        "emit_math emit_ops",
    ],
    "a grammar that nests: operations hold regions of operations, attributes hold types and"
    " computations, types hold attributes": [
        "hlo_text hlo_text_attrs",
        "mlir_bytecode_attrs mlir_bytecode_mesh",
        "mlir_bytecode_attrs mlir_bytecode_types",
        "mlir_text mlir_text_ops",
        "mlir_text mlir_text_sdy",
        "mlir_text_attrs mlir_text_sdy",
    ],
    "a region is converted by converting its operations, and an operation by its regions": [
        "sdy_import stablehlo_import",
        "refine_sizes stablehlo_import",
        "stablehlo_import stablehlo_ops",
        "stablehlo_import stablehlo_refine",
        "stablehlo_export stablehlo_export_ops",
    ],
    "an operation is evaluated by evaluating the computations that it calls": [
        "eval eval_control",
        "eval eval_reduce",
    ],
    "an attribute that names a computation is hashed by the computation's fingerprint": [
        "attr fingerprint"
    ],
}
EXCUSED = {pair for pairs in CIRCLES.values() for pair in pairs}

TOKEN = re.compile(
    r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|[A-Za-z_]\w*|\.?\d(?:[eEpP][+-]|[\w.])*|'
    r"->|\+\+|--|<<=|>>=|<<|>>|<=|>=|==|!=|&&|\|\||\.\.\.|[-+*/%&|^]=|##|\S"
)
BRANCH = {"if", "for", "while", "case", "&&", "||", "?"}


def sources() -> list[pathlib.Path]:
    return sorted(p for p in (ROOT / "src").rglob("*") if p.suffix in (".c", ".h", ".inc"))


def split_comments(text: str) -> tuple[str, set[int]]:
    """The text without its comments, and the numbers (from 0) of the lines that hold nothing but a
    comment."""
    code, comments, at, line, line_start = [], set(), 0, 0, 0
    for match in re.finditer(
        r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|//[^\n]*|/\*.*?\*/', text, re.DOTALL
    ):
        piece = match.group(0)
        if piece[0] != "/":
            continue
        code.append(text[at : match.start()])
        line += text.count("\n", line_start, match.start())
        line_start = match.start()
        before = text[text.rfind("\n", 0, match.start()) + 1 : match.start()]
        if not before.strip():
            comments.update(range(line, line + piece.count("\n") + 1))
        code.append("\n" * piece.count("\n"))
        at = match.end()
    code.append(text[at:])
    return "".join(code), comments


def functions(code: str) -> list[tuple[str, int, int]]:
    """Name, lines and cyclomatic complexity of each function: a body that opens in column 0 of
    clang-format's layout."""
    found = []
    for match in re.finditer(
        r"^(?:[A-Za-z_][^;{}#=]*?)\b(\w+)\([^;{}]*\)\s*\{\n(.*?)^\}", code, re.MULTILINE | re.DOTALL
    ):
        tokens = TOKEN.findall(match.group(2))
        found.append(
            (
                match.group(1),
                match.group(0).count("\n") + 1,
                1 + sum(token in BRANCH for token in tokens),
            )
        )
    return found


def symbols(build: pathlib.Path) -> tuple[dict[str, str], dict[str, set[str]], dict[str, set[str]]]:
    """Who defines each global function, what each source file uses, and what tests and other
    programs use."""
    defines, uses, outside = {}, collections.defaultdict(set), collections.defaultdict(set)
    by_stem = {
        str(p.relative_to(ROOT)).replace("/", "_"): str(p.relative_to(ROOT)) for p in sources()
    }
    for entry in sorted(build.rglob("*.o")):
        name = re.sub(r"\.o$", "", entry.name)
        folder = str(entry.relative_to(build).parent.parent)
        source = by_stem.get(f"{folder}_{name}".replace("/", "_")) or by_stem.get(name)
        listing = subprocess.run(
            ["nm", "-g", str(entry)], capture_output=True, text=True, check=False
        ).stdout
        for line in listing.splitlines():
            parts = line.split()
            if source and len(parts) == 3 and parts[1] == "T":
                defines[parts[2]] = source
            elif len(parts) == 2 and parts[0] == "U":
                (uses if source else outside)[source or str(entry)].add(parts[1])
    return defines, uses, outside


def linkage(build: pathlib.Path) -> tuple[list[str], list[str], list[str]]:
    """Circles (pairs of files of one folder), unused functions, functions that could be static."""
    defines, uses, outside = symbols(build)
    needs = collections.defaultdict(set)
    for source, names in uses.items():
        for name in names:
            if name in defines and defines[name] != source:
                needs[source].add(defines[name])
    pairs = sorted(
        {
            tuple(sorted((a, b)))
            for a in needs
            for b in needs[a]
            if a in needs.get(b, ()) and a.split("/")[1] == b.split("/")[1]
        }
    )
    called = set().union(*uses.values()) | (set().union(*outside.values()) if outside else set())
    text = {str(p.relative_to(ROOT)): p.read_text(encoding="utf-8") for p in sources()}
    tables = [
        *(ROOT / "include").rglob("*.h"),
        *(ROOT / "src").rglob("*.def"),
        *(ROOT / "src").rglob("*.map"),
    ]
    elsewhere = "\n".join(p.read_text(encoding="utf-8") for p in tables)
    unused, local = [], []
    for name, source in sorted(defines.items()):
        if name in called or name == "main" or re.search(rf"\b{name}\b", elsewhere):
            continue
        mentions = len(re.findall(rf"\b{name}\b", text.get(source, "")))
        generated = name.startswith(
            ("hsc__pass_", "hsc__cpu_run_", "hsc_cmd_", "hsc__infer_", "hsc__job_", "hsc__PJRT_")
        )
        exported = re.search(
            rf"(?:HSC_EXPORT|visibility\(\"\w+\")[^;{{]*\b{name}\(", text.get(source, "")
        )
        if generated or exported:
            continue
        (unused if mentions <= 1 else local).append(f"{source}: {name}")
    return [f"{a} <-> {b}" for a, b in pairs], unused, local


def is_excused(pair: str) -> bool:
    return " ".join(pathlib.PurePosixPath(name).stem for name in pair.split(" <-> ")) in EXCUSED


def main() -> int:
    arguments = [a for a in sys.argv[1:] if not a.startswith("--")]
    build = ROOT / (arguments[0] if arguments else "build")
    tokens = lines = comments = filled = over = 0
    every, purposeless = [], []
    for path in sources():
        text = path.read_text(encoding="utf-8")
        code, comment_lines = split_comments(text)
        comments += len(comment_lines)
        filled += sum(bool(line.strip()) for line in text.splitlines())
        over += sum(len(line) > 100 for line in text.splitlines())
        body = [line for line in code.splitlines() if line.strip()]
        lines += len(body)
        tokens += sum(len(TOKEN.findall(line)) for line in body)
        every += [
            (complexity, length, f"{path.relative_to(ROOT)}: {name}")
            for name, length, complexity in functions(code)
        ]
        if text.count("\n") > 200 and not text.startswith(f"// {path.name} - "):
            purposeless.append(str(path.relative_to(ROOT)))
    every.sort(reverse=True)
    circles, unused, local = linkage(build) if build.exists() else ([], [], [])
    values = {
        "tokens a line": tokens / lines,
        "over 100 columns": over,
        "comment share": 100 * comments / filled,
        "functions over 25": sum(c > 25 for c, _, _ in every),
        "worst function": every[0][0],
        "function length": max(length for _, length, _ in every),
        "no purpose": len(purposeless),
        "circles": len(circles),
        "circles to end": sum(not is_excused(pair) for pair in circles),
        "unused": len(unused),
        "could be static": len(local),
    }
    bad = 0
    for name, value in values.items():
        says, limit, larger = LIMITS[name]
        broken = value < limit if larger else value > limit
        bad += broken
        shown = f"{value:.2f}" if isinstance(value, float) else str(value)
        print(f"{shown:>8}  {says}{f'; the limit is {limit}' if broken else ''}")
    for title, rows in (
        ("complexity over 25", [f"{c:4} {where}" for c, _, where in every if c > 25]),
        ("circles to end", [pair for pair in circles if not is_excused(pair)]),
        *((f"circles that stay: {why}", pairs) for why, pairs in CIRCLES.items()),
        ("unused", unused),
        ("could be static", local),
        ("no purpose", purposeless),
    ):
        if rows and "--check" not in sys.argv[1:]:
            print(f"\n{title}:")
            print("\n".join(f"  {row}" for row in rows))
    return 1 if bad and "--check" in sys.argv[1:] else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except BrokenPipeError:  # the reader, `head` for one, has seen enough
        sys.stderr.close()
