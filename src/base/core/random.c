// random.c - deterministic random numbers: xoshiro256** seeded by splitmix64 (Blackman and Vigna,
// "Scrambled linear pseudorandom number generators", 2021). The same seed gives the same numbers on
// every machine.
#include "base/core/random.h"

#include <math.h>

void hsc_random_init(hsc_random *random, uint64_t seed) {
  for (int i = 0; i < 4; i++) {
    uint64_t x = seed += 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    random->state[i] = x ^ x >> 31;
  }
}

static uint64_t rotate(uint64_t x, int bits) {
  return x << bits | x >> (64 - bits);
}

uint64_t hsc_random_u64(hsc_random *random) {
  uint64_t *s = random->state;
  uint64_t result = rotate(s[1] * 5, 7) * 9;
  uint64_t shifted = s[1] << 17;
  s[2] ^= s[0];
  s[3] ^= s[1];
  s[1] ^= s[2];
  s[0] ^= s[3];
  s[2] ^= shifted;
  s[3] = rotate(s[3], 45);
  return result;
}

double hsc_random_double(hsc_random *random) {
  return (double)(hsc_random_u64(random) >> 11) * 0x1p-53;
}

// Marsaglia's polar method; the second number of each pair is dropped, so that the state is the
// four words alone.
double hsc_random_normal(hsc_random *random) {
  double u, v, square;
  do {
    u = 2 * hsc_random_double(random) - 1;
    v = 2 * hsc_random_double(random) - 1;
    square = u * u + v * v;
  } while (square >= 1 || square == 0);
  return u * sqrt(-2 * log(square) / square);
}

// Lemire's multiplication method: no bias, almost never a division.
uint64_t hsc_random_below(hsc_random *random, uint64_t bound) {
  unsigned __int128 product = (unsigned __int128)hsc_random_u64(random) * bound;
  if ((uint64_t)product < bound) {
    uint64_t threshold = -bound % bound;
    while ((uint64_t)product < threshold)
      product = (unsigned __int128)hsc_random_u64(random) * bound;
  }
  return (uint64_t)(product >> 64);
}
