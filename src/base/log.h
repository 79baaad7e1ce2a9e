// SPDX-License-Identifier: BSD-3-Clause
// Messages to the user on standard error, each a whole line that begins with "unisono: ".
#pragma once

#include <string>
#include <string_view>

namespace unisono::log {

enum class Level : unsigned char { quiet, warning, info };

void set_level(Level level);
Level level_from_name(std::string_view name);  // unknown names: warning

void info(std::string_view message);
// Said at every level: the job ends, or stands still.
void error(std::string_view message);
void warning(std::string_view message);
// The same text is said once per process.
void warning_once(const std::string& message);

}  // namespace unisono::log
