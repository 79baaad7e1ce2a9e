// SPDX-License-Identifier: BSD-3-Clause
#include "adapter/below/operators.h"

#include <array>
#include <cstring>
#include <vector>

#include "adapter/below/datatype.h"
#include "adapter/below/functions.h"
#include "base/mutex.h"
#include "base/reduce_kernels.h"

namespace unisono::adapter {
namespace {

// MPI 4.1, section 6.9.2, and for pairs of a value and an index 6.9.4.
bool is_in_standard(ReduceOp op, Kind kind) {
  const bool is_c_integer = kind == Kind::signed_integer || kind == Kind::unsigned_integer;
  const bool is_integer =
      is_c_integer || kind == Kind::fortran_integer || kind == Kind::multi_language_integer;
  switch (op) {
    case ReduceOp::max:
    case ReduceOp::min:
      return is_integer || kind == Kind::floating;
    case ReduceOp::sum:
    case ReduceOp::prod:
      return is_integer || kind == Kind::floating || kind == Kind::complex;
    case ReduceOp::land:
    case ReduceOp::lor:
    case ReduceOp::lxor:
      return is_c_integer || kind == Kind::c_bool || kind == Kind::logical;
    case ReduceOp::band:
    case ReduceOp::bor:
    case ReduceOp::bxor:
      return is_integer || kind == Kind::byte;
    case ReduceOp::minloc:
    case ReduceOp::maxloc:
      return kind == Kind::float_int || kind == Kind::double_int || kind == Kind::int_int ||
             kind == Kind::pair;
    case ReduceOp::host:
      break;
  }
  return false;
}

// --- The host's own judgement ---

// An allreduce of nothing on a communicator of this process's own: the host looks at operator and type first,
// and says by an error whether it would go on. The error is raised on that communicator, which returns it;
// no handler of the program's is called or changed.
class HostJudge {
 public:
  bool takes(MPI_Op op, MPI_Datatype type) {
    const LockGuard lock(mutex_);
    return is_ready() && asks(op, type);
  }
  void end() {
    const LockGuard lock(mutex_);
    if (comm_ != MPI_COMM_NULL) pmpi.Comm_free(&comm_);
    is_judging_ = false;
  }

 private:
  bool asks(MPI_Op op, MPI_Datatype type) const UNISONO_REQUIRES(mutex_) {
    std::array<char, 16> in{}, out{};
    return pmpi.allreduce.small(in.data(), out.data(), 0, type, op, comm_) == MPI_SUCCESS;
  }
  // A host that checks no arguments (Open MPI with mpi_param_check 0) takes everything: it is not believed.
  bool is_ready() UNISONO_REQUIRES(mutex_) {
    if (!is_begun_) {
      is_begun_ = true;
      is_judging_ = pmpi.Comm_split(MPI_COMM_SELF, 0, 0, &comm_) == MPI_SUCCESS &&
                    pmpi.Comm_set_errhandler(comm_, MPI_ERRORS_RETURN) == MPI_SUCCESS &&
                    !asks(MPI_BAND, MPI_DOUBLE) && asks(MPI_BAND, MPI_INT);
    }
    return is_judging_;
  }

  Mutex mutex_;
  MPI_Comm comm_ UNISONO_GUARDED_BY(mutex_) = MPI_COMM_NULL;
  bool is_begun_ UNISONO_GUARDED_BY(mutex_) = false;
  bool is_judging_ UNISONO_GUARDED_BY(mutex_) = false;
};
HostJudge& judge() {
  static auto* one = new HostJudge;  // never destroyed: programs may call after static destructors
  return *one;
}

enum Answer : std::uint8_t { not_asked, no, yes };

bool is_taken_by_host(std::atomic<std::uint8_t>* answer, MPI_Op op, MPI_Datatype type) {
  std::uint8_t known = answer->load(std::memory_order_relaxed);
  if (known == not_asked) {
    known = judge().takes(op, type) ? yes : no;
    answer->store(known, std::memory_order_relaxed);
  }
  return known == yes;
}

// --- Kernels for pairs that the standard does not name: those that give the host's bits ---

constexpr std::size_t compared_elements = 256;

// Numbers of any bits, and zeros on either side and on both, of which logical operators make something else.
// Sums and products stay within a byte: beyond it the hosts differ from themselves (Open MPI's vector units
// stop at the largest number, what follows their loops does not).
std::vector<char> operands(std::size_t element_bytes, ReduceOp op, bool is_signed, unsigned draw,
                           std::size_t zeros_every) {
  const bool is_small = op == ReduceOp::sum || op == ReduceOp::prod;
  std::vector<char> data(compared_elements * element_bytes);
  for (std::size_t i = 0; i < compared_elements; ++i) {
    for (std::size_t k = 0; k < element_bytes; ++k) {
      draw = draw * 1664525u + 1013904223u;
      const int small = static_cast<int>((draw >> 20) % 12);
      const int drawn = !is_small ? static_cast<int>(draw >> 24) : is_signed && i % 2 == 0 ? -small : small;
      data[i * element_bytes + k] = static_cast<char>(i % zeros_every == 0 ? 0 : drawn);
    }
  }
  return data;
}

bool gives_hosts_bits(ElementType candidate, MPI_Op op, MPI_Datatype type) {
  const ReduceOp known = classify(op);
  const Kernel kernel = reduce_kernel(known, candidate);
  if (kernel == nullptr) return false;
  const std::size_t bytes = element_bytes(candidate);
  const bool is_signed = candidate != ElementType::uint8;
  const std::vector<char> left = operands(bytes, known, is_signed, 1, 3);
  const std::vector<char> right = operands(bytes, known, is_signed, 2, 5);
  std::vector<char> by_host = right, by_kernel(right.size());
  const int error =
      pmpi.Reduce_local(left.data(), by_host.data(), static_cast<int>(compared_elements), type, op);
  kernel(by_kernel.data(), left.data(), right.data(), compared_elements);
  return error == MPI_SUCCESS && by_host == by_kernel;
}

ElementType find_kernel_type(MPI_Op op, MPI_Datatype type, ElementType element) {
  host::TypeInfo info;
  if (describe(type, &info) != MPI_SUCCESS || !info.is_contiguous) return ElementType::other;
  for (const ElementType candidate : {element, ElementType::int8, ElementType::uint8}) {
    if (element_bytes(candidate) == info.size_bytes && gives_hosts_bits(candidate, op, type))
      return candidate;
  }
  return ElementType::other;
}

}  // namespace

bool is_defined(MPI_Op op, MPI_Datatype type) {
  const ReduceOp known = classify(op);
  // These two are for one-sided calls.
  if (known == ReduceOp::host) return (op != MPI_REPLACE && op != MPI_NO_OP) || judge().takes(op, type);
  PredefinedType* predefined = find_predefined(type);
  // Of derived types the host may take those of MPI_Type_create_f90_real and its kin. Their handles stay, but
  // those of others come again for other types: nothing is kept of them.
  if (predefined == nullptr) return judge().takes(op, type);
  return is_in_standard(known, predefined->kind) ||
         is_taken_by_host(&predefined->operators[static_cast<std::size_t>(known)].answer, op, type);
}

// The comparison waits for a call that reduces something: a host that stops the program at such a pair does
// so in the program's own call as well.
ElementType kernel_type(MPI_Op op, MPI_Datatype type, ElementType element) {
  const ReduceOp known = classify(op);
  PredefinedType* predefined = known == ReduceOp::host ? nullptr : find_predefined(type);
  if (predefined == nullptr || is_in_standard(known, predefined->kind)) return element;
  std::atomic<std::uint8_t>& found = predefined->operators[static_cast<std::size_t>(known)].kernel;
  std::uint8_t kept = found.load(std::memory_order_relaxed);
  if (kept == 0) {
    kept = static_cast<std::uint8_t>(1 + static_cast<int>(find_kernel_type(op, type, element)));
    found.store(kept, std::memory_order_relaxed);
  }
  return static_cast<ElementType>(kept - 1);
}

void end_operators() {
  judge().end();
}

}  // namespace unisono::adapter
