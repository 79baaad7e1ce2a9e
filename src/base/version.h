// SPDX-License-Identifier: BSD-3-Clause
// The version of this code, as python/unisono/__init__.py has it.
#pragma once

namespace unisono {

const char* own_version();

}  // namespace unisono
