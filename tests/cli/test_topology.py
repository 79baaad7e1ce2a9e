# SPDX-License-Identifier: BSD-3-Clause
"""`unisono topology`: switches found from latencies, shown, and looked at for contention."""

from __future__ import annotations

import json
import stat
import sys
from pathlib import Path

import numpy as np
import pytest
from conftest import Stage, needs_build
from unisono.common.errors import UnisonoError
from unisono.measuring import latencies


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
