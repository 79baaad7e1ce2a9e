/* SPDX-License-Identifier: BSD-3-Clause */
/* libhwloc as it is on a machine that it cannot begin on. */
#include <errno.h>

#define ENTRY __attribute__((visibility("default")))

ENTRY unsigned hwloc_get_api_version(void) {
  return 0x20000;
}

ENTRY int hwloc_topology_init(void** topology) {
  *topology = 0;
  errno = EACCES;
  return -1;
}

/* Nothing of the rest is ever called. */
#define NEVER(name)      \
  ENTRY int name(void) { \
    __builtin_trap();    \
  }
NEVER(hwloc_topology_load)
NEVER(hwloc_topology_destroy)
NEVER(hwloc_topology_set_flags)
NEVER(hwloc_topology_set_all_types_filter)
NEVER(hwloc_topology_set_type_filter)
NEVER(hwloc_topology_set_synthetic)
NEVER(hwloc_topology_set_xml)
NEVER(hwloc_topology_is_thissystem)
NEVER(hwloc_get_type_depth)
NEVER(hwloc_get_obj_by_depth)
NEVER(hwloc_bitmap_next)
