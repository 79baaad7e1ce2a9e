// SPDX-License-Identifier: BSD-3-Clause
// MPI_ERROR in an array of statuses.
#pragma once

#include "adapter/below/functions.h"

namespace unisono::adapter {

// It is written where a request has failed alone, and then in all of the array (MPI 4.1, 3.7.5): else it
// stays what the program had there.
class StatusErrors {
 public:
  explicit StatusErrors(MPI_Status* statuses) : statuses_(statuses) {}

  // The status at `place` has been written. In ascending order of places.
  void note(int place, int error) {
    if (error != MPI_SUCCESS && result_ == MPI_SUCCESS) {
      result_ = MPI_ERR_IN_STATUS;
      for (int i = 0; i < place; ++i) set(i, MPI_SUCCESS);
    }
    if (result_ != MPI_SUCCESS) set(place, error);
  }
  int result() const { return result_; }  // of the call

 private:
  void set(int place, int error) {
    if (statuses_ != MPI_STATUSES_IGNORE) statuses_[place].MPI_ERROR = error;
  }

  MPI_Status* statuses_;
  int result_ = MPI_SUCCESS;
};

// What stands in `from`, but for MPI_ERROR.
inline void copy_but_error(const MPI_Status& from, MPI_Status* to) {
  const int error = to->MPI_ERROR;
  *to = from;
  to->MPI_ERROR = error;
}

}  // namespace unisono::adapter
