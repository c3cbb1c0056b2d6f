// What the programs in the kernel tell the observer. Both include it, so it is C.
#pragma once

enum page_event_kind {
  page_event_read = 1,  // pages were read, by a call or in mapped memory
  page_event_name = 2,  // what a file is called, before its first read
};

// What is known of a file whose name was told, or that nothing more is to be told of.
enum page_file_state {
  page_file_named = 1,
  page_file_left_out = 2,
};

enum {
  page_event_name_bytes = 256,  // of one folder or file, with a zero behind it
  page_event_path_bytes = 4096,
  page_event_words_of_bits = 1024,
};

// A file as the page cache knows it: the number of its file system, as the kernel writes it, and of its inode.
struct page_file {
  unsigned long long device;
  unsigned long long inode;
};

struct page_event {
  unsigned int kind;
  unsigned int thread;
  unsigned int process;
  unsigned int bytes;  // of the names behind it
  struct page_file file;
  unsigned long long first;  // page
  unsigned long long last;   // page, which was read as well
  // Nanoseconds of the monotonic clock. `idle`: when the read of this thread before this one ended, or 0.
  unsigned long long begun;
  unsigned long long ended;
  unsigned long long idle;
};

// The names from the file up to the root of its file system, each with a zero behind it.
struct page_event_named {
  struct page_event event;
  char names[page_event_path_bytes + page_event_name_bytes];
};
