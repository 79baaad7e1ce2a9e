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

struct Heard {
  int descriptor = -1;  // of the memory
  // Where there is none: another try is of no use.
  bool is_final = false;
  std::string why;
};

// Where the other side has closed the socket without reading what we have said, the first try says only that.
ssize_t receive(int socket, msghdr* message) {
  const std::size_t room = message->msg_controllen;
  ssize_t bytes = recvmsg(socket, message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
  if (bytes < 0 && errno == ECONNRESET) {
    message->msg_controllen = room;
    bytes = recvmsg(socket, message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
  }
  return bytes;
}

Heard read_answer(int socket) {
  meeting::Refusal said;
  iovec part{.iov_base = &said, .iov_len = sizeof said};
  Heard answer;
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof answer.descriptor)] = {};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  const ssize_t bytes = receive(socket, &message);
  for (cmsghdr* header = CMSG_FIRSTHDR(&message); bytes > 0 && header != nullptr;
       header = CMSG_NXTHDR(&message, header)) {
    if (header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS)
      std::memcpy(&answer.descriptor, CMSG_DATA(header), sizeof answer.descriptor);
  }
  const bool is_agents =
      bytes >= static_cast<ssize_t>(sizeof said.greeting) && said.greeting == meeting::own_greeting();
  const bool is_refused = is_agents && bytes == sizeof said;
  if (is_agents && !is_refused && answer.descriptor >= 0) return answer;
  if (answer.descriptor >= 0) close(std::exchange(answer.descriptor, -1));
  // The kernel leaves a descriptor out for which there is no room.
  const bool is_cut = is_agents && (message.msg_flags & MSG_CTRUNC) != 0;
  answer.is_final = is_refused || is_cut;
  said.why[sizeof said.why - 1] = '\0';
  answer.why = is_refused   ? said.why
               : is_cut     ? meeting::why_no_descriptor("this rank", EMFILE)
               : bytes == 0 ? "the agent has sent this process away: it is of another version"
                            : "what answers in the agent's place is none";
  return answer;
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
      if (errno == EMFILE) {
        *why = meeting::why_no_descriptor("this rank", errno);
        return nullptr;
      }
      if (Absence::is_said(job)) {
        *why = "they have ended before this rank has met one";
        return nullptr;
      }
      if (now_s() < deadline_s) continue;
      return nullptr;
    }
    // Who was not heard may have been answered all the same.
    Heard answer{.why = "the agent does not answer"};
    if (greet(*calling) ? is_answered(*calling, deadline_s) : is_answered(*calling, 0))
      answer = read_answer(*calling);
    if (answer.descriptor >= 0) return AgentSegment::open(answer.descriptor, why);
    *why = answer.why;
    if (answer.is_final || now_s() >= deadline_s) return nullptr;
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
  if (segment != nullptr) {
    greet(calling);
    return std::unique_ptr<Connection>(new Connection(job, place, calling, std::move(segment)));
  }
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
  const int descriptor = read_answer(calling_.number()).descriptor;
  const bool is_met = descriptor >= 0 && segment_->is_same(descriptor) && greet(calling_.number());
  if (descriptor >= 0) ::close(descriptor);
  if (is_met) socket_ = std::move(calling_);
  calling_ = KnownSocket();
  return is_met;
}

}  // namespace unisono::agents
