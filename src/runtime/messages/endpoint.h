// SPDX-License-Identifier: BSD-3-Clause
// One rank's messages to and from ranks of its node. Headers and short messages go by a ring for each pair,
// longer ones by the sender's arena, long ones piece by piece once their receiver is known. M10.
//
// Messages of a pair arrive in the order in which they were sent, whatever way each goes: a long one's header
// takes its place in the ring. Nothing here blocks; what has no room waits in its sender's memory.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <unordered_set>
#include <vector>

#include "matching/queues.h"
#include "runtime/messages/message.h"
#include "shm/pairs/mailbox.h"

namespace unisono::runtime {

struct EndpointOptions {
  // Longer messages wait for their receive. At least what MPIs send at once, so that programs which rely on
  // it go on.
  std::uint64_t eager_bytes = 64 << 10;
  std::uint64_t piece_bytes = 32 << 10;  // of longer messages
  // Messages that nobody has asked for may take so many bytes; from then on only headers are taken in.
  std::uint64_t most_unexpected_bytes = std::uint64_t{256} << 20;
  // How a communicator's queues are made.
  std::function<std::unique_ptr<matching::Queues>()> make_queues;
};

// Not for several threads at once: who has some holds a lock.
class Endpoint {
 public:
  // `mailbox` outlives it.
  Endpoint(shm::Mailbox* mailbox, EndpointOptions options);
  ~Endpoint();

  // A communicator of ranks of this node: which one is which. Messages that came earlier wait for it.
  void open(std::uint32_t context, std::vector<int> ranks);
  // Receives that wait still get their messages; the queues go once there are none (MPI_Comm_free).
  void close(std::uint32_t context);

  // `to` is a rank of the communicator. The request lives until release(); `buffer` until the request is
  // done. `waits`: done only once its receive is known (MPI_Ssend).
  MessageRequest* send(std::uint32_t context, const void* buffer, std::uint64_t bytes, int to, int tag,
                       bool waits = false);
  // `from` and `tag` may be matching::any_source and any_tag.
  MessageRequest* receive(std::uint32_t context, void* buffer, std::uint64_t bytes, int from, int tag);
  // The message that such a receive would get; null: none has come yet.
  const WaitingMessage* probe(std::uint32_t context, int from, int tag);
  // The same, and nobody else gets it; it is received by receive_taken().
  WaitingMessage* take(std::uint32_t context, int from, int tag);
  MessageRequest* receive_taken(WaitingMessage* message, void* buffer, std::uint64_t bytes);
  // Of a receive; true where no message had come for it. It is done then.
  bool cancel(MessageRequest* request);

  // Takes in what has come and sends what had no room, as far as it goes.
  void progress();
  // Done, or null.
  void release(MessageRequest* request);
  // Has all left that was sent?
  bool is_idle() const;

  std::uint64_t unexpected_bytes() const { return unexpected_bytes_; }
  std::size_t live_requests() const { return requests_.size() - free_requests_.size(); }

 private:
  struct Communicator {
    std::vector<int> ranks;            // rank -> rank of the node
    std::vector<std::int32_t> number;  // rank of the node -> rank, -1: not in it
    std::unique_ptr<matching::Queues> queues;
  };
  // What goes to one rank and had no room yet.
  struct Outgoing {
    shm::RingItem item{};
    std::vector<std::byte> data;      // with the item
    MessageRequest* eager = nullptr;  // whose data goes by the arena, and is done then
  };
  // What has come: of a long message only who has it.
  struct Arrived {
    matching::Envelope envelope{};
    int peer = -1;
    std::uint64_t bytes = 0;
    const void* data = nullptr;
    std::uint64_t sender_request = 0;
    bool is_long = false;
  };

  Communicator& communicator(std::uint32_t context) { return communicators_.at(context); }
  MessageRequest* make_request(MessageRequest::Kind kind);

  void send_to_other(MessageRequest* request, bool waits);
  void send_to_self(MessageRequest* request, bool waits);
  bool try_write(int peer, const Outgoing& out);
  void write(int peer, Outgoing out);
  void flush();
  void move_pieces();
  bool move_piece(MessageRequest* request);

  void take_item(int from, shm::RingReader& reader);
  void arrive(Arrived message);
  void piece_arrived(int from, MessageRequest* request, std::uint64_t offset, std::uint64_t bytes);
  void deliver(MessageRequest* request, const Arrived& message);
  WaitingMessage* keep(const Arrived& message);
  static Arrived arrived(const WaitingMessage& message);
  void forget(WaitingMessage* message);
  void count_unexpected(std::int64_t bytes);
  void close_what_has_ended();

  shm::Mailbox& mailbox_;
  EndpointOptions options_;
  std::map<std::uint32_t, Communicator> communicators_;
  std::vector<std::uint32_t> closing_;
  std::map<std::uint32_t, std::vector<WaitingMessage*>> early_;  // of communicators that are not open yet
  std::vector<std::deque<Outgoing>> outgoing_;                   // by rank of the node
  std::size_t held_back_ = 0;                                    // all of them
  std::vector<MessageRequest*> moving_;                          // long ones whose receiver is known
  std::vector<std::unique_ptr<MessageRequest>> requests_;
  std::vector<MessageRequest*> free_requests_;
  std::unordered_set<WaitingMessage*> waiting_;
  std::unique_ptr<WaitingMessage> spare_ = std::make_unique<WaitingMessage>();  // for what comes next
  std::uint64_t unexpected_bytes_ = 0;
  bool has_too_many_ = false;
};

}  // namespace unisono::runtime
