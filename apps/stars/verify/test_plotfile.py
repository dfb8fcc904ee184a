# SPDX-License-Identifier: Apache-2.0
"""Tests of the plotfile reader: written data is read back, and damage is named."""

import numpy as np
import pytest
import synthetic
from plotfile import bad_plotfile, box, plotfile


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


UNREFINED = [(1, *place) for place in np.ndindex(2, 2, 2) if place != (1, 0, 0)]


@pytest.fixture
def refined(tmp_path):
    """A file of 32³ cells whose leaves are 7 nodes of level 1 and 8 nodes of level 2, these in the
    octant with x > 0, y < 0, z < 0; and its data on the finest level."""
    random = np.random.default_rng(7)
    fields = {name: random.uniform(1.0, 2.0, (32, 32, 32)) for name in synthetic.CONSERVED}
    header = {"time": 0.1, "step": 3, "xscale": 2.0, "unrefined": UNREFINED}
    return plotfile(synthetic.write(tmp_path / "plt", fields, **header)), fields["egas"]


def test_leaves_are_the_grids_that_no_finer_grid_covers(refined):
    file, data = refined
    leaves = file.leaves
    assert not file.is_uniform and len(leaves) == 15
    assert leaves.level.tolist() == [1] * 7 + [2] * 8
    assert leaves.place[0].tolist() == [0, 0, 0] and leaves.place[7].tolist() == [2, 0, 0]
    assert leaves.dx.tolist() == [0.25] * 7 + [0.125] * 8
    assert leaves.volume.tolist() == [0.25**3] * 7 + [0.125**3] * 8
    assert leaves.weight.tolist() == [8.0] * 7 + [1.0] * 8
    values = leaves.field("egas")
    assert values.shape == (15, 8, 8, 8)
    assert np.array_equal(values[7], data[0:8, 0:8, 16:24])
    assert values[0, 0, 1, 2] == pytest.approx(data[0:2, 2:4, 4:6].mean())


def test_leaves_know_where_their_cells_are(refined):
    leaves = refined[0].leaves
    assert leaves.edges(0)[7].tolist() == np.linspace(0.0, 1.0, 9).tolist()
    assert leaves.centres(1)[7].tolist() == np.linspace(-2.0, -1.0, 17)[1::2].tolist()
    x, y, z = (leaves.coordinate(axis) for axis in range(3))
    assert (x.shape, y.shape, z.shape) == ((15, 1, 1, 8), (15, 1, 8, 1), (15, 8, 1, 1))
    assert leaves.radius()[7, 0, 0, 0] == pytest.approx(np.sqrt(0.0625**2 + 2 * 1.9375**2))


def test_integrals_and_means_weigh_cells_by_their_volume(refined):
    file, data = refined
    values = file.leaves.field("egas")
    assert file.leaves.integral(values) == pytest.approx(data.sum() * 0.125**3, rel=1e-14)
    assert file.leaves.mean(values) == pytest.approx(data.mean(), rel=1e-14)
    assert file.leaves.integral(np.ones_like(values)) == 64.0
    assert abs(values.mean() - data.mean()) > 1e-4  # without weights


@pytest.mark.parametrize("cells", [4, 8, 16, 32, 64])
def test_averages_over_another_mesh(refined, cells):
    file, data = refined
    merged = data.reshape(16, 2, 16, 2, 16, 2).mean(axis=(1, 3, 5)).repeat(2, 0).repeat(2, 1)
    expected = merged.repeat(2, 2)
    expected[:16, :16, 16:] = data[:16, :16, 16:]
    if cells > 32:
        expected = expected.repeat(2, 0).repeat(2, 1).repeat(2, 2)
    n = expected.shape[0] // cells
    expected = expected.reshape(cells, n, cells, n, cells, n).mean(axis=(1, 3, 5))
    found = file.leaves.averages(file.leaves.field("egas"), cells)
    assert np.abs(found - expected).max() < 1e-14


def test_averages_need_cells_that_fit(refined):
    file = refined[0]
    with pytest.raises(bad_plotfile, match="32³ cells do not merge into 12³"):
        file.leaves.averages(file.leaves.field("egas"), 12)


def test_a_field_repeats_coarse_values_where_the_level_has_no_grids(refined):
    file, data = refined
    fine = file.field("egas")
    assert np.array_equal(fine[:16, :16, 16:], data[:16, :16, 16:])
    repeated = np.kron(fine[16::2, 16::2, 16::2], np.ones((2,) * 3))
    assert np.array_equal(fine[16:, 16:, 16:], repeated)
    assert np.array_equal(fine[::2, ::2, ::2][8:], file.field("egas", 1)[8:])


def test_a_uniform_file_has_one_level_of_leaves(path, fields):
    leaves = plotfile(path).leaves
    assert plotfile(path).is_uniform
    assert leaves.level.tolist() == [1] * 8 and leaves.weight.tolist() == [1.0] * 8
    assert np.array_equal(leaves.averages(leaves.field("egas"), 16), fields["egas"])


def _grid(x, y, z):
    return box((x, y, z), (x + 7, y + 7, z + 7))


@pytest.mark.parametrize(
    "level, dropped, added, message",
    [
        (2, _grid(24, 8, 8), [], "level 1: finer grids cover a part of the grid at .1, 0, 0."),
        (1, _grid(8, 0, 0), [], "level 1: no grid below those of finer levels at .1, 0, 0."),
        (1, _grid(0, 0, 0), [], "level 0: finer grids cover a part of the grid at .0, 0, 0."),
        (0, _grid(0, 0, 0), [], "level 0: no grid below those of finer levels"),
        (2, _grid(16, 0, 0), [_grid(17, 0, 0)], "level 2: a grid is not at a multiple of 8"),
        (2, _grid(16, 0, 0), [_grid(24, 8, 8)], "level 2: two grids overlap"),
        (2, _grid(16, 0, 0), [_grid(32, 0, 0)], "level 2: a grid lies outside the domain"),
        (1, _grid(0, 0, 0), [box((0, 0, 0), (7, 7, 15))], "not cubes of one size"),
    ],
)
def test_grids_that_are_no_octree_are_refused(refined, level, dropped, added, message):
    file = refined[0]
    file.levels[level].boxes.remove(dropped)
    file.levels[level].boxes.extend(added)
    with pytest.raises(bad_plotfile, match=message):
        len(file.leaves)


def test_a_domain_that_is_not_covered_is_refused(tmp_path):
    fields = {name: np.ones((16,) * 3) for name in synthetic.CONSERVED}
    file = plotfile(synthetic.write(tmp_path / "plt", fields))
    file.levels.pop(0)
    assert len(file.leaves) == 8
    file.levels[0].boxes.pop()
    with pytest.raises(bad_plotfile, match="the grids of level 0 do not cover the domain"):
        len(plotfile.leaves.func(file))


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
