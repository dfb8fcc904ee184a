# SPDX-License-Identifier: Apache-2.0
"""Runs many settings of a program, checks each run and keeps its metrics."""

import json
import pathlib
import subprocess
import time
import zlib


class WrongRun(Exception):
    """Raised if a run failed or its answer differs from that of the first run."""


class Runner:
    """Runs settings that have not been run yet. A setting has `name()` and `flags()`.

    `metric` is the time that selects the fastest run, in ms; `digest` is the entry of a run's
    configuration that must be the same in all runs. `launcher(setting)` returns the command that
    starts the program, or []; `program_of(setting)` returns the program, which is `program` or one
    of `others`.
    """

    def __init__(self, program, folder, common, repeat, metric="step_ms", digest="state_fnv1a",
                 launcher=lambda setting: [], program_of=None, others=()):
        self.program_of = program_of or (lambda setting: program)
        self.launcher = launcher
        self.folder = pathlib.Path(folder)
        self.common = [str(flag) for flag in common]
        self.repeat = repeat
        self.metric = metric
        self.digest = digest
        self.state = None  # digest of the state of the first run
        self.measured = {}
        # Runs of a different program or with different common flags get a folder of their own.
        text = b"".join(pathlib.Path(p).read_bytes() for p in (program, *others))
        text += " ".join(self.common).encode()
        self.runs = self.folder / "runs" / f"{zlib.crc32(text):08x}"

    def execute(self, setting, turn):
        file = self.runs / f"{setting.name()}.{turn}.json"
        if not file.exists():
            partial = file.with_suffix(".part")
            command = [*self.launcher(setting), self.program_of(setting), *setting.flags(),
                       *self.common, "--json", str(partial)]
            done = subprocess.run(command, text=True, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, check=False)
            if done.returncode != 0:
                raise WrongRun(f"{' '.join(command)}\nended with {done.returncode}:\n{done.stdout}")
            partial.rename(file)
        return json.loads(file.read_text())

    def check(self, setting, result):
        failed = [name for name, holds in result["checks"].items() if not holds]
        if failed:
            raise WrongRun(f"{setting.name()}: {', '.join(failed)}")
        state = result["config"][self.digest]
        if self.state is None:
            self.state = state
        if state != self.state:
            raise WrongRun(f"{setting.name()}: the state differs from that of the other runs "
                           f"({state}, not {self.state})")

    def run_all(self, settings):
        """Keeps the fastest of the repetitions of each setting. A repetition runs all settings, so
        that a slow phase of the machine affects all of them."""
        self.runs.mkdir(parents=True, exist_ok=True)
        settings = list(dict.fromkeys(settings))
        began = time.monotonic()
        for turn in range(self.repeat):
            for i, setting in enumerate(settings):
                result = self.execute(setting, turn)
                self.check(setting, result)
                self.keep(setting, result["metrics"])
                print(f"[{turn * len(settings) + i + 1}/{self.repeat * len(settings)}] "
                      f"{time.monotonic() - began:6.0f} s  {setting.name():40} "
                      f"{result['metrics'][self.metric]:9.4g} ms", flush=True)

    def keep(self, setting, metrics):
        known = self.measured.get(setting.name())
        if known is None or metrics[self.metric] < known[self.metric]:
            self.measured[setting.name()] = metrics
