// SPDX-License-Identifier: BSD-3-Clause
// Sends, receives and probes. Arguments are looked at after the MPI has found nothing wrong with them.
#include <type_traits>

#include "adapter/recording/calls.h"
#include "adapter/recording/queue_samples.h"

namespace unisono::adapter::recording {
namespace {

// A send begins before the MPI is called: its message may be there before the call is over. Communicators and
// types are valid where the call succeeds; so what it was is found afterwards, with the time of before.
template <class Count>
void note_send(std::uint64_t began, Count count, MPI_Datatype type, int to, int tag, MPI_Comm comm) {
  const Recording recording;
  Recorder::Message message;
  if (recording && describe(recording, count, type, to, tag, comm, &message)) recording->sent(message, began);
}

template <class Count>
void note_received(std::uint64_t began, Count count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
                   const MPI_Status& status) {
  const Recording recording;
  Recorder::Message message;
  if (!recording || !describe(recording, count, type, from, tag, comm, &message)) return;
  if (message.known->is_exact) return recording->counted_receive();
  const std::uint32_t number = recording->posted(message, began);
  recording->received(*message.known, number, message.has_wildcard(), status, ticks());
}

template <class Count>
void note_posted(std::uint64_t began, Count count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
                 const MPI_Request* handle) {
  const Recording recording;
  Recorder::Message message;
  if (!recording || !describe(recording, count, type, from, tag, comm, &message)) return;
  if (message.known->is_exact) return recording->counted_receive();
  recording->requests.insert({.handle = bits_of(*handle),
                              .known = message.known,
                              .number = recording->posted(message, began),
                              .has_wildcard = message.has_wildcard(),
                              .persistent = nullptr});
}

template <class Count>
void note_persistent(bool is_send, Count count, MPI_Datatype type, int peer, int tag, MPI_Comm comm,
                     const MPI_Request* handle) {
  const Recording recording;
  Recorder::Message message;
  if (!recording || !describe(recording, count, type, peer, tag, comm, &message)) return;
  if (message.known->is_exact && !is_send) return;
  auto persistent = std::make_unique<Persistent>(
      Persistent{.bytes = message.bytes, .peer = message.peer, .tag = message.tag, .is_send = is_send});
  recording->requests.insert({.handle = bits_of(*handle),
                              .known = message.known,
                              .has_wildcard = message.has_wildcard(),
                              .persistent = std::move(persistent)});
}

// How long the MPI's queues are before a receive is posted, now and then.
void sample(std::uint64_t now, MPI_Comm comm) {
  if (now < next_sample_ticks() || !is_recorded()) return;
  const Recording recording;
  const Known* known = recording ? recording->known_if_seen(comm) : nullptr;
  if (known != nullptr && !known->is_exact) take_sample(recording.get(), *known, comm, now);
}

// Has it got something, where it might have been truncated?
bool has_received(int result) {
  return result == MPI_SUCCESS;
}

template <int slot, class Count>
int send(const void* data, Count count, MPI_Datatype type, int to, int tag, MPI_Comm comm) {
  const std::uint64_t began = ticks();
  const int result = under<slot>(send<slot, Count>)(data, count, type, to, tag, comm);
  if (result == MPI_SUCCESS && is_recorded()) note_send(began, count, type, to, tag, comm);
  return result;
}

template <int slot, class Count>
int start_send(const void* data, Count count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
               MPI_Request* handle) {
  const std::uint64_t began = ticks();
  const int result = under<slot>(start_send<slot, Count>)(data, count, type, to, tag, comm, handle);
  if (result == MPI_SUCCESS && is_recorded()) note_send(began, count, type, to, tag, comm);
  return result;
}

template <int slot, class Count>
int make_send(const void* data, Count count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
              MPI_Request* handle) {
  const int result = under<slot>(make_send<slot, Count>)(data, count, type, to, tag, comm, handle);
  if (result == MPI_SUCCESS && is_recorded()) note_persistent(true, count, type, to, tag, comm, handle);
  return result;
}

template <int slot, class Count>
int receive(void* data, Count count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
            MPI_Status* status) {
  const std::uint64_t began = ticks();
  sample(began, comm);
  MPI_Status own;
  if (status == MPI_STATUS_IGNORE) status = &own;
  const int result = under<slot>(receive<slot, Count>)(data, count, type, from, tag, comm, status);
  if (has_received(result) && is_recorded()) note_received(began, count, type, from, tag, comm, *status);
  return result;
}

template <int slot, class Count>
int start_receive(void* data, Count count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
                  MPI_Request* handle) {
  const std::uint64_t began = ticks();
  sample(began, comm);
  const int result = under<slot>(start_receive<slot, Count>)(data, count, type, from, tag, comm, handle);
  if (result == MPI_SUCCESS && is_recorded()) note_posted(began, count, type, from, tag, comm, handle);
  return result;
}

template <int slot, class Count>
int make_receive(void* data, Count count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
                 MPI_Request* handle) {
  const int result = under<slot>(make_receive<slot, Count>)(data, count, type, from, tag, comm, handle);
  if (result == MPI_SUCCESS && is_recorded()) note_persistent(false, count, type, from, tag, comm, handle);
  return result;
}

// --- Both ways ---

template <int slot, class Count>
int exchange(const void* out, Count out_count, MPI_Datatype out_type, int to, int out_tag, void* in,
             Count in_count, MPI_Datatype in_type, int from, int in_tag, MPI_Comm comm, MPI_Status* status) {
  const std::uint64_t began = ticks();
  MPI_Status own;
  if (status == MPI_STATUS_IGNORE) status = &own;
  const int result = under<slot>(exchange<slot, Count>)(out, out_count, out_type, to, out_tag, in, in_count,
                                                        in_type, from, in_tag, comm, status);
  if (has_received(result) && is_recorded()) {
    note_send(began, out_count, out_type, to, out_tag, comm);
    note_received(began, in_count, in_type, from, in_tag, comm, *status);
  }
  return result;
}

template <int slot, class Count>
int replace(void* data, Count count, MPI_Datatype type, int to, int out_tag, int from, int in_tag,
            MPI_Comm comm, MPI_Status* status) {
  const std::uint64_t began = ticks();
  MPI_Status own;
  if (status == MPI_STATUS_IGNORE) status = &own;
  const int result =
      under<slot>(replace<slot, Count>)(data, count, type, to, out_tag, from, in_tag, comm, status);
  if (has_received(result) && is_recorded()) {
    note_send(began, count, type, to, out_tag, comm);
    note_received(began, count, type, from, in_tag, comm, *status);
  }
  return result;
}

template <int slot, class Count>
int start_exchange(const void* out, Count out_count, MPI_Datatype out_type, int to, int out_tag, void* in,
                   Count in_count, MPI_Datatype in_type, int from, int in_tag, MPI_Comm comm,
                   MPI_Request* handle) {
  const std::uint64_t began = ticks();
  const int result = under<slot>(start_exchange<slot, Count>)(out, out_count, out_type, to, out_tag, in,
                                                              in_count, in_type, from, in_tag, comm, handle);
  if (result == MPI_SUCCESS && is_recorded()) {
    note_send(began, out_count, out_type, to, out_tag, comm);
    note_posted(began, in_count, in_type, from, in_tag, comm, handle);
  }
  return result;
}

template <int slot, class Count>
int start_replace(void* data, Count count, MPI_Datatype type, int to, int out_tag, int from, int in_tag,
                  MPI_Comm comm, MPI_Request* handle) {
  const std::uint64_t began = ticks();
  const int result =
      under<slot>(start_replace<slot, Count>)(data, count, type, to, out_tag, from, in_tag, comm, handle);
  if (result == MPI_SUCCESS && is_recorded()) {
    note_send(began, count, type, to, out_tag, comm);
    note_posted(began, count, type, from, in_tag, comm, handle);
  }
  return result;
}

// --- Probes: those that take the message are receives which have got it ---

void note_probe(int from, int tag, MPI_Comm comm) {
  const Recording recording;
  Recorder::Message message;
  const bool is_seen = recording && describe(recording, 0, MPI_BYTE, from, tag, comm, &message);
  if (is_seen && !message.known->is_exact) recording->probed(message);
}
void note_failed_probe() {
  const Recording recording;
  if (recording) recording->probed_in_vain();
}

int probe(int from, int tag, MPI_Comm comm, MPI_Status* status) {
  const int result = under<unisono_slot_Probe>(probe)(from, tag, comm, status);
  if (result == MPI_SUCCESS && is_recorded()) note_probe(from, tag, comm);
  return result;
}

int iprobe(int from, int tag, MPI_Comm comm, int* flag, MPI_Status* status) {
  const int result = under<unisono_slot_Iprobe>(iprobe)(from, tag, comm, flag, status);
  if (result != MPI_SUCCESS || !is_recorded()) return result;
  *flag != 0 ? note_probe(from, tag, comm) : note_failed_probe();
  return result;
}

int mprobe(int from, int tag, MPI_Comm comm, MPI_Message* taken, MPI_Status* status) {
  const std::uint64_t began = ticks();
  MPI_Status own;
  if (status == MPI_STATUS_IGNORE) status = &own;
  const int result = under<unisono_slot_Mprobe>(mprobe)(from, tag, comm, taken, status);
  if (result == MPI_SUCCESS && is_recorded()) note_received(began, 0, MPI_BYTE, from, tag, comm, *status);
  return result;
}

int improbe(int from, int tag, MPI_Comm comm, int* flag, MPI_Message* taken, MPI_Status* status) {
  const std::uint64_t began = ticks();
  MPI_Status own;
  if (status == MPI_STATUS_IGNORE) status = &own;
  const int result = under<unisono_slot_Improbe>(improbe)(from, tag, comm, flag, taken, status);
  if (result != MPI_SUCCESS || !is_recorded()) return result;
  *flag != 0 ? note_received(began, 0, MPI_BYTE, from, tag, comm, *status) : note_failed_probe();
  return result;
}

template <class Function>
UnisonoFunction erased(Function* function) {
  return reinterpret_cast<UnisonoFunction>(function);
}

}  // namespace

void add_messages(UnisonoFunction* functions) {
#define UNISONO_PUT(Name, wrapper) \
  put(functions, unisono_slot_##Name, erased(wrapper<unisono_slot_##Name, int>));
#define UNISONO_PUT_BOTH(Name, wrapper) \
  UNISONO_PUT(Name, wrapper)            \
  put(functions, unisono_slot_##Name##_c, erased(wrapper<unisono_slot_##Name##_c, MPI_Count>));
#define UNISONO_PUT_SENDS(Send, Isend)     \
  UNISONO_PUT_BOTH(Send, send)             \
  UNISONO_PUT_BOTH(Send##_init, make_send) \
  UNISONO_PUT_BOTH(Isend, start_send)
  UNISONO_PUT_SENDS(Send, Isend)
  UNISONO_PUT_SENDS(Bsend, Ibsend)
  UNISONO_PUT_SENDS(Ssend, Issend)
  UNISONO_PUT_SENDS(Rsend, Irsend)
  UNISONO_PUT_BOTH(Recv, receive)
  UNISONO_PUT_BOTH(Irecv, start_receive)
  UNISONO_PUT_BOTH(Recv_init, make_receive)
  UNISONO_PUT_BOTH(Sendrecv, exchange)
  UNISONO_PUT_BOTH(Sendrecv_replace, replace)
  UNISONO_PUT_BOTH(Isendrecv, start_exchange)
  UNISONO_PUT_BOTH(Isendrecv_replace, start_replace)
#undef UNISONO_PUT_SENDS
#undef UNISONO_PUT_BOTH
#undef UNISONO_PUT
  put(functions, unisono_slot_Probe, erased(probe));
  put(functions, unisono_slot_Iprobe, erased(iprobe));
  put(functions, unisono_slot_Mprobe, erased(mprobe));
  put(functions, unisono_slot_Improbe, erased(improbe));
}

}  // namespace unisono::adapter::recording
