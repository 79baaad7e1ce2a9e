#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Fetches the C sources of Berkeley SoftFloat into a folder, out of the pinned source archive of the package registry.
#   tools/fetch_softfloat.sh PYTHON FOLDER
# pip's settings hold. Nothing is installed, and nothing of the archive but the sources of SoftFloat is kept.
set -euo pipefail
requirements=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)/requirements/softfloat.txt
python=$1 folder=$2
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
"$python" -m pip download --quiet --disable-pip-version-check --no-input --no-deps --no-binary softfloatpy --require-hashes \
  --dest "$scratch" -r "$requirements"
tar -xzf "$scratch"/softfloatpy-*.tar.gz -C "$scratch"
rm -rf "$folder"
mkdir -p "$folder"
mv "$scratch"/softfloatpy-*/extern/berkeley-softfloat-3/source "$folder/source"
mv "$scratch"/softfloatpy-*/c/berkeley-softfloat-3/build/General/platform.h "$folder/source/platform.h"
