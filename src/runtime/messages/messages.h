// SPDX-License-Identifier: BSD-3-Clause
// The program's messages to ranks of its node, by Unisono instead of its MPI (option `messages`). M10.
// docs/inside/messages.md.
//
// Which communicators are taken is decided when they are made, on all their ranks alike, and never later. A
// message that went to the MPI could not meet a receive that waits here.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/biased_lock.h"
#include "runtime/messages/endpoint.h"
#include "runtime/messages/event_stream.h"
#include "runtime/world/peers.h"
#include "runtime/world/progress.h"
#include "runtime/world/world.h"
#include "shm/pairs/mailbox.h"

namespace unisono::runtime {

class Messages : public Progress::Source {
 public:
  Messages(World& world, Progress& progress) : world_(world), progress_(progress) {}
  ~Messages() override;

  // Collective over the world, where option `messages` asks for it. Where it cannot be had the program's MPI
  // goes on, and the report says why.
  void begin();
  bool is_on() const { return endpoint_ != nullptr; }
  // What option `messages` = auto has come to, as a sentence; empty: it was not asked for.
  const std::string& auto_text() const { return auto_text_; }
  // All that was sent has left, and nobody of the node waits for this rank any more. Collective over the
  // world.
  void end();
  // Waits until no rank's messages are under way; collective over the world. end() begins with it.
  void finish_all();

  // Where the queues write down what they see, once it is started; null where option record_messages does not
  // ask for it.
  EventStream* events() { return events_.get(); }

  // What all ranks' came to, known behind end(); nothing where the MPI has carried all.
  const std::optional<MessageTotals>& totals() const { return totals_; }

  // A communicator that the program has just made: its number here, or nothing where it stays the MPI's.
  // Collective over it.
  std::optional<std::uint32_t> open(host::Comm comm);
  void close(std::uint32_t context);

  // The endpoint, for whoever holds the lock.
  BiasedLock& lock() UNISONO_RETURN_CAPABILITY(lock_) { return lock_; }
  Endpoint& endpoint() UNISONO_REQUIRES(lock_) { return *endpoint_; }
  // Where requests lie; for looking at handles.
  const RequestTable& requests() const { return *requests_; }
  // Behind each step of the program's: what is unfinished goes on although the program may stay away.
  void look_after_unfinished() UNISONO_REQUIRES(lock_) {
    if (is_looked_after_) {
      progress_.came_by();
    } else if (endpoint_->has_unfinished()) {
      begin_looking_after();
    }
  }

  // Waits until `is_over` says so, which is asked under the lock. Throws PeerLost. `awaited`, which may be
  // null, is what it waits for.
  template <class IsOver>
  void wait_until(IsOver is_over, const MessageRequest* awaited = nullptr) {
    shm::Backoff backoff(wait_);
    while (!is_over_by_now(is_over, awaited)) step(&backoff);
  }
  // Of a wait for messages: asleep only where nothing but an item of the node is missing, which rings.
  void step(shm::Backoff* backoff) {
    if (shm::is_rung(wait_.policy) && !is_rung_for()) return backoff->step_awake();
    backoff->step();
  }
  // The same once, without waiting.
  template <class IsOver>
  bool is_over_by_now(IsOver is_over, const MessageRequest* awaited = nullptr) {
    const BiasedGuard guard(lock_);
    if (is_over()) return true;
    endpoint_->progress(awaited);
    look_after_unfinished();
    return is_over();
  }
  // Takes in what has come, once.
  void make_progress() {
    const BiasedGuard guard(lock_);
    endpoint_->progress();
    look_after_unfinished();
  }
  // How its ranks wait.
  const shm::WaitConfig& wait() const { return wait_; }
  // How receives end for which nobody waits (MPI_Request_free), on a thread of the program.
  void settle_by(void (*settle)(MessageRequest*)) { settle_ = settle; }
  // What the program does not wait for lets the MPI, and Unisono's other work, go on now and then.
  void let_others_go_on();

  bool advance() override;
  bool advance_aside() override;

 private:
  void begin_looking_after() UNISONO_REQUIRES(lock_);
  // Does all that may go on here ring at the mailbox? Other work of this rank, calls that do not block,
  // does not.
  bool is_rung_for() {
    const BiasedGuard guard(lock_);
    return endpoint_->waits_for_items_alone() && progress_.under_way() <= (is_looked_after_ ? 1 : 0);
  }
  bool is_wanted();
  void find_node();
  void settle_ended();
  void choose_wait();
  void add_up();            // collective over the world
  bool agree_on_memory();   // collective over the world
  void begin_host_share();  // the same
  bool may_link_nodes();
  EndpointOptions options_of_endpoint();
  std::vector<std::int64_t> offered(int windows);
  std::uint64_t next_number();

  World& world_;
  Progress& progress_;
  BiasedLock lock_;
  shm::MailboxShape shape_;
  std::int64_t offset_ = -1;            // in the pool: what this rank has taken for its node
  void* memory_ = nullptr;              // of the node's mailboxes
  std::unique_ptr<std::byte[]> alone_;  // where the node has one rank
  std::unique_ptr<shm::Mailbox> mailbox_;
  std::unique_ptr<EventStream> events_;
  std::unique_ptr<Endpoint> endpoint_;
  const RequestTable* requests_ = nullptr;
  int first_of_node_ = 0;          // in the world
  std::vector<int> rank_on_node_;  // by rank of the world; -1: on another node
  // What the host carries for Unisono, on a communicator of its own.
  host::Comm host_comm_{};
  std::unique_ptr<HostMoves> moves_;  // long data; null: none
  std::unique_ptr<HostLink> link_;    // all between nodes (messages = all); null: the MPI has those
  std::vector<int> peer_of_;          // by rank of the world; -1: the host carries its messages
  std::unique_ptr<Peers> peers_;
  shm::WaitConfig wait_;
  void (*settle_)(MessageRequest*) = [](MessageRequest*) {};
  std::uint64_t numbered_ UNISONO_GUARDED_BY(lock_) = 1;  // communicators, by this rank, and one
  std::string auto_text_;
  std::optional<MessageTotals> totals_;
  bool is_looked_after_ UNISONO_GUARDED_BY(lock_) = false;
};

}  // namespace unisono::runtime
