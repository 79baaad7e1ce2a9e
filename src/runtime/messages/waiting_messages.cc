// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/messages/waiting_messages.h"

#include <utility>

namespace unisono::runtime {

WaitingMessages::~WaitingMessages() {
  for_each([](WaitingMessage* message) { delete message; });
  first_ = spare_;
  for_each([](WaitingMessage* message) { delete message; });
}

WaitingMessage* WaitingMessages::take() {
  if (spare_ == nullptr) return new WaitingMessage;
  --spares_;
  WaitingMessage* message = std::exchange(spare_, spare_->next);
  message->next = nullptr;
  message->is_in_queue = true;
  message->is_cancelled = false;
  return message;
}

void WaitingMessages::add(WaitingMessage* message) {
  message->before = nullptr;
  message->next = first_;
  if (first_ != nullptr) first_->before = message;
  first_ = message;
}

void WaitingMessages::remove(WaitingMessage* message) {
  if (message->next != nullptr) message->next->before = message->before;
  (message->before == nullptr ? first_ : message->before->next) = message->next;
  give(message);
}

void WaitingMessages::give(WaitingMessage* message) {
  message->longer_data.reset();
  if (spares_ == most_spare) {
    delete message;
    return;
  }
  ++spares_;
  message->next = spare_;
  spare_ = message;
}

}  // namespace unisono::runtime
