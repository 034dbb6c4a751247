"""The built-in device for PyTorch/XLA: PJRT_DEVICE=HLOSCOPE. torch_xla finds this class by the
entry point torch_xla.plugins."""

from torch_xla.experimental import plugins

import hloscope


class HloscopePlugin(plugins.DevicePlugin):
    def library_path(self):
        return hloscope.library_path()

    def client_create_options(self):
        return {}

    def physical_chip_count(self):
        return 1
