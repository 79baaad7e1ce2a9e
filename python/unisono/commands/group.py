# SPDX-License-Identifier: BSD-3-Clause
"""The command `unisono` as a parser. Each sub-command lives in its own module, imported when it is asked for."""

from __future__ import annotations

import importlib
import io
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, NoReturn

import click

from unisono import __version__
from unisono.commands.hints import HintingGroup
from unisono.common.errors import Terminated, UnisonoError, interrupted_status
from unisono.common.shown import shown

# name: (module, one line for the list of commands)
COMMANDS = {
    "run": ("run", "Run an MPI program under Unisono."),
    "profile": ("profile", "Show where the time of an MPI program goes."),
    "report": ("report", "Print the report of a run, or a page of reports and tunings."),
    "explain": ("explain", "Say which algorithm serves a call, why, and what else could."),
    "tune": ("tune", "Find the fastest algorithms by measuring, and write a table."),
    "bench": ("bench", "Measure native collectives and Unisono's side by side."),
    "list": ("listing", "List the algorithms."),
    "show": ("show", "Draw an algorithm as a space-time diagram."),
    "check": ("check", "Prove the algorithms correct."),
    "table": ("table", "Check, show, compare and merge tables of decisions."),
    "crashes": ("crashes", "Show and forget the algorithms in which jobs have died."),
    "cache": ("cache", "Show and forget what jobs have kept for later ones."),
    "predict": ("predict", "Predict how long algorithms would take on a machine."),
    "simulate": ("simulate", "Simulate many calls with noise, on hosts or agents."),
    "graph": ("graph", "Count what collectives of neighbours cost on a graph."),
    "match": ("match", "Say what queues of messages cost, and what would help."),
    "machine": ("machine", "Measure, show and list machines."),
    "topology": ("topology", "Show and find the switches between machines."),
    "options": ("options", "List the options of a run."),
    "completion": ("completion", "Print a script that lets a shell complete commands and options."),
    "info": ("info", "Show versions, places, and what this machine has."),
}

# As the list of commands has them; what is in none of these comes last.
PARTS = {
    "Run a program, and see what was gained": ("run", "report", "profile", "explain", "match"),
    "Make it faster": ("tune", "bench", "table", "cache", "crashes"),
    "Look into algorithms and machines": (
        "list",
        "show",
        "check",
        "predict",
        "simulate",
        "graph",
        "machine",
        "topology",
    ),
    "About this installation": ("options", "info", "completion"),
}
FIRST = """Unisono makes the collective communication of MPI programs faster. Nothing has to be compiled anew:

  unisono run --report r.json mpirun -n 4 ./program   run a program of yours under Unisono
  unisono report r.json                               see where the time went, and what was gained
  unisono tune -- mpirun -n 4                         find the fastest algorithms for this machine

`unisono --help` lists all commands, `unisono COMMAND --help` says all of one."""


def _terminate(number: int, frame: FrameType | None) -> NoReturn:
    raise Terminated(number)


@contextmanager
def _ended_by_signals() -> Iterator[None]:
    """Who waits for a command with `timeout`, or cancels a batch job, ends it as Ctrl-C does. (What is ignored stays so: nohup.)"""
    numbers = [n for n in (signal.SIGTERM, signal.SIGHUP) if signal.getsignal(n) == signal.SIG_DFL]
    if threading.current_thread() is not threading.main_thread():
        numbers = []
    for number in numbers:
        signal.signal(number, _terminate)
    try:
        yield
    finally:
        for number in numbers:
            signal.signal(number, signal.SIG_DFL)


def _system_text(error: OSError) -> str:
    """What the system has refused: `/read/only/x: Read-only file system`."""
    name = f"{error.filename}: " if error.filename is not None else ""
    return f"{name}{error.strerror or error}"


def _end_with(error: UnisonoError) -> NoReturn:
    """As the parser ends with errors of its own."""
    error.show()
    sys.exit(error.exit_code)


def _end_with_parsers(error: click.ClickException) -> NoReturn:
    """What the parser says of the command line may repeat words of it, which may hold anything."""
    said = io.StringIO()
    error.show(said)
    click.echo(shown(said.getvalue()), err=True, nl=False)
    sys.exit(error.exit_code)


class CommandGroup(HintingGroup):
    """A group whose commands are imported on demand."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(f"unisono.commands.{COMMANDS[cmd_name][0]}")
        command: click.Command = module.command
        return command

    def invoke(self, ctx: click.Context) -> Any:
        try:
            with _ended_by_signals():
                return super().invoke(ctx)
        except UnisonoError as error:
            _end_with(error)
        except click.ClickException as error:
            _end_with_parsers(error)
        except BrokenPipeError:
            raise  # the parser's own: whoever reads has seen enough
        except OSError as error:
            _end_with(UnisonoError(_system_text(error)))
        except KeyboardInterrupt as ended:
            # The parser's own way says "Aborted!" and ends with 1, which scripts take for a failure.
            click.echo("unisono: interrupted", err=True)
            sys.exit(interrupted_status(ended))

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        told = {name for names in PARTS.values() for name in names}
        parts = PARTS | {"Others": tuple(name for name in COMMANDS if name not in told)}
        for title, names in parts.items():
            lines = [(name, COMMANDS[name][1]) for name in names if name in COMMANDS]
            if lines:
                with formatter.section(title):
                    formatter.write_dl(lines)


@click.group(
    cls=CommandGroup,
    context_settings={"help_option_names": ["-h", "--help"]},
    invoke_without_command=True,
)
@click.version_option(__version__, "-V", "--version", prog_name="unisono", message="%(prog)s %(version)s")
@click.pass_context
def cli(ctx: click.Context) -> None:
    """Makes the collective communication of MPI programs faster: put `unisono run` before `mpirun`."""
    if ctx.invoked_subcommand is None:
        click.echo(FIRST)
