# SPDX-License-Identifier: Apache-2.0
"""The program as its user meets it: exit codes, messages, files, restart, and the mutations that the
verification must notice. SEDOV names the executable."""

import filecmp
import json
import os
import pathlib
import subprocess
import sys

import pytest

SEDOV = os.environ["SEDOV"]
VERIFY = pathlib.Path(__file__).parents[2] / "verify" / "verify.py"


def sedov(*arguments, code=0, cwd=None):
    command = [SEDOV, "--backend", "host", "--no-progress", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=cwd, timeout=250)
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout + done.stderr


def verify(*arguments):
    command = [sys.executable, str(VERIFY), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=250).returncode


def last_plot(folder):
    return sorted(pathlib.Path(folder).glob("plt*"))[-1]


def test_help_lists_the_options():
    assert "--residency" in sedov("--help")


def test_staged_launches_each_kernel_once_per_subgrid_and_stage(tmp_path):
    report = tmp_path / "r.json"
    sedov("--level", 1, "--steps", 2, "-o", tmp_path, "--json", report, "--starling-summary")
    metrics = json.loads(report.read_text())["metrics"]
    launches = {k: v for k, v in metrics.items() if k.startswith("launches_")}
    assert len(launches) == 5
    assert set(launches.values()) == {8 * 3 * 2}


@pytest.mark.parametrize(
    "arguments, words",
    [
        (["--level", 99], "--level"),
        (["--gamma", "x"], "--gamma"),
        (["--problem", "supernova"], "supernova"),
        (["--no-such-option"], "--no-such-option"),
        (["--config", "/no/such/file.toml"], "/no/such/file.toml"),
        (["--steps", 0], "never end"),
        (["--completion", "telepathy"], "telepathy"),
        (["--starling-workers", "many"], "workers"),
    ],
)
def test_bad_options_are_told_and_end_with_2(arguments, words, tmp_path):
    assert words in sedov("-o", tmp_path, *arguments, code=2)


def test_a_bad_configuration_is_told(tmp_path):
    file = tmp_path / "bad.toml"
    file.write_text("levle = 3\n")
    assert "levle" in sedov("--config", file, "-o", tmp_path, code=2)


def test_flags_win_over_the_configuration(tmp_path):
    file = tmp_path / "run.toml"
    file.write_text('level = 0\nsteps = 1\nproblem = "sod"\n')
    assert "16³" in sedov("--config", file, "--level", 1, "-o", tmp_path)


def test_an_unwritable_folder_is_told(tmp_path):
    blocker = tmp_path / "file"
    blocker.write_text("")
    assert "file" in sedov("--level", 0, "--steps", 1, "-o", blocker / "out", code=3)


def test_a_full_disk_is_told(tmp_path):
    assert "/dev/full" in sedov(
        "--level", 0, "--steps", 1, "-o", tmp_path, "--json", "/dev/full", code=3
    )


@pytest.mark.parametrize("residency", ["staged", "resident"])
def test_a_restart_goes_on_bit_by_bit(residency, tmp_path):
    common = ["--level", 1, "--residency", residency]
    sedov(*common, "--steps", 4, "-o", tmp_path / "whole")
    sedov(*common, "--steps", 2, "-o", tmp_path / "part")
    restart = tmp_path / "part" / "restart00002.h5"
    if not restart.exists():
        pytest.skip("built without HDF5")
    sedov(*common, "--steps", 4, "--restart", restart, "-o", tmp_path / "part")
    a, b = last_plot(tmp_path / "whole"), last_plot(tmp_path / "part")
    files = [p.relative_to(a) for p in a.rglob("*") if p.is_file()]
    assert filecmp.cmpfiles(a, b, files, shallow=False)[1:] == ([], [])


def test_a_restart_with_another_scheme_is_refused(tmp_path):
    sedov("--level", 0, "--steps", 1, "-o", tmp_path)
    restart = tmp_path / "restart00001.h5"
    if not restart.exists():
        pytest.skip("built without HDF5")
    assert "cfl" in sedov("--restart", restart, "--cfl", 0.2, "-o", tmp_path, code=2)


def sod(folder, *mutation):
    sedov("--problem", "sod", "--level", 2, "--steps", 0, "--stop-time", 0.1, "-o", folder,
          "--no-restart-file", *mutation)
    return verify("sod", last_plot(folder), "--max-l1", 4.61e-3)


def test_the_verification_accepts_the_true_scheme(tmp_path):
    assert sod(tmp_path) == 0


@pytest.mark.parametrize(("level", "published"), [(1, 8.616107e-3), (2, 4.603921e-3)])
def test_sod_is_within_the_published_norms(level, published, tmp_path):
    sedov("--problem", "sod", "--level", level, "--steps", 0, "--stop-time", 0.1, "-o", tmp_path,
          "--no-restart-file")
    command = ("sod", last_plot(tmp_path), "--norm", "octo-tiger", "--max-l1")
    assert verify(*command, published) == 0
    assert verify(*command, 0.9 * published) == 1


@pytest.mark.parametrize(
    "mutation",
    [
        ["--reconstruction", "minmod"],
        ["--mutate-edge-terms"],
        ["--mutate-gamma", 5 / 3],
    ],
    ids=["minmod", "edge-terms", "gamma"],
)
def test_the_verification_notices_a_wrong_scheme(mutation, tmp_path):
    assert sod(tmp_path, *mutation) == 1


def test_the_verification_notices_a_skipped_ghost_direction(tmp_path):
    sedov("--level", 1, "--steps", 4, "--mutate-direction", 12, "-o", tmp_path, "--no-restart-file",
          code=1)
    assert verify("symmetry", last_plot(tmp_path)) == 1


def suite(folder, parts, replace):
    """verify/suite.py with a program that differs: `replace` is a line of Python on its arguments."""
    program = folder / "sedov"
    program.write_text(f"#!{sys.executable}\nimport os, sys\na = sys.argv[1:]\n{replace}\n"
                       f"os.execv({SEDOV!r}, ['sedov', *a])\n")
    program.chmod(0o755)
    command = [sys.executable, str(VERIFY.with_name("suite.py")), str(program), "--output",
               str(folder / "out"), *(word for part in parts for word in ("--only", part))]
    return subprocess.run(command, capture_output=True, text=True, timeout=250).returncode


def test_the_suite_accepts_the_program(tmp_path):
    assert suite(tmp_path, ["sod", "placements"], "") == 0


@pytest.mark.parametrize(
    ("part", "replace"),
    [
        ("sod", "a += ['--reconstruction', 'minmod']"),
        ("placements", "a += ['--mutate-edge-terms'] if 'resident' in a else []"),
        ("launches", "a[a.index('--level') + 1] = '1'"),
    ],
)
def test_the_suite_notices_a_wrong_program(part, replace, tmp_path):
    assert suite(tmp_path, [part], replace) == 1
