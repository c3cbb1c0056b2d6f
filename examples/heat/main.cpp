#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include "options.hpp"
#include "run.hpp"

int main(int argument_count, char** arguments) {
  try {
    const heat::Options options =
        heat::parse_options(std::vector<std::string>(arguments + 1, arguments + argument_count));
    if (options.help) {
      std::fputs(heat::usage(), stdout);
      return 0;
    }
    return heat::run(options);
  } catch (const heat::BadInput& error) {
    std::fprintf(stderr, "heat: %s\n", error.what());
    return 2;
  } catch (const std::invalid_argument& error) {
    // The runtime refuses settings, which come from the environment, in this way.
    std::fprintf(stderr, "heat: %s\n", error.what());
    return 2;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "heat: %s\n", error.what());
    return 1;
  }
}
