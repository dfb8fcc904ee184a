# SPDX-License-Identifier: Apache-2.0
"""Tests of tools/plot_balance.py."""

import json
import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools"))
import plot_balance  # noqa: E402


def plot_file(folder, **changes):
    loads = {"host_seconds": [3.0, 1.0], "device_seconds": [0.0]}
    data = {"format": "starling balance plot", "version": 1, "ideal_seconds": 2.0,
            "rank_of_worker": [0, 1], "before": loads,
            "after": {"greedy": {"host_seconds": [2.0, 2.0], "device_seconds": [0.0]},
                      "none": loads}}
    data.update(changes)
    path = folder / "plot.json"
    path.write_text(json.dumps(data))
    return path


def test_a_picture_has_the_names_of_the_balancers(tmp_path):
    picture = tmp_path / "plot.svg"
    assert plot_balance.main([str(plot_file(tmp_path)), str(picture)]) == 0
    text = picture.read_text()
    assert "<!-- greedy -->" in text and "<!-- none -->" in text
    assert "device load" not in text  # there is none


def test_device_loads_get_a_column(tmp_path):
    loads = {"host_seconds": [3.0, 1.0], "device_seconds": [5.0, 1.0]}
    path = plot_file(tmp_path, before=loads, after={"refine": loads})
    picture = tmp_path / "plot.svg"
    plot_balance.main([str(path), str(picture), "--balancer", "refine"])
    assert "<!-- device load / s -->" in picture.read_text()


def test_many_workers_keep_their_largest_load():
    loads = [1.0] * 10_000
    loads[1234] = 9.0
    assert len(plot_balance.thinned(loads)) == plot_balance.MOST_BARS
    assert max(plot_balance.thinned(loads)) == 9.0
    assert plot_balance.thinned([1.0, 2.0]) == [1.0, 2.0]


@pytest.mark.parametrize("changes, message", [
    ({"format": "other"}, "was not written by"),
    ({"version": 2}, "has version 2; this program reads 1"),
])
def test_other_files_are_refused(tmp_path, changes, message):
    path = plot_file(tmp_path, **changes)
    with pytest.raises(SystemExit, match=message):
        plot_balance.main([str(path), str(tmp_path / "x.svg")])


def test_an_unknown_balancer_and_a_missing_file_are_named(tmp_path):
    path = plot_file(tmp_path)
    with pytest.raises(SystemExit, match="no balancer curve; there are: greedy, none"):
        plot_balance.main([str(path), str(tmp_path / "x.svg"), "--balancer", "curve"])
    with pytest.raises(SystemExit, match="cannot read"):
        plot_balance.main([str(tmp_path / "missing.json"), str(tmp_path / "x.svg")])
