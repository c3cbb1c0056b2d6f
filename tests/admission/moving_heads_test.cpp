// Where `adaptive` begins on a disk of which nothing is known. Alone in its process: what it learns of the disk holds for all names.
#include "admitted.hpp"
#include "device/facts.hpp"

namespace dovetail::admission::test {
namespace {

TEST_F(Admission, AdaptiveBeginsWithFewerWhereHeadsMove) {
  std::ofstream(config_, std::ios::app) << "paths = [\"data\"]\n";
  const bool heads_move = device::facts_of((folder_ / "data").string()).rotational.value_or(false);
  const int first = heads_move ? 2 : 4;  // what the kernel says of this machine's disk
  Runtime runtime(options());
  Door door;
  for (int i = 0; i < 10; ++i) {
    runtime.spawn(describe("adaptive"), [&] { door.pass(); });
  }
  door.wait_for(first);
  EXPECT_EQ(device().at("running"), first);
  door.let(10);
  runtime.wait();
}

}  // namespace
}  // namespace dovetail::admission::test
