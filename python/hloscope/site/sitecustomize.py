"""What `hloscope profile -- COMMAND` and `hloscope trace -- COMMAND` put first on PYTHONPATH, for
programs that nobody changed.

profile: an unmodified JAX program under JAX's own profiler. A session starts when JAX has made its
backends, and ends at the end of the program, after HLOSCOPE_PROFILE_MS milliseconds, or after
HLOSCOPE_PROFILE_STEPS steps (jax.profiler.StepTraceAnnotation). The XSpace goes to
HLOSCOPE_PROFILE_PATH/PID.xplane.pb. trace: hloscope_xla_cpu.py.

Where neither time nor steps are given, the session on XLA:CPU is written in parts, after 4 calls,
8, 16 and so on and after 1 second, 2, 4 and so on: SIGKILL takes what a profiler holds in memory
with it. A plugin under JAX is not: its calls are told to the tracer's library alone. The
parts are PID.partN.NANOSECONDS.xplane.pb, by when each began; `hloscope profile` makes one of them
(src/trace/xspace_merge.c).
"""

import os
import sys
import time

from hloscope_inject import (
    Finder,
    at_death,
    chain,
    guarded,
    jax_profiler,
    quiet_session,
    watch_backends,
    write_whole,
)


class Session:
    def __init__(self, directory):
        self.directory, self.session, self.done, self.steps = directory, None, False, 0
        self.most_steps = int(os.environ.get("HLOSCOPE_PROFILE_STEPS") or 0)
        self.milliseconds = float(os.environ.get("HLOSCOPE_PROFILE_MS") or 0)
        self.in_parts = not self.most_steps and not self.milliseconds
        self.parts, self.open_steps, self.due, self.lock = 0, 0, False, None

    def start(self, backends):
        if self.session or self.done:
            return
        import atexit
        import threading

        self.lock = threading.RLock()
        self.pid = os.getpid()
        self.begin()
        atexit.register(self.stop)  # runs before what was registered earlier: JAX's own end
        at_death(self.stop)
        if self.milliseconds:
            timer = threading.Timer(self.milliseconds / 1000, self.stop)
            timer.daemon = True
            timer.start()

    def begin(self):
        _profiler = jax_profiler()
        options = _profiler.ProfileOptions()
        options.python_tracer_level = 0 if os.environ.get("HLOSCOPE_PROFILE_TRACED_ONLY") else 1
        options.host_tracer_level = 2
        with quiet_session():
            self.session = _profiler.ProfilerSession(options)
        self.parts += 1
        self.name = f"{self.pid}.xplane.pb"
        if self.in_parts:
            self.name = f"{self.pid}.part{self.parts:04}.{time.time_ns()}.xplane.pb"

    def write(self):
        session, self.session = self.session, None
        if session is not None and self.pid == os.getpid():  # a forked child's is its parent's
            with quiet_session():
                space = session.stop()
            write_whole(os.path.join(self.directory, self.name), space)

    def stop(self):
        self.done = True
        self.write()

    def cut(self):
        """What was recorded until now is written. Not in the midst of a step, which would be lost,
        and not where other threads run programs meanwhile, which would be in neither part."""
        import threading

        threads = [t for t in threading.enumerate() if not isinstance(t, threading.Timer)]
        with self.lock:
            self.due = self.open_steps > 0
            ours = self.session is not None and not self.done and self.pid == os.getpid()
            if ours and not self.due and len(threads) == 1:
                self.write()
                self.begin()

    def step_ended(self):
        self.steps += 1
        self.open_steps -= 1
        if self.most_steps and self.steps >= self.most_steps:
            self.stop()
        elif self.due:
            self.cut()


def watch_steps(module, session):
    if session.milliseconds or not hasattr(module, "StepTraceAnnotation"):
        return
    annotation = module.StepTraceAnnotation

    class StepTraceAnnotation(annotation):
        def __enter__(self):
            session.open_steps += 1
            return super().__enter__()

        def __exit__(self, *args):
            result = super().__exit__(*args)
            guarded(session.step_ended)()
            return result

    module.StepTraceAnnotation = StepTraceAnnotation


def install():
    watch = None
    if os.environ.get("HLOSCOPE_XLA_CPU_CALLS"):
        import hloscope_xla_cpu

        watch = hloscope_xla_cpu.install()
        import hloscope_explain

        hloscope_explain.install()
    directory = os.environ.get("HLOSCOPE_PROFILE_PATH")
    if not directory:
        return
    import hloscope_torch

    hloscope_torch.install()
    session = Session(directory)
    if watch and session.in_parts:
        watch.cut = session.cut

    def backends(module):
        os.environ["HLOSCOPE_PROFILE_BY"] = (
            "jax"  # the plugin's profiler is asked by JAX's, not by our tracer
        )
        watch_backends(module, session.start)

    sys.meta_path.insert(
        0,
        Finder(
            {
                "jax._src.xla_bridge": backends,
                "jax._src.profiler": lambda module: watch_steps(module, session),
            }
        ),
    )


guarded(install)()
chain()
