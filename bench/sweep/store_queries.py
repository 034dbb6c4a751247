#!/usr/bin/env python3
"""Queries over the files of bench_store: SQLite by itself, DuckDB over the Parquet part (where
Python has it).

store_queries.py FOLDER
"""

import pathlib
import sqlite3
import sys
import time

SQLITE = {
    "outcomes": "SELECT status, count(*) FROM task GROUP BY status",
    "one task": (
        "SELECT detail FROM task WHERE experiment = 1 AND key = (SELECT key FROM task WHERE id ="
        " 5000)"
    ),
    "slowest ten": (
        "SELECT key, json_extract(detail, '$.took_s') AS took FROM task ORDER BY took DESC LIMIT 10"
    ),
}
DUCKDB = {
    "outcomes": "SELECT outcome, count(*) FROM part GROUP BY outcome",
    "one task": "SELECT * FROM part WHERE task = (SELECT task FROM part LIMIT 1 OFFSET 5000)",
    "slowest ten": "SELECT task, took_s FROM part ORDER BY took_s DESC LIMIT 10",
    "distinct programs by host": "SELECT host, count(DISTINCT fingerprint) FROM part GROUP BY host",
}


def timed(name: str, what: str, query) -> None:
    start = time.perf_counter()
    rows = query()
    print(f"{name:8} {what:26} {time.perf_counter() - start:8.3f} s  {len(rows)} rows")


def main() -> int:
    folder = pathlib.Path(sys.argv[1])
    store = sqlite3.connect(folder / "store.sqlite")
    for what, text in SQLITE.items():
        timed("sqlite", what, lambda text=text: store.execute(text).fetchall())
    try:
        import duckdb
    except ImportError:
        print("duckdb is not here: pip install duckdb")
        return 0
    part = duckdb.connect()
    part.execute(f"CREATE VIEW part AS SELECT * FROM '{folder / 'part.parquet'}'")
    for what, text in DUCKDB.items():
        timed("duckdb", what, lambda text=text: part.execute(text).fetchall())
    return 0


if __name__ == "__main__":
    sys.exit(main())
