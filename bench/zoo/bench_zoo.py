"""The zoo on the built-in device beside XLA:CPU, interleaved: run time, processor time, compile
time, and how far from the machine's limit.

  python bench/zoo/bench_zoo.py                               every program of zoo.py: `make
                                                              bench-zoo`
  python bench/zoo/bench_zoo.py types_ scatter_histogram_64   names or beginnings of names
  python bench/zoo/bench_zoo.py --rounds 11 --page docs/ZOO.md --picture docs/zoo.svg
  python bench/zoo/bench_zoo.py --programs bench/zoo_holdout/programs.py --marks holdout --page
  docs/ZOO.md

Needs a Python with JAX (--xla-python, else .venv/bin/python, else this one); it also exports the
programs. Both sides sit in a worker each, as in bench/vs_xla.py, and take turns in random order: a
turn runs a program for about --block-ms. A ratio (hloscope / XLA:CPU) is made from the medians of
one round; what is shown is the median of the rounds with a 95 % bootstrap interval. `processor` is
the ratio of the processor time of all threads of the two workers: on a machine that others use it
says more than the clock. `limit` is the least time by the machine's measured peaks: what the best
known algorithm computes, at the rate for its type (`hloscope devices --calibrate`), bytes of
arguments and results once, at the rate of sums over as many bytes (those that fit a cache are read
from it), the dispatch of a sum of nothing; `share` is limit / run. A share above 1.1 is of no
limit: the row says so, and the last row counts them. `memory` is the ratio of what the workers'
resident sets grew to while each compiled and ran the program once, inputs included, at least a MiB:
measured after the rounds, ours in a worker of its own for each program, XLA:CPU's in one that gives
freed blocks back (--no-memory leaves it out). Pages of files are left out on both sides: libraries
are shared by all processes, and XLA:CPU's worker has met them all after a few programs. So is the
copy of the inputs that our worker keeps beside the device's, to give them to other devices. Sorted
by ratio, the slowest first.
"""

import argparse
import json
import os
import pathlib
import random
import re
import statistics
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

import vs_xla
from vs_xla import (
    ROOT,
    Worker,
    WorkerError,
    geometric_mean,
    machine,
    median_interval,
    text_ratio,
    text_seconds,
    version,
)

# What a worker grows by less than this says nothing of a program: its allocator had it already.
LEAST_GROWTH_BYTES = 1 << 20
# Operations a second beside those in f32, for the limit: what vector registers hold of the type,
# and products of narrow types.
RATES = {"f64": 0.5, "c128": 0.5, "bf16": 2, "s8": 4, "u8": 4}
# Sums of so many bytes say how fast each level of memory is.
LEVELS = [1 << shift for shift in range(19, 29)]
MOST_SHARE = 1.1
BYTES = {
    "pred": 1,
    "s8": 1,
    "u8": 1,
    "bf16": 2,
    "f16": 2,
    "s16": 2,
    "u16": 2,
    "f64": 8,
    "s64": 8,
    "u64": 8,
    "c64": 8,
    "c128": 16,
}


def processor_seconds(pid):
    """Of all threads that live."""
    total = 0
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        try:
            total += int((task / "schedstat").read_text().split()[0])
        except OSError:  # a thread that has just ended
            continue
    return total / 1e9


class Xla:
    name = "xla"

    def __init__(self, python):
        self.python = python
        self.start()

    def start(self):
        self.worker = Worker([self.python, str(HERE / "xla_side.py")])
        self.about = self.ask({"do": "hello"})

    def ask(self, job):
        if self.worker.process.poll() is not None:
            self.start()
        answer = self.worker.ask(job)
        if not answer.pop("ok"):
            raise WorkerError(answer["message"])
        return answer

    def compile(self, row):
        return self.ask({"do": "compile", "program": row["name"]})["seconds"]

    def run(self, row, count):
        return self.ask({"do": "run", "program": row["name"], "count": count})["seconds"]

    def forget(self, row):
        self.ask({"do": "forget", "program": row["name"]})


class Hloscope(vs_xla.HloscopeSide):
    def job(self, row, records, series):
        return {
            "job": "run",
            "program": row["path"],
            "records": records,
            "series": series,
            "fetch": False,
            "inputs": "keep" if series else "first",
            "cache": ["memory"],
        }

    def describe(self, row):
        return self.ask({"job": "describe", "program": row["path"], "cache": ["memory"]})


def turn(side, row, counts, block_seconds):
    if row["name"] not in counts[side.name]:
        first = min(side.run(row, 2))
        counts[side.name][row["name"]] = max(2, min(2000, int(block_seconds / max(first, 1e-7))))
    count, pid = counts[side.name][row["name"]], side.worker.process.pid
    before = processor_seconds(pid)
    seconds = side.run(row, count)
    return {
        "run": statistics.median(seconds),
        "least": min(seconds),
        "processor": (processor_seconds(pid) - before) / count,
    }


def measure(sides, rows, options):
    shuffle, results, counts = random.Random(options.seed), {}, {side.name: {} for side in sides}
    for number, row in enumerate(rows):
        result = {"rounds": [], "failed": {}, "compile": {}}
        live = list(sides)
        for side in sides:
            try:
                result["compile"][side.name] = side.compile(row)
            except WorkerError as error:
                result["failed"][side.name] = str(error)
                live.remove(side)
        for _ in range(options.rounds):
            one = {}
            for side in shuffle.sample(live, len(live)):
                try:
                    one[side.name] = turn(side, row, counts, options.block_ms / 1e3)
                except WorkerError as error:
                    result["failed"][side.name] = str(error)
                    live.remove(side)
            result["rounds"].append(one)
        for side in live:
            if side.name == "hloscope":
                result["about"] = side.describe(row)
            side.forget(row)
        results[row["name"]] = result
        print(
            f"{number + 1}/{len(rows)} {row['name']} {ratio_text(result)}",
            file=sys.stderr,
            flush=True,
        )
    return results


def process_bytes(pid, field):
    for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(field + ":"):
            return int(line.split()[1]) * 1024
    return 0


def peak_memory(make_sides, rows, results):
    """What compiling a program cold and running it once adds to a worker's resident set at most."""
    # Blocks above 128 KiB are mapped, and given back when they are freed: else a program would live
    # in what the one before it left.
    os.environ["MALLOC_MMAP_THRESHOLD_"] = str(1 << 17)
    sides = {side.name: side for side in make_sides()}
    # Compilers' libraries are there before anything is measured.
    small = {"name": "small", "path": str(ROOT / "bench" / "small.hlo")}
    sides["xla"].run(rows[0], 1)
    sides["xla"].forget(rows[0])
    for row in rows:
        for name, side in sides.items():
            if name in results[row["name"]]["failed"]:
                continue
            if name == "hloscope":
                side.worker.close()
                side.start()
                side.run(small, 1)
                side.forget(small)
            pid = side.worker.process.pid
            resident, files = process_bytes(pid, "VmRSS"), process_bytes(pid, "RssFile")
            pathlib.Path(f"/proc/{pid}/clear_refs").write_text("5")  # the peak starts from here
            try:
                side.compile(row)
                side.run(row, 1)
                peak = process_bytes(pid, "VmHWM") - resident
                peak -= max(0, process_bytes(pid, "RssFile") - files)
                if name == "hloscope":
                    peak -= moved_bytes(side_shapes(results[row["name"]]["about"], "inputs"))
                results[row["name"]].setdefault("memory", {})[name] = peak
                side.forget(row)
            except WorkerError as error:
                print(f"{row['name']}: {name}: {error}", file=sys.stderr)
    for side in sides.values():
        side.worker.close()
    del os.environ["MALLOC_MMAP_THRESHOLD_"]


def memory_ratio(memory):
    ours, theirs = (max(memory[side], LEAST_GROWTH_BYTES) for side in ("hloscope", "xla"))
    return ours / theirs


def memory_text(result):
    memory = result.get("memory", {})
    if len(memory) < 2:
        return ""
    return f"{memory_ratio(memory):.2f} ({memory['hloscope'] / 1e6:.0f} MB)"


def memory_summary(values):
    if not values:
        return ""
    above = sum(value > 1 for value in values)
    return f"**{statistics.geometric_mean(max(v, 1e-3) for v in values):.2f}**, above 1: {above}"


def ratios(result, kind):
    return [
        one["hloscope"][kind] / max(one["xla"][kind], 1e-9)
        for one in result["rounds"]
        if len(one) == 2
    ]


def ratio_text(result):
    values, processor = ratios(result, "least"), ratios(result, "processor")
    if not values:
        return f"failed: {result['failed']}"
    ours = statistics.median(one["hloscope"]["least"] for one in result["rounds"] if len(one) == 2)
    return (
        f"least {statistics.median(values):.2f} processor {statistics.median(processor):.2f}"
        f" {text_seconds(ours)}"
    )


def moved_bytes(shapes):
    total = 0
    for kind, dims in re.findall(r"(\w+)\[([\d,]*)\]", shapes):
        size = BYTES.get(kind, 4)
        for extent in filter(None, dims.split(",")):
            size *= int(extent)
        total += size
    return total


def byte_rates(side, folder):
    """[(bytes, bytes/s)], by rising size: the fastest of several sums over each level's bytes,
    without what a sum of nothing takes; and the seconds of that, which are those of a dispatch."""

    def least_seconds(count):
        path = folder / f"sum_{count}.hlo"
        path.write_text(
            "HloModule sum\n\nadd {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n"
            f"  ROOT s = f32[] add(a, b)\n}}\n\nENTRY main {{\n  x = f32[{count}] parameter(0)\n"
            "  z = f32[] constant(0)\n  ROOT r = f32[] reduce(x, z), dimensions={0},"
            " to_apply=add\n}\n"
        )
        row = {"name": path.stem, "path": str(path)}
        side.run(row, 3)
        seconds = min(side.run(row, max(8, min(200, (1 << 27) // count))))
        side.forget(row)
        return seconds

    nothing = least_seconds(16)
    found = [(size, size / max(least_seconds(size // 4) - nothing, size / 1e13)) for size in LEVELS]
    # No level is faster than a smaller one: what looks so was measured at a bad moment.
    for at in range(len(found) - 2, -1, -1):
        found[at] = (found[at][0], max(found[at][1], found[at + 1][1]))
    return found, nothing


def byte_seconds(size, rates):
    """At the rate of the largest level that holds no more than that: what a part in a faster one
    could save is not lost."""
    rate = rates[0][1]
    for level, there in rates:
        if level <= size:
            rate = there
    return size / rate


def side_shapes(about, side):
    """The shapes of its inputs or outputs, as one text."""
    return " ".join(one if isinstance(one, str) else one["shape"] for one in about[side])


def limit(result, peaks):
    """Seconds below which a run cannot come, and what sets that; None where nothing is known."""
    about = result.get("about")
    if not about:
        return None
    inputs, outputs = side_shapes(about, "inputs"), side_shapes(about, "outputs")
    shapes, kinds = f"{inputs} {outputs}", re.findall(r"(\w+)\[", inputs) or ["f32"]
    rate = peaks[0] * RATES.get(max(kinds, key=kinds.count), 1)
    # The compiler may have found that less is to be done.
    flops = max(min(about.get("least_flops") or 0, about.get("flops") or 0), 0)
    return max(
        (flops / rate, "flops"),
        (byte_seconds(moved_bytes(shapes), peaks[1]), "bytes"),
        (peaks[2], "dispatch"),
    )


def table(results, peaks):
    draw, lines, rows, no_limits = random.Random(0), [], [], 0
    for name, result in results.items():
        values = ratios(result, "run")
        if not values:
            lines.append(
                f"| {name} | "
                + "; ".join(
                    f"{side}: {text.splitlines()[0][:150]}"
                    for side, text in result["failed"].items()
                )
                + " |"
            )
            continue
        rows.append((statistics.median(values), name, values, result))
    rows.sort(key=lambda row: -row[0])
    for _, name, values, result in rows:
        middle = {
            side: statistics.median(one[side]["run"] for one in result["rounds"] if len(one) == 2)
            for side in ("xla", "hloscope")
        }
        least = limit(result, peaks)
        share = ""
        if least:
            reached = least[0] / middle["hloscope"]
            share = f"{reached:.0%} of {text_seconds(least[0])} ({least[1]})"
            if reached > MOST_SHARE:
                share, no_limits = f"not a limit: {share}", no_limits + 1
        compiles = result["compile"]
        lines.append(
            f"| {name} | {text_seconds(middle['xla'])} | {text_seconds(middle['hloscope'])} |"
            f" {text_ratio(median_interval(values, draw))} |"
            f" {statistics.median(ratios(result, 'processor')):.2f} |"
            f" {compiles['hloscope'] / compiles['xla']:.2f} | {memory_text(result)} | {share} |"
        )
    head = [
        "| program | XLA:CPU | hloscope | ratio | processor | compile | memory |"
        " share of the limit |",
        "|" + "---|" * 8,
    ]
    if rows:
        mean = geometric_mean([row[2] for row in rows], draw)
        slower = sum(median_interval(row[2], draw)[1] > 1 for row in rows)
        processor = [ratios(row[3], "processor") for row in rows]
        above = sum(statistics.median(values) > 1 for values in processor)
        compiles = [row[3]["compile"]["hloscope"] / row[3]["compile"]["xla"] for row in rows]
        memory = [
            memory_ratio(row[3]["memory"]) for row in rows if len(row[3].get("memory", {})) == 2
        ]
        lines.append(
            f"| **geometric mean of {len(rows)}** | | | **{text_ratio(mean)}** |"
            f" **{text_ratio(geometric_mean(processor, draw))}**, above 1: {above} |"
            f" **{statistics.geometric_mean(compiles):.3f}** | {memory_summary(memory)} | slower"
            f" with the whole interval: {slower}"
            + (f"; not limits: {no_limits}" if no_limits else "")
            + " |"
        )
    return "\n".join(head + lines), [(row[1], row[0]) for row in rows]


def picture(bars):
    """One bar a program, sorted, on a logarithmic axis from 1/64 to 64; the line in the middle is
    XLA:CPU."""
    import math

    width, height, middle = 900, 14, 500
    unit = 380 / math.log(64)
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}"'
        f' height="{height * len(bars) + 30}" font-family="sans-serif" font-size="10">'
    ]
    for number, (name, ratio) in enumerate(bars):
        y, length = 24 + number * height, max(-380.0, min(380.0, math.log(ratio) * unit))
        colour = "#c0392b" if ratio > 1 else "#2471a3"
        out.append(
            f'<rect x="{middle + min(0, length):.1f}" y="{y}" width="{abs(length):.1f}"'
            f' height="{height - 3}" fill="{colour}"/>'
        )
        out.append(f'<text x="4" y="{y + 9}">{name} {ratio:.2f}</text>')
    out.append(
        f'<line x1="{middle}" x2="{middle}" y1="18" y2="{height * len(bars) + 24}" stroke="black"/>'
    )
    out.append(
        f'<text x="{middle}" y="12" text-anchor="middle">hloscope / XLA:CPU = 1; left is'
        " faster</text></svg>"
    )
    return "\n".join(out) + "\n"


def main():
    parser = argparse.ArgumentParser(description="The zoo beside XLA:CPU.")
    parser.add_argument(
        "names", nargs="*", help="programs, or what their names begin with; none means all"
    )
    parser.add_argument(
        "--rounds", type=int, default=5, help="turns of each side for each program (5)"
    )
    parser.add_argument("--block-ms", type=float, default=40, help="running time of a turn (40)")
    parser.add_argument("--no-memory", action="store_true", help="leave the memory column out")
    parser.add_argument("--seed", type=int, default=1, help="of the order of the turns (1)")
    parser.add_argument(
        "--hloscope", default=str(ROOT / "build" / "hloscope"), help="the program to measure"
    )
    parser.add_argument(
        "--plugin", default=str(ROOT / "build" / "libhloscope_cpu_pjrt.so"), help="its device"
    )
    parser.add_argument("--xla-python", help="a Python with JAX")
    parser.add_argument(
        "--programs",
        help="a file that fills zoo.PROGRAMS with others (bench/zoo_holdout/programs.py)",
    )
    parser.add_argument(
        "--folder",
        help=(
            "where the exported programs are, or go (build/zoo, or build/ and the folder of"
            " --programs)"
        ),
    )
    parser.add_argument(
        "--page", help="a Markdown page with the markers MARKS: begin and MARKS: end"
    )
    parser.add_argument("--marks", default="zoo", help="see --page (zoo)")
    parser.add_argument("--picture", help="an SVG file")
    parser.add_argument("--output", default="bench_zoo.json", help="all samples, as JSON")
    options = parser.parse_args()
    venv = ROOT / ".venv" / "bin" / "python"
    python = options.xla_python or (str(venv) if venv.exists() else sys.executable)
    if subprocess.run([python, "-c", "import jax"], stderr=subprocess.DEVNULL).returncode:
        sys.exit(
            f"{python} has no JAX: python3 -m venv .venv && .venv/bin/pip install -r"
            " models/requirements.txt"
        )
    if options.programs:
        os.environ["HLOSCOPE_ZOO"] = str(pathlib.Path(options.programs).resolve())
    name = pathlib.Path(options.programs).resolve().parent.name if options.programs else "zoo"
    folder = pathlib.Path(options.folder or ROOT / "build" / name)
    if not (folder / "programs.json").exists():
        subprocess.run(
            [python, str(HERE / "export.py"), str(folder)],
            check=True,
            stdout=subprocess.DEVNULL,
            env={**os.environ, "JAX_PLATFORMS": "cpu"},
        )
    rows = json.loads((folder / "programs.json").read_text())["programs"]
    rows = [
        {**row, "path": str(folder / row["file"])}
        for row in rows
        if not options.names or any(row["name"].startswith(name) for name in options.names)
    ]
    if not rows:
        parser.error("no such program")
    before, start = machine(), time.time()
    answer = subprocess.run(
        [options.hloscope, "devices", "--calibrate", "--format=json"],
        capture_output=True,
        text=True,
        check=True,
    )
    row = json.loads(answer.stdout)["rows"][0]

    def make_sides():
        return [Xla(python), Hloscope(options.hloscope, options.plugin)]

    sides = make_sides()
    peaks = (row["flop_rate"], *byte_rates(sides[1], folder))
    results = measure(sides, rows, options)
    for side in sides:
        side.worker.close()
    if not options.no_memory:
        peak_memory(make_sides, rows, results)
    text, bars = table(results, peaks)
    text += (
        f"\n\n{before.get('cpu', 'unknown CPU')}, {before['cores']} cores, load"
        f" {before['load_average'][0]:.2f} before and {os.getloadavg()[0]:.2f} after;"
        f" {options.rounds} rounds in {time.time() - start:.0f} s; peaks {peaks[0] / 1e9:.0f}"
        f" GFLOP/s and {peaks[1][0][1] / 1e9:.0f} to {peaks[1][-1][1] / 1e9:.0f} GB/s (sums of"
        f" {LEVELS[0] / 1e6:.1f} to {LEVELS[-1] / 1e6:.0f} MB); {version()}."
    )
    if before["load_average"][0] > vs_xla.BUSY_LOAD * before["cores"]:
        text += (
            " **The machine was busy with other things: these numbers are for orientation only.**"
        )
    print(text)
    if options.page:
        vs_xla.put_into_page(options.page, text, options.marks)
    if options.picture:
        pathlib.Path(options.picture).write_text(picture(bars))
    pathlib.Path(options.output).write_text(
        json.dumps(
            {
                "machine": before,
                "options": vars(options),
                "version": version(),
                "peaks": peaks,
                "programs": results,
            },
            indent=1,
        )
        + "\n"
    )


if __name__ == "__main__":
    main()
