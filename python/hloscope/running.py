"""Runs a program on a device, and on the next one when that fails.

    import hloscope

    run = hloscope.run("model.hlo", device="neuron", fallback=["cuda", "cpu"])
    run.device                  # where it ran in the end
    run.degraded, run.warning   # whether something had to be given up, and what; a FallbackWarning
                                was issued as well
    run.seconds, run.compile_seconds, run.document

A jax.stages.Lowered (jax.jit(f).lower(x)), StableHLO or HLO text, and bytes are taken in place of a
file.
"""

import ctypes
import math
import os
import tempfile
import warnings

from . import _arguments
from .tracing import Error, _check, _library

__all__ = ["run", "Run", "FallbackWarning"]


class FallbackWarning(UserWarning):
    """The program ran, but not where or not as it was asked to."""


class _Options(ctypes.Structure):  # hsc_program_run_options
    _fields_ = [
        ("program", ctypes.c_char_p),
        ("device", ctypes.c_char_p),
        ("fallback", ctypes.POINTER(ctypes.c_char_p)),
        ("fallback_count", ctypes.c_size_t),
        ("options", ctypes.POINTER(ctypes.c_char_p)),
        ("option_count", ctypes.c_size_t),
        ("save_outputs", ctypes.c_char_p),
        ("seed", ctypes.c_uint64),
        ("runs", ctypes.c_int64),
        ("limit_s", ctypes.c_double),
        ("hloscope", ctypes.c_char_p),
        ("inputs", ctypes.c_char_p),
    ]


class _Result(ctypes.Structure):  # hsc_program_run
    _fields_ = [
        ("device", ctypes.c_char_p),
        ("wanted", ctypes.c_char_p),
        ("degraded", ctypes.c_bool),
        ("remedy", ctypes.c_char_p),
        ("warning", ctypes.c_char_p),
        ("attempts", ctypes.c_int),
        ("compile_seconds", ctypes.c_double),
        ("run_seconds", ctypes.c_double),
        ("json", ctypes.c_char_p),
    ]


class Run:
    """What a run gave. `document` is that of `hloscope run --format=json`: devices, phases,
    samples, outputs, fallback."""

    def __init__(self, result):
        import json

        def text(value):
            return value.decode(errors="replace") if value is not None else None

        def number(value):
            return None if math.isnan(value) else value

        self.device, self.wanted, self.degraded = (
            text(result.device),
            text(result.wanted),
            bool(result.degraded),
        )
        self.remedy, self.warning, self.attempts = (
            text(result.remedy),
            text(result.warning),
            result.attempts,
        )
        self.compile_seconds, self.seconds = (
            number(result.compile_seconds),
            number(result.run_seconds),
        )
        self.document = json.loads(text(result.json))

    @property
    def outputs(self):
        """One dict an output: shape and digest; with save_outputs also the file."""
        return self.document["devices"][0]["outputs"]

    def __repr__(self):
        from .comparing import _seconds

        time = "" if self.seconds is None else f", {_seconds(self.seconds)} a run"
        return (
            "<hloscope.Run on"
            f" {self.device}{time}{', degraded: ' + self.warning if self.degraded else ''}>"
        )

    def _repr_html_(self):
        from .comparing import _rows_html, _seconds

        took = "no time" if self.seconds is None else _seconds(self.seconds)
        rows = [("compile", _seconds(self.compile_seconds))] if self.compile_seconds else []
        rows += [
            (f"output {i}", f"{output['shape']}, digest {output['digest'][:16]}")
            for i, output in enumerate(self.outputs)
        ]
        if self.degraded:
            rows.append(("degraded", self.warning))
        return _rows_html(f"a run on {self.device} takes {took}", rows)


def _strings(items):
    encoded = [os.fsencode(item) for item in items]
    return (ctypes.c_char_p * (len(encoded) + 1))(*encoded), len(encoded)


def run(
    program,
    *arguments,
    device=None,
    fallback=(),
    options=None,
    seed=0,
    runs=0,
    limit=None,
    save_outputs=None,
):
    """Compiles and runs `program`, or a function of JAX on its `arguments`, on `device` (as
    `hloscope run --device` takes it), then on each of `fallback` until one manages it.

    A failure that the knowledge base has a remedy for is tried again with it before the next
    device's turn. `options` are compile options by XLA's names; `limit` is in seconds, for a step
    of a device. Raises hloscope.Error when nothing worked, or when the program itself is malformed.
    Issues a FallbackWarning when something had to be given up.
    """
    if arguments and (hasattr(program, "as_text") or not callable(program)):
        # run(program, device, fallback)
        device, fallback = (*arguments, *(device, fallback)[len(arguments) :])
        arguments = ()
    if isinstance(fallback, (str, bytes)):
        fallback = fallback.split("," if isinstance(fallback, str) else b",")
    library = _library()
    library.hsc_program_run_start.restype = ctypes.c_void_p
    library.hsc_program_run_start.argtypes = [
        ctypes.POINTER(_Options),
        ctypes.POINTER(ctypes.POINTER(_Result)),
    ]
    library.hsc_program_run_free.restype, library.hsc_program_run_free.argtypes = (
        None,
        [ctypes.POINTER(_Result)],
    )
    others, other_count = _strings(fallback)
    settings, setting_count = _strings(f"{name}={value}" for name, value in (options or {}).items())
    result = ctypes.POINTER(_Result)()
    with tempfile.TemporaryDirectory(prefix="hloscope-run-") as directory:
        path, inputs = _arguments.write(program, arguments, directory)
        call = _Options(
            os.fsencode(path),
            None if device is None else os.fsencode(device),
            others,
            other_count,
            settings,
            setting_count,
            None if save_outputs is None else os.fsencode(save_outputs),
            seed,
            runs,
            0.0 if limit is None else float(limit),
            None,
            None if inputs is None else os.fsencode(inputs),
        )
        _check(library.hsc_program_run_start(ctypes.byref(call), ctypes.byref(result)))
    try:
        made = Run(result.contents)
    finally:
        library.hsc_program_run_free(result)
    if made.degraded:
        warnings.warn(FallbackWarning(made.warning), stacklevel=2)
    return made
