// SPDX-License-Identifier: BSD-3-Clause
#include "front/traces.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "base/files.h"
#include "base/shown.h"
#include "front/reports.h"
#include "launch/errors.h"

namespace unisono::front {
namespace {

using launch::UsageError;

// How each begins (docs/reference/trace-format.md).
constexpr std::string_view first_word = "unisono-message-trace";

bool is_there(const std::string& path) {
  struct stat status {};
  return ::lstat(path.c_str(), &status) == 0;
}

// A trace may be large: its beginning tells. So may an empty file be replaced.
bool is_trace_or_empty(const std::string& file) {
  char begin[first_word.size()] = {};
  const int opened = ::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (opened < 0) throw UsageError("cannot read " + file + ": " + ::strerror(errno) + "; name another file.");
  const ssize_t count = ::read(opened, begin, sizeof begin);
  ::close(opened);
  return count == 0 || (count > 0 && std::string_view(begin, static_cast<std::size_t>(count)) == first_word);
}

}  // namespace

Trace::Trace(const std::string& wanted)
    : wanted_(wanted), file_(wanted.empty() ? wanted : launch::absolute(wanted)) {}

void Trace::prepare() const {
  if (!is_wanted()) return;
  std::error_code failed;
  const std::filesystem::path folder = std::filesystem::path(file_).parent_path();
  if (!std::filesystem::is_directory(folder, failed))
    throw UsageError("--record-messages " + wanted_ + ": there is no folder " + folder.string());
  if (!is_there(file_)) return;
  const std::string problem = why_not_replaced(file_);
  if (!problem.empty())
    throw UsageError("--record-messages " + wanted_ + ": it " + problem + "; name another file.");
  // By the null device users say that they want none: it is neither removed nor missed.
  if (!is_null_device(file_) && !is_trace_or_empty(file_)) {
    throw UsageError(
        wanted_ +
        " is there and no trace of messages: it is not overwritten; name another file, or remove it");
  }
}

void Trace::remove_old() const {
  if (!is_wanted() || is_null_device(file_) || !is_there(file_)) return;
  if (::unlink(file_.c_str()) != 0)
    throw launch::Error("cannot replace the old trace " + wanted_ + ": " + ::strerror(errno));
}

void Trace::finish(const Outcome& outcome, const launch::Understood& understood,
                   const std::string& without) const {
  if (!is_wanted() || is_there(file_)) return;
  const std::string why = why_none(outcome, understood, without, "--record-messages");
  const std::string text = "unisono: no trace of messages was written, because " + why + ".";
  std::fprintf(stderr, "%s\n", shown(text).c_str());
}

}  // namespace unisono::front
