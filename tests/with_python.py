#!/usr/bin/env python3
"""Runs a test with the Python that has what it needs.

    with_python.py KIND DEFAULT SCRIPT ARGUMENTS        KIND: JAX, TORCH or TEST; DEFAULT: a Python,
                                                        where $HLOSCOPE_<KIND>_PYTHON names none

`make test-full` sets the variables to the environments that tools/environments.py makes, without a
new `meson setup`.
"""

import os
import sys

kind, default = sys.argv[1:3]
python = os.environ.get(f"HLOSCOPE_{kind}_PYTHON") or default
os.execvp(python, [python, *sys.argv[3:]])
