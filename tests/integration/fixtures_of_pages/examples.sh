# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# The project's example programs, as a reader who has the source tree finds them: examples/.
cp -r "$SOURCE_TREE/examples" examples
