// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/decisions/crash_watch.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstddef>
#include <cstring>
#include <ctime>
#include <iterator>
#include <memory>
#include <string_view>

#include "base/own_folder.h"
#include "base/shown.h"
#include "base/write_signals.h"
#include "runtime/call/crash_site.h"
#include "runtime/communicators/communicator.h"

namespace unisono::runtime {

namespace {

struct Watched {
  int number;
  std::string_view name;
};
constexpr Watched watched[] = {
    {SIGSEGV, "SIGSEGV"}, {SIGBUS, "SIGBUS"}, {SIGFPE, "SIGFPE"}, {SIGILL, "SIGILL"}, {SIGABRT, "SIGABRT"}};

// What is known of this process, and room for a line: a handler cannot get memory.
struct Watch {
  std::string file, known_part, withdrawal, program;
  int rank = 0;
  bool is_said = true;
  static constexpr std::size_t line_bytes = 4096;
  char line[line_bytes];
};

// What a thread was inside of, as the handler found it.
struct Site {
  const CallClass* entry = nullptr;
  std::int64_t bytes = -1;
  bool is_programs = false;  // the program has given the call an address where it has no such memory
};

// The buffers that a program gives are its own matter, whoever touches them.
bool is_programs(const WorkInside& work, int number, const siginfo_t& info) {
  if ((number != SIGSEGV && number != SIGBUS) || info.si_code <= 0) return false;
  if (info.si_code == SI_KERNEL && info.si_addr == nullptr) return work.memory.has_impossible();
  return work.memory.holds(reinterpret_cast<std::uintptr_t>(info.si_addr), work.bytes);
}

Site site_of(const WorkInside* work, int number, const siginfo_t& info) {
  if (work == nullptr) return {};
  return {work->entry, work->bytes, is_programs(*work, number, info)};
}

// Of the first thread that dies alone. `over`: nothing is recorded any more.
enum class Recording : int { open, under_way, over };

std::atomic<Watch*> watch{nullptr};
std::atomic<Recording> recording{Recording::open};
static_assert(std::atomic<Recording>::is_always_lock_free && std::atomic<Watch*>::is_always_lock_free);
struct sigaction before[std::size(watched)];
bool is_ours[std::size(watched)];

// A line in the watch's room; what does not fit is left out, and then the whole line is not written.
class Line {
 public:
  explicit Line(char* room) : room_(room) {}
  Line& operator<<(std::string_view text) {
    if (text.size() > Watch::line_bytes - used_) {
      is_whole_ = false;
      return *this;
    }
    std::memcpy(room_ + used_, text.data(), text.size());
    used_ += text.size();
    return *this;
  }
  Line& operator<<(std::int64_t number) {
    char digits[24];
    const auto written = std::to_chars(digits, digits + sizeof digits, number);
    return *this << std::string_view(digits, static_cast<std::size_t>(written.ptr - digits));
  }
  // "ring(segment=65536)", as Choice::text() has it.
  Line& operator<<(const tuning::Choice& choice) {
    *this << choice.name();
    std::string_view separator = "(";
    for (const auto& [name, value] : choice.parameters.values()) {
      *this << separator << name << "=" << value;
      separator = ",";
    }
    return *this << (separator == "," ? ")" : "");
  }
  void write_to(int descriptor) const {
    // Nothing sensible is left to do where it fails.
    if (!is_whole_) return;
    const WithoutWriteSignals without_signals;
    [[maybe_unused]] const ssize_t written = ::write(descriptor, room_, used_);
  }

 private:
  char* room_;
  std::size_t used_ = 0;
  bool is_whole_ = true;
};

std::size_t place_of(int number) {
  std::size_t i = 0;
  while (i + 1 < std::size(watched) && watched[i].number != number) ++i;
  return i;
}

// Folders on the way to the file, which no job before may have needed.
void make_folders(std::string* file) {
  for (std::size_t i = file->find('/', 1); i != std::string::npos; i = file->find('/', i + 1)) {
    (*file)[i] = '\0';
    ::mkdir(file->data(), 0700);
    (*file)[i] = '/';
  }
}

// The file's folder, where it is the user's own as OwnFolder has it; negative: there is none.
int open_own_folder(std::string* file) {
  const std::size_t slash = file->rfind('/');
  if (slash == std::string::npos) return -1;
  constexpr int flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC;
  (*file)[slash] = '\0';
  const int folder = ::open(slash == 0 ? "/" : file->c_str(), flags);
  (*file)[slash] = '/';
  struct stat status {};
  if (folder < 0 || (::fstat(folder, &status) == 0 && is_own(status))) return folder;
  ::close(folder);
  return -1;
}

int open_in(int folder, const char* name) {
  constexpr int flags = O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
  const int descriptor = ::openat(folder, name, flags, 0600);
  struct stat status {};
  // A second name of the file may be in anybody's folder.
  if (descriptor >= 0 && ::fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode) &&
      status.st_nlink == 1 && is_own(status) && status.st_size < tuning::most_crash_file_bytes)
    return descriptor;
  if (descriptor >= 0) ::close(descriptor);
  return -1;
}

int open_to_append(Watch* known) {
  if (known->file.empty()) return -1;
  int folder = open_own_folder(&known->file);
  if (folder < 0) {
    make_folders(&known->file);
    folder = open_own_folder(&known->file);
  }
  if (folder < 0) return -1;
  const int descriptor = open_in(folder, known->file.c_str() + known->file.rfind('/') + 1);
  ::close(folder);
  return descriptor;
}

std::int64_t class_bytes(const Site& site) {
  return site.bytes < 0 ? -1 : tuning::class_high(tuning::size_class(site.bytes));
}

// False where there is no file for it.
bool record(Watch* known, std::string_view signal, const Site& site) {
  const int descriptor = open_to_append(known);
  if (descriptor < 0) return false;
  const tuning::Choice& choice = *site.entry->choice;
  Line line(known->line);
  line << known->known_part << ",\"time\":" << std::int64_t{std::time(nullptr)} << ",\"signal\":\"" << signal
       << "\",\"operation\":\"" << name(choice.algorithm->operation) << "\",\"algorithm\":\"" << choice
       << "\",\"bytes\":" << class_bytes(site) << "}\n";
  line.write_to(descriptor);
  ::close(descriptor);
  return true;
}

void withdraw(Watch* known) {
  const int descriptor = open_to_append(known);
  if (descriptor < 0) return;
  (Line(known->line) << known->withdrawal).write_to(descriptor);
  ::close(descriptor);
}

void say(Watch* known, std::string_view signal, const Site& site, bool is_recorded) {
  if (!known->is_said) return;
  const tuning::Choice& choice = *site.entry->choice;
  Line line(known->line);
  line << "unisono: rank " << std::int64_t{known->rank} << " gets " << signal << " inside "
       << name(choice.algorithm->operation) << ":" << choice;
  if (site.bytes > 0) line << " (calls of up to " << class_bytes(site) << " bytes)";
  if (site.is_programs) {
    line << ", at an address of a buffer that the call was given: that is the program's fault, and no "
            "algorithm is left out\n";
  } else if (is_recorded) {
    line << ": later runs of '" << known->program << "' leave it out; `unisono crashes --forget` ends that\n";
  } else {
    line << "; there is no cache directory that could remember it (option 'cache')\n";
  }
  line.write_to(STDERR_FILENO);
}

// By the kernel, for what the thread does, or by the process itself. What others send is no crash.
bool is_own(const siginfo_t& info) {
  if (info.si_code > 0) return true;
  const bool has_sender = info.si_code == SI_USER || info.si_code == SI_QUEUE || info.si_code == SI_TKILL;
  return has_sender && info.si_pid == ::getpid();
}

// What would have come without us.
void hand_on(int number, siginfo_t* info, void* context) {
  const std::size_t i = place_of(number);
  const struct sigaction& next = before[i];
  const bool has_handler = (next.sa_flags & SA_SIGINFO) != 0 || next.sa_handler != SIG_DFL;
  if (!has_handler || (next.sa_flags & static_cast<int>(SA_RESETHAND)) != 0) {
    struct sigaction standard {};
    standard.sa_handler = SIG_DFL;
    ::sigaction(number, &standard, nullptr);
  }
  if (!has_handler) {
    // What the kernel has found it finds again, and ends the process where it was. All else comes once.
    const bool comes_again = info->si_code > 0 && !(number == SIGBUS && info->si_code == BUS_MCEERR_AO);
    if (!comes_again) ::raise(number);
    return;
  }
  if ((next.sa_flags & SA_SIGINFO) != 0) {
    next.sa_sigaction(number, info, context);
  } else {
    next.sa_handler(number);
  }
}

void on_signal(int number, siginfo_t* info, void* context);

bool is_still_ours(int number) {
  struct sigaction now {};
  return ::sigaction(number, nullptr, &now) == 0 && (now.sa_flags & SA_SIGINFO) != 0 &&
         now.sa_sigaction == on_signal;
}

void on_signal(int number, siginfo_t* info, void* context) {
  const int error = errno;
  // Whatever comes while this runs is no algorithm's.
  const WorkInside* work = this_thread.site.inside;
  const Site site = site_of(work, number, *info);
  this_thread.site.inside = nullptr;
  Watch* known = watch.load(std::memory_order_acquire);
  const bool is_algorithms = known != nullptr && site.entry != nullptr && site.entry->choice != nullptr &&
                             site.entry->choice->algorithm != nullptr && is_own(*info) &&
                             !(number == SIGABRT && this_thread.site.is_in_host);
  Recording expected = Recording::open;
  const bool is_recording =
      is_algorithms && recording.compare_exchange_strong(expected, Recording::under_way);
  // Programs that protect memory to see what is written get signals that they answer. Nothing is said then.
  const std::size_t i = place_of(number);
  const bool may_be_answered =
      info->si_code == SEGV_ACCERR && number == SIGSEGV && before[i].sa_handler != SIG_DFL;
  bool is_recorded = false;
  if (is_recording) {
    is_recorded = !site.is_programs && record(known, watched[i].name, site);
    if (!may_be_answered) say(known, watched[i].name, site, is_recorded);
    recording.store(Recording::over);
  } else {
    // Another thread must not end the process under the one that writes.
    constexpr int most_turns = 100'000;
    for (int turn = 0; turn < most_turns && recording.load() == Recording::under_way; ++turn) ::sched_yield();
  }
  errno = error;
  hand_on(number, info, context);
  // Whose handler has come back and stands there still: what the kernel found is mended.
  const bool goes_on = site.entry != nullptr && info->si_code > 0 && is_still_ours(number);
  if (goes_on) {
    if (is_recording && is_recorded) withdraw(known);
  } else if (is_recording && may_be_answered) {
    say(known, watched[i].name, site, is_recorded);
  }
  this_thread.site.inside = work;
  errno = error;
}

}  // namespace

void begin_crash_watch(const CrashFacts& facts) {
  if (watch.load() != nullptr) return;
  auto made = std::make_unique<Watch>();
  made->file = facts.file;
  made->known_part = tuning::known_part(facts.known);
  made->withdrawal = tuning::withdrawal_line(facts.known.id);
  made->program = shown_in_a_line(facts.known.place.program);
  made->rank = facts.known.rank;
  made->is_said = facts.is_said;
  recording = Recording::open;
  // Leaked: a thread may be in the handler whenever the process ends.
  watch.store(made.release(), std::memory_order_release);
  for (std::size_t i = 0; i < std::size(watched); ++i) {
    is_ours[i] = false;
    if (::sigaction(watched[i].number, nullptr, &before[i]) != 0) continue;
    const bool has_handler = (before[i].sa_flags & SA_SIGINFO) != 0 || before[i].sa_handler != SIG_DFL;
    if (has_handler && before[i].sa_handler == SIG_IGN) continue;
    // What comes after us finds what it asked for: its own stack or not, its own mask.
    constexpr int kept_flags = SA_ONSTACK | SA_NODEFER | SA_RESTART;
    struct sigaction ours = before[i];
    ours.sa_flags = SA_SIGINFO | (has_handler ? before[i].sa_flags & kept_flags : SA_ONSTACK);
    ours.sa_sigaction = on_signal;
    is_ours[i] = ::sigaction(watched[i].number, &ours, nullptr) == 0;
  }
}

void end_crash_watch() {
  watch.store(nullptr, std::memory_order_release);
  for (std::size_t i = 0; i < std::size(watched); ++i) {
    if (is_ours[i] && is_still_ours(watched[i].number)) ::sigaction(watched[i].number, &before[i], nullptr);
  }
}

}  // namespace unisono::runtime
