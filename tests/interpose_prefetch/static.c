// Linked statically: nothing can be loaded before it. static FILE [WHAT...]: reads at its start, and then does what it is told:
//   a number   reads there
//   wait       waits for a line of standard input
//   cached N   waits until the page at N is in memory, and reads nothing itself
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static int reads_at(int fd, off_t at) {
  char text[16];
  return pread(fd, text, sizeof text, at) == sizeof text;
}

static void wait_for_a_line(void) {
  char byte = 0;
  while (read(0, &byte, 1) == 1 && byte != '\n') {
  }
}

static int comes_by_itself(int fd, off_t at) {
  const size_t page = (size_t)sysconf(_SC_PAGESIZE);
  void* memory = mmap(NULL, page, PROT_READ, MAP_SHARED, fd, at);
  unsigned char state = 0;
  while (memory != MAP_FAILED && mincore(memory, page, &state) == 0 && (state & 1) == 0) {
  }
  return (state & 1) != 0;
}

int main(int count, char** words) {
  const int fd = count < 2 ? -1 : open(words[1], O_RDONLY);
  int good = fd >= 0 && reads_at(fd, 0);
  for (int i = 2; i < count && good; ++i) {
    if (strcmp(words[i], "wait") == 0) {
      wait_for_a_line();
    } else if (strcmp(words[i], "cached") == 0 && i + 1 < count) {
      good = comes_by_itself(fd, atol(words[++i]));
    } else {
      good = reads_at(fd, atol(words[i]));
    }
  }
  return good ? 0 : 1;
}
