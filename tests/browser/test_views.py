"""What a reader sees and does on the report page, in headless Chromium: pictures of each view
against tests/browser/views, keys, links, CSV, commands, print.

    test_views.py HLOSCOPE SOURCE_ROOT [--update]

Pictures are small and blurred, texts are left out, and tiles of mean colour are compared, so that a
pixel here or there is no difference; on a machine with other fonts than those of the references
they are skipped, and sizes and structure are left to test_report.py. --update writes them anew.
"""

import gzip
import json
import math
import os
import shutil
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import chromium

number = failed = 0
MOST_DIFFERENT = 0.06  # share of tiles
SCALE = 0.2


def report(name, holds, more=""):
    global number, failed
    number += 1
    failed += not holds
    print(("ok" if holds else "not ok"), number, "-", name)
    if not holds:
        print("#", str(more)[:3000].replace("\n", "\n# "))


def skip(name, why):
    global number
    number += 1
    print(f"ok {number} - {name} # SKIP {why}")


# ---- documents of every kind, the same each time -------------------------------------------------


def wave(n, level, spread):
    return [level * (1 + spread * math.sin(1.7 * i) * math.cos(0.6 * i)) for i in range(n)]


def summary(median, spread=0.05):
    return {
        "n": 20,
        "median": median,
        "low": median * (1 - spread),
        "high": median * (1 + spread),
        "mean": median,
        "min": median * 0.9,
        "max": median * 1.4,
        "std": median * 0.05,
        "mad": median * 0.03,
    }


def estimate(value):
    return {"estimate": value, "low": value * 0.9, "high": value * 1.1}


GRADE = {"grade": "B", "grade_reasons": ["1.4 % of the time of a calibration loop went to others"]}
SAMPLING = {
    "levels": ["run", "block"],
    "wanted_half_width": 0.02,
    "time_budget_seconds": 0.2,
    "pilot": None,
    "no_pilot": None,
    "made": {"run": 60, "block": 12},
    "seconds": 0.1,
    "half_width": 0.031,
    "ended_by": "the time budget is spent",
    "more_needed": 84,
    "text": (
        "60 runs; ended: the time budget is spent"
        " (200 ms); interval ±3.1 %, wanted ±2 %: about 84 more runs needed"
    ),
}


def patterns():
    names, out, warm, theory = (
        [
            f"{p}_{g}"
            for g in ("tiny", "small", "wide")
            for p in ("natural_for_loop", "vmap", "scan")
        ],
        {},
        {},
        {},
    )
    for k, name in enumerate(names):
        run = 1e-5 * (1 + k)
        phases = {
            "client_create": 1e-4,
            "transfer_in": 2e-5 * (1 + k),
            "compile_miss": 2e-3 * (1 + k % 3),
            "first_execution": 5e-5,
            "execute": run,
            "sync": 1e-6,
            "transfer_out": 3e-6,
        }
        out[name] = {
            "status": "ok",
            "phases": {p: summary(t) for p, t in phases.items()},
            "run": dict(summary(run), sampling=SAMPLING, modes=[]),
            "first_run_times": [3 * t for t in wave(12, run, 0.2)],
            "cached_run_times": wave(12, run, 0.1),
            "slow_runs": [
                {
                    "run": "first_run",
                    "trial": 4,
                    "seconds": 3 * run,
                    "excess": 2 * run,
                    "cause": "first touch of 45.1 kB: 11 page faults, 20 us",
                }
            ],
        }
        warm[name] = {
            "warmup_times": [20 * run, 1.2 * run, run, run, run],
            "class": "warm-up",
            "steady_from": 2,
        }
        fitted = [
            {
                "executions": n,
                "syncs": 1,
                "measured": n * run * (1 + 0.05 * math.sin(n + k)),
                "predicted": estimate(n * run),
            }
            for n in (1, 2, 4, 8, 16)
        ]
        theory[name] = {
            "model": {
                "formula": (
                    "time(k executions, s syncs) = initialisation + compile + first_use + a s + b k"
                ),
                "initialisation": estimate(1e-3),
                "compile": estimate(2e-3),
                "first_use": estimate(5e-5),
                "a_sync": estimate(1e-6),
                "b_execution": estimate(run),
                "fitted": fitted,
                "held_out": [dict(fitted[2], executions=3)],
                "held_out_worst_relative_error": 0.06,
                "runs_until_compile_under_half": {"estimate": 36 + k},
                "compile_share": [
                    {"runs": 10**e, "compile_share": 2e-3 / (2e-3 + 10**e * run)} for e in range(6)
                ],
            }
        }
    return {
        "command": "hloscope patterns --graphs tiny,small,wide",
        "configuration": {"device": "cpu", "warmup_iterations": 5, "measurement_trials": 12},
        "environment": GRADE,
        "patterns": out,
        "warmup_data": warm,
        "compilation_dominance": {},
        "theoretical_analysis": theory,
        "comparisons": [
            {
                "graph": "tiny",
                "pattern": "vmap",
                "against": "natural_for_loop",
                "ratio": estimate(1.05),
                "verdict": "slower",
                "processes": 6,
                "p_value": 6.1e-6,
            }
        ],
        "questions": [
            {
                "id": "dominance",
                "question": "After how many runs is compilation no longer what dominates?",
                "answer": (
                    "After 40 runs (median over 9 configurations) the compile is under half of the"
                    " time."
                ),
            }
        ],
    }


def ablate():
    timed = lambda ratio: {
        "ratio": ratio,
        "low": ratio - 0.03,
        "high": ratio + 0.03,
        "more_runs": 900 if 0.98 < ratio < 1.02 else None,
    }
    rows = [
        {
            "pass": f"pass-{i}",
            "kind": "pass",
            "outcome": "slower" if i < 3 else "different" if i < 9 else "same",
            "verdict": "slower" if i < 3 else "cannot tell",
            "message": None,
            "where": None,
            "delta": {"instructions": i, "fusions": -1},
            "total_time": timed(1.3 - 0.04 * i) if i < 9 else None,
            "kernel_time": None,
            "highlight": 5 if i < 2 else None,
        }
        for i in range(14)
    ]
    return {
        "command": "hloscope passes ablate model.hlo -o ablation.json",
        "program": "model.hlo",
        "device": "cpu",
        "environment": GRADE,
        "baseline": {},
        "variants": rows,
        "pairs": None,
        "timing": {"failures": [], "sampling": SAMPLING},
        "placebos": [
            {
                "pass": "hloscope-placebo-1",
                "outcome": "same",
                "total_time": timed(1.01),
                "delta": {},
            },
            {
                "pass": "hloscope-placebo-2",
                "outcome": "same",
                "total_time": timed(0.99),
                "delta": {},
            },
        ],
        "totals": {"outcomes": {"slower": 3, "different": 6, "same": 5}},
    }


def passes():
    runs = lambda p: [
        {
            "name": f"{p}-{i}",
            "run": i,
            "changed": i % 3 == 0,
            "seconds": 1e-5 * (1 + i),
            "instructions_before": 50 - i,
            "instructions_after": 49 - i,
            "fusions_before": 0,
            "fusions_after": 1,
        }
        for i in range(6)
    ]
    return {
        "command": "hloscope passes list model.hlo --format=json",
        "program": "model.hlo",
        "device": "cpu",
        "pipelines": [
            {"name": "optimization", "passes": runs("simplify")},
            {"name": "fusion", "passes": runs("fuse")},
        ],
        "totals": {"pipelines": 2, "passes": 12, "runs": 12, "changed": 4},
    }


def times():
    rows = lambda p: [
        {
            "name": f"{p} {i}",
            "median": 1e-3 / (1 + i),
            "low": 9e-4 / (1 + i),
            "high": 1.2e-3 / (1 + i),
            "share": 0.4 / (1 + i),
            "runs": 1 + i,
        }
        for i in range(10)
    ]
    return {
        "command": "hloscope passes time model.hlo --format=json",
        "program": "model.hlo",
        "device": "cpu",
        "from": "metadata",
        "repeats": 30,
        "first_compile": 4e-3,
        "front_end": {},
        "compile": rows("compile")[0],
        "phases": rows("phase"),
        "pipelines": rows("pipeline"),
        "passes": rows("pass"),
        "threads": [],
        "sampling": SAMPLING,
    }


def runs():
    row = lambda name, level: {
        "device": name,
        "status": "ok",
        "message": None,
        "phases": {"compile": 20 * level},
        "run": dict(
            summary(level),
            samples=wave(60, level, 0.08),
            sampling=SAMPLING,
            statistics={"modes": []},
        ),
        "instructions": 24,
        "fusions": 3,
        "flops": 8e5,
        "bytes": 1e5,
        "temp_bytes": 2e4,
        "code_bytes": 4096,
    }
    return {
        "command": "hloscope run model.hlo --device cpu --compare xla-cpu --format=json",
        "program": "model.hlo",
        "inputs_seed": 0,
        "environment": GRADE,
        "compare": [{"device": "xla-cpu", "against": "cpu", "output": 0, "verdict": "close"}],
        "devices": [row("cpu", 1e-3), row("xla-cpu", 2e-3)],
        "speed": [
            {
                "device": "xla-cpu",
                "against": "cpu",
                "ratio": 2.0,
                "low": 1.9,
                "high": 2.1,
                "verdict": "slower",
                "processes": 6,
                "p_value": 1e-9,
                "q_value": 1e-9,
                "more_processes": None,
                "margin": 0.02,
            }
        ],
    }


def difference():
    states = ["changed", "fused", "added", "removed"]
    return {
        "command": "hloscope passes diff model.hlo --format=json",
        "program": "model.hlo",
        "from": "input",
        "to": "output",
        "summary": {"changed": 3, "fused": 3, "moved": 0, "added": 3, "removed": 3, "kept": 9},
        "instructions": [
            {
                "state": states[i % 4],
                "what": "operands" if i % 4 < 2 else "",
                "computation": "main",
                "left": f"dot.{i} = f32[32,64] dot(a, b)",
                "right": f"dot.{i} = f32[32,64] dot(b, a)",
                "into": "fusion.1" if i % 4 == 1 else None,
            }
            for i in range(12)
        ],
    }


def doctor():
    return {
        "checks": [
            {
                "id": f"check-{i}",
                "verdict": ["ok", "warning", "error"][i % 3],
                "evidence": "what was seen",
                "fix": "what to do" if i % 3 else None,
            }
            for i in range(9)
        ]
    }


def stages(directory):
    os.mkdir(directory)
    line = lambda i: f"  a{i} = f32[8] add(x, x)"
    bodies = [
        [line(i) for i in range(60)],
        [line(i) for i in range(60)],
        [line(i) if i != 20 else "  a20 = f32[8] multiply(x, x)" for i in range(60)],
        [line(i) for i in range(40)],
    ]
    names = [
        "hlo.after_pipeline-start.before_algsimp",
        "hlo.after_algsimp.before_cse",
        "hlo.after_cse.before_dce",
        "hlo.after_dce",
    ]
    for run, (name, body) in enumerate(zip(names, bodies)):
        with open(f"{directory}/module_0001.jit_f.x.{run:04d}.{name}.txt", "w") as f:
            f.write(
                "HloModule m\n\nENTRY e {\n  x = f32[8] parameter(0)\n" + "\n".join(body) + "\n}\n"
            )
    return directory


# ---- pictures ------------------------------------------------------------------------------------

# Where each part lies; texts become invisible, for fonts differ in every pixel.
PARTS = """(() => [...document.querySelectorAll('#content > div')].map((d) => { const r = d.getBoundingClientRect(); return {name: d.querySelector('h2').textContent.replace(/#$/, '').trim(), x: r.x + scrollX, y: r.y + scrollY, width: r.width, height: r.height}; }))()"""
BLANK = """(() => { const s = document.createElement('style'); s.textContent = '* { color: transparent !important; caret-color: transparent !important; } option { color: transparent; }'; document.head.append(s); dispatchEvent(new Event('beforeprint')); })()"""
FONTS = """(() => { const c = document.createElement('canvas').getContext('2d'); return ['15px system-ui, sans-serif', '12px ui-monospace, monospace'].map((f) => { c.font = f; return Math.round(100 * c.measureText('The quick brown fox 0123456789').width) / 100; }).join(' '); })()"""
LOOKS = [
    ("light", {"width": 1300}),
    ("dark", {"width": 1300, "dark": True}),
    ("narrow", {"width": 420}),
]


def pictures(browser, url, folder):
    update = "--update" in sys.argv
    listing = os.path.join(folder, "fonts.txt")
    browser.open(url, width=1300)
    fonts = browser.value(FONTS)
    if update:
        for name in os.listdir(folder):
            os.unlink(os.path.join(folder, name))
        with open(listing, "w") as f:
            f.write(fonts + "\n")
    with open(listing) as f:
        wanted_fonts = f.read().strip()
    for look, how in LOOKS:
        name = f"every view looks as it did, {look}"
        if fonts != wanted_fonts:
            skip(name, f"other fonts here ({fonts}) than those of the references ({wanted_fonts})")
            continue
        browser.open(url, **how)
        browser.value(BLANK)
        browser.settle()
        different = []
        for part in browser.value(PARTS):
            png = browser.picture(SCALE, {k: part[k] for k in ("x", "y", "width", "height")})
            path = os.path.join(folder, f"{part['name'].split(':')[0].split('.')[0]}-{look}.png")
            seen = chromium.pixels(png)
            if update:
                with open(path, "wb") as f:
                    f.write(chromium.write_png(*seen))
                continue
            if not os.path.exists(path):
                different.append(f"{os.path.basename(path)} is not there; --update writes it")
                continue
            with open(path, "rb") as f:
                before = chromium.pixels(f.read())
            share = chromium.difference(seen, before)
            for _ in range(4):  # a busy machine may still be drawing
                if share <= MOST_DIFFERENT:
                    break
                time.sleep(1)
                png = browser.picture(SCALE, {k: part[k] for k in ("x", "y", "width", "height")})
                seen = chromium.pixels(png)
                share = min(share, chromium.difference(seen, before))
            if share > MOST_DIFFERENT:
                with open(
                    os.path.join(tempfile.gettempdir(), "hloscope-" + os.path.basename(path)), "wb"
                ) as f:
                    f.write(png)
                different.append(
                    f"{part['name']}: {100 * share:.1f} % of the tiles differ ({seen[0]}x{seen[1]},"
                    f" was {before[0]}x{before[1]}); now: {f.name}"
                )
        report(name, not different, "\n".join(different))
    if fonts == wanted_fonts:  # a test that cannot fail is none
        browser.open(url, width=1300)
        browser.value(BLANK)
        browser.value("document.querySelector('figure').style.visibility = 'hidden'")
        browser.settle()
        part = browser.value(PARTS)[0]
        share = chromium.difference(
            chromium.pixels(
                browser.picture(SCALE, {k: part[k] for k in ("x", "y", "width", "height")})
            ),
            chromium.pixels(open(os.path.join(folder, "patterns-light.png"), "rb").read()),
        )
        report("a chart that is missing is seen", share > MOST_DIFFERENT, share)
    report(
        "a picture of another view is reported from it",
        chromium.difference(
            *[
                chromium.pixels(open(os.path.join(folder, f"{n}-light.png"), "rb").read())
                for n in ("run", "times")
            ]
        )
        > MOST_DIFFERENT,
    )


# ---- what a reader does --------------------------------------------------------------------------

STAGE = "document.querySelector('.stages [aria-selected=true] span:nth-child(2)').textContent"


def diff_pane(b, url):
    b.open(url)
    b.value("document.querySelector('.stages').focus()")
    first = b.value(STAGE)
    b.key("j")
    second = b.value(STAGE)
    b.key("k")
    back = b.value(STAGE)
    report(
        "j and k go through the stages",
        (first, second, back) == ("cse", "dce", "cse"),
        (first, second, back),
    )
    report("the address says where", "stage=" in b.value("location.hash"), b.value("location.hash"))
    count = b.value("document.querySelectorAll('.stages .stage').length")
    b.value(
        "[...document.querySelectorAll('.tools label')].find((l) => /stages that changed"
        " nothing/.test(l.textContent)).querySelector('input').focus()"
    )
    b.key(" ")
    hidden = b.value("document.querySelectorAll('.stages .stage').length")
    report(
        "stages that changed nothing can be hidden, from the keyboard",
        hidden < count,
        (count, hidden),
    )
    b.value("document.querySelector('.stages').focus()")
    b.key("k")
    b.key("j")
    report("j then goes on past them", b.value(STAGE) == "cse", b.value(STAGE))
    b.key("/")
    b.type("multiply")
    b.key("Enter")
    b.settle()
    report(
        "/ searches, Enter goes on, the hit is marked",
        b.value("document.querySelectorAll('.diff-row.hit.now').length") == 1
        and "multiply" in b.value("document.querySelector('.diff-row.hit.now').textContent"),
        b.value("document.querySelectorAll('.diff-row.hit').length"),
    )
    b.type("xyz")
    b.key("Enter")
    report(
        "what is not there is said, to screen readers too",
        "is not in what is shown"
        in b.value(
            "[...document.querySelectorAll('[aria-live=polite]')].map((e) => e.textContent).join()"
        ),
    )
    report(
        "changed parts of a line are marked",
        b.value("document.querySelectorAll('.diff mark').length") > 0,
    )


def links(b, url):
    b.open(url)
    heads = b.value("[...document.querySelectorAll('main h2, main h3')].map((e) => e.id)")
    anchors = b.value(
        "[...document.querySelectorAll('#contents a')].map((e) => e.getAttribute('href').slice(1))"
    )
    report(
        "every section is in the contents, under a name of its own",
        heads == anchors and len(set(heads)) == len(heads),
        (heads, anchors),
    )
    b.open(url + "#" + heads[-1])
    top = b.value(f"document.getElementById({json.dumps(heads[-1])}).getBoundingClientRect().top")
    report("a link to a section opens at it", -5 <= top < 900 and b.value("scrollY") > 500, top)
    stages_id = b.value(
        "document.querySelector('.stages').closest('section').querySelector('h2').id"
    )
    b.open(url + "#" + stages_id + "&stage=3")
    report("a link to a stage opens it", b.value(STAGE) == "dce", b.value(STAGE))


def data_and_commands(b, url):
    b.open(url)
    b.value("dispatchEvent(new Event('beforeprint'))")
    b.value(
        "globalThis.saved = []; globalThis.texts = []; URL.createObjectURL = (blob) => {"
        " texts.push(blob.text()); return 'data:,'; }; HTMLAnchorElement.prototype.click = function"
        " () { saved.push(this.download); };"
    )
    figures = b.value("document.querySelectorAll('figure').length")
    b.value(
        "for (const f of document.querySelectorAll('figure'))"
        " [...f.querySelectorAll('button')].find((x) => x.textContent === 'CSV').click()"
    )
    tables = b.value("Promise.all(texts)")
    bad = [
        t[:80]
        for t in tables
        if len(t.split("\r\n")) < 3 or len({line.count(",") for line in t.split("\r\n")[:2]}) != 1
    ]
    report(
        "every chart gives its data as CSV",
        figures >= 13 and len(tables) == figures and not bad,
        (figures, len(tables), bad),
    )
    report(
        "their names say what they are", len(set(b.value("saved"))) > figures / 2, b.value("saved")
    )
    shown = b.value(
        """[...document.querySelectorAll('figure')].map((f) => { const how = f.querySelector('code.how'), button = [...f.querySelectorAll('button')].find((x) => x.textContent === 'command');
      if (!button) return ''; button.click(); return how.hidden ? '' : how.textContent; })"""
    )
    report(
        "every chart shows the command that makes it again",
        all(s.startswith("hloscope ") for s in shown),
        shown,
    )
    report(
        "it is the one that was typed",
        "hloscope patterns --graphs tiny,small,wide" in shown
        and "hloscope passes ablate model.hlo -o ablation.json" in shown,
        set(shown),
    )


def schemes(b, url):
    b.open(url, dark=True)
    dark = b.value("getComputedStyle(document.body).backgroundColor")
    b.value(
        "[...document.querySelectorAll('header button')].find((x) =>"
        " /light/.test(x.textContent)).click()"
    )
    light = b.value("getComputedStyle(document.body).backgroundColor")
    report(
        "dark is taken from the system, and can be switched",
        dark != light and light == "rgb(255, 255, 255)",
        (dark, light),
    )
    b.look(media="print")
    report(
        "paper has neither contents nor buttons",
        b.value(
            "getComputedStyle(document.getElementById('contents')).display === 'none' &&"
            " [...document.querySelectorAll('.tools, header button')].every((e) =>"
            " getComputedStyle(e).display === 'none')"
        ),
    )
    b.open(url)
    before = b.value("document.querySelectorAll('.chart canvas').length")
    b.value("dispatchEvent(new Event('beforeprint'))")
    b.settle()
    after, charts = (
        b.value("document.querySelectorAll('.chart canvas').length"),
        b.value("document.querySelectorAll('.chart').length"),
    )
    report(
        "on paper every chart is drawn, seen or not",
        before < charts == after,
        (before, after, charts),
    )
    pdf = b.call("Page.printToPDF", printBackground=True)["data"]
    report("it prints", len(pdf) > 20000, len(pdf))


def names(b, url):
    b.open(url)
    b.value("dispatchEvent(new Event('beforeprint'))")
    seen = b.names()
    unnamed = [
        role
        for role, name in seen
        if role
        in (
            "button",
            "link",
            "textbox",
            "searchbox",
            "combobox",
            "checkbox",
            "img",
            "image",
            "listbox",
            "application",
            "columnheader",
        )
        and not name.strip()
    ]
    report("all that a screen reader meets has a name", not unnamed and len(seen) > 300, unnamed)
    roles = {role for role, _ in seen}
    report(
        "it has landmarks to go to",
        {"main", "navigation", "banner"} <= roles or {"main", "navigation"} <= roles,
        roles,
    )
    described = b.value(
        "[...document.querySelectorAll('.chart')].filter((c) => (c.getAttribute('aria-label') ||"
        " '').length < 20).length"
    )
    report("every chart is described in words", described == 0, described)
    b.value("document.activeElement.blur()")
    b.key("Tab")
    report(
        "the first Tab leads past the contents",
        b.value("document.activeElement.className") == "skip",
        b.value("document.activeElement.outerHTML.slice(0, 80)"),
    )


def profile(b, url):
    b.open(url)
    b.value("dispatchEvent(new Event('beforeprint'))")
    b.settle()
    series = (
        "(() => { const e = [...document.querySelectorAll('section')].find((s) => /hlo"
        " operators/.test(s.querySelector('h3')?.textContent || '')); return"
        " globalThis.echarts.getInstanceByDom(e.querySelector('.chart')).getOption().series[0].type;"
        " })()"
    )
    first = b.value(series)
    b.value(
        "[...document.querySelectorAll('button')].find((x) => x.textContent === 'pie /"
        " treemap').click()"
    )
    b.settle()
    b.value("dispatchEvent(new Event('beforeprint'))")
    report(
        "operators are a pie, and a treemap",
        (first, b.value(series)) == ("pie", "treemap"),
        (first, b.value(series)),
    )
    row = b.value(
        "(() => { const rows = [...document.querySelectorAll('tr.opens')], r = rows.find((x) =>"
        " /fusion/.test(x.textContent)) || rows[0]; r.focus(); return r.textContent; })()"
    )
    b.key("Enter")
    said = b.value("(document.querySelector('dialog[open]') || {textContent: ''}).textContent")
    report(
        "Enter on a fusion opens its members and source line",
        "members" in said and ".py" in said,
        (row[:80], said[:300]),
    )
    b.key("Escape")
    report("Escape closes it", b.value("document.querySelectorAll('dialog[open]').length") == 0)
    head = b.value(
        "(() => { const t = [...document.querySelectorAll('section')].find((s) => /hlo"
        " operators/.test(s.querySelector('h3')?.textContent || '')).querySelector('th');"
        " t.focus(); return t.textContent; })()"
    )
    b.key("Enter")
    report(
        "Enter on a heading sorts",
        b.value("document.activeElement.getAttribute('aria-sort')") in ("ascending", "descending"),
        head,
    )
    b.value(
        """globalThis.sent = []; globalThis.other = {postMessage: (m) => { sent.push(m); if (m === 'PING') dispatchEvent(new MessageEvent('message', {data: 'PONG', origin: 'https://ui.perfetto.dev'})); }}; globalThis.opened = [];
      window.open = (u) => (opened.push(u), other); [...document.querySelectorAll('button')].find((x) => x.textContent === 'open in Perfetto').click()"""
    )
    b.wait("sent.some((m) => m.perfetto)", 20)
    trace = b.value(
        "JSON.parse(new TextDecoder().decode(sent.find((m) => m.perfetto).perfetto.buffer))"
    )
    events = trace if isinstance(trace, list) else trace["traceEvents"]
    report(
        "the events go to Perfetto, on demand alone",
        len([e for e in events if e.get("ph") == "X"]) > 20
        and b.value("opened") == ["https://ui.perfetto.dev"],
        len(events),
    )
    requests = [
        e["params"]["request"]["url"]
        for e in b.events
        if e.get("method") == "Network.requestWillBeSent"
    ]
    report(
        "nothing was asked of any server",
        all(u.startswith(("file:", "data:", "about:")) for u in requests),
        requests,
    )


def main():
    hloscope, root = os.path.abspath(sys.argv[1]), sys.argv[2]
    if not chromium.find():
        skip("what a reader sees and does", "no Chromium here")
        print(f"1..{number}")
        return 0
    # not below TMPDIR: the page shows the path, and its length moves what is drawn beside it
    directory = tempfile.mkdtemp(prefix="hsc-views-", dir="/tmp")
    # The roofs of a roofline are the machine's peaks as they were last measured, under whatever
    # load: those of the pictures are given.
    os.makedirs(f"{directory}/cache")
    with open(f"{directory}/cache/peaks.json", "w") as f:
        json.dump({"device": "cpu", "flops": 211.9e9, "bytes": 12.61e9, "lost": 0.0}, f)
    os.environ["HLOSCOPE_CACHE_DIR"] = f"{directory}/cache"
    inputs = []
    for make in (patterns, ablate, passes, times, difference, runs, doctor):
        path = f"{directory}/{ {'runs': 'run'}.get(make.__name__, make.__name__) }.json"
        with open(path, "w") as f:
            json.dump(make(), f)
        inputs.append(path)
    told = subprocess.run(
        [
            hloscope,
            "stats",
            f"{directory}/run.json",
            "--baseline",
            "devices.cpu.run",
            "--format=json",
        ],
        capture_output=True,
        text=True,
        cwd=directory,
    )
    with open(f"{directory}/stats.json", "w") as f:
        f.write(told.stdout.replace(directory + "/", ""))
    inputs += [f"{directory}/stats.json", stages(f"{directory}/dumps")]
    os.makedirs(f"{directory}/mlp/plugins/profile/one")
    with (
        gzip.open(os.path.join(root, "tests/conformance/profiles/xla_cpu_mlp.xplane.pb.gz")) as f,
        open(f"{directory}/mlp/plugins/profile/one/host.xplane.pb", "wb") as out,
    ):
        shutil.copyfileobj(f, out)
    inputs.append(f"{directory}/mlp")
    page = f"{directory}/page.html"
    made = subprocess.run(
        [hloscope, "report", *inputs, "-o", page, "--title", "views"],
        capture_output=True,
        text=True,
    )
    report("the page is made", made.returncode == 0, made.stderr)
    url = "file://" + page
    with chromium.Chromium(directory) as b:
        for step in (
            lambda: pictures(b, url, os.path.join(root, "tests/browser/views")),
            lambda: diff_pane(b, url),
            lambda: links(b, url),
            lambda: data_and_commands(b, url),
            lambda: schemes(b, url),
            lambda: names(b, url),
            lambda: profile(b, url),
        ):
            try:
                step()
            except (RuntimeError, KeyError, TypeError, IndexError, FileNotFoundError) as error:
                report("a step went through", False, repr(error))
        report("the console is silent", not b.console, "\n".join(map(str, b.console)))
    print(f"1..{number}")
    shutil.rmtree(directory, ignore_errors=True)
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
