# SPDX-License-Identifier: BSD-3-Clause
"""What `unisono run` makes of launchers: commands that are not meant so, and what launchers said of themselves before."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from conftest import BUILD, Stage, needs_build


class TestMistakes:
    """What cannot be meant is answered with the command that was."""

    @pytest.mark.parametrize(
        ("command", "meant"),
        [
            ("-n 4 ./a", "unisono run mpirun -n 4 ./a"),
            ("-n 4 mpirun ./a", "unisono run mpirun -n 4 ./a"),
            ("--log info --oversubscribe -n 4 ./a", "unisono run --log info mpirun --oversubscribe -n 4 ./a"),
            ("--report mpirun -n 4 ./a", "unisono run --report VALUE mpirun -n 4 ./a"),
            ("salloc -N 2 mpirun ./a", "salloc -N 2 unisono run mpirun ./a"),
            ("sbatch job.sh", "unisono run mpirun ..."),
            ("apptainer exec i.sif mpirun -n 2 ./a", "apptainer exec i.sif unisono run mpirun -n 2 ./a"),
            ("singularity exec i.sif ./a", "singularity ... unisono run PROGRAM"),
            ("docker run image mpirun ./a", "docker run image unisono run mpirun ./a"),
            ("mpirun -n 2 podman run image ./a", "podman run ... unisono-exec PROGRAM"),
            ("./job.sh 1", "unisono run mpirun -n 4 ./a"),
            ("bash job.sh 1", "unisono run mpirun -n 4 ./a"),
            ("--log info ./job.sh", "unisono run --log info mpirun -n 4 ./a"),
        ],
    )
    def test_recognised(self, stage: Stage, command: str, meant: str) -> None:
        script = stage.work / "job.sh"
        script.write_text("#!/bin/bash\n# mpirun is below\nexport A=1\nB=2 exec mpirun -n 4 ./a\n")
        script.chmod(0o755)
        answer = stage.unisono("run", *command.split())
        assert answer.returncode == 2, answer.stderr
        assert f"\n  {meant}" in answer.stderr
        assert not stage.log.exists()

    @pytest.mark.parametrize(
        ("command", "meant"),
        [
            ("mpirun -n 2 --messages node ./a", "unisono run --messages node mpirun -n 2 ./a"),
            (
                "--log info -- mpirun --nodes=2x1 -n 2 ./a --table t",
                "unisono run --log info --nodes=2x1 mpirun -n 2 ./a --table t",
            ),
            (
                "mpirun -n 1 --agents 1 ./a : --no-single-copy -n 1 ./b",
                "unisono run --agents 1 --no-single-copy mpirun -n 1 ./a : -n 1 ./b",
            ),
            ("env A=1 mpirun --dry-run -n 1 ./a", "unisono run --dry-run env A=1 mpirun -n 1 ./a"),
            ("mpirun -n 2 --report ./a", "unisono run --report VALUE mpirun -n 2 ./a"),
            ("mpirun -n 2 --report /bin/echo 1", "unisono run --report VALUE mpirun -n 2 /bin/echo 1"),
            ("srun --report r.json --nodes 2 ./a", "unisono run --report r.json srun --nodes 2 ./a"),
        ],
    )
    def test_own_options_behind_the_launcher(self, stage: Stage, command: str, meant: str) -> None:
        answer = stage.unisono("run", *command.split())
        assert answer.returncode == 2, answer.stderr
        assert answer.stderr.endswith(
            f" is an option of Unisono's, which the launcher does not know. Write\n  {meant}\n"
        )
        assert not stage.log.exists()

    @pytest.mark.parametrize(
        ("flavour", "command"),
        [
            ("", "srun --nodes 2 --wait 3 --verbose ./a"),
            ("", "mpirun -x --report ./a"),
            ("", "mpirun -n 2 -- ./a --messages node"),
            ("", "mpirun --messages node unisono-exec ./a"),
            ("HYDRA build details:\n    Version: 5.0.2", "mpirun -profile -n 2 ./a"),
            ("mpirun of nobody", "mpirun --report r ./a"),
        ],
    )
    def test_options_that_the_launcher_may_have(self, stage: Stage, flavour: str, command: str) -> None:
        environment = {"FAKE_VERSION": flavour} if flavour else {}
        answer = stage.unisono("run", "--dry-run", *command.split(), environment=environment)
        assert "an option of Unisono's" not in answer.stderr
        assert answer.returncode == 0 or "found no program" in answer.stderr, answer.stderr

    def test_own_options_behind_the_launcher_of_a_profile(self, stage: Stage) -> None:
        """It hears of options by variables."""
        answer = stage.unisono("profile", "--", "mpirun", "-n", "2", "--no-single-copy", "./a")
        assert answer.returncode == 2
        assert (
            "\n  UNISONO_SINGLE_COPY=0 unisono profile --with-unisono -- mpirun -n 2 ./a\n" in answer.stderr
        )
        answer = stage.unisono("profile", "--", "mpirun", "--nodes", "2x1", "./a")
        assert "\n  UNISONO_NODES=2x1 unisono profile -- mpirun ./a\n" in answer.stderr
        answer = stage.unisono("profile", "--", "mpirun", "-n", "2", "--dry-run", "./a")
        assert answer.stderr == "unisono: --dry-run is an option of `unisono run`, not of the launcher.\n"

    def test_profile_says_its_own_name(self, stage: Stage) -> None:
        (stage.work / "job.sh").write_text("#!/bin/bash\nmpirun -n 4 ./a\n")
        (stage.work / "job.sh").chmod(0o755)
        for command, meant, said in (
            ("bash job.sh", "unisono profile -- mpirun -n 4 ./a", "Unisono belongs before its launcher"),
            (
                "--report p.json salloc mpirun ./a",
                "salloc unisono profile --report p.json -- mpirun ./a",
                "`unisono profile` belongs before the launcher",
            ),
        ):
            answer = stage.unisono("profile", *command.split())
            assert answer.returncode == 2, answer.stderr
            assert f"\n  {meant}\n" in answer.stderr
            assert said in answer.stderr and "unisono run" not in answer.stderr

    @pytest.mark.parametrize(
        "command",
        [
            "./plain.sh",
            "bash plain.sh",
            "bash -c ./job.sh",
            "mpirun -n 2 ./job.sh",
            "apptainer exec unisono-exec ./a",
        ],
    )
    def test_left_alone(self, stage: Stage, command: str) -> None:
        for name, line in (("plain.sh", "echo mpirun"), ("job.sh", "mpirun ./a")):
            (stage.work / name).write_text(f"#!/bin/sh\n{line}\n")
            (stage.work / name).chmod(0o755)
        assert stage.unisono("run", "--dry-run", *command.split()).returncode == 0


@needs_build
class TestRanksOfNodes:
    """`--nodes` is for so many ranks as the launcher starts, where the command line says how many that are."""

    @pytest.mark.parametrize(
        ("command", "said"),
        [
            (
                "--nodes 2x4 mpirun -n 4 ./a",
                "8 ranks, and the launcher is asked for 4; --nodes 2x2 would fit.",
            ),
            (
                "--nodes=1,2 mpirun -np 1 ./a : -n 1 ./a",
                "3 ranks, and the launcher is asked for 2; --nodes 2x1 would",
            ),
            ("--nodes 2x2/cyclic srun --ntasks=5 ./a", "4 ranks, and the launcher is asked for 5.\n"),
            ("--nodes 2x4 mpirun -n4 unisono-exec ./a", "8 ranks, and the launcher is asked for 4"),
        ],
    )
    def test_others_are_refused(self, stage: Stage, command: str, said: str) -> None:
        environment = {"UNISONO_HOME": str(BUILD)}
        answer = stage.unisono("run", *command.split(), environment=environment)
        assert answer.returncode == 2 and f": it holds {said}" in answer.stderr, answer.stderr
        assert not stage.log.exists()

    @pytest.mark.parametrize(
        "command",
        [
            "--nodes 2x4 mpirun -n 8 ./a",
            "--nodes 2x4 mpirun -n 4 ./a : -n 4 ./b",
            "--nodes 2x4 mpirun ./a",
            "--nodes 2x4 mpirun -n 4 ./a : ./b",
            "--nodes 2x4 mpirun -n 4 --map-by ppr:8:node ./a",
            "--nodes 2x4 srun -n 2k ./a",
            "--nodes 2x4 ./a",
        ],
    )
    def test_these_may_fit(self, stage: Stage, command: str) -> None:
        environment = {"UNISONO_HOME": str(BUILD)}
        answer = stage.unisono("run", "--dry-run", *command.split(), environment=environment)
        assert answer.returncode == 0, answer.stderr

    def test_a_variable_is_for_any_job(self, stage: Stage) -> None:
        environment = {"UNISONO_HOME": str(BUILD), "UNISONO_NODES": "2x4"}
        answer = stage.unisono("run", "--dry-run", "mpirun", "-n", "4", "./a", environment=environment)
        assert answer.returncode == 0, answer.stderr


class TestRememberedLaunchers:
    """What a launcher says of itself is asked once."""

    @pytest.fixture
    def launcher(self, stage: Stage) -> Path:
        """Compiled, since what scripts say may depend on anything; it writes down that it was asked."""
        source, program = stage.root / "launcher.c", stage.root / "launchers/mpirun"
        source.write_text(
            '#include <stdio.h>\nint main(void) { fclose(fopen("asked", "a")); puts("mpirun (Open MPI) 5.0.1"); }\n'
        )
        program.unlink()
        subprocess.run(["cc", "-o", program, source], check=True)
        return program

    def is_asked(self, stage: Stage) -> bool:
        asked = stage.work / "asked"
        asked.unlink(missing_ok=True)
        environment = {"UNISONO_CACHE": str(stage.root / "cache")}
        answer = stage.unisono("run", "-v", "--dry-run", "mpirun", "-n2", "./a", environment=environment)
        assert answer.returncode == 0, answer.stderr
        return asked.exists()

    def test_asked_once(self, stage: Stage, launcher: Path) -> None:
        assert self.is_asked(stage)
        assert not self.is_asked(stage)
        launcher.touch()
        assert self.is_asked(stage), "it may be another one"
        (kept,) = (stage.root / "cache/launchers").iterdir()
        whole = kept.read_text()
        for text in ("", "launcher = x", whole.replace("openmpi5", "nosuch"), whole[:20], "\0"):
            kept.write_text(text)
            assert self.is_asked(stage), text
            assert not self.is_asked(stage)
        kept.chmod(0o666)
        assert self.is_asked(stage), "others may have written it"

    def test_nothing_is_kept(self, stage: Stage, launcher: Path) -> None:
        environment = {"UNISONO_CACHE": "none", "XDG_CACHE_HOME": str(stage.root / "cache")}
        stage.unisono("run", "--dry-run", "mpirun", "./a", environment=environment)
        assert not (stage.root / "cache").exists()
