#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Runs a command as one rank of a job, with all that it prints in a file of its own: rank.sh FILE COMMAND... writes FILE.RANK
set -euo pipefail
file=$1
shift
rank=${OMPI_COMM_WORLD_RANK:-${PMIX_RANK:-${PMI_RANK:-0}}}
exec "$@" >"$file.$rank" 2>&1
