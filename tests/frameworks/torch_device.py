"""DEVICE: the built-in device in PyTorch/XLA, its plugin being the first argument. Skips the test
where torch_xla is not installed (README.md says how to get it)."""

import importlib.util
import os
import sys

if importlib.util.find_spec("torch_xla") is None:
    print("1..0 # SKIP torch_xla is not installed for this Python")
    sys.exit(0)

os.environ["PJRT_DEVICE"] = "HLOSCOPE"
import torch_xla  # noqa: E402
from torch_xla.experimental import plugins  # noqa: E402


class Plugin(plugins.DevicePlugin):
    def library_path(self):
        return sys.argv[1]

    def client_create_options(self):
        return {"thread_count": 1}


plugins.register_plugin("HLOSCOPE", Plugin())
DEVICE = torch_xla.device()
