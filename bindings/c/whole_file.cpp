// Files that are read whole.
#include "storage/whole_file.hpp"

#include <cstdlib>
#include <memory>
#include <new>
#include <utility>

#include "argument.hpp"
#include "error.hpp"

namespace dovetail::c {
namespace {

// Memory of `malloc`, with room for a zero behind the bytes.
class Data final : public storage::GrowingBytes {
 public:
  std::byte* grow(std::size_t bytes) override {
    void* const moved = std::realloc(data_.get(), bytes + 1);
    if (moved == nullptr) {
      throw std::bad_alloc();
    }
    static_cast<void>(data_.release());
    data_.reset(static_cast<std::byte*>(moved));
    return data_.get();
  }
  std::byte* cut_to(std::size_t bytes) && {
    grow(bytes)[bytes] = std::byte{0};
    return data_.release();
  }

 private:
  struct Free {
    void operator()(std::byte* data) const noexcept { std::free(data); }
  };
  std::unique_ptr<std::byte, Free> data_;
};

}  // namespace
}  // namespace dovetail::c

using namespace dovetail::c;

extern "C" {

int64_t dovetail_read_file(const char* path, void** data) {
  return guarded(__func__, [&] {
    given(path, "path");
    given(data, "data");
    Data read;
    const std::size_t bytes = dovetail::storage::read_whole(path, read);
    *data = std::move(read).cut_to(bytes);
    return static_cast<int64_t>(bytes);
  });
}

void dovetail_data_destroy(void* data) { std::free(data); }

}  // extern "C"
