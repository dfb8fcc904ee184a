# SPDX-License-Identifier: Apache-2.0
"""Tests of CMake's choice of backend when the CUDA compiler is old or broken.

The compiler is a stub.
"""

import os
import subprocess
import unittest

import configuration


class cuda_choice(configuration.configuration_test):
    def stub(self, name, commands):
        program = self.new_folder() / name
        program.write_text(f"#!/bin/sh\n{commands}\n")
        program.chmod(0o755)
        return program

    def configure_with(self, nvcc, choice, configure=None):
        """`nvcc`: the shell command that stands in for nvcc."""
        return (configure or self.configure)(f"-DSTARLING_NVCC={self.stub('nvcc', nvcc)}",
                                             f"-DSTARLING_CUDA={choice}")

    def falls_back(self, nvcc, reason, configure=None):
        code, output = self.configure_with(nvcc, "AUTO", configure)
        self.assertEqual(code, 0, output)
        self.assertIn("CMake Warning", output)
        self.assertIn(reason, output)
        self.assertIn("CUDA: no", output)

    def test_an_old_compiler_leaves_the_host_backend(self):
        self.falls_back("echo 'Cuda compilation tools, release 11.8, V11.8.89'", "11.8")

    def test_a_broken_compiler_leaves_the_host_backend(self):
        self.falls_back("exit 127", "does not tell its version", self.configure_from_nothing)

    def test_a_compiler_without_its_host_compiler_leaves_the_host_backend(self):
        self.falls_back('test "$1" = --version && echo "release 13.0, V13.0.1"', "does not compile")

    def test_an_old_compiler_is_an_error_where_cuda_is_demanded(self):
        code, output = self.configure_with("echo 'release 12.3, V12.3.107'", "ON")
        self.assertNotEqual(code, 0)
        self.assertIn("it is version 12.3, 12.4 is needed", output)

    def test_the_oldest_compiler_that_is_accepted_is_tried(self):
        self.falls_back('test "$1" = --version && echo "release 12.4, V12.4.131"', "does not compile")

    def architectures(self, gpus):
        """`gpus`: the shell command that stands in for nvidia-smi."""
        script = self.new_folder() / "choose.cmake"
        script.write_text(f"""include({os.environ['SOURCE']}/cmake/cuda_architectures.cmake)
                              starling_choose_cuda_architectures()
                              message("${{CMAKE_CUDA_ARCHITECTURES}}: ${{STARLING_CUDA_CHOICE}}")""")
        stub = self.stub("nvidia-smi", gpus)
        done = subprocess.run([os.environ["CMAKE"], f"-DSTARLING_NVIDIA_SMI={stub}", "-P", script],
                              text=True, stderr=subprocess.PIPE, timeout=100, check=True)
        return done.stderr

    def test_without_a_gpu_several_architectures_and_ptx_are_chosen(self):
        self.assertIn("80-real;90-real;90-virtual: no GPU here", self.architectures("exit 1"))

    def test_the_architectures_of_this_machine_are_chosen_each_once(self):
        self.assertIn("90;80: those of this machine", self.architectures("echo 9.0; echo 8.0; echo 9.0"))


if __name__ == "__main__":
    unittest.main()
