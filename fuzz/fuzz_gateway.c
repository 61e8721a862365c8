/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an etcd gateway answers. Invariants: refused with QS_INVALID and a reason, or taken; a watch line's verdict is
 * one of four; a cut of a line that is whole is a part.
 */
#include "fleet/carrier/etcd_answer.h"
#include "fuzz/fuzz.h"

#include <string.h>

static void fine(enum qs_status status, const struct qs_error *err)
{
    MUST(status == QS_OK || (status == QS_INVALID && err->message[0]));
}

static void check_requests(const char *key, struct qs_bytes value)
{
    struct buf out[6] = {{0}};
    etcd_range(key, &out[0]);
    etcd_list(key, value, &out[1]);
    etcd_put(key, value, &out[2]);
    etcd_exchange(key, value.len, value, &out[3]);
    etcd_watch_request(key, value.len, &out[4]);
    etcd_authenticate(key, "p\"w", &out[5]);
    for (size_t i = 0; i < 6; i++) {
        json_t *root = NULL;
        MUST(!out[i].failed && value_decode(out[i].data, out[i].len, &root, NULL) == QS_OK);
        json_decref(root);
        buf_release(&out[i]);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct qs_error err = {0};
    struct etcd_answer answer;
    struct buf value = {0};
    char *copy = malloc(size + 1);
    json_t *keys = json_array();
    MUST(copy && keys);
    if (size)
        memcpy(copy, data, size);
    struct qs_bytes text = {copy, size};
    enum qs_status status = etcd_answer_parse(text, &answer, &value, &err);
    fine(status, &err);
    MUST(status || answer.revision);
    fine(etcd_keys_parse(text, "qsettings/north/report/", keys, &value, &err), &err);
    fine(etcd_token_parse(text, &value, &err), &err);
    enum etcd_watch told = etcd_watch_line(text, 10);
    MUST(told <= ETCD_WATCH_PART);
    if (told != ETCD_WATCH_PART && size && copy[size - 1] == '}')
        MUST(etcd_watch_line((struct qs_bytes){copy, size - 1}, 10) == ETCD_WATCH_PART);
    (void)etcd_wants_token(size % 2 ? 400 : 401, text);
    if (size < 1000)
        check_requests("qsettings/north/head", text);
    json_decref(keys);
    buf_release(&value);
    free(copy);
    return 0;
}
