#!/usr/bin/env python3
"""TensorBoard's own page over the log directories that hloscope exports, in headless Chromium:
every tool opens, and shows rows.

    test_tensorboard.py HLOSCOPE SOURCE_ROOT        speaks TAP

Needs a Python with tensorboard and xprof (HLOSCOPE_XPROF_PYTHON) and Chromium (HLOSCOPE_CHROMIUM,
or one on the PATH); skipped with the reason without. Google's chart loader, which the pages fetch
from the network, is answered by google_charts_stub.js: it notes what the page draws.
"""

import base64
import gzip
import json
import os
import pathlib
import select
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request

hloscope, root = os.path.abspath(sys.argv[1]), pathlib.Path(sys.argv[2])
python = os.environ.get("HLOSCOPE_XPROF_PYTHON", sys.executable)
chromium = os.environ.get("HLOSCOPE_CHROMIUM") or next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
STUB = base64.b64encode(
    (pathlib.Path(__file__).resolve().parent / "google_charts_stub.js").read_bytes()
).decode()
results = []


def check(name, good, why=""):
    results.append(bool(good))
    print(
        f"{'ok' if good else 'not ok'} {len(results)} - {name}"
        + ("" if good else "\n" + "\n".join("# " + line for line in str(why)[:1500].splitlines())),
        flush=True,
    )


class Browser:
    """Chromium by its debugging pipe: messages of JSON that end with a zero byte."""

    def __init__(self, directory):
        (read, self.write), (self.read, write) = os.pipe(), os.pipe()
        options = [
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--remote-debugging-pipe",
            "--window-size=1400,2000",
            f"--user-data-dir={directory}",
            "about:blank",
        ]
        self.process = subprocess.Popen(
            ["sh", "-c", f'exec "$0" "$@" 3<&{read} 4>&{write}', chromium, *options],
            pass_fds=(read, write),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(read), os.close(write)
        self.buffer, self.number, self.session, self.errors = b"", 0, None, []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)[
            "sessionId"
        ]
        for domain in ("Page", "Runtime"):
            self.call(domain + ".enable")
        self.call(
            "Fetch.enable", patterns=[{"urlPattern": "*gstatic*"}, {"urlPattern": "*googleapis*"}]
        )

    def send(self, method, **params):
        self.number += 1
        message = {"id": self.number, "method": method, "params": params} | (
            {"sessionId": self.session} if self.session else {}
        )
        os.write(self.write, json.dumps(message).encode() + b"\0")
        return self.number

    def receive(self, seconds):
        end = time.monotonic() + seconds
        while b"\0" not in self.buffer:
            left = end - time.monotonic()
            if left <= 0 or not select.select([self.read], [], [], left)[0]:
                return None
            piece = os.read(self.read, 1 << 16)
            if not piece:
                raise SystemExit("the browser ended")
            self.buffer += piece
        text, self.buffer = self.buffer.split(b"\0", 1)
        message = json.loads(text)
        if message.get("method") == "Fetch.requestPaused":
            script = "charts/loader" in message["params"]["request"]["url"]
            self.send(
                "Fetch.fulfillRequest",
                requestId=message["params"]["requestId"],
                responseCode=200,
                body=STUB if script else "",
                responseHeaders=[
                    {"name": "Content-Type", "value": "text/javascript" if script else "text/css"}
                ],
            )
        elif message.get("method") == "Runtime.exceptionThrown":
            details = message["params"]["exceptionDetails"]
            self.errors.append(
                details.get("exception", {}).get("description", details.get("text", ""))
            )
        return message

    def call(self, method, **params):
        number = self.send(method, **params)
        end = time.monotonic() + 60
        while time.monotonic() < end:
            message = self.receive(end - time.monotonic())
            if message and message.get("id") == number:
                if "error" in message:
                    raise RuntimeError(message["error"])
                return message["result"]
        raise TimeoutError(method)

    def value(self, expression):
        return self.call("Runtime.evaluate", expression=expression, returnByValue=True)[
            "result"
        ].get("value")

    def open(self, url, ready, seconds=40):
        """What `ready` (JavaScript) gives, once it gives something; None when it does not within
        the time."""
        self.errors.clear()
        self.call("Page.navigate", url=url)
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.receive(0.3)
            try:
                found = self.value(ready)
            except (RuntimeError, TimeoutError):
                continue
            if found:
                return found
        return None


# What a tool's page must show: rows that it draws, or words that are on it.
ROWS = (
    "(window.__drawn || []).filter(d => d.rows > 0 && d.kind === 'Table').map(d => d.rows).sort((a,"
    " b) => b - a)[0] || 0"
)
TEXT = "document.body && document.body.innerText || ''"
# The trace viewer draws on a canvas: what it fetched, in the page or in a frame of it, is asked
# instead.
FETCHED = """[window, ...[...document.querySelectorAll('iframe')].map(f => f.contentWindow)].flatMap(w => { try { return w.performance.getEntriesByType('resource') } catch (e) { return [] } })
  .filter(e => /data\\?.*tag=trace_viewer/.test(e.name) && e.decodedBodySize > 5000).length"""


def tensorboard_page(browser, base, run):
    """TensorBoard itself: its tab shows the plugin in a frame."""
    frame = browser.open(
        base + "/#profile",
        "(() => { const f = document.querySelector('iframe'); try { return f &&"
        " f.contentDocument.body.innerText.includes('Tools') && f.contentDocument.body.innerText }"
        " catch (e) { return null } })()",
    )
    check("TensorBoard's page shows the profile plugin with our run", frame and run in frame, frame)


def tools_of(base, run):
    with urllib.request.urlopen(f"{base}/data/plugin/profile/run_tools?run={run}") as answer:
        data = answer.read()
    return json.loads(gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data)


def visit(browser, base, run, host, tool, words):
    """Goes to the tool as a click in the page's list does, and waits for its rows or words."""
    url = f"/data/plugin/profile/{tool}?run={run}&tag={tool}&host={host}"
    browser.errors.clear()
    browser.value(
        f"window.__drawn = []; history.pushState(null, '', {json.dumps(url)});"
        " window.dispatchEvent(new PopStateEvent('popstate')); 1"
    )
    rows = FETCHED if tool.startswith("trace_viewer") else ROWS
    ready = (
        f"(() => {{ const rows = {rows}, text = {TEXT}; const found = {json.dumps(words)}.filter(w"
        " => text.includes(w)); return rows > 0 || found.length ? JSON.stringify({rows, found})"
        " : null })()"
    )
    seen, end = None, time.monotonic() + 25
    while not seen and time.monotonic() < end:
        browser.receive(0.3)
        seen = browser.value(ready)
    check(
        f"{tool} opens and shows rows",
        seen and not browser.errors,
        (
            seen,
            browser.errors[:3],
            browser.value("JSON.stringify((window.__drawn || []).map(d => [d.kind, d.rows]))"),
            (browser.value(TEXT) or "")[-600:],
        ),
    )
    return seen


def main():
    with tempfile.TemporaryDirectory(
        prefix="hloscope-tensorboard-", ignore_cleanup_errors=True
    ) as scratch:
        logs = os.path.join(scratch, "logs")
        profile = root / "tests" / "conformance" / "profiles" / "xla_cpu_mlp.xplane.pb.gz"
        subprocess.run(
            [hloscope, "export", str(profile), "--to=tensorboard", "-o", logs],
            check=True,
            capture_output=True,
        )
        run = os.listdir(os.path.join(logs, "plugins", "profile"))[0]
        host = next(
            f
            for f in os.listdir(os.path.join(logs, "plugins", "profile", run))
            if f.endswith(".xplane.pb")
        )[: -len(".xplane.pb")]
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        server = subprocess.Popen(
            [
                python,
                "-m",
                "tensorboard.main",
                "--logdir",
                logs,
                "--host",
                "127.0.0.1",
                "--port",
                str(port),
                "--load_fast=false",
            ],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        base, browser = f"http://127.0.0.1:{port}", None
        try:
            for _ in range(120):
                try:
                    urllib.request.urlopen(base + "/data/plugin/profile/runs").read()
                    break
                except OSError:
                    time.sleep(0.5)
            browser = Browser(os.path.join(scratch, "chromium"))
            tensorboard_page(browser, base, run)
            # memory_profile is of allocations over time, which XLA:CPU does not record: it opens
            # and says so.
            words = {
                "memory_profile": ["There is no memory profile"],
                "op_profile": ["jit_train_step"],
                "graph_viewer": ["Graph"],
                "memory_viewer": ["Peak", "peak"],
                "overview_page": ["Step Time"],
            }
            tools = tools_of(base, run)
            check(
                "every tool of a device profile is offered",
                {
                    "overview_page",
                    "framework_op_stats",
                    "hlo_stats",
                    "op_profile",
                    "roofline_model",
                    "memory_viewer",
                    "graph_viewer",
                }
                <= {t.rstrip("@") for t in tools},
                tools,
            )
            browser.open(base + "/data/plugin/profile/index.html", f"({TEXT}).includes('Tools')")
            for tool in tools:
                print(
                    "#",
                    tool,
                    visit(browser, base, run, host, tool, words.get(tool, [])),
                    flush=True,
                )
        finally:
            if browser:
                browser.process.kill()
                browser.process.wait()
            server.kill()
            server.wait()
    print(f"1..{len(results)}")
    sys.exit(0 if all(results) else 1)


if not chromium:
    print("1..0 # SKIP no Chromium (HLOSCOPE_CHROMIUM names one)")
elif subprocess.run([python, "-c", "import tensorboard, xprof"], capture_output=True).returncode:
    print(
        f"1..0 # SKIP {python} has no tensorboard with xprof (HLOSCOPE_XPROF_PYTHON names one that"
        " has)"
    )
else:
    main()
