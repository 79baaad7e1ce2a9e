// SPDX-License-Identifier: BSD-3-Clause
#include "tuning/tables/table_files.h"

#include <algorithm>
#include <filesystem>

#include "base/installation.h"

namespace unisono::tuning {
namespace {

constexpr std::string_view sources[] = {application_source, learned_source, site_source};

}  // namespace

std::string site_table_file(const std::string& option) {
  if (option == "none" || option == "off") return {};
  if (option != "auto") return option;
  const std::string folder = settings_folder_of(own_prefix());
  return folder.empty() ? std::string() : folder + "/unisono/table.json";
}

std::vector<std::string> split_at_colons(const std::string& text) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(':', begin), text.size());
    if (end > begin) parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

std::vector<TableText> read_table_texts(const Options& options, const StorePlace& place,
                                        std::vector<std::string>* warnings) {
  std::vector<TableText> texts;
  const auto read = [&](std::string_view source, const std::string& file) {
    TableText made{source, file, {}};
    const std::string problem = read_table_file(file, &made.text);
    if (problem.empty()) {
      texts.push_back(std::move(made));
    } else {
      warnings->push_back("table " + problem);
    }
  };
  for (const std::string& file : split_at_colons(options.table)) read(application_source, file);
  for (StoredText& stored : read_stored(place, warnings))
    texts.push_back({learned_source, std::move(stored.file), std::move(stored.text)});
  const std::string site = site_table_file(options.site_table);
  std::error_code unknown;
  const bool must_be_there = options.site_table != "auto";
  if (!site.empty() && (must_be_there || std::filesystem::exists(site, unknown))) read(site_source, site);
  return texts;
}

std::vector<SourcedTable> tables_from(const std::vector<TableText>& texts,
                                      std::vector<std::string>* warnings) {
  std::vector<SourcedTable> tables;
  for (const TableText& text : texts) {
    ReadTable read = table_from_text(text.text, text.file);
    if (!read.problem.empty()) {
      warnings->push_back("table " + read.problem);
      continue;
    }
    // Nobody wrote what was learned: rules of another version are of no interest in every job.
    if (text.source != learned_source) {
      for (std::string& line : read.table.warnings()) warnings->push_back(std::move(line));
    }
    tables.push_back({text.source, std::move(read.table)});
  }
  return tables;
}

std::string pack(const std::vector<TableText>& texts) {
  std::string packed;
  for (const TableText& text : texts) {
    const auto source = std::ranges::find(sources, text.source) - std::begin(sources);
    packed += std::to_string(source) + " " + std::to_string(text.file.size()) + " " +
              std::to_string(text.text.size()) + "\n" + text.file + text.text;
  }
  return packed;
}

std::vector<TableText> unpack(const std::string& packed) {
  std::vector<TableText> texts;
  for (std::size_t at = 0; at < packed.size();) {
    std::size_t source = 0, file_bytes = 0, text_bytes = 0;
    std::sscanf(packed.c_str() + at, "%zu %zu %zu", &source, &file_bytes, &text_bytes);
    at = packed.find('\n', at) + 1;
    texts.push_back(
        {sources[source], packed.substr(at, file_bytes), packed.substr(at + file_bytes, text_bytes)});
    at += file_bytes + text_bytes;
  }
  return texts;
}

}  // namespace unisono::tuning
