// The clients of the advisor: every `dovetail run --advised` is connected as long as its program runs.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/descriptor.hpp"

namespace dovetail::advisord {

/// The socket, which belongs to the user alone, and the connections to it. Each client gets the memory when it connects, and says by one byte what it is:
/// `r` a run, `s` one that only looks (`dovetail prefetch status`). A client that says something else, or belongs to another user, is sent away.
class Clients {
 public:
  /// `memory`: what clients get. Throws std::system_error if the socket cannot be had, std::runtime_error if an advisor has it already.
  Clients(const std::string& socket, int memory);
  ~Clients();
  Clients(const Clients&) = delete;
  Clients& operator=(const Clients&) = delete;

  /// Serves clients until a signal is read from `signals` (a signalfd). Unless it is to `stay`, it also ends when there is no client any more and one
  /// of them was a run. `last_run_ended`: called whenever no run is left.
  void serve(int signals, bool stay, const std::function<void()>& last_run_ended);

 private:
  static constexpr std::size_t most = 256;
  struct Client {
    base::Descriptor connection;
    bool runs = false;
  };

  void accept_one();
  bool send_memory(int connection) const noexcept;
  // Whether it stays.
  bool hear(Client& client) noexcept;

  std::string path_;
  int memory_;
  base::Descriptor lock_{-1};
  base::Descriptor listening_{-1};
  std::vector<Client> clients_;
  bool pauses_ = false;  // there was no descriptor for a client
};

}  // namespace dovetail::advisord
