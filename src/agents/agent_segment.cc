// SPDX-License-Identifier: BSD-3-Clause
#include "agents/agent_segment.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "agents/meeting.h"

namespace unisono::agents {
namespace {

constexpr std::uint64_t magic = 0x756e69736f6e6f41;  // with the layout of all that follows

void say_why(std::string* why, const char* what) {
  *why = std::string(what) + ": " + std::strerror(errno);
}

}  // namespace

std::string AgentSegment::name(const std::string& job, int place) {
  constexpr std::size_t most_characters = 200;  // the kernel takes 249 for all
  return "unisono-agent-" + std::to_string(place) + "-" + job.substr(0, most_characters);
}

std::unique_ptr<AgentSegment> AgentSegment::create(const std::string& name, const AgentIdentity& agent,
                                                   std::size_t bytes, std::string* why) {
  std::unique_ptr<AgentSegment> made(new AgentSegment);
  const int descriptor = memfd_create(name.c_str(), MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (descriptor < 0) {
    const bool is_out = errno == EMFILE || errno == ENFILE;
    if (is_out) *why = meeting::why_no_descriptor("an agent", errno);
    if (!is_out) say_why(why, "memfd_create");
    return nullptr;
  }
  made->descriptor_ = descriptor;
  // Nobody can make it shorter below the others.
  if (ftruncate(descriptor, static_cast<off_t>(bytes)) != 0 ||
      fcntl(descriptor, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
    say_why(why, "memory for an agent");
    return nullptr;
  }
  if (!made->map(descriptor, why)) return nullptr;
  made->header().agent = agent;
  made->header().magic = magic;
  return made;
}

std::unique_ptr<AgentSegment> AgentSegment::open(int descriptor, std::string* why) {
  std::unique_ptr<AgentSegment> opened(new AgentSegment);
  opened->descriptor_ = descriptor;
  const int seals = fcntl(descriptor, F_GET_SEALS);
  const bool is_kept = seals >= 0 && (seals & F_SEAL_SHRINK) != 0;
  if (!is_kept) *why = "what the agent has handed out is not its memory";
  if (!is_kept || !opened->map(descriptor, why)) return nullptr;
  if (opened->header().magic != magic) {
    *why = "the agent's memory is of another version";
    return nullptr;
  }
  return opened;
}

bool AgentSegment::map(int descriptor, std::string* why) {
  struct stat status {};
  if (fstat(descriptor, &status) != 0) {
    say_why(why, "fstat");
    return false;
  }
  if (static_cast<std::size_t>(status.st_size) < sizeof(SegmentHeader)) {
    *why = "the agent's memory is too small";
    return false;
  }
  void* mapped = mmap(nullptr, static_cast<std::size_t>(status.st_size), PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_NORESERVE, descriptor, 0);
  if (mapped == MAP_FAILED) {
    say_why(why, "mmap of the agent's memory");
    return false;
  }
  memory_ = static_cast<char*>(mapped);
  bytes_ = static_cast<std::size_t>(status.st_size);
  inode_ = status.st_ino;
  return true;
}

AgentSegment::~AgentSegment() {
  if (memory_ != nullptr) munmap(memory_, bytes_);
  // Where it could not be mapped it is known to be what was handed over.
  if (descriptor_ >= 0 && (memory_ == nullptr || is_same(descriptor_))) close(descriptor_);
}

bool AgentSegment::is_same(int descriptor) const {
  struct stat status {};
  return fcntl(descriptor, F_GET_SEALS) >= 0 && fstat(descriptor, &status) == 0 && status.st_ino == inode_;
}

std::int64_t AgentSegment::reserve(std::size_t bytes) const {
  return allocator().reserve(bytes);
}

void AgentSegment::release(std::int64_t offset) const {
  allocator().free(offset);
}

}  // namespace unisono::agents
