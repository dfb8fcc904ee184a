# SPDX-License-Identifier: Apache-2.0
"""Base class for tests of CMake's choices. The environment variables CMAKE, SOURCE and CXX hold the
paths of CMake, the source folder and the compiler."""

import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

# All backends and optional parts off.
BARE = [f"-DSTARLING_{name}=OFF" for name in
        ("CUDA", "SYCL", "KOKKOS", "BUILD_TESTS", "BUILD_APPS", "BUILD_EXAMPLES", "BUILD_BENCHMARKS")]


class configuration_test(unittest.TestCase):
    """A test that starts from a copy of one configured build folder with all backends off. CMake
    requires the copy at the path of the original, so only one copy exists at a time."""

    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp())
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        code, output = cls.configure_from_nothing()
        if code != 0:
            raise RuntimeError(output)
        (cls.folder / "build").rename(cls.folder / "begin")

    @classmethod
    def configure_from_nothing(cls, *options):
        """Configures an empty build folder; returns the result of run_cmake."""
        shutil.rmtree(cls.folder / "build", ignore_errors=True)
        return cls.run_cmake(f"-DCMAKE_CXX_COMPILER={os.environ['CXX']}", *BARE, *options)

    def make_copy(self):
        shutil.rmtree(self.folder / "build", ignore_errors=True)
        shutil.copytree(self.folder / "begin", self.folder / "build", symlinks=True)

    def configure(self, *options):
        """Configures a copy of the build folder; returns the result of run_cmake."""
        self.make_copy()
        return self.run_cmake(*options)

    @classmethod
    def run_cmake(cls, *options, **environment):
        """Runs CMake in the existing build folder. Returns its exit status and its output, in which
        words are separated by single blanks."""
        done = subprocess.run([os.environ["CMAKE"], "-S", os.environ["SOURCE"], "-B", cls.folder / "build",
                               "-G", "Ninja", *options], text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=600, env={**os.environ, **environment})
        return done.returncode, " ".join(done.stdout.split())  # CMake wraps its messages

    def new_folder(self):
        folder = pathlib.Path(tempfile.mkdtemp(dir=self.folder))
        self.addCleanup(shutil.rmtree, folder)
        return folder
