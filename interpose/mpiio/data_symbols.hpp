// The calls that move data, for one size of counts: COUNT is its type, LIBRARY(name) the MPI library's own function, and NAMED(name) the symbol. The
// includer defines them. A call with a pointer of this rank's or an offset becomes one of this rank alone, collective or not. Those with the shared pointer are the
// MPI library's, behind a drain.

SHOWN int NAMED(MPI_File_write_at)(MPI_File file, MPI_Offset offset, const void* data, COUNT count, MPI_Datatype type,
                                   MPI_Status* status) {
  const auto staged = find_staged(file);
  return staged == nullptr ? LIBRARY(File_write_at)(file, offset, data, count, type, status)
                           : tell_status(write_at(*staged, file, offset, memory(data, count, type)), status);
}

SHOWN int NAMED(MPI_File_write_at_all)(MPI_File file, MPI_Offset offset, const void* data, COUNT count,
                                       MPI_Datatype type, MPI_Status* status) {
  const auto staged = find_staged(file);
  return staged == nullptr ? LIBRARY(File_write_at_all)(file, offset, data, count, type, status)
                           : tell_status(write_at_all(*staged, file, offset, memory(data, count, type)), status);
}

SHOWN int NAMED(MPI_File_iwrite_at)(MPI_File file, MPI_Offset offset, const void* data, COUNT count, MPI_Datatype type,
                                    MPI_Request* request) {
  const auto staged = find_staged(file);
  return staged == nullptr ? LIBRARY(File_iwrite_at)(file, offset, data, count, type, request)
                           : tell_request(write_at(*staged, file, offset, memory(data, count, type)), request);
}

SHOWN int NAMED(MPI_File_iwrite_at_all)(MPI_File file, MPI_Offset offset, const void* data, COUNT count,
                                        MPI_Datatype type, MPI_Request* request) {
  const auto staged = find_staged(file);
  return staged == nullptr ? LIBRARY(File_iwrite_at_all)(file, offset, data, count, type, request)
                           : tell_request(write_at(*staged, file, offset, memory(data, count, type)), request);
}

SHOWN int NAMED(MPI_File_write_at_all_begin)(MPI_File file, MPI_Offset offset, const void* data, COUNT count,
                                             MPI_Datatype type) {
  const auto staged = find_staged(file);
  return staged == nullptr ? LIBRARY(File_write_at_all_begin)(file, offset, data, count, type)
                           : tell_begin(*staged, write_at_all(*staged, file, offset, memory(data, count, type)));
}

SHOWN int NAMED(MPI_File_write)(MPI_File file, const void* data, COUNT count, MPI_Datatype type, MPI_Status* status) {
  const auto staged = find_staged(file);
  return staged == nullptr ? LIBRARY(File_write)(file, data, count, type, status)
                           : tell_status(write_at_pointer(*staged, file, memory(data, count, type)), status);
}

SHOWN int NAMED(MPI_File_write_all)(MPI_File file, const void* data, COUNT count, MPI_Datatype type,
                                    MPI_Status* status) {
  const auto staged = find_staged(file);
  return staged == nullptr ? LIBRARY(File_write_all)(file, data, count, type, status)
                           : tell_status(write_all_at_pointer(*staged, file, memory(data, count, type)), status);
}

SHOWN int NAMED(MPI_File_iwrite)(MPI_File file, const void* data, COUNT count, MPI_Datatype type,
                                 MPI_Request* request) {
  const auto staged = find_staged(file);
  return staged == nullptr ? LIBRARY(File_iwrite)(file, data, count, type, request)
                           : tell_request(write_at_pointer(*staged, file, memory(data, count, type)), request);
}

SHOWN int NAMED(MPI_File_iwrite_all)(MPI_File file, const void* data, COUNT count, MPI_Datatype type,
                                     MPI_Request* request) {
  const auto staged = find_staged(file);
  return staged == nullptr ? LIBRARY(File_iwrite_all)(file, data, count, type, request)
                           : tell_request(write_at_pointer(*staged, file, memory(data, count, type)), request);
}

SHOWN int NAMED(MPI_File_write_all_begin)(MPI_File file, const void* data, COUNT count, MPI_Datatype type) {
  const auto staged = find_staged(file);
  return staged == nullptr ? LIBRARY(File_write_all_begin)(file, data, count, type)
                           : tell_begin(*staged, write_all_at_pointer(*staged, file, memory(data, count, type)));
}

SHOWN int NAMED(MPI_File_write_shared)(MPI_File file, const void* data, COUNT count, MPI_Datatype type,
                                       MPI_Status* status) {
  const int code = before_shared_pointer(file, drain_own);
  return code == MPI_SUCCESS ? LIBRARY(File_write_shared)(file, data, count, type, status) : code;
}

SHOWN int NAMED(MPI_File_iwrite_shared)(MPI_File file, const void* data, COUNT count, MPI_Datatype type,
                                        MPI_Request* request) {
  const int code = before_shared_pointer(file, drain_own);
  return code == MPI_SUCCESS ? LIBRARY(File_iwrite_shared)(file, data, count, type, request) : code;
}

SHOWN int NAMED(MPI_File_write_ordered)(MPI_File file, const void* data, COUNT count, MPI_Datatype type,
                                        MPI_Status* status) {
  const int code = before_shared_pointer(file, drain_all);
  return code == MPI_SUCCESS ? LIBRARY(File_write_ordered)(file, data, count, type, status) : code;
}

SHOWN int NAMED(MPI_File_write_ordered_begin)(MPI_File file, const void* data, COUNT count, MPI_Datatype type) {
  const int code = before_shared_pointer(file, drain_all);
  return code == MPI_SUCCESS ? LIBRARY(File_write_ordered_begin)(file, data, count, type) : code;
}

SHOWN int NAMED(MPI_File_read_at)(MPI_File file, MPI_Offset offset, void* data, COUNT count, MPI_Datatype type,
                                  MPI_Status* status) {
  const auto staged = find_staged(file);
  return staged == nullptr ? LIBRARY(File_read_at)(file, offset, data, count, type, status)
                           : tell_status(read_at(*staged, file, offset, memory(data, count, type)), status);
}

SHOWN int NAMED(MPI_File_read_at_all)(MPI_File file, MPI_Offset offset, void* data, COUNT count, MPI_Datatype type,
                                      MPI_Status* status) {
  const auto staged = find_staged(file);
  bool is_staged = false;
  if (const int code = staged == nullptr ? MPI_SUCCESS : settle_before_read(*staged, file, is_staged);
      code != MPI_SUCCESS) {
    return code;
  }
  return is_staged ? tell_status(read_at(*staged, file, offset, memory(data, count, type)), status)
                   : LIBRARY(File_read_at_all)(file, offset, data, count, type, status);
}

SHOWN int NAMED(MPI_File_iread_at)(MPI_File file, MPI_Offset offset, void* data, COUNT count, MPI_Datatype type,
                                   MPI_Request* request) {
  const auto staged = find_staged(file);
  return staged == nullptr ? LIBRARY(File_iread_at)(file, offset, data, count, type, request)
                           : tell_request(read_at(*staged, file, offset, memory(data, count, type)), request);
}

SHOWN int NAMED(MPI_File_iread_at_all)(MPI_File file, MPI_Offset offset, void* data, COUNT count, MPI_Datatype type,
                                       MPI_Request* request) {
  const auto staged = find_staged(file);
  return staged == nullptr ? LIBRARY(File_iread_at_all)(file, offset, data, count, type, request)
                           : tell_request(read_at(*staged, file, offset, memory(data, count, type)), request);
}

SHOWN int NAMED(MPI_File_read_at_all_begin)(MPI_File file, MPI_Offset offset, void* data, COUNT count,
                                            MPI_Datatype type) {
  const auto staged = find_staged(file);
  return staged == nullptr ? LIBRARY(File_read_at_all_begin)(file, offset, data, count, type)
                           : tell_begin(*staged, read_at(*staged, file, offset, memory(data, count, type)));
}

SHOWN int NAMED(MPI_File_read)(MPI_File file, void* data, COUNT count, MPI_Datatype type, MPI_Status* status) {
  const auto staged = find_staged(file);
  return staged == nullptr ? LIBRARY(File_read)(file, data, count, type, status)
                           : tell_status(read_at_pointer(*staged, file, memory(data, count, type)), status);
}

SHOWN int NAMED(MPI_File_read_all)(MPI_File file, void* data, COUNT count, MPI_Datatype type, MPI_Status* status) {
  const auto staged = find_staged(file);
  bool is_staged = false;
  if (const int code = staged == nullptr ? MPI_SUCCESS : settle_before_read(*staged, file, is_staged);
      code != MPI_SUCCESS) {
    return code;
  }
  return is_staged ? tell_status(read_at_pointer(*staged, file, memory(data, count, type)), status)
                   : LIBRARY(File_read_all)(file, data, count, type, status);
}

SHOWN int NAMED(MPI_File_iread)(MPI_File file, void* data, COUNT count, MPI_Datatype type, MPI_Request* request) {
  const auto staged = find_staged(file);
  return staged == nullptr ? LIBRARY(File_iread)(file, data, count, type, request)
                           : tell_request(read_at_pointer(*staged, file, memory(data, count, type)), request);
}

SHOWN int NAMED(MPI_File_iread_all)(MPI_File file, void* data, COUNT count, MPI_Datatype type, MPI_Request* request) {
  const auto staged = find_staged(file);
  return staged == nullptr ? LIBRARY(File_iread_all)(file, data, count, type, request)
                           : tell_request(read_at_pointer(*staged, file, memory(data, count, type)), request);
}

SHOWN int NAMED(MPI_File_read_all_begin)(MPI_File file, void* data, COUNT count, MPI_Datatype type) {
  const auto staged = find_staged(file);
  return staged == nullptr ? LIBRARY(File_read_all_begin)(file, data, count, type)
                           : tell_begin(*staged, read_at_pointer(*staged, file, memory(data, count, type)));
}

SHOWN int NAMED(MPI_File_read_shared)(MPI_File file, void* data, COUNT count, MPI_Datatype type, MPI_Status* status) {
  const int code = before_shared_pointer(file, drain_own);
  return code == MPI_SUCCESS ? LIBRARY(File_read_shared)(file, data, count, type, status) : code;
}

SHOWN int NAMED(MPI_File_iread_shared)(MPI_File file, void* data, COUNT count, MPI_Datatype type,
                                       MPI_Request* request) {
  const int code = before_shared_pointer(file, drain_own);
  return code == MPI_SUCCESS ? LIBRARY(File_iread_shared)(file, data, count, type, request) : code;
}

SHOWN int NAMED(MPI_File_read_ordered)(MPI_File file, void* data, COUNT count, MPI_Datatype type, MPI_Status* status) {
  const int code = before_shared_pointer(file, drain_all);
  return code == MPI_SUCCESS ? LIBRARY(File_read_ordered)(file, data, count, type, status) : code;
}

SHOWN int NAMED(MPI_File_read_ordered_begin)(MPI_File file, void* data, COUNT count, MPI_Datatype type) {
  const int code = before_shared_pointer(file, drain_all);
  return code == MPI_SUCCESS ? LIBRARY(File_read_ordered_begin)(file, data, count, type) : code;
}
