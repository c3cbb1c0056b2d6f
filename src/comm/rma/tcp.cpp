#include "comm/rma/tcp.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>
#include <system_error>

#include "comm/rma/checked.hpp"
#include "comm/rma/connection.hpp"

namespace dovetail::comm::rma {
namespace {

void set_option(int socket, int level, int option, int value, const char* what) {
  checked(setsockopt(socket, level, option, &value, sizeof value), what);
}

// "192.0.2.1", and "" for what is no address of the Internet.
std::string text_of(const sockaddr* address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (address->sa_family == AF_INET) {
    inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in*>(address)->sin_addr, text.data(), text.size());
  } else if (address->sa_family == AF_INET6) {
    const auto& six = reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr;
    if (IN6_IS_ADDR_V4MAPPED(&six)) {
      inet_ntop(AF_INET, &six.s6_addr[12], text.data(), text.size());
    } else {
      inet_ntop(AF_INET6, &six, text.data(), text.size());
    }
  }
  return text.data();
}

bool reaches_others(const ifaddrs& each) {
  if (each.ifa_addr == nullptr || (each.ifa_flags & IFF_UP) == 0 || (each.ifa_flags & IFF_LOOPBACK) != 0) {
    return false;
  }
  if (each.ifa_addr->sa_family == AF_INET6) {
    // An address of a link is nothing without the name of the interface, which is another one there.
    return !IN6_IS_ADDR_LINKLOCAL(&reinterpret_cast<const sockaddr_in6*>(each.ifa_addr)->sin6_addr);
  }
  return each.ifa_addr->sa_family == AF_INET;
}

}  // namespace

TcpListener::TcpListener() {
  sockaddr_in6 six{};
  six.sin6_family = AF_INET6;
  sockaddr_in four{};
  four.sin_family = AF_INET;
  socket_ = base::Descriptor(socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0));
  bool is_bound = false;
  if (socket_.get() >= 0) {
    set_option(socket_.get(), IPPROTO_IPV6, IPV6_V6ONLY, 0, "IPV6_V6ONLY");
    is_bound = bind(socket_.get(), reinterpret_cast<const sockaddr*>(&six), sizeof six) == 0;
  }
  if (!is_bound) {
    socket_ = base::Descriptor(checked(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), "socket"));
    checked(bind(socket_.get(), reinterpret_cast<const sockaddr*>(&four), sizeof four), "bind");
  }
  checked(listen(socket_.get(), SOMAXCONN), "listen");
  sockaddr_storage bound{};
  socklen_t size = sizeof bound;
  checked(getsockname(socket_.get(), reinterpret_cast<sockaddr*>(&bound), &size), "getsockname");
  // The port is at the same place in both.
  port_ = ntohs(reinterpret_cast<const sockaddr_in&>(bound).sin_port);
}

base::Descriptor TcpListener::accept(std::chrono::milliseconds limit) const {
  if (const int error = wait_until_readable(socket_.get(), limit); error != 0) {
    throw std::system_error(error, std::generic_category(), "accept");
  }
  return base::Descriptor(checked(accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC), "accept"));
}

std::vector<std::string> addresses_of_node() {
  ifaddrs* all = nullptr;
  checked(getifaddrs(&all), "getifaddrs");
  const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> owned(all, freeifaddrs);
  std::vector<std::string> found;
  for (const ifaddrs* each = all; each != nullptr; each = each->ifa_next) {
    if (reaches_others(*each)) {
      found.push_back(text_of(each->ifa_addr));
    }
  }
  return found;
}

base::Descriptor connect_to(const std::string& address, std::uint16_t port, std::chrono::milliseconds limit) {
  addrinfo hints{};
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (getaddrinfo(address.c_str(), std::to_string(port).c_str(), &hints, &found) != 0) {
    errno = EADDRNOTAVAIL;
    return base::Descriptor(-1);
  }
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owned(found, freeaddrinfo);
  base::Descriptor made(socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (made.get() < 0) {
    return made;
  }
  if (connect(made.get(), found->ai_addr, found->ai_addrlen) != 0) {
    pollfd writable{made.get(), POLLOUT, 0};
    int error = errno;
    if (error == EINPROGRESS) {
      const int ready = poll(&writable, 1, static_cast<int>(std::min<std::int64_t>(limit.count(), 1'000'000'000)));
      socklen_t size = sizeof error;
      if (ready <= 0) {
        error = ETIMEDOUT;
      } else if (getsockopt(made.get(), SOL_SOCKET, SO_ERROR, &error, &size) != 0) {
        error = errno;
      }
    }
    if (error != 0) {
      errno = error;
      return base::Descriptor(-1);
    }
  }
  checked(fcntl(made.get(), F_SETFL, 0), "fcntl");
  return made;
}

std::string local_address(int socket) {
  sockaddr_storage own{};
  socklen_t size = sizeof own;
  checked(getsockname(socket, reinterpret_cast<sockaddr*>(&own), &size), "getsockname");
  return text_of(reinterpret_cast<const sockaddr*>(&own));
}

bool other_end_has_closed(int socket) noexcept {
  tcp_info info{};
  socklen_t size = sizeof info;
  return getsockopt(socket, IPPROTO_TCP, TCP_INFO, &info, &size) != 0 ||
         (info.tcpi_state != TCP_ESTABLISHED && info.tcpi_state != TCP_FIN_WAIT1 && info.tcpi_state != TCP_FIN_WAIT2);
}

void end_when_silent(int socket, std::chrono::milliseconds limit) {
  constexpr std::int64_t questions = 4;
  constexpr std::int64_t longest = 1'000'000'000;
  const std::int64_t milliseconds = std::clamp<std::int64_t>(limit.count(), 1, longest);
  const auto seconds = static_cast<int>(std::clamp<std::int64_t>(milliseconds / 1000 / questions, 1, 32767));
  set_option(socket, IPPROTO_TCP, TCP_NODELAY, 1, "TCP_NODELAY");
  set_option(socket, SOL_SOCKET, SO_KEEPALIVE, 1, "SO_KEEPALIVE");
  set_option(socket, IPPROTO_TCP, TCP_KEEPIDLE, seconds, "TCP_KEEPIDLE");
  set_option(socket, IPPROTO_TCP, TCP_KEEPINTVL, seconds, "TCP_KEEPINTVL");
  set_option(socket, IPPROTO_TCP, TCP_KEEPCNT, static_cast<int>(questions), "TCP_KEEPCNT");
  set_option(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, static_cast<int>(milliseconds), "TCP_USER_TIMEOUT");
}

}  // namespace dovetail::comm::rma
