// SPDX-License-Identifier: BSD-3-Clause
// fuzz SECONDS FOLDER [SEED]: changes inputs of all targets, in turn, and keeps those that reach new code.
// The one that ends the process lies in FOLDER as TARGET-NUMBER: put it into tests/fuzz/found, where a unit
// test reads it.
#include <unistd.h>

#include <bitset>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>

#include "inputs.h"
#include "targets.h"

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t places = 1 << 16;
constexpr unsigned longest_input_s = 10;  // one that takes longer hangs

// Steps from one branch to the next, as this input has taken them and as all have.
std::bitset<places> taken, all_taken;
std::uintptr_t last_place = 0;

struct Searched {
  std::vector<std::string> corpus;
  std::uint64_t inputs = 0;
};

bool is_new() {
  const bool found = (taken & ~all_taken).any();
  all_taken |= taken;
  return found;
}

void try_input(const unisono::fuzz::Target& target, const std::string& folder, std::string input,
               Searched* searched) {
  // Written before: nothing can be written when it has ended the process.
  const std::string file = folder + "/" + target.name + "-" + std::to_string(::getpid());
  std::ofstream(file, std::ios::binary) << input;
  taken.reset();
  last_place = 0;
  ::alarm(longest_input_s);
  target.run(input);
  ::alarm(0);
  ++searched->inputs;
  if (is_new()) searched->corpus.push_back(std::move(input));
  std::remove(file.c_str());
}

}  // namespace

// What the compiler calls at every branch of the readers.
extern "C" __attribute__((no_sanitize("address", "undefined"))) void __sanitizer_cov_trace_pc() {
  const auto place = reinterpret_cast<std::uintptr_t>(__builtin_return_address(0));
  taken[(place ^ last_place >> 1) % places] = true;
  last_place = place;
}

int main(int count, char** words) {
  if (count < 3) {
    std::fprintf(stderr, "usage: fuzz SECONDS FOLDER [SEED]\n");
    return 2;
  }
  const auto seconds = std::chrono::seconds(std::atoi(words[1]));
  const std::string folder = words[2];
  const std::uint64_t seed = count > 3 ? std::strtoull(words[3], nullptr, 10) : std::random_device()();
  std::printf("fuzz: seed %llu\n", static_cast<unsigned long long>(seed));
  std::fflush(stdout);
  std::mt19937_64 random(seed);
  std::map<std::string, Searched> searched;
  for (const unisono::fuzz::Target& target : unisono::fuzz::targets()) {
    for (const std::string& input : target.seeds) try_input(target, folder, input, &searched[target.name]);
    searched[target.name].corpus = target.seeds;
  }
  constexpr int turn = 50;
  for (const auto end = Clock::now() + seconds; Clock::now() < end;) {
    for (const unisono::fuzz::Target& target : unisono::fuzz::targets()) {
      Searched& of_target = searched[target.name];
      for (int i = 0; i < turn && Clock::now() < end; ++i) {
        const auto any = [&] { return of_target.corpus[random() % of_target.corpus.size()]; };
        try_input(target, folder, unisono::fuzz::changed(any(), any(), random), &of_target);
      }
    }
  }
  for (const auto& [name, of_target] : searched) {
    std::printf("fuzz: %-10s %9llu inputs, %5zu reach code of their own\n", name.c_str(),
                static_cast<unsigned long long>(of_target.inputs), of_target.corpus.size());
  }
  return 0;
}
