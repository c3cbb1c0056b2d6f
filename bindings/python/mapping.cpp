#include "mapping.hpp"

#include <fcntl.h>
#include <nanobind/nanobind.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <system_error>

#include "failure.hpp"

namespace nb = nanobind;

namespace dovetail::python {
namespace {

// Of an entry of /proc/self/pagemap, one for each page.
constexpr std::uint64_t page_present = std::uint64_t{1} << 63U;
constexpr std::uint64_t page_swapped = std::uint64_t{1} << 62U;
constexpr std::uint64_t page_of_file = std::uint64_t{1} << 61U;

// Whether any of the pages is no longer the file's. A page of a private mapping that was written to is anonymous from then on.
bool has_private_pages(std::uintptr_t begin, std::uintptr_t end) {
  const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  const int pagemap = ::open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
  if (pagemap < 0) {
    return true;
  }
  std::array<std::uint64_t, 4096> entries{};
  bool found = false;
  for (std::uintptr_t number = begin / page; !found && number < (end + page - 1) / page;) {
    const std::size_t wanted = std::min<std::size_t>(entries.size(), (end + page - 1) / page - number);
    const ssize_t bytes = ::pread(pagemap, entries.data(), wanted * sizeof(std::uint64_t),
                                  static_cast<off_t>(number * sizeof(std::uint64_t)));
    if (bytes < static_cast<ssize_t>(sizeof(std::uint64_t))) {
      found = true;  // not known, so not to be relied upon
      break;
    }
    const std::size_t count = static_cast<std::size_t>(bytes) / sizeof(std::uint64_t);
    found = std::any_of(entries.begin(), entries.begin() + static_cast<std::ptrdiff_t>(count), [](std::uint64_t entry) {
      return (entry & (page_present | page_swapped)) != 0 && (entry & page_of_file) == 0;
    });
    number += count;
  }
  ::close(pagemap);
  return found;
}

class Mapping {
 public:
  Mapping(int descriptor, std::size_t size, bool shared) : size_(size), shared_(shared) {
    void* const address =
        ::mmap(nullptr, size, PROT_READ | PROT_WRITE, shared ? MAP_SHARED : MAP_PRIVATE, descriptor, 0);
    if (address == MAP_FAILED) {
      throw std::system_error(errno, std::generic_category(), "mapping an array of " + std::to_string(size) + " bytes");
    }
    begin_ = reinterpret_cast<std::uintptr_t>(address);
  }
  ~Mapping() { ::munmap(reinterpret_cast<void*>(begin_), size_); }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;

  std::uintptr_t address() const noexcept { return begin_; }
  std::size_t size() const noexcept { return size_; }
  bool unchanged(std::size_t offset, std::size_t length) const {
    if (shared_ || offset > size_ || length > size_ - offset) {
      return false;
    }
    const nb::gil_scoped_release others_may_run;
    return !has_private_pages(begin_ + offset, begin_ + offset + length);
  }

 private:
  std::uintptr_t begin_ = 0;
  std::size_t size_;
  bool shared_;
};

}  // namespace

void bind_mapping(nb::module_& module) {
  nb::class_<Mapping>(module, "Mapping", "A file in memory, mapped as long as this object lives.")
      .def(
          "__init__",
          [](Mapping* self, int descriptor, std::size_t size, bool shared) {
            translated([&] { new (self) Mapping(descriptor, size, shared); });
          },
          nb::arg("descriptor"), nb::arg("size"), nb::arg("shared"))
      .def_prop_ro("address", &Mapping::address, "Of its first byte.")
      .def_prop_ro("size", &Mapping::size, "In bytes.")
      .def("unchanged", &Mapping::unchanged, nb::arg("offset"), nb::arg("length"),
           "Whether nothing was written to these bytes of a private mapping, so that the file has them. False if that "
           "is not known.");
}

}  // namespace dovetail::python
