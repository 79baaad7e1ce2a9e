// SPDX-License-Identifier: BSD-3-Clause
#include "front/reports.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <random>

#include "base/files.h"
#include "base/json_text.h"
#include "base/shown.h"
#include "base/spawned.h"
#include "front/places.h"
#include "front/spawned_reports.h"
#include "launch/errors.h"
#include "launch/linked_mpi.h"

namespace unisono::front {
namespace {

namespace fs = std::filesystem;
using launch::UsageError;

constexpr std::string_view schema = "unisono-report";

void say(const std::string& text) {
  std::fprintf(stderr, "%s\n", shown("unisono: " + text).c_str());
}

bool is_there(const std::string& path) {
  struct stat status {};
  return ::lstat(path.c_str(), &status) == 0;
}

bool is_regular(const std::string& path) {
  std::error_code failed;
  return fs::is_regular_file(path, failed);
}

std::string folder_of(const std::string& file) {
  const fs::path parent = fs::path(file).parent_path();
  return parent.empty() ? "." : parent.string();
}

// A name that nobody can know before.
std::string new_name() {
  std::random_device random;
  char digits[17];
  std::snprintf(digits, sizeof digits, "%08x%08x", random(), random());
  return "unisono-report-" + std::string(digits) + ".json";
}

bool is_report(const std::string& text) {
  const ReadJson found = json_from(text);
  return found.problem.empty() && found.json.is_object() && found.json.contains("schema") &&
         found.json["schema"] == schema;
}

// Another report, or an empty file, may be replaced.
void require_report(const std::string& file) {
  const ReadFile read = read_file(file);
  if (!read.text) throw UsageError("--report " + file + ": it " + read.problem + "; name another file.");
  if (read.text->find_first_not_of(" \t\r\n") == std::string::npos) return;
  if (!is_report(*read.text)) {
    throw UsageError(file + " is there and no " + std::string(schema) +
                     ": it is not overwritten; name another file, or remove it");
  }
}

// Only trying tells: root may seem to have every right.
void require_writable(const std::string& file) {
  std::string name = folder_of(file) + "/.unisono-XXXXXX";
  const int opened = ::mkostemp(name.data(), O_CLOEXEC);
  if (opened < 0) throw launch::Error("cannot write " + file + ": " + ::strerror(errno));
  ::close(opened);
  ::unlink(name.c_str());
}

std::string signal_text(int number) {
  const char* name = ::sigabbrev_np(number);
  return name == nullptr ? "signal " + std::to_string(number) : "SIG" + std::string(name);
}

}  // namespace

std::string why_none(const Outcome& outcome, const launch::Understood& understood, const std::string& without,
                     const std::string& option) {
  if (!without.empty()) return "the job ran without Unisono (" + without + ")";
  if (outcome.received != 0)
    return signal_text(outcome.received) + " has ended the job before its MPI_Finalize";
  if (outcome.killed != 0) return "the launcher was killed by " + signal_text(outcome.killed);
  if (outcome.status != 0)
    return "the job ended with status " + std::to_string(outcome.status) + " before its MPI_Finalize";
  for (const std::string& program : understood.programs) {
    if (launch::uses_no_mpi(launch::find_program(program)))
      return program + " is linked to no MPI: it may be a program without MPI, or load one by itself";
  }
  // Only the ranks know whether they had one, and could not write it.
  return "rank 0 could not write it, which it has said above, or ran on another host, where it says it is; "
         "where it has said nothing no program came to its MPI_Finalize. Use " +
         option + " with a file that all hosts see, and for which there is room";
}

Report::Report(const std::string& wanted, const std::string& called) : wanted_(wanted), called_(called) {}

bool Report::is_page() const {
  return wanted_.ends_with(".html");
}

// Beside a page: all hosts see that folder if they see any of the user's. In one of its own, which a host
// does not have that has another folder by that name.
void Report::make_folder() {
  const char* temporary = ::getenv("TMPDIR");
  const std::string base = temporary != nullptr && temporary[0] != '\0' ? temporary : "/tmp";
  std::string name =
      is_page() ? launch::absolute(folder_of(wanted_)) + "/.unisono-XXXXXX" : base + "/unisono-XXXXXX";
  if (::mkdtemp(name.data()) == nullptr)
    throw launch::Error("cannot make a folder for the report, " + name + ": " + ::strerror(errno));
  folder_ = name;
  file_ = folder_ + "/" + new_name();
}

void Report::prepare() {
  if (!is_wanted()) return;
  begun_ = ::time(nullptr);
  if (wanted_ != "-") {
    std::error_code failed;
    if (!fs::is_directory(folder_of(wanted_), failed))
      throw UsageError("--report " + wanted_ + ": there is no folder " + folder_of(wanted_));
    if (fs::exists(wanted_, failed) && !is_regular(wanted_))
      throw UsageError("cannot write " + wanted_ + ": it is there and no regular file; name another one");
  }
  if (is_shown()) {
    python_ = python_command(called_);
    if (is_page()) require_writable(wanted_);
    make_folder();
    return;
  }
  file_ = launch::absolute(wanted_);
  if (is_there(wanted_)) require_report(wanted_);
  require_writable(wanted_);
}

void Report::remove_old() const {
  if (!is_wanted() || wanted_ == "-") return;
  for (const SpawnedReport& spawned : reports_of_spawned(data_file())) {
    if (is_report(read_file(spawned.file).text.value_or(""))) ::unlink(spawned.file.c_str());
  }
  if (is_page() || !is_there(wanted_)) return;
  if (::unlink(wanted_.c_str()) != 0)
    throw launch::Error("cannot replace the old report " + wanted_ + ": " + ::strerror(errno));
}

// Rank 0's host may lack the folder that it was to go to: then it is in the working or the home directory, if
// this host sees those. It does not replace what lay there before.
std::string Report::written() const {
  if (is_regular(file_)) return file_;
  const std::string name = fs::path(file_).filename();
  const char* home = ::getenv("HOME");
  for (const std::string& place : {launch::absolute(name), home == nullptr ? name : home + ("/" + name)}) {
    struct stat status {};
    if (::stat(place.c_str(), &status) == 0 && S_ISREG(status.st_mode) && status.st_mtime >= begun_)
      return place;
  }
  return {};
}

// The report as it was asked for, not by the file in between.
void Report::show(const std::string& report) {
  const std::string stem = is_page() ? fs::path(wanted_).stem().string() : "report";
  const std::string named = folder_ + "/" + stem + ".json";
  const ReadFile read = read_file(report);
  ReadJson content = json_from(read.text.value_or(""));
  if (content.problem.empty() && content.json.is_object() && content.json.contains("options") &&
      content.json["options"].is_object())
    content.json["options"]["report"] = wanted_;
  const std::string text = content.problem.empty() ? json_text(content.json) : read.text.value_or("");
  const std::string problem = replace_file(named, text, for_owner);
  if (!problem.empty()) return say(named + " " + problem);
  ::unlink(report.c_str());
  const int nowhere = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
  launch::Words words{python_, "report", named};
  if (is_page()) words.insert(words.end(), {"--html", wanted_});
  const int status = run_beside(words, is_page() ? nowhere : STDERR_FILENO);
  ::close(nowhere);
  if (status < 0) say("the report cannot be shown: " + python_ + " could not be started");
  if (status != 0 && is_page()) keep(named);
}

// Beside a page, as data: there may be many of them. As text the first few.
void Report::show_spawned(const std::string& report) {
  constexpr std::size_t most_shown = 4;
  const std::vector<SpawnedReport> all = reports_of_spawned(report);
  if (all.empty()) return;
  std::size_t count = 0;
  for (const SpawnedReport& spawned : all) {
    if (!is_page()) {
      if (++count > most_shown) break;
      say("the report of spawned processes, " + spawned.name + ":");
      show(spawned.file);
    } else if (::link(spawned.file.c_str(), file_of_spawned(data_file(), spawned.name).c_str()) == 0) {
      ++count;
    }
  }
  if (is_page()) say("reports of spawned processes: " + file_of_spawned(data_file(), "*"));
  if (!is_page() && all.size() > most_shown)
    say("more reports of spawned processes: " + std::to_string(all.size() - most_shown) +
        "; a file's name in the place of - keeps them all");
}

// Of a page that of its data.
std::string Report::data_file() const {
  return is_page() ? fs::path(wanted_).replace_extension(".json").string() : wanted_;
}

// The job may have taken hours: without its page there is still its report.
void Report::keep(const std::string& report) const {
  const std::string kept = data_file();
  // Nothing that is there already is replaced.
  if (::link(report.c_str(), kept.c_str()) == 0)
    say("the report is in " + kept + ": `unisono report " + kept + " --html " + wanted_ + "` makes the page");
}

void Report::finish(const Outcome& outcome, const launch::Understood& understood,
                    const std::string& without) {
  if (!is_wanted()) return;
  const std::string report = written();
  if (!report.empty()) {
    if (!is_shown()) return;
    show(report);
    return show_spawned(report);
  }
  say("no report was written, because " + why_none(outcome, understood, without, "--report") + ".");
}

Report::~Report() {
  std::error_code ignored;
  if (!folder_.empty()) fs::remove_all(folder_, ignored);
}

}  // namespace unisono::front
