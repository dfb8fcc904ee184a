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
        """Configures an empty build folder; returns what run_cmake does."""
        shutil.rmtree(cls.folder / "build", ignore_errors=True)
        return cls.run_cmake(f"-DCMAKE_CXX_COMPILER={os.environ['CXX']}", *BARE, *options)

    def make_copy(self):
        shutil.rmtree(self.folder / "build", ignore_errors=True)
        shutil.copytree(self.folder / "begin", self.folder / "build", symlinks=True)

    def configure(self, *options):
        """Configures a copy of the build folder; returns what run_cmake does."""
        self.make_copy()
        return self.run_cmake(*options)

    @classmethod
    def run_cmake(cls, *options, **environment):
        """Runs CMake in the build folder as it is. Returns its exit status and its output, as words with one
        blank between them."""
        done = subprocess.run([os.environ["CMAKE"], "-S", os.environ["SOURCE"], "-B", cls.folder / "build",
                               "-G", "Ninja", *options], text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=600, env={**os.environ, **environment})
        return done.returncode, " ".join(done.stdout.split())  # messages are wrapped

    def new_folder(self):
        folder = pathlib.Path(tempfile.mkdtemp(dir=self.folder))
        self.addCleanup(shutil.rmtree, folder)
        return folder
