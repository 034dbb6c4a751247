"""The report page: data are never markup, every kind of part is drawn without an error in the
console, a large timeline moves smoothly.

    test_report.py HLOSCOPE SOURCE_ROOT [--big]

The first part needs nothing; the others need Chromium (HLOSCOPE_CHROMIUM, or one on the PATH), and
are skipped by name without it. --big draws 1,000,000 events instead of 30,000.
"""

import gzip
import html.parser
import json
import os
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import tempfile

number = failed = 0
HOSTILE = (
    "</script><script>document.title='executed'</script><img src=x"
    " onerror=\"document.title='executed'\">'\"&<!--"
)


def report(name, holds, more=""):
    global number, failed
    number += 1
    failed += not holds
    print(("ok" if holds else "not ok"), number, "-", name)
    if not holds:
        print("#", str(more)[:4000].replace("\n", "\n# "))


def skip(name, why):
    global number
    number += 1
    print(f"ok {number} - {name} # SKIP {why}")


class Elements(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.found, self.text, self.at = [], {}, None

    def handle_starttag(self, tag, attributes):
        self.found.append((tag, dict(attributes)))
        self.at = dict(attributes).get("id") if tag == "script" else None

    def handle_endtag(self, tag):
        self.at = None

    def handle_data(self, data):
        if self.at:
            self.text[self.at] = self.text.get(self.at, "") + data


def write(path, document):
    with open(path, "w") as f:
        json.dump(document, f)
    return path


def hostile_documents(directory):
    """One document of each kind with markup, NaN-like gaps and odd names in every place."""
    stats = {
        "n": 3,
        "median": 1e-3,
        "low": 9e-4,
        "high": 2e-3,
        "mean": 1e-3,
        "min": 1e-4,
        "max": 2e-3,
        "std": 0,
        "mad": 0,
    }
    estimate = {"estimate": 1e-3, "low": 1e-4, "high": 2e-3}
    model = {
        "formula": HOSTILE,
        "initialisation": estimate,
        "compile": estimate,
        "first_use": estimate,
        "a_sync": estimate,
        "b_execution": estimate,
        "fitted": [{"executions": 1, "syncs": 1, "measured": 1e-3, "predicted": estimate}],
        "held_out": [],
        "held_out_worst_relative_error": None,
        "runs_until_compile_under_half": {"estimate": 3},
        "compile_share": [{"runs": 1, "compile_share": 0.9}],
    }
    name = "natural_" + HOSTILE
    yield (
        "patterns",
        write(
            f"{directory}/patterns.json",
            {
                "configuration": {
                    "device": HOSTILE,
                    "warmup_iterations": 1,
                    "measurement_trials": 1,
                },
                "environment": {"grade": "D", "grade_reasons": [HOSTILE]},
                "patterns": {
                    name: {
                        "status": "ok",
                        "phases": {"compile_miss": stats, "execute": stats},
                        "run": stats,
                        "first_run_times": [1e-3],
                        "cached_run_times": [1e-4],
                        "slow_runs": [
                            {
                                "run": "first_run",
                                "trial": 1,
                                "seconds": 1e-3,
                                "excess": 1e-3,
                                "cause": HOSTILE,
                            }
                        ],
                    },
                    "failed": {"status": "error", "message": HOSTILE},
                },
                "warmup_data": {
                    name: {"warmup_times": [1e-3, 1e-4], "class": HOSTILE, "steady_from": 2}
                },
                "compilation_dominance": {},
                "theoretical_analysis": {name: {"model": model}},
                "comparisons": [
                    {"graph": HOSTILE, "pattern": "vmap", "ratio": estimate, "verdict": "same"}
                ],
                "questions": [{"id": "dominance", "question": HOSTILE, "answer": HOSTILE}],
            },
        ),
    )
    variant = {
        "pass": HOSTILE,
        "outcome": "slower",
        "message": HOSTILE,
        "delta": {"instructions": 1},
        "total_time": {"ratio": 1.1, "low": 1.0, "high": 1.2},
        "kernel_time": None,
        "highlight": 5,
    }
    yield (
        "ablate",
        write(
            f"{directory}/ablate.json",
            {
                "program": HOSTILE,
                "device": "cpu",
                "baseline": {},
                "placebos": [dict(variant, outcome="same")],
                "totals": {"outcomes": {"slower": 1}},
                "variants": [variant] + [dict(variant, **{"pass": f"pass{i}"}) for i in range(300)],
            },
        ),
    )
    passes = [
        {
            "name": f"p{i % 500}" + HOSTILE,
            "run": i,
            "changed": i % 7 == 0,
            "seconds": 1e-6,
            "instructions_before": 5,
            "instructions_after": 4,
        }
        for i in range(10000)
    ]
    yield (
        "passes",
        write(
            f"{directory}/passes.json",
            {
                "program": HOSTILE,
                "device": "cpu",
                "pipelines": [{"name": HOSTILE, "passes": passes}],
                "totals": {"pipelines": 1, "passes": 500, "runs": 10000, "changed": 1},
            },
        ),
    )
    yield (
        "run",
        write(
            f"{directory}/run.json",
            {
                "program": HOSTILE,
                "inputs_seed": 0,
                "compare": [{"output": 0, "verdict": HOSTILE}],
                "devices": [
                    {
                        "device": "a",
                        "status": "ok",
                        "phases": {"compile": 1e-3},
                        "run": dict(stats, samples=[1e-3, 1e-3]),
                        "flops": 5,
                    },
                    {"device": HOSTILE, "status": "error", "message": HOSTILE},
                    {
                        "device": "one",
                        "status": "ok",
                        "phases": {},
                        "run": dict(stats, samples=[1e-3]),
                        "flops": None,
                    },
                ],
            },
        ),
    )
    timed = [{"name": HOSTILE, "median": 1e-3, "low": 1e-3, "high": 2e-3, "share": 0.5, "runs": 1}]
    yield (
        "time",
        write(
            f"{directory}/time.json",
            {
                "program": HOSTILE,
                "device": HOSTILE,
                "from": None,
                "repeats": 1,
                "first_compile": None,
                "front_end": {},
                "compile": timed[0],
                "phases": timed,
                "pipelines": timed,
                "passes": timed,
                "threads": [],
            },
        ),
    )
    yield (
        "validate",
        write(
            f"{directory}/validate.json",
            {
                "program": HOSTILE,
                "device": "cpu",
                "runner": "cpu",
                "seed": 0,
                "verdict": "different",
                "stages": [
                    {
                        "run": 1,
                        "pipeline": HOSTILE,
                        "pass": HOSTILE,
                        "verdict": "different",
                        "max_abs": 1,
                        "max_ulp": None,
                        "skipped": HOSTILE,
                        "bridged": 0,
                    }
                ],
                "first": {"run": 1, "pipeline": HOSTILE, "pass": HOSTILE, "instruction": None},
            },
        ),
    )
    yield (
        "diff",
        write(
            f"{directory}/diff.json",
            {
                "program": HOSTILE,
                "from": HOSTILE,
                "to": HOSTILE,
                "summary": {"changed": 1},
                "instructions": [
                    {
                        "state": "changed",
                        "what": "",
                        "name": HOSTILE,
                        "computation": HOSTILE,
                        "left": HOSTILE,
                        "right": HOSTILE,
                        "into": None,
                    }
                ],
            },
        ),
    )
    described = dict(
        stats,
        name=HOSTILE,
        source=HOSTILE,
        unit="s",
        count=3,
        modes=[{"median": 1e-3}, {"median": 2e-3}],
        quantiles=[{"quantile": 0.5, "value": 1e-3}],
        outlier_count=0,
        **{"class": "flat"},
    )
    yield (
        "stats",
        write(
            f"{directory}/stats.json",
            {
                "series": [described, described],
                "machine": {"grade": "D", "margin": 0.05},
                "settings": {},
                "notes": [HOSTILE],
                "comparisons": [
                    {
                        "series": HOSTILE,
                        "source": HOSTILE,
                        "against": HOSTILE,
                        "against_source": HOSTILE,
                        "ratio": 1.1,
                        "low": 1,
                        "high": 1.2,
                        "verdict": "slower",
                        "effect": "large",
                        "q_value": 0.01,
                        "more_runs": None,
                    }
                ],
            },
        ),
    )
    os.mkdir(f"{directory}/dumps")
    for run, name, text in [
        (
            0,
            "hlo.after_pipeline-start.before_algsimp",
            "HloModule m\n\nENTRY e {\n  a = f32[] parameter(0)\n  ROOT b = f32[] add(a, a)\n}\n",
        ),
        (
            1,
            "hlo.after_algsimp.before_dce",
            "HloModule m\n\nENTRY e {\n  a = f32[] parameter(0)\n  ROOT b = f32[] multiply(a, a)\n"
            "  // " + HOSTILE + "\n}\n",
        ),
        (2, "hlo.after_dce", "HloModule m\n"),
    ]:
        with open(f"{directory}/dumps/module_0001.jit_f.x.{run:04d}.{name}.txt", "w") as f:
            f.write(text)
    yield "dumps", f"{directory}/dumps"
    yield (
        "doctor",
        write(
            f"{directory}/doctor.json",
            {"checks": [{"id": HOSTILE, "verdict": "error", "evidence": HOSTILE, "fix": HOSTILE}]},
        ),
    )
    yield (
        "explain",
        write(
            f"{directory}/explain.json",
            {
                "next": HOSTILE,
                "findings": [
                    {
                        "entry": HOSTILE,
                        "severity": "error",
                        "count": 1,
                        "first_line": 1,
                        "meaning": HOSTILE,
                        "text": HOSTILE,
                        "references": [HOSTILE],
                    }
                ],
            },
        ),
    )
    yield (
        "table",
        write(
            f"{directory}/table.json",
            {
                "view": HOSTILE,
                "columns": [{"name": HOSTILE, "unit": "ns"}],
                "rows": [{HOSTILE: HOSTILE}, {HOSTILE: None}, {HOSTILE: 5}],
                "notes": [HOSTILE],
            },
        ),
    )
    yield "anything", write(f"{directory}/anything.json", [1, HOSTILE, None])
    yield "empty", write(f"{directory}/empty.json", {})


def record(directory, package, events):
    sys.path.insert(0, package)
    import hloscope

    path = f"{directory}/capture.hsc"
    with hloscope.profile(path, pjrt=False) as p:
        with p.record(HOSTILE, text=HOSTILE):
            for i in range(events // 2):
                with p.record(f"step {i % 40}"):
                    with p.record(
                        HOSTILE if i % 1000 == 0 else f"part {i % 9}", category="operator"
                    ):
                        pass
    empty = f"{directory}/empty.hsc"
    with hloscope.profile(empty, pjrt=False):
        pass
    return path, empty


def chromium(path, script, waits=False, width=1300, height=2000):
    """The page's title after `script` ran in it, and what the console said."""
    binary = os.environ.get("HLOSCOPE_CHROMIUM") or next(
        (
            shutil.which(n)
            for n in ("chromium", "chromium-browser", "google-chrome")
            if shutil.which(n)
        ),
        None,
    )
    if not binary:
        return None
    text = open(path, encoding="utf-8", newline="").read()
    changed = path.replace(".html", ".test.html")
    open(changed, "w", encoding="utf-8", newline="").write(
        ("<script>" + script + "</script></body>").join(text.rsplit("</body>", 1))
    )
    command = [
        binary,
        "--headless=new",
        "--no-sandbox",
        "--disable-gpu",
        f"--window-size={width},{height}",
        "--enable-logging=stderr",
        "--v=0",
        "--timeout=60000",
        f"--user-data-dir={os.path.dirname(path)}/chromium",
    ]
    command += ["--dump-dom"] + (["--virtual-time-budget=10000"] if waits else [])
    done = subprocess.run(
        command + ["file://" + changed], capture_output=True, text=True, timeout=120
    )
    title = re.search(r"<title>(.*?)</title>", done.stdout, re.S)
    console = [line for line in done.stderr.split("\n") if "CONSOLE" in line]
    return (title.group(1) if title else ""), console, done.stdout


CHECK = """
window.addEventListener('load', () => setTimeout(() => {
  const heights = [...document.querySelectorAll('figure')].length, bad = [...document.querySelectorAll('.bad')].filter((e) => /could not be drawn/.test(e.textContent)).map((e) => e.textContent);
  if (document.title !== 'executed') document.title = JSON.stringify({figures: heights, bad, rows: document.querySelectorAll('tr').length, images: document.querySelectorAll('img').length});
}, 300));
"""
# What each section looks like, as numbers; what overflows; what has no name for a screen reader; in
# both schemes the contrast of what is seen.
LAYOUT = """
window.addEventListener('load', () => setTimeout(() => {
  const sections = [...document.querySelectorAll('main section')].map((s) => ({title: s.querySelector('h2, h3').textContent.replace(/#$/, '').trim().slice(0, 40), level: s.querySelector('h2') ? 2 : 3,
    figures: s.querySelectorAll('figure').length, tables: s.querySelectorAll('table').length, rows: s.querySelectorAll('tbody tr').length, cards: s.querySelectorAll('.card').length,
    height: Math.round(s.getBoundingClientRect().height), width: Math.round(s.getBoundingClientRect().width)}));
  const named = (e) => (e.textContent || e.getAttribute('aria-label') || e.title || (e.labels && e.labels.length && e.labels[0].textContent) || '').trim();
  const unnamed = [...document.querySelectorAll('button, input, select, canvas[role], [role=img], a')].filter((e) => !named(e) && !e.closest('.chart')).map((e) => e.outerHTML.slice(0, 120));
  const light = (c) => { const unit = c.startsWith('color(') ? 1 : 255, [r, g, b] = c.match(/[0-9.]+/g).map(Number).map((v) => (v /= unit) <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
  const faint = [];
  for (const theme of ['light', 'dark']) {
    document.documentElement.dataset.theme = theme;
    for (const e of document.querySelectorAll('.dim, .good, .bad, .warn, .card span, .card b, nav a, td, th, p, h2, h3, button:not(.frame)')) {
      if (!e.firstChild || !e.getClientRects().length) continue;
      let back = e;
      while (back && /rgba\\(0, 0, 0, 0\\)|transparent/.test(getComputedStyle(back).backgroundColor)) back = back.parentElement;
      const a = light(getComputedStyle(e).color), b = light(getComputedStyle(back || document.body).backgroundColor), ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
      if (ratio < 4.5 && getComputedStyle(e).opacity === '1') faint.push(theme + ' ' + ratio.toFixed(2) + ' ' + e.className + ' ' + e.textContent.slice(0, 30));
    }
  }
  document.title = JSON.stringify({sections, unnamed, faint: faint.slice(0, 5), wide: document.documentElement.scrollWidth - innerWidth});
}, 300));
"""
# Zooms and moves a timeline through 90 frames and measures each, drawn to the last pixel.
SMOOTH = """
{
  const canvas = document.querySelector('.timeline canvas'), times = [];
  for (let i = 0; i < 90; i++) {
    canvas.dispatchEvent(new KeyboardEvent('keydown', {key: i < 30 ? 'w' : i < 60 ? 'd' : 's', cancelable: true}));
    const before = performance.now();
    canvas.hscPaint();
    canvas.getContext('2d').getImageData(0, 0, 1, 1);
    times.push(performance.now() - before);
  }
  times.sort((a, b) => a - b);
  document.title = JSON.stringify({median: times[45], worst: times[85]});
}
"""


def views(run, inputs, directory, root):
    """Every view against the numbers of tests/browser/layout.json: sections in order, what each
    holds, heights within a quarter (fonts differ). --update writes them."""
    page, reference = f"{directory}/views.html", os.path.join(root, "tests/browser/layout.json")
    run(*[path for path in inputs if not path.endswith(".hsc")], "-o", page, "--title", "views")
    seen = chromium(page, LAYOUT, waits=True)
    names = (
        "each view looks as it did",
        "nothing is wider than the page",
        "what can be used has a name",
        "texts are out in both schemes",
    )
    if seen is None:
        for name in names:
            skip(name, "no Chromium here")
        return
    import html as html_module

    title = html_module.unescape(seen[0])
    found = (
        json.loads(title)
        if title.startswith("{")
        else {"sections": [], "unnamed": [title], "faint": [title], "wide": 1}
    )
    if "--update" in sys.argv:
        with open(reference, "w") as f:
            f.write(
                "[\n"
                + ",\n".join(json.dumps(s, ensure_ascii=False) for s in found["sections"])
                + "\n]\n"
            )
    with open(reference) as f:
        wanted = json.load(f)
    differences = (
        [f"{len(found['sections'])} sections, {len(wanted)} before"]
        if len(wanted) != len(found["sections"])
        else []
    )
    for now, before in zip(found["sections"], wanted):
        for key in ("title", "level", "figures", "tables", "rows", "cards"):
            if now[key] != before[key]:
                differences.append(f"{before['title']}: {key} is {now[key]}, was {before[key]}")
        for key in ("height", "width"):
            if abs(now[key] - before[key]) > 40 + 0.25 * before[key]:
                differences.append(f"{before['title']}: {key} is {now[key]}, was {before[key]}")
    report(names[0], not differences, "\n".join(differences))
    report(names[1], found["wide"] <= 0, found["wide"])
    report(names[2], not found["unnamed"], found["unnamed"])
    report(names[3], not found["faint"], found["faint"])


def drawn_events(run, directory, root):
    """Each event of a profile is drawn once, and calls of Python outside of the steps on request;
    oracle: the events that the table of planes counts."""
    log = f"{directory}/log/plugins/profile/one"
    os.makedirs(log)
    recorded = os.path.join(root, "tests/conformance/profiles/xla_cpu_mlp.xplane.pb.gz")
    with gzip.open(recorded) as f, open(f"{log}/host.xplane.pb", "wb") as out:
        shutil.copyfileobj(f, out)
    drawn, notes = [], []
    for more in ([], ["--all"]):
        page = f"{directory}/log.html"
        run(f"{directory}/log", "-o", page, *more)
        with open(page) as f:
            data = re.search(r'id="data">(.*?)</script>', f.read(), re.S).group(1)
        json_of = json.loads(data)["parts"][0]["json"]
        drawn.append(sum(lane["count"] for lane in json_of["timeline"]["lanes"]))
        notes.append(json_of["timeline"]["note"])
    planes = next(table for table in json_of["tables"] if table["view"] == "planes")
    events = sum(row["events"] for row in planes["rows"])
    report("each event is drawn once", drawn[1] == events and notes[1] is None, (drawn, events))
    left_out = f"{events - drawn[0]} calls of Python outside of the steps"
    report(
        "Python calls outside of the steps are left out and counted",
        drawn[0] < events and notes[0].startswith(left_out),
        (drawn, notes),
    )


def main():
    hloscope, root = sys.argv[1], sys.argv[2]
    directory = tempfile.mkdtemp(prefix="hsc-report-")

    def run(*args):
        return subprocess.run([hloscope, "report", *args], capture_output=True, text=True)

    drawn_events(run, directory, root)
    capture, empty = record(
        directory, os.path.join(root, "python"), 1000000 if "--big" in sys.argv else 30000
    )
    inputs = [path for _, path in hostile_documents(directory)] + [capture, empty]
    page = f"{directory}/all.html"
    made = run(*inputs, "-o", page, "--title", HOSTILE)
    report("a page of every kind is made", made.returncode == 0, made.stderr)
    elements = Elements()
    elements.feed(open(page, encoding="utf-8").read())
    tags = [tag for tag, _ in elements.found]
    report(
        "nothing of the data became an element",
        "img" not in tags and tags.count("script") == 3,
        tags,
    )
    report(
        "it asks nothing of a server",
        not any(a.get("src") or (tag == "link") for tag, a in elements.found)
        and not re.search(r"@import|url\(http", open(page, encoding="utf-8").read()),
    )
    data = json.loads(elements.text["data"])
    report(
        "the data are JSON as they came",
        data["title"] == HOSTILE
        and [p["kind"] for p in data["parts"]]
        == [
            "patterns",
            "passes_ablate",
            "passes_list",
            "run",
            "passes_time",
            "passes_validate",
            "passes_diff",
            "stats",
            "hlo_stages",
            "doctor",
            "explain",
            "other",
            "other",
            "other",
            "capture",
            "capture",
        ],
        [p["kind"] for p in data["parts"]],
    )
    template = os.path.getsize(page) - len(elements.text["data"].encode())
    report("the page without data is under 3 MB", template < 3000000, template)
    timeline = next(p for p in data["parts"] if p["kind"] == "capture")["json"]["timeline"]
    import base64

    starts = struct.unpack(
        f"<{len(base64.b64decode(timeline['start'])) // 4}I", base64.b64decode(timeline["start"])
    )
    ordered = all(
        list(starts[l["first"] : l["first"] + l["count"]])
        == sorted(starts[l["first"] : l["first"] + l["count"]])
        for l in timeline["lanes"]
    )
    report(
        "the timeline holds every event in order",
        len(starts) == (1000001 if "--big" in sys.argv else 30001) and ordered,
        len(starts),
    )
    for name, text, wanted in [
        ("broken.json", '{"a": NaN}', "broken.json:1:"),
        ("text.json", "hello", "text.json:1:"),
        ("none.json", None, "none.json"),
    ]:
        if text is not None:
            open(f"{directory}/{name}", "w").write(text)
        wrong = run(f"{directory}/{name}", "-o", f"{directory}/x.html")
        report(
            f"{name} is an error that says where",
            wrong.returncode == 1
            and wanted in wrong.stderr
            and not os.path.exists(f"{directory}/x.html"),
            wrong.stderr,
        )

    seen = chromium(page, CHECK, waits=True)
    if seen is None:
        for name in (
            "every part is drawn",
            "the console is silent",
            "nothing in the data is executed",
            "the timeline moves at 30 frames a second",
        ):
            skip(name, "no Chromium here")
    else:
        title, console, _ = seen
        import html as html_module

        title = html_module.unescape(title)
        try:
            found = json.loads(title)
        except ValueError:
            found = {"bad": [title], "figures": 0, "images": -1}
        report("every part is drawn", found["figures"] >= 8 and not found["bad"], found)
        report("the console is silent", not console, "\n".join(console))
        report(
            "nothing in the data is executed", title != "executed" and found["images"] == 0, title
        )
        alone = f"{directory}/capture.html"
        run(capture, "-o", alone)
        title, _, _ = chromium(alone, SMOOTH)
        try:
            frames = json.loads(html_module.unescape(title))
        except ValueError:
            frames = {"median": 1e9}
        report("the timeline moves at 30 frames a second", frames["median"] < 1000 / 30, frames)
    views(run, inputs, directory, root)
    # numbers that are added up come from report_sums.c and report_lead.c, so that none disagree
    adds = [
        f"{script.name}: {line.strip()[:100]}"
        for script in sorted(pathlib.Path(root, "src/report/page").glob("*.js"))
        for line in script.read_text().splitlines()
        if re.search(r"\.reduce\([^)]*\) => \(?\w+ \+ |\b(sum|total|seconds|runs)\b *\+=", line)
    ]
    report("the page adds nothing up", not adds, "\n".join(adds))
    print(f"1..{number}")
    shutil.rmtree(directory, ignore_errors=True)
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
