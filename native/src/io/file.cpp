#include "io/file.h"

#include "core/error.h"
#include "core/text.h"

#include <sys/stat.h>
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <random>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

namespace fs = std::filesystem;

namespace atelier {
namespace {

[[noreturn]] void fail_io(const std::string& what, const std::string& path, int number) {
  throw Error(ErrorCode::io, what + " " + path + ": " + std::strerror(number));
}

bool reserved_on_windows(std::string stem) {
  stem = stem.substr(0, stem.find('.'));
  std::transform(
      stem.begin(), stem.end(), stem.begin(), [](unsigned char c) { return std::toupper(c); });
  static const std::vector<std::string> names = {"CON", "PRN", "AUX", "NUL"};
  if (std::find(names.begin(), names.end(), stem) != names.end()) {
    return true;
  }
  return stem.size() == 4 && (stem.rfind("COM", 0) == 0 || stem.rfind("LPT", 0) == 0) &&
         stem[3] >= '1' && stem[3] <= '9';
}

bool is_cache_link(const fs::path& file, const fs::path& real) {
  const fs::path revision = file.parent_path();
  if (revision.parent_path().filename() != "snapshots") {
    return false;
  }
  std::error_code ec;
  const fs::path blobs = fs::canonical(revision.parent_path().parent_path() / "blobs", ec);
  return !ec && real.parent_path() == blobs;
}

}  // namespace

FileReader::FileReader(const std::string& path)
    : path_(path), file_(std::fopen(path.c_str(), "rb"), &std::fclose) {
  if (!file_) {
    fail_io("cannot open", path, errno);
  }
  struct stat info;
  if (fstat(fileno(file_.get()), &info) != 0) {
    fail_io("cannot read", path, errno);
  }
  if (!S_ISREG(info.st_mode)) {
    throw Error(ErrorCode::io, "cannot read " + path + ": not a regular file");
  }
  size_ = static_cast<uint64_t>(info.st_size);
}

void FileReader::read(uint64_t offset, void* into, uint64_t bytes) const {
  if (offset > size_ || bytes > size_ - offset) {
    throw Error(
        ErrorCode::invalid_file,
        path_ + ": ends at byte " + std::to_string(size_) + ", but bytes " +
            std::to_string(offset) + " to " + std::to_string(offset + bytes) + " are needed");
  }
  auto* to = static_cast<char*>(into);
  while (bytes > 0) {
    const ssize_t got = pread(
        fileno(file_.get()), to, std::min<uint64_t>(bytes, 1u << 30), static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) {
      continue;
    }
    if (got < 0) {
      fail_io("cannot read", path_, errno);
    }
    if (got == 0) {
      throw Error(ErrorCode::io, "cannot read " + path_ + ": it became shorter while it was read");
    }
    to += got;
    offset += static_cast<uint64_t>(got);
    bytes -= static_cast<uint64_t>(got);
  }
}

std::string read_text(const std::string& path, uint64_t limit) {
  const FileReader file(path);
  if (file.size() > limit) {
    throw Error(
        ErrorCode::invalid_file,
        path + ": " + std::to_string(file.size()) + " bytes are more than the " +
            std::to_string(limit) + " allowed");
  }
  std::string text(file.size(), '\0');
  file.read(0, text.data(), text.size());
  return text;
}

void write_atomically(const std::string& path, const std::function<void(const Append&)>& write) {
  const std::string part = path + "." + std::to_string(getpid()) + "-" +
                           std::to_string(std::random_device{}()) + ".part";
  const int out = open(part.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  if (out < 0) {
    fail_io("cannot write", path, errno);
  }
  try {
    write([&](const void* data, uint64_t bytes) {
      const auto* from = static_cast<const char*>(data);
      while (bytes > 0) {
        const ssize_t done = ::write(out, from, std::min<uint64_t>(bytes, 1u << 30));
        if (done < 0 && errno == EINTR) {
          continue;
        }
        if (done < 0) {
          fail_io("cannot write", path, errno);
        }
        from += done;
        bytes -= static_cast<uint64_t>(done);
      }
    });
    if (fsync(out) != 0) {
      fail_io("cannot write", path, errno);
    }
  } catch (...) {
    close(out);
    unlink(part.c_str());
    throw;
  }
  // Some file systems report a full disk only here.
  if (close(out) != 0 || rename(part.c_str(), path.c_str()) != 0) {
    const int number = errno;
    unlink(part.c_str());
    fail_io("cannot write", path, number);
  }
  const std::string dir = fs::path(path).parent_path().string();
  if (const int at = open(dir.empty() ? "." : dir.c_str(), O_RDONLY | O_CLOEXEC); at >= 0) {
    fsync(at);
    close(at);
  }
}

std::string
resolve_inside(const std::string& dir, const std::string& name, const std::string& where) {
  auto refuse = [&](const std::string& rule) {
    throw Error(ErrorCode::invalid_file, where + ": the file name " + quoted(name) + " " + rule);
  };
  if (name.empty() || name.find('\0') != std::string::npos ||
      name.find('\\') != std::string::npos || name.find(':') != std::string::npos) {
    refuse("is empty or has a character that no file name may have");
  }
  if (name.front() == '/') {
    refuse("is absolute; it must be relative to the folder");
  }
  for (size_t at = 0; at <= name.size();) {
    const size_t end = std::min(name.find('/', at), name.size());
    const std::string part = name.substr(at, end - at);
    if (part.empty() || part == "." || part == "..") {
      refuse("leads out of its folder");
    }
    if (part.back() == '.' || part.back() == ' ' || reserved_on_windows(part)) {
      refuse("is not a file name on every system");
    }
    at = end + 1;
  }
  std::error_code ec;
  const fs::path root = fs::canonical(dir, ec);
  if (ec) {
    throw Error(ErrorCode::io, "cannot open " + dir + ": " + ec.message());
  }
  const fs::path file = root / name;
  const fs::path real = fs::canonical(file, ec);
  if (ec) {
    throw Error(ErrorCode::io, "cannot open " + file.string() + ": " + ec.message());
  }
  const auto [in_root, rest] = std::mismatch(root.begin(), root.end(), real.begin(), real.end());
  if (in_root != root.end() && !is_cache_link(file, real)) {
    refuse("is a link that leads out of its folder");
  }
  return real.string();
}

}  // namespace atelier
