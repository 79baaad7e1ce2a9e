#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Sets up what the project needs: packages of the machine, the Python environment (.venv) and the MPIs of the
# package registry (.mpi/*). Quick when nothing changed: each environment is stamped with a hash of its requirements.
#   tools/setup.sh demo    what `make demo` needs
#   tools/setup.sh test    everything that `make test` and `make lint` need (default)
#   tools/setup.sh aarch64 the same and what `make aarch64` needs
#   tools/setup.sh conformance  the same and what `make conformance` needs
#   tools/setup.sh simulate   the same and what `make simulate` needs
#   tools/setup.sh packaging  the same and what `make check-packages`, `make deb` and `make rpm` need
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
level=${1:-test}
mkdir -p .cache
exec 9>.cache/setup.lock
flock 9
python=${PYTHON:-python3}

say() { echo "setup: $*"; }
die() { echo "setup: $*" >&2; exit 1; }

# The package names in the given files, without comments.
names_in() { sed 's/#.*//' "$@" | tr -s '[:space:]' '\n' | grep . || true; }

missing_packages() {
  local name
  for name in $(names_in "$@"); do
    [ "$(dpkg-query -W -f='${db:Status-Status}' "$name" 2>/dev/null)" = installed ] || echo "$name"
  done
}

apt_get() {
  DEBIAN_FRONTEND=noninteractive apt-get -q -o DPkg::Lock::Timeout=300 -o Dpkg::Use-Pty=0 "$@" \
    </dev/null >>.cache/apt.log 2>&1
}

install_packages() {
  local missing
  if ! command -v dpkg-query >/dev/null; then
    say "no dpkg here; what the machine needs is listed in: $*"
    return
  fi
  missing=$(missing_packages "$@" | tr '\n' ' ')
  [ -n "$missing" ] || return 0
  if [ "$(id -u)" != 0 ]; then
    die "these packages are missing; as root run: apt-get install --no-install-recommends $missing"
  fi
  say "installing packages: $missing"
  : >.cache/apt.log
  # A concurrent `apt-get update` deletes archives under an install's feet, and mirrors hiccup: one retry mends both.
  # shellcheck disable=SC2086  # one word for each package
  { apt_get update && apt_get install -y --no-install-recommends $missing; } ||
    { sleep 5; apt_get update && apt_get install -y --no-install-recommends $missing; } ||
    { tail -n 20 .cache/apt.log >&2; die "apt-get could not install: $missing"; }
}

# What an environment's stamp must say for it to be up to date: its requirements, its Python, its place.
stamp_of() {
  { cat "$@"; "$python" -c 'import sys; print(sys.version, sys.base_prefix)'; pwd; } | sha256sum | cut -d' ' -f1
}

# is_current ENVIRONMENT STAMP
is_current() { [ "$(cat "$1/.stamp" 2>/dev/null)" = "$2" ]; }

pip_install() { # pip_install ENVIRONMENT ARGUMENTS...
  local environment=$1
  shift
  "$pip" -m pip --python "$environment/bin/python" install --quiet --disable-pip-version-check --no-input "$@"
}

# begin_python REQUIREMENTS: .venv with pip, which serves the other environments too; end_python fills it, where it is new.
begin_python() {
  python_requirements=$1
  "$python" -c 'import sys; sys.exit(sys.version_info < (3, 10))' || die "Python 3.10 or later is needed ($python)"
  # The tests' environment contains the demo's: once there, it is kept.
  ! grep -qs requirements/dev.txt .venv/.stamp || python_requirements=requirements/dev.txt
  python_stamp="$python_requirements $(stamp_of requirements/pip.txt requirements/python.txt requirements/docs.txt "$python_requirements" pyproject.toml)"
  ! is_current .venv "$python_stamp" || return 0
  say "Python environment .venv ($python_requirements)"
  "$python" -m venv --clear .venv || die "cannot make a virtual environment with $python (package python3-venv?)"
  .venv/bin/python -m pip install --quiet --disable-pip-version-check --no-input -r requirements/pip.txt
}

end_python() {
  ! is_current .venv "$python_stamp" || return 0
  pip_install .venv -r "$python_requirements"
  pip_install .venv --no-build-isolation --no-deps -C wheel.cmake=false --editable .
  "$pip" -m pip check --disable-pip-version-check >.cache/pip-check.log || { cat .cache/pip-check.log >&2; exit 1; }
  # The command itself is compiled; it finds its part in Python, unisono-cli, beside the name by which it is called.
  ln -sfn ../../build/release/bin/unisono .venv/bin/unisono
  echo "$python_stamp" >.venv/.stamp
}

setup_mpi() { # setup_mpi NAME: the MPI of requirements/mpi-NAME.txt into .mpi/NAME
  local directory=.mpi/$1 requirements=requirements/mpi-$1.txt stamp
  stamp=$(stamp_of "$requirements")
  ! is_current "$directory" "$stamp" || return 0
  say "MPI environment $directory ($(names_in "$requirements" | tr '\n' ' '))"
  mkdir -p .mpi
  "$python" -m venv --clear --without-pip "$directory"
  pip_install "$directory" -r "$requirements"
  echo "$stamp" >"$directory/.stamp"
}

# Of use to agents alone, and for Pythons from 3.11 on: without it they compute by the processor.
setup_softfloat() {
  local stamp
  stamp=$(stamp_of requirements/softfloat.txt tools/fetch_softfloat.sh)
  ! is_current .softfloat "$stamp" || return 0
  say "SoftFloat's sources .softfloat"
  if ! tools/fetch_softfloat.sh .venv/bin/python .softfloat >.cache/softfloat.log 2>&1; then
    say "SoftFloat could not be fetched (.cache/softfloat.log); the build goes without"
    return 0
  fi
  echo "$stamp" >.softfloat/.stamp
}

pip=$PWD/.venv/bin/python
case $level in
  demo)
    install_packages requirements/apt.txt
    begin_python requirements/python.txt
    mpis=(openmpi mpich)
    ;;
  test | aarch64 | conformance | packaging | simulate)
    packages=(requirements/apt.txt requirements/apt-test.txt)
    [ "$level" = test ] || packages+=("requirements/apt-$level.txt")
    # Root has SimGrid as well, for one short test; without it that test is skipped.
    [ "$level" != test ] || [ "$(id -u)" != 0 ] || packages+=(requirements/apt-simulate.txt)
    install_packages "${packages[@]}"
    begin_python requirements/dev.txt
    mpis=(openmpi mpich impi)
    ;;
  *) die "unknown level: $level (demo, test, aarch64, conformance, simulate or packaging)" ;;
esac
# Most of each is waiting for the network and the disk.
others=()
for name in "${mpis[@]}"; do
  setup_mpi "$name" &
  others+=($!)
done
if [ "$level" != demo ]; then
  setup_softfloat &
  others+=($!)
fi
end_python
for other in "${others[@]}"; do wait "$other"; done
