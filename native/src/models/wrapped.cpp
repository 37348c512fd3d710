#include "models/wrapped.h"

namespace atelier {

Json wrapped_text(const ConfigReader& reader, const std::vector<const char*>& of_pictures) {
  for (const char* key : of_pictures) {
    reader.has(key);
  }
  Json text = reader.value("text_config");
  if (!text.is_object()) {
    reader.invalid("text_config must be an object");
  }
  if (const Json& tied = reader.value("tie_word_embeddings"); !tied.is_null()) {
    if (text.contains("tie_word_embeddings") && text.at("tie_word_embeddings") != tied) {
      reader.invalid("tie_word_embeddings differs from text_config's");
    }
    text["tie_word_embeddings"] = tied;
  }
  return text;
}

}  // namespace atelier
