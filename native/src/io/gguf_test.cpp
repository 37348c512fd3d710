#include "io/gguf.h"

#include "core/error.h"
#include "io/file.h"
#include "io/ggml_blocks.h"
#include "io/ggml_type.h"
#include "io/json.h"
#include "testing/gguf_writer.h"
#include "testing/temp_dir.h"

#include <doctest/doctest.h>

#include <random>

using namespace atelier;
using namespace atelier::testing;

namespace {

std::string small() {
  GgufWriter w;
  w.text("general.architecture", "llama");
  w.u32("a.number", 7);
  w.strings("a.list", {"x", "yy", "zzz"});
  w.tensor("t", {4, 32}, 0, std::string(4 * 32 * 4, '\0'));
  w.tensor("q", {2, 32}, 8, std::string(2 * 34, '\0'));
  return w.bytes();
}

std::string refusal(const std::string& bytes) {
  const TempDir dir;
  const std::string file = dir.write("x.gguf", bytes);
  try {
    const GgufHeader header = read_gguf_header(file);
    require_gguf_types(file, header);
    for (const auto& [name, tensor] : header.tensors) {
      load_gguf(file, name, tensor, mx::float32);
    }
  } catch (const Error& e) {
    CHECK((e.code == ErrorCode::invalid_file || e.code == ErrorCode::unsupported_model));
    CHECK(std::string(e.what()).find(file) == 0);
    return e.what();
  }
  return "";
}

bool says(const std::string& message, const std::string& part) {
  return message.find(part) != std::string::npos;
}

template <class T>
std::string with(std::string bytes, size_t at, T value) {
  std::memcpy(bytes.data() + at, &value, sizeof value);
  return bytes;
}

}  // namespace

TEST_CASE("metadata and dequantised tensors") {
  GgufWriter w;
  w.text("s", "text");
  w.u32("n", 7);
  w.strings("l", {"x", "yy"});
  std::string q8(34, '\0'), q40(18, '\0'), q41(20, '\0');
  const uint16_t half_2 = 0x4000, half_m1 = 0xbc00;  // 2 and -1 in f16
  std::memcpy(q8.data(), &half_2, 2);
  std::memcpy(q40.data(), &half_2, 2);
  std::memcpy(q41.data(), &half_2, 2);
  std::memcpy(q41.data() + 2, &half_m1, 2);
  q8[2] = -5;
  q8[33] = 3;
  q40[2] = '\x1f';  // low 15, high 1
  q41[4] = '\x1f';
  w.tensor("q8", {32}, 8, q8);
  w.tensor("q40", {1, 32}, 2, q40);
  w.tensor("q41", {1, 32}, 3, q41);
  w.tensor("h", {2}, 1, std::string("\x00\x40\x00\xbc", 4));
  w.tensor("b", {2}, 30, std::string("\x00\x40\x80\xbf", 4));
  const TempDir dir;
  const std::string file = dir.write("x.gguf", w.bytes());
  const GgufHeader header = read_gguf_header(file);
  CHECK(std::get<std::string>(header.metadata.at("s").value) == "text");
  CHECK(std::get<uint64_t>(header.metadata.at("n").value) == 7);
  const auto& list = std::get<std::vector<GgufValue>>(header.metadata.at("l").value);
  CHECK(list.size() == 2);
  CHECK(std::get<std::string>(list[1].value) == "yy");
  CHECK(header.tensors.at("q40").shape == std::vector<int64_t>{1, 32});
  Params t;
  for (const auto& [name, tensor] : header.tensors) {
    t.emplace(name, load_gguf(file, name, tensor, mx::float32));
  }
  CHECK(t.at("q8").data<float>()[0] == -10);
  CHECK(t.at("q8").data<float>()[31] == 6);
  CHECK(t.at("q40").data<float>()[0] == 14);
  CHECK(t.at("q40").data<float>()[16] == -14);
  CHECK(t.at("q40").data<float>()[1] == -16);
  CHECK(t.at("q41").data<float>()[0] == 29);
  CHECK(t.at("q41").data<float>()[16] == 1);
  CHECK(t.at("q41").data<float>()[1] == -1);
  for (const char* name : {"h", "b"}) {
    CHECK(t.at(name).data<float>()[0] == 2);
    CHECK(t.at(name).data<float>()[1] == -1);
  }
}

TEST_CASE("counts and sizes are held against the file before anything is allocated") {
  const std::string good = small();
  CHECK(refusal(good) == "");
  const uint64_t huge = uint64_t{1} << 62;
  CHECK(says(refusal(with(good, 0, uint32_t{1})), "not a GGUF"));
  CHECK(says(refusal(with(good, 4, uint32_t{1})), "version 1"));
  CHECK(says(refusal(with(good, 8, huge)), "do not fit"));
  CHECK(says(refusal(with(good, 16, huge)), "do not fit"));
  CHECK(says(refusal(with(good, 24, huge)), "a string of"));
  const size_t list = good.find("a.list") + 6;
  CHECK(says(refusal(with(good, list + 8, huge)), "do not fit"));
  CHECK(says(refusal(with(good, list + 4, uint32_t{77})), "unknown type"));
  const size_t t = good.find("t\x02", list) + 1;
  CHECK(says(refusal(with(good, t, uint32_t{9})), "9 dimensions"));
  CHECK(says(refusal(with(good, t + 4, uint64_t{0})), "a dimension"));
  CHECK(says(refusal(with(good, t + 4, huge)), "a dimension"));
  CHECK(says(refusal(with(good, t + 4, uint64_t{1} << 30)), "do not lie in the file"));
  CHECK(says(refusal(with(good, t + 20, uint32_t{999})), "unknown type"));
  CHECK(says(refusal(with(good, t + 20, uint32_t{12})), "block"));
  CHECK(says(refusal(with(good, t + 24, uint64_t{7})), "not aligned"));
  CHECK(says(refusal(with(good, t + 24, uint64_t{32})), "overlaps"));
  CHECK(says(refusal(with(good, t + 24, huge)), "do not lie in the file"));
  GgufWriter w;
  w.tensor("k", {256}, 15, std::string(292, '\0'));
  CHECK(says(refusal(w.bytes()), "stored as Q8_K"));
  GgufWriter twice;
  twice.u32("n", 1);
  twice.u32("n", 2);
  CHECK(says(refusal(twice.bytes()), "appears twice"));
}

TEST_CASE("mutated and truncated GGUF files are refused or read, never worse") {
  const std::string original = small();
  const size_t header = original.size() - 4 * 32 * 4 - 96;
  const TempDir dir;
  std::mt19937 random(2);
  int refused = 0;
  for (int i = 0; i < 3000; i++) {
    std::string bytes = original;
    if (i % 4 == 0) {
      bytes.resize(random() % bytes.size());
    }
    const size_t places = 1 + random() % 3;
    for (size_t k = 0; k < places && !bytes.empty(); k++) {
      bytes[random() % std::min(bytes.size(), header)] =
          random() % 2 ? '\xff' : static_cast<char>(random());
    }
    try {
      const std::string file = dir.write("x", bytes);
      const GgufHeader header = read_gguf_header(file);
      require_gguf_types(file, header);
      for (const auto& [name, tensor] : header.tensors) {
        load_gguf(file, name, tensor, mx::float32);
      }
    } catch (const Error&) {
      refused++;
    }
  }
  CHECK(refused > 1500);
}

TEST_CASE("every quantised type stands for gguf's numbers, and Q8_0 is written as gguf writes it") {
  const std::string file = ATELIER_SOURCE_DIR "/native/src/testing/ggml_blocks.json";
  const Json blocks = parse_json(read_text(file, 1 << 20), file, 8);
  auto bytes = [](const Json& hex) {
    std::string out;
    const std::string text = hex.get<std::string>();
    for (size_t i = 0; i < text.size(); i += 2) {
      out += static_cast<char>(std::stoi(text.substr(i, 2), nullptr, 16));
    }
    return out;
  };
  for (const auto& [name, item] : blocks["dequantize"].items()) {
    CAPTURE(name);
    const GgmlType& type = *find_ggml_type(name.c_str());
    const std::string raw = bytes(item["bytes"]);
    const auto expected = item["values"].get<std::vector<float>>();
    std::vector<float> got(expected.size());
    type.dequantise(
        reinterpret_cast<const uint8_t*>(raw.data()), raw.size() / type.block_bytes, got.data());
    for (size_t i = 0; i < got.size(); i++) {
      CHECK(std::abs(got[i] - expected[i]) <= 1e-6f * std::abs(expected[i]));
    }
  }
  const Json& q8 = blocks["quantize"]["Q8_0"];
  const auto numbers = q8["values"].get<std::vector<float>>();
  std::string written(numbers.size() / 32 * 34, '\0');
  write_q8_0(numbers.data(), numbers.size() / 32, reinterpret_cast<uint8_t*>(written.data()));
  CHECK(written == bytes(q8["bytes"]));
}
