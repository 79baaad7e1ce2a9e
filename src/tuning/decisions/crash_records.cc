// SPDX-License-Identifier: BSD-3-Clause
#include "tuning/decisions/crash_records.h"

#include <algorithm>
#include <ctime>
#include <optional>
#include <set>
#include <tuple>

#include "algorithms/catalogue/agent_descriptors.h"
#include "base/json_text.h"
#include "base/own_folder.h"

namespace unisono::tuning {
namespace {

using Json = nlohmann::ordered_json;

// Where reading it has become a waste.
constexpr std::size_t tidy_bytes = std::size_t{64} << 10;

constexpr std::size_t most_crashes_bytes = std::size_t{4} << 20;

std::string dumped(const Json& json) {
  return json_text(json);
}

OwnFolder folder_of(const std::string& file) {
  const std::size_t slash = file.rfind('/');
  const std::string folder =
      slash == std::string::npos ? "." : file.substr(0, std::max<std::size_t>(slash, 1));
  return OwnFolder(folder, {}, OwnFolder::Missing::stays);
}

std::string name_of(const std::string& file) {
  return file.substr(file.rfind('/') + 1);
}

std::optional<Crash> crash_from(const Json& json) {
  try {
    return Crash{.place = {.program = json.at("program").get<std::string>(),
                           .machine = json.at("machine").get<std::string>(),
                           .mpi = json.at("mpi").get<std::string>(),
                           .unisono = json.at("unisono").get<std::string>()},
                 .host = json.at("host").get<std::string>(),
                 .rank = json.at("rank").get<int>(),
                 .ranks = json.at("ranks").get<int>(),
                 .job = json.value("job", std::string()),
                 .id = json.at("id").get<std::string>(),
                 .time = json.at("time").get<std::int64_t>(),
                 .signal = json.at("signal").get<std::string>(),
                 .operation = json.at("operation").get<std::string>(),
                 .algorithm = json.at("algorithm").get<std::string>(),
                 .bytes = json.at("bytes").get<std::int64_t>()};
  } catch (const Json::exception&) {
    return std::nullopt;
  }
}

// In the order in which processes have appended them.
void keep_first_of_each_job(std::vector<Crash>* all) {
  std::set<std::string> seen;
  std::erase_if(*all,
                [&](const Crash& crash) { return !crash.job.empty() && !seen.insert(crash.job).second; });
}

std::vector<Crash> newest_of_each(std::vector<Crash> all) {
  std::ranges::stable_sort(all, {}, &Crash::time);
  std::set<std::tuple<CrashPlace, std::string, std::string>> seen;
  std::vector<Crash> kept;
  for (auto crash = all.rbegin(); crash != all.rend(); ++crash) {
    if (seen.emplace(crash->place, crash->operation, crash->name()).second) kept.push_back(std::move(*crash));
  }
  std::ranges::reverse(kept);
  return kept;
}

// Writes what is kept in place of the file. Between the two a process that dies may lose its line, which
// comes again where it dies again.
std::string write_kept(const OwnFolder& folder, const std::string& name, const std::vector<Crash>& kept) {
  const std::string problem = kept.empty() ? folder.remove(name) : folder.write(name, to_text(kept));
  return problem.empty() ? problem : folder.path() + "/" + name + " " + problem;
}

}  // namespace

std::string Crash::date() const {
  const std::time_t seconds = time;
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%d", &parts);
  return text;
}

std::string known_part(const Crash& crash) {
  std::string text = dumped({{"program", crash.place.program},
                             {"machine", crash.place.machine},
                             {"mpi", crash.place.mpi},
                             {"unisono", crash.place.unisono},
                             {"host", crash.host},
                             {"rank", crash.rank},
                             {"ranks", crash.ranks},
                             {"job", crash.job},
                             {"id", crash.id}});
  text.pop_back();
  return text;
}

std::string Crash::line() const {
  const std::string rest = dumped({{"time", time},
                                   {"signal", signal},
                                   {"operation", operation},
                                   {"algorithm", algorithm},
                                   {"bytes", bytes}});
  return known_part(*this) + "," + rest.substr(1) + "\n";
}

std::string withdrawal_line(const std::string& id) {
  return dumped({{"withdrawn", id}}) + "\n";
}

std::string to_text(const std::vector<Crash>& crashes) {
  std::string text;
  for (const Crash& crash : crashes) text += crash.line();
  return text;
}

ReadCrashes crashes_from(std::string_view text) {
  ReadCrashes read;
  std::set<std::string> withdrawn;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
    if (line.empty()) continue;
    const Json json = json_from(line).json;
    const auto back = json.is_object() ? json.find("withdrawn") : json.end();
    if (back != json.end() && back->is_string()) {
      withdrawn.insert(back->get<std::string>());
    } else if (std::optional<Crash> crash = crash_from(json)) {
      read.crashes.push_back(std::move(*crash));
    } else {
      ++read.malformed;
    }
  }
  std::erase_if(read.crashes, [&](const Crash& crash) { return withdrawn.contains(crash.id); });
  keep_first_of_each_job(&read.crashes);
  read.crashes = newest_of_each(std::move(read.crashes));
  return read;
}

std::string crash_file(const std::string& cache) {
  return cache.empty() ? cache : cache + "/crashes.jsonl";
}

ReadCrashes read_crashes(const std::string& file) {
  if (file.empty()) return {};
  const OwnFolder folder = folder_of(file);
  const std::string name = name_of(file);
  if (!folder.has(name)) return {.problem = folder.problem()};
  const ReadFile text = folder.read(name, most_crashes_bytes);
  if (!text.text) return {.problem = file + " " + text.problem};
  ReadCrashes read = crashes_from(*text.text);
  if (text.text->size() > tidy_bytes) {
    // Where it cannot be written it is read the next time as it is.
    const Lock lock(folder, name + ".lock");
    if (lock.problem().empty()) write_kept(folder, name, read.crashes);
  }
  return read;
}

std::size_t forget_crashes(const std::string& file, std::string_view program, std::string* problem) {
  if (file.empty()) return 0;
  const OwnFolder folder = folder_of(file);
  const std::string name = name_of(file);
  *problem = folder.problem();
  if (!folder.has(name)) return 0;
  const Lock lock(folder, name + ".lock");
  *problem = lock.problem();
  if (!problem->empty()) return 0;
  const ReadFile text = folder.read(name, most_crashes_bytes);
  if (!text.text) {
    *problem = file + " " + text.problem;
    return 0;
  }
  std::vector<Crash> kept = crashes_from(*text.text).crashes;
  const std::size_t forgotten = std::erase_if(
      kept, [&](const Crash& crash) { return program.empty() || crash.place.program == program; });
  *problem = write_kept(folder, name, kept);
  return problem->empty() ? forgotten : 0;
}

LeftOut left_out_by(const std::vector<Crash>& crashes) {
  LeftOut left_out;
  for (const Crash& crash : crashes) {
    const auto operation = operation_from_name(crash.operation);
    const algorithms::Descriptor* algorithm =
        operation ? algorithms::find_with_agents(*operation, crash.name()) : nullptr;
    if (algorithm == nullptr) continue;
    left_out[algorithm] = "a job of " + crash.date() + " died of " + crash.signal + " inside it";
  }
  return left_out;
}

}  // namespace unisono::tuning
