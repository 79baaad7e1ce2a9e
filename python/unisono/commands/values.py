# SPDX-License-Identifier: BSD-3-Clause
"""What several commands take and mean alike: options, how their values are read, and what holds where none is given."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import fields, is_dataclass
from functools import wraps
from pathlib import Path
from typing import Any, TypeVar, get_type_hints

import click

from unisono.commands.hints import refused
from unisono.commands.lists import ListOption
from unisono.common import printing, units
from unisono.common.errors import UnisonoError
from unisono.common.nearest import did_you_mean
from unisono.common.operations import OPERATIONS
from unisono.machine import catalogue

SIZES = "8,1K,64K,1M"
WORLD = "world"  # the communicator of all ranks
_MOST_BUDGET_S = 30 * 24 * 3600.0
_PICTURES = (".svg", ".png")

_Settings = TypeVar("_Settings")
_Result = TypeVar("_Result")
Command = TypeVar("Command", bound=Callable[..., object])


class InputFile(click.Path):
    """A file that is there and may be read. One in a folder that this user may not enter is not called missing."""

    def __init__(self) -> None:
        super().__init__(exists=True, dir_okay=False, path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        try:
            Path(value).stat()
        except PermissionError:
            self.fail(f"File {click.format_filename(value)!r} may not be looked at.", param, ctx)
        except (OSError, ValueError):
            pass  # what is wrong says click
        return super().convert(value, param, ctx)


def _filled(kind: type[_Settings], given: dict[str, Any]) -> _Settings:
    """Takes out of `given` what the fields of `kind` want; a field that is a dataclass itself takes its own ones."""
    hints = get_type_hints(kind)
    names = (field.name for field in fields(kind))  # type: ignore[arg-type]
    return kind(
        **{
            name: _filled(hints[name], given) if is_dataclass(hints[name]) else given.pop(name)
            for name in names
        }
    )


def collected(
    kind: type[_Settings],
) -> Callable[[Callable[[_Settings], _Result]], Callable[..., _Result]]:
    """Hands a command all that was given as one object: `kind` is a dataclass with a field for each parameter, or with
    fields by subject that are such dataclasses."""

    def decorate(command: Callable[[_Settings], _Result]) -> Callable[..., _Result]:
        @wraps(command)
        def call(**options: Any) -> _Result:
            settings = _filled(kind, options)
            assert not options, f"{kind.__name__} has no field for {', '.join(options)}"
            return command(settings)

        return call

    return decorate


# --- Options ---


class RealRange(click.FloatRange):
    """A number within bounds: neither `nan` nor `inf`, nor what becomes that, as 1e400."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        number = float(super().convert(value, param, ctx))
        if not math.isfinite(number):
            self.fail(f"'{value}' is no finite number", param, ctx)
        return number


operations_option = click.option(
    "--operation",
    "operations",
    cls=ListOption,
    default=",".join(OPERATIONS),
    help="Operations, separated by commas.",
)


def sizes_option(default: str = SIZES, more: str = "") -> Callable[[Command], Command]:
    """`more`: what else there is to say of the sizes."""
    return click.option(
        "--size",
        "sizes",
        cls=ListOption,
        default=default,
        show_default=True,
        help=f"Message sizes, separated by commas{more}.",
    )


def json_option(text: str = "Print it as JSON.") -> Callable[[Command], Command]:
    return click.option("--json", "as_json", is_flag=True, help=text)


def graph_option(command: Command) -> Command:
    """Of collectives of neighbours: whom each rank sends to."""
    return click.option(
        "--graph",
        metavar="GRAPH",
        help="Of neighbor_*: moore:2,4 (dimensions, radius), random:0.4 (density), cart:4x4x4[,periodic], ring, complete  [default: ring]",
    )(command)


def machine_option(more: str = "") -> Callable[[Command], Command]:
    """Of predictions; `more`: what else there is to say of machines."""
    return click.option(
        "--machine",
        default=catalogue.STANDARD,
        show_default=True,
        metavar="NAME|FILE",
        help=f"The machine: a file, or the name of a known one{more}.",
    )


def plot_option(text: str) -> Callable[[Command], Command]:
    return click.option("--plot", type=click.Path(dir_okay=False, path_type=Path), help=text)


def say_written(*names: Path | None) -> None:
    """Of pictures and pages, as far as they were asked for."""
    for written in filter(None, names):
        printing.echo(f"wrote {written}")


def hint(new: str) -> None:
    """Says how what was asked for is spelt now."""
    printing.echo(f"unisono: this is `{new}` now; the old spelling goes on working", err=True)


# --- How values are read ---


def size_in_bytes(text: str) -> int:
    """`8`, `64K`, `1M`, `4MiB` -> bytes."""
    count = units.bytes_from_text(text)
    if count is None:
        raise click.BadParameter(f"'{text}' is no size; write 8, 64K or 1M")
    return count


def sizes_in_bytes(text: str) -> list[int]:
    """`8,64K` -> bytes."""
    return [size_in_bytes(part) for part in text.split(",")]


def listed(value: str, allowed: Sequence[str]) -> list[str]:
    """`bcast,scan` -> the names, each one of those allowed."""
    names = [name.strip() for name in value.split(",") if name.strip()]
    for name in names:
        if name not in allowed:
            raise click.BadParameter(refused(name, allowed))
    if not names:
        raise click.BadParameter(f"'{value}' names none of {', '.join(allowed)}")
    return names


def budget_in_seconds(text: str) -> float:
    """`300`, `90s`, `5m`, `1h` -> seconds."""
    scales = {"s": 1, "m": 60, "h": 3600}
    number, scale = (text[:-1], scales[text[-1]]) if text[-1:] in scales else (text, 1)
    try:
        seconds = float(number) * scale
    except ValueError:
        seconds = 0
    if not (seconds > 0 and math.isfinite(seconds)):
        raise click.BadParameter(f"'{text}' is no time; write 300, 90s, 5m or 1h")
    if seconds > _MOST_BUDGET_S:
        raise click.BadParameter(f"'{text}' is more than 30 days (720h)")
    return seconds


def picture_name(plot: Path | None) -> None:
    """The suffix says what is drawn. The picture's folder is made where there is none."""
    if plot is None:
        return
    if plot.suffix not in _PICTURES:
        raise click.BadParameter(
            f"'{plot}': the name must end in {' or '.join(_PICTURES)}, which says what to draw"
        )
    try:
        plot.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UnisonoError(f"cannot write {plot}: {error.strerror}") from error


def communicator(context: click.Context, parameter: click.Parameter, value: str) -> str:
    """A layout of communicators, as `--comm` takes it."""
    name, _, number = value.partition(":")
    is_grouped = name in ("split", "strided") and number.isdecimal() and int(number) > 0
    if value not in (WORLD, "node", "leaders", "reversed") and not is_grouped:
        layouts = ("world", "split:2", "strided:2", "node", "leaders", "reversed")
        raise click.BadParameter(
            f"'{value}' is no layout; write world, split:2, strided:2, node, leaders or reversed"
            f"{did_you_mean(value, layouts)}"
        )
    return value


def graph(context: click.Context, parameter: click.Parameter, value: str) -> str:
    """A graph of neighbours, as `bench --graph` takes it."""
    name, _, words = value.partition(":")
    known = {
        "grid": r"",
        "ring": r"",
        "complete": r"",
        "moore": r"[1-8],[1-9]\d{0,3}",
        "random": r"(0(\.\d+)?|1(\.0+)?|\.\d+)(,\d{1,19})?",
    }
    if name not in known or not re.fullmatch(known[name], words) or value.endswith(":"):
        raise click.BadParameter(
            f"'{value}' is no graph; write grid, moore:2,1 (dimensions, radius), random:0.4 (probability), ring or complete"
            f"{did_you_mean(value, ('grid', 'moore:2,1', 'random:0.4', 'ring', 'complete'))}"
        )
    return value


def communicators(context: click.Context, parameter: click.Parameter, value: str) -> list[str]:
    """Several of them, separated by commas; each once."""
    return [communicator(context, parameter, kind) for kind in dict.fromkeys(value.split(","))]
