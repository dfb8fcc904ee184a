# SPDX-License-Identifier: Apache-2.0
"""Tests of CMake's choice of the SYCL backend when the SYCL runtime is old or broken.

The runtime is a stub.
"""

import unittest

import configuration


class sycl_choice(configuration.configuration_test):
    def runtime(self, version):
        folder = self.new_folder()
        headers = folder / "include" / "sycl"
        headers.mkdir(parents=True)
        (headers / "sycl.hpp").write_text("#error this is no SYCL\n")
        parts = zip(("MAJOR", "MINOR", "PATCH"), version.split("."))
        (headers / "version.hpp").write_text(
            "".join(f"#define __LIBSYCL_{name}_VERSION {number}\n" for name, number in parts))
        (folder / "lib").mkdir()
        (folder / "lib" / "libsycl.so").touch()
        return folder

    def configure_with(self, version, choice, configure=None):
        root = self.runtime(version)
        return (configure or self.configure)(f"-DSTARLING_SYCL={choice}",
                                             f"-DDPCPP_LIBRARY={root / 'lib' / 'libsycl.so'}",
                                             f"-DDPCPP_INCLUDE_DIR={root / 'include'}")

    def is_left_out(self, version, reason, configure=None):
        code, output = self.configure_with(version, "AUTO", configure)
        self.assertEqual(code, 0, output)
        self.assertIn("CMake Warning", output)
        self.assertIn(reason, output)
        self.assertIn("SYCL: no", output)

    def test_an_old_runtime_leaves_the_backend_out(self):
        self.is_left_out("7.1.0", "version 7.1.0", self.configure_from_nothing)

    def test_headers_that_do_not_compile_leave_the_backend_out(self):
        self.is_left_out("9.0.0", "this is no SYCL")

    def test_an_old_runtime_is_an_error_where_sycl_is_demanded(self):
        code, output = self.configure_with("7.1.0", "ON")
        self.assertNotEqual(code, 0)
        self.assertIn("tools/deps.sh sycl", output)

    def test_the_runtime_that_is_named_is_taken_and_no_other(self):
        self.make_copy()
        for version in ("7.1.0", "7.2.0"):  # the second run has the cached result of the first
            root = self.runtime(version)
            code, output = self.run_cmake("-DSTARLING_SYCL=AUTO", SYCL_ROOT=str(root))
            self.assertEqual(code, 0, output)
            self.assertIn(f"version {version}", output)
            self.assertIn(str(root), output)
        nothing = self.new_folder()
        code, output = self.run_cmake(SYCL_ROOT=str(nothing))
        self.assertEqual(code, 0, output)
        self.assertIn(f"none was found under SYCL_ROOT, {nothing}", output)

    def test_off_needs_no_runtime(self):
        code, output = self.configure_with("7.1.0", "OFF")
        self.assertEqual(code, 0, output)
        self.assertNotIn("No SYCL backend", output)
        self.assertIn("SYCL: no", output)


if __name__ == "__main__":
    unittest.main()
