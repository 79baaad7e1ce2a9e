// SPDX-License-Identifier: BSD-3-Clause
// What others must know of requests of MPI_I calls of ours.
#pragma once

namespace unisono::adapter {

// Has the host asked us to cancel one since this thread was last asked here?
bool take_refused_cancel();

}  // namespace unisono::adapter
