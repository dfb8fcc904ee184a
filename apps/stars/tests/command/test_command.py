# SPDX-License-Identifier: Apache-2.0
"""Tests of stars from the command line: exit codes, messages, files, restart, and the mutations
that the verification must detect. The environment variable STARS holds the path of the program."""

import filecmp
import json
import pathlib
import resource
import subprocess
import sys

import pytest
from program import STARS, VERIFY, last_plot, stars, verify

PROBLEMS = sorted((pathlib.Path(__file__).parents[2] / "problems").glob("*.toml"))


def limited(kind, most):
    """Returns a function for `before` that limits a resource of the program to `most`."""
    return lambda: resource.setrlimit(kind, (most, most))


def test_help_lists_the_options():
    assert "--residency" in stars("--help")


def test_staged_launches_each_kernel_once_per_subgrid_and_stage(tmp_path):
    report = tmp_path / "r.json"
    stars("--level", 1, "--steps", 2, "-o", tmp_path, "--json", report, "--starling-summary")
    metrics = json.loads(report.read_text())["metrics"]
    launches = {k: v for k, v in metrics.items() if k.startswith("launches_")}
    assert len(launches) == 5
    assert set(launches.values()) == {8 * 3 * 2}


@pytest.mark.parametrize(
    "arguments, words",
    [
        (["--steps", 5, "--stop-time", 0, "--steps", "x"], "--steps"),
        (["--problem", "supernova"], "supernova"),
        (["--no-such-option"], "--no-such-option"),
        (["--balance", "size"], "--balance"),
        (["--config", "/no/such/file.toml"], "/no/such/file.toml"),
        (["--steps", 0], "never end"),
        (["--completion", "telepathy"], "telepathy"),
        (["--starling-workers", "many"], "workers"),
    ],
)
def test_bad_options_are_reported_and_end_with_2(arguments, words, tmp_path):
    assert words in stars("-o", tmp_path, *arguments, code=2)


@pytest.mark.parametrize(
    ("expression", "words"),
    [
        ("difference(rho) > 0.1 or size(tau) > 1", "at position 26: 'size', expected value"),
        ("difference(mass) > 0.1", "at position 12: 'mass', expected a field: rho, egas"),
        ("value(rho) > much", "at position 14: 'much', expected a number"),
    ],
)
def test_an_error_in_a_refinement_expression_is_reported_with_its_position(expression, words,
                                                                           tmp_path):
    said = stars("--refine", expression, "--level", 0, "-o", tmp_path / "out", code=2)
    assert f"--refine: {words}" in said
    assert not (tmp_path / "out").exists()


FLOATING = {
    "xscale": [0, -1, 1e31],
    "gamma": [1, 0, 3.5],
    "energy": [0, -1, 1e31],
    "radius": [-1, 1e31],
    "amplitude": [0, -1, 0.5],
    "speed": [2e6, -2e6],
    "strength": [-1, 10.5],
    "width": [0, -1, 0.3],
    "polar": [361, -361],
    "azimuth": [361, -361],
    "cfl": [0, -0.1, 1.1],
    "omega": [1e7, -1e7],
    "gravity": [1e7, -1e7],
    "rho-floor": [0, -1],
    "stop-time": [-1, 1e31],
    "mutate-gamma": [-1, 4],
}
WHOLE = {
    "level": [11, 99],
    "axis": [3],
    "aggregate": [2**22],
    "steps": [2 * 10**9],
    "plot-every": [2 * 10**9],
    "restart-every": [2 * 10**9],
    "workers": [4097, 100000],
    "mutate-direction": [26, -2],
}
OUTSIDE = [
    (name, value)
    for name, values in [*FLOATING.items(), *WHOLE.items()]
    for value in [*values, "nan", "inf", "-inf", "1e400", "many", ""]
]


@pytest.mark.parametrize(("name", "value"), OUTSIDE)
def test_a_number_outside_its_bounds_is_refused_with_option_value_and_bounds(name, value, tmp_path):
    said = stars("-o", tmp_path / "out", f"--{name}={value}", code=2)
    assert f"'{value}' is not a " in said or value == ""
    assert f"--{name}" in said or name.startswith("mutate")  # messages do not name hidden options
    assert len(said) < 200
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("levle = 3", ["unknown key 'levle'"]),
        ("level = 99", ["--level", "'99'", "from 0 to 10"]),
        ('level = "three"', ["--level", "'three'"]),
        ('problem = "supernova"', ["--problem", "supernova"]),
    ],
)
def test_a_bad_configuration_is_reported_with_file_and_key(line, words, tmp_path):
    file = tmp_path / "bad.toml"
    file.write_text(line + "\n")
    said = stars("--config", file, "-o", tmp_path, code=2)
    for word in [str(file), *words]:
        assert word in said


def test_a_bad_flag_is_not_blamed_on_the_configuration(tmp_path):
    file = tmp_path / "good.toml"
    file.write_text("level = 0\n")
    assert str(file) not in stars("--config", file, "--cfl", 7, "-o", tmp_path, code=2)


def test_a_radius_without_cells_is_reported_as_an_option(tmp_path):
    assert "--radius holds no cell" in stars("--level", 0, "--radius", 1e-3, "-o", tmp_path, code=2)


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["--rho-floor", 1e-9], "--rho-floor has no effect without --floors"),
        (["--plot-every", 1, "--no-plots"], "--plot-every has no effect with --no-plots"),
        (["--plot-format", "vtkhdf", "--no-plots"], "--plot-format has no effect with --no-plots"),
        (["--restart-every", 1, "--no-restart-file"], "--restart-every has no effect"),
        (["--graph", "step"], "--graph has no effect with --residency staged"),
        (["--problem", "sod", "--energy", 2], "--energy has no effect for problem sod"),
        (["--refine", "value(rho) > 2"], "--refine has no effect on a uniform mesh"),
        (["--balance", "none"], "--balance has no effect on one rank"),
        (["--polar", 45], "--polar has no effect for problem blast"),
        (["--problem", "vortex", "--axis", 1], "--axis has no effect for problem vortex"),
    ],
)
def test_an_option_without_effect_is_reported(arguments, reason, tmp_path):
    common = ["--level", 0, "--steps", 1, "-o", tmp_path]
    assert "warning: " + reason in stars(*common, *arguments)
    assert "warning" not in stars(*common)


@pytest.mark.parametrize("file", PROBLEMS, ids=lambda f: f.stem)
def test_each_configuration_of_a_problem_runs(file, tmp_path):
    assert file.stem.startswith(text_in(file, "problem").strip('"'))
    said = stars("--config", file, "--level", 1, "--steps", 1, "-o", tmp_path)
    assert "warning" not in said
    assert "16³" in said


def text_in(file, key):
    """Returns the text of a value in a TOML file."""
    return next(line.split("=")[1].strip() for line in file.read_text().splitlines()
                if line.split("=")[0].strip() == key)


def steps_of(*arguments, folder):
    report = folder / "r.json"
    stars("--level", 0, "--no-plots", "-o", folder, "--json", report, *arguments)
    return json.loads(report.read_text())["metrics"]["steps"]


def test_a_run_has_fifteen_steps_unless_it_has_a_stop_time(tmp_path):
    assert steps_of(folder=tmp_path) == 15
    assert steps_of("--stop-time", 0.5, "--cfl", 0.05, folder=tmp_path) > 15
    assert steps_of("--stop-time", 0.5, "--cfl", 0.05, "--steps", 3, folder=tmp_path) == 3


def test_floors_leave_nothing_to_check(tmp_path):
    report = tmp_path / "r.json"
    said = stars("--level", 1, "--steps", 2, "--floors", "--rho-floor", 2, "-o", tmp_path,
                 "--json", report)
    assert "limit" not in said
    written = json.loads(report.read_text())
    assert written["checks"] == {}
    assert written["metrics"]["mass_drift"] > 0.1


@pytest.mark.parametrize("residency", ["staged", "resident"])
def test_the_report_describes_the_run(residency, tmp_path):
    report = tmp_path / "r.json"
    stars("--level", 0, "--steps", 1, "-o", tmp_path, "--json", report, "--workers", 2,
          "--residency", residency, "--streams", 3, "--gamma", 1.5, "--cfl", 0.3)
    config = json.loads(report.read_text())["config"]
    said = {"gamma": 1.5, "cfl": 0.3, "radius": 3.5 / 4, "streams": 3, "workers": 2,
            "backend": "host", "residency": residency, "devices": 1,
            "aggregate": 1 if residency == "staged" else 0}
    assert {key: config[key] for key in said} == said
    stars("--level", 0, "--steps", 1, "-o", tmp_path, "--json", report)
    assert json.loads(report.read_text())["config"]["workers"] > 0


def test_the_report_replaces_an_older_one_and_leaves_nothing_beside(tmp_path):
    report = tmp_path / "r.json"
    report.write_text("old")
    stars("--level", 0, "--steps", 1, "-o", tmp_path / "out", "--json", report)
    assert json.loads(report.read_text())["name"] == "stars"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["out", "r.json"]


def test_a_resident_state_on_two_devices_is_refused(tmp_path):
    common = ["--level", 0, "--steps", 1, "-o", tmp_path, "--devices", 2]
    assert "--devices 1" in stars(*common, "--residency", "resident", code=2)
    assert "2 × host" in stars(*common)


def test_insufficient_memory_is_reported_before_the_run(tmp_path):
    said = stars("--level", 5, "-o", tmp_path, before=limited(resource.RLIMIT_AS, 4 << 30), code=2)
    for word in ["--level 5", "256³", "9.38 GiB", "4 GiB", "lower level"]:
        assert word in said


def test_memory_that_runs_out_is_reported_with_level_and_remedy(tmp_path):
    enough_for_the_estimate_alone = 5 * (8 << 4)**3 * 15 * 8 + (48 << 20)
    said = stars("--level", 4, "--steps", 1, "--workers", 1, "--no-plots", "-o", tmp_path, code=3,
                 before=limited(resource.RLIMIT_AS, enough_for_the_estimate_alone))
    assert "--level 4" in said
    assert "GiB" in said


WRECK = ["--level", 1, "--cfl", 1]  # the state becomes unphysical in the first step


@pytest.mark.parametrize("residency", ["staged", "resident"])
def test_an_unphysical_state_is_reported_and_written(residency, tmp_path):
    said = stars(*WRECK, "--residency", residency, "-o", tmp_path, code=3)
    assert "tau = -1.1476023196680654 in cell (6, 6, 5) of level 1, sub-grid 0, at step 0" in said
    assert (tmp_path / "unphysical" / "Header").exists()


def test_an_unphysical_state_is_reported_even_on_a_full_disk(tmp_path):
    said = stars(*WRECK, "--no-plots", "-o", tmp_path, code=3,
                 before=limited(resource.RLIMIT_FSIZE, 1000))
    assert "tau = -1.1476023196680654 in cell (6, 6, 5)" in said
    assert "could not be written" in said
    assert "File too large" in said


def test_a_file_beyond_its_limit_is_an_error_like_any_other(tmp_path):
    said = stars("--level", 0, "--steps", 1, "-o", tmp_path, code=3,
                 before=limited(resource.RLIMIT_FSIZE, 1000))
    assert "File too large" in said


def test_flags_win_over_the_configuration(tmp_path):
    file = tmp_path / "run.toml"
    file.write_text('level = 0\nsteps = 1\nproblem = "sod"\n')
    assert "16³" in stars("--config", file, "--level", 1, "-o", tmp_path)


def test_an_unwritable_folder_is_reported(tmp_path):
    blocker = tmp_path / "file"
    blocker.write_text("")
    for folder, cause in [(blocker / "out", "Not a directory"), (blocker, "Not a directory"),
                          ("/proc", "No such file"), ("/proc/new", "No such file")]:
        said = stars("--level", 0, "--steps", 1, "-o", folder, code=3)
        assert f"--output {folder}: cannot write into this folder: {cause}" in said
        assert "choose" in said
        assert "cells" not in said  # the run has not started


def test_a_full_disk_is_reported(tmp_path):
    assert "/dev/full" in stars(
        "--level", 0, "--steps", 1, "-o", tmp_path, "--json", "/dev/full", code=3
    )


def test_a_report_that_cannot_be_written_is_an_error_before_the_run(tmp_path):
    for file in [tmp_path / "no" / "r.json", tmp_path]:
        said = stars("--level", 0, "--steps", 1, "-o", tmp_path, "--json", file, code=3)
        assert f"--json {file}" in said
        assert "cells" not in said


def test_a_failing_plotfile_costs_neither_the_table_nor_the_restart_file(tmp_path):
    (tmp_path / "plt00001").mkdir()  # not a plotfile, so stars does not replace it
    said = stars("--level", 0, "--steps", 1, "-o", tmp_path, code=3)
    assert "mass drift" in said
    assert "not a plotfile" in said
    assert (tmp_path / "restart00001.h5").exists()


def test_plots_may_be_vtkhdf_files(tmp_path):
    common = ["--level", 0, "--steps", 1, "-o", tmp_path]
    stars(*common)
    if not (tmp_path / "restart00001.h5").exists():
        said = stars(*common, "--plot-format", "vtkhdf", code=2)
        assert "--plot-format vtkhdf: these files need HDF5" in said
        pytest.skip("built without HDF5")
    stars(*common, "--plot-format", "vtkhdf")
    for name in ("plt00000.vtkhdf", "plt00001.vtkhdf"):
        assert (tmp_path / name).read_bytes()[:4] == b"\x89HDF"
    said = stars("--level", 1, "--cfl", 1, "-o", tmp_path, "--plot-format", "vtkhdf", code=3)
    assert f"the state is in {tmp_path / 'unphysical.vtkhdf'}" in said
    assert (tmp_path / "unphysical.vtkhdf").exists()


def test_files_are_written_after_the_steps_that_are_due(tmp_path):
    stars("--level", 1, "--min-level", 0, "--steps", 13, "--plot-every", 3, "--restart-every", 4,
          "-o", tmp_path)
    steps = {kind: sorted(int(f.name[len(kind):len(kind) + 5]) for f in tmp_path.glob(f"{kind}*"))
             for kind in ("plt", "restart")}
    assert steps["plt"] == [0, 3, 6, 9, 12, 13]
    if steps["restart"]:  # built with HDF5
        assert steps["restart"] == [4, 8, 12, 13]


def test_output_without_a_reader_is_an_error(tmp_path):
    command = [STARS, "--backend", "host", "--level", "0", "--steps", "1", "-o", str(tmp_path)]
    with open("/dev/full", "w") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, timeout=250)
    assert done.returncode == 3
    assert "standard output: cannot write: No space left" in done.stderr
    assert last_plot(tmp_path).name == "plt00001"


@pytest.mark.parametrize("residency", ["staged", "resident"])
def test_a_restart_continues_bit_by_bit(residency, tmp_path):
    common = ["--level", 1, "--residency", residency]
    stars(*common, "--steps", 4, "-o", tmp_path / "whole")
    stars(*common, "--steps", 2, "-o", tmp_path / "part")
    restart = tmp_path / "part" / "restart00002.h5"
    if not restart.exists():
        pytest.skip("built without HDF5")
    stars(*common, "--steps", 4, "--restart", restart, "-o", tmp_path / "part")
    a, b = last_plot(tmp_path / "whole"), last_plot(tmp_path / "part")
    files = [p.relative_to(a) for p in a.rglob("*") if p.is_file()]
    assert filecmp.cmpfiles(a, b, files, shallow=False)[1:] == ([], [])


@pytest.fixture(scope="module")
def restart(tmp_path_factory):
    """A restart file of step 2."""
    folder = tmp_path_factory.mktemp("restart")
    stars("--level", 0, "--steps", 2, "--gamma", 1.5, "--energy", 2, "-o", folder, "--no-plots")
    file = folder / "restart00002.h5"
    if not file.exists():
        pytest.skip("built without HDF5")
    return file


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--problem", "sod"], "problem: the file has blast, this run sod"),
        (["--level", 1], "level: the file has 0, this run 1"),
        (["--gamma", 1.4], "gamma: the file has 1.5, this run 1.4"),
        (["--xscale", 2], "xscale: the file has 1, this run 2"),
        (["--energy", 1], "energy: the file has 2, this run 1"),
        (["--radius", 0.5], "radius: the file has 0.875, this run 0.5"),
        (["--boundary", "periodic"], "boundary: the file has outflow, this run periodic"),
        (["--gravity", 0.25], "gravity: the file has 0, this run 0.25"),
        (["--cfl", 0.2], "cfl: the file has 0.4, this run 0.2"),
        (["--reconstruction", "minmod"], "reconstruction: the file has ppm, this run minmod"),
        (["--reconstruction", "ppmx"], "reconstruction: the file has ppm, this run ppmx"),
        (["--quadrature", "centre"], "quadrature: the file has nine-point, this run centre"),
        (["--floors"], "floors: the file has off, this run on"),
        (["--mutate-gamma", 1.6], "mutate-gamma: the file has 0, this run 1.6"),
        (["--mutate-direction", 3], "mutate-direction: the file has -1, this run 3"),
        (["--mutate-edge-terms"], "mutate-edge-terms: the file has off, this run on"),
    ],
)
def test_a_restart_that_contradicts_its_file_is_refused(arguments, words, restart, tmp_path):
    said = stars("--restart", restart, "-o", tmp_path, *arguments, code=2)
    assert f"--restart {restart}: {words}" in said


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["--problem", "blast", "--level", 0, "--gamma", 1.5, "--energy", 2, "--xscale", 1,
         "--radius", 0, "--boundary", "outflow"],
    ],
    ids=["silent", "equal"],
)
def test_a_restart_describes_its_file(arguments, restart, tmp_path):
    report = tmp_path / "r.json"
    said = stars("--restart", restart, "--steps", 3, "-o", tmp_path, "--json", report, *arguments)
    assert "blast on 8³ cells" in said
    assert "gamma 1.5" in said
    config = json.loads(report.read_text())["config"]
    assert (config["gamma"], config["level"], config["energy"]) == (1.5, 0, 2)
    # The next restart file contains the values taken from the first one, too.
    again = tmp_path / "restart00003.h5"
    assert "energy" in stars("--restart", again, "--energy", 1, "-o", tmp_path, code=2)


@pytest.mark.parametrize(("name", "end"), [("steps", 1), ("stop-time", 1e-9)])
def test_an_end_before_the_restart_is_refused(name, end, restart, tmp_path):
    said = stars("--restart", restart, f"--{name}", end, "-o", tmp_path, code=2)
    assert f"--{name} {end}" in said
    assert str(restart) in said
    assert "already" in said


def sod(folder, *mutation):
    stars("--problem", "sod", "--level", 2, "--steps", 0, "--stop-time", 0.1, "-o", folder,
          "--no-restart-file", *mutation)
    return verify("sod", last_plot(folder), "--max-l1", 4.61e-3)


def test_the_verification_accepts_the_true_scheme(tmp_path):
    assert sod(tmp_path) == 0


@pytest.mark.parametrize(("level", "published"), [(1, 8.616107e-3), (2, 4.603921e-3)])
def test_sod_is_within_the_published_norms(level, published, tmp_path):
    stars("--problem", "sod", "--level", level, "--steps", 0, "--stop-time", 0.1, "-o", tmp_path,
          "--no-restart-file")
    command = ("sod", last_plot(tmp_path), "--norm", "octo-tiger", "--max-l1")
    assert verify(*command, published) == 0
    assert verify(*command, 0.9 * published) == 1


@pytest.mark.parametrize(
    "mutation",
    [
        ["--reconstruction", "minmod"],
        ["--mutate-edge-terms"],
        ["--mutate-gamma", 5 / 3],
    ],
    ids=["minmod", "edge-terms", "gamma"],
)
def test_the_verification_notices_a_wrong_scheme(mutation, tmp_path):
    assert sod(tmp_path, *mutation) == 1


def test_the_verification_notices_a_skipped_ghost_direction(tmp_path):
    stars("--level", 1, "--steps", 4, "--mutate-direction", 12, "-o", tmp_path, "--no-restart-file",
          code=1)
    assert verify("symmetry", last_plot(tmp_path)) == 1


@pytest.mark.parametrize("mutation", [[], ["--mutate-gamma", 1.5]], ids=["true", "gamma"])
def test_a_vortex_keeps_its_form(mutation, tmp_path):
    report = tmp_path / "r.json"
    stars("--problem", "vortex", "--azimuth", 30, "--level", 1, "--steps", 0, "--stop-time", 0.2,
          "-o", tmp_path / "16", "--no-restart-file", "--json", report, *mutation)
    stars("--problem", "vortex", "--azimuth", 30, "--level", 2, "--steps", 0, "--stop-time", 0.2,
          "-o", tmp_path / "32", "--no-restart-file", *mutation)
    files = [last_plot(tmp_path / n) for n in ("16", "32")]
    expected = 1 if mutation else 0
    assert verify("vortex", *files, "--azimuth", 30, "--min-order", 1.9) == expected
    error = json.loads(report.read_text())["metrics"]["density_l1"]
    assert (error > 5e-3) == bool(mutation)


@pytest.mark.parametrize("residency", ["staged", "resident"])
def test_a_uniform_flow_stays_as_it_is(residency, tmp_path):
    flow = ["--polar", 60, "--azimuth", 30, "--speed", 0.5]
    stars("--problem", "uniform-flow", *flow, "--level", 1, "--steps", 4, "-o", tmp_path,
          "--residency", residency, "--no-restart-file")
    assert verify("uniform-flow", last_plot(tmp_path), *flow) == 0
    assert verify("uniform-flow", last_plot(tmp_path)) == 1


def test_shear_layers_follow_the_linear_equations(tmp_path):
    flow = ["--width", 0.1]
    judge = [*flow, "--max-difference", 0.01]
    run = ["--problem", "kelvin-helmholtz", *flow, "--xscale", 0.5, "--level", 2, "--steps", 0,
           "--stop-time", 0.12, "--no-restart-file"]
    stars(*run, "-o", tmp_path / "a")
    assert verify("kelvin-helmholtz", last_plot(tmp_path / "a"), *judge) == 0
    stars(*run, "--reconstruction", "minmod", "-o", tmp_path / "b")
    assert verify("kelvin-helmholtz", last_plot(tmp_path / "b"), *judge) == 1


def test_a_falling_layer_follows_the_linear_equations_and_keeps_its_energy(tmp_path):
    report = tmp_path / "r.json"
    run = ["--problem", "rayleigh-taylor", "--level", 1, "--steps", 0, "--stop-time", 2,
           "--no-restart-file"]
    stars(*run, "-o", tmp_path / "a", "--json", report)
    written = json.loads(report.read_text())
    assert written["checks"] == {"mass drift": True, "energy drift": True}
    assert written["config"]["gravity"] == 0.5
    judge = ["--max-difference", 0.08]  # at 16³; 32³ is nearer
    assert verify("rayleigh-taylor", last_plot(tmp_path / "a"), *judge) == 0
    stars(*run, "--gravity", 0.4, "-o", tmp_path / "b")
    assert verify("rayleigh-taylor", last_plot(tmp_path / "b"), *judge) == 1
    assert verify("rayleigh-taylor", last_plot(tmp_path / "b"), *judge, "--gravity", 0.4) == 0


def test_a_run_in_gravity_continues_bit_by_bit(tmp_path):
    run = ["--problem", "rayleigh-taylor", "--gravity", 0.3, "--level", 0, "--steps"]
    stars(*run, 4, "-o", tmp_path / "whole")
    stars(*run, 2, "-o", tmp_path / "part")
    restart = tmp_path / "part" / "restart00002.h5"
    if not restart.exists():
        pytest.skip("built without HDF5")
    stars("--restart", restart, "--steps", 4, "-o", tmp_path / "part")
    assert verify("compare", *(last_plot(tmp_path / n) for n in ("whole", "part"))) == 0


def test_energy_in_gravity_is_not_checked_where_gas_may_leave(tmp_path):
    report = tmp_path / "r.json"
    stars("--gravity", 0.1, "--level", 0, "--steps", 1, "-o", tmp_path, "--json", report)
    written = json.loads(report.read_text())
    assert list(written["checks"]) == ["mass drift"]
    assert "energy_drift" in written["metrics"]


def suite(folder, parts, replace):
    """Runs verify/suite.py with a modified program: `replace` is a line of Python that changes its
    arguments `a`."""
    program = folder / "stars"
    program.write_text(f"#!{sys.executable}\nimport os, sys\na = sys.argv[1:]\n{replace}\n"
                       f"os.execv({STARS!r}, ['stars', *a])\n")
    program.chmod(0o755)
    command = [sys.executable, str(VERIFY.with_name("suite.py")), str(program), "--output",
               str(folder / "out"), *(word for part in parts for word in ("--only", part))]
    return subprocess.run(command, capture_output=True, text=True, timeout=250).returncode


def test_the_suite_accepts_the_program(tmp_path):
    assert suite(tmp_path, ["sod", "placements"], "") == 0


@pytest.mark.parametrize(
    ("part", "replace"),
    [
        ("sod", "a += ['--reconstruction', 'minmod']"),
        ("placements", "a += ['--mutate-edge-terms'] if 'resident' in a else []"),
        ("launches", "a[a.index('--level') + 1] = '1'"),
    ],
)
def test_the_suite_notices_a_wrong_program(part, replace, tmp_path):
    assert suite(tmp_path, [part], replace) == 1


@pytest.mark.parametrize(("flags", "expected"), [([], 0), (["--mutate-gamma", 1.45], 1)])
def test_the_blast_has_the_norms_that_octo_tiger_prints(flags, expected, tmp_path):
    stars("--level", 3, "--min-level", 1, "--steps", 0, "--stop-time", 0.01, "-o", tmp_path,
          "--no-restart-file", *flags)
    assert verify("blast-norms", last_plot(tmp_path), "--max-difference", 0.006) == expected
