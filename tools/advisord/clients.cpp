#include "clients.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <system_error>
#include <utility>

namespace dovetail::advisord {
namespace {

// What a client reads first: it tells this protocol and its version from others.
constexpr char greeting[8] = {'D', 'T', 'A', 'D', 'V', '0', '0', '1'};

[[noreturn]] void fail(const std::string& what) { throw std::system_error(errno, std::generic_category(), what); }

// The kernel has noted which user is at the other end.
bool is_same_user(int connection) noexcept {
  ucred peer{};
  socklen_t size = sizeof peer;
  return getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && peer.uid == geteuid();
}

}  // namespace

Clients::Clients(const std::string& socket_path, int memory) : path_(socket_path), memory_(memory) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path_.size() >= sizeof address.sun_path) {
    throw std::runtime_error(path_ + ": too long for the path of a socket");
  }
  std::memcpy(address.sun_path, path_.c_str(), path_.size() + 1);
  // The socket of one that was killed is still there; the lock is not.
  lock_ = base::Descriptor(open((path_ + ".lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (lock_.get() < 0) {
    fail(path_ + ".lock");
  }
  if (flock(lock_.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno == EWOULDBLOCK) {
      throw std::runtime_error("an advisor runs already at " + path_);
    }
    fail(path_ + ".lock");
  }
  struct stat status{};
  if (lstat(path_.c_str(), &status) == 0 && !S_ISSOCK(status.st_mode)) {
    throw std::runtime_error(path_ + ": is there already, and is no socket");
  }
  unlink(path_.c_str());
  listening_ = base::Descriptor(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const mode_t before = umask(0077);
  const bool bound = listening_.get() >= 0 &&
                     bind(listening_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 &&
                     listen(listening_.get(), 64) == 0;
  const int error = errno;
  umask(before);
  if (!bound) {
    errno = error;
    fail(path_);
  }
}

Clients::~Clients() { unlink(path_.c_str()); }

bool Clients::send_memory(int connection) const noexcept {
  char text[sizeof greeting];
  std::memcpy(text, greeting, sizeof greeting);
  iovec part{text, sizeof text};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  cmsghdr* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof(int));
  std::memcpy(CMSG_DATA(header), &memory_, sizeof(int));
  return sendmsg(connection, &message, MSG_NOSIGNAL | MSG_DONTWAIT) == static_cast<ssize_t>(sizeof text);
}

void Clients::accept_one() {
  base::Descriptor connection(accept4(listening_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  // The client still waits to be accepted: `poll` would return at once.
  pauses_ = connection.get() < 0 && errno != EAGAIN;
  if (connection.get() < 0 || clients_.size() >= most || !is_same_user(connection.get()) ||
      !send_memory(connection.get())) {
    return;
  }
  clients_.push_back({std::move(connection), false});
}

bool Clients::hear(Client& client) noexcept {
  char said = 0;
  const ssize_t bytes = recv(client.connection.get(), &said, 1, 0);
  if (bytes < 0) {
    return errno == EAGAIN || errno == EINTR;
  }
  if (bytes == 0 || (said != 'r' && said != 's')) {
    return false;
  }
  client.runs = client.runs || said == 'r';
  return true;
}

void Clients::serve(int signals, bool stay, const std::function<void()>& last_run_ended) {
  bool ran = false;  // at the last look
  bool had_a_run = false;
  for (;;) {
    const bool listens = clients_.size() < most && !pauses_;
    std::vector<pollfd> watched = {{signals, POLLIN, 0}, {listens ? listening_.get() : -1, POLLIN, 0}};
    for (const Client& client : clients_) {
      watched.push_back({client.connection.get(), POLLIN, 0});
    }
    constexpr int pause = 1000;
    const int longest = pauses_ ? pause : -1;
    pauses_ = false;
    if (poll(watched.data(), watched.size(), longest) < 0) {
      if (errno == EINTR) {
        continue;
      }
      fail("poll");
    }
    if (watched[0].revents != 0) {
      return;
    }
    std::vector<Client> kept;
    for (std::size_t i = 0; i < clients_.size(); ++i) {
      if (watched[i + 2].revents == 0 || hear(clients_[i])) {
        kept.push_back(std::move(clients_[i]));
      }
    }
    clients_ = std::move(kept);
    const bool runs = std::ranges::any_of(clients_, [](const Client& client) { return client.runs; });
    if (ran && !runs) {
      last_run_ended();
    }
    ran = runs;
    had_a_run = had_a_run || runs;
    if (watched[1].revents != 0) {
      accept_one();
    }
    if (had_a_run && !stay && clients_.empty()) {
      return;
    }
  }
}

}  // namespace dovetail::advisord
