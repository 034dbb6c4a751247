"""Bad input of `stats` and `report`: mixed versions, an empty capture, NaN and infinities, markup
and escapes in names, 10,000 passes, a single sample.

    test_bad_input.py HLOSCOPE SOURCE_ROOT

What the page does with it is looked at in Chromium, and skipped by name without one.
"""

import json
import os
import shutil
import struct
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import chromium

number = failed = 0
MARKUP = (
    "<img src=x"
    " onerror=\"document.title='executed'\">'\"</script><script>document.title='executed'</script>"
)


def report(name, holds, more=""):
    global number, failed
    number += 1
    failed += not holds
    print(("ok" if holds else "not ok"), number, "-", name)
    if not holds:
        print("#", str(more)[:2000].replace("\n", "\n# "))


def skip(name, why):
    global number
    number += 1
    print(f"ok {number} - {name} # SKIP {why}")


def main():
    hloscope, root = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
    home = tempfile.mkdtemp(prefix="hsc-bad-")
    environment = dict(os.environ, HLOSCOPE_CACHE_DIR=home + "/cache")

    def run(*arguments):
        return subprocess.run(
            [hloscope, *arguments],
            capture_output=True,
            text=True,
            cwd=home,
            env=environment,
            errors="replace",
        )

    def write(name, text):
        with open(f"{home}/{name}", "w") as f:
            f.write(text if isinstance(text, str) else json.dumps(text))
        return name

    pages = {}  # name -> what must be on the page

    # Mixed versions: documents of an older hloscope lack members, those of a newer one have more; a
    # capture that is too new says so.
    stats = {
        "median": 1e-3,
        "low": 9e-4,
        "high": 2e-3,
        "mean": 1e-3,
        "min": 1e-4,
        "max": 2e-3,
        "std": 0,
    }
    old = {
        "program": "old.hlo",
        "inputs_seed": 0,
        "compare": [],
        "devices": [
            {
                "device": "cpu",
                "status": "ok",
                "phases": {"compile": 1e-3},
                "run": dict(stats, samples=[1e-3, 1.1e-3], **{"class": "too short"}),
                "flops": 5,
                "outputs": [],
            }
        ],
    }
    new = dict(
        old,
        program="new.hlo",
        from_the_future={"a": [1, {"b": None}]},
        speed=[],
        environment={"grade": "A", "grade_reasons": []},
        devices=[
            dict(
                old["devices"][0],
                run=dict(
                    old["devices"][0]["run"],
                    sampling={"text": "2 runs in 2 blocks", "another": 5},
                    statistics={"modes": []},
                ),
                colour="blue",
            )
        ],
    )
    write("old.json", old), write("new.json", new)
    told = run("stats", "old.json", "new.json")
    report(
        "stats of documents of different versions compares them",
        told.returncode == 0 and "devices.cpu.run" in told.stdout and "cannot tell" in told.stdout,
        told.stdout + told.stderr,
    )
    made = run("report", "old.json", "new.json", "-o", "mixed.html")
    report("report of documents of different versions is made", made.returncode == 0, made.stderr)
    pages["mixed.html"] = ["old.hlo", "new.hlo", "2 runs in 2 blocks"]
    sys.path.insert(0, os.path.join(root, "python"))
    import hloscope as python_api

    with python_api.profile(f"{home}/empty.hsc", pjrt=False):
        pass
    with python_api.profile(f"{home}/one.hsc", pjrt=False) as p:
        with p.record(MARKUP, text=MARKUP):
            pass
    rings = (
        [
            os.path.join(folder, name)
            for folder, _, names in os.walk(f"{home}/one.hsc")
            for name in names
        ]
        if os.path.isdir(f"{home}/one.hsc")
        else [f"{home}/one.hsc"]
    )
    (
        shutil.copytree(f"{home}/one.hsc", f"{home}/newer.hsc")
        if os.path.isdir(f"{home}/one.hsc")
        else shutil.copy(f"{home}/one.hsc", f"{home}/newer.hsc")
    )
    changed = 0
    for path in rings:
        path = path.replace("one.hsc", "newer.hsc")
        with open(path, "r+b") as f:
            head = f.read(64)
            for at in range(4, 24, 4):  # the version is the small number after the magic
                if head[:3].isalpha() and 0 < struct.unpack_from("<I", head, at)[0] < 50:
                    f.seek(at)
                    f.write(struct.pack("<I", 99))
                    changed += 1
                    break
    newer = run("report", "one.hsc", "newer.hsc", "-o", "newer.html")
    report(
        "a capture of a newer version is refused by name and number, beside one that can be read",
        changed > 0
        and newer.returncode == 1
        and "newer.hsc" in newer.stderr
        and "99" in newer.stderr
        and "newer" in newer.stderr,
        (changed, newer.stderr),
    )

    # An empty capture.
    made = run("report", "empty.hsc", "-o", "empty.html")
    report("report of an empty capture is made", made.returncode == 0, made.stderr)
    pages["empty.html"] = ["Nothing was recorded"]
    told = run("stats", "empty.hsc")
    report(
        "stats of a capture says what it takes",
        told.returncode != 0 and told.stderr.startswith("error:") and told.stdout == "",
        told.stdout + told.stderr,
    )

    # NaN and infinities.
    write(
        "nan.csv",
        "time_us\n"
        + "\n".join(["1.5", "NaN", "inf", "-Infinity", "1.6", "1.4", "nan", "1.5"])
        + "\n",
    )
    told = run("stats", "nan.csv", "--format=json")
    series = json.loads(told.stdout)["series"][0] if told.returncode == 0 else {}
    report(
        "stats counts what is not finite and leaves it out",
        series.get("count") == 4
        and series.get("not_finite") == 4
        and abs(series.get("median", 0) - 1.5e-6) < 1e-12
        and "NaN" not in told.stdout
        and "Infinity" not in told.stdout,
        told.stdout[:500] + told.stderr,
    )
    told = run("stats", write("only.txt", "nan\ninf\n"), "--format=json")
    only = json.loads(told.stdout)["series"][0] if told.returncode == 0 else {}
    report(
        "nothing but NaN gives no number",
        only.get("count") == 0 and only.get("median", 0) is None,
        told.stdout[:500] + told.stderr,
    )
    with open(f"{home}/nan.json", "w") as f:
        f.write(run("stats", "nan.csv", "only.txt", "--format=json").stdout)
    made = run("report", "nan.json", "-o", "nan.html")
    report("report of it is made", made.returncode == 0, made.stderr)
    pages["nan.html"] = ["nan.csv"]

    # Names with quotes, markup, scripts, and what a terminal would obey.
    write(
        "names.csv",
        "name,time_us\n"
        + "".join(
            '"{}",{}\n'.format((name).replace('"', '""'), 100 + i)
            for i in range(9)
            for name in (MARKUP, "\x1b[31mred\x07\x1b]0;title\x07")
        ),
    )
    told = run("stats", "names.csv", "--by", "name", "--color=always")
    report(
        "a name never moves the terminal",
        told.returncode == 0
        and "\x1b[31m" not in told.stdout
        and "\x1b]0" not in told.stdout
        and "\x07" not in told.stdout + told.stderr,
        repr(told.stdout[:800]),
    )
    with open(f"{home}/names.json", "w") as f:
        f.write(run("stats", "names.csv", "--by", "name", "--format=json").stdout)
    made = run("report", "names.json", "one.hsc", "-o", "names.html", "--title", MARKUP)
    report("report of such names is made", made.returncode == 0, made.stderr)
    pages["names.html"] = ["onerror"]

    # 10,000 passes.
    passes = [
        {
            "name": f"pass-{i}",
            "run": i,
            "changed": i % 7 == 0,
            "seconds": 1e-6,
            "instructions_before": 5,
            "instructions_after": 4,
        }
        for i in range(10000)
    ]
    write(
        "many.json",
        {
            "program": "m.hlo",
            "device": "cpu",
            "pipelines": [{"name": "all", "passes": passes}],
            "totals": {"pipelines": 1, "passes": 10000, "runs": 10000, "changed": 1429},
        },
    )
    start = time.monotonic()
    made = run("report", "many.json", "-o", "many.html")
    report(
        "report of 10,000 passes is made in seconds",
        made.returncode == 0 and time.monotonic() - start < 10,
        (made.stderr, time.monotonic() - start),
    )
    pages["many.html"] = ["runs of 10000 passes"]
    write(
        "many.csv",
        "pass,time_us\n"
        + "".join(f"pass-{i % 10000},{100 + (i * 7919 % 13)}\n" for i in range(20000)),
    )
    start = time.monotonic()
    told = run(
        "stats",
        "many.csv",
        "--by",
        "pass",
        "--baseline",
        "pass-0",
        "--resamples",
        "200",
        "--format=json",
    )
    report(
        "stats of 10,000 series against one: no false discovery",
        told.returncode == 0
        and len(json.loads(told.stdout)["comparisons"]) == 9999
        and not [
            c
            for c in json.loads(told.stdout)["comparisons"]
            if c["verdict"] in ("faster", "slower")
        ],
        (told.stderr[:300], time.monotonic() - start),
    )

    # A single sample.
    told = run("stats", write("single.txt", "1.5\n"), "--format=json")
    one = json.loads(told.stdout)["series"][0]
    report(
        "stats of a single sample claims no interval and no class",
        told.returncode == 0
        and one["count"] == 1
        and one["class"] == "too short"
        and one["low"] is None
        and one["interval"] == "too few samples for an interval"
        and all(q["value"] is None for q in one["quantiles"]),
        told.stdout[:600],
    )
    write(
        "p.hlo",
        "HloModule p\n\nENTRY main {\n  x = f32[4] parameter(0)\n  ROOT r = f32[4] add(x, x)\n}\n",
    )
    told = run("run", "p.hlo", "--runs", "1", "--format=json", "--no-store")
    document = json.loads(told.stdout)
    sampling = document["devices"][0]["run"]["sampling"]
    report(
        "a run of one sample says that nothing can be said",
        sampling["half_width"] is None
        and sampling["more_needed"] is None
        and sampling["text"].startswith("1 run; "),
        sampling,
    )
    write("single.json", document)
    made = run("report", "single.json", "-o", "single.html")
    report("report of a single sample is made", made.returncode == 0, made.stderr)
    pages["single.html"] = ["p.hlo"]

    if not chromium.find():
        for page in pages:
            skip(f"{page} is drawn, nothing in it is executed", "no Chromium here")
    else:
        with chromium.Chromium(home) as b:
            for page, wanted in pages.items():
                try:
                    b.console.clear()
                    b.open(f"file://{home}/{page}")
                    b.value("dispatchEvent(new Event('beforeprint'))")
                    b.settle()
                    text = b.value("document.getElementById('content').textContent")
                    executed = b.value(
                        "document.title === 'executed' || document.querySelectorAll('img').length >"
                        " 0 || document.querySelectorAll('script').length !== 3"
                    )
                    report(
                        f"{page} is drawn, nothing in it is executed",
                        all(w in text for w in wanted)
                        and "could not be drawn" not in text
                        and "NaN" not in text.replace("'NaN", "")
                        and not executed
                        and not b.console,
                        (
                            b.console,
                            [w for w in wanted if w not in text],
                            executed,
                            (
                                "NaN at "
                                + text[max(0, text.find("NaN") - 60) : text.find("NaN") + 20]
                                if "NaN" in text
                                else ""
                            ),
                        ),
                    )
                except RuntimeError as error:
                    report(f"{page} is drawn, nothing in it is executed", False, error)
    print(f"1..{number}")
    shutil.rmtree(home, ignore_errors=True)
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
