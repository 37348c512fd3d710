#include "kernels/gpu/kernel_store.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>

#include <unistd.h>

using namespace atelier;

TEST_CASE("kernel store: what was kept is found, and nothing else") {
  const auto folder =
      std::filesystem::temp_directory_path() / ("atelier-kernels-" + std::to_string(getpid()));
  const KernelStore store((folder / "below").string());
  const std::string source = "__global__ void f() {}\n", made(100000, '\0');
  CHECK(!store.find("nvrtc 13.0", source));
  store.keep("nvrtc 13.0", source, made + "end");
  CHECK(store.find("nvrtc 13.0", source) == made + "end");
  CHECK(!store.find("nvrtc 13.1", source));
  CHECK(!store.find("nvrtc 13.0", source + " "));
  store.keep("nvrtc 13.0", source, "other");
  CHECK(store.find("nvrtc 13.0", source) == "other");

  // Cut short, or with a number changed.
  const auto file = std::filesystem::directory_iterator(folder / "below")->path();
  std::filesystem::resize_file(file, std::filesystem::file_size(file) - 1);
  CHECK(!store.find("nvrtc 13.0", source));
  store.keep("nvrtc 13.0", source, "other");
  std::fstream(file, std::ios::in | std::ios::out | std::ios::binary).seekp(-2, std::ios::end)
      << '?';
  CHECK(!store.find("nvrtc 13.0", source));

  // A folder that is none.
  const KernelStore none((file / "below").string());
  none.keep("nvrtc 13.0", source, made);
  CHECK(!none.find("nvrtc 13.0", source));
  std::filesystem::remove_all(folder);
}
