// SPDX-License-Identifier: BSD-3-Clause
#include "agents/meeting.h"

#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
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

}  // namespace meeting

namespace {

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
  for (; listening >= 0 && place < most_places; ++place) {
    const meeting::Address address(job, place);
    if (bind(listening, reinterpret_cast<const sockaddr*>(address.bytes), address.length) != 0) {
      if (errno == EADDRINUSE) continue;
      break;
    }
    if (listen(listening, SOMAXCONN) != 0) break;
    return std::unique_ptr<Meeting>(new Meeting(listening, place));
  }
  *why = std::string("a socket for an agent: ") + std::strerror(errno);
  if (listening >= 0) close(listening);
  return nullptr;
}

Meeting::Meeting(int socket, int place) : socket_(socket), place_(place), stop_(eventfd(0, EFD_CLOEXEC)) {}

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
}

void Meeting::run() {
  pthread_setname_np(pthread_self(), "unisono-meeting");
  std::vector<pollfd> watched;
  while (true) {
    watched.assign(
        {{.fd = stop_, .events = POLLIN, .revents = 0}, {.fd = socket_, .events = POLLIN, .revents = 0}});
    for (const Guest& guest : guests_)
      watched.push_back({.fd = guest.socket, .events = POLLIN, .revents = 0});
    if (poll(watched.data(), watched.size(), -1) < 0) {
      if (errno == EINTR) continue;
      return;
    }
    if (watched[0].revents != 0) return;
    for (std::size_t i = 0; i < guests_.size(); ++i) {
      if (watched[i + 2].revents != 0 && guests_[i].socket >= 0 && !serve(&guests_[i])) leave(&guests_[i]);
    }
    std::erase_if(guests_, [](const Guest& guest) { return guest.socket < 0; });
    if (watched[1].revents != 0) receive_new();
  }
}

void Meeting::receive_new() {
  const int guest = accept4(socket_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (guest < 0) return;
  if (meeting::is_of_this_user(guest)) {
    guests_.push_back({.socket = guest, .is_received = false});
  } else {
    close(guest);
  }
}

// False where it has left, or has no business here.
bool Meeting::serve(Guest* guest) {
  if (guest->process >= 0) return false;
  meeting::Greeting said;
  const ssize_t bytes = recv(guest->socket, &said, sizeof said, MSG_DONTWAIT);
  if (bytes < 0) return errno == EAGAIN || errno == EINTR;
  if (bytes != sizeof said || guest->is_received || said != meeting::own_greeting()) return false;
  guest->is_received = true;
  present_.fetch_add(1, std::memory_order_acq_rel);
  arrived_.fetch_add(1, std::memory_order_acq_rel);
  take_for_holder(*guest);
  return hand_out(guest->socket, segment_->descriptor());
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
