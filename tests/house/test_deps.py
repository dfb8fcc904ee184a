# SPDX-License-Identifier: Apache-2.0
"""Tests of tools/deps.sh with missing packages: with and without the right to install, and with
.deps/.

Every program that the script may call is a stub in a separate PATH, so the packages, rights and
network of the machine do not matter.
"""

import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).parents[2]
TOOLS = ("c++", "make", "cmake", "ninja", "python3")


class deps_case(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
        self.bin = self.folder / "bin"
        self.bin.mkdir()
        (self.folder / "tools").mkdir()
        shutil.copy(ROOT / "tools" / "deps.sh", self.folder / "tools")
        for name in ("bash", "env", "dirname", "grep", "mktemp", "rm", "sed", "tr"):
            (self.bin / name).symlink_to(shutil.which(name))
        for name in TOOLS:
            self.stub(name)
        self.stub("dpkg-query", "exit 1")  # no package is installed
        self.cmake_misses("hwloc", "ucx")
        self.stub("apt-get", f'echo "$@" >>{self.folder}/apt-get')
        self.user(1000)

    def stub(self, name, body="exit 0"):
        file = self.bin / name
        file.write_text(f"#!{shutil.which('bash')}\n{body}\n")
        file.chmod(0o755)

    def cmake_misses(self, *needs):
        self.stub("cmake", "\n".join(["exec 2>&1", *(f"echo 'missing: {n}'" for n in needs)]))

    def user(self, number):
        self.stub("id", f"echo {number}")

    def offline(self):
        (self.folder / ".deps").mkdir()
        (self.folder / ".deps" / "complete").touch()

    def deps(self, *sets, **environment):
        done = subprocess.run([self.folder / "tools" / "deps.sh", *sets], text=True,
                              env={"PATH": str(self.bin), **environment}, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=300)
        return done.returncode, done.stdout

    def installed(self):
        log = self.folder / "apt-get"
        return log.read_text() if log.exists() else ""

    def test_root_installs_what_is_missing(self):
        self.user(0)
        self.assertEqual(self.deps("run")[0], 0)
        self.assertIn("libhwloc-dev", self.installed())

    def test_an_ordinary_user_gets_a_command_for_the_administrator(self):
        code, output = self.deps("run")
        self.assertEqual(code, 1)
        self.assertIn("apt-get install", output)

    def test_libraries_that_cmake_finds_need_no_package(self):
        self.cmake_misses()
        code, output = self.deps("run")
        self.assertEqual(code, 0, output)
        self.assertIn("nothing is missing", output)
        self.assertEqual(self.installed(), "")

    def test_an_ordinary_user_continues_without_optional_libraries(self):
        self.cmake_misses("ucx", "pmix")
        code, output = self.deps("run")
        self.assertEqual(code, 0, output)
        self.assertIn("going on without pmix ucx", output)

    def test_fedora_gets_its_own_names(self):
        (self.bin / "apt-get").unlink()
        self.stub("dnf", f'echo "$@" >>{self.folder}/dnf')
        self.user(0)
        self.deps("run")
        log = (self.folder / "dnf").read_text()
        self.assertIn("hwloc-devel", log)
        self.assertNotIn("libhwloc-dev", log)

    def test_an_unknown_system_gets_the_list_of_libraries(self):
        (self.bin / "apt-get").unlink()
        code, output = self.deps("run")
        self.assertEqual(code, 1)
        self.assertIn("without them: hwloc", output)

    def test_a_compiler_that_is_missing_makes_all_libraries_unknown(self):
        self.stub("cmake", "exit 1")
        self.user(0)
        self.deps("run")
        for package in ("libhwloc-dev", "libfmt-dev", "libcli11-dev", "nlohmann-json3-dev",
                        "libxxhash-dev"):
            self.assertIn(package, self.installed())

    def test_an_ordinary_user_continues_with_unpacked_libraries(self):
        self.offline()
        self.cmake_misses()
        for sets in (["run"], ["run", "test"]):
            code, output = self.deps(*sets)
            self.assertEqual(code, 0, output)
        self.assertEqual(self.installed(), "")

    def test_unpacked_libraries_do_not_replace_compilers_and_builders(self):
        self.offline()
        self.cmake_misses()
        for name in TOOLS[:-1]:
            (self.bin / name).unlink()
            code, output = self.deps("run")
            self.assertEqual(code, 1)
            self.assertIn(name, output)
            self.stub(name)

    def test_unpacked_libraries_stand_in_when_installing_fails(self):
        self.offline()
        self.cmake_misses("ucx")
        self.user(0)
        self.stub("apt-get", "exit 100")
        self.assertEqual(self.deps("run", "test")[0], 0)

    def test_sudo_asks_no_password_where_libraries_are_unpacked(self):
        self.offline()
        self.cmake_misses("ucx")
        self.stub("sudo", f'printf "%s " "$@" >{self.folder}/sudo; exit 1')
        self.assertEqual(self.deps("run")[0], 0)
        self.assertTrue((self.folder / "sudo").read_text().startswith("-n "))

    def test_a_system_without_apt_continues_with_unpacked_libraries(self):
        self.offline()
        self.cmake_misses()
        (self.bin / "apt-get").unlink()
        self.assertEqual(self.deps("run", "test")[0], 0)

    def test_missing_python_packages_are_an_error_only_where_packages_can_be_installed(self):
        self.stub("python3", "exit 1")
        self.user(0)
        self.assertEqual(self.deps("run")[0], 1)
        self.offline()
        code, output = self.deps("run")
        self.assertEqual(code, 0)
        self.assertIn("left out", output)

    def test_a_missing_sycl_runtime_is_an_error_only_on_request(self):
        self.user(0)
        code, output = self.deps("run", "test")  # the stub of python3 creates no environment
        self.assertEqual(code, 0, output)
        self.assertIn("left out", output)
        self.assertEqual(self.deps("sycl")[0], 1)

    def test_an_installed_sycl_runtime_is_used(self):
        library = self.folder / ".venv" / "lib"
        library.mkdir(parents=True)
        for name in ("libsycl.so", "libintelocl.so"):
            (library / name).touch()
        code, output = self.deps("sycl")
        self.assertEqual(code, 0, output)
        self.assertIn("SYCL runtime found", output)

    def test_a_sycl_runtime_that_is_named_is_used(self):
        root = self.folder / "sycl"
        (root / "lib").mkdir(parents=True)
        code, output = self.deps("sycl", SYCL_ROOT=str(root))
        self.assertEqual(code, 1)
        self.assertIn("SYCL_ROOT", output)
        (root / "lib" / "libsycl.so").touch()
        code, output = self.deps("sycl", SYCL_ROOT=str(root))
        self.assertEqual(code, 0, output)
        self.assertIn(str(root), output)
        self.assertNotIn("installing", output)

    def test_the_tests_need_no_formatter(self):
        code, output = self.deps("--list", "run", "test")
        self.assertEqual(code, 0)
        self.assertNotIn("clang", output)
        self.assertIn("clang-format-14", self.deps("--list", "dev")[1])


if __name__ == "__main__":
    unittest.main()
