# SPDX-License-Identifier: BSD-3-Clause
"""Why an algorithm serves a call, and what else could: asked of the compiled code, which decides in jobs as well."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any

from rich.console import Console
from rich.markup import escape

from unisono.common import printing, tool, units
from unisono.reporting import recorded
from unisono.tables import decision_table

_CLEARLY = 1.1  # times as long: models are no better than that
_DECIDED_BY = {
    "rule": "the built-in rules, which go by measurements on several machines,",
    "native": "the built-in rules, which go by measurements on several machines,",
    "forced": "your options",
    "learned": "times that jobs have measured",
    "application table": "tables",
    "site table": "tables",
}
_BLOCKING_BY_AGENTS = "Agents serve it where learning has measured them to be faster (option learn), or where they are forced (option algorithm)."
_SWITCHES_OFF = {"shared_memory": "--no-shared-memory", "single_copy": "--no-single-copy"}


@dataclass
class Explanation:
    """What the compiled code answers, and what a run has recorded, where the question comes from one."""

    answer: dict[str, Any]
    kind: recorded.Kind | None = None

    def as_json(self) -> dict[str, Any]:
        return self.answer if self.kind is None else {"recorded": self.kind.as_json(), **self.answer}

    @property
    def is_as_recorded(self) -> bool:
        """Whether what the run used is what would be chosen now: tables may have changed since."""
        if self.kind is None:
            return True
        name = self.answer["choice"]["algorithm"].partition("(")[0]
        if self.kind.is_by_agents and self.answer["agents"]["serve"]:
            return True
        return any(name == row["algorithm"] for row in self.kind.classes)


def ask(words: Iterable[str]) -> Explanation:
    return Explanation(tool.ask("explain", *words))


def of_report(
    report: dict[str, Any],
    operation: str,
    size: int | None,
    region: str | None = None,
    form: str | None = None,
) -> list[Explanation]:
    """An answer for each kind of calls of a run that are of the operation and hold the size, with what the
    run's options say of it. There is one for each region in which it was learned. `form`: only calls of it."""
    return [
        Explanation(tool.ask("explain", *_question_of(report, kind)), kind)
        for kind in recorded.kinds(report, operation, size, region)
        if form in (None, kind.form)
    ]


def _question_of(report: dict[str, Any], kind: recorded.Kind) -> list[str]:
    options = report["options"]
    words = ["--no-environment", "--operation", kind.operation, "--bytes", str(kind.bytes_high)]
    words += ["--layout", kind.layout, "--mpi", report["mpi"]]
    words += ["--region", kind.region] if kind.region else []
    words += ["--oversubscribed"] if kind.is_oversubscribed else []
    words += ["--ordered"] if not kind.is_commutative else []
    words += ["--non-blocking"] if kind.form != "blocking" else []
    words += ["--persistent"] if kind.form == "persistent" else []
    words += ["--verify"] if "verify" in options else []
    words += ["--agents", "1"] if "agents" in report else []
    words += ["--reproducible"] if kind.is_reproducible or options.get("reproducible") == "1" else []
    words += [word for name, word in _SWITCHES_OFF.items() if options.get(name) == "0"]
    for name in ("algorithm", "cache"):
        words += [f"--{name}", options[name]] if name in options else []
    words += ["--site-table", options["site_table"]] if "site_table" in options else []
    for file in options.get("table", "").split(":"):
        words += ["--table", file] if file else []
    return words


def render(explanation: Explanation, console: Console) -> None:
    """Prints the choice with its reason, what a run has measured, what was asked in turn, the candidates, and what is illegal."""
    answer, kind = explanation.answer, explanation.kind
    console.print(f"[bold]{escape(_question_text(answer['question']))}[/bold]")
    if kind is None:
        _choice(answer["choice"], console)
        for said in (_agents_text(answer), _learning_text(answer), disagreement_text(answer)):
            if said:
                console.print()
                printing.print_prose(console, said)
    else:
        predicted_us = {
            c["algorithm"]: c["predicted_us"] for c in answer["candidates"] if "predicted_us" in c
        }
        console.print()
        recorded.render(kind, predicted_us, console)
        said = _agents_today_text(answer) if kind.is_by_agents else _agents_text(answer, is_of_run=True)
        if said:
            printing.print_prose(console, said)
        # What a run has found out itself it does not owe to tables: there is nothing to compare.
        if kind.has_learned:
            console.print("With the tables and rules of today a job would begin with:", soft_wrap=True)
        elif not explanation.is_as_recorded:
            console.print("With the tables and rules of today it would be another one:", soft_wrap=True)
        if kind.has_learned or not explanation.is_as_recorded:
            _choice(answer["choice"], console)
    console.print()
    tried = {c["algorithm"] for row in kind.learned for c in row["candidates"]} if kind else set()
    _in_turn(answer["considered"], console)
    _timed(answer["candidates"], console)
    _others(answer["candidates"], answer["machine"], tried, console)
    read = [f"{entry['file']} ({entry['source']})" for entry in answer["tables"]]
    console.print(f"[bold]Tables read:[/bold] {escape(', '.join(read) or 'none')}\n", soft_wrap=True)
    for warning in answer["warnings"]:
        console.print(f"[warning]warning:[/warning] {escape(warning)}", soft_wrap=True)


def _choice(choice: dict[str, Any], console: Console) -> None:
    console.print(f"  {escape(choice['algorithm'])}", soft_wrap=True)
    console.print(f"  {choice['source']}: {escape(choice['reason'])}", soft_wrap=True)


def _agents_text(answer: dict[str, Any], is_of_run: bool = False) -> str:
    """Whether agents beside the job serve such calls, and why not; `is_of_run`: a run's, which they did not."""
    agents, question = answer["agents"], answer["question"]
    if agents["why_not"]:
        return f"Agents do not serve it: {agents['why_not']}." if agents["there"] else ""
    if question["form"] == "blocking":
        return _BLOCKING_BY_AGENTS if agents["may_be_chosen"] and not is_of_run else ""
    if is_of_run and agents["serve"]:
        return (
            "Agents did not serve it: its operator or its type is none that they compute with, or the communicator's nodes had no "
            "agents of their own."
        )
    computed = (
        " Reductions are those of 32 and 64 bit integers, float and double, by an operator of MPI's."
        if "operator" in question
        else ""
    )
    if agents["serve"]:
        return f"Agents serve it in its place while the program computes (option agents).{computed}"
    return f"The job has no agents (option agents); with them they would serve it.{computed}"


def _agents_today_text(answer: dict[str, Any]) -> str:
    """Of calls that agents served in a run."""
    agents = answer["agents"]
    if agents["why_not"]:
        return f"Agents would not serve it today: {agents['why_not']}."
    if agents["serve"]:
        return "Agents would serve it today as well (option agents). What follows is of a job without them."
    is_chosen = answer["choice"]["algorithm"].partition("(")[0] == "agents"
    return "" if is_chosen else _BLOCKING_BY_AGENTS


def _learning_text(answer: dict[str, Any]) -> str:
    """What becomes of the choice while a program runs."""
    learning, name = answer["learning"], answer["choice"]["algorithm"].partition("(")[0]
    if learning["mode"] == "off":
        return ""
    if learning["mode"] == "star":
        return (
            f"While a program runs (option learn=star) all that is legal runs first, {learning['iterations']} calls each, the MPI's own "
            "collective too; then the fastest serves."
        )
    first = "the MPI's own collective and then others" if name != "native" else "Unisono's algorithms"
    after = learning["after_calls"]
    since = f"From call {units.count_text(after)} or so on" if after else "From the first call on"
    return (
        f"Now {name} would serve from the first call on. {since}, learning runs {first} for a few calls each, and what is the fastest "
        "stays in use; it is kept for later jobs (--learn off: nothing is tried)."
    )


def disagreement_text(answer: dict[str, Any]) -> str:
    """Why what is predicted to be the fastest is not what is chosen."""
    chosen = answer["choice"]["algorithm"].partition("(")[0]
    times = {
        entry["algorithm"].partition("(")[0]: entry["predicted_us"]
        for entry in answer["candidates"]
        if "predicted_us" in entry and not entry["illegal"]
    }
    if chosen not in times:
        return ""
    best = min(times, key=lambda name: times[name])
    if times[best] * _CLEARLY >= times[chosen]:
        return ""
    best_text, own_text = (units.seconds_text(times[name] * 1e-6) for name in (best, chosen))
    return (
        f"The predictions below say {best_text} for {best} and {own_text} for {chosen}. They do not decide: they are a model's, for the "
        f"machine '{answer['machine']}', and {_DECIDED_BY.get(answer['choice']['source'], 'what was measured')} come first. "
        "`unisono machine measure` describes this machine, `unisono bench --try all` measures the algorithms."
    )


def _question_text(question: dict[str, Any]) -> str:
    sizes = f"{question['bytes_low']} to {question['bytes_high']} bytes"
    parts = [
        f"{question['operation']} of {question['size_class']} ({sizes})",
        question["shape"],
        "cores shared" if question["oversubscribed"] else "a core for each rank",
        question["form"],
    ]
    parts += [question["operator"]] if "operator" in question else []
    parts += [f"graph {question['graph']}"] if "graph" in question else []
    parts += ["reproducible"] if question["reproducible"] else []
    parts += [f"region {question['region']}"] if question["region"] else []
    parts += [question["mpi"]] if question["mpi"] else []
    return ", ".join(parts)


def _in_turn(considered: list[dict[str, Any]], console: Console) -> None:
    """Who offered what, up to the choice and what would come after it."""
    made = printing.table("Asked in turn", "source", "algorithm", "", "why")
    is_chosen = False
    for entry in considered:
        verdict = "refused" if entry["why_not"] else "would come next" if is_chosen else "chosen"
        is_chosen = is_chosen or not entry["why_not"]
        made.add_row(
            entry["source"],
            escape(entry["algorithm"].partition("(")[0]),
            verdict,
            escape(f"it {entry['why_not']}" if entry["why_not"] else entry["reason"]),
        )
    if considered:
        console.print(made, "")


def _timed(candidates: list[dict[str, Any]], console: Console) -> None:
    timed = [entry for entry in candidates if "time_us" in entry]
    if not timed:
        return
    made = printing.table(
        "Times in tables",
        "algorithm",
        "time",
        "samples",
        "native / it",
        "predicted",
        "from",
        right=("time", "samples", "native / it", "predicted"),
        give_way=("samples", "predicted"),
    )
    for entry in timed:
        illegal = f"; not legal here: it {entry['illegal']}" if entry["illegal"] else ""
        # Of another size class: it tells how the algorithms stood there, and not what a call here takes.
        at = f" at {entry['measured_at']}" if "measured_at" in entry else ""
        made.add_row(
            escape(entry["algorithm"]),
            decision_table.time_text(entry) + at,
            units.count_text(entry["samples"]) if "samples" in entry else "",
            f"{entry['native_us'] / entry['time_us']:.2f}" if "native_us" in entry else "",
            _predicted_text(entry),
            escape(f"{entry['from']}, {entry['origin']}{illegal}"),
        )
    console.print(made, "")


def _predicted_text(entry: dict[str, Any]) -> str:
    return units.seconds_text(entry["predicted_us"] * 1e-6) if "predicted_us" in entry else ""


def _others(candidates: list[dict[str, Any]], machine: str, tried: Collection[str], console: Console) -> None:
    """What neither tables nor the run (`tried`) have times of."""
    rest = [entry for entry in candidates if "time_us" not in entry and entry["algorithm"] not in tried]
    legal = [entry for entry in rest if not entry["illegal"]]
    if legal:
        title = f"Legal, nothing measured; predicted for the machine '{machine}' (docs/guide/models.md)"
        made = printing.table(title, "algorithm", "predicted", right=("predicted",))
        for entry in sorted(legal, key=lambda entry: entry.get("predicted_us", float("inf"))):
            made.add_row(escape(entry["algorithm"]), _predicted_text(entry))
        console.print(made, "")
    by_reason: dict[str, list[str]] = {}
    for entry in rest:
        if entry["illegal"]:
            by_reason.setdefault(entry["illegal"], []).append(entry["algorithm"])
    if by_reason:
        made = printing.table("Not legal here", "why", "algorithms")
        for why, names in by_reason.items():
            made.add_row(escape(f"it {why}"), escape(", ".join(names)))
        console.print(made, "")
