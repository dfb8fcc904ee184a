# SPDX-License-Identifier: Apache-2.0
"""Tests of what CMake chooses. CMAKE, SOURCE and CXX in the environment name what to configure with."""

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
    """Each test starts from a copy of one configured build folder with all backends off. CMake requires
    the copy at the path of the original, so there is one at a time."""

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
        """Returns the exit status and what was printed, as words with one blank between them."""
        shutil.rmtree(cls.folder / "build", ignore_errors=True)
        return cls.run_cmake(f"-DCMAKE_CXX_COMPILER={os.environ['CXX']}", *BARE, *options)

    def configure(self, *options, **environment):
        """The same in a copy."""
        shutil.rmtree(self.folder / "build", ignore_errors=True)
        shutil.copytree(self.folder / "begin", self.folder / "build", symlinks=True)
        return self.run_cmake(*options, **environment)

    @classmethod
    def run_cmake(cls, *options, **environment):
        """The same once more in the folder as it is."""
        done = subprocess.run([os.environ["CMAKE"], "-S", os.environ["SOURCE"], "-B", cls.folder / "build",
                               "-G", "Ninja", *options], text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=600, env={**os.environ, **environment})
        return done.returncode, " ".join(done.stdout.split())  # messages are wrapped

    def new_folder(self):
        folder = pathlib.Path(tempfile.mkdtemp(dir=self.folder))
        self.addCleanup(shutil.rmtree, folder)
        return folder
