# SPDX-License-Identifier: Apache-2.0
"""Jobs of several ranks of stars survive the loss of ranks at any moment, with the same bits. The
environment variables STARS and STARLING hold the paths of the programs; STARS_BACKEND is the backend
of the jobs and of restarts (default: host). The files and the state that they are compared with come
from the host."""

import ctypes
import json
import os
import pathlib
import re
import select
import shutil
import signal
import struct
import subprocess

import pytest

STARS = os.environ["STARS"]
STARLING = os.environ["STARLING"]
BACKEND = ["--backend", os.environ.get("STARS_BACKEND", "host")]
STEPS = 14
# At step 6 the mesh changes from 8 sub-grids to 36, at step 12 to 8.
FLOW = ["--workers", 1, "--no-progress", "--problem", "blast", "--radius", 0.4,
        "--level", 2, "--min-level", 1, "--regrid-every", 2,
        "--refine", "value(sx) > 0.5 and value(rho) < 0.8", "--plot-every", 1,
        "--checkpoint-every", 3]


def text(words):
    return [str(word) for word in words]


def state_in(report):
    return json.loads(report.read_text())["config"]["state_fnv1a"]


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    """The folder of a run of one process."""
    folder = tmp_path_factory.mktemp("undisturbed")
    report = folder / "r.json"
    subprocess.run(text([STARS, *FLOW, "--backend", "host", "--steps", STEPS, "-o", folder,
                         "--json", report]), check=True, timeout=250, capture_output=True)
    assert json.loads(report.read_text())["metrics"]["regrids"] >= 2
    return folder


class watched_folder:
    """Reports each name that appears in a folder, in order (inotify)."""
    CREATE, MOVED_TO = 0x100, 0x80

    def __init__(self, folder):
        libc = ctypes.CDLL(None, use_errno=True)
        self.file = libc.inotify_init1(os.O_CLOEXEC)
        watch = libc.inotify_add_watch(self.file, bytes(folder), self.CREATE | self.MOVED_TO)
        assert self.file >= 0 and watch >= 0, os.strerror(ctypes.get_errno())

    def fileno(self):
        return self.file

    def names(self):
        events, at, names = os.read(self.file, 65536), 0, []
        while at < len(events):
            length = struct.unpack_from("iIII", events, at)[3]
            names.append(events[at + 16:at + 16 + length].rstrip(b"\0").decode())
            at += 16 + length
        return names

    def close(self):
        os.close(self.file)


def children(process):
    path = pathlib.Path(f"/proc/{process}/task/{process}/children")
    return [int(word) for word in path.read_text().split()] if path.exists() else []


def process_of(launcher, rank):
    """Returns the process of a rank that runs, or None."""
    for child in children(launcher):
        try:
            variables = pathlib.Path(f"/proc/{child}/environ").read_bytes().split(b"\0")
        except OSError:
            continue
        if f"STARLING_LAUNCH_RANK={rank}".encode() in variables:
            return child
    return None


class killed_job:
    """A job of several ranks. Kills a rank when a file of a given name appears in its output folder."""

    def __init__(self, folder, ranks, options=()):
        self.report = folder / "r.json"
        folder.mkdir(exist_ok=True)
        self.watch = watched_folder(folder)
        command = [STARLING, "launch", "-n", ranks, "--restarts", 8, *options, STARS, *FLOW,
                   *BACKEND, "--steps", STEPS, "-o", folder, "--json", self.report]
        self.process = subprocess.Popen(text(command), stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT, bufsize=0)
        self.output = b""

    def read(self):
        part = os.read(self.process.stdout.fileno(), 65536)
        self.output += part
        return len(part) > 0

    def restarts(self):
        return self.output.count(b"starting the ranks again")

    def kill_at(self, pattern, rank):
        """Waits for a name, kills the rank, and waits until the launcher says that it has started
        the ranks again."""
        seen = False
        while not seen:
            ready, _, _ = select.select([self.watch, self.process.stdout], [], [], 200)
            assert ready, self.output.decode()
            if self.process.stdout in ready:
                assert self.read(), f"ended before {pattern}:\n{self.output.decode()}"
            if self.watch in ready:
                seen = any(re.fullmatch(pattern, name) for name in self.watch.names())
        before, victim = self.restarts(), None
        while victim is None:  # None while the launcher starts the ranks
            assert self.process.poll() is None, self.output.decode()
            victim = process_of(self.process.pid, rank)
        os.kill(victim, signal.SIGKILL)
        while self.restarts() == before:
            assert self.read(), f"no restart after {pattern}:\n{self.output.decode()}"

    def end(self):
        """Returns the report of the job."""
        while self.read():
            pass
        assert self.process.wait(200) == 0, self.output.decode()
        return json.loads(self.report.read_text())

    def close(self):
        self.watch.close()
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            self.process.wait(60)
        self.process.stdout.close()


@pytest.fixture
def start(tmp_path):
    jobs = []

    def begin(*arguments):
        jobs.append(killed_job(tmp_path / "out", *arguments))
        return jobs[-1]
    yield begin
    for job in jobs:
        job.close()


def test_a_job_survives_kills_at_any_moment_with_the_same_bits(undisturbed, start, tmp_path):
    job = start(4)
    job.kill_at("plt00001", 2)                  # no file yet: it begins anew
    job.kill_at(r"\.restart00003\.h5\..*", 0)   # in the middle of the first file
    job.kill_at("plt00005", 1)                  # before the mesh changes
    job.kill_at(r"\.restart00006\.h5\..*", 0)   # behind the change, in the middle of its file
    job.kill_at(r"restart00009\.h5", 3)
    job.kill_at("plt00013", 0)                  # behind the next change
    report = job.end()
    assert job.restarts() == 6
    assert b"continues from" in job.output
    assert report["config"]["ranks"] == 4
    assert report["config"]["state_fnv1a"] == state_in(undisturbed / "r.json")
    assert not [n for n in os.listdir(tmp_path / "out") if n.startswith(".")]


def test_a_job_goes_on_with_fewer_ranks(undisturbed, start):
    job = start(3, ["--shrink"])
    job.kill_at(r"restart00003\.h5", 0)
    job.kill_at("plt00009", 1)
    report = job.end()
    assert report["config"]["ranks"] == 1
    assert report["config"]["state_fnv1a"] == state_in(undisturbed / "r.json")


def test_a_job_continues_from_no_file_of_an_older_run(undisturbed, start, tmp_path):
    folder = tmp_path / "out"
    folder.mkdir()
    older = folder / "restart00013.h5"
    shutil.copy(undisturbed / "restart00014.h5", older)
    os.utime(older, (1, 1))
    job = start(2)
    job.kill_at("plt00001", 1)
    report = job.end()
    assert b"continues from" not in job.output
    assert report["metrics"]["steps"] == STEPS
    assert report["config"]["state_fnv1a"] == state_in(undisturbed / "r.json")


def latest(folder, steps=STEPS, code=0):
    done = subprocess.run(text([STARS, *FLOW, *BACKEND, "--no-plots", "-o", folder, "--restart",
                                "latest", "--json", folder / "r.json", "--steps", steps]),
                          timeout=250, text=True, capture_output=True, check=False)
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout + done.stderr


def test_latest_is_the_newest_whole_file_or_a_new_run(undisturbed, tmp_path):
    assert "continues from" not in latest(tmp_path, 1)
    right = state_in(undisturbed / "r.json")
    os.remove(tmp_path / "restart00001.h5")
    for step in (6, 9):
        shutil.copy(undisturbed / f"restart{step:05}.h5", tmp_path)
    assert f"continues from {tmp_path}/restart00009.h5" in latest(tmp_path)
    assert state_in(tmp_path / "r.json") == right
    for step in (12, 14):
        with open(tmp_path / f"restart{step:05}.h5", "r+b") as file:
            file.seek(-9, os.SEEK_END)  # in the data of the last leaf, or behind them
            file.truncate()
    said = latest(tmp_path)
    assert f"not used: {tmp_path}/restart00014.h5" in said
    assert f"not used: {tmp_path}/restart00012.h5" in said
    assert f"continues from {tmp_path}/restart00009.h5" in said
    assert state_in(tmp_path / "r.json") == right


def test_latest_without_a_whole_file_is_an_error(tmp_path):
    (tmp_path / "restart00003.h5").write_text("nothing")
    assert "no restart file in" in latest(tmp_path, code=2)
