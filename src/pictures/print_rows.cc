// SPDX-License-Identifier: BSD-3-Clause
#include "pictures/print_rows.h"

#include <algorithm>
#include <deque>
#include <map>
#include <stdexcept>

#include "schedule/block_table.h"
#include "schedule/describe.h"
#include "schedule/ranges.h"

namespace unisono::pictures {
namespace {

bool is_await(const schedule::Step& step) {
  return step.kind == schedule::StepKind::await || step.kind == schedule::StepKind::await_all;
}

struct Touched {
  std::vector<schedule::Ref> read, written;
};

Touched touched_by(const schedule::Step& step) {
  switch (step.kind) {
    case schedule::StepKind::send:
      return {{step.left}, {}};
    case schedule::StepKind::recv:
      return {{}, {step.into}};
    case schedule::StepKind::copy:
      return {{step.left}, {step.into}};
    case schedule::StepKind::reduce:
      return {{step.left, step.right}, {step.into}};
    default:
      return {};
  }
}

bool overlap(const schedule::Ref& a, const schedule::Ref& b) {
  if (a.place != b.place || a.owner != b.owner || a.lane != b.lane) return false;
  return a.first * b.parts < b.last * a.parts && b.first * a.parts < a.last * b.parts;
}

bool any_overlap(const std::vector<schedule::Ref>& some, const std::vector<schedule::Ref>& others) {
  return std::any_of(some.begin(), some.end(), [&](const schedule::Ref& a) {
    return std::any_of(others.begin(), others.end(), [&](const schedule::Ref& b) { return overlap(a, b); });
  });
}

// Must `later` wait for `earlier`, of the same rank and row? Messages run beside each other as far as their
// data allows; local steps are done one by one.
bool depends(const Picture& picture, const DrawnStep& later, const DrawnStep& earlier) {
  if (!is_message(earlier.step.kind) && !is_message(later.step.kind)) return true;
  const auto is_shared = [](const schedule::Step& step) {
    return step.left.place == schedule::Place::shared || step.into.place == schedule::Place::shared;
  };
  const auto is_of_node = [&](const schedule::Step& step) {
    return !is_message(step.kind) && (look_of(step) != Look::copy && look_of(step) != Look::reduce);
  };
  if ((is_shared(later.step) && is_of_node(earlier.step)) ||
      (is_shared(earlier.step) && is_of_node(later.step)) || is_fused(earlier.step.kind) ||
      is_fused(later.step.kind)) {
    return true;
  }
  if (earlier.step.kind == schedule::StepKind::recv && is_token(picture, earlier)) return true;
  if (later.step.kind == schedule::StepKind::send && is_token(picture, later)) {
    return earlier.step.kind != schedule::StepKind::send;
  }
  const Touched now = touched_by(later.step);
  const Touched before = touched_by(earlier.step);
  return any_overlap(now.read, before.written) || any_overlap(now.written, before.written) ||
         any_overlap(now.written, before.read);
}

// Of a rank's program, with the picture's count; all blocks of neighbours are equally long.
class CountedUnits {
 public:
  CountedUnits(const Picture& picture, std::size_t rank) : units_(picture.count.value_or(0)) {
    const schedule::BlockTable* table = picture.programs[rank].blocks.get();
    if (table == nullptr) return;
    const auto told = static_cast<std::size_t>(table->told_by_rank) *
                      static_cast<std::size_t>(picture.layout->local_size(static_cast<int>(rank)));
    find_starts(*table, table->limits, std::vector<std::int64_t>(told, units_.elements), 1, &starts_);
    units_ = {units_.elements, {starts_.data(), std::ssize(table->blocks)}, schedule::unknown_elements};
  }
  std::int64_t length(const schedule::Ref& ref) const { return element_range(ref, units_).length(); }

 private:
  std::vector<std::int64_t> starts_;
  schedule::Units units_;
};

bool moves_nothing(const Picture& picture, const CountedUnits& units, const schedule::Step& step) {
  if (!picture.count) return false;
  const auto is_empty = [&](const schedule::Ref& ref) { return units.length(ref) == 0; };
  switch (step.kind) {
    case schedule::StepKind::send:
      return !is_token(picture.operation, step.left) && is_empty(step.left);
    case schedule::StepKind::recv:
      return !is_token(picture.operation, step.into) && is_empty(step.into);
    case schedule::StepKind::copy:
    case schedule::StepKind::reduce:
      return is_empty(step.into);
    default:
      return false;
  }
}

// The n-th message from a to b in a round is what b receives as the n-th from a.
void match(DrawnRow* row) {
  std::map<std::pair<int, int>, std::deque<int>> sent;
  const auto where = [row](const char* what, int from, int to) {
    return std::string(what) + " from rank " + std::to_string(from) + " to rank " + std::to_string(to) +
           " in round " + std::to_string(row->round) + " of stage " + std::to_string(row->stage);
  };
  for (int i = 0; i < static_cast<int>(row->steps.size()); ++i) {
    const DrawnStep& drawn = row->steps[i];
    if (drawn.step.kind == schedule::StepKind::send) sent[{drawn.rank, drawn.step.peer}].push_back(i);
  }
  for (int i = 0; i < static_cast<int>(row->steps.size()); ++i) {
    DrawnStep& drawn = row->steps[i];
    if (drawn.step.kind != schedule::StepKind::recv) continue;
    std::deque<int>& open = sent[{drawn.step.peer, drawn.rank}];
    if (open.empty())
      throw std::invalid_argument(where("nobody sends what is received", drawn.step.peer, drawn.rank));
    drawn.partner = open.front();
    row->steps[open.front()].partner = i;
    open.pop_front();
  }
  for (const auto& [pair, open] : sent) {
    if (!open.empty())
      throw std::invalid_argument(where("nobody receives a message", pair.first, pair.second));
  }
}

// When the flag of `rank` reaches `tick`. That is at a signal in this row, or, if `tick` is its last, when
// all that the rank does is done. 0: it was in an earlier row.
int flag_time(const Picture& picture, const DrawnRow& row, int rank, int tick) {
  int at_signal = 0;
  int at_end = 0;
  for (const DrawnStep& other : row.steps) {
    if (other.rank != rank) continue;
    at_end = std::max(at_end, other.end);
    const bool is_it = other.step.kind == schedule::StepKind::signal && other.step.tick >= tick;
    if (is_it && at_signal == 0) at_signal = other.end;
  }
  const bool is_last = tick >= picture.programs[rank].stages[row.stage].ticks;
  return at_signal == 0 && is_last ? at_end : at_signal;
}

int flags_time(const Picture& picture, const DrawnRow& row, const DrawnStep& drawn) {
  const patterns::Layout& layout = *picture.layout;
  int time = 0;
  for (const int rank : layout.ranks_of[layout.node_of[drawn.rank]]) {
    if (rank == drawn.rank) continue;
    if (drawn.step.kind == schedule::StepKind::await && layout.local_rank_of[rank] != drawn.step.peer)
      continue;
    time = std::max(time, flag_time(picture, row, rank, drawn.step.tick));
  }
  return time;
}

// Virtual times, as the least that satisfy all dependencies.
void set_times(const Picture& picture, DrawnRow* row) {
  // needs[i]: the earlier steps of the same rank that step i waits for.
  std::vector<std::vector<int>> needs(row->steps.size());
  for (std::size_t i = 0, first = 0; i < row->steps.size(); ++i) {
    if (row->steps[first].rank != row->steps[i].rank) first = i;
    for (std::size_t j = first; j < i; ++j) {
      if (depends(picture, row->steps[i], row->steps[j])) needs[i].push_back(static_cast<int>(j));
    }
  }
  // Each pass carries times along at least one more step of every path; flags that wait for each other would
  // never come to rest, hence the bound.
  const std::size_t most_passes = row->steps.size() + 2;
  bool has_changed = true;
  for (std::size_t pass = 0; has_changed && pass < most_passes; ++pass) {
    has_changed = false;
    for (std::size_t i = 0; i < row->steps.size(); ++i) {
      DrawnStep& drawn = row->steps[i];
      int start = 0;
      for (const int before : needs[i]) start = std::max(start, row->steps[before].end);
      int end = start + 1;
      if (drawn.step.kind == schedule::StepKind::recv)
        end = std::max(end, row->steps[drawn.partner].start + 1);
      if (is_await(drawn.step)) end = std::max(end, flags_time(picture, *row, drawn) + 1);
      has_changed = has_changed || start != drawn.start || end != drawn.end;
      drawn.start = start;
      drawn.end = end;
    }
  }
}

std::string counted(std::int64_t count, const std::string& noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

}  // namespace

int DrawnRow::duration() const {
  int last = 0;
  for (const DrawnStep& drawn : steps) last = std::max(last, drawn.end);
  return last;
}

std::vector<DrawnRow> rows_of(const Picture& picture) {
  std::size_t stages = 0;
  for (const schedule::Program& program : picture.programs) stages = std::max(stages, program.stages.size());
  std::vector<DrawnRow> rows;
  std::deque<CountedUnits> units;
  for (std::size_t rank = 0; rank < picture.programs.size(); ++rank) units.emplace_back(picture, rank);
  for (std::size_t stage = 0; stage < stages; ++stage) {
    int rounds = 0;
    for (const schedule::Program& program : picture.programs) {
      if (stage < program.stages.size()) rounds = std::max(rounds, program.stages[stage].rounds);
    }
    for (int round = 0; round < rounds; ++round) {
      DrawnRow row{.stage = static_cast<int>(stage), .round = round, .steps = {}};
      for (std::size_t rank = 0; rank < picture.programs.size(); ++rank) {
        const schedule::Program& program = picture.programs[rank];
        if (stage >= program.stages.size() || round >= program.stages[stage].rounds) continue;
        std::vector<schedule::Step> steps;
        schedule::Writer writer(&steps);
        program.stages[stage].write(round, writer);
        for (const schedule::Step& step : steps) {
          if (moves_nothing(picture, units[rank], step)) continue;
          row.steps.push_back({.rank = static_cast<int>(rank), .step = step});
        }
      }
      if (row.steps.empty()) continue;
      match(&row);
      set_times(picture, &row);
      rows.push_back(std::move(row));
    }
  }
  return rows;
}

Look look_of(const schedule::Step& step) {
  switch (step.kind) {
    case schedule::StepKind::send:
      return Look::send;
    case schedule::StepKind::recv:
      return Look::recv;
    case schedule::StepKind::reduce:
      return Look::reduce;
    case schedule::StepKind::copy:
      if (step.into.place == schedule::Place::shared) return Look::put;
      return step.left.place >= schedule::Place::shared ? Look::get : Look::copy;
    default:
      return is_fused(step.kind) ? Look::fused : Look::flag;
  }
}

bool is_token(const Picture& picture, const DrawnStep& drawn) {
  const schedule::Ref& ref = drawn.step.kind == schedule::StepKind::recv ? drawn.step.into : drawn.step.left;
  return is_token(picture.operation, ref);
}

std::string long_words(const Picture& picture, const DrawnStep& drawn) {
  const schedule::Program& program = picture.programs[static_cast<std::size_t>(drawn.rank)];
  return "rank " + std::to_string(drawn.rank) + ": " + describe(drawn.step, program.blocks.get());
}

std::string short_words(const Picture& picture, const DrawnStep& drawn) {
  const schedule::Step& step = drawn.step;
  const std::vector<int>& local_ranks = picture.layout->ranks_of[picture.layout->node_of[drawn.rank]];
  const auto rank_text = [&](int local) {
    return std::to_string(local_ranks.at(static_cast<std::size_t>(local)));
  };
  switch (step.kind) {
    case schedule::StepKind::send:
      return std::string("→") + std::to_string(step.peer);
    case schedule::StepKind::recv:
      return std::string("←") + std::to_string(step.peer);
    case schedule::StepKind::reduce:
      return "⊕";
    case schedule::StepKind::copy:
      if (look_of(step) == Look::copy) return "copy";
      return look_of(step) == Look::put ? "put" : std::string("get ") + rank_text(step.left.owner);
    case schedule::StepKind::signal:
      return "signal";
    case schedule::StepKind::await:
      return std::string("await ") + rank_text(step.peer);
    case schedule::StepKind::await_all:
      return "await all";
    case schedule::StepKind::await_space:
      return "space";
    case schedule::StepKind::expose:
      return "expose";
    case schedule::StepKind::node_barrier:
      return "barrier";
    case schedule::StepKind::node_bcast:
      return std::string("bcast ") + rank_text(step.peer);
    case schedule::StepKind::node_reduce:
      return std::string("reduce ") + rank_text(step.peer);
    case schedule::StepKind::node_allreduce:
      return "allreduce";
    case schedule::StepKind::node_scan:
      return "scan";
    case schedule::StepKind::node_exscan:
      return "exscan";
    case schedule::StepKind::node_reduce_scatter:
      return "reduce_scatter";
    case schedule::StepKind::node_allgather:
      return "allgather";
    case schedule::StepKind::node_gather:
      return std::string("gather ") + rank_text(step.peer);
    case schedule::StepKind::node_scatter:
      return std::string("scatter ") + rank_text(step.peer);
    case schedule::StepKind::node_alltoall:
      return "alltoall";
  }
  return "";
}

std::string title_of(const Picture& picture) {
  std::string title =
      std::string(name(picture.operation)) + ", " + picture.algorithm + ": " + picture.layout->describe();
  if (!picture.graph.empty()) title += ", graph " + picture.graph;
  if (is_rooted(picture.operation)) title += std::string(", root ") + std::to_string(picture.root);
  if (picture.count) title += ", " + counted(*picture.count, "byte");
  if (picture.count && (is_block_operation(picture.operation) || is_neighborhood(picture.operation)))
    title += " in a block";
  return title;
}

std::string parameters_of(const Picture& picture) {
  std::string text;
  for (const auto& [key, value] : picture.parameters) {
    text += (text.empty() ? "Parameters: " : ", ") + key + " " + std::to_string(value);
  }
  return text;
}

std::string stage_words(const Picture& picture, int stage) {
  const auto has_it = [stage](const schedule::Program& program) {
    return stage < static_cast<int>(program.stages.size()) && program.stages[stage].rounds > 0;
  };
  const auto found = std::find_if(picture.programs.begin(), picture.programs.end(), has_it);
  if (found == picture.programs.end()) return "";
  const schedule::Stage& drawn = found->stages[stage];
  std::string text;
  const auto add = [&text](const std::string& words) { text += (text.empty() ? "" : ", ") + words; };
  if (drawn.shared != schedule::SharedMode::none) {
    add(drawn.shared == schedule::SharedMode::own ? "each rank's own slots" : "slots in common");
    add(counted(drawn.buffers, "slot"));
    if (drawn.lanes > 1) add(counted(drawn.lanes, "lane"));
  }
  if (drawn.segment_bytes > 0) {
    add("pieces of at most " + counted(drawn.segment_bytes, "byte"));
    if (picture.count && drawn.shared == schedule::SharedMode::none) {
      add("here " + counted(piece_count(drawn, *picture.count, 1, 0), "piece"));
    }
    add(std::to_string(drawn.window) + " under way");
  }
  if (drawn.sends_under_way > 0) add("at most " + counted(drawn.sends_under_way, "send") + " under way");
  if (drawn.is_blocking) add("one message at a time");
  if (drawn.begins_apart) add("begins when all before it is done");
  return text;
}

std::vector<std::string> wrapped(std::string_view text, int width) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const std::size_t space = text.find(' ');
    const std::string word(text.substr(0, space));
    text.remove_prefix(space == std::string_view::npos ? text.size() : space + 1);
    if (!lines.empty() && columns_of(lines.back()) + 1 + columns_of(word) <= width) {
      lines.back() += " " + word;
    } else {
      lines.push_back(word);
    }
  }
  return lines;
}

int columns_of(std::string_view text) {
  // Bytes that continue a character are not counted.
  return static_cast<int>(std::count_if(text.begin(), text.end(), [](char byte) {
    return (static_cast<unsigned char>(byte) & 0xC0U) != 0x80U;
  }));
}

}  // namespace unisono::pictures
