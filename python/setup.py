"""Puts the built-in device's shared libraries and the program into the wheel, with the data that it
reads; builds them first where they are missing."""

import pathlib
import shutil
import subprocess

from setuptools import Distribution, setup
from setuptools.command.build_py import build_py

HERE = pathlib.Path(__file__).resolve().parent
LIBRARIES = ("libhloscope_cpu_pjrt.so", "libhloscope_pjrt_tracer.so", "libhloscope.so", "hloscope")
DATA = ("knowledge", "targets", "models")  # where the program looks for them: ../NAME beside it


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
        version = (HERE.parent / "VERSION").read_text().strip()
        (target.parent / "_version.py").write_text(f'version = "{version}"\n')
        # Python runs the lines of .pth files when it starts: HLOSCOPE_OUTPUT_PATH by itself
        # records.
        shutil.copy2(
            HERE / "hloscope-record.pth", pathlib.Path(self.build_lib) / "hloscope-record.pth"
        )
        for name in DATA:
            shutil.copytree(HERE.parent / name, target.parent / name, dirs_exist_ok=True)


class PlatformDistribution(Distribution):
    """The wheel holds machine code, so it is for one platform."""

    def has_ext_modules(self):
        return True


setup(
    version=(HERE.parent / "VERSION").read_text().strip(),
    packages=["hloscope", "jax_plugins.hloscope"],
    package_data={
        "hloscope": ["lib/*", "site/*.py", "*.pyi", "py.typed", *(f"{name}/*/*" for name in DATA)]
    },
    cmdclass={"build_py": BuildWithLibraries},
    distclass=PlatformDistribution,
)
