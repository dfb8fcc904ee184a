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
    assert "<!-- host load / s -->" in picture.read_text()


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


def balancing(call, **changes):
    one = {"array": "block", "array_id": 1, "call": call, "balancer": "refine",
           "decision": "migrate", "ideal_seconds": 2.0, "imbalance_before": 1.5,
           "imbalance_after": 1.0, "cost_seconds": 1e-5,
           "before": {"host_seconds": [3.0, 1.0], "device_seconds": []},
           "after": {"host_seconds": [2.0, 2.0], "device_seconds": []},
           "migrations": {"element": [4], "name": ["block[4]"], "from": [0], "to": [1],
                          "reason": ["host load"]},
           "anchored": {"element": [], "name": [], "why": []}, "loads": {}}
    one.update(changes)
    return one


def history_file(folder, *balancings):
    path = folder / "history.json"
    path.write_text(json.dumps({"format": "starling balance history", "version": 1,
                                "balancings": list(balancings)}))
    return str(path)


def test_the_report_of_a_run_is_drawn_with_its_course(tmp_path):
    picture = tmp_path / "run.svg"
    path = history_file(tmp_path, balancing(1), balancing(7, imbalance_before=1.25))
    assert plot_balance.main([path, str(picture)]) == 0
    text = picture.read_text()
    assert "<!-- balancings of block -->" in text and "<!-- migrations -->" in text
    assert "<!-- call 1, refine: imbalance 1.5 → 1, 1 migrations -->" in text
    assert "<!-- call 7, refine: imbalance 1.25 → 1, 1 migrations -->" in text


def test_of_many_balancings_the_first_and_the_last_are_drawn():
    rows = plot_balance.chosen_rows([balancing(call) for call in range(1, 101)], None)
    assert len(rows) == plot_balance.MOST_ROWS
    assert rows[0]["call"] == 1 and rows[-1]["call"] == 100
    chosen = plot_balance.chosen_rows([balancing(call) for call in range(1, 101)], [50, 3])
    assert [one["call"] for one in chosen] == [50, 3]


def test_loads_of_many_workers_and_of_devices_are_drawn(tmp_path):
    picture = tmp_path / "run.svg"
    loads = {"host_seconds": [1.0] * 1000, "device_seconds": [2.0, 1.0]}
    plot_balance.main([history_file(tmp_path, balancing(1, before=loads, after=loads)),
                       str(picture)])
    assert "<!-- device load / s -->" in picture.read_text()


def test_one_scale_and_unit_fits_the_loads_of_all_rows(tmp_path):
    small = {"host_seconds": [1e-4, 2e-4], "device_seconds": []}
    large = {"host_seconds": [9e-3, 1e-4], "device_seconds": []}
    picture = tmp_path / "run.svg"
    for first, second in ((small, large), (large, small)):
        plot_balance.main([history_file(tmp_path, balancing(1, before=first, after=small,
                                                  ideal_seconds=1e-3),
                                        balancing(2, before=second, after=small,
                                                  ideal_seconds=1e-3)), str(picture)])
        assert "<!-- host load / ms -->" in picture.read_text()
    assert plot_balance.unit_of(2.0)[0] == "s" and plot_balance.unit_of(2e-5) == ("µs", 1e6)


def test_an_array_is_chosen_among_several(tmp_path):
    path = history_file(tmp_path, balancing(1), balancing(1, array="cell", array_id=2),
                        balancing(2, array="cell", array_id=3, balancer="greedy"))
    picture = tmp_path / "run.svg"
    plot_balance.main([path, str(picture), "--array", "cell 3"])
    text = picture.read_text()
    assert "balancings of cell 3" in text and "greedy" in text and "refine" not in text
    with pytest.raises(SystemExit, match="there are: block, cell 2, cell 3"):
        plot_balance.main([path, str(picture)])
    with pytest.raises(SystemExit, match="there are: block, cell 2, cell 3"):
        plot_balance.main([path, str(picture), "--array", "other"])


def test_a_run_without_the_chosen_balancing_is_reported(tmp_path):
    picture = str(tmp_path / "x.svg")
    with pytest.raises(SystemExit, match="no balancing in call 2; there are: 1"):
        plot_balance.main([history_file(tmp_path, balancing(1)), picture, "--call", "2"])
    with pytest.raises(SystemExit, match="the run had no balancing"):
        plot_balance.main([history_file(tmp_path), picture])
