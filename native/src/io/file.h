#pragma once

#include <cstdint>
#include <cstdio>
#include <functional>
#include <memory>
#include <string>

namespace atelier {

/** A file open for reading at given places. Failures of the system are `io` errors with path and reason. */
class FileReader {
 public:
  explicit FileReader(const std::string& path);

  const std::string& path() const {
    return path_;
  }
  uint64_t size() const {
    return size_;
  }
  /** The range must lie within the file; a file that shrank meanwhile is an error. */
  void read(uint64_t offset, void* into, uint64_t bytes) const;

 private:
  std::string path_;
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file_;
  uint64_t size_ = 0;
};

/** The whole text of a file of at most `limit` bytes. */
std::string read_text(const std::string& path, uint64_t limit);

/**
 * Writes to a file beside `path`, syncs and renames, so that a failure (a full disk, a crash) leaves what was
 * there before. `write` gets a function that appends bytes.
 */
using Append = std::function<void(const void* data, uint64_t bytes)>;
void write_atomically(const std::string& path, const std::function<void(const Append&)>& write);

/**
 * The path of a file that a checkpoint names (weight_map), which must lie in `dir`: absolute names, "..",
 * backslashes, drive letters and names that Windows reserves are refused, and so are links that lead out,
 * except those of the Hugging Face cache (snapshots/<revision>/x -> ../../blobs/<etag>).
 */
std::string
resolve_inside(const std::string& dir, const std::string& name, const std::string& where);

}  // namespace atelier
