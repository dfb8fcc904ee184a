# SPDX-License-Identifier: Apache-2.0
"""Tests of tools/bench.sh with a list of stubs: how it starts programs and handles their exit
codes."""

import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).parents[2]
HAS_GPU = os.path.exists("/dev/nvidia0")


class bench_case(unittest.TestCase):
    def setUp(self):
        self.build = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.build)
        self.list = ""

    def benchmark(self, question, competitor, *command):
        self.list += "\t".join([question, competitor, *command]) + "\n"

    def bench(self, *arguments):
        (self.build / "benchmarks.list").write_text(self.list)
        done = subprocess.run([ROOT / "tools" / "bench.sh", self.build, *arguments], text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=300)
        return done.returncode, done.stdout

    def test_a_program_is_started_behind_its_launcher(self):
        self.benchmark("flood", "starling", "echo", "launch", "-n", "2", "--", "a program")
        code, output = self.bench()
        self.assertEqual(code, 0, output)
        self.assertIn("launch -n 2 -- a program --json", output)

    def test_smoke_is_the_same_command_at_a_small_scale(self):
        self.benchmark("flood", "starling", "echo", "launch", "a program")
        code, output = self.bench("--smoke")
        self.assertEqual(code, 0, output)
        self.assertIn("launch a program --scale 0.002 --repetitions 1 --warmups 0 --json", output)

    def test_a_failure_fails_the_run_after_all_have_run(self):
        self.benchmark("a", "fails", "sh", "-c", "exit 3")
        self.benchmark("b", "passes", "echo", "still run")
        code, output = self.bench()
        self.assertEqual(code, 1, output)
        self.assertIn("a_fails ended with code 3", output)
        self.assertIn("still run", output)

    def test_a_program_that_is_not_built_fails_the_run(self):
        self.benchmark("a", "starling", str(self.build / "nothing"))
        self.assertEqual(self.bench()[0], 1)

    def test_an_unknown_question_fails_the_run(self):
        self.benchmark("a", "starling", "true")
        self.assertEqual(self.bench("b")[0], 1)

    def test_programs_that_need_a_gpu_are_left_out_only_without_one(self):
        self.benchmark("a", "plain_cuda", "sh", "-c", "exit 77")
        self.assertEqual(self.bench()[0], 1 if HAS_GPU else 77)
        self.benchmark("a", "starling", "true")
        self.assertEqual(self.bench()[0], 1 if HAS_GPU else 0)


if __name__ == "__main__":
    unittest.main()
