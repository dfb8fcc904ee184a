# SPDX-License-Identifier: Apache-2.0
"""The cells that a plotfile's state consists of: the grids that no finer grid covers."""

import math

import numpy as np
from errors import bad_plotfile


class leaves:
    """The leaves of the octree of a plotfile, level by level, in the file's order on each level.

    Arrays by leaf: `level` [leaf]; `place` [leaf][axis], the position among the leaves of its level
    (axis 0 is x); `dx` and `volume` of a cell [leaf]; `weight` [leaf], the volume of a cell as a
    multiple of the smallest one, which is exact.
    """

    def __init__(self, file):
        self._file = file
        self._chosen = _leaf_grids(file)
        self.edge = _edge(file)
        counts = [len(chosen) for chosen in self._chosen]
        self.level = np.repeat(np.arange(len(counts)), counts)
        places = [file.levels[n].boxes[i].lo for n, own in enumerate(self._chosen) for i in own]
        self.place = np.array(places) // self.edge
        sizes = np.array([level.dx[0] for level in file.levels])
        volumes = np.array([file.cell_volume(n) for n in range(len(counts))])
        self.dx, self.volume = sizes[self.level], volumes[self.level]
        self.weight = 8.0 ** (len(counts) - 1 - self.level)

    def __len__(self):
        return len(self.level)

    def field(self, name):
        """Returns the values of a field, [leaf][z][y][x]."""
        parts = [self._file.grids(name, n, own) for n, own in enumerate(self._chosen) if own]
        return np.concatenate(parts)

    def edges(self, axis):
        """Returns the cell boundaries along an axis, [leaf][cells + 1]."""
        return self._along(axis, self.edge + 1, self._file.edges)

    def centres(self, axis):
        """Returns the centres of the cells along an axis, [leaf][cells]."""
        return self._along(axis, self.edge, self._file.centres)

    def coordinate(self, axis):
        """Returns the centres along an axis in a shape that broadcasts with that of `field`."""
        shape = [len(self), 1, 1, 1]
        shape[3 - axis] = self.edge
        return self.centres(axis).reshape(shape)

    def radius(self):
        """Returns the distances of the cells from the origin, [leaf][z][y][x]."""
        x, y, z = (self.coordinate(axis) for axis in range(3))
        return np.sqrt(x * x + y * y + z * z)

    def _along(self, axis, count, positions):
        lines = [positions(level) for level in range(len(self._chosen))]
        begin = self.place[:, axis] * self.edge
        return np.array([lines[n][b : b + count] for n, b in zip(self.level, begin)])

    def of_lines(self, axis, function):
        """Returns a function of one coordinate on all cells, in a shape that broadcasts with that
        of `field`. `function` gets the boundaries of the cells of a level along the whole domain
        and returns a value for each cell."""
        shape = [1, 1, 1]
        shape[2 - axis] = -1
        return self.of_levels(lambda edges: np.reshape(function(edges), shape))

    def of_levels(self, function):
        """Returns a function of the place on all cells, in a shape that broadcasts with that of
        `field`. `function` gets the boundaries of the cells of a level along an edge of the domain
        and returns an array that broadcasts to the whole level, [z][y][x]."""
        parts = []
        for level in np.unique(self.level):
            whole = function(self._file.edges(level))
            for place in self.place[self.level == level]:
                spans = [slice(b, b + self.edge) for b in place[::-1] * self.edge]
                parts.append(whole[tuple(s if n > 1 else slice(None)
                                         for s, n in zip(spans, whole.shape))])
        return np.array(parts)

    def integral(self, values):
        """Returns the integral over the domain of values [leaf][z][y][x]; the sum over the cells is
        correctly rounded."""
        return math.fsum((values * self._by_cell(self.volume)).ravel())

    def mean(self, values):
        """Returns the mean over the domain of values [leaf][z][y][x]; the sums are correctly
        rounded."""
        sum_of_all = math.fsum((values * self._by_cell(self.weight)).ravel())
        return sum_of_all / (float(self.weight.sum()) * self.edge**3)

    def at_middle(self, axis):
        """Returns two masks [leaf]: the leaves that touch the plane through the middle of the
        domain from below and from above along an axis."""
        middle = 1 << self.level
        below = 2 * (self.place[:, axis] + 1) == middle
        return below, 2 * self.place[:, axis] == middle

    def middle_plane(self, values):
        """Returns values [leaf][z][y][x] in the plane z = 0 of the domain as an array [y][x] of the
        smallest cells. The plane is between two layers of cells: the mean of both, unless the
        domain is one leaf, whose middle is inside it."""
        cells = self._file.cells
        if len(self) == 1:
            return 0.5 * (values[0, self.edge // 2 - 1] + values[0, self.edge // 2])
        out = np.zeros((cells, cells))
        for leaves, layer in zip(self.at_middle(2), (self.edge - 1, 0)):
            for n in np.flatnonzero(leaves):
                step = cells // self._file.levels[self.level[n]].cells
                size = self.edge * step
                x, y = (slice(b, b + size) for b in self.place[n, :2] * size)
                out[y, x] += 0.5 * values[n, layer].repeat(step, 0).repeat(step, 1)
        return out

    @staticmethod
    def _by_cell(values):
        return values[:, None, None, None]

    def averages(self, values, cells):
        """Returns values [leaf][z][y][x] as averages over a mesh of cells³ cells, [z][y][x]. Leaves
        with larger cells give each of the mesh's cells the value of the cell around it. Raises
        `bad_plotfile` if the edges of the cells do not coincide."""
        sizes = {self._file.levels[n].cells for n in np.unique(self.level)}
        if any(n % cells and cells % n for n in sizes):
            raise bad_plotfile(f"{self._file.path}: {self._file.cells}³ cells do not merge into"
                               f" {cells}³")
        out = np.zeros((cells,) * 3)
        for n in range(len(self._chosen)):
            own = self.level == n
            _add_averages(out, values[own], self.place[own], self._file.levels[n].cells)
        return out


def _add_averages(out, values, places, cells):
    """Adds the share of the leaves of a level with cells³ cells to averages over a mesh."""
    edge, wanted = values.shape[-1] if len(values) else 1, out.shape[0]
    for data, place in zip(values, places):
        if cells >= wanted:
            step = cells // wanted
            inner = min(step, edge)  # cells of the leaf along an edge of a cell of the mesh
            n = edge // inner
            data = data.reshape(n, inner, n, inner, n, inner).mean(axis=(1, 3, 5))
            data = data * (inner / step) ** 3
            begin = place * edge // step
        else:
            step = wanted // cells
            data = data.repeat(step, 0).repeat(step, 1).repeat(step, 2)
            begin = place * edge * step
        x, y, z = (slice(b, b + data.shape[0]) for b in begin)
        out[z, y, x] += data


def _edge(file):
    """Returns the number of cells along an edge of all grids."""
    shapes = {grid.shape for level in file.levels for grid in level.boxes}
    if len(shapes) != 1 or len(set(next(iter(shapes)))) != 1:
        raise bad_plotfile(f"{file.path}: the grids are not cubes of one size")
    return next(iter(shapes))[0]


def _leaf_grids(file):
    """Returns, for each level, the numbers of its grids that are leaves. Raises `bad_plotfile`
    unless the grids are the nodes of an octree."""
    edge = _edge(file)
    chosen, children = [], {}
    for number, level in reversed(list(enumerate(file.levels))):
        if any(origin % edge for grid in level.boxes for origin in grid.lo):
            raise bad_plotfile(f"{file.path}: level {number}: a grid is not at a multiple of"
                               f" {edge}")
        keys = [tuple(origin // edge for origin in grid.lo) for grid in level.boxes]
        if len(set(keys)) != len(keys):
            raise bad_plotfile(f"{file.path}: level {number}: two grids overlap")
        if any(not 0 <= k < level.cells // edge for key in keys for k in key):
            raise bad_plotfile(f"{file.path}: level {number}: a grid lies outside the domain")
        for key in children.keys() - set(keys):
            raise bad_plotfile(f"{file.path}: level {number}: no grid below those of finer levels"
                               f" at {key}")
        for key, count in children.items():
            if count != 8:
                raise bad_plotfile(f"{file.path}: level {number}: finer grids cover a part of the"
                                   f" grid at {key}")
        chosen.insert(0, [i for i, key in enumerate(keys) if key not in children])
        children = {}
        for key in keys:
            parent = tuple(k // 2 for k in key)
            children[parent] = children.get(parent, 0) + 1
    if len(file.levels[0].boxes) * edge**3 != file.levels[0].cells ** 3:
        raise bad_plotfile(f"{file.path}: the grids of level 0 do not cover the domain")
    return chosen
