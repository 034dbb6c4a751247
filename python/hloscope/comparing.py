"""Two programs, side by side; what the passes did; a report in a notebook.

    import hloscope

    c = hloscope.compare(f, g, x)       # jitted functions with arguments, programs in files,
                                        Lowered
    c.verdict, c.ratio, c.low, c.high   # "faster": the time of g against that of f, with its 95 %
                                        interval
    assert hloscope.faster(g, f, x)     # g is faster than f, beyond what the measurement can
                                        mistake
    assert hloscope.same_numbers(f, g, x)

    hloscope.passes(f, x)               # the document of hloscope passes list
    hloscope.blame(f, x, device=d)      # what is at fault where d gets other numbers, with proof
    hloscope.report(f, x)               # shows itself in a notebook; .save("report.html")

    >>> text = "HloModule m\\nENTRY e { p = f32[8] parameter(0)  ROOT r = f32[8] negate(p) }\\n"
    >>> same_numbers(text, text)
    <holds: 1 output equal>
    >>> fault = blame(text)
    >>> fault.verdict, bool(fault)
    ('nothing', False)
    >>> [pipeline["name"] for pipeline in passes(text)["pipelines"]][:1]
    ['hlo passes']

The programs run on the arguments' own numbers. What has none (a jax.ShapeDtypeStruct, a program in
a file, a function with static arguments) gets numbers made from the seed, the same on every device
and every day.
"""

import array
import json
import math
import os
import subprocess
import tempfile

from .tracing import Error

__all__ = [
    "compare",
    "faster",
    "same_numbers",
    "passes",
    "blame",
    "report",
    "Comparison",
    "Blame",
    "Report",
]


def _command(*arguments, ok=(0,)):
    """The output of the program hloscope; what it says went wrong is raised."""
    from . import _program

    done = subprocess.run(
        [_program.path(), *map(os.fspath, arguments), "--quiet"],  # errors alone on stderr
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode not in ok:
        try:
            error = json.loads(done.stdout)["error"]
            text = error["message"] + (f"\n  hint: {error['hint']}" if error.get("hint") else "")
        except (ValueError, KeyError):
            text = (done.stderr or done.stdout).strip()
        raise Error(text or f"hloscope {arguments[0]} ended with {done.returncode}")
    return done.stdout


def _words(program, arguments, directory, name="program"):
    """The words of a command line for the program and its inputs, which are written below
    `directory`."""
    from . import _arguments

    folder = os.path.join(directory, name)
    os.mkdir(folder)
    path, inputs = _arguments.write(program, arguments, folder)
    return [path, f"--inputs={inputs}"] if inputs else [path]


def _seconds(value):
    for unit, scale in (("s", 1), ("ms", 1e3), ("µs", 1e6)):
        if abs(value) * scale >= 1:
            return f"{value * scale:.3g} {unit}"
    return f"{value * 1e9:.3g} ns"


def _range(value, low, high, words=""):
    return f"{value:.3g}{words}" + ("" if low is None else f" ({low:.3g} to {high:.3g})")


def _rows_html(headline, rows):
    """A sentence and a table of two columns, for notebooks."""
    from html import escape

    cells = "".join(f"<tr><th>{escape(k)}</th><td>{escape(str(v))}</td></tr>" for k, v in rows)
    return f"<p><b>{escape(headline)}</b></p><table>{cells}</table>"


class Comparison:
    """What measuring two programs in turn says of the second against the first."""

    def __init__(self, row, medians, rounds):
        self.verdict, self.ratio, self.low, self.high = (
            row["verdict"],
            row["ratio"],
            row["low"],
            row["high"],
        )
        self.first_seconds, self.second_seconds = medians
        self.rounds, self.more_runs = rounds, row.get("more_runs")

    def __repr__(self):
        return f"<hloscope.Comparison: {self}>"

    def _repr_html_(self):
        return _rows_html(
            str(self),
            [
                ("time of the first", _seconds(self.first_seconds)),
                ("time of the second", _seconds(self.second_seconds)),
                ("its part of the first's", _range(self.ratio, self.low, self.high)),
                ("processes of each", self.rounds),
            ],
        )

    def __str__(self):
        if self.verdict == "faster":  # so there is an interval
            what = _range(1 / self.ratio, 1 / self.high, 1 / self.low, " times faster")
        elif self.verdict == "slower":
            what = _range(self.ratio, self.low, self.high, " times slower")
        else:
            times = _range(self.ratio, self.low, self.high, " times the time")
            why = "" if self.low is not None else "; too few processes for an interval"
            what = f"{self.verdict}, {times}{why}"
        return (
            f"{what}: {_seconds(self.first_seconds)} against {_seconds(self.second_seconds)},"
            f" {self.rounds} processes each, in turn"
        )


def compare(first, second, *arguments, device=None, rounds=6, seed=0, margin=None):
    """Runs both, in turn, `rounds` processes each, and compares the times of a run.

    verdict: "faster" (the second than the first), "slower", "same" or "cannot tell"; ratio, low,
    high: the second's time as a part of the first's, with its 95 % interval over processes: with
    fewer than six rounds there is none, and the verdict is "cannot tell". `margin` is the least
    difference that is claimed (0.05: 5 %); without it what the machine's noise allows.
    """
    samples = {"first": [], "second": []}
    with tempfile.TemporaryDirectory(prefix="hloscope-compare-") as directory:
        files = {
            "first": _words(first, arguments, directory, "first"),
            "second": _words(second, arguments, directory, "second"),
        }
        for turn in range(rounds):
            for name in ("first", "second") if turn % 2 == 0 else ("second", "first"):
                options = [f"--device={device}"] if device else []
                document = json.loads(
                    _command(
                        "run",
                        *files[name],
                        "--format=json",
                        "--no-store",
                        f"--seed={seed}",
                        *options,
                    )
                )
                row = document["devices"][0]
                if row["status"] != "ok" or not (row.get("run") or {}).get("samples"):
                    raise Error(
                        f"the {name} program: {row['status']}:"
                        f" {row.get('message') or 'it was not run'}"
                    )
                samples[name].append(row["run"]["samples"])
        table = os.path.join(directory, "samples.csv")
        with open(table, "w", encoding="utf-8") as file:
            file.write("program,process,time_s\n")
            for name, processes in samples.items():
                for number, times in enumerate(processes):
                    file.writelines(f"{name},{name}{number},{time!r}\n" for time in times)
        options = [] if margin is None else [f"--margin={margin * 100}"]
        said = json.loads(
            _command(
                "stats",
                table,
                "--column=time_s",
                "--by=program",
                "--blocks=process",
                "--unit=s",
                "--baseline=first",
                "--format=json",
                *options,
            )
        )
    medians = {row["name"]: row["median"] for row in said["series"]}
    return Comparison(said["comparisons"][0], (medians["first"], medians["second"]), rounds)


class Claim:
    """True or False, with the reason: what pytest shows of a failed assertion."""

    def __init__(self, holds, reason):
        self.holds, self.reason = bool(holds), reason

    def __bool__(self):
        return self.holds

    def __repr__(self):
        return f"<{'holds' if self.holds else 'does not hold'}: {self.reason}>"


def faster(first, second, *arguments, **options):
    """Whether the first is faster than the second. "same" and "cannot tell" are not faster."""
    comparison = compare(second, first, *arguments, **options)
    return Claim(comparison.verdict == "faster", str(comparison))


def same_numbers(first, second, *arguments, device=None, seed=0, tolerance=1e-5):
    """Whether both give the same numbers: equal, or off by at most `tolerance` of an output's
    largest value; NaN where the other has NaN."""
    with tempfile.TemporaryDirectory(prefix="hloscope-numbers-") as directory:
        found = []
        for name, program in (("first", first), ("second", second)):
            options = [f"--device={device}"] if device else []
            outputs = os.path.join(directory, name + "-outputs")
            text = _command(
                "run",
                *_words(program, arguments, directory, name),
                "--format=json",
                "--no-store",
                "--runs=1",
                f"--seed={seed}",
                f"--save-outputs={outputs}",
                *options,
            )
            row = json.loads(text)["devices"][0]
            if row["status"] != "ok":
                raise Error(f"the {name} program: {row['status']}: {row.get('message')}")
            found.append(row["outputs"])
        if [output["shape"] for output in found[0]] != [output["shape"] for output in found[1]]:
            return Claim(
                False,
                f"outputs are {[o['shape'] for o in found[0]]} and"
                f" {[o['shape'] for o in found[1]]}",
            )
        worst = 0.0
        for number, (a, b) in enumerate(zip(*found)):
            if a["digest"] == b["digest"]:
                continue
            off = _off(a, b)
            if not off <= tolerance:
                return Claim(
                    False,
                    f"output {number} {a['shape']} is off by {off:.3g} of its largest value, at"
                    f" most {tolerance:.3g} is allowed",
                )
            worst = max(worst, off)
    count = f"{len(found[0])} output{'' if len(found[0]) == 1 else 's'}"
    return Claim(
        True, f"{count} {'equal' if worst == 0 else f'within {worst:.3g} of the largest value'}"
    )


_CODES = {
    "f32": "f",
    "f64": "d",
    "s8": "b",
    "s16": "h",
    "s32": "i",
    "s64": "q",
    "u8": "B",
    "u16": "H",
    "u32": "I",
    "u64": "Q",
    "pred": "B",
}  # module array


def _values(output):
    """The numbers of a saved output; of a complex one real and imaginary parts."""
    name = output["shape"].split("[")[0]
    part = {"c64": "f32", "c128": "f64"}.get(name, name)
    if part in _CODES:
        values = array.array(_CODES[part])
        with open(output["file"], "rb") as file:
            values.frombytes(file.read())
        return values
    try:
        import numpy as np

        from .inputs import TYPES
    except ImportError as error:
        raise Error(
            f"outputs of type {name} are compared by numpy and ml_dtypes\n  hint: pip install numpy"
            " ml_dtypes"
        ) from error
    return np.fromfile(output["file"], dtype=TYPES[name]).astype(np.float64).tolist()


def _off(a, b):
    """The largest difference of two outputs as a part of the largest value; infinity where one is
    not a number and the other is."""
    largest = worst = 0.0
    for x, y in zip(_values(a), _values(b)):
        if x == y or (x != x and y != y):
            largest = max(largest, abs(x)) if math.isfinite(x) else largest
        elif math.isfinite(x) and math.isfinite(y):
            largest, worst = max(largest, abs(x), abs(y)), max(worst, abs(x - y))
        else:
            return math.inf
    return worst / largest if worst else 0.0


class Passes(dict):
    """What each compiler pass did: the document of `hloscope passes list --format=json`
    (docs/schemas). A notebook shows those that changed the program."""

    def changed(self):
        """The runs of passes that changed the program, in order, each a dict."""
        return [
            run
            for pipeline in self["pipelines"]
            for run in pipeline["passes"]
            if run["changed"] and not run.get("pipeline")
        ]

    def __str__(self):
        totals = self["totals"]
        return (
            f"{totals['changed']} of {totals['runs']} runs of passes changed"
            f" {os.path.basename(self['program'])} on {self['device']}"
        )

    def __repr__(self):
        return f"<hloscope.Passes: {self}>"

    def _repr_html_(self):
        return _rows_html(
            str(self),
            [
                (
                    run["name"],
                    f"{run.get('instructions_before')} → {run.get('instructions_after')}"
                    " instructions",
                )
                for run in self.changed()
            ],
        )


def passes(program, *arguments, device=None):
    """What each compiler pass did, as Passes."""
    with tempfile.TemporaryDirectory(prefix="hloscope-passes-") as directory:
        options = [f"--device={device}"] if device else []
        return Passes(
            json.loads(
                _command(
                    "passes",
                    "list",
                    _words(program, arguments, directory)[0],
                    "--format=json",
                    *options,
                )
            )
        )


class Blame:
    """What is at fault: true when something is. verdict, culprit (a pass), headline, document
    (that of `hloscope blame --format=json`)."""

    def __init__(self, document):
        self.document = document
        self.verdict, self.culprit = document["verdict"], document["pass"]
        self.headline = document["headline"]

    def __bool__(self):
        return self.verdict not in ("nothing", "unknown")

    def __repr__(self):
        return f"<hloscope.Blame: {self.headline}>"

    def _repr_html_(self):
        rows = [(item["question"], item["answer"]) for item in self.document["evidence"]]
        return _rows_html(self.headline, rows)


def blame(program, *arguments, device=None, symptom=None, seed=0, report=None):
    """What is at fault when a program is wrong, crashes, hangs or is slow on `device`, as
    `hloscope blame` finds it; `symptom` as its option takes it (without one, whatever is seen).
    `report` names a folder for the report to send."""
    with tempfile.TemporaryDirectory(prefix="hloscope-blame-") as directory:
        options = [f"--seed={seed}"]
        options += [f"--device={device}"] if device else []
        options += [f"--symptom={symptom}"] if symptom else []
        options += [f"--output={os.fspath(report)}"] if report else []
        words = _words(program, arguments, directory)
        # 1: something is at fault, 3: it cannot be told what
        text = _command("blame", *words, "--format=json", *options, ok=(0, 1, 3))
    document = json.loads(text)
    if "error" in document:
        raise Error(document["error"]["message"])
    return Blame(document)


class Report:
    """A page of hloscope. A notebook shows it; save(path) writes it."""

    def __init__(self, html):
        self.html = html

    def __repr__(self):
        return f"<hloscope.Report: a page of {len(self.html):,} characters; save(path) writes it>"

    def _repr_html_(self):
        import html

        return (
            f'<iframe srcdoc="{html.escape(self.html, quote=True)}" style="width: 100%; height:'
            ' 700px; border: 0"></iframe>'
        )

    def save(self, path):
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.html)


def report(program, *arguments, device=None):
    """Profiles the program and makes the report page of it."""
    with tempfile.TemporaryDirectory(prefix="hloscope-report-") as directory:
        options = [f"--device={device}"] if device else []
        profile, page = os.path.join(directory, "profile"), os.path.join(directory, "report.html")
        _command("profile", *_words(program, arguments, directory), "-o", profile, *options)
        _command("report", profile, "-o", page)
        with open(page, encoding="utf-8") as file:
            return Report(file.read())
