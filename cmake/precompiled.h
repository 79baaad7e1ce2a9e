// SPDX-License-Identifier: BSD-3-Clause
// What most files include, compiled once for each target (CMake: UNISONO_PRECOMPILED_HEADERS). Files include
// what they need all the same: some builds have no such headers.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <filesystem>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>
