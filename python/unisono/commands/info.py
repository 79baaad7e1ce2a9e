# SPDX-License-Identifier: BSD-3-Clause
"""`unisono info`: what is here."""

from __future__ import annotations

import platform
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.markup import escape

from unisono import __version__
from unisono.commands.values import json_option
from unisono.common import places, printing, tool
from unisono.common.errors import UnisonoError
from unisono.machine import catalogue, host


@click.command()
@json_option()
def command(as_json: bool) -> None:
    """Show versions, where the parts are, which MPIs are found, and what the machine offers to its ranks."""
    found = collect()
    if as_json:
        printing.print_json(found)
    else:
        _print(found)


def collect() -> dict[str, Any]:
    home = places.find_home()
    # First: what follows keeps things in the cache.
    settings = tool.environment() if home and home.tool.is_file() else {}
    tree = Path(__file__).resolve().parents[3]
    has_tool = home is not None and home.tool.is_file()
    launchers = host.launchers(sorted(tree.glob(".mpi/*/bin"))) if has_tool else []
    return {
        "unisono": __version__,
        "compiled": _compiled_version() if home and home.tool.is_file() else None,
        "python": platform.python_version(),
        "home": str(home.path) if home else None,
        "home_reason": home.reason if home else None,
        "parts": _parts(home),
        "mpis": [
            {"launcher": launcher.path, "flavour": launcher.flavour, "mpi": launcher.title}
            for launcher in launchers
        ],
        "machine": {
            "host": platform.node(),
            "architecture": platform.machine(),
            "kernel": platform.release(),
            "usable_cores": host.usable_cores(),
            "measured": catalogue.choices_text() if home and home.tool.is_file() else "",
        },
        "settings": settings,
        "crashes": _crashes(home),
        "checks": [
            {"name": check.name, "good": check.is_good, "text": check.text}
            for check in (*host.checks(), *([_check_domains()] if has_tool else []))
        ],
    }


def _check_domains() -> host.Check:
    """Whether hwloc says what nodes consist of."""
    name = "domains of nodes"
    try:
        kinds = Counter(part["kind"] for part in tool.ask("hardware")["parts"])
    except (UnisonoError, KeyError, TypeError) as error:
        return host.Check(
            name, False, f"{error}; nothing is known of sockets, NUMA domains and caches in nodes"
        )
    counts = ", ".join(f"{count} {kind}{'s' if count > 1 else ''}" for kind, count in kinds.items())
    return host.Check(name, True, f"as hwloc tells them; here: {counts} (`unisono topology show`)")


def _compiled_version() -> str | None:
    try:
        return str(tool.ask("version")["unisono"])
    except (UnisonoError, KeyError, TypeError):
        return None


def _crashes(home: places.Home | None) -> int:
    """How many algorithms are left out because jobs have died in them (`unisono crashes`)."""
    if home is None or not home.tool.is_file():
        return 0
    try:
        return len(tool.ask("crashes")["crashes"])
    except (UnisonoError, KeyError, TypeError):
        return 0


def _parts(home: places.Home | None) -> list[dict[str, Any]]:
    if home is None:
        return []
    files = [home.tool, home.shim, home.library, *home.adapters()]
    return [{"file": str(file), "found": file.is_file()} for file in files]


def _print(found: dict[str, Any]) -> None:
    console = printing.console()
    compiled = f", compiled parts {found['compiled']}" if found["compiled"] else ""
    console.print(f"[bold]Unisono {found['unisono']}[/bold]{compiled}, Python {found['python']}")
    own = found["machine"]
    system = f"{own['host']}: {own['architecture']}, Linux {own['kernel']}"
    console.print(escape(f"{system}, {own['usable_cores']} usable cores\n"))
    if own["measured"]:
        printing.print_prose(console, f"As measured here (`unisono machine measure`), {own['measured']}.\n")
    if found["home"] is None:
        looked = ", ".join(str(home.path) for home in places.candidates())
        console.print(f"[bad]The compiled parts were not found[/bad] in {escape(looked)}\n")
    else:
        parts = printing.table(f"Parts ({found['home_reason']})", "file", "")
        for part in found["parts"]:
            parts.add_row(escape(part["file"]), "" if part["found"] else "[bad]missing[/bad]")
        console.print(parts, "")
    mpis = printing.table("MPIs found", "MPI", "launcher")
    for mpi in found["mpis"]:
        mpis.add_row(escape(mpi["mpi"]), escape(mpi["launcher"]))
    console.print(mpis if found["mpis"] else "No MPI found in PATH.")
    console.print()
    if found["settings"]:
        _print_settings(found["settings"], console)
    if found["crashes"]:
        console.print(
            f"[warning]Jobs have died in {found['crashes']} algorithms[/warning]: `unisono crashes` says in which\n"
        )
    checks = printing.table("Inside this machine", "has", "so", "what it means", prose=("what it means",))
    for check in found["checks"]:
        checks.add_row(
            check["name"],
            "[good]yes[/good]" if check["good"] else "[bad]no[/bad]",
            escape(check["text"]),
        )
    console.print(checks)


def _name_of_site(file: str, files: int) -> str:
    """Of several files of a site one is for all installations of the machine, and one for this one (src/base/site_configuration.h)."""
    if file == "/etc/unisono.conf":
        return "site, this machine"
    return "site, this installation" if files > 1 else "site, as named"


def _print_settings(settings: Mapping[str, Any], console: Console) -> None:
    """Which files a job would read here, and which options are set."""
    configuration, cache, site = (settings[name] for name in ("configuration", "cache", "site_table"))
    named = " (named by UNISONO_CONFIG)" if configuration["is_named"] else ""
    made = printing.table("What a job reads", "what", "file", "state")
    sites = settings.get("site_configuration", ())
    for what, one, missing in (
        *((_name_of_site(one["file"], len(sites)), one, "not there") for one in sites),
        ("configuration", configuration, "not there: no option is set in a file"),
        ("kept by jobs", cache, "not there: nothing is kept yet"),
        ("site table", site, "not there: no table holds for all users"),
    ):
        state = "read" if one["is_there"] else missing
        if not one["file"]:
            state = "switched off" if what != "configuration" else "there is no home directory"
        made.add_row(what, escape(one["file"] + (named if one is configuration else "")), state)
    console.print(made, "")
    if settings["options"]:
        options = printing.table("Options that are set", "option", "value", "set by")
        for one in settings["options"]:
            options.add_row(one["name"], escape(one["value"]), escape(one["from"]))
        console.print(options, "")
    else:
        console.print("No option is set: all are as `unisono options` lists them.\n")
    for warning in settings["warnings"]:
        console.print(f"[warning]warning:[/warning] {escape(warning)}", soft_wrap=True)
