"""The Python package as an installation leaves it: a folder for PYTHONPATH with its modules and the
entry points by which JAX and PyTorch/XLA find it."""

import pathlib

ROOT = pathlib.Path(__file__).resolve().parents[2]
ENTRY_POINTS = """[jax_plugins]
hloscope = jax_plugins.hloscope

[torch_xla.plugins]
HLOSCOPE = hloscope.torch_plugin:HloscopePlugin
"""


def installed_in(folder):
    """Fills the folder, and returns it."""
    folder = pathlib.Path(folder)
    for name in ("hloscope", "jax_plugins"):
        (folder / name).symlink_to(ROOT / "python" / name)
    info = folder / "hloscope-0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: hloscope\nVersion: 0\n")
    (info / "entry_points.txt").write_text(ENTRY_POINTS)
    return folder
