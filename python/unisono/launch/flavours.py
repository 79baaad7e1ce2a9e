# SPDX-License-Identifier: BSD-3-Clause
"""What the launchers' options look like: how many of the words after an option belong to it. That is all
one has to know to find the program in a launcher's command line."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

# How many words belong to an option, beside plain counts:
PAIR = -1  # "NAME VALUE", or "NAME=VALUE" in one word
MAYBE = -2  # a value or none; only what follows can tell


def _table(**by_arity: str) -> dict[str, int]:
    arities = {"none": 0, "one": 1, "two": 2, "four": 4, "pair": PAIR, "maybe": MAYBE}
    return {name: arities[arity] for arity, names in by_arity.items() for name in names.split()}


class Flavour(NamedTuple):
    """One launcher's manner of command line."""

    name: str
    title: str
    # Option names without dashes. One and two dashes mean the same, except where `is_getopt`.
    arities: Mapping[str, int]
    # One-letter options whose value may be glued on (-n4).
    glued: str = ""
    # GNU getopt_long: one dash introduces letters, two dashes names, which may be abbreviated.
    is_getopt: bool = False
    # Options that name a file of sections, one on each line.
    section_files: frozenset[str] = frozenset()
    # Options that cannot work with a shim before the program: name, and what to do.
    refused: Mapping[str, str] = MappingProxyType({})
    # Option that says where programs are looked for.
    path_option: str = ""
    # Options that set the programs' working directory.
    directory_options: frozenset[str] = frozenset()
    # A program without a slash that is not in PATH is looked for in the working directory.
    looks_in_directory: bool = False


_PRELOADS_BINARY = (
    "it would copy unisono-exec to the nodes in place of the program; "
    "copy the program beforehand, or use a file system that all nodes share"
)

_openmpi_common = _table(
    none="""
        allow-run-as-root bind-to-core bind-to-socket bycore bynode byslot d debug debug-daemons
        debug-daemons-file debug-devel display-allocation display-devel-allocation display-devel-map
        display-map display-topo do-not-launch do-not-resolve enable-recovery disable-recovery continuous
        fwd-mpirun-port get-stack-traces index-argv-by-rank leave-session-attached merge-stderr-to-stdout
        nolocal nooversubscribe noprefix novm oversubscribe output-proctable pernode preload-binary q
        quiet report-bindings report-child-jobs-separately report-state-on-timeout s
        set-cwd-to-session-dir show-progress tag-output timestamp-output tv use-hwthread-cpus use-regexp v
        verbose V version xml""",
    one="""
        H N am amca app bind-to c cf cartofile cpu-list cpu-set cpus-per-proc cpus-per-rank debugger
        default-hostfile host hostfile launch-agent machinefile map-by max-restarts max-vm-size n np
        npernode npersocket ompi-server output-filename path personality ppr prefix preload-files rank-by
        rankfile report-events report-pid report-uri rf stdin timeout tune wd wdir x xml-file xterm""",
    two="mca gmca",
    maybe="h help",
)

OPENMPI4 = Flavour(
    name="openmpi4",
    title="Open MPI",
    arities={
        **_openmpi_common,
        **_table(
            none="display-diffable-map dvm enable-instant-on-support",
            one="hnp",
        ),
    },
    section_files=frozenset({"app"}),
    refused={"s": _PRELOADS_BINARY, "preload-binary": _PRELOADS_BINARY},
    path_option="path",
    directory_options=frozenset({"wd", "wdir"}),
    looks_in_directory=True,
)

OPENMPI5 = Flavour(
    name="openmpi5",
    title="Open MPI",
    arities={
        **_openmpi_common,
        **_table(
            none="""
                display-comm display-comm-finalize hetero-nodes no-app-prefix no-ready-msg set-sid
                stop-in-app stop-in-init stop-on-exec system-server do-not-aggregate-help""",
            one="""
                add-host add-hostfile app-pmix-prefix display dvm forward-signals gpu-support
                initial-errhandler keepalive memory-alloc-kinds output output-directory pmix-prefix pset
                runtime-options set-env singleton spawn-timeout stream-buffering tmpdir unset-env with-ft""",
            two="append-env gomca gpmixmca gprtemca omca pmixmca prepend-env prtemca",
            maybe="output-proctable forward-environment",
        ),
    },
    glued="ncNHx",
    section_files=frozenset({"app"}),
    refused={"s": _PRELOADS_BINARY, "preload-binary": _PRELOADS_BINARY},
    path_option="path",
    directory_options=frozenset({"wd", "wdir"}),
    looks_in_directory=True,
)

_hydra_common = _table(
    none="""
        debug disable-auto-cleanup disable-hostname-propagation disable-x enable-auto-cleanup
        enable-hostname-propagation enable-x envall envnone genvall genvnone h help info l pmi-port
        prepend-rank print-all-exitcodes profile skip-launch-node v verbose version""",
    one="""
        bind-to binding bootstrap bootstrap-exec configfile demux envlist errfile errfile-pattern f
        genvlist gpu-subdevs-per-proc gpus-per-proc host hostfile hostlist hosts iface launcher
        launcher-exec localhost machine machinefile machinelist machines map-by membind memory-alloc-kinds
        n nameserver np order-nodes outfile outfile-pattern output-from ppn prepend-pattern rankmap rmk
        topolib usize wdir""",
    pair="env genv",
    four="pmi_args",
)

MPICH = Flavour(
    name="mpich",
    title="MPICH",
    arities={**_hydra_common, **_table(none="dac hybrid-hosts", one="g")},
    section_files=frozenset({"configfile"}),
    directory_options=frozenset({"wdir"}),
)

INTEL = Flavour(
    name="intel",
    title="Intel MPI",
    arities={
        **_hydra_common,
        **_table(
            none="""
                V aps check dac gdb ilp64 mps nolocal print-rank-map prepend-timestamp prot rr
                silent-abort trace-imbalance trace_imbalance""",
            one="""
                branch-count cpu-bind envexcl envuser gdb-args genvexcl gpath grr gtool gtoolfile gumask
                gwdir hostos hosts-group path pmi-connect s tmpdir umask perhost""",
            maybe="t trace check-mpi check_mpi tune",
        ),
    },
    section_files=frozenset({"configfile"}),
    path_option="path",
    directory_options=frozenset({"gwdir", "wdir"}),
)

SRUN = Flavour(
    name="srun",
    title="Slurm",
    is_getopt=True,
    arities=_table(
        # Options with an optional value take it with "=" (or glued to the letter) only.
        none="""
            async bcast compress contiguous disable-status exact exclusive external help hold immediate
            kill-on-bad-exit label multi-prog nice no-allocate no-kill overcommit overlap oversubscribe
            preserve-env propagate pty quiet quit-on-interrupt reboot resv-ports send-libs spread-job
            stepmgr test-only unbuffered usage use-min-nodes verbose version wait-for-children x11 I K k H
            X Z O s E Q u v V l h""",
        one="""
            accel-bind account acctg-freq bb bbf bcast-exclude begin chdir cluster-constraint clusters
            comment consolidate-segments constraint container container-id core-spec cores-per-socket
            cpu-bind cpu-freq cpus-per-gpu cpus-per-task deadline delay-boot dependency distribution
            epilog error exclude export export-file extra extra-node-info gid gpu-bind gpu-freq gpus
            gpus-per-node gpus-per-socket gpus-per-task gres gres-flags het-group hint input job-name
            jobid launch-cmd licenses mail-type mail-user mcs-label mem mem-bind mem-per-cpu mem-per-gpu
            mincpus mpi msg-timeout network nodefile nodelist nodes ntasks ntasks-per-core ntasks-per-gpu
            ntasks-per-node ntasks-per-socket ntasks-per-tres open-mode output pack-group partition power
            prefer priority profile prolog qos relative reservation resources segment signal slurmd-debug
            sockets-per-node switches task-epilog task-prolog tasks-per-node thread-spec threads
            threads-per-core time time-min tmp treewidth tres-bind tres-per-job tres-per-node
            tres-per-socket tres-per-task uid wait wckey A b B c C D d e F G i J L m M n N o p q r S t T w
            W x""",
    ),
    refused={
        "multi-prog": (
            "the programs stand in its file, not on the command line; separate them by ':' instead "
            "(srun -n 1 ./first : -n 3 ./second)"
        ),
        "bcast": _PRELOADS_BINARY.replace("copy the program beforehand", "copy the program with sbcast"),
    },
    directory_options=frozenset({"chdir", "D"}),
    looks_in_directory=True,
)


def _agreed(*flavours: Flavour) -> dict[str, int]:
    """The options that mean the same in all flavours that have them."""
    merged: dict[str, int] = {}
    clashes: set[str] = set()
    for flavour in flavours:
        for name, arity in flavour.arities.items():
            if merged.setdefault(name, arity) != arity:
                clashes.add(name)
    return {name: arity for name, arity in merged.items() if name not in clashes}


# A launcher by its name, of an MPI that is not known: what the known ones agree on.
UNKNOWN = Flavour(
    name="unknown",
    title="an unknown MPI",
    arities=_agreed(OPENMPI4, OPENMPI5, MPICH, INTEL),
)

FLAVOURS = {flavour.name: flavour for flavour in (OPENMPI4, OPENMPI5, MPICH, INTEL, SRUN, UNKNOWN)}
