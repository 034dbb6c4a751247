#!/usr/bin/env python3
"""Draws README's pictures: each is what a command prints on a terminal, as an SVG file. Needs the
package `rich` (python3 -m pip install rich).

    tools/pictures.py build/hloscope docs/pictures [NAME...]

A picture's first line is the command; the rest is what it printed, with its colours, cut to the
rows that a screen shows.
"""

import io
import os
import pathlib
import pty
import re
import shutil
import subprocess
import sys
import tempfile

COLUMNS = 100
ROWS = 34
ROOT = pathlib.Path(__file__).resolve().parent.parent

# name, what a reader types; it runs in a folder of its own that shows the project's models
PICTURES = [
    ("patterns", "hloscope patterns --graphs tiny,small,mlp"),
    ("run", "hloscope run models/patterns/mlp_scan.hlo --compare reference"),
    ("passes", "hloscope passes list models/patterns/mlp_scan.hlo --changed"),
    ("profile", "hloscope profile models/transformer_train.hlo.gz"),
    ("blame", "hloscope blame models/patterns/small_scan.hlo"),
]


def printed(command: str, hloscope: pathlib.Path) -> str:
    """What the command writes to a terminal of COLUMNS columns; stderr (progress) is left out."""
    environment = dict(
        os.environ,
        PATH=f"{hloscope.parent}:{os.environ['PATH']}",
        COLUMNS=str(COLUMNS),
        TERM="xterm-256color",
        LC_ALL="C.UTF-8",
    )
    primary, secondary = pty.openpty()
    import fcntl, struct, termios

    fcntl.ioctl(secondary, termios.TIOCSWINSZ, struct.pack("HHHH", 50, COLUMNS, 0, 0))
    scratch = tempfile.mkdtemp(prefix="hloscope-pictures-")  # for what the command writes
    (pathlib.Path(scratch) / "models").symlink_to(ROOT / "models")
    child = subprocess.Popen(
        ["bash", "-c", command],
        cwd=scratch,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=secondary,
        stderr=subprocess.DEVNULL,
    )
    os.close(secondary)
    out = b""
    while True:
        try:
            got = os.read(primary, 65536)
        except OSError:
            break
        if not got:
            break
        out += got
    code = child.wait()
    shutil.rmtree(scratch)
    if code != 0:
        raise SystemExit(f"{command}: exit code {child.returncode}")
    return out.decode(errors="replace").replace("\r\n", "\n")


def draw(name: str, command: str, text: str, folder: pathlib.Path) -> None:
    from rich.console import Console
    from rich.terminal_theme import MONOKAI
    from rich.text import Text

    lines = text.rstrip("\n").split("\n")
    if len(lines) > ROWS:
        lines = lines[:ROWS] + ["…"]
    console = Console(
        record=True,
        width=COLUMNS,
        file=io.StringIO(),
        force_terminal=True,
        color_system="truecolor",
        legacy_windows=False,
    )
    console.print(Text(f"$ {command}", style="bold"))
    console.print(Text.from_ansi("\n".join(lines)), overflow="crop", no_wrap=True, crop=True)
    svg = console.export_svg(title="hloscope", theme=MONOKAI, unique_id=name)
    svg = re.sub(r"@font-face \{.*?\}\s*", "", svg, flags=re.S)  # no fonts from a network
    (folder / f"{name}.svg").write_text(svg, encoding="utf-8")


def main() -> int:
    hloscope = pathlib.Path(sys.argv[1]).resolve()
    folder = pathlib.Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    for name, command in PICTURES:
        if len(sys.argv) == 3 or name in sys.argv[3:]:
            draw(name, command, printed(command, hloscope), folder)
            print(folder / f"{name}.svg")
    return 0


if __name__ == "__main__":
    sys.exit(main())
