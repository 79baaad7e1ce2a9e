// SPDX-License-Identifier: BSD-3-Clause
// How many bytes a call moves, and where its partner is, by its arguments. Collectives: what this rank puts
// in, or, of MPI_Scatter and MPI_Scatterv, what it gets out.
#pragma once

#include "adapter/profile/known.h"
#include "adapter/profile/traits.h"

namespace unisono::adapter::profile {

// Arguments of a call. There are some hundred lists of them, for each of which std::tuple takes long to
// compile.
template <class... All>
struct Pack {};
template <class First, class... Rest>
struct Pack<First, Rest...> {
  First first;
  Pack<Rest...> rest;
};

template <int place, class First, class... Rest>
const auto& element(const Pack<First, Rest...>& pack) {
  if constexpr (place == 0) {
    return pack.first;
  } else {
    return element<place - 1>(pack.rest);
  }
}

// The same, of what is not packed yet.
template <int place, class First, class... Rest>
auto& nth(First& first, Rest&... rest) {
  if constexpr (place == 0) {
    return first;
  } else {
    return nth<place - 1>(rest...);
  }
}

template <Traits traits, class... Arguments>
class Moved {
 public:
  Moved(ThreadTable* table, const Pack<Arguments...>& arguments) : table_(table), arguments_(arguments) {}

  // `status`: what came, of a receive that has one.
  Movement movement(const MPI_Status* status) const {
    if constexpr (traits.shape == Shape::plain) {
      return {};
    } else if constexpr (traits.shape == Shape::start) {
      return moved_at_start(table_, *argument<0>());
    } else if constexpr (traits.shape == Shape::start_all) {
      return all_started();
    } else if constexpr (traits.shape == Shape::file) {
      return {elements<traits.count, traits.type>(), Distance::none};
    } else if constexpr (traits.shape == Shape::message) {
      return {received(status), Distance::unknown};
    } else if constexpr (traits.peer >= 0) {
      return with_partner(status);
    } else {
      const Partners& all = partners(table_, argument<traits.comm>());
      return {collective_bytes(all), all.farthest};
    }
  }

 private:
  template <int place>
  auto argument() const {
    return element<place>(arguments_);
  }
  template <int count, int type>
  std::int64_t elements() const {
    return static_cast<std::int64_t>(argument<count>()) * type_bytes(table_, argument<type>());
  }
  std::int64_t received(const MPI_Status* status) const {
    const std::int64_t came = status == nullptr ? -1 : received_bytes(*status);
    return came < 0 ? elements<traits.count, traits.type>() : came;
  }

  Movement with_partner(const MPI_Status* status) const {
    int peer = argument<traits.peer>();
    if (peer == MPI_PROC_NULL) return {};
    Movement moved{0, Distance::unknown};
    if constexpr (traits.shape == Shape::receive) {
      moved.bytes = received(status);
      if (status != nullptr) peer = status->MPI_SOURCE;
    } else if constexpr (traits.shape == Shape::fetch) {
      moved.bytes = type_bytes(table_, argument<traits.type>());
    } else {
      moved.bytes = elements<traits.count, traits.type>();
      if constexpr (traits.shape == Shape::partitions) moved.bytes *= argument<1>();
    }
    const std::vector<Distance>& distance = all_partners().distance;
    if (peer >= 0 && static_cast<std::size_t>(peer) < distance.size())
      moved.distance = distance[static_cast<std::size_t>(peer)];
    return moved;
  }

  const Partners& all_partners() const {
    if constexpr (traits.is_on_window) {
      return partners_on(table_, argument<traits.comm>());
    } else {
      return partners(table_, argument<traits.comm>());
    }
  }

  // Of many requests: as far as the partner that is farthest away.
  Movement all_started() const {
    Movement sum;
    for (int i = 0; i < argument<0>(); ++i) {
      const Movement one = moved_at_start(table_, argument<1>()[i]);
      sum.bytes += one.bytes;
      sum.distance = std::max(sum.distance, one.distance);
    }
    return sum;
  }

  template <class Counts>
  static std::int64_t sum(const Counts* counts, std::size_t number) {
    std::int64_t sum = 0;
    for (std::size_t i = 0; counts != nullptr && i < number; ++i) sum += static_cast<std::int64_t>(counts[i]);
    return sum;
  }
  template <class Counts>
  std::int64_t sum_of_typed(const Counts* counts, const MPI_Datatype* types, std::size_t number) const {
    std::int64_t bytes = 0;
    for (std::size_t i = 0; counts != nullptr && types != nullptr && i < number; ++i) {
      if (counts[i] != 0) bytes += static_cast<std::int64_t>(counts[i]) * type_bytes(table_, types[i]);
    }
    return bytes;
  }

  // Between two groups the root's arguments, or those of the ranks beside it, may mean nothing.
  bool is_unused_by_root() const {
    constexpr bool is_block = traits.shape == Shape::gather || traits.shape == Shape::scatter ||
                              traits.shape == Shape::gatherv || traits.shape == Shape::scatterv;
    if constexpr (!traits.has_root) {
      return false;
    } else {
      const int root = argument<traits.comm - 1>();
      return root == MPI_PROC_NULL || (is_block && root == MPI_ROOT);
    }
  }

  std::int64_t collective_bytes(const Partners& all) const {
    const std::size_t ranks = all.distance.size();
    const auto own = static_cast<std::size_t>(all.rank);
    const auto degree = static_cast<std::size_t>(all.neighbors);
    constexpr Shape shape = traits.shape;
    if (is_unused_by_root()) return 0;
    if constexpr (shape == Shape::vector) {
      if constexpr (traits.count < 0) {
        return 0;
      } else {
        return elements<traits.count, traits.type>();
      }
    } else if constexpr (shape == Shape::counts) {
      return sum(argument<2>(), ranks) * type_bytes(table_, argument<3>());
    } else if constexpr (shape == Shape::blocks) {
      return elements<2, 3>() * static_cast<std::int64_t>(ranks);
    } else if constexpr (shape == Shape::gather) {
      return argument<0>() == MPI_IN_PLACE ? elements<4, 5>() : elements<1, 2>();
    } else if constexpr (shape == Shape::scatter) {
      return argument<3>() == MPI_IN_PLACE ? elements<1, 2>() : elements<4, 5>();
    } else if constexpr (shape == Shape::gatherv || shape == Shape::allgatherv) {
      if (argument<0>() != MPI_IN_PLACE) return elements<1, 2>();
      return static_cast<std::int64_t>(argument<4>()[own]) * type_bytes(table_, argument<6>());
    } else if constexpr (shape == Shape::scatterv) {
      if (argument<4>() != MPI_IN_PLACE) return elements<5, 6>();
      return static_cast<std::int64_t>(argument<1>()[own]) * type_bytes(table_, argument<3>());
    } else if constexpr (shape == Shape::alltoall) {
      const bool is_in_place = argument<0>() == MPI_IN_PLACE;
      return (is_in_place ? elements<4, 5>() : elements<1, 2>()) * static_cast<std::int64_t>(ranks);
    } else if constexpr (shape == Shape::alltoallv) {
      if (argument<0>() == MPI_IN_PLACE) return sum(argument<5>(), ranks) * type_bytes(table_, argument<7>());
      return sum(argument<1>(), ranks) * type_bytes(table_, argument<3>());
    } else if constexpr (shape == Shape::alltoallw) {
      if (argument<0>() == MPI_IN_PLACE) return sum_of_typed(argument<5>(), argument<7>(), ranks);
      return sum_of_typed(argument<1>(), argument<3>(), ranks);
    } else if constexpr (shape == Shape::neighbors) {
      return elements<1, 2>() * all.neighbors;
    } else if constexpr (shape == Shape::neighborsv) {
      return sum(argument<1>(), degree) * type_bytes(table_, argument<3>());
    } else if constexpr (shape == Shape::neighborsw) {
      return sum_of_typed(argument<1>(), argument<3>(), degree);
    } else {
      return 0;
    }
  }

  ThreadTable* table_;
  const Pack<Arguments...>& arguments_;
};

}  // namespace unisono::adapter::profile
