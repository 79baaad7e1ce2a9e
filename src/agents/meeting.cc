// SPDX-License-Identifier: BSD-3-Clause
#include "agents/meeting.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "base/version.h"

namespace unisono::agents {
namespace meeting {

Greeting own_greeting() {
  Greeting greeting;
  std::strncpy(greeting.version, own_version(), sizeof greeting.version - 1);
  return greeting;
}

Address::Address(const std::string& job, int place) {
  static_assert(sizeof(sockaddr_un) == sizeof bytes);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string name =
      "unisono-agent-" + std::to_string(geteuid()) + "-" + std::to_string(place) + "-" + job;
  const std::size_t longest = sizeof address.sun_path - 1;
  const std::size_t used = std::min(name.size(), longest);
  std::memcpy(address.sun_path + 1, name.data(), used);  // a name that begins with 0 is abstract
  std::memcpy(bytes, &address, sizeof address);
  length = static_cast<std::uint32_t>(offsetof(sockaddr_un, sun_path) + 1 + used);
}

bool is_of_this_user(int socket) {
  ucred peer{};
  socklen_t length = sizeof peer;
  return getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0 && peer.uid == geteuid();
}

std::string why_no_descriptor(std::string_view who, int error) {
  std::string why(who);
  rlimit limit{};
  if (error != EMFILE || getrlimit(RLIMIT_NOFILE, &limit) != 0)
    return why + " can have no file descriptor: " + std::strerror(error);
  return why + " has no file descriptor left. It may have " + std::to_string(limit.rlim_cur) +
         ": raise that by `ulimit -n`";
}

}  // namespace meeting

namespace {

constexpr std::string_view own_side = "an agent";
// Where nobody can be let in, nor sent away.
constexpr int full_ms = 10;

bool is_out_of_descriptors(int error) {
  return error == EMFILE || error == ENFILE;
}

void refuse(int socket, int error) {
  meeting::Refusal refusal{.greeting = meeting::own_greeting()};
  meeting::why_no_descriptor(own_side, error).copy(refusal.why, sizeof refusal.why - 1);
  send(socket, &refusal, sizeof refusal, MSG_NOSIGNAL | MSG_DONTWAIT);
}

bool hand_out(int socket, int descriptor) {
  const meeting::Greeting greeting = meeting::own_greeting();
  iovec part{.iov_base = const_cast<meeting::Greeting*>(&greeting), .iov_len = sizeof greeting};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof descriptor)] = {};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  cmsghdr* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof descriptor);
  std::memcpy(CMSG_DATA(header), &descriptor, sizeof descriptor);
  return sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT) == static_cast<ssize_t>(sizeof greeting);
}

}  // namespace

std::unique_ptr<Meeting> Meeting::open(const std::string& job, int place, std::string* why) {
  const int listening = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  const int stop = listening < 0 ? -1 : eventfd(0, EFD_CLOEXEC);
  const int spare = stop < 0 ? -1 : fcntl(stop, F_DUPFD_CLOEXEC, 0);
  for (; spare >= 0 && place < most_places; ++place) {
    const meeting::Address address(job, place);
    if (bind(listening, reinterpret_cast<const sockaddr*>(address.bytes), address.length) != 0) {
      if (errno == EADDRINUSE) continue;
      break;
    }
    if (listen(listening, SOMAXCONN) != 0) break;
    return std::unique_ptr<Meeting>(new Meeting(listening, place, stop, spare));
  }
  *why = is_out_of_descriptors(errno) ? meeting::why_no_descriptor(own_side, errno)
                                      : std::string("a socket for an agent: ") + std::strerror(errno);
  for (const int descriptor : {listening, stop, spare}) {
    if (descriptor >= 0) close(descriptor);
  }
  return nullptr;
}

void Meeting::receive(const AgentSegment& segment, const std::vector<int>& holders) {
  segment_ = &segment;
  for (const int process : holders) {
    const int watched = static_cast<int>(syscall(SYS_pidfd_open, process, 0));
    if (watched >= 0) guests_.push_back({.socket = watched, .is_received = true, .process = process});
  }
  present_.store(static_cast<int>(guests_.size()), std::memory_order_release);
  arrived_.store(static_cast<int>(guests_.size()), std::memory_order_release);
  // Signals are for the agent's own thread.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  thread_ = std::thread([this] { run(); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

Meeting::~Meeting() {
  const std::uint64_t one = 1;
  while (write(stop_, &one, sizeof one) < 0 && errno == EINTR) {
  }
  if (thread_.joinable()) thread_.join();
  for (const Guest& guest : guests_) close(guest.socket);
  close(socket_);
  close(stop_);
  if (spare_ >= 0) close(spare_);
}

void Meeting::run() {
  pthread_setname_np(pthread_self(), "unisono-meeting");
  std::vector<pollfd> watched;
  while (true) {
    const int calls_at = is_full_ ? -1 : socket_;
    watched.assign(
        {{.fd = stop_, .events = POLLIN, .revents = 0}, {.fd = calls_at, .events = POLLIN, .revents = 0}});
    for (const Guest& guest : guests_)
      watched.push_back({.fd = guest.socket, .events = POLLIN, .revents = 0});
    if (poll(watched.data(), watched.size(), is_full_ ? full_ms : -1) < 0) {
      if (errno == EINTR) continue;
      return;
    }
    if (watched[0].revents != 0) return;
    for (std::size_t i = 0; i < guests_.size(); ++i) {
      if (watched[i + 2].revents != 0 && guests_[i].socket >= 0 && !serve(&guests_[i])) leave(&guests_[i]);
    }
    std::erase_if(guests_, [](const Guest& guest) { return guest.socket < 0; });
    if (is_full_ || watched[1].revents != 0) receive_new();
  }
}

// Else it would wait in vain: who has no descriptor left now has none a moment later.
void Meeting::refuse_new() {
  if (spare_ >= 0) close(spare_);
  const int guest = accept4(socket_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (guest >= 0) {
    if (meeting::is_of_this_user(guest)) refuse(guest, EMFILE);
    close(guest);
  }
  is_full_ = guest < 0 && is_out_of_descriptors(errno);
  spare_ = fcntl(stop_, F_DUPFD_CLOEXEC, 0);
}

void Meeting::receive_new() {
  const int guest = accept4(socket_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
  is_full_ = false;
  if (guest < 0) {
    if (is_out_of_descriptors(errno)) refuse_new();
    return;
  }
  if (meeting::is_of_this_user(guest)) {
    guests_.push_back({.socket = guest, .is_received = false});
  } else {
    close(guest);
  }
}

// False where it has left, or has no business here. It greets once more when it has what it came for: one
// that has no room for that goes at once, and others of its node may come yet.
bool Meeting::serve(Guest* guest) {
  if (guest->process >= 0) return false;
  meeting::Greeting said;
  const ssize_t bytes = recv(guest->socket, &said, sizeof said, MSG_DONTWAIT);
  if (bytes < 0) return errno == EAGAIN || errno == EINTR;
  if (bytes != sizeof said || said != meeting::own_greeting() || guest->has_arrived) return false;
  if (guest->is_received) {
    guest->has_arrived = true;
    arrived_.fetch_add(1, std::memory_order_acq_rel);
    return true;
  }
  guest->is_received = true;
  present_.fetch_add(1, std::memory_order_acq_rel);
  take_for_holder(*guest);
  if (hand_out(guest->socket, segment_->descriptor())) return true;
  if (errno == ETOOMANYREFS) refuse(guest->socket, errno);
  return false;
}

// Who was known by what it holds has come.
void Meeting::take_for_holder(const Guest& guest) {
  ucred peer{};
  socklen_t length = sizeof peer;
  if (getsockopt(guest.socket, SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0) return;
  for (Guest& other : guests_) {
    if (other.process == peer.pid && other.socket >= 0) leave(&other);
  }
}

void Meeting::leave(Guest* guest) {
  close(guest->socket);
  guest->socket = -1;
  if (!guest->is_received) return;
  present_.fetch_sub(1, std::memory_order_acq_rel);
  shm::ring(&segment_->header().bell);  // the agent may be through
}

}  // namespace unisono::agents
