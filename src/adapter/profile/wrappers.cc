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

enum Number : std::size_t {
#define UNISONO_NUMBER(name) number_##name,
  UNISONO_PROFILE_NAMES(UNISONO_NUMBER)
#undef UNISONO_NUMBER
#ifdef UNISONO_PROFILE_LACKS_LARGE_COLLECTIVES
#define UNISONO_NUMBER(Name, name) number_##Name##_c, number_I##name##_c, number_##Name##_init_c,
      UNISONO_COLLECTIVES_WITH_COUNTS(UNISONO_NUMBER)
#undef UNISONO_NUMBER
#define UNISONO_NUMBER(Name, name, Large) number_##Name##_c,
          UNISONO_MESSAGE_FUNCTIONS(UNISONO_NUMBER)
#undef UNISONO_NUMBER
#endif
              number_count
};

template <std::size_t number, Traits traits, Ends end, class Function>
UnisonoFunction wrapper() {
  return reinterpret_cast<UnisonoFunction>(&Counted<number, traits, end, Function>::call);
}

const CountedFunction functions[] = {
#define UNISONO_COUNTED_AS(name, type) \
  {#name, traits_of(#name), wrapper<number_##name, traits_of(#name), ends(#name), type>()},
#define UNISONO_COUNTED(name) UNISONO_COUNTED_AS(name, decltype(&PMPI_##name))
    UNISONO_PROFILE_NAMES(UNISONO_COUNTED)
// Unisono has these where the MPI has none.
#ifdef UNISONO_PROFILE_LACKS_LARGE_COLLECTIVES
#define UNISONO_LARGE(Name, name)                             \
  UNISONO_COUNTED_AS(Name##_c, LargeTypes::Name)              \
  UNISONO_COUNTED_AS(I##name##_c, Starting<LargeTypes::Name>) \
  UNISONO_COUNTED_AS(Name##_init_c, Initializing<LargeTypes::Name>)
        UNISONO_COLLECTIVES_WITH_COUNTS(UNISONO_LARGE)
#undef UNISONO_LARGE
#define UNISONO_LARGE(Name, name, Large) UNISONO_COUNTED_AS(Name##_c, LargeMessageTypes::Large)
            UNISONO_MESSAGE_FUNCTIONS(UNISONO_LARGE)
#endif
};

UnisonoFunction all_targets[number_count];

}  // namespace

const CountedFunction* const counted_functions = functions;
const std::size_t counted_function_count = number_count;
UnisonoFunction* const targets = all_targets;

}  // namespace unisono::adapter::profile
