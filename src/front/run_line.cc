// SPDX-License-Identifier: BSD-3-Clause
#include "front/run_line.h"

#include <algorithm>
#include <utility>

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

// Whose help says what an empty value means. For others it is what an empty variable of a script leaves.
bool may_be_empty(const OptionSpec& spec) {
  constexpr std::string_view names[] = {"agents_on", "cache", "site_table", "verify_inputs"};
  return std::ranges::find(names, spec.name) != std::end(names);
}

bool is_option(const std::string& word) {
  return own_option(word) != nullptr || library_option(word).spec != nullptr;
}

// "one of off|node|all|auto", "a file".
std::string wanted_by(const OptionSpec& spec) {
  if (spec.type.find('|') != std::string_view::npos) return "one of " + std::string(spec.type);
  constexpr std::pair<std::string_view, std::string_view> kinds[] = {
      {"file", "a file"},
      {"files", "files, with colons between them"},
      {"list", "a list, with commas"},
      {"bytes", "a size"},
      {"integer", "a whole number"},
      {"percent", "a percentage"},
  };
  const auto found = std::ranges::find(kinds, spec.type, [](const auto& kind) { return kind.first; });
  return found == std::end(kinds) ? std::string() : std::string(found->second);
}

std::string no_value(const std::string& option, const std::string& wanted, bool is_there,
                     const std::string& found) {
  std::string text = option + " wants a value" + (wanted.empty() ? "" : ", " + wanted);
  if (is_there && found.empty()) text += ", and an empty one was given";
  if (!found.empty()) text += ", and " + found + " came";
  if (!found.empty() && wanted.find("file") != std::string::npos)
    text += " (for a file of that name write ./" + found + ")";
  return text + "." + std::string(hint);
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
      line_.lead = value(typed, "", true);
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
         is_switch ? without_value(typed, named.is_negated ? "0" : "1")
                   : value(typed, wanted_by(*named.spec), may_be_empty(*named.spec)));
  }

  void read_own(const OwnOption& option, const Typed& typed) {
    if (option.name == "config") {
      line_.config = with_home(value(typed, "a file", false));
      return;
    }
    without_value(typed, "");
    (option.name == "dry-run"   ? line_.is_dry_run
     : option.name == "verbose" ? line_.is_verbose
                                : line_.wants_help) = true;
  }

  // What follows the option, or is glued to it. The end of the options and another option are no value.
  std::string value(const Typed& typed, const std::string& wanted, bool is_empty_one) {
    ++position_;
    const bool is_there = typed.has_value || position_ < words_.size();
    const std::string found = typed.has_value ? typed.value : is_there ? words_[position_] : std::string();
    const bool is_next = !typed.has_value && found.starts_with("-") && is_option(split(found).name);
    const bool is_missing = found.empty() && !(is_there && is_empty_one);
    if (is_missing || found == "--" || is_next)
      throw UsageError(no_value(typed.name, wanted, is_there, found));
    if (typed.has_value) return found;
    require_no_launcher(typed.name, words_, position_);
    ++position_;
    return found;
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

std::optional<RunOption> run_option(const std::string& word) {
  if (!word.starts_with("--")) return std::nullopt;
  const Typed typed = split(word);
  if (const OwnOption* own = own_option(typed.name)) {
    const bool is_config = own->name == "config";
    return RunOption{is_config ? "UNISONO_CONFIG" : "", typed.value, is_config && !typed.has_value};
  }
  const Named named = library_option(typed.name);
  if (named.spec == nullptr) return std::nullopt;
  const std::string variable(named.spec->environment);
  if (named.spec->type == "bool") return RunOption{variable, named.is_negated ? "0" : "1", false};
  return RunOption{variable, typed.value, !typed.has_value};
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
