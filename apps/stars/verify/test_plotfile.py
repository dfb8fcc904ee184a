# SPDX-License-Identifier: Apache-2.0
"""Tests of the plotfile reader: written data is read back, and damage is named."""

import numpy as np
import pytest
import synthetic
from plotfile import bad_plotfile, plotfile


@pytest.fixture
def fields():
    random = np.random.default_rng(7)
    return {name: random.standard_normal((16, 16, 16)) for name in synthetic.CONSERVED}


@pytest.fixture
def path(tmp_path, fields):
    return synthetic.write(tmp_path / "plt", fields, time=0.1, step=3, xscale=2.0)


def test_round_trip(path, fields):
    file = plotfile(path)
    assert (file.time, file.step, file.cells) == (0.1, 3, 16)
    assert (file.lo, file.hi) == ((-2.0,) * 3, (2.0,) * 3)
    assert file.names == synthetic.CONSERVED
    assert file.cell_volume() == 0.25**3
    for name, data in fields.items():
        assert np.array_equal(file.field(name), data)


def test_coarse_levels_cover_the_domain(path, fields):
    file = plotfile(path)
    assert [level.domain.shape for level in file.levels] == [(8, 8, 8), (16, 16, 16)]
    assert file.field("egas", 0).shape == (8, 8, 8)
    assert file.field("egas", 0)[0, 1, 2] == pytest.approx(fields["egas"][0:2, 2:4, 4:6].mean())


def test_the_metadata_is_read(path):
    file = plotfile(path)
    assert file.require("problem") == "blast"
    with pytest.raises(bad_plotfile, match="no entry 'colour'"):
        file.require("colour")


def test_an_unknown_field_lists_the_known_ones(path):
    with pytest.raises(bad_plotfile, match="no field 'mass'.*density egas"):
        plotfile(path).field("mass")


def test_a_missing_directory_is_not_a_plotfile(tmp_path):
    with pytest.raises(bad_plotfile, match="not a plotfile"):
        plotfile(tmp_path / "nothing")


def _truncate(file):
    file.write_bytes(file.read_bytes()[:-8])


def _replace(old, new):
    def damage(file):
        content = file.read_bytes()
        assert old in content
        file.write_bytes(content.replace(old, new, 1))

    return damage


@pytest.mark.parametrize(
    "name, damage, message",
    [
        ("Header", _replace(b"HyperCLaw", b"Plain text"), "unknown format"),
        ("Header", _replace(b"\n3\n0.1\n", b"\n2\n0.1\n"), "2-dimensional"),
        ("Header", lambda file: file.write_bytes(file.read_bytes()[:400]), "expected"),
        ("Header", _replace(b"density", b"\xff\xfe"), "cannot read"),
        ("Level_1/Cell_D_00000", _truncate, "truncated"),
        ("Level_1/Cell_D_00000", _replace(b"FAB", b"BAF"), "no FAB header at byte 0"),
        ("Level_1/Cell_D_00000", _replace(b"(0,0,0) (7,7,7)", b"(0,0,1) (7,7,8)"), "announces"),
        ("Level_1/Cell_D_00000", _replace(b"8 7 6 5", b"8 7 5 6"), "unknown byte order"),
        ("Level_1/Cell_D_00000", lambda file: file.unlink(), "cannot read"),
        ("Level_1/Cell_H", _replace(b"((8,0,0)", b"((0,0,0)"), "boxes differ"),
        ("Level_1/Cell_H", _replace(b"FabOnDisk", b"Elsewhere"), "FabOnDisk"),
        ("stars.json", lambda file: file.write_text("{"), "cannot read"),
        ("stars.json", lambda file: file.write_text("[]"), "JSON object"),
    ],
)
def test_damage_is_named(path, name, damage, message):
    damage(path / name)
    with pytest.raises(bad_plotfile, match=message):
        plotfile(path).field("egas")


def test_a_grid_that_is_listed_twice_is_refused(path):
    header = (path / "Header").read_text()
    one, other = "-2.0 0.0\n-2.0 0.0\n-2.0 0.0\n", "0.0 2.0\n-2.0 0.0\n-2.0 0.0\n"
    assert other in header
    (path / "Header").write_text(header.replace(other, one, 1))
    cell_h = path / "Level_1/Cell_H"
    text = cell_h.read_text().replace("((8,0,0) (15,7,7)", "((0,0,0) (7,7,7)", 1)
    cell_h.write_text(text)
    with pytest.raises(bad_plotfile, match="overlap"):
        plotfile(path).field("egas")
