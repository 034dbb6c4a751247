// python.h - Pythons that we start run none of the files that happen to lie in the current
// directory.
//
// `python -c` and `python -m` put the current directory first on the path of imports, so that a
// file sysconfig.py there is run in place of the library's. Python 3.11 has PYTHONSAFEPATH and -P;
// older ones have nothing that leaves the user's own packages in place. What follows works on all.
#pragma once

#include "base/core/memory.h"

// The first words of any code for -c. sys is built in: importing it looks at no file.
#define HSC_PYTHON_SAFE "import sys\nif sys.path[:1] == ['']:\n del sys.path[0]\n"

// In place of -m: {python, "-c", HSC_PYTHON_MODULE, "pip", "install", ..., NULL}.
#define HSC_PYTHON_MODULE \
  HSC_PYTHON_SAFE \
  "del sys.argv[0]\nimport runpy\n" \
  "runpy.run_module(sys.argv[0], run_name='__main__', alter_sys=True)\n"

// "PYTHONPATH=folder", with what is set already after it. For the environment of a Python that
// imports from the folder; NULL without memory.
char *hsc_python_path(hsc_arena *arena, const char *folder);

// Into the environment of a Python that starts further ones.
#define HSC_PYTHON_ENVIRONMENT "PYTHONSAFEPATH=1"
