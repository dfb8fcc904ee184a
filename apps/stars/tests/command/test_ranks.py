# SPDX-License-Identifier: Apache-2.0
"""Tests of the files of stars on several ranks from the command line. The environment variables
STARS and STARLING hold the paths of the program and of the launcher."""

import filecmp
import gzip
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from program import STARS, VERIFY

STARLING = os.environ.get("STARLING")
REFINED = ["--level", 3, "--min-level", 0, "--steps", 2]

pytestmark = pytest.mark.skipif(STARLING is None, reason="this Starling knows one rank only")


def stars(ranks, *arguments, cwd, code=0, before=""):
    """Runs stars in a folder. `before` is a line of shell that each rank runs first."""
    program = [STARS, "--backend", "host", "--no-progress", "--workers", "1"]
    program += map(str, arguments)
    launch = [STARLING, "launch", "-n", str(ranks)] if ranks > 1 else []
    shell = ["sh", "-c", before + '\nexec "$0" "$@"'] if before else []
    done = subprocess.run([*launch, *shell, *program], check=False, capture_output=True, text=True,
                          cwd=cwd, timeout=250)
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout + done.stderr


def digest(report):
    return json.loads(report.read_text())["config"]["state_fnv1a"]


def test_meshes_beside_walls_in_gravity_do_not_depend_on_ranks_and_placement(tmp_path):
    flow = ["--problem", "rayleigh-taylor", "--level", 3, "--min-level", 1, "--steps", 2,
            "--regrid-every", 1, "--refine", "relative_difference(egas) > 0.05", "--no-plots",
            "--no-restart-file"]
    runs = [(1, "staged"), (1, "resident"), (3, "staged"), (3, "resident")]
    for ranks, place in runs:
        stars(ranks, *flow, "--residency", place, "-o", ".", "--json", f"{ranks}{place}.json",
              cwd=tmp_path)
    reports = [tmp_path / f"{ranks}{place}.json" for ranks, place in runs]
    assert len({digest(report) for report in reports}) == 1
    sub_grids = json.loads(reports[0].read_text())["metrics"]["sub_grids"]
    assert 8 < sub_grids < 512


@pytest.mark.parametrize("ranks", [2, 3])
def test_files_have_the_data_of_one_process(ranks, tmp_path):
    for n in (1, ranks):
        stars(n, *REFINED, "-o", str(n), "--json", f"{n}.json", cwd=tmp_path)
    one, all_ranks = tmp_path / "1", tmp_path / str(ranks)
    assert digest(tmp_path / "1.json") == digest(tmp_path / f"{ranks}.json")
    assert sorted(p.name for p in one.iterdir()) == sorted(p.name for p in all_ranks.iterdir())
    for plot in ("plt00000", "plt00002"):
        assert (all_ranks / plot / "Level_3" / f"Cell_D_{ranks - 1:05}").exists()
        command = [sys.executable, str(VERIFY), "compare", str(one / plot), str(all_ranks / plot)]
        subprocess.run(command, check=True, capture_output=True, timeout=250)
    restart = "restart00002.h5"
    if (one / restart).exists():
        assert filecmp.cmp(one / restart, all_ranks / restart, shallow=False)


def test_a_run_continues_on_another_number_of_ranks(tmp_path):
    stars(1, *REFINED, "--no-plots", "-o", "a", cwd=tmp_path)
    if not (tmp_path / "a" / "restart00002.h5").exists():
        pytest.skip("built without HDF5")
    for n in (1, 3):
        stars(n, "--restart", "a/restart00002.h5", "--steps", 4, "--no-plots", "-o", str(n),
              "--json", f"{n}.json", cwd=tmp_path)
    assert digest(tmp_path / "1.json") == digest(tmp_path / "3.json")


@pytest.mark.parametrize("ranks", [1, 3])
def test_a_file_of_version_2_is_continued_bit_by_bit(ranks, tmp_path):
    """An earlier program has written the file, with 64 leaves: stars --level 2 --steps 1."""
    packed = Path(__file__).parents[1] / "data" / "restart_version2_level2.h5.gz"
    (tmp_path / "old.h5").write_bytes(gzip.decompress(packed.read_bytes()))
    run = ["--level", 2, "--steps", 3, "--no-plots"]
    stars(1, *run, "-o", "a", "--json", "whole.json", cwd=tmp_path)
    if not (tmp_path / "a" / "restart00003.h5").exists():
        pytest.skip("built without HDF5")
    stars(ranks, *run, "--restart", "old.h5", "-o", "b", "--json", "continued.json", cwd=tmp_path)
    assert digest(tmp_path / "whole.json") == digest(tmp_path / "continued.json")


ELSEWHERE = "test $STARLING_LAUNCH_RANK != 1 || cd /"


@pytest.mark.parametrize("kind", ["plot", "restart"])
def test_a_rank_that_cannot_write_ends_the_run_with_one_message(kind, tmp_path):
    only = "--no-restart-file" if kind == "plot" else "--no-plots"
    if kind == "restart":
        stars(1, "--level", 0, "--steps", 1, "-o", "a", cwd=tmp_path)
        if not (tmp_path / "a" / "restart00001.h5").exists():
            pytest.skip("built without HDF5")
    said = stars(3, "--level", 1, "--steps", 1, only, "-o", "out", cwd=tmp_path, code=3,
                 before=ELSEWHERE)
    assert said.count("stars: rank 1: out/") == 1
    assert "No such file or directory; all ranks must see the same files" in said
    assert "rank 2:" not in said
    assert list((tmp_path / "out").iterdir()) == []


def test_a_full_disk_of_one_rank_leaves_no_file(tmp_path):
    # UCX needs files of 4 MB for itself; the first plot of a rank has 22 MB.
    limit = "test $STARLING_LAUNCH_RANK != 1 || ulimit -f 16384"  # 8 or 16 MB, by the shell
    said = stars(2, "--level", 3, "--steps", 1, "-o", "out", cwd=tmp_path, code=3,
                 before=limit)
    assert said.count("stars: rank 1: out/") == 1
    assert "File too large" in said
    assert list((tmp_path / "out").iterdir()) == []
