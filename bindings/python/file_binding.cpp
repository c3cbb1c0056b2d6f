#include "file_binding.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <stdexcept>
#include <utility>
#include <vector>

#include "call.hpp"
#include "dovetail/prefetch.hpp"
#include "failure.hpp"
#include "file.hpp"
#include "memory.hpp"
#include "runtime.hpp"
#include "thread_state.hpp"
#include "transfer.hpp"
#include "whole_file.hpp"

namespace nb = nanobind;

namespace dovetail::python {
namespace {

std::span<std::byte> bytes_of(const Buffer& buffer) { return {static_cast<std::byte*>(buffer.data()), buffer.size()}; }

// A transfer that is not cut up needs no runtime.
Runtime* runtime_for(std::size_t bytes) { return bytes < smallest_cut ? nullptr : &current_or_default_runtime(); }

std::uint64_t checked_offset(std::int64_t offset) {
  if (offset < 0) {
    throw std::invalid_argument("the offset must not be negative, and is " + std::to_string(offset));
  }
  return static_cast<std::uint64_t>(offset);
}

std::size_t read(OpenedFile& self, nb::handle array, std::int64_t offset) {
  return translated([&] {
    const std::uint64_t from = checked_offset(offset);
    const Buffer buffer(array.ptr(), true, "pread");
    Runtime* const runtime = runtime_for(buffer.size());
    const Unlocked unlocked;
    return read_all(self.file(), bytes_of(buffer), from, runtime);
  });
}

std::size_t write(OpenedFile& self, nb::handle array, std::int64_t offset) {
  return translated([&] {
    const std::uint64_t to = checked_offset(offset);
    const Buffer buffer(array.ptr(), false, "pwrite");
    note_output(self.file().path());
    Runtime* const runtime = runtime_for(buffer.size());
    const Unlocked unlocked;
    return write_all(self.file(), bytes_of(buffer), to, runtime);
  });
}

std::size_t write_durably(OpenedFile& self, nb::handle array, std::int64_t offset) {
  return translated([&] {
    const std::uint64_t to = checked_offset(offset);
    const Buffer buffer(array.ptr(), false, "pwrite_durable");
    note_output(self.file().path());
    const Unlocked unlocked;
    return self.file().pwrite_durable(bytes_of(buffer), to);
  });
}

void prefetch_ranges(OpenedFile& self, const std::vector<std::pair<std::int64_t, std::int64_t>>& ranges) {
  translated([&] {
    std::vector<FileRange> translated_ranges;
    translated_ranges.reserve(ranges.size());
    for (const auto& [offset, length] : ranges) {
      if (length < 0) {
        throw std::invalid_argument("the length must not be negative, and is " + std::to_string(length));
      }
      translated_ranges.push_back({checked_offset(offset), static_cast<std::uint64_t>(length)});
    }
    const Unlocked without_interpreter;
    prefetch(self.file(), translated_ranges);
  });
}

template <class Action>
void unlocked(const Action& action) {
  translated([&] {
    const Unlocked without_interpreter;
    action();
  });
}

}  // namespace

void bind_file(nb::module_& module) {
  nb::class_<OpenedFile>(module, "OpenFile", nb::is_final(),
                         "An open file whose transfers pause the calling task, not its core.")
      .def("pread", &read, nb::arg("array"), nb::arg("offset") = 0,
           "Fills the array from the offset (bytes). Returns the bytes read: fewer only at the end of the file.")
      .def("pwrite", &write, nb::arg("array"), nb::arg("offset") = 0,
           "Writes the whole array at the offset (bytes). Returns the bytes written.")
      .def("pwrite_durable", &write_durably, nb::arg("array"), nb::arg("offset") = 0,
           "As pwrite and fdatasync in one go.")
      .def(
          "fsync", [](OpenedFile& self) { unlocked([&] { self.file().fsync(); }); }, "Makes data and metadata durable.")
      .def(
          "fdatasync", [](OpenedFile& self) { unlocked([&] { self.file().fdatasync(); }); },
          "Makes data durable, and the metadata needed to read it.")
      .def(
          "drain", [](OpenedFile& self) { unlocked([&] { self.file().drain(); }); },
          "Makes all that was written durable in the file itself, where others see it. Of a file that is not staged, "
          "as fsync.")
      .def(
          "truncate",
          [](OpenedFile& self, std::int64_t size) { unlocked([&] { self.file().truncate(checked_offset(size)); }); },
          nb::arg("size"), "Cuts or extends the file.")
      .def("prefetch", &prefetch_ranges, nb::arg("ranges"), "As dovetail.prefetch, for a list of (offset, length).")
      .def(
          "close", [](OpenedFile& self) { unlocked([&] { self.file().close(); }); },
          "Closes the file when the transfers in flight have ended.")
      .def(
          "fileno", [](OpenedFile& self) { return self.file().descriptor(); }, "The descriptor; -1 when closed.")
      .def_prop_ro(
          "size", [](OpenedFile& self) { return translated([&] { return self.file().size(); }); }, "Bytes in the file.")
      .def_prop_ro(
          "path", [](OpenedFile& self) { return self.file().path(); }, "The path it was opened with.")
      .def_prop_ro(
          "closed", [](OpenedFile& self) { return !self.file().is_open(); }, "Whether it has been closed.")
      .def_prop_ro(
          "direct", [](OpenedFile& self) { return self.file().direct(); },
          "Whether transfers may bypass the page cache.");
  module.def(
      "open_file",
      [](const std::string& path, int flags, unsigned mode, const std::string& direct, const std::string& urgency,
         bool staged, const std::string& tier) {
        return translated([&] {
          const Unlocked unlocked;
          return new OpenedFile(path, flags, mode, direct, urgency, staged, tier);
        });
      },
      nb::arg("path"), nb::arg("flags"), nb::arg("mode"), nb::arg("direct"), nb::arg("urgency"), nb::arg("staged"),
      nb::arg("tier"), nb::rv_policy::take_ownership, "Opens a file with the flags of os.open.");
  module.def(
      "read_file",
      [](const std::string& path) {
        return translated([&] { return nb::steal<nb::bytes>(read_whole_file(path).release()); });
      },
      nb::arg("path"), "The bytes of a file.");
}

}  // namespace dovetail::python
