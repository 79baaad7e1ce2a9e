// SPDX-License-Identifier: BSD-3-Clause
// Handles as Fortran's numbers. Open MPI's Fortran library turns numbers into handles and back by these
// functions; where handles are numbers already, the MPI's own functions do it. MPI 4.1, section 19.3.4.
#include "adapter/messages/messages.h"
#include "adapter/messages/own_requests.h"

namespace unisono::host::mpi::messages {
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

MPI_Fint request_c2f(MPI_Request request) {
  return is_on() && is_own(request) ? number_of(request_of(request)) : pmpi.Request_c2f(request);
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
#endif

}  // namespace

void add_conversions([[maybe_unused]] UnisonoFunction* functions) {
#if defined(UNISONO_FAMILY_OPENMPI)
  functions[unisono_slot_Request_c2f] = erased(request_c2f);
  functions[unisono_slot_Request_f2c] = erased(request_f2c);
  functions[unisono_slot_Message_c2f] = erased(message_c2f);
  functions[unisono_slot_Message_f2c] = erased(message_f2c);
#endif
}

}  // namespace unisono::host::mpi::messages
