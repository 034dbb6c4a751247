#!/usr/bin/env python3
"""make deb: dist/hloscope_VERSION_amd64.deb, and what lintian says of it.

    tools/deb.py [--build build-deb] [--out dist] [--jobs N]

Builds from the files that git knows, in a folder of its own, by packaging/debian; debian/changelog
is made from CHANGELOG.md. Ends with 1 when lintian has an error or a warning.
"""

import argparse
import atexit
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent


def changelog(version: str) -> str:
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    part = re.search(rf"^## {re.escape(version)}\n(.*?)(?=^## |\Z)", text, re.M | re.S)
    if not part:
        sys.exit(f"deb: CHANGELOG.md has no part '## {version}'")
    stamp = subprocess.run(
        ["git", "-C", ROOT, "log", "-1", "--format=%cD"], check=True, capture_output=True, text=True
    ).stdout.strip()
    maintainer = re.search(
        r"^Maintainer: (.*)$", (ROOT / "packaging/debian/control").read_text(), re.M
    )[1]
    entries = re.sub(
        r"^- ", "  * ", re.sub(r"^  (?=\S)", "    ", part[1].strip(), flags=re.M), flags=re.M
    )
    lines = []
    for line in entries.splitlines():
        while len(line) > 78:  # Debian's width
            at = line.rfind(" ", 6, 78)
            lines.append(line[:at])
            line = "    " + line[at + 1 :]
        lines.append(line)
    return (
        f"hloscope ({version}) unstable; urgency=medium\n\n"
        + "\n".join(lines)
        + f"\n\n -- {maintainer}  {stamp}\n"
    )


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build-deb")
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "dist")
    parser.add_argument("--jobs", default="")
    options = parser.parse_args()
    if re.search(r"\s", str(options.build.resolve())):
        # dpkg's flags name the folder unquoted: a clone below "a folder" is built elsewhere
        options.build = pathlib.Path(tempfile.mkdtemp(prefix="hloscope-deb-"))
        atexit.register(shutil.rmtree, options.build)
    version = (ROOT / "VERSION").read_text().strip()
    source = options.build / f"hloscope-{version}"
    shutil.rmtree(options.build, ignore_errors=True)
    source.mkdir(parents=True)
    names = subprocess.run(
        ["git", "-C", ROOT, "ls-files", "-z"], check=True, capture_output=True, text=True
    ).stdout.split("\0")
    for name in filter(None, names):
        if (ROOT / name).is_file():
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, source / name)
    shutil.copytree(ROOT / "packaging" / "debian", source / "debian")
    (source / "debian" / "changelog").write_text(changelog(version), encoding="utf-8")
    jobs = {"NINJA_JOBS": f"-j{options.jobs}"} if options.jobs else {}
    subprocess.run(
        ["dpkg-buildpackage", "-us", "-uc", "-b"],
        cwd=source,
        check=True,
        env={**os.environ, **jobs},
    )
    options.out.mkdir(exist_ok=True)
    made = [
        shutil.copy2(path, options.out) for path in sorted(options.build.glob("hloscope_*.deb"))
    ]
    said = subprocess.run(
        ["lintian", "--allow-root", "--suppress-tags", "bad-distribution-in-changes-file", *made],
        capture_output=True,
        text=True,
        check=False,
    )
    print(said.stdout, end="")
    print(" ".join(str(path) for path in made))
    return 1 if re.search(r"^[EW]: ", said.stdout, re.M) else 0


if __name__ == "__main__":
    sys.exit(main())
