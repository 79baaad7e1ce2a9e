// SPDX-License-Identifier: BSD-3-Clause
// Communicators that are made and freed, and types that are freed: handles may come again as others.
#include "adapter/recording/calls.h"

namespace unisono::adapter::recording {
namespace {

// A function whose last argument is the communicator that it makes.
template <int slot, class Function>
struct Making;
template <int slot, class... Arguments>
struct Making<slot, int (*)(Arguments...)> {
  static int call(Arguments... given) {
    const int result = reinterpret_cast<int (*)(Arguments...)>(below[slot])(given...);
    MPI_Comm* made = last(given...);
    if (result != MPI_SUCCESS || made == nullptr || *made == MPI_COMM_NULL) return result;
    const Recording recording;
    if (recording) recording->made(*made);
    return result;
  }
  static MPI_Comm* last(MPI_Comm* made) { return made; }
  template <class First, class... Rest>
  static MPI_Comm* last(First, Rest... rest) {
    return last(rest...);
  }
};

template <int slot>
int end_comm(MPI_Comm* comm) {
  if (comm != nullptr && *comm != MPI_COMM_NULL) {
    const Recording recording;
    if (recording) recording->forget(*comm);
  }
  return reinterpret_cast<int (*)(MPI_Comm*)>(below[slot])(comm);
}

int type_free(MPI_Datatype* type) {
  {
    const Recording recording;
    if (recording) recording->forget_types();
  }
  return under<unisono_slot_Type_free>(type_free)(type);
}

}  // namespace

void add_handles(UnisonoFunction* functions) {
#define UNISONO_PUT(Name)             \
  put(functions, unisono_slot_##Name, \
      reinterpret_cast<UnisonoFunction>(&Making<unisono_slot_##Name, decltype(&PMPI_##Name)>::call));
  UNISONO_PUT(Comm_dup)
  UNISONO_PUT(Comm_dup_with_info)
  UNISONO_PUT(Comm_create)
  UNISONO_PUT(Comm_create_group)
  UNISONO_PUT(Comm_split)
  UNISONO_PUT(Comm_split_type)
  UNISONO_PUT(Cart_create)
  UNISONO_PUT(Cart_sub)
  UNISONO_PUT(Graph_create)
  UNISONO_PUT(Dist_graph_create)
  UNISONO_PUT(Dist_graph_create_adjacent)
  UNISONO_PUT(Intercomm_create)
  UNISONO_PUT(Intercomm_merge)
#undef UNISONO_PUT
  put(functions, unisono_slot_Comm_free,
      reinterpret_cast<UnisonoFunction>(&end_comm<unisono_slot_Comm_free>));
  put(functions, unisono_slot_Comm_disconnect,
      reinterpret_cast<UnisonoFunction>(&end_comm<unisono_slot_Comm_disconnect>));
  put(functions, unisono_slot_Type_free, reinterpret_cast<UnisonoFunction>(&type_free));
}

}  // namespace unisono::adapter::recording
