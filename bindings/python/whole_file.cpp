#include "whole_file.hpp"

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>

#include "failure.hpp"
#include "storage/whole_file.hpp"
#include "thread_state.hpp"

namespace dovetail::python {
namespace {

// Up to so many bytes a copy costs less than taking the interpreter once more.
constexpr std::size_t most_copied = std::size_t{256} << 10;

class PythonBytes final : public storage::GrowingBytes {
 public:
  // Called without the interpreter.
  std::byte* grow(std::size_t bytes) override {
    if (bytes > most_copied) {
      const Locked locked;
      resize_object(bytes);
      return content();
    }
    void* const moved = std::realloc(small_.get(), bytes);
    if (moved == nullptr) {
      throw std::bad_alloc();
    }
    static_cast<void>(small_.release());
    small_.reset(static_cast<std::byte*>(moved));
    small_size_ = bytes;
    return small_.get();
  }
  // With the interpreter.
  Held cut_to(std::size_t bytes) && {
    if (!object_) {
      return checked(
          PyBytes_FromStringAndSize(reinterpret_cast<const char*>(small_.get()), static_cast<Py_ssize_t>(bytes)));
    }
    resize_object(bytes);
    return std::move(object_);
  }

 private:
  struct Free {
    void operator()(std::byte* memory) const noexcept { std::free(memory); }
  };

  std::byte* content() const noexcept { return reinterpret_cast<std::byte*>(PyBytes_AS_STRING(object_.get())); }
  void resize_object(std::size_t bytes) {
    if (object_) {
      PyObject* object = object_.release();
      checked(_PyBytes_Resize(&object, static_cast<Py_ssize_t>(bytes)));
      object_ = Held::adopt(object);
      return;
    }
    object_ = checked(PyBytes_FromStringAndSize(nullptr, static_cast<Py_ssize_t>(bytes)));
    if (small_ != nullptr) {
      std::memcpy(content(), small_.get(), small_size_);
      small_.reset();
    }
  }

  std::unique_ptr<std::byte, Free> small_;
  std::size_t small_size_ = 0;
  Held object_;
};

}  // namespace

Held read_whole_file(const std::string& path) {
  PythonBytes read;
  std::size_t bytes = 0;
  {
    const Unlocked unlocked;
    bytes = storage::read_whole(path, read);
  }
  return std::move(read).cut_to(bytes);
}

}  // namespace dovetail::python
