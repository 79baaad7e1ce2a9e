# SPDX-License-Identifier: BSD-3-Clause
"""The preloaded library: what it exports, and where calls go in processes with one, no, unknown or two MPIs."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
import unittest
from pathlib import Path

from processes import (
    BUILD,
    CALLER,
    EMULATOR,
    LIBRARY,
    PROGRAMS,
    ROOT,
    SLOTS,
    dynamic_section,
    names,
    run,
    symbols,
)

MPICH = PROGRAMS / "fake_mpich/libmpi.so.12"
OPENMPI = PROGRAMS / "fake_openmpi/libmpi.so.40"
UNKNOWN = PROGRAMS / "fake_unknown/libmpi.so.99"
TOOL = PROGRAMS / "fake_tool/libtool.so"
WITHOUT = "the program runs without Unisono"

# Real MPIs to open the adapters on, where the machine or the project's environments have them.
REAL_MPIS = {
    "openmpi": ["/usr/lib/*/libmpi.so.40", ".mpi/openmpi/lib/libmpi.so.40"],
    "mpich": ["/usr/lib/*/libmpich.so.12", ".mpi/mpich/lib/libmpi.so.12", ".mpi/impi/lib/libmpi.so.12"],
    "mpiabi": [".mpi/mpich/lib/libmpi_abi.so.1", ".mpi/impi/lib/libmpi_abi.so.1"],
}


class Exports(unittest.TestCase):
    def test_exported_functions_are_the_list_and_no_more(self) -> None:
        functions = {f"{prefix}MPI_{name}" for name in names() for prefix in ("", "P")}
        own = {
            "unisono_set_enabled",
            "unisono_is_active",
            "unisono_set_algorithm",
            "unisono_decision",
            "unisono_decision_on",
            "unisono_operation_time",
            "unisono_distance",
            "unisono_version",
            "unisono_region_begin",
            "unisono_region_end",
            "dlopen",
        }
        assert symbols(LIBRARY, "--defined-only") == functions | own

    def test_library_needs_nothing_but_the_c_library(self) -> None:
        needed = re.findall(r"NEEDED.*\[(.*)\]", dynamic_section(LIBRARY))
        allowed = {"libc", "libdl", "ld-linux-x86-64", "ld-linux-aarch64"}
        assert {name.split(".so")[0] for name in needed} <= allowed

    def test_adapters_bring_no_library_and_no_path(self) -> None:
        adapters = sorted((BUILD / "lib").glob("libunisono-*.so"))
        assert adapters
        for adapter in adapters:
            with self.subTest(adapter.name):
                section = dynamic_section(adapter)
                assert "RUNPATH" not in section
                assert "RPATH" not in section
                mpis = [name for name in re.findall(r"NEEDED.*\[(.*)\]", section) if "mpi" in name]
                assert mpis == (["libmpi.so.40"] if "openmpi" in adapter.name else [])
                assert "libstdc++" not in section
                assert symbols(adapter, "--defined-only") == {
                    "unisono_open_adapter",
                    "unisono_run_agent",
                }
                stray = {name for name in symbols(adapter, "--undefined-only") if re.match(r"P?MPI_", name)}
                assert stray == set(), "such a name would find the preloaded library's own stubs"


class RealMpis(unittest.TestCase):
    def test_no_slot_is_empty_on_any_mpi(self) -> None:
        tried = 0
        known = {} if EMULATOR else REAL_MPIS  # this machine's
        for family, patterns in known.items():
            adapter = BUILD / f"lib/libunisono-{family}.so"
            for pattern in patterns:
                root, relative = (Path("/"), pattern[1:]) if pattern.startswith("/") else (ROOT, pattern)
                for library in sorted(root.glob(relative)) if adapter.exists() else []:
                    with self.subTest(str(library)):
                        # Wheels find some of their own parts by LD_LIBRARY_PATH.
                        result = run(SLOTS, library, adapter, LD_LIBRARY_PATH=str(library.parent))
                        assert result.returncode == 0, result.stderr
                        tried += 1
        if tried == 0:
            self.skipTest("no real MPI here")


class Processes(unittest.TestCase):
    """Each test has a folder of its own with a copy of the library, and the adapters that it puts beside it."""

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory(prefix="unisono-entry-")
        self.addCleanup(folder.cleanup)
        self.library = Path(folder.name) / "libunisono.so"
        shutil.copy(LIBRARY, self.library)

    def add_adapter(self, family: str, which: str = "fake_adapter/adapter.so") -> None:
        shutil.copy(PROGRAMS / which, self.library.with_name(f"libunisono-{family}.so"))

    def call(self, *arguments: str | Path, **settings: str) -> tuple[list[str], str]:
        result = run(CALLER, *arguments, LD_PRELOAD=str(self.library), **settings)
        assert result.returncode == 0, result.stdout + result.stderr
        return result.stdout.splitlines(), result.stderr


class NoMpi(Processes):
    def test_program_that_never_calls_mpi_sees_nothing(self) -> None:
        self.add_adapter("mpich")
        output, messages = self.call("maps")
        assert output == ["mapped libunisono.so"]
        assert messages == ""

    def test_program_with_an_mpi_that_it_never_calls(self) -> None:
        self.add_adapter("mpich")
        output, messages = self.call("load", MPICH, "maps")
        assert output == ["mapped libunisono.so"]
        assert messages == ""

    def test_call_without_any_mpi_ends_with_a_message(self) -> None:
        result = run(CALLER, "barrier", LD_PRELOAD=str(self.library))
        assert result.returncode != 0
        assert "unisono: MPI_Barrier was called, but no MPI library is loaded" in result.stderr

    def test_looking_before_there_is_an_mpi_latches_nothing(self) -> None:
        self.add_adapter("mpich")
        output, messages = self.call("active", "load", MPICH, "barrier", "active")
        assert output == ["active 0", "adapter Barrier", "active 1"]
        assert messages == ""


class OneMpi(Processes):
    def test_each_family_gets_its_adapter(self) -> None:
        for family, library in (("mpich", MPICH), ("openmpi", OPENMPI)):
            with self.subTest(family):
                self.add_adapter(family)
                output, messages = self.call("load", library, "barrier", "pbarrier", "maps")
                mapped = ["mapped libunisono.so", f"mapped libunisono-{family}.so"]
                assert output[:2] == ["adapter Barrier", "adapter Barrier"]
                assert sorted(output[2:]) == sorted(mapped)
                assert messages == ""

    def test_adapter_comes_from_the_librarys_own_place(self) -> None:
        """However the loader was told of the library, and wherever the program goes: another folder's adapter is not ours."""
        self.add_adapter("mpich")
        elsewhere = self.library.parent / "elsewhere"
        elsewhere.mkdir()
        shutil.copy(PROGRAMS / "fake_old_adapter/adapter.so", elsewhere / "libunisono-mpich.so")
        link = self.library.parent / "links"
        link.mkdir()
        (link / "libunisono.so").symlink_to(self.library)
        calls = ["chdir", elsewhere, "load", MPICH, "barrier"]
        relative = os.path.relpath(self.library)
        for settings in (
            {"LD_PRELOAD": relative},
            {"LD_PRELOAD": "libunisono.so", "LD_LIBRARY_PATH": os.path.dirname(relative)},
            {"LD_PRELOAD": os.path.relpath(link / "libunisono.so")},
            {"LD_PRELOAD": str(link / "libunisono.so")},
        ):
            with self.subTest(settings):
                result = run(CALLER, *calls, **settings)
                assert result.stdout.splitlines() == ["adapter Barrier"], result.stdout + result.stderr
                assert result.stderr == ""

    def test_mpi_that_only_a_plugin_sees(self) -> None:
        self.add_adapter("openmpi")
        output, messages = self.call("plugin", PROGRAMS / "plugin_openmpi/plugin.so", "call_barrier")
        assert output == ["adapter Barrier"]
        assert messages == ""

    def test_arguments_reach_the_function_unchanged(self) -> None:
        expected = "mpich Allreduce 1 2 3 4 5 6 1.5 2.5 3.5 4.5 5.5 6.5 7.5 8.5 7 9.5"
        # The first call goes through the resolver, the second does not.
        output, _ = self.call("load", MPICH, "registers", "registers")
        assert output == [expected, "result 4711"] * 2

    def test_number_of_vector_arguments_survives_the_resolver(self) -> None:
        output, _ = self.call("load", MPICH, "variadic", "variadic")
        assert output == ["mpich Init 36"] * 2

    def test_threads_that_call_first_at_once(self) -> None:
        self.add_adapter("mpich")
        for _ in range(20):
            output, messages = self.call("load", MPICH, "threads")
            assert output == ["adapter Barrier"] * 8
            assert messages == ""

    def test_setting_made_before_the_first_call_reaches_the_adapter(self) -> None:
        self.add_adapter("mpich")
        output, _ = self.call("load", MPICH, "enable", "0", "barrier", "active", "enable", "1", "active")
        expected = ["enabled before 1", "adapter Barrier", "active 0", "enabled before 0", "active 1"]
        assert output == expected


class LinkedTool(Processes):
    """A profiling tool that the program was linked with stands between the program and us, as between it and the MPI."""

    def test_tool_gets_the_programs_calls_and_we_get_the_tools(self) -> None:
        self.add_adapter("mpich")
        output, messages = self.call("load", TOOL, "load", MPICH, "barrier", "barrier", "pbarrier")
        assert output == ["tool Barrier", "adapter Barrier"] * 2 + ["adapter Barrier"]
        assert messages == ""

    def test_what_the_tool_does_not_define_comes_to_us(self) -> None:
        self.add_adapter("mpich")
        output, _ = self.call("load", TOOL, "load", MPICH, "variadic")
        assert output == ["adapter Init"]

    def test_tool_behind_the_mpi_would_not_be_called_without_us_either(self) -> None:
        self.add_adapter("mpich")
        output, _ = self.call("load", MPICH, "load", TOOL, "barrier")
        assert output == ["adapter Barrier"]

    def test_tool_over_an_mpi_that_is_left_alone(self) -> None:
        for library, name in ((MPICH, "mpich"), (UNKNOWN, "unknown")):
            with self.subTest(name):
                output, messages = self.call("load", TOOL, "load", library, "barrier", "pbarrier")
                assert output == ["tool Barrier", f"{name} Barrier 5", f"{name} Barrier 6"]
                assert WITHOUT in messages

    def test_tool_where_there_are_two_mpis(self) -> None:
        plugin = PROGRAMS / "plugin_openmpi/plugin.so"
        words = ("load", TOOL, "load", MPICH, "hold", plugin, "barrier")
        output, messages = self.call(*words)
        assert output == ["tool Barrier", "mpich Barrier 5"]
        assert "more than one MPI" in messages


class WithoutAdapter(Processes):
    def test_missing_adapter_is_said_once_and_calls_go_to_the_mpi(self) -> None:
        output, messages = self.call("load", MPICH, "barrier", "pbarrier", "active")
        assert output == ["mpich Barrier 5", "mpich Barrier 6", "active 0"]
        assert messages.count(WITHOUT) == 1
        assert len(messages.splitlines()) == 1
        assert "libunisono-mpich.so" in messages

    def test_only_the_first_rank_says_it(self) -> None:
        for variable in ("OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID"):
            for rank, lines in (("0", 1), ("3", 0)):
                with self.subTest(f"{variable}={rank}"):
                    _, messages = self.call("load", MPICH, "barrier", **{variable: rank})
                    assert len(messages.splitlines()) == lines

    def test_adapter_of_another_version_is_not_used(self) -> None:
        self.add_adapter("mpich", "fake_old_adapter/adapter.so")
        output, messages = self.call("load", MPICH, "barrier")
        assert output == ["mpich Barrier 5"]
        assert "of another version (0.0.1" in messages

    def test_adapter_that_is_none_is_not_used(self) -> None:
        self.add_adapter("mpich", "plugin_mpich/plugin.so")
        output, messages = self.call("load", MPICH, "barrier")
        assert output == ["mpich Barrier 5"]
        assert "is no adapter of Unisono" in messages

    def test_large_count_functions_go_to_the_mpi_that_has_them(self) -> None:
        output, _ = self.call("load", MPICH, "gather", "5000000000")
        assert output == ["mpich Gather_c 1 5000000000 2 3 5000000000 4 0 8"]

    def test_large_count_functions_are_narrowed_for_the_mpi_that_lacks_them(self) -> None:
        output, messages = self.call("load", OPENMPI, "gather", "11", "gather", "5000000000", "gather", "-2")
        fits = "openmpi Gather 1 11 2 3 11 4 0 8"
        # What does not fit becomes invalid, so that the MPI itself reports it.
        invalid = "openmpi Gather 1 -1 2 3 -1 4 0 8"
        assert output == [fits, invalid, invalid]
        assert messages.count(WITHOUT) == 1


class UnknownMpi(Processes):
    def test_unknown_mpi_is_left_alone(self) -> None:
        output, messages = self.call("load", UNKNOWN, "barrier", "registers")
        assert output[0] == "unknown Barrier 5"
        assert output[-1] == "result 4711"
        assert len(messages.splitlines()) == 1
        assert "fake_unknown/libmpi.so.99 is of no ABI family that Unisono knows" in messages

    def test_unknown_mpi_that_only_a_plugin_sees(self) -> None:
        plugin = PROGRAMS / "plugin_unknown/plugin.so"
        output, messages = self.call("plugin", plugin, "call_barrier", "plugin", plugin, "jump_to_barrier")
        assert output == ["unknown Barrier 7"] * 2
        assert WITHOUT in messages


class TwoMpis(Processes):
    def setUp(self) -> None:
        super().setUp()
        self.add_adapter("mpich")
        self.add_adapter("openmpi")

    def call_plugins(self, *calls: tuple[str, str]) -> tuple[list[str], str]:
        """Call functions of plugins, with both MPIs mapped before the first call."""
        plugins = {mpi: PROGRAMS / f"plugin_{mpi}/plugin.so" for mpi in ("mpich", "openmpi")}
        held = [word for plugin in plugins.values() for word in ("hold", plugin)]
        return self.call(*held, *[word for mpi, name in calls for word in ("plugin", plugins[mpi], name)])

    def test_each_plugin_reaches_its_own(self) -> None:
        output, messages = self.call_plugins(
            *[(mpi, "call_barrier") for mpi in ("mpich", "openmpi", "mpich")]
        )
        assert output == ["mpich Barrier 7", "openmpi Barrier 7", "mpich Barrier 7"]
        assert messages.count("more than one MPI") == 1
        assert len(messages.splitlines()) == 1

    def test_caller_that_cannot_be_seen_reaches_the_initialized_one(self) -> None:
        output, _ = self.call_plugins(("openmpi", "call_init"), ("openmpi", "jump_to_barrier"))
        assert output == ["openmpi Init 0", "openmpi Barrier 7"]

    def test_caller_that_cannot_be_seen_is_not_guessed(self) -> None:
        plugins = [PROGRAMS / f"plugin_{mpi}/plugin.so" for mpi in ("mpich", "openmpi")]
        words = ["hold", plugins[0], "plugin", plugins[1], "jump_to_barrier"]
        result = run(CALLER, *words, LD_PRELOAD=str(self.library))
        assert result.returncode != 0
        assert "MPI_Barrier was called, but no MPI in this process has such a function" in result.stderr

    def test_the_first_in_the_global_scope_serves_all(self) -> None:
        # As without us: a plugin's own MPI is searched after the global scope.
        loaded = ("load", MPICH, "load", OPENMPI)
        plugin = PROGRAMS / "plugin_openmpi/plugin.so"
        output, messages = self.call(*loaded, "barrier", "plugin", plugin, "call_barrier")
        assert output == ["mpich Barrier 5", "mpich Barrier 7"]
        assert WITHOUT in messages


if __name__ == "__main__":
    unittest.main()
