// SPDX-License-Identifier: BSD-3-Clause
#include "front/run_line.h"

#include <algorithm>

#include "base/environment.h"
#include "base/near_names.h"
#include "front/mistakes.h"
#include "front/places.h"
#include "launch/errors.h"

namespace unisono::front {
namespace {

using launch::option_word;
using launch::own_options;
using launch::OwnOption;
using launch::UsageError;
using launch::Words;

// Commands that start this one for their jobs say by it what the user has typed: no option for users.
constexpr std::string_view lead_word = "--typed-as";

constexpr std::string_view hint =
    "\n`unisono run --help` shows the usual options, `unisono options` all of them.";

// One word of the command line: an option, and the value that is glued to it.
struct Typed {
  std::string name, value;
  bool has_value;
};

Typed split(const std::string& word) {
  const std::size_t equals = word.starts_with("--") ? word.find('=') : std::string::npos;
  if (equals == std::string::npos) return {word, "", false};
  return {word.substr(0, equals), word.substr(equals + 1), true};
}

const OwnOption* own_option(std::string_view word) {
  for (const OwnOption& option : own_options()) {
    const bool is_letter = word.size() == 2 && option.letter != 0 && word[1] == option.letter;
    if (is_letter || (word.starts_with("--") && word.substr(2) == option.name)) return &option;
  }
  return nullptr;
}

struct Named {
  const OptionSpec* spec;
  bool is_negated;
};

Named library_option(const std::string& word) {
  for (const OptionSpec& spec : option_list()) {
    const std::string own = option_word(spec);
    if (word == own) return {&spec, false};
    if (spec.type == "bool" && word == "--no-" + own.substr(2)) return {&spec, true};
  }
  return {nullptr, false};
}

std::string no_such_option(const std::string& word) {
  std::vector<std::string> names;
  for (const OwnOption& option : own_options()) names.push_back("--" + std::string(option.name));
  for (const OptionSpec& spec : option_list()) {
    names.push_back(option_word(spec));
    if (spec.type == "bool") names.push_back("--no-" + names.back().substr(2));
  }
  const std::string meant = did_you_mean(word, names);
  return "there is no option " + word + (meant.empty() ? "." : meant) + std::string(hint);
}

class Reader {
 public:
  explicit Reader(const Words& words) : words_(words) {}

  RunLine read() {
    while (position_ < words_.size()) {
      const std::string& word = words_[position_];
      if (word == "--") {
        ++position_;
        break;
      }
      if (word.size() < 2 || word[0] != '-') break;
      read_option(word);
    }
    line_.command.assign(words_.begin() + static_cast<std::ptrdiff_t>(position_), words_.end());
    return std::move(line_);
  }

 private:
  void read_option(const std::string& word) {
    const Typed typed = split(word);
    if (typed.name == lead_word) {
      line_.lead = value(typed);
      return;
    }
    if (const OwnOption* own = own_option(typed.name)) return read_own(*own, typed);
    const Named named = library_option(typed.name);
    if (named.spec == nullptr) {
      require_no_launchers_option(words_, position_);
      throw UsageError(no_such_option(typed.name));
    }
    const bool is_switch = named.spec->type == "bool";
    keep(*named.spec, typed.name,
         is_switch ? without_value(typed, named.is_negated ? "0" : "1") : value(typed));
  }

  void read_own(const OwnOption& option, const Typed& typed) {
    if (option.name == "config") {
      line_.config = with_home(value(typed));
      return;
    }
    without_value(typed, "");
    (option.name == "dry-run"   ? line_.is_dry_run
     : option.name == "verbose" ? line_.is_verbose
                                : line_.wants_help) = true;
  }

  std::string value(const Typed& typed) {
    ++position_;
    if (typed.has_value) return typed.value;
    if (position_ == words_.size()) throw UsageError(typed.name + " wants a value." + std::string(hint));
    require_no_launcher(typed.name, words_, position_);
    return words_[position_++];
  }

  std::string without_value(const Typed& typed, std::string meaning) {
    if (typed.has_value) throw UsageError(typed.name + " takes no value, and " + typed.value + " was given.");
    ++position_;
    return meaning;
  }

  void keep(const OptionSpec& spec, const std::string& word, std::string value) {
    auto found = std::ranges::find(line_.given, &spec, &Given::spec);
    if (found == line_.given.end()) found = line_.given.insert(found, {&spec, word, {}});
    // Shells leave the `~` of --report=~/r.json as it is.
    value = unisono::with_home(spec, value, Environment::of_process());
    const bool adds_up = spec.type == "list" || spec.type == "files";
    if (!adds_up) found->values.clear();
    found->word = word;
    found->values.push_back(std::move(value));
  }

  const Words& words_;
  std::size_t position_ = 0;
  RunLine line_;
};

// Ranks may run in another directory than this command. Some words stand for themselves.
std::string seen_from_ranks(const std::string& file) {
  const bool is_word = file.empty() || file == "-" || file == "auto" || file == "none" || file == "off";
  return is_word || file.starts_with("tree:") ? file : launch::absolute(file);
}

std::string joint(const OptionSpec& spec) {
  return spec.type == "files" ? ":" : ",";
}

}  // namespace

RunLine parse_run_line(const Words& words) {
  return Reader(words).read();
}

std::string typed_value(const Given& given) {
  return launch::joined(given.values, joint(*given.spec));
}

std::string value_for_ranks(const Given& given) {
  if (given.spec->type == "file") return seen_from_ranks(given.values.back());
  if (given.spec->type != "files") return typed_value(given);
  Words files;
  for (const std::string& value : given.values) {
    for (std::size_t begin = 0; begin <= value.size();) {
      const std::size_t end = std::min(value.find(':', begin), value.size());
      files.push_back(seen_from_ranks(value.substr(begin, end - begin)));
      begin = end + 1;
    }
  }
  return launch::joined(files, ":");
}

}  // namespace unisono::front
