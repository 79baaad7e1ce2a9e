// SPDX-License-Identifier: BSD-3-Clause
#include "options.h"

#include <charconv>
#include <stdexcept>
#include <string_view>

namespace matmul {
namespace {

int parse_number(std::string_view name, std::string_view text, int most) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 1 || value > most) {
    throw std::invalid_argument(std::string(name) + ": '" + std::string(text) + "' is no number from 1 to " +
                                std::to_string(most));
  }
  return value;
}

template <typename Named>
std::string names_of(const std::vector<Named>& all) {
  std::string text;
  for (const Named& one : all) text += (text.empty() ? "" : ", ") + std::string(one.name);
  return text;
}

template <typename Named>
const Named* find(const std::vector<Named>& all, std::string_view option, std::string_view name) {
  for (const Named& one : all) {
    if (one.name == name) return &one;
  }
  throw std::invalid_argument(std::string(option) + ": '" + std::string(name) + "' is none of " +
                              names_of(all));
}

template <typename Named>
std::string lines_of(const std::vector<Named>& all) {
  std::string text;
  for (const Named& one : all) {
    std::string name(one.name);
    name.resize(22, ' ');
    text += "    " + name + std::string(one.about) + "\n";
  }
  return text;
}

void parse_grid(Options& options, std::string_view text) {
  const std::size_t cross = text.find('x');
  if (cross == std::string_view::npos) {
    throw std::invalid_argument("--grid: write rows and columns of processes, as in 2x3");
  }
  options.grid_rows = parse_number("--grid", text.substr(0, cross), 1 << 15);
  options.grid_columns = parse_number("--grid", text.substr(cross + 1), 1 << 15);
}

}  // namespace

std::string help_text() {
  return "usage: matmul [options]        (under mpirun)\n"
         "\n"
         "Multiplies two square matrices across processes, with threads inside, and compares the result with "
         "a\n"
         "plain product. Each layer has algorithms to choose from.\n"
         "\n"
         "  --distribution NAME  across processes (cannon)\n" +
         lines_of(distributions()) + "  --sharing NAME       among the threads of a process (overlapping)\n" +
         lines_of(thread_algorithms()) + "  --cache NAME         inside of a thread (simple)\n" +
         lines_of(cache_algorithms()) +
         "  --size N             rows of the matrices (384)\n"
         "  --threads N          threads of a process (2)\n"
         "  --grid RxC           processes in rows and columns (as square as they get)\n"
         "  --block BYTES        a square block that fits into the cache three times (10240)\n"
         "  --repeat N           products of each kind, of which the fastest counts (1)\n"
         "  --all                all combinations, one after the other\n"
         "  --gain               what each layer gains over simple loops, strips of A and the broadcast\n"
         "  --json FILE          also write the results for programs to read\n"
         "  --quiet              print only what is wrong\n"
         "  --help               this text\n"
         "\n"
         "exit code: 0 all products are right, 1 one is wrong, 2 wrong usage\n";
}

Options parse_options(int argument_count, char** arguments) {
  Options options;
  for (int i = 1; i < argument_count; ++i) {
    const std::string_view name = arguments[i];
    const auto next = [&]() -> std::string_view {
      if (i + 1 >= argument_count) throw std::invalid_argument(std::string(name) + ": a value must follow");
      return arguments[++i];
    };
    if (name == "--help" || name == "-h") {
      options.is_help_wanted = true;
    } else if (name == "--quiet") {
      options.is_quiet = true;
    } else if (name == "--all") {
      options.is_all_wanted = true;
    } else if (name == "--gain") {
      options.is_gain_wanted = true;
    } else if (name == "--json") {
      options.json_path = next();
    } else if (name == "--grid") {
      parse_grid(options, next());
    } else if (name == "--distribution") {
      options.choice.distribution = find(distributions(), name, next());
    } else if (name == "--sharing") {
      options.choice.sharing = find(thread_algorithms(), name, next());
    } else if (name == "--cache") {
      options.choice.cache = find(cache_algorithms(), name, next());
    } else if (name == "--size") {
      options.size = parse_number(name, next(), 1 << 15);
    } else if (name == "--threads") {
      options.threads = parse_number(name, next(), 1024);
    } else if (name == "--block") {
      options.block_bytes = parse_number(name, next(), 1 << 30);
    } else if (name == "--repeat") {
      options.repeat = parse_number(name, next(), 1 << 20);
    } else {
      throw std::invalid_argument("unknown option '" + std::string(name) + "'; --help names them all");
    }
  }
  return options;
}

}  // namespace matmul
