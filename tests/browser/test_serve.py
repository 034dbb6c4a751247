"""hloscope serve: the listing, each kind of file, tokens, paths that lead out, ranges of a timeline
and of bytes, Ctrl-C; in Chromium, that zooming asks for pieces.

test_serve.py HLOSCOPE SOURCE_ROOT
"""

import base64
import html as html_module
import http.client
import json
import os
import re
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request

from test_report import chromium, record, report, skip, write
import test_report

ZOOM = """
{
  const canvas = document.querySelector('.timeline canvas');
  for (let i = 0; i < 12; i++) canvas.dispatchEvent(new KeyboardEvent('keydown', {key: 'w', cancelable: true}));
  setTimeout(() => { document.title = JSON.stringify({asked, pieces: canvas.hscPieces || 0}); }, 1500);
}
"""


def get(url, **headers):
    """Status, body and headers."""
    try:
        with urllib.request.urlopen(
            urllib.request.Request(url, headers=headers), timeout=60
        ) as answer:
            return answer.status, answer.read(), answer.headers
    except urllib.error.HTTPError as error:
        return error.code, error.read(), error.headers


def raw(port, path, method="GET", host=None):
    """As a client that does not tidy the path would ask."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    connection.putrequest(method, path, skip_host=host is not None)
    if host is not None:
        connection.putheader("Host", host)
    connection.endheaders()
    status = connection.getresponse().status
    connection.close()
    return status


def data_of(html):
    return json.loads(re.search(rb'<script[^>]*id="data"[^>]*>(.*?)</script>', html, re.S).group(1))


def main():
    hloscope, root = sys.argv[1], sys.argv[2]
    directory = os.path.realpath(tempfile.mkdtemp(prefix="hsc-serve-"))
    served = f"{directory}/served"
    os.makedirs(f"{served}/inner")
    write(f"{directory}/secret.json", {"secret": 1})
    write(f"{served}/inner/odd name & <b>.json", {"checks": []})
    write(f"{served}/broken.json", {})
    open(f"{served}/broken.json", "w").write("{")
    os.symlink(f"{directory}/secret.json", f"{served}/link.json")
    capture, _ = record(served, os.path.join(root, "python"), 200000)
    open(f"{served}/notes.txt", "w").write("not for the page")
    server = subprocess.Popen(
        [hloscope, "serve", served], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    url = server.stdout.readline().strip()
    if not url:
        message = server.stderr.read()
        report(
            "without libmicrohttpd the command says so",
            server.wait() == 3 and "libmicrohttpd" in message,
            message,
        )
        print(f"1..{test_report.number}")
        return test_report.failed > 0
    port, token = re.fullmatch(r"http://127\.0\.0\.1:(\d+)/([0-9a-f]{32})/", url).groups()
    port = int(port)

    status, html, headers = get(url)
    names = {e["name"]: e["kind"] for e in data_of(html)["parts"][0]["json"]["entries"]}
    report(
        "the directory is listed",
        status == 200
        and names.get("capture.hsc") == "capture"
        and names.get("inner/odd name & <b>.json") == "json"
        and "notes.txt" not in names,
        names,
    )
    report(
        "nothing of it is kept or framed",
        headers["Cache-Control"] == "no-store"
        and headers["X-Content-Type-Options"] == "nosniff"
        and headers["X-Frame-Options"] == "DENY",
        headers,
    )
    status, html, _ = get(url + "view/inner/odd%20name%20%26%20%3Cb%3E.json")
    report(
        "a result opens in the page",
        status == 200 and data_of(html)["parts"][0]["kind"] == "doctor",
        status,
    )
    status, html, _ = get(url + "view/capture.hsc")
    timeline = data_of(html)["parts"][0]["json"]["timeline"]
    report(
        "a big capture opens as a piece of its timeline",
        status == 200
        and timeline["events"] >= 200000
        and sum(l["count"] for l in timeline["lanes"]) < 60000
        and timeline["remote"].endswith("range/capture.hsc"),
        timeline.get("events"),
    )
    report("only a served page may ask its server", b"connect-src 'self'" in html, html[:600])

    ends = timeline["end_ticks"]
    status, body, _ = get(
        f"{url}range/capture.hsc?from={ends * 0.2:.0f}&to={ends * 0.8:.0f}&pixels=1000"
    )
    piece = json.loads(body)
    start, duration = (
        struct.unpack(f"<{len(base64.b64decode(piece[k])) // 4}I", base64.b64decode(piece[k]))
        for k in ("start", "duration")
    )
    inside = all(s <= piece["to"] and s + d >= piece["from"] for s, d in zip(start, duration))
    report(
        "a range gives what lies in it", status == 200 and inside and len(start) > 100, len(start)
    )
    status, body, _ = get(f"{url}range/capture.hsc?from=5&to=1&pixels=999999999")
    report(
        "an upside-down range is the whole",
        status == 200 and json.loads(body)["from"] == 0,
        body[:200],
    )
    status, body, _ = get(f"{url}range/capture.hsc?from=nan&to=inf&pixels=x")
    report("numbers that are none are passed over", status == 200, body[:200])

    report(
        "a wrong token is refused",
        get(f"http://127.0.0.1:{port}/{'0' * 32}/")[0] == 403
        and get(f"http://127.0.0.1:{port}/")[0] == 403
        and get(url[:-2] + "/")[0] == 403,
    )
    outside = [
        "view/../secret.json",
        "view/%2e%2e/secret.json",
        "view/..%2fsecret.json",
        "view/inner/../../secret.json",
        "view//etc/passwd",
        "file/link.json",
        "view/notes.txt",
        "view/",
        "view",
        "file/../../../../../etc/passwd",
        "view/%00",
    ]
    codes = {path: raw(port, f"/{token}/{path}") for path in outside}
    report("paths that lead out are not found", all(code == 404 for code in codes.values()), codes)
    report(
        "other methods and names are refused",
        raw(port, f"/{token}/", method="POST") == 405
        and raw(port, f"/{token}/", host="evil.example") == 403
        and raw(port, f"/{token}/", host=f"localhost:{port}") == 200,
    )
    status, body, _ = get(url + "view/broken.json")
    report("a broken file is said to be so", status == 500 and b"broken.json:1" in body, body)
    status, body, headers = get(
        url + "file/inner/odd%20name%20%26%20%3Cb%3E.json", Range="bytes=2-7"
    )
    report(
        "files are given in ranges",
        status == 206 and body == b"checks" and headers["Content-Range"].startswith("bytes 2-7/"),
        (status, body, headers.get("Content-Range")),
    )
    plain = url + "file/inner/odd%20name%20%26%20%3Cb%3E.json"
    length = os.path.getsize(f"{served}/inner/odd name & <b>.json")
    ranges = {
        "bytes=5-2": 200,
        "bytes=99999999-": 416,
        "bytes=18446744073709551615-": 416,
        "bytes=99999999999999999999999-": 416,
        f"bytes={length}-": 416,
        "bytes=-0": 416,
        "bytes=-999": 206,
        "bytes=0-18446744073709551615": 206,
        "bytes=x-": 200,
        "bytes=-": 200,
        "bytes=0-1,3-4": 200,
        f"bytes={length - 1}-": 206,
    }
    codes = {r: get(plain, Range=r)[0] for r in ranges}
    report("ranges that name nothing are 416 and none ends the server", codes == ranges, codes)
    status, _, headers = get(plain, Range="bytes=99999999-")
    report(
        "416 says how long the file is",
        headers["Content-Range"] == f"bytes */{length}",
        headers["Content-Range"],
    )
    os.mkfifo(f"{served}/pipe.json")
    report(
        "a pipe is neither listed nor waited for",
        raw(port, f"/{token}/view/pipe.json") == 404 and b"pipe.json" not in get(url)[1],
    )
    half_open = [socket.create_connection(("127.0.0.1", port)) for _ in range(100)]
    for one in half_open:
        one.sendall(b"GET / HTTP/1.1\r\nHost: ")
    report("a hundred half-open connections keep nobody waiting", get(plain)[0] == 200)
    for one in half_open:
        one.close()
    twice = socket.create_connection(("127.0.0.1", port))
    twice.sendall(
        f"GET /{token}/ HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nHost: evil.example\r\n\r\n".encode()
    )
    first = twice.recv(64)
    twice.close()
    report("two Host headers are refused", b" 403 " in first or b" 400 " in first, first)
    with open("/proc/net/tcp") as f:
        local = [
            line.split()[1]
            for line in f
            if f":{port:04X} " in line.split()[1] + " " and line.split()[3] == "0A"
        ]
    report(
        "it listens on this machine alone",
        local and all(address.startswith("0100007F:") for address in local),
        local,
    )

    seen = chromium_at(url + "view/capture.hsc")
    if seen is None:
        skip("the page in a browser", "no Chromium here")
    else:
        report("the page in a browser has no error", not seen[1], seen[1])
        report("its timeline is drawn", "timeline" in seen[0], seen[0][:300])
        # The same page with a server of its own: zooming in asks for a narrower piece, and draws
        # what comes.
        stub = (
            "window.asked = []; window.fetch = async (u) => { asked.push(u); return {ok: true,"
            " json: async () => (" + json.dumps(piece).replace("<", "\\u003c") + ")}; };"
        )
        page = f"{directory}/page.html"
        open(page, "wb").write(
            get(url + "view/capture.hsc")[1].replace(
                b"<body>", b"<body><script>" + stub.encode() + b"</script>", 1
            )
        )
        title, console, _ = chromium(page, ZOOM, waits=True)
        found = (
            json.loads(html_module.unescape(title))
            if title.startswith("{")
            else {"asked": [], "pieces": 0, "title": title}
        )
        asked = [
            tuple(float(v) for v in re.findall(r"(?:from|to)=(\d+)", u)) for u in found["asked"]
        ]
        report(
            "zooming in asks for a piece and draws it",
            found["pieces"] >= 1
            and asked
            and asked[-1][1] - asked[-1][0] < ends / 4
            and not console,
            (found, console),
        )

    server.send_signal(signal.SIGINT)
    try:
        code = server.wait(10)
    except subprocess.TimeoutExpired:
        server.kill()
        code = None
    report("Ctrl-C ends it", code == 0 and "ended" in server.stderr.read(), code)
    done = subprocess.run(
        [hloscope, "serve", f"{served}/broken.json"], capture_output=True, text=True
    )
    report(
        "a file is not a directory",
        done.returncode == 1 and "hloscope report" in done.stderr,
        done.stderr,
    )
    done = subprocess.run([hloscope, "serve", f"{directory}/none"], capture_output=True, text=True)
    report(
        "a missing directory is said to be so",
        done.returncode == 1 and "none" in done.stderr,
        done.stderr,
    )
    print(f"1..{test_report.number}")
    return test_report.failed > 0


def chromium_at(url):
    """The document's markup after a while, and what the console said."""
    import shutil

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
    with tempfile.TemporaryDirectory() as profile:
        done = subprocess.run(
            [
                binary,
                "--headless=new",
                "--no-sandbox",
                "--disable-gpu",
                "--enable-logging=stderr",
                "--v=0",
                "--timeout=30000",
                f"--user-data-dir={profile}",
                "--dump-dom",
                "--virtual-time-budget=4000",
                url,
            ],
            capture_output=True,
            text=True,
            timeout=120,
        )
    return done.stdout, [line for line in done.stderr.split("\n") if "CONSOLE" in line]


if __name__ == "__main__":
    sys.exit(main())
