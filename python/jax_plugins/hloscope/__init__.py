"""The built-in device for JAX: JAX_PLATFORMS=hloscope, or jax.config.update("jax_platforms",
"hloscope") before the first device is asked for.

JAX calls initialize() of every package in the namespace jax_plugins, also in programs that never
heard of hloscope. Those must see nothing of it: no platform beside theirs, no warning, no change of
JAX's functions. So nothing is registered unless the platforms that JAX is told to use name ours.
"""

import os

import hloscope

# Asked for, it is still not the default beside other platforms.
PRIORITY = -100


def _wanted():
    """Whether the program asked for the device by name."""
    if _named_by_variable():
        return True
    try:
        from jax._src import config

        platforms = config.jax_platforms.value
    except (ImportError, AttributeError):
        platforms = os.environ.get("JAX_PLATFORMS")
    return "hloscope" in [name.strip() for name in (platforms or "").split(",")]


def _warn_where_nothing_records():
    """HLOSCOPE_OUTPUT_PATH records where hloscope is installed in this Python, or where the tracer
    is loaded."""
    import ctypes
    import sys
    import warnings

    by_profile = "hloscope.tracing" in sys.modules  # which sets the variable for the tracer
    if (
        os.environ.get("HLOSCOPE_OUTPUT_PATH")
        and not by_profile
        and not hasattr(ctypes.CDLL(None), "hsc_tracer_wrap_library")
    ):
        warnings.warn(
            "HLOSCOPE_OUTPUT_PATH is set, but nothing is recorded: hloscope is on the path of this"
            " Python and not installed in it. Run the program under `hloscope trace`, or install"
            " the package (pip install ./python).",
            stacklevel=3,
        )


def initialize():
    _warn_where_nothing_records()
    if not _wanted():
        return
    from jax._src import xla_bridge

    from . import cache

    cache.allow()
    path = _named_by_variable()
    if path is None:
        path = hloscope.library_path()
        xla_bridge.register_plugin("hloscope", priority=PRIORITY, library_path=path, options=None)
    _allow_donation()
    _pass_device_count(xla_bridge)
    from . import lowering

    lowering.register(path)


def _pass_device_count(xla_bridge):
    """jax.config's jax_num_cpu_devices says how many devices a processor is: ours is one too. JAX
    reads it when it makes the client."""
    try:
        others = xla_bridge._options_from_jax_configs
        wanted = xla_bridge.num_cpu_devices
    except (
        AttributeError
    ):  # a JAX that keeps it elsewhere: HLOSCOPE_DEVICE_COUNT and XLA_FLAGS are left
        return
    if hasattr(others, "hloscope"):
        return

    def options(plugin_name):
        found = dict(others(plugin_name))
        if plugin_name == "hloscope" and wanted.value > 0:
            found.setdefault("device_count", wanted.value)
        return found

    options.hloscope = True
    xla_bridge._options_from_jax_configs = options


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
    except (
        ImportError,
        AttributeError,
    ):  # a JAX that keeps it elsewhere: donated arguments are copied
        pass
