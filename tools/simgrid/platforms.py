# SPDX-License-Identifier: BSD-3-Clause
"""Machines for SMPI: fat trees, dragonflies and tori of 16 to 1024 nodes, one rank a node, as SimGrid's platform files."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

# Links of 100 Gbit/s. A message meets one on each hop.
BANDWIDTH_BYTES_PER_S, LATENCY_S = 12.5e9, 250e-9
# What a core takes to send or to receive a message, seconds.
OVERHEAD_S = 250e-9
# Up to here messages travel before their receives are posted, bytes.
EAGER_BYTES = 65536

# Each by number of ranks, as SimGrid's `topo_parameters` has it.
# Fat tree: leaf switches of 16 nodes, and half as many links up.
# Dragonfly: groups, chassis in each, routers in each, nodes on each; links between those.
_PARAMETERS = {
    "fat-tree": (
        "FAT_TREE",
        {16: "2;4,4;1,2;1,1", 64: "2;16,4;1,8;1,1", 256: "2;16,16;1,8;1,1", 1024: "3;16,8,8;1,8,8;1,1,1"},
    ),
    "dragonfly": (
        "DRAGONFLY",
        {16: "2,1;2,1;2,1;2", 64: "4,1;2,1;4,1;2", 256: "8,1;2,1;8,1;2", 1024: "16,1;2,1;8,1;4"},
    ),
    "torus": ("TORUS", {16: "4,2,2", 64: "4,4,4", 256: "8,8,4", 1024: "16,8,8"}),
}
KINDS = tuple(_PARAMETERS)
RANKS = (16, 64, 256, 1024)


@dataclass(frozen=True)
class Platform:
    """One machine: a kind of network, and how many nodes hang on it."""

    kind: str
    ranks: int

    @property
    def name(self) -> str:
        return f"{self.kind}-{self.ranks}"

    def write(self, folder: Path) -> tuple[Path, Path]:
        """The platform's file, and that of its hosts in the order of ranks."""
        topology, parameters = _PARAMETERS[self.kind]
        # On a torus SimGrid has no way from a node to itself by itself.
        loopback = (
            f' loopback_bw="{BANDWIDTH_BYTES_PER_S:g}Bps" loopback_lat="0"' if self.kind == "torus" else ""
        )
        platform, hosts = folder / f"{self.name}.xml", folder / f"{self.name}.hosts"
        platform.write_text(
            "<?xml version='1.0'?>\n"
            '<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">\n'
            '<platform version="4.1"><zone id="all" routing="Full">\n'
            f'<cluster id="cluster" prefix="node-" suffix="" radical="0-{self.ranks - 1}" speed="10Gf" '
            f'bw="{BANDWIDTH_BYTES_PER_S:g}Bps" lat="{LATENCY_S * 1e9:g}ns" topology="{topology}" '
            f'topo_parameters="{parameters[self.ranks]}"{loopback}/>\n'
            "</zone></platform>\n"
        )
        hosts.write_text("".join(f"node-{rank}\n" for rank in range(self.ranks)))
        return platform, hosts


def settings(selector: str) -> list[str]:
    """SMPI's options. Its standard factors and its window are those of TCP on an older cluster; here what a link takes holds."""
    overhead = f"0:{OVERHEAD_S:g}:0"
    given = {
        "smpi/simulate-computation": "no",
        "smpi/privatization": "no",
        "smpi/coll-selector": selector,
        "smpi/async-small-thresh": str(EAGER_BYTES),
        "smpi/send-is-detached-thresh": str(EAGER_BYTES),
        "smpi/os": overhead,
        "smpi/ois": overhead,
        "smpi/or": overhead,
        "smpi/wtime": "0",
        "smpi/lat-factor": "0:1",
        "smpi/bw-factor": "0:1",
        "network/TCP-gamma": "1e12",
    }
    return [f"--cfg={key}:{value}" for key, value in given.items()]
