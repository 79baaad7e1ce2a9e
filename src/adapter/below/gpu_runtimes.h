// SPDX-License-Identifier: BSD-3-Clause
// One of each kind, where the process has loaded its library with the functions that are needed: null else.
#pragma once

#include <memory>

#include "adapter/below/gpu.h"

namespace unisono::adapter {

std::unique_ptr<Gpu> find_cuda();
std::unique_ptr<Gpu> find_rocm();
std::unique_ptr<Gpu> find_level_zero();

// A library of this name that the process holds, which it then keeps; null: it holds none.
void* loaded_library(const char* name);

}  // namespace unisono::adapter
