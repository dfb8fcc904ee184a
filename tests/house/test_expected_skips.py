# SPDX-License-Identifier: Apache-2.0
"""Tests of tests/support/expected_skips.py: which skipped Python tests count as failures."""

import os
import pathlib
import subprocess
import sys

import pytest

SUPPORT = pathlib.Path(__file__).parents[1] / "support"


def verdict(folder, statement, **environment):
    (folder / "test_it.py").write_text(f"import pytest\ndef test_it(): {statement}\n")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "expected_skips",
         folder], text=True, timeout=300, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        env={**os.environ, "PYTHONPATH": str(SUPPORT), "STARLING_HAS_HDF5": "0", **environment})
    return done.returncode, done.stdout


@pytest.mark.parametrize("statement", ["pass", "pytest.skip('built without HDF5')"])
def test_a_pass_or_an_excused_skip_is_no_failure(statement, tmp_path):
    code, output = verdict(tmp_path, statement)
    assert code == 0, output


@pytest.mark.parametrize("statement, environment", [
    ("pytest.skip('it did not feel like it')", {}),
    ("pytest.skip('built without HDF5')", {"STARLING_HAS_HDF5": "1"})])
def test_a_skip_without_an_excuse_is_a_failure(statement, environment, tmp_path):
    code, output = verdict(tmp_path, statement, **environment)
    assert code == 1, output
    assert "skipped without an excuse" in output
