#!/usr/bin/env python3
"""hloscope.compare and its relatives, on programs of known relation: test_python_compare.py
PYTHON-DIR ROOT"""

import ast
import doctest
import importlib
import inspect
import os
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, sys.argv[1])
import hloscope  # noqa: E402
from hloscope import comparing  # noqa: E402

ROOT = pathlib.Path(sys.argv[2])
SMALL, LARGE = (ROOT / "models/patterns" / f"{name}_natural.hlo" for name in ("tiny", "medium"))
CASES = []


def case(function):
    CASES.append(function)
    return function


def near(number):
    """A program that adds a number to what it is given; all have the same shape."""
    return (
        f"HloModule m\nENTRY e {{\n  p = f32[8]{{0}} parameter(0)\n  c = f32[] constant({number})\n"
        "  b = f32[8]{0} broadcast(c), dimensions={}\n  ROOT r = f32[8]{0} add(p, b)\n}\n"
    )


@case
def the_smaller_program_is_faster():
    for _ in range(5):  # six rounds of a busy machine may have one that is the other way round
        comparison = hloscope.compare(LARGE, SMALL, rounds=6)
        if comparison.verdict == "faster":
            break
    assert (
        comparison.verdict == "faster" and comparison.high < 1 and "times faster" in str(comparison)
    ), comparison
    assert comparison.low <= comparison.ratio <= comparison.high
    assert any(hloscope.faster(SMALL, LARGE, rounds=6) for _ in range(5))
    claim = hloscope.faster(LARGE, SMALL, rounds=6)
    assert not claim and "slower" in repr(claim), claim


@case
def a_program_is_not_faster_than_itself():
    claim = hloscope.faster(SMALL, SMALL, rounds=6, margin=0.5)
    assert not claim, claim


@case
def numbers_are_compared():
    assert hloscope.same_numbers(near(1), near(1))
    assert hloscope.same_numbers(near(1), near(1.000001))
    claim = hloscope.same_numbers(near(1), near(1.5))
    assert not claim and "output 0 f32[8] is off by" in repr(claim), claim
    assert not hloscope.same_numbers(near(1), near("nan"))
    assert not hloscope.same_numbers(near("inf"), near("-inf"))
    assert not hloscope.same_numbers(SMALL, LARGE)  # other shapes


@case
def errors_are_raised_with_the_hint():
    for wrong in (
        lambda: hloscope.compare(SMALL, ROOT / "nowhere.hlo", rounds=1),
        lambda: hloscope.passes(SMALL, device="gpu"),
    ):
        try:
            wrong()
        except hloscope.Error as error:
            assert "nowhere" in str(error) or "did you mean" in str(error), error
        else:
            raise AssertionError("nothing was raised")


@case
def passes_are_a_document():
    document = hloscope.passes(SMALL)
    assert document["totals"]["passes"] > 3 and document["pipelines"][0]["passes"], document
    changed = document.changed()
    assert 0 < len(changed) <= document["totals"]["changed"], changed
    assert repr(document).startswith("<hloscope.Passes: ") and len(repr(document)) < 120, document
    assert changed[0]["name"] in document._repr_html_(), document._repr_html_()


@case
def old_jaxlibs_read_programs_with_stack_frames():
    from hloscope.xla_cpu import module_of, without_frames

    text = pathlib.Path(SMALL).read_text()
    shorter = without_frames(text)
    assert "FileNames" in text and "FileNames" not in shorter and "{file_name_id" not in shorter
    assert [line.split(", metadata")[0] for line in text.splitlines() if " = " in line] == [
        line.split(", metadata")[0] for line in shorter.splitlines() if " = " in line
    ]

    class Old:  # reads as jaxlib 0.4.38 does
        @staticmethod
        def hlo_module_from_text(read):
            if "FileNames" in read:
                raise ValueError("expects '{' at the beginning of instruction list")
            return read

    class device:
        hlo = Old

    assert module_of(text, device) == shorter


@case
def what_a_notebook_shows_is_short():
    run = hloscope.run(SMALL)
    assert "a run on cpu takes" in run._repr_html_() and "digest" in run._repr_html_(), run
    assert "Report: a page of" in repr(hloscope.report(SMALL))


@case
def a_report_shows_itself():
    report = hloscope.report(SMALL)
    assert "<html" in report.html and report._repr_html_().startswith("<iframe srcdoc="), (
        report.html[:100]
    )


@case
def blame_finds_nothing_and_says_why():
    fault = hloscope.blame(near(1))
    assert not fault and fault.verdict == "nothing" and fault.culprit is None, fault
    assert "the reference" in fault._repr_html_() and fault.document["runs"] > 0, fault
    try:
        hloscope.blame(near(1), symptom="nonsense")
    except hloscope.Error as error:
        assert "symptom" in str(error), error
    else:
        raise AssertionError("nothing was raised")


@case
def a_comparison_shows_itself():
    found = hloscope.compare(SMALL, SMALL, rounds=2)
    page = found._repr_html_()
    assert page.count("<tr>") == 4 and "processes" in page, page
    assert found.verdict == "cannot tell" and found.low is None, vars(found)
    assert "too few processes for an interval" in repr(found), found


@case
def answers_name_the_program_and_not_what_was_going_on():
    from hloscope import _arguments

    with tempfile.TemporaryDirectory() as folder:
        for text, name in (
            (near(1), "m"),
            ("// a remark\nmodule @jit_step attributes {} {\n}\n", "jit_step"),
            ("module @.. {\n}\n", "program"),
            (b"ML\xefR\n", "program"),
        ):
            path, _ = _arguments.write(text, (), folder)
            assert os.path.basename(path) == name, (path, name)
    assert "changed m on cpu" in str(hloscope.passes(near(1)))
    try:
        hloscope.report(near(1), device="nowhere")
    except hloscope.Error as error:
        assert str(error).startswith("error: unknown device"), error
    else:
        raise AssertionError("nothing was raised")


@case
def the_examples_of_the_modules_hold():
    found = doctest.testmod(comparing)
    assert found.attempted > 0 and found.failed == 0, found


def stub_is_as(node, there, where):
    """A function of a stub, without types left out, has the parameters of the one that runs."""
    takes = (*node.args.args, node.args.vararg, *node.args.kwonlyargs, node.args.kwarg)
    names = [a for a in takes if a]
    untyped = [a.arg for a in names if not a.annotation and a.arg != "self"]
    assert node.returns and not untyped, (where, node.name, untyped)
    if any("overload" in ast.dump(one) for one in node.decorator_list) or isinstance(
        there, property
    ):
        return
    found = list(inspect.signature(there).parameters)
    if found[-1:] == ["options"] or found[:1] == ["exc"]:  # passed on
        return
    named = [a.arg for a in names]
    assert named == found or found[-1:] == ["exc"], (where, node.name, named, found)


@case
def the_stubs_are_what_is_there():
    folder = pathlib.Path(sys.argv[1]) / "hloscope"
    stubbed = set()
    for name in sorted({"__init__", *hloscope._LAZY.values()}):
        stub = ast.parse((folder / f"{name}.pyi").read_text())
        module = hloscope if name == "__init__" else importlib.import_module(f"hloscope.{name}")
        for node in stub.body:
            if isinstance(node, ast.FunctionDef):
                stub_is_as(node, getattr(module, node.name), name)
            elif isinstance(node, ast.ClassDef) and name != "__init__":
                there = getattr(module, node.name)
                for part in (p for p in node.body if isinstance(p, ast.FunctionDef)):
                    stub_is_as(part, inspect.getattr_static(there, part.name), node.name)
            elif isinstance(node, ast.ImportFrom) and name == "__init__":
                stubbed |= {a.asname for a in node.names}
    assert stubbed == set(hloscope._LAZY), stubbed ^ set(hloscope._LAZY)
    assert (folder / "py.typed").exists()


@case
def pytest_says_why():
    if subprocess.run(
        [sys.executable, "-c", "import pytest"], capture_output=True, check=False
    ).returncode:
        return "no pytest"
    with tempfile.TemporaryDirectory() as folder:
        test = pathlib.Path(folder) / "test_claim.py"
        test.write_text(
            f"import hloscope\ndef test_it():\n    assert hloscope.same_numbers({str(SMALL)!r},"
            f" {str(LARGE)!r})\n"
        )
        command = [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-p",
            "hloscope.pytest_plugin",
            "--hloscope-device=cpu",
            str(test),
        ]
        done = subprocess.run(
            command,
            cwd=folder,
            env={**os.environ, "PYTHONPATH": sys.argv[1]},
            capture_output=True,
            text=True,
            check=False,
        )
    assert done.returncode == 1 and "does not hold: outputs are" in done.stdout, (
        done.stdout + done.stderr
    )
    return None


def main():
    failed = 0
    print(f"1..{len(CASES)}")
    for number, function in enumerate(CASES, 1):
        name = function.__name__.replace("_", " ")
        try:
            skip = function()
            print(f"ok {number} - {name}{f' # SKIP {skip}' if skip else ''}")
        except Exception as error:
            failed += 1
            print(
                f"not ok {number} - {name}\n# "
                + f"{type(error).__name__}: {error}".replace("\n", "\n# ")
            )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
