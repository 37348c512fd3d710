#pragma once

#include "core/mlx.h"

#include <cstdint>
#include <string>
#include <vector>

namespace atelier {

/** One of several of a kind. */
struct DeviceUnit {
  std::string description;
  /** 0 where unknown. */
  uint64_t memory_bytes = 0;
};

struct DeviceInfo {
  /** "cpu", "cuda" or "metal". */
  std::string device;
  bool available = false;
  /** What it is, or why it is not available. */
  std::string description;
  /** 0 where unknown. */
  uint64_t memory_bytes = 0;
  /** Those of its kind that are there, the one described first; none where it is not available. */
  std::vector<DeviceUnit> units = {};
};

/** All devices the product knows; those that this build or machine lacks say so. */
std::vector<DeviceInfo> devices();

/** The available device of that name; device_unavailable lists what is there. */
DeviceInfo find_device(const std::string& name);

/** Makes it the calling thread's default. */
void use_device(const DeviceInfo& device);

}  // namespace atelier
