// SPDX-License-Identifier: BSD-3-Clause
// Handles as Fortran's numbers. Open MPI's Fortran library turns numbers into handles and back by these
// functions; where handles are numbers already, the MPI's own functions do it. MPI 4.1, section 19.3.4.
#include "adapter/messages/message_calls.h"
#include "adapter/messages/own_requests.h"

namespace unisono::adapter::messages {
namespace {

#if defined(UNISONO_FAMILY_OPENMPI)
// The MPI's numbers begin at 0, these end at -2.
MPI_Fint number_of(const runtime::MessageRequest* request) {
  return -2 - static_cast<MPI_Fint>(layer->requests().number_of(request));
}
bool is_own_number(MPI_Fint number) {
  return is_on() && number <= -2;
}
runtime::MessageRequest* request_at(MPI_Fint number) {
  return layer->requests().at(static_cast<std::size_t>(-2 - static_cast<std::int64_t>(number)));
}

// Where Open MPI keeps a request's number in its memory; less than 0: that is not known.
int offset_of_number = -1;

int find_offset_of_number() {
  constexpr int samples = 3, most = static_cast<int>(runtime::RequestTable::front_bytes / sizeof(MPI_Fint));
  MPI_Request requests[samples];
  const MPI_Fint* words[samples];
  MPI_Fint numbers[samples];
  int found = -1;
  for (int i = 0; i < samples; ++i) {
    pmpi.recv_init.small(nullptr, 0, MPI_BYTE, 0, 0, MPI_COMM_SELF, &requests[i]);
    numbers[i] = pmpi.Request_c2f(requests[i]);
    words[i] = reinterpret_cast<const MPI_Fint*>(requests[i]);
  }
  for (int at = 0; at < most && found < 0; ++at) {
    if (words[0][at] == numbers[0] && words[1][at] == numbers[1] && words[2][at] == numbers[2]) found = at;
  }
  for (MPI_Request& request : requests) pmpi.Request_free(&request);
  return found;
}

// Open MPI's Fortran library asks for the number once, and later reads it itself.
MPI_Fint request_c2f(MPI_Request request) {
  if (!is_on() || !is_own(request)) return pmpi.Request_c2f(request);
  const MPI_Fint number = number_of(request_of(request));
  if (offset_of_number >= 0) reinterpret_cast<MPI_Fint*>(request)[offset_of_number] = number;
  return number;
}
MPI_Request request_f2c(MPI_Fint number) {
  return is_own_number(number) ? handle_of<MPI_Request>(request_at(number)) : pmpi.Request_f2c(number);
}
MPI_Fint message_c2f(MPI_Message message) {
  return is_on() && is_own(message) ? number_of(request_of(message)) : pmpi.Message_c2f(message);
}
MPI_Message message_f2c(MPI_Fint number) {
  return is_own_number(number) ? handle_of<MPI_Message>(request_at(number)) : pmpi.Message_f2c(number);
}
#else
// Intel MPI has these in its header alone.
template <class Handle>
int number_of(Handle handle) {
  return static_cast<int>(widen<std::uintptr_t>(handle));
}
template <class Handle>
Handle handle_at(int number) {
  return narrow<Handle>(static_cast<std::uintptr_t>(static_cast<unsigned>(number)));
}
// The standard ABI's numbers of what is predefined are not its addresses: its MPI knows those. Older MPIs
// have no such functions, and handles that are numbers.
int request_toint(MPI_Request request) {
  const bool is_number = (is_on() && is_own(request)) || pmpi.Request_toint == nullptr;
  return is_number ? number_of(request) : pmpi.Request_toint(request);
}
MPI_Request request_fromint(int number) {
  const auto handle = handle_at<MPI_Request>(number);
  const bool is_handle = (is_on() && is_own(handle)) || pmpi.Request_fromint == nullptr;
  return is_handle ? handle : pmpi.Request_fromint(number);
}
int message_toint(MPI_Message message) {
  const bool is_number = (is_on() && is_own(message)) || pmpi.Message_toint == nullptr;
  return is_number ? number_of(message) : pmpi.Message_toint(message);
}
MPI_Message message_fromint(int number) {
  const auto handle = handle_at<MPI_Message>(number);
  const bool is_handle = (is_on() && is_own(handle)) || pmpi.Message_fromint == nullptr;
  return is_handle ? handle : pmpi.Message_fromint(number);
}
#endif

}  // namespace

void begin_conversions() {
#if defined(UNISONO_FAMILY_OPENMPI)
  offset_of_number = find_offset_of_number();
#endif
}

void add_conversions(UnisonoFunction* functions) {
#if defined(UNISONO_FAMILY_OPENMPI)
  functions[unisono_slot_Request_c2f] = erased(request_c2f);
  functions[unisono_slot_Request_f2c] = erased(request_f2c);
  functions[unisono_slot_Message_c2f] = erased(message_c2f);
  functions[unisono_slot_Message_f2c] = erased(message_f2c);
  functions[unisono_slot_Request_toint] = erased(request_c2f);
  functions[unisono_slot_Request_fromint] = erased(request_f2c);
  functions[unisono_slot_Message_toint] = erased(message_c2f);
  functions[unisono_slot_Message_fromint] = erased(message_f2c);
#else
  functions[unisono_slot_Request_c2f] = erased(number_of<MPI_Request>);
  functions[unisono_slot_Request_f2c] = erased(handle_at<MPI_Request>);
  functions[unisono_slot_Message_c2f] = erased(number_of<MPI_Message>);
  functions[unisono_slot_Message_f2c] = erased(handle_at<MPI_Message>);
  functions[unisono_slot_Request_toint] = erased(request_toint);
  functions[unisono_slot_Request_fromint] = erased(request_fromint);
  functions[unisono_slot_Message_toint] = erased(message_toint);
  functions[unisono_slot_Message_fromint] = erased(message_fromint);
#endif
}

}  // namespace unisono::adapter::messages
