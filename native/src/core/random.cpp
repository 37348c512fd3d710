#include "core/random.h"

namespace atelier {

RandomBits random_bits(uint64_t seed, Stream stream, uint32_t index_a, uint32_t index_b) {
  uint32_t c[4] = {index_b, index_a, static_cast<uint32_t>(stream), 0};
  uint32_t k[2] = {static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)};
  for (int round = 0; round < 10; round++) {
    const uint64_t p0 = uint64_t{0xD2511F53u} * c[0];
    const uint64_t p1 = uint64_t{0xCD9E8D57u} * c[2];
    const uint32_t next[4] = {
        static_cast<uint32_t>(p1 >> 32) ^ c[1] ^ k[0],
        static_cast<uint32_t>(p1),
        static_cast<uint32_t>(p0 >> 32) ^ c[3] ^ k[1],
        static_cast<uint32_t>(p0)};
    std::copy(next, next + 4, c);
    k[0] += 0x9E3779B9u;
    k[1] += 0xBB67AE85u;
  }
  return {{c[0], c[1], c[2], c[3]}};
}

float random_uniform(uint64_t seed, Stream stream, uint32_t index_a, uint32_t index_b) {
  return static_cast<float>(random_bits(seed, stream, index_a, index_b).word[0] >> 9) * 0x1p-23f;
}

mx::array random_key(uint64_t seed, Stream stream, uint32_t index_a, uint32_t index_b) {
  const RandomBits bits = random_bits(seed, stream, index_a, index_b);
  return mx::array({bits.word[0], bits.word[1]}, mx::uint32);
}

}  // namespace atelier
