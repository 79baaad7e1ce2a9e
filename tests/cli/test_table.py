# SPDX-License-Identifier: BSD-3-Clause
"""`unisono table`: checked, shown, compared and merged, as the compiled code reads tables."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from conftest import ROOT, Stage, needs_build

pytestmark = needs_build

SCHEMA = json.loads((ROOT / "python/unisono/schema/table.schema.json").read_text())
RING = {
    "operation": "allreduce",
    "bytes": [1025, 65536],
    "nodes": [4, 4],
    "ranks_per_node": [2, 8],
    "algorithm": "two_level_ring(segment=65536)",
    "time_us": 12.3,
    "interval_us": [12.0, 12.6],
    "samples": 200,
    "others": [
        {"algorithm": "two_level_rabenseifner", "time_us": 13.0},
        {"algorithm": "native", "time_us": 24.6, "interval_us": [24, 25], "samples": 200},
    ],
    "origin": "measured",
}
BARRIER = {"operation": "barrier", "algorithm": "native"}


@pytest.fixture
def tables(stage: Stage, built: dict[str, str]) -> Tables:
    return Tables(stage, built)


class Tables:
    def __init__(self, stage: Stage, environment: dict[str, str]) -> None:
        self.stage = stage
        self.environment = environment

    def write(self, name: str, *rules: Any, **provenance: str) -> str:
        table = {"schema": "unisono-table", "version": 1, "provenance": provenance, "rules": rules}
        (self.stage.work / name).write_text(json.dumps(table))
        return name

    def run(self, *words: str, status: int = 0) -> str:
        answer = self.stage.unisono("table", *words, environment=self.environment)
        assert answer.returncode == status, answer.stderr + answer.stdout
        return answer.stdout + answer.stderr


def test_check(tables: Tables) -> None:
    good = tables.write("good.json", RING, BARRIER)
    assert tables.run("check", good) == "good.json: 2 of 2 rules can be followed\n"
    bad = tables.write("bad.json", RING, {**BARRIER, "algorithm": "frob"}, {**RING, "type": "double"})
    first, *others = tables.run("check", bad, good, status=1).splitlines()
    assert first.startswith(
        "bad.json: rule 2 is disabled: there is no algorithm 'frob' for barrier (`unisono list barrier` names them)"
    )
    assert others == [
        "bad.json: rule 3 is disabled: it goes by 'type', which ranks do not know alike (docs/guide/tables.md)",
        "bad.json: 1 of 3 rules can be followed",
        "good.json: 2 of 2 rules can be followed",
    ]
    found = json.loads(tables.run("check", bad, "--json", status=1))
    assert [entry["number"] for entry in found[0]["disabled"]] == [2, 3]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (None, "no.json cannot be read: No such file or directory"),
        ("{", "no.json is no JSON: "),
        ("{}", "no.json is no table: its 'schema' is not 'unisono-table'"),
        ('{"schema": "unisono-table", "version": 2, "rules": []}', "this Unisono reads version 1"),
    ],
)
def test_what_is_no_table(tables: Tables, text: str | None, problem: str) -> None:
    if text is not None:
        (tables.stage.work / "no.json").write_text(text)
    good = tables.write("good.json", RING)
    assert problem in tables.run("check", "no.json", status=1)
    assert problem in tables.run("show", "no.json", status=2)
    assert problem in tables.run("diff", good, "no.json", status=2)
    assert problem in tables.run("merge", good, "no.json", "-o", "made.json", status=2)
    assert not (tables.stage.work / "made.json").exists()


def test_show(tables: Tables) -> None:
    name = tables.write("t.json", RING, BARRIER, {**BARRIER, "frob": 1}, machine="two boards")
    shown = tables.run("show", name)
    assert "t.json: 2 rules; two boards" in shown
    assert "warning: t.json: rule 3 is disabled: there is no field 'frob'" in shown
    assert "allreduce, 4x2-8" in shown
    row = next(line for line in shown.splitlines() if "two_level_ring" in line)
    cells = re.split(r"\s{2,}", row.strip())
    assert cells == [
        "2 KiB to 64 KiB",
        "two_level_ring(segment=65536)",
        "12.3 us ±2%",
        "two_level_rabenseifner",
        "13 us",
        "24.6 us ±2%",
        "2.00",
    ]
    assert "barrier" not in tables.run("show", name, "--operation", "allreduce").split("allreduce", 1)[1]
    assert "frob" in tables.run("show", name, "--operation", "frob", status=2)
    found = json.loads(tables.run("show", name, "--operation", "barrier", "--json"))
    assert found["rules"] == [{**BARRIER, "origin": "written"}]


def test_diff(tables: Tables) -> None:
    first = tables.write("1.json", RING, BARRIER)
    assert tables.run("diff", first, first) == "They decide alike.\n"
    second = tables.write(
        "2.json", {**RING, "bytes": [4097, None], "nodes": [2, 6], "algorithm": "native", "time_us": 11}
    )
    shown = tables.run("diff", first, second, status=1)
    rows = [re.split(r"\s{2,}", line.strip()) for line in shown.splitlines()[3:] if line.strip()]
    assert rows == [
        [
            "allreduce",
            "8 KiB to 64 KiB",
            "4x2-8",
            "two_level_ring(segment=65536)",
            "12.3 us ±2%",
            "native",
            "11 us ±3%",
        ],
        ["barrier", "all", "everywhere", "native", "-"],
    ]
    found = json.loads(tables.run("diff", first, second, "--json", status=1))
    assert found[0]["calls"]["bytes"] == [4097, 65536]
    assert found[1]["second"] is None


def test_diff_goes_by_what_holds(tables: Tables) -> None:
    """Rules that never hold, because one before them covers their calls, make no difference."""
    first = tables.write("1.json", BARRIER)
    second = tables.write("2.json", BARRIER, {**BARRIER, "algorithm": "dissemination"})
    assert tables.run("diff", first, second) == "They decide alike.\n"
    ordered = {"operation": "allreduce", "operator": "ordered", "algorithm": "native"}
    first = tables.write("1.json", ordered)
    second = tables.write("2.json", {**ordered, "operator": "commutative", "algorithm": "ring"})
    found = json.loads(tables.run("diff", first, second, "--json", status=1))
    assert [(d["first"] is None, d["second"] is None) for d in found] == [(False, True), (True, False)]


def test_diff_of_rules_for_some_mpis(tables: Tables) -> None:
    """`Open MPI 5` and `Open MPI 5.0.11` meet, in the narrower one; two MPIs do not."""
    first = tables.write("1.json", {**BARRIER, "mpi": "Open MPI 5"})
    second = tables.write("2.json", {**BARRIER, "mpi": "Open MPI 5.0.11", "algorithm": "dissemination"})
    (found,) = json.loads(tables.run("diff", first, second, "--json", status=1))
    assert found["calls"]["mpi"] == "Open MPI 5.0.11"
    assert "Open MPI 5.0.11" in tables.run("diff", first, second, status=1)
    second = tables.write("2.json", {**BARRIER, "mpi": "Open MPI 50", "algorithm": "dissemination"})
    found = json.loads(tables.run("diff", first, second, "--json", status=1))
    assert [(d["first"] is None, d["second"] is None) for d in found] == [(False, True), (True, False)]


def test_diff_asks_rules_for_a_region_or_an_mpi_first(tables: Tables) -> None:
    """As a job does, wherever they stand in the file."""
    narrow = {**BARRIER, "mpi": "Open MPI 5", "algorithm": "dissemination"}
    solve = {**BARRIER, "region": "solve", "algorithm": "tournament"}
    first = tables.write("1.json", BARRIER, narrow, solve)
    second = tables.write("2.json", solve, narrow, BARRIER)
    assert tables.run("diff", first, second) == "They decide alike.\n"
    second = tables.write("2.json", BARRIER, {**solve, "algorithm": "native"}, narrow)
    found = json.loads(tables.run("diff", first, second, "--json", status=1))
    assert [(d["calls"].get("region"), d["calls"].get("mpi")) for d in found] == [("solve", None)]


def at(size: int, algorithm: str, us: float, others: dict[str, float], **more: Any) -> dict[str, Any]:
    """What was measured of broadcasts of one size on two nodes."""
    timed = [{"algorithm": name, "time_us": time} for name, time in others.items()]
    where = {
        "nodes": [2, 2],
        "ranks_per_node": [4, 4],
        "bytes": [size // 2 + 1, size],
        "measured_bytes": size,
    }
    measured = {"algorithm": algorithm, "time_us": us, "others": timed}
    return {"operation": "bcast", **where, **measured, **more}


WAYS_OF_BCAST = (
    at(65536, "two_level_chain(segment=16384)", 80, {"two_level_binary(overlap=0)": 90, "native": 160}),
    at(8, "binomial(blocking=1)", 10, {"native": 12, "two_level_flat": 14, "chain": 30}),
    at(1024, "two_level_binary(segment=256,overlap=0)", 20, {"native": 22}),
    at(4096, "native", 30, {"binomial": 40}),
)


def test_ways_inside_nodes(tables: Tables) -> None:
    """In the order of sizes, the best of each way, and the best of all as the source writes it."""
    table = tables.write("t.json", *WAYS_OF_BCAST, BARRIER)
    found = json.loads(tables.run("ways", table, "--json"))
    by_size = {one["bytes"]: one for one in found}
    assert by_size[8]["best"] == "binomial(b, novp, msg)" and by_size[8]["way"] == "messages"
    assert {way: one["time_us"] for way, one in by_size[8]["ways"].items()} == {
        "the MPI's own": 12,
        "messages": 10,
        "shared memory": 14,
    }
    assert by_size[1024]["best"] == "two_level_binary(nb, novp, shm)"
    assert by_size[4096]["best"] == "the MPI's own" and "shared memory" not in by_size[4096]["ways"]
    assert by_size[65536]["best"] == "two_level_chain(nb, ovp, shm)"
    shown = tables.run("ways", table)
    assert [line.split()[0:2] for line in shown.splitlines() if " us " in line] == [
        ["8", "B"],
        ["1", "KiB"],
        ["4", "KiB"],
        ["64", "KiB"],
    ]
    assert (
        "best inside nodes: 8 B messages; 1 KiB shared memory; 4 KiB the MPI's own; 64 KiB shared memory\n"
        in shown
    )


def test_ways_beside_the_network_alone(tables: Tables) -> None:
    """Times of another table, for the same sizes and layouts; no others."""
    elsewhere = at(4096, "native", 1, {}, ranks_per_node=[8, 8])
    network = tables.write(
        "n.json", elsewhere, at(8, "native", 5, {}), at(4096, "binomial", 50, {"native": 60})
    )
    found = json.loads(
        tables.run("ways", tables.write("t.json", *WAYS_OF_BCAST), "--network", network, "--json")
    )
    by_network = {
        one["bytes"]: one["ways"]["network"]["time_us"] for one in found if "network" in one["ways"]
    }
    assert by_network == {8: 5, 4096: 60}
    assert {one["bytes"]: one["best"] for one in found}[8] == "network"


def test_ways_of_what_nobody_measured(tables: Tables) -> None:
    table = tables.write("t.json", BARRIER)
    assert tables.run("ways", table) == "No rule has measured times: `unisono tune` measures.\n"
    assert "cannot be read" in tables.run("ways", table, "--network", "no.json", status=2)


def test_merge(tables: Tables) -> None:
    other = {**RING, "algorithm": "native", "time_us": 1}
    first = tables.write("1.json", RING, machine="m", mpi="Open MPI 5")
    second = tables.write("2.json", other, BARRIER, {**BARRIER, "frob": 1}, machine="m", mpi="MPICH 4")
    said = tables.run("merge", first, second, "-o", "made.json")
    assert said == "unisono: 2.json: rule 3 is disabled: there is no field 'frob'\n"
    made = json.loads((tables.stage.work / "made.json").read_text())
    jsonschema.validate(made, SCHEMA)
    assert made["rules"] == [RING, {**BARRIER, "origin": "written"}]
    assert made["provenance"]["machine"] == "m"
    assert made["provenance"]["mpi"] == "Open MPI 5; MPICH 4"
    assert made["provenance"]["command"] == "unisono table merge 1.json 2.json"
    assert [
        rule["algorithm"]
        for rule in json.loads(tables.run("merge", second, first).split("unisono:")[0])["rules"]
    ] == [
        "native",
        "native",
    ]
    assert tables.run("check", "made.json") == "made.json: 2 of 2 rules can be followed\n"
    assert list(tables.stage.work.glob(".made*")) == []


@pytest.mark.parametrize("page", ["guide/tables.md", "reference/table-format.md"])
def test_the_documents_example_is_a_table(tables: Tables, page: str) -> None:
    text = (ROOT / "docs" / page).read_text()
    document, _ = json.JSONDecoder().raw_decode(text, text.index('{\n      "schema"'))
    jsonschema.validate(document, SCHEMA)
    (tables.stage.work / "example.json").write_text(json.dumps(document))
    count = len(document["rules"])
    assert tables.run("check", "example.json") == f"example.json: {count} of {count} rules can be followed\n"


def test_the_schema_refuses_what_the_code_refuses(tables: Tables) -> None:
    wrong = [
        {**RING, "frob": 1},
        {**RING, "bytes": 8},
        {**RING, "operation": "frob"},
        {**RING, "algorithm": "ring(window"},
        {**RING, "placement": "near"},
        {**RING, "others": [{"time_us": 1}]},
        {**RING, "origin": "rumour"},
    ]
    for rule in wrong:
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate({"schema": "unisono-table", "version": 1, "rules": [rule]}, SCHEMA)
    name = tables.write("wrong.json", *wrong)
    assert f"0 of {len(wrong)} rules" in tables.run("check", name, status=1)


def test_files_of_a_run(stage: Stage, built: dict[str, str], tmp_path: Path) -> None:
    """Ranks may run elsewhere: every file is named from the root; several options are one list."""
    script = 'echo "$UNISONO_TABLE|$UNISONO_SITE_TABLE|$UNISONO_CACHE"'
    elsewhere = tmp_path / "b.json"
    for file in (stage.work / "a.json", elsewhere, stage.work / "c.json"):
        file.write_text(json.dumps({"schema": "unisono-table", "version": 1, "rules": []}))
    words = ["--table", f"a.json:{elsewhere}", "--table", "c.json", "--site-table", "", "--cache", "auto"]
    answer = stage.unisono("run", *words, "sh", "-c", script, environment=built)
    assert answer.stdout == f"{stage.work}/a.json:{elsewhere}:{stage.work}/c.json||auto\n", answer.stderr
