#include "addon/requests.h"
#include "addon/verb.h"
#include "core/error.h"
#include "models/export_folder.h"
#include "models/export_gguf.h"

namespace atelier {
namespace {

struct Export {
  std::string base;
  std::optional<std::string> adapter;
  std::string to;
  /** Of a folder; absent: GGUF. */
  std::optional<FolderForm> folder;
  std::string gguf_type;
  std::vector<GgufEntry> metadata;
};

[[noreturn]] void invalid(const std::string& message) {
  throw Error(ErrorCode::invalid_argument, message);
}

mx::Dtype read_dtype(const Fields& as) {
  const std::string name = as.text("dtype");
  if (name != "f32" && name != "bf16" && name != "f16") {
    invalid(as.path("dtype") + " is '" + name + "'; it is one of f32, bf16, f16");
  }
  return name == "f32" ? mx::float32 : name == "bf16" ? mx::bfloat16 : mx::float16;
}

std::vector<GgufEntry> read_metadata(const Fields& fields) {
  using Type = GgufEntry::Type;
  std::vector<GgufEntry> out;
  for (const std::string& key : fields.keys()) {
    const Napi::Value value = fields.get(key.c_str());
    GgufEntry entry{key, Type::text};
    if (value.IsString()) {
      entry.text = fields.text(key.c_str());
    } else if (value.IsNumber()) {
      entry.type = Type::u32;
      entry.number = static_cast<double>(fields.integer(key.c_str(), 0, UINT32_MAX));
    } else if (value.IsBoolean()) {
      entry.type = Type::boolean;
      entry.number = fields.flag(key.c_str(), false) ? 1 : 0;
    } else if (value.IsArray()) {
      entry.type = Type::list_of_text;
      entry.texts = fields.texts(key.c_str());
    } else {
      entry.type = Type::list_of_i32;
      entry.numbers = fields.int32s(key.c_str());
    }
    out.push_back(std::move(entry));
  }
  return out;
}

Export read_export(const Fields& f) {
  Export out{f.text("base"), std::nullopt, f.text("to"), std::nullopt, {}, {}};
  if (f.has("adapter")) {
    out.adapter = f.text("adapter");
  }
  const Fields as = f.object("as");
  const std::string kind = as.text("kind");
  if (kind == "safetensors") {
    out.folder = FolderForm{read_dtype(as)};
  } else if (kind == "mlx") {
    out.folder = FolderForm{mx::bfloat16, read_quantise(as), "mlx"};
  } else if (kind == "gguf") {
    out.gguf_type = as.text("type");
    if (out.gguf_type != "F32" && out.gguf_type != "F16" && out.gguf_type != "Q8_0") {
      invalid(as.path("type") + " is '" + out.gguf_type + "'; it is one of F32, F16, Q8_0");
    }
    out.metadata = read_metadata(as.object("metadata"));
  } else {
    invalid(as.path("kind") + " is '" + kind + "'; it is one of safetensors, mlx, gguf");
  }
  return out;
}

}  // namespace

std::vector<Verb> export_verbs() {
  return {
      verb("exportModel", read_export, [](Engine&, const Export& r, const CancelFlag& cancelled) {
        const MergedCheckpoint merged(r.base, r.adapter);
        if (r.folder) {
          export_folder(merged, r.to, *r.folder, cancelled);
        } else {
          export_gguf(merged, r.to, r.gguf_type, r.metadata, cancelled);
        }
      })};
}

}  // namespace atelier
