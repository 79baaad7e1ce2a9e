// SPDX-License-Identifier: BSD-3-Clause
#include "adapter/recording/queue_samples.h"

#if defined(UNISONO_FAMILY_OPENMPI)
#include <dlfcn.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <unordered_map>
#include <vector>

#include "adapter/below/nesting.h"

namespace unisono::adapter::recording {
namespace {

constexpr const char* names[] = {"pml_ob1_unexpected_msgq_length", "pml_ob1_posted_recvq_length"};
constexpr std::uint64_t least_ticks = 2'000'000;  // between two samples: about a millisecond
constexpr std::uint64_t share = 100;              // of the time, that samples take at most

struct Functions {
  decltype(&MPI_T_init_thread) init_thread = nullptr;
  decltype(&MPI_T_finalize) finalize = nullptr;
  decltype(&MPI_T_pvar_get_index) get_index = nullptr;
  decltype(&MPI_T_pvar_session_create) session_create = nullptr;
  decltype(&MPI_T_pvar_session_free) session_free = nullptr;
  decltype(&MPI_T_pvar_handle_alloc) handle_alloc = nullptr;
  decltype(&MPI_T_pvar_handle_free) handle_free = nullptr;
  decltype(&MPI_T_pvar_read) read = nullptr;
};
template <class Function>
bool find(Function* function, const char* name) {
  *function = reinterpret_cast<Function>(dlsym(pmpi.library, name));
  return *function != nullptr;
}

// Both lengths of one communicator's queues: a number for each peer.
struct Handles {
  MPI_T_pvar_handle handle[2] = {nullptr, nullptr};
  std::vector<unsigned> of_peers;
};
struct Sampler {
  Functions functions;
  MPI_T_pvar_session session = nullptr;
  int index[2] = {-1, -1};
  std::unordered_map<const Known*, Handles> of_comm;
  std::uint64_t next_ticks = 0;
};
Sampler* sampler = nullptr;

bool find_all(Functions* functions) {
  return find(&functions->init_thread, "PMPI_T_init_thread") &&
         find(&functions->finalize, "PMPI_T_finalize") &&
         find(&functions->get_index, "PMPI_T_pvar_get_index") &&
         find(&functions->session_create, "PMPI_T_pvar_session_create") &&
         find(&functions->session_free, "PMPI_T_pvar_session_free") &&
         find(&functions->handle_alloc, "PMPI_T_pvar_handle_alloc") &&
         find(&functions->handle_free, "PMPI_T_pvar_handle_free") &&
         find(&functions->read, "PMPI_T_pvar_read");
}

// Where it has no handle for one of them nothing is asked.
Handles opened(MPI_Comm comm) {
  Handles handles;
  int most = 0;
  for (int which = 0; which < 2; ++which) {
    int count = 0;
    if (sampler->functions.handle_alloc(sampler->session, sampler->index[which], &comm,
                                        &handles.handle[which], &count) != MPI_SUCCESS)
      handles.handle[which] = nullptr;
    most = std::max(most, count);
  }
  handles.of_peers.resize(static_cast<std::size_t>(most));
  return handles;
}

bool read(Handles* handles, int which, std::uint64_t* length) {
  if (handles->handle[which] == nullptr) return false;
  std::ranges::fill(handles->of_peers, 0U);
  if (sampler->functions.read(sampler->session, handles->handle[which], handles->of_peers.data()) !=
      MPI_SUCCESS)
    return false;
  *length = std::accumulate(handles->of_peers.begin(), handles->of_peers.end(), std::uint64_t{0});
  return true;
}

}  // namespace

bool begin_samples() {
  auto made = std::make_unique<Sampler>();
  int provided = 0;
  const Nested nested;
  if (!find_all(&made->functions) || made->functions.init_thread(MPI_THREAD_SINGLE, &provided) != MPI_SUCCESS)
    return false;
  const auto has_all = [&] {
    for (int which = 0; which < 2; ++which) {
      if (made->functions.get_index(names[which], MPI_T_PVAR_CLASS_SIZE, &made->index[which]) != MPI_SUCCESS)
        return false;
    }
    return made->functions.session_create(&made->session) == MPI_SUCCESS;
  };
  if (!has_all()) {
    made->functions.finalize();
    return false;
  }
  sampler = made.release();
  return true;
}

void take_sample(Recorder* recorder, const Known& known, MPI_Comm comm, std::uint64_t now) {
  auto found = sampler->of_comm.find(&known);
  if (found == sampler->of_comm.end()) found = sampler->of_comm.emplace(&known, opened(comm)).first;
  std::uint64_t messages = 0, receives = 0;
  if (read(&found->second, 0, &messages) && read(&found->second, 1, &receives))
    recorder->events.sampled(now, known.context, messages, receives);
  const std::uint64_t after = ticks();
  sampler->next_ticks = after + std::max(least_ticks, share * (after - now));
}

std::uint64_t next_sample_ticks() {
  return sampler == nullptr ? UINT64_MAX : sampler->next_ticks;
}

void end_samples(const Known* known) {
  if (sampler == nullptr) return;
  const Nested nested;
  std::erase_if(sampler->of_comm, [&](const auto& one) {
    if (known != nullptr && one.first != known) return false;
    for (MPI_T_pvar_handle handle : one.second.handle) {
      if (handle != nullptr) sampler->functions.handle_free(sampler->session, &handle);
    }
    return true;
  });
  if (known != nullptr) return;
  sampler->functions.session_free(&sampler->session);
  sampler->functions.finalize();
  delete sampler;
  sampler = nullptr;
}

}  // namespace unisono::adapter::recording

#else

namespace unisono::adapter::recording {

bool begin_samples() {
  return false;
}
void take_sample(Recorder*, const Known&, MPI_Comm, std::uint64_t) {}
std::uint64_t next_sample_ticks() {
  return UINT64_MAX;
}
void end_samples(const Known*) {}

}  // namespace unisono::adapter::recording

#endif
