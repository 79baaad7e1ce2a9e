// SPDX-License-Identifier: BSD-3-Clause
#include "tuning/tables/table_store.h"

#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <map>

#include "base/json_text.h"
#include "base/own_folder.h"
#include "tuning/tables/table_bounds.h"
#include "tuning/tables/table_json.h"

namespace unisono::tuning {
namespace {

namespace fs = std::filesystem;
using Json = TableJson;

constexpr const char* suffix = ".json";

// A name that any file system takes: "Open MPI 5.0.11" -> "open-mpi-5.0.11".
std::string file_name(const std::string& text) {
  constexpr std::size_t most = 100;
  std::string name;
  for (const char c : text) {
    const auto letter = static_cast<unsigned char>(c);
    if (std::isalnum(letter) || c == '.' || c == '+') {
      name += static_cast<char>(std::tolower(letter));
    } else if (!name.empty() && name.back() != '-') {
      name += '-';
    }
  }
  name = name.substr(0, most);
  while (!name.empty() && (name.back() == '-' || name.back() == '.')) name.pop_back();
  if (name.empty() || name.front() == '.') name.insert(0, "unknown");
  return name;
}

std::string shape_name(const patterns::Layout& layout) {
  constexpr int most_listed_nodes = 16;
  std::string text;
  if (layout.is_uniform()) {
    text = std::to_string(layout.nodes()) + "x" + std::to_string(layout.local_size(0));
  } else if (layout.nodes() <= most_listed_nodes) {
    for (const auto& ranks : layout.ranks_of) {
      if (!text.empty()) text += '+';
      text += std::to_string(ranks.size());
    }
  } else {
    text = std::to_string(layout.size()) + "-ranks-on-" + std::to_string(layout.nodes()) + "-nodes";
  }
  return text + (layout.is_consecutive() ? "" : "-scattered");
}

std::string now_text(const char* format) {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  ::gmtime_r(&now, &parts);
  char text[32];
  std::strftime(text, sizeof text, format, &parts);
  return text;
}

// The file's rules as they stand. What is no table is put aside under another name, and `warning` says so.
Json stored_rules(const OwnFolder& folder, const std::string& name, std::string* warning) {
  if (!folder.has(name)) return Json::array();
  const ReadFile file = folder.read(name);
  ReadJson read;
  if (file.text) read = json_from(*file.text);
  const Json& json = read.json;
  if (json.is_object() && json.value("schema", Json()) == table_schema &&
      json.value("version", Json()) == table_version && json.contains("rules") && json["rules"].is_array()) {
    return std::move(read.json["rules"]);
  }
  folder.rename(name, name + ".damaged");
  *warning = folder.path() + "/" + name +
             " was no table of this version: it is called .damaged now, and a new one has begun";
  return Json::array();
}

// A rule on each line.
std::string table_text(const Provenance& provenance, const Json& rules) {
  const auto text = [](const Json& json) { return json_text(json); };
  std::string lines;
  for (const Json& rule : rules) lines += (lines.empty() ? "  " : ",\n  ") + text(rule);
  return "{\n \"schema\": " + text(table_schema) + ",\n \"version\": " + text(table_version) +
         ",\n \"provenance\": " + text(to_json(provenance)) + ",\n \"rules\": [\n" + lines + "\n ]\n}\n";
}

}  // namespace

std::string machine_name() {
  std::string processor;
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; processor.empty() && std::getline(info, line);) {
    const std::size_t colon = line.find(": ");
    if (line.rfind("model name", 0) == 0 && colon != std::string::npos) processor = line.substr(colon + 2);
  }
  if (processor.empty()) {
    utsname system{};
    processor = ::uname(&system) == 0 ? system.machine : "processor";
  }
  return processor + ", " + std::to_string(::sysconf(_SC_NPROCESSORS_ONLN)) + " processors";
}

StorePlace store_place(const std::string& cache, const std::string& machine, const std::string& mpi,
                       const patterns::Layout& world) {
  if (cache.empty()) return {};
  StorePlace place{.cache = cache, .inner = {"tables", file_name(machine), file_name(mpi)}};
  place.directory = cache;
  for (const std::string& name : place.inner) place.directory += "/" + name;
  place.name = shape_name(world) + suffix;
  place.file = place.directory + "/" + place.name;
  return place;
}

std::vector<StoredText> read_stored(const StorePlace& place, std::vector<std::string>* warnings) {
  if (place.cache.empty()) return {};
  const OwnFolder folder(place.cache, place.inner, OwnFolder::Missing::stays);
  if (!folder.problem().empty()) warnings->push_back("the cache directory " + folder.problem());
  std::vector<std::string> names;
  for (const OwnFolder::Entry& entry : folder.files()) {
    if (fs::path(entry.name).extension() == suffix && entry.name.front() != '.') names.push_back(entry.name);
  }
  std::ranges::sort(names, [&](const std::string& a, const std::string& b) {
    return std::pair(a != place.name, a) < std::pair(b != place.name, b);
  });
  std::vector<StoredText> texts;
  std::size_t bytes = 0;
  for (const std::string& name : names) {
    if (texts.size() == most_stored_files || bytes > most_read_bytes) break;
    const std::string file = place.directory + "/" + name;
    ReadFile read = folder.read(name);
    if (!read.text) {
      warnings->push_back("table " + file + " " + read.problem);
      continue;
    }
    bytes += read.text->size();
    texts.push_back({file, *std::move(read.text)});
  }
  return texts;
}

std::string Stored::message(const std::string& what) const {
  if (problem.empty()) return note;
  return what + " is not kept: " + problem + (note.empty() ? "" : "; " + note);
}

Stored store_rules(const StorePlace& place, Provenance provenance, const std::vector<Rule>& rules,
                   const std::vector<Lean>& leans) {
  if (place.cache.empty() || (rules.empty() && leans.empty())) return {};
  const OwnFolder folder(place.cache, place.inner, OwnFolder::Missing::is_made);
  if (!folder.is_there()) return {.problem = folder.problem(), .note = {}};
  const Lock lock(folder, lock_name);
  if (!lock.problem().empty()) return {.problem = lock.problem(), .note = {}};
  Stored stored;
  provenance.date = now_text("%Y-%m-%dT%H:%M:%SZ");
  const std::string today = now_text("%Y-%m-%d");
  std::map<std::string, std::vector<Lean>> by_file;
  for (const Lean& lean : leans) {
    const bool is_judged = lean.file == place.name && std::ranges::any_of(rules, [&](const Rule& rule) {
                             return rule.when == lean.when;
                           });
    if (!is_judged) by_file[lean.file].push_back(lean);
  }
  if (!rules.empty()) by_file[place.name];
  for (const auto& [name, of_file] : by_file) {
    const bool is_own = name == place.name;
    if (!is_own && !folder.has(name)) continue;
    Json merged = stored_rules(folder, name, &stored.note);
    const bool has_doubts = doubt(&merged, of_file, today);
    if (is_own) merge_into(&merged, rules, today);
    if (!has_doubts && (!is_own || rules.empty())) continue;
    keep_within_bounds(&merged);
    const std::string problem = folder.write(name, table_text(provenance, merged));
    if (!problem.empty()) stored.problem = place.directory + "/" + name + " " + problem;
  }
  remove_oldest_tables(folder, place.name);
  return stored;
}

}  // namespace unisono::tuning
