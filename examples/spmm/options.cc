// SPDX-License-Identifier: BSD-3-Clause
#include "options.h"

#include <charconv>
#include <stdexcept>
#include <string_view>
#include <utility>

namespace spmm {
namespace {

template <typename Number>
Number parse_number(std::string_view name, std::string_view text, Number least, Number most) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !(value >= least && value <= most)) {
    auto shown = [](Number number) {
      std::string digits = std::to_string(number);
      return digits.find('.') == std::string::npos ? digits : digits.substr(0, digits.find('.'));
    };
    throw std::invalid_argument(std::string(name) + ": '" + std::string(text) + "' is no number from " +
                                shown(least) + " to " + shown(most));
  }
  return value;
}

std::pair<std::string_view, std::string_view> two_parts(std::string_view name, std::string_view text,
                                                        std::string_view example) {
  const std::size_t comma = text.find(',');
  if (comma == std::string_view::npos) {
    throw std::invalid_argument(std::string(name) + ": write two numbers, as in " + std::string(example));
  }
  return {text.substr(0, comma), text.substr(comma + 1)};
}

void parse_gather(Options& options, std::string_view name) {
  options.gathers.clear();
  std::string names;
  for (const NamedGather& one : gathers()) {
    if (name == one.name || name == "all") options.gathers.push_back(&one);
    names += std::string(one.name) + ", ";
  }
  if (options.gathers.empty()) {
    throw std::invalid_argument("--gather: '" + std::string(name) + "' is none of " + names + "all");
  }
}

// Whether the option says where A comes from.
bool parse_source(Options& options, std::string_view name, std::string_view value) {
  constexpr int most_rows = 1 << 24, most_side = 1 << 12, most_radius = 1 << 10;
  if (name == "--matrix") {
    options.source = Options::Source::file;
    options.matrix_path = value;
  } else if (name == "--random") {
    const auto [rows, density] = two_parts(name, value, "400,0.02");
    options.source = Options::Source::random;
    options.rows = parse_number(name, rows, 1, most_rows);
    options.density = parse_number(name, density, 0.0, 1.0);
  } else if (name == "--banded") {
    const auto [rows, width] = two_parts(name, value, "400,3");
    options.source = Options::Source::banded;
    options.rows = parse_number(name, rows, 1, most_rows);
    options.width = parse_number(name, width, 0, most_rows);
  } else if (name == "--stencil") {
    const auto [side, radius] = two_parts(name, value, "20,1");
    options.source = Options::Source::stencil;
    options.rows = parse_number(name, side, 1, most_side);
    options.width = parse_number(name, radius, 0, most_radius);
  } else {
    return false;
  }
  return true;
}

// Options that a value follows.
void parse_value(Options& options, std::string_view name, std::string_view value) {
  if (parse_source(options, name, value)) return;
  if (name == "--seed") {
    options.seed = parse_number<std::uint64_t>(name, value, 0, 1u << 31);
  } else if (name == "--columns") {
    options.columns = parse_number(name, value, 1, 1 << 20);
  } else if (name == "--at-once") {
    options.at_once = parse_number(name, value, 1, 1 << 20);
  } else if (name == "--repeat") {
    options.repeat = parse_number(name, value, 1, 1 << 20);
  } else if (name == "--gather") {
    parse_gather(options, value);
  } else if (name == "--json") {
    options.json_path = value;
  } else if (name == "--output") {
    options.output_path = value;
  } else {
    throw std::invalid_argument("unknown option '" + std::string(name) + "'; --help names them all");
  }
}

}  // namespace

std::string help_text() {
  std::string ways;
  for (const NamedGather& one : gathers()) {
    std::string name(one.name);
    name.resize(22, ' ');
    ways += "    " + name + std::string(one.about) + "\n";
  }
  return "usage: spmm [options]        (under mpirun)\n"
         "\n"
         "Multiplies a sparse matrix A by a dense matrix B. Each rank has a stripe of rows of both. It gets "
         "the\n"
         "rows of B that its stripe of A needs, a few columns at a time, in one of these ways (--gather):\n" +
         ways +
         "\n"
         "A is one of\n"
         "  --matrix FILE             a file of the format Matrix Market\n"
         "  --random ROWS,DENSITY     each element is there with this probability (400,0.02)\n"
         "  --banded ROWS,WIDTH       elements up to WIDTH away from the diagonal\n"
         "  --stencil SIDE,RADIUS     a row for each point of a SIDE x SIDE grid, with its neighbours\n"
         "\n"
         "  --columns N       columns of B (8); 1 is a multiplication by a vector\n"
         "  --square          B is A\n"
         "  --at-once N       columns of B in one call (1)\n"
         "  --gather NAME     one way, or all (all)\n"
         "  --repeat N        products of each kind, of which the fastest counts (1)\n"
         "  --seed N          other numbers (1)\n"
         "  --output FILE     also write the product, as a dense matrix of the format Matrix Market\n"
         "  --json FILE       also write the results for programs to read\n"
         "  --quiet           print only what is wrong\n"
         "  --help            this text\n"
         "\n"
         "exit code: 0 all products are right, 1 one is wrong, 2 wrong usage\n";
}

Options parse_options(int argument_count, char** arguments) {
  Options options;
  parse_gather(options, "all");
  for (int i = 1; i < argument_count; ++i) {
    const std::string_view name = arguments[i];
    if (name == "--help" || name == "-h") {
      options.is_help_wanted = true;
    } else if (name == "--quiet") {
      options.is_quiet = true;
    } else if (name == "--square") {
      options.is_squared = true;
    } else {
      const bool is_last = i + 1 >= argument_count;
      if (is_last && name.starts_with("--")) {
        parse_value(options, name, "");
        throw std::invalid_argument(std::string(name) + ": a value must follow");
      }
      parse_value(options, name, is_last ? "" : arguments[++i]);
    }
  }
  return options;
}

}  // namespace spmm
