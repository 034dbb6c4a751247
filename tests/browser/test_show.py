#!/usr/bin/env python3
"""The page of `hloscope passes show`: a slider over the stages, and an instruction that is followed
through them, back to its line of source. In headless Chromium; skipped by name without one.

    test_show.py HLOSCOPE SOURCE_ROOT
"""

import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import chromium

MODEL = "models/patterns/mlp_scan.hlo"
SCREENS = ((1400, 900), (390, 844))
number = failed = 0


def report(name, holds, more=""):
    global number, failed
    number += 1
    failed += not holds
    print(("ok" if holds else "not ok"), number, "-", name)
    if not holds:
        print("#", str(more)[:2000].replace("\n", "\n# "))


# Clicks the instruction in the stage that is shown, where `only what differs` may hide it.
FOLLOW = """(() => {
  const row = [...document.querySelectorAll('.diff-row')].find((e) => e.textContent.includes('%NAME = '));
  if (!row) return 'no such row';
  row.click();
  return document.querySelector('.follow').textContent;
})()"""
SLIDE = """(() => {
  const slider = document.querySelector('input[type=range]');
  slider.value = AT;
  slider.dispatchEvent(new Event('input'));
  return [slider.max, document.querySelector('output').textContent,
          document.querySelector('[aria-selected=true]').textContent].join('|');
})()"""
FOLLOWED = "document.querySelectorAll('.diff-row.followed').length"
TRAIL = "[...document.querySelectorAll('.follow button')].map((b) => b.textContent).join('|')"
# The answer and its three numbers are on the first screen, and nothing is wider than it.
FIRST = """(() => {
  const low = (e) => e.getBoundingClientRect().bottom;
  const parts = [...document.querySelectorAll('.answer, .card, input[type=range]')];
  return [parts.length, Math.max(...parts.map(low)) <= innerHeight,
          document.documentElement.scrollWidth <= innerWidth].join('|');
})()"""


def main():
    hloscope, root = os.path.abspath(sys.argv[1]), sys.argv[2]
    folder = tempfile.mkdtemp(prefix="hloscope-show-")
    page = os.path.join(folder, "show.html")
    made = subprocess.run(
        [hloscope, "passes", "show", MODEL, "-o", page], cwd=root, capture_output=True, text=True
    )
    report("one command makes the page", made.returncode == 0 and page in made.stderr, made.stderr)
    model = os.path.join(os.path.abspath(root), MODEL)
    unnamed = subprocess.run(
        [hloscope, "passes", "show", model], cwd=folder, capture_output=True, text=True
    )
    names = [name for name in os.listdir(folder) if name.startswith("hloscope-passes-")]
    report(
        "without --output the name says the command and the time, and is said",
        unnamed.returncode == 0 and len(names) == 1 and names[0] in unnamed.stderr,
        f"{names} {unnamed.stderr}",
    )
    if not chromium.find():
        print(f"ok {number + 1} - the page in a browser # SKIP no Chromium here")
        print(f"1..{number + 1}")
        return failed
    with chromium.Chromium(folder) as browser:
        for width, height in SCREENS:
            browser.open(f"file://{page}", width=width, height=height)
            first = browser.value(FIRST)
            report(f"the first view fits {width}x{height}", first == "5|true|true", first)
        browser.open(f"file://{page}", width=1400, height=900)
        browser.value("document.querySelectorAll('input[type=checkbox]')[1].click()")  # all lines
        last = browser.value(SLIDE.replace("AT", "1e9")).split("|")
        report("the slider goes to the last stage", last[1].startswith(f"stage {last[0]} of"), last)
        start = browser.value(SLIDE.replace("AT", "0")).split("|")
        report("and back to the program as it came", start[1].startswith("stage 0 of"), start)
        browser.value("document.querySelector('.diff').scrollTop = 500")
        browser.settle()
        said = browser.value(FOLLOW.replace("NAME", "dot_general.2"))
        report(
            "a click names the line of Python",
            "graphs.py:" in said and "dot_general" in said,
            said,
        )
        trail = browser.value(TRAIL)
        report(
            "the trail goes through the passes, under other names too",
            "dot_general.2" in trail and len(trail.split("|")) > 2,
            trail,
        )
        browser.value("[...document.querySelectorAll('.follow button')].at(-1).click()")
        browser.settle()
        moved = browser.value(SLIDE.replace("slider.value = AT;", ""))
        report(
            "a step of the trail shows its stage with the instruction marked",
            "stage 0 of" not in moved and ("gone" in trail or browser.value(FOLLOWED) > 0),
            f"{moved} {browser.value(FOLLOWED)}",
        )
        report("the console is silent", not browser.console, browser.console)
    print(f"1..{number}")
    return failed


if __name__ == "__main__":
    sys.exit(main() > 0)
