// plugin_event.c - events: something that becomes ready once, with a result.
//
// Nearly everything here is done when the call returns, so nearly every event is the one immortal
// ready event: no allocation, no lock.
#include "plugin/plugin_internal.h"

typedef struct callback {
  PJRT_Event_OnReadyCallback call;
  void *user;
  struct callback *next;
} callback;

struct PJRT_Event {
  bool immortal;
  _Atomic bool ready;  // written once, under the lock
  _Atomic int references;
  pthread_mutex_t lock;
  pthread_cond_t changed;
  int code;
  char *text;  // NULL = ""
  size_t size;
  callback *callbacks;
};

static PJRT_Event ready_event = {.immortal = true, .ready = true};

PJRT_Event *hsc__event_ready(void) {
  return &ready_event;
}

PJRT_Event *hsc__event_create(void) {
  PJRT_Event *event = hsc_alloc(sizeof *event);
  if (!event)
    return NULL;
  pthread_mutex_init(&event->lock, NULL);
  pthread_cond_init(&event->changed, NULL);
  atomic_init(&event->references, 1);
  return event;
}

PJRT_Event *hsc__event_retain(PJRT_Event *event) {
  if (!event->immortal)
    atomic_fetch_add_explicit(&event->references, 1, memory_order_relaxed);
  return event;
}

void hsc__event_release(PJRT_Event *event) {
  if (!event || event->immortal ||
      atomic_fetch_sub_explicit(&event->references, 1, memory_order_acq_rel) > 1)
    return;
  // Nobody is left who could set it: what still waits hears so.
  for (callback *c = event->callbacks, *next; c; c = next) {
    static const char text[] = "the event was dropped before it became ready";
    next = c->next;
    c->call(hsc__error_of_code(PJRT_Error_Code_CANCELLED, text, sizeof text - 1), c->user);
    hsc_free(c);
  }
  pthread_cond_destroy(&event->changed);
  pthread_mutex_destroy(&event->lock);
  hsc_free(event->text);
  hsc_free(event);
}

static bool event_is_ready(PJRT_Event *event) {
  return atomic_load_explicit(&event->ready, memory_order_acquire);
}

static PJRT_Error *result(const PJRT_Event *event) {
  return hsc__error_of_code(event->code, event->text ? event->text : "", event->size);
}

void hsc__event_set(PJRT_Event *event, int code, const char *text, size_t size) {
  pthread_mutex_lock(&event->lock);
  if (event->ready) {
    pthread_mutex_unlock(&event->lock);
    return;
  }
  event->code = code;
  if (code != 0 && size > 0) {
    event->text = hsc_alloc(size + 1);
    if (event->text) {
      memcpy(event->text, text, size);
      event->size = size;
    }
  }
  callback *callbacks = event->callbacks;
  event->callbacks = NULL;
  atomic_store_explicit(&event->ready, true, memory_order_release);
  pthread_cond_broadcast(&event->changed);
  pthread_mutex_unlock(&event->lock);
  for (callback *c = callbacks, *next; c; c = next) {
    next = c->next;
    c->call(result(event), c->user);
    hsc_free(c);
  }
}

PJRT_Error *hsc__event_wait(PJRT_Event *event) {
  if (event->immortal)
    return NULL;
  if (!event_is_ready(event)) {
    pthread_mutex_lock(&event->lock);
    while (!event->ready)
      pthread_cond_wait(&event->changed, &event->lock);
    pthread_mutex_unlock(&event->lock);
  }
  return result(event);
}

// ---- entries ------------------------------------------------------------------------------------

HSC_ENTRY(PJRT_Event_Destroy) {
  HSC_CHECK_ARGS(PJRT_Event_Destroy, event);
  hsc__event_release(args->event);
  return NULL;
}

HSC_ENTRY(PJRT_Event_IsReady) {
  HSC_CHECK_ARGS(PJRT_Event_IsReady, is_ready);
  args->is_ready = event_is_ready(args->event);
  return NULL;
}

HSC_ENTRY(PJRT_Event_Error) {
  HSC_CHECK_ARGS(PJRT_Event_Error, event);
  if (!event_is_ready(args->event))
    return hsc__error_of(HSC_ERR(FAILED_PRECONDITION, "PJRT_Event_Error: the event is not ready"));
  return result(args->event);
}

HSC_ENTRY(PJRT_Event_Await) {
  HSC_CHECK_ARGS(PJRT_Event_Await, event);
  return hsc__event_wait(args->event);
}

HSC_ENTRY(PJRT_Event_OnReady) {
  HSC_CHECK_ARGS(PJRT_Event_OnReady, user_arg);
  PJRT_Event *event = args->event;
  if (!event_is_ready(event)) {
    callback *c = hsc_alloc(sizeof *c);
    if (!c)
      return hsc__error_of(hsc_status_out_of_memory());
    pthread_mutex_lock(&event->lock);
    bool pending = !event->ready;
    if (pending) {
      *c = (callback){args->callback, args->user_arg, event->callbacks};
      event->callbacks = c;
    }
    pthread_mutex_unlock(&event->lock);
    if (pending)
      return NULL;
    hsc_free(c);
  }
  args->callback(result(event), args->user_arg);
  return NULL;
}

HSC_ENTRY(PJRT_Event_Create) {
  HSC_CHECK_ARGS(PJRT_Event_Create, event);
  args->event = hsc__event_create();
  return args->event ? NULL : hsc__error_of(hsc_status_out_of_memory());
}

HSC_ENTRY(PJRT_Event_Set) {
  HSC_CHECK_ARGS(PJRT_Event_Set, error_message_size);
  if (event_is_ready(args->event))
    return hsc__error_of(HSC_ERR(FAILED_PRECONDITION, "PJRT_Event_Set: the event is set already"));
  hsc__event_set(args->event, args->error_code, args->error_message, args->error_message_size);
  return NULL;
}
