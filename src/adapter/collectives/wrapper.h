// SPDX-License-Identifier: BSD-3-Clause
// What all wrappers share. A wrapper looks whether its arguments are such that MPI's rules let the call go
// on. It makes a runtime::Call of them, and calls the host where the runtime does not take it. Arguments that
// break a rule go to the host at once, so that its error handlers speak. The checks look only at what costs
// nothing. What else can be wrong, such as a freed communicator or an uncommitted type, the host finds when
// it is asked.
#pragma once

#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "adapter/below/marks.h"
#include "adapter/below/nesting.h"
#include "adapter/collectives/collective_arguments.h"
#include "adapter/collectives/left.h"
#include "adapter/collectives/part.h"
#include "adapter/large_counts/large.h"
#include "adapter/requests/device_memory.h"
#include "adapter/requests/host_part.h"
#include "adapter/requests/large_blocks.h"
#include "adapter/requests/requests.h"
#include "base/clock.h"
#include "runtime/runtime.h"

namespace unisono::adapter {

template <class Native>
int run_timed(const runtime::Call& call, Native native_call) {
  const double before_s = now_s();
  const int result = native_call();
  runtime::native_finished(call, now_s() - before_s);
  return result;
}

template <class Native>
int run_compared(const runtime::Call& call, Native native_call) {
  const int result = native_call();
  const Nested nested;
  return runtime::compare(call, result);
}

template <class Native>
int run(const runtime::Call& call, Native native_call) {
  if (has_gpus()) [[unlikely]] {
    if (const auto staged = stage(call)) return run_staged(*staged, native_call);
  }
  int result = MPI_SUCCESS;
  runtime::Outcome outcome = runtime::Outcome::native;
  {
    const Nested nested;
    outcome = runtime::collective(call, &result);
  }
  switch (outcome) {
    case runtime::Outcome::done:
      return result;
    case runtime::Outcome::native_timed:
      return run_timed(call, native_call);
    case runtime::Outcome::compared:
      return run_compared(call, native_call);
    case runtime::Outcome::native:
      break;
  }
  return native_call();
}

// --- The host's own collective ---

// The host's function for these arguments: with an MPI_Request* at the end it starts the call, with an
// MPI_Info before that it makes a persistent one. Null where the host lacks it.
template <class Count, class Functions, class... Arguments>
auto host_function(const Functions& of, const Arguments&...) {
  using Small = decltype(of.small);
  using Large = decltype(of.large);
  if constexpr (std::is_same_v<Count, int>) {
    if constexpr (std::is_invocable_v<Small, Arguments...>) {
      return of.small;
    } else if constexpr (std::is_invocable_v<Starting<Small>, Arguments...>) {
      return of.start_small;
    } else {
      return of.init_small;
    }
  } else {
    if constexpr (std::is_invocable_v<Large, Arguments...>) {
      return of.large;
    } else if constexpr (std::is_invocable_v<Starting<Large>, Arguments...>) {
      return of.start_large;
    } else {
      return of.init_large;
    }
  }
}

// `with_large_counts`: what stands in where the host lacks the large-count function.
template <class Count, class Functions, class Large, class... Arguments>
int call_host(const Functions& of, Large with_large_counts, Arguments... arguments) {
  if constexpr (std::is_same_v<Count, int>) {
    return host_function<Count>(of, arguments...)(arguments...);
  } else if constexpr (std::is_invocable_v<Large, Arguments...>) {
    return with_large_counts(arguments...);
  } else {
    return host_function<Count>(of, arguments...)(arguments...);  // persistent
  }
}

// In a wrapper of the collective `name`: the host's, called with `more` behind the arguments.
#define UNISONO_HOST_CALL(name, ...)                                                                 \
  [=](auto... more) {                                                                                \
    return call_host<Count>(                                                                         \
        pmpi.name, [](auto... all) -> decltype(large::name(all...)) { return large::name(all...); }, \
        __VA_ARGS__, more...);                                                                       \
  }

// Asked at the begin of a blocking call: is it known that the host makes the call? Then nothing has to be
// read of the call's arrays, or nothing more of its arguments than `reduced`. Other forms are not decided
// before they are made.
template <class... Tail>
bool is_left(Operation operation, MPI_Comm comm, const runtime::Reduced* reduced = nullptr) {
  if constexpr (sizeof...(Tail) != 0) return false;
  return is_taking() && widen<std::uintptr_t>(comm) != 0 &&
         runtime::leaves_to_host(operation, widen<host::Comm>(comm), reduced);
}

template <class HostCall, class... Tail>
int run_left(HostCall host_call, Tail... tail) {
  return host_call(tail...);
}

// --- Forms: how the program made the call. `Tail`: the arguments behind those of the blocking form ---

// Behind a file's wrappers: all forms of them, by its UNISONO_INSTANTIATE_FORM(Count, tail of the form...).
#define UNISONO_INSTANTIATE(Count)              \
  UNISONO_INSTANTIATE_FORM(Count)               \
  UNISONO_INSTANTIATE_FORM(Count, MPI_Request*) \
  UNISONO_INSTANTIATE_FORM(Count, MPI_Info, MPI_Request*)

template <class... Tail>
class Form;

// Of what the program gives for one call nothing must be kept (start_request keeps what it needs).
struct KeepingNothing {
  template <class... IsSignificant>
  MPI_Datatype hold(MPI_Datatype type, const IsSignificant&...) const {
    return type;
  }
  const MPI_Datatype* hold(const MPI_Datatype* types, int) const { return types; }
  bool is_holding() const { return false; }
  bool has_host_call() const { return true; }
  int held_peers(MPI_Comm) const { return 0; }
  int held_peers_at(MPI_Comm, int) const { return 0; }
  template <class Number>
  const Number* hold_array(const Number* array, int) const {
    return array;
  }
  const host::Datatype* keep(const host::Datatype* types, std::size_t) const { return types; }
  struct GivenComm {
    MPI_Comm comm;
    MPI_Comm now() const { return comm; }
  };
  GivenComm host_comm(MPI_Comm comm) const { return {comm}; }
};

template <>
class Form<> : public KeepingNothing {
 public:
  template <class Count, class Functions>
  Form(std::type_identity<Count>, const Functions&, const CallSite& site) : site_(site) {}
  template <class HostCall>
  int leave(HostCall host_call) const {
    count_left(site_);
    return host_call();
  }
  template <class HostCall>
  int run(const runtime::Call& call, HostCall host_call) const {
    return adapter::run(call, host_call);
  }

 private:
  CallSite site_;
};

template <>
class Form<MPI_Request*> : public KeepingNothing {
 public:
  template <class Count, class Functions>
  Form(std::type_identity<Count>, const Functions&, const CallSite& site, MPI_Request* request)
      : site_(site), request_(request) {}
  template <class HostCall>
  int leave(HostCall host_call) const {
    count_left(site_);
    return host_call(request_);
  }
  template <class HostCall>
  int run(const runtime::Call& call, HostCall host_call) const {
    int result = MPI_SUCCESS;
    if (request_ == nullptr) return leave(host_call);
    return start_request(call, request_, &result) ? result : host_call(request_);
  }

 private:
  CallSite site_;
  MPI_Request* request_;
};

// A persistent call. The runtime makes it where it takes such calls, and the host makes it where it has a
// persistent form. Elsewhere the host's MPI_I form is called again and again, on a communicator of the
// request's own, since ranks may start their requests in any order.
template <>
class Form<MPI_Info, MPI_Request*> {
 public:
  template <class Count, class Functions>
  Form(std::type_identity<Count>, const Functions& of, const CallSite& site, MPI_Info info,
       MPI_Request* request)
      : site_(site), info_(info), request_(request), made_(std::make_unique<PersistentCall>()) {
    if constexpr (std::is_same_v<Count, int>) {
      has_init_ = of.init_small != nullptr;
    } else {
      has_init_ = of.init_large != nullptr;
    }
    is_holding_ = is_taking() || !has_init_;
  }
  // Whether calls are made later of what the program gives now. (Else the host makes them all.)
  bool is_holding() const { return is_holding_; }
  bool has_host_call() const { return has_init_; }
  MPI_Datatype hold(MPI_Datatype type) { return is_holding_ ? made_->hold(type) : type; }
  template <class IsSignificant>
  MPI_Datatype hold(MPI_Datatype type, IsSignificant is_significant) {
    return is_holding_ && is_significant() ? made_->hold(type) : type;
  }
  const MPI_Datatype* hold(const MPI_Datatype* types, int count) {
    return is_holding_ && types != nullptr && count != 0 ? made_->hold(types, count) : types;
  }
  // How many counts and displacements are to be held: none where they are not significant, or the host's
  // alone.
  int held_peers(MPI_Comm comm) const {
    Place place{};
    if (!is_holding_ || !is_communicator(comm) || !find_place(comm, &place)) return 0;
    return is_intracommunicator(comm) ? place.size : 0;
  }
  int held_peers_at(MPI_Comm comm, int root) const {
    const int peers = held_peers(comm);
    return peers != 0 && Root(comm, root).is_here ? peers : 0;
  }
  template <class Number>
  const Number* hold_array(const Number* array, int count) {
    if (!is_holding_ || array == nullptr || count == 0) return array;
    auto copy = std::make_shared<std::vector<Number>>(array, array + count);
    made_->arrays.push_back(copy);
    return copy->data();
  }
  const host::Datatype* keep(const host::Datatype* types, std::size_t count) {
    made_->wide_types.assign(types, types + count);
    return made_->wide_types.data();
  }
  // The communicator that the host's calls are made on.
  struct LaterComm {
    const PersistentCall* made;
    MPI_Comm now() const { return made->comm; }
  };
  LaterComm host_comm(MPI_Comm comm) {
    made_->comm = comm;
    return {made_.get()};
  }
  // Where the arguments break MPI's rules, or the runtime is not asked.
  template <class HostCall>
  int leave(HostCall host_call) {
    made_->host_starts = starts_left(site_);
    Place place{};
    if (is_taking() && is_communicator(made_->comm) && find_place(made_->comm, &place)) {
      const Nested nested;
      runtime::refuse_persistent(widen<host::Comm>(made_->comm));
    }
    return run_by_host(host_call);
  }
  template <class HostCall>
  int run_by_host(HostCall host_call) {
    if (has_init_) {
      const int error = host_call(info_, request_);
      if (error == MPI_SUCCESS) keep_for_host(std::move(made_), *request_);
      return error;
    }
    const int error = made_->take_private_comm(is_neighborhood(site_.operation));
    if (error != MPI_SUCCESS) return error;
    made_->start = host_call;
    return make_persistent(std::move(made_), request_);
  }
  template <class HostCall>
  int run(const runtime::Call& call, HostCall host_call) {
    runtime::Call persistent = call;
    persistent.is_persistent = true;
    persistent.may_outlive = is_of_session(adapter::native(call.comm));
    {
      const Nested nested;
      made_->staged = stage_if_needed(persistent);
      if (made_->staged != nullptr) persistent = made_->staged->call();
      persistent.is_persistent = true;
      runtime::Prepared prepared = runtime::prepare_collective(persistent);
      made_->prepared = std::move(prepared.call);
      made_->host_starts = std::move(prepared.host_starts);
      made_->bytes = prepared.bytes;
    }
    if (made_->prepared == nullptr) return run_by_host(host_call);
    made_->can_be_checked = can_start(persistent);
    return make_persistent(std::move(made_), request_);
  }

 private:
  CallSite site_;
  MPI_Info info_;
  MPI_Request* request_;
  std::unique_ptr<PersistentCall> made_;
  bool has_init_ = false;
  bool is_holding_ = false;
};

inline runtime::Call make_call(Operation operation, MPI_Comm comm) {
  runtime::Call call;
  call.operation = operation;
  call.comm = widen<host::Comm>(comm);
  return call;
}

template <class Count>
void set_send(runtime::Call* call, const void* buffer, Count count, MPI_Datatype type) {
  call->send_buffer = buffer;
  call->send_count = static_cast<std::size_t>(count);
  call->send_type = widen<host::Datatype>(type);
}

template <class Count>
void set_receive(runtime::Call* call, void* buffer, Count count, MPI_Datatype type) {
  call->recv_buffer = buffer;
  call->recv_count = static_cast<std::size_t>(count);
  call->recv_type = widen<host::Datatype>(type);
}

}  // namespace unisono::adapter
