#!/usr/bin/env python3
"""The functions of LLVM and LAPACK that hloscope asks for, from the tables that ask for them.

symbols.py wanted llvm|lapack TABLE       as arguments of a linker: -Wl,-u,NAME for each
symbols.py map OUTPUT llvm|lapack TABLE   as a version script that makes these public and nothing
                                          else
symbols.py empty OUTPUT                   a C file without content, for a library that consists of
                                          others' parts
"""

import pathlib
import re
import sys

# routines that are for one kind of number only: real names have complex ones of their own
REAL_ONLY = {"orgqr", "ormqr", "syevd", "sytrd"}
COMPLEX_ONLY = {"ungqr", "unmqr", "heevd", "hetrd"}


def names(kind: str, table: str) -> list[str]:
    text = re.sub(r"//.*", "", pathlib.Path(table).read_text(encoding="utf-8"))
    if kind == "llvm":
        return [
            f"LLVMInitializeX86{name}" if kind_of else f"LLVM{name}"
            for kind_of, name in re.findall(r"\b(TARGET_)?FN\((\w+)\)", text)
        ]
    found = ["cblas_sgemm", "cblas_dgemm", "openblas_set_num_threads"]
    for routine in re.findall(r"LAPACK\((\w+)", text):
        letters = "sd" if routine in REAL_ONLY else "cz" if routine in COMPLEX_ONLY else "sdcz"
        found += [f"{letter}{routine}_" for letter in letters]
    return found


def main() -> int:
    verb, *rest = sys.argv[1:]
    if verb == "wanted":
        print("\n".join(f"-Wl,-u,{name}" for name in names(*rest)))
    elif verb == "map":
        public = "".join(f"  {name};\n" for name in names(*rest[1:]))
        pathlib.Path(rest[0]).write_text(
            "{\n  global:\n" + public + "  local: *;\n};\n", encoding="utf-8"
        )
    else:
        pathlib.Path(rest[0]).write_text("typedef int hsc_nothing;\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
