// SPDX-License-Identifier: BSD-3-Clause
// What a rank's look at the rings of its peers costs while nothing comes (docs/inside/messages.md). One
// thread stands for all ranks of a node: each sends rank 0 some messages, which takes them, and then looks
// again and again. Prints the table of docs/figures/messages.md.
//
//     build/release/benchmarks/idle_rings [--looks 20000] [--windows 31]
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/pages.h"
#include "cores.h"
#include "numbers.h"
#include "shm/pairs/mailbox.h"

namespace {

using namespace unisono;

struct Settings {
  int looks = 20000, windows = 31;
};

class Node {
 public:
  explicit Node(int ranks)
      : shape_{.ranks = ranks, .arena_bytes = shm::MailboxShape::arena_bytes_of(ranks)},
        memory_(static_cast<std::byte*>(std::aligned_alloc(page_bytes, up_to_whole_pages(shape_.bytes()))),
                std::free) {
    if (memory_ == nullptr) fail("there is too little memory");
    std::fill_n(memory_.get(), shape_.bytes(), std::byte{});
    for (int rank = 0; rank < ranks; ++rank)
      mailboxes_.push_back(
          std::make_unique<shm::Mailbox>(memory_.get(), shape_, rank, shm::WaitPolicy::pause));
  }

  // Where each peer has sent as many, the next lines of all rings have one number.
  void send_all(bool is_by_rank) {
    for (int from = 1; from < shape_.ranks; ++from) {
      for (int i = 0; i < (is_by_rank ? from : 1); ++i)
        mailboxes_[static_cast<std::size_t>(from)]->write(0, shm::RingItem{}, nullptr, 0);
      if (look() == 0) fail("a message is lost");
    }
  }

  int look() {
    return mailboxes_[0]->poll([](int, shm::RingReader& reader) {
      reader.drop(0);
      return true;
    });
  }

  double ns_of(int looks) {
    const std::uint64_t begin = now_ns();
    for (int i = 0; i < looks; ++i) {
      if (look() != 0) fail("there is a message that nobody has sent");
    }
    return static_cast<double>(now_ns() - begin) / looks;
  }

 private:
  shm::MailboxShape shape_;
  std::unique_ptr<std::byte, void (*)(void*)> memory_;
  std::vector<std::unique_ptr<shm::Mailbox>> mailboxes_;
};

void measure(const Settings& settings, int ranks, bool is_by_rank) {
  Node node(ranks);
  node.send_all(is_by_rank);
  std::vector<double> ns;
  for (int window = 0; window < settings.windows; ++window) ns.push_back(node.ns_of(settings.looks));
  std::ranges::sort(ns);
  std::printf("| %d | %s | %.1f ns | %.1f to %.1f ns |\n", ranks - 1, is_by_rank ? "1 to 63" : "1",
              ns[ns.size() / 2], ns[ns.size() / 10], ns[ns.size() * 9 / 10]);
}

}  // namespace

int main(int argc, char** argv) {
  Settings settings;
  read_numbers(argc, argv, {{"--looks", &settings.looks}, {"--windows", &settings.windows}});
  stay_on(usable_cores().front());
  std::printf(
      "| rings | messages of each before | a look, median | 10 to 90 %% |\n| ---: | --- | ---: | --- |\n");
  for (const int ranks : {2, 8, 64}) {
    for (const bool is_by_rank : {false, true}) measure(settings, ranks, is_by_rank);
  }
  return 0;
}
