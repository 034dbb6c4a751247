"""A headless Chromium that is driven through its pipe (DevTools protocol), with the standard
library alone.

with Chromium(directory) as browser:      # None where there is none: Chromium.find()
    browser.open("file:///page.html", width=1300, height=900, dark=False)
    browser.value("document.title")
    browser.key("j")
    png = browser.picture(scale=0.25)
"""

import base64
import json
import os
import select
import shutil
import struct
import subprocess
import time
import zlib

KEYS = {
    "Escape": 27,
    "Enter": 13,
    "Tab": 9,
    "ArrowLeft": 37,
    "ArrowRight": 39,
    "ArrowUp": 38,
    "ArrowDown": 40,
    " ": 32,
}


def find():
    return os.environ.get("HLOSCOPE_CHROMIUM") or next(
        (
            shutil.which(n)
            for n in ("chromium", "chromium-browser", "google-chrome")
            if shutil.which(n)
        ),
        None,
    )


class Chromium:
    def __init__(self, directory):
        self.downloads = os.path.join(directory, "downloads")
        os.makedirs(self.downloads, exist_ok=True)
        to_it, self.out = os.pipe()
        self.inp, from_it = os.pipe()
        # It reads descriptor 3 and writes 4; the shell puts ours there.
        command = [
            find(),
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--hide-scrollbars",
            "--force-device-scale-factor=1",
            "--force-color-profile=srgb",
            "--disable-lcd-text",
            "--font-render-hinting=none",
            f"--user-data-dir={directory}/chromium-pipe",
            "--remote-debugging-pipe",
            "about:blank",
        ]
        shell = f'exec "$@" 3<&{to_it} 4>&{from_it}'
        self.process = subprocess.Popen(
            ["bash", "-c", shell, "bash", *command],
            pass_fds=(to_it, from_it),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(to_it)
        os.close(from_it)
        self.buffer, self.number, self.session, self.events, self.console = b"", 0, None, [], []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)[
            "sessionId"
        ]
        for domain in ("Page", "Runtime", "Log", "DOM", "Accessibility", "Network"):
            self.call(domain + ".enable")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        try:
            self.call("Browser.close")
        except (OSError, RuntimeError):
            pass
        os.close(self.out)
        os.close(self.inp)
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def _message(self, limit):
        while b"\0" not in self.buffer:
            left = limit - time.monotonic()
            if left <= 0 or not select.select([self.inp], [], [], left)[0]:
                raise RuntimeError("Chromium does not answer")
            more = os.read(self.inp, 1 << 20)
            if not more:
                raise RuntimeError("Chromium has ended")
            self.buffer += more
        one, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(one)

    def _event(self, message):
        self.events.append(message)
        p = message.get("params", {})
        if message.get("method") == "Runtime.exceptionThrown":
            self.console.append(
                p["exceptionDetails"].get("exception", {}).get("description")
                or p["exceptionDetails"]["text"]
            )
        elif message.get("method") == "Runtime.consoleAPICalled" and p["type"] in (
            "error",
            "warning",
            "assert",
        ):
            self.console.append(
                " ".join(str(a.get("value", a.get("description"))) for a in p["args"])
            )
        elif message.get("method") == "Log.entryAdded" and p["entry"]["level"] in (
            "error",
            "warning",
        ):
            self.console.append(p["entry"]["text"])

    def call(self, method, **params):
        self.number += 1
        message = {"id": self.number, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.out, json.dumps(message).encode() + b"\0")
        limit = time.monotonic() + 90
        while True:
            answer = self._message(limit)
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]
            self._event(answer)

    def value(self, expression):
        answer = self.call(
            "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True
        )
        if "exceptionDetails" in answer:
            raise RuntimeError(
                answer["exceptionDetails"].get("exception", {}).get("description", "exception")
            )
        return answer["result"].get("value")

    def look(self, width=1300, height=900, dark=False, media=""):
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )
        self.call(
            "Emulation.setEmulatedMedia",
            media=media,
            features=[
                {"name": "prefers-color-scheme", "value": "dark" if dark else "light"},
                {"name": "prefers-reduced-motion", "value": "reduce"},
            ],
        )

    def open(self, url, **look):
        self.look(**look)
        self.call("Page.navigate", url="about:blank")
        self.call("Page.navigate", url=url)
        self.wait("document.readyState === 'complete' && location.href !== 'about:blank'")
        self.settle()

    def settle(self):
        self.value(
            "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() =>"
            " setTimeout(() => done(1), 150))))"
        )

    def wait(self, expression, seconds=60):
        limit = time.monotonic() + seconds
        while not self.value(expression):
            if time.monotonic() > limit:
                raise RuntimeError("never true: " + expression)
            time.sleep(0.05)

    def key(self, key, modifiers=0):
        code = KEYS.get(key) or ord(key.upper())
        text = {"text": key} if len(key) == 1 else {}
        for kind in ("keyDown", "keyUp"):
            self.call(
                "Input.dispatchKeyEvent",
                type=kind,
                key=key,
                windowsVirtualKeyCode=code,
                modifiers=modifiers,
                **(text if kind == "keyDown" else {}),
            )

    def type(self, text):
        self.call("Input.insertText", text=text)

    def click(self, selector):
        box = self.value(
            f"(() => {{ const e = document.querySelector({json.dumps(selector)}); if (!e) return"
            " null; e.scrollIntoView({block: 'center'}); const r = e.getBoundingClientRect();"
            " return [r.x + r.width / 2, r.y + r.height / 2]; })()"
        )
        if not box:
            raise RuntimeError("nothing to click: " + selector)
        for kind in ("mousePressed", "mouseReleased"):
            self.call(
                "Input.dispatchMouseEvent",
                type=kind,
                x=box[0],
                y=box[1],
                button="left",
                clickCount=1,
            )
        self.settle()

    def picture(self, scale=1.0, clip=None):
        if clip is None:
            size = self.call("Page.getLayoutMetrics")["cssContentSize"]
            clip = {"x": 0, "y": 0, "width": size["width"], "height": min(size["height"], 16000)}
        answer = self.call(
            "Page.captureScreenshot",
            format="png",
            captureBeyondViewport=True,
            clip=dict(clip, scale=scale),
        )
        return base64.b64decode(answer["data"])

    def names(self):
        """Roles and names that a screen reader gets."""
        found = []
        for node in self.call("Accessibility.getFullAXTree")["nodes"]:
            if not node.get("ignored"):
                found.append(
                    (node.get("role", {}).get("value"), node.get("name", {}).get("value", ""))
                )
        return found


# ---- pictures ------------------------------------------------------------------------------------


def pixels(png):
    """Width, height and rows of RGB bytes of an 8-bit RGB or RGBA PNG."""
    at, data, header = 8, b"", None
    while at < len(png):
        size, kind = struct.unpack(">I4s", png[at : at + 8])
        if kind == b"IHDR":
            header = struct.unpack(">IIBBBBB", png[at + 8 : at + 8 + size])
        elif kind == b"IDAT":
            data += png[at + 8 : at + 8 + size]
        at += size + 12
    width, height, depth, colour = header[:4]
    if depth != 8 or colour not in (2, 6):
        raise ValueError(f"PNG of depth {depth}, colour type {colour}")
    step, raw, rows, before = 3 if colour == 2 else 4, zlib.decompress(data), [], None
    stride = width * step
    before = bytearray(stride)
    for y in range(height):
        kind, row = (
            raw[y * (stride + 1)],
            bytearray(raw[y * (stride + 1) + 1 : (y + 1) * (stride + 1)]),
        )
        for i in range(stride) if kind else ():
            left, up, corner = (
                row[i - step] if i >= step else 0,
                before[i],
                before[i - step] if i >= step else 0,
            )
            if kind == 1:
                add = left
            elif kind == 2:
                add = up
            elif kind == 3:
                add = (left + up) // 2
            else:
                p = left + up - corner
                a, b, c = abs(p - left), abs(p - up), abs(p - corner)
                add = left if a <= b and a <= c else up if b <= c else corner
            row[i] = (row[i] + add) & 255
        before = row
        rows.append(bytes(row) if step == 3 else bytes(v for i, v in enumerate(row) if i % 4 != 3))
    return width, height, rows


def write_png(width, height, rows):
    """Rows of RGB bytes as a PNG, colours rounded to 32 steps so that it packs well."""

    def chunk(kind, data):
        return (
            struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        )

    raw = b"".join(b"\0" + bytes(v & 0xF8 | v >> 5 for v in row) for row in rows)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
        + chunk(b"IDAT", zlib.compress(raw, 9))
        + chunk(b"IEND", b"")
    )


def difference(a, b, tile=8):
    """Of the tiles that are not plain in both, the share whose mean colours differ by more than 20
    of 255; 1 where the sizes differ by more than a tenth."""
    (wa, ha, ra), (wb, hb, rb) = a, b
    if abs(wa - wb) > 0.1 * wb or abs(ha - hb) > 0.1 * hb + tile:
        return 1.0
    bad = all_tiles = 0
    for y in range(0, min(ha, hb) - tile + 1, tile):
        for x in range(0, min(wa, wb) - tile + 1, tile):
            sums, low, high = [0] * 6, 255, 0
            for k in range(tile):
                pa, pb = ra[y + k][3 * x : 3 * (x + tile)], rb[y + k][3 * x : 3 * (x + tile)]
                for c in range(3):
                    sums[c] += sum(pa[c::3])
                    sums[3 + c] += sum(pb[c::3])
                low, high = min(low, min(pa), min(pb)), max(high, max(pa), max(pb))
            differs = max(abs(sums[c] - sums[3 + c]) for c in range(3)) > 20 * tile * tile
            all_tiles += differs or high - low > 40
            bad += differs
    return bad / max(1, all_tiles)
