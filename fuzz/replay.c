/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs the corpus of a fuzz target as an ordinary test, under any compiler: each file as it is, each cut in half, and,
 * where the target has a mutator of its own, a fixed number of its mutations.
 *
 * usage: replay_NAME FOLDER...   A folder that is missing or holds no file fails: it would test nothing.
 */
#include <dirent.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define INPUT_MAX (1u << 22) /* of a mutation */
#define MUTATIONS 40u        /* of each file */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerInitialize(int *argc, char ***argv) __attribute__((weak));
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed) __attribute__((weak));
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);

static uint64_t state = 1;

static uint64_t draw(void)
{
    /* splitmix64, as everywhere here: the same mutations in every run */
    uint64_t z = state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

/* What libFuzzer gives custom mutators, much simpler: one byte changed, one put in, or the tail cut off. */
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size)
{
    uint64_t what = draw();
    if (what % 8 == 0 && size > 1)
        return size - draw() % size;
    if (what % 8 == 1 && size < max_size) {
        size_t at = draw() % (size + 1);
        memmove(data + at + 1, data + at, size - at);
        data[at] = (uint8_t)draw();
        return size + 1;
    }
    if (size)
        data[draw() % size] ^= (uint8_t)(1u << draw() % 8);
    return size;
}

/* In memory of exactly its size, so that a sanitizer sees a read past the end. */
static void run_exact(const uint8_t *data, size_t size)
{
    uint8_t *copy = malloc(size ? size : 1);
    if (!copy)
        abort();
    memcpy(copy, data, size);
    (void)LLVMFuzzerTestOneInput(copy, size);
    free(copy);
}

static void run_mutations(const uint8_t *data, size_t size)
{
    if (!LLVMFuzzerCustomMutator || size > INPUT_MAX)
        return;
    uint8_t *work = malloc(INPUT_MAX);
    if (!work)
        abort();
    memcpy(work, data, size);
    for (unsigned i = 0; i < MUTATIONS; i++) {
        size_t mutated = LLVMFuzzerCustomMutator(work, size, INPUT_MAX, (unsigned)draw());
        run_exact(work, mutated);
        if (i % 4 == 3)
            memcpy(work, data, size); /* a few steps away, then back */
        else
            size = mutated ? mutated : size;
    }
    free(work);
}

static int run_file(const char *path)
{
    FILE *file = fopen(path, "rbe");
    struct stat st;
    if (!file || fstat(fileno(file), &st) != 0) {
        (void)fprintf(stderr, "%s: %s\n", path, strerror(errno));
        return 1;
    }
    size_t size = (size_t)st.st_size;
    uint8_t *data = malloc(size + 1);
    if (!data || fread(data, 1, size, file) != size) {
        (void)fprintf(stderr, "%s: cannot be read\n", path);
        return 1;
    }
    (void)fclose(file);
    (void)fprintf(stderr, "%s: %zu bytes\n", path, size); /* the last line names the one that crashed */
    run_exact(data, size);
    run_exact(data, size / 2);
    run_mutations(data, size);
    free(data);
    return 0;
}

static int run_folder(const char *folder)
{
    struct dirent **names = NULL;
    int count = scandir(folder, &names, NULL, alphasort);
    int failed = 0;
    unsigned files = 0;
    if (count < 0) {
        (void)fprintf(stderr, "%s: %s\n", folder, strerror(errno));
        return 1;
    }
    for (int i = 0; i < count; i++) {
        char path[4096];
        struct stat st;
        (void)snprintf(path, sizeof path, "%s/%s", folder, names[i]->d_name);
        if (stat(path, &st) == 0 && S_ISREG(st.st_mode)) {
            failed |= run_file(path);
            files++;
        }
        free(names[i]);
    }
    free(names);
    if (!files) {
        (void)fprintf(stderr, "%s: no file in it\n", folder);
        return 1;
    }
    (void)printf("%s: %u inputs\n", folder, files);
    return failed;
}

int main(int argc, char **argv)
{
    int failed = argc < 2;
    if (failed)
        (void)fprintf(stderr, "usage: %s FOLDER...\n", argv[0]);
    if (LLVMFuzzerInitialize)
        (void)LLVMFuzzerInitialize(&argc, &argv);
    run_exact((const uint8_t *)"", 0);
    for (int i = 1; i < argc; i++)
        failed |= run_folder(argv[i]);
    return failed;
}
