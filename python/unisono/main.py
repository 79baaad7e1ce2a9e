# SPDX-License-Identifier: BSD-3-Clause
"""The command `unisono`. Each sub-command lives in its own module, imported when it is asked for, so that
`unisono run` starts quickly."""

from __future__ import annotations

import importlib

import click

from unisono import __version__

# name: (module, one line for the list of commands)
COMMANDS = {
    "run": ("run", "Run an MPI program under Unisono."),
    "report": ("report", "Print the report of a run, or make a page of reports and tunings."),
    "explain": ("explain", "Say which algorithm serves a call, why, and what else could."),
    "tune": ("tune", "Find the fastest algorithms by measuring, and write a table."),
    "bench": ("bench", "Measure native collectives and Unisono's side by side."),
    "list": ("listing", "List the algorithms."),
    "show": ("show", "Draw an algorithm as a space-time diagram."),
    "check": ("check", "Prove the algorithms correct."),
    "table": ("table", "Check, show, compare and merge tables of decisions."),
    "crashes": ("crashes", "Show and forget the algorithms in which jobs have died."),
    "predict": ("predict", "Predict how long algorithms would take on a machine."),
    "topology": ("topology", "Show and find the switches between machines."),
    "options": ("options", "List the options of a run."),
    "info": ("info", "Show versions, places, and what this machine has."),
}


class CommandGroup(click.Group):
    """A group whose commands are imported on demand."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(f"unisono.commands.{COMMANDS[cmd_name][0]}")
        command: click.Command = module.command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in COMMANDS.items()])


@click.group(cls=CommandGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, "-V", "--version", prog_name="unisono", message="%(prog)s %(version)s")
def cli() -> None:
    """Makes the collective communication of MPI programs faster: put `unisono run` before `mpirun`."""


def main() -> None:
    cli(prog_name="unisono")
