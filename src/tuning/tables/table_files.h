// SPDX-License-Identifier: BSD-3-Clause
// The tables that options name, in the order of their precedence: jobs and the command line read the same.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/options.h"
#include "tuning/tables/table.h"
#include "tuning/tables/table_store.h"

namespace unisono::tuning {

struct TableText {
  std::string_view source;
  std::string file, text;
};

// The file that option `site_table` means; empty: none.
std::string site_table_file(const std::string& option);
// The files that option `table` names, without empty ones.
std::vector<std::string> split_at_colons(const std::string& text);
// Reads the files: application tables, what was learned at `place`, the site's. What cannot be read is left
// out with a warning, but for places where there need not be one.
std::vector<TableText> read_table_texts(const Options& options, const StorePlace& place,
                                        std::vector<std::string>* warnings);
// What is no table is left out with a warning, and so are rules that are disabled.
std::vector<SourcedTable> tables_from(const std::vector<TableText>& texts,
                                      std::vector<std::string>* warnings);

// All texts as one, and back: how they travel between ranks.
std::string pack(const std::vector<TableText>& texts);
std::vector<TableText> unpack(const std::string& packed);

}  // namespace unisono::tuning
