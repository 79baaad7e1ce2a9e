// SPDX-License-Identifier: BSD-3-Clause
// The list of names is made of the MPI's header by the build (FindNames.cmake).
#include "adapter/profile/wrappers.h"

#include "adapter/below/functions.h"
#include "adapter/profile/counted.h"
#include "profile_names.h"

// What MPI advises against is counted like everything else.
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

namespace unisono::adapter::profile {
namespace {

// X(name, type) of each of them. Unisono has large collectives and messages where the MPI has none.
#define UNISONO_OF_MPI(name) UNISONO_X(name, decltype(&PMPI_##name))
#ifdef UNISONO_PROFILE_LACKS_LARGE_COLLECTIVES
#define UNISONO_LARGE(Name, name)                    \
  UNISONO_X(Name##_c, LargeTypes::Name)              \
  UNISONO_X(I##name##_c, Starting<LargeTypes::Name>) \
  UNISONO_X(Name##_init_c, Initializing<LargeTypes::Name>)
#define UNISONO_LARGE_MESSAGE(Name, name, Large) UNISONO_X(Name##_c, LargeMessageTypes::Large)
#define UNISONO_ALL                              \
  UNISONO_PROFILE_NAMES(UNISONO_OF_MPI)          \
  UNISONO_COLLECTIVES_WITH_COUNTS(UNISONO_LARGE) \
  UNISONO_MESSAGE_FUNCTIONS(UNISONO_LARGE_MESSAGE)
#else
#define UNISONO_ALL UNISONO_PROFILE_NAMES(UNISONO_OF_MPI)
#endif

enum Number : std::size_t {
#define UNISONO_X(name, type) number_##name,
  UNISONO_ALL
#undef UNISONO_X
      number_count
};

#define UNISONO_X(name, type) constexpr Traits traits_##name = traits_of(#name);
UNISONO_ALL
#undef UNISONO_X

// Two arrays of constants: code that fills one at the start would take seconds to compile.
constexpr CountedFunction functions[] = {
#define UNISONO_X(name, type) {#name, traits_##name},
    UNISONO_ALL
#undef UNISONO_X
};
const UnisonoFunction wrappers[] = {
#define UNISONO_X(name, type) \
  reinterpret_cast<UnisonoFunction>(&Counted<number_##name, traits_##name, ends(#name), type>::call),
    UNISONO_ALL
#undef UNISONO_X
};

UnisonoFunction all_targets[number_count];

}  // namespace

const CountedFunction* const counted_functions = functions;
const UnisonoFunction* const counted_wrappers = wrappers;
const std::size_t counted_function_count = number_count;
UnisonoFunction* const targets = all_targets;

}  // namespace unisono::adapter::profile
