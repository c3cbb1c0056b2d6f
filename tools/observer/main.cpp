// dovetail-observer: follows a program through the kernel's events. `dovetail observe --system` and `dovetail run --system` start it, before the program.
//
// They talk through a socket: "ready" or a sentence about what is missing, then the number of the process that is about to become the program, then a byte in answer. At
// the end of the program the socket is shut down, and the answer is how many events were lost.
#include <poll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "advisor.hpp"
#include "kernel_events.hpp"
#include "observation_log.hpp"
#include "seen_files.hpp"

namespace dovetail::observer {
namespace {

struct Options {
  int channel = -1;
  int memory = -1;
  int paths = -1;
  int rules = -1;
  int detection = -1;
};

class Mapped {
 public:
  explicit Mapped(int descriptor) {
    struct stat status{};
    if (fstat(descriptor, &status) == 0 && status.st_size > 0) {
      bytes_ = static_cast<std::uint64_t>(status.st_size);
      void* memory = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
      data_ = memory == MAP_FAILED ? nullptr : static_cast<std::byte*>(memory);
    }
    if (data_ == nullptr) {
      throw std::runtime_error("the memory cannot be mapped");
    }
  }
  std::byte* data() const noexcept { return data_; }
  std::uint64_t bytes() const noexcept { return bytes_; }
  std::string_view text() const noexcept { return {reinterpret_cast<const char*>(data_), bytes_}; }

 private:
  std::byte* data_ = nullptr;
  std::uint64_t bytes_ = 0;
};

bool say(int channel, const void* data, std::size_t bytes) noexcept {
  return send(channel, data, bytes, MSG_NOSIGNAL) == static_cast<ssize_t>(bytes);
}

bool is_over(int channel) noexcept {
  char byte = 0;
  return recv(channel, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
}

// Until the program has ended.
// `tidy`: called after each look, and each second as long as it returns true.
void serve(int channel, KernelEvents& events, const std::function<bool()>& tidy) {
  pollfd watched[] = {{channel, POLLIN, 0}, {events.descriptor(), POLLIN, 0}};
  constexpr int second = 1000;
  for (;;) {
    if (poll(watched, 2, tidy() ? second : -1) < 0 && errno != EINTR) {
      return;
    }
    if (watched[0].revents != 0) {
      std::int32_t process = 0;
      const ssize_t got = recv(channel, &process, sizeof process, MSG_DONTWAIT);
      if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) {
        return;
      }
      if (got == sizeof process) {
        const char seen = events.follow(process) ? 1 : 0;
        say(channel, &seen, 1);
      }
    }
    events.take();
  }
}

std::uint64_t observe(const Options& options) {
  const Mapped memory(options.memory);
  ObservationLog log(memory.data(), memory.bytes());
  KernelEvents events({{}, false}, [&](const page_event& event, std::string_view names) { log.note(event, names); });
  say(options.channel, "ready", 5);
  serve(options.channel, events, [] { return false; });
  events.take();
  return events.lost();
}

void allow_descriptors() noexcept {
  rlimit files{};
  if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
  }
}

std::uint64_t advise(const Options& options) {
  allow_descriptors();
  const auto mapped = [](int descriptor) {
    return descriptor < 0 ? std::optional<Mapped>() : std::optional<Mapped>(descriptor);
  };
  const std::optional<Mapped> plan = mapped(options.memory);
  const std::optional<Mapped> rules = mapped(options.rules);
  const std::optional<Mapped> detection = mapped(options.detection);
  std::optional<Advisor> planned;
  if (plan) {
    planned.emplace(plan->data(), plan->bytes(), Mapped(options.paths).text());
  }
  std::optional<SeenFiles> seen;
  if (rules || detection) {
    seen.emplace(rules ? rules->data() : nullptr, rules ? rules->bytes() : 0, detection ? detection->data() : nullptr,
                 detection ? detection->bytes() : 0);
  }
  // Without rules and detection the plan's files are all that is looked at.
  KernelEvents::Files files;
  if (!seen) {
    files.wanted = planned->files();
    if (files.wanted.empty()) {
      throw Unavailable("no file of the plan can be opened");
    }
  }
  const auto stop = [&] { return is_over(options.channel); };
  KernelEvents* all = nullptr;
  KernelEvents events(files, [&](const page_event& event, std::string_view names) {
    const bool is_planned = planned && planned->has(event.file);
    const bool goes_on = is_planned && (event.kind != page_event_read || planned->note(event, stop));
    // The name of a file of the plan is for later, when the plan is over.
    const bool is_for_seen = seen && (!goes_on || event.kind == page_event_name);
    const bool is_seen = is_for_seen && seen->note(event, names, stop);
    if (!goes_on && !is_seen) {
      all->forget(event.file);
    }
  });
  all = &events;
  say(options.channel, "ready", 5);
  serve(options.channel, events, [&] { return seen && seen->close_idle(); });
  // Where the program has been is in the report.
  events.take();
  return events.lost();
}

int run(const Options& options) {
  const bool is_log = options.paths < 0 && options.rules < 0 && options.detection < 0;
  try {
    const std::uint64_t lost = is_log ? observe(options) : advise(options);
    say(options.channel, &lost, sizeof lost);
    return 0;
  } catch (const std::exception& error) {
    const std::string_view sentence = error.what();
    say(options.channel, sentence.data(), sentence.size());
    return 1;
  }
}

}  // namespace
}  // namespace dovetail::observer

int main(int count, char** words) {
  CLI::App app(
      "Follows a program through the kernel's events: see dovetail observe --system, and dovetail run --system.",
      "dovetail-observer");
  app.set_version_flag("--version", DOVETAIL_VERSION);
  dovetail::observer::Options options;
  app.add_option("--channel", options.channel, "Descriptor of a socket to who has started this.")->required();
  app.add_option("--memory", options.memory, "Descriptor of the log, or with --paths of the plan.");
  app.add_option("--paths", options.paths, "Descriptor of the paths of the plan's files.")->needs("--memory");
  app.add_option("--rules", options.rules, "Descriptor of the memory of a configuration's rules.");
  app.add_option("--detection", options.detection, "Descriptor of the memory of files that are watched for patterns.");
  try {
    app.parse(count, words);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  return dovetail::observer::run(options);
}
