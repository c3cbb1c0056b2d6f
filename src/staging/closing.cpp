#include "staging/closing.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include "base/claim.hpp"
#include "tasking/background.hpp"

namespace dovetail::staging {
namespace {

class ClosingFile : public Participant, public std::enable_shared_from_this<ClosingFile> {
 public:
  ClosingFile(Stage& stage, dev_t device, ino_t inode, std::function<void()> close)
      : device_(device), inode_(inode), stage_(stage), close_(std::move(close)) {}

  bool is_on(dev_t device, ino_t inode) const noexcept { return device_ == device && inode_ == inode; }
  bool help() override REQUIRES(stage_lock) {
    if (!claim_.take()) {
      return false;
    }
    const std::shared_ptr<ClosingFile> self = shared_from_this();
    const Unlocked unlocked(stage_.mutex);
    close();
    return true;
  }
  void run() EXCLUDES(stage_lock) {
    if (claim_.take()) {
      close();
    }
  }

 private:
  void close() EXCLUDES(stage_lock) {
    std::exchange(close_, nullptr)();
    const Lock lock(stage_.mutex);
    std::erase(stage_.participants, this);
    --stage_.outstanding;
    claim_.end();
    stage_.notify();
  }

  const dev_t device_;
  const ino_t inode_;
  Stage& stage_;
  std::function<void()> close_;
  base::Claim claim_;
};

bool closes(const Participant* participant, dev_t device, ino_t inode) {
  const auto* const file = dynamic_cast<const ClosingFile*>(participant);
  return file != nullptr && file->is_on(device, inode);
}

}  // namespace

void close_later(Stage& stage, dev_t device, ino_t inode, const std::string& label, std::function<void()> close) {
  const auto file = std::make_shared<ClosingFile>(stage, device, inode, std::move(close));
  {
    const Lock lock(stage.mutex);
    stage.participants.push_back(file.get());
    ++stage.outstanding;
  }
  if (!tasking::spawn_in_background({.label = label, .io = true, .on_failure = ignore_failure},
                                    [file] { file->run(); })) {
    file->run();
  }
}

void wait_until_closed(Stage& stage, dev_t device, ino_t inode, std::uint64_t& waited) {
  const Lock lock(stage.mutex);
  stage.wait(waited, [&]() REQUIRES(stage_lock) {
    return std::ranges::none_of(stage.participants,
                                [&](const Participant* each) { return closes(each, device, inode); });
  });
}

}  // namespace dovetail::staging
