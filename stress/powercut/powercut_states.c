/* SPDX-License-Identifier: Apache-2.0 */
/* The walk of the harness: record the workload once, then state after state: the disk as the cut left it, the file
 * system's own recovery, and a child that judges what the workload finds. */
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

/* The recorded disk, and the file in which one state of it after the other is built. */
struct state_disk {
    struct power_recording *recording;
    size_t carried; /* entries that the recording's base image has by now */
    int state_fd;
};

static enum qs_status apply_piece(struct image *image, const struct power_recording *recording,
                                  const struct crash_piece *piece, struct qs_error *err)
{
    const struct crash_entry *entry = piece->entry;
    const unsigned char *data = entry->kind == CRASH_ZERO ? NULL : recording->data + entry->data_at + piece->from;
    return image_write(image, entry->offset + piece->from, data, piece->len, err);
}

/* The base image moves forward to the beginning of the state's window; what is before it is on the disk for certain. */
static enum qs_status carry_forward(struct state_disk *disk, size_t to, struct qs_error *err)
{
    struct power_recording *recording = disk->recording;
    for (; disk->carried < to; disk->carried++) {
        const struct crash_entry *entry = &recording->log.entries[disk->carried];
        if (entry->kind != CRASH_WRITE && entry->kind != CRASH_ZERO)
            continue;
        struct crash_piece whole = {.entry = entry, .from = 0, .len = entry->len};
        enum qs_status status = apply_piece(&recording->base, recording, &whole, err);
        if (status)
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

/* Into fd's file. */
static enum qs_status build_state(struct state_disk *disk, const struct crash_state *state, int fd,
                                  struct qs_error *err)
{
    struct crash_piece piece;
    size_t at = 0;
    enum qs_status status = carry_forward(disk, state->begin, err);
    if (!status)
        status = image_dump(&disk->recording->base, fd, err);
    while (!status && crash_state_next(&disk->recording->log, state, &at, &piece))
        status = write_piece(fd, disk->recording, &piece, err);
    return status;
}

/* btrfs remembers devices by the file system's id and refuses an older image of one it has seen; it forgets on demand.
 */
static void forget_btrfs(const struct power_fs *fs)
{
    if (strcmp(fs->name, "btrfs") != 0)
        return;
    AUTO_FD int fd = open("/dev/btrfs-control", O_RDWR | O_CLOEXEC);
    struct btrfs_ioctl_vol_args all = {0};
    if (fd >= 0)
        (void)ioctl(fd, BTRFS_IOC_FORGET_DEV, &all);
}

/* The file system recovers here. If it does not mount, that is the testimony. */
static enum qs_status mount_state(int state_fd, const struct power_fs *fs, struct power_testimony *testimony,
                                  struct qs_error *err)
{
    struct loop_device loop = LOOP_NONE;
    enum qs_status status = loop_attach(state_fd, false, &loop, err);
    if (status)
        return status;
    *testimony = (struct power_testimony){0};
    if (mount(loop.path, LAB_FS, fs->name, MS_NOATIME, fs->mount_options) != 0) {
        testimony->verdict = POWER_NOMOUNT;
        (void)snprintf(testimony->why, sizeof testimony->why, "mount: %s", strerrordesc_np(errno));
        forget_btrfs(fs);
    }
    loop_release(&loop);
    return QS_OK;
}

static enum qs_status unmount_state(const struct power_fs *fs, struct qs_error *err)
{
    for (int attempt = 0; umount2(LAB_FS, 0) != 0; attempt++) {
        if (errno != EBUSY || attempt > UNMOUNT_ATTEMPTS)
            return error_sys(err, QS_IO, errno, "cannot unmount a state");
        (void)usleep(1000);
    }
    forget_btrfs(fs);
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
    const struct power_work *work;
    const struct crash_state *state;
    struct power_testimony *testimony;
};

static void judge(void *context)
{
    const struct hearing *h = context;
    h->testimony->verdict = h->work->judge(h->state->acked, h->state->upper, h->testimony->why);
}

/* True: a bad one. A state that does not mount says nothing about the writer, unless it is a whole prefix. */
static bool count_state(const struct crash_state *state, size_t number, const struct power_testimony *testimony,
                        struct power_result *result)
{
    char where[160];
    enum power_verdict verdict = testimony->verdict;
    bool bad_mount = verdict == POWER_NOMOUNT && state->choice == CRASH_PREFIX;
    result->states++;
    result->prefixes += state->choice == CRASH_PREFIX;
    result->tears += state->choice == CRASH_TORN;
    result->count[verdict]++;
    result->prefix_unmountable |= bad_mount;
    if (verdict == POWER_OK || (verdict == POWER_NOMOUNT && !bad_mount))
        return false;
    if (result->sightings < POWER_SIGHTINGS)
        (void)snprintf(result->sighting[result->sightings++], POWER_TEXT_BYTES,
                       "state %zu (%s; %llu steps acknowledged): %s: %.220s", number,
                       crash_state_describe(state, where, sizeof where), (unsigned long long)state->acked,
                       verdict_names[verdict], testimony->why);
    return true;
}

/* Built afresh: recovery has changed the state's own file. */
static enum qs_status keep_image(struct state_disk *disk, const struct crash_state *state, const char *file,
                                 struct qs_error *err)
{
    AUTO_FD int fd = open(file, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    return fd < 0 ? error_sys(err, QS_IO, errno, "cannot create %s", file) : build_state(disk, state, fd, err);
}

static void count_log(const struct crash_log *log, struct power_result *result)
{
    for (size_t i = 0; i < log->count; i++) {
        enum crash_kind kind = log->entries[i].kind;
        result->writes += kind == CRASH_WRITE || kind == CRASH_ZERO;
        result->flushes += kind == CRASH_FLUSH || kind == CRASH_IGNORED;
        result->ignored += kind == CRASH_IGNORED;
        result->marks += kind == CRASH_MARK;
    }
}

static enum qs_status prepare(struct state_disk *disk, struct power_testimony **ret_testimony, struct qs_error *err)
{
    void *shared = mmap(NULL, sizeof **ret_testimony, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    disk->state_fd = open(STATE_FILE, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (shared == MAP_FAILED || disk->state_fd < 0)
        return error_sys(err, QS_IO, errno, "cannot prepare the judging");
    *ret_testimony = shared;
    return QS_OK;
}

static void show_progress(size_t number, size_t count, const struct power_result *result)
{
    uint64_t bad = result->states - result->count[POWER_OK] - result->count[POWER_NOMOUNT];
    stress_progress("%zu of %zu states judged, %llu bad", number, count, (unsigned long long)bad);
}

/* The process that calls this is the lab's first and ends soon: what an early return leaves goes with the lab. */
enum qs_status power_cut(const struct power_options *options, const struct power_fs *fs, const struct power_work *work,
                         struct power_result *result, struct qs_error *err)
{
    struct power_recording recording = {0};
    struct power_testimony *testimony = NULL;
    struct crash_plan plan;
    enum qs_status status = power_record(options, fs, work, &recording, err);
    if (status)
        return status;
    count_log(&recording.log, result);
    if (!crash_plan_make(&recording.log, options->max_states, options->seed, &plan))
        return error_memory(err);
    result->plan_complete = plan.complete;
    struct state_disk disk = {.recording = &recording, .state_fd = -1};
    status = prepare(&disk, &testimony, err);
    for (size_t i = 0; i < plan.count && !status; i++) {
        const struct crash_state *state = &plan.states[i];
        show_progress(i, plan.count, result);
        status = build_state(&disk, state, disk.state_fd, err);
        if (!status)
            status = mount_state(disk.state_fd, fs, testimony, err);
        bool mounted = !status && testimony->verdict != POWER_NOMOUNT;
        if (mounted)
            status = power_ask(judge, &(struct hearing){work, state, testimony}, testimony, err);
        if (mounted && !status)
            status = unmount_state(fs, err);
        bool first = !result->sightings;
        if (!status && count_state(state, i, testimony, result) && first && options->keep)
            status = keep_image(&disk, state, options->keep, err);
    }
    stress_progress(NULL);
    return status;
}
