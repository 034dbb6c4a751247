#!/usr/bin/env python3
"""Writes a large profile: gen_xspace.py EVENTS FILE [tpu|host]. Needs Python's standard library
only.

tpu: eight planes /device:TPU:0..7 with Steps, XLA Modules and XLA Ops, 500 operators whose cost is
on their metadata, one stat an event. host: one plane /host:CPU with eight threads and five stats an
event, as XLA:CPU writes it.
"""

import random
import sys

PLANES, OPS = 8, 500
CATEGORIES = (
    "loop fusion",
    "dot",
    "convolution fusion",
    "all-reduce",
    "copy",
    "dynamic-update-slice",
)


def varint(n):
    n &= (1 << 64) - 1
    out = bytearray()
    while n > 127:
        out.append(n & 127 | 128)
        n >>= 7
    out.append(n)
    return bytes(out)


def field(number, value):
    """A field: an integer, text or bytes."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    value = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(value)) + value


class Plane:
    def __init__(self, number, name):
        self.parts, self.metas, self.stats = [field(1, number), field(2, name)], [], {}

    def stat(self, name):
        if name not in self.stats:
            self.stats[name] = len(self.stats) + 1
        return self.stats[name]

    def uint(self, name, value):
        return field(1, self.stat(name)) + field(3, value)

    def ref(self, name, text):
        return field(1, self.stat(name)) + field(7, self.stat(text))

    def number(self, name, value):
        import struct

        return field(1, self.stat(name)) + varint(2 << 3 | 1) + struct.pack("<d", value)

    def meta(self, number, name, display="", stats=()):
        value = (
            field(1, number)
            + field(2, name)
            + (field(4, display) if display else b"")
            + b"".join(field(5, s) for s in stats)
        )
        self.metas.append(field(4, field(1, number) + field(2, value)))

    def line(self, number, name, events):
        self.parts.append(
            field(3, field(1, number) + field(2, name) + field(3, 1000) + b"".join(events))
        )

    def write(self, file):
        stats = [
            field(5, field(1, n) + field(2, field(1, n) + field(2, text)))
            for text, n in self.stats.items()
        ]
        file.write(field(1, b"".join(self.parts + self.metas + stats)))


def device(file, number, events, durations):
    p = Plane(number, f"/device:TPU:{number}")
    p.parts += [
        field(6, p.number("peak_teraflops_per_second", 91.75)),
        field(6, p.number("peak_hbm_bw_gigabytes_per_second", 820.0)),
    ]
    for i in range(OPS):
        p.meta(
            1000 + i,
            f"%fusion.{i} = f32[128,{i + 1}]{{1,0}} fusion(%p.{i}, %q.{i}), kind=kLoop,"
            f" calls=%fused_computation.{i}",
            f"fusion.{i}",
            [
                p.ref("hlo_category", CATEGORIES[i % 6]),
                p.uint("program_id", 38),
                p.uint("symbol_id", 1 + i),
                p.uint("flops", 1000000 + i),
                p.uint("bytes_accessed", 4096 * (i + 1)),
                p.ref("tf_op", f"jit(train_step)/layer_{i // 10}/op_{i}:"),
                p.ref("source", f"model.py:{i}"),
            ],
        )
    p.meta(1, "jit_train_step(38)")
    heads = [field(1, 1000 + i) for i in range(OPS)]
    lasts = [field(3, d) for d in durations]
    ops, modules, steps, at, done, step = [], [], [], 0, 0, 0
    while done < events:
        start, stat = at, field(4, p.uint("run_id", 1000 + step))
        for i in range(min(OPS, events - done)):
            ops.append(field(4, heads[i] + field(2, at) + lasts[i] + stat))
            at += durations[i] + 200_000
            done += 1
        p.meta(100000 + step, str(step))
        modules.append(field(4, field(1, 1) + field(2, start) + field(3, at - start) + stat))
        steps.append(field(4, field(1, 100000 + step) + field(2, start) + field(3, at - start)))
        step, at = step + 1, at + 1_000_000
    p.line(1, "Steps", steps)
    p.line(2, "XLA Modules", modules)
    p.line(3, "XLA Ops", ops)
    p.write(file)


def host(file, events, durations):
    p = Plane(0, "/host:CPU")
    for i in range(OPS):
        p.meta(1000 + i, f"fusion.{i}")
    texts = [field(4, p.ref("hlo_op", f"fusion.{i}")) for i in range(OPS)]
    module = field(4, p.ref("hlo_module", "jit_train_step"))
    numbers = [p.stat(name) for name in ("program_id", "run_id", "device_ordinal")]
    for thread in range(PLANES):
        line, at = [], 0
        for n in range(events):
            i = n % OPS
            stats = (
                texts[i]
                + module
                + b"".join(
                    field(4, field(1, k) + field(4, v))
                    for k, v in zip(numbers, (38, n // OPS, thread))
                )
            )
            line.append(
                field(4, field(1, 1000 + i) + field(2, at) + field(3, durations[i]) + stats)
            )
            at += durations[i] + 200_000
        p.line(thread + 10, f"tf_XLAEigen/{thread}", line)
    p.write(file)


def main():
    events, path, kind = (
        int(float(sys.argv[1])),
        sys.argv[2],
        sys.argv[3] if len(sys.argv) > 3 else "tpu",
    )
    generator = random.Random(1)
    durations = [generator.randint(500_000, 20_000_000) for _ in range(OPS)]
    with open(path, "wb") as file:
        if kind == "host":
            host(file, events // PLANES, durations)
        else:
            for number in range(PLANES):
                device(file, number, events // PLANES, durations)
        file.write(field(4, "big"))


if __name__ == "__main__":
    main()
