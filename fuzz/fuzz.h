/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Room fuzz/: Does any input break a parser or a format?
 *
 * What all fuzz targets share: an invariant that does not hold ends the process, which is what a fuzzer looks for.
 */
#ifndef FUZZ_FUZZ_H
#define FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MUST(condition) \
    do { \
        if (!(condition)) { \
            (void)fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
            abort(); \
        } \
    } while (0)

#endif
