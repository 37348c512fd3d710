#include "kernels/gpu/compile.h"

#include "core/error.h"
#include "kernels/gpu/kernel_store.h"
#include "kernels/gpu/library.h"

#include <map>
#include <mutex>
#include <optional>

namespace atelier {

#if defined(ATELIER_DEVICE_cuda)
namespace {

using Program = struct NvrtcProgram*;

template <class F>
F* nvrtc(const char* name) {
  return loaded_function<F>("libnvrtc.so.13", name);
}

// Of nvrtc.h (CUDA 13).
struct Nvrtc {
  using Create =
      int(Program*, const char* source, const char* name, int headers, const void*, const void*);
  using Compile = int(Program, int count, const char* const* options);
  using Size = int(Program, size_t*);
  using Text = int(Program, char*);

  int (*version)(int* major, int* minor) = nvrtc<int(int*, int*)>("nvrtcVersion");
  Create* create = nvrtc<Create>("nvrtcCreateProgram");
  Compile* compile = nvrtc<Compile>("nvrtcCompileProgram");
  Size* ptx_size = nvrtc<Size>("nvrtcGetPTXSize");
  Text* ptx = nvrtc<Text>("nvrtcGetPTX");
  Size* log_size = nvrtc<Size>("nvrtcGetProgramLogSize");
  Text* log = nvrtc<Text>("nvrtcGetProgramLog");
  int (*destroy)(Program*) = nvrtc<int(Program*)>("nvrtcDestroyProgram");
};

std::string text_of(Program program, Nvrtc::Size* size_of, Nvrtc::Text* text_of) {
  size_t size = 0;
  size_of(program, &size);
  std::string text(size, '\0');
  text_of(program, text.data());
  return text;
}

// The driver compiles on for the GPU that is there; bf16 begins with compute capability 8.0.
const char* architecture() {
  return gpu_multiplies_tiles()   ? "--gpu-architecture=compute_90a"
         : gpu_launches_overlap() ? "--gpu-architecture=compute_90"
                                  : "--gpu-architecture=compute_80";
}

const char* const language = "--std=c++17";

const Nvrtc& api_of_nvrtc() {
  static const Nvrtc api;
  return api;
}

std::string compiler() {
  int major = 0, minor = 0;
  api_of_nvrtc().version(&major, &minor);
  return "nvrtc " + std::to_string(major) + '.' + std::to_string(minor) + ' ' + architecture() +
         ' ' + language;
}

std::string compile(const std::string& key, const std::string& source) {
  const Nvrtc& api = api_of_nvrtc();
  Program program = nullptr;
  if (api.create(&program, source.c_str(), "kernel.cu", 0, nullptr, nullptr) != 0) {
    throw Error(ErrorCode::internal, "NVRTC takes no program");
  }
  const char* options[] = {architecture(), language};
  const int status = api.compile(program, 2, options);
  const std::string result = status == 0 ? text_of(program, api.ptx_size, api.ptx)
                                         : text_of(program, api.log_size, api.log);
  api.destroy(&program);
  if (status != 0) {
    throw Error(ErrorCode::internal, "GPU kernel " + key + " does not compile:\n" + result);
  }
  return result;
}

// Of cuda.h's CUdevice_attribute.
int attribute(int which) {
  auto* get = loaded_function<int(int*, int, int)>("libcuda.so.1", "cuDeviceGetAttribute");
  int value = 0;
  if (get(&value, which, 0) != 0) {
    throw Error(ErrorCode::internal, "the CUDA driver does not say what the GPU can do");
  }
  return value;
}

// Compute capability, 90 for 9.0.
int capability() {
  constexpr int major = 75, minor = 76;
  static const int found = 10 * attribute(major) + attribute(minor);
  return found;
}

}  // namespace

bool gpu_launches_overlap() {
  return capability() >= 90;
}

bool gpu_multiplies_tiles() {
  return capability() == 90;
}

int gpu_processors() {
  constexpr int multiprocessors = 16;
  static const int found = attribute(multiprocessors);
  return found;
}

namespace {

std::mutex mutex;
std::optional<KernelStore> store;

std::string kept_or_compiled(const std::string& key, const std::string& source) {
  if (!store) {
    return compile(key, source);
  }
  if (auto kept = store->find(compiler(), source)) {
    return *kept;
  }
  std::string made = compile(key, source);
  store->keep(compiler(), source, made);
  return made;
}

}  // namespace

void keep_gpu_kernels(const std::string& folder) {
  const std::lock_guard lock(mutex);
  store.emplace(folder);
}

const std::string& compile_gpu(const std::string& key, const std::function<std::string()>& source) {
  static std::map<std::string, std::string> made;
  const std::lock_guard lock(mutex);
  auto at = made.find(key);
  return at != made.end() ? at->second
                          : made.emplace(key, kept_or_compiled(key, source())).first->second;
}

#else

bool gpu_launches_overlap() {
  return false;
}

bool gpu_multiplies_tiles() {
  return false;
}

int gpu_processors() {
  return 0;
}

void keep_gpu_kernels(const std::string&) {}

const std::string& compile_gpu(const std::string& key, const std::function<std::string()>&) {
  throw Error(ErrorCode::internal, key + ": a CUDA kernel in a build without CUDA");
}

#endif

}  // namespace atelier
