// hash.c - stable 64-bit and 128-bit hashes of bytes. They name cache entries, so the numbers they
// give never change (tests hold them).
//
// 64 bits: 16 bytes a step through a 64x64 -> 128 multiplication folded by xor (the idea of Wang
// Yi's wyhash). 128 bits: two lanes that are multiplied, rotated and added into each other (the
// idea of Austin Appleby's MurmurHash3), for keys that must not collide by chance. Not for
// adversarial input.
#include "base/core/hash.h"

static const uint64_t K0 = 0x9e3779b97f4a7c15u;
static const uint64_t K1 = 0xc2b2ae3d27d4eb4fu;
static const uint64_t K2 = 0x165667b19e3779f9u;
static const uint64_t K3 = 0xd6e8feb86659fd93u;

static uint64_t read_u64(const unsigned char *at) {
  uint64_t word;
  memcpy(&word, at, 8);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
  word = __builtin_bswap64(word);
#endif
  return word;
}

// The last 0 to 8 bytes as a little-endian number.
static uint64_t read_tail(const unsigned char *at, size_t size) {
  uint64_t word = 0;
  for (size_t i = 0; i < size; i++)
    word |= (uint64_t)at[i] << (8 * i);
  return word;
}

static uint64_t fold(uint64_t a, uint64_t b) {
  unsigned __int128 product = (unsigned __int128)a * b;
  return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static uint64_t rotate(uint64_t x, int bits) {
  return x << bits | x >> (64 - bits);
}

static uint64_t finish(uint64_t x) {
  x ^= x >> 32;
  x *= K3;
  x ^= x >> 29;
  x *= K0;
  return x ^ x >> 32;
}

uint64_t hsc_hash64(const void *data, size_t size, uint64_t seed) {
  const unsigned char *at = data;
  uint64_t hash = seed ^ fold(seed ^ K0, K1);
  size_t left = size;
  for (; left >= 16; at += 16, left -= 16)
    hash = fold(read_u64(at) ^ K1, read_u64(at + 8) ^ hash) + K2;
  uint64_t a = left >= 8 ? read_u64(at) : read_tail(at, left);
  uint64_t b = left > 8 ? read_tail(at + 8, left - 8) : 0;
  hash = fold(a ^ K1, b ^ hash);
  return finish(hash ^ fold((uint64_t)size ^ K2, K3));
}

hsc_hash128 hsc_hash128_of(const void *data, size_t size, uint64_t seed) {
  const unsigned char *at = data;
  uint64_t low = seed ^ K0;
  uint64_t high = seed ^ K2;
  size_t left = size;
  for (; left > 0;) {
    uint64_t a = left >= 8 ? read_u64(at) : read_tail(at, left);
    uint64_t b;
    if (left >= 16)
      b = read_u64(at + 8);
    else if (left > 8)
      b = read_tail(at + 8, left - 8);
    else
      b = 0;
    low ^= rotate(a * K1, 31) * K3;
    low = (rotate(low, 27) + high) * 5 + 0x52dce729;
    high ^= rotate(b * K3, 33) * K1;
    high = (rotate(high, 31) + low) * 5 + 0x38495ab5;
    size_t step = left < 16 ? left : 16;
    at += step;
    left -= step;
  }
  low ^= (uint64_t)size;
  high ^= (uint64_t)size;
  low += high;
  high += low;
  low = finish(low);
  high = finish(high);
  low += high;
  high += low;
  return (hsc_hash128){low, high};
}

void hsc_hash128_hex(hsc_hash128 hash, char out_text[33]) {
  static const char hex[] = "0123456789abcdef";
  for (int i = 0; i < 16; i++) {
    out_text[i] = hex[hash.high >> (60 - 4 * i) & 15];
    out_text[16 + i] = hex[hash.low >> (60 - 4 * i) & 15];
  }
  out_text[32] = 0;
}
