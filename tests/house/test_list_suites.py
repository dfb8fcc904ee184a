# SPDX-License-Identifier: Apache-2.0
"""Tests of cmake/list_suites.cmake with a stub that lists cases as GoogleTest does: no case is
lost."""

import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).parents[2]
LISTED = """a_stream.
  is_empty
  DISABLED_never_runs
DISABLED_a_suite.
  never_runs
on/a_future.
  waits/1_worker  # GetParam() = 1; [of] "some # sort"
  waits/2_workers  # GetParam() = 2
  ends/1_worker  # GetParam() = 1
typed/0.  # TypeParam = int
  holds
nightly_with_sycl/a_future.
  waits/sycl
"""


class list_suites_case(unittest.TestCase):
    def declared(self, listed, **options):
        folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, folder)
        program = folder / "program"
        program.write_text(f"#!/bin/sh\ncat <<'END'\n{listed}END\n")
        program.chmod(0o755)
        options = {"PROGRAM": program, "PREFIX": "core", "TIMEOUT": 60, "CASES": 2, "ALONE": "",
                   "OUTPUT": folder / "tests.cmake", **options}
        done = subprocess.run(
            [os.environ.get("CMAKE", "cmake"), *(f"-D{k}={v}" for k, v in options.items()),
             "-P", ROOT / "cmake" / "list_suites.cmake"], text=True, timeout=300,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.code, self.output = done.returncode, done.stdout
        script = folder / "tests.cmake"
        self.script = script.read_text() if script.exists() else ""
        return re.findall(r"add_test\(\[==\[(.*?)\]==\]", self.script)

    def test_each_suite_is_a_test_and_a_large_one_several(self):
        self.assertEqual(self.declared(LISTED), [
            "core.a_stream", "core.on/a_future.1_of_2", "core.on/a_future.2_of_2", "core.typed/0",
            "core.nightly_with_sycl/a_future"])
        self.assertIn("--gtest_filter=on/a_future.*", self.script)
        self.assertIn("TEST_CASE_SECONDS=60;GTEST_TOTAL_SHARDS=2;GTEST_SHARD_INDEX=1", self.script)

    def test_cases_that_need_a_process_of_their_own_get_it(self):
        self.assertEqual(self.declared(LISTED, ALONE="^on/"), [
            "core.a_stream", "core.on/a_future.waits/1_worker", "core.on/a_future.waits/2_workers",
            "core.on/a_future.ends/1_worker", "core.typed/0", "core.nightly_with_sycl/a_future"])

    def test_suites_called_nightly_have_that_label(self):
        self.declared(LISTED)
        labels = re.findall(r"set_tests_properties\(\[==\[(.*?)\]==\].*LABELS \[==\[(.*?)\]==\]",
                            self.script)
        self.assertEqual([name for name, label in labels if label == "core;nightly"],
                         ["core.nightly_with_sycl/a_future"])

    def test_time_grows_with_the_number_of_cases(self):
        self.declared(LISTED, CASES=50)
        self.assertEqual(re.findall(r"TIMEOUT (\d+)", self.script), ["60", "72", "60", "60"])

    def test_a_program_without_tests_is_an_error(self):
        self.declared("")
        self.assertNotEqual(self.code, 0)
        self.assertIn("has no tests", self.output)


if __name__ == "__main__":
    unittest.main()
