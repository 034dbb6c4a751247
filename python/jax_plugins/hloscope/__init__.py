"""The built-in device for JAX: JAX_PLATFORMS=hloscope. JAX calls initialize() of every package in the namespace jax_plugins."""
import os

import hloscope

# Below the platforms with hardware and above plain cpu would take programs over unasked: it is chosen by name only.
PRIORITY = -100


def initialize():
    from jax._src import xla_bridge

    names = os.environ.get("PJRT_NAMES_AND_LIBRARY_PATHS", "")
    if any(entry.split(":")[0] == "hloscope" for entry in names.split(",") if entry):
        return  # registered by that variable already
    xla_bridge.register_plugin("hloscope", priority=PRIORITY, library_path=hloscope.library_path(), options=None)
