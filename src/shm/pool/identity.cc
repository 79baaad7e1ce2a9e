// SPDX-License-Identifier: BSD-3-Clause
#include "shm/pool/identity.h"

#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <string>
#include <string_view>

#include "shm/pool/cores.h"

namespace unisono::shm {
namespace {

std::uint64_t hash(std::string_view text) {  // FNV-1a
  std::uint64_t value = 0xcbf29ce484222325;
  for (const char c : text) value = (value ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return value;
}

}  // namespace

std::uint64_t mixed(std::uint64_t a, std::uint64_t b) {
  return (a ^ (b * 0x9e3779b97f4a7c15)) * 0xff51afd7ed558ccd;
}

Identity own_identity(const std::uint64_t* nonce) {
  Identity identity;
  gethostname(identity.host_name.data(), identity.host_name.size() - 1);
  std::string boot_id;
  std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), boot_id);
  identity.machine = hash(boot_id.empty() ? std::string_view(identity.host_name.data()) : boot_id);
  struct stat status {};
  if (stat("/proc/self/ns/pid", &status) == 0) identity.pid_namespace = status.st_ino;
  if (stat("/dev/shm", &status) == 0) identity.shm_device = mixed(status.st_dev, status.st_ino);
  identity.nonce = *nonce;
  identity.probe_address = reinterpret_cast<std::uintptr_t>(nonce);
  const CpuQuota quota = cpu_quota();
  identity.quota_millicores = quota.millicores;
  identity.quota_group = quota.group;
  identity.process_id = getpid();
  identity.pool_share = pool_share();
  return identity;
}

PoolShare least_share(const std::vector<Identity>& identities, std::size_t rank) {
  PoolShare least;
  for (const Identity& identity : identities) {
    if (identity.machine == identities[rank].machine && identity.pool_share.bytes < least.bytes)
      least = identity.pool_share;
  }
  return least;
}

}  // namespace unisono::shm
