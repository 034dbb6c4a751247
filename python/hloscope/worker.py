"""`python -m hloscope.worker`: the worker protocol (docs/formats/worker.md) for XLA:CPU, on jaxlib
alone.

One JSON object a line comes in on standard input, one answer a line goes out on descriptor 3
(standard output where that is not open). Times are taken here, around the calls of jaxlib, so no
pipe and no JSON is in them; what such a call costs by itself is measured too (`call_overhead_ns` of
`describe`).
"""

import contextlib
import ctypes
import errno
import gc
import json
import math
import os
import resource
import signal
import sys
import time

from hloscope import __version__
from hloscope.xla_cpu import (
    MEMORY,
    Device,
    Executable,
    JobError,
    Program,
    count_instructions,
    digest,
    now,
)

PROTOCOL = 1
CODES = (
    "CANCELLED",
    "UNKNOWN",
    "INVALID_ARGUMENT",
    "DEADLINE_EXCEEDED",
    "NOT_FOUND",
    "ALREADY_EXISTS",
    "PERMISSION_DENIED",
    "RESOURCE_EXHAUSTED",
    "FAILED_PRECONDITION",
    "ABORTED",
    "OUT_OF_RANGE",
    "UNIMPLEMENTED",
    "INTERNAL",
    "UNAVAILABLE",
    "DATA_LOSS",
    "UNAUTHENTICATED",
)

# what a compiler counts of its program, by our names and XLA's
OWN_COST = (
    ("flops", "flops"),
    ("bytes", "bytes accessed"),
    ("transcendentals", "transcendentals"),
)


def usage():
    u = resource.getrusage(resource.RUSAGE_SELF)
    return (u.ru_minflt + u.ru_majflt, u.ru_majflt, u.ru_nvcsw, u.ru_nivcsw)


def usage_since(before, prefix=""):
    names = ("page_faults", "major_faults", "voluntary_switches", "involuntary_switches")
    return {prefix + name: b - a for name, a, b in zip(names, before, usage())}


# ---- requests ------------------------------------------------------------------------------------


def member(request, name, kinds, default=None, what="of another type than it must be"):
    value = request.get(name)
    if value is None:
        return default
    if not isinstance(value, kinds) or (isinstance(value, bool) and kinds is int):
        raise JobError("INVALID_ARGUMENT", f'"{name}" is {what}')
    return value


def whole(request, name, least, most, default):
    value = member(request, name, int, default, f"not a whole number from {least} to {most}")
    if not least <= value <= most:
        raise JobError("INVALID_ARGUMENT", f'"{name}" is not a whole number from {least} to {most}')
    return value


SERIES_LEAST = 3  # runs that are made whatever the time budget says


# ---- jobs ----------------------------------------------------------------------------------------


def parent_note():
    """The memory that whoever started this process shares at descriptor 4
    (src/base/process/child.c); None without."""
    try:
        if "hloscope-note" in os.readlink("/proc/self/fd/4"):
            import mmap

            return mmap.mmap(4, 256)
    except OSError:
        pass
    return None


class Worker:
    note = None
    last = None  # what the job compiled and does not keep: let go when the answer is on its way
    _step = None

    @property
    def step(self):
        """What the running job is at: for errors, and for who finds this process dead."""
        return self._step

    @step.setter
    def step(self, text):
        self._step = text
        if self.note:
            self.note[:] = (text or "").encode()[:255].ljust(256, b"\0")

    def __init__(self):
        self.note = parent_note()
        self.device = self.step = self.hloscope = self.cache_dir = None
        self.programs = {}
        self.quit = False

    # -- what jobs share

    def program(self, request):
        self.device_ready()
        path = member(request, "program", str)
        if path is None:
            raise JobError("INVALID_ARGUMENT", 'the job has no "program"')
        transforms = member(request, "transforms", list, [])
        whole = member(request, "whole", bool, False)
        key = (path, whole, *transforms)
        if key not in self.programs:
            self.step = "reading the program"
            self.programs[key] = Program(path, transforms, self.hloscope, self.device, whole)
            self.device.register_calls(
                self.programs[key].code
            )  # once a program, and in no compile's time
        return self.programs[key]

    def device_ready(self):
        if self.device is None:
            raise JobError("FAILED_PRECONDITION", 'no device yet: send a "load" job first')
        self.device.need()

    def compiled(self, request, program):
        """(executable, how): looked up in memory, else compiled. There is no cache on disk."""
        before = usage()
        self.step = "compiling"
        start = now()
        overrides = member(request, "overrides", dict, {})
        key = (program.fingerprint, json.dumps(overrides, sort_keys=True))
        cache = member(request, "cache", list, ["memory", "disk"])
        found = self.device.executables.get(key) if "memory" in cache else None
        how = {
            "compile": "memory" if found else "miss",
            "lookup_ns": now() - start,
            "disk_ns": 0,
            "load_ns": 0,
            "compile_ns": 0,
        }
        if not found:
            start = now()
            found = self.device.compile(program.code, overrides, program.spread)
            how["compile_ns"] = now() - start
            self.device.executables[key] = found
        how.update(usage_since(before, "compile_"))
        return found, how

    def feed(self, request, executable):
        feed = member(request, "feed", list, [])
        for i, pair in enumerate(feed):
            if (
                not isinstance(pair, list)
                or len(pair) != 2
                or not all(isinstance(x, int) for x in pair)
            ):
                raise JobError("INVALID_ARGUMENT", f"feed {i} is not a pair [output, input]")
            if not (
                0 <= pair[0] < len(executable.output_shapes)
                and 0 <= pair[1] < len(executable.input_shapes)
            ):
                raise JobError(
                    "INVALID_ARGUMENT",
                    f"feed {i} is {pair}; the program has {len(executable.output_shapes)} outputs"
                    f" and {len(executable.input_shapes)} inputs",
                )
        return feed

    def shape_text(self, shape, dims=None):
        names = self.device.inputs_module.HLO_NAMES
        numbers = ",".join(map(str, shape.dimensions() if dims is None else dims))
        return f"{names[self.device.np.dtype(shape.numpy_dtype())]}[{numbers}]"

    # -- jobs, by their names in the protocol

    def hello(self, request):
        return {"protocol": PROTOCOL, "hloscope": __version__, "pid": os.getpid()}

    def quit_(self, request):
        self.quit = True
        return {}

    def load(self, request):
        if self.device:
            raise JobError("FAILED_PRECONDITION", "jaxlib is loaded already")
        self.step = "loading jaxlib"
        self.hloscope = member(request, "hloscope", str)
        self.cache_dir = member(request, "cache_dir", str)
        self.device = Device()
        self.device.overrides = member(request, "overrides", dict, {})
        self.device.count = member(request, "options", dict, {}).get("device_count", 1)
        version = (
            [int(n) for n in self.device.x.mlir.get_current_version().split(".")]
            if hasattr(self.device.x.mlir, "get_current_version")
            else None
        )
        self.step = "creating the client"
        create_ns = self.device.open()
        gc.freeze()  # jaxlib's and numpy's objects stay: no collection walks them again
        attributes = {"stablehlo_current_version": version} if version else {}
        return {
            "plugin_load_ns": self.device.load_ns,
            "plugin_initialize_ns": 0,
            "client_create_ns": create_ns,
            "plugin": sys.executable,
            "pjrt_version": f"in jaxlib {self.device.version}",
            "attributes": attributes,
            "extensions": [],
            "platform": "cpu",
            "platform_version": f"XLA:CPU of jaxlib {self.device.version}",
            "devices": [
                {"id": d.id, "kind": d.device_kind, "text": str(d)}
                for d in self.device.client.devices()
            ],
        }

    def reinit(self, request):
        self.device_ready()
        destroy_ns = self.device.close()
        self.step = "creating the client"
        return {"client_destroy_ns": destroy_ns, "client_create_ns": self.device.open()}

    def drop(self, request):
        self.device_ready()
        count = len(self.device.executables)
        self.device.executables.clear()
        if member(request, "programs", bool, False):
            self.programs.clear()
        return {"dropped": count}

    def sync(self, request):
        self.device_ready()
        buffer, times = self.device.put(self.device.np.float32(0).reshape(())), []
        buffer.block_until_ready()
        for _ in range(whole(request, "count", 1, 1000000, 10)):
            start = now()
            buffer.block_until_ready()
            times.append(now() - start)
        return {"series": {"sync_ns": times}}

    def describe(self, request):
        program = self.program(request)
        e, how = self.compiled(request, program)
        overhead = {"call_overhead_ns": self.device.call_overhead()}
        optimized_to = member(request, "optimized_to", str)
        if optimized_to:
            with open(optimized_to, "wb") as file:
                file.write(e.proto)
            # of a program in parts the file is looked into, of another one it is only counted
            if program.spread.devices > 1:
                overhead.update(optimized=optimized_to, optimized_format="hlo")
            else:
                overhead.update(count_from=optimized_to)
        return {
            **self.known(program, e),
            "memory": self.memory_of(e),
            **self.times_of(program),
            **{k: how[k] for k in ("compile", "lookup_ns", "compile_ns")},
            **overhead,
        }

    def compile(self, request):
        """One compile with options of its own, not kept; what it leaves behind goes into files."""
        program = self.program(request)
        optimized_to, xspace_to, serialized_to = (
            member(request, key, str) for key in ("optimized_to", "xspace_to", "serialized_to")
        )
        session = self.device.profiler() if xspace_to else None
        self.step = "compiling"
        start, processor = now(), time.process_time_ns()
        try:
            loaded = self.device.compile_only(
                program.code, member(request, "overrides", dict, {}), program.spread
            )
            compile_ns, processor = now() - start, time.process_time_ns() - processor
        finally:
            xspace = session.stop() if session else None
        self.step = "reading what the compiler made"
        e = self.last = Executable(self.device, loaded, program.spread)
        fingerprint = loaded.fingerprint
        answer = {
            "compile_ns": compile_ns,
            "compile_processor_ns": processor,
            **self.known(program, e),
            **self.times_of(program),
            "cost": e.cost,
            "memory": self.memory_of(e),
            "executable_fingerprint": (
                fingerprint.decode("ascii", "backslashreplace") if fingerprint else None
            ),
        }
        for key, to, data in (("optimized", optimized_to, e.proto), ("xspace", xspace_to, xspace)):
            if to:
                with open(to, "wb") as file:
                    file.write(data)
                answer[key] = to
        if optimized_to:
            answer["optimized_format"] = "hlo"
        if serialized_to:
            data = self.device.serialized(loaded)
            with open(serialized_to, "wb") as file:
                file.write(data)
            answer["serialized_bytes"] = len(data)
        return answer

    def memory_of(self, e):
        return {key: getattr(e.memory, name, None) for key, name in MEMORY}

    def times_of(self, program):
        if program.reported:
            return {}
        program.reported = True
        return {"program": program.times}

    def known(self, program, e):
        instructions, fusions = count_instructions(e.proto)
        cost, memory = e.cost, e.memory
        inputs = [
            {
                "name": f"parameter {i}",
                "shape": self.shape_text(s),
                "bytes": (
                    self.device.np.dtype(s.numpy_dtype()).itemsize
                    * int(self.device.np.prod(s.dimensions()))
                ),
            }
            for i, s in enumerate(e.input_shapes)
        ]
        return {
            "name": self.facts_of(program, "name", e.module.name),
            "fingerprint": program.fingerprint,
            "partitions": program.spread.partitions,
            "replicas": program.spread.replicas,
            "program_instructions": program.facts.get("program_instructions"),
            "text": program.facts.get("text"),
            "own": {key: cost[name] for key, name in OWN_COST if name in cost},
            "inputs": program.facts.get("inputs") or inputs,
            "outputs": [self.shape_text(s) for s in e.output_shapes],
            "instructions": instructions,
            "fusions": fusions,
            "flops": cost.get("flops"),
            "bytes": cost.get("bytes accessed"),
            "cost_from": "device",
            "code_bytes": memory.generated_code_size_in_bytes or None,
            "temp_bytes": memory.temp_size_in_bytes,
            "peak_bytes": getattr(memory, "peak_memory_in_bytes", None),
        }

    def facts_of(self, program, key, otherwise):
        return program.facts.get(key, otherwise)

    def run(self, request):
        program = self.program(request)
        executions = whole(request, "executions", 1, 1000000, 1)
        syncs = whole(request, "syncs", 1, executions, 1)
        records, series = (
            whole(request, "records", 0, 100000, 1),
            whole(request, "series", 0, 10000000, 0),
        )
        seed, inputs = (
            whole(request, "seed", 0, 2**63 - 1, 0),
            member(request, "inputs", str, "first"),
        )
        perturbation = member(request, "perturb", (int, float), 0, "not a number from 0 to 1")
        data = member(request, "data", list, None, "not a list with an entry an input")
        budget_s = member(request, "budget_s", (int, float), 0, "not a number of seconds")
        if budget_s < 0:
            raise JobError("INVALID_ARGUMENT", '"budget_s" must not be negative')
        if not 0 <= perturbation <= 1:
            raise JobError("INVALID_ARGUMENT", '"perturb" is not a number from 0 to 1')
        if inputs not in ("first", "each", "keep"):
            raise JobError("INVALID_ARGUMENT", '"inputs" is neither "first", "each" nor "keep"')
        answer, e = {"records": [], **self.times_of(program)}, None
        for i in range(records):
            e, how = self.compiled(request, program)
            feed = self.feed(request, e)
            host = (
                e.fill(seed, perturbation, data)
                if inputs == "each" or (i == 0 and inputs != "keep") or e.inputs is None
                else None
            )
            record = {
                **how,
                "fingerprint": program.fingerprint,
                "setup_ns": 0,
                "transfer_in_ns": 0,
                "transfer_in_bytes": 0,
            }
            before = usage()
            if host is not None:
                self.step = "transferring the inputs"
                start = now()
                e.set_inputs(host)
                record["transfer_in_ns"], record["transfer_in_bytes"] = (
                    now() - start,
                    sum(a.nbytes for a in host),
                )
            record.update(usage_since(before, "transfer_"))
            self.step = "running"
            before = usage()
            record["enqueue_ns"], record["wait_ns"] = e.execute(executions, syncs, feed)
            record.update(usage_since(before))
            record["total_ns"] = sum(
                record[k]
                for k in (
                    "lookup_ns",
                    "disk_ns",
                    "load_ns",
                    "compile_ns",
                    "setup_ns",
                    "transfer_in_ns",
                    "enqueue_ns",
                    "wait_ns",
                )
            )
            answer["records"].append(record)
        if e is None:
            e, _ = self.compiled(request, program)
            feed = self.feed(request, e)
            if e.inputs is None or inputs != "keep":
                e.set_inputs(e.fill(seed, perturbation, data))
        self.step = "running"
        xspace_to = member(request, "xspace_to", str)
        if series:
            session = self.device.profiler() if xspace_to else None
            try:
                rows, last, before, ended = (
                    [],
                    usage(),
                    time.process_time_ns(),
                    "as many samples as were allowed",
                )  # hsc_stop_text
                deadline = now() + int(budget_s * 1e9) if budget_s else math.inf
                for number in range(series):
                    with self.device.step_mark(number) if session else contextlib.nullcontext():
                        enqueue, wait = e.execute(executions, syncs, feed)
                    after, worked = usage(), time.process_time_ns()
                    rows.append(
                        (
                            enqueue + wait,
                            enqueue,
                            wait,
                            after[0] - last[0],
                            after[3] - last[3],
                            worked - before,
                        )
                    )
                    last, before = after, worked
                    if len(rows) >= SERIES_LEAST and now() >= deadline:
                        ended = "the time budget is spent"
                        break
            finally:
                xspace = session.stop() if session else None
            if xspace:
                with open(xspace_to, "wb") as file:
                    file.write(xspace)
                answer.update(xspace=xspace_to, xspace_bytes=len(xspace))
            names = (
                "run_ns",
                "enqueue_ns",
                "wait_ns",
                "page_faults_count",
                "involuntary_switches_count",
                "processor_ns",
            )
            answer["series"] = {name: list(column) for name, column in zip(names, zip(*rows))}
            answer["series_ended_by"] = ended
        if member(request, "fetch", bool, True) and records + series:
            answer.update(self.fetch(e, member(request, "save_to", str)))
        return answer

    def fetch(self, e, save_to):
        self.step = "transferring the outputs"
        start = now()
        arrays = e.fetch()
        transfer_ns, outputs = now() - start, []
        if save_to:
            os.makedirs(save_to, exist_ok=True)
        for i, (array, shape) in enumerate(zip(arrays, e.output_shapes)):
            data = array.tobytes()
            dims = array.shape if e.output_pieces else shape.dimensions()
            text = self.shape_text(shape, dims)
            output = {"shape": text, "digest": digest(data), "bytes": len(data)}
            if e.output_pieces:
                output.update(e.how[i])
            if save_to:
                output["file"] = os.path.join(save_to, f"output_{i}.bin")
                with open(output["file"], "wb") as file:
                    file.write(data)
            outputs.append(output)
        return {
            "outputs": outputs,
            "transfer_out_ns": transfer_ns,
            "transfer_out_bytes": sum(o["bytes"] for o in outputs),
        }

    def model(self, request):
        import random

        program = self.program(request)
        points, repeats = (
            member(request, "points", list, []),
            whole(request, "repeats", 1, 100000, 5),
        )
        for i, p in enumerate(points):
            if not (isinstance(p, list) and len(p) == 2 and 1 <= p[1] <= p[0] <= 1000000):
                raise JobError(
                    "INVALID_ARGUMENT",
                    f"point {i} is not [executions, syncs] with 1 <= syncs <= executions",
                )
        if not points or len(points) * repeats > 1000000:
            raise JobError(
                "INVALID_ARGUMENT",
                '"points" must be a list of [executions, syncs], at most 1000000 measurements'
                " in all",
            )
        e, _ = self.compiled(request, program)
        feed = self.feed(request, e)
        if e.inputs is None:
            e.set_inputs(
                e.fill(whole(request, "seed", 0, 2**63 - 1, 0), 0, member(request, "data", list))
            )
        order = points * repeats
        random.Random(whole(request, "shuffle_seed", 0, 2**63 - 1, 1)).shuffle(order)
        self.step = "running"
        times = [sum(e.execute(k, s, feed)) for k, s in order]
        return {
            "series": {
                "time_ns": times,
                "executions_count": [k for k, _ in order],
                "syncs_count": [s for _, s in order],
            }
        }

    def interleave(self, request):
        import random

        program = self.program(request)
        variants = member(request, "variants", list, [])
        blocks, iterations, warmups = (
            whole(request, "blocks", 1, 1000000, 8),
            whole(request, "iterations", 1, 1000000, 1),
            whole(request, "warmups", 0, 1000000, 1),
        )
        kernels = member(request, "kernels", bool, False)
        if not variants or not all(isinstance(v, dict) for v in variants):
            raise JobError(
                "INVALID_ARGUMENT",
                '"variants" is not a list of 1 to 4096 objects of compile options',
            )
        if len(variants) * blocks * iterations > 10000000:
            raise JobError("INVALID_ARGUMENT", "more than 10000000 measurements in one job")
        shuffle, order = (
            random.Random(whole(request, "shuffle_seed", 0, 2**63 - 1, 1)),
            list(range(len(variants))),
        )
        self.step = "compiling"
        executables, compile_ns = [None] * len(variants), [0] * len(variants)
        first = None
        # What is compiled first gets the freshest memory, next to the inputs: each process compiles
        # in an order of its own, so that this is no effect of the others.
        shuffle.shuffle(order)
        for v in order:
            start = now()
            e = self.device.compile(program.code, variants[v], program.spread)
            compile_ns[v] = now() - start
            if first is None:
                first = e
                e.set_inputs(
                    e.fill(
                        whole(request, "seed", 0, 2**63 - 1, 0), 0, member(request, "data", list)
                    )
                )
            else:
                e.inputs = first.inputs
            e.execute(1, 1, [])
            executables[v] = e
        self.step = "running"
        rows, kernel_rows = [], []
        for block in range(blocks):
            shuffle.shuffle(order)
            for v in order:
                e = executables[v]
                for _ in range(warmups):
                    e.execute(1, 1, [])
                for _ in range(iterations):
                    rows.append((sum(e.execute(1, 1, [])), v, block))
            if kernels:  # apart from the timed turns: a profiler costs time
                for v in order:
                    kernel_rows.append((self.device.kernel_ns(executables[v]), v, block))
        names = ("run_ns", "variant_count", "block_count")
        series = {name: list(column) for name, column in zip(names, zip(*rows))}
        series["compile_ns"] = compile_ns
        if kernels:
            series.update(
                {
                    "kernel_" + name.replace("run_", ""): list(column)
                    for name, column in zip(names, zip(*kernel_rows))
                }
            )
        return {"series": series}

    def cold(self, request):
        program = self.program(request)
        count, executions = (
            whole(request, "count", 1, 100000, 1),
            whole(request, "executions", 1, 1000000, 1),
        )
        syncs, fresh = (
            whole(request, "syncs", 1, executions, 1),
            member(request, "fresh_client", bool, True),
        )
        names = (
            "client_create_ns",
            "compile_ns",
            "setup_ns",
            "transfer_in_ns",
            "first_execution_ns",
            "rest_ns",
            "transfer_out_ns",
            "serialize_ns",
            "disk_read_ns",
            "disk_load_ns",
            "memory_hit_ns",
            "client_destroy_ns",
            "total_ns",
            "compile_page_faults_count",
            "first_page_faults_count",
        )
        series = {name: [] for name in names}
        for _ in range(count):
            for name, value in self.cold_round(request, program, executions, syncs, fresh).items():
                series[name].append(value)
        return {
            "fresh_client": fresh,
            "executions": executions,
            "syncs": syncs if syncs > 1 or executions == 1 else 2,
            "series": series,
        }

    def cold_round(self, request, program, executions, syncs, fresh):
        mine, t = self.device, {"client_create_ns": 0, "setup_ns": 0, "rest_ns": 0}
        own_client, own_device, own_sharding = mine.client, mine.device, mine.sharding
        e = None
        try:
            self.step = "creating the client"
            if fresh:
                t["client_create_ns"] = mine.open()
            self.step = "compiling"
            before, start = usage(), now()
            e = mine.compile(program.code, member(request, "overrides", dict, {}), program.spread)
            t["compile_ns"] = now() - start
            t["compile_page_faults_count"] = usage()[0] - before[0]
            feed = self.feed(request, e)
            host = e.fill(whole(request, "seed", 0, 2**63 - 1, 0), 0, member(request, "data", list))
            self.step = "transferring the inputs"
            start = now()
            e.set_inputs(host)
            t["transfer_in_ns"] = now() - start
            self.step = "running"
            before = usage()
            t["first_execution_ns"] = sum(e.execute(1, 1, feed))
            t["first_page_faults_count"] = usage()[0] - before[0]
            if executions > 1:
                t["rest_ns"] = sum(e.execute(executions - 1, max(syncs - 1, 1), feed))
            t["total_ns"] = sum(
                t[k]
                for k in (
                    "client_create_ns",
                    "compile_ns",
                    "setup_ns",
                    "transfer_in_ns",
                    "first_execution_ns",
                    "rest_ns",
                )
            )
            start = now()
            e.fetch()
            t["transfer_out_ns"] = now() - start
            self.step = "timing the compile cache"
            start = now()
            kept = (
                bytes(mine.client.serialize_executable(e.loaded))
                if hasattr(mine.client, "serialize_executable")
                else None
            )
            if kept is not None:
                t["serialize_ns"] = now() - start
                start = now()
                spread = program.spread
                mine.client.deserialize_executable(
                    kept, mine.device_list(spread), mine.options({}, spread)
                )
                t["disk_load_ns"] = now() - start
        finally:
            start = now()
            e = None
            mine.client, mine.device, mine.sharding = own_client, own_device, own_sharding
            t["client_destroy_ns"] = now() - start
        self.compiled(request, program)
        t["memory_hit_ns"] = self.compiled({**request, "cache": ["memory"]}, program)[1][
            "lookup_ns"
        ]
        return t

    def evaluate(self, request):
        raise JobError(
            "UNIMPLEMENTED", "the reference evaluator is in hloscope worker, not in this one"
        )

    JOBS = {
        "hello": hello,
        "load": load,
        "reinit": reinit,
        "drop": drop,
        "sync": sync,
        "describe": describe,
        "compile": compile,
        "run": run,
        "model": model,
        "interleave": interleave,
        "cold": cold,
        "evaluate": evaluate,
        "quit": quit_,
    }

    # -- answers

    def error_of(self, error):
        if isinstance(error, JobError):
            answer = dict(error.answer)
        elif isinstance(error, MemoryError):
            answer = {"code": "RESOURCE_EXHAUSTED", "message": "out of memory"}
        elif isinstance(
            error, OSError
        ):  # of the machine, not of the worker: a full disk, a file that is not there
            codes = {
                errno.ENOSPC: "RESOURCE_EXHAUSTED",
                errno.EDQUOT: "RESOURCE_EXHAUSTED",
                errno.ENOENT: "NOT_FOUND",
                errno.EACCES: "PERMISSION_DENIED",
                errno.EROFS: "PERMISSION_DENIED",
            }
            answer = {
                "code": codes.get(error.errno, "UNAVAILABLE"),
                "message": (
                    f"{error.filename}: {error.strerror}"
                    if error.filename
                    else str(error.strerror or error)
                ),
            }
        else:
            text = str(error) or type(error).__name__
            code = next((c for c in CODES if text.startswith(c + ":")), None)
            answer = {
                "code": code or "INTERNAL",
                "message": (
                    text[len(code) + 1 :].strip() if code else f"{type(error).__name__}: {text}"
                ),
            }
        if self.step:
            answer.setdefault("step", self.step)
        return answer

    def answer(self, line):
        start, self.step = {}, None
        try:
            try:
                request = json.loads(line)
            except ValueError as error:
                raise JobError("INVALID_ARGUMENT", f"not JSON: {error}") from None
            if not isinstance(request, dict):
                raise JobError("INVALID_ARGUMENT", "a job must be a JSON object")
            if "id" in request:
                start["id"] = request["id"]
            name = member(request, "job", str)
            if name is None:
                raise JobError("INVALID_ARGUMENT", 'the job has no "job"')
            if name not in self.JOBS:
                raise JobError("INVALID_ARGUMENT", f"unknown job '{name}'")
            body = self.JOBS[name](self, request)
            return {
                **start,
                "ok": True,
                **body,
                "max_rss_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
            }
        except Exception as error:  # whatever a job runs into is its answer; the worker goes on
            return {**start, "ok": False, "error": self.error_of(error)}


def main():
    parent = os.getppid()
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG: ends when its parent does
    if os.getppid() != parent:
        return
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    try:
        with open(
            "/proc/self/oom_score_adj", "w"
        ) as file:  # when memory runs out, the kernel takes the worker and not who waits for it
            file.write("1000")
    except OSError:
        pass
    try:
        out = os.fdopen(3, "w")
    except OSError:
        out = os.fdopen(os.dup(1), "w")
    worker = Worker()
    for line in sys.stdin.buffer:
        if line.strip():
            out.write(json.dumps(worker.answer(line)) + "\n")
            out.flush()
            worker.last = None
        if worker.quit:
            break
    out.flush()
    os._exit(0)  # the threads of XLA have nothing left to say


if __name__ == "__main__":
    main()
