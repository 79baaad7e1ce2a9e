// SPDX-License-Identifier: BSD-3-Clause
// Requests of messages that Unisono carries: how they are made, completed, asked, cancelled and freed. M10.
#pragma once

#include "adapter/below/nesting.h"
#include "adapter/messages/data.h"
#include "adapter/messages/layer.h"
#include "adapter/messages/statuses.h"

namespace unisono::adapter::messages {

// The way of a send.
enum class Mode : std::uint8_t { standard, buffered, synchronous };

// A send or a receive that has begun, on a place of the caller's. False where there is no memory for a copy.
bool begin_send(runtime::MessageRequest* request, const OwnComm& own, const Data& data, int to, int tag,
                Mode mode);
bool begin_receive(runtime::MessageRequest* request, const OwnComm& own, const Data& data, int from, int tag);
// Of a message that a probe has taken.
bool begin_receive_of(runtime::MessageRequest* request, runtime::WaitingMessage* message, MPI_Comm comm,
                      const Data& data);

// The same on a place of the table. Null after the error handler was called: *error is what to return then.
// A send that is done already is done_send.
runtime::MessageRequest* new_send(const OwnComm& own, const Data& data, int to, int tag, Mode mode,
                                  int* error);
runtime::MessageRequest* new_receive(const OwnComm& own, const Data& data, int from, int tag, int* error);
// Of nothing, from MPI_PROC_NULL: it is done.
runtime::MessageRequest* new_receive_of_nothing(const OwnComm& own, int* error);

// A place of the table, or null as above.
runtime::MessageRequest* new_request(MPI_Comm comm, int* error);
// Gives it back unused.
void drop_request(runtime::MessageRequest* request);

// A send that is done: one for all of them, which is never given back.
extern runtime::MessageRequest* done_send;
void begin_own_requests();

// A short message that can go at once has gone without a request.
inline bool has_gone_at_once(const OwnComm& own, const Data& data, int to, int tag) {
  if (data.bytes > shm::most_bytes_of_item || data.is_copied) return false;
  const BiasedGuard guard(layer->lock());
  return layer->endpoint().try_send(own.context, data.buffer, data.bytes, to, tag);
}

// A rank of the node has died while this one waited for it.
int raise_lost_peer(MPI_Comm comm, const runtime::PeerLost& lost);
// What `wait` waits for may never come since a peer has died: its error is returned then.
template <class Wait>
int unless_peer_is_lost(MPI_Comm comm, Wait wait) {
  try {
    wait();
  } catch (const runtime::PeerLost& lost) {
    return raise_lost_peer(comm, lost);
  }
  return MPI_SUCCESS;
}

// Is it done, with what stands beside it?
inline bool is_over(const runtime::MessageRequest* request) {
  const runtime::MessageRequest* beside = request->callers.beside;
  if (request->is_left) return true;
  return request->is_done_by_now() && (beside == nullptr || beside->is_left || beside->is_done_by_now());
}
// Waits until `has_ended` says so, which takes no lock for long.
template <class HasEnded>
int wait_until_so(HasEnded has_ended, MPI_Comm comm = MPI_COMM_WORLD) {
  return unless_peer_is_lost(comm, [&] {
    shm::Backoff backoff(layer->wait());
    while (!has_ended()) {
      layer->make_progress();
      const Nested nested;
      layer->step(&backoff);
    }
  });
}

// Requests whose places are given back together.
class Ended {
 public:
  Ended() = default;
  ~Ended() { give_back(); }
  Ended(const Ended&) = delete;
  Ended& operator=(const Ended&) = delete;
  void add(runtime::MessageRequest* request) {
    if (count_ == most) give_back();
    requests_[count_++] = request;
  }

 private:
  static constexpr std::size_t most = 32;
  void give_back();
  runtime::MessageRequest* requests_[most];
  std::size_t count_ = 0;
};

// After so many looks at what has not ended its sends are to end without their receivers, where the MPI's own
// would: programs may rely on that however they wait. A prime: of requests that are asked for in turn, by one
// call each, each comes.
inline constexpr unsigned looks_before_sends_end = 257;
// Of all of ours among them.
void let_sends_end(int count, const MPI_Request* requests);

// Waits until it is over. A peer that has died ends the wait: its error is returned.
int wait_for(runtime::MessageRequest* request);
// Of a send of the table, which ends.
int finish_send(runtime::MessageRequest* request);
bool is_over_by_now(runtime::MessageRequest* request);
// Of a call that asks and does not wait: at some of them the MPI, and Unisono's other work, go on. So do
// sends among the requests that it has asked for in vain.
void let_others_go_on_now_and_then(int count = 0, const MPI_Request* requests = nullptr);
// Of one that is done: its data is where it belongs, its status is told. Returns the error of the message,
// for which no handler was called yet.
int settle(runtime::MessageRequest* request, MPI_Status* status);
// The same of a program's request, which ends: a persistent one is inactive then, another one null and among
// `ended`.
int complete(MPI_Request* handle, MPI_Status* status, Ended* ended);

// Persistent, and not started?
bool is_inactive(const runtime::MessageRequest* request);

// Calls the communicator's handler. Returns the error.
int raise_on(MPI_Comm comm, int error);
// The same of a receive that has ended. The program may have freed its communicator meanwhile, and may have
// another one by the same handle, which is not to blame.
int raise_of_receive(MPI_Comm comm, std::uint32_t context, int error);

// A persistent one, inactive. Null after the error handler was called.
runtime::MessageRequest* make_persistent(const OwnComm& own, runtime::CallersPart::Form form,
                                         const Data& data, int partner, int tag, int* error);
int start_own(MPI_Request* handle);

int free_own(MPI_Request* handle);
// One that is under way, or done: nobody waits for it.
void free_begun(runtime::MessageRequest* request);
int cancel_own(MPI_Request* handle);

}  // namespace unisono::adapter::messages
