// SPDX-License-Identifier: BSD-3-Clause
// What is known of an algorithm that may be learned among.
#pragma once

#include <functional>
#include <limits>
#include <string>

namespace unisono::tuning {

inline constexpr double unknown_s = std::numeric_limits<double>::infinity();

struct Candidate {
  std::string group;  // of the repository (S4)
  // By the model, which takes its time and is asked late; 0: it cannot say. Empty: there is none.
  std::function<double()> predict_s;
  double known_s = 0;         // measured before this job; 0: nothing
  std::string chosen_by;      // where that led to its choice ("learned by an earlier job"); empty: it did not
  bool is_suggested = false;  // by the user, or by what is known and not believed
  // Was known_s found on another communicator of this job? Then it need not be measured again.
  bool is_of_this_job = false;
  double uncertainty = 0;  // of that, relative to the others' times
  bool is_usual = false;   // what would be used without learning; none is: candidate 1

  // 0: nothing can be said.
  double predicted_s() const { return predict_s ? predict_s() : 0; }
};

}  // namespace unisono::tuning
