// SPDX-License-Identifier: BSD-3-Clause
// The host interface over a real MPI.
#pragma once

#include <string>
#include <vector>

#include "adapter/below/functions.h"
#include "base/mutex.h"

namespace unisono::adapter {

class MpiHost final : public host::Host {
 public:
  // After the host's MPI_Init has succeeded.
  void begin();
  // The same MPI once more, over the processes of a communicator of the program.
  void begin_across(const MpiHost& first, MPI_Comm comm);
  ~MpiHost() override;
  // Before the host's MPI_Finalize.
  void end();

  const std::string& library_name() const override { return library_name_; }
  const std::string& family_name() const override { return family_name_; }
  bool is_thread_multiple() const override { return is_thread_multiple_; }
  int largest_tag() const override { return tag_of_no_message() - 1; }
  bool is_fault_tolerant() const override;
  bool takes_device_memory() override;

  host::Comm world() const override { return widen<host::Comm>(is_across() ? across_ : MPI_COMM_WORLD); }
  int comm_rank(host::Comm comm) override;
  int comm_size(host::Comm comm) override;
  bool is_intercommunicator(host::Comm comm) override;
  int comm_split(host::Comm parent, int color, int key, host::Comm* created) override;
  int comm_copy(host::Comm parent, host::Comm* created) override;
  int comm_free(host::Comm* comm) override;
  int translate_ranks(host::Comm from, host::Comm to, std::vector<int>* ranks) override;
  int on_comm_free(host::Comm comm, void (*callback)(void*), void* state) override;
  std::string comm_name(host::Comm comm) override;
  host::Hint reproducible_hint(host::Comm comm) override;
  bool has_ordered_persistent(host::Comm comm) override;
  bool has_hints(host::Comm comm) override;
  int neighbors(host::Comm comm, host::TopologyNeighbors* found) override;

  int isend(const void* data, std::size_t bytes, int destination, int tag, host::Comm comm,
            host::Request* request) override;
  int issend(const void* data, std::size_t bytes, int destination, int tag, host::Comm comm,
             host::Request* request) override;
  int irecv(void* data, std::size_t bytes, int source, int tag, host::Comm comm,
            host::Request* request) override;
  int cancel_receive(host::Request* request) override;
  int test(host::Request* request, bool* is_done) override;
  int wait(host::Request* request) override;
  int test_some(int count, host::Request* requests, int* completed_count, int* completed) override;
  void progress() override;

  int agree(std::uint64_t* values, int count, host::AgreeOp op, host::Comm comm) override;
  int bcast_bytes(void* data, std::size_t bytes, int root, host::Comm comm) override;
  int allgather_bytes(const void* in, std::size_t bytes, void* out, host::Comm comm) override;
  int start_allgather_bytes(const void* in, std::size_t bytes, void* out, host::Comm comm,
                            host::Request* request) override;
  int start_bcast_bytes(void* data, std::size_t bytes, int root, host::Comm comm,
                        host::Request* request) override;
  int gather_bytes(const void* in, std::size_t bytes, void* out, int root, host::Comm comm) override;
  int barrier(host::Comm comm) override;

  int type_info(host::Datatype type, host::TypeInfo* info) override;
  int pack(const void* data, std::size_t count, host::Datatype type, void* packed,
           std::size_t packed_bytes) override;
  int unpack(const void* packed, std::size_t packed_bytes, void* data, std::size_t count,
             host::Datatype type) override;
  ReduceOp reduce_op(host::Op op) override;
  host::Op predefined_op(ReduceOp op) override;
  bool is_commutative(host::Op op) override;
  bool is_defined(host::Op op, host::Datatype type) override;
  ElementType kernel_type(host::Op op, host::Datatype type, ElementType element) override;
  int reduce_local(const void* in, void* inout, std::size_t count, host::Datatype type, host::Op op) override;

  int rank_has_died() const override;
  int call_error_handler(host::Comm comm, int error_code) override;
  int abort(host::Comm comm, int exit_code) override;

 private:
  bool is_across() const { return across_ != MPI_COMM_NULL; }
  // Until the call that was started is complete.
  int finish(int error, MPI_Request* request, MPI_Comm comm = MPI_COMM_NULL) const;
  // The MPI's largest tag stays free: progress() looks for it, in vain.
  int tag_of_no_message() const { return largest_tag_of_mpi_; }
  // Keeps one that was made, if there is one.
  int adopt(host::Comm parent, MPI_Comm made, host::Comm* created);
  // Has it all ranks of `parent` in their order?
  bool is_copy(host::Comm parent, host::Comm made);
  // Copies between datatypes by a message to oneself.
  int copy_by_message(const void* from, std::size_t from_count, MPI_Datatype from_type, void* to,
                      std::size_t to_count, MPI_Datatype to_type) UNISONO_EXCLUDES(self_mutex_);

  MPI_Comm across_ = MPI_COMM_NULL;  // null: the host is over MPI_COMM_WORLD
  std::string library_name_;
  std::string family_name_ = family;
  bool is_thread_multiple_ = false;
  int largest_tag_of_mpi_ = 32767;
  // A communicator over the world that no program knows: where progress() polls.
  MPI_Comm progress_comm_ = MPI_COMM_NULL;
  // Held while a message to oneself is under way: those of two threads would meet. Packing needs none.
  Mutex self_mutex_;
  MPI_Comm self_comm_ = MPI_COMM_NULL;
};

// Before the host frees a communicator for the program: takes away what on_comm_free has attached. (Of the
// callbacks' errors some hosts return the last one alone: none of ours may come behind the program's.)
void detach_free_callbacks(MPI_Comm comm);

// Calls of such a communicator may never end on Open MPI 5, also those that have begun before.
bool is_revoked(MPI_Comm comm);

// "Open MPI 5.0.11" out of what MPI_Get_library_version says.
std::string short_library_name(const std::string& version);

}  // namespace unisono::adapter
