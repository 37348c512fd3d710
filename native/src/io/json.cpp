#include "io/json.h"

#include "core/error.h"
#include "core/text.h"

#include <unordered_set>
#include <vector>

namespace atelier {

Json parse_json(const std::string& text, const std::string& where, int depth) {
  std::vector<std::unordered_set<std::string>> keys;
  auto check = [&](int at, Json::parse_event_t event, Json& value) {
    if (event == Json::parse_event_t::object_start || event == Json::parse_event_t::array_start) {
      if (at >= depth) {
        throw Error(
            ErrorCode::invalid_file,
            where + ": JSON is nested deeper than " + std::to_string(depth) + " levels");
      }
    }
    if (event == Json::parse_event_t::object_start) {
      keys.emplace_back();
    } else if (event == Json::parse_event_t::object_end) {
      keys.pop_back();
    } else if (event == Json::parse_event_t::key) {
      const auto& key = value.get_ref<const std::string&>();
      if (!keys.back().insert(key).second) {
        throw Error(ErrorCode::invalid_file, where + ": the key " + quoted(key) + " appears twice");
      }
    }
    return true;
  };
  try {
    return Json::parse(text, check);
  } catch (const Json::exception& e) {
    throw Error(ErrorCode::invalid_file, where + ": not valid JSON (" + e.what() + ")");
  }
}

}  // namespace atelier
