"""The Python package records and reads back: contexts, decorators, attributes, pause, errors,
tables, exports; with the standard library alone."""

import gc
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

number = 0
failed = 0


def check(name, holds, more=""):
    global number, failed
    number += 1
    failed += not holds
    print(("ok" if holds else "not ok"), number, "-", name)
    if not holds:
        print("#", str(more).replace("\n", "\n# "))


CPP = """
#include <hloscope/capture.h>
#include <hloscope/run.h>
#include <hloscope/trace.h>
#include <cstdio>
int main(int, char **argv) {
  hsc_recorder_options options{};
  options.path = argv[1];
  hsc_recorder *recorder = nullptr;
  if (hsc_status *status = hsc_recorder_open(&options, &recorder)) return std::puts(hsc_api_status_text(status)), 1;
  hsc_span_end(recorder, hsc_span_begin(recorder, HSC_CATEGORY_USER, hsc_recorder_intern(recorder, "from C++"), nullptr, 0), nullptr, 0);
  hsc_recorder_close(recorder);
  char *json = nullptr;
  if (hsc_status *status = hsc_capture_view_json(argv[1], "summary", nullptr, &json)) return std::puts(hsc_api_status_text(status)), 1;
  std::puts(json);
  hsc_api_text_free(json);
}
"""


def from_cpp(directory, root):
    compiler, libraries = shutil.which("c++"), os.environ["HLOSCOPE_LIBRARY_DIR"]
    if not compiler:
        return
    program = os.path.join(directory, "program")
    made = subprocess.run(
        [
            compiler,
            "-std=c++17",
            "-Wall",
            "-Werror",
            "-I" + os.path.join(root, "include"),
            "-x",
            "c++",
            "-",
            "-o",
            program,
            "-L" + libraries,
            "-lhloscope",
            "-Wl,-rpath," + libraries,
        ],
        input=CPP,
        capture_output=True,
        text=True,
    )
    ran = (
        subprocess.run(
            [program, os.path.join(directory, "cpp.hsc")], capture_output=True, text=True
        )
        if made.returncode == 0
        else made
    )
    check(
        "a C++ program records and reads",
        ran.returncode == 0 and "from C++" in ran.stdout,
        made.stderr + ran.stdout,
    )
    if ran.returncode == 0:
        label = subprocess.run([program, "/dev/null/x.hsc"], capture_output=True, text=True)
        check(
            "and is reported what is wrong with a path",
            label.returncode == 1
            and "cannot make the directory" in label.stdout
            and "Not a directory" in label.stdout,
            label.stdout,
        )


def main():
    hloscope_binary, package, directory = (
        sys.argv[1],
        sys.argv[2],
        tempfile.mkdtemp(prefix="hsc-python-"),
    )
    sys.path.insert(0, package)
    import hloscope

    @hloscope.record
    def decorated(x):
        return x + 1

    check("outside of a profile a decorated function runs", decorated(1) == 2)
    with hloscope.profile(os.path.join(directory, "a.hsc"), pjrt=False) as p:
        with p.record("outer", batch=3, rate=0.5, who="me") as span:
            decorated(1)
            span.set(loss=2.5)
        p.pause()
        decorated(2)
        with hloscope.record("unseen"):
            pass
        p.resume()
        try:
            with hloscope.record("bad <b>", category="transfer"):
                raise ValueError("why")
        except ValueError:
            pass
        hloscope.counter("loss", 1.5)
        hloscope.instant("now", step=7)
    decorated(3)
    with hloscope.profile(os.path.join(directory, "calls.hsc")) as calls:
        decorated(4)
    notes = " ".join(calls.table().notes)
    check("a profile that ended is not called one that did not", "did not end" not in notes, notes)
    rows = p.table("events").rows
    names = [row["name"] for row in rows]
    check(
        "what was open is there, what was paused is not",
        names == ["outer", "main.<locals>.decorated", "bad <b>", "loss", "now"],
        names,
    )
    try:
        import pandas
    except ImportError:
        check("durations of a data frame # SKIP pandas is not installed for this Python", True)
    else:
        frames = {d: p.table("events").to_pandas(d) for d in ("ns", "seconds", "timedelta")}
        for name, frame in frames.items():
            frames[name] = frame[frame["name"] == "outer"]  # events of a moment have no duration
        whole = frames["ns"]["dur"]
        check(
            "durations of a data frame: whole numbers, seconds, timedelta",
            len(whole) == 1
            and frames["ns"].attrs["units"]["dur"] == "ns"
            and frames["seconds"].attrs["units"]["dur"] == "s"
            and ((frames["seconds"]["dur"] * 1e9 - whole).abs() < 1).all()
            and str(frames["timedelta"]["dur"].dtype).startswith("timedelta64")
            and (frames["timedelta"]["dur"] == pandas.to_timedelta(whole, unit="ns")).all(),
            frames["timedelta"].dtypes,
        )
    check(
        "attributes of begin and end",
        rows[0]["attributes"] == "batch=3 rate=0.5 who=me loss=2.5",
        rows[0],
    )
    check("a span in a span has a parent", rows[1]["parent_id"] == rows[0]["span_id"])
    check(
        "an exception is an attribute",
        rows[2]["attributes"] == "error=ValueError: why" and rows[2]["category"] == "transfer",
        rows[2],
    )
    check("sql", p.sql("select count(*) as n from events where kind = 'span'").rows == [{"n": 3}])
    check(
        "html is escaped",
        "bad &lt;b&gt;" in p.table("events")._repr_html_()
        and "<b>" not in p.table("events")._repr_html_(),
    )
    check(
        "a table prints",
        "outer" in repr(p.table("summary")) and "ms" in repr(p.table("summary")) + " ms",
    )
    for wrong, text in [
        (lambda: p.table("sumary").rows, "did you mean 'summary'"),
        (lambda: p.sql("select nope from events").rows, "no such column"),
        (lambda: hloscope.open_capture("nowhere.hsc").table().rows, "nowhere.hsc"),
        (lambda: p.export("perfeto", "x"), "did you mean 'perfetto'"),
    ]:
        try:
            wrong()
            check(f"an error says {text}", False)
        except hloscope.Error as error:
            check(f"an error says {text}", text in str(error), error)
    try:
        hloscope.profile("x", categories=["kernel"])
        check("an unknown category is refused", False)
    except ValueError as error:
        check("an unknown category is refused", "operator" in str(error))
    hloscope.category("data loading")
    with hloscope.profile(
        os.path.join(directory, "own.hsc"), categories=["data loading"], pjrt=False
    ) as own:
        hloscope.category("evaluation")
        with own.record("read", category="data loading"):
            pass
        with own.record("unseen", category="evaluation"):
            pass
    check(
        "a program's own categories",
        [(row["name"], row["category"]) for row in own.table("events").rows]
        == [("read", "data loading")],
        own.table("events").rows,
    )
    chrome = json.load(open(p.export("chrome", os.path.join(directory, "a.json"))))
    check("export", sum(e["ph"] == "X" for e in chrome["traceEvents"]) == 3)
    for _ in range(50):
        p.table("events").__arrow_c_array__()  # capsules that nobody takes are released
    gc.collect()
    check("arrow capsules come and go", True)

    with hloscope.profile(
        os.path.join(directory, "b.hsc"), categories=["transfer"], pjrt=False
    ) as q:
        with q.record("user span"):
            with q.record("moved", category="transfer"):
                pass
    check("categories choose", [row["name"] for row in q.table("events")] == ["moved"])

    # A process that records is paused and resumed from outside, and killed: what was recorded is
    # there.
    code = (
        "import sys, time; sys.path.insert(0, sys.argv[1]); import hloscope\np ="
        " hloscope.profile(sys.argv[2], pjrt=False).start()\ni = 0\nwhile True:\n    with"
        " p.record('step'): i += 1\n    time.sleep(0.001)\n    print(i, flush=True)\n"
    )
    path = os.path.join(directory, "c.hsc")
    child = subprocess.Popen(
        [sys.executable, "-c", code, package, path], stdout=subprocess.PIPE, text=True
    )

    def wait_for(steps):
        seen = 0
        for line in child.stdout:
            seen = int(line)
            if seen >= steps:
                break
        return seen

    def command(*args):
        return subprocess.run(
            [hloscope_binary, "trace", "--pid", str(child.pid), *args],
            capture_output=True,
            text=True,
        )

    wait_for(50)
    paused = command("--pause")
    check(
        "paused from outside",
        paused.returncode == 0 and "1 recording" in paused.stderr,
        paused.stderr,
    )
    before = len(hloscope.open_capture(path).table("events"))
    steps = wait_for(150)
    after = len(hloscope.open_capture(path).table("events"))
    check("nothing is taken while paused", before == after < steps - 50, (before, after, steps))
    command("--resume")
    wait_for(steps + 200)
    os.kill(child.pid, signal.SIGKILL)
    child.wait()
    last = len(hloscope.open_capture(path).table("events"))
    check("resumed, and readable after kill -9", last >= after + 50, (after, last))
    gone = subprocess.run(
        [hloscope_binary, "trace", "--pid", str(child.pid), "--pause"],
        capture_output=True,
        text=True,
    )
    check(
        "a process that is not there is named",
        gone.returncode == 1 and str(child.pid) in gone.stderr,
        gone.stderr,
    )
    from_cpp(directory, os.path.dirname(package))
    print(f"1..{number}")
    subprocess.run(["rm", "-rf", directory])
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
