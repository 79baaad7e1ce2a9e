// SPDX-License-Identifier: BSD-3-Clause
#include "base/hardware.h"

#include <dlfcn.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

// Its header is needed to build, the library is not.
#if __has_include(<hwloc.h>)
#include <hwloc.h>
#endif

namespace unisono {

#ifdef HWLOC_API_VERSION

namespace {

constexpr unsigned major_bits = 16, wanted_major = HWLOC_API_VERSION >> major_bits;

// The functions of hwloc's that are called.
class Hwloc {
 public:
  // Empty: it is there. The process may hold hwloc for all to see, where its MPI or the program goes by it.
  // Then that is the one; another beside it would find its functions in place of its own.
  std::string open(const char* name) {
    void* library = RTLD_DEFAULT;
    if (dlsym(RTLD_DEFAULT, "hwloc_get_api_version") == nullptr) {
      library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
      if (library == nullptr) return std::string("there is no ") + name;
    }
    const bool is_whole =
        find(library, "hwloc_get_api_version", &api_version) && find(library, "hwloc_topology_init", &init) &&
        find(library, "hwloc_topology_load", &load) && find(library, "hwloc_topology_destroy", &destroy) &&
        find(library, "hwloc_topology_set_flags", &set_flags) &&
        find(library, "hwloc_topology_set_all_types_filter", &filter_all) &&
        find(library, "hwloc_topology_set_type_filter", &filter) &&
        find(library, "hwloc_topology_set_synthetic", &set_synthetic) &&
        find(library, "hwloc_topology_set_xml", &set_xml) &&
        find(library, "hwloc_topology_is_thissystem", &is_this_system) &&
        find(library, "hwloc_get_type_depth", &depth_of) &&
        find(library, "hwloc_get_obj_by_depth", &object_at) && find(library, "hwloc_bitmap_next", &next);
    if (!is_whole) return std::string(name) + " lacks functions";
    const unsigned major = api_version() >> major_bits;
    if (major == wanted_major) return {};
    return "hwloc " + std::to_string(major) + " is there, and hwloc " + std::to_string(wanted_major) +
           " is needed";
  }

  decltype(&hwloc_get_api_version) api_version = nullptr;
  decltype(&hwloc_topology_init) init = nullptr;
  decltype(&hwloc_topology_load) load = nullptr;
  decltype(&hwloc_topology_destroy) destroy = nullptr;
  decltype(&hwloc_topology_set_flags) set_flags = nullptr;
  decltype(&hwloc_topology_set_all_types_filter) filter_all = nullptr;
  decltype(&hwloc_topology_set_type_filter) filter = nullptr;
  decltype(&hwloc_topology_set_synthetic) set_synthetic = nullptr;
  decltype(&hwloc_topology_set_xml) set_xml = nullptr;
  decltype(&hwloc_topology_is_thissystem) is_this_system = nullptr;
  decltype(&hwloc_get_type_depth) depth_of = nullptr;
  decltype(&hwloc_get_obj_by_depth) object_at = nullptr;
  decltype(&hwloc_bitmap_next) next = nullptr;

 private:
  template <class Function>
  static bool find(void* library, const char* name, Function* function) {
    *function = reinterpret_cast<Function>(dlsym(library, name));
    return *function != nullptr;
  }
};

class LoadedMachine {
 public:
  explicit LoadedMachine(const Hwloc& hwloc) : hwloc_(hwloc) {}
  ~LoadedMachine() {
    if (topology_ != nullptr) hwloc_.destroy(topology_);
  }
  LoadedMachine(const LoadedMachine&) = delete;
  LoadedMachine& operator=(const LoadedMachine&) = delete;

  std::string load(const HardwareSource& source) {
    if (hwloc_.init(&topology_) != 0) return failed("hwloc cannot begin");
    // What is not asked for takes time: devices, distances. Nor is this thread to go from core to core.
    constexpr unsigned long only_parts =
        HWLOC_TOPOLOGY_FLAG_NO_DISTANCES | HWLOC_TOPOLOGY_FLAG_NO_MEMATTRS | HWLOC_TOPOLOGY_FLAG_NO_CPUKINDS;
    constexpr unsigned long stays = HWLOC_TOPOLOGY_FLAG_DONT_CHANGE_BINDING;
    if (hwloc_.set_flags(topology_, only_parts | stays) != 0) hwloc_.set_flags(topology_, stays);
    hwloc_.filter_all(topology_, HWLOC_TYPE_FILTER_KEEP_NONE);
    for (const hwloc_obj_type_t type :
         {HWLOC_OBJ_PACKAGE, HWLOC_OBJ_L3CACHE, HWLOC_OBJ_L2CACHE, HWLOC_OBJ_CORE})
      hwloc_.filter(topology_, type, HWLOC_TYPE_FILTER_KEEP_ALL);
    // Where a NUMA domain's cores are no other part, they are a group.
    hwloc_.filter(topology_, HWLOC_OBJ_GROUP, HWLOC_TYPE_FILTER_KEEP_STRUCTURE);
    if (!source.synthetic.empty() && hwloc_.set_synthetic(topology_, source.synthetic.c_str()) != 0)
      return "hwloc takes '" + source.synthetic + "' for no description";
    if (!source.xml_file.empty() && hwloc_.set_xml(topology_, source.xml_file.c_str()) != 0)
      return failed("hwloc cannot read " + source.xml_file);
    if (hwloc_.load(topology_) != 0) return failed("hwloc finds nothing out");
    return {};
  }

  Hardware hardware() const {
    Hardware found;
    const hwloc_obj_t root = hwloc_.object_at(topology_, 0, 0);
    found.memory_bytes = root->total_memory;
    found.cpus = cpus_of(root);
    found.is_this_machine = hwloc_.is_this_system(topology_) != 0;
    const int l3 = hwloc_.depth_of(topology_, HWLOC_OBJ_L3CACHE);
    const hwloc_obj_type_t last_level = l3 >= 0 ? HWLOC_OBJ_L3CACHE : HWLOC_OBJ_L2CACHE;
    add(HWLOC_OBJ_PACKAGE, HardwareKind::socket, &found.parts);
    add(HWLOC_OBJ_NUMANODE, HardwareKind::numa, &found.parts);
    add(last_level, HardwareKind::cache, &found.parts);
    add(HWLOC_OBJ_CORE, HardwareKind::core, &found.parts);
    return found;
  }

 private:
  static std::string failed(const std::string& what) { return what + ": " + std::strerror(errno); }

  std::vector<int> cpus_of(hwloc_obj_t object) const {
    std::vector<int> cpus;
    for (int cpu = hwloc_.next(object->cpuset, -1); cpu >= 0; cpu = hwloc_.next(object->cpuset, cpu))
      cpus.push_back(cpu);
    return cpus;
  }

  static std::uint64_t bytes_of(hwloc_obj_t object) {
    if (object->attr == nullptr) return 0;
    if (object->type == HWLOC_OBJ_NUMANODE) return object->attr->numanode.local_memory;
    const bool is_cache = object->type == HWLOC_OBJ_L3CACHE || object->type == HWLOC_OBJ_L2CACHE;
    return is_cache ? object->attr->cache.size : 0;
  }

  static std::string model_of(hwloc_obj_t object) {
    for (unsigned i = 0; i < object->infos_count; ++i) {
      if (std::strcmp(object->infos[i].name, "CPUModel") == 0) return object->infos[i].value;
    }
    return {};
  }

  void add(hwloc_obj_type_t type, HardwareKind kind, std::vector<HardwarePart>* parts) const {
    const int depth = hwloc_.depth_of(topology_, type);
    if (depth == HWLOC_TYPE_DEPTH_UNKNOWN || depth == HWLOC_TYPE_DEPTH_MULTIPLE) return;
    for (unsigned i = 0;; ++i) {
      const hwloc_obj_t object = hwloc_.object_at(topology_, depth, i);
      if (object == nullptr) return;
      HardwarePart part{
          .kind = kind,
          .number = static_cast<int>(type == HWLOC_OBJ_NUMANODE ? object->os_index : object->logical_index),
          .bytes = bytes_of(object),
          .model = model_of(object),
          .cpus = cpus_of(object)};
      // Memory of no core's own, of a device for example, has none.
      if (!part.cpus.empty()) parts->push_back(std::move(part));
    }
  }

  const Hwloc& hwloc_;
  hwloc_topology_t topology_ = nullptr;
};

}  // namespace

ReadHardware read_hardware(const HardwareSource& source, const char* library) {
  Hwloc hwloc;
  std::string problem = hwloc.open(library);
  if (!problem.empty()) return {{}, std::move(problem)};
  LoadedMachine machine(hwloc);
  problem = machine.load(source);
  if (!problem.empty()) return {{}, std::move(problem)};
  return {machine.hardware(), {}};
}

#else

ReadHardware read_hardware(const HardwareSource&, const char*) {
  return {{}, "this Unisono was built without hwloc's header"};
}

#endif

}  // namespace unisono
