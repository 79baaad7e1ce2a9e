// SPDX-License-Identifier: BSD-3-Clause
#include "traces/trace.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "base/shown.h"

namespace unisono::traces {
namespace {

using matching::any_source;
using matching::any_tag;

constexpr std::string_view first_line = "unisono-message-trace 1";
// The head's line announces the last one, which then must be there: so a trace that was cut is known as such.
constexpr std::string_view announcement = "with-end";
constexpr std::string_view last_line = "end";
constexpr std::string_view any = "any";
constexpr std::size_t most_shown = 40;
constexpr std::size_t most_name = 200;

std::string_view next_line(std::string_view* text) {
  const std::size_t end = std::min(text->find('\n'), text->size());
  std::string_view line = text->substr(0, end);
  text->remove_prefix(std::min(end + 1, text->size()));
  line = line.substr(0, line.find('#'));
  while (!line.empty() && (line.back() == ' ' || line.back() == '\t' || line.back() == '\r'))
    line.remove_suffix(1);
  return line;
}

std::string_view next_word(std::string_view* line) {
  line->remove_prefix(std::min(line->find_first_not_of(" \t"), line->size()));
  const std::size_t end = std::min(line->find_first_of(" \t"), line->size());
  const std::string_view word = line->substr(0, end);
  line->remove_prefix(end);
  return word;
}

// A number below `end`.
template <class Number>
std::optional<Number> number_of(std::string_view word, Number end) {
  Number number = 0;
  const auto [behind, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  if (error != std::errc() || behind != word.data() + word.size() || number < 0 || number >= end)
    return std::nullopt;
  return number;
}
template <class Number>
bool take(std::string_view* line, Number end, Number* into) {
  const auto number = number_of(next_word(line), end);
  if (number) *into = *number;
  return number.has_value();
}

constexpr std::uint64_t most_ns = std::uint64_t{1} << 62;
constexpr std::uint64_t most_bytes = std::uint64_t{1} << 62;
constexpr std::int64_t end_of_tags = std::int64_t{1} << 31;

struct Form {
  std::string_view word;
  What what;
  bool has_number;    // of a receive
  bool has_envelope;  // peer and tag
  bool takes_any;
  bool has_context;
  bool has_bytes;
  std::string_view fields;
};
constexpr Form forms[] = {
    {"send", What::send, false, true, false, true, true, "TIME TO TAG CONTEXT BYTES"},
    {"post", What::post, true, true, true, true, true, "TIME NUMBER FROM TAG CONTEXT BYTES"},
    {"done", What::done, true, true, false, false, true, "TIME NUMBER FROM TAG BYTES"},
    {"cancel", What::cancel, true, false, false, false, false, "TIME NUMBER"},
    {"probe", What::probe, false, true, true, true, false, "TIME FROM TAG CONTEXT"},
    {"arrive", What::arrive, false, true, false, true, true, "TIME FROM TAG CONTEXT BYTES"},
    {"sample", What::sample, false, false, false, false, true, "TIME MESSAGES [RECEIVES CONTEXT]"},
};

const Form* form_of(std::string_view word) {
  const auto* found = std::ranges::find(forms, word, &Form::word);
  return found == std::end(forms) ? nullptr : found;
}

class Reader {
 public:
  // What is wrong with the line; empty where nothing is.
  std::string read(std::string_view line) {
    if (is_ended_) return "stands behind the trace's end";
    const std::string_view word = next_word(&line);
    if (const Form* form = form_of(word)) return read_event(*form, line);
    if (word == "ranks") return read_ranks(line);
    if (word == "rank") return read_rank(line);
    if (word == "mpi") return read_mpi(line);
    if (word == "messages") return read_messages(line);
    if (word == "nodes") return read_nodes(line);
    if (word == "run" || word == "full") return read_time(word, line);
    if (word == "count") return read_count(line);
    if (word == "exact") return read_exact(line);
    if (word == announcement || word == last_line) return read_mark(word, line);
    return "begins with '" + bounded(word, most_shown) + "', which no line of a trace does";
  }
  bool lacks_end() const { return is_end_announced_ && !is_ended_; }
  Trace trace;

 private:
  std::string read_mark(std::string_view word, std::string_view line) {
    if (!line.empty()) return "has more words than '" + std::string(word) + "'";
    (word == last_line ? is_ended_ : is_end_announced_) = true;
    return {};
  }

  std::string read_ranks(std::string_view line) {
    if (trace.ranks != 0) return "says once more how many ranks there are";
    int ranks = 0;
    if (!take(&line, most_ranks + 1, &ranks) || ranks == 0 || !line.empty())
      return "wants a number of ranks from 1 to " + std::to_string(most_ranks);
    trace.ranks = ranks;
    return {};
  }

  std::string read_rank(std::string_view line) {
    if (trace.ranks == 0) return "stands before the line that says how many ranks there are";
    int rank = 0;
    if (!take(&line, trace.ranks, &rank) || !line.empty())
      return "wants a rank below " + std::to_string(trace.ranks);
    const auto [place, is_new] = trace.of_rank.try_emplace(rank);
    if (!is_new) return "names a rank a second time";
    rank_ = &place->second;
    return {};
  }

  std::string read_mpi(std::string_view line) {
    line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
    if (line.size() > most_name) return "names an MPI with more letters than can be meant";
    trace.mpi = line;
    return {};
  }

  std::string read_messages(std::string_view line) {
    trace.messages = next_word(&line);
    if (trace.messages.empty() || trace.messages.size() > most_shown || !line.empty())
      return "wants a value of option messages";
    return {};
  }

  std::string read_nodes(std::string_view line) {
    if (trace.ranks == 0) return "stands before the line that says how many ranks there are";
    trace.nodes.clear();
    while (!line.empty()) {
      int node = 0;
      if (!take(&line, most_ranks, &node)) return "wants the number of a node for each rank";
      trace.nodes.push_back(node);
    }
    if (static_cast<int>(trace.nodes.size()) != trace.ranks)
      return "has " + std::to_string(trace.nodes.size()) + " nodes for " + std::to_string(trace.ranks) +
             " ranks";
    return {};
  }

  std::string read_time(std::string_view word, std::string_view line) {
    if (rank_ == nullptr) return "stands before any rank";
    std::uint64_t time = 0;
    if (!take(&line, most_ns, &time) || !line.empty()) return "wants a time in nanoseconds";
    (word == "run" ? rank_->run_ns : rank_->full_ns) = time;
    return {};
  }

  std::string read_count(std::string_view line) {
    if (rank_ == nullptr) return "stands before any rank";
    const std::string name(next_word(&line));
    std::uint64_t count = 0;
    if (name.empty() || name.size() > most_shown || !take(&line, most_bytes, &count) || !line.empty())
      return "wants a name and a number";
    rank_->counts[name] = count;
    return {};
  }

  std::string read_exact(std::string_view line) {
    if (rank_ == nullptr) return "stands before any rank";
    if (line.empty()) return "wants a number of a communicator";
    while (!line.empty()) {
      std::uint32_t context = 0;
      if (!take(&line, matching::most_contexts, &context)) return "wants numbers of communicators";
      rank_->exact_contexts.insert(context);
    }
    return {};
  }

  static bool take_peer(std::string_view* line, bool takes_any, int ranks, std::int32_t* peer) {
    const std::string_view word = next_word(line);
    if (takes_any && word == any) return *peer = any_source, true;
    const auto number = number_of(word, ranks);
    if (number) *peer = *number;
    return number.has_value();
  }
  static bool take_tag(std::string_view* line, bool takes_any, std::int32_t* tag) {
    const std::string_view word = next_word(line);
    if (takes_any && word == any) return *tag = any_tag, true;
    const auto number = number_of(word, end_of_tags);
    if (number) *tag = static_cast<std::int32_t>(*number);
    return number.has_value();
  }

  static bool take_kind(std::string_view* line, matching::Kind* kind) {
    constexpr int end = 256;
    int values[4] = {};
    for (int& value : values)
      if (!take(line, end, &value)) return false;
    *kind = {static_cast<std::uint8_t>(values[0]), static_cast<std::uint8_t>(values[1]),
             static_cast<std::uint8_t>(values[2]), static_cast<std::uint8_t>(values[3])};
    return true;
  }

  std::string read_event(const Form& form, std::string_view line) {
    if (rank_ == nullptr) return "stands before any rank";
    Event event{.what = form.what};
    bool is_right = take(&line, most_ns, &event.time_ns);
    if (form.has_number) is_right = is_right && take(&line, UINT32_MAX, &event.number);
    if (form.has_envelope) {
      is_right = is_right && take_peer(&line, form.takes_any, trace.ranks, &event.envelope.source) &&
                 take_tag(&line, form.takes_any, &event.envelope.tag);
    }
    if (form.has_context)
      is_right = is_right && take(&line, matching::most_contexts, &event.envelope.context);
    if (form.has_bytes) is_right = is_right && take(&line, most_bytes, &event.bytes);
    if (form.what == What::sample) {
      event.envelope.context = no_context;
      if (is_right && !line.empty())
        is_right = take(&line, UINT32_MAX, &event.number) &&
                   take(&line, matching::most_contexts, &event.envelope.context);
    }
    if (is_right && form.has_context && !line.empty())
      is_right = next_word(&line) == "collective" && take_kind(&line, &event.envelope.kind);
    if (!is_right || !line.empty())
      return "is no '" + std::string(form.word) + " " + std::string(form.fields) + "' with ranks below " +
             std::to_string(trace.ranks);
    if (!rank_->events.empty() && event.time_ns < rank_->events.back().time_ns) return "goes back in time";
    rank_->events.push_back(event);
    return {};
  }

  RankTrace* rank_ = nullptr;
  bool is_end_announced_ = false, is_ended_ = false;
};

void add(std::string* text, std::uint64_t number) {
  char digits[24];
  *text += ' ';
  text->append(digits, std::to_chars(digits, std::end(digits), number).ptr);
}
void add_or_any(std::string* text, std::int32_t number) {
  if (number < 0) {
    *text += ' ';
    *text += any;
  } else {
    add(text, static_cast<std::uint64_t>(number));
  }
}

void add_event(std::string* text, const Event& event) {
  const Form& form = *std::ranges::find(forms, event.what, &Form::what);
  *text += form.word;
  add(text, event.time_ns);
  if (form.has_number) add(text, event.number);
  if (form.has_envelope) {
    add_or_any(text, event.envelope.source);
    add_or_any(text, event.envelope.tag);
  }
  if (form.has_context) add(text, event.envelope.context);
  if (form.has_bytes) add(text, event.bytes);
  if (event.what == What::sample && event.envelope.context != no_context) {
    add(text, event.number);
    add(text, event.envelope.context);
  }
  const matching::Kind& kind = event.envelope.kind;
  if (form.has_context && kind.is_collective()) {
    *text += " collective";
    for (const std::uint8_t value : {kind.operation, kind.bytes_class, kind.ranks_class, kind.call})
      add(text, value);
  }
  *text += '\n';
}

}  // namespace

void RankTrace::settle() {
  has_arrivals = std::ranges::any_of(events, [](const Event& event) { return event.what == What::arrive; });
  is_exact =
      (has_arrivals || !exact_contexts.empty()) && std::ranges::all_of(events, [&](const Event& event) {
        const bool is_of_queues = event.what == What::post || event.what == What::probe;
        return !is_of_queues || is_exact_in(event.envelope.context);
      });
}

std::uint64_t Trace::event_count() const {
  std::uint64_t count = 0;
  for (const auto& [rank, of_one] : of_rank) count += of_one.events.size();
  return count;
}

ReadTrace read_trace(std::string_view text) {
  if (text.empty()) return {.problem = "it is empty"};
  if (next_line(&text) != first_line) return {.problem = "line 1 is not '" + std::string(first_line) + "'"};
  const std::string cut_short =
      "it was cut short: its last line, '" + std::string(last_line) + "', is missing";
  Reader reader;
  for (std::uint64_t number = 2; !text.empty(); ++number) {
    const bool is_whole_line = text.find('\n') != std::string_view::npos;
    const std::string_view line = next_line(&text);
    if (line.find_first_not_of(" \t") == std::string_view::npos) continue;
    const std::string problem = reader.read(line);
    if (problem.empty()) continue;
    if (!is_whole_line && reader.lacks_end()) return {.problem = cut_short};
    return {.problem = "line " + std::to_string(number) + " " + problem};
  }
  if (reader.lacks_end()) return {.problem = cut_short};
  for (auto& [rank, of_one] : reader.trace.of_rank) of_one.settle();
  if (reader.trace.ranks == 0) return {.problem = "no line says how many ranks there are"};
  return {.trace = std::move(reader.trace)};
}

std::string to_text(const Trace& trace) {
  std::string text = std::string(first_line) + "\n" + std::string(announcement) + "\nranks " +
                     std::to_string(trace.ranks) + "\n";
  if (!trace.mpi.empty()) text += "mpi " + trace.mpi + "\n";
  text += "messages " + trace.messages + "\n";
  if (!trace.nodes.empty()) {
    text += "nodes";
    for (const int node : trace.nodes) add(&text, static_cast<std::uint64_t>(node));
    text += '\n';
  }
  for (const auto& [rank, of_one] : trace.of_rank) {
    text += "rank " + std::to_string(rank) + "\n";
    if (of_one.run_ns != 0) text += "run " + std::to_string(of_one.run_ns) + "\n";
    if (of_one.full_ns != UINT64_MAX) text += "full " + std::to_string(of_one.full_ns) + "\n";
    if (!of_one.exact_contexts.empty()) {
      text += "exact";
      for (const std::uint32_t context : of_one.exact_contexts) add(&text, context);
      text += '\n';
    }
    for (const auto& [name, count] : of_one.counts)
      text += "count " + name + " " + std::to_string(count) + "\n";
    for (const Event& event : of_one.events) add_event(&text, event);
  }
  text += std::string(last_line) + "\n";
  return text;
}

}  // namespace unisono::traces
