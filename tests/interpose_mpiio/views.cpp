// Types that are rarely met, and the individual pointer of several threads. Argument: a folder.
#include <array>
#include <cstdio>
#include <cstring>
#include <thread>

#include "interpose_mpiio/staging_ranks.hpp"

namespace {

using namespace dovetail::test;

constexpr int usual_mode = MPI_MODE_CREATE | MPI_MODE_RDWR;

struct Place {
  std::string tier;
  std::string path;
};

MPI_File open_file(const Place& place) {
  const Info info(std::map<std::string, std::string>{
      {"e10_cache", "enable"}, {"e10_cache_path", place.tier}, {"e10_cache_flush_flag", "flush_onclose"}});
  MPI_File file = MPI_FILE_NULL;
  succeed(MPI_File_open(MPI_COMM_SELF, place.path.c_str(), usual_mode, info.get(), &file), "MPI_File_open");
  return file;
}

#if MPI_VERSION >= 4
std::string text_in(const Place& place) {
  const std::vector<char> contents = contents_of(place.path);
  return {contents.begin(), contents.end()};
}

// Every other byte, by a type with counts beyond 2^31.
MPI_Datatype large_type() {
  MPI_Datatype type = MPI_DATATYPE_NULL;
  succeed(MPI_Type_vector_c(4, 1, 2, MPI_CHAR, &type), "MPI_Type_vector_c");
  MPI_Type_commit(&type);
  return type;
}

// The library is not asked for the old way in which it was made, which would end the program.
void type_of_a_type_with_large_counts(const Place& place) {
  MPI_Datatype inner = large_type();
  MPI_Datatype outer = MPI_DATATYPE_NULL;
  MPI_Type_contiguous(1, inner, &outer);
  MPI_Type_commit(&outer);
  MPI_File file = open_file(place);
  succeed(MPI_File_write_at(file, 0, "a-b-c-d", 1, outer, MPI_STATUS_IGNORE), "writing");
  MPI_File_close(&file);
  MPI_Type_free(&outer);
  MPI_Type_free(&inner);
  check(text_in(place) == "abcd", "the file has " + text_in(place));
}
#endif

// The library owns it: it must not be freed.
void type_of_a_type_by_precision(const Place& place) {
  MPI_Datatype inner = MPI_DATATYPE_NULL;
  if (MPI_Type_create_f90_real(6, 30, &inner) != MPI_SUCCESS) {
    return;  // a library without Fortran
  }
  MPI_Datatype outer = MPI_DATATYPE_NULL;
  MPI_Type_contiguous(2, inner, &outer);
  MPI_Type_commit(&outer);
  MPI_File file = open_file(place);
  const std::array<float, 2> data{1.5F, -2.5F};
  succeed(MPI_File_write_at(file, 0, data.data(), 1, outer, MPI_STATUS_IGNORE), "writing");
  MPI_File_close(&file);
  MPI_Type_free(&outer);
  const std::vector<char> contents = contents_of(place.path);
  check(contents.size() == sizeof data && std::memcmp(contents.data(), data.data(), sizeof data) == 0,
        "the file has other bytes");
}

// Each write has a place of its own, and so has each read.
void pointer_of_several_threads(const Place& place) {
  constexpr std::size_t threads = 2;
  constexpr int each = 2000;
  MPI_File file = open_file(place);
  const auto run_all = [](const auto& work) {
    std::vector<std::thread> running;
    for (std::size_t i = 0; i < threads; ++i) {
      running.emplace_back(work, i);
    }
    for (std::thread& thread : running) {
      thread.join();
    }
  };
  run_all([&](std::size_t thread) {
    for (int i = 0; i < each; ++i) {
      const int number = static_cast<int>(thread) * each + i;
      succeed(MPI_File_write(file, &number, 1, MPI_INT, MPI_STATUS_IGNORE), "writing");
    }
  });
  MPI_File_seek(file, 0, MPI_SEEK_SET);
  std::array<std::vector<int>, threads> read;
  run_all([&](std::size_t thread) {
    for (int i = 0; i < each; ++i) {
      int number = -1;
      succeed(MPI_File_read(file, &number, 1, MPI_INT, MPI_STATUS_IGNORE), "reading");
      read[thread].push_back(number);
    }
  });
  MPI_File_close(&file);
  std::vector<int> seen(threads * each);
  for (const auto& numbers : read) {
    for (const int number : numbers) {
      check(number >= 0 && ++seen[static_cast<std::size_t>(number)] == 1, "a number is there twice, or not at all");
    }
  }
  check(contents_of(place.path).size() == seen.size() * sizeof(int), "a write took the place of another one");
}

}  // namespace

int main(int count, char** arguments) {
  const Ranks ranks(&count, &arguments, MPI_THREAD_MULTIPLE);
  std::vector<void (*)(const Place&)> tests{type_of_a_type_by_precision};
#if MPI_VERSION >= 4
  tests.push_back(type_of_a_type_with_large_counts);
#endif
  if (ranks.thread_level == MPI_THREAD_MULTIPLE) {
    tests.push_back(pointer_of_several_threads);
  } else {
    std::puts("this MPI library has no MPI_THREAD_MULTIPLE");
  }
  for (const auto& test : tests) {
    const std::string folder = empty_folder(ranks, arguments[1]);
    test({.tier = empty_folder(ranks, folder + "/tier"), .path = folder + "/file"});
  }
  return 0;
}
