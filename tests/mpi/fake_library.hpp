// An MPI library whose requests end when the test says so. It checks that one thread at a time is in it.
#pragma once

#include <atomic>
#include <cstring>
#include <memory>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "comm/mpi/library.hpp"
#include "comm/mpi/loader.hpp"

namespace dovetail::comm::mpi::test {

inline constexpr int null_request = -1;
inline constexpr int code_of_failure = 15;

class FakeLibrary final : public Library {
 public:
  explicit FakeLibrary(std::size_t capacity = 1 << 20) : ended_(new std::atomic<int>[capacity]), capacity_(capacity) {
    for (std::size_t i = 0; i < capacity; ++i) {
      ended_[i].store(running, std::memory_order_relaxed);
    }
  }

  /// @name For tests
  /// @{
  /// A request that has been started. Any thread.
  int begin() {
    const int number = next_.fetch_add(1);
    if (static_cast<std::size_t>(number) >= capacity_) {
      std::abort();
    }
    return number;
  }
  void end(int request, int code = 0) { ended_[static_cast<std::size_t>(request)].store(code); }
  bool has_ended(int request) const { return ended_[static_cast<std::size_t>(request)].load() != running; }
  /// So many requests have been made.
  int begun() const { return next_.load(); }
  std::size_t asked() const { return asked_.load(); }
  /// So often has it been asked for the ends of requests, of however many at once.
  std::size_t times_asked() const { return times_asked_.load(); }
  std::size_t started() const { return started_.load(); }
  /// So often has it been told that errors of a communicator are a task's.
  std::size_t expected() const { return expected_.load(); }
  bool was_entered_twice() const { return entered_twice_.load(); }
  /// By another thread than the one that has made it.
  bool was_entered_elsewhere() const { return entered_elsewhere_.load(); }
  /// For its text of an error, which MPI gives to one thread at a time.
  bool was_asked_outside_of_turn() const { return asked_outside_of_turn_.load(); }
  void set_level(Level level) { level_.store(level); }
  void set_knows_of_death(bool knows) { knows_of_death_.store(knows); }
  /// While it lives, the calling thread is in the library.
  class Inside {
   public:
    explicit Inside(FakeLibrary& library) : library_(library) {
      if (!library_.is_main_thread()) {
        library_.entered_elsewhere_.store(true);
      }
      if (library_.inside_.exchange(true)) {
        library_.entered_twice_.store(true);
      }
    }
    ~Inside() { library_.inside_.store(false); }
    Inside(const Inside&) = delete;
    Inside& operator=(const Inside&) = delete;

   private:
    FakeLibrary& library_;
  };
  /// @}

  std::size_t request_size() const noexcept override { return sizeof(int); }
  std::size_t status_size() const noexcept override { return sizeof(int); }
  Level level() const override { return level_.load(); }
  bool is_main_thread() const noexcept override { return std::this_thread::get_id() == main_thread_; }
  bool is_null(const void* request) const noexcept override { return number_of(request) == null_request; }
  void set_null(void* request) const noexcept override { std::memcpy(request, &null_request, sizeof null_request); }
  void from_fortran(std::int32_t number, void* request) const noexcept override {
    std::memcpy(request, &number, sizeof number);
  }
  Communicator communicator_from_fortran(std::int32_t number) const noexcept override {
    Communicator made;
    std::memcpy(made.handle.data(), &number, sizeof number);
    return made;
  }
  bool has_partitions() const noexcept override { return true; }
  // A partition arrives with the request of its number.
  int test_partition(const void* request, int partition, bool& has_arrived) noexcept override {
    const int number = number_of(request) + partition;
    has_arrived = has_ended(number);
    return 0;
  }
  void set_empty(void* status) const noexcept override {
    if (status != nullptr) {
      *static_cast<int*>(status) = null_request;
    }
  }
  std::string text_of(int code) const override {
    if (entered_.load() == 0) {
      asked_outside_of_turn_.store(true);
    }
    return "fake error " + std::to_string(code);
  }
  int class_of(int code) const noexcept override { return code + 1; }
  std::string name_of(const Communicator&) const override { return "MPI_COMM_WORLD"; }

  void enter() noexcept override { entered_.fetch_add(1); }  // by calls that hold their thread, too
  void leave() noexcept override { entered_.fetch_sub(1); }
  void expect_errors(const Communicator&) noexcept override { expected_.fetch_add(1); }

  // Of four ranks, in the opposite order.
  const Channel* channel_of(const Communicator&) noexcept override {
    static const Channel channel{"fake", {3, 2, 1, 0}};
    return &channel;
  }
  std::uint64_t bytes_of(const Description& description) const noexcept override {
    return static_cast<std::uint64_t>(description.count) * 8;
  }

  // The status of a request is its number, which is the tag of what was received, too. It came from rank 1.
  std::size_t test(void* requests, std::span<Operation* const> operations, unsigned* ended) noexcept override {
    const Inside inside(*this);
    asked_.fetch_add(operations.size());
    times_asked_.fetch_add(1);
    std::size_t found = 0;
    for (std::size_t i = 0; i < operations.size(); ++i) {
      const int number = number_of(static_cast<std::byte*>(requests) + i * sizeof(int));
      const int code = ended_[static_cast<std::size_t>(number)].load();
      if (code != running) {
        operations[i]->code = code;
        operations[i]->source = 1;
        operations[i]->received_tag = number;
        operations[i]->description.count = 100;
        if (operations[i]->status != nullptr) {
          *static_cast<int*>(operations[i]->status) = number;
        }
        ended[found++] = static_cast<unsigned>(i);
      }
    }
    return found;
  }
  int start(const void* /*request*/) noexcept override {
    const Inside inside(*this);
    started_.fetch_add(1);
    return 0;
  }
  bool has_ended(const void* request) noexcept override {
    const Inside inside(*this);
    return is_null(request) || ended_[static_cast<std::size_t>(number_of(request))].load() != running;
  }
  bool knows_of_death() noexcept override { return knows_of_death_.load(); }
  int wait(void* requests, std::size_t count, void* /*statuses*/) noexcept override {
    int code = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const int number = number_of(static_cast<std::byte*>(requests) + i * sizeof(int));
      if (number != null_request) {
        while (ended_[static_cast<std::size_t>(number)].load() == running) {
        }
        code = code != 0 ? code : ended_[static_cast<std::size_t>(number)].load();
      }
    }
    return code;
  }

 private:
  static constexpr int running = -1;
  static int number_of(const void* request) noexcept {
    int number = 0;
    std::memcpy(&number, request, sizeof number);
    return number;
  }

  std::unique_ptr<std::atomic<int>[]> ended_;
  const std::size_t capacity_;
  std::atomic<int> next_{0};
  std::atomic<std::size_t> asked_{0};
  std::atomic<std::size_t> times_asked_{0};
  std::atomic<std::size_t> started_{0};
  std::atomic<std::size_t> expected_{0};
  std::atomic<bool> inside_{false};
  std::atomic<bool> entered_twice_{false};
  std::atomic<int> entered_{0};
  mutable std::atomic<bool> asked_outside_of_turn_{false};
  std::atomic<Level> level_{Level::multiple};
  std::atomic<bool> knows_of_death_{false};
  const std::thread::id main_thread_ = std::this_thread::get_id();
  std::atomic<bool> entered_elsewhere_{false};
};

/// The one of the process.
inline FakeLibrary& fake() {
  static auto* const made = [] {
    auto* const library = new FakeLibrary;
    set_library(library);
    return library;
  }();
  return *made;
}

/// @name As <dovetail/mpi.hpp> does for a real one
/// @{
inline void wait(std::span<int> requests, int* statuses = nullptr) {
  detail::mpi::wait(Abi::mpich, requests.data(), requests.size(), statuses);
}
inline void wait(int& request, int* status = nullptr) { wait(std::span(&request, 1), status); }
inline void iwait(std::span<int> requests, int* statuses = nullptr) {
  detail::mpi::bind(Abi::mpich, requests.data(), requests.size(), statuses);
}
inline void iwait(int& request, int* status = nullptr) { iwait(std::span(&request, 1), status); }
/// @}

}  // namespace dovetail::comm::mpi::test
