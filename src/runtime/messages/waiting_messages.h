// SPDX-License-Identifier: BSD-3-Clause
// All messages of an endpoint that no receive has asked for, and some that are used again. M10.
#pragma once

#include <cstddef>

#include "runtime/messages/message.h"

namespace unisono::runtime {

class WaitingMessages {
 public:
  WaitingMessages() = default;
  ~WaitingMessages();
  WaitingMessages(const WaitingMessages&) = delete;
  WaitingMessages& operator=(const WaitingMessages&) = delete;

  // Of no message yet.
  WaitingMessage* take();
  // One of take(), from now on among all.
  void add(WaitingMessage* message);
  // One that was added.
  void remove(WaitingMessage* message);
  // One that was not.
  void give(WaitingMessage* message);

  // `use` may remove the one it gets.
  template <class Use>
  void for_each(Use use) {
    for (WaitingMessage* message = first_; message != nullptr;) {
      WaitingMessage* next = message->next;
      use(message);
      message = next;
    }
  }

 private:
  static constexpr std::size_t most_spare = 256;

  WaitingMessage *first_ = nullptr, *spare_ = nullptr;
  std::size_t spares_ = 0;
};

}  // namespace unisono::runtime
