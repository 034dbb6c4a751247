#!/usr/bin/env python3
"""JAX on the built-in device, unmodified: devices, arrays there and back. TAP.

    jax_transfers.py PLUGIN.so

Skipped where jax is not installed.
"""

import importlib.util
import os
import sys

if importlib.util.find_spec("jax") is None:
    print("1..0 # SKIP jax is not installed for this Python")
    sys.exit(0)

os.environ["PJRT_NAMES_AND_LIBRARY_PATHS"] = "hloscope:" + sys.argv[1]
os.environ["JAX_PLATFORMS"] = "hloscope"
os.environ["JAX_ENABLE_X64"] = "1"
import jax  # noqa: E402
import numpy  # noqa: E402

number = failures = 0


def report(good: bool, name: str) -> None:
    global number, failures
    number += 1
    failures += not good
    print(f"{'ok' if good else 'not ok'} {number} - {name}", flush=True)


def main() -> int:
    device = jax.devices()[0]
    report(device.platform == "hloscope" and len(jax.devices()) == 1, "the device is there")
    report(device.memory_stats()["bytes_limit"] > 0, "memory statistics")
    for kind in (
        "f2",
        "f4",
        "f8",
        "i1",
        "i2",
        "i4",
        "i8",
        "u1",
        "u2",
        "u4",
        "u8",
        "b1",
        "c8",
        "c16",
        "bfloat16",
        "float8_e4m3fn",
        "int4",
        "uint4",
    ):
        values = numpy.arange(12).reshape(3, 4).astype(jax.numpy.dtype(kind))
        report(
            bool((numpy.asarray(jax.device_put(values, device)) == values).all()),
            f"there and back: {kind}",
        )
    cube = numpy.arange(24, dtype="f4").reshape(2, 3, 4)
    views = {
        "transposed": cube.T,
        "backwards, every second": cube[::-1, :, ::2],
        "one column": cube[:, :, 1],
        "empty": cube[:0],
        "scalar": cube[1, 1, 1],
    }
    for name, view in views.items():
        report(
            bool((numpy.asarray(jax.device_put(view, device)) == view).all()),
            f"there and back: {name}",
        )
    array = jax.device_put(cube, device).block_until_ready()
    seen = numpy.asarray(array)
    report(
        seen.__array_interface__["data"][0] == array.unsafe_buffer_pointer(),
        "host reads device memory in place",
    )
    other = jax.device_put(array, device, may_alias=False)
    array.delete()
    report(
        array.is_deleted() and not other.is_deleted() and bool((seen == cube).all()),
        "deleted, but still read by numpy",
    )
    report(bool((numpy.asarray(other) == cube).all()), "a copy survives")
    print(f"1..{number}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
