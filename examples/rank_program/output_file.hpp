/// @file
/// The file that a run leaves. Each rank opens it and writes its own bytes to their places.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "options.hpp"

namespace rank_program {

/// A file that is open for writing. All functions throw std::system_error, which names the file, and the offset where there is one.
class OutputFile {
 public:
  /// `flags`: for open(2), besides O_WRONLY and O_CLOEXEC.
  explicit OutputFile(std::string path, int flags = 0);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  void set_size(std::size_t size);
  /// All bytes.
  void write(std::span<const std::byte> bytes, std::size_t offset);
  /// The destructor closes it, too, but cannot tell a failure.
  void close();

 private:
  [[noreturn]] void fail(int error, const std::string& where = "") const;

  std::string path_;
  int descriptor_;
};

/// Makes the file of `--output`, if one is wanted, of this size. 0: empty. So an error is known before the computation, not after it.
/// @throws BadInput
void prepare_output(const Options& options, std::size_t size);

}  // namespace rank_program
