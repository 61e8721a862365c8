/* SPDX-License-Identifier: Apache-2.0 */
/* Freezing and thawing: the seals, the digest, the document, and every way in which one of them is wrong. */
#include "reader/policy_result.h"

#include "base/cleanup.h"
#include "base/digest.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cmocka.h>

static const int all_seals[] = {F_SEAL_SEAL, F_SEAL_SHRINK, F_SEAL_GROW, F_SEAL_WRITE};
#define ALL_SEALS (F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE)

static void result_make(struct qs_policy_result *result)
{
    AUTO(value_release)
    json_t *root =
        json_loads("{\"tools\":{\"executionSandbox\":{\"filesystem\":\"workspace-write\",\"network\":\"closed\"}}}", 0,
                   NULL);
    AUTO(leaves_release) struct leaves leaves = {0};
    AUTO(policy_part_release) struct policy_part part = {0};
    struct qs_error err = {0};
    assert_int_equal(flatten_value(root, NULL, NULL, &leaves, &err), QS_OK);
    assert_int_equal(policy_part_from_leaves(leaves.items, leaves.count, &part, &err), QS_OK);
    assert_int_equal(policy_part_complete(&part, &err), QS_OK);
    assert_int_equal(policy_result_complete(result, &part, &err), QS_OK);
    result->sources[0] = (struct qs_policy_source){.scope = QS_SCOPE_SYSTEM,
                                                   .status = QS_OK,
                                                   .sets_policy = true,
                                                   .required = true,
                                                   .generation = 7,
                                                   .path = "/etc/qsettings/system"};
    memset(result->sources[0].digest, 0xab, QS_DIGEST_BYTES);
    result->sources[1] = (struct qs_policy_source){.scope = QS_SCOPE_USER, .status = QS_ABSENT, .path = "/x"};
    result->source_count = 2;
}

static void result_drop(struct qs_policy_result *result)
{
    policy_part_release(&result->part);
    free(result->document);
}

/* The frozen text of the policy above. */
static void frozen_text(struct buf *text)
{
    AUTO(result_drop) struct qs_policy_result result = {0};
    AUTO_FD int fd = -1;
    char chunk[4096];
    result_make(&result);
    assert_int_equal(qs_policy_freeze(&result, &fd, NULL), QS_OK);
    ssize_t got;
    for (off_t at = 0; (got = pread(fd, chunk, sizeof chunk, at)) > 0; at += got)
        buf_add(text, chunk, (size_t)got);
}

static int memfd_with(const void *data, size_t len, int seals)
{
    int fd = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, data, len), len);
    if (seals)
        assert_int_equal(fcntl(fd, F_ADD_SEALS, seals), 0);
    return fd;
}

static enum qs_status thaw_text(const void *data, size_t len, int seals, struct qs_error *err)
{
    AUTO_FD int fd = memfd_with(data, len, seals);
    AUTO(policy_result_release) struct qs_policy_result *result = NULL;
    *err = (struct qs_error){0};
    enum qs_status status = qs_policy_thaw(fd, &result, err);
    assert_true((status == QS_OK) == (result != NULL));
    return status;
}

static void a_frozen_policy_comes_back_with_digest_and_sources(void **state)
{
    (void)state;
    AUTO(result_drop) struct qs_policy_result result = {0};
    AUTO(policy_result_release) struct qs_policy_result *again = NULL;
    AUTO_FD int fd = -1;
    struct qs_error err = {0};
    result_make(&result);
    assert_int_equal(qs_policy_freeze(&result, &fd, &err), QS_OK);
    assert_int_equal(fcntl(fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
    assert_int_equal(fcntl(fd, F_GET_SEALS) & ALL_SEALS, ALL_SEALS);
    assert_int_equal(qs_policy_thaw(fd, &again, &err), QS_OK);
    assert_int_equal(qs_policy_status(again), QS_OK);
    assert_memory_equal(qs_policy_digest(again), qs_policy_digest(&result), QS_DIGEST_BYTES);
    assert_string_equal(qs_policy_document(again, NULL), qs_policy_document(&result, NULL));
    assert_int_equal(qs_policy_source_count(again), 2);
    assert_int_equal(qs_policy_source(again, 0)->generation, 7);
    assert_int_equal(qs_policy_source(again, 0)->scope, QS_SCOPE_SYSTEM);
    assert_true(qs_policy_source(again, 0)->sets_policy && qs_policy_source(again, 0)->required);
    assert_memory_equal(qs_policy_source(again, 0)->digest, qs_policy_source(&result, 0)->digest, QS_DIGEST_BYTES);
    assert_int_equal(qs_policy_source(again, 1)->status, QS_ABSENT);
    assert_int_equal(qs_policy_get(again)->filesystem, QS_FS_WORKSPACE_WRITE);
    assert_null(qs_policy_source(again, 2));
}

static void a_frozen_policy_cannot_be_changed_even_by_its_maker(void **state)
{
    (void)state;
    AUTO(result_drop) struct qs_policy_result result = {0};
    AUTO_FD int fd = -1;
    result_make(&result);
    assert_int_equal(qs_policy_freeze(&result, &fd, NULL), QS_OK);
    assert_int_equal(pwrite(fd, "x", 1, 0), -1);
    assert_int_equal(ftruncate(fd, 0), -1);
    assert_int_equal(ftruncate(fd, 1 << 20), -1);
    assert_ptr_equal(mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0), MAP_FAILED);
    assert_int_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_FUTURE_WRITE), -1);
    struct stat st;
    assert_int_equal(fstat(fd, &st), 0);
    if (fcntl(fd, F_GET_SEALS) & 0x20) /* F_SEAL_EXEC: the kernel knows MFD_NOEXEC_SEAL */
        assert_int_equal(st.st_mode & 0111, 0);
}

static void what_is_not_present_is_not_frozen(void **state)
{
    (void)state;
    struct qs_policy_result result = {.status = QS_NO_POLICY};
    struct qs_error err = {0};
    int fd = -1;
    assert_int_equal(qs_policy_freeze(&result, &fd, &err), QS_USAGE);
    result.status = QS_OK; /* without a policy behind it */
    assert_int_equal(qs_policy_freeze(&result, &fd, &err), QS_USAGE);
    assert_int_equal(qs_policy_freeze(NULL, &fd, &err), QS_USAGE);
    assert_int_equal(fd, -1);
}

static void a_memfd_that_lacks_any_one_seal_is_refused(void **state)
{
    (void)state;
    AUTO(buf_release) struct buf text = {0};
    struct qs_error err;
    frozen_text(&text);
    assert_int_equal(thaw_text(text.data, text.len, ALL_SEALS, &err), QS_OK);
    assert_int_equal(thaw_text(text.data, text.len, 0, &err), QS_UNTRUSTED);
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(thaw_text(text.data, text.len, ALL_SEALS & ~all_seals[i], &err), QS_UNTRUSTED);
        assert_non_null(strstr(err.message, "lacks a seal"));
    }
}

static void what_is_no_memfd_is_refused(void **state)
{
    (void)state;
    AUTO(buf_release) struct buf text = {0};
    struct qs_error err = {0};
    struct qs_policy_result *result = NULL;
    char name[] = "/tmp/qs-test-freeze-XXXXXX";
    int pipes[2];
    AUTO_FD int file = mkstemp(name);
    frozen_text(&text);
    assert_true(file >= 0);
    assert_int_equal(unlink(name), 0);
    assert_int_equal(write(file, text.data, text.len), text.len);
    assert_int_equal(qs_policy_thaw(file, &result, &err), QS_UNTRUSTED);
    assert_int_equal(pipe2(pipes, O_CLOEXEC), 0);
    assert_int_equal(qs_policy_thaw(pipes[0], &result, &err), QS_UNTRUSTED);
    (void)close(pipes[0]);
    (void)close(pipes[1]);
    assert_int_equal(qs_policy_thaw(-1, &result, &err), QS_USAGE);
    assert_null(result);
}

static void any_flipped_byte_is_found_by_the_digest_or_the_head(void **state)
{
    (void)state;
    AUTO(buf_release) struct buf text = {0};
    frozen_text(&text);
    for (size_t i = 0; i < text.len; i += i < 100 ? 1 : 97) {
        struct qs_policy_result *result = NULL;
        text.data[i] ^= 0x20;
        assert_int_equal(policy_thaw_text(text.data, text.len, &result, NULL), QS_DAMAGED);
        text.data[i] ^= 0x20;
        assert_null(result);
    }
}

static void any_cut_is_found(void **state)
{
    (void)state;
    AUTO(buf_release) struct buf text = {0};
    struct qs_error err;
    frozen_text(&text);
    for (size_t len = 1; len < text.len; len += len < 110 ? 1 : 131)
        assert_int_equal(thaw_text(text.data, len, ALL_SEALS, &err), QS_DAMAGED);
}

/* A document of someone else's, with a head and a digest that are right. */
static enum qs_status thaw_document(const char *document, size_t len, struct qs_error *err)
{
    AUTO(buf_release) struct buf text = {0};
    unsigned char digest[QS_DIGEST_BYTES];
    char digest_text[DIGEST_TEXT_BYTES];
    digest_of(document, len, digest);
    digest_format(digest, digest_text);
    buf_printf(&text, "qsettings-policy-1 %s\n", digest_text);
    buf_add(&text, document, len);
    return thaw_text(text.data, text.len, ALL_SEALS, err);
}

static void replace(struct buf *text, const char *old, const char *new)
{
    AUTO(buf_release) struct buf copy = {0};
    char *at = strstr(text->data, old);
    assert_non_null(at);
    buf_add(&copy, text->data, (size_t)(at - text->data));
    buf_add_str(&copy, new);
    buf_add_str(&copy, at + strlen(old));
    buf_clear(text);
    buf_add(text, copy.data, copy.len);
}

static void a_document_with_a_right_digest_and_wrong_content_is_refused(void **state)
{
    (void)state;
    static const char *const edits[][2] = {
        {"\"network\":\"closed\"", "\"network\":\"off\""},
        {"\"network\":\"closed\",", ""},
        {"\"network\":\"closed\"", "\"more\":1,\"network\":\"closed\""},
        {"\"network\":\"closed\"", "\"network\": \"closed\""},
        {"\"wallSeconds\":600", "\"wallSeconds\":-600"},
        {"\"writableRoots\":[]", "\"writableRoots\":[\"relative\"]"},
        {"\"writableRoots\":[]", "\"writableRoots\":[\"/b\",\"/a\"]"},
        {"\"writableRoots\":[]", "\"writableRoots\":[\"/a/\"]"},
        {"\"state\":\"present\"", "\"state\":\"damaged\""},
        {"\"scope\":\"system\"", "\"scope\":\"workspace\""},
        {"\"generation\":7", "\"generation\":-7"},
        {"\"storeId\":\"0", "\"storeId\":\"g"},
        {"\"sources\":[", "\"sources\":[1,"},
        {"\"sources\":", "\"extra\":1,\"sources\":"},
        {"\"policy\":{", "\"policy\":null,\"x\":{"},
    };
    AUTO(buf_release) struct buf text = {0};
    struct qs_error err;
    frozen_text(&text);
    size_t head = strcspn(text.data, "\n") + 1;
    assert_int_equal(thaw_document(text.data + head, text.len - head, &err), QS_OK);
    for (size_t i = 0; i < sizeof edits / sizeof edits[0]; i++) {
        AUTO(buf_release) struct buf edited = {0};
        buf_add(&edited, text.data + head, text.len - head);
        replace(&edited, edits[i][0], edits[i][1]);
        if (thaw_document(edited.data, edited.len, &err) != QS_INVALID)
            fail_msg("%s is accepted", edits[i][1]);
    }
    assert_int_equal(thaw_document("[]", 2, &err), QS_INVALID);
    assert_int_equal(thaw_document("{", 1, &err), QS_INVALID);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_frozen_policy_comes_back_with_digest_and_sources),
        cmocka_unit_test(a_frozen_policy_cannot_be_changed_even_by_its_maker),
        cmocka_unit_test(what_is_not_present_is_not_frozen),
        cmocka_unit_test(a_memfd_that_lacks_any_one_seal_is_refused),
        cmocka_unit_test(what_is_no_memfd_is_refused),
        cmocka_unit_test(any_flipped_byte_is_found_by_the_digest_or_the_head),
        cmocka_unit_test(any_cut_is_found),
        cmocka_unit_test(a_document_with_a_right_digest_and_wrong_content_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
