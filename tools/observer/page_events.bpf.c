// Sees which pages the threads of one program read, whoever has asked for them: a call, io_uring, or an access to mapped memory.
//
// What these programs need of the kernel's types is declared here, by the kernel's names: where a field lies is found out when they are loaded. They stand at
// tracepoints alone, since kernels may refuse programs at functions.
#include <linux/bpf.h>
#include <linux/types.h>
#include <stdbool.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "page_events.h"

#define KERNEL_TYPE __attribute__((preserve_access_index))

struct hlist_node {
  struct hlist_node* next;
} KERNEL_TYPE;
struct hlist_head {
  struct hlist_node* first;
} KERNEL_TYPE;
struct super_block {
  __u32 s_dev;
} KERNEL_TYPE;
struct inode {
  unsigned long i_ino;
  struct super_block* i_sb;
  struct hlist_head i_dentry;
} KERNEL_TYPE;
struct address_space {
  struct inode* host;
} KERNEL_TYPE;
struct folio {
  struct address_space* mapping;
} KERNEL_TYPE;
struct qstr {
  const unsigned char* name;
} KERNEL_TYPE;
struct dentry {
  struct dentry* d_parent;
  struct qstr d_name;
  union {
    struct hlist_node d_alias;
  } d_u;
} KERNEL_TYPE;
struct task_struct {
  int pid;
  int tgid;
  struct task_struct* group_leader;
} KERNEL_TYPE;
void bpf_rcu_read_lock(void) __ksym;
void bpf_rcu_read_unlock(void) __ksym;

char terms[] SEC("license") = "GPL";

// All files, and their names; otherwise the files in `wanted` alone.
const volatile __u32 observing = 0;
// With `observing`: somebody waits for each event, and files may be left out.
const volatile __u32 advising = 0;
// Bytes that may wait in `events` before an observer that is in no hurry is woken.
const volatile __u64 waiting = 0;

// What is known of a thread of the program. It ends with the thread.
struct thread {
  struct page_file file;      // of the last read that was told
  struct page_file missing;   // a file whose pages were not there
  struct page_file left_out;  // of which nothing is told: the last one that was read
  __u64 first;
  __u64 last;
  __u64 begun;  // since when they are fetched
  __u64 ended;
};
struct {
  __uint(type, BPF_MAP_TYPE_TASK_STORAGE);
  __uint(map_flags, BPF_F_NO_PREALLOC);
  __type(key, int);
  __type(value, struct thread);
} threads SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, 1);  // as many as the plan has files
  __type(key, struct page_file);
  __type(value, __u8);
} wanted SEC(".maps");

// A bit for each file in `wanted`, by its inode: what is read of most other files costs no more than a look at theirs.
__u64 wanted_bits[page_event_words_of_bits] = {};

// Files whose name was told, or that are left out. One that was forgotten is told once more.
struct {
  __uint(type, BPF_MAP_TYPE_LRU_HASH);
  __uint(max_entries, 65536);
  __type(key, struct page_file);
  __type(value, __u8);
} named SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_RINGBUF);
  __uint(max_entries, 16 << 20);
} events SEC(".maps");

enum { most_folders = 128 };

__u64 lost = 0;

static __always_inline struct thread* current_thread(struct task_struct* task) {
  struct thread* found = bpf_task_storage_get(&threads, task, NULL, 0);
  if (found == NULL) {
    // The threads that the kernel adds to a process for io_uring are made without a word.
    bpf_rcu_read_lock();
    struct task_struct* leader = task->group_leader;
    if (leader != NULL) {
      found = bpf_task_storage_get(&threads, leader, NULL, 0);
    }
    bpf_rcu_read_unlock();
  }
  return found;
}

static __always_inline bool same(const struct page_file* one, const struct page_file* other) {
  return one->inode == other->inode && one->device == other->device;
}

static __always_inline struct page_file file_of(const struct inode* inode) {
  const struct page_file file = {inode->i_sb->s_dev, inode->i_ino};
  return file;
}

static __u64 wake_up(void) {
  if (!observing || advising) {
    return 0;
  }
  return bpf_ringbuf_query(&events, BPF_RB_AVAIL_DATA) >= waiting ? BPF_RB_FORCE_WAKEUP : BPF_RB_NO_WAKEUP;
}

static void describe(struct page_event* event, const struct task_struct* task, const struct page_file* file,
                     __u32 kind) {
  __builtin_memset(event, 0, sizeof *event);
  event->kind = kind;
  event->thread = (__u32)task->pid;
  event->process = (__u32)task->tgid;
  event->file = *file;
}

// False: there was no room.
static bool tell_name(const struct inode* inode, const struct task_struct* task, const struct page_file* file) {
  const __u8 state = page_file_named;
  if (bpf_map_lookup_elem(&named, file) != NULL || bpf_map_update_elem(&named, file, &state, BPF_NOEXIST) != 0) {
    return true;
  }
  struct page_event_named* event = bpf_ringbuf_reserve(&events, sizeof *event, 0);
  if (event == NULL) {
    __sync_fetch_and_add(&lost, 1);
    bpf_map_delete_elem(&named, file);
    return false;
  }
  describe(&event->event, task, file, page_event_name);
  __u32 at = 0;
  const struct hlist_node* node = BPF_CORE_READ(inode, i_dentry.first);
  if (node != NULL && bpf_core_field_exists(struct dentry, d_u.d_alias)) {
    const struct dentry* entry = (const void*)node - bpf_core_field_offset(struct dentry, d_u.d_alias);
    for (int depth = 0; depth < most_folders; ++depth) {
      const struct dentry* parent = BPF_CORE_READ(entry, d_parent);
      if (parent == entry || parent == NULL) {
        break;
      }
      const unsigned char* name = BPF_CORE_READ(entry, d_name.name);
      // The compiler must not find another way to say this: the kernel looks for it.
      barrier_var(at);
      if (at > page_event_path_bytes) {
        break;
      }
      const long bytes = bpf_probe_read_kernel_str(event->names + at, page_event_name_bytes, name);
      if (bytes <= 1) {
        at = 0;
        break;
      }
      at += bytes;
      entry = parent;
    }
  }
  event->event.bytes = at;
  bpf_ringbuf_submit(event, wake_up());
  return true;
}

static bool is_left_out(struct thread* thread, const struct page_file* file) {
  // The table takes longer than all of the rest.
  if (same(&thread->left_out, file)) {
    return true;
  }
  const __u8* state = bpf_map_lookup_elem(&named, file);
  if (state == NULL || *state != page_file_left_out) {
    return false;
  }
  thread->left_out = *file;
  return true;
}

static void tell_read(struct thread* thread, const struct inode* inode, const struct task_struct* task, __u64 first,
                      __u64 last) {
  const struct page_file file = file_of(inode);
  if (advising && is_left_out(thread, &file)) {
    return;
  }
  const __u64 now = bpf_ktime_get_ns();
  // What a read waits for the device is no time in which the program computes.
  const __u64 begun = thread->begun != 0 && same(&thread->missing, &file) ? thread->begun : now;
  const __u64 idle = thread->ended;
  thread->begun = 0;
  thread->ended = now;
  // Again what it has just read: a call may look for its pages several times.
  const bool again = same(&thread->file, &file);
  if (again && first >= thread->first && last <= thread->last) {
    return;
  }
  if (observing && !again && !tell_name(inode, task, &file)) {
    return;
  }
  struct page_event* event = bpf_ringbuf_reserve(&events, sizeof *event, 0);
  if (event == NULL) {
    __sync_fetch_and_add(&lost, 1);
    return;
  }
  thread->file = file;
  thread->first = first;
  thread->last = last;
  describe(event, task, &file, page_event_read);
  event->first = first;
  event->last = last;
  event->begun = begun;
  event->ended = now;
  event->idle = idle;
  bpf_ringbuf_submit(event, wake_up());
}

static __always_inline bool is_wanted(const struct inode* inode) {
  const __u64 number = inode->i_ino;
  if ((wanted_bits[number / 64 % page_event_words_of_bits] >> number % 64 & 1) == 0) {
    return false;
  }
  const struct page_file file = file_of(inode);
  return bpf_map_lookup_elem(&wanted, &file) != NULL;
}

static __always_inline int pages_read(const struct address_space* mapping, __u64 first, __u64 last) {
  const struct inode* inode = mapping->host;
  if (!observing && !is_wanted(inode)) {
    return 0;
  }
  struct task_struct* task = bpf_get_current_task_btf();
  struct thread* thread = current_thread(task);
  if (thread != NULL) {
    tell_read(thread, inode, task, first, last);
  }
  return 0;
}

SEC("tp_btf/mm_filemap_get_pages")
int BPF_PROG(got_pages, struct address_space* mapping, unsigned long first, unsigned long last) {
  return pages_read(mapping, first, last);
}

SEC("tp_btf/mm_filemap_fault")
int BPF_PROG(faulted, struct address_space* mapping, unsigned long page) { return pages_read(mapping, page, page); }

SEC("tp_btf/mm_filemap_map_pages")
int BPF_PROG(mapped_pages, struct address_space* mapping, unsigned long first, unsigned long last) {
  return pages_read(mapping, first, last);
}

// A read whose pages are not there takes new ones before it asks the device.
SEC("tp_btf/mm_filemap_add_to_page_cache")
int BPF_PROG(missed, struct folio* folio) {
  const struct inode* inode = folio->mapping->host;
  if (!observing && !is_wanted(inode)) {
    return 0;
  }
  struct thread* thread = current_thread(bpf_get_current_task_btf());
  if (thread == NULL) {
    return 0;
  }
  const struct page_file file = file_of(inode);
  if (thread->begun == 0 || !same(&thread->missing, &file)) {
    thread->missing = file;
    thread->begun = bpf_ktime_get_ns();
  }
  return 0;
}

SEC("tp_btf/sched_process_fork")
int BPF_PROG(forked, struct task_struct* parent, struct task_struct* child) {
  if (bpf_task_storage_get(&threads, parent, NULL, 0) != NULL) {
    bpf_task_storage_get(&threads, child, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
  }
  return 0;
}
