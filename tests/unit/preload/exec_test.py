# SPDX-License-Identifier: BSD-3-Clause
"""The exec shim: what it puts into a program's environment, what it refuses, and which exit codes come out."""

from __future__ import annotations

import os
import re
import signal
import socket
import struct
import tempfile
import unittest
from pathlib import Path

from processes import LIBRARY, PROGRAMS, SHIM, run

HOST = socket.gethostname()


class ExecTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory(prefix="unisono-exec-")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def file(self, name: str, content: bytes | str, mode: int = 0o755) -> Path:
        path = self.folder / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        path.chmod(mode)
        return path

    def refused(self, code: int, *arguments: str | Path, **settings: str) -> str:
        result = run(SHIM, *arguments, **settings)
        assert result.returncode == code, result.stdout + result.stderr
        assert result.stdout == "", "the program must not have run"
        return result.stderr

    def printed(self, *arguments: str | Path, **settings: str) -> list[str]:
        result = run(SHIM, *arguments, **settings)
        assert result.returncode == 0, result.stderr
        assert result.stderr == ""
        return result.stdout.splitlines()


class Environment(ExecTest):
    def test_own_library_is_preloaded_by_default(self) -> None:
        assert self.printed("printenv", "LD_PRELOAD") == [str(LIBRARY)]

    def test_library_comes_after_what_the_user_preloads(self) -> None:
        maps = self.printed("printenv", "LD_PRELOAD", LD_PRELOAD="libm.so.6 libdl.so.2")
        assert maps == [f"libm.so.6 libdl.so.2:{LIBRARY}"]

    def test_library_is_preloaded_once(self) -> None:
        assert self.printed(SHIM, SHIM, "printenv", "LD_PRELOAD") == [str(LIBRARY)]

    def test_a_relative_path_of_the_library_holds_everywhere(self) -> None:
        """The program, and those that it starts, may go to other directories."""
        relative = os.path.relpath(LIBRARY)
        path = self.printed("--library", relative, "printenv", "LD_PRELOAD")[0]
        assert path.startswith("/")
        assert Path(path).samefile(LIBRARY)

    def test_address_sanitizer_is_told_that_the_order_is_right(self) -> None:
        check = "verify_asan_link_order=0"
        assert self.printed("printenv", "ASAN_OPTIONS") == [check]
        assert self.printed(SHIM, SHIM, "printenv", "ASAN_OPTIONS") == [check]
        given = "verify_asan_link_order=1:detect_leaks=0"
        assert self.printed("printenv", "ASAN_OPTIONS", ASAN_OPTIONS=given) == [f"{check}:{given}"]

    def test_variables_are_set(self) -> None:
        options = ["--set", "UNISONO_A=1=2", "--set=UNISONO_B=", "--library", LIBRARY, "--"]
        assert self.printed(*options, "printenv", "UNISONO_A", "UNISONO_B") == ["1=2", ""]

    def test_arguments_reach_the_program_as_they_are(self) -> None:
        arguments = ["--set", "a b", "--", "", "*"]
        assert self.printed("printf", "[%s]\n", *arguments) == [f"[{word}]" for word in arguments]

    def test_scripts_get_the_library(self) -> None:
        script = self.file("script", '#!/bin/sh\necho "$LD_PRELOAD"\n')
        assert self.printed(script) == [str(LIBRARY)]

    def test_exit_codes_and_signals_of_the_program_pass_through(self) -> None:
        assert run(SHIM, "sh", "-c", "exit 42").returncode == 42
        assert run(SHIM, "sh", "-c", "kill -TERM $$").returncode == -signal.SIGTERM


class Refusals(ExecTest):
    def test_missing_library_ends_with_host_and_path(self) -> None:
        message = self.refused(125, "--library", "/nowhere/libunisono.so", "echo", "ran")
        assert f"{HOST}: cannot use /nowhere/libunisono.so: No such file or directory" in message

    def test_one_rank_of_each_node_says_it(self) -> None:
        arguments = ("--library", "/nowhere/libunisono.so", "echo", "ran")
        assert self.refused(125, *arguments, OMPI_COMM_WORLD_LOCAL_RANK="0") != ""
        assert self.refused(125, *arguments, OMPI_COMM_WORLD_LOCAL_RANK="1") == ""

    def test_hydra_sees_a_signal(self) -> None:
        message = self.refused(
            -signal.SIGTERM, "--library", "/nowhere/libunisono.so", "echo", "ran", PMI_RANK="1"
        )
        assert "cannot use /nowhere/libunisono.so" in message
        self.refused(-signal.SIGTERM, "no-such-program", PMI_RANK="0")

    def test_library_that_is_none(self) -> None:
        text = self.file("libunisono.so", "not a library")
        assert "it is no shared library" in self.refused(125, "--library", text, "echo", "ran")

    def test_library_for_another_architecture(self) -> None:
        other = bytearray(LIBRARY.read_bytes()[:4096])
        struct.pack_into("<H", other, 18, 0x15)  # e_machine: PowerPC
        library = self.file("libunisono.so", bytes(other))
        assert "built for another architecture" in self.refused(125, "--library", library, "echo", "ran")

    def test_library_whose_path_cannot_be_preloaded(self) -> None:
        (self.folder / "a b").mkdir()
        library = self.file("a b/libunisono.so", LIBRARY.read_bytes())
        assert "colons or blanks" in self.refused(125, "--library", library, "echo", "ran")

    def test_adapter_that_other_hosts_have_is_missing(self) -> None:
        library = self.file("libunisono.so", LIBRARY.read_bytes())
        adapter = self.file("libunisono-mpich.so", LIBRARY.read_bytes())
        assert self.printed("--library", library, "--adapters", "mpich", "echo", "ran") == ["ran"]
        missing = self.folder / "libunisono-openmpi.so"
        message = self.refused(125, "--library", library, "--adapters", "mpich,openmpi", "echo", "ran")
        assert f"{HOST}: cannot use {missing}: No such file or directory" in message
        adapter.write_text("damaged")
        assert "no shared library" in self.refused(125, "--library", library, "--adapters", "mpich", "ls")

    def test_program_not_found(self) -> None:
        message = self.refused(127, "no-such-program")
        assert f"{HOST}: cannot run no-such-program: no such program" in message
        self.refused(127, "/no/such/program")
        self.refused(127, "no-such-program", PATH="")

    def test_program_that_cannot_be_executed(self) -> None:
        self.refused(126, self.file("data", "echo ran", mode=0o644))
        self.refused(126, self.folder)
        self.refused(126, self.file("garbage", b"\x7fELF"))

    def test_wrong_arguments(self) -> None:
        for arguments in ([], ["--"], ["--set"], ["--set", "NAME"], ["--set", "=1"], ["--unknown", "echo"]):
            with self.subTest(arguments):
                assert "usage: unisono-exec" in self.refused(125, *arguments)

    def test_help_and_version(self) -> None:
        assert "usage: unisono-exec" in "\n".join(self.printed("--help"))
        assert re.search(r"^unisono-exec \d+\.\d+\.\d+$", self.printed("--version")[0])


class WithoutUnisono(ExecTest):
    def passed(self, program: Path, reason: str, **settings: str) -> None:
        result = run(SHIM, program, **settings)
        assert result.returncode == 0, result.stderr
        assert result.stderr == f"unisono: {program} {reason}; it runs without Unisono\n"

    def test_statically_linked(self) -> None:
        program = PROGRAMS / "static"
        if not program.exists():
            self.skipTest("not built (sanitizers)")
        self.passed(program, "is statically linked")
        assert run(SHIM, program, PMI_RANK="1").stderr == "", "the first rank says it for all"

    def test_an_mpi_linked_in(self) -> None:
        reason = "has an MPI linked in (it defines PMPI_Init)"
        self.passed(PROGRAMS / "own_mpi", reason)
        content = bytearray((PROGRAMS / "own_mpi").read_bytes())
        struct.pack_into("<Q", content, 0x28, 2**63)  # e_shoff: the sections' table lies nowhere
        assert self.printed(self.file("damaged", bytes(content))) == []

    @unittest.skipUnless(os.getuid() == 0, "needs root to give a file away")
    def test_set_user_id(self) -> None:
        program = self.file("program", Path("/bin/true").read_bytes())
        os.chown(program, 12345, 0)
        program.chmod(0o4755)
        self.folder.chmod(0o755)
        self.passed(program, "runs with rights of its own (set-user-id or the like)")


class Names(ExecTest):
    """Of programs and arguments, which may say anything: no message of ours lets them steer the terminal."""

    NAME = "a\x1b[2J\x9b\u202e\nunisono: all is well\t"
    SHOWN = r"a\x1b[2J\x9b\u202e\nunisono: all is well\x09"

    def test_of_wrong_arguments(self) -> None:
        for words in ([f"--{self.NAME}"], ["--set", self.NAME], [f"--set=={self.NAME}"]):
            assert self.SHOWN in self.refused(125, *words).splitlines()[0], words

    def test_of_files(self) -> None:
        message = self.refused(125, "--library", f"/nowhere/{self.NAME.strip()}", "echo")
        assert r"\x1b[2J" in message and "\x1b" not in message and message.count("\n") == 1, message
        message = self.refused(127, f"/nowhere/{self.NAME}")
        assert f"cannot run /nowhere/{self.SHOWN}: no such program\n" in message and message.count("\n") == 1

    def test_of_bytes_that_are_no_text(self) -> None:
        raw = os.fsdecode(b"/nowhere/\x9b2J\xc3\xa9")
        assert "cannot run /nowhere/\\x9b2J\u00e9: no such program" in self.refused(127, raw)

    def test_of_programs_without_unisono(self) -> None:
        program = self.file(self.NAME, (PROGRAMS / "own_mpi").read_bytes())
        reason = "has an MPI linked in (it defines PMPI_Init)"
        result = run(SHIM, program)
        assert result.stderr == f"unisono: {self.folder}/{self.SHOWN} {reason}; it runs without Unisono\n"


if __name__ == "__main__":
    unittest.main()
