// A library that takes most of what the C library keeps for thread-locals of libraries that are loaded late (1 664 bytes, of which
// Python's own modules use some).
__attribute__((tls_model("initial-exec"))) thread_local char taken[1000];

extern "C" int use() { return taken[0]; }
