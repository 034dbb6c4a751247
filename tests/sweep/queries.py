#!/usr/bin/env python3
"""The questions of docs/queries.md, asked of captures and a sweep that are made here: DuckDB,
Polars and Spark must answer alike.

queries.py HLOSCOPE        TAP. HLOSCOPE_SWEEP_PYTHON names a Python that has duckdb, polars and
                           pyarrow, and pyspark for Spark.
"""

import datetime
import importlib
import math
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "queries.md"
PYTHON = os.environ.get("HLOSCOPE_SWEEP_PYTHON", sys.executable)


def missing(*names: str) -> str:
    for name in names:
        try:
            importlib.import_module(name)
        except ImportError:
            return name
    return ""


def questions() -> list[tuple[str, str, str, str]]:
    found = []
    for part in re.split(r"^## ", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]:
        blocks = re.findall(r"```(\w+(?: \w+)?)\n(.*?)```", part, flags=re.DOTALL)
        kinds = dict(blocks)
        found.append(
            (
                part.splitlines()[0],
                kinds["sql"],
                kinds["python"],
                kinds.get("sql spark", kinds["sql"]),
            )
        )
    return found


def plain(value: object) -> object:
    if isinstance(value, float):
        return "nan" if math.isnan(value) else float(f"{value:.9g}")
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return value
    if isinstance(value, datetime.datetime):
        return value.replace(tzinfo=None).isoformat()
    if isinstance(value, datetime.date):
        return value.isoformat()
    return float(f"{float(value):.9g}")  # whole numbers and decimals, whatever their width


def rows_of(rows) -> list[tuple]:
    return [tuple(plain(cell) for cell in row) for row in rows]


def make_data(hloscope: str, here: pathlib.Path) -> None:
    def run(*words: object, **environment: str) -> None:
        done = subprocess.run(
            [hloscope, *map(str, words)],
            capture_output=True,
            text=True,
            # nothing that an earlier run compiled: compiles are asked for
            env=dict(os.environ, HLOSCOPE_CACHE_DIR=str(here / "cache"), **environment),
        )
        if done.returncode:
            raise SystemExit(f"hloscope {words}: {done.stderr}")

    models = ROOT / "models" / "patterns"
    for i, model in enumerate(("tiny_natural.hlo", "tiny_scan.hlo", "tiny_natural.hlo")):
        run(
            "trace",
            "-o",
            here / f"{i}.hsc",
            "--",
            hloscope,
            "run",
            models / model,
            "--runs",
            20 + i,
            "-q",
        )
        run("export", here / f"{i}.hsc", "--to=parquet", "-o", f"{here}/captures/")
    run(
        "sweep",
        "plan",
        "ablate",
        *sorted(models.glob("tiny*.hlo")),
        "--repeats",
        2,
        "-q",
        "-o",
        here / "plan",
    )
    run("sweep", "run", here / "plan", "-q")
    run(
        "sweep", "merge", here / "plan", "--times", "--format=parquet", "-o", here / "sweep.parquet"
    )


def ask(hloscope: str) -> int:
    import duckdb
    import polars as pl

    failed = empty = 0
    asked = questions()
    with tempfile.TemporaryDirectory(prefix="hloscope-queries-") as name:
        here = pathlib.Path(name)
        make_data(hloscope, here)
        captures, table = f"{here}/captures/**/*.parquet", f"{here}/sweep.parquet"
        duck = duckdb.connect()
        duck.execute(
            f"CREATE VIEW events AS SELECT * FROM read_parquet('{captures}', hive_partitioning ="
            " true)"
        )
        duck.execute(f"CREATE VIEW sweep AS SELECT * FROM '{table}'")
        events, sweep = pl.scan_parquet(captures, hive_partitioning=True), pl.scan_parquet(table)
        spark = None
        if not missing("pyspark"):
            from pyspark.sql import SparkSession

            spark = (
                SparkSession.builder.master("local[1]")
                .config("spark.ui.enabled", "false")
                .config("spark.sql.session.timeZone", "UTC")
                .config("spark.sql.shuffle.partitions", "2")
                .getOrCreate()
            )
            spark.sparkContext.setLogLevel("ERROR")
            spark.read.parquet(f"{here}/captures").createOrReplaceTempView("events")
            spark.read.parquet(table).createOrReplaceTempView("sweep")
        print(f"1..{len(asked)}")
        for number, (title, sql, python, spark_sql) in enumerate(asked, 1):
            answers = {"DuckDB": rows_of(duck.execute(sql).fetchall())}
            space = {"pl": pl, "events": events, "sweep": sweep}
            exec(python, space)
            answers["Polars"] = rows_of(space["answer"].collect().rows())
            if spark:
                answers["Spark"] = rows_of(spark.sql(spark_sql).collect())
            right = answers["DuckDB"]
            other = [who for who, rows in answers.items() if rows != right]
            failed += bool(other)
            empty += not right
            print(
                "not ok" if other else "ok",
                number,
                "-",
                title.split(". ", 1)[1],
                f"({len(right)} rows, {len(answers)} engines)",
                flush=True,
            )
            for who in other:
                print(f"# DuckDB {right[:3]}\n# {who} {answers[who][:3]}")
        if empty > 5:
            failed += 1
            print(f"# {empty} questions have no rows to answer with: the data is too thin")
    return 1 if failed else 0


def main() -> int:
    if not os.environ.get("QUERIES_INSIDE"):
        need = "import duckdb, polars, pyarrow"
        if subprocess.run([PYTHON, "-c", need], capture_output=True).returncode:
            print(f"1..0 # SKIP duckdb, polars or pyarrow is not installed for this Python")
            return 0
        inside = dict(os.environ, QUERIES_INSIDE="1")
        return subprocess.run([PYTHON, __file__, *sys.argv[1:]], env=inside).returncode
    return ask(str(pathlib.Path(sys.argv[1]).resolve()))


if __name__ == "__main__":
    sys.exit(main())
