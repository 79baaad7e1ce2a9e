// SPDX-License-Identifier: BSD-3-Clause
// M4, chapter 5, figure 5.2: entries of collectives in lists of their operation, others in those of partners
// (COL+PNP) or in one list (COL+LL).
#include <cmath>

#include "matching/collective_lists.h"
#include "matching/dynamic_partners.h"
#include "matching/list_choice.h"

namespace unisono::matching {
namespace {

// Point-to-point: one list.
class OneList {
 public:
  struct Settings {};
  OneList(Settings, ListNumbers* numbers) : list_(numbers->more(1)) {}

  template <class Visit>
  void route(const Envelope&, Visit visit) const {
    visit(list_);
  }
  template <class Visit>
  void every(const Envelope&, Visit visit) const {
    visit(list_);
  }
  std::uint32_t target(const Envelope&) const { return list_; }
  template <class List>
  void appended(std::uint32_t, const List&, ListNumbers*) {}
  std::size_t bytes() const { return 0; }

 private:
  std::uint32_t list_;
};

template <class Others>
class ByKind {
 public:
  ByKind(std::uint32_t most_lists, typename Others::Settings settings)
      : collectives_(most_lists, &numbers_), others_(settings, &numbers_) {}

  template <class Visit>
  void route(const Envelope& envelope, Visit visit) const {
    envelope.kind.is_collective() ? collectives_.route(envelope, visit) : others_.route(envelope, visit);
  }
  template <class Visit>
  void every(const Envelope& envelope, Visit visit) const {
    envelope.kind.is_collective() ? collectives_.every(envelope, visit) : others_.every(envelope, visit);
  }
  std::uint32_t target(const Envelope& envelope) const {
    return envelope.kind.is_collective() ? collectives_.target(envelope) : others_.target(envelope);
  }
  std::uint32_t any(const Envelope&) const { return 0; }
  void searched(const Envelope& envelope, std::uint64_t looked_at) {
    if (envelope.kind.is_collective()) collectives_.searched(envelope, looked_at, &numbers_);
  }
  template <class List>
  void appended(std::uint32_t number, const List& list) {
    others_.appended(number, list, &numbers_);
  }
  std::uint32_t lists() const { return numbers_.count(); }
  std::uint32_t any_lists() const { return 1; }
  std::size_t bytes() const { return collectives_.bytes() + others_.bytes(); }

 private:
  ListNumbers numbers_;
  CollectiveLists collectives_;
  Others others_;
};

std::uint32_t most_lists(const Setup& setup) {
  return static_cast<std::uint32_t>(static_cast<double>(setup.value("k")) *
                                    std::sqrt(static_cast<double>(setup.ranks)));
}

constexpr Parameter k = {"k", 0, 1 << 10, 8,
                         "at most k times the root of the ranks are lists of collectives"};

const Registration with_partners([] {
  return Descriptor{
      .name = "collectives_partners",
      .source = "M4, algorithms 5.1 and 5.2, COL+PNP",
      .sentence =
          "Collectives have lists of their own, and so have partners that are found as the program runs.",
      .parameters = with_list_parameters(with_edge_parameters(
          {k,
           {"t", 1, 1 << 20, 100, "the longest list of non-partners"},
           {"c", 0, 1 << 20, 8, "at most c times the root of the ranks are partners; 0: any number"}})),
      .make =
          [](const Setup& setup) {
            const ByKind<DynamicPartners> router(most_lists(setup),
                                                 {.ranks = setup.ranks,
                                                  .longest_list = static_cast<std::size_t>(setup.value("t")),
                                                  .places = static_cast<int>(setup.value("c")),
                                                  .rule = edge_rule(setup)});
            return routed_queues(setup, router, router);
          },
  };
});

const Registration with_one_list([] {
  return Descriptor{
      .name = "collectives_list",
      .source = "M4, algorithms 5.1 and 5.2, COL+LL",
      .sentence = "Collectives have lists of their own; all else shares one.",
      .parameters = with_list_parameters({k}),
      .make =
          [](const Setup& setup) {
            const ByKind<OneList> router(most_lists(setup), {});
            return routed_queues(setup, router, router);
          },
  };
});

}  // namespace
}  // namespace unisono::matching
