#!/usr/bin/env python3
"""Captures and data sets that are larger than the memory which reads them: how much of it each
command takes, and how fast it is.

    bench/sweep/big_files.py HLOSCOPE BENCH_TRACE FOLDER [SPANS [LINKS]]

makes a capture of SPANS spans (19,000,000: 1.6 GB) and reads it with `tables`, `report`, `export`;
exports it, puts LINKS links to the Parquet file into folders of as many hosts, and reads those
with `tables`, `report`, `stats`. Exit code 1 when a command fails or takes more than 512 MB of a
capture or 2,000 MB of the data set, or when the data set does not hold LINKS times the capture.
Memory is the largest that the process had (getrusage), seconds are the processor's.
"""

import json
import os
import pathlib
import subprocess
import sys


def run(*words: object, out=subprocess.DEVNULL) -> tuple[str, float, float, float]:
    """Output, user and system seconds, MB at most."""
    process = subprocess.Popen([str(w) for w in words], stdout=out, text=True)
    text = process.stdout.read() if process.stdout else ""
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        sys.exit(f"{' '.join(map(str, words))} ended with status {status}")
    return text, usage.ru_utime, usage.ru_stime, usage.ru_maxrss / 1000


def main() -> int:
    hloscope, bench_trace, folder = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3])
    spans = int(float(sys.argv[4])) if len(sys.argv) > 4 else 19_000_000
    links = int(sys.argv[5]) if len(sys.argv) > 5 else 5
    capture, data_set = folder / "big.hsc", folder / "set"
    folder.mkdir(parents=True, exist_ok=True)
    if not capture.exists():
        run(bench_trace, "make", capture, spans)
    size = sum(f.stat().st_size for f in capture.iterdir())
    failed = False

    def line(what: str, limit: float, of_bytes: float, *words: object) -> None:
        nonlocal failed
        _, user, system, memory = run(hloscope, *words)
        failed |= memory > limit
        print(
            f"| {what} | {memory:.0f} | {user:.1f} | {system:.1f} | {of_bytes / 1e9 / user:.2f} |",
            flush=True,
        )

    print(
        f"{spans:,} spans, {size / 1e9:.2f} GB\n\n| | MB | user s | system s | GB a user second |"
    )
    print("|---|---|---|---|---|")
    for view in (
        "summary executions inferences executables host-operators recompiles memory threads"
    ).split():
        line(f"tables {view}", 512, size, "tables", capture, view, "--limit", 100)
    for form in "chrome perfetto speedscope csv otlp raw".split():
        line(f"export {form}", 512, size, "export", capture, f"--to={form}", "-o", "/dev/stdout")
    line("report", 512, size, "report", capture, "-o", folder / "report.html")
    line("export parquet", 512, size, "export", capture, "--to=parquet", "-o", f"{data_set}/")
    (part,) = data_set.glob("run=*/host=*/date=*/*.parquet")
    run_folder = part.parents[2]
    for i in range(1, links):
        to = run_folder / f"host=other{i}" / part.parent.name
        to.mkdir(parents=True, exist_ok=True)
        (to / part.name).exists() or os.link(part, to / part.name)
    size = links * part.stat().st_size
    print(f"\n{links} hosts, {size / 1e6:.0f} MB of Parquet\n")
    for view in ("summary", "hosts", "runs"):
        line(f"tables {view}", 2000, size, "tables", data_set, view)
    line("report", 2000, size, "report", data_set, "-o", folder / "set.html")
    line("stats by host", 2000, size, "stats", data_set, "--by", "host", "--resamples", 200)
    one, *_ = run(hloscope, "tables", capture, "--format=json", out=subprocess.PIPE)
    all_of_them, *_ = run(hloscope, "tables", data_set, "--format=json", out=subprocess.PIPE)
    count = {r["name"]: r["count"] for r in json.loads(one)["rows"]}
    counted = {r["name"]: r["count"] for r in json.loads(all_of_them)["rows"]}
    same = counted == {name: links * n for name, n in count.items()}
    print(f"\n{sum(counted.values()):,} rows counted{'' if same else ', WRONG'}")
    return int(failed or not same)


if __name__ == "__main__":
    sys.exit(main())
