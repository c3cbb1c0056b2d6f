#include "comm/rma/probe.hpp"

#include <sys/eventfd.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <exception>
#include <system_error>
#include <utility>

#include "base/descriptor.hpp"
#include "comm/rma/connection.hpp"
#include "comm/rma/fabric_endpoint.hpp"
#include "comm/rma/program_memory.hpp"
#include "comm/rma/shared_memory.hpp"

namespace dovetail::comm::rma {
namespace {

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
    return {.name = FabricEndpoint::open(FabricOptions::from_environment())->name(), .works = true, .why_not = ""};
  } catch (const std::exception& error) {
    return {.name = "libfabric", .works = false, .why_not = error.what()};
  }
}

TransportProbe probe(std::string name, std::string why_not) {
  const bool works = why_not.empty();
  return {.name = std::move(name), .works = works, .why_not = std::move(why_not)};
}

}  // namespace

std::vector<TransportProbe> probe_transports() {
  return {probe("shared memory", why_no_shared_memory()), probe("copies by the kernel", why_no_copies_by_kernel()),
          probe_fabric()};
}

}  // namespace dovetail::comm::rma
