#include "comm/rma/probe.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <exception>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/descriptor.hpp"
#include "comm/rma/connection.hpp"
#include "comm/rma/gaspi.hpp"
#include "comm/rma/message_library.hpp"
#include "comm/rma/program_memory.hpp"
#include "comm/rma/shared_memory.hpp"
#include "comm/rma/transport.hpp"

namespace dovetail::comm::rma {
namespace {

constexpr std::size_t most_version = 8192;  // of what MPI_Get_library_version says: no library has more

std::string why_no_shared_memory() {
  try {
    constexpr std::size_t page = 4096;
    const SharedMemory made = SharedMemory::create("dovetail probe", page);
    SharedMemory::map(made.descriptor(), page, "dovetail probe");
    const Listener listener;
    const base::Descriptor bell(eventfd(0, EFD_CLOEXEC));
    return bell.get() >= 0 ? "" : std::system_error(errno, std::generic_category(), "eventfd").what();
  } catch (const std::exception& error) {
    return error.what();
  }
}

// A child looks into this process: the other way round, the kernel allows more.
std::string why_no_copies_by_kernel() {
  const std::byte there{1};
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child == 0) {
    std::byte here{};
    const iovec local{.iov_base = &here, .iov_len = 1};
    const iovec remote{.iov_base = const_cast<std::byte*>(&there), .iov_len = 1};
    _exit(process_vm_readv(parent, &local, 1, &remote, 1, 0) == 1 ? 0 : errno);
  }
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status)) {
    return "it could not be tried: " + std::generic_category().message(errno);
  }
  return WEXITSTATUS(status) == 0 ? "" : text_of_refusal(WEXITSTATUS(status));
}

// Its name has the provider: which one it is depends on the machine.
TransportProbe probe_fabric() {
  try {
    return {.name = open_wanted_libfabric({})->name(), .works = true, .why_not = "", .where = {}};
  } catch (const std::exception& error) {
    return {.name = "libfabric", .works = false, .why_not = error.what(), .where = {}};
  }
}

TransportProbe probe(std::string name, std::string why_not) {
  const bool works = why_not.empty();
  return {.name = std::move(name), .works = works, .why_not = std::move(why_not), .where = {}};
}

// A child asks the library, which stays out of this process. @returns Whether it is there; `said`: its version, or why it is not
bool ask_message_library(const char* file, std::string& said) {
  std::array<int, 2> ends{-1, -1};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) {
    return false;
  }
  const base::Descriptor to_read(ends[0]);
  base::Descriptor to_write(ends[1]);
  const pid_t child = fork();
  if (child == 0) {
    std::array<char, most_version> text{};
    int length = 0;
    void* const library = dlopen(file, RTLD_LAZY | RTLD_LOCAL);
    using Ask = int (*)(char* text, int* length);
    const auto ask = library != nullptr ? reinterpret_cast<Ask>(dlsym(library, "MPI_Get_library_version")) : nullptr;
    const bool is_there = ask != nullptr && ask(text.data(), &length) == 0;
    const std::string_view told = is_there ? text.data() : dlerror();
    _exit(::write(to_write.get(), told.data(), told.size()) > 0 && is_there ? 0 : 1);
  }
  to_write = base::Descriptor(-1);
  std::array<char, most_version> text{};
  for (ssize_t length = 0; (length = ::read(to_read.get(), text.data(), text.size())) > 0;) {
    said.append(text.data(), static_cast<std::size_t>(length));
  }
  int status = 0;
  return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

// By the names that those have which programs are linked with.
void probe_message_libraries(std::vector<TransportProbe>& found) {
  std::string why_not;
  const std::size_t before = found.size();
  for (const char* file : {"libmpich.so.12", "libmpi.so.12", "libmpi.so.40"}) {
    std::string said;
    if (ask_message_library(file, said)) {
      found.push_back({.name = name_of_message_library(said),
                       .works = true,
                       .why_not = "",
                       .where = "in programs that initialise it with MPI_THREAD_MULTIPLE"});
    } else {
      why_not += (why_not.empty() ? "" : "; ") + said;
    }
  }
  if (found.size() == before) {
    found.push_back({.name = "MPI", .works = false, .why_not = why_not, .where = {}});
  }
}

TransportProbe probe_gaspi() {
  try {
    return {.name = name_of_message_library(Gaspi::get().name()),
            .works = true,
            .why_not = "",
            .where = "in programs that gaspi_run has started, or with DOVETAIL_FABRIC=gaspi where they initialise it"};
  } catch (const std::exception& error) {
    return {.name = "GASPI", .works = false, .why_not = error.what(), .where = {}};
  }
}

}  // namespace

std::vector<TransportProbe> probe_transports() {
  std::vector<TransportProbe> found{probe("shared memory", why_no_shared_memory()),
                                    probe("copies by the kernel", why_no_copies_by_kernel()), probe_fabric()};
  probe_message_libraries(found);
  found.push_back(probe_gaspi());
  return found;
}

}  // namespace dovetail::comm::rma
