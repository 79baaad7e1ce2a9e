// SPDX-License-Identifier: BSD-3-Clause
#include "adapter/life.h"

#include <algorithm>
#include <atomic>

#include "adapter/below/marks.h"
#include "adapter/below/nesting.h"
#include "adapter/below/operators.h"
#include "adapter/below/place.h"
#include "adapter/host_interface/mpi_host.h"
#include "adapter/messages/layer.h"
#include "adapter/profile/call_profile.h"
#include "adapter/recording/recording.h"
#include "adapter/requests/pending.h"
#include "adapter/requests/requests.h"
#include "adapter/worlds.h"
#include "runtime/profile_exchange.h"
#include "runtime/runtime.h"

namespace unisono::adapter {

namespace {

MpiHost host_below;
std::atomic<bool> is_begun{false};
std::atomic<bool> is_ended{false};
bool is_watching_self = false;
std::atomic<bool> is_enabled_by_program{true};
std::atomic<bool> is_profiled{false};

void update_open() {
  // What the program says is about its own world: others may have said nothing.
  is_open =
      is_begun && !is_ended && (is_enabled_by_program || runtime::has_across()) && runtime::is_running();
}

void end() {
  if (!is_begun || is_ended.exchange(true)) return;
  is_open = false;
  const Nested nested;
  runtime::meet_at_end();
  if (is_profiled) {
    profile::end_run();
    runtime::keep_profile(profile::counted());
  }
  recording::end_run(host_below);
  end_what_was_picked_up();
  messages::end();
  runtime::finish();
  end_requests();
  end_operators();
  host_below.end();
}

int copy_no_attribute(MPI_Comm, int, void*, void*, void*, int* is_copied) {
  *is_copied = 0;
  return MPI_SUCCESS;
}

int end_with_self(MPI_Comm, int, void*, void*) {
  end();
  return MPI_SUCCESS;
}

// MPI_Finalize deletes COMM_SELF's attributes first, with MPI still alive, and the last one before others.
// This one is set before the program's. Their delete functions may use all of MPI, and we end behind them.
void watch_self() {
  int keyval = MPI_KEYVAL_INVALID;
  is_watching_self =
      pmpi.Comm_create_keyval(copy_no_attribute, end_with_self, &keyval, nullptr) == MPI_SUCCESS &&
      pmpi.Comm_set_attr(MPI_COMM_SELF, keyval, nullptr) == MPI_SUCCESS;
}

void begin() {
  if (is_begun.exchange(true)) return;
  const Nested nested;
  host_below.begin();
  begin_places();
  begin_marks();
  watch_self();
  runtime::start(host_below, name_of_spawned());
  if (!is_enabled_by_program) runtime::set_enabled(false);
  messages::begin(host_below);
  recording::begin_run(host_below);
  update_open();
  is_profiled = profile::is_on.load();
  if (is_profiled) profile::begin_run(runtime::node_labels());
}

}  // namespace

// The program may get more than it asks for. Messages between nodes that Unisono carries need all, and so
// does what the runtime tells of.
int least_thread_level() {
  const bool needs_all = messages::asked_for() == "all" || runtime::needs_thread_multiple();
  return needs_all ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE;
}

int init(int* argc, char*** argv) {
  const int least = least_thread_level();
  come_to_world();
  int provided = MPI_THREAD_SINGLE;
  const int result =
      least == MPI_THREAD_SINGLE ? pmpi.Init(argc, argv) : pmpi.Init_thread(argc, argv, least, &provided);
  if (result == MPI_SUCCESS) begin();
  return result;
}

int init_thread(int* argc, char*** argv, int required, int* provided) {
  come_to_world();
  const int result = pmpi.Init_thread(argc, argv, std::max(required, least_thread_level()), provided);
  if (result == MPI_SUCCESS) begin();
  return result;
}

int finalize() {
  // The program may have calls under way, which its delete functions wait for, and others may wait for what
  // those do: until then nothing of ours waits for another rank.
  if (is_watching_self) {
    runtime::leave_all_to_program();
  } else {
    end();
  }
  return pmpi.Finalize();
}

MpiHost& host_of_job() {
  return host_below;
}

void make_host_progress() {
  host_below.progress();
}

bool is_alive() {
  return is_begun && !is_ended;
}

void look_again_whether_open() {
  update_open();
}

bool enable(bool is_enabled) {
  const bool before = is_enabled_by_program.exchange(is_enabled);
  if (is_alive()) runtime::set_enabled(is_enabled);
  update_open();
  return before;
}

}  // namespace unisono::adapter
