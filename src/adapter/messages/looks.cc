// SPDX-License-Identifier: BSD-3-Clause
// Looks at requests of ours that are not over yet, by who waits for them and by who asks: what goes on
// meanwhile. M10.
#include <utility>

#include "adapter/below/nesting.h"
#include "adapter/messages/own_requests.h"
#include "adapter/messages/revoked.h"

namespace unisono::adapter::messages {

using runtime::MessageRequest;

namespace {

// Null: nothing is sent.
MessageRequest* send_of(MessageRequest* request) {
  if (request->callers.beside != nullptr) return request->callers.beside;
  return request->kind == MessageRequest::Kind::send ? request : nullptr;
}
// Of the two that end together, which one is to be waited for first.
const MessageRequest* awaited_of(const MessageRequest* request) {
  const MessageRequest* beside = request->callers.beside;
  return beside != nullptr && request->is_done_by_now() ? beside : request;
}

// A long one is copied where the MPI would send it at once.
void leave(MessageRequest* send) UNISONO_NOT_CHECKED {
  const bool is_of_table = layer->endpoint().requests().has(send);
  if (is_of_table && send->callers.form == runtime::CallersPart::Form::once) layer->endpoint().leave(send);
}

}  // namespace

void let_sends_end(int count, const MPI_Request* requests) {
  const BiasedGuard guard(layer->lock());
  bool is_any = false;
  for (int i = 0; i < count; ++i) {
    if (!is_own(requests[i]) || is_inactive(request_of(requests[i]))) continue;
    MessageRequest* send = send_of(request_of(requests[i]));
    if (send == nullptr) continue;
    if (!std::exchange(is_any, true)) layer->endpoint().buffer_held_back();
    leave(send);
  }
}

int wait_for(MessageRequest* request) {
  if (is_over(request)) return MPI_SUCCESS;
  return unless_peer_is_lost(narrow<MPI_Comm>(request->callers.comm), [request] {
    const Nested nested;
    unsigned looks = 0;
    layer->wait_until(
        [&]() UNISONO_NOT_CHECKED {
          if (is_over(request)) return true;
          if (++looks % looks_before_sends_end != 0) return false;
          end_if_revoked(request);
          MessageRequest* send = send_of(request);
          if (send == nullptr) return is_over(request);
          layer->endpoint().buffer_held_back();
          leave(send);
          return is_over(request);
        },
        awaited_of(request));
  });
}

bool is_over_by_now(MessageRequest* request) {
  if (is_over(request)) return true;
  return layer->is_over_by_now([request] { return is_over(request); });
}

void let_others_go_on_now_and_then(int count, const MPI_Request* requests) {
  static thread_local unsigned calls = 0;
  constexpr unsigned calls_per_progress = 16;
  ++calls;
  if (calls % looks_before_sends_end == 0) let_sends_end(count, requests);
  if (calls % calls_per_progress != 0) return;
  const Nested nested;
  layer->let_others_go_on();
}

}  // namespace unisono::adapter::messages
