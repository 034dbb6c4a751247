#!/usr/bin/env python3
"""Prints a log as training runs print it: python3 bench/make_log.py N prints N times the same 4000
lines (455 kB), of which 40 are recognised.

With --all every line is recognised, of five kinds, one in colours (504 kB): the worst case for
hloscope explain.
"""

import random
import sys

PASSES = ["InferIntrinsicOnCC", "LICM", "LocalLayoutOpt", "DelinearIndices", "DeadCodeElimination"]


def line(i: int) -> str:
    kind = random.random()
    if kind < 0.5:
        stamp = f"2024-08-15T13:{i // 60 % 60:02d}:{i % 60:02d}Z"
        return (
            f"{stamp} INFO 1454 [sg0000/Tensorizer/{random.choice(PASSES)}]: Running pass, finished"
            f" after {random.random():.3f} seconds"
        )
    if kind < 0.8:
        return (
            f"step {i} loss={random.random():.5f} lr=0.001 throughput {random.randint(100, 999)}"
            " samples/s, epoch 3, eta 00:12:33"
        )
    if kind < 0.99:
        return (
            f"I0000 00:00:17312345{i:04d}.123456   {i} service.cc:148] XLA service 0x7f{i:08x}"
            " initialized for platform Host (this does not guarantee that XLA will be used)."
            f" Devices: {random.randint(1, 8)}"
        )
    return (
        f"2025-10-31 07:17:30.000{i % 1000:03d}:  8442  INFO ||NEURON_CC_WRAPPER||: Using a cached"
        " neff at "
        f"/var/tmp/neuron-compile-cache/neuronxcc-2.21.18209.0+043b1bf7/MODULE_{i}+d41d8cd9/model.neff"
    )


def known(i: int) -> str:
    stamp = f"2025-10-31 07:17:30.000{i % 1000:03d}:  8442  INFO ||NEURON_CC_WRAPPER||:"
    return (
        (
            f"{stamp} Using a cached neff at"
            f" /var/tmp/neuron-compile-cache/neuronxcc-2.21.18209.0+043b1bf7/MODULE_{i}+d41d8cd9/model.neff"
        ),
        (
            f"\x1b[32m{stamp} Call compiler with cmd: neuronx-cc compile --target=trn1"
            f" --framework=XLA /tmp/w/model.MODULE_{i}+d41d8cd9.hlo_module.pb --output"
            " /tmp/w/model.neff --verbose=35\x1b[0m"
        ),
        "Compiler status PASS",
        (
            f"W0000 00:00:1731234567.{i:06d}  12 slow_operation_alarm.cc:146] The operation took"
            f" {i}.5s"
        ),
        (
            f"WARNING:2025-10-31 07:17:30,{i % 1000:03d}:jax._src.dispatch:182: Finished XLA"
            f" compilation of jit(f{i}) in 0.{i} sec"
        ),
    )[i % 5]


random.seed(3)
make = known if "--all" in sys.argv else line
counts = [a for a in sys.argv[1:] if a.isdigit()]
block = "\n".join(make(i) for i in range(4000)) + "\n"
for _ in range(int(counts[0]) if counts else 1):
    sys.stdout.write(block)
