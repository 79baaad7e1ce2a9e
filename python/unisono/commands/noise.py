# SPDX-License-Identifier: BSD-3-Clause
"""`unisono machine measure --noise`: records what takes cores away."""

from __future__ import annotations

import json
import shlex
import socket
from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from unisono.commands.jobs import interruptible, quiet_settings
from unisono.common import files, own_folder, places, printing, schemas, tool, units
from unisono.common.budget import Budget
from unisono.machine import catalogue, measuring, noise
from unisono.machine.host import processor_name
from unisono.measuring import bench
from unisono.measuring.measurer import Measurer

_LENGTHS_US = (0, 1, 2, 5, 10, 50, 100, 1000)
_SHARE_OF_BUDGET = 0.5  # the rest is for the job's start


def record(
    launcher: Sequence[str], output: Path | None, budget: Budget, mpicc: Path | None, command_line: str
) -> tuple[dict[str, Any], Path, list[float]]:
    """The recording, the file that it was written to, and the shares of cores that were busy."""
    if output is not None:
        files.require_own(output, schemas.NOISE)
    files.require_outputs({"--output": output})
    target = output or places.cache() / "noise" / f"{catalogue.own_name()}.json"
    seconds = min(noise.RECORDED_S, _SHARE_OF_BUDGET * budget.left_s)
    with interruptible(lambda: "interrupted: of noise that is half recorded nothing is kept"):
        words = bench.command_line(
            launcher, quiet_settings() | measuring.SETTINGS, measuring.PROGRAM_OPTIONS, mpicc
        )
        with Measurer(words, budget=budget) as job, printing.progress() as progress:
            task = progress.add_task(f"recording noise of {job.place.ranks} cores", total=1.0)
            slices = noise.record(job, seconds, lambda share: progress.update(task, completed=share))
            place = job.place
    facts = {
        "host": socket.gethostname(),
        "processor": processor_name(),
        "mpi": place.mpi,
        "layout": place.layout,
        "date": datetime.now(timezone.utc).strftime("%Y-%m-%d %H:%M UTC"),
        "command": command_line,
    }
    made = noise.document(slices, facts)
    if output is None:
        own_folder.make(places.cache())
        own_folder.make(target.parent)
    files.write_whole(target, json.dumps(made) + "\n", own=output is None)
    # It is what the tool reads.
    tool.ask(
        "simulate", "--operation", "barrier", "--ranks", "2", "--calls", "1", "--noise", f"recorded:{target}"
    )
    return made, target, noise.busy_shares(slices)


def busy_text(shares: Sequence[float], cores: int) -> str:
    """Of a recording that says more of the load than of the machine."""
    which = f"{len(shares)} of {cores} cores " + ("was" if len(shares) == 1 else "were")
    most = "" if len(shares) == 1 else "up to "
    return (
        f"{which} busy with other programs for {most}{shares[0]:.0%} of the time: this is the noise of a loaded machine, not "
        "that of its system. Record it when nothing else runs"
    )


def show(made: Mapping[str, Any], target: Path) -> None:
    """What was recorded, by lengths of detours."""
    recording = made["recording"]
    facts = noise.summary(recording)
    seconds = recording["length_us"] * 1e-6
    right = ("a second", "share of time")
    table = printing.table(f"noise of {made['measured']['cores']} cores", "detours of", *right, right=right)
    ends = [*_LENGTHS_US[1:], float("inf")]
    for low, high in zip(_LENGTHS_US, ends, strict=True):
        some = [us for us in recording["us"] if low <= us < high]
        if not some:
            continue
        name = f"{low} us and more" if high == float("inf") else f"{low} to {high:g} us"
        table.add_row(name, f"{len(some) / seconds:.3g}", f"{sum(some) / recording['length_us']:.3%}")
    printing.console().print(table)
    printing.echo(
        f"{facts['rate_hz']:.3g} detours a second of {units.seconds_text(facts['mean_us'] * 1e-6)} in the mean, the longest "
        f"{units.seconds_text(facts['longest_us'] * 1e-6)}: {facts['share']:.2%} of a core's time"
    )


def measure(
    launcher: Sequence[str], output: Path | None, budget: Budget, mpicc: Path | None, as_json: bool
) -> None:
    """Records, prints, and says how the file is used."""
    words = ["unisono", "machine", "measure", "--noise", "--", *launcher]
    made, target, busy = record(launcher, output, budget, mpicc, shlex.join(words))
    if as_json:
        printing.print_json(made)
    else:
        show(made, target)
    if busy:
        printing.echo(f"unisono: {busy_text(busy, made['measured']['cores'])}", err=True)
    use = shlex.quote(f"recorded:{target}")
    printing.echo(
        f"noise: {target}   (use it: unisono simulate allreduce --layout 1024x1 --noise {use})", err=as_json
    )
