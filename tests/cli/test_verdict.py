# SPDX-License-Identifier: BSD-3-Clause
"""What a report says of what was gained, and of times that are not known well."""

from __future__ import annotations

import copy
import json
import re
from typing import Any

import pytest
from conftest import FIXTURES
from unisono.reporting import estimates, verdict


@pytest.fixture
def example() -> dict[str, Any]:
    """A run of 12.5 s, 2 s of it in collectives; alltoalls took 1.2 ms instead of 1.9."""
    return copy.deepcopy(json.loads((FIXTURES / "report.json").read_text()))


def test_what_was_saved_is_what_native_took_longer(example: dict[str, Any]) -> None:
    (row,) = (row for row in example["learning"] if row["operation"] == "alltoall")
    row["uncertainty"] = 0.1
    found = verdict.of_report(example)
    # 4,988 calls of 1.2 ms and 2 of 5.2 ms on trial, each 1.9 ms natively; and what timing took.
    saved_s = 4988 * (0.0019 - 0.0012) + 2 * (0.0019 - 0.0052) - 0.0004
    assert found.saved_s == pytest.approx(saved_s) and found.native_s == pytest.approx(2.0 + saved_s)
    assert found.low_s == pytest.approx(saved_s - 0.1 * 0.0019 * 4990)
    assert found.text.startswith(
        "About 2.7 times as fast in collectives as the MPI alone: 3.48 s of 5.48 s saved (between 2.54 s and 4.43 s)."
    )
    assert found.text.endswith("is not known: allreduce, barrier.")


def test_an_interval_that_holds_zero_is_no_gain(example: dict[str, Any]) -> None:
    example["learning"][0]["uncertainty"] = 0.5
    found = verdict.of_report(example)
    assert found.text.startswith("No clear difference from the MPI's own collectives")
    assert "between -1.26 s and" in found.text


def test_a_loss_is_told(example: dict[str, Any]) -> None:
    row = example["learning"][0]
    row["uncertainty"] = 0.05
    row["candidates"][2]["time_s"] = 0.0025
    assert verdict.of_report(example).text.startswith("Slower in collectives than the MPI alone: 3 s lost")


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"collective_time_s": {"max": 1e-5, "mean": 1e-5, "error": 0}}, "Nothing to gain: 0 % of the time"),
        ({"classes": [], "native": []}, "Nothing to gain: the program made no collective call"),
        ({"classes": []}, "Nothing gained: the MPI served all collective calls"),
        ({"learning": []}, "the run had too few collective calls to time the MPI's own as well"),
        ({"learning": [], "options": {"learn": "off"}}, "with `learn` off the MPI's own collectives are not"),
    ],
)
def test_what_is_not_known_is_no_number(example: dict[str, Any], change: dict[str, Any], says: str) -> None:
    found = verdict.of_report(example | change)
    assert says in found.text
    assert found.saved_s is None and not re.search(r"\d m?s saved", found.text)


def test_native_that_was_given_up_gives_no_number(example: dict[str, Any]) -> None:
    example["learning"][0]["candidates"][0]["time_s"] = None
    found = verdict.of_report(example)
    assert "which were tried (alltoall) and given up after few calls" in found.text
    assert "`unisono bench -- mpirun -n 16`" in found.text


def test_calls_that_the_mpi_served_gain_nothing(example: dict[str, Any]) -> None:
    for row in example["classes"]:
        row["algorithm"] = "native"
    assert verdict.of_report(example).text.startswith("Nothing gained: the MPI's own collectives served all")


@pytest.mark.parametrize(
    ("seconds", "error_s", "text", "cell", "share"),
    [
        (2.0, 0.0, "2 s", "~2 s", "20%"),
        (2.0, 0.05, "about 2 s", "~2 s", "20%"),
        (2.0, 0.5, "between 1.5 s and 2.5 s", "~2 s", "15% to 25%"),
        (0.32, 1.29, "at most 1.61 s (too few calls were timed to say more)", "<1.61 s", "at most 16%"),
        (8.0, 3.0, "between 5 s and 10 s", "~8 s", "50% to 100%"),
    ],
)
def test_no_error_is_larger_than_its_time(
    seconds: float, error_s: float, text: str, cell: str, share: str
) -> None:
    assert estimates.time_text(seconds, error_s, 10.0) == text
    assert estimates.cell_text(seconds, error_s, True) == cell
    assert estimates.share_text(seconds, error_s, 10.0) == share


def _without_blocking(example: dict[str, Any], form: str, **more: Any) -> dict[str, Any]:
    """No time in blocking calls; 90 allreduces that do not block."""
    row = {
        **example["classes"][0],
        "form": form,
        "operation": "allreduce",
        "calls": 90,
        "algorithm": "native",
    }
    little = {"collective_time_s": {"max": 1e-5, "mean": 1e-5, "error": 0}, "learning": []}
    return example | little | {"classes": [row, *example["classes"][2:]]} | more


def test_waits_that_were_not_counted_are_not_nothing(example: dict[str, Any]) -> None:
    said = verdict.of_report(_without_blocking(example, "non-blocking")).text
    assert "Nothing to gain" not in said and "0 %" not in said
    assert "waits (MPI_Wait, MPI_Test) for calls that do not block (iallreduce) were not" in said
    assert "`unisono profile` counts waits; between nodes `--agents 1` goes on" in said


@pytest.mark.parametrize(
    ("form", "more"),
    [
        ("persistent", {}),
        ("non-blocking", {"nodes": [{"name": "node0", "ranks": 16}]}),
        ("non-blocking", {"agents": {"started_again": 0, "calls": []}}),
    ],
)
def test_agents_are_named_where_they_may_help(
    example: dict[str, Any], form: str, more: dict[str, Any]
) -> None:
    said = verdict.of_report(_without_blocking(example, form, **more)).text
    assert said.endswith("`unisono profile` counts waits.")
    assert ("(allreduce_init)" in said) == (form == "persistent")


def test_messages_are_compared_by_their_own_commands(example: dict[str, Any]) -> None:
    totals = {
        "sent": 10**6,
        "deepest_posted": 1,
        "deepest_unexpected": 0,
        "most_unexpected_bytes": 0,
        "floods": 0,
    }
    for classes in ([], example["classes"]):
        report = example | {"messages": totals, "classes": classes, "learning": []}
        said = verdict.of_report(report).text
        assert said.startswith("How much was saved is not known: the MPI's own messages were not timed.")
        assert "`unisono match report`" in said and "`unisono match bench`" in said
        assert "`unisono bench" not in said and "Nothing to gain" not in said
    both = verdict.of_report(example | {"messages": totals})
    assert both.saved_s is not None and "Messages are not in it. `unisono match report`" in both.text
    few = verdict.of_report(example | {"messages": totals | {"sent": 0}})
    assert "match" not in few.text
