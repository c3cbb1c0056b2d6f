// Says what storage can do here.
#include <cstdio>
#include <exception>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "report.hpp"

int main(int count, char** arguments) {
  using namespace dovetail::doctor;
  try {
    int status = 0;
    const auto options = parse(count, arguments, status);
    if (!options) {
      return status;
    }
    const Report report = examine(*options);
    if (options->json) {
      // Paths need not be UTF-8; what is not is replaced.
      std::printf("%s\n", to_json(report).dump(2, ' ', false, nlohmann::json::error_handler_t::replace).c_str());
    } else {
      print(report);
    }
    if (std::fflush(stdout) != 0) {
      std::perror("dovetail-doctor: writing the report");
      return 1;
    }
    for (const CheckedDevice& checked : report.devices) {
      if (checked.failed) {
        std::fprintf(stderr, "dovetail-doctor: %s could not be measured: %s\n", checked.device.path.c_str(),
                     checked.why_not_measured.c_str());
        status = 1;
      }
    }
    return status;
  } catch (const std::invalid_argument& error) {
    std::fprintf(stderr, "dovetail-doctor: %s\n", error.what());
    return 2;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "dovetail-doctor: %s\n", error.what());
    return 1;
  }
}
