#include "segment.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <limits>
#include <stdexcept>
#include <string>

#include "failure.hpp"
#include "memory.hpp"
#include "number.hpp"
#include "seconds.hpp"
#include "thread_state.hpp"
#include "waiting_task.hpp"

namespace nb = nanobind;

namespace dovetail::python {
namespace {

constexpr const char* has_been_ended = "this group has been ended, and its segments with it";
constexpr const char* segment_has_ended = "this segment has been ended";
constexpr const char* segment_ends = "this segment is about to end";
constexpr std::int64_t usual_notifications = 65536;
constexpr std::chrono::milliseconds longest_limit = std::chrono::hours(24);

std::atomic<bool> has_other_nodes{false};

bool is_on_several_nodes(const rma::Group& group) {
  for (int rank = 0; rank < group.size(); ++rank) {
    if (!group.is_on_this_node(rank)) {
      return true;
    }
  }
  return false;
}

std::chrono::milliseconds limit_of(double seconds) {
  return std::min(std::chrono::ceil<std::chrono::milliseconds>(nanoseconds_of(seconds)), longest_limit);
}

GroupObject* start_group(double timeout, double silence_timeout) {
  return translated([&] {
    const rma::GroupOptions options{.start_timeout = limit_of(timeout), .silence_timeout = limit_of(silence_timeout)};
    const Unlocked unlocked;
    rma::Group begun = rma::Group::start(options);
    has_other_nodes.store(is_on_several_nodes(begun), std::memory_order_relaxed);
    return new GroupObject(std::move(begun));
  });
}

SegmentObject* allocate_segment(GroupObject& group, nb::handle bytes, nb::handle notifications) {
  return translated([&] {
    const auto size =
        static_cast<std::size_t>(number_of(bytes.ptr(), "bytes", 0, std::numeric_limits<std::int64_t>::max()));
    const auto count = number_of<std::uint32_t>(notifications.ptr(), "notifications");
    const rma::Group its = group.get();
    const rma::Segment made = [&] {
      const Unlocked unlocked;
      return rma::Segment::allocate(its, size, {.notifications = count});
    }();
    return new SegmentObject(group.keep(made));
  });
}

SegmentObject* use_memory(GroupObject& group, nb::handle memory, nb::handle notifications) {
  return translated([&] {
    const auto count = number_of<std::uint32_t>(notifications.ptr(), "notifications");
    const Buffer buffer(memory.ptr(), true, "Segment.use");
    Held view = Held::adopt(PyMemoryView_FromObject(memory.ptr()));
    const rma::Group its = group.get();
    const rma::Segment made = [&] {
      const Unlocked unlocked;
      return rma::Segment::use(its, {static_cast<std::byte*>(buffer.data()), buffer.size()}, {.notifications = count});
    }();
    return new SegmentObject(group.keep(made, std::move(view)));
  });
}

// As NumPy sees it. An incomplete last item is not part of it. Of NumPy's ways, only this one keeps the buffer in use, and it takes no empty one.
nb::object array_of(nb::handle self, nb::handle type) {
  const nb::module_ numpy = nb::module_::import_("numpy");
  const nb::object item = numpy.attr("dtype")(type);
  const auto bytes = nb::cast<std::size_t>(item.attr("itemsize"));
  const std::size_t count = bytes > 0 ? nb::inst_ptr<SegmentObject>(self)->get().size() / bytes : 0;
  return count == 0 ? numpy.attr("empty")(0, item) : numpy.attr("frombuffer")(self, item, count);
}

// The end of the group's last owner waits for other nodes. It also waits for a thread that may be about to call the callback of a future. So other
// threads of the program have the interpreter meanwhile.
template <class Owners>
void give_up(Owners& owners) {
  Owners given_up = std::exchange(owners, Owners());
  const Unlocked unlocked;
  Owners(std::move(given_up));
}

}  // namespace

template <class Part>
Place<Part>::~Place() {
  give_up(part_);
}

template <class Part>
const Part& Place<Part>::get() const {
  if (!part_) {
    throw std::logic_error(why_ended);
  }
  return *part_;
}

template <class Part>
void Place<Part>::move_to(std::vector<Part>& parts) {
  if (part_) {
    parts.push_back(*std::exchange(part_, std::nullopt));
    used_.reset();
    why_ended = has_been_ended;
  }
}

template <class Part>
void Place<Part>::end() {
  part_.reset();
  used_.reset();
  why_ended = segment_has_ended;
}

template class Place<rma::Segment>;
template class Place<rma::Inbox>;

GroupObject::~GroupObject() { give_up(group_); }

bool reaches_other_nodes() noexcept { return has_other_nodes.load(std::memory_order_relaxed); }

const rma::Group& GroupObject::get() const {
  if (!group_) {
    throw std::logic_error(has_been_ended);
  }
  return *group_;
}

std::shared_ptr<SegmentPlace> GroupObject::keep(rma::Segment segment, Held memory) {
  if (memory) {
    (*used_)[segment.id()] = std::move(memory);
  }
  auto place = std::make_shared<SegmentPlace>(used_, std::move(segment));
  places_.push_back(place);
  return place;
}

std::shared_ptr<InboxPlace> GroupObject::keep(rma::Inbox inbox) {
  auto place = std::make_shared<InboxPlace>(used_, std::move(inbox));
  inboxes_.push_back(place);
  return place;
}

namespace {

// Those that Python still has are nothing's any more.
template <class Part>
std::vector<Part> take_all(std::vector<std::weak_ptr<Place<Part>>>& places) {
  std::vector<Part> parts;
  for (const auto& weak : std::exchange(places, {})) {
    if (const auto place = weak.lock()) {
      place->move_to(parts);
    }
  }
  return parts;
}

}  // namespace

void GroupObject::end() {
  for (const auto& weak : places_) {
    const auto place = weak.lock();
    if (place != nullptr && place->buffers > 0) {
      throw nb::buffer_error("the group cannot be ended: arrays of its segments are in use");
    }
  }
  auto segments = take_all(places_);
  auto inboxes = take_all(inboxes_);
  give_up(inboxes);
  give_up(segments);
  give_up(group_);
  used_.reset();  // a wait that is under way may keep it, and the group
}

void SegmentObject::end(const std::string& objection) {
  const std::shared_ptr<SegmentPlace> place = place_;
  rma::Segment segment = place->get();
  const std::uint8_t number = segment.id();
  const std::shared_ptr<UsedMemory> used = place->used();
  const bool is_in_use = place->buffers > 0;
  const auto finish = [&] {
    place->why_ended = nullptr;
    if (segment.is_ended()) {
      place->end();
      used->erase(number);
    }
  };
  place->why_ended = segment_ends;
  try {
    const Unlocked unlocked;
    segment.end(is_in_use ? "arrays of it are in use" : objection);
  } catch (const std::exception& error) {
    finish();
    if (is_in_use && !segment.is_ended()) {
      throw nb::buffer_error(error.what());
    }
    throw;
  }
  finish();
}

int SegmentObject::get_buffer(PyObject* self, Py_buffer* view, int flags) {
  static std::byte nothing{};
  view->obj = nullptr;
  if (!nb::inst_ready(self)) {
    PyErr_SetString(PyExc_BufferError, "this is no segment");
    return -1;
  }
  SegmentPlace& place = *nb::inst_ptr<SegmentObject>(self)->place_;
  if (place.why_ended != nullptr) {
    PyErr_SetString(PyExc_BufferError, place.why_ended);
    return -1;
  }
  const rma::Segment& segment = *place.part();
  void* const data = segment.data() != nullptr ? segment.data() : &nothing;
  if (PyBuffer_FillInfo(view, self, data, static_cast<Py_ssize_t>(segment.size()), 0, flags) != 0) {
    return -1;
  }
  ++place.buffers;
  return 0;
}

void SegmentObject::release_buffer(PyObject* self, Py_buffer* /*view*/) {
  --nb::inst_ptr<SegmentObject>(self)->place_->buffers;
}

std::uint8_t segment_number(nb::handle segment) {
  if (nb::isinstance<SegmentObject>(segment)) {
    return nb::inst_ptr<SegmentObject>(segment)->get().id();
  }
  return number_of<std::uint8_t>(segment.ptr(), "segment");
}

void bind_segment(nb::module_& module) {
  nb::class_<GroupObject>(module, "Group", nb::is_final(), "The processes of the program.")
      .def_static("start", &start_group, nb::arg("timeout") = 60.0, nb::arg("silence_timeout") = 60.0,
                  nb::rv_policy::take_ownership,
                  "By all processes at the same time; blocks until all have come, for at most `timeout` seconds. A "
                  "process on another node has died when its node has not answered for `silence_timeout` seconds.")
      .def_prop_ro(
          "rank", [](const GroupObject& self) { return translated([&] { return self.get().rank(); }); },
          "Of this process, from 0.")
      .def_prop_ro(
          "size", [](const GroupObject& self) { return translated([&] { return self.get().size(); }); },
          "How many processes there are.")
      .def(
          "transport",
          [](const GroupObject& self, nb::handle rank) {
            return translated([&] { return self.get().transport(number_of<int>(rank.ptr(), "rank")); });
          },
          nb::arg("rank"), "How data gets to a rank.")
      .def(
          "barrier",
          [](const GroupObject& self) {
            translated([&] { in_waiting_task([used = self.used(), group = self.get()] { group.barrier(); }); });
          },
          "Returns when all processes have called it.")
      .def(
          "end", [](GroupObject& self) { translated([&] { self.end(); }); }, "Gives up the group and its segments.")
      .def("__enter__", [](nb::object self) { return self; })
      .def("__exit__", [](GroupObject& self, const nb::args&) { translated([&] { self.end(); }); });
  static PyType_Slot slots[] = {{Py_bf_getbuffer, reinterpret_cast<void*>(&SegmentObject::get_buffer)},
                                {Py_bf_releasebuffer, reinterpret_cast<void*>(&SegmentObject::release_buffer)},
                                {0, nullptr}};
  nb::class_<SegmentObject>(module, "Segment", nb::is_final(), nb::type_slots(slots),
                            "Memory of this process into which the others write, and its notifications.")
      .def_static("allocate", &allocate_segment, nb::arg("group"), nb::arg("bytes"),
                  nb::arg("notifications") = nb::int_(usual_notifications), nb::rv_policy::take_ownership,
                  "Memory of zeros. By all processes at the same time, in the same order; each chooses its size.")
      .def_static(
          "use", &use_memory, nb::arg("group"), nb::arg("memory"),
          nb::arg("notifications") = nb::int_(usual_notifications), nb::rv_policy::take_ownership,
          "The same with an array of the program's own, which is kept until the segment has ended, or the group.")
      .def(
          "array", [](nb::handle self, nb::handle type) { return translated([&] { return array_of(self, type); }); },
          nb::arg("dtype") = nb::str("u1"), "The memory as a NumPy array.")
      .def(
          "end", [](SegmentObject& self, const std::string& objection) { translated([&] { self.end(objection); }); },
          nb::arg("objection") = "",
          "By all processes at the same time, in the same order as they begin and end others. What tasks have begun to "
          "write or read is waited for, waits for its notifications fail, and its memory is gone. A rank where an "
          "array of it is in use (`BufferError`), or with an `objection`, keeps all from it (`RuntimeError`).")
      .def_prop_ro(
          "id", [](const SegmentObject& self) { return translated([&] { return self.get().id(); }); },
          "The same in all processes.")
      .def_prop_ro(
          "size", [](const SegmentObject& self) { return translated([&] { return self.get().size(); }); }, "In bytes.")
      .def_prop_ro(
          "notifications",
          [](const SegmentObject& self) { return translated([&] { return self.get().notifications(); }); },
          "How many it has in this process.");
}

}  // namespace dovetail::python
