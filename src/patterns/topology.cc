// SPDX-License-Identifier: BSD-3-Clause
#include "patterns/topology.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <map>

#include "base/shown.h"

namespace unisono::patterns {

namespace {

constexpr std::string_view synthetic_prefix = "tree:";
constexpr std::size_t most_machines = 1 << 16;
constexpr std::size_t most_levels = 16;
constexpr std::ptrdiff_t most_brackets = 8;   // in one name
constexpr std::size_t most_file_levels = 64;  // one above the other
constexpr std::size_t most_complaint_bytes = 600;

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> items;
  while (true) {
    const std::size_t end = text.find(separator);
    items.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return items;
    text.remove_prefix(end + 1);
  }
}

std::optional<int> number_from(std::string_view text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool is_whole = error == std::errc() && end == text.data() + text.size();
  return is_whole && value >= 1 && value <= static_cast<int>(most_machines) ? std::optional(value)
                                                                            : std::nullopt;
}

// The levels of a synthetic topology from the top: how many there are below each; the last may differ from
// switch to switch.
std::optional<std::vector<std::vector<int>>> levels_from(std::string_view text) {
  std::vector<std::vector<int>> levels;
  for (const std::string_view level : split(text, 'x')) {
    if (levels.size() == most_levels) return std::nullopt;
    if (!levels.empty() && levels.back().size() > 1) return std::nullopt;
    levels.emplace_back();
    for (const std::string_view item : split(level, ',')) {
      const auto number = number_from(item);
      if (!number) return std::nullopt;
      levels.back().push_back(*number);
    }
  }
  return levels;
}

class SyntheticTree {
 public:
  explicit SyntheticTree(const std::vector<std::vector<int>>& levels) : levels_(levels) {}

  std::optional<Topology> grow() {
    const int top = add_switch("top", -1);
    is_too_large_ = !grow_below(top, "", 0);
    return is_too_large_ ? std::nullopt : std::optional(std::move(topology_));
  }

 private:
  int add_switch(const std::string& name, int above) {
    topology_.switches.names.push_back(name);
    topology_.switches.above.push_back(above);
    return static_cast<int>(topology_.switches.names.size()) - 1;
  }

  // False where it grows beyond all bounds.
  bool grow_below(int above, const std::string& number, std::size_t level) {
    const std::vector<int>& counts = levels_[level];
    const bool is_last = level + 1 == levels_.size();
    if (is_last && counts.size() == 1) return add_machines(above, counts.front());
    const int switches = is_last ? static_cast<int>(counts.size()) : counts.front();
    for (int i = 0; i < switches; ++i) {
      const std::string own = number + (number.empty() ? "" : ".") + std::to_string(i);
      const int added = add_switch("s" + own, above);
      if (topology_.switches.names.size() > most_machines) return false;
      if (!(is_last ? add_machines(added, counts[i]) : grow_below(added, own, level + 1))) return false;
    }
    return true;
  }

  bool add_machines(int above, int count) {
    if (topology_.machines.size() + count > most_machines) return false;
    topology_.machines.insert(topology_.machines.end(), count, Machine{.name = {}, .switch_of = above});
    return true;
  }

  const std::vector<std::vector<int>>& levels_;
  Topology topology_;
  bool is_too_large_ = false;
};

std::string machines_text(std::size_t count) {
  return std::to_string(count) + (count == 1 ? " machine" : " machines");
}

// --- Files ---

std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> words;
  constexpr std::string_view spaces = " \t\r";
  while (true) {
    const std::size_t first = line.find_first_not_of(spaces);
    if (first == std::string_view::npos || line[first] == '#') return words;
    line.remove_prefix(first);
    const std::size_t end = line.find_first_of(spaces);
    words.push_back(line.substr(0, end));
    if (end == std::string_view::npos) return words;
    line.remove_prefix(end);
  }
}

bool is_equal_but_for_case(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [&](char x, char y) { return lower(x) == lower(y); });
}

// Appends what "[00-02,7]" and what follows it stand for behind `prefix`.
bool expand_brackets(const std::string& prefix, std::string_view rest, std::vector<std::string>* names) {
  const std::size_t open = rest.find('[');
  if (open == std::string_view::npos) {
    if (rest.find(']') != std::string_view::npos || names->size() >= most_machines) return false;
    names->push_back(prefix + std::string(rest));
    return !names->back().empty();
  }
  const std::size_t close = rest.find(']', open);
  if (close == std::string_view::npos) return false;
  const std::string before = prefix + std::string(rest.substr(0, open));
  for (const std::string_view range : split(rest.substr(open + 1, close - open - 1), ',')) {
    const std::size_t dash = range.find('-');
    const std::string_view first = range.substr(0, dash);
    const std::string_view last = dash == std::string_view::npos ? first : range.substr(dash + 1);
    std::uint32_t low = 0;
    std::uint32_t high = 0;
    const auto low_read = std::from_chars(first.data(), first.data() + first.size(), low);
    const auto high_read = std::from_chars(last.data(), last.data() + last.size(), high);
    if (low_read.ec != std::errc() || low_read.ptr != first.data() + first.size()) return false;
    if (high_read.ec != std::errc() || high_read.ptr != last.data() + last.size()) return false;
    if (high < low || high - low >= most_machines) return false;
    for (std::uint32_t number = low; number <= high; ++number) {
      std::string digits = std::to_string(number);
      if (digits.size() < first.size()) digits.insert(0, first.size() - digits.size(), '0');
      if (!expand_brackets(before + digits, rest.substr(close + 1), names)) return false;
    }
  }
  return true;
}

// Thrown and caught here alone: what is wrong with a file.
struct BadLine {
  std::string text;
};

class FileReader {
 public:
  explicit FileReader(std::string_view file) : file_(file) {}

  Topology read(std::string_view lines) {
    for (const std::string_view line : split(lines, '\n')) {
      ++line_;
      if (const auto words = words_of(line); !words.empty()) read_line(words);
    }
    hang_up();
    demand_one_tree();
    if (topology_.machines.empty()) fail_whole("it names no machine; write SwitchName=s0 Nodes=node[0-7]");
    return std::move(topology_);
  }

 private:
  struct Switch {
    int line = 0;
    std::vector<std::string> below;
    int line_of_above = 0;
  };

  [[noreturn]] void fail(int line, const std::string& what) const {
    throw BadLine{file_ + " line " + std::to_string(line) + ": " + bounded(what, most_complaint_bytes)};
  }
  [[noreturn]] void fail_whole(const std::string& what) const {
    throw BadLine{file_ + ": " + bounded(what, most_complaint_bytes)};
  }

  std::vector<std::string> names_from(std::string_view list) const {
    const auto names = expand_names(list);
    if (names) return *names;
    fail(line_, "'" + std::string(list) + "' is no list of names; write node7,node9 or node[00-15,20]");
  }

  void read_line(const std::vector<std::string_view>& words) {
    std::string name;
    Switch described{.line = line_, .below = {}};
    std::vector<std::string> machines;
    for (const std::string_view word : words) {
      const std::size_t equals = word.find('=');
      const std::string_view key = word.substr(0, equals);
      if (equals == std::string_view::npos) {
        fail(line_,
             "'" + std::string(word) + "' is not of the form KEY=VALUE; write SwitchName=s0 Nodes=a,b");
      }
      const std::string_view value = word.substr(equals + 1);
      if (is_equal_but_for_case(key, "SwitchName")) {
        name = value;
      } else if (is_equal_but_for_case(key, "Switches")) {
        described.below = names_from(value);
      } else if (is_equal_but_for_case(key, "Nodes")) {
        machines = names_from(value);
      } else if (!is_equal_but_for_case(key, "LinkSpeed")) {
        fail(line_, "there is no key '" + std::string(key) +
                        "'; a line takes SwitchName, Switches, Nodes and LinkSpeed");
      }
    }
    if (name.empty()) fail(line_, "it does not say which switch it describes; begin with SwitchName=s0");
    if (described.below.empty() && machines.empty()) {
      fail(line_, "nothing hangs on switch " + name + "; add Nodes=... or Switches=...");
    }
    add_switch(name, std::move(described));
    for (const std::string& machine : machines) add_machine(machine);
  }

  void add_switch(const std::string& name, Switch described) {
    const auto [known, is_new] = number_of_.try_emplace(name, static_cast<int>(switches_.size()));
    if (!is_new) {
      fail(line_, "switch " + name + " is described in line " +
                      std::to_string(switches_[known->second].line) + " already; join the two lines");
    }
    switches_.push_back(std::move(described));
    topology_.switches.names.push_back(name);
    topology_.switches.above.push_back(-1);
    if (switches_.size() > most_machines) {
      fail(line_, "there are more than " + std::to_string(most_machines) + " switches");
    }
  }

  void add_machine(const std::string& name) {
    const auto [known, is_new] = line_of_machine_.try_emplace(name, line_);
    if (!is_new) {
      fail(line_, "machine " + name + " hangs on a switch already (line " + std::to_string(known->second) +
                      "); name it once");
    }
    if (line_of_machine_.size() > most_machines)
      fail(line_, "there are more than " + machines_text(most_machines));
    topology_.machines.push_back({name, static_cast<int>(switches_.size()) - 1});
  }

  void hang_up() {
    for (std::size_t i = 0; i < switches_.size(); ++i) {
      const int line = switches_[i].line;
      for (const std::string& name : switches_[i].below) {
        const auto found = number_of_.find(name);
        if (found == number_of_.end()) {
          fail(line,
               "there is no switch " + name + "; describe it in a line SwitchName=" + name + " Nodes=...");
        }
        Switch& below = switches_[found->second];
        if (below.line_of_above != 0) {
          fail(line, "switch " + name + " hangs on another one already (line " +
                         std::to_string(below.line_of_above) + "); in a tree there is one way up");
        }
        below.line_of_above = line;
        topology_.switches.above[found->second] = static_cast<int>(i);
      }
    }
  }

  void demand_one_tree() const {
    const std::vector<int>& above = topology_.switches.above;
    const std::vector<std::string>& names = topology_.switches.names;
    int top = -1;
    for (int i = 0; i < static_cast<int>(above.size()); ++i) {
      std::string way = names[i];
      int at = i;
      for (std::size_t steps = 0; above[at] >= 0; ++steps) {
        at = above[at];
        way += ", " + names[at];
        if (at == i)
          fail(switches_[i].line, "the switches go around in a circle (" + way + "); take one link out");
        if (steps > above.size()) break;  // leads into a circle, which is found from one of its switches
        if (steps == most_file_levels) {
          fail(switches_[i].line, "switch " + names[i] + " hangs below more than " +
                                      std::to_string(most_file_levels) +
                                      " others, or they go around in a circle");
        }
      }
      if (above[i] >= 0) continue;
      if (top >= 0) {
        fail_whole("switches " + names[top] + " and " + names[i] +
                   " are not connected; add a line SwitchName=top Switches=" + names[top] + "," + names[i]);
      }
      top = i;
    }
  }

  std::string file_;
  int line_ = 0;
  Topology topology_;
  std::vector<Switch> switches_;
  std::map<std::string, int, std::less<>> number_of_;
  std::map<std::string, int, std::less<>> line_of_machine_;
};

std::string_view before_dot(std::string_view name) {
  return name.substr(0, name.find('.'));
}

}  // namespace

bool is_synthetic(std::string_view text) {
  return text.starts_with(synthetic_prefix);
}

ReadTopology synthetic_topology(std::string_view text) {
  const std::string form =
      "; write tree:16 (one switch with 16 machines), tree:4x8 (4 switches with 8 each below another one), "
      "tree:2x4x8 or tree:3,5,8";
  std::string_view levels_text = text;
  if (is_synthetic(text)) levels_text.remove_prefix(synthetic_prefix.size());
  const auto levels = levels_from(levels_text);
  if (!is_synthetic(text) || !levels)
    return {{}, "'" + bounded(text, most_complaint_bytes) + "' is no topology" + form};
  auto topology = SyntheticTree(*levels).grow();
  if (!topology) {
    return {{},
            "'" + bounded(text, most_complaint_bytes) + "' is too large: at most " +
                machines_text(most_machines)};
  }
  return {std::move(topology), {}};
}

ReadTopology topology_from_lines(std::string_view lines, std::string_view file) {
  try {
    return {FileReader(file).read(lines), {}};
  } catch (const BadLine& bad) {
    return {{}, bad.text};
  }
}

std::optional<std::vector<std::string>> expand_names(std::string_view list) {
  std::vector<std::string> names;
  int depth = 0;
  std::size_t first = 0;
  for (std::size_t i = 0; i <= list.size(); ++i) {
    if (i < list.size()) depth += list[i] == '[' ? 1 : list[i] == ']' ? -1 : 0;
    if (depth < 0 || depth > 1) return std::nullopt;
    if (i < list.size() && (list[i] != ',' || depth > 0)) continue;
    const std::string_view item = list.substr(first, i - first);
    if (std::ranges::count(item, '[') > most_brackets) return std::nullopt;
    if (!expand_brackets("", item, &names)) return std::nullopt;
    first = i + 1;
  }
  return names;
}

Placement place(const Topology& topology, const std::vector<std::string>& machines) {
  Placement placement;
  if (!topology.has_names()) {
    if (topology.machines.size() != machines.size()) {
      return {{},
              "it describes " + machines_text(topology.machines.size()) + ", the job has " +
                  machines_text(machines.size())};
    }
    for (const Machine& machine : topology.machines) placement.switch_of.push_back(machine.switch_of);
    return placement;
  }
  std::map<std::string_view, int> by_name;
  std::map<std::string_view, int> by_short_name;  // -1: of several
  for (const Machine& machine : topology.machines) {
    by_name[machine.name] = machine.switch_of;
    const auto [known, is_new] = by_short_name.try_emplace(before_dot(machine.name), machine.switch_of);
    if (!is_new) known->second = -1;
  }
  for (const std::string& machine : machines) {
    if (const auto found = by_name.find(machine); found != by_name.end()) {
      placement.switch_of.push_back(found->second);
      continue;
    }
    const auto found = by_short_name.find(before_dot(machine));
    if (found == by_short_name.end() || found->second < 0) {
      return {{}, "it does not say on which switch machine " + machine + " hangs"};
    }
    placement.switch_of.push_back(found->second);
  }
  return placement;
}

}  // namespace unisono::patterns
