#include <algorithm>
#include <cstdio>

#include "report.hpp"

namespace dovetail::doctor {
namespace {

constexpr std::uint64_t unlimited = ~std::uint64_t{0};

std::string size(std::uint64_t bytes) {
  static constexpr const char* units[] = {"bytes", "KiB", "MiB", "GiB", "TiB", "PiB"};
  auto value = static_cast<double>(bytes);
  std::size_t unit = 0;
  while (value >= 1024 && unit + 1 < std::size(units)) {
    value /= 1024;
    ++unit;
  }
  char text[48];
  std::snprintf(text, sizeof text,
                value < 10 && unit > 0 && value != static_cast<double>(static_cast<int>(value)) ? "%.1f %s" : "%.0f %s",
                value, units[unit]);
  return text;
}

std::string megabytes(std::uint64_t bytes) {
  char text[48];
  std::snprintf(text, sizeof text, "%.1f MB/s", static_cast<double>(bytes) / 1e6);
  return text;
}

std::string time(double seconds) {
  char text[48];
  if (seconds < 1e-3) {
    std::snprintf(text, sizeof text, "%.0f us", seconds * 1e6);
  } else if (seconds < 1) {
    std::snprintf(text, sizeof text, "%.1f ms", seconds * 1e3);
  } else {
    std::snprintf(text, sizeof text, "%.2f s", seconds);
  }
  return text;
}

void print_machine(const Machine& machine) {
  std::printf("Machine\n  kernel      %s\n  libraries  ", machine.kernel.c_str());
  for (const auto& [name, version] : machine.libraries) {
    std::printf(" %s %s", name.c_str(), version.c_str());
  }
  std::printf("\n  processors  %u cores, %u hardware threads, %u NUMA nodes; this process may use %u\n", machine.cores,
              machine.processors, machine.numa_nodes, machine.allowed_processors);
  std::printf("  workers     %u (%s)\n", machine.workers, machine.workers_from.c_str());
  for (const Limit& limit : machine.limits) {
    std::printf("  %-16s %s: %s\n", limit.name.c_str(),
                limit.value == unlimited ? "unlimited" : std::to_string(limit.value).c_str(), limit.meaning.c_str());
  }
}

void print_engines(const Report& report) {
  std::printf("\nEngines\n");
  for (const device::EngineProbe& engine : report.engines) {
    std::printf("  %-8s %s\n", engine.name.c_str(),
                engine.works ? "works" : ("does not work: " + engine.why_not).c_str());
    for (const device::FeatureProbe& feature : engine.features) {
      std::printf("    %-3s %s%s%s\n", feature.works ? "yes" : "no", feature.name.c_str(),
                  feature.works || feature.why_not.empty() ? "" : ": ", feature.works ? "" : feature.why_not.c_str());
    }
  }
  std::printf("  chosen   %s: %s\n", report.engine.c_str(), report.engine_reason.c_str());
}

void print_transports(const std::vector<comm::rma::TransportProbe>& transports) {
  std::printf("\nOne-sided communication\n");
  for (const comm::rma::TransportProbe& transport : transports) {
    const std::string works = "works" + (transport.where.empty() ? "" : ", " + transport.where);
    std::printf("  %-20s %s\n", transport.name.c_str(),
                transport.works ? works.c_str() : ("does not work: " + transport.why_not).c_str());
  }
  const comm::rma::TransportProbe& first = transports.front();
  // The first two are for this node.
  const auto other =
      std::find_if(transports.begin() + 2, transports.end(), [](const auto& each) { return each.works; });
  const bool is_there = other != transports.end();
  const std::string to_others = is_there && other->where.empty() ? other->name + " to other nodes"
                                : is_there                       ? other->name + " to other nodes, " + other->where
                                                                 : "there is none to other nodes";
  const std::string chosen = first.name + ", between the processes of this node; " + to_others;
  std::printf("  chosen               %s\n",
              first.works ? chosen.c_str() : "none: a group of several processes cannot start here");
}

void print_device(const Facts& device) {
  std::printf("\nDevice of %s\n  %s on %s (%s, %s)%s\n", device.path.c_str(), device.file_system.c_str(),
              device.mount_point.c_str(), device.source.c_str(), device.number.c_str(),
              device.read_only ? ", read-only" : "");
  if (device.size_bytes != 0) {
    std::printf("  %s, %s free\n", size(device.size_bytes).c_str(), size(device.free_bytes).c_str());
  }
  if (!device.name.empty()) {
    std::printf("  %s:%s scheduler %s, requests up to %s, queue of %u\n", device.name.c_str(),
                device.rotational ? (*device.rotational ? " rotational," : " solid state,") : "",
                device.scheduler.empty() ? "unknown" : device.scheduler.c_str(), size(device.request_bytes_max).c_str(),
                device.queue_requests);
  }
  if (device.loop) {
    std::printf("  loop device on %s\n", device.backing_file.c_str());
  }
  std::printf("%s%s%s", device.in_memory ? "  in memory\n" : "", device.network ? "  on the network\n" : "",
              device.fuse ? "  served by a program (FUSE)\n" : "");
  if (device.direct) {
    std::printf("  direct transfers: yes, multiples of %s, memory aligned to %s\n",
                size(device.direct_offset_align).c_str(), size(device.direct_memory_align).c_str());
  } else {
    std::printf("  direct transfers: no\n");
  }
  if (device.throttle.any()) {
    const device::Throttle& throttle = device.throttle;
    std::printf("  limited by %s:", throttle.group.c_str());
    if (throttle.read_bytes_per_second != 0) {
      std::printf(" reading %s", megabytes(throttle.read_bytes_per_second).c_str());
    }
    if (throttle.write_bytes_per_second != 0) {
      std::printf(" writing %s", megabytes(throttle.write_bytes_per_second).c_str());
    }
    if (throttle.read_operations_per_second != 0) {
      std::printf(" %llu reads/s", static_cast<unsigned long long>(throttle.read_operations_per_second));
    }
    if (throttle.write_operations_per_second != 0) {
      std::printf(" %llu writes/s", static_cast<unsigned long long>(throttle.write_operations_per_second));
    }
    std::printf("\n");
  }
}

void print_curve(const Curve& curve, const char* how) {
  std::printf("  measured, %s, %s order, file of %s%s\n", how, curve.sequential ? "sequential" : "random",
              size(curve.file_bytes).c_str(), curve.steady ? ", steady" : ", not steady throughout");
  std::printf("    %-6s %8s %6s %8s %10s %10s %9s %9s\n", "", "block", "depth", "engine", "MB/s", "requests/s",
              "median", "99 %");
  for (const device::CurvePoint& point : curve.points) {
    std::printf("    %-6s %8s %6u %8s %10.1f %10.0f %9s %9s%s\n", point.direction == Direction::read ? "read" : "write",
                size(point.block).c_str(), point.depth, point.engine.c_str(), point.bytes_per_second / 1e6,
                point.operations_per_second, time(point.latency_median).c_str(), time(point.latency_p99).c_str(),
                point.steady ? "" : "  not steady");
  }
  for (const std::string& note : curve.notes) {
    std::printf("    %s\n", note.c_str());
  }
}

void print_choice(const char* direction, const Choice& choice) {
  const std::string depth = choice.depth == 0 ? std::string() : ", depth " + std::to_string(choice.depth);
  std::printf("  %s %s, %s%s: %s\n", direction, choice.engine.c_str(), choice.direct ? "direct" : "buffered",
              depth.c_str(), choice.reason.c_str());
}

}  // namespace

void print(const Report& report) {
  print_machine(report.machine);
  print_engines(report);
  print_transports(report.transports);
  for (const CheckedDevice& checked : report.devices) {
    print_device(checked.device);
    if (checked.curve) {
      print_curve(*checked.curve, checked.curve->direct ? "direct" : "buffered, writes with fdatasync");
    }
    if (checked.cached) {
      print_curve(*checked.cached, "buffered, writes with fdatasync");
    }
    if (!checked.why_not_measured.empty()) {
      std::printf("  not measured: %s\n", checked.why_not_measured.c_str());
    }
    print_choice("for reading:", checked.reading);
    print_choice("for writing:", checked.writing);
  }
}

}  // namespace dovetail::doctor
