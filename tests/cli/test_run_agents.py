# SPDX-License-Identifier: BSD-3-Clause
"""`unisono run --agents`: the second job beside the first, with launchers that are stand-ins."""

from __future__ import annotations

import re
import shlex
import signal
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path

import pytest
from conftest import BUILD, Stage, needs_build
from test_run import is_running, settings, wait_until

VERSIONS = {
    "openmpi5": "mpirun (Open MPI) 5.0.11",
    "openmpi4": "mpirun (Open MPI) 4.1.4",
    "mpich": "HYDRA build details:\n    Version:                                 5.0.2",
    "intel": "Intel(R) MPI Library for Linux* OS, Version 2021.18 Build 20260101",
}
SLURM = {"SLURM_JOB_ID": "7", "SLURM_JOB_NUM_NODES": "3"}
FIVE = "--map-by ppr:1:node:OVERSUBSCRIBE --bind-to none"


def agents_line(
    stage: Stage, flavour: str, words: str, environment: Mapping[str, str] | None = None
) -> list[str]:
    """The launcher's words for the agents, up to their program."""
    version = {"FAKE_VERSION": VERSIONS.get(flavour, "")}
    answer = stage.unisono(
        "run", "--dry-run", "--agents", "1", *words.split(), environment={**version, **(environment or {})}
    )
    assert answer.returncode == 0, answer.stderr
    job, agents = (shlex.split(line) for line in answer.stdout.splitlines())
    name = settings(job)["UNISONO_AGENTS_JOB"]
    assert re.fullmatch("[0-9a-f]{32}", name)
    program = agents.index(f"{stage.home}/bin/unisono-agent")
    assert agents[program + 1 : program + 3] == ["--job", name], "both are told the same name"
    return agents[:program]


class TestCommand:
    """One agent on each of the job's nodes, which are reached as the job reaches them."""

    @pytest.mark.parametrize(
        ("flavour", "words", "expected"),
        [
            ("openmpi5", "mpirun -n 8 ./a -n 9", f"mpirun {FIVE}"),
            (
                "openmpi5",
                "mpirun --mca pml ob1 --map-by core -x A=1 --prtemca rmaps_x 1 -H a:4,b:4 -np 8 ./a",
                f"mpirun --mca pml ob1 -x A=1 {FIVE} --host a:4,b:4",
            ),
            ("openmpi5", "mpirun --host a -n 1 ./a : --host b -n 1 ./b", f"mpirun {FIVE} --host a,b"),
            ("openmpi5", "mpirun --hostfile h --report-bindings ./a", f"mpirun --hostfile h {FIVE}"),
            (
                "openmpi4",
                "mpirun --allow-run-as-root --rankfile r -n 8 ./a",
                "mpirun --allow-run-as-root --oversubscribe --map-by ppr:1:node --bind-to none",
            ),
            ("openmpi5", "env A=1 mpirun -n 2 ./a", f"env A=1 mpirun {FIVE}"),
            ("openmpi5", "timeout 9 mpirun -n 2 ./a", f"mpirun {FIVE}"),
            ("mpich", "mpirun -n 8 ./a", "mpirun -ppn 1 -n 1"),
            (
                "mpich",
                "mpirun -launcher ssh -hosts a:4,b:4,a:1 -genv A 1 -bind-to core -n 8 ./a",
                "mpirun -launcher ssh -genv A 1 -ppn 1 -n 2 -hosts a,b",
            ),
            ("mpich", "mpirun -f hosts -n 8 ./a", "mpirun -ppn 1 -n 2 -hosts x,y"),
            (
                "intel",
                "mpirun -host a -n 2 ./a : -host b -n 2 ./a",
                "mpirun -ppn 1 -n 2 -hosts a,b -genv I_MPI_PIN 0 -genv I_MPI_JOB_RESPECT_PROCESS_PLACEMENT 0",
            ),
        ],
    )
    def test_mpirun(self, stage: Stage, flavour: str, words: str, expected: str) -> None:
        (stage.work / "hosts").write_text("# two nodes\nx:4\n\ny slots=4\nx\n")
        assert agents_line(stage, flavour, words) == expected.split()

    @pytest.mark.parametrize(
        ("flavour", "places"),
        [
            ("openmpi5", "--map-by ppr:3:node:OVERSUBSCRIBE --bind-to none"),
            ("openmpi4", "--oversubscribe --map-by ppr:3:node --bind-to none"),
            ("mpich", "-ppn 3 -n 3"),
        ],
    )
    def test_pretended_nodes(self, stage: Stage, flavour: str, places: str) -> None:
        """Each has an agent."""
        words = "mpirun -n 8 ./a"
        assert agents_line(stage, flavour, words, {"UNISONO_NODES": "3,3,2"}) == f"mpirun {places}".split()

    def test_hosts_of_a_batch_system(self, stage: Stage) -> None:
        (stage.work / "nodes").write_text("x\nx\ny\n")
        found = agents_line(stage, "mpich", "mpirun ./a", {"PBS_NODEFILE": "nodes"})
        assert found == ["mpirun", "-ppn", "1", "-n", "2", "-hosts", "x,y"]
        assert agents_line(stage, "mpich", "mpirun ./a", SLURM) == ["mpirun", "-ppn", "1", "-n", "3"]

    @pytest.mark.parametrize(
        ("words", "nodes", "shared"),
        [
            ("srun -n 8 ./a", 3, ""),
            ("srun -N2 -n 8 ./a", 2, ""),
            ("srun --mpi=pmix -N 2 ./a", 2, "--mpi=pmix "),
        ],
    )
    def test_srun(self, stage: Stage, words: str, nodes: int, shared: str) -> None:
        places = f"--overlap -N {nodes} -n {nodes} --ntasks-per-node=1 --cpu-bind=none"
        unlinked = words.replace("./a", "/bin/true").split()
        answer = stage.unisono("run", "--agents", "1", *unlinked, environment=SLURM)
        assert answer.returncode == 2
        assert "it is not known which MPI the job's programs load" in answer.stderr
        linked = linked_program(stage, "libmpi.so.40")
        assert (
            agents_line(stage, "", words.replace("./a", str(linked)), SLURM)
            == f"srun {shared}{places}".split()
        )

    @pytest.mark.parametrize(
        ("flavour", "words", "expected"),
        [
            ("openmpi5", "mpirun --map-by rankfile:file=r -n 8 ./a", f"mpirun {FIVE} --host n1,n2.site"),
            ("openmpi5", "mpirun -H n1:4,n2:4,n3:4 ./a", f"mpirun {FIVE} --host n1,n2.site"),
            (
                "openmpi4",
                "mpirun --hostfile h --rankfile r ./a",
                "mpirun --hostfile h --oversubscribe --map-by ppr:1:node --bind-to none --host n1,n2.site",
            ),
            ("mpich", "mpirun -f h -n 8 ./a", "mpirun -ppn 1 -n 2 -hosts n1,n2.site"),
            (
                "intel",
                "mpirun -host n9 -n 2 ./a",
                "mpirun -ppn 1 -n 2 -hosts n1,n2.site -genv I_MPI_PIN 0 "
                "-genv I_MPI_JOB_RESPECT_PROCESS_PLACEMENT 0",
            ),
        ],
    )
    @pytest.mark.parametrize(
        "named", ["hosts:n1,n2.site", "hosts:n1,n2.site,n1,cores:3", "hosts:n1,n2.site,N1,N2.Site"]
    )
    def test_named_hosts(self, stage: Stage, flavour: str, words: str, expected: str, named: str) -> None:
        """They stand for what the launcher's own words say, each once."""
        (stage.work / "h").write_text("x:4\ny:4\nz:4\n")
        assert agents_line(stage, flavour, f"--agents-on {named} {words}") == expected.split()

    @pytest.mark.parametrize(
        ("flavour", "words"),
        [("openmpi5", "mpirun -H n1:4,n2:4,n3:4 ./a"), ("mpich", "mpirun -hosts n1:4,n2,n3 ./a")],
    )
    @pytest.mark.parametrize(
        ("named", "left_out"),
        [("n1,N3.site", "n2"), ("n3", "n1,n2"), ("n1,10.0.0.2", None), ("n1,n2,n3", None)],
    )
    def test_hosts_that_are_left_out(
        self, stage: Stage, flavour: str, words: str, named: str, left_out: str | None
    ) -> None:
        """Ranks hear of them, where it is certain: then they do not wait."""
        given = ["run", "--dry-run", "--agents", "1", "--agents-on", f"hosts:{named}", *words.split()]
        answer = stage.unisono(*given, environment={"FAKE_VERSION": VERSIONS[flavour]})
        assert answer.returncode == 0, answer.stderr
        job = shlex.split(answer.stdout.splitlines()[0])
        assert settings(job).get("UNISONO_AGENTS_LEFT_OUT") == left_out

    def test_named_hosts_of_slurm(self, stage: Stage) -> None:
        """Also where srun starts several programs, of which nobody else can say which nodes they share."""
        linked = str(linked_program(stage, "libmpi.so.40"))
        places = "--overlap -N 2 -n 2 --ntasks-per-node=1 --cpu-bind=none"
        for words in (
            f"srun -N 3 -w n1,n2,n3 -x n4 --mpi=pmix {linked}",
            f"srun --mpi=pmix --nodelist=n1 {linked} : -w n2 {linked}",
        ):
            found = agents_line(stage, "", f"--agents-on hosts:n1,n2 {words}", SLURM)
            assert found == f"srun --mpi=pmix {places} -w n1,n2".split()
        answer = stage.unisono(
            *["run", "--agents", "1", "srun", linked, ":", "-w", "n2", linked], environment=SLURM
        )
        assert answer.returncode == 2 and "; --agents-on hosts:LIST names them" in answer.stderr

    @pytest.mark.parametrize(
        "given",
        [
            ["--agents-on", "cores:1,3-4"],
            ["--agents-on", "cores:1", "--agents-on", "hosts:n1", "--agents-on", "cores:3-4"],
        ],
    )
    def test_how_they_run(self, stage: Stage, given: list[str]) -> None:
        answer = stage.unisono("run", "--dry-run", "--agents", "1", *given, "mpirun", "./a")
        words = shlex.split(answer.stdout.splitlines()[1])
        assert words[words.index("--cores") + 1] == "1,3-4"
        assert "--float" not in words and "--carrier" not in words

    def test_library(self, stage: Stage) -> None:
        """The one beside the launcher, then the program's, then what the loader finds by that name."""
        own = stage.root / "lib/libmpi.so.40"
        own.parent.mkdir()
        own.touch()
        program = linked_program(stage, "libmpi.so.40")
        answer = stage.unisono("run", "--dry-run", "--agents", "1", "mpirun", str(program))
        words = shlex.split(answer.stdout.splitlines()[1])
        libraries = [words[i + 1] for i, word in enumerate(words) if word == "--mpi"]
        assert libraries == [str(own), str(program.with_name("libmpi.so.40")), "libmpi.so.40"]


def linked_program(stage: Stage, library: str) -> Path:
    """A program that is linked to a library of that name, which lies beside it."""
    folder = stage.work / "linked"
    folder.mkdir()
    (folder / "empty.c").write_text("int there;\n")
    (folder / "main.c").write_text("extern int there; int main(void) { return there; }\n")
    soname = f"-Wl,-soname,{library}"
    subprocess.run(["cc", "-shared", "-fPIC", soname, "-o", library, "empty.c"], cwd=folder, check=True)
    rpath = f"-Wl,-rpath,{folder}"
    subprocess.run(["cc", "-o", "program", "main.c", library, rpath], cwd=folder, check=True)
    return folder / "program"


class TestThreads:
    """Agents that are threads of ranks need no second job."""

    def test_the_job_alone_is_started(self, stage: Stage) -> None:
        answer = stage.unisono("run", "--dry-run", "--agents", "thread", "mpirun", "-n", "2", "./a")
        assert answer.returncode == 0, answer.stderr
        (line,) = answer.stdout.splitlines()
        assert settings(shlex.split(line)) == {"UNISONO_AGENTS": "thread"}

    def test_a_program_without_a_launcher_may_have_them(self, stage: Stage) -> None:
        answer = stage.unisono("run", "--dry-run", "--agents", "thread", "./a")
        assert answer.returncode == 0 and not answer.stderr, answer.stderr


class TestRefused:
    @pytest.mark.parametrize(
        ("words", "says"),
        [
            ("./a", "no launcher that is known starts this job"),
            ("unisono-exec ./a", "no launcher that is known starts this job"),
            ("srun -n 2 ./a", "only inside a job of Slurm's (sbatch, salloc)"),
        ],
    )
    def test_asked_for(self, stage: Stage, words: str, says: str) -> None:
        answer = stage.unisono("run", "--agents", "1", *words.split())
        assert answer.returncode == 2
        assert answer.stderr.startswith("unisono: this job can have no agents: ")
        assert says in answer.stderr and "Leave out --agents." in answer.stderr
        assert not stage.log.exists()

    def test_wanted_in_general(self, stage: Stage) -> None:
        """By a variable or a file: such jobs run without, and say so."""
        answer = stage.unisono("run", "srun", "-n", "2", "./a", environment={"UNISONO_AGENTS": "1"})
        assert answer.returncode == 0
        assert "this job can have no agents: " in answer.stderr and "; it runs without" in answer.stderr
        assert settings(stage.launched()) == {"UNISONO_AGENTS": "0"}

    def test_number(self, stage: Stage) -> None:
        answer = stage.unisono("run", "--agents", "2", "mpirun", "./a")
        assert answer.returncode == 2
        assert "--agents 2: it takes one of 0|1|thread" in answer.stderr

    @pytest.mark.parametrize(
        ("words", "says"),
        [
            ("--agents-on 3", "--agents-on 3: it takes cores:LIST, hosts:LIST or both, for example cores:3"),
            ("--agents-on cores:", "takes cores:LIST"),
            ("--agents-on cores:3;8", "takes cores:LIST"),
            ("--agents-on cores:-1", "takes cores:LIST"),
            ("--agents-on cores:-", "takes cores:LIST"),
            ("--agents-on cores:0-", "takes cores:LIST"),
            ("--agents-on cores:3,0-,5", "takes cores:LIST"),
            ("--agents-on cores:0--3", "takes cores:LIST"),
            ("--agents-on cores:3,", "takes cores:LIST"),
            ("--agents-on cores:8-3", "takes cores:LIST"),
            ("--agents-on cores:0,,1", "takes cores:LIST"),
            ("--agents-on cores:0-99999999", "takes cores:LIST"),
            ("--agents-on hosts:", "takes cores:LIST, hosts:LIST"),
            ("--agents-on hosts:a:4", "takes cores:LIST, hosts:LIST"),
            ("--agents-on hosts:n[1-4]", "takes cores:LIST, hosts:LIST"),
            ("--agents-on hosts:-a", "takes cores:LIST, hosts:LIST"),
            ("--agents-on hosts:a,", "takes cores:LIST, hosts:LIST"),
            ("--agents-on n1,hosts:a", "takes cores:LIST, hosts:LIST"),
            ("--agents-float decimal", "it takes one of hardware|softfloat"),
        ],
    )
    def test_how_they_run(self, stage: Stage, words: str, says: str) -> None:
        answer = stage.unisono("run", "--agents", "1", *words.split(), "mpirun", "./a")
        assert answer.returncode == 2 and says in answer.stderr, answer.stderr
        assert not stage.log.exists()

    @pytest.mark.parametrize(
        ("words", "agents", "says"),
        [
            (
                "--agents-on cores:0",
                "",
                "--agents-on cores:0: this job has no agents; add --agents 1, or --agents thread",
            ),
            ("--agents-carrier=ucc", "0", "--agents-carrier ucc: this job has no agents"),
            ("--agents-on cores:0", "2", "UNISONO_AGENTS=2: it takes one of 0|1|thread"),
            ("--agents-on cores:0", "thread", ""),
            ("--agents-on cores:0 --agents 0", "", ""),
            ("--agents-on=", "", ""),
        ],
    )
    def test_options_without_agents(self, stage: Stage, words: str, agents: str, says: str) -> None:
        """Who says by the same command line that there are none leaves the options for another run."""
        environment = {"UNISONO_AGENTS": agents} if agents else {}
        answer = stage.unisono("run", *words.split(), "mpirun", "./a", environment=environment)
        assert answer.returncode == (2 if says else 0) and says in answer.stderr, answer.stderr
        assert stage.log.exists() == (not says)

    @needs_build
    @pytest.mark.parametrize(
        ("algorithms", "says"),
        [
            ("bcast:agents", "bcast:agents: agents themselves run no 'agents'"),
            ("reduce:binomial,gather:flat", "gather:flat: agents make no gather"),
            ("reduce:k_nomial(degree=1)", "'degree' of k_nomial takes 2 to"),
            ("all:binomial,bcast:native", ""),
        ],
    )
    def test_by_what_they_go(self, stage: Stage, algorithms: str, says: str) -> None:
        """What is of no use to agents is refused; `all` means all that they make."""
        tool = stage.home / "bin/unisono-tool"
        tool.unlink()
        tool.symlink_to(BUILD / "bin/unisono-tool")
        answer = stage.unisono("run", "--agents", "1", "--agents-algorithm", algorithms, "mpirun", "./a")
        assert answer.returncode == (2 if says else 0) and says in answer.stderr, answer.stderr
        assert stage.log.exists() == (not says)

    def test_a_name_from_outside_is_not_handed_on(self, stage: Stage) -> None:
        stage.unisono("run", "mpirun", "./a", environment={"UNISONO_AGENTS_JOB": "stale"})
        assert settings(stage.launched()) == {}

    def test_program_is_missing(self, stage: Stage) -> None:
        (stage.home / "bin/unisono-agent").unlink()
        answer = stage.unisono("run", "--agents", "1", "mpirun", "./a")
        assert answer.returncode == 1
        assert "bin/unisono-agent is missing" in answer.stderr


class TestLife:
    @pytest.mark.parametrize("status", [0, 5])
    def test_ends_with_the_job(self, stage: Stage, status: int) -> None:
        wait = f"sh -c 'until [ -s {stage.log.with_suffix('.agents')} ]; do sleep 0.01; done; exit {status}'"
        answer = stage.unisono(
            *["run", "--agents", "1", "mpirun", *shlex.split(wait)], environment={"FAKE_DO": "start 0"}
        )
        assert answer.returncode == status
        assert (answer.stdout, answer.stderr) == ("", ""), "what agents say is not the program's"
        agents = stage.agents()
        assert agents["read"] == "end\n"
        assert agents["group"] == agents["process"], "what the terminal sends is not for them"
        assert not is_running(agents["process"])

    def test_said_on_demand(self, stage: Stage) -> None:
        answer = stage.unisono(
            *["run", "-v", "--agents", "1", "mpirun", "sleep", "1"], environment={"FAKE_DO": "start 0"}
        )
        assert "unisono: beside it mpirun" in answer.stderr
        assert "agents: nothing that the program says" in answer.stderr

    def test_cannot_start(self, stage: Stage) -> None:
        """The job goes on, and its user is told what the launcher had to say."""
        environment = {"FAKE_DO": "start 0", "FAKE_AGENTS": "fail 1"}
        answer = stage.unisono("run", "--agents", "1", "mpirun", "sleep", "1", environment=environment)
        assert answer.returncode == 0
        assert "the job's agents are gone: mpirun ended with status 3." in answer.stderr
        assert "agents: there is no node\nagents: \\x1b[2J1\n" in answer.stderr

    def test_killed_while_they_start(self, stage: Stage) -> None:
        """What their MPI has left in /dev/shm is removed."""
        environment = {"FAKE_DO": "start 0", "FAKE_AGENTS": "leave"}
        answer = stage.unisono("run", "--agents", "1", "mpirun", "sleep", "3", environment=environment)
        assert answer.returncode == 0 and "the job's agents are gone" in answer.stderr, answer.stderr
        file = Path(stage.agents()["file"])
        is_left = file.exists()
        file.unlink(missing_ok=True)
        assert not is_left

    @pytest.mark.parametrize("deaths", [2, 9])
    def test_started_again(self, stage: Stage, deaths: int) -> None:
        """Up to five times, and not more often than each half second."""
        environment = {"FAKE_DO": "start 0", "FAKE_AGENTS": f"die {deaths}"}
        answer = stage.unisono("run", "--agents", "1", "mpirun", "sleep", "5", environment=environment)
        assert answer.returncode == 0
        count = min(deaths, 5)
        told = [line for line in answer.stderr.splitlines() if "They are started again" in line]
        assert [f"({number} of 5 times)" in line for number, line in enumerate(told, 1)] == [True] * count
        assert ("the job's agents are gone: mpirun ended with status 3." in answer.stderr) == (deaths > 5)
        assert stage.agents()["words"][-2:] == ["--again", str(count)]
        assert stage.log.with_suffix(".deaths").read_text() == str(min(deaths, 6))

    def test_does_not_end(self, stage: Stage) -> None:
        begin = time.monotonic()
        environment = {"FAKE_DO": "start 0", "FAKE_AGENTS": "ignore 30"}
        answer = stage.unisono("run", "--agents", "1", "mpirun", "sleep", "1", environment=environment)
        assert answer.returncode == 0 and time.monotonic() - begin < 12
        assert not is_running(stage.agents()["process"])

    @pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
    def test_signals(self, stage: Stage, number: int) -> None:
        """They are the job's, and its end is that of the agents; if this command is killed both end."""
        process = subprocess.Popen(
            stage.command("run", "--agents", "1", "mpirun", "./a"),
            env=stage.environment({"FAKE_DO": "wait 30"}),
            cwd=stage.work,
        )
        log = stage.log.with_suffix(".agents")
        wait_until(lambda: stage.launcher_ready.is_file() and log.is_file() and log.read_text() != "")
        process.send_signal(number)
        assert process.wait(20) == (-9 if number == signal.SIGKILL else 40 + number)
        wait_until(lambda: not is_running(stage.agents()["process"]))
        wait_until(lambda: not is_running(int(stage.launcher_ready.read_text())))

    def test_report_too(self, stage: Stage) -> None:
        answer = stage.unisono(
            *["run", "--agents", "1", "--report", "-", "mpirun", "./a"], environment={"FAKE_DO": "exit 4"}
        )
        assert answer.returncode == 4
        assert "no report was written, because the job ended with status 4" in answer.stderr
