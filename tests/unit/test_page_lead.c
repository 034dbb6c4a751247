// test_page_lead.c - the first view of a part of the report page: what the page is given to print.
#include <jansson.h>
#include <math.h>

#include "report/page_lead.h"
#include "unit.h"

static json_t *json_of(hsc_page_lead *lead) {
  hsc_bytes text = {0};
  hsc_lead_json(lead, &text);
  json_t *document = json_loads(hsc_bytes_text(&text), 0, NULL);
  hsc_bytes_deinit(&text);
  hsc_lead_deinit(lead);
  assert_non_null(document);
  return document;
}

static void parts_add_up_to_the_whole(void **state) {
  hsc_page_lead lead = {.bar_title = "all"};
  hsc_lead_bar(&lead, "nothing", 0, "s");
  hsc_lead_bar(&lead, "unknown", NAN, "s");
  for (int i = 0; i < HSC_LEAD_PARTS + 3; i++)
    hsc_lead_bar(&lead, "part", 1 + i, "s");
  json_t *document = json_of(&lead);
  json_t *parts = json_object_get(json_object_get(document, "bar"), "parts");
  json_t *part;
  size_t i;
  double sum = 0;
  assert_int_equal(json_array_size(parts), HSC_LEAD_PARTS + 1);
  json_array_foreach (parts, i, part)
    sum += json_real_value(json_object_get(part, "share"));
  assert_true(fabs(sum - 1) < 1e-12);
  part = json_array_get(parts, HSC_LEAD_PARTS);
  assert_string_equal(json_string_value(json_object_get(part, "name")), "3 others");
  assert_string_equal(json_string_value(json_object_get(part, "text")), "27 s");
  json_decref(document);
}

static void numbers_are_three_and_never_nan(void **state) {
  hsc_page_lead lead = {0};
  hsc_lead_number(&lead, NAN, "s", "", "unknown");
  hsc_lead_number(&lead, 12, "", "bad", "of %d", 40);
  hsc_lead_number(&lead, 2.5e-6, "s", "", "a run");
  hsc_lead_number(&lead, 1, "", "", "a fourth");
  hsc_lead_say(&lead, "It took %d us.", 3);
  json_t *document = json_of(&lead);
  json_t *numbers = json_object_get(document, "numbers");
  static const char *const wanted[] = {"–", "12", "2.50 µs"};
  assert_int_equal(json_array_size(numbers), 3);
  for (size_t i = 0; i < 3; i++)
    assert_string_equal(json_string_value(json_object_get(json_array_get(numbers, i), "value")),
                        wanted[i]);
  assert_string_equal(json_string_value(json_object_get(json_array_get(numbers, 1), "label")),
                      "of 40");
  assert_string_equal(json_string_value(json_object_get(document, "sentence")), "It took 3 µs.");
  assert_true(json_is_null(json_object_get(document, "bar")));
  assert_true(json_is_null(json_object_get(document, "next")));
  json_decref(document);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(parts_add_up_to_the_whole),
      cmocka_unit_test(numbers_are_three_and_never_nan),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
