# SPDX-License-Identifier: BSD-3-Clause
"""Descriptions of machines for the models: by a file's name, or by the name of one that is known."""

from __future__ import annotations

import json
import re
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from unisono.common import files, json_text, own_folder, places, schemas, tool
from unisono.common.errors import UnisonoError, UsageError
from unisono.machine.host import processor_name
from unisono.measuring.measurer import Place

NONE = "none"  # as --machine has it: no machine
# src/model/built_in_machines.cc, and quadrics_machines.cc beside it
BUILT_IN = ("typical", "ethernet", "myrinet", "many-cores", "quadrics-crescendo", "quadrics-alc")
STANDARD = BUILT_IN[0]


def folder() -> Path:
    """Where the user's machines are kept, as NAME.json."""
    return places.cache() / "machines"


def resolve(text: str) -> str:
    """What `unisono-tool --machine` takes for a file's name, a name in the user's folder, or one that is built in."""
    if Path(text).is_file():
        return text
    kept = folder() / f"{text}.json"
    if "/" in text or not kept.is_file():
        return text
    for own in (places.cache(), folder(), kept):
        own_folder.require_own(own)
    return str(kept)


def description(named: str) -> dict[str, Any]:
    """The machine of that name, or in that file, with all parameters; as it was measured, and what was found, where it was."""
    resolved = resolve(named)
    known: dict[str, Any] = tool.ask("machine", "--machine", resolved)  # refuses what is none
    if resolved in BUILT_IN or not Path(resolved).is_file():
        return known
    return _completed(files.read_json(Path(resolved), "is no machine's file"), known)


def _completed(own: Mapping[str, Any], known: Mapping[str, Any]) -> dict[str, Any]:
    """What a file says, and what is known where it says nothing."""
    made = {**known, **own}
    for key, part in known.items():
        if isinstance(part, dict) and isinstance(own.get(key), dict):
            made[key] = _completed(own[key], part)
    return made


@dataclass(frozen=True)
class Entry:
    """A machine that --machine knows by its name."""

    name: str
    file: Path | None  # None: it is built in
    measured: Mapping[str, Any]  # where, when and with what
    problem: str = ""  # why the file is of no use

    @property
    def place(self) -> str:
        return str(self.file) if self.file else "built in"

    def fact(self, name: str) -> str | None:
        """One of what is known of the measurement."""
        return str(self.measured[name]) if name in self.measured else None


def entries() -> list[Entry]:
    """All that are known by name: what is built in, then the user's."""
    for own in (places.cache(), folder()):
        own_folder.require_own(own)
    return [*(Entry(name, None, {}) for name in BUILT_IN), *map(_entry, sorted(folder().glob("*.json")))]


def _entry(file: Path) -> Entry:
    why = own_folder.why_not_own(file.stat()) if file.is_file() else "is no regular file"
    try:
        document = json_text.loads(files.read_bytes(file).decode()) if why is None else {}
    except (OSError, ValueError):
        document = None
    if why is None and not (isinstance(document, dict) and document.get("schema") == schemas.MACHINE):
        why = "is no machine's file"
    return Entry(file.stem, file, _part(file, "measured") if why is None else {}, why or "")


def findings(resolved: str | Path) -> dict[str, Any]:
    """What was found beside the models' parameters when the machine was measured: segments and overlaps that are worth a test,
    and more (docs/reference/machine-format.md). Empty for machines that are built in, and where it was not measured."""
    return _part(Path(resolved), "findings")


def _part(file: Path, name: str) -> dict[str, Any]:
    """Of a machine's file; empty where it cannot be read, or has none."""
    try:
        part = json_text.loads(files.read_bytes(file).decode()).get(name, {})
    except (OSError, ValueError, AttributeError):
        return {}
    return part if isinstance(part, dict) else {}


def own_name() -> str:
    """What this machine's file is called where nobody names it: the host's name without its domain."""
    return re.sub(r"[^\w.-]", "_", socket.gethostname().split(".")[0]) or "machine"


def require_name(name: str) -> None:
    """Ends the command where a machine cannot have that name: it is a file's in the user's folder, and --machine finds such a
    file before what is built in."""
    if re.fullmatch(r"\w[\w.-]*", name) is None:
        raise UsageError(f"'{name}' is no name for a machine: write letters, digits, '_', '.' and '-'")
    if name == NONE or _is_built_in(name):
        raise UsageError(f"'{name}' has a meaning of its own for --machine: give the machine another name")


def _is_built_in(name: str) -> bool:
    if Path(name).exists():  # which the tool would read
        return False
    try:
        tool.ask_text("machine", "--machine", name)
    except UsageError:
        return False
    return True


def write(document: Mapping[str, Any], file: Path | None = None) -> Path:
    """Into `file`, or by its name into the user's folder, where --machine NAME finds it."""
    target = file or _made_folder() / f"{document['name']}.json"
    files.write_whole(target, json.dumps(document, indent=1) + "\n", own=file is None)
    return target


def require_writable_folder() -> None:
    """Ends the command where no machine could be written into the user's folder, before one is measured."""
    files.require_writable(_made_folder() / "machine.json")


def _made_folder() -> Path:
    try:
        own_folder.make(places.cache())
        own_folder.make(folder())
    except OSError as error:
        raise UnisonoError(
            f"cannot keep a machine in {folder()}: {error.strerror}; let UNISONO_CACHE or XDG_CACHE_HOME name a place that can be written"
        ) from error
    return folder()


def choices_text(file: Path | None = None) -> str:
    """How ranks wait, and how large buffers are, by what was measured of this machine, or stands in another file; empty: jobs decide
    by themselves."""
    kept = file or folder() / f"{own_name()}.json"
    if not kept.is_file() or (file is None and not is_steady(kept)):
        return ""
    try:
        return str(tool.ask("machine", "--machine", str(kept), "--choices")["choices"])
    except (UnisonoError, KeyError, TypeError):
        return ""


def is_steady(file: Path) -> bool:
    """Whether the machine stayed what it was while the file was measured: else parts of it do not go together."""
    return bool(_part(file, "measured").get("is_steady", True))


def measured_for(place: Place) -> Path | None:
    """The file that was measured on this machine with this MPI, and with messages between nodes where the job has several;
    None: there is none."""
    kept = folder() / f"{own_name()}.json"
    if not all(map(own_folder.is_own, (places.cache(), folder(), kept))):
        return None
    facts = _part(kept, "measured")
    if facts.get("processor") != processor_name() or facts.get("mpi") != place.mpi:
        return None
    missing = facts.get("not_measured", ())
    if not isinstance(missing, list) or not all(isinstance(part, str) for part in missing):
        return None
    needed = ["node"] if place.ranks_per_node[1] > 1 else []
    needed += ["network"] if place.nodes > 1 else []
    return None if set(needed) & set(missing) else kept
