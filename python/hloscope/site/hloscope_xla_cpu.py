"""XLA:CPU inside jaxlib is no plugin: what `hloscope trace` records of it is taken here, in an
unmodified program.

Calls of jitted functions: their vectorcall pointers go through the tracer's library, which notes
the time (src/pjrt/tracer_host.c). Compilations: the function that compiles is wrapped; the program
is kept as for plugins. Operators: sessions of jaxlib's profiler from the making of the backends on,
for HLOSCOPE_XLA_CPU_CALLS calls or HLOSCOPE_XLA_CPU_SECONDS seconds; after that only compilations
get one. The program's own profiles have the right of way.

A profiler keeps what it records in memory, and a process that SIGKILL ends takes that with it. So a
session is written and the next one begun after 4 calls, 8, 16 and so on, and after 1 second, 2, 4
and so on: at most half of what was recorded is lost. To end one and begin another takes 0.3 ms and
a tenth of what writing everything at the end would.
"""

import atexit
import ctypes
import io
import os
import sys
import threading
import time

from hloscope_explain import module_name
from hloscope_inject import (
    Finder,
    at_death,
    complain,
    guarded,
    jax_extension,
    jax_profiler,
    quiet_session,
    watch_backends,
    write_whole,
)

EXECUTES = (  # the name of what JAX calls when an operation is executed by itself
    "call_impl_cache_miss"
)


FIRST_PART, FIRST_PART_S = 4, 1.0  # calls and seconds of the first session that is written


def later(seconds, function):
    timer = threading.Timer(seconds, guarded(function))
    timer.daemon = True
    timer.start()


def wait_for(result):
    """Until the arrays in what a call returned are there; what went wrong is the program's."""
    try:
        sys.modules["jax"].block_until_ready(result)
    except Exception:
        pass


def library():
    """The preloaded tracer; None where LD_PRELOAD was cleared on the way."""
    lib = ctypes.CDLL(None)
    if not hasattr(lib, "hsc_tracer_host_open"):
        return None
    lib.hsc_tracer_host_open.restype = ctypes.c_bool
    lib.hsc_tracer_host_open.argtypes = [ctypes.c_int64, ctypes.c_void_p]
    lib.hsc_tracer_host_watch.argtypes = [
        ctypes.c_void_p,
        ctypes.c_void_p,
        ctypes.c_char_p,
        ctypes.c_bool,
    ]
    lib.hsc_tracer_host_watch.restype = lib.hsc_tracer_host_limit.restype = (
        lib.hsc_tracer_host_session.restype
    ) = lib.hsc_tracer_host_compile_end.restype = None
    lib.hsc_tracer_host_limit.argtypes = [ctypes.c_int64]
    lib.hsc_tracer_host_calls.restype = ctypes.c_int64
    lib.hsc_tracer_host_compile_begin.restype = ctypes.c_uint64
    lib.hsc_tracer_host_compile_begin.argtypes = [
        ctypes.c_char_p,
        ctypes.c_char_p,
        ctypes.c_size_t,
        ctypes.c_char_p,
        ctypes.c_size_t,
    ]
    lib.hsc_tracer_host_compile_end.argtypes = [ctypes.c_uint64, ctypes.c_char_p, ctypes.c_char_p]
    lib.hsc_tracer_host_session.argtypes = [ctypes.c_char_p, ctypes.c_int64]
    return lib


def vectorcall_place(function_type):
    """Where objects of the type keep their vectorcall pointer (tp_vectorcall_offset); 0 = not known
    for this Python."""
    head = object.__basicsize__ + 8  # PyVarObject
    word = lambda at: ctypes.c_ssize_t.from_address(id(function_type) + at).value  # noqa: E731
    if (
        word(head + 8) != function_type.__basicsize__
    ):  # tp_basicsize is not where it should be: another layout
        return 0
    place = word(head + 32)
    return place if head - 8 <= place <= function_type.__basicsize__ - 8 else 0


class Profiler:
    """Sessions of jaxlib's profiler, one after the other; each is a file in the capture."""

    def __init__(self, lib, directory):
        self.lib, self.directory, self.lock = lib, directory, threading.RLock()
        self.session, self.pid, self.files, self.real, self.told, self.yielded = (
            None,
            os.getpid(),
            0,
            None,
            False,
            False,
        )

    def start(self):
        with self.lock:
            if (
                self.session is not None
                or self.yielded
                or self.pid != os.getpid()
                or os.environ.get("HLOSCOPE_PROFILE_PATH")
            ):
                return False  # under `hloscope profile` its own session has the operators
            _profiler = jax_profiler()
            if tpu_without_client():
                return False
            options = _profiler.ProfileOptions()
            options.python_tracer_level, options.host_tracer_level = 0, 2
            try:
                with quiet_session():
                    self.session = (self.real or _profiler.ProfilerSession)(options)
            except Exception as error:  # somebody else's session is open
                if not self.told:
                    complain(f"operators are not recorded: {error}")
                self.told = True
                return False
            self.files += 1
            self.file = f"{self.pid}-{self.files}.xplane.pb"
            self.lib.hsc_tracer_host_session(self.file.encode(), time.time_ns())
            return True

    def stop(self):
        with self.lock:
            session, self.session = self.session, None
            if session is not None and self.pid == os.getpid():
                with quiet_session():
                    space = session.stop()
                write_whole(os.path.join(self.directory, "profiles", self.file), space)

    def forget(self):
        """In the child of a fork: the session is the parent's, and ending it here would wait for
        threads that are not there."""
        if self.session is not None:
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(self.session))
        self.session, self.lock = None, threading.RLock()


class Watch:
    def __init__(self, lib, directory):
        self.lib, self.profiler = lib, Profiler(lib, directory)
        self.calls = int(os.environ["HLOSCOPE_XLA_CPU_CALLS"])
        self.seconds = float(os.environ.get("HLOSCOPE_XLA_CPU_SECONDS") or 0)
        self.place, self.cpu, self.runs_profiled, self.ended = None, None, False, False
        self.of_profile = False  # hloscope.profile(): the operators of plugins as well
        self.cut = None  # under `hloscope profile` its session is cut into parts, not ours
        self.next_part, self.next_time = FIRST_PART, FIRST_PART_S
        self.calls_before = 0
        self.at_limit = ctypes.CFUNCTYPE(None, ctypes.py_object)(guarded(self.end_of_part))

    # ---- calls ----

    def watch_functions(self, extension, module):
        make = extension.pjit
        watch_function, place_of = self.lib.hsc_tracer_host_watch, vectorcall_place

        def pjit(name, function, cache_miss, *rest, **keywords):
            made = make(name, function, cache_miss, *rest, **keywords)
            try:
                if self.place is None:
                    self.place = place_of(type(made))
                    if not self.place:
                        complain(
                            "calls of jitted functions are not timed: this Python keeps functions"
                            " otherwise"
                        )
                if self.place:
                    executes = getattr(cache_miss, "__name__", "") == EXECUTES
                    watch_function(
                        id(made), id(made) + self.place, module_name(name).encode(), executes
                    )
            except Exception as error:
                complain(f"a function is not watched: {error}")
            return made

        extension.pjit = pjit

    # ---- the time of the profile ----

    def backends_made(self, backends):
        if self.cpu is not None or ("cpu" not in backends and not (self.of_profile and backends)):
            return
        import jax._src.xla_bridge as bridge

        default = bridge._default_backend
        if "cpu" not in backends or (default is not None and default is not backends["cpu"]):
            # a plugin's calls are recorded at its table; XLA:CPU beside it would be counted twice
            self.cpu = False
            if self.of_profile and self.profiler.start():
                self.runs_profiled = True
                atexit.register(guarded(self.end))
                at_death(self.end)
            return
        self.cpu = backends["cpu"]
        self.next_part, self.next_time = FIRST_PART, FIRST_PART_S
        self.calls_before = self.lib.hsc_tracer_host_calls()
        first = self.next_part if self.cut else min(self.calls, self.next_part)
        if not self.lib.hsc_tracer_host_open(first, ctypes.cast(self.at_limit, ctypes.c_void_p)):
            return
        atexit.register(guarded(self.end))  # runs before what was registered earlier: JAX's own end
        os.register_at_fork(after_in_child=self.profiler.forget)
        at_death(self.end)
        if self.cut:
            self.runs_profiled = True
            later(self.next_time, self.part_is_due)
        elif self.calls and self.profiler.start():
            self.runs_profiled = True
            if self.seconds:
                later(self.seconds, self.end_of_runs)
            later(self.next_time, self.part_is_due)

    def begin_again(self, directory, backends):
        """Another profile of this process."""
        self.profiler.directory, self.cpu, self.ended = directory, None, False
        self.backends_made(backends)

    def attach(self, bridge):
        """JAX runs already: what it has made is watched from now on."""
        import gc

        library = sys.modules["jax._src.lib"]
        self.watch_functions(jax_extension(library), library)
        for made in gc.get_objects():
            kind = type(made)
            if kind.__name__ != "PjitFunction":
                continue
            self.place = self.place if self.place is not None else vectorcall_place(kind)
            if self.place:
                self.lib.hsc_tracer_host_watch(
                    id(made),
                    id(made) + self.place,
                    module_name(getattr(made, "__name__", "function")).encode(),
                    False,
                )
        self.watch_compiler(sys.modules["jax._src.compiler"])
        self.yield_to_others(jax_profiler())
        self.backends_made(bridge._backends)

    def part_is_due(self):
        """Time has passed: the next call ends the part. Not here, in the midst of a call."""
        if not self.runs_profiled:
            return
        self.lib.hsc_tracer_host_limit(0)
        self.next_time *= 2
        later(self.next_time, self.part_is_due)

    def end_of_part(self, result):
        """After a call, on its thread: what was recorded until now is written. The call may only
        have begun its run, which would be in neither part: it is awaited."""
        done = self.lib.hsc_tracer_host_calls() - self.calls_before
        if not self.cut and done >= self.calls:
            self.end_of_runs()
            return
        while self.next_part <= done:
            self.next_part *= 2
        until = self.next_part if self.cut else min(self.calls, self.next_part)
        self.lib.hsc_tracer_host_limit(self.calls_before + until)
        if self.cut:
            wait_for(result)
            self.cut()
        elif self.runs_profiled and self.profiler.session is not None:
            wait_for(result)
            self.profiler.stop()
            self.profiler.start()

    def end_of_runs(self):
        self.runs_profiled = False
        self.lib.hsc_tracer_host_limit(-1)
        self.profiler.stop()

    def end(self):
        self.ended = True
        self.end_of_runs()

    # ---- compilations ----

    def watch_compiler(self, module):
        name_of_it = (
            "backend_compile_and_load"
            if hasattr(module, "backend_compile_and_load")
            else "backend_compile"
        )  # before 0.6
        compile_and_load = getattr(module, name_of_it)

        def backend_compile_and_load(backend, program, *rest, **keywords):
            if self.cpu is None or backend is not self.cpu or self.ended:
                return compile_and_load(backend, program, *rest, **keywords)
            name, own = "", False
            span = 0
            try:
                name = str(program.operation.attributes["sym_name"]).strip('"').rstrip("_")
                code = program_bytes(program)
                own = not self.runs_profiled and self.profiler.start()
                options = options_bytes((*rest, *keywords.values()))
                span = self.lib.hsc_tracer_host_compile_begin(
                    b"mlir", code, len(code), options, len(options or b"")
                )
            except Exception as error:
                complain(f"a compilation is not recorded: {type(error).__name__}: {error}")
            failure = None
            try:
                return compile_and_load(backend, program, *rest, **keywords)
            except BaseException as error:
                failure = str(error)[:400] or type(error).__name__
                raise
            finally:
                if span:
                    self.lib.hsc_tracer_host_compile_end(
                        span, name.encode(), failure.encode() if failure else None
                    )
                if own:
                    guarded(self.profiler.stop)()

        setattr(module, name_of_it, backend_compile_and_load)

    # ---- the program's own profiles ----

    def yield_to_others(self, module):
        watch, real = self, module.ProfilerSession
        self.profiler.real = real

        class ProfilerSession:
            """The program's own session: ours ends before it and goes on after it."""

            def __init__(self, *args, **keywords):
                guarded(watch.profiler.stop)()
                watch.lib.hsc_tracer_profile_end()  # a plugin's
                watch.profiler.yielded = True
                try:
                    self._session = real(*args, **keywords)
                except BaseException:
                    watch.profiler.yielded = False
                    raise

            def stop(self, *args, **keywords):
                try:
                    return self._session.stop(*args, **keywords)
                finally:
                    self._resume()

            def stop_and_export(self, *args, **keywords):
                try:
                    return self._session.stop_and_export(*args, **keywords)
                finally:
                    self._resume()

            def _resume(self):
                watch.profiler.yielded = False
                if watch.runs_profiled:
                    guarded(watch.profiler.start)()

            def __getattr__(self, name):
                return getattr(self._session, name)

        module.ProfilerSession = ProfilerSession


def tpu_without_client():
    """libtpu's profiler, which every session starts as well once libtpu is loaded, ends the process
    where no TPU was opened (compiling ahead of time)."""
    try:
        from jax._src import xla_bridge
        from jax._src import lib

        return jax_extension(lib).pjrt_plugin_loaded("tpu") and "tpu" not in xla_bridge._backends
    except (ImportError, AttributeError):
        return False


def options_bytes(arguments):
    """Those of the arguments that are compile options, as plugins get them; None where there are
    none."""
    options = next((a for a in arguments if hasattr(a, "SerializeAsString")), None)
    return options.SerializeAsString() if options is not None else None


def program_bytes(module):
    """The program as plugins get it: a portable artifact, or text where a dialect has no portable
    form."""
    try:
        from jaxlib.mlir.dialects import stablehlo

        copy = io.BytesIO()
        module.operation.write_bytecode(
            copy
        )  # a copy, because the making of an artifact changes its module
        # dialects that have no portable form: asking for one prints an error into the program's
        if any(dialect in copy.getvalue() for dialect in (b"sdy", b"chlo", b"mpmd", b"mhlo")):
            return str(module).encode()
        return stablehlo.serialize_portable_artifact_str(
            copy.getvalue(), stablehlo.get_current_version()
        )
    except Exception:
        return str(module).encode()


def install(of_profile=False):
    """Watches JAX from its import on; the Watch, None where the tracer is not loaded."""
    directory = os.environ.get("HLOSCOPE_OUTPUT_PATH")
    lib = library() if directory else None
    if lib is None:
        return None
    watch = Watch(lib, directory)
    watch.of_profile = of_profile
    bridge = sys.modules.get("jax._src.xla_bridge")
    if bridge is not None:
        if getattr(bridge, "_backends", None):
            watch.attach(bridge)
        else:  # imported, and nothing made yet
            library_module = sys.modules["jax._src.lib"]
            watch.watch_functions(jax_extension(library_module), library_module)
            watch.watch_compiler(sys.modules["jax._src.compiler"])
            watch_backends(bridge, watch.backends_made)
            watch.yield_to_others(jax_profiler())
        return watch

    def functions(module):
        watch.watch_functions(jax_extension(module), module)
        if (
            jax_profiler().__name__ != "jaxlib._profiler"
        ):  # it is here already, and nobody imports it by itself
            watch.yield_to_others(jax_profiler())

    sys.meta_path.insert(
        0,
        Finder(
            {
                "jax._src.lib": functions,
                "jax._src.xla_bridge": lambda module: watch_backends(module, watch.backends_made),
                "jax._src.compiler": watch.watch_compiler,
                "jaxlib._profiler": watch.yield_to_others,
            }
        ),
    )
    return watch
