# SPDX-License-Identifier: Apache-2.0
"""Tests of draw.py --movie."""

import os
import stat

import draw
import movie
import numpy as np
import pytest
import synthetic
from PIL import Image
from plotfile import plotfile

UNREFINED = [(1, *place) for place in np.ndindex(2, 2, 2) if place != (1, 0, 1)]


@pytest.fixture
def files(tmp_path):
    """Three plotfiles of a growing density; the second one has several levels."""
    paths = []
    for step, cells in ((0, 16), (5, 32), (10, 16)):
        density = np.full((cells,) * 3, 1.0 + step)
        header = {"step": step, "time": 0.1 * step, "problem": "growth"}
        header["unrefined"] = UNREFINED if cells == 32 else ()
        fields = synthetic.state(density, np.ones_like(density))
        paths.append(str(synthetic.write(tmp_path / f"plt{step:05}", fields, **header)))
    return paths


def _frames(path):
    with Image.open(path) as image:
        found = []
        for number in range(image.n_frames):
            image.seek(number)
            found.append(np.asarray(image.convert("RGB")).astype(int))
        return found


def test_a_gif_has_a_frame_for_each_file_in_the_order_of_steps(files, tmp_path):
    target = tmp_path / "movie.gif"
    assert draw.main(["--movie", *files, "-o", str(target)]) == 0
    frames = _frames(target)
    assert len(frames) == 3
    assert draw.main(["--movie", *reversed(files), "-o", str(target)]) == 0
    for a, b in zip(frames, _frames(target)):
        assert np.array_equal(a, b)
    assert np.abs(frames[0] - frames[2]).max() > 50


def test_all_pictures_have_the_same_colours(files):
    class options:
        problem, time_offset, amplitude = None, None, 1e-6

    opened = [plotfile(path) for path in files]
    assert draw._common_view(opened, options) == draw.view(11.0, None)
    options.problem = "blast"
    assert draw._common_view(opened, options).half_width == draw._half_width(opened[2], options)


def test_a_file_that_cannot_be_drawn_is_left_out(files, tmp_path, capsys):
    target = tmp_path / "movie.gif"
    assert draw.main(["--movie", "--problem", "sod", *files, "-o", str(target)]) == 0
    assert "left out" in capsys.readouterr().err  # Sod's solution needs a time > 0
    assert len(_frames(target)) == 2
    assert draw.main(["--movie", "--problem", "sod", files[0], "-o", str(target)]) == 2
    assert "no plotfile could be drawn" in capsys.readouterr().err


def test_several_files_need_the_option(files):
    with pytest.raises(SystemExit) as end:
        draw.main(files)
    assert end.value.code == 2


def test_a_movie_of_another_kind_is_refused(files, tmp_path, capsys):
    assert draw.main(["--movie", *files, "-o", str(tmp_path / "movie.txt")]) == 2
    assert "a movie is a .mp4 or .gif file" in capsys.readouterr().err


@pytest.fixture
def ffmpeg(tmp_path, monkeypatch):
    """Returns a function that installs a program `ffmpeg`, or none, as the only one in PATH."""

    def install(script):
        folder = tmp_path / "bin"
        folder.mkdir(exist_ok=True)
        monkeypatch.setenv("PATH", str(folder))
        if script is not None:
            program = folder / "ffmpeg"
            program.write_text("#!/bin/sh\n" + script)
            program.chmod(program.stat().st_mode | stat.S_IXUSR)

    return install


def test_an_mp4_is_made_by_ffmpeg(files, tmp_path, ffmpeg):
    # The program lists the pictures. Its arguments: … -i FOLDER/%05d.png … TARGET
    ffmpeg('while [ "$1" != -i ]; do shift; done\ncd "${2%/*}" || exit 1\n'
           'for target; do :; done\necho *.png > "$target"\n')
    assert draw.main(["--movie", *files]) == 0
    assert (tmp_path / "movie.mp4").read_text() == "00000.png 00001.png 00002.png\n"


def test_an_error_of_ffmpeg_is_reported(files, tmp_path, ffmpeg, capsys):
    ffmpeg("echo no such codec >&2\nexit 7\n")
    assert draw.main(["--movie", *files, "-o", str(tmp_path / "a.mp4")]) == 2
    assert "ffmpeg ended with 7: no such codec" in capsys.readouterr().err


def test_without_ffmpeg_an_mp4_is_refused_and_a_gif_is_the_default(files, tmp_path, ffmpeg, capsys):
    ffmpeg(None)
    assert draw.main(["--movie", *files, "-o", str(tmp_path / "a.mp4")]) == 2
    assert "needs the program ffmpeg; install it or name a .gif" in capsys.readouterr().err
    assert movie.default_suffix() == ".gif"
    assert draw.main(["--movie", files[0]]) == 0
    assert os.path.getsize(tmp_path / "movie.gif") > 1000
