// SPDX-License-Identifier: BSD-3-Clause
// M3, section 4.2.3, figure 4.3, algorithm 4.3: partners that are found while the program runs.
//
// There is an initial list of non-partners. When it becomes too long, who has put many of its elements there
// gets a list of its own. The others get a new list: a new level. Elements stay where they are. A source's
// elements are therefore searched for level by level.
//
// What the source leaves open, or says twice:
// - A list 'reaches t', or its length is 'greater than T': here it is greater.
// - Algorithm 4.3 searches the lists of non-partners up to the level at which a peer became a partner. The
//   text stops one before, and is right: a new partner of level 0 has nothing in that level's other list.
// - What is counted: the elements that are in the list when it becomes too long. Peers without any count as
// 0.
// - Receives and messages have partners of their own. Line 37 names the queue of receives; each search that
//   finds nothing adds to its own counterpart.
#pragma once

#include <cmath>
#include <map>
#include <unordered_map>
#include <vector>

#include "matching/context_numbers.h"
#include "matching/edge_point.h"
#include "matching/element.h"

namespace unisono::matching {

// Numbers for lists that several routers make.
class ListNumbers {
 public:
  std::uint32_t more(std::uint32_t count) {
    count_ += count;
    return count_ - count;
  }
  std::uint32_t count() const { return count_; }

 private:
  std::uint32_t count_ = 0;
};

class DynamicPartners {
 public:
  struct Settings {
    int ranks = 1;                   // N
    std::size_t longest_list = 100;  // t
    int places = 8;                  // c: at most c sqrt(N) partners; 0: as many as there are
    EdgeRule rule;
  };

  DynamicPartners(const Settings& settings, ListNumbers* numbers)
      : settings_(settings),
        entries_(static_cast<std::size_t>(std::sqrt(static_cast<double>(settings.ranks)))),
        longest_now_(settings.longest_list) {
    others_.push_back(numbers->more(1));
  }

  template <class Visit>
  void route(const Envelope& envelope, Visit visit) const {
    const Partner* partner = partner_of(envelope);
    const std::size_t levels = partner != nullptr ? partner->level + 1 : others_.size();
    for (std::size_t i = 0; i < levels; ++i)
      if (visit(others_[i])) return;
    if (partner != nullptr) visit(partner->list);
  }
  template <class Visit>
  void every(const Envelope&, Visit visit) const {
    for (const std::uint32_t list : others_) visit(list);
    for (const auto& entry : entries_)
      for (const Partner& partner : entry) visit(partner.list);
  }
  std::uint32_t target(const Envelope& envelope) const {
    const Partner* partner = partner_of(envelope);
    return partner != nullptr ? partner->list : others_.back();
  }
  template <class List>
  void appended(std::uint32_t number, const List& list, ListNumbers* numbers) {
    if (number != others_.back() || list.length() <= longest_now_ || is_full()) return;
    std::map<std::uint32_t, std::vector<double>> elements;  // by context, then by source
    list.for_each([&](const Element& element) {
      std::vector<double>& of_context = elements[element.context];
      of_context.resize(static_cast<std::size_t>(settings_.ranks));
      of_context[element.key >> 32] += 1;
    });
    add_level(elements, numbers);
  }

  std::uint32_t levels() const { return static_cast<std::uint32_t>(others_.size() - 1); }
  std::size_t partners() const { return partners_; }
  std::size_t bytes() const;

 private:
  struct Partner {
    std::uint64_t key;
    std::uint32_t list;
    std::uint32_t level;
  };

  bool is_full() const {
    return settings_.places != 0 && partners_ >= entries_.size() * static_cast<std::size_t>(settings_.places);
  }
  // Equation 4.1.
  std::uint64_t key(std::uint32_t context_number, std::uint64_t source) const {
    return source + static_cast<std::uint64_t>(settings_.ranks) * context_number;
  }
  const Partner* partner_of(const Envelope& envelope) const {
    if (partners_ == 0) return nullptr;
    const auto context = contexts_.find(envelope.context);
    if (!context) return nullptr;
    const std::uint64_t wanted = key(*context, static_cast<std::uint64_t>(envelope.source));
    for (const Partner& partner : entries_[wanted % entries_.size()])
      if (partner.key == wanted) return &partner;
    return nullptr;
  }
  void add_level(const std::map<std::uint32_t, std::vector<double>>& elements, ListNumbers* numbers);

  Settings settings_;
  ContextNumbers contexts_;                    // of partners
  std::vector<std::uint32_t> others_;          // lists of non-partners: the initial one, then one a level
  std::vector<std::vector<Partner>> entries_;  // the hash table, by key mod sqrt(N)
  std::size_t partners_ = 0;
  std::size_t longest_now_;
};

}  // namespace unisono::matching
