"""The built-in device for JAX: JAX_PLATFORMS=hloscope. JAX calls initialize() of every package in the namespace jax_plugins."""
import os

import hloscope

# Below the platforms with hardware and above plain cpu would take programs over unasked: it is chosen by name only.
PRIORITY = -100


def initialize():
    from jax._src import xla_bridge

    from . import cache

    cache.allow()
    path = _named_by_variable()
    if path is None:
        path = hloscope.library_path()
        xla_bridge.register_plugin("hloscope", priority=PRIORITY, library_path=path, options=None)
    _allow_donation()
    from . import lowering

    lowering.register(path)


def _named_by_variable():
    """The library that PJRT_NAMES_AND_LIBRARY_PATHS registers under our name, if it does."""
    for entry in os.environ.get("PJRT_NAMES_AND_LIBRARY_PATHS", "").split(","):
        name, _, path = entry.partition(":")
        if name == "hloscope" and path:
            return path
    return None


def _allow_donation():
    """JAX keeps a list of the platforms that can reuse donated arguments; ours can."""
    try:
        from jax._src.interpreters import mlir

        if "hloscope" not in mlir._platforms_with_donation:
            mlir._platforms_with_donation.append("hloscope")
    except (ImportError, AttributeError):  # a JAX that keeps it elsewhere: donated arguments are copied
        pass
