"""hloscope: a performance laboratory for XLA programs. This package holds the built-in device and
what Python needs to use it."""

import os
import pathlib


def _find(name):
    here = pathlib.Path(__file__).resolve().parent
    chosen = os.environ.get("HLOSCOPE_LIBRARY_DIR")
    # a wheel; a checkout; share/hloscope/python of an installation
    prefixes = [here, here.parents[3]]
    folders = [here / "lib", here.parents[1] / "build"]
    folders += [
        folder
        for prefix in prefixes
        for folder in (
            *sorted(prefix.glob("lib*/hloscope")),
            *sorted(prefix.glob("lib*/*/hloscope")),
            *sorted(prefix.glob("lib*")),
            *sorted(prefix.glob("lib*/*-linux-gnu")),
        )
    ]
    candidates = [pathlib.Path(chosen) / name] if chosen else [folder / name for folder in folders]
    for path in candidates:
        if path.exists():
            return str(path)
    raise FileNotFoundError(
        f"{name} is not where this package looks for it: {', '.join(map(str, candidates[:4]))}. Run"
        " make in the checkout, install the wheel (make wheel), or name the folder in"
        " HLOSCOPE_LIBRARY_DIR."
    )


def library_path():
    """The PJRT plugin of the built-in device (it exports GetPjrtApi)."""
    return os.environ.get("HLOSCOPE_CPU_PLUGIN") or _find("libhloscope_cpu_pjrt.so")


def tracer_path():
    """The PJRT tracer: LD_PRELOAD it, with HLOSCOPE_OUTPUT_PATH naming the capture; `hloscope
    trace` does both."""
    return _find("libhloscope_pjrt_tracer.so")


# name: the module that has it. Read when first used, so that importing the package for its plugin
# stays cheap.
_LAZY = {
    name: "tracing"
    for name in (
        "profile",
        "record",
        "instant",
        "counter",
        "category",
        "paused",
        "open_capture",
        "Capture",
        "Table",
        "Error",
        "CATEGORIES",
    )
}
_LAZY |= {
    name: "comparing"
    for name in (
        "compare",
        "faster",
        "same_numbers",
        "passes",
        "report",
        "blame",
        "Comparison",
        "Claim",
        "Passes",
        "Report",
        "Blame",
    )
}
_LAZY |= {name: "running" for name in ("run", "Run", "FallbackWarning")}


def _read_version():  # "_version" becomes the module's name once it has been imported
    try:
        from ._version import version
    except ImportError:  # a checkout
        return (
            (pathlib.Path(__file__).resolve().parents[2] / "VERSION")
            .read_text(encoding="utf-8")
            .strip()
        )
    return version


def __getattr__(name):
    if name == "__version__":
        return _read_version()
    if name in _LAZY:
        import importlib

        return getattr(importlib.import_module("." + _LAZY[name], __name__), name)
    raise AttributeError(f"module 'hloscope' has no attribute '{name}'")


def __dir__():
    return sorted([*globals(), *_LAZY])
