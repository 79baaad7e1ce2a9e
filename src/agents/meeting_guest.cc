// SPDX-License-Identifier: BSD-3-Clause
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

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

// A socket to the agent, where one listens.
int call_at(const meeting::Address& address) {
  const int calling = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  if (calling < 0) return -1;
  if (connect(calling, reinterpret_cast<const sockaddr*>(address.bytes), address.length) == 0) return calling;
  const int error = errno;
  close(calling);
  errno = error;
  return -1;
}

}  // namespace

std::unique_ptr<Connection> Connection::open(const std::string& job, int place, double longest_s,
                                             std::string* why) {
  const double deadline_s = now_s() + longest_s;
  const meeting::Address address(job, place);
  int calling = call_at(address);
  while (calling < 0 && now_s() < deadline_s) {
    constexpr timespec pause{.tv_sec = 0, .tv_nsec = 2'000'000};
    nanosleep(&pause, nullptr);
    calling = call_at(address);
  }
  if (calling < 0) {
    *why = "no agent of this job answers on this node";
    return nullptr;
  }
  const meeting::Greeting greeting = meeting::own_greeting();
  const bool is_said = meeting::is_of_this_user(calling) &&
                       send(calling, &greeting, sizeof greeting, MSG_NOSIGNAL) == sizeof greeting;
  std::unique_ptr<AgentSegment> segment;
  if (!is_said || !is_answered(calling, deadline_s)) {
    *why = "the agent does not answer";
  } else if (const int descriptor = receive_descriptor(calling, why); descriptor >= 0) {
    segment = AgentSegment::open(descriptor, why);
  }
  if (segment == nullptr) {
    close(calling);
    return nullptr;
  }
  return std::unique_ptr<Connection>(new Connection(calling, std::move(segment)));
}

Connection::Connection(int socket, std::unique_ptr<AgentSegment> segment)
    : socket_(socket), segment_(std::move(segment)) {
  struct stat status {};
  if (fstat(socket_, &status) == 0) inode_ = status.st_ino;
}

bool Connection::holds_socket() const {
  struct stat status {};
  return fstat(socket_, &status) == 0 && S_ISSOCK(status.st_mode) && status.st_ino == inode_;
}

// Children of this process may hold the socket still: the agent hears of the end all the same.
Connection::~Connection() {
  if (!holds_socket()) return;
  shutdown(socket_, SHUT_RDWR);
  close(socket_);
}

bool Connection::is_lost() const {
  char byte = 0;
  const ssize_t bytes = recv(socket_, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  const bool is_over = bytes == 0 || (bytes < 0 && (errno == ECONNRESET || errno == EPIPE));
  return is_over && holds_socket();
}

}  // namespace unisono::agents
