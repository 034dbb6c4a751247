"""For tests that claim speed and numbers:

    def test_new_kernel():
        assert hloscope.same_numbers(old, new, x)
        assert hloscope.faster(new, old, x)

pytest shows the reason of a claim that does not hold by itself. This plugin adds the option that
says where: pytest --hloscope-device=xla-cpu.
"""

import os


def pytest_addoption(parser):
    parser.getgroup("hloscope").addoption(
        "--hloscope-device",
        metavar="DEVICE",
        help="where hloscope measures; default: $HLOSCOPE_DEVICE, else cpu",
    )


def pytest_configure(config):
    device = config.getoption("--hloscope-device")
    if device:
        os.environ["HLOSCOPE_DEVICE"] = device


def pytest_report_header(config):
    device = config.getoption("--hloscope-device")
    return f"hloscope: {device}" if device else None
