/* SPDX-License-Identifier: Apache-2.0 */
/* Loop devices by ioctl. */
#include "stress/powercut/loop.h"

#include "base/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/loop.h>
#include <stdio.h>
#include <sys/ioctl.h>

#define ATTACH_ATTEMPTS 64 /* another program may take the free device first */

static int open_device(int control_fd, struct loop_device *loop)
{
    loop->number = ioctl(control_fd, LOOP_CTL_GET_FREE);
    if (loop->number < 0)
        return -1;
    (void)snprintf(loop->path, sizeof loop->path, "/dev/loop%d", loop->number);
    return open(loop->path, O_RDWR | O_CLOEXEC);
}

enum qs_status loop_attach(int file_fd, bool direct_io, struct loop_device *ret_loop, struct qs_error *err)
{
    AUTO_FD int control_fd = open("/dev/loop-control", O_RDWR | O_CLOEXEC);
    if (control_fd < 0)
        return error_sys(err, QS_IO, errno, "cannot open /dev/loop-control");
    struct loop_device loop = LOOP_NONE;
    struct loop_config config = {
        .fd = (uint32_t)file_fd,
        .block_size = 512,
        .info = {.lo_flags = LO_FLAGS_AUTOCLEAR | (direct_io ? LO_FLAGS_DIRECT_IO : 0)},
    };
    for (int attempt = 0; attempt < ATTACH_ATTEMPTS; attempt++) {
        AUTO_FD int fd = open_device(control_fd, &loop);
        if (fd < 0)
            return error_sys(err, QS_IO, errno, "cannot get a free loop device");
        if (ioctl(fd, LOOP_CONFIGURE, &config) == 0) {
            loop.fd = steal_fd(&fd);
            *ret_loop = loop;
            return QS_OK;
        }
        if (errno != EBUSY && errno != EAGAIN)
            return error_sys(err, QS_IO, errno, "cannot set up %s", loop.path);
    }
    return error_set(err, QS_BUSY, "no loop device stayed free long enough");
}

void loop_release(struct loop_device *loop)
{
    cleanup_fd(&loop->fd);
    *loop = (struct loop_device)LOOP_NONE;
}

enum qs_status loop_read_counters(const struct loop_device *loop, struct loop_counters *ret_counters,
                                  struct qs_error *err)
{
    char path[64];
    (void)snprintf(path, sizeof path, "/sys/block/loop%d/stat", loop->number);
    FILE *file = fopen(path, "re");
    if (!file)
        return error_sys(err, QS_IO, errno, "cannot open %s", path);
    unsigned long long v[17] = {0};
    int count = 0;
    while (count < 17 && fscanf(file, "%llu", &v[count]) == 1)
        count++;
    (void)fclose(file);
    if (count < 17)
        return error_set(err, QS_IO, "%s has %d of 17 fields (kernel older than 5.5?)", path, count);
    *ret_counters = (struct loop_counters){
        .writes = v[4], .sectors = v[6], .flushes = v[15], .discards = v[11], .discarded_sectors = v[13]};
    return QS_OK;
}
