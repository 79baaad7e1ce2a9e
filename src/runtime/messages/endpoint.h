// SPDX-License-Identifier: BSD-3-Clause
// One rank's messages to and from ranks of its node. Headers and short messages go by a ring for each pair,
// longer ones by the sender's arena. Long ones go piece by piece once their receiver is known, or by the host
// where that is faster. M10.
//
// Messages of a pair arrive in the order in which they were sent, whatever way each goes: a long one's header
// takes its place in the ring. Nothing here blocks; what has no room waits where its sender has it.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "matching/queues.h"
#include "runtime/messages/data_ways.h"
#include "runtime/messages/host_link.h"
#include "runtime/messages/host_moves.h"
#include "runtime/messages/message.h"
#include "runtime/messages/request_table.h"
#include "runtime/messages/totals.h"
#include "runtime/messages/waiting_messages.h"
#include "shm/pairs/mailbox.h"

namespace unisono::runtime {

inline constexpr std::uint64_t usual_eager_bytes = 64 << 10;

struct EndpointOptions {
  // Longer messages wait for their receive. At least what MPIs send at once, so that programs which rely on
  // it go on.
  std::uint64_t eager_bytes = usual_eager_bytes;
  std::uint64_t piece_bytes = 16 << 10;  // of longer messages
  // Long sends may be left (leave()), since the MPI lets them end before their receive.
  bool leaves_long_sends = false;
  // Messages that nobody has asked for may take so many bytes; from then on only headers are taken in.
  std::uint64_t most_unexpected_bytes = std::uint64_t{256} << 20;
  // Peers are known by numbers: the node's ranks, and behind them those of other nodes, which `link` reaches.
  // Null: there are none. `far`: of each of those its rank there, and of each rank there its number.
  HostLink* link = nullptr;
  std::vector<int> far, number_of_far;
  // Data that the host carries, for all between nodes and for `long_data` inside this one; null: none.
  // `near`: of each rank of the node its rank there.
  HostMoves* moves = nullptr;
  std::vector<int> near;
  DataWays::Choice long_data = DataWays::Choice::memory;
  // May progress_aside() call the host?
  bool may_call_host_aside = true;
  // How a communicator's queues are made.
  std::function<std::unique_ptr<matching::Queues>()> make_queues;
};

// Not for several threads at once: who has some holds a lock.
class Endpoint {
 public:
  // `mailbox` outlives it.
  Endpoint(shm::Mailbox* mailbox, EndpointOptions options);
  ~Endpoint();

  // A communicator: which rank is which peer. Messages that came earlier wait for it.
  void open(std::uint32_t context, std::vector<int> ranks);
  // Receives that wait still get their messages; the queues go once there are none, and nobody holds them
  // (MPI_Comm_free).
  void close(std::uint32_t context);
  // Persistent requests, which may be started after that.
  void hold(std::uint32_t context) { ++communicator(context).holders; }
  void drop(std::uint32_t context) { --communicator(context).holders; }

  // Starts `*request`, which is not under way and stays where it is until it is done, as `buffer` does. `to`
  // is a rank of the communicator. `waits`: done only once its receive is known (MPI_Ssend).
  void send(MessageRequest* request, std::uint32_t context, const void* buffer, std::uint64_t bytes, int to,
            int tag, bool waits = false);
  // The same without a request, where the message is short and can go at once.
  bool try_send(std::uint32_t context, const void* buffer, std::uint64_t bytes, int to, int tag);
  // `from` and `tag` may be matching::any_source and any_tag.
  void receive(MessageRequest* request, std::uint32_t context, void* buffer, std::uint64_t bytes, int from,
               int tag);
  // The same with requests of the table, which live until release(). Null: it is full.
  MessageRequest* send(std::uint32_t context, const void* buffer, std::uint64_t bytes, int to, int tag,
                       bool waits = false);
  MessageRequest* receive(std::uint32_t context, void* buffer, std::uint64_t bytes, int from, int tag);
  // The message that such a receive would get; null: none has come yet.
  const WaitingMessage* probe(std::uint32_t context, int from, int tag);
  // The same, and nobody else gets it; it is received by receive_taken().
  WaitingMessage* take(std::uint32_t context, int from, int tag);
  void receive_taken(MessageRequest* request, WaitingMessage* message, void* buffer, std::uint64_t bytes);
  MessageRequest* receive_taken(WaitingMessage* message, void* buffer, std::uint64_t bytes);
  // Messages that are sent at once, but had no room yet, are copied: their requests are done. Whoever waits
  // for one for long may be what its receiver waits for. As far as most_unexpected_bytes go.
  void buffer_held_back();
  // A long standard send of the table whose receiver has not answered: its data is copied into its caller's
  // part, and is_left set. Whoever has waited for it abandons it then. As far as most_unexpected_bytes go.
  void leave(MessageRequest* request);
  bool may_leave(std::uint64_t bytes) const {
    return options_.leaves_long_sends && bytes > options_.eager_bytes;
  }
  // Of a receive: it is done where no message had come for it. Of a send: at once where nothing of it has
  // left; a long one once its receiver says whether a receive has got it. is_cancelled tells.
  void cancel(MessageRequest* request);

  // Takes in what has come and sends what had no room, as far as it goes. True where something has moved.
  // `awaited`: no more than it takes until that one is done. What comes behind it may soon have its receive,
  // which is quicker than to keep it.
  bool progress(const MessageRequest* awaited = nullptr);
  // The same on a thread beside the program.
  bool progress_aside();
  // Done, or null.
  void release(MessageRequest* request);
  // Of the table: it is released as soon as it is done, or put among ended() where it holds something of the
  // caller's.
  void abandon(MessageRequest* request);
  std::vector<MessageRequest*> ended() { return std::exchange(ended_, {}); }
  // Has all left that was sent?
  bool is_idle() const;
  // Do only the items of the node's other ranks let something go on? They wake who sleeps; room in a ring or
  // an arena does not, nor does the host.
  bool waits_for_items_alone() const {
    return held_back_ == 0 && moving_.empty() && options_.link == nullptr &&
           (options_.moves == nullptr || options_.moves->is_idle());
  }
  // Is something under way that goes on only by progress()?
  bool has_unfinished() const { return unfinished_ != 0 || held_back_ != 0; }

  RequestTable& requests() { return requests_; }
  std::uint64_t unexpected_bytes() const { return unexpected_bytes_; }
  // Of this rank.
  MessageTotals totals() const;
  std::size_t live_requests() const { return requests_.live(); }

 private:
  struct Communicator {
    std::vector<int> ranks;            // rank -> peer
    std::vector<std::int32_t> number;  // peer -> rank, -1: not in it
    std::unique_ptr<matching::Queues> queues;
    int holders = 0;
  };
  // What goes to one rank and had no room yet.
  struct Outgoing {
    shm::RingItem item{};
    std::vector<std::byte> data;      // with the item
    MessageRequest* eager = nullptr;  // whose data goes with it, by the arena if it is long; it is done then
    MessageRequest* by_host = nullptr;  // whose data the host carries beside it, from then on
  };
  // A message of which some pieces are still to come: where they go. Nowhere: nobody can ask for it any more.
  struct Incoming {
    MessageRequest* request = nullptr;
    WaitingMessage* waiting = nullptr;
    std::uint64_t bytes = 0, here = 0;
  };
  // What has come: of a long message only who has it.
  struct Arrived {
    matching::Envelope envelope{};
    int peer = -1;
    std::uint64_t bytes = 0, here = 0;
    const void* data = nullptr;
    std::uint64_t sender_request = 0;
    bool is_long = false, is_with_host = false;
  };
  // What ranks of other nodes and this one have told each other of data that nobody has asked for.
  struct FarPeer {
    bool wants_headers_only = false, was_told = false;
  };

  // Null: it is not open.
  Communicator* find(std::uint32_t context);
  Communicator& communicator(std::uint32_t context) { return *find(context); }
  void begin(MessageRequest* request, MessageRequest::Kind kind);
  void finish(MessageRequest* request);

  bool is_far(int peer) const { return peer >= mailbox_.ranks(); }
  FarPeer& far(int peer) { return far_peers_[static_cast<std::size_t>(peer - mailbox_.ranks())]; }
  int rank_of_near(int peer) const { return options_.near[static_cast<std::size_t>(peer)]; }
  int rank_of_far(int peer) const { return options_.far[static_cast<std::size_t>(peer - mailbox_.ranks())]; }
  void send_to_other(MessageRequest* request, bool waits);
  void send_to_far(MessageRequest* request, bool waits);
  void send_asked_for_to_far(MessageRequest* request);
  void send_to_self(MessageRequest* request, bool waits);
  bool try_write(int peer, const Outgoing& out);
  bool try_write_far(int peer, const Outgoing& out);
  bool try_write_pieces(int peer, const Outgoing& out);
  void write(int peer, Outgoing out);
  bool flush();
  bool progress_of_host(const MessageRequest* awaited);
  bool move_pieces();
  bool move_piece(MessageRequest* request);

  void take_item(int from, shm::RingReader& reader);
  void take_far_item(int from, const shm::RingItem& item, const void* data);
  void arrive(Arrived message);
  void more_arrived(int from, std::uint64_t name, std::uint64_t bytes);
  void piece_arrived(int from, MessageRequest* request, std::uint64_t name, std::uint64_t bytes);
  void deliver(MessageRequest* request, const Arrived& message);
  void ask_for_data(MessageRequest* request);
  // `tag`: the receiver has asked the host for the data.
  void send_asked_for(MessageRequest* request, std::uint64_t receive, std::optional<int> tag);
  WaitingMessage* keep(const Arrived& message);
  static Arrived arrived(const WaitingMessage& message);
  void forget(WaitingMessage* message);
  void count_unexpected(std::int64_t bytes);
  void tell_far(int peer, bool wants_headers_only);
  void tell_at_once(int peer, const shm::RingItem& item);
  void close_what_has_ended();

  void cancel_send(MessageRequest* request);
  bool take_back(MessageRequest* request);
  void send_cancelled(int from, std::uint64_t key, std::uint64_t request, bool is_with_host);
  void send_ended(MessageRequest* request, bool is_cancelled);
  // The first message that a queue gives out and that its sender has not cancelled; null: there is none.
  template <class Get>
  WaitingMessage* first_kept(Get get) {
    for (;;) {
      auto* message = static_cast<WaitingMessage*>(get());
      if (message == nullptr || !message->is_cancelled) return message;
      forget(message);
    }
  }
  WaitingMessage* drop(int from, std::uint64_t key, bool is_with_host);

  shm::Mailbox& mailbox_;
  EndpointOptions options_;
  std::unordered_map<std::uint32_t, Communicator> communicators_;
  std::uint32_t last_context_ = 0;
  Communicator* last_ = nullptr;  // of that context; null: none
  std::vector<std::uint32_t> closing_;
  std::map<std::uint32_t, std::vector<WaitingMessage*>> early_;  // of communicators that are not open yet
  std::vector<std::deque<Outgoing>> outgoing_;                   // by peer
  std::size_t held_back_ = 0;                                    // all of them
  std::vector<FarPeer> far_peers_;                               // behind the node's ranks
  std::size_t unheard_ = 0;                                      // of what they were told
  std::vector<Incoming> incoming_;                               // by rank of the node
  std::vector<MessageRequest*> moving_;                          // long ones whose receiver is known
  RequestTable requests_;
  std::size_t unfinished_ = 0;          // requests
  std::vector<MessageRequest*> ended_;  // abandoned ones
  WaitingMessages waiting_;
  WaitingMessage* next_waiting_ = waiting_.take();  // for what comes next
  std::uint64_t unexpected_bytes_ = 0;
  std::uint64_t buffered_bytes_ = 0;  // of messages that wait for room
  std::uint64_t left_bytes_ = 0;      // of sends that were left and are not done
  MessageTotals totals_;              // depths: of communicators that are closed
  bool has_too_many_ = false;
  DataWays ways_;              // of long messages inside the node
  bool may_call_host_ = true;  // whoever is here now
};

}  // namespace unisono::runtime
