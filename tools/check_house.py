#!/usr/bin/env python3
"""Checks the house rules that a program can check: libraries do not print or exit, banned
functions, tabs, blanks at line ends, leftovers, environment variables without a row, links that
lead nowhere, a ?: in a ?:, functions of many branches, files that do not say how to read them."""

import io
import pathlib
import re
import sys
import tokenize

import house

ROOT = pathlib.Path(__file__).resolve().parent.parent
SOURCES = ("src", "include", "tests", "bench", "tools", "scripts", "docs")
SUFFIXES = {".c", ".h", ".def", ".py", ".md", ".build"}
SKIPPED = ("tests/golden", "tests/fuzz/corpus", "tests/conformance")

# pattern, what to do instead, where it counts
RULES = [
    (r"\t", "a tab: use spaces", "all"),
    (r"(?<! ) +$| {3,}$", "blanks at the end of a line", "all"),
    (r"\b(?:TODO|FIXME|XXX)\b", "a mark without an issue: finish it or write an issue", "code"),
    (
        r"(?<![\w.>])(?:strcpy|strcat|sprintf|vsprintf|gets|strtok|gmtime|localtime|ctime|asctime|strncpy|strncat)\s*\(",
        "a banned function: see CONTRIBUTING.md",
        "src",
    ),
    (
        r"python.*\"-m\"",
        (
            "a module run with -m may come from the current directory: HSC_PYTHON_MODULE"
            " (base/process/python.h)"
        ),
        "strings",
    ),
    (
        r"\b__builtin_cpu_(?:supports|is|init)\b",
        "the runtime library of the linker answers it, and not all know: hsc_cpu_has",
        "src",
    ),
    (
        r"\b(?:pthread_cond_timedwait|pthread_mutex_timedlock|sem_timedwait)\s*\((?!changed, lock, moment)",
        "the time of day may jump: hsc_cond_wait_until (base/core/timed_wait.h)",
        "src",
    ),
    (
        r"(?<![\w.>])(?:exit|_exit|abort)\s*\(",
        "libraries never end the process: return a status",
        "library",
    ),
    (
        r"(?<![\w.>])(?:printf|puts|putchar|perror)\s*\(|\bfprintf\s*\(\s*std(?:out|err)|\bfputs\s*\([^;]*std(?:out|err)\)",
        "libraries never print: return a status or use hsc_log",
        "library",
    ),
]
MAX_LINE = 100
MAX_FILE_KIB = 512
LARGEST_COMPLEXITY = 25


def applies(kind: str, path: pathlib.PurePosixPath) -> bool:
    text = str(path)
    is_code = path.suffix in (".c", ".h", ".def")
    return {
        "all": True,
        "code": is_code,
        "src": is_code and text.startswith("src/"),
        "strings": is_code and text.startswith("src/"),
        "library": is_code and text.startswith("src/") and not text.startswith("src/cli/"),
    }[kind]


def rules_for(path: pathlib.PurePosixPath, text: str) -> list[tuple[str, str, str]]:
    """The rules that count for a file and are found somewhere in it: few files go line by line."""
    return [
        (pattern, advice, kind)
        for pattern, advice, kind in RULES
        if applies(kind, path)
        and not (kind == "all" and path.suffix == ".md" and "blanks" in advice)
        and re.search(pattern, text, re.MULTILINE)
    ]


def without_comments(line: str) -> str:
    return re.sub(r'"(?:\\.|[^"\\])*"', '""', line).split("//")[0]


def undocumented_variables() -> list[str]:
    rows = set(
        re.findall(
            r"^VARIABLE\((\w+),",
            (ROOT / "src/base/core/variables.def").read_text(encoding="utf-8"),
            re.MULTILINE,
        )
    )
    found = []
    for path in sorted((ROOT / "src").rglob("*.c")):
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            for name in re.findall(r'getenv\("(HLOSCOPE_\w+)"\)', line):
                if name not in rows:
                    found.append(
                        f"{path.relative_to(ROOT)}:{number}: {name} has no row in"
                        " src/base/core/variables.def"
                    )
    return found


NAMED = re.compile(
    r"`((?:src|tools|tests|docs|models|bench|packaging|knowledge|targets|examples|include)/[\w./-]+)`"
)


def missing_names(line: str) -> list[str]:
    """Files of this tree that a page names and that are not there. A name may lack its end
    (`models/resnet50_train` is two files); one with capital letters stands for any."""
    return [
        name
        for name in NAMED.findall(line)
        if not re.search(r"/[A-Z]{2,}", name)
        and not (ROOT / name).exists()
        and not any(ROOT.glob(name.rstrip("/") + "*"))
    ]


def broken_links() -> list[str]:
    """Links between the pages must lead somewhere, and so must the files that they name and those
    that the build and the tests are described with."""
    found = []
    pages = [
        *ROOT.glob("*.md"),
        *(ROOT / "docs").rglob("*.md"),
        *(ROOT / "models").rglob("*.md"),
        *(ROOT / "tests" / "conformance").rglob("*.md"),
    ]
    for path in sorted(pages):
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", line):
                if not re.match(r"[a-z]+:", target) and not (path.parent / target).exists():
                    found.append(f"{path.relative_to(ROOT)}:{number}: there is no {target}")
            if path.parent.name == "howto":  # names what is to be written
                continue
            for name in missing_names(line):
                found.append(f"{path.relative_to(ROOT)}:{number}: there is no {name}")
    return found + [
        f"{name} is missing"
        for name in ("README.md", "LICENSE", "CONTRIBUTING.md", "TESTING.md")
        if not (ROOT / name).exists()
    ]


CALL = re.compile(r"\b(?!if\b|for\b|while\b|switch\b|return\b|sizeof\b)[a-z_]\w*\(")
BUILDS = re.compile(r"\bhsc_build_\w+\(|\b[a-z_]\w*\(&?(?:b|m|f|body|condition|m->b|f->b)[,)]")
BUILDS_NOTHING = re.compile(
    r"\b(?:arena_of|hsc_dims_copy|hsc_shape_\w+|hsc_module_scalar_reducer)\([^()]*(?:\([^()]*\)[^()]*)*\)"
)


def arguments(text: str, at: int) -> list[str]:
    """The arguments of a call whose parenthesis ends before `at`."""
    found = []
    depth = 0
    begin = at
    for i in range(at, len(text)):
        if text[i] in "([{":
            depth += 1
        elif text[i] in ")]}":
            if depth == 0:
                return [*found, text[begin:i]]
            depth -= 1
        elif text[i] == "," and depth == 0:
            found.append(text[begin:i])
            begin = i + 1
    return found


def order_of_arguments() -> list[str]:
    """Calls with two arguments that make instructions: in which order is the compiler's choice, and
    the program would depend on it."""
    problems = []
    for path in sorted(
        [*(ROOT / "src/passes").rglob("*.c"), *(ROOT / "src/transform").rglob("*.c")]
    ):
        text = re.sub(
            r"//[^\n]*", lambda match: " " * len(match[0]), path.read_text(encoding="utf-8")
        )
        for call in CALL.finditer(text):
            makers = [
                part
                for part in arguments(text, call.end())
                if BUILDS.search(BUILDS_NOTHING.sub("", part))
            ]
            if len(makers) > 1:
                problems.append(
                    f"{path.relative_to(ROOT)}:{text.count(chr(10), 0, call.start()) + 1}: two"
                    " arguments make instructions, in an order that the compiler chooses: one of"
                    " them into a variable first"
                )
    return problems


def nested_conditionals() -> list[str]:
    """A ?: inside of another one, in the condition or in a branch, is read from the inside out: an
    if, a table or a function says it in order."""
    found = []
    for path in house.sources():
        code, _ = house.split_comments(path.read_text(encoding="utf-8"))
        depth = 0
        open_at = []  # depths of parentheses at which a ?: is not over
        for match in house.TOKEN.finditer(code):
            token = match.group(0)
            if token in ";{}":
                open_at = []
                depth = 0
            elif token in "([":
                depth += 1
            elif token in ")]":
                depth -= 1
                open_at = [at for at in open_at if at <= depth]
            elif token == ",":
                open_at = [at for at in open_at if at != depth]
            elif token == "?":
                if open_at:
                    line = code.count("\n", 0, match.start()) + 1
                    found.append(
                        f"{path.relative_to(ROOT)}:{line}: a ?: in a ?:; if, a table or a function"
                    )
                open_at.append(depth)
    return found


def complex_functions() -> list[str]:
    """What has more branches than one can hold in mind."""
    return [
        f"{path.relative_to(ROOT)}: {name} has a complexity of {complexity}, at most"
        f" {LARGEST_COMPLEXITY}: parts that have a name of their own become functions"
        for path in house.sources()
        for name, _, complexity in house.functions(
            house.split_comments(path.read_text(encoding="utf-8"))[0]
        )
        if complexity > LARGEST_COMPLEXITY
    ]


def openings() -> list[str]:
    """A file of more than 200 lines begins with what it is for, and one of more than 500 with how
    to read it: three lines at least."""
    found = []
    for path in house.sources():
        lines = path.read_text(encoding="utf-8").splitlines()
        opening = next((n for n, line in enumerate(lines) if not line.startswith("//")), len(lines))
        relative = path.relative_to(ROOT)
        if len(lines) > 200 and not lines[0].startswith(f"// {path.name} - "):
            found.append(f"{relative}:1: begin with '// {path.name} - ' and what the file is for")
        elif len(lines) > 500 and opening < 3:
            found.append(f"{relative}:1: {len(lines)} lines, and nothing on how to read them")
    return found


def long_python_lines(path: pathlib.Path) -> set[int]:
    """Lines over the limit, but for those that a string makes so (HLO and JavaScript inside of
    Python). Not in models/: the lines of those scripts are named by the programs made from them."""
    text = path.read_text(encoding="utf-8")
    long = {n for n, line in enumerate(text.splitlines(), 1) if len(line) > MAX_LINE}
    if not long or path.is_relative_to(ROOT / "models"):
        return set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.STRING or tokenize.tok_name[token.type].startswith("FSTRING"):
            long -= set(range(token.start[0], token.end[0] + 1))
    return long


def main() -> int:
    bad = 0
    for problem in broken_links():
        print(problem)
        bad += 1
    for problem in (
        undocumented_variables()
        + order_of_arguments()
        + nested_conditionals()
        + complex_functions()
        + openings()
    ):
        print(problem)
        bad += 1
    for top in SOURCES:
        for path in sorted((ROOT / top).rglob("*")):
            relative = pathlib.PurePosixPath(path.relative_to(ROOT).as_posix())
            if (
                path.suffix not in SUFFIXES
                or str(relative).startswith(SKIPPED)
                or not path.is_file()
                or str(relative) == "tools/check_house.py"
            ):
                continue
            if path.stat().st_size > MAX_FILE_KIB * 1024:
                print(f"{relative}: over {MAX_FILE_KIB} KiB")
                bad += 1
                continue
            text = path.read_text(encoding="utf-8")
            too_long_python = long_python_lines(path) if relative.suffix == ".py" else set()
            rules = rules_for(relative, text)
            for number, line in enumerate(text.splitlines(), 1):
                for pattern, advice, kind in rules:
                    seen = line if kind in ("all", "code", "strings") else without_comments(line)
                    if re.search(pattern, seen):
                        print(f"{relative}:{number}: {advice}")
                        bad += 1
                if len(line) > MAX_LINE and (
                    relative.suffix in (".c", ".h") or number in too_long_python
                ):
                    print(f"{relative}:{number}: {len(line)} columns, at most {MAX_LINE}")
                    bad += 1
    if not bad:
        print("the house rules hold")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
