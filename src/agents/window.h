// SPDX-License-Identifier: BSD-3-Clause
#pragma once

namespace unisono::agents {

inline constexpr int window = 4;  // operations of a channel that are under way at a time

}  // namespace unisono::agents
