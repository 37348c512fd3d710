#include "addon/requests.h"
#include "addon/verb.h"

namespace atelier {
namespace {

struct NewAdapter {
  int model;
  LoraConfig config;
  uint64_t seed;
};

struct AdapterFile {
  /** Model or adapter. */
  int id;
  std::string path;
};

}  // namespace

std::vector<Verb> adapter_verbs() {
  auto adapter = [](const Fields& f) { return read_id(f, "adapter"); };
  return {
      verb(
          "createAdapter",
          [](const Fields& f) {
            auto spec = f.object("spec");
            return NewAdapter{read_id(f, "model"), read_lora(spec), spec.seed("seed")};
          },
          [](Engine& e, const NewAdapter& r, const CancelFlag&) {
            return e.create_adapter(r.model, r.config, r.seed);
          }),
      verb(
          "loadAdapter",
          [](const Fields& f) { return AdapterFile{read_id(f, "model"), f.text("dir")}; },
          [](Engine& e, const AdapterFile& r, const CancelFlag&) {
            return e.load_adapter(r.id, r.path);
          }),
      verb(
          "saveAdapter",
          [](const Fields& f) { return AdapterFile{read_id(f, "adapter"), f.text("file")}; },
          [](Engine& e, const AdapterFile& r, const CancelFlag&) { e.save_adapter(r.id, r.path); }),
      verb(
          "adapterNorms",
          adapter,
          [](Engine& e, int id, const CancelFlag&) { return e.adapter_norms(id); }),
      verb("unloadAdapter", adapter, [](Engine& e, int id, const CancelFlag&) {
        e.unload_adapter(id);
      })};
}

}  // namespace atelier
