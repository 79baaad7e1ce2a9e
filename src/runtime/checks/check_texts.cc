// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/checks/check_texts.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "runtime/judging/judge.h"
#include "runtime/packing/transfer.h"

namespace unisono::runtime {
namespace {

// Inputs that are longer are not written to files.
constexpr std::size_t most_input_bytes = std::size_t{1} << 20;

std::string hexadecimal(const std::vector<char>& data) {
  constexpr const char* digits = "0123456789abcdef";
  std::string text;
  for (const char c : data) {
    text += digits[static_cast<unsigned char>(c) >> 4];
    text += digits[static_cast<unsigned char>(c) & 15];
  }
  return text;
}

std::string report_line(const std::string& key, const std::string& value) {
  constexpr std::size_t width = 20;
  return "  " + key + std::string(std::max(key.size() + 2, width) - key.size(), ' ') + value + "\n";
}

}  // namespace

host::TypeInfo element_of(host::Host& host, const Call& call) {
  int error = host::success;
  host::TypeInfo bytes{.size_bytes = 1, .element = ElementType::byte};
  if (has_uneven_blocks(call.operation) && !is_reduction(call.operation)) return bytes;
  const bool has_received = !is_reduction(call.operation) && call.recv_count != 0;
  const host::Datatype type = has_uneven_blocks(call.operation) ? call.send_blocks.type
                              : has_received                    ? call.recv_type
                                                                : call.send_type;
  const host::TypeInfo info = type_info(host, type, &error);
  return error == host::success && info.size_bytes != 0 ? info : bytes;
}

std::string text_of(const Call& call, const tuning::Choice& choice) {
  return std::string(name(call.operation)) + ":" + choice.text();
}

std::string doubt_text(const Call& call, const tuning::Choice& choice) {
  const std::string operation(name(call.operation));
  return "option 'verify': " + operation + " with " + operation + ":" + choice.text() +
         " gives other bits than the MPI's own; whether that is right for an operator of the program, or for "
         "its type, cannot be told";
}

bool may_be_written(const World& world, const std::vector<char>& input) {
  return !world.options.verify_inputs.empty() && input.size() <= most_input_bytes;
}

std::string write_input(const World& world, const Communicator& c, std::uint64_t check,
                        const CheckedData& data) {
  if (!may_be_written(world, data.input)) return {};
  const std::string stem = world.options.verify_inputs + "-" + std::string(name(data.operation)) + "-" +
                           std::to_string(c.id) + "-" + std::to_string(check) + "-rank";
  const std::string path = stem + std::to_string(c.rank) + ".json";
  const nlohmann::ordered_json content = {{"schema", "unisono-mismatch"},
                                          {"version", 1},
                                          {"operation", std::string(name(data.operation))},
                                          {"rank", c.rank},
                                          {"ranks", c.size},
                                          {"input", hexadecimal(data.input)},
                                          {"unisono", hexadecimal(data.own)},
                                          {"mpi", hexadecimal(data.hosts)}};
  const std::string problem = replace_file(path, content.dump(1) + '\n');
  return problem.empty() ? stem + "*.json" : path + " " + problem;
}

std::string mismatch_text(const World& world, const Communicator& c, const Call& call,
                          const tuning::Choice& choice, const Verification& v, std::int64_t wrong,
                          std::uint64_t check) {
  const host::TypeInfo info = element_of(world.host, call);
  const std::size_t bytes = info.size_bytes;
  const std::size_t element = static_cast<std::size_t>(wrong) / bytes;
  std::string text =
      text_of(call, choice) + " was wrong on " + c.layout->describe() + ": its result is not the MPI's\n";
  text += report_line("chosen because", choice.reason);
  text +=
      report_line("communicator", (c.name.empty() ? "number " + std::to_string(c.id) : c.name) + ", " +
                                      c.layout->describe() + ", its check number " + std::to_string(check));
  text += report_line(
      "call",
      (is_rooted(call.operation) ? "root " + std::to_string(call.root) + ", " : "") +
          std::to_string(v.hosts().size() / bytes) + " elements of the result here, datatype " +
          std::string(name(info.element)) + " of " + std::to_string(info.size_bytes) + " bytes" +
          (is_reduction(call.operation) ? ", operator " + std::string(name(world.host.reduce_op(call.op)))
                                        : "") +
          (call.is_in_place ? ", in place" : ""));
  if (v.own_error != host::success) {
    return text + report_line("failure", "on rank " + std::to_string(c.rank) +
                                             ", with the MPI's error code " + std::to_string(v.own_error));
  }
  const std::size_t first = element * bytes;
  const std::size_t shown = std::min(bytes, v.hosts().size() - first);
  const auto shown_as = [&](const std::vector<char>& data) {
    return value_text(info.element, data.data() + first, shown);
  };
  return text + report_line("first difference", "on rank " + std::to_string(c.rank) + ", element " +
                                                    std::to_string(element) + ": " + shown_as(v.own()) +
                                                    ", the MPI has " + shown_as(v.hosts()));
}

std::string inputs_text(const std::string& files) {
  return report_line("inputs",
                     files.empty() ? "too long to be written, or option 'verify_inputs' is empty" : files);
}

std::string closing_text(const World& world, const Communicator& c, const Call& call,
                         const tuning::Choice& choice) {
  std::string again = "UNISONO_VERIFY=all UNISONO_ALGORITHM='" + text_of(call, choice) + "'";
  if (!world.options.nodes.empty()) again += " UNISONO_NODES=" + world.options.nodes;
  if (c.is_reproducible) again += " UNISONO_REPRODUCIBLE=1";
  return report_line("to see it again", again) +
         "  The MPI's result is delivered; the algorithm is not used on this communicator any more, nor on "
         "new ones.";
}

}  // namespace unisono::runtime
