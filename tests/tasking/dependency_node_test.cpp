// Where the nodes of the dependency graph lie.
#include "tasking/dependency_node.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <new>

namespace {
int allocations = 0;
}

void* operator new(std::size_t size, std::align_val_t alignment) {
  ++allocations;
  const auto align = static_cast<std::size_t>(alignment);
  void* const made = std::aligned_alloc(align, (size + align - 1) / align * align);
  return made != nullptr ? made : throw std::bad_alloc();
}
void operator delete(void* pointer, std::align_val_t) noexcept { std::free(pointer); }
void operator delete(void* pointer, std::size_t, std::align_val_t) noexcept { std::free(pointer); }

namespace dovetail::tasking {
namespace {

int allocations_of_a_node(std::size_t accesses) {
  const int before = allocations;
  DependencyNode* const node = DependencyNode::make(nullptr, accesses);
  node->entered();
  node->close(nullptr, [](Task*) { FAIL() << "it has no successors"; });
  return allocations - before;
}

// What all programs pay for each task. The pools are filled by the first of each size.
TEST(DependencyNodeTest, OnlyThoseOfManyAccessesAreAllocated) {
  for (const std::size_t accesses : {1, 2, 3, 6, 1}) {
    allocations_of_a_node(accesses);
    EXPECT_EQ(allocations_of_a_node(accesses), 0) << accesses;
  }
  EXPECT_EQ(allocations_of_a_node(100), 1);
}

}  // namespace
}  // namespace dovetail::tasking
