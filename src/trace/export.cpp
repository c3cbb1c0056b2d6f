#include "trace/export.hpp"

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>
#include <tuple>

#include "trace/access_text.hpp"
#include "trace/json_file.hpp"
#include "trace/summary.hpp"
#include "trace/timeline.hpp"
#include "trace/trace.hpp"

namespace dovetail::trace {

namespace {

// Of one rank in the trace. Other ranks have other numbers, so that the traces of all can be put into one file.
constexpr std::uint64_t processes_of_rank = 3;
// Some readers take equal track numbers of two processes for one track.
constexpr std::uint64_t tracks_of_rank = 1'000'000;
constexpr std::uint64_t first_lane = 100'001;
constexpr std::uint64_t first_ahead_lane = 300'001;
constexpr std::uint64_t first_message_lane = 500'001;
constexpr int bits_of_flow = 32;

std::string thread_title(const ThreadEvents& thread) {
  if (thread.kind == ThreadKind::worker) return "worker " + std::to_string(thread.index);
  if (thread.kind == ThreadKind::executor) return "I/O executor " + std::to_string(thread.index);
  return thread.is_main ? "main thread" : "thread " + std::to_string(thread.system_id);
}

/// The numbers of the threads' tracks: workers first, then executors, then the others.
std::vector<std::uint64_t> track_numbers(const Recording& recording, std::uint64_t before) {
  std::set<std::tuple<int, unsigned, std::size_t>> order;
  for (std::size_t i = 0; i < recording.threads.size(); ++i) {
    const ThreadEvents& thread = recording.threads[i];
    const int rank = thread.kind == ThreadKind::worker ? 0 : thread.kind == ThreadKind::executor ? 1 : 2;
    order.emplace(rank, thread.kind == ThreadKind::other ? 0 : thread.index, i);
  }
  std::vector<std::uint64_t> numbers(recording.threads.size());
  std::uint64_t next = before + 1;
  for (const auto& [rank, index, thread] : order) numbers[thread] = next++;
  return numbers;
}

/// Names as JSON, each made once: slices and requests repeat them.
class QuotedNames {
 public:
  explicit QuotedNames(const std::vector<std::string>& names)
      : names_(names), quoted_(names.size()), others_(json_string(name_at(names, ~std::uint32_t{0}))) {}

  std::string_view operator[](std::uint32_t number) {
    if (number >= quoted_.size()) return others_;
    if (quoted_[number].empty()) quoted_[number] = json_string(names_[number]);
    return quoted_[number];
  }

 private:
  const std::vector<std::string>& names_;
  std::vector<std::string> quoted_;
  std::string others_;
};

class Exporter final : public TimelineVisitor {
 public:
  Exporter(const Recording& recording, JsonFile& file)
      : recording_(recording),
        file_(file),
        rank_(static_cast<std::uint64_t>(recording.process.rank)),
        threads_process_(std::to_string(rank_ * processes_of_rank + 1)),
        requests_process_(std::to_string(rank_ * processes_of_rank + 2)),
        messages_process_(std::to_string(rank_ * processes_of_rank + 3)),
        tracks_(track_numbers(recording, rank_ * tracks_of_rank)),
        names_(recording.names),
        operations_(recording.operations) {
    for (const ThreadEvents& thread : recording.threads) titles_.push_back(json_string(thread_title(thread)));
  }

  void run() {
    // In front: a file that was cut off says, too, what it is of.
    file_.raw(R"({"displayTimeUnit":"ns","otherData":)").raw(other_data().dump()).raw(",\n\"traceEvents\":[");
    name_process(threads_process_, "tasks");
    name_process(requests_process_, "I/O in flight");
    for (std::size_t i = 0; i < recording_.threads.size(); ++i) name_track(threads_process_, tracks_[i], titles_[i]);
    replay(recording_, *this);
    for (std::uint64_t lane = 0; lane < lanes_; ++lane)
      name_track(requests_process_, track(first_lane, lane), json_string("request " + std::to_string(lane + 1)));
    for (std::uint64_t lane = 0; lane < ahead_lanes_; ++lane)
      name_track(requests_process_, track(first_ahead_lane, lane),
                 json_string("read ahead " + std::to_string(lane + 1)));
    if (message_lanes_ > 0) name_process(messages_process_, "messages outstanding");
    for (std::uint64_t lane = 0; lane < message_lanes_; ++lane)
      name_track(messages_process_, track(first_message_lane, lane),
                 json_string("message " + std::to_string(lane + 1)));
    note_losses();
    file_.raw("\n]}\n");
  }

  void slice(const Slice& slice) override {
    begin_interval(threads_process_, tracks_[slice.thread], slice.begin, slice.end, "task", quoted_label(slice.label));
    if (slice.flow != 0) {
      file_.raw(R"(,"bind_id":)").number(rank_ << bits_of_flow | slice.flow);
      if (slice.continues) file_.raw(R"(,"flow_in":true)");
      if (slice.ended_by == Kind::paused) file_.raw(R"(,"flow_out":true)");
    }
    file_.raw(R"(,"args":{"task":)").identity(slice.task);
    if (slice.created && slice.dependencies_met)
      file_.raw(R"(,"waited_for_accesses_us":)").microseconds(*slice.dependencies_met - *slice.created);
    if (slice.ready) file_.raw(R"(,"ready_for_us":)").microseconds(slice.begin - *slice.ready);
    write_accesses(slice);
    if (slice.ended_by == Kind::paused) file_.raw(R"(,"paused_for":)").raw(names_[slice.pause_reason]);
    if (slice.processor) file_.raw(R"(,"processor_us":)").microseconds(*slice.processor);
    if (!slice.ended_by) file_.raw(R"(,"still_running":true)");
    file_.raw("}}");
  }

  // What was made first comes first in the order that accesses give.
  void write_accesses(const Slice& slice) {
    std::string text;
    for (const NamedAccess& access : slice.accesses) {
      append_access(text, name_at(recording_.operations, access.mode), name_at(recording_.names, access.space),
                    access.begin, access.length);
    }
    if (text.empty()) return;
    file_.raw(R"(,"accesses":)").raw(json_string(text));
    if (slice.made != 0) file_.raw(R"(,"made":)").number(slice.made);
  }

  void idle(std::size_t thread, Time begin, Time end) override {
    begin_interval(threads_process_, tracks_[thread], begin, end, "idle", R"("idle")");
    file_.raw(R"(,"cname":"grey"})");
  }

  void wait(std::size_t thread, Time begin, Time end, std::uint32_t reason) override {
    begin_interval(threads_process_, tracks_[thread], begin, std::max(begin, end), "wait",
                   json_string("waits for " + std::string(name_at(recording_.names, reason))));
    file_.raw("}");
  }

  void failure(std::size_t thread, Time time, std::uint64_t task, std::uint32_t label_number,
               std::uint32_t reason) override {
    begin_event(R"("i","s":"t")", threads_process_, time).raw(R"(,"tid":)").number(tracks_[thread]);
    file_.raw(R"(,"cat":"failure","name":)").raw(json_string("failed: " + std::string(label(label_number))));
    file_.raw(R"(,"args":{"task":)").identity(task);
    file_.raw(R"(,"reason":)").raw(names_[reason]).raw("}}");
  }

  void request(const RequestSpan& request) override {
    const bool ahead = request.transfer == Transfer::ahead;
    std::size_t& lanes = ahead ? ahead_lanes_ : lanes_;
    lanes = std::max(lanes, request.lane + 1);
    begin_interval(requests_process_, track(ahead ? first_ahead_lane : first_lane, request.lane), request.begin,
                   request.end, ahead ? "ahead" : "io", operations_[request.operation]);
    file_.raw(R"(,"args":{"file":)").raw(names_[request.file]);
    file_.raw(R"(,"offset":)").number(request.offset).raw(R"(,"bytes":)").number(request.bytes);
    file_.raw(R"(,"submitted_on":)").raw(titles_[request.submitter]);
    if (request.completer) {
      file_.raw(R"(,"completed_on":)").raw(titles_[*request.completer]);
      file_.raw(R"(,"result":)").number(request.result);
      const char* error = request.result < 0 ? strerrorname_np(static_cast<int>(-request.result)) : nullptr;
      if (error != nullptr) file_.raw(R"(,"error":")").raw(error).raw("\"");
    } else {
      file_.raw(R"(,"still_in_flight":true)");
    }
    file_.raw("}}");
  }

  void in_flight(Time time, std::size_t requests) override {
    begin_event(R"("C")", requests_process_, time).raw(R"(,"name":"requests in flight","args":{"requests":)");
    file_.number(static_cast<std::uint64_t>(requests)).raw("}}");
  }

  // Both ends of an arrow are found by `direction`, `channel`, `peer`, `tag` and `order`; `touches` is where it begins or ends.
  void message(const Message& message) override {
    message_lanes_ = std::max(message_lanes_, message.lane + 1);
    begin_interval(messages_process_, track(first_message_lane, message.lane), message.begin, message.end, "message",
                   message.call == 0 ? R"("signal")" : operations_[message.call]);
    file_.raw(R"(,"args":{"task":)").identity(message.task).raw(R"(,"task_name":)").raw(quoted_label(message.label));
    if (message.direction != Direction::none) {
      file_.raw(message.direction == Direction::send ? R"(,"direction":"send")" : R"(,"direction":"receive")");
      file_.raw(R"(,"channel":)").raw(names_[message.channel]).raw(R"(,"order":)").number(message.order);
    }
    if (message.direction != Direction::none && message.peer != unknown_number) {
      file_.raw(R"(,"peer":)").number(std::uint64_t{message.peer});
      file_.raw(R"(,"tag":)").number(std::uint64_t{message.tag});
      if (message.bytes > 0) file_.raw(R"(,"bytes":)").number(message.bytes);
    }
    if (message.touches) {
      file_.raw(R"(,"touches":{"tid":)").number(tracks_[message.touches->thread]);
      file_.raw(R"(,"after_us":)").microseconds(message.touches->time - message.begin).raw("}");
    }
    if (!message.has_ended) file_.raw(message.is_signal ? R"(,"not_taken":true)" : R"(,"still_outstanding":true)");
    file_.raw("}}");
  }

  void messages_outstanding(Time time, std::size_t messages) override {
    begin_event(R"("C")", messages_process_, time).raw(R"(,"name":"messages outstanding","args":{"messages":)");
    file_.number(static_cast<std::uint64_t>(messages)).raw("}}");
  }

 private:
  std::uint64_t track(std::uint64_t first, std::uint64_t lane) const { return rank_ * tracks_of_rank + first + lane; }

  std::string_view label(std::uint32_t number) const {
    return number == 0 ? std::string_view("task") : name_at(recording_.names, number);
  }

  std::string_view quoted_label(std::uint32_t number) { return number == 0 ? R"("task")" : names_[number]; }

  JsonFile& begin_event(std::string_view phase, std::string_view process, Time time) {
    file_.raw(first_ ? "\n" : ",\n").raw(R"({"ph":)").raw(phase).raw(R"(,"pid":)").raw(process);
    first_ = false;
    return file_.raw(R"(,"ts":)").microseconds(time);
  }

  void begin_interval(std::string_view process, std::uint64_t track, Time begin, Time end, std::string_view category,
                      std::string_view quoted_title) {
    begin_event(R"("X")", process, begin).raw(R"(,"dur":)").microseconds(end - begin).raw(R"(,"tid":)").number(track);
    file_.raw(R"(,"cat":")").raw(category).raw(R"(","name":)").raw(quoted_title);
  }

  void name_process(std::string_view process, std::string title) {
    if (recording_.process.size > 1) title = "rank " + std::to_string(rank_) + ": " + title;
    begin_event(R"("M","name":"process_name")", process, 0)
        .raw(R"(,"args":{"name":)")
        .raw(json_string(title))
        .raw("}}");
    begin_event(R"("M","name":"process_sort_index")", process, 0).raw(R"(,"args":{"sort_index":)");
    file_.raw(process).raw("}}");
  }

  void name_track(std::string_view process, std::uint64_t track, std::string_view quoted_title) {
    begin_event(R"("M","name":"thread_name")", process, 0).raw(R"(,"tid":)").number(track);
    file_.raw(R"(,"args":{"name":)").raw(quoted_title).raw("}}");
    begin_event(R"("M","name":"thread_sort_index")", process, 0).raw(R"(,"tid":)").number(track);
    file_.raw(R"(,"args":{"sort_index":)").number(track).raw("}}");
  }

  void note_losses() {
    for (std::size_t i = 0; i < recording_.threads.size(); ++i) {
      const ThreadEvents& thread = recording_.threads[i];
      if (thread.lost == 0) continue;
      begin_event(R"("i","s":"t")", threads_process_, known_since(recording_, thread)).raw(R"(,"tid":)");
      file_.number(tracks_[i]).raw(R"(,"cat":"lost","name":")").number(thread.lost).raw(" older events lost");
      file_.raw(R"(","args":{"lost":)").number(thread.lost).raw("}}");
    }
  }

  nlohmann::ordered_json other_data() const {
    const Summary summary = summarize(recording_);
    nlohmann::ordered_json threads = nlohmann::ordered_json::array();
    for (std::size_t i = 0; i < recording_.threads.size(); ++i) {
      const ThreadEvents& thread = recording_.threads[i];
      threads.push_back({{"tid", tracks_[i]},
                         {"name", thread_title(thread)},
                         {"events", thread.events.size()},
                         {"lost", thread.lost}});
    }
    return {{"producer", "dovetail"},
            {"rank", recording_.process.rank},
            {"ranks", recording_.process.size},
            {"clock", recording_.counter ? "tsc" : "CLOCK_MONOTONIC"},
            {"monotonic_clock", name_of_monotonic_clock()},
            {"begin_ns", recording_.begin},
            {"begin_wall_ns", recording_.begin + wall_clock_ahead()},
            {"lost_events", recording_.lost},
            {"total_s", summary.total},
            {"compute_s", summary.compute},
            {"computing_s", summary.computing},
            {"blocked_s", summary.blocked},
            {"io_s", summary.io},
            {"hidden_s", summary.hidden},
            {"communication_s", summary.communication},
            {"communication_hidden_s", summary.communication_hidden},
            {"bytes_read", static_cast<std::uint64_t>(summary.bytes_read)},
            {"bytes_written", static_cast<std::uint64_t>(summary.bytes_written)},
            {"workers", summary.workers},
            {"hidden_share", summary.hidden_share()},
            {"communication_hidden_share", summary.communication_hidden_share()},
            {"threads", threads}};
  }

  const Recording& recording_;
  JsonFile& file_;
  const std::uint64_t rank_;
  const std::string threads_process_;
  const std::string requests_process_;
  const std::string messages_process_;
  std::vector<std::uint64_t> tracks_;
  std::vector<std::string> titles_;  ///< Of the threads, as JSON.
  QuotedNames names_;
  QuotedNames operations_;
  std::size_t lanes_ = 0;
  std::size_t ahead_lanes_ = 0;
  std::size_t message_lanes_ = 0;
  bool first_ = true;
};

}  // namespace

void write(const Recording& recording, const std::string& path) {
  JsonFile file(path);
  Exporter(recording, file).run();
  file.close();
}

void require_writable(const std::string& path) { const JsonFile file(path, JsonFile::keep_contents); }

void write(const std::string& path) { write(Recorder::instance().copy(), path); }

}  // namespace dovetail::trace
