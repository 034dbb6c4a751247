"""`python -m hloscope.worker`: the worker protocol (docs/formats/worker.md) for XLA:CPU, on jaxlib alone.

One JSON object a line comes in on standard input, one answer a line goes out on descriptor 3 (standard output where that is not open). Times are taken here,
around the calls of jaxlib, so no pipe and no JSON is in them; what such a call costs by itself is measured too (`call_overhead_ns` of `describe`).
"""
import contextlib
import ctypes
import functools
import gc
import json
import os
import re
import resource
import signal
import sys
import time

from hloscope import __version__

PROTOCOL = 1
CODES = ("CANCELLED", "UNKNOWN", "INVALID_ARGUMENT", "DEADLINE_EXCEEDED", "NOT_FOUND", "ALREADY_EXISTS", "PERMISSION_DENIED", "RESOURCE_EXHAUSTED",
         "FAILED_PRECONDITION", "ABORTED", "OUT_OF_RANGE", "UNIMPLEMENTED", "INTERNAL", "UNAVAILABLE", "DATA_LOSS", "UNAUTHENTICATED")


class JobError(Exception):
    def __init__(self, code, message, **more):
        super().__init__(message)
        self.answer = {"code": code, "message": message, **more}


def now():
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)


def usage():
    u = resource.getrusage(resource.RUSAGE_SELF)
    return (u.ru_minflt + u.ru_majflt, u.ru_majflt, u.ru_nvcsw, u.ru_nivcsw)


def usage_since(before, prefix=""):
    names = ("page_faults", "major_faults", "voluntary_switches", "involuntary_switches")
    return {prefix + name: b - a for name, a, b in zip(names, before, usage())}


# ---- requests --------------------------------------------------------------------------------------------------------


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


# ---- digests: hsc_hash128_of of src/base/hash.c, byte for byte ----------------------------------------------------------

MASK = 2**64 - 1
K0, K1, K2, K3 = 0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0xD6E8FEB86659FD93


def _finish(x):
    x ^= x >> 32
    x = x * K3 & MASK
    x ^= x >> 29
    x = x * K0 & MASK
    return x ^ x >> 32


def digest(data):
    size = len(data)
    words = memoryview(data + b"\0" * (-size % 16)).cast("Q")
    low, high = K0, K2
    for i in range(0, len(words), 2):
        a, b = words[i] * K1 & MASK, words[i + 1] * K3 & MASK
        low ^= ((a << 31 | a >> 33) & MASK) * K3 & MASK
        low = (((low << 27 | low >> 37) & MASK) + high) * 5 + 0x52DCE729 & MASK
        high ^= ((b << 33 | b >> 31) & MASK) * K1 & MASK
        high = (((high << 31 | high >> 33) & MASK) + low) * 5 + 0x38495AB5 & MASK
    low ^= size
    high ^= size
    low = low + high & MASK
    high = high + low & MASK
    low, high = _finish(low), _finish(high)
    low = low + high & MASK
    high = high + low & MASK
    return f"{high:016x}{low:016x}"


# ---- HloModuleProto: as much of it as counting takes ---------------------------------------------------------------------


def _fields(data):
    """(field number, value) of one protobuf message; groups do not occur."""
    at, end = 0, len(data)

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < end:
        key = varint()
        kind = key & 7
        if kind == 0:
            yield key >> 3, varint()
            continue
        size = varint() if kind == 2 else 8 if kind == 1 else 4
        yield key >> 3, data[at:at + size]
        at += size


def count_instructions(module_proto):
    """(instructions, fusions) of all computations: HloModuleProto.computations = 3, .instructions = 2, .opcode = 2 (xla/service/hlo.proto)."""
    instructions = fusions = 0
    for number, computation in _fields(memoryview(module_proto)):
        if number != 3:
            continue
        for part, instruction in _fields(computation):
            if part != 2:
                continue
            instructions += 1
            for name, value in _fields(instruction):
                if name == 2:
                    fusions += bytes(value) == b"fusion"
                    break
    return instructions, fusions


# ---- the device ---------------------------------------------------------------------------------------------------------


class Aval:
    """What batched_device_put wants to know of an array."""
    weak_type = False

    def __init__(self, array):
        self.shape, self.dtype, self.ndim = array.shape, array.dtype, array.ndim


class Device:
    """jaxlib, its client, and what was compiled in it."""

    def __init__(self):
        os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "1")  # its start is not worth a line on stderr
        sys.modules["jax"] = None  # jaxlib would import it, where it is installed, in the first call that makes an array: 1.6 s that are not the device's
        start = now()
        try:
            import numpy
            import jaxlib
            from jaxlib import xla_client
            from hloscope import inputs
        except ImportError as error:
            raise JobError("NOT_FOUND", f"{sys.executable}: {error}", hint="pip install jaxlib there, or name another Python in HLOSCOPE_PYTHON") from None
        self.np, self.xc, self.x, self.inputs_module, self.version = numpy, xla_client, xla_client._xla, inputs, jaxlib.__version__

        class OneDevice(xla_client.SingleDeviceSharding):
            memory_kind = None  # the device's own

            def _to_xla_hlo_sharding(self, rank):
                return xla_client.HloSharding.replicate()

        self.sharding_class = OneDevice
        self.load_ns = now() - start
        self.client = None
        self.executables = {}
        self.overrides = {}  # of every compile, before those of a job
        self.overhead_ns = None

    def open(self):
        start = now()
        self.client = self.xc.make_cpu_client()
        self.device = self.client.devices()[0]
        self.sharding = self.sharding_class(self.device)
        return now() - start

    def close(self):
        start = now()
        self.executables.clear()
        self.client = self.device = self.sharding = None
        return now() - start

    def need(self):
        if self.client is None:
            raise JobError("FAILED_PRECONDITION", 'no device yet: send a "load" job first')

    def put(self, array):
        return self.x.batched_device_put(Aval(array), self.sharding, [array], [self.device], True, enable_x64=True)

    def options(self, overrides):
        options = self.xc.CompileOptions()
        options.num_replicas = options.num_partitions = 1
        options.env_option_overrides = list(overrides.items())
        return options

    def device_list(self):
        return self.x.DeviceList((self.device,))

    def compile_only(self, code, overrides):
        """What jaxlib makes of StableHLO in the current client."""
        return self.client.compile_and_load(code, self.device_list(), self.options({**self.overrides, **overrides}))

    def compile(self, code, overrides):
        return Executable(self, self.compile_only(code, overrides))

    def serialized(self, loaded):
        """The bytes of an executable; older jaxlib has the method on the client."""
        return bytes(self.client.serialize_executable(loaded) if hasattr(self.client, "serialize_executable") else loaded.serialize())

    def profiler(self):
        """A running profiler session; its stop() gives XSpace bytes."""
        from jaxlib import _profiler
        options = _profiler.ProfileOptions()
        options.host_tracer_level, options.python_tracer_level = 2, 0
        return _profiler.ProfilerSession(options)

    def step_mark(self, number):
        """A span that profiles take for a step."""
        from jaxlib import _profiler
        return _profiler.TraceMe("step", _r=1, step_num=number)

    def kernel_ns(self, executable):
        """Sum of the durations of the thunks of one run, as the profiler has them: events with the stat hlo_op on the lines of the executing threads."""
        from jaxlib import _profile_data
        session = self.profiler()
        executable.execute(1, 1, [])
        total, data = 0, _profile_data.ProfileData.from_serialized_xspace(session.stop())
        for plane in data.planes:
            for line in plane.lines:
                end = 0  # an event inside another one (a loop's body) is counted with it
                for event in sorted(line.events, key=lambda e: (e.start_ns, -e.duration_ns)):
                    if event.duration_ns <= 0 or event.start_ns < end or not any(key == "hlo_op" for key, _ in event.stats):
                        continue
                    total += event.duration_ns
                    end = event.start_ns + event.duration_ns
        return int(total)

    def call_overhead(self):
        """Median time of executing and awaiting a program that does next to nothing, as `execute` does it."""
        if self.overhead_ns is None:
            code = b"module @nothing { func.func @main(%x: tensor<f32>) -> tensor<f32> { %y = stablehlo.negate %x : tensor<f32> return %y : tensor<f32> } }"
            e = self.compile(code, {})
            e.set_inputs([self.np.float32(1).reshape(())])
            times = sorted(sum(e.execute(1, 1, [])) for _ in range(501))
            self.overhead_ns = times[len(times) // 2]
        return self.overhead_ns


# Names of the protocol, and of jaxlib's CompiledMemoryStats.
MEMORY = (("code_bytes", "generated_code_size_in_bytes"), ("argument_bytes", "argument_size_in_bytes"), ("output_bytes", "output_size_in_bytes"),
          ("alias_bytes", "alias_size_in_bytes"), ("temp_bytes", "temp_size_in_bytes"), ("peak_bytes", "peak_memory_in_bytes"))


def cost_of(loaded):
    """{property: number} of the compiler's own cost analysis."""
    cost = loaded.cost_analysis()
    return dict(cost[0] if isinstance(cost, list) else cost)


class Executable:
    def __init__(self, device, loaded):
        self.device, self.loaded, self.inputs, self.outputs = device, loaded, None, None
        self.module = loaded.hlo_modules()[0]
        self.proto = self.module.as_serialized_hlo_module_proto()
        shape = device.xc.XlaComputation(self.proto).program_shape()
        self.input_shapes = shape.parameter_shapes()
        result = shape.result_shape()
        self.output_shapes = list(result.tuple_shapes()) if result.is_tuple() else [result]
        if any(s.is_tuple() for s in self.input_shapes + self.output_shapes):
            raise JobError("UNIMPLEMENTED", "the program takes or gives a tuple inside a tuple; this worker feeds arrays only")

    @functools.cached_property
    def cost(self):
        return cost_of(self.loaded)

    @functools.cached_property
    def memory(self):
        return self.loaded.get_compiled_memory_stats()

    def fill(self, seed, nudge=0):
        """Host values of all inputs; with `nudge`, their floats moved by that share of themselves, at least by their type's precision."""
        make = self.device.inputs_module
        return [make.nudge(make.fill(s.dimensions(), s.numpy_dtype(), i, seed), nudge, i) for i, s in enumerate(self.input_shapes)]

    def set_inputs(self, arrays):
        self.inputs = [self.device.put(a) for a in arrays]
        for buffer in self.inputs:
            buffer.block_until_ready()

    def execute(self, executions, syncs, feed):
        """k executions with s waits, evenly spread, the last one behind the last; (enqueue_ns, wait_ns). All outputs of XLA:CPU are ready together, so one is awaited."""
        arguments, run = list(self.inputs), self.loaded.execute_sharded
        enqueue = wait = done = 0
        last = now()
        for i in range(executions):
            outputs = run(arguments).disassemble_into_single_device_arrays()
            for o, n in feed:
                arguments[n] = outputs[o][0]
            enqueued = now()
            enqueue += enqueued - last
            last = enqueued
            due = (i + 1) * syncs // executions
            if due == done:
                continue
            done = due
            if outputs:
                outputs[0][0].block_until_ready()
            waited = now()
            wait += waited - last
            last = waited
        self.outputs = outputs
        return enqueue, wait

    def fetch(self):
        return [o[0]._single_device_array_to_np_array_did_copy()[0] for o in self.outputs]


# ---- programs -----------------------------------------------------------------------------------------------------------


def decompress(data, path):
    if data[:2] == b"\x1f\x8b":
        import gzip
        return gzip.decompress(data)
    if data[:4] == b"\x28\xb5\x2f\xfd":
        raise JobError("UNIMPLEMENTED", f"{path}: zstd: this Python cannot read it", hint="load with \"hloscope\" naming the executable, which can")
    return data


class Program:
    """A program as jobs name it. With the path of `hloscope` known, that reads, transforms and counts it (its "write" job), so that every device gets the same program."""

    def __init__(self, path, transforms, hloscope, device):
        self.facts, self.reported = {}, False
        self.times = {"read_ns": 0, "parse_ns": 0, "transform_ns": 0, "write_ns": 0}
        start = now()
        data = self.write(path, transforms, hloscope) if hloscope else None
        if data is None:
            if transforms:
                raise JobError("UNIMPLEMENTED", "transforms are done by hloscope", hint='load with "hloscope" naming the executable')
            try:
                with open(path, "rb") as file:
                    data = decompress(file.read(), path)
            except OSError as error:
                raise JobError("NOT_FOUND", f"{path}: {error.strerror}") from None
            self.times["read_ns"] = now() - start
        start = now()
        self.code = self.stablehlo(data, device)
        self.times["parse_ns"] += now() - start
        self.fingerprint = self.facts.get("fingerprint") or digest(data)

    def write(self, path, transforms, hloscope):
        import subprocess
        import tempfile
        with tempfile.TemporaryDirectory(prefix="hloscope-worker-") as scratch:
            to = os.path.join(scratch, "program.hlo")
            job = json.dumps({"job": "write", "program": path, "transforms": transforms, "to": to}) + "\n"
            done = subprocess.run([hloscope, "worker"], input=job.encode(), stdout=subprocess.PIPE, close_fds=True)
            try:
                answer = json.loads(done.stdout)
            except ValueError:
                raise JobError("INTERNAL", f"{hloscope} worker gave no answer (exit code {done.returncode})") from None
            if not answer["ok"]:
                error = answer["error"]
                if error["code"] == "UNIMPLEMENTED" and not transforms:
                    return None  # a format or an op that hloscope does not know; XLA may
                raise JobError(error.pop("code"), error.pop("message"), **error)
            self.facts = answer
            self.times.update({key: answer[key] for key in self.times})
            with open(to, "rb") as file:
                return file.read()

    def stablehlo(self, data, device):
        """What compile_and_load takes: MLIR as it is; HLO text and HloModuleProto converted."""
        if data[:4] == b"ML\xefR":
            return data
        head = data[:65536].lstrip()
        try:
            text = data.decode()
        except UnicodeDecodeError:
            text = None
        if text is not None and not head.startswith(b"HloModule") and ("func.func" in text or head.startswith((b"module", b"#loc"))):
            return data
        xc = device.xc
        proto = data if text is None else xc.hlo.hlo_module_from_text(text).as_serialized_hlo_module_proto()
        code = device.x.mlir.xla_computation_to_mlir_module(xc.XlaComputation(proto))
        # A donated input would be gone after the first of many runs; the numbers are the same without.
        if isinstance(code, str):
            code = code.encode()
        return re.sub(rb"(tf\.aliasing_output = \d+ : i32|jax\.buffer_donor = true)(, )?", b"", code) if code[:4] != b"ML\xefR" else code


# ---- jobs ---------------------------------------------------------------------------------------------------------------


def parent_note():
    """The memory that whoever started this process shares at descriptor 4 (src/base/child.c); None without."""
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
        key = (path, *transforms)
        if key not in self.programs:
            self.step = "reading the program"
            self.programs[key] = Program(path, transforms, self.hloscope, self.device)
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
        how = {"compile": "memory" if found else "miss", "lookup_ns": now() - start, "disk_ns": 0, "load_ns": 0, "compile_ns": 0}
        if not found:
            start = now()
            found = self.device.compile(program.code, overrides)
            how["compile_ns"] = now() - start
            self.device.executables[key] = found
        how.update(usage_since(before, "compile_"))
        return found, how

    def feed(self, request, executable):
        feed = member(request, "feed", list, [])
        for i, pair in enumerate(feed):
            if not isinstance(pair, list) or len(pair) != 2 or not all(isinstance(x, int) for x in pair):
                raise JobError("INVALID_ARGUMENT", f"feed {i} is not a pair [output, input]")
            if not (0 <= pair[0] < len(executable.output_shapes) and 0 <= pair[1] < len(executable.input_shapes)):
                raise JobError("INVALID_ARGUMENT", f"feed {i} is {pair}; the program has {len(executable.output_shapes)} outputs and {len(executable.input_shapes)} inputs")
        return feed

    def shape_text(self, shape):
        names = self.device.inputs_module.HLO_NAMES
        return f"{names[self.device.np.dtype(shape.numpy_dtype())]}[{','.join(map(str, shape.dimensions()))}]"

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
        version = [int(n) for n in self.device.x.mlir.get_current_version().split(".")] if hasattr(self.device.x.mlir, "get_current_version") else None
        self.step = "creating the client"
        create_ns = self.device.open()
        gc.freeze()  # jaxlib's and numpy's objects stay: no collection walks them again
        attributes = {"stablehlo_current_version": version} if version else {}
        return {"plugin_load_ns": self.device.load_ns, "plugin_initialize_ns": 0, "client_create_ns": create_ns, "plugin": sys.executable, "pjrt_version": f"in jaxlib {self.device.version}",
                "attributes": attributes, "extensions": [], "platform": "cpu", "platform_version": f"XLA:CPU of jaxlib {self.device.version}",
                "devices": [{"id": d.id, "kind": d.device_kind, "text": str(d)} for d in self.device.client.devices()]}

    def reinit(self, request):
        self.device_ready()
        destroy_ns = self.device.close()
        self.step = "creating the client"
        return {"client_destroy_ns": destroy_ns, "client_create_ns": self.device.open()}

    def drop(self, request):
        self.device_ready()
        count = len(self.device.executables)
        self.device.executables.clear()
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
        return {**self.known(program, e), **self.times_of(program), **{k: how[k] for k in ("compile", "lookup_ns", "compile_ns")}, **overhead}

    def compile(self, request):
        """One compile with options of its own, not kept; what it leaves behind goes into files."""
        program = self.program(request)
        optimized_to, xspace_to, serialized_to = (member(request, key, str) for key in ("optimized_to", "xspace_to", "serialized_to"))
        session = self.device.profiler() if xspace_to else None
        self.step = "compiling"
        start = now()
        try:
            loaded = self.device.compile_only(program.code, member(request, "overrides", dict, {}))
            compile_ns = now() - start
        finally:
            xspace = session.stop() if session else None
        self.step = "reading what the compiler made"
        e = self.last = Executable(self.device, loaded)
        fingerprint = loaded.fingerprint
        answer = {"compile_ns": compile_ns, **self.known(program, e), **self.times_of(program), "cost": e.cost,
                  "memory": {key: getattr(e.memory, name, None) for key, name in MEMORY},
                  "executable_fingerprint": fingerprint.decode("ascii", "backslashreplace") if fingerprint else None}
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

    def times_of(self, program):
        if program.reported:
            return {}
        program.reported = True
        return {"program": program.times}

    def known(self, program, e):
        instructions, fusions = count_instructions(e.proto)
        cost, memory = e.cost, e.memory
        inputs = [{"name": f"parameter {i}", "shape": self.shape_text(s), "bytes": self.device.np.dtype(s.numpy_dtype()).itemsize * int(self.device.np.prod(s.dimensions()))}
                  for i, s in enumerate(e.input_shapes)]
        return {"name": self.facts_of(program, "name", e.module.name), "fingerprint": program.fingerprint, "program_instructions": program.facts.get("program_instructions"),
                "inputs": program.facts.get("inputs") or inputs, "outputs": [self.shape_text(s) for s in e.output_shapes], "instructions": instructions, "fusions": fusions,
                "flops": cost.get("flops"), "bytes": cost.get("bytes accessed"), "cost_from": "device", "code_bytes": memory.generated_code_size_in_bytes or None,
                "temp_bytes": memory.temp_size_in_bytes, "peak_bytes": getattr(memory, "peak_memory_in_bytes", None)}

    def facts_of(self, program, key, otherwise):
        return program.facts.get(key, otherwise)

    def run(self, request):
        program = self.program(request)
        executions = whole(request, "executions", 1, 1000000, 1)
        syncs = whole(request, "syncs", 1, executions, 1)
        records, series = whole(request, "records", 0, 100000, 1), whole(request, "series", 0, 10000000, 0)
        seed, inputs = whole(request, "seed", 0, 2**63 - 1, 0), member(request, "inputs", str, "first")
        nudge = member(request, "nudge", (int, float), 0, "not a number from 0 to 1")
        if not 0 <= nudge <= 1:
            raise JobError("INVALID_ARGUMENT", '"nudge" is not a number from 0 to 1')
        if inputs not in ("first", "each", "keep"):
            raise JobError("INVALID_ARGUMENT", '"inputs" is neither "first", "each" nor "keep"')
        answer, e = {"records": [], **self.times_of(program)}, None
        for i in range(records):
            e, how = self.compiled(request, program)
            feed = self.feed(request, e)
            host = e.fill(seed, nudge) if inputs == "each" or (i == 0 and inputs != "keep") or e.inputs is None else None
            record = {**how, "fingerprint": program.fingerprint, "setup_ns": 0, "transfer_in_ns": 0, "transfer_in_bytes": 0}
            before = usage()
            if host is not None:
                self.step = "transferring the inputs"
                start = now()
                e.set_inputs(host)
                record["transfer_in_ns"], record["transfer_in_bytes"] = now() - start, sum(a.nbytes for a in host)
            record.update(usage_since(before, "transfer_"))
            self.step = "running"
            before = usage()
            record["enqueue_ns"], record["wait_ns"] = e.execute(executions, syncs, feed)
            record.update(usage_since(before))
            record["total_ns"] = sum(record[k] for k in ("lookup_ns", "disk_ns", "load_ns", "compile_ns", "setup_ns", "transfer_in_ns", "enqueue_ns", "wait_ns"))
            answer["records"].append(record)
        if e is None:
            e, _ = self.compiled(request, program)
            feed = self.feed(request, e)
            if e.inputs is None or inputs != "keep":
                e.set_inputs(e.fill(seed, nudge))
        self.step = "running"
        xspace_to = member(request, "xspace_to", str)
        if series:
            session = self.device.profiler() if xspace_to else None
            try:
                rows, last = [], usage()
                for number in range(series):
                    with self.device.step_mark(number) if session else contextlib.nullcontext():
                        enqueue, wait = e.execute(executions, syncs, feed)
                    after = usage()
                    rows.append((enqueue + wait, enqueue, wait, after[0] - last[0], after[3] - last[3]))
                    last = after
            finally:
                xspace = session.stop() if session else None
            if xspace:
                with open(xspace_to, "wb") as file:
                    file.write(xspace)
                answer.update(xspace=xspace_to, xspace_bytes=len(xspace))
            names = ("run_ns", "enqueue_ns", "wait_ns", "page_faults_count", "involuntary_switches_count")
            answer["series"] = {name: list(column) for name, column in zip(names, zip(*rows))}
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
            output = {"shape": self.shape_text(shape), "digest": digest(data), "bytes": len(data)}
            if save_to:
                output["file"] = os.path.join(save_to, f"output_{i}.bin")
                with open(output["file"], "wb") as file:
                    file.write(data)
            outputs.append(output)
        return {"outputs": outputs, "transfer_out_ns": transfer_ns, "transfer_out_bytes": sum(o["bytes"] for o in outputs)}

    def model(self, request):
        import random
        program = self.program(request)
        points, repeats = member(request, "points", list, []), whole(request, "repeats", 1, 100000, 5)
        for i, p in enumerate(points):
            if not (isinstance(p, list) and len(p) == 2 and 1 <= p[1] <= p[0] <= 1000000):
                raise JobError("INVALID_ARGUMENT", f"point {i} is not [executions, syncs] with 1 <= syncs <= executions")
        if not points or len(points) * repeats > 1000000:
            raise JobError("INVALID_ARGUMENT", '"points" must be a list of [executions, syncs], at most 1000000 measurements in all')
        e, _ = self.compiled(request, program)
        feed = self.feed(request, e)
        if e.inputs is None:
            e.set_inputs(e.fill(whole(request, "seed", 0, 2**63 - 1, 0)))
        order = points * repeats
        random.Random(whole(request, "shuffle_seed", 0, 2**63 - 1, 1)).shuffle(order)
        self.step = "running"
        times = [sum(e.execute(k, s, feed)) for k, s in order]
        return {"series": {"time_ns": times, "executions_count": [k for k, _ in order], "syncs_count": [s for _, s in order]}}

    def interleave(self, request):
        import random
        program = self.program(request)
        variants = member(request, "variants", list, [])
        blocks, iterations, warmups = whole(request, "blocks", 1, 1000000, 8), whole(request, "iterations", 1, 1000000, 1), whole(request, "warmups", 0, 1000000, 1)
        kernels = member(request, "kernels", bool, False)
        if not variants or not all(isinstance(v, dict) for v in variants):
            raise JobError("INVALID_ARGUMENT", '"variants" is not a list of 1 to 4096 objects of compile options')
        if len(variants) * blocks * iterations > 10000000:
            raise JobError("INVALID_ARGUMENT", "more than 10000000 measurements in one job")
        self.step = "compiling"
        executables, compile_ns = [], []
        for overrides in variants:
            start = now()
            e = self.device.compile(program.code, overrides)
            compile_ns.append(now() - start)
            if not executables:
                e.set_inputs(e.fill(whole(request, "seed", 0, 2**63 - 1, 0)))
            else:
                e.inputs = executables[0].inputs
            e.execute(1, 1, [])
            executables.append(e)
        self.step = "running"
        shuffle, order = random.Random(whole(request, "shuffle_seed", 0, 2**63 - 1, 1)), list(range(len(variants)))
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
            series.update({"kernel_" + name.replace("run_", ""): list(column) for name, column in zip(names, zip(*kernel_rows))})
        return {"series": series}

    def cold(self, request):
        program = self.program(request)
        count, executions = whole(request, "count", 1, 100000, 1), whole(request, "executions", 1, 1000000, 1)
        syncs, fresh = whole(request, "syncs", 1, executions, 1), member(request, "fresh_client", bool, True)
        names = ("client_create_ns", "compile_ns", "setup_ns", "transfer_in_ns", "first_execution_ns", "rest_ns", "transfer_out_ns", "serialize_ns", "disk_read_ns",
                 "disk_load_ns", "memory_hit_ns", "client_destroy_ns", "total_ns", "compile_page_faults_count", "first_page_faults_count")
        series = {name: [] for name in names}
        for _ in range(count):
            for name, value in self.cold_round(request, program, executions, syncs, fresh).items():
                series[name].append(value)
        return {"fresh_client": fresh, "executions": executions, "syncs": syncs if syncs > 1 or executions == 1 else 2, "series": series}

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
            e = mine.compile(program.code, member(request, "overrides", dict, {}))
            t["compile_ns"] = now() - start
            t["compile_page_faults_count"] = usage()[0] - before[0]
            feed = self.feed(request, e)
            host = e.fill(whole(request, "seed", 0, 2**63 - 1, 0))
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
            t["total_ns"] = sum(t[k] for k in ("client_create_ns", "compile_ns", "setup_ns", "transfer_in_ns", "first_execution_ns", "rest_ns"))
            start = now()
            e.fetch()
            t["transfer_out_ns"] = now() - start
            self.step = "timing the compile cache"
            start = now()
            kept = bytes(mine.client.serialize_executable(e.loaded)) if hasattr(mine.client, "serialize_executable") else None
            if kept is not None:
                t["serialize_ns"] = now() - start
                start = now()
                mine.client.deserialize_executable(kept, mine.device_list(), mine.options({}))
                t["disk_load_ns"] = now() - start
        finally:
            start = now()
            e = None
            mine.client, mine.device, mine.sharding = own_client, own_device, own_sharding
            t["client_destroy_ns"] = now() - start
        self.compiled(request, program)
        t["memory_hit_ns"] = self.compiled({**request, "cache": ["memory"]}, program)[1]["lookup_ns"]
        return t

    def evaluate(self, request):
        raise JobError("UNIMPLEMENTED", "the reference evaluator is in hloscope worker, not in this one")

    JOBS = {"hello": hello, "load": load, "reinit": reinit, "drop": drop, "sync": sync, "describe": describe, "compile": compile, "run": run, "model": model, "interleave": interleave, "cold": cold,
            "evaluate": evaluate, "quit": quit_}

    # -- answers

    def error_of(self, error):
        if isinstance(error, JobError):
            answer = dict(error.answer)
        elif isinstance(error, MemoryError):
            answer = {"code": "RESOURCE_EXHAUSTED", "message": "out of memory"}
        else:
            text = str(error) or type(error).__name__
            code = next((c for c in CODES if text.startswith(c + ":")), None)
            answer = {"code": code or "INTERNAL", "message": text[len(code) + 1:].strip() if code else f"{type(error).__name__}: {text}"}
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
            return {**start, "ok": True, **body, "max_rss_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024}
        except Exception as error:  # whatever a job runs into is its answer; the worker goes on
            return {**start, "ok": False, "error": self.error_of(error)}


def main():
    parent = os.getppid()
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG: ends when its parent does
    if os.getppid() != parent:
        return
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    try:
        with open("/proc/self/oom_score_adj", "w") as file:  # when memory runs out, the kernel takes the worker and not who waits for it
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
