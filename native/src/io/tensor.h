#pragma once

#include "core/mlx.h"
#include "io/file.h"

#include <cstdint>
#include <optional>
#include <string>

namespace atelier {

/** Bytes of one item of a safetensors dtype; 0 where the name is unknown. */
uint64_t safetensors_item_size(const std::string& dtype);
/** safetensors' name of an MLX type. */
std::string safetensors_dtype(mx::Dtype dtype);

/** Refuses (unsupported_model) what weights are not read in: all but F32, F16 and BF16. */
void require_weight_dtype(
    const std::string& file,
    const std::string& name,
    const std::string& dtype);

/**
 * One tensor of a file whose header was validated, evaluated. Where `to` is given it is a weight: its dtype is
 * required and it becomes `to`. A dtype that MLX does not compute with is unsupported_model; NaN or infinity is
 * invalid_file.
 */
mx::array read_tensor(
    const FileReader& file,
    const std::string& name,
    uint64_t begin,
    uint64_t bytes,
    const mx::Shape& shape,
    const std::string& dtype,
    std::optional<mx::Dtype> to);

/** Refuses NaN and infinity; returns `tensor`, evaluated. */
mx::array checked_finite(const mx::array& tensor, const std::string& file, const std::string& name);

}  // namespace atelier
