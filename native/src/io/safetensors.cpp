#include "io/safetensors.h"

#include "core/error.h"
#include "core/text.h"
#include "io/file.h"
#include "io/json.h"
#include "io/tensor.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <set>

namespace atelier {
namespace {

constexpr uint64_t header_limit = 100'000'000;
constexpr int64_t dimension_limit = (int64_t{1} << 31) - 1;
constexpr size_t dimensions_limit = 8;

[[noreturn]] void refuse(const std::string& file, const std::string& rule) {
  throw Error(ErrorCode::invalid_file, file + ": " + rule);
}

[[noreturn]] void
refuse(const std::string& file, const std::string& tensor, const std::string& rule) {
  refuse(file, "tensor " + quoted(tensor) + ": " + rule);
}

uint64_t whole_number(
    const Json& value,
    const std::string& file,
    const std::string& tensor,
    const char* what) {
  // Negative and fractional numbers, and those above 2^64, are parsed as other types.
  if (!value.is_number_unsigned()) {
    refuse(file, tensor, std::string(what) + " must be a whole number from 0 up");
  }
  return value.get<uint64_t>();
}

SafetensorsEntry read_entry(
    const Json& value,
    const std::string& file,
    const std::string& name,
    uint64_t data_bytes) {
  if (!value.is_object() || value.size() != 3 || !value.contains("dtype") ||
      !value.contains("shape") || !value.contains("data_offsets")) {
    refuse(file, name, "must have exactly dtype, shape and data_offsets");
  }
  SafetensorsEntry entry;
  const Json& dtype = value["dtype"];
  const uint64_t item = dtype.is_string() ? safetensors_item_size(dtype.get<std::string>()) : 0;
  if (item == 0) {
    refuse(
        file,
        name,
        "unknown dtype " + quoted(dtype.is_string() ? dtype.get<std::string>() : dtype.dump()));
  }
  entry.dtype = dtype.get<std::string>();

  const Json& shape = value["shape"];
  if (!shape.is_array() || shape.size() > dimensions_limit) {
    refuse(
        file,
        name,
        "shape must be a list of at most " + std::to_string(dimensions_limit) + " dimensions");
  }
  uint64_t bytes = item;
  bool too_large = false, empty = false;
  for (const Json& d : shape) {
    const uint64_t n = whole_number(d, file, name, "a dimension");
    if (n > static_cast<uint64_t>(dimension_limit)) {
      refuse(file, name, "a dimension is above 2^31 - 1");
    }
    empty = empty || n == 0;
    too_large = too_large || (n > 0 && bytes > UINT64_MAX / n);
    bytes *= n;
    entry.shape.push_back(static_cast<int64_t>(n));
  }
  if (empty) {
    bytes = 0;
  } else if (too_large) {
    refuse(file, name, "the product of its dimensions is above 2^64");
  }

  const Json& offsets = value["data_offsets"];
  if (!offsets.is_array() || offsets.size() != 2) {
    refuse(file, name, "data_offsets must be two numbers");
  }
  const uint64_t begin = whole_number(offsets[0], file, name, "data_offsets");
  const uint64_t end = whole_number(offsets[1], file, name, "data_offsets");
  if (begin > end || end > data_bytes) {
    refuse(
        file,
        name,
        "data_offsets [" + std::to_string(begin) + ", " + std::to_string(end) +
            "] do not lie in the file's " + std::to_string(data_bytes) + " bytes of data");
  }
  if (end - begin != bytes) {
    refuse(
        file,
        name,
        "data_offsets span " + std::to_string(end - begin) + " bytes, but dtype and shape need " +
            std::to_string(bytes));
  }
  entry.begin = begin;
  entry.bytes = bytes;
  return entry;
}

// Sorted, the ranges must follow one another without gap or overlap and fill the data.
void check_ranges(const SafetensorsHeader& header, const std::string& file, uint64_t data_bytes) {
  std::vector<std::pair<const std::string*, const SafetensorsEntry*>> sorted;
  for (const auto& [name, entry] : header.tensors) {
    sorted.emplace_back(&name, &entry);
  }
  std::sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) {
    return std::pair(a.second->begin, a.second->bytes) <
           std::pair(b.second->begin, b.second->bytes);
  });
  uint64_t at = 0;
  for (const auto& [name, entry] : sorted) {
    if (entry->begin != at) {
      refuse(
          file,
          *name,
          entry->begin < at ? "overlaps the tensor before it"
                            : "leaves a gap after the tensor before it");
    }
    at += entry->bytes;
  }
  if (at != data_bytes) {
    refuse(file, std::to_string(data_bytes - at) + " bytes at the end belong to no tensor");
  }
}

SafetensorsHeader read_header(const FileReader& reader) {
  const std::string& file = reader.path();
  if (reader.size() < 16) {
    refuse(file, "too short for a safetensors file (" + std::to_string(reader.size()) + " bytes)");
  }
  unsigned char length_bytes[8];
  reader.read(0, length_bytes, 8);
  uint64_t length = 0;
  for (int i = 7; i >= 0; i--) {
    length = length << 8 | length_bytes[i];
  }
  if (length < 8 || length > std::min(header_limit, reader.size() - 8)) {
    refuse(
        file,
        "header length " + std::to_string(length) + " is not possible in a file of " +
            std::to_string(reader.size()) + " bytes");
  }
  std::string text(length, '\0');
  reader.read(8, text.data(), length);
  const Json json = parse_json(text, file + " (header)", 4);
  if (!json.is_object()) {
    refuse(file, "the header is not a JSON object");
  }
  SafetensorsHeader header;
  const uint64_t data_bytes = reader.size() - 8 - length;
  for (const auto& [name, value] : json.items()) {
    if (name != "__metadata__") {
      header.tensors.emplace(name, read_entry(value, file, name, data_bytes));
      continue;
    }
    if (!value.is_object()) {
      refuse(file, "__metadata__ must be an object of strings");
    }
    for (const auto& [key, text] : value.items()) {
      if (!text.is_string()) {
        refuse(file, "__metadata__ " + quoted(key) + " must be a string");
      }
      header.metadata.emplace(key, text.get<std::string>());
    }
  }
  check_ranges(header, file, data_bytes);
  for (auto& [name, entry] : header.tensors) {
    entry.begin += 8 + length;
  }
  return header;
}

mx::array read(
    const FileReader& reader,
    const std::string& name,
    const SafetensorsEntry& entry,
    std::optional<mx::Dtype> dtype) {
  const mx::Shape shape(entry.shape.begin(), entry.shape.end());
  return read_tensor(reader, name, entry.begin, entry.bytes, shape, entry.dtype, dtype);
}

// File name -> the tensors that the index says it holds.
std::map<std::string, std::set<std::string>> read_index(const std::string& dir) {
  const std::string index = resolve_inside(dir, "model.safetensors.index.json", dir);
  const Json json = parse_json(read_text(index, header_limit), index, 8);
  if (!json.is_object() || !json.contains("weight_map") || !json["weight_map"].is_object()) {
    refuse(index, "has no object weight_map");
  }
  std::map<std::string, std::set<std::string>> shards;
  for (const auto& [tensor, file] : json["weight_map"].items()) {
    if (!file.is_string()) {
      refuse(index, tensor, "weight_map must give a file name");
    }
    shards[file.get<std::string>()].insert(tensor);
  }
  return shards;
}

}  // namespace

SafetensorsHeader read_safetensors_header(const std::string& file) {
  return read_header(FileReader(file));
}

Params load_safetensors(const std::string& file, std::optional<mx::Dtype> dtype) {
  const FileReader reader(file);
  Params out;
  for (const auto& [name, entry] : read_header(reader).tensors) {
    out.emplace(name, read(reader, name, entry, dtype));
  }
  return out;
}

SafetensorsFolder read_safetensors_folder(const std::string& dir) {
  SafetensorsFolder out;
  const std::string index = dir + "/model.safetensors.index.json";
  if (!std::filesystem::exists(index)) {
    const std::string file = resolve_inside(dir, "model.safetensors", dir);
    for (const auto& [name, entry] : read_safetensors_header(file).tensors) {
      out.tensors.emplace(name, SafetensorsFolder::Tensor{file, entry});
    }
    return out;
  }
  for (const auto& [shard, tensors] : read_index(dir)) {
    const std::string file = resolve_inside(dir, shard, index);
    const SafetensorsHeader header = read_safetensors_header(file);
    for (const std::string& name : tensors) {
      if (header.tensors.count(name) == 0) {
        refuse(index, name, "is not in " + quoted(shard));
      }
    }
    for (const auto& [name, entry] : header.tensors) {
      if (tensors.count(name) == 0) {
        refuse(index, name, "stands in " + quoted(shard) + ", but weight_map does not say so");
      }
      out.tensors.emplace(name, SafetensorsFolder::Tensor{file, entry});
    }
  }
  return out;
}

mx::array load_safetensor(
    const SafetensorsFolder::Tensor& tensor,
    const std::string& name,
    std::optional<mx::Dtype> dtype) {
  return read(FileReader(tensor.file), name, tensor.entry, dtype);
}

void write_safetensors(
    const std::string& file,
    const std::vector<TensorToWrite>& tensors,
    const std::map<std::string, std::string>& metadata) {
  Json header = Json::object();
  if (!metadata.empty()) {
    header["__metadata__"] = metadata;
  }
  uint64_t at = 0;
  for (const TensorToWrite& t : tensors) {
    header[t.name] = {
        {"dtype", safetensors_dtype(t.dtype)},
        {"shape", std::vector<int64_t>(t.shape.begin(), t.shape.end())},
        {"data_offsets", {at, at + t.bytes()}}};
    at += t.bytes();
  }
  std::string text = header.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');
  unsigned char length[8];
  for (int i = 0; i < 8; i++) {
    length[i] = static_cast<unsigned char>(uint64_t{text.size()} >> (8 * i));
  }
  write_atomically(file, [&](const Append& append) {
    append(length, sizeof length);
    append(text.data(), text.size());
    for (const TensorToWrite& t : tensors) {
      mx::array tensor = mx::contiguous(t.make());
      tensor.eval();
      if (tensor.shape() != t.shape || tensor.dtype() != t.dtype) {
        throw Error(ErrorCode::internal, t.name + " is not what was announced");
      }
      append(tensor.data<char>(), tensor.nbytes());
    }
  });
}

void save_safetensors(
    const std::string& file,
    const Params& tensors,
    const std::map<std::string, std::string>& metadata) {
  std::vector<TensorToWrite> list;
  for (const auto& [name, tensor] : tensors) {
    list.push_back({name, tensor.dtype(), tensor.shape(), [&tensor = tensor] { return tensor; }});
  }
  write_safetensors(file, list, metadata);
}

uint64_t TensorToWrite::bytes() const {
  uint64_t out = dtype.size();
  for (const int n : shape) {
    out *= static_cast<uint64_t>(n);
  }
  return out;
}

}  // namespace atelier
