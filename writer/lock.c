/* SPDX-License-Identifier: Apache-2.0 */
/* The writer lock, its note for those who wait, and what fork does to it. */
#include "writer/lock.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/os.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define NOTE_BYTES  128
#define POLL_MIN_MS 1u
#define POLL_MAX_MS 25u
#define MOVES_MAX   100u
#define POLITE_MS   250u /* how long to stand behind the one at the gate, who may be stopped */

/* ---- fork: a child must not keep what its parent holds ---- */

static pthread_mutex_t held_mutex = PTHREAD_MUTEX_INITIALIZER;
static struct writer_lock *held; /* every lock this process holds */
static pthread_once_t fork_once = PTHREAD_ONCE_INIT;

static void before_fork(void)
{
    pthread_mutex_lock(&held_mutex);
}

static void after_fork_parent(void)
{
    pthread_mutex_unlock(&held_mutex);
}

static void after_fork_child(void)
{
    for (struct writer_lock *lock = held; lock; lock = lock->next) {
        (void)close(lock->fd); /* the parent's open file keeps the lock */
        lock->fd = -1;
    }
    held = NULL;
    pthread_mutex_unlock(&held_mutex);
}

static void watch_forks(void)
{
    (void)pthread_atfork(before_fork, after_fork_parent, after_fork_child);
}

static void forget(struct writer_lock *lock)
{
    pthread_mutex_lock(&held_mutex);
    struct writer_lock **slot = &held;
    while (*slot && *slot != lock)
        slot = &(*slot)->next;
    if (*slot)
        *slot = lock->next;
    pthread_mutex_unlock(&held_mutex);
}

/* ---- the note ---- */

static void write_note(int fd)
{
    char note[NOTE_BYTES];
    int64_t seconds = 0;
    uint32_t ns = 0;
    struct tm tm;
    char when[32] = "?";
    (void)qs_os->realtime(&seconds, &ns);
    time_t t = (time_t)seconds;
    if (gmtime_r(&t, &tm))
        (void)strftime(when, sizeof when, "%Y-%m-%dT%H:%M:%SZ", &tm);
    memset(note, '\n', sizeof note);
    int len = snprintf(note, sizeof note, "pid %ld uid %u since %s", (long)getpid(), (unsigned)qs_os->geteuid(), when);
    note[len] = '\n';
    char before[sizeof note];
    if (os_pread_full(fd, before, sizeof before, 0) == (ssize_t)sizeof before && memcmp(before, note, sizeof note) == 0)
        return;                                     /* this process wrote it, within this second */
    (void)os_pwrite_full(fd, note, sizeof note, 0); /* a hint for others; the lock holds without it */
}

static enum qs_status held_by_other(int fd, unsigned wait_ms, struct qs_error *err)
{
    char note[NOTE_BYTES + 1] = "";
    long pid = 0;
    unsigned uid = 0;
    char since[32] = "";
    (void)os_pread_full(fd, note, NOTE_BYTES, 0);
    if (sscanf(note, "pid %ld uid %u since %31s", &pid, &uid, since) == 3) {
        struct passwd entry;
        struct passwd *found = NULL;
        char buffer[4096];
        bool named = getpwuid_r(uid, &entry, buffer, sizeof buffer, &found) == 0 && found;
        error_set(err, QS_BUSY,
                  "another writer has locked the store: pid %ld, user %s (uid %u), since %s; waited %u ms", pid,
                  named ? found->pw_name : "?", uid, since, wait_ms);
    } else {
        error_set(err, QS_BUSY, "another writer has locked the store; waited %u ms", wait_ms);
    }
    error_add_advice(err, "try again, or wait longer with --wait SECONDS");
    return QS_BUSY;
}

/* ---- taking and dropping ---- */

static enum qs_status no_regular_file(struct qs_error *err)
{
    error_set(err, QS_UNTRUSTED, "%s is not a regular file", STORE_LOCK_FILE);
    error_add_advice(err, "find out who put it there, then remove it: the next writer makes a new one");
    return QS_UNTRUSTED;
}

static enum qs_status open_lock(int dir_fd, int *ret_fd, struct qs_error *err)
{
    struct stat st;
    AUTO_FD int fd =
        os_open_at(dir_fd, STORE_LOCK_FILE, O_RDWR | O_CREAT | O_NOFOLLOW, 0600, RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS);
    if (fd < 0 && errno == ENOENT) /* nothing can be created in a directory that is no more */
        return error_set(err, QS_ABSENT, "the store's directory was removed");
    if (fd < 0 && (errno == ELOOP || errno == EISDIR || errno == ENXIO))
        return no_regular_file(err);
    if (fd < 0) {
        enum qs_status status = error_sys(err, QS_IO, errno, "%s cannot be opened", STORE_LOCK_FILE);
        store_dir_advise_owner(dir_fd, err);
        return status;
    }
    if (qs_os->fstat(fd, &st))
        return error_sys(err, QS_IO, errno, "%s cannot be examined", STORE_LOCK_FILE);
    if (!S_ISREG(st.st_mode))
        return no_regular_file(err);
    if ((st.st_mode & 07777) != 0600 && qs_os->fchmod(fd, 0600))
        return error_sys(err, QS_IO, errno, "the mode of %s cannot be set", STORE_LOCK_FILE);
    *ret_fd = steal_fd(&fd);
    return QS_OK;
}

/* Is the file that was locked still the one of that name? */
static bool still_there(int dir_fd, int fd)
{
    struct stat ours, named;
    return qs_os->fstat(fd, &ours) == 0 && qs_os->fstatat(dir_fd, STORE_LOCK_FILE, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
           ours.st_dev == named.st_dev && ours.st_ino == named.st_ino;
}

/*
 * Byte 0 is the lock. Byte 1 is the gate before it: whoever waits takes it first, and gives it back once he has the
 * lock. Without it a writer that commits in a loop would take the lock again before anybody else looked, for seconds.
 */
enum part { PART_LOCK = 0, PART_GATE = 1 };

static int lock_part(int fd, enum part part, short type)
{
    struct flock wish = {.l_type = type, .l_whence = SEEK_SET, .l_start = part, .l_len = 1};
    int code;
    do
        code = fcntl(fd, F_OFD_SETLK, &wish);
    while (code && errno == EINTR);
    return code;
}

/* Jitter, so that waiting writers do not knock in step. */
static unsigned next_pause(uint64_t left_ms)
{
    unsigned char roll = 0;
    if (os_random(&roll, 1, NULL))
        roll = 0;
    unsigned pause = POLL_MIN_MS + roll % (POLL_MAX_MS - POLL_MIN_MS + 1);
    return pause > left_ms ? (unsigned)left_ms : pause;
}

/* Opened and listed in one piece: a child forked in between would keep what is locked later, and not know of it. */
static enum qs_status open_listed(struct writer_lock *lock, int dir_fd, struct qs_error *err)
{
    pthread_mutex_lock(&held_mutex);
    enum qs_status status = open_lock(dir_fd, &lock->fd, err);
    if (!status) {
        lock->next = held;
        held = lock;
    }
    pthread_mutex_unlock(&held_mutex);
    return status;
}

struct waiting {
    uint64_t since_ms, deadline_ms;
    unsigned moves; /* of the lock file */
    bool at_gate;
};

/* One look: 0: the lock is held now. Otherwise errno says why not; EAGAIN: somebody has it. */
static int try_take(const struct writer_lock *lock, struct waiting *w, uint64_t now_ms)
{
    if (!w->at_gate && lock_part(lock->fd, PART_GATE, F_WRLCK) == 0)
        w->at_gate = true;
    if (!w->at_gate && errno != EAGAIN && errno != EACCES)
        return -1;
    if (!w->at_gate && now_ms - w->since_ms < POLITE_MS && now_ms < w->deadline_ms) {
        errno = EAGAIN;
        return -1;
    }
    return lock_part(lock->fd, PART_LOCK, F_WRLCK);
}

static enum qs_status wait_for_lock(struct writer_lock *lock, int dir_fd, struct waiting *w, unsigned wait_ms,
                                    struct qs_error *err)
{
    for (;;) {
        uint64_t now_ms = qs_os->monotonic_ms();
        int code = try_take(lock, w, now_ms);
        if (code && errno != EAGAIN && errno != EACCES)
            return error_sys(err, QS_IO, errno, "%s cannot be locked", STORE_LOCK_FILE);
        if (!still_there(dir_fd, lock->fd)) { /* another file has the name now, and with it the lock */
            writer_lock_drop(lock);
            w->at_gate = false;
            if (w->moves++ == MOVES_MAX)
                return error_set(err, QS_BUSY, "%s keeps being replaced; giving up", STORE_LOCK_FILE);
            enum qs_status status = open_listed(lock, dir_fd, err);
            if (status)
                return status;
            continue;
        }
        if (!code)
            return QS_OK;
        if (now_ms >= w->deadline_ms)
            return held_by_other(lock->fd, wait_ms, err);
        /* There is one at the gate only, so that he may look often. */
        unsigned pause_ms = w->at_gate ? POLL_MIN_MS : next_pause(w->deadline_ms - now_ms);
        qs_os->sleep_ms(pause_ms);
    }
}

enum qs_status writer_lock_take(struct writer_lock *lock, int dir_fd, unsigned wait_ms, struct qs_error *err)
{
    struct waiting w = {.since_ms = qs_os->monotonic_ms()};
    w.deadline_ms = w.since_ms + wait_ms;
    (void)pthread_once(&fork_once, watch_forks);
    enum qs_status status = open_listed(lock, dir_fd, err);
    if (!status)
        status = wait_for_lock(lock, dir_fd, &w, wait_ms, err);
    if (status) {
        writer_lock_drop(lock);
        return status;
    }
    if (w.at_gate)
        (void)lock_part(lock->fd, PART_GATE, F_UNLCK);
    write_note(lock->fd);
    return QS_OK;
}

void writer_lock_drop(struct writer_lock *lock)
{
    int saved = errno;
    forget(lock);
    if (lock->fd >= 0) {
        struct flock wish = {.l_type = F_UNLCK, .l_whence = SEEK_SET}; /* both parts */
        (void)fcntl(lock->fd, F_OFD_SETLK, &wish);
        (void)close(lock->fd);
    }
    lock->fd = -1;
    errno = saved;
}
