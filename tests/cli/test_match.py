# SPDX-License-Identifier: BSD-3-Clause
"""`unisono match`: structures measured alone, traces replayed and reported on, and files that are no traces."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from conftest import Stage, needs_build
from unisono.reporting import matching, matching_text

pytestmark = needs_build

_HEAD = "unisono-message-trace 1\nranks 4\nmpi MPICH 5.0.1\n"


def _json(stage: Stage, environment: dict[str, str], *words: str) -> Any:
    answer = stage.unisono("match", *words, "--json", environment=environment)
    assert answer.returncode == 0, answer.stderr
    return json.loads(answer.stdout)


def _deep(count: int, run_ns: int) -> str:
    """Rank 0 asks for so many messages, which come in reverse."""
    lines = [f"run {run_ns}", *(f"post {i} {i} 1 {i} 0 8" for i in range(count))]
    lines += [f"arrive {count + i} 1 {count - 1 - i} 0 8" for i in range(count)]
    return _HEAD + "rank 0\n" + "\n".join(lines) + "\n"


@pytest.fixture
def deep(stage: Stage) -> Path:
    file = stage.work / "deep.trace"
    file.write_text(_deep(2000, 2_000_000_000))
    return file


def test_bench(stage: Stage, built: dict[str, str]) -> None:
    words = (
        "--engine",
        "list,own",
        "--depth",
        "512",
        "--order",
        "reverse",
        "--queue",
        "posted",
        "--any-source",
        "0",
    )
    lines = _json(stage, built, "bench", *words)
    assert [line["engine"] for line in lines] == ["list", "own"]
    assert lines[0]["traversals"] == 256.5 and lines[1]["traversals"] < 20
    assert lines[0]["ns"] > 2 * lines[1]["ns"] > 0
    text = stage.unisono("match", "bench", *words, environment=built).stdout
    assert "posted queue, reverse, 0 %" in text and "own" in text


def test_bench_forward_finds_the_first(stage: Stage, built: dict[str, str]) -> None:
    for queue in ("posted", "unexpected"):
        words = (
            "--engine",
            "list",
            "--depth",
            "64",
            "--order",
            "forward",
            "--queue",
            queue,
            "--any-source",
            "100",
        )
        assert _json(stage, built, "bench", *words)[0]["traversals"] == 1


def test_replay(stage: Stage, built: dict[str, str], deep: Path) -> None:
    answer = _json(stage, built, "replay", str(deep), "--engine", "all")
    engines = {one["engine"]: one["low"] for one in answer["engines"]}
    assert len(engines) >= 13
    assert engines["list"]["posted"] == {"searches": 2000, "traversals": 2000 * 2001 // 2}
    assert engines["own"]["posted"]["traversals"] < 40_000
    assert answer["depths"]["low"]["posted"]["max"] == 2000
    assert answer["is_exact"]
    words = ("--engine", "clusters_k_means(k=4),own")
    text = stage.unisono("match", "replay", str(deep), *words, environment=built).stdout
    assert "clusters_k_means(k=4)" in text and "2,000" in text


def test_replay_has_bounds(stage: Stage, built: dict[str, str]) -> None:
    file = stage.work / "passive.trace"
    sends = "".join(f"send {i} 0 {i} 0 8\n" for i in range(100))
    receives = "".join(
        f"post {200 + 2 * i} {i} 1 {i} 0 8\ndone {201 + 2 * i} {i} 1 {i} 8\n" for i in range(100)
    )
    file.write_text(f"{_HEAD}rank 0\n{receives}rank 1\n{sends}")
    answer = _json(stage, built, "replay", str(file), "--engine", "list")
    assert answer["depths"]["low"]["unexpected"]["max"] == 0
    assert answer["depths"]["high"]["unexpected"]["max"] == 100
    assert answer["receives"] == {"as_recorded": 100, "otherwise": 0, "unmatched": 0}
    assert "0 - 100" in stage.unisono("match", "replay", str(file), environment=built).stdout


def _sent_by(source: int) -> str:
    """Rank 0 asks this source for many messages, and each other one for one; they come in reverse."""
    sources = [source] * 100 + [other for other in range(4) if other != source]
    lines = [f"post {i} {i} {source} {i} 0 8" for i, source in enumerate(sources)]
    lines += [f"arrive {200 + i} {sources[102 - i]} {102 - i} 0 8" for i in range(103)]
    return _HEAD + "rank 0\n" + "\n".join(lines) + "\n"


def test_profile_of_one_run_serves_another(stage: Stage, built: dict[str, str]) -> None:
    for source in (1, 2):
        (stage.work / f"{source}.trace").write_text(_sent_by(source))
        answer = stage.unisono("match", "profile", f"{source}.trace", f"{source}.profile", environment=built)
        assert answer.stdout == (
            f"wrote {source}.profile: 1 of 4 ranks; 103 receives and 0 messages have waited\n"
        ), answer.stderr
    text = (stage.work / "1.profile").read_text()
    assert text.startswith("unisono-matching-profile 1\nranks 4\nrank 0\n") and "\nposted 0 1 100\n" in text
    lists = {}
    for words in ((), ("--profile", "1.profile"), ("--profile", "2.profile")):
        engines = ("--engine", "partners_static,clusters_heuristic,list")
        answer = _json(stage, built, "replay", "1.trace", *engines, *words)
        lists[words[-1:]] = {one["engine"]: one["low"]["posted"]["traversals"] for one in answer["engines"]}
    own, same, other = lists.values()
    # In one run source 1 is the partner, in the other source 2: then 1 is among all others.
    assert own == same
    assert other["list"] == own["list"] and other["partners_static"] > own["partners_static"]
    text = stage.unisono("match", "replay", "1.trace", "--profile", "2.profile", environment=built).stdout
    assert "Clusters and partners are those of 2.profile." in text


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "bad.profile is no profile of queues: line 1 is not 'unisono-matching-profile 1'"),
        (
            "unisono-matching-profile 2\nranks 4\n",
            "it has version 2, and this Unisono reads version 1",
        ),
        (
            "unisono-matching-profile 1\nranks 8\nrank 0\nposted 0 1 5\n",
            "bad.profile is a profile of 8 ranks, and the trace is of 4",
        ),
        ("unisono-matching-profile 1\nranks 4\nrank 0\nposted 0 9 5\n", "line 4 wants a context"),
        ("unisono-matching-profile 1\nranks 4\nrank 0\nposted 0 1 -5\n", "line 4 wants a context"),
        ("unisono-matching-profile 1\n", "it does not say how many ranks there are"),
    ],
)
def test_refuses_what_is_no_profile(
    stage: Stage, built: dict[str, str], deep: Path, text: str, said: str
) -> None:
    (stage.work / "bad.profile").write_text(text)
    answer = stage.unisono("match", "replay", str(deep), "--profile", "bad.profile", environment=built)
    assert answer.returncode == 2 and said in answer.stderr, answer.stderr


@pytest.mark.parametrize("command", ["report", "replay", "profile"])
def test_says_that_no_messages_were_recorded(stage: Stage, built: dict[str, str], command: str) -> None:
    (stage.work / "empty.trace").write_text(_HEAD + "rank 0\nrun 5\ncount left-out 7\n")
    words = ("empty.trace", *(["empty.profile"] if command == "profile" else []))
    answer = stage.unisono("match", command, *words, environment=built)
    assert answer.returncode == 1 and not answer.stdout
    assert "no messages were recorded in empty.trace" in answer.stderr
    assert "7 went to other jobs" in answer.stderr
    assert not (stage.work / "empty.profile").exists()


def test_says_that_a_rank_has_no_messages(stage: Stage, built: dict[str, str], deep: Path) -> None:
    answer = stage.unisono("match", "report", str(deep), "--rank", "2", environment=built)
    assert answer.returncode == 1 and "has no messages to ranks 2" in answer.stderr


@pytest.mark.parametrize("name", ["amg", "fds", "fds_gathers", "lammps", "radix"])
def test_patterns(stage: Stage, built: dict[str, str], name: str) -> None:
    answer = stage.unisono(
        "match", "pattern", name, "a.trace", "--ranks", "40", "--steps", "2", environment=built
    )
    assert answer.returncode == 0, answer.stderr
    assert _json(stage, built, "replay", "a.trace", "--engine", "list")["ranks"] == 40
    assert name in stage.unisono("match", "pattern", environment=built).stdout


def test_report_says_turn_it_on(stage: Stage, built: dict[str, str], deep: Path) -> None:
    # 2,001,000 elements of 500 ns in 2 s.
    words = ("--ns-per-element", "500")
    answer = _json(stage, built, "report", str(deep), *words)
    assert answer["verdict"] == "Turn it on: 50 % of rank 0's time. Run with `--messages node`."
    assert answer["low"]["posted"]["lengths"]["max"] == 2000
    text = stage.unisono("match", "report", str(deep), *words, environment=built).stdout
    assert text.startswith("Turn it on") and "1024-2047" in text


def test_report_says_leave_it(stage: Stage, built: dict[str, str]) -> None:
    file = stage.work / "short.trace"
    file.write_text(_deep(4, 20_000_000))
    assert _json(stage, built, "report", str(file))["verdict"].startswith("Leave it")
    file.write_text(_deep(4, 0).replace("run 0\n", ""))
    assert "does not say how long" in _json(stage, built, "report", str(file))["verdict"]


def test_report_says_leave_it_where_little_would_be_saved(stage: Stage, built: dict[str, str]) -> None:
    """Half of a run's time is not worth a change where the run takes milliseconds."""
    file = stage.work / "brief.trace"
    file.write_text(_deep(2000, 20_000_000))
    verdict = _json(stage, built, "report", str(file))["verdict"]
    assert verdict.startswith(
        "Leave it: queues take 50 % of rank 0's time, but that run took 20 ms, and at most 9."
    )
    assert "record such a run" in verdict


def test_verdicts() -> None:
    """By what queues take now, low and high, and what Unisono's own would take, in ms of a run of so many."""
    for low, high, own, run, said in (
        (10, 40, 5, 1000, "Leave it: queues take 1.0 % - 4.0 % of rank 0's time."),
        (0, 0.4, 0, 1000, "Leave it: queues take 0.0 % - less than 0.1 % of rank 0's time."),
        (
            300,
            300,
            280,
            1000,
            "Leave it: queues take 30 % of rank 0's time, and Unisono's own would take 28 %",
        ),
        (30, 40, 1, 100, "Leave it: queues take 30 % - 40 % of rank 0's time, but that run took 100 ms"),
        (40, 400, 5, 1000, "Try it: queues take between little and much"),
        (60, 400, 30, 1000, "Try it: queues take between little and much"),
        (300, 400, 5, 1000, "Turn it on: 30 % - 40 % of rank 0's time"),
    ):
        bounds = {
            name: {"present_ns": 1e6 * value, "own_ns": 1e6 * own}
            for name, value in (("low", low), ("high", high))
        }
        answer = {
            "present": "list",
            "several_nodes": False,
            "ns_per_element": {"posted": 5, "unexpected": 5},
            "of_ranks": [{"rank": 0, "run_ns": 1e6 * run, **bounds}],
        }
        assert matching.verdict(answer).startswith(said)


def _one_rank(low: float, high: float, own: float, ranks: int = 1, **changes: Any) -> dict[str, Any]:
    """Shares of a second of each rank."""
    bounds = {
        name: {"present_ns": 1e9 * value, "own_ns": 1e9 * own}
        for name, value in (("low", low), ("high", high))
    }
    of_ranks = [{"rank": rank, "run_ns": 1e9, **bounds} for rank in range(ranks)]
    standard = {
        "present": "list",
        "several_nodes": False,
        "ns_per_element": {"posted": 5, "unexpected": 5},
        "cost": "as given",
    }
    return {**standard, "of_ranks": of_ranks, **changes}


def test_verdicts_speak_of_other_ranks_where_they_were_looked_at() -> None:
    assert matching.verdict(_one_rank(0, 0, 0)) == "Leave it: queues take 0.0 % of rank 0's time."
    several = matching.verdict(_one_rank(0.01, 0.01, 0, ranks=3))
    assert several == "Leave it: queues take 1.0 % of rank 0's time, and no more of the others'."


def test_verdicts_doubt_more_than_all_of_the_time() -> None:
    measured = {
        "cost": "measured on this MPI on 2026-11-30",
        "ns_per_element": {"posted": 20.5, "unexpected": 20.5},
    }
    said = matching.verdict(_one_rank(1.17, 1.17, 0.1, **measured))
    assert said.startswith("Turn it on: all of rank 0's time. Run with")
    assert "not credible: with 20.5 ns for an element (measured on this MPI on 2026-11-30) the shares" in said
    assert "come to 117 %" in said and "`unisono match bench -- LAUNCHER`" in said
    assert "the upper bound comes to 120 %" in matching.verdict(_one_rank(0.9, 1.2, 0.1, **measured))
    assert "credible" not in matching.verdict(_one_rank(0.9, 1, 0.1, **measured))


def test_leave_it_says_that_a_cost_is_assumed() -> None:
    cost = "assumed; `unisono match bench -- mpirun -n 2` measures it"
    said = matching.verdict(_one_rank(0.001, 0.005, 0, cost=cost))
    assert said.endswith(
        "This rests on 5 ns for an element, which is assumed: `unisono match bench -- LAUNCHER` measures it."
    )
    for answer in (_one_rank(0.01, 0.02, 0), _one_rank(0.5, 0.6, 0, cost=cost)):
        assert "assumed" not in matching.verdict(answer)


def test_leave_it_is_not_said_where_some_times_the_assumed_cost_would_matter() -> None:
    said = matching.verdict(_one_rank(0.02, 0.045, 0.001, cost="assumed; it may be more"))
    assert said.startswith(
        "Measure first: queues take 2.0 % - 4.5 % of rank 0's time where an element takes 5"
    )
    assert matching.verdict(_one_rank(0.02, 0.045, 0.001)).startswith("Leave it")


def test_verdicts_say_first_that_a_trace_is_cut_short() -> None:
    said = matching.verdict(_one_rank(0, 0, 0, full_ranks=2))
    assert said.startswith("Record again with more memory (`--record-bytes`): it was full on 2 ranks")
    assert said.endswith("What was recorded says: Leave it: queues take 0.0 % of rank 0's time.")


def test_one_is_counted_as_one() -> None:
    sample = {"searches": 1, "mean": 1, "max": 1, "low_mean": 1, "high_mean": 1, "inside": 1}
    answer = {
        "is_exact": True,
        "full_ranks": 1,
        "counts": {"left-out": 1, "failed-probes": 1},
        "of_ranks": [{"mpi_samples": sample, "receives": {"unmatched": 1}}],
    }
    said = "\n".join(matching_text.notes(answer))
    for text in ("full on 1 rank before", "1 message on communicators with other jobs is not", "of 1 look,"):
        assert text in said
    assert "1 probe found nothing, and is not" in said and "1 receive had messages" in said


def test_report_names_what_carries_messages_between_nodes(stage: Stage, built: dict[str, str]) -> None:
    """Where ranks are on several nodes, `--messages node` carries none of a communicator over all of them."""
    file = stage.work / "nodes.trace"
    words = ("report", str(file), "--ns-per-element", "500")
    for nodes, named, also in (
        ("0 0 0 0", "--messages node", ""),
        (
            "0 0 1 1",
            "--messages all",
            ": the ranks are on several nodes, and `--messages node` helps on communicators inside one",
        ),
    ):
        file.write_text(_deep(2000, 2_000_000_000).replace("mpi ", f"nodes {nodes}\nmpi "))
        verdict = _json(stage, built, *words)["verdict"]
        assert verdict == f"Turn it on: 50 % of rank 0's time. Run with `{named}`{also}."
        answer = stage.unisono("match", *words, "--html", "nodes.html", environment=built)
        assert f"with {named}\n" in answer.stdout.replace(" \n", "\n"), answer.stdout
        assert f">with {named}</th>" in (stage.work / "nodes.html").read_text()


def test_report_goes_by_who_had_the_queues(stage: Stage, built: dict[str, str]) -> None:
    """Option `messages` may leave communicators to the MPI: then its queues are what counts, and can be mended."""
    file = stage.work / "mixed.trace"
    words = ("report", str(file), "--ns-per-element", "500")
    whole = _deep(200, 2_000_000_000).replace("mpi ", "messages node\nmpi ", 1)
    already = "Leave it: the run had Unisono's own queues (`--messages`) already"
    for exact, present, receives in (
        ("", "own", {"unisono": 200, "mpi": 0}),
        ("exact 0\n", "own", {"unisono": 200, "mpi": 0}),
        ("exact 7\n", "list", {"unisono": 0, "mpi": 200}),
    ):
        file.write_text(whole.replace("rank 0\n", f"rank 0\n{exact}", 1))
        found = _json(stage, built, *words)
        assert (found["present"], found["receives_by"]) == (present, receives), exact
        assert (found["verdict"] == f"{already}.") == (present == "own")
    answer = {"present": "own", "receives_by": {"unisono": 3, "mpi": 1}}
    assert matching.verdict(answer).startswith(f"{already}, but for 25 % of its receives")


def test_report_says_try_it_on_several_nodes() -> None:
    bounds = {
        name: {"present_ns": 1e6 * value, "own_ns": 5e6} for name, value in (("low", 40), ("high", 400))
    }
    answer = {
        "present": "list",
        "several_nodes": True,
        "ns_per_element": {"posted": 5, "unexpected": 5},
        "of_ranks": [{"rank": 0, "run_ns": 1e9, **bounds}],
    }
    said = matching.verdict(answer)
    assert said.startswith("Try it: ") and "Compare a run with `--messages all`: the ranks are on" in said


def test_report_counts_what_open_mpi_looks_at(stage: Stage, built: dict[str, str]) -> None:
    """Its lists are one for each source."""
    lines = [f"post {i} {i} {i % 4} {i} 0 8" for i in range(400)]
    lines += [f"arrive {400 + i} {i % 4} {i} 0 8" for i in reversed(range(400))]
    times = iter(range(1000))
    lines = [" ".join([line.split()[0], str(next(times)), *line.split()[2:]]) for line in lines]
    file = stage.work / "many.trace"
    looked_at = []
    for mpi in ("MPICH 5.0.1", "Open MPI 5.0.11"):
        file.write_text(
            f"unisono-message-trace 1\nranks 4\nmpi {mpi}\nrank 0\nrun 9000\n" + "\n".join(lines) + "\n"
        )
        looked_at.append(_json(stage, built, "report", str(file))["low"]["posted"]["looked_at"]["mean"])
    assert looked_at[0] > 3 * looked_at[1]


def test_page(stage: Stage, built: dict[str, str], deep: Path) -> None:
    words = ("--ns-per-element", "500", "--html", "deep.html")
    answer = stage.unisono("match", "report", str(deep), *words, environment=built)
    assert answer.returncode == 0, answer.stderr
    page = (stage.work / "deep.html").read_text()
    assert "Turn it on: 50 % of rank 0" in page and "<script" not in page and "default-src 'none'" in page


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "it is empty"),
        ("hello\n", "line 1 is not 'unisono-message-trace 1'"),
        (
            _HEAD + "rank 0\nsend 1 9 0 0 8\n",
            "line 5 is no 'send TIME TO TAG CONTEXT BYTES' with ranks below 4",
        ),
        (_HEAD + "rank 0\npost 1 0 1 99999999999999999999 0 8\n", "line 5"),
        (_HEAD + "rank 0\n\x00\x1b[31m\n", "line 5 begins with"),
    ],
)
def test_refuses_what_is_no_trace(stage: Stage, built: dict[str, str], text: str, said: str) -> None:
    (stage.work / "bad.trace").write_text(text)
    for command in ("replay", "report"):
        answer = stage.unisono("match", command, "bad.trace", environment=built)
        assert answer.returncode == 2
        assert "bad.trace is no trace of messages" in answer.stderr and said in answer.stderr
        assert "\x1b" not in answer.stderr


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("pipe", "pipe is no regular file"),
        ("/proc/self/mem", "/proc/self/mem cannot be read: Input/output"),
    ],
)
def test_names_what_cannot_be_read(stage: Stage, built: dict[str, str], name: str, said: str) -> None:
    """Nobody writes into the pipe, so that whoever reads it waits for ever."""
    os.mkfifo(stage.work / "pipe")
    for command in ("replay", "report"):
        answer = stage.unisono("match", command, name, environment=built)
        assert answer.returncode == 2 and said in answer.stderr, answer.stderr


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("folder", "File 'folder' is a directory"),
        ("others.trace", "File 'others.trace' is not readable"),
        ("hidden/others.trace", "File 'hidden/others.trace' may not be looked at"),
    ],
)
def test_names_what_is_another_users(stage: Stage, built: dict[str, str], name: str, said: str) -> None:
    (stage.work / "folder").mkdir()
    hidden = stage.work / "hidden"
    hidden.mkdir()
    for file in (stage.work / "others.trace", hidden / "others.trace"):
        file.write_text(_deep(10, 1000))
        file.chmod(0o000)
    hidden.chmod(0o000)
    as_user: list[str] = []
    if os.geteuid() == 0:
        for file in (stage.work / "others.trace", hidden / "others.trace", hidden):
            os.chown(file, 65534, 65534)
        # Root without what lets it read all files.
        taken = "-dac_override,-dac_read_search"
        as_user = ["setpriv", f"--bounding-set={taken}", f"--inh-caps={taken}"]
    for command in ("replay", "report"):
        answer = subprocess.run(
            [*as_user, *stage.command("match", command, name)],
            env=stage.environment(built),
            cwd=stage.work,
            capture_output=True,
            text=True,
            timeout=50,
            check=False,
        )
        assert answer.returncode == 2 and said in answer.stderr, answer.stderr
    hidden.chmod(0o700)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("bench", "--engine", "lists"), "did you mean 'list'?"),
        (("bench", "--engine", "list(k=2)"), "list has no parameter 'k'"),
        (("bench", "--engine", "clusters_k_means(k=99999)"), "k takes a whole number"),
        (("bench", "--depth", "0"), "--depth takes"),
        (("bench", "--any-source", "--", "mpirun", "-n", "2"), "--any-source wants a value; -- came"),
        (("bench", "--order", "--", "mpirun"), "--order wants a value: forward, middle, reverse; -- came"),
        (("report", "deep.trace", "--html", "--"), "--html wants a value; -- came"),
        (("bench", "--any-source", "101"), "--any-source takes"),
        (("bench", "--rounds", "3"), "--rounds is of ranks"),
        (("bench", "--engine", "own", "--", "mpirun", "-n", "2"), "--engine is of structures alone"),
        (("bench", "--senders", "3", "--", "mpirun", "-n", "2"), "--senders is of structures alone"),
        (("bench", "--ms", "3", "--", "mpirun", "-n", "2"), "--ms is of structures alone"),
        (("bench", "--any-source", "101", "--", "mpirun", "-n", "2"), "wants numbers from 0 to 100"),
        (("bench", "--depth", "0", "--", "mpirun", "-n", "2"), "wants numbers from 1 to 1048576"),
        (("bench", "--depth", "9" * 5000, "--", "mpirun", "-n", "2"), "wants numbers from 1 to 1048576"),
        (("report", "deep.trace", "--ns-per-element", "nan"), "'nan' is no finite number"),
        (("report", "deep.trace", "--ns-per-element", "1e400"), "not in the range"),
        (("pattern", "fsd", "x.trace"), "did you mean 'fds'?"),
        (("pattern", "fds"), "say which file is written"),
        (("pattern", "fds", "x.trace", "--steps", "65536"), "too large"),
        (("replay", "x.trace"), "does not exist"),
    ],
)
def test_refuses_what_makes_no_sense(
    stage: Stage, built: dict[str, str], deep: Path, words: tuple[str, ...], said: str
) -> None:
    answer = stage.unisono("match", *words, environment=built)
    assert answer.returncode == 2 and said in answer.stderr, answer.stderr
