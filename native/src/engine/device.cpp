#include "engine/device.h"

#include "core/error.h"

#include <thread>

#if defined(_WIN32)
#error "memory size: not written for Windows"
#else
#include <unistd.h>
#endif

namespace atelier {
namespace {

#if defined(ATELIER_DEVICE_cuda)
constexpr const char* gpu_of_build = "cuda";
#elif defined(ATELIER_DEVICE_metal)
constexpr const char* gpu_of_build = "metal";
#else
constexpr const char* gpu_of_build = nullptr;
#endif

uint64_t system_memory() {
  long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGE_SIZE);
  return pages > 0 && size > 0 ? static_cast<uint64_t>(pages) * static_cast<uint64_t>(size) : 0;
}

DeviceInfo cpu() {
  auto threads = std::max(1u, std::thread::hardware_concurrency());
  const DeviceUnit unit{"CPU, " + std::to_string(threads) + " threads", system_memory()};
  return {"cpu", true, unit.description, unit.memory_bytes, {unit}};
}

DeviceUnit gpu_unit(const std::string& name, int index) {
  const auto& info = mx::device_info(mx::Device(mx::Device::gpu, index));
  DeviceUnit unit{name};
  if (auto at = info.find("device_name"); at != info.end()) {
    unit.description = std::get<std::string>(at->second);
  }
  for (const char* key : {"total_memory", "memory_size"}) {
    if (auto at = info.find(key); at != info.end()) {
      unit.memory_bytes = std::get<size_t>(at->second);
      break;
    }
  }
  return unit;
}

DeviceInfo gpu(const std::string& name) {
  if (!gpu_of_build || name != gpu_of_build) {
    return {name, false, "this build has no " + name + " (its folder is build/" + name + ")", 0};
  }
  if (!mx::is_available(mx::Device::gpu)) {
    return {name, false, "no " + name + " device found on this machine", 0};
  }
  std::vector<DeviceUnit> units;
  for (int i = 0; i < std::max(1, mx::device_count(mx::Device::gpu)); i++) {
    units.push_back(gpu_unit(name, i));
  }
  return {name, true, units[0].description, units[0].memory_bytes, units};
}

}  // namespace

std::vector<DeviceInfo> devices() {
  return {cpu(), gpu("cuda"), gpu("metal")};
}

DeviceInfo find_device(const std::string& name) {
  std::string there;
  for (const auto& device : devices()) {
    if (device.device == name && device.available) {
      return device;
    }
    there += (there.empty() ? "" : "; ") + device.device + ": " +
             (device.available ? "" : "not available, ") + device.description;
  }
  throw Error(
      ErrorCode::device_unavailable,
      "device '" + name + "' is not available. " + there,
      "Choose one that is there, or build for it: npm run setup -- --device " + name);
}

void use_device(const DeviceInfo& device) {
  bool on_cpu = device.device == "cpu";
  mx::set_default_device(on_cpu ? mx::Device::cpu : mx::Device::gpu);
  if (on_cpu) {
    // Fused kernels on the CPU start a C++ compiler at run time. For the whole process, so for a GPU's engine beside
    // this one as well.
    mx::disable_compile();
  }
}

}  // namespace atelier
