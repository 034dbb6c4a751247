"""The four big models on the built-in device beside XLA:CPU through JAX: run, compile, peak memory,
processor time; interleaved.

  python bench/models_vs_xla.py                                     all four, five rounds
  python bench/models_vs_xla.py resnet50_train --rounds 9
  python bench/models_vs_xla.py --page docs/BENCHMARKS.md           also puts the tables into the
                                                                    page
  python bench/models_vs_xla.py --torch-python venv/bin/python      also PyTorch's own kernels, for
                                                                    the models in torch_worker.py

A round is, for each side in random order, one run (and in the first --compiles rounds one cold
compilation before it). The sides sit in workers of their own, as in vs_xla.py, which has what is
common. Beside the time on the clock stands the processor time of the worker's threads: on a machine
that others use too it says more. Peak memory is what a worker's resident set grew to during its
first run, from before the program was read.

The second table is the roofline: what the machine can do is measured before and after (`hloscope
devices --calibrate`, the better of the two), and how much of it a run of ours reaches follows from
the flops and the least bytes (arguments and results once) of the program.
"""

import argparse
import json
import os
import pathlib
import random
import statistics
import subprocess
import sys
import time

import vs_xla
from vs_xla import (
    ROOT,
    HloscopeSide,
    PythonSide,
    WorkerError,
    XlaSide,
    machine,
    median_interval,
    text_ratio,
    text_seconds,
    version,
)

MODELS = ["resnet50_forward", "resnet50_train", "laplace_train", "transformer_train"]
TICK = os.sysconf("SC_CLK_TCK")


def processor_seconds(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICK


def memory(pid, field):
    for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(field + ":"):
            return int(line.split()[1]) * 1024
    return 0


def one_run(side, row):
    """Seconds on the clock and of the processor for one run."""
    pid = side.worker.process.pid
    before = processor_seconds(pid)
    seconds = side.run(row, 1)[0]
    return {"run": seconds, "processor": processor_seconds(pid) - before}


def first_run(side, row):
    """Compiles cold, runs once; how much memory that took at most."""
    pid = side.worker.process.pid
    resident = memory(pid, "VmRSS")
    pathlib.Path(f"/proc/{pid}/clear_refs").write_text("5")  # the peak starts from here
    made = {"compile": side.compile(row)}
    side.run(row, 1)
    made["memory"] = memory(pid, "VmHWM") - resident
    return made


def measure(make_sides, rows, options):
    shuffle, results = random.Random(options.seed), {}
    for row in rows:
        # Workers of its own for each model, so that no memory is there from the one before.
        sides, rounds, failed = (
            [
                side
                for side in make_sides()
                if row["name"] in side.about.get("programs", [row["name"]])
            ],
            [],
            {},
        )
        for number in range(options.rounds):
            turn = {}
            for side in shuffle.sample(sides, len(sides)):
                if side.name in failed:
                    continue
                try:
                    made = (
                        first_run(side, row)
                        if number == 0
                        else {"compile": side.compile(row)}
                        if number < options.compiles
                        else {}
                    )
                    if made:
                        side.run(row, 1)  # after a compilation memory and caches are cold
                    turn[side.name] = {**made, **one_run(side, row)}
                except (WorkerError, OSError) as error:
                    failed[side.name] = str(error)
            rounds.append(turn)
            print(
                f"{row['name']} {number + 1}/{options.rounds} "
                + " ".join(
                    f"{name} {one['run'] * 1e3:.0f} ms ({one['processor'] * 1e3:.0f})"
                    for name, one in turn.items()
                ),
                file=sys.stderr,
                flush=True,
            )
        for side in sides:
            side.worker.close()
        results[row["name"]] = {"rounds": rounds, "failed": failed}
    return results


def series(rounds, side, kind):
    return [one[side][kind] for one in rounds if side in one and kind in one[side]]


def ratios(rounds, side):
    """hloscope's run time over a side's, one value a round."""
    return [
        one["hloscope"]["run"] / one[side]["run"]
        for one in rounds
        if side in one and "hloscope" in one
    ]


def table(results, draw):
    lines = [
        (
            "| program | XLA:CPU run | hloscope run | run ratio | PyTorch run | ratio to PyTorch |"
            " processor time | ratio | compile | ratio | peak memory | ratio |"
        ),
        "|" + "---|" * 12,
    ]
    for name, result in results.items():
        rounds = result["rounds"]
        if result["failed"]:
            lines.append(
                f"| {name} | "
                + "; ".join(
                    f"{side}: {text.splitlines()[0][:160]}"
                    for side, text in result["failed"].items()
                )
                + " |"
            )
            continue
        cells = [
            name,
            text_seconds(statistics.median(series(rounds, "xla", "run"))),
            text_seconds(statistics.median(series(rounds, "hloscope", "run"))),
        ]
        cells.append(text_ratio(median_interval(ratios(rounds, "xla"), draw)))
        peer = ratios(rounds, "torch")
        cells += (
            [
                text_seconds(statistics.median(series(rounds, "torch", "run"))),
                text_ratio(median_interval(peer, draw)),
            ]
            if peer
            else ["", ""]
        )
        for kind, show in (
            ("processor", text_seconds),
            ("compile", text_seconds),
            ("memory", lambda value: f"{value / 1e6:.0f} MB"),
        ):
            theirs, ours = (
                statistics.median(series(rounds, "xla", kind)),
                statistics.median(series(rounds, "hloscope", kind)),
            )
            cells += [
                f"{show(theirs)} / {show(ours)}",
                f"{ours / theirs:.2f}" if theirs > 0 else "",
            ]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def calibrate(program):
    """(flop/s, bytes/s) of the machine with all cores, measured now."""
    answer = subprocess.run(
        [program, "devices", "--calibrate", "--format=json"],
        capture_output=True,
        text=True,
        check=True,
    )
    row = json.loads(answer.stdout)["rows"][0]
    return row["flop_rate"], row["byte_rate"]


def leaf_bytes(leaf):
    size = {
        "bool": 1,
        "int8": 1,
        "uint8": 1,
        "bfloat16": 2,
        "float16": 2,
        "int64": 8,
        "uint64": 8,
        "float64": 8,
    }.get(leaf["dtype"], 4)
    for extent in leaf["shape"]:
        size *= extent
    return size


def roofline(results, rows, peaks):
    """The share of the machine's peak that each model reaches, and the time below which it cannot
    come."""
    flop_rate, byte_rate = peaks
    lines = [
        "| program | GFLOP | least bytes | limit | run | GFLOP/s | share of peak | run / limit |",
        "|" + "---|" * 8,
    ]
    for row in rows:
        runs = series(results[row["name"]]["rounds"], "hloscope", "run")
        if not runs:
            continue
        run, moved = (
            statistics.median(runs),
            sum(leaf_bytes(leaf) for leaf in row["arguments"] + row["outputs"]),
        )
        limit = max(row["flops"] / flop_rate, moved / byte_rate)
        lines.append(
            f"| {row['name']} | {row['flops'] / 1e9:.1f} | {moved / 1e6:.0f} MB |"
            f" {text_seconds(limit)} | {text_seconds(run)} | {row['flops'] / run / 1e9:.0f} |"
            f" {row['flops'] / run / flop_rate:.0%} | {run / limit:.1f} |"
        )
    return (
        "\n".join(lines)
        + f"\n\nPeaks measured beside it, all cores: {flop_rate / 1e9:.0f} GFLOP/s in f32 products,"
        f" {byte_rate / 1e9:.1f} GB/s in a sum over 288 MiB."
    )


def main():
    parser = argparse.ArgumentParser(description="The big models: hloscope beside XLA:CPU.")
    parser.add_argument("names", nargs="*", help="models; none means all four")
    parser.add_argument("--rounds", type=int, default=5, help="turns of each side (5)")
    parser.add_argument("--compiles", type=int, default=2, help="rounds that compile, cold (2)")
    parser.add_argument("--seed", type=int, default=1, help="of the order of the turns (1)")
    parser.add_argument(
        "--hloscope", default=str(ROOT / "build" / "hloscope"), help="the program to measure"
    )
    parser.add_argument(
        "--plugin", default=str(ROOT / "build" / "libhloscope_cpu_pjrt.so"), help="its device"
    )
    parser.add_argument(
        "--page",
        help="a Markdown page with the markers models_vs_xla: begin and models_vs_xla: end",
    )
    parser.add_argument("--xla-python", help="a Python with JAX")
    parser.add_argument(
        "--torch-python",
        help="a Python with PyTorch; its kernels run beside, for the models of torch_worker.py",
    )
    parser.add_argument("--output", default="models_vs_xla.json", help="all samples, as JSON")
    options = parser.parse_args()

    rows = {
        row["name"]: row
        for row in json.loads((ROOT / "models" / "manifest.json").read_text())["programs"]
    }
    names = options.names or MODELS
    if unknown := set(names) - set(rows):
        parser.error("no such program: " + ", ".join(sorted(unknown)))
    venv = ROOT / ".venv" / "bin" / "python"
    python = options.xla_python or (str(venv) if venv.exists() else sys.executable)
    if subprocess.run([python, "-c", "import jax"], stderr=subprocess.DEVNULL).returncode:
        sys.exit(
            f"{python} has no JAX: python3 -m venv .venv && .venv/bin/pip install -r"
            " models/requirements.txt"
        )
    chosen = [rows[name] for name in names]
    before, start, first_peaks = machine(), time.time(), calibrate(options.hloscope)

    def sides():
        peers = [PythonSide("torch", options.torch_python)] if options.torch_python else []
        return [XlaSide(python), HloscopeSide(options.hloscope, options.plugin), *peers]

    results = measure(sides, chosen, options)
    peaks = [max(pair) for pair in zip(first_peaks, calibrate(options.hloscope))]
    text = table(results, random.Random(0)) + "\n\n" + roofline(results, chosen, peaks)
    text += (
        f"\n\n{before.get('cpu', 'unknown CPU')}, {before['cores']} cores, load"
        f" {before['load_average'][0]:.2f} before and {os.getloadavg()[0]:.2f} after;"
        f" {options.rounds} rounds in {time.time() - start:.0f} s; {version()}."
    )
    if before["load_average"][0] > vs_xla.BUSY_LOAD * before["cores"]:
        text += (
            " **The machine was busy with other things: times on the clock are for orientation"
            " only; processor time says more.**"
        )
    print(text)
    if options.page:
        vs_xla.put_into_page(options.page, text, "models_vs_xla")
    pathlib.Path(options.output).write_text(
        json.dumps(
            {
                "machine": before,
                "options": vars(options),
                "version": version(),
                "programs": results,
            },
            indent=1,
        )
        + "\n"
    )


if __name__ == "__main__":
    main()
