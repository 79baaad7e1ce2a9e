// SPDX-License-Identifier: BSD-3-Clause
// The structures that match: one descriptor each, in the structure's own file. It is the only place where a
// structure's name, sentence, source and parameters stand; tests, benchmarks and pages read it from here.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "matching/queues.h"

namespace unisono::matching {

struct Profile;

struct Parameter {
  std::string_view name;
  std::int64_t low, high, standard;
  std::string_view help;
};

// What queues are made for.
struct Setup {
  int ranks = 1;                     // of the job; sources lie below it
  const Profile* profile = nullptr;  // of an earlier run, of this rank; it must outlive the queues
  std::vector<std::pair<std::string_view, std::int64_t>> values;  // of parameters, standard where they lack
  // Of Unisono's own structure: what its hash begins with, a random number where there is none, and the
  // first receive's number.
  std::optional<std::uint64_t> hash_seed;
  std::uint32_t first_sequence = 0;

  std::int64_t value(std::string_view name) const;  // aborts on a name that is not there
};

struct Descriptor {
  std::string_view name;
  std::string_view source;    // row code and section, "M1, section 2.2.5"
  std::string_view sentence;  // for people
  std::vector<Parameter> parameters;
  bool needs_profile = false;
  std::unique_ptr<Queues> (*make)(const Setup&);  // `values` has all parameters: call make_queues
};

// All structures, by name.
const std::vector<Descriptor>& registry();
const Descriptor* find(std::string_view name);
// Values that are out of their range become the nearest ones in it.
std::unique_ptr<Queues> make_queues(const Descriptor& descriptor, Setup setup);

// At namespace scope in a structure's file: adds it to the registry.
struct Registration {
  explicit Registration(Descriptor (*make)());
};

}  // namespace unisono::matching
