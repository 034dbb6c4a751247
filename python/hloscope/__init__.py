"""hloscope: a performance laboratory for XLA programs. This package holds the built-in device and what Python needs to use it."""
import os
import pathlib

__version__ = "0.1.0"


def _find(name):
    here = pathlib.Path(__file__).resolve().parent
    chosen = os.environ.get("HLOSCOPE_LIBRARY_DIR")
    candidates = [pathlib.Path(chosen) / name] if chosen else [here / "lib" / name, here.parent.parent / "build" / name]
    for path in candidates:
        if path.exists():
            return str(path)
    raise FileNotFoundError(
        f"{name} is not where this package looks for it: {', '.join(map(str, candidates))}. "
        "Run make in the checkout, install the package with pip install ./python, or name the folder in HLOSCOPE_LIBRARY_DIR."
    )


def library_path():
    """The PJRT plugin of the built-in device (it exports GetPjrtApi)."""
    return os.environ.get("HLOSCOPE_CPU_PLUGIN") or _find("libhloscope_cpu_pjrt.so")


def tracer_path():
    """The PJRT tracer: LD_PRELOAD it, with HLOSCOPE_OUTPUT_PATH naming the capture; `hloscope trace` does both."""
    return _find("libhloscope_pjrt_tracer.so")


# name: the module that has it. Read when first used, so that importing the package for its plugin stays cheap.
_LAZY = {name: "tracing" for name in ("profile", "record", "instant", "counter", "category", "paused", "open_capture", "Capture", "Table", "Error", "CATEGORIES")}
_LAZY |= {name: "running" for name in ("run", "Run", "FallbackWarning")}


def __getattr__(name):
    if name in _LAZY:
        import importlib

        return getattr(importlib.import_module("." + _LAZY[name], __name__), name)
    raise AttributeError(f"module 'hloscope' has no attribute '{name}'")


def __dir__():
    return sorted([*globals(), *_LAZY])
