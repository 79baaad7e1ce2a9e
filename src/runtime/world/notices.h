// SPDX-License-Identifier: BSD-3-Clause
// What the job has to say to its user. The report lists it, and rank 0 prints most of it at once.
#pragma once

#include <string>
#include <vector>

#include "base/mutex.h"

namespace unisono::runtime {

class Notices {
 public:
  // Does this rank speak for all of the job?
  explicit Notices(bool is_speaker) : is_speaker_(is_speaker) {}
  bool is_speaker() const { return is_speaker_; }

  // For the report alone.
  void note(std::string text);
  void note_once(std::string text);  // where it is not there yet
  // Printed as well; `warn_once`: the first time that the text comes.
  void warn(std::string text);
  void warn_once(std::string text);
  void warn_of(const std::vector<std::string>& texts);

  std::vector<std::string> all() const;

 private:
  const bool is_speaker_;
  mutable Mutex mutex_;
  std::vector<std::string> texts_ UNISONO_GUARDED_BY(mutex_);
};

}  // namespace unisono::runtime
