"""What `hloscope profile -- COMMAND` puts first on PYTHONPATH: profiles an unmodified JAX program with JAX's own profiler.

A session starts when JAX has made its backends (so that the program's own configuration stands), and ends at the end of the program, after
HLOSCOPE_PROFILE_MS milliseconds, or after HLOSCOPE_PROFILE_STEPS steps (jax.profiler.StepTraceAnnotation). The XSpace goes to HLOSCOPE_PROFILE_PATH/PID.xplane.pb.
Nothing here may stop the program: what fails is told on stderr and left.
"""
import importlib.machinery
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))


def complain(what):
    sys.stderr.write(f"hloscope: {what}\n")


class Session:
    def __init__(self, directory):
        self.directory, self.session, self.done, self.steps = directory, None, False, 0
        self.most_steps = int(os.environ.get("HLOSCOPE_PROFILE_STEPS") or 0)
        self.milliseconds = float(os.environ.get("HLOSCOPE_PROFILE_MS") or 0)

    def start(self):
        if self.session or self.done:
            return
        import atexit
        import threading

        from jaxlib import _profiler

        options = _profiler.ProfileOptions()
        options.python_tracer_level = 0 if os.environ.get("HLOSCOPE_PROFILE_TRACED_ONLY") else 1
        options.host_tracer_level = 2
        self.session = _profiler.ProfilerSession(options)
        atexit.register(self.stop)  # runs before what was registered earlier: JAX's own end
        if self.milliseconds:
            timer = threading.Timer(self.milliseconds / 1000, self.stop)
            timer.daemon = True
            timer.start()

    def stop(self):
        session, self.session, self.done = self.session, None, True
        if session is None:
            return
        data = session.stop()
        path = os.path.join(self.directory, f"{os.getpid()}.xplane.pb")
        with open(path + ".part", "wb") as file:
            file.write(data)
        os.replace(path + ".part", path)

    def step_ended(self):
        self.steps += 1
        if self.most_steps and self.steps >= self.most_steps:
            self.stop()


def guarded(function):
    def call(*args):
        try:
            return function(*args)
        except Exception as error:  # the program goes on without a profile
            complain(f"the profile was lost: {type(error).__name__}: {error}")
            return None

    return call


def watch_backends(module, session):
    original = module.backends

    def backends(*args, **keywords):
        found = original(*args, **keywords)
        guarded(session.start)()
        return found

    backends.__wrapped__ = original
    for name in ("cache_clear",):
        if hasattr(original, name):
            setattr(backends, name, getattr(original, name))
    module.backends = backends


def watch_steps(module, session):
    if not session.most_steps or not hasattr(module, "StepTraceAnnotation"):
        return
    annotation = module.StepTraceAnnotation

    class StepTraceAnnotation(annotation):
        def __exit__(self, *args):
            result = super().__exit__(*args)
            guarded(session.step_ended)()
            return result

    module.StepTraceAnnotation = StepTraceAnnotation


class Finder:
    """Lets the modules be found as ever, and looks at them when they are there."""

    def __init__(self, watched):
        self.watched = watched

    def find_spec(self, name, path=None, target=None):
        watch = self.watched.pop(name, None)
        if watch is None:
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        if spec is None or spec.loader is None:
            return spec
        run = spec.loader.exec_module

        def exec_module(module):
            run(module)
            guarded(watch)(module)

        spec.loader.exec_module = exec_module
        return spec


def install():
    directory = os.environ.get("HLOSCOPE_PROFILE_PATH")
    if not directory:
        return
    session = Session(directory)

    def backends(module):
        os.environ["HLOSCOPE_PROFILE_BY"] = "jax"  # the plugin's profiler is asked by JAX's, not by our tracer
        watch_backends(module, session)

    sys.meta_path.insert(0, Finder({"jax._src.xla_bridge": backends, "jax._src.profiler": lambda module: watch_steps(module, session)}))


def chain():
    """The sitecustomize that would have run without us."""
    sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry or ".") != HERE]
    own = sys.modules.pop("sitecustomize", None)
    try:
        import sitecustomize  # noqa: F401
    except ImportError:
        if own is not None:
            sys.modules["sitecustomize"] = own


guarded(install)()
chain()
