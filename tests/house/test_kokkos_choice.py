# SPDX-License-Identifier: Apache-2.0
"""Tests of CMake's choice of the Kokkos backend, with different packages of Kokkos and without one.

The package is a stub.
"""

import unittest

import configuration


class kokkos_choice(configuration.configuration_test):
    def configure_with(self, version, devices, choice):
        if not version:
            return self.configure(f"-DSTARLING_KOKKOS={choice}", "-DCMAKE_DISABLE_FIND_PACKAGE_Kokkos=ON")
        stub = self.new_folder()
        enabled = "".join(f"set(Kokkos_ENABLE_{device} ON)\n" for device in devices)
        (stub / "KokkosConfig.cmake").write_text(
            f"set(Kokkos_DEVICES {';'.join(devices)})\n{enabled}"
            "add_library(Kokkos::kokkos INTERFACE IMPORTED)\n")
        (stub / "KokkosConfigVersion.cmake").write_text(f"set(PACKAGE_VERSION {version})\n")
        return self.configure(f"-DSTARLING_KOKKOS={choice}", f"-DKokkos_DIR={stub}")

    def is_left_out(self, version, devices, reason):
        code, output = self.configure_with(version, devices, "AUTO")
        self.assertEqual(code, 0, output)
        self.assertIn("CMake Warning", output)
        self.assertIn(reason, output)
        self.assertIn("Kokkos: no", output)
        code, output = self.configure_with(version, devices, "ON")
        self.assertNotEqual(code, 0)
        self.assertIn(reason, output)

    def test_a_kokkos_with_serial_is_used(self):
        code, output = self.configure_with("4.6.0", ["SERIAL", "OPENMP"], "AUTO")
        self.assertEqual(code, 0, output)
        self.assertIn("Kokkos: 4.6.0", output)

    def test_a_missing_kokkos_is_an_error_only_on_demand(self):
        code, output = self.configure_with(None, [], "AUTO")
        self.assertEqual(code, 0, output)
        self.assertNotIn("CMake Warning", output)
        code, output = self.configure_with(None, [], "ON")
        self.assertNotEqual(code, 0)
        self.assertIn("CMAKE_PREFIX_PATH", output)

    def test_an_old_kokkos_is_left_out(self):
        self.is_left_out("3.2.0", ["SERIAL"], "it is version 3.2.0")

    def test_a_kokkos_without_serial_is_left_out(self):
        self.is_left_out("4.6.0", ["OPENMP"], "Kokkos_ENABLE_SERIAL")

    def test_a_kokkos_with_cuda_needs_the_cuda_backend(self):
        self.is_left_out("4.6.0", ["SERIAL", "CUDA"], "no CUDA backend")

    def test_a_kokkos_with_another_device_is_left_out(self):
        for device in ("HIP", "SYCL", "OPENMPTARGET", "OPENACC"):
            with self.subTest(device=device):
                self.is_left_out("4.6.0", ["SERIAL", device], f"it computes on {device}")

    def test_off_searches_for_no_kokkos(self):
        code, output = self.configure_with("4.6.0", ["SERIAL"], "OFF")
        self.assertEqual(code, 0, output)
        self.assertIn("Kokkos: no", output)


if __name__ == "__main__":
    unittest.main()
