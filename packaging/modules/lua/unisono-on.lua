-- SPDX-License-Identifier: BSD-3-Clause
-- Unisono for every MPI program that is started while this module is loaded, without `unisono run`.
local prefix = myFileName()
for _ = 1, 6 do prefix = prefix:match("^(.*)/[^/]+$") end

help("MPI programs run under Unisono while this module is loaded. One job without it: UNISONO_ENABLE=off")
whatis("Description: all MPI programs under Unisono, without unisono run")
conflict("unisono")
prepend_path("PATH", pathJoin(prefix, "bin"))
prepend_path("MANPATH", pathJoin(prefix, "share/man"))
prepend_path("CPATH", pathJoin(prefix, "include"))
append_path("LD_PRELOAD", pathJoin(prefix, "lib/unisono/libunisono.so"))
setenv("UNISONO_PREFIX", prefix)
