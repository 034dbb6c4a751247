"""The first view of every page that hloscope writes: sentence, one bar of parts that do not
overlap, three numbers, what to do; on a desk and on a telephone, light and dark, without scrolling.

    test_first_view.py HLOSCOPE SOURCE_ROOT
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import chromium
import test_views as documents

MODEL = "models/patterns/small_natural.hlo"
SCREENS = [(1400, 900), (390, 844)]
# What is wrong with what is seen first, in words.
FAULTS = """(() => {
  const faults = [], lead = document.querySelector('main .lead'), head = document.querySelector('h2');
  if (!lead) return ['there is no first view'];
  const inside = (e) => { const r = e.getBoundingClientRect(); return r.top >= 0 && r.bottom <= innerHeight && r.left >= 0 && r.right <= innerWidth + 0.5; };
  for (const e of [lead, ...lead.querySelectorAll('.answer, .bar, .keys span, .card, .next')]) if (!inside(e)) faults.push('not on the screen: ' + e.className + ' ' + e.textContent.slice(0, 60));
  if (!lead.querySelector('.answer')) faults.push('no sentence');
  const bars = lead.querySelectorAll('.bar'), parts = [...lead.querySelectorAll('.bar > div')].map((e) => e.getBoundingClientRect());
  if (bars.length !== 1) faults.push(bars.length + ' bars');
  if (!lead.querySelector('.next')) faults.push('nothing to do next');
  parts.slice(1).forEach((r, i) => { if (r.left < parts[i].right - 0.5) faults.push('parts overlap'); });
  if (parts.length !== lead.querySelectorAll('.keys span i').length) faults.push('a part without its name');
  if (lead.querySelectorAll('.card').length > 3) faults.push('more than three numbers');
  if (document.documentElement.scrollWidth > innerWidth) faults.push('wider than the screen');
  if (/NaN|undefined|Infinity|\\bnan\\b|\\binf\\b/.test(lead.textContent)) faults.push(lead.textContent);
  return faults;
})()"""


def write_documents(folder):
    """One document of each kind that the report page has a first view of."""
    paths = []
    makers = {
        "patterns": documents.patterns,
        "ablate": documents.ablate,
        "list": documents.passes,
        "time": documents.times,
        "difference": documents.difference,
        "run": documents.runs,
        "doctor": documents.doctor,
    }
    for name, make in makers.items():
        paths.append(os.path.join(folder, name + ".json"))
        with open(paths[-1], "w") as f:
            json.dump(make(), f)
    return paths


def write_pages(hloscope, root, folder):
    """Every command that writes a page, and the report of every kind: name -> path."""
    pages, said = {}, ""

    def hloscope_says(*arguments):
        nonlocal said
        done = subprocess.run([hloscope, *arguments], cwd=root, capture_output=True, text=True)
        said += done.stderr if done.returncode else ""
        return done.stdout

    def command(name, output, *arguments):
        hloscope_says(*arguments)
        pages[name] = output

    # as paths of programs are: longer than a telephone is wide
    model = os.path.join(folder, "a_folder_whose_name_is_longer_than_a_telephone_is_wide")
    os.mkdir(model)
    model = shutil.copy(os.path.join(root, MODEL), model)
    runs = [os.path.join(folder, name) for name in ("run.json", "runs of another.json")]
    for run in runs:
        with open(run, "w") as f:
            f.write(hloscope_says("run", model, "--format=json"))
    page = os.path.join(folder, "runs.html")
    command("report of two runs", page, "report", *runs, "-o", page)
    for path in write_documents(folder):
        page = path[: -len("json")] + "html"
        command(f"report of {os.path.basename(path)}", page, "report", path, "-o", page)
    page = os.path.join(folder, "diff.html")
    command("passes diff", page, "passes", "diff", model, "-o", page)
    page = os.path.join(folder, "show.html")
    command("passes show", page, "passes", "show", model, "-o", page)
    page = os.path.join(folder, "passes")
    command("passes report", page + "/report.html", "passes", "report", model, "-o", page)
    return pages, said


def faults_of(browser, url):
    found = []
    browser.open("file://" + url, width=SCREENS[0][0], height=SCREENS[0][1])
    for width, height in SCREENS:
        for dark in (False, True):
            browser.look(width=width, height=height, dark=dark)
            theme = "dark" if dark else "light"
            browser.value(f"document.documentElement.dataset.theme = '{theme}'")
            browser.settle()
            found += [f"{width}x{height} {theme}: {fault}" for fault in browser.value(FAULTS)]
    return found


def main():
    hloscope, root = os.path.abspath(sys.argv[1]), sys.argv[2]
    if not chromium.find():
        documents.skip("the first view of every page", "no Chromium here")
        print("1..1")
        return 0
    folder = tempfile.mkdtemp(prefix="hsc-first-")
    pages, said = write_pages(hloscope, root, folder)
    documents.report("the pages are made", not said, said)
    styles = set()
    with chromium.Chromium(folder) as browser:
        for name, path in pages.items():
            found = faults_of(browser, path)
            documents.report(f"{name}: the answer is on the first screen", not found, found)
            styles.add(browser.value("document.querySelector('style').textContent"))
        documents.report("all pages have one stylesheet", len(styles) == 1, len(styles))
        documents.report("the console is silent", not browser.console, browser.console)
    print(f"1..{documents.number}")
    shutil.rmtree(folder, ignore_errors=True)
    return documents.failed > 0


if __name__ == "__main__":
    sys.exit(main())
