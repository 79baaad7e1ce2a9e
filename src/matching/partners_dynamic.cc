// SPDX-License-Identifier: BSD-3-Clause
// M3, algorithm 4.3 (dynamic_partners.h).
#include "matching/dynamic_partners.h"
#include "matching/list_choice.h"

namespace unisono::matching {
namespace {

class OfDynamicPartners {
 public:
  explicit OfDynamicPartners(const DynamicPartners::Settings& settings) : partners_(settings, &numbers_) {}

  template <class Visit>
  void route(const Envelope& envelope, Visit visit) const {
    partners_.route(envelope, visit);
  }
  template <class Visit>
  void every(const Envelope& envelope, Visit visit) const {
    partners_.every(envelope, visit);
  }
  std::uint32_t target(const Envelope& envelope) const { return partners_.target(envelope); }
  std::uint32_t any(const Envelope&) const { return 0; }
  void searched(const Envelope&, std::uint64_t) {}
  template <class List>
  void appended(std::uint32_t number, const List& list) {
    partners_.appended(number, list, &numbers_);
  }
  std::uint32_t lists() const { return numbers_.count(); }
  std::uint32_t any_lists() const { return 1; }
  std::size_t bytes() const { return partners_.bytes(); }

 private:
  ListNumbers numbers_;
  DynamicPartners partners_;
};

const Registration registration([] {
  return Descriptor{
      .name = "partners_dynamic",
      .source = "M3, algorithm 4.3",
      .sentence = "When a list becomes too long, who has put most into it gets a list of its own.",
      .parameters = with_list_parameters(with_edge_parameters(
          {{"t", 1, 1 << 20, 100, "the longest list of non-partners"},
           {"c", 0, 1 << 20, 8, "at most c times the root of the ranks are partners; 0: any number"}})),
      .make =
          [](const Setup& setup) {
            const OfDynamicPartners router({.ranks = setup.ranks,
                                            .longest_list = static_cast<std::size_t>(setup.value("t")),
                                            .places = static_cast<int>(setup.value("c")),
                                            .rule = edge_rule(setup)});
            return routed_queues(setup, router, router);
          },
  };
});

}  // namespace
}  // namespace unisono::matching
