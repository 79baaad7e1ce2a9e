// SPDX-License-Identifier: BSD-3-Clause
#include "adapter/host_interface/mpi_host.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "real_mpi.h"
#include "recording_runtime.h"

namespace unisono::adapter {
namespace {

class HostTest : public testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(host.comm_split(host.world(), 0, 0, &comm), MPI_SUCCESS); }
  void TearDown() override { EXPECT_EQ(host.comm_free(&comm), MPI_SUCCESS); }

  host::Host& host = *recording.host;
  host::Comm comm{};
};

TEST(LibraryName, IsShort) {
  EXPECT_EQ(short_library_name("Open MPI v4.1.4, package: Debian OpenMPI, ident: 4.1.4"), "Open MPI 4.1.4");
  EXPECT_EQ(short_library_name("MPICH Version:      4.0.2\nMPICH Release date: Thu Apr  7"), "MPICH 4.0.2");
  EXPECT_EQ(short_library_name("Intel(R) MPI Library 2021.18 for Linux* OS\n"), "Intel MPI 2021.18");
  EXPECT_EQ(short_library_name("Some MPI 3, whatever"), "Some MPI 3");
  EXPECT_EQ(short_library_name(""), "");
}

TEST_F(HostTest, Identity) {
  EXPECT_EQ(host.family_name(), family);
  EXPECT_FALSE(host.library_name().empty());
  EXPECT_EQ(host.comm_rank(host.world()), 0);
  EXPECT_EQ(host.comm_size(host.world()), 1);
  EXPECT_FALSE(host.is_intercommunicator(host.world()));
  EXPECT_EQ(host.comm_name(host.world()), "MPI_COMM_WORLD");
  EXPECT_EQ(host.comm_name(comm), "");
  std::vector<int> ranks;
  EXPECT_EQ(host.translate_ranks(host.world(), comm, &ranks), MPI_SUCCESS);
  EXPECT_EQ(ranks, std::vector<int>{0});
}

TEST_F(HostTest, NoColorNoCommunicator) {
  host::Comm none{};
  EXPECT_EQ(host.comm_split(host.world(), -1, 0, &none), MPI_SUCCESS);
  EXPECT_EQ(native(none), MPI_COMM_NULL);
}

TEST_F(HostTest, FreedCommunicatorsAreTold) {
  MPI_Comm freed = MPI_COMM_NULL;
  ASSERT_EQ(pmpi.Comm_split(MPI_COMM_WORLD, 0, 0, &freed), MPI_SUCCESS);
  static std::vector<int> order;
  order.clear();
  int first = 1;
  int second = 2;
  const auto note = [](void* state) { order.push_back(*static_cast<int*>(state)); };
  EXPECT_EQ(host.on_comm_free(widen<host::Comm>(freed), note, &first), MPI_SUCCESS);
  EXPECT_EQ(host.on_comm_free(widen<host::Comm>(freed), note, &second), MPI_SUCCESS);
  MPI_Comm copy = MPI_COMM_NULL;
  ASSERT_EQ(HOST(Comm_dup)(freed, &copy), MPI_SUCCESS);
  ASSERT_EQ(pmpi.Comm_free(&copy), MPI_SUCCESS);
  EXPECT_TRUE(order.empty()) << "a copy is another communicator";
  ASSERT_EQ(pmpi.Comm_free(&freed), MPI_SUCCESS);
  EXPECT_EQ(order, (std::vector<int>{1, 2}));
}

TEST_F(HostTest, ManyMessages) {
  constexpr int count = 150;  // more than test_some hands to the host at once
  std::vector<int> sent(count);
  std::vector<int> received(count, -1);
  std::vector<host::Request> requests(2 * count);
  for (int i = 0; i < count; ++i) {
    sent[i] = 1000 + i;
    ASSERT_EQ(host.irecv(&received[i], sizeof(int), 0, i, comm, &requests[i]), MPI_SUCCESS);
  }
  for (int i = 0; i < count; ++i) {
    ASSERT_EQ(host.isend(&sent[i], sizeof(int), 0, i, comm, &requests[count + i]), MPI_SUCCESS);
  }
  std::vector<bool> is_done(2 * count, false);
  for (int done = 0; done < 2 * count;) {
    int completed_count = 0;
    std::vector<int> completed(2 * count);
    ASSERT_EQ(host.test_some(2 * count, requests.data(), &completed_count, completed.data()), MPI_SUCCESS);
    for (int i = 0; i < completed_count; ++i) {
      EXPECT_FALSE(is_done[completed[i]]) << "told twice";
      is_done[completed[i]] = true;
    }
    done += completed_count;
    host.progress();
  }
  EXPECT_EQ(received, sent);
  int completed_count = -1;
  int none = 0;
  EXPECT_EQ(host.test_some(1, requests.data(), &completed_count, &none), MPI_SUCCESS);
  EXPECT_EQ(completed_count, 0) << "nothing is left";
}

TEST_F(HostTest, TestCompletesAndFrees) {
  int received = 0;
  const int sent = 7;
  host::Request receive{};
  host::Request send{};
  ASSERT_EQ(host.irecv(&received, sizeof received, 0, 5, comm, &receive), MPI_SUCCESS);
  bool is_done = true;
  ASSERT_EQ(host.test(&receive, &is_done), MPI_SUCCESS);
  EXPECT_FALSE(is_done);
  ASSERT_EQ(host.isend(&sent, sizeof sent, 0, 5, comm, &send), MPI_SUCCESS);
  for (host::Request* request : {&receive, &send}) {
    for (is_done = false; !is_done;) ASSERT_EQ(host.test(request, &is_done), MPI_SUCCESS);
    EXPECT_EQ(narrow<MPI_Request>(*request), MPI_REQUEST_NULL);
  }
  EXPECT_EQ(received, 7);
}

TEST_F(HostTest, Collectives) {
  std::uint64_t values[] = {5, ~std::uint64_t{0}};
  for (const host::AgreeOp op : {host::AgreeOp::band, host::AgreeOp::bor, host::AgreeOp::min,
                                 host::AgreeOp::max, host::AgreeOp::sum}) {
    EXPECT_EQ(host.agree(values, 2, op, comm), MPI_SUCCESS);
    EXPECT_EQ(values[0], 5u);
    EXPECT_EQ(values[1], ~std::uint64_t{0});
  }
  char data[] = "data";
  char out[sizeof data] = "";
  EXPECT_EQ(host.bcast_bytes(data, sizeof data, 0, comm), MPI_SUCCESS);
  EXPECT_EQ(host.allgather_bytes(data, sizeof data, out, comm), MPI_SUCCESS);
  EXPECT_STREQ(out, "data");
  out[0] = 'y';
  host::Request request;
  EXPECT_EQ(host.start_allgather_bytes(data, sizeof data, out, comm, &request), MPI_SUCCESS);
  for (bool is_done = false; !is_done;) ASSERT_EQ(host.test(&request, &is_done), MPI_SUCCESS);
  EXPECT_STREQ(out, "data");
  out[0] = 'x';
  EXPECT_EQ(host.gather_bytes(data, sizeof data, out, 0, comm), MPI_SUCCESS);
  EXPECT_STREQ(out, "data");
  EXPECT_EQ(host.barrier(comm), MPI_SUCCESS);
}

TEST_F(HostTest, PackAndUnpack) {
  MPI_Datatype every_other = MPI_DATATYPE_NULL;
  ASSERT_EQ(HOST(Type_vector)(2, 1, 2, MPI_INT, &every_other), MPI_SUCCESS);
  ASSERT_EQ(pmpi.Type_commit(&every_other), MPI_SUCCESS);
  const auto type = widen<host::Datatype>(every_other);
  const int data[] = {1, 2, 3, 4, 5, 6};
  int packed[4] = {};
  EXPECT_EQ(host.pack(data, 2, type, packed, sizeof packed), MPI_SUCCESS);
  EXPECT_EQ(std::vector<int>(packed, packed + 4), (std::vector<int>{1, 3, 4, 6}));
  int unpacked[6] = {};
  EXPECT_EQ(host.unpack(packed, sizeof packed, unpacked, 2, type), MPI_SUCCESS);
  EXPECT_EQ(std::vector<int>(unpacked, unpacked + 6), (std::vector<int>{1, 0, 3, 4, 0, 6}));
  EXPECT_EQ(host.pack(nullptr, 0, type, nullptr, 0), MPI_SUCCESS);
  EXPECT_EQ(pmpi.Type_free(&every_other), MPI_SUCCESS);
}

TEST_F(HostTest, PackFromAbsoluteAddresses) {
  int data[] = {1, 2, 3};
  MPI_Aint address = 0;
  ASSERT_EQ(HOST(Get_address)(data, &address), MPI_SUCCESS);
  const int length = 3;
  MPI_Datatype absolute = MPI_DATATYPE_NULL;
  ASSERT_EQ(pmpi.Type_create_hindexed(1, &length, &address, MPI_INT, &absolute), MPI_SUCCESS);
  ASSERT_EQ(pmpi.Type_commit(&absolute), MPI_SUCCESS);
  int packed[3] = {};
  EXPECT_EQ(host.pack(MPI_BOTTOM, 1, widen<host::Datatype>(absolute), packed, sizeof packed), MPI_SUCCESS);
  EXPECT_EQ(std::vector<int>(packed, packed + 3), (std::vector<int>{1, 2, 3}));
  const int others[] = {4, 5, 6};
  EXPECT_EQ(host.unpack(others, sizeof others, MPI_BOTTOM, 1, widen<host::Datatype>(absolute)), MPI_SUCCESS);
  EXPECT_EQ(std::vector<int>(data, data + 3), (std::vector<int>{4, 5, 6}));
  EXPECT_EQ(pmpi.Type_free(&absolute), MPI_SUCCESS);
}

TEST_F(HostTest, HugeElements) {
  constexpr std::size_t bytes = std::size_t{3} << 30;
  const int block = 1 << 30;
  const int lengths[] = {block, block, block};
  const MPI_Aint displacements[] = {0, block, 2 * MPI_Aint{block}};
  MPI_Datatype huge = MPI_DATATYPE_NULL;
  ASSERT_EQ(pmpi.Type_create_hindexed(3, lengths, displacements, MPI_BYTE, &huge), MPI_SUCCESS);
  ASSERT_EQ(pmpi.Type_commit(&huge), MPI_SUCCESS);
  host::TypeInfo info;
  EXPECT_EQ(host.type_info(widen<host::Datatype>(huge), &info), MPI_SUCCESS);
  EXPECT_EQ(info.size_bytes, bytes);
  EXPECT_TRUE(info.is_contiguous);
  EXPECT_EQ(pmpi.Type_free(&huge), MPI_SUCCESS);
}

int times_called = 0;

void append(void* in, void* inout, int* count, MPI_Datatype*) {
  ++times_called;
  for (int i = 0; i < *count; ++i) {
    static_cast<int*>(inout)[i] += 10 * static_cast<int*>(in)[i];
  }
}

TEST_F(HostTest, Operators) {
  const auto sum = widen<host::Op>(MPI_SUM);
  EXPECT_EQ(static_cast<int>(host.reduce_op(sum)), static_cast<int>(ReduceOp::sum));
  EXPECT_TRUE(host.is_commutative(sum));
  MPI_Op made = MPI_OP_NULL;
  ASSERT_EQ(HOST(Op_create)(append, 0, &made), MPI_SUCCESS);
  const auto own = widen<host::Op>(made);
  EXPECT_EQ(static_cast<int>(host.reduce_op(own)), static_cast<int>(ReduceOp::host));
  EXPECT_FALSE(host.is_commutative(own));
  const int in[] = {1, 2};
  int inout[] = {3, 4};
  EXPECT_EQ(host.reduce_local(in, inout, 2, widen<host::Datatype>(MPI_INT), own), MPI_SUCCESS);
  EXPECT_EQ(inout[0], 13);
  EXPECT_EQ(inout[1], 24);
  EXPECT_EQ(host.reduce_local(in, inout, 0, widen<host::Datatype>(MPI_INT), own), MPI_SUCCESS);
  EXPECT_EQ(times_called, 1);
  EXPECT_EQ(HOST(Op_free)(&made), MPI_SUCCESS);
}

int seen_code = 0;

void see(MPI_Comm*, int* code, ...) {
  seen_code = *code;
}

TEST_F(HostTest, ErrorsReachTheProgramsHandler) {
  MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
  ASSERT_EQ(HOST(Comm_create_errhandler)(see, &handler), MPI_SUCCESS);
  MPI_Comm own = MPI_COMM_NULL;
  ASSERT_EQ(pmpi.Comm_split(MPI_COMM_WORLD, 0, 0, &own), MPI_SUCCESS);
  ASSERT_EQ(pmpi.Comm_set_errhandler(own, handler), MPI_SUCCESS);
  EXPECT_EQ(host.call_error_handler(widen<host::Comm>(own), MPI_ERR_TRUNCATE), MPI_ERR_TRUNCATE);
  EXPECT_EQ(seen_code, MPI_ERR_TRUNCATE);
  EXPECT_EQ(pmpi.Comm_free(&own), MPI_SUCCESS);
  EXPECT_EQ(HOST(Errhandler_free)(&handler), MPI_SUCCESS);
}

}  // namespace
}  // namespace unisono::adapter
