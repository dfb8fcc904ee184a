# SPDX-License-Identifier: Apache-2.0
"""Tests of tools/timeline.py."""

import json
import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools"))

import timeline  # noqa: E402


@pytest.fixture
def written(tmp_path):
    """Returns write(*spans), which writes a timeline of one device and returns its path; a span is
    (kind, stream, begin, end) in us."""
    def write(*spans):
        events = [{"ph": "M", "name": "process_name", "pid": 3, "args": {"name": "CUDA device 0"}},
                  {"ph": "M", "name": "process_name", "pid": 1, "args": {"name": "workers"}},
                  {"ph": "X", "cat": "task", "name": "run", "pid": 1, "tid": 1, "ts": 0, "dur": 99}]
        events += [{"ph": "X", "cat": kind, "name": "n", "pid": 3, "tid": stream, "ts": begin,
                    "dur": end - begin} for kind, stream, begin, end in spans]
        file = tmp_path / "run.json"
        file.write_text(json.dumps({"traceEvents": events}))
        return str(file)
    return write


def told(file, capsys):
    assert timeline.main([file]) == 0
    head, row = capsys.readouterr().out.splitlines()
    assert head.split()[0] == "device"
    return row.removeprefix("CUDA device 0").split()


def test_copies_behind_kernels_are_hidden(written, capsys):
    file = written(("kernel", 1, 0, 1000), ("copy", 2, 500, 1500), ("kernel", 1, 1500, 2000))
    assert told(file, capsys) == ["2", "1.500", "1.00", "1.000", "50.0%", "0.0%"]


def test_kernels_side_by_side_count_once(written, capsys):
    file = written(("kernel", 1, 0, 1000), ("kernel", 2, 0, 1000), ("kernel", 2, 3000, 4000))
    assert told(file, capsys) == ["2", "2.000", "1.50", "0.000", "0.0%", "50.0%"]


def test_adjacent_intervals_are_merged():
    assert timeline.unions([(5, 6), (0, 2), (2, 3), (1, 2)]) == [[0, 3], [5, 6]]
    assert timeline.common([[0, 3], [5, 6]], [[2, 5.5]]) == pytest.approx(1.5)


def test_a_timeline_without_device_work_is_reported(written, capsys):
    assert timeline.main([written()]) == 1
    assert "no kernels" in capsys.readouterr().err


@pytest.mark.parametrize("text", ["", "[]", "{}"])
def test_a_file_that_is_no_timeline_is_reported(tmp_path, capsys, text):
    file = tmp_path / "x.json"
    file.write_text(text)
    assert timeline.main([str(file)]) == 2
    assert "x.json" in capsys.readouterr().err
    assert timeline.main([str(tmp_path / "none.json")]) == 2
