/* SPDX-License-Identifier: Apache-2.0 */
/* The recording: mkfs, the recording disk, the loop device, the mount, the writer and its neighbour, and the check of
 * the log against the kernel's own counters. */
#include "stress/powercut/powercut.h"

#include "stress/powercut/fuse_image.h"
#include "stress/powercut/loop.h"

#include "base/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define BASE_FILE       LAB "/base.img"
#define NEIGHBOUR_SYNCS 2 /* flushes of the other program during and after each step */

/* Small, as little written as possible, nothing left to background threads. The journal and log sizes are the programs'
 * own smallest: a state then is a few megabytes. XFS is not made smaller than 300 MiB (mkfs.xfs since 5.19). */
static const struct power_fs file_systems[] = {
    {"ext4",
     (uint64_t)64 << 20,
     {"mkfs.ext4", "-q", "-F", "-E", "lazy_itable_init=0,lazy_journal_init=0,nodiscard", NULL},
     NULL},
    {"xfs", (uint64_t)300 << 20, {"mkfs.xfs", "-q", "-f", "-K", NULL}, "nouuid"},
    {"btrfs", (uint64_t)128 << 20, {"mkfs.btrfs", "-q", "-f", "-K", "-m", "single", "-d", "single", NULL}, NULL},
};

const struct power_fs *power_fs_find(const char *name)
{
    for (size_t i = 0; i < sizeof file_systems / sizeof *file_systems; i++)
        if (strcmp(file_systems[i].name, name) == 0)
            return &file_systems[i];
    return NULL;
}

static enum qs_status wait_child(pid_t pid, const char *what, struct qs_error *err)
{
    int status = 0;
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return error_sys(err, QS_IO, errno, "cannot wait for %s", what);
    if (WIFSIGNALED(status))
        return error_set(err, QS_IO, "%s died of signal %d", what, WTERMSIG(status));
    if (WEXITSTATUS(status) != 0)
        return error_set(err, QS_IO, "%s ended with status %d", what, WEXITSTATUS(status));
    return QS_OK;
}

static enum qs_status make_fs(const struct power_fs *fs, int *ret_fd, struct qs_error *err)
{
    AUTO_FD int fd = open(BASE_FILE, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0 || ftruncate(fd, (off_t)fs->bytes) != 0)
        return error_sys(err, QS_IO, errno, "cannot make the disk's file");
    const char *argv[16] = {0};
    size_t argc = 0;
    for (; fs->mkfs[argc]; argc++)
        argv[argc] = fs->mkfs[argc];
    argv[argc] = BASE_FILE;
    pid_t pid = fork();
    if (pid == 0) {
        /* Programs of this kind live in sbin, which a plain PATH may lack; mkfs.btrfs prints notes even with -q. */
        (void)setenv("PATH", "/usr/sbin:/sbin:/usr/bin:/bin", 1);
        (void)!freopen("/dev/null", "w", stdout);
        (void)execvp(argv[0], (char **)argv);
        _exit(127);
    }
    if (pid < 0)
        return error_sys(err, QS_IO, errno, "cannot fork");
    enum qs_status status = wait_child(pid, fs->mkfs[0], err);
    if (!status)
        *ret_fd = steal_fd(&fd);
    return status;
}

/* ---- the disk ---- */

struct disk {
    pid_t server;
    int image_fd, entries_fd, data_fd; /* the server's files */
    int file_fd;                       /* the recorded file, as the loop device has it */
    struct loop_device loop;
    struct loop_counters before, after;
    size_t uncounted; /* entries logged before the counters were read: the loop driver flushes when it is set up */
};

static enum qs_status start_server(struct disk *disk, unsigned drop_flush, struct qs_error *err)
{
    int ready[2];
    if (pipe2(ready, O_CLOEXEC) != 0)
        return error_sys(err, QS_IO, errno, "cannot make a pipe");
    disk->server = fork();
    if (disk->server == 0) {
        (void)close(ready[0]);
        struct fuse_image image = {.image_fd = disk->image_fd,
                                   .entries_fd = disk->entries_fd,
                                   .data_fd = disk->data_fd,
                                   .drop_flush = drop_flush};
        _exit(fuse_image_serve(&image, LAB_DISK, ready[1]));
    }
    (void)close(ready[1]);
    char byte = 0;
    bool up = disk->server > 0 && read(ready[0], &byte, 1) == 1;
    (void)close(ready[0]);
    return up ? QS_OK : error_set(err, QS_IO, "the recording disk's FUSE server did not start");
}

static enum qs_status start_disk(struct disk *disk, const struct power_options *options, struct qs_error *err)
{
    disk->entries_fd = memfd_create("entries", MFD_CLOEXEC);
    disk->data_fd = memfd_create("data", MFD_CLOEXEC);
    if (disk->entries_fd < 0 || disk->data_fd < 0)
        return error_sys(err, QS_IO, errno, "cannot make the log");
    enum qs_status status = start_server(disk, (unsigned)options->drop_flush, err);
    if (status)
        return status;
    disk->file_fd = open(LAB_DISK "/" FUSE_IMAGE_NAME, O_RDWR | O_CLOEXEC);
    if (disk->file_fd < 0)
        return error_sys(err, QS_IO, errno, "cannot open the recording disk");
    status = loop_attach(disk->file_fd, true, &disk->loop, err);
    if (!status)
        status = loop_read_counters(&disk->loop, &disk->before, err);
    if (status)
        return status;
    struct stat st;
    if (fstat(disk->entries_fd, &st) != 0)
        return error_sys(err, QS_IO, errno, "cannot stat the log");
    disk->uncounted = (size_t)st.st_size / sizeof(struct crash_entry);
    return QS_OK;
}

static enum qs_status stop_disk(struct disk *disk, struct qs_error *err)
{
    enum qs_status status = loop_read_counters(&disk->loop, &disk->after, err);
    loop_release(&disk->loop);
    cleanup_fd(&disk->file_fd);
    disk->file_fd = -1;
    if (status)
        return status;
    /* The loop device lets go of the file a moment after its last close. */
    for (int attempt = 0; umount2(LAB_DISK, 0) != 0; attempt++) {
        if (errno != EBUSY || attempt > 2000)
            return error_sys(err, QS_IO, errno, "cannot unmount the recording disk");
        (void)usleep(1000);
    }
    return wait_child(disk->server, "the recording disk's server", err);
}

/* ---- the writer and its neighbour ---- */

/* Appends and flushes as long as it is asked to: one byte in, one flush, one byte out. */
static int neighbour_run(int ask_fd, int answer_fd)
{
    AUTO_FD int fd = open(LAB_FS "/neighbour", O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    char block[1500], byte;
    memset(block, 'n', sizeof block);
    while (read(ask_fd, &byte, 1) == 1)
        if (fd < 0 || write(fd, block, sizeof block) != (ssize_t)sizeof block || fsync(fd) != 0 ||
            write(answer_fd, &byte, 1) != 1)
            return 1;
    return 0;
}

struct neighbour {
    int ask_fd, answer_fd; /* -1: there is none */
};

static bool neighbour_ask(const struct neighbour *neighbour)
{
    static const char bytes[NEIGHBOUR_SYNCS];
    return neighbour->ask_fd < 0 || write(neighbour->ask_fd, bytes, sizeof bytes) == (ssize_t)sizeof bytes;
}

/* The step does not end before the neighbour's flushes have: so there are flushes between any two steps, as on a
 * machine where time passes between two saves. */
static bool neighbour_await(const struct neighbour *neighbour)
{
    char byte;
    for (int i = 0; neighbour->answer_fd >= 0 && i < NEIGHBOUR_SYNCS; i++)
        if (read(neighbour->answer_fd, &byte, 1) != 1)
            return false;
    return true;
}

static bool put_mark(int mark_fd, uint64_t steps)
{
    char text[24];
    int len = snprintf(text, sizeof text, "%llu", (unsigned long long)steps);
    return pwrite(mark_fd, text, (size_t)len, 0) == len;
}

static int writer_run(const struct power_work *work, uint64_t commits, const struct neighbour *neighbour)
{
    AUTO_FD int mark_fd = open(LAB_DISK "/" FUSE_MARK_NAME, O_WRONLY | O_CLOEXEC);
    AUTO_FD int fs_fd = open(LAB_FS, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (mark_fd < 0 || fs_fd < 0 || mkdir(LAB_WORK, 0755) != 0 || work->prepare(commits) != 0)
        return 1;
    if (syncfs(fs_fd) != 0 || !put_mark(mark_fd, 0))
        return 2;
    for (uint64_t n = 1; n <= commits; n++)
        if (!neighbour_ask(neighbour) || work->step(n) != 0 || !put_mark(mark_fd, n) || !neighbour_await(neighbour))
            return 3;
    return 0;
}

static enum qs_status run_alone(const struct power_work *work, uint64_t commits, struct qs_error *err)
{
    pid_t pid = fork();
    if (pid == 0)
        _exit(writer_run(work, commits, &(struct neighbour){-1, -1}));
    return pid < 0 ? error_sys(err, QS_IO, errno, "cannot fork") : wait_child(pid, "the writer", err);
}

static enum qs_status run_beside_neighbour(const struct power_work *work, uint64_t commits, struct qs_error *err)
{
    int ask[2], answer[2];
    if (pipe2(ask, O_CLOEXEC) != 0 || pipe2(answer, O_CLOEXEC) != 0)
        return error_sys(err, QS_IO, errno, "cannot make a pipe");
    pid_t other = fork();
    if (other == 0) {
        (void)close(ask[1]);
        (void)close(answer[0]);
        _exit(neighbour_run(ask[0], answer[1]));
    }
    (void)close(ask[0]);
    (void)close(answer[1]);
    pid_t writer = other < 0 ? -1 : fork();
    if (writer == 0)
        _exit(writer_run(work, commits, &(struct neighbour){ask[1], answer[0]}));
    (void)close(ask[1]);
    (void)close(answer[0]);
    if (writer < 0)
        return error_sys(err, QS_IO, errno, "cannot fork");
    enum qs_status status = wait_child(writer, "the writer", err);
    return status ? status : wait_child(other, "the program beside the writer", err);
}

/* ---- the log ---- */

/* The kernel counts what it sent to the loop device; the log must have the same flushes and the same bytes. Its number
 * of requests is not compared: the loop driver and FUSE split one request into several writes. */
static enum qs_status check_counters(const struct disk *disk, const struct crash_log *log, struct qs_error *err)
{
    uint64_t bytes = 0, flushes = 0;
    for (size_t i = disk->uncounted; i < log->count; i++) {
        bytes += log->entries[i].len;
        flushes += log->entries[i].kind == CRASH_FLUSH || log->entries[i].kind == CRASH_IGNORED;
    }
    uint64_t sectors =
        disk->after.sectors - disk->before.sectors + disk->after.discarded_sectors - disk->before.discarded_sectors;
    uint64_t kernel_flushes = disk->after.flushes - disk->before.flushes;
    if (bytes != sectors * 512 || flushes != kernel_flushes)
        return error_set(err, QS_IO, "the log has %llu bytes and %llu flushes, the kernel counted %llu and %llu",
                         (unsigned long long)bytes, (unsigned long long)flushes, (unsigned long long)sectors * 512,
                         (unsigned long long)kernel_flushes);
    return QS_OK;
}

static enum qs_status map_whole(int fd, void **ret_data, size_t *ret_len, struct qs_error *err)
{
    struct stat st;
    if (fstat(fd, &st) != 0)
        return error_sys(err, QS_IO, errno, "cannot stat the log");
    void *data = st.st_size ? mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0) : MAP_FAILED;
    if (data == MAP_FAILED)
        return error_set(err, QS_IO, "nothing was recorded");
    *ret_data = data;
    *ret_len = (size_t)st.st_size;
    return QS_OK;
}

static enum qs_status read_log(const struct disk *disk, struct power_recording *recording, struct qs_error *err)
{
    void *entries = NULL, *data = NULL;
    size_t entries_bytes = 0;
    enum qs_status status = map_whole(disk->entries_fd, &entries, &entries_bytes, err);
    if (!status)
        status = map_whole(disk->data_fd, &data, &recording->data_bytes, err);
    if (status)
        return status;
    recording->data = data;
    recording->log.entries = entries;
    recording->log.count = entries_bytes / sizeof(struct crash_entry);
    for (size_t i = 0; i < recording->log.count; i++)
        if (recording->log.entries[i].kind == CRASH_MARK) {
            recording->log.start = i; /* the mark 0 */
            return QS_OK;
        }
    return error_set(err, QS_IO, "the log has no mark");
}

/* The process that calls this lives in the lab and ends soon: what it leaves open on an error goes with the lab. */
enum qs_status power_record(const struct power_options *options, const struct power_fs *fs,
                            const struct power_work *work, struct power_recording *ret_recording, struct qs_error *err)
{
    struct disk disk = {.server = -1, .image_fd = -1, .file_fd = -1, .loop = LOOP_NONE};
    struct power_recording recording = {0};
    enum qs_status status = make_fs(fs, &disk.image_fd, err);
    if (!status)
        status = image_load(disk.image_fd, &recording.base, err);
    if (!status)
        status = start_disk(&disk, options, err);
    if (status)
        return status;
    if (mount(disk.loop.path, LAB_FS, fs->name, MS_NOATIME, NULL) != 0)
        return error_sys(err, QS_IO, errno, "cannot mount %s", fs->name);
    status =
        options->alone ? run_alone(work, options->commits, err) : run_beside_neighbour(work, options->commits, err);
    if (status)
        return status;
    if (umount2(LAB_FS, 0) != 0)
        return error_sys(err, QS_IO, errno, "cannot unmount %s", fs->name);
    status = stop_disk(&disk, err);
    if (!status)
        status = read_log(&disk, &recording, err);
    if (!status)
        status = check_counters(&disk, &recording.log, err);
    if (!status)
        *ret_recording = recording;
    return status;
}
