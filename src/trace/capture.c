// capture.c - a recording is opened: the ring files of a directory become one capture.
//
// How to read: hsc_capture_open finds the rings; read_all keeps those of the last run, joins them
// by process, brings their clocks together, reads their events (capture_events.c), adds what
// profilers wrote (capture_profile.c) and puts all of it in order (capture_order.c). What a reader
// asks of the result is in capture_query.c.
#include <dirent.h>
#include <stdlib.h>

#include "base/core/spill.h"
#include "base/text/text.h"
#include "trace/capture_folder.h"
#include "trace/capture_ring.h"

static hsc_status *add_ring(hsc_capture *capture, const char *path) {
  hsc__ring r = {0};
  hsc_status *status = hsc__ring_open(path, &r);
  if (status) {
    hsc__ring_close(&r);
    return status;
  }
  if (!HSC_GROW(capture->rings, capture->ring_count, capture->ring_capacity)) {
    hsc__ring_close(&r);
    return hsc_status_out_of_memory();
  }
  capture->rings[capture->ring_count++] = r;
  return NULL;
}

static int compare_names(const void *a, const void *b) {
  return strcmp(*(char *const *)a, *(char *const *)b);
}

static hsc_status *add_directory(hsc_capture *capture, const char *path, DIR *directory) {
  hsc_bytes names = {0};  // of char *, in the arena
  for (struct dirent *entry; (entry = readdir(directory));) {
    if (!hsc_ends_with(entry->d_name, ".ring"))
      continue;
    char *full = hsc_arena_printf(capture->arena, "%s/%s", path, entry->d_name);
    hsc_bytes_append(&names, &full, sizeof full);
  }
  size_t count = names.size / sizeof(char *);
  if (count)
    qsort(names.data, count, sizeof(char *), compare_names);
  hsc_status *last = NULL;
  for (size_t i = 0; i < count; i++) {
    hsc_status *status = add_ring(capture, ((char **)names.data)[i]);
    if (!status)
      continue;
    hsc_bytes_printf(&capture->notes, "%s\n", hsc_status_message(status));
    hsc_status_free(last);
    last = status;
  }
  hsc_bytes_deinit(&names);
  if (capture->ring_count || !last) {
    hsc_status_free(last);
    last = NULL;
  }
  if (!capture->ring_count && !last)
    return HSC_ERR(NOT_FOUND,
                   "%s holds no recording: no program that loaded a PJRT plugin was traced into it",
                   path);
  return last;
}

static void note_process(hsc_capture *capture, const hsc_capture_process *p) {
  if (p->lost_events)
    hsc_bytes_printf(&capture->notes, "process %lld (%s): %llu events were lost for want of room\n",
                     (long long)p->pid, p->label, (unsigned long long)p->lost_events);
  if (p->lost_attrs)
    hsc_bytes_printf(&capture->notes, "process %lld: %llu attributes were lost\n",
                     (long long)p->pid, (unsigned long long)p->lost_attrs);
  if (p->torn_records)
    hsc_bytes_printf(&capture->notes, "process %lld: %llu damaged records were skipped\n",
                     (long long)p->pid, (unsigned long long)p->torn_records);
  if (!p->closed)
    hsc_bytes_printf(&capture->notes,
                     "process %lld (%s) did not end its recording: it runs still, was killed, or "
                     "left by _exit or exec\n",
                     (long long)p->pid, p->label);
}

// Of a folder that holds several runs the last one is read; the others are reported.
static hsc_status *keep_last_run(hsc_capture *capture) {
  hsc_ring_life *lives = HSC_NEW_ARRAY(capture->arena, hsc_ring_life, capture->ring_count + 1);
  bool *is_last = HSC_NEW_ARRAY(capture->arena, bool, capture->ring_count + 1);
  if (!lives || !is_last)
    return hsc_status_out_of_memory();
  for (int i = 0; i < capture->ring_count; i++) {
    const hsc_ring_header *h = &capture->rings[i].header;
    int64_t lasted_ns = h->last_raw_ns - h->first_raw_ns;
    lives[i] = (hsc_ring_life){
        .run_low = h->trace_id_low,
        .run_high = h->trace_id_high,
        .pid = h->pid,
        .parent_pid = h->parent_pid,
        .open = h->closed != 1,
        .begin_ns = h->first_wall_ns,
        .end_ns = h->first_wall_ns + (lasted_ns > 0 && lasted_ns < INT64_MAX / 4 ? lasted_ns : 0)};
  }
  int earlier = hsc__capture_last_run(lives, capture->ring_count, is_last);
  int kept = 0;
  for (int i = 0; i < capture->ring_count; i++) {
    if (is_last[i])
      capture->rings[kept++] = capture->rings[i];
    else
      hsc__ring_close(&capture->rings[i]);
  }
  capture->ring_count = kept;
  if (earlier)
    hsc_bytes_printf(&capture->notes,
                     "%s holds recordings of %d earlier run%s as well: only the last run is shown; "
                     "name one of the .ring files to see another\n",
                     capture->path, earlier, hsc_plural((double)earlier, "", "s"));
  return NULL;
}

// Rings of one process (its libraries and its Python code record each by itself) are shown as one.
static hsc_status *join_rings_of_processes(hsc_capture *capture) {
  for (int i = 0; i < capture->ring_count; i++) {
    const hsc_ring_header *h = &capture->rings[i].header;
    hsc_capture_process *p = &capture->processes[i];
    p->shown_as = i;
    for (int k = 0; k < i && p->shown_as == i; k++) {
      const hsc_ring_header *other = &capture->rings[k].header;
      hsc_capture_process *first = &capture->processes[k];
      if (other->pid != h->pid || strncmp(other->host, h->host, sizeof h->host) ||
          first->shown_as != k)
        continue;
      p->shown_as = k;
      p->ring_of_process = ++first->more_rings;
      const char *both = hsc_arena_printf(capture->arena, "%s, %.*s", first->label,
                                          (int)sizeof h->label - 1, h->label);
      if (!both)
        return hsc_status_out_of_memory();
      first->label = both;
    }
  }
  return NULL;
}

// The rings of a process have one clock: the one that was open longest knows its rate best, and all
// of them go by it. Two rates that differ by a billionth part would tear a call out of its label.
static void share_clocks(hsc_capture *capture) {
  for (int i = 0; i < capture->ring_count; i++) {
    const hsc__ring *best = &capture->rings[i];
    for (int k = 0; k < capture->ring_count; k++) {
      const hsc__ring *other = &capture->rings[k];
      bool shares = capture->processes[k].shown_as == capture->processes[i].shown_as &&
                    other->header.clock == best->header.clock;
      if (shares && other->header.last_raw_ns - other->header.first_raw_ns >
                        best->header.last_raw_ns - best->header.first_raw_ns)
        best = other;
    }
    hsc__ring *r = &capture->rings[i];
    r->anchor_ticks = best->header.first_ticks;
    r->anchor_raw_ns = best->header.first_raw_ns;
    r->shared_ns_per_tick = best->ns_per_tick;
  }
  for (int i = 0; i < capture->ring_count; i++)
    capture->rings[i].ns_per_tick = capture->rings[i].shared_ns_per_tick;
}

// Every ring numbers its spans from 1 on: those of a process's second ring get numbers of their
// own.
static void number_spans_apart(hsc_capture *capture, int ring, size_t first_event) {
  uint64_t mark = (uint64_t)capture->processes[ring].ring_of_process << 52;
  hsc_event *events = (hsc_event *)capture->events.data;
  for (size_t e = first_event; mark && e < hsc_capture_event_count(capture); e++) {
    if (events[e].span)
      events[e].span ^= mark;
    if (events[e].parent)
      events[e].parent ^= mark;
  }
}

// What the headers say of their processes. Texts of a damaged header need not end: they are cut.
static hsc_status *describe_processes(hsc_capture *capture) {
  capture->processes = HSC_NEW_ARRAY(capture->arena, hsc_capture_process, capture->ring_count);
  if (!capture->processes)
    return hsc_status_out_of_memory();
  for (int i = 0; i < capture->ring_count; i++) {
    hsc_ring_header *h = &capture->rings[i].header;
    for (int k = 0; k < HSC_USER_CATEGORIES; k++)
      h->user_categories[k][sizeof h->user_categories[k] - 1] = 0;
    h->label[sizeof h->label - 1] = h->command[sizeof h->command - 1] =
        h->host[sizeof h->host - 1] = 0;
    capture->processes[i] = (hsc_capture_process){.label = h->label,
                                                  .command = h->command,
                                                  .host = h->host,
                                                  .pid = h->pid,
                                                  .parent_pid = h->parent_pid,
                                                  .trace_id_high = h->trace_id_high,
                                                  .trace_id_low = h->trace_id_low,
                                                  .lost_events = h->lost_events,
                                                  .lost_attrs = h->lost_attrs,
                                                  .closed = h->closed == 1};
  }
  return NULL;
}

static void fill_missing_rates(hsc_capture *capture) {
  double measured = 0;
  for (int i = 0; i < capture->ring_count; i++) {
    hsc__ring *r = &capture->rings[i];
    if (r->ns_per_tick != 0)
      continue;
    if (!measured)
      measured = hsc__measured_ns_per_tick();
    r->ns_per_tick = measured;
  }
}

// Spans that never ended last until their process was last seen: that is the latest end of any
// other event of the ring, which may be after the header's last moment.
static void end_open_spans(hsc_capture *capture, hsc_capture_process *p, size_t first_event) {
  hsc_event *events = (hsc_event *)capture->events.data;
  size_t open = 0;
  for (size_t e = first_event; e < hsc_capture_event_count(capture); e++) {
    hsc_spill_passed(e);
    open += events[e].open;
    if (events[e].start_ns + events[e].duration_ns > p->end_ns)
      p->end_ns = events[e].start_ns + events[e].duration_ns;
  }
  for (size_t e = first_event; open; e++) {
    hsc_spill_passed(e);
    if (!events[e].open)
      continue;
    open--;
    events[e].duration_ns = p->end_ns - events[e].start_ns;
  }
}

static hsc_status *read_ring(hsc_capture *capture, int index) {
  hsc__ring *r = &capture->rings[index];
  hsc_capture_process *p = &capture->processes[index];
  p->start_ns = hsc__ring_ns(r, r->header.first_ticks);
  HSC_TRY(hsc__ring_read_strings(capture->arena, r));
  size_t first = hsc_capture_event_count(capture);
  HSC_TRY(hsc__capture_read_events(capture, index));
  p->end_ns = hsc__ring_ns(r, r->header.last_ticks);
  end_open_spans(capture, p, first);
  number_spans_apart(capture, index, first);
  note_process(capture, p);
  return NULL;
}

static hsc_status *read_all(hsc_capture *capture, const char *clocks_path) {
  HSC_TRY(keep_last_run(capture));
  HSC_TRY(describe_processes(capture));
  fill_missing_rates(capture);
  HSC_TRY(join_rings_of_processes(capture));
  share_clocks(capture);
  HSC_TRY(hsc__capture_align_hosts(capture, clocks_path));
  for (int i = 0; i < capture->ring_count; i++)
    HSC_TRY(read_ring(capture, i));
  HSC_TRY(hsc__capture_merge_profiles(capture));
  if (capture->backward)
    hsc_bytes_printf(
        &capture->notes,
        "%llu spans ended before they began: the clock went back; their duration is given as 0\n",
        (unsigned long long)capture->backward);
  return hsc__capture_put_in_order(capture);
}

hsc_status *hsc_capture_open(const char *path, hsc_capture **out_capture) {
  return hsc_capture_open_with_clocks(path, NULL, out_capture);
}

hsc_status *hsc_capture_open_with_clocks(const char *path,
                                         const char *clocks_path,
                                         hsc_capture **out_capture) {
  *out_capture = NULL;
  hsc_capture *capture = hsc_alloc(sizeof *capture);
  if (!capture)
    return hsc_status_out_of_memory();
  hsc_status *status = NULL;
  HSC_GOTO(hsc_arena_create(&capture->arena));
  capture->path = hsc_arena_strdup(capture->arena, path);
  DIR *directory = opendir(path);
  if (directory) {
    status = add_directory(capture, path, directory);
    closedir(directory);
  } else {
    status = add_ring(capture, path);
  }
  if (status)
    goto done;
  capture->looks = HSC_NEW(capture->arena, uint64_t);
  HSC_GOTO(hsc_arena_status(capture->arena));
  HSC_GOTO(read_all(capture, clocks_path));
  HSC_GOTO(hsc_bytes_status(&capture->threads));
  HSC_GOTO(hsc_arena_status(capture->arena));
  *out_capture = capture;
  return NULL;
done:
  hsc_capture_close(capture);
  return status;
}

void hsc_capture_close(hsc_capture *capture) {
  if (!capture)
    return;
  for (int i = 0; i < capture->ring_count; i++)
    hsc__ring_close(&capture->rings[i]);
  hsc_free(capture->rings);
  hsc_bytes_deinit(&capture->events);
  hsc_bytes_deinit(&capture->threads);
  hsc_bytes_deinit(&capture->notes);
  hsc_arena_destroy(capture->arena);
  hsc_free(capture);
}
