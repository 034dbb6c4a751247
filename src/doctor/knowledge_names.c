// knowledge_names.c - the names of events and severities in entries.
#include "doctor/knowledge.h"

static const char *const event_names[] = {
#define EVENT(id, name, doc) name,
#include "doctor/events.def"
#undef EVENT
};
static const char *const severity_names[] = {"info", "warning", "error"};

const char *hsc_event_name(hsc_event event) {
  return (unsigned)event < HSC_EVENT_COUNT ? event_names[event] : "";
}

bool hsc_event_of_name(const char *name, hsc_event *out_event) {
  for (int i = 0; i < HSC_EVENT_COUNT; i++)
    if (!strcmp(name, event_names[i])) {
      *out_event = (hsc_event)i;
      return true;
    }
  return false;
}

const char *hsc_severity_name(hsc_severity severity) {
  return (unsigned)severity < HSC_COUNT_OF(severity_names) ? severity_names[severity] : "";
}

bool hsc_severity_of_name(const char *name, hsc_severity *out_severity) {
  for (size_t i = 0; i < HSC_COUNT_OF(severity_names); i++)
    if (!strcmp(name, severity_names[i])) {
      *out_severity = (hsc_severity)i;
      return true;
    }
  return false;
}
