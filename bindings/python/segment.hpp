// A group and its segments as objects of Python. A segment is a buffer: arrays of its memory keep it.
#pragma once

#include <Python.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "dovetail/rma_inbox.hpp"
#include "held.hpp"

namespace nanobind {
class module_;
class handle;
}  // namespace nanobind

namespace dovetail::python {

/// Arrays of the program's own that are segments, by number. Others may write into them until the segment has ended, or the group.
using UsedMemory = std::map<std::uint8_t, Held>;

/// What Python has of a group: a segment or an inbox, for as long as the group has not been ended.
template <class Part>
class Place {
 public:
  Place(std::shared_ptr<UsedMemory> used, Part part) : used_(std::move(used)), part_(std::move(part)) {}
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;
  ~Place();
  /// @throws std::logic_error after its end, or the group's
  const Part& get() const;
  const std::optional<Part>& part() const noexcept { return part_; }
  /// Kept with each copy of the part.
  const std::shared_ptr<UsedMemory>& used() const noexcept { return used_; }
  /// Gives up the part, which is added to `parts`, if there is one.
  void move_to(std::vector<Part>& parts);
  /// The part has ended, before the group.
  void end();

  std::size_t buffers = 0;  ///< Of a segment: how many are in use.
  /// Why nothing can be done with it, if it has no part; and of a segment whether it is about to end.
  const char* why_ended = nullptr;

 private:
  std::shared_ptr<UsedMemory> used_;  // goes after the part
  std::optional<Part> part_;
};
using SegmentPlace = Place<rma::Segment>;
using InboxPlace = Place<rma::Inbox>;

/// All under the interpreter's lock.
class GroupObject {
 public:
  explicit GroupObject(rma::Group group) : group_(std::move(group)) {}
  GroupObject(const GroupObject&) = delete;
  GroupObject& operator=(const GroupObject&) = delete;
  ~GroupObject();
  /// @throws std::logic_error after `end`
  const rma::Group& get() const;
  /// Kept with each copy of the group and of its segments.
  const std::shared_ptr<UsedMemory>& used() const noexcept { return used_; }
  /// `memory`: a view of what the segment uses; nothing if it was allocated.
  std::shared_ptr<SegmentPlace> keep(rma::Segment segment, Held memory = {});
  std::shared_ptr<InboxPlace> keep(rma::Inbox inbox);
  /// Gives up the group, its segments and inboxes. @throws nanobind::buffer_error if an array of one is in use
  void end();

 private:
  std::shared_ptr<UsedMemory> used_ = std::make_shared<UsedMemory>();  // goes after the group
  std::optional<rma::Group> group_;
  std::vector<std::weak_ptr<SegmentPlace>> places_;
  std::vector<std::weak_ptr<InboxPlace>> inboxes_;
};

class SegmentObject {
 public:
  explicit SegmentObject(std::shared_ptr<SegmentPlace> place) noexcept : place_(std::move(place)) {}
  /// @throws std::logic_error after its group's `end`
  const rma::Segment& get() const { return place_->get(); }
  /// Kept with each copy of the segment.
  const std::shared_ptr<UsedMemory>& used() const noexcept { return place_->used(); }
  /// By all processes. `objection`: why this one cannot; an array that is in use is one, too. @throws nanobind::buffer_error then
  void end(const std::string& objection);

  static int get_buffer(PyObject* self, Py_buffer* view, int flags);
  static void release_buffer(PyObject* self, Py_buffer* view);

 private:
  std::shared_ptr<SegmentPlace> place_;
};

/// The number of a segment, which is given by itself or as a number.
std::uint8_t segment_number(nanobind::handle segment);

/// Whether the group has ranks on other nodes. Calls for these suspend the task, or block; the interpreter is for others meanwhile.
bool reaches_other_nodes() noexcept;

/// The classes.
void bind_segment(nanobind::module_& module);

}  // namespace dovetail::python
