/* SPDX-License-Identifier: Apache-2.0 */
/* The states: image after image through a loop device and the file system's own recovery, and a child that judges. */
#include "stress/harness/stress.h"
#include "stress/powercut/powercut.h"

#include "stress/powercut/loop.h"

#include "base/cleanup.h"
#include "base/os.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/btrfs.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <unistd.h>

#define STATE_FILE       LAB "/state.img"
#define JUDGE_SECONDS    60 /* a judge that takes longer hangs, which is damage */
#define UNMOUNT_ATTEMPTS 2000

static const char *const verdict_names[POWER_VERDICTS] = {"ok", "absent", "damaged", "torn", "lost", "no mount"};

struct judging {
    const struct power_options *options;
    const struct power_fs *fs;
    const struct power_work *work;
    struct power_recording *recording;
    struct power_result *result;
    struct power_testimony *testimony;
    int state_fd;
    size_t carried; /* entries that the recording's base image has by now */
};

static enum qs_status apply_piece(struct image *image, const struct power_recording *recording,
                                  const struct crash_piece *piece, struct qs_error *err)
{
    const struct crash_entry *entry = piece->entry;
    const unsigned char *data = entry->kind == CRASH_ZERO ? NULL : recording->data + entry->data_at + piece->from;
    return image_write(image, entry->offset + piece->from, data, piece->len, err);
}

/* The base image moves forward to the beginning of the state's window; what is before it is on the disk for certain. */
static enum qs_status carry_forward(struct judging *judging, size_t to, struct qs_error *err)
{
    struct power_recording *recording = judging->recording;
    for (; judging->carried < to; judging->carried++) {
        const struct crash_entry *entry = &recording->log.entries[judging->carried];
        if (entry->kind != CRASH_WRITE && entry->kind != CRASH_ZERO)
            continue;
        struct crash_piece whole = {.entry = entry, .from = 0, .len = entry->len};
        enum qs_status status = apply_piece(&recording->base, recording, &whole, err);
        if (status != QS_OK)
            return status;
    }
    return QS_OK;
}

static enum qs_status write_piece(int fd, const struct power_recording *recording, const struct crash_piece *piece,
                                  struct qs_error *err)
{
    static const unsigned char zeros[1 << 16];
    uint64_t at = piece->entry->offset + piece->from;
    bool zero = piece->entry->kind == CRASH_ZERO;
    for (uint64_t done = 0; done < piece->len;) {
        uint64_t n = piece->len - done;
        if (zero && n > sizeof zeros)
            n = sizeof zeros;
        const unsigned char *data = zero ? zeros : recording->data + piece->entry->data_at + piece->from + done;
        if (os_pwrite_full(fd, data, (size_t)n, (off_t)(at + done)) != 0)
            return error_sys(err, QS_IO, errno, "cannot write the state's image");
        done += n;
    }
    return QS_OK;
}

static enum qs_status build_state(struct judging *judging, const struct crash_state *state, struct qs_error *err)
{
    enum qs_status status = carry_forward(judging, state->begin, err);
    if (status == QS_OK)
        status = image_dump(&judging->recording->base, judging->state_fd, err);
    size_t at = 0;
    struct crash_piece piece;
    while (status == QS_OK && crash_state_next(&judging->recording->log, state, &at, &piece))
        status = write_piece(judging->state_fd, judging->recording, &piece, err);
    return status;
}

/* btrfs remembers devices by the file system's id and refuses an older image of one it has seen; it forgets on demand.
 */
static void forget_btrfs(void)
{
    AUTO_FD int fd = open("/dev/btrfs-control", O_RDWR | O_CLOEXEC);
    struct btrfs_ioctl_vol_args all = {0};
    if (fd >= 0)
        (void)ioctl(fd, BTRFS_IOC_FORGET_DEV, &all);
}

static enum qs_status unmount_state(const struct power_fs *fs, struct qs_error *err)
{
    for (int attempt = 0; umount2(LAB_FS, 0) != 0; attempt++) {
        if (errno != EBUSY || attempt > UNMOUNT_ATTEMPTS)
            return error_sys(err, QS_IO, errno, "cannot unmount a state");
        (void)usleep(1000);
    }
    if (strcmp(fs->name, "btrfs") == 0)
        forget_btrfs();
    return QS_OK;
}

enum qs_status power_ask(void (*judge)(void *context), void *context, struct power_testimony *testimony,
                         struct qs_error *err)
{
    *testimony = (struct power_testimony){0};
    int died = stress_in_child(judge, context, JUDGE_SECONDS);
    if (died < 0)
        return error_sys(err, QS_IO, errno, "cannot run a judge");
    if (died) {
        testimony->verdict = POWER_DAMAGED;
        (void)snprintf(testimony->why, sizeof testimony->why, "the reader died of signal %d", died);
    }
    return QS_OK;
}

struct hearing {
    const struct judging *judging;
    const struct crash_state *state;
};

static void judge(void *hearing)
{
    const struct hearing *h = hearing;
    struct power_testimony *testimony = h->judging->testimony;
    testimony->verdict = h->judging->work->judge(h->state->acked, h->state->upper, testimony->why);
}

static enum qs_status mount_and_judge(struct judging *judging, const struct crash_state *state,
                                      enum power_verdict *ret_verdict, struct qs_error *err)
{
    struct loop_device loop = LOOP_NONE;
    enum qs_status status = loop_attach(judging->state_fd, false, &loop, err);
    if (status != QS_OK)
        return status;
    bool mounted = mount(loop.path, LAB_FS, judging->fs->name, MS_NOATIME, judging->fs->mount_options) == 0;
    int mount_errno = errno;
    loop_release(&loop);
    if (!mounted) {
        if (strcmp(judging->fs->name, "btrfs") == 0)
            forget_btrfs();
        (void)snprintf(judging->testimony->why, sizeof judging->testimony->why, "mount: %s", strerror(mount_errno));
        *ret_verdict = POWER_NOMOUNT;
        return QS_OK;
    }
    status = power_ask(judge, &(struct hearing){judging, state}, judging->testimony, err);
    if (status == QS_OK)
        *ret_verdict = judging->testimony->verdict;
    enum qs_status unmounted = unmount_state(judging->fs, status == QS_OK ? err : NULL);
    return status == QS_OK ? unmounted : status;
}

static void sighting(struct judging *judging, const struct crash_state *state, size_t number,
                     enum power_verdict verdict)
{
    struct power_result *result = judging->result;
    if (result->sightings >= POWER_SIGHTINGS)
        return;
    char where[160];
    (void)snprintf(result->sighting[result->sightings++], POWER_TEXT_BYTES,
                   "state %zu (%s; %llu steps acknowledged): %s: %.220s", number,
                   crash_state_describe(state, where, sizeof where), (unsigned long long)state->acked,
                   verdict_names[verdict], judging->testimony->why);
}

static enum qs_status keep_image(struct judging *judging, const struct crash_state *state, struct qs_error *err)
{
    AUTO_FD int fd = open(judging->options->keep, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0)
        return error_sys(err, QS_IO, errno, "cannot create %s", judging->options->keep);
    int state_fd = judging->state_fd;
    judging->state_fd = fd; /* built afresh: recovery has changed the other one */
    enum qs_status status = build_state(judging, state, err);
    judging->state_fd = state_fd;
    return status;
}

static enum qs_status judge_one(struct judging *judging, const struct crash_state *state, size_t number,
                                struct qs_error *err)
{
    struct power_result *result = judging->result;
    enum power_verdict verdict = POWER_OK;
    enum qs_status status = build_state(judging, state, err);
    if (status == QS_OK)
        status = mount_and_judge(judging, state, &verdict, err);
    if (status != QS_OK)
        return status;
    result->states++;
    result->prefixes += state->choice == CRASH_PREFIX;
    result->tears += state->choice == CRASH_TORN;
    result->count[verdict]++;
    bool bad_mount = verdict == POWER_NOMOUNT && state->choice == CRASH_PREFIX;
    result->prefix_unmountable |= bad_mount;
    if (verdict == POWER_OK || (verdict == POWER_NOMOUNT && !bad_mount))
        return QS_OK;
    bool first = result->sightings == 0;
    sighting(judging, state, number, verdict);
    return first && judging->options->keep ? keep_image(judging, state, err) : QS_OK;
}

enum qs_status power_judge_all(const struct power_options *options, const struct power_fs *fs,
                               const struct power_work *work, struct power_recording *recording,
                               struct power_result *result, struct qs_error *err)
{
    struct judging judging = {
        .options = options, .fs = fs, .work = work, .recording = recording, .result = result, .state_fd = -1};
    judging.testimony =
        mmap(NULL, sizeof *judging.testimony, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    judging.state_fd = open(STATE_FILE, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (judging.testimony == MAP_FAILED || judging.state_fd < 0)
        return error_sys(err, QS_IO, errno, "cannot prepare the judging");
    struct crash_plan plan;
    if (!crash_plan_make(&recording->log, options->max_states, options->seed, &plan))
        return error_memory(err);
    result->plan_complete = plan.complete;
    enum qs_status status = QS_OK;
    for (size_t i = 0; status == QS_OK && i < plan.count; i++) {
        stress_progress("%zu of %zu states judged, %llu bad", i, plan.count,
                        (unsigned long long)(result->states - result->count[POWER_OK] - result->count[POWER_NOMOUNT]));
        status = judge_one(&judging, &plan.states[i], i, err);
    }
    stress_progress(NULL);
    crash_plan_release(&plan);
    cleanup_fd(&judging.state_fd);
    (void)munmap(judging.testimony, sizeof *judging.testimony);
    return status;
}
