# SPDX-License-Identifier: BSD-3-Clause
"""Where the programs stand in the command lines of all launchers."""

from __future__ import annotations

from pathlib import Path

import pytest
from unisono.common.errors import UsageError
from unisono.launch import parse
from unisono.launch.flavours import FLAVOURS

# flavour | what stands behind the launcher's name, each program marked with @
CASES = """
openmpi4 | -n 4 @./a
openmpi4 | -np 4 @./a -np 5 --verbose
openmpi4 | --np 4 @./a
openmpi4 | -c 4 @./a
openmpi4 | @./a
openmpi4 | @./a -n 4
openmpi4 | -n 2 @python script.py --mca x
openmpi4 | -n 2 -- @./a -x
openmpi4 | -H node0:2,node1:2 --oversubscribe --mca pml ob1 --mca btl self,tcp -x LD_PRELOAD=/x.so -x HOME -n 8 @./a
openmpi4 | --mca plm_rsh_agent agent.sh --map-by ppr:2:node:OVERSUBSCRIBE --bind-to none -n 8 @/abs/a b c
openmpi4 | -gmca btl tcp -am file --prefix /opt/ompi -wdir /tmp -n 1 @a.out
openmpi4 | -npernode 2 -nolocal --report-bindings -x A=1 @./a
openmpi4 | -N 2 --rank-by core --cpu-set 0,1 -q -v @./a
openmpi4 | -qv -n 2 @./a
openmpi4 | --hostfile hosts --tag-output --timestamp-output --output-filename out -n 4 @env A=1 ./a
openmpi4 | --allow-run-as-root -n 1 @./a : -n 3 --mca a b @./b : @./c x
openmpi4 | --dvm -n 2 @./a
openmpi4 | -n 2 @./a : -n 2 -wdir sub @./b -- :x
openmpi5 | --prtemca plm_ssh_agent agent.sh -H n0:2,n1:2 --map-by ppr:2:node:OVERSUBSCRIBE --bind-to none -n 8 @./a
openmpi5 | --mca osc ^ucx --omca pml ob1 --pmixmca a b --gpmixmca c d -n 8 @./a
openmpi5 | -n=4 @./a
openmpi5 | -n4 @./a
openmpi5 | -xA=1 -Hn0,n1 -N2 @./a
openmpi5 | --map-by=core --np=4 @./a
openmpi5 | --prepend-env PATH[:] /x --append-env A[,] b --set-env C=1 --unset-env D @./a
openmpi5 | --display map --output tag,dir=out --timeout 60 --stop-on-exec -n 2 @./a
openmpi5 | --dvm pid:12 --runtime-options error-nonzero-status --gpu-support 0 @./a -n 2
openmpi5 | --with-ft ulfm --memory-alloc-kinds mpi --personality ompi @./a
openmpi5 | -n 1 @./a : -n 2 @./b
mpich | -n 4 @./a
mpich | -np 4 @./a : -np 2 @./b
mpich | -launcher ssh -launcher-exec agent.sh -hosts node0:2,node1:2 -genv LD_PRELOAD /x.so -n 8 @./a
mpich | -genv A=1 -genv B 2 -genvlist C,D -genvall -n 2 @./a
mpich | -f hosts -ppn 2 -n 4 -env A 1 -envlist B @./a
mpich | --bind-to core --map-by=numa -iface eth0 -prepend-rank -l -verbose -n 2 @./a
mpich | -n=4 -ppn=2 @./a
mpich | -wdir /tmp -outfile-pattern o.%r -errfile-pattern e.%r -usize SYSTEM -n 2 @a.out b
mpich | -rmk slurm -order-nodes ascending -disable-auto-cleanup -print-all-exitcodes @./a
mpich | -env A=1 -n 1 @./a : -env B 2 -n 1 @./b
intel | -n 4 -ppn 2 -genv I_MPI_DEBUG 5 -genv A=1 @./a
intel | -launcher ssh -launcher-exec agent.sh -hosts n0,n1 -ppn 2 -genv I_MPI_THREAD_YIELD 2 -n 8 @./a
intel | -perhost 2 -machinefile m -rr -nolocal -prot -s all -n 2 @./a
intel | -bootstrap fork -print-rank-map -silent-abort -iface eth0 -gtool tool:0=exclusive -n 2 @./a
intel | -host n0 -n 2 @./a : -host n1 -n 2 @./b
intel | -trace -n 2 @./a
srun | -n 4 @./a
srun | -n4 -N2 @./a
srun | -lN2 -n 4 @./a -n 5
srun | --ntasks=4 --nodes 2 @./a
srun | --ntasks-per-node 2 --cpus-per-task=1 --mpi=pmix -p debug -t 10:00 @./a
srun | --exclusive --export=ALL,A=1 --cpu-bind=cores -K0 @./a
srun | -K @./a
srun | -vvl -I30 -u @./a
srun | --job 12 --label @./a
srun | --jobid 12 --kill-on-bad-exit --pty @bash
srun | -w n0,n1 -x n2 -J name -o out.%t -e err -D /tmp @a.out
srun | -n 2 @./a : -n 3 -N 1 @./b c
srun | -n 2 -- @./a
unknown | -n 4 --map-by core @./a
unknown | -np 2 @./a : -np 2 @./b
"""


def read_case(line: str) -> tuple[str, list[str], list[list[str]]]:
    """Flavour, words, and the programs of the sections."""
    flavour, _, text = line.partition(" | ")
    words = text.split()
    programs: list[list[str]] = []
    is_inside = False
    for word in words:
        if word == ":":
            is_inside = False
        elif word.startswith("@"):
            programs.append([])
            is_inside = True
        if is_inside:
            programs[-1].append(word.removeprefix("@"))
    return flavour.strip(), [word.removeprefix("@") for word in words], programs


@pytest.mark.parametrize("line", CASES.strip().splitlines())
def test_finds_programs(line: str) -> None:
    flavour, words, programs = read_case(line)
    sections = parse.parse_sections(FLAVOURS[flavour], words)
    assert [section.program for section in sections] == programs
    joined: list[str] = []
    for index, section in enumerate(sections):
        joined += ([":"] if index else []) + section.options + section.program
    assert joined == words


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with a program and a file that is none."""
    program = tmp_path / "prog"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    (tmp_path / "data").write_text("")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("flavour", FLAVOURS)
@pytest.mark.parametrize(
    "text",
    [
        "--frob @./prog 1",
        "--frob 3 @./prog 1",
        "--frob ./data @./prog 1",
        "--frob 3 4 @./prog",
        "--frob=3 @./prog",
        "--frob 3 -n 2 @./prog",
        "--frob 3 @prog",
        "--frob @sh -c true",
        "--frob sh -n 2 @unisono-exec nowhere",
        "-n 2 @unisono-exec --set UNISONO_LOG=info -- ./prog",
    ],
)
def test_unknown_options(folder: Path, flavour: str, text: str) -> None:
    _, words, programs = read_case(f"{flavour} | {text}")
    assert [section.program for section in parse.parse_sections(FLAVOURS[flavour], words)] == programs


@pytest.mark.parametrize(
    "line",
    [
        "intel | -tune @./prog",
        "intel | -tune data @./prog",
        "intel | -tune data -n 2 @./nowhere",
        "openmpi5 | --output-proctable @./prog",
        "openmpi5 | --output-proctable data @./prog",
    ],
)
def test_values_that_may_be_left_out(folder: Path, line: str) -> None:
    flavour, words, programs = read_case(line)
    assert [section.program for section in parse.parse_sections(FLAVOURS[flavour], words)] == programs


@pytest.mark.parametrize(
    ("flavour", "text"),
    [
        ("openmpi4", ""),
        ("openmpi4", "-n 2"),
        ("openmpi5", "--version"),
        ("mpich", "-n 2 ./a :"),
        ("mpich", "-n 2 ./a : -n 2"),
        ("srun", "-n 2 --"),
        ("openmpi5", "--frob 3 nowhere"),
    ],
)
def test_no_program(folder: Path, flavour: str, text: str) -> None:
    with pytest.raises(UsageError, match="found no program") as caught:
        parse.parse_sections(FLAVOURS[flavour], text.split())
    assert "unisono-exec" in caught.value.message
    assert caught.value.exit_code == 2


@pytest.mark.parametrize(
    ("flavour", "text", "says"),
    [
        ("srun", "--multi-prog -n 4 file.conf", "separate them by ':'"),
        ("srun", "--multi-prog=x file.conf", "separate them by ':'"),
        ("srun", "--bcast=/tmp/a ./a", "sbcast"),
        ("openmpi4", "-n 2 --preload-binary ./a", "--preload-binary"),
        ("openmpi5", "-n 2 ./a : -s ./b", "unisono-exec"),
    ],
)
def test_refused_options(flavour: str, text: str, says: str) -> None:
    with pytest.raises(UsageError, match="unisono run cannot work with") as caught:
        parse.parse_sections(FLAVOURS[flavour], text.split())
    assert says in caught.value.message


@pytest.mark.parametrize(
    ("flavour", "option"),
    [("openmpi4", "--app"), ("openmpi5", "--app"), ("mpich", "-configfile"), ("intel", "-configfile")],
)
class TestSectionFiles:
    def parse(self, flavour: str, option: str, content: str, *rest: str) -> list[parse.Section]:
        Path("sections").write_text(content)
        return parse.parse_sections(FLAVOURS[flavour], ["--host", "n0", option, "sections", *rest])

    def test_become_sections(self, folder: Path, flavour: str, option: str) -> None:
        sections = self.parse(flavour, option, "# first\n-n 1 ./a x\n\n  -n 2 ./b   y # second\n")
        assert [section.options for section in sections] == [["--host", "n0", "-n", "1"], ["-n", "2"]]
        assert [section.program for section in sections] == [["./a", "x"], ["./b", "y"]]

    def test_with_a_program_beside(self, folder: Path, flavour: str, option: str) -> None:
        with pytest.raises(UsageError, match="both given"):
            self.parse(flavour, option, "-n 1 ./a\n", "./b")

    @pytest.mark.parametrize("line", ['-n 1 ./a "b c"', "-n 1 ./a b\\ c", "-n 1 ./a 'b'"])
    def test_quotes_are_refused(self, folder: Path, flavour: str, option: str, line: str) -> None:
        with pytest.raises(UsageError, match="quotes"):
            self.parse(flavour, option, line)

    def test_empty(self, folder: Path, flavour: str, option: str) -> None:
        with pytest.raises(UsageError, match="names no program"):
            self.parse(flavour, option, "# nothing\n")

    def test_missing(self, folder: Path, flavour: str, option: str) -> None:
        with pytest.raises(UsageError, match="cannot read"):
            parse.parse_sections(FLAVOURS[flavour], [option, "nowhere"])
