#include "models/export_folder.h"

#include "core/error.h"
#include "io/file.h"
#include "io/safetensors.h"
#include "models/registry.h"

#include <memory>
#include <tuple>

namespace atelier {
namespace {

const char* dtype_name(mx::Dtype dtype) {
  return dtype == mx::float32 ? "float32" : dtype == mx::bfloat16 ? "bfloat16" : "float16";
}

Json config_of(const MergedCheckpoint& merged, const FolderForm& form, const Forms& forms) {
  Json config = Json::parse(config_json(merged.model().config(), dtype_name(form.dtype)));
  config["tie_word_embeddings"] = merged.tied();
  if (config.contains("text_config")) {
    config["text_config"]["tie_word_embeddings"] = merged.tied();
  }
  if (merged.scalar_head()) {
    config["architectures"] = {classifier_of(merged.model().config().family)};
    config["id2label"] = {{"0", "LABEL_0"}};
    config["label2id"] = {{"LABEL_0", 0}};
  }
  if (const auto common = commonest(forms)) {
    config["quantization"] = {
        {"group_size", common->group}, {"bits", common->bits}, {"mode", "affine"}};
    config["quantization_config"] = config["quantization"];
  }
  return config;
}

// Its weight, scales and biases, quantised once.
void add_quantised(
    std::vector<TensorToWrite>& out,
    const Model& model,
    const std::string& module,
    const mx::Shape& shape,
    const Quantisation& form,
    mx::Dtype dtype,
    std::function<mx::array()> read) {
  auto made = std::make_shared<Params>();
  auto part = [=](const std::string& name) {
    return [=] {
      if (made->empty()) {
        *made = quantised(module, read(), form);
      }
      mx::array value = made->at(name);
      made->erase(name);
      return value;
    };
  };
  const mx::Shape groups{shape[0], shape[1] / form.group};
  for (const auto& [kind, type, size] : std::vector<std::tuple<std::string, mx::Dtype, mx::Shape>>{
           {".weight", mx::uint32, {shape[0], shape[1] * form.bits / 32}},
           {".scales", dtype, groups},
           {".biases", dtype, groups}}) {
    out.push_back({model.stored_name(module + kind), type, size, part(module + kind)});
  }
}

void write_json(const std::string& file, const Json& json) {
  const std::string text = json.dump(2) + "\n";
  write_atomically(file, [&](const Append& append) { append(text.data(), text.size()); });
}

void write_sharded(
    const std::string& dir,
    const std::vector<TensorToWrite>& tensors,
    const FolderForm& form) {
  std::vector<std::vector<TensorToWrite>> shards(1);
  uint64_t in_shard = 0, total = 0;
  for (const TensorToWrite& t : tensors) {
    if (!shards.back().empty() && in_shard + t.bytes() > form.shard) {
      shards.emplace_back();
      in_shard = 0;
    }
    shards.back().push_back(t);
    in_shard += t.bytes();
    total += t.bytes();
  }
  const std::map<std::string, std::string> metadata{{"format", form.format}};
  if (shards.size() == 1) {
    write_safetensors(dir + "/model.safetensors", tensors, metadata);
    return;
  }
  Json map = Json::object();
  for (size_t i = 0; i < shards.size(); i++) {
    char name[64];
    std::snprintf(name, sizeof name, "model-%05zu-of-%05zu.safetensors", i + 1, shards.size());
    write_safetensors(dir + "/" + name, shards[i], metadata);
    for (const TensorToWrite& t : shards[i]) {
      map[t.name] = name;
    }
  }
  write_json(
      dir + "/model.safetensors.index.json",
      {{"metadata", {{"total_size", total}}}, {"weight_map", map}});
}

}  // namespace

void export_folder(
    const MergedCheckpoint& merged,
    const std::string& dir,
    const FolderForm& form,
    const std::atomic<bool>& cancelled) {
  if (merged.scalar_head() && form.format == "mlx") {
    throw Error(
        ErrorCode::unsupported_model,
        "a reward model cannot be written for mlx-lm, which loads none",
        "Export it merged, as safetensors, or as an adapter.");
  }
  const Forms forms =
      form.quantise ? forms_of(merged.model(), merged.shapes(), *form.quantise) : Forms{};
  std::vector<TensorToWrite> tensors;
  for (const auto& [name, shape] : merged.shapes()) {
    auto read = [&, name = name] {
      if (cancelled) {
        throw Error(ErrorCode::cancelled, "export: cancelled");
      }
      return mx::astype(merged.read(name), form.dtype);
    };
    const std::string module = name.substr(0, name.rfind('.'));
    if (auto found = forms.find(module); found != forms.end()) {
      add_quantised(tensors, merged.model(), module, shape, found->second, form.dtype, read);
    } else {
      tensors.push_back({merged.model().stored_name(name), form.dtype, shape, read});
    }
  }
  write_sharded(dir, tensors, form);
  write_json(dir + "/config.json", config_of(merged, form, forms));
}

}  // namespace atelier
