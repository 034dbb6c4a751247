"""Records what a program does, and reads captures back.

    import hloscope

    with hloscope.profile("run.hsc") as p:
        with p.record("warm up"):
            step(x)
        p.pause(); evaluate(); p.resume()

    p.table("executions").to_pandas()
    p.export("perfetto", "run.pftrace")

    @hloscope.record            # or @hloscope.record("name", category="transfer")
    def load(batch): ...

A profile also records every call into PJRT plugins and into XLA:CPU (compilations, executions,
transfers, waits) and the operators, whether JAX has begun or not: in a notebook too. Where it
cannot, it raises before the block. Outside of a profile, and without `hloscope trace`, recording
costs a comparison.
"""

import atexit
import contextlib
import ctypes
import functools
import importlib.abc
import importlib.util
import json
import os
import re
import sys
import threading
import warnings

CATEGORIES = {
    "user": 1,
    "compile": 2,
    "transfer": 4,
    "execute": 8,
    "operator": 16,
    "wait": 32,
    "memory": 64,
    "runtime": 128,
    "pass": 256,
    "framework": 512,
    "collective": 1024,
}
_OWN, _FIRST_OWN, _MOST_OWN = (
    [],
    16,
    15,
)  # names of the program's own categories, in the order of their bits
_INT, _DOUBLE, _STRING = 1, 2, 3


class Error(RuntimeError):
    """What the library says went wrong."""


class _Value(ctypes.Union):
    _fields_ = [
        ("i", ctypes.c_int64),
        ("u", ctypes.c_uint64),
        ("d", ctypes.c_double),
        ("string", ctypes.c_uint64),
    ]


class _Attr(ctypes.Structure):
    _fields_ = [("key", ctypes.c_uint32), ("type", ctypes.c_uint32), ("value", _Value)]


class _Options(ctypes.Structure):
    _fields_ = [
        ("path", ctypes.c_char_p),
        ("max_bytes", ctypes.c_uint64),
        ("chunk_bytes", ctypes.c_uint32),
        ("categories", ctypes.c_uint32),
        ("label", ctypes.c_char_p),
    ]


@functools.lru_cache(maxsize=None)
def _library():
    from . import _find

    lib = ctypes.CDLL(_find("libhloscope.so"))
    status = ctypes.c_void_p
    signatures = {
        "hsc_recorder_open": (status, [ctypes.POINTER(_Options), ctypes.POINTER(ctypes.c_void_p)]),
        "hsc_recorder_finish": (None, [ctypes.c_void_p]),
        "hsc_recorder_pause": (None, [ctypes.c_void_p]),
        "hsc_recorder_resume": (None, [ctypes.c_void_p]),
        "hsc_recorder_intern": (ctypes.c_uint32, [ctypes.c_void_p, ctypes.c_char_p]),
        "hsc_recorder_category": (ctypes.c_int, [ctypes.c_void_p, ctypes.c_char_p]),
        "hsc_recorder_lost_count": (ctypes.c_uint64, [ctypes.c_void_p]),
        "hsc_span_begin": (
            ctypes.c_uint64,
            [ctypes.c_void_p, ctypes.c_int, ctypes.c_uint32, ctypes.POINTER(_Attr), ctypes.c_int],
        ),
        "hsc_span_end": (
            None,
            [ctypes.c_void_p, ctypes.c_uint64, ctypes.POINTER(_Attr), ctypes.c_int],
        ),
        "hsc_trace_instant": (
            None,
            [ctypes.c_void_p, ctypes.c_int, ctypes.c_uint32, ctypes.POINTER(_Attr), ctypes.c_int],
        ),
        "hsc_trace_counter": (
            None,
            [ctypes.c_void_p, ctypes.c_int, ctypes.c_uint32, ctypes.c_double],
        ),
        "hsc_capture_view_json": (
            status,
            [ctypes.c_char_p, ctypes.c_char_p, ctypes.c_char_p, ctypes.POINTER(ctypes.c_void_p)],
        ),
        "hsc_capture_view_arrow": (
            status,
            [ctypes.c_char_p, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_void_p, ctypes.c_void_p],
        ),
        "hsc_capture_make_room": (status, [ctypes.c_char_p]),
        "hsc_capture_export_file": (status, [ctypes.c_char_p, ctypes.c_char_p, ctypes.c_char_p]),
        "hsc_process_set_paused": (
            status,
            [ctypes.c_int64, ctypes.c_bool, ctypes.POINTER(ctypes.c_int)],
        ),
        "hsc_api_status_text": (ctypes.c_char_p, [status]),
        "hsc_api_status_free": (None, [status]),
        "hsc_api_text_free": (None, [ctypes.c_void_p]),
    }
    for name, (result, arguments) in signatures.items():
        function = getattr(lib, name)
        function.restype, function.argtypes = result, arguments
    return lib


def _check(status):
    if not status:
        return
    text = _library().hsc_api_status_text(status).decode(errors="replace")
    _library().hsc_api_status_free(status)
    raise Error(text)


# ---- recording -----------------------------------------------------------------------------------


def category(name):
    """Makes a category of the program's own, at most 15: hloscope.category("data loading"), then
    record("read", category="data loading")."""
    if name in CATEGORIES:
        return name
    if not name or len(name.encode()) > 31:
        raise ValueError("a category's name has 1 to 31 bytes")
    with _lock:
        if name not in CATEGORIES:
            if len(_OWN) == _MOST_OWN:
                raise ValueError(f"there are {_MOST_OWN} own categories already: {', '.join(_OWN)}")
            _OWN.append(name)
            CATEGORIES[name] = 1 << (_FIRST_OWN + len(_OWN) - 1)
            for recorder in _recorders:
                recorder.lib.hsc_recorder_category(recorder.handle, name.encode())
    return name


def _mask(categories):
    if categories is None:
        return 0
    mask = 0
    for name in categories:
        if name not in CATEGORIES:
            raise ValueError(f"there is no category '{name}'; there are {', '.join(CATEGORIES)}")
        mask |= CATEGORIES[name]
    return mask


class _Recorder:
    """One ring of this process; names are interned once."""

    def __init__(self, path, categories, max_bytes, label):
        self.lib = _library()
        self.handle = ctypes.c_void_p()
        options = _Options(os.fsencode(path), max_bytes, 0, _mask(categories), label.encode())
        _check(self.lib.hsc_recorder_open(ctypes.byref(options), ctypes.byref(self.handle)))
        self.names = {}
        with _lock:
            for name in _OWN:  # in their order, so that every ring gives them the same bits
                self.lib.hsc_recorder_category(self.handle, name.encode())
            _recorders.append(self)

    def number(self, text):
        found = self.names.get(text)
        if found is None:
            found = self.names[text] = self.lib.hsc_recorder_intern(
                self.handle, text.encode(errors="replace")
            )
        return found

    def attributes(self, values):
        if not values:
            return None, 0
        list_ = (_Attr * len(values))()
        for slot, (key, value) in zip(list_, values.items()):
            slot.key = self.number(key)
            if isinstance(value, (bool, int)):
                slot.type, slot.value.i = _INT, max(min(int(value), 2**63 - 1), -(2**63))
            elif isinstance(value, float):
                slot.type, slot.value.d = _DOUBLE, value
            else:
                slot.type, slot.value.string = _STRING, self.number(str(value))
        return list_, len(values)


class _Span:
    """A context manager that records the time inside it; set() adds attributes that are known at
    its end."""

    __slots__ = ("recorder", "category", "name", "values", "span", "late")

    def __init__(self, recorder, category, name, values):
        self.recorder, self.category, self.name, self.values, self.span, self.late = (
            recorder,
            category,
            name,
            values,
            0,
            None,
        )

    def __enter__(self):
        r = self.recorder
        if r is not None:
            attributes, count = r.attributes(self.values)
            self.span = r.lib.hsc_span_begin(
                r.handle, self.category, r.number(self.name), attributes, count
            )
        return self

    def set(self, **values):
        self.late = {**(self.late or {}), **values}

    def __exit__(self, kind, value, trace):
        if not self.span:
            return False
        r = self.recorder
        if kind is not None:
            self.set(error=f"{kind.__name__}: {value}")
        attributes, count = r.attributes(self.late)
        r.lib.hsc_span_end(r.handle, self.span, attributes, count)
        self.span = 0
        return False


_active = []  # open profiles, innermost last
_inherited = None  # the recorder of a process that `hloscope trace` started
_lock = threading.RLock()
_recorders = []  # of this process
_recorded = set()  # captures that profiles of this process wrote, as absolute paths


def _current():
    global _inherited
    if _active:
        return _active[-1]._recorder
    if _inherited is None and os.environ.get("HLOSCOPE_OUTPUT_PATH") and not _wrapped:
        with _lock:
            if _inherited is None:
                _inherited = _Recorder(os.environ["HLOSCOPE_OUTPUT_PATH"], None, 0, "python")
                atexit.register(_inherited.lib.hsc_recorder_finish, _inherited.handle)
    return _inherited


def record(name=None, *, category="user", **attributes):
    """Records a span: `with hloscope.record("load", batch=3):`, `@hloscope.record`, or
    `@hloscope.record("name")`. Nothing is open: it does nothing."""
    if callable(name):
        return _decorate(name, name.__qualname__, CATEGORIES["user"], {})
    number = _mask([category])
    return _Recordable(name or "span", number, attributes)


def _decorate(function, name, category, attributes):
    @functools.wraps(function)
    def wrapped(*args, **kwargs):
        recorder = _current()
        if recorder is None:
            return function(*args, **kwargs)
        with _Span(recorder, category, name, attributes):
            return function(*args, **kwargs)

    return wrapped


class _Recordable(_Span):
    """What record(...) gives: a context, or a decorator."""

    __slots__ = ()

    def __init__(self, name, category, attributes):
        super().__init__(None, category, name, attributes)

    def __enter__(self):
        self.recorder = _current()
        return super().__enter__()

    def __call__(self, function):
        return _decorate(function, self.name, self.category, self.values)


def instant(name, *, category="user", **attributes):
    """Records a moment."""
    r = _current()
    if r is not None:
        list_, count = r.attributes(attributes)
        r.lib.hsc_trace_instant(r.handle, _mask([category]), r.number(name), list_, count)


def counter(name, value, *, category="user"):
    """Records a value over time."""
    r = _current()
    if r is not None:
        r.lib.hsc_trace_counter(r.handle, _mask([category]), r.number(name), float(value))


class profile:
    """A recording of this process, as a context or by start() and stop().

    path: the capture, a directory that is made (default: hloscope-PID.hsc). categories: names of
    CATEGORIES; None is all. max_bytes: room; the oldest part goes when it is full, and the loss
    shows. pjrt: also record the calls into PJRT plugins that are loaded from now on.
    """

    def __init__(self, path=None, *, categories=None, max_bytes=0, label="python", pjrt=True):
        self.path = os.fspath(path) if path is not None else f"hloscope-{os.getpid()}.hsc"
        self._settings = (categories, max_bytes, label)
        _mask(categories)  # wrong names are reported here
        self._pjrt = pjrt
        self._recorder = None

    def start(self):
        if self._recorder is not None:
            raise Error("this profile was started already")
        categories, max_bytes, label = self._settings
        if not _active:
            _check(
                _library().hsc_capture_make_room(os.fsencode(self.path))
            )  # a capture is of one run
        if self._pjrt:
            _trace_plugins(self.path)
        self._recorder = _Recorder(self.path, categories, max_bytes, label)
        _recorded.add(os.path.abspath(self.path))
        _set_paused(False)
        _active.append(self)
        return self

    def stop(self):
        if self in _active:
            _active.remove(self)
            self._recorder.lib.hsc_recorder_finish(self._recorder.handle)
            if not _active:
                _end_operators()
                _set_paused(True)  # the plugins' calls after the end do not belong to it
        return self

    __enter__ = start

    def __exit__(self, *exc):
        self.stop()
        return False

    def record(self, name, *, category="user", **attributes):
        return _Span(self._recorder, _mask([category]), name, attributes)

    def pause(self):
        """Nothing is recorded until resume(), in Python and at the plugins; spans that are open
        still end."""
        _set_paused(True)

    def resume(self):
        _set_paused(False)

    @property
    def lost(self):
        """Events that found no room."""
        return (
            self._recorder.lib.hsc_recorder_lost_count(self._recorder.handle)
            if self._recorder
            else 0
        )

    def table(self, view="summary"):
        return Capture(self.path).table(view)

    def sql(self, query):
        return Capture(self.path).sql(query)

    def export(self, form, output):
        return Capture(self.path).export(form, output)

    def _repr_html_(self):
        return self.table("summary")._repr_html_()


def _set_paused(paused):
    rings = ctypes.c_int()
    status = _library().hsc_process_set_paused(os.getpid(), paused, ctypes.byref(rings))
    if status:
        _library().hsc_api_status_free(status)  # nothing is recorded: nothing to pause


# ---- plugins -------------------------------------------------------------------------------------
# JAX loads a plugin by jaxlib.xla_client.load_pjrt_plugin_dynamically(name, path); while a profile
# is open that call gets the tracer's table instead.

# "path": the capture that the tracer of this process writes to; "watch": what looks at JAX
_wrapped = {}


def _tracer():
    from . import tracer_path

    tracer = ctypes.CDLL(tracer_path(), mode=ctypes.RTLD_GLOBAL)
    tracer.hsc_tracer_record_to.argtypes, tracer.hsc_tracer_record_to.restype = (
        [ctypes.c_char_p],
        ctypes.c_bool,
    )
    tracer.hsc_tracer_attach.argtypes, tracer.hsc_tracer_attach.restype = (
        [ctypes.c_char_p, ctypes.c_char_p],
        ctypes.c_bool,
    )
    return tracer


def _plugins_in_use():
    """Libraries of this process that are plugins."""
    with open("/proc/self/maps") as maps:
        paths = sorted(
            {
                line.split(None, 5)[5].strip()
                for line in maps
                if line.rstrip().endswith(".so") and " r-xp " in line
            }
        )
    for path in paths:
        try:
            library = ctypes.CDLL(path, mode=os.RTLD_NOLOAD | os.RTLD_LAZY)
        except OSError:
            continue
        if "tracer" not in path and hasattr(library, "GetPjrtApi"):
            yield path


def _trace_plugins(path):
    """Calls and operators of this process go to the capture at `path` from now on, whether JAX has
    begun or not. Raises where they cannot."""
    if "HLOSCOPE_OUTPUT_PATH" in os.environ and not _wrapped:
        return  # `hloscope trace` records them already
    path = os.path.abspath(path)
    tracer = _tracer()
    again = bool(_wrapped)
    if _active and again:
        return  # a profile inside of a profile: the calls are the outer one's
    if not tracer.hsc_tracer_record_to(os.fsencode(path)):
        raise Error(
            f"the calls of plugins cannot be recorded into {path}; profile(pjrt=False) records the"
            " program's own labels alone"
        )
    os.environ["HLOSCOPE_OUTPUT_PATH"] = path  # for programs that this one starts
    os.environ.setdefault("HLOSCOPE_XLA_CPU_CALLS", "2000")
    _wrapped.update(path=path)
    bridge = sys.modules.get("jax._src.xla_bridge")
    made = getattr(bridge, "_backends", None) or {}
    others = [name for name in made if name not in ("cpu", "interpreter")]
    if others and not again:
        attached = [
            plugin
            for plugin in _plugins_in_use()
            if tracer.hsc_tracer_attach(os.fsencode(plugin), others[0].encode())
        ]
        if not attached:
            raise Error(
                f"{', '.join(others)} is in use and the tracer cannot be put in front of it: open"
                " the profile before JAX's first operation, or use `hloscope trace`"
            )
    if not again:
        site = os.path.join(os.path.dirname(os.path.abspath(__file__)), "site")
        sys.path.insert(0, site)
        try:
            import hloscope_xla_cpu
        finally:
            sys.path.remove(site)
        _wrapped["watch"] = hloscope_xla_cpu.install(of_profile=True)
    elif _wrapped.get("watch") and made:
        _wrapped["watch"].begin_again(path, made)
    if again or others:
        return
    if "jaxlib.xla_client" in sys.modules:
        _patch(sys.modules["jaxlib.xla_client"])
    else:
        sys.meta_path.insert(0, _Finder())


def _end_operators():
    if _wrapped.get("watch"):
        _wrapped["watch"].end()


class _Finder(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name != "jaxlib.xla_client":
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        if spec is None or spec.loader is None:
            return spec
        run = spec.loader.exec_module

        def exec_module(module):
            run(module)
            _patch(module)

        spec.loader.exec_module = exec_module
        return spec


def _patch(module):
    from . import tracer_path

    real = getattr(module, "load_pjrt_plugin_dynamically", None)
    with_table = getattr(module, "load_pjrt_plugin_with_c_api", None)
    if (
        real is None or with_table is None
    ):  # another jaxlib: programs run as ever, without the plugins' calls in the capture
        return
    tracer = ctypes.CDLL(tracer_path())
    tracer.hsc_tracer_wrap_library.restype = ctypes.c_void_p
    tracer.hsc_tracer_wrap_library.argtypes = [ctypes.c_char_p]
    new_capsule = ctypes.pythonapi.PyCapsule_New
    new_capsule.restype, new_capsule.argtypes = (
        ctypes.py_object,
        [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p],
    )

    def load(name, path):
        table = tracer.hsc_tracer_wrap_library(os.fsencode(path))
        if not table:
            return real(name, path)  # which says what is wrong
        capsule = new_capsule(table, b"pjrt_c_api", None)
        with_table(name, capsule)
        return capsule  # JAX hands it on, to register the plugin's profiler for instance

    module.load_pjrt_plugin_dynamically = load


# ---- reading -------------------------------------------------------------------------------------


class Capture:
    """What was recorded: a directory (or ring file) that a profile, `hloscope trace` or
    HLOSCOPE_OUTPUT_PATH made; also of a program that runs still."""

    def __init__(self, path):
        self.path = os.fspath(path)

    def table(self, view="summary"):
        """One of the views of `hloscope tables`: summary, inferences, executions, executables,
        operators, host-operators, recompiles, memory, threads, events."""
        return Table(self.path, view, None)

    def sql(self, query):
        """Any SELECT; the views are tables."""
        return Table(self.path, None, query)

    def export(self, form, output):
        """Writes it for another tool: chrome, perfetto, speedscope, csv, parquet, otlp, raw."""
        _check(
            _library().hsc_capture_export_file(
                os.fsencode(self.path), form.encode(), os.fsencode(output)
            )
        )
        return os.fspath(output)

    def _repr_html_(self):
        return self.table()._repr_html_()


def open_capture(path):
    return Capture(path)


class _ArrowSchema(ctypes.Structure):
    _fields_ = [
        ("format", ctypes.c_char_p),
        ("name", ctypes.c_char_p),
        ("metadata", ctypes.c_char_p),
        ("flags", ctypes.c_int64),
        ("n_children", ctypes.c_int64),
        ("children", ctypes.c_void_p),
        ("dictionary", ctypes.c_void_p),
        ("release", ctypes.c_void_p),
        ("private_data", ctypes.c_void_p),
    ]


class _ArrowArray(ctypes.Structure):
    _fields_ = [
        ("length", ctypes.c_int64),
        ("null_count", ctypes.c_int64),
        ("offset", ctypes.c_int64),
        ("n_buffers", ctypes.c_int64),
        ("n_children", ctypes.c_int64),
        ("buffers", ctypes.c_void_p),
        ("children", ctypes.c_void_p),
        ("dictionary", ctypes.c_void_p),
        ("release", ctypes.c_void_p),
        ("private_data", ctypes.c_void_p),
    ]


_alive = {}  # address -> structure, while a capsule holds it


@ctypes.PYFUNCTYPE(None, ctypes.c_void_p)
def _release_capsule(capsule):
    # The consumer moves what it takes and clears `release`; what nobody took is released here.
    name = ctypes.pythonapi.PyCapsule_GetName(capsule)
    address = ctypes.pythonapi.PyCapsule_GetPointer(capsule, name)
    structure = _alive.pop(address, None)
    if structure is not None and structure.release:
        ctypes.CFUNCTYPE(None, ctypes.c_void_p)(structure.release)(address)


ctypes.pythonapi.PyCapsule_GetName.restype, ctypes.pythonapi.PyCapsule_GetName.argtypes = (
    ctypes.c_char_p,
    [ctypes.c_void_p],
)
ctypes.pythonapi.PyCapsule_GetPointer.restype, ctypes.pythonapi.PyCapsule_GetPointer.argtypes = (
    ctypes.c_void_p,
    [ctypes.c_void_p, ctypes.c_char_p],
)


def _capsule(structure, name):
    make = ctypes.pythonapi.PyCapsule_New
    make.restype, make.argtypes = (
        ctypes.py_object,
        [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p],
    )
    address = ctypes.addressof(structure)
    _alive[address] = structure
    return make(address, name, ctypes.cast(_release_capsule, ctypes.c_void_p))


class Table:
    """Rows and columns of one view; read when it is first asked for."""

    def __init__(self, path, view, query):
        self._what = (
            os.fsencode(path),
            view.encode() if view else None,
            query.encode() if query else None,
        )
        self._document = None

    @property
    def document(self):
        """The table as `hloscope tables --format=json` prints it."""
        if self._document is None:
            text = ctypes.c_void_p()
            _check(_library().hsc_capture_view_json(*self._what, ctypes.byref(text)))
            self._document = json.loads(ctypes.string_at(text))
            _library().hsc_api_text_free(text)
        return self._document

    @property
    def columns(self):
        return [column["name"] for column in self.document["columns"]]

    @property
    def units(self):
        """Column -> unit ("ns", "bytes", "fraction", "" for none)."""
        return {column["name"]: column["unit"] for column in self.document["columns"]}

    @property
    def rows(self):
        return self.document["rows"]

    @property
    def notes(self):
        notes = self.document["notes"]
        if os.path.abspath(os.fsdecode(self._what[0])) not in _recorded:
            return notes
        # the recording of calls is paused and not ended by a profile: the next one goes on with it
        this = re.compile(rf"process {os.getpid()} \(.*\) did not end its recording")
        return [note for note in notes if not this.match(note)]

    def __len__(self):
        return len(self.rows)

    def __iter__(self):
        return iter(self.rows)

    def __arrow_c_array__(self, requested_schema=None):
        """The Arrow PyCapsule interface: pyarrow, polars, pandas 3 and DuckDB take a table as it
        is."""
        schema, array = _ArrowSchema(), _ArrowArray()
        _check(
            _library().hsc_capture_view_arrow(
                *self._what, ctypes.addressof(schema), ctypes.addressof(array)
            )
        )
        return _capsule(schema, b"arrow_schema"), _capsule(array, b"arrow_array")

    def to_arrow(self):
        """A pyarrow.Table."""
        import pyarrow

        return pyarrow.Table.from_batches([pyarrow.record_batch(self)])

    def to_polars(self):
        """A polars.DataFrame."""
        import polars

        return polars.DataFrame(self)

    def to_pandas(self, durations="ns"):
        """A pandas.DataFrame; whole numbers with missing values are Int64. `durations` says what
        the columns in nanoseconds become: "ns" whole numbers, "seconds" floats, "timedelta"
        timedelta64[ns]; attrs["units"] tells."""
        import pandas

        if durations not in ("ns", "seconds", "timedelta"):
            raise ValueError(f'durations is "ns", "seconds" or "timedelta", not {durations!r}')

        frame = pandas.DataFrame(self.rows, columns=self.columns)
        for name in frame.columns:
            values = [row[name] for row in self.rows if row[name] is not None]
            if (
                values
                and len(values) < len(frame)
                and all(isinstance(v, int) and not isinstance(v, bool) for v in values)
            ):
                frame[name] = pandas.array([row[name] for row in self.rows], dtype="Int64")
        units = self.units
        for name in [name for name, unit in units.items() if unit == "ns" and durations != "ns"]:
            if durations == "timedelta":
                frame[name] = pandas.to_timedelta(frame[name], unit="ns")
            else:
                frame[name] = frame[name].astype("Float64").astype(float) / 1e9
            units[name] = "timedelta" if durations == "timedelta" else "s"
        frame.attrs["units"] = units
        return frame

    def __repr__(self):
        shown = [
            [_shown(row[name], unit) for name, unit in self.units.items()] for row in self.rows[:20]
        ]
        widths = [
            max([len(name)] + [len(cells[i]) for cells in shown])
            for i, name in enumerate(self.columns)
        ]
        lines = ["  ".join(name.ljust(width) for name, width in zip(self.columns, widths)).rstrip()]
        lines += [
            "  ".join(cell.ljust(width) for cell, width in zip(cells, widths)).rstrip()
            for cells in shown
        ]
        if len(self.rows) > 20:
            lines.append(f"... {len(self.rows) - 20} more rows")
        return "\n".join(lines + self.notes)

    def _repr_html_(self):
        import html

        head = "".join(f"<th>{html.escape(name)}</th>" for name in self.columns)
        body = "".join(
            "<tr>"
            + "".join(
                f"<td>{html.escape(_shown(row[name], unit))}</td>"
                for name, unit in self.units.items()
            )
            + "</tr>"
            for row in self.rows[:200]
        )
        more = f"<p>{len(self.rows) - 200} more rows</p>" if len(self.rows) > 200 else ""
        notes = "".join(f"<p>{html.escape(note)}</p>" for note in self.notes)
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}{notes}"


def _shown(value, unit):
    if value is None:
        return "-"
    if unit == "ns" and isinstance(value, (int, float)):
        for scale, name in ((1e9, "s"), (1e6, "ms"), (1e3, "µs")):
            if abs(value) >= scale:
                return f"{value / scale:.3g} {name}"
        return f"{value:.3g} ns"
    if unit == "fraction" and isinstance(value, (int, float)):
        return f"{100 * value:.1f} %"
    return f"{value:.6g}" if isinstance(value, float) else str(value)


@contextlib.contextmanager
def paused():
    """Nothing is recorded inside."""
    _set_paused(True)
    try:
        yield
    finally:
        _set_paused(False)
