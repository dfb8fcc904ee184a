# SPDX-License-Identifier: Apache-2.0
"""Writes plotfiles from arrays: test data that is made without the simulation."""

import json
from pathlib import Path

import numpy as np

SPECIES = [f"species{i}" for i in range(5)]
CONSERVED = ["density", "egas", "tau", "pot", "sx", "sy", "sz", "lx", "ly", "lz", *SPECIES]
EDGE = 8
_REAL = "((8, (64 11 52 0 1 12 0 1023)),(8, (8 7 6 5 4 3 2 1)))"


def state(density, energy):
    """Returns the 15 fields of a gas at rest from its density and total energy, arrays
    [z][y][x]."""
    fields = {name: np.zeros_like(density) for name in CONSERVED}
    fields["density"], fields["egas"], fields["species0"] = density, energy, density
    return fields


def refined_octant(octant):
    """Returns the nodes for `unrefined` of which only the octant (x, y, z) has finer levels."""
    return [(1, *place) for place in np.ndindex(2, 2, 2) if place != octant]


def restrict(data):
    """Returns the next coarser level: means of 2^3 cells of data [field][z][y][x]."""
    f, n = data.shape[0], data.shape[1] // 2
    return data.reshape(f, n, 2, n, 2, n, 2).mean(axis=(2, 4, 6))


def write(path, fields, *, time=0.0, step=0, xscale=1.0, unrefined=(), **metadata):
    """Writes {name: array [z][y][x]} as a plotfile of 8^3 grids with all coarser levels.

    The nodes in `unrefined`, each (level, x, y, z), are leaves: the finer grids inside them are
    left out.
    """
    path = Path(path)
    data = np.stack(list(fields.values()))
    levels = [data]
    while levels[0].shape[1] > EDGE:
        levels.insert(0, restrict(levels[0]))
    grids = [_grids(number, level, unrefined) for number, level in enumerate(levels)]
    path.mkdir(parents=True)
    for number, level in enumerate(levels):
        _write_level(path / f"Level_{number}", level, grids[number])
    header = _header(list(fields), levels, grids, time, step, xscale)
    (path / "Header").write_text("\n".join(header) + "\n")
    record = {"problem": "blast", "gamma": 1.4, "time": time, "step": step, **metadata}
    record.setdefault("outflow", dict.fromkeys(CONSERVED, 0.0))
    (path / "stars.json").write_text(json.dumps(record))
    return path


def _grids(number, level, unrefined):
    """Returns the origins (x, y, z) of the grids of a level, in cells."""
    starts = range(0, level.shape[1], EDGE)
    all_of_level = [(x, y, z) for z in starts for y in starts for x in starts]
    return [origin for origin in all_of_level if not _is_inside(number, origin, unrefined)]


def _is_inside(number, origin, unrefined):
    """Returns whether a grid is inside a node of a coarser level."""
    return any(
        level < number and tuple(o // EDGE >> (number - level) for o in origin) == tuple(place)
        for level, *place in unrefined
    )


def _box(origin):
    x, y, z = origin
    last = EDGE - 1
    return f"(({x},{y},{z}) ({x + last},{y + last},{z + last}) (0,0,0))"


def _write_level(directory, level, grids):
    directory.mkdir()
    components = level.shape[0]
    places = []
    with open(directory / "Cell_D_00000", "wb") as content:
        for x, y, z in grids:
            places.append(f"FabOnDisk: Cell_D_00000 {content.tell()}")
            content.write(f"FAB {_REAL}{_box((x, y, z))} {components}\n".encode())
            grid = level[:, z : z + EDGE, y : y + EDGE, x : x + EDGE]
            content.write(np.ascontiguousarray(grid, "<f8").tobytes())
    boxes = [_box(g) for g in grids]
    text = ["1", "1", str(components), "0", f"({len(boxes)} 0", *boxes, ")", str(len(boxes))]
    (directory / "Cell_H").write_text("\n".join(text + places) + "\n")


def _header(names, levels, grids, time, step, xscale):
    finest = len(levels) - 1
    out = ["HyperCLaw-V1.1", str(len(names)), *names, "3", repr(time), str(finest)]
    out += [" ".join([repr(-xscale)] * 3), " ".join([repr(xscale)] * 3)]
    out.append(" ".join(["2"] * finest))
    sizes = [level.shape[1] for level in levels]
    out.append(" ".join(f"((0,0,0) ({n - 1},{n - 1},{n - 1}) (0,0,0))" for n in sizes))
    out.append(" ".join([str(step)] * len(levels)))
    out += [" ".join([repr(2.0 * xscale / n)] * 3) for n in sizes] + ["0", "0"]
    for number, level in enumerate(levels):
        dx = 2.0 * xscale / level.shape[1]
        out += [f"{number} {len(grids[number])} {time!r}", str(step)]
        for origin in grids[number]:
            out += [f"{-xscale + dx * o!r} {-xscale + dx * (o + EDGE)!r}" for o in origin]
        out.append(f"Level_{number}/Cell")
    return out
