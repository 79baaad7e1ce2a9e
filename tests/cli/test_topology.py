# SPDX-License-Identifier: BSD-3-Clause
"""`unisono topology`: switches found from latencies, shown, and looked at for contention."""

from __future__ import annotations

import json
import stat
import subprocess
import sys
from pathlib import Path
from typing import ClassVar
from xml.etree import ElementTree

import numpy as np
import pytest
from conftest import BUILD, FIXTURES, Stage, needs_build
from unisono.commands.show import ranks_in
from unisono.common.errors import UnisonoError
from unisono.measuring import latencies
from unisono.reporting import hardware


def matrix(groups: list[list[int]], near: float, far: float) -> np.ndarray:
    """Latencies between machines, `near` inside the groups and `far` between them."""
    count = sum(map(len, groups))
    found = np.full((count, count), far)
    for group in groups:
        found[np.ix_(group, group)] = near
    np.fill_diagonal(found, 0.0)
    return found


def lines(found: np.ndarray, gap: float = latencies.STANDARD_GAP) -> list[str]:
    top = latencies.switches_of(found, gap)
    return latencies.as_lines(top, [f"n{i}" for i in range(len(found))])


class TestGrouping:
    def test_one_switch(self) -> None:
        assert lines(matrix([[0, 1, 2, 3]], 20.0, 20.0)) == ["SwitchName=s0 Nodes=n0,n1,n2,n3"]
        assert lines(np.zeros((1, 1))) == ["SwitchName=s0 Nodes=n0"]

    def test_switches_below_another_one(self) -> None:
        assert lines(matrix([[0, 2, 4], [1, 3]], 20.0, 30.0)) == [
            "SwitchName=s0 Switches=s1,s2",
            "SwitchName=s1 Nodes=n0,n2,n4",
            "SwitchName=s2 Nodes=n1,n3",
        ]

    def test_a_machine_on_the_upper_switch(self) -> None:
        assert lines(matrix([[0, 1], [2]], 20.0, 30.0)) == [
            "SwitchName=s0 Switches=s1 Nodes=n2",
            "SwitchName=s1 Nodes=n0,n1",
        ]

    def test_three_levels(self) -> None:
        found = matrix([[0, 1, 2, 3], [4, 5, 6, 7]], 30.0, 50.0)
        for pair in ([0, 1], [2, 3], [4, 5], [6, 7]):
            found[np.ix_(pair, pair)] = 20.0
        assert lines(found) == [
            "SwitchName=s0 Switches=s1,s2",
            "SwitchName=s1 Switches=s3,s4",
            "SwitchName=s2 Switches=s5,s6",
            "SwitchName=s3 Nodes=n0,n1",
            "SwitchName=s4 Nodes=n2,n3",
            "SwitchName=s5 Nodes=n4,n5",
            "SwitchName=s6 Nodes=n6,n7",
        ]

    def test_what_counts_as_a_gap(self) -> None:
        found = matrix([[0, 1, 2], [3, 4, 5]], 20.0, 23.0)
        assert len(lines(found)) == 1
        assert len(lines(found, gap=0.1)) == 3

    def test_noise_does_not_matter(self) -> None:
        """Four switches with eight machines each, in any order, every latency up to 10 % off."""
        random = np.random.default_rng(3)
        for _ in range(20):
            machines = random.permutation(32)
            groups = [sorted(int(i) for i in machines[8 * i : 8 * i + 8]) for i in range(4)]
            found = matrix(groups, 20.0, 32.0) * random.uniform(0.9, 1.1, (32, 32))
            top = latencies.switches_of(found)
            assert [switch.machines for switch in top.below] == sorted(groups)
            assert not top.machines

    @pytest.mark.parametrize(
        "wrong", [np.zeros((0, 0)), np.ones((2, 3)), np.zeros((2, 2)), np.full((2, 2), np.nan)]
    )
    def test_what_is_no_matrix_of_latencies(self, wrong: np.ndarray) -> None:
        with pytest.raises(UnisonoError):
            latencies.switches_of(wrong)


@pytest.fixture
def measured(stage: Stage) -> Stage:
    """A compiler whose program prints recorded latencies, and a launcher that starts it once."""
    found = matrix([[0, 1], [2, 3]], 20.0, 40.0)
    answer = {"machines": ["a", "b", "c", "d"], "latencies_us": found.tolist()}
    program = f"#!{sys.executable}\nprint('''{json.dumps(answer)}''')\n"
    compiler = (
        f"#!{sys.executable}\nimport sys, pathlib\nmade = pathlib.Path(sys.argv[sys.argv.index('-o') + 1])\n"
    )
    compiler += f"made.write_text({program!r})\nmade.chmod(0o755)\n"
    launcher = '#!/bin/sh\nshift 2\nexec "$@"\n'
    for name, text in (("mpicc", compiler), ("mpirun", launcher)):
        file = stage.root / "measuring" / name
        file.parent.mkdir(exist_ok=True)
        file.write_text(text)
        file.chmod(file.stat().st_mode | stat.S_IXUSR)
    return stage


def test_measure(measured: Stage) -> None:
    launcher = str(measured.root / "measuring/mpirun")
    environment = {"XDG_CACHE_HOME": str(measured.root / "cache")}
    answer = measured.unisono("topology", "measure", "--", launcher, "-N", "1", environment=environment)
    assert answer.returncode == 0, answer.stderr
    assert answer.stdout.splitlines()[1:] == [
        "SwitchName=s0 Switches=s1,s2",
        "SwitchName=s1 Nodes=a,b",
        "SwitchName=s2 Nodes=c,d",
    ]
    words = ["topology", "measure", "-o", "switches.conf", "--gap", "2", "--", launcher, "-N", "1"]
    assert measured.unisono(*words, environment=environment).returncode == 0
    assert "SwitchName=s0 Nodes=a,b,c,d\n" in (measured.work / "switches.conf").read_text()


def test_measure_says_what_went_wrong(measured: Stage) -> None:
    environment = {"XDG_CACHE_HOME": str(measured.root / "cache")}
    launcher = measured.root / "measuring/mpirun"
    launcher.write_text("#!/bin/sh\nexit 3\n")
    answer = measured.unisono("topology", "measure", "--", str(launcher), "-N", "1", environment=environment)
    assert answer.returncode == 1
    assert "ended with status 3" in answer.stderr
    alone = '{"machines": ["a"], "latencies_us": [[0]]}'
    launcher.write_text(f"#!/bin/sh\necho '{alone}'\n")
    answer = measured.unisono("topology", "measure", "--", str(launcher), "-N", "1", environment=environment)
    assert answer.returncode == 1
    assert "all ranks run on a;" in answer.stderr


@needs_build
class TestCompiled:
    def test_show(self, stage: Stage, built: dict[str, str]) -> None:
        text = stage.unisono("topology", "show", "tree:2x3", "--phases", environment=built)
        assert text.returncode == 0, text.stderr
        assert "└── switch s1" in text.stdout
        assert ": 0 1 2 3 4 5\n" in text.stdout
        assert "9 phases, as many as there are messages over switch s1 -> switch top" in text.stdout
        assert "0→3  3→0" in text.stdout
        found = json.loads(stage.unisono("topology", "show", "tree:4x8", "--json", environment=built).stdout)
        assert (found["ranks"], found["phases"]) == (32, 192)

    def test_show_a_file(self, stage: Stage, built: dict[str, str]) -> None:
        file = stage.work / "switches.conf"
        file.write_text("SwitchName=top Switches=a Nodes=z\nSwitchName=a Nodes=x,y\n")
        answer = stage.unisono("topology", "show", "switches.conf", "--layout", "3x2", environment=built)
        assert answer.returncode == 0, answer.stderr
        assert "x: ranks 2, 3" in answer.stdout
        assert ": 0 1 2 3 4 5\n" in answer.stdout
        file.write_text("SwitchName=top Switches=b\n")
        answer = stage.unisono("topology", "show", "switches.conf", environment=built)
        assert answer.returncode == 2
        assert "switches.conf line 1: there is no switch b; describe it" in answer.stderr

    @pytest.mark.parametrize(
        ("words", "problem"),
        [
            (["show", "tree:x"], "write tree:16"),
            (["show", "nowhere.conf"], "a file that can be read"),
            (["show", "/tmp"], "a file that can be read"),
            (["contention", "latin1.conf", "alltoall"], "latin1.conf line 2: '\\xe4' is not of the form"),
            (["show", "tree:4x8", "--layout", "4x8"], "has 32 machines, the layout has 4 nodes"),
            (["show", "tree:2048"], "at most 1024"),
            (["contention", "tree:4x8", "frob"], "frob"),
            (["contention", "tree:4x8", "alltoall", "--algorithm", "frob"], "frob"),
        ],
    )
    def test_refuses(self, stage: Stage, built: dict[str, str], words: list[str], problem: str) -> None:
        (stage.work / "latin1.conf").write_bytes(b"SwitchName=a Nodes=b\n\xe4\n")
        answer = stage.unisono("topology", *words, environment=built)
        assert answer.returncode == 2
        assert problem in answer.stderr

    def test_names_in_another_encoding(self, stage: Stage, built: dict[str, str]) -> None:
        (stage.work / "latin1.conf").write_bytes(b"SwitchName=\xe4 Nodes=b\n")
        answer = stage.unisono("topology", "show", "latin1.conf", environment=built)
        assert answer.returncode == 0, answer.stderr
        assert "switch \ufffd" in answer.stdout

    def test_contention(self, stage: Stage, built: dict[str, str]) -> None:
        words = ["topology", "contention", "tree:4x8", "alltoall", "--algorithm"]
        contending = stage.unisono(*words, "ring", environment=built)
        assert contending.returncode == 1
        assert "rank 6 -> rank 8 and rank 7 -> rank 9 both take switch s0 -> switch top" in contending.stdout
        free = stage.unisono(*words, "topology_light_barrier", "--json", environment=built)
        assert free.returncode == 0, free.stderr
        assert json.loads(free.stdout) == [
            {
                "operation": "alltoall",
                "algorithm": "topology_light_barrier",
                "illegal": "",
                "rounds": 192,
                "most_on_a_link": 1,
                "conflict": "",
                "conflict_over_time": "",
            }
        ]

    def test_algorithms_are_drawn_on_it(self, stage: Stage, built: dict[str, str]) -> None:
        words = ["show", "alltoall", "--algorithm", "topology_light_barrier", "--topology"]
        answer = stage.unisono(*words, "tree:2x2", environment=built)
        assert answer.returncode == 0, answer.stderr
        assert "4 ranks on 4 nodes (1 rank each) below 3 switches" in answer.stdout
        assert stage.unisono(*words, "tree:2x2", "--ranks", "5", environment=built).returncode == 2

    def test_the_option_of_a_run(self, stage: Stage, built: dict[str, str]) -> None:
        """A string stays as it is, a file is named from the root."""
        script = 'echo "$UNISONO_TOPOLOGY"'
        (stage.work / "f.conf").write_text("SwitchName=s0 Nodes=n[0-1]\n")
        for given, seen in (("tree:4x8", "tree:4x8"), ("f.conf", str(Path(stage.work) / "f.conf"))):
            answer = stage.unisono("run", "--topology", given, "sh", "-c", script, environment=built)
            assert answer.stdout == f"{seen}\n", answer.stderr


TWO_SOCKETS = str(FIXTURES / "two_sockets.xml")


class TestRanges:
    @pytest.mark.parametrize(
        ("numbers", "text"), [([], ""), ([3], "3"), ([2, 0, 1], "0-2"), ([0, 2, 3, 9], "0,2-3,9")]
    )
    def test_text(self, numbers: list[int], text: str) -> None:
        assert hardware.ranges(numbers) == text


class TestDomainsOfNodes:
    """What `unisono report` says of them."""

    LEVELS: ClassVar = [{"kind": "socket", "ranks": [8, 8]}, {"kind": "cache", "ranks": [4, 4, 5, 3]}]

    def test_nothing_is_known(self) -> None:
        assert hardware.domains_text([{"name": "a", "ranks": 16}]) == ""

    def test_all_alike(self) -> None:
        nodes = [{"name": name, "ranks": 16, "domains": self.LEVELS} for name in "ab"]
        assert hardware.domains_text(nodes) == "2 sockets (8 each), 4 caches (4, 4, 5, 3)"

    def test_others_differ(self) -> None:
        nodes = [{"name": "a", "ranks": 16}, {"name": "b", "ranks": 16, "domains": self.LEVELS[:1]}]
        assert hardware.domains_text(nodes) == "2 sockets (8 each) on b, others differ"


def hwloc_is_missing(answer: subprocess.CompletedProcess[str]) -> bool:
    return answer.returncode == 2 and (
        "there is no libhwloc" in answer.stderr or "without hwloc" in answer.stderr
    )


@needs_build
class TestMachines:
    """What a machine consists of, as hwloc tells."""

    @pytest.fixture
    def stage(self, stage: Stage) -> Stage:
        """With the compiled tool itself."""
        tool = stage.home / "bin/unisono-tool"
        tool.unlink()
        tool.symlink_to(BUILD / "bin/unisono-tool")
        return stage

    def shown(self, stage: Stage, *words: str, environment: dict[str, str] | None = None) -> str:
        answer = stage.unisono("topology", "show", *words, environment=environment or {})
        if hwloc_is_missing(answer):
            pytest.skip("hwloc is not here")
        assert answer.returncode == 0, answer.stderr
        return answer.stdout

    def test_this_one(self, stage: Stage) -> None:
        first = self.shown(stage).splitlines()[0]
        assert first.startswith("machine: PUs 0"), first

    def test_one_in_a_file(self, stage: Stage) -> None:
        lines = self.shown(stage, TWO_SOCKETS).splitlines()
        assert lines[0].startswith("described machine: PUs 0-63, ")
        assert [line.strip("│├└─ ") for line in lines[1:8]] == [
            "socket 0",
            "NUMA domain 0: 1 GiB",
            "cache 0: 32 MiB",
            "cores 0-3: PUs 0,2,4,6,8,10,12,14",
            "cache 1: 32 MiB",
            "cores 4-7: PUs 16,18,20,22,24,26,28,30",
            "NUMA domain 1: 1 GiB",
        ]
        assert lines[-1] == "With a rank on each core its layout is 1x2x2x2x4."

    def test_one_that_is_described(self, stage: Stage) -> None:
        text = self.shown(stage, "package:2 l3:2 core:8 pu:2")
        assert text.endswith("With a rank on each core its layout is 1x2x2x8.\n")
        assert "│   │   └── cores 0-7: PUs 0-15" in text

    @pytest.mark.parametrize(
        ("name", "value", "layout"),
        [("HWLOC_SYNTHETIC", "numa:3 core:5 pu:1", "1x3x5"), ("HWLOC_XMLFILE", TWO_SOCKETS, "1x2x2x2x4")],
    )
    def test_one_that_the_environment_describes(
        self, stage: Stage, name: str, value: str, layout: str
    ) -> None:
        assert self.shown(stage, environment={name: value}).endswith(f"its layout is {layout}.\n")

    def test_json(self, stage: Stage) -> None:
        found = json.loads(self.shown(stage, TWO_SOCKETS, "--json"))
        assert not found["is_this_machine"] and found["layout"] == "1x2x2x2x4"
        assert [part["kind"] for part in found["parts"]].count("core") == 32

    def test_drawing(self, stage: Stage) -> None:
        assert self.shown(stage, TWO_SOCKETS, "--svg", "machine.svg") == ""
        root = ElementTree.parse(stage.work / "machine.svg").getroot()
        boxes = [child for child in root if child.tag.endswith("rect")]
        assert len(boxes) == 1 + 2 + 4 + 8 + 32
        limits = [float(root.attrib[name]) for name in ("width", "height")]
        for box in boxes:
            ends = [
                float(box.attrib[at]) + float(box.attrib[size])
                for at, size in (("x", "width"), ("y", "height"))
            ]
            assert ends[0] <= limits[0] and ends[1] <= limits[1]

    @pytest.mark.parametrize(
        ("words", "says"),
        [
            (["package:2 pu:"], "is no topology"),
            (["pu:0"], "hwloc takes 'pu:0' for no description"),
            (["--phases"], "--layout and --phases go with switches"),
            (["tree:4", "--svg", "x.svg"], "--svg draws machines"),
        ],
    )
    def test_what_is_no_machine(self, stage: Stage, words: list[str], says: str) -> None:
        answer = stage.unisono("topology", "show", *words)
        assert answer.returncode == 2
        assert says in " ".join(answer.stderr.split())


class TestRanksInLayouts:
    @pytest.mark.parametrize(
        ("layout", "ranks"),
        [
            ("8", 8),
            ("4x8", 32),
            ("3,5,8", 16),
            ("4x8/cyclic", 32),
            ("4x2x8", 64),
            ("2x4x8x8/cyclic/interleaved", 512),
            ("3+5,8", 16),
            ("4x(3+5)", 32),
            ("(2+2)+(2+2),2x(1+1)", 12),
        ],
    )
    def test_count(self, layout: str, ranks: int) -> None:
        assert ranks_in(layout) == ranks

    @pytest.mark.parametrize("layout", ["", "x", "4x", "banana", "0", "4x(3+5", "(())", "3,,5", "2x0"])
    def test_what_is_none(self, layout: str) -> None:
        with pytest.raises(UnisonoError, match="write 4x8"):
            ranks_in(layout)
