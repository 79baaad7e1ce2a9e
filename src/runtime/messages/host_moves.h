// SPDX-License-Identifier: BSD-3-Clause
// Data of messages that the host carries, while their headers go another way: by rings inside a node, by
// items between nodes. M10.
//
// Each has a tag of its own on a communicator of Unisono's, which one of both ends takes and tells the other.
#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <utility>
#include <vector>

#include "host/host.h"
#include "runtime/messages/message.h"

namespace unisono::runtime {

// Ends the job where `error` is one. As a program's own message would: its error handler does so by default,
// and nobody else could be told.
void check_host(host::Host& host, int error);

class HostMoves {
 public:
  static constexpr int item_tag = 0;  // that no data has

  // `comm` has the ranks of the world in their order, and outlives it.
  HostMoves(host::Host& host, host::Comm comm);
  HostMoves(const HostMoves&) = delete;
  HostMoves& operator=(const HostMoves&) = delete;

  // The tag of the next data of this rank and `rank`. One of both takes them, and always the same one.
  int take_tag(int rank);
  // `waits`: done once its receive has begun.
  void send(int rank, MessageRequest* request, int tag, bool waits);
  // Of the message that `request` has got, of which it may want the beginning alone.
  void fetch(int rank, MessageRequest* request, int tag);
  // The data comes another way, and was never sent here. Calls no host. False: it was not to come here.
  bool give_up(const MessageRequest* request);
  // A request whose data is under way stays so, when it has gone too, until let_end(). False: it is not under
  // way, or is kept already.
  bool keep_from_ending(const MessageRequest* request);
  // False: it is not under way.
  bool let_end(const MessageRequest* request);

  // Calls `finish(request)` for each one whose data has gone or come. True where something has moved.
  template <class Finish>
  bool poll(Finish finish) {
    if (blocks_.empty()) return false;
    find_ended();
    const bool has_moved = !ended_.empty();
    for (; !ended_.empty(); ended_.pop_back()) {
      if (ended_.back() != nullptr) finish(ended_.back());
    }
    return has_moved;
  }
  // Has all moved?
  bool is_idle() const { return blocks_.empty(); }

 private:
  struct Move {
    MessageRequest* request = nullptr;  // null: it was given up
    std::unique_ptr<std::byte[]> all;   // of a message that is longer than its receive
    bool is_kept = false;               // from ending
    bool has_moved = false;             // all of it
  };

  // Those that began together. A look tests the oldest ones, which mostly end first, and one more block in
  // turn: it costs the same however many are under way.
  struct Block {
    static constexpr std::size_t most = 64;
    std::vector<Move> moves;
    std::vector<host::Request> of_host;  // of each move
  };
  // The place where its start writes the host's request.
  host::Request* add(Move move);
  // Takes out of a block what is over, and writes it to ended_.
  void find_ended();
  bool find_ended(Block& block);
  bool take_out_ended(Block& block);
  // Without a block that has nothing, and without two that one can hold.
  void tidy(std::size_t place);
  // Also what is not the MPI's to tell: those that were given up, and those that were kept when they moved.
  void look_at_all();
  Move* move_of(const MessageRequest* request);

  host::Host& host_;
  host::Comm comm_;
  std::vector<int> next_tag_;  // by rank
  std::deque<Block> blocks_;   // none of them empty, the oldest first
  std::size_t in_turn_ = 1;    // the block that is tested next to the oldest one
  std::vector<MessageRequest*> ended_;
  bool needs_look_ = false;  // at all: one was given up, or may end now
};

}  // namespace unisono::runtime
