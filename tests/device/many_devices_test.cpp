// More devices than have a place, and the device of nothing, which threads ask for meanwhile. Both stay for the rest of the process.
#include <gtest/gtest.h>
#include <sys/sysmacros.h>

#include <atomic>
#include <set>
#include <thread>

#include "device/device.hpp"

namespace dovetail::device {
namespace {

// Nothing is asked of a descriptor that is none; no device has these numbers.
Device& made_up(unsigned number) { return device_of(makedev(4000, number), -1); }

TEST(ManyDevices, NoneIsTheSameWhileOthersAreMade) {
  Device* const none = &no_device();
  std::atomic<bool> asking{false};
  std::atomic<bool> ended{false};
  std::atomic<unsigned> others{0};
  std::thread asks([&] {
    do {
      others += &no_device() == none ? 0 : 1;
      asking = true;
    } while (!ended);
  });
  while (!asking) {
    std::this_thread::yield();
  }
  std::set<unsigned> indexes{none->index};
  for (unsigned number = 1; number + 1 < most_devices; ++number) {
    const Device& device = made_up(number);
    EXPECT_EQ(device.id, makedev(4000, number));
    EXPECT_LT(device.index, most_devices);
    indexes.insert(device.index);
  }
  ended = true;
  asks.join();
  EXPECT_EQ(others, 0U);
  EXPECT_EQ(indexes.size(), most_devices - 1);
}

TEST(ManyDevices, ThoseWithoutAPlaceShareTheLast) {
  for (unsigned number = 1; number + 1 < most_devices; ++number) {
    made_up(number);
  }
  Device& last = made_up(5000);
  EXPECT_EQ(last.index, most_devices - 1);
  EXPECT_EQ(&made_up(5001), &last);
  EXPECT_NE(&made_up(1), &last);
  EXPECT_EQ(made_up(1).id, makedev(4000, 1));
}

}  // namespace
}  // namespace dovetail::device
