// SPDX-License-Identifier: BSD-3-Clause
// When each piece is under way, if a message of a piece and a copy of it took equally long: what overlaps
// (A6) stands above each other.
#pragma once

#include <string>

#include "pictures/print.h"

namespace unisono::pictures {

// Lines of at most `width` columns. Empty where nothing is cut into pieces, where nodes have no phase of
// their own beside messages, or where the picture has no count.
std::string timeline_of(const Picture& picture, int width);

}  // namespace unisono::pictures
