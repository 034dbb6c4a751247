"""HLOSCOPE_OUTPUT_PATH by itself records: run at the start of every Python that has hloscope
installed (hloscope-record.pth), and nothing without that variable.

The tracer must be loaded before the program's libraries, so the program starts once more, with it:
the same process, the same arguments. What it then finds in its environment is what `hloscope trace`
would have set. Nothing here may stop a program.
"""

import os
import sys

DEFAULTS = {
    "HLOSCOPE_XLA_CPU_CALLS": "2000",
    "HLOSCOPE_XLA_CPU_SECONDS": "60",
    "HLOSCOPE_TRACE_PROFILE_CALLS": "2000",
}
STARTED = (  # the process that was started once more, or had the tracer from the beginning
    "HLOSCOPE_RECORDS"
)


def _command():
    with open("/proc/self/cmdline", "rb") as file:
        return [os.fsdecode(part) for part in file.read().split(b"\0")[:-1]]


def record():
    path = os.environ.get("HLOSCOPE_OUTPUT_PATH")
    if not path or os.environ.get(STARTED) == str(os.getpid()):
        return
    import ctypes

    os.environ[STARTED] = str(os.getpid())
    if hasattr(ctypes.CDLL(None), "hsc_tracer_wrap_library"):
        return  # `hloscope trace`, or a child of a recorded program: the tracer is there
    from . import tracer_path

    if os.path.realpath(sys.executable) != os.path.realpath("/proc/self/exe"):
        sys.stderr.write(
            "hloscope: HLOSCOPE_OUTPUT_PATH is set, but this Python is inside of another program"
            " and cannot be recorded: use hloscope trace\n"
        )
        return
    os.environ["HLOSCOPE_OUTPUT_PATH"] = os.path.abspath(
        path
    )  # the program may change its directory
    for name, value in DEFAULTS.items():
        os.environ.setdefault(name, value)
    os.environ.setdefault("HLOSCOPE_TRACE_RUN", os.urandom(16).hex())
    hook = os.path.join(os.path.dirname(os.path.abspath(__file__)), "site")
    for name, first in (("LD_PRELOAD", tracer_path()), ("PYTHONPATH", hook)):
        os.environ[name] = os.pathsep.join([first, *filter(None, [os.environ.get(name)])])
    sys.stdout.flush()
    os.execv(sys.executable, _command())


def main():
    try:
        record()
    except Exception as error:
        sys.stderr.write(
            "hloscope: HLOSCOPE_OUTPUT_PATH is set, but nothing is recorded:"
            f" {type(error).__name__}: {error}\n"
        )
