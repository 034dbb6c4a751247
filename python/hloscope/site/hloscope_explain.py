"""Why JAX traced a function again, in its own words, for the ledger of compilations (`hloscope
tables CAPTURE recompiles`).

JAX says so when jax_explain_cache_misses is on, through its loggers. It is turned on here; what it
says is recorded beside the compilations, and goes no further where the program did not ask for it.
Explaining costs time on misses only, which are followed by a trace and a compilation.
"""

import ctypes
import logging
import os
import re
import sys

from hloscope_inject import Finder, guarded

MISS = "TRACING CACHE MISS"
NEW = "a function that it has not seen"  # src/views/view_runs.c knows these words
CACHE = (
    "PERSISTENT COMPILATION CACHE",
    "Persistent compilation cache",
    "persistent cache entry",
    "persistent compilation cache",
)
LOGGERS = (
    "jax._src.interpreters.partial_eval",
    "jax._src.pjit",
    "jax._src.linear_util",
    "jax._src.compiler",
    "jax._src.compilation_cache",
)


def reason(text):
    """(function, why) of one explanation; JAX's own words, on one line."""
    function = re.search(r"^\s*for (\S+)", text, re.M) or re.search(
        r"never seen function:\s*(\S+) id=", text
    )
    if not function:
        return "", ""
    if "never seen function" in text:
        again = "defined on the same line" in text
        return (
            function[1],
            (
                "a function object that JAX has not seen, defined on the same line as an earlier"
                " one (made anew each time?)"
                if again
                else NEW
            ),
        )
    told = [line.strip() for line in text.splitlines()]
    points = [
        re.sub(r"\s*https?://\S+", "", line[1:].strip()).rstrip(".")
        for line in told
        if line.startswith("*")
    ]
    if not points:  # older versions explain in sentences
        after = [
            line for line in told if line and not line.startswith((MISS, "for ", "all previously"))
        ]
        points = after[:3]
    return function[1], "; ".join(points)[:400]


# What JAX 0.12 says where nothing differs that it compares: types, trees and settings. Its key holds
# the static arguments besides.
NO_WORDS = "cache miss explanation unavailable"
_statics = ""  # how those differed in the last comparison of which JAX said no more


def statics_of(elements):
    """{where: value} of the static arguments of a call, as JAX 0.12 keeps it: (positional, named)."""
    positional, named = elements
    given = [(f"argument {i}", value) for i, value in enumerate(positional.elts)]
    given += list(zip(named.keys, named._vals))
    return {
        where: re.sub(r"^Static\((.*)\)$", r"\1", repr(value), flags=re.S)
        for where, value in given
        if type(value).__name__ in ("Static", "FTStatic")
    }


def differing_statics(now, before):
    new, old = statics_of(now), statics_of(before)
    return "; ".join(
        f"static {where}, now {value[:60]} and before {old.get(where, 'not given')[:60]}"
        for where, value in new.items()
        if value != old.get(where)
    )


def compare_statics(module):
    """Where JAX's own comparison of two keys ends without words, ours of the static arguments."""
    original = getattr(module, "diff_tracing_cache_keys", None)
    if original is None:
        return

    def compare(new_key, old_key):
        global _statics
        said = original(new_key, old_key)
        try:
            if said[-1] == NO_WORDS:
                _statics = differing_statics(new_key[1][0].elts, old_key[1][0].elts)
        except Exception:
            _statics = ""
        return said

    module.diff_tracing_cache_keys = compare


class Listener(logging.Filter):
    def __init__(self, lib, asked_for):
        super().__init__()
        self.lib, self.asked_for = lib, asked_for

    def filter(self, record):
        try:
            text = record.getMessage()
            if text.startswith(MISS):
                function, why = reason(text)
                if NO_WORDS in why:
                    why = _statics or "a static argument: types, trees and settings are as before"
                if why:
                    self.lib.hsc_tracer_host_explain(module_name(function).encode(), why.encode())
                return self.asked_for
            if not self.asked_for and any(part in text for part in CACHE):
                return record.levelno > logging.WARNING
        except Exception:
            pass
        return True


def module_name(name):
    """As JAX names the module of a function: <lambda> is jit__lambda. Older versions kept underscores
    at the end; they are left out everywhere."""
    return ("jit_" + "".join(c if c.isalnum() or c in "_.-" else "_" for c in str(name))).rstrip(
        "_"
    )


def listen(module):
    lib = ctypes.CDLL(None)
    if not hasattr(lib, "hsc_tracer_host_explain") or not hasattr(module, "config"):
        return
    lib.hsc_tracer_host_explain.argtypes, lib.hsc_tracer_host_explain.restype = (
        [ctypes.c_char_p, ctypes.c_char_p],
        None,
    )
    asked_for = bool(getattr(module.config, "jax_explain_cache_misses", False))
    listener = Listener(lib, asked_for)
    for name in LOGGERS:
        logging.getLogger(name).addFilter(listener)
    if not asked_for:
        module.config.update("jax_explain_cache_misses", True)


def install():
    if os.environ.get("HLOSCOPE_OUTPUT_PATH"):
        hooks = {
            "jax._src.config": guarded(listen),
            "jax._src.interpreters.partial_eval": guarded(compare_statics),
        }
        sys.meta_path.insert(0, Finder(hooks))
