// SPDX-License-Identifier: BSD-3-Clause
// Ranks and tags of calls: which ones MPI allows, and what the queues call those that ask for any.
#pragma once

#include "adapter/messages/layer.h"
#include "matching/envelope.h"

namespace unisono::adapter::messages {

inline bool is_destination(const OwnComm& own, int to) {
  return to >= 0 && to < own.size;
}
inline bool is_tag(int tag) {
  return tag >= 0 && tag <= largest_tag;
}
inline bool is_source_asked_for(const OwnComm& own, int from) {
  return from == MPI_ANY_SOURCE || is_destination(own, from);
}
inline bool is_tag_asked_for(int tag) {
  return tag == MPI_ANY_TAG || is_tag(tag);
}

inline int own_source(int from) {
  return from == MPI_ANY_SOURCE ? matching::any_source : from;
}
inline int own_tag(int tag) {
  return tag == MPI_ANY_TAG ? matching::any_tag : tag;
}

}  // namespace unisono::adapter::messages
