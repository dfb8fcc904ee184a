#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks a simulation by the plotfiles that it wrote.

Every subcommand prints a table; exit code 0: every check held, 1: one failed, 2: bad usage or file.
"""

import argparse
import sys

import judge
import published
from plotfile import bad_plotfile, plotfile
from report import report


def conservation(args):
    first, last = plotfile(args.first), plotfile(args.last)
    if last.step <= first.step:
        raise bad_plotfile(f"{last.path}: step {last.step} does not come after {first.step}")
    out = report("conservation", first=str(args.first), last=str(args.last))
    out.note("steps", last.step - first.step)
    for label, name in (("mass drift", judge.DENSITY), ("energy drift", "egas")):
        out.at_most(label, judge.drift(first, last, name), args.max_drift)
    for name in (n for n in first.names if n.startswith("species")):
        out.at_most(f"{name} drift", judge.drift(first, last, name), args.max_drift)
    drifts = {} if args.skip_momentum else judge.momentum_drifts(first, last)
    for name, drift in drifts.items():
        out.at_most(f"{name} drift over √(2 mass energy)", drift, args.max_drift)
    return out


def symmetry(args):
    file = plotfile(args.plotfile)
    worst, where = judge.asymmetry(file, args.field)
    out = report("symmetry", plotfile=str(args.plotfile), field=args.field)
    out.at_most(f"{args.field} asymmetry", worst, args.max_difference)
    if where:
        axes, flips = where
        image = "".join("zyx"[a] for a in axes)
        mirrored = "".join("zyx"[f] for f in flips)
        out.note("worst symmetry", f"zyx→{image}" + (f", {mirrored} mirrored" if mirrored else ""))
    return out


def sod(args):
    file = plotfile(args.plotfile)
    out = report("sod", plotfile=str(args.plotfile))
    out.note("cells along an edge", file.cells)
    out.note("time", file.time)
    l1 = judge.sod_l1(file, args.normal)
    if args.norm == "exact":
        out.at_most("density L1", l1, args.max_l1)
    else:
        out.note("density L1, exact averages", l1)
        out.at_most("density L1, Octo-Tiger's norm", judge.sod_reference_norm(file), args.max_l1)
    return out


def _convergence(out, files, errors, args, where=""):
    """Adds the rows that the convergence checks share; the files are ordered coarse to fine."""
    sizes = [file.cells for file in files]
    for n, error in zip(sizes, errors):
        out.note(f"density L1 at {n}³{where}", error)
    for i in range(1, len(files)):
        pair = judge.order(errors[i - 1 : i + 1], sizes[i - 1 : i + 1])
        out.note(f"order {sizes[i - 1]}³ → {sizes[i]}³", pair)
    out.at_least("order", judge.order(errors, sizes), args.min_order)
    if args.max_l1 is not None:
        out.at_most("density L1 of the finest", errors[-1], args.max_l1)


def _coarse_to_fine(paths):
    files = [plotfile(path) for path in paths]
    if len(files) < 2:
        raise bad_plotfile("an order needs at least two plotfiles")
    for a, b in zip(files, files[1:]):
        if b.cells <= a.cells:
            raise bad_plotfile(f"{b.path}: {b.cells}³ cells; give the files coarse to fine")
        if abs(a.time - b.time) > 1e-12 * max(abs(a.time), abs(b.time)):
            raise bad_plotfile(f"{b.path}: time {b.time}, but {a.path} has {a.time}")
    return files


def linear_wave(args):
    files = _coarse_to_fine(args.plotfiles)
    out = report("linear wave", plotfiles=[str(p) for p in args.plotfiles])
    wave = (args.amplitude, args.speed, "xyz".index(args.axis))
    errors = [judge.linear_wave_l1(file, *wave) for file in files]
    _convergence(out, files, errors, args)
    return out


def uniform_flow(args):
    file = plotfile(args.plotfile)
    worst, field = judge.uniform_flow_difference(file, args.speed, args.polar, args.azimuth)
    out = report("uniform flow", plotfile=str(args.plotfile))
    out.note("field with the largest difference", field)
    out.at_most("largest difference", worst, args.max_difference)
    return out


def vortex(args):
    files = _coarse_to_fine(args.plotfiles)
    out = report("vortex", plotfiles=[str(p) for p in args.plotfiles])
    flow = (args.strength, args.radius, args.speed, args.azimuth)
    errors = [judge.vortex_l1(file, *flow) for file in files]
    _convergence(out, files, errors, args)
    return out


def _growth(out, file, found, expected, limit):
    """Adds the rows that the checks of instabilities share."""
    out.note("time", file.time)
    out.note("amplitude of the mode", found)
    out.note("amplitude by the linearised equations", expected)
    out.at_most("relative difference", abs(found / expected - 1.0), limit)
    return out


def kelvin_helmholtz(args):
    file = plotfile(args.plotfile)
    out = report("Kelvin-Helmholtz", plotfile=str(args.plotfile))
    modes = judge.shear_modes(file, args.amplitude, args.width)
    return _growth(out, file, *modes, args.max_difference)


def rayleigh_taylor(args):
    file = plotfile(args.plotfile)
    out = report("Rayleigh-Taylor", plotfile=str(args.plotfile))
    modes = judge.layer_modes(file, args.amplitude, args.width, args.gravity)
    return _growth(out, file, *modes, args.max_difference)


def blast(args):
    files = _coarse_to_fine(args.plotfiles)
    out = report("blast", plotfiles=[str(p) for p in args.plotfiles])
    cells = files[0].cells if args.mesh == "coarsest" else None
    gas = (args.gamma, args.energy, cells)
    if args.ball:
        out.note("compared with the explosion of a ball of radius", args.radius)
        errors = [judge.ball_l1(file, args.radius, *gas) for file in files]
    else:
        time = judge.blast_time(files[0], args.time_offset, args.radius)
        out.note("compared with the point explosion at t", time)
        errors = [judge.blast_l1(file, time, *gas) for file in files]
    _convergence(out, files, errors, args, f", as {cells}³ cells" if cells else "")
    return out


def blast_profile(args):
    """Compares one file with the similarity solution, which detects errors that keep conservation
    and symmetry."""
    file = plotfile(args.plotfile)
    time = judge.blast_time(file, args.time_offset, args.radius)
    out = report("blast profile", plotfile=str(args.plotfile))
    out.note("compared with the point explosion at t", time)
    out.at_most("density L1", judge.blast_l1(file, time, args.gamma, args.energy), args.max_l1)
    return out


def blast_periodic(args):
    """Compares a blast in a periodic box with an independent calculation of an octant between
    reflecting walls. The limits are that calculation's own errors, not figures of the program."""
    file = plotfile(args.plotfile)
    gamma = float(file.metadata.get("gamma", 1.4)) if args.gamma is None else args.gamma
    cells = file.cells // 2
    density = judge.density_on(file, cells)
    fine, coarse = judge.box_references(file, args.radius, gamma, args.energy)
    out = report("blast in a periodic box", plotfile=str(args.plotfile))
    out.note("time", file.time)
    leaves, volume = file.leaves, (file.hi[0] - file.lo[0]) ** 3
    for name, amount in ((judge.DENSITY, volume), ("egas", args.energy)):
        change = leaves.integral(leaves.field(name)) / amount - 1.0
        out.at_most(f"{name}: change of the total", abs(change), args.max_drift)
    worst, _ = judge.asymmetry(file, judge.DENSITY)
    out.at_most("density asymmetry", worst, args.max_difference)
    out.at_most(f"density L1 from the walled octant, as {cells}³ cells",
                judge.l1_norm(density, fine), judge.reference_error(fine, coarse))
    time = judge.blast_time(file, args.time_offset, args.radius)
    solution = judge.sedov_solution(gamma)
    front = solution.shock_radius(time, args.energy) / file.hi[0]
    out.note("radius of a free front over half the edge", front)
    if front < 0.9:  # nothing has come back from the faces: a front has a few cells
        exact = solution.density_average(cells, file.hi[0], time, args.energy)
        out.at_most(f"density L1 from the similarity solution, as {cells}³ cells",
                    judge.l1_norm(density, exact), judge.l1_norm(fine, exact))
    return out


def blast_norms(args):
    """Compares the norms of one blast with those that Octo-Tiger prints."""
    file = plotfile(args.plotfile)
    found = published.blast_norms(file)
    out = report("blast, published norms", plotfile=str(args.plotfile))
    out.note("finest cells along an edge", file.cells)
    out.note("cells", len(file.leaves) * file.leaves.edge**3)
    for name, norms in found.items():
        for norm, ours, printed in zip(("L1", "L2"), norms, published.BLAST[file.cells][name]):
            out.note(f"{name} {norm}", ours)
            out.note(f"{name} {norm}, printed", printed)
            out.at_most(f"{name} {norm}: relative difference", abs(ours / printed - 1.0),
                        args.max_difference)
    return out


def blast_levels(args):
    """Compares the errors and the cells of a refined mesh with those of a uniform one."""
    refined, uniform = plotfile(args.refined), plotfile(args.uniform)
    if refined.cells != uniform.cells:
        raise bad_plotfile(f"{uniform.path}: {uniform.cells} finest cells along an edge, but"
                           f" {refined.path} has {refined.cells}")
    a, b = published.blast_norms(refined), published.blast_norms(uniform)
    out = report("blast, refined and uniform", refined=str(args.refined), uniform=str(args.uniform))
    out.at_most("cells over those of the uniform mesh",
                len(refined.leaves) * refined.leaves.edge**3 / uniform.cells**3, args.max_cells)
    for name in a:
        for norm, ours, other in zip(("L1", "L2"), a[name], b[name]):
            out.at_most(f"{name} {norm} over that of the uniform mesh", ours / other,
                        args.max_ratio)
    return out


def compare(args):
    a, b = plotfile(args.a), plotfile(args.b)
    judge.same_mesh(a, b)
    out = report("compare", a=str(args.a), b=str(args.b))
    out.equal("fields", " ".join(b.names), " ".join(a.names))
    out.equal("step", b.step, a.step)
    if a.names != b.names:
        return out
    if args.tolerance is None:
        out.equal("time", b.time, a.time)
    else:
        apart = abs(a.time - b.time) / max(abs(a.time), 1e-300)
        out.at_most("time, relative difference", apart, args.tolerance)
    for name in a.names:
        u, v = a.leaves.field(name), b.leaves.field(name)
        if args.tolerance is None:
            out.equal(f"{name}: values that differ", judge.different_values(u, v), 0)
        else:
            out.at_most(f"{name}: largest difference", judge.difference(u, v), args.tolerance)
    return out


def _blast_options(command):
    command.add_argument("--energy", type=float, default=1.0, help="energy of the explosion")
    command.add_argument("--gamma", type=float, help="compare with this γ, not the file's own")
    command.add_argument(
        "--radius", type=float, default=judge.BLAST_RADIUS, help="radius of the energised sphere"
    )
    command.add_argument(
        "--time-offset",
        type=float,
        help="age of the point explosion at the start (default: 7e-4 scaled by the radius)",
    )


def _parser():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(required=True, metavar="CHECK")

    def add(name, function, text):
        command = commands.add_parser(name, help=text, description=text)
        command.add_argument("--json", metavar="FILE", help="write the results there as well")
        command.set_defaults(run=function)
        return command

    c = add("conservation", conservation, "drift of mass, energy, species and momentum")
    c.add_argument("first")
    c.add_argument("last")
    c.add_argument("--max-drift", type=float, default=5e-15)
    c.add_argument("--skip-momentum", action="store_true",
                   help="for runs with gravity, a rotating grid or floors")
    c = add("symmetry", symmetry, "a field under the 48 symmetries of the cube")
    c.add_argument("plotfile")
    c.add_argument("--field", default=judge.DENSITY)
    c.add_argument("--max-difference", type=float, default=1e-13)
    c = add("sod", sod, "density L1 against the exact Riemann solution")
    c.add_argument("plotfile")
    c.add_argument("--max-l1", type=float, required=True)
    c.add_argument("--normal", type=float, nargs=3, metavar=("X", "Y", "Z"), default=(1, 0, 0))
    c.add_argument(
        "--norm",
        choices=("exact", "octo-tiger"),
        default="exact",
        help="exact cell averages, or the sampled ones of Octo-Tiger's published figures (x tube)",
    )
    c = add("linear-wave", linear_wave, "order of convergence of an acoustic wave")
    c.add_argument("plotfiles", nargs="+", metavar="PLOTFILE")
    c.add_argument("--min-order", type=float, default=1.9)
    c.add_argument("--max-l1", type=float, help="of the finest file")
    c.add_argument("--amplitude", type=float, default=1e-6)
    c.add_argument("--speed", type=float, default=1.0, help="speed of sound of the mean state")
    c.add_argument("--axis", choices="xyz", default="x")
    c = add("uniform-flow", uniform_flow, "a uniform flow stays as it is")
    c.add_argument("plotfile")
    c.add_argument("--max-difference", type=float, default=1e-13)
    c.add_argument("--speed", type=float, default=1.0)
    c.add_argument("--polar", type=float, default=90.0, help="from the z axis, degrees")
    c.add_argument("--azimuth", type=float, default=0.0, help="from the x axis, degrees")
    c = add("vortex", vortex, "order of convergence of a vortex that moves")
    c.add_argument("plotfiles", nargs="+", metavar="PLOTFILE")
    c.add_argument("--min-order", type=float, default=1.9)
    c.add_argument("--max-l1", type=float, help="of the finest file")
    c.add_argument("--strength", type=float, default=5.0)
    c.add_argument("--radius", type=float, help="of the vortex (default: xscale / 5)")
    c.add_argument("--speed", type=float, default=1.0)
    c.add_argument("--azimuth", type=float, default=0.0, help="from the x axis, degrees")
    c = add("kelvin-helmholtz", kelvin_helmholtz, "growth of the shear mode, linear phase")
    c.add_argument("plotfile")
    c.add_argument("--max-difference", type=float, required=True, help="relative")
    c.add_argument("--amplitude", type=float, default=0.01)
    c.add_argument("--width", type=float, default=0.025, help="of the layers, over the edge")
    c = add("rayleigh-taylor", rayleigh_taylor, "growth of a falling layer, linear phase")
    c.add_argument("plotfile")
    c.add_argument("--max-difference", type=float, required=True, help="relative")
    c.add_argument("--amplitude", type=float, default=0.01)
    c.add_argument("--width", type=float, default=0.1, help="of the interface, over the edge")
    c.add_argument("--gravity", type=float, default=0.5)
    c = add("blast", blast, "order of convergence to the similarity solution")
    c.add_argument("plotfiles", nargs="+", metavar="PLOTFILE")
    c.add_argument(
        "--ball",
        action="store_true",
        help="compare with the blast of a ball of --radius (a fine 1-D calculation), not a point's",
    )
    c.add_argument(
        "--mesh",
        choices=("coarsest", "own"),
        default="coarsest",
        help="compare averages over the cells of the coarsest file (the default), or over each one's"
        " own; on its own mesh a shell thinner than a cell is not the same target everywhere",
    )
    c.add_argument("--min-order", type=float, default=0.8)
    c.add_argument("--max-l1", type=float, help="of the finest file")
    _blast_options(c)
    c = add("blast-profile", blast_profile, "one blast against the similarity solution")
    c.add_argument("plotfile")
    c.add_argument("--max-l1", type=float, required=True)
    _blast_options(c)
    c = add("blast-periodic", blast_periodic, "a blast that meets its images in a periodic box")
    c.add_argument("plotfile")
    c.add_argument("--max-drift", type=float, default=1e-13,
                   help="of mass and energy [%(default)s]")
    # Where fronts meet, differences by rounding grow.
    c.add_argument("--max-difference", type=float, default=1e-12, help="asymmetry [%(default)s]")
    _blast_options(c)
    c = add("blast-norms", blast_norms, "one blast against the norms that Octo-Tiger prints")
    c.add_argument("plotfile")
    c.add_argument("--max-difference", type=float, default=0.02, help="relative [%(default)s]")
    c = add("blast-levels", blast_levels, "errors of a refined blast against those of a uniform one")
    c.add_argument("refined")
    c.add_argument("uniform")
    c.add_argument("--max-ratio", type=float, default=1.15, help="of the errors [%(default)s]")
    c.add_argument("--max-cells", type=float, default=0.6, help="share of the cells [%(default)s]")
    c = add("compare", compare, "two plotfiles value by value")
    c.add_argument("a")
    c.add_argument("b")
    kind = c.add_mutually_exclusive_group()
    kind.add_argument("--bitwise", action="store_true", help="every bit equal (the default)")
    kind.add_argument("--tolerance", type=float, help="relative to each field's largest value")
    return parser


def main(arguments=None):
    args = _parser().parse_args(arguments)
    try:
        out = args.run(args)
        print(out.table())
        if args.json:
            out.write_json(args.json)
    except (bad_plotfile, OSError) as error:
        print(f"verify: {error}", file=sys.stderr)
        return 2
    return 0 if out.passed else 1


if __name__ == "__main__":
    sys.exit(main())
