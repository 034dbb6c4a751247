#!/usr/bin/env python3
"""The report page's scripts are type-checked by tsc, as src/report/page/tsconfig.json says. TAP;
skipped by name where there is no tsc.

page_types.py SOURCE_ROOT
"""

import pathlib
import shutil
import subprocess
import sys

tsc = shutil.which("tsc")
if not tsc:
    print("1..0 # SKIP there is no tsc (Debian: node-typescript)")
    sys.exit(0)
page = pathlib.Path(sys.argv[1]) / "src/report/page"
done = subprocess.run([tsc, "-p", str(page)], capture_output=True, text=True, check=False)
print("1..1")
print("not ok" if done.returncode else "ok", "1 - the page's scripts are type-checked")
if done.returncode:
    print("# " + done.stdout[:3000].replace("\n", "\n# "))
sys.exit(done.returncode != 0)
