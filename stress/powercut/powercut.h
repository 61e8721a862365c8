/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Room stress/powercut/: Is anything lost if the power goes at a write?
 *
 * qstress powercut, inside view: record a workload on a real file system down to the writes and flushes of its disk,
 * build the images that a power cut may leave, let the file system recover each, and judge what the workload finds
 * there.
 *
 *     the command ── fork ── the lab: a PID and a mount namespace of its own, a tmpfs over LAB
 *                             ├── the recording disk (fuse_image.h) -> loop device -> ext4, XFS or btrfs at LAB/fs
 *                             ├── the writer, step by step, a mark after each; beside it a program that fsyncs too
 *                             └── for each state: image -> loop device -> mount at LAB/fs -> a child judges
 *
 * When the command ends, in whatever way, the lab's first process dies with it, with that all processes and mounts of
 * the lab, and with those the loop devices. Nothing of it is ever in the file system outside.
 */
#ifndef STRESS_POWERCUT_H
#define STRESS_POWERCUT_H

#include "stress/powercut/crash_states.h"
#include "stress/powercut/powercut_image.h"

#include <stdbool.h>
#include <sys/types.h>

#define LAB       "/mnt"         /* exists on every system that keeps to the FHS; hidden in the lab only */
#define LAB_DISK  LAB "/disk"    /* the recording disk */
#define LAB_FS    LAB "/fs"      /* the file system under test */
#define LAB_WORK  LAB_FS "/work" /* where the workload lives */
#define LAB_ASIDE LAB "/aside"   /* what is not on the disk under test: a backup to restore from */

enum power_verdict {
    POWER_OK,
    POWER_ABSENT,  /* no store or file, and there must be one */
    POWER_DAMAGED, /* refused, or the next writer cannot go on */
    POWER_TORN,    /* accepted, but no complete document, or one that was never written */
    POWER_LOST,    /* older than what was acknowledged */
    POWER_NOMOUNT, /* the file system did not mount: no verdict */
    POWER_VERDICTS,
};

struct power_options {
    const char *fs, *workload, *backend;
    uint64_t commits, max_states, seed, drop_flush;
    const char *keep; /* file for the image of the first bad state, or NULL */
    bool alone;       /* no second program beside the writer */
};

#define POWER_TEXT_BYTES 512
#define POWER_SIGHTINGS  10

/* What the lab reports; in memory shared with the command. */
struct power_result {
    bool finished;           /* the run itself went well, whatever the verdicts */
    bool prefix_unmountable; /* a disk that never reorders left what does not mount */
    bool plan_complete;
    uint64_t writes, flushes, ignored, marks;
    uint64_t states, prefixes, tears;
    uint64_t refused; /* meta torn: states that the reader refused and repair mended */
    uint64_t count[POWER_VERDICTS];
    unsigned sightings;
    char sighting[POWER_SIGHTINGS][POWER_TEXT_BYTES]; /* the first bad states */
    char failure[POWER_TEXT_BYTES];                   /* why it is not finished */
};

/* ---- workloads: powercut_store.c (the store), powercut_files.c (files) ---- */

struct power_work {
    const char *backend, *name;
    /* Makes the starting point, durably. All of these return 0, or -1 with a message on standard error. */
    int (*prepare)(uint64_t commits);
    /* Step n (from 1): acknowledged when it returns 0. */
    int (*step)(uint64_t n);
    /* After a cut with acked to upper steps done; then one more write must work. Fills why unless POWER_OK. */
    enum power_verdict (*judge)(uint64_t acked, uint64_t upper, char why[POWER_TEXT_BYTES]);
};
extern const struct power_work power_store_works[], power_file_works[]; /* each ends with a NULL name */

/* ---- the recording: powercut_record.c ---- */

struct power_fs {
    const char *name;
    uint64_t bytes;
    const char *mkfs[12];      /* its program and arguments; the image follows */
    const char *mount_options; /* when a state is mounted */
};
const struct power_fs *power_fs_find(const char *name);

struct power_recording {
    struct image base; /* the disk before its file system was first mounted */
    struct crash_log log;
    const unsigned char *data; /* the log's bytes */
    size_t data_bytes;
};

/* Runs the workload once on a recording disk. Errors: QS_IO, with the step that failed; also if the log and the
 * kernel's counters of the loop device disagree. */
enum qs_status power_record(const struct power_options *options, const struct power_fs *fs,
                            const struct power_work *work, struct power_recording *ret_recording,
                            struct qs_error *err) QS_MUST_USE;

/* ---- the states: powercut_states.c ---- */

/* Records the workload, and builds, mounts and judges each state; counts into result. Errors: QS_IO if the harness
 * fails. */
enum qs_status power_cut(const struct power_options *options, const struct power_fs *fs, const struct power_work *work,
                         struct power_result *result, struct qs_error *err) QS_MUST_USE;

/* What a judging child reports, in shared memory. One that dies reports nothing. */
struct power_testimony {
    bool refused; /* meta torn: the reader refused, and repair mended it */
    enum power_verdict verdict;
    char why[POWER_TEXT_BYTES];
};

/* Calls judge in a child; the testimony of one that dies or hangs is damage. Errors: QS_IO. */
enum qs_status power_ask(void (*judge)(void *context), void *context, struct power_testimony *testimony,
                         struct qs_error *err) QS_MUST_USE;

/* ---- the store file alone: powercut_meta.c ---- */

/* Meta writes torn at every byte, on no file system. */
enum qs_status power_meta_torn(const struct power_options *options, struct power_result *result,
                               struct qs_error *err) QS_MUST_USE;

struct cli;
int stress_cmd_powercut(const struct cli *cli);

#endif
