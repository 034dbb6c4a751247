"""XLA:CPU as jaxlib brings it, without JAX: a client, executables, what they cost, how they run."""

import ctypes
import functools
import importlib
import json
import math
import os
import re
import sys
import time


def without_frames(text):
    """HLO text without the tables of stack frames, which jaxlib 0.7 and older do not read."""
    tables = r"^(?:FileNames|FunctionNames|FileLocations|StackFrames)\n(?:.+\n)*\n?"
    return re.sub(r" ?stack_frame_id=\d+", "", re.sub(tables, "", text, flags=re.M))


def module_of(text, device):
    """The HloModule of HLO text, whatever version of jaxlib reads it."""
    try:
        return device.hlo.hlo_module_from_text(text)
    except Exception:
        shorter = without_frames(text)
        if shorter == text:
            raise
        return device.hlo.hlo_module_from_text(shorter)


class JobError(Exception):
    def __init__(self, code, message, **more):
        super().__init__(message)
        self.answer = {"code": code, "message": message, **more}


def now():
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)


# ---- digests: hsc_hash128_of of src/base/core/hash.c, byte for byte ------------------------------

MASK = 2**64 - 1
K0, K1, K2, K3 = 0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0xD6E8FEB86659FD93


def _finish(x):
    x ^= x >> 32
    x = x * K3 & MASK
    x ^= x >> 29
    x = x * K0 & MASK
    return x ^ x >> 32


@functools.lru_cache(maxsize=None)
def _native_digest():
    """The same in C, a hundred times as fast; None where libhloscope.so is not found."""
    from hloscope import _find

    try:
        function = ctypes.CDLL(_find("libhloscope.so")).hsc_api_digest
    except (OSError, AttributeError):
        return None
    function.restype, function.argtypes = None, [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_char_p]
    return function


def digest(data):
    size = len(data)
    native = _native_digest() if size > 65536 else None
    if native:
        text = ctypes.create_string_buffer(33)
        native(data, size, text)
        return text.value.decode()
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


# ---- HloModuleProto: as much of it as counting takes ---------------------------------------------


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
        yield key >> 3, data[at : at + size]
        at += size


def count_instructions(module_proto):
    """(instructions, fusions) of all computations: HloModuleProto.computations = 3, .instructions =
    2, .opcode = 2 (xla/service/hlo.proto)."""
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


# ---- the device ----------------------------------------------------------------------------------


class Aval:
    """What batched_device_put wants to know of an array."""

    weak_type = False

    def __init__(self, array):
        self.shape, self.dtype, self.ndim = array.shape, array.dtype, array.ndim


BYTECODE = b"ML\xefR"
# As JAX writes it, at an argument; and as HLO's comes through jaxlib's conversion, at the module.
DONATION = rb"(?:tf\.aliasing_output = \d+ : i32|jax\.buffer_donor = true)"
DONATIONS_OF_MODULE = re.compile(rb"mhlo\.(?:input_output_alias|buffer_donor) = \[")


def of_computation(device, computation):
    """An XlaComputation as MLIR."""
    code = device.x.mlir.xla_computation_to_mlir_module(computation)
    return code.encode() if isinstance(code, str) else code


def without_list(code, start, bracket):
    """The same text without the attribute that begins at `start`, whose list opens at `bracket`."""
    depth, end = 0, bracket
    while True:
        depth += {0x5B: 1, 0x5D: -1}.get(code[end], 0)
        end += 1
        if depth == 0:
            break
    if code[end : end + 2] == b", ":
        return code[:start] + code[end + 2 :]
    return code[:start].rstrip(b", ") + code[end:]


def without_donations(code, device):
    """The same MLIR with no argument donated. A donated input would be gone after the first of many
    runs, and jaxlib has no way to keep one; the numbers are the same without."""
    if not re.search(rb"tf\.aliasing_output|jax\.buffer_donor|mhlo\.\w+_(?:alias|donor)", code):
        return code
    if code[:4] == BYTECODE:  # to text, by way of HLO
        to_computation = device.x.mlir.mlir_module_to_xla_computation
        code = of_computation(device, to_computation(code, False, False))
    code = re.sub(rb", " + DONATION + rb"|" + DONATION + rb"(?:, )?", b"", code)
    while found := DONATIONS_OF_MODULE.search(code):
        code = without_list(code, found.start(), found.end() - 1)
    return code


class Device:
    """jaxlib, its client, and what was compiled in it."""

    def __init__(self):
        os.environ.setdefault(
            "TF_CPP_MIN_LOG_LEVEL", "1"
        )  # its start is not worth a line on stderr
        sys.modules["jax"] = (
            # jaxlib would import it, where it is installed, in the first call that makes an array:
            # 1.6 s that are not the device's
            None
        )
        start = now()
        try:
            import numpy
            import jaxlib
            from jaxlib import xla_client
            from hloscope import inputs
        except ImportError as error:
            raise JobError(
                "NOT_FOUND",
                f"{sys.executable}: {error}",
                hint="pip install jaxlib there, or name another Python in HLOSCOPE_PYTHON",
            ) from None
        self.np, self.xc, self.x, self.inputs_module, self.version = (
            numpy,
            xla_client,
            xla_client._xla,
            inputs,
            jaxlib.__version__,
        )

        class OneDevice(xla_client.SingleDeviceSharding):
            memory_kind = None  # the device's own

            def _to_xla_hlo_sharding(self, rank):
                return xla_client.HloSharding.replicate()

        self.sharding_class = OneDevice
        # what jaxlib calls things, from 0.4.30 on: the readers of HLO left _xla for a module of
        # their own in 0.8, and x64 became an argument
        self.hlo = getattr(xla_client, "hlo", self.x)
        self.put_options = (
            {"enable_x64": True}
            if "enable_x64" in (self.x.batched_device_put.__doc__ or "")
            else {}
        )
        if not self.put_options:  # x64 was the state of a thread, which JAX set up
            jit = self.x.jax_jit
            jit.set_thread_local_state_initialization_callback(lambda: None)
            state = jit.global_state()
            state.enable_x64 = True
            if hasattr(state, "enable_memories"):
                state.enable_memories = False
        self.load_ns = now() - start
        self.client = None
        self.executables = {}
        self.registered = set()  # modules of jaxlib whose custom calls are known
        self.overrides = {}  # of every compile, before those of a job
        self.overhead_ns = None
        self.count = 1  # devices that the client has

    def open(self):
        start = now()
        if (
            self.count > 1
        ):  # every jaxlib reads it, at its first client; few have an argument for it
            flags = os.environ.get("XLA_FLAGS", "")
            flag = f"--xla_force_host_platform_device_count={self.count}"
            os.environ["XLA_FLAGS"] = f"{flags} {flag}".strip()
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
        return self.x.batched_device_put(
            Aval(array), self.sharding, [array], [self.device], True, **self.put_options
        )

    def put_pieces(self, cut, array):
        """One array of several devices, of one piece each."""
        pieces = cut.cut(array)
        devices = self.client.devices()[: len(pieces)]
        sharding = self.x.GSPMDSharding(self.x.DeviceList(tuple(devices)), cut.sharding)
        return self.x.batched_device_put(
            Aval(array), sharding, pieces, devices, True, **self.put_options
        )

    def options(self, overrides, spread):
        options = self.xc.CompileOptions()
        build = options.executable_build_options
        for to in (options, build):
            to.num_replicas, to.num_partitions = spread.replicas, spread.partitions
        if spread.devices > 1:
            build.use_spmd_partitioning = spread.partitions > 1
            if spread.shardy and hasattr(build, "use_shardy_partitioner"):
                build.use_shardy_partitioner = True
            for name, free in (
                ("output", spread.free_results),
                ("parameters", spread.free_parameters),
            ):
                option = "allow_spmd_sharding_propagation_to_" + name
                if free and hasattr(build, option):
                    setattr(build, option, free)
            build.device_assignment = self.xc.DeviceAssignment.create(
                self.np.arange(spread.devices).reshape(spread.replicas, spread.partitions)
            )
        options.env_option_overrides = list(overrides.items())
        return options

    def device_list(self, spread):
        return self.x.DeviceList(tuple(self.client.devices()[: spread.devices]))

    def register_calls(self, code):
        """Makes known what JAX's programs call by name and jaxlib brings: LAPACK (SciPy's, 0.3 s to
        load, so only for who calls it) and sparse products."""
        for module, mark in (("lapack", b"lapack_"), ("cpu_sparse", b"cpu_csr_sparse_")):
            if mark not in code or module in self.registered:
                continue
            self.registered.add(module)
            try:
                library = importlib.import_module("jaxlib." + module)
                targets = library.registrations()["cpu"]
            except (ImportError, AttributeError, KeyError):
                continue  # a jaxlib without it: XLA names the target that it lacks
            for name, function, api_version in targets:
                self.xc.register_custom_call_target(
                    name, function, platform="cpu", api_version=api_version
                )
            if module == "lapack":
                library._lapack.initialize()

    def compile_only(self, code, overrides, spread):
        """What jaxlib makes of StableHLO in the current client."""
        options = self.options({**self.overrides, **overrides}, spread)
        if hasattr(self.client, "compile_and_load"):
            return self.client.compile_and_load(code, self.device_list(spread), options)
        return self.client.compile(code, options)  # before 0.6.1

    def compile(self, code, overrides, spread):
        return Executable(self, self.compile_only(code, overrides, spread), spread)

    def serialized(self, loaded):
        """The bytes of an executable; older jaxlib has the method on the client."""
        return bytes(
            self.client.serialize_executable(loaded)
            if hasattr(self.client, "serialize_executable")
            else loaded.serialize()
        )

    def profiling(self):
        """jaxlib's profiler: a module of its own since 0.7.2, before that a part of xla_client."""
        try:
            from jaxlib import _profiler

            return _profiler
        except ImportError:
            return self.xc.profiler

    def profiler(self):
        """A running profiler session; its stop() gives XSpace bytes."""
        profiling = self.profiling()
        options = profiling.ProfileOptions()
        options.host_tracer_level, options.python_tracer_level = 2, 0
        return profiling.ProfilerSession(options)

    def step_mark(self, number):
        """A span that profiles take for a step."""
        return self.profiling().TraceMe("step", _r=1, step_num=number)

    def kernel_ns(self, executable):
        """Sum of the durations of the thunks of one run, as the profiler has them: events with the
        stat hlo_op on the lines of the executing threads."""
        from jaxlib import _profile_data

        session = self.profiler()
        executable.execute(1, 1, [])
        total, data = 0, _profile_data.ProfileData.from_serialized_xspace(session.stop())
        for plane in data.planes:
            for line in plane.lines:
                end = 0  # an event inside another one (a loop's body) is counted with it
                for event in sorted(line.events, key=lambda e: (e.start_ns, -e.duration_ns)):
                    if (
                        event.duration_ns <= 0
                        or event.start_ns < end
                        or not any(key == "hlo_op" for key, _ in event.stats)
                    ):
                        continue
                    total += event.duration_ns
                    end = event.start_ns + event.duration_ns
        return int(total)

    def call_overhead(self):
        """Median time of executing and awaiting a program that does next to nothing, as `execute`
        does it."""
        if self.overhead_ns is None:
            code = (
                b"module @nothing { func.func @main(%x: tensor<f32>) -> tensor<f32> { %y ="
                b" stablehlo.negate %x : tensor<f32> return %y : tensor<f32> } }"
            )
            e = self.compile(code, {}, Spread())
            e.set_inputs([self.np.float32(1).reshape(())])
            times = sorted(sum(e.execute(1, 1, [])) for _ in range(501))
            self.overhead_ns = times[len(times) // 2]
        return self.overhead_ns


# Names of the protocol, and of jaxlib's CompiledMemoryStats.
MEMORY = (
    ("code_bytes", "generated_code_size_in_bytes"),
    ("argument_bytes", "argument_size_in_bytes"),
    ("output_bytes", "output_size_in_bytes"),
    ("alias_bytes", "alias_size_in_bytes"),
    ("temp_bytes", "temp_size_in_bytes"),
    ("peak_bytes", "peak_memory_in_bytes"),
)


def cost_of(loaded):
    """{property: number} of the compiler's own cost analysis."""
    cost = loaded.cost_analysis()
    return dict(cost[0] if isinstance(cost, list) else cost)


class Spread:
    """For how many devices a program is."""

    def __init__(self, partitions=1, replicas=1, shardy=False, free=([], [])):
        self.partitions, self.replicas, self.shardy = partitions, replicas, shardy
        self.devices = partitions * replicas
        # of each argument and result: the partitioner chooses how it is cut
        self.free_parameters, self.free_results = free


class Pieces:
    """How a whole array lies on the devices: the tiles of a sharding, the same on all replicas."""

    def __init__(self, device, sharding, piece_shape, spread):
        rank, np = len(piece_shape), device.np
        self.np, self.counts, self.of = np, [1] * rank, [0] * spread.partitions
        self.sharding = sharding or device.xc.HloSharding.replicate()
        if self.sharding.is_tiled():
            if spread.replicas > 1:
                raise JobError("UNIMPLEMENTED", "arrays cut over partitions of several replicas")
            tiles = list(sharding.tile_assignment_dimensions())
            self.counts = tiles[:rank]
            copies = math.prod(tiles[rank:])
            for place, device in enumerate(sharding.tile_assignment_devices()):
                self.of[device] = place // copies
        self.of *= spread.replicas
        self.piece_shape = tuple(piece_shape)
        self.shape = tuple(n * count for n, count in zip(piece_shape, self.counts))

    def slices(self, number):
        at = self.np.unravel_index(number, self.counts) if self.counts else ()
        return tuple(slice(i * n, (i + 1) * n) for i, n in zip(at, self.piece_shape))

    def cut(self, array):
        return [self.np.ascontiguousarray(array[self.slices(number)]) for number in self.of]

    def join(self, pieces):
        """The whole, and whether copies of a piece differ."""
        whole, seen, differ = self.np.zeros(self.shape, pieces[0].dtype), set(), False
        for number, piece in zip(self.of, pieces):
            at = self.slices(number)
            if number in seen:
                differ |= whole[at].tobytes() != piece.tobytes()
            else:
                whole[at] = piece
            seen.add(number)
        return whole, differ


class Executable:
    def __init__(self, device, loaded, spread):
        self.device, self.loaded, self.inputs, self.outputs = device, loaded, None, None
        self.spread, self.how = spread, []
        self.module = loaded.hlo_modules()[0]
        self.proto = self.module.as_serialized_hlo_module_proto()
        shape = device.xc.XlaComputation(self.proto).program_shape()
        self.input_shapes = shape.parameter_shapes()
        result = shape.result_shape()
        self.output_shapes = list(result.tuple_shapes()) if result.is_tuple() else [result]
        if any(s.is_tuple() for s in self.input_shapes + self.output_shapes):
            raise JobError(
                "UNIMPLEMENTED",
                "the program takes or gives a tuple inside a tuple; this worker feeds arrays only",
            )
        self.input_pieces = self.pieces_of(loaded.get_parameter_shardings, self.input_shapes)
        self.output_pieces = self.pieces_of(loaded.get_output_shardings, self.output_shapes)

    def pieces_of(self, shardings, shapes):
        """How inputs or outputs are cut; None on one device."""
        if self.spread.devices == 1:
            return None
        read = self.device.xc.HloSharding.from_proto
        said = [read(s) for s in shardings() or []] or [None] * len(shapes)
        return [
            Pieces(self.device, sharding, shape.dimensions(), self.spread)
            for sharding, shape in zip(said, shapes)
        ]

    def whole_dims(self, i, shape):
        return self.input_pieces[i].shape if self.input_pieces else shape.dimensions()

    @functools.cached_property
    def cost(self):
        return cost_of(self.loaded)

    @functools.cached_property
    def memory(self):
        return self.loaded.get_compiled_memory_stats()

    def fill(self, seed, perturbation=0, data=None):
        """Host values of all inputs; with `perturbation`, their floats moved by that share of
        themselves, at least by their type's precision. `data` has an entry an input: a file's path,
        the number of the argument that the seed is to make, or None."""
        make = self.device.inputs_module
        if data is not None and len(data) != len(self.input_shapes):
            raise JobError(
                "INVALID_ARGUMENT",
                f'"data" is not a list of {len(self.input_shapes)} entries, one an input',
            )

        def value(i, shape):
            entry = data[i] if data is not None else None
            dims = self.whole_dims(i, shape)
            if not isinstance(entry, str):
                return make.fill(dims, shape.numpy_dtype(), i if entry is None else entry, seed)
            with open(entry, "rb") as file:
                raw = file.read()
            dtype = self.device.np.dtype(shape.numpy_dtype())
            if len(raw) != dtype.itemsize * math.prod(dims):
                raise JobError(
                    "INVALID_ARGUMENT",
                    f"{entry} has {len(raw)} bytes; input {i} takes"
                    f" {dtype.itemsize * math.prod(dims)}",
                )
            return self.device.np.frombuffer(raw, dtype).reshape(dims)

        return [make.perturb(value(i, s), perturbation, i) for i, s in enumerate(self.input_shapes)]

    def set_inputs(self, arrays):
        if self.input_pieces:
            self.inputs = [self.device.put_pieces(p, a) for p, a in zip(self.input_pieces, arrays)]
        else:
            self.inputs = [self.device.put(a) for a in arrays]
        for buffer in self.inputs:
            buffer.block_until_ready()

    def execute(self, executions, syncs, feed):
        """k executions with s waits, evenly spread, the last one after the last; (enqueue_ns,
        wait_ns). All outputs of XLA:CPU are ready together, so one is awaited."""
        if feed and self.spread.devices > 1:
            raise JobError("UNIMPLEMENTED", "outputs that become inputs, on several devices")
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
            for array in outputs[0] if outputs else ():
                array.block_until_ready()
            waited = now()
            wait += waited - last
            last = waited
        self.outputs = outputs
        return enqueue, wait

    @staticmethod
    def to_host(array):
        if not hasattr(array, "_single_device_array_to_np_array_did_copy"):  # before 0.6
            return array._single_device_array_to_np_array()
        return array._single_device_array_to_np_array_did_copy()[0]

    def fetch(self):
        """The outputs, whole; `how` then has {pieces, copies, copies_differ} of each, where they
        were put together."""
        if not self.output_pieces:
            return [self.to_host(o[0]) for o in self.outputs]
        self.how, arrays = [], []
        for pieces, output in zip(self.output_pieces, self.outputs):
            whole, differ = pieces.join([self.to_host(a) for a in output])
            count = math.prod(pieces.counts)
            self.how.append(
                {"pieces": count, "copies": len(pieces.of) // count, "copies_differ": differ}
            )
            arrays.append(whole)
        return arrays


# ---- programs ------------------------------------------------------------------------------------


def decompress(data, path):
    if data[:2] == b"\x1f\x8b":
        import gzip

        return gzip.decompress(data)
    if data[:4] == b"\x28\xb5\x2f\xfd":
        raise JobError(
            "UNIMPLEMENTED",
            f"{path}: zstd: this Python cannot read it",
            hint='load with "hloscope" naming the executable, which can',
        )
    return data


class Program:
    """A program as jobs name it. With the path of `hloscope` known, that reads, transforms and
    counts it (its "write" job), so that every device gets the same program."""

    def __init__(self, path, transforms, hloscope, device, is_whole=False):
        self.facts, self.reported = {}, False
        self.is_whole = is_whole  # a program for several devices, on one of them
        self.times = {"read_ns": 0, "parse_ns": 0, "transform_ns": 0, "write_ns": 0}
        start = now()
        data = self.write(path, transforms, hloscope) if hloscope else None
        if data is None:
            if transforms:
                raise JobError(
                    "UNIMPLEMENTED",
                    "transforms are done by hloscope",
                    hint='load with "hloscope" naming the executable',
                )
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
        self.spread = Spread(
            self.facts.get("partitions", 1),
            self.facts.get("replicas", 1),
            self.facts.get("shardy", False),
            (self.facts.get("free_parameters", []), self.facts.get("free_results", [])),
        )
        if self.spread.devices > device.count:
            raise JobError(
                "FAILED_PRECONDITION",
                f"{self.spread.devices} partitions; xla-cpu has {device.count}"
                f" device{'' if device.count == 1 else 's'}; give"
                f" xla-cpu:{self.spread.devices}",
                hint=f"-d xla-cpu:{self.spread.devices}",
            )

    def write(self, path, transforms, hloscope):
        import subprocess
        import tempfile

        with tempfile.TemporaryDirectory(prefix="hloscope-worker-") as scratch:
            to = os.path.join(scratch, "program.hlo")
            job = (
                json.dumps(
                    {
                        "job": "write",
                        "program": path,
                        "transforms": transforms,
                        "whole": self.is_whole,
                        "to": to,
                    }
                )
                + "\n"
            )
            done = subprocess.run(
                [hloscope, "worker"], input=job.encode(), stdout=subprocess.PIPE, close_fds=True
            )
            try:
                answer = json.loads(done.stdout)
            except ValueError:
                raise JobError(
                    "INTERNAL", f"{hloscope} worker gave no answer (exit code {done.returncode})"
                ) from None
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
        """What compile_and_load takes: MLIR as it is but for donations; HLO text and HloModuleProto
        converted."""
        if data[:4] == BYTECODE:
            return without_donations(data, device)
        head = data[:65536].lstrip()
        try:
            text = data.decode()
        except UnicodeDecodeError:
            text = None
        if (
            text is not None
            and not head.startswith(b"HloModule")
            and ("func.func" in text or head.startswith((b"module", b"#loc")))
        ):
            return without_donations(data, device)
        proto = data if text is None else module_of(text, device).as_serialized_hlo_module_proto()
        return without_donations(of_computation(device, device.xc.XlaComputation(proto)), device)
