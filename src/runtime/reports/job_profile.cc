// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/reports/job_profile.h"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "tuning/decisions/size_class.h"

namespace unisono::runtime {
namespace {

using Json = nlohmann::ordered_json;

void write_cell(WireWriter* writer, const ProfileCell& cell) {
  writer->integer(cell.size_class);
  writer->integer(static_cast<int>(cell.distance));
  writer->number(cell.calls);
  writer->number(cell.bytes);
  writer->real(cell.time_s);
}

ProfileCell read_cell(WireReader* reader) {
  ProfileCell cell;
  cell.size_class = static_cast<int>(reader->between(0, tuning::size_class_count - 1));
  cell.distance = reader->one_of<Distance>(distance_count);
  cell.calls = reader->number();
  cell.bytes = reader->number();
  cell.time_s = reader->real();
  return cell;
}

void write_function(WireWriter* writer, const ProfiledFunction& function) {
  writer->text(function.name);
  writer->integer(static_cast<int>(function.kind));
  writer->flag(function.is_sending);
  writer->flag(function.is_estimated);
  writer->list(function.cells, [](WireWriter* to, const ProfileCell& cell) { write_cell(to, cell); });
}

ProfiledFunction read_function(WireReader* reader) {
  ProfiledFunction function{.name = reader->text()};
  function.kind = reader->one_of<FunctionKind>(function_kind_count);
  function.is_sending = reader->flag();
  function.is_estimated = reader->flag();
  function.cells = reader->list<ProfileCell>(read_cell);
  return function;
}

Json spread_json(const Spread& spread, int ranks) {
  return {{"min", spread.least_s}, {"mean", spread.sum_s / std::max(ranks, 1)}, {"max", spread.most_s}};
}

Json cell_json(const ProfileCell& cell) {
  return {{"size_class", tuning::class_label(cell.size_class)},
          {"bytes_low", tuning::class_low(cell.size_class)},
          {"bytes_high", tuning::class_high(cell.size_class)},
          {"partner", name(cell.distance)},
          {"calls", cell.calls},
          {"bytes", cell.bytes},
          {"time_s", cell.time_s}};
}

Json function_json(const JobFunction& of, int ranks) {
  Json out = {{"function", of.function.name},
              {"kind", name(of.function.kind)},
              {"sends", of.function.is_sending},
              {"estimated", of.function.is_estimated},
              {"ranks", of.ranks},
              {"calls", of.calls},
              {"calls_min", of.least_calls},
              {"calls_max", of.most_calls},
              {"bytes", of.bytes},
              {"time_s", spread_json(of.time, ranks)},
              {"cells", Json::array()}};
  for (const ProfileCell& cell : of.function.cells) out["cells"].push_back(cell_json(cell));
  return out;
}

std::string seconds_text(double seconds) {
  char text[32];
  std::snprintf(text, sizeof text, seconds < 1 ? "%.3g ms" : "%.3g s", seconds < 1 ? seconds * 1e3 : seconds);
  return text;
}

}  // namespace

const char* name(FunctionKind kind) {
  switch (kind) {
    case FunctionKind::point_to_point:
      return "point-to-point";
    case FunctionKind::completion:
      return "completion";
    case FunctionKind::collective:
      return "collective";
    case FunctionKind::neighborhood:
      return "neighborhood";
    case FunctionKind::one_sided:
      return "one-sided";
    case FunctionKind::file:
      return "file";
    case FunctionKind::communicator:
      return "communicator";
    case FunctionKind::datatype:
      return "datatype";
    case FunctionKind::start_and_end:
      return "start and end";
    case FunctionKind::other:
      return "other";
  }
  return "";
}

const char* name(Distance distance) {
  switch (distance) {
    case Distance::none:
      return "none";
    case Distance::same_rank:
      return "same rank";
    case Distance::same_node:
      return "same node";
    case Distance::other_node:
      return "other node";
    case Distance::unknown:
      return "unknown";
  }
  return "";
}

void write(WireWriter* writer, const RankProfile& profile) {
  writer->real(profile.run_s);
  writer->integer(profile.threads);
  writer->list(profile.functions,
               [](WireWriter* to, const ProfiledFunction& function) { write_function(to, function); });
}

RankProfile read_profile(WireReader* reader) {
  RankProfile profile{.run_s = reader->real()};
  profile.threads = reader->integer();
  profile.functions = reader->list<ProfiledFunction>(read_function);
  return profile;
}

void Spread::add(double seconds, bool is_first) {
  least_s = is_first ? seconds : std::min(least_s, seconds);
  most_s = is_first ? seconds : std::max(most_s, seconds);
  sum_s += seconds;
}

// `scale`: what its time is multiplied by.
void ProfileOfRanks::add_function(const ProfiledFunction& function, double scale) {
  Function& joined = functions_[function.name];
  const bool is_first = joined.ranks++ == 0;
  if (is_first) joined.function = {.name = function.name, .kind = function.kind};
  joined.function.is_sending = joined.function.is_sending || function.is_sending;
  joined.function.is_estimated = joined.function.is_estimated || function.is_estimated;
  std::uint64_t calls = 0;
  double time_s = 0;
  for (const ProfileCell& cell : function.cells) {
    ProfileCell& sum = joined.cells[{cell.size_class, cell.distance}];
    sum.size_class = cell.size_class;
    sum.distance = cell.distance;
    sum.calls += cell.calls;
    sum.bytes += cell.bytes;
    sum.time_s += scale * cell.time_s;
    joined.bytes += cell.bytes;
    calls += cell.calls;
    time_s += scale * cell.time_s;
  }
  joined.calls += calls;
  joined.least_calls = is_first ? calls : std::min(joined.least_calls, calls);
  joined.most_calls = std::max(joined.most_calls, calls);
  joined.time.add(time_s, is_first);
}

void ProfileOfRanks::add(const RankProfile& profile) {
  const bool is_first = ranks_++ == 0;
  threads_ = std::max(threads_, profile.threads);
  double in_mpi_s = 0;
  for (const ProfiledFunction& function : profile.functions) {
    if (function.kind == FunctionKind::start_and_end) continue;
    for (const ProfileCell& cell : function.cells) in_mpi_s += cell.time_s;
  }
  // Of several threads each has its own run.
  in_mpi_s /= static_cast<double>(std::max<std::int64_t>(profile.threads, 1));
  // Times that are extrapolated may come to more than the run was long: the parts of a run make no more than
  // it.
  const double scale = in_mpi_s > profile.run_s ? profile.run_s / in_mpi_s : 1;
  in_mpi_s *= scale;
  for (const ProfiledFunction& function : profile.functions)
    add_function(function, function.kind == FunctionKind::start_and_end ? 1 : scale);
  run_.add(profile.run_s, is_first);
  in_mpi_.add(in_mpi_s, is_first);
  outside_.add(std::max(0.0, profile.run_s - in_mpi_s), is_first);
}

JobProfile ProfileOfRanks::joined() const {
  JobProfile profile{
      .ranks = ranks_, .threads = threads_, .run = run_, .in_mpi = in_mpi_, .outside = outside_};
  for (const auto& [name, of] : functions_) {
    JobFunction function{.function = of.function,
                         .ranks = of.ranks,
                         .calls = of.calls,
                         .least_calls = of.ranks < ranks_ ? 0 : of.least_calls,
                         .most_calls = of.most_calls,
                         .bytes = of.bytes,
                         .time = of.time};
    if (of.ranks < ranks_) function.time.least_s = 0;
    for (const auto& [key, cell] : of.cells) function.function.cells.push_back(cell);
    profile.functions.push_back(std::move(function));
  }
  std::ranges::stable_sort(profile.functions, std::greater<>(),
                           [](const JobFunction& of) { return of.time.sum_s; });
  return profile;
}

Json profile_json(const JobProfile& profile) {
  Json out = {{"ranks", profile.ranks},
              {"threads", profile.threads},
              {"run_s", spread_json(profile.run, profile.ranks)},
              {"in_mpi_s", spread_json(profile.in_mpi, profile.ranks)},
              {"outside_s", spread_json(profile.outside, profile.ranks)},
              {"functions", Json::array()}};
  for (const JobFunction& of : profile.functions)
    out["functions"].push_back(function_json(of, profile.ranks));
  return out;
}

std::string profile_summary(const JobProfile& profile) {
  const double ranks = std::max(profile.ranks, 1);
  const double share = profile.run.sum_s == 0 ? 0 : 100 * profile.in_mpi.sum_s / profile.run.sum_s;
  char line[200];
  std::snprintf(line, sizeof line, "  in all MPI functions: %.1f %% of the run (mean of %d ranks)\n", share,
                profile.ranks);
  std::string text = line;
  for (const JobFunction& of : profile.functions) {
    std::snprintf(line, sizeof line, "  %-32s %12llu calls %14llu bytes %12s on each rank (mean)\n",
                  of.function.name.c_str(), static_cast<unsigned long long>(of.calls),
                  static_cast<unsigned long long>(of.bytes), seconds_text(of.time.sum_s / ranks).c_str());
    text += line;
  }
  return text;
}

}  // namespace unisono::runtime
