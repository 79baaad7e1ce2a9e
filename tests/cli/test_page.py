# SPDX-License-Identifier: BSD-3-Clause
"""The page of reports and tunings: what it is made of. What a browser makes of it is in tests/integration/test_page.py."""

from __future__ import annotations

import copy
import html.parser
import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from conftest import BUILD, FIXTURES, needs_build
from unisono.commands.group import cli
from unisono.common.errors import UnisonoError
from unisono.measuring import bench
from unisono.page import asking, axes, build, colours, decisions, grid, sources, speedups, text, timelines
from unisono.page.marks import Mark
from unisono.tuning import results

REPORT = json.loads((FIXTURES / "report.json").read_text())
HOSTILE = '</script><script>alert(1)</script><b title="'


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UNISONO_HOME", str(BUILD))


def run(**changes: Any) -> sources.Run:
    return sources.Run("a run", copy.deepcopy(REPORT) | changes)


def cell(operation: str, size: int, speedup: float, low: float, high: float) -> bench.Cell:
    tried = bench.Candidate("ring", 2e-6, 2e-6, 4.0, 3.5, 4.5)
    return bench.Cell(
        operation, size, 4, 10, 50, 8e-6, 8e-6 / speedup, speedup, low, high, True, "fused", (tried,)
    )


CELLS = [cell("allreduce", 8, 2.0, 1.8, 2.2), cell("allreduce", 65536, 1.1, 0.9, 1.3)]
RULES = [
    {
        "operation": "allreduce",
        "bytes": [1, 1024],
        "nodes": [1, 1],
        "ranks_per_node": [4, 4],
        "algorithm": "fused",
        "time_us": 2.0,
        "interval_us": [1.9, 2.2],
        "others": [{"algorithm": "shared", "time_us": 2.5}, {"algorithm": "native", "time_us": 5.0}],
        "measured_bytes": 64,
    },
    {"operation": "allreduce", "bytes": [1025, None], "algorithm": "shared"},
    {"operation": "barrier", "algorithm": "native"},
]


def table_file(folder: Path, rules: list[dict[str, Any]] = RULES) -> Path:
    file = folder / "site.json"
    file.write_text(json.dumps({"schema": "unisono-table", "version": 1, "provenance": {}, "rules": rules}))
    return file


class TestAxes:
    @pytest.mark.parametrize("most", [1e-9, 0.003, 1.0, 7.2, 10.0, 54868])
    def test_linear(self, most: float) -> None:
        axis = axes.linear(most, lambda value: f"{value:g}")
        assert axis.share(0) == 0 and axis.share(most) == pytest.approx(1)
        assert axis.share(most / 2) == pytest.approx(0.5)
        assert 2 <= len(axis.ticks) <= 6
        assert all(
            axis.share(float(tick.label)) == pytest.approx(tick.share, abs=1e-6) for tick in axis.ticks
        )

    def test_logarithmic(self) -> None:
        axis = axes.logarithmic(2e-6, 0.05, lambda value: f"{value:g}")
        assert [tick.label for tick in axis.ticks] == ["1e-06", "1e-05", "0.0001", "0.001", "0.01", "0.1"]
        assert axis.share(1e-6) == 0 and axis.share(0.1) == 1
        assert axis.share(1e-4) == pytest.approx(0.4)
        assert axis.share(0) == 0, "has no logarithm"

    def test_nothing_to_show(self) -> None:
        assert axes.linear(0, str).share(0) == 0
        assert axes.logarithmic(0, 0, str).share(1) in (0, 1)

    def test_many_decades_have_few_ticks(self) -> None:
        assert len(axes.logarithmic(1e-12, 1e6, str).ticks) <= 9

    def test_style_says_both(self) -> None:
        both = axes.Both(axes.linear(100, str), axes.logarithmic(1, 100, str))
        assert both.style(to=10) == "--to-lin:0.1;--to-log:0.5"


def entry(low: int, high: int | None, operation: str = "bcast") -> grid.Entry:
    return grid.Entry(operation, operation, low, high, f"{low}-{high}", "", "", Mark())


def widths(row: grid.Row) -> list[tuple[int, str | None]]:
    return [(width, one.text if one else None) for width, one in row.spans]


class TestGrid:
    def test_sizes_without_an_entry_have_no_column(self) -> None:
        found = grid.grid([entry(8, 8), entry(1024, 1024), entry(65536, 65536, "reduce")])
        assert found.columns == ["8 B", "1 KiB", "64 KiB"]
        assert widths(found.rows[0]) == [(1, "8-8"), (1, "1024-1024"), (1, None)]
        assert widths(found.rows[1]) == [(2, None), (1, "65536-65536")]

    def test_ranges_are_cut_where_others_begin(self) -> None:
        found = grid.grid(
            [entry(1, 1024), entry(1025, None), entry(1, 64, "reduce"), entry(65, None, "reduce")]
        )
        assert found.columns == ["64 B", "1 KiB", "> 1 KiB"]
        assert widths(found.rows[0]) == [(2, "1-1024"), (1, "1025-None")]
        assert widths(found.rows[1]) == [(1, "1-64"), (2, "65-None")]

    def test_what_has_no_size_takes_all_columns(self) -> None:
        found = grid.grid([entry(0, 0, "barrier"), entry(8, 8), entry(16, 16)])
        assert widths(found.rows[0]) == [(2, "0-0")]
        assert grid.grid([entry(0, None, "barrier")]).columns == ["any size"]

    def test_what_overlaps_has_rows_of_its_own(self) -> None:
        found = grid.grid([entry(8, 8), entry(8, 8), entry(16, 16)])
        assert [row.label for row in found.rows] == ["bcast", "bcast"]
        assert sum(one is not None for row in found.rows for _, one in row.spans) == 3

    def test_every_row_is_as_wide_as_the_map(self) -> None:
        entries = [entry(low, low + width) for low in range(0, 40, 7) for width in (0, 3, 11)]
        found = grid.grid(entries)
        assert {sum(width for width, _ in row.spans) for row in found.rows} == {len(found.columns)}


class TestColours:
    @pytest.mark.parametrize(
        ("speedup", "name"),
        [(1, "q0"), (2, "q4"), (8, "q12"), (390, "q12"), (0.5, "q-4"), (0.01, "q-12"), (0, "q-12")],
    )
    def test_steps_are_of_the_logarithm(self, speedup: float, name: str) -> None:
        assert colours.speedup_class(speedup) == name
        assert f".{name}{{" in colours.css()

    def test_the_most_frequent_algorithms_have_the_first_colours(self) -> None:
        found = colours.Algorithms(["b", "a", "native", "a"] + [f"x{i}" for i in range(20)])
        assert [found.css_class(name) for name in ("a", "b", "native", "unknown")] == ["a0", "a1", "an", "an"]
        assert all(f".{found.css_class(f'x{i}')}{{" in colours.css() for i in range(20))

    def test_text_can_be_read_on_all_of_them(self) -> None:
        """WCAG asks for a contrast of 4.5."""
        for colour in (*colours._LIGHT, *colours._DARK):
            ink = colours.ink_on(colour)
            light, dark = sorted(
                (luminance(colour), luminance("#111111" if ink == "#111" else "#ffffff")), reverse=True
            )
            assert (light + 0.05) / (dark + 0.05) >= 4.4, colour


def luminance(colour: str) -> float:
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


class TestSpeedups:
    def test_a_run_shows_what_it_learned(self) -> None:
        (found,) = speedups.of_sources([run()])
        (row,) = found.grid.rows
        ((_, shown),) = row.spans
        assert shown is not None
        assert shown.text == "1.58" and shown.style == "q3"
        assert "native: 1.9 ms" in shown.tip and "pairwise: 1.2 ms" in shown.tip
        assert row.mark == Mark("alltoall", "3,5,8", "a run/1", "transpose")

    def test_cells_show_own_choice_and_fastest(self) -> None:
        own, best = speedups.of_sources([sources.Cells("cells", CELLS, "4")])
        assert [one.text for _, one in own.grid.rows[0].spans if one] == ["2.00", "(1.10)"]
        assert [one.text for _, one in best.grid.rows[0].spans if one] == ["4.00", "4.00"]
        first = own.grid.rows[0].spans[0][1]
        assert first is not None and "95 % interval 1.8 to 2.2" in first.tip and "50 samples" in first.tip
        assert own.mean == pytest.approx((2.0 * 1.1) ** 0.5)

    @needs_build
    def test_a_table_shows_its_times(self, tmp_path: Path) -> None:
        (found,) = speedups.of_sources([sources.load(table_file(tmp_path))])
        ((_, shown),) = found.grid.rows[0].spans
        assert shown is not None and shown.text == "2.50"
        assert shown.tip.splitlines() == [
            "allreduce, 1 B to 1 KiB",
            "fused: 2 µs",
            "native: 5 µs",
            "2.5 times as fast",
            "runner-up: shared: 2.5 µs",
            "95 % interval of its time 1.9 µs to 2.2 µs",
            "rule 1, at 64 bytes",
        ]


class TestDecisions:
    def test_a_run_shows_what_served_most_calls(self) -> None:
        first = REPORT["classes"][0]
        more = first | {"algorithm": "native", "parameters": {}, "calls": 10}
        drawn = decisions.of_sources([run(classes=[more, first])], [])
        ((_, _, mark, found),) = drawn
        assert mark.layout == "3,5,8"
        assert found[0].algorithm == "two_level_ring(segment=65536,window=2)"
        assert found[0].remark == "120,000 calls; others: native 10"

    @needs_build
    def test_a_table_is_asked_as_a_job_asks(self, tmp_path: Path) -> None:
        source = sources.load(table_file(tmp_path))
        ((title, _, mark, found),) = decisions.of_sources([source], [])
        assert title == "site: 4 ranks on 1 node" and mark.layout == "4"
        by_table = [one for one in found if one.source == "application table"]
        assert [(one.operation, one.low, one.high, text.bare(one.algorithm)) for one in by_table] == [
            ("allreduce", 1, 1024, "fused"),
            ("allreduce", 1025, 8 << 20, "shared"),
            ("barrier", 0, None, "native"),
        ]

    @needs_build
    def test_other_layouts(self, tmp_path: Path) -> None:
        source = sources.load(table_file(tmp_path))
        titles = [title for title, *_ in decisions.of_sources([source], ["2x4", "16"])]
        assert titles == ["site: 8 ranks on 2 nodes (4 ranks each)", "site: 16 ranks on 1 node"]


class TestAsking:
    LEARNED = (
        {"operation": "bcast", "oversubscribed": True, "region": "solve", "ranks_per_node": [4, 4]},
        {"operation": "reduce", "oversubscribed": True, "operator": "ordered", "nodes": [2, 3]},
        {"operation": "barrier", "oversubscribed": True, "form": "non-blocking"},
        {"operation": "gather"},
    )

    def test_circumstances_of_rules(self) -> None:
        texts = [asking.of_rule(rule).text() for rule in self.LEARNED]
        assert texts == [
            ", cores shared, region solve",
            ", cores shared, ordered operators",
            ", cores shared, non-blocking",
            "",
        ]

    @pytest.mark.parametrize(
        ("circumstances", "operations"),
        [
            (asking.Circumstances(True, region="solve"), ["bcast", "gather"]),
            (asking.Circumstances(True, is_ordered=True), ["reduce", "gather"]),
            (asking.Circumstances(), ["gather"]),
        ],
    )
    def test_rules_that_may_hold(self, circumstances: asking.Circumstances, operations: list[str]) -> None:
        assert [r["operation"] for r in self.LEARNED if circumstances.holds(r)] == operations

    @needs_build
    def test_mpis_are_asked_about_apart(self, tmp_path: Path) -> None:
        rules = [
            {"operation": "barrier", "ranks_per_node": [4, 4], "mpi": mpi, "algorithm": algorithm}
            for mpi, algorithm in (("Open MPI 5", "native"), ("MPICH", "dissemination"))
        ]
        source = sources.load(table_file(tmp_path, rules))
        found = {
            one.circumstances.text(): [answer["choice"]["algorithm"] for _, _, answer in one.answers]
            for one in asking.ask(source, [])
        }
        assert found == {", Open MPI 5": ["native"], ", MPICH": ["dissemination"]}

    @needs_build
    def test_each_is_asked_about(self, tmp_path: Path) -> None:
        rules = [rule | {"algorithm": "native"} for rule in self.LEARNED]
        source = sources.load(table_file(tmp_path, rules))
        found = {(one.layout, one.circumstances.text()): one.answers for one in asking.ask(source, [])}
        assert set(found) == {
            ("4", ", cores shared, region solve"),
            ("2x8", ", cores shared, ordered operators"),
            ("3x8", ", cores shared, ordered operators"),
            ("8", ", cores shared, non-blocking"),
            ("8", ""),
        }
        answers = [answer for of in found.values() for _, _, answer in of]
        assert {answer["choice"]["source"] for answer in answers} == {"application table"}
        assert not any("predicted_us" in one for answer in answers for one in answer["candidates"]), "slow"


class TestTimelines:
    def test_segments_follow_each_other(self) -> None:
        found = timelines.of_run(run(), colours.Algorithms(["pairwise"]))
        assert found is not None
        (lane,) = found.lanes
        assert found.undecided == 1
        row = REPORT["learning"][0]
        assert [part.algorithm for part in lane.segments] == [event["algorithm"] for event in row["timeline"]]
        assert lane.segments[0].style.startswith("--from-lin:")
        ends = [part.style.split("--to-lin:")[1].split(";")[0] for part in lane.segments]
        begins = [part.style.split("--from-lin:")[1].split(";")[0] for part in lane.segments]
        assert ends[:-1] == begins[1:]
        assert lane.speedup == pytest.approx(1.9 / 1.2)
        assert [one.algorithm for one in lane.candidates if one.is_chosen] == [
            "pairwise(segment=49152,window=4)"
        ]

    def test_nothing_was_learned(self) -> None:
        assert timelines.of_run(run(learning=[]), colours.Algorithms([])) is None


class TestMeasuredSizes:
    @pytest.mark.parametrize(
        ("rule", "size"),
        [
            ({"operation": "bcast", "bytes": [17, 128], "measured_bytes": 64}, 64),
            ({"operation": "bcast", "bytes": [33, 64]}, 64),
            ({"operation": "bcast", "bytes": [17, 128]}, None),
            ({"operation": "bcast", "bytes": [17, None]}, None),
            ({"operation": "bcast"}, None),
            ({"operation": "barrier"}, 0),
        ],
    )
    def test_size(self, rule: dict[str, Any], size: int | None) -> None:
        assert results.measured_bytes(rule) == size

    def test_what_tuning_writes_is_understood(self) -> None:
        outcome = results.Outcome("allreduce", 512, cell("allreduce", 512, 2.0, 1.9, 2.1), 3, 1.0)
        (rule,) = results.rules([outcome], results.Place("MPI", 4, 1, (4, 4), True))
        assert results.measured_bytes(rule) == 512


class TestTexts:
    @pytest.mark.parametrize(
        ("share", "shown"), [(0, "0 %"), (0.0123, "1.2 %"), (0.24, "24 %"), (0.9998, "> 99 %"), (1, "100 %")]
    )
    def test_percent(self, share: float, shown: str) -> None:
        assert text.percent(share) == shown

    @pytest.mark.parametrize(
        ("low", "high", "shown"),
        [(8, 8, "8 B"), (17, 256, "17 B to 256 B"), (0, None, "all sizes"), (1025, None, "from 1 KiB")],
    )
    def test_sizes(self, low: int, high: int | None, shown: str) -> None:
        assert text.sizes(low, high) == shown


class Reader(html.parser.HTMLParser):
    """Collects what a browser would run or load, and whether tags fit together."""

    VOID = frozenset({"meta", "link", "input", "br", "img", "path", "line", "rect", "circle", "polygon"})

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.scripts: list[dict[str, str | None]] = []
        self.addresses: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        if tag not in self.VOID:
            self.open.append(tag)
        given = dict(attributes)
        assert not any(name.startswith("on") for name in given), given
        if tag == "script":
            self.scripts.append(given)
        self.addresses += [value or "" for name, value in attributes if name in ("src", "href")]

    def handle_endtag(self, tag: str) -> None:
        if tag not in self.VOID:
            assert self.open.pop() == tag


@needs_build
class TestPage:
    def test_it_is_one_file(self, tmp_path: Path) -> None:
        made = build.page([run(), sources.load(table_file(tmp_path)), sources.Cells("cells", CELLS, "4")])
        read = Reader(made)
        assert read.open == []
        assert read.scripts == [{"type": "application/json", "id": "data"}, {}]
        assert all(address.startswith(("#", "data:")) for address in read.addresses)
        assert "url(" not in made and "@import" not in made
        assert len(made) < 500_000

    def test_agents(self) -> None:
        """What they did stands among what the run was; where nobody has asked for any nothing is said."""
        calls = [{"operation": "allreduce", "carrier": "ucc<b>", "calls": 1000}]
        page = build.page([run(agents={"started_again": 1, "calls": calls})])
        said = "served 1,000 calls; by ucc&lt;b&gt; between nodes: allreduce 1,000; they were started again 1 time"
        assert f"<dt>agents</dt><dd>{said}</dd>" in page
        asked = build.page([run(options={**REPORT["options"], "agents": "1"}, nodes=2 * REPORT["nodes"])])
        assert "<dt>agents</dt><dd>none came to this job</dd>" in asked
        assert "<dt>agents</dt>" not in build.page([run()])

    def test_names_stay_text(self) -> None:
        content = copy.deepcopy(REPORT)
        content["warnings"] = [HOSTILE]
        content["communicators"][0]["name"] = HOSTILE
        content["learning"][0]["region"] = HOSTILE
        content["options"] = {"algorithm": HOSTILE}
        made = build.page([sources.Run(HOSTILE, content)])
        read = Reader(made)
        assert read.open == [] and len(read.scripts) == 2
        assert HOSTILE not in made and "&lt;/script&gt;" in made

    def test_the_data_are_as_they_were(self) -> None:
        made = build.page([run()])
        data = made.split('<script type="application/json" id="data">')[1].split("</script>")[0]
        assert json.loads(data) == [{"name": "a run", "report": REPORT}]

    def test_names_that_are_no_text(self, tmp_path: Path) -> None:
        build.write(tmp_path / "page.html", [run(warnings=["half a letter: \ud800"])])
        assert "half a letter: ?" in (tmp_path / "page.html").read_text(encoding="utf-8")

    def test_nothing_happened(self) -> None:
        nothing = {name: [] for name in ("classes", "native", "learning", "warnings", "communicators")}
        made = build.page([run(**nothing, wall_s=0.0, options={})])
        assert Reader(made).open == []
        assert 'id="learning"' not in made and 'id="models"' not in made

    def test_a_damaged_report(self) -> None:
        content = copy.deepcopy(REPORT)
        del content["classes"][0]["calls"]
        with pytest.raises(UnisonoError, match="damaged: KeyError 'calls'"):
            build.page([sources.Run("a run", content)])
        content = copy.deepcopy(REPORT)
        content["learning"][0]["candidates"][0]["calls"] = "many"
        with pytest.raises(UnisonoError, match="damaged: ValueError"):
            build.page([sources.Run("a run", content)])


def unisono(*words: str) -> tuple[int, str]:
    done = CliRunner().invoke(cli, list(words))
    return done.exit_code, done.output


class TestCommand:
    @needs_build
    def test_files_of_all_kinds(self, tmp_path: Path) -> None:
        cells = tmp_path / "cells.json"
        cells.write_text(json.dumps([asdict(one) for one in CELLS]))
        files = [str(FIXTURES / "report.json"), str(table_file(tmp_path)), str(cells)]
        page = tmp_path / "page.html"
        assert unisono("report", *files, "--html", str(page)) == (0, f"page: {page}\n")
        assert "Unisono: report; site; cells" in page.read_text()

    @needs_build
    def test_a_run_is_told_by_program_date_and_host(self) -> None:
        told = {"program": "nbody", "command": "./nbody --steps 9", "date": "2026-11-27T17:03:21Z"}
        text = build.page([run(**told)])
        assert "<title>Unisono: nbody, 2026-11-27 17:03 UTC, node0 and 2 more</title>" in text
        assert "<dt>command</dt><dd>./nbody --steps 9</dd>" in text and "<dt>file</dt><dd>a run</dd>" in text
        assert '<p class="verdict">About 2.7 times as fast in collectives' in text

    @needs_build
    def test_models_are_folded_unless_the_machine_was_named(self) -> None:
        source = sources.Cells("cells", CELLS, "4")
        assert "<details><summary>Predictions for a usual machine" in build.page([source])
        assert "<details open><summary>Predictions for the machine ethernet" in build.page(
            [source], "ethernet"
        )

    @pytest.mark.parametrize(
        ("content", "says"),
        [
            (None, "cannot read"),
            ("", "is not a run's report"),
            ("[]", "holds no measured cell"),
            ('[{"operation": "bcast"}]', "no cells of `unisono bench`"),
            ("[1]", "no cells of `unisono bench`"),
            ('{"schema": "other"}', "its 'schema' says 'other'"),
            ("3", "its 'schema' says None"),
            ('{"schema": "unisono-report", "version": 2}', "this command reads version 1"),
        ],
    )
    def test_wrong_files(self, tmp_path: Path, content: str | None, says: str) -> None:
        file = tmp_path / "r.json"
        if content is not None:
            file.write_text(content)
        status, output = unisono("report", str(file), "--html", str(tmp_path / "page.html"))
        assert status == 2 and says in output
        assert not (tmp_path / "page.html").exists()

    @pytest.mark.parametrize(
        ("words", "status", "says"),
        [
            (["--html", "page.txt"], 1, "ends in .html"),
            (["--html", "no/such/page.html"], 1, "there is no folder no/such"),
            (["--html", "page.html", "--json"], 2, "leave one of them out"),
            (["--machine", "typical"], 2, "add --html PAGE"),
            (["another.json"], 2, "add --html PAGE"),
        ],
    )
    def test_wrong_words(self, words: list[str], status: int, says: str) -> None:
        code, output = unisono("report", str(FIXTURES / "report.json"), *words)
        assert code == status and says in output
