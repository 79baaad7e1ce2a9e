# SPDX-License-Identifier: BSD-3-Clause
"""What this machine has: MPIs, cores, shared memory."""

from __future__ import annotations

import ctypes
import math
import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from unisono.launch.launchers import Launcher, found_in

_SHARED_MEMORY = Path("/dev/shm")
_SESSION_GROUPS = Path("/proc/sys/kernel/sched_autogroup_enabled")
_CONTROL_GROUPS = Path("/sys/fs/cgroup")
_OWN_GROUPS = Path("/proc/self/cgroup")
_GROUPS_NAMESPACE = Path("/proc/self/ns/cgroup")
_FIRST_GROUPS_NAMESPACE = "cgroup:[4026531835]"  # the kernel's PROC_CGROUP_INIT_INO


@dataclass(frozen=True)
class Check:
    """One thing that collectives inside a node rest on."""

    name: str
    is_good: bool
    text: str


def launchers(extra: list[Path]) -> list[Launcher]:
    """The launchers in PATH and in the `extra` folders; each once, under its first name."""
    folders = [Path(folder) for folder in os.environ.get("PATH", "").split(os.pathsep) if folder]
    return found_in([*folders, *extra])


def usable_cores() -> int:
    """How many cores a process started here may use: affinity mask and control group's quota."""
    cores = len(os.sched_getaffinity(0))
    quota = _quota_cores()
    return cores if quota is None else max(1, min(cores, math.ceil(quota)))


def _quota_cores() -> float | None:
    try:
        quota, period = (_CONTROL_GROUPS / "cpu.max").read_text().split()
        return None if quota == "max" else int(quota) / int(period)
    except (OSError, ValueError):
        pass
    try:
        old = _CONTROL_GROUPS / "cpu"
        microseconds = int((old / "cpu.cfs_quota_us").read_text())
        return None if microseconds <= 0 else microseconds / int((old / "cpu.cfs_period_us").read_text())
    except (OSError, ValueError):
        return None


def checks() -> list[Check]:
    return [_check_segments(), _check_memory(), _check_single_copy(), _check_turns()]


def _check_segments() -> Check:
    """Segments are anonymous files that other ranks open through /proc."""
    name = "anonymous segments"
    try:
        descriptor = os.memfd_create("unisono-check")
    except OSError as error:
        return Check(
            name, False, f"memfd_create: {error.strerror}; named segments in /dev/shm are used instead"
        )
    try:
        os.close(os.open(f"/proc/{os.getpid()}/fd/{descriptor}", os.O_RDWR))
    except OSError as error:
        return Check(
            name, False, f"/proc/PID/fd: {error.strerror}; named segments in /dev/shm are used instead"
        )
    finally:
        os.close(descriptor)
    return Check(name, True, "memfd_create, opened through /proc")


def _check_memory() -> Check:
    name = "shared memory"
    try:
        space = shutil.disk_usage(_SHARED_MEMORY)
    except OSError as error:
        return Check(name, False, f"{_SHARED_MEMORY}: {error.strerror}")
    free_mib = space.free // 2**20
    return Check(
        name, free_mib >= 64, f"{free_mib} MiB of {space.total // 2**20} MiB free in {_SHARED_MEMORY}"
    )


def _check_single_copy() -> Check:
    """May one rank read another's memory? Ranks are siblings, so two children try it."""
    name = "single copy"
    marker = ctypes.create_string_buffer(b"unisono")
    ready, hold = os.pipe()
    owner = os.fork()
    if owner == 0:
        os.close(hold)
        os.read(ready, 1)  # ends when the parent closes its end
        os._exit(0)
    reader = os.fork()
    if reader == 0:
        os.close(hold)
        os._exit(0 if _can_read(owner, marker) else 1)
    _, status = os.waitpid(reader, 0)
    os.close(hold)
    os.close(ready)
    os.waitpid(owner, 0)
    if status == 0:
        return Check(name, True, "process_vm_readv between processes of one user")
    return Check(
        name, False, "process_vm_readv is not permitted here; large messages go through shared memory"
    )


def _check_turns() -> Check:
    """MPICH starts each rank in a session of its own. Where the kernel groups by session, it
    schedules ranks that share cores not with each other but group by group. On some kernels groups of several
    threads then get hardly any turn."""
    name = "turns on shared cores"
    if not are_sessions_grouped():
        return Check(name, True, "the kernel schedules ranks that share cores with each other")
    return Check(
        name,
        False,
        "the kernel schedules session by session, and MPICH gives each rank its own: where ranks of several threads "
        "share cores, some may wait for seconds (seen on Linux 6.18); `sysctl kernel.sched_autogroup_enabled=0` (as root) ends it",
    )


def are_sessions_grouped() -> bool:
    """Whether processes started here are scheduled by session: where that is on, those in no CPU control group are."""
    own = _text_of(_OWN_GROUPS)
    if _text_of(_SESSION_GROUPS).strip() != "1" or not own or not _sees_all_groups():
        return False
    path_of: dict[str, str] = {}  # by controller; the unified hierarchy's stands under ""
    for line in own.splitlines():
        _, controllers, path = line.split(":", 2)
        path_of |= dict.fromkeys(controllers.split(","), path)
    if "cpu" in path_of:
        return path_of["cpu"] == "/"
    divided = _text_of(_CONTROL_GROUPS / "cgroup.subtree_control").split()
    return path_of.get("", "/") == "/" or "cpu" not in divided


def _sees_all_groups() -> bool:
    """A container may have a namespace of its own, whose root is some group of the machine's: most are in one."""
    try:
        return _GROUPS_NAMESPACE.readlink().name == _FIRST_GROUPS_NAMESPACE
    except OSError:
        return True


def _text_of(file: Path) -> str:
    """Of a kernel's file; empty where there is none."""
    try:
        return file.read_text(encoding="utf-8")
    except OSError:
        return ""


class _Vector(ctypes.Structure):
    _fields_ = (("base", ctypes.c_void_p), ("length", ctypes.c_size_t))


def _can_read(process: int, marker: ctypes.Array[ctypes.c_char]) -> bool:
    copy = ctypes.create_string_buffer(len(marker))
    local = _Vector(ctypes.addressof(copy), len(marker))
    remote = _Vector(ctypes.addressof(marker), len(marker))
    read = ctypes.CDLL(None, use_errno=True).process_vm_readv
    read.restype = ctypes.c_ssize_t
    count: int = read(process, ctypes.byref(local), 1, ctypes.byref(remote), 1, 0)
    return count == len(marker) and copy.raw == marker.raw


def processor_model() -> str:
    """The processors' name, as the kernel has it: `AMD EPYC 7B13`; empty where it does not say."""
    lines = _text_of(Path("/proc/cpuinfo")).splitlines()
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), "")


def processor_name() -> str:
    """Their number and name: `2 x AMD EPYC 7B13`."""
    return f"{os.cpu_count()} x {processor_model() or 'processor'}"
