# SPDX-License-Identifier: BSD-3-Clause
"""By which algorithms the calls of programs/device_memory.c are made, with a GPU and with a stand-in for one."""

from __future__ import annotations

from harness import registry

PREFERRED = {
    "fused": ["fused", "linear"],
    "shared": ["shared", "dissemination"],
    "single_copy": ["single_copy", "shared", "dissemination"],
    "messages": ["binomial", "ring", "pairwise", "chain", "bundles"],
}
MORE = {"messages": {"UNISONO_NODES": "2,1"}}


def forced(way: str) -> dict[str, str]:
    """Return settings by which Unisono makes every call: what the host makes of such memory these MPIs cannot."""
    by_operation: dict[str, set[str]] = {}
    for entry in registry():
        by_operation.setdefault(entry["operation"], set()).add(entry["name"])
    choices = [
        f"{operation}:{next(name for name in PREFERRED[way] if name in names)}"
        for operation, names in by_operation.items()
    ]
    return {"UNISONO_ALGORITHM": ",".join(choices), **MORE.get(way, {})}
