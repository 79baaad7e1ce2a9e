# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# Makes $READER: a reader's folder, work/, with programs and files that pages name, and stand-ins in bin/ for what a test has not:
#   mpirun, mpiexec   start 2 ranks at most (READER_RANKS), where commands measure machines on 3 emulated nodes
#   srun              tests/integration/srun.sh on MPICH
#   module            a function that reads module files of Tcl; openmpi and intel-mpi are two of the MPIs under test
#   pip, python3 -m pip    install into an environment of the home, from a wheel of this build alone
#   gdb               runs the program
# settings.sh is for the shell that runs commands in a copy of work/.
set -e
mkdir -p "$READER"/{work,bin,opt} && cd "$READER/work"
# shellcheck source=/dev/null
. "$SOURCE_TREE/tests/integration/fixtures_of_pages/program.sh"
cat > solver.c <<'END'
#include <mpi.h>
#include <unisono/unisono.h>

int main(int count, char** words) {
  MPI_Init(&count, &words);
  int ranks, periodic = 1;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Comm ring;
  MPI_Cart_create(MPI_COMM_WORLD, 1, &ranks, &periodic, 0, &ring);
  static double values[8192] = {1}, sums[8192];
  if (unisono_region_begin) unisono_region_begin("solve");
  for (int i = 0; i < 400; ++i) {
    MPI_Allreduce(values, sums, 8192, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    MPI_Neighbor_allgather(values, 8, MPI_DOUBLE, sums, 8, MPI_DOUBLE, ring);
  }
  if (unisono_region_end) unisono_region_end();
  MPI_Finalize();
  return 0;
}
END
mpicc -O1 -I "$SOURCE_TREE/include" -o solver solver.c
mpicc -O1 -o profile_cost "$SOURCE_TREE/benchmarks/profile_cost.c"
mpicc -O1 -o recording_cost "$SOURCE_TREE/benchmarks/recording_cost.c"
cp "$SOURCE_TREE/tests/cli/fixtures/two_sockets.xml" machine.xml
mkdir .mpich .intel build
"$SOURCE_TREE/.mpi/mpich/bin/mpicc" -Wl,-rpath,"$SOURCE_TREE/.mpi/mpich/lib" -o .mpich/program program.c
I_MPI_ROOT=$SOURCE_TREE/.mpi/impi "$SOURCE_TREE/.mpi/impi/bin/mpicc" -o second program.c
for name in first a b {,.mpich/}ocean {,.mpich/}atmosphere; do ln -s program "$name"; done
ln -s "$UNISONO_HOME" build/release
for name in .mpi .venv benchmarks examples include packaging requirements tools; do ln -s "$SOURCE_TREE/$name" "$name"; done
echo 'from mpi4py import MPI; MPI.COMM_WORLD.allreduce(1)' > train.py
cp train.py script.py && cp train.py input.txt script.py .mpich
printf '%%%%MatrixMarket matrix coordinate real general\n128 128 256\n' > matrix.mtx
for row in {1..128}; do printf '%d %d 1\n%d %d 2\n' "$row" "$row" "$row" $((129 - row)); done >> matrix.mtx
cp matrix.mtx airfoil.mtx
printf 'SwitchName=top Switches=rack[0-1]\nSwitchName=rack0 Nodes=%s\nSwitchName=rack1 Nodes=other\n' "$(hostname)" > switches.conf
for name in unisono-table one two site; do cp app.json "$name.json"; done
unisono machine show typical --json > mine.json
cat > cells.json <<'END'
[{"operation": "bcast", "bytes": 8, "ranks": 16, "batch": 10, "samples": 5, "native_s": 2e-6, "unisono_s": 1e-6, "speedup": 2,
  "speedup_low": 1.9, "speedup_high": 2.1, "is_same": true, "algorithm": "binomial",
  "candidates": [{"name": "binomial", "tried_s": 3e-6, "seconds": null}]}]
END
UNISONO_SET_UP_AFTER=0 unisono run --learn star --report report.json mpirun -n 2 ./solver
unisono profile --report profile.json -- mpirun -n 2 ./program
cp report.json run.json
cmake --install "$UNISONO_HOME" --prefix "$READER/opt/unisono" --component runtime > /dev/null

cd "$READER/bin"
cat > launcher <<'END'
#!/usr/bin/env bash
words=()
while [ $# -gt 0 ]; do
  case $1 in
    -n | -np) words+=("$1" "$(($2 < ${READER_RANKS:-2} ? $2 : ${READER_RANKS:-2}))"); shift 2 ;;
    *) words+=("$1"); shift ;;
  esac
done
real=("$READER_MPI/${0##*/}$READER_SUFFIX")
if [ -n "$READER_CLUSTER" ]; then
  real=("$SOURCE_TREE/tools/cluster/cluster.sh" head "$READER_CLUSTER" "${real[@]}" -H node0:1,node1:1,node2:1)
  real+=(--prtemca plm_ssh_agent "$SOURCE_TREE/tools/cluster/agent.sh" -x PATH -x LD_LIBRARY_PATH)
fi
exec "${real[@]}" "${words[@]}"
END
cat > compiler <<'END'
#!/usr/bin/env bash
exec "$READER_MPI/${0##*/}$READER_SUFFIX" "$@"
END
cat > srun <<'END'
#!/usr/bin/env bash
SRUN_LAUNCHER=$READER/bin/mpiexec exec "$SOURCE_TREE/tests/integration/srun.sh" "$@"
END
cat > pip <<'END'
#!/usr/bin/env bash
[ -d ~/environment ] || /usr/bin/python3 -m venv --system-site-packages --without-pip ~/environment
exec "$SOURCE_TREE/.venv/bin/pip" --python ~/environment/bin/python "$@"
END
cat > python3 <<'END'
#!/usr/bin/env bash
case "$1 $2" in
  "-m venv") exec /usr/bin/python3 "$@" ;;
  "-m pip") shift 2; exec "$READER/bin/pip" "$@" ;;
  *) exec "$SOURCE_TREE/.venv/bin/python" "$@" ;;
esac
END
printf '#!/bin/sh\nexec "$@"\n' > gdb
chmod +x ./*
ln -s launcher mpirun && ln -s launcher mpiexec
for name in mpicc mpicxx mpif90; do ln -s compiler "$name"; done

cat > "$READER/settings.sh" <<'END'
export PATH=$READER/bin:$PATH:$READER/opt/unisono/bin
mkdir -p ~/.zsh ~/.cache/unisono/machines ~/.config/fish/completions ~/.local/share/bash-completion/completions
cp mine.json ~/.cache/unisono/machines/"$(hostname -s)".json

use_cluster() {
  export READER_CLUSTER=$PWD/cluster
  "$SOURCE_TREE/tools/cluster/cluster.sh" up "$READER_CLUSTER" --nodes 3
  trap '"$SOURCE_TREE/tools/cluster/cluster.sh" down "$READER_CLUSTER"' EXIT
}

use_mpi() { # use_mpi openmpi|openmpi4|mpich|impi: whose mpirun, mpicc and libraries there are
  export READER_MPI=$SOURCE_TREE/.mpi/$1/bin READER_SUFFIX= LD_LIBRARY_PATH=$SOURCE_TREE/.mpi/$1/lib MPI4PY_MPIABI=mpich
  case $1 in
    openmpi) MPI4PY_MPIABI=openmpi ;;
    openmpi4)
      export READER_MPI=/usr/bin READER_SUFFIX=.openmpi MPI4PY_MPIABI=openmpi OMPI_MCA_btl=^openib,ofi
      export OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_hwloc_base_binding_policy=none
      LD_LIBRARY_PATH=/usr/lib/$(uname -m)-linux-gnu ;;
    mpich) cd .mpich ;;
    impi) export I_MPI_ROOT=$SOURCE_TREE/.mpi/impi I_MPI_PIN=0 I_MPI_THREAD_YIELD=2 ;;
  esac
}

use_wheels() { # pip finds a wheel of this build, and what that depends on where the tests' own Python has it
  [ -d ~/wheels ] || "$SOURCE_TREE/.venv/bin/python" "$SOURCE_TREE/tools/make_wheel.py" "$UNISONO_HOME" ~/wheels
  export PIP_NO_INDEX=1 PIP_FIND_LINKS=$HOME/wheels PIP_NO_DEPS=1 PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_YES=1
  mkdir -p ~/libraries
  for name in click rich pygments markdown_it mdurl; do ln -sfn "$SOURCE_TREE"/.venv/lib/python3*/site-packages/$name ~/libraries/; done
  export PYTHONPATH=$HOME/libraries
  unset UNISONO_HOME
}

module() { # module use FOLDER; module load|swap NAME...: the last name counts
  local action=$1 verb name value folder prefix
  for name in "$@"; do :; done
  case "$action $name" in
    "use "*) module_folder=${name/%lua/tcl} ;;
    *openmpi) use_mpi openmpi ;;
    *intel-mpi) use_mpi impi ;;
    *)
      folder=${module_folder:-$READER/opt/unisono/share/unisono/modules/tcl}
      [ -d "$folder/$name" ] && name=$name/$(cd "$folder/$name" && printf '%s\n' * | head -n 1)
      [ -f "$folder/$name" ] || { echo "module: $name is not in $folder" >&2; return 1; }
      prefix=${folder%/share/*}
      while read -r verb name value; do
        value=${value//\$prefix/$prefix}
        case $verb in
          prepend-path) export "$name=$value:${!name}" ;;
          append-path) export "$name=${!name:+${!name}:}$value" ;;
          setenv) export "$name=$value" ;;
        esac
      done < "$folder/$name" ;;
  esac
}

use_mpi openmpi
END
