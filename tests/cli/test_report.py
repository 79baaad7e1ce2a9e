# SPDX-License-Identifier: BSD-3-Clause
"""Reports: their form, and how they are printed."""

from __future__ import annotations

import copy
import importlib.resources
import io
import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from conftest import FIXTURES, Stage
from rich.console import Console
from unisono.common import units
from unisono.common.errors import UnisonoError
from unisono.reporting import report

SCHEMA = json.loads((importlib.resources.files("unisono") / "schema/report.schema.json").read_text())
FILE = FIXTURES / "report.json"


@pytest.fixture
def example() -> dict[str, Any]:
    return copy.deepcopy(json.loads(FILE.read_text()))


def printed(content: dict[str, Any], width: int = 200) -> str:
    stream = io.StringIO()
    report.render(content, Console(file=stream, width=width, highlight=False))
    return stream.getvalue()


def test_schema_is_one() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


def test_example_follows_the_schema(example: dict[str, Any]) -> None:
    jsonschema.validate(example, SCHEMA)


@pytest.mark.parametrize("field", SCHEMA["required"])
def test_schema_wants_every_field(example: dict[str, Any], field: str) -> None:
    del example[field]
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(example, SCHEMA)


def test_every_field_is_documented() -> None:
    text = (Path(__file__).parents[2] / "docs/guide/report.md").read_text()
    learning = SCHEMA["properties"]["learning"]["items"]
    parts = [SCHEMA, SCHEMA["properties"]["classes"]["items"], learning]
    parts += [learning["properties"][name]["items"] for name in ("candidates", "timeline")]
    for name in [name for part in parts for name in part["properties"]]:
        assert f"`{name}`" in text, name


class TestTables:
    def test_headline(self, example: dict[str, Any]) -> None:
        first, second, third, *_ = printed(example).splitlines()
        assert first == (
            "Unisono 0.1.0 on Open MPI 5.0.11: 16 ranks on 3 nodes (3, 5, 8), 2 usable cores each"
        )
        assert "12.5 s" in second and "about 2 s, 16% of it, on the slowest rank, 1.5 s on average" in second
        assert third == "options: algorithm=allreduce:two_level_ring, pool_bytes=512M"

    def test_headline_of_calls_that_were_all_timed(self, example: dict[str, Any]) -> None:
        example["collective_time_s"]["error"] = 0
        assert "in collectives 2 s, 16% of it, on" in printed(example)

    def test_persistent_calls_are_named_as_the_program_made_them(self, example: dict[str, Any]) -> None:
        example["classes"][1] |= {"form": "persistent", "algorithm": "native", "time_s": 0.0}
        row = next(line for line in printed(example).splitlines() if line.startswith("bcast_init"))
        assert " s " not in row and "us" not in row, "nobody knows how long they took"

    def test_calls_of_agents(self, example: dict[str, Any]) -> None:
        assert "agents" not in printed(example)
        example["agents"] = {
            "started_again": 2,
            "calls": [
                {"operation": "allreduce", "carrier": "mpi", "calls": 1000},
                {"operation": "bcast", "carrier": "mpi", "calls": 3},
                {"operation": "allreduce", "carrier": "ucc", "calls": 7},
            ],
        }
        jsonschema.validate(example, SCHEMA)
        assert (
            "agents: served 1,010 calls; by mpi between nodes: allreduce 1,000, bcast 3; by ucc between nodes: "
            "allreduce 7; they were started again 2 times"
        ) in " ".join(printed(example).split())
        example["agents"] = {
            "started_again": 0,
            "calls": [{"operation": "bcast", "carrier": "mpi", "calls": 3}],
            "timed": {"calls": 6, "under_way_s": 0.025, "waited_s": 0.002},
        }
        jsonschema.validate(example, SCHEMA)
        assert (
            "agents: served 3 calls; by mpi between nodes: bcast 3; timed on all ranks: 6 calls, 25 ms under way, of which "
            "the program waited for 2 ms"
        ) in " ".join(printed(example).split())
        example["agents"] = {"started_again": 0, "calls": []}
        assert "agents: served no call (`unisono explain` says of each why)\n" in printed(example)

    def test_why_agents_served_nothing(self, example: dict[str, Any]) -> None:
        assert "agents" not in printed(example)
        example["options"]["agents"] = "thread"
        assert "agents: none came to this job\n" in printed(example)
        example["nodes"] = example["nodes"][:1]
        assert "agents: none, as the job is on one node\n" in printed(example)
        example["agents"] = {"started_again": 0, "calls": []}
        assert "agents: served no call, as the job is on one node\n" in printed(example)

    def test_why_no_message_was_sent(self, example: dict[str, Any]) -> None:
        totals = {"sent": 0, "deepest_posted": 0, "deepest_unexpected": 0, "floods": 0}
        example |= {"messages": {**totals, "data_by_mpi": 0, "most_unexpected_bytes": 0}}
        why = "0 sent, as communicators over several nodes are the MPI's (--messages all carries them);"
        for messages, is_said in (("node", True), ("auto", True), ("all", False)):
            example["options"]["messages"] = messages
            assert (why in " ".join(printed(example).split())) == is_said
        example["options"]["messages"] = "node"
        example["messages"]["sent"] = 1
        assert "messages: 1 sent; longest" in printed(example)
        example["messages"]["sent"] = 0
        example["nodes"] = example["nodes"][:1]
        assert "messages: 0 sent; longest" in printed(example)

    def test_checks_are_told(self, example: dict[str, Any]) -> None:
        assert "against the MPI" not in printed(example)
        example["options"]["verify"] = "sample"
        assert "checked 0 calls against the MPI, all alike" in printed(example)
        example["classes"][0] |= {"checks": 1200, "mismatches": 1}
        assert "checked 1,200 calls against the MPI, 1 of them were wrong" in printed(example)

    def test_calls_that_do_not_block_stand_apart(self, example: dict[str, Any]) -> None:
        example["classes"][1]["form"] = "non-blocking"
        example["under_way_time_s"] = {"max": 2.5, "mean": 2.0}
        text = printed(example)
        assert "calls that do not block were under way for 2.5 s (20%) at most" in text
        assert "timed from start to end" in text

    def test_classes(self, example: dict[str, Any]) -> None:
        lines = printed(example).splitlines()
        row = next(line for line in lines if line.startswith("allreduce"))
        for part in ("8 B", "120,000", "938 KiB", "~1.25 s", "~10.4 us"):
            assert part in row
        assert "two_level_ring (segment 64 KiB, window 2)" in row
        assert row.rstrip().endswith("forced [UNISONO_ALGORITHM]")
        assert "~: not every call was timed" in " ".join(lines)

    def test_reasons_that_do_not_fit_stand_below_once(self, example: dict[str, Any]) -> None:
        shape = example["classes"][0]["shape"]
        rows = [row for row in example["classes"] if row["shape"] == shape]
        for row in rows:
            row["reason"] = "one reason for all of them"
        rows[0]["reason"] = (
            "another that is so long that no line of this terminal could hold it beside the numbers"
        )
        lines = printed(example, 100).splitlines()
        table = lines[next(i for i, line in enumerate(lines) if line.startswith(shape)) :]
        table = table[: table.index("")]
        assert sum(line.rstrip().endswith(("(1)", "(2)")) for line in table) == len(rows)
        assert [line for line in table if "one reason for all of them" in line] == [
            line for line in table if line.startswith(("(1) one reason", "(2) one reason"))
        ]
        assert sum("another that is so long" in line for line in table) == 1

    def test_shapes_by_time(self, example: dict[str, Any]) -> None:
        text = printed(example)
        assert text.index("\n16 ranks on 3 nodes") < text.index("\n4 ranks on 1 node")

    def test_learning(self, example: dict[str, Any]) -> None:
        lines = printed(example).splitlines()
        first = lines.index(next(line for line in lines if line.startswith("Learned while")))
        rows = [line for line in lines[first:] if line.startswith(("alltoall ", "bcast "))]
        assert len(rows) == 1, "nothing was found out of the other one"
        for part in (
            "64 KiB",
            "transpose",
            "5,000",
            "pairwise",
            "1.2 ms",
            "1.9 ms",
            "3 of 4",
            "22",
            "20.4 ms",
        ):
            assert part in rows[0]

    def test_rest(self, example: dict[str, Any]) -> None:
        text = printed(example)
        assert "Left to the MPI" in text and "alltoallv" in text and "not covered" in text
        assert "Communicators" in text and "number 2" in text and "3,5,8" in text
        assert "warning: UNISONO_POOL_BYTES: [half] of /dev/shm is in use" in text

    def test_nothing_happened(self, example: dict[str, Any]) -> None:
        for name in ("classes", "native", "learning", "warnings", "communicators"):
            example[name] = []
        example["options"] = {}
        example["wall_s"] = 0.0
        text = printed(example)
        assert "No collective call was counted." in text
        assert "Left to the MPI" not in text

    def test_narrow_terminals_lose_nothing(self, stage: Stage) -> None:
        text = stage.unisono("report", str(FILE), environment={"COLUMNS": "20"}).stdout
        for part in ("120,000", "938 KiB", "~1.25 s", "alltoallv", "120,345"):
            assert part in text

    def test_damaged(self, example: dict[str, Any]) -> None:
        del example["classes"][0]["calls"]
        with pytest.raises(UnisonoError, match=r"damaged: it has no field 'calls'"):
            printed(example)


class TestLayouts:
    @pytest.mark.parametrize(
        ("per_node", "text"),
        [
            ([1], "1 rank on 1 node"),
            ([8], "8 ranks on 1 node"),
            ([4, 4], "8 ranks on 2 nodes (4 each)"),
            ([3, 5], "8 ranks on 2 nodes (3, 5)"),
        ],
    )
    def test_layout(self, per_node: list[int], text: str) -> None:
        assert report.layout_text([{"name": "n", "ranks": ranks} for ranks in per_node]) == text

    @pytest.mark.parametrize(
        ("cores", "text"),
        [([1], "1 usable core"), ([2, 2], "2 usable cores each"), ([2, 4], "usable cores 2, 4")],
    )
    def test_cores(self, cores: list[int], text: str) -> None:
        assert report.cores_text(cores) == text


class TestNumbers:
    @pytest.mark.parametrize(
        ("count", "text"),
        [
            (0, "0 B"),
            (1023, "1023 B"),
            (1024, "1 KiB"),
            (1536, "1.5 KiB"),
            (123456, "121 KiB"),
            (2**20, "1 MiB"),
            (3 * 2**50, "3 PiB"),
            (2**62, "4096 PiB"),
        ],
    )
    def test_bytes(self, count: int, text: str) -> None:
        assert units.bytes_text(count) == text

    @pytest.mark.parametrize(
        ("seconds", "text"),
        [
            (0, "0 s"),
            (5e-9, "5 ns"),
            (1.234e-6, "1.23 us"),
            (0.0123, "12.3 ms"),
            (1.5, "1.5 s"),
            (1234, "1234 s"),
        ],
    )
    def test_seconds(self, seconds: float, text: str) -> None:
        assert units.seconds_text(seconds) == text


class TestCommand:
    def test_tables(self, stage: Stage) -> None:
        answer = stage.unisono("report", str(FILE))
        assert answer.returncode == 0
        assert "two_level_ring" in answer.stdout

    def test_json(self, stage: Stage, example: dict[str, Any]) -> None:
        answer = stage.unisono("report", "--json", str(FILE))
        assert json.loads(answer.stdout) == example

    @pytest.mark.parametrize(
        ("content", "says"),
        [
            (None, "cannot read"),
            ("", "is no report"),
            ("Dear Sir", "is no report: it is no JSON: line 1 of it"),
            ('{"schema": "unisono-table"}', "unisono table show "),
            ('{"schema": "unisono-machine"}', "`unisono machine show r.json`"),
            ("[1]", "is no report of Unisono"),
            ('{"schema": "other"}', "is no report of Unisono"),
            ('{"schema": "unisono-report", "version": 2}', "report version 2, this command reads version 1"),
            ('{"schema": "unisono-report", "version": 1}', "damaged"),
        ],
    )
    def test_bad_file(self, stage: Stage, content: str | None, says: str) -> None:
        if content is not None:
            (stage.work / "r.json").write_text(content)
        answer = stage.unisono("report", "r.json")
        assert answer.returncode == 2
        assert says in answer.stderr
        assert "Traceback" not in answer.stderr


def test_a_run_in_which_the_mpi_served_all(example: dict[str, Any]) -> None:
    """As `unisono profile` runs programs: nothing is said of times that nobody took."""
    left = {"operation": "allreduce", "calls": 3000, "reason": "Unisono was switched off"}
    shown = printed(example | {"classes": [], "native": [left], "learning": []})
    assert "Unisono served no collective call" in shown and "Nothing gained" in shown
    assert "in collectives" not in shown and "No collective call was counted" not in shown
