# SPDX-License-Identifier: BSD-3-Clause
"""`unisono predict`: how long algorithms would take on a machine that is described, fastest first."""

from __future__ import annotations

import shlex
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import click

from unisono.commands.hints import HintingChoice
from unisono.commands.lists import ListOption
from unisono.commands.values import (
    InputFile,
    RealRange,
    collected,
    graph_option,
    hint,
    json_option,
    machine_option,
    picture_name,
    plot_option,
    sizes_in_bytes,
    sizes_option,
)
from unisono.common import files, json_text, printing, tool, units
from unisono.common.errors import INTERRUPTED, UsageError
from unisono.machine import catalogue, model_fit
from unisono.measuring import candidates
from unisono.reporting import layers, mixed_mode, trees
from unisono.reporting.machines import filled_text

_OF_TREES = ("serial", "fnomial")  # closed forms of reductions (N6)
_MODELS = ("hockney", "logp", "loggp", "plogp", "mixed", "layers", *_OF_TREES)
_SHOWN = 15  # rows, without --all
_STANDARD_S = 10.0


@dataclass(frozen=True)
class Asked:
    """What the command line says."""

    operation: str | None
    layout: str | None
    ranks: int | None
    topology: str | None
    graph: str | None
    root: int | None
    sizes: str
    machine: str
    algorithms: str | None
    model: str
    steps: int | None
    most_s: float | None
    as_all: bool
    plot: Path | None
    measured: Path | None
    show_machine: bool
    as_json: bool

    def question(self, known_machine: str) -> list[str]:
        """What holds for all operations and sizes."""
        words = ["predict", "--machine", known_machine, "--model", self.model]
        for name in ("layout", "ranks", "topology", "graph", "root", "steps"):
            value = getattr(self, name)
            words += [f"--{name}", str(value)] if value is not None else []
        return words

    def limit_s(self) -> float:
        """For all sizes together; 0: none."""
        if self.most_s is not None:
            return self.most_s
        return 0 if self.algorithms else _STANDARD_S


@click.command()
@click.argument("operation", required=False)
@click.option(
    "--layout",
    metavar="LAYOUT",
    help="Nodes: 1024x48 is 1024 nodes with 48 ranks each; 3,5,8 is ranks per node; 4x2x8 is 4 nodes of 2 domains.",
)
@click.option("--ranks", metavar="N", type=click.IntRange(min=1), help="Without a layout: ranks of one node.")
@click.option("--topology", metavar="TOPOLOGY", help="Switches between the nodes, as for `unisono show`.")
@graph_option
@click.option("--root", metavar="RANK", type=click.IntRange(min=0), help="Root of a rooted operation.")
@sizes_option(more="; of operations on blocks, the size of a block")
@machine_option()
@click.option(
    "--algorithms",
    cls=ListOption,
    metavar="NAMES",
    help="Only these, with parameters: ring(segment=64K),native  [default: all]",
)
@click.option(
    "--model",
    type=HintingChoice(_MODELS),
    default="plogp",
    show_default=True,
    help="What messages cost by. mixed: of two_level_chain's broadcast the equations for messages and shared memory at once, "
    "by segment and overlap, beside virtual time by plogp. layers: two-level algorithms whose layers do not overlap, as the sum of each "
    "layer's time. serial, fnomial: the closed forms of reductions one rank after the other "
    "and along trees, as the machine's serial reductions were measured.",
)
@click.option(
    "--steps",
    metavar="N",
    type=click.IntRange(min=1),
    help="Leave out algorithms that take more steps to run.",
)
@click.option(
    "--time",
    "most_s",
    metavar="SECONDS",
    type=RealRange(min=0),
    help="For all sizes together: what takes few steps is predicted first, and what there is no time for is left out; 0: no limit.  "
    "[default: 10; with --algorithms no limit]",
)
@click.option(
    "--all", "as_all", is_flag=True, help="All settings of all algorithms, and why others cannot run."
)
@plot_option("Draw times over sizes into this .svg or .png file.")
@click.option(
    "--measured",
    type=InputFile(),
    help="Cells of `unisono bench --try all --json` on this layout: print how far predictions are from them.",
)
@click.option("--show-machine", is_flag=True, hidden=True, help="Now `unisono machine show NAME --json`.")
@json_option("Print the predictions as JSON.")
@collected(Asked)
def command(asked: Asked) -> None:
    """Rank the algorithms of OPERATION by their predicted time.

    \b
      unisono predict allreduce --layout 1024x48 --size 1M --machine typical
      unisono predict bcast --layout 4x4 --size 64K --algorithms 'chain(segment=8K),binomial,native'
      unisono predict bcast --layout 8x16 --size 8M --model mixed
      unisono predict reduce --layout 1024x1 --model fnomial
      unisono bench --try all --json -- mpirun -n 4 > cells.json; unisono predict --layout 4 --measured cells.json

    Every algorithm's own program runs in virtual time on the described machine (docs/guide/models.md). The MPI's own collective, `native`, is
    taken to be the best of the textbooks' algorithms over messages.
    """
    known_machine = catalogue.resolve(asked.machine)
    if asked.show_machine:
        hint(f"unisono machine show {shlex.quote(asked.machine)} --json")
        printing.echo(tool.ask_text("machine", "--machine", known_machine), nl=False)
        return
    if asked.operation is None and asked.measured is None:
        raise UsageError("say which operation: unisono predict allreduce --layout 4x8")
    picture_name(asked.plot)
    question = asked.question(known_machine)
    if asked.model in _OF_TREES:
        _print_trees(asked, known_machine)
    elif asked.measured is not None:
        _compare(asked, asked.measured, question)
    else:
        _predict(asked, [*question, "--operation", str(asked.operation)])


def _compare(asked: Asked, measured: Path, question: Sequence[str]) -> None:
    """Predictions beside what was measured."""
    fits = _fits(question, measured, asked.operation)
    _print_fit(fits, asked.as_json)
    if asked.plot is not None:
        from unisono.reporting.plots import prediction_errors

        prediction_errors(fits, asked.plot, f"{measured.name} on {asked.machine}")


def _predict(asked: Asked, question: Sequence[str]) -> None:
    byte_counts = sizes_in_bytes(asked.sizes) if asked.operation != "barrier" else [0]
    named = [word for text in candidates.split(asked.algorithms or "") for word in ("--algorithm", text)]
    answers, is_interrupted = _ask_all([*question, *named], byte_counts, asked.limit_s())
    if asked.plot is not None and answers:
        from unisono.reporting.plots import predicted_times

        predicted_times(answers, asked.plot)
    if asked.as_json:
        printing.print_json(answers)
    else:
        for answer in answers:
            if answer["model"] == "mixed":
                _print_mixed(answer)
            elif answer["model"] == "layers":
                _print_layers(answer)
            else:
                _print(answer, asked.as_all)
    if is_interrupted:
        printing.echo(
            f"unisono: interrupted after {len(answers)} of {len(byte_counts)} sizes; --time shortens it",
            err=True,
        )
        raise SystemExit(INTERRUPTED)


def _print_trees(asked: Asked, known_machine: str) -> None:
    """The closed forms at each size."""
    if asked.operation != "reduce":
        raise UsageError(f"--model {asked.model}: its equations are those of a reduction to one rank: reduce")
    for option in ("topology", "algorithms", "plot", "measured"):
        if getattr(asked, option):
            raise UsageError(f"--model {asked.model} goes without --{option}")
    words = ["trees", "--machine", known_machine]
    words += ["--ranks", str(asked.ranks)] if asked.ranks is not None else []
    words += ["--layout", asked.layout] if asked.layout is not None else []
    answers = [tool.ask(*words, "--bytes", str(size)) for size in sizes_in_bytes(asked.sizes)]
    if asked.as_json:
        printing.print_json(answers)
        return
    console = printing.console()
    for answer in answers:
        is_serial = asked.model == "serial"
        console.print(trees.serial_table(answer) if is_serial else trees.degrees_table(answer))
        if not is_serial:
            console.print(trees.degree_text(answer), soft_wrap=True)
        console.print(trees.terms_text(answer), soft_wrap=True)
        console.print()


def _ask_all(
    question: Sequence[str], byte_counts: Sequence[int], most_s: float
) -> tuple[list[dict[str, Any]], bool]:
    """The answers at all sizes, or at those that there was an answer for when somebody pressed Ctrl-C. Sizes share out what is
    left of the time; 0: there is no limit."""
    answers: list[dict[str, Any]] = []
    end = time.monotonic() + most_s
    try:
        for number, count in enumerate(byte_counts):
            share_s = (end - time.monotonic()) / (len(byte_counts) - number)
            limit = ["--time-ms", str(max(1, round(1000 * share_s)))] if most_s else []
            answers.append(predictions_of_size([*question, *limit], count))
    except KeyboardInterrupt:
        return answers, True
    return answers, False


def predictions_of_size(question: Sequence[str], byte_count: int) -> dict[str, Any]:
    """One size's predictions; shows on a terminal how far they are."""
    answer: dict[str, Any] = {}
    with printing.progress() as progress:
        task = progress.add_task(f"predicting {units.bytes_text(byte_count)}", total=100)
        for line in tool.ask_lines(*question, "--bytes", str(byte_count), "--progress"):
            if "progress" in line:
                progress.update(task, completed=round(100 * line["progress"]))
            else:
                answer = line
    return answer


def _fits(question: Sequence[str], file: Path, operation: str | None) -> list[model_fit.Fit]:
    """Predictions beside what was measured, of one operation or of all in the file."""
    try:
        cells = json_text.loads(files.read_text(file))
        cells = [cell for cell in cells if operation in (None, cell["operation"])]
        ranks = {int(cell["ranks"]) for cell in cells}
        for cell in cells:
            model_fit.measured_times(cell)
    except (ValueError, TypeError, KeyError) as error:
        raise UsageError(f"{file}: is not what `unisono bench --json` prints") from error
    if len(ranks) != 1:
        raise UsageError(f"{file}: has no cells of that operation, or cells of several numbers of ranks")

    def ask(operation: str, byte_count: int, names: list[str]) -> dict[str, Any]:
        asked = [word for name in names for word in ("--algorithm", name)]
        answer = predictions_of_size([*question, "--operation", operation, *asked], byte_count)
        if answer["ranks"] not in ranks:
            raise UsageError(
                f"{file}: was measured with {ranks.pop()} ranks, the layout has {answer['ranks']}; give --layout"
            )
        return answer

    return model_fit.fits(cells, ask)


def _print_fit(fits: Sequence[model_fit.Fit], as_json: bool) -> None:
    if not fits:
        raise UsageError("none of the measured algorithms could be predicted on this layout")
    operations = list(dict.fromkeys(fit.operation for fit in fits))
    groups = [(name, [fit for fit in fits if fit.operation == name]) for name in operations]
    groups += [("all", list(fits))] if len(groups) > 1 else []
    if as_json:
        summary = {
            name: {**asdict(model_fit.errors(some)), "regret": model_fit.regret(some)}
            for name, some in groups
        }
        printing.print_json(
            {"errors": summary, "fits": [{**asdict(fit), "error": fit.error} for fit in fits]}
        )
        return
    right = ("times", "median", "size: quartiles", "worst tenth", "within 20 %", "within factor 2", "regret")
    table = printing.table(
        "Errors of predictions: predicted over measured, less 1",
        "operation",
        *right,
        right=right,
        give_way=("worst tenth", "size: quartiles", "within factor 2"),
    )
    for name, some in groups:
        e = model_fit.errors(some)
        quartiles = f"{e.lower_quartile:.0%}  {e.middle:.0%}  {e.upper_quartile:.0%}"
        table.add_row(
            name,
            str(e.count),
            f"{e.median:+.0%}",
            quartiles,
            f"{e.worst_tenth:.0%}",
            f"{e.close:.0%}",
            f"{e.within_factor_2:.0%}",
            f"{model_fit.regret(some):.2f}",
        )
    printing.console().print(table)
    printing.echo(
        "regret: what was measured of the algorithm predicted fastest, over the fastest measured; 1 is none"
    )


def best_of_each(predictions: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The fastest setting of each algorithm; the list is in order of time."""
    best: dict[str, dict[str, Any]] = {}
    for prediction in predictions:
        best.setdefault(prediction["algorithm"], prediction)
    return list(best.values())


def _title(answer: dict[str, Any]) -> str:
    of_bytes = "" if answer["operation"] == "barrier" else f" of {units.bytes_text(answer['bytes'])}"
    nodes = f"{answer['nodes']} node{'' if answer['nodes'] == 1 else 's'}"
    ranks = units.count_text(answer["ranks"])
    return f"{answer['operation']}{of_bytes} on {ranks} ranks, {nodes}; machine {answer['machine']}, {answer['model']}"


def _print_mixed(answer: dict[str, Any]) -> None:
    console = printing.console()
    predictions = answer["predictions"]
    if predictions[0]["us"] is not None:
        console.print(mixed_mode.table(_title(answer), predictions))
        console.print(mixed_mode.LEGEND, soft_wrap=True)
        console.print(mixed_mode.terms_text(predictions[0]), soft_wrap=True)
    _print_problems(answer)
    _print_filled(answer)


def _print_layers(answer: dict[str, Any]) -> None:
    predictions = answer["predictions"]
    if predictions[0]["us"] is not None:
        printing.console().print(layers.table(_title(answer), best_of_each(predictions)))
    else:
        _print_problems(answer)
    _print_filled(answer)


def _print_problems(answer: dict[str, Any]) -> None:
    for problem in dict.fromkeys(one["problem"] for one in answer["predictions"] if one["us"] is None):
        what = f"{answer['operation']} of {units.bytes_text(answer['bytes'])}"
        printing.console().print(f"{what}: {problem}", soft_wrap=True)


def _print_filled(answer: dict[str, Any]) -> None:
    if answer.get("machine_filled"):
        printing.console().print(filled_text(answer["machine"], answer["machine_filled"]), soft_wrap=True)
    printing.console().print()


def _print(answer: dict[str, Any], as_all: bool) -> None:
    predictions = answer["predictions"] if as_all else best_of_each(answer["predictions"])
    done = [one for one in predictions if one["us"] is not None]
    table = printing.table(
        _title(answer),
        *("algorithm", "predicted", "of the best", "remark"),
        right=("predicted", "of the best"),
        give_way=("of the best",),
    )
    for one in done if as_all else done[:_SHOWN]:
        remarks = [f"taken to be {one['stands_for']}"] if "stands_for" in one else []
        remarks += [f"not run: {', '.join(one['not_run'])}"] if "not_run" in one else []
        remarks += ["one node run for all"] if one["is_for_all_nodes"] else []
        ratio = f"{one['us'] / done[0]['us']:.2f}" if done[0]["us"] > 0 else ""
        table.add_row(one["text"], units.seconds_text(one["us"] * 1e-6), ratio, ", ".join(remarks))
    for one in predictions if as_all else []:
        if one["us"] is None:
            table.add_row(one["text"], "", "", one["problem"])
    console = printing.console()
    console.print(table)
    if answer.get("machine_filled"):
        console.print(filled_text(answer["machine"], answer["machine_filled"]), soft_wrap=True)
    hidden = max(0, len(done) - _SHOWN)
    left_out = [one for one in predictions if one["us"] is None and one["problem"].startswith("takes about")]
    if not as_all and (hidden or left_out):
        more = [f"{hidden} slower ones"] if hidden else []
        late = [one for one in left_out if one["problem"].endswith("no time")]
        more += [f"{len(late)} for which there was no time (--time)"] if late else []
        steps = len(left_out) - len(late)
        more += [f"{steps} that take too many steps to run (--steps)"] if steps else []
        console.print(f"Not shown: {', '.join(more)}; --all shows what is known of them.")
    console.print()
