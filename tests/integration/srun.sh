#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Stands in for Slurm's srun in tests: reads the options that jobs give to it, and starts the ranks by SRUN_LAUNCHER, an mpiexec
# of MPICH's kind. What a rank is told of its place goes by Slurm's names.
set -euo pipefail
ranks=1
while [ $# -gt 0 ]; do
  case $1 in
    -n | --ntasks) ranks=$2; shift 2 ;;
    -n*) ranks=${1#-n}; shift ;;
    --ntasks=*) ranks=${1#*=}; shift ;;
    -N | --nodes | -c | --cpus-per-task | -p | --partition | -t | --time) shift 2 ;;
    --*=* | -N* | -l | -u | -K | --overlap) shift ;;
    --) shift; break ;;
    -*) echo "srun: this stand-in does not know $1" >&2; exit 2 ;;
    *) break ;;
  esac
done
# shellcheck disable=SC2016  # the rank's shell is to see the variable
exec "$SRUN_LAUNCHER" -n "$ranks" sh -c 'SLURM_PROCID=$PMI_RANK exec "$@"' sh "$@"
