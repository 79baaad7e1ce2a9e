// SPDX-License-Identifier: BSD-3-Clause
#include "patterns/domain_shares.h"

#include <algorithm>
#include <map>

namespace unisono::patterns {

bool SharingGroup::has(int local_rank) const {
  return std::ranges::binary_search(members, local_rank);
}

int SharingGroup::worker_of(int part, int parts) const {
  return workers[static_cast<std::size_t>(((part + 1) * static_cast<int>(workers.size()) - 1) / parts)];
}

int SharingGroup::first_of(int index, int parts) const {
  return index * parts / static_cast<int>(workers.size());
}

namespace {

class Sharing {
 public:
  Sharing(const Layout& layout, int node, int root)
      : layout_(layout), ranks_(layout.ranks_of[static_cast<std::size_t>(node)]), root_(root) {
    if (root >= 0) roots_workers_ = members_of(depth() - 1, root);
  }

  std::vector<SharingLevel> levels(int local_rank) const {
    std::vector<SharingLevel> all;
    for (int level = depth() - 1; level >= -1; --level) {
      SharingLevel& next = all.emplace_back();
      next.whole = group(members_of(level, local_rank));
      std::map<int, std::vector<int>> inside;
      for (const int member : next.whole.members) inside[domain_of(level + 1, member)].push_back(member);
      for (auto& [domain, members] : inside) next.inside.push_back(group(std::move(members)));
      std::ranges::sort(next.inside, {}, [](const SharingGroup& of) { return of.members.front(); });
    }
    return all;
  }

 private:
  int depth() const { return layout_.domains == nullptr ? 0 : layout_.domains->depth(); }
  // Level -1 is the node; behind the innermost one each rank is by itself.
  int domain_of(int level, int local_rank) const {
    if (level < 0) return 0;
    if (level == depth()) return local_rank;
    const int rank = ranks_[static_cast<std::size_t>(local_rank)];
    return layout_.domains->levels[static_cast<std::size_t>(level)].domain_of[static_cast<std::size_t>(rank)];
  }
  std::vector<int> members_of(int level, int local_rank) const {
    std::vector<int> members;
    for (int other = 0; other < static_cast<int>(ranks_.size()); ++other)
      if (domain_of(level, other) == domain_of(level, local_rank)) members.push_back(other);
    return members;
  }
  SharingGroup group(std::vector<int> members) const {
    SharingGroup made{.members = std::move(members), .workers = {}};
    const bool is_single = made.members.size() == 1;
    made.workers = !is_single && made.has(root_) ? roots_workers_ : made.members;
    return made;
  }

  const Layout& layout_;
  const std::vector<int>& ranks_;
  int root_;
  std::vector<int> roots_workers_;
};

}  // namespace

std::vector<SharingLevel> sharing_levels(const Layout& layout, int node, int local_rank, int root) {
  return Sharing(layout, node, root).levels(local_rank);
}

}  // namespace unisono::patterns
