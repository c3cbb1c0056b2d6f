// HDF5 keeps what a call has asked for (transfer properties, what is known of them, tags of metadata) in a context. A call in the course
// of another one that has nothing to do with it needs a context of its own.
#pragma once

namespace dovetail::hdf5 {

/// For as long as this lives. The caller holds HDF5's lock.
class LibraryContext {
 public:
  /// Whether this HDF5 can do it. Versions 1.14 and 2 have different functions for it.
  static bool available() noexcept;

  LibraryContext() noexcept;
  LibraryContext(const LibraryContext&) = delete;
  LibraryContext& operator=(const LibraryContext&) = delete;
  ~LibraryContext();

 private:
  bool open_ = false;
  void* context_ = nullptr;
};

}  // namespace dovetail::hdf5
