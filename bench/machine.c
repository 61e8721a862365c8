/* SPDX-License-Identifier: Apache-2.0 */
/* What the figures were taken on. */
#include "bench/world.h"

#include <fcntl.h>
#include <string.h>
#include <sys/statfs.h>
#include <sys/sysinfo.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

static void processor(char *out, size_t size)
{
    char line[256];
    FILE *in = fopen("/proc/cpuinfo", "re");
    (void)snprintf(out, size, "unknown");
    while (in && fgets(line, sizeof line, in)) {
        char *colon = strchr(line, ':');
        if (strncmp(line, "model name", 10) != 0 || !colon)
            continue;
        line[strcspn(line, "\n")] = '\0';
        (void)snprintf(out, size, "%s", colon + 2);
        break;
    }
    if (in)
        (void)fclose(in);
}

/* The magic numbers of statfs(2). */
static const char *file_system(const char *path)
{
    struct statfs fs;
    if (statfs(path, &fs))
        return "unknown";
    switch ((unsigned long)fs.f_type) {
    case 0xef53:
        return "ext4";
    case 0x58465342:
        return "xfs";
    case 0x9123683e:
        return "btrfs";
    case 0x01021994:
        return "tmpfs (not a disk: figures of durable writes mean nothing)";
    case 0x794c7630:
        return "overlayfs";
    default:
        return "another";
    }
}

static void one_flush(void *context)
{
    static const char page[4096];
    int fd = *(int *)context;
    if (pwrite(fd, page, sizeof page, 0) != (ssize_t)sizeof page || fdatasync(fd))
        bench_fail("a page cannot be flushed");
}

static double flush_us(const struct bench *bench)
{
    char path[BENCH_PATH_BYTES];
    bench_path(path, "%s/flush", bench->scratch);
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0)
        bench_fail("%s cannot be made", path);
    double median = measure_one(&(struct side){"flush", one_flush, &fd, 1}, 300, 500);
    (void)close(fd);
    return median;
}

json_t *machine_describe(const struct bench *bench)
{
    char cpu[256], versions[256], when[32] = "";
    struct utsname kernel;
    struct tm tm;
    time_t now = time(NULL);
    processor(cpu, sizeof cpu);
    (void)uname(&kernel);
    if (gmtime_r(&now, &tm))
        (void)strftime(when, sizeof when, "%Y-%m-%dT%H:%M:%SZ", &tm);
    (void)snprintf(versions, sizeof versions, "%s; jansson %s; SQLite %s", bare_lmdb_version(), jansson_version_str(),
                   bare_sqlite_version());
    json_t *machine = json_pack("{s:s, s:i, s:I, s:s, s:s, s:f, s:s, s:s, s:b}", "processor", cpu, "cores",
                                get_nprocs(), "memoryMiB", (json_int_t)(sysconf(_SC_PHYS_PAGES) / 256), "kernel",
                                kernel.release, "fileSystem", file_system(bench->scratch), "flushOfOnePageUs",
                                flush_us(bench), "libraries", versions, "when", when, "quick", bench->quick);
    if (!machine)
        bench_fail("out of memory");
    return machine;
}
