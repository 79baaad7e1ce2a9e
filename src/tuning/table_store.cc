// SPDX-License-Identifier: BSD-3-Clause
#include "tuning/table_store.h"

#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>

#include "base/files.h"
#include "tuning/knowledge.h"
#include "tuning/shared_files.h"
#include "tuning/table_json.h"

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

std::string now_text() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  ::gmtime_r(&now, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

// The file's rules as they stand. What is no table is put aside under another name, and `warning` says so.
Json stored_rules(const std::string& file, std::string* warning) {
  if (!fs::exists(file)) return Json::array();
  const Json json = Json::parse(file_text(file).value_or(""), nullptr, false);
  if (json.is_object() && json.value("schema", Json()) == table_schema &&
      json.value("version", Json()) == table_version && json.contains("rules") && json["rules"].is_array()) {
    return json["rules"];
  }
  std::error_code ignored;
  fs::rename(file, file + ".damaged", ignored);
  *warning = file + " was no table of this version: it is called .damaged now, and a new one has begun";
  return Json::array();
}

// A rule on each line.
std::string table_text(const Provenance& provenance, const Json& rules) {
  const auto text = [](const Json& json) {
    return json.dump(-1, ' ', false, Json::error_handler_t::replace);
  };
  std::string lines;
  for (const Json& rule : rules) lines += (lines.empty() ? "  " : ",\n  ") + text(rule);
  return "{\n \"schema\": " + text(table_schema) + ",\n \"version\": " + text(table_version) +
         ",\n \"provenance\": " + text(to_json(provenance)) + ",\n \"rules\": [\n" + lines + "\n ]\n}\n";
}

void merge_into(Json* rules, const Rule& rule) {
  for (Json& old : *rules) {
    const ReadRule read = rule_from_json(old);
    if (!read.problem.empty() || read.rule.when != rule.when) continue;
    if (const auto made = merged(&read.rule, rule)) old = to_json(*made);
    return;
  }
  if (const auto made = merged(nullptr, rule)) rules->push_back(to_json(*made));
}

}  // namespace

std::string cache_directory(std::string_view option) {
  if (option == "none" || option == "off") return {};
  if (option != "auto") return std::string(option);
  const char* base = std::getenv("XDG_CACHE_HOME");
  if (base != nullptr && *base == '/') return std::string(base) + "/unisono";
  const char* home = std::getenv("HOME");
  return home != nullptr && *home == '/' ? std::string(home) + "/.cache/unisono" : std::string();
}

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
  const std::string directory = cache + "/tables/" + file_name(machine) + "/" + file_name(mpi);
  return {directory, directory + "/" + shape_name(world) + suffix};
}

std::vector<std::string> stored_files(const StorePlace& place, std::size_t most) {
  std::vector<std::string> files;
  if (place.directory.empty()) return files;
  std::error_code failed;
  for (fs::directory_iterator i(place.directory, failed), end; !failed && i != end; i.increment(failed)) {
    if (i->path().extension() == suffix) files.push_back(i->path().string());
  }
  std::ranges::sort(files, [&](const std::string& a, const std::string& b) {
    return std::pair(a != place.file, a) < std::pair(b != place.file, b);
  });
  if (files.size() > most) files.resize(most);
  return files;
}

std::string Stored::message(const std::string& what) const {
  if (problem.empty()) return note;
  return what + " is not kept: " + problem + (note.empty() ? "" : "; " + note);
}

Stored store_rules(const StorePlace& place, Provenance provenance, const std::vector<Rule>& rules) {
  if (place.directory.empty() || rules.empty()) return {};
  std::error_code failed;
  fs::create_directories(place.directory, failed);
  if (failed) return {.problem = problem_with(place.directory, failed.value()), .note = {}};
  const Lock lock(place.directory + "/.lock");
  if (!lock.problem().empty()) return {.problem = lock.problem(), .note = {}};
  Stored stored;
  Json merged = stored_rules(place.file, &stored.note);
  for (const Rule& rule : rules) merge_into(&merged, rule);
  provenance.date = now_text();
  stored.problem = write_whole(place.file, table_text(provenance, merged));
  return stored;
}

}  // namespace unisono::tuning
