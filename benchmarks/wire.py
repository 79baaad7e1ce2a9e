# SPDX-License-Identifier: BSD-3-Clause
"""What the wire between two nodes of the emulated cluster carries."""

from __future__ import annotations

import subprocess
import sys

from side_by_side import ROOT

# isort: split
from harness import Cluster

RECEIVER = """
import socket, sys
server = socket.create_server(("", 47001)); print("ready", flush=True)
link, _ = server.accept()
while link.recv(1 << 20): pass
link.sendall(b"x"); link.close()
"""
SENDER = """
import socket, time
link = socket.create_connection(("node1", 47001))
data = bytes(1 << 20)
for i in range(8): link.sendall(data)
start = time.monotonic()
for i in range(64): link.sendall(data)
link.shutdown(socket.SHUT_WR); link.recv(1)
print((time.monotonic() - start) / (64 << 20))
"""


def wire_seconds_per_byte(cluster: Cluster) -> float:
    """What one TCP stream between two nodes takes for a byte: the wire's limit with its headers."""
    on_node = [str(ROOT / "tools/cluster/cluster.sh"), "exec", str(cluster.directory)]
    with subprocess.Popen(
        [*on_node, "1", sys.executable, "-c", RECEIVER], stdout=subprocess.PIPE, text=True
    ) as receiver:
        assert receiver.stdout is not None
        receiver.stdout.readline()
        sent = subprocess.run(
            [*on_node, "0", sys.executable, "-c", SENDER],
            capture_output=True,
            text=True,
            check=True,
            timeout=60,
        )
    return float(sent.stdout)
