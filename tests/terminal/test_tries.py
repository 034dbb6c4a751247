#!/usr/bin/env python3
"""What a new user tries, with every command: a wrong file, a packed file, a pipe, Ctrl-C, a folder
that cannot be written.

    test_tries.py HLOSCOPE ROOT [--only WORD] [--try WORD] [--all] [--verbose]

TAP, a case a command line and try. The rows are the commands of src/cli/commands.def and the verbs
of src/cli/passes_verbs.def: one without a row here fails the test. What is asked of every row:

    a file that cannot be read as what is wanted: exit code 1 or 3, an error of at most 12 lines
        that names the file and says what to do, JSON where JSON was asked for, nothing left behind,
        no more than a few seconds or some hundred megabytes, whatever its size
    the same input under another name, packed, or from a pipe: the same exit code
    a word mistyped: exit code 2 and the word that was meant
    Ctrl-C: the shell's 130 or the command's own end, and no file half written
    head, a full disk, a closed standard output, a read-only folder: no crash, no traceback, a word
"""

import argparse
import contextlib
import json
import os
import pathlib
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time

LIMIT_S = 60
MOST_S = 8  # of the processor, for a file that is not what is wanted
MOST_BYTES = 600 << 20
NOBODY = 65534
PROGRAM = """HloModule two

ENTRY main {
  x = f32[16,16] parameter(0)
  y = f32[16,16] parameter(1)
  d = f32[16,16] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  t = f32[16,16] tanh(d)
  ROOT r = f32[16,16] add(t, y)
}
"""
LOG = (
    "starting\nE0000 RESOURCE_EXHAUSTED: Out of memory allocating 1073741824 bytes.\n"
    + "x" * 300
    + "\n"
)
SCRIPT = "print('started', flush=True)\n"
SHORT = "--time-budget 0.05"


class Row:
    """words: {in} is the input, {out} what is written; kind: which good input there is."""

    def __init__(self, words, kind=None, codes=(0,), suffix="", json=True, refusals=(1, 3), **more):
        self.words, self.kind, self.codes, self.suffix = words, kind, codes, suffix
        self.json, self.refusals = json, refusals
        self.slow = more.get("slow", False)  # seconds: all tries with --all alone
        self.runs = more.get("runs", True)  # False: needs what is not here, so refusals alone
        self.serves = more.get("serves", False)  # prints where it is, and ends when it is told to
        self.feed = more.get("feed", b"")  # what it reads


# command, or command and verb: its row
ROWS = {
    "passes list": Row("passes list {in}", "program"),
    "passes dump": Row("passes dump {in} -o {out}", "program", json=False),
    "passes show": Row("passes show {in} -o {out}", "program", suffix=".html", json=False),
    "passes diff": Row("passes diff {in}", "program"),
    "passes time": Row("passes time {in} --repeats 3", "program"),
    "passes ablate": Row(
        "passes ablate {in} --only dce --processes 1 --blocks 2 --placebos 1 -o {out}",
        "program",
        suffix=".json",
    ),
    "passes validate": Row("passes validate {in}", "program"),
    "passes report": Row("passes report {in} -o {out}", "program", json=False),
    "passes explain": Row("passes explain fusion"),
    "passes autotune": Row("passes autotune {in} --level 1 --fresh", "program", slow=True),
    "passes why": Row("passes why {in}", "program"),
    "trace": Row("trace -o {out} -- {hloscope} run in.hlo --runs 3", json=False),
    "profile": Row("profile {in} --steps 3 -o {out}", "program"),
    "tables": Row("tables {in} summary", "capture"),
    "top": Row("top {in}", "capture", json=False),
    "export": Row("export {in} -o {out}", "capture", suffix=".json", json=False),
    "report": Row("report {in} -o {out}", "result", suffix=".html", json=False),
    "serve": Row("serve {in}", "folder", json=False, serves=True),
    "run": Row("run {in} --runs 3", "program"),
    "patterns": Row(
        "patterns {in} --trials 1 --warmup 1 -o {out}", "program", suffix=".json", slow=True
    ),
    "stats": Row("stats {in} --column time_us --by variant --baseline a", "samples"),
    "devices": Row("devices cpu reference"),
    "convert": Row("convert {in} --to mlir -o {out}", "program", suffix=".mlir", json=False),
    "doctor": Row("doctor --quick", codes=(0, 1)),
    "explain": Row("explain {in}", "log", codes=(0, 1)),
    "probe": Row("probe {in}", "program", codes=(0, 1)),
    "watch": Row("watch --log {in} --once --rule compile-failed", "log", codes=(0, 1, 4)),
    "knowledge": Row("knowledge list"),
    "tune": Row("tune {in} --only optimization_level --time-budget 2", "program", slow=True),
    "sweep": Row("sweep plan compile {in} --off dce -o {out}", "program"),
    "gate": Row(
        "gate {in} --baseline {out} --update --turns 6",
        "program",
        suffix=".json",
        refusals=(1, 2),
        slow=True,
    ),
    "blame": Row("blame {in} --runs 1", "program"),
    "reduce": Row("reduce {in} --symptom crash", "program", codes=(0, 1)),
    "versions": Row("versions {in} --of jaxlib", "program", runs=False),
    "conform": Row("conform cpu --only events"),
    "results": Row("results list"),
    "cache": Row("cache list"),
    "help": Row("help", json=False),
    "completion": Row("completion bash", json=False),
    "version": Row("version"),
    "worker": Row("worker", json=False, feed=b'{"id": 1, "job": "hello"}\n'),
}
number = failed = 0


class Said:
    def __init__(self, code, out, err, seconds, peak, words):
        self.code, self.out, self.err, self.words = code, out, err, words
        self.seconds, self.peak = seconds, peak

    def __str__(self):
        return (
            f"{self.words}\nexit code {self.code}, {self.seconds:.1f} s of the processor,"
            f" {self.peak >> 20} MB\n{self.err[-900:]}\n{self.out[-300:]}"
        )


class World:
    """The good inputs, and commands in empty folders."""

    def __init__(self, hloscope: pathlib.Path, scratch: pathlib.Path):
        self.hloscope, self.scratch, self.folders = hloscope, scratch, 0
        (scratch / "tmp").mkdir()
        (scratch / "tmp").chmod(0o1777)
        self.keep = scratch / "keep"
        self.keep.mkdir()
        (self.keep / "in.hlo").write_text(PROGRAM)
        (self.keep / "in.log").write_text(LOG)
        rows = [
            f"{v},{base + i * 37 % 11 / 10}\n"
            for i in range(40)
            for v, base in (("a", 9), ("b", 8))
        ]
        (self.keep / "in.csv").write_text("variant,time_us\n" + "".join(rows))
        document = self.run("run in.hlo --runs 5 --format=json", folder=self.keep)
        (self.keep / "in.json").write_text(document.out)
        self.run("trace -o in.hsc -- {hloscope} run in.hlo --runs 5", folder=self.keep)
        self.good = {
            "program": self.keep / "in.hlo",
            "folder": self.keep,
            "capture": self.keep / "in.hsc",
            "result": self.keep / "in.json",
            "samples": self.keep / "in.csv",
            "log": self.keep / "in.log",
        }

    def folder(self):
        self.folders += 1
        place = self.scratch / f"f{self.folders}"
        place.mkdir()
        shutil.copy(self.keep / "in.hlo", place)
        return place

    def words(self, text, given=None, out=None):
        names = {"{in}": given, "{out}": out, "{hloscope}": self.hloscope}
        words = [str(names.get(word, word)) for word in text.split()]
        return [str(self.hloscope), *words]

    def environment(self, **settings):
        mine = ("LC_ALL", "LANG", "LC_CTYPE", "COLUMNS", "NO_COLOR", "TERM", "HOME")
        kept = {k: v for k, v in os.environ.items() if k not in mine and k[:9] != "HLOSCOPE_"}
        for name in ("HLOSCOPE_LIBRARY_DIR",):
            if name in os.environ:
                kept[name] = os.environ[name]
        home = str(self.scratch / "home")
        base = {
            "TMPDIR": str(self.scratch / "tmp"),
            "HOME": home,
            "HLOSCOPE_CACHE_DIR": home + "/cache",
            "LC_ALL": "C.UTF-8",
        }
        return {**kept, **base, **settings}

    def run(self, text, given=None, out=None, folder=None, stdin=None, more=(), wrap=(), **env):
        words = [*wrap, *self.words(text, given, out), *more]
        row = ROWS.get(text.split()[0]) or ROWS.get(" ".join(text.split()[:2]))
        with contextlib.ExitStack() as files:
            outs, errs, fed = (files.enter_context(tempfile.TemporaryFile()) for _ in range(3))
            fed.write(row.feed if row else b"")
            fed.seek(0)
            source = stdin if stdin is not None else fed
            process = subprocess.Popen(
                words,
                cwd=folder or self.folder(),
                env=self.environment(**env),
                stdin=source,
                stdout=outs,
                stderr=errs,
            )
            limit = time.monotonic() + LIMIT_S
            found = 0
            while not found and time.monotonic() < limit:
                found, status, used = os.wait4(process.pid, os.WNOHANG)
                if not found and row and row.serves and os.fstat(outs.fileno()).st_size:
                    process.send_signal(signal.SIGINT)
                time.sleep(0 if found else 0.005)
            if not found:
                process.kill()
                found, status, used = os.wait4(process.pid, 0)
            process.returncode = code = os.waitstatus_to_exitcode(status)
            outs.seek(0)
            errs.seek(0)
            text = [file.read().decode("utf-8", "replace") for file in (outs, errs)]
        seconds = used.ru_utime + used.ru_stime
        return Said(code, *text, seconds, used.ru_maxrss << 10, " ".join(words))


def left_in(folder):
    return sorted(str(p.relative_to(folder)) for p in folder.rglob("*") if p.name != "in.hlo")


def wrong_words(said):
    """What no message may be."""
    problems = []
    if said.code < 0:
        problems.append(f"ended by signal {-said.code}")
    for word in ("Traceback", "AddressSanitizer", "internal error", "INTERNAL", "Assertion"):
        if word in said.err:
            problems.append(f"says {word}")
    return problems


def refusal(said, name, codes=(1, 3)):
    """An error as it should be."""
    problems = wrong_words(said)
    lines = said.err.strip().splitlines()
    if said.code not in codes:
        problems.append(f"exit code {said.code}, not {codes}")
    if not any(line.startswith("error") for line in lines):
        problems.append("no line that begins with error")
    if name and name not in said.err:
        problems.append(f"{name} is not named")
    if len(lines) > 12:
        problems.append(f"{len(lines)} lines of errors")
    if said.seconds > MOST_S:
        problems.append(f"{said.seconds:.1f} s of the processor")
    if said.peak > MOST_BYTES:
        problems.append(f"{said.peak >> 20} MB")
    return problems


def bad_file(make, name="wrong.hlo", any_bytes=False, good_for=()):
    def attempt(row, world):
        if not row.kind or row.kind in good_for:
            return None
        if any_bytes and row.kind == "log":  # any bytes are a log
            return None
        folder = world.folder()
        given = folder / name
        make(given)
        before = left_in(folder)
        said = world.run(row.words, given.name, "out" + row.suffix, folder)
        problems = refusal(said, given.name, row.refusals)
        left = [path for path in left_in(folder) if path not in before]
        if left:
            problems.append(f"left behind: {left}")
        if row.json:
            more = world.run(
                row.words, given.name, "out" + row.suffix, folder, more=["--format=json"]
            )
            try:
                error = json.loads(more.out)["error"]
                if given.name not in json.dumps(error, ensure_ascii=False):
                    problems.append(f"JSON does not name the file: {error}")
            except (ValueError, KeyError, TypeError) as wrong:
                problems.append(f"no error in JSON ({wrong!r}): {more.out[:200]}")
        return problems, said

    return attempt


def write(data):
    return lambda path: path.write_bytes(data)


def utf16(path):
    path.write_text(PROGRAM, encoding="utf-16")


def sparse(path):
    with open(path, "wb") as file:
        file.truncate(1 << 30)


def same(change):
    """The good input in another form: the command ends as it does with the plain one."""

    def attempt(row, world):
        if not row.kind or world.good[row.kind].is_dir():
            return None
        folder = world.folder()
        given, stdin = change(row, world.good[row.kind], folder)
        if given is None:
            return None
        said = world.run(row.words, given, "out" + row.suffix, folder, stdin=stdin)
        problems = wrong_words(said)
        if said.code not in row.codes:
            problems.append(f"exit code {said.code}, not {row.codes}")
        return problems, said

    return attempt


def packed(suffix, words):
    def change(row, good, folder):
        name = f"in{good.suffix}{suffix}"
        data = subprocess.run(words, input=good.read_bytes(), capture_output=True, check=True)
        (folder / name).write_bytes(data.stdout)
        return name, None

    return change


def renamed(name):
    def change(row, good, folder):
        shutil.copy(good, folder / (name + good.suffix))
        return name + good.suffix, None

    return change


def in_another_folder(row, good, folder):
    (folder / "a folder, ünïcode").mkdir()
    shutil.copy(good, folder / "a folder, ünïcode" / good.name)
    return f"a folder, ünïcode/{good.name}", None


def by_link(row, good, folder):
    (folder / f"link{good.suffix}").symlink_to(good)
    return f"link{good.suffix}", None


def from_stdin(row, good, folder):
    return "-", open(good, "rb")


def as_windows(row, good, folder):
    if good.suffix == ".hsc":
        return None, None
    (folder / f"w{good.suffix}").write_bytes(
        b"\xef\xbb\xbf" + good.read_bytes().replace(b"\n", b"\r\n")
    )
    return f"w{good.suffix}", None


def mistyped_option(row, world):
    folder = world.folder()
    given = world.good[row.kind] if row.kind else None
    said = world.run(
        row.words.replace(" -- ", " --quite -- ")
        if " -- " in row.words
        else row.words + " --quite",
        given,
        "out" + row.suffix,
        folder,
    )
    problems = refusal(said, "--quite", codes=(2,))
    if "--quiet" not in said.err:
        problems.append("--quiet is not offered")
    return problems, said


def mistyped_verb(row, world):
    name = row.words.split()[0]
    typo = name[0] + name[2] + name[1] + name[3:]
    said = world.run(row.words.replace(name, typo, 1))
    problems = refusal(said, f"'{typo}'", codes=(2,))
    if f"'{name}'" not in said.err:
        problems.append(f"{name} is not offered")
    return problems, said


def helps(row, world):
    verb = row.words.split()
    count = 2 if verb[0] in ("passes",) else 1
    said = world.run(" ".join(verb[:count]) + " --help")
    problems = wrong_words(said)
    if said.code or said.err or not said.out.startswith("Usage: hloscope"):
        problems.append("no help")
    if max(map(len, said.out.splitlines())) > 100:
        problems.append("wider than 100")
    return problems, said


def without_input(row, world):
    if not row.kind:
        return None
    said = world.run(" ".join(word for word in row.words.split() if word != "{in}"), out="out")
    problems = wrong_words(said)
    if said.code not in (*row.codes, 1, 2):
        problems.append(f"exit code {said.code}")
    return problems, said


def twice(row, world):
    folder = world.folder()
    given = world.good[row.kind] if row.kind else None
    both = [world.run(row.words, given, "out" + row.suffix, folder) for _ in range(2)]
    problems = [p for said in both for p in wrong_words(said)]
    if both[0].code not in row.codes:
        problems.append(f"exit code {both[0].code}, not {row.codes}")
    if both[1].code != both[0].code and "out" not in both[1].err:
        problems.append(f"exit code {both[1].code} the second time")
    return problems, both[1]


def two_at_once(row, world):
    folder = world.folder()
    given = world.good[row.kind] if row.kind else None
    words = world.words(row.words, given, "out" + row.suffix)
    pair = [
        subprocess.Popen(
            words,
            cwd=folder,
            env=world.environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        for _ in range(2)
    ]
    for p in pair if row.serves else []:
        p.stdout.read(1)  # it serves
        p.send_signal(signal.SIGINT)
    texts = [p.communicate(timeout=LIMIT_S) for p in pair]
    said = Said(
        max((p.returncode for p in pair), key=abs),
        "",
        "\n".join(t[1].decode("utf-8", "replace") for t in texts),
        0,
        0,
        " ".join(words),
    )
    problems = wrong_words(said)
    for p, text in zip(pair, texts):
        if p.returncode not in row.codes and b"out" not in text[1]:
            problems.append(f"exit code {p.returncode}")
    return problems, said


def interrupted(row, world):
    given = world.good[row.kind] if row.kind else None
    problems = []
    for after in (0.01, 0.04, 0.12):
        folder = world.folder()
        words = world.words(row.words, given, "out" + row.suffix)
        process = subprocess.Popen(
            words,
            cwd=folder,
            env=world.environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        time.sleep(after)
        os.killpg(process.pid, signal.SIGINT)
        try:
            out, err = process.communicate(timeout=LIMIT_S)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            out, err = process.communicate()
            problems.append("does not end")
        said = Said(
            process.returncode,
            out.decode("utf-8", "replace"),
            err.decode("utf-8", "replace"),
            0,
            0,
            " ".join(words),
        )
        if said.code not in (-signal.SIGINT, 128 + signal.SIGINT, *row.codes):
            problems.append(f"after {after} s: exit code {said.code}: {said.err[-300:]}")
        half = [
            name
            for name in left_in(folder)
            if re.search(r"\.tmp|\.part|~$|\.[A-Za-z0-9]{6}$", name)
        ]
        if half:
            problems.append(f"after {after} s: half written {half}")
        for name in left_in(folder):
            if name.endswith(".json"):
                try:
                    json.loads((folder / name).read_text())
                except ValueError:
                    problems.append(f"after {after} s: {name} is no JSON")
    return problems, said


def to_head(row, world):
    given = world.good[row.kind] if row.kind else None
    words = world.words(row.words, given, "out" + row.suffix)
    process = subprocess.Popen(
        words,
        cwd=world.folder(),
        env=world.environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    process.stdout.close()
    err = process.stderr.read()
    process.wait(LIMIT_S)
    said = Said(process.returncode, "", err.decode("utf-8", "replace"), 0, 0, " ".join(words))
    problems = [] if said.code in (-signal.SIGPIPE, 1, *row.codes) else [f"exit code {said.code}"]
    if "error: standard output" in said.err or "cannot write" in said.err:
        problems.append("an error for a reader that went away")
    return problems, said


def in_shell(script):
    def attempt(row, world):
        given = world.good[row.kind] if row.kind else None
        said = world.run(row.words, given, "out" + row.suffix, wrap=["sh", "-c", script, "sh"])
        problems = wrong_words(said)
        prints = bool(world.run(row.words, given, "out" + row.suffix).out)
        if said.code not in ((1,) if prints else row.codes):
            problems.append(f"exit code {said.code} (prints: {prints})")
        if prints and not re.search("error: (standard output|worker: cannot answer)", said.err):
            problems.append("does not say that nothing could be written")
        return problems, said

    return attempt


def no_larger_files(row, world):
    """ulimit -f 0: what needs a file says so, and nobody dies of SIGXFSZ."""
    given = world.good[row.kind] if row.kind else None
    script = 'ulimit -f 0; exec "$@"'
    said = world.run(row.words, given, "out" + row.suffix, wrap=["sh", "-c", script, "sh"])
    problems = wrong_words(said)
    if said.code not in (*row.codes, 1):
        problems.append(f"exit code {said.code}")
    if "a bug in hloscope" in said.err:
        problems.append("calls it a bug")
    return problems, said


def plain_locale(**settings):
    def attempt(row, world):
        given = world.good[row.kind] if row.kind else None
        said = world.run(row.words, given, "out" + row.suffix, **settings)
        problems = wrong_words(said)
        if said.code not in row.codes:
            problems.append(f"exit code {said.code}, not {row.codes}")
        beyond = sorted({c for c in said.out + said.err if ord(c) > 126})
        if beyond and settings.get("LC_ALL", "C.UTF-8") != "C.UTF-8":
            problems.append(f"prints {beyond[:9]}")
        if "\x1b" in said.out:
            problems.append("escapes")
        return problems, said

    return attempt


def read_only(row, world):
    if os.geteuid() != 0:
        return None
    folder = world.folder()
    home = folder / "home"
    home.mkdir()
    for path in (home, folder):
        path.chmod(0o555)
    given = world.good[row.kind] if row.kind else None
    said = world.run(
        row.words,
        given,
        "out" + row.suffix,
        folder,
        wrap=["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"],
        HOME=str(home),
        HLOSCOPE_CACHE_DIR=str(home / "cache"),
    )
    folder.chmod(0o755)
    if "{out}" in row.words and "plan" not in row.words:
        return refusal(said, "out"), said
    problems = wrong_words(said)
    if said.code not in (*row.codes, 1):
        problems.append(f"exit code {said.code}")
    return problems, said


def out_with_blanks(row, world):
    if "{out}" not in row.words:
        return None
    folder = world.folder()
    (folder / "of mine, ü").mkdir()
    given = world.good[row.kind] if row.kind else None
    name = "of mine, ü/the result" + row.suffix
    said = world.run(row.words, given, name, folder)
    problems = wrong_words(said)
    if said.code not in row.codes:
        problems.append(f"exit code {said.code}")
    elif not any(p.startswith("of mine, ü/the result") for p in left_in(folder)):
        problems.append(f"not written: {left_in(folder)}")
    return problems, said


def out_nowhere(row, world):
    if "{out}" not in row.words:
        return None
    folder = world.folder()
    (folder / "file").write_text("a file\n")
    given = world.good[row.kind] if row.kind else None
    said = world.run(row.words, given, "file/out" + row.suffix, folder)
    return refusal(said, "file", codes=(1, 2)), said


def other_packer(suffix, words):
    """Refused, by the packer's name."""

    def attempt(row, world):
        if row.kind != "program":
            return None
        folder = world.folder()
        name, _ = packed(suffix, words)(row, world.good[row.kind], folder)
        said = world.run(row.words, name, "out" + row.suffix, folder)
        problems = refusal(said, name, row.refusals)
        if words[0] not in said.err or "hint" not in said.err:
            problems.append("does not say by what it is packed, and what to do")
        return problems, said

    return attempt


GZIP, ZSTD, BZIP2, XZ = (["gzip", "-c"], ["zstd", "-qc"], ["bzip2", "-c"], ["xz", "-c"])
TRIES = {
    "--help": helps,
    "a command mistyped": mistyped_verb,
    "an option mistyped": mistyped_option,
    "no input": without_input,
    "a file that is not there": bad_file(lambda path: None, "not there.hlo"),
    "a folder": bad_file(lambda path: path.mkdir(), good_for=["folder"]),
    "an empty file": bad_file(write(b""), any_bytes=True),
    "random bytes": bad_file(write(bytes(i * i * 31 % 251 for i in range(5000))), any_bytes=True),
    "prose": bad_file(
        write(b"Dear all,\nplease find the program attached.\n" * 20), any_bytes=True
    ),
    "a gigabyte of zeros": bad_file(sparse, any_bytes=True),
    "half a gzip file": bad_file(
        write(bytes.fromhex("1f8b0800000000000003edc1010d000000c2a0f74f6d")),
        "wrong.hlo.gz",
        any_bytes=True,
    ),
    "a loop of links": bad_file(lambda path: path.symlink_to(path.name)),
    "gzip": same(packed(".gz", GZIP)),
    "zstd": same(packed(".zst", ZSTD)),
    "bzip2": other_packer(".bz2", BZIP2),
    "xz": other_packer(".xz", XZ),
    "UTF-16": bad_file(utf16, any_bytes=True),
    "a Python script": bad_file(write(b"import jax\nprint(jax.devices())\n"), any_bytes=True),
    "blanks and accents in the name": same(renamed("mein Prögramm 程序")),
    "quotes in the name": same(renamed('it\'s "mine"%s')),
    "a folder with blanks": same(in_another_folder),
    "a link": same(by_link),
    "standard input": same(from_stdin),
    "a mark and CRs of Windows": same(as_windows),
    "twice": twice,
    "two at once": two_at_once,
    "Ctrl-C": interrupted,
    "into head": to_head,
    "a limit of file sizes": no_larger_files,
    "a full disk": in_shell('"$@" >/dev/full'),
    "standard output closed": in_shell('"$@" >&-'),
    "LC_ALL=C": plain_locale(LC_ALL="C"),
    "a locale that is not there": plain_locale(LC_ALL="xx_XX.ISO-8859-1"),
    "a read-only folder": read_only,
    "blanks in the output's name": out_with_blanks,
    "an output below a file": out_nowhere,
}


# what reads no good input, and what a slow row does at least
REFUSALS = {name for name, function in TRIES.items() if function.__qualname__[:8] == "bad_file"}
REFUSALS |= {"--help", "a command mistyped", "an option mistyped", "bzip2", "xz"}
SHARE = 4  # without --all, each row has every fourth try, and each try every fourth row
SOME = {"standard input", "Ctrl-C", "a read-only folder"}


def report(good, name, text=""):
    global number, failed
    number += 1
    failed += not good
    print(f"{'ok' if good else 'not ok'} {number} - {name}", flush=True)
    if not good:
        print("\n".join(f"# {line}" for line in str(text).splitlines()[:30]))


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("hloscope", type=pathlib.Path)
    parser.add_argument("root", type=pathlib.Path)
    parser.add_argument("--only", default="")
    parser.add_argument("--try", dest="attempt", default="")
    parser.add_argument("--all", action="store_true", help="every row with every try")
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args()
    commands = re.findall(
        r"(?m)^COMMAND\((\w+),", (options.root / "src/cli/commands.def").read_text()
    )
    verbs = re.findall(
        r'(?m)^VERB\("([\w-]+)"', (options.root / "src/cli/passes_verbs.def").read_text()
    )
    wanted = {name for name in commands if name != "passes"} | {f"passes {v}" for v in verbs}
    report(set(ROWS) == wanted, "every command and verb has its row here", set(ROWS) ^ wanted)
    with tempfile.TemporaryDirectory(prefix="hloscope-tries-") as scratch:
        os.chmod(scratch, 0o755)
        world = World(options.hloscope.resolve(), pathlib.Path(scratch))
        for name, row in ROWS.items():
            if not re.search(options.only, name):
                continue
            for attempt, function in TRIES.items():
                if options.attempt and not re.search(options.attempt, attempt):
                    continue
                if not row.runs and attempt not in REFUSALS:
                    continue
                turn = (list(ROWS).index(name) + list(TRIES).index(attempt)) % SHARE
                if not options.all and (turn or (row.slow and attempt not in REFUSALS | SOME)):
                    continue
                started = time.monotonic()
                begin = resource.getrusage(resource.RUSAGE_CHILDREN)
                found = function(row, world)
                if not found:
                    continue
                problems, said = found
                end = resource.getrusage(resource.RUSAGE_CHILDREN)
                used = end.ru_utime + end.ru_stime - begin.ru_utime - begin.ru_stime
                text = "; ".join(problems) + "\n" + str(said)
                report(not problems, f"{name}: {attempt}", text)
                if options.verbose:
                    print(
                        f"# {used:.2f} s of the processor, {time.monotonic() - started:.2f} s\n#   "
                        + str(said).replace("\n", "\n#   ")
                    )
    print(f"1..{number}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
