# SPDX-License-Identifier: BSD-3-Clause
"""`unisono simulate` on the compiled tool."""

from __future__ import annotations

import html
import json
import re
import resource
import statistics
import subprocess
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from conftest import ROOT, Stage, needs_build
from unisono.commands import noise as noise_command
from unisono.machine import catalogue, noise
from unisono.reporting.simulated import Row

SCHEMA = ROOT / "python/unisono/schema/machine.schema.json"
NOISE = "uniform(rate=100,mean=50)"


def simulated(stage: Stage, built: dict[str, str], *words: str) -> dict[str, Any]:
    answer = stage.unisono("simulate", *words, "--json", environment=built)
    assert answer.returncode == 0, answer.stderr
    found: dict[str, Any] = json.loads(answer.stdout)
    return found


@needs_build
def test_noise_spreads_times(stage: Stage, built: dict[str, str]) -> None:
    found = simulated(stage, built, "allreduce", "--layout", "256x1", "--calls", "500", "--noise", NOISE)
    spread = found["distribution"]
    assert found["by_events"] is None
    assert spread["least_us"] >= found["quiet_us"] - 1e-6
    assert spread["mean_us"] > found["quiet_us"] + 5
    assert sum(count for *_, count in spread["histogram"]) == 500
    percentiles = [one["us"] for one in spread["percentiles"]]
    assert percentiles == sorted(percentiles)
    again = simulated(stage, built, "allreduce", "--layout", "256x1", "--calls", "500", "--noise", NOISE)
    assert again == found
    quiet = simulated(stage, built, "allreduce", "--layout", "256x1", "--calls", "5", "--noise", "none")
    assert quiet["distribution"]["deviation_us"] == pytest.approx(0, abs=1e-6)


def processor_time_of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


@needs_build
def test_many_calls_take_little_time(stage: Stage, built: dict[str, str]) -> None:
    """Of the processor, which other programs do not use up: 5 s are asked for."""
    before = processor_time_of_children()
    found = simulated(stage, built, "allreduce", "--layout", "1812x1", "--calls", "1000", "--noise", NOISE,
                      "--algorithm", "recursive_doubling")  # fmt: skip
    assert processor_time_of_children() - before < 5
    assert (found["ranks"], found["calls"], found["by_events"]) == (1812, 1000, None)
    assert found["distribution"]["deviation_us"] > 1


@needs_build
def test_many_ranks(stage: Stage, built: dict[str, str]) -> None:
    """Each detour of any of so many ranks may hold up all: nearly each call meets one. A deeper tree takes longer."""
    words = ["reduce", "--algorithm", "k_nomial(degree=4)", "--calls", "20", "--noise", NOISE, "--layout"]
    few, many = (simulated(stage, built, *words, f"{ranks}x1") for ranks in (1000, 100_000))
    assert (many["ranks"], many["by_events"]) == (100_000, None)
    assert 1.3 * few["quiet_us"] < many["quiet_us"] < 2 * few["quiet_us"]
    assert many["distribution"]["mean_us"] > max(many["quiet_us"], few["distribution"]["mean_us"])


@needs_build
def test_replays_say_how_far_they_are_from_the_events(stage: Stage, built: dict[str, str]) -> None:
    """With 8 ranks no message overtakes another; with 64 some do."""
    noise = ["--noise", "exponential(rate=500,mean=30)", "--algorithm", "recursive_doubling"]
    words = ["allreduce", "--calls", "60", *noise]
    exact, near = (simulated(stage, built, *words, "--layout", f"{ranks}x1") for ranks in (8, 64))
    assert exact["replay_check"]["calls"] == 60 and exact["replay_check"]["differing"] == 0
    found = near["replay_check"]
    assert found["calls"] == 60 and 0 < found["differing"] < 60
    events = simulated(stage, built, *words, "--layout", "64x1", "--events", "--calls", "2")
    assert events["replay_check"] is None and events["by_events"] == "as it was asked for"
    for ranks, said in ((8, "60 of the calls were run event by event as well, and took the same times"),
                        (64, f"{found['differing']} took other times, since messages overtook each other")):  # fmt: skip
        text = stage.unisono("simulate", *words, "--layout", f"{ranks}x1", environment=built).stdout
        assert said in " ".join(text.split()), text


@needs_build
def test_windows_and_trimming_are_of_the_samples(stage: Stage, built: dict[str, str]) -> None:
    """As they follow from all times."""
    words = ["allreduce", "--layout", "32x1", "--calls", "400", "--noise", "exponential(rate=1000,mean=40)"]
    shown = simulated(stage, built, *words, "--window", "3", "--window", "50", "--trim", "0.2")[
        "distribution"
    ]
    tool = [f"{built['UNISONO_HOME']}/bin/unisono-tool", "simulate", "--operation", *words, "--samples"]
    done = subprocess.run(tool, capture_output=True, text=True, check=True, timeout=60)
    samples = sorted(json.loads(done.stdout)["samples"])
    assert len(samples) == 400 and shown["mean_us"] == pytest.approx(statistics.fmean(samples))
    kept = samples[:320]
    assert shown["trimmed"] == {
        "share": 0.2,
        "mean_us": pytest.approx(statistics.fmean(kept)),
        "deviation_us": pytest.approx(statistics.stdev(kept)),
    }
    assert [one["us"] for one in shown["windows"]] == [3, 50]
    for one in shown["windows"]:
        most = max(sum(low <= us <= low + one["us"] for us in samples) for low in samples)
        assert one["share"] == pytest.approx(most / 400)
        assert sum(one["from_us"] <= us <= one["from_us"] + one["us"] for us in samples) == most
    standard = simulated(stage, built, *words)["distribution"]
    assert [one["us"] for one in standard["windows"]] == [4, 20] and standard["trimmed"]["share"] == 0.01


@needs_build
def test_slow_cores(stage: Stage, built: dict[str, str]) -> None:
    """Where all cores take twice as long ranks compute for twice as long; with a share of 0 nothing changes."""
    words = ["allreduce", "--layout", "16x1", "--calls", "3", "--noise", "none", "--compute", "1000", "--no-barrier"]  # fmt: skip
    even, none, all_slow, some = (
        simulated(stage, built, *words, *slow)
        for slow in ([], ["--slow", "0,3"], ["--slow", "1,2"], ["--slow", "0.3,2"])
    )
    assert none == even
    # The time of a call is without `--compute`: what is left is the thousand more, from the second call on.
    added = [
        1.5 * (one["distribution"]["mean_us"] - even["distribution"]["mean_us"]) for one in (all_slow, some)
    ]
    assert added[0] == pytest.approx(1000, rel=0.05)
    assert even["distribution"]["least_us"] == pytest.approx(even["quiet_us"])
    # The slowest one holds up all of them, and the network's part of a call is as it was.
    assert 900 < added[1] <= added[0] + 1e-6
    assert even["quiet_us"] < some["quiet_us"] <= all_slow["quiet_us"] < 2 * even["quiet_us"]


@needs_build
def test_a_plot_of_calls(stage: Stage, built: dict[str, str]) -> None:
    """A bar for each bin of the histogram, as high as it has calls, between lines of what is shown besides."""
    words = ["simulate", "allreduce", "--layout", "64x1", "--calls", "200", "--noise", NOISE]
    answer = stage.unisono(*words, "--plot", "calls.svg", environment=built)
    assert answer.returncode == 0 and "calls.svg" in answer.stdout, answer.stderr
    plot = (stage.work / "calls.svg").read_text()
    found = json.loads(stage.unisono(*words, "--json", environment=built).stdout)
    for text in (found["algorithm"], "time of a call (us)", "allreduce of 8 B on 64 ranks", "without noise", "mean"):  # fmt: skip
        assert html.escape(text) in plot, text
    heights = [
        max(ys) - min(ys)
        for path in re.findall(r'<path d="([^"]*)" clip-path="[^"]*" style="fill: #1f77b4"', plot)
        if (ys := [float(y) for _, y in re.findall(r"[ML] ([-\d.]+) ([-\d.]+)", path)])
    ]
    counts = [count for *_, count in found["distribution"]["histogram"]]
    assert len(heights) == len(counts)
    unit = max(heights) / max(counts)
    assert heights == pytest.approx([unit * count for count in counts], abs=0.01)
    assert stage.unisono(*words, "--plot", "calls.txt", environment=built).returncode == 2


def recording(path: Path, **changes: Any) -> str:
    """A file of `machine measure --noise`: each core loses 50 of 1000 us."""
    made = {"length_us": 1000, "begins_us": [100], "us": [50]}
    file = {"schema": "unisono-noise", "version": 1, "recording": made} | changes
    path.write_text(json.dumps(file))
    return f"recorded:{path}"


@needs_build
def test_noise_of_a_file(stage: Stage, built: dict[str, str], tmp_path: Path) -> None:
    """Long work takes what the recording's share says; without work between calls they take longer, too."""
    words = ["allreduce", "--layout", "16x1", "--calls", "200", "--compute", "10000", "--no-barrier"]
    quiet = simulated(stage, built, *words, "--noise", "none")
    noisy = simulated(stage, built, *words, "--noise", recording(tmp_path / "noise.json"))
    added = noisy["distribution"]["mean_us"] - quiet["distribution"]["mean_us"]
    assert added == pytest.approx(10_000 * 50 / 950, rel=0.15)
    for wrong, said in (
        (recording(tmp_path / "other.json", schema="unisono-machine"), "is not 'unisono-noise'"),
        (
            recording(tmp_path / "late.json", recording={"length_us": 1, "begins_us": [2], "us": [1]}),
            "is not behind the last begin",
        ),
        (f"recorded:{tmp_path / 'missing.json'}", "cannot"),
        ("uniform(rate=1,mean=1):file.json", "only 'recorded' takes a file"),
    ):
        answer = stage.unisono("simulate", *words, "--noise", wrong, environment=built)
        assert answer.returncode == 2 and said in answer.stderr, answer.stderr


def test_recordings_are_joined() -> None:
    """Core by core, each with its slices one after the other."""

    def one(length_us: float, *detours: tuple[float, float]) -> noise.Recording:
        begins, us = zip(*detours, strict=True) if detours else ((), ())
        return {"length_us": length_us, "quantum_us": 0.02, "begins_us": list(begins), "us": list(us)}

    slices = [[one(100, (10, 1)), one(50, (20, 2))], [one(100), one(100, (5, 4), (90, 8))]]
    made = noise.document(slices, {"host": "here"})
    assert made["recording"] == {"length_us": 350, "begins_us": [10, 220, 255, 340], "us": [1, 2, 4, 8]}
    assert made["measured"] == {"host": "here", "cores": 2, "quantum_us": 0.02}
    facts = noise.summary(made["recording"])
    assert facts["mean_us"] == 3.75 and facts["longest_us"] == 8
    assert facts["share"] == pytest.approx(15 / 350) and facts["rate_hz"] == pytest.approx(4 / 350e-6)


@needs_build
def test_calls_without_noise_take_one_time(stage: Stage, built: dict[str, str], tmp_path: Path) -> None:
    """What rounding adds to one of many calls is not drawn."""
    page = tmp_path / "calls.html"
    words = ["allreduce", "--layout", "64x1", "--calls", "2000", "--noise", "none"]
    spread = simulated(stage, built, *words)["distribution"]
    assert spread["deviation_us"] == 0 and spread["least_us"] == spread["mean_us"] == spread["most_us"]
    assert len(spread["histogram"]) == 1
    answer = stage.unisono("simulate", *words, "--html", str(page), environment=built)
    assert "every call takes" in answer.stdout and "#" not in answer.stdout
    assert "deviation" not in answer.stdout and "slow cores" not in answer.stdout
    assert "every call takes" in page.read_text() and "<rect" not in page.read_text()


@needs_build
def test_slow_cores_are_said(stage: Stage, built: dict[str, str]) -> None:
    words = ["allreduce", "--layout", "64x1", "--calls", "5", "--slow", "0.25,1.5"]
    assert simulated(stage, built, *words)["slow"] == {"share": 0.25, "factor": 1.5}
    text = stage.unisono("simulate", *words, environment=built).stdout
    assert "25 % of the cores take 1.5 times as long" in text


def test_busy_cores_are_said() -> None:
    def one(us: float) -> noise.Recording:
        return {"length_us": 100, "begins_us": [1], "us": [us]}

    assert noise.busy_shares([[one(10), one(19)], [one(20), one(5)]]) == []
    shares = noise.busy_shares([[one(10), one(92)], [one(40), one(92)]])
    assert shares == pytest.approx([0.92, 0.25])
    assert noise_command.busy_text([0.92], 2).startswith(
        "1 of 2 cores was busy with other programs for 92% of"
    )
    said = noise_command.busy_text(shares, 2)
    assert (
        said.startswith("2 of 2 cores were busy with other programs for up to 92%")
        and "loaded machine" in said
    )


@needs_build
def test_page_and_text(stage: Stage, built: dict[str, str], tmp_path: Path) -> None:
    page = tmp_path / "calls.html"
    words = ["reduce", "--layout", "31x1", "--machine", "quadrics-alc", "--agents", "--html", str(page)]
    answer = stage.unisono("simulate", *words, environment=built)
    assert answer.returncode == 0, answer.stderr
    assert "by agents" in answer.stdout and "standard deviation" in answer.stdout
    text = page.read_text()
    assert "<svg" in text and "quadrics-alc" in text and "<script" not in text


@needs_build
@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "say which operation"),
        (["allreduce", "--noise", "unifrom(rate=1,mean=1)"], "did you mean 'uniform'"),
        (["allreduce", "--noise", "uniform(rate=1,rate=2,mean=1)"], "'rate' of uniform is given twice"),
        (["allreduce", "--noise", "none", "--noise", "fixed(rate=1,mean=1)"], "leaves all noise out"),
        (["allreduce", "--noise", "machine", "--noise", "none"], "leaves all noise out"),
        (["allreduce", "--noise", "recorded"], "has no recording"),
        (
            ["allreduce", "--noise", "fixed(rate=0,mean=1)"],
            "rate takes a number from 1e-06 to 1e+06, not '0'",
        ),
        (["allreduce", "--noise", "periodic(rate=10000,mean=115)"], "takes 115 % of a core"),
        (["allreduce", "--layout", ""], "is no layout"),
        (
            ["reduce", "--machine", "quadrics-alc", "--type", "flaot64"],
            "has times of int32, float64; did you mean",
        ),
        (["reduce", "--machine", "quadrics-alc", "--op", "minus"], "has times of max, sum, none"),
        (["allreduce", "--agents", "--layout", "4x1"], "has no agent"),
        (["allreduce", "--overlap"], "--overlap goes with --agents"),
        (["allreduce", "--slow", "3"], "--slow takes a share"),
        (
            ["allreduce", "--slow", "2,3"],
            "--slow takes a share of the cores from 0 to 1 and a factor from 1 to 1000",
        ),
        (["allreduce", "--slow", "0.1,nan"], "as 0.01,1.5; not '0.1,nan'"),
        (["allreduce", "--size", "1M,2M"], "--size takes one size, such as 8, 64K or 1M; not '1M,2M'"),
        (["allreduce", "--compute", "1e10"], "'--compute'"),
        (["reduce", "--algorithm", "ring(segment=1)"], "and reduce_scatter have it (`unisono list reduce`"),
        (["allgather", "--algorithm", "k_nomial(degree=4)"], "'k_nomial' for allgather; "),
        (["allreduce", "--algorithm", "native"], "name an algorithm"),
        (["allreduce", "--layout", "1x1"], "one rank"),
        (["allreduce", "--published"], "in place of an operation"),
    ],
)
def test_mistakes(stage: Stage, built: dict[str, str], words: list[str], said: str) -> None:
    answer = stage.unisono("simulate", *words, environment=built)
    assert answer.returncode == 2
    assert said in answer.stderr


@needs_build
def test_what_was_published_is_met(stage: Stage, built: dict[str, str]) -> None:
    answer = stage.unisono("simulate", "--published", "--json", environment=built)
    assert answer.returncode == 0, answer.stderr
    rows = json.loads(answer.stdout)
    assert {row["is_met"] for row in rows} == {True, None}
    assert all(row["remark"] for row in rows if row["is_met"] is None and row["source"])


@needs_build
def test_what_was_published_on_a_page_and_a_plot(stage: Stage, built: dict[str, str]) -> None:
    """All rows are there, with their verdicts; the plot has those that can be compared."""
    words = ["simulate", "--published", "--html", "all.html", "--plot", "all.svg"]
    answer = stage.unisono(*words, environment=built)
    assert answer.returncode == 0, answer.stderr
    assert "all.html" in answer.stdout and "all.svg" in answer.stdout
    rows = json.loads(stage.unisono("simulate", "--published", "--json", environment=built).stdout)
    page = (stage.work / "all.html").read_text()
    body = page.split("<tbody>")[1].split("</tbody>")[0]
    assert body.count("<tr>") == len(rows)
    assert all(f"<td>{html.escape(row['what'])}</td>" in body for row in rows)
    assert body.count("<td>met</td>") == sum(row["is_met"] is True for row in rows)
    assert "<script" not in page
    plot = (stage.work / "all.svg").read_text()
    assert "<svg" in plot
    assert all((f"{row['place']}: {row['what']}" in plot) == (row["error"] is not None) for row in rows)


@needs_build
def test_machines_with_agents(stage: Stage, built: dict[str, str]) -> None:
    for name in ("quadrics-crescendo", "quadrics-alc"):
        answer = stage.unisono("machine", "show", name, "--json", environment=built)
        document = json.loads(answer.stdout)
        jsonschema.validate(document, json.loads(SCHEMA.read_text()))
        assert document["agent"]["completion_us"] > 0
        assert name in catalogue.BUILT_IN


def test_rows_are_judged_by_their_own_measure() -> None:
    assert Row("a", "b", 100, 105, "us", 0.06).is_met is True
    assert Row("a", "b", 100, 107, "us", 0.06).is_met is False
    assert Row("a", "b", 100, 107, "us", None, "why").is_met is None
