// SPDX-License-Identifier: BSD-3-Clause
#include "shm/pool/segment.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "shm/pool/limits.h"

namespace unisono::shm {
namespace {

std::string with_nonce(const char* format, std::uint64_t nonce) {
  std::array<char, 64> text;
  std::snprintf(text.data(), text.size(), format, static_cast<unsigned long long>(nonce));
  return text.data();
}
std::string memfd_name(std::uint64_t nonce) {
  return with_nonce("unisono-%016llx", nonce);
}
std::string memfd_link(std::uint64_t nonce) {
  return with_nonce("/memfd:unisono-%016llx (deleted)", nonce);
}
std::string shm_name(std::uint64_t nonce) {
  return with_nonce("/unisono-%016llx", nonce);
}

bool fail(std::string* why, const std::string& what) {
  *why = what + ": " + std::strerror(errno);
  return false;
}

// A file larger than this limit would end the process by a signal.
std::size_t within_file_limit(std::size_t bytes) {
  rlimit limit{};
  if (getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return bytes;
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return std::min(bytes, static_cast<std::size_t>(limit.rlim_cur) / page * page);
}

}  // namespace

std::uint64_t draw_nonce() {
  std::uint64_t nonce = 0;
  if (getrandom(&nonce, sizeof nonce, GRND_NONBLOCK) != sizeof nonce) {
    timespec now{};
    clock_gettime(CLOCK_REALTIME, &now);
    nonce = static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(now.tv_nsec);
    nonce ^= static_cast<std::uint64_t>(getpid()) << 40 ^ reinterpret_cast<std::uintptr_t>(&now);
  }
  return nonce | 1;  // never what zero-filled memory holds
}

std::unique_ptr<Segment> Segment::create(SegmentKind kind, std::uint64_t nonce, std::size_t capacity_bytes,
                                         std::size_t header_bytes, std::string* why) {
  std::unique_ptr<Segment> segment(new Segment(kind, nonce));
  if (kind == SegmentKind::alone) {
    segment->capacity_bytes_ = capacity_bytes;
    return segment->map_first(why) ? std::move(segment) : nullptr;
  }
  int descriptor = -1;
  if (kind == SegmentKind::memfd) {
    descriptor = memfd_create(memfd_name(nonce).c_str(), MFD_CLOEXEC);
  } else {
    descriptor = shm_open(shm_name(nonce).c_str(), O_RDWR | O_CREAT | O_EXCL, 0600);
    segment->has_name_ = descriptor >= 0;
  }
  const std::string what = kind == SegmentKind::memfd ? "memfd_create" : "shm_open";
  if (descriptor < 0) {
    fail(why, what);
    return nullptr;
  }
  segment->descriptor_ = descriptor;
  capacity_bytes = within_file_limit(capacity_bytes);
  if (capacity_bytes < header_bytes) {
    *why = what + ": the limit on file sizes (ulimit -f) is too small";
    return nullptr;
  }
  if (ftruncate(descriptor, static_cast<off_t>(capacity_bytes)) != 0) {
    fail(why, "ftruncate");
    return nullptr;
  }
  if (!segment->take(descriptor, why)) return nullptr;
  if (!segment->back(0, header_bytes)) {
    *why = "/dev/shm is full";
    return nullptr;
  }
  return segment;
}

std::unique_ptr<Segment> Segment::open_memfd(int process_id, int descriptor, std::uint64_t nonce,
                                             std::string* why) {
  const std::string path = "/proc/" + std::to_string(process_id) + "/fd/" + std::to_string(descriptor);
  // In another PID namespace the same number is another process. Opening whatever it holds there could block
  // or have effects, so first the link must bear the segment's own name.
  std::array<char, 128> target{};
  if (readlink(path.c_str(), target.data(), target.size() - 1) < 0) {
    fail(why, "readlink " + path);
    return nullptr;
  }
  if (target.data() != memfd_link(nonce)) {
    *why = path + " is another file";
    return nullptr;
  }
  const int opened = open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (opened < 0) {
    fail(why, "open " + path);
    return nullptr;
  }
  std::unique_ptr<Segment> segment(new Segment(SegmentKind::memfd, nonce));
  return segment->take(opened, why) ? std::move(segment) : nullptr;
}

std::unique_ptr<Segment> Segment::open_named(std::uint64_t nonce, std::string* why) {
  const int opened = shm_open(shm_name(nonce).c_str(), O_RDWR, 0);
  if (opened < 0) {
    fail(why, "shm_open");
    return nullptr;
  }
  std::unique_ptr<Segment> segment(new Segment(SegmentKind::named, nonce));
  return segment->take(opened, why) ? std::move(segment) : nullptr;
}

bool Segment::take(int descriptor, std::string* why) {
  descriptor_ = descriptor;
  struct stat status {};
  if (fstat(descriptor, &status) != 0) return fail(why, "fstat");
  device_ = status.st_dev;
  inode_ = status.st_ino;
  capacity_bytes_ = static_cast<std::size_t>(status.st_size);
  return map_first(why);
}

int Segment::windows() const {
  int count = 1;
  while (count < most_windows && window(count - 1).end < capacity_bytes_) ++count;
  return count;
}

Segment::Window Segment::window(int number) const {
  const std::size_t end = first_window_bytes << number;
  return {.begin = number == 0 ? 0 : end / 2, .end = std::min(end, capacity_bytes_)};
}

// Where the program has all memory to come locked (mlockall), a window would be there at once, as long as it
// is, used or not. So it is mapped without access, which brings no page, and unlocked before it gets that.
bool Segment::map(int number) {
  const Window wanted = window(number);
  const std::size_t bytes = wanted.end - wanted.begin;
  const int flags = MAP_SHARED | MAP_NORESERVE | (kind_ == SegmentKind::alone ? MAP_ANONYMOUS : 0);
  void* mapped = mmap(nullptr, bytes, PROT_NONE, flags, descriptor_,
                      static_cast<off_t>(kind_ == SegmentKind::alone ? 0 : wanted.begin));
  if (mapped == MAP_FAILED) return false;
  munlock(mapped, bytes);
  if (mprotect(mapped, bytes, PROT_READ | PROT_WRITE) != 0) {
    munmap(mapped, bytes);
    return false;
  }
  addresses_[static_cast<std::size_t>(number)].store(static_cast<char*>(mapped), std::memory_order_release);
  return true;
}

bool Segment::map_first(std::string* why) {
  {
    const LockGuard lock(map_mutex_);
    if (map(0)) return true;
  }
  return fail(why, "mmap of " + std::to_string(window(0).end) + " bytes (option 'pool_bytes')");
}

bool Segment::map_window(int number) {
  const LockGuard lock(map_mutex_);
  if (number >= windows()) return false;
  if (addresses_[static_cast<std::size_t>(number)].load(std::memory_order_relaxed) != nullptr) return true;
  // Most of what is left is the program's.
  constexpr std::uint64_t least_part = 4;
  const Window wanted = window(number);
  if (wanted.end - wanted.begin > free_address_space() / least_part) return false;
  if (kind_ != SegmentKind::alone && !holds_descriptor()) return false;
  return map(number);
}

char* Segment::at(std::size_t offset) const {
  int number = 0;
  while (offset >= window(number).end && number + 1 < most_windows) ++number;
  return addresses_[static_cast<std::size_t>(number)].load(std::memory_order_acquire) +
         (offset - window(number).begin);
}

Segment::~Segment() {
  forget_name();
  for (int number = 0; number < windows(); ++number) {
    char* address = addresses_[static_cast<std::size_t>(number)];
    if (address != nullptr) munmap(address, window(number).end - window(number).begin);
  }
  // The program may have closed it, and have the number anew for a file of its own.
  if (descriptor_ >= 0 && (inode_ == 0 || holds_descriptor())) close(descriptor_);
}

void Segment::forget_name() {
  if (has_name_) shm_unlink(shm_name(nonce_).c_str());
  has_name_ = false;
  if (kind_ == SegmentKind::memfd && descriptor_ >= 0 && windows() == 1) {
    close(descriptor_);
    descriptor_ = -1;
  }
}

// A program may close descriptors that it did not open, and have the number anew for a file of its own.
bool Segment::holds_descriptor() const {
  struct stat status {};
  return fstat(descriptor_, &status) == 0 && status.st_dev == device_ && status.st_ino == inode_;
}

bool Segment::back(std::size_t offset, std::size_t bytes) const {
  if (kind_ != SegmentKind::named) return true;
  if (!holds_descriptor()) return false;
  int error = EINTR;
  while (error == EINTR) {
    error = posix_fallocate(descriptor_, static_cast<off_t>(offset), static_cast<off_t>(bytes));
  }
  return error == 0;
}

void Segment::clear(std::size_t offset, std::size_t bytes) const {
  // Emulators take the advice, say that all is well, and do nothing.
  char* first = at(offset);
  *first = 1;
  if (madvise(first, bytes, MADV_REMOVE) != 0 || *first != 0) std::memset(first, 0, bytes);
}

}  // namespace unisono::shm
