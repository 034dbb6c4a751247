#!/usr/bin/env python3
"""The summary of a data set of captures is that of its captures together.

dataset.py HLOSCOPE        TAP
"""

import json
import pathlib
import subprocess
import sys
import tempfile

HLOSCOPE = str(pathlib.Path(sys.argv[1]).resolve())
MODELS = pathlib.Path(__file__).resolve().parents[2] / "models" / "patterns"


def hloscope(*words: object) -> subprocess.CompletedProcess:
    return subprocess.run([HLOSCOPE, *map(str, words)], capture_output=True, text=True, timeout=120)


def summary(path: pathlib.Path) -> dict:
    return {
        (row["category"], row["name"]): row
        for row in json.loads(hloscope("tables", path, "summary", "--format", "json").stdout)[
            "rows"
        ]
    }


def by_host_and_stats(path: pathlib.Path, together: dict) -> bool:
    total = sum(row["count"] for row in together.values())
    for view in ("hosts", "runs"):
        rows = json.loads(hloscope("tables", path, view, "--format=json").stdout)["rows"]
        if sum(row["count"] for row in rows) != total or len({r[view[:-1]] for r in rows}) < 1:
            return False
    series = json.loads(hloscope("stats", path, "--format=json").stdout)["series"]
    counts: dict = {}
    for (_, name), row in together.items():
        counts[name] = counts.get(name, 0) + row["count"]
    # stats has every name that has a duration, also those of passes and frameworks
    if any({s["name"]: s["count"] for s in series}.get(n) != c for n, c in counts.items()):
        return False
    page = path.parent / "set.html"
    done = hloscope("report", path, "-o", page)
    return done.returncode == 0 and all(
        f"set: {v}" in page.read_text() for v in ("summary", "hosts")
    )


def drawn_numbers(here: pathlib.Path) -> bool:
    """50,000 spans of 0, 1, 2, ... ns: drawn are 8,192 at most, in order, over the whole."""
    try:
        import duckdb
    except ImportError:
        return True
    part = here / "drawn" / "run=1" / "host=a" / "date=2026-01-01"
    part.mkdir(parents=True)
    duckdb.sql(
        "copy (select 'user' as category, 'x' as name, range as duration_ns from range(50000))"
        f" to '{part}/events.parquet' (format parquet, row_group_size 4096)"
    )
    (row,) = json.loads(hloscope("stats", here / "drawn", "--format=json").stdout)["series"]
    return (
        row["drawn_from"] == 50000
        and 4096 <= row["count"] <= 8192
        and abs(row["median"] - 25000) < 500
        and row["min"] < 20
        and row["max"] > 49950
    )


def main() -> int:
    failed = 0
    with tempfile.TemporaryDirectory(prefix="hloscope-dataset-") as name:
        here = pathlib.Path(name)
        each = []
        for i, model in enumerate(("tiny_natural.hlo", "tiny_scan.hlo", "tiny_natural.hlo")):
            assert (
                hloscope(
                    "trace",
                    "-o",
                    here / f"{i}.hsc",
                    "--",
                    HLOSCOPE,
                    "run",
                    MODELS / model,
                    "--runs",
                    30,
                    "-q",
                ).returncode
                == 0
            )
            assert (
                hloscope(
                    "export", here / f"{i}.hsc", "--to=parquet", "-o", f"{here}/set/"
                ).returncode
                == 0
            )
            each.append(summary(here / f"{i}.hsc"))
        together = summary(here / "set")
        keys = set().union(*each)
        wrong = [key for key in keys ^ set(together)]
        for key in keys & set(together):
            rows = [one[key] for one in each if key in one]
            row = together[key]
            wanted = {
                "files": len(rows),
                "count": sum(r["count"] for r in rows),
                "total": sum(r["total"] for r in rows),
                "min": min(r["min"] for r in rows),
                "max": max(r["max"] for r in rows),
            }
            wrong += [
                (key, what, row[what], value)
                for what, value in wanted.items()
                if row[what] != value
            ]
            # of one capture the median is exact: that of the set lies between the least and the
            # most of them, within a bucket
            medians = [r["median"] for r in rows]
            if not 0.98 * min(medians) <= row["median"] <= 1.02 * max(medians):
                wrong.append((key, "median", row["median"], medians))
        print("1..4")
        failed += bool(wrong) or len(keys) < 8
        print(
            "not ok" if wrong or len(keys) < 8 else "ok",
            f"1 - {len(keys)} names: counts, sums, extremes and medians are those of the captures",
        )
        if wrong:
            print("#", str(wrong)[:1500])
        done = hloscope("tables", here / "set", "executions")
        fine = done.returncode == 3 and "docs/queries.md" in done.stderr
        failed += not fine
        print("ok" if fine else "not ok", "2 - other views say where to ask")
        fine = by_host_and_stats(here / "set", together)
        failed += not fine
        print("ok" if fine else "not ok", "3 - by host, run and in stats the sums are the same")
        fine = drawn_numbers(here)
        failed += not fine
        print("ok" if fine else "not ok", "4 - of many numbers stats draws some, spread over all")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
