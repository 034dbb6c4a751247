#!/usr/bin/env python3
"""What recording costs: the recorder beside LTTng-UST and a clock loop, the tracer in front of a
plugin, exports of a large capture.

    bench/trace_costs.py BUILD [--jax PYTHON] [--spans 1000000] [--rounds 5]      prints Markdown

BUILD holds hloscope, the plugin, the tracer, bench/. LTTng-UST is measured where bench_lttng was
built (Debian's liblttng-ust-dev) and lttng-tools are installed; a call and `tiny` under JAX where
PYTHON has JAX. Everything that is compared takes turns; times are processor time unless said.
"""

import argparse
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

FIGURE = re.compile(r"^(.*?)\s+([\d.]+)\s+\(([\d.]+) \.\. ([\d.]+)\) (\w+)$")


def figures(text):
    return {
        m[1].strip(): (float(m[2]), float(m[3]), float(m[4]), m[5])
        for m in map(FIGURE.match, text.splitlines())
        if m
    }


def run(command, **options):
    return subprocess.run(
        [str(c) for c in command], capture_output=True, text=True, check=True, **options
    ).stdout


# ---- the recorder --------------------------------------------------------------------------------


class Lttng:
    """A session that has the events of bench_lttng on; None where it cannot be made."""

    def __init__(self, program, scratch):
        self.program, self.daemon = program, None
        self.environment = dict(os.environ, LTTNG_HOME=str(scratch), HOME=str(scratch))
        if subprocess.run(["lttng", "list"], capture_output=True, env=self.environment).returncode:
            self.daemon = subprocess.Popen(
                ["lttng-sessiond"],
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env=self.environment,
            )
            time.sleep(2)
        for command in (
            ["create", "hloscope-bench", f"--output={scratch}/lttng"],
            ["enable-channel", "-u", "big", "--num-subbuf=4", "--subbuf-size=16M"],
            ["enable-event", "-u", "-c", "big", "hloscope_bench:*"],
            ["start"],
        ):
            run(["lttng", *command], env=self.environment)

    def measure(self):
        return figures(run([self.program], env=self.environment))

    def close(self):
        subprocess.run(
            ["lttng", "destroy", "hloscope-bench"], capture_output=True, env=self.environment
        )
        if self.daemon:
            self.daemon.terminate()
            self.daemon.wait()


def recorder(build, rounds, scratch):
    print("### The recorder\n\n| what | median ns | least batch median | most |\n|---|---|---|---|")
    lttng, samples = None, {}
    if (build / "bench/bench_lttng").exists() and shutil.which("lttng-sessiond"):
        try:
            lttng = Lttng(build / "bench/bench_lttng", scratch)
        except (subprocess.CalledProcessError, OSError) as error:
            print(f"LTTng-UST: no session: {getattr(error, 'stderr', error)}", file=sys.stderr)
    for _ in range(rounds):
        for name, row in figures(run([build / "bench/bench_trace", "record"])).items():
            samples.setdefault(name, []).append(row[0])
        for name, row in (lttng.measure() if lttng else {}).items():
            samples.setdefault(name, []).append(row[0])
    if lttng:
        lttng.close()
    for name, medians in samples.items():
        print(
            f"| {name} | {statistics.median(medians):.1f} | {min(medians):.1f} |"
            f" {max(medians):.1f} |"
        )
    if not lttng:
        print("\nLTTng-UST was not there.")


# ---- the tracer ----------------------------------------------------------------------------------


def tracer(build, rounds, scratch):
    print(
        "\n### One PJRT call through the tracer\n\n| call | straight ns | traced ns | added ns | 10"
        " to 90 % of the batches |\n|---|---|---|---|---|"
    )
    samples = {}
    for _ in range(rounds):
        for line in run(
            [
                build / "bench/bench_tracer_calls",
                build / "libhloscope_cpu_pjrt.so",
                build / "libhloscope_pjrt_tracer.so",
            ]
        ).splitlines():
            name, *numbers = re.match(
                r"^(.*?)\s+([\d.]+)\s+([\d.]+)\s+added\s+([-\d.]+)\s+\(([-\d.]+) \.\."
                r" ([-\d.]+)\) ns$",
                line,
            ).groups()
            samples.setdefault(name, []).append([float(n) for n in numbers])
    for name, rows in samples.items():
        plain, traced, added, low, high = (statistics.median(column) for column in zip(*rows))
        print(f"| {name} | {plain:.0f} | {traced:.0f} | {added:.0f} | {low:.0f} to {high:.0f} |")


# A tiny jitted function. Traced, batches with recording on and off take turns in the same process:
# what differs is the tracer alone.
TINY = """
import os, statistics, subprocess, sys, time, jax
import jax.numpy as jnp
@jax.jit
def tiny(x, w, b):
    return jnp.maximum(x @ w + b, 0)
x, w, b = jnp.ones((8, 16)), jnp.ones((16, 16)), jnp.ones(16)
def batch(calls):
    start = time.process_time()
    for _ in range(calls): y = tiny(x, w, b)
    y.block_until_ready()
    return (time.process_time() - start) / calls * 1e6
def switch(how):
    if len(sys.argv) > 1: subprocess.run([sys.argv[1], "trace", f"--pid={os.getpid()}", how], check=True, stderr=subprocess.DEVNULL)
batch(4000)   # the plugin's profiler has ended by then
on, off = [], []
for i in range(60):
    for values, how in ((on, "--resume"), (off, "--pause"))[::1 if i % 2 else -1]:
        switch(how)
        batch(200)
        values.append(batch(1500))
print(statistics.median(on), statistics.median(off), statistics.median(a / b for a, b in zip(on, off)))
"""


def jax(build, python, rounds, scratch):
    print(
        "\n### A jitted function of a few microseconds under JAX on the built-in device\n\n| | µs a"
        " call |\n|---|---|"
    )
    root = pathlib.Path(__file__).resolve().parent.parent / "python"
    environment = dict(
        os.environ, PYTHONPATH=str(root), HLOSCOPE_LIBRARY_DIR=str(build), JAX_PLATFORMS="hloscope"
    )
    samples = {"alone": [], "traced": [], "traced, recording paused": [], "ratio": []}
    for _ in range(rounds):
        samples["alone"].append(float(run([python, "-c", TINY], env=environment).split()[-3]))
        on, off, ratio = run(
            [
                build / "hloscope",
                "trace",
                "--no-summary",
                "-o",
                f"{scratch}/tiny.hsc",
                "--",
                python,
                "-c",
                TINY,
                build / "hloscope",
            ],
            env=environment,
        ).split()[-3:]
        for name, value in (("traced", on), ("traced, recording paused", off), ("ratio", ratio)):
            samples[name].append(float(value))
    ratios = samples.pop("ratio")
    for name, values in samples.items():
        print(
            f"| {name} | {statistics.median(values):.2f} ({min(values):.2f} .. {max(values):.2f}) |"
        )
    print(
        f"\nRecording adds {100 * (statistics.median(ratios) - 1):.1f} %"
        f" ({100 * (min(ratios) - 1):.1f} to {100 * (max(ratios) - 1):.1f}): batches that take"
        " turns in one process."
    )


# ---- exports -------------------------------------------------------------------------------------


def measured(command):
    start = time.monotonic()
    child = subprocess.Popen(
        [str(c) for c in command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise SystemExit(f"{command}: exit code {child.returncode}")
    return time.monotonic() - start, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def exports(build, spans, rounds, scratch):
    capture = scratch / "big.hsc"
    run([build / "bench/bench_trace", "make", capture, spans])
    size = sum(f.stat().st_blocks * 512 for f in capture.iterdir()) / 1e6
    print(
        f"\n### A capture of {spans:,} spans ({size:.0f} MB)\n\n| what | CPU s | wall s, best |"
        " peak MiB | of the capture |\n|---|---|---|---|---|"
    )
    cases = {
        f"export --to={form}": [
            build / "hloscope",
            "export",
            capture,
            f"--to={form}",
            "-o",
            scratch / f"big.{form}",
        ]
        for form in ("chrome", "parquet", "perfetto", "csv")
    }
    cases |= {
        f"tables {view}": [build / "hloscope", "tables", capture, view, "--format=json"]
        for view in ("summary", "executions", "operators")
    }
    samples = {name: [] for name in cases}
    for _ in range(rounds):
        for name, command in cases.items():
            samples[name].append(measured(command))
    for name, rows in samples.items():
        peak = max(r[2] for r in rows)
        print(
            f"| {name} | {min(r[1] for r in rows):.2f} | {min(r[0] for r in rows):.2f} | {peak:.0f}"
            f" | {peak * 1.048576 / size:.1f}x |"
        )


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--jax", default=os.environ.get("HLOSCOPE_PYTHON"))
    parser.add_argument("--spans", type=int, default=1000000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", default="recorder,tracer,jax,exports")
    options = parser.parse_args()
    build, only = options.build.resolve(), options.only.split(",")
    print(
        f"load {os.getloadavg()[0]:.1f} at the start, {os.cpu_count()} cores, {options.rounds}"
        " rounds\n"
    )
    with tempfile.TemporaryDirectory(prefix="hloscope-bench-") as directory:
        scratch = pathlib.Path(directory)
        if "recorder" in only:
            recorder(build, options.rounds, scratch)
        if "tracer" in only:
            tracer(build, options.rounds, scratch)
        if "jax" in only and options.jax:
            jax(build, options.jax, options.rounds, scratch)
        if "exports" in only:
            exports(build, options.spans, options.rounds, scratch)


main()
