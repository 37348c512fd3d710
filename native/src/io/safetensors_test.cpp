#include "io/safetensors.h"

#include "core/error.h"
#include "testing/fixtures.h"
#include "testing/temp_dir.h"

#include <doctest/doctest.h>

#include <random>

using namespace atelier;
using namespace atelier::testing;

namespace {

std::string file_with(const std::string& header, const std::string& data) {
  std::string out;
  for (int i = 0; i < 8; i++) {
    out += static_cast<char>(header.size() >> (8 * i));
  }
  return out + header + data;
}

// The message of the error that reading makes; fails the test where there is none or another code.
std::string refusal(const std::string& bytes) {
  const TempDir dir;
  const std::string file = dir.write("x.safetensors", bytes);
  try {
    load_safetensors(file, mx::float32);
  } catch (const Error& e) {
    CHECK(e.code == ErrorCode::invalid_file);
    CHECK(std::string(e.what()).find(file) == 0);
    return e.what();
  }
  FAIL("accepted");
  return "";
}

bool says(const std::string& message, const std::string& part) {
  return message.find(part) != std::string::npos;
}

std::string one(const std::string& entry, int data = 16) {
  return refusal(file_with("{\"a\":" + entry + "}", std::string(data, '\0')));
}

Params load_folder(const std::string& dir) {
  Params out;
  for (const auto& [name, tensor] : read_safetensors_folder(dir).tensors) {
    out.emplace(name, load_safetensor(tensor, name, mx::float32));
  }
  return out;
}

}  // namespace

TEST_CASE("what is written reads back, bit for bit, and the old file outlives a failed write") {
  const TempDir dir;
  const std::string file = dir.path("x.safetensors");
  Params in{
      {"b", mx::random::normal({3, 5})},
      {"a", mx::arange(7, mx::int32)},
      {"empty", mx::zeros({0, 4})},
      {"scalar", mx::array(2.5f)},
      {"t", mx::transpose(mx::random::normal({4, 6}))},
      {"h", mx::astype(mx::random::normal({2, 2}), mx::bfloat16)}};
  save_safetensors(file, in, {{"format", "pt"}});
  const Params out = load_safetensors(file, std::nullopt);
  CHECK(out.size() == in.size());
  for (const auto& [name, value] : in) {
    CAPTURE(name);
    CHECK(out.at(name).dtype() == value.dtype());
    CHECK(out.at(name).shape() == value.shape());
    CHECK(mx::array_equal(out.at(name), value).item<bool>());
  }
  CHECK(read_safetensors_header(file).metadata.at("format") == "pt");

  // As weights: floats alone, in the type that is asked for.
  CHECK_THROWS_WITH_AS(
      load_safetensors(file, mx::float32),
      (file + ": tensor 'a': dtype I32 is not supported").c_str(),
      Error);
  in.erase("a");
  save_safetensors(file, in);
  CHECK(load_safetensors(file, mx::float32).at("h").dtype() == mx::float32);

  CHECK_THROWS_AS(save_safetensors(dir.path("missing/x.safetensors"), in), Error);
  CHECK(
      std::filesystem::directory_iterator(dir.path())->path() ==
      file);  // nothing else is left behind
}

TEST_CASE("each rule of the header is held") {
  const std::string good = R"({"dtype":"F32","shape":[2,2],"data_offsets":[0,16]})";
  CHECK(says(refusal("short"), "too short"));
  CHECK(says(refusal("\xff\xff\xff\xff\xff\xff\xff\xff{}      "), "header length"));
  CHECK(says(refusal(file_with("{}", std::string(14, '\0'))), "header length"));  // below 8
  CHECK(says(refusal(file_with("[1,2,3,4]", "")), "not a JSON object"));
  CHECK(says(refusal(file_with("{\"a\":\"\xff\xfe\"}  ", "")), "not valid JSON"));
  CHECK(says(
      refusal(file_with("{\"a\":" + good + ",\"a\":" + good + "}", std::string(16, '\0'))),
      "appears twice"));
  CHECK(says(refusal(file_with(R"({"a":{"b":{"c":{"d":{"e":1}}}}})", "")), "nested deeper"));
  CHECK(says(refusal(file_with(std::string(50'000, '['), "")), "nested deeper"));
  CHECK(says(refusal(file_with(R"({"__metadata__":{"a":1}})", "")), "must be a string"));
  CHECK(says(one(R"({"dtype":"F33","shape":[2,2],"data_offsets":[0,16]})"), "unknown dtype 'F33'"));
  CHECK(says(one(R"({"dtype":"F32","shape":[-2,-2],"data_offsets":[0,16]})"), "a dimension"));
  CHECK(says(one(R"({"dtype":"F32","shape":[2.0,2],"data_offsets":[0,16]})"), "a dimension"));
  CHECK(says(one(R"({"dtype":"F32","shape":[4294967300],"data_offsets":[0,16]})"), "2^31"));
  CHECK(says(
      one(R"({"dtype":"F32","shape":[65536,65536,65536,65536],"data_offsets":[0,0]})"), "2^64"));
  CHECK(says(
      one(R"({"dtype":"F32","shape":[1,1,1,1,1,1,1,1,4],"data_offsets":[0,16]})"), "at most 8"));
  CHECK(says(one(R"({"dtype":"F32","shape":[2,2],"data_offsets":[16,0]})"), "data_offsets"));
  CHECK(says(one(R"({"dtype":"F32","shape":[2,2],"data_offsets":[0,17]})"), "data_offsets"));
  CHECK(says(one(R"({"dtype":"F32","shape":[2,2],"data_offsets":[0,12]})"), "span 12 bytes"));
  CHECK(says(
      one(R"({"dtype":"F32","shape":[2,2],"data_offsets":[18446744073709551608,8]})"),
      "data_offsets"));
  CHECK(says(one(R"({"dtype":"F32","shape":[2,2],"data_offsets":[0,16],"more":1})"), "exactly"));
  CHECK(says(one(good, 20), "belong to no tensor"));
  const std::string two =
      R"({"a":{"dtype":"U8","shape":[8],"data_offsets":[0,8]},"b":{"dtype":"U8","shape":[8],"data_offsets":)";
  CHECK(says(refusal(file_with(two + "[4,12]}}", std::string(12, 'x'))), "overlaps"));
  CHECK(says(refusal(file_with(two + "[12,20]}}", std::string(20, 'x'))), "gap"));
  CHECK(says(
      one(R"({"dtype":"F8_E4M3","shape":[2],"data_offsets":[0,2]})", 3), "belong to no tensor"));
  CHECK(says(
      refusal(file_with("{\"a\":" + good + "}", "\xff\xff\xff\x7f" + std::string(12, '\0'))),
      "NaN"));
  // Allowed: no metadata, empty metadata, an empty tensor at any place.
  const TempDir dir;
  CHECK(load_safetensors(dir.write("e", file_with(R"({"__metadata__":{}})", "")), std::nullopt)
            .empty());
}

TEST_CASE("a sharded checkpoint reads only files of its folder, and what its index says") {
  const TempDir dir;
  auto index = [&](const std::string& map) {
    dir.write("model.safetensors.index.json", "{\"metadata\":{},\"weight_map\":" + map + "}");
  };
  auto message = [&]() -> std::string {
    try {
      load_folder(dir.path());
    } catch (const Error& e) {
      return e.what();
    }
    return "";
  };
  save_safetensors(dir.path("one.safetensors"), {{"a", mx::ones({2})}});
  save_safetensors(dir.path("two.safetensors"), {{"b", mx::ones({3})}, {"c", mx::ones({1})}});
  index(R"({"a":"one.safetensors","b":"two.safetensors","c":"two.safetensors"})");
  CHECK(load_folder(dir.path()).size() == 3);
  index(R"({"a":"one.safetensors","b":"two.safetensors"})");
  CHECK(says(message(), "weight_map does not say so"));
  index(R"({"a":"one.safetensors","d":"two.safetensors"})");
  CHECK(says(message(), "is not in"));
  for (const char* name :
       {"../one.safetensors",
        "/etc/passwd",
        "a/../../one.safetensors",
        "..\\\\one",
        "C:one",
        "NUL",
        "com1.txt",
        "one.safetensors.",
        "one.safetensors ",
        "",
        "a\\u0000b",
        "./one.safetensors"}) {
    CAPTURE(name);
    index(std::string("{\"a\":\"") + name + "\"}");
    CHECK(says(message(), "the file name"));
  }
  // A link out of the folder is refused, the Hugging Face cache's is not.
  const TempDir other;
  save_safetensors(other.path("model.safetensors"), {{"a", mx::ones({2})}});
  std::filesystem::create_symlink(other.path("model.safetensors"), dir.path("link.safetensors"));
  index(R"({"a":"link.safetensors"})");
  CHECK(says(message(), "leads out"));
  std::filesystem::create_directories(other.path("blobs"));
  std::filesystem::create_directories(other.path("snapshots/rev"));
  std::filesystem::rename(other.path("model.safetensors"), other.path("blobs/abc"));
  std::filesystem::create_symlink("../../blobs/abc", other.path("snapshots/rev/model.safetensors"));
  CHECK(load_folder(other.path("snapshots/rev")).size() == 1);
}

TEST_CASE("mutated and truncated files are refused or read, never worse") {
  const std::string original =
      read_bytes(fixture("lora/qwen3_tied/one_layer/adapter_model.safetensors"));
  const size_t header =
      8 + static_cast<unsigned char>(original[0]) + 256u * static_cast<unsigned char>(original[1]);
  const TempDir dir;
  std::mt19937 random(1);
  int refused = 0;
  for (int i = 0; i < 1500; i++) {
    std::string bytes = original;
    if (i % 5 == 0) {
      bytes.resize(random() % bytes.size());
    }
    const size_t places = 1 + random() % 3;
    for (size_t k = 0; k < places && !bytes.empty(); k++) {
      const size_t at = random() % std::min(bytes.size(), header);
      const char digits[] = "0123456789-[]{},:\"";
      bytes[at] =
          random() % 2 ? static_cast<char>(random()) : digits[random() % (sizeof digits - 1)];
    }
    try {
      load_safetensors(dir.write("x", bytes), mx::float32);
    } catch (const Error&) {
      refused++;
    }
  }
  CHECK(refused > 1200);
}
