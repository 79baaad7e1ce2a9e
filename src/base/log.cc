// SPDX-License-Identifier: BSD-3-Clause
#include "base/log.h"

#include <unistd.h>

#include <atomic>
#include <set>

#include "base/mutex.h"
#include "base/shown.h"
#include "base/write_signals.h"

namespace unisono::log {
namespace {

std::atomic<Level> current_level{Level::warning};

void say(std::string_view message) {
  std::string line = "unisono: ";
  // What goes on in another line begins with blanks: no name can pretend to be a message.
  for (const char c : shown(message)) {
    if (line.back() == '\n' && c != ' ') line += "  ";
    line += c;
  }
  line += '\n';
  const WithoutWriteSignals without_signals;
  // One write, so that lines of several ranks do not mix. Nothing sensible is left to do where it fails.
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, line.data(), line.size());
}

}  // namespace

void set_level(Level level) {
  current_level = level;
}

Level level_from_name(std::string_view name) {
  if (name == "quiet") return Level::quiet;
  return name == "info" ? Level::info : Level::warning;
}

void info(std::string_view message) {
  if (current_level >= Level::info) say(message);
}

void error(std::string_view message) {
  say(message);
}

void warning(std::string_view message) {
  if (current_level >= Level::warning) say(message);
}

void warning_once(const std::string& message) {
  static Mutex mutex;
  static std::set<std::string> said UNISONO_GUARDED_BY(mutex);
  const LockGuard lock(mutex);
  if (said.insert(message).second) warning(message);
}

}  // namespace unisono::log
