// capture_query.c - what the readers of an open capture ask: its processes, threads and events, and
// the texts that numbers stand for.
#include "base/text/text.h"
#include "trace/capture_ring.h"

static const char *const category_names[] = {"user",     "compile",   "transfer",  "execute",
                                             "operator", "wait",      "memory",    "runtime",
                                             "pass",     "framework", "collective"};
_Static_assert(1 << HSC_COUNT_OF(category_names) == HSC_CATEGORY_COLLECTIVE << 1,
               "every category has a name");

const char *hsc_capture_category_text(const hsc_capture *capture, uint32_t category) {
  for (size_t i = 0; i < HSC_COUNT_OF(category_names); i++)
    if (category == 1u << i)
      return category_names[i];
  for (int i = 0; i < HSC_USER_CATEGORIES; i++)
    if (category == 1u << (HSC_USER_CATEGORY_BIT + i))
      return capture->user_categories[i] ? capture->user_categories[i] : "";
  return "";
}

// The programs of a capture give numbers to their own categories each by itself; here a name has

uint32_t hsc__capture_category(hsc_capture *capture, const hsc__ring *r, uint32_t category) {
  for (int i = 0; i < HSC_USER_CATEGORIES; i++) {
    if (category != 1u << (HSC_USER_CATEGORY_BIT + i))
      continue;
    const char *name = r->header.user_categories[i];
    for (int k = 0; *name && k < HSC_USER_CATEGORIES; k++) {
      if (!capture->user_categories[k])
        capture->user_categories[k] = hsc_arena_strdup(capture->arena, name);
      if (capture->user_categories[k] && !strcmp(capture->user_categories[k], name))
        return 1u << (HSC_USER_CATEGORY_BIT + k);
    }
    return 0;  // more names than there is room for, or none
  }
  return category;
}

void hsc__capture_release_pages(const hsc_capture *capture) {
  for (int i = 0; i < capture->ring_count; i++)
    hsc__ring_release_pages(&capture->rings[i], capture->rings[i].bytes, capture->rings[i].size);
}

void hsc_capture_looked(const hsc_capture *capture) {
  enum { LOOKS = 1 << 18 };  // of so many attributes: some ten MiB of rings
  if (capture->looks && ++*capture->looks % LOOKS == 0)
    hsc__capture_release_pages(capture);
}

int hsc__capture_thread(hsc_capture *capture, int process, int64_t tid, const char *name) {
  process = capture->processes[process].shown_as;
  hsc_capture_thread *threads = (hsc_capture_thread *)capture->threads.data;
  int count = (int)(capture->threads.size / sizeof *threads);
  for (int i = count - 1; i >= 0; i--) {
    if (threads[i].process != process || threads[i].tid != tid)
      continue;
    if (tid == 0 && strcmp(threads[i].name, name))
      continue;
    if (*name)
      threads[i].name = name;
    return i;
  }
  hsc_capture_thread thread = {.process = process, .tid = tid, .name = name};
  hsc_bytes_append(&capture->threads, &thread, sizeof thread);
  return count;
}

size_t hsc_capture_event_count(const hsc_capture *capture) {
  return capture->events.size / sizeof(hsc_event);
}
const hsc_event *hsc_capture_events(const hsc_capture *capture) {
  return (const hsc_event *)capture->events.data;
}
int hsc_capture_process_count(const hsc_capture *capture) {
  return capture->ring_count;
}
int hsc_capture_host_count(const hsc_capture *capture) {
  int count = 0;
  for (int i = 0; i < capture->ring_count; i++)
    if (capture->processes[i].host_number >= count)
      count = capture->processes[i].host_number + 1;
  return count;
}
const hsc_capture_process *hsc_capture_process_at(const hsc_capture *capture, int process) {
  return &capture->processes[process];
}
int hsc_capture_thread_count(const hsc_capture *capture) {
  return (int)(capture->threads.size / sizeof(hsc_capture_thread));
}
const hsc_capture_thread *hsc_capture_thread_at(const hsc_capture *capture, int thread) {
  return (const hsc_capture_thread *)capture->threads.data + thread;
}
int64_t hsc_capture_start_wall_ns(const hsc_capture *capture) {
  return capture->base_wall_ns;
}
const char *hsc_capture_path(const hsc_capture *capture) {
  return capture->path ? capture->path : "";
}
const char *hsc_capture_notes(const hsc_capture *capture) {
  return hsc_bytes_text(&capture->notes);
}

const char *hsc_capture_string(const hsc_capture *capture, int32_t process, uint64_t number) {
  return process >= 0 && process < capture->ring_count
             ? hsc__ring_string(&capture->rings[process], number)
             : "";
}

uint32_t hsc_capture_number(const hsc_capture *capture, int32_t process, const char *text) {
  const hsc__ring *r =
      process >= 0 && process < capture->ring_count ? &capture->rings[process] : NULL;
  for (uint32_t i = 1; r && i < r->string_count; i++)
    if (r->strings[i] && !strcmp(r->strings[i], text))
      return i;
  return 0;
}

const hsc_trace_attr *hsc_event_attr(const hsc_capture *capture,
                                     const hsc_event *event,
                                     const char *key) {
  hsc_capture_looked(capture);
  for (int i = 0; i < event->end_attr_count; i++)
    if (!strcmp(hsc_capture_string(capture, event->process, event->end_attrs[i].key), key))
      return &event->end_attrs[i];
  for (int i = 0; i < event->attr_count; i++)
    if (!strcmp(hsc_capture_string(capture, event->process, event->attrs[i].key), key))
      return &event->attrs[i];
  return NULL;
}

const char *hsc_event_shown_name(const hsc_capture *capture, const hsc_event *e) {
  const hsc_trace_attr *executable =
      e->category == HSC_CATEGORY_EXECUTE ? hsc_event_attr(capture, e, "executable") : NULL;
  const char *name = executable && executable->type == HSC_ATTR_STRING
                         ? hsc_capture_string(capture, e->process, executable->value.string)
                         : "";
  return *name ? name : e->name;
}

void hsc_event_attrs_text(const hsc_capture *capture, const hsc_event *e, hsc_bytes *out) {
  for (int i = 0; i < e->attr_count + e->end_attr_count; i++) {
    const hsc_trace_attr *a = i < e->attr_count ? &e->attrs[i] : &e->end_attrs[i - e->attr_count];
    if (i)
      hsc_bytes_append(out, " ", 1);
    hsc_bytes_append_text(out, hsc_capture_string(capture, e->process, a->key));
    hsc_bytes_append(out, "=", 1);
    char number[32];
    char *from = number + sizeof number;
    if (a->type == HSC_ATTR_STRING) {
      hsc_bytes_append_text(out, hsc_capture_string(capture, e->process, a->value.string));
    } else if (a->type == HSC_ATTR_DOUBLE) {
      hsc_bytes_append(out, number, (size_t)hsc_format_double(a->value.d, number));
    } else {
      bool negative = a->type != HSC_ATTR_UINT && a->value.i < 0;
      uint64_t left = negative ? 0 - a->value.u : a->value.u;
      do
        *--from = (char)('0' + left % 10);
      while (left /= 10);
      if (negative)
        *--from = '-';
      hsc_bytes_append(out, from, (size_t)(number + sizeof number - from));
    }
  }
}
