// SPDX-License-Identifier: BSD-3-Clause
// What most files include, compiled once for each target (CMake: UNISONO_PRECOMPILED_HEADERS). Files include
// what they need all the same: some builds have no such headers. What few files need is not here. Each file
// of the target instantiates anew what such a header uses of templates: that of nlohmann/json.hpp takes half
// a second.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <charconv>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <limits>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <optional>
#include <set>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>
