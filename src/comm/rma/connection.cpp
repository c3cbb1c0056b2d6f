#include "comm/rma/connection.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

#include "comm/rma/checked.hpp"
#include "tasking/waiting_thread.hpp"

namespace dovetail::comm::rma {
namespace {

constexpr std::size_t most_bytes = 4096;
constexpr std::size_t most_descriptors = 4;

[[noreturn]] void fail(int error, const char* what) { throw std::system_error(error, std::generic_category(), what); }

int make_socket() { return checked(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0), "socket"); }

// A name that is no file begins with a zero. With no more than the family, the kernel chooses one. Returns how much of the address counts.
socklen_t fill_in(sockaddr_un& address, const std::string& name) {
  address.sun_family = AF_UNIX;
  if (name.empty()) {
    return sizeof(sa_family_t);
  }
  if (name.size() + 1 > sizeof address.sun_path) {
    fail(ENAMETOOLONG, "the name of a socket");
  }
  std::memcpy(address.sun_path + 1, name.data(), name.size());
  return static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
}

using Clock = std::chrono::steady_clock;

// `life`: readable when nothing more will come; -1: nothing tells that. @returns 0, ETIMEDOUT, ECONNRESET, or the errno of poll
int wait_until_readable(int descriptor, int life, Clock::time_point end) {
  std::array<pollfd, 2> waiting{{{descriptor, POLLIN, 0}, {life, POLLIN, 0}}};
  constexpr std::int64_t longest_poll = 1'000'000'000;
  tasking::WaitingThread thread(nullptr);
  for (;;) {
    if (thread.look()) {
      throw tasking::WaitInterrupted();
    }
    const auto now = Clock::now();
    const bool is_over = now >= end;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(std::min(end, thread.next_look()) - now).count();
    const int ready =
        poll(waiting.data(), waiting.size(), static_cast<int>(std::clamp<std::int64_t>(left, 0, longest_poll)));
    if (ready < 0 && errno != EINTR) {
      return errno;
    }
    if (ready > 0) {
      // What it has sent before its end comes first.
      return waiting[0].revents == 0 && poll(waiting.data(), 1, 0) == 0 ? ECONNRESET : 0;
    }
    if (ready == 0 && is_over) {
      return ETIMEDOUT;
    }
  }
}

void require(int error, const char* what) {
  if (error != 0) {
    fail(error, what);
  }
}

bool is_of_same_user(int socket, ucred& other) {
  socklen_t size = sizeof other;
  if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &other, &size) != 0) {
    fail(errno, "SO_PEERCRED");
  }
  return other.uid == geteuid();
}

}  // namespace

Connection::Message::~Message() {
  for (const int descriptor : descriptors) {
    if (descriptor >= 0) {
      close(descriptor);
    }
  }
}

Connection::Connection(int socket) : socket_(socket) {
  ucred other{};
  if (!is_of_same_user(socket, other)) {
    fail(EPERM, "a process of another user wants to be of the group");
  }
  process_ = other.pid;
  life_ = base::Descriptor(static_cast<int>(syscall(SYS_pidfd_open, process_, 0)));
}

Connection::Connection(base::Descriptor socket, int process) noexcept
    : socket_(std::move(socket)), is_stream_(true), process_(process) {}

void Connection::end() const noexcept { shutdown(socket_.get(), SHUT_RDWR); }

void Connection::send(std::span<const std::byte> bytes, std::span<const int> descriptors) const {
  if (is_stream_) {
    send_framed(socket_.get(), bytes);
    return;
  }
  iovec data{const_cast<std::byte*>(bytes.data()), bytes.size()};
  alignas(cmsghdr) std::array<std::byte, CMSG_SPACE(most_descriptors * sizeof(int))> control{};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  if (!descriptors.empty()) {
    message.msg_control = control.data();
    message.msg_controllen = CMSG_SPACE(descriptors.size_bytes());
    cmsghdr* const head = CMSG_FIRSTHDR(&message);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(descriptors.size_bytes());
    std::memcpy(CMSG_DATA(head), descriptors.data(), descriptors.size_bytes());
  }
  while (sendmsg(socket_.get(), &message, MSG_NOSIGNAL) < 0) {
    if (errno != EINTR) {
      fail(errno, "sendmsg");
    }
  }
}

Connection::Message Connection::receive(std::chrono::milliseconds limit) const {
  if (is_stream_) {
    Message received;
    received.bytes = receive_framed(socket_.get(), limit);
    return received;
  }
  require(wait_until_readable(socket_.get(), life(), Clock::now() + limit), "recvmsg");
  return receive_with_descriptors();
}

Connection::Message Connection::receive_with_descriptors() const {
  Message received;
  received.bytes.resize(most_bytes);
  iovec data{received.bytes.data(), received.bytes.size()};
  alignas(cmsghdr) std::array<std::byte, CMSG_SPACE(most_descriptors * sizeof(int))> control{};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  ssize_t length = 0;
  do {
    length = recvmsg(socket_.get(), &message, MSG_CMSG_CLOEXEC);
  } while (length < 0 && errno == EINTR);
  if (length < 0) {
    fail(errno, "recvmsg");
  }
  for (cmsghdr* head = CMSG_FIRSTHDR(&message); head != nullptr; head = CMSG_NXTHDR(&message, head)) {
    if (head->cmsg_level == SOL_SOCKET && head->cmsg_type == SCM_RIGHTS) {
      received.descriptors.resize((head->cmsg_len - CMSG_LEN(0)) / sizeof(int));
      std::memcpy(received.descriptors.data(), CMSG_DATA(head), received.descriptors.size() * sizeof(int));
    }
  }
  if (length == 0) {
    fail(ECONNRESET, "recvmsg");
  }
  if ((message.msg_flags & (MSG_CTRUNC | MSG_TRUNC)) != 0) {
    fail(EMFILE, "recvmsg: no descriptor is left for the shared memory of another process");
  }
  received.bytes.resize(static_cast<std::size_t>(length));
  return received;
}

namespace {

void receive_all(int socket, std::span<std::byte> bytes, Clock::time_point end) {
  while (!bytes.empty()) {
    require(wait_until_readable(socket, -1, end), "recv");
    const ssize_t length = recv(socket, bytes.data(), bytes.size(), 0);
    if (length == 0) {
      fail(ECONNRESET, "recv");
    }
    if (length < 0 && errno != EINTR) {
      fail(errno, "recv");
    }
    bytes = bytes.subspan(length > 0 ? static_cast<std::size_t>(length) : 0);
  }
}

void send_all(int socket, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t length = send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (length < 0 && errno != EINTR) {
      fail(errno, "send");
    }
    bytes = bytes.subspan(length > 0 ? static_cast<std::size_t>(length) : 0);
  }
}

}  // namespace

void send_framed(int socket, std::span<const std::byte> bytes) {
  const auto length = static_cast<std::uint32_t>(bytes.size());
  send_all(socket, std::as_bytes(std::span(&length, 1)));
  send_all(socket, bytes);
}

std::vector<std::byte> receive_framed(int socket, std::chrono::milliseconds limit) {
  const auto end = Clock::now() + limit;
  std::uint32_t length = 0;
  receive_all(socket, std::as_writable_bytes(std::span(&length, 1)), end);
  if (length > most_bytes) {
    fail(EPROTO, "recv: a message of another program");
  }
  std::vector<std::byte> bytes(length);
  receive_all(socket, bytes, end);
  return bytes;
}

Listener::Listener(const std::string& name) : socket_(make_socket()), name_(name) {
  sockaddr_un address{};
  socklen_t size = fill_in(address, name);
  checked(bind(socket_.get(), reinterpret_cast<const sockaddr*>(&address), size), "bind");
  size = sizeof address;
  checked(getsockname(socket_.get(), reinterpret_cast<sockaddr*>(&address), &size), "getsockname");
  name_.assign(address.sun_path + 1, size - offsetof(sockaddr_un, sun_path) - 1);
  checked(listen(socket_.get(), SOMAXCONN), "listen");
}

int Listener::accept(std::chrono::milliseconds limit) const {
  for (const auto end = Clock::now() + limit;;) {
    require(wait_until_readable(socket_.get(), -1, end), "accept");
    base::Descriptor accepted(checked(accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC), "accept"));
    if (ucred other{}; is_of_same_user(accepted.get(), other)) {
      return accepted.release();
    }
  }
}

int wait_until_readable(int descriptor, std::chrono::milliseconds limit) {
  return wait_until_readable(descriptor, -1, Clock::now() + limit);
}

int connect_to(const std::string& name) {
  sockaddr_un address{};
  const socklen_t size = fill_in(address, name);
  base::Descriptor made(make_socket());
  checked(connect(made.get(), reinterpret_cast<const sockaddr*>(&address), size), "connect");
  return made.release();
}

}  // namespace dovetail::comm::rma
