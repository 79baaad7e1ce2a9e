// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/world/notices.h"

#include <algorithm>
#include <utility>

#include "base/log.h"

namespace unisono::runtime {

void Notices::note(std::string text) {
  const LockGuard lock(mutex_);
  texts_.push_back(std::move(text));
}

void Notices::note_once(std::string text) {
  const LockGuard lock(mutex_);
  if (std::ranges::find(texts_, text) == texts_.end()) texts_.push_back(std::move(text));
}

void Notices::warn(std::string text) {
  if (is_speaker_) log::warning(text);
  note(std::move(text));
}

void Notices::warn_once(std::string text) {
  if (is_speaker_) log::warning_once(text);
  note(std::move(text));
}

void Notices::warn_of(const std::vector<std::string>& texts) {
  for (const std::string& text : texts) warn(text);
}

std::vector<std::string> Notices::all() const {
  const LockGuard lock(mutex_);
  return texts_;
}

}  // namespace unisono::runtime
