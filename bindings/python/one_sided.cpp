#include "one_sided.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "dovetail/detail/body.hpp"
#include "failure.hpp"
#include "held.hpp"
#include "inbox.hpp"
#include "memory.hpp"
#include "number.hpp"
#include "segment.hpp"
#include "tasking/interrupt_look.hpp"
#include "tasking/pause.hpp"
#include "thread_state.hpp"
#include "waiting_task.hpp"

namespace nb = nanobind;

namespace dovetail::python {
namespace {

// From here on a copy takes longer than giving the interpreter away and asking for it again.
constexpr std::size_t bytes_without_interpreter = std::size_t{256} << 10;

std::uint64_t offset_of(nb::handle offset) {
  return static_cast<std::uint64_t>(number_of(offset.ptr(), "offset", 0, std::numeric_limits<std::int64_t>::max()));
}
int rank_of(nb::handle rank) { return number_of<std::int32_t>(rank.ptr(), "rank"); }
int source_of(nb::handle source) {
  return source.is_none() ? rma::anyone
                          : static_cast<int>(number_of(source.ptr(), "source", 0, std::numeric_limits<int>::max()));
}
rma::Remote place_of(nb::handle rank, nb::handle segment, nb::handle offset) {
  return {.rank = rank_of(rank), .segment = segment_number(segment), .offset = offset_of(offset)};
}
rma::Notify notification_of(nb::handle id, nb::handle value) {
  return {.id = number_of<std::uint32_t>(id.ptr(), "id"), .value = number_of<std::uint32_t>(value.ptr(), "value")};
}
std::span<std::byte> span_of(const Buffer& buffer) { return {static_cast<std::byte*>(buffer.data()), buffer.size()}; }

// A view keeps the memory in its place until the task has completed.
void keep_until_completed(nb::handle data) {
  if (detail::Task* const task = tasking::current_task()) {
    const auto view = std::make_shared<Held>(Held::adopt(PyMemoryView_FromObject(data.ptr())));
    std::function<void()> forget = [view] { *view = Held(); };
    detail::call_when_completed(task, forget);
  }
}

// Of another node: what is larger is bound to the task, which reads the memory until it has completed.
void keep_what_is_written(nb::handle data, std::size_t bytes) {
  if (bytes > rma::most_copied_bytes) {
    keep_until_completed(data);
  }
}

// Outside of tasks a notification blocks where there is no room for it.
template <class Call>
void move_data(std::size_t bytes, bool notifies, const Call& call) {
  const bool gives_interpreter =
      bytes >= bytes_without_interpreter || reaches_other_nodes() || (notifies && tasking::current_task() == nullptr);
  if (gives_interpreter) {
    const Unlocked unlocked;
    call();
  } else {
    call();
  }
}

// After Ctrl-C, what was to be written stays where it is for good: it may still be on its way.
template <class Memory, class Call>
void write_data(std::unique_ptr<Memory> memory, bool notifies, const Call& call) {
  try {
    move_data(memory->size(), notifies, [&] { call(*memory); });
  } catch (const tasking::WaitInterrupted&) {
    [[maybe_unused]] const auto* const kept = memory.release();
    throw;
  }
}

void write_to_rank(nb::handle data, nb::handle rank, nb::handle segment, nb::handle offset) {
  translated([&] {
    auto memory = std::make_unique<Buffer>(data.ptr(), false, "write");
    const rma::Remote to = place_of(rank, segment, offset);
    keep_what_is_written(data, memory->size());
    write_data(std::move(memory), false, [&](const Buffer& buffer) { rma::write(span_of(buffer), to); });
  });
}

void read_from_rank(nb::handle data, nb::handle rank, nb::handle segment, nb::handle offset) {
  translated([&] {
    const Buffer buffer(data.ptr(), true, "read");
    const rma::Remote from = place_of(rank, segment, offset);
    move_data(buffer.size(), false, [&] { rma::read(span_of(buffer), from); });
  });
}

void notify_rank(nb::handle rank, nb::handle segment, nb::handle id, nb::handle value) {
  translated([&] {
    const int to = rank_of(rank);
    const std::uint8_t number = segment_number(segment);
    const rma::Notify notification = notification_of(id, value);
    move_data(0, true, [&] { rma::notify(to, number, notification); });
  });
}

void write_and_notify(nb::handle data, nb::handle rank, nb::handle segment, nb::handle offset, nb::handle id,
                      nb::handle value) {
  translated([&] {
    auto memory = std::make_unique<Buffer>(data.ptr(), false, "write_notify");
    const rma::Remote to = place_of(rank, segment, offset);
    const rma::Notify notification = notification_of(id, value);
    keep_what_is_written(data, memory->size());
    write_data(std::move(memory), true,
               [&](const Buffer& buffer) { rma::write_notify(span_of(buffer), to, notification); });
  });
}

// Pairs of an array and a place: (array, rank, segment, offset).
class Parts {
 public:
  Parts(nb::handle parts, bool writable, const char* use) {
    for (const nb::handle part : nb::iter(parts)) {
      if (!nb::isinstance<nb::tuple>(part) || nb::len(part) != 4) {
        throw nb::type_error((std::string(use) + " takes tuples of array, rank, segment and offset").c_str());
      }
      const nb::object data = part[0];
      buffers_.push_back(std::make_unique<Buffer>(data.ptr(), writable, use));
      bytes_ += buffers_.back()->size();
      const nb::object rank = part[1];
      const nb::object segment = part[2];
      const nb::object offset = part[3];
      if (!writable) {
        keep_what_is_written(data, buffers_.back()->size());
      }
      transfers_.push_back({span_of(*buffers_.back()), place_of(rank, segment, offset)});
    }
  }
  std::span<const rma::Transfer> transfers() const noexcept { return transfers_; }
  std::size_t size() const noexcept { return bytes_; }

 private:
  std::vector<std::unique_ptr<Buffer>> buffers_;
  std::vector<rma::Transfer> transfers_;
  std::size_t bytes_ = 0;
};

void write_parts(nb::handle list) {
  translated([&] {
    write_data(std::make_unique<Parts>(list, false, "write_list"), false,
               [](const Parts& parts) { rma::write_list(parts.transfers()); });
  });
}

void read_parts(nb::handle list) {
  translated([&] {
    const Parts parts(list, true, "read_list");
    move_data(parts.size(), false, [&] { rma::read_list(parts.transfers()); });
  });
}

void write_parts_and_notify(nb::handle list, nb::handle id, nb::handle value) {
  translated([&] {
    auto memory = std::make_unique<Parts>(list, false, "write_list_notify");
    const rma::Notify notification = notification_of(id, value);
    write_data(std::move(memory), true,
               [&](const Parts& parts) { rma::write_list_notify(parts.transfers(), notification); });
  });
}

// What a bound wait writes its values into, as a view that keeps the memory in its place until the task has completed.
std::uint32_t* keep_values(nb::handle values, std::uint32_t count) {
  if (values.is_none()) {
    return nullptr;
  }
  const Buffer buffer(values.ptr(), true, "values");
  const bool is_aligned = reinterpret_cast<std::uintptr_t>(buffer.data()) % alignof(std::uint32_t) == 0;
  if (buffer.size() / sizeof(std::uint32_t) < count || !is_aligned) {
    throw nb::value_error(("values needs an array of " + std::to_string(count) + " numbers of type uint32").c_str());
  }
  keep_until_completed(values);
  return static_cast<std::uint32_t*>(buffer.data());
}

void await_notifications(const SegmentObject& segment, nb::handle first, nb::handle count, nb::handle values,
                         nb::handle source) {
  translated([&] {
    const auto begin = number_of<std::uint32_t>(first.ptr(), "id");
    const auto several = number_of<std::uint32_t>(count.ptr(), "count");
    const int from = source_of(source);
    rma::notify_awaitall(segment.get(), begin, several, keep_values(values, several), from);
  });
}

std::uint32_t wait_for_notification(const SegmentObject& segment, nb::handle id, nb::handle source) {
  return translated([&] {
    const auto number = number_of<std::uint32_t>(id.ptr(), "id");
    return in_waiting_task([used = segment.used(), its = segment.get(), number, from = source_of(source)] {
      return rma::notify_wait(its, number, from);
    });
  });
}

nb::tuple wait_for_any_notification(const SegmentObject& segment, nb::handle first, nb::handle count,
                                    nb::handle source) {
  return translated([&] {
    const auto begin = number_of<std::uint32_t>(first.ptr(), "first");
    const auto several = number_of<std::uint32_t>(count.ptr(), "count");
    const rma::Notified found =
        in_waiting_task([used = segment.used(), its = segment.get(), begin, several, from = source_of(source)] {
          return rma::notify_wait_any(its, begin, several, from);
        });
    return nb::make_tuple(found.id, found.value);
  });
}

std::optional<std::uint32_t> take_notification(const SegmentObject& segment, nb::handle id) {
  return translated([&] { return rma::notify_test(segment.get(), number_of<std::uint32_t>(id.ptr(), "id")); });
}

std::int64_t add_at_rank(nb::handle rank, nb::handle segment, nb::handle offset, nb::handle added) {
  return translated([&] {
    const auto number = number_of<std::int64_t>(added.ptr(), "added");
    const rma::Remote at = place_of(rank, segment, offset);
    std::uint64_t there = 0;
    move_data(0, false, [&] { there = rma::fetch_add(at, static_cast<std::uint64_t>(number)); });
    return static_cast<std::int64_t>(there);
  });
}

std::int64_t swap_at_rank(nb::handle rank, nb::handle segment, nb::handle offset, nb::handle expected,
                          nb::handle wanted) {
  return translated([&] {
    const auto before = number_of<std::int64_t>(expected.ptr(), "expected");
    const auto after = number_of<std::int64_t>(wanted.ptr(), "wanted");
    const rma::Remote at = place_of(rank, segment, offset);
    std::uint64_t there = 0;
    move_data(0, false, [&] {
      there = rma::compare_swap(at, static_cast<std::uint64_t>(before), static_cast<std::uint64_t>(after));
    });
    return static_cast<std::int64_t>(there);
  });
}

}  // namespace

void bind_one_sided(nb::module_& module) {
  bind_segment(module);
  bind_inbox(module);
  const nb::int_ zero(0);
  const nb::int_ one(1);
  module.def("rma_write", &write_to_rank, nb::arg("array"), nb::arg("rank"), nb::arg("segment"),
             nb::arg("offset") = zero, "Writes the array to a place in the memory of a rank.");
  module.def("rma_read", &read_from_rank, nb::arg("array"), nb::arg("rank"), nb::arg("segment"),
             nb::arg("offset") = zero, "Fills the array from a place in the memory of a rank.");
  module.def("rma_write_list", &write_parts, nb::arg("parts"), "Writes tuples of array, rank, segment and offset.");
  module.def("rma_read_list", &read_parts, nb::arg("parts"), "Reads tuples of array, rank, segment and offset.");
  module.def("rma_notify", &notify_rank, nb::arg("rank"), nb::arg("segment"), nb::arg("id"), nb::arg("value") = one,
             "Notifies a rank.");
  module.def("rma_write_notify", &write_and_notify, nb::arg("array"), nb::arg("rank"), nb::arg("segment"),
             nb::arg("offset") = zero, nb::kw_only(), nb::arg("id"), nb::arg("value") = one,
             "Writes the array, and notifies the rank.");
  module.def("rma_write_list_notify", &write_parts_and_notify, nb::arg("parts"), nb::kw_only(), nb::arg("id"),
             nb::arg("value") = one, "Writes tuples of array, rank, segment and offset, and notifies that rank.");
  module.def("rma_notify_await", &await_notifications, nb::arg("segment"), nb::arg("first"), nb::arg("count"),
             nb::arg("values").none(), nb::arg("source").none(),
             "The task completes no earlier than these notifications have come.");
  module.def("rma_notify_wait", &wait_for_notification, nb::arg("segment"), nb::arg("id"),
             nb::arg("source").none() = nb::none(), "Pauses the task until the notification has come.");
  module.def("rma_notify_wait_any", &wait_for_any_notification, nb::arg("segment"), nb::arg("first"), nb::arg("count"),
             nb::arg("source").none() = nb::none(), "Pauses the task until one of these notifications has come.");
  module.def("rma_notify_test", &take_notification, nb::arg("segment"), nb::arg("id"),
             "Takes a notification, if it has come.");
  module.def("rma_fetch_add", &add_at_rank, nb::arg("rank"), nb::arg("segment"), nb::arg("offset"), nb::arg("added"),
             "Adds to a number in the memory of a rank.");
  module.def("rma_compare_swap", &swap_at_rank, nb::arg("rank"), nb::arg("segment"), nb::arg("offset"),
             nb::arg("expected"), nb::arg("wanted"), "Replaces a number in the memory of a rank.");
}

}  // namespace dovetail::python
