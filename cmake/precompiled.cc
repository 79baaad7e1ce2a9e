// SPDX-License-Identifier: BSD-3-Clause
// The file of targets that have nothing but these headers.
#include "precompiled.h"
