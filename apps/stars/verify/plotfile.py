# SPDX-License-Identifier: Apache-2.0
"""A small reader of AMReX plotfiles (https://amrex-codes.github.io/amrex/docs_html/IO.html).

It is written from the format alone and shares no code with the writer, so it detects mistakes of
the writer. Every fault of a file becomes a `bad_plotfile` that names the file and the fault.
"""

import functools
import json
import math
import mmap
import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from errors import bad_plotfile
from leaves import leaves

METADATA_NAME = "stars.json"
_INTEGERS = re.compile(r"-?\d+")
_FAB_HEADER = re.compile(
    rb"FAB \(\((\d+), \(([\d ]+)\)\),\((\d+), \(([\d ]+)\)\)\)"
    rb"\(\(([-\d,]+)\) \(([-\d,]+)\) \(([-\d,]+)\)\) (\d+)\n"
)


@dataclass(frozen=True)
class box:
    """Cells lo..hi, both inclusive, in the index space of one level; (x, y, z) order."""

    lo: tuple
    hi: tuple

    @property
    def shape(self):
        """Numpy shape (z, y, x)."""
        return tuple(high - low + 1 for low, high in zip(reversed(self.lo), reversed(self.hi)))

    def slices(self, origin):
        pairs = zip(reversed(self.lo), reversed(self.hi), reversed(origin))
        return tuple(slice(low - start, high - start + 1) for low, high, start in pairs)


@dataclass(frozen=True)
class level_info:
    domain: box
    dx: tuple
    step: int
    boxes: list
    directory: Path

    @property
    def cells(self):
        """The number of cells along an edge of the domain."""
        return self.domain.shape[2]


class _lines:
    """Reads a text header line by line; errors name the expected content."""

    def __init__(self, path):
        self.path = path
        try:
            self._lines = path.read_text(encoding="ascii").split("\n")
        except (OSError, UnicodeDecodeError) as error:
            raise bad_plotfile(f"{path}: cannot read: {error}") from error
        self._next = 0

    def line(self, what):
        if self._next >= len(self._lines):
            raise bad_plotfile(f"{self.path}: ends where {what} is expected")
        self._next += 1
        return self._lines[self._next - 1].strip()

    def numbers(self, what, count, kind):
        text = self.line(what)
        try:
            values = [kind(word) for word in text.split()]
        except ValueError:
            values = []
        if len(values) < count:
            raise self.fault(f"{what}: expected {count} number(s), found '{text}'")
        return values[:count]

    def integer(self, what):
        return self.numbers(what, 1, int)[0]

    def fault(self, text):
        return bad_plotfile(f"{self.path}:{self._next}: {text}")


def _boxes(text):
    """Returns the boxes ((lo) (hi) (type)) in a line."""
    values = [int(v) for v in _INTEGERS.findall(text)]
    groups = [values[i : i + 9] for i in range(0, len(values) - len(values) % 9, 9)]
    return [box(tuple(g[0:3]), tuple(g[3:6])) for g in groups]


class plotfile:
    """An open plotfile: `time`, `step`, `names`, `levels`, `metadata`, `leaves` (the state),
    `grids(name, level)` (as stored) and `field(name, level)` (the domain as one array). Files are
    mapped into memory; only the requested fields are read."""

    def __init__(self, path):
        self.path = Path(path)
        if not (self.path / "Header").is_file():
            raise bad_plotfile(f"{self.path}: not a plotfile (a directory with a file 'Header')")
        self._read_header(_lines(self.path / "Header"))
        self.metadata = self._read_metadata()
        self._fields, self._levels = {}, {}

    def _read_header(self, text):
        version = text.line("the format name")
        if not version.startswith("HyperCLaw"):
            raise text.fault(f"unknown format '{version}', expected HyperCLaw-V1.1")
        self.names = [text.line("a field name") for _ in range(text.integer("the field count"))]
        dimensions = text.integer("the dimension")
        if dimensions != 3:
            raise text.fault(f"{dimensions}-dimensional, only 3 dimensions are supported")
        self.time = text.numbers("the time", 1, float)[0]
        finest = text.integer("the finest level")
        self.lo = tuple(text.numbers("the lower corner", 3, float))
        self.hi = tuple(text.numbers("the upper corner", 3, float))
        self.ratios = text.numbers("the refinement ratios", finest, int)
        domains = _boxes(text.line("the domain boxes"))
        if len(domains) != finest + 1:
            raise text.fault(f"{len(domains)} domain boxes for {finest + 1} levels")
        steps = text.numbers("the steps of the levels", finest + 1, int)
        spacing = [tuple(text.numbers("a cell size", 3, float)) for _ in domains]
        if text.integer("the coordinate system") != 0:
            raise text.fault("only Cartesian coordinates are supported")
        text.line("the boundary width")
        self.levels = [
            self._read_level(text, number, domains[number], spacing[number], steps[number])
            for number in range(finest + 1)
        ]
        self.step = steps[-1]

    def _read_level(self, text, number, domain, dx, step):
        level, grids, time = text.numbers("level, grids and time", 3, float)
        if (int(level), time) != (number, self.time):
            raise text.fault(f"level {number} at t={self.time} expected, found {level} at t={time}")
        text.line("the step of the level")
        boxes = []
        for _ in range(int(grids)):
            extent = [text.numbers("the bounds of a grid", 2, float) for _ in range(3)]
            pairs = list(zip(extent, self.lo, dx))
            lo = tuple(round((e[0] - o) / d) for e, o, d in pairs)
            hi = tuple(round((e[1] - o) / d) - 1 for e, o, d in pairs)
            boxes.append(box(lo, hi))
        directory = self.path / Path(text.line("the path of the level")).parent
        return level_info(domain, dx, step, boxes, directory)

    def _read_metadata(self):
        """Returns the simulation's own record, or {} if there is none."""
        path = self.path / METADATA_NAME
        if not path.exists():
            return {}
        try:
            record = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError, ValueError) as error:
            raise bad_plotfile(f"{path}: cannot read: {error}") from error
        if not isinstance(record, dict):
            raise bad_plotfile(f"{path}: expected a JSON object")
        return record

    def require(self, key):
        """Returns an entry of the metadata; raises `bad_plotfile` if it is missing."""
        if key not in self.metadata:
            raise bad_plotfile(f"{self.path / METADATA_NAME}: no entry '{key}'")
        return self.metadata[key]

    @property
    def cells(self):
        """The number of cells along an edge of the domain on the finest level."""
        return self.levels[-1].cells

    @property
    def is_uniform(self):
        """Whether all leaves are of one level."""
        return len(self.levels[-1].boxes) == len(self.leaves)

    @functools.cached_property
    def leaves(self):
        """The cells of the state, as a `leaves`."""
        return leaves(self)

    def cell_volume(self, level=-1):
        return math.prod(self.levels[level].dx)

    def edges(self, level=-1):
        """Returns the cell boundaries along x."""
        n = self.levels[level].cells
        return self.lo[0] + (self.hi[0] - self.lo[0]) / n * np.arange(n + 1)

    def centres(self, level=-1):
        edges = self.edges(level)
        return 0.5 * (edges[1:] + edges[:-1])

    def grids(self, name, level, which=None):
        """Returns the values of a field in the grids of a level as stored, [grid][z][y][x]: of all
        grids, or of those with the numbers `which`. All grids must have one size."""
        stored = self._stored(range(len(self.levels))[level])
        number = self._number(name)
        which = range(len(stored)) if which is None else which
        return np.stack([stored[i][number] for i in which])

    def field(self, name, level=-1):
        """Returns a field in the whole domain as an array [z][y][x] of the cells of a level, which
        is cached. Where the level has no grids, the values of coarser grids are repeated."""
        level = range(len(self.levels))[level]
        number = self._number(name)
        if (level, number) not in self._fields:
            self._fields[level, number] = self._assembled(name, level)
        return self._fields[level, number]

    def _number(self, name):
        if name not in self.names:
            known = " ".join(self.names)
            raise bad_plotfile(f"{self.path}: no field '{name}' (it has: {known})")
        return self.names.index(name)

    def _assembled(self, name, level):
        info, number = self.levels[level], self._number(name)
        covered = np.zeros(info.domain.shape, dtype=bool)
        data = np.empty(info.domain.shape)
        for cells, values in zip(info.boxes, self._stored(level)):
            where = cells.slices(info.domain.lo)
            if any(s.start < 0 or s.stop > n for s, n in zip(where, info.domain.shape)):
                raise bad_plotfile(f"{info.directory}: a grid lies outside the domain")
            if covered[where].any():
                raise bad_plotfile(f"{info.directory}: two grids overlap at {cells}")
            covered[where] = True
            data[where] = values[number]
        if covered.all():
            return data
        self.leaves  # noqa: B018  (checks that the grids are those of an octree)
        coarse = self._assembled(name, level - 1)
        return np.where(covered, data, coarse.repeat(2, 0).repeat(2, 1).repeat(2, 2))

    def _stored(self, level):
        """Returns the grids of a level, arrays [field][z][y][x] in mapped memory."""
        if level not in self._levels:
            self._levels[level] = self._open(self.levels[level])
        return self._levels[level]

    def _open(self, info):
        contents, found = {}, []
        for cells, name, offset in self._grids(info):
            if name not in contents:
                contents[name] = self._mapped(info.directory / name)
            found.append(self._fab(contents[name], offset, cells, info.directory / name))
        return found

    @staticmethod
    def _mapped(path):
        try:
            with open(path, "rb") as file:
                return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except (OSError, ValueError) as error:
            raise bad_plotfile(f"{path}: cannot read: {error}") from error

    def _grids(self, info):
        """Yields (box, file name, offset) of every grid, from the level's Cell_H."""
        text = _lines(info.directory / "Cell_H")
        text.line("the version")
        text.line("the layout")
        components = text.integer("the component count")
        if components != len(self.names):
            raise text.fault(f"{components} components, the main header says {len(self.names)}")
        if text.line("the ghost width") not in ("0", "(0,0,0)"):
            raise text.fault("ghost cells are not supported")
        count = int(_INTEGERS.findall(text.line("the grid count"))[0])
        boxes = [b for _ in range(count) for b in _boxes(text.line("a box"))]
        text.line("the closing parenthesis")
        if boxes != info.boxes or text.integer("the grid count") != count:
            raise text.fault("the boxes differ from those of the main header")
        if len(set(boxes)) < count:
            raise text.fault("two grids overlap: a box is listed twice")
        for cells in boxes:
            words = text.line("the place of a grid").split()
            if len(words) != 3 or words[0] != "FabOnDisk:" or not words[2].isdigit():
                raise text.fault(f"'FabOnDisk: FILE OFFSET' expected, found '{' '.join(words)}'")
            yield cells, words[1], int(words[2])

    def _fab(self, content, offset, cells, path):
        match = _FAB_HEADER.match(content, offset)
        if not match:
            raise bad_plotfile(f"{path}: no FAB header at byte {offset}")
        if match[1] != b"8" or match[2] != b"64 11 52 0 1 12 0 1023":
            raise bad_plotfile(f"{path}: only 64-bit IEEE numbers are supported")
        order = {b"8 7 6 5 4 3 2 1": "<f8", b"1 2 3 4 5 6 7 8": ">f8"}.get(match[4])
        if order is None:
            raise bad_plotfile(f"{path}: unknown byte order '{match[4].decode()}'")
        lo, hi = (tuple(int(v) for v in match[i].split(b",")) for i in (5, 6))
        if (box(lo, hi), int(match[8])) != (cells, len(self.names)):
            raise bad_plotfile(f"{path}: the FAB at byte {offset} is not the one Cell_H announces")
        shape = (len(self.names), *cells.shape)
        count = math.prod(shape)
        if len(content) < match.end() + 8 * count:
            raise bad_plotfile(f"{path}: truncated in the FAB at byte {offset}")
        return np.frombuffer(content, order, count, match.end()).reshape(shape)
