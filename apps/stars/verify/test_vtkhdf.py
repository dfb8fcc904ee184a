# SPDX-License-Identifier: Apache-2.0
"""Compares VTKHDF files of the simulation, as VTK reads them, with plotfiles of the same states.

The environment variable STARS_VTKHDF has pairs of paths, of a plotfile and of a VTKHDF file,
separated by colons.
"""

import os

import numpy as np
import pytest
from plotfile import plotfile

REFINED = 8  # vtkDataSetAttributes.REFINEDCELL: a finer cell is in place of this one


_LISTED = os.environ.get("STARS_VTKHDF", "").split(":")
PAIRS = list(zip(_LISTED[::2], _LISTED[1::2]))


@pytest.fixture(scope="module", params=PAIRS or [None])
def paths(request):
    if request.param is None:
        pytest.skip("built without HDF5, or not run by ctest")
    return request.param


@pytest.fixture(scope="module")
def file(paths):
    return plotfile(paths[0])


@pytest.fixture(scope="module")
def dataset(paths):
    vtk = pytest.importorskip("vtk", reason="vtk is optional: requirements-dev.txt")
    reader = vtk.vtkHDFReader()
    reader.SetFileName(paths[1])
    reader.SetMaximumLevelsToReadByDefaultForAMR(0)  # all levels
    reader.Update()
    return reader.GetOutputDataObject(0)


def _boxes(dataset, level):
    one = getattr(dataset, "GetDataSetAsImageData", dataset.GetDataSet)
    count = getattr(dataset, "GetNumberOfBlocks", getattr(dataset, "GetNumberOfDataSets", None))
    return [one(level, n) for n in range(count(level))]


def _values(box, name):
    from vtk.util.numpy_support import vtk_to_numpy

    return vtk_to_numpy(box.GetCellData().GetArray(name))


def test_levels_and_boxes_are_those_of_the_plotfile(file, dataset):
    assert dataset.GetClassName() == "vtkOverlappingAMR"
    assert dataset.GetNumberOfLevels() == len(file.levels) > 2
    for number, level in enumerate(file.levels):
        boxes = _boxes(dataset, number)
        assert len(boxes) == len(level.boxes)
        for box, grid in zip(boxes, level.boxes):
            origin = [low + d * i for low, d, i in zip(file.lo, level.dx, grid.lo)]
            assert box.GetOrigin() == tuple(origin)
            assert box.GetSpacing() == level.dx
            assert box.GetDimensions() == tuple(n + 1 for n in grid.shape)


def test_every_field_has_the_bits_of_the_plotfile(file, dataset):
    for number in range(len(file.levels)):
        boxes = _boxes(dataset, number)
        for name in file.names:
            expected = file.grids(name, number)
            for box, grid in zip(boxes, expected):
                assert np.array_equal(_values(box, name), grid.ravel()), (number, name)


def test_vtk_sees_which_cells_are_refined(file, dataset):
    leaves = file.leaves
    for number, level in enumerate(file.levels):
        hidden = np.stack([_values(b, "vtkGhostType") & REFINED for b in _boxes(dataset, number)])
        own = {tuple(place) for place in leaves.place[leaves.level == number].tolist()}
        for flags, grid in zip(hidden, level.boxes):
            is_leaf = tuple(origin // 8 for origin in grid.lo) in own
            assert set(flags.tolist()) == ({0} if is_leaf else {REFINED})


def test_a_file_of_another_state_is_noticed(file, dataset):
    box = _boxes(dataset, len(file.levels) - 1)[0]
    expected = file.grids("density", -1)[0].ravel().copy()
    assert np.array_equal(_values(box, "density"), expected)
    expected[100] = np.nextafter(expected[100], 2.0)
    assert not np.array_equal(_values(box, "density"), expected)
