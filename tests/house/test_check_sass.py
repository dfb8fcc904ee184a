# SPDX-License-Identifier: Apache-2.0
"""Tests of tools/check_sass.sh on given machine code; a stub stands in for the disassembler."""

import os
import pathlib
import subprocess

import pytest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "tools" / "check_sass.sh"
SCHEDULER = "\t\tFunction : _ZN8starling8resident4cuda14run_schedulersINS0_7programEEEvv\n"
OTHER = "\t\tFunction : _Z6kernelv\n"


def line(instruction):
    return f"        /*0a10*/                   {instruction} ;      /* 0x000000ff04047290 */\n"


ACQUIRE = line("LDG.E.128.STRONG.SYS R4, desc[UR6][R14.64]") + line("CCTL.IVALL")
SCHEDULER += ACQUIRE


@pytest.fixture
def check(tmp_path):
    def run(text, objects=("a.o",)):
        (tmp_path / "sass").write_text(text)
        stub = tmp_path / "cuobjdump"
        stub.write_text(f'#!/bin/sh\n[ $# -eq 2 ] && cat {tmp_path}/sass\n')
        stub.chmod(0o755)
        path = f"{tmp_path}:{os.environ['PATH']}"
        return subprocess.run([SCRIPT, *objects], env={**os.environ, "PATH": path},
                              capture_output=True, text=True, check=False)
    return run


def test_a_kernel_with_nothing_but_work_passes(check):
    found = check(SCHEDULER + line("IADD3 R4, R4, 0x1, RZ") + line("@P0 BRA `(.L_x_12)"))
    assert found.returncode == 0
    assert "1 kernels of resident schedulers, 0 instructions" in found.stdout


@pytest.mark.parametrize("instruction", [
    "CALL.REL.NOINC 0x26e90", "@!P1 CALL.ABS.NOINC R2", "BRX R2 -0x2e940", "BRXU UR4",
    "STL [R1+0x8], R7", "LDL.64 R12, [R1]", "BPT.TRAP 0x1"])
def test_forbidden_instructions_are_found(check, instruction):
    found = check(SCHEDULER + line("NOP") + line(instruction))
    assert found.returncode == 1
    assert instruction.split()[-2].split(".")[0] in found.stdout


def test_a_missing_acquire_load_is_found(check):
    found = check(SCHEDULER + SCHEDULER.replace(ACQUIRE, line("CCTL.IVALL")))
    assert found.returncode == 1
    assert "2 kernels" in found.stdout and "1 that do not acquire" in found.stdout


def test_other_kernels_may_have_forbidden_instructions(check):
    assert check(SCHEDULER + line("NOP") + OTHER + line("CALL.REL.NOINC 0x10")).returncode == 0


def test_an_object_without_resident_kernels_is_an_error(check):
    assert check(OTHER + line("NOP")).returncode == 1


def test_each_of_several_objects_is_read(check):
    assert "2 kernels" in check(SCHEDULER + line("NOP"), ("a.o", "b.o")).stdout


def test_no_object_is_bad_usage(check):
    found = check("", ())
    assert found.returncode == 2 and "check_sass.sh OBJECT" in found.stderr
