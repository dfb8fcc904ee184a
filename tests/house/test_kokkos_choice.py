# SPDX-License-Identifier: Apache-2.0
"""What a configuration does with the Kokkos that it meets, or does not meet.

The package is a stub; CMAKE, SOURCE and CXX in the environment name what to configure with.
"""

import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

SILENT = [f"-DSTARLING_BUILD_{part}=OFF" for part in ("TESTS", "APPS", "EXAMPLES", "BENCHMARKS")]


class kokkos_choice(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        """All begin with a copy of one configuration, which has looked for what is not Kokkos."""
        cls.folder = pathlib.Path(tempfile.mkdtemp())
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        code, output = cls.run_cmake(f"-DCMAKE_CXX_COMPILER={os.environ['CXX']}", "-DSTARLING_CUDA=OFF",
                                     "-DSTARLING_SYCL=OFF", "-DSTARLING_KOKKOS=OFF", *SILENT)
        if code != 0:
            raise RuntimeError(output)
        (cls.folder / "build").rename(cls.folder / "begin")

    @classmethod
    def run_cmake(cls, *options):
        done = subprocess.run([os.environ["CMAKE"], "-S", os.environ["SOURCE"], "-B", cls.folder / "build",
                               "-G", "Ninja", *options], text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=600)
        return done.returncode, " ".join(done.stdout.split())  # messages are wrapped

    def configure(self, version, devices, choice):
        stub = self.folder / "kokkos"
        for old in (stub, self.folder / "build"):
            shutil.rmtree(old, ignore_errors=True)
        shutil.copytree(self.folder / "begin", self.folder / "build", symlinks=True)
        stub.mkdir()
        command = [f"-DSTARLING_KOKKOS={choice}"]
        if version:
            enabled = "".join(f"set(Kokkos_ENABLE_{device} ON)\n" for device in devices)
            (stub / "KokkosConfig.cmake").write_text(
                f"set(Kokkos_DEVICES {';'.join(devices)})\n{enabled}"
                "add_library(Kokkos::kokkos INTERFACE IMPORTED)\n")
            (stub / "KokkosConfigVersion.cmake").write_text(f"set(PACKAGE_VERSION {version})\n")
            command.append(f"-DKokkos_DIR={stub}")
        else:
            command.append("-DCMAKE_DISABLE_FIND_PACKAGE_Kokkos=ON")
        return self.run_cmake(*command)

    def is_left_out(self, version, devices, reason):
        code, output = self.configure(version, devices, "AUTO")
        self.assertEqual(code, 0, output)
        self.assertIn("CMake Warning", output)
        self.assertIn(reason, output)
        self.assertIn("Kokkos: no", output)
        code, output = self.configure(version, devices, "ON")
        self.assertNotEqual(code, 0)
        self.assertIn(reason, output)

    def test_one_with_serial_is_used(self):
        code, output = self.configure("4.6.0", ["SERIAL", "OPENMP"], "AUTO")
        self.assertEqual(code, 0, output)
        self.assertIn("Kokkos: 4.6.0", output)

    def test_none_is_an_error_only_where_it_is_demanded(self):
        code, output = self.configure(None, [], "AUTO")
        self.assertEqual(code, 0, output)
        self.assertNotIn("CMake Warning", output)
        code, output = self.configure(None, [], "ON")
        self.assertNotEqual(code, 0)
        self.assertIn("CMAKE_PREFIX_PATH", output)

    def test_an_old_one_is_left_out(self):
        self.is_left_out("3.2.0", ["SERIAL"], "it is version 3.2.0")

    def test_one_without_serial_is_left_out(self):
        self.is_left_out("4.6.0", ["OPENMP"], "Kokkos_ENABLE_SERIAL")

    def test_one_with_cuda_needs_the_cuda_backend(self):
        self.is_left_out("4.6.0", ["SERIAL", "CUDA"], "no CUDA backend")

    def test_one_with_another_device_is_left_out(self):
        for device in ("HIP", "SYCL", "OPENMPTARGET", "OPENACC"):
            with self.subTest(device=device):
                self.is_left_out("4.6.0", ["SERIAL", device], f"it computes on {device}")

    def test_off_does_not_look(self):
        code, output = self.configure("4.6.0", ["SERIAL"], "OFF")
        self.assertEqual(code, 0, output)
        self.assertIn("Kokkos: no", output)


if __name__ == "__main__":
    unittest.main()
