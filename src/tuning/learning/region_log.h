// SPDX-License-Identifier: BSD-3-Clause
// In which region of the program the calls of a communicator are (S5). A rank knows its own region only, and
// ranks may differ; what decides must be equal on all. So each rank keeps a log of what it was in, a digest
// of which rides in the agreements that there are anyway. Where all digests are equal, so are the logs. Then
// each rank tells from its own in which regions the calls to come will be. A program goes through its
// regions again and again: the log's period is what is expected to go on. Where it does not, times go to
// another region's account until the next agreement, and nothing else happens.
#pragma once

#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

namespace unisono::tuning {

class RegionLog {
 public:
  // Regions are told by number; 0: none.
  using Region = std::uint64_t;

  // From the communicator's call `call` on this rank is in `region`.
  void enter(std::uint64_t call, Region region);
  // What this rank is in.
  Region own() const { return entered_.empty() ? 0 : entered_.back().second; }
  // Of what the last calls before `call` were in, and what this one is; less than 2^61.
  std::uint64_t digest(std::uint64_t call) const;
  // Before `call` all ranks have compared their digests.
  void agree(bool is_equal, std::uint64_t call);
  // What a call is in as far as all ranks know. The same on all ranks.
  Region agreed(std::uint64_t call) const {
    return pattern_.empty() ? 0 : pattern_[(call - agreed_at_) % pattern_.size()];
  }
  // Do all ranks go through the same regions?
  bool is_in_use() const { return !pattern_.empty(); }
  // Is that the same for all calls until the next agreement?
  bool is_constant() const { return pattern_.size() < 2; }

 private:
  std::vector<Region> last_calls(std::uint64_t call) const;
  static constexpr std::uint64_t window = 256;  // calls that are looked back on

  std::deque<std::pair<std::uint64_t, Region>> entered_;
  std::vector<Region> pattern_;  // from agreed_at_ on, again and again
  std::uint64_t agreed_at_ = 0;
};

}  // namespace unisono::tuning
