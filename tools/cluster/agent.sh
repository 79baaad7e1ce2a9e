#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Launch agent of the emulated cluster; stands in for ssh where an MPI's launcher would call it:
#   Open MPI 4: --mca plm_rsh_agent, Open MPI 5: --prtemca plm_ssh_agent, MPICH and Intel: -launcher ssh -launcher-exec
# Called on the head as: agent.sh [ssh options] nodeI COMMAND... As with ssh, the command is a shell's, and the
# environment of the caller does not come along.
set -euo pipefail
[ -n "${EMULATED_CLUSTER:-}" ] || { echo "agent: not on the head of a cluster (cluster.sh head)" >&2; exit 1; }
while [ $# -gt 0 ]; do
  case $1 in
    -[lpoiFbc]) shift 2 ;;
    -*) shift ;;
    *) break ;;
  esac
done
host=$1
shift
exec "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/cluster.sh" run-on "$EMULATED_CLUSTER" "${host#node}" \
  env -i PATH="$PATH" HOME="$HOME" USER="${USER:-root}" SHELL=/bin/bash TMPDIR=/dev/shm/tmp /bin/bash -c "$*"
