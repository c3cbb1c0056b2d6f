#include "comm/rma/program_memory.hpp"

#include <poll.h>
#include <sys/uio.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <system_error>

#include "comm/rma/group.hpp"
#include "dovetail/rma_error.hpp"

namespace dovetail::comm::rma {
namespace {

using Copy = ssize_t (*)(pid_t, const iovec*, unsigned long, const iovec*, unsigned long, unsigned long);

iovec vector_at(const std::byte* data, std::size_t size) noexcept {
  return {.iov_base = const_cast<std::byte*>(data), .iov_len = size};
}

// The identifier of a process that has ended may be another one's some day, and a program that was replaced by another has other memory.
bool has_ended(const Peer& peer) noexcept {
  std::array<pollfd, 2> looks{pollfd{.fd = peer.connection->life(), .events = POLLIN, .revents = 0},
                              pollfd{.fd = peer.connection->descriptor(), .events = POLLRDHUP, .revents = 0}};
  return poll(looks.data(), looks.size(), 0) > 0;
}

[[noreturn]] void fail(int error, const ProgramMemory& place, const char* done, std::uint64_t first,
                       std::uint64_t end) {
  if (error == ESRCH || has_ended(place.peer)) {
    throw dovetail::rma::Error("nothing can be " + std::string(done) + ": " + text_of_end(place.rank, place.peer),
                               place.rank);
  }
  throw std::system_error(
      error, std::generic_category(),
      "bytes " + std::to_string(first) + " to " + std::to_string(end) + " of segment " + std::to_string(place.segment) +
          " of rank " + std::to_string(place.rank) + " cannot be " + done +
          (error == EFAULT ? ", since that memory of the program's own, or the memory here, is not mapped (any more)"
                           : ""));
}

template <Copy copy>
void copy_all(const ProgramMemory& place, const char* done, const std::byte* here, std::size_t size) {
  if (size == 0) {
    return;
  }
  if (place.peer.connection == nullptr) {  // this process
    void* const to = copy == &process_vm_writev ? place.there : const_cast<std::byte*>(here);
    std::memcpy(to, copy == &process_vm_writev ? here : place.there, size);
    return;
  }
  if (has_ended(place.peer)) {
    fail(ESRCH, place, done, place.offset, place.offset + size);
  }
  for (std::size_t copied = 0; copied < size;) {
    const iovec local = vector_at(here + copied, size - copied);
    const iovec remote = vector_at(place.there + copied, size - copied);
    const ssize_t count = copy(place.peer.connection->process(), &local, 1, &remote, 1, 0);
    if (count <= 0) {
      fail(count < 0 ? errno : EFAULT, place, done, place.offset + copied, place.offset + size);
    }
    copied += static_cast<std::size_t>(
        count);  // fewer: up to the first page that is not there, or what the kernel does at once
  }
}

}  // namespace

void write_program_memory(const ProgramMemory& to, std::span<const std::byte> data) {
  copy_all<&process_vm_writev>(to, "sent", data.data(), data.size());
}

void read_program_memory(const ProgramMemory& from, std::span<std::byte> data) {
  copy_all<&process_vm_readv>(from, "read", data.data(), data.size());
}

int try_program_memory(const Peer& peer, const std::byte* there, std::uint64_t bytes) noexcept {
  std::byte here{};
  const iovec local = vector_at(&here, 1);
  for (const std::byte* const end : {there, there + bytes - 1}) {
    const iovec remote = vector_at(end, 1);
    if (process_vm_readv(peer.connection->process(), &local, 1, &remote, 1, 0) != 1) {
      return errno;
    }
  }
  return 0;
}

std::string text_of_refusal(int error) {
  const std::string otherwise = ". rma::Segment::allocate needs no such permission";
  if (error == EPERM || error == EACCES) {
    int scope = 0;
    if (std::ifstream("/proc/sys/kernel/yama/ptrace_scope") >> scope && scope > 0) {
      return "Yama forbids it, since kernel.yama.ptrace_scope is " + std::to_string(scope) + "; 0 allows it" +
             otherwise;
    }
    return "the kernel forbids it (process_vm_readv: " + std::generic_category().message(error) +
           "): a filter of the container, or of a process that is not dumpable" + otherwise;
  }
  if (error == ENOSYS) {
    return "the kernel has no process_vm_readv, or a filter of the container forbids it" + otherwise;
  }
  if (error == ESRCH) {
    return "the process has ended, or is in another namespace of processes" + otherwise;
  }
  return std::generic_category().message(error) + (error == EFAULT ? ": that memory is not mapped" : "");
}

}  // namespace dovetail::comm::rma
