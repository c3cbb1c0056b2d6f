// What programs of several ranks share that test staged files.
#pragma once

#include <mpi.h>
#include <unistd.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <system_error>
#include <vector>

namespace dovetail::test {

/// MPI as long as it lives.
class Ranks {
 public:
  Ranks(int* count, char*** arguments, int wanted_level = MPI_THREAD_SINGLE) {
    MPI_Init_thread(count, arguments, wanted_level, &thread_level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
  }
  ~Ranks() { MPI_Finalize(); }
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;

  int rank = 0;
  int size = 0;
  int thread_level = MPI_THREAD_SINGLE;
};

/// Ends all ranks if it does not hold.
inline void check(bool holds, const std::string& what) {
  if (!holds) {
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    std::fprintf(stderr, "rank %d: %s\n", rank, what.c_str());
    std::fflush(stderr);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
}

inline void succeed(int code, const std::string& what) {
  if (code != MPI_SUCCESS) {
    char text[MPI_MAX_ERROR_STRING + 1] = {};
    int length = 0;
    MPI_Error_string(code, text, &length);
    check(false, what + ": " + text);
  }
}

inline int class_of(int code) {
  int its_class = MPI_SUCCESS;
  MPI_Error_class(code, &its_class);
  return its_class;
}

inline std::string text_of(int code) {
  char text[MPI_MAX_ERROR_STRING + 1] = {};
  int length = 0;
  MPI_Error_string(code, text, &length);
  return {text, static_cast<std::size_t>(length)};
}

class Info {
 public:
  explicit Info(const std::map<std::string, std::string>& hints) {
    MPI_Info_create(&info_);
    for (const auto& [name, value] : hints) {
      MPI_Info_set(info_, name.c_str(), value.c_str());
    }
  }
  ~Info() { MPI_Info_free(&info_); }
  Info(const Info&) = delete;
  Info& operator=(const Info&) = delete;
  MPI_Info get() const { return info_; }

 private:
  MPI_Info info_ = MPI_INFO_NULL;
};

/// Of the files in its folders, also while other ranks write and drain.
inline std::uintmax_t bytes_in_tier(const std::string& tier) {
  std::uintmax_t sum = 0;
  std::error_code error;
  for (std::filesystem::directory_iterator folder(tier, error), end; !error && folder != end; folder.increment(error)) {
    std::error_code of_folder;
    for (std::filesystem::directory_iterator file(folder->path(), of_folder); !of_folder && file != end;
         file.increment(of_folder)) {
      std::error_code removed;
      const std::uintmax_t bytes = file->file_size(removed);
      sum += removed ? 0 : bytes;
    }
  }
  return sum;
}

/// As the operating system sees it.
inline std::vector<char> contents_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// Folders of logs in the tier.
inline std::size_t folders_in(const std::string& tier) {
  std::size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(tier)) {
    count += entry.is_directory() ? 1 : 0;
  }
  return count;
}

/// An empty folder of that name, for all ranks.
inline std::string empty_folder(const Ranks& ranks, const std::string& path) {
  if (ranks.rank == 0) {
    std::filesystem::remove_all(path);
    std::filesystem::create_directories(path);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  return path;
}

}  // namespace dovetail::test
