#!/usr/bin/env python3
"""stablehlo_cases.py - what becomes of the programs in StableHLO's own tests.

    tools/stablehlo_cases.py build/hloscope path/to/stablehlo [--show] [--run] [FILE-PART...]

Takes the path of a checkout of openxla/stablehlo (nothing of it is kept here). Every function of
every stablehlo/tests/**/*.mlir is made the entry of its module and converted to HLO text, which is
converted once more. A case is
  taken       imported, and its HLO text reads back the same
  refused     bad input by the test itself ("expected-error"), and an error here
  unsupported UNIMPLEMENTED by name: dynamic shapes, quantised types, other dialects, what needs
  more than one device, ...
  lenient     bad input by the test itself, but imported here: what is wrong with it does not matter
              to what it computes, as a rule
  WRONG       refused as bad, though the test takes it; or what was written does not read back
With --run the functions of the interpreter's tests are run on the built-in device, and what they
compare is compared: `equal`, or NUMBERS where it is not.
*.mlir.bc files (portable artifacts of every version) are only read: `container` says how many were.
Exit code 1 when there are WRONG ones."""

import argparse
import collections
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

FUNCTION = re.compile(
    r"(?m)^["
    r' \t]*(func\.func|"func\.func"|"vhlo\.func_v1"|vhlo\.func_v1)(\s+(?:public|private|nested))?\s+@("[^"]*"|[\w$.-]+)'
)


CHECK = re.compile(r'^[ \t]*"?check\.(?:[^:]|:(?!\s*(?:tensor|\()))*:[^\n]*\n', re.M)
TOKEN = re.compile(r'//[^\n]*|"(?:[^"\\\\]|\\\\.)*"|[{}()]')


def end_of_function(text, at):
    """Where the function that starts at `at` ends: after its body, or after its line when it has
    none."""
    depth, parens = 0, 0
    for m in TOKEN.finditer(text, at):
        token = m.group()
        parens += (token == "(") - (token == ")")
        if token in "{}":
            depth += 1 if token == "{" else -1
            # The attributes in "attributes {...} {" and of arguments are braces before the body's.
            if depth == 0 and parens == 0 and not re.match(r"\s*[{>,]", text[m.end() :]):
                return m.end()
    return len(text)


def functions_of(piece):
    """[(name, begin, end)] and the aliases that the piece defines."""
    found, at = [], 0
    for m in FUNCTION.finditer(piece):
        if m.start() < at:
            continue
        at = end_of_function(piece, m.start())
        found.append((m.group(3), m.start(), at, m))
    outside = "".join(
        piece[a:b] + "\n"
        for a, b in zip([0] + [f[2] for f in found], [f[1] for f in found] + [len(piece)])
    )
    aliases, is_open = [], False
    for line in outside.split("\n"):
        if is_open or re.match(r"[#!]\w", line):
            aliases.append(line)
            is_open = "\n".join(aliases).count("<{") > "\n".join(aliases).count("}>")
    return found, "\n".join(aliases)


COMPARED = re.compile(
    r"^[ \t]*check\.(expect_eq_const|expect_almost_eq_const|expect_close_const) (%[\w#]+),"
    r" ((?:dense<[\s\S]*?>|dense<>)) : (tensor<[^>]*>(?:>)?)[^\n]*\n",
    re.M,
)
ALMOST = """  %d{i} = stablehlo.subtract {x}, %c{i} : {t}
  %a{i} = stablehlo.abs %d{i} : {r}
  %s{i} = stablehlo.abs %c{i} : {r}
  %one{i} = stablehlo.constant dense<1.0> : {t}
  %tol{i} = stablehlo.constant dense<{tol}> : {t}
  %w{i} = stablehlo.add %one{i}, %s{i} : {t}
  %m{i} = stablehlo.multiply %w{i}, %tol{i} : {t}
  %near{i} = stablehlo.compare LE, %a{i}, %m{i} : ({t}, {t}) -> {p}
  %same{i} = stablehlo.compare EQ, {x}, %c{i} : ({t}, {t}) -> {p}
  %xn{i} = stablehlo.compare NE, {x}, {x} : ({t}, {t}) -> {p}
  %cn{i} = stablehlo.compare NE, %c{i}, %c{i} : ({t}, {t}) -> {p}
  %nan{i} = stablehlo.and %xn{i}, %cn{i} : {p}
  %or{i} = stablehlo.or %near{i}, %same{i} : {p}
  %ok{i} = stablehlo.or %or{i}, %nan{i} : {p}
  %yes{i} = stablehlo.constant dense<true> : {p}
"""


def compared(hloscope, text, folder):
    """None when the function has nothing to compare in this way, else whether all is as the test
    says, and why not."""
    found = list(COMPARED.finditer(text))
    if (
        not found
        or not re.search(r"@main\(\)", text)
        or "E8M0" in text
        or "tolerance" in text
        or "complex"
        in "".join(m.group(4) for m in found if "almost" in m.group(1) or "close" in m.group(1))
    ):
        return None
    pairs, number = [], -1

    def replace(m):
        nonlocal number
        number += 1
        kind, x, value, tensor = m.groups()
        constant = f"  %c{number} = stablehlo.constant {value} : {tensor}\n"
        if kind == "expect_eq_const":
            pairs.extend([(x, tensor), (f"%c{number}", tensor)])
            return constant
        element = re.search(r"<(?:\d+x)*([A-Za-z]\w*)>", tensor).group(1)
        tolerance = (
            "1.0e-4"
            if element in ("f32", "f64")
            else "2.0e-2"
            if element in ("f16", "bf16")
            else "2.0e-1"
        )
        p = tensor[: -len(element) - 1] + "i1>"
        pairs.extend([(f"%ok{number}", p), (f"%yes{number}", p)])
        return constant + ALMOST.format(i=number, x=x, t=tensor, r=tensor, p=p, tol=tolerance)

    text = COMPARED.sub(replace, text)
    head, tail = text.split("@main()", 1)
    values, types = ", ".join(v for v, _ in pairs), ", ".join(t for _, t in pairs)
    tail, count = re.subn(
        r"(func\.)?return\s*(loc[^\n]*)?\n", f"func.return {values} : {types}\n", tail, count=1
    )
    tail = re.sub(r"^\s*(->\s*\(?[^{]*)?\{", f" -> ({types}) {{", tail, count=1)
    if not count:
        return None
    path = folder / "run.mlir"
    path.write_text(head + "@main()" + CHECK.sub("", tail))
    result = subprocess.run(
        [hloscope, "run", str(path), "--format=json", "-q"],
        capture_output=True,
        text=True,
        errors="replace",
    )
    try:
        outputs = json.loads(result.stdout)["devices"][0]["outputs"]
        digests = [output["digest"] for output in outputs]
    except (ValueError, KeyError, IndexError):
        return False, "it does not run: " + " ".join((result.stderr + result.stdout).split())[:200]
    wrong = [i // 2 for i in range(0, len(digests), 2) if digests[i] != digests[i + 1]]
    return not wrong and len(digests) == len(pairs), f"comparison {wrong}"


def module_of(functions, aliases, piece, index, keep_checks=False):
    """The function and what it calls, as a module whose @main it is."""
    names = {name: i for i, (name, *_) in enumerate(functions)}
    needed, todo = {index}, [index]
    while todo:
        _, begin, end, _ = functions[todo.pop()]
        for name in re.findall(r'@("[^"]*"|[\w$.-]+)', piece[begin:end]):
            if name in names and names[name] not in needed:
                needed.add(names[name])
                todo.append(names[name])
    texts = []
    for i in sorted(needed):
        name, begin, end, m = functions[i]
        # The interpreter's tests compare in the program itself, with operations of another dialect;
        # the numbers are not looked at here.
        text = piece[begin:end]
        if i == index:
            text = (
                piece[begin : m.start(3)] + "@main" + piece[m.end(3) : end]
                if name != "main"
                else text
            )
            text = text.replace("@@main", "@main")
        texts.append(text if keep_checks else CHECK.sub("", text))
    return aliases + "\n" + "\n".join(texts) + "\n"


def convert(hloscope, path, out):
    return subprocess.run(
        [hloscope, "convert", str(path), "-o", str(out), "--to", "hlo", "-q"],
        capture_output=True,
        text=True,
        errors="replace",
    )


def verdict_of(hloscope, text, bad, folder):
    first, second, third = (folder / n for n in ("a.mlir", "b.hlo", "c.hlo"))
    first.write_text(text)
    result = convert(hloscope, first, second)
    reason = " ".join(result.stderr.split()).replace(str(folder) + "/", "")
    if result.returncode < 0:
        return "CRASH", str(result.returncode)
    if result.returncode == 3:
        return "unsupported", reason
    if result.returncode:
        return ("refused" if bad else "WRONG"), reason
    again = convert(hloscope, second, third)
    if again.returncode or second.read_text() != third.read_text():
        return "WRONG", "does not read back: " + " ".join(again.stderr.split())
    return ("lenient" if bad else "taken"), ""


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("hloscope")
    arguments.add_argument("checkout")
    arguments.add_argument("parts", nargs="*")
    arguments.add_argument(
        "--run", action="store_true", help="compare the numbers of the interpreter's tests"
    )
    arguments.add_argument(
        "--show", action="store_true", help="print each case that is WRONG, unsupported or lenient"
    )
    options = arguments.parse_args()
    counts, reasons = collections.Counter(), collections.Counter()
    tests = Path(options.checkout) / "stablehlo" / "tests"
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        for path in sorted(tests.rglob("*.mlir")):
            relative = str(path.relative_to(tests))
            if options.parts and not any(part in relative for part in options.parts):
                continue
            for piece in re.split(r"^// -----.*$", path.read_text(errors="replace"), flags=re.M):
                functions, aliases = functions_of(piece)
                for at, (name, begin, end, _) in enumerate(functions):
                    before = piece[functions[at - 1][2] if at else 0 : begin]
                    bad = "expected-error" in piece[begin:end] or "expected-error" in before
                    text = module_of(functions, aliases, piece, at)
                    verdict, reason = verdict_of(options.hloscope, text, bad, folder)
                    counts[verdict] += 1
                    numbers = (
                        compared(
                            options.hloscope, module_of(functions, aliases, piece, at, True), folder
                        )
                        if options.run and verdict == "taken"
                        else None
                    )
                    if numbers:
                        counts["equal" if numbers[0] else "NUMBERS"] += 1
                        if not numbers[0]:
                            print(f"NUMBERS     {relative} @{name}: {numbers[1]}", flush=True)
                    if verdict == "lenient":
                        expected = re.search(
                            r"expected-error[^{]*\{\{(.*?)\}\}",
                            piece[begin:end] if "expected-error" in piece[begin:end] else before,
                        )
                        reason = expected.group(1) if expected else ""
                    if verdict in ("WRONG", "CRASH", "unsupported", "lenient"):
                        if options.show or verdict == "CRASH":
                            print(f"{verdict:11} {relative} @{name}: {reason[:260]}", flush=True)
                        if verdict == "unsupported":
                            reasons[re.sub(r" -->.*", "", reason)[:100]] += 1
        for path in sorted(tests.rglob("*.mlir.bc")):
            if options.parts and not any(part in str(path) for part in options.parts):
                continue
            result = convert(options.hloscope, path, folder / "out")
            read = result.returncode == 0 or "no function @main" in result.stderr
            bad = "invalid" in path.name
            counts[
                "container" if read else "refused" if bad and result.returncode > 0 else "CONTAINER"
            ] += 1
            if not read and not bad:
                print(
                    f"CONTAINER   {path.relative_to(tests)}:"
                    f" {' '.join(result.stderr.split())[:300]}",
                    flush=True,
                )
    for reason, count in reasons.most_common(40):
        print(f"{count:6}  {reason}")
    print(", ".join(f"{count} {verdict}" for verdict, count in sorted(counts.items())))
    return (
        1 if counts["NUMBERS"] or counts["WRONG"] or counts["CRASH"] or counts["CONTAINER"] else 0
    )


if __name__ == "__main__":
    sys.exit(main())
