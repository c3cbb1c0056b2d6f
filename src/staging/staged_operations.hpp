// The operations of a file that tasks have opened with `FileOptions::staged`.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "staging/drained_file.hpp"
#include "storage/file_operations.hpp"

namespace dovetail::staging {

class StagedOperations : public storage::FileOperations {
 public:
  StagedOperations(std::shared_ptr<DrainedFile> file, std::string path, int flags);
  ~StagedOperations() override;

  bool is_short(const storage::Operation& operation) const noexcept override;
  std::uint64_t perform(const storage::Operation& operation) override;
  std::uint64_t perform_bound(const storage::Operation& operation) override;
  std::uint64_t size() const override;
  void set_size(std::uint64_t size) override;
  void drain() override;
  void close() override;

 private:
  std::uint64_t read(const storage::Operation& operation);
  std::uint64_t write(const storage::Operation& operation);
  void sync();
  void reserve(const storage::Operation& operation);
  TieredFile& file() const;

  std::shared_ptr<DrainedFile> file_;  // null: closed
  const std::string path_;
  const int flags_;
};

}  // namespace dovetail::staging
