#include "output_file.hpp"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <system_error>

#include "options.hpp"

namespace heat {

void require_writable(const std::string& option, const std::string& path) {
  if (!path.empty() && !std::ofstream(path, std::ios::app)) {
    throw BadInput(option + ": " + path + " cannot be written: " + std::strerror(errno));
  }
}

void write_text(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::trunc);
  file << text;
  file.close();
  if (!file) {
    throw std::system_error(errno, std::generic_category(), path);
  }
}

}  // namespace heat
