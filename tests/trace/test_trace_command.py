#!/usr/bin/env python3
"""hloscope trace, tables and export, end to end: the client's own tests run under the tracer, on a
plugin that misbehaves.

usage: test_trace_command.py HLOSCOPE TRACED_PROGRAM [ARGUMENT...]      prints TAP
"""

import json
import os
import re
import signal
import subprocess
import sys
import tempfile

hloscope, program = sys.argv[1], sys.argv[2:]
results = []


def check(name, condition, detail=""):
    results.append(bool(condition))
    print(f"{'ok' if condition else 'not ok'} {len(results)} - {name}")
    if not condition and detail:
        print("\n".join("# " + line for line in str(detail).splitlines()[:20]))


def run(*args, **options):
    return subprocess.run([hloscope, *args], capture_output=True, text=True, timeout=100, **options)


with tempfile.TemporaryDirectory() as directory:
    capture = os.path.join(directory, "client.hsc")
    traced = run("trace", "-o", capture, "--format=json", "--", *program)
    check(
        "the traced program ends as it does untraced",
        traced.returncode == 0,
        traced.stdout + traced.stderr,
    )

    tables = run("tables", capture, "--format=json")
    summary = json.loads(tables.stdout)
    rows = {(row["category"], row["name"]): row for row in summary["rows"]}
    for key in [
        ("compile", "compile"),
        ("execute", "execute"),
        ("execute", "run"),
        ("transfer", "host to device"),
        ("transfer", "device to host"),
        ("wait", "await"),
        ("runtime", "client create"),
    ]:
        check(f"{key[1]} was recorded", key in rows and rows[key]["count"] > 0, tables.stdout)
    for row in summary["rows"]:
        enough = row["count"] >= 2995
        if (row["p99.9"] is not None) != enough:
            check(f"p99.9 of {row['name']} needs 2995 samples", False, row)
    text = run("tables", capture)
    check(
        "percentiles have permission",
        "n/a (needs" in text.stdout and "2995)" in text.stdout,
        text.stdout,
    )
    sql = json.loads(
        run(
            "tables",
            capture,
            "--sql=select category, count(*) as n, sum(dur) as total_ns from events group by 1"
            " order by 1",
            "--format=json",
        ).stdout
    )
    events_of = json.loads(run("tables", capture, "events", "--format=json").stdout)["rows"]
    check(
        "sql counts every event",
        sum(row["n"] for row in sql["rows"]) == len(events_of)
        and sql["columns"][2]["unit"] == "ns",
    )
    slow = json.loads(
        run(
            "tables",
            capture,
            "events",
            "--where=dur > 1000 and kind = 'span'",
            "--sort=dur desc",
            "--format=json",
        ).stdout
    )["rows"]
    expected = sorted(
        (e["dur"] for e in events_of if e["kind"] == "span" and e["dur"] > 1000), reverse=True
    )
    check("where and sort are SQL's", [row["dur"] for row in slow] == expected and expected)
    wrong = run("tables", capture, "events", "--sort=durr")
    check(
        "an unknown column has a near one",
        wrong.returncode == 1 and "did you mean 'dur'" in wrong.stderr,
        wrong.stderr,
    )
    wrong = run("tables", capture, "--sql=select nope from events")
    check(
        "an error of SQL names the tables",
        wrong.returncode == 1 and "host_operators" in wrong.stderr,
        wrong.stderr,
    )
    wrong = run("tables", capture, "--sql=attach 'x.db' as x")
    check(
        "sql reads the capture alone",
        wrong.returncode == 1 and not os.path.exists("x.db"),
        wrong.stderr,
    )

    made = json.loads(run("tables", capture, "executables", "--format=json").stdout)["rows"]
    check(
        "what a compilation gave is kept",
        any(
            row["fingerprint"]
            and os.path.exists(os.path.join(capture, "programs", row["optimized"] or "-"))
            and row["peak memory"]
            for row in made
        ),
        made,
    )
    options = json.loads(
        run(
            "tables",
            capture,
            "--sql=select attributes from events where name = 'compile' and attributes like"
            " '%options=%'",
            "--format=json",
        ).stdout
    )["rows"]
    check(
        "compile options are kept",
        options
        and os.path.exists(
            os.path.join(
                capture, "programs", re.search(r"options=(\S+)", options[0]["attributes"])[1]
            )
        ),
        options[:1],
    )
    small = os.path.join(program[-1], "bench/small.hlo")
    twice = os.path.join(
        directory, "twice.hsc"
    )  # each with a cache of its own, so that both compile
    script = f"for i in 1 2; do HLOSCOPE_CACHE_DIR={directory}/cache$i {hloscope} run {small}; done"
    run("trace", "--no-summary", "-o", twice, "--", "sh", "-c", script)
    kinds = [
        row["kind"]
        for row in json.loads(run("tables", twice, "recompiles", "--format=json").stdout)["rows"]
    ]
    check(
        "a program of an earlier process is reported",
        "process" in kinds and "first" in kinds and "changed" not in kinds,
        kinds,
    )

    # A capture is of one run: what is there already is kept under another name, never mixed.
    def calls(path):
        return len(
            json.loads(run("tables", path, "executions", "--format=json").stdout or '{"rows": []}')[
                "rows"
            ]
        )

    old = os.path.join(directory, "old.hsc")
    first = run("trace", "--no-summary", "-o", old, "--", *program)
    one = calls(old)
    again = run("trace", "--no-summary", "-o", old, "--", *program)
    check(
        "a second run into the same folder is alone there",
        one > 0 and calls(old) == one,
        (one, calls(old)),
    )
    check(
        "the first one is kept beside it, and its name is reported",
        calls(os.path.join(directory, "old.1.hsc")) == one and "old.1.hsc" in again.stderr,
        again.stderr,
    )
    failed = run("trace", "-o", old, "--", "false")
    check(
        "a program that fails shows nobody else's table",
        failed.returncode == 1
        and not failed.stdout.strip()
        and "nothing was recorded" in failed.stderr,
        failed.stdout + failed.stderr,
    )
    said = [line for line in failed.stderr.splitlines() if "was there already" not in line]
    check("and its failure is said first", said and "exit code 1" in said[0], failed.stderr)
    foreign = os.path.join(directory, "old.2.hsc")
    open(os.path.join(foreign, "notes.txt"), "w").close()
    refused = run("trace", "-o", foreign, "--", "true")
    check(
        "a capture among other files is refused",
        refused.returncode == 1 and "notes.txt" in refused.stderr and calls(foreign) == one,
        refused.stderr,
    )
    shared = os.path.join(directory, "shared.hsc")  # recorded by the variable alone, twice
    preload = dict(
        os.environ,
        LD_PRELOAD=os.path.join(
            os.path.dirname(os.path.abspath(hloscope)), "libhloscope_pjrt_tracer.so"
        ),
        HLOSCOPE_OUTPUT_PATH=shared,
    )
    subprocess.run(program, env=preload, capture_output=True)
    one = calls(shared)
    subprocess.run(program, env=preload, capture_output=True)
    mixed = json.loads(run("tables", shared, "executions", "--format=json").stdout)
    check(
        "of two runs in one folder the last one is shown, and the other told",
        one > 0 and len(mixed["rows"]) == one and any("earlier run" in n for n in mixed["notes"]),
        (one, len(mixed["rows"]), mixed["notes"]),
    )
    empty = os.path.join(directory, "empty.hsc")
    os.mkdir(empty)
    nothing = run("tables", empty)
    check(
        "an empty capture is reported",
        nothing.returncode == 1 and "holds no recording" in nothing.stderr,
        nothing.stderr,
    )

    executions = json.loads(run("tables", capture, "executions", "--format=json").stdout)["rows"]
    check(
        "executions add up",
        executions and all(row["total"] == row["run"] + row["wait"] for row in executions),
    )
    check("executions name their executable", any(row["executable"] for row in executions))
    errors = json.loads(run("tables", capture, "recompiles", "--format=json").stdout)["rows"]
    check(
        "failed compilations say why",
        any(row["why"].startswith("no ") or "fail" in row["why"] or row["why"] for row in errors),
    )
    programs = os.listdir(os.path.join(capture, "programs"))
    check("each program is kept once", len(programs) == len(set(programs)) and programs)

    own = os.path.join(directory, "own.hsc")
    small = os.path.join(sys.argv[-1], "bench", "small.hlo")
    made = run(
        "trace",
        "-o",
        own,
        "--no-summary",
        "--",
        hloscope,
        "run",
        small,
        "--device=cpu",
        env=dict(os.environ, HLOSCOPE_CACHE_DIR=directory),
    )
    operators = json.loads(run("tables", own, "operators", "--format=json").stdout)["rows"]
    check(
        "the plugin's own profiler is started and its operators are merged",
        made.returncode == 0 and operators and sum(r["count"] for r in operators) > 10,
        made.stderr + str(operators),
    )
    of_program = json.loads(
        run(
            "tables",
            own,
            "--sql=select count(*) as n from events where category = 'operator' and attributes like"
            " 'executable=_%'",
            "--format=json",
        ).stdout
    )["rows"]
    check("operators name their program", of_program[0]["n"] > 10, of_program)
    made = run(
        "trace",
        "-o",
        os.path.join(directory, "none-of.hsc"),
        "--profile-calls=0",
        "--no-summary",
        "--",
        hloscope,
        "run",
        small,
        "--device=cpu",
    )
    check(
        "--profile-calls=0 starts none",
        made.returncode == 0
        and not os.path.exists(os.path.join(directory, "none-of.hsc", "profiles")),
    )

    once = json.loads(run("top", capture, "--format=jsonl").stdout.split("\n")[0] or "{}")
    check("top names what ran last", once.get("executable"), once)
    limited = run(
        "trace", "--max-compiles=1", "-o", os.path.join(directory, "limited.hsc"), "--", *program
    )
    check(
        "more compilations than are allowed end the program",
        limited.returncode == 1
        and "2, and 1 are allowed" in limited.stderr
        and "--max-compiles" in limited.stderr,
        limited.stderr,
    )

    chrome = os.path.join(directory, "client.chrome.json")
    exported = run("export", capture, "--to=chrome,csv,raw")
    check(
        "exports land beside the capture",
        exported.returncode == 0
        and os.path.exists(chrome)
        and os.path.exists(os.path.join(directory, "client.csv")),
        exported.stderr,
    )
    check(
        "two forms of one extension are two files",
        run(
            "export", capture, "--to=chrome,speedscope,otlp", "-o", directory + "/forms/"
        ).returncode
        == 0
        and sum(len(files) for _, _, files in os.walk(directory + "/forms")) == 3,
        list(os.walk(directory + "/forms")),
    )
    traces = {row["trace_id"] for row in executions}
    check("every execution is a trace of its own", len(traces) > 1, traces)
    events = json.load(open(chrome))["traceEvents"]
    complete = [e for e in events if e["ph"] == "X"]
    check(
        "every chrome slice has a time and a duration",
        complete
        and all(e["dur"] >= 0 and e["ts"] >= 0 and 0 <= e["tid"] < 2**31 for e in complete),
    )
    lanes = {}
    for e in sorted(complete, key=lambda e: (e["ts"], -e["dur"])):
        lanes.setdefault((e["pid"], e["tid"]), []).append(e)
    crossing = 0
    for lane in lanes.values():
        stack = []
        for e in lane:
            while stack and stack[-1] <= e["ts"] + 1e-9:
                stack.pop()
            end = e["ts"] + e["dur"]
            crossing += bool(stack) and end > stack[-1] + 1e-6
            stack.append(end)
    check("slices of a lane nest", crossing == 0, f"{crossing} slices cross")
    again = run("export", capture, "--to=chrome", "-o", "-").stdout
    check("the same capture gives the same bytes", again == open(chrome).read())

    nothing = run("trace", "-o", os.path.join(directory, "none.hsc"), "--", "true")
    check(
        "a program without a plugin is reported so",
        nothing.returncode == 0 and "no PJRT plugin" in nothing.stderr,
        nothing.stderr,
    )
    code = run(
        "trace",
        "-o",
        os.path.join(directory, "code.hsc"),
        "--no-summary",
        "--",
        "sh",
        "-c",
        "exit 7",
    )
    check("the exit code is the program's", code.returncode == 7, code.stderr)
    killed = run(
        "trace",
        "-o",
        os.path.join(directory, "kill.hsc"),
        "--no-summary",
        "--",
        "sh",
        "-c",
        "kill -9 $$",
    )
    check(
        "a kill is reported and becomes 128 + signal",
        killed.returncode == 137 and "signal 9" in killed.stderr,
        killed.stderr,
    )
    # SIGKILL in the midst: calls are in mapped files, and operators in those parts of the profile
    # that were written; the headline counts what the tables list.
    cut = os.path.join(directory, "cut.hsc")
    tracer = subprocess.Popen(
        [hloscope, "trace", "-o", cut, "--", hloscope, "worker"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=dict(os.environ, HLOSCOPE_CACHE_DIR=directory),
    )

    def ask(**job):
        tracer.stdin.write(json.dumps(job) + "\n")
        tracer.stdin.flush()
        return json.loads(tracer.stdout.readline())

    victim = ask(job="hello")["pid"]
    plugin = os.path.join(os.path.dirname(os.path.abspath(hloscope)), "libhloscope_cpu_pjrt.so")
    ask(job="load", plugin=plugin)
    answer = ask(job="run", program=small, records=0, series=300)
    os.kill(victim, signal.SIGKILL)
    said = tracer.communicate(timeout=100)[0].replace("\n", " ")
    made = {
        view: json.loads(run("tables", cut, view, "--format=json").stdout)["rows"]
        for view in ("executions", "executables", "operators")
    }
    calls_made = len(made["executions"])
    check(
        "kill -9: runs are counted once, in the headline as in the tables",
        answer["ok"]
        and calls_made >= 300
        and sum(row["runs"] for row in made["executables"]) == calls_made
        and f"{calls_made} runs of" in said,
        (calls_made, made["executables"], said[:400]),
    )
    by_call = sum(row["measured"].startswith("call") for row in made["executions"])
    check(
        "kill -9: of runs without a recorded end it is not known whether they succeeded",
        sum(row["end unknown"] for row in made["executables"]) == by_call
        and ("not known whether" in said) == (by_call > 0),
        (by_call, made["executables"], said[:400]),
    )
    check(
        "kill -9: the operators of at least half of the runs are there",
        max((row["count"] for row in made["operators"]), default=0) >= calls_made / 2,
        made["operators"],
    )
    missing = run("trace", "-o", os.path.join(directory, "x.hsc"), "--", "no-such-program-here")
    check(
        "a missing program is named",
        missing.returncode == 1 and "no-such-program-here" in missing.stderr,
        missing.stderr,
    )
    unknown = run("tables", capture, "sumary")
    check(
        "an unknown view gets a suggestion",
        unknown.returncode == 2 and re.search("did you mean 'summary'", unknown.stderr),
        unknown.stderr,
    )
    absent = run("tables", os.path.join(directory, "absent.hsc"))
    check(
        "an absent capture is named",
        absent.returncode == 1 and "absent.hsc" in absent.stderr,
        absent.stderr,
    )

print(f"1..{len(results)}")
sys.exit(0 if all(results) else 1)
