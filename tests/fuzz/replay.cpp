// Runs a fuzzer without libFuzzer. Its inputs are the seeds, given files (inputs that once did harm), and a fixed number of
// changed inputs, always the same. `--write-seeds FOLDER` writes the seeds instead, as a corpus for libFuzzer.
#include <unistd.h>

#include <charconv>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>

#include "fuzzer.hpp"

namespace {

namespace fs = std::filesystem;

constexpr std::size_t longest_to_change = 4096;

void run(const std::string& input) {
  LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(input.data()), input.size());
}

std::string content_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string changed(std::string input, const std::vector<std::string>& seeds, std::mt19937_64& random) {
  const auto below = [&random](std::size_t end) { return static_cast<std::size_t>(random() % (end == 0 ? 1 : end)); };
  constexpr std::string_view telling = "{}[]\",:.=#\n\0\\-+eE019\xff";
  for (std::size_t changes = 1 + below(4); changes > 0; --changes) {
    const std::size_t place = below(input.size() + 1);
    switch (below(5)) {
      case 0:
        input.erase(place, 1 + below(8));
        break;
      case 1:
        input.insert(place, 1, telling[below(telling.size())]);
        break;
      case 2:
        input.insert(place, input.substr(below(input.size() + 1), below(64)));
        break;
      case 3: {
        const std::string& other = seeds[below(seeds.size())];
        input.insert(place, other.substr(below(other.size() + 1), below(64)));
        break;
      }
      default:
        if (place < input.size()) {
          input[place] = static_cast<char>(random());
        }
    }
  }
  return input;
}

}  // namespace

int main(int count, char** arguments) {
  const std::vector<std::string> seeds = dovetail::fuzz::seeds();
  if (count == 3 && std::strcmp(arguments[1], "--write-seeds") == 0) {
    fs::create_directories(arguments[2]);
    for (std::size_t i = 0; i < seeds.size(); ++i) {
      std::ofstream(fs::path(arguments[2]) / ("seed-" + std::to_string(i)), std::ios::binary) << seeds[i];
    }
    return 0;
  }
  for (const std::string& seed : seeds) {
    run(seed);
  }
  std::size_t files = 0;
  for (int i = 1; i < count; ++i) {
    if (!fs::is_directory(arguments[i])) {
      continue;
    }
    for (const auto& entry : fs::directory_iterator(arguments[i])) {
      run(content_of(entry.path()));
      ++files;
    }
  }
  const bool small = std::getenv("DOVETAIL_TEST_SCALE") != nullptr;
  const unsigned rounds = small ? 300 : 3000;
  std::mt19937_64 random(20);
  for (unsigned round = 0; round < rounds; ++round) {
    const std::string& seed = seeds[random() % seeds.size()];
    run(changed(seed.substr(0, longest_to_change), seeds, random));
  }
  std::printf("%zu seeds, %zu files, %u changed inputs\n", seeds.size(), files, rounds);
  return 0;
}
