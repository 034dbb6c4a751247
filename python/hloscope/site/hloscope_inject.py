"""What the hooks of `hloscope profile -- COMMAND` and `hloscope trace -- COMMAND` share: finding
modules as they are imported, and never stopping the program."""

import contextlib
import importlib.machinery
import importlib.util
import os
import sys
import types

HERE = os.path.dirname(os.path.abspath(__file__))


def complain(what):
    sys.stderr.write(f"hloscope: {what}\n")


def guarded(function):
    """Nothing here may stop the program: what fails is reported on stderr and left."""

    def call(*args, **keywords):
        try:
            return function(*args, **keywords)
        except Exception as error:
            complain(f"the profile was lost: {type(error).__name__}: {error}")
            return None

    return call


class Finder:
    """Lets the modules be found as ever, and looks at them when they are there."""

    def __init__(self, watched):
        self.watched = watched

    def find_spec(self, name, path=None, target=None):
        # the first finder that is asked looks on behalf of all
        watches = [
            finder.watched.pop(name)
            for finder in sys.meta_path
            if isinstance(finder, Finder) and name in finder.watched
        ]
        if not watches:
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        if spec is None or spec.loader is None:
            return spec
        run = spec.loader.exec_module

        def exec_module(module):
            run(module)
            for watch in watches:
                guarded(watch)(module)

        spec.loader.exec_module = exec_module
        return spec


def watch_backends(module, made):
    """Calls `made(backends)` when JAX has made its backends, so that the program's own
    configuration stays in effect."""
    original = module.backends

    def backends(*args, **keywords):
        found = original(*args, **keywords)
        guarded(made)(found)
        return found

    backends.__wrapped__ = original
    if hasattr(original, "cache_clear"):
        backends.cache_clear = original.cache_clear
    module.backends = backends


def jax_extension(lib):
    """The extension module of a jaxlib, from jax._src.lib: `_jax`, `xla_extension` before 0.6."""
    return getattr(lib, "_jax", None) or lib.xla_extension


def jax_profiler():
    """jaxlib's profiler: `jaxlib._profiler`, a part of `xla_extension` before 0.7."""
    try:
        from jaxlib import _profiler
    except ImportError:
        from jaxlib.xla_extension import profiler as _profiler
    return _profiler


@contextlib.contextmanager
def quiet_session():
    """Sessions of jaxlib before 0.7 look for TensorFlow when they begin and end, and print an error
    where there is none: for that moment they find empty modules."""
    names = ("tensorflow", "tensorflow.python.profiler.trace")
    old = jax_profiler().__name__ != "jaxlib._profiler"
    if not old or names[0] in sys.modules or importlib.util.find_spec(names[0]):
        yield
        return
    sys.modules.update({name: types.ModuleType(name) for name in names})
    try:
        yield
    finally:
        for name in names:
            sys.modules.pop(name, None)


_at_death = []


def at_death(function):
    """Calls `function` when the process dies by _exit or a signal; the preloaded tracer sees to it
    (src/pjrt/tracer_death.h)."""
    import ctypes

    library = ctypes.CDLL(None)
    if hasattr(library, "hsc_tracer_at_death"):
        _at_death.append(ctypes.CFUNCTYPE(None)(guarded(function)))
        library.hsc_tracer_at_death(_at_death[-1])


def write_whole(path, data):
    """A file that is there is whole."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path + ".part", "wb") as file:
        file.write(data)
    os.replace(path + ".part", path)


def chain():
    """The sitecustomize that would have run without us."""
    sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry or ".") != HERE]
    own = sys.modules.pop("sitecustomize", None)
    try:
        import sitecustomize  # noqa: F401
    except ImportError:
        if own is not None:
            sys.modules["sitecustomize"] = own
