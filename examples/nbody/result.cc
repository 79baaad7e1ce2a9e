// SPDX-License-Identifier: BSD-3-Clause
#include "result.h"

#include <cerrno>
#include <cmath>
#include <cstdarg>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <system_error>

namespace nbody {
namespace {

__attribute__((format(printf, 1, 2))) std::string format(const char* pattern, ...) {
  char text[512];
  va_list arguments;
  va_start(arguments, pattern);
  std::vsnprintf(text, sizeof text, pattern, arguments);
  va_end(arguments);
  return text;
}

// JSON knows no infinity and no NaN.
std::string json_number(double value) {
  return std::isfinite(value) ? format("%.17g", value) : "null";
}

template <typename Items, typename Write>
std::string json_list(const Items& items, Write write) {
  std::string text = "[";
  for (const auto& item : items) text += (text.size() > 1 ? ",\n    " : "\n    ") + write(item);
  return text + "\n  ]";
}

std::string library_version() {
  char text[MPI_MAX_LIBRARY_VERSION_STRING];
  int length = 0;
  MPI_Get_library_version(text, &length);
  const std::string version(text, static_cast<std::size_t>(length));
  std::string line = version.substr(0, version.find_first_of(",\n"));
  for (char& character : line) {
    if (character < ' ' || character == '"' || character == '\\') character = ' ';
  }
  return line;
}

}  // namespace

std::string result_text(const Options& options, int ranks, const Outcome& outcome,
                        const CollectiveTimes& times) {
  std::string text = format("nbody: %d bodies, %d steps to time %.4f, %d ranks, %s\n", options.bodies,
                            options.steps, outcome.simulated_time, ranks, library_version().c_str());
  for (const Quantity& quantity : outcome.quantities) {
    text += format("  %-32s % .15f\n", quantity.name.c_str(), quantity.value);
  }
  text += format("  %-32s  %016llx\n", "digest of the positions",
                 static_cast<unsigned long long>(outcome.position_digest));
  text += "checks\n";
  for (const Check& check : outcome.checks) {
    text += format("  %-32s  %.2e  (limit %.0e)  %s\n", check.name.c_str(), check.value, check.limit,
                   check.is_passed() ? "passed" : "FAILED");
  }
  text +=
      format("time: %.3f s, of it in collectives %.3f s (longest rank)\n", outcome.elapsed_s, times.total_s);
  for (const OperationTime& time : times.operations) {
    text += format("  %-10s %-24s %9lld calls of %6lld bytes  %.3f s\n", time.operation.c_str(),
                   time.purpose.c_str(), static_cast<long long>(time.calls),
                   static_cast<long long>(time.bytes_per_call), time.time_s);
  }
  return text;
}

std::string result_json(const Options& options, int ranks, const Outcome& outcome,
                        const CollectiveTimes& times) {
  std::string text = "{\n  \"program\": \"nbody\",\n";
  text += format("  \"mpi\": \"%s\",\n  \"ranks\": %d,\n  \"steps\": %d,\n", library_version().c_str(), ranks,
                 options.steps);
  text += format(
      "  \"problem\": {\"bodies\": %d, \"softening\": %.17g, \"accuracy\": %.17g, \"seed\": %llu},\n",
      options.bodies, options.softening, options.accuracy, static_cast<unsigned long long>(options.seed));
  text += "  \"quantities\": " + json_list(outcome.quantities, [](const Quantity& quantity) {
            return "{\"name\": \"" + quantity.name + "\", \"value\": " + json_number(quantity.value) +
                   ", \"tolerance\": " + json_number(quantity.tolerance) + "}";
          });
  text += format(",\n  \"digests\": [\n    {\"name\": \"positions\", \"value\": \"%016llx\"}\n  ],\n",
                 static_cast<unsigned long long>(outcome.position_digest));
  text += "  \"checks\": " + json_list(outcome.checks, [](const Check& check) {
            return "{\"name\": \"" + check.name + "\", \"value\": " + json_number(check.value) +
                   ", \"limit\": " + json_number(check.limit) +
                   ", \"is_passed\": " + (check.is_passed() ? "true" : "false") + "}";
          });
  text += ",\n  \"elapsed_s\": " + json_number(outcome.elapsed_s) +
          ",\n  \"collectives_s\": " + json_number(times.total_s) +
          ",\n  \"collectives\": " + json_list(times.operations, [](const OperationTime& time) {
            return format("{\"operation\": \"%s\", \"purpose\": \"%s\", \"calls\": %lld, ",
                          time.operation.c_str(), time.purpose.c_str(), static_cast<long long>(time.calls)) +
                   format("\"bytes_per_call\": %lld, \"time_s\": %.9f}",
                          static_cast<long long>(time.bytes_per_call), time.time_s);
          });
  return text + "\n}\n";
}

void write_file(const std::string& path, const std::string& content) {
  const std::string temporary = path + ".part";
  std::ofstream file(temporary, std::ios::binary | std::ios::trunc);
  file << content;
  file.close();
  if (!file) throw std::system_error(errno, std::generic_category(), "cannot write " + temporary);
  std::filesystem::rename(temporary, path);
}

}  // namespace nbody
