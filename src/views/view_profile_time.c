// view_profile_time.c - a profile along the time axis: steps, lanes, gaps, and what the file holds.
#include <math.h>
#include <stdlib.h>

#include "views/profile_internal.h"

static double ns(int64_t ps) {
  return (double)ps / 1000;
}

static int compare_doubles(const void *a, const void *b) {
  double x = *(const double *)a;
  double y = *(const double *)b;
  return x < y ? -1 : x > y;
}

hsc_status *hsc__profile_view_steps(hsc__profile_view *cx) {
  hsc_profile *profile = cx->profile;
  hsc_table_column(cx->table, "step", "");
  hsc_table_column(cx->table, "device", "");
  hsc_table_column(cx->table, "start", "ns");
  hsc_table_column(cx->table, "time", "ns");
  for (int a = 0; a < HSC_ACTIVITY_COUNT; a++)
    hsc_table_column(cx->table, hsc_activity_text((hsc_activity)a), "ns");
  hsc_table_column(cx->table, "busy", "fraction");
  size_t count = profile->steps.count;
  for (size_t i = 0; i < count && hsc__profile_room(cx); i++) {
    const hsc_profile_step *s = &profile->steps.items[i];
    double time = ns(s->end_ps - s->start_ps);
    hsc_table_row(cx->table);
    hsc_table_int(cx->table, s->number);
    hsc_table_text(cx->table, profile->devices.items[s->device].name);
    hsc_table_double(cx->table, ns(s->start_ps));
    hsc_table_double(cx->table, time);
    for (int a = 0; a < HSC_ACTIVITY_COUNT; a++)
      hsc_table_double(cx->table, ns(s->activity_ps[a]));
    hsc_table_double(cx->table, time > 0 ? ns(s->activity_ps[HSC_ACTIVITY_COMPUTE] +
                                              s->activity_ps[HSC_ACTIVITY_COLLECTIVE]) /
                                               time
                                         : NAN);
  }
  double *times = HSC_NEW_ARRAY(cx->arena, double, count + 1);
  if (!times)
    return hsc_status_out_of_memory();
  for (size_t d = 0; d < profile->devices.count; d++) {
    size_t n = 0;
    double sum = 0;
    double squares = 0;
    for (size_t i = 0; i < count; i++)
      if (profile->steps.items[i].device == (int32_t)d)
        times[n++] = ns(profile->steps.items[i].end_ps - profile->steps.items[i].start_ps);
    if (n < 2)
      continue;
    for (size_t i = 0; i < n; i++)
      sum += times[i];
    for (size_t i = 0; i < n; i++)
      squares += (times[i] - sum / (double)n) * (times[i] - sum / (double)n);
    qsort(times, n, sizeof *times, compare_doubles);
    char text[5][32];
    hsc_format_quantity(n % 2 ? times[n / 2] : (times[n / 2 - 1] + times[n / 2]) / 2, "ns", false,
                        text[0]);
    hsc_format_quantity(sum / (double)n, "ns", false, text[1]);
    hsc_format_quantity(sqrt(squares / (double)(n - 1)), "ns", false, text[2]);
    hsc_format_quantity(times[0], "ns", false, text[3]);
    hsc_format_quantity(times[n - 1], "ns", false, text[4]);
    hsc_table_note(cx->table,
                   "%s: %zu steps: median %s, mean %s, standard deviation %s, from %s to %s",
                   profile->devices.items[d].name, n, text[0], text[1], text[2], text[3], text[4]);
  }
  if (!count)
    hsc_table_note(cx->table,
                   "no steps: the profile has no line 'Steps', no event with step_num, and no runs "
                   "of a program (jax.profiler.StepTraceAnnotation marks them)");
  return NULL;
}

// ---- lanes --------------------------------------------------------------------------------------

static int compare_lanes(const void *a, const void *b) {
  const hsc_profile_lane *x = *(const hsc_profile_lane *const *)a;
  const hsc_profile_lane *y = *(const hsc_profile_lane *const *)b;
  if (x->section != y->section)
    return x->section < y->section ? -1 : 1;
  int order = strcmp(x->device, y->device);
  return order ? order : strcmp(x->name, y->name);
}

typedef struct span {
  int64_t start, end;
} span;

static int compare_spans(const void *a, const void *b) {
  const span *x = a;
  const span *y = b;
  return x->start < y->start ? -1 : x->start > y->start;
}

// A lane of spans in the order of their starts.
static hsc_profile_lane lane_of_spans(const char *device,
                                      const char *name,
                                      const span *spans,
                                      size_t count) {
  hsc_profile_lane lane = {.device = device,
                           .name = name,
                           .section = HSC__SECTION_PROCESS,
                           .events = (int64_t)count,
                           .first_ps = spans[0].start,
                           .last_ps = spans[0].start};
  for (size_t i = 0; i < count; i++) {
    int64_t start = spans[i].start;
    int64_t end = spans[i].end;
    if (i && start - lane.last_ps > lane.gap_ps) {
      lane.gap_ps = start - lane.last_ps;
      lane.gap_start_ps = lane.last_ps;
    }
    if (end <= lane.last_ps)
      continue;
    lane.busy_ps += end - (start > lane.last_ps ? start : lane.last_ps);
    lane.last_ps = end;
  }
  return lane;
}

// Steps and program runs of devices that have no lines of their own for them, as XLA:CPU's. Adds to
// `lanes` and counts them.
static hsc_status *add_overview(hsc__profile_view *cx,
                                const hsc_profile_lane **lanes,
                                size_t *count) {
  hsc_profile *profile = cx->profile;
  span *spans = HSC_NEW_ARRAY(cx->arena, span, profile->steps.count + profile->runs.count + 1);
  if (!spans)
    return hsc_status_out_of_memory();
  for (size_t d = 0; d < profile->devices.count; d++) {
    bool has_lines = false;
    for (size_t l = 0; l < profile->lanes.count; l++)
      has_lines |= profile->lanes.items[l].section == HSC__SECTION_PROCESS &&
                   profile->lanes.items[l].plane == profile->devices.items[d].plane;
    for (int runs = 0; runs < 2 && !has_lines; runs++) {
      size_t n = 0;
      for (size_t i = 0; i < (runs ? profile->runs.count : profile->steps.count); i++) {
        int32_t device = runs ? profile->runs.items[i].device : profile->steps.items[i].device;
        if (device != (int32_t)d)
          continue;
        spans[n++] = runs
                         ? (span){profile->runs.items[i].start_ps, profile->runs.items[i].end_ps}
                         : (span){profile->steps.items[i].start_ps, profile->steps.items[i].end_ps};
      }
      if (!n)
        continue;
      qsort(spans, n, sizeof *spans, compare_spans);
      hsc_profile_lane *lane = HSC_NEW(cx->arena, hsc_profile_lane);
      if (!lane)
        return hsc_status_out_of_memory();
      *lane =
          lane_of_spans(profile->devices.items[d].name, runs ? "program runs" : "steps", spans, n);
      lanes[(*count)++] = lane;
    }
  }
  return NULL;
}

hsc_status *hsc__profile_view_timeline(hsc__profile_view *cx) {
  hsc_profile *profile = cx->profile;
  hsc_table_column(cx->table, "section", "");
  hsc_table_column(cx->table, "device", "");
  hsc_table_column(cx->table, "lane", "");
  hsc_table_column(cx->table, "events", "count");
  hsc_table_column(cx->table, "start", "ns");
  hsc_table_column(cx->table, "end", "ns");
  hsc_table_column(cx->table, "busy", "ns");
  hsc_table_column(cx->table, "share", "fraction");
  hsc_table_column(cx->table, "bytes", "bytes");
  hsc_table_column(cx->table, "longest_gap", "ns");
  hsc_table_column(cx->table, "gap_start", "ns");
  size_t count = profile->lanes.count;
  const hsc_profile_lane **lanes =
      HSC_NEW_ARRAY(cx->arena, const hsc_profile_lane *, count + 2 * profile->devices.count + 1);
  if (!lanes)
    return hsc_status_out_of_memory();
  for (size_t i = 0; i < count; i++)
    lanes[i] = &profile->lanes.items[i];
  HSC_TRY(add_overview(cx, lanes, &count));
  if (count)
    qsort(lanes, count, sizeof *lanes, compare_lanes);
  for (size_t i = 0; i < count && hsc__profile_room(cx); i++) {
    const hsc_profile_lane *l = lanes[i];
    if (cx->options->where && !strstr(l->name, cx->options->where))
      continue;
    if (cx->options->traced_only && l->section == HSC__SECTION_TRANSFER)
      continue;
    hsc_table_row(cx->table);
    hsc_table_text(cx->table, hsc__section_text((hsc__section)l->section));
    hsc_table_text(cx->table, l->device);
    hsc_table_text(cx->table, l->name);
    hsc_table_int(cx->table, l->events);
    hsc_table_double(cx->table, ns(l->first_ps));
    hsc_table_double(cx->table, ns(l->last_ps));
    hsc_table_double(cx->table, ns(l->busy_ps));
    hsc_table_double(cx->table,
                     profile->span_ps > 0 ? (double)l->busy_ps / (double)profile->span_ps : NAN);
    if (l->bytes)
      hsc_table_int(cx->table, l->bytes);
    else
      hsc_table_missing(cx->table);
    if (l->gap_ps) {
      hsc_table_double(cx->table, ns(l->gap_ps));
      hsc_table_double(cx->table, ns(l->gap_start_ps));
    }
  }
  hsc_table_note(cx->table,
                 "the view 'gaps' says what the gaps between operators were spent with; hloscope "
                 "export --to=chrome draws the lanes");
  return NULL;
}

// ---- gaps ---------------------------------------------------------------------------------------

typedef struct gap {
  int64_t start, end;
  int32_t device;
  int64_t activity[HSC_ACTIVITY_COUNT];
} gap;

static int compare_gaps(const void *a, const void *b) {
  const gap *x = a;
  const gap *y = b;
  int64_t p = x->end - x->start;
  int64_t q = y->end - y->start;
  if (p != q)
    return p > q ? -1 : 1;
  return x->start < y->start ? -1 : x->start > y->start;
}

// The time of a gap by what the host did meanwhile: the first activity that fits, overlaps counted
// once.
static void explain(const hsc_profile *profile, gap *g) {
  int64_t now = g->start;
  int64_t ends[HSC_ACTIVITY_COUNT];
  for (int c = 0; c < HSC_ACTIVITY_COUNT; c++)
    ends[c] = INT64_MIN;
  for (size_t i = 0; i <= profile->host.count; i++) {
    const hsc__interval *next = i < profile->host.count ? &profile->host.items[i] : NULL;
    int64_t to = !next || next->start > g->end ? g->end : next->start;
    while (now < to) {
      int c = 0;
      while (c < HSC_ACTIVITY_IDLE && ends[c] <= now)
        c++;
      int64_t end = c < HSC_ACTIVITY_IDLE && ends[c] < to ? ends[c] : to;
      g->activity[c] += end - now;
      now = end;
    }
    if (!next || next->start >= g->end)
      return;
    if (next->end > ends[next->activity])
      ends[next->activity] = next->end;
  }
}

static bool has_stat(const hsc_xevent *event, int64_t id) {
  hsc_xstat_cursor at = hsc_xstats_of(event->message, HSC_XEVENT_STATS);
  for (hsc_xstat stat; event->has_stats && hsc_xstat_next(&at, &stat);)
    if (stat.metadata_id == id)
      return true;
  return false;
}

// Gaps of a device: where none of its operators ran, on any of its lines. Only lanes of execution
// are decoded again.
static hsc_status *find_gaps(
    hsc__profile_view *cx, int32_t device, gap *kept, size_t room, size_t *count, bool *out_cut) {
  hsc_profile *profile = cx->profile;
  HSC__LIST(span) spans = {0};
  hsc_status *status = NULL;
  for (size_t l = 0; l < profile->lanes.count; l++) {
    const hsc_profile_lane *lane = &profile->lanes.items[l];
    if (lane->section != HSC__SECTION_EXECUTION ||
        lane->plane != profile->devices.items[device].plane)
      continue;
    bool all_ops = hsc_view_equals_text(lane->line->name, "XLA Ops");
    int64_t hlo_op = all_ops ? -1 : hsc_xplane_stat_id(lane->plane, "hlo_op");
    hsc_xevent_cursor at = hsc_xline_events(lane->line);
    for (hsc_xevent e; hsc_xevent_next(&at, &e);) {
      // the thread of a host does other things too
      if (hlo_op >= 0 && !has_stat(&e, hlo_op))
        continue;
      if (!hsc__profile_is_of(&profile->devices.items[device], &e))
        continue;
      int64_t start = hsc__profile_time(profile, lane->line, e.offset_ps);
      int64_t end = hsc__sat_add(start, e.duration_ps > 0 ? e.duration_ps : 0);
      if (end <= start)
        continue;
      if (spans.count && spans.items[spans.count - 1].end >= start &&
          spans.items[spans.count - 1].start <= start) {
        if (end > spans.items[spans.count - 1].end)
          spans.items[spans.count - 1].end = end;
      } else if (!HSC__ADD(&spans, (span){start, end})) {
        status = hsc_status_out_of_memory();
        goto done;
      }
    }
  }
  if (spans.count)
    qsort(spans.items, spans.count, sizeof *spans.items, compare_spans);
  int64_t last = spans.count ? spans.items[0].end : 0;
  for (size_t i = 1; i < spans.count; i++) {
    if (spans.items[i].start > last) {
      gap g = {.start = last, .end = spans.items[i].start, .device = device};
      if (*count == room) {  // the shortest half goes
        qsort(kept, room, sizeof *kept, compare_gaps);
        *count = room / 2;
        *out_cut = true;
      }
      kept[(*count)++] = g;
    }
    if (spans.items[i].end > last)
      last = spans.items[i].end;
  }
done:
  hsc_free(spans.items);
  return status;
}

hsc_status *hsc__profile_view_gaps(hsc__profile_view *cx) {
  enum { ROOM = 4096 };
  hsc_profile *profile = cx->profile;
  hsc_table_column(cx->table, "device", "");
  hsc_table_column(cx->table, "start", "ns");
  hsc_table_column(cx->table, "gap", "ns");
  hsc_table_column(cx->table, "spent_with", "");
  for (int a = HSC_ACTIVITY_TRANSFER; a < HSC_ACTIVITY_COUNT; a++)
    hsc_table_column(cx->table, hsc_activity_text((hsc_activity)a), "ns");
  gap *gaps = HSC_NEW_ARRAY(cx->arena, gap, ROOM);
  if (!gaps)
    return hsc_status_out_of_memory();
  size_t count = 0;
  bool cut = false;
  for (size_t d = 0; d < profile->devices.count; d++)
    HSC_TRY(find_gaps(cx, (int32_t)d, gaps, ROOM, &count, &cut));
  if (count)
    qsort(gaps, count, sizeof *gaps, compare_gaps);
  size_t shown = cx->options->limit ? (size_t)cx->options->limit : count;
  for (size_t i = 0; i < count && i < shown; i++) {
    explain(profile, &gaps[i]);
    int most = HSC_ACTIVITY_TRANSFER;
    for (int a = most; a < HSC_ACTIVITY_COUNT; a++)
      if (gaps[i].activity[a] > gaps[i].activity[most])
        most = a;
    hsc_table_row(cx->table);
    hsc_table_text(cx->table, profile->devices.items[gaps[i].device].name);
    hsc_table_double(cx->table, ns(gaps[i].start));
    hsc_table_double(cx->table, ns(gaps[i].end - gaps[i].start));
    hsc_table_text(cx->table, most == HSC_ACTIVITY_IDLE ? "nothing that was recorded"
                                                        : hsc_activity_text((hsc_activity)most));
    for (int a = HSC_ACTIVITY_TRANSFER; a < HSC_ACTIVITY_COUNT; a++)
      hsc_table_double(cx->table, ns(gaps[i].activity[a]));
  }
  if (cut)
    hsc_table_note(cx->table,
                   "of more than %d gaps the shorter ones are left out; hloscope export "
                   "--to=chrome draws them all",
                   ROOM);
  return NULL;
}

// ---- what the file holds ------------------------------------------------------------------------

hsc_status *hsc__profile_view_planes(hsc__profile_view *cx) {
  hsc_table_column(cx->table, "plane", "");
  hsc_table_column(cx->table, "plane_id", "");
  hsc_table_column(cx->table, "line", "");
  hsc_table_column(cx->table, "line_id", "");
  hsc_table_column(cx->table, "events", "count");
  hsc_table_column(cx->table, "event_names", "count");
  hsc_table_column(cx->table, "stat_names", "count");
  hsc_table_column(cx->table, "size", "bytes");
  hsc_table_column(cx->table, "timestamp", "ns");
  for (size_t s = 0; s < cx->profile->spaces.count; s++) {
    const hsc_xspace *space = cx->profile->spaces.items[s];
    for (int32_t p = 0; p < space->plane_count; p++) {
      const hsc_xplane *plane = &space->planes[p];
      if (!hsc__view_contains(plane->name, cx->options->where))
        continue;
      for (int32_t l = plane->line_count ? 0 : -1; l < plane->line_count && hsc__profile_room(cx);
           l++) {
        const hsc_xline *line = l >= 0 ? &plane->lines[l] : NULL;
        int64_t events = 0;
        if (line) {
          hsc_xevent_cursor at = hsc_xline_events(line);
          for (hsc_xevent e; hsc_xevent_next(&at, &e);)
            events++;
        }
        hsc_table_row(cx->table);
        hsc__table_view(cx->table, plane->name);
        hsc_table_int(cx->table, plane->id);
        if (line) {
          hsc__table_view(cx->table, line->name);
          hsc_table_int(cx->table, line->id);
          hsc_table_int(cx->table, events);
        } else {
          hsc_table_missing(cx->table);
          hsc_table_missing(cx->table);
          hsc_table_int(cx->table, 0);
        }
        hsc_table_int(cx->table, plane->event_meta_count);
        hsc_table_int(cx->table, plane->stat_meta_count);
        hsc_table_int(cx->table, (int64_t)(line ? line->message.size : plane->message.size));
        if (line)
          hsc_table_int(cx->table, line->timestamp_ns);
      }
    }
  }
  return NULL;
}
