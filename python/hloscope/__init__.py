"""hloscope: a performance laboratory for XLA programs. This package holds the built-in device and what Python needs to use it."""
import os
import pathlib

__version__ = "0.1.0"


def _find(name):
    here = pathlib.Path(__file__).resolve().parent
    candidates = [here / "lib" / name, here.parent.parent / "build" / name]
    for path in candidates:
        if path.exists():
            return str(path)
    raise FileNotFoundError(f"{name} is neither in this package nor in a build beside it; looked at: " + ", ".join(map(str, candidates)))


def library_path():
    """The PJRT plugin of the built-in device (it exports GetPjrtApi)."""
    return os.environ.get("HLOSCOPE_CPU_PLUGIN") or _find("libhloscope_cpu_pjrt.so")


def tracer_path():
    """The PJRT tracer: LD_PRELOAD it, with HLOSCOPE_OUTPUT_PATH naming the capture; `hloscope trace` does both."""
    return _find("libhloscope_pjrt_tracer.so")
