// SPDX-License-Identifier: BSD-3-Clause
#include "adapter/messages/statuses.h"

#include <cstring>

namespace unisono::adapter::messages {
namespace {

bool is_written_directly = false;

// False where the family's header does not tell the layout.
bool write([[maybe_unused]] MPI_Status* status, [[maybe_unused]] std::uint64_t bytes,
           [[maybe_unused]] bool is_cancelled) {
#if defined(UNISONO_FAMILY_OPENMPI)
  status->_ucount = bytes;
  status->_cancelled = is_cancelled ? 1 : 0;
  return true;
#elif defined(UNISONO_FAMILY_MPICH)
  status->count_lo = static_cast<int>(static_cast<std::uint32_t>(bytes));
  status->count_hi_and_cancelled =
      static_cast<int>(static_cast<std::uint32_t>(bytes >> 32) << 1 | (is_cancelled ? 1U : 0U));
  return true;
#else
  return false;
#endif
}

void write_by_host(MPI_Status* status, std::uint64_t bytes, bool is_cancelled) {
  pmpi.Status_set_elements_x(status, MPI_BYTE, static_cast<MPI_Count>(bytes));
  pmpi.Status_set_cancelled(status, is_cancelled ? 1 : 0);
}

}  // namespace

void begin_statuses() {
  constexpr std::uint64_t samples[] = {0, 1, 0x7FFFFFFF, 0x123456789AULL};
  is_written_directly = true;
  for (const std::uint64_t bytes : samples) {
    for (const bool is_cancelled : {false, true}) {
      MPI_Status own, hosts;
      std::memset(&own, 0, sizeof own);
      std::memset(&hosts, 0, sizeof hosts);
      const bool is_known = write(&own, bytes, is_cancelled);
      write_by_host(&hosts, bytes, is_cancelled);
      is_written_directly = is_written_directly && is_known && std::memcmp(&own, &hosts, sizeof own) == 0;
    }
  }
}

void set_status(MPI_Status* status, int source, int tag, std::uint64_t bytes, bool is_cancelled) {
  if (status == MPI_STATUS_IGNORE) return;
  status->MPI_SOURCE = source;
  status->MPI_TAG = tag;
  if (is_written_directly) {
    write(status, bytes, is_cancelled);
  } else {
    write_by_host(status, bytes, is_cancelled);
  }
}

void set_empty_status(MPI_Status* status) {
  set_status(status, MPI_ANY_SOURCE, MPI_ANY_TAG, 0);
}

}  // namespace unisono::adapter::messages
