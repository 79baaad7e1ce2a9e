# SPDX-License-Identifier: BSD-3-Clause
"""`unisono completion`: what lets a shell complete the words of `unisono`."""

from __future__ import annotations

from collections.abc import Callable

import click

from unisono.common import printing, tool
from unisono.completion import bash, fish, zsh
from unisono.completion.description import Described, described
from unisono.machine import catalogue

SCRIPTS: dict[str, Callable[[Described], str]] = {"bash": bash.script, "zsh": zsh.script, "fish": fish.script}


@click.command()
@click.argument("shell", type=click.Choice(list(SCRIPTS)))
@click.pass_context
def command(ctx: click.Context, /, shell: str) -> None:
    """Print a script that lets a shell complete commands, options and their values.

    An installation brings these scripts along, where the shells look for them. Elsewhere, put them there yourself:

    \b
      unisono completion bash > ~/.local/share/bash-completion/completions/unisono
      unisono completion zsh > ~/.zsh/_unisono      # with fpath+=(~/.zsh) before compinit in ~/.zshrc
      unisono completion fish > ~/.config/fish/completions/unisono.fish

    Pressing Tab starts no Python then. Write the script again after an update of Unisono.
    """
    printing.echo(script(shell, ctx.find_root().command), nl=False)


def script(shell: str, root: click.Command) -> str:
    """The script for a shell; `root` is the command `unisono`."""
    names: dict[str, tuple[str, ...]] = {}
    for algorithm in tool.algorithms():
        operation = algorithm["operation"]
        names[operation] = (*names.get(operation, ()), algorithm["name"])
    return SCRIPTS[shell](described(root, names, catalogue.BUILT_IN))
