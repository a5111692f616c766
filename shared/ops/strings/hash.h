/* Hashes of strings, the same bits as TensorFlow's ops give.
 * Threads: any. */
#pragma once

#include <stdint.h>

#include "shared/base/slice.h"

uint64_t hash_farm(Slice bytes);                       /* FarmHash's Fingerprint64 */
uint64_t hash_murmur(Slice bytes, uint64_t seed);      /* MurmurHash64A */
uint64_t hash_sip(Slice bytes, const uint64_t key[2]); /* SipHash-2-4 */
