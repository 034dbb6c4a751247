// random.h - deterministic random numbers.
#pragma once

#include "base/core/base.h"

// Deterministic random numbers (xoshiro256**), seeded by splitmix64.
typedef struct hsc_random {
  uint64_t state[4];
} hsc_random;
void hsc_random_init(hsc_random *random, uint64_t seed);
uint64_t hsc_random_u64(hsc_random *random);
double hsc_random_double(hsc_random *random);  // uniform in [0, 1)
double hsc_random_normal(hsc_random *random);  // mean 0, standard deviation 1
// uniform in [0, bound), bound > 0
uint64_t hsc_random_below(hsc_random *random, uint64_t bound);
