// SPDX-License-Identifier: BSD-3-Clause
#include "adapter/requests/mixed_requests.h"

#include <algorithm>
#include <vector>

#include "adapter/below/nesting.h"
#include "adapter/messages/revoked.h"
#include "adapter/requests/fair_order.h"
#include "adapter/requests/requests.h"
#include "adapter/requests/status_errors.h"

namespace unisono::adapter::mixed {

using namespace messages;
using runtime::MessageRequest;

namespace {

bool is_active_own(MPI_Request request) {
  return is_own(request) && !is_inactive(request_of(request));
}

// Completes one that is over, and calls the error handler where it has failed.
int end_one(MPI_Request* request, MPI_Status* status, Ended* ended) {
  const MessageRequest* own = request_of(*request);
  const MPI_Comm comm = narrow<MPI_Comm>(own->callers.comm);
  const std::uint32_t context = own->envelope.context;
  const int error = complete(request, status, ended);
  return error == MPI_SUCCESS ? error : raise_of_receive(comm, context, error);
}
int end_one(MPI_Request* request, MPI_Status* status) {
  Ended ended;
  return end_one(request, status, &ended);
}

// Waits for one of ours.
int wait(MPI_Request* request, MPI_Status* status, Ended* ended) {
  MessageRequest* own = request_of(*request);
  if (!own->is_taken()) return raise_on(MPI_COMM_WORLD, MPI_ERR_REQUEST);
  if (is_inactive(own)) {
    set_empty_status(status);
    return MPI_SUCCESS;
  }
  if (const int error = wait_for(own); error != MPI_SUCCESS) return error;
  return end_one(request, status, ended);
}

// The MPI's among them, with their places in the whole.
struct HostPart {
  HostPart(int count, const MPI_Request* all, int begin = 0) {
    for (int k = 0; k < count; ++k) {
      const int i = k < count - begin ? begin + k : begin + k - count;
      if (all[i] == MPI_REQUEST_NULL || is_own(all[i])) continue;
      places.push_back(i);
      requests.push_back(all[i]);
    }
  }
  int count() const { return static_cast<int>(requests.size()); }
  bool is_empty() const { return requests.empty(); }
  void put_back(MPI_Request* all) const {
    for (std::size_t i = 0; i < places.size(); ++i) all[places[i]] = requests[i];
  }
  std::vector<int> places;
  std::vector<MPI_Request> requests;
};

// Under the lock.
void end_revoked(int count, const MPI_Request* requests) {
  for (int i = 0; i < count; ++i) {
    if (is_active_own(requests[i])) end_if_revoked(request_of(requests[i]));
  }
}

void end_if_revoked_by_now(MPI_Request request) {
  if (!is_time_to_ask_whether_revoked()) return;
  const BiasedGuard guard(layer->lock());
  end_revoked(1, &request);
}

// Which of ours are over now, from place `begin` on, and round to the one in front of it.
template <class Take>
void look_at_own(int count, const MPI_Request* requests, Take take, int begin = 0) {
  const BiasedGuard guard(layer->lock());
  layer->endpoint().progress();
  for (int k = 0; k < count; ++k) {
    const int i = k < count - begin ? begin + k : begin + k - count;
    if (is_active_own(requests[i]) && is_over(request_of(requests[i])) && !take(i)) break;
  }
  if (is_time_to_ask_whether_revoked()) end_revoked(count, requests);
  layer->look_after_unfinished();
}

// What a wait does at some of its looks alone. A look at the MPI's requests costs more than one at ours.
class Turns {
 public:
  bool is_hosts() { return looks_++ % looks_per_turn == 0; }
  bool is_of_sends() const { return looks_ % looks_before_sends_end == 0; }

 private:
  static constexpr unsigned looks_per_turn = 32;
  unsigned looks_ = 0;
};

// Where none is active nothing can be completed. Which of the MPI's persistent ones are it says alone: then
// none of them is in `host` any more.
bool is_any_active(int count, const MPI_Request* requests, const HostPart& host) {
  return !host.is_empty() || std::any_of(requests, requests + count, is_active_own);
}

bool find_own(int count, MPI_Request* requests, int begin, int* index, MPI_Status* status, int* error) {
  int found = -1;
  const auto take = [&](int i) {
    found = i;
    return false;
  };
  look_at_own(count, requests, take, begin);
  if (found < 0) return false;
  *index = found;
  *error = end_one(&requests[found], status);
  return true;
}

bool find_host(int count, MPI_Request* requests, HostPart* host, int* index, MPI_Status* status, int* error) {
  if (host->is_empty()) return false;
  int flag = 0, of_host = MPI_UNDEFINED;
  *error = adapter::testany(host->count(), host->requests.data(), &of_host, &flag, status);
  host->put_back(requests);
  if (*error == MPI_SUCCESS && flag == 0) return false;
  // Persistent ones that are not active: the MPI says that there is none.
  if (*error == MPI_SUCCESS && of_host == MPI_UNDEFINED) {
    host->requests.clear();
    host->places.clear();
    if (is_any_active(count, requests, *host)) return false;
    *index = MPI_UNDEFINED;
    set_empty_status(status);
    return true;
  }
  *index = of_host == MPI_UNDEFINED ? MPI_UNDEFINED : host->places[static_cast<std::size_t>(of_host)];
  return true;
}

// One try of Waitany. True: *index and *status are told, with *error.
bool find_any(int count, MPI_Request* requests, HostPart* host, bool is_host_asked, int* index,
              MPI_Status* status, int* error) {
  Streak& streak = streak_of(requests, count);
  const Beginning begin = next_beginning(streak);
  const bool is_host_first = begin.is_with_host && !host->is_empty();
  if (is_host_first) *host = HostPart(count, requests, begin.place);
  const bool has_found =
      (is_host_first && find_host(count, requests, host, index, status, error)) ||
      find_own(count, requests, begin.place, index, status, error) ||
      (is_host_asked && !is_host_first && find_host(count, requests, host, index, status, error));
  has_found ? streak.note(*index) : streak.end();
  return has_found;
}

// One try of Waitsome: how many were completed.
int take_some(int count, MPI_Request* requests, HostPart* host, bool is_host_asked, int* completed,
              MPI_Status* statuses, int* error) {
  int taken = 0;
  StatusErrors errors(statuses);
  std::vector<int> over;
  look_at_own(count, requests, [&](int i) {
    over.push_back(i);
    return true;
  });
  const auto note = [&](int place, int failed) {
    errors.note(taken, failed);
    if (failed != MPI_SUCCESS) *error = MPI_ERR_IN_STATUS;
    completed[taken++] = place;
  };
  {
    Ended ended;
    for (const int i : over) note(i, end_one(&requests[i], at(statuses, taken), &ended));
  }
  if (host->is_empty() || !is_host_asked) return taken;
  std::vector<int> places(host->requests.size());
  std::vector<MPI_Status> of_host(host->requests.size());
  int found = 0;
  const int failed =
      adapter::testsome(host->count(), host->requests.data(), &found, places.data(), of_host.data());
  host->put_back(requests);
  if (found == MPI_UNDEFINED) {
    host->requests.clear();
    host->places.clear();
    return taken;
  }
  if (failed != MPI_SUCCESS && failed != MPI_ERR_IN_STATUS) *error = failed;
  for (int i = 0; i < found; ++i) {
    const auto k = static_cast<std::size_t>(i);
    if (statuses != MPI_STATUSES_IGNORE) copy_but_error(of_host[k], &statuses[taken]);
    note(host->places[static_cast<std::size_t>(places[k])],
         failed == MPI_ERR_IN_STATUS ? of_host[k].MPI_ERROR : MPI_SUCCESS);
  }
  return taken;
}

// A call that leaves out a place for what it is told: the MPI says what is wrong, of a request that is none.
template <class... Places>
bool is_any_missing(const MPI_Status* status, Places*... places) {
  return is_missing(status) || ((places == nullptr) || ...);
}
MPI_Request nothing = MPI_REQUEST_NULL;

}  // namespace

int wait(MPI_Request* request, MPI_Status* status) {
  if (is_any_missing(status)) return pmpi.Wait(&nothing, status);
  Ended ended;
  return wait(request, status, &ended);
}

int test(MPI_Request* request, int* flag, MPI_Status* status) {
  if (is_any_missing(status, flag)) return pmpi.Test(&nothing, flag, status);
  MessageRequest* own = request_of(*request);
  if (is_inactive(own)) {
    *flag = 1;
    set_empty_status(status);
    return MPI_SUCCESS;
  }
  *flag = is_over_by_now(own) ? 1 : 0;
  if (*flag == 0) {
    end_if_revoked_by_now(*request);
    let_others_go_on_now_and_then(1, request);
    return MPI_SUCCESS;
  }
  return end_one(request, status);
}

int get_status(MPI_Request request, int* flag, MPI_Status* status) {
  if (is_any_missing(status, flag)) return pmpi.Request_get_status(nothing, flag, status);
  MessageRequest* own = request_of(request);
  if (is_inactive(own)) {
    *flag = 1;
    set_empty_status(status);
    return MPI_SUCCESS;
  }
  *flag = is_over_by_now(own) ? 1 : 0;
  if (*flag == 0) {
    end_if_revoked_by_now(request);
    let_others_go_on_now_and_then(1, &request);
  } else {
    settle(own, status);  // an error is told when the request is completed
  }
  return MPI_SUCCESS;
}

int waitall(int count, MPI_Request* requests, MPI_Status* statuses) {
  if (is_any_missing(statuses)) return pmpi.Waitall(1, &nothing, statuses);
  StatusErrors errors(statuses);
  Ended ended;
  // Where the last one is over all others mostly are.
  for (int last = count - 1; last >= 0; --last) {
    if (!is_own(requests[last]) || is_inactive(request_of(requests[last]))) continue;
    if (const int error = wait_for(request_of(requests[last])); error != MPI_SUCCESS) return error;
    break;
  }
  for (int i = 0; i < count; ++i) {
    MPI_Status* status = at(statuses, i);
    int error = MPI_SUCCESS;
    if (is_own(requests[i])) {
      error = wait(&requests[i], status, &ended);
    } else {
      error = adapter::wait(&requests[i], status);
    }
    errors.note(i, error);
  }
  return errors.result();
}

int testall(int count, MPI_Request* requests, int* flag, MPI_Status* statuses) {
  if (is_any_missing(statuses, flag)) return pmpi.Testall(1, &nothing, flag, statuses);
  *flag = 0;
  int own = 0, over = 0;
  for (int i = 0; i < count; ++i) own += is_active_own(requests[i]) ? 1 : 0;
  look_at_own(count, requests, [&](int) { return ++over, true; });
  HostPart host(count, requests);
  if (over != own) {
    let_others_go_on_now_and_then(count, requests);
    return MPI_SUCCESS;
  }
  std::vector<MPI_Status> of_host(host.requests.size());
  int result = MPI_SUCCESS;
  Ended ended;
  if (!host.is_empty()) {
    int are_over = 0;
    result = adapter::testall(host.count(), host.requests.data(), &are_over, of_host.data());
    host.put_back(requests);
    if (result != MPI_SUCCESS && result != MPI_ERR_IN_STATUS) return result;
    if (are_over == 0 && result == MPI_SUCCESS) return MPI_SUCCESS;
  }
  StatusErrors errors(statuses);
  std::size_t of_hosts = 0;
  for (int i = 0; i < count; ++i) {
    MPI_Status* status = at(statuses, i);
    int error = MPI_SUCCESS;
    if (of_hosts < host.places.size() && host.places[of_hosts] == i) {
      const MPI_Status& found = of_host[of_hosts++];
      if (result == MPI_ERR_IN_STATUS) error = found.MPI_ERROR;
      if (statuses != MPI_STATUSES_IGNORE) copy_but_error(found, status);
    } else if (is_own(requests[i])) {
      error = wait(&requests[i], status, &ended);
    } else {
      set_empty_status(status);
    }
    errors.note(i, error);
  }
  *flag = 1;
  return errors.result();
}

int waitany(int count, MPI_Request* requests, int* index, MPI_Status* status) {
  if (is_any_missing(status, index)) return pmpi.Waitany(1, &nothing, index, status);
  HostPart host(count, requests);
  Turns turns;
  int error = MPI_SUCCESS;
  *index = MPI_UNDEFINED;
  if (!is_any_active(count, requests, host)) {
    streak_of(requests, count).end();
    set_empty_status(status);
    return MPI_SUCCESS;
  }
  const int lost = wait_until_so([&] {
    if (find_any(count, requests, &host, turns.is_hosts(), index, status, &error)) return true;
    if (turns.is_of_sends()) let_sends_end(count, requests);
    return false;
  });
  return lost != MPI_SUCCESS ? lost : error;
}

int testany(int count, MPI_Request* requests, int* index, int* flag, MPI_Status* status) {
  if (is_any_missing(status, index, flag)) return pmpi.Testany(1, &nothing, index, flag, status);
  HostPart host(count, requests);
  int error = MPI_SUCCESS;
  *index = MPI_UNDEFINED;
  *flag = 1;
  if (!is_any_active(count, requests, host)) {
    streak_of(requests, count).end();
    set_empty_status(status);
    return MPI_SUCCESS;
  }
  if (find_any(count, requests, &host, true, index, status, &error)) return error;
  *flag = 0;
  let_others_go_on_now_and_then(count, requests);
  return MPI_SUCCESS;
}

int waitsome(int count, MPI_Request* requests, int* completed_count, int* completed, MPI_Status* statuses) {
  if (is_any_missing(statuses, completed_count, completed))
    return pmpi.Waitsome(1, &nothing, completed_count, completed, statuses);
  HostPart host(count, requests);
  Turns turns;
  int error = MPI_SUCCESS;
  *completed_count = MPI_UNDEFINED;
  const int lost = wait_until_so([&] {
    if (!is_any_active(count, requests, host)) return true;
    const int taken = take_some(count, requests, &host, turns.is_hosts(), completed, statuses, &error);
    if (taken != 0) *completed_count = taken;
    if (turns.is_of_sends()) let_sends_end(count, requests);
    return taken != 0 || error != MPI_SUCCESS;
  });
  return lost != MPI_SUCCESS ? lost : error;
}

int testsome(int count, MPI_Request* requests, int* completed_count, int* completed, MPI_Status* statuses) {
  if (is_any_missing(statuses, completed_count, completed))
    return pmpi.Testsome(1, &nothing, completed_count, completed, statuses);
  HostPart host(count, requests);
  int error = MPI_SUCCESS;
  const bool is_any = is_any_active(count, requests, host);
  const int taken = take_some(count, requests, &host, true, completed, statuses, &error);
  const bool is_any_left = is_any && (taken != 0 || is_any_active(count, requests, host));
  *completed_count = is_any_left ? taken : MPI_UNDEFINED;
  if (taken == 0) let_others_go_on_now_and_then(count, requests);
  return error;
}

}  // namespace unisono::adapter::mixed
