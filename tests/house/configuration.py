# SPDX-License-Identifier: Apache-2.0
"""Tests of what CMake chooses. CMAKE, SOURCE and CXX in the environment name what to configure with."""

import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

# Of vendors and parts, nothing.
BARE = [f"-DSTARLING_{name}=OFF" for name in
        ("CUDA", "SYCL", "KOKKOS", "BUILD_TESTS", "BUILD_APPS", "BUILD_EXAMPLES", "BUILD_BENCHMARKS")]


class configuration_test(unittest.TestCase):
    """Each test begins with a copy of one configuration, which has looked for all that is no vendor's.
    A copy must lie where that one was made, so there is one at a time."""

    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp())
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        code, output = cls.configure_again(f"-DCMAKE_CXX_COMPILER={os.environ['CXX']}", *BARE)
        if code != 0:
            raise RuntimeError(output)
        (cls.folder / "build").rename(cls.folder / "begin")

    def configure(self, *options, **environment):
        """Returns the exit status and what was printed, as words with one blank between them."""
        shutil.rmtree(self.folder / "build", ignore_errors=True)
        shutil.copytree(self.folder / "begin", self.folder / "build", symlinks=True)
        return self.configure_again(*options, **environment)

    @classmethod
    def configure_again(cls, *options, **environment):
        done = subprocess.run([os.environ["CMAKE"], "-S", os.environ["SOURCE"], "-B", cls.folder / "build",
                               "-G", "Ninja", *options], text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=600, env={**os.environ, **environment})
        return done.returncode, " ".join(done.stdout.split())  # messages are wrapped

    def new_folder(self):
        folder = pathlib.Path(tempfile.mkdtemp(dir=self.folder))
        self.addCleanup(shutil.rmtree, folder)
        return folder
