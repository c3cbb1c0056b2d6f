#include <libaio.h>
#include <liburing.h>
#include <pthread.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>
#include <thread>

#include "base/without_signals.hpp"
#include "device/engine_probe.hpp"
#include "device/load.hpp"

namespace dovetail::device {
namespace {

// A ring of its own, with the operation codes that the engine uses.
class UringDriver final : public Driver {
 public:
  ~UringDriver() override {
    if (made_) {
      io_uring_queue_exit(&ring_);
    }
  }
  const char* name() const noexcept override { return "uring"; }

  /// @returns 0 or an errno.
  int set_up(unsigned depth) noexcept {
    const int result = io_uring_queue_init(depth, &ring_, IORING_SETUP_CLAMP);
    made_ = result == 0;
    return -result;
  }

  void run(Load& load) override {
    std::size_t flying = 0;
    for (Load::Slot& slot : load.slots()) {
      if (!load.begin(slot)) {
        break;
      }
      prepare(slot);
      ++flying;
    }
    while (flying > 0) {
      // EINTR, EAGAIN, EBUSY: what was not taken is still in the ring, and goes with the next call.
      io_uring_submit_and_wait(&ring_, 1);
      io_uring_cqe* completion = nullptr;
      while (io_uring_peek_cqe(&ring_, &completion) == 0) {
        auto& slot = *static_cast<Load::Slot*>(io_uring_cqe_get_data(completion));
        const std::int64_t result = completion->res;
        io_uring_cqe_seen(&ring_, completion);
        if (slot.transfer.attempted(result) || (load.ended(slot) && load.begin(slot))) {
          prepare(slot);
        } else {
          --flying;
        }
      }
    }
  }

 private:
  void prepare(Load::Slot& slot) noexcept {
    // There is one entry for each request at once, so there is always one.
    io_uring_sqe* entry = io_uring_get_sqe(&ring_);
    const Transfer& transfer = slot.transfer;
    const auto length = static_cast<unsigned>(transfer.remaining);
    if (transfer.direction == Direction::read) {
      io_uring_prep_read(entry, transfer.descriptor, transfer.data, length, transfer.offset);
    } else {
      io_uring_prep_write(entry, transfer.descriptor, transfer.data, length, transfer.offset);
    }
    io_uring_sqe_set_data(entry, &slot);
  }

  io_uring ring_{};
  bool made_ = false;
};

class AioDriver final : public Driver {
 public:
  explicit AioDriver(io_context_t context) noexcept : context_(context) {}
  ~AioDriver() override { io_destroy(context_); }
  const char* name() const noexcept override { return "aio"; }

  void run(Load& load) override {
    std::vector<Load::Slot>& slots = load.slots();
    blocks_.assign(slots.size(), {});
    ready_.clear();
    std::size_t flying = 0;
    for (Load::Slot& slot : slots) {
      if (!load.begin(slot)) {
        break;
      }
      prepare(load, slot);
    }
    std::array<io_event, 64> events;
    while (flying > 0 || !ready_.empty()) {
      flying += submit(load, flying);
      if (flying == 0) {
        continue;  // what was refused has been counted as a failure
      }
      const int count = io_getevents(context_, 1, events.size(), events.data(), nullptr);
      for (int i = 0; i < count; ++i) {
        --flying;
        finish(load, *static_cast<Load::Slot*>(events[static_cast<std::size_t>(i)].data),
               static_cast<std::int64_t>(events[static_cast<std::size_t>(i)].res));
      }
    }
  }

 private:
  void prepare(Load& load, Load::Slot& slot) {
    iocb& block = blocks_[static_cast<std::size_t>(&slot - load.slots().data())];
    const Transfer& transfer = slot.transfer;
    const auto offset = static_cast<long long>(transfer.offset);
    if (transfer.direction == Direction::read) {
      io_prep_pread(&block, transfer.descriptor, transfer.data, transfer.remaining, offset);
    } else {
      io_prep_pwrite(&block, transfer.descriptor, transfer.data, transfer.remaining, offset);
    }
    block.data = &slot;
    ready_.push_back(&block);
  }

  void finish(Load& load, Load::Slot& slot, std::int64_t result) {
    if (slot.transfer.attempted(result) || (load.ended(slot) && load.begin(slot))) {
      prepare(load, slot);
    }
  }

  // Returns how many the kernel took. The others stay ready, unless none is under way that could make room for them.
  std::size_t submit(Load& load, std::size_t flying) {
    std::size_t taken = 0;
    while (taken < ready_.size()) {
      const int result = io_submit(context_, static_cast<long>(ready_.size() - taken), ready_.data() + taken);
      if (result > 0) {
        taken += static_cast<std::size_t>(result);
      } else if (result != -EINTR) {
        if (result != -EAGAIN || flying + taken == 0) {
          iocb* refused = ready_[taken];
          ready_.erase(ready_.begin() + static_cast<std::ptrdiff_t>(taken));
          auto& slot = *static_cast<Load::Slot*>(refused->data);
          slot.transfer.error = result < 0 ? -result : EIO;
          load.ended(slot);
          continue;
        }
        break;
      }
    }
    ready_.erase(ready_.begin(), ready_.begin() + static_cast<std::ptrdiff_t>(taken));
    return taken;
  }

  io_context_t context_;
  std::vector<iocb> blocks_;
  std::vector<iocb*> ready_;
};

// Each thread performs the requests of one slot, so that no hand-over is part of what is measured.
class ThreadsDriver final : public Driver {
 public:
  const char* name() const noexcept override { return "threads"; }

  void run(Load& load) override {
    std::vector<std::thread> threads;
    std::exception_ptr failure;
    try {
      const base::WithoutSignals quiet;
      for (std::size_t i = 1; i < load.slots().size(); ++i) {
        threads.emplace_back([&load, i] { serve(load, load.slots()[i]); });
      }
    } catch (const std::system_error&) {
      failure = std::current_exception();
      load.stop();
    }
    serve(load, load.slots().front());
    for (std::thread& thread : threads) {
      thread.join();
    }
    if (failure != nullptr) {
      std::rethrow_exception(failure);
    }
  }

 private:
  static void serve(Load& load, Load::Slot& slot) noexcept {
    while (load.begin(slot)) {
      slot.transfer.perform();
      if (!load.ended(slot)) {
        return;
      }
    }
  }
};

}  // namespace

std::unique_ptr<Driver> make_driver(const std::string& name, unsigned depth, std::string& why_not) {
  if (name == "threads") {
    return std::make_unique<ThreadsDriver>();
  }
  if (name == "aio") {
    io_context_t context = nullptr;
    if (io_setup(static_cast<int>(depth), &context) == 0) {
      return std::make_unique<AioDriver>(context);
    }
    why_not = probe_aio().why_not;
    why_not = why_not.empty() ? "io_setup refused a queue of " + std::to_string(depth) + " requests" : why_not;
    return nullptr;
  }
  auto driver = std::make_unique<UringDriver>();
  if (driver->set_up(depth) == 0) {
    return driver;
  }
  why_not = probe_uring().why_not;
  why_not = why_not.empty() ? "io_uring_setup refused a ring of " + std::to_string(depth) + " entries" : why_not;
  return nullptr;
}

}  // namespace dovetail::device
