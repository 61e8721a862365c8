/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of pages: what any text becomes in them. (test_report.c and reports.bats look at whole pages.) */
#include "terminal/html.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void becomes(struct buf *out, const char *expected)
{
    assert_false(out->failed);
    assert_string_equal(out->data, expected);
    buf_release(out);
}

static void texts_are_escaped_wherever_they_stand(void **state)
{
    (void)state;
    struct buf out = {0};
    html_text(&out, "a<b> & \"c\" 'd'");
    becomes(&out, "a&lt;b&gt; &amp; &quot;c&quot; &#39;d&#39;");
    html_cell(&out, "bad", "%s", "<script>");
    becomes(&out, "<td class=\"bad\">&lt;script&gt;</td>");
    html_label(&out, NULL, 1, 2, "end", "%s", "</svg>");
    becomes(&out, "<text x=\"1.0\" y=\"2.0\" text-anchor=\"end\">&lt;/svg&gt;</text>\n");
    html_bar(&out, "good", 1, 2, 3, 4, "%s", "&");
    becomes(&out, "<rect class=\"good\" x=\"1.00\" y=\"2.00\" width=\"3.00\" height=\"4.00\">"
                  "<title>&amp;</title></rect>\n");
}

static void what_is_no_text_becomes_question_marks(void **state)
{
    (void)state;
    struct buf out = {0};
    html_text(&out, "a\x01\x1b[31m\x7f");
    becomes(&out, "a??[31m?");
    html_text(&out, "\xc3\xa4 is UTF-8");
    becomes(&out, "\xc3\xa4 is UTF-8");
    html_text(&out, "\xc3\xa4 and \xff");
    becomes(&out, "?? and ?");
}

static void a_text_of_any_length_ends(void **state)
{
    (void)state;
    struct buf out = {0};
    char text[5000];
    memset(text, 'x', sizeof text);
    text[sizeof text - 1] = '\0';
    html_paragraph(&out, NULL, "%s", text);
    assert_true(out.len < sizeof text);
    assert_string_equal(out.data + out.len - 6, "x</p>\n");
    buf_release(&out);
}

static void durations_change_their_unit_without_a_gap(void **state)
{
    (void)state;
    static const struct {
        double ns;
        const char *text;
    } rows[] = {{0, "0 ns"},        {850, "850 ns"},    {999, "999 ns"},    {1000, "1 us"},
                {12345, "12.3 us"}, {999949, "1 ms"},   {3.4e6, "3.4 ms"},  {999.9e6, "1 s"},
                {1e9, "1 s"},       {1.25e9, "1.25 s"}, {998.4e3, "998 us"}};
    char text[32];
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        assert_string_equal(html_duration(rows[i].ns, text), rows[i].text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_are_escaped_wherever_they_stand),
        cmocka_unit_test(what_is_no_text_becomes_question_marks),
        cmocka_unit_test(a_text_of_any_length_ends),
        cmocka_unit_test(durations_change_their_unit_without_a_gap),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
