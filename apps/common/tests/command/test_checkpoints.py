# SPDX-License-Identifier: Apache-2.0
"""Tests of checkpoints and restarts from the command line. The environment variables JACOBI2D and
JACOBI3D hold the paths of the programs; STARLING, if set, that of the command `starling`."""

import json
import os
import resource
import subprocess

import pytest

GRIDS = {"jacobi2d": ["--grid", 120, 112, "--strips", 8],
         "jacobi3d": ["--grid", 24, 20, 28, "--blocks", 2, 2, 2]}
PROGRAMS = pytest.mark.parametrize("name", GRIDS)
# After R restarts, rank R is killed when the next checkpoint is complete. A process beside the rank
# does that, so that the program itself is unchanged.
KILLER = """#!/bin/sh
complete() { ls -d "$FOLDER"/checkpoint.*/manifest 2>/dev/null | tail -n 1; }
if [ "$STARLING_LAUNCH_RANK" = "$STARLING_LAUNCH_RESTARTS" ]; then
  before=$(complete)
  (
    while kill -0 $$ 2>/dev/null; do
      if [ "$(complete)" != "$before" ]; then kill -9 $$; exit; fi
      sleep 0.01
    done
  ) >/dev/null 2>&1 &
fi
exec "$@"
"""


def run(*words, code=0, **how):
    done = subprocess.run([str(w) for w in words], capture_output=True, text=True, timeout=100,
                          check=False, **how)
    assert done.returncode == code, done.stdout + done.stderr
    return done


def command(name, folder, file, *more):
    return [os.environ[name.upper()], "--backend", "host", "--no-progress", *GRIDS[name],
            "--problem", "random", "--warmup", 0, "--verify", "--checkpoint-folder", folder,
            "--json", file, *more]


def report_of(file):
    return json.loads(file.read_text())


@PROGRAMS
def test_help_has_the_options_of_checkpoints(name):
    said = run(os.environ[name.upper()], "--help").stdout
    for option in ("--checkpoint-every", "--checkpoint-folder", "--checkpoints-kept",
                   "--starling-restart", "--strips" if name == "jacobi2d" else "--blocks"):
        assert option in said


@PROGRAMS
def test_a_restart_on_other_workers_has_the_same_bits_and_is_reported(name, tmp_path):
    folder, first, second = tmp_path / "run", tmp_path / "first.json", tmp_path / "second.json"
    run(*command(name, folder, first, "--workers", 2, "--iterations", 25, "--checkpoint-every",
                 10))
    report = report_of(first)
    assert report["metrics"]["checkpoints"] == 2
    assert report["metrics"]["checkpoints_failed"] == 0
    assert report["metrics"]["checkpoint_copy_ms"] > 0
    assert report["config"]["checkpoint_every"] == 10
    assert "odf" not in report["config"]
    assert "restart_step" not in report["config"]

    said = run(*command(name, folder, second, "--workers", 3, "--iterations", 25,
                        "--starling-restart", "latest")).stdout
    assert "20 of 25 iterations are done" in said
    again = report_of(second)
    assert again["config"]["restart_step"] == 20
    assert again["config"]["checksum"] == report["config"]["checksum"]
    assert again["metrics"]["iterations"] == 5
    assert again["checks"]["bits of the serial solver"]


@PROGRAMS
def test_a_restart_with_another_problem_names_both(name, tmp_path):
    folder, file = tmp_path / "run", tmp_path / "run.json"
    run(*command(name, folder, file, "--iterations", 15, "--checkpoint-every", 10))
    said = run(*command(name, folder, file, "--iterations", 15, "--seed", 5,
                        "--starling-restart", "latest"), code=2).stderr
    assert "--problem random --seed 1" in said
    assert "--problem random --seed 5" in said


@PROGRAMS
def test_checkpoints_that_cannot_be_written_do_not_change_the_results(name, tmp_path):
    file = tmp_path / "run.json"
    limit = 20_000  # bytes of a file; the share of the only rank has more than 50 000
    done = run(*command(name, tmp_path / "run", file, "--iterations", 25, "--checkpoint-every",
                        10),
               preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)))
    assert "was not written" in done.stderr
    report = report_of(file)
    assert report["metrics"]["checkpoints"] == 0
    assert report["metrics"]["checkpoints_failed"] == 2
    assert report["checks"]["bits of the serial solver"]


@PROGRAMS
def test_a_folder_that_cannot_be_made_is_reported(name, tmp_path):
    (tmp_path / "file").write_text("")
    said = run(*command(name, tmp_path / "file" / "run", tmp_path / "run.json",
                        "--checkpoint-every", 10), code=3).stderr
    assert str(tmp_path / "file") in said


def launch(ranks, *words, **how):
    return run(os.environ["STARLING"], "launch", "-n", ranks, *words, **how)


needs_ranks = pytest.mark.skipif("STARLING" not in os.environ,
                                 reason="this Starling knows one rank only")


@needs_ranks
@PROGRAMS
def test_a_restart_on_other_ranks_has_the_same_bits(name, tmp_path):
    folder, first, second = tmp_path / "run", tmp_path / "first.json", tmp_path / "second.json"
    launch(3, *command(name, folder, first, "--workers", 1, "--iterations", 25,
                       "--checkpoint-every", 10))
    for restart, ranks, step in (("latest", 2, 20), ("1", 4, 10)):
        launch(ranks, *command(name, folder, second, "--workers", 1, "--iterations", 25,
                               "--starling-restart", restart))
        again = report_of(second)
        assert again["config"]["restart_step"] == step
        assert again["config"]["ranks"] == ranks
        assert again["config"]["checksum"] == report_of(first)["config"]["checksum"]
        assert again["checks"]["bits of the serial solver"]


@needs_ranks
@pytest.mark.parametrize(("name", "way"), [
    ("jacobi3d", "--fusion B"), ("jacobi3d", "--exchange staged --wait work-request"),
    ("jacobi2d", "--graphs"), ("jacobi2d", "--exchange staged")])
def test_ranks_are_killed_in_turn_and_the_bits_are_the_same(name, way, tmp_path):
    folder, file, killer = tmp_path / "run", tmp_path / "run.json", tmp_path / "killer"
    killer.write_text(KILLER)
    killer.chmod(0o755)
    done = launch(4, "--restarts", 4, killer,
                  *command(name, folder, file, "--workers", 1, "--iterations", 1000,
                           "--checkpoint-every", 10, *way.split()),
                  env={**os.environ, "FOLDER": str(folder)})
    kills = done.stderr.count("starting the ranks again")
    assert 1 <= kills <= 4, done.stderr  # a late kill may miss the end of the job
    report = report_of(file)
    assert report["config"]["restart_step"] >= 10 * kills  # each run had a further checkpoint
    assert report["checks"]["bits of the serial solver"]
