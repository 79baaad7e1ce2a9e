// SPDX-License-Identifier: BSD-3-Clause
#include "agents/absence.h"

#include <sys/socket.h>
#include <unistd.h>

#include "agents/meeting.h"

namespace unisono::agents {
namespace {

// Behind all places of agents.
meeting::Address address_of(const std::string& job) {
  return meeting::Address(job, most_places);
}

int new_socket() {
  return socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
}

}  // namespace

std::unique_ptr<Absence> Absence::say(const std::string& job) {
  const int listening = new_socket();
  if (listening < 0) return nullptr;
  const meeting::Address address = address_of(job);
  if (bind(listening, reinterpret_cast<const sockaddr*>(address.bytes), address.length) == 0 &&
      listen(listening, SOMAXCONN) == 0)
    return std::unique_ptr<Absence>(new Absence(listening));
  close(listening);
  return nullptr;
}

Absence::~Absence() {
  close(socket_);
}

// Nobody takes in who calls: that the call is possible says it all.
bool Absence::is_said(const std::string& job) {
  const int calling = new_socket();
  if (calling < 0) return false;
  const meeting::Address address = address_of(job);
  const bool is_there =
      connect(calling, reinterpret_cast<const sockaddr*>(address.bytes), address.length) == 0 &&
      meeting::is_of_this_user(calling);
  close(calling);
  return is_there;
}

}  // namespace unisono::agents
