"""Puts the built-in device's shared library into the wheel; builds it first where it is missing."""
import pathlib
import shutil
import subprocess

from setuptools import Distribution, setup
from setuptools.command.build_py import build_py

HERE = pathlib.Path(__file__).resolve().parent
LIBRARIES = ("libhloscope_cpu_pjrt.so", "libhloscope_pjrt_tracer.so", "libhloscope.so")


def find_or_build(name):
    path = HERE.parent / "build" / name
    if not path.exists():
        subprocess.run(["make", "-C", str(HERE.parent)], check=True)
    if not path.exists():
        raise FileNotFoundError(f"{path} is missing: run make in {HERE.parent}")
    return path


class BuildWithLibraries(build_py):
    def run(self):
        super().run()
        target = pathlib.Path(self.build_lib) / "hloscope" / "lib"
        target.mkdir(parents=True, exist_ok=True)
        for name in LIBRARIES:
            shutil.copy2(find_or_build(name), target / name)


class PlatformDistribution(Distribution):
    """The wheel holds machine code, so it is for one platform."""

    def has_ext_modules(self):
        return True


setup(
    packages=["hloscope", "jax_plugins.hloscope"],
    package_data={"hloscope": ["lib/*.so"]},
    cmdclass={"build_py": BuildWithLibraries},
    distclass=PlatformDistribution,
)
