// SPDX-License-Identifier: BSD-3-Clause
// The computation: a cell becomes the mean of the cells that it sees, itself among them.
#pragma once

#include <vector>

#include "box.h"
#include "options.h"

namespace stencil {

// What a cell sees, as steps from it. The order is the order of additions.
std::vector<Vector> seen(const Options& options, Topology topology);

// Computes the cells of `box` of the field `to` from those that they see in `from`.
void smooth(Field& from, Field& to, const Box& box, const std::vector<Vector>& steps, int dimensions);

// What a cell of the whole grid begins with.
double first_value(const Vector& place);

// The whole grid after all steps, by this process alone.
Field smoothed_alone(const Options& options, const Vector& grid, Topology topology);

}  // namespace stencil
