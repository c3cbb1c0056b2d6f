// Copies a file and computes a checksum on the way. One task reads a block, one sums it up, one writes it. The accesses that the tasks
// declare decide which of them may overlap. Two tasks sum up and write a block at the same time, while others read later blocks into
// other slots. No loop keeps a number of requests in flight.
//
//     copy_and_checksum [-b bytes of a block] [-s slots] [-w workers] [-d] [-t trace.json] source target
//
// Exit status: 0 done, 1 reading or writing failed, 2 wrong arguments.
#define _POSIX_C_SOURCE 200809L
#include <dovetail/dovetail.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct Copy {
  dovetail_file* source;
  dovetail_file* target;
  int64_t size;
  int64_t block_size;
  uint32_t* checksums;  // one of each block
};

// The argument of the tasks of one block. Small, so every task gets a copy.
struct Block {
  const struct Copy* copy;
  unsigned char* slot;
  int64_t number;
  int64_t offset;
  int64_t length;
};

static uint32_t crc32_table[256];

static void make_crc32_table(void) {
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t remainder = byte;
    for (int bit = 0; bit < 8; ++bit) {
      remainder = (remainder >> 1) ^ ((remainder & 1) != 0 ? 0xEDB88320u : 0u);
    }
    crc32_table[byte] = remainder;
  }
}

static uint32_t crc32(const unsigned char* bytes, size_t length) {
  uint32_t sum = 0xFFFFFFFFu;
  for (size_t i = 0; i < length; ++i) {
    sum = (sum >> 8) ^ crc32_table[(sum ^ bytes[i]) & 0xFFu];
  }
  return sum ^ 0xFFFFFFFFu;
}

// Pauses until the block is there; the worker computes checksums meanwhile.
static int32_t read_block(void* argument) {
  const struct Block* const block = argument;
  const int64_t got = dovetail_file_pread(block->copy->source, block->slot, (size_t)block->length, block->offset);
  if (got < 0) {
    return (int32_t)got;
  }
  return got == block->length ? 0 : dovetail_error_set(-EIO, "the source became shorter while it was copied");
}

static void sum_block(void* argument) {
  const struct Block* const block = argument;
  block->copy->checksums[block->number] = crc32(block->slot, (size_t)block->length);
}

// Does not pause: the body returns at once, and the task is complete (the slot free) when the block is written.
static int32_t write_block(void* argument) {
  const struct Block* const block = argument;
  return dovetail_file_ipwrite(block->copy->target, block->slot, (size_t)block->length, block->offset, NULL);
}

static int32_t spawn_tasks_of_block(dovetail_runtime* runtime, const struct Block* block) {
  const struct Copy* const copy = block->copy;
  const size_t length = (size_t)block->length;
  const dovetail_access reads[] = {
      dovetail_access_memory(DOVETAIL_ACCESS_OUT, block->slot, length),
      dovetail_access_file(DOVETAIL_ACCESS_IN, copy->source, block->offset, block->length)};
  const dovetail_access sums[] = {dovetail_access_memory(DOVETAIL_ACCESS_IN, block->slot, length)};
  const dovetail_access writes[] = {
      dovetail_access_memory(DOVETAIL_ACCESS_IN, block->slot, length),
      dovetail_access_file(DOVETAIL_ACCESS_OUT, copy->target, block->offset, block->length)};
  const dovetail_task_description tasks[] = {
      {.size = sizeof tasks[0], .label = "read", .fallible_body = read_block, .accesses = reads, .access_count = 2},
      {.size = sizeof tasks[0], .label = "checksum", .body = sum_block, .accesses = sums, .access_count = 1},
      {.size = sizeof tasks[0], .label = "write", .fallible_body = write_block, .accesses = writes, .access_count = 2},
  };
  for (size_t i = 0; i < sizeof tasks / sizeof tasks[0]; ++i) {
    dovetail_task_description task = tasks[i];
    task.argument = (void*)block;
    task.argument_size = sizeof *block;
    const int32_t status = dovetail_runtime_spawn(runtime, &task, NULL);
    if (status < 0) {
      return status;
    }
  }
  return 0;
}

static int32_t copy_blocks(dovetail_runtime* runtime, const struct Copy* copy, unsigned char* slots,
                           int64_t slot_count) {
  int32_t status = 0;
  for (int64_t offset = 0, number = 0; offset < copy->size && status == 0; offset += copy->block_size, ++number) {
    const int64_t left = copy->size - offset;
    const struct Block block = {copy, slots + (number % slot_count) * copy->block_size, number, offset,
                                left < copy->block_size ? left : copy->block_size};
    status = spawn_tasks_of_block(runtime, &block);
  }
  const int32_t failure = dovetail_runtime_wait(runtime);
  return status < 0 ? status : failure;
}

static void print_result(const struct Copy* copy, int64_t block_count) {
  unsigned char* const bytes = malloc((size_t)block_count * 4 + 1);
  if (bytes == NULL) {
    return;
  }
  for (int64_t i = 0; i < block_count * 4; ++i) {
    bytes[i] = (unsigned char)(copy->checksums[i / 4] >> (24 - 8 * (i % 4)));
  }
  dovetail_trace_summary summary = {.size = sizeof summary};
  dovetail_trace_summarize(&summary);
  printf("bytes %" PRId64 "\nblocks %" PRId64 "\nchecksum %08" PRIx32 "\n", copy->size, block_count,
         crc32(bytes, (size_t)block_count * 4));
  printf("seconds %.4f, of these computing %.4f, with I/O in flight %.4f; hidden %.2f\n", summary.total,
         summary.compute, summary.io, summary.hidden_share);
  free(bytes);
}

struct Arguments {
  const char* source;
  const char* target;
  const char* trace;
  int64_t block_size;
  int64_t slots;
  int32_t workers;
  int32_t direct;
};

static int usage(const char* problem, const char* value) {
  fprintf(stderr,
          "copy_and_checksum: %s: '%s'\n"
          "usage: copy_and_checksum [-b bytes of a block] [-s slots] [-w workers] [-d] [-t trace.json] source target\n",
          problem, value);
  return 2;
}

static int64_t positive(const char* text, int64_t most) {
  char* end = NULL;
  errno = 0;
  const long long value = strtoll(text, &end, 10);
  return errno != 0 || end == text || *end != '\0' || value < 1 || value > most ? -1 : value;
}

static int parse(int argc, char** argv, struct Arguments* arguments) {
  int option = 0;
  opterr = 0;
  while ((option = getopt(argc, argv, ":b:s:w:t:d")) != -1) {
    const char unknown[] = {'-', (char)optopt, '\0'};
    switch (option) {
      case 'b':
        arguments->block_size = positive(optarg, INT64_C(1) << 30);
        break;
      case 's':
        arguments->slots = positive(optarg, 4096);
        break;
      case 'w':
        arguments->workers = (int32_t)positive(optarg, 1024);
        break;
      case 't':
        arguments->trace = optarg;
        break;
      case 'd':
        arguments->direct = DOVETAIL_DIRECT_AUTOMATIC;
        break;
      case ':':
        return usage("an option lacks its value", unknown);
      default:
        return usage("unknown option", unknown);
    }
    if (arguments->block_size < 0 || arguments->slots < 0 || arguments->workers < 0) {
      return usage("not a positive number, or too large", optarg);
    }
  }
  if (argc - optind != 2) {
    return usage("expected a source and a target", argc > optind ? argv[argc - 1] : "");
  }
  arguments->source = argv[optind];
  arguments->target = argv[optind + 1];
  return 0;
}

// Says what happened, with file, offset and reason.
static int failed(void) {
  fprintf(stderr, "copy_and_checksum: %s\n", dovetail_error_message());
  return 1;
}

static int run(dovetail_runtime* runtime, const struct Arguments* arguments, struct Copy* copy) {
  const dovetail_file_options options = {.size = sizeof options, .direct = arguments->direct};
  if (dovetail_file_open(arguments->source, O_RDONLY, &options, &copy->source) < 0) {
    failed();
    return 2;
  }
  if (dovetail_file_open(arguments->target, O_WRONLY | O_CREAT, &options, &copy->target) < 0) {
    failed();
    return 2;
  }
  if (dovetail_file_space(copy->source) == dovetail_file_space(copy->target)) {
    return usage("source and target are the same file", arguments->target);
  }
  if (dovetail_file_size(copy->target) > 0 && dovetail_file_truncate(copy->target, 0) < 0) {
    return failed();
  }
  copy->size = dovetail_file_size(copy->source);
  if (copy->size < 0) {
    return failed();
  }
  copy->block_size = arguments->block_size;
  const int64_t block_count = (copy->size + copy->block_size - 1) / copy->block_size;
  unsigned char* const slots =
      aligned_alloc(4096, ((size_t)(copy->block_size * arguments->slots) + 4095) / 4096 * 4096);
  copy->checksums = calloc((size_t)block_count + 1, sizeof *copy->checksums);
  int status = 0;
  if (slots == NULL || copy->checksums == NULL) {
    fprintf(stderr, "copy_and_checksum: no memory for %" PRId64 " slots of %" PRId64 " bytes; use -s and -b\n",
            arguments->slots, copy->block_size);
    status = 1;
  } else {
    dovetail_trace_start();
    if (copy_blocks(runtime, copy, slots, arguments->slots) < 0 || dovetail_file_fdatasync(copy->target) < 0) {
      status = failed();
    }
    dovetail_trace_stop();
  }
  if (status == 0) {
    print_result(copy, block_count);
    if (arguments->trace != NULL && dovetail_trace_write(arguments->trace) < 0) {
      status = failed();
    }
  }
  free(slots);
  free(copy->checksums);
  return status;
}

int main(int argc, char** argv) {
  struct Arguments arguments = {.block_size = INT64_C(1) << 20, .slots = 16};
  const int wrong = parse(argc, argv, &arguments);
  if (wrong != 0) {
    return wrong;
  }
  make_crc32_table();
  const dovetail_options options = {.size = sizeof options, .workers = arguments.workers};
  dovetail_runtime* runtime = NULL;
  if (dovetail_runtime_create(&options, &runtime) < 0) {
    failed();
    return 2;
  }
  struct Copy copy = {0};
  int status = run(runtime, &arguments, &copy);
  if (dovetail_file_close(copy.source) < 0 || dovetail_file_close(copy.target) < 0) {
    status = failed();
  }
  dovetail_runtime_destroy(runtime);
  return status;
}
