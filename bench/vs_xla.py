"""hloscope's built-in device beside XLA:CPU through JAX: compile time and run time of the same
programs, in the same run.

  python bench/vs_xla.py                                   the 32 programs of the pattern analysis
  python bench/vs_xla.py --all                             also ResNet-50, Laplace and the
                                                           transformer
  python bench/vs_xla.py tiny_scan mlp_natural --rounds 20
  python bench/vs_xla.py --only xla                        XLA:CPU alone
  python bench/vs_xla.py --page docs/BENCHMARKS.md         also puts the table into the page

XLA:CPU needs a Python with JAX: --xla-python, else .venv/bin/python when it is there, else the
Python that runs this (models/requirements.txt says what to install). Both sides sit in a worker
process of their own that stays for the whole run and times inside. For every program the sides take
turns in blocks, in random order: a block compiles once, cold, and then runs the program for about
--block-ms. What is compared is each round's pair of medians, so that a slow moment of the machine
hits both. Ratios are hloscope / XLA:CPU (below 1: hloscope is faster), with 95 % intervals from a
bootstrap over rounds; the last line has geometric means over programs. Writes Markdown to standard
output and everything to --output.
"""

import argparse
import json
import math
import os
import pathlib
import platform
import random
import statistics
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
BOOTSTRAP_COUNT = 2000
BUSY_LOAD = 0.5  # processes that want to run, for each core, before the first measurement


class WorkerError(Exception):
    """What a worker says of a program that it cannot compile or run."""


class Worker:
    """A child process that answers one JSON line with one JSON line."""

    def __init__(self, argv, env=None, answers_on=None):
        self.argv = argv
        read_end, write_end = os.pipe() if answers_on is not None else (None, None)
        actions = {}
        if answers_on is not None:
            # The child's own standard output may be written to by libraries: answers come on a
            # descriptor of their own.
            actions = {
                "pass_fds": [answers_on],
                "preexec_fn": lambda: os.dup2(write_end, answers_on),
            }
            os.set_inheritable(write_end, True)
        self.process = subprocess.Popen(
            argv,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL if answers_on is not None else subprocess.PIPE,
            text=True,
            env={**os.environ, **(env or {})},
            **actions,
        )
        self.answers = os.fdopen(read_end, "r") if answers_on is not None else self.process.stdout
        if write_end is not None:
            os.close(write_end)

    def ask(self, job):
        self.process.stdin.write(json.dumps(job) + "\n")
        self.process.stdin.flush()
        line = self.answers.readline()
        if not line:
            code = self.process.wait()
            raise WorkerError(
                f"the worker was ended by signal {-code}"
                if code < 0
                else f"the worker exited with {code}"
            )
        return json.loads(line)

    def close(self):
        self.process.stdin.close()
        self.process.wait()


class PythonSide:
    """A worker in Python: XLA:CPU (xla_worker.py) or PyTorch (torch_worker.py)."""

    def __init__(self, name, python):
        self.name = name
        self.worker = Worker([python, str(ROOT / "bench" / f"{name}_worker.py")])
        self.about = self.ask({"do": "hello"})

    def ask(self, job):
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


class XlaSide(PythonSide):
    def __init__(self, python):
        super().__init__("xla", python)

    def run_direct(self, row, count):
        return self.ask({"do": "run", "program": row["name"], "count": count, "direct": True})[
            "seconds"
        ]


class HloscopeSide:
    """`hloscope worker`: the built-in device through its plugin. Each compilation has a client of
    its own, so that no kernel is there yet."""

    name = "hloscope"

    def __init__(self, program, plugin):
        self.program, self.plugin = program, plugin
        self.start()

    def start(self):
        self.worker = Worker([self.program, "worker"], answers_on=3)
        self.about = self.ask({"job": "hello"})
        self.ask({"job": "load", "plugin": self.plugin})

    def ask(self, job):
        if self.worker.process.poll() is not None:  # the last program took it along
            self.start()
        answer = self.worker.ask(job)
        if not answer.pop("ok"):
            error = answer["error"]
            raise WorkerError(
                f"{error['code']}: {error['message']}"
                + (f" (while {error['step']})" if error.get("step") else "")
            )
        return answer

    def job(self, row, records, series):
        """`dependent`: as often as the pattern says, each run fed with the last one's result, a
        sync after each."""
        runs = row["runs"]
        feed = (
            [[0, len(row["arguments"]) - 1]] if runs > 1 else []
        )  # pairs of output leaf, input leaf
        return {
            "job": "run",
            "program": str(ROOT / "models" / row["hlo"]),
            "executions": runs,
            "syncs": runs,
            "feed": feed,
            "records": records,
            "series": series,
            "fetch": False,
            "inputs": "keep" if series else "first",
            "cache": ["memory"],
        }

    def compile(self, row):
        self.ask({"job": "reinit"})
        return self.ask(self.job(row, 1, 0))["records"][0]["compile_ns"] / 1e9

    def run(self, row, count):
        return [
            nanoseconds / 1e9
            for nanoseconds in self.ask(self.job(row, 0, count))["series"]["run_ns"]
        ]

    def forget(self, row):
        self.ask({"job": "drop"})


def block(side, row, block_seconds, counts):
    """One turn of one side: {"compile": s, "run": [s, ...]}"""
    made = {"compile": side.compile(row)}
    for kind in ("run", "run_direct"):
        run = getattr(side, kind, None)
        if not run:
            continue
        key = (side.name, row["name"], kind)
        if key not in counts:
            run(row, 3)
            counts[key] = max(3, min(2000, int(block_seconds / max(min(run(row, 3)), 1e-7))))
        run(row, min(counts[key], 10))  # after a compilation the caches are cold
        made[kind] = run(row, counts[key])
    return made


def percentiles(values):
    """The middle 95 % of bootstrap values."""
    ordered = sorted(values)
    return ordered[int(0.025 * len(ordered))], ordered[int(0.975 * len(ordered))]


def median_interval(values, draw):
    """(median, low, high) by bootstrap."""
    return statistics.median(values), *percentiles(
        statistics.median(draw.choices(values, k=len(values))) for _ in range(BOOTSTRAP_COUNT)
    )


def compare(rounds, kind, xla_kind):
    """Ratios of one program: one value per round, hloscope / XLA:CPU."""
    return [
        statistics.median(as_list(one["hloscope"][kind]))
        / statistics.median(as_list(one["xla"][xla_kind]))
        for one in rounds
    ]


def as_list(value):
    return value if isinstance(value, list) else [value]


def geometric_mean(ratios_by_program, draw):
    """exp of the mean over programs of the log of each program's median ratio; rounds are drawn
    anew for each program."""

    def mean(choose):
        return math.exp(
            statistics.fmean(
                math.log(statistics.median(choose(ratios))) for ratios in ratios_by_program
            )
        )

    return mean(lambda ratios: ratios), *percentiles(
        mean(lambda ratios: draw.choices(ratios, k=len(ratios))) for _ in range(BOOTSTRAP_COUNT)
    )


def machine():
    """What the numbers depend on, as far as it can be read."""
    info = {
        "platform": platform.platform(),
        "python": platform.python_version(),
        "cores": len(os.sched_getaffinity(0)),
        "load_average": os.getloadavg(),
    }
    try:
        for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                info["cpu"] = line.split(":", 1)[1].strip()
                break
    except OSError:
        pass
    return info


def text_seconds(value):
    return f"{value * 1e3:.2f} ms" if value >= 1e-3 else f"{value * 1e6:.1f} µs"


def text_number(value):
    """Three digits."""
    return f"{value:.{max(0, 2 - math.floor(math.log10(value)))}f}" if value > 0 else "0"


def text_ratio(triple):
    return f"{text_number(triple[0])} ({text_number(triple[1])}–{text_number(triple[2])})"


def put_into_page(path, text, name="vs_xla"):
    """Replaces what is between the page's markers."""
    page = pathlib.Path(path)
    begin, end = f"<!-- {name}: begin -->\n", f"<!-- {name}: end -->"
    old = page.read_text()
    if begin not in old or end not in old:
        raise SystemExit(f"{path}: no markers {begin.strip()} and {end}")
    head, rest = old.split(begin, 1)
    page.write_text(head + begin + text + "\n" + end + rest.split(end, 1)[1])


def version():
    """The commit that was measured, when this is a clone."""
    found = subprocess.run(
        ["git", "-C", str(ROOT), "describe", "--always", "--dirty"], capture_output=True, text=True
    )
    return found.stdout.strip() or "unknown commit"


def measure(sides, rows, options):
    """{program: {"rounds": [{side: block}], "failed": {side: message}}}; progress on standard
    error."""
    shuffle, counts, results = random.Random(options.seed), {}, {}
    for number, row in enumerate(rows):
        rounds, failed = [], {}
        for _ in range(options.rounds):
            turn = {}
            for side in shuffle.sample(sides, len(sides)):
                if side.name in failed:
                    continue
                try:
                    turn[side.name] = block(side, row, options.block_ms / 1e3, counts)
                except WorkerError as error:
                    failed[side.name] = str(error)
            rounds.append(turn)
            if failed and not turn:
                break
        for side in sides:
            if side.name not in failed:
                side.forget(row)
        results[row["name"]] = {"rounds": rounds, "failed": failed}
        print(f"{number + 1}/{len(rows)} {row['name']} {failed or ''}", file=sys.stderr, flush=True)
    return results


def middles(rounds, side, kind):
    return statistics.median(statistics.median(as_list(one[side][kind])) for one in rounds)


def table(results, both):
    """Markdown, and the ratios as data."""
    columns = ["program", "XLA:CPU compile", "XLA:CPU run", "without JAX"]
    columns += (
        ["hloscope compile", "hloscope run", "compile ratio", "run ratio", "ratio without JAX"]
        if both
        else []
    )
    lines = ["| " + " | ".join(columns) + " |", "|" + "---|" * len(columns)]
    draw, ratios, collected = random.Random(0), {}, {"compile": [], "run": [], "run_direct": []}
    for name, result in results.items():
        rounds = result["rounds"]
        if "xla" in result["failed"]:
            lines.append(f"| {name} | {result['failed']['xla']} |")
            continue
        cells = [name] + [
            text_seconds(middles(rounds, "xla", kind)) for kind in ("compile", "run", "run_direct")
        ]
        if both and "hloscope" in result["failed"]:
            cells += [result["failed"]["hloscope"].splitlines()[0][:120], "", "", "", ""]
        elif both:
            cells += [
                text_seconds(middles(rounds, "hloscope", kind)) for kind in ("compile", "run")
            ]
            ratios[name] = {}
            for kind, own, other in (
                ("compile", "compile", "compile"),
                ("run", "run", "run"),
                ("run_direct", "run", "run_direct"),
            ):
                values = compare(rounds, own, other)
                ratios[name][kind] = median_interval(values, draw)
                collected[kind].append(values)
                cells.append(text_ratio(ratios[name][kind]))
        lines.append("| " + " | ".join(cells) + " |")
    means = {kind: geometric_mean(values, draw) for kind, values in collected.items() if values}
    if means:
        lines.append(
            f"| **geometric mean of {len(collected['run'])}** |"
            + " |" * 5
            + " "
            + " | ".join(
                f"**{text_ratio(means[kind])}**" for kind in ("compile", "run", "run_direct")
            )
            + " |"
        )
    return "\n".join(lines), ratios, means


def main():
    parser = argparse.ArgumentParser(
        description="hloscope beside XLA:CPU: compile and run time of the same programs."
    )
    parser.add_argument(
        "names", nargs="*", help="programs; none means the 32 of the pattern analysis"
    )
    parser.add_argument("--all", action="store_true", help="also the four models")
    parser.add_argument("--only", choices=("xla", "hloscope"), help="one side alone")
    parser.add_argument(
        "--rounds", type=int, default=9, help="turns of each side for each program (9)"
    )
    parser.add_argument("--block-ms", type=float, default=60, help="running time of a turn (60)")
    parser.add_argument("--seed", type=int, default=1, help="of the order of the turns (1)")
    parser.add_argument(
        "--hloscope", default=str(ROOT / "build" / "hloscope"), help="the program to measure"
    )
    parser.add_argument(
        "--plugin", default=str(ROOT / "build" / "libhloscope_cpu_pjrt.so"), help="its device"
    )
    parser.add_argument(
        "--page", help="a Markdown page with the markers vs_xla: begin and vs_xla: end"
    )
    parser.add_argument("--xla-python", help="a Python with JAX")
    parser.add_argument("--output", default="vs_xla.json", help="all samples and ratios, as JSON")
    options = parser.parse_args()

    rows = json.loads((ROOT / "models" / "manifest.json").read_text())["programs"]
    known = {row["name"] for row in rows}
    if unknown := set(options.names) - known:
        parser.error("no such program: " + ", ".join(sorted(unknown)))
    rows = [
        row
        for row in rows
        if (
            row["name"] in options.names
            if options.names
            else options.all or row["pattern"] in ("natural", "dependent", "vmap", "scan")
        )
    ]

    before = machine()
    venv = ROOT / ".venv" / "bin" / "python"
    python = options.xla_python or (str(venv) if venv.exists() else sys.executable)
    if (
        options.only != "hloscope"
        and subprocess.run([python, "-c", "import jax"], stderr=subprocess.DEVNULL).returncode
    ):
        sys.exit(
            f"{python} has no JAX: python3 -m venv .venv && .venv/bin/pip install -r"
            " models/requirements.txt"
        )
    sides = ([XlaSide(python)] if options.only != "hloscope" else []) + (
        [HloscopeSide(options.hloscope, options.plugin)] if options.only != "xla" else []
    )
    start = time.time()
    results = measure(sides, rows, options)
    text, ratios, means = table(results, both=len(sides) == 2)
    text += (
        f"\n\n{before.get('cpu', 'unknown CPU')}, {before['cores']} cores, load"
        f" {before['load_average'][0]:.2f} before and {os.getloadavg()[0]:.2f} after;"
        f" {options.rounds} rounds in {time.time() - start:.0f} s; {version()}."
    )
    if before["load_average"][0] > BUSY_LOAD * before["cores"]:
        text += (
            " **The machine was busy with other things: these numbers are for orientation only.**"
        )
    print(text)
    if options.page:
        put_into_page(options.page, text)
    pathlib.Path(options.output).write_text(
        json.dumps(
            {
                "machine": before,
                "load_average_after": os.getloadavg(),
                "options": vars(options),
                "version": version(),
                "sides": {side.name: side.about for side in sides},
                "ratios": ratios,
                "geometric_means": means,
                "programs": results,
            },
            indent=1,
        )
        + "\n"
    )


if __name__ == "__main__":
    main()
