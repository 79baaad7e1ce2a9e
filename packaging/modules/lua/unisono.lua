-- SPDX-License-Identifier: BSD-3-Clause
-- The commands and manual pages of Unisono. It finds its prefix by where it lies; where it is copied elsewhere, set that here.
local prefix = myFileName()
for _ = 1, 6 do prefix = prefix:match("^(.*)/[^/]+$") end

help("Unisono makes the collectives of MPI programs faster: unisono run mpirun ...")
whatis("Description: collective communication that tunes itself, under any MPI program")
conflict("unisono")
prepend_path("PATH", pathJoin(prefix, "bin"))
prepend_path("MANPATH", pathJoin(prefix, "share/man"))
prepend_path("CPATH", pathJoin(prefix, "include"))
setenv("UNISONO_PREFIX", prefix)
