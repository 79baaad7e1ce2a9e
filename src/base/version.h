// SPDX-License-Identifier: BSD-3-Clause
// The version of this code, as python/unisono/__init__.py has it: "0.1.0".
#pragma once

namespace unisono {

const char* own_version();

}  // namespace unisono
