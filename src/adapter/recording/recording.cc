// SPDX-License-Identifier: BSD-3-Clause
#include "adapter/recording/recording.h"

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "adapter/below/nesting.h"
#include "adapter/below/parents.h"
#include "adapter/below/private_comm.h"
#include "adapter/messages/layer.h"
#include "adapter/recording/all_events.h"
#include "adapter/recording/event_recorder.h"
#include "adapter/recording/queue_samples.h"
#include "adapter/recording/recorded_calls.h"
#include "base/clock.h"
#include "base/files.h"
#include "base/log.h"
#include "base/options.h"
#include "runtime/recording_options.h"

namespace unisono::adapter::recording {

UnisonoFunction below[unisono_slot_count];

namespace {

constexpr int root = 0;
constexpr std::size_t most_piece = std::size_t{1} << 20;

// Two looks at both clocks, from which times follow.
struct Moment {
  std::uint64_t ticks = 0, ns = 0;
  double offset_ns = 0;  // of the root's clock
};

struct Run {
  Recorder* recorder = nullptr;
  MPI_Comm comm = MPI_COMM_NULL;
  int rank = 0, ranks = 1;
  Moment begin, end;
  std::string file;
};
Run* run = nullptr;

// Null: it can be written.
std::string why_not_written(const std::string& file) {
  if (std::string problem = why_not_replaced(file); !problem.empty()) return "it " + problem;
  const std::string trial = temporary_name(file);
  std::FILE* opened = std::fopen(trial.c_str(), "wx");
  if (opened == nullptr) return std::strerror(errno);
  std::fclose(opened);
  ::unlink(trial.c_str());
  return {};
}

void send(const void* data, std::size_t bytes, int to) {
  pmpi.Send(data, static_cast<int>(bytes), MPI_BYTE, to, 0, run->comm);
}
void receive(void* data, std::size_t bytes, int from) {
  pmpi.recv.small(data, static_cast<int>(bytes), MPI_BYTE, from, 0, run->comm, MPI_STATUS_IGNORE);
}

bool has_several_nodes() {
  const std::vector<int>* nodes = runtime::node_labels();
  return nodes != nullptr && std::ranges::any_of(*nodes, [&](int node) { return node != nodes->front(); });
}

// How far the root's clock is before ours: of some questions the one that was answered soonest.
double offset_of_root() {
  if (!has_several_nodes()) return 0;
  constexpr int questions = 10;
  double offset = 0, shortest = 1e300;
  for (int rank = 1; rank < run->ranks; ++rank) {
    for (int i = 0; i < questions && (run->rank == root || run->rank == rank); ++i) {
      std::uint64_t theirs = now_ns();
      if (run->rank == root) {
        receive(&theirs, sizeof theirs, rank);
        theirs = now_ns();
        send(&theirs, sizeof theirs, rank);
        continue;
      }
      const std::uint64_t asked = now_ns();
      send(&asked, sizeof asked, root);
      receive(&theirs, sizeof theirs, root);
      const std::uint64_t answered = now_ns();
      const auto trip = static_cast<double>(answered - asked);
      if (trip >= shortest) continue;
      shortest = trip;
      offset = static_cast<double>(theirs) - (static_cast<double>(asked) + trip / 2);
    }
  }
  return offset;
}

Moment moment() {
  Moment found;
  found.offset_ns = offset_of_root();
  found.ns = now_ns();
  found.ticks = ticks();
  return found;
}

// --- The text (docs/reference/trace-format.md) ---

class Text {
 public:
  // Where pieces go. On the root: the file.
  explicit Text(std::FILE* file) : file_(file) { text_.reserve(most_piece + 256); }

  void line(const char* word) { text_ += word; }
  void number(std::uint64_t value) {
    char digits[24];
    text_ += ' ';
    text_.append(digits, std::to_chars(digits, std::end(digits), value).ptr);
  }
  void number_or_any(std::int32_t value) {
    if (value >= 0) return number(static_cast<std::uint64_t>(value));
    text_ += " any";
  }
  void end_line() {
    text_ += '\n';
    if (text_.size() >= most_piece) flush();
  }
  void flush() {
    if (run->rank == root) {
      write(text_.data(), text_.size());
    } else if (!text_.empty()) {
      const std::uint64_t bytes = text_.size();
      send(&bytes, sizeof bytes, root);
      send(text_.data(), text_.size(), root);
    }
    text_.clear();
  }
  void end() {
    flush();
    const std::uint64_t nothing = 0;
    if (run->rank != root) send(&nothing, sizeof nothing, root);
  }
  // On the root: what another rank says.
  void take_from(int rank) {
    for (std::uint64_t bytes = 0;;) {
      receive(&bytes, sizeof bytes, rank);
      if (bytes == 0) return;
      text_.resize(bytes);
      receive(text_.data(), bytes, rank);
      flush();
    }
  }
  void write(const char* data, std::size_t bytes) {
    if (file_ == nullptr) return;  // the others' pieces are taken all the same
    if (std::fwrite(data, 1, bytes, file_) != bytes && error_ == 0) error_ = errno == 0 ? EIO : errno;
  }
  int error() const { return error_; }

 private:
  std::string text_;
  std::FILE* file_;
  int error_ = 0;
};

// Time in nanoseconds since the root began.
class Times {
 public:
  explicit Times(std::uint64_t start_ns) : start_ns_(static_cast<double>(start_ns)) {
    const auto ticks = static_cast<double>(run->end.ticks - run->begin.ticks);
    ns_of_tick_ = ticks > 0 ? static_cast<double>(run->end.ns - run->begin.ns) / ticks : 1;
    drift_ = ticks > 0 ? (run->end.offset_ns - run->begin.offset_ns) / ticks : 0;
  }
  std::uint64_t ns(std::uint64_t ticks) const {
    const double since = ticks > run->begin.ticks ? static_cast<double>(ticks - run->begin.ticks) : 0;
    const double at = static_cast<double>(run->begin.ns) - start_ns_ + run->begin.offset_ns +
                      since * (ns_of_tick_ + drift_);
    return at > 0 ? static_cast<std::uint64_t>(at) : 0;
  }

 private:
  double start_ns_, ns_of_tick_, drift_;
};

void add_event(const RecordedEvent& event, const Times& times, Text* text) {
  static constexpr const char* words[] = {"send", "post", "done", "cancel", "probe", "arrive", "sample"};
  const EventKind kind = event.kind;
  if (kind == EventKind::sample) {
    text->line("sample");
    text->number(times.ns(event.ticks));
    text->number(event.place.bytes);
    text->number(event.number);
    text->number(event.place.context);
    return text->end_line();
  }
  const bool is_over = kind == EventKind::done || kind == EventKind::cancel;
  text->line(words[static_cast<int>(kind)]);
  text->number(times.ns(event.ticks));
  if (is_over || kind == EventKind::post) text->number(event.number);
  if (kind != EventKind::cancel) {
    text->number_or_any(event.place.peer);
    text->number_or_any(event.tag);
  }
  if (!is_over) text->number(event.place.context);
  if (kind != EventKind::cancel && kind != EventKind::probe) text->number(event.place.bytes);
  text->end_line();
}

void add_count(const char* name, std::uint64_t count, Text* text) {
  text->line("count ");
  text->line(name);
  text->number(count);
  text->end_line();
}

void add_rank(std::uint64_t start_ns, Text* text) {
  Recorder& recorder = *run->recorder;
  const Times times(start_ns);
  text->line("rank");
  text->number(static_cast<std::uint64_t>(run->rank));
  text->end_line();
  text->line("run");
  text->number(run->end.ns - run->begin.ns);
  text->end_line();
  std::uint64_t full_ticks = recorder.events.full_ticks();
  if (recorder.of_queues != nullptr) full_ticks = std::min(full_ticks, recorder.of_queues->full_ticks());
  if (full_ticks != UINT64_MAX) {
    text->line("full");
    text->number(times.ns(full_ticks));
    text->end_line();
  }
  if (recorder.of_queues != nullptr) {
    text->line("exact");
    for (const std::uint32_t context : recorder.exact_contexts()) text->number(context);
    text->end_line();
  }
  add_count("sends", recorder.sends, text);
  add_count("receives", recorder.receives, text);
  add_count("failed-probes", recorder.failed_probes, text);
  add_count("left-out", recorder.left_out, text);
  AllEvents events(recorder);
  for (RecordedEvent event; events.next(&event);) add_event(event, times, text);
  text->end();
}

void add_head(const std::string& mpi, Text* text) {
  text->line("unisono-message-trace 1\nwith-end\nranks");
  text->number(static_cast<std::uint64_t>(run->ranks));
  text->line(("\nmpi " + mpi + "\nmessages " + runtime::messages_option() + "\n").c_str());
  if (const std::vector<int>* nodes = runtime::node_labels()) {
    text->line("nodes");
    for (const int node : *nodes) text->number(static_cast<std::uint64_t>(std::max(0, node)));
    text->end_line();
  }
}

void write_file(const std::string& mpi) {
  const bool is_kept = !is_null_device(run->file);
  const std::string temporary = is_kept ? temporary_name(run->file) : run->file;
  std::FILE* file = run->rank == root ? std::fopen(temporary.c_str(), is_kept ? "wx" : "w") : nullptr;
  int error = file == nullptr ? errno : 0;
  std::uint64_t start_ns = run->begin.ns;
  if (run->rank == root) {
    for (int rank = 1; rank < run->ranks; ++rank) send(&start_ns, sizeof start_ns, rank);
  } else {
    receive(&start_ns, sizeof start_ns, root);
  }
  Text text(file);
  if (run->rank != root) return add_rank(start_ns, &text);
  add_head(mpi, &text);
  add_rank(start_ns, &text);
  for (int rank = 1; rank < run->ranks; ++rank) text.take_from(rank);
  text.line("end\n");
  text.flush();
  if (error == 0) error = text.error();
  if (file != nullptr && std::fclose(file) != 0 && error == 0) error = errno;
  if (error == 0 && is_kept && std::rename(temporary.c_str(), run->file.c_str()) != 0) error = errno;
  if (error == 0) return;
  if (file != nullptr && is_kept) ::unlink(temporary.c_str());
  log::warning("the trace of messages cannot be written to " + run->file + ": " + std::strerror(error));
}

}  // namespace

bool is_wanted() {
  std::vector<std::string> warnings;  // said elsewhere
  return !read_options(Environment::of_process(), &warnings).record_messages.empty();
}

void begin(UnisonoFunction* functions) {
  add_messages(functions);
  add_requests(functions);
  add_handles(functions);
}

void begin_run(MpiHost& host) {
  const std::string file = runtime::record_messages_option();
  if (file.empty() || is_spawned()) return;
  // Rank 0 asks for it. Where another rank does not nobody records.
  std::string problem;
  int rank = 0;
  pmpi.Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == root) problem = why_not_written(file);
  std::uint64_t votes[2] = {is_wanted() ? 1ULL : 0ULL, problem.empty() ? 1ULL : 0ULL};
  host.agree(votes, 2, host::AgreeOp::band, host.world());
  if (!problem.empty()) log::warning("messages are not recorded: " + file + " cannot be written: " + problem);
  if (votes[0] == 0 && rank == root)
    log::warning("messages are not recorded: option record_messages is not set on all ranks");
  if (votes[0] == 0 || votes[1] == 0) return;
  auto made = new Run;  // never deleted: a program may call MPI from its exit handlers
  made->file = file;
  made->rank = rank;
  pmpi.Comm_size(MPI_COMM_WORLD, &made->ranks);
  if (make_private(MPI_COMM_WORLD, false, &made->comm) != MPI_SUCCESS) return;
  runtime::EventStream* of_queues = messages::is_on() ? messages::layer->events() : nullptr;
  made->recorder = new Recorder(static_cast<std::uint64_t>(runtime::record_bytes_option()), of_queues);
  made->recorder->has_threads = host.is_thread_multiple();
  made->recorder->made(MPI_COMM_WORLD);
  made->recorder->made(MPI_COMM_SELF);
  run = made;
  begin_samples();
  run->begin = moment();
  recorder = run->recorder;
}

void end_run(MpiHost& host) {
  if (run == nullptr) return;
  recorder = nullptr;
  end_samples(nullptr);
  if (run->recorder->of_queues != nullptr) run->recorder->of_queues->stop();
  run->end = moment();
  // Others may wait for what this rank has sent, before they come here.
  if (messages::is_on()) messages::layer->finish_all();
  write_file(host.library_name());
  pmpi.Comm_free(&run->comm);
  run = nullptr;
}

}  // namespace unisono::adapter::recording
