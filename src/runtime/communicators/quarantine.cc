// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/communicators/quarantine.h"

#include <cstdint>
#include <vector>

namespace unisono::runtime {

bool Quarantine::agree(host::Host& host, Communicator& c) const {
  const auto& all = algorithms::registry();
  std::vector<std::uint64_t> words((all.size() + 63) / 64);
  {
    const LockGuard lock(mutex_);
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (found_wrong_.contains(&all[i])) words[i / 64] |= std::uint64_t{1} << (i % 64);
    }
  }
  const auto count = static_cast<int>(words.size());
  if (host.agree(words.data(), count, host::AgreeOp::bor, c.handle) != host::success) return false;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if ((words[i / 64] >> (i % 64) & 1) != 0) c.checking.quarantined.insert(&all[i]);
  }
  return true;
}

}  // namespace unisono::runtime
