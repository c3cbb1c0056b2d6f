// The operations of a file that tasks have opened with `FileOptions::staged`.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "staging/shared_tiered_file.hpp"
#include "storage/file_operations.hpp"

namespace dovetail::staging {

class StagedOperations : public storage::FileOperations {
 public:
  StagedOperations(std::shared_ptr<SharedTieredFile> file, std::string path, int flags);
  ~StagedOperations() override;

  bool try_perform(const storage::Operation& operation, std::uint64_t& bytes) override;
  std::uint64_t perform(const storage::Operation& operation) override;
  std::uint64_t perform_bound(const storage::Operation& operation) override;
  std::uint64_t size() const override;
  void set_size(std::uint64_t size) override;
  void drain() override;
  void close() override;

 private:
  std::uint64_t read(const storage::Operation& operation);
  std::uint64_t write(const storage::Operation& operation);
  bool is_durable(const storage::Operation& operation) const noexcept;
  void require_writable(const char* call, std::uint64_t offset, std::uint64_t length, int error) const;
  void require(const FileFailure& failure, const char* call, std::uint64_t offset = 0, std::uint64_t left = 0) const;
  void reserve(const storage::Operation& operation);
  TieredFile& file() const;

  std::shared_ptr<SharedTieredFile> file_;  // null: closed
  const std::string path_;
  const int flags_;
};

}  // namespace dovetail::staging
