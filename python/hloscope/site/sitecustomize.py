"""What `hloscope profile -- COMMAND` and `hloscope trace -- COMMAND` put first on PYTHONPATH, for
programs that nobody changed.

profile: an unmodified JAX program under JAX's own profiler. A session starts when JAX has made its
backends, and ends at the end of the program, after HLOSCOPE_PROFILE_MS milliseconds, or after
HLOSCOPE_PROFILE_STEPS steps (jax.profiler.StepTraceAnnotation). The XSpace goes to
HLOSCOPE_PROFILE_PATH/PID.xplane.pb. trace: hloscope_xla_cpu.py.
"""

import os
import sys

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

    def start(self, backends):
        if self.session or self.done:
            return
        import atexit
        import threading

        _profiler = jax_profiler()
        options = _profiler.ProfileOptions()
        options.python_tracer_level = 0 if os.environ.get("HLOSCOPE_PROFILE_TRACED_ONLY") else 1
        options.host_tracer_level = 2
        with quiet_session():
            self.session = _profiler.ProfilerSession(options)
        self.pid = os.getpid()
        atexit.register(self.stop)  # runs before what was registered earlier: JAX's own end
        at_death(self.stop)
        if self.milliseconds:
            timer = threading.Timer(self.milliseconds / 1000, self.stop)
            timer.daemon = True
            timer.start()

    def stop(self):
        session, self.session, self.done = self.session, None, True
        if session is not None and self.pid == os.getpid():  # a forked child's is its parent's
            with quiet_session():
                space = session.stop()
            write_whole(os.path.join(self.directory, f"{os.getpid()}.xplane.pb"), space)

    def step_ended(self):
        self.steps += 1
        if self.most_steps and self.steps >= self.most_steps:
            self.stop()


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


def install():
    if os.environ.get("HLOSCOPE_XLA_CPU_CALLS"):
        import hloscope_xla_cpu

        hloscope_xla_cpu.install()
        import hloscope_explain

        hloscope_explain.install()
    directory = os.environ.get("HLOSCOPE_PROFILE_PATH")
    if not directory:
        return
    import hloscope_torch

    hloscope_torch.install()
    session = Session(directory)

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
