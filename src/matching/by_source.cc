// SPDX-License-Identifier: BSD-3-Clause
// M1, section 2.2.5, figure 2.6: what Open MPI has. Each communicator has an array of lists, one a source,
// and one list of receives from any source.
#include "matching/context_numbers.h"
#include "matching/list_choice.h"

namespace unisono::matching {
namespace {

class BySource {
 public:
  explicit BySource(int ranks) : ranks_(static_cast<std::uint32_t>(ranks)) {}

  template <class Visit>
  void route(const Envelope& envelope, Visit visit) {
    if (const auto number = contexts_.find(envelope.context))
      visit(*number * ranks_ + static_cast<std::uint32_t>(envelope.source));
  }
  template <class Visit>
  void every(const Envelope& envelope, Visit visit) {
    const auto number = contexts_.find(envelope.context);
    if (!number) return;
    for (std::uint32_t source = 0; source < ranks_; ++source) visit(*number * ranks_ + source);
  }
  std::uint32_t target(const Envelope& envelope) {
    return contexts_.of(envelope.context) * ranks_ + static_cast<std::uint32_t>(envelope.source);
  }
  std::uint32_t any(const Envelope& envelope) { return contexts_.of(envelope.context); }
  void searched(const Envelope&, std::uint64_t) {}
  template <class List>
  void appended(std::uint32_t, const List&) {}
  std::uint32_t lists() const { return contexts_.count() * ranks_; }
  std::uint32_t any_lists() const { return contexts_.count(); }
  std::size_t bytes() const { return contexts_.bytes(); }

 private:
  std::uint32_t ranks_;
  ContextNumbers contexts_;
};

const Registration registration([] {
  return Descriptor{
      .name = "by_source",
      .source = "M1, section 2.2.5",
      .sentence = "Each communicator has a list for each source, and one for receives from any source.",
      .parameters = with_list_parameters({}),
      .make =
          [](const Setup& setup) {
            return routed_queues(setup, BySource(setup.ranks), BySource(setup.ranks));
          },
  };
});

}  // namespace
}  // namespace unisono::matching
