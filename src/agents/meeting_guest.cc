// SPDX-License-Identifier: BSD-3-Clause
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "agents/absence.h"
#include "agents/meeting.h"
#include "base/clock.h"

namespace unisono::agents {
namespace {

constexpr double milliseconds = 1e3;

// The agent's answer: a descriptor, or -1.
int receive_descriptor(int socket, std::string* why) {
  meeting::Greeting said;
  iovec part{.iov_base = &said, .iov_len = sizeof said};
  int descriptor = -1;
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof descriptor)] = {};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  const ssize_t bytes = recvmsg(socket, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
  for (cmsghdr* header = CMSG_FIRSTHDR(&message); bytes > 0 && header != nullptr;
       header = CMSG_NXTHDR(&message, header)) {
    if (header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS)
      std::memcpy(&descriptor, CMSG_DATA(header), sizeof descriptor);
  }
  const bool is_ours = bytes == sizeof said && said == meeting::own_greeting();
  if (is_ours && descriptor >= 0) return descriptor;
  if (descriptor >= 0) close(descriptor);
  *why = bytes == 0 ? "the agent has sent this process away: it is of another version"
                    : "what answers in the agent's place is none";
  return -1;
}

bool is_answered(int socket, double deadline_s) {
  pollfd watched{.fd = socket, .events = POLLIN, .revents = 0};
  while (true) {
    const double left_s = deadline_s - now_s();
    const int found = poll(&watched, 1, left_s > 0 ? static_cast<int>(left_s * milliseconds) + 1 : 0);
    if (found > 0) return true;
    if (found == 0 || errno != EINTR) return false;
  }
}

// A socket to the agent, where one listens. `flags` of the socket.
int call_at(const meeting::Address& address, int flags = 0) {
  const int calling = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | flags, 0);
  if (calling < 0) return -1;
  if (connect(calling, reinterpret_cast<const sockaddr*>(address.bytes), address.length) == 0) return calling;
  const int error = errno;
  close(calling);
  errno = error;
  return -1;
}

bool greet(int socket) {
  const meeting::Greeting greeting = meeting::own_greeting();
  return meeting::is_of_this_user(socket) &&
         send(socket, &greeting, sizeof greeting, MSG_NOSIGNAL | MSG_DONTWAIT) == sizeof greeting;
}

// What an agent hands out that listens there. Where one is gone before it has answered another one may come.
std::unique_ptr<AgentSegment> call(const std::string& job, int place, double deadline_s, int* calling,
                                   std::string* why) {
  const meeting::Address address(job, place);
  *why = "no agent of this job answers on this node";
  for (constexpr timespec pause{.tv_sec = 0, .tv_nsec = 2'000'000}; *calling < 0;
       nanosleep(&pause, nullptr)) {
    *calling = call_at(address);
    if (*calling < 0) {
      if (Absence::is_said(job)) {
        *why = "they have ended before this rank has met one";
        return nullptr;
      }
      if (now_s() < deadline_s) continue;
      return nullptr;
    }
    if (!greet(*calling) || !is_answered(*calling, deadline_s)) {
      *why = "the agent does not answer";
    } else if (const int descriptor = receive_descriptor(*calling, why); descriptor >= 0) {
      return AgentSegment::open(descriptor, why);
    }
    if (now_s() >= deadline_s) return nullptr;
    close(*calling);
    *calling = -1;
  }
  return nullptr;
}

}  // namespace

KnownSocket::KnownSocket(int number) : number_(number) {
  struct stat status {};
  if (fstat(number_, &status) == 0) inode_ = status.st_ino;
}

KnownSocket::KnownSocket(KnownSocket&& other) noexcept
    : number_(std::exchange(other.number_, -1)), inode_(other.inode_) {}

KnownSocket& KnownSocket::operator=(KnownSocket&& other) noexcept {
  std::swap(number_, other.number_);
  std::swap(inode_, other.inode_);
  return *this;
}

// Children of this process may hold the socket still: the agent hears of the end all the same.
KnownSocket::~KnownSocket() {
  if (!is_there()) return;
  shutdown(number_, SHUT_RDWR);
  close(number_);
}

bool KnownSocket::is_there() const {
  struct stat status {};
  return number_ >= 0 && fstat(number_, &status) == 0 && S_ISSOCK(status.st_mode) && status.st_ino == inode_;
}

std::unique_ptr<Connection> Connection::open(const std::string& job, int place, double longest_s,
                                             std::string* why) {
  int calling = -1;
  auto segment = call(job, place, now_s() + longest_s, &calling, why);
  if (segment != nullptr)
    return std::unique_ptr<Connection>(new Connection(job, place, calling, std::move(segment)));
  if (calling >= 0) close(calling);
  return nullptr;
}

Connection::Connection(const std::string& job, int place, int socket, std::unique_ptr<AgentSegment> segment)
    : job_(job), address_(job, place), socket_(socket), segment_(std::move(segment)) {}

Connection::~Connection() = default;

bool Connection::is_lost() const {
  char byte = 0;
  const ssize_t bytes = recv(socket_.number(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  const bool is_over = bytes == 0 || (bytes < 0 && (errno == ECONNRESET || errno == EPIPE));
  return is_over && socket_.is_there();
}

bool Connection::is_for_good() const {
  return Absence::is_said(job_);
}

bool Connection::meet_again() {
  if (!calling_.is_there()) {
    calling_ = KnownSocket(call_at(address_, SOCK_NONBLOCK));
    if (calling_.is_there() && !greet(calling_.number())) calling_ = KnownSocket();
    return false;
  }
  if (!is_answered(calling_.number(), 0)) return false;
  std::string why;
  const int descriptor = receive_descriptor(calling_.number(), &why);
  const bool is_met = descriptor >= 0 && segment_->is_same(descriptor);
  if (descriptor >= 0) ::close(descriptor);
  if (is_met) socket_ = std::move(calling_);
  calling_ = KnownSocket();
  return is_met;
}

}  // namespace unisono::agents
