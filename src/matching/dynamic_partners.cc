// SPDX-License-Identifier: BSD-3-Clause
#include "matching/dynamic_partners.h"

namespace unisono::matching {

// Algorithm 4.1 on the elements of one list.
void DynamicPartners::add_level(const std::map<std::uint32_t, std::vector<double>>& elements,
                                ListNumbers* numbers) {
  std::vector<double> all;
  for (const auto& [context, of_context] : elements)
    all.insert(all.end(), of_context.begin(), of_context.end());
  const double edge = settings_.rule.of(all);
  const std::size_t before = partners_;
  for (const auto& [context, of_context] : elements) {
    const std::uint32_t number = contexts_.of(context);
    for (std::uint64_t source = 0; source < of_context.size(); ++source) {
      const std::uint64_t wanted = key(number, source);
      std::vector<Partner>& entry = entries_[wanted % entries_.size()];
      if (of_context[source] <= edge || is_full()) continue;
      if (settings_.places != 0 && entry.size() >= static_cast<std::size_t>(settings_.places)) continue;
      entry.push_back({wanted, numbers->more(1), levels()});
      ++partners_;
    }
  }
  if (partners_ != before) {
    others_.push_back(numbers->more(1));
    longest_now_ = settings_.longest_list;
  } else {
    // Nobody became a partner: the same elements need not be counted again at the next one.
    longest_now_ *= 2;
  }
}

std::size_t DynamicPartners::bytes() const {
  std::size_t bytes =
      contexts_.bytes() + others_.capacity() * sizeof(others_[0]) + entries_.capacity() * sizeof(entries_[0]);
  for (const auto& entry : entries_) bytes += entry.capacity() * sizeof(Partner);
  return bytes;
}

}  // namespace unisono::matching
