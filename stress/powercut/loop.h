/* SPDX-License-Identifier: Apache-2.0 */
/* Loop devices: a block device on a file, and the kernel's counters of it. See loop(4). */
#ifndef STRESS_LOOP_H
#define STRESS_LOOP_H

#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>

struct loop_device {
    int fd; /* -1: none */
    int number;
    char path[32];
};

#define LOOP_NONE \
    { \
        .fd = -1, .number = -1 \
    }

/* What the kernel says has gone to a device (Documentation/block/stat.rst). */
struct loop_counters {
    uint64_t writes, sectors, flushes, discards, discarded_sectors;
};

/* Takes a free loop device and puts it on file_fd with 512-byte blocks. The kernel lets it go by itself when the last
 * user (this descriptor, or a mount) is gone, so nothing is left after a crash, either. direct_io: requests go
 * to the file one by one, past the page cache. Errors: QS_IO, QS_UNTRUSTED (not root). */
enum qs_status loop_attach(int file_fd, bool direct_io, struct loop_device *ret_loop, struct qs_error *err) QS_MUST_USE;

/* Closes the descriptor; the device is free when no mount uses it. */
void loop_release(struct loop_device *loop);

enum qs_status loop_read_counters(const struct loop_device *loop, struct loop_counters *ret_counters,
                                  struct qs_error *err) QS_MUST_USE;

#endif
