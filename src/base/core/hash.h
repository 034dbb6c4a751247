// hash.h - hashes that are the same on every machine and in every version.
#pragma once

#include "base/core/base.h"

// 64-bit and 128-bit hashes of bytes (stable across machines and versions: they name cache
// entries). Own implementation, not cryptographic.
uint64_t hsc_hash64(const void *data, size_t size, uint64_t seed);
typedef struct hsc_hash128 {
  uint64_t low, high;
} hsc_hash128;
hsc_hash128 hsc_hash128_of(const void *data, size_t size, uint64_t seed);
void hsc_hash128_hex(hsc_hash128 hash, char out_text[33]);
