# SPDX-License-Identifier: Apache-2.0
"""Tests of tools/soak.py and tools/chaos.py with scripts as test programs: the failures that they
count, name and repeat, and the conditions of their runs. The environment variable CTEST holds the path of
ctest."""

import os
import pathlib
import shlex
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tools"))

import chaos  # noqa: E402
import soak  # noqa: E402

# Prints the output of a GoogleTest program; {body} decides how the second test ends.
PROGRAM = """#!{python}
import os, pathlib, signal, sys, time
def siblings():
  found = 0
  for entry in pathlib.Path("/proc").glob("[0-9]*/stat"):
    try:
      found += entry.read_text().rpartition(")")[2].split()[1] == str(os.getppid())
    except OSError:
      pass
  return found - 1
print("[ RUN      ] suite.first/1\\n[       OK ] suite.first/1 (0 ms)")
print("[ RUN      ] suite.second/1", flush=True)
{body}
print("[       OK ] suite.second/1 (0 ms)")
"""
FAIL = """
  print("Expected equality of these values")
  print("[  FAILED  ] suite.second/1, where GetParam() = 4 (3 ms)")
  print("[  FAILED  ] 1 test, listed below:\\n[  FAILED  ] suite.second/1, where GetParam() = 4")
  sys.exit(1)"""


class soak_case(unittest.TestCase):
    def setUp(self):
        kept = tempfile.TemporaryDirectory()
        self.addCleanup(kept.cleanup)
        self.folder = pathlib.Path(kept.name)

    def program(self, body="pass"):
        file = self.folder / "test_fake"
        file.write_text(PROGRAM.format(python=sys.executable, body=body))
        file.chmod(0o755)
        return str(file)

    def run_command(self, *command):
        path = os.path.dirname(os.environ.get("CTEST", "")) + os.pathsep + os.environ["PATH"]
        done = subprocess.run(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              timeout=120, env={**os.environ, "PATH": path})
        return done.returncode, done.stdout

    def soak(self, *arguments):
        return self.run_command(str(ROOT / "tools" / "soak.py"), *arguments)

    def test_a_run_without_failures_succeeds_and_prints_its_progress(self):
        code, text = self.soak("--rounds", "3", "--conditions", "plain", self.program())
        self.assertEqual(code, 0, text)
        self.assertRegex(text, r"soak: round 2, plain: test_fake passed in \d+ s; so far 0 of 2 runs")

    def test_a_test_that_fails_once_is_named_and_counted_and_its_command_repeats_it(self):
        flaky = self.program('if "--gtest_random_seed=3" in sys.argv:' + FAIL)
        code, text = self.soak("--rounds", "5", "--conditions", "plain", flaky + "=suite.*")
        self.assertEqual(code, 1, text)
        self.assertIn("1 of 5  suite.second/1", text)
        self.assertNotIn("suite.first", text)
        self.assertIn("Expected equality of these values", text)
        command = text.splitlines()[-1]
        self.assertIn("--first 3 --rounds 1 --conditions plain", command)
        code, text = self.run_command(*shlex.split(command))
        self.assertEqual(code, 1, text)
        self.assertIn("1 of 1  suite.second/1", text)

    def test_a_crash_and_a_hang_are_attributed_to_the_running_test(self):
        code, text = self.soak("--rounds", "1", self.program("os.kill(os.getpid(), signal.SIGSEGV)"))
        self.assertEqual(code, 1, text)
        self.assertIn("1 of 1  suite.second/1", text)
        self.assertIn("ended by SIGSEGV", text)
        code, text = self.soak("--rounds", "1", "--timeout", "10", self.program("time.sleep(600)"))
        self.assertEqual(code, 1, text)
        self.assertIn("1 of 1  suite.second/1", text)
        self.assertIn("no end after 10 s", text)

    def test_conditions_correspond_to_their_names(self):
        look = (f'(pathlib.Path({str(self.folder)!r}) / "seen").open("a").write(f"{{siblings()}} '
                '{len(os.sched_getaffinity(0))} {os.environ.get(\'STARLING_CHAOS\')}\\n")')
        code, text = self.soak("--rounds", "4", "--first", "5", "--spinners", "3", "--conditions",
                               "plain,busy,busy+one-core,busy+chaos", self.program(look))
        self.assertEqual(code, 0, text)
        cores = len(os.sched_getaffinity(0))
        self.assertEqual((self.folder / "seen").read_text().splitlines(),
                         [f"0 {cores} None", f"3 {cores} None", "3 1 None", f"3 {cores} 8"])

    def test_a_time_limit_leaves_rounds_out_and_no_run_at_all_is_a_failure(self):
        self.assertEqual(self.soak("--seconds", "0", self.program())[0], 1)

    def test_an_interrupt_ends_running_programs_and_prints_the_results(self):
        body = (f'(pathlib.Path({str(self.folder)!r}) / "pid").write_text(str(os.getpid()))\n'
                'time.sleep(600)')
        running = subprocess.Popen([str(ROOT / "tools" / "soak.py"), self.program(body)], text=True,
                                   stdout=subprocess.PIPE)
        pid = self.folder / "pid"
        while not (pid.exists() and pid.read_text()):
            self.assertIsNone(running.poll())
        running.terminate()
        text, _ = running.communicate(timeout=60)
        self.assertEqual(running.returncode, 130, text)
        self.assertRegex(text, r"test_fake +0 +0")
        with self.assertRaises(ProcessLookupError):
            os.kill(int(pid.read_text()), 0)

    def test_an_unknown_condition_or_target_is_refused_by_name(self):
        code, text = self.soak("--conditions", "idle", self.program())
        self.assertEqual(code, 2)
        self.assertIn("there is no condition 'idle'", text)
        code, text = self.soak(str(self.folder / "nothing"))
        self.assertEqual(code, 2)
        self.assertIn("nothing is neither a program nor a build folder", text)

    def test_ctest_runs_a_build_folder(self):
        (self.folder / "CTestTestfile.cmake").write_text(
            'add_test(a.good "true")\nadd_test(a.bad "sh" "-c" "echo said so; exit 1")\n'
            'set_tests_properties(a.bad PROPERTIES LABELS "of;these")\n')
        code, text = self.soak("--rounds", "2", "--conditions", "plain", str(self.folder))
        self.assertEqual(code, 1, text)
        self.assertIn("2 of 2  a.bad", text)
        self.assertIn("said so", text)
        self.assertNotIn("a.good", text)
        code, text = self.soak("--rounds", "1", str(self.folder) + "=good")
        self.assertEqual(code, 0, text)

    def test_the_failures_of_ctest_are_named_with_and_without_labels(self):
        for line in ("\t  2 - a.bad (Failed)", "\t  2 - a.bad (Timeout)      of these"):
            text = "2/2 Test #2: a.bad ....***Failed 0.1 sec\nsaid so\n\n" \
                   f"The following tests FAILED:\n{line}\nErrors while running CTest\n"
            found = soak.ctest("build", "").failures(text)
            self.assertEqual(list(found), ["a.bad"])
            self.assertIn("said so", found["a.bad"])

    def test_chaos_prints_failures_that_are_far_from_the_end(self):
        far = ["cause.cpp:7: Failure", "Which is: 5"] + ["beside"] * 20
        output = "\n".join(far + ["later"] * 1000)
        excerpt = chaos.excerpt(output, end=600)
        self.assertIn("cause.cpp:7: Failure\nWhich is: 5\n" + "beside\n" * 10 + "…", excerpt)
        self.assertNotIn("beside\n" * 11, excerpt)
        self.assertTrue(excerpt.endswith(output[-600:]))
        self.assertEqual(chaos.excerpt("cause.cpp:7: Failure\nnear the end"),
                         "cause.cpp:7: Failure\nnear the end", "not twice")

    def test_chaos_forces_migrations_and_its_command_repeats_a_failure(self):
        body = ('print(os.environ["STARLING_CHAOS"], os.environ.get("STARLING_CHAOS_MIGRATE"))\n'
                'if os.environ["STARLING_CHAOS"] == "5": sys.exit(1)')
        program = self.program(body)
        for way, percent in (([], "None"), (["--migrate", "40"], "40")):
            code, text = self.run_command(sys.executable, str(ROOT / "tools" / "chaos.py"),
                                          "--seeds", "2", "--first", "4", *way, program)
            self.assertEqual(code, 1, text)
            self.assertIn(f"5 {percent}\n", text)
            self.assertRegex(text, r"test_fake +1 +1 ")
            command = text[text.index("STARLING_CHAOS="):].splitlines()[0]
            code, text = self.run_command("sh", "-c", command)
            self.assertEqual(code, 1, text)
            self.assertIn(f"5 {percent}\n", text)


if __name__ == "__main__":
    unittest.main()
