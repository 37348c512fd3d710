#pragma once

#include <functional>
#include <string>

namespace atelier {

/** Whether kernels can wait for those before them themselves (gpu/source.h): from compute capability 9.0 on. */
bool gpu_launches_overlap();

/** Whether warpgroups multiply tiles in shared memory (gpu/tile_source.h): with compute capability 9.0 and no other. */
bool gpu_multiplies_tiles();

/** Multiprocessors of the GPU: blocks that run at the same time, or more where several fit on one. */
int gpu_processors();

/** What is compiled from now on is kept in this folder, and taken from it (gpu/kernel_store.h). Nothing without CUDA. */
void keep_gpu_kernels(const std::string& folder);

/**
 * PTX of a CUDA source, through the NVRTC that libmlx has loaded; `key` names it, and it is compiled once a process.
 * Throws internal with the compiler's words.
 */
const std::string& compile_gpu(const std::string& key, const std::function<std::string()>& source);

}  // namespace atelier
